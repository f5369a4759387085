#!/usr/bin/env python3
"""One IPU of a pipeline, and one replica of several, against the tables of the profile.

    pipeline_ipus_test.py POPLINER MKPROFILE [all]

What --ipu tells is checked in three ways. The compiler's account and the sizes of variables are
added up here for the tiles of the IPU. The file is cut, here, into one that was compiled for this
IPU alone, of which popliner must print the same bytes. And the sums over the IPUs are those of the
whole. Replicas are made by doubling a file.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import profile_relations as relations
from profile_blobs import as_list, as_runs

TILES = 12
LARGE = ("--mem-per-tile", "100M")
TABLES = (["--memory-totals"], ["--memory-totals", "--format", "csv"],
          ["--operation-breakdown"], ["--operation-breakdown", "--memory-model", "full"],
          ["--layer-breakdown"], ["--layer-breakdown", "--memory-model", "full"],
          ["--memory-affinity"], ["--interlayer-communication"],
          ["--diagnose"], ["--diagnose", "--format", "json"],
          ["--diagnose", "--memory-model", "popliner", "--layers", "only:all", "--format", "json"])


def same(what, left, right):
    if left == right:
        return
    if isinstance(left, str):  # the first lines that differ
        left, right = next((pair for pair in zip(left.splitlines(), right.splitlines())
                            if pair[0] != pair[1]), (left[-200:], right[-200:]))
    sys.exit(f"{what}:\n{left}\nis not\n{right}")


def run(popliner, *arguments, status=(0, 1)):
    """Output and log, which tables of PopLiner 1.0.0 have with times."""
    done = subprocess.run([popliner, *arguments], capture_output=True, encoding="utf-8")
    if done.returncode not in status:
        sys.exit(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
    return done.stdout, re.sub(r"^[\d:]{8} ", "", done.stderr, flags=re.M)


# ---- files that are made of others ----

def undiff(blob):
    numbers, last = [], 0
    for step in relations.runs(blob):
        last += step
        numbers.append(last)
    return numbers


def diff(numbers):
    return as_runs([b - a for a, b in zip([0] + numbers, numbers)])


EXCHANGED = ("bytes_sent_by_tile_rle", "bytes_received_by_tile_rle")
# table, its columns by tile, how they are encoded
BY_TILE = (
    ("vertex_instances", ("instances_by_tile",), relations.runs, as_runs),
    ("programs", ("control_code_bytes_by_tile",), relations.runs, as_runs),
    ("memory_by_compute_set", relations.FIVE, relations.runs, as_runs),
    ("program_type_do_exchange", ("code_bytes_by_tile_rle",) + EXCHANGED, relations.runs, as_runs),
    ("program_type_global_exchange", EXCHANGED, relations.runs, as_runs),
    ("program_type_stream_copy_mid", EXCHANGED, relations.runs, as_runs),
    ("memory_by_vertex_type", relations.FIVE + ("code_bytes",), relations.varints, as_list),
    ("memory_by_category", tuple(f"{kind}_{part}" for kind in relations.KINDS
                                 for part in ("non_overlapped", "overlapped")),
     relations.varints, as_list),
)
CYCLES = (("compute_sets", "cycles_by_tile_ids"),
          ("program_type_do_exchange", "cycles_by_tile_ids"),
          ("program_type_global_exchange", "estimated_cycles_by_tile_ids"),
          ("program_type_stream_copy_mid", "estimated_cycles_by_tile_ids"))


class Edit:
    """A copy of a report that is being changed."""

    def __init__(self, source, target):
        shutil.copytree(source, target)
        self.sql = sqlite3.connect(os.path.join(target, "profile.pop"))
        self.tiles = self.one("SELECT num_tiles FROM target_info")
        self.ipus = self.one("SELECT num_ipus FROM target_info")
        self.per_ipu = self.tiles // self.ipus

    def one(self, query, *values):
        return self.sql.execute(query, values).fetchone()[0]

    def do(self, query, *values):
        return self.sql.execute(query, values).rowcount

    def blobs(self, table, column, decode, encode, change):
        for row, blob in self.sql.execute(f"SELECT rowid, {column} FROM {table} "
                                          f"WHERE length({column}) > 0").fetchall():
            self.do(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                    encode(change(decode(blob))), row)

    def by_tile(self, change):
        for table, columns, decode, encode in BY_TILE:
            for column in columns:
                self.blobs(table, column, decode, encode, change)

    def count(self):
        """What the file tells of how much of everything there is."""
        counts = collections.Counter()
        for set_id, type_id, blob in self.sql.execute(
                "SELECT compute_set, vertex_type, instances_by_tile FROM vertex_instances"):
            counts[set_id, type_id] = sum(relations.runs(blob))
        for set_id, types in self.sql.execute(
                "SELECT compute_set, vertex_types FROM compute_sets").fetchall():
            self.do("UPDATE compute_sets SET vertex_counts = ? WHERE compute_set = ?",
                    as_list([counts[set_id, number] for number in relations.varints(types)]),
                    set_id)
        self.do("UPDATE graph_info SET num_vertices = ?, num_vars = (SELECT count(*) FROM "
                "vars_info)", sum(counts.values()))

    def close(self):
        self.sql.commit()
        self.sql.close()


def cut(source, target, ipu):
    """The file as if it had been compiled for one IPU of the pipeline."""
    e = Edit(source, target)
    first, end = ipu * e.per_ipu, (ipu + 1) * e.per_ipu
    e.by_tile(lambda numbers: numbers[first:end])
    for table, column in CYCLES:
        e.blobs(table, column, relations.varints, as_list,
                lambda ids: ids[ipu:ipu + 1] if len(ids) == e.ipus else ids)
    kept = {row[0] for row in e.sql.execute("SELECT var_id FROM vars_info WHERE tile >= ? AND "
                                            "tile < ?", (first, end))}
    e.blobs("compute_sets", "var_ids_diff_rle", undiff, diff,
            lambda ids: [number for number in ids if number in kept])
    for table, shifts in (("vars_info", "tile = tile - ?"), ("memory_by_tile", "tile = tile - ?")):
        e.do(f"DELETE FROM {table} WHERE tile < ? OR tile >= ?", first, end)
        e.do(f"UPDATE {table} SET {shifts}", first)
    e.do("DELETE FROM exchange_regions WHERE var_id NOT IN (SELECT var_id FROM vars_info)")
    e.do("DELETE FROM memory_not_always_live_by_step_and_ipu WHERE ipu IS NULL OR ipu <> ?", ipu)
    e.do("UPDATE target_info SET num_ipus = 1, ipus_per_replica = 1, num_tiles = tiles_per_ipu")
    e.count()
    e.close()


def double(source, target):
    """The file as if it had been compiled for two replicas, and told of both."""
    e = Edit(source, target)
    e.by_tile(lambda numbers: numbers * 2)
    for table, column in CYCLES:
        e.blobs(table, column, relations.varints, as_list, lambda ids: ids * 2)
    num_ids = e.one("SELECT max(var_id) + 1 FROM vars_info")
    e.blobs("compute_sets", "var_ids_diff_rle", undiff, diff,
            lambda ids: ids + [number + num_ids for number in ids])
    for table, changes in (
            ("vars_info", {"var_id": num_ids, "tile": e.tiles}),
            ("memory_by_tile", {"tile": e.tiles}), ("exchange_regions", {"var_id": num_ids})):
        columns = [row[1] for row in e.sql.execute(f"PRAGMA table_info({table})")]
        copied = ", ".join(f'"{name}" + {changes[name]}' if name in changes else f'"{name}"'
                           for name in columns)
        e.do(f"INSERT INTO {table} SELECT {copied} FROM {table}")
    steps = "memory_not_always_live_by_step_and_ipu"
    e.do(f"UPDATE {steps} SET delta_bytes = 2 * delta_bytes WHERE ipu IS NULL")
    e.do(f"INSERT INTO {steps} (ipu, step_id, delta_bytes) SELECT ipu + {e.ipus}, step_id, "
         f"delta_bytes FROM {steps} WHERE ipu IS NOT NULL")
    e.do("UPDATE compute_sets SET edge_count = 2 * edge_count")
    e.do("UPDATE graph_info SET num_edges = 2 * num_edges")
    tell_two(e)
    e.count()
    e.close()


def tell_two(e):
    e.do("UPDATE target_info SET num_replicas = 2, num_ipus = 2 * num_ipus, "
         "num_tiles = 2 * num_tiles")


# ---- what the tables add up to ----

MEASURES = {"always_live_bytes": "Always live", "not_always_live_max_bytes": "Not-always live",
            "total": "Total", "total_including_gaps": "Total including gaps"}

# of the table of tiles
COLUMNS = {"always_live_bytes": "Always live", "not_always_live_peak_bytes": "Not-always live",
           "total_bytes": "Total", "total_including_gaps_bytes": "Total including gaps"}


class Truth:
    """Sums by tile, from the tables alone."""

    def __init__(self, report):
        p = relations.Profile(os.path.join(report, "profile.pop"))
        self.ipus, self.per_ipu = p.sql.execute(
            "SELECT num_ipus, tiles_per_ipu FROM target_info").fetchone()
        account = p.account()
        self.by_tile = []
        for tile in range(p.num_tiles):
            sums = collections.Counter(p.by_category[tile])
            for column, name in MEASURES.items():
                sums[name] = account[column][tile]
            self.by_tile.append(sums)
        self.account = account

    def tiles(self, ipu):
        return range(ipu * self.per_ipu, (ipu + 1) * self.per_ipu)


def check_sums(popliner, report, truth, ipu):
    """--memory-totals and --diagnose against the sums of the IPU's tiles."""
    tiles = [truth.by_tile[tile] for tile in truth.tiles(ipu)]
    where = f"{report}, IPU {ipu}"
    told = json.loads(run(popliner, report, "--output", "tiles", "--format", "json", "--ipu",
                          str(ipu))[0])["rows"]
    same(f"{where}, tiles", len(told), len(tiles))
    for row, sums in zip(told, tiles, strict=True):
        for name, of_tile in row.items():
            category = re.fullmatch("category_(.*)_bytes", name)
            if category or name in COLUMNS:
                key = category[1] if category else COLUMNS[name]
                same(f"{where}, {name}", of_tile, sums[key])
        same(f"{where}, categories", {name for name in sums if sums[name] > 0} -
             set(COLUMNS.values()) - {name[9:-6] for name in row}, set())
    lines = run(popliner, report, "--memory-totals", "--ipu", str(ipu))[0].splitlines()
    for line, name in ((lines[2], "Always live"), (lines[3], "Not-always live")):
        same(f"{where}, {name}", [int(value) for value in line.split("\t")[1:]],
             [sums[name] for sums in tiles[:10]])
    found = json.loads(run(popliner, report, "--diagnose", "--format", "json", "--ipu",
                           str(ipu))[0])
    rows = found["sections"][0]["rows"]
    told = {row["name"]: row["value"] for row in rows if row["group"] == "category"}
    here = {row["name"]: row["value"] for row in rows if row["group"] == "bottleneck"}
    same(f"{where}, truth", told,
         {name: sum(sums[name] for sums in tiles) for name in told})
    live = [sums["Always live"] + sums["Not-always live"] for sums in tiles]
    same(f"{where}, bottleneck", [live[here["tile"]], here["bytes"]], [max(live)] * 2)


SUMMED = ("Vertex state", "Vertex code", "Exchange code", "Control code", "Variables")


def columns(text):
    """Those of bytes, by their heading."""
    rows = [line.split("\t") for line in text.splitlines() if line]
    return {name: [int(row[rows[0].index(name)]) for row in rows[1:]] for name in SUMMED}


def check_whole(popliner, report, ipus):
    """The breakdowns of the IPUs add up to that of all, row by row. That of layers in the full
    model does not: what is in no layer counts where most that it touches on the IPU belongs."""
    for action in TABLES[2:5]:
        whole = columns(run(popliner, report, *action)[0])
        parts = [columns(run(popliner, report, *action, "--ipu", str(ipu))[0])
                 for ipu in range(ipus)]
        for name, values in whole.items():
            same(f"{report}, {action}, {name}", values,
                 [sum(cells) for cells in zip(*(part[name] for part in parts))])


def without_checks(text):
    """Relations are of the whole file."""
    if text.startswith("{"):
        document = json.loads(text)
        document["sections"] = document.get("sections", [])[:2]
        return json.dumps(document, indent=1)
    return text.split("\nChecks ")[0]


def printed(popliner, report, action, *more):
    return without_checks(run(popliner, report, *action, *more)[0])


# ---- cases ----

def check_ipus(popliner, report, scratch, actions):
    truth = Truth(report)
    for ipu in range(truth.ipus):
        check_sums(popliner, report, truth, ipu)
        alone = os.path.join(scratch, f"ipu{ipu}")
        cut(report, alone, ipu)
        for action in actions:
            same(f"{report}, {action}, IPU {ipu}",
                 printed(popliner, report, action, "--ipu", str(ipu)),
                 printed(popliner, alone, action))
        text, log = run(popliner, alone, "--diagnose", "--ipu", "0")
        same(f"{alone}, the only IPU", text, run(popliner, alone, "--diagnose")[0])
        contradictions = [line for line in log.splitlines() if "is inconsistent" in line]
        same(f"{alone}, contradictions", contradictions, [])
        log = run(popliner, alone, "--diagnose", "--ipu", "1", status=(2,))[1]
        same("out of range", log, "error: --ipu 1: the profile has one IPU; use 0\n")
        shutil.rmtree(alone)
    check_whole(popliner, report, truth.ipus)


def check_stored(popliner, report, scratch, actions):
    path = os.path.join(scratch, "stored.popliner")
    run(popliner, report, "--save-to-file", path, "--ipu", "1")
    for action in actions:
        loaded, read = (run(popliner, *arguments, *action) for arguments in
                        ([path, "--load-from-file"], [report, "--ipu", "1"]))
        same(f"{report}, stored, {action}", loaded[0], read[0])
        same(f"{report}, stored, {action}, log", loaded[1], read[1])
    for refused in (["--solve"], ["--evaluate", "1"]):
        log = run(popliner, path, "--load-from-file", *refused, status=(2,))[1]
        if f"{path} was stored with --ipu 1" not in log:
            sys.exit(log)
    log = run(popliner, path, "--load-from-file", "--diagnose", "--ipu", "1", status=(2,))[1]
    if "--ipu 1: a stored analysis" not in log:
        sys.exit(log)


def check_refused(popliner, report, ipus):
    last = ipus - 1
    for number in (ipus, 9, 1000000):
        log = run(popliner, report, "--output", "tiles", "--ipu", str(number), status=(2,))[1]
        same("out of range", log, f"error: --ipu {number}: the profile has {ipus} IPUs; "
             f"use 0 to {last}\n")
    for action in (["--solve"], ["--evaluate", "1"]):
        log = run(popliner, report, *action, "--ipu", "0", status=(2,))[1]
        same("refused", log, f"error: --ipu: not with {action[0]}, which splits the whole "
             "model\n")


def check_replicas(popliner, report, scratch, actions):
    ipus = Truth(report).ipus
    for name, make in (("two", double), ("one-of-two", tell_one)):
        report_of_two = os.path.join(scratch, name)
        make(report, report_of_two)
        for action in actions:
            text, log = run(popliner, report_of_two, *action)
            first, first_log = run(popliner, report, *action)
            same(f"{name}, {action}", without_checks(text), without_checks(first))
            same(f"{name}, {action}, log", log, first_log)
            same(f"{name}, {action}, IPU 1",
                 printed(popliner, report_of_two, action, "--ipu", "1"),
                 printed(popliner, report, action, "--ipu", "1"))
        check_refused(popliner, report_of_two, ipus)
    two = os.path.join(scratch, "two")
    change(two, "UPDATE memory_by_tile SET overflowed = overflowed + 1 WHERE tile = "
           "(SELECT max(tile) FROM memory_by_tile)")
    expect_difference(popliner, two, scratch, 1, 1, ipus)
    change(two, "UPDATE memory_by_tile SET total = total + 40 WHERE tile = "
           "(SELECT min(tile) FROM memory_by_tile)")
    expect_difference(popliner, two, scratch, 2, 40, ipus)


def tell_one(source, target):
    """The file as if it had been compiled for two replicas, and told of one."""
    e = Edit(source, target)
    tell_two(e)
    e.close()


def change(report, sql):
    connection = sqlite3.connect(os.path.join(report, "profile.pop"))
    connection.execute(sql)
    connection.commit()
    connection.close()


def expect_difference(popliner, report, scratch, tiles, size, ipus):
    words = (f"The 2 replicas differ on {tiles} of {TILES * ipus} tiles, by up to {size} "
             "bytes; ")
    stored = os.path.join(scratch, "replicas.popliner")
    for arguments in ([report, "--memory-totals", "--save-to-file", stored],
                      [stored, "--load-from-file", "--output", "tiles"],
                      [report, "--memory-totals", "--ipu", "0"]):
        log = run(popliner, *arguments)[1]
        if log.count(words) != 1:
            sys.exit(f"{arguments}: not '{words}' once in\n{log}")


def check_contradicting(popliner, report, scratch):
    """Where the target's numbers do not fit, there are no IPUs to choose from."""
    path = os.path.join(scratch, "contradicting")
    shutil.copytree(report, path)
    change(path, "UPDATE target_info SET tiles_per_ipu = tiles_per_ipu - 1")
    log = run(popliner, path, "--memory-totals", "--ipu", "0", status=(3,))[1]
    if "table target_info" not in log or "leave out --ipu" not in log:
        sys.exit(log)
    same("without --ipu", run(popliner, path, "--memory-totals"),
         run(popliner, report, "--memory-totals"))


def check_verdicts(popliner, report, cuts):
    """A stage of layers that are on several IPUs is not known to fit; one that needs more on the
    tiles of these is known not to. Layers in the middle were compiled for the IPU that their cuts
    say. True if a split has stages that are known and stages that are not."""
    ends = [int(cut) for cut in cuts.split("|")]

    def evaluate(split, status, *more):
        options = ["-q", "--evaluate", split, "--format", "json", *more]
        return json.loads(run(popliner, report, *options, status=status)[0])["stages"]

    text, log = run(popliner, report, "--solve", "--num-ipus", "1", "--format", "json",
                    *LARGE, status=(1,))
    if "warning: 1 of 1 stages is not known to fit" not in log:
        sys.exit(log)
    for several in (["--num-ipus", "1..1"], ["--num-ipus", "1", "--pareto", "memory,traffic"],
                    ["--total-ipus", "1", "--micro-batches", "2"]):
        run(popliner, report, "--solve", *several, *LARGE, status=(1,))
    last = len(json.loads(text)["stages"][0]["layers"]) - 1
    stage, = evaluate("whole", (1,), *LARGE)
    same("all in one", (stage["fits"], stage["needs"]["verdict"]), (None, "is not known to fit"))
    stage, = evaluate("whole", (1,), "--mem-per-tile", "1000")
    same("too small", (stage["fits"], stage["needs"]["verdict"]), (False, "does not fit"))
    for layer in range(ends[0] + 1, last):
        split = f"{layer - 1}|{layer}"
        stage = evaluate(split, (0, 1), *LARGE)[1]
        same(split, (stage["fits"], stage["needs"]["verdict"]), (True, "fits"))
    for end in ends:
        if 0 < end < last - 1:
            split = f"{end - 1}|{end + 1}"
            stage = evaluate(split, (1,), *LARGE)[1]
            same(split, (stage["fits"], stage["needs"]["verdict"]), (None, "is not known to fit"))
    # what does not fit is said before what is not known
    split = "|".join(str(layer) for layer in range(last))
    known = [stage["fits"] for stage in evaluate(split, (0, 1), *LARGE)]
    if True in known:
        text, _ = run(popliner, report, "-q", "--evaluate", split, *LARGE, "--mem-per-tile",
                      f"{known.index(True)}=1000", "--format", "text", status=(1,))
        same("the worst", text[:len("Does not fit")], "Does not fit")
    return None in known and True in known


def main():
    popliner, mkprofile = sys.argv[1:3]
    takes_all = cases.takes_all()
    kinds = [("popart", "training", "0|1"), ("tensorflow", "inference", "1"),
             ("tensorflow", "training", "0"), ("popart", "inference", "0|1"),
             ("poptorch", "training", "1")]
    have_both = False
    for number, (framework, kind, cuts) in cases.within_budget(
            list(enumerate(cases.chosen(kinds[1::-1], kinds[::2], kinds))), 2):
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "report")
            subprocess.run([mkprofile, "--preset", "bert-tiny", "--framework", framework,
                            f"--{kind}", "--tiles", str(TILES), "--pipeline", cuts, "--output",
                            report, "--debug-arguments", "10", "--debug-nesting", "0",
                            "--quiet", *(["--outline"] if number % 2 == 0 else [])],
                           check=True)
            check_ipus(popliner, report, scratch,
                       TABLES if takes_all else TABLES[1 - number::4])
            have_both = check_verdicts(popliner, report, cuts) or have_both
            if takes_all or number == 0:
                some = TABLES if takes_all else TABLES[::4]
                check_stored(popliner, report, scratch, [["--output", "tiles"],
                                                         ["--output", "layers"]])
                check_refused(popliner, report, cuts.count("|") + 2)
                check_replicas(popliner, report, scratch, some)
                check_contradicting(popliner, report, scratch)
    same("a stage that does not fit, and one that is not known to",
         cases.is_enough(have_both), True)


if __name__ == "__main__":
    main()
