// ---- the chain ----------------------------------------------------------------------------------
// Each stage is a bar, as wide as its layers: its memory against the limit, or its time. The cuts
// are handles.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHAIN = { top: 46, height: 150, bottom: 40, left: 64, right: 10 };
const MOST_OVER = 6; // times the largest need: a limit beyond is not drawn
const LEAST_WIDTH = 8; // pixels of a layer: a longer chain scrolls

// Texts that fit into so many pixels: the first one of those given, or none.
function fitting(width, ...texts) {
    return texts.find((text) => text.length * 7 + 4 <= width) || '';
}

class ChainView {
    constructor(plan) {
        const { model } = plan;
        Object.assign(this, { plan, model, width: FIRST_WIDTH,
            isOfTime: isTime(plan.settings.objectives[0]),
            buttons: el('div', { class: 'head' }) });
        this.strip = el('div', { class: 'strip', role: 'group', tabindex: '0',
            'aria-label': 'The chain of layers with its cuts' });
        this.legend = el('ul', { class: 'legend' });
        this.element = el('div', { class: 'chain' }, this.strip, this.legend);
        onResize(this, () => this.draw());
    }

    // The height of a bar.
    measure() {
        const { plan } = this;
        return this.isOfTime
            ? { value: (s) => s.cycles, most: (s) => s.cycles, limit: () => Infinity,
                text: timeText, tick: shortTime,
                ticks: (most) => decimalTicks(0, most, 4), hot: Verdict.slowest(plan),
                title: 'slowest' }
            : { value: (s) => s.need_bytes, most: (s) => Math.max(s.need_bytes, s.most,
                    s.limit_bytes < Infinity ? s.limit_bytes : 0),
                limit: (s) => s.limit_bytes, text: bytes, tick: tickText,
                ticks: (most) => ticks(most, 4), hot: plan.split.document.bottleneck,
                title: 'bottleneck' };
    }

    draw() {
        const { plan } = this;
        const own = this.measure();
        this.each = Math.max(LEAST_WIDTH, (this.width - CHAIN.left - CHAIN.right) /
            this.model.numUnits);
        this.x = (unit) => CHAIN.left + unit * this.each;
        const width = this.x(this.model.numUnits) + CHAIN.right;
        const { stages } = plan.split;
        const most = Math.max(1, ...stages.map(own.most));
        const needs = Math.max(1, ...stages.map((s) => Math.max(own.value(s), s.most)));
        // the limit is out of the picture where bars would be too low to show their parts
        this.most = 1.12 * (!this.isOfTime && most > MOST_OVER * needs ? 1.5 * needs : most);
        this.y = (value) => CHAIN.top + CHAIN.height * (1 - value / this.most);
        const height = CHAIN.top + CHAIN.height + CHAIN.bottom;
        this.handles = plan.cuts.map((unit, i) => this.handle(unit, i));
        replace(this.strip, this.picture = svg('svg', { width, height,
            viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true',
            onclick: (event) => this.onClick(event), onpointerleave: () => tip.hide(),
            onpointermove: (event) => this.onHover(event) },
        yAxis(own.ticks(this.most), this.y, CHAIN.left, width - CHAIN.right, own.tick),
        this.bars(own), this.cuts(), this.forbidden(), this.bestMarks(), this.labels()),
        this.handles);
        this.drawHead();
        this.drawLegend();
    }

    // Parts of what a stage needs on its fullest tile, with their colours.
    partsOf(stage) {
        return !stage.peak || this.isOfTime ? [] : Object.entries(
            this.model.tileParts).map(([key, name], i) => ({ name, color: color(i),
            value: stage.peak[key] })).filter(({ value }) => value > 0);
    }

    // The choice of what bars show, and what can be done with the cuts.
    drawHead() {
        replace(this.buttons, !this.model.hasCycles ? null : choices('What bars show',
            [[false, 'Memory'], [true, 'Time']], this.isOfTime, (isOfTime) => {
                this.isOfTime = isOfTime;
                this.draw();
            }), this.plan.buttons);
    }

    drawLegend() {
        const { stages } = this.plan.split;
        const parts = new Map(stages.flatMap((stage) => this.partsOf(stage))
            .map((part) => [part.name, part.color]));
        const isPale = !this.isOfTime && stages.some((s) => s.alone_bytes < s.need_bytes);
        replace(this.legend, [...parts].map(([name, fill]) =>
            el('li', {}, swatch({ fill }), name)),
        isPale ? el('li', {}, named('pale: of other stages on the same IPU')) : null);
    }

    // The parts of the stage under the pointer.
    onHover(event) {
        const { plan } = this;
        const at = this.unitAt(event.clientX);
        const i = plan.split.stages.findIndex((s) => s.first <= at && at < s.last + 1);
        if (i < 0 || plan.hasNoPlan())
            return tip.hide();
        const s = plan.split.stages[i];
        const rows = this.partsOf(s).map(({ name, value, color: fill }) => [
            [swatch({ fill }), name], bytes(value), share(value, s.peak.bytes)]);
        return tip.show(event, el('strong', {}, `${plan.place(i)}, ${plan.range(s.first, s.last)}`),
            rows.length === 0 ? null : smallTable('', ['', '#', '#'], rows),
            facts([[named('Fullest tile'), `${bytes(s.need_bytes)}, ${
                percentOfLimit(s.need_bytes, s.limit_bytes)}, ${s.verdict}`],
            s.least === s.most ? null : ['From, to', `${bytes(s.least)}, ${bytes(s.most)}`],
            s.cycles === null || s.cycles === 0 ? null
                : ['Time', timeText(s.cycles)],
            s.last + 1 < this.model.numUnits ? ['Sent to the next', bytes(s.cut_bytes)] : null]));
    }

    bars(own) {
        const { plan } = this;
        const { stages } = plan.split;
        const hottest = plan.together(stages[own.hot]);
        const slowest = own.value(stages[own.hot]);
        const base = CHAIN.top + CHAIN.height;
        const [limits, parts] = [[], []];
        stages.forEach((s, i) => {
            const x0 = this.x(s.first) + 1;
            const x1 = this.x(s.last + 1) - 1;
            const middle = (x0 + x1) / 2;
            const [value, limit] = [own.value(s), own.limit(s)];
            const need = this.y(value);
            const atLimit = this.y(limit);
            const units = plan.range(s.first, s.last);
            const ofLimit = limit === Infinity ? '' : ` · ${percentOfLimit(value, limit)}`;
            limits.push({ name: limit, from: x0, to: x1 });
            if (plan.hasNoPlan())
                return;
            const isHot = hottest.includes(s);
            const fill = Math.max(need, Math.min(base, atLimit));
            const box = (y, foot, inset, look) => parts.push(svg('rect', { x: x0 + inset, y,
                width: Math.max(0, x1 - x0 - 2 * inset), height: Math.max(0, foot - y), ...look }));
            box(fill, base, 0, { class: `fill${isHot ? ' hot' : ''}` });
            let sum = 0;
            for (const part of this.partsOf(s)) {
                box(Math.max(fill, this.y(sum + part.value)), this.y(sum), 1, { fill: part.color });
                sum += part.value;
            }
            if (!this.isOfTime && s.alone_bytes < value) // the rest is of others on its IPU
                box(fill, this.y(s.alone_bytes), 1, { class: 'of-others' });
            if (need < atLimit)
                box(need, atLimit, 0, { class: 'above' });
            if (!this.isOfTime && this.model.needs.length > 1 && x1 - x0 > 30)
                parts.push(svg('path', { class: 'whisker', d: `M${x1 - 18} ` +
                    `${this.y(s.most)}h8m-4 0V${this.y(s.least)}m-4 0h8` }));
            if (this.isOfTime && value < slowest && base - need > 24)
                parts.push(svgText(middle, base - 8, 'on-bar',
                    fitting(x1 - x0, `then waits ${own.text(slowest - value)}`, 'waits')));
            if (i === plan.chosenStage)
                box(base + 1, base + 4, 0, { class: 'chosen-stage' });
            const isAtLimit = atLimit < need && need - atLimit < 24; // the line would cross it
            parts.push(svgText(middle, 14, 'ipu',
                fitting(x1 - x0, isHot ? `${plan.place(i)} · ${own.title}` : plan.place(i),
                    s.ipu < 0 ? '' : String(s.ipu))),
            svgText(middle, 30, 'tick middle', fitting(x1 - x0, units)),
            svgText(middle, isAtLimit ? need + 14 : Math.max(CHAIN.top + 10, need - 8),
                isAtLimit && isHot && this.partsOf(s).length === 0 ? 'on-bar' : 'need',
                fitting(x1 - x0 - 26, own.text(value) + ofLimit, own.text(value),
                    own.text(value).replace(/ .*/, ''))));
        });
        for (const { name: value, from: x0, to: x1 } of runsOf(limits)
            .filter(({ name }) => name < Infinity)) // one line for neighbours with one limit
            parts.push(value > this.most ? null
                : svgLine(x0, this.y(value), x1, this.y(value), 'limit'),
            svgText(x1 - 26, Math.max(CHAIN.top, this.y(value)) - 5, 'limit-name', fitting(x1 - x0,
                `${value > this.most ? '↑ ' : ''}limit ${bytes(value)}`)));
        return parts;
    }

    // Lines below the handles, for pictures.
    cuts() {
        return this.plan.cuts.map((unit) =>
            svgLine(this.x(unit), CHAIN.top, this.x(unit), CHAIN.top + CHAIN.height, 'cut'));
    }

    forbidden() {
        const parts = [];
        for (let unit = 1; unit < this.model.numUnits; unit++) {
            const isRequired = (this.model.wishes.cut_rules[unit] & 1) !== 0;
            const isForbidden = this.plan.rule(unit) === 'forbidden';
            const x = this.x(unit);
            if (isForbidden)
                parts.push(svgRect(x - 4, CHAIN.top, 8, CHAIN.height, 'no-cut'));
            if (isRequired && !this.plan.cuts.includes(unit))
                parts.push(svgLine(x, CHAIN.top - 6, x, CHAIN.top + CHAIN.height, 'missing-cut'),
                    svgText(x, CHAIN.top - 10, 'need no',
                        isForbidden ? 'cut required, and forbidden' : 'cut required'));
        }
        return parts;
    }

    bestMarks() {
        const y = CHAIN.top + CHAIN.height + 4;
        return (this.plan.best?.cuts || []).map((unit) =>
            svg('path', { d: `M${this.x(unit)} ${y}l5 8h-10Z`, class: 'mark' }));
    }

    labels() {
        const labels = this.plan.names;
        const each = [1, 2, 5, 10, 20, 50, 100].find((k) => k * this.each >= 26) || 200;
        const y = CHAIN.top + CHAIN.height;
        const alone = Model.aloneBytes(this.model, this.plan.settings);
        const most = Math.max(1, ...alone);
        const parts = [];
        for (let unit = 0; unit < labels.length; unit++) {
            parts.push(svg('rect', { x: this.x(unit) + 1, y: y + 32, height: 7, rx: 2,
                width: Math.max(1, this.each - 2), class: 'cell',
                'fill-opacity': (0.12 + 0.88 * (alone[unit] || 0) / most).toFixed(2) }));
            if (unit % each === 0)
                parts.push(svgText(this.x(unit + 0.5), y + 26, 'tick middle',
                    fitting(Math.max(30, this.each * each), labels[unit],
                        `…${labels[unit].slice(1 - Math.floor(this.each * each / 7))}`)));
        }
        return parts;
    }

    // ---- cuts ----

    handle(unit, i) {
        const { plan } = this;
        const n = this.model.numUnits;
        const rule = plan.rule(unit);
        const isFixed = plan.stays(unit);
        const { stages } = plan.split;
        const text = `Cut after ${plan.names[unit - 1]}: ${plan.place(i)} needs ` +
            `${bytes(stages[i].need_bytes)}, ${plan.place(i + 1)} ` +
            bytes(stages[i + 1].need_bytes) + (rule === 'free' ? ''
            : `; the command ${rule === 'required' ? 'requires' : 'forbids'} it`);
        const element = el('div', { class: `handle ${isFixed ? 'fixed' : rule}`, role: 'slider',
            tabindex: '0', 'aria-label': `Cut ${i + 1}`, 'aria-valuemin': 1, 'aria-valuemax': n - 1,
            'aria-valuenow': unit, 'aria-valuetext': text,
            'aria-disabled': isFixed ? 'true' : null,
            onkeydown: (event) => plan.onHandleKey(event, i),
            onpointermove: (event) => tip.show(event, el('strong', {}, text),
                plan.neighbours(i).map((line) => el('div', {}, line)), isFixed ? null
                    : el('div', { class: 'status' }, 'Drag it, or use arrows and Delete')),
            onpointerleave: () => tip.hide(),
            ondblclick: () => plan.removeCut(i),
            onpointerdown: (event) => this.drag(event, i) });
        element.style.left = `${this.x(unit)}px`;
        return element;
    }

    unitAt(clientX) {
        return (clientX - this.picture.getBoundingClientRect().left - CHAIN.left) / this.each;
    }

    // A click between two layers sets a cut, one on a layer chooses its stage.
    onClick(event) {
        const at = this.unitAt(event.clientX);
        const unit = Math.round(at);
        const isBelowNames = event.clientY - this.picture.getBoundingClientRect().top > CHAIN.top;
        if (isBelowNames && unit > 0 && Math.abs(at - unit) * this.each <= Math.min(12,
            this.each / 3) && unit < this.model.numUnits && this.plan.rule(unit) !== 'forbidden')
            this.plan.setCuts([...this.plan.cuts, unit], `Cut after ${this.plan.names[unit - 1]}.`);
        else
            this.plan.chooseStage(this.plan.split.stages.findIndex((s) => s.last + 1 > at));
    }

    drag(event, i) {
        const { page } = this.plan;
        page.isHeld = true; // a drag is one change
        followPointer(event, (moved) => this.plan.moveCut(i, Math.round(this.unitAt(
            moved.clientX))), () => {
            page.isHeld = false;
            page.keepAddress();
        });
        this.focus(i);
    }

    focus(i) {
        if (document.activeElement !== this.handles[i])
            this.handles[i]?.focus();
    }
}
