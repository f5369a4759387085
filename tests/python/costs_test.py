"""Tables of costs from callbacks, arrays and lists, against every split there is; and the defaults
of requests against those of the library.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import base64
import ctypes
import dataclasses
import array
import itertools
import json
import os
import random
import sys
import tempfile
import unittest
import zlib
from fractions import Fraction

import common
import popliner
from popliner import _calling, _declared, _library
from popliner.request import Asked, Units

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import plain_step  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None
    print("left out: NumPy is not installed\n[  SKIPPED ] arrays_of_numpy")


def page_data(page):
    return zlib.decompress(base64.b64decode(page.split('id="data">')[1].split("</script>")[0]))


def splits(n, most):
    """All splits of n units into at most so many stages: the stages of each."""
    for num_cuts in range(min(most, n)):
        for cuts in itertools.combinations(range(1, n), num_cuts):
            ends = [0, *cuts, n]
            yield [(ends[i], ends[i + 1] - 1) for i in range(len(ends) - 1)]


class Random:
    """Costs at random: peaks that grow with a stage."""

    def __init__(self, seed, n):
        chance = random.Random(seed)
        self.n = n
        unit = [chance.randrange(1, 50) for _ in range(n)]
        self.peaks = [[sum(unit[i:j + 1]) + 10 * (j - i) if j >= i else 0 for j in range(n)]
                      for i in range(n)]
        self.cycles = [[chance.randrange(100) + 20 * (j - i) if j >= i else 0 for j in range(n)]
                       for i in range(n)]
        self.cuts = [chance.randrange(100) for _ in range(n - 1)]

    def best(self, objectives, most):
        """The best split of all, with its values."""
        def values(split):
            of = {"memory": max(self.peaks[i][j] for i, j in split),
                  "cycles": max(self.cycles[i][j] for i, j in split),
                  "traffic": sum(self.cuts[i - 1] for i, _ in split[1:]), "ipus": len(split)}
            return [of[name] for name in objectives]

        return min(((values(split), [i for i, _ in split[1:]]) for split in
                    splits(self.n, most)))

    def by_hand(self):
        costs = popliner.Costs(self.n)
        for i in range(self.n):
            for j in range(i, self.n):
                costs.set_peak(i, j, self.peaks[i][j])
                costs.set_cycles(i, j, self.cycles[i][j])
        for i, cut in enumerate(self.cuts):
            costs.set_cut(i + 1, cut)
        return costs

    def by_tables(self, kind):
        costs = popliner.Costs(self.n)
        costs.set_peaks(kind(self.peaks))
        costs.set_cycle_table(kind(self.cycles))
        costs.set_cuts(kind(self.cuts))
        return costs

    def by_callback(self):
        costs = popliner.Costs(self.n)
        costs.fill_peaks(lambda i, j: self.peaks[i][j])
        costs.set_cycle_table(self.cycles)
        costs.set_cuts(iter(self.cuts))
        return costs

    def by_rows(self):
        costs = popliner.Costs.of_table(
            {"first_unit": i, "last_unit": j, "peak_bytes": self.peaks[i][j],
             "cycles": self.cycles[i][j]} for i in range(self.n) for j in range(i, self.n))
        costs.set_cuts(tuple(self.cuts))
        return costs


class Solving(unittest.TestCase):
    def test_evaluate(self):
        """A given split, as the command has it."""
        path = os.path.join(common.scratch(), "given.json")
        units = [{"name": name, "memory": memory, "cycles": memory, "stash": 2, "inputs": 1}
                 for name, memory in zip("abcd", (3, 4, 5, 6))]
        with open(path, "w", encoding="ascii") as file:
            json.dump({"format": "popliner-costs", "version": 1, "units": units,
                       "cuts": [7, 8, 9]}, file)
        for recompute in ("none", "full", "auto"):
            costs = popliner.Costs.read(path, schedule="popart", recompute=recompute)
            for split, cuts, limit in (("b", [2], 13), ("a|b|c", [1, 2, 3], 8), ("whole", [], 20)):
                answer = costs.evaluate(split, mem_per_tile=limit)
                status = 1 if answer.status == popliner.PlanStatus.INFEASIBLE else 0
                told = json.loads(common.run(
                    path, "-q", "--evaluate", split, f"--mem-per-tile={limit}", "--format=json",
                    "--schedule=popart", f"--recompute={recompute}", status=status))
                told["messages"] = answer.json()["messages"]  # the log's are others
                self.assertEqual(costs.evaluate(cuts, mem_per_tile=limit).json(),
                                 {**answer.json(), "hints": None})
                for hint in told["hints"]:  # the same, in the words of the library
                    hint["option"] = hint["option"].replace("--", "").replace("-", "_")
                told["hints"] = [it for it in told["hints"] if it["option"] != "recompute auto"]
                self.assertEqual([(it.option, it.words) for it in answer.hints],
                                 [(it["option"], it["text"]) for it in told["hints"]])
                self.assertEqual(answer.json(), told)
        # 3 + 4 and 3 * 2 copies of 2 + 2
        self.assertEqual(popliner.Costs.read(path, schedule="popart").evaluate("b").peak_bytes, 19)
        with self.assertRaisesRegex(popliner.UsageError, "copies 1f1b.*or read their file for it"):
            popliner.Costs.read(path, schedule="popart").solve(copies="1f1b", num_ipus=2)
        messages = costs.evaluate("b", schedule="popart", mem_per_tile=18).messages
        self.assertEqual([it.text for it in messages[:2]],
                         ["Fits on 2 devices. The tightest is stage 1, with 11 of 18 bytes.",
                          "Objectives: peak 11 bytes, then 8 bytes over the cuts."])
        for split in ([2, 2], [0], [4], "nope"):
            with self.assertRaisesRegex(popliner.UsageError, "the split"):
                costs.evaluate(split)
        with self.assertRaisesRegex(popliner.UsageError, "not with require"):
            costs.evaluate("b", require="cut:a")
        with self.assertRaisesRegex(popliner.UsageError, "2 stages, but the device map has 3"):
            costs.evaluate("b", device_map=[0, 1, 2])

    def test_balance_before_others_spreads(self):
        # 7 and 6 bytes, cut in the middle, are the smallest largest part
        for key, first in (("memory", "MEMORY"), ("cycles", "CYCLES")):
            costs = popliner.Costs.of_units([{"name": name, key: value} for name, value in
                                             zip("abcd", (3, 4, 3, 3))])
            for asked in ("balance", "balance,traffic", f"balance,{key}"):
                answer = costs.solve(num_ipus=2, objectives=asked)
                self.assertEqual([(it.objective.name, it.value) for it in answer.values[:2]],
                                 [(first, 7), ("BALANCE", 1)])
                self.assertEqual(answer.first_units, [2])
            # a map says how many stages there are
            answer = costs.solve(objectives="balance,traffic", device_map=[0, 1])
            self.assertEqual(answer.values[0].objective.name, "BALANCE")

    def test_the_library_tells_of_glpk(self):
        costs = popliner.Costs(2)
        if popliner.has_glpk():
            self.assertEqual(costs.solve(num_ipus=1, method=popliner.Method.ILP)
                             .peak_bytes, 0)
        else:
            with self.assertRaises(popliner.UsageError):
                costs.solve(num_ipus=1, method=popliner.Method.ILP)

    def test_against_every_split(self):
        for seed in range(10):
            it = Random(seed, 3 + seed % 5)
            makers = [it.by_hand, lambda: it.by_tables(list), it.by_callback, it.by_rows]
            if numpy is not None:
                makers.append(lambda: it.by_tables(numpy.array))
                makers.append(lambda: it.by_tables(lambda v: numpy.array(v, dtype=numpy.uint64)))
            for objectives in (["memory", "traffic"], ["cycles", "ipus"],
                               ["traffic", "cycles", "memory"]):
                values, first_units = it.best(objectives, 4)
                for make in makers:
                    answer = popliner.solve(make(), num_ipus=4, objectives=objectives)
                    self.assertTrue(answer.is_optimal)
                    self.assertEqual([v.value for v in answer.values], values)
                    self.assertEqual([v.bound for v in answer.values], values)
                    self.assertEqual(answer.first_units, first_units)

    def test_getting_what_was_set(self):
        it = Random(3, 6)
        costs = it.by_tables(list)
        for i in range(6):
            for j in range(i, 6):
                self.assertEqual(costs.peak(i, j), it.peaks[i][j])
                self.assertEqual(costs.cycles(i, j), it.cycles[i][j])
        self.assertEqual([costs.cut(i + 1) for i in range(5)], it.cuts)
        self.assertIsNone(costs.peak(4, 2))
        self.assertEqual((costs.cut(77), costs.cycles(9, 9)), (0, 0))

    def test_forbidden_stages(self):
        costs = popliner.Costs(3)
        inf = float("inf")
        costs.set_peaks([[1, None, inf], [0, 1, None], [0, 0, 1]])
        self.assertEqual(costs.solve(num_ipus=3).first_units, [1, 2])
        answer = costs.solve(num_ipus=2)
        self.assertFalse(answer.fits)
        self.assertEqual(answer.infeasibility.enough_stages, 3)
        table = popliner.Costs.of_table([(0, 1, 5), (2, 2, 3)])
        self.assertEqual(table.solve().first_units, [2])
        self.assertIsNone(table.peak(0, 2))
        if numpy is not None:
            costs.set_peaks(numpy.array([[2, inf, inf], [0, 2, inf], [0, 0, 2]], dtype=object))
            self.assertEqual(costs.solve(num_ipus=3).peak_bytes, 2)

    def test_one_constraint_of_a_conflict_is_left_out(self):
        costs = popliner.Costs(3, unit_names=["a", "b", "c"])
        rules = {"num_ipus": 3, "require": ["cut:a", "together:a,b", "no-cut:b"]}
        conflict = costs.solve(**rules).infeasibility.constraints
        self.assertEqual({it.kind.name for it in conflict}, {"REQUIRED_CUT", "PAIR"})
        for it in conflict:
            self.assertTrue(costs.solve(left_out=it, **rules).fits)
            with self.assertRaisesRegex(popliner.UsageError, "left_out"):
                costs.solve(left_out=it)
        with self.assertRaisesRegex(TypeError, "left_out"):
            costs.solve(left_out="cut:a")

    def test_sizes_at_most(self):
        text = "name,memory,memory_most,memory_least\na,2,9,2\nb,3,4,1\n"
        for need, peak in (("expected", 3), ("most", 9), ("at-most", 9), ("least", 2)):
            costs = popliner.Costs.parse(text, need=need)
            self.assertEqual(costs.solve(num_ipus=2).peak_bytes, peak)
            with self.assertRaisesRegex(popliner.UsageError, "need: these costs have another"):
                costs.solve(num_ipus=2, need="expected" if peak != 3 else "most")
        for wrong in ("name,memory\na,2\n", '{"nodes": [{"id": 1, "fpgaLatency": 1, "size": 4}], '
                      '"edges": [], "maxSizePerFPGA": 10}'):
            with self.assertRaisesRegex(popliner.UsageError, "columns like memory_most"):
                popliner.Costs.parse(wrong, need="most")
        with self.assertRaisesRegex(popliner.UsageError, "at least; give units \"least\""):
            popliner.Costs.parse("name,memory,memory_most\na,2,9\n", need="least")

    def test_units_that_do_not_count(self):
        costs = popliner.Costs.of_units([{"name": "head", "layer": False, "memory": 1},
                                         {"name": "a", "memory": 9}, {"name": "b", "memory": 9}])
        own = popliner.Costs(3)
        own.set_peaks([[1, 10, 19], [0, 9, 18], [0, 0, 9]])
        self.assertIsNone(own.counted_units)
        # alone the head is a stage of one unit, but of no layer
        self.assertEqual(own.solve(num_ipus=3, require="layers:1..").peak_bytes, 9)
        own.set_counted_units([False, True, True])
        for table in (costs, own):
            self.assertEqual(table.counted_units, [False, True, True])
            answer = table.solve(num_ipus=3, require="layers:1..")
            self.assertEqual([(it.first_unit, it.last_unit) for it in answer.stages],
                             [(0, 1), (2, 2)])
            self.assertEqual(table.solve(num_ipus=3, require="layers:1..", counted_units=[1, 1, 1])
                             .peak_bytes, 9)
        own.set_counted_units(None)
        self.assertIsNone(own.counted_units)
        with self.assertRaisesRegex(popliner.UsageError, "2 marks for 3 units"):
            own.set_counted_units([1, 0])

    def test_what_the_library_refuses_in_any_request(self):
        costs = popliner.Costs(3, unit_names=["a", "b", "c"])
        for fault, members in (("device_map: IPU 18446744073709551615",
                                {"device_map": [2**64 - 1]}),
                               ("mem_per_tile: IPU 65536", {"mem_per_tile": {65536: 5}}),
                               ("require place: unit 0",
                                {"require": {"place": [("a", 0), ("a", 1)]}}),
                               ("require together: units 0 and 1",
                                {"require": ["together:a,b", "together:b,a"]}),
                               ("objectives: memory", {"objectives": "memory,memory"})):
            for method in popliner.Method:
                if method == popliner.Method.ILP and not popliner.has_glpk():
                    continue
                with self.assertRaisesRegex(popliner.UsageError, fault):
                    costs.solve(method=method, **members)
            with self.assertRaisesRegex(popliner.UsageError, fault):
                costs.pareto(**{"objectives": "memory,traffic", **members})

    def test_places_in_a_pipeline(self):
        costs = popliner.Costs(3, max_stages=3)
        for place in (1, 2, 3):
            costs.set_peaks([[10 * (j - i + 1) + 7 * (place - 1) for j in range(3)]
                             for i in range(3)], stages_to_end=place)
        # by hand: 20 + 7 | 10, or 10 + 7 | 20, or 10 + 14 | 10 + 7 | 10
        answer = costs.solve(num_ipus=3)
        self.assertEqual((answer.peak_bytes, answer.first_units), (20, [1]))

    def test_positions_that_are_numbers_of_stages(self):
        costs = popliner.Costs(3, 3)
        for first in range(3):
            for last in range(first, 3):
                for stages in range(1, 4):
                    costs.set_peak(first, last, 10 * (last - first + 1) + stages, stages)
        costs.set_pipeline(copies="zero-bubble")
        answer = costs.solve(num_ipus=3, copies="zero-bubble", require="cut:0,1")
        self.assertEqual([stage.peak_bytes for stage in answer.stages], [13, 13, 13])
        with self.assertRaises(popliner.UsageError):
            costs.solve(num_ipus=3, copies="gpipe")

    def test_units_that_add_up(self):
        """The example of docs/costs.md, by hand: 3 + 4 | 5 takes 8 and 6 cycles."""
        costs = popliner.Costs.of_units(
            [{"name": name, "cycles": cycles} for name, cycles in zip("abc", (3, 4, 5))],
            cuts=[8, 4], devices={"count": 2, "bandwidth": 4})
        self.assertEqual(costs.unit_names, ("a", "b", "c"))
        answer = costs.solve(objectives="cycles")
        self.assertEqual(answer.split, "[ a b | c ]")
        self.assertEqual([stage.cycles for stage in answer.stages], [8, 6])
        for function in (lambda: popliner.Costs.of_units([{"name": "a", "wrong": 1}]),
                         lambda: popliner.Costs.of_units([]),
                         lambda: popliner.Costs.of_units([{"name": "a"}], cuts=[1])):
            with self.assertRaises(popliner.InputError):
                function()

    def test_weights(self):
        """No IPU has more than one of the heavy units, 0 and 1."""
        costs = popliner.Costs(4)
        costs.fill_peaks(lambda i, j: j - i + 1)

        def heavy(stages):
            return sum(unit < 2 for i, j in stages for unit in range(i, j + 1))

        self.assertEqual(costs.solve(num_ipus=4, ipu_weight=heavy, max_ipu_weight=1,
                                     objectives="ipus,memory").first_units, [1])

    def test_ways(self):
        """Every split with every choice: the largest peak first, then the cycles."""
        for seed in range(8):
            slow, fast = Random(seed, 5), Random(seed + 100, 5)
            slow.peaks = [[peak // 2 for peak in row] for row in slow.peaks]
            answer = popliner.solve_ways({"slow": slow.by_hand(), "fast": fast.by_hand()},
                                         num_ipus=3, objectives="memory,cycles,ipus")
            best = min(
                (max(way.peaks[i][j] for way, (i, j) in zip(ways, split)),
                 max(way.cycles[i][j] for way, (i, j) in zip(ways, split)), len(split),
                 [i for i, _ in split[1:]])
                for split in splits(5, 3)
                for ways in itertools.product((slow, fast), repeat=len(split)))
            self.assertEqual(([v.value for v in answer.values], answer.first_units),
                             (list(best[:3]), best[3]))
            choices = [stage["recompute"] for stage in answer.json()["stages"]]
            self.assertTrue(set(choices) <= {"slow", "fast"})
            for choice, stage in zip(choices, answer.stages):
                way = {"slow": slow, "fast": fast}[choice]
                self.assertEqual(stage.peak_bytes, way.peaks[stage.first_unit][stage.last_unit])
        for bad, kind in [({}, popliner.UsageError), ({"a": 5}, TypeError),
                          ({5: popliner.Costs(2)}, TypeError),
                          ({"a": popliner.Costs(2), "b": popliner.Costs(3)},
                           popliner.UsageError)]:
            with self.assertRaises(kind):
                popliner.solve_ways(bad)

    def test_the_order_of_devices(self):
        """The best of all orders, which is solved with as a device map."""
        it = Random(12, 4)
        costs = it.by_hand()
        speeds = {0: 0.5, 1: 1, 2: 2}
        found = costs.order_devices(num_ipus=3, objectives="cycles", ipu_speeds=speeds)
        best = min(costs.solve(device_map=order, objectives="cycles", ipu_speeds={
            ipu: speed for ipu, speed in speeds.items() if ipu in order}).cycles
                   for count in (1, 2, 3) for order in itertools.permutations(range(3), count))
        answer = costs.solve(device_map=found, objectives="cycles", ipu_speeds={
            ipu: speed for ipu, speed in speeds.items() if ipu in found})
        self.assertEqual(answer.cycles, best)
        self.assertEqual(costs.order_devices(num_ipus=3, mem_per_tile=0), ())
        with self.assertRaises(popliner.UsageError):
            costs.order_devices(num_ipus=3, slack_percent=5)
        # of more devices than units, the last has the most memory
        limits = {None: 5000, 5: 9000}
        found = costs.order_devices(num_ipus=6, objectives="headroom", mem_per_tile=limits)
        free = [min(limits.get(ipu, 5000) - it.peaks[i][j]
                    for (i, j), ipu in zip(split, order))
                for split in splits(4, 4) for order in itertools.permutations((0, 1, 2, 5),
                                                                              len(split))]
        self.assertEqual(max(free), min(
            limits.get(stage.ipu, 5000) - stage.peak_bytes for stage in costs.solve(
                device_map=found, objectives="headroom", mem_per_tile={
                    ipu: own for ipu, own in limits.items() if ipu in (None, *found)}).stages))

    def test_replicas_of_stages(self):
        """The best of all splits and of all numbers of devices of their stages."""
        it = Random(13, 4)
        costs = it.by_hand()
        weights, (bytes_, cycles), total = [300, 0, 800, 70], (7, 2), 5

        def time(split, widths):
            return max(max(-(-it.cycles[i][j] // n),
                           -(-2 * (n - 1) * sum(weights[i:j + 1]) * cycles // (n * bytes_)))
                       for (i, j), n in zip(split, widths))

        found = [(time(split, widths), sum(widths))
                 for split in splits(4, 4) for widths in
                 itertools.product(range(1, total + 1), repeat=len(split)) if sum(widths) <= total]
        answer = costs.solve_stage_replicas(num_ipus=total, parameter_bytes=weights,
                                            bandwidth=(bytes_, cycles), objectives="cycles")
        widths = [stage.num_replicas for stage in answer.stages]
        self.assertEqual((answer.cycles, sum(widths)), min(found))
        self.assertEqual([stage.ipu for stage in answer.stages],
                         [sum(widths[:i]) for i in range(len(widths))])
        self.assertEqual([stage["replicas"] for stage in answer.json()["stages"]], widths)
        nothing = costs.solve_stage_replicas(num_ipus=total, mem_per_tile=0)
        self.assertEqual(nothing.json()["status"], "infeasible")
        with self.assertRaises(popliner.UsageError):
            costs.solve_stage_replicas(num_ipus=3, objectives="balance")
        within = costs.solve_stage_replicas(
            num_ipus=total, parameter_bytes=weights, bandwidth=(bytes_, cycles),
            objectives="cycles,ipus", slack_percent=60)
        self.assertEqual(sum(stage.num_replicas for stage in within.stages), min(
            number for own, number in found if 5 * own <= 8 * answer.cycles))

    def test_replicas_after_more_devices_than_units(self):
        """A stage stores what the devices after it need, however few units there are."""
        units = [{"name": name, "cycles": cycles, "stash": 10} for name, cycles in
                 (("a", 10), ("b", 40))]
        for places in (5, 2):
            costs = popliner.Costs.of_units(
                units, pipeline={"copies": "1f1b", "max_stages": places})
            answer = costs.solve_stage_replicas(num_ipus=5, copies="1f1b", require="cut:a",
                                                objectives="cycles")
            self.assertEqual([(s.num_replicas, s.peak_bytes) for s in answer.stages],
                             [(1, 40), (4, 0)])

    def test_replicas(self):
        """By the longest path through the passes, for every split and number of replicas."""
        it = Random(11, 5)
        chance = random.Random(4)
        weights = [chance.randrange(1000) for _ in range(5)]
        total, batches = 6, 8

        def step(split, replicas):
            cost = [{"F": it.cycles[i][j] // 3, "B": it.cycles[i][j] - it.cycles[i][j] // 3}
                    for i, j in split]
            lists = plain_step.lists_of("1f1b", len(split), len(split), batches)
            cycles = plain_step.longest_path(lists, cost, len(split) - 1)
            reduce = 2 * (replicas - 1) * max(sum(weights[i:j + 1]) for i, j in split) * 3
            return cycles + -(-reduce // (replicas * 7))

        best = [max(Fraction(replicas * batches, step(split, replicas))
                    for split in splits(5, 5) if len(split) == count
                    for replicas in range(1, total // count + 1)) for count in range(1, 6)]
        asked = []

        def costs_for(num_stages, num_replicas, num_micro_batches):
            asked.append((num_stages, num_replicas, num_micro_batches))
            return it.by_hand()

        def parameters(stages):
            return sum(weights[unit] for i, j in stages for unit in range(i, j + 1))

        costs = it.by_hand()
        for members in ({"parameter_bytes": weights}, {"parameters": parameters},
                        {"parameter_bytes": weights, "costs_for": costs_for}):
            replicas = costs.solve_replicas(total, micro_batches=batches, bandwidth=(7, 3),
                                            **members)
            self.assertTrue(replicas.is_proven)
            self.assertEqual([Fraction(found.num_replicas * batches, found.step_cycles)
                              for found in replicas], best)
            self.assertEqual(replicas.best, replicas[best.index(max(best))])
            self.assertTrue(all(found.step.order == "1f1b" and found.gap == 0
                                for found in replicas))
            self.assertIsNone(replicas.reason)
            front = costs.solve_replicas(total, micro_batches=batches, bandwidth=(7, 3), front=True,
                                         **members)
            points = [(Fraction(own.num_replicas * batches, own.step_cycles), own.plan.peak_bytes)
                      for own in front]
            self.assertTrue(front.is_proven)
            self.assertEqual((front.best, points[0][0]), (front[0], max(best)))
            self.assertEqual(points, sorted(points, reverse=True))
            self.assertEqual(len({peak for _, peak in points}), len(points))
        self.assertTrue(asked)
        self.assertTrue(all(r * s <= total and m == batches for s, r, m in asked))
        again = it.by_hand()
        self.assertIs(costs.solve_replicas(4, costs_for=lambda *_: again).is_stopped, False)
        again.set_cut(1, 5)  # it was given back
        for bad, kind in [(lambda *_: 5, TypeError), (lambda *_: 1 // 0, ZeroDivisionError)]:
            with self.assertRaises(kind):
                costs.solve_replicas(4, costs_for=bad)
        with self.assertRaises(ZeroDivisionError):
            costs.solve_replicas(4, parameters=lambda stages: 1 // 0)
        tight = costs.solve_replicas(4, mem_per_tile=1)
        self.assertIsNone(tight.best)
        self.assertIsNotNone(tight.reason)

    def test_bandwidths_are_in_units_of_time(self):
        """A file of which one time is a fraction takes as long, whatever its table counts."""
        def answers(more):
            costs = popliner.Costs.parse({
                "format": "popliner-costs", "version": 1, "time_unit": "ms", "cuts": [10],
                "units": [{"name": "a", "memory": 1, "cycles": 5 + more, "parameters": 8},
                          {"name": "b", "memory": 1, "cycles": 5, "parameters": 8}]})
            split = [costs.solve(device_map=[0, 1], **links).stages[0].cycles for links in
                     ({"link_bandwidth": (1, 1)}, {"ipu_links": {(1, 0): (5, 2)}})]
            replicas = costs.solve_replicas(4, micro_batches=4, bandwidth=(1, 2))
            stages = costs.solve_stage_replicas(num_ipus=3, bandwidth=(1, 2), link_bandwidth=(1, 1))
            return [*split, *(own.reduce_cycles for own in replicas), stages.cycles]
        expected = [15, 9, 48, 16, 10]
        self.assertEqual(answers(0), expected)
        fine = answers(1e-9)
        self.assertTrue(all(abs(own - 10**9 * wanted) <= 1
                            for own, wanted in zip(fine, expected)), fine)

    def test_orders(self):
        """By hand: the second forward pass of device 0 is before its first backward one, so it
        holds two micro-batches; it waits for device 1 from 2 to 4 and from 6 to 7."""
        units = [{"name": it, "stash": 10, "forward": 1, "backward": 2} for it in "ab"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "order.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
            order = popliner.Order(path, more=1)
            with self.assertRaisesRegex(popliner.InputError, "no such file"):
                popliner.Order(path + ".not")
        self.assertEqual((order.device_map, order.num_micro_batches, order.has_weights),
                         ([0, 1], 2, False))
        self.assertEqual([popliner.copies_at(order, n) for n in (1, 2)], [1, 2])
        costs = popliner.Costs.of_units(units, pipeline={"copies": order})
        request = popliner.Request(copies=order, device_map=order.device_map)
        del order
        answer = costs.solve(request)
        del request
        for own in answer, costs.solve(num_ipus=2):
            self.assertEqual([it.peak_bytes for it in own.stages], [20, 10])
            self.assertEqual(own.step.cycles, 9)

    def test_copies(self):
        """docs/costs.md: 1,2,3,5 for at most four stages, 0,1,... for any number."""
        with self.assertRaisesRegex(TypeError, "copies is -1; expected a rule, like '1f1b', or a"):
            popliner.Costs(3).solve(num_ipus=2, copies=-1)
        self.assertEqual([popliner.copies_at([1, 2, 3, 5], n) for n in (1, 2, 3, 4)], [1, 2, 3, 5])
        self.assertEqual(popliner.copies_max_stages([1, 2, 3, 5]), 4)
        self.assertEqual([popliner.copies_at("0,1,...", n) for n in (1, 5)], [0, 4])
        self.assertIsNone(popliner.copies_max_stages("0,1,..."))
        gpipe = popliner.Copies("gpipe", num_micro_batches=8)
        self.assertEqual(popliner.copies_at(gpipe, 3), 7)
        # PyTorch's order of 4 devices, 8 stages and 7 micro-batches: device 0 holds all 7 of each
        interleaved = popliner.Copies("1f1b", 7, device_map=[0, 1, 2, 3] * 2)
        self.assertEqual([popliner.copies_at(interleaved, n) for n in (1, 2, 3, 4, 8)],
                         [0, 2, 4, 6, 6])
        units = [{"name": str(i), "stash": 10} for i in range(4)]
        devices = [0, 1] * 2
        # by hand: device 0 holds 5 if they go round, 4 + 1 in a V, and 4 with one stage on each
        for own, devices, peak_bytes in [
                ({}, devices, None), ({"device_map": devices}, devices, 50),
                ({"device_map": devices}, [0, 1, 1, 0], None), ({"device_map": devices}, (), None),
                ({"device_map": devices}, range(4), None), ({}, [2, 1, 1, 2], 50),
                ({"device_map": [3, 0, 0, 3]}, range(4), 40)]:
            costs = popliner.Costs.of_units(
                units, pipeline={"copies": popliner.Copies("1f1b+1", **own)})
            if peak_bytes is not None:
                self.assertEqual(costs.solve(device_map=devices).peak_bytes, peak_bytes)
                continue
            with self.assertRaisesRegex(popliner.UsageError, "device_map: .* another device map"):
                costs.solve(device_map=devices)
        for bad in ("gpipe", [3, 2, 1], "never", None):
            with self.assertRaises(popliner.UsageError):
                popliner.copies_at(bad, 1)

    def test_compromises(self):
        it = Random(5, 6)
        points = it.by_hand().pareto("memory,traffic", num_ipus=4)
        values = [[v.value for v in plan.values] for plan in points]
        every = [(max(it.peaks[i][j] for i, j in split), sum(it.cuts[i - 1] for i, _ in split[1:]))
                 for split in splits(6, 4)]
        best = sorted({(a, b) for a, b in every
                       if not any((c <= a and d <= b and (c, d) != (a, b)) for c, d in every)})
        self.assertEqual([tuple(value) for value in values], best)

    def test_pages(self):
        """A page has the document of its answer; its costs are those of the module."""
        chance = random.Random(4)
        for n, num_places in ((1, 1), (3, 3), (5, 4), (6, 1)):
            names = [f"</script>{i}" for i in range(n)]
            costs = popliner.Costs(n, max_stages=num_places, unit_names=names, time_unit="ms")
            first = Random(n, n)
            more = [[chance.randrange(9) for _ in range(n)] for _ in range(n)]
            tables = []
            grown = 0
            for place in range(1, num_places + 1):
                tables.append([[first.peaks[i][j] + grown * more[i][j] for j in range(n)]
                               for i in range(n)])
                costs.set_peaks(tables[-1], place)
                grown += chance.choice((0, 1, 1, 3))
            costs.set_cycle_table(first.cycles)
            costs.set_cuts(first.cuts)
            asked = {"num_ipus": min(2, num_places), "mem_per_tile": 200}
            answer = costs.solve(**asked)
            page = costs.page(**asked, answer=answer, title="t", words=popliner.Words("popliner"))
            data = json.loads(page_data(page))
            own = answer.json()
            for member in ("status", "objectives", "totals", "stages", "bottleneck"):
                self.assertEqual(data["answer"][member], own[member])
            self.assertEqual(data["chain"]["labels"], names)
            self.assertEqual(data["costs"], {"time_unit": "ms", "cycles_per_time_unit": 1,
                                             "not_counted": None})
            self.assertEqual(data["plan"], [stage.first_unit for stage in answer.stages[1:]] or
                             (None if not answer.stages else []))
            self.assertEqual(costs.page(**asked, answer=answer, title="t",
                                        words=popliner.Words("popliner")), page)

    def test_rejected_pages(self):
        costs = popliner.Costs(3)
        self.assertIn("<!DOCTYPE html>", costs.page())
        with self.assertRaisesRegex(TypeError, "no Answer"):
            costs.page(answer=5)
        with self.assertRaisesRegex(TypeError, "no Words"):
            costs.page(words="popliner")
        with self.assertRaisesRegex(popliner.UsageError, "plan is of costs of 4 units"):
            costs.page(answer=popliner.Costs(4).solve())
        costs.set_peak(0, 1, 2 ** 52)
        self.assertIn("<!DOCTYPE html>", costs.page())
        costs.set_peak(0, 1, 2 ** 52 + 1)
        with self.assertRaisesRegex(popliner.UsageError, "at most 2.52 bytes.*4503599627370497"):
            costs.page()
        costs.set_peak(0, 1, popliner.FORBIDDEN)
        with self.assertRaisesRegex(popliner.UsageError, "the stage 0 to 1, which"):
            costs.page()
        self.assertIn("<!DOCTYPE html>", popliner.Costs(400).page())
        with self.assertRaisesRegex(popliner.UsageError, "at most 400 units, but .* 401; join"):
            popliner.Costs(401).page()

    def test_large_tables(self):
        """What a chain of some hundred units takes is no matter of minutes."""
        n = 300
        costs = popliner.Costs(n)
        costs.set_peaks([[max(j - i + 1, 0) for j in range(n)] for i in range(n)])
        self.assertEqual(costs.solve(num_ipus=7).peak_bytes, 43)


class Requests(unittest.TestCase):
    def test_defaults_are_the_librarys(self):
        """Byte by byte, but for what this module always sets: whom to call."""
        asked = Asked(popliner.Request(), Units(["a"]), _calling.Turn())
        for own, kind, others in [
                (asked.request, _declared.popliner_request, ("solver",)),
                (asked.solver, _declared.popliner_solver_options,
                 ("should_stop", "listener", "option_names"))]:
            initial = _library.begin(kind)
            for name in others:
                self.assertTrue(getattr(own, name))
                setattr(own, name, type(getattr(own, name))())
            self.assertEqual(bytes(own), bytes(initial), kind.__name__)

    def test_every_member_arrives(self):
        """Every member of the structures is set by some member of a request."""
        request = popliner.Request(
            memory_model="popliner", schedule="popart", recompute="full", effects=2,
            accumulators="fp16", need="most", copies=popliner.Copies("0,1", num_micro_batches=3),
            recompute_ways=["full"], stage_recomputes=["full"],
            method="ilp", objectives="cycles", slack_percent=3, num_ipus=4,
            mem_per_tile={None: 5, 1: 6}, counted_units=[1, 1, 0],
            require={"layers": "7..8", "cut": ["a"], "together": ["a", 2], "place": {"b": 3}},
            device_map=[1, 0], without_reasons=True, without_second_proof=True,
            left_out=popliner.records.Constraint(popliner.ConstraintKind.PAIR, 0, 0, 2, 0),
            time_limit_seconds=9, should_stop=lambda: False, ipu_weight=lambda stages: 0,
            max_ipu_weight=10, ipu_speeds={0: 0.5}, link_bandwidth=(11, 12),
            ipu_links={(0, 1): (13, 14)}, reserve={None: "1.5%", 0: 3})
        asked = Asked(request, Units("abc"), _calling.Turn())
        for own in (asked.request, asked.solver):
            initial = _library.begin(type(own))
            for name, kind in own._fields_:
                if name in ("struct_size", "reserve_bytes") or name.endswith("_user"):
                    continue
                before, now = getattr(initial, name), getattr(own, name)
                if isinstance(now, ctypes.Structure):
                    before, now = bytes(before), bytes(now)
                elif not isinstance(now, (int, float)):
                    before, now = bool(before), bool(now)
                self.assertNotEqual(before, now, name)
        self.assertEqual([asked.solver.cut_rules[i] for i in range(3)], [0, 1, 0])
        self.assertEqual((asked.solver.pairs[0].unit, asked.solver.pairs[0].second_unit),
                         (0, 2))
        self.assertEqual((asked.solver.placements[0].unit, asked.solver.placements[0].ipu), (1, 3))
        self.assertEqual(asked.solver.ipu_speeds[0].value, 500000)
        self.assertEqual(asked.solver.reserve_percent_hundredths, 150)
        self.assertEqual(asked.request.recompute_ways, 4)

    def test_what_would_do_nothing(self):
        costs = popliner.Costs.of_units([{"name": name, "memory": 4} for name in "abc"])
        for reserve in (2, "10%", "1G"):
            with self.assertRaisesRegex(popliner.UsageError, "^reserve: .* no limit of memory"):
                costs.solve(reserve=reserve)
            for number in (8, "0=8,1=8"):
                costs.solve(num_ipus=2, mem_per_tile=number, reserve="10%")
        rows = costs.sweep("mem_per_tile", [5, 7], num_ipus=3, reserve=2)
        self.assertEqual([row.fits for row in rows], [False, True])
        for memory in ([8] * 10**6, "8,8" + 10**5 * ",8", dict.fromkeys(range(10**5), 8)):
            with self.assertRaisesRegex(popliner.UsageError, "IPUs; expected at most 65536"):
                costs.solve(mem_per_tile=memory)
        with self.assertRaisesRegex(popliner.UsageError, "layers: '3..2'; expected"):
            costs.solve(require="layers:3..2")

    def test_sizes_as_people_write_them(self):
        for text, size in [("638976", 638976), ("624KiB", 624 * 1024), ("1.5M", 1500000), (7, 7),
                           ("1.5 GB", 1500000000), ("4GB", 4 * 10**9), ("640kB", 640000),
                           ("640 KB", 640000), ("2MB", 2000000), ("9 B", 9), ("1 KiB", 1024),
                           ("11.6GiB", 12455405158), ("23.7 GiB", 25447681229), ("0.3KiB", 307),
                           ("1.99999999999999999999999K", 2000), ("0.0005K", 1), ("0.00049999K", 0),
                           ("1.0B", 1), ("1T", 10**12), ("1.5 TB", 15 * 10**11), ("2Ki", 2048),
                           ("3Mi", 3 << 20), ("1Gi", 1 << 30), ("1.5Ti", 3 << 39),
                           ("1TiB", 1 << 40)]:
            self.assertEqual(popliner.bytes_of(text), size)
        costs = popliner.Costs(2)
        costs.set_peaks([[600, 1200], [0, 600]])
        self.assertEqual(costs.solve(mem_per_tile="1.1K").first_units, [1])
        self.assertFalse(costs.solve(mem_per_tile="1.1K,0=599").fits)
        for bad in ("", "many", "1.5", "1.5B", "12KiB more", "-1", "1  K", "1 ", "1ki", "1kiB",
                    "1Bi", "9999999T", "1b", "GB"):
            with self.assertRaises(popliner.UsageError):
                popliner.bytes_of(bad)

    def test_rules_and_memory_are_written_as_for_the_command(self):
        names = ["a", "b,c", "d=e"]
        costs = popliner.Costs(3, unit_names=names)
        text = costs._ask(None, {"require": [r"cut:b\,c", r"together:a,b\,c", r"place:d\=e=7,a=0",
                                             "layers:1..2"],
                                 "mem_per_tile": "1K,0=2K,3..4=5"}).solver
        plain = costs._ask(None, {"require": {"cut": [1], "together": [[0, 1]], "layers": "1..2",
                                              "place": [("d=e", 7), (0, 0)]},
                                  "mem_per_tile": {None: 1000, 0: "2K", 3: 5, 4: 5}}).solver
        for it in (text, plain):
            self.assertEqual(it.cut_rules[:3], [0, 0, popliner.CutRule.REQUIRED])
            self.assertEqual([(p.unit, p.second_unit) for p in it.pairs[:it.num_pairs]],
                             [(0, 1)])
            self.assertEqual([(p.unit, p.ipu) for p in it.placements[:it.num_placements]],
                             [(2, 7), (0, 0)])
            self.assertEqual((it.min_units, it.max_units, it.mem_per_tile), (1, 2, 1000))
            self.assertEqual([(limit.ipu, limit.value)
                              for limit in it.ipu_limits[:it.num_ipu_limits]],
                             [(0, 2000), (3, 5), (4, 5)])
        for members, fault in (({"require": "cut"}, "cut"), ({"require": "cuts:a"}, "no such rule"),
                               ({"require": "place:a"}, "LAYER=IPU"),
                               ({"require": "together:a"}, "together:1,3"),
                               ({"require": "layers:x"}, "1..4"),
                               ({"require": "layers:..0"}, "1..4"), ({"require": "cut:z"}, "'z'"),
                               ({"mem_per_tile": "1K,x=5"}, "0=500K"),
                               ({"mem_per_tile": "1K,0=5Q"}, "5Q")):
            with self.subTest(members), self.assertRaisesRegex(popliner.UsageError, fault):
                costs.solve(**members)

    def test_numbers_that_are_none(self):
        costs = popliner.Costs(2)
        costs.set_cycles(0, 1, 10)
        for wrong in (float("nan"), float("inf"), -float("inf"), -1, 1e300, 2**80):
            with self.subTest(wrong), self.assertRaises(popliner.UsageError) as caught:
                costs.solve(ipu_speeds={0: wrong})
            self.assertIn(repr(wrong), str(caught.exception))

    def test_no_json_has_a_number_that_is_none(self):
        """Whatever number is no number: the answer is JSON, or an error."""
        def strict(text):
            return json.loads(text, parse_constant=lambda word: self.fail(f"JSON has {word}"))

        costs = popliner.Costs(2)
        costs.set_cycles(0, 1, 10)
        costs.defaults["num_ipus"] = 2
        analysis = popliner.read(common.SAMPLE)
        self.addCleanup(analysis.close)
        for wrong in (float("nan"), float("inf"), -float("inf")):
            for name in ("slack_percent", "time_limit_seconds"):
                for source in (costs, analysis):
                    with self.subTest(name, wrong=wrong, source=source):
                        try:
                            answer = source.solve(**{name: wrong})
                        except popliner.UsageError as error:
                            self.assertIn(name, str(error))
                            continue
                        self.assertIsNone(strict(answer.json_text())["options"][name])
                        page = costs.page(**{name: wrong})
                        strict(page_data(page))
            with self.assertRaises(popliner.UsageError):
                popliner.compare(analysis, analysis, bounds=[("layers", wrong)])

    def test_short_pipelines_are_not_taken_for_long_ones(self):
        """A table for one stage says the same for every place: 10 + 3 * 100 bytes, not 10."""
        units = [{"name": name, "memory": 10, "stash": 100, "inputs": 10, "cycles": 1,
                  "recompute_cycles": 1} for name in "ab"]
        for recompute, peak in (("none", 310), ("full", 40)):
            for known in (0, 1, 2):
                costs = popliner.Costs.of_units(units, pipeline={
                    "schedule": "popart", "max_stages": known, "recompute": recompute})
                answer = costs.solve(num_ipus=2, require={"cut": [0]})
                self.assertEqual(answer.peak_bytes, peak)
        costs = popliner.Costs.of_units(units, pipeline={
            "schedule": "popart", "max_stages": 1, "recompute": "auto"})
        self.assertEqual(costs.solve(num_ipus=2, require="cut:a", objectives="memory").peak_bytes,
                         40)

    def test_members_by_name_go_first(self):
        costs = popliner.Costs(4)
        costs.fill_peaks(lambda i, j: j - i + 1)
        request = popliner.Request(num_ipus=2)
        self.assertEqual(costs.solve(request).peak_bytes, 2)
        self.assertEqual(costs.solve(request, num_ipus=4).peak_bytes, 1)
        self.assertEqual(request.num_ipus, 2)
        self.assertEqual(costs.solve(dataclasses.replace(request, num_ipus=1)).peak_bytes, 4)

    def test_layers_go_before_what_is_none(self):
        """A layer may be called as what is none."""
        units = Units(["Head", "Head", "x"], [False, True, True])
        self.assertEqual(units.find("Head", "it"), 1)


class Graphs(unittest.TestCase):
    # two towers side by side, and what joins them: no order of the nodes has the best partition
    LATENCIES, SIZES = (5, 2, 5, 2, 1), (3, 6, 3, 6, 1)
    EDGES = ((0, 1), (2, 3), (1, 4), (3, 4))

    def path(self, numbers):
        nodes = [{"id": numbers[i], "supportedOnFpga": 1, "cpuLatency": 1e9, "isBackwardNode": 0,
                  "fpgaLatency": self.LATENCIES[i], "size": self.SIZES[i]} for i in range(5)]
        path = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "graph.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"maxSizePerFPGA": 9, "maxFPGAs": 3, "maxCPUs": 0,
                       "nodes": sorted(nodes, key=lambda node: node["id"]),
                       "edges": [{"sourceId": numbers[a], "destId": numbers[b], "cost": 0}
                                 for a, b in self.EDGES]}, file)
        return path

    def best(self):
        """The smallest slowest stage of all contiguous partitions over three devices."""
        return min(max(sum(self.LATENCIES[i] for i in range(5) if stages[i] == k)
                       for k in range(3))
                   for stages in itertools.product(range(3), repeat=5)
                   if all(stages[a] <= stages[b] for a, b in self.EDGES)
                   and all(sum(self.SIZES[i] for i in range(5) if stages[i] == k) <= 9
                           for k in range(3)))

    def test_partitions(self):
        for numbers in itertools.islice(itertools.permutations(range(5)), 0, None, 23):
            costs = popliner.Costs.read(self.path(numbers))
            answer = costs.solve(num_ipus=3, mem_per_tile=9)
            told = answer.json()
            self.assertEqual(told["objectives"][0]["value"], self.best())
            self.assertTrue(told["graph"]["proven"])
            self.assertEqual(sorted(len(stage["nodes"]) for stage in told["stages"]), [1, 2, 2])

    def test_tables_that_were_changed_are_chains(self):
        for change in (lambda costs: costs.set_cut(1, 1), lambda costs: costs.set_cuts([0] * 4),
                       lambda costs: costs.fill_peaks(lambda first, last: 1)):
            costs = popliner.Costs.read(self.path(range(5)))
            change(costs)
            self.assertFalse(costs.solve(num_ipus=3).json()["graph"]["proven"])


class Arrays(unittest.TestCase):
    """Tables at once against numbers one by one, in every form that they may have."""

    def forms(self, table):
        n = len(table)
        yield [list(row) for row in table]
        flat = array.array("Q", [value for row in table for value in row])
        yield memoryview(flat).cast("B").cast("Q", (n, n))
        yield memoryview(flat.tobytes()).cast("Q", (n, n))  # cannot be written to
        if numpy is None:
            return
        for kind in (numpy.uint64, numpy.int64, numpy.uint32):
            yield numpy.array(table, dtype=kind)
        yield numpy.asfortranarray(numpy.array(table, dtype=numpy.uint64))

    def test_tables(self):
        generator = random.Random(31)
        for n in (1, 2, 7):
            table = [[generator.randrange(1000) for _ in range(n)] for _ in range(n)]
            upper = [[table[i][k] if k >= i else None for k in range(n)] for i in range(n)]
            for form in self.forms(table):
                costs = popliner.Costs(n, 2)
                costs.set_peaks(form, 2)
                costs.set_cycle_table(form)
                costs.set_cuts([5 * i for i in range(1, n)])
                for i in range(n):
                    for k in range(i, n):
                        self.assertEqual(costs.peak(i, k, 2), table[i][k])
                        self.assertEqual(costs.cycles(i, k), table[i][k])
                own = [[int(value) for value in row] for row in costs.peaks(2)]
                self.assertEqual(own, [[popliner.FORBIDDEN if value is None else value
                                        for value in row] for row in upper])
                own = [[int(value) for value in row] for row in costs.cycle_table()]
                self.assertEqual(own, [[value or 0 for value in row] for row in upper])
                self.assertEqual([int(cut) for cut in costs.cuts()], [5 * i for i in range(1, n)])

    def test_what_is_no_table(self):
        costs = popliner.Costs(2)
        costs.set_peaks([[1, 2], [3, 4]])
        for wrong in ([[1, 2]], [[1], [2]], [[1, -2], [3, 4]], [[1, 1 << 64], [0, 0]]):
            with self.assertRaises(popliner.UsageError):
                costs.set_peaks(wrong)
        with self.assertRaises(TypeError):
            costs.set_peaks([[1, 2.5], [3, 4]])
        with self.assertRaises(popliner.UsageError):
            costs.set_cycle_table([[1, popliner.MAX_CYCLES + 1], [0, 1]])
        with self.assertRaises(popliner.UsageError):
            costs.set_peaks([[1, 2], [3, 4]], 2)
        self.assertEqual((costs.peak(0, 1), costs.has_cycles), (2, False))
        costs.set_peaks([[1, None], ["ignored", float("inf")]])
        self.assertEqual((costs.peak(0, 1), costs.peak(1, 1)), (None, None))

    def test_columns_of_a_profile(self):
        profile = popliner.read(common.SAMPLE).profile
        for items in (profile.variables, profile.programs, profile.tiles, profile.steps):
            columns = items.columns()
            self.assertGreater(len(columns), 0)
            for name, values in columns.items():
                self.assertEqual(len(values), len(items))
                if hasattr(items[0], name):
                    self.assertEqual([int(value) for value in values][:50],
                                     [popliner_number(getattr(item, name))
                                      for item in items[:50]], name)


def popliner_number(value):
    """SIZE_MAX, which records have as None."""
    return (1 << 64) - 1 if value is None else int(value)


if __name__ == "__main__":
    common.main()
