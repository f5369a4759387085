#!/bin/sh
# Another project can have popliner inside it, and then builds and installs the library alone; and
# what is built does not depend on the folder. Arguments: cmake, the source folder, the compiler,
# the version.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
cmake=$1
source=$2
compiler=$3
version=$4
project=$(dirname "$0")/embedding
# so that both are really built
unset CMAKE_C_COMPILER_LAUNCHER
export CCACHE_DISABLE=1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        cat "$scratch/log"
        exit 1
    }
}

# Copies the project and builds it in another; further arguments are for CMake.
build_in() { # folder arguments...
    folder=$scratch/$1
    shift
    if [ ! -d "$folder" ]; then
        mkdir -p "$folder/source"
        cp -R "$source/CMakeLists.txt" "$source/src" "$source/include" "$source/tools" \
            "$folder/source"
    fi
    quietly "$cmake" -S "$project" -B "$folder/build" -DPOPLINER_SOURCE="$folder/source" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="$compiler" "$@"
    quietly "$cmake" --build "$folder/build" --parallel 2
}

build_in here
for program in with_shared with_static; do
    [ "$("$scratch/here/build/$program")" = "$version" ]
done
quietly "$cmake" --install "$scratch/here/build" --prefix "$scratch/installed"
[ -n "$(find "$scratch/installed" -name libpopliner.a)" ]
[ -n "$(find "$scratch/installed" -name popliner-config.cmake)" ]
[ ! -e "$scratch/installed/bin" ]

build_in here -DPOPLINER_TOOLS=ON
build_in a/folder/elsewhere -DPOPLINER_TOOLS=ON
for file in libpopliner.a libpopliner.so popliner popliner-mkprofile; do
    cmp "$scratch/here/build/popliner/$file" "$scratch/a/folder/elsewhere/build/popliner/$file"
done
