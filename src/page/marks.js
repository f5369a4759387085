// ---- elements -----------------------------------------------------------------------------------
// Everything shown is made of these two: text stays text, whatever it holds.

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

function replace(parent, ...children) {
    parent.replaceChildren(...children.flat(3).filter((child) => child !== null));
}

let numIds = 0;
function freshId() {
    numIds++;
    return `id${numIds}`;
}

// A field with its label.
function field(label, input, unit) {
    const id = freshId();
    input.id = id;
    return el('span', { class: 'field' }, el('label', { for: id }, label), input,
        unit ? el('span', { class: 'unit' }, unit) : null);
}

function choice(values, chosen, onChange) {
    const input = el('select', { onchange: () => onChange(input.value) },
        values.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
    return input;
}

function button(text, onClick, attributes) {
    return el('button', Object.assign({ type: 'button', onclick: onClick }, attributes), text);
}

// Names facts: a list of terms and values.
function facts(pairs) {
    return el('dl', { class: 'facts' }, pairs.filter((pair) => pair !== null)
        .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

// A small table; columns are [title, is a number].
function smallTable(caption, columns, rows) {
    return el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
        el('table', {}, el('caption', {}, caption),
            el('thead', {}, el('tr', {}, columns.map(([title, isNumber]) => title === '' ? el('td')
                    : el('th', { scope: 'col', class: isNumber ? 'number' : null }, title)))),
            el('tbody', {}, rows.map((row) => el('tr', row.attributes || {},
                (row.cells || row).map((cell, i) =>
                    el('td', { class: columns[i][1] ? 'number' : null }, cell)))))));
}

// Copies a text; where the browser does not let pages do that, the text is there to be copied.
async function copyText(text, shown, status) {
    shown.textContent = text;
    try {
        await navigator.clipboard.writeText(text);
        status.textContent = 'Copied.';
    } catch (error) {
        const range = document.createRange();
        range.selectNodeContents(shown);
        const selection = window.getSelection();
        selection.removeAllRanges();
        selection.addRange(range);
        const isCopied = document.execCommand && document.execCommand('copy');
        status.textContent = isCopied ? 'Copied.' : 'Selected: copy it with Ctrl-C.';
    }
}
