// ---- the variables of a tile --------------------------------------------------------------------
// By address (across) and by the steps at which they are live (down).
//
// SPDX-License-Identifier: GPL-3.0-or-later

const MAP_HEIGHT = 208;
// By category, and by when they are live.
const MAP_KINDS = [['code', color(2), /code/i], ['messages', color(4), /message|packet/i],
    ['state, descriptors, constants', color(5),
        /vertex|descriptor|stack|constant|control|instrumentation/i],
    ['always live data', color(0), / always$/], ['data that is live at times', color(1), /^/]];

class AddressMap extends Lanes {
    constructor(page) {
        super({ label: 'address; steps go down', laneHeight: MAP_HEIGHT, gap: 0,
            columns: ['name', 'category', 'from', 'to', 'steps'], tick: tickText,
            ticksOf: ticks });
        Object.assign(this, { page, all: el('div', { class: 'boxes' }) });
    }

    // Shows a tile of the profile, if the page has it.
    showTile(tile) {
        if (tile === this.tile)
            return;
        this.tile = tile;
        const { page, all } = this;
        const { bytes_per_tile: room, categories, num_steps: numSteps } = page.data;
        const tiles = page.places.boxedTiles();
        const found = page.places.boxesOf(tile);
        if (found === null) {
            replace(all, el('h4', {}, 'Addresses'), el('p', {}, tiles.length === 0
                ? 'These tiles have too many variables for a page.' : ['The page has addresses ' +
                'of the fullest tiles, of those that stages fill most, and of the median one: ',
            tiles.map((own, i) => [i === 0 ? '' : ', ', page.tileLink(own)]), '.']));
            return;
        }
        this.y = (step) => step / Math.max(1, numSteps) * MAP_HEIGHT;
        this.peak = largestOf(page.places.liveOf(tile));
        const boxes = found.flatMap(({ offset, size, variable, category, lives }) =>
            (lives || [[0, numSteps]]).map(([first, end]) => {
                const steps = lives ? `${grouped(first)} – ${grouped(end - 1)}` : 'always';
                const [kind, fill] = kindOf(MAP_KINDS, `${categories[category]} ${steps}`);
                return { name: page.variableName(variable) || '(no name)', from: offset,
                    to: offset + size, category: categories[category], steps, kind, fill,
                    top: this.y(first), bottom: this.y(end) };
            }));
        this.set({ title: `Addresses of tile ${tile}`, lanes: [{ name: '', boxes }],
            kinds: MAP_KINDS.filter(([kind]) => boxes.some((box) => box.kind === kind)),
            size: boxes.reduce((end, { to }) => Math.max(end, to), room) });
        replace(all, el('h4', {}, `${grouped(found.length)} variables by address and step`),
            this.element);
    }

    factsOf({ from, to, category, steps }) {
        return [[category, `${grouped(to - from)} B`], ['from address', grouped(from)],
            ['live at steps', steps]];
    }

    above(right, foot) {
        const { num_steps: numSteps, bytes_per_tile: room } = this.page.data;
        const peak = LANE.top + this.y(this.peak + 0.5);
        return [[0, 0.5, 1].map((part) => svgText(CHART.left - 6, LANE.top + 4 + part * MAP_HEIGHT,
            'tick end', grouped(Math.round(part * (numSteps - 1))))),
        this.to < room ? null : svgLine(this.x(room), 0, this.x(room), foot, 'limit'),
        svgLine(CHART.left, peak, right, peak, 'chosen'), svgText(right - 4,
            Math.max(LANE.top + 12, peak - 4), 'need end',
            `most is live at step ${grouped(this.peak)}`)];
    }
}
