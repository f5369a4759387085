#!/usr/bin/env python3
"""Standard error, of many commands: a line for each warning and error, alike in a pipe and on a
terminal, which has colours; with -v the same and more.

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

LINE = re.compile(r"(warning|error): \S")
COLOUR = re.compile("^\x1b\\[1;3[13]m(error: |warning: )\x1b\\[0m")

OF_ANY = ["--solve --num-ipus 2", "--solve --num-ipus 4 --mem-per-tile 20000",
          "--solve --num-ipus 3 --objective cycles,memory", "--solve --require cut:nothing",
          "--solve --num-ipus 3 --schedule popart --mem-per-tile 100",
          "--solve --num-ipus 2 --device-map interleaved:2 --mem-per-tile 100",
          "--solve --format json --num-ipus 2", "--solve --output plan --format csv",
          "--output nothing", "--num-ipus four --solve"]
OF_PROFILE = ["--output layers", "--diagnose --fail-on unexplained=0%", "--evaluate whole",
              "--solve --layer-name-regex nothing(\\d+)", "--output liveness --format plot",
              "--solve --solver popliner --num-ipus 2",
              "--solve --recompute auto --schedule popart --num-ipus 2"]


def check(is_right, *what):
    if not is_right:
        sys.exit(" ".join(map(str, what)))


def check_pipe(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    check(done.returncode in (0, 1, 2, 3), command, done.stderr)
    log = done.stderr.decode().splitlines()
    check(all(map(LINE.match, log)), command, log)
    verbose = subprocess.run([*command, "-v"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             check=False).stderr.decode().splitlines()
    check(set(log) <= set(verbose), command, "without -v only:", set(log) - set(verbose))
    return log


def check_terminal(command, width, piped):
    """Standard error is a terminal, and so is standard output."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    printed, _ = terminals.run(command, {**environment, "LANG": "C.UTF-8", "TERM": "xterm"}, width,
                               ("stdout", "stderr"))
    log = [COLOUR.sub(r"\1", line.rsplit("\r", 1)[-1])  # progress was there
           for line in printed["stderr"].split("\n")[:-1]]
    check(log == piped, command, "on a terminal:", log, "in a pipe:", piped)


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
        check_terminal(command, (60, 80, 100, 140)[number % 4], check_pipe(command))


main()
