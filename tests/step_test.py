#!/usr/bin/env python3
"""The time of a step against the longest path through the passes of published schedules.

    step_test.py POPLINER

Random files of costs are solved. The passes of each stage are computed by docs/costs.md, each
device gets the list of its passes as the papers describe the schedule, and the end of every pass is
raised until no pass begins too early.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from math import ceil

import cases
from plain_step import list_1f1b, lists_of, longest_path, rounds_of


class Drawn:
    def __init__(self, rng):
        self.samples = rng.randint(1, 2)
        self.count = rng.randint(2, 9)
        self.has_passes = rng.random() < 0.8
        self.units = []
        for i in range(self.count):
            unit = {"name": f"u{i}"}
            if self.has_passes and (i == 0 or rng.random() < 0.9):
                for key in ("forward", "backward"):
                    unit[key] = [rng.randint(0, 30) for _ in range(self.samples)]
            else:
                unit["cycles"] = [rng.randint(0, 60) for _ in range(self.samples)]
            self.units.append(unit)
        self.units[0].setdefault("forward", None)
        if self.units[0]["forward"] is None:
            del self.units[0]["forward"]
            self.units[0]["cycles"] = [7] * self.samples
        self.cuts = [rng.randint(0, 40) for _ in range(self.count - 1)]
        self.cut_cycles = [rng.choice([0, 0, 1, 5]) for _ in range(self.count - 1)]
        self.recomputes = False
        self.rule = rng.choice(["none", "1f1b", "1f1b+1", "gpipe", "zero-bubble", "interleaved",
                                "gpipe-interleaved", "0,1,...", "0", "3", "popart", "tf-grouped",
                                "tf-interleaved", "sequential", "inference",
                                "zero-bubble-interleaved", "zero-bubble-v"])
        self.chunks = rng.randint(2, 3) if "interleaved" in self.rule and "tf" not in self.rule else 1
        if self.rule == "zero-bubble-v":
            self.chunks = 2
        self.num_ipus = rng.randint(1, max(1, self.count // self.chunks))
        self.num_ipus = max(1, min(self.num_ipus, self.count // self.chunks))
        if self.num_ipus * self.chunks > self.count:
            self.chunks, self.rule = 1, "1f1b"
        self.micro = rng.randint(1, 9)
        if self.rule == "zero-bubble-v" and self.num_ipus == 1:
            self.rule = "zero-bubble-interleaved"  # which is the same
        if self.rule in ("interleaved", "zero-bubble-interleaved"):
            while rounds_of(self.num_ipus, self.micro) is None:
                self.micro += 1
        self.speeds = {} if rng.random() < 0.5 else {
            i: rng.choice([Fraction(1, 2), Fraction(3, 2), Fraction(2)])
            for i in range(self.num_ipus) if rng.random() < 0.7}
        self.bandwidth = rng.choice([None, 3, 8])
        if self.rule in ("1f1b", "1f1b+1", "gpipe", "zero-bubble") and self.chunks == 1 \
                and rng.random() < 0.3:
            self.recomputes = True
            for unit in self.units:
                unit["inputs"] = 1

    def plain_rule(self, *rules):
        """The rule, without a map after one of these."""
        return next((rule for rule in rules if self.rule.startswith(rule + "-")), self.rule)

    def document(self):
        return {"format": "popliner-costs", "version": 1, "units": self.units, "cuts": self.cuts,
                "cut_cycles": self.cut_cycles}

    def options(self):
        result = ["--micro-batches", str(self.micro), "--objective", "cycles"]
        schedule = None if self.rule == "none" else self.plain_rule("zero-bubble", "gpipe")
        if schedule is not None:
            result += ["--schedule", ("popart:" if schedule[0].isdigit() else "") + schedule]
        if self.rule == "zero-bubble-v":
            result += ["--device-map", "v"]
        elif self.chunks > 1:
            result += ["--device-map", f"interleaved:{self.chunks}"]
        result += ["--num-ipus", str(self.num_ipus)]
        for ipu, speed in self.speeds.items():
            result += ["--ipu-speed", f"{ipu}={float(speed)}"]
        if self.bandwidth is not None:
            result += ["--bandwidth", str(self.bandwidth)]
        if self.recomputes:
            result += ["--recompute", "full"]
        return result

    def passes(self, first, end, device, num_ipus, inner=()):
        """What a stage takes forward and backward, of its units and half of its cuts each; those
        that are inner to a device have no link."""
        slowest = None
        for k in range(self.samples):
            sums = [0, 0]
            for unit in self.units[first:end]:
                if "cycles" in unit:
                    own = [unit["cycles"][k] // 3, unit["cycles"][k] - unit["cycles"][k] // 3]
                else:
                    own = [unit["forward"][k], unit["backward"][k] * (self.rule != "inference")]
                sums = [sums[0] + own[0], sums[1] + own[1]]
            if slowest is None or sum(sums) > sum(slowest):
                slowest = sums
        cuts = [i for i in (first - 1, end - 1) if 0 <= i < self.count - 1]
        latency = sum(self.cut_cycles[i] for i in cuts)
        again = 0
        last_keeps = self.micro > 1 and (self.rule == "gpipe" or
                                         self.rule == "zero-bubble" and first > 0)
        stores = self.micro > 1 or "+" in self.rule
        if self.recomputes and stores and (end < self.count or last_keeps):
            again = sum(max(unit.get("forward", [0])) for unit in self.units[first:end])
        speed = self.speeds.get(device, Fraction(1))
        link = 0 if self.bandwidth is None or num_ipus == 1 else sum(
            ceil(Fraction(self.cuts[i], self.bandwidth)) for i in cuts if i not in inner)
        whole = ceil(Fraction(sum(slowest) + latency + again) / speed) + link
        forward = ceil(Fraction(slowest[0] + latency // 2) / speed) + link // 2
        if not any("forward" in unit for unit in self.units):
            forward = ceil(Fraction(sum(slowest) // 3 + latency // 2) / speed) + link // 2
        forward = whole if self.rule == "inference" else min(forward, whole)
        recomputed = whole - link - ceil(Fraction(sum(slowest) + latency) / speed)
        weights = 0 if self.plain_rule("zero-bubble") != "zero-bubble" else (whole - forward - recomputed) // 2
        return {"F": forward, "B": whole - forward - weights, "W": weights}

    def lists(self, num_stages):
        rule = self.plain_rule("zero-bubble", "gpipe").removesuffix("+1")
        ahead = {"0": lambda d: 0, "3": lambda d: 3}.get(rule)
        return lists_of({"0,1,...": "1f1b"}.get(rule, rule), num_stages,
                        num_stages // self.chunks, self.micro, ahead, self.rule == "zero-bubble-v")


def solve(popliner, path, options):
    done = subprocess.run([popliner, path, "-q", "--solve", "--format", "json", *options],
                          capture_output=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1), (options, done.stderr)
    return json.loads(done.stdout)


def check_random(popliner, scratch, seeds):
    path = os.path.join(scratch, "costs.json")
    seen = {}
    for i in seeds:
        drawn = Drawn(random.Random(i))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(drawn.document(), file)
        answer = solve(popliner, path, drawn.options())
        step = answer["totals"]["step"]
        stages = answer["stages"]
        told = [it["text"] for it in answer["messages"] if "step" in it["text"]]
        if step["cycles"] is None:  # all times are 0
            assert answer["totals"]["cycles"] == 0 and "no times" in told[0], (i, answer)
            continue
        ends = [int(stage["layer_to"][1:]) + 1 for stage in stages]
        inner = [end - 1 for end, before, after in zip(ends, stages, stages[1:])
                 if before["ipu"] == after["ipu"]]
        cost = [drawn.passes(first, end, stage["ipu"], drawn.num_ipus, inner)
                for first, end, stage in zip([0] + ends, ends, stages)]
        assert [sum(it.values()) for it in cost] == [it["cycles"] for it in stages], (i, cost, stages)
        lists = drawn.lists(len(stages))
        truth = longest_path(lists, cost, len(stages) - 1)
        assert step["cycles"] == truth, (i, drawn.rule, step, truth, drawn.document())
        idle = 1 - drawn.micro * sum(it["cycles"] for it in stages) / (truth * len(lists))
        assert abs(step["idle_share"] - idle) < 1e-9, (i, step, idle)
        assert step["micro_batches"] == drawn.micro
        assert step["third_assumed"] == (not any("forward" in unit for unit in drawn.units) and
                                         drawn.rule != "inference"), (i, step)
        assert f"({step['order']}) takes {truth} cycles" in told[0], (i, told, truth)
        seen[drawn.rule] = seen.get(drawn.rule, 0) + (len(stages) > 1)
    return seen


def check_rows(popliner, scratch, seeds):
    """Each row of a range, and each point of a front, has the step of its split."""
    path = os.path.join(scratch, "costs.json")
    seen = 0
    for count, i in enumerate(seeds, 1):
        drawn = Drawn(random.Random(f"rows {i}"))
        with open(path, "w", encoding="utf-8") as file:
            json.dump(drawn.document(), file)
        options = [it for it in drawn.options() if it not in ("--objective", "cycles")]
        options = options[:options.index("--num-ipus")] + options[options.index("--num-ipus") + 2:]
        most = str(drawn.num_ipus)
        asked = (["--num-ipus", "1.." + most, "--objective", "cycles"] if drawn.num_ipus > 1 and i % 2
                 else ["--num-ipus", most, "--pareto", "memory,cycles"])
        for row in solve(popliner, path, options + asked)["results"]:
            stages, step = row["stages"], row["step"]
            assert step["micro_batches"] == drawn.micro, (i, row)
            if step["cycles"] is None:
                none = all(drawn.passes(0, drawn.count, d, 1)["B"] == 0 for d in (0, 1))
                uneven = rounds_of(row["used"], drawn.micro) is None and drawn.rule in (
                    "interleaved", "zero-bubble-interleaved")
                assert none or uneven or not stages, (i, row)
                continue
            ends = [int(stage["to"][1:]) + 1 for stage in stages]
            inner = [end - 1 for end, before, after in zip(ends, stages, stages[1:])
                     if before["ipu"] == after["ipu"]]
            cost = [drawn.passes(first, end, stage["ipu"], row["used"], inner)
                    for first, end, stage in zip([0] + ends, ends, stages)]
            truth = longest_path(drawn.lists(len(stages)), cost, len(stages) - 1)
            assert step["cycles"] == truth, (i, drawn.rule, row, truth, drawn.document())
            seen += 1
    assert cases.is_enough(seen > count)
    return seen


def check_papers(popliner, scratch):
    """Equal stages have the bubbles that the papers state."""
    path = os.path.join(scratch, "equal.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,forward,backward\n" + "".join(f"{i},10,20\n" for i in range(16)))
    cases_of = [  # schedule, map, devices, micro-batches, step
        (["1f1b"], 16, 32, 32 * 30 + 15 * 30),
        (["gpipe"], 16, 32, 32 * 30 + 15 * 30),
        (["zero-bubble"], 16, 32, 32 * 30 + 15 * (10 + 10 - 10)),
        (["interleaved", "--device-map", "interleaved:4"], 4, 8, 8 * 120 + 3 * 30),
        (["zero-bubble", "--device-map", "interleaved:2"], 8, 16, 16 * 60 + 7 * 10),
        (["zero-bubble", "--device-map", "v"], 8, 32, 32 * 60 + 7 * 10),
        (["sequential"], 16, 5, 5 * 16 * 30)]
    for options, devices, micro, step in cases_of:
        answer = solve(popliner, path, ["--num-ipus", str(devices), "--objective", "cycles",
                                        "--micro-batches", str(micro), "--schedule", *options])
        assert answer["totals"]["step"]["cycles"] == step, (options, answer["totals"], step)
        screen = subprocess.run(
            [popliner, path, "--solve", "--num-ipus", str(devices), "--micro-batches", str(micro),
             "--objective", "cycles", "--schedule", *options, "--format", "text"],
            capture_output=True, encoding="utf-8", check=True)
        name = {"interleaved:2": "interleaved-zero-bubble", "v": "zero-bubble-v"}.get(
            options[-1], options[0])
        told = f"A step of {micro} micro-batches ({name}) takes {step} units;"
        assert told in " ".join(screen.stdout.replace(",", "").split()), (screen.stdout, told)
    for options, told in [
            (["1f1b", "--device-map", "v"], "in a V only"),
            (["1f1b", "--device-map", "0,1,2,3,3,1,2,0"], "share devices like this"),
            (["interleaved", "--device-map", "interleaved:4", "--micro-batches", "9"],
             "divided into equal rounds"),
            (["popart", "--device-map", "interleaved:4"], "one stage on each device")]:
        count = [] if "," in options[-1] else ["--num-ipus", "4"]
        answer = solve(popliner, path, [*count, "--micro-batches", "8", "--schedule", *options])
        assert answer["totals"]["step"]["order"] is None, (options, answer["totals"])
        assert any(told in it["text"] for it in answer["messages"]), (options, answer["messages"])
    return len(cases_of)


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
    assert answer["totals"]["step"]["cycles"] == longest_path(lists, cost, 2) / 10**9, answer["totals"]


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
    assert cycles("--micro-batches 4", a, a) == ([30, 30], 150)
    cycles("", a, a)
    done = subprocess.run([popliner, path, "-q", "--solve", "--format", "json", "--total-ipus", "2",
                           "--micro-batches", "4", "--schedule", "inference", "--bandwidth",
                           "replicas=1"], capture_output=True, encoding="utf-8", check=True)
    rows = json.loads(done.stdout)["candidates"]
    assert [(it["replicas"], it["step_cycles"], it["all_reduce_cycles"]) for it in rows] == \
        [(2, 80, 0), (1, 50, 0)], rows


def main():
    popliner = sys.argv[1]
    numbers = 150, 500, 2000
    with tempfile.TemporaryDirectory() as scratch:
        equal = check_papers(popliner, scratch)
        check_graphs(popliner, scratch)
        check_by_hand(popliner, scratch)
        rows = check_rows(popliner, scratch, cases.seeds(*numbers))
        seen = check_random(popliner, scratch, cases.seeds(*numbers))
    print(f"several stages: {seen}; {rows} rows; {equal} bubbles of papers")


if __name__ == "__main__":
    main()
