"""Measures the training of a PyTorch model, child by child, and splits it so that the slowest of
some devices is as fast as can be, and none too full; then prints the split for
torch.distributed.pipelining. It says so, and does nothing, without PyTorch.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import time

import popliner

try:
    import torch
except ImportError:
    torch = None

OPTIMIZER_STATES = 2  # Adam keeps two numbers for each parameter


def num_bytes(tensors):
    return sum(it.numel() * it.element_size() for it in tensors)


def run(model, *inputs):
    """Runs the model once. Returns the inputs of each child, in the order in which the children
    run; the bytes that each keeps for its backward pass, a storage once, without parameters; and
    the bytes that each passes on."""
    arguments, kept, passed_on, seen, running = {}, {}, {}, set(), []
    parameters = {it.storage().data_ptr() for it in model.parameters()}

    def before(name, given):
        running.append(name)
        arguments.setdefault(name, given)
        kept.setdefault(name, 0)

    def after(output):
        passed_on[running.pop()] = num_bytes(output if isinstance(output, tuple) else (output,))

    def keep(tensor):
        storage = tensor.storage()
        if running and storage.data_ptr() not in parameters | seen:
            seen.add(storage.data_ptr())
            kept[running[-1]] += storage.nbytes()
        return tensor

    hooks = []
    for name, child in model.named_children():
        hooks.append(child.register_forward_pre_hook(lambda _, it, name=name: before(name, it)))
        hooks.append(child.register_forward_hook(lambda _, __, output: after(output)))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(*inputs)
    for hook in hooks:
        hook.remove()
    return arguments, kept, passed_on


def seconds_of(child, inputs):
    """The time of the forward and the backward pass of a child. The first run warms up."""
    for _ in range(2):
        own = [it.detach().requires_grad_(it.is_floating_point()) for it in inputs]
        start = time.perf_counter()
        output = child(*own)
        output.backward(torch.ones_like(output))
        seconds = time.perf_counter() - start
    child.zero_grad(set_to_none=True)
    return seconds


def measure(model, *inputs):
    """What each child costs in training, and the bytes that it passes on: parameters with their
    gradients and the optimizer's states in `memory`, what one micro-batch keeps in `stash`."""
    arguments, kept, passed_on = run(model, *inputs)
    units = []
    for name in arguments:
        child = model.get_submodule(name)
        parameters = num_bytes(child.parameters())
        units.append({"name": name, "parameters": parameters,
                      "memory": (2 + OPTIMIZER_STATES) * parameters, "stash": kept[name],
                      "cycles": round(1e9 * seconds_of(child, arguments[name]))})
    return units, [passed_on[name] for name in arguments][:-1]


def main():
    torch.manual_seed(0)
    widths = (256, *[512] * 7)
    model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(width, 512), torch.nn.GELU())
                                  for width in widths))
    units, cuts = measure(model, torch.randn(64, 256))
    # "memory" has no activations, so each stage keeps one set more than 1f1b counts
    costs = popliner.Costs.of_units(units, cuts=cuts, time_unit="ns",
                                    pipeline={"copies": "1f1b+1", "max_stages": 4})
    answer = costs.solve(num_ipus=4, require="layers:1..", objectives="cycles,traffic")
    for i, stage in enumerate(answer.stages):
        print(f"device {stage.ipu}: {' '.join(answer.names_of(i))}: {stage.peak_bytes} bytes, "
              f"{stage.cycles} ns")
    print(answer.emit("torch", layer_path="{}"), end="")
    return model, units, cuts, answer


if __name__ == "__main__":
    if torch is None:
        print("Skipped: there is no PyTorch")
    else:
        main()
