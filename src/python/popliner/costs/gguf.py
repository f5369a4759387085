"""Bytes of tensors and hyperparameters from GGUF files, versions 2 and 3.

The layout is that of ggml's docs/gguf.md; blocks of types are those of ggml (gguf-py's
GGML_QUANT_SIZES). Only the part before the data is read.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import re
import struct
from typing import Any, Dict, List, Optional, Tuple

from ..errors import InputError
from .workspace import BEGINS
from .model import Model, Weights, chain, gather
from .table import (MAX_UNITS, Assumed, Cache, LayerShape, Shape, Source, Table, at_most, expect,
                    rows_of, whole)

#: The name of a type, and elements and bytes of a block, by the type's number.
BLOCKS = {int(number): (name, int(elements), int(size)) for name, (number, elements, size) in
          rows_of("""
F32 0 1 4|F16 1 1 2|Q4_0 2 32 18|Q4_1 3 32 20|Q5_0 6 32 22|Q5_1 7 32 24|Q8_0 8 32 34|Q8_1 9 32 36
Q2_K 10 256 84|Q3_K 11 256 110|Q4_K 12 256 144|Q5_K 13 256 176|Q6_K 14 256 210|Q8_K 15 256 292
IQ2_XXS 16 256 66|IQ2_XS 17 256 74|IQ3_XXS 18 256 98|IQ1_S 19 256 50|IQ4_NL 20 32 18
IQ3_S 21 256 110|IQ2_S 22 256 82|IQ4_XS 23 256 136|I8 24 1 1|I16 25 1 2|I32 26 1 4|I64 27 1 8
F64 28 1 8|IQ1_M 29 256 56|BF16 30 1 2|TQ1_0 34 256 54|TQ2_0 35 256 66|MXFP4 39 32 17|NVFP4 40 64 36
Q1_0 41 128 18|Q2_0 42 64 18
""").items()}
_WHOLE = {0, 1, 28, 30}

#: The formats of values by their type; 8 is a string and 9 an array.
_VALUES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
           11: "<q", 12: "<d"}
MAX_DEPTH = 4
_STRING, _ARRAY = 8, 9
#: Longer arrays (of tokens) are not kept, and neither are arrays of texts.
_MAX_KEPT = 1 << 14
#: The most pairs and tensors of a file, bytes of a name, and texts, such as tokens.
MAX_ENTRIES, MAX_NAME, MAX_TEXTS = 1 << 16, 1 << 10, 1 << 22


class _Reader(Source):
    """A file whose values have their types before them."""

    left = MAX_TEXTS

    def number(self, kind: str, what: str) -> Any:
        return struct.unpack(kind, self.take(struct.calcsize(kind), what))[0]

    def word(self, what: str) -> str:
        length = self.number("<Q", what)
        self.expect(length <= MAX_NAME, f"{what} has {length} bytes; expected at most {MAX_NAME}")
        return self.take(length, what).decode("utf-8", "replace")

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        """A value; of one that is too long to matter, and of texts in a list, an empty one."""
        if kind == _STRING:
            length = self.number("<Q", what)
            if length <= MAX_NAME:
                return self.take(length, what).decode("utf-8", "replace")
            self.skip(length, what)
            return ""
        if kind in _VALUES:
            return self.number(_VALUES[kind], what)
        self.expect(kind == _ARRAY, f"{what} has the unknown type {kind}")
        self.expect(depth < MAX_DEPTH, f"{what} nests arrays too deeply")
        inner, count = self.number("<I", what), self.number("<Q", what)
        form = _VALUES.get(inner, "<Q" if inner == _STRING else "<IQ")
        size = count * struct.calcsize(form)
        self.need(size, what)
        if inner in _VALUES and count > _MAX_KEPT:
            self.skip(size, what)
            return []
        self.left -= count if inner == _STRING else 4 * count
        self.expect(self.left >= 0, f"arrays of more than {MAX_TEXTS} texts, or a quarter as many "
                    "values")
        if inner == _STRING:
            self.skip_texts(count, what)
            return []
        if inner in _VALUES:
            return [value for (value,) in struct.iter_unpack(form, self.take(size, what))]
        return [self.value(inner, what, depth + 1) for _ in range(count)]

    def tensor(self) -> Tuple[str, Tuple[int, int], int, int]:
        """The name of a tensor, its (bytes, elements), type and offset."""
        name = self.word("a tensor's name")
        count = self.number("<I", "a tensor's dimensions")
        at_most(count, 4, self.name, f"dimensions of {name!r:.100}")
        dims = [self.number("<Q", "a tensor's sizes") for _ in range(count)] or [1]
        kind, offset = self.number("<I", "a tensor's type"), self.number("<Q", "an offset")
        self.expect(kind in BLOCKS, f"{name!r:.100} has the unknown type {kind}")
        type_name, block, block_bytes = BLOCKS[kind]
        self.expect(dims[0] % block == 0, f"{name!r:.100}: rows of {dims[0]} elements are no "
                    f"blocks of {block} as {type_name} has them")
        elements = math.prod(dims)
        return name, (elements // block * block_bytes, elements), kind, offset


def read_file(path: str) -> Tuple[Dict[str, Any], Dict[str, Tuple[int, int]], bool]:
    """The pairs of a file, (bytes, elements) of its tensors, and whether any is quantised."""
    with _Reader(path) as source:
        source.expect(source.take(4, "the mark GGUF") == b"GGUF", "does not begin with GGUF")
        version = source.number("<I", "the version")
        source.expect(version in (2, 3), f"version {version}; expected 2 or 3, little-endian")
        num_tensors, num_pairs = source.number("<Q", "counts"), source.number("<Q", "counts")
        source.need(num_tensors * 32 + num_pairs * 13,
                    f"{num_tensors} tensors and {num_pairs} pairs")
        at_most(max(num_tensors, num_pairs), MAX_ENTRIES, source.name, "tensors or pairs")
        pairs: Dict[str, Any] = {}
        for _ in range(num_pairs):
            key = source.word("a key")
            source.expect(key not in pairs, f"the key {key!r:.100} appears twice")
            pairs[key] = source.value(source.number("<I", "a type"), f"{key!r:.100}")
        found = [source.tensor() for _ in range(num_tensors)]
        tensors: Dict[str, Tuple[int, int]] = {}
        for name, size, _, _ in found:
            source.expect(tensors.setdefault(name, size) is size, f"the tensor {name!r:.100} "
                          "appears twice")
        alignment = pairs.get("general.alignment", 32)
        source.expect(type(alignment) is int and 1 <= alignment <= 1 << 20 and alignment % 8 == 0,
                      f"general.alignment is {alignment!r:.40}; expected a multiple of 8")
        source.check_spans([(offset, size[0], name) for name, size, _, offset in found], alignment)
    return pairs, tensors, any(kind not in _WHOLE for _, _, kind, _ in found)


#: Architectures by llama.cpp's sources (src/models). window=N: of files without one; period=N: of
#: N layers the last has no window, first: the first; 0: the file lists those with one, or all have
#: it; fixed=N: the window, whatever the file says; listed: it may list them instead of the period;
#: encoder: without a head; uncached: without a cache, as are encoders, diffusion models, and what
#: uses another model's; parallel: the MLP takes what attention takes, late: and attention's output
#: is added last; unturned: without rotary positions, unturned_whole: in layers without a window;
#: sum_first: the MLP is added to what it takes, not the other way round; scaled: the embedding is;
#: partly: workspace.py does not have all steps.
ARCHITECTURES: Dict[str, Dict[str, int]] = {base: {
    name: int(value or 1) for name, _, value in (word.partition("=") for word in row)}
    for base, row in rows_of("""
afmoe period=4 unturned_whole|bert,jina-bert-v2 encoder uncached unturned
bloom,gpt2,mpt,refact,starcoder unturned|cohere2 period=4 parallel late unturned_whole
cohere2moe period=4 first listed|command-r,falcon,gptneox,plamo parallel late
deepseek32,deepseek4,glm-dsa,nemotron_h,nemotron_h_moe,t5 partly
dflash,gemma4,granite_swa,lfm2,mimo2,step35 period=0
dream,gemma4-assistant,llada,llada-moe,rnd1,wavtokenizer-dec uncached
eurobert,jina-bert-v3,modern-bert,neo-bert,nomic-bert,nomic-bert-moe encoder uncached
exaone-moe window=128 period=4 unturned_whole|exaone4 window=4096 period=4 unturned_whole
gemma-embedding uncached period=6 scaled|gemma2 window=4096 period=2|gemma3 period=6
gemma3n period=5 partly|gpt-oss period=2|laguna period=4 first|mellum period=4 listed
llama4 window=8192 period=4 fixed=8192 unturned_whole|muse-glimmer,olmo2 period=4
openelm,phi3 sum_first|phi2 parallel|plamo3 period=8|smallthinker period=4 first fixed=4096
""").items()}


#: Keys that are numbers of something.
_COUNTS = re.compile(r"(?:count|length|rank|size|kernel|layers|window|_dim)$")


class _Keys:
    """The hyperparameters of a file, checked."""

    def __init__(self, name: str, pairs: Dict[str, Any]) -> None:
        self.name, self.pairs = name, pairs
        self.base = pairs.get("general.architecture")
        self.row = ARCHITECTURES.get(str(self.base), {})
        for key in pairs:
            if key.startswith(f"{self.base}.") and _COUNTS.search(key):
                self.each(key[len(self.base) + 1:], 1)

    def whole(self, key: str, default: int = 0, least: int = 0) -> int:
        """A number, or the default."""
        return self.each(key, 1, default, least)[0]

    def each(self, key: str, count: int, default: int = 0, least: int = 0) -> List[int]:
        """A number of each layer: a list may give them, or one number all."""
        value = self.pairs.get(f"{self.base}.{key}", default)
        values, what = value if isinstance(value, list) else [value] * count, f"{self.base}.{key}"
        expect(len(values) >= count, f"{self.name}: {what} has {len(values)} numbers; expected one "
               f"for each of {count} layers")
        return [whole(int(it) if type(it) is bool and count > 1 else it, f"{self.name}: {what}",
                      least) for it in values][:count]

    def has(self, key: str) -> bool:
        """True if the file has the key."""
        return f"{self.base}.{key}" in self.pairs

    def windows(self, count: int, main: int) -> List[Optional[int]]:
        """The window of each layer. Layers after the first `main` have none, except where the file
        lists them."""
        pattern, row = "attention.sliding_window_pattern", self.row
        window = self.whole("attention.sliding_window", row.get("window", 0))
        is_listed = isinstance(self.pairs.get(f"{self.base}.{pattern}"), list)
        if not window or not ("period" in row or self.has(pattern)) or \
                self.base == "exaone4" and main != 64:
            return [None] * count
        window, size = row.get("fixed", window), row.get("period", 0)
        if is_listed and (size == 0 or "listed" in row):
            chosen = self.each(pattern, main)
        else:
            size = size if is_listed else self.whole(pattern, size)
            without = 0 if "first" in row else size - 1
            chosen = [size == 0 or i % size != without for i in range(main)]
        return [window if it else None for it in chosen] + [None] * (count - main)


def _state(keys: _Keys, heads: int, hidden: int) -> int:
    """The bytes of a layer's recurrent state, in fp32 (llama.cpp, n_embd_r and n_embd_s)."""
    head, kernel = keys.whole("wkv.head_size"), keys.whole("ssm.conv_kernel")
    short, kda = keys.whole("shortconv.l_cache"), keys.whole("kda.head_dim")
    inner, size = keys.whole("ssm.inner_size"), keys.whole("ssm.state_size")
    if head:
        return 4 * hidden * (keys.whole("token_shift_count", 2) + head)
    if short:
        return 4 * hidden * (short - 1)
    if kda:
        return 4 * heads * kda * (3 * (kernel - 1 if kernel else 3) + kda)
    mixed = inner + 2 * keys.whole("ssm.group_count") * size
    return 4 * (max(kernel - 1, 0) * mixed + size * inner)


def _sizes(keys: _Keys, block: Dict[str, int], hidden: int, heads: int, kv_heads: int, key: int,
           value: int) -> Dict[str, int]:
    """What llama.cpp computes of a token in a layer, in elements, and what the steps depend on
    (workspace.py); `block` has the elements of tensors."""
    wide = {name: count // hidden or 1 for name, count in block.items()}
    ends_in_norms = not {"post_ffw_norm", "layer_output_norm"}.isdisjoint(block)
    own = {"attn_norm": not ends_in_norms, **wide, "hidden": hidden, "heads": heads,
           "query": heads * key, "key": kv_heads * key, "value": kv_heads * value,
           "mixed": heads * value, "fused": wide.get("attn_qkv", wide.get("ssm_in", 0)),
           **{it: it in keys.row for it in ("parallel", "late", "scaled", "sum_first")},
           "turned": "unturned" not in keys.row, "shared": wide.get("ffn_up_shexp", 0),
           "rms": not keys.has("attention.layer_norm_epsilon"), "packed": 0,
           "norms_last": "attn_output_norm" in block and keys.has("attention.layer_norm_epsilon"),
           "ffn_norm": "ffn_norm" in block or not ends_in_norms and "parallel" not in keys.row}
    if wide.get("attn_q", 0) > own["query"]:
        own["query_gate"] = wide["attn_q"]
    if {"attn_qkv", "ssm_out"} <= block.keys():
        own.update(delta=1, grouped=(own["fused"] - wide["ssm_out"]) // 2,
                   steps=wide.get("ssm_alpha", wide.get("ssm_ba", 0) // 2),
                   conv=max(keys.whole("ssm.conv_kernel") - 1, 0) * own["fused"])
    if "attn_k_b" in block:  # latent attention in the width of its cache
        own.update(folded=heads * value, turning=heads * (key - value), **{
            of: heads * keys.whole(f"attention.{it}_length_mla")
            for of, it in (("unfolded", "key"), ("narrow", "value"))})
    if "attn_kv_b" in block:
        own["attn_kv_b"] = block["attn_kv_b"] // (keys.whole("attention.kv_lora_rank") or hidden)
    up, gate, down = wide.get("ffn_up", 0), wide.get("ffn_gate", 0), hidden
    if not up:
        used, count = keys.whole("expert_used_count"), keys.whole("expert_count") or 1
        up, gate = (wide.get(it, 0) * used // count for it in ("ffn_up_exps", "ffn_gate_exps"))
        up, down = up or wide.get("ffn_gate_up_exps", 0) * used // count, hidden * used or hidden
        own["experts"] = used
    if not gate and (up == 2 * keys.whole("feed_forward_length") or "ffn_gate_up_exps" in block):
        own["packed"] = 1
    own.update(up=up, gate=gate, down=down, inner=up // 2 if own["packed"] else up)
    return own


def _layers(keys: _Keys, model: Model, blocks: List[Dict[str, int]], hidden: int,
            keeps_mtp: bool) -> List[LayerShape]:
    """The layers; `blocks` has the elements of each one's tensors."""
    count, base = len(model.names), str(keys.base)
    main = count - model.num_mtp
    heads = keys.each("attention.head_count", count)
    kv_heads = keys.each("attention.head_count_kv", count) \
        if keys.has("attention.head_count_kv") else [*heads]
    width = hidden // heads[0] if heads[0] else 0
    sizes = [keys.whole(f"attention.{it}_length", width) for it in ("key", "value")]
    in_window = [keys.whole(f"attention.{it}_length_swa", size)
                 for it, size in zip(("key", "value"), sizes)]
    # the latent cache has no values of its own; without these keys the file has expanded heads
    is_latent = keys.has("attention.key_length_mla") and keys.has("attention.value_length_mla")
    indexer = keys.whole("attention.indexer.key_length")
    indexed = keys.each("attention.indexer.types", count, 1)
    if base == "glm-dsa" and not keys.has("attention.indexer.types") and \
            keys.whole("context_length") >= 1 << 20:
        indexed = [i < 3 or i % 4 == 2 for i in range(count)]
    if base == "graniteswitch":
        kv_heads[-1] = 1
    widths = keys.each("feed_forward_length", count)
    experts, used = keys.whole("expert_count"), keys.whole("expert_used_count")
    first_indexed = keys.whole("leading_dense_block_count") if base == "minimax-m3" else 0
    loaded = count if keeps_mtp else main
    cached = 20 if base == "gemma3n" else count - keys.whole("attention.shared_kv_layers") \
        if keys.has("attention.shared_kv_layers") else loaded
    deep, whole_window = keys.whole("n_deepstack_layers"), keys.whole("attention.sliding_window")
    layers = []
    for i, window in enumerate(keys.windows(count, main)):
        weights = model.places[i % keys.whole("block_count", count)]
        layer = LayerShape(intermediate=widths[i])
        key, value = sizes if window is None else in_window
        if i < loaded:
            in_experts = weights.counts["expert"]
            layer.used = in_experts * min(used, experts) // experts if experts and used else 0
            layer.active = weights.elements - in_experts + layer.used
            if in_experts:
                layer.routed = used
                layer.expert_width = keys.whole("expert_feed_forward_length", widths[i])
            layer.sizes = _sizes(keys, blocks[i], hidden, heads[i], kv_heads[i], key, value)
            reach = whole_window if base == "deepseek4" else window
            layer.sizes.update(reach=reach or 0, deep=i < deep, padded=deep and hidden * (1 + deep))
            if window is None and "unturned_whole" in keys.row or base == "smollm3" and i % 4 == 3:
                layer.sizes["turned"] = 0
            layer.score_width = heads[i] * sum(sizes)
            layer.kept = (heads[i] + kv_heads[i]) * sum(sizes)
        is_recurrent = any(it.startswith(("ssm_", "shortconv", "time_mix")) for it in blocks[i])
        if base == "minimax-01" and (i + 1) % 8:
            is_recurrent, layer.state = True, 4 * heads[i] * sizes[0] * sizes[1]
        elif is_recurrent and i < main:
            layer.state = _state(keys, heads[0], hidden)
        layer.is_guessed = is_recurrent
        if base == "deepseek4":  # compressed attention: keys alone, of single tokens in a window,
            # and of 4 or 128 tokens; with 4 also an indexer's
            ratio = keys.each("attention.compress_ratios", keys.whole("block_count"))[i]
            elements = kv_heads[i] * sizes[0]
            layer.caches = [Cache(elements, window=whole_window or None, is_own=True)]
            if ratio in (4, 128):
                layer.caches.append(Cache(elements, ratio=ratio, is_own=True))
                layer.state = 8 * 128 * elements
            if ratio == 4:
                layer.caches.append(Cache(indexer, ratio=4, is_own=True))
                layer.state = 8 * 8 * 2 * (elements + indexer)
        elif i < cached and kv_heads[i] and "uncached" not in keys.row and \
                not (base.startswith("nemotron_h") and widths[i]) and \
                (not is_recurrent or "attn_k" in blocks[i]):
            values = 0 if is_latent else kv_heads[i] * value
            layer.caches = [Cache(kv_heads[i] * key + values, kv_heads[i], window, values=values)]
            if indexer and indexed[i] and i >= first_indexed:
                own = value if base == "minimax-m3" else 0  # others have keys alone
                layer.caches.append(Cache(indexer + own, values=own))
        layers.append(layer)
    return layers


def shape_of(keys: _Keys, model: Model, blocks: List[Dict[str, int]],
             keeps_mtp: bool) -> Optional[Shape]:
    """The hyperparameters; None if the file lacks them."""
    missing = "general.architecture"
    if isinstance(keys.base, str):
        needed = ("block_count", "embedding_length", "attention.head_count")
        missing = next((f"{keys.base}.{it}" for it in needed if not keys.has(it)), "")
    if missing and not (missing.endswith("head_count") and any(
            name.startswith("ssm_") for it in blocks for name in it)):
        model.notes.append(f"The file has no {missing}.")
        return None
    hidden = keys.whole("embedding_length", least=1)
    layers = _layers(keys, model, blocks, hidden, keeps_mtp)
    heads = max(keys.each("attention.head_count", len(layers))) or 1
    table = model.places.get("table", Weights()).elements
    shape = Shape(hidden, table // max(hidden, 1), heads, layers, num_mtp=model.num_mtp,
                  is_llama=True)
    reaches = [it.sizes["reach"] for it in layers if it.sizes]
    if len(set(reaches)) > 1:
        shape.period = max(len(list(own)) for _, own in itertools.groupby(reaches)) + 3
    shape.notes.append("FLOPs of a layer count all its weights, of experts those that are used.")
    if "uncached" in keys.row:
        shape.notes.append(f"llama.cpp keeps no cache for {keys.base}.")
    if "partly" in keys.row:
        shape.not_counted.append(f"steps of {keys.base} that make llama.cpp's compute buffers up "
                                 "to three times as large")
    window = keys.whole("attention.sliding_window")
    if window and not any(cache.window for layer in layers for cache in layer.caches):
        shape.notes.append(f"llama.cpp does not use the file's window of {window} tokens.")
    return shape


def read_model(path: str) -> Tuple[Dict[str, Any], Dict[str, Tuple[int, int]], bool]:
    """What `read_file` has, of all files of a model, of which `path` may be any."""
    own, name = read_file(path), os.path.basename(path)
    count, found = own[0].get("split.count", 1), re.search(r"-\d{5}-of-(\d{5})\.gguf$", path)
    number = int(found[1]) if found else 1
    expect(whole(count, f"{name}: split.count") <= 1 or count == number, f"{name}: split.count is "
           f"{count}; expected a name that ends with -00001-of-{count:05}.gguf")
    paths = [path] if number < 2 else [
        f"{path[:found.start()]}-{i:05}-of-{found[1]}.gguf" for i in range(1, number + 1)]
    files = {it: own if it == path else read_file(it) for it in paths}
    tensors: Dict[str, Tuple[int, int]] = {}
    for shard, (_, more, _) in files.items():
        twice = next((it for it in more if it in tensors), None)
        expect(twice is None, f"{os.path.basename(shard)}: the tensor {twice!r:.100} is in an "
               "earlier file, too")
        tensors.update(more)
    return next(iter(files.values()))[0], tensors, any(it for _, _, it in files.values())


def table_of(name: str, pairs: Dict[str, Any], tensors: Dict[str, Tuple[int, int]],
             is_quantised: bool, assumed: Assumed) -> Table:
    """The costs of what `read_model` has."""
    if assumed.train is None:
        assumed = dataclasses.replace(assumed, embedding=assumed.embedding or "host",
                                      mtp=assumed.mtp or "drop")
    expect(tensors, f"{name}: holds no tensors")
    keys = _Keys(name, pairs)
    count = keys.whole("block_count") if keys.has("block_count") else None
    if count is not None:  # blocks that run several times, and a layer that has a cache alone
        loops = keys.whole("num_loops", 1) if keys.base == "nanbeige" else 1
        count = count * max(loops, 1) + (keys.base == "graniteswitch")
    expect(count is None or 0 < count <= MAX_UNITS - 2, f"{name}: {keys.base}.block_count is "
           f"{count}; expected 1 to {MAX_UNITS - 2}")
    model = gather(name, tensors, count)
    model.is_quantised = is_quantised
    model.num_mtp = min(keys.whole("nextn_predict_layers"), len(model.names) - 1)
    blocks: List[Dict[str, int]] = [{} for _ in model.names]
    for tensor, (_, elements) in tensors.items():
        found = re.search(r"(?:^|\.)blk\.(\d{1,9})\.([^.]+)", tensor)
        i, part = found.groups() if found else (0, tensor.partition(".")[0])
        if int(i) < len(blocks) and (found or part in BEGINS):
            own = blocks[int(i)]
            own[part] = max(elements, own.get(part, 0))
    return chain(name, model, shape_of(keys, model, blocks, assumed.mtp != "drop"), assumed,
                 is_tied="output.weight" not in tensors and "encoder" not in keys.row)
