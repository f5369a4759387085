#!/usr/bin/env python3
"""What a run reads is never written, whatever it is called: every option that reads a file against
every one that writes one. Nothing is printed or written by a run that cannot be done. Reports that
cannot be examined are named.

    run_files_test.py POPLINER SAMPLE

The options are those of --help: one whose value has a name that is not listed here fails the test,
and so does one that takes a file and is in no table below. A quick run calls each file in one way,
by turns.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

import cases
import manual_test

# how --help calls values that are no files of the run
OTHER_VALUES = {
    "CUTS", "NAME", "NAME,...|all", "N", "REGEX", "steps|natural", "N|A..B", "[I=]BYTES,...",
    "NAME,...", "PERCENT", "A,B,...", "RULE", "MAP", "[I=]FACTOR,...", "[WHERE=]BYTES,...",
    "NAME[:COPIES]", "HOW", "N[/SIZE]", "at-most|expected|at-least", "[I=]BYTES|N%|gaps",
    "full|popliner", "FORMAT", "[only:]A..B|all", "RULE,...", "auto|always|never", "TIME", "BYTES",
    "[TOPIC]", None}

REPORT = ("profile.pop", "debug.cbor")

# by option: the words for a folder, and the files in it that a run with these words reads
READING = {
    "": (["{}"], REPORT),
    "profile": (["{}/profile.pop", "{}/other.cbor"],
                ("profile.pop", "other.cbor")),
    "debug above": (["{}/a"], ("debug.cbor", "a/profile.pop")),
    "load-from-file": (["{}/stored", "--load-from-file"], ("stored",)),
    "report": (["{}", "--report", "a"], ("a/profile.pop", "a/debug.cbor")),
    "report all": (["{}", "--report", "all"], ("a/profile.pop", "b/debug.cbor")),
    "costs": (["{}/costs.csv"], ("costs.csv",)),
    "standard input": (["-"], ("costs.csv",)),
    "file of arguments": (["SAMPLE", "@{}/options"], ("options",)),
    "compiled": (["SAMPLE", "--compiled", "{}"], REPORT),
    "compiled all": (["SAMPLE", "--compiled", "{}"], ("a/profile.pop", "b/debug.cbor")),
    "compare": (["SAMPLE", "--compare", "{}"], REPORT),
    "compare stored": (["SAMPLE", "--compare", "{}/stored"], ("stored",)),
}
WRITING = {
    "save-to-file": ["--save-to-file", "{}"], "output": ["--output", "tiles={}"],
    **{f"output {name}": ["--output", name + "={}"] for name in (
        "plan", "pipeline", "answer", "popliner", "page", "trace", "lp", "mps", "analysis",
        "layer-breakdown")},
}
OF_SPLITS = {f"output {name}" for name in ("plan", "pipeline", "answer", "popliner", "lp", "mps")}
SPELLINGS = ("same", "other", "symbolic", "hard")


def check(is_right, what):
    if not is_right:
        sys.exit(str(what)[:3000])


def check_options(popliner):
    files = set()
    for name, _, value, _ in manual_test.options_of(popliner):
        if value is not None and ("FILE" in value or value in ("DIR", "OLD")):
            files.add(name)
        else:
            check(value in OTHER_VALUES, f"--{name} {value}: is it a file? Say so in this test")
    known = {name.split()[0] for name in (*READING, *WRITING) if name and " " not in name}
    check(files - known == set(), f"in no table of this test: {files - known}")
    check(files >= {name for name in WRITING if " " not in name}, files)


def fill(sample, folder, files):
    """Makes the files of a folder."""
    for name in files:
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kind = os.path.basename(name)
        if kind == "profile.pop" or kind.endswith(".cbor"):
            shutil.copy(os.path.join(sample, kind if kind != "other.cbor" else "debug.cbor"), path)
        else:
            with open(path, "w", encoding="ascii") as file:
                file.write({"costs.csv": "name,memory\na,1\nb,2\n",
                            "options": "--quiet"}.get(kind, "{}"))
    for extra in ("a/profile.pop", "b/profile.pop"):
        path = os.path.join(folder, extra)
        if os.path.isdir(os.path.dirname(path)) and not os.path.exists(path):
            shutil.copy(os.path.join(sample, "profile.pop"), path)


def state(folder):
    """Every file by its name, with a hash of it."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[path] = (os.readlink(path) if os.path.islink(path) else "",
                               hashlib.sha256(file.read()).hexdigest())
    return found


def spell(way, path, links):
    """The same file by another name."""
    if way == "same":
        return path
    if way == "other":
        folder, name = os.path.split(path)
        return os.path.join(folder, ".", "..", os.path.basename(folder), name)
    link = os.path.join(links, "x" + way)
    if os.path.lexists(link):
        os.remove(link)
    (os.symlink if way == "symbolic" else os.link)(path, link)
    return link


class Runs:
    def __init__(self, popliner, sample, place):
        self.popliner, self.sample, self.place = popliner, sample, place
        self.counts = collections.Counter()

    def words(self, reading, folder, writing, path):
        words = [word.format(folder) if word != "SAMPLE" else self.sample
                 for word in READING[reading][0]]
        if reading == "evaluate":
            pass
        elif writing in OF_SPLITS or reading.startswith(("report", "costs", "standard")):
            words += ["--solve"]
        elif reading.startswith(("calibra", "compiled")):
            words += ["--evaluate", "whole"]
        elif not reading.startswith("compare"):
            words += ["--memory-totals"]
        return words + [word.format(path) for word in WRITING[writing]]

    def run(self, reading, folder, writing, path):
        stdin = os.path.join(folder, "costs.csv") if reading == "standard input" else os.devnull
        with open(stdin, "rb") as file:
            return subprocess.run([self.popliner, "-q",
                                   *self.words(reading, folder, writing, path)], stdin=file,
                                  capture_output=True, timeout=60, check=False)

    def try_pair(self, reading, writing, file, way):
        folder = tempfile.mkdtemp(dir=self.place)
        read, links = os.path.join(folder, "read"), os.path.join(folder, "links")
        os.makedirs(links)
        fill(self.sample, read, READING[reading][1])
        path = spell(way, os.path.join(read, file), links)
        before = state(folder)
        done = self.run(reading, read, writing, path)
        told = done.stderr.decode()
        what = (reading, writing, file, way, done.returncode, told)
        check(done.returncode == 2, what)
        check(not done.stdout, what)
        check(before == state(folder), what)
        self.counts["refused" if "would overwrite" in told else (reading, writing)] += 1
        shutil.rmtree(folder)


def try_all(runs):
    """Each pair of a reading and a writing option, with each file and, by turns, each spelling."""
    turn = itertools.cycle(SPELLINGS)
    for reading, writing in cases.some(itertools.product(READING, WRITING), 2, 2):
        if reading == "load-from-file" and writing in ("save-to-file", "output analysis"):
            continue  # what is loaded may be stored again: see files_that_are_not_there_yet
        for file in READING[reading][1]:
            for way in SPELLINGS if cases.is_nightly() else [next(turn)]:
                runs.try_pair(reading, writing, file, way)
        next(turn)
    return runs.counts


# what does not go together, whatever the files are called
REFUSED_ANYWAY = {
    *itertools.product(("costs", "standard input"), set(WRITING) - OF_SPLITS | {"output popliner"}),
    # it is no .csv
    *itertools.product(("costs", "standard input"), ("output answer",)),
    *itertools.product(("evaluate",), ("output lp", "output mps")),
    *itertools.product(("report all",), set(WRITING) - {"output answer"}),
    *itertools.product(("compiled", "compiled all"), ("output trace", "output page",
                                                        *OF_SPLITS)),
    *itertools.product(("compare", "compare stored"), OF_SPLITS - {"output answer"}),
    *itertools.product(READING, ("output layer-breakdown",)),  # it is no .json
    *itertools.product(("load-from-file",), ("output page", "output trace")),
}


def files_that_are_not_there_yet(popliner, sample, place):
    """Beside what is read anything may be written, but for "-", which is no file."""
    report = os.path.join(place, "new")
    os.makedirs(report)
    shutil.copy(os.path.join(sample, "profile.pop"), report)
    done = subprocess.run([popliner, "-q", report, "--output", f"tiles={report}/tiles.csv"],
                          capture_output=True, check=False)
    check(done.returncode == 0 and os.path.exists(f"{report}/tiles.csv"), done)
    for words in WRITING.values():
        done = subprocess.run([popliner, os.path.join(os.path.abspath(sample), "profile.pop"),
                               "--solve", *(word.format("-") for word in words)], cwd=report,
                              capture_output=True, check=False)
        check(done.returncode == 2 and b"-: is not standard output; " in done.stderr
              and not done.stdout and "-" not in os.listdir(report), done)
    stored = os.path.join(place, "again")
    for words in (["--save-to-file", stored], ["--load-from-file", "--save-to-file", stored]):
        done = subprocess.run([popliner, "-q", stored if "--load-from-file" in words else report,
                               *words], capture_output=True, check=False)
        check(done.returncode == 0, done)


def nothing_before_what_can_be_checked(popliner, sample, place):
    new = os.path.join(place, "written")
    empty = os.path.join(place, "empty")
    os.makedirs(empty)
    for status, part, words in (
            (2, "--require cut:Tail", ["--layer-breakdown", "--solve", "--require", "cut:Tail"]),
            (2, "--require cut:Tail",
             ["--output", f"tiles={new}", "--solve", "--require", "cut:Tail"]),
            (2, "no layer x", ["--memory-totals", "--evaluate", "x"]),
            (2, "--layers x", ["--layer-breakdown", "--diagnose", "--layers", "x..x"]),
            (2, "--layers x", ["--save-to-file", new, "--diagnose", "--layers", "x..x"]),
            (2, "--require no-cut:x", ["--compare", sample, "--output", f"tiles={new}", "--solve",
                                 "--require", "no-cut:x"]),
            (2, "--schedule none:x", ["--layer-breakdown", "--solve", "--schedule", "none:x"]),
            (2, "has 1 stage", ["--layer-breakdown", "--evaluate", "whole", "--device-map",
                                "0,1"]),
            (3, "--compiled", ["--layer-breakdown", "--evaluate", "whole", "--compiled", empty]),
            (3, "no such file", ["--output", f"tiles={new}", "--compare", f"{place}/nothing"]),
            (3, "no profile.pop here", ["--output", f"trace={new}", "--compare", empty])):
        done = subprocess.run([popliner, "-q", sample, *words], capture_output=True, check=False)
        check(done.returncode == status and not done.stdout and part in done.stderr.decode()
              and not os.path.exists(new), (words, done))


def reports_that_cannot_be_examined(popliner, sample, place):
    def directory(root):
        os.makedirs(os.path.join(root, "odd", "profile.pop"))

    def link(root):
        os.makedirs(os.path.join(root, "odd"))
        os.symlink("nowhere", os.path.join(root, "odd", "profile.pop"))

    def entry(root):
        os.symlink("nowhere", os.path.join(root, "odd"))

    def loop(root):
        os.symlink("odd", os.path.join(root, "odd"))

    def closed(root):
        os.makedirs(os.path.join(root, "odd"), mode=0o000)
    is_root = os.geteuid() == 0
    for make in (directory, link, entry, loop, closed):
        root = os.path.join(place, make.__name__)
        for name in ("a", "b"):
            shutil.copytree(sample, os.path.join(root, name))
        os.makedirs(os.path.join(root, "no report"))
        with open(os.path.join(root, "file"), "w", encoding="ascii"):
            pass
        whole = subprocess.run([popliner, "-q", root, "--report", "all", "--solve"],
                               capture_output=True, check=False)
        make(root)
        who = {}
        if make is closed and is_root:
            who = {"user": 65534, "group": 65534, "extra_groups": []}
            for path, _, _ in os.walk(root):
                os.chmod(path, 0o755 if not path.endswith("odd") else 0o000)
            os.chmod(place, 0o755)
            try:
                subprocess.run([popliner, "--version"], **who, capture_output=True, check=True)
                subprocess.run(["ls", root], **who, capture_output=True, check=True)
            except (OSError, subprocess.CalledProcessError):
                print("Left out: a folder of mode 000, which does not bar root; another user may "
                      "not start the command here")
                continue
        done = subprocess.run([popliner, "-q", root, "--report", "all", "--solve"],
                              capture_output=True, check=False, **who)
        check(whole.returncode in (0, 1) and done.returncode == 3 and not done.stdout and
              any(f"odd{said}" in done.stderr.decode()
                  for said in (": cannot be read", "/profile.pop: cannot be read",
                               ": no such file")),
              (make.__name__, done))
        done = subprocess.run([popliner, "-q", root, "--report", "a", "--report", "b", "--solve"],
                              capture_output=True, check=False, **who)
        check((done.returncode, done.stdout) == (whole.returncode, whole.stdout), done)
        done = subprocess.run([popliner, "-q", root, "--solve"], capture_output=True, check=False,
                              **who)
        check("found a/ and b/; pass one of them" in done.stderr.decode(), done)


def main(popliner, sample):
    check_options(popliner)
    with tempfile.TemporaryDirectory() as place:
        reports_that_cannot_be_examined(popliner, sample, place)
        files_that_are_not_there_yet(popliner, sample, place)
        nothing_before_what_can_be_checked(popliner, sample, place)
        counts = try_all(Runs(popliner, sample, place))
    refused = counts.pop("refused")
    check(set(counts) <= REFUSED_ANYWAY, set(counts) - REFUSED_ANYWAY)
    print(f"{refused} runs that would overwrite what they read are refused, "
          f"{sum(counts.values())} more for another reason")


if __name__ == "__main__":
    main(*sys.argv[1:])
