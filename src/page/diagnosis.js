// ---- what the analysis explains -----------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

function diagnosed(table, group) {
    return table.rows().filter((row) => row.group === group);
}

function share(own, of) {
    return of > 0 ? `${(100 * own / of).toFixed(2)} %` : '';
}

// How far it gets where the compiler counts most.
function bottleneck(page, table) {
    const fact = (group) => Object.fromEntries(diagnosed(table, group).map((row) =>
        [row.name, row]));
    const own = fact('bottleneck');
    const model = fact('model');
    const off = model.tiles_off.value;
    return [facts([
        ['fullest tile', page.tileLink(own.tile.value)],
        ['at step', page.stepLink(own.step.value)],
        ['program', shorten(own.program.value || '–')],
        ['by the compiler', `${grouped(own.bytes.value)} bytes`],
        ['explained', `${grouped(own.bytes.explained)} bytes ` +
            `(${share(own.bytes.explained, own.bytes.value) || '–'})`],
        ['the model has most on tile', grouped(model.tile.value)],
        ['at its step', grouped(model.step.value)],
        ['with', `${grouped(model.bytes.value)} bytes`],
        ['memory model', model.memory_model.value],
    ]), el('p', { class: off > 0 ? 'verdict over' : null }, off === null
        ? 'The profile has no account by tile to check this against.'
        : off === 0 ? "Explained and missing add up to the compiler's account on every tile."
        : `Explained and missing do not add up to the compiler's account on ${several(off, 'tile',
            'tiles')}.`)];
}

function recall(table) {
    const list = (group) => diagnosed(table, group);
    const layers = list('layers');
    const numOperations = layers.reduce((sum, row) => sum + row.value, 0);
    return el('div', { class: 'pair' },
        smallTable('Categories, over all tiles',
            ['category', '#by the compiler', '#explained', '#share', '#missing', '#tiles over'],
        list('category').map((row) => [row.name, grouped(row.value), grouped(row.explained),
            share(row.explained, row.value), grouped(row.value - row.explained),
            grouped(row.tiles_exceeded)])),
        el('div', {}, smallTable('Programs by type', ['type', '#all', '#in operations', '#share'],
            list('programs').map((row) => [row.name, grouped(row.value), grouped(row.explained),
                share(row.explained, row.value)])),
        smallTable('Operations, by how their layer was found', ['rule', '#operations', '#share'],
            layers.map((row) => [row.name, grouped(row.value), share(row.value, numOperations)]))));
}

function suggestion(table) {
    const [regex, example, layers] = diagnosed(table, 'suggestion');
    return regex === undefined ? null : el('p', { class: 'note' }, `Names such as ` +
        `“${shorten(example.value)}” have no layer; the regex ${regex.value} would find ` +
        `${several(layers.value, 'layer', 'layers')} in them.`);
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
    const { checks, diagnosis, programs } = page.tables;
    const reasons = programs.column('missing_reason');
    return [el('p', {}, 'What the analysis explains of the compiler\'s own account of memory, ' +
        'all operations taken as one stage; what it misses, and why.'),
    bottleneck(page, diagnosis), recall(diagnosis), suggestion(diagnosis),
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
