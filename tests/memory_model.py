#!/usr/bin/env python3
"""The full memory model, evaluated from the files of a profile alone: written from
docs/internals/memory-models.md and popliner/stage.h, as a second opinion on what the library finds.

    memory_model.py DIRECTORY [CUTS [SCHEDULE [RECOMPUTE]]]    CUTS like 'Head|1'

SPDX-License-Identifier: GPL-3.0-or-later
"""
import json
import os
import sqlite3
import sys
from itertools import accumulate

import profile_operations
from profile_relations import runs, varints

# What the compiler's variables of each group are called.
GROUPS = {
    "vertex_code": ("vertexCode",),
    "vertex_state": ("vertexInstanceState", "vertexFieldData", "copyDescriptor",
                     "vectorListDescriptor"),
    "exchange_code": ("internalExchangeCode",),
    "control_code": ("controlCode",),
}
GROUP_OF = {category: group for group, names in GROUPS.items() for category in names}
STATE_COLUMNS = ("vertex_data_bytes", "copy_ptr_bytes", "edge_ptr_bytes", "descriptor_bytes")
SPREAD_PER_MILLE = 34  # how much the largest tile of a stage changes with the planning
TRAINING_SCHEDULES = ("popart", "tf-grouped", "tf-interleaved", "sequential")
EFFECTS = ("layout", "passing", "buffers")


def bits(units):
    return sum(1 << unit for unit in units)


def copies(schedule, behind, with_buffers=False):
    """Of the stash of a stage with so many stages behind it."""
    if behind == 0:
        return 0
    if schedule == "popart":
        return 2 * behind + (0 if with_buffers else 1)
    if schedule == "tf-grouped":
        return 2 * behind + (1 if with_buffers else 0)
    return behind if schedule == "tf-interleaved" else 0


class Model:
    """A profile, made ready for measuring stages."""

    def __init__(self, directory):
        path = os.path.join(directory, "profile.pop")
        self.sql = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.operations, self.chain = profile_operations.read(directory)
        self.programs = self.operations.programs
        self.labels = self.chain.labels
        self.layers = [u for u, label in enumerate(self.labels) if label not in ("Head", "Tail")]
        self.num_units = len(self.labels)
        self.num_tiles, self.bytes_per_tile = next(self.sql.execute(
            "SELECT num_tiles, bytes_per_tile FROM target_info"))
        self.num_steps = len(self.programs.step_program)
        self.unit_programs = [set() for _ in self.labels]
        for operation, unit in self.chain.unit_of.items():
            self.unit_programs[unit] |= operation.programs
        self.own_steps = [[s for s, unit in enumerate(self.chain.step_unit) if unit == u]
                          for u in range(self.num_units)]
        self.find_passes()
        self.find_touches()
        self.read_variables()
        self.read_code()

    # ---- forward and backward ----

    def find_passes(self):
        programs = self.programs
        computes = [programs.type[p] in ("OnTileExecute", "DoExchange", "GlobalExchange")
                    for p in programs.step_program]
        # the branch of the control switch that computes most, and what is outside of it
        switch = next((s for s, p in enumerate(programs.step_program)
                       if programs.type[p] == "OnEveryTileSwitch"), None)
        branch = [None] * self.num_steps
        count = {}
        for step, parent in enumerate(programs.step_parent):
            if switch is not None and parent is not None:
                branch[step] = step if parent == switch else branch[parent]
            if branch[step] is not None:
                count[branch[step]] = count.get(branch[step], 0) + computes[step]
        main = max(count, key=lambda b: (count[b], -b), default=None)
        self.runs = [b is None or b == main for b in branch]
        self.computes = [c and r for c, r in zip(computes, self.runs)]
        computing = [u for u in self.layers if any(self.computes[s] for s in self.own_steps[u])]
        self.last_layer = computing[-1] if computing else None
        self.turn = self.num_steps
        self.trains = False
        if computing:
            turn = next(s for s in self.own_steps[self.last_layer] if self.computes[s])
            self.trains = any(s > turn and self.computes[s]
                              for u in computing[:-1] for s in self.own_steps[u])
            if self.trains:
                self.turn = turn

    def passes_of(self, unit, step):
        """(forward, backward) of a step of a unit"""
        if not self.trains or self.last_layer is None:
            return True, False
        if unit >= self.last_layer:
            return True, True
        return step < self.turn, step >= self.turn

    def first_step_of_pass(self, unit, backward):
        """Of those at which it computes; None if there is none."""
        return next((s for s in self.own_steps[unit] if self.computes[s] and self.operations.step_operation[s] is not None and
                     self.passes_of(unit, s)[backward]), None)

    # ---- what touches what ----

    def find_touches(self):
        """By variable: units that touch it, in the forward and in the backward pass"""
        programs = self.programs
        owned = set().union(*self.unit_programs)
        others = set().union(*(programs.touched.get(p, ()) for p in owned
                               if programs.type[p] != "StreamCopyMid"))
        touched = {p: found - others if programs.type[p] == "StreamCopyMid" else found
                   for p, found in programs.touched.items() if p in owned}
        self.touch, self.forward, self.backward, self.from_host = {}, {}, {}, set()
        for unit, own in enumerate(self.unit_programs):
            for program in own:
                for var in touched.get(program, ()):
                    self.touch[var] = self.touch.get(var, 0) | 1 << unit
        for step, program in enumerate(programs.step_program):
            operation = self.operations.step_operation[step]
            if self.runs[step]:
                self.from_host |= programs.from_host.get(program, set())
            if operation is None or not self.runs[step]:
                continue
            unit = self.chain.unit_of[operation]
            for table, is_there in zip((self.forward, self.backward), self.passes_of(unit, step)):
                if is_there:
                    for var in touched.get(program, ()):
                        table[var] = table.get(var, 0) | 1 << unit

    # ---- variables ----

    def read_variables(self):
        sql = self.sql
        is_always = {n: bool(a) for n, a in sql.execute("SELECT id, is_always_live FROM eq_classes")}
        self.ranges = {}
        for number, begin, end in sql.execute(
                "SELECT eq_class_id, step_id_from, step_id_to FROM eq_class_step"):
            self.ranges.setdefault(number, []).append((begin, end))
        categories = dict(sql.execute("SELECT id, name FROM var_categories"))
        names = dict(sql.execute("SELECT id, name FROM unlowered_vars"))
        self.has_accumulators = False
        zeros = [0] * self.num_tiles
        self.truth = {group: list(zeros) for group in GROUPS}
        self.always = [{} for _ in zeros]  # tile: {(touch, forward, is it of a user): bytes}
        self.live = [{} for _ in zeros]  # tile: {(touch, forward, backward, fed, class): bytes}
        for var, tile, size, number, category, unlowered in sql.execute(
                "SELECT var_id, tile, size_bytes, equivalence_class, category, unlowered_var_id "
                "FROM vars_info WHERE bitset IS NULL OR bitset & 1"):
            category = categories.get(category, "")
            if category in GROUP_OF:
                self.truth[GROUP_OF[category]][tile] += size
                continue
            touch = self.touch.get(var, 0)
            forward, backward = self.forward.get(var, 0), self.backward.get(var, 0)
            if is_always[number]:
                key = (touch, self.parameter_units(var), category == "variable")
                self.always[tile][key] = self.always[tile].get(key, 0) + size
                if "accum" in names.get(unlowered, "").lower():
                    self.has_accumulators = True
            else:
                key = (touch, forward, backward, var in self.from_host, number)
                self.live[tile][key] = self.live[tile].get(key, 0) + size

    def parameter_units(self, var):
        return self.forward.get(var, 0)

    def is_live(self, number, step):
        return any(begin <= step < end for begin, end in self.ranges.get(number, ()))

    def is_live_across(self, number, step):
        return self.is_live(number, step - 1) and self.is_live(number, step)

    # ---- code ----

    def read_code(self):
        zeros = [0] * self.num_tiles
        self.instances = {}  # compute set: {type: by tile}
        for number, kind, blob in self.sql.execute(
                "SELECT compute_set, vertex_type, instances_by_tile FROM vertex_instances"):
            self.instances.setdefault(number, {})[kind] = runs(blob) or zeros
        self.type_code = {kind: varints(blob) or zeros for kind, blob in self.sql.execute(
            "SELECT vertex_type, code_bytes FROM memory_by_vertex_type")}
        self.set_state = {}
        for number, *blobs in self.sql.execute(
                f"SELECT compute_set, {', '.join(STATE_COLUMNS)} FROM memory_by_compute_set"):
            if any(blob is not None for blob in blobs):
                self.set_state[number] = [sum(column) for column in zip(
                    *(runs(blob) or zeros for blob in blobs))]
        sizes = dict(self.sql.execute("SELECT id, size FROM vertex_types"))
        for number, types in self.instances.items():
            if number not in self.set_state:
                self.set_state[number] = [sum(column) for column in zip(
                    *([sizes[kind] * n for n in by_tile] for kind, by_tile in types.items()))]
        self.exchange_code = {p: runs(blob) or zeros for p, blob in self.programs.joined(
            self.sql, "DoExchange", "SELECT id, code_bytes_by_tile_rle "
            "FROM program_type_do_exchange")}
        self.control_code = {p: runs(blob) or zeros
                             for p, blob in self.programs.control_code.items()
                             if not self.programs.children[p]}
        self.explained_by_all = self.explained(range(self.num_units))

    def explained(self, units):
        """Of each group by tile, what the programs of the units are seen to need."""
        programs = set().union(*(self.unit_programs[u] for u in units))
        sets = {self.programs.compute_set[p] for p in programs if p in self.programs.compute_set}
        sums = {group: [0] * self.num_tiles for group in GROUPS}

        def add(group, by_tile):
            sums[group] = [a + b for a, b in zip(sums[group], by_tile)]

        kinds = {}  # vertex type: whether it has an instance, by tile
        for number in sets:
            add("vertex_state", self.set_state.get(number, [0] * self.num_tiles))
            for kind, by_tile in self.instances.get(number, {}).items():
                old = kinds.get(kind, [False] * self.num_tiles)
                kinds[kind] = [a or b > 0 for a, b in zip(old, by_tile)]
        for kind, by_tile in kinds.items():
            if kind in self.type_code:
                add("vertex_code", [b * there for b, there in zip(self.type_code[kind], by_tile)])
        for group, table in (("exchange_code", self.exchange_code),
                             ("control_code", self.control_code)):
            for program in programs:
                if program in table:
                    add(group, table[program])
        return sums

    # ---- one stage ----

    def stash_copy(self, stage, recompute):
        """By tile: one copy of what the stage keeps from its forward to its backward pass."""
        mask, earlier = bits(stage), (1 << stage[0]) - 1
        later = ~(mask | earlier)
        kept = [0] * self.num_tiles
        if not self.trains:
            return kept
        end = self.first_step_of_pass(stage[-1] + 1, False)
        begin = min(s for s in (self.first_step_of_pass(u, False) for u in stage) if s is not None)
        for tile, live in enumerate(self.live):
            for (_, forward, backward, fed, number), size in live.items():
                if not forward & mask:
                    continue
                lives_on = backward & mask and self.is_live_across(number, self.turn)
                is_input = (forward & earlier or fed) and self.is_live_across(number, begin)
                is_output = forward & later and self.is_live_across(number, end)
                if (lives_on and recompute == "none" or recompute != "none" and is_input or
                        recompute == "standard" and (lives_on or is_output)):
                    kept[tile] += size
        return kept

    def crossing(self, unit, backward):
        """By tile: what crosses the cut before a unit, forward or backward."""
        sums = [0] * self.num_tiles
        front = (1 << unit) - 1
        moment = self.first_step_of_pass(unit - 1 if backward else unit, backward)
        if moment is None or backward and not self.trains:
            return sums
        for tile, live in enumerate(self.live):
            for (_, forward, behind, _, number), size in live.items():
                touch = behind if backward else forward
                if not (touch & front and touch & ~front and self.is_live_across(number, moment)):
                    continue
                if backward and (forward & front and forward & ~front and
                                 self.is_live_across(number, self.turn)):
                    continue
                sums[tile] += size
        return sums

    def cut_bytes(self, unit):
        return sum(self.crossing(unit, False)) + sum(self.crossing(unit, True))

    def measure(self, stage, behind=0, schedule="none", recompute="none"):
        """What a stage, a range of units, needs by the model alone, by tile."""
        mask = bits(stage)
        steps = sorted(s for u in stage for s in self.own_steps[u])
        explained = self.explained(stage)
        count = copies(schedule, behind)
        one_copy = self.stash_copy(stage, recompute) if count else [0] * self.num_tiles
        tiles = []
        for tile in range(self.num_tiles):
            result = {"unexplained_always_live": 0, "parameters": 0}
            for group in GROUPS:
                truth = self.truth[group][tile]
                result[group] = min(explained[group][tile], truth)
                result["unexplained_always_live"] += max(
                    0, truth - self.explained_by_all[group][tile])
            own = free = 0
            for (touch, _, _), size in self.always[tile].items():
                own += size if touch & mask else 0
                free += size if not touch else 0
            result["parameters"] = own
            result["unexplained_always_live"] += free
            change, change_free = [0] * (self.num_steps + 1), [0] * (self.num_steps + 1)
            for (touch, _, _, _, number), size in self.live[tile].items():
                if touch & mask or not touch:
                    for begin, end in self.ranges.get(number, ()):
                        change[begin] += size
                        change[end] -= size
                        if not touch:
                            change_free[begin] += size
                            change_free[end] -= size
            curve = list(accumulate(change))
            step = max(steps, key=lambda s: (curve[s], -s))
            free = sum(change_free[:step + 1])
            result["step"] = step
            result["variables"] = own + curve[step] - free
            result["unexplained"] = result["unexplained_always_live"] + free
            result["stash"] = count * one_copy[tile]
            result["total"] = sum(result[name] for name in (*GROUPS, "variables", "unexplained",
                                                            "stash"))
            tiles.append(result)
        return tiles

    def evaluate(self, first_units, schedule="none", recompute="none"):
        """The stages of a split, of which the later ones begin with these units, summed up."""
        ends = [0, *first_units, self.num_units]
        stages = []
        for k, (begin, end) in enumerate(zip(ends, ends[1:])):
            tiles = self.measure(range(begin, end), len(ends) - 2 - k, schedule, recompute)
            worst = max(range(self.num_tiles), key=lambda t: (tiles[t]["total"], -t))
            names = (*GROUPS, "variables", "unexplained", "unexplained_always_live", "stash",
                     "parameters")
            stages.append({
                "from": self.labels[begin], "to": self.labels[end - 1],
                "total_bytes": sum(t["total"] for t in tiles),
                "tile": worst, "tile_bytes": tiles[worst]["total"], "step": tiles[worst]["step"],
                "tile_unexplained": tiles[worst]["unexplained"],
                "tile_stash": tiles[worst]["stash"],
                "mem": {name: sum(t[name] for t in tiles) for name in names},
                "cut_bytes": self.cut_bytes(end) if end < self.num_units else 0,
            })
        return stages


if __name__ == "__main__":
    model = Model(sys.argv[1])
    cuts = [model.labels.index(label) + 1 for label in sys.argv[2].split("|")] if sys.argv[
        2:] else []
    print(json.dumps(model.evaluate(cuts, *sys.argv[3:]), indent=4))
