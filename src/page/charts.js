// ---- charts -------------------------------------------------------------------------------------
// Charts have an axis, of which a part is on screen and a place is chosen, and over it series, or
// named boxes in lanes. Zoom: drag, or the keys + and −; choose: click, or the arrows.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHART = { height: 290, left: 74, right: 12, top: 28, bottom: 34 };
const LANE = { top: 4, height: 24, box: 18 };
const FIRST_WIDTH = 1000; // until an element is laid out
const DRAG = 5; // pixels: less is a click

// Colours that stay apart, light and dark, and for most who do not see all of them; no verdict has
// them. The first ones are of what is always live, what is not, and code.
const COLORS = ['#3a6fd8', '#e09a3e', '#2d6a63', '#8f959b', '#8a3f80', '#c2cad6', '#74b3d8',
    '#b49b74', '#aa3377', '#ccbb44', '#66ccee', '#ee8866', '#bbcc33', '#44bb99', '#dd77aa',
    '#004488'];

const color = (i) => COLORS[i % COLORS.length];

// Multiples of 1, 2 or 5 times a power of ten, at least `smallest` apart, at most about `count`; or
// of a power of two.
function decimalTicks(least, most, count, smallest = 0, isBinary = false) {
    const rough = Math.max(smallest, (most - least) / count) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = isBinary ? 2 ** Math.ceil(Math.log2(rough))
        : power * [1, 2, 5, 10].find((k) => k * power >= rough);
    const first = Math.ceil(least / step);
    return Array.from({ length: Math.ceil(most / step) - first }, (_, i) => (first + i) * step);
}

// Bytes have theirs by the family of units.
const ticks = (least, most, count) => decimalTicks(least, most, count, 0, !isDecimal);

// Neighbours of one name, at most so far apart, as one. What has no name ends a run.
function runsOf(items, apart = Infinity, key = 'name') {
    const runs = [];
    let last = {};
    for (const { [key]: name, from, to } of items) {
        if (last.name !== name || from - last.to > apart)
            runs.push(last = { name, from, to });
        last.to = to;
    }
    return runs.filter(({ name }) => name !== null && name !== '');
}

// The kind, [name, colour, regex], of a text.
const kindOf = (kinds, text) => kinds.find(([, , has]) => has.test(text));

const bandsOf = (names) => runsOf(names.map((name, i) => ({ name, from: i, to: i + 1 })));

// Those who extend it have the number of places (size), the names below the axis, shapes, what is
// told of a place, the kinds of the legend, and the rows of its file.
class Axis {
    // Options: title, label (of the axis), onChoose(place), which receives the chosen place.
    constructor(options) {
        this.element = el('div', { class: 'chart', onmousedown: (event) =>
            event.detail === 2 && this.open(event) }); // the first click draws anew
        this.status = el('p', { class: 'status', 'aria-live': 'polite' });
        Object.assign(this, { width: FIRST_WIDTH, chosen: null, onChoose: () => {} });
        onResize(this, () => this.draw());
        this.set(options);
    }

    // Shows something else; of as many places the zoom stays.
    set(options) {
        const { size } = this;
        Object.assign(this, options);
        if (this.size !== size || this.to === undefined)
            Object.assign(this, { from: 0, to: this.size });
        this.draw();
        if (this.chosen !== null)
            this.tell(this.chosen);
    }

    draw() {
        if (this.size === undefined)
            return replace(this.element);
        const { width, height, top, from, to, chosen } = this;
        const [right, foot] = [width - CHART.right, height - CHART.bottom];
        this.x = (at) => CHART.left + (at - from) / (to - from || 1) * (right - CHART.left);
        const line = (x, look) => svgLine(x, top, x, foot, look);
        const shapes = this.shapes(right, foot);
        this.selection = svgRect(0, top, 0, foot - top, 'selection');
        this.pointer = svg('line', { y1: top, y2: foot, class: 'pointer' });
        this.picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, tabindex: '0',
            role: 'application', 'aria-roledescription': 'chart', 'aria-label': `${this.title}. ` +
                'Arrows choose, plus and minus zoom, 0 shows all.',
            onkeydown: (event) => this.onKey(event), onpointerdown: (event) => this.onDown(event),
            onpointermove: (event) => this.onMove(event), onpointerup: (event) => this.onUp(event),
            onpointerleave: () => tip.hide() },
        this.names(right - CHART.left).map(([at, text, look = '']) => [
            this.hasGrid && line(this.x(at), 'grid'),
            svgText(this.x(at), height - 16, `tick middle ${look}`, text)]), shapes,
        svgText((CHART.left + right) / 2, height - 2, 'tick middle', this.label),
        chosen === null || chosen < from || chosen >= to ? null
            : line(this.x(chosen + 0.5), 'chosen'), this.selection, this.pointer);
        return replace(this.element, this.picture, el('ul', { class: 'legend' }, this.kinds.map(
            ([name, fill]) => el('li', {}, swatch({ fill }), name))), el('p', { class: 'tools' },
            [['+', 'in', 0.5], ['−', 'out', 2]].map(([text, way, factor]) => button(text, () =>
                this.zoom(factor), { 'aria-label': `${text} zoom ${way}: ${this.title}` })),
            button('All', () => this.show(0, this.size), { 'aria-label': `All of ${this.title}` }),
            saveButtons(this.title, () => this.picture, () => this.rows()), this.status));
    }

    show(from, to) {
        const width = Math.min(this.size, Math.max(8, Math.round(to - from)));
        this.from = Math.max(0, Math.min(this.size - width, Math.round(from)));
        this.to = this.from + width;
        this.draw();
    }

    zoom(factor) {
        const at = this.chosen ?? (this.from + this.to) / 2;
        this.show(at - factor * (at - this.from), at + factor * (this.to - at));
    }

    // Chooses a place, at a height of the picture where a pointer did.
    choose(place, y) {
        if (!this.size)
            return;
        this.chosen = Math.max(0, Math.min(this.size - 1, place));
        const by = this.from <= this.chosen && this.chosen < this.to ? 0
            : this.chosen - (this.from + this.to) / 2;
        this.show(this.from + by, this.to + by);
        this.tell(this.chosen, y);
        this.onChoose(this.chosen);
    }

    tell(place, y) {
        const [head, pairs] = this.told(place, y) || [`${this.label} ${grouped(place)}`, []];
        this.status.textContent = head + pairs.map(([name, value], i) =>
            `${i === 0 ? ': ' : ' · '}${name} ${value}`).join('');
    }

    // Where an event is: in the picture, and on the axis.
    pointOf(event) {
        const box = this.picture.getBoundingClientRect();
        const x = (event.clientX - box.left) / box.width * this.width;
        const share = (x - CHART.left) / (this.width - CHART.left - CHART.right);
        return { x, y: (event.clientY - box.top) / box.height * this.height,
            at: this.from + Math.max(0, Math.min(0.999999, share)) * (this.to - this.from) };
    }

    onKey(event) {
        const step = event.shiftKey ? Math.max(1, Math.round((this.to - this.from) / 20)) : 1;
        const from = this.chosen ?? this.from - 1;
        const actions = {
            ArrowRight: () => this.choose(from + step), ArrowLeft: () => this.choose(from - step),
            Home: () => this.choose(0), End: () => this.choose(this.size - 1),
            '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2),
            0: () => this.show(0, this.size) };
        if (!actions[event.key] || event.ctrlKey || event.metaKey)
            return;
        event.preventDefault();
        actions[event.key]();
    }

    onDown(event) {
        this.down = this.pointOf(event);
        this.picture.setPointerCapture(event.pointerId);
    }

    // Tells what there is under the pointer, and draws a line there, or what is dragged over.
    onMove(event) {
        const { x, y, at } = this.pointOf(event);
        const { down } = this;
        if (down) {
            tip.hide();
            const isDrag = Math.abs(x - down.x) >= DRAG;
            const low = this.x(Math.min(at, down.at));
            append(this.selection, { x: low, width: isDrag ? this.x(Math.max(at, down.at)) - low
                : 0 }, []);
            return;
        }
        append(this.pointer, { x1: x, x2: x }, []);
        const [head, pairs] = this.told(this.placeAt(at), y) || [];
        if (head === undefined)
            tip.hide();
        else
            tip.show(event, el('strong', {}, head), smallTable('', ['', '#'], pairs.map(
                ([name, value, fill]) => [[fill && swatch({ fill }), name], value])));
    }

    onUp(event) {
        const { down } = this;
        if (!down)
            return;
        this.down = null;
        const { x, y, at } = this.pointOf(event);
        if (Math.abs(x - down.x) < DRAG)
            this.choose(this.placeAt(at), y);
        else
            this.show(Math.min(at, down.at), Math.max(at, down.at));
    }

    // Fills the width with the box under the pointer.
    open(event) {
        const { at, y } = this.pointOf(event);
        const box = this.boxAt?.(at, y);
        if (!box)
            return;
        event.preventDefault(); // it would focus the old picture
        this.show(box.from, box.to);
    }
}

// Series over places in a row (tiles, or steps): areas on top of each other, and bands under them.
// Where there are more places than room, each bin shows the place of it that has most.
class Chart extends Axis {
    // `series`: {name, values, color}; others: unit (function), nameOf(place),
    // bands: [{from, to, name}], limit: {value, name}. Values may be below 0.
    constructor(options) {
        super({ series: [], bands: [], limit: null, nameOf: grouped, height: CHART.height,
            top: CHART.top, ...options });
    }

    get size() {
        return this.series?.[0]?.values.length;
    }

    // Sums of the stacked series for each bin, at its fullest place.
    bins() {
        const size = this.to - this.from;
        const count = Math.min(size, this.width - CHART.left - CHART.right);
        const start = (bin) => this.from + Math.floor(bin * size / count);
        return Array.from({ length: count }, (_, bin) => start(bin) + largestOf(Array.from(
            { length: start(bin + 1) - start(bin) }, (__, i) => Math.abs(this.series.reduce(
                (sum, s) => sum + s.values[start(bin) + i], 0)))));
    }

    shapes(right, foot) {
        const { limit } = this;
        const { left, top } = CHART;
        this.kinds = this.series.filter((s) => s.values.some((value) => value !== 0)).map((s) =>
            [s.name, s.color]);
        const places = this.places = this.bins();
        let tops = places.map(() => 0);
        const drawn = this.series.map((s) => {
            const bottoms = tops;
            tops = places.map((place, i) => s.values[place] + bottoms[i]);
            return { s, tops, bottoms };
        });
        const values = drawn.flatMap((own) => own.tops);
        const least = 1.04 * Math.min(0, ...values);
        const largest = Math.max(limit ? limit.value : 0, ...values);
        const most = largest > 0 ? largest * 1.04 : least < 0 ? 0 : 1;
        const y = (value) => top + (foot - top) * (1 - (value - least) / (most - least));
        const width = (right - left) / Math.max(1, places.length);
        const at = (i, value) => `${(left + i * width).toFixed(1)} ${y(value).toFixed(1)}`;
        const edge = (ends) => ends.flatMap((value, i) => [at(i, value), at(i + 1, value)]);
        return [this.bands.map(({ from, to, name }, i) => {
            const x0 = Math.max(left, this.x(from));
            const x1 = Math.min(right, this.x(to));
            return x1 <= x0 ? null : [svgRect(x0, top, x1 - x0, foot - top,
                i % 2 === 0 ? 'band' : 'band other', svg('title', {}, name)),
            x1 - x0 <= 7 * name.length + 6 ? null
                : svgText((x0 + x1) / 2, top - 10, 'band-name', name)];
        }), yAxis(ticks(least, most, 6), y, left, right, this.unit),
        drawn.filter((own) => own.tops.some((value, i) => value !== own.bottoms[i])).map((own) =>
            svg('path', { class: 'area', fill: own.s.color, d: `M${[...edge(own.tops),
                ...edge(own.bottoms).reverse()].join('L')}Z` }, svg('title', {}, own.s.name))),
        !limit ? null : [svgLine(left, y(limit.value), right, y(limit.value), 'limit'),
            svgText(right - 4, y(limit.value) - 5, 'limit-name', limit.name)]];
    }

    // Places have each their name below their middle, if all have room; else up to eight have.
    names(width) {
        const { places, from, to, nameOf } = this;
        const room = width / (Math.max(1, ...places.map((place) => nameOf(place).length)) * 7 + 9);
        const isEach = room >= places.length && places.length === to - from;
        return decimalTicks(from, to, isEach ? Infinity : Math.min(8, room), 1).map((place) =>
            [place + 0.5, nameOf(place), isEach ? 'place' : '']);
    }

    placeAt(at) {
        return this.places[Math.floor((at - this.from) / (this.to - this.from) *
            this.places.length)];
    }

    told(place) {
        return [`${this.label} ${this.nameOf(place)}`, this.series.filter((s) =>
            s.values[place] !== 0).map((s) => [s.name, this.unit(s.values[place]), s.color])];
    }

    rows() {
        return [[this.label, ...this.series.map((s) => s.name)], ...Array.from(
            { length: this.size }, (_, at) => [at, ...this.series.map((s) => s.values[at])])];
    }
}

// Lanes of boxes, each from one place to another; what is less than a pixel wide is drawn as one.
class Lanes extends Axis {
    // `lanes`: [{name, isNamed, boxes: [{name, label, from, to, fill, top, bottom}]}], where top
    // and bottom are within the lane; others: size, tick(place, isWhole), laneHeight, kinds (of
    // the legend), columns (of the file: members of boxes), factsOf(box), and amount(places, of),
    // with which the lanes without names are summed up.
    constructor(options) {
        super({ top: 0, hasGrid: true, laneHeight: LANE.height, gap: 1, kinds: [],
            columns: ['name', 'from', 'to'], ticksOf: (from, to, count) =>
                decimalTicks(from, to, count, 1), ...options });
    }

    set(options) {
        super.set({ chosen: null, ...options });
    }

    get height() {
        return LANE.top + this.lanes.length * this.laneHeight + CHART.bottom;
    }

    // A path for each colour, names where there is room, and how much is covered.
    lane({ name: title, boxes, isNamed }, y) {
        const shapes = [];
        let [sum, end] = [0, this.from];
        for (const { name, label = name, fill, top = 0, bottom = LANE.box, ...box } of boxes) {
            const [from, to] = [Math.max(this.from, box.from), Math.min(this.to, box.to)];
            if (to < from)
                continue;
            const [x0, x1, last] = [this.x(from), this.x(to), shapes.at(-1)];
            sum += Math.max(0, to - Math.max(end, from));
            end = Math.max(end, to);
            if (last && x0 - last.x0 < 1 && last.top === top && last.bottom === bottom)
                Object.assign(last, x1 - x0 < last.x1 - last.x0 ? {} : { label, fill },
                    { x1: Math.max(last.x1, x1) });
            else
                shapes.push({ x0, x1, label, fill, top, bottom });
        }
        const path = ([fill, own]) => svg('path', { fill, class: 'lane', d: own.map(
            ({ x0, x1, top, bottom }) => `M${x0.toFixed(1)} ${(y + top).toFixed(1)}h${
                Math.max(0.7, x1 - x0 - (x1 - x0 > 4 ? this.gap : 0)).toFixed(1)}v${
                Math.max(0.6, bottom - top).toFixed(1)}H${x0.toFixed(1)}Z`).join('') });
        return { title, isNamed, sum, parts: [
            [...Map.groupBy(shapes, ({ fill }) => fill)].map(path),
            !isNamed ? null : shapes.filter(({ x0, x1 }) => x1 - x0 > 12).map(
                ({ x0, x1, label }) => svgText((x0 + x1) / 2, y + 13, 'tick middle', fitting(
                    x1 - x0, label, label.replace(/.*\/(?=.*\/)/, ''),
                    `${label.slice(0, Math.max(2, (x1 - x0) / 7 - 2))}…`))),
            svgText(CHART.left - 6, y + 13, 'tick end', title)] };
    }

    shapes(right, foot) {
        const drawn = this.lanes.map((lane, i) => this.lane(lane, LANE.top + i * this.laneHeight));
        this.status.textContent = drawn.filter(({ isNamed, sum }) => this.amount &&
            !isNamed && sum > 0).map(
            ({ title, sum }) => `${title} ${this.amount(sum, this.to - this.from)}`).join(' · ');
        return [drawn.flatMap(({ parts }) => parts.flat()), this.above?.(right, foot)];
    }

    names(width) {
        return this.ticksOf(this.from, this.to, Math.max(2, width / 110)).map((at) =>
            [at, this.tick(at, this.from === 0)]);
    }

    placeAt(at) {
        return Math.floor(at);
    }

    // The box at a place: at a height of the picture, or in the last lane that has one there.
    boxAt(at, y) {
        const { lanes, laneHeight } = this;
        const slack = (this.to - this.from) / this.width; // a pixel
        const number = Math.floor((y - LANE.top) / laneHeight);
        const below = y - LANE.top - number * laneHeight; // not a number without a height
        return (y === undefined ? lanes : lanes.slice(number, number + 1)).flatMap((lane) =>
            lane.boxes).findLast(({ from, to, top = 0, bottom = LANE.box }) =>
            from - slack <= at && at <= to + slack && !(below < top || below >= bottom));
    }

    told(place, y) {
        const box = this.boxAt(place, y);
        return box && [shorten(box.name), this.factsOf(box)];
    }

    rows() {
        return [[...this.columns, 'lane'], ...this.lanes.flatMap(({ name, boxes }) =>
            boxes.map((box) => [...this.columns.map((column) => box[column]), name]))];
    }
}
