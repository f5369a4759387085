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
        const root = { size: 0, parts: new Map() };
        const paths = new Map(); // names come often
        for (const { name: full, layer, from: start, to: end } of slices) {
            const size = Math.min(to, end) - Math.max(from, start);
            if (size <= 0)
                continue;
            const name = allLayers(full, layer);
            if (!paths.has(name)) {
                const path = [root];
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
        this.lanes = [];
        this.layOut(root, '', 0, 0);
        this.leaves = this.lanes.flatMap((lane) => lane.slices).reverse(); // the deepest first
        this.size = Math.max(1, root.size);
        this.show(0, this.size);
    }

    // Puts parts one after another, the largest first, and theirs below them.
    layOut({ parts }, path, start, depth) {
        let from = start;
        for (const own of [...parts.values()].sort((a, b) => b.size - a.size)) {
            const hue = [...own.name.replace(/\d+/g, '')].reduce((sum, c) =>
                (31 * sum + c.charCodeAt(0)) % COLORS.length, 0);
            this.lanes[depth] ||= { name: '', slices: [], isNamed: true };
            this.lanes[depth].slices.push({ name: path + own.name, label: own.name, from,
                to: from + own.size, kind: color(hue) });
            this.layOut(own, `${path}${own.name}/`, from, depth + 1);
            from += own.size;
        }
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
