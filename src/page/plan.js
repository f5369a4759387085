// ---- the plan -----------------------------------------------------------------------------------
// The chain with its cuts as handles, what the split on screen needs, and the best one.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const NEED_TEXTS = { most: 'at most', expected: 'expected', least: 'at least' };
const ORDERS = ('memory,traffic memory,balance memory,cycles cycles,memory cycles,balance ' +
    'cycles,traffic traffic,memory ipus,memory,traffic headroom,traffic ' +
    'tokens step').split(' ');

// Whether an objective is a time.
const isTime = (name, spreadIsOfCycles) => ['cycles', 'step'].includes(name) ||
    (name === 'balance' && spreadIsOfCycles);

const titleOf = (name) => named(objectiveWords[name].title);

// Adds the unit, unless the values have it.
function objectiveTitle(name, spreadIsOfCycles) {
    return titleOf(name) + (isTime(name, spreadIsOfCycles) ? ` (${timeUnit()})` : '');
}

function shownObjective(name, value, spreadIsOfCycles) {
    return (value ?? null) === null ? '–' : objectiveWords[name].is_count ? grouped(value)
        : isTime(name, spreadIsOfCycles) ? shownTime(value) : bytes(value);
}

// "a, b and c"
function listed(texts) {
    return texts.length < 2 ? texts.join('')
        : `${texts.slice(0, -1).join(', ')} and ${texts[texts.length - 1]}`;
}

// Names without the beginning and the end that those of all numbered layers share.
function shortNames(labels, counted) {
    const isLayer = labels.map((name, unit) => counted[unit] === 1 && /\d/.test(name));
    const layers = labels.filter((_, unit) => isLayer[unit]);
    const [one] = layers;
    if (layers.length < 2 || Math.max(...layers.map((name) => name.length)) <= MOST_NAME)
        return labels;
    let [begin, end] = [one, one]; // as far as all have them
    while (!layers.every((name) => name.startsWith(begin)))
        begin = begin.slice(0, -1);
    while (!layers.every((name) => name.endsWith(end)))
        end = end.slice(1);
    [begin, end] = [begin.replace(/\d+$/, ''), end.replace(/^\d+/, '')];
    return labels.map((name, unit) => !isLayer[unit] ? name
        : name.slice(begin.length, name.length - end.length));
}

// Facts of a stage that stand elsewhere, or under another name.
const OWN_FACTS = /^(first|last|least|expected|most|(unit|layer|verdict)_.*)$/;
const factTitle = (name) => name === 'cycles' ? timeUnit() : named(columnTitle(name));
const MOST_BYTES = 2 ** 52; // of a limit
const MOST_NAME = 12; // characters of a layer's name that is shown in full
const FRONT_DELAY_MS = 120;

// "638976", "624 KiB", "600KB" as bytes; NaN for anything else.
function readSize(text) {
    const found = /^\s*([\d.]+)\s*(?:(k|m|g|t)(i?)b?|b)?\s*$/i.exec(text.replace(/,/g, ''));
    if (found === null)
        return NaN;
    const power = found[2] === undefined ? 0 : 'kmgt'.indexOf(found[2].toLowerCase()) + 1;
    return Math.round(Number(found[1]) * (found[3] ? 1024 : 1000) ** power);
}

const readNumber = (text) => text.trim() === '' ? NaN : Number(text);

// The shortest text that readSize takes for so many bytes; none for no limit.
function sizeText(number) {
    const [unit, size] = [['GB', 1e9], ['KiB', 1024], ['MB', 1e6], ['KB', 1e3], ['B', 1]].find(
        ([, of]) => number % of === 0) || [];
    return number === Infinity ? '' : `${number / size} ${unit}`;
}

// A bar of a table, red above a limit.
const shareBar = (own, most, isOver) => smallBar(isOver ? 'bar over' : 'bar', 100,
    ['room', 0, 100], ['used', 0, Math.min(100, own / most * 100)]);

class PlanView {
    constructor(page) {
        this.page = page;
        this.model = page.model;
        this.settings = Model.settingsOf(this.model);
        this.names = shortNames(this.model.chain.labels, this.model.wishes.counted || []);
        this.best = null;
        this.second = this.model.hasCycles ? 'cycles' : 'traffic'; // of the front
        this.cuts = page.data.plan;
        this.chosenStage = null; // the bottleneck, until one is chosen
        this.parts = {};
        this.buttons = el('span', { class: 'buttons' }, !Model.canEvaluate(this.model) ? null : [
            button('Add a cut', () => this.addCut()), button('Best plan', () => this.showBest())]);
        for (const name of ['settings', 'stages', 'stage', 'curve', 'front', 'layers', 'passes'])
            this.parts[name] = el('div', { class: `${name}${name === 'settings' ? '' : ' card'}` });
        this.verdict = new Verdict(this);
        this.chain = new ChainView(this);
        this.status = el('p', { class: 'status', 'aria-live': 'polite' },
            `${this.model.needs.length > 1 ? 'I: from at least to at most. ' : ''}▲: cuts of the ` +
            'best plan. The darker a layer below its name, the more it needs alone.');
        this.shownText = el('code', { class: 'copied' });
        this.element = el('div', { class: 'plan' }, this.verdict.element,
            el('div', { class: 'card' }, el('div', { class: 'controls' }, this.parts.settings,
                this.chain.buttons), this.chain.element,
                saveButtons('Stages', () => this.chain.picture, () => this.rows()),
                this.status),
            el('div', { class: 'thirds' }, this.parts.stages, this.parts.curve, this.parts.front),
            this.parts.stage, this.parts.passes, this.parts.layers, this.shownText);
        this.passes = new Passes(this);
        this.parts.passes.append(this.passes.holder);
        this.drawSettings();
        if (!this.model.costs)
            this.drawLayers();
        this.solve(this.cuts === null);
    }

    // Options of the command that the best plans follow and that cannot be set here.
    constraints() {
        const words = this.page.data.words === null ? ''
            : Model.constraintWords(this.page.data, this.model, this.settings);
        return words === '' ? [] : words.split(/ (?=--)/);
    }

    // "IPU 2", or what stands for it on a map.
    place(i) {
        const { ipu } = this.split.stages[i];
        return ipu < 0 ? `stage ${i}` : `${named('IPU')} ${ipu}`;
    }

    // The peak if a cut were one place further to the left or to the right, a line each.
    neighbours(i) {
        const { need_bytes: own } = this.split.stages[Verdict.fullest(this.split)];
        return this.stays(this.cuts[i]) ? [] : [['←', -1], ['→', 1]].map(([arrow, by]) => {
            const cuts = this.cuts.map((unit, k) => k === i ? unit + by : unit);
            if (cuts[i] === (cuts[i - 1] || 0) || cuts[i] === (cuts[i + 1] ||
                this.model.numUnits) || this.rule(cuts[i]) !== 'free')
                return null;
            const { memory } = Model.evaluate(this.model, this.settings, cuts).values;
            return `${arrow} after ${this.names[cuts[i] - 1]}: ` +
                `${bytes(memory)}, ${difference(memory - own, bytes)}`;
        }).filter((line) => line !== null);
    }

    range(first, last, names = this.names) {
        return first === last ? names[first] : `${names[first]} – ${names[last]}`;
    }

    // ---- what can be set ----

    // The part of the address that is the plan's.
    snapshot() {
        return { ...this.settings, cuts: this.cuts };
    }

    restore({ cuts, ...settings }) {
        this.settings = settings;
        this.cuts = cuts;
        this.drawSettings();
        this.solve(false);
    }

    // Whether the best plan is on screen.
    isBest() {
        return this.best !== null && this.best.cuts.join() === this.cuts.join();
    }

    // Changes settings; `isShown`: the best plan for them is put on screen, which stays the best
    // one if it is.
    set(settings, isShown = this.isBest()) {
        this.settings = { ...this.settings, ...settings };
        this.drawSettings();
        this.solve(isShown);
    }

    // A field for a setting that is a number.
    numberField(name, value, least, most, read) {
        return el('input', { type: 'text', inputmode: 'numeric', value, placeholder: '–',
            onchange: ({ target }) => {
                const given = read(target.value);
                if (!Number.isNaN(given))
                    return this.set({ [name]: Math.max(least, Math.min(most, given)) });
                target.value = value;
                this.status.textContent = 'That is no number that can be used here.';
            } });
    }

    drawSettings() {
        const { model, settings } = this;
        const map = model.wishes.device_map;
        isDecimal = settings.limit < Infinity ? /[KMG]B$/.test(sizeText(settings.limit))
            : Model.aloneBytes(model, settings).every((own) => own % 1000 === 0);
        if (!Model.canEvaluate(model))
            return;
        const orders = ORDERS.filter((order) => (model.hasCycles ||
            !order.includes('cycles')) && (!order.includes('step') ||
            model.pipelines[settings.pipeline].micro_batches) &&
            (order !== 'tokens' || model.chain.kv));
        const own = settings.objectives.join(',');
        if (!orders.includes(own))
            orders.unshift(own);
        const fewest = Model.fewestIpus(model);
        const setIpus = (n) => this.set({ numIpus: Math.max(fewest, Math.min(65536, n)) });
        const needs = ['expected', 'most', 'least'].filter((need) => need !== 'least' ||
            settings.need === 'least');
        replace(this.parts.settings,
            map !== null ? null : el('span', { class: 'field stepper' },
                field(named('IPUs, at most'), this.numberField('numIpus', settings.numIpus,
                    fewest, 65536, (text) => Math.floor(readNumber(text)))),
                [['−', -1, 'One IPU fewer'], ['+', 1, 'One IPU more']].map(([sign, more, label]) =>
                    button(sign, () => setIpus(settings.numIpus + more),
                        { 'aria-label': named(label) }))),
            field(named('Memory of a tile'), this.numberField('limit',
                sizeText(settings.limit), 1, Infinity, (text) => model.costs && text.trim() === ''
                    ? Infinity : Math.min(MOST_BYTES, readSize(text)))),
            model.needs.length < 2 ? null : el('span', { class: 'field' },
                el('span', {}, 'Count on'), choices('Count on', needs.map((need) =>
                    [need, NEED_TEXTS[need]]), settings.need, (need) => this.set({ need }))),
            field('Best by', choice(orders.map((order) => [order,
                order.split(',').map((name) => titleOf(name)).join(', ')]), own,
            (order) => this.set({ objectives: order.split(',') }))),
            this.moreSettings());
    }

    // Settings that are changed more rarely.
    moreSettings() {
        const { model, settings } = this;
        const pipelines = model.pipelines.map((p, i) => [i, [
            p.schedule === 'none' ? 'no pipeline' : p.schedule,
            p.copies_rule === null ? null : `copies: ${p.copies_rule}`,
            p.recompute === 'none' ? null : `recompute ${p.recompute}`,
        ].filter((text) => text !== null).join(', ')]);
        return el('details', { class: 'more', open: this.isMoreOpen, ontoggle: ({ target }) => {
            this.isMoreOpen = target.open;
        } }, el('summary', {}, 'More'), pipelines.length < 2 ? null : field('Schedule', choice(
            pipelines, settings.pipeline, (i) => this.set({ pipeline: Number(i) }))),
        field('Slack', this.numberField('slack', settings.slack, 0, 1000000, readNumber), '%'));
    }

    // Finds the best plan for what is set; `isShown`: it is also put on screen.
    solve(isShown) {
        const most = this.model.pipelines[this.settings.pipeline].max_stages - 1;
        this.answer = Model.solve(this.model, this.settings);
        this.best = this.answer.split;
        this.bestName = this.answer.status === 'infeasible' ? 'best effort' : 'best plan';
        if (this.cuts === null || isShown) {
            this.cuts = this.best === null ? [] : [...this.best.cuts];
            this.chosenStage = null;
        }
        this.cuts = this.cuts.slice(0, most);
        const hasCurve = this.best !== null || this.answer.why !== null;
        this.curve = hasCurve ? Model.curve(this.model, this.settings) : [];
        this.front = [];
        this.hints = null;
        this.show();
        clearTimeout(this.later); // the front takes most of the time, so a change is seen before it
        this.later = setTimeout(() => {
            this.hints = Model.hints(this.model, this.settings);
            if (hasCurve) {
                this.front = Model.pareto(this.model, this.settings, ['memory', this.second]);
                this.drawFront();
            }
            this.verdict.draw();
        }, FRONT_DELAY_MS);
        afterPaint(() => this.drawCurve());
    }

    // Puts the outcome of a change on screen.
    take(change, text) {
        if (Array.isArray(change))
            this.setCuts(change, `${text}.`);
        else
            this.set(change, true);
    }

    showBest() {
        if (this.best !== null)
            this.setCuts(this.best.cuts, 'The best plan.');
    }

    isContradiction() {
        return this.answer.status === 'infeasible' && this.best === null;
    }

    // Whether there is no split, and none was made by hand.
    hasNoPlan() {
        return this.isContradiction() && this.cuts.length === 0;
    }

    // The stages on the IPU of one of them.
    together(stage) {
        return this.split.stages.filter((other) => other === stage ||
            (stage.ipu >= 0 && other.ipu === stage.ipu));
    }

    // Whether the plan on screen is that of the command.
    isTold() {
        return this.page.data.plan !== null && this.page.data.plan.join() === this.cuts.join();
    }

    // ---- cuts ----

    setCuts(cuts, told) {
        const why = this.page.whyFixed();
        if (why !== '') {
            this.status.textContent = why;
            return;
        }
        this.cuts = [...new Set(cuts)].filter((unit) => unit > 0 && unit < this.model.numUnits)
            .sort((a, b) => a - b);
        this.chosenStage = null;
        this.show();
        const { memory, ipus: used } = this.split.values;
        this.status.textContent = `${told} ${named('Fullest tile')}: ` +
            `${bytes(memory)}, ${ipus(used)}.`;
    }

    // A stage is cut in two where that leaves the least.
    addCut() {
        const more = Model.anotherCut(this.model, this.settings, this.cuts);
        if (more === null)
            this.status.textContent = 'No further cut is possible.';
        else
            this.setCuts(more, `Cut after ${this.names[more.find((unit) =>
                !this.cuts.includes(unit)) - 1]}.`);
    }

    rule(unit) {
        return ['free', 'required'][this.model.wishes.cut_rules[unit]] || 'forbidden';
    }

    // Whether a cut there must stay, as the command requires it or the page cannot evaluate.
    stays(unit) {
        return this.rule(unit) === 'required' || !Model.canEvaluate(this.model);
    }

    // Whether a cut is required; says so.
    isFixed(i) {
        const isFixed = this.rule(this.cuts[i]) === 'required';
        if (isFixed)
            this.status.textContent = `Cut ${i + 1} has to stay after ` +
                `${this.names[this.cuts[i] - 1]}: the command requires it.`;
        return isFixed;
    }

    // As far towards the unit as cuts may be, or to the next place beyond it.
    moveCut(i, unit) {
        const from = this.cuts[i];
        const low = i > 0 ? this.cuts[i - 1] + 1 : 1;
        const high = i + 1 < this.cuts.length ? this.cuts[i + 1] - 1 : this.model.numUnits - 1;
        const [to] = Array.from({ length: high - low + 1 }, (_, k) => low + k).filter((place) =>
            (place - from) * (unit - from) > 0 && this.rule(place) !== 'forbidden')
            .sort((a, b) => Math.abs(a - unit) - Math.abs(b - unit));
        if (to === undefined || this.isFixed(i))
            return;
        const cuts = [...this.cuts];
        cuts[i] = to;
        this.setCuts(cuts, `Cut ${i + 1} is after ${this.names[to - 1]}.`);
        this.chain.focus(i);
    }

    removeCut(i) {
        if (this.isFixed(i))
            return;
        this.setCuts(this.cuts.filter((unit, k) => k !== i), `Cut ${i + 1} is gone.`);
        this.chain.focus(Math.min(i, this.cuts.length - 1));
    }

    onHandleKey(event, i) {
        const { numUnits } = this.model;
        const step = { PageDown: -5, PageUp: 5, Home: -numUnits, End: numUnits,
            ...ARROWS }[event.key];
        if (step !== undefined)
            this.moveCut(i, this.cuts[i] + step);
        else if (event.key === 'Delete' || event.key === 'Backspace')
            this.removeCut(i);
        else
            return;
        event.preventDefault();
    }

    // ---- drawing ----

    show() {
        this.split = Model.evaluate(this.model, this.settings, this.cuts);
        this.chosenStage = this.chosenStage === null ? this.split.document.bottleneck
            : Math.min(this.chosenStage, this.cuts.length);
        this.chain.draw();
        this.verdict.draw();
        this.isWaiting = true;
        afterPaint(() => this.finish());
    }

    // Draws what waits until the chain and the verdict are painted.
    finish() {
        if (!this.isWaiting)
            return;
        this.isWaiting = false;
        this.drawStages();
        this.drawStage();
        this.passes.set();
        this.parts.passes.hidden = this.passes.holder.childElementCount === 0;
        if (this.front.length > 0) // with the plan on screen
            this.drawFront();
        this.page.onPlan(this.split);
    }

    // The values of the plan on screen next to those of the best one.
    valuesTable() {
        const { best, split } = this;
        const names = Model.OBJECTIVES.filter((name) => (split.values[name] ?? null) !== null);
        const order = this.settings.objectives; // a spread is of what comes before it
        const isOfCycles = order.includes('cycles') &&
            order.indexOf('cycles') < order.indexOf('balance');
        const show = (name, value) => shownObjective(name, value, isOfCycles);
        const most = Model.canEvaluate(this.model) ? 4 : 2; // columns
        const other = best === null ? {} : best.values;
        return smallTable(`The plan on screen${most === 2 ? '' : ' and the best one'}`,
            ['', '#on screen', `#${this.bestName}`, '#difference'].slice(0, most),
        names.map((name) => [objectiveTitle(name, isOfCycles), show(name, split.values[name]),
            show(name, other[name]), !Number.isFinite(other[name]) ? '–'
                : difference(split.values[name] - other[name], (value) => show(name, value))]
            .slice(0, most)));
    }

    drawStages() {
        const { split, best } = this;
        const isShared = this.model.sharesIpus;
        const versus = best === null ? ''
            : best.cuts.join() === split.cuts.join() ? `the ${this.bestName}`
            : `${this.bestName}: ${bytes(best.values.memory)}`;
        if (this.hasNoPlan()) {
            replace(this.parts.stages, el('h3', {}, 'Stages'), el('p', {},
                'No split meets the constraints. Set cuts in the chain to see which they break.'));
            return;
        }
        const columns = [['#stage', (s, i) => link(String(i), () => this.chooseStage(i),
                `${i}: details of this stage`)],
            ['layers', (s) => this.range(s.first, s.last)],
            ...isShared ? [[named('#IPU'), (s) => String(s.ipu)]] : [],
            [isShared ? named('#IPU needs') : '#need', (s) => bytes(s.need_bytes)],
            ['#of limit', (s) => percentOfLimit(s.need_bytes, s.limit_bytes)],
            ['', (s) => shareBar(s.need_bytes, s.limit_bytes, s.fits === false)],
            ['fits', (s) => el('span', { class: `tag v-${HEADS[s.verdict][0]}` },
                s.verdict)],
            [`#${timeUnit()}`, (s) => shownTime(s.cycles)],
            ['#cut after', (s) => s.last + 1 < this.model.numUnits ? bytes(s.cut_bytes) : '–']];
        replace(this.parts.stages, el('h3', {}, 'Stages ', el('small', {}, versus)),
            smallTable('Stages', columns.map(([title]) => title), split.stages.map((s, i) => ({
                isCurrent: i === this.chosenStage,
                cells: columns.map(([, cell]) => cell(s, i)) }))),
            el('div', { class: 'values' }, this.valuesTable()));
    }

    chooseStage(i) {
        this.chosenStage = i;
        this.chain.draw();
        this.drawStages();
        this.drawStage();
        this.parts.stage.scrollIntoView({ block: 'nearest' });
    }

    drawStage() {
        const s = this.split.stages[this.chosenStage];
        this.parts.stage.hidden = this.hasNoPlan();
        const { model, page } = this;
        const { peak } = s;
        const parts = model.parts.filter(({ name }) => s.mem[name]);
        const sum = parts.reduce((bytesSoFar, { name }) => bytesSoFar + s.mem[name], 0);
        const onTile = Object.entries(model.tileParts || {}).filter(([key]) => peak && peak[key]);
        replace(this.parts.stage,
            el('h3', {}, `Stage ${this.chosenStage}: ` +
                this.range(s.first, s.last, model.chain.labels)),
            facts(Object.entries(PlanView.flat(s)).filter(([name, value]) =>
                !OWN_FACTS.test(name) && ['number', 'string'].includes(typeof value))
                .map(([name, value]) => [factTitle(name), name === 'tile'
                    ? page.tileLink(value, undefined, this.chosenStage)
                    : name === 'step' ? page.stepLink(value)
                    : typeof value === 'number' ? shownTime(value) : shorten(value)])),
            !peak ? null : el('div', { class: 'pair' },
                smallTable('Over all tiles', ['part', '#bytes', '#share'], parts.map(
                    ({ name, text }) => [text, grouped(s.mem[name]), share(s.mem[name], sum)])),
                smallTable(`On the fullest tile, ${peak.tile}`,
                    ['part', '#bytes', '#share'], onTile.map(([key, text]) => [text,
                        grouped(peak[key]), share(peak[key], peak.bytes)])),
                smallTable(`Largest variables on tile ${peak.tile} at step ${peak.step}`,
                    ['#bytes', 'category', 'name'], peak.largest_variables.map((v) =>
                        [grouped(v.size_bytes), v.category, nameCell(v.name)]))));
    }

    // A stage of the document, with its needs and peak as members of its own.
    static flat({ needs, peak, mem, ...own }) {
        return { ...own, ...needs, ...peak && { all_tiles_bytes: mem.total_mem, tile: peak.tile,
            step: peak.step, operation: peak.operation } };
    }

    // The stages with those of their values that are numbers or words.
    rows() {
        const stages = this.split.document.stages.map(PlanView.flat);
        const names = Object.keys(stages[0]).filter((name) => !(stages[0][name] instanceof Object));
        return [names, ...stages.map((stage) => names.map((name) => stage[name]))];
    }

    // The need of each layer over all tiles: a click shows the layer in the memory of the tiles.
    drawLayers() {
        const title = 'Where memory goes, by layer';
        const onTile = Object.values(this.model.tileParts); // has the colours that the chain has
        const colorOf = (name, i) => color(onTile.includes(name) ? onTile.indexOf(name)
            : i === 0 ? 0 : onTile.length + i);
        replace(this.parts.layers, el('h3', {}, `${title} `, el('small', {},
            'all tiles, unsplit, each layer as if alone')), new Chart({ title, label: 'layer',
            unit: bytes, nameOf: (unit) => this.names[unit],
            series: Model.unitParts(this.model).map((s, i) => ({ ...s,
                color: colorOf(s.name, i) })),
            onChoose: (unit) => this.page.showMemory({ layer: String(unit) }) }).element);
    }

    // ---- what else could be ----

    // The best fullest tile for each number of IPUs; the one that is chosen is used.
    drawCurve() {
        const { settings: { limit, numIpus } } = this;
        const possible = this.curve.map((value, i) => ({ count: i + 1, value }))
            .filter((point) => !Number.isNaN(point.value)).slice(0, Math.max(16, numIpus));
        if (possible.length === 0)
            return replace(this.parts.curve); // no number of IPUs meets the constraints
        const isFree = this.model.wishes.device_map === null;
        const most = Math.max(...possible.map(({ value }) => value));
        return replace(this.parts.curve, el('h3', {}, named('More IPUs, less memory')),
            smallTable(named('Best fullest tile by number of IPUs'), [named('#IPUs'),
                named('#fullest tile'), ''], possible.map(({ count, value }) => ({
                isCurrent: count === numIpus,
                cells: [!isFree ? String(count) : link(String(count), () => this.set(
                    { numIpus: Math.max(count, Model.fewestIpus(this.model)) }, true),
                `${count}: use at most ${ipus(count)}`), bytes(value),
                shareBar(value, most, value > limit)] }))));
    }

    // The best compromises, the fastest first; the one that is chosen is shown.
    drawFront() {
        const { second } = this;
        const points = [...this.front].reverse();
        const title = `Memory against ${this.model.hasCycles ? 'time' : 'traffic'}`;
        if (this.isContradiction())
            return replace(this.parts.front);
        if (points.length === 0)
            return replace(this.parts.front, el('h3', {}, title), el('p', {}, 'No split fits.'));
        const most = Math.max(...points.map(({ values }) => values.memory));
        return replace(this.parts.front, el('h3', {}, title), smallTable(
            'All best compromises within the limit', [named('#fullest tile'), '',
                `#${objectiveTitle(second)}`, named('#IPUs')],
            points.map(({ values, cuts }) => ({
                isCurrent: cuts.join() === this.cuts.join(),
                cells: [link(bytes(values.memory), () => this.setCuts(cuts, 'This compromise.'),
                    `${bytes(values.memory)}: show this plan`), shareBar(values.memory, most),
                (second === 'traffic' ? bytes : shortTime)(values[second]),
                String(values.ipus)] }))));
    }
}
