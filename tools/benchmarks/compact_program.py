#!/usr/bin/env python3
"""A second implementation of shared IPUs, for other solvers: the compact integer program.

    compact_program.py costs LAYERS > FILE             an embedding, equal layers, a head
    compact_program.py FILE IPUS ROUNDS memory|cycles > PROGRAM.lp

FILE is in popliner's own format with one region, whole numbers and no stash. The stages are on the
IPUs 0 ... IPUS-1, ROUNDS times. y_S_U is 1 if unit U is in one of the stages 0 ... S; what is
largest is T.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import sys


def equal_layers(layers):
    """The chain of tools/bench-solver."""
    units = [{"name": "u0", "memory": 9000, "cycles": 300}]
    units += [{"name": f"u{i + 1}", "memory": 1500, "cycles": 180} for i in range(layers)]
    units += [{"name": f"u{layers + 1}", "memory": 7000, "cycles": 250}]
    shared = [{"units": [u["name"] for u in units[1:-1]], "memory": 800}]
    return {"format": "popliner-costs", "version": 1, "units": units, "shared": shared,
            "cuts": [20] * (layers + 1), "cut_cycles": [20] * (layers + 1)}


class Program:
    """The program's text, line by line."""

    def __init__(self, costs, num_ipus, num_rounds):
        self.units = costs["units"]
        self.shared = costs.get("shared", [])
        self.cuts = costs.get("cut_cycles", [0] * (len(self.units) - 1))
        self.num_ipus = num_ipus
        self.num_stages = num_ipus * num_rounds
        self.binaries = []

    def y(self, stage, unit, factor):
        """Terms and constant of factor * y: what is known is no variable."""
        if stage < 0 or unit >= len(self.units):
            return [], 0
        if stage == self.num_stages - 1:
            return [], factor
        return [(factor, f"y_{stage}_{unit}")], 0

    def row(self, parts, bound, relation="<="):
        """A row of parts: pairs of terms and constants."""
        sums = {}
        for factor, name in (term for part in parts for term in part[0]):
            sums[name] = sums.get(name, 0) + factor
        constant = sum(part[1] for part in parts)
        terms = [f"{factor:+d} {name}" for name, factor in sums.items() if factor != 0]
        if terms:
            print(" ".join(terms), relation, bound - constant)

    def contains(self, stage, unit, factor):
        """Whether the unit is in the stage, times a factor."""
        return [self.y(stage, unit, factor), self.y(stage - 1, unit, -factor)]

    def shape(self):
        """Stages follow each other, and each has a unit."""
        for stage in range(self.num_stages):
            for unit in range(len(self.units)):
                if stage < self.num_stages - 1:
                    self.binaries.append(f"y_{stage}_{unit}")
                self.row([self.y(stage - 1, unit, 1), self.y(stage, unit, -1)], 0)
                if unit > 0:
                    self.row([self.y(stage, unit, 1), self.y(stage, unit - 1, -1)], 0)
            self.row([p for u in range(len(self.units)) for p in self.contains(stage, u, 1)], 1,
                     ">=")

    def cycles(self, ipu):
        parts = []
        for stage in range(ipu, self.num_stages, self.num_ipus):
            for unit, it in enumerate(self.units):
                parts += self.contains(stage, unit, it.get("cycles", 0))
            # the cut behind a unit is before stage S + 1 if the unit is in S and the next is not
            for unit, cut in enumerate(self.cuts):
                for before in (stage - 1, stage):
                    if 0 <= before < self.num_stages - 1:
                        parts += [self.y(before, unit, cut), self.y(before, unit + 1, -cut)]
        self.row(parts + [([(-1, "T")], 0)], 0)

    def memory(self, ipu):
        parts = []
        index = {it["name"]: i for i, it in enumerate(self.units)}
        for stage in range(ipu, self.num_stages, self.num_ipus):
            for unit, it in enumerate(self.units):
                parts += self.contains(stage, unit, it.get("memory", 0))
            for k, shared in enumerate(self.shared):
                for name in shared["units"]:
                    is_used = ([(-1, f"w_{ipu}_{k}")], 0)
                    self.row(self.contains(stage, index[name], 1) + [is_used], 0)
        for k, shared in enumerate(self.shared):
            self.binaries.append(f"w_{ipu}_{k}")
            parts.append(([(shared["memory"], f"w_{ipu}_{k}")], 0))
        self.row(parts + [([(-1, "T")], 0)], 0)

    def write(self, objective):
        print("Minimize\n obj: T\nSubject To")
        self.shape()
        for ipu in range(self.num_ipus):
            (self.cycles if objective == "cycles" else self.memory)(ipu)
        print("Binaries")
        print("\n".join(self.binaries))
        print("End")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "costs":
        json.dump(equal_layers(int(sys.argv[2])), sys.stdout)
    elif len(sys.argv) == 5 and sys.argv[4] in ("memory", "cycles"):
        with open(sys.argv[1], encoding="utf-8") as file:
            costs = json.load(file)
        Program(costs, int(sys.argv[2]), int(sys.argv[3])).write(sys.argv[4])
    else:
        sys.exit(__doc__)


main()
