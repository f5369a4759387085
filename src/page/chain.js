// ---- the chain ----------------------------------------------------------------------------------
// Each stage is a bar, as wide as its layers: its memory against the limit, or its time. The cuts
// are handles.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const CHAIN = { top: 46, height: 150, bottom: 40, left: 64, right: 10, overview: 30 };
const MOST_OVER = 6; // times the largest need: a limit beyond is not drawn
const MANY_UNITS = 40; // from so many on the chain shows a part of all

// Texts that fit into so many pixels: the first one of those given, or none.
function fitting(width, ...texts) {
    return texts.find((text) => text.length * 7 + 4 <= width) || '';
}

class ChainView {
    constructor(plan) {
        const { model } = plan;
        Object.assign(this, { plan, model, window: null, width: FIRST_WIDTH,
            isOfTime: isTime(plan.settings.objectives[0]),
            buttons: el('div', { class: 'head' }) });
        this.element = el('div', { class: 'chain' });
        this.hasOverview = model.numUnits >= MANY_UNITS;
        onResize(this, () => this.strip && this.draw());
    }

    // The units that the chain shows: [from, to).
    shown() {
        const n = this.model.numUnits;
        if (!this.hasOverview)
            return { from: 0, to: n };
        if (this.window === null) {
            const { document, stages } = this.plan.split;
            const hot = stages[document.bottleneck];
            const middle = Math.floor((hot.first + hot.last + 1) / 2);
            this.window = this.moved(middle - 15, 30);
        }
        return this.window;
    }

    moved(from, size) {
        const n = this.model.numUnits;
        const width = Math.max(4, Math.min(n, size));
        const start = Math.max(0, Math.min(n - width, Math.round(from)));
        return { from: start, to: start + width };
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
        const { from, to } = this.shown();
        const room = this.width - CHAIN.left - CHAIN.right;
        this.each = room / (to - from);
        this.x = (unit) => CHAIN.left + (unit - from) * this.each;
        const { stages } = plan.split;
        const most = Math.max(1, ...stages.map(own.most));
        const needs = Math.max(1, ...stages.map((s) => Math.max(own.value(s), s.most)));
        // the limit is out of the picture where bars would be too low to show their parts
        this.most = 1.12 * (!this.isOfTime && most > MOST_OVER * needs ? 1.5 * needs : most);
        this.y = (value) => CHAIN.top + CHAIN.height * (1 - value / this.most);
        const height = CHAIN.top + CHAIN.height + CHAIN.bottom;
        const strip = el('div', { class: 'strip', role: 'group',
            'aria-label': 'The chain of layers with its cuts' });
        this.strip = strip;
        strip.append(svg('svg', { width: this.width, height, 'aria-hidden': 'true',
            onclick: (event) => this.onClick(event), onpointerleave: () => tip.hide(),
            onpointermove: (event) => this.onHover(event) },
        yAxis(own.ticks(this.most), this.y, CHAIN.left, this.width - CHAIN.right, own.tick),
        this.bars(own), this.cuts(), this.forbidden(), this.bestMarks(), this.labels()));
        this.handles = plan.cuts.map((unit, i) => this.handle(unit, i, from, to));
        strip.append(...this.handles.filter((handle) => handle.isShown).map((h) => h.element));
        this.drawHead();
        replace(this.element, this.hasOverview ? this.overview(own) : null, strip,
            this.legend());
    }

    // Parts of what a stage needs on its fullest tile, with their colours.
    partsOf(stage) {
        return !stage.peak || this.isOfTime ? [] : Object.entries(
            this.model.tileParts).map(([key, name], i) => ({ name, color: color(i),
            value: stage.peak[key] })).filter(({ value }) => value > 0);
    }

    // The choice of what bars show, and what can be done with the cuts.
    drawHead() {
        replace(this.buttons, !this.model.hasCycles ? null : el('span', { class: 'choices',
            role: 'group', 'aria-label': 'What bars show' }, [['Memory', false], ['Time', true]]
            .map(([text, isOfTime]) => button(text, () => {
                this.isOfTime = isOfTime;
                this.draw();
            }, { 'aria-pressed': `${this.isOfTime === isOfTime}` }))), this.plan.buttons);
    }

    legend() {
        const { stages } = this.plan.split;
        const parts = new Map(stages.flatMap((stage) => this.partsOf(stage))
            .map((part) => [part.name, part.color]));
        const isPale = !this.isOfTime && stages.some((s) => s.alone_bytes < s.need_bytes);
        return el('ul', { class: 'legend' }, [...parts].map(([name, fill]) =>
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
        const { from, to } = this.shown();
        const hottest = plan.together(stages[own.hot]);
        const slowest = own.value(stages[own.hot]);
        const base = CHAIN.top + CHAIN.height;
        const [limits, parts] = [[], []];
        stages.forEach((s, i) => {
            if (s.last < from || s.first >= to)
                return;
            const x0 = this.x(Math.max(s.first, from)) + 1;
            const x1 = this.x(Math.min(s.last + 1, to)) - 1;
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
            parts.push(svgRect(x0, fill, x1 - x0, base - fill, `fill${isHot ? ' hot' : ''}`));
            let sum = 0;
            for (const part of this.partsOf(s)) {
                const [top, foot] = [Math.max(fill, this.y(sum + part.value)), this.y(sum)];
                sum += part.value;
                parts.push(svg('rect', { x: x0 + 1, y: top, width: Math.max(0, x1 - x0 - 2),
                    height: Math.max(0, foot - top), fill: part.color }));
            }
            if (!this.isOfTime && s.alone_bytes < value) // the rest is of others on its IPU
                parts.push(svgRect(x0 + 1, fill, x1 - x0 - 2, Math.max(0,
                    this.y(s.alone_bytes) - fill), 'of-others'));
            if (need < atLimit)
                parts.push(svgRect(x0, need, x1 - x0, atLimit - need, 'above'));
            if (!this.isOfTime && this.model.needs.length > 1 && x1 - x0 > 30)
                parts.push(svg('path', { class: 'whisker', d: `M${x1 - 18} ` +
                    `${this.y(s.most)}h8m-4 0V${this.y(s.least)}m-4 0h8` }));
            if (this.isOfTime && value < slowest && base - need > 24)
                parts.push(svgText(middle, base - 8, 'on-bar',
                    fitting(x1 - x0, `then waits ${own.text(slowest - value)}`, 'waits')));
            if (i === plan.chosenStage)
                parts.push(svgRect(x0, base + 1, x1 - x0, 3, 'chosen-stage'));
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
        const { from, to } = this.shown();
        return this.plan.cuts.filter((unit) => unit > from && unit < to).map((unit) =>
            svgLine(this.x(unit), CHAIN.top, this.x(unit), CHAIN.top + CHAIN.height, 'cut'));
    }

    forbidden() {
        const { from, to } = this.shown();
        const parts = [];
        for (let unit = Math.max(1, from); unit < to; unit++) {
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
        const { best } = this.plan;
        const { from, to } = this.shown();
        const y = CHAIN.top + CHAIN.height + 4;
        return best === null ? [] : best.cuts.filter((unit) => unit > from && unit < to)
            .map((unit) => svg('path', { d: `M${this.x(unit)} ${y}l5 8h-10Z`, class: 'mark' }));
    }

    labels() {
        const labels = this.plan.names;
        const { from, to } = this.shown();
        const each = [1, 2, 5, 10, 20, 50, 100].find((k) => k * this.each >= 26) || 200;
        const y = CHAIN.top + CHAIN.height;
        const alone = Model.aloneBytes(this.model, this.plan.settings);
        const most = Math.max(1, ...alone);
        const parts = [];
        for (let unit = from; unit < to; unit++) {
            parts.push(svg('rect', { x: this.x(unit) + 1, y: y + 32, height: 7, rx: 2,
                width: Math.max(1, this.each - 2), class: 'cell',
                'fill-opacity': (0.12 + 0.88 * (alone[unit] || 0) / most).toFixed(2) }));
            if ((unit - from) % each === 0)
                parts.push(svgText(this.x(unit + 0.5), y + 26, 'tick middle',
                    fitting(Math.max(30, this.each * each), labels[unit],
                        `${labels[unit].slice(0, Math.floor(this.each * each / 7) - 1)}…`)));
        }
        return parts;
    }

    // ---- cuts ----

    handle(unit, i, from, to) {
        const { plan } = this;
        const n = this.model.numUnits;
        const rule = plan.rule(unit);
        const isFixed = plan.stays(unit);
        const { stages } = plan.split;
        const text = `Cut after ${plan.label(unit - 1)}: ${plan.place(i)} needs ` +
            `${bytes(stages[i].need_bytes)}, ${plan.place(i + 1)} ` +
            bytes(stages[i + 1].need_bytes) + (rule === 'free' ? ''
            : `; the command ${rule === 'required' ? 'requires' : 'forbids'} it`);
        const element = el('div', { class: `handle ${isFixed ? 'fixed' : rule}`, role: 'slider', tabindex: '0',
            'aria-label': `Cut ${i + 1}`, 'aria-valuemin': 1, 'aria-valuemax': n - 1,
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
        return { element, isShown: unit > from && unit < to };
    }

    unitAt(clientX) {
        const box = this.strip.getBoundingClientRect();
        return this.shown().from + (clientX - box.left - CHAIN.left) / this.each;
    }

    // A click between two layers sets a cut, one on a layer chooses its stage.
    onClick(event) {
        const at = this.unitAt(event.clientX);
        const unit = Math.round(at);
        const isBelowNames = event.clientY - this.strip.getBoundingClientRect().top > CHAIN.top;
        if (isBelowNames && unit > 0 && Math.abs(at - unit) * this.each <= Math.min(12,
            this.each / 3) && unit < this.model.numUnits && this.plan.rule(unit) !== 'forbidden')
            this.plan.setCuts([...this.plan.cuts, unit], `Cut after ${this.plan.label(unit - 1)}.`);
        else
            this.plan.chooseStage(this.plan.split.stages.findIndex((s) => s.last + 1 > at));
    }

    // Follows the pointer until it is let go; at the edge of a part the chain moves along.
    drag(event, i) {
        const end = this.plan.history.begin();
        followPointer(event, (moved) => {
            const { from, to } = this.shown();
            const at = Math.round(this.unitAt(moved.clientX));
            if (this.hasOverview && (at <= from || at >= to))
                this.window = this.moved(from + (at <= from ? -1 : 1), to - from);
            this.plan.moveCut(i, at);
        }, end);
        this.handles[i].element.focus();
    }

    focus(i) {
        const handle = this.handles[i];
        if (handle === undefined)
            return;
        if (!handle.isShown && this.hasOverview) {
            const { from, to } = this.shown();
            this.window = this.moved(this.plan.cuts[i] - (to - from) / 2, to - from);
            this.draw();
        }
        if (document.activeElement !== this.handles[i].element)
            this.handles[i].element.focus();
    }

    // ---- all units ----

    overview(own) {
        const n = this.model.numUnits;
        const { from, to } = this.shown();
        const room = this.width - CHAIN.left - CHAIN.right;
        const x = (unit) => CHAIN.left + unit / n * room;
        const base = CHAIN.overview;
        const y = (value) => base * (1 - value / this.most);
        const parts = this.plan.split.stages.map((s, i) => svgRect(x(s.first) + 0.5,
            y(own.value(s)), Math.max(1, x(s.last + 1) - x(s.first) - 1), base - y(own.value(s)),
            `fill${i === own.hot ? ' hot' : ''}${s.fits === false ? ' above' : ''}`));
        for (const stage of this.plan.split.stages) {
            const { first, last } = stage;
            const limit = own.limit(stage);
            if (limit < Infinity)
                parts.push(svgLine(x(first), y(limit) + 0.5, x(last + 1), y(limit) + 0.5, 'limit'));
        }
        this.plan.cuts.forEach((unit, i) => parts.push(svgLine(x(unit), 0, x(unit), base, 'cut'),
            svgText(x(unit), base + 14, 'tick middle', fitting(x(unit) - x(this.plan.cuts[i - 1] ||
                0), `${this.plan.label(unit - 1)} |`))));
        return svg('svg', { width: this.width, height: base + 18, role: 'slider',
            tabindex: '0', class: 'overview', 'aria-label': 'Part of the chain that is shown',
            'aria-valuemin': 0, 'aria-valuemax': n - (to - from), 'aria-valuenow': from,
            'aria-valuetext': `${this.plan.label(from)} to ${this.plan.label(to - 1)}`,
            onkeydown: (event) => {
                const step = { PageUp: -10, PageDown: 10, Home: -n, End: n, ...ARROWS }[event.key];
                if (step === undefined)
                    return;
                event.preventDefault();
                this.window = this.moved(from + step, to - from);
                this.draw();
            },
            onpointerdown: (event) => this.dragWindow(event, room) }, parts,
        svgRect(x(from), 0.5, x(to) - x(from), base + 1, 'window'));
    }

    // The window follows the pointer; at one of its edges it gets wider or narrower.
    dragWindow(event, room) {
        const n = this.model.numUnits;
        const box = this.element.getBoundingClientRect();
        const unit = (moved) => (moved.clientX - box.left - CHAIN.left) / room * n;
        const start = unit(event);
        const { from, to } = this.shown();
        const near = 8 / room * n;
        const edge = Math.abs(start - from) < near ? 'from'
            : Math.abs(start - to) < near ? 'to' : '';
        const offset = start >= from && start <= to ? start - from : (to - from) / 2;
        const onMove = (moved) => {
            const at = unit(moved);
            this.window = edge === 'from' ? this.moved(at, to - Math.min(to - 4, at))
                : edge === 'to' ? this.moved(from, at - from) : this.moved(at - offset, to - from);
            this.draw();
        };
        onMove(event);
        followPointer(event, onMove);
    }
}
