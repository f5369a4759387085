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
        const { variables } = this.page.tables;
        const first = variables.column('first_step');
        const last = variables.column('last_step');
        const sizes = variables.column('size_bytes');
        const always = variables.column('always_live');
        const found = [];
        for (let i = 0; i < variables.numRows; i++)
            if (!always[i] && first[i] !== null && first[i] <= step && step <= last[i])
                found.push(i);
        found.sort((a, b) => sizes[b] - sizes[a] || a - b);
        replace(this.detail, el('h3', {}, `Step ${grouped(step)}`),
            facts([
                ['program', `${value('type') || ''} ${shorten(value('name') || '')}`],
                ['layer', value('unit') || 'none'],
                ['operation', this.page.operationAt(step) === null ? 'none'
                    : shorten(this.page.operationAt(step))],
                ['not always live', `${grouped(value('not_always_live_bytes'))} B`],
                ['live', `${grouped(value('live_bytes'))} B`],
            ]),
            smallTable(`The largest of ${grouped(found.length)} variables that are first live at ` +
                'this step or before, last at it or behind', [['bytes', true],
                ['category', false], ['steps', false], ['name', false]],
            found.slice(0, 20).map((i) => [grouped(sizes[i]), variables.column('category')[i],
                `${grouped(first[i])} – ${grouped(last[i])}`,
                el('span', { title: (variables.column('name')[i] || '').slice(0, 2000) },
                    shorten(variables.column('name')[i] || '(no name)'))])));
    }
}
