// ---- what is listed -----------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

// A section as a table, in which tiles and steps lead to theirs.
function rows(page, name, caption, sortBy = null, others = {}) {
    const [tile, step] = ['tileLink', 'stepLink'].map((to) => (number) =>
        number === null ? '' : page[to](number));
    const show = { tile, largest_tile: tile, first_step: step, last_step: step };
    return new Rows(page.tables[name], { name, caption, sortBy, show, ...others });
}

// The programs that others contain or call, opened step by step.
function programTree(table) {
    const most = 200;
    const all = table.rows(['parent', 'called', 'type', 'name', 'unit', 'cycles']);
    const children = Map.groupBy(all.keys(), (i) => all[i].parent);
    const list = (numbers, look = null) => el('ul', { class: look }, numbers.slice(0, most).map(
        (i) => {
            const { type, name, unit, cycles, called } = all[i];
            const text = [type, name, unit && `unit ${unit}`, cycles && `${grouped(cycles)} cycles`,
                called !== null && `calls ${grouped(called)}`].filter(Boolean).join(' · ');
            const words = nameCell(`${grouped(i)}: ${text}`, '', 150);
            const inside = children.get(i) || (called === null ? [] : [called]); // or its body
            return el('li', {}, inside.length === 0 ? words : el('details', {
                ontoggle: ({ target }) => {
                    if (target.childElementCount === 1)
                        target.append(list(inside));
                } }, el('summary', {}, words, ` (${grouped(inside.length)})`)));
        }), numbers.length <= most ? null
        : el('li', {}, `and ${grouped(numbers.length - most)} more: search the table`));
    return list(children.get(null) || [], 'tree');
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
    summary: ['Summary', null, false] };

// One list at a time; show(name, query): and of it, if words are given, the rows that have them.
function exploreView(page) {
    const made = {};
    const holder = el('div');
    const show = (name, query = null) => {
        const [title, sortBy, isNamed] = LISTS[name];
        const [list, tree] = made[name] ||= [rows(page, name, title, sortBy, { isNamed }),
            name === 'programs' ? programTree(page.tables.programs) : null];
        chosen.value = name;
        replace(holder, tree, list.element);
        if (query !== null)
            list.ask(query);
    };
    const chosen = choice(Object.entries(LISTS).map(([name, [title]]) => [name, title]), null,
        (name) => show(name));
    show('operations');
    return { show, element: el('div', {}, el('p', { class: 'settings' }, field('List', chosen)),
        holder) };
}

// Groups of the section `summary`; of options those that differ from their default.
const SUMMARY = { version: 'Versions', device: 'Device', count: 'What there is', memory: 'Memory',
    cycles: 'Cycles', engine_option: 'Options of the engine' };

function summaryView(page) {
    const { summary, checks } = page.tables;
    return [el('h3', {}, 'Files'),
        smallTable('What was read', ['what', 'file', '#bytes'], page.data.files.map((file) =>
            [file.what, file.name, grouped(file.size_bytes)])),
        checksVerdict(checks), Object.entries(SUMMARY).map(([group, title]) => {
            const own = summary.rows().filter((row) => row.group === group && !row.is_default);
            return own.length === 0 ? null : [el('h3', {}, title), facts(own.map(
                ({ name, value }) => [name.replace(/_/g, ' '), shownValue(value) || '–']))];
        })];
}

function cyclesSource(page) {
    const { summary } = page.tables;
    return summary.column('value')[summary.column('group').indexOf('cycles')];
}

function executionView(page) {
    const none = 'compile with the engine option profiler.includeCycleEstimates set to true.';
    const note = {
        measured: 'As it was measured. The tables below are of all runs and IPUs: the cycles of ' +
            'the slowest tile, and those of all tiles on the mean.',
        estimated: 'Nothing was run: these are the compiler\'s estimates.',
        exchanges: 'Nothing was run, and the compiler estimated exchanges and host copies alone: ' +
            none,
    }[cyclesSource(page)] || `Nothing was run, and the compiler estimated no cycles: ${none}`;
    const { execution, execution_sums: sums } = page.tables;
    const list = (by, title) => el('div', {}, el('h3', {}, title),
        rows(page, 'execution_sums', title, 'cycles', {
            columns: ['name', 'cycles', 'mean_tile_cycles', 'num_executions'],
            only: (i) => sums.column('by')[i] === by }).element);
    return [el('p', {}, note), new Timeline(page).all, execution.numRows === 0 ? null
        : [el('div', { class: 'pair' }, list('type', 'Cycles by type of program'),
            list('unit', 'Cycles by layer')), el('h3', {}, 'Executed programs'),
        rows(page, 'execution', 'Executed programs').element]];
}

// ---- what stands out, and what the analysis explains ----

// The figures of a row of the section `advice`, in the words of its rule.
function finding(a) {
    return `${a.subject === null ? '' : `${shorten(a.subject)}: `}${bytes(a.bytes)} of ${
        bytes(a.of_bytes)} (${share(a.bytes, a.of_bytes) || '0 %'}): ${
        a.measured.replace(/(^|; )count:/g, `$1${grouped(a.count)}`)}.`;
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
    const count = group === 'category' ? 5 : hasParts ? 4 : 2; // of columns
    return own.length === 0 ? null : smallTable(DIAGNOSED[group], ['', '#in the profile',
        '#explained', '#share', '#tiles over'].slice(0, count), own.map((row) => [
        row.name.replace(/_/g, ' '), row.name === 'tile' ? page.tileLink(row.value)
            : row.name.endsWith('step') ? page.stepLink(row.value)
            : shorten(shownValue(row.value), 40),
        shownValue(row.explained), row.explained === null ? '' : share(row.explained, row.value),
        shownValue(row.tiles_exceeded)].slice(0, count)));
}

function checksVerdict(checks) {
    const breached = checks.column('breached').filter((count) => count > 0).length;
    return el('p', { class: breached > 0 ? 'verdict over' : 'verdict' }, breached > 0
        ? `${breached} of ${checks.numRows} relations do not hold in this profile.`
        : `All ${checks.numRows} relations that a profile has to keep hold.`);
}

function diagnosisView(page) {
    const { checks, programs, missing } = page.tables;
    const [places, reasons] = [missing.column('place'), programs.column('missing_reason')];
    const list = (title, table, only) => [el('h3', {}, title),
        table === 'checks' ? checksVerdict(checks) : null,
        rows(page, table, title, null, { only }).element];
    return [el('p', {}, 'What the analysis explains of the compiler\'s own account of memory, ' +
        'all operations taken as one stage; what it misses, the largest first, and why. The ' +
        'programs in no operation have the code of each.'),
    el('div', { class: 'pair' }, Object.keys(DIAGNOSED).map((group) => diagnosed(page, group))),
    list('Missing at the bottleneck', 'missing', (i) => places[i] === 'bottleneck'),
    list('Missing over all tiles', 'missing', (i) => places[i] === 'all'),
    list('Programs in no operation', 'programs', (i) => reasons[i] !== null),
    list('The profile against itself', 'checks', () => true)];
}
