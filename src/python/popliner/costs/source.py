"""Which importer a file is for.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import functools
import os
import re
from typing import Any, Callable

from .._calling import file_name
from ..errors import InputError, UsageError
from . import config as configuration
from . import gguf, megatron, onnx, safetensors
from .table import CONFIGURED, NODES, Assumed, Source, Table, expect, read_json

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
                 ("safetensors", beginning[8:9] == b"{" and length <= safetensors.MAX_HEADER),
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
        kind, table_of = "safetensors", safetensors.opened(path)
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
