"""Which importer a file is for.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
from typing import Any, Optional, Tuple

from .._calling import file_name, instance, shown
from ..errors import InputError, UsageError
from . import config as configuration
from . import gguf, megatron, onnx, safetensors
from .table import Assumed, Source, Table, once, read_json

#: What is looked for in a folder, in this order.
FILES = ("model.safetensors.index.json", "model.safetensors", "config.json")


def _in_folder(path: str) -> str:
    """The model of a folder."""
    names = sorted(os.listdir(path))
    for name in FILES[:2]:
        if name in names:
            return os.path.join(path, name)
    models = [name for name in names if name.endswith((".gguf", ".safetensors", ".onnx"))]
    firsts = [name for name in models if "-of-" not in name or "-00001-of-" in name]
    if len(firsts) == 1:
        return os.path.join(path, firsts[0])
    if len(firsts) > 1:
        raise InputError(f"{path}: holds {' and '.join(firsts[:3])}; pass one of them")
    if FILES[2] in names:
        return os.path.join(path, FILES[2])
    raise InputError(f"{path}: holds no safetensors, GGUF or ONNX file and no config.json")


def _kind(path: str, beginning: bytes) -> str:
    """The kind of a file, by its beginning, and by its name where several fit; "" if unknown."""
    length = int.from_bytes(beginning[:8], "little")
    fits = {"GGUF": beginning.startswith(b"GGUF"), "ONNX": path.endswith(".onnx"),
            "safetensors": beginning[8:9] == b"{" and length <= safetensors.MAX_HEADER,
            "config.json": beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")}
    named = "safetensors" if path.endswith(".safetensors") else ""
    return next((kind for kind, does in fits.items() if does), named)


@once
def _recognised(path: str) -> Tuple[str, str, str, str, Any]:
    """The path of a model, which may be its folder, the name for messages, the kind, the text of
    one that is unknown, and the keys of a config.json."""
    if megatron.are_arguments(path):
        return path, "the arguments", "", path, None
    try:
        if os.path.isdir(path):
            path = _in_folder(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    with Source(path) as source:
        beginning, words = source.take(min(source.size, 4096), "the beginning"), ""
        kind = _kind(path, beginning)
        if not kind:
            rest = source.take(min(source.size - source.position, megatron.MAX_TEXT), "the text")
            words = (beginning + rest).decode("utf-8", "replace")
    keys = read_json(path) if kind == "config.json" else None
    if isinstance(keys, dict) and "weight_map" in keys:
        kind = "safetensors"
    return path, source.name, kind, words, keys


def read_source(path: str, assumed: Optional[Assumed] = None, *, config: Optional[str] = None,
                **options: Any) -> Table:
    """The costs of a model file or its folder, recognised by its content: safetensors or their
    index, GGUF, config.json, ONNX, or Megatron-LM's arguments, which may be the path itself.
    `options` are the members of Assumed; `config` names the hyperparameters of safetensors in
    another folder."""
    if assumed is None:
        try:
            assumed = Assumed(**options)
        except TypeError as error:
            raise UsageError(f"read_source: {error}") from None
    elif options:
        raise UsageError("read_source: give Assumed, or its members, and not both")
    instance(assumed, Assumed, "assumed")
    path = os.fsdecode(file_name(path))  # which functions of Python take in any locale
    path, name, kind, words, keys = _recognised(path)
    is_job = megatron.are_arguments(words)
    if assumed.megatron and not is_job:
        raise UsageError(f"unrecognized arguments: {assumed.megatron}; --help describes the "
                         "options of a model, and those of solving are for its table: popliner "
                         "MODEL >costs.csv, then popliner costs.csv --solve")
    if not kind and not is_job:
        raise InputError(f"{name}: expected safetensors, GGUF, a config.json, an ONNX model called "
                         "*.onnx, or Megatron-LM's arguments")
    if config is not None and kind != "safetensors":
        raise UsageError(f"config {shown(config)}: is for safetensors alone; leave it out")
    if is_job:
        return megatron.read(name, words, assumed)
    assumed.require(kind)
    if kind == "safetensors":
        return safetensors.read(path, assumed, config)
    if kind == "config.json":
        return configuration.table_of(name, keys, assumed)
    return (gguf.read if kind == "GGUF" else onnx.read)(path, assumed)
