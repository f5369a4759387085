// ---- the flame graph ----------------------------------------------------------------------------
// How long the parts of names take: a lane for each part, in which a slice is as wide as all
// programs take that have it, with the parts after it below.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// A name with a star for the number of its layer, and for those that compilers give, as the names
// of all layers have them.
const allLayers = (name, layer) => (!/^\d+$/.test(layer) ? name
    : name.replace(new RegExp(`(^|\\D)${layer}(?!\\d)`), '$1*')).replace(/\/\d{3,}(?=\/|$)/g, '/*');

class Flame extends Lanes {
    constructor(unit) {
        super('Flame graph', unit);
        this.all = el('div', { class: 'flame' });
    }

    // Adds up what slices take in a part of the time.
    set(slices, from, to) {
        const sizes = new Map(); // names come often
        for (const { name, layer, from: start, to: end } of slices) {
            const size = Math.min(to, end) - Math.max(from, start);
            if (size <= 0)
                continue;
            const own = allLayers(name, layer);
            sizes.set(own, (sizes.get(own) || 0) + size);
        }
        this.lanes = [];
        this.size = Math.max(1, this.layOut([...sizes].map(([name, size]) =>
            ({ parts: name.split('/'), size })), 0, 0));
        this.leaves = this.lanes.flatMap((lane) => lane.slices).reverse(); // the deepest first
        this.show(0, this.size);
    }

    // Puts the parts of names one after another, the largest first, and those after them below
    // them; returns the end.
    layOut(names, start, depth) {
        const groups = [...Map.groupBy(names.filter(({ parts }) => depth < parts.length),
            ({ parts }) => parts[depth])].map(([label, own]) => ({ label, own,
            size: own.reduce((sum, { size }) => sum + size, 0) }));
        return groups.sort((a, b) => b.size - a.size).reduce((from, { label, own, size }) => {
            const hue = [...label.replace(/\d+/g, '')].reduce((sum, c) =>
                (31 * sum + c.charCodeAt(0)) % COLORS.length, 0);
            this.lanes[depth] ||= { name: '', slices: [], isNamed: true };
            this.lanes[depth].slices.push({ name: own[0].parts.slice(0, depth + 1).join('/'),
                label, from, to: from + size, kind: color(hue) });
            this.layOut(own, from, depth + 1);
            return from + size;
        }, start);
    }

    factsOf({ from, to }) {
        return `${this.sizeText(to - from)}, ${share(to - from, this.size)}`;
    }

    sizeText(size) {
        return this.label === 'cycle' ? timeText(size) : several(size, 'program', 'programs');
    }

    rows() {
        return [['name', `${this.label}s`], ...this.lanes.flatMap(({ slices }) =>
            slices.map(({ name, from, to }) => [name, to - from]))];
    }

    onDraw() {
        replace(this.all, el('h3', {}, `Where ${this.label === 'cycle' ? 'time goes'
            : 'programs are'}, by parts of names `, el('small', {}, `${this.sizeText(this.size)
        } in the part on screen, without sync; all layers (*) as one`)), this.element);
    }
}
