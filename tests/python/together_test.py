"""One split of several profiles is what the command finds with --report all.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import json
import os
import unittest

import common
import popliner
from common import run

MODEL = ("--framework", "popart", "--layers", "4", "--tiles", "4", "--seed", "31")
#: options of the command, and members of a request
PIPELINES = [
    ([], {}),
    (["--schedule", "popart"], {"schedule": "popart"}),
    (["--schedule", "tf-grouped", "--recompute", "full"],
     {"schedule": popliner.Schedule.TF_GROUPED, "recompute": "full"}),
    (["--schedule", "1f1b+1", "--need", "at-most"], {"copies": "1f1b+1", "need": "most"}),
    (["--memory-model", "popliner"], {"memory_model": "popliner"}),
]
QUESTIONS = [
    (["--num-ipus", "3"], {"num_ipus": 3}),
    (["--num-ipus", "2", "--objective", "cycles,memory"],
     {"num_ipus": 2, "objectives": "cycles,memory"}),
    (["--num-ipus", "4", "--objective", "traffic,memory", "--require", "layers:1..2"],
     {"num_ipus": 4, "objectives": "traffic,memory", "require": "layers:1..2"}),
    (["--num-ipus", "3", "--mem-per-tile", "100"], {"num_ipus": 3, "mem_per_tile": 100}),
]


class TogetherTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = os.path.join(common.scratch(), "root")
        os.mkdir(cls.root)
        for name in ("inference", "training"):
            os.symlink(common.made_profile(*MODEL, f"--{name}"), os.path.join(cls.root, name))
        cls.analyses = {name: popliner.read(os.path.join(cls.root, name))
                        for name in popliner.reports(cls.root)}

    def ask(self, *options, status=(0, 1)):
        return run(self.root, "--report", "all", *options, status=status)

    def test_reports_of_a_directory(self):
        self.assertEqual(popliner.reports(self.root), ["inference", "training"])
        self.assertEqual(popliner.reports(common.SAMPLE), [])
        with self.assertRaisesRegex(popliner.InputError, "cannot be read"):
            popliner.reports(os.path.join(common.SAMPLE, "profile.pop"))

    def test_solving(self):
        for options, members in common.some(PIPELINES, 2):
            for question, more in common.some(QUESTIONS, 2):
                with self.subTest(options=options, question=question):
                    together = popliner.solve_together(
                        self.analyses, **{"require": "layers:1..", **members, **more})
                    words = ["--solve", *options, *question]
                    told = json.loads(self.ask(*words, "--format", "json"))
                    for key in ("fits", "stages", "reports"):
                        self.assertEqual(together.json()[key], told[key])
                    for key in ("status", "objectives", "stages", "totals"):
                        self.assertEqual(together.answer.json()[key], told["answer"][key])
                    self.assertRegex(str(told["answer"]["messages"]), r"Proven: |\(proven\)")
                    self.assertEqual(together.fits, told["fits"])
                    self.assertEqual(together.tsv(), self.ask(*words, "--format", "tsv"))
                    self.assertEqual(together.csv(), self.ask(*words, "--format", "csv"))

    def test_evaluating(self):
        for options, members in common.some(PIPELINES, 2):
            for split in ("whole", "0|2", "Head|1") if "popliner" not in options else ("1",):
                with self.subTest(options=options, split=split):
                    together = popliner.evaluate_together(self.analyses, split, **members)
                    words = ["--evaluate", split, *options]
                    self.assertEqual(together.tsv(), self.ask(*words, "--format", "tsv"))
                    self.assertEqual(together.json(),
                                     json.loads(self.ask(*words, "--format", "json")))
        self.assertEqual(together.names, ("inference", "training"))
        self.assertEqual(together.is_training, (False, True))
        self.assertIn("inference", together._repr_html_())

    def test_what_cannot_be(self):
        with popliner.read(common.made_profile(*MODEL[:2], "--layers", "3")) as other:
            three = {**self.analyses, "other": other}
            for function, words in (
                    (lambda: popliner.solve_together(three), "other has no layer 3, which inf"),
                    (lambda: popliner.evaluate_together(three, "1"), "other has no layer 3"),
                    (lambda: popliner.evaluate_together(self.analyses, "no such"), "no such"),
                    (lambda: popliner.solve_together(self.analyses, device_map=[0, 1, 0]),
                     "device_map is for one profile"),
                    (lambda: popliner.solve_together(self.analyses, schedule="popart",
                                                     recompute="auto"), "recomputation auto"),
                    (lambda: popliner.evaluate_together(self.analyses, "3"),
                     "stage 1 is Tail alone, which training has not")):
                with self.subTest(words=words), self.assertRaisesRegex(popliner.UsageError, words):
                    function()
        for bad in ({}, [1], {"a": 5}, {5: other}):
            with self.assertRaises(TypeError):
                popliner.solve_together(bad)


if __name__ == "__main__":
    common.main()
