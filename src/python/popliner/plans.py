"""Answers: plans, with all that is needed to check them, and tables of several plans.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import json
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _declared as c
from . import _html
from ._calling import (SIZE_MAX, Handle, MessageFunction, Owner, ask, call, called_back, decoded,
                       file_name, instance, make_text, member, number, screen, size,
                       structure_at, text)
from ._library import begin, library
from .enums import (CertificateForm, Format, Level, Named, Objective, PlanStatus,
                    ProgramFormat, Proof, Recompute, Verdict)
from .emit import Emitting, Format as EmitFormat, format_of
from .errors import UsageError
from .records import (Infeasibility, PlanStage, PlanValue, StageDetail, all_of, detail_of, first,
                      infeasibility_of, take)
from .request import Asked
from .written import Written

if TYPE_CHECKING:
    from .chains import Costs


class Plan:
    """A split: the stages, what they are worth, how far from the best that may be, and why nothing
    fits if nothing does.

    `stages` follow each other without a gap. `values` are those of the requested
    objectives, in order. `peak_bytes` is the largest of a stage, on its fullest tile; `cycles` are
    those of the slowest IPU; `cut_bytes` the sum over the cuts; `spread` is that of the objective
    "balance"."""

    status: PlanStatus
    is_stopped: bool  #: the time was up, or the caller wanted it to end
    stages: Tuple[PlanStage, ...]
    values: Tuple[PlanValue, ...]
    num_ipus: int
    peak_bytes: int
    cycles: int
    cut_bytes: int
    spread: int
    infeasibility: Infeasibility
    proof: Proof
    unit_names: Tuple[str, ...]  #: of the units that stages are made of

    def __init__(self, plan: Any, unit_names: Sequence[str]) -> None:
        """Takes what it needs from a plan of the library."""
        summary = instance(plan, c.popliner_plan, "plan")
        self.status = PlanStatus(summary.status)
        self.is_stopped = summary.is_stopped
        self.stages = all_of(PlanStage, summary.stages, summary.num_stages)
        self.values = all_of(PlanValue, summary.values, summary.num_values)
        self.num_ipus = summary.num_ipus
        self.peak_bytes = summary.peak_bytes
        self.cycles = summary.cycles
        self.cut_bytes = summary.cut_bytes
        self.spread = summary.spread
        self.infeasibility = infeasibility_of(summary.infeasibility)
        self.proof = Proof(summary.proof)
        self.unit_names = tuple(unit_names)

    @property
    def fits(self) -> bool:
        """Whether it is within all limits and constraints."""
        return self.status != PlanStatus.INFEASIBLE

    @property
    def is_optimal(self) -> bool:
        """Whether it is proven that no split is better."""
        return self.status == PlanStatus.OPTIMAL

    @property
    def first_units(self) -> List[int]:
        """The first units after the cuts, as `evaluate` accepts them."""
        return [stage.first_unit for stage in self.stages[1:]]

    def names_of(self, stage: int) -> Tuple[str, ...]:
        """The names of the units of a stage."""
        it = self.stages[number(stage, "stage", len(self.stages) - 1, -len(self.stages))]
        return self.unit_names[it.first_unit:it.last_unit + 1]

    @property
    def split(self) -> str:
        """The stages on one line: "[ Head 0 1 | 2 3 Tail ]"."""
        parts = " | ".join(" ".join(self.names_of(i)) for i in range(len(self.stages)))
        return f"[ {parts} ]" if self.stages else "[ ]"

    @property
    def _status(self) -> str:
        """The status as documents have it."""
        is_unknown = self.is_stopped and not self.stages and self.proof == Proof.NONE
        return "unknown" if is_unknown else self.status.name.lower()

    def __repr__(self) -> str:
        split = self.split if len(self.split) <= 200 else f"{len(self.stages)} stages"
        return (f"<{type(self).__name__}: {self._status}, {split}, "
                f"{self.peak_bytes} bytes>")

    def _repr_html_(self) -> str:
        title = f"{self._status}: {self.split}"
        has_cycles = any(stage.cycles for stage in self.stages)
        heads = ["stage", "IPU", "first unit", "last unit", "bytes of the fullest tile",
                 "bytes cut after it"] + ["cycles"] * has_cycles
        rows = [[i, s.ipu, self.unit_names[s.first_unit], self.unit_names[s.last_unit],
                 s.peak_bytes, s.cut_bytes] + [s.cycles] * has_cycles
                for i, s in enumerate(self.stages)]
        return _html.table(title, heads, rows)


class PipelineStep(NamedTuple):
    """A step of a pipeline: all its micro-batches, in the order of a schedule."""

    num_micro_batches: int
    cycles: Optional[int]  #: None: unknown, for the reason in `obstacle`
    idle_share: Optional[float]  #: the bubble: of the time of all devices
    order: Optional[str]
    obstacle: Optional[str]
    is_third_assumed: bool  #: the costs do not say what of their time is forward

    @classmethod
    def of(cls, info: Any) -> Optional["PipelineStep"]:
        order, obstacle = (None if it is None else it.decode()
                           for it in (info.order, info.obstacle))
        known = order is not None
        return cls(info.num_micro_batches, info.cycles if known else None,
                   info.idle_share if known else None, order, obstacle,
                   info.is_third_assumed) if info.num_micro_batches else None


class Message(NamedTuple):
    """Something that is said of an answer."""

    level: Level
    text: str


class Hint(NamedTuple):
    """A change that would help."""

    label: str  #: "Try", "Enough", "Not with" or "Not enough"
    option: str  #: "num_ipus 3", "need at-most"
    words: str  #: what it was measured to give
    is_measured: bool  #: whether it was solved for; this is the answer:
    fits: bool  #: within all limits
    is_fit_known: bool  #: else the profile has a stage of it on several IPUs
    bytes: int
    num_ipus: int


class Answer(Plan, Owner):
    """A plan with its certificate: all that is needed to check it. `solve` and `evaluate` make
    them."""

    def __init__(self, handle: Handle, unit_names: Sequence[str], asked: Any = None,
                 costs: Optional["Costs"] = None, analysis: Optional[Handle] = None) -> None:
        self._handle = instance(handle, Handle, "the handle")
        self._asked = asked
        self._costs = costs
        self._analysis = analysis
        ask(handle, self._take, handle.read(c.popliner_certificate), unit_names)
        #: all that is to be said of it: warnings, what is proven, why nothing fits, what would be
        #: enough
        self.messages: Tuple[Message, ...] = self._messages(handle)

    def _take(self, info: Any, unit_names: Sequence[str]) -> None:
        Plan.__init__(self, structure_at(info.plan, c.popliner_plan), unit_names)
        #: the greatest share of the fullest tile that no operation explains, from 0 to 1
        self.unexplained_share: float = info.unexplained_share
        #: how many tokens more the caches of every IPU have room for, where the costs say what a
        #: token takes and there is a limit; else None
        self.headroom_tokens: Optional[int] = (
            None if info.headroom_tokens == 2**64 - 1 else info.headroom_tokens)
        #: how long a step takes; None without a number of micro-batches (`copies`)
        self.step: Optional[PipelineStep] = PipelineStep.of(info.step)
        #: what was measured of the IPU of each stage; none without a profile
        self.details: Tuple[StageDetail, ...] = tuple(
            map(detail_of, first(info.details, len(self.stages) if info.details else 0)))
        self._verdicts = tuple(map(Verdict, first(info.verdicts, len(self.details))))

    @staticmethod
    def _messages(handle: Handle) -> Tuple[Message, ...]:
        found: List[Message] = []

        def note(_user: Any, level: int, message: bytes) -> None:
            found.append(Message(Level(level), decoded(message)))

        listener = begin(c.popliner_listener)
        listener.message = c.popliner_listener_message(called_back(handle.turn, note))
        call(library.popliner_certificate_tell, handle, True, ctypes.byref(listener))
        return tuple(found)

    def close(self) -> None:
        """Frees the certificate; the plan stays."""
        self._asked = self._costs = self._analysis = None
        super().close()

    @property
    def hints(self) -> Tuple[Hint, ...]:
        """What would help, as a terminal shows it. The first reading solves for
        them, which takes as long as some answers."""
        handle, asked = self._held(), self._asked
        info = handle.read(c.popliner_certificate)
        if not info.hints and asked is not None:
            costs = info.costs if self._costs is None else self._costs._held()
            if asked.request.recompute == Recompute.AUTO or \
                    any(s.num_replicas for s in self.stages):
                costs = None  # which are of no choice
            call(library.popliner_certificate_find_hints, handle, self._analysis,
                 ctypes.byref(asked.request), costs, c.popliner_costs_reader(), None)
            info = handle.read(c.popliner_certificate)
        return tuple(take(Hint, it) for it in first(info.hints, info.num_hints))

    def _form(self, form: CertificateForm) -> str:
        return make_text(library.popliner_certificate_text, self._held(), int(form))

    def report(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False) -> str:
        """For people, as the command shows it on a terminal: the verdict, the stages with bars,
        where the bottleneck is, and the hints, once `hints` was read."""
        return make_text(library.popliner_screen_answer, self._held(),
                         screen(width, is_ascii, has_colour))

    def text(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False) -> str:
        """What the command prints: the report with the hints, which the first call finds unless
        the costs are closed."""
        if self._costs is None or self._costs._handle is not None:
            _ = self.hints
        return self.report(width=width, is_ascii=is_ascii, has_colour=has_colour)

    def line(self) -> str:
        """The stages on one line."""
        return self._form(CertificateForm.LINE)

    def json_text(self) -> str:
        """What the command prints with --format json: docs/certificate.md. Only constraints that
        contradict each other, and hints, which are there once `hints` was read, name options
        as the library does, "num_ipus 3"."""
        return self._form(CertificateForm.JSON)

    def json(self) -> Dict[str, Any]:
        """The same as an object."""
        return json.loads(self.json_text())

    def layers_json_text(self) -> str:
        """The stages as PopLiner 1.0.0 prints them."""
        return self._form(CertificateForm.STAGES_JSON)

    def layers_json(self) -> List[Dict[str, Any]]:
        """The same as a list."""
        return json.loads(self.layers_json_text())

    def csv(self) -> str:
        """The stages as a table."""
        return self._form(CertificateForm.CSV)

    def tsv(self) -> str:
        """The stages as a table."""
        return self._form(CertificateForm.TSV)

    def evaluation(self) -> str:
        """The stages against their limits, as `report()` shows them."""
        return self.report()

    def evaluation_json(self) -> List[Dict[str, Any]]:
        """The stages as a list: those of `json()`."""
        return self.json()["stages"]

    def add_message(self, message: str, level: Level = Level.WARNING) -> None:
        """Adds what you have to say of the answer to its messages, and so to its JSON and pages."""
        handle = self._held()
        call(library.popliner_certificate_add_message, handle, member(Level, level, "level"),
             text(message, "message"))
        self.messages = self._messages(handle)

    def verdict(self, stage: int, limit_bytes: Optional[int] = None) -> Verdict:
        """Whether a stage fits in so many bytes on its fullest tile; None: within the limit that it
        was made for. Only of a profile."""
        if limit_bytes is None:
            self._detail(stage)
            return self._verdicts[stage]
        return Verdict(self._verdict_of(stage, limit_bytes, None))

    def verdict_record(self, stage: int, limit_bytes: Optional[int] = None) -> Optional[str]:
        """How many of the random cases with the verdict of this stage did fit, of limits near what
        a stage was expected to need, like "1,372 of 1,373"; None: there was none."""
        record = library.popliner_name_of(Named.RECORD, self.verdict(stage, limit_bytes))
        return None if record is None else record.decode()

    def margin_spreads(self, stage: int, limit_bytes: int) -> float:
        """How far what is expected is below so many bytes, in spreads of 3.4 %."""
        margin = ctypes.c_double()
        self._verdict_of(stage, limit_bytes, ctypes.byref(margin))
        return margin.value

    def _verdict_of(self, stage: int, limit_bytes: int, margin: Any) -> int:
        handle, detail = self._detail(stage)
        return ask(handle, library.popliner_verdict_of, detail, number(limit_bytes, "limit_bytes"),
                   margin)

    def _detail(self, stage: int) -> Tuple[Handle, Any]:
        handle = self._held()
        if number(stage, "stage") >= len(self.details):
            raise UsageError("there is no such stage, or the answer is of no profile")
        info = handle.read(c.popliner_certificate)
        return handle, info.details[stage]

    def write(self, path: Any, format: Any = ProgramFormat.LP) -> None:
        """Writes the integer program of the first objective into a file, as CPLEX LP or free
        MPS."""
        handle = self._held()
        info = handle.read(c.popliner_certificate)
        own, asked = self._costs, self._asked
        costs = info.costs if own is None else own._held()
        if costs is None or asked is None:
            raise UsageError("this answer has no table of costs that a program could be written of")
        call(library.popliner_solver_write, costs, ctypes.byref(asked.solver), info.plan,
             member(ProgramFormat, format, "format"), file_name(path), using=(handle,))

    def emit(self, format: EmitFormat, *, layer_path: Optional[str] = None,
             head_modules: Sequence[str] = (), tail_modules: Sequence[str] = (),
             message: Optional[MessageFunction] = None) -> str:
        """The split in the words of a framework: "poptorch", "torch", "megatron", ... of
        docs/emit.md. `layer_path` is the path of a layer's module, with {} for its name:
        "model.layers.{}"; the modules before and after all layers are `head_modules` and
        `tail_modules`. `message(level, text)` gets warnings; without it the logger "popliner"."""
        handle = self._held()
        emitting = Emitting(handle.turn, layer_path, head_modules, tail_modules, message)
        emitting.options.certificate = handle.pointer
        return make_text(library.popliner_emit, ctypes.byref(emitting.options), format_of(format),
                         using=(handle,))


class Naming:
    """How a report calls units and numbers."""

    def __init__(self, costs: "Costs", asked: Asked) -> None:
        self.handle = costs._held()
        self.costs = costs
        self.asked = asked
        self.unit_names = costs.unit_names
        self._names = (ctypes.c_char_p * len(self.unit_names))(
            *[text(name, "a unit's name") for name in self.unit_names])

    def input(self) -> Any:
        result = begin(c.popliner_certificate_input)
        result.costs = self.handle.pointer.value
        result.options = ctypes.pointer(self.asked.solver)
        result.schedule = self.asked.request.schedule
        result.recompute = self.asked.request.recompute
        result.copies = self.asked.request.copies
        result.unit_names = self._names
        result.time_unit = text(self.costs.time_unit, "time_unit")
        result.cycles_per_time_unit = self.costs.cycles_per_time_unit
        result.cuts_per_unit = self.costs.cuts_per_unit
        return result


class Words(NamedTuple):
    """How a page tells its reader to ask the command for what is on screen: the program and its
    input, and options for the pipeline and the constraints of the request."""

    command: str
    pipeline: str = ""
    constraints: str = ""


def page_options(title: Optional[str], words: Optional[Words]) -> Any:
    """The options of a page; their structure keeps what it refers to."""
    o = begin(c.popliner_page_options)
    o.title = None if title is None else text(title, "title")
    if words is not None:
        instance(words, Words, "words")
        for name in Words._fields:
            setattr(o, name, text(getattr(words, name), name))
    return o


class Splits(Written):
    """What is a table of splits."""

    _naming: Naming

    def _fill(self, table: Any) -> Tuple[Handle, ...]:
        """Sets what a table is of; returns who owns it."""
        raise NotImplementedError

    def _text(self, format: Format) -> str:
        table = begin(c.popliner_split_table)
        used = self._fill(table)
        names = self._naming.input()
        return make_text(library.popliner_report_splits, ctypes.byref(table), ctypes.byref(names),
                         int(format), using=used)

    def report(self, *, width: int = 100, is_ascii: bool = False, has_colour: bool = False,
               marked_row: Optional[int] = None) -> str:
        """The table for people, with a sign before one of its rows."""
        table = begin(c.popliner_split_table)
        used = self._fill(table)
        table.need = self._naming.asked.request.need
        table.marked_row = SIZE_MAX if marked_row is None else size(marked_row, "marked_row")
        names = self._naming.input()
        return make_text(library.popliner_screen_splits, ctypes.byref(table), ctypes.byref(names),
                         screen(width, is_ascii, has_colour), using=used)


class Several(Splits, Sequence[Plan]):
    """Several plans, with a table of them."""

    _plans: Tuple[Plan, ...]

    def __len__(self) -> int:
        return len(self._plans)

    def __getitem__(self, i: Any) -> Any:
        return self._plans[i]


class Sweep(Several):
    """The best plans for several values of something: `plans[i]` is that for `values[i]`."""

    def __init__(self, what: str, values: Sequence[int], answers: Sequence[Answer],
                 naming: Naming, is_of_memory: bool = False) -> None:
        self._naming = instance(naming, Naming, "naming")
        self._is_of_memory = is_of_memory
        self.what = what
        self.values = tuple(values)
        self._plans = tuple(answers)
        self._handle = naming.handle

    def _fill(self, table: Any) -> Tuple[Handle, ...]:
        held = [plan._held() for plan in self._plans]
        sweep = begin(c.popliner_sweep)
        sweep.what = text(self.what, "title")
        sweep.values = (ctypes.c_uint64 * len(self.values))(*self.values)
        sweep.plans = (ctypes.c_void_p * len(held))(
            *[it.read(c.popliner_certificate).plan for it in held])
        sweep.num_values = len(held)
        sweep.is_of_memory = self._is_of_memory
        table.sweep = ctypes.pointer(sweep)
        return (self._held(), *held)

    def __repr__(self) -> str:
        return f"<Sweep: {self.what} over {len(self)} values>"

    def _repr_html_(self) -> str:
        return _html.table(f"Sweep of {self.what}", (self.what, "status", "bytes", "cycles", "IPUs",
                                                     "split"),
                           [(value, p.status, p.peak_bytes, p.cycles, p.num_ipus, p.split)
                            for value, p in zip(self.values, self._plans)])


class Pareto(Several):
    """All best compromises between two objectives, by the first one from the smallest value."""

    def __init__(self, handle: Handle, naming: Naming) -> None:
        self._handle = instance(handle, Handle, "the handle")
        self._naming = instance(naming, Naming, "naming")
        summary = handle.read(c.popliner_pareto)
        #: it is proven that these are all, and each of them that nothing dominates it
        self.is_complete: bool = summary.is_complete
        self.is_stopped: bool = summary.is_stopped
        self.objectives = tuple(Objective(it) for it in summary.objectives)
        self._plans = tuple(Plan(structure_at(plan, c.popliner_plan), naming.unit_names)
                            for plan in first(summary.plans, summary.num_points))

    def _fill(self, table: Any) -> Tuple[Handle, ...]:
        table.pareto = self._held().pointer
        return (self._held(),)

    def __repr__(self) -> str:
        first, second = (it.name.lower() for it in self.objectives)
        all_or_not = "all" if self.is_complete else "perhaps not all"
        return f"<Pareto: {len(self)} compromises of {first} and {second}, {all_or_not}>"

    def _repr_html_(self) -> str:
        first, second = (it.name.lower() for it in self.objectives)
        return _html.table("Compromises", ("status", first, second, "IPUs", "split"),
                           [(p.status, p.values[0].value, p.values[1].value, p.num_ipus, p.split)
                            for p in self._plans])


class Candidate(NamedTuple):
    """The best number of replicas for a number of IPUs that a pipeline has; all else is 0, and
    `plan` None, if there is none."""

    num_ipus: int
    num_replicas: int
    micro_batches: int
    cycles: int
    parameter_bytes: int
    pipeline_cycles: int
    reduce_cycles: int
    step_cycles: int
    is_proven: bool
    plan: Optional[Plan]
    stage_parameter_bytes: Tuple[int, ...]
    step: Optional[PipelineStep]  #: as it is simulated
    gap: float  #: how much more throughput another one on as many IPUs might have: 0.02 is 2 %


class Replicas(Splits, Sequence[Candidate]):
    """The numbers of stages and of data-parallel replicas: a candidate for each number of IPUs of a
    pipeline, or each point of a front, of which `is_proven` says whether it is complete."""

    def __init__(self, handle: Handle, naming: Naming) -> None:
        self._handle = instance(handle, Handle, "the handle")
        self._naming = instance(naming, Naming, "naming")
        summary = handle.read(c.popliner_replicas)
        self.is_stopped: bool = summary.is_stopped
        self.is_proven: bool = summary.is_proven
        self._candidates = tuple(map(self._candidate,
                                     first(summary.candidates, summary.num_candidates)))
        #: that with the largest throughput; None if nothing fits
        self.best: Optional[Candidate] = self._found(summary.best)
        #: how much more throughput any pipeline might have: 0.02 is 2 %, below 0 unknown; None if
        #: nothing fits
        self.gap: Optional[float] = (
            None if self.best is None else library.popliner_replicas_gap(handle.pointer))
        #: if nothing fits, the one that comes closest
        self.closest: Optional[Candidate] = self._found(summary.closest)
        #: why nothing fits, or None
        self.reason: Optional[Plan] = self._plan(summary.reason)

    def _found(self, i: int) -> Optional[Candidate]:
        return self._candidates[i] if i < len(self._candidates) else None

    def _plan(self, plan: Any) -> Optional[Plan]:
        return (Plan(structure_at(plan, c.popliner_plan), self._naming.unit_names)
                if plan else None)

    def _candidate(self, it: Any) -> Candidate:
        plan = self._plan(it.plan)
        count = len(plan.stages) if plan is not None and it.stage_parameter_bytes else 0
        return take(Candidate, it, plan=plan, step=PipelineStep.of(it.step),
                    stage_parameter_bytes=tuple(it.stage_parameter_bytes[:count]) if count else ())

    def __len__(self) -> int:
        return len(self._candidates)

    def __getitem__(self, i: Any) -> Any:
        return self._candidates[i]

    def _fill(self, table: Any) -> Tuple[Handle, ...]:
        table.replicas = self._held().pointer
        return (self._held(),)

    def emit(self, format: EmitFormat, *, layer_path: Optional[str] = None,
             head_modules: Sequence[str] = (), tail_modules: Sequence[str] = (),
             message: Optional[MessageFunction] = None) -> str:
        """The best of them in the words of a framework: "poptorch", "torch", "megatron", ... of
        docs/emit.md. `layer_path` is the path of a layer's module, with {} for its name:
        "model.layers.{}"; the modules before and after all layers are `head_modules` and
        `tail_modules`. `message(level, text)` gets warnings; without it the logger "popliner"."""
        handle = self._held()
        names = self._naming.input()
        emitting = Emitting(handle.turn, layer_path, head_modules, tail_modules, message)
        emitting.options.replicas = handle.pointer
        emitting.options.names = ctypes.pointer(names)
        return make_text(library.popliner_emit, ctypes.byref(emitting.options), format_of(format),
                         using=(handle,))

    def __repr__(self) -> str:
        best = ("nothing fits" if self.best is None else
                f"best {self.best.num_replicas} replica{'s' * (self.best.num_replicas != 1)} of "
                f"{self.best.num_ipus} IPU{'s' * (self.best.num_ipus != 1)}")
        return f"<Replicas: {best}>"

    def _repr_html_(self) -> str:
        heads = ("IPUs of a pipeline", "replicas", "micro-batches", "cycles of a step", "split")
        return _html.table("Replicas", heads,
                           [(it.num_ipus, it.num_replicas, it.micro_batches, it.step_cycles,
                             it.plan.split if it.plan is not None else None) for it in self])


__all__ = ["Answer", "Candidate", "Pareto", "Plan", "Replicas", "Sweep"]
