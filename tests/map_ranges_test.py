#!/usr/bin/env python3
"""Ranges and Pareto fronts where stages share IPUs, against plain_solver.py, over every split of
small random files of costs.

    map_ranges_test.py POPLINER

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases
import plain_solver
from plain_solver import Request

LISTS = ["memory,traffic", "cycles,memory", "traffic,cycles", "memory,cycles,traffic", "headroom",
         "headroom,traffic", "cycles,balance,memory", "memory,balance,cycles"]
SCHEDULES = {None: (None, "none"), "1f1b": ("1f1b", "none"), "zero-bubble": ("zero-bubble", "none"),
             "interleaved": ("interleaved", "none"), "popart": (None, "popart")}


def draw_file(rng):
    count = rng.randrange(3, 9)
    names = [f"u{i}" for i in range(count)]
    return {"format": "popliner-costs", "version": 1,
            "units": [{"name": name, "memory": rng.randrange(20), "cycles": rng.randrange(20),
                       "stash": rng.randrange(6)} for name in names],
            "shared": [{"units": sorted(rng.sample(names, 2)), "memory": rng.randrange(9)}],
            "cuts": [rng.randrange(30) for _ in range(count - 1)]}


def map_of(shape, num_ipus):
    if shape == "v":
        return [*range(num_ipus), *reversed(range(num_ipus))]
    return list(range(num_ipus)) * int(shape.partition(":")[2])


def draw_ipus(rng, count, request, words):
    """Speeds of IPUs and bandwidths of links; those of a range may be of IPUs that some rows lack."""
    if rng.random() < 0.3:
        request["speeds"] = {rng.randrange(count): rng.choice([Fraction(1, 2), Fraction(5, 4)])}
        words += [f"--ipu-speed={ipu}={float(own)}" for ipu, own in request["speeds"].items()]
    if rng.random() < 0.5:
        request["bandwidth"] = Fraction(rng.choice(["3", "7", "0.5"]))
        words.append(f"--bandwidth={float(request['bandwidth'])}")
    if rng.random() < 0.4 and count > 1:
        first = rng.randrange(count - 1)
        request["links"] = {frozenset((first, first + 1)): Fraction(2)}
        words.append(f"--bandwidth={first + 1}-{first}=2")


def check(popliner, path, seed, seen):
    rng = random.Random(seed)
    file = draw_file(rng)
    names = [unit["name"] for unit in file["units"]]
    shape = rng.choice(["v", "interleaved:1", "interleaved:2", "interleaved:2", "interleaved:3"])
    schedule = rng.choice(list(SCHEDULES))
    if schedule == "interleaved" and shape == "interleaved:1":
        shape = "interleaved:2"
    copies, order = SCHEDULES[schedule]
    objectives = rng.choice(LISTS)
    limit = rng.choice([None, rng.randrange(20, 120)]) if "headroom" not in objectives else \
        rng.randrange(30, 120)
    what = rng.choice(["num-ipus", "num-ipus", "mem-per-tile", "pareto"])
    usual_ipus = rng.randrange(1, 4)
    request = {"memory": limit, "copies": copies, "schedule": order,
               "objectives": tuple(objectives.split(","))}
    words = [f"--device-map={shape}"]
    if schedule is not None:
        more = rng.randrange(2) if copies is not None else 0
        request["more_copies"] = more
        words.append(f"--schedule={schedule}" + "+1" * more)
    if copies is not None and rng.random() < 0.5:
        request["micro_batches"] = rng.randrange(1, 9)
        words.append(f"--micro-batches={request['micro_batches']}")
    if rng.random() < 0.3:
        pair = tuple(rng.sample(range(len(names)), 2))
        request["together"] = [pair]
        words.append("--require=together:" + ",".join(names[i] for i in pair))
    if limit is not None and what != "mem-per-tile":
        words.append(f"--mem-per-tile={limit}")
    if what == "num-ipus":
        first, last = sorted(rng.sample(range(1, 6), 2))
        values = range(first, last + 1)
        words.append(f"--num-ipus={first}..{last}")
        draw_ipus(rng, last, request, words)
    else:
        draw_ipus(rng, usual_ipus, request, words)
        words.append(f"--num-ipus={usual_ipus}")
    if what == "mem-per-tile":
        values = range(20, 101, 20)
        words.append("--mem-per-tile=20..100:20")
    if what == "pareto":
        request["objectives"] = rng.choice([("memory", "cycles"), ("cycles", "traffic"),
                                            ("memory", "traffic", "cycles")])
        words.append("--pareto=" + ",".join(request["objectives"]))
    else:
        words.append("--objective=" + objectives)
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)
    run = subprocess.run([popliner, path, "--solve", "-q", "--format=json", *words],
                         capture_output=True, encoding="utf-8", check=False)
    told = f"{seed}: {' '.join(words)}\n{json.dumps(file)}\n{run.stdout}{run.stderr}"
    costs = plain_solver.Costs(file)
    if what == "pareto":
        request["device_map"] = map_of(shape, usual_ipus)
        points = plain_solver.front_of(costs, Request(**request))
        expected = [(True, (*point[:2], None), None) for point in points]
    else:
        expected = []
        for value in values:
            request["device_map"] = map_of(shape, value if what == "num-ipus" else usual_ipus)
            request["memory"] = value if what == "mem-per-tile" else limit
            asked = Request(**request)
            expected.append((*plain_solver.solve(costs, asked), asked))
    assert run.returncode == (0 if any(fits for fits, _, _ in expected) else 1), told
    results = json.loads(run.stdout)["results"]
    assert len(results) == len(expected), told
    for own, (fits, best, asked) in zip(results, expected):
        assert own["status"] == ("optimal" if fits else "infeasible"), told
        if best is None:
            assert own["stages"] == [], told
            continue
        split, best_values, bounds = best
        if split.shares():  # any of the equally good ones: none, or the solver's own cuts
            cuts = tuple(names.index(it["from"]) for it in own["stages"][1:])
            split = plain_solver.solve(costs, asked, cuts)[1][0] if asked and fits else None
        if split is not None:
            assert [(it["ipu"], it["from"], it["to"]) for it in own["stages"]] == [
                (it.device, names[it.first], names[it.end - 1]) for it in split.stages], told
        # of best efforts on shared devices, which are equally good in memory, any may be the answer
        counts = [fits or not best[0].shares() or it["name"] == "memory"
                  for it in own["objectives"]]
        assert not all(counts) or own["used"] == best[0].value("ipus"), told
        assert [it["value"] for it, does in zip(own["objectives"], counts) if does] == [
            abs(value) for value, does in zip(best_values, counts) if does], told
        if fits and bounds is not None:
            assert [it["bound"] for it in own["objectives"]] == list(map(abs, bounds)), told
        key = (what, "fits" if fits else "does not")
        seen[key] = seen.get(key, 0) + 1


def main():
    count = cases.chosen(60, 300, 1500)
    seen = {}
    with tempfile.TemporaryDirectory() as scratch:
        for seed in range(count):
            check(sys.argv[1], os.path.join(scratch, "costs.json"), seed, seen)
    assert len(seen) >= 4, seen
    print(f"{count} instances, of which rows: {seen}")


if __name__ == "__main__":
    main()
