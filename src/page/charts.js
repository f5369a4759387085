// ---- charts -------------------------------------------------------------------------------------
// A chart over places in a row (tiles, or steps): areas on top of each other, lines, bands under
// them, and one place that is chosen. Where there are more places than room, each bin shows the
// place of it that has most. Zoom: drag, or the keys + and −; choose: click, or the arrows.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHART = { height: 290, left: 74, right: 12, top: 28, bottom: 34 };
const FIRST_WIDTH = 1000; // until an element is laid out

// Multiples of a step, from `least` to below `most`.
function multiples(least, most, step) {
    const first = Math.ceil(least / step);
    return Array.from({ length: Math.ceil(most / step) - first }, (_, i) => (first + i) * step);
}

// Bytes in even steps, at most about `count`.
const ticks = (most, count, least = 0) => isDecimal ? decimalTicks(least, most, count)
    : multiples(least, most, 2 ** Math.ceil(Math.log2((most - least) / count || 1)));

// Multiples of 1, 2 or 5 times a power of ten, at least `smallest` apart, at most about `count`.
function decimalTicks(least, most, count, smallest = 0) {
    const rough = Math.max(smallest, (most - least) / count);
    const power = 10 ** Math.floor(Math.log10(rough));
    return multiples(least, most, [1, 2, 5, 10].find((k) => k * power >= rough) * power);
}

// Neighbours of one name, at most so far apart, as one. What has no name ends a run.
function runsOf(items, apart = Infinity) {
    const runs = [];
    let last = {};
    for (const { name, from, to } of items) {
        if (last.name !== name || from - last.to > apart)
            runs.push(last = { name, from, to });
        last.to = to;
    }
    return runs.filter(({ name }) => name !== null && name !== '');
}

const bandsOf = (names) => runsOf(names.map((name, i) => ({ name, from: i, to: i + 1 })));

class Chart {
    // `series`: {name, values, color, isLine}; others: title, label (of the axis), unit (function),
    // height, nameOf(place), rows() of its file, bands: [{from, to, name}], limit: {value, name},
    // marks: [{at, name}], onChoose(place), which receives the chosen place.
    // Values may be below 0.
    constructor(options) {
        Object.assign(this, { bands: [], marks: [], limit: null, chosen: null, nameOf: grouped,
            height: CHART.height }, options);
        this.showAll();
        this.element = el('div', { class: 'chart' });
        this.status = el('p', { class: 'status', 'aria-live': 'polite' });
        this.width = FIRST_WIDTH;
        this.draw();
        onResize(this, () => this.draw());
    }

    showAll() {
        this.size = this.series.length > 0 ? this.series[0].values.length : 0;
        this.from = 0;
        this.to = this.size;
    }

    // Shows the chart of a view, or other values in it; of as many places zoom and choice stay.
    static put(view, options) {
        if (!view.chart) {
            view.chart = new Chart(options);
        } else {
            Object.assign(view.chart, options);
            if (view.chart.series[0].values.length !== view.chart.size)
                view.chart.showAll();
            view.chart.draw();
            view.chart.tell();
        }
        replace(view.holder, view.chart.element);
    }

    // Sums of the stacked series for each bin, at its fullest place.
    bins() {
        const size = this.to - this.from;
        const count = Math.min(size, this.width - CHART.left - CHART.right);
        const stacked = this.series.filter((s) => !s.isLine);
        const own = stacked.length > 0 ? stacked : this.series;
        const start = (bin) => this.from + Math.floor(bin * size / count);
        return Array.from({ length: count }, (_, bin) => start(bin) + largestOf(Array.from(
            { length: start(bin + 1) - start(bin) }, (__, i) => Math.abs(own.reduce((sum, s) =>
                sum + s.values[start(bin) + i], 0)))));
    }

    draw() {
        const { left, right, top, bottom } = CHART;
        const { width, height } = this;
        const places = this.bins();
        let below = places.map(() => 0);
        const shapes = this.series.map((s) => {
            const bottoms = below;
            const tops = places.map((place, i) => s.values[place] + (s.isLine ? 0 : bottoms[i]));
            below = s.isLine ? below : tops;
            return { s, tops, bottoms };
        });
        const values = shapes.flatMap(({ tops }) => tops);
        const least = 1.04 * Math.min(0, ...values);
        const largest = Math.max(this.limit ? this.limit.value : 0, ...values);
        const most = largest > 0 ? largest * 1.04 : least < 0 ? 0 : 1;
        const innerWidth = width - left - right;
        const innerHeight = height - top - bottom;
        this.x = (place) => left + (place - this.from) / (this.to - this.from) * innerWidth;
        const binWidth = innerWidth / Math.max(1, places.length);
        const y = (value) => top + innerHeight * (1 - (value - least) / (most - least));
        const at = (i, value) => `${(left + i * binWidth).toFixed(1)} ${y(value).toFixed(1)}`;
        const path = ({ tops, bottoms, s }) => {
            const above = tops.map((value, i) => `${at(i, value)}L${at(i + 1, value)}`);
            const under = bottoms.map((value, i) => `${at(i + 1, value)}L${at(i, value)}`);
            return `M${above.join('L')}${s.isLine ? '' : `L${under.reverse().join('L')}Z`}`;
        };
        const parts = [];
        this.bands.forEach((band, i) => {
            const x0 = Math.max(left, this.x(band.from));
            const x1 = Math.min(width - right, this.x(band.to));
            if (x1 <= x0)
                return;
            parts.push(svgRect(x0, top, x1 - x0, innerHeight,
                i % 2 === 0 ? 'band' : 'band other', svg('title', {}, band.name)));
            if (x1 - x0 > 7 * band.name.length + 6)
                parts.push(svgText((x0 + x1) / 2, top - 10, 'band-name', band.name));
        });
        parts.push(yAxis(ticks(most, 6, least), y, left, width - right, this.unit));
        for (const shape of shapes)
            if (shape.tops.some((value) => value !== 0))
                parts.push(svg('path', { d: path(shape), class: shape.s.isLine ? 'line'
                    : 'area', [shape.s.isLine ? 'stroke' : 'fill']: shape.s.color },
                    svg('title', {}, shape.s.name)));
        // Places have each their name below their middle, if all have room; else up to eight have.
        const names = Math.max(1, ...places.map((place) => this.nameOf(place).length));
        const room = innerWidth / (names * 7 + 9);
        const isEach = room >= places.length && places.length === this.to - this.from;
        const shown = decimalTicks(this.from, this.to, isEach ? Infinity : Math.min(8, room), 1);
        for (const place of shown)
            parts.push(svgText(this.x(place + 0.5), height - 16,
                isEach ? 'tick middle place' : 'tick middle', this.nameOf(place)));
        parts.push(svgText(left + innerWidth / 2, height - 2, 'tick middle', this.label));
        if (this.limit) {
            const limit = y(this.limit.value);
            parts.push(svgLine(left, limit, width - right, limit, 'limit'),
                svgText(width - right - 4, limit - 5, 'limit-name', this.limit.name));
        }
        parts.push(this.markLayer = svg('g'));
        this.mark(this.marks);
        const chosen = this.x(this.chosen + 0.5);
        if (this.chosen !== null && this.chosen >= this.from && this.chosen < this.to)
            parts.push(svgLine(chosen, top, chosen, height - bottom, 'chosen'));
        this.selection = svgRect(0, top, 0, innerHeight, 'selection');
        parts.push(this.selection, this.pointer = svgLine(0, top, 0, height - bottom, 'pointer'));
        this.place(svg('svg', { viewBox: `0 0 ${width} ${height}` }), parts);
    }

    // Puts a picture in the place of the last one.
    place(picture, parts) {
        this.picture = append(picture, { tabindex: '0', role: 'application',
            'aria-roledescription': 'chart', 'aria-label': `${this.title}. ` +
                'Arrows choose, plus and minus zoom, 0 shows all.',
            onkeydown: (event) => this.onKey(event),
            onpointerdown: (event) => this.onDown(event),
            onpointermove: (event) => this.onMove(event),
            onpointerup: (event) => this.onUp(event),
            onpointerleave: () => this.leave() }, [parts]);
        replace(this.element, this.picture, this.legend(), this.tools());
    }

    legend() {
        const shown = this.series.filter((s) => s.values.some((value) => value !== 0));
        return el('ul', { class: 'legend' }, shown.map((s) =>
            el('li', {}, swatch({ fill: s.color }), s.name)));
    }

    tools() {
        return el('p', { class: 'tools' },
            button('+', () => this.zoom(0.5), { 'aria-label': `+ zoom in: ${this.title}` }),
            button('−', () => this.zoom(2), { 'aria-label': `− zoom out: ${this.title}` }),
            button('All', () => this.show(0, this.size), { 'aria-label': `All of ${this.title}` }),
            saveButtons(this.title, () => this.picture, () => this.rows()), this.status);
    }

    rows() {
        return [[this.label, ...this.series.map((s) => s.name)], ...Array.from(
            { length: this.size }, (_, at) => [at, ...this.series.map((s) => s.values[at])])];
    }

    show(from, to) {
        const width = Math.min(this.size, Math.max(8, Math.round(to - from)));
        this.from = Math.max(0, Math.min(this.size - width, Math.round(from)));
        this.to = this.from + width;
        this.draw();
    }

    zoom(factor) {
        const at = this.chosen ?? (this.from + this.to) / 2;
        const width = (this.to - this.from) * factor;
        this.show(at - width * (at - this.from) / (this.to - this.from),
            at + width * (this.to - at) / (this.to - this.from));
    }

    choose(place) {
        if (this.size === 0)
            return;
        this.chosen = Math.max(0, Math.min(this.size - 1, place));
        if (this.chosen < this.from || this.chosen >= this.to) {
            const half = (this.to - this.from) / 2;
            this.show(this.chosen - half, this.chosen + half);
        } else {
            this.draw();
        }
        this.tell();
        this.onChoose(this.chosen);
    }

    tell() {
        if (this.chosen !== null)
            this.status.textContent = this.textAt(this.chosen);
    }

    textAt(place) {
        return `${this.label} ${this.nameOf(place)}: ` + this.series
            .filter((s) => s.values[place] !== 0)
            .map((s) => `${s.name} ${this.unit(s.values[place])}`).join(' · ');
    }

    leave() {
        tip.hide();
        this.pointer?.classList.remove('is-shown');
    }

    mark(marks) {
        this.marks = marks;
        replace(this.markLayer, marks.filter(({ at }) => at >= this.from && at < this.to)
            .map(({ at, name }) => svg('path', { class: 'mark',
                d: `M${this.x(at + 0.5)} ${CHART.top + 1}l-4 -7h8Z` }, svg('title', {}, name))));
    }

    placeOf(event) {
        const box = this.picture.getBoundingClientRect();
        const x = (event.clientX - box.left) / box.width * this.width;
        const share = (x - CHART.left) / (this.width - CHART.left - CHART.right);
        const at = this.from + Math.max(0, Math.min(0.999999, share)) * (this.to - this.from);
        return { at, place: this.placeAt(at) };
    }

    placeAt(at) {
        if (this.series.length === 0)
            return Math.floor(at);
        const places = this.bins();
        return places[Math.floor((at - this.from) / (this.to - this.from) * places.length)];
    }

    onKey(event) {
        const step = event.shiftKey ? Math.max(1, Math.round((this.to - this.from) / 20)) : 1;
        const from = this.chosen === null ? this.from - 1 : this.chosen;
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
        this.down = { x: event.clientX, at: this.placeOf(event).at };
        this.picture.setPointerCapture(event.pointerId);
    }

    // Tells what there is under the pointer, and draws a line there.
    tipOf(event) {
        const { place } = this.placeOf(event);
        for (const end of ['x1', 'x2'])
            this.pointer.setAttribute(end, this.x(place + 0.5));
        this.pointer.classList.add('is-shown');
        return [el('strong', {}, `${this.label} ${this.nameOf(place)}`), smallTable('', ['', '#'],
            this.series.filter((s) => s.values[place] !== 0).map((s) =>
                [[swatch({ fill: s.color }), s.name], this.unit(s.values[place])]))];
    }

    onMove(event) {
        const told = this.down ? null : this.tipOf(event);
        if (told !== null)
            tip.show(event, told);
        else if (!this.down)
            tip.hide();
        if (!this.down || Math.abs(event.clientX - this.down.x) < 5)
            return;
        const { at } = this.placeOf(event);
        const low = this.x(Math.min(at, this.down.at));
        this.selection.setAttribute('x', low);
        this.selection.setAttribute('width', this.x(Math.max(at, this.down.at)) - low);
    }

    onUp(event) {
        const { down } = this;
        if (!down)
            return;
        this.down = null;
        const { at, place } = this.placeOf(event);
        if (Math.abs(event.clientX - down.x) < 5)
            this.choose(place);
        else
            this.show(Math.min(at, down.at), Math.max(at, down.at));
    }
}

// Colours that stay apart, light and dark, and for most who do not see all of them; no verdict has
// them. The first ones are of what is always live, what is not, and code.
const COLORS = ['#3a6fd8', '#e09a3e', '#2d6a63', '#8f959b', '#8a3f80', '#c2cad6', '#74b3d8',
    '#b49b74', '#aa3377', '#ccbb44', '#66ccee', '#ee8866', '#bbcc33', '#44bb99', '#dd77aa',
    '#004488'];

const color = (i) => COLORS[i % COLORS.length];
