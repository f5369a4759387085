#!/bin/sh
# An installed popliner, moved to another folder, serves other projects through find_package and
# pkg-config, and its documents link to files that are there. Arguments: cmake, the build folder,
# the compiler, options for its sanitizers, the version.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
cmake=$1
build=$2
compiler=$3
sanitizers=$4
version=$5
project=$(dirname "$0")/embedding

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

"$cmake" --install "$build" --prefix "$scratch/before" >"$scratch/log"
mv "$scratch/before" "$scratch/popliner"
library_folder=$(dirname "$(find "$scratch/popliner" -name libpopliner.a)")

documents=$scratch/popliner/share/doc/popliner
find "$documents" -name '*.md' | while read -r document; do
    sed -n 's/\](\([^)#]*\)/\n<\1\n/gp' "$document" | sed -n '/:/d; s/^<//p' |
        while read -r link; do
            [ -e "$(dirname "$document")/$link" ] || echo "${document#"$documents/"}: no $link"
        done
done >"$scratch/broken"
[ -s "$documents/README.md" ]
[ ! -s "$scratch/broken" ] || {
    cat "$scratch/broken"
    exit 1
}

configure() { # arguments...
    "$cmake" -S "$project" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/popliner" \
        -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$sanitizers" "$@" >"$scratch/log" 2>&1
}

prints_version() { # program
    printed=$(LD_LIBRARY_PATH=$library_folder "$1")
    [ "$printed" = "$version" ] || {
        echo "$1 prints '$printed' instead of '$version'"
        exit 1
    }
}

# what will be another interface is refused
if configure -DWANTED_VERSION=99.9; then
    echo "find_package finds a version that is not there"
    exit 1
fi
grep -q 'compatible with requested version "99.9"' "$scratch/log"
configure -DWANTED_VERSION="${version%.*}" || {
    cat "$scratch/log"
    exit 1
}
"$cmake" --build "$scratch/build" >"$scratch/log" 2>&1 || {
    cat "$scratch/log"
    exit 1
}
prints_version "$scratch/build/with_shared"
prints_version "$scratch/build/with_static"
readelf -d "$scratch/build/with_shared" | grep -qF "[libpopliner.so.${version%.*}]"

export PKG_CONFIG_PATH="$library_folder/pkgconfig"
# shellcheck disable=SC2046,SC2086 # several options each
"$compiler" $sanitizers "$project/main.c" $(pkg-config --cflags --libs popliner) \
    -o "$scratch/with_pkg_config"
prints_version "$scratch/with_pkg_config"
