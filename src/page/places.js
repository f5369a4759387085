// ---- where and when -----------------------------------------------------------------------------
// Places and lives of variables: src/page/page_data.h. Like the model it is independent of the page
// around it.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Places = (() => {
    // `data` is that of the page.
    function read({ num_tiles: numTiles, places, boxes, classes }) {
        const read = {};
        const rowsOf = (name) => read[name] ||= JSON.parse(places[name].rows);

        // The bytes on each tile of some of the rows of places, by category.
        function byCategory(rows) {
            const sums = new Map();
            for (const [, category, bytes] of rows) {
                const sum = sums.get(category) || new Float64Array(numTiles);
                sums.set(category, sum);
                bytes.forEach((own, tile) => { sum[tile] += own; });
            }
            return sums;
        }

        // The data that is live at a step but not always: by variable (number plus 1, 0: none) and
        // category the bytes, and from which step to which that lasts.
        function liveAt(step) {
            const rangeOf = classes.map((own) =>
                own?.find(([from, to]) => from <= step && step < to));
            const groups = new Map();
            for (const row of rowsOf('lives').filter(([, , number]) => rangeOf[number])) {
                const key = row[0] * 256 + row[1];
                if (!groups.get(key)?.push(row))
                    groups.set(key, [row]);
            }
            return { isWhole: places.lives.is_whole, items: [...groups.values()].map((own) => ({
                variable: own[0][0], category: own[0][1],
                bytes: own.reduce((sum, [, , , bytes]) => sum + bytes, 0),
                from: Math.min(...own.map(([, , number]) => rangeOf[number][0])),
                to: Math.max(...own.map(([, , number]) => rangeOf[number][1])) - 1,
            })).sort((a, b) => b.bytes - a.bytes || a.variable - b.variable ||
                a.category - b.category) };
        }

        // The tiles whose variables the page has by address.
        const boxedTiles = () => boxes.filter(({ variables }) => variables !== null)
            .map(({ tile }) => tile);

        // Tiles whose bytes by step are known, and those bytes without what is always live.
        const linedTiles = () => boxes.map(({ tile }) => tile);
        const boxOf = (tile) => boxes.find((own) => own.tile === tile);
        const liveOf = (tile) => boxOf(tile)?.live_bytes ?? [];

        // The variables of a tile with boxes: lives are [from, to) in steps, null for always. Of
        // other tiles null.
        const boxesOf = (tile) => boxOf(tile)?.variables?.map(([offset, size, variable, category,
            number]) => ({ offset, size, variable: variable - 1, category,
            lives: classes[number] })) ?? null;

        return { rowsOf, byCategory, liveAt, boxedTiles, boxesOf, linedTiles, liveOf };
    }

    return { read };
})();

if (typeof module !== 'undefined')
    module.exports = Places;
