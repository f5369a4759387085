"""Bytes of initialisers and activations from an ONNX model, and what ONNX Runtime measured.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import bisect
import csv
import math
import mmap
import os
import re
from collections import defaultdict
from typing import Any, DefaultDict, Dict, List, Optional, Sequence, Set, Tuple

from .._calling import clean
from .table import (MAX_PROFILE, MAX_SAMPLES, MAX_UNITS, Assumed, Source, Table, Unit, at_most,
                    ceil_div, expect, read_json, rows_of)

#: Units that are no layers, and their kinds.
ENDS = {"embedding": "embedding", "head": "loss"}

#: The fields of onnx.proto's messages that are read, by number, and what they hold: texts, numbers,
#: data, or messages.
FIELDS = {kind: {int(number): (name, holds) for number, name, holds in (
    word.split(":") for word in row)} for kind, row in rows_of("""
ModelProto 7:graph:GraphProto
GraphProto 1:node:NodeProto 5:initializer:TensorProto 11:input:ValueInfoProto
 12:output:ValueInfoProto 13:value_info:ValueInfoProto
NodeProto 1:input:text 2:output:text 3:name:text 4:op_type:text
TensorProto 1:dims:number 2:data_type:number 8:name:text 9:raw_data:data
 13:external_data:StringStringEntryProto 14:data_location:number
StringStringEntryProto 1:key:text 2:value:text|ValueInfoProto 1:name:text 2:type:TypeProto
TypeProto 1:tensor_type:Tensor|Tensor 1:elem_type:number 2:shape:TensorShapeProto
TensorShapeProto 1:dim:Dimension|Dimension 1:dim_value:number 2:dim_param:text
""").items()}

#: The bits of an element, by the number of TensorProto.DataType; strings have none.
BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
        14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8}
#: Protobuf allows no longer model; weights beyond this are external data.
MAX_MODEL = 1 << 31
#: The most fields of a model that are read, in about a second; DenseNet-121 has 21,493.
MAX_FIELDS = 1 << 19
MAX_STATISTICS = 1 << 26
MAX_DIMENSIONS = 64

#: The values of fields by their names.
Message = DefaultDict[str, List[Any]]


class _Reader:
    """What reads messages of protobuf."""

    def __init__(self, source: Source) -> None:
        self.source, self.num_fields = source, 0

    def varint(self, data: memoryview, at: int) -> Tuple[int, int]:
        result = shift = 0
        while at < len(data) and shift < 64:
            byte = data[at]
            at += 1
            result |= (byte & 127) << shift
            if byte < 128:
                return result & (1 << 64) - 1, at
            shift += 7
        raise self.source.refuse("no ONNX model, cut off or damaged: a number does not end")

    def message(self, data: memoryview, kind: str) -> Message:
        """The values of the fields that are read, by their names."""
        refuse, fields, at = self.source.refuse, FIELDS[kind], 0
        result: Message = defaultdict(list)
        while at < len(data):
            self.num_fields += 1
            if self.num_fields > MAX_FIELDS:
                raise refuse(f"the model has more than {MAX_FIELDS} fields")
            key, at = self.varint(data, at)
            name, holds = fields.get(key >> 3, ("", ""))
            wire, length = key & 7, {1: 8, 5: 4}.get(key & 7, 0)
            if wire not in (0, 1, 2, 5) or key >> 3 == 0 != wire:
                raise refuse(f"no ONNX model, or damaged: a field is of the unknown kind {wire}")
            if wire in (0, 2):
                length, at = self.varint(data, at)
            if wire and length > len(data) - at:
                raise refuse(f"a field has {length} bytes, and {len(data) - at} are left: the file "
                             "is cut off or damaged")
            if wire == 0 and holds not in ("", "number", "data"):
                raise refuse(f"no ONNX model, or damaged: a number is where a {holds} belongs")
            if wire == 0 and holds == "number":
                result[name].append(length)
            if wire and name:
                result[name] += self.values(data[at:at + length], holds)
            at += length if wire else 0
        return result

    def values(self, data: memoryview, holds: str) -> List[Any]:
        """What a field of so many bytes holds: several numbers, or one of all else."""
        if holds == "text":
            try:
                return [bytes(data).decode()]
            except UnicodeDecodeError:  # replaced characters would make names alike
                raise self.source.refuse("damaged: a text is not UTF-8") from None
        if holds != "number":
            return [data if holds == "data" else self.message(data, holds)]
        at, found = 0, []
        while at < len(data) and len(found) <= MAX_DIMENSIONS:
            number, at = self.varint(data, at)
            found.append(number)
        return found


def _last(message: Message, field: str, default: Any = "") -> Any:
    """The value of a field that may be there once: the last one, as protobuf reads it."""
    return (message[field] or [default])[-1]


class _Graph:
    """The graph of a model: its nodes, and the bytes of initialisers and of values."""

    def __init__(self, source: Source, model: memoryview, dims: Dict[str, int]) -> None:
        self.expect, self.dims = source.expect, dims
        self.unknown: Set[str] = set()  #: dimensions without a size
        graphs = _Reader(source).message(model, "ModelProto")["graph"]
        self.expect(len(graphs) == 1, f"no ONNX model: it has {len(graphs) or 'no'} graphs")
        graph = graphs[0]
        self.expect(graph["node"], "the graph has no nodes")
        self.nodes = [(  # without a name it has that of its first output
            _last(it, "name") or (it["output"] or [""])[0] or f"{_last(it, 'op_type')}_{i}",
            it["input"], it["output"]) for i, it in enumerate(graph["node"])]
        self.weights: Dict[str, int] = {}
        for name, size in map(self.initializer, graph["initializer"]):
            self.expect(name not in self.weights, f"the initialiser {name!r:.100} appears twice")
            self.weights[name] = size
        names = {part: {_last(it, "name") for it in graph[part]} for part in ("input", "output")}
        self.inputs, self.outputs = names["input"] - self.weights.keys(), names["output"]
        sizes = [(_last(it, "name"), self.value(it)) for part in ("input", "output", "value_info")
                 for it in graph[part]]
        self.values = {name: size for name, size in sizes if size is not None}

    def bytes_of(self, what: str, dims: Sequence[int], kind: int) -> int:
        self.expect(kind in BITS, f"{what!r:.100} has elements of the unknown type {kind}")
        self.expect(len(dims) <= MAX_DIMENSIONS, f"{what!r:.100} has {len(dims)} dimensions")
        elements = math.prod(dims)
        self.expect(elements < 1 << 63, f"{what!r:.100} has 2^63 elements or more")
        return ceil_div(elements * BITS[kind], 8)

    def initializer(self, tensor: Message) -> Tuple[str, int]:
        """The name and bytes of a tensor; its data has to be as long as its shape says."""
        name, kind = _last(tensor, "name"), _last(tensor, "data_type", 0)
        self.expect(kind != 8, f"the initialiser {name!r:.100} has texts, which have no fixed size")
        size = self.bytes_of(name, tensor["dims"], kind)
        pairs = {_last(it, "key"): _last(it, "value") for it in tensor["external_data"]}
        external = pairs.get("length", "") if _last(tensor, "data_location", 0) == 1 else ""
        raw = str(len(_last(tensor, "raw_data"))) if tensor["raw_data"] else ""
        for place, found in (("", raw), (" external", external)):
            self.expect(found in ("", str(size)), f"{name!r:.100} has {found:.40} bytes of{place} "
                        f"data, but its shape makes {size}")
        return name, size

    def value(self, info: Message) -> Optional[int]:
        """The bytes of a value; None if its shape is not known."""
        size = None
        for tensor in (it for kind in info["type"] for it in kind["tensor_type"]):
            kind, dims = _last(tensor, "elem_type", 0), [
                self.dimension(dim) for shape in tensor["shape"][-1:] for dim in shape["dim"]]
            is_known = tensor["shape"] and None not in dims and kind in BITS
            size = self.bytes_of("a value", dims, kind) if is_known else None
        return size

    def dimension(self, dim: Message) -> Optional[int]:
        """A number, or that of a name; None if it is not known."""
        symbol = _last(dim, "dim_param")
        size = _last(dim, "dim_value", self.dims.get(symbol, 1 << 63))
        is_known = size < 1 << 63
        self.unknown.update([symbol] if symbol and not is_known else [])
        return int(size) if is_known else None


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
        key = name if last is None else "head" if i > last else \
            match[1] or "" if match else (keys or ["embedding"])[-1]
        if last is None or keys[-1:] != [key] or i == last + 1:
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
        at_most(source.size, MAX_MODEL, source.name, "bytes")
        source.expect(source.size, "no ONNX model: it has no graph")
        data = memoryview(mmap.mmap(source.file.fileno(), 0, access=mmap.ACCESS_READ))
    graph = _Graph(source, data, assumed.dims)
    names = [name for name, _, _ in graph.nodes]
    table, places = group(names, assumed)
    at_most(len(table.units), MAX_UNITS, source.name, "units, which --group merges")
    without = len(_add_sizes(table, graph, places) - graph.values.keys())
    table.notes = ["Inference. Memory: initialisers, and the largest inputs and outputs of a node.",
                   "Cut: values that are made before and used after it, and inputs and outputs of "
                   "the model that it separates from their use, each once."]
    if without:
        symbols = ", ".join(sorted(graph.unknown))
        table.notes.append(f"{without} values have no known shape and count as 0 bytes: infer "
                           "shapes first" + (f", and give sizes of {symbols}." if symbols else "."))
    _add_times(table, names, places, assumed)
    return table.checked(source.name)


def _add_sizes(table: Table, graph: _Graph, places: List[int]) -> Set[str]:
    """Adds memory and cuts; the result is all values. Each has one maker, before all of its users
    (onnx: IR.md, "Graphs")."""
    users: Dict[str, List[int]] = {}
    made = dict.fromkeys(graph.inputs, -1)  # the units that make values
    later = {name for _, _, outputs in graph.nodes for name in outputs}
    units, live = table.units, [0] * len(table.units)
    for (_, inputs, outputs), place in zip(graph.nodes, places):
        inputs, outputs = [list(filter(None, it)) for it in (inputs, outputs)]
        for name in inputs:
            graph.expect(name not in later, f"{name!r:.100} is used before it is made")
            users.setdefault(name, []).append(place)
        for name in outputs:
            graph.expect(name not in made and name not in graph.weights,
                         f"{name!r:.100} is made twice")
            made[name] = place
        later.difference_update(outputs)
        live[place] = max(live[place], sum(graph.values.get(name, 0) for name in
                                           {*inputs, *outputs} - graph.weights.keys()))
    for name, size in graph.weights.items():
        own = [units[place] for place in sorted(set(users.get(name, [0])))]
        for unit in own:
            unit.weight_bytes += size
            unit.memory += size if len(own) == 1 else 0
        if size and len(own) > 1:
            table.shared.append(([unit.name for unit in own], size))
    for name, first in made.items():
        size = graph.values.get(name, 0)
        last = len(units) - 1 if name in graph.outputs else max(users.get(name, [first]))
        if last > first:  # sums follow
            units[max(first, 0)].cut += size
            units[last].cut -= size
    total = 0
    for unit, size in zip(units, live):
        unit.memory += size
        total += unit.cut
        unit.cut = total
    units[-1].cut = 0
    return set(made)


def _runs(path: str) -> List[Dict[str, float]]:
    """The ms of each node in each run, from a profile that ONNX Runtime wrote
    (session options: enable_profiling). Nodes belong to the model_run around them."""
    profile, events = os.path.basename(path), read_json(path, MAX_PROFILE)
    expect(isinstance(events, list) and all(isinstance(it, dict) for it in events),
           f"{profile}: expected a list of events, which ONNX Runtime writes")
    found: List[Tuple[int, int, str]] = []
    for event in events:
        name, start, length = event.get("name"), event.get("ts"), event.get("dur")
        if name == "model_run" or event.get("cat") == "Node" and str(name).endswith("_kernel_time"):
            expect(type(start) is int and 0 <= start < 1 << 60 and type(length) is int and
                   0 <= length < 1 << 40, f"{profile}: {name!r:.100}: expected ts and dur in "
                   "microseconds")
            found.append((start, length, name))
    spans = sorted((start, start + length) for start, length, name in found if name == "model_run")
    runs: List[Dict[str, float]] = [defaultdict(float) for _ in spans]
    for start, length, name in found:
        place = bisect.bisect_right(spans, (start, 1 << 61)) - 1
        if name != "model_run" and place >= 0 and start <= spans[place][1]:
            runs[place][name[:-len("_kernel_time")]] += length / 1e3
    runs = [run for run in runs if run]
    expect(1 <= len(runs) <= MAX_SAMPLES, f"{profile}: {len(runs)} times model_run with nodes; "
           f"expected 1 to {MAX_SAMPLES}")
    return runs


def _add_times(table: Table, nodes: Sequence[str], places: Sequence[int], assumed: Assumed) -> None:
    """Sets the times of units, a sample for each run of the profile."""
    if assumed.profile is None:
        return
    runs, unit_of = _runs(assumed.profile), dict(zip(nodes, places))
    for name, place in zip(nodes, places):
        expect(unit_of[name] == place,
               f"two units have a node {name!r:.100}, so its time is of neither")
    totals = [[0.0] * len(runs) for _ in table.units]
    for i, run in enumerate(runs):
        for name, ms in run.items():
            expect(name in unit_of, f"{os.path.basename(assumed.profile)}: {name!r:.100} is no "
                   "node of the model; pass the optimised model that was profiled")
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
        at_most(source.size, MAX_STATISTICS, source.name, "bytes")
        data = source.take(source.size, "the table")
    try:
        columns, *rows = csv.reader(data.decode().splitlines(), strict=True)
    except (ValueError, csv.Error) as error:
        raise source.refuse(f"no table: {error}") from None
    source.expect(columns == STATISTICS, f"expected the columns {','.join(STATISTICS)}")
    for i, row in enumerate(rows, 2):
        source.expect(len(row) == len(STATISTICS) and row[0] and all(
            re.fullmatch("[0-9]{1,15}", cell) for cell in row[1:]),
            f"line {i}: expected a name and four sizes in bytes")
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
