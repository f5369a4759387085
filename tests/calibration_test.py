#!/usr/bin/env python3
"""Comparing with a compiled pipeline, and predicting with the correction, from the command line.

    calibration_test.py POPLINER MKPROFILE

What was compiled is added up here from the tables of the profile, the correction is calculated here
from the bytes of the fullest tiles, and what the report promises is held against what the command
then predicts. Solving with odd corrections must find what is the best of all splits that --evaluate
tells of.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "docs", "calibration.schema.json")
TILES = 12
ELEMENT_BYTES = 16384  # the small ones of a tile's memory
MODEL = ("--layers 4 --hidden 64 --sequence 16 --vocabulary 200 --seed 5 --debug-arguments 0 "
         f"--debug-nesting 0 --map-in-turn --tiles {TILES}")
STYLES = (
    ("--framework popart --training", " --accumulate", ["--schedule", "popart"]),
    ("--framework popart", "", []),
    ("--framework tensorflow --training", " --accumulate", ["--schedule", "tf-grouped"]),
)
CODE = {"vertexCode": "vertex_code", "vertexInstanceState": "vertex_state",
        "internalExchangeCode": "exchange_code", "controlCode": "control_code"}


class Tests:
    def __init__(self, popliner, mkprofile, directory):
        self.popliner, self.mkprofile, self.directory = popliner, mkprofile, directory
        self.squares = {"before": 0, "after": 0}  # of the errors of all stages
        self.num_on_step = 0  # splits with a stage that ends where an element begins

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
            if part not in cases.joined(done.stderr) or done.stdout:
                sys.exit(f"{' '.join(arguments)}: expected '{part}', found\n{done.stderr}")

    def write(self, name, document):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        return self.path(name)


def require(holds, what, *values):
    if not holds:
        sys.exit(f"{what}: {', '.join(map(str, values))}")


def check_schema(schema, value, place, root):
    """The few words that the schema uses."""
    if "$ref" in schema:
        check_schema(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], value, place, root)
    if "enum" in schema:
        require(value in schema["enum"], place, value)
    if "anyOf" in schema:
        kinds = {"null": value is None}
        schemas = [own for own in schema["anyOf"]
                   if kinds.get(own.get("type"), value is not None)]
        require(len(schemas) == 1, place, value)
        check_schema(schemas[0], value, place, root)
    types = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
             "null": type(None)}
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


def spread(numbers):
    ordered = sorted(numbers)
    return {"min": ordered[0], "median": ordered[len(ordered) // 2],
            "mean": sum(numbers) / len(numbers), "max": ordered[-1],
            "tile": numbers.index(ordered[-1])}


def compiled(path, ipu):
    """The memory of an IPU, as the report tells it, from the tables."""
    db = sqlite3.connect(f"file:{path}/profile.pop?mode=ro", uri=True)
    rows = db.execute("SELECT always_live_bytes + not_always_live_max_bytes, total_including_gaps "
                      "FROM memory_by_tile ORDER BY tile").fetchall()[ipu * TILES:][:TILES]
    db.close()
    return spread([live for live, _ in rows]), spread([end for _, end in rows])


def check_comparison(document, path, whole, tests, split, options):
    """What was compiled, and that the groups add up to the rest."""
    for ipu, stage in enumerate(document["stages"]):
        told = stage["compiled"]
        live, end = compiled(path, ipu)
        require((told["live"], told["with_layout"]) == (live, end), "compiled", ipu, told, live,
                end)
        for side in ("predicted", "compiled"):
            groups, own = stage[side]["all_tiles"], stage[side]
            require(sum(groups.values()) == round(own["with_layout"]["mean"] * TILES), side, ipu)
            require(groups["layout"] == round((own["with_layout"]["mean"] - own["live"]["mean"])
                                              * TILES), side, ipu)
            require(sum(own["largest_tile"].values()) == own["with_layout"]["max"], side, ipu)
        error = 100 * (stage["predicted"]["with_layout"]["max"] / end["max"] - 1)
        require(math.isclose(stage["error_percent"], error, abs_tol=1e-9), "error", ipu)
        for part, percent in stage["error_percent_without"].items():
            own = [*options, "--effects", "layout,passing,buffers,accumulators"]
            if part != "accumulators":
                names = ("layout", "passing", "buffers")
                own = [*options, "--effects", ",".join(set(names) - {part})]
            need = tests.json(whole, "--evaluate", split, *own)[ipu]["tile_bytes"]
            require(math.isclose(percent, 100 * (need / end["max"] - 1), abs_tol=1e-9), part, ipu)


def fit(stages, key):
    """The scale of code or data, by the fullest tiles; that of the layout is 1."""
    if key == "layout_scale":
        return 1
    groups = list(CODE.values()) if key == "code_scale" else [key.split("_")[0]]
    sums = [sum(stage[side]["largest_tile"][group] for stage in stages for group in groups)
            for side in ("compiled", "predicted")]
    return sums[0] / sums[1] if sums[1] > 0 else 1


def fitted(stages, last):
    keys = ("code_scale", "data_scale", "layout_scale")
    return {"earlier_stages": {key: fit(stages, key) for key in keys},
            "last_stage": {key: fit(last, key) for key in keys}}


def errors_with(tests, whole, split, options, file, document):
    told = tests.json(whole, "--evaluate", split, *options, "--calibration", file)
    for stage in told:
        mem = stage["mem"]
        parts = sum(bytes for key, bytes in mem.items()
                    if key not in ("total_mem", "max_tile_mem", "unexplained_always_live"))
        require(mem["total_mem"] == parts, "parts of mem", mem)
    return [100 * (stage["tile_bytes"] / own["compiled"]["with_layout"]["max"] - 1)
            for stage, own in zip(told, document["stages"], strict=True)]


def check_correction(tests, document, whole, path, split, options):
    stages, correction = document["stages"], document["correction"]
    expected = fitted(stages[:-1], stages[-1:])
    for place, scales in expected.items():
        for key, scale in scales.items():
            require(abs(correction[place][key] - scale) <= 5.1e-7, place, key, scale)
    file = tests.write("calibration.json", document)
    errors = errors_with(tests, whole, split, options, file, document)
    again = tests.json(whole, "--evaluate", split, *options, "--compiled", path, "--calibration",
                       file)
    require(again["correction"] is None, "a second correction")
    for stage, other, error in zip(stages, again["stages"], errors, strict=True):
        require(math.isclose(stage["corrected_percent"], error, abs_tol=1e-9), "after", error)
        require(math.isclose(other["error_percent"], error, abs_tol=1e-9), "after", error)
        require(other["corrected_percent"] is None and other["left_out_percent"] is None, "after")
    # memory ends in steps: the compiler may have placed a variable in one more element
    for stage, error in zip(stages, errors, strict=True):
        size = stage["compiled"]["with_layout"]["max"]
        require(abs(error) * size / 100 <= ELEMENT_BYTES + 0.05 * size, "more than a step", error)
    before = sum(stage["error_percent"] ** 2 for stage in stages)
    after = sum(error ** 2 for error in errors)
    tests.squares["before"] += before
    tests.squares["after"] += after
    is_on_step = any(stage["compiled"]["with_layout"]["max"] % ELEMENT_BYTES < 64
                     for stage in stages)
    tests.num_on_step += is_on_step
    require(is_on_step or after < before, "smaller errors", before, errors)
    for left_out, stage in enumerate(stages):
        others = stages[:-1][:left_out] + stages[:-1][left_out + 1:]
        last = [] if left_out == len(stages) - 1 else stages[-1:]
        own = {"format": "popliner-calibration",
               "correction": fitted(others, last) | {"made_with": correction["made_with"]}}
        error = errors_with(tests, whole, split, options, tests.write("left-out.json", own),
                            document)[left_out]
        # millionths are rounded otherwise here
        require(abs(stage["left_out_percent"] - error) < 1e-3, "left out", left_out, error)
    return file


ODD = (
    ({"code_scale": 0.5, "data_scale": 0.6, "layout_scale": 0},
     {"code_scale": 1.5, "data_scale": 1.25, "layout_scale": 2}),
    ({"code_scale": 1.000001, "data_scale": 1, "layout_scale": 0.333333},
     {"code_scale": 1, "data_scale": 3, "layout_scale": 1}),
)


def check_solving(tests, whole, options, document):
    """The best split is the best of all, also where the last stage has other scales and limits are
    tight; the command itself compares its two ways of measuring."""
    splits = ["whole", *("|".join(cuts) for count in (1, 2)
                         for cuts in itertools.combinations("012", count))]
    pairs = [*ODD, *((last, earlier) for earlier, last in ODD)]
    for number, (earlier, last) in enumerate(pairs):
        correction = document["correction"] | {"earlier_stages": earlier, "last_stage": last}
        file = tests.write(f"odd{number}.json", document | {"correction": correction})
        own = [*options, "--calibration", file]
        for risk, need in (("at-most", "at_most_bytes"), ("expected", "expected_bytes"),
                           ("at-least", "at_least_bytes")):
            best = min(max(stage["needs"][need] for stage in
                           tests.json(whole, "--evaluate", split, *own)) for split in splits)
            asked = [whole, "--solve", "--num-ipus", "3", "--need", risk, *own]
            for limit in (best, 10 * best):
                answer = tests.json(*asked, "--mem-per-tile", str(limit))
                require(answer["totals"]["memory"] == best, "the best", risk, limit, best,
                        answer["totals"])
            tests.run(*asked, "--mem-per-tile", str(best - 1), status=1)
        needs = tests.json(whole, "--evaluate", "0,2", *own)[0]["needs"]
        require(needs["at_least_bytes"] <= needs["expected_bytes"] <= needs["at_most_bytes"],
                "the order of the needs", needs)
        tests.run(whole, "--solve", "--device-map", "0,1,0", *own)


def check_stored(tests, whole, options, file):
    """Stages that were stored are no answer for a calibration."""
    tests.run(whole, "--save-to-file", tests.path("stored"))
    own = ["--solve", "--num-ipus", "2", *options, "--calibration", file, "--format", "json"]
    require(tests.run(whole, *own).stdout ==
            tests.run(tests.path("stored"), "--load-from-file", *own).stdout, "stored")
    os.remove(tests.path("stored"))


def check_refusals(tests, whole, path, document):
    evaluate = [whole, "--evaluate", "0,2"]
    tests.refuse(2, ["3 stages", "2 IPUs"], *evaluate, "--compiled", path)
    tests.refuse(2, ["2 stages", "1 IPU,"], whole, "--evaluate", "1", "--compiled", whole)
    tests.refuse(2, ["--compiled: not used by --solve; it is for --evaluate"], whole, "--solve",
                 "--compiled", path)
    tests.refuse(2, ["--memory-model popliner"], *evaluate, "--compiled", path,
                 "--memory-model", "popliner")
    tests.refuse(2, ["--device-map"], *evaluate, "--compiled", path, "--device-map", "0,1,2")
    tests.refuse(2, ["--solver popliner"], whole, "--solve", "--solver", "popliner",
                 "--calibration", "x.json")
    os.mkdir(tests.path("empty"))
    tests.refuse(3, ["0/profile.pop"], *evaluate, "--compiled", tests.path("empty"))
    tests.refuse(3, ["none.json"], *evaluate, "--calibration", tests.path("none.json"))

    def damaged(part, change):
        copy = json.loads(json.dumps(document))
        change(copy)
        tests.refuse(3, ["bad.json", part], *evaluate, "--calibration",
                     tests.write("bad.json", copy))

    def put(*keys):
        *path_of, last, value = keys

        def change(copy):
            place = copy["correction"]
            for key in path_of:
                place = place[key]
            place[last] = value
        return change

    damaged("is not a calibration", lambda copy: copy.pop("format"))
    damaged("because it was made with a calibration", lambda copy: copy.update(correction=None))
    damaged("correction.last_stage", lambda copy: copy["correction"].pop("last_stage"))
    damaged("data_scale", put("last_stage", "data_scale", 0))
    damaged("code_scale", put("earlier_stages", "code_scale", -1))
    damaged("layout_scale", put("earlier_stages", "layout_scale", 101))
    damaged("code_scale", put("earlier_stages", "code_scale", "1"))
    damaged("schedule", put("made_with", "schedule", "often"))
    damaged("effects", put("made_with", "effects", ["all"]))
    for text in ("", "[]", "null", '{"format": ', "\0", json.dumps({"stages": []})):
        tests.refuse(3, ["bad.json"], *evaluate, "--calibration", tests.write("bad.json", text))


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
        require((stage["compiled"]["live"], stage["compiled"]["with_layout"]) ==
                compiled(report, 0), "directories", report)
    log = subprocess.run([tests.popliner, whole, "--evaluate", "1", *options, "--compiled", path],
                         capture_output=True, encoding="utf-8", check=True).stderr
    require(f" {path}: IPU 0 alone: the tiles 0 to {TILES - 1} " in log, log)
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
                file = check_correction(tests, document, whole, path, split, options)
                text = tests.run(*arguments).stdout
                for stage in document["stages"]:
                    for key in ("error_percent", "corrected_percent", "left_out_percent"):
                        require(f"{stage[key]:+.1f} %" in text, "the text", stage[key], text)
            check_solving(tests, whole, options, document)
            check_stored(tests, whole, options, file)
        require(tests.squares["after"] < tests.squares["before"], "smaller errors", tests.squares)
        require(tests.num_on_step <= 1, "splits on a step", tests.num_on_step)
        check_refusals(tests, whole, tests.path(f"pipeline{number}1"), document)
        check_directories(tests, tests.path("whole1"), tests.path("pipeline11"), [])


main()
