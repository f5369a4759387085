// ---- where and when -----------------------------------------------------------------------------
// Places and lives of variables. Like the model it is independent of the page around it;
// everything is read on first use.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Places = (() => {
    // Reads `count` numbers of `width` bits into a list.
    function readBits(bytes, at, width, count, result) {
        let waiting = 0; // bits
        let rest = 0;
        if (width <= 23) {
            const mask = (1 << width) - 1;
            for (let i = 0; i < count; i++) {
                for (; waiting < width; waiting += 8)
                    rest |= bytes[at++] << waiting;
                result[i] = rest & mask;
                rest >>>= width;
                waiting -= width;
            }
            return;
        }
        const limit = 2 ** width; // beyond the bits of an integer
        for (let i = 0; i < count; i++) {
            for (; waiting < width; waiting += 8)
                rest += bytes[at++] * 2 ** waiting;
            result[i] = rest % limit;
            rest = Math.floor(rest / limit);
            waiting -= width;
        }
    }

    // Adds the numbers of each row, from one tile to another, to targets[row][tile - firstTile],
    // unless its target is null: src/page/page_data.h.
    function addRows(table, targets, firstTile, endTile) {
        const { bytes, numRows, block, numTiles, scale } = table;
        const numbers = new Float64Array(block);
        let at = 0;
        for (let start = 0; start < endTile; start += block) {
            const count = Math.min(block, numTiles - start);
            const from = Math.max(0, firstTile - start);
            const to = Math.min(count, endTile - start);
            for (let row = 0; row < numRows; row++) {
                const width = bytes[at++];
                let group = bytes[at++];
                let least = group & 0x7f;
                for (let unit = 128; group >= 0x80; unit *= 128) {
                    group = bytes[at++];
                    least += (group & 0x7f) * unit;
                }
                const target = targets[row];
                if (target !== null && from < to && (width > 0 || least > 0)) {
                    const place = start - firstTile;
                    if (width > 0)
                        readBits(bytes, at, width, to, numbers);
                    else
                        numbers.fill(0);
                    for (let i = from; i < to; i++)
                        target[place + i] += (least + numbers[i]) * scale;
                }
                at += Math.ceil(width * count / 8);
            }
        }
    }

    // `data` is that of the page; the others are the model's.
    function read(data, { unpack, unpackAll, bytesOf, starts }) {
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
            for (let number = 0, k = 0; number < ranges.length; number++)
                for (const next = k + ranges[number]; k < next; k++)
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

        const lives = once(() => unpackAll({ ...data.places.lives, ...data.places.classes }));
        const boxes = once(() => unpackAll(data.boxes));
        const begins = once(() => [starts(boxes().count), starts(boxes().ranges)]);

        // The tiles whose variables the page has by address.
        const boxedTiles = () => Array.from(boxes().tile);

        // Tiles whose bytes by step are known, and those bytes without what is always live.
        const linedTiles = () => [...boxedTiles(), ...boxes().live_tile];

        function liveOf(tile) {
            const row = boxes().live_tile.indexOf(tile);
            const { num_steps: count } = data;
            const change = new Float64Array(count + 1);
            for (const { lives: own, size } of row < 0 ? boxesOf(tile) : [])
                for (const [from, to] of own || []) {
                    change[from] += size;
                    change[to] -= size;
                }
            for (let step = 1; step <= count; step++)
                change[step] += change[step - 1];
            return row < 0 ? change.subarray(0, count)
                : boxes().live_bytes.subarray(row * count, (row + 1) * count);
        }

        // The variables of such a tile: lives are [from, to) in steps, null for always. Of other
        // tiles null.
        function boxesOf(tile) {
            const own = boxes();
            const [firstBoxes, firstRanges] = begins();
            const index = own.tile.indexOf(tile);
            const livesOf = (number) => Array.from({ length: own.ranges[number - 1] }, (_, k) => {
                const range = firstRanges[number - 1] + k;
                return [own.first[range], own.end[range]];
            });
            return index < 0 ? null : Array.from({ length: own.count[index] }, (_, k) => {
                const i = firstBoxes[index] + k;
                return { offset: own.offset[i], size: own.size_bytes[i],
                    variable: own.variable[i] - 1, category: own.category[i],
                    lives: own.class[i] === 0 ? null : livesOf(own.class[i]) };
            });
        }

        return { table, byCategory, onTile, liveAt, boxedTiles, boxesOf, linedTiles, liveOf };
    }

    return { read };
})();

if (typeof module !== 'undefined')
    module.exports = Places;
