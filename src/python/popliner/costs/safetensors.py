"""Bytes of tensors from safetensors: one file, or several by their index.

A file is a length (8 bytes, little-endian), as many bytes of JSON, and the data without holes
(huggingface/safetensors, README, "Format"). Only the JSON is read.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable, Dict, Tuple

from ..errors import InputError
from . import config
from .model import chain, gather, require_whole
from .table import DTYPE_BITS, Assumed, Source, Table, at_most, expect, parse_json, read_json

MAX_HEADER = 1 << 25
#: Stored in fewer bits than a computation has, with scales as tensors of their own.
_QUANTISED = {"F4", "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "U8", "I8", "I32", "U32"}

Tensors = Dict[str, Tuple[int, int]]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _tensor(source: Source, name: str, tensor: Any) -> Tuple[int, int, int]:
    """Checks an entry of the header: where it begins and ends, and its elements."""
    source.expect(isinstance(tensor, dict), f"{name!r:.100} is no object with dtype, shape and "
                  "data_offsets")
    dtype, shape, offsets = (tensor.get(key) for key in ("dtype", "shape", "data_offsets"))
    source.expect(isinstance(dtype, str) and dtype in DTYPE_BITS, f"{name!r:.100} has the unknown "
                  f"dtype {dtype!r:.40}")
    source.expect(isinstance(shape, list) and all(map(_is_count, shape)), f"{name!r:.100}: the "
                  "shape is no list of sizes")
    source.expect(isinstance(offsets, list) and len(offsets) == 2 and all(map(_is_count, offsets)),
                  f"{name!r:.100}: data_offsets is no pair of positions")
    elements = functools.reduce(lambda product, size: min(product * size, 1 << 80), shape, 1)
    bits, size = elements * DTYPE_BITS[dtype], offsets[1] - offsets[0]
    source.expect(bits == 8 * size, f"{name!r:.100} has {size} bytes, but its shape and dtype make "
                  f"{bits / 8:g}")
    return offsets[0], size, elements


def read_file(path: str) -> Tuple[Tensors, bool]:
    """(bytes, elements) of each tensor of a file, and whether any dtype is of quantised weights."""
    with Source(path) as source:
        length = int.from_bytes(source.take(8, "the length of the header"), "little")
        at_most(length, MAX_HEADER, source.name, "bytes of a header")
        text = source.take(length, "the header")
        header = parse_json(text, source.name)
        source.expect(isinstance(header, dict) and text.startswith(b"{"), "the header is no JSON "
                      "object")
        header.pop("__metadata__", None)
        found = {name: _tensor(source, name, tensor) for name, tensor in header.items()}
        source.check_spans([(first, size, name) for name, (first, size, _) in found.items()])
    quantised = any(it["dtype"] in _QUANTISED for it in header.values())
    return {name: (size, count) for name, (_, size, count) in found.items()}, quantised


def read_index(path: str) -> Tuple[Tensors, bool]:
    """The same of all files that a model.safetensors.index.json names."""
    name, index = os.path.basename(path), read_json(path)
    files = index.get("weight_map") if isinstance(index, dict) else None
    expect(isinstance(files, dict) and files and
           all(isinstance(file, str) for file in files.values()), f"{name}: expected a weight_map "
           "of tensors to files")
    result: Tensors = {}
    any_quantised = False
    for file in sorted(set(files.values())):
        expect(os.path.basename(file) == file and file not in ("", ".", "..") and "\0" not in file,
               f"{name}: {file!r:.100} is not the name of a file in its folder")
        tensors, quantised = read_file(os.path.join(os.path.dirname(path), file))
        any_quantised = any_quantised or quantised
        for tensor in tensors:
            expect(files.get(tensor) == file, f"{name}: {tensor!r:.100} is in {file}, but the "
                   "index does not say so")
        result.update(tensors)
    for missing in sorted(files.keys() - result.keys())[:1]:
        raise InputError(f"{name}: {missing!r:.100} is not in {files[missing]}")
    metadata, size = index.get("metadata"), sum(size for size, _ in result.values())
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    expect(total in (None, size), f"{name}: total_size is {total!r:.40}, but the tensors have "
           f"{size} bytes")
    return result, any_quantised


def opened(path: str) -> Callable[[Assumed], Table]:
    """What counts the costs of a model. Hyperparameters are those of the config.json in the same
    folder, if there is one."""
    tensors, quantised = (read_index if path.endswith(".json") else read_file)(path)
    name, own = os.path.basename(path), os.path.join(os.path.dirname(path), "config.json")

    def table_of(assumed: Assumed) -> Table:
        if quantised:
            require_whole(assumed, name, "a tensor")
        model = gather(name, tensors)
        if os.path.exists(own):
            try:
                shape = config.shape_of("config.json", read_json(own))
                return chain(name, model, shape, assumed)
            except InputError as error:
                model.notes.append(f"{error}: its weights are those of the files all the same.")
        if "head" not in model.places:
            model.notes.append("No tensor is a head; if it is tied to the embedding, a config.json "
                               "in the same folder says so.")
        return chain(name, model, None, assumed)

    return table_of
