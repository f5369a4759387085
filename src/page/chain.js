// ---- the chain ----------------------------------------------------------------------------------
// Each stage is a bar from 0 against the limit, as wide as its layers; the cuts are handles.

const CHAIN = { top: 46, height: 150, bottom: 40, left: 56, right: 10, overview: 30 };
const MANY_UNITS = 40; // from so many on the chain shows a part of all

// Texts that fit into so many pixels: the first one of those given, or none.
function fitting(width, ...texts) {
    return texts.find((text) => text.length * 7 + 4 <= width) || '';
}

class ChainView {
    constructor(plan) {
        this.plan = plan;
        this.model = plan.model;
        this.element = el('div', { class: 'chain' });
        this.window = null;
        this.place = 1;
        new ResizeObserver(() => {
            if (this.strip && this.width !== this.element.clientWidth)
                this.draw();
        }).observe(this.element);
    }

    get hasOverview() {
        return this.model.numUnits >= MANY_UNITS;
    }

    // The units that the chain shows: [from, to).
    shown() {
        const n = this.model.numUnits;
        if (!this.hasOverview)
            return { from: 0, to: n };
        if (this.window === null) {
            const hot = this.plan.split.stages[Verdict.bottleneck(this.plan.split)];
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

    draw() {
        const { plan } = this;
        this.width = this.element.clientWidth || 1000;
        const { from, to } = this.shown();
        this.left = CHAIN.left;
        const room = this.width - this.left - CHAIN.right;
        this.each = room / (to - from);
        this.x = (unit) => this.left + (unit - from) * this.each;
        const { stages } = plan.split;
        this.most = Math.max(...stages.map((s) => Math.max(s.limit_bytes, s.needs.most,
            s.need_bytes))) * 1.12;
        this.y = (value) => CHAIN.top + CHAIN.height * (1 - value / this.most);
        const height = CHAIN.top + CHAIN.height + CHAIN.bottom;
        const strip = el('div', { class: 'strip', role: 'group',
            'aria-label': 'The chain of layers with its cuts' });
        this.strip = strip;
        strip.append(svg('svg', { width: this.width, height, 'aria-hidden': 'true',
            onclick: (event) => this.onClick(event) }, this.axis(), this.bars(), this.forbidden(),
        this.bestMarks(), this.labels()));
        const own = this.plan.chosenStage;
        stages.forEach((stage, i) => {
            if (stage.last < from || stage.first >= to)
                return;
            const x0 = this.x(Math.max(stage.first, from));
            const shape = button('', () => plan.chooseStage(i), { class: 'stage-head',
                'aria-pressed': String(i === own), tabindex: '-1',
                'aria-label': `Stage ${i}: ${plan.range(stage.first, stage.last)}, ` +
                    `${kib(stage.need_bytes)}, ${stage.verdict}`,
                title: `${plan.range(stage.first, stage.last)}: ${kib(stage.need_bytes)}, ` +
                    stage.verdict });
            shape.style.left = `${x0}px`;
            shape.style.width = `${this.x(Math.min(stage.last + 1, to)) - x0}px`;
            strip.append(shape);
        });
        this.handles = plan.cuts.map((unit, i) => this.handle(unit, i, from, to));
        strip.append(...this.handles.filter((handle) => handle.isShown).map((h) => h.element),
            this.placeHandle(from, to));
        replace(this.element, this.hasOverview ? this.overview() : null, strip);
    }

    axis() {
        const parts = [];
        const right = this.width - CHAIN.right;
        for (const value of ticks(this.most, 4))
            parts.push(svg('line', { x1: this.left, x2: right, y1: this.y(value),
                y2: this.y(value), class: 'grid' }), svg('text', { x: this.left - 6,
                y: this.y(value) + 4, class: 'tick end' }, tickText(value)));
        return parts;
    }

    bars() {
        const { plan } = this;
        const { stages } = plan.split;
        const { from, to } = this.shown();
        const hottest = plan.together(stages[Verdict.bottleneck(plan.split)]);
        const base = CHAIN.top + CHAIN.height;
        const limits = []; // neighbours with one limit have one line
        const parts = [];
        stages.forEach((s, i) => {
            if (s.last < from || s.first >= to)
                return;
            const x0 = this.x(Math.max(s.first, from)) + 1;
            const x1 = this.x(Math.min(s.last + 1, to)) - 1;
            const middle = (x0 + x1) / 2;
            const need = this.y(s.need_bytes);
            const atLimit = this.y(s.limit_bytes);
            const name = s.ipu < 0 ? `stage ${i}` : `IPU ${s.ipu}`;
            const units = plan.range(s.first, s.last);
            const share = percentOfLimit(s.need_bytes, s.limit_bytes);
            const last = limits[limits.length - 1];
            if (last !== undefined && last.value === s.limit_bytes)
                last.to = x1;
            else
                limits.push({ value: s.limit_bytes, from: x0, to: x1 });
            if (plan.hasNoPlan())
                return;
            const isHot = hottest.includes(s);
            parts.push(svg('rect', { x: x0, y: need, width: x1 - x0, height: base - need,
                class: `fill${isHot ? ' hot' : ''}` }));
            if (need < atLimit)
                parts.push(svg('rect', { x: x0, y: need, width: x1 - x0,
                    height: atLimit - need, class: 'above' }));
            if (this.model.needs.length > 1 && x1 - x0 > 30)
                parts.push(svg('path', { class: 'whisker', d: `M${x1 - 18} ` +
                    `${this.y(s.needs.most)}h8m-4 0V${this.y(s.needs.least)}m-4 0h8` }));
            if (isHot)
                parts.push(svg('text', { x: middle, y: base - 8, class: 'on-bar' },
                    base - need > 24 ? fitting(x1 - x0, 'bottleneck') : ''));
            if (i === plan.chosenStage)
                parts.push(svg('rect', { x: x0, y: base + 1, width: x1 - x0, height: 3,
                    class: 'chosen-stage' }));
            parts.push(svg('text', { x: middle, y: 14, class: 'ipu' },
                fitting(x1 - x0, name, s.ipu < 0 ? '' : String(s.ipu))),
            svg('text', { x: middle, y: 30, class: 'tick middle' }, fitting(x1 - x0, units)),
            svg('text', { x: middle, y: Math.max(CHAIN.top + 10, need - 8), class: 'need' },
                fitting(x1 - x0 - 26, `${kib(s.need_bytes)} · ${share}`, kib(s.need_bytes),
                    kib(s.need_bytes).replace(/ .*/, ''))));
        });
        for (const limit of limits)
            parts.push(svg('line', { x1: limit.from, x2: limit.to, y1: this.y(limit.value),
                y2: this.y(limit.value), class: 'limit' }), svg('text', { x: limit.to - 26,
                y: this.y(limit.value) - 5, class: 'limit-name' },
            fitting(limit.to - limit.from, `limit ${kib(limit.value)}`)));
        return parts;
    }

    forbidden() {
        const { from, to } = this.shown();
        const parts = [];
        for (let unit = Math.max(1, from); unit < to; unit++) {
            const isRequired = (this.model.wishes.cut_rules[unit] & 1) !== 0;
            if (this.plan.rule(unit) === 'forbidden')
                parts.push(svg('rect', { x: this.x(unit) - 4, y: CHAIN.top, width: 8,
                    height: CHAIN.height, class: 'no-cut' }));
            if (isRequired && !this.plan.cuts.includes(unit))
                parts.push(svg('line', { x1: this.x(unit), x2: this.x(unit), y1: CHAIN.top - 6,
                    y2: CHAIN.top + CHAIN.height, class: 'missing-cut' }), svg('text', {
                    x: this.x(unit), y: CHAIN.top - 10, class: 'need no' }, 'cut required' +
                    `${this.plan.rule(unit) === 'forbidden' ? ', and forbidden' : ''}`));
        }
        return parts;
    }

    bestMarks() {
        const { best } = this.plan;
        const { from, to } = this.shown();
        const y = CHAIN.top + CHAIN.height + 4;
        const isWorse = this.plan.answer.status === 'bounded' && this.plan.isTold();
        return best === null || isWorse ? [] : best.cuts.filter((unit) => unit > from && unit < to)
            .map((unit) => svg('path', { d: `M${this.x(unit)} ${y}l5 8h-10Z`, class: 'mark' }));
    }

    labels() {
        const { labels } = this.model.chain;
        const { from, to } = this.shown();
        const each = [1, 2, 5, 10, 20, 50, 100].find((k) => k * this.each >= 26) || 200;
        const y = CHAIN.top + CHAIN.height;
        const alone = this.alone();
        const most = Math.max(1, ...alone);
        const parts = [];
        for (let unit = from; unit < to; unit++) {
            parts.push(svg('rect', { x: this.x(unit) + 1, y: y + 32, height: 7, rx: 2,
                width: Math.max(1, this.each - 2), class: 'cell',
                'fill-opacity': (0.12 + 0.88 * alone[unit] / most).toFixed(2) }));
            if ((unit - from) % each === 0)
                parts.push(svg('text', { x: this.x(unit + 0.5), y: y + 26,
                    class: 'tick middle' }, fitting(Math.max(30, this.each * each), labels[unit],
                    `${labels[unit].slice(0, Math.floor(this.each * each / 7) - 1)}…`)));
        }
        return parts;
    }

    // Shows the need of each unit as a stage alone.
    alone() {
        const { model, plan } = this;
        if (!this.ownAlone || this.aloneNeed !== plan.settings.need ||
            this.alonePipeline !== plan.settings.pipeline) {
            this.ownAlone = Array.from({ length: model.numUnits },
                (_, unit) => Model.aloneBytes(model, plan.settings, unit));
            this.aloneNeed = plan.settings.need;
            this.alonePipeline = plan.settings.pipeline;
        }
        return this.ownAlone;
    }

    // ---- cuts ----

    handle(unit, i, from, to) {
        const { plan } = this;
        const n = this.model.numUnits;
        const rule = plan.rule(unit);
        const { stages } = plan.split;
        const text = `Cut after ${plan.label(unit - 1)}: ${plan.place(i)} needs ` +
            `${kib(stages[i].need_bytes)}, ${plan.place(i + 1)} ${kib(stages[i + 1].need_bytes)}` +
            `${rule === 'required' ? '; the command requires it' : ''}` +
            `${rule === 'forbidden' ? '; the command forbids it' : ''}`;
        const element = el('div', { class: `handle ${rule}`, role: 'slider', tabindex: '0',
            'aria-label': `Cut ${i + 1}`, 'aria-valuemin': 1, 'aria-valuemax': n - 1,
            'aria-valuenow': unit, 'aria-valuetext': text,
            'aria-disabled': rule === 'required' ? 'true' : null,
            title: rule === 'required' ? text : `${text}. Drag it, or use arrows and Delete`,
            onkeydown: (event) => plan.onHandleKey(event, i), ondblclick: () => plan.removeCut(i),
            onpointerdown: (event) => this.drag(event, i) });
        element.style.left = `${this.x(unit)}px`;
        return { element, isShown: unit > from && unit < to, focus: () => element.focus() };
    }

    // A place between layers, for the keyboard: Enter sets a cut there.
    placeHandle(from, to) {
        const { plan } = this;
        const n = this.model.numUnits;
        this.place = Math.max(1, Math.min(n - 1, this.place));
        const element = el('div', { class: 'place', role: 'slider', tabindex: '0',
            'aria-label': 'Place for another cut', 'aria-valuemin': 1, 'aria-valuemax': n - 1,
            'aria-valuenow': this.place, 'aria-valuetext':
                `after ${plan.label(this.place - 1)}; Enter sets a cut`, onkeydown: (event) => {
                const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
                if (event.key === 'Enter' || event.key === ' ')
                    plan.setCuts([...plan.cuts, this.place], 'Another cut.');
                else if (step === undefined)
                    return;
                else
                    this.place += step;
                event.preventDefault();
                if (this.place <= from || this.place >= to)
                    this.window = this.hasOverview ? this.moved(this.place - 15, to - from)
                        : this.window;
                this.draw();
                this.strip.querySelector('.place').focus();
            } });
        element.style.left = `${this.x(Math.max(from, Math.min(to, this.place)))}px`;
        return element;
    }

    unitAt(clientX) {
        const box = this.strip.getBoundingClientRect();
        return this.shown().from + (clientX - box.left - this.left) / this.each;
    }

    // A click between two layers sets a cut, one on a layer chooses its stage.
    onClick(event) {
        const at = this.unitAt(event.clientX);
        const unit = Math.round(at);
        if (Math.abs(at - unit) * this.each <= Math.min(12, this.each / 3) && unit > 0 &&
            unit < this.model.numUnits && this.plan.rule(unit) !== 'forbidden')
            this.plan.setCuts([...this.plan.cuts, unit], `Cut after ${this.plan.label(unit - 1)}.`);
        else
            this.plan.chooseStage(this.plan.split.stages.findIndex((s) => s.last + 1 > at));
    }

    // Follows the pointer until it is let go; at the edge of a part the chain moves along.
    drag(event, i) {
        event.preventDefault();
        const end = this.plan.beginChange();
        const onMove = (moved) => {
            const { from, to } = this.shown();
            const at = Math.round(this.unitAt(moved.clientX));
            if (this.hasOverview && (at <= from || at >= to))
                this.window = this.moved(from + (at <= from ? -1 : 1), to - from);
            this.plan.moveCut(i, at);
        };
        const onUp = () => {
            document.removeEventListener('pointermove', onMove);
            document.removeEventListener('pointerup', onUp);
            document.removeEventListener('pointercancel', onUp);
            end();
        };
        document.addEventListener('pointermove', onMove);
        document.addEventListener('pointerup', onUp);
        document.addEventListener('pointercancel', onUp);
        this.handles[i].focus();
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
        this.handles[i].focus();
    }

    // ---- all units ----

    overview() {
        const n = this.model.numUnits;
        const { from, to } = this.shown();
        const room = this.width - this.left - CHAIN.right;
        const x = (unit) => this.left + unit / n * room;
        const base = CHAIN.overview;
        const hot = Verdict.bottleneck(this.plan.split);
        const y = (value) => base * (1 - value / this.most);
        const parts = this.plan.split.stages.map((s, i) => svg('rect', { x: x(s.first) + 0.5,
            width: Math.max(1, x(s.last + 1) - x(s.first) - 1), y: y(s.need_bytes),
            height: base - y(s.need_bytes), class: `fill${i === hot ? ' hot' : ''}` +
                `${s.fits === false ? ' above' : ''}` }));
        for (const { limit_bytes: limit, first, last } of this.plan.split.stages)
            parts.push(svg('line', { x1: x(first), x2: x(last + 1), y1: y(limit) + 0.5,
                y2: y(limit) + 0.5, class: 'limit' }));
        for (const unit of this.plan.cuts)
            parts.push(svg('line', { x1: x(unit), x2: x(unit), y1: 0, y2: base, class: 'cut' }));
        const picture = svg('svg', { width: this.width, height: base + 2, role: 'slider',
            tabindex: '0', class: 'overview', 'aria-label': 'Part of the chain that is shown',
            'aria-valuemin': 0, 'aria-valuemax': n - (to - from), 'aria-valuenow': from,
            'aria-valuetext': `${this.plan.label(from)} to ${this.plan.label(to - 1)}`,
            onkeydown: (event) => {
                const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10,
                    Home: -n, End: n }[event.key];
                if (step === undefined)
                    return;
                event.preventDefault();
                this.window = this.moved(from + step, to - from);
                this.draw();
                this.element.querySelector('.overview').focus();
            }, onpointerdown: (event) => this.dragWindow(event, room) }, parts,
        svg('rect', { x: x(from), y: 0.5, width: x(to) - x(from), height: base + 1,
            class: 'window' }));
        return picture;
    }

    // The window follows the pointer; at one of its edges it gets wider or narrower.
    dragWindow(event, room) {
        const n = this.model.numUnits;
        const box = this.element.getBoundingClientRect();
        const unit = (moved) => (moved.clientX - box.left - this.left) / room * n;
        const start = unit(event);
        const { from, to } = this.shown();
        const near = 8 / room * n;
        const edge = Math.abs(start - from) < near ? 'from' : Math.abs(start - to) < near ? 'to' : '';
        const offset = start >= from && start <= to ? start - from : (to - from) / 2;
        const onMove = (moved) => {
            const at = unit(moved);
            this.window = edge === 'from' ? this.moved(at, to - Math.min(to - 4, at))
                : edge === 'to' ? this.moved(from, at - from) : this.moved(at - offset, to - from);
            this.draw();
        };
        const onUp = () => {
            document.removeEventListener('pointermove', onMove);
            document.removeEventListener('pointerup', onUp);
        };
        event.preventDefault();
        onMove(event);
        document.addEventListener('pointermove', onMove);
        document.addEventListener('pointerup', onUp);
    }
}
