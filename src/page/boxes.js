// ---- the boxes of a tile ------------------------------------------------------------------------
// The variables of a tile by address (across) and by the steps at which they are live (down).
//
// SPDX-License-Identifier: GPL-3.0-or-later

const BOXES = { height: 250, top: 8, bottom: 34 };
const BOX_KINDS = [['code', 'code', (category) => /code/i.test(category)],
    ['message', 'messages', (category) => /message|packet/i.test(category)],
    ['other', 'state, descriptors, constants', (category) =>
        /vertex|descriptor|stack|constant|control|instrumentation/i.test(category)],
    ['always', 'always live data', (category, box) => box.lives === null],
    ['peak', 'data that is live at times', () => true]];

class Boxes extends Chart {
    constructor(page) {
        super({ series: [], label: 'address', height: BOXES.height });
        Object.assign(this, { page, tiles: page.places.boxedTiles(),
            numSteps: Math.max(1, page.data.num_steps), all: el('div', { class: 'boxes' }) });
    }

    // Shows a tile of the profile, if the page has it.
    showTile(tile) {
        if (tile === this.tile)
            return;
        const boxes = this.page.places.boxesOf(tile);
        Object.assign(this, { tile, boxes, title: `Addresses of tile ${tile}` });
        if (boxes === null) {
            replace(this.all, el('h4', {}, 'Addresses'), el('p', {}, this.tiles.length === 0
                ? 'These tiles have too many variables for a page.' : ['The page has addresses ' +
                'of the fullest tiles, of those that stages fill most, and of the median one: ',
            this.tiles.map((own, i) => [i === 0 ? '' : ', ', this.page.tileLink(own)]), '.']));
            return;
        }
        this.size = boxes.reduce((end, box) => Math.max(end, box.offset + box.size),
            this.page.data.bytes_per_tile);
        this.peak = largestOf(this.page.places.liveOf(tile));
        replace(this.all, el('h4', {}, `${grouped(boxes.length)} variables by address and step`),
            this.element);
        this.show(0, this.size);
    }

    rows() {
        return [['address', 'size_bytes', 'category', 'steps', 'name'], ...this.boxes.map((box) => [
            box.offset, box.size, this.page.data.categories[box.category], box.lives === null
                ? 'always' : box.lives.map(([from, to]) => `${from}-${to - 1}`).join(' '),
            this.page.variableName(box.variable)])];
    }

    kindOf(box) {
        const category = this.page.data.categories[box.category];
        return BOX_KINDS.findIndex(([, , has]) => has(category, box));
    }

    draw() {
        if (!this.boxes)
            return;
        const { left, right } = CHART;
        const { width, height, from, to } = this;
        const foot = height - BOXES.bottom;
        this.x = (address) => left + (Math.max(from, Math.min(to, address)) - from) / (to - from) *
            (width - left - right);
        this.y = (step) => BOXES.top + step / this.numSteps * (foot - BOXES.top);
        const paths = BOX_KINDS.map(() => []);
        for (const box of this.boxes.filter(({ offset, size }) => offset + size > from &&
            offset < to)) {
            const path = paths[this.kindOf(box)];
            const x = this.x(box.offset);
            const wide = Math.max(0.3, this.x(box.offset + box.size) - x).toFixed(2);
            for (const [first, end] of box.lives || [[0, this.numSteps]])
                path.push(`M${x.toFixed(2)} ${this.y(first).toFixed(2)}h${wide}v` +
                    `${Math.max(0.6, this.y(end) - this.y(first)).toFixed(2)}h-${wide}Z`);
        }
        const limit = this.x(this.page.data.bytes_per_tile);
        const peak = this.y(this.peak + 0.5);
        this.selection = svgRect(0, BOXES.top, 0, foot - BOXES.top, 'selection');
        this.place(svg('svg', { viewBox: `0 0 ${width} ${height}` }), [
            ticks(to, Math.max(2, width / 110), from).map((value) => [
                svgLine(this.x(value), BOXES.top, this.x(value), foot, 'grid'),
                svgText(this.x(value), foot + 14, 'tick middle', tickText(value))]),
            [0, 0.5, 1].map((part) => svgText(left - 6, this.y(part * this.numSteps) + 4,
                'tick end', grouped(Math.round(part * (this.numSteps - 1))))),
            paths.map((own, kind) => own.length === 0 ? null : svg('path', { d: own.join(''),
                class: `box-${BOX_KINDS[kind][0]}` })),
            svgLine(left, peak, width - right, peak, 'chosen'),
            svgText(width - right - 4, Math.max(BOXES.top + 12, peak - 4), 'need end',
                `most is live at step ${grouped(this.peak)}`),
            svgLine(limit, BOXES.top, limit, foot, 'limit'),
            svgText((left + width) / 2, height - 2, 'tick middle', 'address; steps go down'),
            this.selection]);
    }

    legend() {
        const sums = BOX_KINDS.map(() => 0);
        for (const box of this.boxes)
            sums[this.kindOf(box)] += box.size;
        return el('ul', { class: 'legend' }, BOX_KINDS.map(([name, text], kind) =>
            sums[kind] === 0 ? null
                : el('li', {}, swatch({ class: `box-${name}` }), `${text}, ${bytes(sums[kind])}`)));
    }

    choose() {} // an address is nothing to follow

    tipOf(event) {
        const { at } = this.placeOf(event);
        const { top, height } = this.picture.getBoundingClientRect();
        const y = (event.clientY - top) / height * this.height;
        const slack = (this.to - this.from) / this.width / 2;
        const box = this.boxes.find(({ offset, size, lives }) => offset <= at &&
            at <= offset + size + slack && (lives || [[0, this.numSteps]]).some(([first, end]) =>
            this.y(first) <= y && y < this.y(end)));
        return box === undefined ? null : [
            el('strong', {}, shorten(this.page.variableName(box.variable) || '(no name)')),
            el('div', {}, `${this.page.data.categories[box.category]}: ${grouped(box.size)} B ` +
                `from address ${grouped(box.offset)} on, live ${box.lives === null ? 'always'
                    : `at steps ${box.lives.slice(0, 4).map(([first, end]) =>
                        `${grouped(first)} – ${grouped(end - 1)}`).join(', ')}`}`)];
    }
}
