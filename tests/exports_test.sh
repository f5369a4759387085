#!/bin/sh
# The shared libraries export popliner_* alone, with the version of the interface, and what the
# symbols files of Debian list; every public header stands on its own, in C and in C++, and says
# what threads may share; no text of the library leads to an option of the command, and the library
# lists every structure.
# Arguments: both shared libraries, the source folder, the version of the interface.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
library=$1
solver=$2
include=$3/include
debian=$3/debian
interface=$4
node=POPLINER_$interface

symbols_of() { # library
    nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | LC_ALL=C sort
}

check_symbols() { # library, the name of its package without the version
    foreign=$(symbols_of "$1" | grep -vE "^popliner_[a-z0-9_]+@@$node\$") || true
    if [ -n "$foreign" ]; then
        echo "exported, but not as popliner_*@@$node: $foreign"
        exit 1
    fi
    symbols_of "$1" | sed 's/@@.*//' >"$scratch/exported"
    sed -n "s/^ \(popliner_.*\)@$node .*/\1/p" "$debian/$2$interface.symbols" >"$scratch/listed"
    diff "$scratch/listed" "$scratch/exported" >"$scratch/differences" || {
        echo "debian/$2$interface.symbols lists other functions (<) than are exported (>):"
        grep '^[<>]' "$scratch/differences"
        exit 1
    }
}

. "$(dirname "$0")/scratch.sh"
check_symbols "$library" libpopliner
check_symbols "$solver" libpopliner-solver
symbols=$(symbols_of "$library")
exported=$(echo "$symbols" | grep -c '^popliner_')

options=$(strings -d "$library" | grep -E -e '--[a-z]{3}' || true)
if [ -n "$options" ]; then
    echo "options of the command in texts of the library: $options"
    exit 1
fi

headers=0
for header in "$include"/popliner/*.h; do
    name=popliner/$(basename "$header")
    echo "#include \"$name\"" | cc -std=c17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c -
    echo "#include \"$name\"" | c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c++ -
    sed '/\*\//q' "$header" | grep -q '^ \* Threads: [a-z]' || {
        echo "$name does not say in its head what threads may share (Threads: ...)"
        exit 1
    }
    headers=$((headers + 1))
done

# every structure that a program begins with a macro can be, in C from C99 on and in C++
inits=$(cat "$include"/popliner/*.h | grep -oE '#define POPLINER_[A-Z_]+_INIT' |
    sed 's/#define //' | sort -u)
source='#include "popliner/popliner.h"
int main(void) {'
for init in $inits; do
    type=$(echo "${init%_INIT}" | tr 'A-Z' 'a-z')
    source="$source
    $type of_$type = $init;
    if (of_$type.struct_size != sizeof of_$type) return 1;"
done
source="$source
    return 0;
}"
for standard in c99 c11 c17 c2x; do
    echo "$source" | cc -std=$standard -Wall -Wextra -Wpedantic -Werror -I "$include" \
        -fsyntax-only -x c -
done
echo "$source" |
    c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$include" -fsyntax-only -x c++ -

# popliner_structure_at lists every structure of a header
texts=$(printf '%s\n' '#include "popliner/popliner.h"' '#include <stdio.h>' 'int main(void) {' \
    'for (size_t i = 0; popliner_structure_at(i, NULL, NULL) != NULL; i++)' \
    'puts(popliner_structure_at(i, NULL, NULL)); return 0; }' |
    cc -I "$include" -x c - -x none "$library" -Xlinker -rpath -Xlinker \
        "$(dirname "$library")" -o "$scratch/list" &&
    "$scratch/list")
for structure in $(cat "$include"/popliner/*.h |
    sed -n 's/^typedef struct \(popliner_[a-z0-9_]*\) {$/\1/p'); do
    printf '%s\n' "$texts" | grep -x "$structure" >/dev/null || {
        echo "popliner_structure_at does not list $structure"
        exit 1
    }
done

# every function that a header declares is there
missing=$(cat "$include"/popliner/*.h | grep -oE '\bpopliner_[a-z0-9_]+\(' | sort -u |
    sed "s/($/@@$node/" | grep -vxF "$symbols") || true
if [ -n "$missing" ]; then
    echo "declared but not exported: $missing"
    exit 1
fi
echo "$exported functions exported, $headers headers compiled, $(echo "$inits" | wc -l) structures"
[ "$exported" -gt 30 ] && [ "$headers" -gt 10 ] && [ "$(echo "$inits" | wc -l)" -gt 5 ]
