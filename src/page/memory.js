// ---- memory of the tiles ------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

// The tiles of each IPU, where there are several.
function ipuBands(tiles) {
    const bands = bandsOf((tiles.column('ipu') || []).map((ipu) => `IPU ${ipu}`));
    return bands.length < 2 ? [] : bands;
}

class MemoryView {
    constructor(page) {
        Object.assign(this, { page, table: page.tables.tiles, places: page.places });
        Object.assign(this, { split: null, how: 'live', layer: '', name: '' });
        this.boxes = new Boxes(page);
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.holder = el('div');
        this.note = el('p', { class: 'status', 'aria-live': 'polite' });
        this.shown = choice([], null, (how) => this.show({ how }));
        this.layers = choice([['', 'all'], ...page.data.chain.labels.map((label, unit) =>
            [String(unit), label])], '', (layer) => this.show({ layer }));
        this.names = el('input', { type: 'search', oninput: () =>
            this.show({ name: this.names.value }) });
        this.element = el('div', {}, el('div', { class: 'settings' }, field('Show', this.shown),
            field('Only layer', this.layers), field('Only names with', this.names)), this.note,
        this.holder, this.detail, this.boxes.all);
        this.drawChoices();
        this.draw();
    }

    // One thing at a time: all of the profile or a stage, a layer, or what a name has.
    show(what) {
        Object.assign(this, { layer: '', name: '' }, what);
        this.shown.value = this.how;
        this.layers.value = this.layer;
        if (this.names.value !== this.name)
            this.names.value = this.name;
        this.draw();
    }

    // The stages of the split on screen can be shown, each as compiled by itself.
    showSplit(split) {
        this.split = split;
        if (Number(this.how) >= split.stages.length)
            this.how = String(split.stages.length - 1);
        this.drawChoices();
        if (this.isStage())
            this.draw();
    }

    // Whether a stage is shown, and not a layer or what a name has.
    isStage() {
        return /^\d/.test(this.how) && this.layer === '' && this.name === '';
    }

    drawChoices() {
        const { labels } = this.page.data.chain;
        const stages = this.split === null ? [] : this.split.stages.map((stage, i) => [String(i),
            `stage ${i} of the plan, by itself: ${labels[stage.first]} – ` +
                labels[stage.last]]);
        replace(this.shown, [['live', 'live, and gaps'],
            ['categories', 'variables by category (some share addresses)'],
        ].concat(stages).map(([value, text]) => el('option', { value }, text)));
        this.shown.value = this.how;
    }

    // The series that take most, and the rest as one.
    largest(all) {
        for (const s of all)
            s.sum = s.values.reduce((sum, value) => sum + value, 0);
        const sorted = all.filter((s) => s.sum > 0).sort((a, b) => b.sum - a.sum);
        const shown = sorted.slice(0, 12);
        const rest = sorted.slice(12);
        if (rest.length > 0)
            shown.push({ name: 'others', values: Float64Array.from({ length: this.table.numRows },
                (_, i) => rest.reduce((sum, s) => sum + s.values[i], 0)) });
        return shown;
    }

    live() {
        const column = (name) => this.table.column(name);
        const always = column('always_live_bytes');
        const rest = column('not_always_live_peak_bytes');
        const total = column('total_bytes');
        const end = column('total_including_gaps_bytes');
        const used = total.map((value, i) => Math.max(value, always[i] + rest[i]));
        return [{ name: 'always live', values: always },
            { name: 'not always live, at the peak', values: rest },
            { name: 'in use, but not at the peak',
                values: used.map((value, i) => value - always[i] - rest[i]) },
            { name: 'gaps', values: end.map((value, i) => Math.max(0, value - used[i])) }];
    }

    // The memory of a stage of the split on screen, compiled alone: by part for the command's own
    // plan, as far as the page has it for other stages.
    ofStage(i) {
        const { page, split } = this;
        const stage = split.stages[i];
        const { model } = page;
        const index = page.plan.settings.pipeline;
        const pipeline = model.pipelines[index];
        const copies = (placed) => pipeline.copies[placed - 1];
        const placed = split.stages.length - (pipeline.follows_split ? 0 : i);
        const own = page.data.stage_tiles.find((s) => index === 0 && s.first === stage.first &&
            s.last === stage.last && copies(s.to_end) === copies(placed));
        if (own !== undefined)
            return model.parts.map(({ name, text }) => ({ name: text,
                values: Model.unpack(own[name]) })).filter((s) => s.values.some((v) => v > 0));
        const group = page.groups.indexOf(pipeline.stages);
        if (!this.places.hasNeeds(group))
            return null;
        const { first, last } = stage;
        const { once, kept, code } = this.places.stageNeeds(group, Model.place(model, first, last),
            copies(placed));
        return [{ name: 'code of operations', values: code }, { name: 'data, and all else',
                values: once.map((value, tile) => value - code[tile]) },
            { name: 'kept for the backward pass', values: kept }].filter((s) =>
            s.values.some((value) => value !== 0));
    }

    // The series of the wanted rows of a table, by category, and whether each row is wanted.
    byCategory(name, isWanted) {
        const wanted = Array.from(this.places.table(name).things, isWanted);
        return [this.largest([...this.places.byCategory(name, wanted)].map(([category, values]) =>
            ({ name: this.page.data.categories[category], values }))), wanted];
    }

    // The series to draw, with their captions.
    series() {
        const { data, tables } = this.page;
        this.matching = null;
        if (this.layer !== '')
            return [this.byCategory('layers', (unit) => unit === Number(this.layer))[0],
                'Sizes of the variables that operations of this layer touch ' +
                '(some share addresses); what several layers touch counts in each of them.'];
        if (this.name !== '') {
            const [series, matching] = this.byCategory('named', (variable) =>
                hasWords(this.page.variableName(variable), [this.name.toLowerCase()]));
            const { things, isWhole: hasAll } = this.places.table('named');
            const number = new Set(things.filter((_, row) => matching[row])).size;
            const isWhole = hasAll && tables.variables.numRows === tables.variables.allRows;
            this.matching = matching;
            return [series, `${grouped(number)} variables match, with ${bytes(series.reduce(
                (sum, s) => sum + s.sum, 0))} on all tiles (some share addresses).` + (isWhole ? ''
                : ' The page has the largest variables only: others may also match.')];
        }
        if (!this.isStage())
            return [this.how === 'live' ? this.live() : this.largest(categoriesOf(this.table)), ''];
        const series = this.ofStage(Number(this.how));
        if (series === null)
            return [[], 'The bytes by tile of all stages would make this page too large: it has ' +
                'those of the command\'s own plan alone.'];
        return [series, `Expected; the fullest tile needs ${grouped(
            this.split.stages[Number(this.how)].expected)} B, of ${
            grouped(data.num_tiles)} tiles.`];
    }

    draw() {
        const [series, note] = this.series();
        const isStage = this.isStage();
        this.isMissing = series.length === 0;
        if (series.length === 0)
            series.push({ name: 'nothing', values: new Float64Array(this.table.numRows) });
        series.forEach((s, i) => {
            s.color = color(i);
        });
        this.note.textContent = note;
        Chart.put(this, { title: 'Memory by tile', label: 'tile', unit: bytes, series,
            bands: isStage ? [] : ipuBands(this.table),
            limit: isStage
                ? { value: this.page.plan.settings.limit, name: 'limit' }
                : this.layer !== '' || this.name !== '' ? null
                : { value: this.page.data.bytes_per_tile, name: 'memory of a tile' },
            onChoose: (tile) => {
                this.drawTile(tile);
                this.page.keepAddress();
            } });
        if (this.isMissing)
            replace(this.holder);
        this.drawTile(this.chart.chosen !== null ? this.chart.chosen
            : isStage ? this.split.stages[Number(this.how)].peak.tile
            : largestOf(this.table.column('live_bytes')));
    }

    // The parts of the chart on a tile.
    ownParts(tile) {
        if (this.layer === '' && this.name === '' && !this.isStage())
            return null;
        const own = this.chart.series.filter((s) => s.values[tile] > 0);
        if (this.isMissing)
            return null;
        const title = this.layer !== ''
            ? `Of layer ${this.page.data.chain.labels[Number(this.layer)]}`
            : this.name !== '' ? `Named like ‘${shorten(this.name, 40)}’` : `In stage ${this.how}`;
        return own.length === 0 ? el('p', {}, `${title}: nothing on this tile.`)
            : smallTable(title, ['part', '#bytes'], own.map((s) =>
                [s.name, grouped(s.values[tile])]));
    }

    matchingRows(tile) {
        const { things, categories } = this.places.table('named');
        return this.places.onTile('named', this.matching, tile).sort((a, b) =>
            b.bytes - a.bytes || a.row - b.row).slice(0, 20).map(({ row, bytes: size }) =>
            this.variableRow(size, things[row], this.page.data.categories[categories[row]]));
    }

    // A line of a table of variables; a number of -1 is of none.
    variableRow(size, number, category) {
        this.rowOf ||= new Map(this.page.tables.variables.rows(['variable', 'category', 'name',
            'always_live', 'first_step', 'last_step']).map((row) =>
            [`${row.variable} ${row.category}`, row]));
        const { name, always_live: isAlways, first_step: first = null, last_step: last } =
            this.rowOf.get(`${number < 0 ? null : number} ${category}`) || {};
        return [grouped(size), category, isAlways ? 'always' : number < 0 || first === null ? ''
            : `${grouped(first)} – ${grouped(last)}`, nameCell(number < 0 ? '' : name || '')];
    }

    drawTile(tile) {
        this.boxes.showTile(tile);
        const { data } = this.page;
        const tileVariables = this.onTiles ||= Model.withStarts(data.tile_variables, 'count');
        const columns = ['#bytes', 'category', 'live at steps', 'name'];
        const rows = Array.from({ length: tileVariables.count[tile] }, (_, k) => {
            const i = tileVariables.first[tile] + k;
            return this.variableRow(tileVariables.size_bytes[i], tileVariables.variable[i] - 1,
                data.categories[tileVariables.category[i]]);
        });
        const parts = categoriesOf(this.table).filter(({ values }) => values[tile] > 0)
            .sort((a, b) => b.values[tile] - a.values[tile]);
        const own = this.ownParts(tile);
        replace(this.detail, el('h3', {}, `Tile ${grouped(tile)}`), own,
            this.matching === null || this.isMissing ? null
                : smallTable('Its largest variables there', columns, this.matchingRows(tile)),
            own === null ? null : el('p', {}, 'In the profile:'), facts(this.table.columns.filter(
                (name) => name.endsWith('_bytes') && !name.startsWith('category_')).map((name) =>
                [columnTitle(name), grouped(this.table.column(name)[tile])])),
            el('div', { class: 'pair' },
                smallTable('Sizes by category, also of what shares addresses',
                    ['category', '#bytes'], parts.map(({ name, values }) =>
                        [name, grouped(values[tile])])),
                smallTable('Largest variables', columns, rows)));
    }
}
