#!/usr/bin/env python3
"""Reports on a terminal, against the JSON of the same questions, and against screens of the design.

    screen_test.py POPLINER MKPROFILE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

import cases

# That of docs/guide.md: its answers are known from several places.
REPORT = ("--framework poptorch --training --accumulate --layers 8 --tiles 16 --hidden 128 "
          "--sequence 32 --vocabulary 512 --quiet")
SOLVE = ["--solve", "--num-ipus", "4", "--schedule", "popart"]
EVALUATE = ["--evaluate", "1|3|5", "--schedule", "popart"]
TOO_FEW = ["--solve", "--num-ipus", "2", "--schedule", "popart"]
CONTRADICTION = SOLVE + ["--require", "together:0,3", "--require", "cut:1"]
QUESTIONS = [SOLVE, TOO_FEW, EVALUATE, CONTRADICTION, ["--solve", "--num-ipus", "3"],
             ["--diagnose"], SOLVE + ["--mem-per-tile", "200K"],
             ["--solve", "--schedule", "popart", "--device-map", "0,1,0,1"],
             SOLVE + ["--memory-model", "popliner"], ["--evaluate", "whole"],
             SOLVE + ["--recompute", "auto"]]
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
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE,
                          env=environment(**changes)) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                read = os.read(ours, 65536)
            except OSError:  # the other side was closed
                break
            if not read:
                break
            shown += read
        log = process.stderr.read().decode()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n"), log, process.returncode


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
    words = f"{worst.capitalize()} on {len(needs)} IPUs. " + ("Proven: no split" if fits
                                                              else "Proven: every split needs")
    check(" ".join(text.split()).startswith(words), what, words, text)
    if not fits:
        check(f"{grouped(max(needs))} bytes or more" in " ".join(text.split()), what, text)
    most = answer["stages"][needs.index(max(needs))]
    peak = most["peak"]
    check(f"Bottleneck  stage {needs.index(max(needs))}, tile {peak['tile']}, step {peak['step']}"
          in text, what, text)
    for bound in ("at_least", "expected", "at_most"):
        check(grouped(most["needs"][bound + "_bytes"]) in text, what, text)


def check_evaluation(text, stages, what):
    rows = table_rows(text)
    check(len(rows) == len(stages), what, text)
    for row, stage in zip(rows, stages):
        check(f" {grouped(stage['needs']['expected_bytes'])} " in row, what, row)
        check(stage["needs"]["verdict"] in row, what, row)
    tight = max(stages, key=lambda stage: stage["tile_bytes"])
    check(rows[stages.index(tight)][0] == ">", what, text)
    check(f"{grouped(tight['tile_bytes'])} of " in " ".join(text.split()), what, text)


def check_diagnosis(text, found, what):
    here = found["bottleneck"]
    words = " ".join(text.split())
    share = 100 * here["explained_bytes"] / here["truth_bytes"]
    check(words.startswith(f"To be trusted: {share:.2f} % of the fullest tile"), what, text)
    check(f"compiler {grouped(here['truth_bytes'])}, explained {grouped(here['explained_bytes'])}, "
          f"missing {grouped(here['unexplained_bytes'])} bytes" in words, what, text)
    sizes = {}
    for variable in here["missing_variables"]:
        sizes[variable["category"]] = sizes.get(variable["category"], 0) + variable["size_bytes"]
    largest = sorted(sizes.values(), reverse=True)
    shown = [int(number.replace(",", "")) for number in
             re.findall(r"^(?:Missing| {7}) +([\d,]+)  \w", text, re.M)]
    check(shown == largest[:4] + [sum(largest[4:])], what, text, largest)


# ---- screens of the design, but for blanks -------------------------------------------------------

DESIGN = {
    tuple(SOLVE): """
Fits on 4 IPUs. Proven: no split over 4 IPUs has a smaller largest tile.
stage IPU layers largest tile, limit 638,976 bytes cycles to next
0 0 Head to 0 355,988 56 % █████████████▎ │ 5.69 M 16 KiB
1 1 1 to 2 481,873 75 % ██████████████████ │ 10.16 M 16 KiB
2 2 3 to 4 429,614 67 % ████████████████▏ │ 10.07 M 16 KiB
> 3 3 5 to 7 515,004 81 % ███████████████████▎ │ 15.56 M
Bottleneck stage 3, tile 5, step 1628: bert/encoder/7/output/dense/MatMul
at least 452,564, expected 515,004, at most 563,089 bytes
Try --num-ipus 3 likely fits: 595,691 bytes (93 %)
--output optimum the plan for Optimum (--help frameworks: others)
""",
    tuple(TOO_FEW): """
Does not fit on 2 IPUs. Proven: every split needs 752,970 bytes or more on some tile.
stage IPU layers largest tile, limit 638,976 bytes cycles to next
> 0 0 Head to 3 752,970 118 % ████████████████████│▓▓▓▓ 20.90 M 16 KiB
1 1 4 to 7 639,747 101 % ████████████████████│▓ 20.59 M
Bottleneck stage 0, tile 6, step 3422: bert/encoder/2/output/dense/MatMul
--mem-per-tile 752970 if there were such tiles
Not enough --recompute auto 639,747 bytes, 0.1 % too much
""",
    tuple(CONTRADICTION): """
No split is possible: two constraints contradict each other.
--require together:0,3 layers 0 to 3 on one IPU
--require cut:1 a cut between layers 1 and 2
Not enough without --require cut:1 752,970 bytes, 18 % too much
""",
    tuple(EVALUATE): """
Fits. The tightest is stage 0, with 560,561 of 638,976 bytes.
stage IPU layers at least expected at most of 638,976 bytes verdict
Try --solve the best split of 4 stages: 515,004 bytes
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
    for question in cases.some(QUESTIONS, 3):
        command = [popliner, report, "-q", *question]
        for width in cases.some((80, 40, 60, 100, 200), 2):
            text, _, status = on_terminal(command, width, NO_COLOR="1")
            coloured, _, _ = on_terminal(command, width)
            plain, _, _ = on_terminal(command, width, LC_ALL="C", NO_COLOR="1")
            dumb, _, _ = on_terminal(command, width, TERM="dumb")
            what = (width, question, text)
            check(max(map(len, text.splitlines()), default=101) <= min(max(width, 60), 100), what)
            check("\x1b" not in text + plain + dumb, what)
            check(plain.isascii() and plain == dumb, what, plain, dumb)
            check(coloured.startswith("\x1b[1"), what)
            check(ESCAPES.sub("", coloured) == text, what, coloured)
            check(not any(line.endswith(" ") for line in text.splitlines()), what)
            check(status == subprocess.run(command, stdout=subprocess.DEVNULL, env=environment(),
                                           stderr=subprocess.DEVNULL, check=False).returncode, what)


def check_numbers(popliner, report):
    # the second may fit: only the least that it needs is within its limit
    for ipus, limit in ((2, 638976), (2, 740000), (3, 638976), (4, 638976), (5, 638976),
                        (8, 638976)):
        question = ["--solve", "--num-ipus", str(ipus), "--schedule", "popart", "--mem-per-tile",
                    str(limit)]
        answer = json.loads(in_pipe([popliner, report, *question, "--format", "json"]))
        for width, locale in ((100, "C.UTF-8"), (80, "C"), (60, "C.UTF-8")):
            text, _, _ = on_terminal([popliner, report, "-q", *question], width, NO_COLOR="1",
                                     LC_ALL=locale)
            check_solve(text, answer, limit, locale == "C", (width, question))
    for cuts in ("1|3|5", "3", "0|1|2", "4|6"):
        question = ["--evaluate", cuts, "--schedule", "popart"]
        stages = json.loads(in_pipe([popliner, report, *question, "--format", "json"]))
        for width in (60, 80, 100):
            text, _, _ = on_terminal([popliner, report, "-q", *question], width, NO_COLOR="1")
            check_evaluation(text, stages, (width, question))
    found = json.loads(in_pipe([popliner, report, "--diagnose", "--format", "json"]))
    text, _, _ = on_terminal([popliner, report, "-q", "--diagnose"], 100, NO_COLOR="1")
    check_diagnosis(text, found, "--diagnose")


def main():
    popliner, mkprofile = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        subprocess.run([mkprofile, *REPORT.split(), "--output", report], check=True)
        check_design(popliner, report)
        # the rest asks a stored analysis, which is read in a fraction of the time
        stored = os.path.join(scratch, "stored")
        subprocess.run([popliner, "-q", report, "--save-to-file", stored], check=True)
        check_numbers(popliner, stored)
        check_terminals(popliner, stored)


if __name__ == "__main__":
    main()
