# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines, and what a build gives for them."""

import base64
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib

TIMEOUT_SECONDS = 600
STORED = "stored.popliner"  # how runs call an analysis that they store


@dataclasses.dataclass(frozen=True)
class Case:
    """One or more command lines that run one after the other in the same directory."""

    group: str
    steps: tuple  # of tuples of arguments
    copies: tuple = ()  # inputs that the run gets a copy of, since it tries to overwrite them
    stdout: str = ""  # a file that standard output goes to instead

    def key(self):
        text = json.dumps([self.steps, self.copies, self.stdout])
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:12]

    def line(self):
        into = f" >{self.stdout}" if self.stdout else ""
        # a line end in a name would break the list
        return "; ".join(f"popliner {shlex.join(step)}{into}" for step in self.steps).replace(
            "\n", "\\n"
        )


LOG_REPLACEMENTS = [
    (re.compile(rb"^\d\d:\d\d:\d\d ", re.M), b""),
    (re.compile(rb": \d+\.\d\d s, peak memory \d+ MiB$", re.M), b": T s, peak memory M MiB"),
    (re.compile(rb"but there are \d+ MiB$", re.M), b"but there are M MiB"),
    # rates and times of a progress bar, which only a terminal gets
    (re.compile(rb"\d[\d.]*( [kMG])?/s, \d[\d:]* (s|min|h) left"), b"R/s, T left"),
    (re.compile(rb"\.\d+\.part\b"), b".PID.part"),
]


def plain_log(text, directory):
    text = text.replace(os.fsencode(str(directory)), b"RUN")
    for pattern, replacement in LOG_REPLACEMENTS:
        text = pattern.sub(replacement, text)
    return text


def execute(command, arguments, directory, stdout):
    """Runs one command line. Returns exit status, standard output, standard error."""
    with open(os.devnull, "rb") as nothing, open(stdout or os.devnull, "wb") as elsewhere:
        process = subprocess.Popen(
            [command, *arguments],
            cwd=directory,
            stdin=nothing,
            stdout=elsewhere if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C"},
        )
        try:
            out, log = process.communicate(timeout=TIMEOUT_SECONDS)
            return str(process.returncode), out or b"", log
        except subprocess.TimeoutExpired:
            process.kill()
            out, log = process.communicate()
            return f"none after {TIMEOUT_SECONDS} s", out or b"", log


def run(command, inputs, runs, case):
    """Runs a case in a new directory in `runs`. Returns the bytes of each part of what it gave."""
    parts = {}
    directory = pathlib.Path(tempfile.mkdtemp(dir=runs))
    try:
        (directory / "in").symlink_to(inputs)
        for name in case.copies:
            source = inputs / name
            target = directory / pathlib.Path(name).name
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
        for number, step in enumerate(case.steps, 1):
            status, out, log = execute(command, step, directory, case.stdout)
            parts[f"{number} status"] = status.encode()
            parts[f"{number} output"] = out
            parts[f"{number} log"] = plain_log(log, directory)
        for path in sorted(directory.rglob("*")):  # does not follow the link to the inputs
            if path.is_symlink() or not path.is_file():
                continue
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest().encode()
            if case.copies:
                parts[f"copied {path.name}"] = digest
            elif path.name == STORED:  # which is judged by what is loaded from it
                parts[f"stored {path.name}"] = digest
            else:
                # of a page its data, as a browser shows the rest of it: tests look at that
                data = re.search(rb'id="data">([^<]*)</script>', content)
                parts[f"file {path.name}"] = (
                    zlib.decompress(base64.b64decode(data[1])) if data else content
                )
    finally:
        shutil.rmtree(directory)
    return parts


def run_all(command, workdir, cases, jobs):
    """Yields each case with what it gave, in no order; shows progress."""
    done = 0
    with (
        tempfile.TemporaryDirectory(prefix="runs-", dir=workdir) as runs,
        concurrent.futures.ThreadPoolExecutor(jobs) as pool,
    ):
        running = {}
        waiting = iter(cases)
        while True:
            for case in itertools.islice(waiting, jobs - len(running)):
                running[pool.submit(run, command, workdir / "inputs", runs, case)] = case
            if not running:
                break
            finished, _ = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in finished:
                yield running.pop(future), future.result()
                done += 1
                if done * 10 // len(cases) > (done - 1) * 10 // len(cases):
                    print(f"{done} of {len(cases)} runs", file=sys.stderr, flush=True)


def keep(folder, parts, case):
    folder.mkdir(parents=True)
    for name, content in parts.items():
        (folder / name).write_bytes(content)
    (folder / "command").write_text(case.line() + "\n", errors="surrogateescape", encoding="utf-8")


def kept(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "command"}
