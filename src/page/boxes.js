// ---- the boxes of a tile ------------------------------------------------------------------------
// The variables of a tile by address (across) and by the steps at which they are live (down).
//
// SPDX-License-Identifier: GPL-3.0-or-later

const BOXES = { height: 250, left: 74, right: 12, top: 8, bottom: 34 };
const BOX_KINDS = [['code', 'code', (category) => /code/i.test(category)],
    ['message', 'messages', (category) => /message|packet/i.test(category)],
    ['other', 'state, descriptors, constants', (category) =>
        /vertex|descriptor|stack|constant|control|instrumentation/i.test(category)],
    ['always', 'always live data', (category, box) => box.lives === null],
    ['peak', 'data that is live at times', () => true]];

// The bytes on a tile at each step, of boxes that are not always live.
function liveBytes(boxes, numSteps) {
    const change = new Float64Array(numSteps + 1);
    for (const { lives, size } of boxes)
        for (const [from, to] of lives || []) {
            change[from] += size;
            change[to] -= size;
        }
    for (let step = 1; step <= numSteps; step++)
        change[step] += change[step - 1];
    return change.subarray(0, numSteps);
}

class BoxesView {
    constructor(page) {
        this.page = page;
        this.tiles = page.places.boxedTiles();
        this.element = el('div', { class: 'boxes' });
        this.status = el('p', { class: 'status', 'aria-live': 'polite' });
        this.holder = el('div');
        Object.assign(this, { from: 0, width: FIRST_WIDTH }); // shown from this address on
        onResize(this, () => this.boxes && replace(this.holder, this.picture()));
    }

    nameOf(box) {
        return this.page.variableName(box.variable) || '(no name)';
    }

    describe(box) {
        return `${shorten(this.nameOf(box))}, ${this.page.data.categories[box.category]}: ` +
            `${grouped(box.size)} B from address ${grouped(box.offset)} on, live ${
                box.lives === null ? '' : 'at steps '}${this.livesOf(box, 4)}`;
    }

    livesOf({ lives }, most) {
        return lives === null ? 'always' : lives.slice(0, most).map(([from, to]) =>
            `${grouped(from)} – ${grouped(to - 1)}`).join(', ');
    }

    // Shows a tile of the profile, if the page has it.
    draw(tile, isAgain = false) {
        if (tile === this.tile && !isAgain)
            return;
        const boxes = this.page.places.boxesOf(tile);
        this.tile = tile;
        if (boxes === null) {
            replace(this.element, el('h4', {}, 'Addresses'), el('p', {}, this.tiles.length === 0
                ? 'These tiles have too many variables for a page.' : ['The page has addresses ' +
                'of the fullest tiles, of those that stages fill most, and of the median one: ',
            this.tiles.map((own, i) => [i === 0 ? '' : ', ', this.page.tileLink(own)]), '.']));
            return;
        }
        this.boxes = boxes;
        this.numSteps = Math.max(1, this.page.data.num_steps);
        const changing = boxes.filter((box) => box.lives !== null); // by address
        let rest = changing.reduce((sum, box) => sum + box.size, 0) * 0.98;
        const first = [...changing].reverse().find((box) => {
            rest -= box.size;
            return rest <= 0;
        });
        this.least = first === undefined ? 0 : first.offset;
        this.from = this.from > 0 ? this.least : 0;
        this.most = boxes.reduce((end, box) => Math.max(end, box.offset + box.size),
            this.page.data.bytes_per_tile);
        const live = liveBytes(boxes, this.numSteps);
        this.peak = largestOf(live);
        const columns = ['#address', '#bytes', 'category', 'live at steps', 'name'];
        const largest = [...boxes].sort((a, b) => b.size - a.size).slice(0, 40);
        replace(this.holder, this.picture());
        replace(this.element, el('h4', {}, `${grouped(boxes.length)} variables by address and step`), this.holder, this.legend(), this.status,
        button(this.from > 0 ? 'All addresses' : 'Only what is live at times', () => {
            this.from = this.from > 0 ? 0 : this.least;
            this.draw(tile, true);
        }, { class: 'link' }),
        saveButtons(`Addresses of tile ${tile}`, () => this.svg, () => this.rows()),
        el('details', {}, el('summary', {}, 'The largest, by address'), smallTable(
            `Largest variables of tile ${tile} by address`, columns,
            largest.sort((a, b) => a.offset - b.offset).map((box) => [grouped(box.offset),
                grouped(box.size), this.page.data.categories[box.category],
                this.livesOf(box, 3), nameCell(this.nameOf(box))]))));
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

    picture() {
        const { left, right, top, bottom, height } = BOXES;
        const { width } = this;
        this.x = (address) => left + Math.max(0, address - this.from) / (this.most - this.from) *
            (width - left - right);
        this.y = (step) => top + step / this.numSteps * (height - top - bottom);
        const paths = BOX_KINDS.map(() => []);
        for (const box of this.boxes) {
            const kind = this.kindOf(box);
            if (box.offset + box.size <= this.from)
                continue;
            const x = this.x(box.offset);
            const wide = Math.max(0.3, this.x(box.offset + box.size) - x).toFixed(2);
            for (const [from, to] of box.lives || [[0, this.numSteps]])
                paths[kind].push(`M${x.toFixed(2)} ${this.y(from).toFixed(2)}h${wide}v` +
                    `${Math.max(0.6, this.y(to) - this.y(from)).toFixed(2)}h-${wide}Z`);
        }
        const limit = this.x(this.page.data.bytes_per_tile);
        const peak = this.y(this.peak + 0.5);
        this.svg = svg('svg', { width, height, role: 'img', 'aria-label':
            `Addresses of tile ${this.tile} across, steps down; the table has the largest`,
        onpointermove: (event) => this.onPoint(event), onclick: (event) => this.onPoint(event) },
        ticks(this.most, Math.max(2, width / 110), this.from).map((value) => [
            svgLine(this.x(value), top, this.x(value), height - bottom, 'grid'),
            svgText(this.x(value), height - bottom + 14, 'tick middle', tickText(value))]),
        [0, 0.5, 1].map((part) => svgText(left - 6, this.y(part * this.numSteps) + 4, 'tick end',
            grouped(Math.round(part * (this.numSteps - 1))))),
        paths.map((own, kind) => own.length === 0 ? null : svg('path', { d: own.join(''),
            class: `box-${BOX_KINDS[kind][0]}` })),
        svgLine(left, peak, width - right, peak, 'chosen'),
        svgText(width - right - 4, Math.max(top + 12, peak - 4), 'need end',
            `most is live at step ${grouped(this.peak)}`),
        svgLine(limit, top, limit, height - bottom, 'limit'),
        svgText((left + width) / 2, height - 2, 'tick middle', 'address; steps go down'));
        return el('div', { class: 'scroll', tabindex: '0', role: 'region',
            'aria-label': `Boxes of tile ${this.tile}` }, this.svg);
    }

    legend() {
        const sums = BOX_KINDS.map(() => 0);
        for (const box of this.boxes)
            sums[this.kindOf(box)] += box.size;
        return el('ul', { class: 'legend' }, BOX_KINDS.map(([name, text], kind) =>
            sums[kind] === 0 ? null
                : el('li', {}, swatch({ class: `box-${name}` }), `${text}, ${bytes(sums[kind])}`)));
    }

    onPoint(event) {
        const place = this.svg.getBoundingClientRect();
        const at = event.clientX - place.left;
        const step = (event.clientY - place.top - BOXES.top) /
            (BOXES.height - BOXES.top - BOXES.bottom) * this.numSteps;
        const box = this.boxes.find((own) => this.x(own.offset) <= at &&
            at <= this.x(own.offset + own.size) + 0.5 && (own.lives === null ||
            own.lives.some(([from, to]) => from <= step && step < to)));
        this.status.textContent = box === undefined ? '' : this.describe(box);
    }
}
