#!/usr/bin/env python3
"""Every allocation and every system call of the command fails: each run ends as it would have, or
says in one sentence what was missing, and leaves no half file.

    faults.py [--cases full | --all] [--points A-B] [--uses NAME,...] [--kinds memory,calls] [-j N]
              LIBRARY POPLINER SAMPLE

LIBRARY is built of faults.c, whose head says how a fault is asked for. Each use of the command is
run once from point to point; at each a copy of the process meets each fault of that kind of point,
or, while several threads run, a run of its own does. Without --all, one point of each call
stack is tried; with --cases full, of one of so many stacks (STEPS). Of each run with a fault this
is checked:

  * it ends by itself, without a signal, and within a minute;
  * its status is what it is without the fault, or 4 where memory or a thread was refused, or 3
    where another call failed;
  * if nothing was missing, what it prints, logs, writes is the same as without the fault, but for
    a warning that names a file without which all of it could be made;
  * else the log has one error more, its last line, which names what was missing, and the output is
    the beginning of what it would have been;
  * every file is the old one or the new one, whole, and there is no other;
  * it frees all that it frees without the fault.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import argparse
import collections
import concurrent.futures
import errno
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

# Name, arguments, the files that are written and what they held before (None: not there).
USES = [
    # all that solve have one proof: short of memory for GLPK's, an answer says that it has one
    ("solve", "{sample} --solve --solver dp --num-ipus 2 --format json", {}),
    ("diagnose", "{sample} --diagnose", {}),
    ("evaluate", "{sample} --evaluate 1|2", {}),
    ("save", "{sample} --save-to-file {out}/m.popliner", {"m.popliner": b"old"}),
    ("load", "{stored} --load-from-file --solve --solver dp --num-ipus 2", {}),
    ("page", "{sample} --solve --solver dp --num-ipus 2 --output page={out}/page.html",
     {"page.html": b"old"}),
    ("emit", "{sample} --solve --solver dp --num-ipus 2 --output optimum={out}/plan.json",
     {"plan.json": None}),
    ("tables", "{sample} --output advice --format json "
     "--output tiles={out}/t.csv --output trace={out}/t.json", {"t.csv": b"old", "t.json": b"old"}),
    ("compare", "{stored} --load-from-file --compare {stored} --format json", {}),
    ("costs", "{costs} --solve --solver ilp --output lp={out}/p.lp", {"p.lp": b"old"}),
    ("regions", "{regions} --solve --solver dp --num-ipus 2 --output mps={out}/p.mps",
     {"p.mps": b"old"}),
    ("map", "{regions} --solve --device-map 0,1,0", {}),
]


def faults_of(names, *codes):
    return {name: [str(getattr(errno, code.rstrip("+"))) + code[len(code.rstrip("+")):]
                   if code != "short" else code for code in codes] for name in names.split()}


FAULTS = {
    "memory": ["memory", "memory+"],
    "thread": ["thread", "thread+"],
    **faults_of("open", "EACCES", "EIO", "EINTR", "EMFILE+"),
    **faults_of("read pread readv", "EIO", "EIO+", "EINTR", "short"),
    # where the log is written: then nothing can be told there
    **faults_of("log write pwrite writev", "EIO", "ENOSPC+", "EINTR", "short"),
    **faults_of("truncate allocate", "EIO", "ENOSPC+"),
    **faults_of("close", "EIO", "EINTR"),
    **faults_of("sync", "EIO", "ENOSPC"),
    **faults_of("rename link mkdir", "EIO", "ENOSPC", "EACCES"),
    **faults_of("unlink list seek", "EIO"),
    **faults_of("stat access readlink getcwd", "EIO", "EACCES"),
    **faults_of("mmap", "ENOMEM", "ENOMEM+"),
    **faults_of("fcntl", "EIO", "EACCES", "EINTR", "ENOLCK"),
    **faults_of("random affinity", "EINTR", "ENOSYS"),
    **faults_of("dup", "EMFILE"),
    **faults_of("chmod chown", "EPERM"),
}
WAIT_SECONDS = 60
STEPS = {"memory": 64, "calls": 4}  # of the full run


def kind_of(what):
    return "memory" if what == "memory" else "calls"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def log_lines(text):
    """What the log says, without the times at which it does."""
    return [re.sub(rb"^\d\d:\d\d:\d\d ", b"", line)
            for line in text.replace(b"\n" + 17 * b" ", b" ").splitlines()]


Report = collections.namedtuple("Report", "alive frames num_points")


def read_report(path):
    alive, frames, num_points = {}, {}, None
    if not os.path.exists(path):
        return None
    for line in read(path).decode().splitlines():
        key, *rest = line.split()
        if key == "alive":
            alive[rest[0]] = int(rest[1])
        elif key == "frames":
            frames[rest[0]] = rest[1:]
        elif key == "points":
            num_points = dict(zip(("memory", "calls"), map(int, rest)))
    return Report(alive, frames, num_points)


def count_left(report):
    """The blocks that nobody freed, by their stacks. What the C library keeps for itself, as the
    time zone and the buffers of streams, is the same whoever asked its function for what."""
    left = collections.Counter()
    for stack, count in report.alive.items():
        frames = report.frames[stack][1:]
        within = list(itertools.takewhile(lambda frame: frame.startswith("libc.so"), frames))
        left[within[-1] if within else stack] += count
    return left


Run = collections.namedtuple("Run", "status out log report files")


class Use:
    """One use of the command, in a folder of its own."""

    def __init__(self, tester, name, arguments, olds):
        self.tester, self.name, self.olds = tester, name, olds
        self.folder = os.path.join(tester.folder, name)
        self.out = os.path.join(self.folder, "files")
        self.kept = os.path.join(self.folder, "kept")
        os.makedirs(self.out)
        os.makedirs(self.kept)
        is_of_costs = arguments.startswith(("{costs}", "{regions}"))
        self.command = [tester.popliner] + ([] if is_of_costs else ["--threads", "1"]) + [
            part.format(sample=tester.sample, stored=tester.stored, out=self.out,
                        costs=os.path.join(tester.costs, "additive.json"),
                        regions=os.path.join(tester.costs, "regions.json"))
            for part in arguments.split()]
        self.counts = collections.Counter()
        self.stacks = {"memory": set(), "calls": set()}

    def path(self, name):
        return os.path.join(self.folder, name)

    def restore_files(self):
        for name in os.listdir(self.out):
            if name not in self.olds or self.olds[name] is None:
                os.remove(os.path.join(self.out, name))
        for name, data in self.olds.items():
            if data is not None:
                write(os.path.join(self.out, name), data)

    def files(self):
        return {name: read(os.path.join(self.out, name)) for name in os.listdir(self.out)}

    def environment(self, **more):
        return {**os.environ, "LD_PRELOAD": self.tester.library,
                # blocks are filled when they are made and freed, which takes its time
                "MALLOC_PERTURB_": "0" if self.tester.is_all else "165",
                "FAULTS_ONCE": "" if self.tester.is_all else "1", **more}

    def run_alone(self, fault=""):
        """A run of its own, as the library's head says: NUMBER:FAULT."""
        self.restore_files()
        report = self.path("alone.report")
        if os.path.exists(report):
            os.remove(report)
        try:
            done = subprocess.run(
                self.command, env=self.environment(FAULTS_AT=fault, FAULTS_REPORT=report),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=WAIT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Run(-signal.SIGALRM, b"", [], None, self.files())
        return Run(done.returncode, done.stdout, log_lines(done.stderr), read_report(report),
                   self.files())

    def keep_files(self):
        """Notes the files before copies of the process change them; returns the whole ones."""
        for name in os.listdir(self.kept):
            os.remove(os.path.join(self.kept, name))
        for name in os.listdir(self.out):
            if name not in self.olds:  # it is being written: the same file has to come back
                os.link(os.path.join(self.out, name), os.path.join(self.kept, name))
        return {name: data for name, data in self.files().items() if name in self.olds}

    def put_back_files(self, whole):
        for name in os.listdir(self.out):
            os.remove(os.path.join(self.out, name))
        for name, data in whole.items():
            write(os.path.join(self.out, name), data)
        for name in os.listdir(self.kept):
            os.link(os.path.join(self.kept, name), os.path.join(self.out, name))

    def run_copies(self, point, ask):
        """Copies of the process that is halted at a point, one for each fault."""
        _, what, _ = point
        whole = self.keep_files()
        for fault in FAULTS[what]:
            if os.path.exists(self.path("copy.report")):
                os.remove(self.path("copy.report"))
            for stream in ("out", "err"):
                shutil.copyfile(self.path("first." + stream), self.path("copy." + stream))
            words = ask("try " + fault)
            status = os.waitstatus_to_exitcode(int(words[1]))
            self.judge(point, fault, Run(
                status, read(self.path("copy.out")), log_lines(read(self.path("copy.err"))),
                read_report(self.path("copy.report")), self.files()))
            self.put_back_files(whole)

    def run_all(self):
        self.right = self.run_alone()
        if self.right.status not in (0, 1) or self.right.report is None:
            sys.exit(f"{self.name}: without a fault: {self.right.status} {self.right.log}")
        again = self.run_alone()
        if again[:3] != self.right[:3] or again.files != self.right.files:
            sys.exit(f"{self.name}: two runs without a fault differ")
        for point in self.go_along():
            number, what, _ = point
            for fault in FAULTS[what]:
                self.judge(point, fault, self.run_alone(f"{number}:{fault}"))
        return self

    def go_along(self):
        """Goes from point to point; returns those at which a run of its own is wanted."""
        alone = []
        to_read, to_write = os.pipe(), os.pipe()
        self.restore_files()
        with open(self.path("first.out"), "wb") as out, open(self.path("first.err"), "wb") as err:
            process = subprocess.Popen(
                self.command, stdout=out, stderr=err, pass_fds=(to_read[0], to_write[1]),
                env=self.environment(FAULTS_CONTROL=f"{to_read[0]},{to_write[1]}",
                                     FAULTS_COPY=self.path("copy"),
                                     FAULTS_REPORT=self.path("first.report")))
        os.close(to_read[0])
        os.close(to_write[1])
        with os.fdopen(to_write[0]) as heard:
            def tell(text):
                os.write(to_read[1], text.encode() + b"\n")

            def ask(text):
                tell(text)
                return heard.readline().split()

            while words := heard.readline().split():
                _, number, what, how, stack = words
                if self.is_wanted(int(number), what, stack):
                    if how == "copy":
                        self.run_copies((number, what, stack), ask)
                    else:
                        alone.append((number, what, stack))
                tell("go")
        os.close(to_read[1])
        if process.wait() != self.right.status or read(self.path("first.out")) != self.right.out:
            sys.exit(f"{self.name}: what goes from point to point ends with {process.returncode}")
        return alone

    def is_wanted(self, number, what, stack):
        kind = kind_of(what)
        if kind not in self.tester.kinds or number not in self.tester.points:
            return False
        self.stacks[kind].add((what, stack))
        if self.tester.is_all:
            return True
        return self.tester.takes(kind, stack) and self.tester.is_new(what, stack)

    def judge(self, point, fault, run):
        _, what, _ = point
        kind = kind_of(what)
        self.counts[kind + " runs"] += 1
        self.counts[f"{kind} {run.status}"] += 1
        for complaint in self.complaints(what, fault, run):
            self.tester.find(self, point, fault, complaint, run)

    def complaints(self, what, fault, run):
        is_memory = what in ("memory", "thread") or fault.rstrip("+") == str(errno.ENOMEM)
        if run.status < 0 or run.report is None:
            yield f"signal {signal.Signals(-run.status).name}" if run.status < 0 else "no report"
            return
        files = {name: self.without_repeated(data) for name, data in run.files.items()}
        if run.status == self.right.status:
            if self.without_repeated(run.out) != self.right.out:
                yield "nothing missing, and another output"
            if self.without_warnings(run.log) != self.right.log and what != "log":
                yield "nothing missing, and another log"
            if files != self.right.files:
                yield "nothing missing, and other files"
        elif run.status != (4 if is_memory else 3) or what == "log":
            yield f"status {run.status}"
        else:
            if not self.right.out.startswith(run.out):
                yield "another output"
            yield from self.complaints_of_log(is_memory, self.without_warnings(run.log))
        for name, data in files.items():
            if name not in self.olds:
                yield "a file is left behind"
            elif data != self.olds[name] and data != self.right.files[name]:
                yield "half a file"
        if any(name not in files for name, data in self.olds.items() if data is not None):
            yield "the old file is gone"
        for stack in count_left(run.report) - count_left(self.right.report):
            yield f"leak of {stack}"

    def names_something(self, line):
        names = ["profile.pop", "debug.cbor", "standard output", *self.olds, self.out,
                 self.tester.sample, self.tester.stored, self.tester.costs]
        return any(name.encode() in line for name in names)

    def without_warnings(self, log):
        """What is read for notes only may be missing, with a warning."""
        return [line for line in log if line in self.right.log or
                not (line.startswith(b"warning: ") and self.names_something(line))]

    def without_repeated(self, data):
        """JSON and pages repeat such warnings, before other messages."""
        return re.sub(rb'\{\s*"level": ?"warning",\s*"text": ?"((?:[^"\\]|\\.)*)"\s*\},\s*',
                      lambda found: b"" if self.names_something(found[1]) else found[0], data)

    def complaints_of_log(self, is_memory, log):
        said = b"error: ", b"ERROR   "  # in the log of PopLiner 1.0's options
        if not log or not log[-1].startswith(said):
            yield "no error"
        elif sum(line.startswith(said) for line in log) > 1:
            yield "more than one error"
        elif log[:-1] != self.right.log[:len(log) - 1]:
            yield "another log"
        elif is_memory and b"memory" not in log[-1]:
            yield "an error that is not of memory"
        elif not is_memory and not self.names_something(log[-1]):
            yield "an error that names nothing"


class Tester:
    def __init__(self, options, folder):
        self.library = os.path.abspath(options.library)
        self.popliner = os.path.abspath(options.popliner)
        self.sample = os.path.abspath(options.sample)
        self.costs = os.path.join(os.path.dirname(self.sample), "costs")
        self.is_all, self.kinds, self.folder = options.all, options.kinds, folder
        self.takes_all_stacks = options.cases == "nightly"
        self.stored = os.path.join(folder, "stored.popliner")
        first, last = options.points.split("-")
        self.points = range(int(first), int(last) + 1)
        self.lock = threading.Lock()
        self.known = set()
        self.findings = {}
        subprocess.run([self.popliner, self.sample, "-q", "--save-to-file", self.stored],
                       check=True)

    def takes(self, kind, stack):
        return self.takes_all_stacks or (int(stack, 16) >> 8) % STEPS[kind] == 0

    def is_new(self, what, stack):
        with self.lock:
            is_new = (what, stack) not in self.known
            self.known.add((what, stack))
        return is_new

    def find(self, use, point, fault, complaint, run):
        number, what, stack = point
        code = fault.rstrip("+")
        name = errno.errorcode[int(code)] + fault[len(code):] if code.isdigit() else fault
        with self.lock:
            key = (what, stack, complaint, name)
            if key in self.findings:
                self.findings[key][0] += 1
                return
            self.findings[key] = [1]
        lines = [f"{use.name}: point {number}, {what}: {name}: {complaint}; status {run.status}"]
        lines += ["    " + line.decode(errors="replace")[:300] for line in run.log[-2:]]
        if run.report is not None:
            for of in [stack] + complaint.split()[2:3]:
                lines += ["  at"] + self.frames(run.report.frames.get(of, []))
        self.findings[key].append("\n".join(lines))
        print(self.findings[key][1], flush=True)

    def frames(self, frames):
        """The functions of a stack, those of the command by name."""
        own = [frame[1:] for frame in frames if frame.startswith("+")]
        if not own:
            return ["    " + " ".join(frames)]
        text = subprocess.run(["addr2line", "-f", "-e", self.popliner, *own],
                              stdout=subprocess.PIPE, encoding="utf-8", check=False).stdout
        names = iter(text.split("\n")[::2])
        return ["    " + (next(names, "?") if frame.startswith("+") else frame)
                for frame in frames]


def print_table(uses):
    print(f"{'use':10}{'kind':8}{'points':>8}{'stacks':>8}{'runs':>8}"
          f"{'as before':>11}{'refused':>9}")
    for use in uses:
        for kind, stacks in use.stacks.items():
            counts = use.counts
            refused = sum(counts[f"{kind} {status}"] for status in (3, 4))
            print(f"{use.name:10}{kind:8}{use.right.report.num_points[kind]:8}{len(stacks):8}"
                  f"{counts[kind + ' runs']:8}{counts[f'{kind} {use.right.status}']:11}{refused:9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--cases", choices=["full", "nightly"], default="nightly")
    parser.add_argument("--uses", default=",".join(use[0] for use in USES))
    parser.add_argument("--kinds", default="memory,calls")
    parser.add_argument("--points", default="1-1000000000")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    parser.add_argument("library")
    parser.add_argument("popliner")
    parser.add_argument("sample")
    options = parser.parse_args()
    wanted = options.uses.split(",")
    # files reach no disk there, and so cost no waiting
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        tester = Tester(options, os.path.realpath(folder))
        uses = [Use(tester, *use) for use in USES if use[0] in wanted]
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            uses = list(pool.map(Use.run_all, uses))
    print_table(uses)
    for count, text in tester.findings.values():
        print(f"\n{count} x {text}")
    runs = sum(use.counts[kind + " runs"] for use in uses for kind in use.stacks)
    print(f"{runs} runs, {len(tester.findings)} findings")
    sys.exit(1 if tester.findings else 0)


if __name__ == "__main__":
    main()
