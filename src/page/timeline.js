// ---- the timeline of the execution --------------------------------------------------------------
// Programs one after another, as they ran or as the compiler estimated them: the slices of a
// trace, by kind of program. Slices of less than a pixel are drawn as one.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const LANES = [['layer'], ['operation'], ['compute', /Execute|Compute/],
    ['host copy', /StreamCopy|Host/], ['sync', /Sync|Sans/],
    ['exchange', /Exchange|Copy/], ['other', /./], ['repeated', null]];
const LANE_HEIGHT = 24;

// The programs of the liveness steps, each for as long as it takes, as src/show/trace.c has them;
// without estimates each that contains no other takes 1. `isOnce`: what a loop contains takes the
// time of one pass, the only one that the profile lists.
function estimatedSlices(page, isOnce = false) {
    const { liveness, programs } = page.tables;
    const [parents, numbers, types, names, units] = ['parent_step', 'program', 'type', 'name',
        'unit'].map((name) => liveness.column(name));
    const rows = new Map(programs.column('program').map((number, row) => [number, row]));
    const of = (name, step) => programs.column(name)[rows.get(numbers[step])];
    const isInCycles = isTimed(page);
    const repeats = (step) => of('num_repeats', step) || 1;
    const inner = new Set(parents);
    const isLeaf = parents.map((_, step) => !inner.has(step));
    const length = new Float64Array(parents.length);
    for (let step = parents.length - 1; step >= 0; step--) {
        length[step] = (isInCycles ? of('cycles', step) || 0 : Number(isLeaf[step])) +
            length[step] * (isLeaf[step] || isOnce ? 1 : repeats(step));
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
            layer: units[step], operation: page.operationAt(step), isLeaf: isLeaf[step],
            repeated: isLeaf[step] || repeats(step) === 1 ? null : `× ${grouped(repeats(step))}` };
    });
}

function measuredSlices(page, run, ipu) {
    return page.tables.execution.rows().filter((own) => own.run === run && own.ipu === ipu)
        .map(({ first_cycle: first, active_from_cycles: from, active_to_cycles: to, ...own }) => ({
            from: first + from, to: first + Math.max(from, to), type: own.type || '',
            name: own.name || own.type, layer: own.unit, operation: own.name, isLeaf: true,
            repeated: null }))
        .sort((a, b) => a.from - b.from)
        .map((slice, _, [{ from: zero }]) => ({ ...slice,
            from: slice.from - zero, to: slice.to - zero }));
}

// Whether the programs have a length: as measured, or as estimated.
const isTimed = (page) => ['measured', 'estimated'].includes(cyclesSource(page));

// Runs, the longest first: [run, IPU, cycles].
function runsOfExecution({ execution }) {
    const runs = new Map();
    for (const { run, ipu, first_cycle: first, active_to_cycles: to } of execution.rows(
        ['run', 'ipu', 'first_cycle', 'active_to_cycles'])) {
        const key = `${run} ${ipu}`;
        const { from, end } = runs.get(key) || { from: first, end: 0 };
        runs.set(key, { run, ipu, from: Math.min(from, first), end: Math.max(end, first + to) });
    }
    return [...runs.values()].map(({ run, ipu, from, end }) => [run, ipu, end - from])
        .sort((a, b) => b[2] - a[2]);
}

class Timeline extends Chart {
    constructor(page) {
        const { execution } = page.tables;
        const ran = execution.numRows === 0 ? [] : runsOfExecution(page.tables);
        super({ series: [], title: 'Programs over time', onChoose: () => {},
            label: isTimed(page) ? 'cycle' : 'program',
            describe: (at) => `${this.label} ${grouped(at)}` });
        this.read = (number) => {
            const all = ran.length === 0 ? estimatedSlices(page, true)
                : measuredSlices(page, ...ran[number]);
            const slices = all.filter(({ isLeaf }) => isLeaf);
            const work = slices.filter(({ type }) => !LANES[4][1].test(type));
            const laneOf = (slice) => LANES.findIndex(([, has]) => has && has.test(slice.type));
            const runs = (name) => runsOf(work.map((own) => ({ ...own, name: own[name] })),
                this.size / 100);
            this.size = slices.reduce((end, slice) => Math.max(end, slice.to), 1);
            this.lanes = LANES.map(([name, has], lane) => has === undefined ? runs(name)
                : has === null ? all.filter(({ repeated }) => repeated !== null)
                    .map((own) => ({ ...own, name: own.repeated }))
                : slices.filter((slice) => laneOf(slice) === lane));
            this.shown = LANES.map((_, i) => i).filter((i) => this.lanes[i].length > 0);
            this.show(0, this.size);
        };
        this.read(0);
        const isCut = execution.allRows > execution.numRows;
        this.all = el('div', { class: 'timeline' }, ran.length < 2 ? null : el('p',
            { class: 'tools' }, field('Show', choice(ran.map(([run, ipu, cycles], i) => [String(i),
                `run ${run}, IPU ${ipu}: ${grouped(cycles)} cycles`]), '0',
            (i) => this.read(Number(i))))), !isCut ? null : el('p', { class: 'status' },
            `The page has the first ${grouped(execution.numRows)} of ` +
            `${grouped(execution.allRows)} executed programs: the last run may end too early.`),
        this.element);
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
        const names = LANES[lane][1] instanceof RegExp ? [] : shapes.filter(({ x0, x1 }) => x1 - x0 > 12)
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
        const marks = decimalTicks(this.from, this.to, room / 110, 1).map((cycle) => [
            svgLine(this.x(cycle), 0, this.x(cycle), bottom, 'grid'),
            svgText(this.x(cycle), bottom + 12, 'tick middle', grouped(cycle))]);
        this.selection = svgRect(0, 0, 0, bottom, 'selection');
        this.status.textContent = this.shown.map((lane, i) => lane < 2 || drawn[i].sum === 0 ? ''
            : `${LANES[lane][0]} ${this.amount(drawn[i].sum, size)}`)
            .filter((text) => text !== '').join(' · ');
        this.place(svg('svg', { width, height: bottom + 18 }), [marks,
            drawn.flatMap(({ parts }) => parts), this.selection]);
        this.picture.addEventListener('dblclick', (event) => {
            const slice = this.sliceAt(event);
            if (slice !== undefined)
                this.show(slice.from, slice.to);
        });
    }

    // Without cycles, programs are counted.
    amount(sum, size) {
        return this.label === 'cycle' ? `${grouped(sum)} (${share(sum, size)})` : grouped(sum);
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
            this.status.textContent = `${shorten(slice.name)}: ` + (this.label === 'program'
                ? `program ${grouped(slice.from)}`
                : `${grouped(slice.to - slice.from)} cycles from ${grouped(slice.from)} on`);
    }
}
