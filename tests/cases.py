"""Which cases a test takes: ctest passes --cases=quick, --cases=full or --cases=nightly, which is
taken out of sys.argv here; docs/internals/tests.md says what they are. In the quick run a test
takes cases until it and its children have used their budget of processor time, as in cases.c;
each list of cases has its first one taken.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import atexit
import concurrent.futures
import functools
import os
import resource
import shlex
import sys

_CHOICES = ["--cases=quick", "--cases=full", "--cases=nightly"]
_chosen = [_CHOICES.index(argument) for argument in sys.argv if argument in _CHOICES]
sys.argv = [argument for argument in sys.argv if argument not in _CHOICES]

BUDGET_SECONDS = float(os.environ.get("POPLINER_TEST_SECONDS", "0.3"))
_counts = {"taken": 0, "left": 0}


def _report():
    if any(_counts.values()):
        print(f"[  CASES   ] {_counts['taken']} taken, {_counts['left']} left")


atexit.register(_report)


@functools.lru_cache(None)
def takes_all():
    """Whether all cases are to be checked. A quick run says so that it leaves some out."""
    if any(_chosen):
        return True
    print("[  QUICK   ] not all cases")
    return False


def is_nightly():
    """Whether even those are that take hours."""
    return 2 in _chosen


def within_budget(cases, seconds=1):
    """Those that the run takes: in the quick run the first, and further ones while the budget
    lasts, which is this many times that of other tests."""
    for index, case in enumerate(cases):
        used = sum(sum(resource.getrusage(who)[:2])
                   for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        is_taken = index == 0 or any(_chosen) or used < seconds * BUDGET_SECONDS
        _counts["taken" if is_taken else "left"] += 1
        if is_taken:
            yield case
        else:
            takes_all()


def is_enough(condition):
    """Whether what was met is enough; this means nothing if the budget left cases out."""
    return condition or _counts["left"] > 0


def some(cases, step, seconds=1):
    """One of so many cases in the quick run, within its budget, two of them in the full run, or
    all of up to three, and all in the nightly run, for which the test needs a form unless `step`
    is below 4."""
    most = 1 if not takes_all() else 2 if step > 3 else step
    own = [case for i, case in enumerate(cases) if is_nightly() or i % step < most]
    if not takes_all():  # cases that are alike are far from each other
        own = [own[i] for i in sorted(range(len(own)), key=lambda i: i * 0.618034 % 1)]
    return within_budget(own, seconds)


def chosen(quick, full, nightly):
    """The one that belongs to the run; the test needs a form for the nightly run."""
    return nightly if is_nightly() else full if takes_all() else quick


def seeds(quick, full, nightly):
    """Those from 0 to a number that belongs to the run, within the budget."""
    return within_budget(range(chosen(quick, full, nightly)))


def results(tasks, seconds=1):
    """What each task returns, which is a function and its arguments: in the quick run those that
    the budget allows, one after the other; otherwise all, in so many processes as processors."""
    if not any(_chosen):
        for function, *arguments in within_budget(tasks, seconds):
            yield function(*arguments)
        return
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(*task) for task in tasks]:
            yield done.result()


def tell_alone(*arguments):
    """Prints the command that repeats a case of this script, for tools/test."""
    places = [f"{name}={os.environ[name]}" for name in sorted(os.environ)
              if name == "PYTHONPATH" or name.startswith("POPLINER_")]
    print("this case alone:", shlex.join(["env", *places, "python3", sys.argv[0], *arguments]),
          flush=True)
