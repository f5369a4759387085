// ---- search -------------------------------------------------------------------------------------
// One field for stages, layers, variables, operations and programs, and for numbers of tiles and
// steps: the largest of each that have all words in their names.

const FOUND_OF_KIND = 5;

class Search {
    constructor(page) {
        this.page = page;
        this.found = [];
        this.chosen = -1;
        const id = freshId();
        this.list = el('ul', { id, role: 'listbox', 'aria-label': 'Found', hidden: true });
        this.status = el('span', { class: 'hidden', 'aria-live': 'polite' });
        this.input = el('input', { type: 'text', role: 'combobox', 'aria-label': 'Find a layer, ' +
            'variable, program, stage, tile or step', 'aria-controls': id,
        'aria-expanded': 'false', 'aria-autocomplete': 'list', autocomplete: 'off',
        placeholder: 'Find layer, variable, program … ( / )', oninput: () => this.find(),
        onfocus: () => this.find(), onblur: () => this.close(),
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

    // All that has a name: the kind, its names in lower case from the largest on, and where to go.
    readNames() {
        const { page } = this;
        const { tables } = page;
        const of = (kind, table, name, size, go) => {
            const names = table.column(name);
            const sizes = table.column(size);
            const order = names.map((_, i) => i).filter((i) => names[i] !== null && names[i] !== '')
                .sort((a, b) => (sizes[b] || 0) - (sizes[a] || 0) || a - b);
            return { kind, order, names, lower: names.map((own) => (own || '').toLowerCase()), go,
                more: (i) => size === 'cycles' ? `${grouped(sizes[i] || 0)} cycles`
                    : bytes(sizes[i] || 0) };
        };
        const list = (id, query) => {
            page.lists[id].ask(query);
            page.go(id);
        };
        return [of('variable', tables.variables, 'name', 'size_bytes', (i) => {
                page.memory.show({ name: tables.variables.column('name')[i] });
                page.go('memory');
            }), of('operation', tables.operations, 'name', 'variables_bytes',
                (i) => list('operations', tables.operations.column('name')[i])),
            of('program', tables.programs, 'name', 'cycles',
                (i) => list('programs', tables.programs.column('name')[i]))];
    }

    // Layers by their names, then stages of the plan, then numbers.
    ofPlan(words) {
        const { page } = this;
        const { labels } = page.data.chain;
        const found = labels.map((label, unit) => ({ kind: 'layer', name: label,
            more: bytes(page.tables.layers.column('total_bytes')[unit]), go: () => {
                page.memory.show({ layer: String(unit) });
                page.go('memory');
            } })).filter(({ name }) => hasWords(`layer ${name}`, words)).slice(0, FOUND_OF_KIND);
        const stages = !page.plan ? [] : page.plan.split.stages.map((stage, i) => ({ kind: 'stage',
            name: `Stage ${i}: ${page.plan.range(stage.first, stage.last)}`,
            more: kib(stage.need_bytes), go: () => {
                page.plan.chooseStage(i);
                page.plan.parts.stage.scrollIntoView({ block: 'center' });
            } })).filter(({ name }) => hasWords(name, words));
        const [number] = words.length === 1 && /^\d{1,9}$/.test(words[0]) ? words.map(Number) : [];
        const numbers = [['tile', page.tables.tiles.numRows, () => page.showTile(number)],
            ['step', page.tables.liveness.numRows, () => page.showStep(number)]]
            .filter(([, count]) => number < count)
            .map(([kind, , go]) => ({ kind, name: `${kind} ${grouped(number)}`, more: '', go }));
        return [...numbers, ...found, ...stages.slice(0, FOUND_OF_KIND)];
    }

    find() {
        const words = wordsOf(this.input.value);
        if (words.length === 0) {
            this.close();
            return;
        }
        this.all = this.all || this.readNames();
        this.found = this.ofPlan(words);
        for (const { kind, order, names, lower, go, more } of this.all) {
            const seen = new Set(); // programs have many of one name
            for (let k = 0; k < order.length && seen.size < FOUND_OF_KIND; k++) {
                const i = order[k];
                if (seen.has(names[i]) || !words.every((word) => lower[i].includes(word)))
                    continue;
                seen.add(names[i]);
                this.found.push({ kind, name: names[i], more: more(i), go: () => go(i) });
            }
        }
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
