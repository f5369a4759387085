// ---- search -------------------------------------------------------------------------------------
// One field for stages, layers, variables, operations and programs, and for numbers of tiles and
// steps: the largest of each that have all words in their names.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const FOUND_OF_KIND = 5;

class Search {
    constructor(page) {
        this.page = page;
        this.found = [];
        this.chosen = -1;
        const id = freshId();
        this.list = el('ul', { id, role: 'listbox', 'aria-label': 'Found', hidden: true });
        this.status = el('span', { class: 'hidden', 'aria-live': 'polite' });
        this.input = el('input', { type: 'text', role: 'combobox', 'aria-label': 'Find by name ' +
            'or number', 'aria-controls': id, 'aria-expanded': 'false',
        'aria-autocomplete': 'list', autocomplete: 'off', placeholder: 'Find layer, stage … ( / )',
        oninput: () => this.find(), onfocus: () => this.find(), onblur: () => this.close(),
        onkeydown: (event) => this.onKey(event) });
        this.element = el('div', { class: 'search', role: 'search' }, this.input, this.list,
            this.status);
        document.addEventListener('keydown', (event) => {
            if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey ||
                /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
                return;
            event.preventDefault();
            this.input.select();
            this.input.focus();
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
        const numbers = model.costs ? [] : [['tile', tables.tiles, 'memory'],
            ['step', tables.liveness, 'liveness']].filter(([, { numRows }]) => number < numRows)
            .map(([kind, , view]) => ({ kind, name: `${kind} ${grouped(number)}`, more: '',
                go: () => page.choose(view, number) }));
        return [numbers, labels.map(layer), stages];
    }

    find() {
        const words = wordsOf(this.input.value);
        this.page.finish();
        if (words.length === 0) {
            this.close();
            return;
        }
        this.named = this.named || (this.page.model.costs ? [] : this.ofTables());
        const [numbers, ...lists] = this.ofPlan(words);
        this.found = [...numbers, ...[...lists, ...this.named].flatMap((list) => {
            const found = new Map(); // programs have many of one name
            for (const item of list)
                if (found.size < FOUND_OF_KIND && !found.has(item.name) &&
                    hasWords(`${item.kind} ${item.name}`, words))
                    found.set(item.name, item);
            return [...found.values()];
        })];
        this.chosen = this.found.length > 0 ? 0 : -1;
        this.status.textContent = several(this.found.length, 'hit', 'hits');
        this.draw();
    }

    draw() {
        replace(this.list, this.found.map(({ kind, name, more, go }, i) => el('li', {
            role: 'option', id: `${this.list.id}-${i}`, 'aria-selected': String(i === this.chosen),
            onpointerdown: (event) => {
                event.preventDefault();
                this.close();
                go();
            } }, el('span', {}, kind), el('b', {}, shorten(name, 70)), el('small', {}, more))),
        this.found.length === 0 ? el('li', { role: 'option', 'aria-disabled': 'true',
            'aria-selected': 'false' }, 'Nothing has all of these words.') : null);
        this.list.hidden = false;
        this.input.setAttribute('aria-expanded', 'true');
        this.input.setAttribute('aria-activedescendant', this.chosen < 0 ? ''
            : `${this.list.id}-${this.chosen}`);
        if (this.chosen >= 0)
            this.list.children[this.chosen].scrollIntoView({ block: 'nearest' });
    }

    close() {
        this.list.hidden = true;
        this.input.setAttribute('aria-expanded', 'false');
        this.input.removeAttribute('aria-activedescendant');
    }

    onKey(event) {
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const count = this.found.length;
        if (event.key === 'Escape') {
            this.close();
        } else if (step !== undefined && count > 0 && !this.list.hidden) {
            this.chosen = (this.chosen + step + count) % count;
            this.draw();
        } else if (event.key === 'Enter' && this.chosen >= 0 && !this.list.hidden) {
            this.close();
            this.found[this.chosen].go();
        } else {
            return;
        }
        event.preventDefault();
    }
}
