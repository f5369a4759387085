"""What the stages of a pipeline keep and recompute, for files of costs, by the words of
docs/costs.md: every split of small chains, by every method, from Python and by the command.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import itertools
import json
import logging
import os
import random
import unittest

import common
import popliner

SCHEDULES = {"popart": lambda d: 2 * d + 1 if d else 0, "tf-grouped": lambda d: 2 * d,
             "tf-interleaved": lambda d: d}
RULES = {"1f1b": lambda d, s, m: min(d + 1, m), "gpipe": lambda d, s, m: m,
         "zero-bubble": lambda d, s, m: min(s, m)}


class Drawn:
    """A chain, what is asked of it, and the best splits."""

    def __init__(self, rng, rule=None):
        n = rng.randint(2, 6)
        self.units = [{"name": f"l{i}", "memory": rng.randint(0, 20), "cycles": rng.randint(1, 12),
                       "stash": rng.randint(0, 9), "inputs": rng.randint(0, 5),
                       "recompute_cycles": rng.randint(0, 9)} for i in range(n)]
        self.cuts = [rng.randint(0, 9) for _ in range(n - 1)]
        self.shared = [{"units": ["l0", f"l{n - 1}"],
                        "memory": rng.randint(1, 9)}][:rng.randint(0, 1)]
        self.capacity = rng.choice([None, None, rng.randint(20, 120)])
        self.rule = rule or rng.choice([*SCHEDULES, *RULES])
        self.batches = rng.choice([0, 1, 2, 3, 9])
        if self.rule == "gpipe":
            self.batches = self.batches or 4
        self.more = rng.randint(0, 1) if self.rule in RULES else 0
        self.recompute = rng.choice(["none", "full"])
        self.num_ipus = rng.randint(1, 8)
        self.limit = rng.choice([None, rng.randint(10, 150)])
        self.device_map = None
        if rng.random() < 0.3:
            self.device_map = rng.choice([list(range(rng.randint(1, n))), [0, 1, 0][:n], [1, 0]])
        self.objectives = rng.choice([["memory", "traffic"], ["cycles", "memory"],
                                      ["traffic", "cycles"], ["ipus", "memory", "cycles"],
                                      ["memory", "cycles", "balance"]])

    def document(self):
        result = {"format": "popliner-costs", "version": 1, "units": self.units, "cuts": self.cuts,
                  "shared": self.shared}
        if self.capacity is not None:
            result["regions"] = [{"name": "all", "capacity": self.capacity}]
        return result

    def copies(self, behind, num_stages):
        """Of a stage with so many behind it."""
        if self.rule in SCHEDULES:
            return SCHEDULES[self.rule](behind)
        return RULES[self.rule](behind, num_stages, self.batches or 10**9) - 1 + self.more

    def value(self, begins):
        """What a split is worth; None if it must not be."""
        edges = [*begins, len(self.units)]
        stages = [self.units[a:b] for a, b in zip(edges, edges[1:])]
        count = len(stages)
        loads = {}
        for k, units in enumerate(stages):
            ipu = k if self.device_map is None else self.device_map[k]
            load = loads.setdefault(ipu, {"units": [], "kept": 0, "cycles": 0})
            is_full = self.recompute == "full"
            whole = self.more if is_full else 0  # sets of micro-batches under way
            copies = self.copies(count - 1 - k, count) - whole
            kept = units[0]["inputs"] if is_full else sum(u["stash"] for u in units)
            # what stage k recomputes stays until the weight pass, of k + 1 micro-batches
            sets = min(k, copies) if is_full and self.rule == "zero-bubble" else 0
            stash = sum(u["stash"] for u in units)
            own_kept = (copies - sets) * kept + sets * max(kept, stash) + whole * stash
            load["units"] += units
            load["kept"] += own_kept
            load["cycles"] += sum(u["cycles"] for u in units)
            # all recompute but the last, unless copies of its own are kept for it, and none if no
            # stage keeps any
            stores = self.rule in SCHEDULES or self.batches != 1 or self.more > 0
            if is_full and stores and (k + 1 < count or (self.rule in RULES and copies > 0)):
                load["cycles"] += sum(u["recompute_cycles"] for u in units)
            if self.capacity is not None and self.peak(units, own_kept) > self.capacity:
                return None
        peaks = [self.peak(load["units"], load["kept"]) for load in loads.values()]
        if self.capacity is not None and max(peaks) > self.capacity:
            return None
        if self.limit is not None and max(peaks) > self.limit:
            return None
        cycles = [load["cycles"] for load in loads.values()]
        at = self.objectives.index("balance") if "balance" in self.objectives else 0
        spread = cycles if "cycles" in self.objectives[:at] else peaks
        return {"memory": max(peaks), "cycles": max(cycles), "ipus": len(loads),
                "traffic": sum(self.cuts[b - 1] for b in begins[1:]),
                "balance": max(spread) - min(spread)}

    def peak(self, units, kept):
        names = {u["name"] for u in units}
        return (sum(u["memory"] for u in units) + kept
                + sum(s["memory"] for s in self.shared if names & set(s["units"])))

    def best(self):
        """The values of the best split and its stages' first units, or None."""
        n = len(self.units)
        lengths = (range(1, min(n, self.num_ipus) + 1) if self.device_map is None
                   else [len(self.device_map)])
        found = []
        for count in lengths:
            for cuts in itertools.combinations(range(1, n), count - 1):
                value = self.value([0, *cuts])
                if value is not None:
                    found.append(([value[name] for name in self.objectives], list(cuts)))
        return min(found, default=None)

    def copies_text(self):
        return self.rule + ("+1" if self.more else "")

    def pipeline(self):
        result = {"recompute": self.recompute}
        if self.rule in SCHEDULES:
            result["schedule"] = self.rule
        else:
            result["copies"] = popliner.Copies(self.copies_text(), num_micro_batches=self.batches)
        return result

    def members(self):
        result = {"objectives": self.objectives, "num_ipus": self.num_ipus}
        if self.limit is not None:
            result["mem_per_tile"] = self.limit
        if self.device_map is not None:
            result["device_map"] = self.device_map
        return result

    def options(self):
        result = ["--solve", "--recompute", self.recompute, "--objective",
                  ",".join(self.objectives)]
        result += (["--schedule", self.rule] if self.rule in SCHEDULES
                   else ["--schedule", f"none:{self.copies_text()}"])
        if self.batches and self.rule in RULES:
            result += ["--micro-batches", str(self.batches)]
        if self.limit is not None:
            result += ["--mem-per-tile", str(self.limit)]
        return result + (["--num-ipus", str(self.num_ipus)] if self.device_map is None else
                         ["--device-map", ",".join(str(ipu) for ipu in self.device_map)])


def answer_of(answer):
    """Values and cuts, as those of Drawn.best."""
    if answer.status == popliner.PlanStatus.INFEASIBLE:
        return None
    return ([value.value for value in answer.values],
            [stage.first_unit for stage in answer.stages][1:])


class Pipelines(unittest.TestCase):
    def check(self, drawn, methods):
        costs = popliner.Costs.parse(drawn.document(), **drawn.pipeline())
        expected = drawn.best()
        ipus = drawn.device_map or [0]
        for method in methods:
            if method != "auto" and len(set(ipus)) < len(ipus):
                with self.assertRaisesRegex(popliner.UsageError,
                                            "only auto can put several stages"):
                    costs.solve(method=method, **drawn.members())
                continue
            answer = costs.solve(method=method, **drawn.members())
            self.assertEqual(answer_of(answer), expected, (vars(drawn), method))
        if expected is not None and drawn.rule in RULES:
            told = answer.json()["options"]["copies"]
            count = len(answer.stages)
            self.assertEqual(told, [drawn.copies(d, count) for d in range(count)], vars(drawn))
        return expected

    def test_every_split(self):
        rng = random.Random(4711)
        methods = ["auto"] + ["ilp"] * popliner.has_glpk()
        num_feasible = 0
        number = 3000 if common.takes_all() else 160
        for i in range(number):
            drawn = Drawn(rng, "zero-bubble" if i % 2 else None)
            num_feasible += self.check(drawn, methods if i % 20 == 0 else ["auto"]) is not None
        self.assertGreater(num_feasible, number // 2)

    def test_what_would_be_enough(self):
        """Where no split fits: the fewest IPUs and the least memory that do."""
        rng = random.Random(12)
        num_told = 0
        for _ in range(150):
            drawn = Drawn(rng, "zero-bubble")
            drawn.device_map = drawn.capacity = None
            drawn.limit = drawn.limit or 40
            if drawn.best() is not None:
                continue
            num_told += 1
            costs = popliner.Costs.parse(drawn.document(), **drawn.pipeline())
            why = costs.solve(**drawn.members()).infeasibility
            asked, limit = drawn.num_ipus, drawn.limit
            fits = []
            for drawn.num_ipus in range(asked, len(drawn.units) + 1):
                fits += [drawn.num_ipus] if drawn.best() is not None else []
            self.assertEqual(why.enough_stages, min(fits, default=0), vars(drawn))
            drawn.num_ipus, drawn.limit = asked, None
            drawn.objectives = ["memory"]
            self.assertEqual(why.enough_bytes, drawn.best()[0][0], (vars(drawn), limit))
        self.assertGreater(num_told, 20)

    def test_steps(self):
        """Of equal stages: step_test.py has all others."""
        units = [{"name": f"l{i}", "forward": 2, "backward": 4} for i in range(4)]
        for text, cycles in ("1f1b", 11 * 6), ("gpipe", 11 * 6), ("zero-bubble", 8 * 6 + 3 * 2):
            copies = popliner.Copies(text, num_micro_batches=8)
            costs = popliner.Costs.parse({"format": "popliner-costs", "version": 1, "units": units},
                                         copies=copies)
            step = costs.solve(num_ipus=4, objectives=["cycles"]).step
            self.assertEqual((step.order, step.cycles, step.num_micro_batches, step.obstacle),
                             (text, cycles, 8, None))
            self.assertAlmostEqual(step.idle_share, 1 - 8 * 6 / cycles)
            self.assertFalse(step.is_third_assumed)
        self.assertIsNone(costs.solve(num_ipus=4, copies="1f1b").step)

    def test_fronts(self):
        rng = random.Random(5)
        for _ in range(40):
            drawn = Drawn(rng, "zero-bubble")
            drawn.objectives = ["cycles", "memory"]
            n = len(drawn.units)
            values = {(value["cycles"], value["memory"])
                      for count in range(1, min(n, drawn.num_ipus) + 1)
                      for cuts in itertools.combinations(range(1, n), count - 1)
                      for value in [drawn.value([0, *cuts])] if value is not None} \
                if drawn.device_map is None else set()
            if not values:
                continue
            front = sorted(v for v in values if not any(
                w != v and w[0] <= v[0] and w[1] <= v[1] for w in values))
            costs = popliner.Costs.parse(drawn.document(), **drawn.pipeline())
            pareto = costs.pareto(**drawn.members())
            self.assertEqual([tuple(v.value for v in plan.values[:2]) for plan in pareto],
                             front, vars(drawn))

    def test_the_command(self):
        rng = random.Random(99)
        path = os.path.join(common.scratch(), "costs.json")
        for i in range(300 if common.takes_all() else 24):
            drawn = Drawn(rng, "zero-bubble" if i % 2 else None)
            expected = drawn.best()
            with open(path, "w", encoding="utf-8") as file:
                json.dump(drawn.document(), file)
            text = common.run(path, "--format", "json", *drawn.options(),
                              status=0 if expected is not None else 1)
            answer = json.loads(text)
            names = [unit["name"] for unit in drawn.units]
            own = ([value["value"] for value in answer["objectives"]],
                   [names.index(stage["layer_from"]) for stage in answer["stages"]][1:])
            if expected is not None:
                self.assertEqual(own, expected, vars(drawn))

    def test_profiles(self):
        """With S stages zero bubble keeps S - 1 copies everywhere: for every split of a profile,
        measured alone, and for the best one."""
        path = common.made_profile("--preset", "bert-tiny", "--layers", "3", "--tiles", "8",
                                   "--framework", "popart", "--training")
        with popliner.read(path) as analysis:
            n = len(analysis.chain())
            for recompute in ("none", "full"):
                found = []
                for count in range(1, 4):
                    for cuts in itertools.combinations(range(1, n), count - 1):
                        split = {"recompute": recompute, "require": "layers:0.."}
                        answer = analysis.evaluate(cuts, copies="zero-bubble", **split)
                        # what is recomputed stays until the weight pass
                        split["recompute"] = "standard" if recompute == "full" else recompute
                        same = analysis.evaluate(cuts, copies=[count - 1], **split)
                        self.assertEqual(answer.peak_bytes, same.peak_bytes)
                        found.append((answer.peak_bytes, list(cuts)))
                best = analysis.solve(copies="zero-bubble", recompute=recompute, num_ipus=3,
                                      objectives="memory")
                cuts = [stage.first_unit for stage in best.stages][1:]
                self.assertEqual((best.peak_bytes, cuts), min(found))
                with analysis.costs(copies="zero-bubble", recompute=recompute) as costs:
                    own = costs.solve(num_ipus=3, objectives="memory")
                    self.assertEqual(own.peak_bytes, best.peak_bytes)
                    mapped = costs.solve(device_map=[0, 1, 0], objectives="memory")
                answer = analysis.evaluate([stage.first_unit for stage in mapped.stages][1:],
                                           copies=[2], recompute=split["recompute"],
                                           device_map=[0, 1, 0])
                self.assertEqual(mapped.peak_bytes, answer.peak_bytes)

    def test_costs_made_for_another_pipeline(self):
        """What a table does not count is not said of it."""
        units = [{"name": f"l{i}", "memory": 5, "cycles": 10, "stash": 7} for i in range(4)]
        with self.assertLogs("popliner", "WARNING") as told:
            plain = popliner.Costs.of_units(units)
        self.assertIn("none of it is counted", told.output[0])
        with self.assertLogs("popliner", "WARNING") as told:
            logging.getLogger("popliner").warning("alone")
            kept = popliner.Costs.of_units(units, pipeline={"copies": "1f1b"})
            unkept = popliner.Costs.of_units(units, pipeline={"schedule": "inference"})
            popliner.Costs.of_units([{"name": "a", "memory": 3}])
        self.assertEqual(len(told.output), 1)
        # one unit with a copy, then three without: 12 and 15; as one stage they need 20
        self.assertEqual(kept.solve(num_ipus=4).peak_bytes, 15)
        self.assertEqual(kept.solve(num_ipus=4, copies="0,1,...").peak_bytes, 15)
        for costs, members in ((plain, {"copies": "1f1b"}), (plain, {"schedule": "popart"}),
                               (plain, {"recompute": "full"}), (kept, {"copies": None}),
                               (kept, {"copies": "1f1b+1"}), (unkept, {"schedule": "popart"})):
            with self.assertRaisesRegex(popliner.UsageError, ": the costs are for "):
                costs.solve(num_ipus=4, **members)
            with self.assertRaisesRegex(popliner.UsageError, ": the costs are for "):
                costs.pareto("memory,cycles", num_ipus=4, **members)
            with self.assertRaisesRegex(popliner.UsageError, ": the costs are for "):
                costs.write(os.devnull, num_ipus=4, **members)
        # costs that keep nothing are for any pipeline
        own = popliner.Costs.of_units([{"name": "a", "memory": 3}, {"name": "b", "memory": 3}])
        self.assertEqual(own.solve(copies="1f1b").peak_bytes, 3)

    def test_one_number_of_stages_for_the_largest_split(self):
        """Four units never make 16 stages."""
        units = [{"name": f"l{i}", "memory": 100, "cycles": 10, "stash": 10} for i in range(4)]
        for num_ipus, peak in ((2, 220), (4, 130), (16, 130)):
            costs = popliner.Costs.of_units(units, cuts=[1, 1, 1],
                                            pipeline={"copies": "zero-bubble"})
            answer = costs.solve(num_ipus=num_ipus, mem_per_tile=230)
            self.assertEqual(answer.peak_bytes, peak)

    def test_the_last_stage_recomputes_nothing(self):
        units = [{"name": f"l{i}", "memory": 5, "cycles": 10, "stash": 7, "inputs": 1,
                  "recompute_cycles": 5} for i in range(8)]
        costs = popliner.Costs.of_units(units, pipeline={"schedule": "popart",
                                                         "recompute": "full"})
        answer = costs.solve(num_ipus=3, objectives="cycles,memory")
        # 2 and 2 units take 30, the last 4 of them 40; 3, 3 and 2 would take 45
        self.assertEqual([stage.cycles for stage in answer.stages], [30, 30, 40])

class Again(unittest.TestCase):
    """A profile that is asked again and again, against one that is read for each request."""

    def test_answers_are_the_same(self):
        generator = random.Random(31)
        sample = os.path.join(common.ROOT, "data", "sample")
        logging.getLogger("popliner").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("popliner").setLevel, logging.NOTSET)
        with popliner.read(sample) as reused:
            for _ in range(60 if common.takes_all() else 24):
                request = {
                    "schedule": generator.choice(["none", "popart", "tf-grouped"]),
                    "recompute": generator.choice(["none", "none", "full", "auto"]),
                    "effects": generator.choice([0, 7]), "require": "layers:1..",
                    "need": generator.choice(["expected", "at-most"]),
                    "objectives": generator.choice(["", "cycles,memory", "balance,memory"]),
                    "num_ipus": generator.randint(1, 4),
                    "mem_per_tile": generator.choice([None, generator.randint(9000, 45000)]),
                    "device_map": generator.choice([(), (), (0, 1, 0)])}
                if not request["objectives"]:
                    del request["objectives"]
                if request["recompute"] == "auto":
                    request["device_map"] = ()
                with popliner.read(sample) as fresh:
                    texts = []
                    for analysis in (reused, fresh):
                        try:
                            with analysis.solve(**request) as answer:
                                texts.append(answer.json_text())
                        except popliner.Error as error:
                            texts.append(str(error))
                    self.assertEqual(*texts, request)


if __name__ == "__main__":
    common.main()
