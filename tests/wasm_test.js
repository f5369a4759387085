// The solver as a WebAssembly module against the command: random tables of costs with random
// requests, of which both have to write the same answer, byte for byte, and the same front.
// Arguments: popliner, a scratch folder, and the module, unless it was not built.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { takesAll } = require('./cases.js');
const Solver = require(path.join(__dirname, '../src/wasm/solver.js'));

const [popliner, scratch, module_] = process.argv.slice(2);
if (module_ === undefined) {
    console.log('Skipped: the solver was not compiled to WebAssembly');
    process.exit();
}
fs.mkdirSync(scratch, { recursive: true });
const METHOD_DP = 1; // POPLINER_METHOD_DYNAMIC_PROGRAMMING
const NAMES = { num_ipus: '--num-ipus', mem_per_tile: '--mem-per-tile',
    modules: '--modules', constraint_num_ipus: 'num-ipus', constraint_device_map: 'device-map' };

// ---- random numbers that are the same each time ----

let seed = 20261126;
function random(below) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 4294967296 * below);
}

function pick(list) {
    return list[random(list.length)];
}

const some = (list) => list.filter(() => random(3) === 0);

// ---- random tables ----

// A file of costs, and the numbers of every stage; those above a capacity must not be.
function makeTable() {
    const n = 1 + random(10);
    const names = Array.from({ length: n }, (_, i) => pick(['l', '"', 'ü', 'a b']) + i);
    const isLayer = names.map(() => random(5) > 0);
    const hasCycles = random(3) > 0;
    const [isLarge, trains] = [random(2) === 0, random(2) === 0];
    const number = () => random(isLarge ? 2 ** 40 : 12);
    const [memories, times, stashes] = [names.map(number), names.map(number), names.map(number)];
    const shared = [1, 2].slice(random(3)).map(() => ({
        units: names.filter((_, i) => i === 0 || random(2) > 0), memory: number() }));
    const sum = (list, first, last) => list.slice(first, last + 1).reduce((all, own) => all + own);
    const stages = [];
    for (let first = 0; first < n; first++)
        for (let last = first; last < n; last++)
            stages.push({ cycles: sum(times, first, last),
                memory: sum(memories, first, last) + shared.reduce((all, own) => all +
                    (own.units.some((unit) => names.slice(first, last + 1).includes(unit))
                        ? own.memory : 0), 0),
                stash: trains ? sum(stashes, first, last) : 0 });
    const cuts = Array.from({ length: n - 1 }, number);
    const kv = random(3) > 0 ? names.map(() => pick([0, 1, 3, 40])) : null;
    if (kv !== null)
        kv[0] = 2; // some unit's cache grows
    const capacity = kv !== null ? Infinity // caches have no regions
        : Math.floor(Math.max(...stages.map((it) => it.memory)) * (30 + random(90)) / 100);
    fs.writeFileSync(path.join(scratch, 'costs.json'), JSON.stringify({ format: 'popliner-costs',
        version: 1, regions: kv === null ? [{ name: 'r', capacity }] : undefined, shared, cuts,
        units: names.map((name, i) => ({ name, layer: isLayer[i], memory: memories[i],
            cycles: hasCycles ? times[i] : undefined, stash: trains ? stashes[i] : undefined,
            kv: kv === null ? undefined : kv[i] })) }));
    const schedule = trains ? pick(['tf-interleaved', 'tf-interleaved', 'zero-bubble']) : null;
    return { n, names, isLayer, hasCycles, trains, schedule, stages, cuts, kv, capacity };
}

// The table in the module: `d` copies of the stash for a stage with d after it, or of a split with
// d + 1 stages.
function fill(solver, t) {
    const peaks = Array.from({ length: t.trains ? t.n : 1 }, (_, place) => t.stages
        .map((stage) => stage.memory + place * stage.stash)
        .map((peak) => peak <= t.capacity ? peak : Solver.FORBIDDEN));
    return solver.table({ names: t.names, peaks, cuts: [0, ...t.cuts],
        counted_units: t.isLayer.map(Number), option_names: NAMES,
        ...t.kv !== null && { kv: t.kv },
        ...t.hasCycles && { cycles: t.stages.map((stage) => stage.cycles) },
        ...t.schedule === 'zero-bubble' ? { copies_rule: t.schedule }
            : t.schedule !== null && { schedule: t.schedule } });
}

// ---- random requests ----

// The same for the command, as words, and for the module.
function makeRequest(t, isFront) {
    const words = [];
    const request = { method: METHOD_DP };
    const add = (...more) => words.push(...more);
    const largest = Math.max(...t.stages.map((stage) => stage.memory));
    const least = isFront ? 150 : 30;
    const limit = () => Math.max(1, Math.floor(largest * (least + random(120)) / 100));
    request.objectives = pickObjectives(t, isFront);
    request.min_units = Number(t.isLayer.includes(true));
    add(isFront ? '--pareto' : '--objective', request.objectives.join(','));
    request.mem_per_tile = limit();
    const limits = some([0, 1, 2]).map((ipu) => [ipu, limit()]);
    const map = t.n > 2 && random(5) === 0 ? pick([[1, 0], [0, 2, 1]]) : null;
    const ipus = map === null ? 1 + random(6) : map.length;
    const usable = map === null ? [0, 1, 2].filter((ipu) => ipu < ipus) : [...map];
    request.ipu_limits = limits.filter(([ipu]) => usable.includes(ipu));
    add('--mem-per-tile', [String(request.mem_per_tile), ...request.ipu_limits
        .map(([ipu, most]) => `${ipu}=${most}`)].join(','));
    if (map !== null) {
        request.device_map = map;
        add('--device-map', map.join(','));
    } else {
        request.num_ipus = ipus;
        add('--num-ipus', String(ipus));
    }
    if (!isFront && random(3) === 0 && request.objectives[0] !== 'tokens') {
        request.slack_percent = pick([0.3, 2, 12.5]);
        add('--slack', String(request.slack_percent));
    }
    if (!isFront || random(3) === 0)
        addRules(t, usable, request, words);
    return [words, request];
}

function pickObjectives(t, isFront) {
    if (!isFront && t.kv !== null && random(8) === 0)
        return random(2) === 0 ? ['tokens'] : ['tokens', 'traffic'];
    const left = ['memory', 'traffic', 'ipus', 'balance', 'headroom',
        ...t.hasCycles ? ['cycles'] : []];
    return Array.from({ length: (isFront ? 2 : 1) + random(3) }, () =>
        left.splice(random(left.length), 1)[0]);
}

// Speeds, links, and constraints on layers.
function addRules(t, usable, request, words) {
    const add = (...more) => words.push(...more);
    const layers = t.names.map((_, unit) => unit).filter((unit) => t.isLayer[unit]);
    if (t.hasCycles && random(3) === 0) {
        request.ipu_speeds = usable.map((ipu) => [ipu, pick([500000, 1250000, 333333])])
            .sort(([a], [b]) => a - b); // in which order the command lists them
        add('--ipu-speed', request.ipu_speeds.map(([ipu, s]) => `${ipu}=${s / 1e6}`).join(','));
    }
    if (t.hasCycles && random(3) === 0) {
        request.link_bandwidth = pick([[64, 1], [7, 2]]);
        request.ipu_links = usable.slice(1).map((ipu, i) => [usable[i], ipu, 1, 4]);
        add('--bandwidth', [request.link_bandwidth[0] / request.link_bandwidth[1],
            ...request.ipu_links.map(([a, b]) => `${a}-${b}=0.25`)].join(','));
    }
    request.cut_rules = t.names.map(() => 0);
    for (const unit of random(3) === 0 ? some(layers) : []) {
        if (unit + 1 === t.n)
            continue;
        request.cut_rules[unit + 1] = 1 + random(2);
        add('--require', `${request.cut_rules[unit + 1] === 1 ? 'cut' : 'no-cut'}:` +
            t.names[unit]);
    }
    if (layers.length > 0 && random(4) === 0) {
        request.pairs = [[pick(layers), pick(layers)]];
        add('--require', `together:${request.pairs[0].map((unit) => t.names[unit]).join()}`);
    }
    if (layers.length > 0 && random(4) === 0) {
        request.placements = [[pick(layers), pick(usable)]];
        add('--require', `place:${t.names[request.placements[0][0]]}=` +
            request.placements[0][1]);
    }
    if (random(4) === 0) {
        request.max_units = 1 + random(3);
        add('--require', `layers:${request.min_units}..${request.max_units}`);
    }
}

// ---- comparing ----

function run(words) {
    const result = spawnSync(popliner, ['-q', path.join(scratch, 'costs.json'), '--solve', ...words,
        '--solver', 'dp', '--format', 'json'], { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.ok(result.status === 0 || result.status === 1,
        `${words.join(' ')}: status ${result.status}: ${result.stderr}`);
    return result.stdout;
}

// Every byte, but for what the command itself adds to the messages of the library, and the parts of
// stages, which peaks by place do not have.
function compare(own, told, where) {
    if (!own.includes('"parts"'))
        told = told.replace(/\n *"parts": \{[^}]*\},/g, '');
    const parts = (text) => /^([^]*?)(\n    "messages": \[[^]*?\n    \],|)(\n    "options"[^]*|)$/
        .exec(text).slice(1);
    const [head, messages, tail] = parts(own);
    const [toldHead, toldMessages, toldTail] =
        parts(told.replace(/\n    "hints": \[(\n[^]*?\n    |)\],/, '\n    "hints": null,'));
    assert.strictEqual(head, toldHead, where);
    assert.strictEqual(tail, toldTail, where);
    const begin = messages.replace(/\n    \],$/, '');
    assert.strictEqual(begin, toldMessages.slice(0, begin.length), where);
}

// The plan for a framework: the same text, or neither writes one.
function checkEmitted(solver, table, words, emitted) {
    const format = pick(solver.formats);
    const { stdout, stderr } = spawnSync(popliner, ['-q', path.join(scratch, 'costs.json'),
        '--solve', ...words, '--solver', 'dp', '--output', format], { encoding: 'utf8' });
    try {
        assert.strictEqual(table.emit(format), stdout, `${format}: ${words.join(' ')}: ${stderr}`);
        emitted.add(format);
    } catch (error) {
        if (error.code === 'ERR_ASSERTION')
            throw error;
        assert.strictEqual(stdout, '', `${format}: ${words.join(' ')}: ${error.message}`);
    }
}

// The example, whose answers were found by hand.
function checkExample() {
    const lines = execFileSync(process.execPath,
        [path.join(__dirname, 'examples/split_costs.js'), module_], { encoding: 'utf8' });
    assert.deepStrictEqual(lines.trim().split('\n'), [
        'IPU 0: embedding, 50 bytes', 'IPU 1: a b, 60 bytes', 'IPU 2: c head, 70 bytes',
        '12 bytes over the cuts', '50 bytes, 28 over the cuts', '60 bytes, 20 over the cuts',
        '70 bytes, 12 over the cuts', '100 bytes, 8 over the cuts', '110 bytes, 4 over the cuts',
        '160 bytes, 0 over the cuts', 'Does not fit on 2 devices. Proven: every split ' +
            'over 2 devices needs 100 bytes or more on some device.']);
}

async function checkErrors(solver) {
    const fails = (act, message) => assert.throws(act, { message });
    const table = solver.table({ names: ['a', 'b'], peaks: [[1, 2, 3]] });
    const filled = solver.table(2, 1, ['a', 'b']);
    filled.fill('peaks', 1, [1, 2, 3]);
    assert.strictEqual(filled.answer('plan', {}), table.answer('plan', {}));
    filled.fill('cycles', 1, [4, 5, 6]);
    const whole = solver.table({ names: ['a', 'b'], peaks: [[1, 2, 3]], cycles: [4, 5, 6] });
    assert.strictEqual(filled.answer('plan', {}), whole.answer('plan', {}));
    whole.free();
    filled.free();
    fails(() => filled.fill('peaks', 1, [1, 2]), 'peaks: 2 numbers; expected 3');
    fails(() => filled.fill('cuts', 1, [1, 2, 3]), 'cuts: 3 numbers; expected 2');
    fails(() => filled.fill('peaks', 2, [1, 2, 3]), 'peaks: place 2; expected 1 to 1');
    fails(() => filled.fill('peaks', 0, [1, 2, 3]), 'peaks: place 0; expected 1 to 1');
    fails(() => filled.fill('peaks', 1.5, [1, 2, 3]), 'peaks: place 1.5; expected 1 to 1');
    fails(() => filled.fill('cuts', 1, null), 'cuts: 0 numbers; expected 2');
    fails(() => filled.fill(1, 1, [1, 2]), 'member: expected the name of a list');
    fails(() => filled.emit('pipeline'), 'there is no answer yet');
    fails(() => solver.table(3, 1, ['a', 'b']), 'names: expected 3 texts');
    fails(() => solver.table(NaN, 1, ['a', 'b']), 'units: expected a whole number from 1');
    for (const places of [-1, 0, 1.5, 2 ** 32 - 1])
        fails(() => solver.table(2, places, ['a', 'b']),
            'places: expected a whole number from 1 to 2');
    fails(() => table.answer('plan', { size: 1 }), 'there is no member size');
    fails(() => table.answer('plan', { num_ipus: 2 ** 40 }),
        'num_ipus: expected whole numbers that fit');
    fails(() => table.answer('plan', { cut_rules: [0] }),
        'cut_rules: expected a list of a number for each unit');
    fails(() => table.answer('plan', { objectives: ['speed'] }),
        'objectives: expected a list of items that fit');
    fails(() => solver.table({ names: ['a', 'b'], peaks: [[1, 2]] }),
        'peaks: expected a list with a whole number for each');
    table.free();
}

// Every argument of every function: of another type, out of its range, of another length, another
// word. All are rejected in a sentence that names the argument, and the table is as good as before.
function checkArguments(solver) {
    const right = { names: ['a', 'b'], peaks: [[10, 20, 10], [10, 20, 10]], cycles: [1, 2, 1],
        cuts: [0, 0] };
    const table = solver.table(right);
    const request = { num_ipus: 2n, objectives: ['memory'] }; // a whole number may be a BigInt
    const expected = table.answer('plan', request);
    const circle = [];
    circle.push(circle);
    const junk = [undefined, null, NaN, Infinity, -Infinity, -1, -5n, 2.7, 2n ** 64n, 2 ** 53, '',
        '2', 'x\0', true, {}, circle, [[]], [-1], [2.7], ['2'], [null], [NaN], [2n ** 64n],
        Symbol('s'), () => 2, new Date(), Object.create(null), new DataView(new ArrayBuffer(8))];
    const but = (...values) => junk.filter((it) => !values.some((own) => Object.is(it, own)));
    const noObjects = junk.filter((it) => typeof it !== 'object' || it === null ||
        Array.isArray(it));
    const given = but(undefined, null); // a member of a table that is null is not there
    const numbers = but(2 ** 53); // none is a number of units, bytes or devices
    const answer = (name, value) => table.answer('plan', { ...request, [name]: value });
    const make = (name, value) => solver.table({ ...right, [name]: value });
    const lists = ['device_map', 'cut_rules', 'link_bandwidth', 'ipu_limits', 'ipu_speeds', 'pairs',
        'placements', 'ipu_links'];
    const singles = ['method', 'num_ipus', 'mem_per_tile', 'min_units', 'max_units'];
    const rows = [
        ['table', noObjects, (it) => solver.table(it)],
        ['names', junk.filter((it) => typeof it?.[0] !== 'string').concat([[], ['a', 5], 'ab',
            [['a'], 'b']]), (it) => make('names', it)],
        ['peaks', junk.concat([[[1, 2]], [[1, 2, 3, 4]], [[1, 2, -3]], [[1, 2, '3']],
            [[1, 2, [3]]], [[1, 2, 3], [1, 2]], [1, 2, 3]]), (it) => make('peaks', it)],
        ['cycles', given.concat([[1, 2], [1, 2, 3, 4], [1, 2, '3']]), (it) => make('cycles', it)],
        ...['cuts', 'kv', 'kv_tokens', 'cache', 'workspace'].map((name) => [name,
            given.concat([[0], [0, 1, 2], [0, 0.5]]), (it) => make(name, it)]),
        ['counted_units', given.concat([[1], [1, 2], [1, 1, 1]]),
            (it) => make('counted_units', it)],
        ...['micro_batches', 'need', 'places'].map((name) => [name,
            given.filter((it) => it !== 2 ** 53), (it) => make(name, it)]),
        ...['schedule', 'recompute', 'copies_rule'].map((name) => [name,
            given.concat(['none at all']), (it) => make(name, it)]),
        ...Object.keys(NAMES).concat('time_unit').map((name) => [name,
            given.filter((it) => typeof it !== 'string' && !(it instanceof Date)), // text in JSON
            (it) => make('option_names', { [name]: it })]),
        ['option_names', noObjects.filter((it) => (it ?? null) !== null),
            (it) => make('option_names', it)],
        ['passes', [...given, { samples: 1 }, { samples: 257, have_cuts: true, are_thirds: true }],
            (it) => make('passes', it)],
        ['cycles', [{ samples: 1, have_cuts: false, are_thirds: true, cycles: [1, 2] }],
            (it) => make('passes', it)],
        ['stages', given, (it) => make('stages', it)],
        ['lines', given, (it) => solver.table({ names: ['a'], lines: it })],
        ['size', [1], (it) => make('size', it)],
        ['answer', junk.concat(['best', ['plan']]), (it) => table.answer(it, request)],
        ['request', noObjects, (it) => table.answer('plan', it)],
        ['objectives', junk.concat(['memory', ['speed'], [['memory']], ['memory', 'memory']]),
            (it) => answer('objectives', it)],
        ['format', junk.concat(['nothing']), (it) => table.emit(it)],
        ...['slack_percent', 'time_limit_seconds'].map((name) => [name,
            but(2.7, 2 ** 53, 2n ** 64n).concat(['1', [1]]), (it) => answer(name, it)]),
        ...singles.map((name) => [name, numbers.concat([[1], [1, 2], [[1]]]),
            (it) => answer(name, it)]),
        ['num_ipus', [2 ** 32, 2 ** 32 + 2], (it) => answer('num_ipus', it)],
        ...lists.map((name) => [name, junk.concat([5, '5', [[1], [2]], [1.5, 1], [[0, 1, 2, 3, 4]],
            [0, -1]]), (it) => answer(name, it)]),
        ...['ipu_limits', 'ipu_speeds', 'pairs', 'placements', 'ipu_links'].map((name) => [name,
            [[0, 5], [[0, 5, 5]], [['0', '5']], [[[0], 5]], [[0, 5], [1]]],
            (it) => answer(name, it)]),
        ['method', [9], (it) => answer('method', it)],
        ['cut_rules', [[0], [0, 3], [0, 0, 0]], (it) => answer('cut_rules', it)],
        ['link_bandwidth', [[5], [5, 0], [5, 5, 5]], (it) => answer('link_bandwidth', it)],
        ['size', [1], (it) => answer('size', it)],
    ];
    let count = 0;
    for (const [name, values, act] of rows)
        for (const value of values) {
            const where = `${name}: ${typeof value} ${typeof value === 'symbol' ? '' :
                JSON.stringify(value, (_, it) => it === circle ? 'circle' : typeof it === 'bigint'
                    ? `${it}n` : it)}`;
            try {
                act(value);
            } catch (error) {
                // a sentence of ours, and no failure within; of circles it is JavaScript's
                count++;
                if (value === circle && /circular/.test(error.message))
                    continue;
                assert.ok(error.constructor === Error, `${where}: ${error.stack}`);
                assert.ok(error.message.includes(name.replace(/s$/, '')),
                    `${where}: ${error.message}`);
                continue;
            }
            assert.fail(`${where} was accepted`);
        }
    assert.strictEqual(table.answer('plan', request), expected);
    const freed = solver.table(right);
    freed.free();
    freed.free();
    for (const act of [() => freed.emit('llama.cpp'), () => freed.answer('plan', {})])
        assert.throws(act, { message: 'the table was freed' });
    // what is right in other forms
    for (const peaks of [new Float64Array([10, 20, 10]), new BigUint64Array([10n, 20n, 10n]),
        [10n, 20, 10]]) {
        const twice = solver.table({ ...right, peaks: [peaks, peaks] });
        assert.strictEqual(twice.answer('plan', request), expected);
    }
    solver.table({ ...right, peaks: [[10n, 20, Solver.FORBIDDEN]], kv: null });
    console.log(`${count} wrong arguments are rejected`);
}

async function main() {
    if (module_ === '') {
        console.log('Skipped: there is no module, because clang makes none here');
        return;
    }
    checkExample();
    const solver = await Solver.load(fs.readFileSync(module_));
    checkErrors(solver);
    checkArguments(solver);
    const seen = { optimal: 0, infeasible: 0, contradiction: 0, front: 0 };
    const count = takesAll ? 1000 : 200;
    const emitted = new Set();
    for (let i = 0; i < count; i++) {
        const t = makeTable();
        const isFront = i % 5 === 4;
        const [words, request] = makeRequest(t, isFront);
        if (t.trains)
            words.push('--schedule', t.schedule);
        const table = fill(solver, t);
        const told = run(words);
        const own = table.answer(isFront ? 'front' : 'plan', request);
        compare(own, told, `${i}: ${words.join(' ')}`);
        if (!isFront && i % 4 === 0)
            checkEmitted(solver, table, words, emitted);
        if (i % 10 === 0)
        table.free();
        const answer = JSON.parse(own);
        seen.front += isFront && answer.results.length > 1;
        seen.contradiction += Boolean(answer.infeasibility) &&
            answer.infeasibility.reason === 'constraints';
        if (!isFront)
            seen[answer.status]++;
    }
    for (const what of Object.keys(seen))
        assert.ok(seen[what] >= count / 40, JSON.stringify(seen));
    assert.ok(emitted.size > 3, [...emitted].join());
    console.log(`${count} answers are those of the command: ${JSON.stringify(seen)}`);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
