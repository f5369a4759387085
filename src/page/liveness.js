// ---- liveness over the steps --------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

const LIVE_SHOWN = 40; // variables
const LIFE_STEPS = 60; // around a step, of bars
const LIFE_WIDTH = 200;

class LivenessView {
    constructor(page) {
        Object.assign(this, { page, table: page.tables.liveness, whose: 'all', hasAlways: true });
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.chart = new Chart({ title: 'Live memory by step', label: 'step', unit: bytes,
            bands: bandsOf(this.table.column('unit').map((unit) => unit || 'none')),
            onChoose: (step) => {
                this.drawStep(step);
                page.keepAddress();
            } });
        this.element = el('div', {}, el('p', { class: 'tools' }, field('Show', choice([
            ['all', 'all tiles together'], ['largest', 'the tile with most live memory'],
            ...page.places.linedTiles().map((tile) => [String(tile), `tile ${grouped(tile)}`]),
        ], this.whose, (whose) => this.draw({ whose }))),
        tick('Always live', true, (hasAlways) => this.draw({ hasAlways })),
        el('span', { class: 'status' }, 'Single tiles: those of stages, and some others.')),
        this.chart.element, this.detail);
        this.draw({});
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

    draw(what) {
        Object.assign(this, what);
        this.chart.set({ series: this.series(),
            limit: this.whose === 'largest' || (this.whose !== 'all' && this.hasAlways)
                ? { value: this.page.data.bytes_per_tile, name: 'memory of a tile' } : null });
        if (this.table.numRows > 0)
            this.drawStep(this.chart.chosen ?? largestOf(this.table.column('live_bytes')));
    }

    // Where the stages of the plan on screen need most.
    markStages(split) {
        this.chart.set({ marks: split.stages.map((stage, i) => ({ at: stage.peak.step,
            name: `stage ${i}: step ${stage.peak.step}` })) });
    }

    drawStep(step) {
        const value = (name) => this.table.column(name)[step];
        const { page, kept = null } = this;
        replace(this.detail, el('h3', {}, `Step ${grouped(step)}`), facts([
            ['program', `${value('type') || ''} ${shorten(value('name') || '')}`],
            ['layer', value('unit') || 'none'],
            ['operation', shorten(page.operationAt(step) || 'none')],
            ...this.chart.series.map(({ name, values }) => [name, `${grouped(values[step])} B`]),
        ]), button(kept !== null ? `Stop comparing with step ${grouped(kept)}`
            : 'Compare with another step', () => {
            this.kept = kept === null ? step : null;
            this.drawStep(step);
        }), kept === step ? el('p', { class: 'status' },
            'Choose another step in the chart, by a click or the arrow keys.')
            : this.variables(kept === null ? [step] : [kept, step]));
    }

    // Lists the variables of a step, or those that came or went between two, with their lifetimes
    // as bars, and the steps as lines.
    variables(steps) {
        const { places, data } = this.page;
        const [first, last] = [steps[0], steps.at(-1)];
        const items = steps.flatMap((step) => places.liveAt(step).items.map((item) =>
            ({ ...item, step })));
        const rows = [...Map.groupBy(items, (item) => item.variable * 256 + item.category).values()]
            .map((own) => {
                const sizes = steps.map((step) =>
                    own.find((item) => item.step === step)?.bytes ?? 0);
                return { ...own[0], sizes, change: steps.length > 1 ? sizes[1] - sizes[0]
                    : sizes[0] };
            }).filter(({ change }) => change !== 0).sort((a, b) =>
                Math.abs(b.change) - Math.abs(a.change));
        const number = rows.filter(({ variable }) => variable > 0).length;
        const shown = rows.slice(0, LIVE_SHOWN);
        const [least, most] = [Math.min(...steps), Math.max(...steps)];
        const named = shown.filter(({ variable }) => variable > 0);
        const from = Math.max(least - LIFE_STEPS, Math.min(least, ...named.map((own) => own.from)));
        const to = Math.min(most + LIFE_STEPS, Math.max(most, ...named.map((own) => own.to))) + 1;
        const x = (at) => Math.max(0, Math.min(1, (at - from) / (to - from))) * LIFE_WIDTH;
        const caption = steps.length > 1 ? `From step ${grouped(first)} to step ${grouped(last)}: ${
            several(rows.length, 'change', 'changes')} in what is not always live`
            : `Live at this step, and not always: ${grouped(number)} variables, and by category ` +
                `what belongs to none${places.liveAt(last).isWhole ? ''
                    : ' (the page has the largest only)'}`;
        return smallTable(caption, [...steps.map((step) => `#bytes at ${grouped(step)}`),
            ...steps.length > 1 ? ['#difference'] : [], 'category', 'from – to step',
            `steps ${grouped(from)} – ${grouped(to - 1)}`, 'name'], shown.map((own) => [
            ...own.sizes.map(grouped), ...steps.length > 1 ? [difference(own.change, grouped)] : [],
            data.categories[own.category], ...own.variable === 0 ? ['', '']
                : [`${grouped(own.from)} – ${grouped(own.to)}`, smallBar('lifetime', LIFE_WIDTH,
                    ['life', x(own.from), Math.max(2, x(own.to + 1) - x(own.from)), 6],
                    ...steps.map((step) => ['now', x(step), Math.max(1, x(step + 1) - x(step))]))],
            nameCell(this.page.variableName(own.variable - 1),
                own.variable === 0 ? '(of no variable)' : '(no name)')]));
    }
}
