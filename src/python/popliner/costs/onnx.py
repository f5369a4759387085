"""Bytes of initialisers and activations from an ONNX model, and what ONNX Runtime measured.

The fields of the protobuf are those of onnx.proto: of the model 7 (graph); of the graph 1 (node),
5 (initializer), 11, 12, 13 (inputs, outputs, value_info). Other fields are left out.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import bisect
import csv
import math
import mmap
import os
import re
from typing import Dict, List, Optional, Sequence, Set, Tuple, Union

from .._calling import clean
from ..errors import InputError
from .table import (MAX_PROFILE, MAX_SAMPLES, MAX_UNITS, Assumed, Source, Table, Unit, ceil_div,
                    read_json)

#: Units that are no layers, and their kinds.
ENDS = {"embedding": "embedding", "head": "loss"}

#: The bits of an element, by the number of TensorProto.DataType; strings have none.
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
        14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8}
#: Protobuf allows no longer model; weights beyond this are external data.
MAX_MODEL = 1 << 31
#: The most fields of a model that are read, in about a second; DenseNet-121 has 21,493.
MAX_FIELDS = 1 << 19
MAX_STATISTICS = 1 << 26
MAX_DIMENSIONS = 64

Value = Union[int, memoryview]


class _Graph:
    """The graph of a model: its nodes, and the bytes of initialisers and of values."""

    num_fields = 0

    def __init__(self, name: str, model: memoryview, dims: Dict[str, int]) -> None:
        self.name, self.dims = name, dims
        self.unknown: Set[str] = set()  #: dimensions without a size
        graphs = self.message(model).get(7, [])
        if len(graphs) != 1:
            raise self.refuse("has two graphs" if graphs else "no ONNX model: it has no graph")
        graph = self.message(graphs[0])
        self.nodes = [self.node(value, i) for i, value in enumerate(graph.get(1, []))]
        self.weights: Dict[str, int] = {}
        for name, size in map(self.initializer, graph.get(5, [])):
            if name in self.weights:
                raise self.refuse(f"the initialiser {name!r:.100} appears twice")
            self.weights[name] = size
        inputs, outputs, others = (list(map(self.value_info, graph.get(field, [])))
                                   for field in (11, 12, 13))
        self.values = {name: size for name, size in [*inputs, *outputs, *others]
                       if size is not None}
        self.inputs = {name for name, _ in inputs if name not in self.weights}
        self.outputs = {name for name, _ in outputs}
        if not self.nodes:
            raise self.refuse("the graph has no nodes")

    def refuse(self, what: str) -> InputError:
        return InputError(f"{self.name}: {what}")

    def varint(self, data: memoryview, at: int) -> Tuple[int, int]:
        result = shift = 0
        while True:
            if at >= len(data) or shift > 63:
                raise self.refuse("no ONNX model, cut off or damaged: a number does not end")
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            if byte < 128:
                return result & (1 << 64) - 1, at
            shift += 7

    def message(self, data: Value) -> Dict[int, List[Value]]:
        """The values of each field, numbers or bytes, by its number."""
        if isinstance(data, int):
            raise self.refuse("no ONNX model, or damaged: a number is where a message belongs")
        result: Dict[int, List[Value]] = {}
        at = 0
        while at < len(data):
            self.num_fields += 1
            if self.num_fields > MAX_FIELDS:
                raise self.refuse(f"the model has more than {MAX_FIELDS} fields")
            key, at = self.varint(data, at)
            kind = key & 7
            length = {0: 0, 1: 8, 5: 4}.get(kind)
            value: Value = 0
            if kind in (0, 2):
                value, at = self.varint(data, at)
            if kind == 2:
                length = value
            if length is None or key >> 3 == 0 != kind:
                raise self.refuse(f"no ONNX model, or damaged: a field is of the unknown kind "
                                  f"{kind}")
            if length > len(data) - at:
                raise self.refuse(f"a field has {length} bytes, and {len(data) - at} are left: the "
                                  "file is cut off or damaged")
            result.setdefault(key >> 3, []).append(data[at:at + length] if kind else value)
            at += length
        return result

    def number(self, message: Dict[int, List[Value]], field: int) -> int:
        """The last number of a field, as protobuf reads it."""
        return next((it for it in reversed(message.get(field, [])) if isinstance(it, int)), 0)

    def words(self, message: Dict[int, List[Value]], field: int) -> List[str]:
        """The texts of a field."""
        if any(isinstance(it, int) for it in message.get(field, [])):
            raise self.refuse("damaged: a number is where a text belongs")
        try:
            return [bytes(it).decode() for it in message.get(field, [])]
        except UnicodeDecodeError:  # replaced characters would make names alike
            raise self.refuse("damaged: a text is not UTF-8") from None

    def word(self, message: Dict[int, List[Value]], field: int) -> str:
        """The last text of a field."""
        return ["", *self.words(message, field)][-1]

    def numbers(self, value: Value) -> List[int]:
        """A repeated number, packed or not."""
        if isinstance(value, int):
            return [value]
        result, at = [], 0
        while at < len(value) and len(result) <= MAX_DIMENSIONS:
            number, at = self.varint(value, at)
            result.append(number)
        return result

    def node(self, data: Value, place: int) -> Tuple[str, List[str], List[str]]:
        """The name of a node, without one that of its first output, its inputs and outputs."""
        node = self.message(data)
        inputs, outputs = self.words(node, 1), self.words(node, 2)
        name = self.word(node, 3) or (outputs or [""])[0] or f"{self.word(node, 4)}_{place}"
        return name, inputs, outputs

    def bytes_of(self, what: str, dims: Sequence[int], kind: int) -> int:
        if kind not in BITS:
            raise self.refuse(f"{what!r:.100} has elements of the unknown type {kind}")
        if len(dims) > MAX_DIMENSIONS:
            raise self.refuse(f"{what!r:.100} has {len(dims)} dimensions")
        elements = math.prod(dims)
        if elements >= 1 << 63:
            raise self.refuse(f"{what!r:.100} has 2^63 elements or more")
        return ceil_div(elements * BITS[kind], 8)

    def initializer(self, data: Value) -> Tuple[str, int]:
        """The name and bytes of a tensor; its data has to be as long as its shape says."""
        tensor = self.message(data)
        dims = [size for it in tensor.get(1, []) for size in self.numbers(it)]
        kind, name = self.number(tensor, 2), self.word(tensor, 8)
        if kind == 8:
            raise self.refuse(f"the initialiser {name!r:.100} has texts, which have no fixed size")
        size = self.bytes_of(name, dims, kind)
        raw = next((len(it) for it in reversed(tensor.get(9, [])) if not isinstance(it, int)), size)
        if raw != size:
            raise self.refuse(f"{name!r:.100} has {raw} bytes of data, but its shape makes {size}")
        pairs = [self.message(it) for it in tensor.get(13, [])]
        external = {self.word(pair, 1): self.word(pair, 2) for pair in pairs}.get("length", "")
        if self.number(tensor, 14) == 1 and external not in ("", str(size)):
            raise self.refuse(f"{name!r:.100} has {external:.40} bytes of external data, but its "
                              f"shape makes {size}")
        return name, size

    def value_info(self, data: Value) -> Tuple[str, Optional[int]]:
        """The name and bytes of a value; None if its shape is not known."""
        info, size = self.message(data), None
        for tensor in (self.message(tensor) for it in info.get(2, [])
                       for tensor in self.message(it).get(1, [])):
            dims: List[Optional[int]] = [None]
            for shape in map(self.message, tensor.get(2, [])):
                dims = [self.dimension(self.message(it)) for its in shape.values() for it in its]
            known, kind = [it for it in dims if it is not None], self.number(tensor, 1)
            size = self.bytes_of("a value", known, kind) \
                if len(known) == len(dims) and kind in BITS else None
        return self.word(info, 1), size

    def dimension(self, entry: Dict[int, List[Value]]) -> Optional[int]:
        """A number, or that of a name; None if it is not known."""
        symbol = self.word(entry, 2)
        size = entry[1][-1] if 1 in entry else self.dims.get(symbol)
        if isinstance(size, int) and size < 1 << 63:
            return size
        self.unknown.update([symbol] if symbol else [])
        return None

    def check_order(self) -> None:
        """Each value has one maker, before all of its users (onnx: IR.md, "Graphs")."""
        later = {name for _, _, outputs in self.nodes for name in outputs if name}
        for _, inputs, outputs in self.nodes:
            for name in inputs:
                if name in later:
                    raise self.refuse(f"{name!r:.100} is used before it is made")
            for name in filter(None, outputs):
                if name not in later or name in self.weights or name in self.inputs:
                    raise self.refuse(f"{name!r:.100} is made twice")
                later.remove(name)


DEFAULT_GROUP = r"(?:^|[./_])(?:layers?|h|blocks?|blk)[./_](\d+)(?:[./_]|$)"


def group(names: Sequence[str], assumed: Assumed) -> Tuple[Table, List[int]]:
    """A table of units without costs, and the unit of each node. Nodes in a row whose names match
    alike are one unit; a node that does not match joins the one before it. Those before the first
    match are the embedding. Without any match each node is a unit."""
    pattern = re.compile(assumed.group or DEFAULT_GROUP)
    found = [pattern.search(name) for name in names]
    last = max((i for i, match in enumerate(found) if match is not None), default=None)
    keys: List[str] = []
    places: List[int] = []
    for i, (name, match) in enumerate(zip(names, found)):
        key = None
        if last is None:
            key = name
        elif i > last:
            key = "head" if i == last + 1 else None
        elif match is not None and keys[-1:] != [match[1] or ""]:
            key = match[1] or ""
        elif match is None and not keys:
            key = "embedding"
        if key is not None:
            keys.append(key)
        places.append(len(keys) - 1)
    seen: Dict[str, int] = {}
    table = Table()
    for key in keys:
        name = base = clean(key).strip() or "_"
        while name in seen:
            seen[base] += 1
            name = f"{base}#{seen[base]}"
        seen[name] = 1
        table.units.append(Unit(name, kind=ENDS.get(name.split("#")[0], "layer")))
    return table, places


def read(path: str, assumed: Assumed) -> Table:
    """The costs of a model for inference."""
    with Source(path) as source:
        if source.size > MAX_MODEL:
            raise source.refuse(f"{source.size} bytes; expected at most 2 GiB, the most that "
                                "protobuf allows")
        if source.size == 0:
            raise source.refuse("no ONNX model: it has no graph")
        data = memoryview(mmap.mmap(source.file.fileno(), 0, access=mmap.ACCESS_READ))
    graph = _Graph(source.name, data, assumed.dims)
    table, places = group([name for name, _, _ in graph.nodes], assumed)
    if len(table.units) > MAX_UNITS:
        raise graph.refuse(f"{len(table.units)} units; expected at most {MAX_UNITS}; merge nodes "
                           "with --group")
    graph.check_order()
    made = _add_sizes(table, graph, places)
    without = sum(1 for name in made if name not in graph.values)
    table.notes = ["Inference. Memory: initialisers, and the largest inputs and outputs of a node.",
                   "Cut: values that are made before and used after it, and inputs and outputs of "
                   "the model that it separates from their use, each once."]
    if without:
        symbols = ", ".join(sorted(graph.unknown))
        table.notes.append(f"{without} values have no known shape and count as 0 bytes: infer "
                           "shapes first" + (f", and give sizes of {symbols}." if symbols else "."))
    _add_times(table, [name for name, _, _ in graph.nodes], places, assumed)
    return table.checked(graph.name)


def _add_sizes(table: Table, graph: _Graph, places: List[int]) -> Dict[str, int]:
    """Adds memory and cuts; the result is the unit that makes each value, -1 for inputs."""
    users: Dict[str, List[int]] = {}
    made = dict.fromkeys(graph.inputs, -1)
    units = table.units
    live = [0] * len(units)
    for (_, inputs, outputs), place in zip(graph.nodes, places):
        for name in filter(None, inputs):
            users.setdefault(name, []).append(place)
        made.update(dict.fromkeys(outputs, place))
        live[place] = max(live[place], sum(graph.values.get(name, 0) for name in
                                           {*inputs, *outputs} - graph.weights.keys()))
    for name, size in graph.weights.items():
        own = sorted(set(users.get(name, [0])))
        for place in own:
            units[place].weight_bytes += size
        if len(own) == 1:
            units[own[0]].memory += size
        elif size:
            table.shared.append(([units[place].name for place in own], size))
    for unit, size in zip(units, live):
        unit.memory += size
    for name, first in made.items():
        size = graph.values.get(name, 0)
        last = len(units) - 1 if name in graph.outputs else max(users.get(name, [first]))
        if last > first and size:  # sums follow
            units[max(first, 0)].cut += size
            units[last].cut -= size
    for before, unit in zip(units, units[1:]):
        unit.cut += before.cut
    units[-1].cut = 0
    return made


def _runs(path: str) -> List[Dict[str, float]]:
    """The ms of each node in each run, from a profile that ONNX Runtime wrote
    (session options: enable_profiling). Nodes belong to the model_run around them."""
    profile, events = os.path.basename(path), read_json(path, MAX_PROFILE)
    if not isinstance(events, list) or not all(isinstance(it, dict) for it in events):
        raise InputError(f"{profile}: expected a list of events, which ONNX Runtime writes")
    found: List[Tuple[int, int, str]] = []
    for event in events:
        name, start, length = event.get("name"), event.get("ts"), event.get("dur")
        if name != "model_run" and (event.get("cat") != "Node" or not isinstance(name, str)
                                    or not name.endswith("_kernel_time")):
            continue
        if type(start) is not int or type(length) is not int or not 0 <= start < 1 << 60 or \
                not 0 <= length < 1 << 40:
            raise InputError(f"{profile}: {name!r:.100}: expected ts and dur in microseconds")
        found.append((start, length, name))
    spans = sorted((start, start + length) for start, length, name in found if name == "model_run")
    runs: List[Dict[str, float]] = [{} for _ in spans]
    for start, length, name in found:
        place = bisect.bisect_right(spans, (start, 1 << 61)) - 1
        if name != "model_run" and place >= 0 and start <= spans[place][1]:
            name = name[:-len("_kernel_time")]
            runs[place][name] = runs[place].get(name, 0) + length / 1e3
    runs = [run for run in runs if run]
    if not 1 <= len(runs) <= MAX_SAMPLES:
        raise InputError(f"{profile}: {len(runs)} times model_run with nodes; expected 1 to "
                         f"{MAX_SAMPLES}")
    return runs


def _add_times(table: Table, nodes: Sequence[str], places: Sequence[int], assumed: Assumed) -> None:
    """Sets the times of units, a sample for each run of the profile."""
    if assumed.profile is None:
        return
    unit_of: Dict[str, int] = {}
    for name, place in zip(nodes, places):
        if unit_of.setdefault(name, place) != place:
            raise InputError(f"two units have a node {name!r:.100}, so its time is of neither")
    runs = _runs(assumed.profile)
    totals = [[0.0] * len(runs) for _ in table.units]
    for i, run in enumerate(runs):
        for name, ms in run.items():
            if name not in unit_of:
                raise InputError(f"{os.path.basename(assumed.profile)}: {name!r:.100} is no node "
                                 "of the model; pass the optimised model that was profiled")
            totals[unit_of[name]][i] += ms
    table.time_unit = "ms"
    for unit, times in zip(table.units, totals):
        unit.sampled([(round(ms, 6), 0) for ms in times])
    table.notes.append(f"Times: a sample for each of {len(runs)} runs of the profile; a stage is "
                       "as slow as in its slowest one.")


STATISTICS = ["#name", "input_sizes", "initializers_sizes", "total_dynamic_sizes",
              "total_temp_allocations"]


def read_statistics(path: str, assumed: Assumed) -> Table:
    """The costs of nodes as ONNX Runtime measured them
    (session.collect_node_memory_stats_to_file)."""
    with Source(path) as source:
        if source.size > MAX_STATISTICS:
            raise source.refuse(f"{source.size} bytes; expected at most {MAX_STATISTICS}")
        data = source.take(source.size, "the table")
    try:
        columns, *rows = csv.reader(data.decode().splitlines(), strict=True)
    except (ValueError, csv.Error) as error:
        raise source.refuse(f"no table: {error}") from None
    if columns != STATISTICS:
        raise source.refuse(f"expected the columns {','.join(STATISTICS)}")
    for i, row in enumerate(rows, 2):
        if len(row) != len(STATISTICS) or not row[0] or \
                not all(re.fullmatch(r"[0-9]{1,15}", cell) for cell in row[1:]):
            raise source.refuse(f"line {i}: expected a name and four sizes in bytes")
    nodes = [row[0] for row in rows]
    table, places = group(nodes, assumed)
    temporary = [0] * len(table.units)
    for row, place in zip(rows, places):
        weights, dynamic, temp = map(int, row[2:])
        table.units[place].memory += weights + dynamic
        table.units[place].weight_bytes += weights
        temporary[place] = max(temporary[place], temp)
    for unit, size in zip(table.units, temporary):
        unit.memory += size
    table.notes = ["Measured by ONNX Runtime, largest of all runs. Memory: initialisers and "
                   "outputs of all nodes, and the largest temporary allocation.",
                   "The statistics have no bytes over cuts"
                   + (" and no times." if assumed.profile is None else ".")]
    _add_times(table, nodes, places, assumed)
    return table.checked(source.name)
