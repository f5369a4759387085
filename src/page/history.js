// ---- undo, and the address ----------------------------------------------------------------------
// Changes of the plan can be taken back, and the plan on screen is the fragment of the address.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const MOST_UNDONE = 100;

class History {
    // take() returns the state as it is, give(state) brings one back.
    constructor(take, give) {
        Object.assign(this, { take, give, past: [], future: [], depth: 0, onChange: () => {} });
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

    // Takes the last change back, or what was taken back.
    go(isBack) {
        const [from, to] = isBack ? [this.past, this.future] : [this.future, this.past];
        if (from.length === 0)
            return;
        to.push(this.take());
        this.give(from.pop());
        this.onChange();
    }
}

// Reads a number from a text; undefined for anything else, and for one out of this range.
function numberReader(least, most, pattern = /\S/) {
    return (text) => pattern.test(text) && Number(text) >= least && Number(text) <= most
        ? Number(text) : undefined;
}

const wholeReader = (least, most) => numberReader(least, most, /^\d+$/);

// The settings that a fragment may have: its name there, its own, and how its text is read.
function fragmentSettings(model) {
    return [['pipeline', 'pipeline', wholeReader(0, model.pipelines.length - 1)],
        ['ipus', 'numIpus', wholeReader(Model.fewestIpus(model), 65536)],
        ['limit', 'limit', (text) => model.costs && text === 'Infinity' ? Infinity
            : wholeReader(1, MOST_BYTES)(text)],
        ['need', 'need', (text) => model.needs.find((need) => need === text)],
        ['by', 'objectives', (text) => {
            const names = text.split('.');
            return names.every((name, i) => Model.OBJECTIVES.includes(name) &&
                names.indexOf(name) === i && (name !== 'cycles' || model.hasCycles)) ? names
                : undefined;
        }],
        ['slack', 'slack', numberReader(0, 1000000)]];
}

// The plan on screen and the chosen places as a fragment: what differs from the start.
function fragmentOf(plan, start, view) {
    const { settings, cuts } = plan.snapshot();
    const parts = [];
    const add = (name, value, first) => {
        if (String(value) !== String(first))
            parts.push(`${name}=${[value].flat().join('.')}`);
    };
    add('cuts', cuts, start.cuts);
    for (const [name, key] of fragmentSettings(plan.model))
        add(name, settings[key], start.settings[key]);
    for (const [name, own] of plan.page.choosers())
        add(name, plan.page[own] ? plan.page[own].chart.chosen : null, null);
    add('view', view, 'plan');
    return parts.length === 0 ? '' : `#${parts.join('&')}`;
}

// The state that a fragment describes, places that it chooses, and whether all of it can be had.
function readFragment(text, plan) {
    const { model } = plan;
    const state = plan.snapshot();
    const given = new Map(new URLSearchParams(text));
    const known = new Set(['view']);
    const chosen = [];
    let isWhole = true;
    const take = (name, read, use) => {
        const value = given.has(name) ? read(given.get(name)) : null;
        known.add(name);
        isWhole = isWhole && value !== undefined;
        if (value !== undefined && value !== null)
            use(value);
    };
    for (const [name, key, read] of fragmentSettings(model))
        take(name, read, (value) => Object.assign(state.settings, { [key]: value }));
    const most = model.pipelines[state.settings.pipeline].max_stages - 1;
    take('cuts', (value) => {
        const cuts = value === '' ? [] : value.split('.').map(wholeReader(1, model.numUnits - 1));
        return cuts.length <= most && cuts.every((cut, i) => cut > (cuts[i - 1] || 0)) ? cuts
            : undefined;
    }, (cuts) => Object.assign(state, { cuts }));
    for (const [name, own, count] of plan.page.choosers())
        take(name, wholeReader(0, count - 1), (place) => chosen.push([own, place]));
    return { state, chosen, view: given.get('view'),
        isWhole: isWhole && [...given.keys()].every((name) => known.has(name)) };
}
