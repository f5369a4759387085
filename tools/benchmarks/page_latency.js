#!/usr/bin/env node
'use strict';
// Times of pages in Chromium, as a Markdown table: from an event to its paint, 20 times each.
//
//     NODE_PATH=FOLDER_OF_PLAYWRIGHT page_latency.js PAGE...
//
// "Move" is a cut that the arrow keys move by a layer, there and back; "IPUs" is the button for one
// more, or one fewer, with the best plan for so many. The first paint is that of the answer.
// The time is that of the chain and the verdict; after "all": of stages, front and marks, too.
//
// SPDX-License-Identifier: GPL-3.0-or-later
const fs = require('fs');
const path = require('path');
const { startBrowser } = require('../../tests/page_tab.js');

const TIMES = 20;

// Runs in the page: how long each event takes until the browser has painted.
async function timesOf(times) {
    const painted = () => new Promise((done) => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
    }));
    const time = async (act) => {
        const all = [];
        const rest = [];
        for (let i = 0; i < times; i++) {
            const start = performance.now();
            act(i);
            await painted();
            all.push(performance.now() - start);
            await painted(); // stages, front and marks follow the chain and the verdict
            rest.push(performance.now() - start);
            await new Promise((done) => setTimeout(done, 400)); // until the front is drawn
        }
        return [all, rest].map((own) => own.sort((a, b) => a - b));
    };
    const button = (i) => document.querySelector(`.stepper button[aria-label$="${i % 2 === 0
        ? 'more' : 'fewer'}"]`);
    const handle = () => document.querySelector('.handle');
    const move = await time((i) => handle().dispatchEvent(new KeyboardEvent('keydown',
        { key: i % 2 === 0 ? 'ArrowRight' : 'ArrowLeft', bubbles: true })));
    return { move, ipus: await time((i) => {
        button(i).focus(); // as the pointer does
        button(i).click();
    }) };
}

async function main() {
    const browser = await startBrowser();
    console.log('| page | bytes | first paint | move | IPUs |\n|---|---|---|---|---|');
    for (const file of process.argv.slice(2)) {
        const tab = await browser.newPage({ viewport: { width: 1440, height: 900 } });
        await tab.goto(`file://${path.resolve(file)}`);
        await tab.waitForFunction(() => window.page.data); // all views are there
        await tab.waitForTimeout(1000);
        const first = await tab.evaluate(() => performance.getEntriesByType('paint')
            .map(({ startTime }) => startTime).pop());
        const { move, ipus } = await tab.evaluate(timesOf, TIMES);
        const told = (both) => both.map((all) => [0, TIMES / 2, TIMES - 1].map((i) =>
            Math.round(all[i])).join(', ')).join(' all ');
        console.log(`| ${path.basename(file, '.html')} | ${fs.statSync(file).size} | ` +
            `${Math.round(first)} | ${told(move)} | ${told(ipus)} |`);
        await tab.close();
    }
    await browser.close();
}

main();
