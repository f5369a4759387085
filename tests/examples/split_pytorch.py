"""Measures the modules of a PyTorch model by hooks, and splits it so that the slowest of some
devices is as fast as can be, and none too full; and prints that for torch.distributed.pipelining.
It says so, and does nothing, without PyTorch.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import sys
import time

import popliner

try:
    import torch
except ImportError:
    print("Skipped: there is no PyTorch")
    sys.exit(0)


def measure(model, *inputs):
    """What each child of the model costs, in the order in which they run, and the bytes that it
    hands on. A child that runs several times counts once, with all its time."""
    costs, started = {}, {}

    def before(name):
        started[name] = time.perf_counter()

    def after(name, module, output):
        seconds = time.perf_counter() - started[name]
        handed_on = sum(it.numel() * it.element_size()
                        for it in (output if isinstance(output, tuple) else (output,)))
        parameters = sum(it.numel() * it.element_size() for it in module.parameters())
        unit = costs.setdefault(name, {"name": name, "cycles": 0, "parameters": parameters})
        unit["cycles"] += round(1e9 * seconds)
        unit.update(memory=parameters + handed_on, stash=handed_on)

    hooks = []
    for name, module in model.named_children():
        hooks.append(module.register_forward_pre_hook(lambda *_, name=name: before(name)))
        hooks.append(module.register_forward_hook(
            lambda module, _, output, name=name: after(name, module, output)))
    with torch.no_grad():
        model(*inputs)
        costs.clear()  # the first run warms up
        model(*inputs)
    for hook in hooks:
        hook.remove()
    units = list(costs.values())
    return units, [unit["stash"] for unit in units[:-1]]


def main():
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(width, 512) for width in (256, *[512] * 7)))
    units, cuts = measure(model, torch.randn(64, 256))
    costs = popliner.Costs.of_units(units, cuts=cuts, time_unit="ns")
    answer = costs.solve(max_stages=4, min_units=1, objectives="cycles,traffic")
    for i, stage in enumerate(answer.stages):
        print(f"device {stage.ipu}: {' '.join(answer.names_of(i))}: {stage.peak_bytes} bytes, "
              f"{stage.cycles} ns")
    print(answer.emit("torch", layer_path="{}"), end="")
    return units, cuts, answer


if __name__ == "__main__":
    main()
