"""Measures the training of a PyTorch model, child by child, and splits it so that the slowest of
some devices is as fast as can be, and none too full; then prints the split for
torch.distributed.pipelining. It says so, and does nothing, without PyTorch.

SPDX-License-Identifier: GPL-3.0-or-later
"""

try:
    import torch
    from popliner.costs.torch import of_modules
except ImportError:
    torch = None


def main():
    torch.manual_seed(0)
    widths = (256, *[512] * 7)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(width, 512), torch.nn.GELU())
                                  for width in widths))
    table = of_modules(model.named_children(), torch.randn(64, 256), optimizer="adam")
    # "memory" has no activations, so each stage keeps one set more than 1f1b counts
    costs = table.costs(copies="1f1b+1", max_stages=4)
    answer = costs.solve(num_ipus=4, require="layers:1..", objectives="cycles,traffic")
    for i, stage in enumerate(answer.stages):
        units = table.units[stage.first_unit:stage.last_unit + 1]
        print(f"device {stage.ipu}: {' '.join(answer.names_of(i))}: {stage.peak_bytes} bytes, "
              f"{sum(unit.time for unit in units):.3f} ms")
    print(answer.emit("torch", layer_path="{}"), end="")
    return model, table, costs, answer


if __name__ == "__main__":
    if torch is None:
        print("Skipped: there is no PyTorch")
    else:
        main()
