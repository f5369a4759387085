"""Exceptions come out of calls as they were raised, Ctrl-C ends a solve, and threads take turns.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import collections
import ctypes
import gc
import os
import random
import signal
import sys
import threading
import time
import unittest
import weakref

import common
import popliner
from common import SAMPLE, TRAINING
from popliner import _calling


class Oops(Exception):
    """With something to tell it by."""


def table(num_units=6):
    costs = popliner.Costs(num_units)
    costs.fill_peaks(lambda first, last: 100 * (last - first + 1))
    return costs


class Exceptions(unittest.TestCase):
    """The very object comes out, and what was called works afterwards."""

    def raises(self, function, *arguments, **members):
        oops = Oops("it", 7)

        def callback(*_):
            raise oops

        try:  # assertRaises would drop where it was raised
            function(*arguments, **{name: callback if value is None else value
                                    for name, value in members.items()})
            self.fail("nothing was raised")
        except Oops as caught:
            self.assertIs(caught, oops)
        self.assertEqual(oops.args, ("it", 7))
        self.assertIsNone(oops.__context__)
        self.assertIsNone(oops.__cause__)
        frame = oops.__traceback__
        while frame.tb_next is not None:
            frame = frame.tb_next
        self.assertEqual(frame.tb_frame.f_code.co_name, "callback")

    def test_of_peaks(self):
        costs = popliner.Costs(4)
        self.raises(costs.fill_peaks, peak=None)
        asked = []

        def fails_late(first, last):
            asked.append((first, last))
            if len(asked) == 3:
                raise Oops
            return 1

        with self.assertRaises(Oops):
            costs.fill_peaks(fails_late)
        self.assertEqual(asked, [(0, 0), (0, 1), (0, 2)])  # and none after it
        costs.fill_peaks(lambda first, last: last - first + 1)
        self.assertEqual(costs.solve(num_ipus=4).peak_bytes, 1)

    def test_of_what_callbacks_return(self):
        costs = popliner.Costs(4)
        for bad, kind in [("many", TypeError), (1.5, TypeError), (-1, popliner.UsageError),
                          (2**64, popliner.UsageError)]:
            with self.assertRaises(kind):
                costs.fill_peaks(lambda first, last, bad=bad: bad)
        costs.fill_peaks(lambda first, last: None if last > first else 5)
        self.assertIsNone(costs.peak(0, 1))
        self.assertEqual(costs.solve(num_ipus=4).split, "[ 0 | 1 | 2 | 3 ]")

    def test_of_stopping_listening_and_weighing(self):
        costs = table()
        many = dict(device_map=[0, 1, 0, 1])
        self.raises(costs.solve, should_stop=None, **many)
        self.raises(costs.solve, ipu_weight=None, max_ipu_weight=5)
        self.assertTrue(costs.solve(**many).is_optimal)

    def test_of_shared_peaks(self):
        costs = table()
        oops = Oops("shared")

        def shared(stages):
            raise oops

        costs.set_shared_peak(shared)
        with self.assertRaises(Oops) as caught:
            costs.solve(device_map=[0, 1, 0])
        self.assertIs(caught.exception, oops)
        asked = []

        def smaller(stages):
            asked.append(stages)
            return max(100 * (it.last_unit - it.first_unit + 1) for it in stages)

        costs.set_shared_peak(smaller)
        self.assertEqual(costs.solve(device_map=[0, 1, 0]).peak_bytes, 200)
        self.assertTrue(all(isinstance(it, popliner.Interval) for stages in asked
                            for it in stages))
        costs.set_shared_peak(None)
        self.assertGreater(costs.solve(device_map=[0, 1, 0]).peak_bytes, 200)

    def test_of_listeners_of_an_analysis(self):
        for name in ("progress", "step"):
            self.raises(popliner.read, SAMPLE, **{name: None})
        with popliner.read(TRAINING) as analysis:
            self.raises(analysis.solve, num_ipus=2, message=None)
            self.raises(analysis.solve, num_ipus=2, schedule="popart", progress=None)
            self.assertTrue(analysis.solve(num_ipus=2, schedule="popart",
                                           accumulators="none").fits)

    def test_of_visitors(self):
        with popliner.read(SAMPLE) as analysis:
            self.raises(analysis.profile.visit, visitor=None)
            seen = []
            # it may use the profile
            analysis.profile.visit(lambda program, kind: seen.append(
                analysis.profile.programs[program].type == kind))
            self.assertEqual(len(seen), analysis.profile.info.num_programs)
            self.assertTrue(all(seen))

    def test_base_exceptions_come_out_too(self):
        costs = popliner.Costs(3)
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):
            with self.assertRaises(kind):
                costs.fill_peaks(lambda first, last, kind=kind: (_ for _ in ()).throw(kind))

    def test_nothing_is_kept_of_them(self):
        costs = table()

        class Marked(Exception):
            def __init__(self):
                super().__init__()
                marks.append(weakref.ref(self))

        def fails():
            raise Marked()

        marks = []
        gc.disable()
        try:
            for _ in range(3):
                try:
                    costs.solve(device_map=[0, 1, 0], should_stop=fails)
                except Marked:
                    pass
            self.assertEqual(len(marks), 3)
            self.assertEqual([mark() for mark in marks], [None] * 3)  # without a collection
        finally:
            gc.enable()


class Depth(unittest.TestCase):
    def test_there_is_room_for_callbacks(self):
        """However deep the caller is: the right answer or RecursionError, and none is printed and
        lost."""
        found = {True: 0, False: 0}
        lost = []
        before, sys.unraisablehook = sys.unraisablehook, lost.append

        def deep(frames):
            if frames > 0:
                return deep(frames - 1)
            costs = popliner.Costs(3)
            costs.fill_peaks(lambda first, last: last - first + 1)
            return costs.peak(0, 2), costs.peak(2, 2)

        limit = sys.getrecursionlimit()
        try:
            for frames in range(limit - 120, limit):
                try:
                    self.assertEqual(deep(frames), (3, 1))
                    found[True] += 1
                except RecursionError:
                    found[False] += 1
        finally:
            sys.unraisablehook = before
        self.assertEqual(lost, [])
        self.assertGreater(found[True], 5)
        self.assertGreater(found[False], 5)


class Listening(unittest.TestCase):
    def test_progress_messages_and_steps(self):
        heard = []
        with popliner.read(TRAINING, step=lambda *it: heard.append(("step", *it)),
                           message=lambda *it: heard.append(("message", *it)),
                           progress=lambda *it: heard.append(("progress", *it))) as analysis:
            self.assertIn("step", {it[0] for it in heard})
            for it in heard:
                if it[0] == "progress":
                    self.assertLessEqual(it[2], max(it[2], it[3]))
            heard.clear()
            analysis.solve(num_ipus=2, require="layers:1..")
            self.assertIn("message", {it[0] for it in heard})
            self.assertIn("progress", {it[0] for it in heard})
            self.assertTrue(all(isinstance(it[1], popliner.Level) for it in heard
                                if it[0] == "message"))
            # one of a call takes the place of the one of the analysis
            heard.clear()
            own = []
            analysis.solve(num_ipus=2, schedule="popart", accumulators="fp16",
                           progress=lambda *it: own.append(it))
            self.assertTrue(own)
            self.assertNotIn("progress", {it[0] for it in heard})

    def test_messages_that_nobody_hears_are_logged(self):
        with self.assertLogs("popliner", "WARNING") as logged, popliner.read(TRAINING) as analysis:
            analysis.solve(num_ipus=2)
        self.assertIn("The profile trains", logged.output[0])
        # so are those of a table, of which ranges and Pareto fronts are made
        with self.assertLogs("popliner", "WARNING") as logged, popliner.read(TRAINING) as analysis:
            analysis.costs(num_ipus=2)
        self.assertIn("The profile trains", logged.output[0])


def hard():
    """Takes more than some seconds to solve."""
    costs = popliner.Costs(160)
    costs.fill_peaks(lambda first, last: sum(100 + unit * 37 % 50
                                             for unit in range(first, last + 1)))
    return costs, {"device_map": [0, 1, 2, 3, 4, 5] * 5}


class Stopping(unittest.TestCase):
    def test_should_stop(self):
        costs, question = hard()
        asked = []

        def stop():
            asked.append(threading.get_ident())
            return len(asked) > 3

        answer = costs.solve(should_stop=stop, **question)
        self.assertTrue(answer.is_stopped)
        self.assertEqual(set(asked), {threading.get_ident()})

    def test_should_stop_reading_costs(self):
        units = [{"name": str(i), "memory": 7} for i in range(40)]
        asked = []
        with self.assertRaisesRegex(popliner.StoppedError, "reading the costs was stopped"):
            popliner.Costs.of_units(units,
                                    pipeline={"should_stop": lambda: asked.append(1) or True})
        self.assertEqual(asked, [1])
        costs = popliner.Costs.of_units(units, pipeline={"should_stop": lambda: False})
        self.assertEqual(costs.solve(num_ipus=4).peak_bytes, 70)

    def test_should_stop_reading(self):
        asked = []

        def stop():
            asked.append(threading.get_ident())
            return True

        with self.assertRaises(popliner.StoppedError) as caught:
            popliner.read(SAMPLE, should_stop=stop)
        self.assertIn("stopped", caught.exception.message)
        self.assertEqual(caught.exception.status, popliner.Status.STOPPED)
        self.assertEqual(set(asked), {threading.get_ident()})

        stops = []
        analysis = popliner.read(SAMPLE, should_stop=lambda: bool(stops))
        stops.append(True)
        with self.assertRaises(popliner.StoppedError):
            analysis.solve(num_ipus=2, require="layers:1..")
        stops.clear()
        self.assertEqual(analysis.solve(num_ipus=2, require="layers:1..").split,
                         popliner.read(SAMPLE).solve(num_ipus=2, require="layers:1..").split)

    def test_what_the_question_raises_while_reading(self):
        def stop():
            raise Oops("asked")

        with self.assertRaises(Oops):
            popliner.read(SAMPLE, should_stop=stop)

    def test_time_limit(self):
        costs, question = hard()
        start = time.monotonic()
        answer = costs.solve(time_limit_seconds=0.05, **question)
        self.assertTrue(answer.is_stopped)
        self.assertLess(time.monotonic() - start, 20)

    def interrupt(self, delay=0.2, number=signal.SIGINT):
        timer = threading.Timer(delay, os.kill, (os.getpid(), number))
        timer.start()
        return timer

    def test_ctrl_c(self):
        costs, question = hard()
        before = signal.getsignal(signal.SIGINT)
        timer = self.interrupt()
        with self.assertRaises(KeyboardInterrupt):
            costs.solve(**question)
        timer.join()
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        costs.solve(num_ipus=3)  # it works afterwards

    def test_a_handler_of_the_programs_own(self):
        """One that raises something else; and one that only takes note: with the plan that is
        known then."""
        costs, question = hard()
        noted = []

        def raises(*_):
            raise Oops("handled")

        before = signal.signal(signal.SIGINT, raises)
        try:
            timer = self.interrupt()
            with self.assertRaises(Oops):
                costs.solve(**question)
            timer.join()
            signal.signal(signal.SIGINT, lambda *it: noted.append(it[0]))
            timer = self.interrupt()
            answer = costs.solve(should_stop=lambda: bool(noted), **question)
            timer.join()
            self.assertTrue(answer.is_stopped)
            self.assertEqual(noted, [signal.SIGINT])
        finally:
            signal.signal(signal.SIGINT, before)

    def test_ctrl_c_in_a_callback(self):
        costs = popliner.Costs(200)
        timer = self.interrupt(0.1)

        def slow(first, last):
            time.sleep(0.002)
            return last - first + 1

        with self.assertRaises(KeyboardInterrupt):
            costs.fill_peaks(slow)
        timer.join()

    def test_ctrl_c_while_reading(self):
        """It is noticed at the end of what cannot be stopped."""
        told = []

        def progress(*_):
            if not told:
                told.append(1)
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            popliner.read(SAMPLE, progress=progress)

    def test_ctrl_c_in_a_call_within_a_call(self):
        outer = popliner.Costs(3)
        costs, question = hard()
        timer = self.interrupt()
        with self.assertRaises(KeyboardInterrupt):
            outer.fill_peaks(lambda first, last: costs.solve(**question).peak_bytes)
        timer.join()

    def test_ctrl_c_that_is_ignored(self):
        costs, question = hard()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            timer = self.interrupt(0.02)
            answer = costs.solve(time_limit_seconds=0.3, **question)
            timer.join()
            self.assertTrue(answer.is_stopped)
            self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)
        finally:
            signal.signal(signal.SIGINT, before)


class Interrupting:
    """Sends Ctrl-C after a random time, again and again; its handler raises once for each time that
    it is armed."""

    def __init__(self, seconds, is_enough):
        """Ends after so long, but not before it is enough, within a minute."""
        start = time.monotonic()
        self.ends = start + seconds, start + 60
        self.is_enough = is_enough
        self.armed = False
        self.lost = []
        self.thread = threading.Thread(target=self.send)

    def goes_on(self):
        now = time.monotonic()
        return now < self.ends[0] or (now < self.ends[1] and not self.is_enough())

    def send(self):
        chance = random.Random(1)
        while self.goes_on():
            time.sleep(chance.random() * 0.004)
            os.kill(os.getpid(), signal.SIGINT)

    def handle(self, *_):
        if self.armed:
            self.armed = False
            raise KeyboardInterrupt

    def __enter__(self):
        self.before = signal.signal(signal.SIGINT, self.handle)
        self.hook, sys.unraisablehook = sys.unraisablehook, self.lost.append
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.armed = False
        self.thread.join()
        sys.unraisablehook = self.hook
        signal.signal(signal.SIGINT, self.before)


class Signals(unittest.TestCase):
    """An exception of a handler comes out of what it interrupted, once; no other one does."""

    def setUp(self):
        self.handled = 0
        self.lost = []
        self.hook, sys.unraisablehook = sys.unraisablehook, self.lost.append
        self.before = {it: signal.signal(it, self.handle)
                       for it in (signal.SIGALRM, signal.SIGTERM, signal.SIGUSR1)}
        self.addCleanup(self.clean_up)

    def clean_up(self):
        signal.setitimer(signal.ITIMER_REAL, 0)
        for it, handler in self.before.items():
            signal.signal(it, handler)
        sys.unraisablehook = self.hook

    def handle(self, number, _frame):
        self.handled += 1
        raise Oops(number)

    def test_at_any_moment(self):
        chance = random.Random(9)
        caught = collections.Counter()
        heard = {"progress": lambda *_: None, "should_stop": lambda: False}
        for turn in range(400 if common.takes_all() else 60):
            self.handled, where = 0, "before"
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.random() * 0.02 + 1e-5)
                where = "at work"
                for _ in range(3):  # each frees the one before it
                    analysis = popliner.read(SAMPLE, **(heard if turn % 2 else {}))
                    analysis.solve(num_ipus=2)
                where = "after"
                while self.handled == 0:
                    time.sleep(0.001)
                where = "lost"
            except Oops:
                caught[where] += 1
                where = "caught"
            self.assertEqual((where, self.handled), ("caught", 1))
            for it in self.before:  # none of the library's is left
                self.assertEqual(signal.getsignal(it), self.handle)
        self.assertEqual(self.lost, [])
        self.assertGreater(caught["at work"], 10)

    def test_at_each_line(self):
        """Of the guard itself: the exception comes out once, and the handlers are back."""
        costs = table()
        guards = {it.__code__ for kind in (_calling.Interrupts, _calling.Calling)
                  for it in (kind.__enter__, kind.__exit__)} | {_calling.Call.end.__code__}
        wanted, seen = 0, 0  # events
        while seen == wanted:
            self.handled, seen, wanted = 0, 0, wanted + 1

            def trace(frame, *_):
                nonlocal seen
                if frame.f_code not in guards:
                    return None
                seen += 1
                if seen == wanted:
                    sys.settrace(None)
                    os.kill(os.getpid(), signal.SIGALRM)
                return trace

            sys.settrace(trace)
            try:
                costs.fill_peaks(lambda first, last: last - first + 1)
                caught = False
            except Oops:
                caught = True
            finally:
                sys.settrace(None)
            with self.subTest(event=wanted):
                self.assertEqual((caught, self.handled), (seen == wanted, seen == wanted))
                for it in self.before:
                    self.assertEqual(signal.getsignal(it), self.handle)
        self.assertEqual(self.lost, [])
        self.assertGreater(wanted, 100)

    def test_two_at_once(self):
        """One comes out, in the context of the other one."""
        both = {signal.SIGTERM, signal.SIGUSR1}

        def peak(*_):
            signal.pthread_sigmask(signal.SIG_BLOCK, both)
            for it in both:
                os.kill(os.getpid(), it)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, both)

        with self.assertRaises(Oops) as caught:
            popliner.Costs(3).fill_peaks(peak)
        self.assertEqual(self.handled, 2)
        self.assertEqual({*caught.exception.args, *caught.exception.__context__.args}, both)

    def test_in_a_callback(self):
        """It ends what the callback does, which may catch it: then the call goes on."""
        costs = table()
        seen = []

        def peak(first, last):
            if (first, last) == (1, 2):
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                start = time.monotonic()
                try:
                    time.sleep(20)
                except Oops as exception:
                    seen.append(exception)
                self.assertLess(time.monotonic() - start, 10)
            return last - first + 1

        costs.fill_peaks(peak)
        self.assertEqual([it.args for it in seen], [(signal.SIGALRM,)])
        self.assertEqual(costs.peak(4, 5), 2)

    def test_in_a_call_within_a_call(self):
        """What catches it in the callback has it: it does not come out of the outer call, too."""
        inner, question = hard()
        seen = []

        def peak(first, last):
            if not seen:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                try:
                    inner.solve(**question)
                except Oops as exception:
                    seen.append(exception)
            return last - first + 1

        outer = table()
        outer.fill_peaks(peak)
        self.assertEqual((len(seen), self.handled), (1, 1))
        self.assertEqual(outer.peak(0, 5), 6)
        seen.clear()
        with self.assertRaises(Oops):  # and nobody catches it
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            outer.fill_peaks(lambda *_: inner.solve(**question).peak_bytes)
        self.assertEqual(self.handled, 2)

    def test_a_call_in_a_handler(self):
        costs, question = hard()
        found = []

        def solves(*_):
            found.append(table().solve(num_ipus=2).peak_bytes)

        signal.signal(signal.SIGALRM, solves)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        costs.solve(time_limit_seconds=0.3, **question)
        self.assertEqual(found, [300])

    def test_while_another_thread_works(self):
        """It comes out of what the main thread does, and the other thread ends its work."""
        costs, question = hard()
        done, inside = [], threading.Event()
        thread = threading.Thread(target=lambda: done.append(costs.solve(
            time_limit_seconds=0.5, should_stop=inside.set, **question).is_stopped))
        thread.start()
        inside.wait()
        with self.assertRaises(Oops):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            costs.peak(0, 0)  # waits for its turn
            self.fail("it did not wait")
        self.assertEqual(self.handled, 1)
        thread.join(30)
        self.assertEqual(done, [True])

    def test_while_something_is_freed(self):
        """The handler is called after it, as what it raises there would be lost."""
        handle = _calling.Handle(ctypes.CDLL(None)["raise"], _calling.Turn())
        handle.pointer.value = signal.SIGUSR1
        with self.assertRaises(Oops):
            del handle
            time.sleep(10)
        self.assertEqual((self.handled, self.lost), (1, []))


class CtrlC(unittest.TestCase):
    def test_at_any_moment(self):
        """Whenever it comes, the call raises it or ends, and everything works afterwards."""
        shared = table(8)
        counts = {"done": 0, "interrupted": 0}

        def work():
            costs = popliner.Costs(12)
            costs.fill_peaks(lambda first, last: last - first + 1)
            costs.solve(num_ipus=3, progress=lambda *_: None)
            shared.solve(device_map=[0, 1, 0], should_stop=lambda: False)
            shared.peak(0, 3)
            with popliner.read(SAMPLE, step=lambda *_: None) as analysis:
                analysis.solve(num_ipus=2).text()

        with Interrupting(4 if common.takes_all() else 0.7, lambda: counts["interrupted"] > 20) \
                as interrupting:
            while interrupting.goes_on():
                try:
                    while interrupting.goes_on():
                        interrupting.armed = True
                        work()
                        counts["done"] += 1
                except KeyboardInterrupt:
                    counts["interrupted"] += 1
            interrupting.armed = False
            # not even the library's own handler is left
            self.assertEqual(signal.getsignal(signal.SIGINT), interrupting.handle)
        self.assertGreater(counts["interrupted"], 20)
        self.assertIsNone(shared._handle.turn.call)
        done = []
        other = threading.Thread(target=lambda: done.append(shared.solve(num_ipus=2)))
        other.start()  # its turn is free for everybody
        other.join(30)
        self.assertEqual(len(done), 1)
        self.assertEqual(interrupting.lost, [])
        work()


class Threads(unittest.TestCase):
    def together(self, functions):
        failures = []

        def guarded(function):
            try:
                function()
            except BaseException as exception:
                failures.append(exception)

        threads = [threading.Thread(target=guarded, args=(it,)) for it in functions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive())
        if failures:
            raise failures[0]

    def test_two_analyses(self):
        """As tests/examples/many_profiles.c does."""
        reports = [SAMPLE, TRAINING] * 2
        lines = {}

        def split(number, report):
            with popliner.read(report) as analysis:
                lines[number] = analysis.solve(num_ipus=2).line()

        self.together([lambda n=n, it=it: split(n, it) for n, it in enumerate(reports)])
        self.assertEqual([lines[n] for n in range(4)],
                         [lines[0], lines[1], lines[0], lines[1]])

    def test_one_analysis(self):
        with popliner.read(SAMPLE) as analysis:
            expected = {n: analysis.solve(num_ipus=n).json_text() for n in (1, 2, 3)}
        with popliner.read(SAMPLE) as analysis:
            found = []

            def work(n):
                for _ in range(5):
                    found.append(analysis.solve(num_ipus=n).json_text() == expected[n])
                    analysis.profile.tiles[n]
                    analysis.section("tiles")

            self.together([lambda n=n: work(n) for n in (1, 2, 3)])
            self.assertEqual(found, [True] * 15)

    def test_one_table(self):
        costs = table(12)
        found = []

        def work(n):
            for _ in range(20):
                found.append((n, costs.solve(num_ipus=n).peak_bytes))
                costs.set_cut(3, 5)

        self.together([lambda n=n: work(n) for n in (1, 2, 3, 4)])
        self.assertEqual(set(found), {(1, 1200), (2, 600), (3, 400), (4, 300)})

    def test_callbacks_of_several_threads(self):
        def work(units):
            me = threading.get_ident()
            asked = []
            costs = popliner.Costs(units)
            costs.fill_peaks(lambda first, last: asked.append(threading.get_ident()) or 1)
            self.assertEqual(set(asked), {me})
            self.assertEqual(len(asked), units * (units + 1) // 2)

        self.together([lambda n=n: work(n) for n in (30, 31, 32)])

    def test_closing_while_another_thread_works(self):
        costs, question = hard()
        started = threading.Event()
        results = []

        def stop():
            started.set()
            return closed.is_set()

        closed = threading.Event()

        def work():
            try:
                results.append(costs.solve(should_stop=stop, **question))
            except popliner.UsageError as error:  # closed before the plan became an answer
                results.append(error)

        def close():
            started.wait(60)
            costs.close()
            closed.set()

        self.together([work, close])
        self.assertEqual(len(results), 1)
        with self.assertRaisesRegex(popliner.UsageError, "closed"):
            costs.solve()

    def test_ctrl_c_while_another_thread_works(self):
        """Who waits for a turn can be interrupted."""
        costs, question = hard()
        started, done = threading.Event(), threading.Event()

        def stop():
            started.set()
            return done.is_set()

        thread = threading.Thread(target=lambda: costs.solve(should_stop=stop, **question))
        thread.start()
        started.wait(60)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            costs.solve(num_ipus=2)
        done.set()
        timer.join()
        thread.join()


class Reentering(unittest.TestCase):
    def test_a_callback_cannot_use_what_it_is_called_by(self):
        costs = table()
        with self.assertRaisesRegex(popliner.UsageError, "busy"):
            costs.fill_peaks(lambda first, last: costs.peak(0, 0))
        with self.assertRaisesRegex(popliner.UsageError, "busy"):
            costs.solve(device_map=[0, 1, 0],
                        should_stop=lambda: costs.solve(num_ipus=2).is_stopped)
        with popliner.read(SAMPLE) as analysis:
            with self.assertRaisesRegex(popliner.UsageError, "busy"):
                analysis.solve(num_ipus=2, progress=lambda *_: analysis.profile.info)
            with self.assertRaisesRegex(popliner.UsageError, "busy"):
                analysis.solve(num_ipus=3, schedule="popart",
                               step=lambda *_: analysis.chain("popliner"))

    def test_a_callback_may_close_it(self):
        costs = popliner.Costs(4)

        def closes(first, last):
            costs.close()
            gc.collect()
            return 1

        costs.fill_peaks(closes)
        self.assertTrue(costs.closed)

    def test_a_callback_may_use_others(self):
        other = table()
        costs = popliner.Costs(3)
        costs.fill_peaks(lambda first, last: other.solve(num_ipus=3).peak_bytes)
        self.assertEqual(costs.peak(0, 2), 200)


if __name__ == "__main__":
    common.main()
