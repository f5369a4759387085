// ---- files of charts ----------------------------------------------------------------------------
// A chart is saved as a picture that needs no page around it, and as a table of its numbers.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const LOOKS = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity',
    'font-family', 'font-size', 'font-weight', 'text-anchor', 'paint-order', 'visibility'];

function saveFile(name, type, text) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    el('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Elements get the look that the style of the page gives them; what XML cannot have is replaced.
function svgFile(picture) {
    const copy = picture.cloneNode(true);
    const own = [picture, ...picture.querySelectorAll('*')];
    [copy, ...copy.querySelectorAll('*')].forEach((element, i) => {
        const style = getComputedStyle(own[i]);
        for (const look of LOOKS)
            element.setAttribute(look, style.getPropertyValue(look));
    });
    const { width, height } = picture.getBoundingClientRect();
    append(copy, { width, height, viewBox: picture.getAttribute('viewBox') ||
        `0 0 ${width} ${height}` }, []);
    copy.prepend(svg('rect', { width: '100%', height: '100%',
        fill: getComputedStyle(picture.closest('.card')).backgroundColor }));
    return new XMLSerializer().serializeToString(copy)
        .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd');
}

// Rows as the command writes them: src/base/sheet.c.
function csvFile(rows) {
    const cell = (value) => {
        const text = String(value === null || value === undefined ? '' : value)
            .replace(new RegExp(`(?![\t\r\n])[${Model.CONTROLS}]`, 'g'), '\ufffd');
        return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
    };
    return rows.map((row) => `${row.map(cell).join(',')}\n`).join('');
}

// Saves a chart: its picture, and its rows, of which the first has the names of the columns.
function saveButtons(name, picture, rows) {
    const save = (kind, type, make) => link(kind, () => saveFile(`${name}.${kind.toLowerCase()}`,
        type, make()), `${kind} of ${name}`);
    return el('span', { class: 'save' }, save('SVG', 'image/svg+xml', () => svgFile(picture())),
        save('CSV', 'text/csv', () => csvFile(rows())));
}
