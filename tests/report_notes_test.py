#!/usr/bin/env python3
"""framework.json and app.json next to a profile, in the section summary, against Python's json: of
documents of all kinds, by chance and by hand; also in a stored analysis and on a page.

    report_notes_test.py POPLINER SCHEMA DIRECTORY

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import cases
import sections_test

GROUPS = ("framework", "app")
MOST_NUMBER = 1 << 53
MOST_BYTES = 1 << 20


def check(is_right, what):
    if not is_right:
        sys.exit(str(what)[:2000])


def digits(number):
    """The first of 15 to 17 digits that say the same number."""
    return next((text for text in (f"{number:.{count}g}" for count in (15, 16))
                 if float(text) == number), f"{number:.17g}")


def rows_of(value, name=""):
    """(name, value) of each value of a document."""
    if isinstance(value, (dict, list)) and value:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            yield from rows_of(member, f"{name}.{key}" if name else str(key))
    elif isinstance(value, bool):
        yield name, "true" if value else "false"
    elif isinstance(value, int):
        yield name, value if abs(value) <= MOST_NUMBER else str(value)
    elif isinstance(value, float):
        yield name, digits(value)
    else:
        yield name, value if isinstance(value, str) else None


def write(place, group, text):
    path = os.path.join(place, f"{group}.json")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return path


def clear(place):
    for group in GROUPS:
        path = os.path.join(place, f"{group}.json")
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.remove(path)


def told(command, schema, place, *how):
    """The rows of the notes, which all formats tell alike, and the other rows."""
    c = sections_test.Comparison(command, schema, place, place, *how)
    rows = c.section("summary")
    check(not c.problems, c.problems)
    own = [(row["group"], row["name"], row["value"]) for row in rows if row["group"] in GROUPS]
    check(all(row["is_default"] is None for row in rows if row["group"] in GROUPS), rows)
    return own, [row for row in rows if row["group"] not in GROUPS]


def look(command, schema, place, documents, is_stored=False):
    """Documents, one for each group or None."""
    clear(place)
    own = []
    for group, document in zip(GROUPS, documents):
        if document is not None:
            write(place, group, json.dumps(document, ensure_ascii=random.random() < 0.5))
            own += [(group, *row) for row in rows_of(document)]
    found, others = told(command, schema, place)
    check(found == own, (documents, found, own))
    if is_stored:
        stored = os.path.join(place, "stored")
        subprocess.run([command, "-q", place, "--save-to-file", stored], check=True)
        clear(place)  # they are in the file
        check(told(command, schema, stored, "--load-from-file") == (found, others), documents)
        os.remove(stored)
    return len(own)


TEXTS = ("", "a", "a.b", "0", "\t\n\r\\", '","', "\x1b[31m\x7f\x9b", "\u202e\u2066\u2028", "=1+1",
         "<script>&'\"</script>", "\U0001f600 ä", "x" * 5000, " ", "null", "framework")
NUMBERS = (0, -1, 7, MOST_NUMBER, MOST_NUMBER + 1, -MOST_NUMBER - 1, 2**63 - 1, -2**63, 0.5, -0.1,
           1e-300, 1.7976931348623157e308, 1 / 3, 16384.123456789, 3.0, 5e-324, -0.0)


def by_chance(own, depth=0):
    kind = own.randrange(8 if depth < 5 else 5)
    if kind >= 5:
        size = own.randrange(4 if depth else 7)
        if kind == 5:
            return [by_chance(own, depth + 1) for _ in range(size)]
        return {own.choice(TEXTS): by_chance(own, depth + 1) for _ in range(size)}
    return (None, own.random() < 0.5, own.choice(TEXTS), own.choice(NUMBERS),
            own.uniform(-1e6, 1e6))[kind]


def warnings(command, place):
    done = subprocess.run([command, place, "--output", "summary", "--format", "json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    lines = [line for line in done.stderr.decode("utf-8", "replace").splitlines()
             if "warning: " in line]
    rows = [row for row in json.loads(done.stdout)["rows"] if row["group"] in GROUPS]
    check(done.returncode == 0, done.stderr)
    return lines, rows


def left_out(command, place):
    """What cannot be taken is one warning with the file's name, and nothing else is lost."""
    bad = (b"", b"{", b"[1,]", b'{"a": 1, "a": 2}', b"\xff", b'{"a": "\xc3("}', b"nul",
           b'{"a": 1} x', b"\xef\xbb\xbf{}", b"[" * 5000, b'{"a": 99999999999999999999}',
           b'"\\u0000"', b" " * (MOST_BYTES - 1) + b"[]")
    for text in bad:
        clear(place)
        path = write(place, "framework", text)
        write(place, "app", '{"is": "kept"}')
        lines, rows = warnings(command, place)
        check(len(lines) == 1 and path in lines[0] and "left out" in lines[0], (text[:99], lines))
        check([(row["group"], row["value"]) for row in rows] == [("app", "kept")], rows)
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink(path, path)):
        clear(place)
        path = os.path.join(place, "app.json")
        make(path)
        lines, rows = warnings(command, place)
        check(len(lines) == 1 and path in lines[0] and not rows, (make, lines))


def limits(command, place):
    """Just as much as is kept, and a little more."""
    clear(place)
    path = write(place, "app", b" " * (MOST_BYTES - 3) + b"[1]")
    lines, rows = warnings(command, place)
    check(not lines and len(rows) == 1, lines)
    deep = "[" * 64 + "1" + "]" * 64
    for text, is_cut, number in (
            (json.dumps(list(range(10000))), False, 10000),
            (json.dumps(list(range(10001))), True, 10000), (deep, False, 1),
            (f"[2,{'[' * 64}1{']' * 64}]", True, 1),
            (json.dumps({"k" * 500000: list(range(9))}), True, 8)):
        write(place, "app", text)
        lines, rows = warnings(command, place)
        check(len(lines) == is_cut and all(path in line for line in lines), lines)
        check(len(rows) == number, (len(rows), number, text[:99]))


def on_page(command, place):
    clear(place)
    write(place, "framework", '{"a": {"name beyond doubt": "value </script> beyond doubt"}}')
    page = os.path.join(place, "page.html")
    subprocess.run([command, "-q", place, "--output", f"page={page}"], check=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    os.remove(page)
    check("a.name beyond doubt" in text, "the name is not on the page")
    check("value </script> beyond" not in text, "a value ends the page's script")
    check("script> beyond doubt" in text, "the value is not on the page")


def main():
    command, schema, sample = sys.argv[1:]
    schema = sections_test.Schema(schema)
    count, own = 0, random.Random(7)
    random.seed(8)
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(sample, name), os.path.join(place, name))
        check(told(command, schema, place)[0] == [], "there are notes without files")
        count += look(command, schema, place, ({"poptorch": {"version": "3.3.0", "options": [
            1, 2.5, True, None, {}, []]}}, None), True)
        count += look(command, schema, place, (None, dict.fromkeys(TEXTS, list(NUMBERS))), True)
        count += look(command, schema, place, ("a text", 5), True)
        count += look(command, schema, place, ([], {}), True)
        for number in range(40 if cases.takes_all() else 3):
            count += look(command, schema, place, (by_chance(own), by_chance(own)), number % 4 == 0)
        left_out(command, place)
        limits(command, place)
        on_page(command, place)
    print(f"{count} values")


if __name__ == "__main__":
    main()
