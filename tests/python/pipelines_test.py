"""What the stages of a pipeline keep and recompute: of a profile, and of files of costs by hand.
relations_test.py has every split of random files.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import itertools
import logging
import os
import random
import unittest

import common
import popliner


class Pipelines(unittest.TestCase):
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
