// Which cases a test takes: ctest passes --cases=quick, --cases=full or --cases=nightly, which is
// taken out of process.argv here.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const fs = require('fs');

const counts = [0, 0]; // cases taken and left

const chosen = process.argv.filter((word) => /^--cases=(quick|full|nightly)$/.test(word));
process.argv = process.argv.filter((word) => !chosen.includes(word));

exports.isNightly = chosen.includes('--cases=nightly');
exports.takesAll = exports.isNightly || chosen.includes('--cases=full');
if (!exports.takesAll)
    console.log('[  QUICK   ] not all cases');

// Of a list, in the quick run the first and further ones until this process and its children have
// used some seconds of a processor (docs/internals/tests.md).
exports.withinBudget = function* (cases, seconds) {
    const budget = seconds * (process.env.POPLINER_TEST_SECONDS || 0.3);
    const ticks = () => fs.readFileSync('/proc/self/stat', 'latin1').replace(/.*\) /, '')
        .split(' ').slice(11, 15).reduce((sum, own) => sum + Number(own), 0);
    for (const [i, it] of [...cases].entries()) {
        const isTaken = i === 0 || exports.takesAll || ticks() / 100 < budget;
        counts[isTaken ? 0 : 1]++;
        if (isTaken)
            yield it;
    }
};
exports.isShort = () => counts[1] > 0;
process.on('exit', () => {
    if (counts[0] + counts[1] > 0)
        console.log(`[  CASES   ] ${counts[0]} taken, ${counts[1]} left`);
});
