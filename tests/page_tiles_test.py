"""What a page tells of tiles and steps: what each stage of a plan needs on each tile, where
variables are, and when they live. Against the second memory model, for random splits, and against
the profile as SQLite has it.

Arguments: popliner, popliner-mkprofile, a scratch folder, the sample, folders of profiles that
train.

SPDX-License-Identifier: GPL-3.0-or-later"""

import base64
import csv
import json
import os
import random
import sqlite3
import subprocess
import sys
import zlib

import cases
from memory_model import GROUP_OF, Model

popliner, mkprofile, scratch, sample, *training = sys.argv[1:]
os.makedirs(scratch, exist_ok=True)
chance = random.Random(20261123)
EFFECTS = ("layout", "passing", "buffers")


def make(*words):
    path = os.path.join(scratch, "page.html")
    result = subprocess.run([popliner, "-q", *words, "--output", f"page={path}"],
                            capture_output=True)
    assert result.returncode in (0, 1), (words, result.stderr)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    data = page.split('id="data">')[1].split("</script>")[0]
    return json.loads(zlib.decompress(base64.b64decode(data)))


# ---- reading, from the comment of pl_page_put_places in src/page/page_data.h ----

def read_rows(places, name):
    """{(thing, category): {tile: bytes}}, without zeros."""
    rows = json.loads(places[name]["rows"])
    result = {(thing, category): {tile: size for tile, size in enumerate(sizes) if size}
              for thing, category, sizes in rows}
    assert len(result) == len(rows)
    return result


# ---- what the stages of a plan need ----

def check_stages(folder, model, schedule, recompute, *words):
    """Random splits: each stage on each tile; what is kept differs with the place."""
    seen = 0
    for _ in range(4):
        count = chance.randrange(0, min(model.num_units - 1, 4))
        cuts = sorted(chance.sample(range(1, model.num_units), count))
        split = "|".join(model.labels[unit - 1] for unit in cuts) or "whole"
        data = make(folder, "--schedule", schedule, "--recompute", recompute, *words,
                    "--evaluate", split)
        assert data["chain"]["labels"] == model.labels
        assert [(own["first"], own["last"], own["to_end"]) for own in data["stage_tiles"]] == [
            (first, last - 1, count + 1 - i)
            for i, (first, last) in enumerate(zip([0, *cuts], [*cuts, model.num_units]))]
        for own in data["stage_tiles"]:
            tiles = model.measure([(range(own["first"], own["last"] + 1), own["to_end"] - 1)],
                                  schedule, recompute, EFFECTS, "auto")
            assert own["total"] == [
                (told if layout is None else model.laid_out(told, *layout))["total"]
                for told, layout in zip(tiles, model.layouts)], (split, own["first"])
            seen += tiles[0]["stored"][0][0] > 0
    return seen


# ---- where variables are, and when they live ----

def check_places(folder, model):
    data = make(folder, "--solve", "--num-ipus", "3")
    places = data["places"]
    numbers = {number: i for i, number in enumerate(
        number for (number,) in model.sql.execute("SELECT id FROM unlowered_vars ORDER BY id"))}
    # categories that no variable has may be missing from either list
    names = dict(model.sql.execute("SELECT id, name FROM var_categories"))
    category = {number: data["categories"].index(name) for number, name in names.items()
                if name in data["categories"]}
    always = dict(model.sql.execute("SELECT id, is_always_live FROM eq_classes"))
    named, lives = {}, {}
    for tile, size, number, kind, unlowered in model.sql.execute(
            "SELECT tile, size_bytes, equivalence_class, category, unlowered_var_id FROM vars_info "
            "WHERE (bitset IS NULL OR bitset & 1) AND size_bytes > 0"):
        key = numbers.get(unlowered), category[kind]
        if key[0] is not None:
            row = named.setdefault(key, {})
            row[tile] = row.get(tile, 0) + size
        if not always[number]:
            life = lives.setdefault((0 if key[0] is None else key[0] + 1, key[1]), {})
            life[number] = life.get(number, 0) + size
    assert places["named"]["is_whole"] and places["lives"]["is_whole"]
    told = read_rows(places, "named")
    assert told == named and len(named) > 20
    # of each layer: what the second memory model says is touched, which leaves out code
    layers = {}
    for tile, variables in enumerate(model.by_tile):
        for touch, _, _, size, _, kind in variables:
            for unit in range(model.num_units):
                if touch >> unit & 1 and size:
                    row = layers.setdefault((unit, data["categories"].index(kind)), {})
                    row[tile] = row.get(tile, 0) + size
    told = read_rows(places, "layers")
    assert {key: row for key, row in told.items()
            if data["categories"][key[1]] not in GROUP_OF} == layers and layers
    check_lives(model, data, lives)
    check_boxes(model, data["boxes"], data["classes"], numbers, category, always)


def check_boxes(model, boxes, classes, numbers, category, always):
    """Each variable of the tiles that are there: by address, and when it is live."""
    steps = [*chance.sample(range(model.num_steps), 10), 0, model.num_steps - 1]
    for own in boxes:
        tile, told = own["tile"], own["variables"]
        if told is None:
            continue
        assert told == sorted(told, key=lambda row: row[0])
        expected = list(model.sql.execute(
            "SELECT offset, size_bytes, unlowered_var_id, category, equivalence_class FROM "
            "vars_info WHERE tile = ? AND size_bytes > 0 AND (bitset IS NULL OR bitset & 1)",
            (tile,)))
        for step in [None, *steps]: # None: what is always live
            assert sorted(row[:4] for row in told if (
                    step is None if classes[row[4]] is None else step is not None
                    and any(a <= step < b for a, b in classes[row[4]]))) == sorted(
                [at, size, 0 if name is None else numbers[name] + 1, category[kind]]
                for at, size, name, kind, number in expected
                if (always[number] if step is None
                    else not always[number] and model.is_live(number, step))), (tile, step)
        assert len(own["live_bytes"]) == model.num_steps
        for step in steps:
            assert own["live_bytes"][step] == sum(
                size for _, size, _, _, number in expected
                if not always[number] and model.is_live(number, step))
    tiles = [own["tile"] for own in boxes]
    assert len(set(tiles)) == len(tiles) > 1


def check_lives(model, data, lives):
    classes, items = data["classes"], json.loads(data["places"]["lives"]["rows"])
    assert [item[3] for item in items] == sorted((item[3] for item in items), reverse=True)
    seen = 0
    for step in [*chance.sample(range(model.num_steps), 40), 0, model.num_steps - 1]:
        told, expected = {}, {}
        for variable, kind, number, size in items:
            if any(first <= step < end for first, end in classes[number]):
                told[variable, kind] = told.get((variable, kind), 0) + size
        for key, parts in lives.items():
            size = sum(size for number, size in parts.items() if model.is_live(number, step))
            if size:
                expected[key] = size
        assert told == expected, step
        seen += len(told)
    assert seen > 100


def check_times(folder):
    """Each step begins where the one before it in the same program ends; loops are one pass."""
    def rows(what):
        text = subprocess.run([popliner, folder, "-q", "--output", what, "--format", "csv"],
                              check=True, capture_output=True, encoding="utf-8").stdout
        return list(csv.DictReader(text.splitlines()))

    steps, programs = rows("liveness"), rows("programs")
    parents = [int(own["parent_step"] or -1) for own in steps]
    # estimates of exchanges alone are not the times of a program
    is_timed = any(own["cycles_source"] == "measured" or
                   own["cycles"] and own["type"] == "OnTileExecute" for own in programs)
    lengths, repeats, begins, next_of = [0] * len(steps), [], [], {}
    for step in reversed(range(len(steps))):
        own = programs[int(steps[step]["program"])]
        is_leaf = step not in parents
        repeats.insert(0, 0 if is_leaf else int(own["num_repeats"] or 1))
        lengths[step] += int(own["cycles"] or 0) if is_timed else is_leaf
        if parents[step] >= 0:
            lengths[parents[step]] += lengths[step]
    for step, parent in enumerate(parents):
        begins.append(next_of.get(parent, 0))
        next_of[step] = begins[step]
        next_of[parent] = begins[step] + lengths[step]
    told = make(folder)["step_times"]
    assert told == {"from": begins, "to": list(map(sum, zip(begins, lengths))),
                    "repeats": repeats}, folder
    return max(repeats)


def check_large(folder):
    """Where all would be too much: the largest variables alone."""
    subprocess.run([mkprofile, "--output", folder, "--force", "--quiet", "--preset", "bert-tiny",
                    "--layers", "60", "--tiles", "640", "--inference", "--debug-arguments", "10"],
                   check=True)
    data = make(folder, "--solve", "--num-ipus", "4")
    assert len(data["stage_tiles"]) > 1
    told = data["places"]["named"]
    assert not told["is_whole"] and len(told["rows"]) < 10100000
    rows = read_rows(data["places"], "named")
    held = {variable for variable, _ in rows}
    sql = sqlite3.connect(os.path.join(folder, "profile.pop"))
    sizes = [size for (size,) in sql.execute(
        "SELECT coalesce(sum(size_bytes), 0) FROM unlowered_vars LEFT JOIN vars_info "
        "ON unlowered_var_id = id GROUP BY id ORDER BY id")]
    largest = sorted(range(len(sizes)), key=lambda i: (-sizes[i], i))
    assert held == set(largest[:len(held)]) and 100 < len(held) < len(sizes)
    # the last one may be cut off between two categories
    for variable in largest[:len(held) - 1]:
        assert sum(sum(row.values()) for key, row in rows.items() if key[0] == variable) == \
            sizes[variable]


takes_all = cases.takes_all()
made = os.path.join(scratch, "made")
subprocess.run([mkprofile, "--output", made, "--force", "--quiet", "--preset", "bert-tiny",
                "--layers", "3", "--tiles", "70", "--framework", "popart", "--training",
                "--debug-arguments", "10"], check=True)
model = Model(sample)
check_stages(sample, model, "none", "none")
check_places(sample, model)
assert check_times(sample) > 1, "no loop repeats"
for folder in cases.within_budget((made, *training), 2):
    model = Model(folder)
    if takes_all or folder == made:
        assert check_stages(folder, model, "popart", "none") > 0
    if cases.is_nightly() or folder == training[0]:
        check_stages(folder, model, "popart", "full")
    if cases.is_nightly() or folder == training[-1]:
        check_stages(folder, model, "tf-grouped", "none", "--effects", "all")
    check_places(folder, model)
    check_times(folder)
if takes_all:
    check_large(os.path.join(scratch, "large"))
print("tiles and steps are as they should be")
