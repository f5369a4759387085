// ---- search -------------------------------------------------------------------------------------
// One field for stages, layers, variables, operations and programs, and for numbers of tiles and
// steps: the largest of each that have all words in their names.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const FOUND_OF_KIND = 5;

class Search {
    constructor(page) {
        this.page = page;
        this.list = el('ul');
        this.status = el('span', { class: 'hidden', 'aria-live': 'polite' });
        this.input = el('input', { type: 'search', 'aria-label': 'Find by name or number',
            placeholder: 'Find layer, stage … ( / )', oninput: () => this.find(),
            onfocus: () => this.find() });
        this.element = el('div', { class: 'search', role: 'search', onkeydown: (event) => {
            if (event.key === 'Enter' && event.target === this.input)
                this.list.querySelector('button')?.click();
            else if (event.key === 'Escape')
                event.target.blur();
        } }, this.input, this.list, this.status);
        document.addEventListener('keydown', (event) => {
            if (event.key === '/' && !event.target.matches('input, select, textarea')) {
                event.preventDefault();
                this.input.select();
            }
        });
    }

    // The names in a table, the largest first.
    ofTable(kind, table, size, go) {
        const [names, sizes] = [table.column('name'), table.column(size)];
        return [...names.keys()].filter((i) => names[i])
            .sort((a, b) => (sizes[b] || 0) - (sizes[a] || 0) || a - b)
            .map((i) => ({ kind, name: names[i], go: () => go(names[i]), more: size === 'cycles'
                ? `${grouped(sizes[i] || 0)} cycles` : bytes(sizes[i] || 0) }));
    }

    ofTables() {
        const { page } = this;
        const { variables, operations, programs } = page.tables;
        const list = (id) => (query) => {
            page.explore.show(id, query);
            page.go('explore');
        };
        return [this.ofTable('variable', variables, 'size_bytes',
            (name) => page.showMemory({ name })),
            this.ofTable('operation', operations, 'variables_bytes', list('operations')),
            this.ofTable('program', programs, 'cycles', list('programs'))];
    }

    // Numbers, layers and stages of the plan, in their order.
    ofPlan(words) {
        const { page, page: { plan, tables, model, model: { chain: { labels } } } } = this;
        const toStage = (i) => {
            page.go('plan');
            plan.chooseStage(i);
            plan.parts.stage.scrollIntoView({ block: 'center' });
        };
        const layer = (name, unit) => model.costs ? { kind: 'layer', name,
            more: bytes(Model.aloneBytes(model, plan.settings)[unit]),
            go: () => toStage(plan.split.stages.findIndex(({ last }) => unit <= last)) }
            : { kind: 'layer', name, more: bytes(tables.layers.column('total_bytes')[unit]),
                go: () => page.showMemory({ layer: String(unit) }) };
        const stages = !plan ? [] : plan.split.stages.map((stage, i) => ({ kind: 'stage',
            name: `Stage ${i}: ${plan.range(stage.first, stage.last)}`,
            more: bytes(stage.need_bytes), go: () => toStage(i) }));
        const [number] = words.length === 1 && /^\d{1,9}$/.test(words[0]) ? words.map(Number) : [];
        const numbers = page.choosers().filter(([, , count]) => number < count)
            .map(([kind, view]) => ({ kind, name: `${kind} ${grouped(number)}`, more: '',
                go: () => page.choose(view, number) }));
        return [numbers, labels.map(layer), stages];
    }

    find() {
        const words = wordsOf(this.input.value);
        this.page.finish();
        this.named ||= this.page.model.costs ? [] : this.ofTables();
        const [numbers, ...lists] = this.ofPlan(words);
        const found = words.length === 0 ? [] : [...numbers, ...[...lists, ...this.named]
            .flatMap((list) => {
                const own = new Map(); // programs have many of one name
                for (const item of list)
                    if (own.size < FOUND_OF_KIND && !own.has(item.name) &&
                        hasWords(`${item.kind} ${item.name}`, words))
                        own.set(item.name, item);
                return [...own.values()];
            })];
        this.status.textContent = several(found.length, 'hit', 'hits');
        replace(this.list, found.map(({ kind, name, more, go }) => el('li', {}, button([
            el('span', {}, kind), el('b', {}, shorten(name, 70)), el('small', {}, more)], () => {
            document.activeElement.blur(); // which closes the list
            go();
        }))), found.length > 0 || words.length === 0 ? null
            : el('li', {}, 'Nothing has all of these words.'));
    }
}
