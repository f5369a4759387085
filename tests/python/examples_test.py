"""The examples in Python print what those in C and the command do; what they find for a model that
they measured is the best of all splits.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import importlib.util
import io
import contextlib
import itertools
import os
import subprocess
import unittest

import common
from common import GOLDEN, SAMPLE

EXAMPLES = os.path.join(common.ROOT, "tests", "examples")


def example(name, *arguments):
    done = common.python(os.path.join(EXAMPLES, name), *arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def split_of(report, num_ipus):
    """What the command calls the best split."""
    for line in common.log_of(report, "--solve", "--num-ipus", str(num_ipus), "-o", "popliner"):
        if line.startswith("SUCCESS: "):
            return line[len("SUCCESS: "):]
    raise AssertionError(f"no split of {report}")


class Examples(unittest.TestCase):
    def test_split_profile(self):
        for num_ipus in (1, 2, 3):
            printed = example("split_profile.py", SAMPLE, str(num_ipus)).splitlines()
            self.assertEqual(printed[0], split_of(SAMPLE, num_ipus))
            self.assertIn("Proven: no split", printed[1])
        done = common.python(os.path.join(EXAMPLES, "split_profile.py"), "/nowhere", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("split_profile.py: /nowhere", done.stderr)

    def test_own_costs(self):
        # as tests/examples_test.sh has it of the example in C, by hand: 50 bytes are shared by all
        # layers; the others are 350, 250 | 250, 450 | 150, 250
        self.assertEqual(example("own_costs.py"), "IPU 0: layers 0 to 1, 650 bytes\n"
                                                  "IPU 1: layers 2 to 3, 750 bytes\n"
                                                  "IPU 2: layers 4 to 5, 450 bytes\n")

    def test_many_profiles(self):
        golden = sorted(os.path.join(GOLDEN, name) for name in os.listdir(GOLDEN)
                        if os.path.isdir(os.path.join(GOLDEN, name)))
        reports = [SAMPLE, *common.some(golden, 4)]
        self.assertEqual(example("many_profiles.py", *reports).splitlines(),
                         [f"{report}: {split_of(report, 2)}" for report in reports])

    def test_profile_tour(self):
        path = os.path.join(SAMPLE, "profile.pop")
        tour = os.environ.get("POPLINER_PROFILE_TOUR")
        in_c = subprocess.run([tour, path], stdout=subprocess.PIPE, encoding="utf-8",
                              check=True).stdout
        self.assertIn("Number of compute sets: ", in_c)
        self.assertEqual(example("profile_tour.py", path), in_c)

    def check_split(self, units, cuts, answer, num_devices, limit):
        """By every split."""
        n = len(units)
        best = None
        for count in range(num_devices):
            for first in itertools.combinations(range(1, n), count):
                ends = [0, *first, n]
                stages = [units[a:b] for a, b in zip(ends, ends[1:])]
                if any(sum(unit["memory"] for unit in stage) > limit for stage in stages):
                    continue
                value = (max(sum(unit["cycles"] for unit in stage) for stage in stages),
                         sum(cuts[unit - 1] for unit in first), list(first))
                best = value if best is None else min(best, value)
        self.assertEqual(best, (answer.values[0].value, answer.values[1].value,
                                answer.first_units))

    def run_example(self, name):
        spec = importlib.util.spec_from_file_location(name, os.path.join(EXAMPLES, name + ".py"))
        module = importlib.util.module_from_spec(spec)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            spec.loader.exec_module(module)
            result = module.main()
        return result, printed.getvalue()

    def test_split_modules(self):
        (units, cuts, answer), printed = self.run_example("split_modules")
        self.assertEqual([unit["name"] for unit in units],
                         ["embed", "block0", "block1", "block2", "block3", "head"])
        self.assertEqual(units[1]["parameters"], 4 * 160 * 160)
        self.assertEqual(cuts, [4 * 160, 4 * 160, 4 * 160, 4 * 80, 4 * 80])
        self.check_split(units, cuts, answer, 3, 220000)
        devices = [line for line in printed.splitlines() if line.startswith("device ")]
        self.assertEqual(len(devices), len(answer.stages))
        for first in answer.first_units:
            self.assertIn(f'"model.{units[first]["name"]}": SplitPoint.BEGINNING', printed)

    def test_split_pytorch(self):
        try:
            import torch
        except ImportError:
            self.assertEqual(example("split_pytorch.py"), "Skipped: there is no PyTorch\n")
            self.skipTest("there is no PyTorch")
        (model, table, costs, answer), printed = self.run_example("split_pytorch")
        self.assertEqual(printed.count("SplitPoint.BEGINNING"), len(answer.first_units))
        units = [{**vars(unit), "cycles": costs.cycles(i, i)} for i, unit in enumerate(table.units)]
        cuts = [unit["cut"] for unit in units[:-1]]
        self.assertEqual(len(units), 8)
        self.assertEqual(units[0]["parameters"], 4 * (256 * 512 + 512))
        # Linear keeps its input, GELU the output of Linear: two of 64 rows
        self.assertEqual([unit["stash"] for unit in units],
                         [4 * 64 * (256 + 512), *[4 * 64 * (512 + 512)] * 7])
        self.assertEqual(cuts, [2 * 4 * 64 * 512] * 7)  # and their gradients
        # a stage holds its memory, and activations of as many micro-batches as stages are to come
        depth = len(answer.stages)
        for i, stage in enumerate(answer.stages):
            own = units[stage.first_unit:stage.last_unit + 1]
            self.assertEqual(stage.peak_bytes, sum(unit["memory"] + (depth - i) * unit["stash"]
                                                   for unit in own))
        self.check_split(units, cuts, answer, 4, float("inf"))
        # the memory of all units is that of a model that trains
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.randn(64, 256)).sum().backward()
        optimizer.step()
        tensors = [it for own in model.parameters() for it in (
            own, own.grad, optimizer.state[own]["exp_avg"], optimizer.state[own]["exp_avg_sq"])]
        self.assertEqual(sum(unit["memory"] for unit in units),
                         sum(it.numel() * it.element_size() for it in tensors))


if __name__ == "__main__":
    common.main()
