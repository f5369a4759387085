// ---- the verdict --------------------------------------------------------------------------------
// The answer in five seconds: whether the plan fits, how close it is, what is proven, and what
// would help. Words and numbers come from the model; the page adds no estimate of its own.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const ICONS = { ok: '✓', doubt: '!', no: '✕', stop: '–' }; // by level

// The level of a stage.
const levelOf = (verdict) => ({ fits: 'ok', 'does not fit': 'no' })[verdict] ?? 'doubt';

// "208 KiB of 624 KiB", or without a limit "208 KiB"
const ofLimit = (number, limit) => limit === Infinity ? bytes(number)
    : bytes(number) !== bytes(limit) || number === limit ? `${bytes(number)} of ${bytes(limit)}`
        : `${grouped(number)} of ${grouped(limit)} B`;

// As the command rounds it: 100 % for the limit alone, and halves to even numbers.
function percentOfLimit(number, limit) {
    const share = number / limit * 100;
    const whole = share % 1 === 0.5 ? 2 * Math.round(share / 2) : Math.round(share);
    return limit === Infinity ? 'no limit' : `${Math[number < limit ? 'min' : 'max'](
        100 + Math.sign(number - limit), whole)}\u202f%`;
}

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

    draw() {
        const { plan, plan: { model, split } } = this;
        const isContradiction = plan.isContradiction();
        const broken = Model.broken(model, plan.settings, plan.cuts);
        const told = isContradiction || plan.isBest() ? plan.answer.verdict
            : split.document.verdict;
        // a profile in which the regex finds no layer cannot be split
        const hasNoLayers = !model.costs && model.numUnits < 2;
        const worst = split.stages[Verdict.fullest(split)];
        this.areNotesOpen ??= hasNoLayers || worst.verdict === 'is not known to fit';
        // a plan that breaks what is required, or that nothing is known of, is not green
        const level = isContradiction ? 'stop' : told.level === 'ok' && (broken.length > 0 ||
            hasNoLayers) ? 'doubt' : told.level;
        const [, head, why] = /^(.*?)(?:: (.*))?$/s.exec(told.headline); // why: in small letters
        const { need_bytes: need, limit_bytes: limit, ipu, most } = worst;
        const percent = percentOfLimit(need, limit);
        const rest = need > limit ? `: ${bytes(need - limit)} too much.`
            : model.needs.length < 2 || plan.settings.need === 'most' ? '.'
                : `; at most ${bytes(most)}.`;
        this.element.className = `card verdict v-${level}`;
        replace(this.element, el('div', {}, el('h3', { class: 'head' },
            el('span', { class: 'icon', 'aria-hidden': 'true' }, ICONS[level]),
            `${hasNoLayers ? 'No layers found. Unsplit: ' : ''}${head}${why ? '.' : ''}`),
        isContradiction ? null : el('p', { class: 'size' }, `${named('Fullest tile')}: ${
            ofLimit(need, limit)} (${percent})${ipu < 0 ? '' : named(` on IPU ${ipu}`)}${rest}`),
        el('p', { class: 'proof' }, why && `${why[0].toUpperCase()}${why.slice(1)} `,
            this.proofText(broken, isContradiction)),
        plan.hasNoPlan() ? facts([['Required', el('ul', {}, plan.constraints().map((text) =>
            el('li', {}, el('code', {}, text))))]]) : this.facts(!isContradiction && told.record)),
        this.alternatives(level !== 'ok'), this.notes());
        this.pill.className = `pill v-${level}`;
        replace(this.pill, `${ICONS[level]} ${isContradiction ? 'No split'
            : `${worst.verdict} on ${ipus(split.values.ipus)} · ${percent}`}`);
    }

    // The proof, or that the plan on screen is not the best one.
    proofText(broken, isContradiction) {
        const { plan, plan: { answer, best, model, split, page } } = this;
        if (broken.length > 0 && !plan.hasNoPlan())
            return `This plan breaks what is required: ${broken.join('; ')}`;
        if (!Model.canEvaluate(model))
            return split.document.verdict.proof || page.whyFixed();
        return isContradiction || plan.isBest() ? answer.verdict.proof
            : answer.status === 'optimal' ? 'Not the best plan.'
            : `The best effort needs ${bytes(best.values.memory)}. ${answer.verdict.proof}`;
    }

    // Other plans, each with what it needs, and what would help, in the words of the command; those
    // that the page can make have a button.
    alternatives(isUrgent) {
        const { plan, plan: { model, settings, split, page: { data } } } = this;
        const canMove = Model.canEvaluate(model);
        const others = !canMove ? [] : [['The best plan', plan.best?.cuts],
            ['The command’s plan', data.plan]].filter(([, cuts]) => cuts &&
            cuts.join() !== split.cuts.join()).map(([text, cuts]) => {
            const { memory, cycles } = Model.evaluate(model, settings, cuts).values;
            return [text, bytes(memory) + (model.hasCycles ? `; ${timeText(cycles)}` : ''), cuts];
        });
        const hints = (plan.hints || []).filter(({ option }) => !option.startsWith('--output page'))
            .map(({ option, text }) => [el('code', {}, option), text,
                canMove ? Model.changeOf(model, settings, option) : null]);
        const rows = [...others, ...hints].map(([what, text, change], i) => {
            const name = what.textContent ?? what;
            return [what, text, change === null ? '' : button('Show', () => Array.isArray(change)
                ? plan.setCuts(change, `${name}.`) : plan.set(change, true), {
                'aria-label': `Show: ${name}`, class: i === 0 && isUrgent ? 'main' : null })];
        });
        return rows.length === 0 ? el('div') : el('div', { class: 'what-else' },
            smallTable('What else you could do', ['', '', ''], rows));
    }

    facts(record) {
        const { plan, plan: { split, model, page } } = this;
        const { bottleneck, totals: { step }, objectives } = split.document;
        const { ipu, peak } = split.stages[bottleneck];
        return facts([record && ['Verdict', record],
        ['Bottleneck', [ipu < 0 ? '' : named(`IPU ${ipu}, `), `layers ${listed(
            plan.together(split.stages[bottleneck]).map((own) =>
                plan.range(own.first, own.last)))}`, !peak ? '' : [', ', page.tileLink(peak.tile,
            `tile ${grouped(peak.tile)}`, bottleneck), ' at ', page.stepLink(peak.step,
            `step ${grouped(peak.step)}`), peak.operation && ` in ${shorten(peak.operation)}`]]],
        model.hasCycles && [named('Slowest IPU'), `${plan.place(Verdict.slowest(plan))}, ` +
            timeText(split.values.cycles)],
        step?.order && [`Step of ${step.micro_batches} micro-batches`, `${timeText(step.cycles)}, ${
            (100 * step.idle_share).toFixed(1)} % waiting${
            step.third_assumed ? ', if a third is forward' : ''}`],
        ['Sent over the cuts', bytes(split.values.traffic)],
        ...objectives.map(({ name, value }, i) => ['balance', 'headroom', 'tokens']
            .includes(name) && [titleOf(name), objectiveWords[name].is_count ? grouped(value)
            : name === 'balance' && objectives.slice(0, i).some((own) => own.name === 'cycles')
                ? timeText(value) : bytes(value)])]);
    }

    notes() {
        const { plan: { page, page: { data: { messages } } } } = this;
        const numWarnings = messages.filter((it) => it.level !== 'info').length;
        const items = [...messages.map(({ level, text }) => [level === 'info' ? null
            : el('strong', {}, `${level}: `), text]),
        ...this.plan.constraints().map((text) => ['Best plans follow: ', el('code', {}, text)]),
        page.whyFixed()].filter((item) => item !== '');
        return items.length === 0 ? null : el('details', { class: 'notes',
            open: this.areNotesOpen, ontoggle: ({ target }) => {
                this.areNotesOpen = target.open;
            } }, el('summary', {}, el('span', { class: 'chip' }, several(items.length, 'note',
            'notes'), numWarnings === 0 ? '' : `, ${several(numWarnings, 'warning', 'warnings')}`),
        ' of the run that made this page'), el('ul', {}, items.map((item) => el('li', {}, item))));
    }
}
