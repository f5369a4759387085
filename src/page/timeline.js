// ---- the timeline of the execution --------------------------------------------------------------
// Programs one after another, as they ran or as the compiler estimated them: the slices of a
// trace, by kind of program. Slices of less than a pixel are drawn as one.

const LANES = [['layer'], ['operation'], ['compute', /Execute|Compute/],
    ['host copy', /StreamCopy|Host/], ['sync', /Sync|Sans/],
    ['exchange', /Exchange|Copy/], ['other', /./]];
const LANE_HEIGHT = 24;

// The programs of the liveness steps that contain no others, each for as long as it takes, as
// src/show/trace.c has them; without estimates each takes 1.
function estimatedSlices(page) {
    const { liveness, programs } = page.tables;
    const [parents, numbers, types, names, units] = ['parent_step', 'program', 'type', 'name',
        'unit'].map((name) => liveness.column(name));
    const rows = new Map(programs.column('program').map((number, row) => [number, row]));
    const of = (name, step) => programs.column(name)[rows.get(numbers[step])];
    const isInCycles = cyclesSource(page) === 'estimated';
    const inner = new Set(parents);
    const isLeaf = parents.map((_, step) => !inner.has(step));
    const length = new Float64Array(parents.length);
    for (let step = parents.length - 1; step >= 0; step--) {
        length[step] = (isInCycles ? of('cycles', step) || 0 : Number(isLeaf[step])) +
            length[step] * (isLeaf[step] ? 1 : of('num_repeats', step) || 1);
        if (parents[step] !== null)
            length[parents[step]] += length[step];
    }
    const next = new Float64Array(parents.length + 1); // when the next child of each begins
    return parents.map((parent, step) => {
        const place = parent === null ? parents.length : parent;
        const from = next[place];
        next[step] = from;
        next[place] += length[step];
        return { from, to: from + length[step], type: types[step], name: names[step] || types[step],
            layer: units[step], operation: page.operationAt(step) };
    }).filter((_, step) => isLeaf[step]);
}

function measuredSlices(page, run, ipu) {
    return page.tables.execution.rows().filter((own) => own.run === run && own.ipu === ipu)
        .map(({ first_cycle: first, active_from_cycles: from, active_to_cycles: to, ...own }) => ({
            from: first + from, to: first + Math.max(from, to), type: own.type || '',
            name: own.name || own.type, layer: own.unit, operation: own.name }))
        .sort((a, b) => a.from - b.from)
        .map((slice, _, [{ from: zero }]) => ({ ...slice,
            from: slice.from - zero, to: slice.to - zero }));
}

class Timeline extends Chart {
    constructor(page) {
        const { execution } = page.tables;
        const ran = [...new Map((execution.column('run') || []).map((run, i) => [
            `${run} ${execution.column('ipu')[i]}`, [run, execution.column('ipu')[i]]])).values()];
        super({ series: [], title: 'Programs over time', label: 'cycle', onChoose: () => {},
            describe: (cycle) => `cycle ${grouped(cycle)}` });
        this.read = (number) => {
            const slices = ran.length === 0 ? estimatedSlices(page)
                : measuredSlices(page, ...ran[number]);
            const laneOf = (slice) => LANES.findIndex(([, has]) => has && has.test(slice.type));
            this.size = slices.reduce((end, slice) => Math.max(end, slice.to), 1);
            this.lanes = LANES.map(([name, has], lane) => has === undefined ? runsOf(
                slices.map((own) => ({ ...own, name: own[name] })), this.size / 100)
                : slices.filter((slice) => laneOf(slice) === lane));
            this.shown = LANES.map((_, i) => i).filter((i) => this.lanes[i].length > 0);
            this.show(0, this.size);
        };
        this.read(0);
        this.all = el('div', { class: 'timeline' }, ran.length < 2 ? null : el('p',
            { class: 'tools' }, field('Show', choice(ran.map(([run, ipu], i) => [String(i),
                `run ${run}, IPU ${ipu}`]), '0', (i) => this.read(Number(i))))), this.element);
    }

    // A lane: slices as one path each of two shades, and names where there is room.
    lane(slices, lane, y) {
        const shapes = [];
        let sum = 0; // of what overlaps once
        let end = this.from;
        let count = 0;
        for (const { from, to, name } of slices) {
            if (to <= this.from || from >= this.to)
                continue;
            const [x0, x1] = [this.x(Math.max(this.from, from)), this.x(Math.min(this.to, to))];
            const last = shapes[shapes.length - 1];
            sum += Math.max(0, Math.min(this.to, to) - Math.max(end, from));
            end = Math.max(end, to);
            if (last !== undefined && x0 - last.x0 < 1)
                Object.assign(last, x1 - x0 < last.x1 - last.x0 ? {} : { name },
                    { x1: Math.max(last.x1, x1) });
            else
                shapes.push({ x0, x1, name, shade: count++ % 2 });
        }
        const box = ({ x0, x1 }) => `M${x0.toFixed(1)} ${y}` +
            `h${Math.max(0.7, x1 - x0 - 0.2).toFixed(1)}v18H${x0.toFixed(1)}Z`;
        const path = (shade) => shapes.filter((own) => own.shade === shade).map(box);
        const names = lane > 1 ? [] : shapes.filter(({ x0, x1 }) => x1 - x0 > 12)
            .map(({ x0, x1, name }) => svgText((x0 + x1) / 2, y + 13, 'tick middle',
                fitting(x1 - x0, name, name.replace(/.*\/(?=.*\/)/, ''))));
        return { sum, parts: [[0, 1].map((shade) => svg('path', { d: path(shade).join(''),
            class: `lane-${lane} shade-${shade}` })), names,
        svgText(CHART.left - 6, y + 13, 'tick end', LANES[lane][0])] };
    }

    draw() {
        if (this.lanes === undefined)
            return;
        const width = Math.max(280, this.width);
        const room = width - CHART.left - CHART.right;
        const size = this.to - this.from;
        this.x = (cycle) => CHART.left + (cycle - this.from) / size * room;
        const bottom = 4 + this.shown.length * LANE_HEIGHT;
        const drawn = this.shown.map((lane, i) => this.lane(this.lanes[lane], lane,
            4 + i * LANE_HEIGHT));
        const power = 10 ** Math.floor(Math.log10(size / room * 110));
        const each = [1, 2, 5, 10].find((k) => k * power >= size / room * 110) * power;
        const marks = [];
        for (let cycle = Math.ceil(this.from / each) * each; cycle <= this.to; cycle += each)
            marks.push(svgLine(this.x(cycle), 0, this.x(cycle), bottom, 'grid'),
                svgText(this.x(cycle), bottom + 12, 'tick middle', grouped(cycle)));
        this.selection = svgRect(0, 0, 0, bottom, 'selection');
        this.status.textContent = this.shown.map((lane, i) => lane < 2 || drawn[i].sum === 0 ? ''
            : `${LANES[lane][0]} ${grouped(drawn[i].sum)} (${share(drawn[i].sum, size)})`)
            .filter((text) => text !== '').join(' · ');
        this.place(svg('svg', { width, height: bottom + 18 }), [marks,
            drawn.flatMap(({ parts }) => parts), this.selection]);
        this.picture.addEventListener('dblclick', (event) => {
            const slice = this.sliceAt(event);
            if (slice !== undefined)
                this.show(slice.from, slice.to);
        });
    }

    rows() {
        return [['lane', 'name', 'from', 'to'], ...this.shown.flatMap((lane) => this.lanes[lane]
            .map(({ name, from, to }) => [LANES[lane][0], name, from, to]))];
    }

    placeAt(at) {
        return Math.floor(at);
    }

    sliceAt(event) {
        const { top } = this.picture.getBoundingClientRect();
        const { at } = this.placeOf(event);
        const lane = this.shown[Math.floor((event.clientY - top - 4) / LANE_HEIGHT)];
        return (this.lanes[lane] || []).find(({ from, to }) => from <= at && at < to);
    }

    onMove(event) {
        super.onMove(event);
        const slice = this.sliceAt(event);
        if (slice !== undefined)
            this.status.textContent = `${shorten(slice.name)}: ${grouped(slice.to - slice.from)} ` +
                `cycles from ${grouped(slice.from)} on`;
    }
}
