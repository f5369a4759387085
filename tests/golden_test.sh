#!/bin/sh
# The command prints what PopLiner 1.0.0 printed for the profiles in tests/golden, byte for byte;
# where the original raised, the command works; its own solver is never worse than the original's.
# Argument: the command.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -euf # regexes among the options are no file patterns
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/scratch.sh"
case $1 in
/*) command=$1 ;;
*) command=$PWD/$1 ;;
esac
cd "$(dirname "$0")/golden"
# How many comparisons the cases give: fewer means that files are missing or were not found.
minimum=2230

compared=0
different=0

differs() { # what
    different=$((different + 1))
    echo "DIFFERS: $1"
}

# Runs the command; leaves its output, log and exit status in $scratch/out, err and $status.
run() { # case options...
    folder=$1
    shift
    status=0
    "$command" "$folder/profile.pop" "$folder/debug.cbor" "$@" \
        >"$scratch/out" 2>"$scratch/err" || status=$?
}

# The log as the golden files have it: without times, and without the share of operations in layers
# and popliner's own explanation of a regex.
plain_log() {
    # a message of more than 100 columns goes on in further lines, which are indented
    sed -E -e ':next' -e 'N' -e '$!b next' -e 's/\n {17}/ /g' "$scratch/err" |
        sed -E -e 's/^[0-9:]{8} ([A-Z]+) +/\1: /' -e '/^INFO: Layers found for /d' \
            -e '/^WARNING: The layer regex /d' >"$scratch/log"
}

expect_status() { # wanted what
    compared=$((compared + 1))
    if [ "$status" -ne "$1" ]; then
        differs "$2: exit status $status instead of $1"
        cat "$scratch/err"
    fi
}

expect_same() { # expected actual what
    compared=$((compared + 1))
    if ! cmp -s "$1" "$2"; then
        differs "$3"
        diff "$1" "$2" | head -n 6 || :
    fi
}

expect() { # what condition...
    what=$1
    shift
    compared=$((compared + 1))
    "$@" || differs "$what"
}

pattern() { # case name: one of the case's regexes
    awk -F '\t' -v name="$2" '$1 == name {print $2}' "$1/regex.txt"
}

first_field_count() { awk -F '\t' "NR == $2 {print NF}" "$1"; }

# The fullest tile of all stages of the JSON in $scratch/out; nothing if there are no stages.
largest_tile() {
    sed -n 's/^ *"max_tile_mem": \([0-9]*\),*$/\1/p' "$scratch/out" | sort -n | tail -n 1
}

is_whole_array() {
    [ "$(cat "$1")" = "[]" ] || { [ "$(head -n 1 "$1")" = "[" ] && [ "$(tail -n 1 "$1")" = "]" ]; }
}

# ---- Tables -------------------------------------------------------------------------------------

# Where the original raised, the table is complete.
check_raised_table() { # case file
    expect "$1/$2: log" test -z "$(sed -n '/ ERROR /p' "$scratch/err")"
    case $2 in
    memory-totals.tsv)
        # With fewer than ten tiles the original names ten, then raises behind the last value.
        partial=$1/$2.partial
        tiles=$(($(first_field_count "$scratch/out" 3) - 1))
        expect "$1/$2: fewer than ten tiles" test "$tiles" -lt 10
        expect "$1/$2: four lines" test "$(wc -l <"$scratch/out")" -eq 4
        head -n 1 "$partial" >"$scratch/expected"
        sed -n 2p "$partial" | cut -f "1-$((tiles + 1))" | sed 's/$/\t/' >>"$scratch/expected"
        tail -n 1 "$partial" >>"$scratch/expected"
        # the partial file has no line end behind its last value
        head -c "$(wc -c <"$scratch/expected")" "$scratch/out" >"$scratch/begin"
        expect_same "$scratch/expected" "$scratch/begin" "$1/$2: what the original printed"
        expect "$1/$2: value of every tile, twice" test \
            "$(first_field_count "$scratch/out" 4)" -eq $((tiles + 1))
        ;;
    layer-breakdown-*)
        # The original cannot measure "None" without operations: it has nothing.
        printf 'None\t0\t0\t0\t0\t0\t0\n' >"$scratch/expected"
        sed -n 2p "$scratch/out" >"$scratch/row"
        expect_same "$scratch/expected" "$scratch/row" "$1/$2: None"
        expect "$1/$2: layers" test "$(grep -c . "$scratch/out")" -gt 2
        expect "$1/$2: the empty line at the end" test -z "$(tail -n 1 "$scratch/out")"
        ;;
    *)
        differs "$1/$2: no rule for this file"
        ;;
    esac
}

check_table() { # case file options...
    table_case=$1
    table_file=$2
    shift 2
    expected=$table_case/$table_file
    [ -e "$expected" ] || [ -e "$expected.failed.txt" ] || {
        differs "$expected: missing"
        return
    }
    run "$table_case" "$@"
    expect_status 0 "$expected"
    if [ -e "$expected" ]; then
        expect_same "$expected" "$scratch/out" "$expected"
    else
        check_raised_table "$table_case" "$table_file"
    fi
}

check_tables() { # case
    two_groups=$(pattern "$1" two-groups)
    every_op=$(pattern "$1" every-op)
    regex=$(pattern "$1" regex)
    for kind in operation layer; do
        for format in tsv csv; do
            check_table "$1" "$kind-breakdown.$format" "--$kind-breakdown" --format "$format"
        done
        check_table "$1" "$kind-breakdown-two-groups.tsv" "--$kind-breakdown" \
            --layer-name-regex "$two_groups"
        check_table "$1" "$kind-breakdown-every-op.tsv" "--$kind-breakdown" \
            --layer-name-regex "$every_op"
    done
    check_table "$1" layer-breakdown-natural.tsv --layer-breakdown --layer-order natural
    check_table "$1" layer-breakdown-regex-steps.tsv --layer-breakdown --layer-name-regex "$regex"
    check_table "$1" layer-breakdown-regex-natural.tsv --layer-breakdown \
        --layer-name-regex "$regex" --layer-order natural
    check_table "$1" memory-totals.tsv --memory-totals --memory-model popliner
    # The original raises at these two; the tables are what it means to print.
    check_table "$1" memory-affinity.tsv --memory-affinity
    check_table "$1" interlayer-communication.tsv --interlayer-communication
}

# ---- Splits -------------------------------------------------------------------------------------

# The original's search: the same stages and the same messages.
check_greedy() { # case name
    expected=$1/$2
    # shellcheck disable=SC2086 # several options, none with a space inside
    run "$1" $options --solver popliner
    plain_log
    tail -n +3 "$expected.txt" >"$scratch/expected"
    if grep -q '^RAISED: ' "$scratch/expected"; then
        # It raised in the middle: all until there is the same, and the command gets to the end.
        sed '/^RAISED: /d' "$scratch/expected" >"$scratch/messages"
        head -n "$(wc -l <"$scratch/messages")" "$scratch/log" >"$scratch/begin"
        expect_same "$scratch/messages" "$scratch/begin" "$expected: messages until it raised"
        expect "$expected: an end" grep -qE '^INFO: (SUCCESS|FAILURE): ' "$scratch/log"
        expect "$expected: complete JSON" is_whole_array "$scratch/out"
    else
        expect_same "$expected.json" "$scratch/out" "$expected.json"
        expect_same "$scratch/expected" "$scratch/log" "$expected: messages"
    fi
    wanted=0
    ! grep -q '^INFO: FAILURE: ' "$scratch/log" || wanted=1
    expect_status "$wanted" "$expected: greedy"
}

# The default solver, in the original's memory model: proven, within the limit, at least as good.
check_ilp() { # case name greedy's_status greedy's_largest_tile
    expected=$1/$2
    # shellcheck disable=SC2086 # several options, none with a space inside
    run "$1" $options --memory-model popliner
    plain_log
    expect "$expected: ilp: complete JSON" is_whole_array "$scratch/out"
    largest=$(largest_tile)
    limit=$(echo "$options" | sed 's/.*--mem-per-tile \([0-9]*\).*/\1/')
    if [ "$status" -eq 0 ]; then
        expect "$expected: ilp: within the limit" test "$largest" -le "$limit"
        expect "$expected: ilp: success" grep -q '^INFO: SUCCESS: \[ None ' "$scratch/log"
        expect "$expected: ilp: proof" \
            grep -q "^INFO: Proven optimal: peak $largest bytes per tile" "$scratch/log"
        if [ "$3" -eq 0 ]; then
            expect "$expected: ilp: fullest tile $largest, greedy $4" test "$largest" -le "$4"
            [ "$largest" -ge "$4" ] || better=$((better + 1))
        else
            found=$((found + 1))
        fi
    else
        expect_status 1 "$expected: ilp"
        expect "$expected: ilp: failure" grep -q '^INFO: FAILURE: ' "$scratch/log"
        # its best effort covers all layers, so it is really the limit that no split keeps
        expect "$expected: ilp: above the limit" test "$largest" -gt "$limit"
        expect "$expected: ilp: greedy fits but this does not" test "$3" -ne 0
    fi
}

# The default solver in the default memory model: proven and within the limit, or neither.
check_full() { # what limit options...
    expected=$1
    limit=$2
    shift 2
    run "$@" --mem-per-tile "$limit"
    plain_log
    expect "$expected: full: complete JSON" is_whole_array "$scratch/out"
    expect "$expected: full: log" test -z "$(sed -n '/ ERROR /p' "$scratch/err")"
    largest=$(largest_tile)
    if [ "$status" -eq 0 ]; then
        expect "$expected: full: within the limit" test "$largest" -le "$limit"
        expect "$expected: full: success" grep -q '^INFO: SUCCESS: \[ ' "$scratch/log"
        expect "$expected: full: proof" \
            grep -q "^INFO: Proven optimal: peak $largest bytes per tile" "$scratch/log"
    else
        expect_status 1 "$expected: full"
        expect "$expected: full: failure" grep -q '^INFO: FAILURE: ' "$scratch/log"
        expect "$expected: full: above the limit" test "$largest" -gt "$limit"
    fi
}

# Where no layer was found, the default solver does not call it a split, in either memory model; the
# original did, with everything in one stage.
check_no_layers() { # case name
    for model in popliner full; do
        # shellcheck disable=SC2086 # several options, none with a space inside
        run "$1" $options --memory-model "$model"
        expect_status 1 "$1/$2: $model: no layers"
        expect "$1/$2: $model: nothing printed" test ! -s "$scratch/out"
        expect "$1/$2: $model: why" grep -q ' ERROR  *No layer was found' "$scratch/err"
        expect "$1/$2: $model: candidates" grep -q 'The first operations are ' "$scratch/err"
    done
}

# What is the smallest possible fits, and one byte less does not.
check_full_limits() { # case
    for ipus in 1 3; do
        check_full "$1/full-N$ipus" 99999999 "$1" --solve --num-ipus "$ipus"
        expect_status 0 "$1/full-N$ipus"
        smallest=$largest
        check_full "$1/full-N$ipus-smallest" "$smallest" "$1" --solve --num-ipus "$ipus"
        expect_status 0 "$1/full-N$ipus-smallest"
        expect "$1/full-N$ipus-smallest: the same" test "$largest" -eq "$smallest"
        check_full "$1/full-N$ipus-less" $((smallest - 1)) "$1" --solve --num-ipus "$ipus"
        expect_status 1 "$1/full-N$ipus-less"
    done
}

better=0 # splits with a lower peak than greedy's
found=0  # splits where greedy finds none
set +f
folders=$(echo */)
set -f
if ! takes_all; then
    folders="popart-inf tensorflow-train"
    minimum=496
fi
[ -n "$folders" ]
for folder in $folders; do
    folder=${folder%/}
    check_tables "$folder"
    solves=$(find "$folder" -name 'solve-*.txt' | sort)
    for solve in $solves; do
        solve=$(basename "$solve" .txt)
        options=$(sed -n 's/^options: //p' "$folder/$solve.txt")
        check_greedy "$folder" "$solve"
        case $solve in
        solve-no-layers-*)
            check_no_layers "$folder" "$solve"
            continue
            ;;
        esac
        check_ilp "$folder" "$solve" "$status" "$(largest_tile)"
        # shellcheck disable=SC2086 # several options, none with a space inside
        check_full "$folder/$solve" "$limit" "$folder" $options
    done
    check_full_limits "$folder"
done

echo "$compared comparisons, $different different;" \
    "ilp is better than greedy in $better cases and finds a split in $found where greedy has none"
if [ "$compared" -lt "$minimum" ]; then
    echo "fewer than $minimum comparisons"
    exit 1
fi
[ "$different" -eq 0 ]
