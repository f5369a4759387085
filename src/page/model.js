'use strict';
// The model of stages in a page: evaluates any split as the command does, and has the command's
// solver find the best one. It has no references to the page, so that tests run it alone.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Model = (() => {
    const NEEDS = ['least', 'expected', 'most'];
    const OBJECTIVES = ['memory', 'cycles', 'traffic', 'ipus', 'balance', 'headroom',
        'step'];
    const SPREAD = 0.034; // POPLINER_SPREAD
    const SPEED_ONE = 1000000; // POPLINER_SPEED_ONE
    const MAX_CYCLES = 2 ** 52 - 1; // POPLINER_MAX_CYCLES
    const MAX_CURVE = 64;
    const BOUNDING_SECONDS = 0.2; // no proof comes of more
    let solver = null; // src/wasm/solver.js, once it is there
    let lastTable = {}; // of the solver

    // ---- reading -------------------------------------------------------------------------------

    function bytesOf(text) {
        const chars = atob(text);
        const result = new Uint8Array(chars.length);
        for (let i = 0; i < chars.length; i++)
            result[i] = chars.charCodeAt(i);
        return result;
    }

    // Numbers as src/base/packed.h writes them. Groups are added up, for shifts have 32 bits only.
    function unpack(text) {
        const bytes = bytesOf(text);
        const numbers = new Float64Array(bytes.length);
        let count = 0;
        for (let i = 0, last = 0; i < bytes.length;) {
            let group = bytes[i++];
            let value = group & 0x7f;
            for (let scale = 128; group >= 0x80; scale *= 128) {
                group = bytes[i++];
                value += (group & 0x7f) * scale;
            }
            last += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
            numbers[count++] = last;
        }
        return numbers.slice(0, count);
    }

    function unpackAll(columns) {
        return Object.fromEntries(Object.entries(columns).map(([name, column]) =>
            [name, typeof column === 'string' ? unpack(column) : column]));
    }

    // Where each item begins in a list that holds so many of each.
    function starts(counts) {
        const result = new Float64Array(counts.length + 1);
        for (let i = 0; i < counts.length; i++)
            result[i + 1] = result[i] + counts[i];
        return result;
    }

    function withStarts(columns, counts) {
        const result = unpackAll(columns);
        return { ...result, first: starts(result[counts]) };
    }

    function readStages(stages) {
        return { sums: unpackAll(stages.sums || {}),
            variables: stages.variables && withStarts(stages.variables, 'count'),
            largest: Object.fromEntries(NEEDS.map((need) =>
                [need, withStarts(stages[need] || stages.expected, 'pieces')])),
            pipelines: stages.pipelines.map((p) => Object.assign({}, p,
                { copies: unpackAll(p.copies), cycles: p.cycles && unpack(p.cycles) })) };
    }

    // How the command names options in its messages, and constraints.
    function optionNames(words) {
        if (words === null)
            return {};
        const bare = (option) => option.replace(/^-+/, '');
        return { num_ipus: words.num_ipus, mem_per_tile: words.mem_per_tile,
            constraint_num_ipus: bare(words.num_ipus),
            constraint_device_map: bare(words.device_map) };
    }

    // Reads the stages from the data of a page.
    function read(data) {
        const model = {
            chain: data.chain, numUnits: data.chain.labels.length, parts: data.chain.parts,
            tileParts: data.chain.tile_parts,
            categories: data.categories, optionNames: optionNames(data.words),
            costs: data.costs || null, // the units of a file of costs
            wishes: { ...data.wishes, limit_bytes: data.wishes.limit_bytes ?? Infinity },
            told: { cuts: data.plan, stages: data.plan_stages || [] },
            unitIpus: data.unit_ipus || null, pipelines: [], hasCycles: Boolean(data.chain.cycles),
            needs: data.chain.follows_account ? NEEDS : ['expected'] };
        if (data.stages.length === 0)
            return model;
        model.cuts = unpack(data.chain.cuts_bytes);
        model.cycles = model.hasCycles ? unpack(data.chain.cycles) : null;
        for (const stages of data.stages.map(readStages))
            for (const pipeline of stages.pipelines)
                model.pipelines.push(Object.assign({}, pipeline, { stages,
                    cycles: pipeline.cycles === null ? model.cycles : pipeline.cycles }));
        return model;
    }

    // ---- IPUs ----------------------------------------------------------------------------------

    // The IPU of a stage; -1 for one that the device map does not have.
    function ipuOf(model, stage) {
        const map = model.wishes.device_map;
        return map === null ? stage : stage < map.length ? map[stage] : -1;
    }

    const useSolver = (own) => { solver = own; };

    // Whether stages share IPUs: what they need together the page knows of the command's plan
    // alone. For others it adds up what each needs, which is never too little.
    function isBounded(model) {
        const map = model.wishes.device_map;
        return map !== null && new Set(map).size < map.length;
    }

    const canSolve = (model) => solver !== null && model.wishes.unknown.length === 0;

    // On how many IPUs of the profile the units of a stage compute: src/memory/chain.c.
    function numProfileIpus(model, first, last) {
        return model.unitIpus == null ? 1
            : new Set(model.unitIpus.slice(first, last + 1).flat()).size;
    }

    // The number of an IPU in a list of pairs.
    function numberOf(list, ipu, otherwise) {
        const own = list.find(([first]) => first === ipu);
        return own === undefined ? otherwise : own[1];
    }

    // Cycles at a speed, in millionths, rounded up: src/solve/ipus.c.
    function atSpeed(speed, cycles) {
        const part = cycles % speed * SPEED_ONE;
        return (cycles - cycles % speed) / speed * SPEED_ONE + (part - part % speed) / speed +
            (part % speed > 0 ? 1 : 0);
    }

    // The bandwidth between two IPUs: bytes in cycles; null if cuts take nothing there.
    function linkBetween(model, ipu, other) {
        const { links } = model.wishes;
        if (links === null || ipu === other)
            return null;
        const own = links.single.find(([first, second]) => ipu >= 0 && other >= 0 &&
            Math.min(first, second) === Math.min(ipu, other) &&
            Math.max(first, second) === Math.max(ipu, other));
        const bandwidth = own === undefined ? links.all : own.slice(2);
        return bandwidth[0] === '0' ? null : bandwidth;
    }

    // Returns the time of bytes on a link, rounded up.
    function linkCycles(bandwidth, bytes) {
        if (bandwidth === null || bytes === 0)
            return 0;
        const carried = BigInt(bandwidth[0]);
        const cycles = Number((BigInt(bytes) * BigInt(bandwidth[1]) + carried - 1n) / carried);
        return Math.min(cycles, MAX_CYCLES);
    }

    // Returns the time of the cut before a unit, on the link before a stage.
    function linkBefore(model, stage, unit) {
        return unit === 0 || unit === model.numUnits ? 0
            : linkCycles(linkBetween(model, ipuOf(model, stage - 1), ipuOf(model, stage)),
                model.cuts[unit]);
    }

    // ---- stages --------------------------------------------------------------------------------

    // The place of an interval: costs/triangle.h.
    function place(model, first, last) {
        return first * (2 * model.numUnits - first + 1) / 2 + last - first;
    }

    // The largest tile of a stage that keeps so many copies.
    function findPiece(tiles, interval, copies) {
        let piece = tiles.first[interval];
        const end = tiles.first[interval + 1];
        if (piece === end)
            return -1;
        while (piece + 1 < end && tiles.from_copies[piece + 1] <= copies)
            piece++;
        return piece;
    }

    // The key of the copies of a stage: the number of stages to the end, or of all stages.
    const placeOf = (pipeline, numStages, number) =>
        pipeline.follows_split ? numStages : numStages - number;

    function needBytes(pipeline, need, interval, placed) {
        const tiles = pipeline.stages.largest[need];
        const copies = pipeline.copies[need][placed - 1];
        const piece = findPiece(tiles, interval, copies);
        return piece < 0 ? 0 : tiles.bytes[piece] + copies * tiles.stash_bytes[piece];
    }

    function variablesOf(model, stages, piece) {
        const v = stages.variables;
        const result = [];
        for (let i = v.first[piece]; i < v.first[piece + 1]; i++)
            result.push({
                name: v.name[i] === 0 ? '' : v.names[v.name[i] - 1],
                category: model.categories[v.category[i]], size_bytes: v.size_bytes[i] });
        return result;
    }

    // popliner_verdict_of; alone: on its IPU, of which nothing is known if others are also there.
    function verdict(needs, limit, isAlone, numIpus) {
        if (!isAlone || numIpus > 1)
            return needs.least <= limit ? 'is not known to fit' : 'does not fit';
        return needs.most <= limit ? 'fits' : needs.expected <= limit ? 'likely fits'
            : needs.least <= limit ? 'may not fit' : 'does not fit';
    }

    // By how many standard deviations of an estimate it is within the limit.
    const margin = (expected, limit) =>
        expected > 0 ? (limit - expected) / (SPREAD * expected) : 0;

    // The parts of a fullest tile; what is left is of variables that are live at its step.
    function tileParts(names, tiles, piece, copies, all) {
        const layout = tiles.copy_layout_bytes[piece];
        const parts = {};
        for (const name of names)
            parts[name] = name === 'live_bytes' ? 0 : tiles[name][piece];
        parts.stash_bytes = copies * (tiles.stash_bytes[piece] - layout) -
            tiles.freed_bytes[piece];
        parts.layout_bytes = tiles.layout_bytes[piece] + copies * layout;
        parts.live_bytes = all - Object.values(parts).reduce((sum, value) => sum + value, 0);
        return parts;
    }

    // A stage, counted from 0 by `number`: what pl_stage_details_get tells of it.
    function stage(model, settings, first, last, number, placed) {
        const pipeline = model.pipelines[settings.pipeline];
        const { sums, largest } = pipeline.stages;
        const i = place(model, first, last);
        const copies = pipeline.copies.expected[placed - 1];
        const keeps = copies > 0 ? 1 : 0;
        const mem = {};
        for (const { name, column } of model.parts)
            mem[name] = sums[column][i];
        if (!model.costs) {
            mem.stash = copies * mem.stash - keeps * sums.freed_bytes[i];
            mem.layout += copies * sums.copy_layout_bytes[i] - keeps * sums.freed_layout_bytes[i];
        }
        const total = Object.values(mem).reduce((sum, value) => sum + value, 0);
        const needs = {};
        for (const need of NEEDS)
            needs[need] = needBytes(pipeline, need, i, placed);
        const tiles = largest.expected;
        const piece = findPiece(tiles, i, copies);
        const need = needs[settings.need];
        const ipu = ipuOf(model, number);
        const limit = numberOf(model.wishes.mem_per_tile, ipu, settings.limit);
        const numIpus = numProfileIpus(model, first, last);
        const { device_map: map } = model.wishes;
        const isAlone = map === null || map.filter((own) => own === ipu).length < 2;
        const onLinks = linkBefore(model, number, first) + linkBefore(model, number + 1, last + 1);
        const result = {
            first, last, ipu, needs, mem,
            total_bytes: model.costs ? null : total,
            parts_bytes: total, parameter_bytes: model.costs ? null : sums.parameter_bytes[i],
            need_bytes: need, alone_bytes: need, limit_bytes: limit,
            // of one of several on an IPU no more can be known than that it does not
            fits: need > limit ? false : isAlone && numIpus < 2 ? true : null,
            headroom_bytes: limit - need, verdict: verdict(needs, limit, isAlone, numIpus),
            is_known: isAlone,
            is_spread: numIpus > 1, // over IPUs of the profile
            bound_bytes: null, is_alone: isAlone,
            margin_spreads: margin(needs.expected, limit),
            cycles: !model.hasCycles ? null : onLinks +
                atSpeed(numberOf(model.wishes.ipu_speeds, ipu, SPEED_ONE), pipeline.cycles[i]),
            cut_bytes: last + 1 < model.numUnits ? model.cuts[last + 1] : 0,
            tile: 0, tile_bytes: needs.expected, tile_parts: null, step: 0, variables: [] };
        if (piece >= 0 && !model.costs)
            Object.assign(result, {
                tile: tiles.tile[piece], step: tiles.step[piece],
                tile_parts:
                    tileParts(Object.keys(model.tileParts), tiles, piece, copies, needs.expected),
                variables: variablesOf(model, pipeline.stages, piece) });
        return result;
    }

    // Whether the spread is of cycles, not of memory: popliner/solver.h.
    function spreadIsOfCycles(objectives) {
        const at = objectives.indexOf('cycles');
        return at >= 0 && at < objectives.indexOf('balance');
    }

    const spread = (values) => Math.max(...values) - Math.min(...values);

    // Puts the command's values of the stages of its own plan in the place of what follows from
    // each stage alone; with another limit they have another verdict.
    function tell(model, settings, cuts, stages) {
        const { wishes, told } = model;
        if (!told || told.stages.length !== stages.length || settings.pipeline !== 0 ||
            settings.need !== wishes.need || cuts.join() !== (told.cuts || []).join())
            return;
        stages.forEach((stage, i) => {
            const { least, expected, most, ...own } = told.stages[i];
            Object.assign(stage, own, { needs: { least, expected, most }, tile_bytes: expected,
                headroom_bytes: stage.limit_bytes - own.need_bytes,
                margin_spreads: margin(expected, stage.limit_bytes),
                is_alone: stage.is_known, is_known: true });
            if (settings.limit !== wishes.limit_bytes)
                Object.assign(stage, { fits: own.need_bytes > stage.limit_bytes ? false
                    : stage.is_spread ? null : true, verdict: verdict(stage.needs,
                    stage.limit_bytes, true, stage.is_spread ? 2 : 1) });
        });
    }

    function ipuCycles(stages) {
        const cycles = new Map();
        stages.forEach((s, i) => {
            const ipu = s.ipu < 0 ? `stage ${i}` : s.ipu;
            cycles.set(ipu, (cycles.get(ipu) || 0) + s.cycles);
        });
        return [...cycles.values()];
    }

    // An IPU with several stages needs no more than the sum of what each of them needs.
    function addBounds(settings, stages) {
        for (const own of stages.filter((s) => !s.is_known && s.ipu >= 0)) {
            const others = stages.filter((s) => s.ipu === own.ipu);
            const sum = (need) => others.reduce((bytes, s) => bytes + s.needs[need], 0);
            const isSpread = others.some((s) => s.is_spread);
            own.bound_bytes = sum(settings.need);
            own.fits = others.some((s) => s.need_bytes > s.limit_bytes) ? false
                : isSpread || own.bound_bytes > own.limit_bytes ? null : true;
            if (others.some((s) => s.needs.least > s.limit_bytes))
                own.verdict = 'does not fit';
            else if (!isSpread && sum('expected') <= own.limit_bytes)
                own.verdict = sum('most') <= own.limit_bytes ? 'fits' : 'likely fits';
        }
    }

    // Evaluates a split. `cuts` are the units that begin stages, except for the first stage.
    function evaluate(model, settings, cuts) {
        const pipeline = model.pipelines[settings.pipeline];
        const stages = [...cuts, model.numUnits].map((end, i) => stage(model, settings,
            i === 0 ? 0 : cuts[i - 1], end - 1, i, placeOf(pipeline, cuts.length + 1, i)));
        tell(model, settings, cuts, stages);
        addBounds(settings, stages);
        const isOfCycles = spreadIsOfCycles(objectivesOf(model, settings));
        const areKnown = stages.every((s) => s.is_known);
        const free = Math.min(...stages.map((s) => s.headroom_bytes));
        const values = {
            memory: areKnown ? Math.max(...stages.map((s) => s.need_bytes)) : null,
            cycles: model.hasCycles ? Math.max(...ipuCycles(stages)) : null,
            traffic: stages.reduce((sum, s) => sum + s.cut_bytes, 0),
            ipus: ipuCycles(stages).length,
            balance: isOfCycles ? spread(ipuCycles(stages))
                : areKnown ? spread(stages.map((s) => s.need_bytes)) : null,
            headroom: areKnown && free < Infinity ? Math.max(0, free) : null };
        if (objectivesOf(model, settings).includes('step'))
            values.step = step(model, settings, cuts)?.cycles ?? null;
        const bound = Math.max(...stages.map((s) => s.bound_bytes || s.need_bytes));
        const fits = stages.some((s) => s.fits === false) ? false
            : stages.every((s) => s.fits === true) ? true : null;
        return { cuts: [...cuts], stages, values, bound, fits };
    }

    // Returns the constraints that a split breaks, as texts.
    function broken(model, settings, cuts) {
        const { wishes, chain, numUnits } = model;
        const { device_map: map, min_units: least, max_units: most } = wishes;
        const device = model.costs ? 'device' : 'IPU';
        const begins = [0, ...cuts, numUnits];
        const result = [];
        const check = (isBroken, text) => isBroken && result.push(text);
        wishes.cut_rules.forEach((rule, unit) => {
            const isCut = cuts.includes(unit);
            check(isCut && (rule & 6) !== 0, `no cut may be after ${chain.labels[unit - 1]}`);
            check(!isCut && (rule & 1) !== 0, `a cut has to be after ${chain.labels[unit - 1]}`);
        });
        for (let i = 0; i + 1 < begins.length; i++) {
            const counted = wishes.counted.slice(begins[i], begins[i + 1])
                .reduce((sum, one) => sum + one, 0);
            check(counted < least, `stage ${i} has fewer than ${least} layers`);
            check(most > 0 && counted > most, `stage ${i} has more than ${most} layers`);
            for (const [unit, ipu] of wishes.placements)
                check(begins[i] <= unit && unit < begins[i + 1] && ipuOf(model, i) !== ipu,
                    `${chain.labels[unit]} has to be on ${device} ${ipu}`);
        }
        check(map !== null && cuts.length + 1 !== map.length,
            `the device map has ${map && map.length} stages`);
        check(map === null && cuts.length + 1 > settings.numIpus,
            `it has ${cuts.length + 1} stages, for at most ${settings.numIpus} ${device}` +
            (settings.numIpus === 1 ? '' : 's'));
        return result;
    }

    function cutRule(model, unit) {
        const rule = model.wishes.cut_rules[unit];
        return rule === 0 ? 'free' : rule === 1 ? 'required' : 'forbidden';
    }

    // The fewest IPUs that may be chosen: those that layers are placed on, and those whose link
    // tells how all are counted.
    function fewestIpus(model) {
        const { placements, links } = model.wishes;
        const named = placements.map(([, ipu]) => ipu);
        if (links !== null && !links.all_is_asked_for)
            links.single.forEach(([first, second]) => named.push(first, second));
        return 1 + Math.max(0, ...named);
    }

    // The need of each unit over all tiles as a stage alone, by part, with one copy of its stash.
    function unitParts(model) {
        const { sums } = model.pipelines[0].stages;
        return model.parts.map(({ text, column }) => ({ name: text, values: model.chain.labels.map(
            (_, unit) => sums[column][place(model, unit, unit)]) }));
    }

    // ---- solving -------------------------------------------------------------------------------

    // The objectives that can be had: no cycles without cycles, no step without micro-batches. The least spread would be that of a
    // single IPU: popliner_objectives_complete puts another objective before it.
    function objectivesOf(model, settings) {
        const { device_map: map, leading_objective: leading = 'memory' } = model.wishes;
        const list = askedObjectives(model, settings);
        return list[0] === 'balance' && map === null
            ? [leading, ...list.filter((name) => name !== leading)] : list;
    }

    function askedObjectives(model, settings) {
        const hasStep = Boolean(model.pipelines[settings.pipeline].micro_batches) &&
            !isBounded(model);
        return [...new Set(settings.objectives.map((name) => name === 'step' && !hasStep
            ? 'cycles' : name))].filter((name) => name !== 'cycles' || model.hasCycles);
    }

    // The table of costs in the memory of the solver, of the last pipeline and need: peaks of every
    // stage for so many places, where they differ.
    function tableOf(model, settings) {
        const { numUnits: n, cuts } = model;
        const pipeline = model.pipelines[settings.pipeline];
        const most = Math.min(n, pipeline.max_stages);
        const places = pipeline.keeps ? Math.min(most, Math.max(settings.numIpus, MAX_CURVE)) : 1;
        const key = [settings.pipeline, settings.need, places].join();
        if (lastTable.of === model.pipelines && lastTable.key === key)
            return lastTable.table;
        if (lastTable.table)
            lastTable.table.free();
        const table = solver.table(n, places, model.chain.labels);
        const peaks = Array(n * (n + 1) / 2);
        for (let placed = 1; placed <= places; placed++) {
            for (let i = 0; i < peaks.length; i++)
                peaks[i] = needBytes(pipeline, settings.need, i, placed);
            if (!model.chain.first_may_be_alone)
                peaks[0] = solver.FORBIDDEN;
            table.fill('peaks', placed, peaks);
        }
        if (pipeline.follows_split)
            table.followSplit();
        if (pipeline.cycles !== null)
            table.fill('cycles', 1, pipeline.cycles);
        if (pipeline.passes)
            table.divide(pipeline.passes, unpack(pipeline.passes.cycles));
        table.fill('cuts', 1, cuts);
        lastTable = { of: model.pipelines, key, table };
        return table;
    }

    // The wishes on single IPUs, as far as the command would take them with so many.
    function ipuLists(model, numIpus) {
        const { device_map: map, mem_per_tile: limits, ipu_speeds: speeds, links } = model.wishes;
        const isThere = (ipu) => map !== null ? map.includes(ipu) : ipu < numIpus;
        const isNext = (a, b) => map !== null ? map.some((ipu, i) => ipu === a && map[i + 1] === b)
            : b === a + 1 && isThere(b);
        return {
            limits: limits.filter(([ipu]) => model.costs || isThere(ipu)), // the file has them
            speeds: speeds.filter(([ipu]) => isThere(ipu)),
            single: links === null ? [] : links.single.filter(([a, b]) =>
                isNext(a, b) || isNext(b, a)) };
    }

    // The members of a request that decide how long a step takes.
    function passesOf({ schedule, recompute, copies_rule: rule, micro_batches: number }, texts) {
        return { ...number && { num_micro_batches: number },
            texts: { schedule, recompute, ...rule && { copies_rule: rule }, ...texts } };
    }

    // The settings, and the request of the command, as options of the solver.
    function requestOf(model, settings) {
        const { wishes } = model;
        const pipeline = model.pipelines[settings.pipeline];
        const most = pipeline.max_stages < model.numUnits ? pipeline.max_stages : settings.numIpus;
        const { limits, speeds, single } = ipuLists(model, settings.numIpus);
        const request = {
            objectives: objectivesOf(model, settings), slack_percent: settings.slack,
            num_ipus: Math.min(settings.numIpus, most),
            ...settings.limit < Infinity ? { mem_per_tile: settings.limit } : {},
            min_units: wishes.min_units, max_units: wishes.max_units,
            counted_units: wishes.counted, pairs: wishes.pairs, placements: wishes.placements,
            cut_rules: wishes.cut_rules.map((rule) => rule & 3),
            ipu_limits: limits, texts: model.optionNames };
        if (request.objectives[0] === 'step')
            Object.assign(request, passesOf(pipeline, model.optionNames));
        if (wishes.device_map !== null)
            request.device_map = wishes.device_map;
        if (isBounded(model))
            request.time_limit_seconds = BOUNDING_SECONDS;
        if (pipeline.cycles === null)
            return request;
        request.ipu_speeds = speeds;
        if (wishes.links !== null) {
            request.link_bandwidth = wishes.links.all.map(BigInt);
            request.ipu_links = single.map((link) => link.map(BigInt));
        }
        return request;
    }

    // An answer of the solver, to a request of which `others` replace some members.
    function ask(model, settings, what, others) {
        return JSON.parse(tableOf(model, settings).answer(what,
            { ...requestOf(model, settings), ...others }));
    }

    const withoutLimits = (settings) => ({ ...settings, objectives: ['memory'], slack: 0,
        limit: Infinity });

    // The best split of the solver; without one the best effort, if there is any at all; and why.
    // If stages share IPUs, the solver adds up what they need: the status is "bounded". Settings
    // that the command refuses have no split either, and its sentence.
    function solve(model, settings) {
        if (!canSolve(model))
            return { status: 'unknown', split: null, why: null, messages: [] };
        try {
            const plan = ask(model, settings, 'plan', {});
            const cuts = tableOf(model, settings).cuts(0);
            const status = isBounded(model) && cuts !== null ? 'bounded' : plan.status;
            return { status, why: plan.infeasibility, messages: plan.messages,
                split: cuts === null ? null : evaluate(model, settings, cuts) };
        } catch (error) {
            return { status: 'infeasible', split: null, why: null,
                messages: [{ level: 'error', text: `${error.message}.` }] };
        }
    }

    // The answer of the solver to a request that has one split.
    function askOf(model, settings, cuts, what = 'plan') {
        return ask(model, withoutLimits(settings), what, { num_ipus: cuts.length + 1,
            ipu_limits: [], min_units: 1, max_units: 0, pairs: [], placements: [],
            ...passesOf(model.pipelines[settings.pipeline], {}),
            cut_rules: model.chain.labels.map((_, unit) => cuts.includes(unit) ? 1 : 2) });
    }

    // How long a step of all micro-batches takes with a split, in the words of a certificate; null
    // if the request has no number of them, or the page cannot tell.
    function step(model, settings, cuts) {
        if (!model.pipelines[settings.pipeline].micro_batches || !canSolve(model) ||
            isBounded(model))
            return null;
        const { totals } = askOf(model, settings, cuts);
        return totals.step.cycles === null ? null : totals.step;
    }

    // The passes of this step: [stage, kind, from, to].
    const passes = (model, settings, cuts) => askOf(model, settings, cuts, 'passes');

    // The frameworks that a split can be written for, and the text for one of them.
    const formats = (model) => canSolve(model) ? solver.formats : [];

    function emit(model, settings, cuts, format) {
        askOf(model, settings, cuts);
        return tableOf(model, withoutLimits(settings)).emit(format);
    }

    // The smallest largest peak for each number of IPUs from 1 on, whatever the limits; NaN where
    // constraints leave no split. It is kept with the table, on which alone it depends.
    function curve(model, settings) {
        const map = model.wishes.device_map;
        const most = map !== null ? 1 : Math.min(MAX_CURVE, model.numUnits, model.pipelines[
            settings.pipeline].max_stages, Math.max(16, settings.numIpus) + 1);
        tableOf(model, settings);
        if (lastTable.most === most)
            return lastTable.curve;
        const { results } = ask(model, withoutLimits(settings), 'sweep', { ipu_limits: [],
            ipu_speeds: [], ipu_links: [], link_bandwidth: [0, 0], num_ipus: most });
        const values = results.map(({ status, objectives }) => status === 'optimal'
            ? objectives[0].value : NaN);
        lastTable.curve = map === null ? values : [...Array(map.length - 1).fill(NaN), ...values];
        lastTable.most = most;
        return lastTable.curve;
    }

    // All best compromises of two objectives, the best of the first one first.
    function pareto(model, settings, objectives) {
        const { results } = ask(model, { ...settings, objectives, slack: 0 }, 'front', {});
        return results.map((_, i) => tableOf(model, settings).cuts(i))
            .map((cuts) => evaluate(model, settings, cuts)); // which may also ask the solver
    }

    // Returns the need of a unit as a stage alone at the end of its pipeline: the fewest copies.
    function aloneBytes(model, settings, unit) {
        const pipeline = model.pipelines[settings.pipeline];
        return needBytes(pipeline, settings.need, place(model, unit, unit),
            placeOf(pipeline, 1, 0));
    }

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

    // An option with its value, which is no option even if it begins with a dash.
    function valued(name, value) {
        return `${name}${value.startsWith('-') ? '=' : ' '}${quote(value)}`;
    }

    // As JSON that a terminal obeys nowhere but in its line ends.
    function jsonText(value) {
        return JSON.stringify(value, null, 2).replace(new RegExp(`[${CONTROLS}]`, 'g'),
            (c) => c === '\n' ? c : `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }

    function settingWords(words, model, { limit, need, pipeline: number }) {
        const pipeline = model.pipelines[number];
        return [...pipeline.words !== null ? [pipeline.words] : ['schedule', 'recompute'].map(
            (name) => pipeline[name] === 'none' ? '' : `${words[name]} ${pipeline[name]}`),
        limit < Infinity ? `${words.mem_per_tile} ${limit}` : '', words[need]];
    }

    const joined = (words) => words.filter((word) => word !== '').join(' ');

    // A fraction whose lower part is a power of ten, times a unit, as a decimal.
    function decimal([above, below], unit = 1) {
        const digits = below.length - String(unit).length;
        const text = above.padStart(digits + 1, '0');
        return digits === 0 ? text
            : `${text.slice(0, -digits)}.${text.slice(-digits)}`.replace(/\.?0+$/, '');
    }

    const option = (name, values) => values.length === 0 ? '' : `${name} ${values.join(',')}`;

    function ipuWords(words, model, numIpus) {
        const { device_map: map, links } = model.wishes;
        const { limits, speeds, single } = ipuLists(model, numIpus);
        const unit = model.costs ? model.costs.cycles_per_time_unit : 1;
        const all = links !== null && links.all_is_asked_for && links.all[0] !== '0'
            ? [decimal(links.all, unit)] : [];
        return [map === null ? '' : option(words.device_map, map),
            option(words.mem_per_tile, limits.map(([ipu, most]) => `${ipu}=${most}`)),
            option(words.ipu_speed, speeds.map(([ipu, speed]) =>
                `${ipu}=${decimal([String(speed), String(SPEED_ONE)])}`)),
            option(words.bandwidth, [...all, ...single.map(([first, second, ...bandwidth]) =>
                `${first}-${second}=${decimal(bandwidth, unit)}`)])];
    }

    function constraintWords({ words }, model, settings) {
        return joined([...ipuWords(words, model, settings.numIpus), words.constraints]);
    }

    function solveCommand(data, model, settings) {
        const { words } = data;
        const { num_ipus: most } = requestOf(model, settings); // as many as there are copies for
        return joined([words.command, words.solve,
            model.wishes.device_map === null ? `${words.num_ipus} ${most}` : '',
            `${words.objective} ${askedObjectives(model, settings).join(',')}`,
            settings.slack > 0 ? `${words.slack} ${settings.slack}` : '',
            ...settingWords(words, model, settings), constraintWords(data, model, settings)]);
    }

    function evaluateCommand({ words }, model, settings, cuts) {
        const names = cuts.length === 0 ? 'whole'
            : cuts.map((unit) => model.chain.labels[unit - 1].replace(/[,|\\]/g, '\\$&')).join('|');
        const { device_map: map } = model.wishes;
        const isMapped = map !== null && map.length === cuts.length + 1;
        const [mapWords, limitWords, ...timeWords] = ipuWords(words, model, cuts.length + 1);
        return joined([words.command, valued(words.evaluate, names),
            ...settingWords(words, model, settings),
            ...map !== null && !isMapped ? [] : [mapWords, limitWords],
            ...!model.costs ? [] : [map === null ? `${words.num_ipus} ${cuts.length + 1}` : '',
                ...timeWords]]);
    }

    // Cycles in the unit of time of costs; those of a profile stay cycles.
    function inTime(costs, cycles) {
        return costs && cycles !== null ? cycles / costs.cycles_per_time_unit : cycles;
    }

    // The plan as JSON, with its request.
    function planJson(model, settings, split) {
        const { costs, chain: { labels } } = model;
        const { cycles, balance } = split.values;
        const isOfCycles = spreadIsOfCycles(objectivesOf(model, settings));
        const pipeline = model.pipelines[settings.pipeline];
        return {
            cuts_after: split.cuts.map((unit) => labels[unit - 1]),
            schedule: pipeline.schedule, recompute: pipeline.recompute,
            copies: pipeline.copies_rule, need: settings.need, limit_bytes: settings.limit,
            fits: split.fits, time_unit: costs ? costs.time_unit : 'cycles',
            objectives: { ...split.values, cycles: inTime(costs, cycles),
                balance: isOfCycles ? inTime(costs, balance) : balance },
            stages: split.stages.map((s) => ({
                ipu: s.ipu, unit_from: labels[s.first], unit_to: labels[s.last],
                need_bytes: s.need_bytes, limit_bytes: s.limit_bytes,
                headroom_bytes: s.headroom_bytes, verdict: s.verdict, tile: s.tile, step: s.step,
                cycles: inTime(costs, s.cycles), cut_bytes: s.cut_bytes, needs: s.needs,
                memory: s.mem, largest_variables: s.variables })) };
    }

    return {
        NEEDS, OBJECTIVES, CONTROLS, bytesOf, unpack, unpackAll, starts, withStarts, place, read,
        evaluate, broken, cutRule, fewestIpus, useSolver, canSolve, isBounded, solve, step, passes, formats, emit, unitParts,
        curve,
        pareto, settingsOf, spreadIsOfCycles, objectivesOf, aloneBytes, solveCommand,
        evaluateCommand, constraintWords, inTime, planJson, jsonText, placeOf };
})();

if (typeof module !== 'undefined')
    module.exports = Model;
