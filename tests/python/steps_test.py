#!/usr/bin/env python3
"""Of real models, a step of `--objective step` is never longer than that of even stages, and the
answer says by how much another one may be shorter.

    steps_test.py [--each]

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import subprocess
import sys
import tempfile

import cases
from models import MODELS

#: Model, devices and stages on each.
QUESTIONS = [
    ("llama2-7b", 4, 2), ("llama3-8b", 4, 8), ("llama3-70b", 4, 10), ("llama3-70b", 8, 5),
    ("llama3-70b", 8, 10), ("llama3-70b", 16, 2), ("llama3-70b", 16, 5), ("yi-34b", 6, 5),
    ("yi-34b", 6, 10), ("yi-34b", 10, 3), ("yi-34b", 12, 4), ("mistral-7b", 8, 4),
    ("mistral-nemo", 4, 5), ("mistral-nemo", 10, 4), ("mixtral", 8, 2), ("mixtral", 16, 2),
    ("smollm2-135m", 5, 6), ("llama3.2-1b", 4, 4), ("tinyllama", 4, 3), ("qwen2.5-0.5b", 6, 4)]


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, encoding="utf-8", check=True).stdout


def ask(config, devices, chunks, folder):
    """The step of even stages, the answer's, and its bound."""
    path, costs = os.path.join(folder, "config.json"), os.path.join(folder, "costs.csv")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    run(sys.executable, "-m", "popliner.costs", path, "--train", "adam-mixed", "--sequence", "4096",
        "--dtype", "bf16", "--output", costs)
    layers, stages = config["num_hidden_layers"], devices * chunks
    cuts = [str(k * layers // stages - 1) for k in range(1, stages)]  # layers have numbers
    options = ["-q", "--format", "json", "--schedule", "interleaved", "--num-ipus", str(devices),
               "--device-map", f"interleaved:{chunks}", "--micro-batches", str(2 * devices)]
    command = [os.environ["POPLINER_COMMAND"], costs, *options]
    even = json.loads(run(*command, "--evaluate", ",".join(cuts)))["totals"]["step"]["cycles"]
    value, = json.loads(run(*command, "--solve", "--objective", "step"))["objectives"]
    return even, value["value"], value["bound"]


def main():
    gaps = []
    full = "--each" in sys.argv or cases.takes_all()
    with tempfile.TemporaryDirectory() as folder:
        for name, devices, chunks in QUESTIONS if full else QUESTIONS[-3:]:
            even, step, bound = ask(MODELS[name][0], devices, chunks, folder)
            assert bound <= step <= even, (name, devices, chunks, even, step, bound)
            gaps.append(100 * (step - bound) / bound)
            if "--each" in sys.argv:
                print(f"| {name} | {devices} x {chunks} | {even / step * 100 - 100:.2f} % | "
                      f"{gaps[-1]:.2f} % |", flush=True)
    print(f"{len(gaps)} real models: gaps of {sum(gaps) / len(gaps):.2f} % on average, "
          f"at most {max(gaps):.2f} %")


if __name__ == "__main__":
    main()
