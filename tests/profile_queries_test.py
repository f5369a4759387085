#!/usr/bin/env python3
"""The queries of docs/profile-format.md, section 15: none has a row in the sample, the golden cases
and the real profile, if it is there; and each has one where the relation is broken.

    profile_queries_test.py DOCUMENT FOLDER...

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import json
import os
import re
import sqlite3
import sys

from profile_relations import runs, varints

#: By relation, what breaks each of its queries, as the queries come.
BREAKS = {
    "1": ["UPDATE memory_by_tile SET always_live_bytes = always_live_bytes + 4 WHERE tile = 1"],
    "2": ["UPDATE memory_by_tile SET not_always_live_max_bytes = 7 WHERE tile = 1"],
    "3": ["UPDATE memory_by_tile SET total_including_gaps = 5 WHERE tile = 2"],
    "4": ["UPDATE memory_by_category SET overflowed_overlapped = x'81'"],
    "5": ["UPDATE memory_not_always_live_by_step_and_ipu SET delta_bytes = delta_bytes + 4"],
    "6": ["DELETE FROM vertex_instances WHERE rowid = 3", "UPDATE graph_info SET num_edges = 1"],
    "7": ["DELETE FROM memory_by_compute_set WHERE compute_set = 1"],
    "8": ["UPDATE memory_by_vertex_type SET descriptor_bytes = x'81'"],
    "10": ["UPDATE programs SET control_code_bytes_by_tile = x'8280' WHERE id = 0"],
    "11": ["UPDATE vertex_types SET size = size + 1"],
    "12": ["UPDATE memory_by_vertex_type SET code_bytes = x'81'",
           "UPDATE program_type_do_exchange SET code_bytes_by_tile_rle = x'827fff'"],
    "13": ["UPDATE exchange_regions SET regions = '[0,1)' || ',' || regions",
           "UPDATE program_type_do_exchange SET code_bytes_by_tile_rle = x'8280'"],
    "14": ["DELETE FROM allocation_order_by_tile WHERE tile = 1"],
    "16": ["UPDATE var_bytes_by_eq_class SET bytes = bytes + 1"],
    "17": ["UPDATE vars_info SET offset = offset + 1 WHERE size_bytes > 0",
           "UPDATE eq_class_step SET step_id_to = 1000000000"],
    "19": ["DELETE FROM program_type_on_tile_execute",
           "UPDATE vars_info SET category = (SELECT id FROM var_categories WHERE name = 'stack')"],
    "21": ["DELETE FROM eq_class_step"],
}


def queries(document):
    """(relation, query) of the block of queries, and what makes the views."""
    with open(document, encoding="utf-8") as file:
        block = re.search(r"^    -- the allocated variables\n(?:^    .*\n)+", file.read(), re.M)[0]
    views, *relations = re.split(r"^    -- (\d+).*\n", block, flags=re.M)
    return views, [(number, query) for number, text in zip(relations[::2], relations[1::2])
                   for query in text.split(";") if query.strip()]


def opened(path, views):
    """A copy in memory."""
    sql = sqlite3.connect(":memory:")
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as file:
        file.backup(sql)
    for name, decode in (("list", varints), ("rle", runs),
                         ("diff", lambda blob: list(itertools.accumulate(runs(blob))))):
        sql.create_function(name, 1, lambda blob, decode=decode: json.dumps(decode(blob)),
                            deterministic=True)
    sql.executescript(views)
    return sql


def main():
    document, *folders = sys.argv[1:]
    views, asked = queries(document)
    found = [folder for folder in folders if os.path.exists(os.path.join(folder, "profile.pop"))]
    failures = []
    for folder in found:
        sql = opened(os.path.join(folder, "profile.pop"), views)
        for number, query in asked:
            rows = sql.execute(query).fetchmany(3)
            if rows:
                failures.append(f"{folder}: relation {number}: {rows}")
        print(f"{folder}: {len(asked)} queries", flush=True)
    sql = opened(os.path.join(found[0], "profile.pop"), views)
    for number, own in itertools.groupby(asked, lambda pair: pair[0]):
        for (_, query), statement in zip(own, BREAKS.pop(number), strict=True):
            sql.execute("BEGIN")
            sql.execute(statement)
            if sql.execute(query).fetchone() is None:
                failures.append(f"relation {number}: {statement}: no row")
            sql.execute("ROLLBACK")
    if failures or BREAKS or len(found) < 2:
        sys.exit("\n".join([*failures, *BREAKS]) or f"only {found}")


main()
