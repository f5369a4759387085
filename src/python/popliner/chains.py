"""What the stages of a chain would cost: tables that the solver reads. `popliner.costs` makes them
from models.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import json
import os
from typing import (Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from ._members import Members, Unpack
from . import _declared as c, _html
from ._calling import (SIZE_MAX, UINT64_MAX, ERROR_INTERNAL, Handle, Owner, Path, Turn, array_of,
                        ask, call, called_back, callback, encoded, failure, file_name, instance,
                        listed, logger, make, make_text, member, number, numbers_in, shown, size,
                        stop_of, table_of, text)
from ._library import begin, library
from .enums import CopiesRule, CostsOf, CutRule, Need, Objective, ProgramFormat, Recompute, Schedule
from .errors import StoppedError, UsageError
from .plans import Answer, Naming, Pareto, Replicas, Sweep, Words, page_options
from .records import Interval
from .request import (MAX_IPU, Asked, Bandwidth, Request, Units, WeightFunction, copies_of,
                       listed_marks, member_name, need_of, pairs_of, swept, taken, weight_of)

#: The peak of an interval that must not be a stage.
FORBIDDEN = c.CONSTANTS["POPLINER_PEAK_FORBIDDEN"]
#: The most units of a chain.
MAX_UNITS = 16384
#: The most cycles that an interval may have.
MAX_CYCLES = c.CONSTANTS["POPLINER_MAX_CYCLES"]

PeakFunction = Callable[[int, int], Optional[int]]
SharedPeakFunction = Callable[[List[Interval]], int]


class FileInfo(NamedTuple):
    """The contents of a cost file in addition to the table."""

    is_graph: bool  #: of which the time is what people look at first
    num_ipus: int  #: that the file speaks of; 0 if it does not say
    bytes_per_tile: int  #: 0 if it does not say
    unit_order: Optional[str]  #: in which order a graph's units make the chain
    has_kept: bool  #: whether it says what the stages of a training pipeline keep
    parameter_bytes: Optional[Tuple[int, ...]]  #: of each unit


def _forbidden(peak: Any, what: str) -> int:
    """Bytes, of which None and infinity stand for a stage that must not be."""
    if peak is None or peak == float("inf"):
        return FORBIDDEN
    return number(peak, what)


def _json(document: Mapping[Any, Any]) -> str:
    """An object as JSON; what is wrong names the key."""
    members = []
    for key, value in document.items():
        try:
            members.append(json.dumps({text(key, "a key").decode(): value}, allow_nan=False)[1:-1])
        except (TypeError, RecursionError) as error:
            raise TypeError(f"{shown(key)} of the document is {shown(value)}: {error}") from None
        except ValueError as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"{shown(key)} of the document: {error}") from None
    return "{" + ", ".join(members) + "}"


def _mapping(value: Any, what: str) -> Dict[Any, Any]:
    return {instance(key, str, f"a name of {what}"): it
            for key, it in instance(value, Mapping, what).items()}


class Costs(Owner):
    """What every stage of a chain of `num_units` units would cost. A stage is an interval of
    units. There are peaks in bytes on the fullest tile, cuts in bytes, and, once some were set,
    cycles in any unit of time.

    At first every interval has peak 0 and every cut costs 0. In a pipeline an early stage may keep
    more than a late one: then `max_stages` is how many places there are to tell apart.

    Members that a request does not give are taken from `defaults`."""

    def __init__(self, num_units: int, max_stages: int = 1, *,
                 unit_names: Optional[Sequence[str]] = None, time_unit: str = "cycles") -> None:
        num_units = number(num_units, "num_units", MAX_UNITS)
        names = None if unit_names is None else listed(unit_names, "unit_names", num_units)
        if names is not None and len(names) != num_units:
            raise UsageError(f"there are {len(names)} unit_names for {num_units} units")
        for name in names or ():
            instance(name, str, "one of unit_names")
            text(name, "one of unit_names")
        text(instance(time_unit, str, "time_unit"), "time_unit")
        turn = Turn()
        handle = make(library.popliner_costs_create, num_units,
                      number(max_stages, "max_stages", MAX_IPU + 1),
                      free=library.popliner_costs_free, turn=turn)
        self._take(handle, names, time_unit)

    def _take(self, handle: Handle, unit_names: Optional[Sequence[str]],
              time_unit: str = "cycles", cycles_per_time_unit: int = 1, cuts_per_unit: int = 1,
              defaults: Optional[Dict[str, Any]] = None, file: Optional[FileInfo] = None,
              counted: Optional[Sequence[bool]] = None) -> None:
        self._handle = handle
        self.num_units: int = library.popliner_costs_num_units(handle.pointer)
        #: how the units are called
        self.unit_names: Tuple[str, ...] = tuple(unit_names if unit_names is not None else
                                                 (str(i) for i in range(self.num_units)))
        self.time_unit = time_unit  #: what cycles are counted in, or ...
        self.cycles_per_time_unit = cycles_per_time_unit  #: ... so many of them
        self.cuts_per_unit = cuts_per_unit
        #: members of requests, unless others are given
        self.defaults: Dict[str, Any] = defaults or {}
        self.file = file  #: what the file says that it was read from
        self._units = Units(self.unit_names, counted)
        self._counted = None if counted is None else list(counted)

    # ---- other ways to make them ----

    @classmethod
    def read(cls, path: Path, **pipeline: Any) -> "Costs":
        """Reads a file in any of the formats of docs/costs.md. `schedule`, `recompute`,
        `max_stages` and `copies`, of a request, say for which pipeline, and `num_replicas` how many
        divide what is `sharded`; with `need="most"` sizes are what the file says that they may be
        at most; `should_stop` is asked now and then whether to raise StoppedError."""
        result = cls._read(pipeline, library.popliner_costs_file_read, file_name(path), None, 0)
        result._path = path
        return result

    #: the file that it was read from
    _path: Optional[Path] = None

    @classmethod
    def parse(cls, document: Union[str, bytes, Mapping[str, Any]], name: str = "the costs",
              **pipeline: Any) -> "Costs":
        """The same for a text that is in memory, or for an object that is to be one: popliner's
        own format as dicts and lists. `name` is what errors call it."""
        if isinstance(document, Mapping):
            document = _json(document)
        document = encoded(document, "the document")
        return cls._read(pipeline, library.popliner_costs_file_read, text(name, "name"),
                         document, len(document))

    @classmethod
    def of_units(cls, units: Iterable[Mapping[str, Any]], *,
                 cuts: Optional[Sequence[int]] = None, time_unit: Optional[str] = None,
                 devices: Optional[Mapping[str, Any]] = None, shared: Sequence[Any] = (),
                 pipeline: Optional[Mapping[str, Any]] = None, **others: Any) -> "Costs":
        """Costs that add up: `units` has an object for each unit, with `name` and, of those it
        has, `memory`, `cycles` or `forward` and `backward`, `stash`, `inputs`,
        `recompute_cycles`, `parameters`, `kv`, and `layer` or `kind`; `cuts` the bytes over the cut
        after each unit but the last. All is as in docs/costs.md, whose other keys may be given
        too."""
        document: Dict[str, Any] = {"format": "popliner-costs", "version": 1, **others,
                                    "units": [_mapping(unit, "one of units")
                                              for unit in listed(units, "units")]}
        if cuts is not None:
            document["cuts"] = listed(cuts, "cuts")
        if time_unit is not None:
            document["time_unit"] = time_unit
        if devices is not None:
            document["devices"] = _mapping(devices, "devices")
        if len(shared := listed(shared, "shared")) > 0:
            document["shared"] = shared
        return cls.parse(document, "the units", **_mapping(pipeline or {}, "pipeline"))

    @classmethod
    def of_table(cls, rows: Iterable[Any], **options: Any) -> "Costs":
        """Costs of the stages that are listed, each (first unit, last unit, peak in bytes), and
        optionally followed by cycles, or an object with `first_unit`, `last_unit`, `peak_bytes` and
        `cycles`. No other stage is possible."""
        table = []
        for row in listed(rows, "rows", 1 << 22):
            if isinstance(row, Mapping):
                if not {"first_unit", "last_unit", "peak_bytes"} <= set(row):
                    raise UsageError(f"the row {shown(row)} needs first_unit, last_unit and "
                                     f"peak_bytes")
                row = (row["first_unit"], row["last_unit"], row["peak_bytes"],
                       *([row["cycles"]] if "cycles" in row else []))
            table.append(tuple(listed(row, "one of rows")))
            if len(table[-1]) not in (3, 4):
                raise UsageError(f"the row {shown(row)} is not first unit, last unit, peak, and "
                                 f"perhaps cycles")
        if not table:
            raise UsageError("a table of costs needs a row for some stage")
        costs = cls(max(number(row[1], "last_unit of rows", MAX_UNITS - 1) for row in table) + 1,
                    **options)
        costs.forbid_all()
        for row in table:
            costs.set_peak(row[0], row[1], row[2])
            if len(row) > 3:
                costs.set_cycles(row[0], row[1], row[3])
        return costs

    @classmethod
    def _read(cls, members: Mapping[str, Any], function: Any, *arguments: Any) -> "Costs":
        known = {"schedule", "recompute", "max_stages", "copies", "num_replicas", "should_stop",
                 "need"}
        for name in members:
            if name not in known:
                raise TypeError(f"there is no {name!r} of a pipeline: expected some of "
                                f"{', '.join(sorted(known))}")
        p = c.popliner_pipeline()
        p.schedule = member(Schedule, members.get("schedule", Schedule.NONE), "schedule")
        p.recompute = member(Recompute, members.get("recompute", Recompute.NONE), "recompute")
        p.max_stages = size(members.get("max_stages", SIZE_MAX), "max_stages")
        p.copies = copies_of(members.get("copies"))
        p.num_replicas = size(members.get("num_replicas", 0), "num_replicas")
        p.need = need_of(members.get("need", Need.EXPECTED))
        turn = Turn()
        p.should_stop = stop_of(members.get("should_stop"), c.popliner_pipeline_should_stop, turn)
        file = make(function, *arguments, ctypes.byref(p), free=library.popliner_costs_file_free,
                    turn=turn, kept=members.get("copies"))
        result = cls._of_file(file, members)
        info = file.read(c.popliner_costs_file)
        result._chooses = p.recompute == Recompute.AUTO
        result._has_need = p.need
        if (info.has_kept and p.schedule == Schedule.NONE and p.recompute != Recompute.AUTO
                and p.copies.rule == CopiesRule.OF_SCHEDULE):
            logger.warning("The costs say what a pipeline that trains keeps (\"stash\"), but "
                           "neither a schedule nor copies say how often: none of it is counted.")
        return result

    @classmethod
    def _of_file(cls, file: Handle, members: Mapping[str, Any]) -> "Costs":
        info = file.read(c.popliner_costs_file)
        handle = Handle(None, file.turn, file)
        handle.pointer.value = info.costs
        count = library.popliner_costs_num_units(info.costs)
        counted = (None if not info.counted_units
                   else [bool(info.counted_units[i]) for i in range(count)])
        defaults = cls._defaults_of(info)
        defaults.update({name: members[name] for name in ("schedule", "recompute", "copies", "need")
                         if name in members})
        result = cls.__new__(cls)
        result._take(
            handle, [info.unit_names[i].decode("utf-8", "replace") for i in range(count)],
            info.time_unit.decode(), info.cycles_per_time_unit, info.cuts_per_unit, defaults,
            FileInfo(info.is_graph, info.num_ipus, info.bytes_per_tile,
                     None if info.unit_order is None else info.unit_order.decode(), info.has_kept,
                     tuple(info.parameter_bytes[:count]) if info.parameter_bytes else None),
            counted)
        result._graph_file = file if info.is_graph else None
        return result

    #: a graph whose table was not changed
    _graph_file: Optional[Handle] = None

    _chooses = False  # stages choose how they recompute
    _has_need = int(Need.EXPECTED)  #: of its sizes

    @staticmethod
    def _defaults_of(info: Any) -> Dict[str, Any]:
        result: Dict[str, Any] = {}
        if info.num_ipus > 0:
            result["num_ipus"] = info.num_ipus
        memory: Dict[Optional[int], int] = {
            info.ipu_limits[i].ipu: info.ipu_limits[i].value for i in range(info.num_ipu_limits)}
        if info.bytes_per_tile > 0:
            memory[None] = info.bytes_per_tile
        if memory:
            result["mem_per_tile"] = memory
        result["ipu_speeds"] = {info.ipu_speeds[i].ipu: info.ipu_speeds[i].value / 1000000
                                for i in range(info.num_ipu_speeds)}
        if info.link_bandwidth.bytes > 0:
            result["link_bandwidth"] = (info.link_bandwidth.bytes, info.link_bandwidth.cycles)
        result["ipu_links"] = {
            (it.first_ipu, it.second_ipu): (it.bytes, it.cycles)
            for it in (info.ipu_links[i] for i in range(info.num_ipu_links))}
        return result

    # ---- setting ----

    def _changing(self) -> Handle:
        """The handle, for a change: the table is not that of the graph of its file any more."""
        handle = self._held()
        self._graph_file = None
        return handle

    def _set(self, function: Any, *arguments: Any) -> None:
        self._fill(function, [arguments])

    def set_peak(self, first_unit: int, last_unit: int, peak_bytes: Optional[int],
                 stages_to_end: int = 1) -> None:
        """The most bytes that a tile needs for the stage; None forbids it."""
        self._set(library.popliner_costs_set_peak, size(first_unit, "first_unit"),
                  size(last_unit, "last_unit"), size(stages_to_end, "stages_to_end"),
                  _forbidden(peak_bytes, "peak_bytes"))

    def set_cut(self, unit: int, cut_bytes: int) -> None:
        """What it costs to cut the chain before `unit`, in bytes."""
        self._set(library.popliner_costs_set_cut, size(unit, "unit"),
                  number(cut_bytes, "cut_bytes"))

    def set_cycles(self, first_unit: int, last_unit: int, cycles: int) -> None:
        """What an IPU is busy with the stage for."""
        self._set(library.popliner_costs_set_cycles, size(first_unit, "first_unit"),
                  size(last_unit, "last_unit"), number(cycles, "cycles"))

    def set_pipeline(self, schedule: Union[Schedule, str] = Schedule.NONE,
                     recompute: Union[Recompute, str] = Recompute.NONE,
                     copies: Any = None) -> None:
        """Sets the pipeline that the table is for. If its copies depend on the number of stages
        ("zero-bubble"), positions are numbers of stages from then on."""
        handle = self._changing()
        p = c.popliner_pipeline(schedule=member(Schedule, schedule, "schedule"),
                                recompute=member(Recompute, recompute, "recompute"),
                                max_stages=1, copies=copies_of(copies))
        call(library.popliner_costs_set_pipeline, handle, ctypes.byref(p))
        handle.kept = (handle.kept, copies)

    def set_counted_units(self, counted: Optional[Iterable[Any]]) -> None:
        """Which units count for the rule layers:A..B of a request: a mark for each. None:
        all. Of a file and of a profile these are the layers."""
        marks = None if counted is None else listed_marks(counted, self.num_units)
        self._changing()
        self._counted = marks
        self.defaults["counted_units"] = [True] * self.num_units if marks is None else marks

    @property
    def counted_units(self) -> Optional[List[bool]]:
        """These marks; None if all units count."""
        self._held()
        return None if self._counted is None else list(self._counted)

    def _square(self, table: Any, what: str, convert: Callable[[Any], int]) -> Any:
        """A square table for the library: without a copy if its buffer is one of C's uint64 in
        rows. Numbers before the diagonal are ignored."""
        n = self.num_units
        result = numbers_in(table, (n, n))
        if result is not None:
            return result
        rows = [listed(row, f"a row of the table of {what}")
                for row in listed(table, f"the table of {what}")]
        if len(rows) != n or any(len(row) != n for row in rows):
            raise UsageError(f"{what}: expected {n} rows of {n} numbers")
        return (ctypes.c_uint64 * (n * n))(*(
            convert(value) if k >= i else 0 for i, row in enumerate(rows)
            for k, value in enumerate(row)))

    def _fill(self, function: Any, values: Iterable[Tuple[int, ...]]) -> None:
        """Sets many, all within one turn."""
        handle = self._changing()
        error = c.popliner_error()

        def fill() -> None:
            for arguments in values:
                status = function(handle, *arguments, error)
                if status != 0:
                    raise failure(status, error)

        ask(handle, fill)

    def set_peaks(self, table: Any, stages_to_end: int = 1) -> None:
        """All peaks of one place in a pipeline, from a square table (rows or an array): the row is
        the first unit, the column the last one. None and infinity forbid a stage."""
        self._set(library.popliner_costs_set_all, int(CostsOf.PEAKS),
                  size(stages_to_end, "stages_to_end"),
                  self._square(table, "peaks", lambda peak: _forbidden(peak, "a peak")))

    def set_cycle_table(self, table: Any) -> None:
        """Sets the cycles of all stages, like `set_peaks`."""
        self._set(library.popliner_costs_set_all, int(CostsOf.CYCLES), 1,
                  self._square(table, "cycles", lambda cycles: number(cycles, "cycles")))

    def set_cuts(self, cuts: Any) -> None:
        """Sets the bytes over each cut, one fewer than units: cuts[i] is the cut after unit i."""
        values = listed(cuts, "cuts")
        if len(values) != self.num_units - 1:
            raise UsageError(f"cuts: expected {self.num_units - 1} numbers, one for each unit but "
                             f"the last, and not {len(values)}")
        self._set(library.popliner_costs_set_all, int(CostsOf.CUTS), 1,
                  (ctypes.c_uint64 * self.num_units)(0, *(number(value, "one of cuts")
                                                          for value in values)))

    def forbid_all(self) -> None:
        """No interval may be a stage, until its peak is set."""
        n = self.num_units
        self._fill(library.popliner_costs_set_peak,
                   ((i, j, 1, FORBIDDEN) for i in range(n) for j in range(i, n)))

    def fill_peaks(self, peak: PeakFunction, max_bytes: int = UINT64_MAX) -> None:
        """Asks `peak(first_unit, last_unit)` for every interval, those that begin with unit 0
        first, each row from the shortest to the longest; it returns bytes, or None for a stage
        that must not be. A longer interval must not need less: once one needs more than
        `max_bytes`, the longer ones with the same first unit are forbidden without a call."""
        handle = self._changing()
        if callback(peak, "peak") is None:
            raise TypeError("peak is None, and not a function")

        def answer(_user: Any, first_unit: int, last_unit: int, result: Any, _error: Any) -> int:
            result[0] = _forbidden(peak(first_unit, last_unit), "what peak returned")
            return 0

        call(library.popliner_costs_fill_peaks, handle,
             c.popliner_peak_function(called_back(handle.turn, answer, ERROR_INTERNAL)), None,
             number(max_bytes, "max_bytes"))

    def set_shared_peak(self, peak: Optional[SharedPeakFunction],
                        never_shrinks: bool = False) -> None:
        """Who knows the peak of several stages that share an IPU: `peak(stages)` returns bytes.
        With None, as without, the peaks are added up. `never_shrinks` promises that they do not
        become less when a stage grows."""
        handle = self._changing()
        function = c.popliner_shared_peak_function()
        if callback(peak, "peak") is not None:
            def answer(_user: Any, stages: Any, count: int, result: Any, _error: Any) -> int:
                asked = [Interval(stages[i].first_unit, stages[i].last_unit,
                                  stages[i].stages_to_end) for i in range(count)]
                result[0] = _forbidden(peak(asked), "what peak returned")
                return 0

            function = c.popliner_shared_peak_function(
                called_back(handle.turn, answer, ERROR_INTERNAL))
        handle.kept = (handle.kept, function)
        ask(handle, library.popliner_costs_set_shared_peak, handle, function, None,
            bool(never_shrinks))

    # ---- getting ----

    def peak(self, first_unit: int, last_unit: int, stages_to_end: int = 1) -> Optional[int]:
        """The peak of a stage in bytes; None if it must not be one."""
        handle = self._held()
        result = ask(handle, library.popliner_costs_peak, handle,
                     size(first_unit, "first_unit"), size(last_unit, "last_unit"),
                     size(stages_to_end, "stages_to_end"))
        return None if result == FORBIDDEN else result

    def cut(self, unit: int) -> int:
        """What it costs to cut before `unit`, in bytes."""
        handle = self._held()
        return ask(handle, library.popliner_costs_cut, handle, size(unit, "unit"))

    def cycles(self, first_unit: int, last_unit: int) -> int:
        """What an IPU is busy with a stage for; 0 if there are no cycles."""
        handle = self._held()
        return ask(handle, library.popliner_costs_cycles, handle,
                   size(first_unit, "first_unit"), size(last_unit, "last_unit"))

    @property
    def has_cycles(self) -> bool:
        """Whether the table has cycles."""
        handle = self._held()
        return ask(handle, library.popliner_costs_has_cycles, handle)

    def _all(self, kind: CostsOf, length: int, stages_to_end: int = 1) -> Any:
        handle = self._held()
        values = (ctypes.c_uint64 * length)()
        ask(handle, library.popliner_costs_get_all, handle, int(kind), stages_to_end, values, None)
        return values

    def peaks(self, stages_to_end: int = 1) -> Any:
        """All peaks of one place, as set_peaks takes them: a NumPy array if NumPy is there, else
        rows. FORBIDDEN stands for a stage that must not be."""
        n = self.num_units
        return table_of(self._all(CostsOf.PEAKS, n * n, size(stages_to_end, "stages_to_end")), n)

    def cycle_table(self) -> Any:
        """The cycles of all stages, in the form of peaks()."""
        n = self.num_units
        return table_of(self._all(CostsOf.CYCLES, n * n), n)

    def cuts(self) -> Any:
        """The bytes over each cut, as set_cuts takes them: an array."""
        return array_of(self._all(CostsOf.CUTS, self.num_units), self.num_units)[1:]

    # ---- asking ----

    def _ask(self, request: Optional[Request], members: Mapping[str, Any],
             defaults: Optional[Mapping[str, Any]] = None, spreads: bool = True) -> Asked:
        handle = self._held()
        r = taken(request, members, {**self.defaults, **(defaults or {})})
        asked = Asked(r, self._units, handle.turn, spreads, handle.pointer)
        if r.mem_per_tile is None and (asked.solver.reserve_bytes or
                                       asked.solver.reserve_percent_hundredths):
            raise UsageError("reserve: the costs have no limit of memory to keep something free "
                             "of; give mem_per_tile")
        self._check_pipeline(asked)
        return asked

    def _certify(self, asked: Asked, using: Sequence[Handle], solve: Any, *arguments: Any
                 ) -> Answer:
        """The answer of a plan, which becomes the certificate's. The costs do not change from one
        to the other."""
        handle = self._held()
        certificate_input = Naming(self, asked).input()
        certificate_input.is_evaluation = asked.is_evaluation

        def create(result: Any, error: Any) -> int:
            plan = Handle(library.popliner_plan_free, handle.turn)
            status = solve(*arguments, ctypes.byref(plan.pointer), error)
            certificate_input.plan = plan.pointer.value
            status = status or library.popliner_certificate_create(
                ctypes.byref(certificate_input), result, error)
            if status == 0:  # here nothing can interrupt
                plan.pointer.value = None
            return status

        certificate = make(create, free=library.popliner_certificate_free, turn=handle.turn,
                           using=(handle, *using), kept=(handle, asked))
        return Answer(certificate, self.unit_names, asked, self)

    def _check_pipeline(self, asked: Asked) -> None:
        """What the table was not made for is refused before it is solved."""
        handle = self._held()
        q = asked.request
        if q.recompute == Recompute.AUTO and not self._chooses:
            raise UsageError("recompute auto: these costs have no choice; read their file with "
                             "recompute=\"auto\"")
        if self.file is not None and q.need != self._has_need:
            raise UsageError("need: these costs have another estimate; read their file with the "
                             "same need")
        if q.recompute != Recompute.AUTO:
            p = c.popliner_pipeline(schedule=q.schedule, recompute=q.recompute, max_stages=1,
                                    copies=q.copies)
            call(library.popliner_costs_check_pipeline, handle, ctypes.byref(p))

    def solve(self, request: Optional[Request] = None, **members: Unpack[Members]) -> Answer:
        """The best split. Members of the request may be given by name."""
        asked = self._ask(request, members)
        handle = self._held()
        if asked.request.recompute == Recompute.AUTO:
            return self._solve(asked)
        arranged = self._arrange(asked)
        if arranged is not None:
            return arranged._solve(asked)
        return self._solve(asked)

    def evaluate(self, split: Union[str, Iterable[int]], request: Optional[Request] = None,
                 **members: Unpack[Members]) -> Answer:
        """Shows a given split: the first units after its cuts, or the names of the last units of
        all stages but the last, with '|' between them: "1|2"; "whole" has no cut. Status and bounds
        of the answer are about this split alone."""
        cuts = self._cuts(split)
        if self._graph_file is not None and self.cuts_per_unit > 1:
            raise UsageError("evaluate: the nodes of this graph have several orders, and which one "
                             "is cut depends on the best split")
        asked = self._ask(request, members)
        o = asked.solver
        if o.cut_rules or o.num_pairs or o.num_placements:
            raise UsageError("evaluate: not with require, as all cuts are given")
        if o.num_mapped_stages not in (0, len(cuts) + 1):
            raise UsageError(f"evaluate: the split has {len(cuts) + 1} stages, but the device map "
                             f"has {o.num_mapped_stages}")
        rules = [int(CutRule.REQUIRED if unit in cuts else CutRule.FORBIDDEN)
                 for unit in range(self.num_units)]
        o.cut_rules = (ctypes.c_int * len(rules))(*rules)
        o.num_ipus = len(cuts) + 1
        o.min_units = o.max_units = 0
        asked.is_evaluation = True
        return self._solve(asked)

    def _cuts(self, split: Any) -> List[int]:
        if isinstance(split, str):
            names = [] if split in ("", "whole") else split.split("|")
            cuts = [self._units.find(name, "the split") + 1 for name in names]
        else:
            cuts = [size(unit, "a unit of the split") for unit in listed(split, "the split")]
        if any(b <= a for a, b in zip([0, *cuts], [*cuts, self.num_units])):
            raise UsageError(f"the split: expected ascending units from 1 to {self.num_units - 1} "
                             f"after the cuts, found {shown(cuts)}")
        return cuts

    def _arrange(self, asked: Asked) -> Optional["Costs"]:
        """Of a graph the costs in the order in which its best partition is a split; None where
        this order stands, as it does where a request names units."""
        graph = self._graph_file
        if graph is None or asked.solver.num_pairs or asked.solver.num_placements:
            return None
        file = make(library.popliner_costs_file_arrange, graph, ctypes.byref(asked.solver),
                    free=library.popliner_costs_file_free, turn=graph.turn, kept=graph)
        return type(self)._of_file(file, self.defaults) if file.pointer else None

    def _solve(self, asked: Asked) -> Answer:
        return self._certify(asked, (), library.popliner_solve, self._held(),
                             ctypes.byref(asked.solver))

    def order_devices(self, request: Optional[Request] = None,
                      **members: Unpack[Members]) -> Tuple[int, ...]:
        """Which device gets which stage, where devices differ in `mem_per_tile` and `ipu_speeds`:
        the devices of the best split, of all splits and all orders of the devices 0 ...
        num_ipus - 1, to solve with as `device_map`. Empty if nothing fits in any order."""
        asked = self._ask(request, members)
        handle = self._held()
        most = number(asked.solver.num_ipus, "num_ipus", MAX_IPU + 1)
        devices = (ctypes.c_size_t * (most or c.CONSTANTS["POPLINER_USUAL_IPUS"]))()
        count, is_proven = ctypes.c_size_t(), ctypes.c_bool()
        call(library.popliner_solver_order_devices, handle, ctypes.byref(asked.solver),
             devices, ctypes.byref(count), ctypes.byref(is_proven))
        if not is_proven.value:
            raise StoppedError("order_devices: stopped before the best order was proven")
        return tuple(devices[:count.value])

    def sweep(self, what: str, values: Iterable[int], request: Optional[Request] = None, *,
              title: Optional[str] = None, **members: Unpack[Members]) -> Sweep:
        """The best splits for several values of a member of the request that is a number, like
        "num_ipus" or "mem_per_tile". `title` is the head of its column."""
        member_name(what)
        head = what if title is None else title
        text(instance(head, str, "title"), "title")
        numbers = swept(what, values)
        # what is usual depends on what is given
        asked = self._ask(request, {**members, **{what: value for value in numbers[-1:]}})
        answers = [self.solve(request, **{**members, "without_second_proof": True, what: value})
                   for value in numbers]
        return Sweep(head, numbers, answers, Naming(self, asked), what == "mem_per_tile")

    def pareto(self, objectives: Union[str, Sequence[Union[str, Objective]]],
               request: Optional[Request] = None, **members: Unpack[Members]) -> Pareto:
        """All best compromises between the first two objectives: "memory,cycles"."""
        asked = self._ask(request, {**members, "objectives": objectives}, spreads=False)
        handle = self._held()
        pareto = make(library.popliner_pareto_solve, handle, ctypes.byref(asked.solver),
                      free=library.popliner_pareto_free, turn=handle.turn, kept=(handle, asked))
        return Pareto(pareto, Naming(self, asked))

    def page(self, request: Optional[Request] = None, *, answer: Optional[Answer] = None,
             title: Optional[str] = None, words: Optional[Words] = None,
             **members: Unpack[Members]) -> str:
        """These costs, and a plan of them, as one HTML page for a browser: docs/page.md."""
        asked = self._ask(request, members)
        o = page_options(title, words)
        using = [self._held()]
        if answer is not None:
            using.append(instance(answer, Answer, "the answer")._held())
            o.certificate = using[-1].pointer.value
        naming = Naming(self, asked)
        return make_text(library.popliner_page_of_costs, ctypes.byref(naming.input()),
                         ctypes.byref(o), using=tuple(using))

    def solve_replicas(self, total_ipus: int, *, micro_batches: int = 0, batch: int = 0,
                       chunks: int = 1, parameter_bytes: Optional[Sequence[int]] = None,
                       parameters: Optional[WeightFunction] = None,
                       bandwidth: Optional[Bandwidth] = None, front: bool = False,
                       min_ipus: int = 0, is_v: bool = False,
                       costs_for: Optional[Callable[[int, int, int], "Costs"]] = None,
                       request: Optional[Request] = None, **members: Unpack[Members]) -> Replicas:
        """How many stages and replicas: `total_ipus` in all, with `micro_batches` of a step in each
        pipeline, or `batch` of all together; without either, one micro-batch. `parameter_bytes` of
        each unit are added up over the replicas, which exchange so many bytes in so many cycles:
        `bandwidth`. Without a word the parameters are those of the file. Where units share
        parameters, `parameters([(first_unit, last_unit), ...])` says how many bytes an IPU has with
        these stages. `costs_for(num_stages, num_replicas, num_micro_batches)` has the costs of such
        pipelines, where these are not the same for all. Steps are simulated by the schedule and
        copies of the request. A pipeline has `min_ipus` to `num_ipus` devices, of whose
        `chunks` two go there and back if `is_v`. With `front` the candidates are the Pareto front
        of throughput and memory."""
        asked = self._ask(request, members, spreads=False)
        handle = self._held()
        o = replicas_options(asked, total_ipus, micro_batches, batch, chunks, bandwidth, front)
        o.min_ipus, o.is_v = size(min_ipus, "min_ipus"), bool(is_v)
        self._take_parameters(o, parameter_bytes, parameters)
        with Borrowing(costs_for, handle) as borrowing:
            if costs_for is not None:
                o.costs_follow_replicas = True
                o.costs = c.popliner_replicas_costs(
                    called_back(handle.turn, borrowing.lend, ERROR_INTERNAL))
            replicas = make(library.popliner_replicas_solve, handle, ctypes.byref(o),
                            free=library.popliner_replicas_free, turn=handle.turn,
                            kept=(handle, asked))
        return Replicas(replicas, Naming(self, asked))

    def solve_stage_replicas(self, request: Optional[Request] = None, *,
                             parameter_bytes: Optional[Sequence[int]] = None,
                             parameters: Optional[WeightFunction] = None,
                             bandwidth: Optional[Bandwidth] = None,
                             **members: Unpack[Members]) -> Answer:
        """The best split, and how many of `num_ipus` devices, which are alike, run each stage:
        `num_replicas` of the answer's stages. These share the micro-batches of the stage and add
        up its gradients meanwhile: parameters and `bandwidth` as for solve_replicas. The objectives
        are by default cycles, memory, traffic."""
        asked = self._ask(request, members)
        handle = self._held()
        o = replicas_options(asked, 1, 0, 0, 1, bandwidth, False)
        self._take_parameters(o, parameter_bytes, parameters)
        return self._certify(asked, (), library.popliner_replicas_solve_stages, handle,
                             ctypes.byref(o))

    def _take_parameters(self, o: Any, parameter_bytes: Optional[Sequence[int]],
                         parameters: Optional[WeightFunction]) -> None:
        if parameter_bytes is None and self.file is not None:
            parameter_bytes = self.file.parameter_bytes
        if parameter_bytes is not None:
            numbers = [number(it, "parameter_bytes")
                       for it in listed(parameter_bytes, "parameter_bytes")]
            if len(numbers) != self.num_units:
                raise UsageError(f"parameter_bytes: expected {self.num_units} numbers, and not "
                                 f"{len(numbers)}")
            o.parameter_bytes = (ctypes.c_uint64 * len(numbers))(*numbers)
        o.parameters = weight_of(parameters, "parameters", self._held().turn)

    def write(self, path: Path, request: Optional[Request] = None, *,
              format: Union[ProgramFormat, str] = ProgramFormat.LP,
              **members: Unpack[Members]) -> None:
        """Writes the integer program of the first objective into a file, as CPLEX LP or free
        MPS. The file that the costs were read from is not replaced."""
        if self._path is not None and os.path.exists(path) and os.path.exists(self._path) and \
                os.path.samefile(path, self._path):
            raise UsageError(f"path {os.fspath(path)!r}: would overwrite the file that the costs "
                             "are read from")
        asked = self._ask(request, members)
        handle = self._held()
        call(library.popliner_solver_write, handle, ctypes.byref(asked.solver), None,
             member(ProgramFormat, format, "format"), file_name(path))

    def __repr__(self) -> str:
        if self.closed:
            return "<Costs: closed>"
        cycles = f", in {self.time_unit}" if self.has_cycles else ""
        return f"<Costs: {self.num_units} units{cycles}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return _html.table("Costs", ("closed",), [])
        has_cycles = self.has_cycles
        heads = ["unit", "bytes alone", "bytes cut after it"] + [self.time_unit] * has_cycles
        last = self.num_units - 1
        shown = range(min(self.num_units, _html.MAX_ROWS))
        return _html.table(f"{self.num_units} units", heads,
                           [[self.unit_names[i], self.peak(i, i),
                             self.cut(i + 1) if i < last else None]
                            + [self.cycles(i, i)] * has_cycles for i in shown])


class Borrowing:
    """Costs that a callback hands to the library, which uses them until it asks for others."""

    def __init__(self, costs_for: Optional[Callable[[int, int, int], Costs]], own: Handle) -> None:
        self.costs_for = callback(costs_for, "costs_for")
        self.own = own
        self.lent: Optional[Handle] = None

    def lend(self, _user: Any, num_stages: int, num_replicas: int, num_micro_batches: int,
             result: Any, _error: Any) -> int:
        costs = self.costs_for(num_stages, num_replicas, num_micro_batches)
        instance(costs, Costs, "what costs_for returned")
        handle = costs._held()
        self.take_back()
        if handle.turn is not self.own.turn:
            handle.turn.take(self.own.turn.call)
        self.lent = handle
        result[0] = handle.pointer.value
        return 0

    def take_back(self) -> None:
        handle, self.lent = self.lent, None
        if handle is not None and handle.turn is not self.own.turn:
            handle.turn.leave()

    def __enter__(self) -> "Borrowing":
        return self

    def __exit__(self, *_: Any) -> None:
        self.take_back()


def replicas_options(asked: Asked, total_ipus: int, micro_batches: int, batch: int, chunks: int,
                     bandwidth: Optional[Bandwidth], front: bool) -> Any:
    o = begin(c.popliner_replicas_options)
    o.is_front = bool(front)
    o.solver = ctypes.pointer(asked.solver)
    o.total_ipus = number(total_ipus, "total_ipus", MAX_IPU + 1)
    o.micro_batches = number(micro_batches, "micro_batches")
    o.batch = number(batch, "batch")
    if not micro_batches and not batch:
        o.micro_batches = 1
    o.chunks = size(chunks, "chunks")
    o.pipeline = asked.pipeline()
    if bandwidth is not None:
        ((bytes_, cycles),) = pairs_of([bandwidth], "bandwidth")
        o.bandwidth_bytes = number(bytes_, "bytes of the bandwidth")
        o.bandwidth_cycles = number(cycles, "cycles of the bandwidth")
    return o


def solve(costs: Costs, request: Optional[Request] = None, **members: Unpack[Members]) -> Answer:
    """The best split for some costs: as Costs.solve."""
    return instance(costs, Costs, "costs").solve(request, **members)


def has_glpk() -> bool:
    """Whether the library was built with GLPK, which some splits with shared IPUs need for their
    proof, and `Method.ILP` for everything."""
    return bool(library.popliner_solver_has_glpk())


def solve_ways(ways: Mapping[str, Costs], request: Optional[Request] = None,
               **members: Unpack[Members]) -> Answer:
    """The best split where each stage may be run in any of several ways, each with costs of the
    same chain, by name: the choices are in the answer's json(). The cuts are those of the
    first."""
    for name, costs in _mapping(ways, "ways").items():
        text(name, "a name of ways")
        instance(costs, Costs, "one of ways")
    if not ways:
        raise UsageError("there is no way to run a stage in")
    first = next(iter(ways.values()))
    asked = first._ask(request, members)
    asked.request.recompute = int(Recompute.AUTO)
    held = [costs._held() for costs in ways.values()]
    pointers = (ctypes.c_void_p * len(held))(*[it.pointer for it in held])
    names = (ctypes.c_char_p * len(held))(*[text(name, "a name") for name in ways])
    return first._certify(asked, held, library.popliner_variants_solve_costs, pointers, names,
                          len(held), ctypes.byref(asked.solver))


__all__ = ["Costs", "FORBIDDEN", "FileInfo", "MAX_CYCLES", "has_glpk", "solve", "solve_ways"]
