"""Costs of PyTorch modules that are called one after another, measured or with fake tensors.

    import popliner.costs.torch
    with FakeTensorMode():  # bytes without memory; leave it out to measure times, too
        model, x = build()
        table = popliner.costs.torch.of_modules(model.named_children(), x, optimizer="adam")

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from .._calling import number
from .table import MAX_SAMPLES, Assumed, Table, Unit


def _storage(tensor: Any) -> Tuple[Any, int]:
    """What tells storages apart, and the bytes of one. Fake tensors have no addresses."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage._cdata, storage.nbytes()


def _mapped(value: Any, other: Callable[[Any], Any]) -> Any:
    """What a module returned, with another tensor for each."""
    if isinstance(value, dict):
        return {key: _mapped(it, other) for key, it in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_mapped(it, other) for it in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return other(value) if hasattr(value, "numel") else value


def _tensors(value: Any) -> List[Any]:
    """All tensors of what a module returned."""
    found: List[Any] = []
    _mapped(value, found.append)
    return found


def _measured(module: Callable[..., Any], x: Any, own: Dict[Any, Any], trains: bool,
              repeats: int) -> Tuple[Any, int, Tuple[float, float]]:
    """The output, what is kept for the backward pass, and the least time of each pass in ms."""
    import torch
    kept: Dict[Any, Tuple[int, Any]] = {}

    def now(tensors: List[Any]) -> float:
        if any(tensor.device.type == "cuda" for tensor in tensors):
            torch.cuda.synchronize()
        return 1e3 * time.perf_counter()

    def pack(tensor: Any) -> Any:
        key, size = _storage(tensor)
        if key not in own:
            kept[key] = size, tensor  # the tensor keeps the key from being used again
        return tensor

    forward, backward = [], [0.0] * (not trains)
    for _ in range(repeats):
        kept.clear()
        given = _mapped(x, lambda it: it.detach().requires_grad_(trains and it.is_floating_point()))
        start = now(_tensors(given))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor) if trains else \
                torch.no_grad():
            y = module(given)
        outputs = _tensors(y)
        middle = now(outputs)
        forward.append(middle - start)
        roots = [tensor for tensor in outputs if tensor.requires_grad]
        if trains and roots:
            torch.autograd.backward(roots, [torch.ones_like(it) for it in roots])
            backward.append(now(outputs) - middle)
    return y, sum(size for size, _ in kept.values()), (
        round(min(forward), 6), round(min(backward, default=0.0), 6))


def _sizes(tensors: Iterable[Tuple[int, int, Any]], assumed: Assumed) -> Tuple[int, int, int]:
    """The bytes of storages, of their gradients, and of all with the states of the optimizer."""
    weights = gradients = states = 0
    for size, elements, tensor in tensors:
        weights += size
        if tensor.requires_grad and assumed.train is not None and elements:
            gradients += round(elements * assumed.gradient_bytes(size / elements))
            states += round(elements * assumed.state_bytes(size / elements))
    return weights, gradients, weights + states


def _own(module: Any) -> Dict[Any, Tuple[int, int, Any]]:
    """The storages of parameters and buffers: bytes, elements and the largest tensor of each."""
    result: Dict[Any, Tuple[int, int, Any]] = {}
    if hasattr(module, "parameters"):
        for tensor in [*module.parameters(), *module.buffers()]:
            key, size = _storage(tensor)
            if key not in result or tensor.numel() > result[key][1]:
                result[key] = size, tensor.numel(), tensor
    return result


def of_modules(modules: Iterable[Tuple[str, Callable[..., Any]]], x: Any, *,
               optimizer: Optional[str] = "adam", gradient: Optional[str] = None,
               layers: Optional[Callable[[str], bool]] = None, repeats: int = 3,
               samples: int = 1) -> Table:
    """Calls the modules (name, module) in turn, the first one with `x`, and gives their costs:
    bytes of parameters and buffers, each storage once, with gradients and the states of the
    optimizer; what the backward pass keeps, without parameters; the least of `repeats` times; and
    the bytes of outputs, forward and backward. With `optimizer` None, inference. `layers` says of a
    name whether it is a layer: by default, if it ends with a number. With several `samples`, each
    has the least of `repeats` times, and a stage is as slow as in its slowest sample.

    Parameters that several modules use count once in a stage. Gradients are left in the modules."""
    number(repeats, "repeats", MAX_SAMPLES, 1)
    number(samples, "samples", MAX_SAMPLES, 1)
    assumed, trains = Assumed(train=optimizer, gradient=gradient), optimizer is not None
    is_layer = layers or (lambda name: name.rpartition(".")[2].isdigit())
    chain = [(str(name), module, _own(module)) for name, module in modules]
    users: Dict[Any, List[Tuple[str, Any]]] = {}
    for name, _, own in chain:
        for key, it in own.items():
            users.setdefault(key, []).append((name, it))
    table = Table(time_unit="ms")
    for name, module, own in chain:
        unit = Unit(name, kind="layer" if is_layer(name) else "other")
        unit.weight_bytes, unit.parameters, _ = _sizes(own.values(), assumed)
        *_, unit.memory = _sizes((it for key, it in own.items() if len(users[key]) == 1), assumed)
        runs = []
        for _ in range(samples):
            y, kept, run = _measured(module, x, own, trains, repeats)
            runs.append(run)
        unit.sampled(runs)
        unit.cut = (1 + trains) * sum(it.numel() * it.element_size() for it in _tensors(y))
        if trains:
            unit.stash, unit.inputs = kept, sum(_storage(it)[1] for it in _tensors(x))
        table.units.append(unit)
        x = y
    table.shared = [([name for name, _ in used], _sizes([used[0][1]], assumed)[2])
                    for used in users.values() if len(used) > 1]
    table.notes = [f"Measured, the least of {repeats} runs of each module. "
                   + ("Inference." if optimizer is None else
                      f"Training with {optimizer}, gradients in " + (gradient or (
                          "fp32" if optimizer == "adam-mixed" else "the dtype of the parameters"))
                      + "; memory has no activations: solve with --schedule 1f1b+1."),
                   "Cuts carry the outputs" + (" and their gradients." if optimizer else ".")]
    return table.checked("the modules")
