// ---- what is listed -----------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

function rows(page, name, caption, sortBy = null, others = {}) {
    const [tile, step] = ['tileLink', 'stepLink'].map((to) => (number) =>
        number === null ? '' : page[to](number));
    const show = { tile, largest_tile: tile, first_step: step, last_step: step };
    return new Rows(page.tables[name], { name, caption, sortBy, show, ...others });
}

// The programs that others contain, opened step by step.
class ProgramTree {
    constructor(table) {
        const column = (name) => table.column(name);
        this.parents = column('parent');
        this.called = column('called');
        this.children = new Map();
        this.parents.forEach((parent, i) => {
            if (!this.children.has(parent))
                this.children.set(parent, []);
            this.children.get(parent).push(i);
        });
        const [types, names, units, cycles] = ['type', 'name', 'unit', 'cycles'].map(column);
        this.text = (i) => [types[i] || '', names[i] || '', units[i] ? `unit ${units[i]}` : '',
            cycles[i] ? `${grouped(cycles[i])} cycles` : '', this.called[i] === null ? ''
                : `calls ${grouped(this.called[i])}`].filter((own) => own !== '').join(' · ');
        this.element = el('div', {}, this.list(this.children.get(null) || []));
        this.element.firstChild.setAttribute('class', 'tree');
    }

    // The contents of a program: its children, or the body that it calls.
    inside(i) {
        return this.children.get(i) || (i !== null && this.called[i] !== null ? [this.called[i]]
            : []);
    }

    list(numbers) {
        const most = 200;
        return el('ul', {}, numbers.slice(0, most).map((i) => this.item(i)), numbers.length > most
            ? el('li', {}, `and ${grouped(numbers.length - most)} more: search the table`) : null);
    }

    item(i) {
        const text = this.text(i);
        const words = el('span', { title: text.length > 150 ? text.slice(0, 2000) : null },
            `${grouped(i)}: ${shorten(text, 150)}`);
        const inside = this.inside(i);
        if (inside.length === 0)
            return el('li', {}, words);
        const item = el('details', { ontoggle: () => {
            if (item.childElementCount === 1)
                item.append(this.list(inside));
        } }, el('summary', {}, words, ` (${grouped(inside.length)})`));
        return el('li', {}, item);
    }
}

// Lists of the profile: title, column that they are sorted by, whether names are alike in layers.
const LISTS = {
    operations: ['Operations', 'variables_bytes', true],
    variables: ['Variables', 'size_bytes', true],
    programs: ['Programs', null, true],
    vertices: ['Vertex types', 'code_bytes', false],
    exchanges: ['Exchanges', 'code_bytes', true],
    tiles: ['Tiles', 'live_bytes', false],
    layers: ['Layers', null, false],
    pairs: ['Pairs of layers', 'communication_bytes', false],
    categories: ['Categories', 'variables_bytes', false],
    summary: ['Summary, with the notes of frameworks', null, false] };

class ExploreView {
    constructor(page) {
        Object.assign(this, { page, made: {} });
        this.chosen = choice(Object.entries(LISTS).map(([name, [title]]) => [name, title]),
            'operations', (name) => this.show(name));
        this.holder = el('div');
        this.element = el('div', {}, el('p', { class: 'settings' }, field('List', this.chosen)),
            this.holder);
        this.show('operations');
    }

    // Shows a list, and of it, if words are given, the rows that have them.
    show(name, query = null) {
        const [title, sortBy, isNamed] = LISTS[name];
        const list = this.made[name] ||= rows(this.page, name, title, sortBy, { isNamed });
        this.chosen.value = name;
        replace(this.holder, name !== 'programs' ? null
            : (this.tree ||= new ProgramTree(this.page.tables.programs)).element, list.element);
        if (query !== null)
            list.ask(query);
    }
}

function summaryView(page) {
    const { summary } = page.tables;
    const rowsOf = (group) => summary.rows().filter((row) => row.group === group);
    const options = rowsOf('engine_option').filter((row) => row.is_default !== true);
    return [el('h3', {}, 'Files'),
        smallTable('What was read', ['what', 'file', '#bytes'], page.data.files.map((file) =>
            [file.what, file.name, grouped(file.size_bytes)])),
        checksVerdict(page.tables.checks),
        [['version', 'Versions'], ['device', 'Device'], ['count', 'What there is'],
            ['memory', 'Memory'], ['cycles', 'Cycles']].flatMap(([group, title]) =>
            rowsOf(group).length > 0 ? [el('h3', {}, title), facts(rowsOf(group).map((row) =>
                [row.name.replace(/_/g, ' '), shownValue(row.value) || '–']))] : []),
        el('h3', {}, 'Options of the engine'),
        options.length > 0 ? smallTable('Those that differ from their default',
            ['option', 'value'], options.map(({ name, value }) => [name, shownValue(value)]))
            : el('p', {}, 'None is known to differ from its default.')];
}

// Cycles by a column, of what was estimated: [name, cycles], most first.
function estimatedCycles(programs, column) {
    const sums = new Map();
    for (const { [column]: name, ...own } of programs.rows([column, 'cycles', 'num_steps']))
        sums.set(name, (sums.get(name) || 0) + own.cycles * own.num_steps);
    return [...sums].filter((pair) => pair[1] > 0).sort((a, b) => b[1] - a[1]);
}

function cyclesSource(page) {
    const { summary } = page.tables;
    return summary.column('value')[summary.column('group').indexOf('cycles')];
}

function executionNote(page) {
    const none = 'compile with the engine option profiler.includeCycleEstimates set to true.';
    const each = 'cycles of each program times its liveness steps, so what repeats counts once.';
    return {
        measured: 'As it was measured, over all runs and IPUs. Cycles: the slowest tile’s. ' +
            'Balance: the mean of all tiles, as a share of it.',
        estimated: `Nothing was run: these are the compiler's estimates. The tables have ${each}`,
        exchanges: 'Nothing was run, and the compiler estimated exchanges and host copies alone: ' +
            `${none} The tables have ${each}`,
    }[cyclesSource(page)] || `Nothing was run, and the compiler estimated no cycles: ${none}`;
}

function executionView(page) {
    const { execution, programs } = page.tables;
    const hasRun = execution.numRows > 0;
    const pairs = (by) => !hasRun ? estimatedCycles(programs, by) // else with the mean over tiles
        : page.tables.execution_sums.rows().filter((row) => row.by === by).map((row) =>
            [row.name, row.cycles, row.mean_tile_cycles]).sort((a, b) => b[1] - a[1]);
    const list = (caption, found) => {
        const all = found.reduce((sum, row) => sum + row[1], 0);
        return smallTable(`${caption}: ${grouped(all)}`,
            ['', '#cycles', '#share', ...hasRun ? ['#balance'] : []],
        found.slice(0, 40).map(([name, sum, mean]) => [name || 'none', grouped(sum),
            share(sum, all)].concat(hasRun ? [share(mean, sum)] : [])));
    };
    return [el('p', {}, executionNote(page)), new Timeline(page).all,
        el('div', { class: 'pair' }, list('Cycles by type of program', pairs('type')),
            list('Cycles by layer', pairs('unit'))),
        hasRun ? rows(page, 'execution', 'Executed programs').element : null];
}
