#!/bin/sh
# What is built for release is guarded: against writing beyond an array, and jumping anywhere.
# Arguments: the command, the shared library.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
fail() {
    echo "$1: $2"
    exit 1
}
for file; do
    headers=$(readelf -lW "$file")
    entries=$(readelf -dW "$file")
    symbols=$(nm -D "$file")
    case $headers in *GNU_RELRO*) ;; *) fail "$file" "tables of addresses can be written" ;; esac
    case $entries in *NOW*) ;; *) fail "$file" "addresses are looked up late" ;; esac
    case $symbols in *__stack_chk_fail*) ;; *) fail "$file" "no guard of the stack" ;; esac
    case $symbols in *_chk@*) ;; *) fail "$file" "copies are not checked" ;; esac
    readelf -hW "$file" | grep -q 'Type: *DYN' || fail "$file" "it is always at the same addresses"
done
echo "guarded: $*"
