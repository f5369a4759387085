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

// The parts of a fragment: their names there and in a state, and how their texts are read.
function fragmentParts({ model, page }) {
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
        ['slack', 'slack', numberReader(0, 1000000)],
        ['cuts', 'cuts', (text, { pipeline }) => {
            const cuts = text === '' ? [] : text.split('.').map(wholeReader(1, model.numUnits - 1));
            return cuts.length < model.pipelines[pipeline].max_stages &&
                cuts.every((cut, i) => cut > (cuts[i - 1] || 0)) ? cuts : undefined;
        }],
        ...page.choosers().map(([name, view, count]) => [name, view, wholeReader(0, count - 1)]),
        ['view', 'view', (text) => text]];
}

// The plan on screen and the chosen places as a fragment: what differs from the start.
function fragmentOf(plan, start, view) {
    const { settings, cuts } = plan.snapshot();
    const own = { ...settings, cuts, view };
    const first = { ...start.settings, cuts: start.cuts, view: 'plan' };
    for (const [, chooser] of plan.page.choosers())
        own[chooser] = plan.page[chooser]?.chart.chosen;
    const parts = fragmentParts(plan).filter(([, key]) =>
        String(own[key] ?? '') !== String(first[key] ?? ''))
        .map(([name, key]) => `${name}=${[own[key]].flat().join('.')}`);
    return parts.length === 0 ? '' : `#${parts.join('&')}`;
}

// The state that a fragment describes, what it chooses, and whether all of it can be had.
function readFragment(text, plan) {
    const given = new Map(new URLSearchParams(text));
    const { settings, cuts } = plan.snapshot();
    const chosen = {};
    let isWhole = true;
    for (const [name, key, read] of fragmentParts(plan).filter(([own]) => given.has(own))) {
        const value = read(given.get(name), { ...settings, ...chosen });
        given.delete(name);
        if (value === undefined)
            isWhole = false;
        else
            chosen[key] = value;
    }
    for (const key of Object.keys(settings))
        settings[key] = chosen[key] ?? settings[key];
    return { state: { settings, cuts: chosen.cuts || cuts }, chosen,
        isWhole: isWhole && given.size === 0 };
}
