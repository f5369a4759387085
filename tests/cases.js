// Which cases a test takes: ctest passes --cases=quick, --cases=full or --cases=nightly, which is
// taken out of process.argv here.
//
// SPDX-License-Identifier: GPL-3.0-or-later
'use strict';

const chosen = process.argv.filter((word) => /^--cases=(quick|full|nightly)$/.test(word));
process.argv = process.argv.filter((word) => !chosen.includes(word));

exports.isNightly = chosen.includes('--cases=nightly');
exports.takesAll = exports.isNightly || chosen.includes('--cases=full');
if (!exports.takesAll)
    console.log('[  QUICK   ] not all cases');
