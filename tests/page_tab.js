// What tests of the page in a browser share: the browser, pages, and one of them opened.
// The browser is Chromium, in PATH or named by POPLINER_BROWSER; playwright-core is found by
// NODE_PATH or in a node_modules folder. What is missing ends the test as skipped.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const assert = require('assert');
const { spawnSync } = require('child_process');
const fs = require('fs');
const path = require('path');

function skip(why) {
    console.log(`Skipped: ${why}`);
    process.exit(0);
}

function find(name) {
    try {
        return require(name);
    } catch (error) {
        return skip(`there is no ${name}`);
    }
}

function findBrowser() {
    if (process.env.POPLINER_BROWSER)
        return process.env.POPLINER_BROWSER;
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
        const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
        if (found.status === 0)
            return found.stdout.trim();
    }
    return skip('there is no Chromium');
}

async function startBrowser() {
    const { chromium } = find('playwright-core');
    return chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox'] });
}

function makePage(popliner, scratch, name, words) {
    const file = path.join(scratch, `${name}.html`);
    const result = spawnSync(popliner, ['-q', ...words, '--output', `page=${file}`],
                             { encoding: 'utf8' });
    assert.ok(result.status === 0 || result.status === 1, result.stderr);
    return { name, file, words };
}

// Goes to a page, which is there once all its views are; until then its name is that of an element.
async function load(tab, address) {
    await tab.goto(address);
    await tab.waitForFunction(() => window.page.data);
}

// A tab with the page, and a list that gets what goes wrong there: what it writes to the console,
// what it throws, and what it asks for.
async function openPage(browser, page, width, colorScheme) {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const tab = await context.newPage();
    const faults = [];
    tab.on('console', (message) => faults.push(`${message.type()}: ${message.text()}`));
    tab.on('pageerror', (error) => faults.push(error.stack));
    tab.on('request', (request) => {
        const address = decodeURI(request.url().replace(/#.*/, ''));
        if (!['about:blank', `file://${page.file}`].includes(address))
            faults.push(`request: ${request.url()}`);
    });
    await load(tab, `file://${page.file}`);
    return { context, tab, faults };
}

module.exports = { find, findBrowser, load, makePage, openPage, skip, startBrowser };
