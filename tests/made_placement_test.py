#!/usr/bin/env python3
"""Made profiles lay their tiles out by the rule that Poplar follows in the one real profile.

Usage: made_placement_test.py MKPROFILE [REAL]

Models, styles and seeds are drawn at random, by a fixed seed. Each variable of some tiles is placed
again, from sizes, classes, alignments and pairs of the tables alone, in the order of the rule, and
has to have the address of the file; the order that the file records is that of the rule. So has
every variable of the real profile, if it is there, in the order that it records. The first
profiles are of models whose tiles hold too much, and whose code takes several elements.

Pairs are symmetric, of variables that live at the same time, and of the kinds of the real profile.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import bisect
import collections
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

import cases
from profile_relations import varints as numbers

RESERVED = 16
ALLOCATED, EXECUTABLE, VERTEX_CODE, START = 1, 8, 16, 64
OF_VERTICES = ("vertexInstanceState", "vertexFieldData", "copyDescriptor")
# Code, and what it may be kept apart from; and data that are apart from each other.
KINDS = {
    "hostExchangeCode": {"hostExchangePacketHeader", "hostMessage", "variable", "controlId",
                         "instrumentationResults"},
    "controlCode": {"instrumentationResults", "controlId", "stack"},
    "internalExchangeCode": {"controlId", "message", "variable", "rearrangement", "globalMessage"},
    "globalExchangeCode": {"globalExchangePacketHeader", "globalMessage", "controlId"},
    "variable": {"hostExchangePacketHeader", "hostMessage", "instrumentationResults"},
    "controlId": {"hostExchangePacketHeader", "hostMessage", "instrumentationResults"},
}
Variable = collections.namedtuple(
    "Variable", "id size alignment offset category life bits apart place")


class Tiles:
    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        row, = self.db.execute("SELECT memoryElementOffsets, num_tiles, bytes_per_tile "
                               "FROM target_info")
        self.elements, (self.count, self.room) = numbers(row[0]), row[1:]
        self.categories = dict(self.db.execute("SELECT id, name FROM var_categories"))
        self.always = dict(self.db.execute("SELECT id, is_always_live FROM eq_classes"))
        self.lives = collections.defaultdict(list)
        for number, first, end in self.db.execute("SELECT * FROM eq_class_step ORDER BY 1, 2"):
            self.lives[number].append((first, end))
        self.met = {}

    def variables(self, tile):
        rows = self.db.execute(
            "SELECT var_id, size_bytes, alignment, offset, category, equivalence_class, bitset, "
            "element_constraints FROM vars_info WHERE tile = ? ORDER BY var_id", (tile,))
        return [Variable(*row[:4], self.categories[row[4]], *row[5:7], numbers(row[7]), place)
                for place, row in enumerate(rows)]

    def meet(self, a, b):
        if (a, b) not in self.met:
            self.met[a, b] = any(first < other_end and other < end
                                 for first, end in self.lives[a]
                                 for other, other_end in self.lives[b])
        return self.met[a, b]

    def group(self, v):
        if v.bits & EXECUTABLE:
            return 0 if v.bits & START else 1 if v.bits & VERTEX_CODE else 2
        return 5 if v.category in OF_VERTICES else 3 if self.always[v.life] else 4

    def elements_of(self, offset, size):
        """The last element has no end, and nothing to go to after it."""
        return set(range(bisect.bisect(self.elements, offset) - 1,
                         bisect.bisect(self.elements, offset + size - 1))) - {
                             len(self.elements) - 1}

    def leave(self, offset, v, forbidden):
        """The next address where the variable is in none of these elements."""
        while forbidden and self.elements_of(offset, v.size) & forbidden:
            element = bisect.bisect(self.elements, offset)
            offset = -(-self.elements[element] // v.alignment) * v.alignment
        return offset

    def lay_out(self, variables, order):
        """By place, the address."""
        at, taken, code = {}, [], set()
        for v in order:
            forbidden = set() if v.bits & EXECUTABLE else set(code)
            for place in v.apart:
                if place in at:
                    forbidden |= self.elements_of(at[place], variables[place].size)
            offset = -(-RESERVED // v.alignment) * v.alignment
            offset = self.leave(offset, v, forbidden)
            for first, end, life in taken:
                if first >= offset + v.size:
                    break
                if end > offset and self.meet(life, v.life):
                    offset = self.leave(-(-end // v.alignment) * v.alignment, v, forbidden)
            at[v.place] = offset
            bisect.insort(taken, (offset, offset + v.size, v.life))
            if v.bits & EXECUTABLE:
                code |= self.elements_of(offset, v.size)
        return at

    def replay(self, tile, order):
        variables = self.variables(tile)
        recorded, = self.db.execute(
            'SELECT "order" FROM allocation_order_by_tile WHERE tile = ?', (tile,))
        by_id = {v.id: v for v in variables}
        placed = [by_id[number] for number in numbers(recorded[0]) if by_id[number].size]
        if order is not None and placed != order(variables):
            sys.exit(f"tile {tile}: the recorded order is not that of the rule")
        at = self.lay_out(variables, placed)
        for v in placed:
            if at[v.place] != v.offset:
                sys.exit(f"tile {tile}: variable {v.id} of {v.category} lies at {v.offset}, "
                         f"by the rule at {at[v.place]}")
        return variables, placed

    def order_of(self, variables):
        return sorted((v for v in variables if v.bits & ALLOCATED and v.size),
                      key=lambda v: (self.group(v), -v.size, v.id))

    def check(self, tile):
        variables, order = self.replay(tile, self.order_of)
        for v in variables:
            if len(set(v.apart)) != len(v.apart):
                sys.exit(f"tile {tile}: variable {v.id} is twice apart from the same")
            for other in (variables[place] for place in v.apart):
                kinds = {other.category in KINDS.get(v.category, ()),
                         v.category in KINDS.get(other.category, ())}
                if v.place not in other.apart or True not in kinds or not self.meet(
                        v.life, other.life):
                    sys.exit(f"tile {tile}: {v.id} of {v.category} is apart from {other.id} of "
                             f"{other.category}")
        return len(order), max(v.offset + v.size for v in order) > self.room


def drawn(random_source):
    options = ["--framework", random_source.choice(["popart", "poptorch", "tensorflow"])]
    for option, choices in (("--layers", (1, 2)), ("--tiles", (5, 16)), ("--hidden", (32, 200)),
                            ("--sequence", (16, 100)), ("--vocabulary", (100, 2000)),
                            ("--pieces", (1, 1, 2)), ("--seed", range(1000)),
                            ("--plan-seed", range(1000))):
        options += [option, str(random_source.choice(choices))]
    for option, share in (("--training", 0.5), ("--outline", 0.4), ("--map-in-turn", 0.5),
                          ("--accumulate", 0.2)):
        options += [option] * (random_source.random() < share)
    is_cut = random_source.random() < 0.3 and options[options.index("--layers") + 1] != "1"
    return options + ["--pipeline", "0"] * is_cut


def main():
    everything = cases.takes_all()
    source = random.Random(29)
    models = [["--tiles", "4", "--layers", "2", "--hidden", "1024", "--sequence", "128"],
              ["--tiles", "4", "--layers", "3", "--hidden", "64", "--training"]]
    models += [drawn(source) for _ in range(20 if everything else 1)]
    overfull = 0
    with tempfile.TemporaryDirectory() as directory:
        for options in cases.within_budget(models):
            subprocess.run([sys.argv[1], "--output", directory, "--force", "--quiet",
                            "--debug-nesting", "0", "--debug-arguments", "0", *options],
                           check=True)
            tiles = Tiles(os.path.join(directory, "profile.pop"))
            chosen = (0, 1, tiles.count - 1) if everything else (0,)
            found = [tiles.check(tile) for tile in chosen]
            overfull += any(is_overfull for _, is_overfull in found)
            print(*options, *(count for count, _ in found), flush=True)
    if overfull == 0:
        sys.exit("no tile holds too much")
    if os.path.exists(os.path.join(sys.argv[2], "profile.pop")):
        tiles = Tiles(os.path.join(sys.argv[2], "profile.pop"))
        placed = [tiles.replay(tile, None)
                  for tile in range(0, tiles.count, 1 if everything else 46)]
        count = sum(len(order) for _, order in placed)
        if (len(placed), count) != ((1472, 50407) if everything else (32, 1234)):
            sys.exit(f"the real profile: {count} variables on {len(placed)} tiles")


main()
