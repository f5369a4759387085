"""Messages name what the one who asks can write: the command its options, the module its keywords.
Requests at random, most of which are refused, go through both; none may name what the other has.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import inspect
import json
import logging
import os
import random
import re
import subprocess
import unittest

import common
import popliner
from popliner import _declared as c
from popliner.request import MEMBERS

SEED = int(os.environ.get("POPLINER_SEED", "0")) or random.randrange(1, 10**6)

#: rows of (keyword, value, option, text): the same request in both spellings
REQUESTS = [
    ("num_ipus", 1, "-n", "1"), ("num_ipus", 2, "-n", "2"), ("num_ipus", 3, "-n", "3"),
    ("num_ipus", 70000, "-n", "70000"), ("mem_per_tile", 5, "-m", "5"),
    ("mem_per_tile", 10, "-m", "10"), ("mem_per_tile", {0: 10}, "-m", "0=10"),
    ("mem_per_tile", {0: 10, 1: 12}, "-m", "0=10,1=12"),
    ("mem_per_tile", {70000: 5}, "-m", "70000=5"),
    ("mem_per_tile", [10, 12], "-m", "10,12"), ("mem_per_tile", "10,12", "-m", "10,12"),
    ("reserve", {0: 2}, "--reserve", "0=2"), ("reserve", {70000: 2}, "--reserve", "70000=2"),
    *[("reserve", it, "--reserve", it) for it in ("5%", "20", "0.5GiB", "2.5%", "1", "1,0=3",
                                                  "1,2", "0=5%", "0=1,0=2")],
    *[("objectives", it, "--objective", it) for it in (
        "headroom", "memory,cycles", "cycles", "balance", "balance,cycles", "cycles,balance",
        "ipus", "memory,memory", "traffic,headroom")],
    ("slack_percent", 5, "--slack", "5"), ("slack_percent", -1, "--slack", "-1"),
    ("method", "dynamic_programming", "--solver", "dp"), ("method", "ilp", "--solver", "ilp"),
    ("method", "greedy", "--solver", "popliner"),
    ("device_map", [0, 1, 0], "--device-map", "0,1,0"),
    ("device_map", [70000], "--device-map", "70000"), ("device_map", [0, 0], "--device-map", "0,0"),
    *[("require", it, "--require", it) for it in (
        "cut:a", "cut:0", "no-cut:a", "no-cut:0,1,2", "together:a,b", "together:0,3", "place:a=0",
        "place:a=70000", "place:0=1", "layers:2..", "layers:..1", "layers:5..9")],
    ("recompute", "full", "--recompute", "full"), ("recompute", "auto", "--recompute", "auto"),
    ("schedule", "popart", "--schedule", "popart"),
    ("schedule", "inference", "--schedule", "inference"),
    ("copies", "1f1b", "--schedule", "1f1b"), ("copies", "gpipe", "--schedule", "gpipe"),
    ("copies", "3,2", "--schedule", "popart:3,2"),
    ("link_bandwidth", (5, 1), "--bandwidth", "5"),
    ("ipu_links", {(0, 1): (5, 1)}, "--bandwidth", "0-1=5"),
    ("ipu_speeds", {0: 0.5}, "--ipu-speed", "0=0.5"),
    ("ipu_speeds", {70000: 1}, "--ipu-speed", "70000=1"),
    ("need", "most", "--need", "at-most"),
    ("memory_model", "popliner", "--memory-model", "popliner"),
    ("effects", 0, "--effects", "none"), ("time_limit_seconds", 5, "--time-limit", "5"),
]

#: ways to ask: the method with its arguments, and the words of the command
WAYS = [
    ("solve", (), {}, ["--solve"]), ("evaluate", ([1],), {}, ["--evaluate", "a"]),
    ("pareto", ("memory,cycles",), {}, ["--solve", "--pareto", "memory,cycles"]),
    ("pareto", ("headroom,traffic",), {}, ["--solve", "--pareto", "headroom,traffic"]),
    ("sweep", ("num_ipus", [1, 2]), {}, ["--solve", "--num-ipus", "1..2"]),
    ("solve_replicas", (4,), {"micro_batches": 4},
     ["--solve", "--total-ipus", "4", "--micro-batches", "4"]),
    ("solve_replicas", (4,), {"batch": 8, "chunks": 2},
     ["--solve", "--total-ipus", "4", "--batch", "8", "--device-map", "interleaved:2"]),
    ("order_devices", (), {}, ["--solve", "--device-map", "any"]),
]

#: found in the messages of neither: members of C's structures that no keyword is called by
FIELDS = {name for structure in (c.popliner_solver_options, c.popliner_replicas_options,
                                 c.popliner_request, c.popliner_analysis_options)
          for name, _ in structure._fields_ if "_" in name}


def keywords():
    """All names that something of the module is called by, of the calls that are made here."""
    result = set(MEMBERS) | set(popliner.Copies._fields)
    for owner in (popliner.Costs, popliner.Analysis):
        for _, function in inspect.getmembers(owner, inspect.isfunction):
            result |= set(inspect.signature(function).parameters)
    return result


def units(kind):
    """Costs without cycles, with them, and with what pipelines store."""
    own = {0: {}, 1: {"cycles": 4},
           2: {"cycles": 4, "stash": 2, "inputs": 1, "recompute_cycles": 3}}[kind]
    return [{"name": name, "memory": 6, **own} for name in "abc"]


class Names(unittest.TestCase):
    def setUp(self):
        logging.getLogger("popliner").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("popliner").setLevel, logging.NOTSET)
        self.chance = random.Random(SEED)
        print(f"seed {SEED} (POPLINER_SEED)")
        self.costs = [popliner.Costs.of_units(units(kind), cuts=[3, 4]) for kind in range(3)]
        self.files = []
        for kind in range(3):
            self.files.append(os.path.join(common.scratch(), f"{kind}.json"))
            with open(self.files[-1], "w", encoding="utf-8") as file:
                json.dump({"format": "popliner-costs", "version": 1, "units": units(kind),
                           "cuts": [3, 4]}, file)
        self.analysis = popliner.read(common.SAMPLE)
        self.addCleanup(self.analysis.close)
        self.sources = [*zip(self.costs, self.files), (self.analysis, common.SAMPLE)]
        self.refused = [0, 0]

    def ask(self, source, way, rows):
        function, arguments, more, _ = way
        if not hasattr(source, function):
            return []
        members = {**{row[0]: row[1] for row in rows}, **more}
        try:
            answer = getattr(source, function)(*arguments, **members)
        except popliner.Error as error:
            self.refused[0] += 1
            return [str(error)]
        except TypeError as error:  # such as two values for the objectives
            self.assertIn("multiple values", str(error))
            return []
        return [it.text for it in getattr(answer, "messages", ())]

    def run_command(self, path, way, rows):
        words = [path, *way[3], *(word for row in rows for word in row[2:])]
        result = subprocess.run([common.COMMAND, *words], capture_output=True, text=True,
                                encoding="utf-8", timeout=100, check=False)
        self.refused[1] += result.returncode == 2
        text = re.sub(r"\n {17}", " ", result.stderr).replace(path, "FILE")
        return [re.sub(r"^[\d:]+ [A-Z]+ +", "", line) for line in text.splitlines()]

    def check(self, source, path, way, rows, is_for_both=True):
        for message in self.ask(source, way, rows):
            with self.subTest("module", message=message, way=way, rows=rows):
                self.assertNotRegex(message, r"(^|\W)--?[a-z]")
                self.assertFalse(set(re.findall(r"[a-z]+(?:_[a-z]+)+", message)) - KEYWORDS)
                self.assertNotRegex(message, r"^(pairs|placements|together|place):")
        for message in self.run_command(path, way, rows) if is_for_both else ():
            with self.subTest("command", message=message, way=way, rows=rows):
                self.assertFalse(set(re.findall(r"\w+", message)) & (FIELDS | MEMBERS_WITH_BARS))
                self.assertNotRegex(message, r"^(objectives|method|pairs|placements|replicas):")

    def test_known_refusals(self):
        for wrong, way, keyword, option in (
                (("headroom", {0: 10}, 2), WAYS[0], "pass mem_per_tile", "pass --mem-per-tile"),
                (("cycles",), WAYS[0], "objectives: cyc", "--objective: cycles"),
                (((5, 1),), WAYS[0], "link_bandwidth: the", "--bandwidth: the"),
                (({0: 0.5},), WAYS[0], "ipu_speeds: the", "--ipu-speed: the"),
                ((), WAYS[5], "total_ipus: the costs", "--total-ipus: the costs")):
            rows = [row for row in REQUESTS if row[1] in wrong]
            self.assertIn(keyword, " ".join(self.ask(self.costs[0], way, rows)))
            self.assertIn(option, " ".join(self.run_command(self.files[0], way, rows)))

    def test_requests_at_random(self):
        for number in range(4000 if common.takes_all() else 800):
            source, path = self.chance.choice(self.sources)
            rows = self.chance.sample(REQUESTS, self.chance.randrange(4))
            rows = list({row[2]: row for row in {row[0]: row for row in rows}.values()}.values())
            self.check(source, path, self.chance.choice(WAYS), rows, number % 6 == 0)
        self.assertGreater(min(self.refused), 30)


KEYWORDS = keywords()
MEMBERS_WITH_BARS = {name for name in MEMBERS if "_" in name}

if __name__ == "__main__":
    unittest.main()
