#!/usr/bin/env python3
"""The sections of popliner against a second implementation: docs/sections.md, made from profile.pop
and debug.cbor alone where the documents say how, and against the older tables of the command
otherwise. CSV is read by Python's csv, and has to say what TSV and JSON say; JSON has to be as
docs/sections.schema.json describes it.

    sections_test.py POPLINER MKPROFILE SCHEMA DIRECTORIES...

The quick run looks at some of the profiles only.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import codecs
import collections
import csv
import io
import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import memory_model
import pipeline_ipus_test
import profile_relations as relations

SECTIONS = ("summary", "tiles", "categories", "liveness", "variables", "operations", "programs",
            "layers", "pairs", "execution", "checks", "vertices", "exchanges", "advice",
            "diagnosis", "missing", "addresses")
EXCHANGES = {"DoExchange": "do_exchange", "GlobalExchange": "global_exchange",
             "StreamCopyMid": "stream_copy_mid"}
RULES = {"": "name", "deduced_from_input_names": "inputs",
         "deduced_from_variable_names": "variables",
         "deduced_from_following_operation": "following", "inputs_regex_layer_0": "first_layer",
         "tensor_filter": "tensor"}
ESTIMATES = (("DoExchange", "cycles_by_tile_ids", "do_exchange"),
             ("GlobalExchange", "estimated_cycles_by_tile_ids", "global_exchange"),
             ("CodeCopy", "cycles_by_tile_ids", "code_copy"),
             ("StreamCopyMid", "estimated_cycles_by_tile_ids", "stream_copy_mid"))
FIVE = ("vertex_code", "vertex_state", "exchange_code", "control_code", "variables")

# What is no UTF-8 is U+FFFD byte by byte, in all that is read here.
codecs.register_error("bytewise", lambda e: ("\ufffd" * (e.end - e.start), e.end))
connect = sqlite3.connect
csv.field_size_limit(1 << 24)


def connect_bytewise(*arguments, **options):
    sql = connect(*arguments, **options)
    sql.text_factory = lambda text: text.decode("utf-8", "bytewise")
    return sql


sqlite3.connect = connect_bytewise


# what does something else to a terminal than to be shown, but for white space
CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e"
                     "\u2066-\u2069]")


# ---- the second implementation ----

def most_of(numbers):
    """The first of the largest, and what it has; (None, 0) if there is nothing."""
    tile, most = max(enumerate(numbers), key=lambda pair: pair[1], default=(None, 0))
    return (tile, most) if most else (None, 0)


class Truth:
    """What a profile tells, each section as a list of rows {column: value}."""

    def __init__(self, place):
        self.place = place
        self.model = memory_model.Model(place)
        self.profile = relations.Profile(os.path.join(place, "profile.pop"))
        self.sql = self.profile.sql
        self.programs = self.model.programs
        self.list = self.model.operations.list
        self.chain = self.model.chain
        self.labels = self.model.labels
        self.target = dict(zip(
            ("architecture", "type_", "num_tiles", "tiles_per_ipu", "num_ipus",
             "ipus_per_replica", "num_replicas", "bytes_per_tile", "clock_frequency"),
            self.profile.rows("target_info", "architecture", "type_", "num_tiles",
                              "tiles_per_ipu", "num_ipus", "ipus_per_replica", "num_replicas",
                              "bytes_per_tile", "clock_frequency")[0]))
        self.num_tiles = self.profile.num_tiles
        self.account = {name: column or [0] * self.num_tiles
                        for name, column in self.profile.account().items()}
        self.live = [a + b for a, b in zip(self.account["always_live_bytes"],
                                           self.account["not_always_live_max_bytes"])]
        self.first_step = {}
        self.num_visits = collections.Counter(self.programs.step_program)
        for step, program in enumerate(self.programs.step_program):
            self.first_step.setdefault(program, step)
        self.owner = {}  # program: the first operation that has it
        for number, operation in enumerate(self.list):
            for program in operation.programs:
                self.owner.setdefault(program, number)
        self.read_executed()
        self.read_cycles()

    def place_of(self, ids):
        return {number: place for place, number in enumerate(sorted(ids))}

    def unit_of(self, program):
        owner = self.owner.get(program)
        return None if owner is None else self.labels[self.chain.unit_of[self.list[owner]]]

    # ---- cycles ----

    def read_executed(self):
        """(program or None, [rows of the IPUs], type) of each step"""
        by_step = {}
        for step, ipu, *values in self.profile.rows(
                "steps_by_ipu", "step_id", "ipu", "cycles", "cycles_base",
                "active_cycles_from_min", "active_cycles_to_max", "active_tiles", "tile_balance"):
            by_step.setdefault(step, []).append((ipu, *values))
        self.executed = [(program, by_step.get(step, []), kind)
                         for step, program, kind in sorted(self.profile.rows(
                             "steps", "id", "program", "type"), key=lambda row: row[0])]

    def read_cycles(self):
        """Of one execution of each program, on the slowest tile."""
        slowest = {number: max(relations.runs(blob), default=0) for number, blob in
                   self.profile.rows("compilation_cycles_by_tile", "id", "cycles_by_tile_rle")}
        of_set = {}
        for number, blob in self.profile.rows("compute_sets", "compute_set",
                                              "cycles_by_tile_ids"):
            of_set[number] = [slowest[i] for i in relations.varints(blob) if i in slowest]
        estimates = {program: max(of_set[number])
                     for program, number in self.programs.compute_set.items()
                     if of_set.get(number)}
        computing = bool(estimates)
        for kind, column, table in ESTIMATES:
            rows = {row: relations.varints(blob)
                    for row, blob in self.profile.rows(f"program_type_{table}", "id", column)}
            for program, row in self.programs.row.items():
                known = [slowest[i] for i in rows.get(row, ()) if i in slowest]
                if self.programs.type[program] == kind and known:
                    estimates[program] = max(known)
        measured = {}
        for program, ipus, _ in self.executed:
            if program is not None and ipus:
                measured.setdefault(program, []).append(max(row[1] for row in ipus))
        self.cycles = {program: (2 * sum(values) + len(values)) // (2 * len(values))
                       for program, values in measured.items()} if measured else estimates
        self.source = ("measured" if measured else "estimated" if computing else
                       "exchanges" if estimates else "none")

    # ---- the sections ----

    def summary(self):
        sql, p, t = self.sql, self.profile, self.target
        string, package = (p.rows("poplar_version", "string", "package_hash") or [(None, None)])[0]
        rows = [("version", "poplar", string), ("version", "poplar_package_hash", package),
                ("version", "profile_format", ".".join(map(str, next(sql.execute(
                    "SELECT major, minor, point FROM version_info")))))]
        rows += [("device", name, t[column]) for name, column in (
            ("architecture", "architecture"), ("target_type", "type_"), ("num_tiles", "num_tiles"),
            ("tiles_per_ipu", "tiles_per_ipu"), ("num_ipus", "num_ipus"),
            ("ipus_per_replica", "ipus_per_replica"), ("num_replicas", "num_replicas"),
            ("bytes_per_tile", "bytes_per_tile"), ("clock_hz", "clock_frequency"))]
        instances = sum(sum(by_tile) for by_tile in p.instances.values())
        rows += [("count", name, number) for name, number in (
            ("programs", len(self.programs.type)), ("liveness_steps", p.num_steps),
            ("compute_sets", len(p.rows("compute_sets", "compute_set"))),
            ("vertices", instances),
            ("edges", sum(n or 0 for n, in p.rows("compute_sets", "edge_count"))),
            ("vertex_types", len(p.rows("vertex_types", "id"))),
            ("lowered_variables", p.num_variables),
            ("unlowered_variables", len(p.rows("unlowered_vars", "id"))),
            ("equivalence_classes", len(p.always)), ("categories", len(p.categories)),
            ("runs", len(p.rows("runs", "id"))), ("execution_steps", len(self.executed)))]
        largest, most = most_of(self.live)
        rows += [("memory", name, number) for name, number in (
            ("total_bytes", sum(self.account["total"])),
            ("always_live_bytes", sum(self.account["always_live_bytes"])),
            ("largest_tile", largest or 0), ("largest_tile_live_bytes", most),
            ("layout_gap_bytes", max(max(0, end - live) for end, live in zip(
                self.account["total_including_gaps"], self.live))))]
        rows = [(*row, None) for row in rows + [("cycles", "source", self.source)]]
        rows += [("engine_option", name, value, bool(is_default)) for name, value, is_default in
                 p.rows("compilation_parameters", "name", "value", "is_default")]
        return [dict(zip(("group", "name", "value", "is_default"), row)) for row in rows]

    def tiles(self):
        present = {category for variables in self.profile.variables for *_, category in variables}
        used = [name for name in self.profile.categories.values() if name in present]
        rows = []
        for tile in range(self.num_tiles):
            row = {"tile": tile, "ipu": tile // self.target["tiles_per_ipu"],
                   "live_bytes": self.live[tile],
                   "always_live_bytes": self.account["always_live_bytes"][tile],
                   "not_always_live_peak_bytes": self.account["not_always_live_max_bytes"][tile],
                   "total_bytes": self.account["total"][tile],
                   "total_including_gaps_bytes": self.account["total_including_gaps"][tile]}
            row.update((f"category_{name}_bytes", self.profile.by_category[tile][name])
                       for name in used)
            rows.append(row)
        return rows

    def categories(self):
        p = self.profile
        always = collections.Counter()
        for variables in p.variables:
            for size, _, number, category in variables:
                always[category] += size if p.always[number] else 0
        told = {name: [sum(relations.varints(blob)) for blob in blobs]
                for name, *blobs in p.rows("memory_by_category", "category_id", *(
                    f"{kind}_{what}" for kind in relations.KINDS
                    for what in ("non_overlapped", "overlapped")))}
        rows = []
        for name in p.categories.values():
            by_tile = [sums[name] for sums in p.by_category]
            largest, most = most_of(by_tile)
            six = told.get(name, [0] * 6)
            rows.append({"category": name, "variables_bytes": sum(by_tile),
                         "always_live_bytes": always[name], "largest_tile": largest,
                         "largest_tile_bytes": most, "counted_bytes": sum(six),
                         "overlapped_bytes": sum(six[1::2]), "interleaved_bytes": sum(six[2:4]),
                         "overflowed_bytes": sum(six[4:6])})
        return rows

    def liveness(self):
        p = self.profile
        curve = p.curve([v for variables in p.variables for v in variables])
        always = sum(self.account["always_live_bytes"])
        largest = most_of(self.live)[0] or 0
        of_tile = p.curve(p.variables[largest])
        place = {operation: i for i, operation in enumerate(self.list)}
        latest, rows = 0 if self.list else None, []  # the first one counts from the beginning
        for step, program in enumerate(self.programs.step_program):
            operation = self.model.operations.step_operation[step]
            latest = latest if operation is None else place[operation]
            rows.append({"step": step, "parent_step": self.programs.step_parent[step],
                         "program": self.program_place()[program],
                         "type": self.programs.type[program],
                         "name": self.programs.name[program], "operation": latest,
                         "unit": self.labels[self.chain.step_unit[step]],
                         "not_always_live_bytes": curve[step],
                         "live_bytes": curve[step] + always, "largest_tile": largest,
                         "largest_tile_live_bytes":
                             self.account["always_live_bytes"][largest] + of_tile[step]})
        return rows

    def program_place(self):
        if not hasattr(self, "program_places"):
            self.program_places = self.place_of(self.programs.type)
        return self.program_places

    def variables(self):
        p = self.profile
        names = dict(p.rows("unlowered_vars", "id", "name"))
        places = self.place_of(names)
        contexts = {number: relations.varints(blob)[:1]
                    for number, blob in p.rows("debug_ids", "variable_id", "ids")}
        order = {name: i for i, name in enumerate(p.categories.values())}
        touch = {}
        for unit, own in enumerate(self.model.unit_programs):
            for program in own:
                for var in self.programs.touched.get(program, ()):
                    touch[var] = touch.get(var, 0) | 1 << unit
        groups = {}
        for var, tile, size, number, category, unlowered, bits in p.rows(
                "vars_info", "var_id", "tile", "size_bytes", "equivalence_class", "category",
                "unlowered_var_id", "bitset"):
            if (bits is None or bits & 1) and size:
                key = (places.get(unlowered, len(places)), order[p.categories[category]])
                groups.setdefault(key, (unlowered, p.categories[category], []))[2].append(
                    (var, tile, size, number))
        rows = []
        for (place, _), (unlowered, category, pieces) in sorted(groups.items()):
            by_tile = [0] * self.num_tiles
            steps, mask = set(), 0
            for var, tile, size, number in pieces:
                by_tile[tile] += size
                mask |= touch.get(var, 0)
                if not p.always[number]:
                    steps |= p.live.get(number, set())
            largest, most = most_of(by_tile)
            is_known = unlowered in places
            rows.append({"variable": place if is_known else None,
                         "name": names[unlowered] or None if is_known else None,
                         "category": category, "size_bytes": sum(by_tile),
                         "num_pieces": len(pieces),
                         "num_tiles": len({tile for _, tile, _, _ in pieces}),
                         "largest_tile": largest, "largest_tile_bytes": most,
                         "always_live": all(p.always[number] for *_, number in pieces),
                         "first_step": min(steps, default=None),
                         "last_step": max(steps, default=None),
                         "units": " ".join(label for u, label in enumerate(self.labels)
                                           if mask >> u & 1),
                         "debug_context": self.context((contexts.get(unlowered) or [0])[0])
                         if is_known else None})
        return rows

    @staticmethod
    def context(number):
        return str(number) if number else None

    def path(self, number):
        names, seen = [], set()
        contexts = self.model.operations.contexts
        while number in contexts and number not in seen:
            seen.add(number)
            names.append(contexts[number]["name"])
            number = contexts[number].get("parentId")
        return "/".join(name for name in reversed(names) if name) if names else None

    def operations(self):
        rows = []
        for number, operation in enumerate(self.list):
            rows.append({"operation": number, "name": operation.name,
                         "layer": operation.layer, "rule": RULES.get(operation.note, "none"),
                         "unit": self.labels[self.chain.unit_of[operation]],
                         "cycles": sum(self.cycles.get(program, 0)
                                       for program in operation.programs)
                         if self.source != "none" else None,
                         "num_programs": len(operation.programs),
                         "first_step": operation.first_step, "last_step": operation.last_step,
                         "inputs": operation.inputs,
                         "debug_context": self.context(operation.context),
                         "debug_path": self.path(operation.context)})
        return rows

    def program_rows(self):
        p = self.profile
        parents = {}
        for program in sorted(self.programs.type):
            for child in self.programs.children[program]:
                parents.setdefault(child, program)
        code = {program: sum(relations.runs(blob)) for program, blob in self.programs.joined(
            self.sql, "DoExchange", "SELECT id, code_bytes_by_tile_rle FROM "
            "program_type_do_exchange")}
        repeats = dict(self.programs.joined(
            self.sql, "Repeat", "SELECT id, repeat_count FROM program_type_repeat"))
        vertices = collections.Counter()
        for (number, _), by_tile in p.instances.items():
            vertices[number] += sum(by_tile)
        place = self.program_place()
        set_place = self.place_of(n for n, in p.rows("compute_sets", "compute_set"))
        rows = []
        for program in sorted(self.programs.type):
            number = self.programs.compute_set.get(program)
            cycles = self.cycles.get(program)
            rows.append({
                "program": place[program],
                "parent": place.get(parents.get(program)),
                "type": self.programs.type[program],
                "name": self.programs.name[program],
                "num_children": len(self.programs.children[program]),
                "called": place.get(self.programs.body.get(program)),
                "compute_set": set_place.get(number),
                "num_repeats": repeats.get(program, 1)
                if self.programs.type[program] != "RepeatWhile" else None,
                "cycles": cycles,
                "cycles_source": None if cycles is None else
                "measured" if self.source == "measured" else "estimated",
                "control_code_bytes": sum(relations.runs(self.programs.control_code[program])),
                "exchange_code_bytes": code.get(program, 0),
                "num_vertices": None if number is None else vertices[number],
                "vertex_state_bytes": None if number is None else
                sum(self.model.set_state.get(number, ())),
                "first_step": self.first_step.get(program),
                "num_steps": self.num_visits[program],
                "operation": self.owner.get(program), "unit": self.unit_of(program),
                "debug_context": self.context(self.programs.debug_id[program])})
        return rows

    def layers(self):
        m = self.model
        repeats = dict(self.programs.joined(
            self.sql, "Repeat", "SELECT id, repeat_count FROM program_type_repeat"))
        times, cycles = [], collections.Counter()
        for step, program in enumerate(self.programs.step_program):
            parent = self.programs.step_parent[step]
            times.append(1 if parent is None else
                         times[parent] * (repeats.get(self.programs.step_program[parent], 1) or 1))
            if m.operations.step_operation[step] is not None and m.runs[step]:
                cycles[self.chain.step_unit[step]] += (
                    times[step] * self.cycles.get(program, 0))
        rows = []
        for unit, label in enumerate(self.labels):
            own = [o for o in self.list if self.chain.unit_of[o] == unit]
            needs = m.ipu([([unit], 0)], with_needs=False)
            row = {"index": unit, "unit": label,
                   "kind": label.lower() if label in ("Head", "Tail") else "layer",
                   "num_operations": len(own), "first_step": min(o.first_step for o in own),
                   "last_step": max(o.last_step for o in own),
                   "unexplained_bytes": needs["mem"]["unexplained"],
                   "total_bytes": needs["total_bytes"],
                   "parameter_bytes": needs["mem"]["parameters"],
                   "largest_tile": needs["tile"], "largest_tile_bytes": needs["tile_bytes"],
                   "cycles": cycles[unit] if self.source != "none" else None}
            row.update((f"{name}_bytes", needs["mem"][name]) for name in FIVE)
            rows.append(row)
        return rows

    def execution(self):
        runs = [(name, count) for _, name, count in sorted(
            self.profile.rows("runs", "id", "name", "num_steps"))]
        run_of = [number for number, (_, count) in enumerate(runs) for _ in range(count or 0)]
        rows = []
        for step, (program, ipus, kind) in enumerate(self.executed):
            run = run_of[step] if step < len(run_of) else None
            is_known = program in self.programs.type
            for ipu in sorted(ipus) or [(None,) * 7]:
                rows.append({
                    "execution_step": step, "run": run,
                    "run_name": None if run is None else runs[run][0] or None,
                    "program": self.program_place().get(program),
                    "type": self.programs.type[program] if is_known else kind,
                    "name": self.programs.name[program] if is_known else None,
                    "unit": self.unit_of(program),
                    **dict(zip(("ipu", "cycles", "first_cycle", "active_from_cycles",
                                "active_to_cycles", "active_tiles", "tile_balance"), ipu))})
        return rows

    def checks(self):
        return [{"relation": check["relation"], "checked": check["checked"],
                 "breached": check["breached"], "largest_difference": check["largest_bytes"],
                 "where": check["where"] or None}
                for check in relations.check(os.path.join(self.place, "profile.pop"))]

    # ---- code and state ----

    def vertices(self):
        p, worst = self.profile, most_of(self.live)[0] or 0
        types = p.rows("vertex_types", "id", "name", "size", order="id")
        code = {number: relations.varints(blob) for number, blob in p.rows(
            "memory_by_vertex_type", "vertex_type", "code_bytes")}
        rows = []
        for place, (number, name, size) in enumerate(types):
            sets = [by_tile for (_, own), by_tile in p.instances.items() if own == number]
            by_tile = [sum(counts) for counts in zip(*sets)] or [0] * self.num_tiles
            own = code.get(number) or [0] * self.num_tiles
            rows.append({"vertex_type": place, "name": name,
                         "num_compute_sets": sum(map(any, sets)),
                         "num_vertices": sum(by_tile), "num_tiles": sum(map(bool, by_tile)),
                         "instance_bytes": size, "state_bytes": size * sum(by_tile),
                         "code_bytes": sum(own), "worst_tile": worst,
                         "worst_tile_vertices": by_tile[worst],
                         "worst_tile_state_bytes": size * by_tile[worst],
                         "worst_tile_code_bytes": own[worst]})
        return rows

    def exchange_code(self):
        """By program: bytes by tile."""
        return {program: relations.runs(blob) or [0] * self.num_tiles
                for program, blob in self.programs.joined(
                    self.sql, "DoExchange", "SELECT id, code_bytes_by_tile_rle FROM "
                    "program_type_do_exchange")}

    def touched(self):
        """By program: the sizes of the variables of all its regions."""
        p = self.profile
        size = {var: bytes_ for var, bytes_, bits in p.rows(
            "vars_info", "var_id", "size_bytes", "bitset") if bits is None or bits & 1}
        regions = collections.Counter()
        for number, var in p.rows("exchange_regions", "id", "var_id"):
            regions[number] += size.get(var, 0)
        of_row = {kind: collections.Counter() for kind in EXCHANGES}
        for kind in ("DoExchange", "GlobalExchange"):
            for row, *sets in p.rows(f"program_type_{EXCHANGES[kind]}", "id",
                                     "source_regions_id", "destination_regions_id"):
                of_row[kind][row] += sum(regions[number] for number in sets)
        for table in ("host_exchange_from_host", "host_exchange_to_host"):
            for row, number in p.rows(table, "stream_copy_mid_id", "regions_id"):
                of_row["StreamCopyMid"][row] += regions[number]
        return {program: of_row[kind][self.programs.row.get(program)]
                for program, kind in self.programs.type.items() if kind in EXCHANGES}

    def exchanges(self):
        worst, code = most_of(self.live)[0] or 0, self.exchange_code()
        rows = []
        for program, touched in sorted(self.touched().items()):
            by_tile = code.get(program, [0] * self.num_tiles)
            largest, most = most_of(by_tile)
            rows.append({"program": self.program_place()[program],
                         "type": self.programs.type[program],
                         "name": self.programs.name[program] or "",
                         "operation": self.owner.get(program), "unit": self.unit_of(program),
                         "code_bytes": sum(by_tile), "num_tiles": sum(map(bool, by_tile)),
                         "largest_tile": largest, "largest_tile_bytes": most,
                         "worst_tile": worst, "worst_tile_bytes": by_tile[worst],
                         "touched_bytes": touched, "cycles": self.cycles.get(program),
                         "num_steps": self.num_visits[program]})
        return rows

    # ---- advice ----

    def advice(self):
        """The rules of docs/sections.md, in its order."""
        p, live, tiles = self.profile, self.live, range(self.num_tiles)
        worst, most = most_of(live)
        found = []

        def row(rule, subject, tile, own, of, count=None):
            found.append({"rule": rule, "subject": subject, "tile": tile, "bytes": own,
                          "of_bytes": of, "count": count})

        def several(rule, items):
            """Items: (bytes, subject, tile, of, count) as they are met."""
            for own, subject, *rest in sorted(items, key=lambda item: -item[0])[:5]:
                row(rule, subject, rest[0], own, *rest[1:])

        if most:
            self.advise_tiles(row, worst, most)
            self.advise_worst(row, several, worst, most)
        gaps = [max(0, end - used) for end, used in zip(
            self.account["total_including_gaps"], self.account["total"])]
        ends = self.account["total_including_gaps"]
        wide = [tile for tile in tiles if gaps[tile] and 20 * gaps[tile] >= ends[tile]]
        if most and wide:
            tile, gap = most_of(gaps)
            row("gaps", None, tile, gap, ends[tile], len(wide))
        return found

    def advise_tiles(self, row, worst, most):
        live, ends = self.live, self.account["total_including_gaps"]
        room = self.target["bytes_per_tile"]
        over = [tile for tile, end in enumerate(ends) if end > room]
        if over:
            tile, end = most_of(ends)
            row("over_memory", None, tile, end, room, len(over))
        mean = sum(live) / len(live)
        if 10 * most * len(live) >= 11 * sum(live):
            row("unbalanced", None, worst, most, sum(live) // len(live),
                sum(own > mean for own in live))
        if len(live) > 1:
            own, tile = max((own, -tile) for tile, own in enumerate(live) if tile != worst)
            row("next_tile", None, -tile, own, most,
                sum(100 * own >= 99 * most for own in live))

    def advise_worst(self, row, several, worst, most):
        p = self.profile
        curve = p.curve(p.variables[worst])
        peak = curve.index(max(curve)) if curve else None
        names = dict(p.rows("unlowered_vars", "id", "name"))
        at_peak, always, of_variable = (collections.Counter() for _ in range(3))
        tiles_of = collections.defaultdict(set)
        for tile, size, number, category, unlowered, bits in p.rows(
                "vars_info", "tile", "size_bytes", "equivalence_class", "category",
                "unlowered_var_id", "bitset"):
            if not (bits is None or bits & 1) or not size:
                continue
            tiles_of[unlowered].add(tile)
            if tile != worst or not (p.always[number] or peak in p.live.get(number, ())):
                continue
            name = p.categories[category]
            at_peak[name] += size
            always[name] += size if p.always[number] else 0
            of_variable[unlowered] += size
        held = self.account["always_live_bytes"][worst]
        if held * 2 >= most:
            row("always_live", max(p.categories.values(), key=lambda name: always[name])
                if any(always.values()) else None, worst, held, most)
        several("few_tiles", [
            (of_variable[number], names[number] or None, worst, most, len(tiles_of[number]))
            for number in sorted(names) if of_variable[number] and
            of_variable[number] * 100 >= most and 8 * len(tiles_of[number]) <= self.num_tiles])
        for rule, own in (("copies", ("message", "globalMessage", "rearrangement")),
                          ("exchange_code", ("internalExchangeCode", "globalExchangeCode",
                                             "hostExchangeCode"))):
            share = sum(at_peak[name] for name in own)
            if share * 10 >= most:
                row(rule, None, worst, share, most)
        code = {number: relations.varints(blob) for number, blob in p.rows(
            "memory_by_vertex_type", "vertex_type", "code_bytes")}
        several("vertex_code", [
            (code[number][worst], name, worst, most, sum(map(bool, code[number])))
            for number, name in p.rows("vertex_types", "id", "name", order="id")
            if code.get(number) and code[number][worst] and code[number][worst] * 20 >= most])

    def addresses(self):
        p = self.profile
        places = self.place_of(dict(p.rows("unlowered_vars", "id", "name")))
        tiles = {}
        for var, tile, *rest in p.rows(
                "vars_info", "var_id", "tile", "size_bytes", "alignment", "offset", "category",
                "equivalence_class", "unlowered_var_id", "bitset", order="var_id"):
            tiles.setdefault(tile, []).append((var, *rest))
        rows = []
        for tile, variables in sorted(tiles.items()):
            for place, (_, size, alignment, offset, category, number, unlowered,
                        bits) in enumerate(variables):
                if (bits is None or bits & 1) and size:
                    rows.append({"tile": tile, "place": place, "variable": places.get(unlowered),
                                 "category": p.categories[category], "size_bytes": size,
                                 "alignment": alignment, "always_live": bool(p.always[number]),
                                 "address": offset})
        return rows

    def rows(self, section):
        return self.program_rows() if section == "programs" else getattr(self, section)()


# ---- the schema ----

class Schema:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.root = json.load(file)

    def complaint(self, value, schema=None, path=""):
        """Why a value is not as the schema wants it; None if it is."""
        schema = self.root if schema is None else schema
        if schema is True:  # anything
            return None
        if "$ref" in schema:
            return self.complaint(value, self.root["$defs"][schema["$ref"].split("/")[-1]], path)
        if "anyOf" in schema:
            found = [self.complaint(value, choice, path) for choice in schema["anyOf"]]
            return None if None in found else max(found, key=len)
        kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
                 "null": type(None), "number": (int, float)}
        kind = schema.get("type")
        if kind and (not isinstance(value, kinds[kind]) or
                     isinstance(value, bool) != (kind == "boolean")):
            return f"{path}: {value!r} is no {kind}"
        if "enum" in schema and value not in schema["enum"]:
            return f"{path}: {value!r} is none of {schema['enum']}"
        if "minimum" in schema and value < schema["minimum"]:
            return f"{path}: {value} is too small"
        if kind == "array":
            found = (self.complaint(item, schema["items"], f"{path}/{i}")
                     for i, item in enumerate(value))
            return next((text for text in found if text), None)
        if kind == "object":
            properties = schema.get("properties", {})
            others = schema.get("additionalProperties", True)
            for name in schema.get("required", ()):
                if name not in value:
                    return f"{path}: there is no {name}"
            for name, item in value.items():
                if name not in properties and others is False:
                    return f"{path}/{name}: must not be there"
                text = self.complaint(item, properties.get(name, others), f"{path}/{name}")
                if text:
                    return text
        return None


# ---- the command ----

class Real(str):
    """A number of JSON that is not whole, as it is written."""


def shown(value):
    """A value of JSON as CSV and TSV have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Real):
        return str(value)
    return CONTROL.sub("\ufffd", str(value))


def unescaped(field):
    parts = field.split("\\\\")
    return "\\".join(part.replace("\\t", "\t").replace("\\n", "\n").replace("\\r", "\r")
                     for part in parts)


#: columns that the second implementation lacks: sums that `breakdowns` compares, and words
COMPARED_ELSEWHERE = {
    "operations": {"control_code_bytes", "exchange_code_bytes", "variables_bytes",
                   "vertex_code_bytes", "vertex_state_bytes"},
    "programs": {"missing_reason"}, "checks": {"untrusted"}, "advice": {"measured", "suggestion"}}


class Comparison:
    """Counts what was compared in a profile, and tells what differs."""

    def __init__(self, command, schema, where, *how):
        self.command = command
        self.schema = schema
        self.where = where
        self.how = how
        self.counts = collections.Counter()
        self.texts = {}  # by options: what was printed
        self.wrong = collections.Counter()
        self.problems = []

    def equal(self, what, where, theirs, own):
        self.counts[what] += 1
        self.wrong[what] += theirs != own
        if theirs != own and self.wrong[what] < 4:
            self.problems.append(f"{self.where} {' '.join(self.how)}: {where}: {what}: "
                                 f"{str(theirs)[:300]!r}, second opinion {str(own)[:300]!r}")

    def run(self, *options):
        """Bytes; a problem unless the status is 0, or 1: not what it should be."""
        if options in self.texts:
            return self.texts[options]
        done = subprocess.run([self.command, "-q", *self.how, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        if done.returncode not in (0, 1):
            self.problems.append(f"{self.where} {' '.join([*self.how, *options])}: status "
                                 f"{done.returncode}: {done.stderr.decode()}")
        self.texts[options] = done.stdout
        return done.stdout

    def section(self, section, *options):
        """The rows of a section by its JSON; the other formats must say the same."""
        def text(name):
            return self.run("--output", section, "--format", name, *options).decode("utf-8")

        where = " ".join((section, *options))
        document = text("json")
        complaint = self.schema.complaint(json.loads(document or "null"))
        if complaint:
            self.problems.append(f"{self.where}: {where}: {complaint}")
        document = json.loads(document or '{"rows": []}', parse_float=Real)
        rows = document["rows"]
        comma, tab = text("csv"), text("tsv")
        self.equal("line ends", where, comma.endswith("\r\n"), True)
        by_comma = list(csv.reader(io.StringIO(comma, newline=""), strict=True))
        by_tab = [[unescaped(field) for field in line.split("\t")]
                  for line in tab.split("\n")[:-1]]
        self.equal("widths", where, {len(row) for row in by_comma + by_tab},
                   {len(by_comma[0]) if by_comma else 0})
        self.equal("CSV as TSV", where, by_comma, by_tab)
        if rows:
            self.equal("columns", where, by_comma[0], list(rows[0]))
        self.equal("number of rows", where, len(by_comma) - 1, len(rows))
        self.equal("name", where, document.get("section"), section)
        for line, row in zip(by_comma[1:], rows):
            self.equal("CSV as JSON", where, line, [shown(value) for value in row.values()])
        return rows

    def compare(self, section, own, *options):
        return self.same(section, self.section(section, *options), own)

    def compare_json(self, section, own):
        """The same of one format."""
        return self.same(section, json.loads(
            self.run("--output", section, "--format", "json"), parse_float=Real)["rows"], own)

    def same(self, section, rows, own):
        self.equal("rows", section, len(rows), len(own))
        for number, (row, other) in enumerate(zip(rows, own)):
            if number == 0:
                elsewhere = COMPARED_ELSEWHERE.get(section, set())
                self.equal("columns", section, sorted(set(row) - elsewhere), sorted(other))
            for column, value in other.items():
                theirs = row.get(column, "no such column")
                if isinstance(value, float):
                    theirs, value = float(theirs), float("%.6g" % value)
                self.equal(f"{section}.{column}", f"row {number}", theirs, value)
        return rows

    # ---- against what the command printed before there were sections ----

    def table(self, *options):
        """The rows of a table of the original, as lists of fields; None where there is a second
        table behind an empty line."""
        text = self.run(*options, "--format", "tsv").decode("utf-8", "replace")
        return [line.split("\t") for line in text.split("\n") if line]

    def breakdowns(self, model):
        options = () if model == "full" else ("--memory-model", model)
        names = {"Vertex state": "vertex_state_bytes", "Vertex code": "vertex_code_bytes",
                 "Exchange code": "exchange_code_bytes", "Control code": "control_code_bytes",
                 "Variables": "variables_bytes", "Unexplained": "unexplained_bytes"}
        for section, action in (("operations", "--operation-breakdown"),
                                ("layers", "--layer-breakdown")):
            rows = self.section(section, *options)
            head, *table = self.table(action, "--memory-model", model)
            self.equal("rows of the old table", section, len(rows), len(table))
            for row, line in zip(rows, table):
                fields = dict(zip(head, line))
                for name, column in names.items():
                    if name in fields:
                        self.equal(f"old {section}", row, row[column], int(fields[name]))
                if section == "operations":
                    rule = fields["Note"]
                    if not (rule[:1].isdigit() and rule.endswith("_layers")):
                        self.equal("old rule", row, row["rule"], RULES[rule])
                    layer = fields["Layer"]
                    self.equal("old layer", row, row["layer"], None if layer == "None" else layer)
                    self.equal("old name", row, row["name"], fields["Full name"])
                    if "Unit" in fields:
                        self.equal("old unit", row, row["unit"], fields["Unit"])
                else:
                    self.equal("old unit", row, row["unit"], fields["Name"])

    def pairs(self):
        rows = self.section("pairs")
        found = {(row["layer"], row["other_layer"]): row for row in rows}
        self.equal("pairs", "twice", len(found), len(rows))
        for action, column in (("--memory-affinity", "affinity_bytes"),
                               ("--interlayer-communication", "communication_bytes")):
            table = self.table(action)
            labels = [field for field in table[0][1:] if field] if table else []
            self.equal("pairs", action, len(rows), len(labels) ** 2)
            for line in table[1:]:
                for label, field in zip(labels, line[1:]):
                    self.equal(column, f"{line[0]}, {label}", found[line[0], label][column],
                               int(field or 0))

    def diagnosis(self, *options):
        """The sections of a diagnosis: those of --diagnose; what operations and programs say; and
        that what is missing adds up."""
        told = json.loads(self.run("--diagnose", "--format", "json", *options))["sections"]
        rows, missing = self.section("diagnosis", *options), self.section("missing", *options)
        self.equal("--diagnose", options, [section["rows"] for section in told],
                   [rows, missing, self.section("checks", *options)])
        for row in missing:
            self.equal("missing bytes of the compiler", f"{options} {row['item']}", True,
                       row["compiler_bytes"] <= row["size_bytes"])
        for row in rows:
            if row["group"] == "category":
                self.equal("missing bytes", f"{options} {row['name']}",
                           row["value"] - row["explained"],
                           sum(it["size_bytes"] for it in missing if
                               it["place"] == "all" and it["category"] == row["name"]))
        reasons = {}
        for row in self.section("programs", *options):
            if row["missing_reason"] is not None:
                reasons[row["type"]] = reasons.get(row["type"], 0) + 1
        self.equal("missing programs", options,
                   {row["name"]: row["value"] - row["explained"] for row in rows
                    if row["group"] == "programs" and row["value"] > row["explained"]}, reasons)
        counted = [row for row in self.section("operations", *options) if row["rule"] != "tensor"]
        layered = [row for row in counted if row["layer"] is not None]
        self.equal("steps of the diagnosis", options,
                   [row["value"] for row in rows if row["name"] in ("first_step", "last_step")],
                   [(layered or counted)[0]["first_step"], counted[-1]["last_step"]]
                   if counted else [None, None])

    def plan(self, *options):
        """The plan against --solve and --evaluate as JSON."""
        text = self.run("--solve", *options, "--format", "json")
        if not text:  # there are no layers
            self.equal("no plan", options, self.run("--solve", *options, "--output", "plan"), b"")
            return
        answer = json.loads(text)
        rows = self.section("plan", "--solve", *options)
        stages = answer["stages"]
        self.equal("stages", options, len(rows), len(stages))
        split = []
        for number, (row, stage) in enumerate(zip(rows, stages)):
            units = (["Head"] * stage.get("head", 0) + stage["layers"] +
                     ["Tail"] * stage.get("tail", 0))
            if row["from"] == "None":  # it has no flag, as that of the full model has
                units.insert(0, "None")
            mem, peak = stage["mem"], stage["peak"]
            needs = stage["needs"] or {"expected_bytes": peak["bytes"], "verdict": None}
            need = needs[NEEDS[answer["options"].get("need", "expected")]]
            own = {"stage": number, "ipu": stage["ipu"], "from": units[0],
                   "to": units[-1], "memory": need,
                   "headroom_bytes": row["limit_bytes"] - need, "verdict": needs["verdict"],
                   "limit_bytes": answer["options"]["mem_per_tile"],
                   "largest_tile": peak["tile"], "largest_tile_bytes": peak["bytes"],
                   "peak_step": peak["step"], "at_least_bytes": needs.get("at_least_bytes"),
                   "at_most_bytes": needs.get("at_most_bytes"), "total_bytes": mem["total_mem"],
                   "stash_bytes": mem.get("stash", 0), "buffer_bytes": mem.get("buffers", 0),
                   "accumulator_bytes": mem.get("accumulators", 0),
                   "layout_bytes": mem.get("layout", 0),
                   "parameter_bytes": stage["parameter_bytes"], "cycles": stage.get("cycles"),
                   "cut": stage["cut_bytes"]}
            own.update((f"{name}_bytes", mem.get(name, 0)) for name in (*FIVE, "unexplained"))
            self.equal("columns of the plan", options, set(own), set(row))
            for column, value in own.items():
                self.equal(f"plan.{column}", f"{options} stage {number}", row.get(column), value)
            split.append(units[-1])
        if not stages:
            return
        cut = "|".join(split[:-1]) or "whole"
        how = [option for pair in zip(options[::2], options[1::2]) if pair[0] != "--num-ipus"
               for option in pair]
        told = json.loads(self.run("--evaluate", cut, *how, "--format", "json") or
                          '{"stages": []}')["stages"]
        again = self.section("plan", "--evaluate", cut, *how)
        self.equal("stages evaluated", cut, len(again), len(told))
        for row, other, stage in zip(again, rows, told):
            self.equal("evaluated", cut, row, other)
            self.equal("evaluate's", cut, (row["from"], row["to"], row["total_bytes"],
                                           row["largest_tile"], row["largest_tile_bytes"],
                                           row["peak_step"]),
                       (stage["unit_from"], stage["unit_to"], stage["mem"]["total_mem"],
                        stage["peak"]["tile"], stage["peak"]["bytes"], stage["peak"]["step"]))

    def outputs(self, sections):
        """All of them written by one run are what they are one by one."""
        with tempfile.TemporaryDirectory() as scratch:
            options, wanted = [], {}
            for section, kind in zip(sections, itertools.cycle(("csv", "tsv", "json"))):
                path = os.path.join(scratch, f"{section}.{kind}")
                options += ["--output", f"{section}={path}"]
                wanted[path] = self.run("--output", section, "--format", kind)
            self.equal("printed beside files", "--output", self.run(*options), b"")
            for path, text in wanted.items():
                with open(path, "rb") as file:
                    self.equal("files", os.path.basename(path), file.read(), text)
            self.equal("files", "in the folder", len(os.listdir(scratch)), len(wanted))


# ---- cases ----

def look(command, schema, place, solves, own_of=None, how=(), sections=SECTIONS):
    """Sections of the profile in a directory; its second implementation is that of `own_of`, which
    may be another file with the same numbers. Beside all sections, or if solved for: what is in
    other tables as well."""
    c = Comparison(command, Schema(schema), place, place, *how)
    truth = Truth(own_of or place)
    for section in sections:
        if section == "pairs":
            c.pairs()
            continue
        if section == "diagnosis":
            c.diagnosis()
            c.diagnosis("--memory-model", "popliner")
        if section in ("diagnosis", "missing"):
            continue
        own = truth.rows(section)
        if own_of and section in ("checks", "summary", "addresses"):
            c.section(section)  # of the whole file; the cut one has no order of its tiles
            continue
        if own_of and section == "tiles":
            own = [{**row, "ipu": int(how[1])} for row in own]
        rows = c.compare(section, own)
        if section == "tiles" and rows:
            c.equal("columns", section, list(rows[0]), list(own[0]))
    if len(sections) < len(SECTIONS) and not solves:
        return c.counts, c.problems
    c.breakdowns("full")
    c.breakdowns("popliner")
    others = ("liveness", "variables", "programs", "execution", "exchanges", "advice")
    for section in others if len(sections) == len(SECTIONS) else others[:2]:
        c.section(section, "--memory-model", "popliner")
    for options in solves:
        c.plan(*options)
    c.outputs(sections)
    return c.counts, c.problems


def make(tool, arguments, place):
    subprocess.run([tool, "--quiet", "--force", "--output", place, *arguments.split()], check=True)


def make_and_look(command, tool, schema, arguments, solves, sections):
    with tempfile.TemporaryDirectory() as place:
        make(tool, arguments, place)
        counts, problems = look(command, schema, place, solves, sections=sections)
        return counts, [text.replace(place, f"mkprofile {arguments}") for text in problems]


def one_ipu(command, tool, schema, arguments, ipu, sections):
    """--ipu against the file cut down to it."""
    with tempfile.TemporaryDirectory() as scratch:
        report, alone = os.path.join(scratch, "report"), os.path.join(scratch, "alone")
        make(tool, arguments, report)
        pipeline_ipus_test.pyut(report, alone, ipu)
        counts, problems = look(command, schema, report, (), alone, ("--ipu", str(ipu)), sections)
        return counts, [text.replace(scratch, f"mkprofile {arguments}") for text in problems]


HOSTILE = (',"\r\n\t;', "\\t \\\\ \\n", "\x1b[31mred\x07\x7f\x9b", "\u202eabc\u2066\u2028\u200f",
           "<script>&'\"</script>", b"\xff\xc3(\xe2\x82\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf",
           "x" * (1 << 20), "\U0001f600 =1+1", "'", '""', " ", "\r", "\n")


def hostile(command, schema, folder, sections):
    """Names of all kinds that no one would give."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(folder, name), os.path.join(place, name))
        with open(os.path.join(place, "debug.cbor"), "r+b") as file:
            data = file.read().replace(b"Layer1/FF/1/MatMul", b"Layer1/\"\r\n,\t\\n\x1b[\xff\xc3")
            file.seek(0)
            file.write(data)
        sql = connect(os.path.join(place, "profile.pop"))
        for table, column, key in (("compute_sets", "name", "compute_set"),
                                   ("unlowered_vars", "name", "id"), ("programs", "name", "id"),
                                   ("compilation_parameters", "value", "rowid"),
                                   ("vars_string_table", "string", "id")):
            keys = [number for number, in sql.execute(f"SELECT {key} FROM {table} ORDER BY 1")]
            for number, text in zip(keys[1:], HOSTILE):
                # as text, whatever the bytes are
                sql.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {key} = ?",
                            (text if isinstance(text, bytes) else text.encode(), number))
        sql.commit()
        sql.close()
        c = Comparison(command, Schema(schema), "hostile names", place)
        truth = Truth(place)
        for section in sections:
            if section == "pairs":
                c.section("pairs")
            elif section == "diagnosis":
                c.diagnosis()
            elif section != "missing":
                c.compare(section, truth.rows(section))
        return c.counts, [text.replace(place, "hostile names") for text in c.problems]


RULES_OF_ADVICE = {"over_memory", "unbalanced", "next_tile", "always_live", "few_tiles", "copies",
                   "exchange_code", "vertex_code", "gaps"}


def varint(number):
    """Section 5 of docs/profile-format.md: seven bits a byte, the last one marked."""
    parts = [number & 0x7F | 0x80]
    while number > 0x7F:
        number >>= 7
        parts.append(number & 0x7F)
    return bytes(reversed(parts))


def trouble(place, tile):
    """Changes a profile so that each rule of advice has something to tell of a tile."""
    sql = connect(os.path.join(place, "profile.pop"))
    room, tiles = next(sql.execute("SELECT bytes_per_tile, num_tiles FROM target_info"))
    sql.execute("UPDATE memory_by_tile SET not_always_live_max_bytes = not_always_live_max_bytes "
                "+ (always_live_bytes + not_always_live_max_bytes) / 5, "
                "total_including_gaps = ? WHERE tile = ?", (room + 1, tile))
    sql.execute("INSERT INTO unlowered_vars (id, name) SELECT max(id) + 1, 'Lonely' "
                "FROM unlowered_vars")
    sql.execute("UPDATE vars_info SET unlowered_var_id = (SELECT max(id) FROM unlowered_vars) "
                "WHERE var_id IN (SELECT v.var_id FROM vars_info v JOIN eq_classes e ON "
                "e.id = v.equivalence_class WHERE v.tile = ? AND e.is_always_live "
                "ORDER BY v.size_bytes DESC LIMIT 2)", (tile,))
    for name, part in (("message", 0), ("hostExchangeCode", 1)):
        sql.execute("UPDATE vars_info SET category = (SELECT id FROM var_categories WHERE "
                    "name = ?) WHERE tile = ? AND var_id % 3 = ?", (name, tile, part))
    same = {}
    for number, size, pieces in sql.execute(
            "SELECT unlowered_var_id, sum(size_bytes), count(*) FROM vars_info "
            "WHERE unlowered_var_id IS NOT NULL GROUP BY 1 ORDER BY 1").fetchall():
        same.setdefault(size, []).append(number)
    twins = max(same.items(), key=lambda item: item[0] if len(item[1]) > 2 else 0)[1]
    for place_, number in enumerate(twins):
        sql.execute("UPDATE unlowered_vars SET name = ? WHERE id = ?",
                    (f"Layer{place_}/Mask_{place_ * 7}", number))
        sql.execute("UPDATE vars_info SET category = (SELECT id FROM var_categories WHERE "
                    "name = 'constant') WHERE unlowered_var_id = ?", (number,))
    sql.execute("UPDATE memory_by_vertex_type SET code_bytes = ? WHERE vertex_type IN "
                "(SELECT vertex_type FROM memory_by_vertex_type ORDER BY 1 LIMIT 7)",
                (b"".join(map(varint, [9999 if own in (0, tile) else 0 for own in range(tiles)])),))
    sql.commit()
    sql.close()


def shuffle(place, seed):
    """Changes what advice is made of to numbers on all sides of what its rules ask for."""
    own = random.Random(seed)
    sql = connect(os.path.join(place, "profile.pop"))
    room, tiles = next(sql.execute("SELECT bytes_per_tile, num_tiles FROM target_info"))
    most = own.choice([20000, 40000, 100000])
    spread, share = own.choice([0.05, 0.15, 1]), own.choice([0.3, 0.5, 0.7])
    gap, is_full = own.choice([0.03, 0.06, 0.1]), own.random() < 0.3
    for tile in range(tiles):
        always = int(most * share * own.uniform(1 - spread, 1))
        rest = int(most * 0.5 * own.uniform(1 - spread, 1))
        end = room + own.randrange(-2, 3) if is_full else own.randrange(most, 2 * most)
        used = end - own.randrange(int(end * gap))
        sql.execute("UPDATE memory_by_tile SET always_live_bytes = ?, total = ?, "
                    "not_always_live_max_bytes = ?, total_including_gaps = ? WHERE tile = ?",
                    (always, used, rest, end, tile))
    last, = next(sql.execute("SELECT max(id) FROM unlowered_vars"))
    for place_ in range(1, tiles + 5):
        sql.execute("INSERT INTO unlowered_vars (id, name) VALUES (?, ?)",
                    (last + place_, f"{own.choice('AB')}{place_}"))
    categories = [number for number, in sql.execute(
        "SELECT id FROM var_categories WHERE name IN ('message', 'hostExchangeCode', "
        "'rearrangement', 'variable') ORDER BY id")]
    constant, = next(sql.execute("SELECT id FROM var_categories WHERE name = 'constant'"))
    part, is_lonely = own.choice([0.02, 0.1, 0.3]), own.random() < 0.5
    variables = sql.execute("SELECT var_id, tile FROM vars_info ORDER BY var_id").fetchall()
    for var, tile in variables:
        if own.random() < part:
            sql.execute("UPDATE vars_info SET category = ?, size_bytes = ?, unlowered_var_id = ? "
                        "WHERE var_id = ?",
                        (own.choice(categories), 4 * own.randrange(60),
                         last + 1 + (tile if is_lonely else own.randrange(tiles)), var))
    for place_ in range(tiles + 1, tiles + 5):  # constants, some of which are alike
        var, _ = own.choice(variables)
        sql.execute("UPDATE vars_info SET category = ?, size_bytes = ?, unlowered_var_id = ? "
                    "WHERE var_id = ?", (constant, own.choice([4, 8, 400]), last + place_, var))
    limit = most // own.choice([40, 12, 8])
    for number, in sql.execute("SELECT vertex_type FROM memory_by_vertex_type").fetchall():
        blob = b"".join(varint(own.randrange(limit)) for _ in range(tiles))
        sql.execute("UPDATE memory_by_vertex_type SET code_bytes = ? WHERE vertex_type = ?",
                    (blob, number))
    for number, in sql.execute("SELECT id FROM program_type_do_exchange").fetchall():
        if own.random() < part:
            sql.execute("UPDATE program_type_do_exchange SET code_bytes_by_tile_rle = ? "
                        "WHERE id = ?", (varint(2 * tiles) + varint(own.randrange(400)), number))
    sql.commit()
    sql.close()


def sharpen(place, seed):
    """Gives the fullest tile just as much as a rule allows, or a byte more."""
    times = {"few_tiles": 100, "copies": 10, "exchange_code": 10, "vertex_code": 20,
             "always_live": 2}
    truth = Truth(place)
    worst, _ = most_of(truth.live)
    found = {row["rule"]: row["bytes"] for row in truth.advice() if row["rule"] in times}
    found["always_live"] = truth.account["always_live_bytes"][worst]
    first = list(times)[seed % len(times)]
    rule = first if first in found else next(iter(found))
    live = times[rule] * found[rule] + seed // len(times) % 2
    sql = connect(os.path.join(place, "profile.pop"))
    for tile, own in enumerate(truth.live):
        always = found[rule] if rule == "always_live" else live // 3
        if tile == worst:
            sql.execute("UPDATE memory_by_tile SET always_live_bytes = ?, "
                        "not_always_live_max_bytes = ? WHERE tile = ?",
                        (always, live - always, tile))
        elif own >= live:
            sql.execute("UPDATE memory_by_tile SET always_live_bytes = ?, "
                        "not_always_live_max_bytes = 0 WHERE tile = ?", (live - tile - 1, tile))
    sql.commit()
    sql.close()


def shuffled(command, schema, folder, seed):
    """Rules of advice by chance."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(folder, name), os.path.join(place, name))
        shuffle(place, seed)
        c = Comparison(command, Schema(schema), f"shuffle {seed}", place)
        rows = c.compare_json("advice", Truth(place).advice())
        c.counts.update({f"shuffles with {rule}" for rule in {row["rule"] for row in rows}})
        sharpen(place, seed)
        c.texts.clear()
        c.compare_json("advice", Truth(place).advice())
        return c.counts, [text.replace(place, f"shuffle {seed}") for text in c.problems]


def advised(command, schema, folder):
    """Every rule of advice, each with the same figures; also of tiles that are alike."""
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(folder, name), os.path.join(place, name))
        trouble(place, 3)
        c = Comparison(command, Schema(schema), "trouble", place)
        truth = Truth(place)
        rows = c.compare("advice", truth.advice())
        c.equal("rules of advice", "trouble", {row["rule"] for row in rows}, RULES_OF_ADVICE)
        for section in ("vertices", "exchanges"):
            c.compare(section, truth.rows(section))
        return c.counts, [text.replace(place, "trouble") for text in c.problems]


NEEDS = {"at-most": "at_most_bytes", "expected": "expected_bytes", "at-least": "at_least_bytes"}
SOLVES = (("--num-ipus", "2"), ("--num-ipus", "3", "--need", "at-most"),
          ("--num-ipus", "3", "--schedule", "popart", "--recompute", "standard"),
          ("--num-ipus", "2", "--memory-model", "popliner"))
MADE = (("--framework popart --inference --layers 2 --tiles 4 --execution", SOLVES[:1]),
        ("--framework popart --training --layers 2 --tiles 4 --outline --accumulate", SOLVES),
        ("--framework poptorch --training --layers 3 --tiles 4 --execution --seed 3", SOLVES[:2]),
        ("--framework tensorflow --training --layers 4 --tiles 8 --seed 7", SOLVES[1:3]),
        ("--framework popart --training --layers 3 --tiles 6 --pipeline 0|1", ()))
PIPELINES = (("--framework popart --training --layers 2 --tiles 4 --pipeline 0", 1),
             ("--framework popart --training --layers 3 --tiles 6 --pipeline 0|1", 1),
             ("--framework tensorflow --inference --layers 3 --tiles 6 --pipeline 1", 0),
             ("--framework popart --training --layers 4 --tiles 6 --pipeline 1|2 --outline", 2))


def main():
    command, tool, schema, *folders = sys.argv[1:]
    every = cases.takes_all()
    for folder in list(folders):
        if not os.path.exists(os.path.join(folder, "profile.pop")):
            print(f"left out: {folder} has no profile.pop\n[  SKIPPED ] a_profile")
            folders.remove(folder)
    sample = folders[0]
    # the quick run has each section of the sample, or of one that is made
    parts = cases.chosen([SECTIONS[::3], SECTIONS[1::3], SECTIONS[2::3]],
                         [SECTIONS, SECTIONS[::2], SECTIONS[1::2]], [SECTIONS] * 3)
    # in the full run every sixth, the real one at the end among them
    folders = folders[:1] + cases.chosen([], folders[:0:-6], folders[1:])
    seeds = range(cases.chosen(6, 12, 40))
    tasks = [(look, command, schema, folder, SOLVES if every else SOLVES[2:3], None, (), parts[0])
             for folder in folders]
    tasks += [(make_and_look, command, tool, schema, framework, solves if every else (), parts[1])
              for framework, solves in cases.chosen(MADE[:1], MADE[1:3], MADE)]
    tasks += [(advised, command, schema, sample)]
    tasks += [(one_ipu, command, tool, schema, *kind, parts[2])
              for kind in cases.chosen(PIPELINES[:1], PIPELINES[3:], PIPELINES)]
    tasks += [(hostile, command, schema, sample, SECTIONS if every else SECTIONS[1::6])]
    tasks += [(shuffled, command, schema, sample, seed) for seed in seeds]
    counts, problems = collections.Counter(), []
    for found, wrong in cases.results(tasks, 3):
        counts += found
        problems += wrong
    # nearly all rules tell something of some shuffles, and not of others
    rules = sorted(rule for rule in RULES_OF_ADVICE - {"next_tile"}
                   if not 0 < counts[f"shuffles with {rule}"] < len(seeds))
    if not cases.is_enough(not rules):
        problems.append(f"in all shuffles or in none: {rules}")
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    print(f"{len(tasks)} profiles, {sum(counts.values())} comparisons, {len(problems)} problems")
    print(*problems[:100], sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
