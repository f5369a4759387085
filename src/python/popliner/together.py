"""Several profiles of one model, as of its training and its inference, with one split.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Mapping, Optional, Sequence, Tuple

from ._members import Members, Unpack
from . import _declared as c
from . import _html
from ._calling import (SIZE_MAX, Handle, Listening, Owner, call, decoded, instance, make, make_text,
                       member, screen, shown, size, text)
from ._library import begin, library
from .analysis import Analysis
from .chains import Costs
from .enums import Format, MemoryModel
from .errors import UsageError
from .plans import Answer
from .request import Asked, Request, Units, is_usual, memory_of, taken
from .written import Written

#: of a request: what says how stages are measured, and how much they may need
MEASURING = ("memory_model", "schedule", "recompute", "effects", "accumulators", "need", "copies",
             "num_ipus", "mem_per_tile", "reserve")


class Together(Written):
    """What the stages of a split need in each profile: docs/reports.md. `evaluations` has an Answer
    for each profile, by name; `answer` is that of solving for all of them, or None."""

    def __init__(self, evaluations: Mapping[str, Answer], is_training: Sequence[bool],
                 units: Sequence[Tuple[str, str]], answer: Optional[Answer]) -> None:
        self.evaluations = {name: instance(it, Answer, "one of evaluations") if units else it
                            for name, it in instance(evaluations, Mapping, "evaluations").items()}
        self.answer = answer
        self.names: Tuple[str, ...] = tuple(evaluations)
        self.is_training = tuple(is_training)  #: of each
        #: the first and the last unit of each stage, in whichever profile has it
        self.units = tuple(units)
        #: whether every stage fits in each profile
        self.fits: bool = bool(units) and all(it.fits for it in evaluations.values())
        self._handle = (answer if answer is not None else evaluations[self.names[0]])._held()

    def _text(self, format: Format) -> str:
        self._held()
        held = [it._held() for it in self.evaluations.values() if self.units]
        t = begin(c.popliner_together)
        count = len(self.names)
        t.names = (ctypes.c_char_p * count)(*[text(name, "a name") for name in self.names])
        t.are_training = (ctypes.c_bool * count)(*self.is_training)
        t.num_reports = count
        if self.units:
            t.evaluations = (ctypes.c_void_p * count)(*[it.pointer for it in held])
            for what, names in zip(("first_units", "last_units"), zip(*self.units)):
                setattr(t, what, (ctypes.c_char_p * len(names))(
                    *[text(name, "a unit's name") for name in names]))
        t.num_stages = len(self.units)
        if self.answer is not None:
            held.append(self.answer._held())
            t.answer = held[-1].pointer.value
        return make_text(library.popliner_report_together, ctypes.byref(t), int(format),
                         using=tuple(held))

    def report(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False,
               marked_row: Optional[int] = None) -> str:
        """The table for people, with a sign before one of its rows."""
        return make_text(library.popliner_screen_table, None, self.tsv().encode(),
                         SIZE_MAX if marked_row is None else size(marked_row, "marked_row"), b"",
                         screen(width, is_ascii, has_colour))

    def __repr__(self) -> str:
        split = " | ".join(first if first == last else f"{first} to {last}"
                           for first, last in self.units)
        return f"<Together: {', '.join(self.names)}, [ {split} ]>"

    def _repr_html_(self) -> str:
        if self.closed:
            return "<p>Together: closed</p>"
        rows = [line.split("\t") for line in self.tsv().splitlines()]
        return _html.table("Together", rows[0], rows[1:])


class _Group(Owner):
    """Profiles that have the same layers, and the units of all of them."""

    def __init__(self, analyses: Mapping[str, Analysis], request: Request) -> None:
        if not isinstance(analyses, Mapping) or not analyses:
            raise TypeError(f"analyses is {shown(analyses)}, and no dict of Analysis by name")
        names = [text(instance(name, str, "a name of analyses"), "a name of analyses")
                 for name in analyses]
        self.analyses = [instance(it, Analysis, "one of analyses") for it in analyses.values()]
        self.own_names = list(analyses)
        self.request = request
        self.of = tuple(it._held() for it in self.analyses)
        count = len(names)
        self._handle = make(library.popliner_group_create,
                            (ctypes.c_void_p * count)(*[it.pointer.value for it in self.of]),
                            (ctypes.c_char_p * count)(*names), count,
                            member(MemoryModel, request.memory_model, "memory_model"),
                            free=library.popliner_group_free, turn=self.of[0].turn, using=self.of,
                            kept=self.of)
        group = self._handle.read(c.popliner_group)
        self.names = [decoded(name) for name in group.unit_names[:group.num_units]]
        self.counted = [bool(it) for it in group.counted_units[:group.num_units]]
        self.is_training = list(group.are_training[:count])

    def ask(self) -> Asked:
        """The request in terms of the units of all."""
        request = self.request
        if request.reserve == "gaps":
            most = max(it.profile.info.layout_gap_bytes for it in self.analyses)
            request = dataclasses.replace(request, reserve=most)
        handle = self._held()
        asked = Asked(request, Units(self.names, self.counted), handle.turn)
        asked.listening = Listening(request.message, request.progress, request.step)
        return asked

    def costs(self) -> Costs:
        """Of each stage the most that any profile needs, and of each cut the sum."""
        asked = self.ask()
        handle = make(library.popliner_group_costs, self._held(), ctypes.byref(asked.request),
                      free=library.popliner_costs_free, turn=self._held().turn, using=self.of,
                      kept=self._held(), listening=asked.listening)
        info = self.analyses[0].profile.info
        defaults = {name: value for name, value in vars(self.request).items()
                    if not is_usual(self.request, name)}
        defaults.pop("counted_units", None)  # the table has them
        if info.bytes_per_tile > 0:
            defaults["mem_per_tile"] = {None: info.bytes_per_tile,
                                        **memory_of(self.request.mem_per_tile)}
        result = Costs.__new__(Costs)
        result._take(handle, self.names, defaults=defaults, counted=self.counted)
        result._counted = self.counted
        return result

    def evaluate(self, cuts: Sequence[int], answer: Optional[Answer] = None) -> Together:
        """The split whose stages but the first begin with these units."""
        asked = self.ask()
        made = [Handle(library.popliner_certificate_free, it.turn, it) for it in self.of]
        certificates = (ctypes.c_void_p * len(made))()
        call(library.popliner_group_evaluate, self._held(), ctypes.byref(asked.request),
             (ctypes.c_size_t * max(len(cuts), 1))(*cuts), len(cuts), certificates,
             using=self.of, listening=asked.listening)
        for handle, pointer in zip(made, certificates):
            handle.pointer.value = pointer
        measuring = Request(**{name: getattr(self.request, name) for name in MEASURING})
        evaluations = {
            name: Answer(handle, it.chain(measuring.memory_model).labels, it._ask(measuring, {}),
                         analysis=of)
            for name, handle, it, of in zip(self.own_names, made, self.analyses, self.of)}
        begins, ends = [0, *cuts], [*cuts, len(self.names)]
        return self.told(evaluations, [(self.names[i], self.names[j - 1])
                                       for i, j in zip(begins, ends)], answer)

    def told(self, evaluations: Mapping[str, Answer], units: Sequence[Tuple[str, str]],
             answer: Optional[Answer]) -> Together:
        return Together(evaluations, self.is_training, units, answer)


def solve_together(analyses: Mapping[str, Analysis], request: Optional[Request] = None,
                   **members: Unpack[Members]) -> Together:
    """The one split that fits in every profile and is best over all of them, as for training and
    inference: {"training": popliner.read(...), "inference": popliner.read(...)}. They have to have
    the same layers. Memory and cycles are the most of any, bytes over the cuts are added up."""
    group = _Group(analyses, taken(request, members))
    with group.costs() as costs:
        answer = costs.solve(group.request)
    cuts = [stage.first_unit for stage in answer.stages[1:]]
    if not answer.stages:
        return group.told(dict.fromkeys(analyses), [], answer)
    return group.evaluate(cuts, answer)


def evaluate_together(analyses: Mapping[str, Analysis], split: str,
                      request: Optional[Request] = None, **members: Unpack[Members]) -> Together:
    """What each stage of a split needs in every profile: the names of the last layers of all
    stages but the last, with '|' between them, "1|2", or "whole"."""
    group = _Group(analyses, taken(request, members))
    instance(split, str, "the split")
    cuts = []
    for name in split.split("|") if split not in ("", "whole") else ():
        if name not in group.names:
            raise UsageError(f"the split: there is no unit {shown(name)}; there are "
                             f"{', '.join(group.names[:20])}")
        cuts.append(group.names.index(name) + 1)
    return group.evaluate(cuts)


__all__ = ["Together", "evaluate_together", "solve_together"]
