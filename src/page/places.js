// ---- where and when -----------------------------------------------------------------------------
// Places and lives of variables. Like the model it is independent of the page around it;
// everything is read on first use.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Places = (() => {
    // Adds the numbers of each row, from one tile to another, to targets[row][tile - firstTile],
    // unless its target is null: src/page/page_data.h.
    function addRows(table, targets, firstTile, endTile) {
        const { bytes, block, numTiles, scale } = table;
        let at = 0;
        const take = () => { // a group, as in packed numbers
            let [value, unit] = [0, 1];
            for (; bytes[at] >= 0x80; unit *= 128)
                value += (bytes[at++] & 0x7f) * unit;
            return value + bytes[at++] * unit;
        };
        for (const target of targets) {
            for (let start = 0; start < numTiles; start += block) {
                const count = Math.min(block, numTiles - start);
                const to = Math.min(count, endTile - start);
                const width = bytes[at++];
                const least = take();
                const limit = 2 ** width; // beyond bits of an integer
                let [rest, waiting, next] = [0, 0, at];
                for (let i = 0; i < to && target !== null && width + least > 0; i++) {
                    for (; waiting < width; waiting += 8)
                        rest += bytes[next++] * 2 ** waiting;
                    if (start + i >= firstTile)
                        target[start + i - firstTile] += (least + rest % limit) * scale;
                    rest = Math.floor(rest / limit);
                    waiting -= width;
                }
                at += Math.ceil(width * count / 8);
            }
        }
    }

    // `data` is that of the page; the others are the model's.
    function read(data, { unpack, unpackAll, bytesOf }) {
        const numTiles = data.num_tiles;
        const tables = {};
        const once = (read) => {
            let own = null;
            return () => own ||= read();
        };

        // The rows of 'named' have a variable, those of 'layers' a unit; both have a category.
        function table(name) {
            if (tables[name] === undefined) {
                const own = data.places[name];
                const things = unpack(name === 'named' ? own.variable : own.unit);
                tables[name] = { things, categories: unpack(own.category),
                    numRows: things.length, isWhole: own.is_whole, bytes: bytesOf(own.tiles),
                    block: data.places.block, scale: 2 ** own.shift, numTiles };
            }
            return tables[name];
        }

        // The bytes on each tile of the rows that are wanted, by category.
        function byCategory(name, isWanted) {
            const rows = table(name);
            const sums = new Map();
            addRows(rows, Array.from(rows.categories, (category, row) => {
                if (!isWanted[row])
                    return null;
                if (!sums.has(category))
                    sums.set(category, new Float64Array(numTiles));
                return sums.get(category);
            }), 0, numTiles);
            return sums;
        }

        // Those of one tile, by row.
        function onTile(name, isWanted, tile) {
            const rows = table(name);
            const found = Array.from({ length: rows.numRows }, (_, row) => isWanted[row] ? [0]
                : null);
            addRows(rows, found, tile, tile + 1);
            return found.map((bytes, row) => ({ row, bytes: bytes === null ? 0 : bytes[0] }))
                .filter((item) => item.bytes > 0);
        }

        // The data that is live at a step but not always: by variable (number plus 1, 0: none) and
        // category the bytes, and from which step to which that lasts.
        function liveAt(step) {
            const { variable: variables, category: categories, class: classes, bytes, ranges, first,
                end, is_whole: isWhole } = lives();
            const rangeOf = new Int32Array(ranges.length).fill(-1);
            for (let number = 1; number < ranges.length; number++)
                for (let k = ranges[number - 1]; k < ranges[number]; k++)
                    if (first[k] <= step && step < end[k])
                        rangeOf[number] = k;
            const groups = new Map();
            for (let i = 0; i < variables.length; i++) {
                const key = variables[i] * 256 + categories[i];
                if (rangeOf[classes[i]] >= 0 && !groups.get(key)?.push(i))
                    groups.set(key, [i]);
            }
            return { isWhole, items: [...groups.values()].map((own) => ({
                variable: variables[own[0]], category: categories[own[0]],
                bytes: own.reduce((sum, i) => sum + bytes[i], 0),
                from: Math.min(...own.map((i) => first[rangeOf[classes[i]]])),
                to: Math.max(...own.map((i) => end[rangeOf[classes[i]]])) - 1 })).sort((a, b) =>
                b.bytes - a.bytes || a.variable - b.variable || a.category - b.category) };
        }

        const lives = once(() => unpackAll({ ...data.places.lives, ...data.classes }));
        const boxes = once(() => unpackAll({ ...data.boxes, ...data.classes }));

        // The tiles whose variables the page has by address.
        const boxedTiles = () => Array.from(boxes().tile);

        // Tiles whose bytes by step are known, and those bytes without what is always live.
        const linedTiles = () => Array.from(boxes().live_tile);

        function liveOf(tile) {
            const start = boxes().live_tile.indexOf(tile) * data.num_steps;
            return boxes().live_bytes.subarray(start, start + data.num_steps);
        }

        // The variables of a tile with boxes: lives are [from, to) in steps, null for always. Of
        // other tiles null.
        function boxesOf(tile) {
            const own = boxes();
            const index = own.tile.indexOf(tile);
            const between = (starts, at, read) => Array.from(
                { length: starts[at + 1] - starts[at] }, (_, k) => read(starts[at] + k));
            return index < 0 ? null : between(own.start, index, (i) => ({ offset: own.offset[i],
                size: own.size_bytes[i], variable: own.variable[i] - 1, category: own.category[i],
                lives: own.class[i] === 0 ? null : between(own.ranges, own.class[i] - 1,
                    (range) => [own.first[range], own.end[range]]) }));
        }

        return { table, byCategory, onTile, liveAt, boxedTiles, boxesOf, linedTiles, liveOf };
    }

    return { read };
})();

if (typeof module !== 'undefined')
    module.exports = Places;
