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
        this.rows = table.rows(['parent', 'called', 'type', 'name', 'unit', 'cycles']);
        this.children = Map.groupBy(this.rows.keys(), (i) => this.rows[i].parent);
        this.element = el('div', {}, this.list(this.children.get(null) || [], 'tree'));
    }

    list(numbers, look = null) {
        const most = 200;
        return el('ul', { class: look }, numbers.slice(0, most).map((i) => this.item(i)),
            numbers.length > most ? el('li', {}, `and ${grouped(numbers.length - most)} more: ` +
                'search the table') : null);
    }

    item(i) {
        const { type, name, unit, cycles, called } = this.rows[i];
        const text = [type, name, unit && `unit ${unit}`, cycles && `${grouped(cycles)} cycles`,
            called !== null && `calls ${grouped(called)}`].filter(Boolean).join(' · ');
        const words = el('span', { title: text.length > 150 ? text.slice(0, 2000) : null },
            `${grouped(i)}: ${shorten(text, 150)}`);
        const inside = this.children.get(i) || (called === null ? [] : [called]); // or its body
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

// ---- what stands out, and what the analysis explains ----

// The figures of a row of the section `advice`, in the words of its rule.
function finding(a) {
    const [what, ...others] = a.measured.split('; ').map((text) => text
        .replace(/^count:/, grouped(a.count)));
    const subject = a.subject === null ? '' : `${shorten(a.subject)}: `;
    const percent = a.of_bytes > 0 ? 100 * a.bytes / a.of_bytes : 0;
    const part = `${bytes(a.bytes)} of ${bytes(a.of_bytes)} (${
        percent.toFixed(percent < 10 && percent > 0 ? 1 : 0)} %)`;
    return `${[`${subject}${part}: ${what}`, ...others].join('; ')}.`;
}

function insightsView(page) {
    const { advice } = page.tables;
    return [el('p', {}, 'What rules find, each with figures of this profile. What a change would ' +
            'save is known only once it is compiled.'),
        advice.numRows === 0 ? el('p', {}, 'No rule of the section advice finds anything.')
            : el('ul', { class: 'advice' }, advice.rows().map((a) => el('li', {},
                el('p', {}, el('strong', {}, columnTitle(a.rule)), ' ', finding(a),
                    a.tile === null ? null
                        : [' ', page.tileLink(a.tile, `Tile ${grouped(a.tile)}`)]),
                el('p', { class: 'status' }, `To try: ${a.suggestion}.`))))];
}

const DIAGNOSED = { bottleneck: 'The fullest tile, by the compiler',
    model: 'The fullest tile, by the memory model', category: 'Categories, over all tiles',
    programs: 'Programs by type', layers: 'Operations, by how their layer was found',
    suggestion: 'A regex that finds more layers' };

// A group of the section: what the profile has, and what of it is explained.
function diagnosed(page, group) {
    const own = page.tables.diagnosis.rows().filter((row) => row.group === group);
    const hasParts = own.some(({ explained }) => explained !== null);
    const columns = ['', '#in the profile', '#explained', '#share', '#tiles over'].slice(0,
        group === 'category' ? 5 : hasParts ? 4 : 2);
    return own.length === 0 ? null : smallTable(DIAGNOSED[group], columns, own.map((row) => [
        row.name.replace(/_/g, ' '), row.name === 'tile' ? page.tileLink(row.value)
            : row.name.endsWith('step') ? page.stepLink(row.value)
            : shorten(shownValue(row.value), 40),
        shownValue(row.explained), row.explained === null ? '' : share(row.explained, row.value),
        shownValue(row.tiles_exceeded)].slice(0, columns.length)));
}

// The items that are missing in a place; their parts are below them.
function missing(page, place, caption) {
    const places = page.tables.missing.column('place');
    return rows(page, 'missing', caption, null, { only: (i) => places[i] === place }).element;
}

function checksVerdict(checks) {
    const breached = checks.column('breached').filter((count) => count > 0).length;
    return el('p', { class: breached > 0 ? 'verdict over' : 'verdict' }, breached > 0
        ? `${breached} of ${checks.numRows} relations do not hold in this profile.`
        : `All ${checks.numRows} relations that a profile has to keep hold.`);
}

function diagnosisView(page) {
    const { checks, programs } = page.tables;
    const reasons = programs.column('missing_reason');
    return [el('p', {}, 'What the analysis explains of the compiler\'s own account of memory, ' +
        'all operations taken as one stage; what it misses, and why.'),
    el('div', { class: 'pair' }, Object.keys(DIAGNOSED).map((group) => diagnosed(page, group))),
    el('h3', {}, 'Missing at the bottleneck'),
    el('p', {}, 'Largest first; a row with a part tells whose code or state it is.'),
    missing(page, 'bottleneck', 'Missing at the bottleneck'),
    el('h3', {}, 'Missing over all tiles'), missing(page, 'all', 'Missing over all tiles'),
    el('h3', {}, 'Programs in no operation'),
    rows(page, 'programs', 'Programs in no operation', null, { only: (i) => reasons[i] !== null })
        .element,
    el('h3', {}, 'The profile against itself'), checksVerdict(checks),
    rows(page, 'checks', 'Checks').element];
}
