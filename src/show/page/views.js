// ---- what is listed -----------------------------------------------------------------------------

function rows(page, name, caption, columns, sortBy, others) {
    return new Rows(page.tables[name], Object.assign({ caption, columns, sortBy }, others)).element;
}

// The programs that others contain, opened step by step.
function programTree(table) {
    const parents = table.column('parent');
    const children = new Map();
    parents.forEach((parent, i) => {
        if (!children.has(parent))
            children.set(parent, []);
        children.get(parent).push(i);
    });
    const types = table.column('type');
    const names = table.column('name');
    const cycles = table.column('cycles');
    const called = table.column('called');
    const text = (i) => [types[i] || '', names[i] ? shorten(names[i]) : '',
        cycles[i] ? `${grouped(cycles[i])} cycles` : '',
        called[i] === null ? '' : `calls ${called[i]}`].filter((part) => part !== '').join(' · ');
    const most = 200;
    const list = (numbers) => [numbers.slice(0, most).map((i) => {
        const own = children.get(i);
        const words = `${i}: ${text(i)}`;
        if (own === undefined)
            return el('li', {}, words);
        const item = el('details', {}, el('summary', {}, `${words} (${own.length})`));
        item.addEventListener('toggle', () => {
            if (item.open && item.childElementCount === 1)
                item.append(el('ul', {}, list(own)));
        });
        return el('li', {}, item);
    }), numbers.length > most ? el('li', {}, `and ${grouped(numbers.length - most)} more: search ` +
        'the table') : null];
    return el('ul', { class: 'tree' }, list(children.get(null) || []));
}

function programsView(page) {
    return [programTree(page.tables.programs), rows(page, 'programs', 'Programs', ['program',
        'type', 'name', 'unit', 'cycles', 'num_steps', 'first_step', 'control_code_bytes',
        'exchange_code_bytes', 'vertex_state_bytes', 'num_vertices', 'num_repeats'], null)];
}

function operationsView(page) {
    return rows(page, 'operations', 'Operations', ['operation', 'name', 'unit', 'layer', 'rule',
        'variables_bytes', 'vertex_code_bytes', 'vertex_state_bytes', 'exchange_code_bytes',
        'control_code_bytes', 'cycles', 'num_programs', 'first_step', 'last_step', 'inputs',
        'debug_path'], 'variables_bytes');
}

function layersView(page) {
    return [rows(page, 'layers', 'Layers', page.tables.layers.columns, null),
        el('h3', {}, 'Pairs of layers'),
        el('p', {}, 'Bytes of variables that both use (affinity), and of those that go live in ' +
            'one and die in the other (communication).'),
        rows(page, 'pairs', 'Pairs of layers', page.tables.pairs.columns, 'communication_bytes')];
}

// Tiles far above the others, with the reason as far as categories tell it.
function standingOut(page) {
    const { tiles } = page.tables;
    const live = tiles.column('live_bytes');
    const sorted = [...live].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)] || 0;
    const names = tiles.columns.filter((name) => name.startsWith('category_'));
    const medians = new Map(names.map((name) => {
        const values = [...tiles.column(name)].sort((a, b) => a - b);
        return [name, values[Math.floor(values.length / 2)]];
    }));
    const most = live.map((value, i) => [i, value]).sort((a, b) => b[1] - a[1] || a[0] - b[0])
        .slice(0, 10);
    return smallTable(`Tiles with most live memory (the median tile has ${bytes(median)})`,
        [['tile', true], ['live', true], ['above the median', true], ['most of it', false]],
        most.map(([tile, value]) => {
            const [name, above] = names.map((column) => [column,
                tiles.column(column)[tile] - medians.get(column)])
                .reduce((best, pair) => pair[1] > best[1] ? pair : best, ['', 0]);
            return [button(grouped(tile), () => page.showTile(tile), { class: 'link' }),
                bytes(value), difference(value - median, bytes), above > 0
                    ? `${name.slice('category_'.length, -'_bytes'.length)}: ` +
                        difference(above, bytes) : ''];
        }));
}

function insightsView(page) {
    return [standingOut(page), el('h3', {}, 'Variables'),
        rows(page, 'variables', 'Variables', ['name', 'category', 'size_bytes', 'num_tiles',
            'largest_tile', 'largest_tile_bytes', 'always_live', 'first_step', 'last_step',
            'units'], 'size_bytes'),
        el('h3', {}, 'Categories'),
        rows(page, 'categories', 'Categories', page.tables.categories.columns, 'variables_bytes')];
}

function summaryView(page) {
    const { summary } = page.tables;
    const groups = summary.column('group');
    const names = summary.column('name');
    const values = summary.column('value');
    const defaults = summary.column('is_default');
    const list = (group) => facts(groups.map((own, i) => own === group
        ? [names[i].replace(/_/g, ' '), shownValue(names[i], values[i]) || '–'] : null));
    const options = groups.map((own, i) => i).filter((i) => groups[i] === 'engine_option' &&
        defaults[i] !== true);
    return [['version', 'Versions'], ['device', 'Device'], ['count', 'What there is'],
        ['memory', 'Memory'], ['cycles', 'Cycles']].flatMap(([group, title]) =>
        groups.includes(group) ? [el('h3', {}, title), list(group)] : [])
        .concat([smallTable('Options of the engine that differ from their default',
            [['option', false], ['value', false]], options.map((i) => [names[i],
                shownValue(names[i], values[i])]))]);
}

function diagnosisView(page) {
    const { checks } = page.tables;
    const breached = checks.column('breached').filter((count) => count > 0).length;
    return [el('p', { class: breached > 0 ? 'verdict over' : 'verdict' }, breached > 0
        ? `${breached} of ${checks.numRows} relations do not hold in this profile.`
        : `All ${checks.numRows} relations that a profile has to keep hold.`),
    rows(page, 'checks', 'Checks', checks.columns, null)];
}

// Cycles by a column, of what was estimated: [name, cycles], most first.
function estimatedCycles(programs, column) {
    const names = programs.column(column);
    const cycles = programs.column('cycles');
    const counts = programs.column('num_steps');
    const sums = new Map();
    names.forEach((name, i) => sums.set(name, (sums.get(name) || 0) +
        (cycles[i] || 0) * (counts[i] || 0)));
    return [...sums].filter((pair) => pair[1] > 0).sort((a, b) => b[1] - a[1]);
}

// The same of what ran.
function executedCycles(sums, by) {
    const values = (name) => sums.column(name);
    return values('by').map((own, i) => own === by ? [values('name')[i], values('cycles')[i]]
        : null).filter((pair) => pair !== null).sort((a, b) => b[1] - a[1]);
}

function executionView(page) {
    const { execution, programs } = page.tables;
    const hasRun = execution.numRows > 0;
    const pairs = (by) => hasRun ? executedCycles(page.tables.execution_sums, by)
        : estimatedCycles(programs, by);
    const byType = pairs('type');
    const list = (caption, found) => smallTable(caption, [['', false], ['cycles', true]],
        found.slice(0, 40).map(([name, sum]) => [name || 'none', grouped(sum)]));
    return [el('p', {}, hasRun ? 'As it was measured, over all runs and IPUs.'
        : byType.length > 0 ? 'Nothing was run. These are the compiler\'s estimates: the cycles ' +
            'of each program times the liveness steps that run it, without repeats.'
        : 'Nothing was run, and the compiler estimated no cycles: compile with the engine option ' +
            'profiler.includeCycleEstimates set to true.'),
    el('div', { class: 'pair' }, list('Cycles by type of program', byType),
        list('Cycles by layer', pairs('unit'))),
    hasRun ? rows(page, 'execution', 'Executed programs', execution.columns, null) : null];
}
