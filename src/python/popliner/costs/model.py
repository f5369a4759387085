"""A model as a chain: tensors by their names, hyperparameters, and the units that they make.

FLOPs, KV caches and activations are formulas of the hyperparameters; bytes of weights are those of
the tensors wherever a file lists them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Union

from ..errors import InputError, UsageError
from .table import DTYPE_BYTES, MAX_TIME, MAX_UNITS, Assumed, Table, Unit, ceil_div

Place = Union[int, str]  # a layer's number, or "embedding", "norm", "head"


@dataclass
class LayerShape:
    """A layer of a transformer. Numbers are of elements; FLOPs are those of one token."""

    parameters: int = 0
    expert_parameters: int = 0  #: the part of all experts but the shared ones
    active: int = 0  #: parameters of the matrices that a token is multiplied with
    kv: int = 0  #: elements that the cache keeps for a token
    kv_heads: int = 1  #: parts of the cache that devices share out; each is whole on some
    window: Optional[int] = None  #: the most tokens that it attends to
    score_width: int = 0  #: elements of query and value, of all heads together
    intermediate: int = 0  #: the width of the MLP that a token goes through


@dataclass
class Shape:
    """The hyperparameters of a model that costs depend on."""

    hidden: int
    vocabulary: int
    heads: int
    layers: List[LayerShape]
    embedding: int = 0
    norm: int = 0
    head: int = 0  #: 0 if tied
    is_tied: bool = False
    num_mtp: int = 0  #: the last of `layers` predict further tokens
    dtype: Optional[str] = None
    notes: List[str] = field(default_factory=list)


@dataclass
class Weights:
    """The tensors of a place, totalled."""

    size: int = 0
    elements: int = 0
    expert_size: int = 0
    expert_elements: int = 0

    def add(self, size: int, elements: int, is_expert: bool = False) -> None:
        self.size += size
        self.elements += elements
        if is_expert:
            self.expert_size += size
            self.expert_elements += elements

    def share(self, assumed: Assumed, training: bool) -> int:
        """The bytes on one device: as stored, with gradients and states if it trains."""
        total = 0
        for size, elements, degree in (
                (self.size - self.expert_size, self.elements - self.expert_elements,
                 assumed.tensor), (self.expert_size, self.expert_elements, assumed.experts)):
            if elements > 0 and training:
                size += round(elements * assumed.state_bytes(size / elements))
            total += ceil_div(size, degree)
        return total

    def gradients(self, assumed: Assumed) -> int:
        """The bytes of gradients on one device that replicas add up: not those of experts on
        other devices."""
        if assumed.train is None or self.elements == 0:
            return 0
        size = assumed.gradient_bytes(self.size / self.elements)
        return (ceil_div(round((self.elements - self.expert_elements) * size), assumed.tensor)
                + ceil_div(round(self.expert_elements * size), assumed.experts))


_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|h|blocks|block|blk)\.(\d{1,9})(?:\.|$)")
_EXPERT = re.compile(r"(?:^|[._])(?:experts|ffn_(?:gate|up|down|gate_up)_exps)(?:\.|$|_)")
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|head|output|embed_out|classifier|score|cls)(?:\.|$)")
_EMBEDDING = re.compile(r"embed|(?:^|\.)(?:wte|wpe|tok_|token_|position_embd|rope_freqs)")


def place_of(name: str) -> Place:
    """Where a tensor belongs, by its name."""
    layer = _LAYER.search(name)
    if layer is not None:
        return int(layer[1])
    if _HEAD.search(name):
        return "head"
    start = name.find("embed")
    if "norm" not in name and not re.search(r"(?:^|\.)ln_f(?:\.|$)", name) or \
            start >= 0 and "norm" in name[start:] or "embd_norm" in name or "embeddings." in name:
        return "embedding" if _EMBEDDING.search(name) else "other"
    return "norm"


def is_expert(name: str) -> bool:
    """True if a tensor belongs to experts that expert parallelism divides."""
    return _EXPERT.search(name) is not None and "shared" not in name


def _stacks(source: str, tensors: "Dict[str, tuple[int, int]]") -> Dict[str, str]:
    """The place of the tensors of every stack of layers but the main one, by what its names begin
    with. Two stacks that are numbered alike must not become one."""
    sizes: Dict[str, int] = {}
    for name, (size, _) in tensors.items():
        layer = _LAYER.search(name)
        if layer is not None:
            prefix = name[:layer.end(1)][:-len(layer[1])]
            sizes[prefix] = sizes.get(prefix, 0) + size
    if not sizes:
        raise InputError(f"{source}: no tensor is in a layer; expected names like layers.0.…, "
                         "h.0.…, blk.0.…")
    aside = {prefix: "other" if re.search(r"mtp", prefix) else "embedding" for prefix in sizes
             if re.search(r"vision|visual|audio|image|speech|mtp", prefix)}
    main = sorted(set(sizes) - set(aside))
    if len(main) > 1:
        raise InputError(f"{source}: layers of {' and of '.join(main[:4]):.400} have the same "
                         "numbers; expected one stack of layers")
    return aside if main else {}


def gather(source: str, tensors: "Dict[str, tuple[int, int]]") -> Dict[Place, Weights]:
    """Totals the (bytes, elements) of tensors by place."""
    aside = _stacks(source, tensors)
    places: Dict[Place, Weights] = {}
    for name, (size, elements) in tensors.items():
        layer = _LAYER.search(name)
        prefix = "" if layer is None else name[:layer.end(1)][:-len(layer[1])]
        place = aside.get(prefix, None) or place_of(name)
        places.setdefault(place, Weights()).add(size, elements,
                                                isinstance(place, int) and is_expert(name))
    numbers = sorted(place for place in places if isinstance(place, int))
    if numbers != list(range(len(numbers))):
        missing = next(i for i, number in enumerate(numbers) if number != i)
        raise InputError(f"{source}: layers go up to {numbers[-1]}, but {missing} has no tensor; "
                         "pass all files of the model")
    return places


def _times(shape: Shape, i: Optional[int], assumed: Assumed) -> int:
    """The FLOPs of a forward pass: of layer i, or of the head."""
    tokens = assumed.batch * assumed.sequence
    if i is None:
        if assumed.logits == "last":
            tokens = assumed.batch
        return 2 * tokens * shape.hidden * shape.vocabulary
    layer = shape.layers[i]
    reach = min(assumed.sequence, layer.window or assumed.sequence)
    return tokens * (2 * layer.active + 2 * reach * layer.score_width)


def _fill(unit: Unit, shape: Shape, i: Optional[int], assumed: Assumed) -> None:
    """Adds what the hyperparameters say about layer i, or about the head."""
    tokens = assumed.batch * assumed.sequence
    training = assumed.train is not None
    flops = _times(shape, i, assumed)
    unit.forward = ceil_div(flops, assumed.tensor)
    if training:
        unit.backward = 2 * unit.forward
        unit.inputs = ceil_div(2 * tokens * shape.hidden, assumed.tensor)
    if i is None:
        if training:
            unit.stash = ceil_div(4 * tokens * (shape.hidden + shape.vocabulary), assumed.tensor)
        return
    layer = shape.layers[i]
    if training:
        size = 18 * shape.hidden + 4 * layer.intermediate
        if assumed.activations == "all":
            size = 34 * shape.hidden + 5 * shape.heads * assumed.sequence
        unit.stash = ceil_div(tokens * size, assumed.tensor)
    else:
        kv_bytes = ceil_div(layer.kv * ceil_div(layer.kv_heads, assumed.tensor)
                            * DTYPE_BYTES[assumed.kv_dtype], layer.kv_heads)
        reach = min(assumed.sequence, layer.window or assumed.sequence)
        unit.memory += assumed.batch * reach * kv_bytes
        # a full window keeps no more
        unit.kv = kv_bytes if layer.window is None or reach < layer.window else 0


def _scale_times(table: Table, assumed: Assumed) -> None:
    """Converts FLOPs to the requested unit, or to one that a file can hold."""
    total = sum(unit.time + unit.forward for unit in table.units)
    table.time_unit, divisor = "FLOP", 1.0
    if assumed.tflops is not None:
        table.time_unit, divisor = "ms", assumed.tflops * 1e9
    elif total > MAX_TIME:
        table.time_unit, divisor = "MFLOP", 1e6
    for unit in table.units:
        for name in ("forward", "backward"):
            value = getattr(unit, name)
            setattr(unit, name, round(value / divisor, 6) if assumed.tflops is not None
                    else value if divisor == 1 else round(value / divisor))


def chain(source: str, places: Dict[Place, Weights], shape: Optional[Shape],
          assumed: Assumed, is_tied: bool = False) -> Table:
    """The units embedding, 0, 1, …, head of a model. No device has the weights of an embedding on
    the host; a head that is tied to it has its own."""
    table = Table()
    training = assumed.train is not None
    numbers = sorted(place for place in places if isinstance(place, int))
    num_mtp = shape.num_mtp if shape is not None else 0
    if shape is not None and len(numbers) != len(shape.layers):
        if len(numbers) == len(shape.layers) - num_mtp:
            num_mtp = 0
        else:
            raise InputError(f"{source}: {len(numbers)} layers have tensors, but the configuration "
                             f"has {len(shape.layers)}")
    if shape is not None and shape.heads % assumed.tensor != 0:
        raise InputError(f"{source}: {shape.heads} heads cannot be divided among "
                         f"{assumed.tensor} devices; give another tensor degree")
    if len(numbers) + 2 > MAX_UNITS:
        raise InputError(f"{source}: {len(numbers)} layers; expected at most {MAX_UNITS - 2}")
    for place in numbers:
        weights = places[place]
        is_mtp = place >= len(numbers) - num_mtp
        unit = Unit(f"mtp.{place - len(numbers) + num_mtp}" if is_mtp else str(place),
                    kind="mtp" if is_mtp else "layer")
        unit.memory = weights.share(assumed, training)
        unit.weight_bytes = weights.size
        unit.parameters = weights.gradients(assumed)
        if shape is not None:
            _fill(unit, shape, place, assumed)
        table.units.append(unit)
    ends = {"embedding": ("embedding",), "head": ("norm", "head", "other")}
    for name, parts in ends.items():
        weights = Weights()
        for part in parts:
            own = places.get(part, Weights())
            weights.add(own.size, own.elements)
        unit = Unit(name, kind="loss" if name == "head" else name, weight_bytes=weights.size,
                    memory=weights.share(assumed, training),
                    parameters=weights.gradients(assumed))
        if name == "head" and shape is not None:
            _fill(unit, shape, None, assumed)
        table.units.insert(0 if name == "embedding" else len(table.units), unit)
    _tie(table, places, shape, assumed, is_tied)
    if assumed.embedding == "host":
        embedding = table.units[0]
        table.notes.append(f"The embedding, {embedding.weight_bytes} bytes, is on the host: no "
                           "device has it (embedding device changes that).")
        embedding.memory = 0
    if shape is not None:
        size = 2 * assumed.batch * assumed.sequence * shape.hidden * (2 if training else 1)
        for unit in table.units:
            unit.cut = size
        _scale_times(table, assumed)
    _explain(table, places, shape, assumed)
    return table.checked(source)


def _tie(table: Table, places: Dict[Place, Weights], shape: Optional[Shape], assumed: Assumed,
         is_tied: bool) -> None:
    """A head without weights uses those of the embedding: once in a stage that has both."""
    if not (is_tied or (shape is not None and shape.is_tied)) or "head" in places or \
            "embedding" not in places:
        return
    embedding, head = table.units[0], table.units[-1]
    own = places["embedding"]
    size = own.share(assumed, assumed.train is not None)
    if shape is not None and 0 < shape.hidden * shape.vocabulary < own.elements:
        # positions are not tied
        part = Weights()
        elements = shape.hidden * shape.vocabulary
        part.add(own.size * elements // own.elements, elements)
        size = part.share(assumed, assumed.train is not None)
    if assumed.embedding == "host":
        head.memory += size
        table.notes.append("The head is tied to the embedding, of which it has a copy.")
        return
    embedding.memory -= size
    table.shared.append(([embedding.name, head.name], size))
    table.notes.append("The head is tied to the embedding: a stage with both has the weights once, "
                       "two stages have a copy each.")


def _explain(table: Table, places: Dict[Place, Weights], shape: Optional[Shape],
             assumed: Assumed) -> None:
    """Says what was assumed."""
    say = table.notes.append
    parts = ", ".join(f"{part} {places[part].size}"
                      for part in ("embedding", "norm", "head", "other") if part in places)
    say(f"Bytes of weights outside the layers: {parts or 'none'}; norm and others count in head.")
    if assumed.train is None:
        say("Inference: weights as stored, no gradients.")
    else:
        say(f"Training with {assumed.train}: gradients in "
            f"{assumed.gradient or ('fp32' if assumed.train == 'adam-mixed' else 'the dtype of the weights')}"
            "; memory has no activations: solve with --schedule 1f1b+1.")
    if any(weights.expert_size for weights in places.values()):
        say(f"Experts are divided by {assumed.experts}, all other weights by {assumed.tensor}; "
            "every expert is assumed to get as many tokens.")
    elif assumed.tensor > 1:
        say(f"All weights are divided by {assumed.tensor}.")
    if shape is None:
        say("No hyperparameters that the importer understands: no times, caches, activations or "
            "bytes over cuts.")
        return
    table.notes.extend(shape.notes)
    say(f"A micro-batch has {assumed.batch} sequences of {assumed.sequence} tokens.")
    if assumed.train is None:
        say(f"KV cache in {assumed.kv_dtype}: memory has that of every token of the micro-batch, "
            "at most the window's; kv is what another token takes.")
    else:
        say("Backward takes twice the forward FLOPs. Activations of a layer: "
            + ("34 h + 5 a s bytes a token, nothing recomputed."
               if assumed.activations == "all" else
               "18 h + 4 f bytes a token: attention is recomputed, or flash attention."))
    say("Time: matrix products and attention scores, "
        + (f"at {assumed.tflops} TFLOP in a second" if assumed.tflops is not None
           else f"in {table.time_unit}")
        + ("; the head's for the last token of each sequence." if assumed.logits == "last" else
           "." if assumed.train is not None else
           "; the head's for every token (logits last: for the last one of a sequence)."))


def require_whole(assumed: Assumed, source: str, what: str) -> None:
    """Quantised weights do not train."""
    if assumed.train is not None:
        raise UsageError(f"{source}: {what} is quantised and does not train; leave out train")
