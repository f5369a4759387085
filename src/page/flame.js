// ---- the flame graph ----------------------------------------------------------------------------
// How long the parts of names take: a lane for each part, in which a box is as wide as all
// programs take that have it, with the parts after it below.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// A name with a star for the number of its layer, and for those that compilers give, as the names
// of all layers have them.
const allLayers = (name, layer) => (!/^\d+$/.test(layer) ? name
    : name.replace(new RegExp(`(^|\\D)${layer}(?!\\d)`), '$1*')).replace(/\/\d{3,}(?=\/|$)/g, '/*');

// The lanes of names with sizes: at each depth the largest part first, from `start` on.
function flameLanes(names, start = 0, depth = 0, lanes = []) {
    const groups = [...Map.groupBy(names.filter(({ parts }) => depth < parts.length),
        ({ parts }) => parts[depth])].map(([label, own]) => ({ label, own,
        size: own.reduce((sum, { size }) => sum + size, 0) }));
    groups.sort((a, b) => b.size - a.size).reduce((from, { label, own, size }) => {
        const hue = [...label.replace(/\d+/g, '')].reduce((sum, c) =>
            (31 * sum + c.charCodeAt(0)) % COLORS.length, 0);
        lanes[depth] ||= { name: '', isNamed: true, boxes: [] };
        lanes[depth].boxes.push({ name: own[0].parts.slice(0, depth + 1).join('/'), label, from,
            to: from + size, fill: color(hue) });
        flameLanes(own, from, depth + 1, lanes);
        return from + size;
    }, start);
    return lanes;
}

// Adds up what slices take in a part of the time, all layers as one.
function flameOf(slices, from, to) {
    const sizes = new Map(); // names come often
    for (const { name, layer, from: start, to: end } of slices) {
        const own = allLayers(name, layer);
        sizes.set(own, (sizes.get(own) || 0) +
            Math.max(0, Math.min(to, end) - Math.max(from, start)));
    }
    const names = [...sizes].filter(([, size]) => size > 0).map(([name, size]) =>
        ({ parts: name.split('/'), size }));
    return { size: Math.max(1, names.reduce((sum, { size }) => sum + size, 0)),
        lanes: flameLanes(names) };
}
