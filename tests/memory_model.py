#!/usr/bin/env python3
"""The full memory model, evaluated from the files of a profile alone: written from
docs/internals/memory-models.md and popliner/stage.h, as a second opinion on what the library finds.

    memory_model.py DIRECTORY [CUTS [SCHEDULE [RECOMPUTE [EFFECTS [ACCUMULATORS]]]]]

CUTS are like 'Head|1' (or 'whole'), EFFECTS like 'layout,passing,buffers' (or 'none').

SPDX-License-Identifier: GPL-3.0-or-later
"""
import functools
import json
import os
import sqlite3
import sys
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, sqrt

import profile_operations
from profile_relations import runs, varints

# What the compiler's variables of each group are called.
GROUPS = {
    "vertex_code": ("vertexCode",),
    "vertex_state": ("vertexInstanceState", "vertexFieldData", "copyDescriptor"),
    "exchange_code": ("internalExchangeCode",),
    "control_code": ("controlCode",),
}
LOW_GROUPS = ("vertex_code", "exchange_code", "control_code")  # executable, below all data
GROUP_OF = {category: group for group, names in GROUPS.items() for category in names}
OF_SETS_ALONE = ("vertexFieldData", "copyDescriptor")  # what sizes of vertices do not tell
STATE_COLUMNS = ("vertex_data_bytes", "copy_ptr_bytes", "edge_ptr_bytes", "descriptor_bytes")
EXECUTABLE = 8  # in the bitset of a variable
RESERVED = 16  # bytes at the beginning of each tile
FEW_TILES = 128
LEAST_OF_FEW_TILES, LEAST = Fraction(850, 1000), Fraction(880, 1000)
MOST, MEAN, DEVIATIONS = Fraction(1020, 1000), 1.135, 1.5
MORE_CODE = Fraction(117, 100)  # of a stage, at most
TRAINING_SCHEDULES = ("popart", "tf-grouped", "tf-interleaved", "sequential")
BUFFERED_SCHEDULES = ("popart", "tf-grouped")
LEAST_COPIES = {"popart": 2, "tf-grouped": 2, "tf-interleaved": 1}  # per stage after
EFFECTS = ("layout", "passing", "buffers")
ACCUMULATORS = ("none", "fp16", "fp32", "auto")


def bits(units):
    return sum(1 << unit for unit in units)


def copies(schedule, behind, with_buffers=False):
    """Of the stash of a stage with so many stages after it."""
    if schedule == "popart":
        return 2 * behind + 1 if behind else 0
    if schedule == "tf-grouped":
        return 2 * behind + (1 if with_buffers else 0)
    return behind if schedule == "tf-interleaved" else 0


@functools.lru_cache(maxsize=None)
def passes_by(touch, mask):
    """Whether one of the units lies between the first and the last one that touch something."""
    lowest, highest = touch & -touch, 1 << max(0, touch.bit_length() - 1)
    return bool(mask & (highest - 1) & ~(2 * lowest - 1))


class Model:
    """A profile, made ready for measuring stages."""

    def __init__(self, directory, are_numbers=False):
        path = os.path.join(directory, "profile.pop")
        self.sql = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.operations, self.chain = profile_operations.read(directory, are_numbers)
        self.programs = self.operations.programs
        self.labels = self.chain.labels
        self.layers = [u for u, label in enumerate(self.labels) if label not in ("Head", "Tail")]
        self.num_units = len(self.labels)
        self.num_tiles, tiles_per_ipu, self.bytes_per_tile = next(self.sql.execute(
            "SELECT num_tiles, tiles_per_ipu, bytes_per_tile FROM target_info"))
        self.least = LEAST_OF_FEW_TILES if tiles_per_ipu < FEW_TILES else LEAST
        self.num_steps = len(self.programs.step_program)
        self.unit_programs = [set() for _ in self.labels]
        for operation, unit in self.chain.unit_of.items():
            self.unit_programs[unit] |= operation.programs
        self.own_steps = [[s for s, unit in enumerate(self.chain.step_unit) if unit == u]
                          for u in range(self.num_units)]
        self.find_passes()
        self.find_touches()
        self.find_gradients()
        self.read_variables()
        self.loss = self.find_loss()
        self.find_waits()
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

        self.begins = {operation: operation.first_step for operation in self.operations.list}
        for step in reversed(range(self.num_steps)):
            operation = self.operations.step_operation[step]
            if operation is not None and self.runs[step]:
                self.begins[operation] = step

    def passes_of(self, unit, step):
        """(forward, backward) of what begins at a running step and belongs to a unit."""
        if not self.trains:
            return True, False
        if unit >= self.last_layer:
            return True, True
        return step < self.turn, step >= self.turn

    def first_step_of_pass(self, unit, backward):
        """Of those at which it computes; None if there is none."""
        own = self.own_steps[unit] if unit < self.num_units else []
        return next((s for s in own
                     if self.computes[s] and self.operations.step_operation[s] is not None and
                     self.passes_of(unit, s)[backward]), None)

    def first_step_from(self, units, backward):
        """That of the first of the units that has such a pass."""
        steps = (self.first_step_of_pass(unit, backward) for unit in units)
        return next((step for step in steps if step is not None), None)

    # ---- what touches what ----

    def find_touches(self):
        """By variable: the units that touch it, also in the forward and in the backward pass, those
        of which it is a parameter that has a gradient."""
        programs = self.programs
        owned = set().union(*self.unit_programs)
        others = set().union(*(programs.touched.get(p, ()) for p in owned
                               if programs.type[p] != "StreamCopyMid"))
        touched = {p: found - others if programs.type[p] == "StreamCopyMid" else found
                   for p, found in programs.touched.items() if p in owned}

        def add(table, unit, program):
            for var in touched.get(program, ()):
                table[var] = table.get(var, 0) | 1 << unit

        self.touch, self.forward, self.backward, self.trained = {}, {}, {}, {}
        for unit, own in enumerate(self.unit_programs):
            for program in own:
                add(self.touch, unit, program)
        for step, program in enumerate(programs.step_program):
            operation = self.operations.step_caller[step]
            if operation is not None:
                unit = self.chain.unit_of[operation]
                is_forward, is_backward = self.passes_of(unit, self.begins[operation])
                if is_forward:
                    add(self.forward, unit, program)
                if is_backward:
                    add(self.backward, unit, program)
        if not self.trains:
            return
        comes_back = self.first_step_from(range(self.last_layer - 1, -1, -1), True)
        updated = {}
        for step, program in enumerate(programs.step_program):
            operation = self.operations.step_operation[step]
            if operation is not None:
                unit = self.chain.unit_of[operation]
                is_forward, is_backward = self.passes_of(unit, self.begins[operation])
                if (self.begins[operation] < comes_back if unit >= self.last_layer
                        else is_forward):
                    add(self.trained, unit, program)
                if is_backward:
                    add(updated, unit, program)
        self.trained = {var: units for var, units in self.trained.items() if var in updated}

    # ---- gradients ----

    def find_gradients(self):
        """By variable: the last step at which something else than updates touches a gradient."""
        programs, operations = self.programs, self.operations
        ends = {operation: operation.last_step for operation in operations.list}
        for step, operation in enumerate(operations.step_operation):
            if operation is not None and self.runs[step]:
                ends[operation] = step
        lasting, kept = set(), set()
        for var, is_always, category in self.sql.execute(
                "SELECT v.var_id, e.is_always_live, c.name FROM vars_info v "
                "JOIN eq_classes e ON e.id = v.equivalence_class "
                "LEFT JOIN var_categories c ON c.id = v.category"):
            if is_always:
                lasting.add(var)
                if category == "variable":
                    kept.add(var)
        updated, after, is_mixed = set(), {}, set()
        for operation in sorted(operations.list, key=lambda o: -ends[o]):
            touched = set().union(*(programs.touched.get(p, ()) for p in operation.programs
                                    if programs.type[p] != "StreamCopyMid"))
            is_backward = self.begins[operation] >= self.turn
            if is_backward and touched & kept and all(
                    after.get(var, -1) <= ends[operation] for var in touched - lasting):
                updated |= touched - lasting
                continue
            for var in touched - lasting:
                after.setdefault(var, ends[operation])
                if not is_backward:
                    is_mixed.add(var)
        self.complete = {var: step for var, step in after.items()
                         if var in updated and var not in is_mixed}
        self.shortened = 0  # ranges in what was measured

    # ---- variables ----

    def read_variables(self):
        sql = self.sql
        is_always = dict(sql.execute("SELECT id, is_always_live FROM eq_classes"))
        self.ranges = {}
        for number, begin, end in sql.execute(
                "SELECT eq_class_id, step_id_from, step_id_to FROM eq_class_step"):
            self.ranges.setdefault(number, []).append((begin, end))
        categories = dict(sql.execute("SELECT id, name FROM var_categories"))
        names = dict(sql.execute("SELECT id, name FROM unlowered_vars"))
        has_state, = sql.execute("SELECT EXISTS (SELECT * FROM memory_by_compute_set)").fetchone()
        group_of = {category: group for category, group in GROUP_OF.items()
                    if has_state or category not in OF_SETS_ALONE}
        self.has_accumulators = False
        zeros = [0] * self.num_tiles
        self.truth = {group: list(zeros) for group in GROUPS}
        self.always = [{} for _ in zeros]  # tile: {(touch, trained, is it `variable`): bytes}
        # tile: {(touch, forward, backward, fed, the step it is complete, class): bytes}
        self.live = [{} for _ in zeros]
        self.by_tile = [[] for _ in zeros]
        executable, of_groups, end_of_code = list(zeros), list(zeros), list(zeros)
        lowest_data = [sys.maxsize] * self.num_tiles
        # tile: (is it always live data, the places that must not share an element, its own), ...
        placed = [[] for _ in zeros]
        for var, tile, size, number, category, unlowered, bitset, address, apart in sql.execute(
                "SELECT var_id, tile, size_bytes, equivalence_class, category, unlowered_var_id, "
                "bitset, offset, element_constraints "
                "FROM vars_info ORDER BY var_id"):
            category, name = categories.get(category, ""), names.get(unlowered, "")
            is_data = not (bitset or 0) & EXECUTABLE
            if bitset is not None and not bitset & 1:
                placed[tile].append(None)  # it has a place, but no address
                continue
            placed[tile].append((is_data and is_always[number],
                                 varints(apart) if is_data and not is_always[number] else (),
                                 size, address, self.touch.get(var, 0)))
            if not is_data:
                executable[tile] += size
                end_of_code[tile] = max(end_of_code[tile], address + size)
            elif size:
                lowest_data[tile] = min(lowest_data[tile], address)
            if is_always[number] and group_of.get(category) in LOW_GROUPS:
                of_groups[tile] += size
            if is_always[number] and category == "variable" and "accum" in name.lower():
                self.has_accumulators = True
            if category in group_of:
                self.truth[group_of[category]][tile] += size
                continue
            touch = self.touch.get(var, 0)
            self.by_tile[tile].append((touch, None if is_always[number] else number,
                                       self.complete.get(var), size, name, category))
            if is_always[number]:
                table = self.always[tile]
                key = (touch, self.trained.get(var, 0), category == "variable")
            else:
                table = self.live[tile]
                key = (touch, self.forward.get(var, 0), self.backward.get(var, 0),
                       var in self.programs.fed, self.complete.get(var), number)
            table[key] = table.get(key, 0) + size
        sql.row_factory = sqlite3.Row
        target = sql.execute("SELECT * FROM target_info").fetchone()
        sql.row_factory = None
        columns = target.keys() if target else ()
        self.elements = varints(target["memoryElementOffsets"]) \
            if "memoryElementOffsets" in columns else []
        # executable bytes that are not of the groups; None if the tile does not follow the rule
        self.more_executable = [None] * self.num_tiles
        self.layouts = [None] * self.num_tiles  # (holes, what is wasted for each live byte)
        self.apart = [[] for _ in zeros]  # (size, touch) of the variables that lie apart
        for tile, total, end, always, most in sql.execute(
                "SELECT tile, total, total_including_gaps, always_live_bytes, "
                "not_always_live_max_bytes FROM memory_by_tile"):
            live = always + (most or 0)
            if live > 0:
                total = max(total, live)
                self.layouts[tile] = (max(0, end - total), Fraction(total - live, live))
                code = executable[tile]
                if end_of_code[tile] <= lowest_data[tile]:
                    code = max(code, end_of_code[tile] - RESERVED)
                left = self.left_by_code(code)
                gap, self.apart[tile] = self.lying_apart(placed[tile])
                holes = end - total - left - gap
                if self.elements and code and holes >= 0 and lowest_data[tile] >= code + left:
                    self.layouts[tile] = (holes, self.layouts[tile][1])
                    self.more_executable[tile] = code - of_groups[tile]

    @staticmethod
    def lying_apart(placed):
        """Of a tile: what is unused below the variables that lie apart, if they are the last, and
        each one's size and touch."""
        parts = ([], [])
        for _, places, *row in filter(None, placed):
            parts[any(p < len(placed) and placed[p] and placed[p][0] for p in places)].append(row)
        end = max((address + size for size, address, _ in parts[0]), default=0)
        begin = min((address for _, address, _ in parts[1] if address >= end), default=end)
        return begin - end, [(size, touch) for size, _, touch in parts[1]]

    def element_from(self, address):
        """The first address from this one on at which an element begins, or this one."""
        return min((e for e in self.elements if e >= address), default=address)

    def left_by_code(self, executable):
        """Up to the first element without code, and the bytes that are reserved below the code."""
        return self.element_from(RESERVED + executable) - executable if executable else 0

    def is_live(self, number, step, complete=None):
        return any(begin <= step < end and (complete is None or not begin <= complete < step)
                   for begin, end in self.ranges.get(number, ()))

    def is_live_across(self, number, step):
        return (step is not None and self.is_live(number, step - 1) and
                self.is_live(number, step))

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

    # ---- what a stage keeps, and what crosses a cut ----

    def stash_copy(self, stage, recompute):
        """By tile: one copy of what a stage keeps of a micro-batch until its backward pass."""
        mask, earlier = bits(stage), (1 << stage[0]) - 1
        later = ~(mask | earlier)
        kept = [0] * self.num_tiles
        if not self.trains:
            return kept
        begin = self.first_step_from(range(stage[0], self.num_units), False)
        end = self.first_step_from(range(stage[-1] + 1, self.num_units), False)
        for tile, live in enumerate(self.live):
            for (_, forward, backward, fed, _, number), size in live.items():
                if not forward & mask:
                    continue
                lives_on = backward & mask and self.is_live_across(number, self.loss)
                is_input = fed or forward & earlier and self.is_live_across(number, begin)
                is_output = forward & later and self.is_live_across(number, end)
                if (is_input if recompute == "full" else lives_on if recompute == "none" else
                        lives_on or is_input or is_output):
                    kept[tile] += size
        return kept

    def find_loss(self):
        """The step from which on the last layer's pass is backward."""
        if not self.trains:
            return self.turn
        end = self.first_step_from(range(self.last_layer - 1, -1, -1), True)
        numbers = {number for live in self.live for *_, number in live}
        own = [number for number in numbers if not self.is_live_across(number, self.turn)]
        return max(range(self.turn, end),
                   key=lambda step: (sum(self.is_live_across(c, step) for c in own), -step))

    def find_waits(self):
        """By class: the steps between its last user before the loss and the first from it on."""
        programs = self.programs
        number_of = dict(self.sql.execute(
            "SELECT var_id, equivalence_class FROM vars_info WHERE bitset IS NULL OR bitset & 1"))
        self.waits = {}
        for step, program in enumerate(programs.step_program):
            if programs.type[program] == "StreamCopyMid":
                continue
            for number in {number_of[var] for var in programs.touched.get(program, ())
                           if var in number_of}:
                begin, end = self.waits.get(number, (0, self.num_steps))
                self.waits[number] = (step + 1, end) if step < self.loss else (
                    begin, min(end, step))

    def at_work(self, stage):
        """By tile: the most that is kept, and is itself live and used, at a step of a stage."""
        kept = [[0] * (self.num_steps + 1) for _ in self.live]
        for tile, live in enumerate(self.live):
            for (_, forward, backward, *_, number), size in live.items():
                if not (forward and backward and self.is_live_across(number, self.loss)):
                    continue
                begin, end = self.waits[number]
                for first, last in self.ranges[number]:
                    leaves = min(max(first, begin), last)
                    for a, b in ((first, leaves), (min(max(leaves, end), last), last)):
                        kept[tile][a] += size
                        kept[tile][b] -= size
        steps = [step for unit in stage for step in self.own_steps[unit]]
        return [max(curve[s] for s in steps) for curve in map(
            lambda changes: list(accumulate(changes)), kept)]

    def crossing(self, unit, backward):
        """By tile: what crosses the cut before a unit, forward or backward."""
        sums = [0] * self.num_tiles
        front = (1 << unit) - 1
        since = self.first_step_from(range(unit, self.num_units), False)
        moment = self.first_step_from(range(unit - 1, -1, -1), True) if backward else since
        if moment is None or backward and not (self.trains and unit <= self.last_layer):
            return sums
        for tile, live in enumerate(self.live):
            for (_, forward, behind, *_, number), size in live.items():
                touch = behind if backward else forward
                if not (touch & front and touch & ~front and self.is_live_across(number, moment)):
                    continue
                if backward and (forward & front and forward & ~front and
                                 self.is_live_across(number, since)):
                    continue  # it is on both sides since the forward pass
                sums[tile] += size
        return sums

    def cut_bytes(self, unit):
        return sum(self.crossing(unit, False)) + sum(self.crossing(unit, True))

    # ---- the stages of one IPU ----

    def share(self, schedule, accumulators):
        """Of the bytes of parameters: those of the accumulators that are added."""
        if schedule not in TRAINING_SCHEDULES or not self.trains:
            return 0
        return {"none": 0, "fp16": 1, "fp32": 2, "auto": 0 if self.has_accumulators else 1}[
            accumulators]

    def measure(self, stages, schedule="none", recompute="none", effects=(), accumulators="none"):
        """By tile, what the stages of an IPU need, each given as its units and the number of stages
        after it. Without layout, which `laid_out` adds."""
        units = [unit for stage, _ in stages for unit in stage]
        mask = bits(units)
        steps = sorted(step for unit in units for step in self.own_steps[unit])
        before = [step for step in steps if step < self.turn]
        explained = self.explained(units)
        stored = []  # of each stage: the number of copies, and one copy by tile
        away = [0] * self.num_tiles  # what is in the stash alone meanwhile
        sent_back, sent_on = [0] * self.num_tiles, [0] * self.num_tiles
        buffers = "buffers" in effects and schedule in BUFFERED_SCHEDULES and self.trains
        for stage, behind in stages:
            count = copies(schedule, behind, buffers)
            stored.append((count, self.stash_copy(stage, recompute) if count
                           else [0] * self.num_tiles))
            if buffers and schedule == "popart" and recompute == "none" and count:
                away = [sum(column) - min(column[1], most) for *column, most in zip(
                    away, self.stash_copy(stage, recompute), self.at_work(stage))]
            if buffers and stage[-1] + 1 < self.num_units:
                for sums, backward in ((sent_back, True), (sent_on, False)):
                    for tile, size in enumerate(self.crossing(stage[-1] + 1, backward)):
                        sums[tile] += size
        share = self.share(schedule, accumulators)
        until_complete = share > 0 and not self.has_accumulators
        tiles = []
        for tile in range(self.num_tiles):
            result = {"unexplained_always_live": 0, "parameters": 0, "accumulators": 0,
                      "variables": 0, "always_live": 0, "buffers": 0, "layout": 0,
                      "stored": [(count, copy[tile]) for count, copy in stored]}
            result["stash"] = sum(count * copy for count, copy in result["stored"])
            for group in GROUPS:
                truth = self.truth[group][tile]
                result[group] = min(explained[group][tile], truth)
                result["unexplained_always_live"] += max(
                    0, truth - self.explained_by_all[group][tile])
            result["executable"] = 0
            if self.more_executable[tile] is not None:
                result["executable"] = max(0, self.more_executable[tile] + sum(
                    result[g] + max(0, self.truth[g][tile] - self.explained_by_all[g][tile])
                    for g in LOW_GROUPS))
            for (touch, trained, is_variable), size in self.always[tile].items():
                result["variables"] += size if touch & mask else 0
                result["always_live"] += size if touch & mask else 0
                result["parameters"] += size if is_variable and touch & mask else 0
                result["unexplained_always_live"] += size if not touch else 0
                result["accumulators"] += share * size if is_variable and trained & mask else 0
            result["lasting"] = result["always_live"] + result["accumulators"] + sum(
                size for (touch, *_), size in self.always[tile].items() if not touch)
            result["apart"] = max((size for size, touch in self.apart[tile] if touch & mask),
                                  default=None)
            own, free = [0] * (self.num_steps + 1), [0] * (self.num_steps + 1)
            for (touch, forward, backward, _, complete, number), size in self.live[tile].items():
                first, last = 0, self.num_steps
                if touch and not touch & mask:
                    if "passing" not in effects:
                        continue
                    if not passes_by(forward, mask):
                        first = self.turn
                    if not passes_by(backward, mask) or self.is_live_across(number, self.turn):
                        last = self.turn
                for begin, end in self.ranges.get(number, ()):
                    if until_complete and complete is not None and begin <= complete < end - 1:
                        end = complete + 1
                        self.shortened += 1
                    begin, end = max(begin, first), min(end, last)
                    if begin < end:
                        change = own if touch else free
                        change[begin] += size
                        change[end] -= size
            own, free = list(accumulate(own)), list(accumulate(free))
            around = (sent_back[tile], sent_on[tile])
            step = max(steps, key=lambda s: (own[s] + free[s] + around[s >= self.turn], -s))
            result["step"] = step
            result["variables"] += own[step]
            result["buffers"] += around[step >= self.turn]
            result["unexplained"] = result["unexplained_always_live"] + free[step]
            result["free"] = free[step]
            result["by_model"] = sum(result[name] for name in (
                *GROUPS, "variables", "unexplained", "buffers", "accumulators"))
            result["away"] = min(away[tile], result["by_model"])
            result["by_model"] -= result["away"]
            result["total"] = result["by_model"] + result["stash"]
            result["stash"] -= result["away"]
            tiles.append(result)
        return tiles

    def once_and_copies(self, tile, holes, ratio, more_code=1):
        """What a tile of `measure` needs once, with a factor for its code, and of each stage the
        number of copies and what one needs."""
        code = ceil(tile["executable"] * more_code)
        data = code + self.left_by_code(code)  # where it begins
        once = tile["by_model"] + data - tile["executable"] + holes + ceil(tile["by_model"] * ratio)
        if code and tile["apart"] is not None:
            once = max(once, self.element_from(data + tile["lasting"]) + tile["apart"])
        return once, [(count, copy + ceil(copy * ratio)) for count, copy in tile["stored"]]

    def laid_out(self, tile, holes, ratio):
        """A tile of `measure` with what its layout wastes."""
        once, stored = self.once_and_copies(tile, holes, ratio)
        total = once + sum(count * copy for count, copy in stored)
        return {**tile, "total": total, "layout": total - tile["total"]}

    def at_least(self, stages, schedule, recompute, effects, accumulators):
        """Without layout, buffers and accumulators."""
        least = 0
        factor = self.least
        tiles = self.measure(stages, schedule, recompute, [e for e in effects if e == "passing"],
                             accumulators)
        stored = [(LEAST_COPIES.get(schedule, 0) * behind, self.stash_copy(stage, recompute))
                  for stage, behind in stages]
        for number, tile in enumerate(tiles):
            base = tile["by_model"] - tile["free"] - tile["accumulators"]
            least = max(least, floor(base * factor) + sum(
                count * floor(copy[number] * factor) for count, copy in stored))
        return least

    def at_most(self, stages, schedule, recompute, effects, accumulators):
        """With buffers and more code: the fullest tile, or what all tiles tell of the fullest."""
        tiles = self.measure(stages, schedule, recompute, ["buffers", *effects], accumulators)
        unchanged = [{**tile, "by_model": tile["by_model"] + tile["away"]} for tile in tiles]
        # of several stages one copy, with all that they store
        copies = tiles[0]["stored"][0][0] if len(stages) == 1 else 1

        def laid_out(tile, layout):
            once, stored = self.once_and_copies(tile, *(layout or (0, 0)), MORE_CODE)
            return ceil(once * MOST), sum((count if len(stages) > 1 else 1) * ceil(copy * MOST)
                                          for count, copy in stored)

        needs, others = ([laid_out(tile, layout) for tile, layout in zip(some, self.layouts)]
                         for some in (tiles, unchanged))

        def most(sizes):
            middle = sum(sizes) / len(sizes)
            units = [(size + 32) // 64 * 64 for size in sizes]
            squares = sum(unit ** 2 for unit in units) / len(sizes)
            own = sum(units) / len(sizes)
            return ceil(MEAN * (middle + DEVIATIONS * sqrt(max(0, squares - own * own))))

        once, copy = map(most, zip(*needs))
        whole = most([a for a, _ in others])
        together = max(whole, min(whole, once) + copies * copy,
                       *(b + copies * k for b, k in needs))
        alone = [together] if len(stages) == 1 else [
            self.at_most([stage], schedule, recompute, effects, accumulators) for stage in stages]
        return max(min(together, sum(alone)), max(alone))

    def ipu(self, stages, schedule="none", recompute="none", effects=(), accumulators="none",
            with_needs=True):
        """What the stages of an IPU need, over all tiles."""
        tiles = self.measure(stages, schedule, recompute, effects, accumulators)
        if "layout" in effects:
            tiles = [tile if layout is None else self.laid_out(tile, *layout)
                     for tile, layout in zip(tiles, self.layouts)]
        worst = max(range(self.num_tiles), key=lambda t: (tiles[t]["total"], -t))
        names = (*GROUPS, "variables", "unexplained", "unexplained_always_live", "stash",
                 "parameters", "accumulators", "buffers", "layout")
        return {
            "total_bytes": sum(tile["total"] for tile in tiles),
            "tile": worst, "tile_bytes": tiles[worst]["total"], "step": tiles[worst]["step"],
            "tile_parts": {
                "always_live_bytes": tiles[worst]["always_live"],
                "live_bytes": tiles[worst]["variables"] - tiles[worst]["always_live"],
                "code_bytes": sum(tiles[worst][group] for group in GROUPS),
                "buffer_bytes": tiles[worst]["buffers"],
                "accumulator_bytes": tiles[worst]["accumulators"],
                "unexplained_bytes": tiles[worst]["unexplained"],
                "stash_bytes": tiles[worst]["stash"], "layout_bytes": tiles[worst]["layout"]},
            "mem": {name: sum(tile[name] for tile in tiles) for name in names},
            "needs": {
                "at_least_bytes": self.at_least(stages, schedule, recompute, effects,
                                                accumulators),
                "expected_bytes": tiles[worst]["total"],
                "at_most_bytes": self.at_most(stages, schedule, recompute, effects, accumulators),
            } if with_needs else None,
        }

    def evaluate(self, first_units, schedule="none", recompute="none", effects=(),
                 accumulators="none", device_map=None, with_needs=True):
        """The stages of a split, of which the later ones begin with these units. Those of one IPU
        need together what each of them tells."""
        ends = [0, *first_units, self.num_units]
        stages = [(range(begin, end), len(ends) - 2 - k)
                  for k, (begin, end) in enumerate(zip(ends, ends[1:]))]
        device_map = device_map or range(len(stages))
        needs = {ipu: self.ipu([s for s, other in zip(stages, device_map) if other == ipu],
                               schedule, recompute, effects, accumulators, with_needs)
                 for ipu in set(device_map)}
        return [{"from": self.labels[stage[0]], "to": self.labels[stage[-1]],
                 "cut_bytes": self.cut_bytes(stage[-1] + 1) if behind else 0, **needs[ipu]}
                for (stage, behind), ipu in zip(stages, device_map)]

    def largest_variables(self, units, tile, step, schedule="none", accumulators="none", count=5):
        """Of those that count then: what the units touch, and what no operation does and is not
        always live."""
        mask = bits(units)
        until_complete = self.share(schedule, accumulators) > 0 and not self.has_accumulators
        found = [(size, name, category)
                 for touch, number, complete, size, name, category in self.by_tile[tile]
                 if (touch & mask if number is None else
                     (touch & mask or not touch) and
                     self.is_live(number, step, complete if until_complete else None))]
        return [{"name": name, "category": category, "size_bytes": size}
                for size, name, category in sorted(found, key=lambda row: -row[0])[:count]]


def main():
    model = Model(sys.argv[1])
    cuts, schedule, recompute, effects, accumulators = (
        sys.argv[2:] + ["whole", "none", "none", "none", "none"][len(sys.argv) - 2:])
    first_units = [] if cuts == "whole" else [model.labels.index(label) + 1
                                              for label in cuts.split("|")]
    effects = () if effects == "none" else effects.split(",")
    print(json.dumps(model.evaluate(first_units, schedule, recompute, effects, accumulators),
                     indent=4))


if __name__ == "__main__":
    main()
