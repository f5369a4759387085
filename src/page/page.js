// ---- the page -----------------------------------------------------------------------------------

class Page {
    constructor(root, text) {
        Object.assign(this, readData(text));
        document.title = this.data.title === '' ? 'popliner' : `${this.data.title} – popliner`;
        const views = [
            ['plan', 'Plan', () => this.makePlan()],
            ...this.data.comparison === null ? [] : [['comparison', 'Comparison',
                () => (this.comparison = new ComparisonView(this)).element]],
            ['memory', 'Memory', () => (this.memory = new MemoryView(this)).element],
            ['liveness', 'Liveness', () => (this.liveness = new LivenessView(this)).element],
            ['programs', 'Programs', () => programsView(this)],
            ['operations', 'Operations', () => operationsView(this)],
            ['layers', 'Layers', () => layersView(this)],
            ['insights', 'Insights', () => insightsView(this)],
            ['summary', 'Summary', () => summaryView(this)],
            ['diagnosis', 'Diagnosis', () => diagnosisView(this)],
            ['execution', 'Execution', () => executionView(this)],
        ];
        replace(root, el('header', {}, el('h1', { title: this.data.title },
            shorten(this.data.title, 100) || 'Profile'),
        el('nav', { 'aria-label': 'Sections' }, views.map(([id, title]) =>
            el('a', { href: `#${id}` }, title)))),
        el('main', {}, views.map(([id, title, make]) => el('section', { id,
            'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title` }, title), make()))),
        el('footer', {}, `popliner ${this.data.version}`));
        if (this.plan) {
            this.onPlan = (split) => {
                this.memory.showSplit(split);
                this.liveness.markStages(split);
            };
            this.onPlan(this.plan.split);
        }
        const prepare = () => {
            if (this.places.prepare())
                setTimeout(prepare);
        };
        setTimeout(prepare);
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
        const operations = this.tables.liveness.column('operation');
        const number = operations[step];
        return number === null || number === undefined ? null : typeof number === 'string' ? number
            : this.tables.operations.column('name')[number];
    }

    showTile(tile) {
        this.memory.choose(tile);
        document.getElementById('memory').scrollIntoView();
    }

    showStep(step) {
        this.liveness.choose(step);
        document.getElementById('liveness').scrollIntoView();
    }
}

if (typeof document !== 'undefined')
    window.page = new Page(document.getElementById('page'),
        document.getElementById('data').textContent);
