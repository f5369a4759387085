#!/usr/bin/env python3
"""--device-map replicas against every split and all replicas of its stages, by plain_solver.py, and
against the configurations that PipeDream published, by the formula of its paper.

    stage_replicas_test.py POPLINER PROFILES

PROFILES is the folder "profiler" of PipeDream's repository. Without it only the first part is done.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases
import plain_solver


def run(popliner, path, *words):
    done = subprocess.run([popliner, "-q", path, "--solve", "--format", "json", "--device-map",
                           "replicas", *words], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), f"{words}: {done.stderr}"
    return json.loads(done.stdout, parse_float=Fraction)


# ---- files at random ----

def draw(rng):
    """A file of costs, and a request."""
    names = "abcdef"[: rng.randint(1, 6)]
    num_regions = rng.choice([1, 1, 2, 3])

    def bytes_(most):
        return [rng.randint(0, most) for _ in range(num_regions)] if num_regions > 1 else \
            rng.randint(0, most)

    units = [{"name": name, "memory": bytes_(20), "cycles": rng.randint(0, 40),
              "stash": bytes_(6), "parameters": rng.randint(0, 60)} for name in names]
    shared = [{"units": sorted(rng.sample(names, 2)), "memory": rng.randint(1, 15)}
              for _ in range(rng.randint(0, 2)) if len(names) > 1]
    costs = {"format": "popliner-costs", "version": 1, "units": units, "shared": shared,
             "regions": [{"name": str(i), "capacity": rng.randint(40, 120)} if rng.random() < 0.3
                         else str(i) for i in range(num_regions)],
             "cuts": [rng.randint(0, 9) for _ in names[1:]],
             "cut_cycles": [rng.randint(0, 3) for _ in names[1:]]}
    goals = ["memory", "cycles", "traffic", "ipus"]
    request = plain_solver.Request(
        num_ipus=rng.randint(1, 8 if len(names) < 5 else 6), has_replicas=True,
        memory=rng.choice([None, rng.randint(15, 90)]),
        bandwidth=rng.choice([None, None, Fraction(rng.randint(1, 40), 4)]),
        replica_bandwidth=rng.choice([None, Fraction(rng.randint(1, 80), 4)]),
        objectives=tuple(rng.sample(goals, rng.randint(1, 4))),
        together=[] if rng.random() < 0.8 or len(names) < 2 else
        [tuple(sorted(rng.sample(range(len(names)), 2)))],
        max_layers=rng.choice([None, None, 2, 3]))
    if request.objectives[0] in ("traffic", "ipus") and rng.random() < 0.7:
        request.objectives = ("cycles", "memory")
    rule = rng.choice([None, None, "1f1b", "1f1b", "1f1b+1", "gpipe", "popart", "list"])
    if rule == "popart":
        request.schedule = rule
    elif rule == "list":
        request.copies = [0, rng.randint(0, 2)], True
        request.copies[0].append(request.copies[0][1] + rng.randint(0, 2))
    elif rule is not None:
        request.copies, request.more_copies = rule.split("+")[0], int(rule.endswith("+1"))
        request.micro_batches = rng.randint(1, 9)
    return costs, request


def ask(popliner, path, costs, request):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(costs, file)
    names = [unit["name"] for unit in costs["units"]]
    words = ["--num-ipus", str(request.num_ipus), "--objective", ",".join(request.objectives)]
    if request.memory is not None:
        words += ["--mem-per-tile", str(request.memory)]
    bandwidths = [str(float(request.bandwidth))] if request.bandwidth is not None else []
    if request.replica_bandwidth is not None:
        bandwidths.append(f"replicas={float(request.replica_bandwidth)}")
    words += ["--bandwidth", ",".join(bandwidths)] if bandwidths else []
    for a, b in request.together:
        words += ["--require", f"together:{names[a]},{names[b]}"]
    if request.max_layers is not None:
        words += ["--require", f"layers:..{request.max_layers}"]
    if request.schedule != "none":
        words += ["--schedule", request.schedule]
    elif isinstance(request.copies, tuple):
        words += ["--schedule", "none:" + ",".join(map(str, request.copies[0])) + ",..."]
    elif request.copies is not None:
        words += ["--schedule", request.copies + "+1" * request.more_copies,
                  "--micro-batches", str(request.micro_batches)]
    return run(popliner, path, *words)


def check(costs, request, answer):
    """Whether something fits, and whether some stage has several devices."""
    own = plain_solver.Costs(costs)
    fitting = [split for split in plain_solver.splits(own, request)
               if plain_solver.fits(request, split)]
    if not fitting:
        assert answer["status"] == "infeasible", answer["status"]
        return False, False
    split, values, _ = plain_solver.best_of(fitting, request.objectives)
    assert answer["status"] == "optimal", (values, answer["status"])
    assert [it["value"] for it in answer["objectives"]] == values, (values, answer["objectives"])
    assert [it["bound"] for it in answer["objectives"]] == values, answer["objectives"]
    told = [(own.names.index(it["layer_from"]), own.names.index(it["layer_to"]) + 1, it["ipu"],
             it["replicas"], it["mem"]["max_tile_mem"], it["cycles"], it["cut_bytes"],
             it.get("link_cycles", 0)) for it in answer["stages"]]
    expected = [(s.first, s.end, s.device, s.replicas, s.memory, s.cycles, s.cut, s.link)
                for s in split.stages]
    assert told == expected, (told, expected)
    totals = answer["totals"]
    assert (totals["ipus"], totals["cycles"], totals["memory"], totals["traffic"]) == \
        tuple(split.values(("ipus", "cycles", "memory", "traffic"))), totals
    return True, any(stage.replicas > 1 for stage in split.stages)


def check_refusals(popliner, path):
    """What replicas of stages do not go with is refused by name."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,memory,forward,backward,stash\na,5,1,2,1\nb,5,1,2,1\nc,5,1,2,1\n")
    for options in (["--slack", "5"], ["--require", "place:a=1"], ["--schedule", "zero-bubble"],
                    ["--bandwidth", "5,0-1=3"], ["--pareto", "memory,cycles"],
                    ["--num-ipus", "1..2"], ["--objective", "balance"], ["--ipu-speed", "0=2"],
                    ["--output", "megatron"], ["--solver", "ilp"],
                    ["--mem-per-tile", "1=20"]):
        done = subprocess.run([popliner, path, "--solve", "--device-map", "replicas", *options],
                              capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 2 and options[0] in done.stderr and \
            "not with --device-map replicas" in " ".join(done.stderr.split()), \
            (options, done.stderr)
    done = subprocess.run([popliner, path, "--solve", "--device-map", "replicas", "--num-ipus", "3",
                           "--mem-per-tile", "4"], capture_output=True,
                           encoding="utf-8", check=False)
    assert done.returncode == 1, done.stderr
    assert "It would fit with --mem-per-tile 5" in done.stderr, done.stderr
    done = subprocess.run([popliner, path, "-q", "--solve", "--device-map", "replicas",
                           "--num-ipus", "3", "--micro-batches", "4", "--require",
                           "layers:3..3", "--format", "text"],
                          capture_output=True, encoding="utf-8", check=True)
    assert re.search(r"^> +0 +0-2 +a to c ", done.stdout, re.M), done.stdout
    assert "stages with replicas" in " ".join(done.stdout.split()), done.stdout
    assert "--output" not in done.stdout, done.stdout


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
    number = cases.chosen(100, 400, 2000)
    with tempfile.TemporaryDirectory() as directory:
        check_refusals(popliner, os.path.join(directory, "costs.csv"))
        path = os.path.join(directory, "costs.json")
        fitting, replicated = cases.each_seed(number, draw, lambda costs, request: check(
            costs, request, ask(popliner, path, costs, request)))
    if not number / 3 < fitting < number or replicated < number / 4:
        sys.exit(f"{fitting} of {number} fit, {replicated} with replicas")
    print(f"{number} files, {fitting} fit, {replicated} with replicas")
    if os.path.isdir(profiles):
        check_published(popliner, profiles)
    else:
        print(f"[  SKIPPED ] PipeDream's profiles are not in {profiles}")


if __name__ == "__main__":
    main()
