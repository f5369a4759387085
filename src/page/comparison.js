// ---- the comparison with another profile --------------------------------------------------------
// Each quantity before and now, from the command; differences and percentages are computed here.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHANGE_COLUMNS = ['#before', '#now', '#difference', '#percent'];

// Quantities before and now; `hidden` is left out of their names.
function changeTable(caption, rows, hidden = '') {
    return smallTable(caption, ['', ...CHANGE_COLUMNS], rows.map(({ quantity, before, now }) => [
        columnTitle(quantity).replace(hidden, ''), grouped(before), grouped(now),
        signed(changeOf(before, now)), shownPercent(percentOf(before, now))]));
}

// Items of one kind, each with the same quantities before and now.
class Compared {
    constructor(packed) {
        this.table = new Table(packed);
        this.quantities = this.table.columns.filter((name) => name.startsWith('now.'))
            .map((name) => name.slice('now.'.length));
        this.size = this.table.numRows;
        this.names = this.table.column('name');
        this.whats = this.table.column('what');
        this.only = this.table.column('only');
    }

    of(side, quantity) {
        return this.table.column(`${side}.${quantity}`);
    }

    differences(quantity) {
        const before = this.of('before', quantity);
        return this.of('now', quantity).map((value, i) => changeOf(before[i], value));
    }

    // The name of an item among others of its kind.
    label(i) {
        return this.whats[i] === 'layer' ? `layer ${this.names[i]}` : String(this.names[i]);
    }

    // The items of both sides that grew, most first.
    grown(quantity) {
        const all = this.differences(quantity);
        return all.map((value, i) => i).filter((i) => all[i] > 0)
            .sort((a, b) => all[b] - all[a] || a - b);
    }

    alone(side) {
        return this.only.map((own, i) => i).filter((i) => this.only[i] === side);
    }
}

const changeOf = (before, now) => before === null || now === null ? null : now - before;

// In percent of what it was, where that is above 0.
function percentOf(before, now) {
    return before === null || now === null || before <= 0 ? null : (now - before) / before * 100;
}

const signed = (number) => number === null ? '' : difference(number, grouped);

function shownPercent(percent) {
    return percent === null ? '' : `${difference(percent, (value) =>
        grouped(value.toFixed(Math.abs(value) >= 1000 ? 0 : 2)))} %`;
}

// A bar left or right of the middle, as long as the share of the largest difference.
function changeBar(number, most) {
    const length = most > 0 && number !== null ? Math.abs(number) / most * 20 : 0;
    return svg('svg', { viewBox: '0 0 42 10', class: 'change', 'aria-hidden': 'true' },
        svg('rect', { x: number < 0 ? 21 - length : 21, width: length, y: 1, height: 8,
            class: number < 0 ? 'less' : 'more' }),
        svg('rect', { x: 20.75, width: 0.5, y: 0, height: 10, class: 'middle' }));
}

// One quantity of all items as rows that can be searched and sorted.
function changeRows(compared, quantity, options) {
    const before = compared.of('before', quantity);
    const now = compared.of('now', quantity);
    const columns = {
        name: before.map((_, i) => compared.label(i)),
        before,
        now,
        difference: compared.differences(quantity),
        percent: now.map((value, i) => percentOf(before[i], value)),
        ...options.notes.some((text) => text !== null) ? { note: options.notes } : {},
        ...options.columns };
    const numbers = ['before', 'now', 'difference', 'percent'];
    const most = columns.difference.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    return new Rows({ columns: Object.keys(columns), numRows: compared.size,
        allRows: compared.table.allRows, column: (name) => columns[name],
        isNumber: (name) => numbers.includes(name) }, { ...options, sortBy: 'difference',
        columns: Object.keys(columns), show: { percent: shownPercent,
            difference: (value) => [signed(value), changeBar(value, most)] } });
}

const BOUND_TEXTS = {
    'largest-tile': 'the fullest tile', tiles: 'any tile', categories: 'any category',
    layers: 'any layer', stages: 'any stage', cycles: 'the cycles' };

class ComparisonView {
    constructor(page) {
        this.page = page;
        this.data = page.data.comparison;
        this.kinds = {};
        for (const name of ['category', 'unit', 'stage', 'tile'])
            if (this.data.tables[name])
                this.kinds[name] = new Compared(this.data.tables[name]);
        this.tile = null;
        this.charts = [];
        this.element = el('div', { class: 'comparison' }, this.makeVerdicts(), this.makeSides(),
            this.makeGrown(), this.makeSettings(), this.makeStages(),
            el('h3', {}, 'Tiles'), this.makeTiles(),
            el('h3', {}, 'Layers'), el('p', {}, 'What each needs as a stage of its own.'),
            this.makeRows('unit', 'Layers', 'total_bytes', 'layers'),
            el('h3', {}, 'Categories'),
            this.makeRows('category', 'Categories', 'variables_bytes', 'categories'),
            el('h3', {}, 'Device'), changeTable('The whole device',
                new Table(this.data.tables.device).rows()));
    }

    makeSides() {
        const side = (own) => `${shorten(own.name, 100)}${own.poplar_version === null ? ''
            : ` (Poplar ${shorten(own.poplar_version, 40)})`}`;
        return facts([['before', side(this.data.before)], ['now', side(this.data.now)]]);
    }

    // The quantity that decides if the model became larger, and the given bounds.
    makeVerdicts() {
        const { growth, bounds } = this.data;
        const { difference: change, percent } = growth;
        const what = growth.what === 'plan' ? 'the fullest tile of all stages' : 'the fullest tile';
        const share = percent ? ` (${shownPercent(percent)})` : '';
        const head = change === null ? `Not known: ${what} has no value on one side`
            : change === 0 ? `As large as before: ${what} has the same bytes`
            : `${change > 0 ? 'Larger' : 'Smaller'}: ${what} ${difference(change, bytes)}${share}`;
        const over = bounds.find((bound) => bound.exceeded.length > 0);
        const hasBounds = bounds.length > 0;
        const rule = !hasBounds ? '' : over === undefined ? ', no more growth than was allowed'
            : `, ${over.of === 'largest-tile' ? 'more' : `${BOUND_TEXTS[over.of]} grew by more`} ` +
                `than the ${over.max_percent} % allowed`;
        return [el('p', { class: `verdict ${over ? 'over' : hasBounds ? '' : 'unknown'}` },
            `${head}${rule}.`),
            change === null ? null : el('p', {}, `${growth.what === 'plan' ? 'Needed'
                : 'Live'} before: ${grouped(growth.before)} B, now: ${grouped(growth.now)} B. ` +
                `${grouped(this.data.num_changed)} of ${grouped(this.data.num_quantities)} ` +
                'quantities changed.'), !hasBounds ? null : el('ul', { class: 'bounds' },
                bounds.map((bound) => el('li', {}, this.boundText(bound))))];
    }

    boundText(bound) {
        const allowed = `${BOUND_TEXTS[bound.of]} by at most ${bound.max_percent} %: `;
        if (bound.num_compared === 0)
            return `${allowed}nothing can be said, there is none on both sides.`;
        if (bound.exceeded.length === 0)
            return `${allowed}kept.`;
        const [most] = bound.exceeded;
        const name = most.what === 'device' || most.what === 'plan' ? ''
            : `${bound.exceeded.length} of ${bound.num_compared} grew by more, most ` +
                `${['tile', 'layer', 'stage', 'category'].includes(most.what)
                    ? `${most.what} ` : ''}${shorten(most.name)}, `;
        return `${allowed}exceeded: ${name}${most.percent === null ? 'from nothing'
            : shownPercent(most.percent)}.`;
    }

    makeSettings() {
        const changed = this.data.settings.filter((own) => own.only !== null ||
            own.before !== own.now);
        const title = el('h3', {}, 'Settings');
        if (changed.length === 0)
            return [title, el('p', {}, `All ${this.data.settings.length} versions, facts of the ` +
                'device and engine options are the same.')];
        const value = (own, side) => own.only !== null && own.only !== side ? '–'
            : nameCell(own[side] || '', own[side] === null ? '–' : '');
        return [title, smallTable('Versions, device and engine options that differ',
            ['', 'name', 'before', 'now'], changed.map((own) => [own.group.replace(/_/g, ' '),
            shorten(own.name, 50), value(own, 'before'), value(own, 'now')]))];
    }

    makeGrown() {
        const lists = [['stage', 'need_bytes', 'Stages'], ['unit', 'total_bytes', 'Layers'],
            ['category', 'variables_bytes', 'Categories'], ['tile', 'live_bytes', 'Tiles']]
            .filter(([name]) => this.kinds[name] && this.kinds[name].size > 0);
        return [el('h3', {}, 'What grew most'), el('div', { class: 'pair grown' },
            lists.map(([name, quantity, title]) => {
                const kind = this.kinds[name];
                const grown = kind.grown(quantity);
                const most = grown.slice(0, 5);
                const all = kind.differences(quantity);
                const alone = ['now', 'before'].map((side) => [side, kind.alone(side)])
                    .filter((pair) => pair[1].length > 0)
                    .map(([side, found]) => `Only ${side}: ${found.slice(0, 5).map((i) =>
                        `${shorten(kind.label(i), 40)} (${(quantity.endsWith('_bytes') ? bytes
                            : grouped)(kind.of(side, quantity)[i])})`).join(', ')}` +
                        `${found.length > 5 ? ` and ${found.length - 5} more` : ''}.`);
                return el('div', {}, grown.length === 0
                    ? el('p', {}, `${title}: none grew in ${columnTitle(quantity)}.`)
                    : smallTable(`${title}: ${columnTitle(quantity)}, ${grown.length} of ` +
                        `${kind.size} grew`, ['name', ...CHANGE_COLUMNS], most.map((i) => {
                        const before = kind.of('before', quantity)[i];
                        const now = kind.of('now', quantity)[i];
                        return [name === 'tile'
                            ? link(`tile ${kind.names[i]}`, () => {
                                this.charts[0].choose(i);
                                this.page.go('compared-tile');
                            })
                            : shorten(name === 'stage' ? `stage ${kind.names[i]}`
                                : kind.label(i), 40),
                        bytes(before), bytes(now), `+${bytes(all[i])}`,
                        shownPercent(percentOf(before, now))];
                    })), alone.map((text) => el('p', { class: 'alone' }, text)));
            }))];
    }

    // The result of a bound for each item, or the only side that has it.
    notes(kind, of, quantity) {
        const notes = kind.only.map((side) => side && `only ${side}`);
        for (const bound of this.data.bounds.filter((own) => own.of === of))
            for (const own of bound.exceeded)
                for (let i = 0; i < kind.size; i++)
                    if (own.quantity === quantity && own.what === kind.whats[i] &&
                        own.name === kind.names[i] && ['before', 'now'].every((side) =>
                        own[side] === kind.of(side, quantity)[i]))
                        notes[i] = `above ${bound.max_percent} %`;
        return notes;
    }

    // The rows of a kind, with a choice of the quantity.
    makeRows(name, title, quantity, of, columns) {
        const kind = this.kinds[name];
        const holder = el('div');
        if (!kind || kind.size === 0)
            return el('p', {}, 'There are none on either side.');
        const draw = (chosen) => replace(holder,
            el('p', { class: 'paper' }, `${title}: ${columnTitle(chosen)}`),
            changeRows(kind, chosen, {
                caption: `${title}, before and now: ${columnTitle(chosen)}`,
                notes: this.notes(kind, of, chosen), columns }).element);
        draw(quantity);
        return el('div', { id: `compared-${name}` }, this.quantityField(kind, quantity, draw),
            holder);
    }

    quantityField(kind, quantity, draw) {
        return el('p', { class: 'tools' }, field('Quantity', choice(kind.quantities.map((own) =>
            [own, columnTitle(own)]), quantity, draw)));
    }

    makeStages() {
        const { stages } = this.data;
        if (stages === null)
            return null;
        const of = (side, what) => stages.map((own) => own[side] && what(own[side]));
        const ends = ({ first_unit: first, last_unit: last }) => first === last ? first
            : `${first} to ${last}`;
        const columns = { 'units before': of('before', ends), 'units now': of('now', ends) };
        const verdicts = ['before', 'now'].map((side) => of(side, ({ verdict }) => verdict));
        if (verdicts.flat().some((verdict) => verdict))
            Object.assign(columns, { 'verdict before': verdicts[0], 'verdict now': verdicts[1] });
        const number = new Table(this.data.tables.plan).rows().find((row) =>
            row.quantity === 'stages');
        return [el('h3', {}, 'Stages'),
            el('p', {}, `${number.before} stages before, ${number.now} now.`),
        this.makeRows('stage', 'Stages', 'need_bytes', 'stages', columns)];
    }

    makeTiles() {
        const kind = this.kinds.tile;
        this.holder = el('div');
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        if (!kind || kind.size === 0)
            return el('p', {}, 'There are no tiles.');
        this.drawTiles('live_bytes');
        return el('div', { id: 'compared-tile' }, this.quantityField(kind, 'live_bytes',
            (quantity) => this.drawTiles(quantity)), this.holder, this.detail);
    }

    drawTiles(quantity) {
        const kind = this.kinds.tile;
        const before = kind.of('before', quantity);
        const now = kind.of('now', quantity);
        const all = kind.differences(quantity);
        const title = columnTitle(quantity).replace(/ \(bytes\)$/, '');
        // a line far above all others would leave them no room to differ in
        const room = this.page.data.bytes_per_tile;
        const isNear = [before, now].some((values) => values.some((value) => value > room / 2));
        const onChoose = (tile) => {
            this.tile = tile;
            this.charts.filter((chart) => chart.chosen !== tile).forEach((chart) =>
                chart.choose(tile, false));
            this.drawTile(tile);
        };
        const chart = (name, unit, series, describe, others) => new Chart({ ...others, unit, series,
            title: `${name}: ${title}`, label: 'tile', chosen: this.tile, onChoose,
            bands: ipuBands(this.page.tables.tiles),
            describe: (i) => `tile ${grouped(i)}: ${describe(i)}` });
        const both = chart('By tile, before and now', bytes, [
            { name: 'before', values: before, color: color(0), isLine: true },
            { name: 'now', values: now, color: color(7), isLine: true }],
        (i) => `${bytes(before[i])} before, ${bytes(now[i])} now`,
        { limit: isNear ? { value: room, name: 'memory of a tile' } : null });
        const change = chart('Difference by tile', (value) => difference(value, bytes), [
            { name: 'more now', values: all.map((value) => Math.max(0, value)), color: color(1) },
            { name: 'less now', values: all.map((value) => Math.min(0, value)), color: color(2) }],
        (i) => `${signed(all[i])} B`);
        this.charts = [both, change];
        replace(this.holder, el('h4', {}, `Before and now: ${title}`), both.element,
            el('h4', {}, `Difference: ${title}`), all.some((value) => value !== 0) ? change.element
                : el('p', {}, 'There is none on any tile.'));
        const [most] = kind.grown(quantity);
        this.drawTile(this.tile !== null ? this.tile : most === undefined ? 0 : most);
    }

    drawTile(tile) {
        const kind = this.kinds.tile;
        const rows = kind.quantities.map((quantity) => ({ quantity,
            before: kind.of('before', quantity)[tile], now: kind.of('now', quantity)[tile] }))
            .filter((row) => row.before !== 0 || row.now !== 0);
        const isPart = (row) => row.quantity.startsWith('category_');
        replace(this.detail, el('h4', {}, `Tile ${grouped(tile)}`), el('div', { class: 'pair' },
            changeTable('Bytes', rows.filter((row) => !isPart(row)), / \(bytes\)$/),
            changeTable('Bytes by category, most grown first', rows.filter(isPart).sort((a, b) =>
                changeOf(b.before, b.now) - changeOf(a.before, a.now)), / \(bytes\)$/)));
    }
}
