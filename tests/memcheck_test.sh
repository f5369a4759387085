#!/bin/sh
# What the command is mostly used for, under valgrind's memcheck: nothing is read that was not
# written, nothing beyond a block, and every block is freed.
# Arguments: the command, the folder of the sample, the suppressions, a folder to write to.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
command=$1
sample=$2
suppressions=$3
scratch=$4
command -v valgrind >/dev/null || {
    echo "Skipped: valgrind is not installed"
    exit 0
}
rm -rf "$scratch"
mkdir -p "$scratch"

# expected exit status, arguments of the command
check() {
    expected=$1
    shift
    status=0
    valgrind -q --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible --suppressions="$suppressions" \
        "$command" -q "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    if [ "$status" -ne "$expected" ]; then
        echo "status $status instead of $expected: $*"
        cat "$scratch/err"
        exit 1
    fi
}

stored=$scratch/sample.popliner
check 0 "$sample" --solve --num-ipus 2
check 0 "$sample" --solve --num-ipus 3 --objective cycles,memory --format json
check 0 "$sample" --solve --device-map 0,1,0
check 0 "$sample" --solve --num-ipus 1..3
check 1 "$sample" --solve --num-ipus 2 --mem-per-tile 30000
check 1 "$sample" --diagnose
check 0 "$sample" --evaluate 1,2
check 0 "$sample" --layer-breakdown
check 0 "$sample" --output tiles
check 0 "$sample" --save-to-file "$stored"
check 0 "$stored" --load-from-file --solve --num-ipus 2
check 0 "$sample" --solve --num-ipus 2 --output "page=$scratch/page.html"
check 0 "$sample" --solve --num-ipus 2 --output optimum
check 2 "$sample" --solve --num-ipus none
head -c 40000 "$sample/profile.pop" >"$scratch/half.pop"
check 3 "$scratch/half.pop" --solve
echo "without an error: what the command is mostly used for"
