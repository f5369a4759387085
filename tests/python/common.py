"""What the tests of the Python module share: where everything is, and the command to agree with.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from cases import some, takes_all, tell_alone  # for the tests

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "data", "sample")
COSTS = os.path.join(ROOT, "data", "costs")
GOLDEN = os.path.join(ROOT, "tests", "golden")
TRAINING = os.path.join(GOLDEN, "popart-train")
COMMAND = os.environ.get("POPLINER_COMMAND", "")
MKPROFILE = os.environ.get("POPLINER_MKPROFILE", "")

# What a library with sanitizers needs is loaded by now; compilers and the command do without.
PRELOAD = os.environ.pop("LD_PRELOAD", "")
PYTHON_ENVIRONMENT = {**os.environ, **({"LD_PRELOAD": PRELOAD} if PRELOAD else {})}

_scratch = []


def scratch():
    """A folder that is removed at the end."""
    if not _scratch:
        _scratch.append(tempfile.mkdtemp(prefix="popliner-python-"))
        atexit.register(shutil.rmtree, _scratch[0], ignore_errors=True)
    return _scratch[0]


def run(*arguments, status=0):
    """What the command prints; its log is dropped. Like the module, it may plot in UTF-8, whatever
    the locale of the test."""
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)
    if done.returncode not in (status if isinstance(status, tuple) else (status,)):
        raise AssertionError(f"popliner {' '.join(arguments)}: status {done.returncode}\n"
                             + done.stderr.decode())
    return done.stdout.decode()


def log_of(*arguments):
    """The log of the command, without times and levels."""
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)
    return [re.sub(r"^\S+ \w+ +", "", line) for line in done.stderr.splitlines()]


def python(*arguments, **environment):
    """Another Python, finished."""
    return subprocess.run([sys.executable, *arguments], env={**PYTHON_ENVIRONMENT, **environment},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", check=False)


_made = {}


def made_profile(*arguments):
    """A profile of popliner-mkprofile."""
    if arguments not in _made:
        _made[arguments] = os.path.join(scratch(), f"profile{len(_made)}")
        subprocess.run([MKPROFILE, *arguments, "--output", _made[arguments]], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return _made[arguments]


def main():
    """Runs the tests; says what was left out and how to repeat what failed, as tools/test tells."""
    result = unittest.main(argv=[sys.argv[0], *sys.argv[1:]], exit=False).result
    for test, reason in result.skipped:
        print(f"left out: {reason}\n[  SKIPPED ] {test.id().split('.')[-1]}")
    for test, _ in result.failures + result.errors:
        tell_alone(test.id().removeprefix("__main__."))
    sys.exit(not result.wasSuccessful())
