// ---- the verdict --------------------------------------------------------------------------------
// The answer in five seconds: whether the plan fits, how close it is, what is proven, and what
// would help. Words and numbers come from the model; the page adds no estimate of its own.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const VERDICTS = ['does not fit', 'is not known to fit', 'may not fit', 'likely fits', 'fits'];
const HEADS = {
    fits: ['ok', '✓', 'Fits'], 'likely fits': ['warn', '!', 'Likely fits'],
    'may not fit': ['warn', '!', 'May not fit'],
    'is not known to fit': ['warn', '!', 'Not known to fit'],
    'does not fit': ['no', '✕', 'Does not fit'] };

// "208 KiB": three digits, and in bytes where that would hide the number.
const kib = (number) =>
    Math.abs(number) < (isDecimal ? 10000 : 10240) ? `${grouped(Math.round(number))} B`
        : bytes(number);

// "208 of 624 KiB", or without a limit "208 KiB"
function ofLimit(number, limit) {
    if (limit === Infinity)
        return kib(number);
    const [own, all] = [kib(number), kib(limit)];
    if (own === all && number !== limit)
        return `${grouped(number)} of ${grouped(limit)} B`;
    const unit = all.slice(all.lastIndexOf(' '));
    return own.endsWith(unit) ? `${own.slice(0, -unit.length)} of ${all}` : `${own} of ${all}`;
}

// As the command rounds it: 100 % for the limit alone.
const percentOfLimit = (number, limit) => limit === Infinity ? 'no limit' : `${
    Math[number < limit ? 'min' : 'max'](100 + Math.sign(number - limit),
        Math.round(number / limit * 100))}\u202f%`;

const tickText = (value) => value === 0 ? '0' : kib(value);

const ipus = (number) => named(number === 1 ? '1 IPU' : `${grouped(number)} IPUs`);

class Verdict {
    constructor(plan) {
        this.plan = plan;
        this.areNotesOpen = null; // until it is known whether they say why
        this.element = el('div', { class: 'card verdict' });
        this.pill = el('a', { class: 'pill', href: '#plan', onclick: (event) => {
            event.preventDefault();
            plan.page.go('plan');
        } });
    }

    // A profile in which the regex finds no layer cannot be split.
    static hasNoLayers({ model }) {
        return !model.costs && model.numUnits < 2;
    }

    static worst(stages, value) {
        return stages.reduce((best, _, i) => value(stages[i]) > value(stages[best]) ? i : best, 0);
    }

    // The stage that is closest to its limit, or furthest above it; without limits the fullest.
    static fullest({ stages }) {
        return Verdict.worst(stages, (stage) => (stage.bound_bytes || stage.need_bytes) /
            Math.min(stage.limit_bytes, 2 ** 60));
    }

    // As the command has it: of the slowest IPU, if that comes first and all stages fit.
    static bottleneck(plan) {
        const [first] = Model.objectivesOf(plan.model, plan.settings);
        return !isTime(first) || plan.split.fits === false ? Verdict.fullest(plan.split)
            : Verdict.slowest(plan);
    }

    static slowest(plan) {
        return Verdict.worst(plan.split.stages, (stage) =>
            plan.together(stage).reduce((sum, own) => sum + own.cycles, 0));
    }

    weakest({ stages } = this.plan.split) {
        return VERDICTS.find((verdict) =>
            stages.some((stage) => stage.verdict === verdict)) || 'fits';
    }

    draw() {
        const { plan } = this;
        const isContradiction = plan.isContradiction();
        const broken = Model.broken(plan.model, plan.settings, plan.cuts);
        const words = this.weakest();
        this.areNotesOpen ??= Verdict.hasNoLayers(plan) || words === 'is not known to fit';
        const [state, icon, head] = isContradiction ? ['stop', '–',
            'No split meets the constraints'] : HEADS[words];
        const hasNoLayers = Verdict.hasNoLayers(plan);
        const isPartial = words !== 'does not fit' && !isContradiction &&
            plan.page.data.messages.some((it) => it.text.startsWith('Not counted: '));
        // a plan that breaks what is required, or that nothing is known of, is not green
        const shown = state === 'ok' && (broken.length > 0 || hasNoLayers || isPartial) ? 'warn'
            : state;
        const title = isContradiction ? `${head}.` : `${hasNoLayers
            ? `No layers found. Unsplit it ${words}` : head} on ` +
            `${ipus(plan.split.values.ipus)}${this.sharing()}${words === 'likely fits' &&
            plan.split.fits === false ? ', but not by what it may need at most' : ''}` +
            `${isPartial ? ', without what is not counted' : ''}.`;
        const stage = plan.split.stages[Verdict.fullest(plan.split)];
        this.element.className = `card verdict v-${shown}`;
        replace(this.element, el('div', {}, el('h3', { class: 'head' }, el('span', { class: 'icon',
                'aria-hidden': 'true' }, shown === state ? icon : '!'), title),
            isContradiction ? null : el('p', { class: 'size' }, this.sizeText(stage)),
            el('p', { class: 'proof' }, this.proofText(broken, isContradiction)),
            plan.hasNoPlan() ? facts([['Required', el('ul', {}, plan.constraints().map((text) =>
                el('li', {}, el('code', {}, text))))]])
                : this.facts(plan.split.stages[Verdict.bottleneck(plan)])),
            this.alternatives(this.actions(isContradiction), shown !== 'ok'), this.notes());
        this.pill.className = `pill v-${shown}`;
        replace(this.pill, `${shown === state ? icon : '!'} ${isContradiction ? 'No split'
            : `${head} · ${kib(stage.bound_bytes || stage.need_bytes)} · ` +
                percentOfLimit(stage.bound_bytes || stage.need_bytes, stage.limit_bytes)}`);
    }

    // ", 2 stages each", where stages share IPUs
    sharing() {
        const { model, split: { stages } } = this.plan;
        const each = stages.length / new Set(stages.map((stage) => stage.ipu)).size;
        return !Model.isBounded(model) || each === 1 ? '' : Number.isInteger(each) &&
            stages.every(({ ipu }) => stages.filter((other) => other.ipu === ipu).length === each)
            ? `, ${each} stages each` : `, ${stages.length} stages`;
    }

    sizeText(stage) {
        const { plan } = this;
        const { need_bytes: need, limit_bytes: limit, bound_bytes: bound } = stage;
        const where = stage.ipu < 0 ? '' : named(` on IPU ${stage.ipu}`);
        const title = named('Fullest tile');
        if (bound)
            return `${title}: at most ${ofLimit(bound, limit)} (${percentOfLimit(bound, limit)})` +
                `${where}, its stages added up.`;
        const isMost = plan.model.needs.length < 2 || plan.settings.need === 'most';
        const rest = need > limit ? `: ${kib(need - limit)} too much.` : isMost ? '.'
            : `; at most ${kib(stage.needs.most)}.`;
        return `${title}: ${ofLimit(need, limit)} (${percentOfLimit(need, limit)})${where}${rest}`;
    }

    proofText(broken, isContradiction) {
        const { plan } = this;
        const { best, split, model, settings } = plan;
        if (isContradiction)
            return plan.answer.messages.map(({ text }) => text).join(' ');
        if (broken.length > 0)
            return `This plan breaks what is required: ${broken.join('; ')}.`;
        if (!Model.canSolve(model))
            return plan.isTold() ? 'The plan of the command. Only the command solves again.'
                : model.wishes.unknown.length === 0
                    ? 'Moved cuts are counted exactly; only the command solves again.'
                    : 'Moved cuts. Only the command solves again.';
        const isBest = best.cuts.join() === split.cuts.join();
        if (plan.answer.status === 'bounded' && split.values.memory !== null)
            return named('The plan of the command: it measures stages of one IPU together.');
        if (plan.answer.status === 'bounded')
            return (isBest ? 'The best plan by a bound: what each stage needs, added up.'
                : 'Not the best plan by a bound: what each stage needs, added up, is at most ' +
                    `${kib(best.bound)} there.`) + ' Only the command measures stages together.';
        const { why } = plan.answer;
        if (why !== null && why.layer !== undefined) {
            const isLayer = model.wishes.counted[model.chain.labels.indexOf(why.layer)] === 1;
            return `${isLayer ? 'Layer ' : ''}${why.layer} alone needs ` +
                `${ofLimit(why.needs_bytes, why.limit_bytes)}; ${named('more IPUs')} do not help.`;
        }
        const most = `at most ${ipus(settings.numIpus)}`;
        if (plan.answer.status !== 'optimal')
            return `Proven: no split over ${most} fits. ${isBest ? 'This is the best effort.'
                : `The best effort needs ${kib(best.values.memory)}.`}`;
        const first = Model.objectivesOf(model, settings)[0];
        const show = (value) => objectiveWords[first].is_count ? ipus(value)
            : isTime(first) ? timeText(value) : kib(value);
        if (isBest)
            return `Best plan, proven: no split over ${most} has ` +
                `${objectiveWords[first].better}.`;
        const gain = split.values[first] - best.values[first];
        if (first === 'headroom' && gain < 0)
            return `Not the best plan: that leaves ${show(best.values[first])} ` +
                named('free on every IPU.');
        return `Not the best plan: that needs ${show(best.values[first])}` +
            (gain > 0 ? `, ${show(gain)} less.` : gain === 0 ? ' too, and less of what comes next.'
                : ' within the limit.');
    }

    // The outcome of each change, and a button that makes it.
    alternatives(changes, isUrgent) {
        const { plan, plan: { model } } = this;
        const rows = changes.map(([text, change], i) => {
            const split = plan.outcome(change);
            const need = split === null ? null : split.values.memory ?? split.bound;
            const stage = split && split.stages[Verdict.fullest(split)];
            return [text, stage === null ? '…' : [kib(need), el('small', {},
                ` ${percentOfLimit(need, stage.limit_bytes)}`)],
            ...model.hasCycles ? [stage === null ? '…' : shortTime(split.values.cycles)] : [],
            stage === null ? '…' : this.weakest(split),
            button('Show', () => plan.take(change, text), { 'aria-label': `Show: ${text}`,
                class: i === 0 && isUrgent ? 'main' : null })];
        });
        return rows.length === 0 ? el('div') : el('div', { class: 'what-else' }, smallTable(
            'What else you could do', ['', named('#fullest tile'), ...model.hasCycles
                ? [`#${named('slowest IPU')} (${timeUnit()})`] : [], 'fits', ''], rows));
    }

    // Changes that would help, the most likely first: a text, and settings or cuts.
    actions(isContradiction) {
        const { plan } = this;
        const { best, split, model, settings } = plan;
        const told = plan.isTold() || plan.page.data.plan === null ? []
            : [['The command’s plan', plan.page.data.plan]];
        if (!Model.canSolve(model))
            return told;
        const { why } = plan.answer;
        const use = (numIpus) => [`Use ${ipus(numIpus)}`, { numIpus }];
        const allow = (bytesOfTile) => {
            const limit = 1024 * Math.ceil(bytesOfTile / 1024);
            return [named(`Allow ${kib(limit)} per tile`), { limit }];
        };
        if (isContradiction)
            return why === null || !why.enough_num_ipus ? [] : [use(why.enough_num_ipus)];
        const result = [];
        const mayImprove = plan.answer.status !== 'bounded' || split.values.memory === null;
        if (best.cuts.join() !== split.cuts.join() && mayImprove)
            result.push(['The best plan', best.cuts]);
        const { curve } = plan;
        const hasOneLimit = model.wishes.mem_per_tile.length === 0;
        const canChoose = model.wishes.device_map === null && hasOneLimit;
        const enoughBytes = Math.max(...split.stages.map((stage) => stage.needs.most));
        const isBounded = plan.answer.status === 'bounded';
        if (this.weakest() !== 'fits' && hasOneLimit && split.values.memory !== null &&
            (isBounded || plan.answer.status === 'optimal') && enoughBytes > settings.limit)
            result.push(allow(enoughBytes));
        if (isBounded)
            return result.concat(told);
        if (plan.answer.status !== 'optimal') {
            const { enough_num_ipus: more, enough_mem_per_tile: least } = why;
            return [...more ? [use(more)] : [], ...result, ...least ? [allow(least)] : []]
                .slice(0, 3);
        }
        const fewer = best.values.ipus - 1; // as the command's hints have it
        if (canChoose && settings.limit < Infinity && curve[fewer - 1] <= settings.limit)
            result.push(use(fewer));
        const fastest = plan.front[plan.front.length - 1];
        if (model.hasCycles && fastest !== undefined) {
            const gain = 1 - fastest.values.cycles / split.values.cycles;
            if (gain >= 0.05)
                result.push([`${Math.round(gain * 100)}\u202f% less time, on ${
                    ipus(fastest.values.ipus)}`, fastest.cuts]);
        }
        if (canChoose && curve[settings.numIpus] < best.values.memory * 0.99)
            result.push(use(settings.numIpus + 1));
        return result.slice(0, 3);
    }

    facts(stage) {
        const { plan } = this;
        const { split, model, model: { hasCycles }, page } = plan;
        const operation = page.operationAt(stage.step);
        const [largest] = stage.variables;
        const step = Model.step(model, plan.settings, split.cuts);
        const record = Model.isBounded(model) ? undefined
            : (page.data.verdict_records || {})[this.weakest()];
        return facts([
            record === undefined ? null : [HEADS[this.weakest()][2],
                `${record.replace(/,/g, '\u202f')} random cases near the limit did fit`],
            ['Bottleneck', [stage.ipu < 0 ? '' : named(`IPU ${stage.ipu}, `), `layers ${listed(
                plan.together(stage).map(({ first, last }) => plan.range(first, last)))}`,
            model.costs ? '' : [', ', page.tileLink(stage.tile, `tile ${grouped(stage.tile)}`,
                split.stages.indexOf(stage)), ' at ', page.stepLink(stage.step,
                `step ${grouped(stage.step)}`)]]],
            operation === null ? null : ['It runs', shorten(operation)],
            largest === undefined ? null : ['Largest variable',
                `${shorten(largest.name || '(no name)', 60)}, ${kib(largest.size_bytes)}`],
            !hasCycles ? null : [named('Slowest IPU'), `${plan.place(Verdict.slowest(plan))}, ` +
                timeText(split.values.cycles)],
            step === null ? null : [`Step of ${step.micro_batches} micro-batches`,
                `${timeText(step.cycles)}, ${(100 * step.idle_share).toFixed(1)
                } % waiting${step.third_assumed ? ', if a third is forward' : ''}`],
            ['Sent over the cuts', kib(split.values.traffic)]]);
    }

    notes() {
        const { plan } = this;
        const { messages } = plan.page.data;
        const asked = plan.constraints();
        const { unknown } = plan.model.wishes;
        const numWarnings = messages.filter((it) => it.level !== 'info').length;
        const items = [...messages.map((it) => el('li', { class: it.level },
                it.level === 'info' ? null : el('strong', {}, `${it.level}: `), it.text)),
            ...asked.map((text) => el('li', {}, 'Best plans follow: ', el('code', {}, text))),
            unknown.length > 0 || Model.canSolve(plan.model) ? null : el('li', {},
                plan.page.data.solver === null ? 'The page was made without its solver'
                    : 'This browser does not run the solver of the page',
                ', so it does not look for other plans.'),
            !Model.isBounded(plan.model) ? null : el('li', {}, named('Stages share IPUs. What ' +
                'they need together the page has of the command’s own plan alone; for others it ' +
                'adds up what each needs, which is never too little.')),
            unknown.length === 0 ? null : el('li', {}, 'The command was also given ',
                listed(unknown), ', which the page does not know, so it does not look for other ' +
                'plans.')].filter((item) => item !== null);
        if (items.length === 0)
            return null;
        const details = el('details', { class: 'notes', open: this.areNotesOpen, ontoggle: () => {
                this.areNotesOpen = details.open;
            } }, el('summary', {}, el('span', { class: 'chip' }, several(items.length, 'note',
            'notes'), numWarnings === 0 ? '' : `, ${several(numWarnings, 'warning', 'warnings')}`),
        ' of the run that made this page'), el('ul', {}, items));
        return details;
    }
}
