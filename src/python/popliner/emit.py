"""Splits in the words of the framework that is to run them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, Union

from . import _declared as c
from ._calling import (Listening, MessageFunction, Turn, call, listed, listener_of, member, text)
from ._library import begin, library
from .enums import EmitFormat

Format = Union[EmitFormat, str]


class Emitting:
    """What a plan does not know of the model, for one call."""

    def __init__(self, turn: Turn, layer_path: Optional[str], head_modules: Sequence[str],
                 tail_modules: Sequence[str], message: Optional[MessageFunction]) -> None:
        self.listener = listener_of(Listening(message), turn)
        o = begin(c.popliner_emit_options)
        if layer_path is not None:
            o.layer_path = text(layer_path, "layer_path")
        for name, modules in (("head_modules", head_modules), ("tail_modules", tail_modules)):
            texts = [text(it, f"a name of {name}") for it in listed(modules, name)]
            setattr(o, name, (ctypes.c_char_p * len(texts))(*texts) if texts else None)
            setattr(o, "num_" + name, len(texts))
        o.listener = ctypes.pointer(self.listener)
        self.options = o


def format_of(format: Any) -> int:
    return member(EmitFormat, format, "format")


def check_emit(format: Format, *, layer_path: Optional[str] = None,
               head_modules: Sequence[str] = (), tail_modules: Sequence[str] = ()) -> None:
    """Raises what is missing, or makes no sense, for a format, whatever the split."""
    turn = Turn()
    emitting = Emitting(turn, layer_path, head_modules, tail_modules, None)
    call(library.popliner_emit, ctypes.byref(emitting.options), format_of(format), None,
         using=(turn,))


__all__ = ["check_emit"]
