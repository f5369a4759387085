#!/usr/bin/env python3
"""The solver's split of small profiles against every split, by the memory that --evaluate shows.

    best_split_test.py POPLINER MKPROFILE [--cases=quick|full]

Models are drawn at random. Every split into at most as many stages as the request has IPUs is
evaluated by a run of its own, with what its code leaves of the last memory element. The least of
the largest needs must be the solver's value and its bound, the solver's own stages must have that
need, a limit of as many bytes must have a split, and one of a byte less none.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import cases

STYLES = (("--framework popart", ""), ("--framework popart --outline", ""),
          ("--framework poptorch --training --accumulate", "--schedule popart"),
          ("--framework popart --training", "--schedule popart"),
          ("--framework tensorflow --training --accumulate --outline", "--schedule tf-grouped"),
          ("--framework tensorflow --training --accumulate", "--schedule tf-interleaved"),
          ("--framework tensorflow --skips 1", ""))
NEEDS = ("expected", "at-most", "at-least")
PROFILES = 50


def run(*arguments, status=(0, 1)):
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8")
    if done.returncode not in status:
        sys.exit(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout


class Case:
    def __init__(self, tool, maker, folder, number):
        self.draw = draw = random.Random(number)
        style, schedule = draw.choice(STYLES)
        self.num_ipus = draw.randint(2, 4)
        self.need = draw.choice(NEEDS)
        self.tool, self.profile = tool, os.path.join(folder, str(number))
        self.options = [*schedule.split(), "--need", self.need, "--format", "json"]
        model = (f"{style} --layers {draw.randint(3, 6)} --tiles {draw.choice([2, 4, 8])} "
                 f"--hidden {16 * draw.randint(1, 4)} --sequence {8 * draw.randint(1, 4)} "
                 f"--vocabulary {draw.randint(60, 600)} --seed {number} "
                 "--debug-arguments 0 --debug-nesting 0")
        run(maker, "--output", self.profile, "--quiet", *model.split(), status=(0,))

    def fail(self, text):
        sys.exit(f"{self.profile} {self.options} on {self.num_ipus} IPUs: {text}")

    def evaluate(self, cuts):
        """Of a split the need of its worst stage."""
        stages = json.loads(run(self.tool, "-q", self.profile, "--evaluate",
                                "|".join(cuts) or "whole", *self.options))
        return max(stage["needs"][f"{self.need.replace('-', '_')}_bytes"] for stage in stages)

    def solve(self, limit):
        return json.loads(run(self.tool, "-q", self.profile, "--solve", "--objective", "memory",
                              "--num-ipus", str(self.num_ipus), "--mem-per-tile", str(limit),
                              *self.options))

    def check(self):
        """Returns the need of the worst split as a multiple of the best, and how many there are."""
        answer = self.solve(10**9)
        layers = [layer for stage in answer["stages"] for layer in stage["layers"]]
        needs = {cuts: self.evaluate(cuts) for count in range(min(self.num_ipus, len(layers)))
                 for cuts in itertools.combinations(layers[:-1], count)}
        best = min(needs.values())
        told = answer["objectives"][0]
        if (answer["status"], told["value"], told["bound"]) != ("optimal", best, best):
            self.fail(f"{answer['status']}, {told} instead of {best}")
        cuts = tuple(stage["layers"][-1] for stage in answer["stages"][:-1])
        if needs[cuts] != best:
            self.fail(f"{cuts} need {needs[cuts]} instead of {best}")
        for limit in (best, best - 1):
            status = self.solve(limit)["status"]
            if (status == "optimal") != (limit == best):
                self.fail(f"{status} within {limit}; the best split needs {best}")
        return max(needs.values()) / best, len(needs)


def main():
    tool, maker = sys.argv[1:3]
    numbers = range(cases.chosen(5, 15, PROFILES))
    with tempfile.TemporaryDirectory() as folder:
        results = [Case(tool, maker, folder, number).check() for number in numbers]
    if statistics.median(ratio for ratio, _ in results) < 1.1:
        sys.exit("the splits of most profiles hardly differ")
    print(f"{len(results)} profiles, {sum(count for _, count in results)} splits")


if __name__ == "__main__":
    main()
