"""What the library tells, item by item: plain tuples with names. Members are called as in the C
headers, and mean the same; an index that leads nowhere is None. Bytes are over all tiles unless
told otherwise.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import typing
from enum import IntEnum
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type

from . import _declared as c
from . import _html
from ._library import library
from .enums import (ConstraintKind, CyclesSource, Growth, LayerRule, Objective, Obstacle, Presence,
                    ProgramType, Proof, Relation, RemedyKind, UnitKind)

SIZE_MAX = ctypes.c_size_t(-1).value


# ---- the profile ----


class ProfileInfo(NamedTuple):
    """What a profile is of, and how much of everything there is."""

    poplar_version: str  #: "3.3.0 (de1f8de2a7)"; "" when not recorded
    poplar_package_hash: str
    poplar_major_number: int
    poplar_minor_number: int
    poplar_point_number: int
    format_major_number: int
    format_minor_number: int
    format_point_number: int
    is_unstable_format: bool  #: may differ from the final format of this version
    num_tiles: int  #: of the IPUs of one replica, or of one IPU: see `ipu`
    num_ipus: int
    num_replicas: int
    tiles_per_ipu: int
    ipus_per_replica: int
    bytes_per_tile: int
    clock_hz: int  #: 0 when not recorded
    architecture: str  #: "ipu1", "ipu2", "ipu21", ... or "" when not recorded
    target_type: str  #: "IPU", "IPU_MODEL", "CPU" or ""
    num_compute_sets: int
    num_vertices: int
    num_edges: int
    num_vertex_types: int
    num_variables: int  #: lowered; 0 as long as those of a stored analysis are not loaded
    num_unlowered_variables: int
    num_equivalence_classes: int
    num_categories: int  #: of memory
    num_programs: int
    num_steps: int  #: liveness steps
    num_engine_options: int
    num_runs: int  #: calls of Engine::run
    num_execution_steps: int
    cycles_source: CyclesSource  #: the best that any program has
    layout_gap_bytes: int  #: the most that the layout leaves unused on any tile
    ipu: Optional[int]  #: the IPU whose tiles alone are here; None: all
    breached_relations: int  #: bits 1 << Relation; Analysis.checks has more of each

    def _repr_html_(self) -> str:
        return _html.facts("Profile", self._asdict().items())


class EngineOption(NamedTuple):
    """One option of the engine that the program was compiled with."""

    name: str
    value: str
    is_default: bool


class TileMemory(NamedTuple):
    """The compiler's own account of one tile's memory, in bytes."""

    total_bytes: int  #: addresses in use at some time, without gaps
    total_including_gaps_bytes: int  #: the highest address in use
    always_live_bytes: int
    not_always_live_peak_bytes: int  #: largest sum over the liveness steps
    interleaved_bytes: int
    non_interleaved_bytes: int
    overflowed_bytes: int  #: past the end of the memory
    first_variable: int  #: the tile's are first_variable ... end_variable - 1
    end_variable: int


class Category(NamedTuple):
    """A category of memory, in bytes on all tiles."""

    name: str  #: "variable", "message", "vertexCode", ...
    total_bytes: int
    overlapped_bytes: int
    interleaved_bytes: int
    overflowed_bytes: int


class Program(NamedTuple):
    """One program of the tree."""

    type: ProgramType
    type_name: str  #: as in the file: "OnTileExecute"
    name: str  #: or that of its compute set; "" if neither has one
    num_children: int
    compute_set: Optional[int]  #: that it executes
    called_program: Optional[int]  #: the body of the function that it calls
    debug_context: int  #: id in debug.cbor; 0: none
    num_repeats: int
    cycles: int
    cycles_source: CyclesSource  #: NONE: `cycles` is 0 and means nothing


class Step(NamedTuple):
    """A liveness step."""

    program: int
    parent_step: Optional[int]  #: that of the program around it


class ComputeSet(NamedTuple):
    name: str
    debug_context: int
    num_vertex_types: int
    num_vertices: int
    num_edges: int


class Vertices(NamedTuple):
    """The vertices of one type in a compute set."""

    vertex_type: int
    name: str
    num_vertices: int
    num_tiles: int
    state_bytes: int
    code_bytes: int  #: of the type on these tiles: shared with other compute sets
    index: int  #: for Profile.by_tile


class VertexType(NamedTuple):
    name: str
    state_bytes: int  #: of one instance
    code_bytes: int  #: on all tiles


class Run(NamedTuple):
    """A call of Engine::run."""

    name: str
    start_microseconds: int  #: since 1970
    elapsed_microseconds: int
    num_programs: int
    first_step: int
    num_steps: int


class ExecutionStep(NamedTuple):
    """One execution of a program, or a sync that no program asks for."""

    program: Optional[int]
    type_name: str
    run: Optional[int]
    num_ipus: int  #: that were measured
    cycles: int  #: on the slowest IPU; 0 if none was measured


class IpuStep(NamedTuple):
    """What a step took on one IPU."""

    ipu: int
    cycles: int  #: of the slowest tile
    first_cycle: int
    active_from_cycles: int
    active_to_cycles: int
    num_active_tiles: int
    tile_balance: float  #: from 0 to 1, the even case


class Variable(NamedTuple):
    """One lowered variable: a piece of the program's memory on one tile."""

    tile: int
    size_bytes: int
    offset_bytes: int  #: its address on the tile
    equivalence_class: int
    is_always_live: bool
    name: str
    category: str
    category_index: int
    unlowered_variable: Optional[int]


class UnloweredVariable(NamedTuple):
    """A tensor of the program, or what the compiler made up for memory that belongs to none."""

    name: str
    debug_context: int
    size_bytes: int  #: of all its pieces
    num_pieces: int


class Peak(NamedTuple):
    """The most memory that a tile needs at any of some steps."""

    always_live_bytes: int
    not_always_live_bytes: int  #: at peak_step
    peak_step: int


class Check(NamedTuple):
    """Whether a relation between parts of the profile holds."""

    relation: Relation
    name: str
    checked: int  #: places; 0 where the profile lacks a table of it
    breached: int  #: of these, where it does not hold
    largest_bytes: int
    where: str
    untrusted: str


# ---- the model ----


class Operation(NamedTuple):
    """One operation of the model."""

    name: str
    debug_context: int
    inputs: str  #: names of its inputs joined by '/'
    is_tensor: bool  #: not an operation of its own: only moves a tensor
    programs: Tuple[int, ...]  #: ascending
    first_step: int
    last_step: int
    is_of_framework: bool  #: all are of a framework's contexts, or all of the programs' own


class LayerFinding(NamedTuple):
    """The layer of an operation, and how it was found."""

    unit: int  #: 0 for what belongs to no layer, then come the layers in the chosen order
    name: Optional[str]  #: of the layer; None for unit 0
    rule: LayerRule
    num_named: int
    note: str


class Unit(NamedTuple):
    """A unit of the chain that is cut."""

    kind: UnitKind
    name: Optional[str]  #: of the layer; None for a unit that is none
    label: str  #: how to call it


class LayerPairs(NamedTuple):
    """What layers share, and what one hands to another, in bytes: rows of a square table."""

    names: Tuple[str, ...]
    affinity_bytes: Tuple[Tuple[int, ...], ...]
    communication_bytes: Tuple[Tuple[int, ...], ...]

    def _repr_html_(self) -> str:
        return "".join(
            _html.table(title, ("", *self.names),
                        [(name, *row) for name, row in zip(self.names, rows)])
            for title, rows in (("Affinity, bytes", self.affinity_bytes),
                                ("Communication, bytes", self.communication_bytes)))


# ---- stages ----


class StageVariable(NamedTuple):
    variable: int
    size_bytes: int
    name: str
    category: str


class Needs(NamedTuple):
    """What a stage needs on its fullest tile, in bytes."""

    expected: int
    least: int
    most: int


class StageDetail(NamedTuple):
    """The memory of an IPU in bytes, summed up over all tiles, and its fullest tile."""

    total_bytes: int
    variables_bytes: int
    vertex_code_bytes: int
    vertex_state_bytes: int
    exchange_code_bytes: int
    control_code_bytes: int
    unexplained_bytes: int  #: of no known operation
    stash_bytes: int  #: what it keeps for a pipeline, all copies
    buffer_bytes: int
    accumulator_bytes: int
    layout_bytes: int
    parameter_bytes: int
    unexplained_always_live_bytes: int
    tile: int  #: the largest one
    tile_bytes: int
    tile_always_live_bytes: int  #: of variables
    tile_live_bytes: int  #: of other variables, live at `step`
    tile_code_bytes: int
    tile_unexplained_bytes: int
    tile_stash_bytes: int
    tile_buffer_bytes: int
    tile_accumulator_bytes: int
    tile_layout_bytes: int
    step: int  #: of its peak
    variables: Tuple[StageVariable, ...]  #: the largest there and then
    need_bytes: Needs
    num_ipus: int  #: of the profile, on which it computes; of several no need says whether it fits

    def _repr_html_(self) -> str:
        return _html.facts("Memory of a stage, bytes", self._asdict().items())


class Measurement(NamedTuple):
    """What was measured of stages that are together on one IPU."""

    detail: StageDetail
    by_tile: Dict[str, Any]  #: bytes of each kind, an array over the tiles


class Interval(NamedTuple):
    """A stage and where it stands."""

    first_unit: int
    last_unit: int
    stages_to_end: int = 1  #: the stages still to come and itself: 1 for the last one


# ---- plans ----


class PlanStage(NamedTuple):
    """One stage: the units first_unit ... last_unit, both included."""

    first_unit: int
    last_unit: int
    ipu: int
    peak_bytes: int  #: of the fullest tile of its IPU, with all that runs there
    cycles: int  #: its own; 0 if the costs have none
    cut_bytes: int  #: over the cut after it; 0 for the last one
    link_cycles: int
    num_replicas: int = 0  #: on the IPUs from `ipu` on, if stages have replicas of their own


class PlanValue(NamedTuple):
    """The value that was reached for one objective, and the bound: no such split has less."""

    objective: Objective
    value: int
    bound: int
    proof: Proof


class Constraint(NamedTuple):
    """One constraint of a request; members that a kind does not use are 0."""

    kind: ConstraintKind
    number: int
    unit: int
    second_unit: int
    ipu: int


class Remedy(NamedTuple):
    """A single change that is enough, with everything else unchanged."""

    kind: RemedyKind
    ipu: int
    bytes: int
    constraint: Constraint
    number: int


class Infeasibility(NamedTuple):
    """Why nothing fits."""

    obstacle: Obstacle
    constraints: Tuple[Constraint, ...]
    unit: int
    unit_bytes: int
    limit_bytes: int
    enough_stages: int  #: the smallest num_ipus that works; 0 if none does
    enough_bytes: int  #: the smallest mem_per_tile that works; 0 if none does
    fitting_ipu: int
    remedies: Tuple[Remedy, ...]
    left_out: Tuple[Constraint, ...]
    has_all_remedies: bool
    enough_bytes_bound: int
    needs_costs: bool  #: the costs are a part of the contradiction
    is_longer_unknown: bool  #: longer pipelines have no costs, so none was tried


# ---- changes and comparisons ----


class Change(NamedTuple):
    """One quantity of one item, before and now; None where it is not known."""

    what: str  #: "device", "category", "head", "layer", ...
    name: str
    quantity: str
    presence: Presence
    before: Optional[int]
    now: Optional[int]


class BoundResult(NamedTuple):
    """What a bound found: what grew by more than so many percent, the largest share first."""

    of: Growth
    max_percent: float
    num_compared: int  #: quantities of the kind that have a value on both sides
    exceeded: Tuple[Change, ...]


# ---- taking them from C ----

Converter = Callable[[Any], Any]
_converters: Dict[Tuple[Any, Any], List[Tuple[str, Optional[Converter]]]] = {}


def _text(value: Optional[bytes]) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def _optional_text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else _text(value)


def _optional_index(value: int) -> Optional[int]:
    return None if value == SIZE_MAX else value


def _enum(kind: Type[IntEnum]) -> Converter:
    def convert(value: int) -> Any:
        try:
            return kind(value)
        except ValueError:
            return value  # of a later version of the library
    return convert


def _converter(annotation: Any, item: Any) -> Optional[Converter]:
    """How a member becomes what the annotation says; None: it is that already."""
    if annotation is str:
        return _text
    if annotation == Optional[str]:
        return _optional_text
    if annotation == Optional[int]:
        return _optional_index
    if isinstance(annotation, type) and issubclass(annotation, IntEnum):
        return _enum(annotation)
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return lambda value: take(annotation, value)
    if typing.get_origin(annotation) is tuple and issubclass(item, ctypes.Array):
        return tuple
    return None


def take(kind: Any, structure: Any, **others: Any) -> Any:
    """A record of a structure; `others` are members that are no members of it."""
    key = (kind, type(structure))
    found = _converters.get(key)
    if found is None:
        hints = typing.get_type_hints(kind)
        items = dict(structure._fields_)
        found = [(name, _converter(hints[name], items[name]))
                 for name in kind._fields if name in items]
        _converters[key] = found
    if not others and len(found) == len(kind._fields):
        return kind._make([getattr(structure, name) if convert is None
                           else convert(getattr(structure, name)) for name, convert in found])
    values = {name: getattr(structure, name) if convert is None
              else convert(getattr(structure, name))
              for name, convert in found if name not in others}
    return kind(**values, **others)


def first(values: Any, count: int) -> Tuple[Any, ...]:
    """The first numbers of an array, or of a pointer."""
    return tuple(values[:count]) if count > 0 else ()


def all_of(kind: Any, values: Any, count: int) -> Tuple[Any, ...]:
    """Records of so many structures."""
    return tuple(take(kind, it) for it in first(values, count))


def parts_of(part_bytes: Any) -> Dict[str, Any]:
    """What there is for each part of the memory of a stage, by its column: first those that add up,
    then those that are within others."""
    within = c.CONSTANTS["POPLINER_PARTS_WITHIN"]
    kind = c.CONSTANTS["POPLINER_NAMED_PART"]
    return {library.popliner_name_of(kind, part).decode(): part_bytes[part]
            for part in sorted(range(len(part_bytes)), key=lambda part: within >> part & 1)}


def detail_of(d: Any) -> StageDetail:
    return take(StageDetail, d, **parts_of(d.part_bytes),
                variables=tuple(take(StageVariable, d.variables[i])
                                for i in range(d.num_variables)),
                need_bytes=Needs(*d.need_bytes))


def operation_of(o: Any) -> Operation:
    return take(Operation, o, programs=first(o.programs, o.num_programs))


def infeasibility_of(i: Any) -> Infeasibility:
    def constraints(values: Any, count: int) -> Tuple[Constraint, ...]:
        return tuple(take(Constraint, values[k]) for k in range(count))

    return take(Infeasibility, i, constraints=constraints(i.constraints, i.num_constraints),
                remedies=tuple(take(Remedy, i.remedies[k]) for k in range(i.num_remedies)),
                left_out=constraints(i.left_out, i.num_left_out))


def change_of(change: Any) -> Change:
    return take(Change, change, before=change.before if change.has_before else None,
                now=change.now if change.has_now else None)


def bound_of(b: Any, of: Growth) -> BoundResult:
    return BoundResult(of, b.max_percents[of], b.num_compared[of],
                       tuple(change_of(b.exceeded[of][i].contents)
                             for i in range(b.num_exceeded[of])))
