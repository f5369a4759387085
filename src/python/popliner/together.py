"""Several profiles of one model, as of its training and its inference, with one split.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._members import Members, Unpack
from . import _declared as c
from . import _html
from ._calling import instance, make_text, member, shown, text
from ._library import begin, library
from .analysis import Analysis
from .chains import Costs
from .enums import CyclesSource, Format, Objective, Recompute, Schedule, UnitKind
from .errors import UsageError
from .plans import Answer, Tabled
from .request import Request, is_usual, memory_of, objectives_of, taken

#: of a request: what says how stages are measured, and how much they may need
MEASURING = ("memory_model", "schedule", "recompute", "effects", "accumulators", "need", "copies",
             "num_ipus", "mem_per_tile", "reserve")
#: stages keep something for their backward pass
KEEPING = (Schedule.POPART, Schedule.TF_GROUPED, Schedule.TF_INTERLEAVED)
#: what one table of all their costs cannot tell
OF_ONE = ("device_map", "ipu_links", "link_bandwidth", "stage_recomputes", "recompute_ways")


class Together(Tabled):
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

    def __repr__(self) -> str:
        split = " | ".join(first if first == last else f"{first} to {last}"
                           for first, last in self.units)
        return f"<Together: {', '.join(self.names)}, [ {split} ]>"

    def _repr_html_(self) -> str:
        if self.closed:
            return "<p>Together: closed</p>"
        rows = [line.split("\t") for line in self.tsv().splitlines()]
        return _html.table("Together", rows[0], rows[1:])


class _Part(NamedTuple):
    """A profile, and its unit for each unit of all; None where it has none."""

    name: str
    analysis: Analysis
    own: Tuple[Optional[int], ...]

    def interval(self, first: int, last: int) -> Optional[Tuple[int, int]]:
        """What it has of the units first to last."""
        units = [unit for unit in self.own[first:last + 1] if unit is not None]
        return (units[0], units[-1]) if units else None


class _Group:
    """Profiles that have the same layers, and the units of all of them."""

    def __init__(self, analyses: Mapping[str, Analysis], request: Request) -> None:
        if not isinstance(analyses, Mapping) or not analyses:
            raise TypeError(f"analyses is {shown(analyses)}, and no dict of Analysis by name")
        for name, analysis in analyses.items():
            text(instance(name, str, "a name of analyses"), "a name of analyses")
            instance(analysis, Analysis, "one of analyses")
        for name in OF_ONE:
            if not is_usual(request, name):
                raise UsageError(f"{name} is for one profile, and not for several together")
        if member(Recompute, request.recompute, "recompute") == Recompute.AUTO:
            raise UsageError("recompute auto is for one profile, and not for several together")
        self.request = request
        chains = {name: analysis.chain(request.memory_model)
                  for name, analysis in analyses.items()}
        layers = [(name, UnitKind.LAYER) for name in self._layers(chains)]
        # what comes before and after the layers may be in some profiles only
        units = (self._others(chains, (UnitKind.UNLAYERED, UnitKind.HEAD)) + layers +
                 self._others(chains, (UnitKind.TAIL,)))
        self.names = [name for name, _ in units]
        self.counted = [kind == UnitKind.LAYER for _, kind in units]
        self.parts = []
        for name, chain in chains.items():
            places = {(unit.label, unit.kind): i for i, unit in enumerate(chain)}
            self.parts.append(_Part(name, analyses[name],
                                    tuple(places.get(unit) for unit in units)))

    @staticmethod
    def _others(chains: Mapping[str, Any], kinds: Sequence[UnitKind]
                ) -> List[Tuple[str, UnitKind]]:
        return list(dict.fromkeys((unit.label, unit.kind) for chain in chains.values()
                                  for unit in chain if unit.kind in kinds))

    @staticmethod
    def _layers(chains: Mapping[str, Any]) -> List[str]:
        """Those of all; they have to be the same."""
        found = {name: [u.label for u in chain if u.kind == UnitKind.LAYER]
                 for name, chain in chains.items()}
        first, *others = found
        for other in others:
            if found[other] == found[first]:
                continue
            for has, lacks in ((first, other), (other, first)):
                lacking = [it for it in found[has] if it not in found[lacks]]
                if lacking:
                    raise UsageError(f"{lacks} has no layer {lacking[0]}, which {has} has: "
                                     f"profiles have one split where they have the same layers")
            raise UsageError(f"{first} and {other} have their layers in another order")
        return found[first]

    def measuring(self, **members: Any) -> Request:
        """The request for one of them, whose units may be others."""
        return Request(**{**{name: getattr(self.request, name) for name in MEASURING}, **members})

    def check_solving(self) -> None:
        infos = [part.analysis.profile.info for part in self.parts]
        if (None not in memory_of(self.request.mem_per_tile)
                and len({i.bytes_per_tile for i in infos}) > 1):
            raise UsageError("the profiles have tiles of different sizes: give mem_per_tile")
        if Objective.CYCLES not in objectives_of(self.request.objectives):
            return
        for part, info in zip(self.parts, infos):
            if info.cycles_source < CyclesSource.ESTIMATED:
                raise UsageError(f"the objective cycles: {part.name} has no cycles of computing")
        if len({info.clock_hz for info in infos}) > 1:
            raise UsageError("the objective cycles: the profiles have different clocks")

    def costs(self) -> Costs:
        """Of each stage the most that any profile needs, and of each cut the sum."""
        n = len(self.names)
        own = [part.analysis.costs(self.measuring()) for part in self.parts]
        defaults = dict(own[0].defaults)

        def most(function: Any, first: int, last: int) -> Any:
            values = []
            for part, costs in zip(self.parts, own):
                interval = part.interval(first, last)
                values.append(None if interval is None else function(costs, *interval))
            return None if None in values else max(values)

        places = self.places(own)
        result = Costs(n, places, unit_names=self.names)
        result._take(result._held(), self.names, defaults=defaults, counted=self.counted)
        result.set_counted_units(self.counted)
        for place in range(1, places + 1):
            result.set_peaks([[most(lambda it, i, j: it.peak(i, j, place), first, last)
                               if first <= last else 0 for last in range(n)]
                              for first in range(n)], place)
        if all(costs.has_cycles for costs in own):
            result.set_cycle_table([[most(Costs.cycles, first, last) or 0 if first <= last else 0
                                     for last in range(n)] for first in range(n)])
        # one that lacks the unit after a cut has an empty stage there, which is forbidden
        result.set_cuts([sum(costs.cut(part.own[unit]) for part, costs in zip(self.parts, own)
                             if part.own[unit]) for unit in range(1, n)])
        return result

    def places(self, own: Sequence[Costs]) -> int:
        """Up to how far from the end all of them tell what a stage needs."""
        n = len(self.names)
        least = min(self.request.num_ipus or c.CONSTANTS["POPLINER_USUAL_IPUS"], n)
        keeps = self.request.copies is not None or member(
            Schedule, self.request.schedule, "schedule") in KEEPING
        keeps = keeps and any(self.trains())
        place = 1
        while keeps and place < n and all(
                any(costs.peak(unit, unit, place + 1) is not None
                    for unit in range(costs.num_units)) for costs in own):
            place += 1
        return max(place, least) if keeps else 1

    def evaluate(self, cuts: Sequence[int], answer: Optional[Answer] = None) -> Together:
        """The split whose stages but the first begin with these units."""
        begins = [0, *cuts]
        ends = [unit - 1 for unit in cuts] + [len(self.names) - 1]
        asked = self.measuring(num_ipus=len(begins))
        evaluations = {}
        for part in self.parts:
            intervals = [part.interval(*stage) for stage in zip(begins, ends)]
            if None in intervals:
                stage = intervals.index(None)
                raise UsageError(f"stage {stage} is {self.names[begins[stage]]} alone, which "
                                 f"{part.name} has not")
            evaluations[part.name] = part.analysis.evaluate(
                [first for first, _ in intervals[1:]], asked)
        return self.told(evaluations, [(self.names[i], self.names[j])
                                       for i, j in zip(begins, ends)], answer)

    def told(self, evaluations: Mapping[str, Answer], units: Sequence[Tuple[str, str]],
             answer: Optional[Answer]) -> Together:
        return Together(evaluations, self.trains(), units, answer)

    def trains(self) -> List[bool]:
        return [part.analysis.is_training(self.request.memory_model) for part in self.parts]


def solve_together(analyses: Mapping[str, Analysis], request: Optional[Request] = None,
                   **members: Unpack[Members]) -> Together:
    """The one split that fits in every profile and is best over all of them, as for training and
    inference: {"training": popliner.read(...), "inference": popliner.read(...)}. They have to have
    the same layers. Memory and cycles are the most of any, bytes over the cuts are added up."""
    group = _Group(analyses, taken(request, members))
    group.check_solving()
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
