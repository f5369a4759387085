#!/bin/sh
# Another project can have popliner inside it, by add_subdirectory or FetchContent, and then builds
# and installs the library alone, or the solver alone; in the nightly run, what is built does not
# depend on the folder. Arguments: cmake, the source folder, the compiler, the version.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
. "$(dirname "$0")/cases.sh"
cmake=$1
source=$2
compiler=$3
version=$4
project=$(dirname "$0")/embedding
. "$(dirname "$0")/scratch.sh"

if [ "$cases" = nightly ]; then # so that both are really built
    unset CMAKE_C_COMPILER_LAUNCHER
    export CCACHE_DISABLE=1
elif command -v ccache >/dev/null; then # the build folders lie beside each other for it
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR="$scratch" CCACHE_NOHASHDIR=1
fi

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
[ ! -e "$scratch/installed/bin/popliner" ]
[ "$("$scratch/installed/bin/with_static")" = "$version" ]

# FetchContent: the same targets; and the solver alone, without pkg-config
quietly "$cmake" -S "$project" -B "$scratch/here/fetched" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_COMPILER="$compiler" -DFETCHCONTENT_SOURCE_DIR_POPLINER="$scratch/here/source"
quietly "$cmake" --build "$scratch/here/fetched" --parallel 2
quietly "$cmake" --install "$scratch/here/fetched" --prefix "$scratch/fetched-installed"
for program in "$scratch/here/fetched/with_shared" "$scratch/here/fetched/with_static" \
    "$scratch/fetched-installed/bin/with_static"; do
    [ "$("$program")" = "$version" ]
done
[ -n "$(find "$scratch/fetched-installed" -name popliner-config.cmake)" ]
quietly "$cmake" -S "$project/solver" -B "$scratch/here/solver" -DPOPLINER_SOLVER_ONLY=ON \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="$compiler" \
    -DFETCHCONTENT_SOURCE_DIR_POPLINER="$scratch/here/source" \
    -DPKG_CONFIG_EXECUTABLE=/no/pkg-config
quietly "$cmake" --build "$scratch/here/solver" --parallel 2
quietly "$cmake" --install "$scratch/here/solver" --prefix "$scratch/solver-installed"
for program in "$scratch/here/solver/with_shared" "$scratch/here/solver/with_static" \
    "$scratch/solver-installed/bin/with_static"; do
    [ "$("$program")" = 'proven 6: 0 2 4
proven 9: 0 3 4' ]
done
[ -z "$(find "$scratch/solver-installed" -name 'libpopliner.*')" ]
# and a project finds it as installed, but nothing else
quietly "$cmake" -S "$project/solver" -B "$scratch/found" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$scratch/solver-installed"
if "$cmake" -S "$project" -B "$scratch/refused" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_PREFIX_PATH="$scratch/solver-installed" >"$scratch/log" 2>&1; then
    echo "find_package finds more than the solver"
    exit 1
fi
grep -q 'only the solver is installed' "$scratch/log"

[ "$cases" = nightly ] || exit 0
build_in here -DPOPLINER_TOOLS=ON
build_in a/folder/elsewhere -DPOPLINER_TOOLS=ON
for file in libpopliner.a libpopliner.so popliner; do
    cmp "$scratch/here/build/popliner/$file" "$scratch/a/folder/elsewhere/build/popliner/$file"
done
