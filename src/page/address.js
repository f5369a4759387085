// ---- the address --------------------------------------------------------------------------------
// The plan on screen is the fragment of the address: back and forward undo and redo its changes.
//
// SPDX-License-Identifier: GPL-3.0-or-later

// Reads a whole number of a range from a text; undefined for anything else.
const wholeReader = (least, most) => (text) =>
    /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined;

// The parts of a fragment: their names there and in a state, and how their texts are read.
function fragmentParts({ model, page }) {
    return [['pipeline', 'pipeline', wholeReader(0, model.pipelines.length - 1)],
        ['ipus', 'numIpus', wholeReader(Model.fewestIpus(model), MOST_IPUS)],
        ['limit', 'limit', (text) => model.costs && text === 'Infinity' ? Infinity
            : wholeReader(1, MOST_BYTES)(text)],
        ['need', 'need', (text) => model.needs.find((need) => need === text)],
        ['by', 'objectives', (text) => {
            const names = text.split('.');
            return names.every((name, i) => Object.hasOwn(objectiveWords, name) &&
                names.indexOf(name) === i && (name !== 'cycles' || model.hasCycles)) ? names
                : undefined;
        }],
        ['cuts', 'cuts', (text, { pipeline }) => {
            const cuts = text === '' ? [] : text.split('.').map(wholeReader(1, model.numUnits - 1));
            return cuts.length < model.pipelines[pipeline].max_stages &&
                cuts.every((cut, i) => cut > (cuts[i - 1] || 0)) ? cuts : undefined;
        }],
        ...page.choosers().map(([name, view, count]) => [name, view, wholeReader(0, count - 1)]),
        ['view', 'view', (text) => text]];
}

// The plan on screen and the chosen places as a fragment: what differs from the start.
function fragmentOf(plan) {
    const { page } = plan;
    const own = { ...plan.snapshot(), view: page.view };
    const first = { ...page.first, view: 'plan' };
    for (const [, chooser] of page.choosers())
        own[chooser] = page[chooser]?.chart.chosen;
    const parts = fragmentParts(plan).filter(([, key]) =>
        String(own[key] ?? '') !== String(first[key] ?? ''))
        .map(([name, key]) => `${name}=${[own[key]].flat().join('.')}`);
    return `#${parts.join('&')}`;
}

// The state that a fragment describes, what it chooses, and whether all of it can be had.
function readFragment(text, plan) {
    const given = new Map(new URLSearchParams(text));
    const { first } = plan.page;
    const chosen = {};
    let isWhole = true;
    for (const [name, key, read] of fragmentParts(plan).filter(([own]) => given.has(own))) {
        const value = read(given.get(name), { ...first, ...chosen });
        given.delete(name);
        if (value === undefined)
            isWhole = false;
        else
            chosen[key] = value;
    }
    return { state: Object.fromEntries(Object.keys(first).map((key) =>
        [key, chosen[key] ?? first[key]])), chosen, isWhole: isWhole && given.size === 0 };
}
