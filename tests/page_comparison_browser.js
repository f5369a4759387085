// The comparison of a page in a browser: what is on screen against --compare --format json.
// For page_browser_test.js.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');

// Digits in any grouping, with their sign; null for none.
function numberOf(text) {
    const digits = text.replace(/[^0-9.−±+-]/g, '').replace('−', '-').replace(/[±+]/, '');
    return digits === '' || digits === '–' ? null : Number(digits);
}

// The cells of a table below a selector, row by row.
async function cellsOf(tab, selector) {
    return tab.locator(`${selector} tbody tr`).evaluateAll((rows) => rows.map((row) =>
        [...row.cells].map((cell) => cell.textContent)));
}

const kindOf = ({ what }) => ['head', 'tail', 'unlayered'].includes(what) ? 'layer' : what;
const TABLE = '#comparison .rows';

// What a name is like on screen: in the middle of a long one something is left out.
function looksLike(shown, name) {
    const [start, end] = shown.split('…');
    return end === undefined ? shown === name : name.startsWith(start) && name.endsWith(end);
}

function checkRow(cells, row, where) {
    assert.ok(looksLike(cells[0], row.name), `${where}: ${cells[0]}, not ${row.name}`);
    assert.strictEqual(cells[1], kindOf(row), where);
    assert.deepStrictEqual(cells.slice(3, 6).map(numberOf), [row.before, row.now, row.difference],
        where);
    const percent = numberOf(cells[6]);
    assert.strictEqual(percent === null, row.percent === null, where);
    assert.ok(percent === null || Math.abs(percent - row.percent) <= 0.006 +
        Math.abs(row.percent) * 1e-3, `${where}: ${cells[6]}, not ${row.percent}`);
}

async function showAll(tab) {
    const more = tab.locator('#comparison').getByRole('button', { name: 'Show more rows' });
    while (await more.isVisible())
        await more.click();
}

// One quantity of all items: those that grew most first, those of one side last.
async function checkRows(tab, kind, quantity, rows, where) {
    await tab.locator('#comparison').getByLabel('Show', { exact: true })
        .selectOption(`kind:${kind} quantity:${quantity}`);
    await showAll(tab);
    const expected = rows.filter((row) => kindOf(row) === kind && row.quantity === quantity);
    const size = (row) => row.difference === null ? -Infinity : row.difference;
    expected.sort((a, b) => size(b) > size(a) ? 1 : size(b) < size(a) ? -1 : 0);
    const cells = await cellsOf(tab, TABLE);
    assert.strictEqual(cells.length, expected.length, where);
    cells.forEach((own, i) => {
        checkRow(own, expected[i], `${where}: ${quantity} of ${expected[i].name}`);
        if (expected[i].only)
            assert.ok(own.includes(`only ${expected[i].only}`), `${where}: ${own}`);
    });
    const table = tab.locator(TABLE);
    await table.getByRole('button', { name: 'before', exact: true }).click();
    const sorted = (await cellsOf(tab, TABLE)).map((own) => numberOf(own[3]))
        .filter((value) => value !== null);
    assert.deepStrictEqual(sorted, [...sorted].sort((a, b) => b - a), where);
    await table.getByRole('button', { name: 'difference', exact: true }).click();
}

// The table has all quantities of the tile.
async function checkTile(tab, tile, rows, where) {
    await showAll(tab);
    const expected = rows.filter((row) => row.what === 'tile' && row.name === String(tile));
    const key = (values) => values.map(String).join(' ');
    assert.deepStrictEqual((await cellsOf(tab, TABLE)).map((own) =>
        key([own[1], own[0], ...own.slice(3, 6).map(numberOf)])).sort(),
    expected.map((row) => key(['tile', tile, row.before, row.now, row.difference])).sort(), where);
}

async function checkTiles(tab, rows, where) {
    const chart = tab.locator('#comparison .chart svg[role=application]');
    await tab.locator('#comparison').getByLabel('Show', { exact: true })
        .selectOption('kind:tile quantity:live_bytes');
    await chart.focus();
    await tab.keyboard.press('Home');
    await checkTile(tab, 0, rows, where);
    await tab.keyboard.press('ArrowRight');
    await checkTile(tab, 1, rows, where);
    await tab.keyboard.press('+');
    await tab.keyboard.press('0');
    await chart.evaluate((it) => it.scrollIntoView({ block: 'center' })); // for the pointer
    const box = await chart.boundingBox();
    await tab.mouse.click(box.x + box.width * 0.97, box.y + box.height / 2);
    const last = rows.filter((row) => row.what === 'tile' && row.quantity === 'live_bytes')
        .length - 1;
    await checkTile(tab, last, rows, where);
    const shown = await tab.evaluate(() => window.page.comparison.chart.series.map((own) =>
        [...own.values]));
    assert.deepStrictEqual(shown, ['before', 'now'].map((side) => rows.filter((row) =>
        row.what === 'tile' && row.quantity === 'live_bytes').map((row) => row[side])), where);
}

// `told` is the document of --compare --format json of what the page was made of.
async function checkComparison(tab, told, name) {
    const { rows } = told;
    const links = await tab.locator('nav a').allInnerTexts();
    assert.deepStrictEqual(links.slice(0, 2), ['Plan', 'Comparison'], name);
    await tab.evaluate(() => window.page.go('comparison'));
    const box = await tab.locator('section#comparison').boundingBox();
    assert.ok(box.height > 300 && box.width > 300, name);
    for (const kind of ['layer', 'category', 'tile', 'device'].concat(told.stages === null ? []
        : ['stage', 'plan']))
        for (const quantity of [...new Set(rows.filter((row) => kindOf(row) === kind)
            .map((row) => row.quantity))].filter((own, i) => i < 3 || own === 'live_bytes'))
            await checkRows(tab, kind, quantity, rows, `${name}: ${kind}`);
    await checkTiles(tab, rows, name);
    const bounds = await cellsOf(tab, '#comparison [aria-label="Bounds on growth"]');
    assert.deepStrictEqual(bounds.map((cells) => cells.slice(1, 4).map(numberOf)),
        told.bounds.map((own) => [own.max_percent, own.num_compared, own.exceeded.length]), name);
    const head = await tab.locator('#comparison .verdict').first().textContent();
    const { difference } = told.growth;
    assert.ok(head.startsWith(difference > 0 ? 'Larger: ' : difference < 0 ? 'Smaller: '
        : difference === 0 ? 'As large as before: ' : 'Not known: '), `${name}: ${head}`);
    if (bounds.length > 0)
        assert.strictEqual(await tab.locator('#comparison .verdict.over').count() > 0,
            told.bounds.some((bound) => bound.exceeded.length > 0), name);
    // on paper it is there, too
    await tab.emulateMedia({ media: 'print' });
    assert.ok(await tab.locator('#comparison .rows').first().isVisible(), name);
    assert.ok(!await tab.locator('#comparison .tools').first().isVisible(), name);
    await tab.emulateMedia({ media: 'screen' });
}

module.exports = { checkComparison };
