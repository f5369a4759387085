// ---- the verdict --------------------------------------------------------------------------------
// The answer in five seconds: whether the plan fits, how close it is, what is proven, and what
// would help. Words and numbers come from the model; the page adds no estimate of its own.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// From the worst on: state, icon and words.
const HEADS = { 'does not fit': ['no', '✕', 'Does not fit'],
    'is not known to fit': ['warn', '!', 'Not known to fit'],
    'may not fit': ['warn', '!', 'May not fit'], 'likely fits': ['warn', '!', 'Likely fits'],
    fits: ['ok', '✓', 'Fits'] };

// "208 of 624 KiB", or without a limit "208 KiB"
function ofLimit(number, limit) {
    if (limit === Infinity)
        return bytes(number);
    const [own, all] = [bytes(number), bytes(limit)];
    if (own === all && number !== limit)
        return `${grouped(number)} of ${grouped(limit)} B`;
    const unit = all.slice(all.lastIndexOf(' '));
    return own.endsWith(unit) ? `${own.slice(0, -unit.length)} of ${all}` : `${own} of ${all}`;
}

// As the command rounds it: 100 % for the limit alone.
const percentOfLimit = (number, limit) => limit === Infinity ? 'no limit' : `${
    Math[number < limit ? 'min' : 'max'](100 + Math.sign(number - limit),
        Math.round(number / limit * 100))}\u202f%`;

const tickText = (value) => value === 0 ? '0' : bytes(value);

const ipus = (number) => named(number === 1 ? '1 IPU' : `${grouped(number)} IPUs`);

class Verdict {
    constructor(plan) {
        this.plan = plan;
        this.areNotesOpen = null; // until it is known whether they say why
        this.element = el('div', { class: 'card verdict' });
        this.pill = plan.page.linkTo('plan', { class: 'pill' });
    }

    // The stage that is closest to its limit, or furthest above it; without limits the fullest.
    static fullest({ stages }) {
        return largestOf(stages.map((stage) => stage.need_bytes /
            Math.min(stage.limit_bytes, 2 ** 60)));
    }

    static slowest(plan) {
        return largestOf(plan.split.stages.map((stage) =>
            plan.together(stage).reduce((sum, own) => sum + own.cycles, 0)));
    }

    weakest() {
        return Object.keys(HEADS).find((verdict) =>
            this.plan.split.stages.some((stage) => stage.verdict === verdict));
    }

    draw() {
        const { plan } = this;
        const isContradiction = plan.isContradiction();
        const { bottleneck } = plan.split.document;
        const broken = Model.broken(plan.model, plan.settings, plan.cuts);
        const words = this.weakest();
        // a profile in which the regex finds no layer cannot be split
        const hasNoLayers = !plan.model.costs && plan.model.numUnits < 2;
        this.areNotesOpen ??= hasNoLayers || words === 'is not known to fit';
        const [state, icon, head] = isContradiction ? ['stop', '–',
            'No split meets the constraints'] : HEADS[words];
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
                : this.facts(plan.split.stages[bottleneck])),
            this.alternatives(shown !== 'ok'), this.notes());
        this.pill.className = `pill v-${shown}`;
        replace(this.pill, `${shown === state ? icon : '!'} ${isContradiction ? 'No split'
            : `${head} · ${bytes(stage.need_bytes)} · ` +
                percentOfLimit(stage.need_bytes, stage.limit_bytes)}`);
    }

    // ", 2 stages each", where stages share IPUs
    sharing() {
        const { model, split: { stages } } = this.plan;
        const counts = new Set(stages.map((stage) => this.plan.together(stage).length));
        const [each] = counts;
        return !model.sharesIpus ? '' : counts.size > 1 ? `, ${stages.length} stages`
            : `, ${each} stages each`;
    }

    sizeText(stage) {
        const { plan } = this;
        const { need_bytes: need, limit_bytes: limit } = stage;
        const where = stage.ipu < 0 ? '' : named(` on IPU ${stage.ipu}`);
        const title = named('Fullest tile');
        const isMost = plan.model.needs.length < 2 || plan.settings.need === 'most';
        const rest = need > limit ? `: ${bytes(need - limit)} too much.` : isMost ? '.'
            : `; at most ${bytes(stage.most)}.`;
        return `${title}: ${ofLimit(need, limit)} (${percentOfLimit(need, limit)})${where}${rest}`;
    }

    proofText(broken, isContradiction) {
        const { plan } = this;
        const { best, split, model } = plan;
        if (isContradiction)
            return plan.answer.messages.map(({ text }) => text).join(' ');
        if (broken.length > 0)
            return `This plan breaks what is required: ${broken.join('; ')}`;
        const { answer } = Model.canEvaluate(model) ? plan : plan.page.data;
        const heads = Object.values(HEADS).map(([, , head]) => head);
        const messages = answer?.messages || []; // some of the profile may come before the answer's
        const told = messages.find(({ text }) => heads.some((head) => text.startsWith(head)));
        const text = (told || messages[0])?.text.replace(/^[^:]*?\.( |$)/, ''); // without its head
        if (!Model.canEvaluate(model))
            return (plan.isTold() && text) || plan.page.whyFixed();
        const isBest = plan.isBest();
        if (plan.answer.status !== 'optimal')
            return (isBest ? '' : `The best effort needs ${bytes(best.values.memory)}. `) + text;
        return isBest ? text : 'Not the best plan: below are the differences.';
    }

    // The outcome of each change, and a button that makes it.
    alternatives(isUrgent) {
        const { plan } = this;
        const rows = this.changes().map(([what, text, change], i) => [what, text,
            change === null ? '' : button('Show', () => plan.take(change, what),
                { 'aria-label': `Show: ${what.textContent ?? what}`,
                    class: i === 0 && isUrgent ? 'main' : null })]);
        return rows.length === 0 ? el('div') : el('div', { class: 'what-else' },
            smallTable('What else you could do', ['', '', ''], rows));
    }

    // Changes that would help: a text, what the command says of it, and settings or cuts, if the
    // page can make it.
    changes() {
        const { plan } = this;
        const { best, split, model, page: { data } } = plan;
        const other = (text, cuts) => [text, cuts === split.cuts ? '' : bytes(Model.evaluate(
            model, plan.settings, cuts).values.memory), cuts];
        const isOther = (own) => own && own.join() !== split.cuts.join();
        const canMove = Model.canEvaluate(model);
        return [...canMove && isOther(best?.cuts) ? [other('The best plan', best.cuts)] : [],
            ...canMove && isOther(data.plan) ? [other('The command’s plan', data.plan)] : [],
            ...(plan.hints || []).filter(({ option }) => !option.startsWith('--output page'))
                .map(({ option, text }) => [el('code', {}, option), text,
                    canMove ? Model.changeOf(model, plan.settings, option) : null])];
    }

    facts(stage) {
        const { plan } = this;
        const { split, model, model: { hasCycles }, page } = plan;
        const { peak } = stage;
        const [largest] = peak ? peak.largest_variables : [];
        const { step } = split.document.totals;
        const weakest = this.weakest();
        const { needs } = split.stages.find(({ verdict }) => verdict === weakest);
        return facts([
            !needs || needs.verdict_given === 0 ? null : [HEADS[weakest][2],
                `${grouped(needs.verdict_fitted)} of ${grouped(needs.verdict_given)} random ` +
                    'cases near the limit did fit'],
            ['Bottleneck', [stage.ipu < 0 ? '' : named(`IPU ${stage.ipu}, `), `layers ${listed(
                plan.together(stage).map(({ first, last }) => plan.range(first, last)))}`,
            !peak ? '' : [', ', page.tileLink(peak.tile, `tile ${grouped(peak.tile)}`,
                split.stages.indexOf(stage)), ' at ', page.stepLink(peak.step,
                `step ${grouped(peak.step)}`)]]],
            peak?.operation ? ['It runs', shorten(peak.operation)] : null,
            largest === undefined ? null : ['Largest variable',
                `${shorten(largest.name || '(no name)', 60)}, ${bytes(largest.size_bytes)}`],
            !hasCycles ? null : [named('Slowest IPU'), `${plan.place(Verdict.slowest(plan))}, ` +
                timeText(split.values.cycles)],
            !step || step.order === null ? null : [`Step of ${step.micro_batches} micro-batches`,
                `${timeText(step.cycles)}, ${(100 * step.idle_share).toFixed(1)
                } % waiting${step.third_assumed ? ', if a third is forward' : ''}`],
            ['Sent over the cuts', bytes(split.values.traffic)]]);
    }

    notes() {
        const { plan } = this;
        const { messages } = plan.page.data;
        const asked = plan.constraints();
        const numWarnings = messages.filter((it) => it.level !== 'info').length;
        const items = [...messages.map((it) => el('li', { class: it.level },
                it.level === 'info' ? null : el('strong', {}, `${it.level}: `), it.text)),
            ...asked.map((text) => el('li', {}, 'Best plans follow: ', el('code', {}, text))),
            plan.page.whyFixed() === '' ? null : el('li', {}, plan.page.whyFixed())]
            .filter((item) => item !== null);
        return items.length === 0 ? null : el('details', { class: 'notes',
            open: this.areNotesOpen, ontoggle: ({ target }) => {
                this.areNotesOpen = target.open;
            } }, el('summary', {}, el('span', { class: 'chip' }, several(items.length, 'note',
            'notes'), numWarnings === 0 ? '' : `, ${several(numWarnings, 'warning', 'warnings')}`),
        ' of the run that made this page'), el('ul', {}, items));
    }
}
