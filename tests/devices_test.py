#!/usr/bin/env python3
"""Devices that differ in memory, speed and links, against a second implementation: docs/costs.md
word by word, in fractions, over every split of small random files of costs.

    devices_test.py POPLINER

The full run takes many times as many.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases

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
        devices["memories"] = {str(d): rng.randrange(10, 80)
                               for d in rng.sample(range(num_devices), 1)}
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


def decimal(number):
    """What is written, not the nearest double."""
    return Fraction(str(number))


def devices_of(file, options):
    """Capacity and speed of each device, the bandwidth of each link; None for no limit, no time."""
    told = file["devices"]
    count = told["count"]
    capacity = {d: told.get("memory") for d in range(count)}
    capacity.update({int(d): bytes for d, bytes in told.get("memories", {}).items()})
    speed = {d: Fraction(1) for d in range(count)}
    speed.update({int(d): decimal(s) for d, s in told.get("speeds", {}).items()})
    speed.update(options["speeds"])
    usual = options["bandwidth"] or told.get("bandwidth")
    links = {}
    for key, bytes in list(told.get("links", {}).items()) + list(options["links"].items()):
        a, b = key.split("-")
        links[frozenset((int(a), int(b)))] = decimal(bytes)
    bandwidth = {}
    for a, b in itertools.combinations(range(count), 2):
        pair = frozenset((a, b))
        bandwidth[pair] = links.get(pair, usual and decimal(usual))
    return capacity, speed, bandwidth


def scale_of(file):
    """The part of a time unit that is rounded to."""
    times = [u["cycles"] for u in file["units"]] + file.get("cut_cycles", [])
    return 1 if all(decimal(t).denominator == 1 for t in times) else 10 ** 9


def evaluate(file, options, ends):
    """Stages of a split, or None if one is too large: (first, end, device, memory, cycles, cut,
    link), cycles in rounded parts."""
    capacity, speed, bandwidth = devices_of(file, options)
    scale = scale_of(file)
    units = file["units"]
    cuts = [0] + file.get("cuts", [0] * (len(units) - 1)) + [0]
    cut_cycles = [0] + file.get("cut_cycles", [0] * (len(units) - 1)) + [0]
    places = options["map"] or range(len(ends))
    if options["map"] and len(ends) != len(options["map"]):
        return None
    stages, first, link = [], 0, 0
    for k, end in enumerate(ends):
        device = places[k]
        before = link
        link = 0
        if end < len(units):
            carries = bandwidth[frozenset((device, places[k + 1]))]
            link = math.ceil(cuts[end] * scale / carries) if carries else 0
        memory = sum(u["memory"] for u in units[first:end])
        if capacity[device] is not None and memory > capacity[device]:
            return None
        time = sum(decimal(u["cycles"]) for u in units[first:end])
        time += decimal(cut_cycles[first]) + decimal(cut_cycles[end])
        cycles = math.ceil(time * scale / speed[device]) + before + link
        stages.append((first, end, device, memory, cycles, cuts[end], link))
        first = end
    return stages


def values_of(stages, objectives):
    """What a split is worth by each of them."""
    memory, cycles = [s[3] for s in stages], [s[4] for s in stages]
    values = []
    for i, name in enumerate(objectives):
        spread = cycles if "cycles" in objectives[:i] else memory
        values.append({"memory": max(memory), "cycles": max(cycles), "ipus": len(stages),
                       "traffic": sum(s[5] for s in stages),
                       "balance": max(spread) - min(spread)}[name])
    return values


def best_of(file, options, objectives):
    """The best split, and the smallest value of each objective within those before it."""
    count = len(file["units"])
    fits = []
    for num_stages in range(1, file["devices"]["count"] + 1):
        for cuts in itertools.combinations(range(1, count), num_stages - 1):
            stages = evaluate(file, options, list(cuts) + [count])
            if stages is not None:
                fits.append((values_of(stages, objectives), cuts, stages))
    bounds = []
    for i in range(len(objectives)):
        if not fits:
            return None
        bounds.append(min(values[i] for values, _, _ in fits))
        most = bounds[i] + bounds[i] * options["slack"] // 100
        fits = [f for f in fits if f[0][i] <= (most if i + 1 < len(objectives) else bounds[i])]
    return min(fits, key=lambda fit: fit[1]) + (bounds,)


def draw_options(rng, file):
    """Options that say something else than the file, and their words."""
    count = file["devices"]["count"]
    options = {"speeds": {}, "bandwidth": None, "links": {}, "map": None,
               "slack": rng.choice([0, 0, 0, 25, 100])}
    words = []
    if rng.random() < 0.3:
        devices = rng.sample(range(count), count)[:rng.randrange(1, len(file["units"]) + 1)]
        options["map"] = devices
        words.append("--device-map=" + ",".join(map(str, devices)))
    places = options["map"] or list(range(count))
    if rng.random() < 0.3:
        options["speeds"] = {rng.choice(places): Fraction(3, 2)}
        words += ["--ipu-speed=%d=1.5" % d for d in options["speeds"]]
    texts = []
    if rng.random() < 0.3:
        options["bandwidth"] = draw_bandwidth(rng)
        texts.append(str(options["bandwidth"]))
    if rng.random() < 0.4 and len(places) > 1:
        k = rng.randrange(1, len(places))
        pair = "%d-%d" % rng.choice([(places[k - 1], places[k]), (places[k], places[k - 1])])
        options["links"] = {pair: draw_bandwidth(rng)}
        texts.append("%s=%s" % (pair, options["links"][pair]))
    rng.shuffle(texts)
    if texts and rng.random() < 0.5:
        words.append("--link-bandwidth=" + ",".join(texts))
    else:
        words += ["--link-bandwidth=" + text for text in texts]
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
    with open(path, "w") as out:
        json.dump(file, out)
    words = ["--solve", "--format=json", "-q", "--solver=" + rng.choice(solvers),
             "--objective=" + ",".join(objectives)] + words
    run = subprocess.run([popliner, "--costs", path] + words, capture_output=True, text=True)
    told = "%d: %s\n%s\n%s%s" % (seed, " ".join(words), json.dumps(file), run.stdout, run.stderr)
    expected = best_of(file, options, objectives)
    assert run.returncode == (0 if expected else 1), told
    answer = json.loads(run.stdout)
    if expected is None:
        assert answer["status"] == "infeasible", told
        return False
    values, _, stages, bounds = expected
    scale = scale_of(file)
    for i, own in enumerate(answer["objectives"]):
        is_time = objectives[i] == "cycles" or (objectives[i] == "balance" and
                                                "cycles" in objectives[:i])
        unit = scale if is_time else 1
        assert parts(own["value"], unit) == values[i], told
        assert parts(own["bound"], unit) == bounds[i], told
    assert len(answer["stages"]) == len(stages), told
    has_links = "link_cycles" in answer["stages"][0]
    assert has_links or all(stage[6] == 0 for stage in stages), told
    for own, (first, end, device, memory, cycles, cut, link) in zip(answer["stages"], stages):
        assert own["layer_from"] == "u%d" % first and own["layer_to"] == "u%d" % (end - 1), told
        assert own["ipu"] == device and own["mem"]["max_tile_mem"] == memory, told
        assert parts(own["cycles"], scale) == cycles and own["cut_bytes"] == cut, told
        assert not has_links or parts(own["link_cycles"], scale) == link, told
    return True


def solvers_of(popliner, path):
    """Those that it was built with."""
    with open(path, "w") as out:
        json.dump({"format": "popliner-costs", "version": 1, "units": [{"name": "a", "memory": 1}]}, out)
    run = subprocess.run([popliner, "--costs", path, "--solve", "-q", "--solver=ilp"],
                         capture_output=True, text=True)
    if run.returncode == 2 and "without (POPLINER_GLPK=OFF)" in run.stderr:
        print("[  SKIPPED ] What needs GLPK: the command was built without it")
        return ["auto", "dp"]
    assert run.returncode == 0, run.stderr
    return ["auto", "dp", "ilp"]


def main(popliner):
    count = 2000 if cases.takes_all() else 120
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "costs.json")
        solvers = solvers_of(popliner, path)
        num_fit = sum(check(popliner, solvers, path, seed) for seed in range(count))
    print("%d of %d files fit" % (num_fit, count))
    return 0 if count * 2 // 3 < num_fit < count else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
