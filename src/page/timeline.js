// ---- the timeline of the execution --------------------------------------------------------------
// Programs one after another, as they ran or as the compiler estimated them: the slices of a
// trace, by kind of program, or by IPU.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const KINDS = [['compute', color(0), /Execute|Compute/],
    ['host copy', color(13), /StreamCopy|Host/], ['sync', color(3), /Sync|Sans/],
    ['exchange', color(1), /Exchange|Copy/], ['other', color(5), /^/]];
const PASSES = [['forward', color(0)], ['backward', color(1)], ['weights', color(2)]];
const NAMED = 'var(--Accent-bg)'; // the colour of boxes with names
const MOST_PASSES = 4000;

// How lanes show time: in cycles, of which `each` are one of the page's unit, or, without cycles,
// in programs.
function timeAxis(isTimed, each = 1) {
    const length = (size) => isTimed ? timeText(size / each)
        : several(size, 'program', 'programs');
    const tick = (at, isWhole) => !isTimed ? grouped(at)
        : (isWhole ? shortTime : shownTime)(at / each);
    return { label: isTimed ? timeUnit() : 'program', length, tick,
        amount: (sum, size) => tick(sum, true) + (isTimed ? ` (${share(sum, size)})` : ''),
        factsOf: ({ from, to, layer, type }) => [['takes', length(to - from)], ['from', tick(from)],
            ['layer', layer], ['type', type]].filter(([, value]) => value) };
}

// The programs of the liveness steps, each for as long as it takes; without estimates each that
// contains no other takes 1. What a loop contains takes the time of one pass, the only one that the
// profile lists.
function estimatedSlices(page) {
    const { from, to, repeats } = page.data.step_times;
    return page.tables.liveness.rows(['type', 'name', 'unit']).map(({ type, name, unit }, step) =>
        ({ from: from[step], to: to[step], repeats: repeats[step], type, name: name || type,
            layer: unit, operation: page.operationAt(step) }));
}

// Those of a run, from the first of them on.
function measuredSlices(rows) {
    const start = Math.min(...rows.map((own) => own.first_cycle));
    return rows.map(({ first_cycle: first, active_from_cycles: from, active_to_cycles: to, type,
        name, unit, ipu }) => ({ from: first + from - start, to: first + Math.max(from, to) - start,
        type: type || '', name: name || type || '', layer: unit, operation: name, ipu,
        repeats: 0 })).sort((a, b) => a.from - b.from);
}

// Whether the programs have a length: as measured, or as estimated.
const isTimed = (page) => ['measured', 'estimated'].includes(cyclesSource(page));

class Timeline extends Lanes {
    constructor(page) {
        const { execution } = page.tables;
        const axis = timeAxis(isTimed(page));
        super({ title: 'Programs over time', ...axis });
        const rows = execution.rows(['run', 'ipu', 'first_cycle', 'active_from_cycles',
            'active_to_cycles', 'type', 'name', 'unit']);
        const ran = [...Map.groupBy(rows, ({ run }) => run)].map(([run, own]) => ({ run, own,
            cycles: Math.max(...own.map((row) => row.first_cycle + row.active_to_cycles)) -
                Math.min(...own.map((row) => row.first_cycle)) }))
            .sort((a, b) => b.cycles - a.cycles);
        const isCut = execution.allRows !== execution.numRows;
        const last = Math.max(...ran.map(({ run }) => run));
        this.flame = new Lanes({ title: 'Flame graph', ...axis, factsOf: (box) => [
            ['takes', axis.length(box.to - box.from)],
            ['share', share(box.to - box.from, this.flame.size)]] });
        this.flameSize = el('small');
        this.read(ran.length > 0 ? measuredSlices(ran[0].own) : estimatedSlices(page));
        this.all = el('div', { class: 'timeline' }, ran.length < 2 ? null : el('p',
            { class: 'tools' }, field('Show', choice(ran.map(({ run, cycles }, i) => [String(i),
                `run ${run}: ${isCut && run === last ? 'first ' : ''}${
                    shortTime(cycles)} cycles`]), '0',
            (i) => this.read(measuredSlices(ran[i].own))))),
        !isCut ? null : el('p', { class: 'status' }, `The page has the first ${
            grouped(execution.numRows)} of ${grouped(execution.allRows)} executed programs: of ` +
            `run ${last} only the beginning, and no later run.`),
        this.element, el('h3', {}, 'Where time goes, by parts of names ', this.flameSize),
        el('div', { class: 'flame' }, this.flame.element));
    }

    // Shows a run, or what was estimated: by kind of program, or, of several, by IPU.
    read(all) {
        const slices = all.filter(({ repeats }) => repeats === 0);
        for (const own of slices)
            [own.kind, own.fill] = kindOf(KINDS, own.type);
        const size = slices.reduce((end, { to }) => Math.max(end, to), 1);
        this.work = slices.filter(({ kind }) => kind !== 'sync');
        // what lies between two slices of one layer, and has none, does not part them
        const lane = (name, boxes, isNamed) => ({ name, boxes, isNamed });
        const runs = (key) => lane(key, runsOf(this.work.filter((own) => own[key]), size / 100,
            key).map((own) => ({ ...own, fill: NAMED })), true);
        const by = (key, value, name = value) =>
            lane(name, slices.filter((own) => own[key] === value));
        const ipus = [...new Set(slices.map(({ ipu }) => ipu))].sort((a, b) => a - b);
        const lanes = ipus.length > 1 ? ipus.map((ipu) => by('ipu', ipu, `IPU ${ipu}`))
            : [lane('repeated', all.filter(({ repeats }) => repeats > 1).map((own) => ({ ...own,
                label: `× ${grouped(own.repeats)}`, fill: 'none' })), true),
            runs('layer'), runs('operation'), ...KINDS.map(([kind]) => by('kind', kind))];
        this.set({ size, lanes: lanes.filter(({ boxes }) => boxes.length > 0),
            kinds: ipus.length > 1 ? KINDS : [] });
    }

    // The flame graph follows the part on screen.
    shapes(...room) {
        afterPaint(() => {
            this.flame.set(flameOf(this.work, this.from, this.to));
            this.flameSize.textContent = `${this.length(this.flame.size)} added up in the part ` +
                'on screen, without sync; all layers (*) as one';
        });
        return super.shapes(...room);
    }
}

// The passes of a step on each device of a plan, and below them how many micro-batches it holds.
class Passes extends Lanes {
    constructor(plan) {
        super({ title: 'Order of passes',
            ...timeAxis(true, plan.model.costs?.cycles_per_time_unit) });
        Object.assign(this, { plan, holder: el('div', { class: 'passes' }) });
    }

    // Shows the step of the plan on screen, if its schedule has an order that is known.
    showStep() {
        const { model, settings, cuts, split: { stages, document: { totals: { step } } } } =
            this.plan;
        const passes = step && step.order !== null &&
            step.micro_batches * stages.length <= MOST_PASSES
            ? Model.passes(model, settings, cuts) : [];
        if (passes.length === 0)
            return replace(this.holder);
        const lastKind = Math.max(...passes.map(([, kind]) => kind));
        const counts = new Map(); // passes of a stage come in the order of micro-batches
        const boxes = passes.map(([stage, kind, from, to]) => {
            const label = counts.get(`${stage} ${kind}`) ?? 0;
            counts.set(`${stage} ${kind}`, label + 1);
            return { from, to, kind, fill: PASSES[kind][1], ipu: stages[stage].ipu,
                label: String(label), type: `${PASSES[kind][0]} pass`,
                name: `micro-batch ${label}, stage ${stage}` };
        });
        const devices = [...Map.groupBy(boxes, ({ ipu }) => ipu)].sort((a, b) => a[0] - b[0]);
        this.set({ kinds: PASSES.slice(0, lastKind + 1), size: Math.max(...boxes.map(({ to }) =>
            to)), lanes: devices.flatMap(([ipu, own]) => [
            { name: named(`IPU ${ipu}`), boxes: own, isNamed: true },
            { name: 'holds', boxes: Passes.held(own, lastKind), isNamed: true }]) });
        return replace(this.holder, el('h3', {}, 'Order of passes ', el('small', {}, `${step.order
        }, ${step.micro_batches} micro-batches, ${timeText(step.cycles)}; below each ${
            named('IPU')}, how many it holds`)), this.element);
    }

    // How many micro-batches are under way: those whose forward pass began, but whose last did not
    // end. Passes of a device run one after the other.
    static held(passes, lastKind) {
        let count = 0;
        const all = passes.toSorted((a, b) => a.from - b.from).flatMap(({ kind, from, to }, i,
            sorted) => [{ name: count += kind === 0, from, to },
            { name: count -= kind === lastKind, from: to, to: sorted[i + 1]?.from ?? to }]);
        return runsOf(all.filter(({ name, from, to }) => to > from && name > 0), 0).map((own) => ({
            ...own, fill: NAMED, label: String(own.name), name: `holds ${own.name}` }));
    }
}
