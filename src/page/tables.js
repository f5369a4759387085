// ---- tables -------------------------------------------------------------------------------------
// A section as a table that can be searched and sorted. Some rows are shown, more on demand.

const ROWS_SHOWN = 50;

class Rows {
    // `columns` are names of the table; others: caption, sortBy, isDescending, show: by columns how
    // a value becomes what is in a cell; only(row): whether a row is there at all.
    constructor(table, options) {
        Object.assign(this, { sortBy: null, isDescending: true, show: {},
            only: () => true }, options);
        this.table = table;
        this.columns = options.columns.filter((name) => table.column(name) !== undefined);
        this.query = '';
        this.shown = ROWS_SHOWN;
        this.count = el('span', { class: 'status', 'aria-live': 'polite' });
        this.body = el('tbody');
        this.heads = this.columns.map((name) => this.head(name));
        this.more = button('Show more rows', () => {
            this.shown *= 4;
            this.draw();
        });
        this.search = el('input', { type: 'search', 'aria-label': `Search ${this.caption}`,
            placeholder: 'Search: words, all of which are in a row',
            oninput: () => this.ask(this.search.value) });
        this.element = el('div', { class: 'rows' }, el('p', { class: 'tools' }, this.search, this.count),
            el('p', { class: 'sheet' }, 'On paper at most 25 rows and 7 columns.'),
            el('div', { class: 'scroll', tabindex: '0', role: 'region',
                'aria-label': this.caption },
            el('table', {}, el('caption', { class: 'hidden' }, this.caption),
                el('thead', {}, el('tr', {}, this.heads)), this.body)), this.more);
        if (table.allRows > table.numRows)
            this.element.prepend(el('p', { class: 'note' }, `The first ${grouped(table.numRows)} ` +
                `of ${grouped(table.allRows)} rows; the section of the command has all.`));
        this.find();
    }

    // Shows the rows with these words.
    ask(query) {
        this.search.value = query;
        this.query = query;
        this.shown = ROWS_SHOWN;
        this.find();
    }

    head(name) {
        const isNumber = this.table.isNumber(name);
        return el('th', { scope: 'col', class: isNumber ? 'number' : null },
            button(columnTitle(name), () => {
                this.isDescending = this.sortBy === name ? !this.isDescending : isNumber;
                this.sortBy = name;
                this.find();
            }, { class: 'sort' }));
    }

    // The rows that hold all words, in order.
    find() {
        const words = wordsOf(this.query);
        const columns = this.columns.map((name) => this.table.column(name));
        const rows = [];
        this.all = 0;
        for (let i = 0; i < this.table.numRows; i++) {
            if (!this.only(i))
                continue;
            this.all++;
            if (words.length === 0 || hasWords(columns.map((values) => values[i]).join(' '), words))
                rows.push(i);
        }
        if (this.sortBy !== null) {
            const values = this.table.column(this.sortBy);
            const sign = this.isDescending ? -1 : 1;
            const compare = (a, b) => a === b ? 0 : a === null ? 1 : b === null ? -1
                : sign * (typeof a === 'number' ? a - b : a < b ? -1 : 1);
            rows.sort((a, b) => compare(values[a], values[b]) || a - b);
        }
        this.found = rows;
        this.draw();
    }

    draw() {
        const rows = this.found.slice(0, this.shown);
        this.count.textContent = this.found.length === this.all
            ? `${grouped(this.found.length)} rows`
            : `${grouped(this.found.length)} of ${grouped(this.all)} rows`;
        this.heads.forEach((th, i) => th.setAttribute('aria-sort',
            this.columns[i] !== this.sortBy ? 'none'
                : this.isDescending ? 'descending' : 'ascending'));
        replace(this.body, rows.map((row) => el('tr', {}, this.columns.map((name) =>
            this.cell(name, row)))));
        this.more.hidden = this.found.length <= this.shown;
    }

    cell(name, row) {
        const value = this.table.column(name)[row];
        const text = shownValue(value);
        return el('td', { class: this.table.isNumber(name) ? 'number' : null, title:
            text.length > 60 ? text.slice(0, 2000) : null },
        this.show[name] ? this.show[name](value) : shorten(text));
    }
}

// The two ends of a long text: what names differ in is mostly the end.
function shorten(text, most = 60) {
    return text.length <= most ? text
        : `${text.slice(0, 20)}…${text.slice(text.length - most + 21)}`;
}
