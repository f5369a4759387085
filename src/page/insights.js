// ---- what stands out ----------------------------------------------------------------------------

// A part of a whole, with its share.
function part(own, of) {
    const share = of > 0 ? 100 * own / of : 0;
    const digits = share < 10 && share > 0 ? 1 : 0;
    return `${bytes(own)} of ${bytes(of)} (${share.toFixed(digits)} %)`;
}

function several(count, one, many) {
    return count === 1 ? `1 ${one}` : `${grouped(count)} ${many}`;
}

// The findings of each rule of the section `advice` in words, with the figures of the row.
const ADVICE = {
    over_memory: (a) => `${several(a.count, 'tile has', 'tiles have')} addresses in use past ` +
        `the end of the memory. The highest is at ${part(a.bytes, a.of_bytes)}.`,
    unbalanced: (a) => `The fullest tile has ${(a.bytes / a.of_bytes).toFixed(2)} times the mean: ` +
        `${bytes(a.bytes)} live there, ${bytes(a.of_bytes)} on the average tile. ` +
        `${several(a.count, 'tile is', 'tiles are')} above the mean.`,
    next_tile: (a) => `Without the fullest tile, this one would limit: ${bytes(a.bytes)}, ` +
        `${bytes(a.of_bytes - a.bytes)} less. ${several(a.count, 'tile has', 'tiles have')} 99 % ` +
        'of the worst or more, itself included.',
    always_live: (a) => `Always live on the fullest tile: ${part(a.bytes, a.of_bytes)}` +
        `${a.subject === null ? '' : `, most of it ${a.subject}`}.`,
    few_tiles: (a) => `${shorten(a.subject || 'A variable without a name')} is on ` +
        `${several(a.count, 'tile', 'tiles')} alone, and has ${part(a.bytes, a.of_bytes)} of the ` +
        'worst one at its peak.',
    copies: (a) => `Messages and rearrangements have ${part(a.bytes, a.of_bytes)} of the worst ` +
        'tile at its peak.',
    exchange_code: (a) => `Code of exchanges has ${part(a.bytes, a.of_bytes)} of the fullest tile.`,
    vertex_code: (a) => `${shorten(a.subject || 'A vertex type without a name')}: its code has ` +
        `${part(a.bytes, a.of_bytes)} of the fullest tile; ` +
        `${several(a.count, 'tile has', 'tiles have')} it.`,
    repeated_code: (a) => `${shorten(a.subject)}: ` +
        `${several(a.count, 'layer has', 'layers have')} exchange code for it, ` +
        `${part(a.bytes, a.of_bytes)} of all. The layer with most has ${bytes(a.one_bytes)}.`,
    repeated_constants: (a) => `${shorten(a.subject)}: ${grouped(a.count)} constants of ` +
        `${bytes(a.one_bytes)} each, ${part(a.bytes, a.of_bytes)} of all constants.`,
    gaps: (a) => `${several(a.count, 'tile has', 'tiles have')} 5 % or more below the highest ` +
        `address that nothing ever uses, at most ${part(a.bytes, a.of_bytes)}.` };

function adviceList(page) {
    const table = page.tables.advice;
    if (table.numRows === 0)
        return el('p', {}, 'No rule of the section advice finds anything.');
    const items = Array.from({ length: table.numRows }, (_, i) => Object.fromEntries(
        table.columns.map((name) => [name, table.column(name)[i]])));
    return el('ul', { class: 'advice' }, items.map((a) => el('li', {},
        el('p', {}, el('strong', {}, columnTitle(a.rule)), ' ',
            ADVICE[a.rule] ? ADVICE[a.rule](a) : `${bytes(a.bytes)}: ${a.measured}.`,
            a.tile === null ? null : [' ', button(`Tile ${grouped(a.tile)}`,
                () => page.showTile(a.tile), { class: 'link' })]),
        el('p', { class: 'status' }, `To try: ${a.suggestion}.`))));
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
        .filter(([, value]) => value > median).slice(0, 10);
    if (most.length === 0)
        return el('p', {}, `No tile has more live than the median tile, ${bytes(median)}.`);
    return smallTable(`Tiles with most live memory (the median tile has ${bytes(median)})`,
        [['tile', true], ['live', true], ['above the median', true],
            ['category most above its median', false]], most.map(([tile, value]) => {
            const [name, above] = names.map((column) => [column,
                tiles.column(column)[tile] - medians.get(column)])
                .reduce((best, pair) => pair[1] > best[1] ? pair : best, ['', 0]);
            return [button(grouped(tile), () => page.showTile(tile), { class: 'link' }),
                bytes(value), difference(value - median, bytes), above > 0
                    ? `${name.slice('category_'.length, -'_bytes'.length)}: ` +
                        difference(above, bytes) : ''];
        }));
}

// Which tile the columns of the fullest tile are of.
function worstTile(table) {
    return table.numRows === 0 ? ''
        : ` The fullest tile is ${grouped(table.column('worst_tile')[0])}.`;
}

function insightsView(page) {
    const { advice, vertices, exchanges, categories } = page.tables;
    return [el('h3', {}, 'Advice'),
        el('p', {}, 'What rules find, each with figures of this profile. What a change would ' +
            'save is known only once it is compiled.'), adviceList(page),
        el('details', {}, el('summary', {}, 'The figures, to the byte'),
            rows(page, 'advice', 'Advice', advice.columns, null)),
        el('h3', {}, 'Tiles that stand out'), standingOut(page), el('h3', {}, 'Variables'),
        rows(page, 'variables', 'Variables', ['name', 'category', 'size_bytes', 'num_tiles',
            'largest_tile', 'largest_tile_bytes', 'always_live', 'first_step', 'last_step',
            'units'], 'size_bytes'), el('h3', {}, 'Vertex types'),
        el('p', {}, 'Code is on a tile once for each type, state once for each vertex.' +
            worstTile(vertices)),
        rows(page, 'vertices', 'Vertex types', ['name', 'code_bytes', 'state_bytes',
            'num_vertices', 'num_tiles', 'num_compute_sets', 'instance_bytes',
            'worst_tile_code_bytes', 'worst_tile_state_bytes', 'worst_tile_vertices'],
        'code_bytes'), el('h3', {}, 'Exchanges'),
        el('p', {}, 'Touched are all bytes of the variables that an exchange copies from and ' +
            'to, of which it may copy parts.' + worstTile(exchanges)),
        rows(page, 'exchanges', 'Exchanges', ['program', 'type', 'name', 'unit', 'code_bytes',
            'touched_bytes', 'cycles', 'worst_tile_bytes', 'largest_tile', 'largest_tile_bytes',
            'num_tiles', 'num_steps'], 'code_bytes'), el('h3', {}, 'Categories'),
        rows(page, 'categories', 'Categories', categories.columns, 'variables_bytes')];
}
