"""What is asked: of a memory model, and of the solver.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import dataclasses
import inspect
import re
from typing import (Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from . import _declared as c
from ._calling import (SIZE_MAX, Listening, MessageFunction, Path, ProgressFunction, StepFunction,
                       Turn, call, called_back, callback, file_name, instance, listed,
                       listener_of, make, member, number, real, shown, size, stop_of, text)
from ._library import begin, library
from .enums import (Accumulators, CopiesRule, CutRule, Effect, MemoryModel, Method, Need,
                    Objective, Recompute, Schedule)
from .errors import UsageError
from .records import Constraint

MAX_IPU = c.CONSTANTS["POPLINER_MAX_IPU"]
ALL_EFFECTS = Effect.LAYOUT | Effect.PASSING | Effect.BUFFERS

#: A unit of the chain: its number, or the name of its layer.
UnitName = Union[int, str]

#: Constraints: a rule, several rules, or the members of each kind of rule.
Rules = Union[str, Sequence[str], Mapping[str, Any]]

#: Of all IPUs, of single ones, or both, with the key None for the others.
ByIpu = Union[int, str, Mapping[Optional[int], Union[int, str]]]

#: How much of something an IPU has with these stages, each (first unit, last unit).
WeightFunction = Callable[[List[Tuple[int, int]]], int]

#: What a link carries: so many bytes in so many cycles.
Bandwidth = Tuple[int, int]


class Copies(NamedTuple):
    """How many copies of its activations a stage keeps: a rule by name, "1f1b", "gpipe",
    "zero-bubble", "zb-h2", "interleaved", "v-half", "v-min", "dualpipev", or a list of numbers,
    "0,1,2" or "0,1,...". Some rules also need the numbers."""

    text: str
    num_micro_batches: int = 0  #: of a step in one pipeline
    #: for "interleaved"; of "zero-bubble" and "zb-h2" 0 for as many as a split has
    num_stages: int = 0
    num_ipus: int = 0  #: for "interleaved"
    #: the IPU of each stage, instead of these numbers; needed for stages in a V. "1f1b" is
    #: "interleaved" where they go round
    device_map: Sequence[int] = ()


class Order:
    """An order of passes from a file, as --schedule FILE.csv of the command: the `copies` of costs
    and requests, `more` of them than the passes keep. Requests also need its `device_map`, or
    `num_ipus` of its devices."""

    def __init__(self, path: Path, more: int = 0) -> None:
        self._handle = make(library.popliner_order_read, file_name(path), None, 0,
                            free=library.popliner_order_free, turn=Turn())
        self.more = size(more, "more")
        info = self._handle.read(c.popliner_order)
        self.num_micro_batches: int = info.num_micro_batches
        self.has_weights: bool = info.has_weights  #: they have passes of their own
        there = range(info.num_ipus)
        #: the IPU of each stage
        self.device_map: List[int] = [*there, *reversed(there)] if info.is_v else \
            [*there] * (info.num_stages // info.num_ipus)

    def _structure(self) -> Any:
        result = c.popliner_copies(rule=CopiesRule.ORDER, more=self.more,
                                   num_micro_batches=self.num_micro_batches)
        result.order = self._handle.pointer
        ipus = self.device_map
        library.popliner_copies_set_map(ctypes.byref(result), _array(ctypes.c_size_t, ipus),
                                        len(ipus))
        return result


@dataclasses.dataclass
class Request:
    """A request. Functions that accept a request also accept its members by name, which override
    those of the request. Enumerators may be given by name, units by the names of
    their layers."""

    # ---- of the memory model ----

    memory_model: Union[MemoryModel, str] = MemoryModel.FULL
    schedule: Union[Schedule, str] = Schedule.NONE
    recompute: Union[Recompute, str] = Recompute.NONE
    effects: Union[Effect, int] = ALL_EFFECTS
    accumulators: Union[Accumulators, str] = Accumulators.AUTO
    need: Union[Need, str] = Need.EXPECTED  #: what is held against the limits
    #: instead of the schedule's
    copies: Union[Copies, Order, str, Sequence[int], None] = None
    stage_recomputes: Sequence[Union[Recompute, str]] = ()  #: of each stage; to evaluate alone
    recompute_ways: Sequence[Union[Recompute, str]] = ()  #: what "auto" chooses from; none: all

    # ---- of the solver ----

    method: Union[Method, str] = Method.AUTO
    #: what is best, in order; none: cycles of a graph; ipus, memory, traffic with a limit of
    #: memory, but neither num_ipus nor device_map; else memory, traffic
    objectives: Union[str, Sequence[Union[Objective, str]]] = ()
    slack_percent: float = 0.0  #: each optimum may be missed by so much for the sake of the next
    #: ignored with a device map; None: as many as costs from a file say, else up to 16
    num_ipus: Optional[int] = None
    #: the largest peak of an IPU, in bytes on a tile, or as "624KiB"; of single IPUs also
    #: "624KiB,0=500K" or {None: 638976, 0: "500K"}, of all of them "24G,12G" or ["24G", "12G"];
    #: None: the memory of a tile of the profile
    mem_per_tile: Union[ByIpu, Sequence[Union[int, str]], None] = None
    #: constraints, as the command takes them: "cut:3", ["no-cut:1,2", "together:1,3"]; or
    #: {"cut": ["3"], "together": ["1", "3"], "place": {"3": 0}, "layers": "1..4"}, where whole
    #: numbers are units
    require: Rules = ()
    #: a mark for each unit: whether it counts for layers:A..B. None: those of the costs, the
    #: layers of a file or a profile
    counted_units: Optional[Sequence[bool]] = None
    device_map: Sequence[int] = ()  #: the IPU of each stage
    #: a constraint to ignore: of Infeasibility.constraints, or of a remedy; not for a front
    left_out: Optional[Constraint] = None
    without_reasons: bool = False  #: when nothing fits, do not look for reasons
    #: with the method auto, leave the second proof, by integer programs, out
    without_second_proof: bool = False
    time_limit_seconds: float = 0.0  #: 0: none
    should_stop: Optional[Callable[[], Any]] = None  #: asked now and then
    #: how much of something, such as parameters, an IPU with these stages has: a whole number
    ipu_weight: Optional[WeightFunction] = None
    max_ipu_weight: Optional[int] = None
    ipu_speeds: Mapping[int, float] = dataclasses.field(default_factory=dict)  #: 1 is usual
    link_bandwidth: Optional[Bandwidth] = None
    ipu_links: Mapping[Tuple[int, int], Bandwidth] = dataclasses.field(default_factory=dict)
    #: what to keep free of every limit: bytes, like "1GiB", a share of it, like "5%", or of a
    #: profile "gaps", the most that the layout wasted on any tile; of single IPUs bytes, like
    #: "1GiB,3=2.1GiB" or {None: "1GiB", 3: "2.1GiB"}
    reserve: Union[ByIpu, Sequence[Union[int, str]]] = 0

    # ---- who listens ----

    message: Optional[MessageFunction] = None  #: (level, text); None: the logger "popliner"
    progress: Optional[ProgressFunction] = None  #: (task, done, total)
    step: Optional[StepFunction] = None  #: (task, seconds)


MEMBERS = frozenset(field.name for field in dataclasses.fields(Request))


def show_members(*owners: Any) -> None:
    """Lets help() and completion see the members of a request as keywords of the functions of
    these classes, or modules, that take one."""
    usual = Request()
    for owner in owners:
        for name, function in list(vars(owner).items()):
            if not inspect.isfunction(function) or name.startswith("_"):
                continue
            signature = inspect.signature(function)
            own = [it for it in signature.parameters.values() if it.kind != it.VAR_KEYWORD]
            if len(own) == len(signature.parameters):
                continue
            more = [inspect.Parameter(it.name, inspect.Parameter.KEYWORD_ONLY,
                                      default=getattr(usual, it.name), annotation=it.type)
                    for it in dataclasses.fields(Request) if it.name not in signature.parameters]
            setattr(function, "__signature__", signature.replace(parameters=[*own, *more]))


def taken(request: Optional[Request], members: Mapping[str, Any],
          defaults: Optional[Mapping[str, Any]] = None) -> Request:
    """A request with members that go before its own. `defaults` are for members that nobody
    gave."""
    for name in members:
        if name not in MEMBERS:
            raise TypeError(f"there is no {name!r} in a request: expected some of "
                            f"{', '.join(sorted(MEMBERS))}")
    request = Request() if request is None else instance(request, Request, "the request")
    request = dataclasses.replace(request, **members)
    if _is_listed(request.mem_per_tile):  # these are all IPUs
        memory = memory_of(request.mem_per_tile)
        request = dataclasses.replace(
            request, mem_per_tile=memory,
            num_ipus=len(memory) if request.num_ipus is None else request.num_ipus)
    changes: Dict[str, Any] = {}
    for name, value in (defaults or {}).items():
        given = getattr(request, name)
        if name == "mem_per_tile" and given is not None:  # single IPUs keep theirs
            changes[name] = {**memory_of(value), **memory_of(given)}
        elif name in ("ipu_speeds", "ipu_links"):
            own = pairs_of(given, name)
            keys = [key for key, _ in own]
            changes[name] = own + [(key, it) for key, it in pairs_of(value, name) if key not in keys
                                   and (not isinstance(key, tuple) or key[::-1] not in keys)]
        elif name not in members and is_usual(request, name):
            changes[name] = value
    request = dataclasses.replace(request, **changes)
    if isinstance(request.copies, Order) and is_usual(request, "device_map") and \
            request.num_ipus == len(set(request.copies.device_map)):
        request = dataclasses.replace(request, device_map=request.copies.device_map)
    return request


def member_name(what: Any) -> None:
    """Checks the name of a member, which is a number."""
    if instance(what, str, "what") not in MEMBERS:
        raise UsageError(f"what is {shown(what)}: expected a member of a request, like 'num_ipus'")


def is_usual(request: Request, name: str) -> bool:
    """Whether a member has its default; arrays, which are none, compare item by item."""
    given, usual = getattr(request, name), getattr(Request(), name)
    return type(given) in (type(usual), int, str, tuple) and bool(given == usual)


def need_of(value: Union[Need, str]) -> int:
    """An estimate; the command's words are at-least and at-most."""
    return member(Need, value[3:] if isinstance(value, str) and value.startswith("at-") else value,
                  "need")


def copies_of(copies: Any) -> Any:
    """The structure of copies."""
    result = c.popliner_copies()
    if copies is None:
        return result
    if isinstance(copies, Order):
        return copies._structure()
    if isinstance(copies, (int, float)):
        raise TypeError(f"copies is {shown(copies)}; expected a rule, like '1f1b', or a list of a "
                        "number for each stage, last stage first, like [0, 1]")
    if not isinstance(copies, (str, Copies)):
        copies = ",".join(str(number(n, "a number of copies")) for n in listed(copies, "copies"))
    if isinstance(copies, str):
        copies = Copies(copies)
    call(library.popliner_copies_parse, text(copies.text, "copies"), ctypes.byref(result))
    result.num_micro_batches = size(copies.num_micro_batches, "num_micro_batches of copies")
    result.num_stages = size(copies.num_stages, "num_stages of copies")
    result.num_ipus = size(copies.num_ipus, "num_ipus of copies")
    if copies.device_map:
        ipus = [size(ipu, "an IPU of device_map") for ipu in copies.device_map]
        library.popliner_copies_set_map(ctypes.byref(result), _array(ctypes.c_size_t, ipus),
                                        len(ipus))
    call(library.popliner_copies_check, ctypes.byref(result))
    return result


def weight_of(weight: Optional[WeightFunction], what: str, turn: Turn) -> Any:
    """A function of the library's that asks `weight`; NULL without."""
    if callback(weight, what) is None:
        return c.popliner_weight_function()

    def weigh(_user: Any, stages: Any, count: int) -> int:
        return number(weight([(stages[i].first_unit, stages[i].last_unit)
                              for i in range(count)]), f"what {what} returned")

    return c.popliner_weight_function(called_back(turn, weigh, 0))


def objectives_of(objectives: Any) -> List[int]:
    if isinstance(objectives, str):
        objectives = objectives.split(",")
    elif isinstance(objectives, Objective):
        objectives = [objectives]
    return [member(Objective, it, "one of objectives") for it in listed(objectives, "objectives")]


def _array(kind: Any, values: Sequence[Any]) -> Any:
    """An array for the library; NULL if it is empty."""
    return (kind * len(values))(*values) if values else None


def listed_marks(counted: Any, num_units: int) -> List[bool]:
    """A mark for each unit."""
    marks = [bool(mark) for mark in listed(counted, "counted_units", num_units)]
    if len(marks) != num_units:
        raise UsageError(f"counted_units has {len(marks)} marks for {num_units} units")
    return marks


def pairs_of(values: Any, what: str) -> List[Tuple[Any, Any]]:
    result = []
    for pair in (values.items() if isinstance(values, Mapping) else listed(values, what)):
        try:
            first, second = pair
        except (TypeError, ValueError):
            raise TypeError(f"{what} has {shown(pair)}, and not two of something") from None
        result.append((first, second))
    return result


def _members(value: str) -> List[str]:
    """The members between commas; a backslash makes the sign after it a part of a name."""
    return re.findall(r"(?:[^\\,]|\\.)+", value)


def _name(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value)


def _layers(value: Any) -> Tuple[Optional[int], int]:
    """The fewest layers of a stage, if they are given, and the most, 0 for any number."""
    found = re.fullmatch(r"([0-9]{0,9})\.\.([0-9]{0,9})|([0-9]{1,9})",
                         value) if isinstance(value, str) else None
    if found is None or (found[2] and int(found[2]) < max(int(found[1] or 0), 1)):
        raise UsageError(f"require layers: {shown(value)}; expected the layers of a stage, like "
                         f"1..4, 2.. or ..8")
    least = found[1] or found[3]
    return int(least) if least else None, int(found[2] or found[3] or 0)


def _rule(kind: str, value: Any) -> List[Tuple[str, Any]]:
    """The rules of one kind from a mapping."""
    if kind == "layers":
        return [(kind, _layers(value))]
    if kind == "place":
        return [(kind, pairs_of(value, "require place"))]
    members = listed([value] if isinstance(value, (str, int)) else value, f"require {kind}")
    if kind == "together" and members and not isinstance(members[0], (str, int)):
        return [(kind, listed(it, "require together")) for it in members]
    return [(kind, members)]


def rules_of(rules: Rules) -> List[Tuple[str, Any]]:
    """The constraints of a request: kinds, each with units, (unit, IPU) or (fewest, most)."""
    result: List[Tuple[str, Any]] = []
    if isinstance(rules, Mapping):
        for kind, value in rules.items():
            result += _rule(kind, value)
    else:
        for rule in [rules] if isinstance(rules, str) else listed(rules, "require"):
            if not isinstance(rule, str):
                raise TypeError(f"require has {shown(rule)}, and not a text like 'cut:3'")
            kind, _, value = rule.partition(":")
            if kind == "layers":
                result.append((kind, _layers(value)))
            elif kind == "place":
                found = [re.fullmatch(r"((?:[^\\=]|\\.)+)=([0-9]{1,9})", it)
                         for it in _members(value)]
                if None in found or not found:
                    raise UsageError(f"require {shown(rule)}: expected LAYER=IPU, like place:3=0")
                result.append((kind, [(_name(it[1]), int(it[2])) for it in found if it]))
            else:
                result.append((kind, [_name(it) for it in _members(value)]))
    for kind, members in result:
        if kind not in ("cut", "no-cut", "together", "place", "layers"):
            raise UsageError(f"require {shown(kind)}: no such rule; there are cut, no-cut, "
                             f"together, place and layers")
        if len(members) < (2 if kind == "together" else 1):
            raise UsageError(f"require {kind}: expected layers, like "
                             f"{'together:1,3' if kind == 'together' else kind + ':3'}")
    return result


def _is_listed(memory: Any) -> bool:
    """True if it is the memory of the IPUs 0, 1, …"""
    return isinstance(memory, (list, tuple)) or (
        isinstance(memory, str) and "," in memory and "=" not in memory)


def memory_of(memory: Any, what: str = "mem_per_tile") -> Dict[Optional[int], Any]:
    """The memory of a tile by IPU; with the key None that of all others."""
    if memory is None:
        return {}
    if isinstance(memory, Mapping) or _is_listed(memory):
        listed_ = memory.split(",") if isinstance(memory, str) else memory
        if len(listed_) > MAX_IPU + 2:
            raise UsageError(f"{what} is of {len(listed_)} IPUs; expected at most {MAX_IPU + 1}")
        return dict(listed_ if isinstance(listed_, Mapping) else enumerate(listed_))
    if not isinstance(memory, str):
        return {None: memory}
    result: Dict[Optional[int], Any] = {}
    for member_ in memory.split(","):
        ipus, _, value = member_.rpartition("=")
        found = re.fullmatch(r"([0-9]{1,9})(?:\.\.([0-9]{1,9}))?", ipus)
        if ipus and found is None:
            raise UsageError(f"{what} {shown(memory)}: expected bytes like 600K, or those of "
                             f"single IPUs, like 0=500K or 2..3=500K")
        last = 0 if found is None else int(found[2] or found[1])
        if last > MAX_IPU or (found is not None and int(found[1]) > last):
            raise UsageError(f"{what} {shown(memory)}: expected IPUs from 0 to {MAX_IPU}, the "
                             f"first of a range before the last")
        for ipu in [None] if found is None else range(int(found[1]), last + 1):
            if ipu in result:
                raise UsageError(f"{what} {shown(memory)}: has "
                                 f"{'all IPUs' if ipu is None else f'IPU {ipu}'} twice")
            result[ipu] = value
    return result


def _bandwidth(value: Any, what: str) -> Any:
    if value is None:
        return c.popliner_ipu_link()
    (pair,) = pairs_of([value], what)
    return c.popliner_ipu_link(0, 0, number(pair[0], f"bytes of {what}"),
                               number(pair[1], f"cycles of {what}"))


def _scaled(value: Any, factor: int, what: str) -> int:
    """A number with a fraction, as so many parts of a whole; the library looks at its range."""
    parts = real(value, what) * factor
    if not 0 <= parts < 2**63:
        raise UsageError(f"{what} is {shown(value)}: it has to be a number from 0 on that is not "
                         f"too large")
    return round(parts)


class Units:
    """The units of a chain, to find them by name."""

    def __init__(self, names: Sequence[str], counted: Optional[Sequence[Any]] = None) -> None:
        self.names = list(names)
        self.numbers = {}
        # a layer goes before what is none
        for is_layer in (True, False):
            for unit, name in enumerate(self.names):
                if (counted is None or bool(counted[unit])) == is_layer:
                    self.numbers.setdefault(name, unit)

    def find(self, unit: UnitName, what: str) -> int:
        if isinstance(unit, str):
            if unit not in self.numbers:
                raise UsageError(f"{what}: there is no unit named {shown(unit)}; there are "
                                 f"{', '.join(self.names[:20])}"
                                 f"{', ...' if len(self.names) > 20 else ''}")
            return self.numbers[unit]
        return number(unit, what, max(len(self.names) - 1, 0))


def _names() -> Any:
    """What errors call members that a request has by another name."""
    result = begin(c.popliner_option_names)
    result.pairs, result.placements = b"require together", b"require place"
    return result


NAMES = _names()


class Asked:
    """The structures of a request, with all that they point to. They are good for one call."""

    def __init__(self, request: Request, units: Units, turn: Turn,
                 spreads: bool = False, costs: Any = None) -> None:
        """If it `spreads`, what people look at first of the costs comes before BALANCE where that
        begins the list, and no device map says how many stages there are."""
        self.kept: List[Any] = []
        self.turn = turn
        self.is_evaluation = False  #: a split is given
        self.solver = self.solver_options(request, units)
        if spreads and self.solver.num_mapped_stages == 0:
            self.spread(costs)
        self.request = self.request_of(request)
        if self.request.copies.num_micro_batches > 0:
            self.solver.pipeline = self.pipeline()

    def pipeline(self) -> Any:
        """The pipeline of which a step is simulated."""
        result = self.keep(c.popliner_pipeline())
        result.schedule, result.copies = self.request.schedule, self.request.copies
        return ctypes.pointer(result)

    def keep(self, value: Any) -> Any:
        self.kept.append(value)
        return value

    def request_of(self, r: Request) -> Any:
        q = begin(c.popliner_request)
        q.memory_model = member(MemoryModel, r.memory_model, "memory_model")
        q.schedule = member(Schedule, r.schedule, "schedule")
        q.recompute = member(Recompute, r.recompute, "recompute")
        q.effects = number(r.effects, "effects", 2**32 - 1)
        if any(getattr(self.solver, it) > 0 for it in (
                "reserve_bytes", "reserve_percent_hundredths", "num_ipu_reserves")):
            # what is kept free takes the place of what the layout wastes
            q.effects &= ~int(Effect.LAYOUT if q.effects == ALL_EFFECTS else 0)
        q.accumulators = member(Accumulators, r.accumulators, "accumulators")
        q.need = need_of(r.need)
        q.copies = copies_of(self.keep(r.copies))
        ways = [member(Recompute, way, "stage_recomputes")
                for way in listed(r.stage_recomputes, "stage_recomputes")]
        q.stage_recomputes = _array(ctypes.c_int, ways)
        q.num_stage_recomputes = len(ways)
        for way in listed(r.recompute_ways, "recompute_ways"):
            q.recompute_ways |= 1 << member(Recompute, way, "recompute_ways")
        q.solver = ctypes.pointer(self.solver)
        return q

    def spread(self, costs: Any) -> None:
        count = self.solver.num_objectives
        if count <= len(Objective):  # else the library refuses them
            room = (ctypes.c_int * len(Objective))(*self.solver.objectives[:count])
            self.solver.num_objectives = library.popliner_objectives_complete(room, count, costs)
            self.solver.objectives = room

    def solver_options(self, r: Request, units: Units) -> Any:
        o = begin(c.popliner_solver_options)
        o.option_names = ctypes.pointer(NAMES)
        o.method = member(Method, r.method, "method")
        objectives = objectives_of(r.objectives)
        o.objectives = _array(ctypes.c_int, objectives)
        o.num_objectives = len(objectives)
        o.slack_percent = real(r.slack_percent, "slack_percent")
        if r.num_ipus is not None:
            o.num_ipus = size(r.num_ipus, "num_ipus")
        self.set_limits(o, r)
        if r.counted_units is not None:
            o.counted_units = _array(ctypes.c_uint8,
                                     listed_marks(r.counted_units, len(units.names)))
        self.set_constraints(o, r, units)
        if r.left_out is not None:
            o.left_out = ctypes.pointer(c.popliner_constraint(
                *(size(it, "left_out") for it in instance(r.left_out, Constraint, "left_out"))))
        o.without_reasons = bool(r.without_reasons)
        o.without_second_proof = bool(r.without_second_proof)
        o.time_limit_seconds = real(r.time_limit_seconds, "time_limit_seconds")
        self.set_functions(o, r)
        self.set_links(o, r)
        return o

    def set_limits(self, o: Any, r: Request) -> None:
        kept = memory_of(r.reserve, "reserve")
        general = kept.pop(None, 0)
        share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", general) if isinstance(general, str) \
            else None
        if share is None:
            o.reserve_bytes = bytes_of(general, "reserve")
        else:
            if float(share[1]) > 100:
                raise UsageError(f"reserve: {general} is above 100%, all of the memory")
            o.reserve_percent_hundredths = _scaled(float(share[1]), 100, "reserve")
        memory = memory_of(r.mem_per_tile)
        for ipu in kept:
            if memory.setdefault(ipu, memory.get(None)) is None:
                raise UsageError(f"reserve of IPU {ipu}: give its mem_per_tile, too")
        if None in memory:
            o.mem_per_tile = less_reserve(o, bytes_of(memory.pop(None), "mem_per_tile"))
        for name, what, pairs, number_of in (
                ("ipu_reserves", "reserve", kept.items(),
                 lambda _, own: bytes_of(own, "bytes of reserve")),
                ("ipu_limits", "mem_per_tile", memory.items(),
                 lambda ipu, own: less_reserve(o, bytes_of(own, "bytes of mem_per_tile"), ipu)),
                ("ipu_speeds", "ipu_speeds", pairs_of(r.ipu_speeds, "ipu_speeds"),
                 lambda _, own: _scaled(own, 1000000, "a speed of ipu_speeds"))):
            values = [c.popliner_ipu_value(size(ipu, f"an IPU of {what}"), number_of(ipu, own))
                      for ipu, own in pairs]
            if name == "ipu_speeds":  # a usual one only takes the place of the file's
                values = [it for it in values if it.value != 1000000 or it.ipu > MAX_IPU]
            setattr(o, name, _array(c.popliner_ipu_value, values))
            setattr(o, f"num_{name}", len(values))

    def set_constraints(self, o: Any, r: Request, units: Units) -> None:
        cuts = [int(CutRule.FREE)] * len(units.names)
        pairs: List[Any] = []
        places: List[Any] = []
        for kind, members in rules_of(r.require):
            what = f"require {kind}"
            if kind == "layers":
                least, most = members
                if least is not None:
                    o.min_units = max(0 if o.min_units == SIZE_MAX else o.min_units, least)
                o.max_units = min(o.max_units or most, most or o.max_units)
            elif kind == "place":
                places += [c.popliner_constraint(unit=units.find(unit, what), ipu=size(ipu, what))
                           for unit, ipu in members]
            elif kind == "together":
                found = [units.find(unit, what) for unit in members]
                pairs += [c.popliner_constraint(unit=one, second_unit=other)
                          for one, other in zip(found, found[1:])]
            else:
                self.add_cuts(cuts, kind, [units.find(unit, what) for unit in members], units)
        if any(cuts):
            o.cut_rules = _array(ctypes.c_int, cuts)
        o.pairs = _array(c.popliner_constraint, pairs)
        o.num_pairs = len(pairs)
        o.placements = _array(c.popliner_constraint, places)
        o.num_placements = len(places)
        ipus = [size(ipu, "an IPU of device_map") for ipu in listed(r.device_map, "device_map")]
        o.device_map = _array(ctypes.c_size_t, ipus)
        o.num_mapped_stages = len(ipus)

    @staticmethod
    def add_cuts(cuts: List[int], kind: str, members: Sequence[int], units: Units) -> None:
        own = CutRule.REQUIRED if kind == "cut" else CutRule.FORBIDDEN
        for unit in members:
            if unit + 1 == len(cuts):
                raise UsageError(f"require {kind}: nothing comes after unit {units.names[unit]!r}")
            if cuts[unit + 1] not in (CutRule.FREE, own):
                raise UsageError(f"require: cut and no-cut both have unit {units.names[unit]!r}")
            cuts[unit + 1] = int(own)

    def set_links(self, o: Any, r: Request) -> None:
        o.link_bandwidth = _bandwidth(r.link_bandwidth, "link_bandwidth")
        links = []
        for ends, bandwidth in pairs_of(r.ipu_links, "ipu_links"):
            ((first, second),) = pairs_of([ends], "ipu_links")
            link = _bandwidth(bandwidth, "ipu_links")
            link.first_ipu = size(first, "an IPU of ipu_links")
            link.second_ipu = size(second, "an IPU of ipu_links")
            links.append(link)
        o.ipu_links = _array(c.popliner_ipu_link, links)
        o.num_ipu_links = len(links)

    def set_functions(self, o: Any, r: Request) -> None:
        turn = self.turn
        o.should_stop = stop_of(r.should_stop, c.popliner_solver_options_should_stop, turn)
        o.ipu_weight = weight_of(r.ipu_weight, "ipu_weight", turn)
        if r.max_ipu_weight is not None:
            o.max_ipu_weight = number(r.max_ipu_weight, "max_ipu_weight")
        listener = listener_of(Listening(r.message, r.progress, r.step), turn)
        o.listener = ctypes.pointer(self.keep(listener))


def less_reserve(options: Any, memory: int, ipu: int = SIZE_MAX) -> int:
    """A limit: the memory without what is kept free of it; 0 for no limit."""
    limit = ctypes.c_uint64()
    if memory > 0 and not library.popliner_reserve_limit(ctypes.byref(options), ipu, memory,
                                                         ctypes.byref(limit)):
        raise UsageError(f"reserve: {limit.value} bytes are more than mem_per_tile ({memory})")
    return limit.value


def bytes_of(value: Union[int, str], what: str = "the value") -> int:
    """Bytes, or as people write them: "638976", "624KiB", "1.5M"."""
    if not isinstance(value, str):
        return number(value, what)
    result = ctypes.c_uint64()
    rest = library.popliner_size_take(text(value, what), ctypes.byref(result))
    if rest is None or rest != b"":
        raise UsageError(f"{what} is {shown(value)}: expected bytes like 638976, 624KiB or 1.5M")
    return result.value


def swept(what: str, values: Iterable[Any]) -> List[int]:
    """The values of a range: bytes as people write them, or numbers."""
    read = bytes_of if what == "mem_per_tile" else number
    return [read(value, f"one of values of {what}") for value in listed(values, "values")]


def copies_at(copies: Any, stages_to_end: int) -> int:
    """How many copies a stage keeps when so many stages, it among them, are still to come."""
    kept = copies_of(copies)
    if kept.rule == CopiesRule.OF_SCHEDULE:
        raise UsageError("copies: there are none without a rule")
    return library.popliner_copies_at(ctypes.byref(kept),
                                      number(stages_to_end, "stages_to_end", SIZE_MAX, 1))


def copies_max_stages(copies: Any) -> Optional[int]:
    """The longest pipeline that copies are known for; None for any."""
    result = library.popliner_copies_max_stages(ctypes.byref(copies_of(copies)))
    return None if result == SIZE_MAX else result


__all__ = ["Bandwidth", "Copies", "Order", "Request", "Rules", "UnitName",
           "WeightFunction", "bytes_of", "copies_at", "copies_max_stages"]
