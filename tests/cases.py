"""Which cases a test takes: ctest passes --cases=quick, --cases=full or --cases=nightly, which is
taken out of sys.argv here; docs/internals/tests.md says what they are.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import random
import sys

_CHOICES = ["--cases=quick", "--cases=full", "--cases=nightly"]
_chosen = [_CHOICES.index(argument) for argument in sys.argv if argument in _CHOICES]
sys.argv = [argument for argument in sys.argv if argument not in _CHOICES]


def takes_all():
    """Whether all cases are to be checked. A quick run says so that it leaves some out."""
    if any(_chosen):
        return True
    print("[  QUICK   ] not all cases")
    return False


def is_nightly():
    """Whether even those are that take hours."""
    return 2 in _chosen


def some(cases, step):
    """One of so many cases in the quick run, two of them in the full run, or all of up to three,
    and all in the nightly run, for which the test needs a form unless `step` is below 4."""
    most = 1 if not takes_all() else 2 if step > 3 else step
    return [case for i, case in enumerate(cases) if is_nightly() or i % step < most]


def chosen(quick, full, nightly):
    """The one that belongs to the run; the test needs a form for the nightly run."""
    return nightly if is_nightly() else full if takes_all() else quick


def each_seed(number, draw, check):
    """Draws so many files of costs and requests, each from its seed, and adds up the two numbers
    that check(costs, request) counts. A failure ends the test, with the seed and what was drawn."""
    sums = [0, 0]
    for seed in range(number):
        costs, request = draw(random.Random(seed))
        try:
            sums = [a + b for a, b in zip(sums, check(costs, request), strict=True)]
        except AssertionError as error:
            sys.exit(f"seed {seed}: {json.dumps(costs)} {request}: {error}")
    return sums


def joined(log):
    """A log with each message on one line: those of more than 100 columns go on in further ones."""
    indent = "\n" + 17 * " "
    if isinstance(log, bytes):
        return log.replace(indent.encode(), b" ")
    return log.replace(indent, " ")
