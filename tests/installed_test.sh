#!/bin/sh
# An installed popliner, moved to another folder, serves other projects through find_package and
# pkg-config, and its documents link to files that are there. Arguments: cmake, the build folder,
# the compiler, the version, options for sanitizers.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
. "$(dirname "$0")/cases.sh"
cmake=$1
build=$2
compiler=$3
version=$4
shift 4
sanitizers=$*
project=$(dirname "$0")/embedding

. "$(dirname "$0")/scratch.sh"

quietly "$cmake" --install "$build" --prefix "$scratch/before"
mv "$scratch/before" "$scratch/popliner"
[ "$(ls "$scratch/popliner/bin")" = popliner ] # what makes profiles to try is for the source tree
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
    quietly "$cmake" -S "$project" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/popliner" \
        -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS="$sanitizers" "$@"
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
configure -DWANTED_VERSION="${version%.*}"
quietly "$cmake" --build "$scratch/build"
prints_version "$scratch/build/with_shared"
prints_version "$scratch/build/with_static"
prints_version "$scratch/build/with_old_name"
readelf -d "$scratch/build/with_shared" | grep -qF "[libpopliner.so.${version%.*}]"

# The solver alone: nothing is looked for with pkg-config, and nothing but GLPK is linked.
prints_plans() { # program [folder of libraries]
    printed=$(LD_LIBRARY_PATH=${2:-$library_folder} "$1")
    [ "$printed" = 'proven 6: 0 2 4
proven 9: 0 3 4' ] || {
        echo "$1 prints '$printed'"
        exit 1
    }
}

quietly "$cmake" -S "$project/solver" -B "$scratch/solver" -DPKG_CONFIG_EXECUTABLE=/no/pkg-config \
    -DCMAKE_PREFIX_PATH="$scratch/popliner" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_C_FLAGS="$sanitizers"
quietly "$cmake" --build "$scratch/solver"
prints_plans "$scratch/solver/with_shared"
prints_plans "$scratch/solver/with_static"
readelf -d "$scratch/solver/with_shared" | grep -qF "[libpopliner-solver.so.${version%.*}]"
foreign=$(readelf -d "$library_folder/libpopliner-solver.so" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libglpk|libasan|libubsan|libtsan|ld-linux.*)\.so') || true
[ -z "$foreign" ] || {
    echo "libpopliner-solver.so needs $foreign"
    exit 1
}
echo 'find_package(popliner REQUIRED COMPONENTS unheard)' >"$scratch/unknown.cmake"
if "$cmake" -S "$project/solver" -B "$scratch/unknown" -DCMAKE_PREFIX_PATH="$scratch/popliner" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PROJECT_INCLUDE="$scratch/unknown.cmake" \
    >"$scratch/log" 2>&1; then
    echo "find_package finds a component that is not there"
    exit 1
fi
tr -s ' \n' ' ' <"$scratch/log" | grep -q 'there is no component unheard' || {
    cat "$scratch/log"
    exit 1
}

takes_all || exit 0

# By pkg-config. The archives lie beside the shared libraries, and are linked.
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
with_pkg_config() { # module, source, program, further options of pkg-config and the compiler
    # shellcheck disable=SC2046,SC2086 # several options each
    quietly "$compiler" $sanitizers "$project/$2" $(pkg-config ${4:-} --cflags --libs "$1") ${5:-} \
        -o "$scratch/$3"
}
links_none_of() { # program, pattern
    if readelf -d "$scratch/$1" | grep -E "NEEDED.*($2)"; then
        echo "$1 is not to link $2"
        exit 1
    fi
}
with_pkg_config popliner main.c by_pkg_config
prints_version "$scratch/by_pkg_config"
with_pkg_config popliner-static main.c by_static_pkg_config
prints_version "$scratch/by_static_pkg_config"
links_none_of by_static_pkg_config libpopliner
with_pkg_config popliner-solver solver/main.c solves
prints_plans "$scratch/solves"
with_pkg_config popliner-solver-static solver/main.c solves_static
prints_plans "$scratch/solves_static" /nowhere
links_none_of solves_static 'libpopliner|sqlite|pcre|cbor|jansson'
for module in popliner popliner-static popliner-solver popliner-solver-static; do
    [ "$(pkg-config --define-variable=prefix=/else --cflags-only-I "$module" | tr -d ' ')" = \
        -I/else/include ]
    [ "$(pkg-config --modversion "$module")" = "$version" ]
done

# Without any shared library, as docs/packages.md says for Debian; sanitizers do not allow -static.
if [ -z "$sanitizers" ] && [ -e "$("$compiler" -print-file-name=libltdl.a)" ]; then
    of_glpk='-lcolamd -lamd -lsuitesparseconfig -lgmp -lz -lltdl'
    grep -qFe "$of_glpk" "$documents/docs/packages.md"
    with_pkg_config popliner-solver-static solver/main.c solves_alone --static "-static $of_glpk"
    prints_plans "$scratch/solves_alone" /nowhere
    links_none_of solves_alone lib
fi
