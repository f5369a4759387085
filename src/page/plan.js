// ---- the plan -----------------------------------------------------------------------------------
// Settings and cuts are all that can be changed; whatever changes them draws the plan again: the
// verdict, the chain, the stages, and what else could be.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const NEED_TEXTS = { expected: 'expected', most: 'at most', least: 'at least' };
const ORDERS = ('memory,traffic memory,balance memory,cycles cycles,memory cycles,balance ' +
    'cycles,traffic traffic,memory ipus,memory,traffic headroom,traffic ' +
    'tokens step').split(' ');
const MOST_BYTES = 2 ** 52; // of a limit
const MOST_IPUS = 65536;
const MORE_IPUS = 16; // that are tried against memory
const FRONT_DELAY_MS = 120;
// Facts of a stage that stand elsewhere, or under another name.
const OWN_FACTS = /^(first|last|least|expected|most|margin_spreads|(unit|layer|verdict)_.*)$/;

const titleOf = (name) => named(objectiveWords[name].title);

// "a, b and c"
const listed = (texts) => new Intl.ListFormat('en-GB').format(texts);

// "638976", "624 KiB", "600KB" as bytes; NaN for anything else.
function readSize(text) {
    const found = /^\s*([\d.]+)\s*(?:(k|m|g|t)(i?)b?|b)?\s*$/i.exec(text.replace(/,/g, ''));
    if (found === null)
        return NaN;
    const power = found[2] === undefined ? 0 : 'kmgt'.indexOf(found[2].toLowerCase()) + 1;
    return Math.round(Number(found[1]) * (found[3] ? 1024 : 1000) ** power);
}

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
        const { model, data } = page;
        Object.assign(this, { page, model, settings: Model.settingsOf(model), cuts: data.plan,
            names: model.chain.short_labels,
            best: null, front: null, chosenStage: null, // the bottleneck, until one is chosen
            second: model.hasCycles ? 'cycles' : 'traffic' }); // of the front
        this.parts = Object.fromEntries(['settings', 'stages', 'front', 'stage', 'passes',
            'layers'].map((name) => [name, el('div', { class: name === 'settings' ? name
            : `${name} card` })]));
        this.buttons = el('span', { class: 'buttons' }, !Model.canEvaluate(model) ? null : [
            button('Add a cut', () => this.addCut()),
            button('Best plan', () => this.showBest())]);
        this.verdict = new Verdict(this);
        this.chain = new ChainView(this);
        this.status = el('p', { class: 'status', 'aria-live': 'polite' });
        this.shownText = el('code', { class: 'copied' });
        const { settings, stages, front, stage, passes, layers } = this.parts;
        this.element = el('div', { class: 'plan' }, this.verdict.element,
            el('div', { class: 'card' }, el('div', { class: 'controls' }, settings,
                this.chain.buttons), this.chain.element,
                saveButtons('Stages', () => this.chain.picture, () => this.rows()), this.status),
            el('div', { class: 'halves' }, stages, front), stage, passes, layers,
            this.shownText);
        this.passes = new Passes(this);
        passes.append(this.passes.holder);
        if (!model.costs)
            this.drawLayers();
        this.set({}, this.cuts === null);
    }

    // Options of the command that the best plans follow and that cannot be set here.
    constraints() {
        const { settings, model, page: { data, data: { words } } } = this;
        return words === null ? [] : [...Model.constraintWords(data, model, settings)
            .split(/ (?=--)/), settings.slack > 0 && `--slack ${settings.slack}`]
            .filter(Boolean);
    }

    // "IPU 2", or what stands for it on a map.
    place(i) {
        const { ipu } = this.split.stages[i];
        return ipu < 0 ? `stage ${i}` : `${named('IPU')} ${ipu}`;
    }

    range(first, last, names = this.names) {
        return first === last ? names[first] : `${names[first]} – ${names[last]}`;
    }

    // The stages on the IPU of one of them.
    together(stage) {
        return this.split.stages.filter((other) => other === stage ||
            (stage.ipu >= 0 && other.ipu === stage.ipu));
    }

    isContradiction() {
        return this.answer.status === 'infeasible' && this.best === null;
    }

    // Whether there is no split, and none was made by hand.
    hasNoPlan() {
        return this.isContradiction() && this.cuts.length === 0;
    }

    // Whether the best plan is on screen.
    isBest() {
        return this.best !== null && this.best.cuts.join() === this.cuts.join();
    }

    // ---- what can be set ----

    // The part of the address that is the plan's.
    snapshot() {
        return { ...this.settings, cuts: this.cuts };
    }

    restore({ cuts, ...settings }) {
        this.cuts = cuts;
        this.set(settings, false);
    }

    drawSettings() {
        const { model, settings } = this;
        isDecimal = settings.limit < Infinity ? /[KMG]B$/.test(sizeText(settings.limit))
            : Model.aloneBytes(model, settings).every((own) => own % 1000 === 0);
        if (!Model.canEvaluate(model))
            return;
        const number = (label, name, least, value, read) => field(label, el('input', {
            type: 'text', inputmode: 'numeric', value, placeholder: '–', onchange: ({ target }) => {
                const given = read(target.value);
                if (!Number.isNaN(given))
                    return this.set({ [name]: Math.max(least, given) });
                target.value = value;
                this.status.textContent = 'That is no number that can be used here.';
            } }));
        const fewest = Model.fewestIpus(model);
        const orders = ORDERS.filter((order) => (model.hasCycles || !order.includes('cycles')) &&
            (!order.includes('step') || model.pipelines[settings.pipeline].micro_batches) &&
            (order !== 'tokens' || model.chain.kv));
        const own = settings.objectives.join(',');
        const pipelines = model.pipelines.map(({ schedule, copies_rule: rule, recompute }, i) => [i,
            [schedule === 'none' ? 'no pipeline' : schedule, rule && `copies: ${rule}`,
                recompute !== 'none' && `recompute ${recompute}`].filter(Boolean).join(', ')]);
        replace(this.parts.settings,
            model.wishes.device_map !== null ? null : el('span', { class: 'field stepper' },
                number(named('IPUs, at most'), 'numIpus', fewest, settings.numIpus,
                    (text) => Math.min(MOST_IPUS, Math.floor(text.trim() || NaN))),
                [['−', -1, 'One IPU fewer'], ['+', 1, 'One IPU more']].map(([sign, more, label]) =>
                    button(sign, () => this.set({ numIpus: Math.max(fewest, Math.min(MOST_IPUS,
                        settings.numIpus + more)) }), { 'aria-label': named(label) }))),
            number(named('Memory of a tile'), 'limit', 1, sizeText(settings.limit), (text) =>
                model.costs && text.trim() === '' ? Infinity
                    : Math.min(MOST_BYTES, readSize(text))),
            model.needs.length < 2 ? null : field('Count on', choice(Object.entries(NEED_TEXTS),
                settings.need, (need) => this.set({ need }))),
            field('Best by', choice((orders.includes(own) ? orders : [own, ...orders])
                .map((order) => [order, order.split(',').map(titleOf).join(', ')]), own,
            (order) => this.set({ objectives: order.split(',') }))),
            pipelines.length < 2 ? null : field('Schedule', choice(pipelines, settings.pipeline,
                (i) => this.set({ pipeline: Number(i) }))));
    }

    // Changes settings and finds the best plan for them; `isShown`: it is put on screen, and stays
    // there if it was.
    set(changed, isShown = this.isBest()) {
        const { model } = this;
        const settings = this.settings = { ...this.settings, ...changed };
        this.drawSettings();
        this.answer = Model.solve(model, settings);
        this.best = this.answer.split;
        this.bestName = this.answer.status === 'infeasible' ? 'best effort' : 'best plan';
        if (this.cuts === null || isShown) {
            this.cuts = this.best === null ? [] : this.best.cuts;
            this.chosenStage = null;
        }
        this.cuts = this.cuts.slice(0, model.pipelines[settings.pipeline].max_stages - 1);
        this.hints = null;
        this.show();
        clearTimeout(this.later); // what else could be takes most of the time
        this.later = setTimeout(() => {
            this.hints = Model.hints(model, settings);
            this.findFront();
            this.verdict.draw();
        }, FRONT_DELAY_MS);
    }

    // ---- cuts ----

    showBest() {
        if (this.best !== null)
            this.setCuts(this.best.cuts, 'The best plan.');
    }

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

    // Cuts the longest stage in its middle.
    addCut() {
        const { stages } = this.split;
        const { first, last } = stages[largestOf(stages.map((own) => own.last - own.first))];
        const unit = Math.ceil((first + last) / 2);
        this.setCuts([...this.cuts, unit], unit === first ? 'No further cut is possible.'
            : `Cut after ${this.names[unit - 1]}.`);
    }

    // The cuts with one of them at a unit, or as far towards it as others leave room.
    movedCuts(i, unit) {
        const { cuts, model: { numUnits } } = this;
        return cuts.with(i, Math.max((cuts[i - 1] ?? 0) + 1,
            Math.min((cuts[i + 1] ?? numUnits) - 1, unit)));
    }

    moveCut(i, unit) {
        const cuts = this.movedCuts(i, unit);
        if (cuts[i] !== this.cuts[i])
            this.setCuts(cuts, `Cut ${i + 1} is after ${this.names[cuts[i] - 1]}.`);
    }

    removeCut(i) {
        this.setCuts(this.cuts.toSpliced(i, 1), `Cut ${i + 1} is gone.`);
        this.chain.focus(Math.min(i, this.cuts.length - 1));
    }

    // ---- drawing ----

    show() {
        this.status.textContent = ''; // it was about what was shown
        this.split = Model.evaluate(this.model, this.settings, this.cuts);
        this.chosenStage = Math.min(this.chosenStage ?? this.split.document.bottleneck,
            this.cuts.length);
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
        this.passes.showStep();
        this.parts.passes.hidden = this.passes.holder.childElementCount === 0;
        if (this.front !== null)
            this.drawFront(); // with the plan on screen
        this.page.onPlan(this.split);
    }

    chooseStage(i) {
        this.chosenStage = i;
        this.chain.draw();
        this.drawStages();
        this.parts.stage.scrollIntoView({ block: 'nearest' });
    }

    // The stages, and the chosen one in detail.
    drawStages() {
        const { split, model, best, page, parts: { stages, stage } } = this;
        stage.hidden = this.hasNoPlan();
        if (this.hasNoPlan())
            return replace(stages, el('h3', {}, 'Stages'), el('p', {},
                'No split meets the constraints. Set cuts in the chain to see which they break.'));
        const ofIpu = model.sharesIpus;
        const columns = [['#stage', (s, i) => link(String(i), () => this.chooseStage(i),
                `${i}: details of this stage`)],
            ['layers', (s) => this.range(s.first, s.last)],
            ...ofIpu ? [[named('#IPU'), (s) => String(s.ipu)]] : [],
            [ofIpu ? named('#IPU needs') : '#need', (s) => bytes(s.need_bytes)],
            ['#of limit', (s) => percentOfLimit(s.need_bytes, s.limit_bytes)],
            ['', (s) => shareBar(s.need_bytes, s.limit_bytes, s.fits === false)],
            ['fits', (s) => el('span', { class: `tag v-${levelOf(s.verdict)}` }, s.verdict)],
            [`#${timeUnit()}`, (s) => shownTime(s.cycles)],
            ['#cut after', (s) => s.last + 1 < model.numUnits ? bytes(s.cut_bytes) : '–']];
        replace(stages, el('h3', {}, 'Stages ', el('small', {}, best === null ? ''
            : this.isBest() ? `the ${this.bestName}`
                : `${this.bestName}: ${bytes(best.values.memory)}`)),
        smallTable('Stages', columns.map(([title]) => title), split.stages.map((s, i) => ({
            isCurrent: i === this.chosenStage, cells: columns.map(([, cell]) => cell(s, i)) }))));
        const s = split.stages[this.chosenStage];
        const { peak, mem } = s;
        const partsOf = (title, all, values, sum) => smallTable(title, ['part', '#bytes', '#share'],
            all.filter(([key]) => values[key]).map(([key, text]) => [text, grouped(values[key]),
                share(values[key], sum)]));
        const overAll = model.parts.map(({ name, text }) => [name, text]);
        replace(stage, el('h3', {}, `Stage ${this.chosenStage}: ` +
            this.range(s.first, s.last, model.chain.labels)),
        facts(Object.entries(PlanView.flat(s)).filter(([name, value]) =>
            !OWN_FACTS.test(name) && ['number', 'string'].includes(typeof value))
            .map(([name, value]) => [name === 'cycles' ? timeUnit() : named(columnTitle(name)),
                name === 'tile' ? page.tileLink(value, undefined, this.chosenStage)
                    : name === 'step' ? page.stepLink(value)
                    : typeof value === 'number' ? shownTime(value) : shorten(value)])),
        !peak ? null : el('div', { class: 'pair' },
            partsOf('Over all tiles', overAll, mem,
                overAll.reduce((sum, [name]) => sum + (mem[name] || 0), 0)),
            partsOf(`On the fullest tile, ${peak.tile}`, Object.entries(model.tileParts), peak,
                peak.bytes),
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
        const { tileParts, numUnits, parts, pipelines: [{ stages }] } = this.model;
        const all = parts.map(({ number }) => // of all stages, column by column
            stages.stage_sums.slice(number * numUnits * (numUnits + 1) / 2));
        const onTile = Object.values(tileParts); // has the colours that the chain has
        const colorOf = (name, i) => color(onTile.includes(name) ? onTile.indexOf(name)
            : i === 0 ? 0 : onTile.length + i);
        replace(this.parts.layers, el('h3', {}, `${title} `, el('small', {},
            'all tiles, unsplit, each layer as if alone')), new Chart({ title, label: 'layer',
            unit: bytes, nameOf: (unit) => this.names[unit],
            series: parts.map(({ text: name }, i) => ({ name, color: colorOf(name, i),
                values: this.names.map((_, unit) => all[i][unit * (2 * numUnits - unit + 1) / 2])
            })), // costs/triangle.h
            onChoose: (unit) => this.page.showMemory({ layer: String(unit) }) }).element);
    }

    // The best compromises of memory and another objective; the one that is chosen is shown.
    drawFront() {
        const { second, model: { hasCycles, wishes: { device_map: map } } } = this;
        if (this.isContradiction() || !Model.canEvaluate(this.model))
            return replace(this.parts.front);
        const others = { ...hasCycles && { cycles: 'time' }, traffic: 'traffic',
            ...map === null && { ipus: named('IPUs') } };
        const most = Math.max(...this.front.map(({ values }) => values.memory));
        const show = second === 'ipus' ? (values) => this.set({ numIpus: Math.max(values.ipus,
            Model.fewestIpus(this.model)) }, true) : (_, cuts) => this.setCuts(cuts,
            'This compromise.');
        const shown = { cycles: shortTime, traffic: bytes };
        return replace(this.parts.front, el('h3', {}, `Memory against ${others[second]} `,
            choices('Memory against', Object.entries(others), second, (name) => {
                this.second = name;
                this.findFront();
            })), this.front.length === 0 ? el('p', {}, 'No split fits.') : smallTable(
            `All best compromises${second === 'ipus' ? '' : ' within the limit'}`,
            [named('#fullest tile'), ...second === 'ipus' ? []
                : [`#${titleOf(second)}${second === 'cycles' ? ` (${timeUnit()})` : ''}`],
            named('#IPUs'), ''], this.front.toReversed().map(({ values, cuts }) => ({
                isCurrent: cuts.join() === this.cuts.join(),
                cells: [link(bytes(values.memory), () => show(values, cuts),
                    `${bytes(values.memory)}: show this plan`),
                ...second === 'ipus' ? [] : [shown[second](values[second])], String(values.ipus),
                shareBar(values.memory, most, values.memory > this.settings.limit)] }))));
    }

    // Tries more IPUs than may be used now, if memory is against IPUs, and whatever the limit.
    findFront() {
        const { model, settings, second, best, answer: { why } } = this;
        this.front = best === null && why === null ? [] : Model.pareto(model, second !== 'ipus'
            ? settings : { ...settings, limit: Infinity, numIpus: Math.max(settings.numIpus,
                MORE_IPUS) }, ['memory', second]);
        this.drawFront();
    }
}
