// ---- search -------------------------------------------------------------------------------------
// One field for stages, layers, variables, operations and programs, and for numbers of tiles and
// steps: the largest of each that have all words in their names.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const FOUND_OF_KIND = 5;

class Search {
    constructor(page) {
        Object.assign(this, { page, list: el('ul'),
            status: el('span', { class: 'hidden', 'aria-live': 'polite' }) });
        const find = () => this.find(wordsOf(this.input.value));
        this.input = el('input', { type: 'search', 'aria-label': 'Find by name or number',
            placeholder: 'Find layer, stage … ( / )', oninput: find, onfocus: find });
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
    ofTable(kind, size, go) {
        const table = this.page.tables[`${kind}s`];
        const [names, sizes] = [table.column('name'), table.column(size)];
        return [...names.keys()].filter((i) => names[i])
            .sort((a, b) => (sizes[b] || 0) - (sizes[a] || 0) || a - b)
            .map((i) => ({ kind, name: names[i], go: () => go(names[i]), more: size === 'cycles'
                ? `${grouped(sizes[i] || 0)} cycles` : bytes(sizes[i] || 0) }));
    }

    ofTables() {
        const { page } = this;
        const toList = (list) => (query) => {
            page.go('explore');
            page.explore.show(list, query);
        };
        return page.model.costs ? []
            : [this.ofTable('variable', 'size_bytes', (name) => page.showMemory({ name })),
                this.ofTable('operation', 'variables_bytes', toList('operations')),
                this.ofTable('program', 'cycles', toList('programs'))];
    }

    // Layers and stages of the plan, in their order.
    ofPlan() {
        const { plan, model, tables } = this.page;
        const toStage = (i) => {
            this.page.go('plan');
            plan.chooseStage(i); // which scrolls to it
        };
        const sizes = model.costs ? Model.aloneBytes(model, plan.settings)
            : tables.layers.column('total_bytes');
        return [model.chain.labels.map((name, unit) => ({ kind: 'layer', name,
            more: bytes(sizes[unit]), go: () => model.costs
                ? toStage(plan.split.stages.findIndex(({ last }) => unit <= last))
                : this.page.showMemory({ layer: String(unit) }) })),
        !plan ? [] : plan.split.stages.map((stage, i) => ({ kind: 'stage',
            name: `Stage ${i}: ${plan.range(stage.first, stage.last)}`,
            more: bytes(stage.need_bytes), go: () => toStage(i) }))];
    }

    find(words) {
        const { page } = this;
        page.finish();
        const number = words.length === 1 && /^\d{1,9}$/.test(words[0]) ? Number(words[0]) : NaN;
        const found = page.choosers().filter(([, , count]) => number < count)
            .map(([kind, view]) => ({ kind, name: `${kind} ${grouped(number)}`, more: '',
                go: () => page.choose(view, number) }));
        for (const list of words.length === 0 ? []
            : [...this.ofPlan(), ...this.named ||= this.ofTables()]) {
            const own = new Map(); // programs have many of one name
            for (const item of list)
                if (own.size < FOUND_OF_KIND && !own.has(item.name) &&
                    hasWords(`${item.kind} ${item.name}`, words))
                    own.set(item.name, item);
            found.push(...own.values());
        }
        this.status.textContent = several(found.length, 'hit', 'hits');
        replace(this.list, found.map(({ kind, name, more, go }) => el('li', {}, button([
            el('span', {}, kind), el('b', {}, shorten(name, 70)), el('small', {}, more)], () => {
            document.activeElement.blur(); // which closes the list
            go();
        }))), found.length > 0 || words.length === 0 ? null
            : el('li', {}, 'Nothing has all of these words.'));
    }
}
