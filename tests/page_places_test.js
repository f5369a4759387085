// What the page knows of tiles and steps, without a browser: its reader against its own tables.
// Arguments: popliner, popliner-mkprofile, a scratch folder, the golden cases, the sample.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

const [popliner, mkprofile, scratch, golden, sample] = process.argv.slice(2);
fs.mkdirSync(scratch, { recursive: true });
const Places = require(path.join(__dirname, '../src/page/places.js'));

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

// ---- pages ----

function makePage(words) {
    const file = path.join(scratch, 'page.html');
    execFileSync(popliner, ['-q', ...words, '--output', `page=${file}`],
        { stdio: ['ignore', 'ignore', 'pipe'] });
    const [, base64] = /id="data">(.*?)</.exec(fs.readFileSync(file, 'utf8'));
    return JSON.parse(zlib.inflateSync(Buffer.from(base64, 'base64')));
}

function column(data, section, name) {
    const { columns, rows } = data.sections[section];
    const place = columns.indexOf(name);
    return rows.map((row) => row[place]);
}

// Each row adds up to what the table of variables says; each step to what the liveness has.
function checkTables(data, places, name) {
    const numbers = column(data, 'variables', 'variable');
    const categories = column(data, 'variables', 'category');
    const sizes = column(data, 'variables', 'size_bytes');
    const sizeOf = new Map(numbers.map((number, i) => [`${number} ${categories[i]}`, sizes[i]]));
    const rows = places.rowsOf('named');
    assert.strictEqual(rows.length, numbers.filter((number) => number !== null).length, name);
    for (const row of rows) {
        const [variable, category, bytes] = row;
        assert.strictEqual(bytes.length, data.num_tiles);
        assert.strictEqual(sumOf(bytes), sizeOf.get(`${variable} ${data.categories[category]}`));
        assert.deepStrictEqual([...places.byCategory([row])],
            [[category, Float64Array.from(bytes)]]);
    }
    for (const [category, bytes] of places.byCategory(rows))
        bytes.forEach((sum, tile) => assert.strictEqual(sum, sumOf(rows.map((row) =>
            row[1] === category ? row[2][tile] : 0)), `${name}: ${category} on ${tile}`));
    let seen = 0;
    column(data, 'liveness', 'not_always_live_bytes').forEach((bytes, step) => {
        const { items, isWhole } = places.liveAt(step);
        assert.ok(isWhole);
        assert.strictEqual(sumOf(items.map((item) => item.bytes)), bytes, `${name}: step ${step}`);
        for (const item of items)
            assert.ok(item.from <= step && step <= item.to);
        seen += items.length;
    });
    assert.ok(seen > 100, name);
}

function make(name, ...words) {
    const folder = path.join(scratch, name);
    execFileSync(mkprofile, ['--output', folder, '--force', '--quiet', '--preset', 'bert-tiny',
        '--layers', '4', '--framework', 'popart', '--debug-arguments', '10', ...words]);
    return folder;
}

const cases = [
    [sample],
    [path.join(golden, 'popart-train'), '--schedule', 'tf-grouped'],
    [make('training', '--training', '--tiles', '40'), '--schedule', 'popart'],
    [path.join(scratch, 'training'), '--schedule', 'popart', '--recompute', 'full'],
    [make('inference', '--inference', '--tiles', '16'), '--memory-model', 'popliner'],
];
for (const words of cases) {
    const data = makePage(words);
    const places = Places.read(data);
    checkTables(data, places, words.join(' '));
}
console.log(`${cases.length} pages know where things are`);
