"""Calls with arguments at random, which make no sense most of the time: they raise what wrong
arguments raise, and what is used stays as good as before.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import collections
import inspect
import logging
import random
import unittest

import common
import popliner
from common import SAMPLE
from popliner.request import MEMBERS

EXPECTED = (popliner.Error, TypeError, ValueError, IndexError, MemoryError)

# what would write files, and what ends an object
LEFT_OUT = {"close", "save", "write", "read", "load", "locate", "add_message"}


class Odd:
    """A number that is another one each time, and a list."""

    def __init__(self, chance):
        self.chance = chance

    def __index__(self):
        return self.chance.choice([0, 1, -1, 2**70])

    def __iter__(self):
        return iter((0, 1, 2))


def junk(chance, depth=0):
    """Some value."""
    def several(most):
        return [junk(chance, depth + 1) for _ in range(chance.randrange(most))] if depth < 2 else []

    return chance.choice([
        lambda: chance.choice([0, 1, 2, 3, 5, -1, 2**31, 2**63, 2**64, 10**30]),
        lambda: chance.choice([0, 1, 2, 3]),
        lambda: chance.choice([0.0, 1.5, -2.5, float("nan"), float("inf"), 1e308]),
        lambda: chance.choice(["", "0", "1|2", "Head", "memory", "cycles", "popart", "full",
                               "tiles", "json", "x\0", "\udcff", "\ud800", "auto", "plan",
                               "a" * 3000]),
        lambda: None,
        lambda: chance.choice([True, False]),
        lambda: b"bytes",
        lambda: several(5),
        lambda: tuple(several(4)),
        lambda: {chance.choice([0, 1, "0", "1", (0, 1)]): it for it in several(3)},
        lambda: Odd(chance),
        lambda: lambda *_: junk(chance, 2),
        lambda: chance.choice(list(popliner.Schedule) + list(popliner.Section)),
        object,
    ])()


class Misuse(unittest.TestCase):
    def setUp(self):
        logging.getLogger("popliner").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("popliner").setLevel, logging.NOTSET)
        self.analysis = popliner.read(SAMPLE)
        self.addCleanup(self.analysis.close)
        self.costs = popliner.Costs(4)
        self.costs.fill_peaks(lambda first, last: last - first + 1)
        self.objects = [
            self.analysis, self.analysis.profile, self.costs, self.analysis.costs(num_ipus=2),
            self.analysis.solve(num_ipus=2), self.costs.solve(), self.analysis.diagnose(),
            popliner.compare(self.analysis, self.analysis), self.costs.pareto("memory,traffic"),
            self.costs.sweep("num_ipus", [1, 2]), popliner]

    def arguments(self, chance, name, function):
        given = {}
        parameters = inspect.signature(function, follow_wrapped=False).parameters
        if "time_limit_seconds" in parameters:  # those of a request are shown
            parameters = {name: it for name, it in parameters.items() if name not in MEMBERS}
            for member in chance.sample(sorted(MEMBERS), chance.randrange(4)):
                given[member] = junk(chance)
            given.setdefault("time_limit_seconds", 0.1)
        for it in parameters.values():
            if it.kind == it.VAR_KEYWORD:
                for member in chance.sample(sorted(MEMBERS), chance.randrange(4)):
                    given[member] = junk(chance)
                given.setdefault("time_limit_seconds", 0.1)
            elif it.kind == it.VAR_POSITIONAL or (it.default is not it.empty
                                                  and chance.random() < 0.6):
                continue
            elif chance.random() < 0.2:
                given[it.name] = chance.choice([*self.objects[:-1], popliner.Request()])
            else:
                given[it.name] = junk(chance)
        if name == "solve_replicas":  # no search that takes hours
            given["total_ipus"] = chance.choice([1, 2, -1, "2"])
        return given

    def test_at_random(self):
        expected = self.analysis.solve(num_ipus=2, require="layers:1..").json_text()
        seen = collections.Counter()
        for seed in range(40 if common.takes_all() else 8):
            chance = random.Random(seed)
            for _ in range(600):
                it = chance.choice(self.objects)
                name = chance.choice([name for name in dir(it)
                                      if not name.startswith("_") and name not in LEFT_OUT])
                function = getattr(it, name)
                if not inspect.isroutine(function):
                    continue
                given = self.arguments(chance, name, function)
                try:
                    function(**given)
                    seen["nothing"] += 1
                except EXPECTED as error:
                    seen[type(error).__name__] += 1
                except Exception as error:
                    self.fail(f"{name}({given}): {error!r}")
        self.assertGreater(seen["TypeError"], 100)
        self.assertGreater(seen["UsageError"], 20)
        self.assertGreater(seen["nothing"], 100)
        self.assertEqual(self.analysis.solve(num_ipus=2, require="layers:1..").json_text(),
                         expected)
        self.assertEqual(self.objects[4].split, "[ Head 0 1 | 2 3 Tail ]")
        fresh = popliner.Costs(4)
        fresh.fill_peaks(lambda first, last: last - first + 1)
        self.assertEqual(fresh.solve(num_ipus=2).peak_bytes, 2)


if __name__ == "__main__":
    common.main()
