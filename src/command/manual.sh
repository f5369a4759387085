#!/bin/sh
# Writes the manual page, from what the command says of itself: manual.sh DATE POPLINER
#
# SPDX-License-Identifier: GPL-3.0-or-later
set -eu
date=$1
shift
roff() {
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/'/\\\\(aq/g"
}
cat <<END
.TH POPLINER 1 "$date" "$("$@" --version)" "User Commands"
.SH NAME
popliner \- finds where to cut a neural network so that it fits on several IPUs
.SH SYNOPSIS
.B popliner
\fIINPUT\fR [\fIDEBUG\fR] [\fIoptions\fR]
.SH DESCRIPTION
Reads what the Poplar compiler reports of a model that was compiled for one IPU,
and chooses the best cuts of it into stages, with proof, by peak memory per tile,
cycles, or traffic. Without an option that says what to do, it shows an overview.
.TP
\fIINPUT\fR
the profile.pop that Poplar wrote, or the directory that holds it; a stored
analysis; or a file of costs (\-: standard input)
.TP
\fIDEBUG\fR
its debug.cbor (default: the one in the same directory, else one directory up)
.PP
Reports, tables and JSON go to standard output, the log to standard error.
.SH OPTIONS
.nf
END
# headings are sections, and options are bold
"$@" --help all | roff | awk '
  /^Exit status:$/ { print ".fi\n.SH EXIT STATUS\n.nf"; next }
  /^[^ ].*:$/ { print ".fi\n.SS " $0 "\n.nf"; next }
  /^  \\-/ { $0 = "\\fB" $0 "\\fR" }
  NF > 0'
printf '.fi\n.SH PROFILES\n'
"$@" --help profiles | roff | sed -n '3,/^$/{/./p}'
cat <<'END'
.SH EXAMPLES
.TP
popliner report \-\-solve \-\-num\-ipus 4
the best split of the profile in the directory \(oqreport\(cq over at most four IPUs
.TP
popliner costs.json \-\-solve \-\-format json
that of your own costs, with its proof
END
