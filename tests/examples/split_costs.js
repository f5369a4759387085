// Splits a chain of layers over devices in Node.js, with the solver as a WebAssembly module.
//
//     node split_costs.js popliner-solver.wasm
//
// Prints the plan and the best compromises of memory and bytes over the cuts.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const fs = require('fs');
const path = require('path');
const Solver = require(path.join(__dirname, '../../src/wasm/solver.js'));

const NAMES = ['embedding', 'a', 'b', 'c', 'head'];
const MEMORY = [50, 30, 30, 30, 40]; // of each layer
const CUTS = [0, 8, 8, 4, 8]; // bytes that each layer receives

async function main() {
    const solver = await Solver.load(fs.readFileSync(process.argv[2]));
    // the first and the last layer share 20 bytes, which a stage with both holds once
    const peaks = [];
    for (let first = 0; first < NAMES.length; first++)
        for (let last = first, sum = 0; last < NAMES.length; last++) {
            sum += MEMORY[last];
            peaks.push(sum - (first === 0 && last + 1 === NAMES.length ? 20 : 0));
        }
    const table = solver.table({ names: NAMES, peaks: [peaks], cuts: CUTS });

    const { stages, totals } = JSON.parse(table.answer('plan', { num_ipus: 3, mem_per_tile: 90 }));
    for (const stage of stages)
        console.log(`IPU ${stage.ipu}: ${stage.layers.join(' ')}, ${stage.mem.max_tile_mem} bytes`);
    console.log(`${totals.traffic} bytes over the cuts`);

    const { results } = JSON.parse(table.answer('front',
        { num_ipus: 5, objectives: ['memory', 'traffic'] }));
    for (const { objectives: [memory, traffic] } of results)
        console.log(`${memory.value} bytes, ${traffic.value} over the cuts`);

    // what does not fit has reasons
    const { messages } = JSON.parse(table.answer('plan', { num_ipus: 2, mem_per_tile: 80 }));
    console.log(messages.find(({ level }) => level !== 'info').text);
    table.free();
}

main();
