"""What a page tells of tiles and steps: what every stage needs on each tile, where variables are,
and when they live. Against the second memory model, against the profile as SQLite has it, and
against what the command measures for random splits.

Arguments: popliner, popliner-mkprofile, a scratch folder, the sample, folders of profiles that
train.

SPDX-License-Identifier: GPL-3.0-or-later"""

import base64
import json
import os
import random
import sqlite3
import subprocess
import sys

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
    data = page.split('<script type="application/json" id="data">')[1]
    return json.loads(data[:data.index("</script>")])


# ---- reading, from the comments of src/base/packed.h and src/page/page_data.h ----

def differences(text):
    result, value, shift = [], 0, 0
    for byte in base64.b85decode(text.replace(",", "<")):
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            result.append(-((value + 1) // 2) if value & 1 else value // 2)
            value, shift = 0, 0
    assert shift == 0
    return result


def unpack(text):
    numbers, last = [], 0
    for number in differences(text):
        last += number
        numbers.append(last)
    return numbers


def read_needs(text, num_units, num_tiles):
    """By tile, {(first, last): number}."""
    intervals = [(a, b) for a in range(num_units) for b in range(a, num_units)]
    surplus = dict.fromkeys(intervals, 0)
    count = num_tiles * len(intervals)
    numbers = differences(text) if text is not None else [0] * count
    numbers = iter(numbers)
    result = []
    for _ in range(num_tiles):
        for interval in intervals:
            surplus[interval] += next(numbers)
        needs = {}
        for a, b in sorted(intervals, key=lambda i: i[1] - i[0]):
            needs[a, b] = surplus[a, b]
            if b > a:
                needs[a, b] += needs[a, b - 1] + needs[a + 1, b]
            if b > a + 1:
                needs[a, b] -= needs[a + 1, b - 1]
        result.append(needs)
    assert next(numbers, None) is None
    return result


def read_rows(table, things, block, num_tiles):
    """{(thing, category): {tile: bytes}}, without zeros."""
    keys = list(zip(unpack(table[things]), unpack(table["category"])))
    assert len(set(keys)) == len(keys)
    result = {key: {} for key in keys}
    data, at = base64.b85decode(table["tiles"].replace(",", "<")), 0
    for start in range(0, num_tiles, block):
        count = min(block, num_tiles - start)
        for key in keys:
            width, least, shift = data[at], 0, 0
            while True:
                at += 1
                least |= (data[at] & 0x7F) << shift
                shift += 7
                if data[at] < 0x80:
                    break
            at += 1
            length = -(-width * count // 8)
            number = int.from_bytes(data[at:at + length], "little")
            at += length
            for i in range(count):
                value = (least + (number >> i * width) % 2 ** width) << table["shift"]
                if value:
                    result[key][start + i] = value
            assert number >> count * width == 0
    assert at == len(data)
    return result


# ---- what every stage needs ----

def needs_of(columns, tile, interval, copies):
    size, freed, copy = (column[tile][interval] for column in columns)
    return size - (freed if copies else 0) + copies * copy


def read_groups(data):
    num_units, num_tiles = len(data["chain"]["labels"]), data["num_tiles"]
    assert len(data["tile_needs"]) == len(data["stages"])
    return [[read_needs(group[name], num_units, num_tiles)
             for name in ("bytes", "freed_bytes", "copy_bytes")]
            for group in data["tile_needs"]]


def check_against_model(model, data, columns, pipeline):
    """Stages at random places of a pipeline; what is kept differs with the place."""
    most = min(len(unpack(pipeline["copies"])), model.num_units)
    seen = 0
    for _ in range(6):
        first = chance.randrange(model.num_units)
        last = chance.randrange(first, model.num_units)
        # the last unit ends a pipeline; before it there may be as many stages as there are units
        behind = 0 if last + 1 == model.num_units else chance.randrange(
            1, min(most, model.num_units - last))
        copies = unpack(pipeline["copies"])[behind]
        tiles = model.measure([(range(first, last + 1), behind)], pipeline["schedule"],
                              pipeline["recompute"], EFFECTS, "auto")
        assert tiles[0]["stored"][0][0] == copies
        for tile, (told, layout) in enumerate(zip(tiles, model.layouts)):
            expected = told if layout is None else model.laid_out(told, *layout)
            assert needs_of(columns, tile, (first, last), copies) == expected["total"], (
                first, last, behind, tile)
        seen += 1
    return seen


def check_against_command(words, data, groups):
    """Random splits, each measured by the command stage by stage."""
    labels = data["chain"]["labels"]
    pipeline = data["stages"][0]["pipelines"][0]
    copies = unpack(pipeline["copies"])
    for _ in range(3):
        count = chance.randrange(1, min(len(labels) - 1, len(copies)))
        cuts = sorted(chance.sample(range(1, len(labels)), count))
        split = "|".join(labels[unit - 1] for unit in cuts)
        stages = make(*words, "--evaluate", split)["stage_tiles"]
        assert len(stages) == count + 1
        for stage in stages:
            totals = unpack(stage["total"])
            assert totals == [needs_of(groups[0], tile, (stage["first"], stage["last"]),
                                       copies[stage["to_end"] - 1])
                              for tile in range(len(totals))], (split, stage["first"])


def check_needs(folder, model, *words):
    data = make(folder, *words)
    assert data["chain"]["labels"] == model.labels
    groups = read_groups(data)
    seen = 0
    for stages, columns in zip(data["stages"], groups):
        for pipeline in stages["pipelines"]:
            seen += check_against_model(model, data, columns, pipeline)
    check_against_command([folder, *words], data, groups)
    if words == ("--schedule", "popart"): # keeps copies, and frees what they are of
        assert all(data["tile_needs"][0].values())
    return seen


# ---- where variables are, and when they live ----

def check_places(folder, model):
    data = make(folder, "--solve", "--num-ipus", "3")
    places, num_tiles = data["places"], data["num_tiles"]
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
    told = read_rows(places["named"], "variable", places["block"], num_tiles)
    assert told == named and len(named) > 20
    # of each layer: what the second memory model says is touched, which leaves out code
    layers = {}
    for tile, variables in enumerate(model.by_tile):
        for touch, _, _, size, _, kind in variables:
            for unit in range(model.num_units):
                if touch >> unit & 1 and size:
                    row = layers.setdefault((unit, data["categories"].index(kind)), {})
                    row[tile] = row.get(tile, 0) + size
    told = read_rows(places["layers"], "unit", places["block"], num_tiles)
    assert {key: row for key, row in told.items()
            if data["categories"][key[1]] not in GROUP_OF} == layers and layers
    check_lives(model, places, lives)
    check_boxes(model, data["boxes"], numbers, category, always)


def check_boxes(model, boxes, numbers, category, always):
    """Each variable of the tiles that are there: by address, and when it is live."""
    columns = {name: unpack(text) for name, text in boxes.items()}
    ranges = iter(zip(columns["first"], columns["end"]))
    classes = [[next(ranges) for _ in range(count)] for count in columns["ranges"]]
    rows = iter(zip(*(columns[name] for name in ("offset", "size_bytes", "variable", "category",
                                                 "class"))))
    steps = [*chance.sample(range(model.num_steps), 10), 0, model.num_steps - 1]
    for tile, count in zip(columns["tile"], columns["count"]):
        told = [next(rows) for _ in range(count)]
        assert told == sorted(told, key=lambda row: row[0])
        expected = list(model.sql.execute(
            "SELECT offset, size_bytes, unlowered_var_id, category, equivalence_class FROM "
            "vars_info WHERE tile = ? AND size_bytes > 0 AND (bitset IS NULL OR bitset & 1)",
            (tile,)))
        for step in [None, *steps]: # None: what is always live
            assert sorted(row[:4] for row in told if (row[4] == 0 if step is None else row[4] > 0
                          and any(a <= step < b for a, b in classes[row[4] - 1]))) == sorted(
                (at, size, 0 if name is None else numbers[name] + 1, category[kind])
                for at, size, name, kind, number in expected
                if (always[number] if step is None
                    else not always[number] and model.is_live(number, step))), (tile, step)
    tiles = columns["tile"]
    assert next(rows, None) is None and len(set(tiles)) == len(tiles) > 1


def check_lives(model, places, lives):
    counts = unpack(places["classes"]["ranges"])
    ranges = iter(zip(unpack(places["classes"]["first"]), unpack(places["classes"]["end"])))
    classes = [[next(ranges) for _ in range(count)] for count in counts]
    items = list(zip(*(unpack(places["lives"][name])
                       for name in ("variable", "category", "class", "bytes"))))
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


def check_large(folder):
    """Where all would be too much: no needs of every stage, and the largest variables alone."""
    subprocess.run([mkprofile, "--output", folder, "--force", "--quiet", "--preset", "bert-tiny",
                    "--layers", "60", "--tiles", "640", "--inference", "--debug-arguments", "10"],
                   check=True)
    data = make(folder, "--solve", "--num-ipus", "4")
    assert data["tile_needs"] == [None] and len(data["stage_tiles"]) > 1
    told = data["places"]["named"]
    assert not told["is_whole"] and len(told["tiles"]) < 2100000
    rows = read_rows(told, "variable", data["places"]["block"], data["num_tiles"])
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
# blocks of tiles of which the last one is short
made = os.path.join(scratch, "made")
subprocess.run([mkprofile, "--output", made, "--force", "--quiet", "--preset", "bert-tiny",
                "--layers", "3", "--tiles", "70", "--framework", "popart", "--training",
                "--debug-arguments", "10"], check=True)
model = Model(sample)
assert check_needs(sample, model) > 0
check_places(sample, model)
for folder in cases.within_budget((made, *training), 2):
    model = Model(folder)
    if takes_all or folder == made:
        assert check_needs(folder, model, "--schedule", "popart") >= 12
    if cases.is_nightly() or folder == training[0]:
        check_needs(folder, model, "--schedule", "popart", "--recompute", "full")
    if cases.is_nightly() or folder == training[-1]:
        check_needs(folder, model, "--schedule", "tf-grouped", "--effects", "all")
    check_places(folder, model)
if takes_all:
    check_large(os.path.join(scratch, "large"))
print("tiles and steps are as they should be")
