#!/usr/bin/env python3
"""What a run prints and writes holds no path, unless --paths asks for it, and no word of
framework.json and app.json.

    privacy_test.py POPLINER SAMPLE

Looks for a word in the folder of a report, and for tokens beside it, in all that is made: every
section, every option that writes (of the list in run_files_test), comparisons in every format.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

import run_files_test

FOLDER = b"home-of-somebody"
TOKENS = (b"token-of-app", b"token-of-framework", b"name-of-token")
SECTIONS = ("summary,tiles,categories,liveness,variables,operations,programs,layers,pairs,"
            "execution,checks,vertices,exchanges,advice,diagnosis,missing").split(",")


def check(is_right, what):
    if not is_right:
        sys.exit(str(what)[:3000])


def inflated(text):
    """A text with what is compressed in it, if it is a page."""
    data = re.search(rb'<script type="text/plain" id="data">([^<]*)<', text)
    return text if data is None else text + zlib.decompress(base64.b64decode(data.group(1)))


class Made:
    """All that runs print and write, by a name for each."""

    def __init__(self, command, place, *common):
        self.command, self.place, self.common, self.texts = command, place, common, {}

    def run(self, name, *words):
        done = subprocess.run([self.command, "-q", *words, *self.common], capture_output=True,
                              check=False, cwd=self.place)
        check(done.returncode in (0, 1) and not done.stderr.count(b"error: "), (words, done))
        self.texts[name] = done.stdout

    def write(self, name, words, *others):
        path = os.path.join(self.place, name)
        self.run(f"{name} printed", *others, *(word.format(path) for word in words))
        with open(path, "rb") as file:
            self.texts[name] = inflated(file.read())
        return path

    def holding(self, word):
        return {name for name, text in self.texts.items() if word in text}


def make_all(command, report, other, place, *common):
    os.makedirs(place)
    made = Made(command, place, *common)
    for section in SECTIONS:
        made.run(section, report, "--output", section, "--format", "json")
    for option, words in run_files_test.WRITING.items():
        if words:
            form = [] if option == "output layer-breakdown" else ["--format", "json"]
            made.write(option, words, report, "--solve", "--num-ipus", "2", *form)
    made.run("totals", report, "--memory-totals")
    made.run("diagnosis", report, "--diagnose", "--format", "json")
    made.run("compiled", report, "--evaluate", "whole", "--compiled", other, "--format", "json")
    for form in (["--format", "json"], ["--format", "csv"], ["--format", "tsv"], []):
        made.run(f"comparison {form}", report, "--compare", other, *form)
    stored = os.path.join(place, "save-to-file")
    made.run("loaded summary", stored, "--load-from-file", "--output", "summary")
    made.run("together", os.path.dirname(report), "--report", "all", "--solve", "--format", "json")
    return made


def main(command, sample):
    command, sample = os.path.abspath(command), os.path.abspath(sample)
    with tempfile.TemporaryDirectory() as root:
        reports = [os.path.join(root, FOLDER.decode(), name) for name in ("now", "before")]
        for report in reports:
            shutil.copytree(sample, report)
        with open(os.path.join(reports[0], "app.json"), "wb") as file:
            file.write(b'{"key": "%s", "%s": {"x": 1}}' % (TOKENS[0], TOKENS[2]))
        with open(os.path.join(reports[0], "framework.json"), "wb") as file:
            file.write(b'["%s"]' % TOKENS[1])
        plain = make_all(command, *reports, os.path.join(root, "plain"))
        check(not plain.holding(FOLDER), plain.holding(FOLDER))
        for word in TOKENS:
            check(not plain.holding(word), (word, plain.holding(word)))
        told = Made(command, os.path.join(root, "plain"), "--paths")
        told.write("told.html", ["--output", "page={}"], reports[0])
        told.run("told", reports[0], "--compare", reports[1], "--format", "json")
        check(told.holding(FOLDER) == {"told.html", "told"}, told.holding(FOLDER))
    print(f"{len(plain.texts)} outputs hold no path, and nothing of the files beside a profile")


if __name__ == "__main__":
    main(*sys.argv[1:])
