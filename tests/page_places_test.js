// What the page knows of tiles and steps, without a browser: its reader against its own model and
// tables, and against random numbers that are packed here.
// Arguments: popliner, popliner-mkprofile, a scratch folder, the golden cases, the sample.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const path = require('path');

const [popliner, mkprofile, scratch, golden, sample] = process.argv.slice(2);
fs.mkdirSync(scratch, { recursive: true });
const Model = require(path.join(__dirname, '../src/page/model.js'));
const Places = require(path.join(__dirname, '../src/page/places.js'));

let seed = 20261123;
function random(below) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 4294967296 * below);
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

// ---- random rows, packed as src/page/page_data.h has them ----

function packNumber(bytes, value) {
    for (let rest = BigInt(value); ; rest >>= 7n) {
        bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
        if (rest <= 127n)
            return;
    }
}

function packRows(rows, block) {
    const bytes = [];
    for (const row of rows)
        for (let start = 0; start < row.length; start += block) {
            const own = row.slice(start, start + block);
            const least = Math.min(...own);
            const width = (Math.max(...own) - least).toString(2).replace(/^0$/, '').length;
            bytes.push(width);
            packNumber(bytes, least);
            let all = own.reduceRight((sum, value) => (sum << BigInt(width)) +
                BigInt(value - least), 0n);
            for (let i = 0; i < Math.ceil(width * own.length / 8); i++, all >>= 8n)
                bytes.push(Number(all & 255n));
        }
    return packText(bytes);
}

// As src/base/packed.c writes bytes.
function packText(bytes) {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' +
        '!#$%&()*+-;,=>?@^_`{|}~';
    let text = '';
    for (let i = 0; i < bytes.length; i += 4) {
        const group = [0, 1, 2, 3].reduce((sum, k) => 256 * sum + (bytes[i + k] || 0), 0);
        text += [4, 3, 2, 1, 0].slice(0, Math.min(4, bytes.length - i) + 1).map((power) =>
            digits[Math.floor(group / 85 ** power) % 85]).join('');
    }
    return text;
}

// As src/base/packed.h has them.
function pack(numbers) {
    const bytes = [];
    numbers.forEach((number, i) => {
        const difference = number - (i > 0 ? numbers[i - 1] : 0);
        packNumber(bytes, difference < 0 ? -2 * difference - 1 : 2 * difference);
    });
    return packText(bytes);
}

function checkRandomRows() {
    for (let round = 0; round < 60; round++) {
        const numTiles = 1 + random(80);
        const numRows = 1 + random(12);
        const most = 2 ** random(40);
        const rows = Array.from({ length: numRows }, () => Array.from({ length: numTiles }, () =>
            random(3) === 0 ? 0 : random(2) === 0 ? random(most) : most));
        const categories = rows.map(() => random(3));
        const shift = random(3);
        const data = { chain: { labels: ['a'] }, num_tiles: numTiles, places: { block: 32,
            named: { is_whole: true, shift, variable: pack(rows.map((_, i) => i)),
                category: pack(categories), tiles: packRows(rows, 32) } } };
        const places = Places.read(data, Model);
        for (let i = 0; i < 4; i++) {
            const isWanted = rows.map(() => random(4) > i);
            const told = places.byCategory('named', isWanted);
            for (let category = 0; category < 3; category++) {
                const expected = Array.from({ length: numTiles }, (_, tile) =>
                    sumOf(rows.map((row, k) => isWanted[k] && categories[k] === category
                        ? row[tile] * 2 ** shift : 0)));
                assert.deepStrictEqual(Array.from(told.get(category) ||
                    new Float64Array(numTiles)), expected, `${round}`);
            }
            const tile = random(numTiles);
            assert.deepStrictEqual(places.onTile('named', isWanted, tile), rows.map((row, k) =>
                ({ row: k, bytes: row[tile] * 2 ** shift })).filter(({ row, bytes }) =>
                isWanted[row] && bytes > 0));
        }
    }
}

// ---- pages ----

function makePage(words) {
    const file = path.join(scratch, 'page.html');
    execFileSync(popliner, ['-q', ...words, '--output', `page=${file}`],
        { stdio: ['ignore', 'ignore', 'pipe'] });
    const parts = fs.readFileSync(file, 'utf8')
        .split('<script type="application/json" id="data">');
    return JSON.parse(parts[1].slice(0, parts[1].indexOf('</script>')));
}

function column(data, section, name) {
    const table = data.sections[section];
    const packed = table.data[table.columns.indexOf(name)];
    if (typeof packed !== 'string')
        return Array.from(Model.unpack(packed.place), (i) => i === 0 ? null : packed.names[i - 1]);
    return Array.from(Model.unpack(packed), (number) => number === 0 ? null : number - 1);
}

// Each row adds up to what the table of variables says; each step to what the liveness has.
function checkTables(data, places, name) {
    const numbers = column(data, 'variables', 'variable');
    const categories = column(data, 'variables', 'category');
    const sizes = column(data, 'variables', 'size_bytes');
    const sizeOf = new Map(numbers.map((number, i) => [`${number} ${categories[i]}`, sizes[i]]));
    const rows = places.table('named');
    assert.strictEqual(rows.numRows, numbers.filter((number) => number !== null).length, name);
    const sums = new Float64Array(rows.numRows);
    const isWanted = new Array(rows.numRows).fill(true);
    for (let tile = 0; tile < data.num_tiles; tile++)
        for (const { row, bytes } of places.onTile('named', isWanted, tile))
            sums[row] += bytes;
    sums.forEach((sum, row) => assert.strictEqual(sum, sizeOf.get(`${rows.things[row]} ` +
        data.categories[rows.categories[row]]), `${name}: row ${row}`));
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

checkRandomRows();
const cases = [
    [sample],
    [path.join(golden, 'popart-train'), '--schedule', 'tf-grouped'],
    [make('training', '--training', '--tiles', '40'), '--schedule', 'popart'],
    [path.join(scratch, 'training'), '--schedule', 'popart', '--recompute', 'full'],
    [make('inference', '--inference', '--tiles', '16'), '--memory-model', 'popliner'],
];
for (const words of cases) {
    const data = makePage(words);
    const places = Places.read(data, Model);
    checkTables(data, places, words.join(' '));
}
console.log(`${cases.length} pages know where things are`);
