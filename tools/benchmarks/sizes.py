#!/usr/bin/env python3
"""Large questions about files of costs: a Markdown table of how long popliner takes for each.

    sizes.py POPLINER [FOLDER]

Writes the files into FOLDER, so that each command can be run again, or into a temporary one. Units
are drawn from a fixed seed. Times are those of one run each; "CPU" has those of all threads.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

SECONDS = 60  # after which a command is stopped


def random_units(number, seed, shared=False):
    """Units of 100 to 100,000 bytes and cycles, with as many parameters as bytes."""
    rng = random.Random(seed)
    units = []
    for i in range(number):
        memory, cycles = rng.randrange(100, 100000), rng.randrange(100, 100000)
        units.append({"name": f"u{i}", "memory": memory, "cycles": cycles, "parameters": memory,
                      "stash": rng.randrange(10000), "inputs": rng.randrange(1000),
                      "recompute_cycles": cycles // 3})
    code = [{"units": [f"u{i}" for i in sorted(rng.sample(range(number), number // 5))],
             "memory": rng.randrange(1000, 20000)} for _ in range(8 if shared else 0)]
    return {"format": "popliner-costs", "version": 1, "units": units, "shared": code,
            "cuts": [rng.randrange(1000) for _ in units[1:]],
            "cut_cycles": [rng.randrange(1000) for _ in units[1:]]}


def equal_units(number):
    units = [{"name": f"u{i}", "memory": 1500, "cycles": 180, "stash": 100, "inputs": 20,
              "recompute_cycles": 60} for i in range(number)]
    return {"format": "popliner-costs", "version": 1, "units": units,
            "cuts": [20] * (number - 1), "cut_cycles": [20] * (number - 1)}


def with_variants(costs, seed):
    """Each unit may also store a third of its activations, and take longer."""
    rng = random.Random(seed)
    for unit in costs["units"]:
        more = unit["cycles"] // (rng.randrange(3, 12) if seed else 5)
        unit["variants"] = [{"name": "less", "stash": unit["stash"] // 3,
                             "cycles": unit["cycles"] + more}]
    return costs


FILES = {
    "u16384": lambda: random_units(16384, 1), "u1000": lambda: random_units(1000, 2),
    "u500": lambda: with_variants(random_units(500, 3), 7),
    "u100": lambda: random_units(100, 4, shared=True),
    "u45": lambda: random_units(45, 5, shared=True),
    "equal500": lambda: with_variants(equal_units(500), 0),
    "equal510": lambda: equal_units(510),
}

AUTO = "--schedule 1f1b --recompute auto --objective cycles,memory --num-ipus 8 --mem-per-tile "
ROWS = [  # file, options
    ("u16384", "--num-ipus 4"), ("u16384", "--num-ipus 256"),
    ("u500", AUTO + "3800K"), ("equal500", AUTO + "100K"),
    ("u1000", "--total-ipus 512 --micro-batches 64 --bandwidth replicas=1000"),
    ("u1000", "--objective balance,cycles --num-ipus 12"),
    ("u1000", "--objective balance,cycles --device-map 0,1,2,3,4,5,6,7,8,9,10,11"),
    ("u1000", "--pareto cycles,traffic --num-ipus 8"),
    ("u1000", "--pareto memory,cycles --num-ipus 8"),
    ("u45", "--device-map 0,1,2,1,0,2 --objective memory,traffic"),
    ("u45", "--device-map 0,1,2,1,0,2 --objective balance,traffic"),
    ("equal510", "--num-ipus 64 --device-map interleaved:4 --time-limit 20"),
    ("u100", "--num-ipus 8 --device-map interleaved:3 --time-limit 20"),
    ("u100", "--num-ipus 4 --device-map interleaved:4 --time-limit 20"),
    ("u1000", "--num-ipus 64 --device-map replicas --bandwidth replicas=1000"),
]


def gap_of(answer):
    """How far the first objective, or throughput, may be from the best, in percent."""
    if "candidates" in answer:  # of the rows, each by itself
        own = [it["gap"] for it in answer["candidates"] if it["replicas"]]
        return None if answer["stopped"] else 100 * max(own, default=0)
    if "results" in answer:
        return 0 if answer["complete"] else None
    own = next(iter(answer["objectives"]), None)
    if own is None or own["bound"] is None:
        return None
    return 100 * abs(own["value"] - own["bound"]) / max(own["bound"], 1)


def measure(popliner, folder, name, options):
    path, begin = name + ".json", time.monotonic()
    command = [popliner, "-q", path, "--solve", "--format", "json", *options.split()]
    if "--time-limit" not in options:
        command += ["--time-limit", str(SECONDS)]
    with open(os.path.join(folder, "answer"), "w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, cwd=folder)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    answer = json.loads(text) if text else {}
    status = answer.get("status") or ("stopped" if answer.get("stopped") else "complete") \
        if answer else f"exit status {process.returncode}"
    gap = gap_of(answer) if answer else None
    return (time.monotonic() - begin, used.ru_utime + used.ru_stime, status, gap,
            used.ru_maxrss / 1024)


def main():
    popliner = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[2] if len(sys.argv) > 2 else scratch
        for name in {row[0] for row in ROWS}:
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(FILES[name](), file)
        print("| file | options | seconds | CPU | status | gap | memory |")
        print("|---|---|---|---|---|---|---|")
        for name, options in ROWS:
            seconds, cpu, status, gap, mib = measure(popliner, folder, name, options)
            told = "" if gap is None else f"{gap:.2f} %"
            print(f"| {name} | `{options}` | {seconds:.2f} | {cpu:.2f} | {status} | {told} | "
                  f"{mib:.0f} MiB |", flush=True)


if __name__ == "__main__":
    main()
