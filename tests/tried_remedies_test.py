#!/usr/bin/env python3
"""What is said to be enough is enough: each change that an answer names is made in the request, and
the command, which sees the whole request again, finds a split.

    tried_remedies_test.py POPLINER [SEED]

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases

popliner = sys.argv[1]
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
MAPS = ("0,1,0", "0,1", "0,0", "1,0,2", "interleaved:2", "v", "any", "0,1,0,1", "0")
OBJECTIVES = ("headroom", "memory,cycles", "cycles", "balance", "traffic", "ipus,memory",
              "headroom,traffic", "memory,headroom", "balance,headroom", "cycles,balance")
SCHEDULES = ("1f1b", "popart", "1f1b:2", "none:0,1", "none:1,1,2", "zero-bubble", "1f1b+1",
             "none:1,2,...")
folder = tempfile.TemporaryDirectory(prefix="popliner-remedies-")
path = os.path.join(folder.name, "costs.json")


def run(*words):
    return subprocess.run([popliner, path, "--solve", *words], capture_output=True, text=True,
                          encoding="utf-8", timeout=200, check=False)


def words_of(options):
    return [word for name, values in options.items() for value in values for word in (name, value)]


def draw_costs(rng):
    names = "abcdef"[:rng.randrange(1, 6)]
    has_cycles, has_stash = rng.random() < 0.6, rng.random() < 0.4
    units = []
    for name in names:
        units.append({"name": name, "memory": rng.randrange(1, 20)})
        units[-1].update({"cycles": rng.randrange(1, 20)} if has_cycles else {})
        units[-1].update({"stash": rng.randrange(6)} if has_stash else {})
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "popliner-costs", "version": 1, "units": units,
                   "cuts": [rng.randrange(9) for _ in names[1:]]}, file)
    return names, has_cycles, has_stash


def draw(rng):
    """Options, most of which leave too little memory."""
    names, has_cycles, has_stash = draw_costs(rng)
    limits = [str(rng.randrange(3, 30))] * (rng.random() < 0.7)
    limits += [f"{ipu}={rng.randrange(3, 30)}" for ipu in range(5) if rng.random() < 0.3]
    options = {"--mem-per-tile": [",".join(limits)]} if limits else {}
    if rng.random() < 0.5:
        options["--device-map"] = [rng.choice(MAPS)]
    if options.get("--device-map", [""])[0][:1] not in ("0", "1"):
        options["--num-ipus"] = [str(rng.randrange(1, 5))]
    if rng.random() < 0.6:
        options["--objective"] = [rng.choice(OBJECTIVES)]
    if rng.random() < 0.3:
        options["--require"] = [rng.choice((
            f"cut:{names[0]}", f"no-cut:{names[0]}", f"together:{names[0]},{names[-1]}",
            f"place:{rng.choice(names)}={rng.randrange(4)}", "layers:2..", "layers:..1"))]
    if has_stash and rng.random() < 0.8:
        options["--schedule"] = [rng.choice(SCHEDULES)]
    if rng.random() < 0.3:
        options["--reserve"] = [rng.choice(("5%", "1", "3", "10%"))]
    if has_cycles and rng.random() < 0.2:
        options["--ipu-speed"] = [rng.choice(("0=0.5", "2=0.25"))]
    if has_cycles and rng.random() < 0.2:
        options["--bandwidth"] = [rng.choice(("2", "1,2-3=5", "0-1=3"))]
    return options


def with_limit(options, limit):
    """Options with this limit, which replaces that of the same IPU."""
    before = options.get("--mem-per-tile", [""])[0].split(",")
    ipu = limit.rpartition("=")[0]
    kept = [it for it in before if it and it.rpartition("=")[0] != ipu]
    return {**options, "--mem-per-tile": [",".join([*kept, limit])]}


def without_map(options, num_ipus):
    return {**{name: value for name, value in options.items() if name != "--device-map"},
            "--num-ipus": [str(num_ipus)]}


def changed(options, why):
    """The requests that are said to have an answer."""
    if why.get("enough_num_ipus"):
        yield {**options, "--num-ipus": [str(why["enough_num_ipus"])]}
    if why.get("enough_mem_per_tile"):
        yield with_limit(options, str(why["enough_mem_per_tile"]))
    for remedy in why.get("remedies", ()):
        if remedy["change"] == "ipu_limit":
            yield with_limit(options, f"{remedy['ipu']}={remedy['bytes']}")
        elif remedy["change"] == "without_device_map":
            yield without_map(options, remedy["num_ipus"])
        elif remedy["change"] == "every_limit":
            limits = [it.rpartition("=") for it in options["--mem-per-tile"][0].split(",")]
            yield {**options, "--mem-per-tile": [",".join(
                f"{ipu}{sign}{int(limit) + remedy['more_bytes']}" for ipu, sign, limit in limits)]}


def hinted(options, report):
    """The requests of lines such as "Enough      --num-ipus 3"."""
    for line in report.splitlines():
        found = re.match(r"Enough +(--\S+) (\S+)", line)
        if found is None:
            continue
        if "and no --device-map" in line:
            yield without_map(options, found[2])
        elif found[1] == "--mem-per-tile":
            yield with_limit(options, found[2])
        else:
            yield {**options, found[1]: [found[2]]}


def main():
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    num_refused = num_tried = 0
    most = cases.chosen(80, 1000, 20000)
    while num_refused < most:
        options = draw(rng)
        answer = run(*words_of(options), "--format", "json")
        if answer.returncode != 1:
            continue
        num_refused += 1
        why = json.loads(answer.stdout)["infeasibility"]
        report = run(*words_of(options), "--format", "text").stdout
        for other in [*changed(options, why), *hinted(options, report)]:
            tried = run(*words_of(other), "-q")
            num_tried += 1
            if tried.returncode != 0:
                with open(path, encoding="utf-8") as file:
                    sys.exit(f"{file.read()}\n{' '.join(words_of(options))}\nis said to fit with\n"
                             f"{' '.join(words_of(other))}\n{tried.stderr}")
    print(f"{num_tried} changes of {num_refused} requests")
    if num_tried < num_refused:
        sys.exit("too few changes were tried")


if __name__ == "__main__":
    main()
