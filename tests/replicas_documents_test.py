#!/usr/bin/env python3
"""--total-ipus for files of costs against a second implementation by the words of docs/costs.md and
docs/internals/memory-models.md: every split, interleaved or not, with every number of replicas.

    replicas_documents_test.py POPLINER

The full run takes many times as many files.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import fractions
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

import cases

RULES = ["1f1b", "gpipe", "zero-bubble", "interleaved"]


def draw(rng):
    """A file of costs, and what is asked about it."""
    names = "abcdefg"[: rng.randint(3, 7)]
    units = [{"name": name, "memory": rng.randint(0, 20), "cycles": rng.randint(1, 30),
              "stash": rng.randint(0, 4), "parameters": rng.randint(0, 60)} for name in names]
    shared = [{"units": sorted(rng.sample(names, 2)), "memory": rng.randint(1, 15)}
              for _ in range(rng.randint(0, 2))]
    costs = {"format": "popliner-costs", "version": 1, "units": units, "shared": shared,
             "cut_cycles": [rng.randint(0, 3) for _ in names[1:]]}
    asked = {"total": rng.randint(1, 6), "chunks": rng.choice([1, 1, 2]), "copies": None, "more": 0,
             "memory": rng.choice([None, rng.randint(20, 120)]),
             "bandwidth": rng.choice([None, rng.randint(1, 9)])}
    if rng.random() < 0.7:
        asked["copies"] = rng.choice(RULES if asked["chunks"] > 1 else RULES[:3])
        asked["more"] = rng.randint(0, 1)
    key = rng.choice(["micro-batches", "batch"])
    asked[key] = rng.randint(1, 12)
    return costs, asked


def copies_of(asked, stage, num_ipus, batches):
    """The copies that stage `stage` keeps."""
    num_stages = num_ipus * asked["chunks"]
    behind = num_stages - 1 - stage
    if asked["copies"] is None:
        return 0
    turns = 2 * behind + 1
    under_way = {"1f1b": behind + 1, "gpipe": batches, "zero-bubble": num_stages,
                 "interleaved": num_ipus * (turns // num_stages) + min(turns % num_stages, num_ipus)}
    return min(under_way[asked["copies"]], batches) - 1 + asked["more"]


def worth(costs, asked, stages, num_ipus, batches):
    """Cycles, parameters and peak of the IPUs that have most."""
    units = costs["units"]
    loads = []
    for ipu in range(num_ipus):
        own = [k for k in range(len(stages)) if k % num_ipus == ipu]
        held = [u for k in own for u in stages[k]]
        peak = sum(units[u]["memory"] for u in held)
        peak += sum(s["memory"] for s in costs["shared"]
                    if any(units[u]["name"] in s["units"] for u in held))
        peak += sum(copies_of(asked, k, num_ipus, batches) * units[u]["stash"]
                    for k in own for u in stages[k])
        cycles = sum(units[u]["cycles"] for u in held)
        cycles += sum(costs["cut_cycles"][stages[k][0] - 1] for k in own if k > 0)
        cycles += sum(costs["cut_cycles"][stages[k][-1]] for k in own if k + 1 < len(stages))
        loads.append((cycles, sum(units[u]["parameters"] for u in held), peak))
    return [max(load[i] for load in loads) for i in range(3)]


def round_up(number):
    return -(-number.numerator // number.denominator)


def best_of(costs, asked, num_ipus):
    """(throughput, - IPUs, step cycles) of the best pipelines of so many IPUs, or None."""
    n, chunks = len(costs["units"]), asked["chunks"]
    found = []
    for replicas in range(1, asked["total"] // num_ipus + 1):
        if "batch" in asked and asked["batch"] % replicas:
            continue
        batches = asked.get("micro-batches") or asked["batch"] // replicas
        for cuts in itertools.combinations(range(1, n), num_ipus * chunks - 1):
            edges = [0, *cuts, n]
            stages = [list(range(a, b)) for a, b in zip(edges, edges[1:])]
            cycles, parameters, peak = worth(costs, asked, stages, num_ipus, batches)
            if asked["memory"] is not None and peak > asked["memory"]:
                continue
            step = round_up((batches + fractions.Fraction(num_ipus - 1, chunks)) * cycles)
            if asked["bandwidth"] is not None:
                step += round_up(fractions.Fraction(2 * (replicas - 1) * parameters,
                                                    replicas * asked["bandwidth"]))
            found.append((fractions.Fraction(replicas * batches, step), -replicas * num_ipus, step))
    return max(found, default=None)


def ask(popliner, costs, asked, directory):
    path = os.path.join(directory, "costs.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(costs, file)
    command = [popliner, "-q", "--costs", path, "--solve", "--format", "json",
               "--total-ipus", str(asked["total"]), "--interleave", str(asked["chunks"])]
    if asked["chunks"] == 1:
        command = command[:-2]
    for key, option in (("memory", "mem-per-tile"), ("bandwidth", "replica-bandwidth"),
                        ("micro-batches", "micro-batches"), ("batch", "batch")):
        if asked.get(key) is not None:
            command += ["--" + option, str(asked[key])]
    if asked["copies"] is not None:
        command += ["--copies", asked["copies"] + ("+1" if asked["more"] else "")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def check(costs, asked, answer):
    candidates = answer["candidates"]
    bests = [best_of(costs, asked, s) for s in range(1, len(candidates) + 1)]
    most = min(asked["total"], len(costs["units"]) // asked["chunks"])
    assert len(candidates) == most, (len(candidates), most)
    names = [unit["name"] for unit in costs["units"]]
    for own, expected in zip(candidates, bests):
        assert (expected is None) == (own["replicas"] == 0), (expected, own)
        if expected is None:
            continue
        throughput = fractions.Fraction(own["replicas"] * own["micro_batches"], own["step_cycles"])
        assert (throughput, -own["replicas"] * own["stages"]) == expected[:2], (expected, own)
        assert own["step_cycles"] == own["pipeline_cycles"] + own["all_reduce_cycles"]
        stages = [list(range(names.index(s["from"]), names.index(s["to"]) + 1))
                  for s in own["split"]]
        cycles, parameters, peak = worth(costs, asked, stages, own["stages"], own["micro_batches"])
        assert (own["cycles"], own["parameter_bytes"]) == (cycles, parameters), own
        assert max(s["max_tile_mem"] for s in own["split"]) == peak, own
        for stage, units in zip(own["split"], stages):
            assert stage["parameter_bytes"] == sum(costs["units"][u]["parameters"] for u in units)
    fitting = [i for i, best in enumerate(bests) if best is not None]
    expected = max(fitting, key=lambda i: (bests[i][0], bests[i][1], -i), default=None)
    assert answer["best"] == expected, (answer["best"], expected, bests)
    return expected is not None


def main():
    popliner = sys.argv[1]
    number = 2000 if cases.takes_all() else 80
    fitting = 0
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(number):
            costs, asked = draw(random.Random(seed))
            try:
                fitting += check(costs, asked, ask(popliner, costs, asked, directory))
            except AssertionError as error:
                sys.exit(f"seed {seed}: {json.dumps(costs)} {asked}: {error}")
    if not number / 2 < fitting < number:
        sys.exit(f"only {fitting} of {number} fit, or all")
    print(f"{number} files, of which {fitting} fit: as the documents say")


if __name__ == "__main__":
    main()
