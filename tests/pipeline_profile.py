#!/usr/bin/env python3
"""Profiles of pipelines agree with themselves, and with the rules they were made by.

Usage: pipeline_profile.py MKPROFILE [all]

The relations are those of docs/profile-format.md, by profile_relations.py, the rules those of
docs/internals/pipeline-profiles.md. Nothing here is shared with the tool or with popliner: sums and
lives are worked out from the tables.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import collections
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import profile_relations as relations
from profile_relations import runs

relations.MOST_REGIONS = 10 ** 9  # which the library would not read all


class Profile:
    """The tables that are checked, in Python's own structures."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.ipus, self.tiles, self.per_ipu, self.of_ipu, self.total, self.tile_bytes = self.row(
            "SELECT num_ipus, num_tiles, tiles_per_ipu, bytes_per_ipu, total_memory, "
            "bytes_per_tile FROM target_info")
        self.steps = self.row("SELECT count(*) FROM depth_first_steps")[0]
        self.categories = dict(self.all("SELECT id, name FROM var_categories"))
        self.always = dict(self.all("SELECT id, is_always_live FROM eq_classes"))
        self.lives = collections.defaultdict(list)
        for number, first, end in self.all("SELECT * FROM eq_class_step ORDER BY 1, 2"):
            self.lives[number].append((first, end))
        self.on_tile = collections.defaultdict(list)
        self.tile_of = {}
        for number, tile, size, offset, category, life, origin, bits in self.all(
                "SELECT var_id, tile, size_bytes, offset, category, equivalence_class, "
                "unlowered_var_id, bitset FROM vars_info"):
            self.tile_of[number] = tile
            if bits & 1:
                self.on_tile[tile].append((size, offset, self.categories[category], life, origin))
        self.names = dict(self.all("SELECT id, name FROM unlowered_vars"))

    def all(self, sql):
        return self.db.execute(sql).fetchall()

    def row(self, sql):
        return self.db.execute(sql).fetchone()

    def ipu(self, tile):
        return tile // self.per_ipu


def same(what, left, right):
    if left != right:
        sys.exit(f"{what}: {left} is not {right}")


# ---- The relations of any profile -----------------------------------------------------------


def check_target(p):
    same("tiles of all IPUs", p.tiles, p.ipus * p.per_ipu)
    same("memory of all IPUs", p.total, p.ipus * p.of_ipu)
    same("memory of an IPU", p.of_ipu, p.per_ipu * p.tile_bytes)
    same("tiles with variables", sorted(p.on_tile), list(range(p.tiles)))


def check_lives_apart(p):
    """Two variables that share an address are never live at one step."""
    for tile, variables in p.on_tile.items():
        ordered = sorted((v[1], v[1] + v[0], v[3]) for v in variables if v[0] > 0)
        open_ones = []
        for start, end, life in ordered:
            open_ones = [other for other in open_ones if other[0] > start]
            for _, other in open_ones:
                if any(a < d and c < b for a, b in p.lives[life] for c, d in p.lives[other]):
                    sys.exit(f"tile {tile}: classes {life} and {other} share address {start}")
            open_ones.append((end, life))


def check_steps(p):
    """Relation 5, for each IPU and for all of them."""
    curves = {ipu: [0] * (p.steps + 1) for ipu in [None, *range(p.ipus)]}
    for tile, variables in p.on_tile.items():
        for size, _, _, life, _ in variables:
            if p.always[life]:
                continue
            for first, last in p.lives[life]:
                for ipu in (None, p.ipu(tile)):
                    curves[ipu][first] += size
                    curves[ipu][last] -= size
    told = {ipu: [0] * (p.steps + 1) for ipu in curves}
    for ipu, step, change in p.all("SELECT * FROM memory_not_always_live_by_step_and_ipu"):
        told[ipu][step] += change
    for ipu, changes in curves.items():
        same(f"changes by step of IPU {ipu}", told[ipu][:p.steps], changes[:p.steps])


def check_relations(p):
    """Those that hold for any profile."""
    for own in relations.check(p.path):
        if own["breached"]:
            sys.exit(f"relation {own['relation']} does not hold: {own['where']}")


# ---- The rules of pipelines ------------------------------------------------------------------


def regions(p):
    found = collections.defaultdict(list)
    for number, variable in p.all("SELECT id, var_id FROM exchange_regions"):
        found[number].append(variable)
    return found


def ipus_of(p, variables):
    return {p.ipu(p.tile_of[variable]) for variable in variables}


def check_programs(p):
    """What runs on one IPU touches nothing of another; what is between them does."""
    for number, blob in p.all("SELECT compute_set, var_ids_diff_rle FROM compute_sets"):
        variable, touched = 0, []
        for change in runs(blob):
            variable += change
            touched.append(variable)
        if len(ipus_of(p, touched)) > 1:
            sys.exit(f"compute set {number} touches several IPUs")
    found = regions(p)
    for kind, least, most in (("do_exchange", 1, 1), ("global_exchange", 2, p.ipus)):
        for number, source, destination, sent, sent_by_ipu, received, received_by_ipu in p.all(
                "SELECT id, source_regions_id, destination_regions_id, bytes_sent_by_tile_rle, "
                "bytes_sent_by_ipu_rle, bytes_received_by_tile_rle, bytes_received_by_ipu_rle "
                f"FROM program_type_{kind}"):
            ipus = ipus_of(p, found[source] + found[destination])
            if not least <= len(ipus) <= most:
                sys.exit(f"{kind} {number} has {len(ipus)} IPUs")
            for by_tile, by_ipu in ((sent, sent_by_ipu), (received, received_by_ipu)):
                tiles = runs(by_tile)
                sums = [sum(tiles[i * p.per_ipu:(i + 1) * p.per_ipu]) for i in range(p.ipus)]
                same(f"bytes of {kind} {number} by IPU", runs(by_ipu), sums)


class Tensors:
    """Of each tensor on each IPU: bytes by tile within the IPU, and the life. Names may repeat."""

    def __init__(self, p):
        self.sizes = collections.defaultdict(lambda: collections.defaultdict(int))
        self.lives = {}
        self.named = collections.defaultdict(set)
        for tile, variables in p.on_tile.items():
            for size, _, category, life, origin in variables:
                if category == "variable" and origin is not None:
                    key = p.names[origin], p.ipu(tile), origin
                    self.sizes[key][tile % p.per_ipu] += size
                    self.lives[key] = p.lives[life]
                    self.named[key[:2]].add(key)

    def check_like(self, key, ipu, original, copies):
        """The tensor has so many times the bytes of one of that name on the IPU."""
        wanted = [{tile: copies * size for tile, size in self.sizes[other].items()}
                  for other in self.named[original, ipu]]
        if dict(self.sizes[key]) not in wanted:
            sys.exit(f"{key[0]}: not {copies} times {original} on IPU {ipu}")


def loop(p):
    """The steps of the loop: the first of its Repeat, and the first after it."""
    parents = dict(p.all("SELECT id, parent_step_id FROM depth_first_steps"))
    first = p.row("SELECT s.id FROM depth_first_steps s JOIN programs p ON p.id = s.program_id "
                  "JOIN program_types t ON t.id = p.variant WHERE t.name = 'Repeat' "
                  "ORDER BY s.id LIMIT 1")[0]
    end = first + 1
    inside = {first}
    while end in parents and parents[end] in inside:
        inside.add(end)
        end += 1
    return first, end


def check_kept(p, framework, schedule, trains):
    """Stashes and FIFOs: how many copies, where, and how long."""
    tensors = Tensors(p)
    first, end = loop(p)
    seen = collections.Counter()
    factor = {"grouped": 2, "interleaved": 1, "sequential": 0}[schedule]
    for key in tensors.sizes:
        name, ipu, _ = key
        if name.startswith("Stash__"):
            original, copies = name[len("Stash__"):], 2 * (p.ipus - 1 - ipu) + 1
        elif name.endswith("/fifo/buffer"):
            original, copies = name[:-len("/fifo/buffer")], factor * (p.ipus - 1 - ipu)
        else:
            continue
        seen[ipu] += 1
        tensors.check_like(key, ipu, original, copies)
        same(f"life of {name}", tensors.lives[key], [(first, end)])
    keeps = trains and (framework != "tensorflow" or factor > 0)
    same("IPUs that keep something", sorted(seen), list(range(p.ipus - 1)) if keeps else [])
    outs = sorted({ipu for name, ipu in tensors.named if name.endswith("/fifo/out")})
    same("IPUs with FIFOs", outs,
         list(range(p.ipus - 1)) if trains and framework == "tensorflow" else [])


def check_copies(p):
    """Clones on other IPUs have each element on the tile of the same number, and come one IPU at a
    time; something is live from one turn of the loop to the next."""
    tensors = Tensors(p)
    first, end = loop(p)
    clones = 0
    for key in list(tensors.sizes):
        name, ipu, _ = key
        original, mark, target = name.rpartition("_copy")
        if not target.isdigit() or int(target) != ipu or name.startswith("Stash__"):
            continue
        homes = [other for other in range(p.ipus) if (original, other) in tensors.named]
        same(f"homes of {original}", len(homes), 1)
        if ipu in homes:
            sys.exit(f"{name} is where {original} is")
        tensors.check_like(key, homes[0], original, 1)
        for other in range(min(ipu, homes[0]) + 1, max(ipu, homes[0])):
            if (f"{original}_copy{other}", other) not in tensors.named:
                sys.exit(f"{name} does not pass IPU {other}")
        clones += 1
        spans = tensors.lives[key]
        if spans[0][0] < first or spans[-1][1] > end:
            sys.exit(f"{name} lives outside the loop")
    if clones < p.ipus - 1:
        sys.exit(f"only {clones} clones on other IPUs")


def check_accumulators(p, trains):
    tensors = Tensors(p)
    found = 0
    for key in list(tensors.sizes):
        if key[0].startswith("Accum___"):
            tensors.check_like(key, key[1], key[0][len("Accum___"):], 1)
            found += 1
    if (found > 0) != trains:
        sys.exit(f"{found} accumulators")


def check_mapping(p, framework):
    """Each parameter starts on the tile where the one before it on the IPU ended."""
    order = [row[0] for row in p.all("SELECT DISTINCT unlowered_var_id FROM vars_info WHERE "
                                     "unlowered_var_id NOT NULL ORDER BY 1")]
    tiles = collections.defaultdict(set)
    for tile, variables in p.on_tile.items():
        for _, _, category, life, origin in variables:
            if category == "variable" and origin is not None and p.always[life]:
                tiles[origin, p.ipu(tile)].add(tile % p.per_ipu)
    starts = [0] * p.ipus
    for origin in order:
        name = p.names[origin]
        for ipu in range(p.ipus):
            held = tiles.get((origin, ipu))
            if held is None or name.startswith("Accum___"):
                continue
            start = 0 if framework == "tensorflow" and len(held) == p.per_ipu else starts[ipu]
            same(f"tiles of {name} on IPU {ipu}", held,
                 {(start + i) % p.per_ipu for i in range(len(held))})
            if framework != "tensorflow" or len(held) < p.per_ipu:
                starts[ipu] = (start + len(held)) % p.per_ipu
        if all((origin, ipu) not in tiles for ipu in range(p.ipus)):
            break  # the first one that is no parameter may move the start


def check_model(p, other):
    """Another seed of the plan: the same operations and tensors, elsewhere."""
    same("tensors", sorted(p.names.values()), sorted(other.names.values()))
    same("programs", p.all("SELECT name, variant FROM programs"),
         other.all("SELECT name, variant FROM programs"))
    sql = "SELECT sum(size_bytes) FROM vars_info"
    if abs(p.row(sql)[0] / other.row(sql)[0] - 1) > 0.05:
        sys.exit("the bytes of the same model differ by more than 5 %")
    if p.all("SELECT total FROM memory_by_tile") == other.all("SELECT total FROM memory_by_tile"):
        sys.exit("another seed of the plan changes nothing")


# ---- All of it -------------------------------------------------------------------------------


def make(tool, directory, *options):
    subprocess.run([tool, "--output", directory, "--force", "--quiet", *options], check=True)
    return Profile(os.path.join(directory, "profile.pop"))


def check(p, framework, schedule, trains):
    check_target(p)
    check_lives_apart(p)
    check_steps(p)
    check_programs(p)
    check_kept(p, framework, schedule, trains)
    check_copies(p)
    check_accumulators(p, trains)
    check_mapping(p, framework)


STASHES = "(SELECT id FROM unlowered_vars WHERE name LIKE 'Stash__%')"
CLONES = "(SELECT id FROM unlowered_vars WHERE name LIKE '%_copy1')"

# What the checks must notice in a profile that was changed so.
CHANGES = [
    "UPDATE vars_info SET size_bytes = size_bytes + 4 WHERE var_id = 300",
    "UPDATE vars_info SET tile = tile + 1 WHERE var_id = 300",
    "UPDATE vars_info SET category = 3 WHERE var_id = (SELECT min(var_id) FROM vars_info WHERE "
    "category = 0)",
    "UPDATE target_info SET num_ipus = num_ipus - 1",
    "UPDATE eq_classes SET is_always_live = 1 WHERE id = 40",
    "UPDATE eq_class_step SET step_id_to = step_id_to + 1 WHERE eq_class_id = (SELECT "
    f"equivalence_class FROM vars_info WHERE unlowered_var_id IN {STASHES} LIMIT 1)",
    "UPDATE eq_class_step SET step_id_from = 0 WHERE eq_class_id = (SELECT equivalence_class FROM "
    f"vars_info WHERE unlowered_var_id IN {CLONES} LIMIT 1)",
    "UPDATE memory_by_tile SET total = total + 1 WHERE tile = 5",
    "UPDATE memory_by_tile SET not_always_live_max_bytes = 0 WHERE tile = 2",
    "UPDATE memory_not_always_live_by_step_and_ipu SET ipu = 0 WHERE ipu = 1",
    "DELETE FROM memory_not_always_live_by_step_and_ipu WHERE ipu IS NULL",
    "UPDATE memory_by_category SET non_interleaved_overlapped = non_interleaved_non_overlapped "
    "WHERE category_id = 'message'",
    "UPDATE compute_sets SET edge_count = edge_count + 1 WHERE compute_set = 3",
    "UPDATE vertex_instances SET vertex_type = vertex_type + 1 WHERE compute_set = 4",
    "UPDATE depth_first_steps SET program_id = program_id - 1 WHERE id = 20",
    "UPDATE program_type_do_exchange SET source_regions_id = 0",
    "UPDATE program_type_global_exchange SET bytes_sent_by_ipu_rle = bytes_received_by_ipu_rle",
    "UPDATE program_type_do_exchange SET bytes_sent_by_ipu_rle = bytes_received_by_ipu_rle "
    "WHERE bytes_sent_by_ipu_rle <> bytes_received_by_ipu_rle",
    "UPDATE unlowered_vars SET name = 'Accum___' || name WHERE id = 3",
    f"UPDATE unlowered_vars SET name = 'Stash__Squad/MatMul:0' WHERE id IN {STASHES}",
]


def check_changes(path, framework, schedule, trains):
    """Whether the checks notice anything."""
    changed = path + ".changed"
    for change in cases.some(CHANGES, 4):
        shutil.copyfile(path, changed)
        db = sqlite3.connect(changed)
        db.execute(change)
        if db.total_changes == 0:
            sys.exit(f"nothing to change: {change}")
        db.commit()
        db.close()
        try:
            check(Profile(changed), framework, schedule, trains)
            check_relations(Profile(changed))
        except (SystemExit, KeyError, IndexError, ValueError):
            continue
        sys.exit(f"not noticed: {change}")


def main():
    tool = sys.argv[1]
    everything = cases.takes_all()
    kinds = []
    for framework in ("popart", "poptorch", "tensorflow"):
        kinds.append((framework, "grouped", True, ["--skips", "2"], "0|2"))
        kinds.append((framework, "grouped", False, ["--outline"], "1"))
        kinds.append((framework, "grouped", True, ["--outline", "--pieces", "2"], "0|1|2"))
    for schedule in ("interleaved", "sequential"):
        kinds.append(("tensorflow", schedule, True, ["--skips", "1"], "0|1|2"))
    if not everything:
        kinds = [kinds[0], kinds[8], kinds[9]]
    with tempfile.TemporaryDirectory() as directory:
        for framework, schedule, trains, more, cuts in cases.within_budget(kinds):
            options = ["--framework", framework, "--training" if trains else "--inference",
                       "--schedule", schedule, "--layers", "4", "--tiles", "9", "--hidden", "32",
                       "--sequence", "16", "--vocabulary", "200", "--pipeline", cuts, *more]
            p = make(tool, directory, *options)
            print(framework, schedule, *more, cuts, flush=True)
            check(p, framework, schedule, trains)
            if everything:  # mkprofile_test.py has them in the quick run
                check_relations(p)
            if p.ipus == 3 and framework == "popart":
                check_changes(os.path.join(directory, "profile.pop"), framework, schedule, trains)
        p = make(tool, directory, *options)
        other = make(tool, os.path.join(directory, "other"), *options, "--plan-seed", "9")
        check(other, framework, schedule, trains)
        check_model(p, other)


main()
