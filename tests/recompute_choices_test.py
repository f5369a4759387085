#!/usr/bin/env python3
"""--recompute auto of profiles, through the command, against every split with every choice.

    recompute_choices_test.py POPLINER MKPROFILE [all]

Every split is evaluated with none, standard and full (memory), and solved for with all its cuts
given (cycles). What stages choose must be the best of all combinations of these numbers, and
--evaluate with what was chosen must tell the same memory.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction

import cases
import plain_step

WAYS = ("none", "standard", "full")
MODELS = ("--framework popart --layers 4 --seed 21",
          "--framework tensorflow --layers 3 --outline --seed 22",
          "--framework poptorch --layers 4 --outline --skips 1 --seed 23",
          "--framework popart --layers 5 --accumulate --seed 24")
PIPELINES = (["--schedule", "popart"], ["--schedule", "tf-grouped", "--need", "at-most"],
             ["--schedule", "1f1b+1"], ["--schedule", "tf-interleaved", "--effects", "accumulators"])
OBJECTIVES = ("memory,cycles", "cycles,memory", "memory,traffic", "traffic,cycles,memory",
              "ipus,cycles")


def fail(text):
    sys.exit(text)


def run(*arguments, status=(0, 1)):
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8")
    if done.returncode not in status:
        fail(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done


def solve(tool, profile, *arguments):
    done = run(tool, "-q", profile, "--solve", "--format", "json", *arguments)
    return json.loads(done.stdout)


def evaluate(tool, profile, cuts, *arguments):
    done = run(tool, "-q", profile, "--evaluate", "|".join(cuts) if cuts else "whole", "--format",
               "json", *arguments)
    return json.loads(done.stdout)


def need(stage, pipeline):
    return stage["needs"]["at_most_bytes" if "at-most" in pipeline else "expected_bytes"]


def measure(tool, profile, pipeline, cuts, num_ipus):
    """Of each way the (memory, cycles) of the stages of a split, and its cut bytes."""
    rows, traffic = {}, None
    for way in WAYS:
        own = [*pipeline, "--recompute", way]
        given = [item for cut in cuts for item in ("--require", f"cut:{cut}")]
        answer = solve(tool, profile, *own, *given, "--num-ipus", str(num_ipus),
                       "--mem-per-tile", "1G", "--objective", "ipus")
        memory = [need(stage, pipeline) for stage in evaluate(tool, profile, cuts, *own)]
        if len(answer["stages"]) != len(memory):
            fail(f"{profile}: {cuts} became {len(answer['stages'])} stages")
        rows[way] = [(bytes_, stage["cycles"])
                     for bytes_, stage in zip(memory, answer["stages"])]
        traffic = answer["totals"]["traffic"]
    return rows, traffic


def check_rows(rows):
    """What holds for any profile: to keep more is never less, and takes no time; recomputing
    takes some, but for the last stage."""
    for none, standard, full in zip(rows["none"][:-1], rows["standard"], rows["full"]):
        if standard[0] < none[0] or standard[1] != none[1] or full[1] <= none[1]:
            fail(f"{none} {standard} {full}")


def value(plan, objective):
    stages, traffic = plan
    return {"memory": max(stage[0] for stage in stages), "ipus": len(stages),
            "cycles": max(stage[1] for stage in stages), "traffic": traffic}[objective]


def best_of(splits, objectives, limit, ways):
    plans = ((stages, traffic) for rows, traffic in splits
             for stages in itertools.product(*zip(*(rows[way] for way in ways)))
             if all(stage[0] <= limit for stage in stages))
    return min(([value(plan, name) for name in objectives] for plan in plans), default=None)


def check(tool, profile, pipeline, splits, objective, limit, ways):
    chosen = "auto" if ways == WAYS else "auto:" + ",".join(ways)
    answer = solve(tool, profile, *pipeline, "--recompute", chosen, "--objective", objective,
                   "--mem-per-tile", str(limit))
    expected = best_of([split for split in splits.values()], objective.split(","), limit, ways)
    what = f"{profile} {pipeline} {chosen} {objective} {limit}"
    if (answer["status"] == "optimal") != (expected is not None):
        fail(f"{what}: {answer['status']}, but {expected}")
    told = [item["value"] for item in answer["objectives"]]
    if expected is not None and told != expected:
        fail(f"{what}: {told} instead of {expected}")
    stages = answer["stages"]
    if not stages:
        return None
    cuts = tuple(stage["layers"][-1] for stage in stages[:-1])
    choices = [stage["recompute"] for stage in stages]
    rows = splits[cuts][0]
    for stage, row in zip(stages, [rows[way][i] for i, way in enumerate(choices)]):
        if (need(stage, pipeline), stage["cycles"]) != row or stage["recompute"] not in ways:
            fail(f"{what}: a stage has {stage['cycles']} cycles and {need(stage, pipeline)} bytes "
                 f"instead of {row}")
    again = evaluate(tool, profile, cuts, *pipeline, "--recompute", ",".join(choices)) \
        if len(choices) > 1 else []
    for stage, other in zip(stages, again):
        if need(other, pipeline) != need(stage, pipeline) or \
                other["recompute"] != stage["recompute"]:
            fail(f"{what}: evaluated otherwise, {other['needs']}")
    return set(choices) if expected is not None else None


def plans_of(splits):
    return [(stages, traffic) for rows, traffic in splits.values()
            for stages in itertools.product(*zip(*(rows[way] for way in WAYS)))]


VERDICT = re.compile(r"^>? +(\d+) .*  (fits|likely fits|may not fit|does not fit)(?:  .*)?$", re.MULTILINE)


def check_verdicts(tool, profile, options):
    """A row of a range says the same as its number of IPUs alone."""
    run_text = functools.partial(run, tool, "-q", profile, "--solve", "--format", "text", *options)
    rows = VERDICT.findall(run_text("--num-ipus", "1..4").stdout)
    if not rows:
        fail(f"{profile} {options}: no verdicts")
    for count, verdict in rows:
        alone = run_text("--num-ipus", count).stdout
        if not alone.lower().startswith(verdict):
            fail(f"{profile} {options} {count}: {verdict}, but alone\n{alone}")


def check_several(tool, profile, pipeline, splits, objective, limit):
    """Ranges and fronts: no row or point can be better, and each has the choices it needs."""
    names = objective.split(",")
    own = [*pipeline, "--recompute", "auto", "--mem-per-tile", str(limit)]
    plans = [plan for plan in plans_of(splits) if all(stage[0] <= limit for stage in plan[0])]
    rows = solve(tool, profile, *own, "--objective", objective, "--num-ipus", "1..4")["results"]
    for count, row in enumerate(rows, 1):
        best = min(([value(plan, name) for name in names] for plan in plans
                    if len(plan[0]) <= count), default=None)
        told = [item["value"] for item in row["objectives"]]
        if (row["status"] == "optimal") != (best is not None) or (best and told != best):
            fail(f"{profile} {own} {objective} {count}: {told} instead of {best}")
        if best and not {stage["recompute"] for stage in row["stages"]} <= set(WAYS):
            fail(f"{profile} {own} {objective} {count}: {row['stages']}")
    check_verdicts(tool, profile, [*own, "--objective", objective])
    table = run(tool, "-q", profile, "--solve", "--format", "tsv", *own, "--objective", objective,
                "--num-ipus", "1..4").stdout.splitlines()
    at = table[0].split("\t").index("recompute")
    told = [line.split("\t")[at].split(" | ") for line in table[1:]]
    if told != [[stage["recompute"] for stage in row["stages"]] or [""] for row in rows]:
        fail(f"{profile} {own} {objective}: the table has {told}")
    if len(names) != 2:
        return
    points = solve(tool, profile, *own, "--pareto", objective, "--num-ipus", "9")["results"]
    told = [[item["value"] for item in point["objectives"]] for point in points]
    pairs = sorted({tuple(value(plan, name) for name in names) for plan in plans})
    front = [pair for i, pair in enumerate(pairs)
             if all(other[1] > pair[1] for other in pairs[:i])]
    if told != [list(pair) for pair in front]:
        fail(f"{profile} {own} --pareto {objective}: {told} instead of {front}")


def step_of(plan, rule):
    """The time of a step of nine micro-batches, of whose cycles a third is forward."""
    count = len(plan[0])
    lists = plain_step.lists_of(rule, count, count, 9, None)
    cost = [{"F": cycles // 3, "B": cycles - cycles // 3} for _, cycles in plan[0]]
    return plain_step.longest_path(lists, cost, count - 1)


def check_replicas(tool, profile, pipeline, splits, limit):
    """Of each number of stages the shortest step, of these the least memory, then the fewest cut
    bytes. There are so many micro-batches that no stage stores fewer copies."""
    own = [*pipeline, "--recompute", "auto", "--mem-per-tile", str(limit)]
    own += ["--total-ipus", "6", "--micro-batches", "9"]
    told = solve(tool, profile, *own)["candidates"]
    plans = [plan for plan in plans_of(splits) if all(stage[0] <= limit for stage in plan[0])]
    steps = [step_of(plan, pipeline[1].removesuffix("+1")) for plan in plans]
    for row in told:
        count = row["stages"]
        best = min(((step, value(plan, "memory"), value(plan, "traffic"))
                    for step, plan in zip(steps, plans) if len(plan[0]) == count), default=None)
        if (row["replicas"], row["step_cycles"]) != ((6 // count, best[0]) if best else (0, 0)):
            fail(f"{profile} {own} {count}: {row} instead of {best}")
        if best is None:
            continue
        if row["status"] != "optimal" or row["gap"] != 0:
            fail(f"{profile} {own} {count}: not proven: {row}")
        cuts = tuple(stage["to"] for stage in row["split"][:-1])
        for i, stage in enumerate(row["split"]):
            if (stage["max_tile_mem"], stage["cycles"]) != splits[cuts][0][stage["recompute"]][i]:
                fail(f"{profile} {own} {count}: {stage} is not {splits[cuts]}")
        if (max(stage["max_tile_mem"] for stage in row["split"]), splits[cuts][1]) != best[1:]:
            fail(f"{profile} {own} {count}: {row} instead of {best}")
    points = solve(tool, profile, *own, "--pareto", "throughput,memory")["results"]
    pairs = sorted((-Fraction(6 // len(plan[0]) * 9, step), value(plan, "memory"))
                   for step, plan in zip(steps, plans) if len(plan[0]) <= 6)
    front = [pair for i, pair in enumerate(pairs)
             if all(other[1] > pair[1] for other in pairs[:i])]
    told = [(-Fraction(row["replicas"] * 9, row["step_cycles"]), row["memory"]) for row in points]
    if told != front:
        fail(f"{profile} {own} --pareto: {told} instead of {front}")


def check_given(tool, profile, pipeline, splits, limit):
    """The stages on an IPU of a given split recompute alike: with the fewest cycles within the
    limit, or else with the lowest peak."""
    for cuts, (rows, _) in splits.items():
        count = len(cuts) + 1
        for num_ipus in {count, 2} if count > 2 else {count}:
            ipus = [i % num_ipus for i in range(count)]
            own = [*pipeline, "--mem-per-tile", str(limit)]
            own += ["--device-map", ",".join(map(str, ipus))] if num_ipus < count else []
            told = evaluate(tool, profile, cuts, *own, "--recompute", "auto")
            peaks = {way: [need(stage, pipeline) for stage in
                           evaluate(tool, profile, cuts, *own, "--recompute", way)]
                     for way in WAYS}
            for ipu in range(num_ipus):
                on_ipu = [i for i in range(count) if ipus[i] == ipu]
                sums = {way: (peaks[way][ipu], sum(rows[way][i][1] for i in on_ipu))
                        for way in WAYS}
                best = min((own for own in sums.values() if own[0] <= limit),
                           key=lambda own: own[::-1], default=min(sums.values()))
                chosen = {told[i]["recompute"] for i in on_ipu}
                if len(chosen) > 1 or sums[chosen.pop()] != best or \
                        need(told[ipu], pipeline) != best[0]:
                    fail(f"{profile} {own} {cuts}, IPU {ipu}: {told} instead of {best}")


def main():
    tool, maker = sys.argv[1:3]
    takes_all = cases.takes_all()
    seen = []
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(MODELS if takes_all else MODELS[:1]):
            profile = os.path.join(folder, str(number))
            run(maker, "--output", profile, "--training", "--tiles", "4", "--hidden", "16",
                "--sequence", "8", "--vocabulary", "60", "--quiet", *model.split(), status=(0,))
            layers = [layer for stage in solve(tool, profile, "--mem-per-tile", "1G")["stages"]
                      for layer in stage["layers"]]
            for pipeline in PIPELINES[number % 2::2 if takes_all else 4]:
                splits = {cuts: measure(tool, profile, pipeline, cuts, len(layers) + 2)
                          for count in range(len(layers))
                          for cuts in itertools.combinations(layers[:-1], count)}
                for rows, _ in splits.values():
                    if not any("1f1b" in own or own[:1].isdigit() or ":" in own or own in
                               ("gpipe", "zero-bubble") for own in pipeline):
                        check_rows(rows)
                peaks = sorted(row[0] for rows, _ in splits.values() for way in WAYS
                               for row in rows[way])
                for objective in cases.some(OBJECTIVES, 2):
                    for limit in (10**9, peaks[len(peaks) // 2], peaks[len(peaks) // 5], peaks[0]):
                        seen.append(check(tool, profile, pipeline, splits, objective, limit, WAYS))
                        check_several(tool, profile, pipeline, splits, objective, limit)
                        if objective == OBJECTIVES[0]:
                            check_replicas(tool, profile, pipeline, splits, limit)
                            check_given(tool, profile, pipeline, splits, limit)
                    seen.append(check(tool, profile, pipeline, splits, objective,
                                      peaks[len(peaks) // 3], ("standard", "full")))
    mixed = sum(1 for choices in seen if choices is not None and len(choices) > 1)
    if mixed < len(seen) // 10 or None not in seen:
        fail(f"only {mixed} of {len(seen)} answers are mixtures")
    print(f"{len(seen)} answers, {mixed} of them mixtures")


if __name__ == "__main__":
    main()
