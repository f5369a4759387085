#!/usr/bin/env python3
"""Which programs make an operation, which layer it is in and where it stands in the chain of the
full memory model, from profile.pop and debug.cbor alone: written from docs/profile-format.md
(sections 8, 9 and 17), docs/internals/model.md and popliner/operations.h, as a second opinion.

    profile_operations.py DIRECTORY      prints layer, note, name and unit of each operation

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import re
import sqlite3
import sys
from fractions import Fraction

from profile_relations import read_contexts, runs, varints

LAYER_REGEX = r"(?:^|\/)(?:[L|l]ayer|blocks|encoder)[\/_\.]?(\d+)"
FIRST_LAYER_REGEX = r"(word_embeddings|Embedding_Dict)"
OPERATION_LAYERS = ("popart", "xla_op")


# ---- the program tree ----

class Programs:
    """The programs of a profile: what each runs and touches, and the liveness steps."""

    def __init__(self, sql):
        types = dict(sql.execute("SELECT id, name FROM program_types"))
        self.type, self.row, self.children, self.debug_id, self.name = {}, {}, {}, {}, {}
        self.control_code = {}
        for program, variant, row, children, debug_id, name, code in sql.execute(
                "SELECT id, variant, variant_index, children, debug_id, name, "
                "control_code_bytes_by_tile FROM programs ORDER BY id"):
            self.type[program] = types[variant]
            self.row[program] = row
            self.children[program] = varints(children)
            self.debug_id[program] = debug_id or 0
            self.name[program] = name or ""
            self.control_code[program] = code
        self.step_program, self.step_parent = [], []
        for program, parent in sql.execute(
                "SELECT program_id, parent_step_id FROM depth_first_steps ORDER BY id"):
            self.step_program.append(program)
            self.step_parent.append(parent)
        self.compute_set = {program: compute_set for program, compute_set in self.joined(
            sql, "OnTileExecute", "SELECT id, compute_set FROM program_type_on_tile_execute")}
        set_names = dict(sql.execute("SELECT compute_set, name FROM compute_sets"))
        for program, number in self.compute_set.items():
            self.name[program] = self.name[program] or set_names.get(number) or ""
        self.bodies = dict(sql.execute("SELECT id, program FROM function_programs"))
        self.body = {program: self.bodies[function] for program, function in self.joined(
            sql, "Call", "SELECT id, function_id FROM program_type_call")}
        self.touched = self.read_touched(sql)

    def joined(self, sql, name, query):
        """(program, what its row of the table of its type has)"""
        table = {row: values for row, *values in sql.execute(query)}
        for program, row in self.row.items():
            if self.type[program] == name and row in table:
                yield (program, *table[row])

    def read_touched(self, sql):
        """program: the lowered variables that it touches (section 9)"""
        allocated = {var for var, in sql.execute(
            "SELECT var_id FROM vars_info WHERE bitset IS NULL OR bitset & 1")}
        regions = {}
        for number, var in sql.execute("SELECT id, var_id FROM exchange_regions"):
            regions.setdefault(number, set()).add(var)
        sets = {}
        for number, blob in sql.execute("SELECT compute_set, var_ids_diff_rle FROM compute_sets"):
            var, sets[number] = 0, set()
            for difference in runs(blob):
                var += difference
                sets[number].add(var)
        touched = {program: sets[number] for program, number in self.compute_set.items()}
        for name, table in (("DoExchange", "do_exchange"), ("GlobalExchange", "global_exchange")):
            for program, source, destination in self.joined(
                    sql, name, "SELECT id, source_regions_id, destination_regions_id "
                    f"FROM program_type_{table}"):
                touched[program] = regions.get(source, set()) | regions.get(destination, set())
        self.fed = set()  # from the host
        for table in ("host_exchange_from_host", "host_exchange_to_host"):
            rows = {}
            for row, number in sql.execute(f"SELECT stream_copy_mid_id, regions_id FROM {table}"):
                rows.setdefault(row, set()).update(regions.get(number, ()))
            for program, row in self.row.items():
                if self.type[program] == "StreamCopyMid":
                    touched[program] = touched.get(program, set()) | rows.get(row, set())
                    if table == "host_exchange_from_host":
                        self.fed |= rows.get(row, set()) & allocated
        return {program: found & allocated for program, found in touched.items()}

    def below(self, program, of_calls):
        """The programs below, and those of functions that are called there, if requested."""
        seen, todo = set(), [program]
        while todo:
            for child in self.children[(top := todo.pop())] + (
                    [self.body[top]] if of_calls and top in self.body else []):
                if child not in seen:
                    seen.add(child)
                    todo.append(child)
        return seen


# ---- operations ----

class Operation:
    def __init__(self, context, name, record):
        self.context = context
        self.name = name
        self.programs = set()
        inputs = record.get("inputs", record.get("input")) or []
        self.inputs = "/".join(inputs.values() if isinstance(inputs, dict) else inputs)
        self.is_tensor = False
        self.is_call = False
        self.layer = None  # its name
        self.note = ""


class Operations:
    """In the order in which they first run."""

    def __init__(self, programs, contexts):
        self.programs = programs
        self.contexts = contexts
        owner = {program: self.of_framework(number)
                 for program, number in programs.debug_id.items()}
        self.are_of_framework = any(number is not None for number in owner.values())
        if not self.are_of_framework:
            owner = {program: number or None for program, number in programs.debug_id.items()}
        self.list, by_key = [], {}
        calls = {}  # step: those around it, the innermost first
        self.step_operation = []  # of each step, None where the program belongs to none
        # in the same manner, but of a Call in its body, except where the Call replaces the context
        self.step_caller = []
        for step, program in enumerate(programs.step_program):
            parent = programs.step_parent[step]
            around = calls.get(parent, ())
            if parent is not None and programs.type[programs.step_program[parent]] == "Call":
                around = (programs.step_program[parent], *around)
            calls[step] = around
            context = owner[program]
            if context is None:
                self.step_operation.append(None)
                self.step_caller.append(None)
                continue
            source = context
            for call in around:
                source = self.replaced_by(owner[call], source)
            key = (context, self.name_of(context, source) if self.are_of_framework else "")
            if key not in by_key:
                by_key[key] = self.make(*key)
                self.list.append(by_key[key])
            self.step_operation.append(by_key[key])
            self.step_caller.append(by_key[key])
            if around and self.replaced_by(owner[around[0]], context) == context:
                while programs.type[programs.step_program[parent]] != "Call":
                    parent = programs.step_parent[parent]
                self.step_caller[-1] = self.step_caller[parent] or by_key[key]
        by_context = {}
        for operation in self.list:
            by_context.setdefault(operation.context, []).append(operation)
        for program, context in owner.items():
            for operation in by_context.get(context, ()):
                operation.programs.add(program)
                if program in programs.body and self.are_of_framework:
                    body = programs.body[program]
                    operation.programs |= {body} | programs.below(body, True)
        if not self.are_of_framework:
            for operation in self.list:
                own = [programs.name[program] for program in sorted(owner)
                       if owner[program] == operation.context]
                operation.name = next((name for name in own if name), "Anonymous")
        steps = {}
        for step, program in enumerate(programs.step_program):
            steps.setdefault(program, []).append(step)
        for operation in self.list:
            own = [step for program in operation.programs for step in steps.get(program, ())]
            operation.first_step, operation.last_step = min(own), max(own)

    def of_framework(self, number):
        seen = set()
        while number in self.contexts and number not in seen:
            if self.contexts[number].get("layer") in OPERATION_LAYERS:
                return number
            seen.add(number)
            number = self.contexts[number].get("parentId")
        return None

    def replaced_by(self, call, context):
        record = self.contexts.get(call, {})
        lists = []
        for key in ("outlinedDebugContextIds", "replacedDebugContextIds"):
            ids = record.get(key, [])
            lists.append([int(n) for n in re.findall(r"\d+", ids)] if isinstance(ids, str) else ids)
        return dict(zip(*lists)).get(context, context)

    def name_of(self, context, source):
        record, number, seen = self.contexts.get(context, {}), source, set()
        name = ""
        while number in self.contexts and number not in seen and not name:
            name = self.contexts[number].get("op_name") or self.contexts[number].get("opName") or ""
            seen.add(number)
            number = self.contexts[number].get("parentId")
        if name and name != "Call":
            return name
        if record.get("opid", "").startswith("ai.graphcore.Call:"):
            name = "Call"
        name = name or ("Tensor" if "tensorId" in record else "Anonymous")
        if "instanceId" in record:
            name += f"({record['instanceId']})"
        if "tensorId" in record:
            name += f"/{record['tensorId']}"
        return name

    def make(self, context, name):
        record = self.contexts.get(context, {})
        operation = Operation(context, name, record)
        operation.is_tensor = "tensorId" in record and name.endswith("/" + record["tensorId"])
        operation.is_call = name.startswith("Call")
        return operation

    def touched(self, operation):
        return set().union(*(self.programs.touched.get(program, ())
                             for program in operation.programs))


def variable_names(sql):
    """By lowered variable, the name of the tensor that it is a piece of."""
    return dict(sql.execute("SELECT v.var_id, u.name FROM vars_info v JOIN unlowered_vars u "
                            "ON u.id = v.unlowered_var_id"))


def find_layers(operations, tensors, layer_regex=LAYER_REGEX, first_layer_regex=FIRST_LAYER_REGEX):
    """Sets layer and note of each operation (docs/internals/model.md)."""
    def names(text):
        return {"".join(m.groups("")) if m.re.groups else m.group()
                for m in re.finditer(layer_regex, text)}

    following = None
    first_layer_ones = []
    for operation in reversed(operations.list):
        inputs = operation.inputs.replace(".", "/")
        if operation.is_tensor:
            operation.note = "tensor_filter"
            continue
        found = names(operation.name)
        if len(found) != 1:
            operation.note = "deduced_from_input_names"
            found = names(inputs)
        if len(found) != 1 and not operations.are_of_framework:
            operation.note = "deduced_from_variable_names"
            found = set().union(*(names(text) for text in {
                tensors.get(var, "") for var in operations.touched(operation)}))
        if len(found) == 1:
            operation.layer, = following, = found
            continue
        if not found and operation.is_call:
            operation.note = "deduced_from_following_operation"
            operation.layer = following
        elif re.search(first_layer_regex, inputs):
            operation.note = "inputs_regex_layer_0"
            first_layer_ones.append(operation)
            following = operation
        else:
            kind = "variable" if found and not operations.are_of_framework else "input"
            operation.note = f"{len(found)}_{kind}_layers"
            following = None
    first = next((o.layer for o in operations.list if o.layer is not None and
                  not isinstance(o.layer, Operation)), None)
    for operation in first_layer_ones:
        operation.layer = first
    for operation in operations.list:
        if isinstance(operation.layer, Operation):
            operation.layer = first


# ---- the chain of the full model ----

class Chain:
    """labels: of the units; unit_of: of each operation; step_unit: of each liveness step"""

    def __init__(self, operations, sizes, are_numbers):
        programs = operations.programs
        guessed = "deduced_from_following_operation"
        layers = []
        place = {}
        for operation in operations.list:
            if operation.layer is not None and operation.note != guessed:
                place[operation] = operation.layer
                if operation.layer not in layers:
                    layers.append(operation.layer)
        if are_numbers:
            layers.sort(key=int)
        steps = [s for o in place for s in (o.first_step, o.last_step)]
        first, last = min(steps, default=0), max(steps, default=0)
        order = {label: i for i, label in enumerate(["Head", *layers, "Tail"])}
        home = {}  # variable: the places where it belongs
        for operation, label in place.items():
            for var in operations.touched(operation):
                home.setdefault(var, set()).add(label)
        before = "Head"
        for operation in operations.list:
            if operation not in place:
                weights = {}
                for var in operations.touched(operation):
                    for label in home.get(var, ()):
                        weights[label] = (weights.get(label, 0) +
                                          Fraction(sizes[var], len(home[var])))
                most = min((label for label in weights), default=None,
                           key=lambda label: (-weights[label], order[label]))
                if layers and operation.last_step < first:
                    label = "Head"
                elif layers and operation.first_step > last and most in (None, layers[-1], "Tail"):
                    label = "Tail"
                else:
                    label = before if most is None else most
                place[operation] = label
                for program in operation.programs:
                    if programs.type[program] != "StreamCopyMid":
                        for var in programs.touched.get(program, ()):
                            home.setdefault(var, set()).add(label)
            before = place[operation]
        used = set(place.values())
        self.labels = [label for label in order if label in used]
        index = {label: i for i, label in enumerate(self.labels)}
        self.unit_of = {operation: index[label] for operation, label in place.items()}
        self.step_unit = []
        found = [o for o in operations.step_operation if o is not None]
        latest = found[0] if found else None
        for operation in operations.step_operation:
            latest = operation or latest
            self.step_unit.append(self.unit_of[latest])


def read(directory, are_numbers=False):
    """(operations, chain) of the profile in a directory, whose layers may be ordered by number"""
    sql = sqlite3.connect(f"file:{os.path.join(directory, 'profile.pop')}?mode=ro", uri=True)
    programs = Programs(sql)
    operations = Operations(programs, read_contexts(os.path.join(directory, "debug.cbor")))
    find_layers(operations, variable_names(sql))
    sizes = dict(sql.execute("SELECT var_id, size_bytes FROM vars_info"))
    return operations, Chain(operations, sizes, are_numbers)


def rows(directory):
    """As the columns Layer, Note, Full name and Unit of --operation-breakdown."""
    operations, chain = read(directory)
    return [("None" if o.layer is None else o.layer, o.note, o.name, chain.labels[chain.unit_of[o]])
            for o in operations.list]


if __name__ == "__main__":
    for row in rows(sys.argv[1]):
        print(*row, sep="\t")
