#!/usr/bin/env python3
"""--report: one report of a directory against the report by itself; several together against every
split, evaluated in each of them by itself, for memory. option_pairs_test.py has other objectives.

    reports_test.py POPLINER MKPROFILE SCHEMA

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import sections_test

NAMES = ("inference", "training")
MODELS = (("--framework popart --layers 4 --tiles 4 --seed 31", 4),
          ("--framework tensorflow --layers 3 --tiles 4 --seed 32", 3),
          ("--framework poptorch --layers 4 --tiles 4 --outline --skips 1 --seed 33", 4))
PIPELINES = ((), ("--schedule", "popart"), ("--schedule", "tf-grouped", "--recompute", "full"),
             ("--schedule", "1f1b+1", "--need", "at-most"), ("--schedule", "zero-bubble"),
             ("--schedule", "inference", "--effects",
                                                       "accumulators"),
                                                       ("--memory-model", "popliner"))


def check(is_right, what):
    if not is_right:
        sys.exit(str(what)[:3000])


def run(*arguments, status=(0, 1)):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    check(done.returncode in status, (arguments, done.returncode, done.stderr.decode()))
    return done


def make(tool, arguments, place):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    run(tool, "--quiet", "--output", place, *arguments.split(), status=(0,))


class Root:
    """A directory with reports, and what each of them tells by itself."""

    def __init__(self, command, tool, model, place):
        self.command, self.place = command, place
        self.known = {}
        for name in NAMES:
            make(tool, f"{model} --{name}", os.path.join(place, name))
        self.chains = {}
        for name in NAMES:
            rows = json.loads(run(command, "-q", os.path.join(place, name), "--output", "layers",
                                  "--format", "json").stdout)["rows"]
            self.chains[name] = [(row["unit"], row["kind"]) for row in rows]
        check(self.layers(NAMES[0]) == self.layers(NAMES[1]), self.chains)

    def layers(self, name):
        return [unit for unit, kind in self.chains[name] if kind == "layer"]

    def units(self, pipeline):
        """Of all reports together, with whether it is a layer, and those that each has."""
        own = {name: list(chain) for name, chain in self.chains.items()}
        if "popliner" in pipeline:  # this model knows neither head nor tail
            for name in NAMES:
                answer = json.loads(self.alone(name, pipeline,
                                               ("--evaluate", "whole")))["stages"][0]
                none = [("None", "unlayered")] * (answer["unit_from"] == "None")
                own[name] = none + [(unit, "layer") for unit in self.layers(name)]
        every = []
        for kinds in (("head", "unlayered"), ("layer",), ("tail",)):
            for name in NAMES:
                every += [unit for unit in own[name] if unit[1] in kinds and unit not in every]
        return every, {name: {unit for unit, _ in own[name]} for name in NAMES}

    def alone(self, name, pipeline, arguments):
        key = (name, pipeline, arguments)
        if key not in self.known:
            self.known[key] = run(self.command, "-q", os.path.join(self.place, name), *pipeline,
                                  *arguments, "--format", "json").stdout
        return self.known[key]


def need(stage, pipeline):
    if "popliner" in pipeline:
        return stage["peak"]["bytes"]
    return stage["needs"]["at_most_bytes" if "at-most" in pipeline else "expected_bytes"]


def every_split(root, pipeline, num_ipus, min_layers):
    """(cuts as places, names of the units before them, {name: stages}) of every split."""
    units, own = root.units(pipeline)
    for count in range(num_ipus):
        for places in itertools.combinations(range(1, len(units)), count):
            ends = (0, *places, len(units))
            stages = [units[a:b] for a, b in zip(ends, ends[1:])]
            if (any(sum(kind == "layer" for _, kind in stage) < min_layers for stage in stages) or
                    any(not {unit for unit, _ in stage} & own[name] for stage in stages
                        for name in NAMES)):
                continue
            cuts = tuple(units[place - 1][0] for place in places)
            yield places, cuts, {name: json.loads(root.alone(
                name, pipeline,
                ("--evaluate", "|".join(cuts) or "whole")))["stages"] for name in NAMES}


def limits_of(told, pipeline, stage):
    return max(need(told[name][stage], pipeline) for name in NAMES)


def solve(root, schema, pipeline, num_ipus, limit, min_layers=1, ipu_limits=(), wanted=()):
    """One solve against all splits. Returns its fullest tile."""
    own_limit = dict(ipu_limits)
    options = ["--num-ipus", str(num_ipus), "--objective", "memory",
               "--require", f"layers:{str(min_layers)}..", "--mem-per-tile", str(limit)]
    options += [word for ipu, most in ipu_limits for word in ("--mem-per-tile",
                                                              f"{ipu}={most}")]
    options += [word for cut in wanted for word in ("--require", f"cut:{cut}")]
    splits = [(places, cuts, told) for places, cuts, told in
              every_split(root, pipeline, num_ipus, min_layers) if set(wanted) <= set(cuts)]
    fitting = [split for split in splits if all(
        limits_of(split[2], pipeline, stage) <= own_limit.get(stage, limit)
        for stage in range(len(split[1]) + 1))]

    def peak(split):
        return max(limits_of(split[2], pipeline, stage) for stage in range(len(split[1]) + 1))

    best = min(fitting or splits, key=lambda split: (peak(split), split[0]))
    words = [root.command, "-q", root.place, "--report", "all", "--solve", *pipeline, *options]
    done = run(*words, "--format", "json", status=(0,) if fitting else (1,))
    answer = json.loads(done.stdout)
    where = (root.place, pipeline, options)
    check(schema.complaint(answer) is None, (where, schema.complaint(answer)))
    _, cuts, told = best
    found = tuple(stage["unit_to"] for stage in answer["stages"][:-1])
    check(found == cuts, (where, "split", found, cuts))
    check(answer["fits"] == bool(fitting), where)
    check(answer["answer"]["status"] == ("optimal" if fitting else "infeasible"), where)
    totals = answer["answer"]["totals"]
    check((totals["memory"], totals["ipus"]) == (peak(best), len(cuts) + 1), (where, totals))
    look(answer, root, pipeline, cuts, told, limit, own_limit, where)
    tables(words, answer, pipeline, where)
    return totals["memory"]


def look(answer, root, pipeline, cuts, told, limit, own_limit, where):
    """The stages of the document, and what each report says by itself."""
    check([report["name"] for report in answer["reports"]] == list(NAMES), where)
    check([report["training"] for report in answer["reports"]] == [False, True], where)
    for name, report in zip(NAMES, answer["reports"]):
        own = json.loads(json.dumps(told[name]))
        for stages in (own, report["stages"]):
            for stage in stages:  # of the limit, which the other run did not have
                for key in ("limit_bytes", "fits"):
                    stage.pop(key)
                for key in ("verdict", "verdict_fitted", "verdict_given", "margin_bytes",
                            "margin_spreads"):
                    (stage["needs"] or {}).pop(key, None)
        check(own == report["stages"], (where, name, own, report["stages"]))
    for number, stage in enumerate(answer["stages"]):
        most = limits_of(told, pipeline, number)
        at = own_limit.get(number, limit)
        check((stage["ipu"], stage["need_bytes"], stage["limit_bytes"], stage["fits"]) ==
              (number, most, at, most <= at), (where, stage, most))
        check(most == need(told[stage["report"]][number], pipeline), (where, stage))


def tables(words, answer, pipeline, where):
    """TSV and CSV say the same as the document."""
    own = [["stage", "ipu", "from", "to", "limit", *NAMES, "fits"]]
    for number, stage in enumerate(answer["stages"]):
        own.append([str(number), str(stage["ipu"]), stage["unit_from"], stage["unit_to"],
                    str(stage["limit_bytes"]),
                    *(str(need(report["stages"][number], pipeline))
                      for report in answer["reports"]), "yes" if stage["fits"] else "no"])
    by_tab = run(*words, "--format", "tsv").stdout.decode()
    by_comma = run(*words, "--format", "csv").stdout.decode()
    check([line.split("\t") for line in by_tab.splitlines()] == own, (where, by_tab, own))
    check(list(csv.reader(io.StringIO(by_comma))) == own, (where, by_comma, own))


def evaluate(root, schema, pipeline, every):
    """--evaluate of every split."""
    for number, (_, cuts, told) in enumerate(cases.some(every_split(root, pipeline, 3, 0), 3)):
        for limit in ("1G", "1K") if every or not number else ("1G",):
            words = [root.command, "-q", root.place, "--report", NAMES[0], "--report", NAMES[1],
                     "--evaluate", "|".join(cuts) or "whole", *pipeline, "--mem-per-tile", limit]
            done = run(*words, "--format", "json", status=(0,) if limit == "1G" else (1,))
            answer = json.loads(done.stdout)
            check(schema.complaint(answer) is None, schema.complaint(answer))
            check(answer["answer"] is None, answer)
            tables(words, answer, pipeline, cuts)
            look(answer, root, pipeline, cuts, told, 10**9 if limit == "1G" else 1000, {}, cuts)


def together(command, tool, schema, model, num_layers, every):
    with tempfile.TemporaryDirectory() as place:
        root = Root(command, tool, model, place)
        for number, pipeline in enumerate(PIPELINES):
            if (number + num_layers) % cases.chosen(6, 3, 1):
                continue
            evaluate(root, schema, pipeline, every)
            least = solve(root, schema, pipeline, 3, 10**9)
            for words in cases.within_budget((
                    (least - 1,), (least,), (least, 0, ((0, least), (2, least * 2))),
                    (10**9, 1, (), ("0",)))):
                solve(root, schema, pipeline, 3, *words)
            if every:
                solve(root, schema, pipeline, 16, 10**9)
                solve(root, schema, pipeline, 16, 10**9, 0)


def alone(command, tool, every):
    """A report of a directory is what it is by itself."""
    with tempfile.TemporaryDirectory() as place:
        for name in NAMES:
            make(tool, f"--framework poptorch --layers 2 --tiles 4 --{name}",
                 os.path.join(place, name))
        wishes = [("--solve", "--num-ipus", "2"), ("--output", "tiles"), ("--diagnose",),
                  ("--evaluate", "0"), ("--memory-totals",)]
        own = {(name, wish): run(command, "-q", os.path.join(place, name), *wish).stdout
               for name in NAMES for wish in wishes[:None if every else 2]}

        def same(*where):
            for (name, wish), text in own.items():
                check(run(command, "-q", place, "--report", name, *wish, *where).stdout == text,
                      (name, wish, where))

        same()
        # of the process, as PopTorch writes it
        shutil.move(os.path.join(place, "training", "debug.cbor"),
                    os.path.join(place, "debug.cbor"))
        own = {key: text for key, text in own.items() if key[0] == "training"}
        same()
        for key in list(own):
            other = os.path.join(place, "other")
            with open(other, "w", encoding="utf-8") as file:
                file.write(f"{place}\n--report {key[0]}\n")
            check(run(command, "-q", "@" + other, *key[1]).stdout == own[key], key)
        shutil.move(os.path.join(place, "debug.cbor"), os.path.join(place, "else.cbor"))
        for (name, wish), text in own.items():
            check(run(command, "-q", place, os.path.join(place, "else.cbor"), "--report", name,
                      *wish).stdout == text, wish)


def refused(command, tool):
    """What cannot be done is said, with what can."""
    with tempfile.TemporaryDirectory() as place:
        root = os.path.join(place, "root")
        for name, model in (("training", "--training"), ("inference", "--inference"),
                            ("longer", "--inference --seed 4")):
            layers = 4 if name == "longer" else 3
            make(tool, f"--framework popart --layers {layers} --tiles 4 {model}",
                 os.path.join(root, name))

        def says(status, words, *arguments, where=root):
            done = run(command, where, *arguments, status=(status,))
            text = done.stderr.decode()
            for word in words:
                check(word in text, (arguments, word, text))

        both = ("--report", "training", "--report", "inference")
        says(3, ["inference/", "training/", "--report"], "--solve")
        says(2, ["did you mean training?"], "--report", "trainin", "--solve")
        says(2, ["there are inference, longer, training"], "--report", "nothing", "--solve")
        says(2, ["a report itself"], "--report", "x", "--solve", where=f"{root}/training")
        says(3, ["none of its sub-directories"], "--report", "x", "--solve", where=place)
        says(3, ["cannot be read"], "--report", "x", "--solve", where=f"{place}/none")
        says(2, ["leave out one of them"], *both, "--report", "all", "--solve")
        says(2, ["leave out one of them"], "--report", "training,all", "--solve")
        says(2, ["expected names, like training,inference"], "--report", "training,", "--solve")
        says(2, ["no such report; there are"], "--report", "training,tiles", "--solve")
        says(2, ["no such output"], "--report", "training", "--output", "tiles,layers")
        lists = [run(command, "-q", root, *words, "--solve", "-n", "2").stdout for words in (
            both, ("--report", "training,inference"), ("--report", "training/,inference/"))]
        check(lists[0] == lists[1] == lists[2] != b"", lists)
        says(2, ["leave out one of them"], *both, "--report", "training", "--solve")
        says(2, ["longer", "has no layer 3"], "--report", "longer", *both, "--solve")
        says(2, ["training has no layer 3, which longer has"], *both, "--report", "longer",
             "--solve")
        says(2, ["stage 1 is Tail alone, which training has not"], *both, "--evaluate", "2")
        says(2, ["no layer 7"], *both, "--evaluate", "7")
        # what is no pair of options
        for option in ("--memory-totals", "--diagnose", "--layer-breakdown"):
            says(2, [option], *both, option)
        says(2, ["--evaluate: not with --solve"], *both, "--solve", "--evaluate", "0")
        says(2, ["--report"], *both, "--load-from-file", "--solve")
        says(0, ["inference does not train"], "-v", *both, "--solve", "--schedule", "popart")
        shutil.copytree(os.path.join(root, "inference"), os.path.join(place, "two", "a"))
        shutil.copytree(os.path.join(root, "inference"), os.path.join(place, "two", "b"))
        says(0, ["no report trains"], "--report", "all", "--solve", "--schedule", "popart",
             where=os.path.join(place, "two"))
        profile = sqlite3.connect(os.path.join(root, "inference", "profile.pop"))
        profile.execute("UPDATE target_info SET bytes_per_tile = 600000")
        profile.commit()
        says(2, ["638976 bytes in training", "600000 in inference", "--mem-per-tile"], *both,
             "--solve")
        says(0, [], *both, "--solve", "--mem-per-tile", "600000")
        profile.execute("UPDATE target_info SET clock_frequency = 1000000")
        profile.commit()
        profile.close()
        says(2, ["clocks"], *both, "--solve", "--mem-per-tile", "1M", "--objective", "cycles")
        says(0, [], *both, "--solve", "--mem-per-tile", "1M")


def problem_of(work, *arguments):
    try:
        work(*arguments)
    except SystemExit as problem:
        return str(problem)
    return None


def main():
    command, tool, schema = sys.argv[1:]
    every = cases.takes_all()
    schema = sections_test.Schema(schema)
    tasks = [(problem_of, alone, command, tool, every)]
    tasks += [(problem_of, together, command, tool, schema, *model, every)
              for model in cases.chosen(MODELS[:1], MODELS[1:], MODELS)]
    tasks += [(problem_of, refused, command, tool)]
    problems = [problem for problem in cases.results(tasks, 2) if problem]
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
