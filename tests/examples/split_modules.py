"""Measures a small model of plain Python objects, which stand in for the modules of a framework,
and splits it so that the slowest of three devices is as fast as can be, and none too full; then
prints the split in the words of a framework.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import time

import popliner


class Linear:
    """A matrix times a vector."""

    def __init__(self, num_inputs, num_outputs):
        self.weights = [[(i * 7 + j * 3) % 5 - 2.0 for i in range(num_inputs)]
                        for j in range(num_outputs)]

    def __call__(self, x):
        return [max(0.0, sum(w * v for w, v in zip(row, x))) for row in self.weights]


MODEL = {"embed": Linear(40, 160), "block0": Linear(160, 160), "block1": Linear(160, 160),
         "block2": Linear(160, 80), "block3": Linear(80, 80), "head": Linear(80, 20)}


def measure(model, x):
    """What each module costs, and the bytes that it hands on."""
    units, cuts = [], []
    for name, module in model.items():
        start = time.perf_counter()
        x = module(x)
        seconds = time.perf_counter() - start
        parameters = 4 * sum(len(row) for row in module.weights)
        units.append({"name": name, "memory": parameters + 4 * len(x), "parameters": parameters,
                      "cycles": round(1e9 * seconds)})
        cuts.append(4 * len(x))
    return units, cuts[:-1]


def main():
    units, cuts = measure(MODEL, [1.0] * 40)
    costs = popliner.Costs.of_units(units, cuts=cuts, time_unit="ns")
    answer = costs.solve(num_ipus=3, mem_per_tile=220000, require="layers:1..",
                         objectives="cycles,traffic")
    for i, stage in enumerate(answer.stages):
        print(f"device {stage.ipu}: {' '.join(answer.names_of(i))}: {stage.peak_bytes} bytes, "
              f"{stage.cycles} ns")
    print(answer.emit("torch", layer_path="model.{}"), end="")
    return units, cuts, answer


if __name__ == "__main__":
    main()
