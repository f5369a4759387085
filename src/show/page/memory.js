// ---- memory of the tiles ------------------------------------------------------------------------

// The tiles of each IPU, where there are several.
function ipuBands(tiles) {
    const ipus = tiles.column('ipu');
    const result = [];
    if (ipus === undefined || ipus[0] === ipus[ipus.length - 1])
        return result;
    ipus.forEach((ipu, i) => {
        if (i === 0 || ipus[i - 1] !== ipu)
            result.push({ from: i, to: i + 1, name: `IPU ${ipu}` });
        else
            result[result.length - 1].to = i + 1;
    });
    return result;
}

class MemoryView {
    constructor(page) {
        this.page = page;
        this.table = page.tables.tiles;
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.holder = el('div');
        this.how = 'live';
        const { labels } = page.data.chain;
        this.stages = page.data.stage_tiles;
        const stages = this.stages.map((stage, i) => [String(i), `stage ${i} of the plan of the ` +
            `command, by itself: ${labels[stage.first]} – ${labels[stage.last]}`]);
        this.element = el('div', {}, el('p', { class: 'tools' }, field('Show', choice([
            ['live', 'what is live, and what the layout leaves unused'],
            ['categories', 'sizes of variables by category (some share addresses)'],
        ].concat(stages), this.how, (how) => {
            this.how = how;
            this.draw();
        }))), this.holder, this.detail);
        this.draw();
    }

    // The categories that take most, and the rest as one.
    categories() {
        const names = this.table.columns.filter((name) => name.startsWith('category_'));
        const all = names.map((name) => {
            const values = this.table.column(name);
            return { name: name.slice('category_'.length, -'_bytes'.length), values,
                sum: values.reduce((sum, value) => sum + value, 0) };
        }).filter((s) => s.sum > 0).sort((a, b) => b.sum - a.sum);
        const shown = all.slice(0, 12);
        const rest = all.slice(12);
        if (rest.length > 0)
            shown.push({ name: 'others', values: Float64Array.from({ length: this.table.numRows },
                (_, i) => rest.reduce((sum, s) => sum + s.values[i], 0)) });
        return shown;
    }

    live() {
        const column = (name) => this.table.column(name);
        const always = column('always_live_bytes');
        const rest = column('not_always_live_peak_bytes');
        const end = column('total_including_gaps_bytes');
        return [
            { name: 'always live', values: always },
            { name: 'not always live, at the peak', values: rest },
            { name: 'unused by the layout',
                values: end.map((value, i) => Math.max(0, value - always[i] - rest[i])) },
        ];
    }

    // What one stage of the plan needs, compiled by itself.
    ofStage(i) {
        const stage = this.stages[i];
        return Object.keys(PART_TEXTS).map((name) => ({ name: PART_TEXTS[name],
            values: Model.unpack(stage[name]) })).filter((s) => s.values.some((v) => v > 0));
    }

    draw() {
        const isStage = this.how !== 'live' && this.how !== 'categories';
        const series = isStage ? this.ofStage(Number(this.how))
            : this.how === 'live' ? this.live() : this.categories();
        series.forEach((s, i) => {
            s.color = color(i);
        });
        const chosen = this.chart ? this.chart.chosen : null;
        this.chart = new Chart({
            title: 'Memory by tile', label: 'tile', unit: bytes, series,
            bands: isStage ? [] : ipuBands(this.table),
            chosen,
            limit: isStage
                ? { value: this.page.data.wishes.limit_bytes, name: 'limit' }
                : { value: this.page.data.bytes_per_tile, name: 'memory of a tile' },
            onChoose: (tile) => this.drawTile(tile),
        });
        replace(this.holder, this.chart.element);
        const live = this.table.column('live_bytes');
        this.drawTile(chosen !== null ? chosen
            : live.reduce((best, value, i) => value > live[best] ? i : best, 0));
    }

    choose(tile) {
        this.chart.choose(tile);
    }

    drawTile(tile) {
        const value = (name) => this.table.column(name)[tile];
        const { tileVariables, data, tables } = this.page;
        const numbers = tables.variables.column('variable');
        const names = tables.variables.column('name');
        if (!this.nameOf)
            this.nameOf = new Map(numbers.map((number, i) => [number, names[i]]));
        const rows = [];
        for (let i = tileVariables.first[tile]; i < tileVariables.first[tile + 1]; i++) {
            const name = tileVariables.variable[i] === 0 ? ''
                : this.nameOf.get(tileVariables.variable[i] - 1) || '';
            rows.push([grouped(tileVariables.size_bytes[i]),
                data.categories[tileVariables.category[i]],
                el('span', { title: name.slice(0, 2000) }, shorten(name || '(no name)'))]);
        }
        const parts = this.table.columns.filter((name) => name.startsWith('category_') &&
            value(name) > 0).sort((a, b) => value(b) - value(a));
        const own = this.how === 'live' || this.how === 'categories' ? []
            : this.chart.series.filter((s) => s.values[tile] > 0);
        replace(this.detail, el('h3', {}, `Tile ${grouped(tile)}`),
            own.length === 0 ? null : smallTable(`In stage ${this.how}`, [['part', false],
                ['bytes', true]], own.map((s) => [s.name, grouped(s.values[tile])])),
            own.length === 0 ? null : el('p', {}, 'In the profile:'),
            facts([
                ['live', `${grouped(value('live_bytes'))} B`],
                ['always live', `${grouped(value('always_live_bytes'))} B`],
                ['not always live', `${grouped(value('not_always_live_peak_bytes'))} B`],
                ['addresses in use', `${grouped(value('total_bytes'))} B`],
                ['highest address', `${grouped(value('total_including_gaps_bytes'))} B`],
            ]),
            el('div', { class: 'pair' },
                smallTable('By category', [['category', false], ['bytes', true]],
                    parts.map((name) => [name.slice('category_'.length, -'_bytes'.length),
                        grouped(value(name))])),
                smallTable('Largest variables', [['bytes', true], ['category', false],
                    ['name', false]], rows)));
    }
}
