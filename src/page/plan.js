// ---- the plan -----------------------------------------------------------------------------------
// The chain with its cuts as handles, what the split on screen needs, and the best one.

const NEED_TEXTS = {
    most: 'low: what it needs at most',
    expected: 'expected',
    least: 'high: what it needs at least',
};
const OBJECTIVE_TEXTS = { memory: 'largest tile', cycles: 'slowest IPU', traffic: 'bytes cut',
    ipus: 'IPUs', balance: 'spread over the IPUs' };
const ORDERS = ['memory,traffic', 'memory,balance', 'memory,cycles', 'cycles,memory',
    'cycles,balance', 'cycles,traffic', 'traffic,memory', 'ipus,memory,traffic'];

// The same with its unit, unless its values have it.
function objectiveTitle(name, spreadIsOfCycles) {
    const isOfCycles = name === 'cycles' || (name === 'balance' && spreadIsOfCycles);
    return OBJECTIVE_TEXTS[name] + (isOfCycles ? ' (cycles)' : '');
}

function shownObjective(name, value, spreadIsOfCycles) {
    const isBytes = name === 'memory' || name === 'traffic' ||
        (name === 'balance' && !spreadIsOfCycles);
    return value === null ? '–' : isBytes ? bytes(value) : grouped(value);
}

// "a, b and c"
function listed(texts) {
    return texts.length < 2 ? texts.join('')
        : `${texts.slice(0, -1).join(', ')} and ${texts[texts.length - 1]}`;
}

class PlanView {
    constructor(page) {
        this.page = page;
        this.model = page.model;
        this.settings = Model.settingsOf(this.model);
        this.best = null;
        this.cuts = page.data.plan;
        this.chosenStage = 0;
        this.parts = {};
        for (const name of ['settings', 'chain', 'values', 'stages', 'stage', 'curve', 'front'])
            this.parts[name] = el('div', { class: name });
        this.status = el('p', { class: 'status', 'aria-live': 'polite' });
        this.shownText = el('code', { class: 'copied' });
        this.element = el('div', { class: 'plan' }, this.notes(), this.parts.settings,
            this.parts.chain, this.status, this.parts.values, this.parts.stages, this.parts.stage,
            el('div', { class: 'pair' }, this.parts.curve, this.parts.front), this.shownText);
        this.drawSettings();
        this.solve(this.cuts === null);
    }

    notes() {
        const { unknown } = this.model.wishes;
        const asked = this.constraints();
        return [
            this.messages(),
            asked.length === 0 ? null : el('details', { class: 'note', open: '' },
                el('summary', {}, Model.canSolve(this.model)
                    ? 'The best plans here keep to what the command was asked for'
                    : 'What the command was asked for'),
                el('ul', {}, asked.map((text) => el('li', {}, text)))),
            unknown.length === 0 ? null : el('p', { class: 'note' },
                'The command was also asked for ', listed(unknown), '. What an IPU needs is ' +
                'known here of the command\'s own plan alone; of other cuts only what each ' +
                'stage needs by itself. So this page looks for no plans: ask the command.'),
        ];
    }

    // What the log says of the plan that the page begins with, and of the profile.
    messages() {
        const { messages } = this.page.data;
        const isWarned = messages.some((it) => it.level !== 'info');
        return messages.length === 0 ? null : el('details', { class: isWarned
            ? 'note warned' : 'note', open: isWarned ? '' : null },
        el('summary', {}, 'What the command said'),
        el('ul', {}, messages.map((it) => el('li', { class: it.level },
            it.level === 'info' ? null : el('strong', {}, `${it.level}: `), it.text))));
    }

    // What the best plans keep to beside what can be set here, as texts.
    constraints() {
        const { wishes } = this.model;
        const result = [];
        // a place may have both, which leaves no split
        const behind = (bit) => wishes.cut_rules.map((_, unit) => unit).filter((unit) =>
            unit > 0 && (wishes.cut_rules[unit] & bit) !== 0).map((unit) => this.named(unit - 1));
        for (const [bit, text] of [[1, 'A cut behind'], [2, 'No cut behind']])
            if (behind(bit).length > 0)
                result.push(`${text} ${listed(behind(bit))}.`);
        if (wishes.is_calibrated)
            result.push('Needs are corrected by a calibration.');
        if (wishes.min_units > 1)
            result.push(`At least ${wishes.min_units} layers in a stage.`);
        if (wishes.max_units > 0)
            result.push(`At most ${wishes.max_units} layers in a stage.`);
        for (const [unit, ipu] of wishes.placements)
            result.push(`IPU ${ipu} for ${this.named(unit)}.`);
        if (wishes.device_map !== null)
            result.push(`${wishes.device_map.length} stages, on the IPUs ` +
                `${wishes.device_map.join(', ')}.`);
        for (const [ipu, limit] of wishes.ipu_limits)
            result.push(`At most ${bytes(limit)} on a tile of IPU ${ipu}.`);
        for (const [ipu, speed] of wishes.ipu_speeds)
            result.push(`IPU ${ipu} has ${speed / 1e6} times the usual speed.`);
        return result.concat(this.linkTexts());
    }

    linkTexts() {
        const { links } = this.model.wishes;
        const carries = ([amount, time]) =>
            `${Number((Number(amount) / Number(time)).toPrecision(6))} B in a cycle.`;
        return links === null ? [] : [
            ...(links.all[0] === '0' ? [] : [`A link carries ${carries(links.all)}`]),
            ...links.single.map(([first, second, ...bandwidth]) =>
                `The link of the IPUs ${first} and ${second} carries ${carries(bandwidth)}`),
        ];
    }

    label(unit) {
        return this.model.chain.labels[unit];
    }

    // The name within a sentence.
    named(unit) {
        const isLayer = this.model.wishes.counted[unit] === 1;
        return isLayer ? `layer ${this.label(unit)}` : this.label(unit);
    }

    range(first, last) {
        return first === last ? this.label(first) : `${this.label(first)} – ${this.label(last)}`;
    }

    // ---- what can be set ----

    drawSettings() {
        const { model, settings } = this;
        const number = (value, least, most, onChange, round = Math.floor) => {
            const input = el('input', { type: 'number', min: least, max: most, value,
                step: round === Math.floor ? 1 : 'any' });
            input.addEventListener('change', () => {
                const given = input.value === '' ? NaN : round(Number(input.value));
                input.value = Number.isFinite(given) ? Math.max(least, Math.min(most, given))
                    : value;
                onChange(Number(input.value));
                this.solve(false);
            });
            return input;
        };
        const map = model.wishes.device_map;
        const orders = ORDERS.filter((order) => model.hasCycles || !order.includes('cycles'));
        const own = settings.objectives.join(',');
        if (!orders.includes(own))
            orders.unshift(own);
        const pipelines = model.pipelines.map((p, i) => [i, [
            p.schedule === 'none' ? 'no pipeline' : p.schedule,
            p.copies_rule === null ? null : `copies: ${p.copies_rule}`,
            p.recompute === 'none' ? null : `recompute ${p.recompute}`,
        ].filter((text) => text !== null).join(', ')]);
        this.numIpus = number(settings.numIpus, Model.fewestIpus(model), 65536, (n) => {
            settings.numIpus = n;
        });
        replace(this.parts.settings,
            map !== null ? null : field('IPUs, at most', this.numIpus),
            field('Memory of a tile', number(settings.limit, 1, 2 ** 40, (n) => {
                settings.limit = n;
            }), 'B'),
            pipelines.length < 2 ? null : field('Schedule', choice(pipelines, settings.pipeline,
                (i) => {
                    settings.pipeline = Number(i);
                    this.solve(false);
                })),
            model.needs.length < 2 ? null : field('Risk', choice(['most', 'expected', 'least']
                .map((need) => [need, NEED_TEXTS[need]]), settings.need, (need) => {
                settings.need = need;
                this.solve(false);
            })),
            ...!Model.canSolve(model) ? [] : [field('Best by', choice(orders.map((order) => [order,
                order.split(',').map((name) => OBJECTIVE_TEXTS[name]).join(', then ')]), own,
            (order) => {
                settings.objectives = order.split(',');
                this.solve(false);
            })), field('Slack', number(settings.slack, 0, 1000000, (percent) => {
                settings.slack = percent;
            }, Number), '%')],
            el('span', { class: 'buttons' },
                Model.canSolve(model) ? [
                    button('Show the best plan', () => this.showBest(), { class: 'main' }),
                    button('Add a cut', () => this.addCut())]
                    : this.page.data.plan === null ? null
                    : button('Show the command\'s plan', () => this.setCuts(this.page.data.plan,
                        'The plan of the command.'), { class: 'main' }),
                this.page.data.words === null ? null : [
                    button('Copy as command', () => this.copy(Model.evaluateCommand(
                        this.page.data, model, settings, this.cuts))),
                    button('Copy the solving command', () => this.copy(Model.solveCommand(
                        this.page.data, model, settings)))],
                button('Copy as JSON', () => this.copy(Model.jsonText(Model.planJson(model,
                    settings, this.split))))));
    }

    copy(text) {
        copyText(text, this.shownText, this.status);
    }

    // Finds the best plan for what is set; `isShown`: it is put on screen, too.
    solve(isShown) {
        const most = this.model.pipelines[this.settings.pipeline].max_stages - 1;
        this.answer = Model.solve(this.model, this.settings);
        this.best = this.answer.split;
        if (this.cuts === null || isShown)
            this.cuts = this.best === null ? [] : [...this.best.cuts];
        this.cuts = this.cuts.slice(0, most);
        if (Model.canSolve(this.model)) {
            this.drawCurve();
            this.drawFront();
        }
        this.show();
    }

    showBest() {
        if (this.best === null)
            return;
        this.setCuts(this.best.cuts, 'The best plan.');
    }

    // ---- cuts ----

    setCuts(cuts, told) {
        this.cuts = [...new Set(cuts)].filter((unit) => unit > 0 && unit < this.model.numUnits)
            .sort((a, b) => a - b);
        this.chosenStage = Math.min(this.chosenStage, this.cuts.length);
        this.show();
        const { memory, ipus } = this.split.values;
        this.status.textContent = `${told} Largest tile: ` +
            `${memory === null ? 'not known' : bytes(memory)}, ${ipus} IPUs.`;
        if (this.page.onPlan)
            this.page.onPlan(this.split);
    }

    // The stage with most is cut in two where that leaves the least.
    addCut() {
        const most = this.model.pipelines[this.settings.pipeline].max_stages;
        let best = null;
        for (let unit = 1; unit < this.model.numUnits && this.cuts.length + 1 < most; unit++) {
            if (this.cuts.includes(unit) || this.rule(unit) === 'forbidden')
                continue;
            const cuts = [...this.cuts, unit].sort((a, b) => a - b);
            const { memory, traffic } = Model.evaluate(this.model, this.settings, cuts).values;
            if (best === null || memory < best.memory ||
                (memory === best.memory && traffic < best.traffic))
                best = { memory, traffic, cuts, unit };
        }
        if (best !== null)
            this.setCuts(best.cuts, `Cut behind ${this.label(best.unit - 1)}.`);
    }

    rule(unit) {
        return Model.cutRule(this.model, unit);
    }

    // Whether a cut must stay; says so.
    isFixed(i) {
        const isFixed = this.rule(this.cuts[i]) === 'required';
        if (isFixed)
            this.status.textContent = `Cut ${i + 1} has to be behind ` +
                `${this.label(this.cuts[i] - 1)}: the command was asked for it.`;
        return isFixed;
    }

    // As far towards the unit as cuts may be, or to the next place behind it.
    moveCut(i, unit) {
        const from = this.cuts[i];
        const low = i > 0 ? this.cuts[i - 1] + 1 : 1;
        const high = i + 1 < this.cuts.length ? this.cuts[i + 1] - 1 : this.model.numUnits - 1;
        let to = from;
        for (let place = low; place <= high; place++)
            if ((place - from) * (unit - from) > 0 && this.rule(place) !== 'forbidden' &&
                (to === from || Math.abs(place - unit) < Math.abs(to - unit)))
                to = place;
        if (to === from || this.isFixed(i))
            return;
        const cuts = [...this.cuts];
        cuts[i] = to;
        this.setCuts(cuts, `Cut ${i + 1} is behind ${this.label(to - 1)}.`);
        const handle = this.handles[i];
        if (handle)
            handle.focus();
    }

    removeCut(i) {
        if (this.isFixed(i))
            return;
        this.setCuts(this.cuts.filter((unit, k) => k !== i), `Cut ${i + 1} is gone.`);
        const handle = this.handles[Math.min(i, this.handles.length - 1)];
        if (handle)
            handle.focus();
    }

    onHandleKey(event, i) {
        const actions = {
            ArrowLeft: () => this.moveCut(i, this.cuts[i] - 1),
            ArrowRight: () => this.moveCut(i, this.cuts[i] + 1),
            ArrowDown: () => this.moveCut(i, this.cuts[i] - 1),
            ArrowUp: () => this.moveCut(i, this.cuts[i] + 1),
            Home: () => this.moveCut(i, 0),
            End: () => this.moveCut(i, this.model.numUnits),
            Delete: () => this.removeCut(i),
            Backspace: () => this.removeCut(i),
        };
        if (!actions[event.key])
            return;
        event.preventDefault();
        actions[event.key]();
    }

    // Follows the pointer until it is let go.
    drag(event, i) {
        event.preventDefault();
        const onMove = (moved) => {
            const box = this.strip.getBoundingClientRect();
            const share = (moved.clientX - box.left) / box.width;
            this.moveCut(i, Math.round(share * this.model.numUnits));
        };
        const onUp = () => {
            document.removeEventListener('pointermove', onMove);
            document.removeEventListener('pointerup', onUp);
        };
        document.addEventListener('pointermove', onMove);
        document.addEventListener('pointerup', onUp);
        this.handles[i].focus();
    }

    // ---- drawing ----

    show() {
        this.split = Model.evaluate(this.model, this.settings, this.cuts);
        this.drawChain();
        this.drawValues();
        this.drawStages();
        this.drawStage();
    }

    drawChain() {
        const n = this.model.numUnits;
        const { stages } = this.split;
        const percent = (unit) => `${unit / n * 100}%`;
        const strip = el('div', { class: 'strip', role: 'group',
            'aria-label': 'The chain of layers with its cuts' });
        this.strip = strip;
        stages.forEach((stage, i) => {
            const share = Math.min(1, stage.need_bytes / stage.limit_bytes);
            const block = el('button', { type: 'button', class: `block ${i % 2 ? 'odd' : 'even'}` +
                `${stage.fits === false ? ' over' : ''}${i === this.chosenStage ? ' current' : ''}`,
                'aria-pressed': String(i === this.chosenStage),
                title: `${this.range(stage.first, stage.last)}: ${stage.verdict}`,
                onclick: () => this.chooseStage(i) });
            block.style.left = percent(stage.first);
            block.style.width = percent(stage.last - stage.first + 1);
            const fillShape = el('span', { class: 'fill' });
            fillShape.style.height = `${share * 100}%`;
            block.append(fillShape, el('span', { class: 'name' },
                el('span', { class: 'hidden' }, 'Stage '), `${i} `),
                el('span', { class: 'need' }, bytes(stage.need_bytes)));
            strip.append(block);
        });
        const bestCuts = this.best === null ? [] : this.best.cuts;
        for (let unit = 1; unit < n; unit++) {
            if (bestCuts.includes(unit)) {
                const mark = el('span', { class: 'best-mark', 'aria-hidden': 'true',
                    title: 'a cut of the best plan' });
                mark.style.left = percent(unit);
                strip.append(mark);
            }
            if (this.rule(unit) === 'forbidden') {
                const mark = el('span', { class: 'forbidden',
                    title: `No cut may be behind ${this.label(unit - 1)}` });
                mark.style.left = percent(unit);
                strip.append(mark);
                continue;
            }
            if (this.cuts.includes(unit))
                continue;
            const gap = button('', () => this.setCuts([...this.cuts, unit],
                `Cut behind ${this.label(unit - 1)}.`), { class: 'gap', tabindex: '-1',
                'aria-label': `Cut behind ${this.label(unit - 1)}`,
                title: `Cut behind ${this.label(unit - 1)}` });
            gap.style.left = percent(unit);
            strip.append(gap);
        }
        this.handles = this.cuts.map((unit, i) => {
            const text = `Cut ${i + 1}, behind ${this.label(unit - 1)}`;
            const rule = this.rule(unit);
            const handle = el('div', { class: `handle ${rule}`, role: 'slider', tabindex: '0',
                'aria-label': `Cut ${i + 1}`, 'aria-valuemin': 1, 'aria-valuemax': n - 1,
                'aria-valuenow': unit, 'aria-valuetext': `behind ${this.label(unit - 1)}` +
                    `${rule === 'required' ? ', where it has to be' : ''}` +
                    `${rule === 'forbidden' ? ', where it may not be' : ''}`,
                'aria-disabled': rule === 'required' ? 'true' : null,
                title: rule === 'required' ? `${text}: it has to be there`
                    : `${text}: drag, arrows, or Delete`,
                onkeydown: (event) => this.onHandleKey(event, i),
                ondblclick: () => this.removeCut(i),
                onpointerdown: (event) => this.drag(event, i) });
            handle.style.left = percent(unit);
            strip.append(handle);
            return handle;
        });
        const labels = el('div', { class: 'labels', 'aria-hidden': 'true' });
        this.model.chain.labels.forEach((label) => labels.append(el('span', { title: label },
            label.length > 7 ? `…${label.slice(-6)}` : label)));
        const inner = el('div', { class: 'inner' }, strip, labels);
        inner.style.minWidth = `${n * 1.9}rem`;
        const scrolled = this.parts.chain.firstChild ? this.parts.chain.firstChild.scrollLeft : 0;
        const outer = el('div', { class: 'scroll', tabindex: '0', role: 'region',
            'aria-label': 'Chain' }, inner);
        replace(this.parts.chain, outer);
        outer.scrollLeft = scrolled;
    }

    drawValues() {
        const { best, split } = this;
        const names = Model.OBJECTIVES.filter((name) => split.values[name] !== null);
        const isBest = best !== null && best.cuts.join() === split.cuts.join();
        const word = this.answer.status === 'optimal' ? 'Best plan' : 'Best effort';
        const count = (fits) => split.stages.filter((stage) => stage.fits === fits).length;
        const over = count(false);
        const unknown = count(null);
        const one = (number, singular, plural) => `${number} of ${split.stages.length} stages ` +
            `${number === 1 ? singular : plural}`;
        const verdict = [over === 0 ? null : `${one(over, 'does', 'do')} not fit.`,
            unknown === 0 ? null : `${one(unknown, 'is', 'are')} not known to fit: ` +
                (split.stages.every((s) => s.is_known)
                    ? 'the profile has the layers on several IPUs.'
                    : 'nothing here tells what stages on one IPU need together.'),
            over + unknown === 0 ? 'Every stage fits.' : null]
            .filter((text) => text !== null).join(' ');
        const isOfCycles = Model.spreadIsOfCycles(Model.objectivesOf(this.model, this.settings));
        const broken = Model.broken(this.model, this.settings, this.cuts);
        const answer = !Model.canSolve(this.model) ? ''
            : best === null ? 'No split is possible with these constraints.'
            : isBest ? `${word}: this is it.`
            : this.answer.status === 'optimal' ? 'The best plan is another one.'
            : 'No split fits on so many IPUs; the best effort is another one.';
        replace(this.parts.values, el('p', { class: over > 0 ? 'verdict over'
            : unknown > 0 || broken.length > 0 ? 'verdict unknown' : 'verdict' },
        verdict, ' ', answer),
        broken.length === 0 ? null : el('p', { class: 'verdict over' },
            `It breaks what the command was asked for: ${broken.join('; ')}.`),
        !Model.canSolve(this.model) ? smallTable('The plan on screen', [['', false],
            ['on screen', true]], names.map((name) => [objectiveTitle(name, isOfCycles),
            shownObjective(name, split.values[name], isOfCycles)]))
            : smallTable('The plan on screen and the best one', [['', false], ['on screen', true],
            [word.toLowerCase(), true], ['difference', true]],
        names.map((name) => {
            const show = (value) => shownObjective(name, value, isOfCycles);
            return [objectiveTitle(name, isOfCycles), show(split.values[name]),
                best === null ? '–' : show(best.values[name]),
                best === null ? '–'
                    : difference(split.values[name] - best.values[name], show)];
        })));
    }

    drawStages() {
        const bar = (stage) => {
            const width = Math.min(100, stage.need_bytes / stage.limit_bytes * 100);
            const isOver = stage.fits === false;
            return svg('svg', { class: isOver ? 'bar over' : 'bar', viewBox: '0 0 100 10',
                preserveAspectRatio: 'none', 'aria-hidden': 'true' },
            svg('rect', { class: 'room', width: 100, height: 10 }),
            svg('rect', { class: 'used', width, height: 10 }));
        };
        const columns = [['stage', true], ['layers', false], ['need', true], ['of limit', true],
            ['', false], ['headroom', true], ['verdict', false], ['tile', true], ['step', true],
            ['cycles', true], ['cut behind', true], ['all tiles', true]];
        replace(this.parts.stages, smallTable('Stages', columns, this.split.stages.map((s, i) => ({
            attributes: { class: i === this.chosenStage ? 'current' : null },
            cells: [
                button(String(i), () => this.chooseStage(i), { class: 'link',
                    'aria-label': `${i}: details of this stage` }),
                this.range(s.first, s.last), bytes(s.need_bytes),
                `${(s.need_bytes / s.limit_bytes * 100).toFixed(1)} %`, bar(s),
                bytes(s.headroom_bytes), s.verdict, grouped(s.tile), grouped(s.step),
                grouped(s.cycles),
                s.last + 1 < this.model.numUnits ? bytes(s.cut_bytes) : '–', bytes(s.total_bytes),
            ],
        }))));
    }

    chooseStage(i) {
        this.chosenStage = i;
        this.drawChain();
        this.drawStages();
        this.drawStage();
    }

    drawStage() {
        const s = this.split.stages[this.chosenStage];
        const parts = this.model.parts.filter(({ name }) => s.mem[name] !== 0);
        const atStep = this.page.operationAt(s.step);
        replace(this.parts.stage,
            el('h3', {}, `Stage ${this.chosenStage}: ${this.range(s.first, s.last)}`),
            facts([
                s.ipu === this.chosenStage && Model.canSolve(this.model) ? null
                    : ['IPU', s.ipu < 0 ? 'none of the map' : s.ipu],
                ['verdict', s.verdict],
                s.limit_bytes === this.settings.limit ? null
                    : ['limit', `${grouped(s.limit_bytes)} B`],
                this.model.needs.length < 2 ? null
                    : ['at least', `${grouped(s.needs.least)} B`],
                ['expected', `${grouped(s.needs.expected)} B`],
                this.model.needs.length < 2 ? null : ['at most', `${grouped(s.needs.most)} B`],
                ['to spare', `${s.margin_spreads.toFixed(1)} spreads of 3.4 %`],
                ['worst tile', button(grouped(s.tile), () => this.page.showTile(s.tile),
                    { class: 'link' })],
                ['at step', button(grouped(s.step), () => this.page.showStep(s.step),
                    { class: 'link' })],
                atStep === null ? null : ['operation', shorten(atStep)],
                ['parameters', bytes(s.parameter_bytes)],
            ]),
            el('div', { class: 'pair' },
                smallTable(`Over all tiles${s.is_alone ? '' : ', this stage alone'}` +
                    (this.model.wishes.is_calibrated ? ', without the correction' : ''),
                [['part', false], ['bytes', true], ['share', true]],
                    parts.map(({ name, text }) => [text, grouped(s.mem[name]),
                        `${(s.mem[name] / s.parts_bytes * 100).toFixed(1)} %`])),
                smallTable(`Largest variables on tile ${s.tile} at step ${s.step}`,
                    [['bytes', true], ['category', false], ['name', false]],
                    s.variables.map((v) => [grouped(v.size_bytes), v.category,
                        el('span', { title: v.name.slice(0, 2000) },
                            shorten(v.name || '(no name)'))]))));
    }

    // ---- what else could be ----

    drawCurve() {
        const curve = Model.curve(this.model, this.settings);
        const possible = curve.map((value, i) => ({ ipus: i + 1, value }))
            .filter((point) => !Number.isNaN(point.value))
            .slice(0, Math.max(16, this.settings.numIpus));
        const most = Math.max(this.settings.limit, ...possible.map((point) => point.value));
        const width = 480;
        const height = 160;
        const each = (width - 10) / Math.max(1, possible.length);
        const y = (value) => 10 + (height - 30) * (1 - value / most);
        const bars = possible.map((point, i) => svg('g', { class: point.value <=
            this.settings.limit ? 'column' : 'column over' },
        svg('rect', { x: 5 + i * each + 1, y: y(point.value), width: Math.max(1, each - 2),
            height: height - 20 - y(point.value) }, svg('title', {},
            `${point.ipus} IPUs: ${bytes(point.value)}`)),
        each > 14 ? svg('text', { x: 5 + (i + 0.5) * each, y: height - 6, class: 'tick middle' },
            String(point.ipus)) : null));
        const table = smallTable('Best largest tile by number of IPUs', [['IPUs', true],
            ['largest tile', true], ['', false]], possible.map((point) => ({
            attributes: { class: point.ipus === this.settings.numIpus ? 'current' : null },
            cells: [String(point.ipus), bytes(point.value),
                this.model.wishes.device_map !== null ? ''
                    : button('use', () => this.useIpus(point.ipus), { class: 'link',
                        'aria-label': `use at most ${point.ipus} IPUs` })],
        })));
        replace(this.parts.curve, el('h3', {}, 'More IPUs, less memory'),
            svg('svg', { class: 'small', viewBox: `0 0 ${width} ${height}`, role: 'img',
                'aria-label': 'Best largest tile by number of IPUs; the table has the numbers' },
            bars, svg('line', { x1: 0, x2: width, y1: y(this.settings.limit),
                y2: y(this.settings.limit), class: 'limit' })), table);
    }

    useIpus(ipus) {
        this.settings.numIpus = Math.max(ipus, Model.fewestIpus(this.model));
        this.numIpus.value = this.settings.numIpus;
        this.solve(true);
    }

    drawFront() {
        const second = this.model.hasCycles ? 'cycles' : 'traffic';
        const points = Model.pareto(this.model, this.settings, ['memory', second]);
        replace(this.parts.front, el('h3', {}, this.model.hasCycles ? 'Memory against cycles'
            : 'Memory against traffic'),
        points.length === 0 ? el('p', {}, 'No split fits.') : [this.scatter(points, second),
            smallTable('All best compromises within the limit', [['largest tile', true],
                [objectiveTitle(second), true], ['IPUs', true], ['', false]],
            points.map((point) => [bytes(point.values.memory),
                shownObjective(second, point.values[second]), String(point.values.ipus),
                button('show', () => this.setCuts(point.cuts, 'This compromise.'),
                    { class: 'link', 'aria-label':
                        `show the plan with ${bytes(point.values.memory)}` })]))]);
    }

    scatter(points, second) {
        const width = 480;
        const height = 160;
        const range = (name) => {
            const values = points.map((point) => point.values[name]);
            const low = Math.min(...values);
            return { low, size: Math.max(...values) - low || 1 };
        };
        const xs = range(second);
        const ys = range('memory');
        return svg('svg', { class: 'small', viewBox: `0 0 ${width} ${height}`, role: 'img',
            'aria-label': `Best compromises of memory and ${second}; the table has the numbers` },
        svg('text', { x: width - 4, y: height - 4, class: 'tick end' },
            `${objectiveTitle(second)} →`),
        svg('text', { x: 4, y: 12, class: 'tick' }, '↑ largest tile'),
        points.map((point) => svg('circle', { class: 'point',
            cx: 12 + (point.values[second] - xs.low) / xs.size * (width - 24),
            cy: height - 24 - (point.values.memory - ys.low) / ys.size * (height - 44), r: 5,
            onclick: () => this.setCuts(point.cuts, 'This compromise.') }, svg('title', {},
            `${bytes(point.values.memory)}, ${shownObjective(second, point.values[second])}`))));
    }
}
