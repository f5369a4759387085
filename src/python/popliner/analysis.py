"""The analysis of one profile, from the files to the split.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import json
import math
import os
import weakref
from typing import (Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from ._members import Members, Unpack
from . import _declared as c
from . import _html
from . import records as r
from ._calling import (SIZE_MAX, Handle, Listening, MessageFunction, Owner, Path, ProgressFunction,
                       StepFunction, Turn, array_of, ask, call, decoded, file_name, listed,
                       instance, listener_of, make, make_text, member, number, real, screen, shown,
                       size, stop_of, structure_at, text)
from ._library import begin, libc, library
from .changes import Changes, Comparison
from .chains import Costs, replicas_options
from .diagnosis import Diagnosis
from .enums import (Format, Growth, LayerOrder, Level, MemoryModel, Objective, Plot, Recompute,
                    Relation, Section, Table, UnitKind)
from .errors import UsageError
from .plans import Answer, Naming, Pareto, Replicas, Sweep, Words, page_options
from .profile import Items, Profile
from .request import (Asked, Bandwidth, Request, Units, is_usual, member_name, memory_of, pairs_of,
                      swept, taken)

Model = Union[MemoryModel, str]

#: PopLiner's own defaults, which the library's are.
LAYER_NAME_REGEX = r"(?:^|\/)(?:[L|l]ayer|blocks|encoder)[\/_\.]?(\d+)"
FIRST_LAYER_REGEX = "(word_embeddings|Embedding_Dict)"

#: What a link carries in a second where nothing is said of it.
USUAL_IPUS = c.CONSTANTS["POPLINER_USUAL_IPUS"]
LINK_BYTES_PER_SECOND = c.CONSTANTS["POPLINER_LINK_BYTES_PER_SECOND"]


class Chain(Sequence[r.Unit]):
    """The chain of units that is cut, in a memory model."""

    def __init__(self, handle: Handle, pointer: Any) -> None:
        # the analysis keeps its chains
        self._handle = weakref.ref(instance(handle, Handle, "the handle"))
        self._pointer = pointer
        self._units: Tuple[r.Unit, ...] = ask(handle, self._take)

    def _take(self) -> Tuple[r.Unit, ...]:
        them = self._pointer.contents
        kinds = [UnitKind(it) for it in r.first(them.unit_kinds, them.num_units)]
        labels = [decoded(it) for it in r.first(them.unit_labels, them.num_units)]
        return tuple(r.Unit(kind, label if kind == UnitKind.LAYER else None, label)
                     for kind, label in zip(kinds, labels))

    def unit_of(self, operation: int) -> Optional[int]:
        """The unit that an operation belongs to; None beyond the last."""
        return self._index("unit_of_operation", "num_operations", size(operation, "operation"))

    def operation_at(self, step: int) -> Optional[int]:
        """The operation that a liveness step runs for, or the last one before it; None for none,
        and for a step beyond the last."""
        return self._index("operation_of_step", "num_steps", size(step, "step"))

    def _index(self, array: str, count: str, number: int) -> Optional[int]:
        handle = self._handle()
        if handle is None or not handle.pointer:
            raise UsageError("this Chain is of an Analysis that is closed")
        them = self._pointer.contents
        result = ask(handle, lambda: getattr(them, array)[number]
                     if number < getattr(them, count) else 2**32 - 1)
        return None if result == 2**32 - 1 else result

    def __len__(self) -> int:
        return len(self._units)

    def __getitem__(self, i: Any) -> Any:
        return self._units[i]

    @property
    def labels(self) -> List[str]:
        """How to call the units."""
        return [unit.label for unit in self._units]

    def __repr__(self) -> str:
        return f"<Chain: {' '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        return _html.table("Chain", ("unit", "kind"),
                           [(unit.label, unit.kind) for unit in self])


class Analysis(Owner):
    """Owns a profile and everything derived from it. Each part is made on first use, and then kept.
    `popliner.read` and `popliner.load` make one.

    Threads may share one: each call waits for its turn. Several analyses work at once."""

    def __init__(self, function: Any, path: bytes, before: Tuple[Any, ...],
                 options: "_Options") -> None:
        turn = Turn()
        self._listening = instance(options, _Options, "options").listening
        listener = listener_of(options.listening, turn)
        structure = options.structure(listener, turn)
        call(library.popliner_analysis_options_check, ctypes.byref(structure))
        self._handle = make(function, path, *before, ctypes.byref(structure),
                            free=library.popliner_analysis_free, turn=turn,
                            kept=(listener, structure))
        #: what it was read from
        self.path: str = os.fsdecode(path)
        self._chains: Dict[int, Chain] = {}

    # ---- parts ----

    def _call(self, function: Any, *arguments: Any) -> None:
        call(function, self._held(), *arguments)

    def add_message(self, message: str, level: Level = Level.WARNING) -> None:
        """Adds what you told your users of the profile to the messages of later answers and
        pages."""
        self._call(library.popliner_analysis_add_message, member(Level, level, "level"),
                   text(message, "message"))

    def _text(self, function: Any, *arguments: Any, using: Tuple[Handle, ...] = ()) -> str:
        return make_text(function, self._held(), *arguments, using=using)

    @property
    def profile(self) -> Profile:
        """What is in the profile."""
        return Profile(self)

    @property
    def checks(self) -> Tuple[r.Check, ...]:
        """Whether the profile agrees with itself."""
        return tuple(r.Check(Relation[it["relation"].upper()], it["relation"], it["checked"],
                             it["breached"], it["largest_difference"], it["where"] or "",
                             it["untrusted"]) for it in self.section("checks"))

    @property
    def operations(self) -> Sequence[r.Operation]:
        """The operations of the model, in the order in which they first run."""
        return self._list("operations", library.popliner_analysis_operations,
                          c.popliner_operation, r.operation_of)

    def _list(self, name: str, function: Any, structure: Any,
              record_of: Callable[[Any], Any]) -> Items:
        """What the analysis owns as an array."""
        found, count = ctypes.POINTER(structure)(), ctypes.c_size_t()
        self._call(function, ctypes.byref(found), ctypes.byref(count))

        return Items(name, count.value,
                     lambda i: ask(self._held(), lambda: record_of(found[i])))

    @property
    def operations_are_of_framework(self) -> bool:
        """Whether operations come from a framework's contexts, and not from the programs' own."""
        return any(it.is_of_framework for it in self.operations[:1])

    @property
    def layers(self) -> Sequence[r.LayerFinding]:
        """The layer of each operation, and how it was found."""
        return self._list("layers of operations", library.popliner_analysis_layers,
                          c.popliner_layer_finding, lambda it: r.take(r.LayerFinding, it))

    def chain(self, memory_model: Model = MemoryModel.FULL) -> Chain:
        """The chain of units in a memory model."""
        model = member(MemoryModel, memory_model, "memory_model")
        if model in self._chains:
            self._held()
            return self._chains[model]
        pointer = ctypes.POINTER(c.popliner_chain)()
        self._call(library.popliner_analysis_chain, model, ctypes.byref(pointer))
        self._chains[model] = Chain(self._held(), pointer)
        return self._chains[model]

    def is_training(self, memory_model: Model = MemoryModel.FULL) -> bool:
        """Whether the layers train: without it a pipeline keeps nothing."""
        result = ctypes.c_bool()
        self._call(library.popliner_analysis_is_training,
                   member(MemoryModel, memory_model, "memory_model"), ctypes.byref(result))
        return result.value

    def debug_path(self, debug_context: int) -> Optional[str]:
        """The path of a debug context: names from its root to itself, joined by '/'; None for one
        that is not known."""
        handle = self._held()
        context = number(debug_context, "debug_context")
        room = 256
        while True:
            path = ctypes.create_string_buffer(room)
            if not ask(handle, library.popliner_analysis_debug_path, handle, context, path, room):
                return None
            if len(path.value) < room - 1:
                return decoded(path.value)
            room *= 4

    def prepare(self, request: Optional[Request] = None, **members: Unpack[Members]) -> None:
        """Prepares what solving for a request needs in addition to the units."""
        asked = self._ask(request, members)
        self._call(library.popliner_analysis_prepare, ctypes.byref(asked.request), False)

    def save(self, path: Path, memory_model: Model = MemoryModel.FULL) -> None:
        """Stores what the analysis needs for answers in this memory model in one file, for
        popliner.load: without the profile's lowered variables."""
        self._call(library.popliner_analysis_store,
                   member(MemoryModel, memory_model, "memory_model"), file_name(path))

    # ---- questions ----

    def _ask(self, request: Optional[Request], members: Mapping[str, Any],
             defaults: Optional[Mapping[str, Any]] = None, spreads: bool = True) -> Asked:
        r_ = taken(request, members, defaults)
        chain = self.chain(r_.memory_model)
        counted = [unit.kind == UnitKind.LAYER for unit in chain]
        info = self.profile.info
        r_ = taken(r_, {}, {"mem_per_tile": info.bytes_per_tile or None})
        if r_.reserve == "gaps":
            r_ = dataclasses.replace(r_, reserve=info.layout_gap_bytes)
        asked = Asked(r_, Units(chain.labels, counted), self._held().turn, spreads)
        asked.listening = Listening(r_.message, r_.progress, r_.step).or_else(self._listening)
        return asked

    def measure(self, stages: Iterable[Any], request: Optional[Request] = None,
                **members: Unpack[Members]) -> r.Measurement:
        """Measures the memory of one IPU that runs these stages (usually one): each (first unit,
        last unit), or (first unit, last unit, stages to the end)."""
        asked = self._ask(request, members)
        handle = self._held()
        given = []
        for stage in listed(stages, "stages"):
            numbers = listed(stage, "one of stages")
            if len(numbers) not in (2, 3):
                raise UsageError(f"stages: {shown(stage)} has to be a first and a last unit, and "
                                 f"perhaps the stages to the end")
            given.append(r.Interval(*numbers))
        intervals = (c.popliner_interval * max(len(given), 1))(
            *[c.popliner_interval(size(it.first_unit, "first_unit"),
                                  size(it.last_unit, "last_unit"),
                                  size(it.stages_to_end, "stages_to_end")) for it in given])
        result = ctypes.c_void_p()
        detail = c.popliner_stage_detail()
        try:
            found = call(library.popliner_analysis_measure_stages, handle,
                         ctypes.byref(asked.request), intervals, len(given),
                         ctypes.byref(detail), ctypes.byref(result),
                         listening=asked.listening, then=lambda: r.detail_of(detail))
            memory = structure_at(result, c.popliner_stage_memory)
            columns = {**r.parts_of(memory.part_bytes), "total_bytes": memory.need_bytes[0],
                       "peak_step": memory.peak_step,
                       "always_live_bytes": memory.always_live_bytes,
                       "least_bytes": memory.need_bytes[1], "most_bytes": memory.need_bytes[2]}
            by_tile = {"kept_bytes" if name == "stash_bytes" else name:
                       array_of(values, memory.num_tiles)
                       for name, values in columns.items() if values}
            return r.Measurement(found, by_tile)
        finally:
            library.popliner_stage_memory_free(result)

    def costs(self, request: Optional[Request] = None, **members: Unpack[Members]) -> Costs:
        """What every stage of the chain would cost. Solving for these asks for the same limits as
        solving for the profile, unless others are given."""
        return self._costs(self._ask(request, members), taken(request, members))

    def _costs(self, asked: Asked, request: Request) -> Costs:
        handle = self._held()
        chain = self.chain(request.memory_model)
        info = self.profile.info
        costs = make(library.popliner_analysis_costs, handle, ctypes.byref(asked.request),
                     free=library.popliner_costs_free, turn=handle.turn, kept=handle,
                     listening=asked.listening)
        counted = [unit.kind == UnitKind.LAYER for unit in chain]
        defaults = {name: value for name, value in vars(request).items()
                    if not is_usual(request, name)}
        defaults.pop("counted_units", None)  # the table has them
        if info.bytes_per_tile > 0:
            defaults["mem_per_tile"] = {None: info.bytes_per_tile,
                                        **memory_of(request.mem_per_tile)}
        if request.ipu_links and request.link_bandwidth is None and info.clock_hz > 0:
            defaults["link_bandwidth"] = (LINK_BYTES_PER_SECOND, info.clock_hz)
        result = Costs.__new__(Costs)
        result._take(costs, chain.labels, defaults=defaults, counted=counted)
        result._counted = [bool(it) for it in (
            counted if request.counted_units is None else request.counted_units)]
        result._chooses = asked.request.recompute == Recompute.AUTO
        return result

    def solve(self, request: Optional[Request] = None, **members: Unpack[Members]) -> Answer:
        """The best split. Members of the request may be given by name:

            analysis.solve(num_ipus=2)
        """
        asked = self._ask(request, members)
        handle = self._held()
        certificate = make(library.popliner_analysis_solve, handle,
                           ctypes.byref(asked.request), free=library.popliner_certificate_free,
                           turn=handle.turn, kept=handle, listening=asked.listening)
        return Answer(certificate, self.chain(asked.request.memory_model).labels, asked,
                      analysis=handle)

    def evaluate(self, split: Union[str, Iterable[int]], request: Optional[Request] = None,
                 **members: Unpack[Members]) -> Answer:
        """Measures a given split: the first units after its cuts, or the names of the last layers
        of all stages but the last, with '|' between them, as the command has it: "1|2". It is
        looked at whether it fits; nothing is proven. Cycles and cuts are not measured: they are 0,
        and `values` is empty."""
        asked = self._ask(request, members)
        handle = self._held()
        cuts = self._cuts(split, request, members)
        first_units = (ctypes.c_size_t * max(len(cuts), 1))(*cuts)
        certificate = make(library.popliner_analysis_evaluate, handle,
                           ctypes.byref(asked.request), first_units, len(cuts),
                           free=library.popliner_certificate_free, turn=handle.turn, kept=handle,
                           listening=asked.listening)
        return Answer(certificate, self.chain(asked.request.memory_model).labels, asked,
                      analysis=handle)

    def _cuts(self, split: Any, request: Optional[Request], members: Mapping[str, Any]
              ) -> List[int]:
        if isinstance(split, str):
            chain = self.chain(taken(request, members).memory_model)
            units = Units(chain.labels, [unit.kind == UnitKind.LAYER for unit in chain])
            if split in ("", "whole"):
                return []
            return [units.find(name, "the split") + 1 for name in split.split("|")]
        return [size(unit, "a unit of the split") for unit in listed(split, "the split")]

    def sweep(self, what: str, values: Iterable[int], request: Optional[Request] = None, *,
              title: Optional[str] = None, **members: Unpack[Members]) -> Sweep:
        """The best splits for several values of a member of the request that is a number, like
        "num_ipus". What stages cost is measured once."""
        member_name(what)
        numbers = swept(what, values)
        own = taken(request, members)
        most = own.num_ipus
        if what == "num_ipus":
            most = max([USUAL_IPUS if most is None else size(most, "num_ipus"), *numbers])
        asked = self._ask(own, {"num_ipus": most})
        with self._costs(asked, own) as costs:
            return costs.sweep(what, numbers, title=title)

    def pareto(self, objectives: Union[str, Sequence[Union[str, Objective]]],
               request: Optional[Request] = None, **members: Unpack[Members]) -> Pareto:
        """All best compromises between the first two objectives: "memory,traffic"."""
        with self.costs(request, **members) as costs:
            return costs.pareto(objectives)

    def solve_replicas(self, total_ipus: int, *, micro_batches: int = 0, batch: int = 0,
                       chunks: int = 1, bandwidth: Optional[Bandwidth] = None, front: bool = False,
                       min_ipus: int = 0, is_v: bool = False,
                       request: Optional[Request] = None, **members: Unpack[Members]) -> Replicas:
        """How many stages and replicas: see Costs.solve_replicas. Parameters are those that the
        profile trains."""
        asked = self._ask(request, members, spreads=False)
        handle = self._held()
        o = replicas_options(asked, total_ipus, micro_batches, batch, chunks, bandwidth, front)
        o.min_ipus, o.is_v = size(min_ipus, "min_ipus"), bool(is_v)
        replicas = make(library.popliner_analysis_solve_replicas, handle,
                        ctypes.byref(asked.request), ctypes.byref(o),
                        free=library.popliner_replicas_free, turn=handle.turn,
                        kept=(handle, asked), listening=asked.listening)
        return Replicas(replicas, Naming(_Names(self, asked), asked))

    def diagnose(self, memory_model: Model = MemoryModel.FULL, *,
                 layer_operations_only: bool = False, first_unit: int = 0,
                 last_unit: Optional[int] = None) -> Diagnosis:
        """Takes the operations as one stage and compares it with the compiler's own account."""
        handle = self._held()
        return Diagnosis(make(library.popliner_analysis_diagnose, handle,
                              member(MemoryModel, memory_model, "memory_model"),
                              bool(layer_operations_only), size(first_unit, "first_unit"),
                              r.SIZE_MAX if last_unit is None else size(last_unit, "last_unit"),
                              free=library.popliner_diagnosis_free, turn=handle.turn, kept=handle))

    def compare(self, split: Union[str, Iterable[int]], compiled: Sequence["Analysis"],
                request: Optional[Request] = None, **members: Unpack[Members]) -> Comparison:
        """Compares the stages of a split with what was compiled: `compiled[k]` is an analysis of
        the IPU of stage k alone."""
        asked = self._ask(request, members)
        handle = self._held()
        cuts = self._cuts(split, request, members)
        others = listed(compiled, "compiled")
        for other in others:
            instance(other, Analysis, "one of compiled")
        if len(others) != len(cuts) + 1:
            raise UsageError(f"the split has {len(cuts) + 1} stages, and not {len(others)}")
        held = [other._held() for other in others]
        pointers = (ctypes.c_void_p * len(held))(*[it.pointer for it in held])
        first_units = (ctypes.c_size_t * max(len(cuts), 1))(*cuts)
        return Comparison(make(library.popliner_analysis_compare, handle,
                               ctypes.byref(asked.request), first_units, len(cuts), pointers,
                               free=library.popliner_comparison_free, turn=handle.turn,
                               using=tuple(held), listening=asked.listening))

    def layer_pairs(self) -> r.LayerPairs:
        """Which layers use the same memory, and what one hands to another, in bytes."""
        pairs = self.section(Section.PAIRS)
        n = math.isqrt(len(pairs))

        def rows(name: str) -> Tuple[Tuple[int, ...], ...]:
            return tuple(tuple(pairs[i * n + j][name] for j in range(n)) for i in range(n))

        return r.LayerPairs(tuple(it["other_layer"] for it in pairs[:n]), rows("affinity_bytes"),
                            rows("communication_bytes"))

    # ---- texts ----

    def table(self, table: Union[Table, str], memory_model: Model = MemoryModel.FULL,
              format: Union[Format, str] = Format.TSV) -> str:
        """A table in the formats of PopLiner 1.0.0."""
        return self._text(library.popliner_report_table, member(Table, table, "table"),
                          member(MemoryModel, memory_model, "memory_model"),
                          member(Format, format, "format"))

    def section_text(self, section: Union[Section, str], memory_model: Model = MemoryModel.FULL,
                     answer: Optional[Answer] = None,
                     format: Union[Format, str] = Format.JSON) -> str:
        """One table of docs/sections.md as text. "plan" is that of an answer of this analysis."""
        return self._text(library.popliner_section_text, member(Section, section, "section"),
                          member(MemoryModel, memory_model, "memory_model"),
                          self._certificate(answer), member(Format, format, "format"))

    def section(self, section: Union[Section, str], memory_model: Model = MemoryModel.FULL,
                answer: Optional[Answer] = None) -> List[Dict[str, Any]]:
        """The same as a list, with a dict for each row."""
        return json.loads(self.section_text(section, memory_model, answer))["rows"]

    def columns(self, section: Union[Section, str], memory_model: Model = MemoryModel.FULL,
                answer: Optional[Answer] = None) -> Dict[str, Any]:
        """The same by column: NumPy's arrays where it is there and a column is all whole numbers,
        else lists."""
        from ._calling import numpy
        rows = self.section(section, memory_model, answer)
        result: Dict[str, Any] = {}
        for name in rows[0] if rows else ():
            values = [row[name] for row in rows]
            is_whole = all(type(value) is int for value in values)
            result[name] = numpy().array(values) if is_whole and numpy() is not None else values
        return result

    def _certificate(self, answer: Optional[Answer], what: str = "the answer") -> Any:
        if answer is None:
            return None
        held = instance(answer, Answer, what)._held()
        if held.kept is not self._held():
            raise UsageError(f"{what} is of another analysis")
        return held

    def overview(self, *, width: int = 100, is_ascii: bool = False,
                 has_colour: bool = False) -> str:
        """For people, as the command shows it on a terminal: what the profile is, and whether it
        fits one IPU."""
        whole = self.evaluate([])  # lives as long as the text is made
        return self._text(library.popliner_screen_overview, self._certificate(whole), None, 0,
                          screen(width, is_ascii, has_colour))

    def plot(self, plot: Union[Plot, str] = Plot.TILES, memory_model: Model = MemoryModel.FULL,
             answer: Optional[Answer] = None, *, width: int = 80, height: int = 16,
             is_ascii: bool = False, has_colour: bool = False, tile: Optional[int] = None,
             has_always_live: bool = False) -> str:
        """A plot of bytes, made of characters. Of liveness: on one tile, or on all together, and
        also what is always live."""
        return self._text(library.popliner_plot_text, member(Plot, plot, "plot"),
                          member(MemoryModel, memory_model, "memory_model"),
                          self._certificate(answer),
                          screen(width, is_ascii, has_colour, height, tile, has_always_live))

    def trace(self, memory_model: Model = MemoryModel.FULL, answer: Optional[Answer] = None) -> str:
        """A trace that Perfetto opens: docs/trace.md."""
        return self._text(library.popliner_trace_text,
                          member(MemoryModel, memory_model, "memory_model"),
                          self._certificate(answer))

    def page(self, request: Optional[Request] = None, *, answer: Optional[Answer] = None,
             title: Optional[str] = None, words: Optional[Words] = None,
             paths: bool = False, **members: Unpack[Members]) -> str:
        """The profile, and a plan of it, as one HTML page for a browser: docs/page.md. The page
        names the files that were read; with `paths` by the paths that they were read by."""
        asked = self._ask(request, members)
        o = page_options(title, words)
        o.request = ctypes.pointer(asked.request)
        certificate = self._certificate(answer)
        o.certificate = None if certificate is None else certificate.pointer.value
        o.has_paths = bool(paths)
        using = () if certificate is None else (certificate,)
        return self._text(library.popliner_page_text, ctypes.byref(o), using=using)

    def prepare_page(self, request: Optional[Request] = None, **members: Unpack[Members]) -> None:
        """Measures what solving for a request and its page both need: before solving, where a page
        will be made of the plan. It changes no answer."""
        asked = self._ask(request, members)
        self._call(library.popliner_analysis_prepare, ctypes.byref(asked.request), True)

    def __repr__(self) -> str:
        if self.closed:
            return f"<Analysis of {self.path!r}: closed>"
        info = self.profile.info
        return (f"<Analysis of {self.path!r}: {info.num_tiles} tiles of {info.bytes_per_tile} "
                f"bytes, {info.num_programs} programs>")

    def _repr_html_(self) -> str:
        if self.closed:
            return "<p>Analysis: closed</p>"
        info = self.profile.info
        rows = [("tiles", info.num_tiles), ("bytes of a tile", info.bytes_per_tile),
                ("IPUs", info.num_ipus), ("programs", info.num_programs),
                ("operations", len(self.operations)), ("units", " ".join(self.chain().labels)),
                ("Poplar", info.poplar_version)]
        return _html.facts(os.path.basename(os.path.normpath(self.path)), rows)


class _Names:
    """What a report of an analysis asks of costs, where there is no table of its own."""

    time_unit = "cycles"
    cycles_per_time_unit = 1
    cuts_per_unit = 1

    def __init__(self, analysis: Analysis, asked: Asked) -> None:
        chain = analysis.chain(MemoryModel(asked.request.memory_model))
        self.unit_names = tuple(chain.labels)
        turn = Turn()
        self._handle = make(library.popliner_costs_create, len(chain), 1,
                            free=library.popliner_costs_free, turn=turn)
        if not asked.solver.counted_units:
            asked.solver.counted_units = asked.keep((ctypes.c_uint8 * len(chain))(
                *[unit.kind == UnitKind.LAYER for unit in chain]))

    def _held(self) -> Handle:
        return self._handle


class _Options:
    """How to read and to measure."""

    def __init__(self, layer_name_regex: Optional[str], first_layer_regex: Optional[str],
                 layer_order: Union[LayerOrder, str], num_threads: int, max_memory_bytes: int,
                 ipu: Optional[int], message: Optional[MessageFunction],
                 progress: Optional[ProgressFunction], step: Optional[StepFunction],
                 should_stop: Optional[Callable[[], Any]] = None) -> None:
        o = begin(c.popliner_analysis_options)
        if layer_name_regex is not None:
            o.layer_name_regex = text(layer_name_regex, "layer_name_regex")
        if first_layer_regex is not None:
            o.first_layer_regex = text(first_layer_regex, "first_layer_regex")
        o.layer_order = member(LayerOrder, layer_order, "layer_order")
        o.num_threads = size(num_threads, "num_threads")
        o.max_memory_bytes = number(max_memory_bytes, "max_memory_bytes")
        if ipu is not None:
            o.ipu = size(ipu, "ipu")
        self.options = o
        self.listening = Listening(message, progress, step)
        self.should_stop = should_stop

    def structure(self, listener: Any, turn: Turn) -> Any:
        self.options.listener = ctypes.pointer(listener)
        self.options.should_stop = stop_of(self.should_stop,
                                           c.popliner_analysis_options_should_stop, turn)
        return self.options


def read(path: Path, debug_path: Optional[Path] = None, *, layer_name_regex: Optional[str] = None,
         first_layer_regex: Optional[str] = None,
         layer_order: Union[LayerOrder, str] = LayerOrder.STEPS, num_threads: int = 0,
         max_memory_bytes: int = 0, ipu: Optional[int] = None,
         message: Optional[MessageFunction] = None, progress: Optional[ProgressFunction] = None,
         step: Optional[StepFunction] = None,
         should_stop: Optional[Callable[[], Any]] = None) -> Analysis:
    """Reads a profile and its debug information: `path` is the profile, or a directory
    that holds it as profile.pop.

    `max_memory_bytes` may be used for reading; 0: the memory of the machine. `ipu` chooses one IPU
    of a pipeline. `should_stop()` is asked now and then during this and all later work but solving,
    and ends it with StoppedError by what is true. `message(level, text)`,
    `progress(task, done, total)` and `step(task, seconds)` hear of this and of all later work,
    unless a request has others; messages that nobody hears go to the logger "popliner"."""
    options = _Options(layer_name_regex, first_layer_regex, layer_order, num_threads,
                       max_memory_bytes, ipu, message, progress, step, should_stop)
    debug = None if debug_path is None else file_name(debug_path, "debug_path")
    return Analysis(library.popliner_analysis_read, file_name(path), (debug,), options)


def load(path: Path, *, layer_name_regex: Optional[str] = None,
         first_layer_regex: Optional[str] = None,
         layer_order: Union[LayerOrder, str] = LayerOrder.STEPS, num_threads: int = 0,
         message: Optional[MessageFunction] = None, progress: Optional[ProgressFunction] = None,
         step: Optional[StepFunction] = None,
         should_stop: Optional[Callable[[], Any]] = None) -> Analysis:
    """Loads an analysis that Analysis.save (or --save-to-file) stored. `should_stop` as for
    read."""
    options = _Options(layer_name_regex, first_layer_regex, layer_order, num_threads, 0, None,
                       message, progress, step, should_stop)
    return Analysis(library.popliner_analysis_load, file_name(path), (), options)


def locate(path: Path, debug_path: Optional[Path] = None) -> Tuple[str, Optional[str]]:
    """The files of a report: the profile, and the debug information or None."""
    profile, debug = ctypes.c_void_p(), ctypes.c_void_p()
    try:
        call(library.popliner_analysis_locate, file_name(path),
             None if debug_path is None else file_name(debug_path, "debug_path"),
             ctypes.byref(profile), ctypes.byref(debug))
        return (os.fsdecode(ctypes.string_at(profile.value)),
                os.fsdecode(ctypes.string_at(debug.value)) if debug else None)
    finally:
        libc.free(profile)
        libc.free(debug)


def reports(directory: Path) -> List[str]:
    """The names of the reports that a directory holds: its sub-directories with a profile.pop, as
    "training" and "inference". Also those that cannot be examined, which reading tells: a directory
    that may not be opened, a link that leads nowhere, a directory called profile.pop."""
    found = ctypes.POINTER(ctypes.c_void_p)()
    try:
        call(library.popliner_reports_find, file_name(directory, "the directory"),
             ctypes.byref(found))
        return [os.fsdecode(ctypes.string_at(name)) for name in itertools.takewhile(bool, found)]
    finally:
        libc.free(found)


def check_options(*, layer_name_regex: Optional[str] = None,
                  first_layer_regex: Optional[str] = None,
                  layer_order: Union[LayerOrder, str] = LayerOrder.STEPS) -> None:
    """Raises what reading with these would, before anything is read."""
    options = _Options(layer_name_regex, first_layer_regex, layer_order, 0, 0, None, None, None,
                       None)
    call(library.popliner_analysis_options_check, ctypes.byref(options.options))


def compare(before: Analysis, now: Analysis, *, before_name: Optional[str] = None,
            now_name: Optional[str] = None, memory_model: Model = MemoryModel.FULL,
            before_answer: Optional[Answer] = None, now_answer: Optional[Answer] = None,
            bounds: Iterable[Tuple[Union[Growth, str], float]] = (),
            paths: bool = False) -> Changes:
    """Two analyses side by side. With answers to the same request, one of each, stages are
    compared too. `bounds` say of what no quantity may grow by more than so many percent, of each
    once: ("layers", 5.0). Names that are paths are cut to their last part unless `paths`."""
    instance(before, Analysis, "before"), instance(now, Analysis, "now")
    i = begin(c.popliner_changes_input)
    held = before._held(), now._held()
    i.before, i.now = held[0].pointer.value, held[1].pointer.value
    i.before_name = None if before_name is None else text(before_name, "before_name")
    i.now_name = None if now_name is None else text(now_name, "now_name")
    i.has_paths = bool(paths)
    i.memory_model = member(MemoryModel, memory_model, "memory_model")
    certificates = (before._certificate(before_answer, "before_answer"),
                    now._certificate(now_answer, "now_answer"))
    i.before_certificate, i.now_certificate = (None if it is None else it.pointer.value
                                               for it in certificates)
    for of, percent in pairs_of(bounds, "bounds"):
        i.max_percents[member(Growth, of, "one of bounds")] = real(percent, "one of bounds")
    return Changes(make(library.popliner_changes_create, ctypes.byref(i),
                        free=library.popliner_changes_free, turn=Turn(),
                        using=tuple(it for it in (*held, *certificates) if it is not None)))


__all__ = ["Analysis", "Chain", "FIRST_LAYER_REGEX", "LAYER_NAME_REGEX", "Words", "check_options",
           "compare", "load", "locate", "read", "reports"]
