"""Which importer a file is for, and that of safetensors.

A safetensors file is a length (8 bytes, little-endian), as many bytes of JSON, and the data without
holes (huggingface/safetensors, README, "Format"). Only the JSON is read.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Callable, Dict, Tuple

from .._calling import file_name, shown
from ..errors import InputError, UsageError
from . import config as configuration
from . import gguf, megatron, onnx
from .model import chain, gather
from .table import (CONFIGURED, DTYPE_BITS, NODES, Assumed, Source, Table, at_most, expect,
                    parse_json, read_json)

MAX_HEADER = 1 << 25
#: Stored in fewer bits than a computation has, with scales as tensors of their own.
_QUANTISED = {"F4", "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "U8", "I8", "I32", "U32"}

Tensors = Dict[str, Tuple[int, int]]


def _tensor(source: Source, name: str, tensor: Any) -> Tuple[int, int, int]:
    """Checks an entry of the header: where it begins and ends, and its elements."""
    dtype, shape, offsets = map((tensor if isinstance(tensor, dict) else {}).get,
                                ("dtype", "shape", "data_offsets"))
    source.expect(isinstance(dtype, str) and dtype in DTYPE_BITS and isinstance(shape, list) and
                  isinstance(offsets, list) and len(offsets) == 2 and all(
                      type(it) is int and 0 <= it < 1 << 63 for it in shape + offsets),
                  f"{name!r:.100} is {shown(tensor)}; expected a dtype of safetensors, a shape and "
                  "two data_offsets")
    elements = functools.reduce(lambda product, size: min(product * size, 1 << 80), shape, 1)
    bits, size = elements * DTYPE_BITS[dtype], offsets[1] - offsets[0]
    source.expect(bits == 8 * size, f"{name!r:.100} has {size} bytes, but its shape and dtype make "
                  f"{bits / 8:g}")
    return offsets[0], size, elements


def _read_tensors(path: str) -> Tuple[Tensors, bool]:
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


def _read_index(path: str) -> Tuple[Tensors, bool]:
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
        tensors, quantised = _read_tensors(os.path.join(os.path.dirname(path), file))
        any_quantised = any_quantised or quantised
        listed = {tensor for tensor in files if files[tensor] == file}
        for tensor in sorted(listed ^ tensors.keys())[:1]:
            raise InputError(f"{name}: the index and {file} differ in {tensor!r:.100}")
        result.update(tensors)
    metadata, size = index.get("metadata"), sum(size for size, _ in result.values())
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    expect(total in (None, size), f"{name}: total_size is {total!r:.40}, but the tensors have "
           f"{size} bytes")
    return result, any_quantised


def _of_tensors(path: str) -> Callable[[Assumed], Table]:
    """What counts the costs of safetensors, with the config.json in the same folder, if there is
    one."""
    tensors, quantised = (_read_index if path.endswith(".json") else _read_tensors)(path)
    name, own = os.path.basename(path), os.path.join(os.path.dirname(path), "config.json")

    def table_of(assumed: Assumed) -> Table:
        model = gather(name, tensors)
        model.is_quantised = quantised
        if os.path.exists(own):
            try:
                shape = configuration.shape_of("config.json", read_json(own))
                return chain(name, model, shape, assumed)
            except InputError as error:
                model.notes.append(f"{error}: its weights are those of the files all the same.")
        if "head" not in model.places:
            model.notes.append("No tensor is a head; if it is tied to the embedding, a config.json "
                               "in the same folder says so.")
        return chain(name, model, None, assumed)

    return table_of


#: What is looked for in a folder, in this order; of several parts the first.
FILES = (r"model\.safetensors\.index\.json", r"model\.safetensors",
         r".*(?<!-of-\d{5})\.(gguf|safetensors|onnx)|.*-00001-of-.*\.(gguf|safetensors|onnx)",
         r"config\.json")


def _in_folder(path: str) -> str:
    """The model of a folder."""
    names = sorted(os.listdir(path))
    for pattern in FILES:
        found = [name for name in names if re.fullmatch(pattern, name)]
        expect(len(found) < 2, f"{path}: holds {' and '.join(found[:3])}; pass one of them")
        if found:
            return os.path.join(path, found[0])
    raise InputError(f"{path}: holds no safetensors, GGUF or ONNX file and no config.json")


def opened(path: str) -> Callable[[Assumed], Table]:
    """What counts the costs of a model file or its folder, which is read once."""
    path = os.fsdecode(file_name(path))  # which functions of Python take in any locale
    if megatron.are_arguments(path):
        return functools.partial(megatron.read, "the arguments", path)
    try:
        if os.path.isdir(path):
            path = _in_folder(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with Source(path) as source:
        name, beginning = source.name, source.take(min(source.size, 4096), "the beginning")
        length = int.from_bytes(beginning[:8], "little")
        kinds = (("statistics of ONNX Runtime", beginning.startswith(b"#name,")),
                 ("GGUF", beginning.startswith(b"GGUF")), ("ONNX", path.endswith(".onnx")),
                 ("safetensors", beginning[8:9] == b"{" and length <= MAX_HEADER),
                 ("config.json", beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")),
                 ("safetensors", path.endswith(".safetensors")))
        kind = next((kind for kind, fits in kinds if fits), "")
        left = 0 if kind else min(source.size - source.file.tell(), megatron.MAX_TEXT)
        words = (beginning + source.take(left, "the text")).decode("utf-8", "replace")
    if not kind and megatron.are_arguments(words):
        return functools.partial(megatron.read, name, words)
    expect(kind, f"{name}: expected safetensors, GGUF, a config.json, an ONNX model called *.onnx, "
           "statistics of ONNX Runtime, or Megatron-LM's arguments")
    keys = read_json(path) if kind == CONFIGURED[0] else None
    if kind == "safetensors" or isinstance(keys, dict) and "weight_map" in keys:
        kind, table_of = "safetensors", _of_tensors(path)
    elif kind == "GGUF":
        table_of = functools.partial(gguf.table_of, name, *gguf.read_model(path))
    elif kind in NODES:
        table_of = functools.partial(onnx.read if kind == "ONNX" else onnx.read_statistics, path)
    else:
        table_of = functools.partial(configuration.table_of, name, keys)

    def count(assumed: Assumed) -> Table:
        expect(not assumed.megatron, f"unrecognized arguments: {assumed.megatron}; --help "
               "describes the options of a model, and those of solving are for its table: popliner "
               "MODEL >costs.csv, then popliner costs.csv --solve", UsageError)
        assumed.require(kind)
        return table_of(assumed)

    return count


def read_source(path: str, **options: Any) -> Table:
    """The costs of a model file or its folder, recognised by its content: safetensors or their
    index, GGUF, config.json, ONNX, ONNX Runtime's statistics, or Megatron-LM's arguments, which may
    be the path itself. `options` are the members of Assumed."""
    try:
        assumed = Assumed(**options)
    except TypeError as error:
        raise UsageError(f"read_source: {error}") from None
    return opened(path)(assumed)
