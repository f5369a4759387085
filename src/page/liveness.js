// ---- liveness over the steps --------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

class LivenessView {
    constructor(page) {
        this.page = page;
        this.table = page.tables.liveness;
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.holder = el('div');
        this.whose = 'all';
        this.hasAlways = true;
        this.element = el('div', {}, el('p', { class: 'tools' }, field('Show', choice([
            ['all', 'all tiles together'], ['largest', 'the tile with most live memory'],
            ...page.places.linedTiles().map((tile) => [String(tile), `tile ${grouped(tile)}`]),
        ], this.whose, (whose) => {
            this.whose = whose;
            this.draw();
        })), tick('Always live', true, (hasAlways) => {
            this.hasAlways = hasAlways;
            this.draw();
        }),
        el('span', { class: 'status' }, 'Single tiles: those of stages, and some others.')),
        this.holder, this.detail);
        this.draw();
    }

    series() {
        const live = this.table.column('live_bytes');
        if (this.whose === 'largest')
            return [{ name: 'live on this tile',
                values: this.table.column('largest_tile_live_bytes'), color: color(1) }];
        const tile = Number(this.whose); // or all
        const always = this.page.tables.tiles.column('always_live_bytes')[tile];
        const rest = this.whose === 'all' ? this.table.column('not_always_live_bytes')
            : this.page.places.liveOf(tile);
        // always-live memory can be left out, for it may hide the rest
        return [...!this.hasAlways ? [] : [{ name: 'always live', color: color(0),
            values: live.map((value, i) => always ?? value - rest[i]) }],
        { name: 'not always live', values: rest, color: color(1) }];
    }

    draw() {
        Chart.put(this, { title: 'Live memory by step', label: 'step', unit: bytes,
            series: this.series(),
            bands: bandsOf(this.table.column('unit').map((unit) => unit || 'none')),
            limit: this.whose === 'largest' || (this.whose !== 'all' && this.hasAlways)
                ? { value: this.page.data.bytes_per_tile, name: 'memory of a tile' } : null,
            onChoose: (step) => {
                this.drawStep(step);
                this.page.keepAddress();
            } });
        if (this.table.numRows > 0)
            this.drawStep(this.chart.chosen ?? largestOf(this.table.column('live_bytes')));
    }

    // Where the stages of the plan on screen need most.
    markStages(split) {
        this.chart.mark(split.stages.map((stage, i) => ({ at: stage.peak.step,
            name: `stage ${i}: step ${stage.peak.step}` })));
    }

    drawStep(step) {
        const value = (name) => this.table.column(name)[step];
        const { page } = this;
        this.step = step;
        const isCompared = this.kept !== undefined && this.kept !== null;
        replace(this.detail, el('h3', {}, `Step ${grouped(step)}`), facts([
                ['program', `${value('type') || ''} ${shorten(value('name') || '')}`],
                ['layer', value('unit') || 'none'],
                ['operation', shorten(page.operationAt(step) || 'none')],
                ...this.chart.series.map(({ name, values }) =>
                    [name, `${grouped(values[step])} B`]),
            ]), button(isCompared ? `Stop comparing with step ${grouped(this.kept)}`
                : 'Compare with another step', () => {
                this.kept = isCompared ? null : step;
                this.drawStep(this.step);
            }), isCompared ? this.comparedSteps(this.kept, step) : this.liveTable(step));
    }

    nameOf(item) {
        return nameCell(this.page.variableName(item.variable - 1),
            item.variable === 0 ? '(of no variable)' : '(no name)');
    }

    // Lists the variables of a step, each with its lifetime as a bar, and the step as a line.
    liveTable(step) {
        const { items, isWhole } = this.page.places.liveAt(step);
        const named = items.filter((item) => item.variable > 0);
        const shown = items.slice(0, 30);
        const own = shown.filter((item) => item.variable > 0);
        const from = Math.max(step - 60, Math.min(step, ...own.map((item) => item.from)));
        const to = Math.min(step + 60, Math.max(step, ...own.map((item) => item.to))) + 1;
        const x = (at) => Math.max(0, Math.min(1, (at - from) / (to - from))) * 200;
        const bar = (item) => smallBar('lifetime', 200, ['box-peak', x(item.from),
            Math.max(2, x(item.to + 1) - x(item.from)), 6],
        ['now', x(step), Math.max(1, x(step + 1) - x(step))]);
        return smallTable(`Live at this step, and not always: ${grouped(named.length)} ` +
            'variables, and by category what belongs to none' + (isWhole ? ''
            : ' (the page has the largest only)'), ['#bytes live', 'category', 'from – to step',
            `steps ${grouped(from)} – ${grouped(to - 1)}`, 'name'],
        shown.map((item) => [grouped(item.bytes), this.page.data.categories[item.category],
            item.variable === 0 ? '' : `${grouped(item.from)} – ${grouped(item.to)}`,
            item.variable === 0 ? '' : bar(item), this.nameOf(item)]));
    }

    // Lists the variables that came or went between two steps, the largest difference first.
    comparedSteps(first, second) {
        const items = [first, second].flatMap((step) => this.page.places.liveAt(step).items.map(
            (item) => ({ ...item, step })));
        const rows = [...Map.groupBy(items, (item) => item.variable * 256 + item.category).values()]
            .map((own) => ({ item: own[0], bytes: [first, second].map((step) =>
                own.find((item) => item.step === step)?.bytes ?? 0) }));
        const change = ({ bytes: [before, after] }) => after - before;
        const changed = rows.filter((row) => change(row) !== 0).sort((a, b) =>
            Math.abs(change(b)) - Math.abs(change(a)));
        const word = ({ bytes: [before, after] }) => before === 0 ? 'came' : after === 0 ? 'went'
            : 'differs';
        return first === second ? el('p', { class: 'status' },
            'Choose another step in the chart, by a click or the arrow keys.')
            : smallTable(`From step ${grouped(first)} to step ${grouped(second)}: ` +
                `${several(changed.length, 'change', 'changes')} in what is not always live`,
            [`#step ${grouped(first)}`, `#step ${grouped(second)}`, '#difference', '', 'category',
                'name'],
            changed.slice(0, 40).map((row) => [...row.bytes.map(grouped),
                difference(change(row), grouped), word(row),
                this.page.data.categories[row.item.category], this.nameOf(row.item)]));
    }
}
