// ---- liveness over the steps --------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

const LIVE_SHOWN = 40; // variables
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
        const fullest = largestOf(page.tables.tiles.column('live_bytes'));
        this.element = el('div', {}, el('p', { class: 'tools' }, field('Show', choice([
            ['all', 'all tiles together'], ...page.places.linedTiles().map((tile) =>
                [String(tile), `tile ${grouped(tile)}${tile === fullest ? ', the fullest' : ''}`]),
        ], this.whose, (whose) => this.draw({ whose }))),
        tick('Always live', true, (hasAlways) => this.draw({ hasAlways })),
        el('span', { class: 'status' }, 'Single tiles: those of stages, and some others.')),
        this.chart.element, this.detail);
        this.draw({});
    }

    series() {
        const live = this.table.column('live_bytes');
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
            limit: this.whose === 'all' || !this.hasAlways ? null
                : { value: this.page.data.bytes_per_tile, name: 'memory of a tile' } });
        if (this.table.numRows > 0)
            this.drawStep(this.chart.chosen ?? largestOf(this.table.column('live_bytes')));
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

    // Lists the variables of a step, or those that differ between two, with their lifetimes as
    // bars, and the steps as lines.
    variables(steps) {
        const { places, data } = this.page;
        const isOne = steps.length === 1;
        const at = steps.map((step) => places.liveAt(step));
        const keyOf = ({ variable, category }) => variable * 256 + category;
        const sizes = at.map(({ items }) => new Map(items.map((own) => [keyOf(own), own.bytes])));
        const all = new Map(at.flatMap(({ items }) => items).map((own) => [keyOf(own), own]));
        const rows = [...all].map(([key, own]) => {
            const both = sizes.map((of) => of.get(key) || 0);
            return { ...own, both, change: isOne ? both[0] : both[1] - both[0] };
        }).filter(({ change }) => change !== 0).sort((a, b) =>
            Math.abs(b.change) - Math.abs(a.change));
        const x = (step) => step / data.num_steps * LIFE_WIDTH;
        const number = rows.filter(({ variable }) => variable > 0).length;
        return smallTable(isOne ? `Live at this step, and not always: ${grouped(number)} ` +
            `variables, and by category what belongs to none${at[0].isWhole ? ''
                : ' (the page has the largest only)'}`
            : `From step ${steps.map(grouped).join(' to step ')}: ${
                several(rows.length, 'change', 'changes')} in what is not always live`,
        [...steps.map((step) => `#bytes at ${grouped(step)}`), ...isOne ? [] : ['#difference'],
            'category', 'from – to step', `of ${grouped(data.num_steps)} steps`, 'name'],
        rows.slice(0, LIVE_SHOWN).map(({ both, change, category, variable, from, to }) => [
            ...both.map(grouped), ...isOne ? [] : [difference(change, grouped)],
            data.categories[category], ...variable === 0 ? ['', '']
                : [`${grouped(from)} – ${grouped(to)}`, smallBar('lifetime', LIFE_WIDTH,
                    ['life', x(from), Math.max(2, x(to + 1 - from)), 6],
                    ...steps.map((step) => ['now', x(step), 1]))],
            nameCell(this.page.variableName(variable - 1),
                variable === 0 ? '(of no variable)' : '(no name)')]));
    }
}
