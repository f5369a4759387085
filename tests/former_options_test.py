#!/usr/bin/env python3
"""Each of the 78 options that popliner had, in its form of today: one run of each against something
else, which is golden output, another form of the answer, or what the documents promise.

    former_options_test.py POPLINER MKPROFILE SOURCE

The forms are those of tools/compare_outputs/former.py, which translates whole command lines.
Options that are gone are rejected by a message that names the form of today.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

import cases  # which takes its own option out of sys.argv

SOLVE = ["--solve", "--num-ipus=3"]
POPART = ["--schedule=popart"]
GONE = set("""section emit html plot trace write-lp write-mps max-growth tolerance strict
    layer-operations-only costs sweep ipu-mem-per-tile link-bandwidth replica-bandwidth cut-after
    no-cut-after together place min-layers max-layers interleave v-shape copies accumulators
    micro-batch-size risk calibrate layer-path head-modules tail-modules""".split())
CSV = "name,memory,time,stash,cut,layer\n" + "".join(
    f"{name},{size},{time},100,{cut},{layer}\n" for name, size, time, cut, layer in
    (("e", 1500, 1, 96, "false"), ("0", 600, 3, 64, "true"), ("1", 700, 4, 32, "true"),
     ("h", 1100, 2, "", "false")))


def check(is_right, *what):
    if not is_right:
        sys.exit("\n".join(map(str, what)))


class World:
    """The programs and inputs; runs of them."""

    def __init__(self, popliner, mkprofile, source, scratch):
        self.popliner = popliner
        self.golden = os.path.join(source, "tests", "golden", "popart-train")
        self.scratch = scratch
        self.costs = self.path("costs.csv")
        with open(self.costs, "w", encoding="utf-8") as file:
            file.write(CSV)
        self.compiled = self.path("compiled")
        with open(os.path.join(self.golden, "args.txt"), encoding="utf-8") as file:
            model = file.read().split()
        self.model = self.path("model")
        make = [mkprofile, *model, "--accumulate", "--quiet", "--output"]
        subprocess.run([*make, self.model], check=True)
        subprocess.run([*make, self.compiled, "--pipeline", "0"], check=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, *arguments, status=0, subject=None):
        """Standard output and log."""
        command = [self.popliner, subject or self.golden, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              env={**os.environ, "LC_ALL": "C.UTF-8"})  # which bars are drawn by
        check(done.returncode == status, command, done.returncode, done.stderr.decode())
        return done.stdout.decode(), cases.joined(done.stderr.decode())

    def solved(self, *arguments, status=0, subject=None):
        return json.loads(self.run("--solve", *arguments, "--format=json", status=status,
                                   subject=subject)[0])

    def evaluated(self, cuts, *arguments):
        """Bytes of the stages of a split."""
        stages = json.loads(self.run("--evaluate", cuts, *arguments, "--format=json")[0])
        return [stage["needs"]["expected_bytes"] for stage in stages]

    def is_golden(self, name, *arguments):
        with open(os.path.join(self.golden, name), encoding="utf-8") as file:
            check(self.run(*arguments)[0] == file.read(), name, arguments)

    def table(self, *arguments, subject=None):
        """Rows of a table by the names of its columns."""
        rows = [line.split("\t") for line in self.run(*arguments, subject=subject)[0].splitlines()]
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def written(self, name, *arguments, subject=None):
        path = self.path(name)
        self.run(*[argument.replace("@", path) for argument in arguments], subject=subject)
        with open(path, encoding="utf-8") as file:
            return file.read()


def layers_of(answer):
    return [stage["layers"] for stage in answer["stages"]]


def golden(name, *more):
    return lambda w, today: w.is_golden(name, *today, *more)


def option_is(name, value, *more):
    """The JSON of the answer has the setting of the option."""
    def own(w, today):
        answer = w.solved("--num-ipus=3", *more, *today)
        check(answer["options"][name] == value, today, answer["options"])
        return answer
    return own


def solved(is_right, *more):
    """The answer is one that the option describes."""
    def own(w, today):
        answer = w.solved("--num-ipus=3", *more, *today)
        check(is_right(answer), today, json.dumps(answer)[:3000])
    return own


def smallest(w, today):
    """No split of at most so many stages, evaluated alone, has less memory."""
    answer = w.solved(*today, *POPART)
    cuts = [",".join(some) for count in (0, 1) for some in itertools.combinations("01", count)]
    least = min(max(w.evaluated(cut or "whole", *POPART)) for cut in cuts)
    totals = answer["totals"]
    check(totals["memory"] == least and totals["ipus"] <= 2, least, totals)


def regex(w, today):
    with open(os.path.join(w.golden, "regex.txt"), encoding="utf-8") as file:
        own = dict(line.rstrip("\n").split("\t") for line in file)["regex"]
    w.is_golden("layer-breakdown-regex-steps.tsv", "--layer-breakdown", today[0].replace("@", own))


def stored(w, today):
    path = w.path("stored")
    w.run(*[argument.replace("@", path) for argument in today])
    with open(os.path.join(w.golden, "layer-breakdown.tsv"), encoding="utf-8") as file:
        check(w.run("--load-from-file", "--layer-breakdown", subject=path)[0] == file.read(), today)


def written(name, is_right, *more):
    return lambda w, today: check(is_right(w.written(name, *more, *today)), today)


def said(status, words, *more):
    """The exit status, and words of the log."""
    def own(w, today):
        out, log = w.run(*more, *today, status=status)
        check(words in out + log, today, out, log)
    return own


def of_costs(is_right, *more):
    def own(w, today):
        answer = w.solved(*more, *today, subject=w.costs)
        check(is_right(answer), today, answer)
    return own


def printed(words, *more):
    return lambda w, today: check(all(word in w.run(*more, *today)[0] for word in words), today)


def config(w, today):
    path = w.path("config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"solve": True, "num-ipus": 2, "schedule": "popart", "format": "json"}, file)
    own = json.loads(w.run(today[0].replace("@", path))[0])
    check(own["stages"] == w.solved("--num-ipus=2", *POPART)["stages"], own)


def calibrated(w, today):
    """A calibration moves the numbers of a plan to those that it lists as corrected."""
    path = w.path("calibration.json")
    w.run("--evaluate=0", *POPART, f"--compiled={w.compiled}", f"--output=calibration={path}",
          subject=w.model)
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)["stages"]
    stages = json.loads(w.run("--evaluate=0", *POPART, today[0].replace("@", path), "--format=json",
                              subject=w.model)[0])
    for stage, row in zip(stages, rows):
        ratio = stage["needs"]["expected_bytes"] / row["compiled"]["with_layout"]["max"]
        check(abs(100 * (ratio - 1) - row["corrected_percent"]) < 0.2, ratio, row)


def compiled(w, today):
    text = w.run("--evaluate=0", *POPART, today[0].replace("@", w.compiled), subject=w.model)[0]
    fullest = max(int(row["total_including_gaps_bytes"]) for row in
                  w.table("--output=tiles", subject=w.compiled))
    check(f"{fullest:,}" in text, fullest, text)


def ipu(w, today):
    ipus = {row["ipu"] for row in w.table("--output=tiles", *today, subject=w.compiled)}
    check(ipus == {"1"}, ipus)


def report(w, today):
    folder = w.path("reports")
    os.makedirs(folder, exist_ok=True)
    for name in ("a", "b"):
        if not os.path.lexists(os.path.join(folder, name)):
            os.symlink(w.golden, os.path.join(folder, name))
    check(w.run("--layer-breakdown", *today, subject=folder)[0] == w.run("--layer-breakdown")[0],
          today)


def quieter(w, today):
    check("INFO" in w.run(*SOLVE)[1] and "INFO" not in w.run(*SOLVE, *today)[1], today)


def same_answer(w, today):
    """The option changes how popliner works, not its answer."""
    check(w.run(*SOLVE, *today)[0] == w.run(*SOLVE)[0], today)


def paths(w, today):
    other = [f"--compare={w.model}", "--output=comparison", "--format=json"]
    check(w.model not in w.run(*other)[0] and w.model in w.run(*other, *today)[0], today)


def notes(w, today):
    with open(os.path.join(w.model, "app.json"), "w", encoding="utf-8") as file:
        json.dump({"words": "of-a-note"}, file)
    for own in ([], today):
        text = w.written("notes.html", *own, "--output=page=@", subject=w.model)
        check(("of-a-note" in text) == (not own), own)


def modules(names):
    return printed(names, "--num-ipus=2", "--output=poptorch")


def time_limit(w, today):
    check(w.solved("--num-ipus=3", *today)["options"]["time_limit_seconds"] == 90, today)


ON_ONE = ["--device-map=0,1,0"]
MEMORY = "--mem-per-tile=130245"
# former option: (its former form, today's form, what is checked); @ is a path
OPTIONS = {
    "solve": ("--solve", "--solve", golden("solve-N3-M130245.json", "--num-ipus=3", MEMORY,
                                           "--solver=popliner")),
    "solver": ("--solver=greedy", "--solver=popliner",
               golden("solve-N3-M130245.json", *SOLVE, MEMORY)),
    "num-ipus": ("--num-ipus=2", "--num-ipus=2", smallest),
    "mem-per-tile": ("--mem-per-tile=5", "--mem-per-tile=5",
                     said(1, "alone needs", "--solve")),
    "memory-totals": ("--memory-totals", "--memory-totals",
                      golden("memory-totals.tsv", "--memory-model=popliner")),
    **{name: (f"--{name}", f"--{name}", golden(f"{name}.tsv")) for name in
       ("operation-breakdown", "layer-breakdown", "memory-affinity", "interlayer-communication")},
    "format": ("--format=csv", "--format=csv", golden("layer-breakdown.csv", "--layer-breakdown")),
    "layer-order": ("--layer-order=natural", "--layer-order=natural",
                    golden("layer-breakdown-natural.tsv", "--layer-breakdown")),
    "layer-name-regex": ("--layer-name-regex=@", "--layer-name-regex=@", regex),
    "inputs-regex-layer-0": ("--inputs-regex-layer-0=(word_embeddings|Embedding_Dict)",
                             "--inputs-regex-layer-0=(word_embeddings|Embedding_Dict)",
                             golden("layer-breakdown.tsv", "--layer-breakdown")),
    "save-to-file": ("--save-to-file=@", "--save-to-file=@", stored),
    "load-from-file": ("--load-from-file", "--load-from-file",
                       lambda w, today: check(w.run(*today, *SOLVE, subject=w.path("stored"))[0] ==
                                              w.run(*SOLVE)[0], today)),
    "memory-model": ("--memory-model=popliner", "--memory-model=popliner",
                     option_is("memory_model", "popliner")),
    "evaluate": ("--evaluate=0|1", "--evaluate=0|1", lambda w, today: check(
        w.run(*today, *POPART)[0] == w.run("--evaluate=0,1", *POPART)[0], today)),
    "diagnose": ("--diagnose", "--diagnose", printed(["compiler", "explained"])),
    "compare": ("--compare=@", "--compare=@", lambda w, today: check(
        "no difference" in w.run(today[0].replace("@", w.golden), status=0)[0].lower(), today)),
    "section": ("--section=plan", "--output=plan", printed(["stage\tipu\tfrom"], *SOLVE)),
    "output": ("--output=tiles=@", "--output=tiles=@", written(
        "tiles.tsv", lambda text: len(text.splitlines()) == 13)),  # of 12 tiles
    "emit": ("--emit=optimum", "--output=optimum", lambda w, today: check(
        json.loads(w.run(*SOLVE, *today, "--require=layers:1..1")[0])["layers_per_ipu"] ==
        [1, 1, 1], today)),
    "html": ("--html=@", "--output=page=@", written(
        "page.html", lambda text: text.startswith("<!DOCTYPE html>"))),
    "plot": ("--plot=plan", ["--output=plan", "--format=plot"], printed(["█"], *SOLVE)),
    "trace": ("--trace=@", "--output=trace=@", written(
        "trace.json", lambda text: json.loads(text)["traceEvents"])),
    "write-lp": ("--write-lp=@", "--output=lp=@", written(
        "a.lp", lambda text: "Minimize" in text, *SOLVE)),
    "write-mps": ("--write-mps=@", "--output=mps=@", written(
        "a.mps", lambda text: "ENDATA" in text, *SOLVE)),
    "max-growth": ("--max-growth=0", "--fail-on=growth=0", None),
    "report": ("--report=a", "--report=a", report),
    "objective": ("--objective=traffic,memory", "--objective=traffic,memory", solved(
        lambda a: a["totals"]["traffic"] == 0 and a["totals"]["ipus"] == 1)),
    "slack": ("--slack=50%", "--slack=50%", option_is("slack_percent", 50)),
    "ipu-mem-per-tile": ("--ipu-mem-per-tile=1=400000", "--mem-per-tile=1=400000",
                         option_is("ipu_mem_per_tile", {"1": 400000})),
    "ipu-speed": ("--ipu-speed=1=0.5", "--ipu-speed=1=0.5", of_costs(
        lambda a: a["totals"]["cycles"] == 8, "--num-ipus=2", "--objective=cycles",
        "--require=layers:0..")),
    "link-bandwidth": ("--link-bandwidth=64", "--bandwidth=64", of_costs(
                           lambda a: a["options"]["link_bandwidth"] == 64, "--num-ipus=2")),
    "replica-bandwidth": ("--replica-bandwidth=8", "--bandwidth=replicas=8", of_costs(
        lambda a: len(a["candidates"]) > 1, "--total-ipus=4", "--batch=8", *POPART)),
    "sweep": ("--sweep=num-ipus=1..3", "--num-ipus=1..3", lambda w, today: check(
        [row["memory"] for row in w.table("--solve", *today)] ==
        [str(w.solved(f"--num-ipus={n}")["totals"]["memory"]) for n in (1, 2, 3)], today)),
    "pareto": ("--pareto=memory,traffic", "--pareto=memory,traffic", lambda w, today: check(
        len(w.table("--solve", *today, "--num-ipus=3")) == 3, today)),
    "costs": ("--costs=@", "@", lambda w, today: check(
        w.solved("--num-ipus=4", "--require=layers:0..", subject=w.costs)["totals"]["memory"] ==
        1500, today)),
    "reserve": ("--reserve=5%", "--reserve=5%", solved(
        lambda a: a["options"]["mem_per_tile"] <= 638976 * 0.95 + 1)),
    "min-layers": ("--min-layers=2", "--require=layers:2..", solved(
        lambda a: min(map(len, layers_of(a))) >= 2)),
    "max-layers": ("--max-layers=1", "--require=layers:..1", solved(
        lambda a: max(map(len, layers_of(a))) == 1)),
    "cut-after": ("--cut-after=1", "--require=cut:1", solved(
        lambda a: layers_of(a) == [["0", "1"], ["2"]], "--num-ipus=2")),
    "no-cut-after": ("--no-cut-after=0", "--require=no-cut:0", solved(
        lambda a: layers_of(a) == [["0", "1"], ["2"]], "--num-ipus=3")),
    "together": ("--together=1,2", "--require=together:1,2", solved(
        lambda a: layers_of(a) == [["0"], ["1", "2"]])),
    "place": ("--place=2=1", "--require=place:2=1", solved(
        lambda a: next(s["ipu"] for s in a["stages"] if "2" in s["layers"]) == 1)),
    "device-map": ("--device-map=0,1,0", "--device-map=0,1,0", lambda w, today: check(
        [s["ipu"] for s in w.solved(*today)["stages"]] == [0, 1, 0], today)),
    "interleave": ("--interleave=2", "--device-map=interleaved:2", of_costs(
        lambda a: [s["ipu"] for s in a["stages"]] == [0, 1, 0, 1], "--num-ipus=2",
        "--require=layers:0..")),
    "v-shape": ("--v-shape", "--device-map=v", of_costs(
        lambda a: [s["ipu"] for s in a["stages"]] == [0, 1, 1, 0], "--num-ipus=2",
        "--require=layers:0..")),
    "schedule": ("--schedule=training", "--schedule=popart", option_is("schedule", "popart")),
    "copies": ("--copies=2", "--schedule=none:2", of_costs(
        lambda a: a["totals"]["memory"] == 3900 + 4 * 2 * 100, "--num-ipus=1")),
    "recompute": ("--recompute=full", "--recompute=full", option_is("recompute", "full", *POPART)),
    "micro-batches": ("--micro-batches=4", "--micro-batches=4", of_costs(
        lambda a: len(a["candidates"]) > 1, "--total-ipus=4", *POPART)),
    "effects": ("--effects=passing", "--effects=passing,accumulators",
                option_is("effects", ["passing"])),
    "accumulators": ("--accumulators=fp32", "--effects=layout,passing,buffers,accumulators=fp32",
                     option_is("accumulators", "fp32")),
    "risk": ("--risk=low", "--need=at-most", solved(
        lambda a: a["totals"]["memory"] == max(s["needs"]["at_most_bytes"] for s in a["stages"]))),
    "total-ipus": ("--total-ipus=4", "--total-ipus=4", of_costs(
        lambda a: all(r["replicas"] * r["stages"] <= 4 for r in a["candidates"]), "--batch=8",
        *POPART)),
    "batch": ("--batch=12", "--batch=12", of_costs(
        lambda a: all(r["replicas"] * r["micro_batches"] in (0, 12)
                      for r in a["candidates"]),
        "--total-ipus=4", *POPART)),
    "micro-batch-size": (["--batch=12", "--micro-batch-size=3"], "--batch=12/3", of_costs(
        lambda a: all(r["replicas"] * r["micro_batches"] in (0, 4)
                      for r in a["candidates"]),
        "--total-ipus=4", *POPART)),
    "calibrate": ("--calibrate=@", "--compiled=@", compiled),
    "calibration": ("--calibration=@", "--calibration=@", calibrated),
    "ipu": ("--ipu=1", "--ipu=1", ipu),
    "layers": ("--layers=1-2", "--layers=1..2", printed(["Fullest"], "--diagnose")),
    "layer-operations-only": ("--layer-operations-only", "--layers=only:all",
                              printed(["Fullest"], "--diagnose")),
    "tolerance": ("--tolerance=100%", "--fail-on=unexplained=100%",
                  printed(["compiler"], "--diagnose")),
    "strict": ("--strict", "--fail-on=contradiction", golden("layer-breakdown.tsv",
                                                             "--layer-breakdown")),
    "layer-path": ("--layer-path=net.blocks", "--modules=net.blocks.{}",
                   modules(["net.blocks.1"])),
    "head-modules": (["--layer-path=net", "--head-modules=embed"], "--modules=embed,net.{}",
                     modules(["net.1"])),
    "tail-modules": (["--layer-path=net", "--tail-modules=norm"], "--modules=net.{},norm",
                     modules(["net.1"])),
    "paths": ("--paths", "--paths", paths),
    "no-notes": ("--no-notes", "--no-notes", notes),
    "config": ("--config=@", "--config=@", config),
    "threads": ("--threads=1", "--threads=1", same_answer),
    "time-limit": ("--time-limit=90", "--time-limit=90", time_limit),
    "max-memory": ("--max-memory=4G", "--max-memory=4G", same_answer),
    "quiet": ("--quiet", "--quiet", quieter),
    "verbose": ("--verbose", "--verbose", said(0, "DEBUG", *SOLVE)),
    "help": ("--help", "--help", printed(["Usage: popliner INPUT"])),
    "version": ("--version", "--version", printed(["popliner "])),
}


def grows(w, today):
    """The other profile is the same, so nothing grew; the limit is part of the answer."""
    answer = json.loads(w.run(f"--compare={w.golden}", *today, "--format=json")[0])
    check(answer["growth"]["percent"] == 0, answer["growth"])


def listed(form):
    return [form] if isinstance(form, str) else form


def main():
    popliner, mkprofile, source = map(os.path.abspath, sys.argv[1:4])
    sys.path.insert(0, os.path.join(source, "tools"))
    from compare_outputs import former  # pylint: disable=import-outside-toplevel
    OPTIONS["max-growth"] = (*OPTIONS["max-growth"][:2], grows)
    check(len(OPTIONS) == 78 and OPTIONS.keys() == former.FLAGS | former.VALUED,
          OPTIONS.keys() ^ (former.FLAGS | former.VALUED))
    with tempfile.TemporaryDirectory() as scratch:
        world = World(popliner, mkprofile, source, scratch)
        for name, (before, today, is_right) in OPTIONS.items():
            if name not in ("help", "version", "costs"):
                made = former.translate([*listed(before)])
                check(set(listed(today)) <= set(made), name, made, today)
            is_right(world, listed(today))
            if name in GONE:
                log = world.run(f"--{name}=1", status=2)[1]
                instead = log.partition(": unknown option; use ")[2].strip()
                own = listed(today)[0].partition("=")[0]
                check(instead.startswith("the file of costs" if name == "costs" else
                                         "a range" if name == "sweep" else own), name, log)
            print(name, flush=True)


if __name__ == "__main__":
    main()
