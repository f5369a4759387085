#!/usr/bin/env python3
"""The full memory model against tests/memory_model.py, which shares nothing with the library: every
number of stages that --evaluate and --solve tell, and the smallest largest tile over all splits.

    memory_model_test.py POPLINER MKPROFILE DIRECTORIES...

POPLINER_TEST_ALL looks at all of these, and at profiles of every kind that the generator makes.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

import memory_model
import profile_operations

KEEPING = ("popart", "tf-grouped", "tf-interleaved")
SCHEDULES = ("none", "inference", "sequential") + 2 * KEEPING
RECOMPUTE = ("none", "standard", "full")
# name of the sum: in "mem" of the answer
SUMS = {"total_mem": None, "variables": "variables", "vertex_code": "vertex_code",
        "vertex_state": "vertex_state", "exchange_code": "exchange_code",
        "control_code": "control_code", "unexplained": "unexplained",
        "unexplained_always_live": "unexplained_always_live", "stash": "stash"}


class Comparison:
    """Counts what was compared, and tells what differs."""

    def __init__(self, command, place):
        self.command = command
        self.place = place
        self.counts = collections.Counter()
        self.problems = []

    def equal(self, what, where, theirs, own):
        self.counts[what] += 1
        if theirs != own:
            self.problems.append(f"{self.place}: {where}: {what}: {theirs}, second opinion {own}")

    def run(self, *options):
        done = subprocess.run([self.command, "-q", self.place, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
        if done.returncode not in (0, 1):
            self.problems.append(f"{self.place} {options}: {done.returncode}, {done.stderr}")
            return None
        return done.stdout

    def operations(self):
        text = self.run("--operation-breakdown", "--memory-model", "full")
        theirs = [line.split("\t") for line in text.splitlines()[1:] if line]
        own = profile_operations.rows(self.place)
        self.equal("operations", "breakdown", len(theirs), len(own))
        for row, other in zip(theirs, own):
            self.equal("operation", other[2], (*row[:3], row[8]), other)

    def evaluation(self, model, cuts, schedule, recompute):
        where = "|".join(cuts) or "whole"
        options = ("--schedule", schedule, "--recompute", recompute, "--format", "json")
        text = self.run("--evaluate", where, *options)
        if text is None:
            return
        where += f" {schedule} {recompute}"
        theirs = json.loads(text)
        own = model.evaluate([model.labels.index(label) + 1 for label in cuts], schedule, recompute)
        self.equal("stages", where, len(theirs), len(own))
        for one, other in zip(theirs, own):
            stage = f"{where}: {other['from']} to {other['to']}"
            self.equal("units", stage, (one["unit_from"], one["unit_to"]),
                       (other["from"], other["to"]))
            for name in ("total_bytes", "tile", "tile_bytes", "step"):
                self.equal(name, stage, one[name], other[name])
        answer = self.run("--solve", "--min-layers", "0", "--num-ipus", str(len(own)), *options,
                          *(f"--cut-after={label}" for label in cuts))
        theirs = json.loads(answer)["stages"] if answer else []
        if len(theirs) != len(own):  # a unit alone may be forbidden
            return
        for one, other in zip(theirs, own):
            stage = f"{where}: {other['from']} to {other['to']}, solved"
            for name, key in SUMS.items():
                self.equal(name, stage, one["mem"].get(name, 0),
                           other["mem"][key] if key else other["total_bytes"])
            for key, name in (("tile", "tile"), ("step", "step"), ("bytes", "tile_bytes"),
                              ("stash_bytes", "tile_stash"),
                              ("unexplained_bytes", "tile_unexplained")):
                self.equal(f"peak {key}", stage, one["peak"][key], other[name])
            self.equal("parameter_bytes", stage, one["parameter_bytes"], other["mem"]["parameters"])
            self.equal("cut_bytes", stage, one["cut_bytes"], other["cut_bytes"])


def look(command, place, seed, number):
    """A few random splits of the profile, with random options."""
    comparison = Comparison(command, place)
    comparison.operations()
    model = memory_model.Model(place)
    chance = random.Random(seed)
    for i in range(number):
        most = min(4, model.num_units - 1)
        cuts = sorted(chance.sample(range(model.num_units - 1), chance.randint(0, most)))
        schedule = chance.choice(SCHEDULES)
        comparison.evaluation(model, [model.labels[c] for c in cuts], schedule,
                              chance.choice(RECOMPUTE) if schedule in KEEPING else "none")
    return comparison


def main():
    command, tool, *folders = sys.argv[1:]
    counts, problems = collections.Counter(), []
    for i, folder in enumerate(folders):
        found = look(command, folder, i, 12)
        counts += found.counts
        problems += found.problems
    print(dict(counts), sum(counts.values()), "comparisons,", len(problems), "problems")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
