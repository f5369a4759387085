"""A model as a chain: tensors by their names, hyperparameters, and the units that they make.

FLOPs, KV caches and activations are formulas of the hyperparameters; bytes of weights are those of
the tensors wherever a file lists them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional, Tuple, Union

from .._calling import clean
from ..errors import UsageError
from .table import (KV_BYTES, MAX_TIME, SHARDS, Assumed, Cache, LayerShape, Shape, Table,
                    Unit, at_most, ceil_div, expect)
from .workspace import BOUNDS, MASK_UNIT, OTHER, SHARES, fill_training, workspace_of

Place = Union[int, str]  # a layer's number, or "embedding", "norm", "head"


@dataclass
class Weights:
    """The tensors of a place, totalled: bytes and elements of each kind. "expert" and "whole" are
    what expert parallelism divides and what tensor parallelism does not, "copy" is of embedding
    and head, which training does not copy, and "" all else."""

    sizes: "Counter[str]" = field(default_factory=Counter)
    counts: "Counter[str]" = field(default_factory=Counter)

    def add(self, size: int, elements: int, kind: str = "") -> "Weights":
        self.sizes[kind] += size
        self.counts[kind] += elements
        return self

    def __add__(self, other: "Weights") -> "Weights":
        return Weights(self.sizes + other.sizes, self.counts + other.counts)

    size = property(lambda self: sum(self.sizes.values()), doc="All bytes.")
    elements = property(lambda self: sum(self.counts.values()), doc="All elements.")

    def parts(self, assumed: Assumed) -> List[Tuple[int, int, int, int]]:
        """The bytes, elements, the degree that divides them, and how many tensor ranks have
        different ones. Without training or a server all but experts is divided."""
        tensor, trains = assumed.tensor, assumed.train is not None
        rest = "whole" if trains or assumed.serves else "none"
        divided = {"", "copy", "whole"} - {rest} - ({"copy"} if trains else set())
        return [(sum(map(self.sizes.__getitem__, kinds)), sum(map(self.counts.__getitem__, kinds)),
                 degree, different) for kinds, degree, different in (
                     (divided, tensor, tensor), (["expert"], assumed.experts or 1, tensor),
                     ([rest], 1, 1))]

    def share(self, assumed: Assumed, trains: bool, more: int = 0) -> Tuple[int, int]:
        """The bytes on one device: as stored, with gradients and states if it trains. Ranks that
        have the same experts, or the same part of other weights, divide what is sharded; if their
        number is not given, the second number is what they would divide. `more` are bytes for each
        parameter that an optimizer has besides."""
        total, sharded, context = 0, 0, assumed.context_parallel
        count = SHARDS.index(assumed.shard)
        for size, elements, degree, tensor in self.parts(assumed):
            parts = [0, 0, size]
            if elements > 0 and trains:
                gradient = assumed.gradient_bytes(size / elements)
                parts = [round(elements * (assumed.state_bytes(size / elements) - gradient + more)),
                         round(elements * gradient), size]
            total += ceil_div(sum(parts[count:]), degree)
            if assumed.data:
                total += ceil_div(sum(parts[:count]), max(assumed.data * context * tensor, degree))
            else:
                sharded += ceil_div(sum(parts[:count]), tensor * context)
        return total, sharded

    def gradients(self, assumed: Assumed, trains: bool) -> int:
        """The bytes of gradients on one device that replicas add up: not those of experts on
        other devices."""
        if not trains or self.elements == 0:
            return 0
        size = assumed.gradient_bytes(self.size / self.elements)
        return sum(ceil_div(round(elements * size), degree)
                   for _, elements, degree, _ in self.parts(assumed))


_LAYER = re.compile(r"(?:^|[./])(?:layers?|h|blocks?|blk|resblocks)[._](\d{1,9})(?:\.|$)")
_NUMBER = re.compile(r"\.(\d{1,9})(?:\.|$)")
_EXPERT = re.compile(r"(?:^|[._])(?:experts|ffn_(?:gate|up|down|gate_up)_exps)(?:\.|$|_)"
                     r"|ffn_(?:gate|up|down)\.\d")
_HEAD = re.compile(r"(?:^|\.)(?:lm_head|head|output|embed_out|proj_out|classifier|score|cls)"
                   r"(?:\.|$)")
_INPUT = re.compile(r"embed|(?:^|\.)(?:wte|wpe|tok_|token_(?:embd|types)|position_embd|"
                    r"per_layer_token|shared\b)")
_TABLE = re.compile(r"(?:^|\.)(?:token_embd|embed_tokens|wte|embed_in|shared|"
                    r"(?:word_|tok_)?embeddings?)\.weight$")
#: What comes before the layers, but is no table: towers, and what fits their outputs to the model.
_TOWER = re.compile(r"visi|visual|audio|image|speech|video|tower|projector|connector|resampler|"
                    r"aligner|qformer|perceiver|patch_embed|(?:^|\.)(?:vit|mlp1|conv[12])\.")
#: What tensor parallelism does not divide: norms, routers, latent projections, positions.
_WHOLE = re.compile(r"norm|(?:^|\.)ln_|q_a_proj|kv_a_proj|attn_(?:q|kv)_a|ffn_gate_inp|posit|"
                    r"(?:^|\.)(?:gate|router|wpe)\.")
_COPY = re.compile(r"\.(?:embed_tokens|shared_head[._]head)\.")
_MTP = re.compile(r"(?:^|\.)mtp")
#: The most stacks of layers, one after another.
MAX_STACKS = 64
_GENERIC = {"model", "layers", "layer", "h", "block", "blocks", "blk", "transformer", "module", ""}


def place_of(name: str) -> Place:
    """Where a tensor that is in no layer belongs: tables of the embedding are the input."""
    is_norm = "norm" in name or re.search(r"(?:^|\.)ln_\w", name) is not None
    if _TOWER.search(name) or "rope_freqs" in name:
        return "embedding"
    if _HEAD.search(name):
        return "head"
    if _INPUT.search(name):
        return "embedding" if is_norm else "input"
    return "embedding" if is_norm and "embd" in name else "norm" if is_norm else "other"


def kind_of(name: str) -> str:
    """The kind of a tensor of a layer."""
    is_expert = _EXPERT.search(name) is not None and "shared" not in name
    return "copy" if _COPY.search(name) else "expert" if is_expert else \
        "whole" * (_WHOLE.search(name) is not None)


@dataclass
class Model:
    """The tensors of a chain, by place; those of layers by their position."""

    names: List[str]  #: of the layers
    places: Dict[Place, Weights]
    num_mtp: int = 0  #: the last of the layers predict further tokens
    is_quantised: bool = False  #: so that it does not train
    others: List[str] = field(default_factory=list)  #: tensors whose place is a guess
    notes: List[str] = field(default_factory=list)


def gather(source: str, tensors: "Dict[str, tuple[int, int]]",
           count: Optional[int] = None) -> Model:
    """Totals the (bytes, elements) of tensors by place. A stack of layers follows another, towers
    are part of the embedding. With `count` there are that many layers, even without tensors."""
    pattern = _LAYER if any(map(_LAYER.search, tensors)) else _NUMBER
    stacks = {"blk.": {i: Weights() for i in range(count)}} if count else {}
    model, loose = Model([], {}), []
    for name, size in tensors.items():
        layer = pattern.search(name)
        if layer is None:
            loose.append(name)
        else:
            prefix = "blk." if count else name[:layer.start(1)]
            stacks.setdefault(prefix, {}).setdefault(int(layer[1]), Weights()).add(
                *size, kind_of(name))
    expect(stacks, f"{source}: no tensor is in a layer; expected names like layers.0.…, h.0.…, "
           "blk.0.…")
    main = sorted((it for it in stacks if not _TOWER.search(it) and not _MTP.search(it)),
                  key=lambda it: "decoder" in it) or list(stacks)
    ahead = [it for it in stacks if _MTP.search(it) and it not in main[:MAX_STACKS]]
    at_most(len(main) + len(ahead), MAX_STACKS, source, "stacks of layers")
    # what tells stacks from others: "encoder." of "model.encoder.layers."
    words = [next((part for part in reversed(it.split(".")) if part not in _GENERIC), "")
             for it in main]
    for prefix, word in itertools.zip_longest(main + ahead, words):
        label = "" if len(main) < 2 else f"{word}." if word and words.count(word) == 1 else prefix
        layers = stacks.pop(prefix)
        last = max(layers)
        expect(not count or last < count,
               f"{source}: block_count is {count}, but block {last} has tensors")
        missing = next((i for i in range(len(layers)) if i not in layers), None)
        expect(missing is None, f"{source}: layers go up to {last}, but {missing} has no tensor; "
               "pass all files of the model")
        for i in range(len(layers)):
            model.places[len(model.names)] = layers[i]
            model.names.append(f"{label}{i}")
        model.num_mtp += 0 if prefix in main else len(layers)
    places = model.places
    for weights in (weights for layers in stacks.values() for weights in layers.values()):
        places.setdefault("embedding", Weights()).add(weights.size, weights.elements)
    for name in loose:
        place = len(model.names) - 1 if model.num_mtp and _MTP.search(name) else place_of(name)
        places.setdefault(place, Weights()).add(
            *tensors[name], "whole" * (_WHOLE.search(name) is not None))
        if place == "input" and _TABLE.search(name) and (
                "table" not in places or tensors[name][0] > places["table"].size):
            places["table"] = Weights().add(*tensors[name])
        model.others += [name] * (place == "other")
    return model


def _entries(cache: Cache, shape: Shape, assumed: Assumed) -> Tuple[int, Optional[int]]:
    """The entries of a cache, and by how many tokens it grows; None for any number."""
    tokens = assumed.sequence if cache.window is None else cache.window if cache.is_full else min(
        assumed.sequence, cache.window)
    if not shape.is_llama:  # a server's tokens are those of many sequences
        return assumed.batch * ceil_div(tokens, cache.ratio), \
            None if cache.window is None or assumed.serves else \
            assumed.batch * (cache.window - tokens)
    count = assumed.batch if cache.is_own else 1  # each of the tokens of all sequences
    if cache.ratio > 1:
        return count * MASK_UNIT * ceil_div(
            ceil_div(assumed.batch * tokens, cache.ratio), MASK_UNIT), None
    tokens = assumed.cells * ceil_div(assumed.batch * assumed.sequence, assumed.cells)
    most = tokens if cache.window is None else MASK_UNIT * ceil_div(
        cache.window * (assumed.batch // count) + assumed.ubatch, MASK_UNIT)
    return count * min(tokens, most), None if cache.window is None else max(most - tokens, 0)


def _recompute_layers(table: Table, assumed: Assumed) -> None:
    """Each group of layers keeps its input, and a stage needs the activations of its largest. Such
    are all of "layers", each N of a stage of the job, or of all, of "layers:N", and alone the first
    N of each L of "block:N/L"."""
    layers = [it for it in table.units if it.kind == "layer"]
    kind, *numbers = re.split("[:/]", assumed.recompute)
    first, every = map(int, (numbers + ["1", "1"])[:2])
    size = first if kind == "layers" else 1
    lengths = assumed.stage_layers if sum(assumed.stage_layers) == len(layers) else [len(layers)]
    ends = [*itertools.accumulate(lengths)]
    groups = [layers[i:min(i + size, end)] for length, end in zip(lengths, ends)
              for i in range(end - length, end, size) if kind == "layers" or i % every < first]
    for group in [*groups, *([it] for it in table.units if it.kind == "mtp")]:
        begin, kept = group[0], sum(it.stash for it in group)
        begin.workspace = kept + max(it.workspace for it in group)
        for unit in group:
            unit.stash, unit.backward = 0, unit.backward + unit.forward
        begin.stash, begin.recomputed = begin.inputs, max(kept - begin.inputs, 0)
    for unit in table.units:
        unit.inputs = 0
    size = max(map(len, groups))
    table.uncut = [it.name for group in groups for it in group[:-1]]
    rule = f", and with --require no-cut:{','.join(table.uncut)}" if table.uncut else ""
    kept = "each layer" if size == 1 else f"each group of {size} layers"
    table.notes.append(f"Recomputing keeps an input for {kept}: a stage has the activations of the "
                       f"largest once, in zero-bubble of all. Solve without --recompute{rule}.")


def _freeze(table: Table, assumed: Assumed) -> None:
    """Units before the first that trains have no backward pass; later ones that do not train have
    no gradients of weights."""
    trains = [assumed.trains(it.name) or assumed.lora > 0 and it.kind in ("layer", "mtp")
              for it in table.units]
    expect(any(trains), f"trainable {assumed.trainable}: no unit is called so; they are "
           f"{', '.join(it.name for it in table.units):.200}", UsageError)
    for i, unit in enumerate(table.units):
        if i < trains.index(True):
            unit.stash = unit.inputs = unit.recomputed = unit.backward = 0
            unit.cut //= 2
        elif not assumed.trains(unit.name):
            unit.backward -= unit.forward


#: The parts that may be more or less in training, all alike.
PARTS = ("memory", "sharded", "stash", "inputs", "workspace", "recomputed", "step")


class _Chain:
    """The units of a model as they are made, in `table`. No device has the tables of an embedding
    on the host; a head that is tied to them has its own."""

    def __init__(self, source: str, model: Model, shape: Optional[Shape], assumed: Assumed) -> None:
        self.model, self.shape, self.assumed = model, shape, assumed
        self.table, self.training = Table(), assumed.train is not None
        self.has_experts = any(it.sizes["expert"] for it in model.places.values())
        places = [it for place, it in model.places.items() if place != "table"]
        #: The bytes of an element of activations: of fp32 where the weights that train are, as
        #: nothing then computes in less.
        self.width = 4 if assumed.train not in (None, "adam-mixed") and sum(
            it.size for it in places) >= 4 * sum(it.elements for it in places) else 2
        self.num_mtp, self.keeps_mtp = model.num_mtp, assumed.mtp != "drop"
        self.num_layers = count = len(model.names)
        if shape is not None:
            if model.num_mtp and count - model.num_mtp == len(shape.layers):
                # which the configuration leaves out
                shape.layers += [LayerShape() for _ in range(model.num_mtp)]
                shape.num_mtp = model.num_mtp
            expect(count in (len(shape.layers), len(shape.layers) - shape.num_mtp),
                   f"{source}: {count} layers have tensors, but the configuration has "
                   f"{len(shape.layers)}")
            self.num_mtp = max(model.num_mtp, shape.num_mtp - len(shape.layers) + count)
            expect(shape.heads % assumed.tensor == 0, f"{source}: {shape.heads} heads cannot "
                   f"be divided among {assumed.tensor} devices; give another tensor degree")
        expect(assumed.train is None or not model.is_quantised, f"{source}: is quantised and does "
               "not train; leave out train", UsageError)
        expect(not assumed.lora or (shape and any(layer.sides for layer in shape.layers)), "lora "
               f"{assumed.lora}: {source} does not say which matrices its layers have; give a "
               "config.json", UsageError)

    def fill(self, unit: Unit, i: Optional[int]) -> None:
        """Adds what the hyperparameters say about layer i, or about the head."""
        assumed, shape = self.assumed, self.shape
        layer = LayerShape() if i is None else shape.layers[i]
        if i is None:
            more = sum(layer.logits for layer in shape.layers) if assumed.trains_mtp else 0
            flops = 2 * (assumed.batch if assumed.logits == "last" else assumed.tokens) * (
                shape.hidden * shape.vocabulary + more)
        else:
            reach = min([assumed.sequence, *(it.window for it in layer.caches if it.window)])
            active = layer.active + (0 if assumed.trains_mtp else layer.logits)
            flops = assumed.tokens * (2 * active + 2 * reach * layer.score_width)
        unit.forward = ceil_div(flops, assumed.tensor)
        if self.training:
            fill_training(unit, shape, i, assumed, self.width)
            return
        unit.workspace = workspace_of(shape, i, assumed,
                                      is_first=i is not None and i < assumed.first_layers)
        unit.cache = assumed.batch * ceil_div(layer.state, assumed.tensor)
        key, value = (KV_BYTES[it] for it in assumed.cache_dtypes)
        grow = []
        for cache in layer.caches:
            size = cache.entry_bytes or ceil_div(
                ceil_div(cache.heads, assumed.tensor)
                * ((cache.elements - cache.values) * key + cache.values * value), cache.heads)
            entries, tokens_left = _entries(cache, shape, assumed)
            unit.cache += entries * size
            if tokens_left != 0:
                count = assumed.batch if shape.is_llama and cache.is_own else 1
                unit.kv += ceil_div(count * size, cache.ratio)
                grow.append(tokens_left)
        unit.kv_tokens = None if None in grow else max(grow, default=None)
        unit.memory += unit.cache

    def unit(self, name: str, kind: str, weights: Weights, place: Optional[int] = None) -> Unit:
        """A unit with its weights, and what these need to train: of layer `place`, or of an end."""
        unit, assumed, shape = Unit(name, kind=kind), self.assumed, self.shape
        unit.weight_bytes, trains = weights.size, assumed.trains(name)
        is_loaded = kind != "mtp" or self.keeps_mtp
        if is_loaded:
            unit.memory, unit.sharded = weights.share(assumed, trains)
            unit.parameters = weights.gradients(assumed, trains)
            if assumed.torch_adam:  # while it steps: roots of the second moments in fp32
                unit.step = sum(weights.share(assumed, trains, 4)) - unit.memory - unit.sharded
        if shape is not None and kind != "embedding":
            self.fill(unit, place)
        elif shape is not None and self.training:
            unit.workspace = OTHER
        if assumed.shard == "parameters":
            # all weights of a unit that runs, those of the next one, and gradients
            whole = replace(assumed, shard="none")
            unit.workspace += 2 * weights.share(whole, False)[0] + \
                weights.gradients(assumed, trains)
        if place is not None and is_loaded and assumed.lora and weights.elements:  # adapters
            count = assumed.lora * shape.layers[place].sides
            adapters = Weights().add(round(count * weights.size / weights.elements), count)
            whole = replace(assumed, lora=0, tensor=1, experts=1, shard="none")
            unit.memory += sum(adapters.share(whole, True))
            unit.parameters = adapters.gradients(whole, True)
        size = 0 if place is None or not is_loaded else ceil_div(weights.sizes["expert"],
                                                                 assumed.experts)
        if size and place < assumed.host_experts:
            unit.memory -= size
        elif size and assumed.host_slowdown and not self.training and place >= assumed.host_layers:
            more = 0 if shape is None else 2 * assumed.tokens * shape.layers[place].used * (
                assumed.host_slowdown - 1)
            unit.host = unit.memory - size, unit.forward + ceil_div(more, assumed.tensor)
        if place is not None and place < assumed.host_layers:
            unit.memory = unit.kv = unit.cache = 0
        return unit

    def add_units(self) -> None:
        """The units embedding, 0, 1, …, head."""
        assumed, places, count = self.assumed, self.model.places, self.num_layers
        units, first_mtp = self.table.units, count - self.num_mtp
        is_llama = self.shape is not None and self.shape.is_llama
        first, last = (sum(filter(None, map(places.get, parts)), Weights()) for parts in (
            ("embedding", "input"), ("norm", "head", "other")))
        units.append(self.unit("embedding", "embedding", first))
        for place, name in enumerate(self.model.names):
            if place < first_mtp:
                units.append(self.unit(clean(name), "layer", places[place], place))
            elif self.keeps_mtp or is_llama:
                units.append(self.unit(f"mtp.{place - first_mtp}", "mtp", places[place], place))
        units.append(self.unit("head", "loss", last))
        if assumed.host_layers:
            self.table.notes.append(
                f"The first {min(assumed.host_layers, count)} layers run on the host.")
        on_host = sum(places[i].sizes["expert"]
                      for i in range(min(assumed.host_experts, len(units) - 2))
                      if i < first_mtp or self.keeps_mtp)
        if on_host:
            self.table.notes.append(f"Experts of {on_host} bytes are on the host: those of the "
                                    f"first {min(assumed.host_experts, count)} layers.")
        if is_llama and not self.training and not assumed.serves:
            # the first device has the inputs, and prompts copy a tensor of experts at a time to it
            begin = assumed.host_layers
            units[0].workspace = max((
                workspace_of(self.shape, i, assumed, ceil_div(places[i].sizes["expert"], 3)
                             if i < assumed.host_experts else 0, True)
                for i in range(begin, min(max(assumed.host_experts, begin + 1), count))), default=0)

    def share_table(self, is_tied: bool) -> None:
        """A head without weights uses the table of tokens, as do layers that predict further tokens
        in training: once in a stage that has both."""
        table, places, assumed = self.table, self.model.places, self.assumed
        embedding, head = table.units[0], table.units[-1]
        users = [unit.name for unit in table.units[1:]
                 if unit.kind == "mtp" and assumed.trains_mtp or unit is head and is_tied]
        if users and "table" in places:
            size, sharded = places["table"].share(
                assumed, any(map(assumed.trains, ("embedding", *users))))
            if assumed.embedding == "host":
                head.memory += size
                table.notes.append("The head is tied to the embedding, of which it has a copy.")
            else:
                own, own_sharded = places["table"].share(assumed, assumed.trains(embedding.name))
                embedding.memory -= own
                embedding.sharded -= own_sharded
                table.shared.append(([embedding.name, *users], size + sharded))
                table.notes.append(f"The embedding's weights are also of {', '.join(users):.99}: "
                                   "once in a stage with both, else each has a copy.")
        if assumed.embedding == "host" and "input" in places:
            size = sum(places["input"].share(assumed, False))
            table.notes.append(f"The embedding, {size} bytes, is on the host: no device has it "
                               "(embedding device changes that).")
            embedding.memory -= size


def _explain(chain: _Chain) -> None:
    """Says what was assumed."""
    table, model, shape, assumed = chain.table, chain.model, chain.shape, chain.assumed
    say, left_out = table.notes.append, table.not_counted.append
    table.notes.extend(model.notes)
    if model.others:
        say(f"Nothing says where these belong: {', '.join(model.others):.400}.")
    say(assumed.told(shape is not None and shape.is_llama and not chain.training))
    if chain.has_experts:
        say(f"Experts are divided by {assumed.experts}, and get as many tokens each.")
    if assumed.tensor > 1:
        say(f"A device is one of the {assumed.tensor} tensor-parallel GPUs of its stage.")
    if chain.training:
        say("Memory has no activations: solve with --schedule 1f1b+1.")
        layers = [] if shape is None else shape.layers
        for is_left_out, what in (
                (shape is None, "activations and workspaces, as no hyperparameters are known"),
                (any(it.is_guessed for it in layers),
                 "what scans and convolutions keep (a guess is)"),
                (any(it.latent and it.routed for it in layers),
                 "buffers of experts: with latent attention a log has 12 GiB more a device")):
            if is_left_out:
                left_out(what)
    if shape is None:
        say("No hyperparameters that the importer understands: no times, caches, activations or "
            "bytes over cuts.")
        return
    table.notes.extend(shape.notes)
    if not chain.training and not assumed.serves:
        table.not_counted.extend(shape.not_counted)
    alone = ", on one device (--pipeline N: of N)" if assumed.stages == 1 else ""
    if assumed.server_name == "sglang":
        say(f"Workspaces of {assumed.server} are in what it keeps free of devices.")
        left_out("activations and graphs, for which SGLang keeps a share of devices free "
                 "(--mem-fraction-static; so does --devices, with no --reserve)")
    elif assumed.serves:
        say(f"Workspaces of {assumed.server} have activations, samples of sequences, and what "
            f"PyTorch does not count{alone}, but no graphs.")
    elif any(unit.workspace for unit in table.units) and not chain.training:
        say(f"Workspaces are llama.cpp's compute buffers{alone}, without what the driver needs.")
    say(f"A micro-batch has {assumed.batch} sequence{'s' if assumed.batch != 1 else ''} of "
        f"{assumed.sequence} tokens.")
    table.samples = assumed.batch


def chain(source: str, model: Model, shape: Optional[Shape], assumed: Assumed,
          is_tied: bool = False) -> Table:
    """The units embedding, 0, 1, …, head of a model."""
    own = _Chain(source, model, shape, assumed)
    table = own.table
    own.add_units()
    own.share_table((is_tied or shape is not None and shape.is_tied) and "head" not in model.places)
    if own.num_mtp:
        table.notes.append(f"{own.num_mtp} layers predict further tokens"
                           + (": the units mtp.…." if own.keeps_mtp else
                              " and are not loaded (mtp keep changes that)."))
    if shape is not None:
        for unit in table.units:
            unit.cut = own.width * assumed.tokens * shape.hidden * (2 if own.training else 1)
        if assumed.recompute.startswith(("layers", "block")):
            _recompute_layers(table, assumed)
        total = sum(unit.time + (unit.host or (0, unit.forward))[1] for unit in table.units)
        table.time_unit, divisor, digits = ("FLOP", None, None) if total <= MAX_TIME else (
            "MFLOP", 1e6, None)
        if assumed.tflops is not None:
            table.time_unit, divisor, digits = "ms", assumed.tflops * 1e9, 6
        for unit in table.units if divisor else ():
            unit.forward, unit.backward = (round(it / divisor, digits) for it in (
                unit.forward, unit.backward))
            unit.host = unit.host and (unit.host[0], round(unit.host[1] / divisor, digits))
    if assumed.lora or assumed.trainable is not None:
        _freeze(table, assumed)
    for estimate, (factor, unused) in BOUNDS.items():
        share = SHARES[estimate][own.has_experts]
        table.shared_shares.update({estimate: share} if own.training else {})
        for unit in table.units:
            unit.estimates[estimate] = {it: round(getattr(unit, it) * share) for it in PARTS} \
                if own.training else \
                {"workspace": round(factor * unit.workspace) + unused} if unit.workspace else {}
    _explain(own)
    return table.checked(source)
