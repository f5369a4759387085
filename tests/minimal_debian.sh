#!/bin/sh
# Runs commands in a minimal Debian, as debootstrap --variant=minbase makes it. Arguments: the suite
# (bookworm or trixie), a folder, and the commands: they run in a copy of the folder, without its
# build and .git, and have to end with status 0. It needs root, and the network: the mirror is the
# one that apt uses here.
#
# Everything is mounted in a namespace of this test: the mounts go with its last process, however
# that ends.
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu

# What is done in the namespace.
run_inside() { # mirror, empty folder, suite, folder, commands...
    root=$2/root
    log=$2/log
    # a Debian that cannot be had is no fault of this project
    debootstrap --variant=minbase "$3" "$root" "$1" >"$log" 2>&1 || {
        echo "Skipped: no $3 from $1: $(tail -n 1 "$log")"
        exit 0
    }
    # what a kernel gives every system
    mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mkdir "$root/copy"
    tar -C "$4" --exclude=./build --exclude=./.git -cf - . | tar -C "$root/copy" -xf -
    shift 4
    for command; do
        started=$(date +%s)
        chroot "$root" env -i HOME=/root LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+"http_proxy=$http_proxy"} \
            sh -c "cd /copy && exec $command" >"$log" 2>&1 || {
            echo "$command ends with status $?:"
            cat "$log"
            exit 1
        }
        echo "$command passes in $(($(date +%s) - started)) s"
    done
}

if [ "$1" = --inside ]; then
    shift
    run_inside "$@"
    exit
fi

skip() { # reason
    echo "Skipped: $1"
    exit 0
}
[ "$(id -u)" -eq 0 ] || skip "only root may make a Debian to chroot to"
command -v debootstrap >/dev/null || skip "no debootstrap; tools/packages packages installs it"
unshare --mount --pid --fork true 2>/dev/null || skip "no namespace may be made here"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
[ -n "$mirror" ] || skip "apt has no mirror here"

scratch=$(mktemp -d)
child=
trap '[ -z "$child" ] || kill -KILL "$child" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
unshare --mount --pid --fork --kill-child --mount-proc sh "$0" --inside "$mirror" "$scratch" "$@" &
child=$!
status=0
wait "$child" || status=$?
child=
exit "$status"
