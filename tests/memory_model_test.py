#!/usr/bin/env python3
"""The full memory model against tests/memory_model.py, which shares nothing with the library: every
number of stages that --evaluate and --solve tell, and the best split among all.

    memory_model_test.py POPLINER MKPROFILE DIRECTORIES...

The full run looks at many more splits, of all of these and of profiles of every kind that the
generator makes.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases
import memory_model
import profile_operations

KEEPING = ("popart", "tf-grouped", "tf-interleaved")
SCHEDULES = ("none", "inference", "sequential") + 2 * KEEPING
RECOMPUTE = ("none", "standard", "full")
EFFECTS = [",".join(some) or "none" for n in range(len(memory_model.EFFECTS) + 1)
           for some in itertools.combinations(memory_model.EFFECTS, n)]
ACCUMULATORS = ("none", "fp16", "fp32", "auto")
NEEDS = {"at-most": "at_most_bytes", "at-least": "at_least_bytes"}
VERDICTS = {"at_most_bytes": "fits", "expected_bytes": "likely fits",
            "at_least_bytes": "may not fit"}
SHORTENED = "live ranges that end with complete gradients"
# Of "mem", by the names that both use.
SUMS = ("variables", "vertex_code", "vertex_state", "exchange_code", "control_code", "unexplained",
        "unexplained_always_live", "stash", "layout", "buffers", "accumulators")

# The requests to the generator: a few for the quick run, then all kinds.
QUICK = ["--framework popart --training --outline --skips 1 --layers 3 --tiles 4 --seed 31"]
KINDS = [f"--framework {framework} {kind} {outline} {more} --seed {seed}"
         for seed, (framework, kind, outline, more) in enumerate(itertools.product(
             ("popart", "poptorch", "tensorflow"),
             ("--inference", "--training", "--training --accumulate"),
             ("--no-outline", "--outline"),
             ("--layers 3 --tiles 5", "--layers 5 --tiles 4 --skips 2 --map-in-turn")), 40)]
KINDS += ["--framework popart --training --layers 1 --tiles 4 --seed 90",
          "--framework popart --training --layers 6 --tiles 4 --only-layers 2-4 --seed 91",
          "--framework tensorflow --training --layers 5 --tiles 4 --only-layers first-2 --seed 92",
          "--framework popart --inference --layers 5 --tiles 4 --only-layers 2-last --seed 93",
          "--framework popart --training --layers 3 --tiles 4 --fault untouched:7 --seed 94",
          "--framework popart --training --layers 3 --tiles 4 --fault no-operation:7 --seed 95",
          "--framework tensorflow --training --layers 3 --tiles 4 --fault no-debug-id:7 --seed 96",
          "--framework popart --training --layers 4 --tiles 8 --outline --seed 103"]


class Settings:
    """One way of asking, as options of the command and as arguments of the second opinion."""

    def __init__(self, chance, has_effects, has_accumulators):
        self.schedule = chance.choice(SCHEDULES)
        self.recompute = chance.choice(RECOMPUTE) if self.schedule in KEEPING else "none"
        if chance.random() < 0.25:  # the one in which tensors wait
            self.schedule, self.recompute = "popart", "none"
        self.effects = chance.choice(EFFECTS) if has_effects else "none"
        self.accumulators = "none"
        self.options = ["--schedule", self.schedule, "--recompute", self.recompute]
        if has_effects:
            if self.schedule in memory_model.TRAINING_SCHEDULES and has_accumulators:
                self.accumulators = chance.choice(ACCUMULATORS)
            own = ([] if self.effects == "none" else [self.effects]) + \
                {"none": [], "auto": ["accumulators"]}.get(
                    self.accumulators, [f"accumulators={self.accumulators}"])
            self.options += ["--effects", ",".join(own) or "none"]
        self.arguments = (self.schedule, self.recompute,
                          () if self.effects == "none" else self.effects.split(","),
                          self.accumulators)


def verdict_of(needs, limit):
    for name, verdict in VERDICTS.items():
        if limit >= needs[name]:
            return verdict
    return "does not fit"


class Comparison:
    """Counts what was compared in a profile, and tells what differs."""

    def __init__(self, command, place, has_effects, has_accumulators, order="steps"):
        self.command = [command, "--layer-order", order]
        self.place = place
        self.has_effects = has_effects
        self.has_accumulators = has_accumulators
        self.model = memory_model.Model(place, order == "natural")
        self.counts = collections.Counter()
        self.problems = []

    def equal(self, what, where, theirs, own):
        self.counts[what] += 1
        if theirs != own:
            self.problems.append(f"{self.place}: {where}: {what}: {theirs}, second opinion {own}")

    def run(self, *options):
        done = subprocess.run([*self.command, "-q", self.place, *options], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=False)
        if done.returncode not in (0, 1):
            self.problems.append(f"{self.place} {' '.join(options)}: status {done.returncode}: "
                                 f"{done.stderr}")
            return ""
        return done.stdout

    def operations(self):
        text = self.run("--operation-breakdown", "--memory-model", "full")
        theirs = [tuple(line.split("\t")) for line in text.splitlines()[1:] if line]
        own = profile_operations.rows(self.place)
        self.equal("operations", "breakdown", len(theirs), len(own))
        for row, other in zip(theirs, own):
            self.equal("operation", other[2], (*row[:3], row[8]), other)

    def evaluation(self, cuts, settings, device_map):
        """A split that is given: what is told by --evaluate and, of forced cuts, by --solve."""
        labels = [self.model.labels[unit - 1] for unit in cuts]
        split = "|".join(labels) or "whole"
        where = f"{split} {' '.join(settings.options)}"
        options = [*settings.options, "--format", "json"]
        solving = [*options, "--require", "layers:0..",
                   *(f"--require=cut:{label}" for label in labels)]
        if device_map:
            where += f" on {device_map}"
            options += ["--device-map", ",".join(map(str, device_map))]
        else:
            solving += ["--num-ipus", str(len(cuts) + 1)]
        own = self.model.evaluate(cuts, *settings.arguments, device_map,
                                  with_needs=self.has_effects)
        theirs = json.loads(self.run("--evaluate", split, *options) or '{"stages": []}')["stages"]
        self.equal("stages", where, len(theirs), len(own))
        ipus = device_map or range(len(own))
        for one, other, ipu in zip(theirs, own, ipus):
            stage = f"{where}: {other['from']} to {other['to']}"
            self.equal("units", stage, (one["unit_from"], one["unit_to"]),
                       (other["from"], other["to"]))
            self.equal("total_mem", stage, one["mem"]["total_mem"], other["total_bytes"])
            for name, value in (("tile", other["tile"]), ("step", other["step"]),
                                ("bytes", other["tile_bytes"]), *other["tile_parts"].items()):
                self.equal(f"peak {name}", stage, one["peak"][name], value)
            self.equal("fits", stage, (one["need_bytes"], one["limit_bytes"], one["fits"]),
                       (other["tile_bytes"], self.model.bytes_per_tile,
                        other["tile_bytes"] <= self.model.bytes_per_tile))
            if self.has_effects:
                for name, need in other["needs"].items():
                    self.equal(name, stage, one["needs"][name], need)
                self.equal("verdict", stage, one["needs"]["verdict"],
                           verdict_of(other["needs"], self.model.bytes_per_tile))
            if "passing" not in settings.effects:
                units = [unit for stage, place in zip(self.stages(cuts), ipus) if place == ipu
                         for unit in stage]
                self.equal("largest_variables", stage, one["peak"]["largest_variables"],
                           self.model.largest_variables(units, other["tile"], other["step"],
                                                        settings.schedule, settings.accumulators))
        if device_map:
            return
        answer = json.loads(self.run("--solve", *solving) or '{"stages": []}')
        if len(answer["stages"]) != len(own):  # the best has further cuts, or nothing fits
            return
        for one, other in zip(answer["stages"], own):
            self.solved(f"{where}: {other['from']} to {other['to']}, solved", one, other, settings)

    def stages(self, cuts):
        ends = [0, *cuts, self.model.num_units]
        return [range(*pair) for pair in zip(ends, ends[1:])]

    def solved(self, where, one, other, settings):
        self.equal("total_mem", where, one["mem"]["total_mem"], other["total_bytes"])
        self.equal("max_tile_mem", where, one["mem"]["max_tile_mem"], other["tile_bytes"])
        for name in SUMS:
            self.equal(name, where, one["mem"].get(name, 0), other["mem"][name])
        for key, own in (("tile", other["tile"]), ("step", other["step"]),
                         ("bytes", other["tile_bytes"]), *other["tile_parts"].items()):
            self.equal(f"peak {key}", where, one["peak"][key], own)
        self.equal("parameter_bytes", where, one["parameter_bytes"], other["mem"]["parameters"])
        self.equal("cut_bytes", where, one["cut_bytes"], other["cut_bytes"])

    def best_split(self, settings, num_ipus, asked_need=None):
        """The lowest peak, and the least traffic with that, over all splits."""
        model = self.model
        need = NEEDS.get(asked_need, "expected_bytes")
        known = {}

        def bytes_of(stage, behind):
            if (stage, behind) not in known:
                found = model.ipu([(stage, behind)], *settings.arguments,
                                  with_needs=bool(asked_need))
                known[stage, behind] = found["needs"][need] if asked_need else found["tile_bytes"]
            return known[stage, behind]

        best = None
        for number in range(num_ipus):
            for cuts in itertools.combinations(range(1, model.num_units), number):
                stages = self.stages(cuts)
                if all(any(unit in model.layers for unit in stage) for stage in stages):
                    worth = (max(bytes_of(stage, number - k) for k, stage in enumerate(stages)),
                             sum(map(model.cut_bytes, cuts)))
                    best = worth if best is None else min(best, worth)
        text = self.run("--solve", "--format", "json", "--num-ipus", str(num_ipus),
                        *settings.options, *(["--need", asked_need] if asked_need else []))
        totals = json.loads(text)["totals"] if text else None  # a profile without layers has none
        told = totals and (totals["memory"], totals["traffic"])
        self.equal("best split", f"{num_ipus} IPUs {' '.join(settings.options)} {asked_need}",
                   told, best)


def look(command, place, seed, number, features, order="steps"):
    """A few random splits of the profile, with random options, and the best one."""
    comparison = Comparison(command, place, "--effects" in features, "accumulators" in features,
                            order)
    if order == "steps":
        comparison.operations()
    num_units = comparison.model.num_units
    chance = random.Random(seed)

    def settings():
        return Settings(chance, comparison.has_effects, comparison.has_accumulators)

    for i in range(number):
        cuts = sorted(chance.sample(range(1, num_units), chance.randint(0, min(4, num_units - 1))))
        device_map = None
        if i % 4 == 3 and len(cuts) > 1:
            device_map = [chance.randrange(2) for _ in range(len(cuts) + 1)]
            device_map[:2] = 0, 1
        comparison.evaluation(cuts, settings(), device_map)
    for i in range(max(1, number // 6)):
        comparison.best_split(settings(), 3)
        if "--need" in features:
            comparison.best_split(settings(), 3,
                                  sorted(NEEDS)[i % 2])
    comparison.counts[SHORTENED] += comparison.model.shortened
    return comparison.counts, comparison.problems


def make_and_look(command, tool, arguments, seed, number, features):
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([tool, "--quiet", "--force", "--output", place, *arguments.split()],
                       check=True)
        counts, problems = look(command, place, seed, number, features)
        return counts, [problem.replace(place, f"mkprofile {arguments}") for problem in problems]


def shake(path, chance):
    """Changes sizes, lives, uses and the account of a profile at random. It is inconsistent
    then, but the model says what it needs all the same."""
    sql = sqlite3.connect(path)
    categories = {name: number for number, name in sql.execute(
        "SELECT id, name FROM var_categories")}
    code = {categories[name] for name in memory_model.GROUP_OF if name in categories}
    data = [number for number, in sql.execute(
        f"SELECT var_id FROM vars_info WHERE bitset & 1 AND category NOT IN "
        f"({', '.join(map(str, code))})")]
    classes = [number for number, in sql.execute("SELECT id FROM eq_classes")]
    for number, size, category in sql.execute(
            "SELECT var_id, size_bytes, category FROM vars_info WHERE bitset & 1").fetchall():
        if chance.random() < 0.2:
            sql.execute("UPDATE vars_info SET size_bytes = ? WHERE var_id = ?",
                        (chance.randint(size // 2, 2 * size + 8), number))
        if category not in code and chance.random() < 0.1:
            sql.execute("UPDATE vars_info SET equivalence_class = ? WHERE var_id = ?",
                        (chance.choice(classes), number))
    for row, begin, end in sql.execute(
            "SELECT rowid, step_id_from, step_id_to FROM eq_class_step").fetchall():
        if end - begin > 1 and chance.random() < 0.3:
            sql.execute("UPDATE eq_class_step SET step_id_from = ?, step_id_to = ? WHERE rowid = ?",
                        (*sorted(chance.sample(range(begin, end + 1), 2)), row))
    for row, in sql.execute("SELECT rowid FROM exchange_regions").fetchall():
        if chance.random() < 0.1:
            sql.execute("UPDATE OR IGNORE exchange_regions SET var_id = ? WHERE rowid = ?",
                        (chance.choice(data), row))
    for tile, in sql.execute("SELECT tile FROM memory_by_tile").fetchall():
        live = chance.choice([0, 1000, 3000])
        sql.execute("UPDATE memory_by_tile SET always_live_bytes = ?, not_always_live_max_bytes = "
                    "?, total = ?, total_including_gaps = ? WHERE tile = ?",
                    (live // 3, live - live // 3, chance.randint(900, 4000),
                     chance.randint(900, 5000), tile))
    for change in ("DELETE FROM memory_by_compute_set",
                   "UPDATE OR IGNORE memory_by_vertex_type SET code_bytes = NULL WHERE vertex_type "
                   "% 2",  # some writers allow no NULL
                   "UPDATE programs SET control_code_bytes_by_tile = NULL WHERE id % 5 = 0",
                   "UPDATE OR IGNORE program_type_do_exchange SET code_bytes_by_tile_rle = NULL",
                   "UPDATE programs SET debug_id = NULL WHERE id % 3 = 0"):
        if chance.random() < 0.3:
            sql.execute(change)
    sql.commit()
    sql.close()


def straddle(folder):
    """Gives half of the programs of an early layer that run after the turn to operations that it
    begins before: of an operation that has steps in both passes, all belongs to the first. What a
    later layer runs before the turn becomes that of the layer behind it: one only works
    backward."""
    model = memory_model.Model(folder)
    programs, operations = model.programs, model.operations

    def numbers(layer, steps):
        return [programs.debug_id[programs.step_program[step]] for step in model.own_steps[layer]
                if operations.step_operation[step] is not None and model.computes[step] and
                step in steps]

    before, after = range(model.turn), range(model.turn, model.num_steps)
    first, *others = model.layers
    moves = [(numbers(first, before)[0], sorted(set(numbers(first, after)))[::2])]
    if len(others) > 1:
        moves.append((numbers(others[1], after)[0], set(numbers(others[0], before))))
    sql = sqlite3.connect(os.path.join(folder, "profile.pop"))
    for to, moved in moves:
        sql.executemany("UPDATE programs SET debug_id = ? WHERE debug_id = ?",
                        [(to, number) for number in moved])
    sql.commit()
    sql.close()


def straddle_and_look(command, folder, seed, number, features):
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(folder, name), os.path.join(place, name))
        straddle(place)
        counts, problems = look(command, place, seed, number, features, "natural")
        return counts, [p.replace(place, f"{folder} with one operation in both passes")
                        for p in problems]


def shake_and_look(command, folder, seed, number, features):
    with tempfile.TemporaryDirectory() as place:
        for name in ("profile.pop", "debug.cbor"):
            shutil.copyfile(os.path.join(folder, name), os.path.join(place, name))
        shake(os.path.join(place, "profile.pop"), random.Random(seed))
        if "-inf" in os.path.basename(folder):
            # it trains by accident: no document says what its last layer's forward operations are
            features = features.replace("accumulators", "")
        counts, problems = look(command, place, seed, number, features)
        return counts, [p.replace(place, f"{folder} shaken by {seed}") for p in problems]


def look_without_debug(command, folder, seed, number, features):
    """Where only the programs' own names tell of layers."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copyfile(os.path.join(folder, "profile.pop"), os.path.join(place, "profile.pop"))
        counts, problems = look(command, place, seed, number, features)
        return counts, [p.replace(place, f"{folder} without debug.cbor") for p in problems]


def main():
    command, tool, *folders = sys.argv[1:]
    every = cases.takes_all()
    features = subprocess.run([command, "--help", "all"], stdout=subprocess.PIPE, check=True,
                              encoding="utf-8").stdout
    folders = [folder for folder in folders if os.path.exists(os.path.join(folder, "profile.pop"))]
    trained = [folder for folder in folders if folder.endswith("-train")]
    if not every:
        folders = folders[4::3]
    number = cases.chosen(2, 3, 5)
    counts, problems = collections.Counter(), []
    own = number, features
    looks = [(look, command, folder, seed, *own) for seed, folder in enumerate(folders)]
    shaken = [(shake_and_look, command, folder, seed, *own)
              for seed, folder in enumerate(cases.chosen(folders[:1], folders, 3 * folders), 300)]
    tasks = shaken[:1] + [(make_and_look, command, tool, kind, seed, *own)
                          for seed, kind in enumerate(cases.chosen(QUICK, KINDS[::2], KINDS), 100)]
    tasks += [(straddle_and_look, command, folder, 500, *own)
              for folder in trained[:None if every else 1]]
    tasks += looks + shaken[1:]
    if every:
        tasks += [(look_without_debug, command, folder, seed, *own)
                  for seed, folder in enumerate(folders, 200)]
    for found, wrong in cases.results(tasks, 4):
        counts += found
        problems += wrong
    for what, count in sorted(counts.items()):
        print(f"{count:8} {what}")
    compared = sum(counts.values()) - counts[SHORTENED]
    print(f"{len(tasks)} profiles, {compared} comparisons, {len(problems)} problems")
    if "accumulators" in features and not cases.is_enough(counts[SHORTENED]):
        problems.append("no gradient was complete before its range ended")
    print(*problems[:50], sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
