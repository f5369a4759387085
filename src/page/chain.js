// ---- the chain ----------------------------------------------------------------------------------
// Each stage is a bar, as wide as its layers: its memory against the limit, or its time. The cuts
// are handles.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHAIN = { top: 46, height: 150, bottom: 34, left: 64, right: 10 };
const BASE = CHAIN.top + CHAIN.height;
const MOST_OVER = 6; // times the largest need: a limit beyond is not drawn
const LEAST_WIDTH = 8; // pixels of a layer: a longer chain scrolls

// Texts that fit into so many pixels: the first one of those given, or none.
function fitting(width, ...texts) {
    return texts.find((text) => text.length * 7 + 4 <= width) || '';
}

class ChainView {
    constructor(plan) {
        Object.assign(this, { plan, model: plan.model, width: FIRST_WIDTH, handles: [], held: null,
            isOfTime: ['cycles', 'step'].includes(plan.settings.objectives[0]),
            buttons: el('div', { class: 'head' }), legend: el('ul', { class: 'legend' }) });
        const ofHandle = (act) => (event) => {
            const i = this.handles.indexOf(event.target);
            return i >= 0 && act(i, event);
        };
        const letGo = () => {
            if (this.held !== null)
                plan.page.keepAddress();
            this.held = null;
        };
        this.strip = el('div', { class: 'strip', role: 'group', tabindex: '0',
            'aria-label': 'The chain of layers with its cuts',
            onclick: (event) => this.picture.contains(event.target) && this.onClick(event),
            ondblclick: ofHandle((i) => plan.removeCut(i)),
            onkeydown: ofHandle((i, event) => this.onKey(event, i)),
            onpointerdown: ofHandle((i, event) => {
                event.preventDefault();
                this.held = i;
                this.focus(i);
            }),
            onpointermove: (event) => this.onMove(event), onpointerup: letGo,
            onpointercancel: letGo, onpointerleave: () => tip.hide() });
        this.element = el('div', { class: 'chain' }, this.strip, this.legend);
        onResize(this, () => this.draw());
    }

    // The height of a bar.
    measure() {
        const { plan } = this;
        return this.isOfTime
            ? { value: (s) => s.cycles, most: (s) => s.cycles, limit: () => Infinity,
                text: timeText, tick: shortTime, ticks: decimalTicks,
                hot: Verdict.slowest(plan), title: 'slowest' }
            : { value: (s) => s.need_bytes, most: (s) => Math.max(s.need_bytes, s.most,
                    s.limit_bytes < Infinity ? s.limit_bytes : 0),
                limit: (s) => s.limit_bytes, text: bytes, tick: tickText, ticks,
                hot: plan.split.document.bottleneck, title: 'bottleneck' };
    }

    draw() {
        const { plan, plan: { split: { stages }, cuts }, model } = this;
        const own = this.measure();
        this.each = Math.max(LEAST_WIDTH, (this.width - CHAIN.left - CHAIN.right) / model.numUnits);
        this.x = (unit) => CHAIN.left + unit * this.each;
        const width = this.x(model.numUnits) + CHAIN.right;
        const most = Math.max(1, ...stages.map(own.most));
        const needs = Math.max(1, ...stages.map((s) => Math.max(own.value(s), s.most)));
        // the limit is out of the picture where bars would be too low to show their parts
        this.most = 1.12 * (!this.isOfTime && most > MOST_OVER * needs ? 1.5 * needs : most);
        this.y = (value) => CHAIN.top + CHAIN.height * (1 - value / this.most);
        const height = BASE + CHAIN.bottom;
        this.handles = cuts.map((unit, i) => this.handle(unit, i));
        replace(this.strip, this.picture = svg('svg', { width, height,
            viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
        yAxis(own.ticks(0, this.most, 4), this.y, CHAIN.left, width - CHAIN.right, own.tick),
        plan.hasNoPlan() ? null : this.bars(own),
        cuts.map((unit) => svgLine(this.x(unit), CHAIN.top, this.x(unit), BASE, 'cut')),
        this.limits(own), // whose names a cut would cross
        this.rules(), (plan.best?.cuts || []).map((unit) => svg('path', { class: 'mark',
            d: `M${this.x(unit)} ${BASE + 4}l5 8h-10Z` })), this.labels()), this.handles);
        replace(this.buttons, !model.hasCycles ? null : choices('What bars show',
            [[false, 'Memory'], [true, 'Time']], this.isOfTime, (isOfTime) => {
                this.isOfTime = isOfTime;
                this.draw();
            }), plan.buttons);
        replace(this.legend, [...new Map(stages.flatMap((s) => this.partsOf(s)).map((part) =>
            [part.name, part.color]))].map(([name, fill]) => el('li', {}, swatch({ fill }), name)),
        [[!this.isOfTime && stages.some((s) => s.alone_bytes < s.need_bytes),
            named('pale: of other stages on the same IPU')],
        [!this.isOfTime && model.needs.length > 1, 'I: from at least to at most'],
        [plan.best?.cuts.length > 0, '▲: cuts of the best plan']].map(([isShown, text]) =>
            isShown ? el('li', {}, text) : null));
    }

    // Parts of what a stage needs on its fullest tile, with their colours.
    partsOf(stage) {
        return !stage.peak || this.isOfTime ? [] : Object.entries(
            this.model.tileParts).map(([key, name], i) => ({ name, color: color(i),
            value: stage.peak[key] })).filter(({ value }) => value > 0);
    }

    bars(own) {
        const { plan, plan: { split: { stages } } } = this;
        const hottest = plan.together(stages[own.hot]);
        const slowest = own.value(stages[own.hot]);
        return stages.map((s, i) => {
            const x0 = this.x(s.first) + 1;
            const wide = this.x(s.last + 1) - 1 - x0;
            const [value, limit] = [own.value(s), own.limit(s)];
            const [need, atLimit] = [this.y(value), this.y(limit)];
            const isHot = hottest.includes(s);
            const fill = Math.max(need, Math.min(BASE, atLimit));
            const box = (y, foot, inset, look) => svg('rect', { x: x0 + inset, y,
                width: Math.max(0, wide - 2 * inset), height: Math.max(0, foot - y), ...look });
            const text = (y, look, ...texts) =>
                svgText(x0 + wide / 2, y, look, fitting(wide, ...texts));
            let sum = 0;
            const parts = this.partsOf(s).map((part) => {
                const foot = this.y(sum);
                sum += part.value;
                return box(Math.max(fill, this.y(sum)), foot, 1, { fill: part.color });
            });
            const isAtLimit = atLimit < need && need - atLimit < 24; // the line would cross it
            const [place, name] = [plan.place(i), own.text(value)];
            return [box(fill, BASE, 0, { class: `fill${isHot ? ' hot' : ''}` }), parts,
                !this.isOfTime && s.alone_bytes < value // the rest is of others on its IPU
                    ? box(fill, this.y(s.alone_bytes), 1, { class: 'of-others' }) : null,
                need < atLimit ? box(need, atLimit, 0, { class: 'above' }) : null,
                this.isOfTime || this.model.needs.length < 2 || wide <= 30 ? null : svg('path', {
                    class: 'whisker', d: `M${x0 + wide - 18} ${this.y(s.most)}h8m-4 0V${
                        this.y(s.least)}m-4 0h8` }),
                this.isOfTime && value < slowest && BASE - need > 24 ? text(BASE - 8, 'on-pale',
                    `then waits ${own.text(slowest - value)}`, 'waits') : null,
                i === plan.chosenStage ? box(BASE + 1, BASE + 4, 0, { class: 'chosen-stage' })
                    : null,
                text(14, 'ipu', isHot ? `${place} · ${own.title}` : place,
                    place.replace(/.* /, '')),
                text(30, 'tick middle', plan.range(s.first, s.last)),
                text(isAtLimit ? need + 14 : Math.max(CHAIN.top + 10, need - 8),
                    isAtLimit && isHot && parts.length === 0 ? 'on-bar' : 'need', ...[limit ===
                        Infinity ? name : `${name} · ${percentOfLimit(value, limit)}`, name,
                    name.replace(/ .*/, '')].map((all) => fitting(wide - 26, all)))];
        });
    }

    // One line for neighbours with one limit.
    limits(own) {
        return runsOf(this.plan.split.stages.map((s) => ({ name: own.limit(s),
            from: this.x(s.first) + 1, to: this.x(s.last + 1) - 1 })))
            .filter(({ name }) => name < Infinity).map(({ name: value, from, to }) => [
                value > this.most ? null
                    : svgLine(from, this.y(value), to, this.y(value), 'limit'),
                svgText(to - 26, Math.max(CHAIN.top, this.y(value)) - 5, 'limit-name', fitting(
                    to - from, `${value > this.most ? '↑ ' : ''}limit ${bytes(value)}`))]);
    }

    // Where cuts are forbidden, and where one is missing.
    rules() {
        return this.model.wishes.cut_rules.map((rule, unit) => {
            const x = this.x(unit);
            const isForbidden = rule > 1;
            return [isForbidden ? svgRect(x - 4, CHAIN.top, 8, CHAIN.height, 'no-cut') : null,
                (rule & 1) === 0 || this.plan.cuts.includes(unit) ? null : [
                    svgLine(x, CHAIN.top - 6, x, BASE, 'missing-cut'),
                    svgText(x, CHAIN.top - 10, 'need no',
                        isForbidden ? 'cut required, and forbidden' : 'cut required')]];
        });
    }

    // The names of layers, or of some of them.
    labels() {
        const each = [1, 2, 5, 10, 20, 50, 100].find((k) => k * this.each >= 26) || 200;
        const wide = this.each * each;
        return this.plan.names.map((name, unit) => unit % each !== 0 ? null : svgText(
            this.x(unit + 0.5), BASE + 26, 'tick middle', fitting(Math.max(30, wide), name,
                `…${name.slice(1 - Math.floor(wide / 7))}`)));
    }

    // ---- cuts ----

    handle(unit, i) {
        const { plan, plan: { split: { stages } }, model } = this;
        const rule = ['', 'required'][model.wishes.cut_rules[unit]] ?? 'forbidden';
        const isFixed = !Model.canEvaluate(model);
        const need = (k) => bytes(stages[k].need_bytes);
        const element = el('div', { class: `handle ${isFixed ? 'fixed' : rule}`, role: 'slider',
            tabindex: '0', 'aria-label': `Cut ${i + 1}`, 'aria-valuemin': 1,
            'aria-valuemax': model.numUnits - 1, 'aria-valuenow': unit,
            'aria-disabled': isFixed ? 'true' : null,
            'aria-valuetext': `Cut after ${plan.names[unit - 1]}: ${plan.place(i)} needs ` +
                `${need(i)}, ${plan.place(i + 1)} ${need(i + 1)}${rule && `; it is ${rule}`}` });
        element.style.left = `${this.x(unit)}px`;
        return element;
    }

    // The peak if a cut were one place further to the left or to the right, a line each.
    neighbours(i) {
        const { plan, plan: { split }, model } = this;
        const own = split.stages[Verdict.fullest(split)].need_bytes;
        return [['←', -1], ['→', 1]].map(([arrow, by]) => {
            const cuts = plan.movedCuts(i, plan.cuts[i] + by);
            if (cuts[i] === plan.cuts[i] || !Model.canEvaluate(model))
                return null;
            const { memory } = Model.evaluate(model, plan.settings, cuts).values;
            return el('div', {}, `${arrow} after ${plan.names[cuts[i] - 1]}: ` +
                `${bytes(memory)}, ${difference(memory - own, bytes)}`);
        });
    }

    unitAt({ clientX }) {
        return (clientX - this.picture.getBoundingClientRect().left - CHAIN.left) / this.each;
    }

    // A cut that is held follows the pointer; else there is what is known of the place.
    onMove(event) {
        const { plan, plan: { split: { stages } }, model } = this;
        const at = this.unitAt(event);
        if (this.held !== null) {
            this.strip.setPointerCapture(event.pointerId);
            return plan.moveCut(this.held, Math.round(at));
        }
        const cut = this.handles.indexOf(event.target);
        if (cut >= 0)
            return tip.show(event, el('strong', {}, event.target.ariaValueText),
                this.neighbours(cut), !Model.canEvaluate(model) ? null
                    : el('div', { class: 'status' }, 'Drag it, or use arrows and Delete'));
        const i = stages.findIndex((own) => own.first <= at && at < own.last + 1);
        if (i < 0 || plan.hasNoPlan())
            return tip.hide();
        const s = stages[i];
        const rows = this.partsOf(s).map(({ name, value, color: fill }) => [
            [swatch({ fill }), name], bytes(value), share(value, s.peak.bytes)]);
        return tip.show(event, el('strong', {}, `${plan.place(i)}, ${plan.range(s.first, s.last)}`),
            rows.length === 0 ? null : smallTable('', ['', '#', '#'], rows),
            facts([[named('Fullest tile'), `${bytes(s.need_bytes)}, ${
                percentOfLimit(s.need_bytes, s.limit_bytes)}, ${s.verdict}`],
            s.least !== s.most && ['From, to', `${bytes(s.least)}, ${bytes(s.most)}`],
            s.cycles && ['Time', timeText(s.cycles)],
            s.last + 1 < model.numUnits && ['Sent to the next', bytes(s.cut_bytes)]]));
    }

    // A click between two layers sets a cut, one on a layer chooses its stage.
    onClick(event) {
        const { plan } = this;
        const at = this.unitAt(event);
        const unit = Math.round(at);
        const isBelowNames = event.clientY - this.picture.getBoundingClientRect().top > CHAIN.top;
        if (isBelowNames && unit > 0 && unit < this.model.numUnits &&
            Math.abs(at - unit) * this.each <= Math.min(12, this.each / 3))
            plan.setCuts([...plan.cuts, unit], `Cut after ${plan.names[unit - 1]}.`);
        else
            plan.chooseStage(plan.split.stages.findIndex((s) => s.last + 1 > at));
    }

    onKey(event, i) {
        const { plan, model: { numUnits } } = this;
        const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5,
            PageUp: 5, Home: -numUnits, End: numUnits }[event.key];
        if (by !== undefined)
            plan.moveCut(i, plan.cuts[i] + by);
        else if (event.key === 'Delete' || event.key === 'Backspace')
            plan.removeCut(i);
        else
            return;
        event.preventDefault();
    }

    focus(i) {
        if (document.activeElement !== this.handles[i])
            this.handles[i]?.focus();
    }
}
