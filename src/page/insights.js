// ---- what stands out ----------------------------------------------------------------------------

// A part of a whole, with its share.
function part(own, of) {
    const share = of > 0 ? 100 * own / of : 0;
    const digits = share < 10 && share > 0 ? 1 : 0;
    return `${bytes(own)} of ${bytes(of)} (${share.toFixed(digits)} %)`;
}

const several = (count, one, many) => count === 1 ? `1 ${one}` : `${grouped(count)} ${many}`;

// The figures of a row of the section `advice`, in the words of its rule.
function finding(a) {
    const [what, ...others] = a.measured.split('; ').map((text) => text
        .replace(/^count:/, grouped(a.count)).replace(/^one:/, () => bytes(a.one_bytes)));
    const subject = a.subject === null ? '' : `${shorten(a.subject)}: `;
    return `${[`${subject}${part(a.bytes, a.of_bytes)}: ${what}`, ...others].join('; ')}.`;
}

function adviceList(page) {
    const table = page.tables.advice;
    if (table.numRows === 0)
        return el('p', {}, 'No rule of the section advice finds anything.');
    return el('ul', { class: 'advice' }, table.rows().map((a) => el('li', {},
        el('p', {}, el('strong', {}, columnTitle(a.rule)), ' ',
            finding(a), a.tile === null ? null
                : [' ', page.tileLink(a.tile, `Tile ${grouped(a.tile)}`)]),
        el('p', { class: 'status' }, `To try: ${a.suggestion}.`))));
}

// Tiles far above the others, with the reason as far as categories tell it.
function standingOut(page) {
    const { tiles } = page.tables;
    const live = tiles.column('live_bytes');
    const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1] || 0;
    const median = middle(live);
    const most = live.map((value, i) => [i, value]).sort((a, b) => b[1] - a[1] || a[0] - b[0])
        .filter(([, value]) => value > median).slice(0, 10);
    if (most.length === 0)
        return el('p', {}, `No tile has more live than the median tile, ${bytes(median)}.`);
    const categories = categoriesOf(tiles).map((own) => ({ ...own, usual: middle(own.values) }));
    return smallTable(`Tiles with most live memory (the median tile has ${bytes(median)})`,
        ['#tile', '#live', '#above the median', 'category most above its median'],
        most.map(([tile, value]) => {
            const above = ({ values, usual }) => values[tile] - usual;
            const [first] = [...categories].sort((a, b) => above(b) - above(a));
            return [page.tileLink(tile), bytes(value), difference(value - median, bytes),
                first !== undefined && above(first) > 0
                    ? `${first.name}: ${difference(above(first), bytes)}` : ''];
        }));
}

// Which tile the columns of the fullest tile are of.
const worstTile = (table) => table.numRows === 0 ? ''
    : ` The fullest tile is ${grouped(table.column('worst_tile')[0])}.`;

function insightsView(page) {
    const { advice, vertices, exchanges, categories } = page.tables;
    return [el('h3', {}, 'Advice'),
        el('p', {}, 'What rules find, each with figures of this profile. What a change would ' +
            'save is known only once it is compiled.'), adviceList(page),
        el('details', {}, el('summary', {}, 'The figures, to the byte'),
            rows(page, 'advice', 'Advice', advice.columns, null)),
        el('h3', {}, 'Tiles that stand out'),
        standingOut(page),
        el('h3', {}, 'Variables'),
        rows(page, 'variables', 'Variables', ['name', 'category', 'size_bytes', 'num_tiles',
            'largest_tile', 'largest_tile_bytes', 'always_live', 'first_step', 'last_step',
            'units'], 'size_bytes'),
        el('h3', {}, 'Vertex types'),
        el('p', {}, 'Code is on a tile once for each type, state once for each vertex.' +
            worstTile(vertices)),
        rows(page, 'vertices', 'Vertex types', ['name', 'code_bytes', 'state_bytes',
            'num_vertices', 'num_tiles', 'num_compute_sets', 'instance_bytes',
            'worst_tile_code_bytes', 'worst_tile_state_bytes', 'worst_tile_vertices'],
        'code_bytes'),
        el('h3', {}, 'Exchanges'),
        el('p', {}, 'Touched are all bytes of the variables that an exchange copies from and ' +
            'to, of which it may copy parts.' + worstTile(exchanges)),
        rows(page, 'exchanges', 'Exchanges', ['program', 'type', 'name', 'unit', 'code_bytes',
            'touched_bytes', 'cycles', 'worst_tile_bytes', 'largest_tile', 'largest_tile_bytes',
            'num_tiles', 'num_steps'], 'code_bytes'),
        el('h3', {}, 'Categories'),
        rows(page, 'categories', 'Categories', categories.columns, 'variables_bytes')];
}
