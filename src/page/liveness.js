// ---- liveness over the steps --------------------------------------------------------------------

class LivenessView {
    constructor(page) {
        this.page = page;
        this.table = page.tables.liveness;
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.holder = el('div');
        this.whose = 'all';
        this.element = el('div', {}, el('p', { class: 'tools' }, field('Show', choice([
            ['all', 'all tiles together'],
            ['largest', 'the tile with most live memory'],
        ], this.whose, (whose) => {
            this.whose = whose;
            this.draw();
        }))), this.holder, this.detail);
        this.marks = [];
        this.draw();
    }

    series() {
        const rest = this.table.column('not_always_live_bytes');
        const live = this.table.column('live_bytes');
        if (this.whose === 'largest')
            return [{ name: 'live on this tile',
                values: this.table.column('largest_tile_live_bytes'), color: color(1) }];
        return [
            { name: 'always live', values: live.map((value, i) => value - rest[i]),
                color: color(0) },
            { name: 'not always live', values: rest, color: color(1) },
        ];
    }

    // Steps in a row that run for one unit.
    bands() {
        const units = this.table.column('unit');
        const result = [];
        units.forEach((unit, i) => {
            const last = result[result.length - 1];
            if (last !== undefined && last.name === (unit || 'none'))
                last.to = i + 1;
            else
                result.push({ from: i, to: i + 1, name: unit || 'none' });
        });
        return result;
    }

    draw() {
        const chosen = this.chart ? this.chart.chosen : null;
        this.chart = new Chart({
            title: 'Live memory by step', label: 'step', unit: bytes, series: this.series(),
            bands: this.bands(), marks: this.marks, chosen,
            limit: this.whose === 'largest' ? { value: this.page.data.bytes_per_tile,
                name: 'memory of a tile' } : null,
            onChoose: (step) => this.drawStep(step),
        });
        replace(this.holder, this.chart.element);
        if (this.table.numRows > 0) {
            const live = this.table.column('live_bytes');
            this.drawStep(chosen !== null ? chosen
                : live.reduce((best, value, i) => value > live[best] ? i : best, 0));
        }
    }

    // Where the stages of the plan on screen need most.
    markStages(split) {
        this.marks = split.stages.map((stage, i) => ({ at: stage.step,
            name: `stage ${i}: step ${stage.step}` }));
        this.chart.marks = this.marks;
        this.chart.draw();
    }

    choose(step) {
        this.chart.choose(step);
    }

    drawStep(step) {
        const value = (name) => this.table.column(name)[step];
        const { items, isWhole } = this.page.places.liveAt(step);
        const named = items.filter((item) => item.variable > 0);
        const name = (item) => item.variable === 0 ? '' : this.nameOf(item.variable - 1);
        replace(this.detail, el('h3', {}, `Step ${grouped(step)}`),
            facts([
                ['program', `${value('type') || ''} ${shorten(value('name') || '')}`],
                ['layer', value('unit') || 'none'],
                ['operation', this.page.operationAt(step) === null ? 'none'
                    : shorten(this.page.operationAt(step))],
                ['not always live', `${grouped(value('not_always_live_bytes'))} B`],
                ['live', `${grouped(value('live_bytes'))} B`],
            ]),
            smallTable(`Live at this step, and not always: ${grouped(named.length)} variables, ` +
                'and by category what belongs to none' + (isWhole ? ''
                : ' (the page has the largest only)'), [['bytes live', true],
                ['category', false], ['from – to step', false], ['name', false]],
            items.slice(0, 30).map((item) => [grouped(item.bytes),
                this.page.data.categories[item.category],
                item.variable === 0 ? '' : `${grouped(item.from)} – ${grouped(item.to)}`,
                el('span', { title: name(item).slice(0, 2000) },
                    shorten(name(item) || (item.variable === 0 ? '(of no variable)'
                        : '(no name)')))])));
    }

    nameOf(number) {
        if (!this.names) {
            const names = this.page.tables.variables.column('name');
            this.names = new Map(this.page.tables.variables.column('variable').map((n, i) =>
                [n, names[i] || '']));
        }
        return this.names.get(number) || '';
    }
}
