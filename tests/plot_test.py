#!/usr/bin/env python3
"""Plots, read back cell by cell, against the sections of the same profile; and what the terminal
and the environment say of them.

    plot_test.py POPLINER MKPROFILE DIRECTORIES...

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import math
import os
import re
import subprocess
import sys
import tempfile

import cases
import terminals

AXIS = 10
HEIGHT = 16
UPRIGHT = " ▁▂▃▄▅▆▇"
FLAT = " ▏▎▍▌▋▊▉"


def check(is_right, what):
    if not is_right:
        sys.exit(str(what))


def run(command, environment=None, statuses=(0, 1)):
    own = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "80"}
    own.update({name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")})
    own.update(environment or {})
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env={name: value for name, value in own.items() if value is not None})
    check(done.returncode in statuses, (command, done.returncode, done.stderr))
    return done.stdout.decode()


def section(popliner, directory, name, *arguments):
    text = run([popliner, directory, "-q", "--output", name, "--format", "csv", *arguments])
    return list(csv.DictReader(io.StringIO(text, newline="")))


def eighths(size, top, cells):
    return math.ceil(size * cells * 8 / top)


def columns_of(count, width):
    """first and end item of each column"""
    columns = width if count > width else count * min(8, width // count)
    starts = [column * count // columns for column in range(columns)]
    return [(start, max(end, start + 1))
            for start, end in zip(starts, starts[1:] + [count])]


def percent(size, limit):
    """What is below the limit has at most 99, what is above it at least 101."""
    share = 100 * size / limit
    return f"{min(share, 99) if size < limit else max(share, 101) if size > limit else 100:.0f} %"


def check_columns(lines, base, total, top, limit, is_ascii):
    columns = columns_of(len(total), len(lines[0]) - AXIS)
    for number, (first, end) in enumerate(columns):
        item = max(range(first, end), key=lambda i: (total[i], -i))
        filled, below = (eighths(size[item], top, HEIGHT) for size in (total, base))
        for line in range(HEIGHT):
            cell = lines[HEIGHT - 1 - line][AXIS + number]
            here = min(8, max(0, filled - 8 * line))
            is_base = min(8, max(0, below - 8 * line)) >= 4 or below >= filled
            whole = ("#" if is_base else ":") if is_ascii else ("█" if is_base else "▒")
            at_limit = limit is not None and limit <= top and line == (
                eighths(limit, top, HEIGHT) - 1) // 8
            if here == 0:
                expected = ("-" if is_ascii else "─") if at_limit else " "
            elif here == 8 or (is_ascii and here >= 4):
                expected = whole
            elif is_ascii or is_base:
                expected = "." if is_ascii else UPRIGHT[here]
            else:
                expected = "▒" if here >= 4 else "░"
            check(cell == expected, f"column {number}, line {line}: {cell!r}, not {expected!r}")
    return columns


def read_columns(text, width):
    lines = text.split("\n")
    return [line.ljust(width)[:width] for line in lines[:HEIGHT]], lines[HEIGHT:]


def drawn_width(count, width):
    return AXIS + len(columns_of(count, width - AXIS))


def check_tiles(popliner, directory, is_ascii, width):
    rows = section(popliner, directory, "tiles")
    facts = {(row["group"], row["name"]): row["value"]
             for row in section(popliner, directory, "summary")}
    limit = int(facts["device", "bytes_per_tile"])
    base = [int(row["always_live_bytes"]) for row in rows]
    total = [int(row["live_bytes"]) for row in rows]
    text = run([popliner, directory, "-q", "--output", "tiles", "--format", "plot"],
               {"LANG": "C" if is_ascii else "C.UTF-8", "COLUMNS": str(width)})
    lines, rest = read_columns(text, drawn_width(len(total), width))
    most = max(total)
    has_limit = limit // 4 <= most
    check_columns(lines, base, total, max(most, limit if has_limit else 0),
                  limit if has_limit else None, is_ascii)
    largest = total.index(most)
    check(f"Largest: tile {largest} with {most:,} bytes of {limit:,} ({percent(most, limit)})."
          in rest, rest)
    check(rest[0].split() == ["0", str(len(total) - 1)], rest[0])


def check_liveness(popliner, directory, is_ascii, width, detail=""):
    rows = section(popliner, directory, "liveness")
    with_always = "always" in detail
    changing = [int(row["not_always_live_bytes"]) for row in rows]
    always = int(rows[0]["live_bytes"]) - changing[0]
    total = [bytes_ + (always if with_always else 0) for bytes_ in changing]
    base = [always] * len(total) if with_always else total
    text = run([popliner, directory, "-q", "--output", "liveness" + detail, "--format", "plot"],
               {"LANG": None, "LC_ALL": "POSIX" if is_ascii else "en_US.utf8",
                "COLUMNS": str(width)})
    lines, rest = read_columns(text, drawn_width(len(total), width))
    columns = check_columns(lines, base, total, max(total), None, is_ascii)
    units = [rows[max(range(first, end), key=lambda i: (total[i], -i))]["unit"]
             for first, end in columns]
    band, at, num_short = rest[0][AXIS:], 0, 0
    check(rest[0].startswith("   layers "), rest[0])
    while at < len(units):
        end = at + 1
        while end < len(units) and units[end] == units[at]:
            end += 1
        room = end - at - 1
        check(band[at] == ("|" if is_ascii else "│"), band)
        if len(units[at]) <= room:
            check(band[at + 1:end].ljust(room) == units[at].ljust(room), band)
        else:
            num_short += 1
            dots = "..." if is_ascii else "…"
            check((dots in band[at + 1:end]) == (room > len(dots)), band)
        at = end
    check(f"Largest: step {total.index(max(total))} with {max(total):,} bytes on all tiles." in
          rest, rest)
    check((f"Not drawn: {always:,} bytes that are always live." in rest) != with_always, rest)
    said = [line for line in rest if line.endswith(" no room.")]
    check([int(line.split()[0]) for line in said] == [num_short] * (num_short > 0), rest)


def check_one_tile(popliner, directory):
    """The sum of all tiles is what all of them together have; a tile has its part of it."""
    tiles = section(popliner, directory, "tiles")
    for tile, row in enumerate(tiles[:3]):
        text = run([popliner, directory, "-q", "--output", f"liveness:{tile}", "--format", "plot"])
        largest = re.search(r"Largest: step \d+ with ([\d,]+) bytes on tile (\d+)\.", text)
        undrawn = re.search(r"Not drawn: ([\d,]+) bytes", text)
        check(largest[2] == str(tile), text)
        check(int(largest[1].replace(",", "")) ==
              int(row["live_bytes"]) - int(row["always_live_bytes"]), (row, text))
        check(int(undrawn[1].replace(",", "")) == int(row["always_live_bytes"]), (row, text))


def check_plan(popliner, directory, arguments):
    rows = section(popliner, directory, "plan", *arguments)
    for width, is_ascii in ((100, False), (80, True), (60, False)):
        text = run([popliner, directory, "-q", "--output", "plan", "--format", "plot", *arguments],
                   {"COLUMNS": str(width), "LANG": "C" if is_ascii else "C.UTF-8"})
        lines = text.rstrip("\n").split("\n")
        check(len(lines) == len(rows) + 1, text)
        check(all(len(line) <= width for line in lines), text)
        limit = int(rows[0]["limit_bytes"])
        check(f"{limit:,}" in lines[0], text)
        full, over, mark = "#!|" if is_ascii else "█▓│"
        for line, row in zip(lines[1:], rows):
            need = int(row["memory"])
            check(re.match(r">? +(\d+) +(\d+) ", line).groups() == (row["stage"], row["ipu"]), line)
            check(f"{need:,}" in line and line.count(mark) == 1, line)
            check((over in line[line.index(mark):]) == (need > limit), line)
            cells = len(re.findall(f"[{full}{FLAT[1:]}]", line[:line.index(mark)]))
            room = line.index(mark) - line.index(full if full in line else mark)
            check(cells == room or need < limit, line)
            check(percent(need, limit) in line, line)


def on_terminal(command, columns, environment):
    """Standard output on a terminal of so many columns."""
    own = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TERM": "xterm", **environment}
    own.update({name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")})
    printed, status = terminals.run(command, own, columns)
    check(status == 0, command)
    return printed["stdout"]


def check_terminal(popliner, directory):
    command = [popliner, directory, "-q", "--output", "liveness:always", "--format", "plot"]
    plain = run(command, {"COLUMNS": "60"})
    check("\x1b" not in plain, "colour in a file")
    coloured = on_terminal(command, 60, {})
    check("\x1b[34m" in coloured and "\x1b[33m" in coloured, "no colour on a terminal")
    # a cell of both colours is mostly one of them
    def shade(colour, sign_of, text):
        return re.sub(f"\x1b\\[{colour}m([^\x1b]*)",
                      lambda run: "".join(map(sign_of, run[1])), text)
    shaded = shade("34;43", lambda sign: "█" if UPRIGHT.index(sign) >= 4 else "▒", coloured)
    shaded = shade("33", lambda sign: "░" if sign in UPRIGHT[:4] else "▒", shaded)
    check(re.search("(\x1b\\[3[0-9;]*m)[^\x1b]*\x1b\\[0m\\1", coloured) is None, "a run in pieces")
    check(re.sub("\x1b\\[[0-9]+m", "", shaded) == plain, "the terminal's own width, or the shades")
    check(on_terminal(command, 60, {"NO_COLOR": "1"}) == plain, "NO_COLOR")
    check(on_terminal([*command, "--color=never"], 60, {}) == plain, "--color never")
    check(on_terminal([*command, "--color=always"], 60, {"NO_COLOR": "1"}) == coloured ==
          run([*command, "--color=always"], {"COLUMNS": "60"}), "--color always")
    check(on_terminal(command, 60, {"TERM": "dumb"}) ==
          run(command, {"COLUMNS": "60", "LANG": "C"}), "a dumb terminal gets ASCII")
    check(on_terminal(command, 60, {"COLUMNS": "100", "NO_COLOR": "1"}) ==
          run(command, {"COLUMNS": "100"}), "COLUMNS comes first")


def check_refusals(popliner, directory):
    for arguments in (["plan", "--solve", "--evaluate", "whole"],
                      ["tiles", "--output", "liveness"],
                      ["plan", "--solve", "--num-ipus", "1..2"],
                      ["layers"], ["optimum"], ["tile"], ["liveness:x"], ["liveness:-1"],
                      ["liveness:"], ["tiles:5"], ["liveness:99999"]):
        run([popliner, directory, "--format", "plot", "--output", *arguments], statuses=(2,))
    run([popliner, directory, "--solve", "--format", "plot"], statuses=(2,))
    run([popliner, directory, "--output", "liveness:5", "--format", "tsv"], statuses=(2,))


def main():
    popliner, mkprofile, *directories = sys.argv[1:]
    takes_all = cases.takes_all()
    with tempfile.TemporaryDirectory() as work:
        if takes_all:
            directories.append(os.path.join(work, "made"))
            run([mkprofile, *"--training --layers 4 --tiles 200 --seed 3".split(), "--output",
                 directories[-1]])
        for directory in directories:
            for is_ascii in (False, True):
                for width in (80, 57) if takes_all else (57,):
                    check_tiles(popliner, directory, is_ascii, width)
                    check_liveness(popliner, directory, is_ascii, width)
                    check_liveness(popliner, directory, is_ascii, width, ":always")
            check_one_tile(popliner, directory)
            check_plan(popliner, directory, ["--solve", "--num-ipus", "3"])
            largest = max(int(row["largest_tile_bytes"])
                          for row in section(popliner, directory, "layers"))
            for limit in (largest // 2, largest, largest * 5):
                check_plan(popliner, directory,
                           ["--evaluate", "1", "--mem-per-tile", str(limit)])
        check_terminal(popliner, directories[0])
        check_refusals(popliner, directories[0])


main()
