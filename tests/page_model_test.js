// The model of the page against the command: random splits against --evaluate, random settings
// against --solve and --pareto.
// Arguments: popliner, popliner-mkprofile, a scratch folder, the golden cases, the sample, the real
// profile, which is left out where it is not beside the checkout.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const zlib = require('zlib');
const { isNightly, isShort, takesAll, withinBudget } = require('./cases.js');

const [popliner, mkprofile, scratch, golden, sample, real] = process.argv.slice(2);
fs.mkdirSync(scratch, { recursive: true });
const Model = require(path.join(__dirname, '../src/page/model.js'));
const Solver = require(path.join(__dirname, '../src/wasm/solver.js'));
// on each of the pages: together more than 200 and 100
let numSplits = takesAll ? 24 : 2;
let numSettings = takesAll ? 12 : 2;
let numConstraints = takesAll ? 30 : 2;
let stored = null; // an analysis on which lines of a page are run, in place of its report

// ---- random numbers that are the same each time ----

let seed = 20261122;
function random(below) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 4294967296 * below);
}

function pick(list) {
    return list[random(list.length)];
}

// ---- the command ----

function run(given) {
    const words = stored === null ? given : [stored, '--load-from-file', ...given.slice(1)];
    const result = spawnSync(popliner, ['-q', ...words],
        { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.ok(result.status === 0 || result.status === 1,
        `${words.join(' ')}: status ${result.status}: ${result.stderr}`);
    return JSON.parse(result.stdout);
}

function makePage(words) {
    const file = path.join(scratch, 'page.html');
    const result = spawnSync(popliner, ['-q', '--paths', ...words, '--output', `page=${file}`],
                             { encoding: 'utf8' });
    assert.ok(result.status === 0 || result.status === 1, `${words.join(' ')}: ${result.stderr}`);
    return readPage(file);
}

function readPage(file) {
    const page = fs.readFileSync(file, 'utf8');
    const parts = page.split('<script type="application/json" id="data">');
    assert.strictEqual(parts.length, 2);
    // a browser runs all of it or nothing
    const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)];
    assert.ok(scripts.length > 0);
    const packed = /id="scripts">"(.*?)"</.exec(page)[1];
    scripts.forEach((script) => new vm.Script(script[1]));
    new vm.Script(zlib.gunzipSync(Buffer.from(packed, 'base64')).toString());
    return JSON.parse(parts[1].slice(0, parts[1].indexOf('</script>')));
}

// ---- commands that are pasted ----

const HOSTILE = ["it's", '\x03\ntouch STRANGE\n', "a\n'; touch STRANGE; '", '\x1b]0;x\x07',
    '--solve', '-x', '=ls', '$(touch STRANGE)`touch STRANGE`"', '!!\\', "\\'\t\r\x7f",
    '\u0085\u009b2J\u202e',
    '\u2028; touch STRANGE', '~ * ? {a,b} # &', '%s\\n', 'ü\u{1f600}\x01'];

// The arguments of `popliner` in a line that a shell reads from a terminal.
function pasted(line) {
    const file = path.join(scratch, 'arguments');
    fs.rmSync(file, { force: true });
    spawnSync('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'],
        { cwd: scratch, timeout: 20000, input: 'PS1= HISTFILE= INPUTRC=/dev/null; stty -echo; ' +
            `popliner() { printf '%s\\0' "$@" >arguments; }\n${line}\nexit\n` });
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\0').slice(0, -1) : null;
}

// Whatever names hold, a shell sees them and runs nothing else.
function checkPasting() {
    for (const name of HOSTILE.filter((_, i) => takesAll || i % 3 === 0)) {
        const data = { words: { command: 'popliner x', evaluate: '--evaluate', expected: '',
            mem_per_tile: '--mem-per-tile' } };
        const model = { numUnits: 2, chain: { labels: [name, 'b'] }, pipelines: [{ words: '' }],
            wishes: { device_map: null, mem_per_tile: [], ipu_speeds: [], links: null } };
        const settings = { pipeline: 0, limit: 5, need: 'expected' };
        const line = Model.evaluateCommand(data, model, settings, [1]);
        // signs between the parts of a value are escaped in names
        const value = Array.from(name, (c) => ',|\\'.includes(c) ? `\\${c}` : c).join('');
        const words = ['x', ...name.startsWith('-') ? [`--evaluate=${value}`]
            : ['--evaluate', value], '--mem-per-tile', '5'];
        assert.deepStrictEqual(pasted(line), words, JSON.stringify(line));
        assert.ok(!Model.jsonText({ name }).match(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]/));
        assert.strictEqual(JSON.parse(Model.jsonText({ name })).name, name);
        // a shell without $'...' takes another word, and runs nothing
        spawnSync('dash', ['-c', `popliner() { :; }; ${line}`], { cwd: scratch });
        assert.ok(!fs.existsSync(path.join(scratch, 'STRANGE')), JSON.stringify(line));
    }
    for (const name of HOSTILE.filter((_, i) => takesAll || i % 5 === 1)) {
        const report = path.join(scratch, name.replace(/\//g, ':'));
        const usual = name.startsWith('-') ? `./${name}` : name;
        fs.mkdirSync(report, { recursive: true });
        for (const file of ['profile.pop', 'debug.cbor'])
            fs.copyFileSync(path.join(sample, file), path.join(report, file));
        execFileSync(popliner, ['-q', usual, '--output', 'page=page.html'], { cwd: scratch });
        const { words } = readPage(path.join(scratch, 'page.html'));
        assert.deepStrictEqual(pasted(words.command).slice(0, 1), [usual], words.command);
        assert.ok(!fs.existsSync(path.join(scratch, 'STRANGE')), words.command);
        fs.rmSync(report, { recursive: true });
    }
}

// ---- splits ----

function compareStage(own, told, chain, where) {
    const same = (a, b, what) => assert.deepStrictEqual(a, b, `${where}: ${what}`);
    same(chain.labels[own.first], told.unit_from, 'unit_from');
    same(chain.labels[own.last], told.unit_to, 'unit_to');
    if (own.total_bytes !== null)
        same(own.total_bytes, told.mem.total_mem, 'total_bytes');
    same([own.tile, own.tile_bytes, own.step, own.headroom_bytes, own.fits],
        [told.peak.tile, told.peak.bytes, told.peak.step, told.limit_bytes - told.need_bytes,
            told.fits], 'tile, bytes, step, headroom, fits');
    for (const [name, bytes] of Object.entries(own.tile_parts || {}))
        same(bytes, told.peak[name], name);
    same(own.variables, told.peak.largest_variables.map((v) =>
        ({ name: v.name, category: v.category, size_bytes: v.size_bytes })), 'variables');
    if (told.needs) {
        same(own.needs.least, told.needs.at_least_bytes, 'least');
        same(own.needs.expected, told.needs.expected_bytes, 'expected');
        same(own.needs.most, told.needs.at_most_bytes, 'most');
        same(own.verdict, told.needs.verdict, 'verdict');
        assert.ok(Math.abs(own.margin_spreads - told.needs.margin_spreads) < 1e-9 *
            Math.max(1, Math.abs(own.margin_spreads)), `${where}: margin`);
    }
}

// Below 100 % of what a split needs, no split may fit.
let limitPercents = [70, 130];

// The step is an objective alone.
const COMBINED = Model.OBJECTIVES.filter((name) => name !== 'step');

function randomSettings(model) {
    const objectives = COMBINED.filter((name) => name !== 'cycles' || model.hasCycles);
    const chosen = [];
    for (let left = 1 + random(3); left > 0 && objectives.length > 0; left--)
        chosen.push(objectives.splice(random(objectives.length), 1)[0]);
    const settings = {
        pipeline: random(model.pipelines.length),
        need: pick(model.needs),
        limit: 1,
        numIpus: Model.fewestIpus(model) + random(Math.min(model.numUnits, 8)),
        objectives: chosen,
        slack: pick([0, 0, 0.3, 2, 12.5]),
    };
    if (model.pipelines[settings.pipeline].micro_batches && model.hasCycles && random(4) === 0)
        Object.assign(settings, { objectives: ['step'], slack: 0 });
    // near what a random split needs, so that some fit and some do not
    const cuts = randomCuts(model, settings);
    const { memory } = Model.evaluate(model, settings, cuts).values;
    const [low, high] = limitPercents;
    settings.limit = Math.max(1, Math.floor(memory * (low + random(high - low)) / 100));
    return settings;
}

function randomCuts(model, settings) {
    const { device_map: map } = model.wishes;
    const most = Math.min(model.pipelines[settings.pipeline].max_stages, model.numUnits) - 1;
    const number = map !== null && model.costs ? map.length - 1 : random(Math.min(most, 7) + 1);
    const cuts = new Set();
    while (cuts.size < number)
        cuts.add(1 + random(model.numUnits - 1));
    return [...cuts].sort((a, b) => a - b);
}

// The words of a command line that a page made.
function wordsOf(line) {
    const words = execFileSync('sh', ['-c', `for word in ${line.replace(/^popliner /, '')}; do ` +
        "printf '%s\\n' \"$word\"; done"], { encoding: 'utf8' });
    return words.split('\n').slice(0, -1);
}

function checkSplits(data, model, name) {
    for (let i = 0; i < numSplits; i++) {
        const settings = randomSettings(model);
        const cuts = randomCuts(model, settings);
        const line = Model.evaluateCommand(data, model, settings, cuts);
        const own = Model.evaluate(model, settings, cuts);
        const told = run([...wordsOf(line), '--format', 'json']);
        if (model.costs !== null) {
            compareCosts(model, own, told, `${name}, ${line}`);
            continue;
        }
        assert.strictEqual(own.stages.length, told.stages.length, line);
        told.stages.forEach((stage, k) => compareStage(own.stages[k], stage, model.chain,
            `${name}, ${line}, stage ${k}`));
    }
}

// A split of costs: the command has the answer for the one split that its cuts leave.
function compareCosts(model, own, told, where) {
    const { labels } = model.chain;
    assert.deepStrictEqual(own.stages.map((s) => [s.ipu, labels[s.first], labels[s.last],
        s.need_bytes, Model.inTime(model.costs, s.cycles), s.cut_bytes]),
    told.stages.map((s) => [s.ipu, s.layer_from, s.layer_to, s.mem.max_tile_mem, s.cycles,
        s.cut_bytes]), where);
    assert.deepStrictEqual([own.fits, own.values.memory, own.values.ipus, own.values.traffic,
        Model.inTime(model.costs, own.values.cycles)], [told.status !== 'infeasible',
        ...['memory', 'ipus', 'traffic', 'cycles'].map((name) => told.totals[name])], where);
    assert.ok(own.stages.every((s) => s.verdict === (s.fits ? 'fits' : 'does not fit')), where);
}

// ---- answers ----

// `costs`: the units of a file of costs, of which the command has times in place of cycles.
function compareAnswer(own, told, line, costs = null) {
    const inTime = (value) => Model.inTime(costs, value);
    const isOfCycles = Model.spreadIsOfCycles(told.objectives.map(({ name }) => name));
    const valueOf = (name) => ['cycles', 'step'].includes(name) || (name === 'balance' && isOfCycles)
        ? inTime(own.split.values[name]) : own.split.values[name];
    assert.strictEqual(own.status, told.status, line);
    // reasons, contradictions and remedies; the page has no peak of a unit alone
    const plain = (why) => why === null ? null : Object.assign({}, why, { peak: null });
    assert.deepStrictEqual(plain(own.why), plain(told.infeasibility), line);
    if (own.split === null) {
        assert.strictEqual(told.stages.length, 0, line);
        // after what the command says of the profile; it alone explains places of stages
        assert.ok(own.messages.length > 0, line);
        assert.deepStrictEqual(own.messages, told.messages.filter(({ text }) =>
            !/^Stage k runs on IPU k: /.test(text))
            .slice(-own.messages.length), line);
        return;
    }
    // the words of remedies; devices of the module are IPUs to the command, but for costs
    const remedies = (messages) => messages.map(({ text }) => costs !== null ? text
        : text.replace(/\bdevice(s?)\b/g, 'IPU$1'))
        .filter((text) => /^It would fit|would not help/.test(text));
    assert.deepStrictEqual(remedies(own.messages), remedies(told.messages), line);
    for (const name of Object.keys(told.totals))
        if (name !== 'step')
            assert.strictEqual(valueOf(name), told.totals[name], `${line}: ${name}`);
    for (const value of told.objectives)
        assert.strictEqual(valueOf(value.name), value.value, `${line}: ${value.name}`);
    assert.strictEqual(own.split.stages.length, told.stages.length, line);
    told.stages.forEach((stage, i) => {
        const mine = own.split.stages[i];
        assert.strictEqual(mine.ipu, stage.ipu, `${line}: stage ${i}`);
        if (mine.total_bytes !== null)
            assert.strictEqual(mine.total_bytes, stage.mem.total_mem, `${line}: stage ${i}`);
        for (const name of Object.keys(mine.mem))
            assert.strictEqual(mine.mem[name], stage.mem[name] || 0, `${line}: ${i}, ${name}`);
        assert.strictEqual(mine.tile_bytes, stage.mem.max_tile_mem, `${line}: stage ${i}`);
        assert.strictEqual(mine.cut_bytes, stage.cut_bytes, `${line}: stage ${i}`);
        if (stage.needs) {
            assert.strictEqual(mine.verdict, stage.needs.verdict, `${line}: stage ${i}`);
            assert.deepStrictEqual(['least', 'expected', 'most'].map((need) => mine.needs[need]),
                ['at_least_bytes', 'expected_bytes', 'at_most_bytes'].map((need) =>
                    stage.needs[need]), `${line}: stage ${i}`);
            assert.deepStrictEqual([mine.tile, mine.step, mine.variables],
                [stage.peak.tile, stage.peak.step, stage.peak.largest_variables],
                `${line}: stage ${i}`);
        }
        if (stage.cycles !== null)
            assert.strictEqual(inTime(mine.cycles), stage.cycles, `${line}: stage ${i}`);
    });
    compareStep(own.step, told.totals.step, line, inTime);
}

// The time of a step of micro-batches, where the page has one.
function compareStep(own, told, line, inTime) {
    if (own && told)
        assert.deepStrictEqual({ ...own, cycles: inTime(own.cycles) }, told, line);
}

// Each stage has a pass of each kind for each micro-batch; an IPU runs one at a time, after those
// that it waits for; the last one ends the step.
function checkPasses(passes, split, { micro_batches: number, cycles, idle_share: idle }, where) {
    const counts = new Map();
    const ends = new Map(); // by stage, kind and micro-batch
    const free = new Map(); // by IPU
    for (const [stage, kind, from, to] of passes) {
        const own = [stage, kind].join();
        const micro = counts.get(own) || 0;
        counts.set(own, micro + 1);
        const needs = kind === 0 ? [stage - 1, 0, micro] : kind === 1 ? [stage, 0, micro]
            : [stage, 1, micro];
        const after = kind === 1 ? ends.get([stage + 1, 1, micro].join()) || 0 : 0;
        const { ipu } = split.stages[stage];
        assert.ok(from >= Math.max(free.get(ipu) || 0, after, stage + kind === 0 ? 0
            : ends.get(needs.join())), `${where}: pass ${own} of ${micro}`);
        ends.set([stage, kind, micro].join(), to);
        free.set(ipu, to);
    }
    assert.ok([...counts.values()].every((count) => count === number), where);
    assert.strictEqual(Math.max(...ends.values()), cycles, where);
    const busy = passes.reduce((sum, [, , from, to]) => sum + to - from, 0);
    assert.ok(Math.abs(1 - busy / cycles / free.size - idle) < 1e-9, where);
}

function checkAnswers(data, model, name) {
    const statuses = new Set();
    for (let i = 0; i < numSettings; i++) {
        const settings = randomSettings(model);
        const line = Model.solveCommand(data, model, settings);
        const told = run([...wordsOf(line), '--format', 'json']);
        const own = Model.solve(model, settings);
        if (own.split !== null)
            own.step = Model.step(model, settings, own.split.cuts);
        // costs that follow the split have one number of copies for each length of a pipeline
        const { follows_split: follows } = model.pipelines[settings.pipeline];
        assert.ok(!told.totals.step || (model.costs !== null && follows) || own.step !== null ||
            told.totals.step.cycles === null, line);
        compareAnswer(own, told, `${name}, ${line}`, model.costs);
        if (own.split !== null)
            assert.deepStrictEqual(Model.broken(model, settings, own.split.cuts), [], line);
        if (own.step)
            checkPasses(Model.passes(model, settings, own.split.cuts), own.split, own.step, line);
        statuses.add(own.status);
    }
    return statuses;
}

// ---- constraints ----

// A page may begin with any of these. Here they are put into its data, with the words that mean
// the same, and asked for at once.
function randomConstraints(data, model) {
    const { labels } = model.chain;
    const n = model.numUnits;
    const words = [];
    const wishes = Object.assign({}, model.wishes, { cut_rules: Array(n).fill(0), min_units: 1,
        max_units: 0, device_map: null, mem_per_tile: [], ipu_speeds: [], placements: [], pairs: [],
        links: null });
    const layers = labels.map((_, unit) => unit).filter((unit) => wishes.counted[unit] === 1 &&
        labels.indexOf(labels[unit]) === unit);
    const some = (below) => random(3) === 0 ? 1 + random(below) : 0;
    for (let left = some(2); left > 0; left--) {
        const unit = pick(layers);
        if (unit + 1 === n || wishes.cut_rules[unit + 1] !== 0)
            continue;
        wishes.cut_rules[unit + 1] = 1 + random(2);
        words.push('--require', (wishes.cut_rules[unit + 1] === 1 ? 'cut:' : 'no-cut:') +
            labels[unit]);
    }
    if (random(4) === 0) {
        const pair = [pick(layers), pick(layers)].sort((a, b) => a - b);
        for (let unit = pair[0] + 1; unit <= pair[1]; unit++)
            wishes.cut_rules[unit] |= 4;
        wishes.pairs = [pair];
        words.push('--require', 'together:' + pair.map((unit) => labels[unit]).join(','));
    }
    wishes.min_units = pick([0, 1, 1, 2]);
    wishes.max_units = pick([0, 0, 0, 3]);
    words.push('--require', `layers:${wishes.min_units}..${wishes.max_units || ''}`);
    if (random(6) === 0)
        wishes.device_map = pick([[1, 0], [0, 2, 1], [3, 1, 2, 0]]);
    const ipus = wishes.device_map === null ? [0, 1, 2] : [...wishes.device_map];
    const chosen = (list) => list.filter(() => random(3) === 0);
    if (random(3) === 0) {
        for (const unit of chosen(layers).slice(0, 2)) {
            wishes.placements.push([unit, pick(ipus)]);
            words.push('--require', `place:${labels[unit]}=${wishes.placements.slice(-1)[0][1]}`);
        }
    }
    if (random(2) === 0)
        wishes.mem_per_tile = chosen(ipus).map((ipu) => [ipu, 1]);
    if (model.hasCycles && random(2) === 0)
        wishes.ipu_speeds = chosen(ipus).map((ipu) => [ipu, pick([500000, 1250000, 333333])]);
    const bandwidths = [['64', '1'], ['5', '10'], ['12345', '1000']];
    if (isLinked(model))
        wishes.links = { all: pick(bandwidths), all_is_asked_for: true, single:
            ipus.slice(1).map((ipu, i) => [ipus[i], ipu, ...pick(bandwidths)])
                .filter(() => random(2) === 0) };
    return [Object.assign({}, data, { words: Object.assign({}, data.words,
        { constraints: words.join(' ') }) }), Object.assign({}, model, { wishes })];
}

// Cycles without what cuts take on the usual links are only in a page that was told of links.
function isLinked(model) {
    return model.hasCycles && model.wishes.links !== null;
}

function checkConstraints(data, model, name) {
    const statuses = new Set();
    for (let i = 0; i < numConstraints; i++) {
        const [told, asked] = randomConstraints(data, model);
        const settings = randomSettings(asked);
        // limits of IPUs that matter
        asked.wishes.mem_per_tile = asked.wishes.mem_per_tile.map(([ipu]) =>
            [ipu, Math.floor(settings.limit * (60 + random(80)) / 100)]);
        const line = Model.solveCommand(told, asked, settings);
        const own = Model.solve(asked, settings);
        compareAnswer(own, run([...wordsOf(line), '--format', 'json']), `${name}, ${line}`);
        if (own.split !== null) {
            assert.deepStrictEqual(Model.broken(asked, settings, own.split.cuts), [], line);
            const again = Model.evaluateCommand(told, asked, settings, own.split.cuts);
            run([...wordsOf(again), '--format', 'json']).stages.forEach((stage, k) =>
                compareStage(own.split.stages[k], stage, model.chain, `${name}, ${again}`));
        }
        statuses.add(own.status);
    }
    return statuses;
}

// The curve is one answer after another; the front is that of --pareto.
function checkTables(data, model, name) {
    const settings = Object.assign(Model.settingsOf(model), { limit: 2 ** 40, numIpus: 4 });
    const curve = Model.curve(model, settings); // whatever the limits
    const unlimited = { ...model, wishes: { ...model.wishes, mem_per_tile: [] } };
    for (let n = 1; n <= Math.min(4, curve.length); n++) {
        const { split } = Model.solve(unlimited, Object.assign({}, settings,
            { numIpus: n, objectives: ['memory'] }));
        if (split === null)
            assert.ok(Number.isNaN(curve[n - 1]));
        else
            assert.strictEqual(curve[n - 1], split.values.memory, `${name}: ${n} IPUs`);
    }
    if (!model.hasCycles)
        return;
    settings.slack = 0; // a front is exact
    const line = Model.solveCommand(data, model, settings)
        .replace(/--objective \S+/, '--pareto memory,cycles');
    const told = run([...wordsOf(line), '--format', 'json']);
    const own = Model.pareto(model, settings, ['memory', 'cycles']);
    assert.deepStrictEqual(own.map((p) => [p.values.memory,
        Model.inTime(model.costs, p.values.cycles)]),
        told.results.map((p) => ['memory', 'cycles'].map((objective) =>
            p.objectives.find((value) => value.name === objective).value)), `${name}: ${line}`);
}

// ---- small chains with many equal splits, against all splits ----

// A page's data with numbers so small that ties are common.
function smallModel() {
    const n = 1 + random(6);
    const numIntervals = n * (n + 1) / 2;
    const list = (length, below) => Float64Array.from({ length }, () => random(below));
    const trains = random(2) === 1;
    const copies = Float64Array.from({ length: n }, (_, i) => i);
    const tiles = { from_copies: list(numIntervals, 1), first: Model.starts(Array(numIntervals)
        .fill(1)), bytes: list(numIntervals, 4), stash_bytes: list(numIntervals, 2) };
    const zeros = new Float64Array(numIntervals);
    for (const name of ['tile', 'step', 'unexplained_bytes', 'layout_bytes', 'copy_layout_bytes',
        'freed_bytes', 'always_live_bytes', 'code_bytes', 'buffer_bytes', 'accumulator_bytes'])
        tiles[name] = zeros;
    const sums = new Proxy({}, { get: () => zeros });
    const parts = ['stash', 'layout'].map((name) => ({ name, column: `${name}_bytes` }));
    const cycles = list(numIntervals, 4);
    const some = (make) => random(3) > 0 ? [] : [0, 1, 2].filter(() => random(2) > 0).map(make);
    const links = () => ({ all: pick([['0', '0'], ['1', '2'], ['2', '1']]), single: random(2) > 0
        ? [] : [[1, 0, '1', '3']].concat(random(2) > 0 ? [] : [[1, 2, '3', '1']]) });
    const map = random(5) === 0 ? pick([[1, 0], [2, 1, 0]]) : null;
    const stages = { sums, largest: { least: tiles, expected: tiles, most: tiles },
        variables: { first: Model.starts(zeros) } };
    return {
        parts, tileParts: {},
        chain: { labels: Array(n).fill('x'), first_may_be_alone: random(4) > 0 },
        numUnits: n, optionNames: {}, categories: [], hasCycles: true, needs: Model.NEEDS, cycles,
        cuts: list(n, 3),
        wishes: { unknown: [], counted: Array.from({ length: n }, () => random(3) > 0 ? 1 : 0),
            min_units: random(2), max_units: random(3) === 0 ? 2 : 0,
            cut_rules: Array.from({ length: n }, (_, i) => i > 0 && random(5) === 0
                ? 1 + random(2) : 0),
            device_map: map, pairs: [],
            mem_per_tile: some((ipu) => [ipu, random(6)]),
            ipu_speeds: some((ipu) => [ipu, pick([500000, 333333, 2000000])]),
            // no unit twice, as the command has it
            placements: some((ipu) => [random(n), ipu]).slice(0, 2).filter(([unit], i, list) =>
                list.findIndex((other) => other[0] === unit) === i),
            links: random(3) > 0 ? null : links() },
        pipelines: [{ stages, cycles, keeps: trains, max_stages: n,
            copies: { least: copies, expected: trains ? copies : zeros, most: copies } }],
    };
}

function allSplits(n) {
    return Array.from({ length: 2 ** (n - 1) }, (_, marks) => Array.from({ length: n - 1 },
        (__, i) => i + 1).filter((unit) => (marks >> (unit - 1) & 1) !== 0));
}

// What stages are worth is here from the definition, not from the model: only the cycles of its
// table, and needs, are taken as they are.
function plainCycles(model, first, last, number) {
    const { wishes, numUnits: n } = model;
    const ipu = (k) => wishes.device_map === null ? k : wishes.device_map[k];
    const [, speed] = wishes.ipu_speeds.find((told) => told[0] === ipu(number)) || [0, 1000000];
    const onLink = (k, unit) => {
        if (wishes.links === null || unit === 0 || unit === n)
            return 0;
        const ends = [ipu(k - 1), ipu(k)].sort().join();
        const own = wishes.links.single.find((link) => [link[0], link[1]].sort().join() === ends);
        const [amount, time] = (own ? own.slice(2) : wishes.links.all).map(Number);
        return amount === 0 ? 0 : Math.ceil(model.cuts[unit] * time / amount);
    };
    const i = Array.from({ length: first }, (_, k) => n - k).reduce((a, b) => a + b, 0) +
        last - first;
    return Math.ceil(model.cycles[i] * 1000000 / speed) + onLink(number, first) +
        onLink(number + 1, last + 1);
}

function plainValues(model, settings, split, objectives) {
    const peaks = split.stages.map((s) => s.need_bytes);
    const cycles = split.stages.map((s, k) => plainCycles(model, s.first, s.last, k));
    const place = objectives.indexOf('cycles');
    const spreadOf = place >= 0 && place < objectives.indexOf('balance') ? cycles : peaks;
    return { memory: Math.max(...peaks), cycles: Math.max(...cycles),
        traffic: split.cuts.reduce((sum, unit) => sum + model.cuts[unit], 0), ipus: peaks.length,
        balance: Math.max(...spreadOf) - Math.min(...spreadOf),
        headroom: Math.max(0, -above(model, settings, split)) };
}

// The most that a stage needs above the limit of its IPU; negative if all fit.
function above(model, settings, split) {
    const { device_map: map, mem_per_tile: limits } = model.wishes;
    return Math.max(...split.stages.map((stage, k) => {
        const own = limits.find((limit) => limit[0] === (map === null ? k : map[k]));
        return stage.need_bytes - (own ? own[1] : settings.limit);
    }));
}

function fits(model, settings, split) {
    return above(model, settings, split) <= 0;
}

function isAllowed(model, settings, split) {
    const { wishes, chain, numUnits } = model;
    const map = wishes.device_map;
    const isPlaced = wishes.placements.every(([unit, ipu]) => split.stages.every((stage, k) =>
        unit < stage.first || unit > stage.last || (map === null ? k : map[k]) === ipu));
    if (!isPlaced || (map !== null && split.stages.length !== map.length))
        return false;
    const rulesHold = wishes.cut_rules.every((rule, unit) => unit === 0 || rule === 0 ||
        split.cuts.includes(unit) === (rule === 1));
    const most = map !== null ? map.length : Math.min(settings.numIpus, numUnits);
    return rulesHold && split.stages.length <= most &&
        split.stages.every((stage) => {
            let counted = 0;
            for (let unit = stage.first; unit <= stage.last; unit++)
                counted += wishes.counted[unit];
            return counted >= wishes.min_units &&
                (wishes.max_units === 0 || counted <= wishes.max_units) &&
                (stage.last > 0 || chain.first_may_be_alone);
        });
}

// Within the best of each objective, but for the slack, and then the earliest cuts.
function bestOf(splits, objectives, slack) {
    objectives.forEach((name, i) => {
        const isMost = name === 'headroom'; // the more the better
        const values = splits.map((split) => split.values[name]);
        const best = isMost ? Math.max(...values) : Math.min(...values);
        const room = i + 1 < objectives.length ? Math.floor(best * slack / 100) : 0;
        splits = splits.filter((_, k) => isMost ? values[k] >= best - room
            : values[k] <= best + room);
    });
    const text = (split) => split.cuts.map((unit) => String(unit).padStart(4, '0')).join();
    return splits.sort((a, b) => text(a) < text(b) ? -1 : 1)[0] || null;
}

function checkSmall() {
    const seen = { optimal: 0, infeasible: 0 };
    for (let i = 0; i < (takesAll ? 6000 : 300); i++) {
        const model = smallModel();
        const names = [...COMBINED];
        const objectives = [];
        while (objectives.length < 1 + i % 4)
            objectives.push(names.splice(random(names.length), 1)[0]);
        const settings = { pipeline: 0, need: 'expected', limit: random(8),
            numIpus: 1 + random(5), objectives, slack: pick([0, 0, 50, 100]) };
        const asked = objectives[0] === 'balance' && model.wishes.device_map === null
            ? ['memory', ...objectives.filter((name) => name !== 'memory')] : objectives;
        const splits = allSplits(model.numUnits).map((cuts) =>
            Model.evaluate(model, settings, cuts))
            .filter((split) => isAllowed(model, settings, split));
        for (const split of splits) {
            const plain = plainValues(model, settings, split, asked);
            assert.deepStrictEqual(split.values, plain, `${i}`);
            assert.strictEqual(split.fits, fits(model, settings, split), `${i}`);
            assert.deepStrictEqual(Model.broken(model, settings, split.cuts), [], `${i}`);
        }
        const within = splits.filter((split) => split.fits);
        const best = within.length > 0 ? bestOf(within, asked, settings.slack)
            : bestOf(splits.map((split) => Object.assign({}, split, {
                values: { above: above(model, settings, split) } })), ['above'], 0);
        const own = Model.solve(model, settings);
        assert.strictEqual(own.status, within.length > 0 ? 'optimal' : 'infeasible', `${i}`);
        assert.deepStrictEqual(own.split && own.split.cuts, best && best.cuts, `${i}`);
        seen[own.status]++;
    }
    const [fitting, others] = takesAll ? [1000, 600] : [50, 30];
    assert.ok(seen.optimal > fitting && seen.infeasible > others, JSON.stringify(seen));
}

function make(name, ...words) {
    const folder = path.join(scratch, name);
    execFileSync(mkprofile, ['--output', folder, '--force', '--quiet', ...words]);
    return folder;
}

// ---- what the page alone cannot know ----

// A page of stages that share IPUs has the verdicts of its plan from the command, and of other cuts
// none that is better than what is known.
const NEED_KEYS = { least: 'at_least_bytes', expected: 'expected_bytes', most: 'at_most_bytes' };
// from the worst on, without 'is not known to fit'
const VERDICTS = ['does not fit', 'may not fit', 'likely fits', 'fits'];

function checkShared() {
    const seen = new Set();
    const words = [sample, '--solve', '--num-ipus', '2', '--device-map', 'interleaved:2'];
    const fitting = new Set();
    for (const limit of takesAll ? ['30000', '36000', '100000']
        : ['30000', '100000']) {
        const data = makePage([...words, '--mem-per-tile', limit]);
        const model = Model.read(data);
        const settings = Model.settingsOf(model);
        const line = Model.evaluateCommand(data, model, settings, data.plan);
        assert.ok(line.includes('--device-map 0,1,0,1'), line);
        const told = run([...wordsOf(line), '--format', 'json']);
        const own = Model.evaluate(model, settings, data.plan);
        told.stages.forEach((stage, i) => {
            compareStage(own.stages[i], stage, model.chain, `${line}, stage ${i}`);
            assert.strictEqual(own.stages[i].ipu, stage.ipu);
        });
        assert.strictEqual(own.fits, told.stages.every((stage) => stage.fits));
        fitting.add(own.fits);
        const answer = run([...wordsOf(Model.solveCommand(data, model, settings)), '--format',
            'json']);
        assert.deepStrictEqual(data.messages, run([...words, '--mem-per-tile', limit, '--format',
            'json']).messages);
        assert.ok(data.messages.length > 0);
        assert.strictEqual(own.values.memory, answer.totals.memory);
        assert.strictEqual(own.values.cycles, answer.totals.cycles);
        assert.strictEqual(own.values.ipus, answer.totals.ipus);
        checkBound(model, settings, answer, line);
        for (const cuts of allSplits(model.numUnits).filter((some) => some.length === 3 &&
            some.join() !== data.plan.join())) {
            const split = Model.evaluate(model, settings, cuts);
            const known = run([...wordsOf(Model.evaluateCommand(data, model, settings, cuts)),
                '--format', 'json']);
            assert.strictEqual(split.values.memory, null);
            split.stages.forEach((stage, i) => {
                assert.ok([null, known.stages[i].fits].includes(stage.fits), line);
                assert.ok(stage.bound_bytes >= known.stages[i].needs[NEED_KEYS[settings.need]]);
                // a bound may say less than the command, but nothing better
                const [page, told] = [stage.verdict, known.stages[i].needs.verdict].map((verdict) =>
                    VERDICTS.indexOf(verdict));
                assert.ok(page < 0 || (page === 0 ? told === 0 : page <= told), line);
                seen.add(stage.fits);
            });
        }
        const other = Object.assign({}, settings, { limit: settings.limit + 1 });
        if (Model.evaluate(model, other, data.plan).fits)
            assert.ok(answer.totals.memory <= other.limit);
    }
    assert.deepStrictEqual([...fitting].sort(), [false, true]);
    assert.ok(seen.has(true) && seen.has(null) && seen.has(false), [...seen].join());
}

// The plan by a bound keeps to the map, and is not better than the best.
function checkBound(model, settings, answer, line) {
    const own = Model.solve(model, settings);
    if (!Model.canSolve(model))
        return;
    assert.strictEqual(own.status, 'bounded', line);
    assert.strictEqual(own.split.stages.length, model.wishes.device_map.length, line);
    assert.ok(own.split.bound >= answer.totals.memory, line);
    for (const cuts of allSplits(model.numUnits).filter((some) =>
        some.length === own.split.cuts.length))
        assert.ok(own.split.bound <= Model.evaluate(model, Object.assign({}, settings,
            { limit: settings.limit + 2 }), cuts).bound, line);
}

// A profile of several IPUs: every split, against the command.
function checkSeveralIpus() {
    const report = make('pipeline', ...small, '--training', '--pipeline', '0|2');
    const data = makePage([report, '--mem-per-tile', '3M']);
    const model = Model.read(data);
    const settings = Model.settingsOf(model);
    const seen = new Set();
    for (const cuts of allSplits(model.numUnits).filter((some, i) => i % 2 === 0)) {
        const line = Model.evaluateCommand(data, model, settings, cuts);
        const told = run([...wordsOf(line), '--format', 'json']);
        Model.evaluate(model, settings, cuts).stages.forEach((stage, i) => {
            compareStage(stage, told.stages[i], model.chain, `${line}, stage ${i}`);
            seen.add(stage.fits);
        });
    }
    assert.ok(seen.has(null) && seen.has(true));
    assert.ok(data.messages.some((it) => it.text.includes('The profile has 3 IPUs')));
}

const small = ['--preset', 'bert-tiny', '--layers', '4', '--tiles', '16', '--framework', 'popart',
    '--debug-arguments', '10', '--debug-nesting', '0'];
const cases = [
    [sample],
    [path.join(golden, 'popart-train'), '--schedule', 'tf-grouped'],
    [path.join(golden, 'popart-train'), '--schedule', 'popart', '--recompute', 'full'],
    [path.join(golden, 'poptorch-inf'), '--effects', 'accumulators', '--require', 'layers:0..'],
    [make('training', ...small, '--training'), '--schedule', '1f1b+1', '--micro-batches', '3'],
    [path.join(scratch, 'training'), '--schedule', 'zero-bubble', '--micro-batches', '3'],
    [path.join(scratch, 'training'), '--schedule', 'tf-grouped', '--recompute', 'full'],
    [make('inference', ...small, '--inference'), '--require', 'no-cut:1', '--require',
        'layers:..3'],
    [make('skips', ...small, '--training', '--skips', '1'), '--effects', 'all,accumulators=fp32'],
    [make('popliner', ...small, '--inference'), '--memory-model', 'popliner'],
    [make('linked', ...small, '--training', '--execution'), '--schedule', 'popart',
        '--bandwidth', '3.5,0-1=64', '--objective', 'cycles,balance,traffic', '--slack', '4'],
    [path.join(scratch, 'linked'), '--ipu-speed', '1=0.5', '--recompute', 'full',
        '--schedule', 'tf-grouped', '--mem-per-tile', '0=400K', '--bandwidth', '0-1=3.5',
        '--objective', 'cycles'],
];
// ---- ten pages, with 200 splits and 200 settings each ----

const EACH = 200;

// Splits and settings that stages on one IPU have: what the page says is never better than what the
// command measures. Checks the command's plan to be as the command has it.
function checkInterleaved(data, model, name) {
    const map = model.wishes.device_map;
    const first = Model.settingsOf(model);
    const low = Math.min(...Model.evaluate(model, first, data.plan).stages
        .map((s) => s.need_bytes));
    for (let i = 0; i < EACH; i++) {
        const cuts = new Set();
        while (cuts.size + 1 < map.length)
            cuts.add(1 + random(model.numUnits - 1));
        const settings = { ...first, need: pick(model.needs),
            limit: Math.floor(low * (80 + random(300)) / 100) };
        const own = Model.evaluate(model, settings, [...cuts].sort((a, b) => a - b));
        const line = Model.evaluateCommand(data, model, settings, own.cuts);
        run([...wordsOf(line), '--format', 'json']).stages.forEach((told, k) => {
            const mine = own.stages[k];
            const where = `${name}, ${line}: stage ${k}`;
            const [page, known] = [mine.verdict, told.needs.verdict].map((verdict) =>
                VERDICTS.indexOf(verdict));
            assert.ok(page < 0 || (page === 0 ? known === 0 : page <= known), where);
            assert.ok([null, told.fits].includes(mine.fits), where);
            assert.ok(mine.bound_bytes === null ||
                mine.bound_bytes >= told.needs[NEED_KEYS[settings.need]], where);
        });
        const answer = run([...wordsOf(Model.solveCommand(data, model, settings)), '--format',
            'json']);
        const best = Model.solve(model, settings);
        assert.strictEqual(best.status, 'bounded', line);
        assert.ok(best.split.bound >= answer.totals.memory, line);
        assert.deepStrictEqual(best.split.stages.map((s) => s.ipu), map, line);
    }
}

// ---- pages of costs ----

function costsFile(name, text) {
    const file = path.join(scratch, name);
    fs.writeFileSync(file, text);
    return file;
}

const listOf = (count, below) => Array.from({ length: count }, () => random(below));

// A table of layers, with times that are whole or not, and a last unit that is no layer.
function layersFile(name, n, timed) {
    const [memory, time, stash, cuts] = [listOf(n, 5000), listOf(n, 90000), listOf(n, 300),
        listOf(n, 2000)];
    return costsFile(`${name}.csv`, `name,memory,${timed},stash,cut,layer\n${memory.map((_, i) =>
        `l ${i},${memory[i]},${timed === 'cycles' ? time[i] : time[i] / 8192},${stash[i]},` +
        `${i + 1 < n ? cuts[i] : ''},${i + 1 < n}\n`).join('')}`);
}

// All that costs can say of devices: regions, what units share, speeds, links, latencies, limits.
function devicesFile(name, n) {
    const names = Array.from({ length: n }, (_, i) => `it's ${i}`);
    return costsFile(`${name}.json`, JSON.stringify({
        format: 'popliner-costs', version: 1, time_unit: 'µs', regions: ['a', 'b', 'c'],
        units: names.map((own) => ({ name: own, memory: listOf(3, 900), stash: listOf(3, 90),
            inputs: listOf(3, 50), cycles: random(4000) / 64, recompute_cycles: random(100) })),
        shared: [0, 1, 2].map(() => ({ units: [pick(names)].concat(pick(names.slice(0, n / 2)))
            .filter((own, i, all) => all.indexOf(own) === i), memory: listOf(3, 300) })),
        cuts: listOf(n - 1, 800), cut_cycles: listOf(n - 1, 5),
        devices: { count: 5, memory: 9000, memories: { 1: 7000 }, speeds: { 0: 0.5, 2: 1.25 },
            bandwidth: 64, links: { '0-1': 3.5, '2-1': 200, '0-4': 1 } } }));
}

function costsCases() {
    const layers = layersFile('layers', 12, 'cycles');
    const devices = devicesFile('devices', 9);
    const shared = devicesFile('shared', 8);
    const untimed = costsFile('untimed.csv', 'name,memory\na,1K\n"b;,|""",3K\nc,2000\n');
    const passes = costsFile('passes.csv', `name,memory,forward (ms),backward (ms)\n${
        listOf(7, 9000).map((memory, i) => `p${i},${memory},${random(9)}.5,${random(9)}\n`)
            .join('')}`);
    return [[layers, '--solve', '--num-ipus', '4', '--schedule', '1f1b', '--micro-batches', '3'],
        [devices, '--solve', '--recompute', 'full', '--schedule', 'popart', '--micro-batches', '5'],
        [layersFile('fractions', 15, 'time (ms)'), '--solve', '--schedule', 'zero-bubble',
            '--micro-batches', '6', '--mem-per-tile', '15K,1=12K', '--reserve', '1K',
            '--ipu-speed', '1=0.5', '--bandwidth', '5.25,0-1=0.125'],
        [shared, '--solve', '--num-ipus', '2', '--device-map', 'interleaved:2', '--schedule',
            'tf-grouped', '--mem-per-tile', '9K'],
        [shared, '--solve', '--device-map', '1,0,0,1', '--objective', 'cycles,balance'],
        [layers, '--solve', '--device-map', '1,0,3', '--require', 'cut:l 3', '--require',
            'together:l 5,l 6', '--require', 'layers:2..', '--schedule', 'none:0,1,1,...'],
        [untimed], [devices, '--evaluate', "it's 2|it's 5"],
        [passes, '--solve', '--schedule', 'gpipe', '--micro-batches', '4', '--objective',
            'cycles,balance', '--slack', '3', '--mem-per-tile', '40000'],
        [layers, '--solve', '--num-ipus', '2..3', '--schedule', 'none:2,3,5'],
        [layers, '--solve', '--pareto', 'memory,cycles', '--mem-per-tile', '20K'],
        [layers, '--solve', '--num-ipus', '3', '--require', 'cut:l 1', '--require', 'cut:l 2',
            '--require', 'cut:l 3', '--mem-per-tile', '1K'],
        [devices, '--solve', '--mem-per-tile', '100', '--objective', 'headroom,traffic']];
}

// The command's own plan: a page has it whole, with what the command says of it.
function checkTold(words, data, model) {
    const several = /^--(pareto|num-ipus)$/;
    const hasOne = /--(solve|evaluate)/.test(words.join()) && !words.some((word, i) =>
        several.test(word) && /memory,cycles|\.\./.test(words[i + 1]));
    if (!hasOne) {
        assert.strictEqual(data.plan, null, words.join(' '));
        return;
    }
    const told = run([...words, '--format', 'json']);
    assert.deepStrictEqual(data.messages, told.messages, words.join(' '));
    assert.strictEqual(data.costs.time_unit, told.time_unit);
    const { labels } = model.chain;
    assert.deepStrictEqual(data.plan, told.stages.length === 0 ? null : told.stages.slice(0, -1)
        .map((stage) => labels.indexOf(stage.layer_to) + 1));
    if (data.plan === null)
        return;
    const own = Model.evaluate(model, Model.settingsOf(model), data.plan);
    assert.deepStrictEqual(own.stages.map((s) => [s.ipu, s.need_bytes]),
        told.stages.map((s) => [s.ipu, s.mem.max_tile_mem]), words.join(' '));
    assert.strictEqual(own.fits, told.status !== 'infeasible', words.join(' '));
    if (!words.includes('--evaluate'))
        assert.deepStrictEqual(Model.broken(model, Model.settingsOf(model), data.plan), []);
}

// Stages on one device: what the page says of a split is never better than what the command says.
function checkSharedCosts(model, data, count) {
    for (let i = 0; i < count; i++) {
        const cuts = new Set();
        while (cuts.size + 1 < model.wishes.device_map.length)
            cuts.add(1 + random(model.numUnits - 1));
        const first = Model.settingsOf(model);
        const settings = { ...first, limit: Math.floor(first.limit * (30 + random(120)) / 100) };
        const own = Model.evaluate(model, settings, [...cuts].sort((a, b) => a - b));
        const line = Model.evaluateCommand(data, model, settings, own.cuts);
        const told = run([...wordsOf(line), '--format', 'json']);
        const most = Math.max(...told.stages.map((s) => s.mem.max_tile_mem));
        assert.ok(own.bound >= most, line);
        assert.ok(own.fits !== true || told.status !== 'infeasible', line);
        assert.ok(own.fits !== false || told.status === 'infeasible', line);
        assert.strictEqual(Model.inTime(model.costs, own.values.cycles), told.totals.cycles, line);
        const answer = run([...wordsOf(Model.solveCommand(data, model, settings)), '--format',
            'json']);
        const best = Model.solve(model, settings);
        assert.ok(best.split.bound >= answer.totals.memory, line);
    }
}

function checkCosts(solves, count) {
    const statuses = new Set();
    const every = takesAll ? 1 : 4;
    for (const words of costsCases().filter((_, i) => i % every === 0)) {
        const data = makePage(words);
        const model = Model.read(data);
        const name = words.join(' ');
        checkTold(words, data, model);
        [numSplits, numSettings] = [count, count];
        if (Model.isBounded(model)) {
            checkSharedCosts(model, data, solves ? count : 0);
            continue;
        }
        checkSplits(data, model, name);
        if (!solves)
            continue;
        checkAnswers(data, model, name).forEach((status) => statuses.add(status));
        if (model.wishes.device_map === null)
            checkTables(data, model, name);
        if (isNightly)
            console.log(`costs, ${name}: ${count} splits and settings`);
    }
    assert.ok(!solves || !takesAll || statuses.size === 2, [...statuses].join());
}

function tenPages() {
    const training = path.join(scratch, 'training');
    const pages = [['training', [training, '--schedule', 'popart']],
        ['recomputation', [training, '--schedule', 'tf-grouped', '--recompute', 'full']],
        ['several constraints', [training, '--schedule', '1f1b+1', '--require', 'layers:..3']],
        ['interleaved', [training, '--solve', '--num-ipus', '2', '--device-map', 'interleaved:2']],
        ['infeasible', [training, '--schedule', 'popart', '--mem-per-tile', '1K']],
        ['several IPUs', [path.join(scratch, 'pipeline'), '--mem-per-tile', '3M']],
        ['comparison', [training, '--compare', path.join(scratch, 'inference')]],
        ['100 units', [make('hundred', ...small, '--layers', '98', '--training'), '--schedule',
            'popart']],
        ...real !== undefined && fs.existsSync(real)
            ? [['real', [real, '--layer-name-regex', 'cs(\\d+)_']]] : []];
    return pages;
}

function checkTenPages(solves) {
    for (const [name, words] of tenPages()) {
        const data = makePage(words);
        const model = Model.read(data);
        const regex = words.filter((word, i) =>
            [word, words[i - 1]].includes('--layer-name-regex'));
        stored = path.join(scratch, 'stored.popliner');
        fs.rmSync(stored, { force: true });
        execFileSync(popliner, ['-q', words[0], ...regex, '--save-to-file', stored],
            { stdio: ['ignore', 'ignore', 'pipe'] });
        limitPercents = name === 'infeasible' ? [1, 60] : [70, 130];
        [numSplits, numSettings, numConstraints] = [EACH, EACH, EACH];
        const start = Date.now();
        if (Model.isBounded(model) && solves) {
            checkInterleaved(data, model, name);
        } else {
            checkSplits(data, model, name);
            if (solves && name === 'several constraints')
                checkConstraints(data, model, name);
            else if (solves)
                checkAnswers(data, model, name);
        }
        stored = null;
        console.log(`${name}: ${EACH} splits and ${solves ? EACH : 0} settings, ` +
            `${Math.round((Date.now() - start) / 1000)} s`);
    }
}

// As a browser does: the solver of a page, unpacked.
async function startSolver() {
    const { solver } = makePage([sample]);
    if (solver === null)
        return false;
    Model.useSolver(await Solver.load(zlib.gunzipSync(Buffer.from(solver, 'base64'))));
    return true;
}

async function main() {
    const solves = await startSolver();
    checkPasting();
    checkShared();
    checkSeveralIpus();
    if (solves)
        checkSmall();
    const statuses = new Set();
    const every = isNightly ? 1 : takesAll ? 2 : 6;
    const chosen = cases.filter((_, i) => i % every === 0);
    for (const words of withinBudget(chosen, 2)) {
        const data = makePage(words);
        const model = Model.read(data);
        const name = words.join(' ');
        assert.ok(model.pipelines.length > 0);
        // a page of the library has no words of a command
        assert.deepStrictEqual(Model.read({ ...data, words: null }).optionNames, {});
        checkSplits(data, model, name);
        if (!solves)
            continue;
        checkAnswers(data, model, name).forEach((status) => statuses.add(status));
        checkConstraints(data, model, name).forEach((status) => statuses.add(status));
        checkTables(data, model, name);
    }
    if (solves && !isShort())
        assert.deepStrictEqual([...statuses].sort(), ['infeasible', 'optimal']);
    checkCosts(solves, isNightly ? EACH : takesAll ? 12 : 2);
    if (isNightly)
        checkTenPages(solves);
    console.log(solves ? `${chosen.length} pages agree with the command`
        : 'The pages are made without a solver: only splits are compared');
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
