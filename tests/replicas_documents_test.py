#!/usr/bin/env python3
"""--total-ipus for files of costs against plain_solver.py: every split, interleaved or not, with
every number of replicas, and a step that is the longest path through its passes.

    replicas_documents_test.py POPLINER

The full run takes many times as many files.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import copy
import json
import math
import os
import subprocess
import sys
import tempfile

import cases
import plain_solver

RULES = ["1f1b", "gpipe", "zero-bubble", "interleaved"]


def draw(rng):
    """A file of costs, and what is asked about it."""
    names = "abcdefg"[: rng.randint(3, 7)]
    units = [{"name": name, "memory": rng.randint(0, 20), "cycles": rng.randint(1, 30),
              "stash": rng.randint(0, 4), "parameters": rng.randint(0, 60)} for name in names]
    shared = [{"units": sorted(rng.sample(names, 2)), "memory": rng.randint(1, 15)}
              for _ in range(rng.randint(0, 2))]
    costs = {"format": "popliner-costs", "version": 1, "units": units, "shared": shared,
             "cuts": [rng.randint(0, 20) for _ in names[1:]],
             "cut_cycles": [rng.randint(0, 3) for _ in names[1:]]}
    asked = {"total": rng.randint(1, 6), "chunks": rng.choice([1, 1, 2]), "copies": None, "more": 0,
             "memory": rng.choice([None, rng.randint(20, 120)]),
             "bandwidth": rng.choice([None, rng.randint(1, 9)]),
             "link": rng.choice([None, None, 1, 3])}
    if rng.random() < 0.7:
        asked["copies"] = rng.choice(RULES if asked["chunks"] > 1 else RULES[:3])
        asked["more"] = rng.randint(0, 1)
    else:
        asked["schedule"] = rng.choice(["none", "none", "popart", "tf-grouped", "sequential",
                                        "inference"])
    key = rng.choice(["micro-batches", "batch"])
    asked[key] = rng.randint(1, 12)
    asked["objectives"] = rng.choice([("throughput", "memory", "traffic")] * 2 +
                                     [("throughput", "cycles", "memory"),
                                      ("throughput", "traffic", "cycles")])
    if rng.random() < 0.4:
        draw_choices(rng, units[:5], asked)
        del units[5:]
        names = names[:5]
        del costs["cut_cycles"][len(names) - 1:]
        costs["shared"] = [own for own in shared if set(own["units"]) <= set(names)]
    if rng.random() < 0.4:
        for unit in units:
            unit["forward"], unit["backward"] = rng.randint(1, 10), rng.randint(1, 20)
            del unit["cycles"]
    asked["slack"] = rng.choice([0, 0, 0, 1, 5, 10, 25, 60])
    longest = min(asked["total"], len(names) // asked["chunks"])
    if rng.random() < 0.2 and longest > 1:
        asked["memories"] = {rng.randrange(longest): rng.randint(20, 120)}
        asked["memory"] = rng.randint(20, 120)
    if rng.random() < 0.2 and longest > 1:
        asked["speeds"] = {rng.randrange(longest): rng.choice([0.5, 1.5, 2])}
    costs["cuts"] = [rng.randint(0, 20) for _ in names[1:]]
    return costs, asked


def draw_choices(rng, units, asked):
    """Lets stages of one device choose how they recompute."""
    asked.update(chunks=1, recompute=rng.choice(["auto", "auto", "auto", "full"]))
    asked["copies"] = rng.choice([asked["copies"], "1f1b", "gpipe"])
    if asked["copies"] in ("interleaved", None) and asked["recompute"] == "full" or \
            asked["copies"] == "interleaved":
        asked["copies"] = "1f1b"
    for unit in units:
        unit.update(inputs=rng.randint(0, 2), recompute_cycles=rng.randint(0, 10),
                    stash=rng.randint(0, 12))
    for unit in rng.sample(units, rng.randint(0, 2)):
        unit["variants"] = [{"name": "x", "memory": rng.randint(0, 20), "stash": rng.randint(0, 8),
                             "cycles": rng.randint(1, 40)}]


def request_of(asked):
    return plain_solver.Request(
        num_ipus=asked["total"], memory=asked["memory"], copies=asked["copies"],
        more_copies=asked["more"], micro_batches=asked.get("micro-batches"),
        schedule=asked.get("schedule", "none"), bandwidth=asked["link"],
        recompute=asked.get("recompute", "none"), objectives=asked["objectives"],
        slack=asked["slack"],
        memories=asked.get("memories", {}),
        speeds={i: plain_solver.decimal(s) for i, s in asked.get("speeds", {}).items()})


def ask(popliner, costs, asked, directory, memories=None):
    """The answer; with memories, bytes "A..B:STEP", that of a range; or that of a front."""
    path = os.path.join(directory, "costs.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(costs, file)
    command = [popliner, "-q", path, "--solve", "--format", "json",
               "--total-ipus", str(asked["total"]), "--device-map", f"interleaved:{asked['chunks']}"]
    if asked.get("is_front"):
        command[-2:-2] = ["--pareto", ",".join(asked["objectives"])]
    elif asked["objectives"][1] != "memory":  # else the default
        command[-2:-2] = ["--objective", ",".join(asked["objectives"])]
    if asked["chunks"] == 1:
        command = command[:-2]
    if memories is not None:
        command.append(f"--mem-per-tile={memories}")
        asked = {**asked, "memory": None}
    for key, option in (("memory", "mem-per-tile"), ("bandwidth", "bandwidth=replicas"),
                        ("link", "bandwidth"),
                        ("micro-batches", "micro-batches"), ("batch", "batch"),
                        ("slack", "slack"), ("recompute", "recompute")):
        if asked.get(key):
            command.append(f"--{option}={asked[key]}")
    for key, option in (("memories", "mem-per-tile"), ("speeds", "ipu-speed")):
        command += [f"--{option}={i}={own}" for i, own in asked.get(key, {}).items()]
    if asked["copies"] is not None:
        command += ["--schedule", asked["copies"] + ("+1" if asked["more"] else "")]
    elif asked["schedule"] != "none":
        command += ["--schedule", asked["schedule"]]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1):
        raise AssertionError(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def is_told(own, cuts, split):
    """Whether a candidate has these stages."""
    return split.cuts == cuts and [(s["max_tile_mem"], s["cycles"]) for s in own["split"]] == \
        [(stage.memory, stage.cycles) for stage in split.stages]


def check_choices(question, names, own, expected):
    """A candidate is one of those as good as the expected one, and every stage has the fewest
    cycles within the memory of the device, and of the split if that is an objective."""
    cuts = tuple(names.index(stage["from"]) for stage in own["split"][1:])
    found = plain_solver.pipelines_of(*question, own["stages"], cuts)
    same = [f for f in found if f[0][:3] == expected[0][:3] and is_told(own, cuts, f[4])]
    assert same, (own, expected)
    _, step, replicas, batches, split = same[0]
    assert (own["replicas"], own["micro_batches"], own["step_cycles"]) == \
        (replicas, batches, step), (own, expected)
    most = split.value("memory") if "memory" in question[1].objectives else math.inf
    for k in range(len(split.stages)):
        ways = [f[4].stages[k] for f in found if f[2] == replicas]
        best = min((way.plain, way.memory) for way in ways if way.memory <= most)
        assert best in [(f[4].stages[k].plain, f[4].stages[k].memory) for f in same], (own, k)


def check_candidate(question, names, own, expected):
    """A candidate has the values of the expected one, and those of its own cuts."""
    assert (own["status"], own["gap"]) == ("optimal", 0), own
    if question[1].recompute == "auto":
        check_choices(question, names, own, expected)
        return
    # of splits that are as good in all, with other cycles and parameters, no document says which
    # one it is
    cuts = tuple(names.index(stage["from"]) for stage in own["split"][1:])
    told = min((f for f in plain_solver.pipelines_of(*question, own["stages"], cuts)
                if f[2] == own["replicas"]), key=lambda f: f[0], default=None)
    assert told is not None and told[0][:3] == expected[0][:3], (expected, told, own)
    _, step, replicas, batches, split = told
    assert replicas == expected[2] and own["micro_batches"] == batches, (expected, own)
    assert own["step_cycles"] == own["pipeline_cycles"] + own["all_reduce_cycles"] == step
    assert own["memory"] == split.value("memory"), own
    parameters = max(split.by_device(lambda stage: stage.parameters).values())
    assert (own["cycles"], own["parameter_bytes"]) == (split.value("cycles"), parameters), own
    for told, stage in zip(own["split"], split.stages, strict=True):
        assert told["from"] == names[stage.first] and told["to"] == names[stage.end - 1], own
        assert (told["max_tile_mem"], told["parameter_bytes"]) == \
            (stage.memory, stage.parameters), own


def check_slack(costs, question, names, answer):
    """Each row is one of those that it may be, to the last number."""
    at, rows = plain_solver.slack_of(*question)
    assert answer["best"] == at, (answer["best"], at, answer)
    for own, expected in zip(answer["candidates"], rows, strict=True):
        assert (own["replicas"] > 0) == (len(expected) > 0), own
        cuts = tuple(names.index(stage["from"]) for stage in own.get("split", [])[1:])
        same = [f for f in expected if f[2] == own["replicas"] and is_told(own, cuts, f[4])]
        assert same or not expected, (own, [f[:4] for f in expected])
        for _, step, _, batches, split in same:
            assert (own["step_cycles"], own["micro_batches"]) == (step, batches), (own, step)
            assert own["cycles"] == split.value("cycles"), own
            fastest = min(f[0][0] for f in plain_solver.pipelines_of(*question, own["stages"]))
            gap = float(fastest * step / -(own["replicas"] * batches)) - 1 if step else 0
            assert own["status"] == "optimal" and abs(own["gap"] - gap) < 1e-9, (own, gap)
    return at is not None


def question_of(costs, asked):
    return (plain_solver.Costs(costs), request_of(asked), asked["total"], asked["chunks"],
            asked.get("batch"), 1, asked["bandwidth"])


def check_front(popliner, costs, asked, directory):
    """The points of --pareto throughput,memory are all that there are."""
    more = [name for name in asked["objectives"][1:] if name != "memory"]
    asked = {**asked, "slack": 0, "objectives": ("throughput", "memory", *more), "is_front": True}
    answer = ask(popliner, costs, asked, directory)
    names = [unit["name"] for unit in costs["units"]]
    question = question_of(copy.deepcopy(costs), asked)
    points = plain_solver.front_of_replicas(*question)
    assert (answer["pareto"], answer["complete"]) == (["throughput", "memory"], True), answer
    for own, expected in zip(answer["results"], points, strict=True):
        assert own["stages"] == len(set(s.device for s in expected[4].stages)), (own, expected)
        check_candidate(question, names, own, expected)
    return len(points)


def check(costs, asked, answer):
    candidates = answer["candidates"]
    question = question_of(costs, asked)
    if asked["slack"] > 0:
        return check_slack(costs, question, [unit["name"] for unit in costs["units"]], answer)
    bests = plain_solver.candidates_of(*question)
    assert len(candidates) == len(bests), (len(candidates), len(bests))
    names = [unit["name"] for unit in costs["units"]]
    for own, expected in zip(candidates, bests):
        assert (expected is None) == (own["replicas"] == 0), (expected, own)
        if expected is not None:
            check_candidate(question, names, own, expected)
    fitting = [i for i, best in enumerate(bests) if best is not None]
    expected = min(fitting, key=lambda i: (bests[i][0][:2], i), default=None)
    assert answer["best"] == expected, (answer["best"], expected, bests)
    return expected is not None


def check_range(popliner, costs, asked, directory):
    """Each row of a range of memory is the best candidate with that memory."""
    values = range(asked["memory"] // 2, asked["memory"] + 40, 35)
    rows = ask(popliner, costs, asked, directory, f"{values[0]}..{values[-1]}:35")["results"]
    assert [row["value"] for row in rows] == list(values), rows
    for row in rows:
        own = {**asked, "memory": row["value"]}
        answer = ask(popliner, costs, own, directory)
        check(copy.deepcopy(costs), own, answer)
        best = None if answer["best"] is None else answer["candidates"][answer["best"]]
        assert (row["best"], row["stopped"]) == (best, False), (row, best)


def check_all(popliner, costs, asked, directory):
    if asked["memory"] is not None:
        check_range(popliner, costs, asked, directory)
    check_front(popliner, costs, asked, directory)
    return check(costs, asked, ask(popliner, costs, asked, directory))


def main():
    popliner = sys.argv[1]
    number = cases.chosen(80, 400, 2000)
    with tempfile.TemporaryDirectory() as directory:
        fitting, _ = cases.each_seed(number, draw, lambda costs, asked: (
            check_all(popliner, costs, asked, directory), 1))
    if not number / 2 < fitting < number:
        sys.exit(f"only {fitting} of {number} fit, or all")
    print(f"{number} files, of which {fitting} fit: as the documents say")


if __name__ == "__main__":
    main()
