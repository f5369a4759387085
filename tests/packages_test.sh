#!/bin/sh
# The Debian packages: lintian finds no error in them, and unpacked they serve the command's users
# and programs. Built twice in different folders they are the same, byte for byte. They are also
# installed in a minimal Debian. Arguments: the source folder, cmake, the compiler,
# popliner-mkprofile, which is in no package.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
source=$1
cmake=$2
compiler=$3
mkprofile=$4
for tool in dpkg-buildpackage dh lintian; do
    if ! command -v "$tool" >/dev/null; then
        echo "Skipped: $tool is not there; tools/packages packages installs it"
        exit 0
    fi
done
export CCACHE_DISABLE=1 DEB_BUILD_OPTIONS="parallel=$(nproc)"

. "$(dirname "$0")/scratch.sh"

build_in() { # folder
    mkdir -p "$1/popliner"
    for part in CMakeLists.txt README.md DEVELOPMENT.md CHANGELOG.md LICENSE src include tools \
        docs data debian tests; do
        cp -R "$source/$part" "$1/popliner"
    done
    cd "$1/popliner"
    quietly dpkg-buildpackage -us -uc -b
    cd "$scratch"
}

build_in "$scratch/here"
num_packages=$(find "$scratch/here" -name '*.deb' | wc -l)
[ "$num_packages" -ge 4 ]
echo "$num_packages packages"
build_in "$scratch/a/folder/elsewhere"
for package in "$scratch"/here/*.deb; do
    cmp "$package" "$scratch/a/folder/elsewhere/${package##*/}"
done
echo "the same from two folders"
quietly lintian --allow-root --fail-on error "$scratch"/here/*.changes
grep '^W:' "$scratch/log" || true

# What each user of the packages does, with the folder that they are in.
cat >"$scratch/use.sh" <<'END'
set -eu
root=$1
tests=$2
cmake=$3
compiler=$4
scratch=$5
libraries=$(dirname "$(find "$root/usr/lib" -name 'libpopliner.so')")
[ -z "$root" ] || export LD_LIBRARY_PATH="$libraries" PKG_CONFIG_PATH="$libraries/pkgconfig"
expect() { # what, expected, actual
    [ "$2" = "$3" ] || {
        printf '%s: expected %s, but it is %s\n' "$1" "$2" "$3"
        exit 1
    }
}
expect version "popliner $6" "$("$root/usr/bin/popliner" --version)"
documents=$root/usr/share/doc/popliner
"$root/usr/bin/popliner" "$documents/data/sample" --solve --num-ipus 2 >"$scratch/answer" \
    2>"$scratch/solved"
grep -q 'SUCCESS: \[ Head 0 1 | 2 3 Tail \]' "$scratch/solved"
expect "libraries of the command" 1 \
    "$(readelf -d "$root/usr/bin/popliner" | grep -c 'NEEDED.*libpopliner.so')"
[ -e "$root/usr/share/man/man1/popliner.1.gz" ]
python3 "$tests/guide_test.py" "$documents/docs/guide.md" "$root/usr/bin/popliner" \
    "$7" >/dev/null
[ ! -e "$root/usr/bin/popliner-mkprofile" ]
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/usr/lib/python3/dist-packages" \
    python3 -c 'import popliner; costs = popliner.Costs(4)
costs.fill_peaks(lambda first, last: last - first + 1)
assert popliner.__version__ and costs.solve(num_ipus=2).split'
"$cmake" -S "$tests/embedding" -B "$scratch/all" -DCMAKE_PREFIX_PATH="$root/usr" \
    -DCMAKE_C_COMPILER="$compiler" >/dev/null
"$cmake" --build "$scratch/all" >/dev/null
expect shared "$6" "$("$scratch/all/with_shared")"
expect static "$6" "$("$scratch/all/with_static")"
"$cmake" -S "$tests/embedding/solver" -B "$scratch/solver" -DCMAKE_PREFIX_PATH="$root/usr" \
    -DCMAKE_C_COMPILER="$compiler" >/dev/null
"$cmake" --build "$scratch/solver" >/dev/null
plans='proven 6: 0 2 4
proven 9: 0 3 4'
expect solver "$plans" "$("$scratch/solver/with_shared")"
expect "static solver" "$plans" "$("$scratch/solver/with_static")"
build_with() { # module, program, source
    "$compiler" "$tests/embedding/$3" $(pkg-config --cflags --libs "$1") -o "$scratch/$2"
}
build_with popliner by_pkg_config main.c
expect pkg-config "$6" "$("$scratch/by_pkg_config")"
build_with popliner-static by_static_pkg_config main.c
expect "static pkg-config" "$6" "$("$scratch/by_static_pkg_config")"
build_with popliner-solver solves solver/main.c
expect "pkg-config of the solver" "$plans" "$("$scratch/solves")"
build_with popliner-solver-static solves_static solver/main.c
expect "static pkg-config of the solver" "$plans" "$("$scratch/solves_static")"
expect "libraries of static programs" 0 \
    "$(readelf -d "$scratch/by_static_pkg_config" "$scratch/solves_static" |
        grep -c 'NEEDED.*libpopliner')"
END

for package in "$scratch"/here/*.deb; do
    dpkg-deb -x "$package" "$scratch/root"
done
version=$(sed -n 's/^project(popliner VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
mkdir "$scratch/used"
sh "$scratch/use.sh" "$scratch/root" "$source/tests" "$cmake" "$compiler" "$scratch/used" \
    "$version" "$mkprofile"
echo "unpacked they serve the command and programs"

clean=$scratch/clean
mkdir -p "$clean/packages" "$clean/used"
cp "$scratch"/here/*.deb "$clean/packages"
rm -f "$clean"/packages/*-dbgsym_*
cp -R "$scratch/use.sh" "$source/tests" "$mkprofile" "$clean"
# the command alone first: what it needs has to come with it
cat >"$clean/install.sh" <<'END'
set -eu
install() {
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}
apt-get update -q
install ./packages/popliner_*.deb ./packages/libpopliner0.1_*.deb
popliner /usr/share/doc/popliner/data/sample --solve --num-ipus 2
install ./packages/*.deb gcc libc6-dev cmake make pkg-config
sh use.sh "" /copy/tests cmake cc /copy/used "$1" /copy/popliner-mkprofile
apt-get purge -y popliner libpopliner0.1 libpopliner-solver0.1 libpopliner-dev
END
sh "$source/tests/minimal_debian.sh" bookworm "$clean" "sh install.sh $version"
