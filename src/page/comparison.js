// ---- the comparison with another profile --------------------------------------------------------
// Each quantity before and now, from the command; a list for each kind of item, most grown first.
//
// SPDX-License-Identifier: GPL-3.0-or-later

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

// Quantities of one item before and now.
function changeTable(caption, rows) {
    return smallTable(caption, ['', '#before', '#now', '#difference', '#percent'], rows.map(
        ({ quantity, before, now }) => [columnTitle(quantity), grouped(before), grouped(now),
            signed(changeOf(before, now)), shownPercent(percentOf(before, now))]));
}

// A bar left or right of the middle, as long as the share of the largest difference.
function changeBar(number, most) {
    const length = most > 0 && number !== null ? Math.abs(number) / most * 20 : 0;
    return smallBar('change', 42, [number < 0 ? 'less' : 'more', number < 0 ? 21 - length : 21,
        length, 8], ['middle', 20.75, 0.5]);
}

// Kinds of items: title, the quantity that is shown first, how bounds name them, what each is.
const COMPARED = { stage: ['Stages', 'need_bytes', 'stages', 'stage '],
    tile: ['Tiles', 'live_bytes', 'tiles', 'tile '],
    unit: ['Layers, each as a stage of its own', 'total_bytes', 'layers', ''],
    category: ['Categories', 'variables_bytes', 'categories', ''] };
const GROWN_SHOWN = 5;

class ComparisonView {
    constructor(page) {
        this.page = page;
        this.data = page.data.comparison;
        this.tile = null;
        this.charts = [];
        this.element = el('div', { class: 'comparison' }, this.makeVerdicts(),
            facts(['before', 'now'].map((side) => [side, this.sideText(this.data[side])])),
            this.makeSettings(), Object.keys(COMPARED).map((kind) => this.makeKind(kind)),
            el('h3', {}, 'Device'), changeTable('The whole device',
                new Table(this.data.tables.device).rows()));
    }

    sideText({ name, poplar_version: version }) {
        return shorten(name, 100) + (version === null ? '' : ` (Poplar ${shorten(version, 40)})`);
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
        bounds.length === 0 ? null : el('ul', { class: 'bounds' },
            bounds.map((bound) => el('li', {}, this.boundText(bound))))];
    }

    boundText({ of, max_percent: most, num_compared: count, exceeded: [worst, ...others] }) {
        const result = count === 0 ? 'not known, there is none on both sides'
            : worst === undefined ? 'kept'
            : `exceeded by ${others.length + 1} of ${count}, most ${['device', 'plan'].includes(
                worst.what) ? '' : `${worst.what} ${shorten(worst.name)}, `}${
                worst.percent === null ? 'from nothing' : shownPercent(worst.percent)}`;
        return `growth of ${of.replace(/[-_]/g, ' ')} by at most ${most} %: ${result}.`;
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

    // The items of a kind, with a choice of the quantity.
    makeKind(kind) {
        const [title, first] = COMPARED[kind];
        const packed = this.data.tables[kind];
        if (packed === undefined || packed.num_rows === 0)
            return kind === 'stage' ? null
                : [el('h3', {}, title), el('p', {}, 'There are none on either side.')];
        const table = new Table(packed);
        const quantities = table.columns.filter((name) => name.startsWith('now.'))
            .map((name) => name.slice('now.'.length));
        const holder = el('div');
        const draw = (quantity) => replace(holder, el('p', { class: 'paper' },
            columnTitle(quantity)), this.rows(kind, table, quantity).element,
        kind === 'tile' ? this.makeTiles(table, quantity, quantities) : null);
        draw(first);
        const ofOne = ['now', 'before'].map((side) => [side, table.column('name').filter((_, i) =>
            table.column('only')[i] === side)]).filter(([, names]) => names.length > 0);
        return [el('h3', {}, title), ofOne.map(([side, names]) => el('p', {}, `Only ${side}: ${
            listed(names.slice(0, GROWN_SHOWN).map((name) => shorten(name, 40)))}${
            names.length > GROWN_SHOWN ? ` … (${names.length} in all)` : ''}.`)),
        el('div', { id: `compared-${kind}` }, el('p', { class: 'tools' }, field('Quantity',
            choice(quantities.map((own) => [own, columnTitle(own)]), first, draw))), holder)];
    }

    // One quantity of all items as rows that can be searched and sorted.
    rows(kind, table, quantity) {
        const [title, , of, word] = COMPARED[kind];
        const [names, whats, only, before, now] = ['name', 'what', 'only', `before.${quantity}`,
            `now.${quantity}`].map((name) => table.column(name));
        const change = now.map((value, i) => changeOf(before[i], value));
        const notes = this.notes(of, quantity, { names, whats, only, before, now });
        const columns = { name: names.map((name, i) => whats[i] === 'layer' ? `layer ${name}`
            : `${word}${name}`),
        before, now, difference: change,
        percent: now.map((value, i) => percentOf(before[i], value)),
        ...notes.some((text) => text !== null) ? { note: notes } : {},
        ...kind === 'stage' ? this.stageColumns() : {} };
        const numbers = ['before', 'now', 'difference', 'percent'];
        const most = change.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
        return new Rows({ columns: Object.keys(columns), numRows: table.numRows,
            allRows: table.allRows, column: (name) => columns[name],
            isNumber: (name) => numbers.includes(name) }, {
            caption: `${title}, before and now: ${columnTitle(quantity)}`, shown: GROWN_SHOWN,
            columns: Object.keys(columns), sortBy: 'difference', show: { percent: shownPercent,
                difference: (value) => [signed(value), changeBar(value, most)],
                ...kind === 'tile' ? { name: (name) => link(name, () => {
                    this.charts[0].choose(Number(name.slice(word.length)));
                    this.detail.scrollIntoView({ block: 'nearest' });
                }) } : {} } });
    }

    // The bound that an item exceeds, or the only side that has it.
    notes(of, quantity, { names, whats, only, before, now }) {
        const notes = only.map((side) => side && `only ${side}`);
        for (const { max_percent: most, exceeded } of this.data.bounds.filter((own) =>
            own.of === of))
            for (const own of exceeded.filter((it) => it.quantity === quantity))
                names.forEach((name, i) => {
                    if (own.what === whats[i] && own.name === name && own.before === before[i] &&
                        own.now === now[i])
                        notes[i] = `above ${most} %`;
                });
        return notes;
    }

    // The layers of each stage, and whether it fits.
    stageColumns() {
        const columns = ['before', 'now'].flatMap((side) => [[`units ${side}`, ({ first_unit: first,
            last_unit: last }) => first === last ? first : `${first} to ${last}`],
        [`verdict ${side}`, ({ verdict }) => verdict]].map(([title, text]) => [title,
            this.data.stages.map((own) => own[side] && text(own[side]))]));
        return Object.fromEntries(columns.filter(([, values]) => values.some(Boolean)));
    }

    // Charts of a quantity of all tiles, which share the chosen one, and that tile.
    makeTiles(table, quantity, quantities) {
        const [before, now] = ['before', 'now'].map((side) => table.column(`${side}.${quantity}`));
        const all = now.map((value, i) => changeOf(before[i], value));
        const title = columnTitle(quantity).replace(/ \(bytes\)$/, '');
        // a line far above all others would leave them no room to differ in
        const room = this.page.data.bytes_per_tile;
        const isNear = [before, now].some((values) => values.some((value) => value > room / 2));
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        const choose = (tile) => {
            this.tile = tile;
            this.charts.filter((chart) => chart.chosen !== tile).forEach((chart) =>
                chart.choose(tile, false));
            this.drawTile(tile, table, quantities);
        };
        const chart = (name, unit, series, limit = null) => new Chart({ unit, series, limit,
            title: `${name}: ${title}`, label: 'tile', chosen: this.tile, onChoose: choose,
            bands: ipuBands(this.page.tables.tiles) });
        this.charts = [chart('Before and now', bytes, [
            { name: 'before', values: before, color: color(0), isLine: true },
            { name: 'now', values: now, color: color(7), isLine: true }],
        isNear ? { value: room, name: 'memory of a tile' } : null),
        chart('Difference', (value) => difference(value, bytes), [
            { name: 'more now', values: all.map((value) => Math.max(0, value)), color: color(1) },
            { name: 'less now', values: all.map((value) => Math.min(0, value)),
                color: color(2) }])].slice(0, all.some((value) => value !== 0) ? 2 : 1);
        this.drawTile(this.tile ?? Math.max(0, largestOf(all)), table, quantities);
        return [this.charts.map((own) => [el('h4', {}, own.title), own.element]), this.detail];
    }

    drawTile(tile, table, quantities) {
        const rows = quantities.map((quantity) => ({ quantity,
            before: table.column(`before.${quantity}`)[tile],
            now: table.column(`now.${quantity}`)[tile] }))
            .filter((row) => row.before !== 0 || row.now !== 0);
        const isPart = (row) => row.quantity.startsWith('category_');
        replace(this.detail, el('h4', {}, `Tile ${grouped(tile)}`), el('div', { class: 'pair' },
            changeTable('All of it', rows.filter((row) => !isPart(row))),
            changeTable('By category, most grown first', rows.filter(isPart).sort((a, b) =>
                changeOf(b.before, b.now) - changeOf(a.before, a.now)))));
    }
}
