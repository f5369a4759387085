#!/usr/bin/env python3
"""Devices that differ in memory, speed and links, against plain_solver.py, over every split of
small random files of costs.

    devices_test.py POPLINER

The full run takes many times as many.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases
import plain_solver
from plain_solver import Request, decimal

LISTS = ["cycles", "cycles,traffic", "memory,cycles", "cycles,balance", "traffic,cycles",
         "cycles,balance,memory", "cycles,memory,balance", "ipus,cycles", "memory,balance,cycles",
         "balance,cycles"]


def draw_times(rng, count, is_whole):
    return [rng.randrange(30) if is_whole else round(rng.random() * 8, rng.randrange(1, 5))
            for _ in range(count)]


def draw_bandwidth(rng):
    return rng.choice([1, 2, 3, 7, 64, 0.5, 2.5, 0.3, 12.75])


def draw_file(rng):
    """A file of costs, and how many devices it has."""
    count = rng.randrange(2, 8)
    is_whole = rng.random() < 0.6
    times = draw_times(rng, count, is_whole)
    file = {"format": "popliner-costs", "version": 1,
            "units": [{"name": "u%d" % i, "memory": rng.randrange(20), "cycles": times[i]}
                      for i in range(count)]}
    num_devices = rng.randrange(1, 5)
    devices = {"count": num_devices}
    if rng.random() < 0.9:
        file["cuts"] = [rng.randrange(60) for _ in range(count - 1)]
    if rng.random() < 0.3:
        file["cut_cycles"] = draw_times(rng, count - 1, is_whole)
    if rng.random() < 0.3:
        devices["memory"] = rng.randrange(10, 80)
    if rng.random() < 0.4:
        devices["memories"] = {
            str(d): rng.randrange(5, 60)
            for d in rng.sample(range(num_devices), rng.randrange(1, num_devices + 1))}
    if rng.random() < 0.5:
        devices["speeds"] = {str(d): rng.choice([0.5, 2, 0.3, 1.25])
                             for d in rng.sample(range(num_devices), rng.randrange(num_devices))}
    if rng.random() < 0.7:
        devices["bandwidth"] = draw_bandwidth(rng)
    pairs = list(itertools.combinations(range(num_devices), 2))
    if rng.random() < 0.7:
        devices["links"] = {}
        for pair in rng.sample(pairs, rng.randrange(len(pairs) + 1)):
            key = pair if rng.random() < 0.5 else pair[::-1]
            devices["links"]["%d-%d" % key] = draw_bandwidth(rng)
    file["devices"] = devices
    return file


def request_of(file, options, objectives):
    """What the file and the options ask, the latter before the former."""
    told = file["devices"]
    bandwidth = options["bandwidth"] or told.get("bandwidth")
    links = {frozenset(map(int, key.split("-"))): decimal(bytes_) for key, bytes_ in
             [*told.get("links", {}).items(), *options["links"].items()]}
    speeds = {int(d): decimal(speed) for d, speed in told.get("speeds", {}).items()}
    return Request(num_ipus=told["count"], device_map=options["map"], memory=told.get("memory"),
                   memories={int(d): bytes_ for d, bytes_ in told.get("memories", {}).items()},
                   speeds={**speeds, **options["speeds"]},
                   bandwidth=bandwidth and decimal(bandwidth), links=links,
                   objectives=tuple(objectives), slack=options["slack"])


def draw_options(rng, file):
    """Options that say something else than the file, and their words."""
    count = file["devices"]["count"]
    options = {"speeds": {}, "bandwidth": None, "links": {}, "map": None,
               "slack": rng.choice([0, 0, 0, 25, 100])}
    words = []
    shape = rng.random()
    if shape < 0.2:
        options["map"] = rng.sample(range(count), count)[:rng.randrange(1, len(file["units"]) + 1)]
    elif shape < 0.4:
        options["map"] = [rng.randrange(count) for _ in range(rng.randrange(1, 6))]
    elif shape < 0.5:
        options["map"] = [*range(count), *reversed(range(count))]
        words += ["--device-map=v", f"--num-ipus={count}"]
    elif shape < 0.6:
        rounds = rng.randrange(1, 4)
        options["map"] = list(range(count)) * rounds
        words += [f"--device-map=interleaved:{rounds}", f"--num-ipus={count}"]
    if shape < 0.4:
        words.append("--device-map=" + ",".join(map(str, options["map"])))
    places = options["map"] or list(range(count))
    if rng.random() < 0.3:
        options["speeds"] = {rng.choice(places): Fraction(3, 2)}
        words += ["--ipu-speed=%d=1.5" % d for d in options["speeds"]]
    texts = []
    if rng.random() < 0.3:
        options["bandwidth"] = draw_bandwidth(rng)
        texts.append(str(options["bandwidth"]))
    neighbours = [pair for pair in zip(places, places[1:]) if pair[0] != pair[1]]
    if rng.random() < 0.4 and neighbours:
        pair = rng.choice(neighbours)
        pair = "%d-%d" % rng.choice([pair, pair[::-1]])
        options["links"] = {pair: draw_bandwidth(rng)}
        texts.append("%s=%s" % (pair, options["links"][pair]))
    rng.shuffle(texts)
    if texts and rng.random() < 0.5:
        words.append("--bandwidth=" + ",".join(texts))
    else:
        words += ["--bandwidth=" + text for text in texts]
    if options["slack"] > 0:
        words.append("--slack=%d" % options["slack"])
    return options, words


def parts(number, scale):
    return round(decimal(number) * scale)


def check(popliner, solvers, path, seed):
    """Whether it fits."""
    rng = random.Random(seed)
    file = draw_file(rng)
    options, words = draw_options(rng, file)
    objectives = rng.choice(LISTS).split(",")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)
    devices = options["map"] or []
    solver = rng.choice([own for own in solvers if own == "auto" or len({*devices}) == len(devices)])
    words = ["--solve", "--format=json", "-q", "--solver=" + solver,
             "--objective=" + ",".join(objectives)] + words
    run = subprocess.run([popliner, path] + words, capture_output=True, encoding="utf-8")
    told = "%d: %s\n%s\n%s%s" % (seed, " ".join(words), json.dumps(file), run.stdout, run.stderr)
    costs = plain_solver.Costs(file)
    objectives = plain_solver.completed(objectives, any(
        word.startswith("--device-map") for word in words))
    answer = json.loads(run.stdout)
    cuts = tuple(int(own["layer_from"][1:]) for own in answer["stages"][1:]) \
        if len({*devices}) < len(devices) else None
    fits, best = plain_solver.solve(costs, request_of(file, options, objectives), cuts)
    assert run.returncode == (0 if fits else 1), told
    if not fits:
        assert answer["status"] == "infeasible", told
        effort = best[0].stages if best else []
        assert [(own["ipu"], own["layer_from"], own["layer_to"], own["mem"]["max_tile_mem"])
                for own in answer["stages"]] == [
            (s.device, f"u{s.first}", f"u{s.end - 1}", s.memory) for s in effort], told
        return False
    split, values, bounds = best
    stages, scale = split.stages, costs.scale
    for i, own in enumerate(answer["objectives"]):
        is_time = objectives[i] == "cycles" or (objectives[i] == "balance" and
                                                "cycles" in objectives[:i])
        unit = scale if is_time else 1
        assert parts(own["value"], unit) == values[i], told
        assert parts(own["bound"], unit) == bounds[i], told
    assert len(answer["stages"]) == len(stages), told
    has_links = "link_cycles" in answer["stages"][0]
    assert has_links or all(stage.link == 0 for stage in stages), told
    for own, stage in zip(answer["stages"], stages):
        assert own["layer_from"] == f"u{stage.first}", told
        assert own["layer_to"] == f"u{stage.end - 1}", told
        assert own["ipu"] == stage.device and own["mem"]["max_tile_mem"] == stage.memory, told
        assert parts(own["cycles"], scale) == stage.cycles and own["cut_bytes"] == stage.cut, told
        assert not has_links or parts(own["link_cycles"], scale) == stage.link, told
    return True


def solvers_of(popliner, path):
    """Those that it was built with."""
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"format": "popliner-costs", "version": 1, "units": [{"name": "a", "memory": 1}]}, out)
    run = subprocess.run([popliner, path, "--solve", "-q", "--solver=ilp"],
                         capture_output=True, encoding="utf-8")
    if run.returncode == 2 and "without (POPLINER_GLPK=OFF)" in run.stderr:
        print("[  SKIPPED ] What needs GLPK: the command was built without it")
        return ["auto", "dp"]
    assert run.returncode == 0, run.stderr
    return ["auto", "dp", "ilp"]


def main(popliner):
    count = cases.chosen(120, 400, 2000)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "costs.json")
        solvers = solvers_of(popliner, path)
        num_fit = sum(check(popliner, solvers, path, seed) for seed in range(count))
    print("%d of %d files fit" % (num_fit, count))
    return 0 if count // 2 < num_fit < count * 9 // 10 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
