# Which cases a test takes. To be sourced: ctest passes --cases=quick, --cases=full or
# --cases=nightly as the first argument, which is shifted away.
#
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh
cases=quick
case ${1:-} in
--cases=*)
    cases=${1#--cases=}
    shift
    ;;
esac

# Whether all cases are to be checked. A quick run says so that it leaves some out.
takes_all() {
    [ "$cases" = quick ] || return 0
    echo "[  QUICK   ] not all cases"
    return 1
}
