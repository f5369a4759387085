// ---- memory of the tiles ------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

const SERIES_SHOWN = 12;
const NAMES_SHOWN = 20;

class MemoryView {
    constructor(page) {
        Object.assign(this, { page, table: page.tables.tiles, places: page.places, split: null,
            how: 'live', layer: '', name: '' });
        this.boxes = new AddressMap(page);
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.note = el('p', { class: 'status', 'aria-live': 'polite' });
        this.shown = choice([], null, (how) => this.show({ how }));
        this.layers = choice([['', 'all'], ...page.data.chain.labels.map((label, unit) =>
            [String(unit), label])], '', (layer) => this.show({ layer }));
        this.names = el('input', { type: 'search', oninput: () =>
            this.show({ name: this.names.value }) });
        this.chart = new Chart({ title: 'Memory by tile', label: 'tile', unit: bytes,
            onChoose: (tile) => {
                this.drawTile(tile);
                page.keepAddress();
            } });
        this.element = el('div', {}, el('div', { class: 'settings' }, field('Show', this.shown),
            field('Only layer', this.layers), field('Only names with', this.names)), this.note,
        this.chart.element, this.detail, this.boxes.all);
        this.show({});
    }

    // One thing at a time: all of the profile or a stage, a layer, or what a name has.
    show(what, isChanged = true) {
        const { labels } = this.page.data.chain;
        Object.assign(this, { layer: '', name: '' }, what);
        const stages = this.split?.stages || [];
        if (/^\d/.test(this.how) && !this.tilesOf(this.how))
            this.how = 'live'; // of cuts that were moved
        replace(this.shown, [['live', 'live, and gaps'],
            ['categories', 'variables by category (some share addresses)'],
            ...stages.map(({ first, last }, i) => this.tilesOf(i) && [String(i),
                `stage ${i} of the plan, by itself: ${labels[first]} – ${labels[last]}`])]
            .filter(Boolean).map(([value, text]) => el('option', { value }, text)));
        this.shown.value = this.how;
        this.layers.value = this.layer;
        this.names.value = this.name;
        if (isChanged)
            this.draw();
    }

    // The stages of the split on screen can be shown, each as compiled by itself.
    showSplit(split) {
        this.split = split;
        this.show({ layer: this.layer, name: this.name }, /^\d/.test(this.how)); // of a stage
    }

    // The series that take most, and the rest as one.
    largest(all) {
        const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
        const sorted = all.map((s) => ({ ...s, sum: sumOf(s.values) })).filter(({ sum }) => sum > 0)
            .sort((a, b) => b.sum - a.sum);
        const rest = sorted.splice(SERIES_SHOWN);
        return rest.length === 0 ? sorted : [...sorted, { name: 'others', sum: sumOf(rest.map(
            ({ sum }) => sum)), values: rest[0].values.map((_, i) =>
            sumOf(rest.map(({ values }) => values[i]))) }];
    }

    // The account of the compiler.
    live() {
        const [always, rest, total, end] = ['always_live_bytes', 'not_always_live_peak_bytes',
            'total_bytes', 'total_including_gaps_bytes'].map((name) => this.table.column(name));
        const used = total.map((value, i) => Math.max(value, always[i] + rest[i]));
        return [{ name: 'always live', values: always },
            { name: 'not always live, at the peak', values: rest },
            { name: 'in use, but not at the peak',
                values: used.map((value, i) => value - always[i] - rest[i]) },
            { name: 'gaps', values: end.map((value, i) => Math.max(0, value - used[i])) }];
    }

    // The bytes by tile of a stage of the split on screen, compiled alone: the page has those of
    // the command's own plan.
    tilesOf(i) {
        const { page: { data }, split } = this;
        const stage = split?.stages[i];
        return stage && data.stage_tiles.find((own, k) => own.first === stage.first &&
            own.last === stage.last && data.answer.stages[k].mem.total_mem === stage.mem.total_mem);
    }

    // The series of rows of places, by category.
    byCategory(rows) {
        return this.largest([...this.places.byCategory(rows)].map(([category, values]) =>
            ({ name: this.page.data.categories[category], values })));
    }

    // The view shows these series, with a note; `title` is what its parts on a tile are called, if
    // the details have them; `matching` are the rows of named variables, if only some.
    what() {
        const { page: { data, model, plan, tables }, how, layer, name } = this;
        if (layer !== '')
            return { title: `Of layer ${data.chain.labels[layer]}`,
                series: this.byCategory(this.places.rowsOf('layers').filter(([unit]) =>
                    unit === Number(layer))),
                note: 'Sizes of the variables that operations of this layer touch ' +
                    '(some share addresses); what several layers touch counts in each of them.' };
        if (name !== '') {
            const { is_whole: isWhole } = data.places.named;
            const words = [name.toLowerCase()];
            const matching = this.places.rowsOf('named').filter(([variable]) =>
                hasWords(this.page.variableName(variable), words));
            const number = new Set(matching.map(([variable]) => variable)).size;
            const series = this.byCategory(matching);
            return { series, matching, title: `Named like ‘${shorten(name, 40)}’`,
                note: `${grouped(number)} variables match, with ${bytes(series.reduce((sum, s) =>
                    sum + s.sum, 0))} on all tiles (some share addresses).` + (isWhole &&
                    tables.variables.numRows === tables.variables.allRows ? ''
                    : ' The page has the largest variables only: others may also match.') };
        }
        if (!/^\d/.test(how))
            return { series: how === 'live' ? this.live() : this.largest(categoriesOf(this.table)),
                limit: { value: data.bytes_per_tile, name: 'memory of a tile' },
                note: this.split?.stages.every((_, i) => this.tilesOf(i)) ?? true ? ''
                    : 'Of the stages on screen those of the command\'s plan are here by tile; ' +
                    'the copied command with --output page makes a page that has all.' };
        const [stage, own] = [this.split.stages[how], this.tilesOf(how)];
        return { title: `In stage ${how}`, tile: stage.peak.tile,
            series: model.parts.map(({ name, text }) => ({ name: text,
                values: own[name] })).filter((s) => s.values.some((bytes) => bytes !== 0)),
            limit: { value: plan.settings.limit, name: 'limit' },
            note: `Expected; the fullest tile needs ${grouped(stage.expected)} B, of ${
                grouped(data.num_tiles)} tiles.` };
    }

    draw() {
        const { table } = this;
        const { series, note, limit = null, tile, ...detail } = this.what();
        const ipus = bandsOf((table.column('ipu') || []).map((ipu) => `IPU ${ipu}`));
        this.own = detail;
        this.note.textContent = note;
        this.chart.set({ limit, bands: tile === undefined && ipus.length > 1 ? ipus : [],
            series: series.map((s, i) => ({ ...s, color: color(i) })) });
        this.drawTile(this.chart.chosen ?? tile ?? largestOf(table.column('live_bytes')));
    }

    drawTile(tile) {
        const { page, page: { data }, places, table, own: { title, matching } } = this;
        const { is_whole: isWhole } = data.places.named;
        const parts = (caption, column, series) => smallTable(caption, [column, '#bytes'], series
            .filter(({ values }) => values[tile] > 0).map(({ name, values }) =>
                [name, grouped(values[tile])]));
        this.rowOf ||= new Map(page.tables.variables.rows(['variable', 'category', 'name',
            'always_live', 'first_step', 'last_step']).map((row) =>
            [`${row.variable} ${row.category}`, row]));
        const variable = ([number, kind, onTiles]) => {
            const category = data.categories[kind];
            const { name = '', always_live: isAlways, first_step: first = null, last_step: last } =
                this.rowOf.get(`${number} ${category}`) || {};
            return [grouped(onTiles[tile]), category, isAlways ? 'always' : first === null ? ''
                : `${grouped(first)} – ${grouped(last)}`, nameCell(name || '')];
        };
        const largest = (matching || places.rowsOf('named'))
            .filter(([, , onTiles]) => onTiles[tile] > 0)
            .sort(([, , a], [, , b]) => b[tile] - a[tile]).slice(0, NAMES_SHOWN);
        this.boxes.showTile(tile);
        replace(this.detail, el('h3', {}, `Tile ${grouped(tile)}`), !title ? null
            : [parts(title, 'part', this.chart.series), el('p', {}, 'In the profile:')],
        facts(table.columns.filter((name) => name.endsWith('_bytes') &&
            !name.startsWith('category_')).map((name) =>
            [columnTitle(name), grouped(table.column(name)[tile])])), el('div', { class: 'pair' },
            parts('Sizes by category, also of what shares addresses', 'category',
                categoriesOf(table).sort((a, b) => b.values[tile] - a.values[tile])),
            smallTable(`Largest variables${matching ? ' of such names' : ''}${isWhole ? ''
                : ', of those that the page has'}`, ['#bytes', 'category', 'live at steps', 'name'],
            largest.map(variable))));
    }
}
