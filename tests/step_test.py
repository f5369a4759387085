#!/usr/bin/env python3
"""The time of a step by hand, and by what papers state of published schedules. relations_test.py
has the longest path through the passes of random files.

    step_test.py POPLINER [SEED [CHAINS]]

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

from plain_step import IN_V, WITH_WEIGHTS, list_1f1b, lists_of, longest_path


def solve(popliner, path, options):
    done = subprocess.run([popliner, path, "-q", "--solve", "--format", "json", *options],
                          capture_output=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), (options, done.stderr)
    return json.loads(done.stdout)


def table_of(scratch, columns, rows):
    """The path of a table of costs."""
    path = os.path.join(scratch, "table.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([columns, *rows, ""]))
    return path


def check_papers(popliner, scratch):
    """Equal stages have the bubbles that the papers state, and the fullest device their memory."""
    path = table_of(scratch, "name,memory,stash,forward,backward",
                    (f"{i},0,1,10,20" for i in range(16)))
    cases_of = [  # schedule, map, devices, micro-batches, step, stashes of a stage
        (["1f1b"], 16, 32, 32 * 30 + 15 * 30, 16),
        (["gpipe"], 16, 32, 32 * 30 + 15 * 30, 32),
        (["zero-bubble"], 16, 32, 32 * 30 + 15 * (10 + 10 - 10), 16),
        # Korthikanti et al., 2022: 1 + (p - 1) / (p m) times as much as without interleaving
        (["interleaved", "--device-map", "interleaved:4"], 4, 8, 8 * 120 + 3 * 30, 4 * 4 + 3),
        (["zero-bubble", "--device-map", "interleaved:2"], 8, 16, 16 * 60 + 7 * 10, 2 * 8),
        (["zero-bubble", "--device-map", "v"], 8, 32, 32 * 60 + 7 * 10, 2 * 8),
        # Qi et al., 2023: no bubble, but the last device begins that much later
        (["zb-h2"], 16, 32, 32 * 30 + 15 * 10, 2 * 16 - 1),
        # two thirds of the bubble of 1f1b, 7 * 6 (Qi et al., 2024), less what the ends fit together
        (["v-min", "--device-map", "v"], 8, 32, 32 * 60 + (4 * 8 - 5) * 10, 2 * ((8 + 4) // 3)),
        # half of it is 24, with passes that are reordered: without, half a pass more each
        (["v-half", "--device-map", "v"], 8, 32, 32 * 60 + (28 - 2) * 10, 2 * (8 // 2 + 1)),
        (["dualpipev", "--device-map", "v"], 8, 32, 32 * 60 + 7 * 10, 2 * 8 + 1),
        (["sequential"], 16, 5, 5 * 16 * 30, 0)]  # the memory has it
    for options, devices, micro, step, held in cases_of:
        asked = ["--num-ipus", str(devices), "--objective", "cycles", "--micro-batches", str(micro),
                 "--schedule", options[0] + "+1" * (held > 0), *options[1:]]
        totals = solve(popliner, path, asked)["totals"]
        assert totals["step"]["cycles"] == step, (options, totals, step)
        assert totals["memory"] == held, (options, totals, held)
        screen = subprocess.run([popliner, path, "--solve", *asked, "--format", "text"],
                                capture_output=True, encoding="utf-8", check=True)
        name = {"zero-bubble --device-map interleaved:2": "interleaved-zero-bubble",
                "zero-bubble --device-map v": "zero-bubble-v"}.get(" ".join(options), options[0])
        told = f"A step of {micro} micro-batches ({name}) takes {step} units;"
        assert told in " ".join(screen.stdout.replace(",", "").split()), (screen.stdout, told)
    for options, told in [
            (["1f1b", "--device-map", "v"], "in a V only"),
            (["1f1b", "--device-map", "0,1,2,3,3,1,2,0"], "share devices like this"),
            (["zb-h2", "--device-map", "interleaved:4"], "one stage on each device"),
            (["popart", "--device-map", "interleaved:4"], "one stage on each device")]:
        count = [] if "," in options[-1] else ["--num-ipus", "4"]
        answer = solve(popliner, path, [*count, "--micro-batches", "8", "--schedule", *options])
        assert answer["totals"]["step"]["order"] is None, (options, answer["totals"])
        assert any(told in it["text"] for it in answer["messages"]), (options, answer["messages"])
    return len(cases_of)


def check_pairs():
    """DualPipeV: forward and backward passes that overlap begin and end together, but for the first
    pair of the last device. Then the bubble is that of its authors' README, (P - 1) (F + B + B -
    3 W) if all passes take as long. (popliner runs one after the other.)"""
    for devices in range(2, 9):
        for micro in (2 * devices, 3 * devices + 1):
            lists = [[] for _ in range(devices)]
            for d, order in enumerate(lists_of("dualpipev", 2 * devices, devices, micro,
                                               is_v=True)):
                for own in order:
                    pair = lists[d] and own[0] == "A" and lists[d][-1][-1][0] == "F"
                    is_first = d == devices - 1 and not any(len(it) > 1 for it in lists[d]) and \
                        own[1] == 0
                    if pair and not is_first:
                        lists[d][-1].append(own)
                    else:
                        lists[d].append([own])
            ends, free = {}, [0] * devices
            while any(lists):
                for d, order in enumerate(lists):
                    needs = [it for kind, m, s in order[0] for it in
                             [("B", m, s + 1)] * (kind in "AB" and s < 2 * devices - 1) +
                             [("F", m, s - (kind == "F"))] * (kind in "AB" or kind == "F" and s > 0)
                             ] if order else [None]
                    if all(it in ends for it in needs):
                        free[d] = max([free[d], *(ends[it] for it in needs)]) + \
                            sum(2 if kind == "A" else 1 for kind, _, _ in order[0])
                        ends.update({("B" if kind == "A" else kind, *it): free[d]
                                     for kind, *it in order.pop(0)})
            assert max(free) == 6 * micro + (devices - 1) * (1 + 2 + 2 - 3), (devices, micro, free)


def check_graphs(popliner, scratch):
    """PipeDream's profiles and graphs have passes of their own."""
    path = os.path.join(scratch, "graph")
    with open(path, "w", encoding="utf-8") as file:
        for i, (forward, backward) in enumerate([(1, 5), (2, 2), (3, 1)]):
            file.write(f"node{i} -- L{i} -- forward_compute_time={forward}, backward_compute_time="
                       f"{backward}, activation_size=0, parameter_size=1\n")
        file.write("\tnode0 -- node1\n\tnode1 -- node2\n")
    options = ["--num-ipus", "3", "--objective", "cycles", "--micro-batches", "2"]
    answer = solve(popliner, path, options + ["--schedule", "inference"])
    assert [it["cycles"] for it in answer["stages"]] == [1, 2, 3], answer["stages"]
    assert answer["totals"]["step"]["cycles"] == 1 + 2 + 2 * 3, answer["totals"]
    step = solve(popliner, path, options)["totals"]["step"]
    cost = [{"F": f * 10**9, "B": b * 10**9} for f, b in [(1, 5), (2, 2), (3, 1)]]
    lists = [list_1f1b(s, 3, 2, lambda d: d) for s in range(3)]
    assert step["cycles"] == longest_path(lists, cost, 2) / 10**9, step
    nodes = [{"id": i, "fpgaLatency": time, "size": 1, "isBackwardNode": i > 2, "colorClass": i % 3}
             for i, time in enumerate([1, 2, 3, 5, 2, 1])]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"nodes": nodes, "maxSizePerFPGA": 100, "maxFPGAs": 3,
                   "edges": [{"sourceId": a, "destId": b, "cost": 2} for a, b in [(0, 1), (1, 2)]]},
                  file)
    options += ["--require", "cut:node0", "--require", "cut:node1"]
    answer = solve(popliner, path, options + ["--schedule", "inference"])
    assert [it["cycles"] for it in answer["stages"]] == [1 + 2, 2 + 4, 3 + 2], answer["stages"]
    answer = solve(popliner, path, options)
    ends = [4, 8, 6]  # of the transfers, half is forward
    cost = [{"F": (f * 10**9) + t * 10**9 // 2, "B": b * 10**9 + t * 10**9 // 2}
            for (f, b), t in zip([(1, 5), (2, 2), (3, 1)], [2, 4, 2])]
    assert [it["cycles"] for it in answer["stages"]] == [8, 8, 6], (answer["stages"], ends)
    step = answer["totals"]["step"]["cycles"]
    assert step == longest_path(lists, cost, 2) / 10**9, answer["totals"]


def check_by_hand(popliner, scratch):
    """What docs/costs.md says, in numbers that were found without a program."""
    path = os.path.join(scratch, "two.json")

    def cycles(options, *units, **keys):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "popliner-costs", "version": 1, **keys,
                       "units": [{"name": name, **unit} for name, unit in zip("ab", units)]}, file)
        done = subprocess.run([popliner, path, "-q", "--evaluate", "a", "--format", "json",
                               *options.split()], capture_output=True, encoding="utf-8", check=True)
        answer = json.loads(done.stdout)
        step = answer["totals"].get("step")
        return [it["cycles"] for it in answer["stages"]], step and step["cycles"]

    a = {"cycles": 24, "inputs": 1, "stash": 9, "recompute_cycles": 54}
    b = {**a, "cycles": 57}
    for schedule, first in [("1f1b --micro-batches 1", 24), ("none:0,0", 24), ("1f1b", 78),
                            ("1f1b+1 --micro-batches 1", 78), ("none:0,1", 78)]:
        got = cycles(f"--recompute full --schedule {schedule}", a, b)
        assert got[0] == [first, 57], (schedule, got)
    assert cycles("--recompute full --schedule 1f1b --micro-batches 2", a, b) == ([78, 57], 205)
    latency = {"cut_cycles": [24]}
    assert cycles("--schedule 1f1b --micro-batches 4", {"cycles": 27}, {"cycles": 3},
                  **latency) == ([51, 27], 210)
    again = {"forward": 10, "backward": 20, "stash": 6, "inputs": 1, "recompute_cycles": 10}
    assert cycles("--recompute full --schedule zero-bubble --micro-batches 3", again,
                  again) == ([40, 40], 140)
    a = {"forward": 10, "backward": 20, "parameters": 50}
    assert cycles("--schedule inference --micro-batches 4", a, a) == ([10, 10], 50)
    # a stage has the passes of its slowest sample
    assert cycles("--micro-batches 1", {"forward": [1, 5], "backward": [2, 10]},
                  {"forward": [4, 2], "backward": [4, 2]}) == ([15, 8], 5 + 4 + 4 + 10)
    assert cycles("--micro-batches 4", a, a) == ([30, 30], 150)
    cycles("", a, a)
    done = subprocess.run([popliner, path, "-q", "--solve", "--format", "json", "--total-ipus", "2",
                           "--micro-batches", "4", "--schedule", "inference", "--bandwidth",
                           "replicas=1"], capture_output=True, encoding="utf-8", check=True)
    rows = json.loads(done.stdout)["candidates"]
    assert [(it["replicas"], it["step_cycles"], it["all_reduce_cycles"]) for it in rows] == \
        [(2, 80, 0), (1, 50, 0)], rows
    # the last of two stages keeps one micro-batch more, not two as of three; the first one is busy
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,memory,forward,backward,stash,inputs\na,1,3,6,1,40\nb,1,3,6,1,40\n"
                   "c,1,3,6,10,40\n")
    for recompute in ("none", "auto"):
        totals = solve(popliner, path, [
            "--num-ipus", "3", "--schedule", "zero-bubble", "--recompute", recompute,
            "--micro-batches", "4", "--objective", "step", "--mem-per-tile", "14"])["totals"]
        assert totals["step"]["cycles"] == 4 * 18, (recompute, totals)


MAPS = [("", 1), ("", 1), ("interleaved:2", 2), ("interleaved:3", 3), ("v", 2)]


def splits_of(costs, devices, chunks, is_v, limit):
    """The stages of every split of units with (memory, forward, backward) that fits: lists of
    (memory, forward, backward), and how many devices they are on."""
    n = len(costs)
    for used in [devices] if chunks > 1 else range(1, devices + 1):
        for cuts in itertools.combinations(range(1, n), used * chunks - 1):
            stages = [tuple(map(sum, zip(*costs[a:b]))) for a, b in zip((0, *cuts), (*cuts, n))]
            held = [0] * used
            for k, stage in enumerate(stages):
                held[2 * used - 1 - k if is_v and k >= used else k % used] += stage[0]
            if max(held) <= limit:
                yield stages, used


def check_shortest(popliner, scratch, seed, chains):
    """--objective step is the best of all splits where it is proven, and its bound holds, as does
    the gap of --total-ipus for as many devices; ties of cycles go to a step that is not longer than
    that of even stages as slow."""
    rng = random.Random(seed)
    path = os.path.join(scratch, "random.csv")
    proven = of_chains = 0
    while of_chains < chains:
        device_map, chunks = rng.choice(MAPS)
        devices = rng.randint(2, 5 if chunks == 1 else 3 if chunks == 2 else 2)
        n = rng.randint(devices * chunks, 9)
        rule = rng.choice(["1f1b", "gpipe", "zero-bubble", "inference",
                           *(["sequential", "popart", "zb-h2"] if chunks == 1 else IN_V
                             if device_map == "v" else ["interleaved"])])
        micro = rng.randint(1, 7)
        costs = [(rng.randint(1, 9), rng.randint(0, 9), rng.randint(1, 20)) for _ in range(n)]
        limit = rng.choice([10**6, sum(it[0] for it in costs) // devices + rng.randint(2, 12)])
        lists = {used: lists_of(rule, used * chunks, used, micro, None, device_map == "v")
                 for used in range(1, devices + 1)}
        if lists[devices] is None:
            continue
        steps, of_all, slower = [], [], []
        slow = of_chains % devices  # half as fast as the others
        for stages, used in splits_of(costs, devices, chunks, device_map == "v", limit):
            half = 2 if rule in WITH_WEIGHTS else 10**9
            cost = [{"F": f, "B": b - b // half, "W": b // half} for _, f, b in stages]
            steps.append(longest_path(lists[used], cost, len(stages) - 1))
            of_all += steps[-1:] * (used == devices)
            for k, own in enumerate(cost):
                if slow == (2 * used - 1 - k if device_map == "v" and k >= used else k % used):
                    both = 2 * (own["B"] + own["W"])
                    own.update(F=2 * own["F"], B=both - both // half, W=both // half)
            slower.append(longest_path(lists[used], cost, len(stages) - 1))
        with open(path, "w", encoding="utf-8") as file:
            file.write("name,memory,forward,backward\n" +
                       "".join(f"{i},{m},{f},{b}\n" for i, (m, f, b) in enumerate(costs)))
        options = ["--num-ipus", str(devices), "--objective", "step", "--micro-batches", str(micro),
                   "--schedule", rule, "--mem-per-tile", str(limit),
                   *(["--device-map", device_map] if device_map else [])]
        written = ["--output", f"order={path}.order"] if steps else []
        answer = solve(popliner, path, options + written)
        told = f"seed {seed}: {options} of {costs}: {answer}"
        of_chains += 1
        row, = solve(popliner, path, [
            "--total-ipus", str(devices), *options[:1], f"{devices}..{devices}",
            *options[4:]])["candidates"]
        assert (row["replicas"] == 1) == bool(of_all), (told, row)
        assert not of_all or min(of_all) <= row["step_cycles"] <= \
            min(of_all) * (1 + row["gap"] + 1e-9), (told, row, min(of_all))
        assert (answer["status"] == "infeasible") == (not steps), told
        if not steps:
            continue
        kinds = dict(zip("FBAW", "FIBW" if rule in WITH_WEIGHTS else "FBBW"))
        with open(path + ".order", encoding="utf-8") as file:
            assert file.read() == "".join(
                ",".join(f"{s}{kinds[kind]}{m}" for kind, m, s in own) + "\n"
                for own in lists[answer["totals"]["ipus"]]), told
        value, = answer["objectives"]
        # costs whose times are all 0 count as without times
        told_step = answer["totals"]["step"]["cycles"] or 0
        assert value["name"] == "step" and value["value"] == told_step, told
        assert value["bound"] <= min(steps) <= value["value"], (told, min(steps))
        assert (value["bound"] == value["value"]) == (answer["status"] == "optimal"), told
        proven += answer["status"] == "optimal"
        if of_chains % 4 == 0:
            value, = solve(popliner, path, [*options, "--ipu-speed", f"{slow}=0.5"])["objectives"]
            assert value["bound"] <= min(slower) <= value["value"], (told, slow, min(slower), value)
    return proven


def check_ties(popliner, scratch):
    """Several equal layers on each device: of the splits whose slowest device is as fast, the step
    of even stages, 192 * (1 + 3 / (2 * 16)) (Narayanan et al., 2021); else the answer tells it."""
    path = table_of(scratch, "name,memory,forward,backward,stash",
                    (f"{i},10,1,2,10" for i in range(16)))
    options = ["--num-ipus", "4", "--device-map", "interleaved:2", "--schedule", "interleaved+1",
               "--micro-batches", "16", "--objective"]
    answer = solve(popliner, path, [*options, "cycles"])
    assert answer["totals"]["step"]["cycles"] == 210, answer["totals"]
    assert not any("as many layers" in it["text"] for it in answer["messages"])
    answer = solve(popliner, path, [*options, "memory,traffic"])
    assert answer["totals"]["step"]["cycles"] > 210, answer["totals"]
    assert any("would take 210" in it["text"] for it in answer["messages"]), answer["messages"]


def check_fewer(popliner, scratch):
    """No split on fewer devices is as fast. This step was proven by sweeps, and has a gap now."""
    path = table_of(scratch, "name,memory,forward,backward",
                    (f"{i},1,{it},{2 * it}" for i, it in enumerate([700, *[500] * 58, 700])))
    answer = solve(popliner, path, ["--num-ipus", "12", "--micro-batches", "12", "--schedule",
                                    "popart", "--objective", "step"])
    step, = answer["objectives"]
    assert step["value"] == 161100, step
    assert 0.98 * 161100 <= step["bound"] <= 161100, step


def check_long(popliner, scratch):
    """Steps of half an hour, in fractions of milliseconds, are proven like short ones."""
    times = ["0.478", "204424.605", "0.495", "0.879", "94.088", "38.648", "0.960", "41.284"]
    path = table_of(scratch, "name,memory,time (ms)",
                    (f"{i},1,{it}" for i, it in enumerate(times)))
    answer = solve(popliner, path, ["--num-ipus", "3", "--micro-batches", "8", "--schedule",
                                    "1f1b", "--objective", "step"])
    assert answer["status"] == "optimal", answer["objectives"]
    # the slowest layer alone on the second of three devices
    assert abs(answer["objectives"][0]["value"] - (8 * 204424.605 + 0.478)) < 1e-3


def check_without(popliner, scratch):
    """No split of three stages fits, as two of the layers are too large for one of the devices."""
    path = table_of(scratch, "name,memory,time", ["a,5,100", "b,5,150", "c,5,120"])
    answer = solve(popliner, path, ["--num-ipus", "3", "--micro-batches", "4", "--schedule", "1f1b",
                                    "--objective", "step", "--mem-per-tile", "10,1=4,2=10"])
    assert answer["status"] == "infeasible", answer["status"]
    answer = solve(popliner, path, ["--num-ipus", "3", "--micro-batches", "4", "--schedule", "1f1b",
                                    "--objective", "step", "--mem-per-tile", "10,2=4"])
    assert answer["status"] == "optimal", answer["objectives"]


def random_order(rng, devices, chunks, is_v, micro):
    """Passes of each device in any order that can run, of which some have weights apart."""
    last = devices * chunks - 1
    rows, ran, left = [[] for _ in range(devices)], set(), set()
    for stage in range(last + 1):
        for m in range(micro):
            left |= {("F", m, stage)} | ({("I", m, stage), ("W", m, stage)} if rng.random() < .5
                                         else {("B", m, stage)})

    def may_run(kind, m, stage):
        if kind == "F":
            return stage == 0 or ("F", m, stage - 1) in ran
        return ("I", m, stage) in ran if kind == "W" else ("F", m, stage) in ran and (
            stage == last or {("B", m, stage + 1), ("I", m, stage + 1)} & ran)
    while left:
        own = rng.choice(sorted(it for it in left if may_run(*it)))
        left.remove(own)
        ran.add(own)
        stage = own[2]
        rows[2 * devices - 1 - stage if is_v and stage >= devices else stage % devices].append(own)
    return rows


def check_passes(path, rows, cycles):
    """The trace has all passes in their order, with what each device holds then, until the end."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    for device, row in enumerate(rows):
        own = [it for it in events if it["ph"] == "X" and it["tid"] == device + 1]
        assert [it["name"] for it in own] == [f"{s}{k}{m}" for k, m, s in row], (rows, own)
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(own, own[1:])), own
        held = list(itertools.accumulate((k == "F") - (before in "BW") for before, k in zip(
            ["F"] + [it[0] for it in row], [it[0] for it in row])))
        assert [it["args"]["micro-batches"] for it in events if it["ph"] == "C" and
                it["name"] == f"device {device} holds"] == held, (row, held)
    assert max(it["ts"] + it["dur"] for it in events if it["ph"] == "X") == cycles


def check_files(popliner, scratch, seed):
    """--schedule FILE.csv: of any order that can run the step is the longest path, and a device
    needs what its stages hold together; --output order writes the file that was read. Wrong files
    are refused at their row and column."""
    rng = random.Random(seed)
    path = os.path.join(scratch, "order.csv")
    for case in range(40):
        device_map, chunks = rng.choice([("interleaved:1", 1), *MAPS[2:]])
        devices, micro = rng.randint(2, 3), rng.randint(1, 5)
        rows = random_order(rng, devices, chunks, device_map == "v", micro)
        units = [(rng.randint(0, 9), rng.randint(0, 9), rng.randint(0, 9))
                 for _ in range(devices * chunks)]
        table = table_of(scratch, "name,memory,forward,backward,stash",
                         (f"{i},1,{f},{b},{s}" for i, (f, b, s) in enumerate(units)))
        text = "".join(",".join(f"{s}{k}{m}" for k, m, s in row) + "\n" for row in rows)
        with open(path, "w", encoding="utf-8", newline="") as file:  # as others may write it
            file.write(rng.choice(["", "\ufeff"]) + text.replace(",", rng.choice([",", " ,\t"]))
                       .replace("\n", rng.choice(["\n", "\r\n"])) + rng.choice(["", "\r\n"]))
        given = ["--num-ipus", str(devices)], ["--device-map", device_map]
        options = [*rng.choice([given[0] + given[1], given[0], []]), "--schedule", path + "+1",
                   "--objective", "cycles"]
        answer = solve(popliner, table, [*options, "--output", f"order={path}.written", *(
            ["--output", f"passes={path}.json"] if any(f + b for f, b, _ in units) else [])])
        with open(path + ".written", encoding="utf-8") as file:
            assert file.read() == text, (seed, case, text)
        has_weights = any(it[0] == "W" for row in rows for it in row)
        cost = [{"F": f, "B": b - b // 2 * has_weights, "W": b // 2 * has_weights}
                for f, b, _ in units]
        lists = [[({"I": "B", "B": "A" if has_weights else "B"}.get(k, k), m, s)
                  for k, m, s in row] for row in rows]
        told = (seed, case, text, units, answer)
        if any(f + b for f, b, _ in units):
            step = answer["totals"]["step"]["cycles"]
            assert step == longest_path(lists, cost, len(units) - 1), told
            check_passes(path + ".json", rows, step)
        most = 0
        for row in rows:
            held = most_own = 0
            for kind, _, stage in row:
                held += units[stage][2] * (kind == "F")
                most_own = max(most_own, held)
                held -= units[stage][2] * (kind in "BW")
            most = max(most, chunks + most_own)
        assert max(it["value"] for it in solve(
            popliner, table, [*options[:-1], "memory"])["objectives"]) == most, (told, most)
    for text, words in [
            ("0F0,0B0\n1B0,1F0\n", "row 1, column 2: this pass waits"),
            ("0F0,0X0\n1F0,1B0\n", "row 1, column 2: expected a stage"),
            ("0F0,,0F0\n1F0,1B0\n", "row 1, column 3: this pass was there before"),
            ("0F0,1B0\n1F0,0B0\n", "row 1, column 2: with the passes before it"),
            ("0F0,0I0\n1F0,1B0\n", "row 1, column 2: micro-batch 0 of stage 0 has no W"),
            ("0F0\n1F0,1B0,1W0\n", "row 2, column 2: micro-batch 0 of stage 1 has no I instead"),
            ("0F0\n1F0,1B0\n", "no row has the pass 0B0"),
            ("0F0,0B0\n1F9,1B9\n", "4 passes are too few"), ("", "there is no pass"),
            ("0F0,0B0,2F0,2B0\n1F0,1B0\n", "different numbers of stages")]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([popliner, table, "--solve", "--num-ipus", "2", "--device-map",
                               "interleaved:1", "--schedule", path], capture_output=True,
                              encoding="utf-8", check=False)
        assert done.returncode == 2 and words in " ".join(done.stderr.split()), (text, done)


def main():
    popliner = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    chains = int(sys.argv[3]) if len(sys.argv) > 3 else 150
    with tempfile.TemporaryDirectory() as scratch:
        equal = check_papers(popliner, scratch)
        check_pairs()
        check_graphs(popliner, scratch)
        check_by_hand(popliner, scratch)
        check_ties(popliner, scratch)
        check_fewer(popliner, scratch)
        check_long(popliner, scratch)
        check_without(popliner, scratch)
        check_files(popliner, scratch, seed)
        proven = check_shortest(popliner, scratch, seed, chains)
    print(f"{equal} bubbles of papers; "
          f"shortest steps of {chains} chains (seed {seed}), {proven} proven")


if __name__ == "__main__":
    main()
