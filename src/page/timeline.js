// ---- the timeline of the execution --------------------------------------------------------------
// Programs one after another, as they ran or as the compiler estimated them: the slices of a
// trace, by kind of program, or by IPU. Slices of less than a pixel are drawn as one.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const LANES = [['layer'], ['operation'], ['compute', /Execute|Compute/],
    ['host copy', /StreamCopy|Host/], ['sync', /Sync|Sans/],
    ['exchange', /Exchange|Copy/], ['other', /./], ['repeated', null]];
const LANE_HEIGHT = 24;
const KINDS = LANES.flatMap(([, has], kind) => has ? [kind] : []);
const SYNC = 4;
const PASSES = [[2, 'forward'], [5, 'backward'], [3, 'weights']]; // kinds, and names
const MOST_PASSES = 4000;

const kindOf = ({ type }) => KINDS.find((kind) => LANES[kind][1].test(type));

// The programs of the liveness steps, each for as long as it takes, as src/show/trace.c has them;
// without estimates each that contains no other takes 1. `isOnce`: what a loop contains takes the
// time of one pass, the only one that the profile lists.
function estimatedSlices(page, isOnce = false) {
    const { liveness, programs } = page.tables;
    const steps = liveness.rows(['parent_step', 'program', 'type', 'name', 'unit']);
    const rows = new Map(programs.rows(['program', 'cycles', 'num_repeats']).map((row) =>
        [row.program, row]));
    const isInCycles = isTimed(page);
    const inner = new Set(steps.map((own) => own.parent_step));
    const length = new Float64Array(steps.length);
    for (let step = steps.length - 1; step >= 0; step--) {
        const { parent_step: parent, program } = steps[step];
        const { cycles, num_repeats: repeats } = rows.get(program) || {}; // a page has the first
        const isLeaf = !inner.has(step);
        Object.assign(steps[step], { isLeaf, repeats: isLeaf ? 1 : repeats || 1 });
        length[step] = (isInCycles ? cycles || 0 : Number(isLeaf)) +
            length[step] * (isOnce ? 1 : steps[step].repeats);
        if (parent !== null)
            length[parent] += length[step];
    }
    const next = new Map(); // when the next child of each begins
    return steps.map(({ parent_step: parent, type, name, unit, isLeaf, repeats }, step) => {
        const from = next.get(parent) || 0;
        const to = from + length[step];
        next.set(step, from).set(parent, to);
        return { from, to, type, name: name || type, layer: unit, isLeaf,
            operation: page.operationAt(step),
            repeated: repeats === 1 ? null : `× ${grouped(repeats)}` };
    });
}

// Those of some IPUs in a run, from the first of them on.
function measuredSlices(page, run, ipus) {
    const slices = page.tables.execution.rows().filter((own) => own.run === run &&
        ipus.includes(own.ipu)).map(({ first_cycle: first, active_from_cycles: from,
        active_to_cycles: to, ...own }) => ({ from: first + from, to: first + Math.max(from, to),
        type: own.type || '', name: own.name || own.type, layer: own.unit, operation: own.name,
        ipu: own.ipu, isLeaf: true, repeated: null })).sort((a, b) => a.from - b.from);
    return slices.map((slice) => ({ ...slice,
        from: slice.from - slices[0].from, to: slice.to - slices[0].from }));
}

// Rows of slices that begin and end at some time, `each` of which is one of the page's unit.
class Lanes extends Chart {
    constructor(title, label, each = 1) {
        super({ series: [], title, label, each, onChoose: () => {}, kinds: [] });
    }

    textAt(at) {
        const slice = this.leaves.find(({ from, to }) => from <= at && at < to);
        return slice ? `${shorten(slice.name)}: ${this.factsOf(slice)}`
            : `${this.label} ${grouped(at)}`;
    }

    // A lane: slices as one path for each kind and each of two shades, and names where there is
    // room.
    lane({ name: title, slices, isNamed }, y) {
        const shapes = [];
        let sum = 0; // of what overlaps once
        let end = this.from;
        let count = 0;
        for (const { from, to, name, label = name, kind } of slices) {
            if (to <= this.from || from >= this.to)
                continue;
            const [x0, x1] = [this.x(Math.max(this.from, from)), this.x(Math.min(this.to, to))];
            const last = shapes[shapes.length - 1];
            sum += Math.max(0, Math.min(this.to, to) - Math.max(end, from));
            end = Math.max(end, to);
            if (last !== undefined && x0 - last.x0 < 1)
                Object.assign(last, x1 - x0 < last.x1 - last.x0 ? {} : { label, kind },
                    { x1: Math.max(last.x1, x1) });
            else
                shapes.push({ x0, x1, label, kind, shade: count++ % 2 });
        }
        const paths = Map.groupBy(shapes, ({ kind, shade }) => `${kind} ${shade}`);
        const names = !isNamed ? [] : shapes.filter(({ x0, x1 }) => x1 - x0 > 12)
            .map(({ x0, x1, label }) => svgText((x0 + x1) / 2, y + 13, 'tick middle',
                fitting(x1 - x0, label, label.replace(/.*\/(?=.*\/)/, ''),
                    `${label.slice(0, Math.max(2, (x1 - x0) / 7 - 2))}…`)));
        const path = (own) => { // its kind is a number of the style, or a colour
            const d = own.map(({ x0, x1 }) => `M${x0.toFixed(1)} ${y}h${
                Math.max(0.7, x1 - x0 - 0.2).toFixed(1)}v18H${x0.toFixed(1)}Z`).join('');
            const [{ kind, shade }] = own;
            return svg('path', { d, class: `lane-${kind} shade-${shade}`, fill: kind });
        };
        return { sum, parts: [[...paths.values()].map(path), names,
            svgText(CHART.left - 6, y + 13, 'tick end', title)] };
    }

    draw() {
        if (this.lanes === undefined)
            return;
        const width = Math.max(280, this.width);
        const room = width - CHART.left - CHART.right;
        const size = this.to - this.from;
        this.x = (cycle) => CHART.left + (cycle - this.from) / size * room;
        const bottom = 4 + this.lanes.length * LANE_HEIGHT;
        const drawn = this.lanes.map((lane, i) => this.lane(lane, 4 + i * LANE_HEIGHT));
        const marks = decimalTicks(this.from, this.to, room / 110, 1).map((cycle) => [
            svgLine(this.x(cycle), 0, this.x(cycle), bottom, 'grid'),
            svgText(this.x(cycle), bottom + 12, 'tick middle', this.tick(cycle))]);
        this.selection = svgRect(0, 0, 0, bottom, 'selection');
        this.status.textContent = this.lanes.map(({ name, isNamed }, i) => isNamed ||
            drawn[i].sum === 0 ? '' : `${name} ${this.amount(drawn[i].sum, size)}`)
            .filter((text) => text !== '').join(' · ');
        this.place(svg('svg', { width, height: bottom + 18 }), [marks,
            drawn.flatMap(({ parts }) => parts), this.selection]);
        this.picture.addEventListener('dblclick', (event) => {
            const slice = this.sliceAt(event);
            if (slice !== undefined)
                this.show(slice.from, slice.to);
        });
        this.onDraw?.();
    }

    legend() {
        return this.kinds.length === 0 ? null : el('ul', { class: 'legend' }, this.kinds.map(
            ([kind, name]) => el('li', {}, swatch({ class: `lane-${kind}` }), name)));
    }

    // In full where three digits are the same.
    tick(at) {
        return this.label === 'program' ? grouped(at)
            : (this.from === 0 ? shortTime : shownTime)(at / this.each);
    }

    // Without cycles, programs are counted.
    amount(sum, size) {
        return this.label === 'cycle' ? `${shortTime(sum / this.each)} (${share(sum, size)})`
            : grouped(sum);
    }

    rows() {
        return [['lane', 'name', 'from', 'to'], ...this.lanes.flatMap((lane) => lane.slices
            .map(({ name, from, to }) => [lane.name, name, from, to]))];
    }

    sliceAt(event) {
        const { top } = this.picture.getBoundingClientRect();
        const { at } = this.placeOf(event);
        const lane = this.lanes[Math.floor((event.clientY - top - 4) / LANE_HEIGHT)];
        return lane && lane.slices.find(({ from, to }) => from <= at && at < to);
    }

    factsOf({ from, to }) {
        return this.label === 'program' ? `program ${grouped(from)}`
            : `${timeText((to - from) / this.each)}, from ${shownTime(from / this.each)} on`;
    }

    tipOf(event) {
        const slice = this.sliceAt(event);
        return slice === undefined ? null : [el('strong', {}, shorten(slice.name)),
            el('div', {}, this.factsOf(slice)),
            facts([['Layer', slice.layer], ['Type', slice.type]].filter(([, value]) => value)),
            el('div', { class: 'status' }, 'A double click fills the width with it')];
    }
}

// Whether the programs have a length: as measured, or as estimated.
const isTimed = (page) => ['measured', 'estimated'].includes(cyclesSource(page));

// Runs, the longest first, each with all of its IPUs and then with each of them.
function runsOfExecution({ execution }) {
    const rows = execution.rows(['run', 'ipu', 'first_cycle', 'active_to_cycles']);
    return [...Map.groupBy(rows, ({ run }) => run)].map(([run, own]) => ({ run,
        all: [...new Set(own.map(({ ipu }) => ipu))],
        cycles: Math.max(...own.map((row) => row.first_cycle + row.active_to_cycles)) -
            Math.min(...own.map((row) => row.first_cycle)) })).sort((a, b) => b.cycles - a.cycles)
        .flatMap(({ run, all, cycles }) => [...all.length > 1 ? [all.toSorted((a, b) => a - b)]
            : [], ...all.map((ipu) => [ipu])].map((ipus) => ({ run, ipus, text: `run ${run}, ${
            ipus.length > 1 ? `${ipus.length} IPUs` : `IPU ${ipus[0]}`}: ` +
                `${shortTime(cycles)} cycles` })));
}

class Timeline extends Lanes {
    constructor(page) {
        const { execution } = page.tables;
        const ran = execution.numRows === 0 ? [] : runsOfExecution(page.tables);
        super('Programs over time', isTimed(page) ? 'cycle' : 'program');
        this.flame = new Flame(this.label);
        this.page = page;
        this.read(ran[0]);
        const isCut = execution.allRows > execution.numRows;
        this.all = el('div', { class: 'timeline' }, ran.length < 2 ? null : el('p',
            { class: 'tools' }, field('Show', choice(ran.map(({ text }, i) => [String(i), text]),
            '0', (i) => this.read(ran[i])))), !isCut ? null : el('p', { class: 'status' },
            `The page has the first ${grouped(execution.numRows)} of ` +
            `${grouped(execution.allRows)} executed programs: the last run may end too early.`),
        this.element, this.flame.all);
    }

    // Reads a run, or what was estimated.
    read(ran) {
        const all = ran === undefined ? estimatedSlices(this.page, true)
            : measuredSlices(this.page, ran.run, ran.ipus);
        const slices = all.filter(({ isLeaf }) => isLeaf).map((own) => ({ ...own,
            kind: kindOf(own) }));
        this.size = slices.reduce((end, slice) => Math.max(end, slice.to), 1);
        this.leaves = slices;
        this.work = slices.filter(({ kind }) => kind !== SYNC);
        // what lies between two slices of one layer, and has none, does not part them
        const runs = (name) => runsOf(this.work.filter((own) => own[name]).map((own) => ({ ...own,
            name: own[name] })), this.size / 100);
        const isByIpu = ran !== undefined && ran.ipus.length > 1;
        this.kinds = !isByIpu ? [] : KINDS.filter((kind) => slices.some((own) =>
            own.kind === kind)).map((kind) => [kind, LANES[kind][0]]);
        const lanes = isByIpu ? ran.ipus.map((ipu) => [`IPU ${ipu}`,
            slices.filter((own) => own.ipu === ipu)])
            : LANES.map(([name, has], kind) => [name, has === undefined ? runs(name).map((own) =>
                ({ ...own, kind })) : has === null ? all.filter(({ repeated }) => repeated !== null)
                .map((own) => ({ ...own, name: own.repeated, kind }))
                : slices.filter((own) => own.kind === kind), !has]);
        this.lanes = lanes.filter(([, own]) => own.length > 0).map(([name, own, isNamed]) => ({
            name, slices: own, isNamed }));
        this.show(0, this.size);
    }

    // Follows the part on screen.
    onDraw() {
        afterPaint(() => this.flame.set(this.work, this.from, this.to));
    }
}

// The passes of a step on each device of a plan, and below them how many micro-batches it holds.
class Passes extends Lanes {
    constructor(plan) {
        super('Order of passes', 'cycle', plan.model.costs?.cycles_per_time_unit);
        this.plan = plan;
        this.holder = el('div', { class: 'passes' });
    }

    // Shows the step of the plan on screen, if its schedule has an order that is known.
    set() {
        const { model, settings, cuts, split: { stages, document: { totals } } } = this.plan;
        const { step } = totals;
        const isShown = step && step.order !== null &&
            step.micro_batches * stages.length <= MOST_PASSES;
        const passes = isShown ? Model.passes(model, settings, cuts) : [];
        if (passes.length === 0)
            return replace(this.holder);
        const counts = new Map(); // passes of a stage come in the order of micro-batches
        this.leaves = passes.map(([stage, kind, from, to]) => {
            const key = 3 * stage + kind;
            counts.set(key, (counts.get(key) ?? -1) + 1);
            return { stage, kind: PASSES[kind][0],
                from, to, ipu: stages[stage].ipu, type: `${PASSES[kind][1]} pass`,
                label: String(counts.get(key)), pass: kind,
                name: `micro-batch ${counts.get(key)}, stage ${stage}` };
        });
        const devices = [...new Set(stages.map(({ ipu }) => ipu))].sort((a, b) => a - b);
        const lastKind = Math.max(...passes.map(([, kind]) => kind));
        this.size = Math.max(...passes.map(([, , , to]) => to));
        this.kinds = PASSES.slice(0, lastKind + 1);
        this.lanes = devices.flatMap((ipu) => {
            const own = this.leaves.filter((pass) => pass.ipu === ipu);
            return [{ name: named(`IPU ${ipu}`), slices: own, isNamed: true },
                { name: 'holds', slices: Passes.held(own, lastKind, this.size), isNamed: true }];
        });
        this.show(0, this.size);
        return replace(this.holder, el('h3', {}, 'Order of passes ', el('small', {}, `${step.order
        }, ${step.micro_batches} micro-batches, ${timeText(step.cycles)}; below each ${
            named('IPU')}, how many it holds`)),
        this.element);
    }

    // How many micro-batches are under way: those whose forward pass began, but whose last did not
    // end.
    static held(passes, lastKind, size) {
        const changes = passes.flatMap(({ pass, from, to }) => [...pass === 0 ? [[from, 1]] : [],
            ...pass === lastKind ? [[to, -1]] : []]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        let count = 0;
        const all = changes.map(([from, by], i) => {
            count += by;
            return { from, to: i + 1 < changes.length ? changes[i + 1][0] : size,
                name: count === 0 ? '' : String(count) };
        });
        return runsOf(all.filter(({ from, to }) => to > from)).map((own) => ({ ...own, kind: 0,
            type: 'held', label: own.name, name: `holds ${own.name}` }));
    }
}
