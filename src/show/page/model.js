'use strict';
// What a page knows of stages: evaluates any split, and finds the best one, with the answers of the
// command. It knows nothing of the page around it, so that tests run it by itself.
//
// SPDX-License-Identifier: GPL-3.0-or-later

const Model = (() => {
    const NEEDS = ['least', 'expected', 'most'];
    const OBJECTIVES = ['memory', 'cycles', 'traffic', 'ipus'];
    const SPREAD = 0.034; // POPLINER_SPREAD

    // ---- reading -------------------------------------------------------------------------------

    // Numbers as src/show/packed.h writes them. Groups are added up, for shifts have 32 bits only.
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

    // What the data of a page says of stages.
    function read(data) {
        const model = {
            chain: data.chain,
            numUnits: data.chain.labels.length,
            categories: data.categories,
            wishes: data.wishes,
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

    function needBytes(pipeline, need, interval, toEnd) {
        const tiles = pipeline.stages.largest[need];
        const copies = pipeline.copies[need][toEnd - 1];
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

    function verdict(needs, limit) {
        return needs.most <= limit ? 'fits for certain'
            : needs.expected <= limit ? 'probably fits'
            : needs.least <= limit ? 'may not fit' : 'does not fit';
    }

    // One stage: what pl_stage_details_get tells of it.
    function stage(model, settings, first, last, toEnd) {
        const pipeline = model.pipelines[settings.pipeline];
        const { sums, largest } = pipeline.stages;
        const i = place(model, first, last);
        const copies = pipeline.copies.expected[toEnd - 1];
        const keeps = copies > 0 ? 1 : 0;
        const mem = {
            variables: sums.variables_bytes[i],
            vertex_code: sums.vertex_code_bytes[i],
            vertex_state: sums.vertex_state_bytes[i],
            exchange_code: sums.exchange_code_bytes[i],
            control_code: sums.control_code_bytes[i],
            unexplained: sums.unexplained_bytes[i],
            stash: copies * sums.stash_bytes[i] - keeps * sums.freed_bytes[i],
            buffers: sums.buffer_bytes[i],
            accumulators: sums.accumulator_bytes[i],
            layout: sums.layout_bytes[i] + copies * sums.copy_layout_bytes[i] -
                keeps * sums.freed_layout_bytes[i],
        };
        let total = 0;
        for (const name of Object.keys(mem))
            total += mem[name];
        const needs = {};
        for (const need of NEEDS)
            needs[need] = needBytes(pipeline, need, i, toEnd);
        const tiles = largest.expected;
        const piece = findPiece(tiles, i, copies);
        const need = needs[settings.need];
        const result = {
            first, last, needs, mem,
            total_bytes: total,
            unexplained_always_live_bytes: sums.unexplained_always_live_bytes[i],
            parameter_bytes: sums.parameter_bytes[i],
            need_bytes: need,
            fits: need <= settings.limit,
            headroom_bytes: settings.limit - need,
            verdict: verdict(needs, settings.limit),
            margin_spreads: needs.expected > 0
                ? (settings.limit - needs.expected) / (SPREAD * needs.expected) : 0,
            cycles: model.hasCycles ? pipeline.cycles[i] : null,
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

    // What a split is worth. `cuts` are the units that begin stages, but for the first.
    function evaluate(model, settings, cuts) {
        const begins = [0, ...cuts, model.numUnits];
        const stages = [];
        for (let i = 0; i + 1 < begins.length; i++)
            stages.push(stage(model, settings, begins[i], begins[i + 1] - 1,
                begins.length - 1 - i));
        const values = {
            memory: Math.max(...stages.map((s) => s.need_bytes)),
            cycles: model.hasCycles ? Math.max(...stages.map((s) => s.cycles)) : null,
            traffic: stages.reduce((sum, s) => sum + s.cut_bytes, 0),
            ipus: stages.length,
        };
        return { cuts: [...cuts], stages, values, fits: stages.every((s) => s.fits) };
    }

    // ---- solving -------------------------------------------------------------------------------

    // The problem of some settings: how long pipelines may be, what stages need in each place, and
    // which intervals may be stages at all.
    function pose(model, settings) {
        const n = model.numUnits;
        const pipeline = model.pipelines[settings.pipeline];
        const wishes = model.wishes;
        const maxStages = Math.min(settings.numIpus, n, pipeline.max_stages);
        const numIntervals = n * (n + 1) / 2;
        // where no copies are kept, every place is like the last
        const places = pipeline.keeps ? maxStages : 1;
        const peaks = [];
        for (let toEnd = 1; toEnd <= places; toEnd++) {
            const row = new Float64Array(numIntervals);
            for (let i = 0; i < numIntervals; i++)
                row[i] = needBytes(pipeline, settings.need, i, toEnd);
            peaks.push(row);
        }
        const allowed = new Uint8Array(numIntervals);
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
        return { model, n, maxStages, peaks, allowed, cycles: pipeline.cycles };
    }

    function peakOf(problem, toEnd, i) {
        return problem.peaks[Math.min(toEnd, problem.peaks.length) - 1][i];
    }

    // The fewest bytes over the cuts of what begins with a unit, in exactly so many stages.
    function fill(problem, filter) {
        const { n, allowed, model, cycles } = problem;
        const most = Math.min(problem.maxStages, filter.ipus);
        const rows = [new Float64Array(n + 1).fill(Infinity)];
        rows[0][n] = 0;
        for (let toEnd = 1; toEnd <= most; toEnd++) {
            const row = new Float64Array(n + 1).fill(Infinity);
            const behind = rows[toEnd - 1];
            const peaks = problem.peaks[Math.min(toEnd, problem.peaks.length) - 1];
            for (let first = n - toEnd; first >= 0; first--) {
                let best = Infinity;
                let i = place(model, first, first);
                for (let end = first + 1; end <= n; end++, i++) {
                    if (!allowed[i] || behind[end] === Infinity || peaks[i] > filter.memory ||
                        (cycles !== null && cycles[i] > filter.cycles))
                        continue;
                    const bytes = behind[end] + (end < n ? model.cuts[end] : 0);
                    if (bytes < best)
                        best = bytes;
                }
                row[first] = best;
            }
            rows.push(row);
        }
        return rows;
    }

    // How many stages may be in a split within the filter.
    function lengths(rows, filter) {
        const result = [];
        for (let toEnd = 1; toEnd < rows.length; toEnd++)
            if (rows[toEnd][0] <= filter.traffic && rows[toEnd][0] < Infinity)
                result.push(toEnd);
        return result;
    }

    function isPossible(problem, filter) {
        return lengths(fill(problem, filter), filter).length > 0;
    }

    function isBefore(cuts, others) {
        for (let i = 0; i < cuts.length && i < others.length; i++)
            if (cuts[i] !== others[i])
                return cuts[i] < others[i];
        return cuts.length < others.length;
    }

    // Among the splits within the filter the one with the earliest cuts: popliner/solver.h.
    function earliest(problem, filter) {
        const { n, allowed, model, cycles } = problem;
        const rows = fill(problem, filter);
        let best = null;
        for (const length of lengths(rows, filter)) {
            const cuts = [];
            let first = 0;
            let left = filter.traffic;
            for (let toEnd = length; toEnd > 0; toEnd--) {
                for (let end = first + 1; end <= n; end++) {
                    const i = place(model, first, end - 1);
                    const cut = end < n ? model.cuts[end] : 0;
                    if (!allowed[i] || peakOf(problem, toEnd, i) > filter.memory ||
                        (cycles !== null && cycles[i] > filter.cycles) ||
                        !(rows[toEnd - 1][end] + cut <= left) ||
                        rows[toEnd - 1][end] === Infinity)
                        continue;
                    left -= cut;
                    if (end < n)
                        cuts.push(end);
                    first = end;
                    break;
                }
            }
            if (best === null || isBefore(cuts, best))
                best = cuts;
        }
        return best;
    }

    // The smallest of some ascending values for which there is a split; the last one is known to
    // have one.
    function halve(values, isEnough) {
        let low = 0;
        let high = values.length - 1;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (isEnough(values[middle]))
                high = middle;
            else
                low = middle + 1;
        }
        return values[low];
    }

    function ascending(lists, most) {
        const all = [];
        for (const list of lists)
            for (const value of list)
                if (value <= most)
                    all.push(value);
        const sorted = Float64Array.from(all).sort();
        return sorted.filter((value, i) => i === 0 || value !== sorted[i - 1]);
    }

    // The smallest value of an objective within the filter, in which there is a split.
    function smallest(problem, filter, objective) {
        const limited = (value) => Object.assign({}, filter, { [objective]: value });
        if (objective === 'traffic' || objective === 'ipus') {
            const rows = fill(problem, filter);
            const possible = lengths(rows, filter);
            return objective === 'ipus' ? possible[0]
                : Math.min(...possible.map((length) => rows[length][0]));
        }
        const lists = objective === 'memory' ? problem.peaks : [problem.cycles];
        return halve(ascending(lists, filter[objective]),
            (value) => isPossible(problem, limited(value)));
    }

    const FREE = { memory: Infinity, cycles: Infinity, traffic: Infinity, ipus: Infinity };

    function within(problem, start, objectives) {
        const filter = Object.assign({}, start);
        for (const objective of objectives)
            filter[objective] = smallest(problem, filter, objective);
        return earliest(problem, filter);
    }

    // The objectives that can be had: no cycles without cycles.
    function objectivesOf(model, settings) {
        return settings.objectives.filter((name) => name !== 'cycles' || model.hasCycles);
    }

    // The best split, lexicographically; with ties the one with the earliest cuts. Without one the
    // best effort: the smallest largest peak, whatever the limit; null if there is none at all.
    function solve(model, settings) {
        const problem = pose(model, settings);
        const start = Object.assign({}, FREE, { memory: settings.limit });
        const isFeasible = isPossible(problem, start);
        if (!isFeasible && !isPossible(problem, FREE))
            return { status: 'infeasible', split: null };
        const cuts = isFeasible ? within(problem, start, objectivesOf(model, settings))
            : within(problem, FREE, ['memory']);
        return {
            status: isFeasible ? 'optimal' : 'infeasible',
            split: evaluate(model, settings, cuts),
        };
    }

    // The smallest largest peak for each number of IPUs from 1 on, whatever the limit; NaN where
    // constraints leave no split.
    function curve(model, settings) {
        const problem = pose(model, Object.assign({}, settings, { numIpus: 64 }));
        const { n, allowed, maxStages } = problem;
        let behind = new Float64Array(n + 1).fill(Infinity);
        behind[n] = 0;
        let best = Infinity;
        const result = [];
        for (let toEnd = 1; toEnd <= maxStages; toEnd++) {
            const row = new Float64Array(n + 1).fill(Infinity);
            for (let first = n - toEnd; first >= 0; first--)
                for (let end = first + 1, i = place(model, first, first); end <= n; end++, i++)
                    if (allowed[i])
                        row[first] = Math.min(row[first],
                            Math.max(behind[end], peakOf(problem, toEnd, i)));
            behind = row;
            best = Math.min(best, row[0]);
            result.push(best === Infinity ? NaN : best);
        }
        return result;
    }

    // All best compromises of two objectives, the best of the first one first: src/solve/pareto.c.
    function pareto(model, settings, objectives) {
        const problem = pose(model, settings);
        const filter = Object.assign({}, FREE, { memory: settings.limit });
        const points = [];
        while (points.length < 1000 && isPossible(problem, filter)) {
            const split = evaluate(model, settings, within(problem, filter, objectives));
            points.push(split);
            const value = split.values[objectives[1]];
            if (value === 0)
                break;
            filter[objectives[1]] = value - 1;
        }
        return points;
    }

    // Settings as the page begins with them.
    function settingsOf(model) {
        const { wishes } = model;
        return {
            pipeline: 0,
            need: wishes.need,
            limit: wishes.limit_bytes,
            numIpus: wishes.num_ipus,
            objectives: wishes.objectives.length > 0 ? [...wishes.objectives]
                : ['memory', 'traffic'],
        };
    }

    // ---- the same from the command -------------------------------------------------------------

    // A word of a command line, as a shell takes it.
    function quote(word) {
        return /^[\w\-./:,=+@%]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
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
            `${words.max_stage_bytes} ${settings.limit}`, words[settings.need]];
    }

    const joined = (words) => words.filter((word) => word !== '').join(' ');

    function solveCommand({ words }, model, settings) {
        return joined([words.command, words.solve, `${words.max_stages} ${settings.numIpus}`,
            `${words.objectives} ${settings.objectives.join(',')}`,
            ...settingWords(words, model, settings), words.constraints]);
    }

    function evaluateCommand({ words }, model, settings, cuts) {
        const names = cuts.length === 0 ? 'whole'
            : cuts.map((unit) => model.chain.labels[unit - 1]).join('|');
        return joined([words.command, `${words.evaluate} ${quote(names)}`,
            ...settingWords(words, model, settings)]);
    }

    // The plan as JSON, with what was asked for.
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
            stages: split.stages.map((s, ipu) => ({
                ipu,
                unit_from: labels[s.first],
                unit_to: labels[s.last],
                need_bytes: s.need_bytes,
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
        NEEDS, OBJECTIVES, unpack, starts, read, evaluate, solve, curve, pareto, settingsOf,
        solveCommand, evaluateCommand, planJson,
    };
})();

if (typeof module !== 'undefined')
    module.exports = Model;
