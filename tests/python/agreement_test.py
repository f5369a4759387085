"""What the module says of profiles and of files of costs is what the command prints, byte by byte.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import json
import os
import re
import unittest

import common
import popliner
from common import COSTS, SAMPLE, TRAINING, run
from popliner._library import library
from popliner.enums import Named

name_of = library.popliner_name_of

# what the command takes for an answer, and what the module does
QUESTIONS = [
    (["--num-ipus", "2"], {"num_ipus": 2}),
    (["--num-ipus", "3", "--objective", "traffic,memory"],
     {"num_ipus": 3, "objectives": "traffic,memory"}),
    (["--num-ipus", "3", "--objective", "cycles"],
     {"num_ipus": 3, "objectives": [popliner.Objective.CYCLES]}),
    (["--num-ipus", "3", "--objective", "memory,balance", "--slack", "10"],
     {"num_ipus": 3, "objectives": ("memory", "balance"), "slack_percent": 10}),
    (["--num-ipus", "2", "--schedule", "popart"], {"num_ipus": 2, "schedule": "popart"}),
    (["--num-ipus", "4", "--schedule", "tf-grouped", "--recompute", "full"],
     {"schedule": popliner.Schedule.TF_GROUPED, "recompute": "full", "num_ipus": 4}),
    (["--num-ipus", "3", "--schedule", "popart", "--recompute", "auto"],
     {"schedule": "popart", "recompute": "auto", "num_ipus": 3}),
    (["--num-ipus", "3", "--schedule", "1f1b"], {"num_ipus": 3, "copies": "1f1b"}),
    (["--num-ipus", "3", "--schedule", "none:0,1,3"], {"num_ipus": 3, "copies": [0, 1, 3]}),
    (["--num-ipus", "2", "--need", "at-most"], {"num_ipus": 2, "need": "at-most"}),
    (["--num-ipus", "2", "--effects", "none"],
     {"num_ipus": 2, "effects": 0, "accumulators": "none"}),
    (["--num-ipus", "2", "--effects", "accumulators"],
     {"num_ipus": 2, "effects": 0, "accumulators": "auto"}),
    (["--num-ipus", "3", "--require", "cut:0"],
     {"num_ipus": 3, "require": ["layers:1..", "cut:0"]}),
    (["--num-ipus", "3", "--require", "no-cut:1,0"],
     {"num_ipus": 3, "require": {"layers": "1..", "no-cut": ["1", "0"]}}),
    (["--num-ipus", "3", "--require", "together:0,1"],
     {"num_ipus": 3, "require": ["layers:1..", "together:0,1"]}),
    (["--num-ipus", "3", "--require", "place:1=1"],
     {"num_ipus": 3, "require": {"place": {"1": 1}, "layers": "1.."}}),
    (["--device-map", "0,1,0"], {"device_map": [0, 1, 0]}),
    (["--device-map", "0,1,0", "--bandwidth", "3,1-0=2.5"],
     {"device_map": [0, 1, 0], "link_bandwidth": (3, 1), "ipu_links": {(1, 0): (5, 2)}}),
    (["--num-ipus", "3", "--require", "layers:0.."], {"num_ipus": 3, "require": "layers:0.."}),
    (["--num-ipus", "3", "--require", "layers:..2"], {"num_ipus": 3, "require": "layers:1..2"}),
    (["--num-ipus", "3", "--require", "layers:1..2", "--require", "layers:0..3"],
     {"num_ipus": 3, "require": "layers:1..2"}),
    (["--num-ipus", "3", "--require", "layers:1..2"],
     {"num_ipus": 3, "require": ["layers:..2", "layers:1..", "layers:..3", "layers:0.."]}),
    (["--num-ipus", "2", "--mem-per-tile", "500000"],
     {"num_ipus": 2, "mem_per_tile": 500000}),
    (["--num-ipus", "2", "--mem-per-tile", "0=600000"],
     {"num_ipus": 2, "mem_per_tile": {0: 600000}}),
    (["--num-ipus", "2", "--ipu-speed", "1=0.5", "--objective", "cycles"],
     {"num_ipus": 2, "ipu_speeds": {1: 0.5}, "objectives": "cycles"}),
    (["--num-ipus", "2", "--memory-model", "popliner"],
     {"num_ipus": 2, "memory_model": "popliner"}),
    (["--num-ipus", "2", "--solver", "popliner"],
     {"num_ipus": 2, "memory_model": "popliner", "method": "greedy", "require": "layers:0.."}),
] + [
    (["--num-ipus", "2", "--solver", "ilp"], {"num_ipus": 2, "method": "ilp"}),
] * popliner.has_glpk()


def without_hints(text):
    """A document as it is before anybody asks for hints."""
    return re.sub(r'"hints": \[(\n.*?\n    )?\]', '"hints": null', text, flags=re.S)


class Profiles(unittest.TestCase):
    report = SAMPLE

    @classmethod
    def setUpClass(cls):
        cls.analysis = popliner.read(cls.report)

    @classmethod
    def tearDownClass(cls):
        cls.analysis.close()

    def check_printed(self, own, printed):
        """That the command prints the same, but for messages that it adds: --quiet or not."""
        own, printed = json.loads(own), json.loads(printed)
        messages, told = own.pop("messages"), printed.pop("messages")
        self.assertIsNone(own.pop("hints"))
        del printed["hints"]
        self.assertEqual(own, printed)
        self.assertEqual([it for it in told if it in messages], messages)

    def has_cycles(self):
        return self.analysis.profile.info.cycles_source >= popliner.CyclesSource.ESTIMATED

    def test_solving(self):
        for options, members in common.some(QUESTIONS, 7):
            if not self.has_cycles() and {"auto", "cycles"} & set(options):
                continue
            with self.subTest(options=options):
                answer = self.analysis.solve(**{"require": "layers:1..", **members})
                self.assertTrue(answer.fits)
                printed = run(self.report, "--solve", *options, "--format", "json")
                self.check_printed(answer.json_text(), printed)
                self.assertEqual([{"level": it.level.name.lower(), "text": it.text}
                                  for it in answer.messages], answer.json()["messages"])
                self.check_plan(answer, json.loads(printed))
                self.check_hints(answer, json.loads(printed)["hints"])

    def check_hints(self, answer, printed):
        """The same advice, but for outputs, which only the command has, and for its dashes."""
        def words(option):
            return option.replace("--", "").replace("-", "_")
        self.assertEqual([(it.label, words(it.option), it.words, it.fits if it.is_measured
                           else None)
                          for it in answer.hints],
                         [(it["label"], words(it["option"]), it["text"], it["fits"])
                          for it in printed if not it["option"].startswith("--output")])

    def check_plan(self, answer, printed):
        """The attributes are those of the JSON."""
        self.assertEqual(answer.status.name.lower(), printed["status"])
        self.assertEqual(answer.is_stopped, printed["stopped"])
        self.assertEqual(len(answer.stages), len(printed["stages"]))
        for i, (stage, told) in enumerate(zip(answer.stages, printed["stages"])):
            self.assertEqual(stage.ipu, told["ipu"])
            layers = [name for name in answer.names_of(i) if name not in ("Head", "Tail", "None")]
            self.assertEqual(layers, told["layers"])
            self.assertEqual(answer.details[i].total_bytes, told["mem"]["total_mem"])
            self.assertEqual(answer.details[i].tile, told["peak"]["tile"])
            self.assertEqual([it.name for it in answer.details[i].variables],
                             [it["name"] for it in told["peak"]["largest_variables"]])
            if told["cycles"] is not None:
                self.assertEqual(stage.cycles, told["cycles"])
            if told["needs"]:
                needs = answer.details[i].need_bytes
                self.assertEqual((needs.least, needs.expected, needs.most),
                                 (told["needs"]["at_least_bytes"],
                                  told["needs"]["expected_bytes"],
                                  told["needs"]["at_most_bytes"]))
        self.assertEqual([(it.objective.name.lower(), it.value, it.bound) for it in answer.values],
                         [(it["name"], it["value"], it["bound"])
                          for it in printed["objectives"]])
        if answer.values:
            self.assertEqual(answer.peak_bytes, printed["totals"]["memory"])
            self.assertEqual(answer.cut_bytes, printed["totals"]["traffic"])

    def test_overview(self):
        printed = run(self.report, "--format", "text")
        shown = self.analysis.overview(width=80)
        self.assertTrue(printed.startswith(shown.rstrip("\n")), (printed, shown))
        self.assertIn(" on one IPU: the fullest tile needs ", shown)

    def test_other_forms(self):
        answer = self.analysis.solve(num_ipus=2, require="layers:1..")
        self.assertEqual(answer.layers_json_text(),
                         run(self.report, "--solve", "--num-ipus", "2", "-o", "popliner"))
        for form in ("csv", "tsv"):
            printed = run(self.report, "--output", "plan", "--num-ipus", "2", "--format", form)
            delimiter = {"csv": ",", "tsv": "\t"}[form]
            self.assertEqual(getattr(answer, form)().splitlines(),
                             [delimiter.join(line.split(delimiter)[:10])
                              for line in printed.splitlines()])
        log = common.log_of(self.report, "--solve", "--num-ipus", "2", "-o", "popliner")
        self.assertIn(f"SUCCESS: {answer.line()}", log)
        self.assertEqual(answer.line(), answer.split)
        for message in answer.messages:
            self.assertIn(message.text, log)

    @staticmethod
    def stages_of(report):
        """The rows of stages in a report, without their bars."""
        return re.findall(r"^>? +(\d+ .*[\d\"](?=  ))", report, re.M)

    def test_evaluating(self):
        names = [unit.name for unit in self.analysis.chain() if unit.name is not None]
        split = f"{names[0]}|{names[1]}"
        for options, members in [([], {}), (["--schedule", "popart"], {"schedule": "popart"}),
                                 (["--device-map", "0,1,0"], {"device_map": [0, 1, 0]})]:
            answer = self.analysis.evaluate(split, **members)
            self.assertEqual(self.stages_of(answer.evaluation()),
                             self.stages_of(run(self.report, "--evaluate", split, *options)))
            self.assertTrue(any(it.text.startswith("Objectives: peak ") for it in answer.messages))
            self.assertEqual(answer.evaluation_json(),
                             json.loads(run(self.report, "--evaluate", split, *options, "--format",
                                            "json"))["stages"])
            again = self.analysis.evaluate(answer.first_units, **members)
            self.assertEqual(again.json_text(), answer.json_text())
        whole = self.analysis.evaluate("whole")
        self.assertEqual(self.stages_of(whole.evaluation()),
                         self.stages_of(run(self.report, "--evaluate", "whole")))
        self.assertEqual(whole.first_units, [])
        both = self.analysis.evaluate(split, schedule="popart", stage_recomputes=["full"] * 3)
        self.assertEqual(self.stages_of(both.evaluation()),
                         self.stages_of(run(self.report, "--evaluate", split, "--schedule",
                                            "popart", "--recompute", "full,full,full")))

    def test_evaluating_is_solving(self):
        """All facts of a split that was solved for are those of the split alone."""
        about_others = ("status", "proof", "verdict", "messages", "options", "stopped")
        for _, members in QUESTIONS:
            try:
                solved = self.analysis.solve(**members)
            except popliner.UsageError:
                self.assertFalse(self.has_cycles())
                continue
            if not solved.fits:
                continue
            own = {name: value for name, value in members.items()
                   if name not in ("num_ipus", "require", "slack_percent")}
            if own.get("recompute") == "auto":
                own.update(recompute="none", stage_recomputes=[
                    stage["recompute"] for stage in solved.json()["stages"]])
            given = self.analysis.evaluate(solved.first_units, **own)
            with self.subTest(members=members):
                facts, others = given.json(), solved.json()
                self.assertEqual(facts.keys(), others.keys())
                for name in set(facts) - set(about_others) - {"objectives"}:
                    self.assertEqual(facts[name], others[name], name)
                if "mem_per_tile" not in members:  # which may choose the usual objectives
                    self.assertEqual([(o["name"], o["value"]) for o in facts["objectives"]],
                                     [(o["name"], o["value"]) for o in others["objectives"]])

    def test_nothing_fits(self):
        answer = self.analysis.solve(num_ipus=2, require="layers:1..", mem_per_tile=3000)
        self.assertFalse(answer.fits)
        self.assertNotEqual(answer.infeasibility.obstacle, popliner.Obstacle.NONE)
        printed = run(self.report, "--solve", "--num-ipus", "2", "--mem-per-tile", "3000",
                      "--format", "json", status=1)
        told = json.loads(printed)
        self.assertEqual(answer.json()["infeasibility"], told["infeasibility"])
        self.assertEqual(answer.json()["stages"], told["stages"])
        self.assertIn("mem_per_tile", answer.text())  # as the field is called

    def test_sweeps(self):
        for form, what, values, members in [
                ("tsv", "1..4", [1, 2, 3, 4], {}),
                ("json", "2..3", [2, 3], {"schedule": "popart"}),
                ("csv", "3..3", [3], {})]:
            sweep = self.analysis.sweep("num_ipus", values, title="num-ipus", require="layers:1..",
                                        **members)
            options = ["--schedule", "popart"] if members else []
            printed = run(self.report, "--solve", "--num-ipus", what, "--format", form, *options)
            self.assertEqual(sweep.json_text() if form == "json" else getattr(sweep, form)(),
                             printed)
            self.assertEqual(sweep.values, tuple(values))
            self.assertEqual(len(sweep), len(values))
        sweep = self.analysis.sweep("mem_per_tile", [500000, 600000], title="mem-per-tile",
                                    require="layers:1..", num_ipus=3)
        self.assertEqual(sweep.tsv(), run(self.report, "--solve", "--num-ipus", "3",
                                          "--mem-per-tile", "500000..600000:100000",
                                          "--format", "tsv"))

    def test_compromises(self):
        pareto = self.analysis.pareto("memory,traffic", require="layers:1..", num_ipus=4)
        for form in ("tsv", "json"):
            self.assertEqual(pareto.json_text() if form == "json" else pareto.tsv(),
                             run(self.report, "--solve", "--num-ipus", "4", "--pareto",
                                 "memory,traffic", "--format", form))
        self.assertTrue(pareto.is_complete)
        values = [(p.values[0].value, p.values[1].value) for p in pareto]
        self.assertEqual(values, sorted(values))

    def test_replicas(self):
        if not self.has_cycles():
            with self.assertRaisesRegex(popliner.UsageError, "cycles"):
                self.analysis.solve_replicas(4, micro_batches=8)
            return
        replicas = self.analysis.solve_replicas(4, micro_batches=8, require="layers:1..")
        for form in ("tsv", "json"):
            printed = run(self.report, "--solve", "--total-ipus", "4", "--micro-batches", "8",
                          "--format", form)
            self.assertEqual(replicas.json_text() if form == "json" else replicas.tsv(), printed)
        self.assertTrue(replicas.is_proven)
        self.assertIn(replicas.best, list(replicas))

    def test_sections(self):
        answer = self.analysis.solve(num_ipus=2, require="layers:1..")
        for section in common.some(list(popliner.Section), 5):
            is_plan = section == popliner.Section.PLAN
            name = section.name.lower()
            options = ["--solve", "--num-ipus", "2"] if is_plan else []
            for form in common.some(("json", "csv", "tsv"), 2):
                printed = run(self.report, "--output", name, "--format", form, *options)
                told = self.analysis.section_text(section, answer=answer if is_plan else None,
                                                  format=form)
                self.assertEqual(told, printed, name)
                if form == "json":
                    rows = json.loads(printed)["rows"]
                    self.assertEqual(self.analysis.section(name, answer=answer), rows)
        chain = self.analysis.chain()
        for section, unit_of in [
                ("operations", chain.unit_of),
                ("liveness", lambda step: chain.unit_of(chain.operation_at(step)))]:
            units = [row["unit"] for row in self.analysis.section(section)]
            self.assertEqual(units, [chain[unit_of(i)].label for i in range(len(units))])
            self.assertIsNone(chain.unit_of(10**9))
            self.assertIsNone(chain.operation_at(10**9))
        columns = self.analysis.columns("tiles")
        self.assertEqual(list(columns["tile"]), [row["tile"] for row in
                                                 self.analysis.section("tiles")])

    def test_tables(self):
        for option, table in [("--memory-totals", "memory-totals"),
                              ("--operation-breakdown", "operations"),
                              ("--layer-breakdown", "layers"), ("--memory-affinity", "affinity"),
                              ("--interlayer-communication", "communication")]:
            printed = run(self.report, option)
            self.assertIn(self.analysis.table(table, "popliner"), printed, table)
        self.assertEqual(self.analysis.table("layers", "full", "csv"),
                         run(self.report, "--layer-breakdown", "--memory-model", "full",
                             "--format", "csv"))

    def test_diagnosis(self):
        diagnosis = self.analysis.diagnose()
        printed = json.loads(run(self.report, "--diagnose", "--format", "json", status=(0, 1)))
        told = diagnosis.json()
        self.assertEqual(told, {key: printed[key] for key in told})
        shown = diagnosis.report(width=80, is_ascii=True)
        self.assertEqual(run(self.report, "--diagnose", status=(0, 1)).partition("More  ")[0],
                         shown)
        self.assertEqual(diagnosis.tiles_off, 0)
        by_name = {row["category"]: row for row in self.analysis.section("categories")}
        rows, missing, _ = (it["rows"] for it in told["sections"])
        found = {group: {it["name"]: it for it in rows if it["group"] == group}
                 for group in {it["group"] for it in rows}}
        for name, category in found["category"].items():
            self.assertEqual(category["value"], by_name[name]["counted_bytes"])
        here = found["bottleneck"]
        self.assertEqual((here["bytes"]["value"], here["bytes"]["explained"]),
                         (diagnosis.truth_bytes, diagnosis.explained_bytes))
        self.assertEqual([here[it]["value"] for it in ("tile", "step", "program")],
                         [diagnosis.tile, diagnosis.step, diagnosis.program_name or None])
        self.assertEqual([found["model"][it]["value"] for it in (
            "tile", "step", "bytes", "first_step", "last_step")], [
                diagnosis.model_tile, diagnosis.model_step, diagnosis.model_bytes,
                diagnosis.first_step, diagnosis.last_step])
        self.assertEqual(sum(it["value"] for it in found["layers"].values()),
                         diagnosis.num_operations)
        self.assertEqual(sum(it["value"] for it in found["programs"].values()),
                         self.analysis.profile.info.num_programs)
        listed = [it["size_bytes"] for it in missing
                  if it["place"] == "all"]
        self.assertEqual(listed, sorted(listed, reverse=True))
        self.assertEqual(diagnosis.tsv(), run(self.report, "--diagnose", "--format", "tsv",
                                              status=(0, 1)))
        self.assertEqual(diagnosis.csv(), run(self.report, "--diagnose", "--format", "csv",
                                              status=(0, 1)))
        self.assertEqual(diagnosis.contradictions, ())

    def test_pages_plots_and_traces(self):
        answer = self.analysis.solve(num_ipus=2, require="layers:1..")
        self.assertEqual(self.analysis.plot("tiles", width=80),
                         run(self.report, "--output", "tiles", "--format",
                             "plot").replace("\x1b", ""))
        self.assertEqual(self.analysis.plot("plan", answer=answer),
                         run(self.report, "--solve", "--num-ipus", "2", "--output", "plan",
                             "--format", "plot"))
        trace = os.path.join(common.scratch(), "trace.json")
        run(self.report, "--solve", "--num-ipus", "2", "--output", f"trace={trace}")
        with open(trace, encoding="utf-8") as file:
            self.assertEqual(self.analysis.trace(answer=answer), file.read())
        page = os.path.join(common.scratch(), "page.html")
        if os.path.exists(page):
            os.remove(page)
        run(self.report, "--solve", "--num-ipus", "2", "--output", f"page={page}")
        with open(page, encoding="utf-8") as file:
            printed = file.read()
        own = self.analysis.page(num_ipus=2, require="layers:1..", answer=answer, title="a <b>")

        def packed(text):
            return [part for part in re.findall(r"[A-Za-z0-9+/=]{400,}", text)]

        # the data of the stages is the same; the names and the words of the command are not
        self.assertTrue(set(packed(own)) & set(packed(printed)))
        self.assertIn("<!DOCTYPE html>", own)
        self.assertNotIn("a <b>", own)
        self.assertEqual(own, self.analysis.page(num_ipus=2, require="layers:1..", answer=answer,
                                                 title="a <b>"))

    def test_stored_analyses(self):
        by_command = os.path.join(common.scratch(), "command.popliner")
        by_module = os.path.join(common.scratch(), "module.popliner")
        run(self.report, "--save-to-file", by_command, "--memory-model", "full")
        self.analysis.save(by_module)
        expected = self.analysis.solve(num_ipus=3, require="layers:1..",
                                       schedule="popart").json_text()
        for path in (by_command, by_module):
            with popliner.load(path) as loaded:
                answer = loaded.solve(num_ipus=3, require="layers:1..", schedule="popart")
                self.assertEqual(answer.json_text(), expected)
                self.assertEqual(len(loaded.profile.variables), 0)
                with self.assertRaisesRegex(popliner.UsageError, re.escape(path)):
                    loaded.page(num_ipus=3)
        self.check_printed(expected, run(by_module, "--load-from-file", "--solve", "--num-ipus",
                                         "3", "--schedule", "popart", "--format", "json"))

    def test_comparing_with_itself_and_with_another(self):
        with popliner.read(TRAINING) as other:
            same = popliner.compare(self.analysis, self.analysis)
            self.assertEqual(same.num_changed, 0)
            self.assertFalse(same.grew(0))
            if other.profile.info.num_tiles != self.analysis.profile.info.num_tiles:
                with self.assertRaises(popliner.InputError):
                    popliner.compare(other, self.analysis)

    @unittest.skipUnless(popliner.has_glpk(), "GLPK writes programs")
    def test_the_program_of_the_answer(self):
        by_command = os.path.join(common.scratch(), "command.lp")
        by_module = os.path.join(common.scratch(), "module.lp")
        run(self.report, "--solve", "--num-ipus", "2", "--output", f"lp={by_command}")
        answer = self.analysis.solve(num_ipus=2, require="layers:1..")
        answer.write(by_module)
        with open(by_command, encoding="utf-8") as a, open(by_module, encoding="utf-8") as b:
            self.assertEqual(a.read(), b.read())
        with self.analysis.costs(num_ipus=2, require="layers:1..") as costs:
            costs.write(by_module, format="mps")
        run(self.report, "--solve", "--num-ipus", "2", "--output", f"mps={by_command}")
        with open(by_command, encoding="utf-8") as a, open(by_module, encoding="utf-8") as b:
            self.assertEqual(a.read(), b.read())

    def test_costs_of_a_profile_have_the_same_best_split(self):
        for members in ({}, {"schedule": "popart", "num_ipus": 3}, {"objectives": "ipus,memory"}):
            with self.analysis.costs(require="layers:1..", **members) as costs:
                by_table = costs.solve()
                answer = self.analysis.solve(require="layers:1..", **members)
                self.assertEqual(by_table.split, answer.split)
                self.assertEqual(by_table.peak_bytes, answer.peak_bytes)
                self.assertEqual(by_table.cycles, answer.cycles)
                for i, stage in enumerate(by_table.stages):
                    self.assertEqual(costs.peak(stage.first_unit, stage.last_unit,
                                                min(len(by_table.stages) - i,
                                                    3 if members.get("schedule") else 1)),
                                     stage.peak_bytes)

    def test_measuring(self):
        answer = self.analysis.evaluate("1", schedule="popart")
        for i, stage in enumerate(answer.stages):
            to_end = len(answer.stages) - i
            measured = self.analysis.measure([(stage.first_unit, stage.last_unit, to_end)],
                                             schedule="popart")
            self.assertEqual(measured.detail, answer.details[i])
            self.assertEqual(sum(measured.by_tile["total_bytes"].tolist()),
                             measured.detail.total_bytes)
            self.assertEqual(max(measured.by_tile["most_bytes"].tolist()),
                             measured.detail.need_bytes.most)
            self.assertEqual(measured.by_tile["total_bytes"].tolist()[measured.detail.tile],
                             measured.detail.tile_bytes)
            limit = self.analysis.profile.info.bytes_per_tile
            document = json.loads(answer.json_text())
            needs = document["stages"][i]["needs"]
            self.assertEqual(answer.verdict(i, limit), popliner.Verdict.FITS)
            record = f"{needs['verdict_fitted']:,} of {needs['verdict_given']:,}"
            self.assertEqual(answer.verdict_record(i, limit), record)
            self.assertTrue(document["verdict"]["record"].startswith(f"{record} random cases "))
            self.assertAlmostEqual(answer.margin_spreads(i, limit), needs["margin_spreads"], 1)


class Records(unittest.TestCase):
    def test_those_of_the_documents(self):
        """How often each verdict was right is what docs/benchmarks.md reports."""
        with open(os.path.join(common.ROOT, "docs", "benchmarks.md"), encoding="utf-8") as file:
            found = re.findall(r"^\| ([a-z ]+) \| (\d+) \| (\d+) \([\d.]+ %\) \|$",
                               file.read(), re.M)
        told = {text.decode(): name_of(Named.RECORD, verdict).decode()
                for verdict in popliner.Verdict
                for text in [name_of(Named.VERDICT, verdict)] if name_of(Named.RECORD, verdict)}
        self.assertEqual(told, {name: f"{int(fitted):,} of {int(given):,}"
                                for name, given, fitted in found})
        self.assertEqual(len(told), 4)


class Training(Profiles):
    report = TRAINING


class Frameworks(unittest.TestCase):
    OPTIONS = ["--modules", "model.embed_tokens,model.layers.{},model.norm,lm_head"]
    MEMBERS = {"layer_path": "model.layers.{}", "head_modules": ["model.embed_tokens"],
               "tail_modules": ("model.norm", "lm_head")}

    def test_answers(self):
        with popliner.read(SAMPLE) as analysis:
            answer = analysis.solve(num_ipus=3, require="layers:1..")
        # numbers are no symbols of layers; no micro-batches
        rejected = {"hybrid", "order", "passes"}
        for format in popliner.EmitFormat:
            name = format.name.lower()
            printed = run(SAMPLE, "--solve", "--num-ipus", "3", "--output", name, *self.OPTIONS,
                          status=(0, 2))
            self.assertEqual(printed == "", name in rejected, name)
            if name in rejected:
                with self.assertRaisesRegex(popliner.UsageError, name):
                    answer.emit(format, **self.MEMBERS)
                continue
            self.assertEqual(answer.emit(format, **self.MEMBERS), printed)
            self.assertEqual(answer.emit(name, **self.MEMBERS), printed)

    def test_replicas(self):
        path = os.path.join(COSTS, "additive.json")
        with popliner.Costs.read(path) as costs:
            replicas = costs.solve_replicas(6, micro_batches=4, require="layers:1..")
        self.assertEqual(replicas.emit("pipeline"),
                         run(path, "--solve", "--total-ipus", "6", "--micro-batches",
                             "4", "--output", "pipeline"))

    def test_what_cannot_be_said(self):
        with popliner.read(SAMPLE) as analysis:
            shared = analysis.solve(device_map=[0, 1, 0], require="layers:1..")
            with self.assertRaisesRegex(popliner.UsageError, "optimum"):
                shared.emit("optimum")
            answer = analysis.solve(num_ipus=3, require="layers:1..")
            told = []
            self.assertTrue(answer.emit("optimum", message=lambda *it: told.append(it)))
            # classes place the ends, and PopTorch reserves a power of two
            self.assertEqual([level for level, _ in told], [popliner.Level.WARNING] * 2)
            self.assertIn("head on the first IPU", told[0][1])
            self.assertIn("reserves 4 IPUs for 3", told[1][1])

            def fails(*_):
                raise ZeroDivisionError

            with self.assertRaises(ZeroDivisionError):
                answer.emit("optimum", message=fails)
        popliner.check_emit("pipeline")
        for function in (lambda: answer.emit("no such"), lambda: popliner.check_emit("torch"),
                         lambda: answer.emit("torch"),
                         lambda: answer.emit("torch", layer_path="no place")):
            with self.assertRaises(popliner.UsageError):
                function()
        for function in (lambda: answer.emit(5.5), lambda: answer.emit("pipeline", layer_path=5),
                         lambda: answer.emit("pipeline", head_modules="one"),
                         lambda: answer.emit("pipeline", tail_modules=[5])):
            with self.assertRaises(TypeError):
                function()
        answer.close()
        with self.assertRaisesRegex(popliner.UsageError, "closed"):
            answer.emit("pipeline")


class Comparing(unittest.TestCase):
    MODEL = ("--layers 4 --hidden 32 --sequence 16 --vocabulary 200 --seed 5 --debug-arguments 0 "
             "--debug-nesting 0 --map-in-turn --tiles 12 --framework popart --training").split()

    def test_comparing(self):
        whole = common.made_profile(*self.MODEL)
        pipeline = common.made_profile(*self.MODEL, "--accumulate", "--pipeline", "1")
        with popliner.read(whole) as model, popliner.read(pipeline, ipu=0) as first, \
                popliner.read(pipeline, ipu=1) as second:
            comparison = model.compare("1", [first, second], schedule="popart")
            printed = run(whole, "--evaluate", "1", "--schedule", "popart", "--compiled", pipeline,
                          "--format", "json")
            self.assertEqual(comparison.json_text(), printed)
            shown = run(whole, "--evaluate", "1", "--schedule", "popart", "--compiled", pipeline)
            self.assertEqual(comparison.report(width=80, is_ascii=True), shown)
            self.assertEqual(len(comparison), 2)
            for stage, told in zip(comparison, json.loads(printed)["stages"]):
                self.assertEqual(stage, told)
                self.assertAlmostEqual(
                    stage["error_percent"], 100 * (stage["predicted"]["bytes"] /
                                                   stage["compiled"]["bytes"] - 1))

class Changed(unittest.TestCase):
    MODEL = ("--layers 3 --hidden 32 --sequence 16 --vocabulary 200 --debug-arguments 0 "
             "--debug-nesting 0 --tiles 8 --framework popart").split()

    def test_two_profiles(self):
        before = common.made_profile(*self.MODEL, "--seed", "1")
        now = common.made_profile(*self.MODEL, "--seed", "2")
        with popliner.read(before) as a, popliner.read(now) as b:
            answers = {"before_answer": a.solve(num_ipus=2, require="layers:1.."),
                       "now_answer": b.solve(num_ipus=2, require="layers:1..")}
            for solve, given in ([], {}), (["--solve", "--num-ipus", "2"], answers):
                changes = popliner.compare(a, b, before_name=before, now_name=now, **given)
                self.assertEqual(changes.json_text(), run(now, "--compare", before, *solve,
                                                          "--format", "json"))
                self.assertEqual(changes.csv(), run(now, "--compare", before, *solve, "--format",
                                                    "csv"))
                rows = changes.json()["rows"]
                self.assertEqual([(it.what, it.name, it.quantity, it.before, it.now)
                                  for it in changes],
                                 [(row["what"], row["name"], row["quantity"], row["before"],
                                   row["now"]) for row in rows])
                changed = sum(it.before != it.now or it.before is None for it in changes)
                self.assertEqual(changes.num_changed, changed)
                self.assertIn(changes.deciding, list(changes))
                grown = changes.deciding.now > changes.deciding.before
                self.assertEqual(changes.grew(0), grown)
                largest = changes.most_grown("live_bytes", "tile")
                if largest is not None:
                    tiles = [it for it in changes
                             if it.what == "tile" and it.quantity == "live_bytes"]
                    self.assertEqual(largest.now - largest.before,
                                     max(it.now - it.before for it in tiles))


    def test_bounds(self):
        before = common.made_profile(*self.MODEL, "--seed", "1")
        now = common.made_profile(*self.MODEL, "--seed", "2")
        with popliner.read(before) as a, popliner.read(now) as b:
            changes = popliner.compare(a, b, bounds=[("largest-tile", 0), ("tiles", 1.5),
                                                     (popliner.Growth.LAYERS, 0)])
            self.assertEqual([it.of.name for it in changes.bounds],
                             ["LARGEST_TILE", "TILES", "LAYERS"])
            tiles = [it for it in changes if it.what == "tile" and it.quantity == "live_bytes"]
            self.assertEqual(changes.bounds[1].num_compared, len(tiles))
            self.assertEqual({it.name for it in changes.bounds[1].exceeded},
                             {it.name for it in tiles if it.now > 1.015 * it.before})
            self.assertEqual(bool(changes.bounds[0].exceeded), changes.grew(0))
            for bad, kind in [([("nothing", 1)], popliner.UsageError),
                              ([("stages", 1)], popliner.UsageError), (["tiles"], TypeError),
                              ([("tiles", "1")], TypeError),
                              ([("layers", -2.0)], popliner.UsageError)]:
                with self.assertRaises(kind):
                    popliner.compare(a, b, bounds=bad)


class Pages(unittest.TestCase):
    def test_prepared(self):
        with popliner.read(common.made_profile("--layers", "3", "--tiles", "4")) as analysis:
            page = analysis.page(num_ipus=2, require="layers:1..")
            analysis.prepare_page(num_ipus=2, require="layers:1..")
            self.assertEqual(analysis.page(num_ipus=2, require="layers:1.."), page)


# what the command says of such costs in its answers, and the module logs
UNSCHEDULED = "The costs have a stash: without --schedule none of it is counted."


class FilesOfCosts(unittest.TestCase):
    def test_solving(self):
        for name in sorted(os.listdir(COSTS)):
            path = os.path.join(COSTS, name)
            if not name.endswith(".json"):
                continue
            with popliner.Costs.read(path) as costs:
                answer = costs.solve(require="layers:1..")
                if name == "regions.json":
                    answer.add_message(UNSCHEDULED)
                self.assertEqual(answer.json_text(),
                                 without_hints(run(path, "--solve", "--format", "json")))
                self.assertEqual(costs.solve(require="layers:1..", num_ipus=2).tsv(),
                                 run(path, "--solve", "--num-ipus", "2", "--format", "tsv",
                                     status=(0, 1)))
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            with popliner.Costs.parse(document) as costs:
                parsed = costs.solve(require="layers:1..")
                if name == "regions.json":
                    parsed.add_message(UNSCHEDULED)
                self.assertEqual(parsed.json_text(),
                                 without_hints(run(path, "--solve", "--format", "json")))

    def test_what_a_pipeline_keeps(self):
        path = os.path.join(COSTS, "regions.json")
        for options, members in [(["--schedule", "popart"], {"schedule": "popart"}),
                                 (["--schedule", "1f1b", "--recompute", "full"],
                                  {"copies": "1f1b", "recompute": "full"})]:
            with popliner.Costs.read(path, **members) as costs:
                answer = costs.solve(require="layers:1..", num_ipus=3)
                printed = json.loads(run(path, "--solve", "--num-ipus", "3", *options,
                                         "--format", "json"))
                self.assertEqual(answer.json()["stages"], printed["stages"])
                self.assertEqual(answer.json()["totals"], printed["totals"])

    def test_own_devices_besides_those_of_the_file(self):
        path = os.path.join(common.scratch(), "devices.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "popliner-costs", "version": 1, "cuts": [1, 2],
                       "units": [{"name": it, "memory": 5, "cycles": 4} for it in "abc"],
                       "devices": {"count": 3, "memories": {"0": 8, "1": 9}, "bandwidth": 1,
                                   "speeds": {"0": 0.5, "1": 2},
                                   "links": {"0-1": 0.5, "1-2": 0.25}}}, file)
        for options, members in [
                (["--ipu-speed", "1=4,2=1"], {"ipu_speeds": {1: 4, 2: 1}}),
                (["--bandwidth", "1-0=4"], {"ipu_links": {(1, 0): (4, 1)}}),
                (["--bandwidth", "2"], {"link_bandwidth": (2, 1)}),
                (["--mem-per-tile", "1=7"], {"mem_per_tile": {1: 7}})]:
            with popliner.Costs.read(path) as costs:
                own = costs.solve(require="layers:1..", objectives="cycles", **members).json()
                told = run(path, "--solve", "--objective", "cycles", *options, "--format", "json")
                printed = json.loads(without_hints(told))
                self.assertIn("device 2 has no limit", printed["messages"].pop()["text"])
                self.assertEqual(own, printed)

    def test_compromises_sweeps_and_replicas(self):
        path = os.path.join(COSTS, "regions.json")
        with popliner.Costs.read(path) as costs:
            self.assertEqual(costs.pareto("cycles,traffic", require="layers:1..").tsv(),
                             run(path, "--solve", "--pareto", "cycles,traffic", "--format", "tsv"))
            self.assertEqual(
                costs.sweep("num_ipus", [2, 3], title="num-ipus", require="layers:1..").tsv(),
                run(path, "--solve", "--num-ipus", "2..3", "--format", "tsv"))
            replicas = costs.solve_replicas(4, micro_batches=4, require="layers:1..")
            self.assertEqual(replicas.tsv(), run(path, "--solve", "--total-ipus", "4",
                                                 "--micro-batches", "4", "--format", "tsv"))
            self.assertEqual(repr(replicas), "<Replicas: best 2 replicas of 2 IPUs>")

    def test_fronts_of_replicas(self):
        # [ a | b c ] has the same throughput and memory, but sends 9 bytes
        path = os.path.join(common.scratch(), "equal.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "popliner-costs", "version": 1, "cuts": [9, 1],
                       "units": [{"name": it, "memory": 2, "cycles": 6} for it in "abc"]}, file)
        with popliner.Costs.read(path) as costs:
            front = costs.solve_replicas(2, micro_batches=1, front=True, require="layers:1..")
        self.assertEqual([it.plan.split for it in front], ["[ a b c ]", "[ a b | c ]"])
        self.assertEqual(front.tsv(), run(path, "--solve", "--total-ipus", "2", "--micro-batches",
                                          "1", "--pareto", "throughput,memory", "--format",
                                          "tsv"))

    def test_choices(self):
        document = {"format": "popliner-costs", "version": 1, "units": [
            {"name": f"l{i}", "memory": 100, "cycles": 90, "stash": 40, "inputs": 8,
             "recompute_cycles": 30, "variants": [{"name": "attention", "stash": 20, "cycles": 96}]}
            for i in range(4)]}
        path = os.path.join(common.scratch(), "choices.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        with popliner.Costs.read(path, schedule="popart", recompute="auto") as costs:
            answer = costs.solve(num_ipus=2, require="layers:1..", objectives="memory,cycles")
            self.assertEqual(answer.json_text(),
                             without_hints(run(
                                 path, "--solve", "--num-ipus", "2", "--schedule", "popart",
                                 "--recompute", "auto", "--objective", "memory,cycles",
                                 "--format", "json")))


if __name__ == "__main__":
    common.main()
