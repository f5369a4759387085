#!/usr/bin/env python3
"""How far --objective step may be from the shortest step: a Markdown table, a row for each number
of stages on a device.

    steps.py POPLINER [SEED [QUESTIONS]] [--each]

Chains of 40 to 100 units on 4 to 16 devices with 1 to 4 stages each (or a V) are drawn, of every
schedule with an order: random units, alike ones, and layers between an embedding and a head.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

SCHEDULES = {1: ["1f1b", "gpipe", "zero-bubble", "popart"], "v": ["zero-bubble", "gpipe"]}
CHUNKS = [1, 2, 3, 4, "v"]


def random_chain(rng):
    """A table of 40 to 100 units: what of it is drawn, and its text."""
    n, kind = rng.randint(40, 100), rng.choice(["random", "alike", "layers"])
    rows = []
    for i in range(n):
        forward = {"random": rng.randint(10, 1000), "alike": rng.randint(400, 600),
                   "layers": 500 if 0 < i < n - 1 else rng.randint(0, 1500)}[kind]
        backward = forward * (2 if kind == "layers" else rng.uniform(1.5, 2.5))
        rows.append(f"{i},{rng.randint(10, 99)},{forward},{round(backward)}\n")
    return f"{n} {kind}", "name,memory,forward,backward\n" + "".join(rows)


def ask(popliner, path, rng, chunks, n):
    devices = rng.randint(4, min(16, n // (2 if chunks == "v" else chunks)))
    micro = devices * rng.choice([1, 2, 4, 8])
    schedule = rng.choice(SCHEDULES.get(chunks, ["interleaved", "zero-bubble", "gpipe"]))
    options = ["--num-ipus", str(devices), "--micro-batches", str(micro), "--schedule", schedule]
    if chunks != 1:
        options += ["--device-map", "v" if chunks == "v" else f"interleaved:{chunks}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([popliner, path, "-q", "--solve", "--format", "json", "--objective",
                           "step", *options], capture_output=True, check=True)
    value, = json.loads(done.stdout)["objectives"]
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return " ".join(options), value["value"], value["bound"], seconds


def main():
    popliner, *numbers = [it for it in sys.argv[1:] if it != "--each"]
    seed, count = (int(it) for it in (numbers + ["1", "50"][len(numbers):]))
    rng = random.Random(seed)
    of = {chunks: [] for chunks in CHUNKS}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "chain.csv")
        for i in range(count):
            chunks = CHUNKS[i % len(CHUNKS)]
            name, text = random_chain(rng)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            options, value, bound, seconds = ask(popliner, path, rng, chunks, int(name.split()[0]))
            gap = 100 * (value - bound) / bound
            of[chunks].append((gap, seconds))
            if "--each" in sys.argv:
                print(f"{name:12} {options:75} {value:9} {bound:9} {gap:6.2f} % {seconds:.2f} s",
                      flush=True)
    print(f"{count} questions, seed {seed}\n\n"
          "| stages on a device | questions | proven | mean gap | largest | CPU seconds | most |")
    print("|---|---|---|---|---|---|---|")
    for chunks, rows in [*of.items(), ("all", sum(of.values(), []))]:
        gaps, seconds = zip(*rows or [(0, 0)])
        print(f"| {chunks} | {len(gaps)} | {gaps.count(0)} | {sum(gaps) / len(gaps):.2f} % | "
              f"{max(gaps):.2f} % | {sum(seconds) / len(gaps):.1f} | {max(seconds):.1f} |")


if __name__ == "__main__":
    main()
