// ---- the page -----------------------------------------------------------------------------------

class Page {
    constructor(root, read) {
        Object.assign(this, read);
        document.title = this.data.title === '' ? 'popliner' : `${this.data.title} – popliner`;
        const group = (id, title, make) => el('section', { id, 'aria-labelledby': `${id}-title` },
            el('h2', { id: `${id}-title` }, title), make());
        const view = (id, title, make, isCard = true) => [id, title, () => group(id, title,
            isCard ? () => el('div', { class: 'card' }, make()) : make)];
        const part = (id, title, make) => el('section', { id, class: 'card part' },
            el('h3', {}, title), make());
        this.view = 'plan';
        this.lists = {}; // tables by their names
        this.search = new Search(this);
        const views = [view('plan', 'Plan', () => this.makePlan(), false),
            ...!this.data.comparison ? [] : [view('comparison', 'Comparison',
                () => (this.comparison = new ComparisonView(this)).element)],
            ...this.model.costs ? [] : [view('memory', 'Memory',
                () => (this.memory = new MemoryView(this)).element),
            view('liveness', 'Liveness', () => (this.liveness = new LivenessView(this)).element),
            view('execution', 'Execution', () => executionView(this)),
            view('explore', 'Explore', () => [
                part('operations', 'Operations', () => operationsView(this)),
                part('programs', 'Programs', () => programsView(this)),
                part('layers', 'Layers', () => layersView(this))], false),
            view('profile', 'Profile', () => [
                part('insights', 'Insights', () => insightsView(this)),
                part('summary', 'Summary', () => summaryView(this)),
                part('diagnosis', 'Diagnosis', () => diagnosisView(this))], false)]];
        this.links = views.map(([id, title]) => el('a', { href: `#${id}`, onclick: (event) => {
                event.preventDefault();
                this.go(id);
            } }, title));
        const main = el('main', { tabindex: '-1' }, views.map(([, , make]) => make()));
        replace(root, el('a', { href: '#plan', class: 'skip' }, 'Skip to the plan'), this.bar(),
            el('div', { class: 'shell' }, el('nav', { 'aria-label': 'Views' }, this.links), main),
            el('footer', {}, `popliner ${this.data.version}`));
        this.main = main;
        this.start();
    }

    bar() {
        const { labels } = this.data.chain;
        const counted = this.model.wishes.counted || [];
        const layers = counted.filter((isLayer) => isLayer === 1).length || labels.length;
        const icon = (text, label, act) => button(text, act, { class: 'icon', 'aria-label': label,
            title: label });
        this.undo = icon('↶', 'Undo (Ctrl+Z)', () => this.plan.history.undo());
        this.redo = icon('↷', 'Redo (Ctrl+Shift+Z)', () => this.plan.history.redo());
        this.barVerdict = el('span', { class: 'bar-verdict' });
        const isPlan = this.model.pipelines.length > 0;
        return el('header', { class: 'top' }, el('h1', { title: this.data.title },
            shorten(this.data.title, 60) || 'Profile'),
        el('span', { class: 'what' }, `${grouped(layers)} layers${this.model.costs ? ''
            : ` · ${grouped(this.tables.tiles.numRows)} tiles`}`),
        this.barVerdict, this.search.element, isPlan ? [this.undo, this.redo, this.share()] : null);
    }

    share() {
        const item = (text, act) => button(text, () => {
            this.menu.open = false;
            act();
        });
        const hasWords = this.data.words !== null;
        const { data, model } = this;
        const copied = (text, make) => item(text, () =>
            copyText(make(this.plan), this.plan.shownText, this.plan.status));
        this.menu = el('details', { class: 'menu' }, el('summary', {}, 'Share'), el('div', {},
            copied('Copy the link', () => location.href),
            !hasWords ? null : [copied('Copy as command', ({ settings, cuts }) =>
                Model.evaluateCommand(data, model, settings, cuts)),
            copied('Copy the solving command', ({ settings }) =>
                Model.solveCommand(data, model, settings))],
            copied('Copy as JSON', ({ settings, split }) =>
                Model.jsonText(Model.planJson(model, settings, split))),
            item('Print', () => window.print())));
        return this.menu;
    }

    // Shows what the address says, and follows what is changed from here on.
    start() {
        if (this.plan) {
            this.barVerdict.append(this.plan.verdict.pill);
            this.first = this.plan.snapshot();
            this.onPlan = (split) => {
                if (!this.model.costs) {
                    this.memory.showSplit(split);
                    this.liveness.markStages(split);
                }
                this.keepAddress();
            };
            const { history } = this.plan;
            history.onChange = () => {
                this.undo.disabled = history.past.length === 0;
                this.redo.disabled = history.future.length === 0;
            };
            history.onChange();
            if (location.hash.includes('='))
                this.readAddress();
            this.onPlan(this.plan.split);
            document.addEventListener('keydown', (event) => this.onKey(event));
        }
        for (const read of this.model.costs ? [] : this.places.slowest)
            setTimeout(read);
        this.watch();
        for (const [event, isPaper] of [['beforeprint', true], ['afterprint', false]])
            window.addEventListener(event, () => this.setPaper(isPaper));
    }

    onKey(event) {
        if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'z' ||
            /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName))
            return;
        event.preventDefault();
        this.plan.history[event.shiftKey ? 'redo' : 'undo']();
    }

    readAddress() {
        const { state, chosen, view, isWhole } = readFragment(location.hash.slice(1), this.plan);
        this.plan.restore(state);
        for (const [owner, place] of chosen)
            owner.choose(place);
        if (!isWhole)
            this.plan.status.textContent = 'Some of the link does not fit this profile, and is ' +
                'left out.';
        if (document.getElementById(view) !== null)
            setTimeout(() => this.go(view));
    }

    // The views of which a fragment has the chosen place.
    choosers() {
        return this.model.costs ? [] : [['tile', this.memory], ['step', this.liveness]];
    }

    keepAddress() {
        if (!this.first)
            return;
        const fragment = fragmentOf(this.plan, this.first, this.view);
        history.replaceState(null, '', fragment === '' ? location.pathname + location.search
            : fragment);
    }

    go(id) {
        document.getElementById(id).scrollIntoView();
    }

    // Marks the view that crosses the upper part of the window.
    watch() {
        const observer = new IntersectionObserver((entries) => {
            for (const entry of entries.filter((own) => own.isIntersecting)) {
                this.view = entry.target.id;
                for (const own of this.links)
                    own.ariaCurrent = own.hash === `#${this.view}` ? 'true' : null;
            }
            if (this.plan)
                this.keepAddress();
        }, { rootMargin: '-24% 0px -75% 0px' });
        for (const section of this.main.children)
            observer.observe(section);
    }

    // On paper charts are as wide as it is, and what is folded is open.
    setPaper(isPaper) {
        document.documentElement.classList.toggle('on-paper', isPaper);
        for (const details of this.main.querySelectorAll('details.notes'))
            details.open = isPaper || this.plan.verdict.areNotesOpen;
        if (this.plan)
            this.plan.chain.draw();
        for (const [, owner] of this.choosers())
            owner.chart.draw();
    }

    makePlan() {
        if (this.model.pipelines.length === 0)
            return el('p', {}, 'The chain is too long for a page to hold what every stage of it ' +
                'needs: ask the command.');
        this.plan = new PlanView(this);
        return this.plan.element;
    }

    // The name of the operation that a step runs for, or null.
    operationAt(step) {
        if (this.model.costs)
            return null;
        const operations = this.tables.liveness.column('operation');
        const number = operations[step];
        return number === null || number === undefined ? null : typeof number === 'string' ? number
            : this.tables.operations.column('name')[number];
    }

    // The name of a variable of the profile; '' for -1.
    variableName(number) {
        this.names = this.names || new Map(this.tables.variables.rows(['variable', 'name'])
            .map((row) => [row.variable, row.name]));
        return this.names.get(number) || '';
    }

    tileLink(tile, text = grouped(tile)) {
        return link(text, () => this.choose('memory', tile));
    }

    stepLink(step, text = grouped(step)) {
        return link(text, () => this.choose('liveness', step));
    }

    choose(view, place) {
        this[view].choose(place);
        this.go(view);
    }

    showMemory(what) {
        this.memory.show(what);
        this.go('memory');
    }
}

// Starts the solver that is in the page; without one, or where a browser does not run it, the page
// does not look for plans.
async function startSolver(text) {
    const packed = new Blob([Model.bytesOf(text)]).stream();
    const bytes = packed.pipeThrough(new DecompressionStream('gzip'));
    Model.useSolver(await Solver.load(await new Response(bytes).arrayBuffer()));
}

async function startPage() {
    const read = readData(document.getElementById('data').textContent);
    if (read.data.solver !== null)
        await startSolver(read.data.solver).catch(() => {});
    window.page = new Page(document.getElementById('page'), read);
}

if (typeof document !== 'undefined')
    startPage();
