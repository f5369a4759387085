// ---- elements -----------------------------------------------------------------------------------
// Everything shown is made of these two: text stays text, whatever it holds.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const SVG = 'http://www.w3.org/2000/svg';

function append(element, attributes, children) {
    for (const name of Object.keys(attributes || {})) {
        const value = attributes[name];
        if (name.startsWith('on'))
            element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? '' : value);
    }
    for (const child of children.flat(3))
        if (child !== null && child !== undefined)
            element.append(child);
    return element;
}

// el('p', {class: 'x', onclick: f}, 'text', child)
function el(tag, attributes, ...children) {
    return append(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
    return append(document.createElementNS(SVG, tag), attributes, children);
}

const svgLine = (x1, y1, x2, y2, name) => svg('line', { x1, y1, x2, y2, class: name });
const svgText = (x, y, name, text) => svg('text', { x, y, class: name }, text);
const svgRect = (x, y, width, height, name, ...children) =>
    svg('rect', { x, y, width, height, class: name }, children);

function swatch(look) {
    return svg('svg', { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' },
        svg('rect', { width: 10, height: 10, ...look }));
}

// Lines at values of the axis that goes up, each with its text at the left.
function yAxis(values, y, left, right, show) {
    return values.map((value) => [svgLine(left, y(value), right, y(value), 'grid'),
        svgText(left - 6, y(value) + 4, 'tick end', show(value))]);
}

// Puts children in the place of those of an element; what had the focus has it again.
function replace(parent, ...children) {
    const held = parent.contains(document.activeElement) ? document.activeElement : null;
    const like = () => [...parent.querySelectorAll(held.tagName)].filter((own) =>
        own.ariaLabel === held.ariaLabel && (held.ariaLabel || own.className === held.className));
    const place = held === null ? -1 : like().indexOf(held);
    parent.replaceChildren(...children.flat(3).filter((child) => child !== null));
    if (place >= 0 && place < like().length)
        like()[place].focus({ preventScroll: true });
}

// A box at the pointer, one for the whole page.
const tip = {
    show(event, ...content) {
        this.element ||= document.body.appendChild(el('div', { class: 'tip', role: 'status' }));
        replace(this.element, content);
        this.element.hidden = false;
        const { offsetWidth: width, offsetHeight: height } = this.element;
        const x = event.clientX + 14;
        this.element.style.left = `${Math.max(4, x + width > innerWidth ? x - width - 28 : x)}px`;
        this.element.style.top = `${Math.max(4, Math.min(innerHeight - height - 4,
            event.clientY + 14))}px`;
    },
    hide() {
        if (this.element)
            this.element.hidden = true;
    },
};

// Acts once the browser has painted; at once where it does not paint.
const afterPaint = (act) => document.hidden ? act() : requestAnimationFrame(() => setTimeout(act));

let numIds = 0;
function field(label, input) {
    input.id = `id${++numIds}`;
    return el('span', { class: 'field' }, el('label', { for: input.id }, label), input);
}

const choice = (values, chosen, onChange) =>
    el('select', { onchange: ({ target }) => onChange(target.value) }, values.map(
        ([value, text]) => el('option', { value, selected: value === chosen }, text)));

// A box to tick.
const tick = (label, isTicked, onChange) => field(label, el('input', { type: 'checkbox',
    checked: isTicked, onchange: ({ target }) => onChange(target.checked) }));

function button(text, onClick, attributes) {
    return el('button', Object.assign({ type: 'button', onclick: onClick }, attributes), text);
}

// Buttons side by side, of which one is chosen.
function choices(label, values, chosen, onChange) {
    return el('span', { class: 'choices', role: 'group', 'aria-label': label }, values.map(
        ([value, text]) => button(text, () => onChange(value),
            { 'aria-pressed': String(value === chosen) })));
}

const link = (text, onClick, label = null) =>
    button(text, onClick, { class: 'link', 'aria-label': label });

// A name, shortened; all of it, or nearly, where the pointer is on it.
const nameCell = (name, ifEmpty = '(no name)', most = 60) =>
    el('span', { title: name.slice(0, 2000) }, shorten(name || ifEmpty, most));

// The words of a query, all of which a text has to have.
const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter((word) => word !== '');

function hasWords(text, words) {
    const own = text.toLowerCase();
    return words.every((word) => own.includes(word));
}

// Draws a view again when its element, once laid out, has another width than it was drawn for.
const sized = []; // all such views
function onResize(view, draw) {
    sized.push({ view, draw });
    new ResizeObserver(([{ contentRect: { width } }]) => {
        const isOther = width > 0 && view.width !== Math.floor(width);
        view.width = isOther ? Math.floor(width) : view.width;
        return isOther && draw();
    }).observe(view.element);
}

// A picture in a cell: boxes from x on, so wide and high, on a line of some width.
function smallBar(name, width, ...boxes) {
    return svg('svg', { class: name, viewBox: `0 0 ${width} 10`, preserveAspectRatio: 'none',
        'aria-hidden': 'true' }, boxes.map(([look, x, wide, high = 10]) =>
        svgRect(x, (10 - high) / 2, wide, high, look)));
}

function facts(pairs) {
    return el('dl', { class: 'facts' }, pairs.filter(Boolean)
        .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

// A small table; titles of columns with numbers begin with #.
function smallTable(caption, columns, rows) {
    const classes = columns.map((title) => title.startsWith('#') ? 'number' : null);
    return wideTable(caption, null, columns.map((title, i) => title === '' ? el('td')
        : el('th', { scope: 'col', class: classes[i] }, title.replace('#', ''))),
    el('tbody', {}, rows.map((row) => el('tr', { class: row.isCurrent ? 'current' : null },
        (row.cells || row).map((cell, i) => el('td', { class: classes[i] }, cell))))));
}

// A table that is scrolled where it is too wide.
const wideTable = (caption, look, heads, body) => el('div', { class: 'scroll', tabindex: '0',
    role: 'region', 'aria-label': caption }, el('table', {},
    el('caption', { class: look }, caption), el('thead', {}, el('tr', {}, heads)), body));

// Copies a text; where the browser does not let pages do that, the text is there to be copied.
async function copyText(text, shown, status) {
    shown.textContent = text;
    window.getSelection().selectAllChildren(shown);
    status.textContent = await navigator.clipboard?.writeText(text).then(() => 'Copied.', () => '')
        || 'Selected: copy it with Ctrl-C.';
}
