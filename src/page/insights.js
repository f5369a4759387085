// ---- what stands out ----------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

// A part of a whole, with its share.
function part(own, of) {
    const share = of > 0 ? 100 * own / of : 0;
    const digits = share < 10 && share > 0 ? 1 : 0;
    return `${bytes(own)} of ${bytes(of)} (${share.toFixed(digits)} %)`;
}

const several = (count, one, many) => count === 1 ? `1 ${one}` : `${grouped(count)} ${many}`;

// The figures of a row of the section `advice`, in the words of its rule.
function finding(a) {
    const [what, ...others] = a.measured.split('; ').map((text) => text
        .replace(/^count:/, grouped(a.count)));
    const subject = a.subject === null ? '' : `${shorten(a.subject)}: `;
    return `${[`${subject}${part(a.bytes, a.of_bytes)}: ${what}`, ...others].join('; ')}.`;
}

function insightsView(page) {
    const { advice } = page.tables;
    return [el('p', {}, 'What rules find, each with figures of this profile. What a change would ' +
            'save is known only once it is compiled.'),
        advice.numRows === 0 ? el('p', {}, 'No rule of the section advice finds anything.')
            : el('ul', { class: 'advice' }, advice.rows().map((a) => el('li', {},
                el('p', {}, el('strong', {}, columnTitle(a.rule)), ' ', finding(a),
                    a.tile === null ? null
                        : [' ', page.tileLink(a.tile, `Tile ${grouped(a.tile)}`)]),
                el('p', { class: 'status' }, `To try: ${a.suggestion}.`))))];
}
