#!/usr/bin/env python3
"""--device-map replicas against the configurations that PipeDream published, by the formula of its
paper. relations_test.py has random files.

    stage_replicas_test.py POPLINER PROFILES

PROFILES is the folder "profiler" of PipeDream's repository.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction


def run(popliner, path, *words):
    done = subprocess.run([popliner, "-q", path, "--solve", "--format", "json", "--device-map",
                           "replicas", *words], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), f"{words}: {done.stderr}"
    return json.loads(done.stdout, parse_float=Fraction)


# ---- PipeDream's configurations ----

class Graph:
    """A profile of PipeDream: its nodes in the order in which popliner cuts them."""

    def __init__(self, path, order):
        self.nodes, self.edges = {}, []
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                parts = line.strip().split(" -- ")
                if line.startswith("\t"):
                    self.edges.append(tuple(parts))
                    continue
                forward, backward, activations, parameters = re.search(
                    r"forward_compute_time=(.*), backward_compute_time=(.*), "
                    r"activation_size=(.*), parameter_size=(.*)$", parts[-1]).groups()
                self.nodes[parts[0]] = (
                    Fraction(forward) + Fraction(backward),
                    sum(map(Fraction, activations.strip("[]").split("; "))), Fraction(parameters))
        # popliner's names begin with the node's
        place = {name.split(" ")[0]: i for i, name in enumerate(order)}
        self.edges = [edge for edge in self.edges if set(edge) <= set(place)]
        assert all(place[a] < place[b] for a, b in self.edges), "not in topological order"
        ordered = sorted(place, key=place.get)
        self.times, self.weights = [0], [0]
        for name in ordered:
            self.times.append(self.times[-1] + self.nodes[name][0])
            self.weights.append(self.weights[-1] + self.nodes[name][2])
        last = {}
        for a, b in self.edges:
            last[a] = max(last.get(a, 0), place[b])
        self.cuts = [sum(self.nodes[a][1] for a in last if place[a] < cut <= last[a])
                     for cut in range(len(ordered) + 1)]
        self.size = len(ordered)

    def stage(self, first, end, replicas, bandwidth):
        """T of the paper: max(sum of T_l, 2 (m - 1) sum of |w_l| / B) / m."""
        weights = self.weights[end] - self.weights[first]
        return max(self.times[end] - self.times[first],
                   2 * (replicas - 1) * weights / bandwidth) / replicas

    def best_cuts(self, replicas, bandwidth):
        """The least time of a micro-batch with these replicas of the stages, over all cuts."""
        best = [None] * self.size + [Fraction(0)]
        for own in reversed(replicas):
            best = [min((max(self.stage(first, end, own, bandwidth),
                             2 * self.cuts[end] / bandwidth if end < self.size else 0, best[end])
                         for end in range(first + 1, self.size + 1) if best[end] is not None),
                        default=None) for first in range(self.size)] + [None]
        return best[0]

    def optimum(self, number, bandwidth):
        """A(j, m) of the paper from the other end: the least time with at most so many devices."""
        n, best = self.size, [[float("inf")] * self.size + [0.0] for _ in range(number + 1)]
        times, weights = [list(map(float, own)) for own in (self.times, self.weights)]
        cuts = [2 * float(cut) / bandwidth for cut in self.cuts[:n]] + [0.0]
        for first in reversed(range(n)):
            for end in range(first + 1, n + 1):
                time, weight = times[end] - times[first], weights[end] - weights[first]
                for own in range(1, number + 1):
                    stage = max(time, 2 * (own - 1) * weight / bandwidth) / own
                    stage = max(stage, cuts[end])
                    for m in range(own, number + 1):
                        least = max(stage, best[m - own][end])
                        if least < best[m][first]:
                            best[m][first] = least
        return best[number][0]


# Narayanan et al., SOSP 2019, Table 1: the replicas of the stages.
PUBLISHED = [("image_classification/profiles/alexnet", 16, (15, 1)),
             ("image_classification/profiles/resnet50", 16, (16,)),
             ("translation/profiles/gnmt", 4, (1, 1, 1, 1))]


def check_published(popliner, profiles):
    """The answer is what PipeDream's recurrence finds, and no published configuration is better by
    its formula, on links of 10 and 100 Gbit/s (cluster A has 10 between its servers)."""
    for name, number, replicas in PUBLISHED:
        path = os.path.join(profiles, name, "graph.txt")
        whole = run(popliner, path, "--num-ipus", "1", "--objective", "ipus")
        graph = Graph(path, whole["stages"][0]["layers"])
        for bandwidth in (1_250_000, 12_500_000):  # bytes in a ms
            answer = run(popliner, path, "--num-ipus", str(number), "--objective", "cycles",
                         "--bandwidth", f"{bandwidth // 2},replicas={bandwidth}")
            first, least = 0, 0
            for stage in answer["stages"]:
                end = first + len(stage["layers"])
                least = max(least, graph.stage(first, end, stage["replicas"], bandwidth),
                            2 * graph.cuts[end] / Fraction(bandwidth) if end < graph.size else 0)
                first = end
            assert first == graph.size and abs(least - answer["totals"]["cycles"]) < 1e-8, \
                (name, float(least), float(answer["totals"]["cycles"]))
            published = graph.best_cuts(replicas, Fraction(bandwidth))
            assert least <= published, (name, bandwidth, float(least), float(published))
            other = graph.optimum(number, bandwidth)
            assert abs(other - least) < 1e-6, (name, bandwidth, float(least), other)
            own = "-".join(str(stage["replicas"]) for stage in answer["stages"])
            print(f"{name.split('/')[-1]} on {number}, {bandwidth} bytes/ms: "
                  f"{'-'.join(map(str, replicas))} {float(published):.3f} ms, "
                  f"popliner {own} {float(least):.3f} ms")


def main():
    popliner, profiles = sys.argv[1], sys.argv[2]
    if os.path.isdir(profiles):
        check_published(popliner, profiles)
    else:
        print(f"Skipped: PipeDream's profiles are not in {profiles}")


if __name__ == "__main__":
    main()
