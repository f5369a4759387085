// The model of the page against the command: the documents of random splits against those of
// --evaluate, of random settings against those of --solve, and fronts against --pareto.
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
    const element = (name) => {
        const found = [...page.matchAll(new RegExp(`id="${name}">([^<]*)</script>`, 'g'))];
        assert.strictEqual(found.length, 1);
        return Buffer.from(found[0][1], 'base64');
    };
    // a browser runs all of it or nothing
    const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)];
    assert.ok(scripts.length > 0);
    scripts.forEach((script) => new vm.Script(script[1]));
    new vm.Script(zlib.gunzipSync(element('scripts')).toString());
    return JSON.parse(zlib.inflateSync(element('data')));
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
        const data = { words: { command: 'popliner x' } };
        const model = { numUnits: 2, chain: { labels: [name, 'b'] }, pipelines: [{ words: '' }],
            wishes: { device_map: null, mem_per_tile: [], ipu_speeds: [], links: null } };
        const settings = { pipeline: 0, limit: 5, need: 'expected' };
        assert.ok(!Model.jsonText({ name }).match(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]/));
        assert.strictEqual(JSON.parse(Model.jsonText({ name })).name, name);
        const line = Model.evaluateCommand(data, model, settings, [1]);
        // signs between the parts of a value are escaped in names
        const value = Array.from(name, (c) => ',|\\'.includes(c) ? `\\${c}` : c).join('');
        const words = ['x', ...name.startsWith('-') ? [`--evaluate=${value}`]
            : ['--evaluate', value], '--mem-per-tile', '5'];
        assert.deepStrictEqual(pasted(line), words, JSON.stringify(line));
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

// A document of the page is that of the command, but for what the command alone has: messages and
// hints of the profile and of other pipelines, and the second proof.
function compare(own, told, where) {
    const plain = ({ messages, hints, proof, objectives, infeasibility: why,
                     ...rest }) => ({ ...rest,
        options: { ...rest.options, ipu_speed: 0, links: 0 }, // also of devices that are not used
        objectives: objectives.map((it) => ({ ...it, proof: null })),
        infeasibility: why && { ...why, peak: null } });
    assert.deepStrictEqual(plain(own), plain(told), where);
}

// Below 100 % of what a split needs, no split may fit.
let limitPercents = [70, 130];

// The step and tokens are objectives alone.
const COMBINED = ['memory', 'cycles', 'traffic', 'ipus', 'balance', 'headroom'];

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
    if (model.chain.kv && random(4) === 0)
        Object.assign(settings, { objectives: ['tokens'], slack: 0 });
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
        const told = run([...wordsOf(line), '--format', 'json']);
        settings.objectives = told.objectives.map(({ name }) => name); // it has the usual ones
        const { document } = Model.evaluate(model, settings, cuts);
        if (!model.costs) // of a profile --evaluate knows no speeds and links
            for (const { stages, totals, options, verdict } of [document, told]) {
                verdict.proof = verdict.proof.replace(/ The slowest IPU.*/, '');
                for (const times of [totals, options, ...stages])
                    for (const key of TIMES)
                        delete times[key];
            }
        compare(document, told, `${name}, ${line}`);
    }
}

const TIMES = ['cycles', 'link_cycles', 'balance', 'step', 'ipu_speed', 'link_bandwidth', 'links'];

// ---- answers ----

function compareAnswer(own, told, line) {
    if (own.split)
        return compare(own.split.document, told, line);
    // settings that contradict each other
    assert.strictEqual(own.status, told.status, line);
    assert.strictEqual(told.stages.length, 0, line);
    return assert.deepStrictEqual(own.verdict, told.verdict, line);
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
        compareAnswer(own, told, `${name}, ${line}`);
        checkHints(Model.hints(model, settings), told, `${name}, ${line}`);
        const { step } = told.totals;
        if (own.split !== null) {
            assert.deepStrictEqual(Model.broken(model, settings, own.split.cuts), [], line);
            if (step && step.cycles !== null)
                checkPasses(Model.passes(model, settings, own.split.cuts), own.split, { ...step,
                    cycles: Math.round(step.cycles * (model.costs?.cycles_per_time_unit || 1)) },
                line);
        }
        statuses.add(own.status);
    }
    return statuses;
}

// Hints are those of the command, but that it alone measures other pipelines, and of a stored
// analysis makes no page.
function checkHints(own, told, line) {
    const plain = (list) => (list || []).filter(({ option }) =>
        !/schedule|recompute/.test(option) && (stored === null || !option.includes('page=')));
    assert.deepStrictEqual(plain(own), plain(told.hints), line);
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
        if (own.split !== null)
            assert.deepStrictEqual(Model.broken(asked, settings, own.split.cuts), [], line);
        checkBroken(asked, settings);
        statuses.add(own.status);
    }
    return statuses;
}

// What a random split breaks, from the definition of each constraint.
function checkBroken(model, settings) {
    const { wishes, chain: { labels }, numUnits } = model;
    const cuts = randomCuts(model, settings);
    const begins = [0, ...cuts, numUnits];
    const sizes = begins.slice(1).map((end, i) => wishes.counted.slice(begins[i], end)
        .reduce((sum, one) => sum + one, 0));
    const stageOf = (unit) => begins.findLastIndex((first) => first <= unit);
    const map = wishes.device_map;
    const isMapped = map !== null && map.length === begins.length - 1;
    const ipuOf = (unit) => isMapped ? map[stageOf(unit)] : stageOf(unit);
    const expected = [map !== null ? !isMapped && `device-map of ${map.length} stages`
        : sizes.length > settings.numIpus && `num-ipus ${settings.numIpus}`,
    Math.min(...sizes) < wishes.min_units && `require layers:${wishes.min_units}..`,
    wishes.max_units > 0 && Math.max(...sizes) > wishes.max_units &&
        `require layers:..${wishes.max_units}`,
    ...wishes.cut_rules.map((rule, unit) => (rule & 3) !== 0 &&
        cuts.includes(unit) !== ((rule & 3) === 1) &&
        `require ${(rule & 3) === 1 ? 'cut' : 'no-cut'}:${labels[unit - 1]}`),
    ...wishes.pairs.map(([a, b]) => ipuOf(a) !== ipuOf(b) &&
        `require together:${labels[a]},${labels[b]}`),
    ...wishes.placements.map(([unit, ipu]) => ipuOf(unit) !== ipu &&
        `require place:${labels[unit]}=${ipu}`)].filter((text) => text !== false);
    assert.deepStrictEqual(Model.broken(model, settings, cuts).sort(), expected.sort());
}

// The least memory of numbers of IPUs is one answer after another; the front is that of --pareto.
function checkTables(data, model, name) {
    const settings = Object.assign(Model.settingsOf(model), { limit: 2 ** 40, numIpus: 4 });
    settings.slack = 0; // a front is exact
    if (model.wishes.device_map === null) {
        const front = Model.pareto(model, settings, ['memory', 'ipus']);
        const best = [1, 2, 3, 4].map((n) => {
            const { status, split } = Model.solve(model, { ...settings, numIpus: n,
                objectives: ['memory', 'ipus'] });
            return status === 'optimal' ? split : null; // no best effort
        });
        const told = best.filter((split, i) => split !== null && !best.slice(0, i).some((own) =>
            own !== null && own.values.memory === split.values.memory)).reverse();
        assert.deepStrictEqual(front.map(({ values }) => [values.memory, values.ipus]),
            told.map(({ values }) => [values.memory, values.ipus]), name);
    }
    if (!model.hasCycles)
        return;
    const line = Model.solveCommand(data, model, settings)
        .replace(/--objective \S+/, '--pareto memory,cycles');
    const told = run([...wordsOf(line), '--format', 'json']);
    const own = Model.pareto(model, settings, ['memory', 'cycles']);
    assert.ok(own.every((p) => p.values.ipus === p.cuts.length + 1), line);
    assert.deepStrictEqual(own.map((p) => [p.values.memory, p.values.cycles]),
        told.results.map((p) => ['memory', 'cycles'].map((objective) =>
            p.objectives.find((value) => value.name === objective).value)), `${name}: ${line}`);
}

function make(name, ...words) {
    const folder = path.join(scratch, name);
    execFileSync(mkprofile, ['--output', folder, '--force', '--quiet', ...words]);
    return folder;
}

// Of stages that share IPUs a page has the command's plan alone, and evaluates no other.
function checkShared() {
    const words = [sample, '--solve', '--num-ipus', '2', '--device-map', 'interleaved:2'];
    const data = makePage(words);
    const model = Model.read(data);
    assert.ok(!Model.canEvaluate(model));
    const own = Model.evaluate(model, Model.settingsOf(model), [1, 2, 3]);
    const told = run([...words, '--format', 'json']);
    assert.deepStrictEqual(own.document, told);
    assert.deepStrictEqual(own.cuts, data.plan);
    assert.deepStrictEqual(Model.hints(model, Model.settingsOf(model)), told.hints);
    if (Model.canEvaluate({ ...model, sharesIpus: false })) // each alone
        assert.ok(own.stages.every((stage) => stage.alone_bytes < stage.need_bytes));
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
    const caches = costsFile('caches.csv', `name,memory,cache,kv,workspace,workspace_most\n${
        listOf(8, 900).map((memory, i) => `c${i},${memory},${random(90)},${random(9)},${
            random(70)},${70 + random(300)}\n`).join('')}`);
    return [[caches, '--solve', '--num-ipus', '3', '--mem-per-tile', '4K,1=3K'],
        [layers, '--solve', '--num-ipus', '4', '--schedule', '1f1b', '--micro-batches', '3'],
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
        [layers, '--solve', '--num-ipus', '3', '--schedule', 'none:2,3,5'],
        [layers, '--solve', '--pareto', 'memory,cycles', '--mem-per-tile', '20K'],
        [layers, '--solve', '--num-ipus', '3', '--require', 'cut:l 1', '--require', 'cut:l 2',
            '--require', 'cut:l 3', '--mem-per-tile', '1K'],
        [devices, '--solve', '--mem-per-tile', '100', '--objective', 'headroom,traffic']];
}

// The command's own plan: a page has it whole.
function checkTold(words, data) {
    const several = /^--(pareto|num-ipus)$/;
    const hasOne = /--(solve|evaluate)/.test(words.join()) && !words.some((word, i) =>
        several.test(word) && /memory,cycles|\.\./.test(words[i + 1]));
    const told = hasOne ? run([...words, '--format', 'json']) : null;
    assert.deepStrictEqual(data.answer, told && told.stages.length > 0 ? told : null,
        words.join(' '));
    if (told !== null)
        assert.deepStrictEqual(data.messages, told.messages, words.join(' '));
}

const valuesOf = ({ objectives }) => objectives.map(({ name, value }) => [name, value]);

function startOf(model) {
    const { split } = Model.solve(model, Model.settingsOf(model));
    return [split.cuts, valuesOf(split.document)];
}

function checkCosts(solves, count) {
    const statuses = new Set();
    const every = takesAll ? 1 : 4;
    for (const words of costsCases().filter((_, i) => i % every === 0)) {
        const data = makePage(words);
        const model = Model.read(data);
        const name = words.join(' ');
        checkTold(words, data);
        [numSplits, numSettings] = [count, count];
        if (model.sharesIpus || !solves)
            continue;
        if (data.plan !== null && words.includes('--solve')) // what the page begins with
            assert.deepStrictEqual(startOf(model), [data.plan, valuesOf(data.answer)], name);
        assert.ok(Model.evaluate(model, { ...Model.settingsOf(model), limit: Infinity,
            objectives: ['headroom'] }, [1]).values.memory > 0, name); // free without a limit
        checkSplits(data, model, name);
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
        ['limits by device', [training, '--schedule', 'popart', '--mem-per-tile',
                              '1M,0=900K,2=800K']],
        ['costs', [costsCases()[0][0], '--solve', '--num-ipus', '4', '--schedule', '1f1b',
            '--micro-batches', '3']],
        ['infeasible', [training, '--schedule', 'popart', '--mem-per-tile', '1K']],
        ['several IPUs', [make('pipeline', ...small, '--training', '--pipeline', '1'),
            '--mem-per-tile', '3M']],
        ['inference', [path.join(scratch, 'inference')]],
        ['100 units', [make('hundred', ...small, '--layers', '98', '--training'), '--schedule',
            'popart']],
        ...real !== undefined && fs.existsSync(real)
            ? [['real', [real, '--layer-name-regex', 'cs(\\d+)_']]] : []];
    return pages;
}

function checkTenPages() {
    for (const [name, words] of tenPages()) {
        const data = makePage(words);
        const model = Model.read(data);
        const regex = words.filter((word, i) =>
            [word, words[i - 1]].includes('--layer-name-regex'));
        if (!model.costs) {
            stored = path.join(scratch, 'stored.popliner');
            fs.rmSync(stored, { force: true });
            execFileSync(popliner, ['-q', words[0], ...regex, '--save-to-file', stored],
                { stdio: ['ignore', 'ignore', 'pipe'] });
        }
        limitPercents = name === 'infeasible' ? [1, 60] : [70, 130];
        [numSplits, numSettings, numConstraints] = [EACH, EACH, EACH];
        const start = Date.now();
        checkSplits(data, model, name);
        if (name === 'several constraints')
            checkConstraints(data, model, name);
        else
            checkAnswers(data, model, name);
        stored = null;
        console.log(`${name}: ${EACH} splits and settings, ` +
            `${Math.round((Date.now() - start) / 1000)} s`);
    }
}

// As a browser does: the solver of a page, inflated.
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
        if (!solves)
            continue;
        checkSplits(data, model, name);
        checkAnswers(data, model, name).forEach((status) => statuses.add(status));
        checkConstraints(data, model, name).forEach((status) => statuses.add(status));
        checkTables(data, model, name);
    }
    if (solves && !isShort())
        assert.deepStrictEqual([...statuses].sort(), ['infeasible', 'optimal']);
    checkCosts(solves, isNightly ? EACH : takesAll ? 12 : 2);
    if (isNightly && solves)
        checkTenPages();
    console.log(solves ? `${chosen.length} pages agree with the command`
        : 'The pages are made without a solver: only the plans of the command are compared');
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
