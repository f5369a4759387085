// ---- the flame graph ----------------------------------------------------------------------------
// How long the parts of names take: each box is as wide as all programs below it take, with
// the parts after it below. A click shows the boxes below one alone.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const FLAME = { row: 20, rows: 8, least: 2 }; // pixels, and rows

// A name with a star for the number of its layer, and for those that compilers give, as the names
// of all layers have them.
const allLayers = (name, layer) => (!/^\d+$/.test(layer) ? name
    : name.replace(new RegExp(`(^|\\D)${layer}(?!\\d)`), '$1*')).replace(/\/\d{3,}(?=\/|$)/g, '/*');

class Flame {
    constructor(unit) {
        Object.assign(this, { unit, path: [], width: FIRST_WIDTH });
        this.element = el('div', { class: 'flame' });
        onResize(this, () => this.root && this.draw());
    }

    // Adds up what slices take in a part of the time.
    set(slices, from, to) {
        this.root = { name: 'all', size: 0, parts: new Map() };
        const paths = new Map(); // names come often
        for (const { name: full, layer, from: start, to: end } of slices) {
            const size = Math.min(to, end) - Math.max(from, start);
            if (size <= 0)
                continue;
            const name = allLayers(full, layer);
            if (!paths.has(name)) {
                const path = [this.root];
                for (const part of name.split('/')) {
                    const { parts } = path[path.length - 1];
                    if (!parts.has(part))
                        parts.set(part, { name: part, size: 0, parts: new Map() });
                    path.push(parts.get(part));
                }
                paths.set(name, path);
            }
            for (const own of paths.get(name))
                own.size += size;
        }
        this.draw();
    }

    // The parts of one, the largest first; those below a size are one.
    static parts({ parts }, least = 0) {
        const all = [...parts.values()].sort((a, b) => b.size - a.size);
        const few = all.filter(({ size }) => size >= least);
        const size = all.slice(few.length).reduce((sum, own) => sum + own.size, 0);
        return few.length === all.length ? all : [...few, { size, parts: new Map(),
            name: `${all.length - few.length} others` }];
    }

    text({ size }) {
        return `${this.unit === 'cycle' ? timeText(size)
            : several(size, 'program', 'programs')}, ${share(size, this.root.size)}`;
    }

    go(path) {
        this.path = path.map(({ name }) => name);
        this.draw();
    }

    boxes(own, path, x, each) {
        const width = own.size * each;
        const y = (path.length - this.path.length) * FLAME.row;
        if (width < FLAME.least || y >= FLAME.rows * FLAME.row)
            return [];
        const whole = [...path, own];
        let at = x;
        const hue = [...own.name.replace(/\d+/g, '')].reduce((sum, c) =>
            (31 * sum + c.charCodeAt(0)) % COLORS.length, 0);
        const room = Math.floor((width - 6) / 6.6);
        return [svg('g', { onclick: () => this.go(whole.slice(1)), onpointerleave: () => tip.hide(),
            onpointermove: (event) => tip.show(event, el('strong', {}, whole.slice(1)
                .map(({ name }) => name).join('/') || own.name), el('div', {}, this.text(own))) },
        svg('rect', { x, y, width: width - 1, height: FLAME.row - 1, fill: color(hue) }),
        room < 3 ? null : svgText(x + 3, y + 14, null, own.name.length <= room ? own.name
            : `${own.name.slice(0, room - 1)}…`)), ...Flame.parts(own, FLAME.least / each).flatMap((part) => {
            at += part.size * each;
            return this.boxes(part, whole, at - part.size * each, each);
        })];
    }

    draw() {
        const path = [this.root];
        for (const name of this.path)
            if (path[path.length - 1].parts.has(name))
                path.push(path[path.length - 1].parts.get(name));
        this.path = path.slice(1).map(({ name }) => name);
        const own = path[path.length - 1];
        const title = `Where ${this.unit === 'cycle' ? 'time goes' : 'programs are'}, by parts ` +
            'of names';
        const height = FLAME.rows * FLAME.row;
        const picture = svg('svg', { viewBox: `0 0 ${this.width} ${height}`, role: 'img',
            'aria-label': `${title}; the table has the numbers` },
        this.boxes(own, path.slice(0, -1), 0, this.width / Math.max(1, own.size)));
        const parts = Flame.parts(own);
        replace(this.element, el('h3', {}, `${title} `, el('small', {},
            'in the part on screen, without sync; all layers (*) as one')),
            el('p', { class: 'tools' }, path.map((part, i) => i + 1 === path.length
                ? el('span', {}, `${part.name}: ${this.text(part)}`)
                : [link(part.name, () => this.go(path.slice(1, i + 1))), '/'])), picture,
            saveButtons('Flame graph', () => picture, () => [['name', this.unit + 's'],
                ...parts.map(({ name, size }) => [name, size])]),
            numbers(title, ['name', `#${this.unit}s`, '#share'], parts.slice(0, 40).map((part) => [
                part.parts.size === 0 ? part.name : link(part.name, () => this.go(
                    [...path.slice(1), part])), grouped(part.size),
                share(part.size, own.size)])));
    }
}
