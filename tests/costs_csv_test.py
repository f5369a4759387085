#!/usr/bin/env python3
"""Tables of layers against popliner's own format that says the same.

    costs_csv_test.py POPLINER

Random tables are written by Python's csv, with random order of columns, quotes, delimiters, line
ends and units of bytes; the numbers are added up here. Both files must have the same answer.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases

UNITS = {"": 1, "K": 1000, "M": 10**6, "KiB": 1 << 10, "MiB": 1 << 20}
NAMES = ["a", "l,0", 'the "first"', " b", "c;d", "größe", "x" * 300, "name", "#1", "'"]


def run(popliner, *arguments, text=None):
    done = subprocess.run([popliner, "-q", *arguments], capture_output=True, input=text)
    log = re.sub(r"^[\d:]+ ", "", cases.joined(done.stderr).decode(), flags=re.M)  # without the time
    return done.returncode, done.stdout.decode(), log


def some_bytes(generator):
    """What the table says, and what it means."""
    unit = generator.choice(list(UNITS))
    if unit in ("K", "M") and generator.random() < 0.5:
        tenths = generator.randrange(1, 10000)
        return f"{tenths / 10}{unit}", tenths * UNITS[unit] // 10
    number = generator.randrange(0, 1000)
    return f"{number}{unit}", number * UNITS[unit]


def some_table(generator):
    columns = ["name"] + generator.sample(
        ["memory", "time", "stash", "inputs", "parameters", "layer", "cut"],
        generator.randrange(1, 8))
    generator.shuffle(columns)
    time_unit = generator.choice([None, "ms", "µs", "cycles"])
    head = []
    for column in columns:
        text = column if generator.random() < 0.7 else column.upper()
        if column == "time":
            text = "cycles" if time_unit == "cycles" else text + (
                "" if time_unit is None else f"{generator.choice(['', ' '])}({time_unit})")
        head.append(text)
    document = {"format": "popliner-costs", "version": 1, "units": [], "cuts": []}
    if "time" in columns:
        document["time_unit"] = time_unit or "units"
    rows = [head]
    names = generator.sample(NAMES, generator.randrange(1, len(NAMES)))
    is_fraction = generator.random() < 0.5
    for i, name in enumerate(names):
        unit, row = {}, []
        cut = 0
        for column in columns:
            is_empty = generator.random() < 0.2
            text = ""
            if column == "name":
                text = name
                unit["name"] = name
            elif is_empty:
                pass
            elif column == "time":
                value = generator.randrange(0, 400) / 4 if is_fraction else \
                    generator.randrange(0, 100)
                text = str(value)
                unit["cycles"] = value
            elif column == "layer":
                unit["layer"] = generator.random() < 0.8 or i == 0
                text = generator.choice(["true", "1", "True"] if unit["layer"]
                                        else ["false", "0", "FALSE"])
            else:
                text, value = some_bytes(generator)
                if column == "cut":
                    cut = value
                else:
                    unit[column] = value
            row.append(text)
        rows.append(row)
        document["units"].append(unit)
        document["cuts"].append(cut)
    document["cuts"].pop()
    if "cut" not in columns:
        del document["cuts"]
    return rows, document


def as_text(generator, rows):
    delimiter = generator.choice(",;\t")
    line_end = generator.choice(["\n", "\r\n"])
    quoting = generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    for row in rows:
        # spaces around a cell do not count, so a name with them needs its quotes
        if quoting == csv.QUOTE_MINIMAL and any(cell != cell.strip() for cell in row):
            csv.writer(out, delimiter=delimiter, lineterminator=line_end,
                       quoting=csv.QUOTE_ALL).writerow(row)
        else:
            writer.writerow(row)
        if generator.random() < 0.1:
            out.write(line_end)
    text = out.getvalue()
    if generator.random() < 0.3:
        text = text.rstrip("\r\n")
    if generator.random() < 0.3:  # comments, before the first row alone
        text = "".join(generator.choice(["#", "# a comment, \"unended", "#name;memory", ""]) +
                       line_end for _ in range(generator.randrange(1, 4))) + text
    return generator.choice(["", "\ufeff"]) + text


def check_random(popliner, scratch, count):
    generator = random.Random(20261123)
    table = os.path.join(scratch, "costs.csv")
    document = os.path.join(scratch, "costs.json")
    solved = 0
    for i in range(count):
        rows, says = some_table(generator)
        with open(table, "w", encoding="utf-8", newline="") as file:
            file.write(as_text(generator, rows))
        with open(document, "w", encoding="utf-8") as file:
            json.dump(says, file)
        options = ["--solve", "--num-ipus", str(generator.randrange(1, 5)), "--format", "json"]
        if generator.random() < 0.4:
            options += ["--schedule", "popart"]
            if generator.random() < 0.5:
                options += ["--recompute", "full"]
        own = run(popliner, table, *options)
        told = run(popliner, document, *options)
        if own[:2] != told[:2] or own[2].replace(table, document) != told[2]:
            sys.exit(f"table {i}: {open(table, encoding='utf-8').read()}\n{options}\n{own}\n{told}")
        solved += own[0] == 0
    if solved < count // 2:
        sys.exit(f"only {solved} of {count} tables have an answer")
    return solved


WRONG = [
    ("name,memory\n", "the table has no layers"),
    ("name,memory\na,1,2\n", "line 2: expected as many cells as the first row has, 2, found 3"),
    ("name,memory\na\n", "line 2: expected as many cells as the first row has, 2, found 1"),
    ("name,memory\n\n\na,1\n,2\n", "line 5: the layer has no name: \"\""),
    ("name,memory\na,1\na,2\n", "line 3: an earlier layer has this name: \"a\""),
    ("name,memory\n\"a\nb\",1\nc,x\n", "line 4: expected bytes"),
    ("name,memory\na,-1\n", "line 2: expected bytes, like 638976, 624KiB or 1.5M, at most 2^48"),
    ("\n# a\n\n#b\r\nname,memory\na,-1\n", "line 6: expected bytes"),
    ("name,memory\n#a,-1\n", "line 2: expected bytes"),
    ("name,memory\na,1.5\n", "line 2: expected bytes"),
    ("name,memory\na,300000G\n", "line 2: expected bytes"),
    ("name,time\na,-1\n", "line 2: expected a number, at least 0: \"-1\""),
    ("name,time\na,1 ms\n", "line 2: expected a number, at least 0: \"1 ms\""),
    ("name,time\na,nan\n", "line 2: expected a number, at least 0: \"nan\""),
    ("name,layer\na,yes\n", "line 2: expected true or false: \"yes\""),
    ("name,memroy\na,1\n", "line 1: expected the columns name, memory, time,"),
    ("name,memory (KiB)\na,1\n", "line 1: only time has a unit in the first row"),
    ("name,time,cycles\na,1,1\n", "line 1: the column appears twice: \"cycles\""),
    ("name,name\na,b\n", "line 1: the column appears twice: \"name\""),
    ("name,memory\n\"a,1\n", "a quoted cell does not end"),
    ("name,memory\n\"a\"b,1\n", "something follows a quoted cell: \"b,1"),
    ("name,memory\na,1\0\n", "a NUL character is in the table"),
    ("names,memory\na,1\n", "expected a JSON object, a CSV with a column 'name'"),
    (b"name,memory\n\xff,1\n", "line 2: the name is not UTF-8"),
    ("name,memory\n\"a\x07\",1\n", "units[0].name: "),
    ("name,memory\na,\x1b[31m\n", "1.5M, at most 2^48: \"\\u001b[31m\""),
    ("name,layer\na,0\n", None),
]


def check_wrong(popliner, scratch):
    path = os.path.join(scratch, "wrong.csv")
    for text, told in WRONG:
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        status, out, log = run(popliner, path, "--solve")
        if told is None:
            continue
        if status != 3 or out or told not in log or path not in log or log.count("\n") != 1:
            sys.exit(f"{text!r}: status {status}, {log}")
    many = "name\n" + "".join(f"u{i}\n" for i in range(16385))
    status, _, log = run(popliner, "-", "--solve", text=many.encode())
    if status != 3 or "line 16386: expected at most 16384 layers" not in log:
        sys.exit(f"too many layers: {status}, {log}")


def main():
    popliner = sys.argv[1]
    count = 1000 if cases.takes_all() else 40
    with tempfile.TemporaryDirectory() as scratch:
        check_wrong(popliner, scratch)
        solved = check_random(popliner, scratch, count)
    print(f"{count} tables, {solved} with an answer, {len(WRONG)} wrong ones")


if __name__ == "__main__":
    main()
