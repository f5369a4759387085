// ---- what the analysis explains -----------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

function share(own, of) {
    return of > 0 ? `${(100 * own / of).toFixed(2)} %` : '';
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
