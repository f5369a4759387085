#!/usr/bin/env python3
"""--evaluate of files of costs: random splits under several options at once.

    given_split_test.py POPLINER

Each answer is that of plain_solver.py, which is written from the documents, and has the numbers of
--solve with every cut required or forbidden. Tables of layers as CSV are drawn, too.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

import cases
import option_pairs_test as pairs
import plain_solver

# What may be given together: at most one of each line.
GROUPS = [
    ["--objective", "--objective balance"],
    ["--mem-per-tile"], ["--mem-per-tile I="], ["--ipu-speed"], ["--bandwidth"],
    ["--schedule", "--schedule RULE", "--schedule gpipe", "--micro-batches"],
    ["--recompute full"], ["--reserve BYTES", "--reserve PERCENT"], ["--device-map, shared"],
]
COLUMNS = ("name", "layer", "memory", "stash", "inputs", "parameters")


def draw_options(rng, world, cuts, num_regions):
    options = {}
    for group in GROUPS:
        if rng.random() < 0.35:
            drawn = pairs.ITEMS[rng.choice(group)](rng, world)
            options.update({key: own for key, own in drawn.items() if key not in options})
    if rng.random() < 0.2 and num_regions == 1:
        options.update(recompute="auto", schedule="popart")
    if not {"mem-per-tile", "ipu-mem-per-tile"} & set(options) and \
            not {"memory", "memories"} & set(world.devices):
        options.pop("reserve", None)
    if "device-map" in options:
        options["device-map"] = ",".join(str(rng.randrange(3)) for _ in range(len(cuts) + 1))
    if options.get("recompute") == "auto":
        for key in ("objective", "ipu-speed", "link-bandwidth", "device-map"):
            options.pop(key, None)
    if "recompute" in options and options.get("schedule", "none") == "none" and \
            "copies" not in options:
        options["schedule"] = "tf-grouped"
    used = len(set(options["device-map"].split(","))) if "device-map" in options else len(cuts) + 1
    if used < 2 or "device-map" in options:  # of devices that no stage is on nothing is said
        options.pop("ipu-speed", None)
    if used < 2:
        options.pop("link-bandwidth", None)
    return {**options, "evaluate": "|".join(world.names[cut - 1] for cut in cuts) or "whole"}


def write_table(document, path):
    """The units as CSV; what a table has no column for is left out of the document."""
    for key in ("regions", "shared", "cut_cycles"):
        document.pop(key, None)
    document["devices"] = {}
    for unit in document["units"]:
        unit.pop("variants", None)
        unit["recompute_cycles"] = 0
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*COLUMNS, "time (ms)", "cut"])
        for unit, cut in zip(document["units"], [*document["cuts"], ""]):
            writer.writerow([*(str(unit[key]).lower() for key in COLUMNS), unit["cycles"], cut])


def draw(rng, scratch):
    """(file, world, costs) of random units."""
    is_table = rng.random() < 0.3
    path = os.path.join(scratch, "costs.csv" if is_table else "costs.json")
    document = pairs.draw_costs(rng, path, 1 if is_table or rng.random() < 0.6 else 2)
    document["devices"].pop("count", None)
    if is_table:
        write_table(document, path)
    else:
        if rng.random() < 0.3:
            document["devices"]["memories"] = {"0": rng.randrange(100, 500)}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
    costs = plain_solver.Costs(document)
    world = pairs.World(pairs.COSTS, costs.names, costs.is_layer, scratch, 120, document["devices"])
    world.gaps = lambda options: 0
    return path, world, costs


def run(popliner, path, *words):
    done = subprocess.run([popliner, "-q", path, "--format=json", *words], capture_output=True,
                          encoding="utf-8")
    if done.returncode not in (0, 1):
        raise AssertionError(f"{words}: {done.stderr}")
    return done


def solved(popliner, path, world, options, cuts):
    """The same by --solve, with a rule for every place."""
    rules = [f"--require={'cut' if unit in cuts else 'no-cut'}:{world.names[unit - 1]}"
             for unit in range(1, len(world.names))]
    own = {key: value for key, value in options.items() if key != "evaluate"}
    if "device-map" not in own:
        own["num-ipus"] = len(cuts) + 1
    return pairs.load(run(popliner, path, "--solve", "--require=layers:0..", *rules,
                          *pairs.words_of(own)).stdout)


def check(popliner, scratch, seed):
    rng = random.Random(seed)
    path, world, costs = draw(rng, scratch)
    cuts = sorted(rng.sample(range(1, len(costs.names)), rng.randrange(len(costs.names))))
    options = draw_options(rng, world, cuts, costs.num_regions)
    done = run(popliner, path, *pairs.words_of(options))
    pairs.Check(world, costs, {**options, "format": "json"}, done).whole()
    told, other = pairs.load(done.stdout), solved(popliner, path, world, options, cuts)
    for key in ("status", "time_unit", "objectives", "totals", "stages", "bottleneck"):
        own = [told[key], other[key]]
        if key == "objectives":  # the method that has the proof is no number
            own = [[(o["name"], o["value"], o["bound"]) for o in side] for side in own]
        pairs.expect(own[0], own[1], f"{key}, as --solve has it")
    why = [side["infeasibility"] and side["infeasibility"]["enough_mem_per_tile"]
           for side in (told, other)]
    pairs.expect(why[0], why[1], "enough_mem_per_tile")
    return told["status"]


CHAIN = """node1 -- A -- forward_compute_time=1.5, backward_compute_time=2.5, \
activation_size=8.0, parameter_size=40.0
node2 -- B -- forward_compute_time=1.0, backward_compute_time=2.0, \
activation_size=[3.0; 4.0], parameter_size=10.0
node3 -- C -- forward_compute_time=3.0, backward_compute_time=4.0, \
activation_size=2.0, parameter_size=60.0
\tnode1 -- node2
\tnode2 -- node3
\tnode1 -- node3
"""


def check_graphs(popliner, scratch):
    """By hand: a PipeDream profile, and graphs with one order of their nodes and with several."""
    path = os.path.join(scratch, "graph")
    with open(path, "w", encoding="ascii") as file:
        file.write(CHAIN)
    names = [own["name"] if isinstance(own, dict) else own for own in pairs.load(
        run(popliner, path, "--evaluate=whole").stdout)["stages"][0]["layers"]]
    for cut, stages, traffic in ((1, [(40, 4), (70, 10)], 8), (2, [(50, 7), (60, 7)], 15)):
        told = pairs.load(run(popliner, path, "--evaluate=" + names[cut - 1]).stdout)
        pairs.expect([(s["mem"]["max_tile_mem"], s["cycles"]) for s in told["stages"]], stages, cut)
        pairs.expect(told["totals"]["traffic"], traffic, "traffic")
    for edges, status in (([(0, 1), (1, 2)], 0), ([(0, 2), (1, 2)], 2)):
        nodes = [{"id": i, "supportedOnFpga": 1, "cpuLatency": 9, "isBackwardNode": 0,
                  "fpgaLatency": i + 1, "size": 10 * i + 10} for i in range(3)]
        with open(path, "w", encoding="ascii") as file:
            json.dump({"maxSizePerFPGA": 90, "maxFPGAs": 3, "maxCPUs": 0, "nodes": nodes, "edges": [
                {"sourceId": a, "destId": b, "cost": 0.5} for a, b in edges]}, file)
        done = subprocess.run([popliner, "-q", path, "--format=json", "--evaluate=node0"],
                              capture_output=True, encoding="utf-8")
        pairs.expect(done.returncode, status, done.stderr)
        if status == 2:
            pairs.expect("several orders" in done.stderr, True, done.stderr)
        else:  # the cost of the cut counts in both stages
            pairs.expect([(s["mem"]["max_tile_mem"], s["cycles"])
                          for s in pairs.load(done.stdout)["stages"]],
                         [(10, 1.5), (50, 5.5)], "a chain")


def main():
    popliner = sys.argv[1]
    found, problems = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        check_graphs(popliner, scratch)
        for seed in range(cases.chosen(60, 200, 600)):
            try:
                status = check(popliner, scratch, seed)
                found[status] = found.get(status, 0) + 1
            except AssertionError as error:
                problems += 1
                print(f"seed {seed}: {error}"[:2000], flush=True)
    print(f"{problems} answers are wrong; {found}")
    return 1 if problems or len(found) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
