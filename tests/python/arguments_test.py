"""Every keyword of every public function and method with values of the wrong type or size: what is
raised is a TypeError or an Error of the module, whose sentence has the name of the keyword.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import collections
import inspect
import itertools
import logging
import os
import random
import tempfile
import time
import unittest

import common
import popliner
import popliner.costs
from common import SAMPLE
from popliner.request import MEMBERS


class Unlike:
    """Like nothing."""

    def __repr__(self):
        return "<Unlike>"


class Broken:
    """A number, a list and a mapping that raises whatever it is asked."""

    def _raise(self, *_):
        raise ZeroDivisionError("of the caller's")

    __index__ = __float__ = __iter__ = __len__ = __getitem__ = keys = __fspath__ = _raise


DEEP = []
for _ in range(5000):
    DEEP = [DEEP]

WRONG = [
    None, "", b"", {}, [], (), Unlike(), Unlike, float("nan"), float("inf"), float("-inf"), -1,
    -1.5, 0, 2.7, 2**31, 2**63, 2**64, 10**30, 10**400, -10**400, 1e308, 1j, True, [[]], [None],
    [[1, 2], 3], [-1], [10**30], ["x"], [b"x"], ("a", 1), {"a": 1}, {1: None}, {None: "x"},
    {(0, 1): 5}, {"": ""}, "x" * 100000, b"\xff\xfe", "\udcff", "\ud800", "a\0b", "\x1b[2J", "0=",
    "0..100000000=5", "1..1000000000", "=", ",", "|", ":", "..", "-1", "1e999", "9" * 5000,
    "cut:0..99999999", "layers:9999999999999999999999..", "place:0=99999999999999999999999",
    range(10**9), range(3), lambda: 1, lambda *_: Unlike(), iter([1]), set(), {1, 2},
    frozenset("a"), bytearray(b"x"), memoryview(b"xy"), Ellipsis, object(), itertools.count(),
    10**5000, type, DEEP, popliner.Request(), popliner.Schedule.POPART, popliner.Copies("x"),
    popliner.Copies(5), popliner.Interval(5, 1), ["memory"] * 9, Broken(),
]


def told(value):
    if value is DEEP or isinstance(value, int) and abs(value) > 10**1000:
        return "deep" if value is DEEP else "huge"
    text = repr(value)
    return text if len(text) < 60 else text[:60] + "..."


class Arguments(unittest.TestCase):
    def setUp(self):
        logging.getLogger("popliner").setLevel(logging.CRITICAL + 1)
        self.addCleanup(logging.getLogger("popliner").setLevel, logging.NOTSET)
        self.folder = tempfile.mkdtemp(dir=common.scratch())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        self.analysis = popliner.read(SAMPLE)
        self.addCleanup(self.analysis.close)
        self.costs = popliner.Costs.of_units(
            [{"name": name, "memory": 7, "cycles": 3} for name in "abcd"], cuts=[1, 2, 3])
        self.answer = self.analysis.solve(num_ipus=2)
        self.analysis.save("saved")
        self.make()

    def make(self):
        """Right arguments of everything public: what is replaced one by one. None: left out."""
        analysis, costs, answer = self.analysis, self.costs, self.answer
        quick = {"num_ipus": 2, "time_limit_seconds": 1}
        changes = popliner.compare(analysis, analysis)
        diagnosis = analysis.diagnose()
        of_costs = costs.solve(num_ipus=2)
        together = popliner.evaluate_together({"a": analysis}, "1")
        front, sweep = costs.pareto("memory,traffic"), costs.sweep("num_ipus", [1, 2])
        replicas = costs.solve_replicas(2, num_ipus=2)
        unit = {"first_unit": 0, "last_unit": 1}
        screen = {"width": 80}
        self.calls = [
            (popliner.read, {"path": SAMPLE}), (popliner.load, {"path": "saved"}),
            (popliner.locate, {"path": SAMPLE}), (popliner.reports, {"directory": SAMPLE}),
            (popliner.check_options, {}), (popliner.check_emit, {"format": "poptorch"}),
            (popliner.compare, {"before": analysis, "now": analysis}),
            (popliner.bytes_of, {"value": 5}),
            (popliner.printable, {"name": "a"}), (popliner.has_glpk, {}),
            (popliner.write_file, {"path": "out", "content": "a"}),
            (popliner.copies_at, {"copies": "1f1b", "stages_to_end": 2}),
            (popliner.copies_max_stages, {"copies": "1f1b"}),
            (popliner.solve, {"costs": costs, **quick}),
            (popliner.solve_ways, {"ways": {"a": costs}, **quick}),
            (popliner.solve_together, {"analyses": {"a": analysis}, **quick}),
            (popliner.evaluate_together, {"analyses": {"a": analysis}, "split": "1", **quick}),
            (popliner.Costs, {"num_units": 3}),
            (popliner.Costs.read, {"path": "none", "schedule": "none", "recompute": "none",
                                   "max_stages": 3, "copies": "1f1b", "should_stop": None}),
            (popliner.Costs.parse, {"document": {"format": "popliner-costs", "version": 1,
                                                 "units": [{"name": "a", "memory": 1}]},
                                    "schedule": "none", "recompute": "none", "max_stages": 3,
                                    "copies": "1f1b", "should_stop": None}),
            (popliner.Costs.of_units, {"units": [{"name": "a", "memory": 1}], "pipeline": None,
                                       "edges": None}),
            (popliner.Costs.of_table, {"rows": [(0, 0, 5)], "unit_names": ["a"]}),
            (popliner.costs.read_source, {"path": "none", "config": None, "batch": 1}),
            (popliner.costs.Assumed, {}),
            (popliner.Request, {}),
            (analysis.add_message, {"message": "a"}), (analysis.chain, {}),
            (analysis.is_training, {}), (analysis.debug_path, {"debug_context": 1}),
            (analysis.prepare, quick), (analysis.prepare_page, quick),
            (analysis.save, {"path": "saved2"}), (analysis.measure, {"stages": [(0, 1)], **quick}),
            (analysis.costs, quick), (analysis.solve, quick), (analysis.evaluate, {"split": "1"}),
            (analysis.sweep, {"what": "num_ipus", "values": [1, 2], **quick}),
            (analysis.pareto, {"objectives": "memory,traffic", **quick}),
            (analysis.solve_replicas, {"total_ipus": 2, **quick}), (analysis.diagnose, {}),
            (analysis.compare, {"split": "1", "compiled": [analysis, analysis], **quick}),
            (analysis.layer_pairs, {}), (analysis.table, {"table": "layers-list"}),
            (analysis.section_text, {"section": "tiles"}), (analysis.section, {"section": "plan",
                                                                            "answer": answer}),
            (analysis.columns, {"section": "tiles"}), (analysis.overview, screen),
            (analysis.plot, {**screen, "height": 9}), (analysis.trace, {"answer": answer}),
            (analysis.page, {"answer": answer, "title": "a", **quick}),
            (analysis.chain().unit_of, {"operation": 1}),
            (analysis.chain().operation_at, {"step": 1}),
            (analysis.profile.by_tile, {"what": "category", "index": 0}),
            (analysis.profile.children, {"program": 0}), (analysis.profile.walk, {}),
            (analysis.profile.visit, {"visitor": lambda *_: None}),
            (analysis.profile.vertices, {"compute_set": 0}),
            (analysis.profile.ipu_steps, {"execution_step": 0}),
            (analysis.profile.is_live, {"variable": 0, "step": 0}), (analysis.profile.peaks, {}),
            (analysis.profile.live_by_step, {"tile": 1}),
            (answer.report, screen), (answer.add_message, {"message": "a"}),
            (answer.verdict, {"stage": 0}), (answer.verdict_record, {"stage": 0}),
            (answer.margin_spreads, {"stage": 0, "limit_bytes": 5}),
            (answer.emit, {"format": "poptorch"}), (answer.names_of, {"stage": 0}),
            (of_costs.write, {"path": "a.lp"}), (of_costs.emit, {"format": "megatron"}),
            (costs.set_peak, {**unit, "peak_bytes": 14}),
            (costs.set_cut, {"unit": 1, "cut_bytes": 1}), (costs.set_cycles, {**unit, "cycles": 6}),
            (popliner.Costs(2).set_pipeline, {}), (costs.set_counted_units, {"counted": None}),
            (popliner.Costs(2).set_peaks, {"table": [[1, 2], [0, 1]]}),
            (popliner.Costs(2).set_cycle_table, {"table": [[1, 2], [0, 1]]}),
            (popliner.Costs(2).set_cuts, {"cuts": [1]}),
            (popliner.Costs(2).fill_peaks, {"peak": lambda first, last: 1}),
            (popliner.Costs(2).set_shared_peak, {"peak": None}),
            (costs.peak, unit), (costs.cut, {"unit": 1}), (costs.cycles, unit), (costs.peaks, {}),
            (costs.solve, quick), (costs.evaluate, {"split": "a|b"}), (costs.order_devices, quick),
            (costs.sweep, {"what": "num_ipus", "values": [1, 2], **quick}),
            (costs.pareto, {"objectives": "memory,traffic", **quick}),
            (costs.page, {"answer": of_costs, **quick}), (costs.write, {"path": "b.lp", **quick}),
            (costs.solve_replicas, {"total_ipus": 2, **quick}),
            (costs.solve_stage_replicas, quick),
            (changes.grew, {}), (changes.most_grown, {"quantity": "a"}), (changes.report, screen),
            (diagnosis.report, screen), (diagnosis.json_text, {}), (diagnosis.json, {}),
            (together.report, screen), (front.report, screen), (sweep.report, screen),
            (replicas.report, screen), (replicas.emit, {"format": "megatron"}),
        ]

    @staticmethod
    def keywords(function, given):
        parameters = inspect.signature(function).parameters.values()
        own = [it.name for it in parameters if it.kind in (it.POSITIONAL_OR_KEYWORD,
                                                           it.KEYWORD_ONLY)]
        return list(dict.fromkeys([*own, *given]))

    def attempt(self, function, given, name, value):
        """What is wrong with what is raised; None if nothing is."""
        where = f"{getattr(function, '__qualname__', function)}({name}={told(value)})"
        start = time.process_time()
        try:
            function(**{**given, name: value})
        except ZeroDivisionError as error:  # the caller's own
            return None if isinstance(value, Broken) else f"{where}: {error!r}"
        except (TypeError, popliner.Error) as error:
            self.seen[type(error).__name__] += 1
            words = str(error)
            is_too_little = isinstance(error, popliner.OutOfMemoryError)
            if isinstance(error, popliner.InternalError) or (
                    is_too_little and name != "max_memory_bytes"):
                return f"{where}: {error!r}"
            is_own = callable(value) and "argument" in words  # of a function that was called
            if isinstance(error, TypeError) and name not in words and not is_own:
                return f"{where}: TypeError without the name: {words[:150]}"
            if len(words) > 1500 and name != "path":
                return f"{where}: {len(words)} characters"
            if "\0" in words or "\x1b" in words:
                return f"{where}: prints escape sequences: {words[:80]!r}"
        except Exception as error:
            return f"{where}: {type(error).__name__}: {str(error)[:150]}"
        else:
            self.seen["nothing"] += 1
        seconds = time.process_time() - start
        return f"{where}: {seconds:.1f} s" if seconds > 5 else None

    def test_one_keyword_after_another(self):
        seed = int(os.environ.get("POPLINER_SEED", time.time_ns() % 10**6))
        print(f"seed {seed}")
        chance = random.Random(seed)
        self.seen = collections.Counter()
        failures = []
        cases = [(function, given, name, value) for function, given in self.calls
                 for name in self.keywords(function, given) for value in WRONG
                 if function.__name__ != "solve_replicas" or name in MEMBERS]
        if not common.takes_all():
            cases = chance.sample(cases, 1500)
        for case in cases:
            failure = self.attempt(*case)
            if failure is not None:
                failures.append(failure)
        self.assertEqual(failures, [], "\n" + "\n".join(failures))
        self.assertGreater(self.seen["TypeError"], 500)
        self.assertGreater(self.seen["UsageError"], 200)
        self.assertEqual(self.costs.solve(num_ipus=2).stages[0].first_unit, 0)

    def test_classes_whose_objects_functions_make(self):
        self.seen = collections.Counter()
        for kind, count in ((popliner.Answer, 2), (popliner.Changes, 1), (popliner.Comparison, 1),
                            (popliner.Diagnosis, 1), (popliner.Pareto, 2), (popliner.Replicas, 2),
                            (popliner.Plan, 2), (popliner.Profile, 1), (popliner.Chain, 2),
                            (popliner.Analysis, 4), (popliner.Sweep, 4)):
            for value in WRONG:
                with self.assertRaises((TypeError, ZeroDivisionError), msg=(kind, told(value))):
                    kind(*[value] * count)

    def test_sentences_are_short_and_printable(self):
        for function, words in (
                (lambda: self.costs.solve(copies="\x1b[2J"), "\\u001b[2J"),
                (lambda: self.costs.solve(mem_per_tile="0..100000000=5"), "from 0 to 65535"),
                (lambda: self.costs.solve(mem_per_tile="3..1=5"), "the first of a range"),
                (lambda: self.costs.solve(mem_per_tile="0=5,0=6"), "has IPU 0 twice"),
                (lambda: self.costs.solve(time_limit_seconds=float("nan")), "time_limit_seconds"),
                (lambda: self.answer.add_message("x", "1.."), "level is '1..'")):
            with self.assertRaises(popliner.UsageError) as caught:
                function()
            self.assertIn(words, str(caught.exception))
        popliner.write_file("\x1b[2J", "no model")
        with self.assertRaisesRegex(popliner.InputError, r"^\\u001b\[2J: expected safetensors"):
            popliner.costs.read_source("\x1b[2J")


if __name__ == "__main__":
    common.main()
