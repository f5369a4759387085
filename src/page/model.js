'use strict';
// The model of stages in a page: evaluates any split, and finds the best one, with the answers of
// the command. It has no references to the page, so that tests run it alone.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Model = (() => {
    const NEEDS = ['least', 'expected', 'most'];
    const OBJECTIVES = ['memory', 'cycles', 'traffic', 'ipus', 'balance'];
    const SPREAD = 0.034; // POPLINER_SPREAD
    const SPEED_ONE = 1000000; // POPLINER_SPEED_ONE
    const MAX_CYCLES = 2 ** 52 - 1; // POPLINER_MAX_CYCLES

    // ---- reading -------------------------------------------------------------------------------

    // Numbers as src/base/packed.h writes them. Groups are added up, for shifts have 32 bits only.
    function unpack(text) {
        const bytes = atob(text);
        const numbers = [];
        let last = 0;
        for (let i = 0; i < bytes.length;) {
            let value = 0;
            let scale = 1;
            let group;
            do {
                group = bytes.charCodeAt(i++);
                value += (group & 0x7f) * scale;
                scale *= 128;
            } while (group >= 0x80);
            last += value % 2 === 0 ? value / 2 : -(value + 1) / 2;
            numbers.push(last);
        }
        return Float64Array.from(numbers);
    }

    function unpackAll(columns) {
        const result = {};
        for (const name of Object.keys(columns))
            result[name] = typeof columns[name] === 'string' ? unpack(columns[name])
                : columns[name];
        return result;
    }

    // Where each item begins in a list that holds so many of each.
    function starts(counts) {
        const result = new Float64Array(counts.length + 1);
        for (let i = 0; i < counts.length; i++)
            result[i + 1] = result[i] + counts[i];
        return result;
    }

    function readStages(stages) {
        const result = { pipelines: [], sums: unpackAll(stages.sums), largest: {} };
        for (const p of stages.pipelines)
            result.pipelines.push(Object.assign({}, p, { copies: unpackAll(p.copies),
                cycles: p.cycles === null ? null : unpack(p.cycles) }));
        for (const need of NEEDS) {
            const columns = unpackAll(stages[need]);
            columns.first = starts(columns.pieces);
            result.largest[need] = columns;
        }
        result.variables = unpackAll(stages.variables);
        result.variables.first = starts(result.variables.count);
        return result;
    }

    // Reads the stages from the data of a page.
    function read(data) {
        const model = {
            chain: data.chain,
            numUnits: data.chain.labels.length,
            parts: data.chain.parts,
            categories: data.categories,
            wishes: data.wishes,
            told: { cuts: data.plan, stages: data.plan_stages || [] },
            unitIpus: data.unit_ipus || null,
            pipelines: [],
            hasCycles: Boolean(data.chain.cycles),
            needs: data.chain.follows_account ? NEEDS : ['expected'],
        };
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

    // Whether the page can solve: what stages need together on one IPU it does not know.
    function canSolve(model) {
        return model.wishes.unknown.length === 0;
    }

    // On how many IPUs of the profile the units of a stage compute: src/memory/chain.c.
    function numProfileIpus(model, first, last) {
        return model.unitIpus == null ? 1
            : new Set(model.unitIpus.slice(first, last + 1).flat()).size;
    }

    function limitOf(model, settings, ipu) {
        const own = model.wishes.mem_per_tile.find((limit) => limit[0] === ipu);
        return own === undefined ? settings.limit : own[1];
    }

    function speedOf(model, ipu) {
        const own = model.wishes.ipu_speeds.find((speed) => speed[0] === ipu);
        return own === undefined ? SPEED_ONE : own[1];
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
        if (links === null)
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

    // Returns the key of the copies of a stage: the number of stages to the end, or the number of
    // all stages.
    function placeOf(pipeline, numStages, number) {
        return pipeline.follows_split ? numStages : numStages - number;
    }

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
                category: model.categories[v.category[i]],
                size_bytes: v.size_bytes[i],
            });
        return result;
    }

    // popliner_verdict_of; alone: on its IPU, of which nothing is known if others are also there.
    function verdict(needs, limit, isAlone, numIpus) {
        if (!isAlone || numIpus > 1)
            return needs.least <= limit ? 'is not known to fit' : 'does not fit';
        return needs.most <= limit ? 'fits'
            : needs.expected <= limit ? 'likely fits'
            : needs.least <= limit ? 'may not fit' : 'does not fit';
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
        mem.stash = copies * mem.stash - keeps * sums.freed_bytes[i];
        mem.layout += copies * sums.copy_layout_bytes[i] - keeps * sums.freed_layout_bytes[i];
        const total = Object.values(mem).reduce((sum, value) => sum + value, 0);
        const needs = {};
        for (const need of NEEDS)
            needs[need] = needBytes(pipeline, need, i, placed);
        const tiles = largest.expected;
        const piece = findPiece(tiles, i, copies);
        const need = needs[settings.need];
        const ipu = ipuOf(model, number);
        const limit = limitOf(model, settings, ipu);
        const numIpus = numProfileIpus(model, first, last);
        const { device_map: map } = model.wishes;
        const isAlone = map === null || map.filter((own) => own === ipu).length < 2;
        const onLinks = linkBefore(model, number, first) + linkBefore(model, number + 1, last + 1);
        const result = {
            first, last, ipu, needs, mem,
            // what a calibration adds is only known of the tile that counts
            total_bytes: model.wishes.is_calibrated ? null : total,
            parts_bytes: total,
            unexplained_always_live_bytes: sums.unexplained_always_live_bytes[i],
            parameter_bytes: sums.parameter_bytes[i],
            need_bytes: need,
            limit_bytes: limit,
            // of one of several on an IPU no more can be known than that it does not
            fits: need > limit ? false : isAlone && numIpus < 2 ? true : null,
            headroom_bytes: limit - need,
            verdict: verdict(needs, limit, isAlone, numIpus),
            is_known: isAlone,
            is_alone: isAlone,
            margin_spreads: needs.expected > 0
                ? (limit - needs.expected) / (SPREAD * needs.expected) : 0,
            cycles: model.hasCycles ? atSpeed(speedOf(model, ipu), pipeline.cycles[i]) + onLinks
                : null,
            cut_bytes: last + 1 < model.numUnits ? model.cuts[last + 1] : 0,
            tile: 0, tile_bytes: 0, step: 0, variables: [],
        };
        if (piece >= 0)
            Object.assign(result, {
                tile: tiles.tile[piece],
                tile_bytes: needs.expected,
                step: tiles.step[piece],
                tile_unexplained_bytes: tiles.unexplained_bytes[piece],
                tile_stash_bytes: copies * (tiles.stash_bytes[piece] -
                    tiles.copy_layout_bytes[piece]) - tiles.freed_bytes[piece],
                tile_layout_bytes: tiles.layout_bytes[piece] +
                    copies * tiles.copy_layout_bytes[piece],
                variables: variablesOf(model, pipeline.stages, piece),
            });
        return result;
    }

    // Whether the spread is of cycles, not of memory: popliner/solver.h.
    function spreadIsOfCycles(objectives) {
        const at = objectives.indexOf('cycles');
        return at >= 0 && at < objectives.indexOf('balance');
    }

    function spread(values) {
        return Math.max(...values) - Math.min(...values);
    }

    // Puts the command's values of the stages of its own plan, for its own request, in the
    // place of what follows from each stage alone.
    function tell(model, settings, cuts, stages) {
        const { wishes, told } = model;
        if (!told || told.stages.length !== stages.length || settings.pipeline !== 0 ||
            settings.need !== wishes.need || settings.limit !== wishes.limit_bytes ||
            cuts.join() !== (told.cuts || []).join())
            return;
        stages.forEach((stage, i) => {
            const own = told.stages[i];
            Object.assign(stage, {
                ipu: own.ipu, limit_bytes: own.limit_bytes, need_bytes: own.need_bytes,
                needs: { least: own.least, expected: own.expected, most: own.most },
                fits: own.fits, verdict: own.verdict, step: own.step,
                tile: own.tile, tile_bytes: own.expected,
                headroom_bytes: own.limit_bytes - own.need_bytes,
                margin_spreads: own.expected > 0
                    ? (own.limit_bytes - own.expected) / (SPREAD * own.expected) : 0,
                total_bytes: own.total_bytes, variables: own.variables,
                is_alone: stage.is_known, is_known: true,
            });
        });
    }

    // The cycles of each IPU.
    function ipuCycles(stages) {
        const cycles = new Map();
        stages.forEach((s, i) => {
            const ipu = s.ipu < 0 ? `stage ${i}` : s.ipu;
            cycles.set(ipu, (cycles.get(ipu) || 0) + s.cycles);
        });
        return [...cycles.values()];
    }

    // Evaluates a split. `cuts` are the units that begin stages, except for the first stage.
    function evaluate(model, settings, cuts) {
        const begins = [0, ...cuts, model.numUnits];
        const pipeline = model.pipelines[settings.pipeline];
        const numStages = cuts.length + 1;
        const stages = [];
        for (let i = 0; i < numStages; i++)
            stages.push(stage(model, settings, begins[i], begins[i + 1] - 1, i,
                placeOf(pipeline, numStages, i)));
        tell(model, settings, cuts, stages);
        const isOfCycles = spreadIsOfCycles(objectivesOf(model, settings));
        const areKnown = stages.every((s) => s.is_known);
        const values = {
            memory: areKnown ? Math.max(...stages.map((s) => s.need_bytes)) : null,
            cycles: model.hasCycles ? Math.max(...ipuCycles(stages)) : null,
            traffic: stages.reduce((sum, s) => sum + s.cut_bytes, 0),
            ipus: ipuCycles(stages).length,
            balance: isOfCycles ? spread(ipuCycles(stages))
                : areKnown ? spread(stages.map((s) => s.need_bytes)) : null,
        };
        return { cuts: [...cuts], stages, values, fits: stages.some((s) => s.fits === false) ? false
            : stages.every((s) => s.fits === true) ? true : null };
    }

    // Returns the constraints that a split breaks, as texts.
    function broken(model, settings, cuts) {
        const { wishes, chain, numUnits } = model;
        const begins = [0, ...cuts, numUnits];
        const result = [];
        for (let unit = 1; unit < numUnits; unit++) {
            const isCut = cuts.includes(unit);
            if (isCut && (wishes.cut_rules[unit] & 2) !== 0)
                result.push(`no cut may be after ${chain.labels[unit - 1]}`);
            if (!isCut && (wishes.cut_rules[unit] & 1) !== 0)
                result.push(`a cut has to be after ${chain.labels[unit - 1]}`);
        }
        for (let i = 0; i + 1 < begins.length; i++) {
            const counted = wishes.counted.slice(begins[i], begins[i + 1])
                .reduce((sum, one) => sum + one, 0);
            if (counted < wishes.min_units)
                result.push(`stage ${i} has fewer than ${wishes.min_units} layers`);
            if (wishes.max_units > 0 && counted > wishes.max_units)
                result.push(`stage ${i} has more than ${wishes.max_units} layers`);
            for (const [unit, ipu] of wishes.placements)
                if (begins[i] <= unit && unit < begins[i + 1] && ipuOf(model, i) !== ipu)
                    result.push(`${chain.labels[unit]} has to be on IPU ${ipu}`);
        }
        if (wishes.device_map !== null && begins.length - 1 !== wishes.device_map.length)
            result.push(`the device map has ${wishes.device_map.length} stages`);
        else if (wishes.device_map === null && begins.length - 1 > settings.numIpus)
            result.push(`there are at most ${settings.numIpus} IPUs`);
        return result;
    }

    // Whether a cut may be there, or has to.
    function cutRule(model, unit) {
        return ['free', 'required', 'forbidden', 'forbidden'][model.wishes.cut_rules[unit]];
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

    // ---- posing --------------------------------------------------------------------------------

    // Applies the rules of cuts and sizes to each interval.
    function findAllowed(model) {
        const { wishes, numUnits: n } = model;
        const allowed = new Uint8Array(n * (n + 1) / 2);
        for (let first = 0; first < n; first++) {
            let counted = 0;
            for (let last = first; last < n; last++) {
                counted += wishes.counted[last];
                const required = last > first && (wishes.cut_rules[last] & 1) !== 0;
                if (required || (wishes.max_units > 0 && counted > wishes.max_units))
                    break;
                const mayBegin = first === 0 || (wishes.cut_rules[first] & 2) === 0;
                const mayEnd = last + 1 === n || (wishes.cut_rules[last + 1] & 2) === 0;
                const isEmpty = last === 0 && !model.chain.first_may_be_alone;
                allowed[place(model, first, last)] =
                    Number(mayBegin && mayEnd && !isEmpty && counted >= wishes.min_units);
            }
        }
        return allowed;
    }

    // The largest end of a stage on an IPU by its first unit: layers may be placed elsewhere.
    function findLastEnds(model, ipu) {
        const { placements } = model.wishes;
        const ends = new Float64Array(model.numUnits);
        let end = model.numUnits;
        for (let unit = model.numUnits - 1; unit >= 0; unit--) {
            if (placements.some((placed) => placed[0] === unit && placed[1] !== ipu))
                end = unit;
            ends[unit] = end;
        }
        return ends;
    }

    // The cycles of each interval as a stage, at the speed of its IPU and with its links.
    function findCycles(model, cycles, number) {
        const { numUnits: n } = model;
        const speed = number < 0 ? SPEED_ONE : speedOf(model, ipuOf(model, number));
        if (cycles === null || (speed === SPEED_ONE && model.wishes.links === null))
            return cycles;
        const from = number < 0 ? model.numUnits : number; // after all that are known
        const before = Float64Array.from({ length: n + 1 }, (_, unit) =>
            linkBefore(model, from, unit));
        const after = Float64Array.from({ length: n + 1 }, (_, unit) =>
            linkBefore(model, from + 1, unit));
        const result = new Float64Array(cycles.length);
        for (let first = 0, i = 0; first < n; first++)
            for (let last = first; last < n; last++, i++)
                result[i] = atSpeed(speed, cycles[i]) + before[first] + after[last + 1];
        return result;
    }

    // The intervals that may be a stage in a place without rules of its own: -1.
    function findRule(model, settings, cycles, number) {
        const ipu = number < 0 ? -1 : ipuOf(model, number);
        return {
            limit: limitOf(model, settings, ipu),
            lastEnds: findLastEnds(model, ipu),
            cycles: findCycles(model, cycles, number),
        };
    }

    // How many of the first places have rules of their own: src/solve/problem.h.
    function numSpecial(model, maxStages) {
        const { device_map: map, mem_per_tile: limits, ipu_speeds: speeds, placements, links } =
            model.wishes;
        if (map !== null)
            return maxStages;
        const ends = [0, ...limits.map(([ipu]) => ipu + 1), ...speeds.map(([ipu]) => ipu + 1),
            ...placements.map(([, ipu]) => ipu + 1),
            ...(links === null ? [] : links.single.map(([first, second]) =>
                Math.max(first, second) + 1))];
        return Math.min(maxStages, Math.max(...ends));
    }

    // The problem of some settings: how long pipelines may be, what stages need in each place, and
    // which intervals may be stages at all.
    function pose(model, settings) {
        const n = model.numUnits;
        const pipeline = model.pipelines[settings.pipeline];
        const map = model.wishes.device_map;
        const maxStages = Math.min(map === null ? settings.numIpus : map.length, n,
            pipeline.max_stages);
        const numIntervals = n * (n + 1) / 2;
        // where no copies are kept, every place is like the last
        const places = pipeline.keeps ? maxStages : 1;
        const peaks = [];
        for (let placed = 1; placed <= places; placed++) {
            const row = new Float64Array(numIntervals);
            for (let i = 0; i < numIntervals; i++)
                row[i] = needBytes(pipeline, settings.need, i, placed);
            peaks.push(row);
        }
        // where the number of stages counts, no row serves two of them
        const special = pipeline.follows_split ? maxStages : numSpecial(model, maxStages);
        const rules = Array.from({ length: special }, (_, number) =>
            findRule(model, settings, pipeline.cycles, number));
        rules.push(findRule(model, settings, pipeline.cycles, -1));
        return { model, pipeline, n, minStages: map === null ? 1 : map.length, maxStages, peaks, special,
            rules, allowed: findAllowed(model), sorted: {} };
    }

    function peaksOf(problem, numStages, number) {
        const placed = placeOf(problem.pipeline, numStages, number);
        return problem.peaks[Math.min(placed, problem.peaks.length) - 1];
    }

    function ruleOf(problem, number) {
        return problem.rules[Math.min(number, problem.special)];
    }

    // ---- one question --------------------------------------------------------------------------

    // Limits of a split in addition to the constraints.
    const FREE = { memory: Infinity, cycles: Infinity, traffic: Infinity, ipus: Infinity,
        balance: Infinity, leastMemory: 0, leastCycles: 0, isOfCycles: false,
        ignoresLimits: false };

    function mayBe(problem, filter, rule, peaks, first, end, i) {
        const { cycles } = rule;
        return problem.allowed[i] !== 0 && end <= rule.lastEnds[first] &&
            peaks[i] <= filter.memory && (filter.ignoresLimits || peaks[i] <= rule.limit) &&
            peaks[i] >= filter.leastMemory && (cycles === null ||
            (cycles[i] <= filter.cycles && cycles[i] >= filter.leastCycles));
    }

    // The fewest bytes over the cuts of what begins with a unit, in exactly so many stages, of
    // which the first is in a place with that rule and begins with one of the units in the range.
    function fillRow(problem, filter, rule, toEnd, after, range, peaks) {
        const { n, allowed, model } = problem;
        const row = new Float64Array(n + 1).fill(Infinity);
        const most = filter.ignoresLimits ? filter.memory : Math.min(filter.memory, rule.limit);
        const { cycles } = rule;
        for (let first = Math.min(n - toEnd, range[1]); first >= range[0]; first--) {
            const lastEnd = Math.min(rule.lastEnds[first], n - toEnd + 1);
            let best = Infinity;
            let end = toEnd === 1 ? n : first + 1;
            let i = place(model, first, end - 1);
            for (; end <= lastEnd; end++, i++) {
                if (allowed[i] === 0 || after[end] === Infinity || peaks[i] > most ||
                    peaks[i] < filter.leastMemory || (cycles !== null &&
                    (cycles[i] > filter.cycles || cycles[i] < filter.leastCycles)))
                    continue;
                const bytes = after[end] + (end < n ? model.cuts[end] : 0);
                if (bytes < best)
                    best = bytes;
            }
            row[first] = best;
        }
        return row;
    }

    // The rows of pipelines of each length, by the stage that comes first. Places after the
    // special ones share theirs. `makeRow` gets a rule, the stages to come, the row after, the
    // first and the last unit that the stage may begin with, and the peaks there.
    function fillAll(problem, most, makeRow) {
        const { n, special } = problem;
        const shared = [new Float64Array(n + 1).fill(Infinity)];
        shared[0][n] = 0;
        for (let toEnd = 1; toEnd <= most - special; toEnd++)
            shared.push(makeRow(problem.rules[special], toEnd, shared[toEnd - 1],
                [special, n], peaksOf(problem, toEnd, 0)));
        const result = [];
        for (let length = problem.minStages; length <= most; length++) {
            const rows = [];
            for (let number = length; number >= 0; number--)
                rows[number] = number === length ? shared[0]
                    : number >= special ? shared[length - number]
                    : makeRow(problem.rules[number], length - number, rows[number + 1],
                        [number, number === 0 ? 0 : n], peaksOf(problem, length, number));
            result.push(rows);
        }
        return result;
    }

    // The lengths in which there is a split within the filter, each with its rows.
    function fill(problem, filter) {
        return fillAll(problem, Math.min(problem.maxStages, filter.ipus),
            (...row) => fillRow(problem, filter, ...row))
            .filter((rows) => rows[0][0] <= filter.traffic && rows[0][0] < Infinity);
    }

    function isBefore(cuts, others) {
        for (let i = 0; i < cuts.length && i < others.length; i++)
            if (cuts[i] !== others[i])
                return cuts[i] < others[i];
        return cuts.length < others.length;
    }

    // The earliest cuts that some rows have, within so many bytes over the cuts.
    function walk(problem, filter, rows) {
        const { n, model } = problem;
        const length = rows.length - 1;
        const cuts = [];
        let left = filter.traffic;
        for (let number = 0, first = 0; number < length; number++) {
            const after = rows[number + 1];
            const rule = ruleOf(problem, number);
            const peaks = peaksOf(problem, length, number);
            for (let end = first + 1; end <= n; end++) {
                const cut = end < n ? model.cuts[end] : 0;
                if (after[end] === Infinity || !(after[end] + cut <= left) ||
                    !mayBe(problem, filter, rule, peaks, first, end, place(model, first, end - 1)))
                    continue;
                left -= cut;
                if (end < n)
                    cuts.push(end);
                first = end;
                break;
            }
        }
        return cuts;
    }

    // Among the splits within the filter, but for its spread, the one with the earliest cuts:
    // popliner/solver.h. Null if there is none.
    function earliestOfAny(problem, filter) {
        let best = null;
        for (const rows of fill(problem, filter)) {
            const cuts = walk(problem, filter, rows);
            if (best === null || isBefore(cuts, best))
                best = cuts;
        }
        return best;
    }

    // Like the function above, with the fewest bytes over the cuts, or the fewest stages.
    function fewestOfAny(problem, filter, objective) {
        const all = fill(problem, filter);
        if (all.length === 0)
            return null;
        if (objective === 'ipus')
            return walk(problem, filter, all[0]);
        const fewest = all.reduce((least, rows) => rows[0][0] < least[0][0] ? rows : least);
        return walk(problem, Object.assign({}, filter, { traffic: fewest[0][0] }), fewest);
    }

    function anyOfAny(problem, filter) {
        const all = fill(problem, filter);
        return all.length === 0 ? null : walk(problem, filter, all[0]);
    }

    // ---- spreads -------------------------------------------------------------------------------

    // Returns the value of an objective for a split.
    function valueOf(problem, filter, objective, cuts) {
        const begins = [0, ...cuts, problem.n];
        const length = begins.length - 1;
        if (objective === 'ipus')
            return length;
        if (objective === 'traffic')
            return cuts.reduce((sum, unit) => sum + problem.model.cuts[unit], 0);
        const isOfCycles = objective === 'cycles' ||
            (objective === 'balance' && filter.isOfCycles);
        const values = [];
        for (let number = 0; number < length; number++) {
            const i = place(problem.model, begins[number], begins[number + 1] - 1);
            values.push(isOfCycles ? ruleOf(problem, number).cycles[i]
                : peaksOf(problem, length, number)[i]);
        }
        return objective === 'balance' ? spread(values) : Math.max(...values);
    }

    // All values that stages may have of memory or cycles, each once, ascending.
    function sortedValues(problem, objective) {
        if (problem.sorted[objective] === undefined) {
            const lists = objective === 'memory' ? problem.peaks
                : problem.rules.map((rule) => rule.cycles);
            const all = new Float64Array(lists.reduce((sum, list) => sum + list.length, 0));
            let count = 0;
            for (const list of new Set(lists))
                for (let i = 0; i < list.length; i++)
                    if (problem.allowed[i] !== 0)
                        all[count++] = list[i];
            problem.sorted[objective] = all.subarray(0, count).sort()
                .filter((value, i, values) => i === 0 || value !== values[i - 1]);
        }
        return problem.sorted[objective];
    }

    // The place of the first of some ascending values that is no smaller.
    function lowerBound(values, value) {
        let low = 0;
        let high = values.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (values[middle] < value)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }

    // Goes through the splits whose spread is no larger than `width()`: blocks of smallest values,
    // as src/solve/objective.h has them. `find` tells the best split of a block that is better than
    // what is known, or null; `keep` takes one, and says whether that is enough.
    function overWindows(problem, filter, width, find, keep) {
        const objective = filter.isOfCycles ? 'cycles' : 'memory';
        const least = filter.isOfCycles ? 'leastCycles' : 'leastMemory';
        const values = sortedValues(problem, objective);
        let at = 0;
        let step = Infinity;
        while (width() >= 0) {
            const next = lowerBound(values, at);
            if (next === values.length)
                return;
            at = values[next];
            const cuts = find(Object.assign({}, filter, { balance: Infinity,
                [least]: at, [objective]: Math.min(filter[objective], at + width() + step) }));
            if (cuts === null) {
                at += step + 1;
                step += step + 1;
                continue;
            }
            if (valueOf(problem, filter, 'balance', cuts) > width()) {
                const without = valueOf(problem, filter, objective, cuts) - at - width() - 1;
                step = Math.min(Math.floor(step / 2), without);
            } else if (keep(cuts)) {
                return;
            }
        }
    }

    // The first split that a question has within the filter, its spread included; `ask` answers
    // without that, and `isBetter` says of two such answers whether the first is.
    function best(problem, filter, ask, isBetter) {
        if (filter.balance === Infinity)
            return ask(filter);
        let known = null;
        overWindows(problem, filter, () => filter.balance, (block) => {
            const cuts = ask(block);
            return cuts !== null && (known === null || isBetter(cuts, known)) ? cuts : null;
        }, (cuts) => {
            known = cuts;
            return isBetter === isNever;
        });
        return known;
    }

    const isNever = () => false;

    // A split within the filter, whichever, or null.
    function findAny(problem, filter) {
        return best(problem, filter, (asked) => anyOfAny(problem, asked), isNever);
    }

    function findEarliest(problem, filter) {
        return best(problem, filter, (asked) => earliestOfAny(problem, asked), isBefore);
    }

    // The smallest spread within the filter, of which a split is known.
    function smallestSpread(problem, filter, cuts) {
        let least = valueOf(problem, filter, 'balance', cuts);
        overWindows(problem, filter, () => least - 1, (block) => anyOfAny(problem, block),
            (found) => {
                least = valueOf(problem, filter, 'balance', found);
                return false;
            });
        return least;
    }

    // ---- solving -------------------------------------------------------------------------------

    // The smallest of the values of memory or cycles for which there is a split within the filter;
    // one is known.
    function smallestLargest(problem, filter, objective, cuts) {
        const values = sortedValues(problem, objective);
        let low = 0;
        let high = lowerBound(values, valueOf(problem, filter, objective, cuts));
        while (low < high) {
            const middle = (low + high) >> 1;
            const found = findAny(problem,
                Object.assign({}, filter, { [objective]: values[middle] }));
            if (found === null)
                low = middle + 1;
            else
                high = lowerBound(values, valueOf(problem, filter, objective, found));
        }
        return values[low];
    }

    // The smallest value of an objective within the filter, in which there is a split.
    function smallest(problem, filter, objective) {
        if (objective === 'traffic' || objective === 'ipus') {
            const value = (cuts) => valueOf(problem, filter, objective, cuts);
            return value(best(problem, filter, (asked) => fewestOfAny(problem, asked, objective),
                (cuts, known) => value(cuts) < value(known)));
        }
        const cuts = findAny(problem, filter);
        return objective === 'balance' ? smallestSpread(problem, filter, cuts)
            : smallestLargest(problem, filter, objective, cuts);
    }

    // A value and so many percent of it, rounded down. A percentage is a whole number over a power
    // of two.
    function withSlack(value, percent) {
        let above = percent;
        let below = 100n;
        while (!Number.isInteger(above)) {
            above *= 2;
            below *= 2n;
        }
        return value + Number(BigInt(value) * BigInt(above) / below);
    }

    function within(problem, start, objectives, slack) {
        const filter = Object.assign({}, start);
        objectives.forEach((objective, i) => {
            const value = smallest(problem, filter, objective);
            // the last one yields to nothing
            filter[objective] = i + 1 < objectives.length ? withSlack(value, slack) : value;
        });
        return findEarliest(problem, filter);
    }

    // The objectives that can be had: no cycles without cycles. The smallest spread would be that of
    // a single IPU: popliner_objectives_complete puts the largest tile before it.
    function objectivesOf(model, settings) {
        const list = settings.objectives.filter((name) => name !== 'cycles' || model.hasCycles);
        return list[0] === 'balance' && model.wishes.device_map === null
            ? ['memory', ...list.filter((name) => name !== 'memory')] : list;
    }

    // The best split, lexicographically; with ties the one with the earliest cuts. Without one the
    // best effort: the smallest largest peak, whatever the limits; null if there is none at all.
    function solve(model, settings) {
        if (!canSolve(model))
            return { status: 'unknown', split: null };
        const problem = pose(model, settings);
        const objectives = objectivesOf(model, settings);
        const start = Object.assign({}, FREE, { isOfCycles: spreadIsOfCycles(objectives) });
        const withoutLimits = Object.assign({}, start, { ignoresLimits: true });
        const isFeasible = findAny(problem, start) !== null;
        if (!isFeasible && findAny(problem, withoutLimits) === null)
            return { status: 'infeasible', split: null };
        const cuts = isFeasible ? within(problem, start, objectives, settings.slack)
            : within(problem, withoutLimits, ['memory'], 0);
        return {
            status: isFeasible ? 'optimal' : 'infeasible',
            split: evaluate(model, settings, cuts),
        };
    }

    // The smallest largest peak for each number of IPUs from 1 on, whatever the limits; NaN where
    // constraints leave no split.
    function curve(model, settings) {
        const problem = pose(model, Object.assign({}, settings, { numIpus: 64 }));
        const { n, allowed } = problem;
        const makeRow = (rule, toEnd, after, range, peaks) => {
            const row = new Float64Array(n + 1).fill(Infinity);
            for (let first = n - toEnd; first >= 0; first--)
                for (let end = first + 1, i = place(model, first, first);
                    end <= rule.lastEnds[first]; end++, i++)
                    if (allowed[i] !== 0)
                        row[first] = Math.min(row[first], Math.max(after[end], peaks[i]));
            return row;
        };
        let least = Infinity;
        const result = Array(problem.minStages - 1).fill(NaN);
        for (const rows of fillAll(problem, problem.maxStages, makeRow)) {
            least = Math.min(least, rows[0][0]);
            result.push(least === Infinity ? NaN : least);
        }
        return result;
    }

    // All best compromises of two objectives, the best of the first one first: src/solve/pareto.c.
    function pareto(model, settings, objectives) {
        const problem = pose(model, settings);
        const filter = Object.assign({}, FREE);
        const points = [];
        while (points.length < 1000 && findAny(problem, filter) !== null) {
            const split = evaluate(model, settings, within(problem, filter, objectives, 0));
            points.push(split);
            const value = split.values[objectives[1]];
            if (value === 0)
                break;
            filter[objectives[1]] = value - 1;
        }
        return points;
    }

    // Returns the need of a unit as a stage alone at the end of its pipeline: the fewest copies.
    function aloneBytes(model, settings, unit) {
        const pipeline = model.pipelines[settings.pipeline];
        return needBytes(pipeline, settings.need, place(model, unit, unit),
            placeOf(pipeline, 1, 0));
    }

    // The first unit that alone is above the limit of every IPU; null if there is none.
    function tooLarge(model, settings) {
        const limits = [settings.limit, ...model.wishes.mem_per_tile.map(([, limit]) => limit)];
        const limit = Math.max(...limits);
        for (let unit = 0; unit < model.numUnits; unit++) {
            const bytes = aloneBytes(model, settings, unit);
            if (bytes > limit)
                return { unit, bytes, limit };
        }
        return null;
    }

    // Settings as the page begins with them.
    function settingsOf(model) {
        const { wishes } = model;
        return {
            pipeline: 0,
            need: wishes.need,
            limit: wishes.limit_bytes,
            numIpus: wishes.num_ipus,
            objectives: [...wishes.objectives],
            slack: wishes.slack_percent,
        };
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

    function pipelineWords(words, pipeline) {
        if (pipeline.words !== null)
            return [pipeline.words];
        const schedule = pipeline.schedule === 'none' ? ''
            : `${words.schedule} ${pipeline.schedule}`;
        const recompute = pipeline.recompute === 'none' ? ''
            : `${words.recompute} ${pipeline.recompute}`;
        return [schedule, recompute];
    }

    // The words that both questions share.
    function settingWords(words, model, settings) {
        return [...pipelineWords(words, model.pipelines[settings.pipeline]),
            `${words.mem_per_tile} ${settings.limit}`, words[settings.need]];
    }

    const joined = (words) => words.filter((word) => word !== '').join(' ');

    // A fraction whose lower part is a power of ten, as a decimal.
    function decimal([above, below]) {
        const digits = below.length - 1;
        const text = above.padStart(digits + 1, '0');
        const after = text.slice(text.length - digits).replace(/0+$/, '');
        return text.slice(0, text.length - digits) +
            (digits === 0 || after === '' ? '' : `.${after}`);
    }

    function option(name, values) {
        return values.length === 0 ? '' : `${name} ${values.join(',')}`;
    }

    // What is said of single IPUs, as far as the command would take it with so many.
    function ipuWords(words, model, numIpus) {
        const { device_map: map, mem_per_tile: limits, ipu_speeds: speeds, links } = model.wishes;
        const isThere = (ipu) => map !== null || ipu < numIpus;
        const single = links === null ? [] : links.single.filter(([first, second]) =>
            isThere(first) && isThere(second));
        const all = links !== null && links.all_is_asked_for ? [decimal(links.all)] : [];
        return [
            map === null ? '' : option(words.device_map, map),
            option(words.mem_per_tile, limits.filter(([ipu]) => isThere(ipu))
                .map(([ipu, most]) => `${ipu}=${most}`)),
            option(words.ipu_speed, speeds.filter(([ipu]) => isThere(ipu))
                .map(([ipu, speed]) => `${ipu}=${decimal([String(speed), String(SPEED_ONE)])}`)),
            option(words.bandwidth, [...all, ...single.map(([first, second, ...bandwidth]) =>
                `${first}-${second}=${decimal(bandwidth)}`)]),
        ];
    }

    function solveCommand({ words }, model, settings) {
        return joined([words.command, words.solve,
            model.wishes.device_map === null ? `${words.num_ipus} ${settings.numIpus}` : '',
            `${words.objective} ${settings.objectives.join(',')}`,
            settings.slack > 0 ? `${words.slack} ${settings.slack}` : '',
            ...settingWords(words, model, settings),
            ...ipuWords(words, model, settings.numIpus), words.constraints]);
    }

    function evaluateCommand({ words }, model, settings, cuts) {
        const names = cuts.length === 0 ? 'whole'
            : cuts.map((unit) => model.chain.labels[unit - 1]).join('|');
        const { device_map: map } = model.wishes;
        const isMapped = map !== null && map.length === cuts.length + 1;
        const [mapWords, limitWords] = ipuWords(words, model, cuts.length + 1);
        return joined([words.command, valued(words.evaluate, names),
            ...settingWords(words, model, settings),
            ...(map !== null && !isMapped ? [] : [mapWords, limitWords])]);
    }

    // The plan as JSON, with its request.
    function planJson(model, settings, split) {
        const labels = model.chain.labels;
        const pipeline = model.pipelines[settings.pipeline];
        return {
            cuts_after: split.cuts.map((unit) => labels[unit - 1]),
            schedule: pipeline.schedule,
            recompute: pipeline.recompute,
            copies: pipeline.copies_rule,
            need: settings.need,
            limit_bytes: settings.limit,
            fits: split.fits,
            objectives: split.values,
            stages: split.stages.map((s) => ({
                ipu: s.ipu,
                unit_from: labels[s.first],
                unit_to: labels[s.last],
                need_bytes: s.need_bytes,
                limit_bytes: s.limit_bytes,
                headroom_bytes: s.headroom_bytes,
                verdict: s.verdict,
                tile: s.tile,
                step: s.step,
                cycles: s.cycles,
                cut_bytes: s.cut_bytes,
                needs: s.needs,
                memory: s.mem,
                largest_variables: s.variables,
            })),
        };
    }

    return {
        NEEDS, OBJECTIVES, unpack, starts, read, evaluate, broken, cutRule, fewestIpus,
        canSolve, solve, curve, pareto, settingsOf, spreadIsOfCycles, objectivesOf, aloneBytes,
        tooLarge,
        solveCommand, evaluateCommand, planJson, jsonText, placeOf,
    };
})();

if (typeof module !== 'undefined')
    module.exports = Model;
