#!/usr/bin/env python3
"""--compare against a comparison of two tables, made here: every value, in CSV, TSV
and JSON; what the text says; stored analyses; --fail-on growth of everything that has bounds;
what cannot be compared.

    changes_test.py POPLINER MKPROFILE SAMPLE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import functools
import io
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction

import cases


TAKES_ALL = cases.takes_all()


def check(holds, message):
    if not holds:
        sys.exit(f"FAILED: {message}")


def run(command, statuses=(0,), **environment):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False,
                          env={**os.environ, **environment})
    check(done.returncode in statuses,
          f"{command} ended with {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout.decode(), done.stderr.decode(errors="replace")


@functools.lru_cache(maxsize=None)
def section_text(*command):
    return run(command, (0, 1))[0]


def section(popliner, report, name, options):
    return json.loads(section_text(popliner, *report, "-q", "--output", name, "--format", "json",
                                   *options))["rows"]


# ---- the comparison, again ----

def is_quantity(column):
    return column.endswith("_bytes") or column in ("cycles", "num_operations")


def row_of(what, name, quantity, before, now, only=None):
    known = before is not None and now is not None
    return {"what": what, "name": name, "quantity": quantity, "before": before, "now": now,
            "difference": now - before if known else None,
            "percent": (now - before) / before * 100 if known and before > 0 else None,
            "only": only}


def columns_of(rows):
    return [column for column in (rows[0] if rows else {}) if is_quantity(column)]


def compared(stage):
    """A row of a plan with the names that a comparison has."""
    names = {"memory": "need_bytes", "cut": "cut_bytes"}
    return {names.get(column, column): value for column, value in stage.items()}


def pair(before, now, what_of, name_of):
    """All quantities of rows that have the same kind and name, each row once."""
    columns = columns_of(now)
    columns += [column for column in columns_of(before) if column not in columns]
    free = list(before)
    rows = []
    for own in now:
        other = next((row for row in free
                      if (what_of(row), name_of(row)) == (what_of(own), name_of(own))), None)
        if other is not None:
            free.remove(other)
        rows += [row_of(what_of(own), name_of(own), column,
                        None if other is None else other.get(column, 0), own.get(column, 0),
                        "now" if other is None else None) for column in columns]
    for other in free:
        rows += [row_of(what_of(other), name_of(other), column, other.get(column, 0), None,
                        "before") for column in columns]
    return rows


def expected_rows(popliner, before, now, options, solving):
    both = {name: (section(popliner, before, name, options), section(popliner, now, name, options))
            for name in ("summary", "categories", "layers", "tiles")}
    rows = []
    for group in ("memory", "count"):
        facts = [{row["name"]: row["value"] for row in side if row["group"] == group}
                 for side in both["summary"]]
        rows += [row_of("device", group, name, facts[0].get(name), facts[1][name])
                 for name in facts[1] if name != "largest_tile"]
    cycles = [[row["cycles"] for row in side if row["cycles"] is not None]
              for side in both["layers"]]
    rows.append(row_of("device", "cycles", "cycles", *(sum(side) if side else None
                                                       for side in cycles)))
    rows += pair(*both["categories"], lambda row: "category", lambda row: row["category"])
    rows += pair(*both["layers"], lambda row: row["kind"], lambda row: row["unit"])
    if solving:
        plans = [section(popliner, side, "plan", [*options, *solving]) for side in (before, now)]
        needs = [max(row["memory"] for row in plan) for plan in plans]
        rows.append(row_of("plan", "memory", "largest_need_bytes", *needs))
        rows.append(row_of("plan", "count", "stages", *map(len, plans)))
        plans = [[compared(row) for row in plan] for plan in plans]
        rows += pair(*plans, lambda row: "stage", lambda row: str(row["stage"]))
    rows += pair(*both["tiles"], lambda row: "tile", lambda row: str(row["tile"]))
    return rows


# ---- what is printed ----

COLUMNS = ["what", "name", "quantity", "before", "now", "difference", "percent", "only"]


def unescape(field):
    for escape, character in ((r"\t", "\t"), (r"\n", "\n"), (r"\r", "\r")):
        field = field.replace("\\\\", "\0").replace(escape, character).replace("\0", "\\\\")
    return field.replace("\\\\", "\\")


def read_table(text, is_csv):
    if is_csv:
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    else:
        lines = [[unescape(field) for field in line.split("\t")]
                 for line in text.split("\n")[:-1]]
    check(lines[0] == COLUMNS, lines[0])
    check(all(len(line) == len(COLUMNS) for line in lines), "rows are not equally wide")
    rows = []
    for line in lines[1:]:
        row = dict(zip(COLUMNS, line))
        for column in ("before", "now", "difference"):
            row[column] = int(row[column]) if row[column] else None
        row["percent"] = float(row["percent"]) if row["percent"] else None
        row["only"] = row["only"] or None
        rows.append(row)
    return rows


def is_control(c):
    """What does something to a terminal, or turns the direction of the text."""
    return ord(c) < 32 or 127 <= ord(c) < 160 or \
        c in "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def shown(name):
    """A name as tables show it: what controls a terminal is replaced."""
    return "".join("\ufffd" if is_control(c) and c not in "\t\r\n" else c for c in name)


def same_rows(got, expected, where, is_table):
    check(len(got) == len(expected), f"{where}: {len(got)} rows, not {len(expected)}")
    for own, other in zip(got, expected):
        other = dict(other, name=shown(other["name"]) if is_table else other["name"])
        percents = own["percent"], other["percent"]
        check((percents[0] is None) == (percents[1] is None), f"{where}: {own}, not {other}")
        check(percents[0] is None or math.isclose(*percents, rel_tol=1e-5, abs_tol=1e-12),
              f"{where}: {own}, not {other}")
        check({**own, "percent": 0} == {**other, "percent": 0}, f"{where}: {own}, not {other}")


def is_change(row):
    return row["only"] is not None or row["before"] != row["now"]


def check_pair(popliner, before, now, options=(), solving=()):
    """`before` and `now` are command lines; the former is recognised."""
    expected = expected_rows(popliner, before, now, options, solving)
    where = f"{now} --compare {before} {options} {solving}"
    command = [popliner, *now, "-q", "--compare", before[0], *options, *solving]
    for name in ("csv", "tsv") if TAKES_ALL or options else ("csv",):
        text, _ = run([*command, "--format", name], (0, 1))
        same_rows(read_table(text, name == "csv"), expected, where, True)
    text, _ = run([*command, "--format", "json"], (0, 1))
    document = json.loads(text)
    same_rows(document["rows"], expected, where, False)
    changed = [row for row in expected if is_change(row)]
    check(document["num_quantities"] == len(expected), where)
    check(document["num_changed"] == len(changed), where)
    deciding = next(row for row in expected
                    if row["quantity"] == ("largest_need_bytes" if solving
                                           else "largest_tile_live_bytes"))
    check({**document["growth"], "percent": 0} ==
          {**{key: deciding[key] for key in document["growth"]}, "percent": 0}, where)
    check((document["before"]["name"], document["now"]["name"]) ==
          (os.path.basename(before[0]), os.path.basename(now[0])), where)
    check_stages(popliner, document, before, now, options, solving)
    check_text(command, expected, deciding, [os.path.basename(side[0]) for side in (before, now)])
    check_bounds(command, expected, solving, where)
    return deciding


def check_stages(popliner, document, before, now, options, solving):
    if not solving:
        check(document["stages"] is None, document["stages"])
        return
    plans = [section(popliner, side, "plan", [*options, *solving]) for side in (before, now)]
    check(len(document["stages"]) == max(map(len, plans)), document["stages"])
    for number, stage in enumerate(document["stages"]):
        check(stage["stage"] == number, stage)
        for side, plan in zip(("before", "now"), plans):
            expected = {key: plan[number][column]
                        for key, column in (("ipu", "ipu"), ("first_unit", "from"),
                                            ("last_unit", "to"), ("verdict", "verdict"))} \
                if number < len(plan) else None
            check(stage[side] == expected, f"{stage}: {side} is not {expected}")


def is_listed(row):
    """Whether the text may have a row: what is of whole items, and differs."""
    quantity = {"device": "largest_tile_live_bytes", "plan": "largest_need_bytes",
                "stage": "need_bytes",
                "category": "variables_bytes"}.get(row["what"], "total_bytes")
    return row["what"] != "tile" and row["quantity"] == quantity and is_change(row)


def plain(text):
    """A text as it is printed to be read."""
    return "".join({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(c, f"\\u{ord(c):04x}")
                   if is_control(c) else c for c in text)


def names_of(row):
    """What the text calls an item, but for the units and the verdict of a stage."""
    name = re.match(r"[^\x00-\x1f\x7f-\x9f]*", row["name"]).group()  # the rest may be left out
    return {"device": "fullest tile, live", "plan": "fullest tile of all stages",
            "category": "category " + re.sub("[A-Z]", lambda c: " " + c.group().lower(), name),
            "layer": f"layer {name}", "stage": f"stage {name}: "}.get(row["what"], name)


# ---- bounds ----

BOUNDS = {"largest-tile": None, "tiles": ("tile", "live_bytes"),
          "categories": ("category", "variables_bytes"), "layers": ("unit", "total_bytes"),
          "stages": ("stage", "need_bytes"), "cycles": ("device", "cycles")}
WHAT = {of: "growth" if of == "largest-tile" else "growth." + of for of in BOUNDS}


def bounded_rows(expected, of, solving):
    if of == "largest-tile":
        quantity = "largest_need_bytes" if solving else "largest_tile_live_bytes"
        return [row for row in expected if row["quantity"] == quantity]
    what, quantity = BOUNDS[of]
    kinds = ("head", "layer", "tail", "unlayered") if what == "unit" else (what,)
    return [row for row in expected if row["what"] in kinds and row["quantity"] == quantity]


def check_bounds(command, expected, solving, where):
    """Bounds around what one of the items grew, and what is said of them."""
    kinds = [of for of in BOUNDS if of != "stages" or solving]
    bounds, found = [], []
    for of in kinds:
        rows = [row for row in bounded_rows(expected, of, solving) if row["difference"] is not None]
        shares = sorted(Fraction(100 * row["difference"], row["before"]) for row in rows
                        if row["difference"] > 0 and row["before"] > 0)
        middle = shares[len(shares) // 2] if shares else Fraction(0)
        bound = Fraction(min(int(middle * 1000), 100000), 1000)  # just below, or equal
        bounds.append(f"{WHAT[of]}={float(bound):.3f}%")
        over = [row for row in rows if row["difference"] > 0 and
                row["difference"] * 100 > bound * row["before"]]
        over.sort(key=lambda row: (row["before"] > 0, -Fraction(row["difference"],
                                                                row["before"] or 1)))
        found.append((of, bound, len(rows), over))
    text, log = run([*command, "--format", "json", "--fail-on", ",".join(bounds)], (0, 1))
    document = json.loads(text)
    check([bound["of"] for bound in document["bounds"]] == kinds, f"{where}: {document['bounds']}")
    for bound, (of, percent, count, over) in zip(document["bounds"], found):
        check(math.isclose(bound["max_percent"], percent, rel_tol=1e-12), f"{where}: {bound}")
        check(bound["num_compared"] == count, f"{where}: {bound}, not {count} compared")
        same_rows([{**row, "only": None} for row in bound["exceeded"]], over, f"{where}: {of}",
                  False)
        named = f"--fail-on {WHAT[of]}={float(percent):.6g}%: "
        check((named in log) == (over != [] or count == 0), f"{where}: {named}: {log}")
        if over and of not in ("largest-tile", "cycles"):
            check(f"{named}{len(over)} of {count} grew by more, most " in log, log)
        if over:
            check(f"from {over[0]['before']:,} to {over[0]['now']:,} " in log or
                  over[0]["before"] == 0, log)
    plain_status = subprocess.run(command, capture_output=True, check=False).returncode
    run([*command, "--fail-on", ",".join(bounds)],
        (1 if plain_status == 1 or any(over for *_, over in found) else 0,))


def check_text(command, expected, deciding, names):
    """Text has the numbers of the rows that it shows: the one that decides, then the largest."""
    text, _ = run([*command, "--color", "never"], (0, 1), COLUMNS="100", LC_ALL="C.UTF-8")
    check(text == run([*command, "--format", "text"], (0, 1), COLUMNS="100", LC_ALL="C.UTF-8")[0],
          "another text in a pipe")
    check(not any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in text), repr(text))
    before, now = deciding["before"], deciding["now"]
    changed = [row for row in expected if is_change(row)]
    start = ("No split" if None in (before, now) else "Larger" if now > before else
             "Smaller" if now < before else "Not larger" if changed else "No difference")
    check(text.startswith(start), f"{deciding}\n{text}")
    check(None in (before, now) or f"{now:,} " in text.partition("\n\n")[0],
          f"{deciding}\n{text}")
    rows = [row for row in expected if is_listed(row)]
    rows.sort(key=lambda row: -abs((row["now"] or 0) - (row["before"] or 0)))
    rows = [row for row in rows if row is deciding] + [row for row in rows if row is not deciding]
    lines = text.partition("\n\n")[2].split("\n")[1:1 + len(rows[:20])] if rows else []
    check(len(lines) == len(rows[:20]), text)
    for row, line in zip(rows, lines):
        numbers = [f"{row[side]:,}" for side in ("before", "now") if row[side] is not None]
        difference = (row["now"] or 0) - (row["before"] or 0)
        check(line.split()[:len(numbers) + 1] == [*numbers, f"{difference:+,}"] and
              names_of(row) in line, f"{row}\n{text}")
        check(row["only"] is None or line.endswith(f", only {row['only']}"), f"{row}\n{text}")
    more = f"\u2026 {len(rows) - 20} more: --output comparison\n"
    check((more in text) == (len(rows) > 20), text)
    facts = " ".join(text.split())
    for side, name in zip(("Before", "Now"), names):
        check(not changed or f" {side} {plain(name)}" in facts, text)
    for quantity, words in (("cycles", "cycles of all layers"),
                            ("total_bytes", "bytes in use on all tiles"),
                            ("layout_gap_bytes", "bytes that the layout leaves unused at most")):
        row = next((row for row in changed if row["what"] == "device" and
                    row["quantity"] == quantity and row["only"] is None and
                    None not in (row["before"], row["now"])), None)
        check((row is not None) == (f" {words}, before " in facts), text)
        check(row is None or f"{row['now']:,} {words}, before {row['before']:,}" in facts, text)


# ---- growth ----

def check_growth(popliner, before, now, deciding, solving=()):
    """One millionth of a percent decides."""
    old, new = deciding["before"], deciding["now"]
    check(new > old > 0, deciding)
    millionths = (new - old) * 10**8 // old
    is_exact = (new - old) * 10**8 % old == 0
    command = [popliner, now, "-q", "--compare", before, *solving]
    for parts, status in ((millionths - 1, 1), (millionths, 0 if is_exact else 1),
                          (millionths + 1, 0)):
        _, log = run([*command, "--fail-on", f"growth={Decimal(parts) / 10**6}%"], (status,))
        if status == 1:
            check(f"from {old:,} to {new:,} bytes" in log and "--fail-on growth=" in log, log)
        else:
            check(log == "", log)
    # the other way round nothing grew, and what is less fits any bound
    run([popliner, before, "-q", "--compare", now, *solving, "--fail-on", "growth=0%"])
    run([popliner, now, "-q", "--compare", now, *solving, "--fail-on", "growth=0%"])


def check_pair_and_growth(popliner, before, now, solving=()):
    deciding = check_pair(popliner, [before], [now], (), solving)
    if deciding["now"] < deciding["before"]:
        before, now = now, before
        deciding = check_pair(popliner, [before], [now], (), solving)
    check_growth(popliner, before, now, deciding, solving)


# ---- what is hostile, or cannot be ----

HOSTILE = b'La\xc3\xa9\t"\x1b,<'  # as long as what it replaces


def check_hostile(popliner, sample, work):
    """A layer of the sample gets a name that no one would give."""
    folder = os.path.join(work, "hostile")
    shutil.copytree(sample, folder)
    old = b"Layer1/FF"
    check(len(old) == len(HOSTILE), "the name is of another length")
    with open(os.path.join(folder, "debug.cbor"), "r+b") as file:
        data = file.read()
        check(old in data, "the sample has other names")
        file.seek(0)
        file.write(data.replace(old, HOSTILE))
    options = ["--layer-name-regex", r"(?s)^(Layer\d|La[^y]{6})"]
    expected = expected_rows(popliner, [sample], [folder], options, ())
    check(any(row["name"] == HOSTILE.decode() and row["only"] == "now" for row in expected),
          "no layer has the name")
    check_pair(popliner, [sample], [folder], options)
    check_pair(popliner, [folder], [folder], options, ["--evaluate", "Layer0"])


def change(folder, statement):
    with sqlite3.connect(os.path.join(folder, "profile.pop")) as sql:
        sql.execute(statement)
    sql.close()


def check_refusals(popliner, sample, made, stored, work, mkprofile):
    def refuse(status, part, *arguments):
        text, log = run([popliner, sample, "-q", "--compare", *arguments], (status,))
        check(text == "" and part in log, f"{arguments}: {log}")

    refuse(3, "nowhere", os.path.join(work, "nowhere"))
    os.mkdir(os.path.join(work, "empty"))
    refuse(3, "no profile.pop here", os.path.join(work, "empty"))
    refuse(3, made, made)  # other tiles
    for number, source in enumerate((os.path.join(sample, "profile.pop"), stored)):
        half = os.path.getsize(source) // 2
        for size in (0, 50, half) if TAKES_ALL else (half,):
            damaged = os.path.join(work, f"damaged{number}")
            with open(source, "rb") as file, open(damaged, "wb") as copy:
                copy.write(file.read(size))
            refuse(3, damaged, damaged)
    for bound in ("few", "growth", "growth.layers", "growth.layers=", "growth.layers=few",
                  "growth.layers=101", "growth.layers=1,", ",", "=1", "growth=1,growth.tiles=-1",
                  "growth.layers=5%%", "growth.layers=1=2", "contradiction=1"):
        refuse(2, f"--fail-on {bound}: ", sample, "--fail-on", bound)
    refuse(2, "did you mean growth.layers?", sample, "--fail-on", "growth.lyers=1%")
    refuse(2, "--fail-on growth.stages: needs --solve or --evaluate", sample, "--fail-on",
           "growth=1%,growth.stages=1%")
    refuse(2, "--evaluate: not with --solve", sample, "--solve", "--evaluate", "whole")
    refuse(2, "--compare", sample, "--diagnose")
    refuse(2, "--num-ipus", sample, "--solve", "--num-ipus", "1..2")
    refuse(2, "no layer nothing", sample, "--evaluate", "nothing")
    _, log = run([popliner, sample, "--solve", "--fail-on", "growth=1%"], (2,))
    check("--fail-on growth: needs --compare" in log, log)
    # the layers of the other one count, too
    other = os.path.join(work, "fewer")
    run([mkprofile, *"--quiet --layers 2 --tiles 8".split(), "--output", other])
    _, log = run([popliner, sample, "-q", "--compare", other, "--evaluate", "0,2"], (2,))
    check(other in log and "no layer 2;" in log, log)
    # without a limit of its own, memory that differs is another question
    smaller = os.path.join(work, "smaller")
    shutil.copytree(sample, smaller)
    change(smaller, "UPDATE target_info SET bytes_per_tile = bytes_per_tile / 2")
    _, log = run([popliner, sample, "-q", "--compare", smaller, "--solve"], (2,))
    check("give --mem-per-tile" in log, log)
    run([popliner, sample, "-q", "--compare", smaller, "--solve", "--mem-per-tile", "300000"])
    _, log = run([popliner, sample, "-q", "--compare", smaller])
    check("The tiles have 319488 bytes" in log, log)


def check_outputs(popliner, sample, work):
    """Files that are written next to it are of REPORT, and what does not fit ends with 1."""
    path = os.path.join(work, "plan.csv")
    run([popliner, sample, "-q", "--compare", sample, "--solve", "--num-ipus", "2", "--output",
         f"plan={path}"])
    text, _ = run([popliner, sample, "-q", "--output", "plan", "--solve", "--num-ipus", "2",
                   "--format", "csv"])
    with open(path, newline="", encoding="utf-8") as file:
        check(file.read().replace("\r\n", "\n") == text.replace("\r\n", "\n"), path)
    run([popliner, sample, "-q", "--compare", sample, "--solve", "--mem-per-tile", "1000",
         "--fail-on", "growth=5%"], (1,))


def main():
    popliner, mkprofile, sample = sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        made = [os.path.join(work, f"made{number}") for number in range(5)]
        kinds = ("--layers 3 --seed 1", "--layers 4 --seed 2", "--layers 3 --seed 3 --training",
                 "--layers 3 --seed 1 --plan-seed 9 --execution",
                 "--layers 11 --seed 4 --inference")
        for folder, kind in zip(made, kinds):
            run([mkprofile, "--quiet", *kind.split(), "--tiles", "16", "--output", folder])
        stored = os.path.join(work, "stored")
        run([popliner, made[1], "-q", "--save-to-file", stored])
        three = ["--solve", "--num-ipus", "3"]
        pairs = [
            (check_pair, [sample], [sample], (), three),
            (check_pair, [made[1]], [made[2]]),
            (check_pair, [made[1]], [made[0]], (), ["--solve"]),  # a stage less
            (check_pair, [made[0]], [made[4]]),
            (check_pair, [stored, "--load-from-file"], [made[0]]),
            # cycles of another kind
            (check_pair, [os.path.join(made[0], "profile.pop")], [made[3]]),
            (check_pair, [made[0]], [stored, "--load-from-file"], (), three),
            (check_pair_and_growth, made[0], made[1], ["--evaluate", "0,1"]),
        ]
        tasks = pairs[:1] + [
            (check_refusals, sample, made[0], stored, work, mkprofile),
            (check_hostile, sample, work),
            (check_outputs, sample, work),
            (check_pair_and_growth, made[0], made[1]),
        ] + (pairs[1:] if TAKES_ALL else pairs[2::2])
        if TAKES_ALL:
            tasks += [(check_pair, [before], [now], options, solving)
                      for options in ([], ["--memory-model", "popliner"],
                                      ["--layer-order", "natural"],
                                      ["--layer-name-regex", r"Layer(\d)/(?:FF|Att)"])
                      for solving in ((), three if options else ("--solve", "--need", "at-most"))
                      for before in made[:2] for now in made[1:4]]
        for _ in cases.results([(task[0], popliner, *task[1:]) for task in tasks], 2):
            pass


main()
