// What a reader sees in a page, in a browser, against the command: cuts moved at random have the
// numbers of --evaluate, and questions set at random by the page's own fields have the answer of
// --solve. The command lines are those that the page copies; they are run on a stored analysis.
// Verdicts and what would help are read from the page, too. Four pages: the sample, a pipeline over
// three IPUs, the real profile where it is beside the checkout, and bert-large, which must answer
// each question within 50 milliseconds; at night recomputation, constraints, a limit that is too
// low, and 100 units.
// Arguments: popliner, popliner-mkprofile, a scratch folder, the sample, the real profile.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { execFileSync, spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');
const { isNightly, takesAll } = require('./cases.js');
const { makePage, openPage, startBrowser } = require('./page_tab.js');

const [popliner, mkprofile, scratch, sample, real] = process.argv.slice(2);
const numSplits = takesAll ? 50 : 10; // of each page
const numSettings = takesAll ? 25 : 5;
// half of the answers may take longer where the machine is busy
const MOST_MILLISECONDS = Number(process.env.POPLINER_MOST_MILLISECONDS || 50);
fs.mkdirSync(scratch, { recursive: true });

// ---- random numbers that are the same each time ----

let seed = 20261123;
function random(below) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor(seed / 4294967296 * below);
}

function median(numbers) {
    return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}

// ---- the command ----

// The words of a line for a shell, with the stored analysis in place of the profile.
function wordsOf(line, subject) {
    const told = execFileSync('sh', ['-c', `for word in ${line.replace(/^popliner /, '')}; do ` +
        "printf '%s\\n' \"$word\"; done"], { encoding: 'utf8' });
    const words = told.split('\n').slice(0, -1);
    assert.strictEqual(words[0], subject.report);
    return [subject.stored, '--load-from-file', ...words.slice(1)];
}

function run(words) {
    const result = spawnSync(popliner, ['-q', ...words, '--format', 'json'],
        { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.ok(result.status === 0 || result.status === 1,
        `${words.join(' ')}: status ${result.status}: ${result.stderr}`);
    return JSON.parse(result.stdout);
}

// ---- what the page shows ----

// The rows of the stages as its CSV has them, each with the verdict that is on screen.
const stageRows = (tab) => tab.evaluate(() => {
    window.page.finish(); // it is drawn after the plan is painted
    const [names, ...rows] = window.page.plan.rows();
    const shown = [...document.querySelectorAll('#plan [aria-label="Stages"] .tag')].map((tag) =>
        tag.textContent);
    return rows.map((row, i) => ({ ...Object.fromEntries(names.map((name, k) => [name, row[k]])),
        shown: shown[i] }));
});

async function copied(tab, name) {
    await tab.locator('.menu > summary').click();
    await tab.getByRole('button', { name, exact: true }).click();
    return tab.locator('#plan .copied').innerText();
}

// ---- cuts ----

async function checkSplits(tab, subject) {
    for (let i = 0; i < numSplits; i++) {
        const units = await tab.evaluate(() => window.page.model.numUnits);
        const most = await tab.evaluate(() => {
            const { model, settings } = window.page.plan;
            return model.pipelines[settings.pipeline].max_stages - 1;
        });
        const cuts = new Set();
        for (let left = random(Math.min(most, units - 1, 6) + 1); left > 0; left--)
            cuts.add(1 + random(units - 1));
        await tab.evaluate((list) => window.page.plan.setCuts(list, ''), [...cuts]);
        const line = await copied(tab, 'Copy as command');
        const told = run(wordsOf(line, subject)).stages;
        const rows = await stageRows(tab);
        assert.strictEqual(rows.length, told.length, line);
        const own = await tab.evaluate(() => window.page.plan.split.document.stages);
        assert.deepStrictEqual(own, told, line);
        told.forEach((stage, k) => {
            const where = `${line}: stage ${k}`;
            assert.strictEqual(rows[k].tile, stage.peak.tile, where);
            assert.strictEqual(rows[k].step, stage.peak.step, where);
            assert.strictEqual(rows[k].verdict, stage.needs.verdict, where);
            assert.strictEqual(rows[k].shown, stage.needs.verdict, where);
        });
    }
}

// ---- questions ----

async function set(tab, label, value) {
    const field = tab.getByLabel(label, { exact: true });
    if (await field.count() === 0)
        return;
    const isChoice = await field.evaluate((element) => element.tagName === 'SELECT');
    if (isChoice) {
        const options = await field.locator('option').count();
        await field.selectOption({ index: value % options });
    } else {
        await field.fill(String(value));
        await field.press('Tab');
    }
}

// Of the best plan: what the page says above it, and its buttons, against the command's answer.
async function checkVerdict(tab, told, line) {
    await tab.evaluate(() => window.page.plan.showBest());
    const head = await tab.locator('.verdict .head').textContent();
    const proof = await tab.locator('.verdict .proof').textContent();
    const [first, ...why] = told.verdict.headline.split(': '); // which stands before the proof
    assert.strictEqual(head.slice(1), first + (why.length > 0 ? '.' : ''), line); // after its sign
    assert.ok(proof.toLowerCase().startsWith(why.join(': ').toLowerCase()), line);
    assert.ok(head.startsWith({ ok: '✓', doubt: '!', no: '✕' }[told.verdict.level]), line);
    // what would help comes once the plan is painted
    await tab.waitForFunction(() => window.page.plan.hints !== null);
    const own = await tab.locator('.what-else tbody td:first-child').allInnerTexts();
    for (const { option } of told.hints.filter((hint) => !/schedule|recompute/.test(hint.option)))
        assert.ok(own.includes(option), `${line}: ${option}, not in ${own.join(', ')}`);
}

async function checkAnswers(tab, subject, statuses) {
    const largest = await tab.evaluate(() => window.page.plan.split.values.memory);
    for (let i = 0; i < numSettings; i++) {
        await set(tab, 'IPUs, at most', 1 + random(8));
        await set(tab, 'Memory of a tile', Math.max(1, Math.floor(largest *
            (60 + random(80)) / 100)));
        await set(tab, 'Count on', random(3));
        await set(tab, 'Best by', random(6));
        const line = await copied(tab, 'Copy the solving command');
        const told = run(wordsOf(line, subject));
        const own = await tab.evaluate(() => {
            const { answer } = window.page.plan;
            return { status: answer.status, values: answer.split && answer.split.values,
                stages: answer.split && answer.split.stages.length };
        });
        assert.strictEqual(own.status, told.status, line);
        statuses.add(own.status);
        if (told.stages.length === 0) {
            assert.strictEqual(own.values, null, line);
            continue;
        }
        assert.strictEqual(own.stages, told.stages.length, line);
        for (const value of told.objectives)
            assert.strictEqual(own.values[value.name], value.value, `${line}: ${value.name}`);
        await checkVerdict(tab, told, line);
    }
}

// ---- time ----

// Each answer from the key or the choice to the page laid out again: the median, in milliseconds.
async function measure(tab) {
    const times = await tab.evaluate(() => {
        const { plan, memory, liveness } = window.page;
        const found = {};
        const time = (name, act) => {
            found[name] = [];
            for (let i = 0; i < 15; i++) {
                const start = performance.now();
                act(i);
                window.page.finish();
                document.body.getBoundingClientRect(); // lay it out
                found[name].push(performance.now() - start);
            }
        };
        plan.showBest();
        time('move', (i) => plan.setCuts([1 + i % 2, ...plan.cuts.slice(1)], ''));
        time('solve', () => plan.set({}, false));
        time('tile', (i) => memory.chart.choose(3 + i));
        time('step', (i) => liveness.chart.choose(5 + i));
        return found;
    });
    return Object.fromEntries(Object.entries(times).map(([name, list]) =>
        [name, Math.round(median(list) * 10) / 10]));
}

// ---- pages ----

function makeProfile(name, ...words) {
    const folder = path.join(scratch, name);
    execFileSync(mkprofile, ['--output', folder, '--force', '--quiet', ...words]);
    return folder;
}

// A page made of a stored analysis' own profile, and the analysis.
function makeSubject(name, report, ...words) {
    const stored = path.join(scratch, `${name}.popliner`);
    const layers = words.filter((word, i) => word === '--layer-name-regex' ||
        words[i - 1] === '--layer-name-regex');
    const page = makePage(popliner, scratch, name, [report, '--paths', ...words]);
    fs.rmSync(stored, { force: true });
    execFileSync(popliner, ['-q', report, ...layers, '--save-to-file', stored],
        { stdio: ['ignore', 'ignore', 'pipe'] });
    return Object.assign(page, { report, stored });
}

function nightly() {
    const small = ['--preset', 'bert-tiny', '--layers', '6', '--tiles', '16', '--debug-arguments',
        '10', '--framework', 'popart', '--training'];
    const training = makeProfile('training', ...small);
    const asked = ['--solve', '--num-ipus', '3'];
    return [makeSubject('recomputed', training, ...asked, '--schedule', 'tf-grouped', '--recompute',
        'full'),
    makeSubject('constrained', training, ...asked, '--require', 'cut:3', '--require', 'no-cut:1',
        '--require', 'layers:..4', '--require', 'place:0=0'),
    makeSubject('low', training, ...asked, '--mem-per-tile', '100K'),
    makeSubject('hundred', makeProfile('hundred', ...small, '--layers', '98'), ...asked,
        '--schedule', 'popart')];
}

async function main() {
    const browser = await startBrowser();
    const subjects = [
        makeSubject('sample', sample, '--solve', '--num-ipus', '3'),
        makeSubject('pipeline', makeProfile('pipeline', '--preset', 'bert-tiny', '--layers', '6',
            '--tiles', '16', '--debug-arguments', '10', '--training', '--pipeline', '1|3'),
        '--solve', '--num-ipus', '3', '--schedule', 'popart'),
        makeSubject('large', makeProfile('large', '--preset', 'bert-large'), '--solve',
            '--num-ipus', '4'),
    ];
    if (fs.existsSync(real))
        subjects.push(makeSubject('real', real, '--layer-name-regex', 'cs(\\d+)_', '--solve',
            '--num-ipus', '3'));
    else
        console.log(`Without the real profile: there is no ${real}`);
    if (isNightly)
        subjects.push(...nightly());
    const statuses = new Set();
    for (const subject of subjects) {
        const { context, tab, faults } = await openPage(browser, subject, 1440, 'light');
        const times = await measure(tab);
        console.log(subject.name, JSON.stringify(times));
        for (const what of Object.keys(times))
            assert.ok(times[what] < MOST_MILLISECONDS, `${subject.name}: ${what}: ${times[what]}`);
        await checkSplits(tab, subject);
        await checkAnswers(tab, subject, statuses);
        assert.deepStrictEqual(faults, [], subject.name);
        await context.close();
    }
    assert.deepStrictEqual([...statuses].sort(), ['infeasible', 'optimal']);
    await browser.close();
    console.log(`${subjects.length} pages: ${numSplits} splits and ${numSettings} questions each`);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
