'use strict';
// ---- the model ------------------------------------------------------------------------------
// It asks the command's own code, compiled to WebAssembly (src/wasm), whose answers are the
// documents of the command. It has no references to the page: tests run it alone.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Model = (() => {
    const NEEDS = ['expected', 'least', 'most']; // in the order of popliner_need
    const SPEED_ONE = 1000000; // POPLINER_SPEED_ONE
    const LEAST_PLACES = 64; // of a table: more IPUs need no new one
    const MOST_KEPT = 100; // answers
    const MOST_TABLES = 3; // of a need each, as a rule
    let solver = null; // src/wasm/solver.js, once it is there
    const kept = []; // tables of the solver, what each is of, and its answers
    let last = {}; // the one that is used

    // ---- reading -------------------------------------------------------------------------------

    // How the command names options in its messages, and constraints.
    const OPTION_NAMES = { num_ipus: '--num-ipus', mem_per_tile: '--mem-per-tile',
        constraint_num_ipus: 'num-ipus', constraint_device_map: 'device-map' };

    // Reads the stages from the data of a page.
    function read(data) {
        const map = data.wishes.device_map;
        return {
            chain: data.chain, numUnits: data.chain.labels.length, parts: data.chain.parts,
            tileParts: data.chain.tile_parts, categories: data.categories,
            optionNames: data.words === null ? {} : OPTION_NAMES,
            costs: data.costs || null, // the units of a file of costs
            wishes: { ...data.wishes, limit_bytes: data.wishes.limit_bytes ?? Infinity },
            told: data.answer, // of the command
            pipelines: data.stages.flatMap((stages) => stages.pipelines.map((pipeline) =>
                ({ ...pipeline, stages }))),
            hasCycles: Boolean(data.chain.cycles),
            // what stages on one IPU need together only the command measures
            sharesIpus: map !== null && new Set(map).size < map.length,
            needs: data.chain.follows_account ? NEEDS : ['expected'] };
    }

    const useSolver = (own) => { solver = own; };

    // Whether other cuts can be evaluated, and best ones be found.
    const canEvaluate = (model) => solver !== null && !model.sharesIpus &&
        model.wishes.unknown.length === 0;

    // The fewest IPUs that may be chosen: those that layers are placed on, and those whose link
    // tells how all are counted.
    function fewestIpus(model) {
        const { placements, links } = model.wishes;
        const linked = links === null || links.all_is_asked_for ? [] : links.single;
        return 1 + Math.max(0, ...placements.map(([, ipu]) => ipu),
            ...linked.flatMap(([first, second]) => [first, second]));
    }

    // ---- asking --------------------------------------------------------------------------------

    // The objectives that can be had: no cycles without cycles, no step without micro-batches.
    function objectivesOf(model, settings) {
        const hasStep = Boolean(model.pipelines[settings.pipeline].micro_batches);
        return [...new Set(settings.objectives.map((name) => name === 'step' && !hasStep
            ? 'cycles' : name))].filter((name) => name !== 'cycles' || model.hasCycles);
    }

    // Numbers of which the page has the differences; null and undefined are none.
    function summed(differences) {
        let sum = 0;
        return differences?.map((difference) => sum += difference);
    }

    // The costs of a pipeline and a need in the memory of the solver.
    function tableOf(model, settings) {
        const { stages: { pipelines, names, ...stages }, ...pipeline } =
            model.pipelines[settings.pipeline];
        const longest = Math.min(model.numUnits, pipeline.max_stages);
        const places = pipeline.keeps ? Math.min(longest, Math.max(settings.numIpus, LEAST_PLACES))
            : 1;
        const key = [settings.pipeline, settings.need, places].join();
        last = kept.find((own) => own.model === model && own.key === key) || {};
        if (last.table)
            return last.table;
        if (kept.length === MOST_TABLES)
            kept.shift().table.free();
        const { chain, costs } = model;
        const table = solver.table({ ...chain, ...pipeline, ...costs, names: chain.labels, places,
            cycles: summed(pipeline.cycles || chain.cycles), counted_units: model.wishes.counted,
            option_names: model.optionNames, ...costs ? stages : { stages, names_at_peaks: names,
                categories: model.categories, need: NEEDS.indexOf(settings.need) } });
        kept.push(last = { model, key, table, answers: new Map() });
        return table;
    }

    // The wishes on single IPUs, as far as the command would take them with so many.
    function ipuLists(model, numIpus) {
        const { device_map: map, mem_per_tile: limits, ipu_speeds: speeds, links } = model.wishes;
        const ipus = map ?? [...Array(numIpus).keys()];
        const isNext = (a, b) => ipus.some((ipu, i) => ipu === a && ipus[i + 1] === b);
        return {
            limits: limits.filter(([ipu]) => model.costs || ipus.includes(ipu)), // of the file
            speeds: speeds.filter(([ipu]) => ipus.includes(ipu)),
            single: (links?.single || []).filter(([a, b]) => isNext(a, b) || isNext(b, a)) };
    }

    function mostIpus(model, settings) {
        const { max_stages: most } = model.pipelines[settings.pipeline];
        return most < model.numUnits ? Math.min(settings.numIpus, most) : settings.numIpus;
    }

    // The wishes on so many IPUs.
    function ipusOf(model, settings, numIpus) {
        const { device_map: map, ipu_speeds: speeds, links } = model.wishes;
        return { num_ipus: numIpus, ipu_limits: ipuLists(model, numIpus).limits,
            ...settings.limit < Infinity && { mem_per_tile: settings.limit },
            ...map !== null && { device_map: map }, ...model.hasCycles && { ipu_speeds: speeds,
                ...links !== null && { link_bandwidth: links.all.map(BigInt),
                    ipu_links: links.single.map((link) => link.map(BigInt)) } } };
    }

    // The settings, and the request of the command, as options of the solver.
    function requestOf(model, settings) {
        const { wishes } = model;
        return { objectives: objectivesOf(model, settings),
            ...ipusOf(model, settings, mostIpus(model, settings)), slack_percent: settings.slack,
            min_units: wishes.min_units, max_units: wishes.max_units,
            pairs: wishes.pairs, placements: wishes.placements,
            cut_rules: wishes.cut_rules.map((rule) => rule & 3) };
    }

    // The request for one split: what other splits must keep to does not matter.
    function splitRequest(model, settings, cuts) {
        const { device_map: map } = model.wishes;
        const isOfMap = map === null || map.length === cuts.length + 1;
        const own = isOfMap ? model : { ...model, wishes: { ...model.wishes, device_map: null,
            mem_per_tile: [] } };
        const isLimited = settings.limit < Infinity || [0, ...cuts].every((_, i) =>
            own.wishes.mem_per_tile.some(([ipu]) => ipu === (own.wishes.device_map?.[i] ?? i)));
        return { objectives: objectivesOf(model, settings).filter((name) => isLimited ||
                !['headroom', 'tokens'].includes(name)), // of free memory
            ...ipusOf(own, settings, cuts.length + 1), cuts };
    }

    // An answer of the solver to a request, kept with the table.
    function ask(model, settings, what, request) {
        const table = tableOf(model, settings);
        const key = JSON.stringify([what, request], (_, own) => typeof own === 'bigint' ? `${own}`
            : own);
        if (last.answers.size > MOST_KEPT)
            last.answers.clear();
        if (!last.answers.has(key))
            last.answers.set(key, JSON.parse(table.answer(what, request)));
        return last.answers.get(key);
    }

    // The first units of all stages but the first; names of units come once.
    const cutsOf = ({ chain: { labels } }, { stages }) => stages.slice(0, -1).map((own) =>
        labels.indexOf(own.unit_to) + 1);

    // A split, with the document of the command on it.
    function splitOf(model, document) {
        const cuts = cutsOf(model, document);
        const stages = document.stages.map((own, i) => {
            const { needs, need_bytes: need, at_most_bytes: most = need, fits } = own;
            return { ...own, first: i === 0 ? 0 : cuts[i - 1],
                last: (cuts[i] ?? model.numUnits) - 1, limit_bytes: own.limit_bytes ?? Infinity,
                verdict: needs ? needs.verdict : fits === null ? 'is not known to fit'
                    : !fits ? 'does not fit' : most > (own.limit_bytes ?? Infinity) ? 'likely fits'
                        : 'fits',
                ...needs ? { least: needs.at_least_bytes, expected: needs.expected_bytes,
                    most: needs.at_most_bytes } : { least: need, expected: need, most } };
        });
        const values = { ...document.totals, ...Object.fromEntries(document.objectives.map(
            ({ name, value }) => [name, value])) };
        values.step = document.totals.step?.cycles ?? null;
        const fits = stages.some((own) => own.fits === false) ? false
            : stages.every((own) => own.fits === true) ? true : null;
        return { cuts, stages, values, fits, document };
    }

    // The plan of the command; of stages that share IPUs what each needs alone is known if there is
    // a solver.
    function toldSplit(model, settings) {
        const split = splitOf(model, model.told);
        const wishes = { ...model.wishes, device_map: null };
        const alone = { ...model, sharesIpus: false, wishes };
        try {
            if (canEvaluate(alone) && model.sharesIpus)
                evaluate(alone, settings, split.cuts).stages.forEach(({ need_bytes: bytes }, i) => {
                    split.stages[i].alone_bytes = bytes;
                });
        } catch (error) {
            // such copies are of the map alone
        }
        return split;
    }

    // Evaluates a split. `cuts` are the units that begin stages, except for the first stage.
    function evaluate(model, settings, cuts) {
        if (!canEvaluate(model))
            return toldSplit(model, settings);
        return splitOf(model, ask(model, settings, 'evaluate', splitRequest(model, settings,
            cuts)));
    }

    // Returns the constraints that a split breaks, in the words of the command.
    function broken(model, settings, cuts) {
        return !canEvaluate(model) ? [] : ask(model, settings, 'broken', {
            ...requestOf(model, settings), num_ipus: settings.numIpus, cuts });
    }

    // The best split of the solver; without one the best effort, if there is any at all. Settings
    // that the command refuses have no split either, and its sentence.
    function solve(model, settings) {
        if (!canEvaluate(model))
            return { status: 'unknown', split: null, why: null };
        try {
            const answer = ask(model, settings, 'plan', requestOf(model, settings));
            return { status: answer.status, why: answer.infeasibility, verdict: answer.verdict,
                split: answer.stages.length === 0 ? null : splitOf(model, answer) };
        } catch (error) {
            return { status: 'infeasible', split: null, why: null, verdict: { level: 'no',
                headline: 'No split meets the constraints.', proof: `${error.message}.` } };
        }
    }

    // The hints, in the words of the command; null where that was not looked for.
    function hints(model, settings) {
        if (!canEvaluate(model))
            return model.told && model.told.hints;
        try {
            return ask(model, settings, 'hints', requestOf(model, settings)).hints;
        } catch (error) {
            return null; // of settings that the command refuses
        }
    }

    // The settings that an option of a hint would change, "--num-ipus 3"; null unless the page has
    // all of them.
    function changeOf(model, settings, option) {
        const set = { 'num-ipus': (value) => ({ numIpus: Number(value) }),
            'mem-per-tile': (value) => model.wishes.reserve.length > 0 ? null
                : ({ limit: Number(value) }),
            need: (value) => ({ need: NEEDS.find((need) => value.endsWith(need)) }),
            objective: (value) => ({ objectives: value.split(',') }),
            schedule: (value) => {
                const { recompute } = model.pipelines[settings.pipeline];
                const at = model.pipelines.findIndex((own) => own.schedule === value &&
                    own.recompute === recompute && own.copies_rule === null);
                return at < 0 ? null : { pipeline: at };
            } };
        const parts = option.split(/ (?=--)/).map((own) => {
            const [name, value] = own.replace(/^--/, '').split(' ');
            return set[name.replace(/_/g, '-')]?.(value) ?? null;
        });
        return parts.includes(null) || Object.values(Object.assign({}, ...parts))
            .includes(NaN) ? null : Object.assign({}, ...parts);
    }

    // The passes of a step with a split: [stage, kind, from, to]; none if it is unknown.
    const passes = (model, settings, cuts) => !canEvaluate(model) ? []
        : ask(model, settings, 'passes', splitRequest(model, settings, cuts));

    // The frameworks that a split can be written for, and the text for one of them.
    const formats = (model) => canEvaluate(model) ? solver.formats : [];

    function emit(model, settings, cuts, format) {
        const table = tableOf(model, settings);
        table.answer('evaluate', splitRequest(model, settings, cuts));
        return table.emit(format);
    }

    // All best compromises of two objectives, the best of the first one first.
    function pareto(model, settings, objectives) {
        return ask(model, settings, 'front', { ...requestOf(model, settings), objectives,
            slack_percent: 0 }).results.map((own) => ({ cuts: cutsOf(model, own),
            values: own.totals }));
    }

    // The need of each unit as the last stage, alone.
    const aloneBytes = (model, settings) => !canEvaluate(model) ? []
        : ask(model, settings, 'alone', {});

    function settingsOf(model) {
        const { wishes } = model;
        return {
            pipeline: 0, need: wishes.need, limit: wishes.limit_bytes, numIpus: wishes.num_ipus,
            objectives: [...wishes.objectives], slack: wishes.slack_percent };
    }

    // ---- the same from the command -------------------------------------------------------------

    // Characters that a terminal obeys, or that turn the text around them: src/base/text.c.
    const CONTROLS = '\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';

    // A word of a command line, as a shell takes it from a terminal: src/command/page.c.
    function quote(word) {
        if (/^(?!=)[\w\-./:,=+@%]+$/.test(word))
            return word;
        if (!new RegExp(`[${CONTROLS}]`).test(word))
            return `'${word.replace(/'/g, "'\\''")}'`;
        const escaped = (character) => Array.from(new TextEncoder().encode(character), (byte) =>
            `\\${byte.toString(8).padStart(3, '0')}`).join('');
        return `$'${word.replace(new RegExp(`[${CONTROLS}'\\\\]`, 'g'), escaped)}'`;
    }

    // As JSON that a terminal obeys nowhere but in its line ends.
    function jsonText(value) {
        return JSON.stringify(value, null, 2).replace(new RegExp(`[${CONTROLS}]`, 'g'),
            (c) => c === '\n' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }

    function settingWords(model, { limit, need, pipeline: number }) {
        const pipeline = model.pipelines[number];
        return [...pipeline.words !== null ? [pipeline.words] : ['schedule', 'recompute'].map(
            (name) => pipeline[name] === 'none' ? '' : `--${name} ${pipeline[name]}`),
        limit < Infinity ? `--mem-per-tile ${limit}` : '',
        need === 'expected' ? '' : `--need at-${need}`];
    }

    const joined = (words) => words.filter((word) => word !== '').join(' ');

    // A fraction whose lower part is a power of ten, as a decimal.
    function decimal([above, below]) {
        const digits = below.length - 1;
        const text = above.padStart(digits + 1, '0');
        return digits === 0 ? text
            : `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
    }

    const option = (name, values) => values.length === 0 ? '' : `${name} ${values.join(',')}`;

    function ipuWords(model, numIpus) {
        const { device_map: map, links } = model.wishes;
        const { limits, speeds, single } = ipuLists(model, numIpus);
        const all = links !== null && links.all_is_asked_for && links.all[0] !== '0'
            ? [decimal(links.all)] : [];
        return [map === null ? '' : option('--device-map', map),
            option('--mem-per-tile', limits.map(([ipu, most]) => `${ipu}=${most}`)),
            option('--ipu-speed', speeds.map(([ipu, speed]) =>
                `${ipu}=${decimal([String(speed), String(SPEED_ONE)])}`)),
            option('--bandwidth', [...all, ...single.map(([first, second, ...bandwidth]) =>
                `${first}-${second}=${decimal(bandwidth)}`)])];
    }

    function constraintWords({ words }, model, settings) {
        return joined([...ipuWords(model, settings.numIpus), words.constraints]);
    }

    function solveCommand(data, model, settings) {
        const { words } = data;
        const most = mostIpus(model, settings); // as many as there are copies for
        return joined([words.command, '--solve',
            model.wishes.device_map === null ? `--num-ipus ${most}` : '',
            `--objective ${objectivesOf(model, settings).join(',')}`,
            settings.slack > 0 ? `--slack ${settings.slack}` : '',
            ...settingWords(model, settings), constraintWords(data, model, settings)]);
    }

    function evaluateCommand({ words }, model, settings, cuts) {
        const names = cuts.length === 0 ? 'whole'
            : cuts.map((unit) => model.chain.labels[unit - 1].replace(/[,|\\]/g, '\\$&')).join('|');
        const { device_map: map } = model.wishes;
        const isMapped = map !== null && map.length === cuts.length + 1;
        const [mapWords, limitWords, ...timeWords] = ipuWords(model, cuts.length + 1);
        return joined([words.command, // a name may begin with a dash
            `--evaluate${names.startsWith('-') ? '=' : ' '}${quote(names)}`,
            ...settingWords(model, settings),
            ...map !== null && !isMapped ? [] : [mapWords, limitWords],
            ...!model.costs ? [] : [map === null ? `--num-ipus ${cuts.length + 1}` : '',
                ...timeWords]]);
    }

    return {
        NEEDS, CONTROLS, read, evaluate, broken, fewestIpus, useSolver, canEvaluate, solve, hints,
        changeOf, passes, formats, emit, pareto, settingsOf, aloneBytes,
        solveCommand, evaluateCommand, constraintWords, jsonText };
})();

if (typeof module !== 'undefined')
    module.exports = Model;
