// ---- the page -----------------------------------------------------------------------------------
//
// SPDX-License-Identifier: GPL-3.0-or-later

const ADDRESS_DELAY_MS = 100;

const UNSPLIT = 'The whole model as it was compiled, not the plan';
// The views: title, what is shown, and how it is made, as elements or as an object that has one;
// before some the navigation has a line.
const VIEWS = {
    plan: ['Plan', null, (page) => page.makePlan()],
    summary: ['Summary', `${UNSPLIT}.`, summaryView, 'The profile, unsplit'],
    memory: ['Memory', `${UNSPLIT}, unless a stage of it is chosen below.`,
        (page) => new MemoryView(page)],
    liveness: ['Liveness', `${UNSPLIT}.`, (page) => new LivenessView(page)],
    execution: ['Execution', `${UNSPLIT}.`, executionView],
    explore: ['Tables', `${UNSPLIT}: all that the profile has, to search and to sort.`,
        exploreView],
    insights: ['Advice', 'Where memory could be saved, by the rules of the command.',
        insightsView, 'Trust'],
    diagnosis: ['Diagnosis', 'How much of the memory of the profile is explained, and what is not.',
        diagnosisView] };

class Page {
    constructor(root, read) {
        Object.assign(this, read, { view: 'plan' });
        document.title = this.data.title === '' ? 'popliner' : `${this.data.title} – popliner`;
        this.search = new Search(this);
        this.rest = Object.keys(VIEWS).filter((id) => id === 'plan' || !this.model.costs);
        this.links = this.rest.map((id) => this.linkTo(id, {}, VIEWS[id][0]));
        this.main = el('main', { tabindex: '-1' }, this.rest.map((id) => el('section',
            { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, VIEWS[id][0]),
            VIEWS[id][1] && el('p', { class: 'status' }, VIEWS[id][1]))));
        const headed = this.rest.map((id, i) => [VIEWS[id][3] && el('span', {}, VIEWS[id][3]),
            this.links[i]]);
        this.finish(1);
        replace(root, this.linkTo('plan', { class: 'skip' }, 'Skip to the plan'), this.bar(),
            el('div', { class: 'shell' }, el('nav', { 'aria-label': 'Views' }, headed), this.main),
            el('footer', {}, `popliner ${this.data.version}`));
        this.mark();
        if (this.plan) {
            this.first = this.plan.snapshot();
            if (location.hash.includes('='))
                this.readAddress();
            window.addEventListener('popstate', () => this.readAddress());
        }
        for (const [event, isPaper] of [['beforeprint', true], ['afterprint', false]])
            window.addEventListener(event, () => this.setPaper(isPaper));
    }

    linkTo(id, attributes, title) {
        return el('a', { href: `#${id}`, onclick: (event) => {
            event.preventDefault();
            this.go(id);
        }, ...attributes }, title);
    }

    // Makes the views after the plan, which is painted first, one after the other.
    async fill() {
        while (this.rest.length > 0) {
            await new Promise(afterPaint);
            this.finish(1);
        }
        this.finish();
    }

    // Makes so many of them, by default all, now.
    finish(count = this.rest.length) {
        for (const id of this.rest.splice(0, count)) {
            const made = VIEWS[id][2](this);
            this[id] = made.element && made;
            this.main.children[id].append(id === 'plan' ? made.element || made
                : el('div', { class: 'card' }, made.element || made));
        }
        this.plan?.finish();
        if (this.plan && count > 0 && this.rest.length === 0)
            this.onPlan(this.plan.split);
    }

    bar() {
        const { counted } = this.model.wishes;
        const layers = !counted ? this.model.numUnits : counted.filter((is) => is === 1).length;
        return el('header', { class: 'top' }, el('h1', { title: this.data.title },
            shorten(this.data.title) || 'Profile'),
        el('span', { class: 'what' }, `${several(layers, 'layer', 'layers')}${
            this.model.costs ? '' : ` · ${grouped(this.tables.tiles.numRows)} tiles`}`),
        el('span', { class: 'bar-verdict' }, this.plan?.verdict.pill), this.search.element,
        this.plan && this.share(), button('◐', () => {
            const { style } = document.documentElement;
            const isDark = style.colorScheme === 'dark' || (style.colorScheme === '' &&
                matchMedia('(prefers-color-scheme: dark)').matches);
            style.colorScheme = isDark ? 'light' : 'dark';
        }, { class: 'icon', 'aria-label': 'Light or dark', title: 'Light or dark' }));
    }

    // The menu of texts that the page copies.
    share() {
        const { data, model, plan } = this;
        const copied = ([text, make]) => button(text, () => {
            menu.open = false;
            try {
                copyText(make(plan), plan.shownText, plan.status);
            } catch (error) {
                plan.status.textContent = `${error.message}.`;
            }
        });
        const formats = Model.formats(model).map((name) => [name, ({ settings, cuts }) => {
            this.go('plan'); // which shows the text, or why there is none
            return Model.emit(model, settings, cuts, name);
        }]);
        const menu = el('details', { class: 'menu', onfocusout: ({ relatedTarget: next }) => {
            menu.open = menu.contains(next);
        }, onkeydown: ({ key }) => {
            menu.open &&= key !== 'Escape';
        } }, el('summary', {}, 'Export'), el('div', {}, formats.length === 0 ? null
            : el('details', {}, el('summary', {}, 'Plan for …'), formats.map(copied)),
        [['Copy the link', () => {
            this.writeAddress();
            return location.href;
        }], ...data.words === null ? [] : [['Copy as command', ({ settings, cuts }) =>
            Model.evaluateCommand(data, model, settings, cuts)],
        ['Copy the solving command', ({ settings }) => Model.solveCommand(data, model, settings)]],
        ['Copy as JSON', ({ split }) => Model.jsonText(split.document)]].map(copied),
        button('Print', () => window.print())));
        return menu;
    }

    // Other views follow the plan on screen.
    onPlan(split) {
        this.memory?.showSplit(split);
        this.keepAddress();
    }

    // Shows what the address says.
    readAddress() {
        const { state, chosen, isWhole } = readFragment(location.hash.slice(1), this.plan);
        this.isRead = true;
        this.view = this.links.some((own) => own.hash === `#${chosen.view}`) ? chosen.view : 'plan';
        this.plan.restore(state);
        if (!isWhole)
            this.plan.status.textContent = 'Some of the link does not fit this profile, and is ' +
                'left out.';
        for (const [, view] of this.choosers().filter((own) => chosen[own[1]] !== undefined)) {
            this.finish();
            this[view].chart.choose(chosen[view]);
        }
        this.mark();
    }

    // The views of which a fragment has the chosen place, with the number of these.
    choosers() {
        return this.model.costs ? [] : [['tile', 'memory', this.tables.tiles.numRows],
            ['step', 'liveness', this.tables.liveness.numRows]];
    }

    // Browsers take their time for it, so it waits until the plan is painted, and a cut is let go.
    keepAddress() {
        clearTimeout(this.late);
        this.late = setTimeout(() => this.plan?.chain.held === null && this.writeAddress(),
            ADDRESS_DELAY_MS);
    }

    // A change of the plan or of the view is one to go back over; a chosen tile or step is not.
    writeAddress() {
        const kept = (fragment) => fragment.replace(/(tile|step)=\d+/g, '').replace(/[#&]+/g, '');
        const fragment = fragmentOf(this.plan);
        const isNew = !this.isRead && kept(fragment) !== kept(location.hash);
        this.isRead = false;
        history[isNew ? 'pushState' : 'replaceState'](null, '', fragment);
    }

    // Shows a view alone; on paper all are there.
    go(id) {
        this.finish();
        this.view = id;
        this.mark();
        scrollTo(0, 0);
        this.keepAddress();
    }

    mark() {
        for (const section of this.main.children)
            section.classList.toggle('away', section.id !== this.view);
        for (const own of this.links)
            own.ariaCurrent = own.hash === `#${this.view}` ? 'page' : null;
    }

    // On paper charts are as wide as it is, and what is folded is open.
    setPaper(isPaper) {
        for (const details of this.main.querySelectorAll('details.notes'))
            details.open = isPaper || Boolean(this.plan.verdict.areNotesOpen);
        this.finish();
        for (const { view, draw } of sized.filter((own) => own.view.element.isConnected)) {
            view.width = isPaper ? 700 : view.element.clientWidth || view.width;
            draw();
        }
    }

    makePlan() {
        const { model, data } = this;
        if (model.pipelines.length === 0)
            return el('p', {}, 'The chain is too long for a page to hold what every stage of it ' +
                'needs: ask the command.');
        if (!Model.canEvaluate(model) && data.answer === null)
            return el('div', { class: 'card' }, el('p', {}, `The command gave no plan. ${
                this.whyFixed()}`), el('ul', {}, data.messages.map((it) => el('li', {}, it.text))));
        return new PlanView(this);
    }

    // Why cuts cannot be moved; '' where they can.
    whyFixed() {
        const { model, data } = this;
        return Model.canEvaluate(model) ? '' : `Cuts cannot be moved here: ${model.sharesIpus
            ? named('what stages on one IPU need together, only the command measures')
            : model.wishes.unknown.length > 0
                ? `only the command knows ${listed(model.wishes.unknown)}`
            : data.solver === null ? 'the page was made without its WebAssembly module'
                : 'this browser does not run the WebAssembly module of the page'}.`;
    }

    // The name of the operation that a step runs for, or null.
    operationAt(step) {
        const number = this.tables.liveness.column('operation')[step] ?? null;
        return number === null ? null : this.tables.operations.column('name')[number];
    }

    // The name of a variable of the profile; '' for -1.
    variableName(number) {
        this.names = this.names || new Map(this.tables.variables.rows(['variable', 'name'])
            .map((row) => [row.variable, row.name]));
        return this.names.get(number) || '';
    }

    // Leads to a tile of the profile, or of a stage of the plan on screen.
    tileLink(tile, text = grouped(tile), stage = null) {
        return link(text, () => {
            if (stage !== null)
                this.showMemory({ how: String(stage) });
            this.choose('memory', tile);
        });
    }

    stepLink(step, text = grouped(step)) {
        return link(text, () => this.choose('liveness', step));
    }

    choose(view, place) {
        this.go(view);
        this[view].chart.choose(place);
    }

    showMemory(what) {
        this.go('memory');
        this.memory.show(what);
    }
}

// Without a solver, or where a browser does not run it, the page does not look for plans.
async function startPage() {
    const { textContent } = document.getElementById('data');
    const read = readData(await inflate(textContent, 'deflate').json());
    if (read.data.solver !== null)
        await inflate(read.data.solver, 'gzip').arrayBuffer().then(Solver.load)
            .then(Model.useSolver).catch(() => {});
    const page = new Page(document.getElementById('page'), read);
    await page.fill();
    window.page = page;
}

if (typeof document !== 'undefined')
    startPage();
