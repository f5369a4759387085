#!/usr/bin/env python3
"""Every line of the log, of many commands: at most 100 columns, or as many as the terminal has; the
time and the level in a pipe, the level alone on a terminal, and names that -v has whole.

    log_lines_test.py POPLINER SAMPLE GOLDEN COSTS REAL

REAL, a profile of Poplar, may not be there.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import os
import re
import subprocess
import sys

import cases
import terminals

IN_PIPE = re.compile(r"\d\d:\d\d:\d\d (DEBUG  |INFO   |WARNING|ERROR  ) \S|" + 17 * " " + r"\S")
ON_TERMINAL = re.compile(r"(warning|error|debug): +\S| {7,9}\S")
COLOUR = re.compile("^\x1b\\[1;3[13]m(error: |warning: )\x1b\\[0m")
# that PopLiner 1.0.0 has in one line, and a setting to paste, alone on its line
WHOLE = re.compile(r"\d\d:\d\d:\d\d INFO    SUCCESS: \[ |\s*[A-Z_]+='[^']*'$")

OF_ANY = ["--solve --num-ipus 2", "--solve --num-ipus 4 --mem-per-tile 20000",
          "--solve --num-ipus 3 --objective cycles,memory", "--solve --require cut:nothing",
          "--solve --num-ipus 3 --schedule popart --mem-per-tile 100",
          "--solve --num-ipus 2 --device-map interleaved:2 --mem-per-tile 100",
          "--solve --format json --num-ipus 2", "--solve --output plan --format csv",
          "--output nothing", "--num-ipus four --solve"]
OF_PROFILE = ["--layer-breakdown", "--diagnose --fail-on unexplained=0%", "--evaluate whole",
              "--solve --layer-name-regex nothing(\\d+)", "--output liveness --format plot",
              "--solve --solver popliner --num-ipus 2", "--memory-totals --ipu 7",
              "--solve --recompute auto --schedule popart --num-ipus 2"]


def check(is_right, *what):
    if not is_right:
        sys.exit(" ".join(map(str, what)))


def check_pipe(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    log = done.stderr.decode()
    check(done.returncode in (0, 1, 2, 3), command, log)
    for line in log.splitlines():
        check(IN_PIPE.match(line), command, "has this line:", line)
        check(len(line) <= 100 or WHOLE.match(line), len(line), "columns:", command, line)
    verbose = subprocess.run([*command, "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             check=False).stderr.decode()
    whole = cases.joined(verbose)
    for message in cases.joined(log).splitlines():
        words = [re.escape(part) for part in message[9:].split("...")]
        check(re.search(r"\S*".join(words), whole), command, "without -v only:", message)


def check_terminal(command, width):
    """Standard error is a terminal, and so is standard output."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    printed, _ = terminals.run(command, {**environment, "LANG": "C.UTF-8", "TERM": "xterm"}, width,
                               ("stdout", "stderr"))
    for line in printed["stderr"].split("\n")[:-1]:
        line = COLOUR.sub(r"\1", line.rsplit("\r", 1)[-1])  # progress was there
        check(ON_TERMINAL.match(line), command, "has this line:", line)
        check(len(line) <= min(width, 100) or WHOLE.match(line), len(line), "columns:", command, line)


def main():
    popliner, sample, golden, costs, real = sys.argv[1:]
    profiles = [sample, *(entry.path for entry in sorted(os.scandir(golden), key=lambda e: e.name)
                          if entry.is_dir())]
    profiles += [real] if os.path.exists(real) else []
    files = [os.path.join(costs, name) for name in sorted(os.listdir(costs))]
    commands = [[popliner, path, *options.split()]
                for path, options in [*itertools.product(profiles, OF_ANY + OF_PROFILE),
                                      *itertools.product(files, OF_ANY)]]
    for number, command in enumerate(cases.some(commands, 3)):
        check_pipe(command)
        check_terminal(command, (60, 80, 100, 140)[number % 4])


main()
