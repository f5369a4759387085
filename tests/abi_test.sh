#!/bin/sh
# tools/abi: libpopliner still has the interface that src/popliner.abi recorded, and of changes of a
# made interface just those are told that break programs. Arguments: tools/abi, the library, built
# with -g, the compiler.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
abi=$1
library=$2
compiler=$3
if ! command -v abidiff >/dev/null; then
    echo "Skipped: abidiff (Debian: abigail-tools) is not there"
    exit 0
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$scratch/include"

cat >"$scratch/include/thing.h" <<'END'
#include <stddef.h>
typedef enum popliner_color {
    POPLINER_RED,
#ifdef NUMBERS
    POPLINER_PINK,
#endif
    POPLINER_GREEN,
#ifdef ENUMERATOR
    POPLINER_BLUE,
#endif
    POPLINER_NUM_OBJECTIVES
} popliner_color;
typedef struct popliner_opaque popliner_opaque;
typedef struct popliner_thing {
    size_t struct_size;
#ifdef MIDDLE
    int middle;
#endif
    int a;
    popliner_color color;
    size_t b;
#ifdef END
    int end;
    long more;
#endif
} popliner_thing;
int popliner_do(const popliner_thing *thing, popliner_color color);
int popliner_look(const popliner_opaque *opaque);
#ifdef GONE
int popliner_new(int x);
#else
int popliner_old(int x);
#endif
#ifdef ADDED
int popliner_added(void);
#endif
#ifdef TYPE
int popliner_take(long x);
#else
int popliner_take(int x);
#endif
END
cat >"$scratch/thing.c" <<'END'
#include "thing.h"
struct popliner_opaque {
#ifdef INSIDE
    long first;
#endif
    int inside;
};
int popliner_do(const popliner_thing *thing, popliner_color color) { return thing->a + (int)color; }
int popliner_look(const popliner_opaque *opaque) { return opaque->inside; }
#ifdef GONE
int popliner_new(int x) { return x; }
#else
int popliner_old(int x) { return x; }
#endif
#ifdef ADDED
int popliner_added(void) { return 1; }
#endif
#ifdef TYPE
int popliner_take(long x) { return (int)x; }
#else
int popliner_take(int x) { return x; }
#endif
END
build() { # file, option...
    file=$1
    shift
    "$compiler" -g -shared -fPIC -I "$scratch/include" "$@" "$scratch/thing.c" -o "$scratch/$file"
}

compare() {
    "$abi" "$scratch/thing.so" "$scratch/thing.abi" "$scratch/include" >"$scratch/log" 2>&1
}

build thing.so
"$abi" --update "$scratch/thing.so" "$scratch/thing.abi" "$scratch/include"
for change in SAME END ENUMERATOR ADDED INSIDE; do
    build thing.so "-D$change"
    compare || {
        echo "$change breaks nothing, but it is said to:"
        cat "$scratch/log"
        exit 1
    }
done
for change in MIDDLE NUMBERS GONE TYPE; do
    build thing.so "-D$change"
    if compare; then
        echo "$change breaks programs, but it is not seen"
        exit 1
    fi
done
build thing.so -g0
if compare; then
    echo "without debug information nothing is known, but it is not said"
    exit 1
fi

"$abi" "$library"
