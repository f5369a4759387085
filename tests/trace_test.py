#!/usr/bin/env python3
"""Traces against tests/memory_model.py, which shares nothing with the library, and against the
sections of the same profile: every slice with its time, every value of every counter.

    trace_test.py POPLINER MKPROFILE DIRECTORIES...

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile

import cases
import memory_model

MADE = ["--framework popart --training --layers 3 --tiles 4 --seed 7",
        "--framework tensorflow --training --layers 3 --tiles 4 --execution --seed 8"]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")
    return done.stdout


def section(popliner, directory, name):
    text = run(popliner, directory, "-q", "--output", name, "--format", "csv")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def check(is_right, what):
    if not is_right:
        sys.exit(what)


def number(text, otherwise=None):
    return int(text) if text != "" else otherwise


class Times:
    """When each step runs, by the programs' cycles and repeats."""

    def __init__(self, steps, programs, is_in_cycles):
        self.children = [[] for _ in steps]
        self.roots = []
        for step in steps:
            parent = number(step["parent_step"])
            (self.roots if parent is None else self.children[parent]).append(int(step["step"]))
        self.cycles, self.repeats = [], []
        for step, children in zip(steps, self.children):
            program = programs[int(step["program"])]
            self.repeats.append(number(program["num_repeats"], 1))
            self.cycles.append(number(program["cycles"], 0) if is_in_cycles else not children)
        self.length = [0] * len(steps)
        for step in reversed(range(len(steps))):
            inside = sum(self.length[child] for child in self.children[step])
            self.length[step] = self.cycles[step] + self.repeats[step] * inside
        self.start = [0] * len(steps)
        self.place(self.roots, 0)
        self.leaves = [step for step, children in enumerate(self.children) if not children]

    def place(self, steps, now):
        todo = [(steps, now)]
        while todo:
            steps, now = todo.pop()
            for step in steps:
                self.start[step] = now
                todo.append((self.children[step], now))
                now += self.length[step]


def as_cycles(time):
    check(isinstance(time, int), f"{time} would be rounded")
    return time


def without_repeats(values):
    return [value for value, _ in itertools.groupby(values)]


def slices(events, process, thread):
    return [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (process, thread)]


def check_layers(model, times, events, process, units):
    """The slices of the units: leaves one after another that are of one."""
    expected = []
    open_unit = None
    for step in times.leaves:
        unit = model.chain.step_unit[step]
        if unit not in units:
            open_unit = None
            continue
        if unit != open_unit:
            expected.append([model.labels[unit], times.start[step], 0])
        expected[-1][2] = times.start[step] + times.length[step]
        open_unit = unit
    found = [[e["name"], as_cycles(e["ts"]), as_cycles(e["ts"]) + as_cycles(e["dur"])]
             for e in slices(events, process, 2)]
    check(found == expected, f"process {process}: layers {found[:5]}, not {expected[:5]}")


def check_counter(times, events, process, expected, what):
    """expected: bytes at each step"""
    found = [(as_cycles(e["ts"]), e["args"]["bytes"]) for e in events
             if e["ph"] == "C" and e["pid"] == process]
    changes = []
    for step in times.leaves:
        if not changes or changes[-1][1] != expected[step]:
            changes.append((times.start[step], expected[step]))
    check(found == changes, f"{what}: {found[:5]}, not {changes[:5]}")
    return len(changes)


def live_of(model, tile, mask):
    """The data of the units in the mask on a tile at each step; None: everything."""
    def counts(touch, is_always):
        return mask is None or touch & mask or (not touch and not is_always)

    always = sum(size for (touch, *_), size in model.always[tile].items() if counts(touch, True))
    change = [0] * (model.num_steps + 1)
    for (touch, *_, number_of_class), size in model.live[tile].items():
        if counts(touch, False):
            for begin, end in model.ranges.get(number_of_class, ()):
                change[begin] += size
                change[end] -= size
    return [always + bytes_live for bytes_live in itertools.accumulate(change)][:-1]


def check_whole(model, times, steps, events):
    programs = slices(events, 1, 1)
    check(len(programs) == len(steps), f"{len(programs)} slices of {len(steps)} steps")
    for event, step in zip(programs, steps):
        at = int(step["step"])
        expected = (at, int(step["program"]), step["type"], step["name"] or step["type"],
                    times.start[at], times.length[at])
        found = (event["args"]["step"], event["args"]["program"], event["args"]["type"],
                 event["name"], as_cycles(event["ts"]), as_cycles(event["dur"]))
        check(found == expected, f"step {at}: {found}, not {expected}")
    check_layers(model, times, events, 1, range(model.num_units))
    everywhere = [sum(column) for column in zip(*(live_of(model, tile, None)
                                                  for tile in range(model.num_tiles)))]
    code = sum(sum(by_tile) for by_tile in model.truth.values())
    check_counter(times, events, 1, [size + code for size in everywhere], "all tiles")


def check_stages(model, times, events, plan):
    changes = 0
    for stage in plan:
        at = int(stage["stage"])
        first, last = (model.labels.index(stage[end]) for end in ("from", "to"))
        units = range(first, last + 1)
        tile = int(stage["largest_tile"])
        names = [e["args"]["name"] for e in events
                 if e["ph"] == "M" and e["pid"] == 100 + at and e["name"] == "process_name"]
        check(names == [f"Stage {at} on IPU {stage['ipu']}: {stage['from']} to "
                        f"{stage['to']}"], f"stage {at} is called {names}")
        check_layers(model, times, events, 100 + at, units)
        changes += check_counter(times, events, 100 + at,
                                 live_of(model, tile, memory_model.bits(units)), f"stage {at}")
    return changes


def check_execution(rows, events):
    executed = [row for row in rows if row["ipu"] != ""]
    zero = {}
    for row in executed:
        first = int(row["first_cycle"]) + int(row["active_from_cycles"])
        zero[row["ipu"]] = min(first, zero.get(row["ipu"], first))
    expected = [(1000000 + int(row["ipu"]), row["name"] or row["type"],
                 int(row["first_cycle"]) + int(row["active_from_cycles"]) - zero[row["ipu"]],
                 max(0, int(row["active_to_cycles"]) - int(row["active_from_cycles"])),
                 int(row["cycles"]), int(row["active_tiles"])) for row in executed]
    found = [(e["pid"], e["name"], as_cycles(e["ts"]), as_cycles(e["dur"]), e["args"]["cycles"],
              e["args"]["active_tiles"])
             for e in events if e["ph"] == "X" and e["pid"] >= 1000000]
    check(sorted(found) == sorted(expected), f"executed: {found[:3]}, not {expected[:3]}")
    return len(expected)


def check_tracks(events):
    """On each track a slice begins after the one before it has ended, or ends within it; those of
    an execution are never within another, and on as few tracks as run at one time."""
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            start = as_cycles(event["ts"])
            tracks.setdefault((event["pid"], event["tid"]), []).append(
                (start, start + as_cycles(event["dur"])))
    for (process, thread), own in tracks.items():
        around = []
        for start, end in sorted(own, key=lambda slice: (slice[0], -slice[1])):
            while around and around[-1] <= start:
                around.pop()
            check(not around or (end <= around[-1] and process < 1000000),
                  f"track {thread} of process {process}: {start} to {end} overlaps")
            around.append(end)
    for ipu in {process for process, _ in tracks if process >= 1000000}:
        lanes = [own for (process, _), own in tracks.items() if process == ipu]
        ends = [(time, change) for own in lanes for start, end in own if start < end
                for time, change in ((start, 1), (end, -1))]
        most = max(itertools.accumulate(change for _, change in sorted(ends)), default=1)
        check(len(lanes) == most, f"{len(lanes)} tracks for {most} at one time")


def check_profile(popliner, directory, work):
    model = memory_model.Model(directory)
    path = os.path.join(work, "trace.json")
    plan_path = os.path.join(work, "plan.csv")
    steps = section(popliner, directory, "liveness")
    programs = section(popliner, directory, "programs")
    half = model.labels[(model.num_units - 1) // 2]
    changes = 0
    for split in ("whole", half):
        run(popliner, directory, "-q", "--evaluate", split, "--effects", "accumulators", "--output",
            f"trace={path}",
            "--output", f"plan={plan_path}")
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        with open(plan_path, encoding="utf-8", newline="") as file:
            plan = list(csv.DictReader(file))
        events = trace["traceEvents"]
        is_in_cycles = any(row["cycles_source"] and row["type"] == "OnTileExecute"
                           for row in programs)
        check(trace["otherData"]["time"] == ("1 us is 1 cycle" if is_in_cycles else
                                             "1 us is 1 liveness step"), trace["otherData"])
        times = Times(steps, programs, is_in_cycles)
        check_whole(model, times, steps, events)
        changes += check_stages(model, times, events, plan)
        check_tracks(events)
    executed = check_execution(section(popliner, directory, "execution"), events)
    run(popliner, directory, "-q", "--output", f"trace={path}")
    with open(path, encoding="utf-8") as file:
        alone = json.load(file)["traceEvents"]
    check(alone == [e for e in events if not 100 <= e["pid"] < 1000000], "without a plan")
    print(f"{directory}: {len(steps)} steps, {len(events)} events, {changes} changes in stages, "
          f"{executed} executed")
    return executed


def main():
    popliner, mkprofile, *directories = sys.argv[1:]
    directories = [folder for folder in directories
                   if os.path.exists(os.path.join(folder, "profile.pop"))]
    takes_all = cases.takes_all()
    if not takes_all:
        directories = directories[:1]
    with tempfile.TemporaryDirectory() as work:
        made = []
        for i, options in enumerate(MADE if takes_all else MADE[1:]):
            made.append(os.path.join(work, str(i)))
            run(mkprofile, *options.split(), "--output", made[-1])
        executed = sum(check_profile(popliner, directory, work)
                       for directory in directories + made)
        check(executed > 0, "no profile was executed")


main()
