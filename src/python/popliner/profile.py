"""A walk over what is in a profile.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
from typing import (Any, Callable, Dict, Generic, Iterator, List, Optional, Sequence, Tuple,
                    TypeVar, Union)

from . import _declared as c
from . import records as r
from ._calling import (SIZE_MAX, Handle, Owner, array_of, ask, call, called_back, callback, fill,
                       instance, listed, member, member_of, shown, size)
from ._library import begin, library
from .enums import ByTile, ProgramType
from .enums import Item as ItemKind
from .errors import UsageError

Item = TypeVar("Item")


class Items(Sequence[Item], Generic[Item]):
    """Something that the library tells item by item, as a sequence."""

    def __init__(self, name: str, count: int, get: Callable[[int], Item],
                 columns: Optional[Callable[[], Dict[str, Any]]] = None) -> None:
        self._name = name
        self._count = count
        self._get = get
        self._columns = columns

    def columns(self) -> Dict[str, Any]:
        """All items as an array for each of their members that is a number or a mark: with NumPy
        views of one memory, without one item after the other."""
        if self._columns is None:
            raise UsageError(f"{self._name} have no columns: they are a part of a longer list")
        return self._columns()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self._get(k) for k in range(*i.indices(self._count))]
        if isinstance(i, (str, bytes)) or not hasattr(i, "__index__"):
            raise TypeError(f"{self._name} are numbered: {shown(i)} is not a whole number")
        k = i.__index__()
        if k < 0:
            k += self._count
        if not 0 <= k < self._count:
            raise IndexError(f"there are {self._count} {self._name}, and no number {shown(i)}")
        return self._get(k)

    def __iter__(self) -> Iterator[Item]:
        return (self._get(i) for i in range(self._count))

    def __repr__(self) -> str:
        return f"<{self._count} {self._name}>"


class Profile:
    """The profile that the Poplar compiler wrote. Everything is numbered from 0, in the order of
    the file. It is good for as long as its analysis is not closed."""

    def __init__(self, owner: Any) -> None:
        self._owner = instance(owner, Owner, "the owner")

    def _pointer(self) -> Tuple[Handle, Any]:
        handle = self._owner._held()
        return handle, library.popliner_analysis_profile(handle.pointer)

    @property
    def info(self) -> r.ProfileInfo:
        """What the profile is of, and how much of everything there is."""
        handle, pointer = self._pointer()
        return fill(c.popliner_profile_info, library.popliner_profile_get_info, handle, pointer,
                    then=lambda it: r.take(r.ProfileInfo, it))

    def _get(self, structure: Any, item: ItemKind, i: int, then: Callable[[Any], Any]) -> Any:
        handle, pointer = self._pointer()
        return fill(structure, library.popliner_profile_get, handle, pointer, int(item), i,
                    then=then)

    def _items(self, name: str, count: int, kind: Any, structure: Any, item: ItemKind,
               first: int = 0) -> Items:
        is_part = item in (ItemKind.VERTICES, ItemKind.IPU_STEP)
        return Items(name, count,
                     lambda i: self._get(structure, item, first + i,
                                         lambda it: r.take(kind, it)),
                     None if is_part else lambda: self._columns(structure, item, count))

    def _columns(self, structure: Any, item: ItemKind, count: int) -> Dict[str, Any]:
        handle, pointer = self._pointer()
        items = (structure * count)()
        if count > 0:
            items[0] = begin(structure)
            call(library.popliner_profile_get_all, pointer, int(item), items, using=(handle,))
        return {name: member_of(items, name) for name, kind in structure._fields_[1:]
                if getattr(kind, "_type_", "") in tuple("?bBiIlLqQd")}

    @property
    def engine_options(self) -> Sequence[r.EngineOption]:
        """What the program was compiled with."""
        return [r.EngineOption(it["name"], it["value"], it["is_default"])
                for it in self._owner.section("summary") if it["group"] == "engine_option"]

    @property
    def tiles(self) -> Sequence[r.TileMemory]:
        """The compiler's own account of each tile."""
        return self._items("tiles", self.info.num_tiles, r.TileMemory, c.popliner_tile_memory,
                           ItemKind.TILE)

    @property
    def categories(self) -> Sequence[r.Category]:
        """The categories of memory."""
        return [r.Category(it["category"], it["counted_bytes"], it["overlapped_bytes"],
                           it["interleaved_bytes"], it["overflowed_bytes"])
                for it in self._owner.section("categories")]

    def by_tile(self, what: Union[ByTile, str], index: int) -> Any:
        """What the profile tells tile by tile of a category, a vertex type, ...: an array."""
        handle, pointer = self._pointer()
        count = self.info.num_tiles
        values = (ctypes.c_uint64 * count)()
        call(library.popliner_profile_by_tile, pointer, member(ByTile, what, "what"),
             size(index, "index"), values, using=(handle,))
        return array_of(values, count)

    @property
    def programs(self) -> Sequence[r.Program]:
        """The programs of the tree."""
        return self._items("programs", self.info.num_programs, r.Program, c.popliner_program,
                           ItemKind.PROGRAM)

    def children(self, program: int) -> List[int]:
        """The numbers of the programs below one."""
        return self._get(c.popliner_program, ItemKind.PROGRAM, size(program, "program"),
                         lambda it: list(r.first(it.children, it.num_children)))

    def walk(self, type: Union[ProgramType, str] = ProgramType.ANY
             ) -> Iterator[Tuple[int, ProgramType]]:
        """The number and the type of each program of a type, or of all: in the order of their
        first liveness step, which is that of the tree in pre-order; then those that no step
        runs."""
        handle, pointer = self._pointer()
        found: List[Tuple[int, int]] = []

        def note(_user: Any, program: int, kind: int) -> int:
            found.append((program, kind))
            return 0

        call(library.popliner_profile_visit, pointer, member(ProgramType, type, "type"),
             c.popliner_program_visitor(called_back(handle.turn, note, 1)), None, using=(handle,))
        return ((program, ProgramType(kind)) for program, kind in found)

    def visit(self, visitor: Callable[[int, ProgramType], Any],
              type: Union[ProgramType, str] = ProgramType.ANY) -> None:
        """Calls `visitor(program, type)` for each of walk(). It may use the profile; what it
        raises ends the visit."""
        if callback(visitor, "visitor") is None:
            raise TypeError("visitor is None, and not a function")
        for program, kind in self.walk(type):
            visitor(program, kind)

    @property
    def steps(self) -> Sequence[r.Step]:
        """The liveness steps: the program tree in pre-order."""
        return self._items("steps", self.info.num_steps, r.Step, c.popliner_step,
                           ItemKind.STEP)

    @property
    def compute_sets(self) -> Sequence[r.ComputeSet]:
        """What programs execute."""
        return self._items("compute sets", self.info.num_compute_sets, r.ComputeSet,
                           c.popliner_compute_set, ItemKind.COMPUTE_SET)

    def vertices(self, compute_set: int) -> Sequence[r.Vertices]:
        """The vertices of a compute set, by type."""
        count, first = self._get(c.popliner_compute_set, ItemKind.COMPUTE_SET,
                                 size(compute_set, "compute_set"),
                                 lambda it: (it.num_vertex_types, it.first_vertices))
        return self._items("types of vertices", count, r.Vertices, c.popliner_vertices,
                           ItemKind.VERTICES, first)

    @property
    def vertex_types(self) -> Sequence[r.VertexType]:
        return [r.VertexType(it["name"], it["instance_bytes"], it["code_bytes"])
                for it in self._owner.section("vertices")]

    @property
    def runs(self) -> Sequence[r.Run]:
        """Calls of Engine::run; none if the program was not run."""
        return self._items("runs", self.info.num_runs, r.Run, c.popliner_run,
                           ItemKind.RUN)

    @property
    def execution_steps(self) -> Sequence[r.ExecutionStep]:
        """What was executed."""
        return self._items("execution steps", self.info.num_execution_steps, r.ExecutionStep,
                           c.popliner_execution_step, ItemKind.EXECUTION_STEP)

    def ipu_steps(self, execution_step: int) -> Sequence[r.IpuStep]:
        """What an execution step took on each IPU that was measured."""
        count, first = self._get(c.popliner_execution_step, ItemKind.EXECUTION_STEP,
                                 size(execution_step, "execution_step"),
                                 lambda it: (it.num_ipus, it.first_ipu_step))
        return self._items("IPUs of a step", count, r.IpuStep, c.popliner_ipu_step,
                           ItemKind.IPU_STEP, first)

    # ---- what is live when ----

    @property
    def variables(self) -> Sequence[r.Variable]:
        """The lowered variables, sorted by tile. A loaded analysis has none."""
        return self._items("variables", self.info.num_variables, r.Variable, c.popliner_variable,
                           ItemKind.VARIABLE)

    @property
    def unlowered_variables(self) -> Sequence[r.UnloweredVariable]:
        """Tensors, and what the compiler made up for memory that belongs to none."""
        return self._items("unlowered variables", self.info.num_unlowered_variables,
                           r.UnloweredVariable, c.popliner_unlowered_variable,
                           ItemKind.UNLOWERED_VARIABLE)

    def is_live(self, variable: int, step: int) -> bool:
        """Whether a lowered variable is live at a step."""
        handle, pointer = self._pointer()
        return ask(handle, library.popliner_liveness_is_live, pointer,
                   size(variable, "variable"), size(step, "step"))

    def _selection(self, selection: Optional[Sequence[Any]], info: r.ProfileInfo) -> Any:
        if selection is None:
            return None
        marks = [bool(mark) for mark in listed(selection, "selection", info.num_variables)]
        if len(marks) != info.num_variables:
            raise UsageError(f"the selection has {len(marks)} marks for {info.num_variables} "
                             f"variables")
        return (ctypes.c_uint8 * len(marks))(*marks)

    def peaks(self, first_step: int = 0, end_step: Optional[int] = None,
              selection: Optional[Sequence[Any]] = None) -> List[r.Peak]:
        """The peak of every tile over the steps first_step ... end_step - 1, of all variables or of
        those that are marked."""
        handle, pointer = self._pointer()
        info = self.info
        peaks = (c.popliner_peak * info.num_tiles)()
        end = info.num_steps if end_step is None else size(end_step, "end_step")
        call(library.popliner_liveness_peaks, pointer, self._selection(selection, info),
             size(first_step, "first_step"), end, peaks, using=(handle,))
        return [r.take(r.Peak, peak) for peak in peaks]

    def live_by_step(self, tile: Optional[int] = None, first_step: int = 0,
                     end_step: Optional[int] = None,
                     selection: Optional[Sequence[Any]] = None) -> Any:
        """The not-always-live bytes of a tile, or of all together, at each step: an array."""
        handle, pointer = self._pointer()
        info = self.info
        first = size(first_step, "first_step")
        end = info.num_steps if end_step is None else size(end_step, "end_step")
        if not first <= end <= info.num_steps:
            raise UsageError(f"steps {first} ... {end} are not within the {info.num_steps} steps")
        values = (ctypes.c_uint64 * (end - first))()
        call(library.popliner_liveness_by_step, pointer,
             SIZE_MAX if tile is None else size(tile, "tile"), self._selection(selection, info),
             first, end, values, using=(handle,))
        return array_of(values, end - first)

    def __repr__(self) -> str:
        if self._owner.closed:
            return "<Profile: closed>"
        info = self.info
        return (f"<Profile: {info.num_tiles} tiles, {info.num_programs} programs, "
                f"{info.num_variables} variables, {info.num_steps} steps>")

    def _repr_html_(self) -> str:
        return repr_html_closed("Profile") if self._owner.closed else self.info._repr_html_()


def repr_html_closed(name: str) -> str:
    return f"<p>{name}: closed</p>"
