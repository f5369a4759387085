"""Bytes of tensors and hyperparameters from GGUF files, versions 2 and 3.

The layout is that of ggml's docs/gguf.md; blocks of types are those of ggml (gguf-py's
GGML_QUANT_SIZES). Only the part before the data is read.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import dataclasses
import os
import re
import struct
from typing import Any, Dict, List, Optional, Tuple

from ..errors import InputError
from .model import LayerShape, Shape, chain, gather, require_whole
from .table import Assumed, Source, Table

#: Elements and bytes of a block, by the number of the type.
BLOCKS: Dict[int, Tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18), 42: ("Q2_0", 64, 18)}
_WHOLE = {0, 1, 28, 30}

#: The formats of values by their type; 8 is a string and 9 an array.
_VALUES = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
           11: "<q", 12: "<d"}
MAX_DEPTH = 4
_STRING, _ARRAY = 8, 9
#: Longer arrays (of tokens) are not kept, and neither are arrays of texts.
_MAX_KEPT = 1 << 14
#: The most pairs and tensors of a file, bytes of a name, and values in its arrays of arrays.
MAX_ENTRIES, MAX_NAME, MAX_VALUES = 1 << 16, 1 << 10, 1 << 20
#: The most texts of a file, such as tokens.
MAX_TEXTS = 1 << 22


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.left = {"values": MAX_VALUES, "texts": MAX_TEXTS}

    def number(self, kind: str, what: str) -> Any:
        return struct.unpack(kind, self.source.take(struct.calcsize(kind), what))[0]

    def name(self, what: str) -> str:
        length = self.number("<Q", what)
        self.source.need(length, what)
        if length > MAX_NAME:
            raise self.source.refuse(f"{what} has {length} bytes; expected at most {MAX_NAME}")
        return self.source.take(length, what).decode("utf-8", "replace")

    def spend(self, kind: str, count: int) -> None:
        self.left[kind] -= count
        if self.left[kind] < 0:
            raise self.source.refuse(f"more than {MAX_VALUES if kind == 'values' else MAX_TEXTS} "
                                     f"{kind} in arrays")

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        """A value; of one that is too long to matter, and of texts in a list, an empty one."""
        if kind == _STRING:
            length = self.number("<Q", what)
            if length <= MAX_NAME:
                return self.source.take(length, what).decode("utf-8", "replace")
            self.source.skip(length, what)
            return ""
        if kind in _VALUES:
            return self.number(_VALUES[kind], what)
        if kind != _ARRAY:
            raise self.source.refuse(f"{what} has the unknown type {kind}")
        if depth >= MAX_DEPTH:
            raise self.source.refuse(f"{what} nests arrays too deeply")
        inner, count = self.number("<I", what), self.number("<Q", what)
        if inner in _VALUES:
            size = struct.calcsize(_VALUES[inner])
            if count > _MAX_KEPT:
                self.source.skip(count * size, what)
                return []
            self.spend("values", count)
            data = self.source.take(count * size, what)
            return [value for (value,) in struct.iter_unpack(_VALUES[inner], data)]
        self.source.need(count * (8 if inner == _STRING else 12), what)
        self.spend("texts" if inner == _STRING else "values", count)
        if inner == _STRING:
            self.source.skip_texts(count, what)
            return []
        return [self.value(inner, what, depth + 1) for _ in range(count)]


def read_file(path: str) -> Tuple[Dict[str, Any], Dict[str, Tuple[int, int]], bool]:
    """The pairs of a file, (bytes, elements) of its tensors, and whether any is quantised."""
    with Source(path) as source:
        reader = _Reader(source)
        if source.take(4, "the mark GGUF") != b"GGUF":
            raise source.refuse("does not begin with GGUF")
        version = reader.number("<I", "the version")
        if version not in (2, 3):
            raise source.refuse(f"version {version}; expected 2 or 3, little-endian")
        num_tensors, num_pairs = reader.number("<Q", "counts"), reader.number("<Q", "counts")
        what = f"{num_tensors} tensors and {num_pairs} pairs"
        source.need(num_tensors * 32 + num_pairs * 13, what)
        if max(num_tensors, num_pairs) > MAX_ENTRIES:
            raise source.refuse(f"{what}; expected at most {MAX_ENTRIES} of each")
        pairs: Dict[str, Any] = {}
        for _ in range(num_pairs):
            key = reader.name("a key")
            if key in pairs:
                raise source.refuse(f"the key {key!r:.100} appears twice")
            pairs[key] = reader.value(reader.number("<I", "a type"), f"{key!r:.100}")
        tensors: Dict[str, Tuple[int, int]] = {}
        spans: List[Tuple[int, int, str]] = []
        is_quantised = False
        for _ in range(num_tensors):
            name, size, elements, kind, offset = _tensor(source, reader)
            if name in tensors:
                raise source.refuse(f"the tensor {name!r:.100} appears twice")
            tensors[name] = size, elements
            spans.append((offset, size, name))
            is_quantised = is_quantised or kind not in _WHOLE
        _check_data(source, pairs, spans)
    return pairs, tensors, is_quantised


def _tensor(source: Source, reader: _Reader) -> Tuple[str, int, int, int, int]:
    name = reader.name("a tensor's name")
    count = reader.number("<I", "a tensor's dimensions")
    if count > 4:
        raise source.refuse(f"{name!r:.100} has {count} dimensions; expected at most 4")
    dims = [reader.number("<Q", "a tensor's sizes") for _ in range(count)]
    kind, offset = reader.number("<I", "a tensor's type"), reader.number("<Q", "an offset")
    if kind not in BLOCKS:
        raise source.refuse(f"{name!r:.100} has the unknown type {kind}, so its size is unknown")
    type_name, block, block_bytes = BLOCKS[kind]
    if (dims[0] if dims else 1) % block != 0:
        raise source.refuse(f"{name!r:.100}: rows of {dims[0] if dims else 1} elements are no "
                            f"blocks of {block} as {type_name} has them")
    elements = 1
    for size in dims:
        elements *= size
    return name, elements // block * block_bytes, elements, kind, offset


def _check_data(source: Source, pairs: Dict[str, Any], spans: List[Tuple[int, int, str]]) -> None:
    """Each tensor begins where the one before it ends, aligned, and within the file."""
    alignment = pairs.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1 or alignment > 1 << 20 or alignment % 8 != 0:
        raise source.refuse(f"general.alignment is {alignment!r:.40}; expected a multiple of 8")
    start = -(-source.position // alignment) * alignment
    expected = 0
    for offset, size, name in sorted(spans):
        if offset != expected:
            raise source.refuse(f"{name!r:.100} begins at byte {offset} of the data; expected "
                                f"{expected}")
        if start + offset + size > source.size:
            raise source.refuse(f"{name!r:.100} ends at byte {start + offset + size}, but the file "
                                f"has {source.size}: it is cut off or damaged")
        expected = -(-(offset + size) // alignment) * alignment
    if source.size > start + expected and spans:
        raise source.refuse(f"{source.size - start - expected} bytes follow the last tensor: the "
                            "file is damaged")


def _shards(path: str, pairs: Dict[str, Any]) -> List[str]:
    """All files of the model, by the number in the name and split.count."""
    count = pairs.get("split.count", 1)
    found = re.search(r"-(\d{5})-of-(\d{5})\.gguf$", path)
    if found is None or int(found[2]) == 1:
        if type(count) is int and count > 1:
            raise InputError(f"{os.path.basename(path)}: is one of {count} files; expected a name "
                             "like model-00001-of-00003.gguf")
        return [path]
    if type(count) is int and count not in (1, int(found[2])):
        raise InputError(f"{os.path.basename(path)}: split.count is {count}, but the name says "
                         f"{int(found[2])}")
    return [f"{path[:found.start()]}-{i:05}-of-{found[2]}.gguf"
            for i in range(1, int(found[2]) + 1)]


class _Keys:
    """The hyperparameters of a file, checked."""

    def __init__(self, name: str, pairs: Dict[str, Any]) -> None:
        self.name, self.pairs = name, pairs
        self.base = pairs.get("general.architecture")

    def whole(self, key: str, default: Optional[int] = None) -> Optional[int]:
        """A number, or the default."""
        values = self.each(key, 1, default)
        return None if values is None else values[0]

    def each(self, key: str, count: int, default: Optional[int]) -> Optional[List[int]]:
        """A number of each layer: a list may give them, or one number all."""
        value = self.pairs.get(f"{self.base}.{key}", default)
        if value is None:
            return None
        values = value if isinstance(value, list) else [value] * count
        if len(values) < count or not all(type(it) is int and 0 <= it < 1 << 32 for it in values):
            raise InputError(f"{self.name}: {self.base}.{key} is {value!r:.60}; expected a whole "
                             "number from 0 to 4294967295, or one for each layer")
        return values[:count]


def shape_of(pairs: Dict[str, Any], places: Any, name: str) -> Optional[Shape]:
    """The hyperparameters; None if the file lacks some, or its layers are not those of a
    transformer."""
    keys = _Keys(name, pairs)
    if not isinstance(keys.base, str):
        return None
    count, hidden = keys.whole("block_count"), keys.whole("embedding_length")
    num_layers = sum(isinstance(place, int) for place in places)
    if count is not None and count != num_layers:
        raise InputError(f"{name}: block_count is {count}, but {num_layers} blocks have tensors")
    if not count or not hidden or keys.whole("ssm.state_size") is not None:
        return None
    heads = keys.each("attention.head_count", count, None)
    if heads is None or not all(heads):
        return None
    kv_heads = keys.each("attention.head_count_kv", count, None) or heads
    key_size = keys.whole("attention.key_length", hidden // heads[0])
    value_size = keys.whole("attention.value_length", hidden // heads[0])
    latent, rope = keys.whole("attention.kv_lora_rank"), keys.whole("rope.dimension_count")
    window = keys.whole("attention.sliding_window")
    widths = keys.each("feed_forward_length", count, 0)
    experts, used = keys.whole("expert_count", 0), keys.whole("expert_used_count", 0)
    if not key_size or not value_size or widths is None:
        return None
    layers = []
    for i in range(count):
        weights = places[i]
        layer = LayerShape(parameters=weights.elements)
        layer.active = weights.elements - weights.expert_elements
        if weights.expert_elements and experts and used:
            layer.active += weights.expert_elements * min(used, experts) // experts
        layer.kv = kv_heads[i] * (key_size + value_size)
        layer.kv_heads = max(kv_heads[i], 1)
        if latent is not None and rope is not None:
            layer.kv = latent + rope
            layer.kv_heads = 1
        layer.score_width = heads[i] * (key_size + value_size)
        layer.intermediate = widths[i]
        layers.append(layer)
    vocabulary = places["embedding"].elements // hidden if "embedding" in places else 0
    shape = Shape(hidden, vocabulary, heads[0], layers, is_tied="head" not in places)
    shape.notes.append("FLOPs of a layer count all its weights, of experts those that are used.")
    if window:
        shape.notes.append(f"A window of {window} tokens is not counted: the file does not say for "
                           "which layers.")
    return shape


def read(path: str, assumed: Assumed) -> Table:
    """The costs of a model, of which `path` may be any of several files."""
    name = os.path.basename(path)
    if assumed.embedding is None and assumed.train is None:
        assumed = dataclasses.replace(assumed, embedding="host")
    pairs, _, _ = read_file(path)
    tensors: Dict[str, Tuple[int, int]] = {}
    first: Dict[str, Any] = {}
    for i, shard in enumerate(_shards(path, pairs)):
        own, more, is_quantised = read_file(shard)
        if i == 0:
            first = own
        if is_quantised:
            require_whole(assumed, name, "a tensor")
        for tensor, size in more.items():
            if tensor in tensors:
                raise InputError(f"{os.path.basename(shard)}: the tensor {tensor!r:.100} is in an "
                                 "earlier file, too")
            tensors[tensor] = size
    if not tensors:
        raise InputError(f"{name}: holds no tensors")
    places = gather(name, tensors)
    return chain(name, places, shape_of(first, places, name), assumed, is_tied="head" not in places)
