#!/usr/bin/env python3
"""The relations that tie the parts of a profile to each other, from the SQLite file alone: written
from docs/profile-format.md, sections 5 and 10 to 17, as a second opinion on what the library finds.

    profile_relations.py PROFILE      prints them as the "checks" of popliner --diagnose

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import sqlite3
import sys
from collections import Counter

KINDS = ("non_interleaved", "interleaved", "overflowed")
FIVE = ("vertex_data_bytes", "copy_ptr_bytes", "edge_ptr_bytes", "descriptor_bytes",
        "padding_bytes")


# ---- blobs (section 5) ----

def varints(blob):
    numbers = []
    number = 0
    for byte in blob or b"":
        number = number << 7 | byte & 0x7F
        if byte & 0x80:
            numbers.append(number)
            number = 0
    return numbers


def runs(blob):
    source = iter(varints(blob))
    numbers = []
    for header in source:
        if header & 1:
            numbers += [next(source) for _ in range(header >> 1)]
        else:
            numbers += [next(source)] * (header >> 1)
    return numbers


# ---- debug.cbor (section 17) ----

def cbor_item(data, at):
    """The item that begins at `at`, and where the next one does."""
    kind, argument = data[at] >> 5, data[at] & 31
    at += 1
    endless = argument == 31
    if 24 <= argument <= 27:
        width = 1 << (argument - 24)
        argument = int.from_bytes(data[at:at + width], "big")
        at += width
    if kind in (0, 1):
        return (argument if kind == 0 else -1 - argument), at
    if kind in (2, 3) and not endless:
        text = data[at:at + argument]
        return (text.decode("utf-8", "replace") if kind == 3 else text), at + argument
    if kind == 6:
        return cbor_item(data, at)
    if kind == 7:
        return {20: False, 21: True}.get(argument), at
    items = []
    left = argument * (2 if kind == 5 else 1)
    while data[at] != 0xFF if endless else len(items) < left:
        item, at = cbor_item(data, at)
        items.append(item)
    at += endless
    if kind in (2, 3):
        return items[0][:0].join(items) if items else "", at
    return (dict(zip(items[::2], items[1::2])) if kind == 5 else items), at


def read_contexts(path):
    """By id, each with its name as text; {} without the file."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        document, _ = cbor_item(file.read(), 0)
    texts = document["stringTable"]
    contexts = {}
    for context in document["contexts"]:
        context["name"] = texts[context["name"]]
        contexts[context["id"]] = context
    return contexts


# ---- the file ----

class Profile:
    """What the relations need of the file; a table or column that it lacks reads as nothing."""

    def __init__(self, path):
        self.sql = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.num_tiles, = next(self.sql.execute("SELECT num_tiles FROM target_info"))
        self.num_steps, = next(self.sql.execute("SELECT count(*) FROM depth_first_steps"))
        self.always = {number: bool(is_always)
                       for number, is_always in self.rows("eq_classes", "id", "is_always_live")}
        self.live = {}  # class: the steps at which it is live
        for number, first, end in self.rows("eq_class_step", "eq_class_id", "step_id_from",
                                            "step_id_to"):
            self.live.setdefault(number, set()).update(range(first, end))
        self.categories = dict(self.sql.execute(
            "SELECT id, name FROM var_categories ORDER BY id")) if self.columns(
                "var_categories") else {}
        self.has_offsets = "offset" in self.columns("vars_info")
        self.has_categories = "category" in self.columns("vars_info") and bool(self.categories)
        # by tile: (size, offset, class, category's name) of the allocated variables
        self.variables = [[] for _ in range(self.num_tiles)]
        self.num_variables = 0
        for tile, size, offset, number, category, bits in self.rows(
                "vars_info", "tile", "size_bytes", "offset", "equivalence_class", "category",
                "bitset"):
            self.num_variables += 1
            if (bits is None or bits & 1) and size > 0:
                self.variables[tile].append(
                    (size, offset or 0, number, self.categories.get(category, "")))
        self.instances = {}  # (compute set, vertex type): by tile
        for set_id, type_id, blob in self.rows("vertex_instances", "compute_set", "vertex_type",
                                               "instances_by_tile"):
            self.instances[set_id, type_id] = runs(blob) or [0] * self.num_tiles
        self.by_category = [Counter() for _ in range(self.num_tiles)]
        for tile, variables in enumerate(self.variables):
            for size, _, _, category in variables:
                self.by_category[tile][category] += size

    def columns(self, table):
        return [row[1] for row in self.sql.execute(f'PRAGMA table_info("{table}")')]

    def rows(self, table, *columns, order=None):
        there = self.columns(table)
        if not there:
            return []
        chosen = ", ".join(f'"{name}"' if name in there else "NULL" for name in columns)
        tail = f' ORDER BY "{order}"' if order else ""
        return list(self.sql.execute(f'SELECT {chosen} FROM "{table}"{tail}'))

    def account(self):
        """By column of memory_by_tile, None for one without a number: by tile, 0 for NULL."""
        names = ("total", "total_including_gaps", "always_live_bytes",
                 "not_always_live_max_bytes") + KINDS
        columns = {name: None for name in names}
        for tile, *values in self.rows("memory_by_tile", "tile", *names):
            for name, value in zip(names, values):
                if value is not None:
                    columns[name] = columns[name] or [0] * self.num_tiles
                    columns[name][tile] = value
        return columns

    def curve(self, variables):
        """Bytes at each step of those that are not always live (section 16)."""
        sizes = Counter()
        for size, _, number, _ in variables:
            if not self.always[number]:
                sizes[number] += size
        curve = [0] * self.num_steps
        for number, size in sizes.items():
            for step in self.live.get(number, ()):
                curve[step] += size
        return curve


class Check:
    """Of one relation: the places that were looked at, those that are off, the largest gap."""

    def __init__(self, relation):
        self.relation = relation
        self.checked = self.breached = self.largest = 0
        self.where = ""

    def place(self, name, *pairs):
        """(what is reported, what is found, what it is) in one place."""
        self.checked += 1
        self.breached += any(told != found for told, found, _ in pairs)
        for told, found, what in pairs:
            if told != found and (abs(told - found) > self.largest or not self.where):
                self.largest = abs(told - found)
                self.where = ", ".join(text for text in (name, what) if text)

    def as_json(self):
        return {"relation": self.relation, "checked": self.checked, "breached": self.breached,
                "largest_bytes": self.largest, "where": self.where}


# ---- addresses ----

def split(variables):
    """Covered bytes, and by category: bytes that a variable has alone, and with others."""
    changes = Counter()
    for size, offset, _, _ in variables:
        changes[offset] += 1
        changes[offset + size] -= 1
    covered = depth = last = bytes_below = 0
    shared = {}  # by address: bytes below it where several variables are
    for address in sorted(changes):
        covered += address - last if depth else 0
        bytes_below += address - last if depth > 1 else 0
        shared[address] = bytes_below
        depth += changes[address]
        last = address
    alone, common = Counter(), Counter()
    for size, offset, _, category in variables:
        bytes_shared = shared[offset + size] - shared[offset]
        alone[category] += size - bytes_shared
        common[category] += bytes_shared
    return covered, alone, common


# ---- the relations ----

def check_tiles(p, account):
    always, not_always = Check("always_live"), Check("not_always_live")
    layout, categories = Check("layout"), Check("categories")
    told = {}  # category: six numbers by tile
    for name, *blobs in p.rows("memory_by_category", "category_id",
                               *(f"{kind}_{what}" for kind in KINDS
                                 for what in ("non_overlapped", "overlapped"))):
        told[name] = [varints(blob) or [0] * p.num_tiles for blob in blobs]
    for tile, variables in enumerate(p.variables):
        place = f"tile {tile}"
        covered, alone, common = split(variables)
        if account["always_live_bytes"]:
            always.place(place, (account["always_live_bytes"][tile],
                                 sum(v[0] for v in variables if p.always[v[2]]), ""))
        if account["not_always_live_max_bytes"]:
            not_always.place(place, (account["not_always_live_max_bytes"][tile],
                                     max(p.curve(variables), default=0), ""))
        if account["total"]:
            total = account["total"][tile]
            pairs = []
            if p.has_offsets:
                pairs.append((total, covered, "total"))
                if account["total_including_gaps"]:
                    end = max((offset + size for size, offset, _, _ in variables), default=0)
                    pairs.append((account["total_including_gaps"][tile], end,
                                  "total_including_gaps"))
            others = [account[kind][tile] if account[kind] else 0 for kind in KINDS[1:]]
            if account[KINDS[0]] and others == [0, 0]:
                pairs.append((account[KINDS[0]][tile], total, KINDS[0]))
            layout.place(place, *pairs)
        if told and p.has_categories:
            pairs = []
            for name in p.categories.values():
                six = [part[tile] for part in told.get(name, [[0] * p.num_tiles] * 6)]
                if p.has_offsets:
                    pairs += [(sum(six[0::2]), alone[name], f"{name} non_overlapped"),
                              (sum(six[1::2]), common[name], f"{name} overlapped")]
                else:
                    pairs.append((sum(six), alone[name] + common[name], name))
            for i, kind in enumerate(KINDS):
                bytes_of_kind = sum(part[tile] for name in p.categories.values() if name in told
                                    for part in told[name][2 * i:2 * i + 2])
                if account[kind] and (account[kind][tile] == 0) != (bytes_of_kind == 0):
                    pairs.append((account[kind][tile], bytes_of_kind, kind))
            categories.place(place, *pairs)
    return [always, not_always, layout, categories]


def check_steps(p):
    check = Check("steps")
    changes = {True: None, False: None}
    for number, (ipu, step, delta) in enumerate(p.rows("memory_not_always_live_by_step_and_ipu",
                                                       "ipu", "step_id", "delta_bytes"), 1):
        is_all = ipu is None
        changes[is_all] = changes[is_all] or [0] * p.num_steps
        if 0 <= step < p.num_steps:
            changes[is_all][step] += delta
        else:
            check.place(f"row {number}", (delta, 0, "no such step"))
    if changes[True] or changes[False]:
        curve = p.curve([v for variables in p.variables for v in variables])
        sums = {True: 0, False: 0}
        for step in range(p.num_steps):
            pairs = []
            for is_all, what in ((True, ""), (False, "sum over IPUs")):
                if changes[is_all]:
                    sums[is_all] += changes[is_all][step]
                    pairs.append((sums[is_all], curve[step], what))
            check.place(f"step {step}", *pairs)
    return [check]


def check_counts(p):
    counts, totals = Check("vertex_counts"), Check("totals")
    if p.instances:
        for set_id, types, numbers in p.rows("compute_sets", "compute_set", "vertex_types",
                                             "vertex_counts", order="compute_set"):
            if types is None or numbers is None:
                continue
            told, found = Counter(), Counter()
            for type_id, number in zip(varints(types), varints(numbers)):
                told[type_id] += number
            for (other, type_id), by_tile in p.instances.items():
                if other == set_id:
                    found[type_id] += sum(by_tile)
            counts.place(f"compute set {set_id}",
                         *((told[i], found[i], "") for i in told.keys() | found.keys()))
    edges = [count for count, in p.rows("compute_sets", "edge_count")]
    found = {
        "num_vertices": sum(sum(by_tile) for by_tile in p.instances.values())
                        if p.columns("vertex_instances") else None,
        "num_edges": sum(count or 0 for count in edges)
                     if "edge_count" in p.columns("compute_sets") else None,
        "num_vars": p.num_variables,
        "num_compute_sets": len(edges),
    }
    for row in p.rows("graph_info", *found)[:1]:
        for name, told in zip(found, row):
            if told is not None and found[name] is not None:
                totals.place(name, (told, found[name], ""))
    return [counts, totals]


def check_vertices(p):
    def sums(table, names, decode):
        """By column, None for one without a blob: by tile, over the rows."""
        columns = {name: None for name in names}
        for blobs in p.rows(table, *names):
            for name, blob in zip(names, blobs):
                if blob is not None:
                    columns[name] = [a + b for a, b in zip(columns[name] or [0] * p.num_tiles,
                                                           decode(blob) or [0] * p.num_tiles)]
        return columns

    memory, state, code = Check("vertex_memory"), Check("vertex_state"), Check("vertex_code")
    types = sums("memory_by_vertex_type", FIVE + ("code_bytes",), varints)
    sets = sums("memory_by_compute_set", FIVE, runs)
    sizes = dict(p.sql.execute("SELECT id, size FROM vertex_types"))
    instance_bytes = [0] * p.num_tiles
    for (_, type_id), by_tile in p.instances.items():
        for tile, number in enumerate(by_tile):
            instance_bytes[tile] += number * sizes[type_id]
    both = [name for name in FIVE if types[name] and sets[name]]
    rest = []
    for tile in range(p.num_tiles):
        place = f"tile {tile}"
        own = p.by_category[tile]
        if both:
            memory.place(place, *((types[name][tile], sets[name][tile], name) for name in both))
        pairs = []
        if all(types[name] for name in FIVE[:3]):
            pairs.append((sum(types[name][tile] for name in FIVE[:3]),
                          own["vertexInstanceState"] + own["vertexFieldData"],
                          "data and pointers"))
        if types["descriptor_bytes"]:
            pairs.append((types["descriptor_bytes"][tile], own["copyDescriptor"],
                          "descriptor_bytes"))
        if p.instances:
            pairs.append((instance_bytes[tile], own["vertexInstanceState"], "sizes of vertices"))
        if pairs and p.has_categories:
            state.place(place, *pairs)
        if types["code_bytes"] and p.has_categories:
            rest.append(own["vertexCode"] - types["code_bytes"][tile])
    usual = min((number for number in rest if number >= 0),
                key=lambda number: (-rest.count(number), number), default=0)
    for tile, number in enumerate(rest):
        what = "more than vertexCode" if number < 0 else ""
        code.place(f"tile {tile}", (number, 0 if number < 0 else usual, what))
    return [memory, state, code]


def check_contexts(p, path):
    debug_info = Check("debug_info")
    contexts = read_contexts(path)
    executing = {number for number, name in p.rows("program_types", "id", "name")
                 if name == "OnTileExecute"}
    for number, (debug_id, variant) in enumerate(p.rows("programs", "debug_id", "variant",
                                                        order="rowid")):
        if contexts and debug_id:
            layer = contexts.get(debug_id, {"layer": "none"}).get("layer", "poplar")
            is_known = debug_id in contexts and (variant not in executing or layer == "poplar")
            debug_info.place(f"program {number}", (1, int(is_known), ""))
    return [debug_info]


# ---- programs, exchanges and compute sets ----

KNOWN_TYPES = {
    "Sequence", "OnTileExecute", "Repeat", "RepeatWhile", "OnEveryTileSwitch", "DoExchange",
    "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd", "WriteUndef", "SetLocalConsensusFromVar",
    "Sync", "Sans", "SyncAns", "Call", "GlobalExchange", "CodeCopy"}
NEVER_NAMED = {
    "stack", "vertexInstanceState", "vertexFieldData", "vertexCode", "controlCode",
    "internalExchangeCode", "hostExchangeCode", "globalExchangeCode", "hostExchangePacketHeader",
    "globalExchangePacketHeader"}
MOST_REGIONS = 1 << 13  # of a file with more of them not all are read by the library


class Uses:
    """What the lists of compute sets and exchanges name, and when."""

    def __init__(self, p, programs):
        self.live, self.always = p.live, p.always
        self.cells = {variable: (0, None, "") if bits is not None and not bits & 1 else
                      (size, number, p.categories.get(category, ""))
                      for variable, size, number, category, bits in p.rows(
                          "vars_info", "var_id", "size_bytes", "equivalence_class", "category",
                          "bitset")}
        self.step = {}  # program: the first
        for step, (_, program) in enumerate(p.rows("depth_first_steps", "id", "program_id",
                                                   order="id")):
            self.step.setdefault(programs.place[program], step)

    def pairs(self, variables, programs):
        """Of the list that these programs have."""
        steps = [self.step[program] for program in programs if program in self.step]
        pairs, classes = [], set()
        for size, number, category in (self.cells[variable] for variable in variables):
            if size and category in NEVER_NAMED:
                pairs.append((size, 0, f"names a variable of {category}"))
            if size and steps and number not in classes:
                classes.add(number)
                if not self.always[number] and min(steps) not in self.live.get(number, ()):
                    pairs.append((size, 0, "names a variable that does not live then"))
        return pairs + ([] if steps else [(1, 0, "no program runs it")])


class Programs:
    """The programs of the file in its order; what refers to one does so by its place."""

    def __init__(self, p):
        names = dict(p.rows("program_types", "id", "name"))
        rows = p.rows("programs", "id", "variant", "variant_index", "children",
                      "control_code_bytes_by_tile", order="rowid")
        self.place = {row[0]: place for place, row in enumerate(rows)}
        self.types = [names[row[1]] for row in rows]
        self.rows = {}  # (type, variant_index): programs
        for place, row in enumerate(rows):
            self.rows.setdefault((names[row[1]], row[2]), []).append(place)
        self.children = [[self.place[i] for i in varints(row[3])] for row in rows]
        self.code = [runs(row[4]) or [0] * p.num_tiles for row in rows]
        executed = dict(p.rows("program_type_on_tile_execute", "id", "compute_set"))
        functions = dict(p.rows("function_programs", "id", "program"))
        called = dict(p.rows("program_type_call", "id", "function_id"))
        self.compute_set = [executed[row[2]] if kind == "OnTileExecute" else None
                            for row, kind in zip(rows, self.types)]
        self.body = [self.place.get(functions.get(called.get(row[2]))) if kind == "Call" else None
                     for row, kind in zip(rows, self.types)]
        self.roots = [self.place.get(i) for _, i in p.rows("control_programs", "id", "program",
                                                           order="id")]
        self.bodies = {self.place.get(i) for i in functions.values()}


def check_order(p, programs):
    check = Check("step_order")
    knows_calls = p.columns("program_type_call") and p.columns("function_programs")
    if ("parent_step_id" not in p.columns("depth_first_steps") or
            "children" not in p.columns("programs") or
            "Call" in programs.types and not knows_calls):
        return check
    steps = [(programs.place[program], parent) for _, program, parent in p.rows(
        "depth_first_steps", "id", "program_id", "parent_step_id", order="id")]
    inside = {}  # step: what has to come inside it yet, the body of a function last
    path = []  # steps around the current one
    roots = list(programs.roots)
    is_right = True

    def close():
        step = path.pop()
        return len(inside.pop(step)) <= (programs.body[steps[step][0]] is not None)

    for step, (program, parent) in enumerate(steps):
        is_right = parent is None or parent in path
        if is_right:
            while path and path[-1] != parent:
                is_right = close() and is_right
            if parent is not None:
                is_right = inside[parent][:1] == [program] and is_right
                inside[parent] = inside[parent][1:]
            elif roots[:1] == [program]:
                roots.pop(0)
            else:
                is_right = is_right and (not programs.roots or program in programs.bodies)
            path.append(step)
            body = programs.body[program]
            inside[step] = programs.children[program] + ([] if body is None else [body])
        check.place(f"step {step}", (1, int(is_right), ""))
    is_whole = not roots
    while path:
        is_whole = close() and is_whole
    if not is_whole:
        check.breached += is_right
        check.largest = 1
        check.where = check.where or f"step {len(steps) - 1}, the last that there is"
    return check


def check_control_code(p, programs):
    check = Check("control_code")
    if "control_code_bytes_by_tile" not in p.columns("programs"):
        return check
    are_children, are_executed = set(), set()
    for program, own in enumerate(programs.code):
        pairs = []
        children = [0] * p.num_tiles
        for child in programs.children[program]:
            if child not in are_children:
                children = [a + b for a, b in zip(children, programs.code[child])]
            are_children.add(child)
        pairs += [(b, max(a, b), f"less than its children on tile {tile}")
                  for tile, (a, b) in enumerate(zip(children, own))]
        number = programs.compute_set[program]
        if number is not None and number not in are_executed:
            are_executed.add(number)
            for (set_id, _), by_tile in sorted(p.instances.items()):
                if set_id == number:
                    pairs += [(0, int(count > 0 and own[tile] == 0),
                               f"none for its vertices on tile {tile}")
                              for tile, count in enumerate(by_tile)]
        check.place(f"program {program}", *pairs)
    for tile in range(p.num_tiles):
        roots = sum(programs.code[root][tile] for root in programs.roots if root is not None)
        if p.has_categories:
            check.place(f"tile {tile}", (max(roots, p.by_category[tile]["controlCode"]),
                                         p.by_category[tile]["controlCode"],
                                         "more than controlCode"))
    return check


def read_regions(p):
    """By set of regions: (variable, bytes, largest end) of each."""
    regions = {}
    for target, variable, text in p.rows("exchange_regions", "id", "var_id", "regions"):
        ranges = [tuple(map(int, part.strip("[)").split(","))) for part in text.split("),[")]
        regions.setdefault(target, []).append(
            (variable, sum(end - first for first, end in ranges), max(end for _, end in ranges)))
    return {target: sorted(rows) for target, rows in regions.items()}


def check_exchanges(p, programs, uses):
    check, of_code = Check("exchanges"), Check("exchange_code")
    regions = read_regions(p)
    assert sum(map(len, regions.values())) <= MOST_REGIONS
    tiles = dict(p.rows("vars_info", "var_id", "tile"))
    seen = set()

    def pairs_of(targets, owners, told, what):
        targets = [target for target in targets if target in regions]
        is_seen = bool(seen & set(targets)) or len(set(targets)) < len(targets)
        seen.update(targets)
        found = [0] * p.num_tiles
        pairs = []
        if is_seen:
            return pairs
        for target in targets:
            pairs += uses.pairs([variable for variable, _, _ in regions[target]], owners)
            for variable, number, end in regions[target]:
                tile, size = tiles[variable], uses.cells[variable][0]
                what_else = f"regions beyond their variable on tile {tile}"
                pairs.append((max(end, size), size, what_else))
                found[tile] += number
        return pairs + [(a, b, f"{what} tile {tile}")
                        for tile, (a, b) in enumerate(zip(told, found))]

    total, count = [0] * p.num_tiles, [0] * p.num_tiles
    rows = p.rows("program_type_do_exchange", "id", "bytes_sent_by_tile_rle",
                  "bytes_received_by_tile_rle", "code_bytes_by_tile_rle", "source_regions_id",
                  "destination_regions_id", order="id")
    for number, *blobs, source, destination in rows:
        sent, received, code = ([0] * p.num_tiles if blob is None else runs(blob) for blob in blobs)
        pairs = []
        for tile, (a, b, c) in enumerate(zip(sent, received, code)):
            total[tile] += c
            count[tile] += c > 0
            if None not in blobs and (a + b > 0) != (c > 0):
                where = f"{'no' if a + b else 'only'} code on tile {tile}"
                pairs.append((c, -1 if c == 0 else 0, where))
        owners = programs.rows.get(("DoExchange", number), [])
        for blob, target, told, what in ((blobs[0], source, sent, "bytes sent by"),
                                         (blobs[1], destination, received, "bytes received by")):
            pairs += pairs_of([target], owners, told, what) if blob is not None else []
        check.place(f"exchange {number}", *pairs)
    for number, *blobs in p.rows("program_type_stream_copy_mid", "id", "bytes_sent_by_tile_rle",
                                 "bytes_received_by_tile_rle", order="id"):
        pairs = []
        for blob, table, what in ((blobs[0], "host_exchange_to_host", "bytes sent by"),
                                  (blobs[1], "host_exchange_from_host", "bytes received by")):
            targets = [target for owner, target in p.rows(table, "stream_copy_mid_id", "regions_id")
                       if owner == number]
            if blob is not None:
                pairs += pairs_of(targets, programs.rows.get(("StreamCopyMid", number), []),
                                  runs(blob), what)
        check.place(f"host copy {number}", *pairs)
    if any(row[3] is not None for row in rows) and p.has_categories:
        rest = [own["internalExchangeCode"] - code for own, code in zip(p.by_category, total)]
        shares = [number // times for number, times in zip(rest, count) if times and number >= 0]
        modes = [min(numbers, key=lambda one: (-numbers.count(one), one), default=0)
                 for numbers in ([number for number in rest if number >= 0], shares)]
        expected = max([modes[1] * times for times in count], [modes[0]] * p.num_tiles,
                       key=lambda e: sum(map(int.__eq__, e, rest)))
        for tile, number in enumerate(rest):
            what = "more than internalExchangeCode" if number < 0 else ""
            of_code.place(f"tile {tile}", (number, 0 if number < 0 else expected[tile], what))
    return [of_code, check]


def check_sets(p, programs, uses):
    check = Check("compute_sets")
    executed = {}
    for place, number in enumerate(programs.compute_set):
        executed.setdefault(number, []).append(place)
    for place, (number, blob) in enumerate(p.rows("compute_sets", "compute_set", "var_ids_diff_rle",
                                                  order="compute_set")):
        variables = itertools.accumulate(runs(blob))
        check.place(f"compute set {place}", *uses.pairs(variables, executed.get(number, [])))
    return check


def check_programs(p):
    programs = Programs(p)
    uses = Uses(p, programs)
    types = Check("program_types")
    for place, name in enumerate(programs.types):
        types.place(f"program {place}", (1, int(name in KNOWN_TYPES), name))
    return [check_order(p, programs), types, check_control_code(p, programs), 
            *check_exchanges(p, programs, uses), check_sets(p, programs, uses)]


def check(path):
    p = Profile(path)
    debug = os.path.join(os.path.dirname(path), "debug.cbor")
    return [c.as_json() for c in (check_tiles(p, p.account()) + check_steps(p) + check_counts(p) +
                                  check_vertices(p) + check_contexts(p, debug) +
                                  check_programs(p))]


if __name__ == "__main__":
    print(json.dumps(check(sys.argv[1]), indent=4))
