"""Two analyses side by side: before and now; and predictions against a compiled pipeline.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import _declared as c
from . import _html
from . import records as r
from ._calling import Handle, Owner, instance, make_text, real, screen, text
from ._library import library
from .enums import Format, Growth
from .written import Written


class Changes(Written, Sequence[r.Change]):
    """What two analyses have of each quantity, and the difference. Needs neither analysis any
    more."""

    def __init__(self, handle: Handle) -> None:
        self._handle = instance(handle, Handle, "the handle")
        info = handle.read(c.popliner_changes)
        self._changes: Tuple[r.Change, ...] = tuple(
            map(r.change_of, r.first(info.changes, info.num_changes)))
        #: of how many quantities the sides differ, or one has none
        self.num_changed: int = info.num_changed
        #: what each of the bounds found
        self.bounds: Tuple[r.BoundResult, ...] = tuple(
            r.bound_of(info, of) for of in Growth if info.max_percents[of] >= 0)
        #: the quantity that says whether the model got larger
        self.deciding: r.Change = r.change_of(info.deciding.contents)

    def __len__(self) -> int:
        return len(self._changes)

    def __getitem__(self, i: Any) -> Any:
        return self._changes[i]

    def grew(self, max_growth_percent: float = 0.0) -> bool:
        """Whether the deciding quantity grew by more than so many percent, compared exactly in
        millionths of a percent. From 0 it grows by more than any percentage."""
        self._held()
        parts = real(max_growth_percent, "max_growth_percent") * 1e6 + 0.5
        before, now = self.deciding.before, self.deciding.now
        if before is None or now is None or now <= before or not parts < 1e19:
            return False
        return (now - before) * 10**8 > max(before, 0) * int(max(parts, 0.0))

    def most_grown(self, quantity: str, what: Optional[str] = None) -> Optional[r.Change]:
        """The quantity of this kind that grew by most; None if none grew. Without `what`: of units
        of any kind."""
        self._held()
        text(quantity, "quantity")
        kinds = ("head", "layer", "tail", "unlayered")
        if what is not None:
            text(what, "what")
            kinds = (what,)
        grown = [it for it in self._changes if it.quantity == quantity and it.what in kinds
                 and it.before is not None and it.now is not None and it.now > it.before]
        return max(grown, key=lambda it: it.now - it.before, default=None)

    def _text(self, format: Format) -> str:
        handle = self._held()
        return make_text(library.popliner_changes_text, handle, int(format))

    def report(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False) -> str:
        """For people, as the command shows it: what changed most."""
        handle = self._held()
        return make_text(library.popliner_screen_changes, handle, b"",
                         screen(width, is_ascii, has_colour))

    def __repr__(self) -> str:
        return f"<Changes: {self.num_changed} of {len(self)} quantities>"

    def _repr_html_(self) -> str:
        changed = [it for it in self if it.before != it.now]
        return _html.table(repr(self)[1:-1], ("what", "name", "quantity", "before", "now"),
                           [(it.what, it.name, it.quantity, it.before, it.now) for it in changed])


class Comparison(Owner, Sequence[Dict[str, Any]]):
    """What was predicted for the stages of a pipeline against the pipeline as it was compiled: each
    stage as in docs/compiled.schema.json. Needs no analysis any more."""

    def __init__(self, handle: Handle) -> None:
        self._handle = instance(handle, Handle, "the handle")
        info = handle.read(c.popliner_comparison)
        #: the compiled data by the predicted data, on the fullest tiles
        self.data_ratio: float = info.data_ratio
        self._stages: List[Dict[str, Any]] = self.json()["stages"]

    def __len__(self) -> int:
        return len(self._stages)

    def __getitem__(self, i: Any) -> Any:
        return self._stages[i]

    def report(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False) -> str:
        """For people, as the command shows it."""
        handle = self._held()
        return make_text(library.popliner_screen_comparison, handle,
                         screen(width, is_ascii, has_colour))

    def json_text(self) -> str:
        """docs/compiled.schema.json."""
        handle = self._held()
        return make_text(library.popliner_report_comparison, handle)

    def json(self) -> Dict[str, Any]:
        return json.loads(self.json_text())

    def __repr__(self) -> str:
        errors = ", ".join(f"{stage['error_percent']:+.2f} %" for stage in self[:8])
        return f"<Comparison: {len(self)} stages, errors {errors}>"

    def _repr_html_(self) -> str:
        return _html.table("Predicted and compiled", ("stage", "predicted bytes", "compiled bytes",
                                                      "error, %"),
                           [(i, *(it[side]["bytes"] for side in ("predicted", "compiled")),
                             round(it["error_percent"], 2))
                            for i, it in enumerate(self)])


__all__ = ["Changes", "Comparison"]
