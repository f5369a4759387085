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


def _tensors(value: Any) -> List[Any]:
    """All tensors of what a module returned."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for it in value for tensor in _tensors(it)]
    return [value] if hasattr(value, "numel") else []


def _detached(value: Any, trains: bool) -> Any:
    """What a module returned, as input of the next one."""
    if isinstance(value, dict):
        return {key: _detached(it, trains) for key, it in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_detached(it, trains) for it in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if not hasattr(value, "numel"):
        return value
    value = value.detach()
    return value.requires_grad_() if trains and value.is_floating_point() else value


def _measured(module: Callable[..., Any], x: Any, own: Dict[Any, int], trains: bool,
              repeats: int) -> Tuple[Any, int, float, float]:
    """The output, what is kept for the backward pass, and the least time of each pass in ms."""
    import torch
    kept: Dict[Any, Tuple[int, Any]] = {}

    def now(outputs: List[Any]) -> float:
        if any(tensor.device.type == "cuda" for tensor in outputs):
            torch.cuda.synchronize()
        return time.perf_counter()

    def pack(tensor: Any) -> Any:
        key, size = _storage(tensor)
        if key not in own:
            kept[key] = size, tensor  # the tensor keeps the key from being used again
        return tensor

    forward, backward = [], [0.0] * (not trains)
    for _ in range(repeats):
        kept.clear()
        given = _detached(x, trains)
        start = now(_tensors(given))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor) if trains else \
                torch.no_grad():
            y = module(given)
        outputs = _tensors(y)
        middle = now(outputs)
        forward.append(1e3 * (middle - start))
        roots = [tensor for tensor in outputs if tensor.requires_grad]
        if trains and roots:
            torch.autograd.backward(roots, [torch.ones_like(it) for it in roots])
            backward.append(1e3 * (now(outputs) - middle))
    return y, sum(size for size, _ in kept.values()), min(forward), min(backward, default=0.0)


def _states(tensors: Dict[Any, Tuple[int, int, Any]], assumed: Assumed) -> Tuple[int, int]:
    """The gradients of storages, and these with the states of the optimizer."""
    gradients = states = 0
    for size, elements, tensor in tensors.values():
        if tensor.requires_grad and assumed.train is not None and elements:
            gradients += round(elements * assumed.gradient_bytes(size / elements))
            states += round(elements * assumed.state_bytes(size / elements))
    return gradients, states


def _own(module: Any) -> Dict[Any, Tuple[int, int, Any]]:
    """The storages of parameters and buffers: bytes, elements and a tensor of each."""
    result: Dict[Any, Tuple[int, int, Any]] = {}
    if not hasattr(module, "parameters"):
        return result
    for tensor in [*module.parameters(), *module.buffers()]:
        key, size = _storage(tensor)
        known = result.get(key)
        if known is None or tensor.numel() > known[1]:
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
    assumed = Assumed(train=optimizer, gradient=gradient)
    chain = [(str(name), module) for name, module in modules]
    owned = [_own(module) for _, module in chain]
    users: Dict[Any, List[int]] = {}
    for place, own in enumerate(owned):
        for key in own:
            users.setdefault(key, []).append(place)
    table = Table(time_unit="ms")
    is_layer = layers or (lambda name: name.rpartition(".")[2].isdigit())
    for (name, module), own in zip(chain, owned):
        given = sum(_storage(tensor)[1] for tensor in _tensors(x))
        sizes = {key: size for key, (size, _, _) in own.items()}
        runs = []
        for _ in range(samples):
            y, kept, forward, backward = _measured(
                module, x, sizes, optimizer is not None, repeats)
            runs.append((round(forward, 6), round(backward, 6)))
        alone = {key: it for key, it in own.items() if len(users[key]) == 1}
        gradients, states = _states(alone, assumed)
        unit = Unit(name, kind="layer" if is_layer(name) else "other",
                    parameters=_states(own, assumed)[0], weight_bytes=sum(sizes.values()))
        unit.sampled(runs)
        unit.memory = sum(size for size, _, _ in alone.values()) + states
        size = sum(tensor.numel() * tensor.element_size() for tensor in _tensors(y))
        unit.cut = 2 * size if optimizer is not None else size
        if optimizer is not None:
            unit.stash, unit.inputs = kept, given
        table.units.append(unit)
        x = y
    for key, places in users.items():
        if len(places) > 1:
            own_one = {key: owned[places[0]][key]}
            table.shared.append(([chain[place][0] for place in places],
                                 owned[places[0]][key][0] + _states(own_one, assumed)[1]))
    table.notes = [f"Measured, the least of {repeats} runs of each module. "
                   + ("Inference." if optimizer is None else
                      f"Training with {optimizer}, gradients in " + (gradient or (
                          "fp32" if optimizer == "adam-mixed" else "the dtype of the parameters"))
                      + "; memory has no activations: solve with --schedule 1f1b+1."),
                   "Cuts carry the outputs" + (" and their gradients." if optimizer else ".")]
    return table.checked("the modules")
