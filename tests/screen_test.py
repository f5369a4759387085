#!/usr/bin/env python3
"""Reports on a terminal, against the JSON of the same questions, and against screens of the design.

    screen_test.py POPLINER MKPROFILE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import cases
import terminals

# That of docs/guide.md: its answers are known from several places.
REPORT = ("--framework poptorch --training --accumulate --layers 8 --tiles 16 --hidden 128 "
          "--sequence 32 --vocabulary 512 --quiet")
# One that is read quickly.
SMALL = ("--framework poptorch --training --accumulate --layers 3 --tiles 4 --hidden 64 "
         "--sequence 16 --vocabulary 128 --quiet")
SOLVE = ["--solve", "--num-ipus", "4", "--schedule", "popart"]
EVALUATE = ["--evaluate", "1|3|5", "--schedule", "popart"]
TOO_FEW = ["--solve", "--num-ipus", "2", "--schedule", "popart"]
CONTRADICTION = SOLVE + ["--require", "together:0,3", "--require", "cut:1"]
QUESTIONS = [SOLVE, TOO_FEW, EVALUATE, CONTRADICTION, ["--solve", "--num-ipus", "3"],
             ["--diagnose"], SOLVE + ["--mem-per-tile", "200K"],
             ["--solve", "--schedule", "popart", "--device-map", "0,1,0,1"],
             SOLVE + ["--memory-model", "popliner"], ["--evaluate", "whole"],
             SOLVE + ["--recompute", "auto"], []]
# Tables: each fits the terminal, and its numbers are those of a pipe.
RANGE = ["--num-ipus", "1..5", "--schedule", "popart"]
TABLES = [["--output", "layers"], SOLVE + ["--output", "plan"], ["--output", "operations"],
          ["--output", "tiles"], ["--output", "variables"], ["--output", "checks"],
          ["--output", "programs"], ["--output", "liveness"], ["--output", "summary"]]
# Several splits: each with its memory against the limit, and its verdict.
SPLITS = [RANGE, ["--solve", "--pareto", "memory,cycles", "--schedule", "popart"],
          ["--mem-per-tile", "200K..700K:100K", "--num-ipus", "3"], RANGE + ["--need", "at-most"],
          ["--solve", "--total-ipus", "4", "--batch", "8", "--schedule", "popart"]]
SCREENS = ((60, "C.UTF-8"), (80, "C"), (100, "C.UTF-8"))
ESCAPES = re.compile("\x1b\\[[0-9;]*m")
PARTS = " ▏▎▍▌▋▊▉█"


def check(is_right, *what):
    if not is_right:
        sys.exit("\n".join(map(str, what)))


def environment(**changes):
    own = {"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"}
    own.update({name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS")})
    own.update(changes)
    return own


def on_terminal(command, width, **changes):
    """What a terminal of this width shows of standard output; the log; the exit status."""
    printed, status = terminals.run(command, environment(**changes), width)
    return printed["stdout"], printed["stderr"], status


def in_pipe(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=environment())
    check(done.returncode in (0, 1), command, done.stderr.decode())
    return done.stdout.decode()


def grouped(number):
    return f"{number:,}"


# ---- bars, by the rules of the design --------------------------------------------------------


def bar_of(size, limit, top, cells, is_ascii):
    """A bar from 0; the limit is at the end of a cell, and what is above it takes whole cells."""
    at = cells * limit // top
    eighths = 8 * size * at // limit
    full, over, mark = ("#", "!", "|") if is_ascii else ("█", "▓", "│")
    if size > limit:
        return full * at + mark + over * max(1, -(-eighths // 8) - at)
    if is_ascii:
        return (full * max(1, eighths // 8)).ljust(at) + mark
    whole, rest = divmod(max(1, eighths), 8)
    return (full * whole + (PARTS[rest] if rest else "")).ljust(at) + mark


def check_bars(rows, needs, limit, is_ascii, what):
    """All rows of a table that has them: their bars begin behind the percentage."""
    top = max(limit, *needs)
    starts = [re.search(r"\d %  ", row) for row in rows]
    check(all(starts), what)
    start = starts[0].end()
    cells = (len(rows[needs.index(top)][start:].split("  ")[0]) - 1 if top > limit
             else re.search("[│|]", rows[0]).start() - start)
    for row, need in zip(rows, needs):
        expected = bar_of(need, limit, top, cells, is_ascii)
        check(row[start:].startswith(expected), what, row, repr(expected))


# ---- answers -----------------------------------------------------------------------------------


VERDICTS = ["fits", "likely fits", "may not fit", "does not fit"]


def verdict_of(stage, limit):
    needs = stage["needs"]
    bounds = ("at_most_bytes", "expected_bytes", "at_least_bytes")
    return next((word for word, bound in zip(VERDICTS, bounds) if needs[bound] <= limit),
                VERDICTS[-1])


def table_rows(text):
    return [line for line in text.splitlines() if re.match(r"[> ]\s+\d+\s+\d+  \S", line)]


# What the parts of a fullest tile are called.
TILE_PARTS = {"always_live_bytes": "always-live variables", "live_bytes": "other variables",
              "code_bytes": "code and vertex state", "unexplained_bytes": "of no known operation",
              "stash_bytes": "kept for the backward pass", "buffer_bytes": "sent and received",
              "accumulator_bytes": "gradient accumulators", "layout_bytes": "unused by the layout"}


def check_parts(text, size, limit, parts, variables, what):
    """The parts of a tile that is too full, largest first, which add up to it."""
    _, start, told = " ".join(text.split()).partition(
        f"{grouped(size)} bytes, {grouped(size - limit)} above the limit: ")
    check(start, what, text)
    found = [(int(number.replace(",", "")), name) for number, name in
             re.findall(f"([\\d,]+) ({'|'.join(TILE_PARTS.values())})", told)]
    check(sum(number for number, _ in found) == size, what, found, size)
    check(found == sorted(found, key=lambda part: -part[0]), what, found)
    check({name: number for number, name in found} ==
          {TILE_PARTS[key]: value for key, value in parts.items()
           if key in TILE_PARTS and value > 0}, what, found, parts)
    shown = re.findall(r"^ {12} *([\d,]+)  [a-z ]+  ", text, re.MULTILINE)
    check(shown == [grouped(v["size_bytes"]) for v in variables[:3]], what, shown, text)


def check_solve(text, answer, limit, is_ascii, what):
    needs = [stage["peak"]["bytes"] for stage in answer["stages"]]
    rows = table_rows(text)
    check(len(rows) == len(needs), what, text)
    for row, stage, need in zip(rows, answer["stages"], needs):
        check(row.split()[-1:] == ["KiB"] or stage is answer["stages"][-1], what, row)
        check(f" {grouped(need)} " in row, what, row)
        percent = int(re.search(r"(\d+) %", row)[1])
        check(abs(percent - 100 * need / limit) <= 1, what, row)
        check((percent > 100) == (need > limit), what, row)
        check((row[0] == ">") == (need == max(needs)), what, row)
        layers = stage["layers"]
        check(f"to {layers[-1]} " in row or f" {layers[-1]} " in row, what, row)
    check_bars(rows, needs, limit, is_ascii, what)
    worst = max((verdict_of(stage, limit) for stage in answer["stages"]), key=VERDICTS.index)
    fits = answer["status"] != "infeasible"
    proof = "no split" if fits else "every split over 2 IPUs with a layer in each stage needs"
    words = f"{worst.capitalize()} on {len(needs)} IPUs. Proven: {proof}"
    check(" ".join(text.split()).startswith(words), what, words, text)
    if not fits:
        check(f"{grouped(max(needs))} bytes or more" in " ".join(text.split()), what, text)
    most = answer["stages"][needs.index(max(needs))]
    peak = most["peak"]
    check(f"Bottleneck  stage {needs.index(max(needs))}, tile {peak['tile']}, step {peak['step']}"
          in text, what, text)
    for bound in ("at_least", "expected", "at_most"):
        check(grouped(most["needs"][bound + "_bytes"]) in text, what, text)
    if not fits:
        check_parts(text, max(needs), limit, peak, peak["largest_variables"], what)


def check_evaluation(text, stages, what):
    rows = table_rows(text)
    check(len(rows) == len(stages), what, text)
    for row, stage in zip(rows, stages):
        check(f" {grouped(stage['needs']['expected_bytes'])} " in row, what, row)
        check(stage["needs"]["verdict"] in row, what, row)
    tight = max(stages, key=lambda stage: stage["need_bytes"])
    check(rows[stages.index(tight)][0] == ">", what, text)
    check(f"{grouped(tight['need_bytes'])} of " in " ".join(text.split()), what, text)
    is_too_large = not tight["fits"]
    check(("Bottleneck" in text) == is_too_large, what, text)
    if is_too_large:
        check_parts(text, tight["need_bytes"], tight["limit_bytes"], tight["peak"],
                    tight["peak"]["largest_variables"], what)


def check_diagnosis(text, found, what):
    rows, missing, _ = (section["rows"] for section in found["sections"])
    here = next(row for row in rows if (row["group"], row["name"]) == ("bottleneck", "bytes"))
    words = " ".join(text.split())
    share = 100 * here["explained"] / here["value"]
    check(words.startswith(f"To be trusted: {share:.2f} % of the fullest tile"), what, text)
    check(f"compiler {grouped(here['value'])}, explained {grouped(here['explained'])}, "
          f"missing {grouped(here['value'] - here['explained'])} bytes" in words, what, text)
    sizes = {}
    for row in missing:
        if row["place"] == "bottleneck":
            sizes[row["category"]] = sizes.get(row["category"], 0) + row["size_bytes"]
    largest = sorted(sizes.values(), reverse=True)
    shown = [int(number.replace(",", "")) for number in
             re.findall(r"^(?:Missing| {7}) +([\d,]+)  \w", text, re.M)]
    check(shown == largest[:4] + [sum(largest[4:])], what, text, largest)


# ---- screens of the design, but for blanks -------------------------------------------------------

DESIGN = {
    tuple(SOLVE): """
Fits on 4 IPUs. Proven: no split over 4 IPUs has a lower peak.
stage IPU layers fullest tile, limit 638,976 bytes cycles to next
0 0 Head to 0 344,655 54 % ████████████▉ │ 5.69 M 16 KiB
1 1 1 to 2 472,229 74 % █████████████████▋ │ 10.16 M 16 KiB
2 2 3 to 4 419,953 66 % ███████████████▊ │ 10.07 M 16 KiB
> 3 3 5 to 7 515,004 81 % ███████████████████▎ │ 15.56 M
Bottleneck stage 3, tile 5, step 1628: bert/encoder/7/output/dense/MatMul
at least 428,373, expected 515,004, at most 596,280 bytes
Try --num-ipus 3 likely fits: 586,031 bytes (92 %)
--output optimum the plan for Optimum (--help frameworks: others)
""",
    tuple(TOO_FEW): """
May not fit on 2 IPUs. Proven: every split over 2 IPUs with a layer in each stage needs 741,645
bytes or more on some tile.
stage IPU layers fullest tile, limit 638,976 bytes cycles to next
> 0 0 Head to 3 741,645 116 % ████████████████████│▓▓▓▓ 20.90 M 16 KiB
1 1 4 to 7 639,747 101 % ████████████████████│▓ 20.59 M
Bottleneck stage 0, tile 6, step 3422: bert/encoder/2/output/dense/MatMul
or --mem-per-tile 741645 if there were such tiles
Not enough --recompute auto 639,747 bytes, 0.1 % too much
""",
    tuple(CONTRADICTION): """
No split is possible: two constraints contradict each other.
--require together:0,3 layers 0 to 3 on one IPU
--require cut:1 a cut between layers 1 and 2
Not enough without --require cut:1 741,645 bytes, 16 % too much
""",
    tuple(EVALUATE): """
Likely fits on 4 IPUs. The tightest is stage 0, with 549,237 of 638,976 bytes. The slowest IPU takes
10.74 M cycles; 48 KiB cross the cuts.
stage IPU layers at least expected at most of 638,976 bytes verdict
Try --solve --num-ipus 4 the best split: 515,004 bytes
""",
}


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() != ""]


def check_design(popliner, report):
    for question, screen in DESIGN.items():
        text, log, _ = on_terminal([popliner, report, *question], 100, NO_COLOR="1")
        lines = squeezed(text)
        for line in squeezed(screen):
            check(line in lines, question, "lacks", line, text)
        check("SUCCESS" not in log and "Bottleneck" not in log, question, log)


# ---- every question on every terminal ----------------------------------------------------------


def check_terminals(popliner, report):
    for question in cases.some(QUESTIONS, 4):
        command = [popliner, report, "-q", *question]
        for width in cases.some((80, 40, 60, 100, 200), 2):
            text, _, status = on_terminal(command, width, NO_COLOR="1")
            coloured, _, _ = on_terminal(command, width)
            plain, _, _ = on_terminal(command, width, LC_ALL="C", NO_COLOR="1")
            dumb, _, _ = on_terminal(command, width, TERM="dumb")
            what = (width, question, text)
            check(max(map(len, text.splitlines()), default=101) <= max(width, 60), what)
            check(all(len(line) <= 100 or re.match(r" {14} *[\d,]+  ", line)  # names have more room
                      for line in text.splitlines()), what)
            check("\x1b" not in text + plain + dumb, what)
            check(plain.isascii() and plain == dumb, what, plain, dumb)
            check(coloured.startswith("\x1b[1"), what)
            check(ESCAPES.sub("", coloured) == text, what, coloured)
            check(not any(line.endswith(" ") for line in text.splitlines()), what)
            check(status == subprocess.run(command, stdout=subprocess.DEVNULL, env=environment(),
                                           stderr=subprocess.DEVNULL, check=False).returncode, what)


def check_numbers(popliner, report):
    # the second may fit: only the least that it needs is within its limit
    for ipus, limit in cases.within_budget(((2, 740000), (3, 638976), (2, 638976), (4, 638976),
                                            (5, 638976), (8, 638976))):
        question = ["--solve", "--num-ipus", str(ipus), "--schedule", "popart", "--mem-per-tile",
                    str(limit)]
        answer = json.loads(in_pipe([popliner, report, *question, "--format", "json"]))
        for width, locale in cases.within_budget(SCREENS):
            text, _, _ = on_terminal([popliner, report, "-q", *question], width, NO_COLOR="1",
                                     LC_ALL=locale)
            check_solve(text, answer, limit, locale == "C", (width, question))
    for cuts in cases.within_budget(("1|3|5", "3", "0|1|2", "4|6")):
        question = ["--evaluate", cuts, "--schedule", "popart"]
        stages = json.loads(in_pipe([popliner, report, *question, "--format", "json"]))["stages"]
        for width in cases.within_budget((60, 80, 100)):
            text, _, _ = on_terminal([popliner, report, "-q", *question], width, NO_COLOR="1")
            check_evaluation(text, stages, (width, question))


def check_diagnoses(popliner, report):
    found = json.loads(in_pipe([popliner, report, "--diagnose", "--format", "json"]))
    text, _, _ = on_terminal([popliner, report, "-q", "--diagnose"], 100, NO_COLOR="1")
    check_diagnosis(text, found, "--diagnose")


def check_needs(popliner, report):
    """The headline of --evaluate has the need that was asked for."""
    for need, words in (("expected", ""), ("at-most", "at most "), ("at-least", "at least ")):
        command = [popliner, report, *EVALUATE, "--need", need]
        key = need.replace("-", "_") + "_bytes"
        told = json.loads(in_pipe(command + ["--format", "json"]))["stages"]
        most = max(stage["needs"][key] for stage in told)
        shown = on_terminal(command, 100)[0]
        check(f" stage 0, with {words}{grouped(most)} of 638,976 bytes." in ESCAPES.sub("", shown),
              command, most, shown)


def check_overview(popliner, report):
    """The overview holds the whole model against the limit that was given, as --evaluate does."""
    command = [popliner, report, "-q"]
    whole = json.loads(in_pipe([*command, "--evaluate", "whole", "--format", "json"]))["stages"][0]
    need, verdicts = whole["needs"]["expected_bytes"], set()
    for limit in (need // 2, need - 1, need, 2 * need):
        verdicts.add(verdict_of(whole, limit))
        text, _, status = on_terminal([*command, "-m", str(limit)], 60, NO_COLOR="1")
        check(status == 0 and " ".join(text.split()).startswith(
            f"{verdict_of(whole, limit).capitalize()} on one IPU: the fullest tile needs "
            f"{grouped(need)} of {grouped(limit)} bytes"), whole, text)
    check(len(verdicts) == 4, verdicts)
    refused = subprocess.run([*command, "-m", "1000", "--format", "tsv"], stdout=subprocess.PIPE,
                             env=environment(), stderr=subprocess.PIPE, check=False)
    check(refused.returncode == 2 and b"--mem-per-tile: does nothing here" in refused.stderr,
          refused)


def check_costs(popliner, scratch):
    """A table of layers tells what a stage keeps, and its largest layers: reckoned by hand."""
    path = os.path.join(scratch, "layers.csv")
    with open(path, "w", encoding="utf-8") as file:
        file.write("name,memory,stash\nfirst,1500,100\nsecond,600,200\nthird,700,200\nlast,1100,\n")
    for question, words in (
            (["--evaluate", "second", "--schedule", "1f1b"],
             "stage 0: 2,400 bytes, 500 above the limit; 300 are kept for the backward pass; "
             "largest alone: first (1,600), second (800) "),
            (["--evaluate", "whole"], "stage 0: 3,900 bytes, 2,000 above the limit; largest alone: "
             "first (1,500), last (1,100), third (700) "),
            (["--evaluate", "first", "--device-map", "0,0"], "device 0 with 2 stages: 3,900 bytes, "
             "2,000 above the limit; largest alone: first (1,500) ")):
        for width, locale in cases.within_budget(SCREENS):
            text, _, _ = on_terminal([popliner, path, "-q", *question, "-m", "1900"], width,
                                     NO_COLOR="1", LC_ALL=locale)
            check(f"Bottleneck {words}" in " ".join(text.split()) + " ", question, text)
            check(max(map(len, text.splitlines())) <= width, question, text)


# ---- tables ------------------------------------------------------------------------------------


def is_shown(field, shown):
    """Whether a cell shows a field: numbers have commas, long texts lack their middle."""
    parts = re.split(r"…|\.\.\.", shown)
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", shown)
    if re.fullmatch(r"-?\d+\.\d+", field) and len(field.lstrip("-")) > 4:  # three digits of it
        size = abs(float(field))
        step = 10.0 ** min(0, math.floor(math.log10(size)) - 2) if size > 0 else 1
        return abs(float(plain) - float(field)) <= 0.5001 * step and \
            len(plain.lstrip("-0.").replace(".", "")) <= max(3, len(str(int(size))))
    return field in (shown, plain) or (len(parts) == 2 and len(field) > len(shown) - 2 and
                                       field.startswith(parts[0]) and field.endswith(parts[1]))


def check_row(line, fields, what):
    """All cells of a line are fields, in their order. Returns how many."""
    cells = re.split(" {2,}", re.sub("^> *", "", line).strip())
    at = 0
    for cell in cells:
        while at < len(fields) and not is_shown(fields[at], cell):
            at += 1
        check(at < len(fields), what, "no field, or not in order:", cell, line, fields)
        at += 1
    return len(cells)




def cuts_of(split):
    """The value of --evaluate: for "[ Head 0 | 1 2 ]" it is "0"."""
    stages = [stage.split() for stage in split.strip("[] ").split("|")]
    return ",".join(stage[-1] for stage in stages[:-1]) or "whole"


def as_shown(rows):
    """What a terminal shows of a table: layers and tiles with the largest first, other words for
    the fullest tile and for facts of the summary."""
    head, *rest = rows
    by = {"unit": "largest_tile_bytes", "ipu": "live_bytes"}.get(head[1])
    if by in head and head[0] in ("index", "tile"):
        rest.sort(key=lambda row: -int(row[head.index(by)]))
    if head[0] == "group":
        rest = [[cell.replace("_", " ").replace("largest tile", "fullest tile")
                 for cell in row[:2]] + row[2:] for row in rest]
    return [[re.sub("^largest_tile", "fullest_tile", name) for name in head]] + rest


def check_table(text, rows, width, what):
    """`rows` are those of a pipe, with names."""
    rows = as_shown(rows)
    lines = text.splitlines()
    check(max(map(len, lines)) <= max(width, 60), what, text)
    check(not any(line.endswith(" ") for line in lines), what, text)
    note = re.match(r"(\d+) more columns?: --format tsv$", lines[-1])
    lines = lines[:-1] if note else lines
    if len(rows) > 41:
        check(re.match(rf"(…|\.\.\.) {grouped(len(rows) - 41)} more: --format tsv$", lines.pop()),
              what, text)
    shown = rows[1:41]
    body = lines[len(lines) - len(shown):]
    most = 0
    for line, fields in zip(body, shown):
        most = max(most, check_row(line, fields, what))
    used = sum(any(row[i] for row in shown) for i in range(len(rows[0])))
    check(most <= used and (most < used) >= bool(note and int(note[1]) > len(rows[0]) - used), what,
          note, most, used, text)
    head = " ".join(lines[:len(lines) - len(body)]).replace("_", " ").split()
    for i, name in enumerate(rows[0]):  # of every column that is shown, the name is there
        if not note and any(row[i] for row in rows[1:]):
            check(all(word in head for word in name.split("_")), what, name, text)


def check_rankings(popliner, report):
    """The largest layer and the fullest tile are in the first sentence and the first row. The bytes
    of a layer are what --evaluate counts without effects."""
    whole = json.loads(in_pipe([popliner, report, "-q", "--output", "layers", "--format", "json"]))
    cuts = ",".join(row["unit"] for row in whole["rows"][:-1])
    stages = json.loads(in_pipe([popliner, report, "-q", "--evaluate", cuts, "--effects", "none",
                                 "--format", "json"]))["stages"]
    for table, by, name in cases.within_budget((("layers", "largest_tile_bytes", "unit"),
                                                ("tiles", "live_bytes", "tile"))):
        command = [popliner, report, "-q", "--output", table]
        rows = json.loads(in_pipe([*command, "--format", "json"]))["rows"]
        most = max(rows, key=lambda row: row[by])
        what = ("Tile" if table == "tiles" else "Layer" if most["kind"] == "layer" else "")
        text, _, _ = on_terminal(command, 100, NO_COLOR="1")
        words = (f"is the fullest: it has {grouped(most[by])} bytes, without gaps."
                 if table == "tiles" else
                 f"is the largest: it needs {grouped(stages[most['index']]['need_bytes'])} "
                 "bytes on its fullest tile. All bytes here are without layout, ")
        shown = " ".join(text.split("\n\n")[0].split())
        check(shown.startswith(f"{what} {most[name]} {words}".strip()), most, words, text)
        marked = [line for line in text.splitlines() if line.startswith(">")]
        check(len(marked) == 1 and str(most[name]) in marked[0].split(), most, text)


def check_tables(popliner, report):
    for question in cases.some(TABLES, 4):
        command = [popliner, report, "-q", *question]
        printed = in_pipe([*command, "--format", "tsv"])
        rows = [line.split("\t") for line in printed.splitlines()]
        for width in cases.within_budget((60, 80, 100)):
            text, _, status = on_terminal(command, width, NO_COLOR="1")
            what = (question, width)
            check(status in (0, 1), what, status)
            check_table(text, rows, width, what)
            plain, _, _ = on_terminal(command, width, LC_ALL="C", NO_COLOR="1")
            check(plain.isascii(), what, plain)
            check_table(plain, rows, width, what)
            coloured, _, _ = on_terminal(command, width)
            check(ESCAPES.sub("", coloured) == text, what, coloured)


def verdict_of_split(popliner, report, question, row, limit):
    """By what --evaluate measures of the split, and the limit."""
    if not row["split"]:
        return "none fits"
    words = [word for word in question if word.startswith("--schedule") or word == "popart"]
    stages = json.loads(in_pipe([popliner, report, "-q", "--evaluate", cuts_of(row["split"]),
                                 "--mem-per-tile", str(limit), *words, "--format",
                                 "json"]))["stages"]
    return max((verdict_of(stage, limit) for stage in stages), key=VERDICTS.index)


def check_split(line, row, limit, verdict, what):
    cells = re.split(" {2,}", re.sub("^> *", "", line).strip())
    check(cells[-1] == verdict, what, line, row, verdict)
    run = re.fullmatch(r"(\d+) to (\d+)", cells[0])
    if run:  # of numbers of stages that have no split alike
        check(not row["split"] and len(cells) == 2 and
              int(run[1]) <= int(row["stages"]) <= int(run[2]), what, line, row)
        return
    check(not row["split"] or cells[-2] == cuts_of(row["split"]), what, line, row)
    for name in ("num-ipus", "mem-per-tile", "stages", "memory"):
        check(name not in row or grouped(int(row[name])) in cells, what, name, line, row)
    if row["split"] and row.get("used"):  # before the memory
        check(row["used"] in cells[:cells.index(grouped(int(row["memory"])))], what, line, row)
    if "memory" in row:
        percent = next(int(cell[:-2]) for cell in cells if cell.endswith(" %"))
        share = 100 * int(row["memory"]) / limit
        check(abs(percent - share) <= 1 and (percent > 100) == (share > 100), what, line, row)


def num_rows_of(line, rows):
    """The rows that a line of a screen stands for: "1 to 3" is several that have no split."""
    run = re.match(r" +(\d+) to (\d+) .*(none fits|impossible)$", line)
    return sum(int(run[1]) <= int(row["stages"]) <= int(run[2]) for row in rows) if run else 1


def check_splits(popliner, report):
    for question in cases.some(SPLITS, 4):
        command = [popliner, report, "-q", *question]
        head, *rows = [line.split("\t") for line in
                       in_pipe([*command, "--format", "tsv"]).splitlines()]
        rows = [dict(zip(head, row)) for row in rows]
        limits = [int(row.get("mem-per-tile", 638976)) for row in rows]
        verdicts = [verdict_of_split(popliner, report, question, row, limit)
                    for row, limit in zip(rows, limits)]
        good = [i for i, row in enumerate(rows) if row["status"] == "optimal"]
        best = next((i for i in good if rows[i].get("best", "yes") == "yes"), None)
        for width in (100, 80, 60):
            text, _, status = on_terminal(command, width, NO_COLOR="1")
            what = (question, width, text)
            lines = text.splitlines()
            check(max(map(len, lines)) <= width and status == (best is None), what, status)
            lines = [line for shown in lines for line in [shown] * num_rows_of(shown, rows)]
            check(not re.search("optimal|infeasible", text.split("\n\n")[1]), what)
            if text.count("\n\n") > 1:  # columns below each other
                continue
            for line, row, limit, verdict in zip(lines[-len(rows):], rows, limits, verdicts):
                check_split(line, row, limit, verdict, what)
                check((line[0] == ">") == (row is rows[best] if best is not None else False), what)
            check(re.search(r"of (the limit|638,976)", text), what)
            check(("at most, of " in text) == ("at-most" in question), what)
        if head[0] in ("num-ipus", "mem-per-tile"):
            check(text.startswith("None of these fits.\n" if best is None else
                                  f"The first that fits: --{head[0]} {rows[best][head[0]]}.\n\n"),
                  question, text)
        plain, _, _ = on_terminal(command, 80, LC_ALL="C", NO_COLOR="1")
        check(plain.isascii(), question, plain)


# ---- changes that would help ---------------------------------------------------------------------


def check_hints(popliner, report):
    """What is under Try and Enough was measured: pasted, it gives these bytes and this verdict. Of
    a stored analysis the overview has no hint that needs the profile."""
    text, _, _ = on_terminal([popliner, report, "-q"], 100, NO_COLOR="1")
    check("--solve" in text and not re.search("--diagnose|page=", text), text)
    for question in cases.some((["--solve", "--num-ipus", "2", "--mem-per-tile", "660K"], TOO_FEW,
                                ["--solve", "--num-ipus", "3"], ["--solve"],
                                ["--solve", "--mem-per-tile", "300K"]), 2):
        text, _, _ = on_terminal([popliner, report, "-q", *question], 100, NO_COLOR="1")
        label = ""
        count = 0
        for line in text.splitlines():
            hint = re.match(r"(Try|Enough|or|Not with|Not enough)? +(--\S.*?)(?: {2,}(.*))?$", line)
            if not hint:
                continue
            label = label if hint[1] in (None, "or") else hint[1]
            numbers = re.search(r"([\d,]+) bytes", hint[3] or "")
            if hint[2].startswith("--mem-per-tile") or not numbers:
                continue
            words = hint[2].split()
            kept = [word for word, before in zip(question, ["", *question])
                    if not ("--num-ipus" in words and "--num-ipus" in (word, before))]
            answer = json.loads(in_pipe([popliner, report, *kept, *words, "--format", "json"]))
            what = (question, line)
            check(grouped(answer["totals"]["memory"]) == numbers[1], what, answer["totals"])
            check((answer["status"] == "infeasible") == label.startswith("Not"), what,
                  answer["status"])
            count += 1
        check(count > 0, question, text)


def check_fewer(popliner, report):
    """Where stages that choose what to recompute need fewer IPUs than the fewest, a line says
    so."""
    found = set()
    for limit in ("638976", "650000"):
        command = [popliner, report, "-q", "--solve", "--schedule", "popart", "-m", limit]
        own, auto = (json.loads(in_pipe([*command, *more, "--format", "json"]))["stages"]
                     for more in ([], ["--recompute", "auto"]))
        text, _, _ = on_terminal(command, 100, NO_COLOR="1")
        line = re.search(r"--recompute auto +(?:likely )?fits on (\d+) IPUs?: ([\d,]+) bytes", text)
        check((line is not None) == (len(auto) < len(own)), limit, text)
        if line:
            peak = max(stage["mem"]["max_tile_mem"] for stage in auto)
            check(line.groups() == (str(len(auto)), grouped(peak)), auto, text)
        found.add(line is None)
    check(found == {True, False}, found)


def check_large_layers(popliner, report):
    """A layer that is too large by its expected bytes may fit yet: the verdict is the stages'."""
    seen = set()
    for limit in (190000, 215000):
        command = [popliner, report, "-q", "--solve", "--num-ipus", "8", "--mem-per-tile",
                   str(limit)]
        answer = json.loads(in_pipe([*command, "--format", "json"]))
        text = " ".join(on_terminal(command, 100, NO_COLOR="1")[0].split())
        worst = max((verdict_of(stage, limit) for stage in answer["stages"]), key=VERDICTS.index)
        needs = re.match(r"(.*?) on any number of IPUs \(proven\): .* alone needs ([\d,]+) "
                         r"bytes on a tile, the limit ", text)
        what = (limit, worst, text)
        check(answer["infeasibility"]["reason"] == "layer" and needs, what)
        check(needs[1] == worst.capitalize(), what)
        check(needs[2] == grouped(answer["infeasibility"]["needs_bytes"]), what)
        seen.add(worst)
    check(seen == {"may not fit", "does not fit"}, seen)


# ---- the log -------------------------------------------------------------------------------------


def log_on_terminal(command, **changes):
    return terminals.run(command, environment(**changes), on=("stderr",))[0]["stderr"]


def check_order(popliner, report):
    """Where one terminal shows both, the answer follows warnings of it, each once."""
    together = ["sh", "-c", 'exec "$@" 2>&1', "sh", popliner, report]
    text, _, _ = on_terminal([*together, "--solve", "--num-ipus", "3"], 80, NO_COLOR="1")
    check(0 <= text.index("warning: ") < text.index("if nothing is kept for the backward"), text)
    check(text.count("warning: ") == 1, text)
    text, _, status = on_terminal([*together, "--solve", "-v"], 80, NO_COLOR="1")
    check(status == 0 and text.index("warning: ") < text.index("Bottleneck  stage"), text)
    text, _, _ = on_terminal(together, 80, NO_COLOR="1")
    check("Try         --solve --schedule popart " in text, text)


def check_log(popliner, report):
    """Words of the log have a colour, by the same rules as reports."""
    missing = [popliner, report + "-none"]
    trains = [popliner, report, "--solve", "--num-ipus", "3"]
    for command, word, colour in ((missing, "error:", "\x1b[1;31m"),
                                  (trains, "warning:", "\x1b[1;33m")):
        for options, changes, has_colour in (
                ([], {}, True), ([], {"NO_COLOR": "1"}, False), ([], {"NO_COLOR": ""}, True),
                ([], {"TERM": "dumb"}, False), (["--color", "never"], {}, False),
                (["--color", "always"], {"NO_COLOR": "1", "TERM": "dumb"}, True)):
            shown = log_on_terminal([*command, *options], **changes)
            check(word in shown, command, options, changes, repr(shown))
            check((colour + word in shown) == has_colour, command, options, changes, repr(shown))
            check(has_colour or "\x1b[1" not in shown, command, options, changes, repr(shown))
    shown = ESCAPES.sub("", log_on_terminal(missing))
    check(shown == f"error: {missing[1]}: no such file or directory\n", repr(shown))


def check_comparison(popliner, mkprofile, report, scratch):
    """The change of the fullest tile comes first, in the verdict and in the table."""
    other = os.path.join(scratch, "other")
    subprocess.run([mkprofile, *SMALL.replace("--hidden 64", "--hidden 52").split(), "--output",
                    other], check=True)
    command = [popliner, report, "-q", "--compare", other, "--fail-on", "growth=0%"]
    growth = json.loads(in_pipe([*command, "--format", "json"]))["growth"]
    before, now = grouped(growth["before"]), grouped(growth["now"])
    for width, locale in cases.within_budget(SCREENS):
        text, _, status = on_terminal(command, width, NO_COLOR="1", LC_ALL=locale)
        check(status == 1 and max(map(len, text.splitlines())) <= width, width, text)
        check(locale != "C" or text.isascii(), text)
        words = " ".join(text.split())
        check(words.startswith(f"Larger by {growth['percent']:.1f} %: the fullest tile has {now} "
                               f"live bytes, before {before}."), growth, text)
        row = next(line for line in text.splitlines() if re.match(r" *[\d,]+ +[-+\d]", line))
        check(f"{now} " in row and row.endswith("fullest tile, live"), growth, text)


def check_compared_plans(popliner, mkprofile, scratch):
    """Whether the model needs more IPUs is in the verdict."""
    small, large = (os.path.join(scratch, name) for name in ("small", "large"))
    for place, layers in ((small, "2"), (large, "4")):
        subprocess.run([mkprofile, "--quiet", "--framework", "popart", "--tiles", "4",
                        "--inference", "--layers", layers, "--output", place], check=True)
    counts = set()
    for limit in ("40K", "300K"):
        command = [popliner, large, "-q", "--compare", small, "--solve", "--mem-per-tile", limit]
        used = [len(json.loads(in_pipe([popliner, report, "-q", "--solve", "--mem-per-tile", limit,
                                        "--format", "json"]))["stages"])
                for report in (small, large)]
        text = " ".join(on_terminal(command, 80, NO_COLOR="1")[0].split())
        words = f", on {used[1]} IPUs instead of {used[0]}: the fullest tile of all stages needs"
        check((words in text) == (used[0] != used[1]), used, text)
        check("exchange code" in text and "Code" not in text, text)
        counts.add(used[0] != used[1])
    check(counts == {True, False}, counts)


def check_replicas(popliner, report):
    """The verdict and the marked row are those of the best candidate; rows are those of a pipe."""
    command = [popliner, report, "-q", "--total-ipus", "8", "--batch", "16", "--schedule", "popart"]
    answer = json.loads(in_pipe([*command, "--format", "json"]))
    best = answer["candidates"][answer["best"]]
    for width, locale in cases.within_budget(SCREENS):
        text, _, _ = on_terminal(command, width, NO_COLOR="1", LC_ALL=locale)
        ipus = best["num_ipus"]  # each on its own
        check(" ".join(text.split()).startswith(
            f"{best['replicas']} pipelines on {ipus} IPUs each: 16 micro-batches in "
            f"{best['step_cycles'] / 1e6:.2f} M cycles, which is the best."), best, text)
        check(locale != "C" or text.isascii(), text)
        check(sum(line.startswith(">") for line in text.partition("\n\n")[2].split("\n\n")[0]
                  .splitlines()) == 1, text)
    # a front has its throughput in all digits
    command = [popliner, report, "-q", "--total-ipus", "8", "--batch", "16", "--pareto",
               "throughput,memory"]
    text, _, _ = on_terminal(command, 120, NO_COLOR="1")
    points = list(csv.DictReader(in_pipe([*command, "--format", "tsv"]).splitlines(),
                                 delimiter="\t"))
    rows = text.partition("\n\n")[2].splitlines()[1:]
    check(all(f" {it['throughput']}  {grouped(int(it['memory']))} " in row
              for it, row in zip(points, rows)), points, text)
    # where nothing fits, each row has the lowest peak on that number of IPUs
    limit = ["--mem-per-tile", "100000", "--schedule", "popart"]
    text, _, _ = on_terminal([popliner, report, "-q", "--total-ipus", "4", "--batch", "4", *limit],
                             100, NO_COLOR="1")
    for ipus in range(1, 5):
        stages = json.loads(in_pipe([popliner, report, "-q", "--solve", "--num-ipus", str(ipus),
                                     *limit, "--format", "json"]))["stages"]
        peak = max(stage["mem"]["max_tile_mem"] for stage in stages)
        check(len(stages) == ipus and peak > 100000, stages)
        row = next(line for line in text.splitlines() if line.startswith(f"     {ipus}  "))
        check(row.split()[1] == grouped(peak) and row.split()[2] == str(round(peak / 1000)) and
              row.endswith("does not fit"), row, peak, text)


def check_compiled(popliner, mkprofile, report, scratch):
    """The stage that was missed most comes first, with the bytes and errors of JSON."""
    compiled = os.path.join(scratch, "compiled")
    subprocess.run([mkprofile, *SMALL.split(), "--pipeline", "0|1", "--output", compiled],
                   check=True)
    command = [popliner, report, "-q", "--schedule", "popart", "--evaluate", "0,1", "--compiled",
               compiled]
    stages = json.loads(in_pipe([*command, "--format", "json"]))["stages"]
    found = []
    for number, stage in enumerate(stages):
        own, told = (stage[side]["bytes"] for side in ("predicted", "compiled"))
        found.append((number, own, told, 100 * (own / told - 1)))
    found.sort(key=lambda row: -abs(row[3]))
    for width, locale in cases.within_budget(SCREENS):
        text, _, status = on_terminal(command, width, NO_COLOR="1", LC_ALL=locale)
        check(status == 0 and max(map(len, text.splitlines())) <= width, text)
        check(" ".join(text.split()).startswith(
            f"Predicted within {abs(found[0][3]):.1f} %. The fullest tile of stage {found[0][0]} "
            "was missed most."), found, text)
        rows = re.findall(r"^ +(\d) .*? ([\d,]{5,}) +([\d,]+) +([+-][\d.]+) %", text, re.MULTILINE)
        check(rows == [(str(number), grouped(own), grouped(told), f"{error:+.1f}")
                       for number, own, told, error in found], found, rows, text)
        check(locale != "C" or text.isascii(), text)


def check_together(popliner, report, other, scratch):
    """One split of two reports: each has the memory of its own evaluation."""
    folder = os.path.join(scratch, "both")
    os.mkdir(folder)
    for name, path in (("a", report), ("b", other)):
        os.symlink(path, os.path.join(folder, name))
    own = ["--schedule", "popart", "--mem-per-tile", "500000"]  # two stages
    command = [popliner, folder, "-q", "--report", "all", "--solve", *own]
    without, _, _ = on_terminal(command[:-4] + own[2:], 80, NO_COLOR="1")
    check("stages, if nothing is kept for the backward passes." in " ".join(without.split()),
          without)
    rows = [line.split("\t") for line in in_pipe([*command, "--format", "tsv"]).splitlines()]
    cuts = ",".join(row[3] for row in rows[1:-1])
    stages = [json.loads(in_pipe([popliner, path, "-q", "--evaluate", cuts, *own, "--format",
                                  "json"]))["stages"] for path in (report, other)]
    needs = [[stage["needs"]["expected_bytes"] for stage in each] for each in stages]
    verdicts = {stage["needs"]["verdict"] for each in stages for stage in each}
    verdict = "Fits" if verdicts == {"fits"} else "Likely fits"
    for width, locale in cases.within_budget(SCREENS):
        text, _, status = on_terminal(command, width, NO_COLOR="1", LC_ALL=locale)
        check(status == 0 and text.startswith(f"{verdict} in each of 2 reports: "
                                              f"{len(needs[0])} stages."), verdicts, text)
        lines = text.splitlines()[-len(needs[0]):]
        for line, row, *each in zip(lines, rows[1:], *needs):
            check_row(line, row, text)
            check(" ".join(map(grouped, each)) in " ".join(line.split()), each, text)


def main():
    popliner, mkprofile = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        subprocess.run([mkprofile, *REPORT.split(), "--output", report], check=True)
        small = os.path.join(scratch, "small_report")
        subprocess.run([mkprofile, *SMALL.split(), "--output", small], check=True)
        # what a stored analysis has is asked there, which is read in a fraction of the time
        stored = os.path.join(scratch, "stored")
        subprocess.run([popliner, "-q", report, "--save-to-file", stored], check=True)
        check_design(popliner, stored)
        check_numbers(popliner, stored)
        check_diagnoses(popliner, small)
        check_costs(popliner, scratch)
        check_needs(popliner, stored)
        check_overview(popliner, small)
        check_terminals(popliner, small)
        check_tables(popliner, small)
        check_splits(popliner, stored)
        check_rankings(popliner, small)
        check_hints(popliner, stored)
        check_fewer(popliner, stored)
        check_large_layers(popliner, stored)
        check_log(popliner, stored)
        check_order(popliner, stored)
        check_comparison(popliner, mkprofile, small, scratch)
        check_compared_plans(popliner, mkprofile, scratch)
        check_replicas(popliner, stored)
        check_compiled(popliner, mkprofile, small, scratch)
        check_together(popliner, small, os.path.join(scratch, "other"), scratch)


if __name__ == "__main__":
    main()
