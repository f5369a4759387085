#!/usr/bin/env python3
"""Profiles against themselves: what popliner finds is what tests/profile_relations.py finds, clean
profiles are clean, each planted corruption is seen by the relation that ought to see it, and what
the format may say in other words has the same answers.

    profile_checks_test.py POPLINER MKPROFILE CLEAN_DIRECTORIES... -- CORRUPTED_DIRECTORIES...

The nightly run tries every way on half of the latter, the full run on one of them, in turn. The
quick run tries every twelfth way, stores a few of these and asks for them with --fail-on
contradiction, too, and looks at every fifth clean one only. MKPROFILE makes further clean ones, of
random styles: 2 in the quick run, 6 in the full, 30 in the nightly one.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import profile_relations as relations
from profile_blobs import as_list, as_runs


# ---- what is changed ----

class Damage:
    """A profile that is being corrupted."""

    def __init__(self, path):
        self.path = path
        self.sql = sqlite3.connect(path)
        self.num_tiles = self.one("SELECT num_tiles FROM target_info")
        self.num_steps = self.one("SELECT count(*) FROM depth_first_steps")

    def one(self, query, *values):
        return self.sql.execute(query, values).fetchone()[0]

    def do(self, query, *values):
        assert self.sql.execute(query, values).rowcount > 0, query

    def tile(self, change):
        """Of the account of a tile in the middle."""
        self.do(f"UPDATE memory_by_tile SET {change} WHERE tile = ?", self.num_tiles // 2)

    def variable(self, is_always_live, order="v.var_id"):
        """An allocated variable with bytes of such a class, that lives at some step."""
        return self.one(
            "SELECT v.var_id FROM vars_info v JOIN eq_classes e ON e.id = v.equivalence_class "
            "WHERE v.bitset & 1 AND v.size_bytes > 3 AND e.is_always_live = ? "
            "AND EXISTS (SELECT 1 FROM eq_class_step s WHERE s.eq_class_id = e.id "
            f"AND s.step_id_from < s.step_id_to) ORDER BY {order} LIMIT 1", is_always_live)

    def live_class(self):
        """The class with most variables among those that are not always live."""
        return self.one(
            "SELECT v.equivalence_class FROM vars_info v JOIN eq_classes e "
            "ON e.id = v.equivalence_class WHERE v.bitset & 1 AND NOT e.is_always_live "
            "GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1")

    def blobs(self, table, columns, change, decode=relations.varints, encode=as_list):
        """Changes the numbers of the first row for which that makes a difference."""
        names = ", ".join(columns)
        for number, *old in self.sql.execute(f"SELECT rowid, {names} FROM {table}").fetchall():
            numbers = [decode(blob) or [0] * self.num_tiles for blob in old]
            new = change(*[list(n) for n in numbers])
            if new is not None and list(new) != numbers:
                self.do(f"UPDATE {table} SET " + ", ".join(f"{name} = ?" for name in columns) +
                        " WHERE rowid = ?", *(encode(n) for n in new), number)
                return
        raise AssertionError(f"{table} has no such row")


def add_at(place, amount):
    def change(numbers):
        numbers[place] += amount
        return [numbers]
    return change


def move(first, second):
    """A byte from the one to the other, on the first tile that has one."""
    for tile, number in enumerate(first):
        if number > 0:
            first[tile] -= 1
            second[tile] += 1
            return first, second
    return None


def halve(numbers):
    return [[n // 2 for n in numbers[:len(numbers) // 2]] + numbers[len(numbers) // 2:]]


STEPS = "memory_not_always_live_by_step_and_ipu"
A_RANGE = "(SELECT rowid FROM eq_class_step WHERE eq_class_id = ? ORDER BY rowid LIMIT 1)"


def put_on_another(d):
    victim = d.variable(1)
    tile, size = d.sql.execute("SELECT tile, size_bytes FROM vars_info WHERE var_id = ?",
                               (victim,)).fetchone()
    d.do("UPDATE vars_info SET offset = (SELECT offset FROM vars_info o WHERE o.tile = ? AND "
         "o.bitset & 1 AND o.size_bytes >= ? AND o.var_id != ? ORDER BY o.size_bytes DESC LIMIT 1) "
         "WHERE var_id = ?", tile, min(size, 4), victim, victim)


def swap_ranges(d):
    """Between two classes of one range each that live at other steps."""
    always = dict(d.sql.execute("SELECT id, is_always_live FROM eq_classes"))
    sizes = dict(d.sql.execute("SELECT equivalence_class, sum(size_bytes) FROM vars_info "
                               "WHERE bitset & 1 GROUP BY 1"))
    ranges = [(rowid, number, begin, end) for rowid, number, begin, end in d.sql.execute(
        "SELECT rowid, eq_class_id, step_id_from, step_id_to FROM eq_class_step")
        if not always[number] and sizes.get(number)]
    one, number, *first = ranges[0]
    other, _, *second = next(r for r in ranges if r[2] >= first[1] and sizes[r[1]] != sizes[number])
    for row, (begin, end) in ((one, second), (other, first)):
        d.do("UPDATE eq_class_step SET step_id_from = ?, step_id_to = ? WHERE rowid = ?", begin,
             end, row)


def off_peak(d):
    """Takes half of a variable that does not live where the tile has most: relation 2 sees none."""
    p = relations.Profile(d.sql.execute("PRAGMA database_list").fetchone()[2])
    for tile in range(p.num_tiles):
        curve = p.curve(p.variables[tile])
        peaks = [step for step, number in enumerate(curve) if number == max(curve)]
        for var_id, size, number in d.sql.execute(
                "SELECT var_id, size_bytes, equivalence_class FROM vars_info WHERE tile = ? AND "
                "bitset & 1 AND size_bytes > 3", (tile,)):
            live = p.live.get(number, ())
            if not p.always[number] and live and not any(step in live for step in peaks):
                d.do("UPDATE vars_info SET size_bytes = ? WHERE var_id = ?", size // 2, var_id)
                return
    raise AssertionError("every variable lives at its tile's peak")


def sql(query, *values):
    return lambda d: d.do(query, *values)


def variable(is_always_live, change):
    return lambda d: d.do(f"UPDATE vars_info SET {change} WHERE var_id = ?",
                          d.variable(is_always_live))


def tile(change):
    return lambda d: d.tile(change)


def blobs(table, columns, change, decode=relations.varints, encode=as_list):
    return lambda d: d.blobs(table, columns, change, decode, encode)


TYPES = "memory_by_vertex_type"
SETS = "memory_by_compute_set"
RUNS = (relations.runs, as_runs)
PLAIN = ("non_interleaved_non_overlapped", "non_interleaved_overlapped")

EXCHANGE = "program_type_do_exchange"
CONTROL = "control_code_bytes_by_tile"
SILENT = frozenset()  # no relation has to see it: docs/diagnosis.md lists what it does to answers
MOST_SILENT = 6
SOME_CODE = frozenset({"exchange_code", "exchanges"})  # at least one of them sees it


def shift(table, column, numbers, key=None):
    """Each row gets what the next one has, by the order of what is there."""
    def change(d):
        if column in ("var_id", "id") or key:
            ids = [i for i, in d.sql.execute(f"SELECT DISTINCT {key or column} FROM {numbers} "
                                             "ORDER BY 1")]
            after = dict(zip(ids, ids[1:] + ids[:1]))
            rows = d.sql.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            assert rows
            d.sql.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                              [(-1 - after[number], row) for row, number in rows])
            d.do(f"UPDATE {table} SET {column} = -1 - {column}")
            return
        rows, values = zip(*d.sql.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid"))
        assert len(rows) > 1
        d.sql.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                          zip(values[1:] + values[:1], rows))
    return change


def every_blob(table, column, change, decode=relations.varints, encode=as_list):
    def changed(d):
        rows = d.sql.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        d.sql.executemany(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                          [(encode(change(decode(blob))), row) for row, blob in rows])
    return changed


def rotate_rows(kind):
    """Programs of a type refer to each other's rows of its table."""
    def change(d):
        rows, values = zip(*d.sql.execute(
            "SELECT p.rowid, variant_index FROM programs p JOIN program_types t ON t.id = variant "
            "WHERE t.name = ? ORDER BY p.rowid", (kind,)))
        assert len(rows) > 1
        d.sql.executemany("UPDATE programs SET variant_index = ? WHERE rowid = ?",
                          zip(values[1:] + values[:1], rows))
    return change


def rotate_contexts(d):
    """Among the programs that execute compute sets, whose contexts are all of one kind."""
    rows, values = zip(*d.sql.execute(
        "SELECT p.rowid, debug_id FROM programs p JOIN program_types t ON t.id = variant WHERE "
        "t.name = 'OnTileExecute' AND debug_id > 0 ORDER BY p.rowid"))
    d.sql.executemany("UPDATE programs SET debug_id = ? WHERE rowid = ?",
                      zip(values[9:] + values[:9], rows))


def exchange_host_tables(d):
    for one, other in (("from_host", "x"), ("to_host", "from_host"), ("x", "to_host")):
        d.sql.execute(f"ALTER TABLE host_exchange_{one} RENAME TO host_exchange_{other}")


def control_code_of_one(d):
    """All of it belongs to the first program."""
    d.do(f"UPDATE programs SET {CONTROL} = NULL WHERE id NOT IN (SELECT program FROM "
         "control_programs)")


# ---- debug.cbor, written again ----

def as_cbor(item):
    def head(kind, number):
        size = next(i for i, bits in enumerate((5, 8, 16, 32, 64))
                    if number < (24 if bits == 5 else 1 << bits))
        return (bytes([kind << 5 | number]) if size == 0 else
                bytes([kind << 5 | 23 + size]) + number.to_bytes(1 << size - 1, "big"))
    if isinstance(item, bool):
        return bytes([0xF5 if item else 0xF4])
    if item is None:
        return bytes([0xF6])
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, -1 - item)
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    if isinstance(item, list):
        return head(4, len(item)) + b"".join(map(as_cbor, item))
    return head(5, len(item)) + b"".join(as_cbor(part) for pair in item.items() for part in pair)


def debug_info(change):
    def changed(d):
        path = os.path.join(os.path.dirname(d.path), "debug.cbor")
        with open(path, "rb") as file:
            document, _ = relations.cbor_item(file.read(), 0)
        change(document["contexts"])
        with open(path, "wb") as file:
            file.write(as_cbor(document))
    return changed


def rotate(contexts, key):
    values = [context[key] for context in contexts]
    for context, value in zip(contexts, values[7:] + values[:7]):
        context[key] = value


def rotate_poplibs_parents(contexts):
    rotate([c for c in contexts if c["layer"] == "poplibs" and "parentId" in c], "parentId")


def rotate_operation_names(contexts):
    """Among those that have the same names for them."""
    for key in ("op_name", "opName"):
        rotate([c for c in contexts if isinstance(c.get(key), str)], key)


# name: how it is made, the relations that have to see it (others may, too); None: it is refused
CORRUPTIONS = {
    "always-live bytes of a tile": (
        tile("always_live_bytes = always_live_bytes + 8"), {"always_live"}),
    "always and not always shifted against each other": (
        tile("always_live_bytes = always_live_bytes + 4, "
             "not_always_live_max_bytes = not_always_live_max_bytes - 4"),
        {"always_live", "not_always_live"}),
    "peak of a tile": (
        tile("not_always_live_max_bytes = not_always_live_max_bytes - 1"), {"not_always_live"}),
    "peak of a tile is NULL": (tile("not_always_live_max_bytes = NULL"), {"not_always_live"}),
    "a tile is missing": (sql("DELETE FROM memory_by_tile WHERE tile = 1"),
                          {"always_live", "not_always_live", "layout", "categories"}),
    "total": (tile("total = total + 4"), {"layout"}),
    "total with gaps": (tile("total_including_gaps = total_including_gaps - 4"), {"layout"}),
    "non-interleaved": (tile("non_interleaved = non_interleaved - 1"), {"layout"}),
    "size of an always-live variable": (variable(1, "size_bytes = size_bytes + 4"),
                                        {"always_live", "categories"}),
    "size of a live variable": (variable(0, "size_bytes = size_bytes + 4"),
                                {"steps", "categories"}),
    "size of a variable off the peak": (off_peak, {"steps", "categories"}),
    "vertex code of a tile halved": (
        sql("UPDATE vars_info SET size_bytes = size_bytes / 2 WHERE tile = 2 AND category = "
            "(SELECT id FROM var_categories WHERE name = 'vertexCode')"),
        {"always_live", "layout", "categories", "vertex_code"}),
    "class of a variable becomes always live": (
        lambda d: d.do("UPDATE vars_info SET equivalence_class = (SELECT id FROM eq_classes WHERE "
                       "is_always_live LIMIT 1) WHERE var_id = ?", d.variable(0)),
        {"always_live", "steps"}),
    "class of a variable becomes another": (
        lambda d: d.do("UPDATE vars_info SET equivalence_class = ? WHERE var_id = ?",
                       d.live_class(), d.variable(0, "v.equivalence_class = "
                                                  f"{d.live_class()}, v.var_id")), {"steps"}),
    "a class is no longer always live": (
        lambda d: d.do("UPDATE eq_classes SET is_always_live = 0 WHERE id = (SELECT "
                       "equivalence_class FROM vars_info WHERE var_id = ?)", d.variable(1)),
        {"always_live", "not_always_live", "steps"}),
    "a class becomes always live": (
        lambda d: d.do("UPDATE eq_classes SET is_always_live = 1 WHERE id = ?", d.live_class()),
        {"always_live", "steps"}),
    "a range ends later": (
        lambda d: d.do(f"UPDATE eq_class_step SET step_id_to = step_id_to + 1 WHERE rowid = "
                       f"{A_RANGE}", d.live_class()), {"steps"}),
    "a range begins earlier": (
        lambda d: d.do(f"UPDATE eq_class_step SET step_id_from = step_id_from - 1 WHERE rowid = "
                       f"{A_RANGE}", d.live_class()), {"steps"}),
    "a range is missing": (lambda d: d.do(f"DELETE FROM eq_class_step WHERE rowid = {A_RANGE}",
                                          d.live_class()), {"steps"}),
    "two classes change ranges": (swap_ranges, {"steps"}),
    "a variable lies on another": (put_on_another, {"layout", "categories"}),
    "a variable lies elsewhere": (variable(1, "offset = offset + 100000000"),
                                  {"layout"}),
    "category of a variable": (variable(1, "category = (category + 1) % 20"), {"categories"}),
    "a variable is not allocated": (variable(1, "bitset = bitset & ~1"),
                                    {"always_live", "layout", "categories"}),
    "a variable on another tile": (variable(1, "tile = tile + 1"), {"always_live", "categories"}),
    "a variable is missing": (lambda d: (
        d.do("DELETE FROM vars_info WHERE var_id = (SELECT v.var_id FROM vars_info v JOIN "
             "var_categories c ON c.id = v.category WHERE c.name = 'stack' AND v.bitset & 1 "
             "LIMIT 1)")), {"totals", "always_live"}),
    "a variable that was not allocated is missing": (
        sql("DELETE FROM vars_info WHERE var_id = (SELECT min(var_id) FROM vars_info WHERE NOT "
            "bitset & 1)"), {"totals"}),
    "bytes of a category": (blobs("memory_by_category", PLAIN[:1], add_at(0, 4)), {"categories"}),
    "overlapped bytes of a category": (blobs("memory_by_category", PLAIN, move), {"categories"}),
    "a category counts as interleaved": (
        blobs("memory_by_category", (PLAIN[0], "interleaved_non_overlapped"), move),
        {"categories"}),
    "two categories exchanged": (lambda d: (
        d.do("UPDATE memory_by_category SET category_id = 'x' WHERE category_id = 'stack'"),
        d.do("UPDATE memory_by_category SET category_id = 'stack' WHERE category_id = "
             "'controlCode'"),
        d.do("UPDATE memory_by_category SET category_id = 'controlCode' WHERE category_id = "
             "'x'")), {"categories"}),
    "a category is missing": (
        sql("DELETE FROM memory_by_category WHERE category_id = 'controlCode'"), {"categories"}),
    "bytes of a step": (sql(f"UPDATE {STEPS} SET delta_bytes = delta_bytes + 8 WHERE rowid IN "
                            f"(SELECT rowid FROM {STEPS} WHERE step_id > 9 LIMIT 3)"), {"steps"}),
    "a step is missing for all IPUs": (
        sql(f"DELETE FROM {STEPS} WHERE ipu IS NULL AND step_id = (SELECT max(step_id) FROM "
            f"{STEPS})"), {"steps"}),
    "a change of one IPU": (
        sql(f"UPDATE {STEPS} SET delta_bytes = delta_bytes - 1 WHERE ipu = 0 AND step_id = "
            f"(SELECT min(step_id) FROM {STEPS})"), {"steps"}),
    "changes come a step late": (
        lambda d: d.do(f"UPDATE {STEPS} SET step_id = step_id + 1 WHERE step_id BETWEEN 10 AND "
                       f"{d.num_steps - 2}"), {"steps"}),
    "a change at a step that there is not": (
        lambda d: d.do(f"UPDATE {STEPS} SET step_id = {d.num_steps} WHERE ipu IS NULL AND step_id "
                       f"= (SELECT max(step_id) FROM {STEPS})"), {"steps"}),
    "count of vertices": (blobs("compute_sets", ("vertex_counts",), add_at(0, 1)),
                          {"vertex_counts"}),
    "instances of a vertex": (blobs("vertex_instances", ("instances_by_tile",), add_at(3, 1),
                                    *RUNS), {"vertex_counts", "vertex_state", "totals"}),
    "instances on another tile": (
        blobs("vertex_instances", ("instances_by_tile",),
              lambda numbers: [numbers[1:] + numbers[:1]], *RUNS), {"vertex_state"}),
    "instances are missing": (
        sql("DELETE FROM vertex_instances WHERE compute_set = 3"),
        {"vertex_counts", "vertex_state", "totals"}),
    "size of a vertex type": (
        sql("UPDATE vertex_types SET size = size + 4 WHERE id = (SELECT min(vertex_type) FROM "
            "vertex_instances)"), {"vertex_state"}),
    "edges of a compute set": (
        sql("UPDATE compute_sets SET edge_count = edge_count - 1 WHERE compute_set = 5"),
        {"totals"}),
    "number of vertices": (sql("UPDATE graph_info SET num_vertices = num_vertices + 1"),
                           {"totals"}),
    "number of edges": (sql("UPDATE graph_info SET num_edges = 0"), {"totals"}),
    "number of variables": (sql("UPDATE graph_info SET num_vars = num_vars * 2"), {"totals"}),
    "number of compute sets": (sql("UPDATE graph_info SET num_compute_sets = 1"), {"totals"}),
    "state by vertex type": (blobs(TYPES, ("vertex_data_bytes",), add_at(1, 4)),
                             {"vertex_memory", "vertex_state"}),
    "state by vertex type, shifted": (
        blobs(TYPES, ("vertex_data_bytes", "edge_ptr_bytes"), move), {"vertex_memory"}),
    "state by compute set": (blobs(SETS, ("edge_ptr_bytes",), add_at(2, 4), *RUNS),
                             {"vertex_memory"}),
    "padding by compute set": (blobs(SETS, ("padding_bytes",), add_at(0, 1), *RUNS),
                               {"vertex_memory"}),
    "descriptors of both": (lambda d: (
        d.blobs(TYPES, ("descriptor_bytes",), add_at(0, 4)),
        d.blobs(SETS, ("descriptor_bytes",), add_at(0, 4), *RUNS)), {"vertex_state"}),
    "a compute set's state is missing": (
        sql(f"DELETE FROM {SETS} WHERE compute_set = (SELECT compute_set FROM vertex_instances "
            "LIMIT 1)"), {"vertex_memory"}),
    "a vertex type's memory is missing": (
        sql(f"DELETE FROM {TYPES} WHERE vertex_type = (SELECT vertex_type FROM vertex_instances "
            "LIMIT 1)"), {"vertex_memory", "vertex_state"}),
    "code of a vertex type halved": (blobs(TYPES, ("code_bytes",), halve), {"vertex_code"}),
    "debug context of a program": (
        sql("UPDATE programs SET debug_id = 4000000001 WHERE id = "
            "(SELECT max(id) FROM programs WHERE debug_id > 0)"), {"debug_info"}),
    "code of a vertex type": (blobs(TYPES, ("code_bytes",), add_at(0, 100000)), {"vertex_code"}),
    "a blob of padding is cut": (
        sql(f"UPDATE {TYPES} SET padding_bytes = x'00' WHERE rowid = (SELECT min(rowid) FROM "
            f"{TYPES})"), {"vertex_memory"}),
    "exchange_regions is empty": (sql("DELETE FROM exchange_regions"), {"exchanges"}),
    "half of exchange_regions is missing": (
        sql("DELETE FROM exchange_regions WHERE rowid % 2 = 0"), {"exchanges"}),
    "variables of regions off by one": (shift("exchange_regions", "var_id", "vars_info"),
                                        {"exchanges"}),
    "sets of regions off by one": (shift("exchange_regions", "id", "exchange_regions"),
                                   {"exchanges"}),
    "regions of an exchange begin later": (
        sql("UPDATE exchange_regions SET regions = replace(regions, '[0,', '[1,') WHERE id = "
            "(SELECT max(source_regions_id) FROM program_type_do_exchange)"), {"exchanges"}),
    "a region ends beyond its variable": (
        sql("UPDATE exchange_regions SET regions = '[0,1000000)' WHERE rowid = 5"), {"exchanges"}),
    "sources and destinations of exchanges exchanged": (
        sql("UPDATE program_type_do_exchange SET source_regions_id = destination_regions_id, "
            "destination_regions_id = source_regions_id"), {"exchanges"}),
    "sources of exchanges belong to the next": (
        shift("program_type_do_exchange", "source_regions_id", "program_type_do_exchange"),
        {"exchanges"}),
    "an exchange has no source": (
        sql("UPDATE program_type_do_exchange SET source_regions_id = NULL WHERE id = 3"),
        {"exchanges"}),
    "bytes sent by an exchange": (blobs(EXCHANGE, ("bytes_sent_by_tile_rle",), add_at(2, 4), *RUNS),
                                  {"exchanges"}),
    "bytes received by an exchange": (
        blobs(EXCHANGE, ("bytes_received_by_tile_rle",), add_at(1, 4), *RUNS), {"exchanges"}),
    "host copies belong to the next": (
        shift("host_exchange_from_host", "stream_copy_mid_id", "program_type_stream_copy_mid",
              "id"), {"exchanges"}),
    "copies from the host and to it exchanged": (exchange_host_tables, {"exchanges"}),
    "exchanges run in each other's places": (rotate_rows("DoExchange"), {"exchanges"}),
    "host copies run in each other's places": (rotate_rows("StreamCopyMid"), {"exchanges"}),
    "exchange code times 50": (every_blob(EXCHANGE, "code_bytes_by_tile_rle",
                                          lambda n: [50 * i for i in n], *RUNS), {"exchange_code"}),
    "exchange code halved": (every_blob(EXCHANGE, "code_bytes_by_tile_rle",
                                        lambda n: [i // 2 for i in n], *RUNS), {"exchange_code"}),
    "exchange code on the next tile": (
        every_blob(EXCHANGE, "code_bytes_by_tile_rle", lambda n: n[1:] + n[:1], *RUNS), SOME_CODE),
    "exchange code belongs to the next exchange": (
        shift(EXCHANGE, "code_bytes_by_tile_rle", EXCHANGE), SILENT),
    "exchange code is missing": (every_blob(EXCHANGE, "code_bytes_by_tile_rle",
                                            lambda n: [0] * len(n), *RUNS), SOME_CODE),
    "control code doubled": (every_blob("programs", CONTROL, lambda n: [2 * i for i in n], *RUNS),
                             {"control_code"}),
    "control code halved": (every_blob("programs", CONTROL, lambda n: [i // 2 for i in n], *RUNS),
                            SILENT),
    "control code is NULL": (sql(f"UPDATE programs SET {CONTROL} = NULL"), {"control_code"}),
    "control code of one program": (control_code_of_one, {"control_code"}),
    "control code belongs to the next program": (shift("programs", CONTROL, "programs"),
                                                 {"control_code"}),
    "programs of steps rotated": (shift("depth_first_steps", "program_id", "depth_first_steps"),
                                  {"step_order"}),
    "parents of steps are NULL": (sql("UPDATE depth_first_steps SET parent_step_id = NULL"),
                                  {"step_order"}),
    "a step has its parent's parent": (
        sql("UPDATE depth_first_steps SET parent_step_id = (SELECT p.parent_step_id FROM "
            "depth_first_steps p WHERE p.id = depth_first_steps.parent_step_id) WHERE id = "
            "(SELECT max(id) FROM depth_first_steps WHERE parent_step_id > 0)"), {"step_order"}),
    "the last step is missing": (
        sql("DELETE FROM depth_first_steps WHERE id = (SELECT max(id) FROM depth_first_steps)"),
        None),
    "children of a program turned round": (
        blobs("programs", ("children",), lambda n: [n[::-1]] if len(n) > 1 else None),
        {"step_order"}),
    "a program has lost a child": (
        blobs("programs", ("children",), lambda n: [n[:-1]] if len(n) > 1 else None),
        {"step_order"}),
    "type Call renamed": (sql("UPDATE program_types SET name = 'Coll' WHERE name = 'Call'"),
                          {"program_types", "step_order"}),
    "type OnTileExecute renamed": (
        sql("UPDATE program_types SET name = 'OnTile' WHERE name = 'OnTileExecute'"),
        {"program_types", "compute_sets"}),
    "types DoExchange and StreamCopyMid exchanged": (
        sql("UPDATE program_types SET name = CASE name WHEN 'DoExchange' THEN 'StreamCopyMid' ELSE "
            "'DoExchange' END WHERE name IN ('DoExchange', 'StreamCopyMid')"), {"exchanges"}),
    "variables of compute sets off by one": (
        every_blob("compute_sets", "var_ids_diff_rle", lambda n: [n[0] + 1] + n[1:] if n else n,
                   relations.runs, as_runs), {"compute_sets"}),
    "variables of compute sets belong to the next": (
        shift("compute_sets", "var_ids_diff_rle", "compute_sets"), {"compute_sets"}),
    "half of the variables of compute sets are missing": (
        every_blob("compute_sets", "var_ids_diff_rle", lambda n: n[:(len(n) + 1) // 2],
                   relations.runs, as_runs), SILENT),
    "one compute set for all": (
        sql("UPDATE program_type_on_tile_execute SET compute_set = (SELECT min(compute_set) FROM "
            "compute_sets)"), {"compute_sets"}),
    "programs execute the next compute set": (
        shift("program_type_on_tile_execute", "compute_set", "program_type_on_tile_execute"),
        {"compute_sets"}),
    "executing programs run in each other's places": (rotate_rows("OnTileExecute"),
                                                      {"compute_sets"}),
    "tiles have no memory": (sql("UPDATE target_info SET bytes_per_tile = 0"), None),
    "contexts of programs rotated": (rotate_contexts, SILENT),
    "contexts of poplibs rotated": (debug_info(rotate_poplibs_parents), SILENT),
    "names of operations rotated": (debug_info(rotate_operation_names), SILENT),
}
UNREAD = {"a blob of padding is cut"}  # a second opinion on what is no number would say nothing


# ---- what the format says in more than one way ----

def rewrite_ranges(change):
    def rewritten(d):
        rows = d.sql.execute("SELECT eq_class_id, step_id_from, step_id_to FROM eq_class_step")
        new = [(number, *one) for number, begin, end in rows.fetchall()
               for one in change(begin, end)]
        d.do("DELETE FROM eq_class_step")
        d.sql.executemany("INSERT INTO eq_class_step VALUES (?, ?, ?)", new)
    return rewritten


# name: how it is written, without a change of what it says
OTHER_WORDS = {
    "a range for each step": rewrite_ranges(
        lambda begin, end: [(step, step + 1) for step in range(begin, end)]),
    "ranges that overlap": rewrite_ranges(
        lambda begin, end: [((begin + end) // 2, end), (begin, (begin + end + 1) // 2 + 1)]
        if end - begin > 2 else [(begin, end), (begin, end)]),
    "ranges in two with an empty one between": rewrite_ranges(
        lambda begin, end: [(begin, (begin + end) // 2), ((begin + end) // 2, end),
                            ((begin + end) // 2, (begin + end) // 2), (end, end)]),
    "sets of regions from the last to the first": lambda d: d.sql.execute(
        "CREATE INDEX regions_down ON exchange_regions (id DESC)"),
}
QUESTIONS = (
    ("--solve", "--num-ipus", "3", "--schedule", "popart", "--format", "json"),
    ("--evaluate", "0", "--schedule", "popart", "--effects", "all", "--format", "json"),
    ("--evaluate", "0", "--recompute", "full", "--schedule", "popart", "--format", "json"),
    ("--diagnose", "--format", "json", "--fail-on", "unexplained=100%"),
    ("--layer-breakdown",), ("--interlayer-communication",), ("--memory-affinity",),
    *(("--output", name, "--format", "csv") for name in (
        "summary", "tiles", "categories", "liveness", "variables", "operations", "programs",
        "layers", "pairs", "checks", "vertices", "exchanges", "advice")),
)


# Taken away, on a profile with calls: what comes inside what is not told any more.
WITHOUT_NESTING = [
    "ALTER TABLE depth_first_steps RENAME COLUMN parent_step_id TO gone",
    "ALTER TABLE programs RENAME COLUMN children TO gone",
    "ALTER TABLE program_type_call RENAME TO gone",
    "ALTER TABLE function_programs RENAME TO gone",
]


def copy_of(folder, place, change):
    os.mkdir(place)
    for file in ("profile.pop", "debug.cbor"):
        shutil.copyfile(os.path.join(folder, file), os.path.join(place, file))
    damage = Damage(os.path.join(place, "profile.pop"))
    try:
        change(damage)
        return place
    except AssertionError:
        return None
    finally:
        damage.sql.commit()
        damage.sql.close()


def try_other_words(popliner, folder, name, questions):
    """The same in other words has the same answers, to the byte."""
    with tempfile.TemporaryDirectory() as place:
        one = copy_of(folder, os.path.join(place, "one"), lambda d: None)
        other = copy_of(folder, os.path.join(place, "other"), OTHER_WORDS[name])
        problems = []
        for question in questions:
            answers = [run(popliner, ".", *question, cwd=path) for path in (one, other)]
            if not answers[0].stdout:
                problems.append(f"{folder}, {question}: no answer, {answers[0].stderr}")
            if answers[0].stdout != answers[1].stdout:
                problems.append(f"{folder}, {name}: {question} has another answer")
        return problems


# ---- the command ----

def run(popliner, *arguments, cwd=None):
    return subprocess.run([popliner, "-q", *arguments], capture_output=True,
                          encoding="utf-8", check=False, cwd=cwd)


def diagnose(popliner, folder):
    done = run(popliner, folder, "--diagnose", "--format", "json", "--fail-on", "unexplained=100%")
    if not done.stdout:
        return done, None
    rows = json.loads(done.stdout)["sections"][2]["rows"]
    return done, [{"relation": row["relation"], "checked": row["checked"],
                   "breached": row["breached"], "largest_bytes": row["largest_difference"],
                   "where": row["where"] or ""} for row in rows]


def try_clean(popliner, folder):
    done, checks = diagnose(popliner, folder)
    own = relations.check(os.path.join(folder, "profile.pop"))
    problems = []
    if checks != own:
        problems.append(f"{folder}: found {checks}, second opinion {own}")
    if done.returncode != 0 or "Do not trust" in done.stderr:
        problems.append(f"{folder}: clean, but status {done.returncode}: {done.stderr}")
    if run(popliner, folder, "--memory-totals", "--fail-on", "contradiction").returncode != 0:
        problems.append(f"{folder}: clean, but refused by --fail-on contradiction")
    if any(check["breached"] for check in own) or not all(check["checked"] for check in own):
        problems.append(f"{folder}: expected to be clean in all relations: {own}")
    return problems


def random_options(chance):
    """Of the generator: any style, small enough that the library reads the text of all regions."""
    framework = chance.choice(("popart", "poptorch", "tensorflow"))
    layers = chance.randint(2, 5)
    numbers = {"layers": layers, "tiles": chance.choice((4, 8, 16)),
               "hidden": chance.choice((32, 64)), "sequence": chance.choice((16, 32)),
               "vocabulary": 100, "seed": chance.randint(1, 10 ** 6), "debug-arguments": 0}
    options = ["--framework", framework]
    options += [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
    if chance.random() < 0.5:
        options += ["--training", *(["--accumulate"] if chance.random() < 0.3 else [])]
    if framework != "tensorflow" and chance.random() < 0.3:
        options.append("--outline")
    if chance.random() < 0.3:
        options.append("--map-in-turn")
    cuts = sorted(chance.sample(range(layers - 1), min(layers - 1, chance.randint(1, 3))))
    return options + chance.choice(([], ["--execution"], ["--skips", "1"],
                                    ["--pipeline", "|".join(map(str, cuts))]))


def try_made(popliner, mkprofile, seed):
    """A profile of any style is clean."""
    options = random_options(random.Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([mkprofile, "--quiet", "--force", "--output", folder, *options], check=True)
        return [f"made by {' '.join(options)}: {problem}"
                for problem in try_clean(popliner, folder)]


def try_missing(popliner, folder, removal):
    """What is not told is not checked, and contradicts nothing."""
    with tempfile.TemporaryDirectory() as directory:
        place = copy_of(folder, os.path.join(directory, "report"),
                        lambda d: d.sql.executescript(removal))
        done, checks = diagnose(popliner, place)
        own = relations.check(os.path.join(place, "profile.pop"))
        checked = {check["relation"]: (check["checked"], check["breached"]) for check in own}
        if checks == own and checked["step_order"] == (0, 0):
            return []
        return [f"{folder}: {removal}: found {checks}, second opinion {own}: {done.stderr}"]


def change_of_answer(popliner, *folders):
    """The largest change of what a stage needs on a tile, over a few splits, against the first."""
    largest = 0
    for split in ("whole", "Head", "0", "0|1"):
        answers = [run(popliner, folder, "--evaluate", split, "--format", "json").stdout
                   for folder in folders]
        if all(answers):
            for one, other in zip(*(json.loads(answer)["stages"] for answer in answers)):
                largest = max(largest, abs(other["need_bytes"] / one["need_bytes"] - 1))
    return largest


def try_corruption(popliner, folder, name, also_stored):
    """What is wrong with how it is seen; None if it cannot be planted."""
    expected = CORRUPTIONS[name][1]
    label = f"{os.path.basename(folder)}: {name}"
    with tempfile.TemporaryDirectory() as directory:
        place = copy_of(folder, os.path.join(directory, "report"), CORRUPTIONS[name][0])
        if place is None:
            return None
        done, checks = diagnose(popliner, place)
        if checks is None:
            is_refused = expected is None and done.returncode == 3
            return [] if is_refused else [f"{label}: status {done.returncode}: {done.stderr}"]
        problems = []
        breached = {check["relation"] for check in checks if check["breached"]}
        if expected is SILENT and not breached:
            print(f"{label}: nothing sees it; a stage changes by "
                  f"{100 * change_of_answer(popliner, folder, place):.1f} %")
            return []
        if expected is None or not (breached & expected if expected is SOME_CODE else
                                    expected <= breached):
            problems.append(f"{label}: expected {expected and sorted(expected)}, "
                            f"seen {sorted(breached)}")
        own = relations.check(os.path.join(place, "profile.pop")) if name not in UNREAD else checks
        if checks != own:
            problems += [f"{label}: found {one}, second opinion {other}"
                         for one, other in zip(checks, own) if one != other]
        if done.returncode != 1:
            problems.append(f"{label}: status {done.returncode}")
        for relation in breached:
            warning = ("debug.cbor does not match" if relation == "debug_info" else
                       f"relation {relation} does not hold")
            if done.stderr.count(warning) != 1:
                problems.append(f"{label}: no warning, or several, of {relation}")
        if not also_stored:
            return problems
        strict = run(popliner, place, "--layer-breakdown", "--fail-on", "contradiction")
        if strict.returncode != 3 or strict.stdout or \
                "--fail-on contradiction" not in strict.stderr:
            problems.append(f"{label}: with --fail-on contradiction status {strict.returncode}")
        stored = os.path.join(place, "stored")
        run(popliner, place, "--save-to-file", stored)
        loaded = run(popliner, "--load-from-file", stored, "--output", "tiles")
        if loaded.returncode != 0 or loaded.stderr.count("Do not trust") != len(breached):
            problems.append(f"{label}: loaded: status {loaded.returncode}, {loaded.stderr}")
        return problems


def main():
    popliner, mkprofile, *folders = sys.argv[1:]
    clean, corrupted = folders[:folders.index("--")], folders[folders.index("--") + 1:]
    every = cases.takes_all()
    clean = [folder for folder in clean if os.path.exists(os.path.join(folder, "profile.pop"))]
    if not every:
        clean = clean[::6]
    tasks = [(try_clean, popliner, folder) for folder in clean]
    tasks += [(try_other_words, popliner, folder, name,
               QUESTIONS if every else QUESTIONS[i::len(OTHER_WORDS)])
              for folder in corrupted[:4 if every else 1] for i, name in enumerate(OTHER_WORDS)]
    tasks += [(try_made, popliner, mkprofile, seed)
              for seed in range(30 if cases.is_nightly() else 6 if every else 1)]
    tasks += [(try_missing, popliner, corrupted[0], removal) for removal in WITHOUT_NESTING]
    names = list(CORRUPTIONS) if every else list(CORRUPTIONS)[::12]
    for i, name in enumerate(names):
        tasks += [(try_corruption, popliner, folder, name, every or i % 4 == 0)
                  for k, folder in enumerate(corrupted)
                  if (cases.is_nightly() and (i + k) % 2 == 0) or k == i % len(corrupted)]
    problems = []
    planted = set()
    num_planted = 0
    others_are_tried = False
    if sum(seen is SILENT for _, seen in CORRUPTIONS.values()) > MOST_SILENT:
        problems.append("too many corruptions that no relation has to see")
    if not every:  # tasks that are alike are far from each other
        tasks = [tasks[i] for i in sorted(range(len(tasks)), key=lambda i: i * 0.618034 % 1)]
    while tasks:
        for task, result in zip(tasks, cases.results(tasks, 2)):
            problems += result or []
            if task[0] is try_corruption and result is not None:
                planted.add(task[3])
                num_planted += 1
        # one that a profile has no place for is planted in another one
        tasks = [(try_corruption, popliner, folder, name, False)
                 for name in names if name not in planted and every and not others_are_tried
                 for folder in corrupted]
        others_are_tried = True
    print(f"{len(clean)} clean profiles; {len(planted)} kinds of corruption, planted "
          f"{num_planted} times in {len(corrupted)} profiles; {len(problems)} problems")
    if not cases.is_enough(planted == set(names)):
        problems.append(f"never planted: {sorted(set(names) - planted)}")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
