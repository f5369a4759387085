#!/usr/bin/env python3
"""Profiles against themselves: what popliner finds is what tests/profile_relations.py finds, clean
profiles are clean, each planted corruption is seen by the relation that ought to see it, and what
the format may say in other words has the same answers.

    profile_checks_test.py POPLINER CLEAN_DIRECTORIES... -- CORRUPTED_DIRECTORIES...

The full run tries every way, each on half of the latter, in turn. The quick run tries every twelfth
way on one of them, stores a few of these and asks for them with --strict, too, and looks at every
fifth clean one only.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import concurrent.futures
import json
import os
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

# name: how it is made, the relations that have to see it (others may, too)
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
}
QUESTIONS = (
    ("--solve", "--num-ipus", "3", "--schedule", "popart", "--format", "json"),
    ("--evaluate", "0", "--schedule", "popart", "--effects", "all", "--format", "json"),
    ("--evaluate", "0", "--recompute", "full", "--schedule", "popart", "--format", "json"),
    ("--diagnose", "--format", "json", "--tolerance", "100"),
    ("--layer-breakdown",), ("--interlayer-communication",), ("--memory-affinity",),
    *(("--section", name, "--format", "csv") for name in (
        "summary", "tiles", "categories", "liveness", "variables", "operations", "programs",
        "layers", "pairs", "checks", "vertices", "exchanges", "advice")),
)


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


def try_other_words(popliner, folder, name):
    """The same in other words has the same answers, to the byte."""
    with tempfile.TemporaryDirectory() as place:
        one = copy_of(folder, os.path.join(place, "one"), lambda d: None)
        other = copy_of(folder, os.path.join(place, "other"), OTHER_WORDS[name])
        problems = []
        for question in QUESTIONS:
            answers = [run(popliner, ".", *question, cwd=path) for path in (one, other)]
            if not answers[0].stdout:
                problems.append(f"{folder}, {question}: no answer, {answers[0].stderr}")
            if answers[0].stdout != answers[1].stdout:
                problems.append(f"{folder}, {name}: {question} has another answer")
        return problems


# ---- the command ----

def run(popliner, *arguments, cwd=None):
    return subprocess.run([popliner, "-q", *arguments], capture_output=True, text=True,
                          encoding="utf-8", check=False, cwd=cwd)


def diagnose(popliner, folder):
    done = run(popliner, folder, "--diagnose", "--format", "json", "--tolerance", "100")
    if not done.stdout:
        return done, None
    return done, json.loads(done.stdout)["checks"]


def try_clean(popliner, folder):
    done, checks = diagnose(popliner, folder)
    own = relations.check(os.path.join(folder, "profile.pop"))
    problems = []
    if checks != own:
        problems.append(f"{folder}: found {checks}, second opinion {own}")
    if done.returncode != 0 or "Do not trust" in done.stderr:
        problems.append(f"{folder}: clean, but status {done.returncode}: {done.stderr}")
    if run(popliner, folder, "--memory-totals", "--strict").returncode != 0:
        problems.append(f"{folder}: clean, but refused by --strict")
    if any(check["breached"] for check in own) or not all(check["checked"] for check in own):
        problems.append(f"{folder}: expected to be clean in all relations: {own}")
    return problems


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
            return [f"{label}: status {done.returncode}: {done.stderr}"]
        problems = []
        breached = {check["relation"] for check in checks if check["breached"]}
        if not expected <= breached:
            problems.append(f"{label}: expected {sorted(expected)}, seen {sorted(breached)}")
        own = relations.check(os.path.join(place, "profile.pop")) if name not in UNREAD else checks
        if checks != own:
            problems += [f"{label}: found {one}, second opinion {other}"
                         for one, other in zip(checks, own) if one != other]
        if done.returncode != 1:
            problems.append(f"{label}: status {done.returncode}")
        for relation in breached:
            warning = ("debug.cbor does not know what made" if relation == "debug_info" else
                       f"relation {relation} does not hold")
            if done.stderr.count(warning) != 1:
                problems.append(f"{label}: no warning, or several, of {relation}")
        if not also_stored:
            return problems
        strict = run(popliner, place, "--layer-breakdown", "--strict")
        if strict.returncode != 3 or strict.stdout or "--strict" not in strict.stderr:
            problems.append(f"{label}: with --strict status {strict.returncode}")
        stored = os.path.join(place, "stored")
        run(popliner, place, "--save-to-file", stored)
        loaded = run(popliner, "--load-from-file", stored, "--memory-totals")
        if loaded.returncode != 0 or loaded.stderr.count("Do not trust") != len(breached):
            problems.append(f"{label}: loaded: status {loaded.returncode}, {loaded.stderr}")
        return problems


def main():
    popliner, *folders = sys.argv[1:]
    clean, corrupted = folders[:folders.index("--")], folders[folders.index("--") + 1:]
    every = cases.takes_all()
    clean = [folder for folder in clean if os.path.exists(os.path.join(folder, "profile.pop"))]
    if not every:
        clean = clean[::5]
    tasks = [(try_clean, popliner, folder) for folder in clean]
    tasks += [(try_other_words, popliner, folder, name)
              for folder in corrupted[:4 if every else 1] for name in OTHER_WORDS]
    names = list(CORRUPTIONS) if every else list(CORRUPTIONS)[::12]
    for i, name in enumerate(names):
        tasks += [(try_corruption, popliner, folder, name, every or i % 4 == 0)
                  for k, folder in enumerate(corrupted)
                  if (every and (i + k) % 2 == 0) or k == i % len(corrupted)]
    problems = []
    planted = set()
    num_planted = 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        results = [pool.submit(*task) for task in tasks]
        for task, result in zip(tasks, (future.result() for future in results)):
            problems += result or []
            if task[0] is try_corruption and result is not None:
                planted.add(task[3])
                num_planted += 1
    print(f"{len(clean)} clean profiles; {len(planted)} kinds of corruption, planted "
          f"{num_planted} times in {len(corrupted)} profiles; {len(problems)} problems")
    if planted != set(names):
        problems.append(f"never planted: {sorted(set(names) - planted)}")
    print(*problems, sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
