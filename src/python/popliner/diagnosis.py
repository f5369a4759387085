"""What an analysis explains of the compiler's own account of memory, and what it misses.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from . import _declared as c
from . import _html
from . import records as r
from ._calling import Handle, ask, instance, make_text, real, screen
from ._library import library
from .enums import Format, MemoryModel
from .written import Written


class Diagnosis(Written):
    """The figures of one profile; json() has all of it, also by category, program and layer."""

    def __init__(self, handle: Handle) -> None:
        self._handle = instance(handle, Handle, "the handle")
        ask(handle, self._take, handle.read(c.popliner_diagnosis))

    def _take(self, s: Any) -> None:
        self.memory_model = MemoryModel(s.model)
        self.layer_operations_only: bool = s.layer_operations_only
        self.num_operations: int = s.num_operations
        #: tile and step where the compiler counts most, and what is explained there, in bytes
        self.tile: int = s.tile
        self.step: int = s.step
        self.truth_bytes: int = s.truth_bytes
        self.explained_bytes: int = s.explained_bytes
        self.program_name: str = (s.program_name or b"").decode("utf-8", "replace")
        #: tile and step where the model explains most
        self.model_tile: int = s.model_tile
        self.model_step: int = s.model_step
        self.model_bytes: int = s.model_bytes
        #: tiles where what is explained and missing does not add up; None without an account
        self.tiles_off: Optional[int] = None if s.tiles_off == r.SIZE_MAX else s.tiles_off
        self.first_step: int = s.first_step
        self.last_step: int = s.last_step
        #: a regex that would find layers, "" if there is no likely one
        self.suggested_regex: str = (s.suggested_regex or b"").decode("utf-8", "replace")
        self.suggestion_example: str = (s.suggestion_example or b"").decode("utf-8", "replace")
        self.suggested_layers: int = s.suggested_layers
        #: where what is explained and what is missing do not add up: sentences
        self.contradictions: Tuple[str, ...] = tuple(
            it.decode("utf-8", "replace") for it in r.first(s.contradictions,
                                                            s.num_contradictions))

    def report(self, allowed_percent: float = 5, *, width: int = 100, is_ascii: bool = False,
               has_colour: bool = False) -> str:
        """For people, as the command shows it: whether it may be trusted."""
        handle = self._held()
        return make_text(library.popliner_screen_diagnosis, handle,
                         real(allowed_percent, "allowed_percent"), b"",
                         screen(width, is_ascii, has_colour))

    def _text(self, format: Format) -> str:
        handle = self._held()
        return make_text(library.popliner_report_diagnosis, handle, int(format))

    def __repr__(self) -> str:
        return (f"<Diagnosis: {self.explained_bytes} of {self.truth_bytes} bytes explained on tile "
                f"{self.tile} at step {self.step}>")

    def _repr_html_(self) -> str:
        if self.closed:
            return "<p>Diagnosis: closed</p>"
        return _html.table(repr(self)[1:-1], ("category", "bytes", "explained", "tiles exceeded"),
                           [(it["name"], it["value"], it["explained"], it["tiles_exceeded"])
                            for it in self.json()["sections"][0]["rows"]
                            if it["group"] == "category"])


__all__ = ["Diagnosis"]
