// ---- undo, and the address ----------------------------------------------------------------------
// Changes of the plan can be taken back, and the plan on screen is the fragment of the address.

const MOST_UNDONE = 100;

class History {
    // take() returns the state as it is, give(state) brings one back.
    constructor(take, give) {
        this.take = take;
        this.give = give;
        this.past = [];
        this.future = [];
        this.depth = 0;
        this.onChange = () => {};
    }

    // Begins a change; what is changed until the result is called is one step.
    begin() {
        const before = this.take();
        this.depth++;
        return () => {
            this.depth--;
            if (this.depth > 0 || JSON.stringify(before) === JSON.stringify(this.take()))
                return;
            this.past = [...this.past.slice(1 - MOST_UNDONE), before];
            this.future = [];
            this.onChange();
        };
    }

    undo() {
        this.go(this.past, this.future);
    }

    redo() {
        this.go(this.future, this.past);
    }

    go(from, to) {
        if (from.length === 0)
            return;
        to.push(this.take());
        this.give(from.pop());
        this.onChange();
    }
}

// The plan on screen as a fragment: what differs from the start.
function fragmentOf(plan, start, view) {
    const { settings, cuts } = plan.snapshot();
    const parts = [];
    const add = (name, value, first) => {
        if (String(value) !== String(first))
            parts.push(`${name}=${value}`);
    };
    add('cuts', cuts.join('.'), start.cuts.join('.'));
    add('ipus', settings.numIpus, start.settings.numIpus);
    add('limit', settings.limit, start.settings.limit);
    add('need', settings.need, start.settings.need);
    add('by', settings.objectives.join('.'), start.settings.objectives.join('.'));
    add('slack', settings.slack, start.settings.slack);
    add('pipeline', settings.pipeline, start.settings.pipeline);
    add('view', view, 'plan');
    return parts.length === 0 ? '' : `#${parts.join('&')}`;
}

// The state that a fragment describes, and whether all of it can be had here.
function readFragment(text, plan) {
    const state = plan.snapshot();
    const { model } = plan;
    const whole = (value, least, most) => /^\d+$/.test(value) && Number(value) >= least &&
        Number(value) <= most;
    const set = (isKnown, name, value) => {
        state.settings[name] = isKnown ? value : state.settings[name];
        return isKnown;
    };
    const readers = {
        cuts: (value) => {
            const cuts = value === '' ? [] : value.split('.');
            const most = model.pipelines[state.settings.pipeline].max_stages;
            if (!cuts.every((cut, i) => whole(cut, 1, model.numUnits - 1) &&
                (i === 0 || Number(cut) > Number(cuts[i - 1]))) || cuts.length >= most)
                return false;
            state.cuts = cuts.map(Number);
            return true;
        }, ipus: (value) => set(whole(value, Model.fewestIpus(model), 65536), 'numIpus',
            Number(value)),
        limit: (value) => set(whole(value, 1, 2 ** 40), 'limit', Number(value)),
        need: (value) => set(model.needs.includes(value), 'need', value),
        by: (value) => {
            const names = value.split('.');
            return set(names.every((name, i) => Model.OBJECTIVES.includes(name) &&
                names.indexOf(name) === i && (name !== 'cycles' || model.hasCycles)), 'objectives',
            names);
        }, slack: (value) => set(value.trim() !== '' && Number(value) >= 0 &&
            Number(value) <= 1000000, 'slack', Number(value)),
        pipeline: (value) => set(whole(value, 0, model.pipelines.length - 1), 'pipeline',
            Number(value)), view: () => true };
    // in the order of the readers' needs: cuts are checked for the pipeline of the fragment
    const given = [...new URLSearchParams(text)].sort(([a], [b]) =>
        Number(b === 'pipeline') - Number(a === 'pipeline'));
    const isWhole = given.map(([name, value]) => Object.hasOwn(readers, name) &&
        readers[name](value)).every(Boolean);
    return { state, isWhole };
}
