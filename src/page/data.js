// ---- data ---------------------------------------------------------------------------------------
// Sections as src/base/sheet.h has them for pages.
//
// SPDX-License-Identifier: GPL-3.0-or-later

class Table {
    constructor({ columns, rows, all_rows: allRows }) {
        // a page has the first rows of a long table
        Object.assign(this, { columns, all: rows, numRows: rows.length, allRows,
            read: new Map(), numbers: new Map() });
    }

    // The values of a column; undefined for no such column.
    column(name) {
        const i = this.columns.indexOf(name);
        if (i < 0)
            return undefined;
        if (!this.read.has(name))
            this.read.set(name, this.all.map((row) => row[i]));
        return this.read.get(name);
    }

    // The rows as objects, with some of the columns or all of them.
    rows(names = this.columns) {
        const columns = names.map((name) => this.column(name));
        return Array.from({ length: this.numRows }, (_, i) => Object.fromEntries(
            names.map((name, k) => [name, columns[k][i]])));
    }

    isNumber(name) {
        if (!this.numbers.has(name))
            this.numbers.set(name, this.column(name)?.every((value) => value === null ||
                typeof value === 'number'));
        return this.numbers.get(name);
    }
}

// The categories of variables, with the bytes of each on every tile.
function categoriesOf(tiles) {
    return tiles.columns.filter((name) => name.startsWith('category_')).map((name) =>
        ({ name: name.slice('category_'.length, -'_bytes'.length), values: tiles.column(name) }));
}

// How costs of a file call time, and how many cycles are one of it; null for a profile.
let costUnits = null;

let objectiveWords = null; // by objective, from its row in src/solve/objective.c

// A text of the page in the words of what it was made of: costs have devices without tiles.
function named(text) {
    return costUnits === null ? text
        : text.replace(/^IPUs,/, 'Devices,').replace(/IPU|\btile/g, 'device');
}

const timeUnit = () => costUnits === null ? 'cycles' : costUnits.time_unit;

// All that the page was made of.
function readData(data) {
    objectiveWords = data.wishes.objective_words;
    if (data.costs) {
        costUnits = data.costs;
        return { data, model: Model.read(data) };
    }
    const tables = Object.fromEntries(Object.entries(data.sections).map(([name, section]) =>
        [name, new Table(section)]));
    const model = Model.read(data);
    const { summary } = tables;
    clockHz = Number(summary.column('value')[summary.column('name').indexOf('clock_hz')]) || 0;
    return { data, tables, model, places: Places.read(data) };
}

// ---- numbers for reading ------------------------------------------------------------------------

// Digits in groups of three, as the command's.
const digits = new Intl.NumberFormat('en', { maximumFractionDigits: 20 });
const grouped = (number) => [null, undefined, Infinity].includes(number) ? '–'
    : digits.format(number).replace('-', '−');

// A time, to a millionth of its unit.
const shownTime = (cycles) =>
    grouped(cycles === null ? null : Number(cycles.toFixed(6)));

const threeDigits = (value) => value >= 100 ? grouped(Math.round(value))
    : String(Number(value.toPrecision(3)));

// A time with three digits: "14.5 M" cycles, or 3.75 of the unit of costs.
function shortTime(cycles) {
    if (costUnits !== null)
        return threeDigits(cycles);
    const power = [3, 2, 1].find((own) => cycles >= 1000 ** own) || 0;
    return threeDigits(cycles / 1000 ** power) + ['', ' k', ' M', ' G'][power];
}

// With its unit, and in milliseconds where the profile has a clock.
let clockHz = 0;
const timeText = (cycles) => `${shortTime(cycles)} ${timeUnit()}${clockHz === 0 ? ''
    : `, ${threeDigits(cycles / clockHz * 1000)} ms`}`;

// Whether sizes are in KB, as the limit was given, and not in KiB.
let isDecimal = false;

// Bytes with three digits and a unit; below ten thousand in full where that would hide some.
function bytes(number) {
    if (number === null || number === undefined || Number.isNaN(number))
        return '–';
    const units = isDecimal ? ['B', 'KB', 'MB', 'GB', 'TB'] : ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    const size = Math.abs(number);
    const base = isDecimal ? 1000 : 1024;
    if (size < base || (size < 10 * base && size % base !== 0))
        return `${grouped(Math.round(number))} B`;
    const unit = units.findLastIndex((_, power) => size >= base ** power);
    const value = size / base ** unit;
    return `${number < 0 ? '−' : ''}${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${
        units[unit]}`;
}

const largestOf = (values) =>
    values.reduce((best, value, i) => value > values[best] ? i : best, 0);

const share = (own, of) => of > 0 ? `${(100 * own / of).toFixed(2)} %` : '';

const several = (count, one, many) => count === 1 ? `1 ${one}` : `${grouped(count)} ${many}`;

// A difference: with its sign, and nothing for none.
function difference(number, show) {
    return number === 0 ? '±0' : number > 0 ? `+${show(number)}` : show(number);
}

function shownValue(value) {
    return value === null || value === undefined ? '' : value === true ? 'yes'
        : value === false ? 'no' : typeof value === 'number' ? grouped(value) : String(value);
}

// "largest_tile_bytes" → "largest tile (bytes)"
const columnTitle = (name) => name.replace(/^category_(.*_bytes)$/, '$1').replace(/^ipu$/, 'IPU')
    .replace(/^(.+)_(bytes|cycles)$/, '$1 ($2)').replace(/_/g, ' ');
