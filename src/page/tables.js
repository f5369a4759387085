// ---- tables -------------------------------------------------------------------------------------
// A section as a table that can be searched and sorted. Some rows are shown, more on demand.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const ROWS_SHOWN = 50;
// Columns that add up over rows.
const SUMS = /^(?!largest_|worst_)(.*_)?(bytes|cycles)$|^num_(programs|steps|vertices)$/;

class Rows {
    // caption, sortBy; show: by columns what is in a cell for a value; only(row): whether a row is
    // there at all; isNamed: names that differ in numbers alone are one row, until it is opened.
    constructor(table, options) {
        Object.assign(this, { sortBy: null, isDescending: true, show: {}, isNamed: false,
            only: () => true, shown: ROWS_SHOWN, table, open: new Set(), body: el('tbody'),
            count: el('span', { class: 'status', 'aria-live': 'polite' }) }, options);
        this.columns ||= [...new Set(['name', this.sortBy, ...table.columns])].filter((name) =>
            table.columns.includes(name));
        this.heads = this.columns.map((name) => el('th', { scope: 'col', class: this.look(name) },
            button(columnTitle(name), () => {
                this.isDescending = this.sortBy === name ? !this.isDescending
                    : table.isNumber(name);
                this.sortBy = name;
                this.find();
            }, { class: 'sort' })));
        this.more = button('Show more rows', () => {
            this.shown *= 4;
            this.draw();
        });
        this.search = el('input', { type: 'search', oninput: () => this.ask(this.search.value),
            'aria-label': `Search ${this.caption}`, placeholder: 'Words, unit:11, >1MiB' });
        this.element = el('div', { class: 'rows' },
            table.allRows <= table.numRows ? null : el('p', { class: 'note' }, `The first ${
                grouped(table.numRows)} of ${grouped(table.allRows)} rows. --output ${
                this.name} has all.`),
            el('p', { class: 'tools' }, this.search, !this.isNamed ? null
                : tick('Same name in all layers as one', true, (isNamed) => {
                    this.isNamed = isNamed;
                    this.find();
                }), this.count),
            el('p', { class: 'sheet' }, 'On paper at most 25 rows and 7 columns.'),
            wideTable(this.caption, 'hidden', this.heads, this.body), this.more);
        this.find();
    }

    look(name) {
        return this.table.isNumber(name) || SUMS.test(name) ? 'number'
            : name === 'name' ? name : null;
    }

    // Shows the rows with these words.
    ask(query) {
        this.search.value = query;
        this.shown = ROWS_SHOWN;
        this.find();
    }

    // Whether a row has a word: in any column; column:word; or >size in the column that sorts, of
    // others than numbers in any column of bytes.
    tester(word) {
        const of = (isOwn) => this.columns.filter(isOwn).map((name) => this.table.column(name));
        const [, column, value] = /^(\w+):(.+)$/.exec(word) || [];
        const [values] = of((name) => name === column);
        if (values !== undefined)
            return (row) => String(values[row]).toLowerCase() === value;
        const isSorted = this.table.isNumber(this.sortBy);
        const all = of((name) => word[0] !== '>' || (isSorted ? name === this.sortBy
            : name.endsWith('bytes')));
        const least = readSize(word.slice(1));
        return word[0] === '>' && least >= 0 ? (row) => all.some((own) => own[row] > least)
            : (row) => hasWords(all.map((own) => own[row]).join(' '), [word]);
    }

    // The rows that hold all words, as groups of one or several, in order.
    find() {
        const { table, sortBy } = this;
        const tests = wordsOf(this.search.value).map((word) => this.tester(word));
        const [names, values] = [table.column('name'), table.column(sortBy)];
        const compare = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1
            : (this.isDescending ? -1 : 1) * (typeof a === 'number' ? a - b : a < b ? -1 : 1);
        const all = [...Array(table.numRows).keys()].filter(this.only);
        const found = all.filter((row) => tests.every((test) => test(row)));
        this.counts = [...new Set([found.length, all.length])].map(grouped).join(' of ');
        if (values !== undefined)
            found.sort((a, b) => compare(values[a], values[b]));
        this.groups = [...Map.groupBy(found, (row) => !this.isNamed ? row
            : (names[row] || '').replace(/\d+/g, '#'))].map(([name, own]) =>
            ({ name, rows: own, value: values && this.value(sortBy, own) }));
        if (values !== undefined && this.isNamed)
            this.groups.sort((a, b) => compare(a.value, b.value));
        this.most = this.groups.reduce((most, { value }) => Math.max(most, value), 0);
        this.draw();
    }

    draw() {
        const { groups, open, shown, columns } = this;
        this.count.textContent = `${this.counts} rows` +
            (this.isNamed ? ` in ${several(groups.length, 'group', 'groups')}` : '');
        this.heads.forEach((th, i) => {
            th.ariaSort = columns[i] !== this.sortBy ? 'none'
                : this.isDescending ? 'descending' : 'ascending';
        });
        replace(this.body, groups.slice(0, shown).flatMap(({ name, rows }) => [{ name, rows },
            ...open.has(name) ? rows.map((row) => ({ rows: [row], look: 'inner' })) : []])
            .map(({ look, ...line }) => el('tr', { class: look },
                columns.map((column) => this.cell(column, line)))));
        this.more.hidden = groups.length <= shown;
    }

    // The value of a row; of several their sum, or what all have.
    value(name, rows) {
        const values = this.table.column(name);
        return rows.length === 1 ? values[rows[0]]
            : SUMS.test(name) ? rows.reduce((sum, row) => sum + values[row], 0)
            : rows.every((row) => values[row] === values[rows[0]]) ? values[rows[0]] : null;
    }

    cell(column, { name, rows }) {
        const value = this.value(column, rows);
        const text = shownValue(value);
        const cell = el('td', { class: this.look(column),
            title: text.length > 60 ? text.slice(0, 2000) : null }, column === 'name' &&
            rows.length > 1 ? link(`${shorten(name) || '(no name)'} × ${grouped(rows.length)}`,
                () => {
                    this.open[this.open.has(name) ? 'delete' : 'add'](name);
                    this.draw();
                }) : this.show[column] ? this.show[column](value) : shorten(text));
        if (column === this.sortBy && value > 0 && this.most > 0)
            cell.style.setProperty('--Share', `${100 * value / this.most}%`);
        return cell;
    }
}

// The two ends of a long text: what names differ in is mostly the end.
function shorten(text, most = 60) {
    return text.length <= most ? text
        : `${text.slice(0, 20)}…${text.slice(text.length - most + 21)}`;
}
