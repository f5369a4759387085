#!/usr/bin/env python3
"""Comparing with a compiled pipeline, from the command line.

    compiled_test.py POPLINER MKPROFILE

What was compiled is added up here from the tables of the profile.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "docs", "compiled.schema.json")
TILES = 12
MODEL = ("--layers 4 --hidden 64 --sequence 16 --vocabulary 200 --seed 5 --debug-arguments 0 "
         f"--debug-nesting 0 --map-in-turn --tiles {TILES}")
STYLES = (
    ("--framework popart --training", " --accumulate", ["--schedule", "popart"]),
    ("--framework popart", "", []),
    ("--framework tensorflow --training", " --accumulate", ["--schedule", "tf-grouped"]),
)


class Tests:
    def __init__(self, popliner, mkprofile, directory):
        self.popliner, self.mkprofile, self.directory = popliner, mkprofile, directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def make(self, name, options):
        subprocess.run([self.mkprofile, "--output", self.path(name), "--quiet", *MODEL.split(),
                        *options.split()], check=True)
        return self.path(name)

    def run(self, *arguments, status=0):
        done = subprocess.run([self.popliner, "-q", *arguments], capture_output=True,
                              encoding="utf-8")
        if done.returncode != status:
            sys.exit(f"{' '.join(arguments)}: status {done.returncode}, not {status}\n"
                     f"{done.stderr}{done.stdout[:500]}")
        return done

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--format", "json").stdout)

    def refuse(self, status, parts, *arguments):
        done = self.run(*arguments, status=status)
        for part in parts:
            if part not in done.stderr or done.stdout:
                sys.exit(f"{' '.join(arguments)}: expected '{part}', found\n{done.stderr}")


def require(holds, what, *values):
    if not holds:
        sys.exit(f"{what}: {', '.join(map(str, values))}")


def check_schema(schema, value, place, root):
    """The few words that the schema uses."""
    if "$ref" in schema:
        check_schema(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, place, root)
    if "enum" in schema:
        require(value in schema["enum"], place, value)
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float)}
    if "type" in schema:
        require(isinstance(value, types[schema["type"]]), place, value)
    require(not isinstance(value, (int, float)) or value >= schema.get("minimum", value), place,
            value)
    if isinstance(value, list):
        for i, item in enumerate(value):
            check_schema(schema["items"], item, f"{place}[{i}]", root)
    if isinstance(value, dict) and "properties" in schema:
        require(set(schema.get("required", ())) <= set(value) <= set(schema["properties"]), place,
                sorted(value))
        for key, item in value.items():
            check_schema(schema["properties"][key], item, f"{place}.{key}", root)


def compiled(path, ipu, has_gaps=True):
    """The fullest tile of an IPU, as the report tells it, from the tables."""
    db = sqlite3.connect(f"file:{path}/profile.pop?mode=ro", uri=True)
    rows = db.execute("SELECT always_live_bytes + not_always_live_max_bytes, total_including_gaps "
                      "FROM memory_by_tile ORDER BY tile").fetchall()[ipu * TILES:][:TILES]
    db.close()
    sizes = [end if has_gaps else live for live, end in rows]
    tile = sizes.index(max(sizes))
    return {"bytes": max(sizes), "tile": tile, "layout": max(sizes) - rows[tile][0]}


def check_comparison(document, path, whole, tests, split, options):
    """What was compiled, that the groups add up, and that --evaluate predicts the same."""
    has_gaps = "--effects" not in options
    needs = tests.json(whole, "--evaluate", split, *options)["stages"]
    for ipu, stage in enumerate(document["stages"]):
        truth = compiled(path, ipu, has_gaps)
        told = {key: stage["compiled"][key] for key in truth}
        require(told == truth, "compiled", ipu, told, truth)
        for side in ("predicted", "compiled"):
            own = dict(stage[side])
            require(own.pop("tile") < TILES, side, ipu)
            require(own.pop("bytes") == sum(own.values()), side, ipu)
        predicted = {key: needs[ipu]["peak"][key] for key in ("bytes", "tile")}
        require(predicted == {key: stage["predicted"][key] for key in predicted}, "need", ipu)
        error = 100 * (predicted["bytes"] / truth["bytes"] - 1)
        require(math.isclose(stage["error_percent"], error, abs_tol=1e-9), "error", ipu)


def check_refusals(tests, whole, path):
    evaluate = [whole, "--evaluate", "0,2"]
    tests.refuse(2, ["3 stages", "2 IPUs"], *evaluate, "--compiled", path)
    tests.refuse(2, ["2 stages", "1 IPU,"], whole, "--evaluate", "1", "--compiled", whole)
    tests.refuse(2, ["--compiled: does nothing here; it is for --evaluate"], whole, "--solve",
                 "--compiled", path)
    tests.refuse(2, ["--memory-model popliner"], *evaluate, "--compiled", path,
                 "--memory-model", "popliner")
    tests.refuse(2, ["--device-map"], *evaluate, "--compiled", path, "--device-map", "0,1,2")
    os.mkdir(tests.path("empty"))
    tests.refuse(3, ["0/profile.pop"], *evaluate, "--compiled", tests.path("empty"))

def check_directories(tests, whole, path, options):
    """A report for each IPU, in the order of their numbers. Here both are of one IPU each."""
    other = tests.make("other", "--framework popart --plan-seed 99")
    reports = tests.path("reports")
    for name, report in (("ipu2", whole), ("ipu10", other)):
        os.makedirs(os.path.join(reports, name))
        shutil.copy(os.path.join(report, "profile.pop"), os.path.join(reports, name))
    os.mkdir(os.path.join(reports, "ipu1"))  # without a report
    stages = tests.json(whole, "--evaluate", "1", *options, "--compiled", reports)["stages"]
    for stage, report in zip(stages, (whole, other), strict=True):
        truth = compiled(report, 0)
        require(truth == {key: stage["compiled"][key] for key in truth}, "directories", report)
    log = subprocess.run([tests.popliner, "-v", whole, "--evaluate", "1", *options, "--compiled",
                          path],
                         capture_output=True, encoding="utf-8", check=True).stderr
    require(f"{path}: IPU 0 alone: the tiles 0 to {TILES - 1} " in log, log)
    tests.refuse(2, ["3 stages", "2 IPUs"], whole, "--evaluate", "0,1", "--compiled", reports)
    shutil.rmtree(os.path.join(reports, "ipu10"))
    shutil.copytree(path, os.path.join(reports, "ipu10"))
    tests.refuse(2, ["ipu10", "2 IPUs"], whole, "--evaluate", "1", "--compiled", reports)
    smaller = tests.make("smaller", "--framework popart --tiles 8 --pipeline 1")
    tests.refuse(2, ["8", str(TILES), "tiles"], whole, "--evaluate", "1", "--compiled", smaller)


def main():
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    with tempfile.TemporaryDirectory() as directory:
        tests = Tests(sys.argv[1], sys.argv[2], directory)
        for number, (model, accumulate, options) in enumerate(STYLES):
            whole = tests.make(f"whole{number}", f"{model}{accumulate} --plan-seed 11")
            for split in ("1", "0|2"):
                path = tests.make(f"pipeline{number}{split}",
                                  f"{model} --pipeline {split} --plan-seed 12")
                arguments = [whole, "--evaluate", split, *options, "--compiled", path]
                document = tests.json(*arguments)
                check_schema(schema, document, "report", schema)
                check_comparison(document, path, whole, tests, split, options)
                text = tests.run(*arguments).stdout
                for stage in document["stages"]:
                    require(f"{stage['error_percent']:+.1f} %" in text, "the text", stage, text)
                own = [*options, "--effects", "passing,buffers,accumulators"]
                arguments = [whole, "--evaluate", split, *own, "--compiled", path]
                check_comparison(tests.json(*arguments), path, whole, tests, split, own)
        check_refusals(tests, whole, tests.path(f"pipeline{number}1"))
        check_directories(tests, tests.path("whole1"), tests.path("pipeline11"), [])


main()
