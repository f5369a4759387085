#!/usr/bin/env python3
"""The command prints what PopLiner 1.0.0 printed for the profiles in tests/golden, byte for byte;
where the original raised, the command works; its own solver is never worse than the original's.

    golden_test.py POPLINER

SPDX-License-Identifier: GPL-3.0-or-later
"""
import glob
import os
import re
import subprocess
import sys

import cases

#: How many comparisons the cases give: fewer means that files are missing or were not found.
LEAST, LEAST_QUICK = 1435, 150
TABLES = [(f"{kind}-breakdown{name}", [f"--{kind}-breakdown", *words])
          for kind in ("operation", "layer")
          for name, words in ((".tsv", ["--format", "tsv"]), (".csv", ["--format", "csv"]),
                              ("-two-groups.tsv", ["--layer-name-regex", "two-groups"]),
                              ("-every-op.tsv", ["--layer-name-regex", "every-op"]))]
TABLES += [
    ("layer-breakdown-natural.tsv", ["--layer-breakdown", "--layer-order", "natural"]),
    ("layer-breakdown-regex-steps.tsv", ["--layer-breakdown", "--layer-name-regex", "regex"]),
    ("layer-breakdown-regex-natural.tsv", ["--layer-breakdown", "--layer-name-regex", "regex",
                                           "--layer-order", "natural"]),
    ("memory-totals.tsv", ["--memory-totals", "--memory-model", "popliner"]),
    # the original raises at these two; the tables are what it means to print
    ("memory-affinity.tsv", ["--memory-affinity"]),
    ("interlayer-communication.tsv", ["--interlayer-communication"]),
]
command = os.path.abspath(sys.argv[1])
compared, different, better, found = 0, 0, 0, 0


def expect(is_right, *what):
    global compared, different
    compared += 1
    if not is_right:
        different += 1
        print("DIFFERS:", *what)


def same(own, expected, what):
    lines = zip(own.splitlines() + ["the end"], expected.splitlines() + ["the end"])
    expect(own == expected, what, next((pair for pair in lines if pair[0] != pair[1]), ""))


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8", newline="") as file:
        return file.read()


class Run:
    """A run of the command in the form of PopLiner 1.0.0; its log is as the golden files have it:
    without times, and without the share of operations in layers and popliner's own explanation of a
    regex."""

    def __init__(self, case, *options):
        if "--solve" in options:
            options = *options, "--output", "popliner"
        done = subprocess.run([command, f"{case}/profile.pop", f"{case}/debug.cbor", *options],
                              capture_output=True, check=False)
        self.status, self.out = done.returncode, done.stdout.decode()
        self.stderr = done.stderr.decode()
        log = re.sub(r"^[0-9:]{8} ([A-Z]+) +", r"\1: ", self.stderr, flags=re.MULTILINE)
        self.log = [line for line in log.splitlines() if not line.startswith(
            ("INFO: Layers found for ", "WARNING: The layer regex "))]
        #: the fullest tile of all stages
        self.largest = max(map(int, re.findall(r'^ *"max_tile_mem": (\d+),?$', self.out,
                                               re.MULTILINE)), default=None)

    def has(self, beginning):
        return any(line.startswith(beginning) for line in self.log)

    def has_error(self):
        return " ERROR " in self.stderr

    def is_whole_array(self):
        lines = self.out.splitlines()
        return lines == ["[]"] or (lines[:1], lines[-1:]) == (["["], ["]"])

    def is_proven(self, limit):
        return self.largest <= limit and self.has("INFO: SUCCESS: [ ") and \
            any("fits on " in line.lower() and " Proven: no " in line for line in self.log) and \
            self.has(f"INFO: Objectives: peak {self.largest:,} bytes per tile")


def check_raised(what, run):
    """Where the original raised, the table is complete."""
    expect(not run.has_error(), what, "log", run.stderr)
    lines = run.out.split("\n")
    if what.endswith("memory-totals.tsv"):
        # with fewer than ten tiles the original names ten, then raises behind the last value
        partial = text_of(what + ".partial").split("\n")
        tiles = len(lines[2].split("\t")) - 1
        expect(tiles < 10, what, "fewer than ten tiles")
        expect(len(lines) == 5, what, "four lines")
        row = "\t".join(partial[1].split("\t")[:tiles + 1])
        begin = f"{partial[0]}\n{row}\t\n{partial[2]}"
        same(run.out[:len(begin)], begin, what + ": what the original printed")
        expect(len(lines[3].split("\t")) == tiles + 1, what, "value of every tile, twice")
    else:
        # the original cannot measure "None" without operations: it has nothing
        expect("layer-breakdown-" in what, what, "no rule for this file")
        same(lines[1], "None" + 6 * "\t0", what + ": None")
        expect(sum(line != "" for line in lines) > 2, what, "layers")
        expect(run.out.endswith("\n\n"), what, "the empty line at the end")


def check_tables(case, regexes):
    for name, options in TABLES:
        what = f"{case}/{name}"
        run = Run(case, *(regexes.get(word, word) for word in options))
        expect(run.status == 0, what, run.status, run.stderr)
        if os.path.exists(what):
            same(run.out, text_of(what), what)
        else:
            expect(os.path.exists(what + ".failed.txt"), what, "missing")
            check_raised(what, run)


def check_greedy(case, options, what):
    """The original's search: the same stages and the same messages."""
    run = Run(case, *options, "--solver", "popliner")
    messages = text_of(what + ".txt").splitlines()[2:]
    if any(line.startswith("RAISED: ") for line in messages):
        # it raised in the middle: all until there is the same, and the command gets to the end
        messages = [line for line in messages if not line.startswith("RAISED: ")]
        expect(run.log[:len(messages)] == messages, what, "messages until it raised", run.log)
        expect(run.has("INFO: SUCCESS: ") or run.has("INFO: FAILURE: "), what, "an end")
        expect(run.is_whole_array(), what, "complete JSON")
    else:
        same(run.out, text_of(what + ".json"), what + ".json")
        expect(run.log == messages, what, "messages", run.log)
    expect(run.status == run.has("INFO: FAILURE: "), what, "greedy's status", run.status)
    return run


def check_ilp(case, options, what, limit, greedy):
    """The default solver in the original's memory model: proven, within the limit, at least as
    good."""
    global better, found
    run = Run(case, *options, "--memory-model", "popliner")
    expect(run.is_whole_array(), what, "ilp: complete JSON")
    if run.status == 0:
        expect(run.is_proven(limit) and run.has("INFO: SUCCESS: [ None "), what, "ilp", run.log)
        if greedy.status == 0:
            expect(run.largest <= greedy.largest, what, "ilp", run.largest, greedy.largest)
            better += run.largest < greedy.largest
        else:
            found += 1
    else:
        # its best effort covers all layers, so it is really the limit that no split keeps
        expect(run.status == 1 and run.has("INFO: FAILURE: ") and run.largest > limit,
               what, "ilp", run.status, run.log)
        expect(greedy.status != 0, what, "ilp: greedy fits but this does not")


def check_full(case, options, what, limit):
    """The default solver in the default memory model: proven and within the limit, or neither."""
    run = Run(case, *options, "--mem-per-tile", str(limit))
    expect(run.is_whole_array() and not run.has_error(), what, "full", run.stderr)
    if run.status == 0:
        expect(run.is_proven(limit), what, "full", run.log)
    else:
        expect(run.status == 1 and run.has("INFO: FAILURE: ") and run.largest > limit,
               what, "full", run.status, run.log)
    return run


def check_no_layers(case, options, what):
    """Where no layer was found, the default solver does not call it a split, in either memory
    model; the original did, with everything in one stage."""
    for model in ("popliner", "full"):
        run = Run(case, *options, "--memory-model", model)
        expect((run.status, run.out) == (1, ""), what, model, run.status)
        expect(re.search(" ERROR +No layer was found", run.stderr), what, model, run.stderr)
        expect("The first operations are " in run.stderr, what, model, run.stderr)


def check_limits(case):
    """What is the smallest possible fits, and one byte less does not."""
    for ipus in ("1", "3"):
        what, options = f"{case}/full-N{ipus}", ["--solve", "--num-ipus", ipus]
        smallest = check_full(case, options, what, 99999999)
        again = check_full(case, options, what, smallest.largest)
        less = check_full(case, options, what, smallest.largest - 1)
        expect((smallest.status, again.status, less.status) == (0, 0, 1), what, "statuses")
        expect(again.largest == smallest.largest, what, "the smallest")


def check_case(case):
    regexes = dict(line.split("\t") for line in text_of(case, "regex.txt").splitlines())
    check_tables(case, regexes)
    for path in sorted(glob.glob(f"{case}/solve-*.txt")):
        what = path.removesuffix(".txt")
        options = re.search("^options: (.*)", text_of(path), re.MULTILINE)[1].split()
        greedy = check_greedy(case, options, what)
        if "/solve-no-layers-" in what:
            check_no_layers(case, options, what)
            continue
        limit = int(options[options.index("--mem-per-tile") + 1])
        check_ilp(case, options, what, limit, greedy)
        check_full(case, options, what, limit)
    check_limits(case)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden"))
    is_whole = cases.takes_all()
    for case in cases.within_budget(sorted(glob.glob("*/")) if is_whole else
                                    ("popart-inf/", "tensorflow-train/")):
        check_case(case.rstrip("/"))
    print(f"{compared} comparisons, {different} different; ilp is better than greedy in {better} "
          f"cases and finds a split in {found} where greedy has none")
    return different > 0 or compared < (LEAST if is_whole else LEAST_QUICK)


if __name__ == "__main__":
    sys.exit(main())
