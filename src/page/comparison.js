// ---- the comparison with another profile --------------------------------------------------------
// Each quantity before and now, from the command, in one table; those of tiles also as a chart.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// In percent of what it was, where that is above 0.
function percentOf(before, now) {
    return before === null || now === null || before <= 0 ? null : (now - before) / before * 100;
}

const sideText = ({ name, poplar_version: version }) =>
    shorten(name, 100) + (version === null ? '' : ` (Poplar ${shorten(version, 40)})`);

function shownPercent(percent) {
    return percent === null ? '' : `${difference(percent, (value) =>
        grouped(value.toFixed(Math.abs(value) >= 1000 ? 0 : 2)))} %`;
}

// Kinds of items, and the quantity that is shown first.
const COMPARED = { stage: 'need_bytes', tile: 'live_bytes', layer: 'total_bytes',
    category: 'variables_bytes', plan: 'largest_need_bytes', device: 'total_bytes' };
const OTHER_UNITS = ['head', 'tail', 'unlayered']; // than layers
const GROWN_SHOWN = 20;

class ComparisonView {
    constructor(page) {
        this.page = page;
        this.data = page.data.comparison;
        const columns = this.columns = this.makeColumns();
        this.rows = new Rows({ columns: Object.keys(columns), numRows: columns.kind.length,
            allRows: columns.kind.length, column: (name) => columns[name],
            isNumber: (name) => ['before', 'now', 'difference', 'percent'].includes(name) }, {
            caption: 'What was compared', columns: Object.keys(columns), shown: GROWN_SHOWN,
            sortBy: 'difference', show: { quantity: columnTitle, percent: shownPercent,
                difference: (value) => value === null ? '' : difference(value, grouped) } });
        const all = new Set(columns.kind.map((kind, i) =>
            `kind:${kind} quantity:${columns.quantity[i]}`));
        const first = Object.entries(COMPARED).map(([kind, quantity]) =>
            `kind:${kind} quantity:${quantity}`).filter((query) => all.has(query));
        const chosen = choice([...new Set([...first, ...all])].map((query) => {
            const [, kind, quantity] = /^kind:(\w+) quantity:(.*)$/.exec(query);
            return [query, `${kind}: ${columnTitle(quantity)}`];
        }), first[0], (query) => this.show(query));
        this.tilesTitle = el('h4');
        this.chart = new Chart({ label: 'tile', unit: bytes, bands: ipuBands(page.tables.tiles),
            onChoose: (tile) => this.rows.ask(`kind:tile name:${tile}`) });
        this.element = el('div', { class: 'comparison' }, this.makeVerdicts(),
            facts(['before', 'now'].map((side) => [side, sideText(this.data[side])])),
            this.makeStages(), el('h3', {}, 'What was compared'),
            el('p', { class: 'tools' }, field('Show', chosen)), this.rows.element,
            this.tilesTitle, this.chart.element);
        this.rows.ask(first[0]);
        this.drawTiles('live_bytes');
    }

    // All quantities of all items, with the bound that one exceeds or the only side that has it.
    makeColumns() {
        const { rows: packed, bounds } = this.data;
        const rows = [];
        const exceeded = new Map(bounds.flatMap(({ max_percent: most, exceeded: over }) =>
            over.map(({ what, name, quantity, before, now }) =>
                [[what, name, quantity, before, now].join(), most])));
        for (const { what, name, quantity, before, now, only } of new Table(packed).rows()) {
            const bound = exceeded.get([what, name, quantity, before, now].join());
            rows.push([name, OTHER_UNITS.includes(what) ? 'layer' : what, quantity, before, now,
                before === null || now === null ? null : now - before, percentOf(before, now),
                bound !== undefined ? `above ${bound} %` : only ? `only ${only}` : null]);
        }
        return Object.fromEntries(['name', 'kind', 'quantity', 'before', 'now', 'difference',
            'percent', 'note'].map((name, i) => [name, rows.map((row) => row[i])]));
    }

    show(query) {
        this.rows.ask(query);
        const [, quantity] = /^kind:tile quantity:(.*)$/.exec(query) || [];
        if (quantity)
            this.drawTiles(quantity);
    }

    // A quantity of all tiles; of the chosen one the table has all.
    drawTiles(quantity) {
        const { kind, quantity: quantities } = this.columns;
        const isShown = (_, i) => kind[i] === 'tile' && quantities[i] === quantity;
        // a line far above all others would leave them no room to differ in
        const room = this.page.data.bytes_per_tile;
        const series = ['before', 'now'].map((name, i) => ({ name, isLine: true,
            values: this.columns[name].filter(isShown), color: color(7 * i) }));
        const title = `Tiles, before and now: ${columnTitle(quantity)}`;
        this.tilesTitle.textContent = title;
        this.chart.set({ series, title, limit: series.some(({ values }) => values.some((value) =>
            value > room / 2)) ? { value: room, name: 'memory of a tile' } : null });
    }

    // The quantity that decides if the model became larger, and the given bounds.
    makeVerdicts() {
        const { growth, bounds } = this.data;
        const { difference: change, percent } = growth;
        const [what, verb] = growth.what === 'plan' ? ['the fullest tile of all stages', 'Needed']
            : ['the fullest tile', 'Live'];
        const isOver = bounds.some((bound) => bound.exceeded.length > 0);
        const head = change === null ? `Not known: ${what} has no value on one side`
            : change === 0 ? `As large as before: ${what} has the same bytes`
            : `${change > 0 ? 'Larger' : 'Smaller'}: ${what} ${difference(change, bytes)}${
                percent ? ` (${shownPercent(percent)})` : ''}`;
        const rule = bounds.length === 0 ? '' : isOver ? ', more growth than was allowed'
            : ', no more growth than was allowed';
        return [el('p', { class: `verdict ${isOver ? 'over' : bounds.length > 0 ? ''
            : 'unknown'}` }, `${head}${rule}.`),
        change === null ? null : el('p', {}, `${verb} before: ${grouped(growth.before)} B, now: ${
            grouped(growth.now)} B. ${grouped(this.data.num_changed)} of ${
            grouped(this.data.num_quantities)} quantities changed.`),
        bounds.length === 0 ? null : smallTable('Bounds on growth', ['of', '#at most', '#compared',
            '#above it', '#most'], bounds.map(({ of, max_percent: most, num_compared: count,
            exceeded, exceeded: [worst] }) => [of.replace(/[-_]/g, ' '), `${most} %`,
            grouped(count), grouped(exceeded.length), !worst ? '' : worst.percent === null
                ? 'from nothing' : shownPercent(worst.percent)]))];
    }

    // The layers of each stage, and whether it fits.
    makeStages() {
        const cells = (own) => !own ? ['–', ''] : [own.first_unit === own.last_unit
            ? own.first_unit : `${own.first_unit} to ${own.last_unit}`, own.verdict];
        return !this.data.stages ? null : smallTable('Stages, before and now', ['#stage',
            'layers before', 'verdict before', 'layers now', 'verdict now'], this.data.stages.map(
            ({ stage, before, now }) => [String(stage), ...cells(before), ...cells(now)]));
    }
}
