# A folder for a test, $scratch, which is removed at the end. To be sourced. A test that fails says
# with which status, and prints the end of the log of its last command.
#
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
scratch=$(mktemp -d)

end_scratch() {
    status=$?
    if [ "$status" -ne 0 ]; then
        echo "$0 ends with status $status; the log of its last command:"
        tail -n 100 "$scratch/log" || :
    fi
    rm -rf "$scratch"
}
trap end_scratch EXIT
trap 'exit 1' HUP INT TERM

# Runs a command; what it prints is the log.
quietly() {
    "$@" >"$scratch/log" 2>&1
}
