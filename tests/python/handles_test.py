"""Whatever the library made is freed once: by close(), at the end of a with statement, or when
nothing refers to it any more; and wrong usage raises, and never more than that.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import copy
import ctypes
import gc
import os
import pickle
import random
import resource
import sys
import threading
import time
import unittest
import weakref

import common
import popliner
from common import SAMPLE, TRAINING
from popliner import _calling, _library


class Counting:
    """Counts what is made and freed: the functions of the library, wrapped."""

    MAKERS = {
        "popliner_analysis_read": "analysis", "popliner_analysis_load": "analysis",
        "popliner_costs_create": "costs", "popliner_analysis_costs": "costs",
        "popliner_costs_file_read": "costs_file",
        "popliner_analysis_solve": "certificate", "popliner_analysis_evaluate": "certificate",
        "popliner_certificate_create": "certificate", "popliner_solve": "plan",
        "popliner_pareto_solve": "pareto", "popliner_replicas_solve": "replicas",
        "popliner_analysis_solve_replicas": "replicas", "popliner_analysis_diagnose": "diagnosis",
        "popliner_changes_create": "changes", "popliner_analysis_compare": "comparison",
        "popliner_analysis_measure_stages": "stage_memory",
    }

    def __init__(self):
        self.alive = {}
        self.freed_twice = []
        self.originals = {}

    def __enter__(self):
        library = _library.library
        for name, kind in self.MAKERS.items():
            self.wrap(name, self.maker(getattr(library, name), kind))
        for kind in sorted(set(self.MAKERS.values())):
            name = f"popliner_{kind}_free"
            self.wrap(name, self.freer(getattr(library, name), kind))
        return self

    def wrap(self, name, function):
        self.originals[name] = getattr(_library.library, name)
        setattr(_library.library, name, function)

    def maker(self, original, kind):
        # the pointer is the argument before the error
        def make(*arguments):
            status = original(*arguments)
            if status == 0:
                made = arguments[-2]._obj
                self.alive.setdefault(kind, set()).add(ctypes.cast(made, ctypes.c_void_p).value)
                if kind == "certificate" and original is self.originals[
                        "popliner_certificate_create"]:
                    self.alive["plan"].discard(arguments[0]._obj.plan)  # it is the certificate's
            return status
        return make

    def freer(self, original, kind):
        def free(pointer, *_):
            value = ctypes.cast(pointer, ctypes.c_void_p).value
            if value is not None:
                if value not in self.alive.get(kind, ()):
                    self.freed_twice.append((kind, value))
                    return
                self.alive[kind].discard(value)
            original(pointer)
        return free

    def __exit__(self, *_):
        for name, function in self.originals.items():
            setattr(_library.library, name, function)

    def left(self):
        return {kind: len(them) for kind, them in self.alive.items() if them}


class Freeing(unittest.TestCase):
    def setUp(self):
        self.counting = Counting()
        self.counting.__enter__()
        self.addCleanup(self.counting.__exit__)
        gc.collect()
        gc.disable()  # nothing here may need a collection
        self.addCleanup(gc.enable)

    def assertNothingLeft(self):
        self.assertEqual(self.counting.left(), {})
        self.assertEqual(self.counting.freed_twice, [])

    def test_by_close(self):
        analysis = popliner.read(SAMPLE)
        self.assertEqual(self.counting.left(), {"analysis": 1})
        analysis.close()
        self.assertNothingLeft()
        analysis.close()
        self.assertTrue(analysis.closed)
        costs = popliner.Costs(3)
        costs.close()
        self.assertNothingLeft()

    def test_by_with(self):
        with popliner.read(SAMPLE) as analysis, analysis.solve(num_ipus=2) as answer:
            self.assertEqual(self.counting.left(), {"analysis": 1, "certificate": 1})
        self.assertNothingLeft()
        self.assertTrue(answer.closed)
        with self.assertRaises(popliner.UsageError), analysis:
            pass

    def test_by_forgetting(self):
        def use():
            analysis = popliner.read(SAMPLE)
            answer = analysis.solve(num_ipus=2)
            costs = analysis.costs(num_ipus=2)
            others = (costs.solve(), analysis.evaluate("1"), analysis.diagnose(),
                      costs.pareto("memory,traffic"), analysis.pareto("memory,traffic"),
                      analysis.sweep("num_ipus", [1, 2]), popliner.compare(analysis, analysis),
                      analysis.solve_replicas(2, micro_batches=2), analysis.measure([(0, 2)]),
                      costs.solve_replicas(2, micro_batches=2), analysis.page(num_ipus=2))
            self.assertEqual(self.counting.left()["analysis"], 1)
            return len(others) + len(answer.text())

        self.assertGreater(use(), 10)
        self.assertNothingLeft()

    def test_in_a_cycle(self):
        cycle = [popliner.Costs(3).solve(num_ipus=2)]
        cycle.append(cycle)
        del cycle
        self.assertEqual(self.counting.left(), {"costs": 1, "certificate": 1})
        gc.collect()
        self.assertNothingLeft()

    def test_many(self):
        """What is kept of handles that are gone does not grow with them."""
        for _ in range(1000):
            popliner.Costs(1)
        self.assertNothingLeft()
        self.assertLess(len(_calling.freeing), 500)

    def test_the_analysis_outlives_what_needs_it(self):
        with popliner.read(SAMPLE) as analysis:
            answer = analysis.solve(num_ipus=2)
            expected = answer.json_text()
            diagnosis = analysis.diagnose()
            costs = analysis.costs(num_ipus=3, schedule="popart")
        with self.assertRaisesRegex(popliner.UsageError, "this Analysis is closed"):
            analysis.solve()
        # it is freed with the last of what needs it, and not before
        self.assertEqual(self.counting.left()["analysis"], 1)
        self.assertEqual(answer.json_text(), expected)
        self.assertIn("explained", diagnosis.report())
        self.assertTrue(costs.solve(device_map=[0, 1, 0]).fits)
        answer.close()
        diagnosis.close()
        self.assertEqual(self.counting.left(), {"analysis": 1, "costs": 1})
        costs.close()
        self.assertNothingLeft()

    def test_chains_keep_nothing(self):
        analysis = popliner.read(SAMPLE)
        chain = analysis.chain()
        items = analysis.operations, analysis.profile.tiles
        self.assertEqual(chain.unit_of(0), 0)
        analysis.close()
        self.assertNothingLeft()
        self.assertEqual(chain.labels, ["Head", "0", "1", "2", "3", "Tail"])
        for function in (lambda: chain.unit_of(0), lambda: chain.operation_at(0),
                         lambda: items[0][0], lambda: items[1][0]):
            with self.assertRaisesRegex(popliner.UsageError, "closed"):
                function()

    def test_after_failures(self):
        for _ in range(3):
            with self.assertRaises(popliner.InputError):
                popliner.read("/nowhere")
            with self.assertRaises(popliner.InputError):
                popliner.load(os.path.join(SAMPLE, "profile.pop"))
            with self.assertRaises(popliner.InputError):
                popliner.Costs.parse("{}")
            with self.assertRaises(popliner.UsageError):
                popliner.Costs(0)
            with popliner.read(SAMPLE) as analysis:
                with self.assertRaises(popliner.UsageError):
                    analysis.evaluate([77])
                with self.assertRaises(ZeroDivisionError):
                    analysis.solve(num_ipus=2, progress=lambda *_: 1 / 0)
            costs = popliner.Costs(5)
            with self.assertRaises(ZeroDivisionError):
                costs.solve(device_map=[0, 1, 0], should_stop=lambda: 1 / 0)
            del costs
        self.assertNothingLeft()

    def test_files_of_costs(self):
        with popliner.Costs.read(os.path.join(common.COSTS, "regions.json")) as costs:
            answer = costs.solve()
            self.assertEqual(self.counting.left(), {"costs_file": 1, "certificate": 1})
        text = answer.text()
        self.assertTrue(text)
        answer.close()
        self.assertNothingLeft()

    def test_no_cycles(self):
        """Objects go when nothing refers to them, callbacks and all, without a collection."""
        class Marker:
            pass

        marker = Marker()
        mark = weakref.ref(marker)

        def use(marker):
            costs = popliner.Costs(4)
            costs.set_shared_peak(lambda stages, kept=marker: 5)
            costs.fill_peaks(lambda first, last, kept=marker: 1)
            costs.solve(num_ipus=2, should_stop=lambda kept=marker: False,
                        message=lambda *_, kept=marker: None)
            with popliner.read(SAMPLE, progress=lambda *_, kept=marker: None) as analysis:
                analysis.solve(num_ipus=2, step=lambda *_, kept=marker: None)

        use(marker)
        del marker
        self.assertIsNone(mark())
        self.assertNothingLeft()

    def test_locked_turns_are_released(self):
        costs = popliner.Costs(4)
        turn = costs._handle.turn
        for _ in range(3):
            with self.assertRaises(ZeroDivisionError):
                costs.fill_peaks(lambda first, last: 1 / 0)
        self.assertIsNone(turn.call)
        self.assertTrue(turn.lock.acquire(blocking=False))
        turn.lock.release()


class Closing(unittest.TestCase):
    """An object may be closed while another thread reads what belongs to it: that gets what it
    reads, or UsageError, and nothing that was freed (which a library with sanitizers notices)."""

    READERS = {
        "compute sets": lambda it: [s.name for s in it.profile.compute_sets[:20]],
        "children": lambda it: [it.profile.children(i) for i in range(20)],
        "vertices": lambda it: [v.name for i in range(5) for v in it.profile.vertices(i)],
        "info": lambda it: it.profile.info.poplar_version,
        "columns": lambda it: it.profile.variables.columns(),
        "walk": lambda it: list(it.profile.walk()),
        "operations": lambda it: [o.programs for o in it.operations[:20]],
        "layers": lambda it: [o.name for o in it.layers[:20]],
        "chain": lambda it: (it.chain().labels, it.chain().operation_at(50)),
        "measure": lambda it: it.measure([(0, 2)]).detail.variables,
        "section": lambda it: it.section("summary"),
        "diagnose": lambda it: it.diagnose().json(),
        "costs": lambda it: it.costs(num_ipus=2).solve(num_ipus=2).text(),
    }
    RESULTS = {
        "plot": lambda it, answer: it.plot("plan", answer=answer),
        "page": lambda it, answer: it.page(answer=answer, num_ipus=2),
        "section": lambda it, answer: it.section("plan", answer=answer),
        "compare": lambda it, answer: popliner.compare(it, it, before_answer=answer,
                                                       now_answer=answer).report(),
        "emit": lambda it, answer: answer.emit("poptorch"),
        "verdict": lambda it, answer: answer.verdict(0, 1000),
        "line": lambda it, answer: answer.line(),
    }
    TABLES = {
        "page": lambda costs, answer, sweep: costs.page(answer=answer),
        "write": lambda costs, answer, sweep: answer.write(os.path.join(common.scratch(), "a.lp")),
        "sweep": lambda costs, answer, sweep: sweep.report(),
        "peaks": lambda costs, answer, sweep: costs.peaks(),
    }

    def race(self, name, read, closes, chance):
        ready, failures = threading.Event(), []

        def reads():
            ready.set()
            try:
                while True:
                    read()
            except popliner.UsageError:
                pass
            except BaseException as exception:
                failures.append(exception)

        thread = threading.Thread(target=reads)
        thread.start()
        ready.wait()
        time.sleep(chance.random() * 0.004)
        for close in closes:
            close()
        thread.join(60)
        self.assertFalse(thread.is_alive(), name)
        self.assertEqual(failures, [], name)

    def test_at_any_moment(self):
        chance = random.Random(3)
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        self.addCleanup(sys.setswitchinterval, before)
        for _ in range(40 if common.takes_all() else 1):
            for name, read in self.READERS.items():
                it = popliner.read(SAMPLE)
                self.race(name, lambda: read(it), [it.close], chance)
            for name, read in self.RESULTS.items():
                it = popliner.read(SAMPLE)
                answer = it.solve(num_ipus=2, require="layers:1..")
                self.race(name, lambda: read(it, answer), [answer.close, it.close], chance)
            for name, read in self.TABLES.items():
                it = popliner.Costs(5, unit_names=list("abcde"))
                answer, sweep = it.solve(num_ipus=2), it.sweep("num_ipus", [1, 2])
                self.race(name, lambda: read(it, answer, sweep),
                          [sweep[0].close, answer.close, it.close], chance)


class Forks(unittest.TestCase):
    def test_what_was_in_use(self):
        """A child that was forked while a thread is in a call does not wait for that thread: what
        the call works with is refused there, and all else may be used."""
        program = """
import multiprocessing, sys, threading, popliner
inside, done = threading.Event(), threading.Event()
def wait(*_):
    inside.set()
    done.wait()
analysis = popliner.read(sys.argv[1])
costs = popliner.Costs(4)
other = popliner.Costs(4)
def use(name, it, queue):
    try:
        it.solve(num_ipus=2)
        queue.put((name, "solved"))
    except popliner.UsageError as error:
        queue.put((name, str(error)))
    it.close()
def of_analysis():
    analysis.solve(num_ipus=2, progress=wait)
def of_costs():
    costs.fill_peaks(lambda first, last: wait() or 1)
context = multiprocessing.get_context("fork")
for work, used in ((of_analysis, analysis), (of_costs, costs)):
    inside.clear(), done.clear()
    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    queue = context.Queue()
    for name, it in (("used", used), ("other", other)):
        child = context.Process(target=use, args=(name, it, queue))
        child.start()
        child.join(20)
        if child.exitcode != 0:
            child.kill()
        print(*queue.get(timeout=5) if child.exitcode == 0 else "hangs")
    done.set()
    thread.join()
    used.solve(num_ipus=2)
"""
        lost = ("used this object was in use when this process was forked; make another one here, "
                "or fork while no thread uses it\n")
        done = common.python("-c", program, SAMPLE)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, 2 * (lost + "other solved\n"))


class Ending(unittest.TestCase):
    def test_what_is_open_at_the_end(self):
        """Python ends with objects that are open, some in cycles, and threads that work."""
        program = """
import sys, threading, popliner
analysis = popliner.read(sys.argv[1], progress=lambda *_: None)
answer = analysis.solve(num_ipus=2)
costs = analysis.costs(num_ipus=3)
costs.set_shared_peak(lambda stages: 10**6)
cycle = [costs, popliner.Costs(5)]
cycle.append(cycle)
class Keeps:
    def __del__(self):
        self.answer.line()
keeps = Keeps()
keeps.answer = answer
def work():
    many = popliner.Costs(200)
    while True:
        many.fill_peaks(lambda first, last: last - first)
threading.Thread(target=work, daemon=True).start()
print(answer.line())
"""
        for _ in range(3 if common.takes_all() else 1):
            done = common.python("-c", program, SAMPLE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "[ Head 0 1 | 2 3 Tail ]\n")
            self.assertEqual(done.stderr, "")


@unittest.skipIf(common.PRELOAD, "sanitizers keep memory that was freed for a while")
class Memory(unittest.TestCase):
    def test_memory_does_not_grow(self):
        def use():
            with popliner.read(SAMPLE) as analysis:
                answer = analysis.solve(num_ipus=2, progress=lambda *_: None)
                answer.text(), answer.json(), analysis.section("tiles")
                analysis.costs(num_ipus=2).solve(device_map=[0, 1, 0])
            costs = popliner.Costs(30)
            costs.fill_peaks(lambda first, last: last)
            costs.solve(num_ipus=3)

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in KiB

        rounds = 40 if common.takes_all() else 16
        for _ in range(rounds // 2):
            use()
        before = peak()
        for _ in range(rounds):
            use()
        grown = peak() - before
        # an analysis that was solved for has some 600 KiB
        self.assertLess(grown, 20 * rounds, "KiB")
CLOSED_CALLS = {
    "Analysis": [
        lambda it: it.solve(), lambda it: it.evaluate("1"), lambda it: it.costs(),
        lambda it: it.profile.info, lambda it: it.profile.tiles, lambda it: it.operations,
        lambda it: it.layers, lambda it: it.chain(), lambda it: it.checks,
        lambda it: it.section("tiles"), lambda it: it.table("layers"), lambda it: it.plot(),
        lambda it: it.trace(), lambda it: it.page(), lambda it: it.diagnose(),
        lambda it: it.layer_pairs(), lambda it: it.debug_path(1), lambda it: it.is_training(),
        lambda it: it.prepare(), lambda it: it.save("/nowhere/x"),
        lambda it: it.measure([(0, 0)]), lambda it: it.sweep("num_ipus", [1]),
        lambda it: it.pareto("memory,traffic"), lambda it: it.solve_replicas(2),
        lambda it: it.profile.is_live(0, 0), lambda it: it.profile.peaks(),
        lambda it: it.profile.walk(), lambda it: it.compare("1", []),
        lambda it: popliner.compare(it, it), lambda it: it.columns("tiles"),
    ],
    "Costs": [
        lambda it: it.solve(), lambda it: it.set_peak(0, 0, 1), lambda it: it.peak(0, 0),
        lambda it: it.set_cut(1, 1), lambda it: it.cut(1), lambda it: it.set_cycles(0, 0, 1),
        lambda it: it.cycles(0, 0), lambda it: it.has_cycles, lambda it: it.forbid_all(),
        lambda it: it.set_peaks([[1] * 3] * 3), lambda it: it.set_cuts([1, 2]),
        lambda it: it.fill_peaks(lambda i, j: 1), lambda it: it.set_shared_peak(None),
        lambda it: it.sweep("num_ipus", [1]), lambda it: it.pareto("memory,traffic"),
        lambda it: it.solve_replicas(2), lambda it: it.write("/nowhere/x"),
    ],
    "Answer": [
        lambda it: it.text(), lambda it: it.json(), lambda it: it.csv(), lambda it: it.line(),
        lambda it: it.report(),
        lambda it: it.evaluation(), lambda it: it.verdict(0, 1), lambda it: it.write("/nowhere/x"),
    ],
    "Diagnosis": [lambda it: it.json(), lambda it: it.report()],
    "Changes": [lambda it: it.tsv(), lambda it: it.grew(), lambda it: it.most_grown("cycles"),
                lambda it: it.report()],
    "Pareto": [lambda it: it.tsv()],
    "Sweep": [lambda it: it.json()],
    "Replicas": [lambda it: it.csv()],
}


class WrongUsage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.analysis = popliner.read(SAMPLE)

    @classmethod
    def tearDownClass(cls):
        cls.analysis.close()

    def closed(self):
        analysis = popliner.read(SAMPLE)
        costs = popliner.Costs(3)
        made = [analysis, costs, costs.solve(), analysis.diagnose(),
                popliner.compare(analysis, analysis), costs.pareto("memory,traffic"),
                costs.sweep("num_ipus", [1]), analysis.solve_replicas(2)]
        for it in made:
            it.close()
        return made

    def test_closed_objects(self):
        made = self.closed()
        self.assertEqual({type(it).__name__ for it in made}, set(CLOSED_CALLS))
        for it in made:
            for number, function in enumerate(CLOSED_CALLS[type(it).__name__]):
                with self.subTest(kind=type(it).__name__, number=number):
                    with self.assertRaisesRegex(popliner.UsageError, "closed"):
                        function(it)
            self.assertIsInstance(repr(it), str)
            self.assertIsInstance(it._repr_html_(), str)
        self.assertIsInstance(repr(made[0].profile), str)
        self.assertIsInstance(made[0].profile._repr_html_(), str)

    def test_a_plan_stays_when_the_answer_is_closed(self):
        answer = self.analysis.solve(num_ipus=2)
        answer.close()
        self.assertEqual(answer.split, "[ Head 0 1 | 2 3 Tail ]")
        self.assertEqual(len(answer.details), 2)

    def test_what_is_no_number(self):
        costs = popliner.Costs(3)
        for bad in ("2", 2.0, None, [2], object(), 2j):
            for function in (lambda b: popliner.Costs(b), lambda b: costs.set_peak(b, 1, 1),
                             lambda b: costs.set_cut(b, 1), lambda b: costs.set_cycles(0, 0, b),
                             lambda b: costs.solve(require={"place": {0: b}}),
                             lambda b: costs.peak(0, b), lambda b: costs.sweep("num_ipus", [b]),
                             lambda b: self.analysis.profile.tiles[b],
                             lambda b: self.analysis.debug_path(b),
                             lambda b: self.analysis.profile.by_tile("category", b),
                             lambda b: popliner.read(SAMPLE, num_threads=b),
                             lambda b: self.analysis.measure([(b, 1)])):
                with self.subTest(bad=bad), self.assertRaises(TypeError):
                    function(bad)

    def test_numbers_that_are_too_small_or_too_large(self):
        costs = popliner.Costs(3)
        for bad in (-1, 2**64, -2**80, 10**30):
            for function in (lambda b: popliner.Costs(b), lambda b: costs.set_peak(0, b, 1),
                             lambda b: costs.set_peak(0, 0, b), lambda b: costs.set_cut(1, b),
                             lambda b: costs.solve(num_ipus=b),
                             lambda b: costs.solve(mem_per_tile=b),
                             lambda b: costs.solve(device_map=[0, b]),
                             lambda b: costs.solve(mem_per_tile={b: 1}),
                             lambda b: costs.solve(mem_per_tile={0: b}),
                             lambda b: self.analysis.evaluate([b]),
                             lambda b: self.analysis.measure([(0, b)]),
                             lambda b: self.analysis.profile.peaks(b),
                             lambda b: popliner.read(SAMPLE, ipu=b)):
                with self.subTest(bad=bad), self.assertRaises(popliner.UsageError):
                    function(bad)
        with self.assertRaises(popliner.Error):  # as much memory as there is nowhere
            popliner.Costs(2**40)
        with self.assertRaises(popliner.Error):
            popliner.Costs(2**63)

    def test_beyond_the_last(self):
        profile = self.analysis.profile
        for items in (profile.tiles, profile.programs, profile.steps, profile.categories,
                      profile.compute_sets, profile.vertex_types, profile.variables,
                      profile.unlowered_variables, profile.engine_options, profile.runs,
                      profile.execution_steps, self.analysis.operations, self.analysis.layers):
            for bad in (len(items), len(items) + 5, -len(items) - 1, 2**70):
                with self.assertRaises(IndexError):
                    items[bad]
            if len(items) > 0:
                self.assertEqual(items[-1], items[len(items) - 1])
            self.assertEqual(items[2:5], list(items)[2:5])
        for function in (lambda: profile.by_tile("category", 999),
                         lambda: profile.vertices(10**9),
                         lambda: profile.peaks(0, 10**9), lambda: profile.live_by_step(10**9),
                         lambda: profile.live_by_step(0, 5, 3), lambda: profile.ipu_steps(10**9),
                         lambda: profile.live_by_step(0, 0, 10**12),
                         lambda: profile.peaks(selection=[1, 2]),
                         lambda: self.analysis.evaluate([0]),
                         lambda: self.analysis.evaluate([3, 2]),
                         lambda: self.analysis.evaluate("no such layer"),
                         lambda: self.analysis.measure([(3, 2)]),
                         lambda: self.analysis.solve(require="cut:9"),
                         lambda: self.analysis.solve(require="cut:Tail"),
                         lambda: self.analysis.solve(require=["cut:1", "no-cut:1"]),
                         lambda: self.analysis.solve(require="place:0=99", num_ipus=2,
                                                     device_map=[0, 0, 5]).values[7]):
            with self.subTest(line=function.__code__.co_firstlineno), \
                    self.assertRaises((popliner.UsageError, IndexError)):
                function()
        self.assertFalse(profile.is_live(10**9, 10**9))
        self.assertIsNone(self.analysis.debug_path(2**63))

    def test_names_that_there_are_not(self):
        for function in (lambda: self.analysis.solve(schedule="no such"),
                         lambda: self.analysis.solve(schedule=77),
                         lambda: self.analysis.solve(objectives="memory,nothing"),
                         lambda: self.analysis.solve(objectives="memory,memory"),
                         lambda: self.analysis.solve(method=9),
                         lambda: self.analysis.solve(memory_model="none"),
                         lambda: self.analysis.section("nothing"),
                         lambda: self.analysis.section(44),
                         lambda: self.analysis.table("memory_totals", format="json"),
                         lambda: self.analysis.section("plan"),
                         lambda: self.analysis.plot("plan"),
                         lambda: self.analysis.plot("tiles", width=3),
                         lambda: self.analysis.solve(effects=64),
                         lambda: self.analysis.solve(copies="never"),
                         lambda: popliner.read(SAMPLE, layer_name_regex="("),
                         lambda: popliner.check_options(layer_name_regex="(")):
            with self.subTest(line=function.__code__.co_firstlineno):
                with self.assertRaises(popliner.UsageError) as caught:
                    function()
                self.assertEqual(caught.exception.status, popliner.Status.USAGE)
                self.assertTrue(caught.exception.message)
                self.assertEqual(str(caught.exception), caught.exception.message)
        for function in (lambda: self.analysis.solve(no_such_member=1),
                         lambda: self.analysis.solve("num_ipus"),
                         lambda: self.analysis.solve(schedule=1.5),
                         lambda: self.analysis.solve(should_stop=5),
                         lambda: self.analysis.solve(require={"together": [1.5, 2]}),
                         lambda: self.analysis.solve(require=[5]),
                         lambda: self.analysis.solve(require={"place": [1, 2]}),
                         lambda: self.analysis.section("plan", answer="best"),
                         lambda: self.analysis.compare("1", ["a", "b"]),
                         lambda: popliner.compare(self.analysis, None),
                         lambda: popliner.solve([1, 2, 3]),
                         lambda: popliner.solve_ways([popliner.Costs(3)]),
                         lambda: popliner.Costs.of_table([5]),
                         lambda: popliner.Costs(3).set_peaks(5),
                         lambda: popliner.Costs(3).fill_peaks(None),
                         lambda: popliner.Costs(3).set_shared_peak(7),
                         lambda: popliner.Costs.parse(7),
                         lambda: popliner.Costs.read(7),
                         lambda: popliner.read(None), lambda: popliner.read(5.5),
                         lambda: self.analysis.profile.visit(7)):
            with self.subTest(line=function.__code__.co_firstlineno), \
                    self.assertRaises(TypeError):
                function()

    def test_texts(self):
        for function in (lambda: popliner.read("a\0b"), lambda: popliner.load("a\0b"),
                         lambda: popliner.read(SAMPLE, layer_name_regex="a\0b"),
                         lambda: popliner.Costs(1, unit_names=["a\0b"]),
                         lambda: self.analysis.page(title="a\0b"),
                         lambda: self.analysis.solve(copies="1\0")):
            with self.assertRaises(ValueError):
                function()
        with self.assertRaises(popliner.InputError):
            popliner.read("/nowhere/\udcff\u20ac")
        with self.assertRaises(popliner.InputError):
            popliner.read(b"/nowhere/\xff")
        odd = popliner.Costs(2, unit_names=["\udcff", "<\u20ac>"])
        self.assertEqual(odd.solve().json()["stages"][0]["layer_to"], "<\u20ac>")

    def test_lengths(self):
        costs = popliner.Costs(3)
        for function in (lambda: costs.set_peaks([[1, 2, 3]]),
                         lambda: costs.set_peaks([[1, 2], [1, 2], [1, 2]]),
                         lambda: costs.set_cuts([1]), lambda: costs.set_cuts([1, 2, 3]),
                         lambda: costs.solve(counted_units=[1]),
                         lambda: popliner.Costs(3, unit_names=["a"]),
                         lambda: popliner.Costs.of_table([]),
                         lambda: popliner.Costs.of_table([(1, 2)]),
                         lambda: popliner.Costs.of_table([{"first_unit": 1}]),
                         lambda: costs.solve_replicas(2, parameter_bytes=[1])):
            with self.assertRaises(popliner.UsageError):
                function()

    def test_an_answer_of_another_analysis(self):
        with popliner.read(TRAINING) as other:
            answer = other.solve(num_ipus=2, schedule="popart", accumulators="none")
            for function in (lambda: self.analysis.section("plan", answer=answer),
                             lambda: self.analysis.trace(answer=answer),
                             lambda: self.analysis.page(answer=answer),
                             lambda: self.analysis.plot("plan", answer=answer)):
                with self.assertRaisesRegex(popliner.UsageError, "another analysis"):
                    function()
        of_costs = popliner.Costs(3).solve()
        with self.assertRaises(popliner.UsageError):
            of_costs.verdict(0, 1)

    def test_copies_and_pickles(self):
        for it in (self.analysis, popliner.Costs(3), self.analysis.solve(num_ipus=2)):
            for function in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be"):
                    function(it)
        error = pickle.loads(pickle.dumps(popliner.InputError("it", popliner.Reason.NO_PROFILE)))
        self.assertEqual((type(error), error.message, error.reason),
                         (popliner.InputError, "it", popliner.Reason.NO_PROFILE))
        info = self.analysis.profile.info
        self.assertEqual(pickle.loads(pickle.dumps(info)), info)


class Failures(unittest.TestCase):
    def test_classes(self):
        self.assertTrue(issubclass(popliner.UsageError, ValueError))
        self.assertTrue(issubclass(popliner.OutOfMemoryError, MemoryError))
        for kind in (popliner.UsageError, popliner.InputError, popliner.OutputError,
                     popliner.OutOfMemoryError, popliner.InternalError,
                     popliner.StoppedError):
            self.assertTrue(issubclass(kind, popliner.Error))
        self.assertEqual({kind.status for kind in _calling.CLASSES.values()},
                         set(popliner.Status) - {popliner.Status.OK})

    def test_input(self):
        with self.assertRaises(popliner.InputError) as caught:
            popliner.read("/nowhere")
        self.assertIn("/nowhere", caught.exception.message)
        with popliner.read(SAMPLE) as analysis:
            path = os.path.join(common.scratch(), "stored.popliner")
            analysis.save(path)
            with self.assertRaises(popliner.InputError) as caught:
                popliner.read(path)
            self.assertEqual(caught.exception.reason, popliner.Reason.NO_PROFILE)
            with self.assertRaises(popliner.InputError) as caught:
                popliner.load(os.path.join(SAMPLE, "profile.pop"))
            self.assertEqual(caught.exception.reason, popliner.Reason.NO_ANALYSIS)
            with self.assertRaises(popliner.OutputError):
                analysis.save("/nowhere/stored.popliner")

    def test_memory(self):
        with self.assertRaises(popliner.OutOfMemoryError) as caught:
            popliner.read(SAMPLE, max_memory_bytes=1000)
        self.assertEqual(caught.exception.status, popliner.Status.MEMORY)


if __name__ == "__main__":
    common.main()
