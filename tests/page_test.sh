#!/bin/sh
# Runs a test that is written in JavaScript, if there is Node.js.
# Arguments: the test, what it is given.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
command -v node >/dev/null || {
    echo "Skipped: there is no Node.js"
    exit 0
}
exec node "$@"
