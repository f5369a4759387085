#!/bin/sh
# Builds the examples against a copy that is installed in a prefix of its own, and runs them. What
# they print of profiles is what the installed command says; the rest was calculated by hand.
# Arguments: cmake, the folder of the build, the folder of the examples, data/sample, the golden
# cases, the compiler, its flags.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
. "$(dirname "$0")/cases.sh"
cmake=$1
build=$2
examples=$3
sample=$4
golden=$5
compiler=$6
shift 6
flags=$*

. "$(dirname "$0")/scratch.sh"

expect() { # what, expected, actual
    [ "$2" = "$3" ] || {
        printf '%s: expected\n%s\nbut it is\n%s\n' "$1" "$2" "$3"
        exit 1
    }
}

# What the installed command calls the best split: its line of the stages.
split_of() { # report, number of IPUs
    "$scratch/prefix/bin/popliner" "$1" --solve --num-ipus "$2" --output popliner 2>&1 >/dev/null |
        sed -n 's/.*SUCCESS: \(\[.*\]\).*/\1/p'
}

quietly "$cmake" --install "$build" --prefix "$scratch/prefix"
quietly "$cmake" -S "$examples" -B "$scratch/built" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$flags -Werror"
quietly "$cmake" --build "$scratch/built"
cd "$scratch/built"

./split_profile "$sample" 2 >"$scratch/split"
grep -qF "$(split_of "$sample" 2)" "$scratch/split" || {
    cat "$scratch/split"
    exit 1
}

# 50 bytes are shared by all layers; the others are 350, 250 | 250, 450 | 150, 250
expect own_costs 'IPU 0: layers 0 to 1, 650 bytes
IPU 1: layers 2 to 3, 750 bytes
IPU 2: layers 4 to 5, 450 bytes' "$(./own_costs)"

printf 'name,memory\na,3\nb,4\nc,5\n' >"$scratch/costs.csv"
expect stage_needs 'optimal
stage 0 from a: 7 bytes, fits
stage 1 from c: 5 bytes, fits' "$(./stage_needs "$scratch/costs.csv" 2)"

expected=
for report in "$sample" "$golden"/*/; do
    expected="$expected${expected:+
}$report: $(split_of "$report" 2)"
done
expect many_profiles "$expected" "$(./many_profiles "$sample" "$golden"/*/)"

./profile_tour "$sample/profile.pop" >"$scratch/tour"
grep -q '[0-9]' "$scratch/tour"

if takes_all; then
    ./host_with_glpk 1000
else
    ./host_with_glpk 60
fi
