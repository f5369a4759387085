#!/usr/bin/env python3
"""--device-map any against every order of the devices and every split, by plain_solver.py.

    device_order_test.py POPLINER

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases
import plain_solver

SPEEDS = [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2)]


def draw(rng):
    """A file of costs, and a request whose devices are of some kinds."""
    names = "abcdefg"[: rng.randint(2, 7)]
    units = [{"name": name, "memory": rng.randint(0, 20), "cycles": rng.randint(0, 30),
              "stash": rng.randint(0, 4)} for name in names]
    shared = [{"units": sorted(rng.sample(names, 2)), "memory": rng.randint(1, 15)}
              for _ in range(rng.randint(0, 2))]
    costs = {"format": "popliner-costs", "version": 1, "units": units, "shared": shared,
             "cuts": [rng.randint(0, 9) for _ in names[1:]],
             "cut_cycles": [rng.randint(0, 3) for _ in names[1:]]}
    num_ipus = rng.randint(1, 4)
    kinds = [(rng.randint(8, 70), rng.choice(SPEEDS)) for _ in range(rng.randint(1, 3))]
    devices = [rng.choice(kinds) for _ in range(num_ipus)]
    goals = ["memory", "cycles", "traffic", "ipus"] + ["headroom"] * (num_ipus <= len(names))
    rule = rng.choice([None, None, "1f1b", "1f1b+1", "gpipe", "popart"])
    request = plain_solver.Request(
        num_ipus=num_ipus, memories={i: it[0] for i, it in enumerate(devices)},
        speeds={i: it[1] for i, it in enumerate(devices)},
        objectives=tuple(rng.sample(goals, rng.randint(1, 3))),
        together=[] if rng.random() < 0.8 else [tuple(sorted(rng.sample(range(len(names)), 2)))],
        max_layers=rng.choice([None, None, 2, 3]))
    if request.objectives[0] == "traffic" and rng.random() < 0.7:
        request.objectives = ("cycles",)
    if rule == "popart":
        request.schedule = rule
    elif rule is not None:
        request.copies, request.more_copies = rule.split("+")[0], int(rule.endswith("+1"))
        request.micro_batches = rng.randint(1, 5)
    return costs, request


def ask(popliner, path, costs, request):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(costs, file)
    names = [unit["name"] for unit in costs["units"]]
    command = [popliner, "-q", path, "--solve", "--format", "json", "--device-map", "any",
               "--num-ipus", str(request.num_ipus), "--objective", ",".join(request.objectives),
               "--mem-per-tile", ",".join(f"{i}={b}" for i, b in request.memories.items()),
               "--ipu-speed", ",".join(f"{i}={float(s)}" for i, s in request.speeds.items())]
    for a, b in request.together:
        command += ["--require", f"together:{names[a]},{names[b]}"]
    if request.max_layers is not None:
        command += ["--require", f"layers:..{request.max_layers}"]
    if request.schedule != "none":
        command += ["--schedule", request.schedule]
    elif request.copies is not None:
        command += ["--schedule", request.copies + "+1" * request.more_copies,
                    "--micro-batches", str(request.micro_batches)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), f"{command}: {done.stderr}"
    return json.loads(done.stdout)


def check(costs, request, answer):
    """Whether something fits, and whether the devices' own order would have been worse."""
    own_costs = plain_solver.Costs(costs)
    best, best_in_order = None, None
    for count in range(1, request.num_ipus + 1):
        for order in itertools.permutations(range(request.num_ipus), count):
            own = plain_solver.Request(**{**vars(request), "device_map": list(order)})
            for split in plain_solver.splits(own_costs, own):
                if not plain_solver.fits(own, split):
                    continue
                values = split.values(request.objectives)
                best = values if best is None else min(best, values)
                if order == tuple(range(count)):
                    best_in_order = values if best_in_order is None else min(best_in_order, values)
    if best is None:
        assert answer["status"] == "infeasible", answer
        return False, False
    assert answer["status"] == "optimal", (best, answer["status"])
    told = [abs(it["value"]) for it in answer["objectives"]]
    assert told == [abs(it) for it in best], (best, told, answer["stages"])
    devices = [stage["ipu"] for stage in answer["stages"]]
    assert len(set(devices)) == len(devices) and max(devices) < request.num_ipus, devices
    return True, best != best_in_order


def check_refusals(popliner, path):
    """What an order does not go with is refused by name, and what does not fit has a reason."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,memory,forward,backward,stash\na,5,1,2,1\nb,5,1,2,1\nc,5,1,2,1\n")
    for options in (["--slack", "5"], ["--require", "place:a=1"], ["--schedule", "zero-bubble"],
                    ["--bandwidth", "5"], ["--pareto", "memory,cycles"], ["--num-ipus", "1..2"],
                    ["--objective", "balance"], ["--evaluate", "a"]):
        action = [] if options[0] == "--evaluate" else ["--solve"]
        done = subprocess.run([popliner, path, *action, "--device-map", "any", *options],
                              capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 2 and options[0] in done.stderr and \
            "not with --device-map any" in " ".join(done.stderr.split()), (options, done.stderr)
    done = subprocess.run([popliner, path, "--solve", "--device-map", "any", "--mem-per-tile", "4",
                           "--num-ipus", "3"], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 1 and "in any order of the devices" in done.stderr, done.stderr
    assert "It would fit with --mem-per-tile 5" in done.stderr, done.stderr


def main():
    popliner = sys.argv[1]
    number = cases.chosen(100, 400, 2000)
    with tempfile.TemporaryDirectory() as directory:
        check_refusals(popliner, os.path.join(directory, "costs.csv"))
        path = os.path.join(directory, "costs.json")
        fitting, reordered = cases.each_seed(number, draw, lambda costs, request: check(
            costs, request, ask(popliner, path, costs, request)))
    if not number / 3 < fitting < number or reordered < number / 10:
        sys.exit(f"{fitting} of {number} fit, in {reordered} another order is better")
    print(f"{number} files, {fitting} fit, in {reordered} another order is better")


if __name__ == "__main__":
    main()
