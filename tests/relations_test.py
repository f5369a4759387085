#!/usr/bin/env python3
"""What holds between answers to random questions, whatever they are: of costs and of profiles, in
the words of the command, of the Python module and of C.

    relations_test.py [--seed N] [--only RELATION] [--number N] [--case JSON]

Each run has other seeds. A case that fails is made smaller, and printed as the command that repeats
it. Where the documents allow a difference, the relation says why.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import argparse
import collections
import itertools
import json
import logging
import os
import random
import re
import sys
import time

import cases
import plain_solver
import plain_step
from questions import (COMMAND, SCRATCH, Draw, Question, Refused, Unsayable, draw_costs, draw_limit,
                       draw_options, run)

RELATIONS = {}
logging.disable()  # warnings of the module


def holds(weight, profiles=0):
    """A relation for so many of a hundred questions about costs, and of those about profiles."""
    def add(relation):
        RELATIONS[relation.__name__] = relation, weight, profiles
        return relation
    return add


def expect(own, other, what):
    if own != other:
        raise AssertionError(f"{what}: {own}, expected {other}")


def signed(name, value):
    return -value if name == "headroom" else value


def values(answer, key="value"):
    """What the objectives are worth, less being better; nothing is worse than what does not fit."""
    if answer["status"] == "infeasible":
        return [float("inf")]
    return [signed(own["name"], own[key]) for own in answer["objectives"]]


def counted(question, answer, key="value"):
    """The values that may be compared with those of another question. With slack only the first
    bound is the best of all."""
    found = values(answer, key)
    return found[:1] if "slack" in question.options else found


def expect_worse(question, own, other, what):
    """That the question has no better answer `own` than another one has."""
    expect(own["status"] in ("optimal", "infeasible"), True, f"proof of {own['status']}")
    key = "bound" if "slack" in question.options and "infeasible" not in (
        own["status"], other["status"]) else "value"
    worse, better = counted(question, own, key), counted(question, other, key)
    if worse < better:
        raise AssertionError(f"{what}: {worse} is better than {better}")


def stages(answer, *keys):
    keys = keys or ("ipu", "layer_from", "layer_to", "mem", "cycles", "cut_bytes", "link_cycles")
    return [[stage.get(key) for key in keys] for stage in answer["stages"]]


def first_units(question, answer):
    """Those after the cuts."""
    if not question.is_profile:
        return [question.names.index(s["layer_to"]) + 1 for s in answer["stages"][:-1]]
    ends = [len(stage["layers"]) + stage.get("head", False) for stage in answer["stages"][:-1]]
    return [sum(ends[:k + 1]) for k in range(len(ends))]


def told(answer):
    """Without its words: names are those of who asks, and a link's ends in any order. Hints are not
    looked for in the module and in C unless read (python_agreement compares them)."""
    found = {key: value for key, value in answer.items() if key not in ("messages", "hints")}
    why = found["infeasibility"]
    if why and "constraints" in why:
        found["infeasibility"] = {**why, "constraints": [
            own.replace("num_ipus", "num-ipus").replace("device_map", "device-map")
            .replace("require ", "") for own in why["constraints"]]}
    if "options" in found:
        links = {"-".join(sorted(key.split("-"))): own
                 for key, own in found["options"]["links"].items()}
        found["options"] = {**found["options"], "links": links}
    return found


# ---- relations ----

@holds(6, 4)
def in_any_words(rng, q):
    """The command, the module and C give one answer, or all refuse."""
    answers = {}
    for name, ask in (("python", q.python), ("command", lambda: q.command("--solve")),
                      ("c", q.in_c)):
        try:
            answers[name] = told(ask())
        except Refused as error:
            answers[name] = {"refused": str(error)}
        except Unsayable:
            if name == "python":
                raise
    own = answers.pop("python")
    for name, other in answers.items():
        for key in {*own, *other} - {"refused"}:
            expect(own.get(key, own), other.get(key, other), f"{key} in Python, not {name}")
    if "refused" in own:
        raise Refused(own["refused"])


@holds(8, 4)
def split_is_worth_that(rng, q):
    """--evaluate of the answer's split says what the answer says."""
    if q.options.get("map") in ("any", "replicas") or q.options.get("recompute") == "auto" and (
            "slack" in q.options or q.is_profile):
        raise Unsayable("stages choose within what slack or objectives allow")
    answer = case_ask(rng, q)
    if answer["status"] == "optimal":
        expect([own["name"] for own in answer["objectives"] if own["proof"] is None], [],
               "proven optimal without a proof")
    if not answer["stages"]:
        return
    again = q.python(split=first_units(q, answer))
    keys = ("ipu", "layer_from", "layer_to", "mem", "needs", "peak")
    keys += () if q.is_profile else ("cycles", "cut_bytes", "link_cycles", "recompute")
    expect(stages(again, *keys), stages(answer, *keys), "stages evaluated")
    for key in ("memory", "ipus") if q.is_profile else answer["totals"]:
        expect(again["totals"][key], answer["totals"][key], f"total {key} evaluated")
    if not q.is_profile:
        expect(again["status"], answer["status"], "status evaluated")
        # unsaid, those of a split and of a question without a number of devices may be others
        own, others = ({one["name"]: one["value"] for one in of["objectives"]}
                       for of in (again, answer))
        expect({name: value for name, value in own.items() if name in others},
               {name: value for name, value in others.items() if name in own}, "values evaluated")


@holds(8, 3)
def tighter_limit_is_not_better(rng, q):
    limits = q.limits()
    answer = case_ask(rng, q)
    most = max([stage["mem"]["max_tile_mem"] for stage in answer["stages"]], default=10)
    ipu = rng.choice([*limits, None])
    lower = rng.randrange(1, 2 + min(limits.get(own, most + 5) for own in {ipu, None}))
    lower = min(lower, limits.get(ipu, lower))
    other = q.but(memory=lower) if ipu is None else q.but(
        memories={**q.options.get("memories", {}), str(ipu): lower})
    expect_worse(q, case_ask(rng, other.but(objectives=",".join(q.objectives()))), answer,
                 f"a limit of {lower} for {ipu}")


@holds(6, 3)
def device_more_is_not_worse(rng, q):
    if q.device_map() is not None:
        raise Unsayable("a map has its devices")
    count = q.num_ipus()
    q = q.but(num_ipus=count, objectives=",".join(q.objectives()))
    if "headroom" in q.objectives() and None not in q.limits() and not q.is_profile:
        raise Unsayable("the new one would need a limit")
    expect_worse(q, case_ask(rng, q), case_ask(rng, q.but(num_ipus=count + rng.randrange(1, 3))),
                 f"{count} devices")


@holds(4)
def variant_more_is_not_worse(rng, q):
    if q.options.get("map") in ("any", "replicas") or "regions" in q.document:
        raise Unsayable("nothing is chosen")
    q = q.but(recompute="auto", schedule="popart", copies=None, micro_batches=None)
    if "balance" in q.objectives():
        q = q.but(objectives="cycles,memory")
    document = json.loads(json.dumps(q.document))
    unit = rng.choice(document["units"])
    unit["variants"] = unit.get("variants", []) + [
        {"name": "more", "memory": rng.randrange(40), "stash": rng.randrange(6),
         **({"cycles": rng.randrange(30)} if "cycles" in unit else {})}]
    expect_worse(q, case_ask(rng, q), case_ask(rng, q.but(document)), "without a variant")


@holds(4, 1)
def slack_is_for_the_second(rng, q):
    """More slack leaves the best of the first objective as it is, and the second one can only win.
    Of a third one nothing is said: it gets what the second leaves."""
    if q.options.get("map") in ("any", "replicas"):
        raise Unsayable("no slack")
    less, more = (case_ask(rng, q.but(slack=slack)) for slack in sorted(rng.sample(
        [0, 5, 12.5, 50, 100], 2)))
    expect(less["status"], more["status"], "status with slack")
    if less["status"] == "optimal":
        first, second = values(less, "bound"), values(more, "bound")
        expect(first[:1], second[:1], "first bound with more slack")
        if len(first) > 1 and second[1] > first[1]:
            raise AssertionError(f"bounds with more slack: {second}, with less {first}")


@holds(4, 2)
def equal_maps(rng, q):
    """A map by its word is the list; other numbers of devices change no more than their numbers."""
    devices = q.device_map()
    if devices is None:
        raise Unsayable("no map")
    answer = told(case_ask(rng, q))
    listed = q.but(map=devices, num_ipus=None, objectives=",".join(q.objectives()))
    expect(told(case_ask(rng, listed)), answer, "with the map as a list")
    new = rng.sample(range(max(devices) + 3), max(devices) + 1)
    name = {str(ipu): str(own) for ipu, own in enumerate(new)}
    renamed = listed.but(map=[new[ipu] for ipu in devices])
    for key in ("memories", "speeds"):
        renamed.options[key] = {name[ipu]: own for ipu, own in q.of_devices(key).items()
                                if ipu in name}
    renamed.options["links"] = {"-".join(name[end] for end in key.split("-")): own
                                for key, own in q.of_devices("links").items()
                                if set(key.split("-")) <= set(name)}
    renamed.options["require"] = [
        rule if not rule.startswith("place:") else
        rule.partition("=")[0] + "=" + name.get(rule.partition("=")[2], "9")
        for rule in q.options.get("require", [])]
    if not q.is_profile:
        renamed.document = {**q.document, "devices": {
            key: own for key, own in q.document.get("devices", {}).items()
            if key in ("memory", "bandwidth")}}
    again = case_ask(rng, renamed)
    expect(values(again), values(answer), "values with other numbers of devices")
    keys = ("ipu", "layer_from", "layer_to", "mem", "cycles", "cut_bytes")
    expect([[str(ipu), *own] for ipu, *own in stages(again, *keys)],
           [[name[str(ipu)], *own] for ipu, *own in stages(answer, *keys)], "stages, renamed")


@holds(4)
def backwards(rng, q):
    """A chain from its other end, where nothing but the order tells the ends apart."""
    devices = q.device_map()
    if devices is None and (q.of_devices("memories") or q.of_devices("speeds") or
                            q.of_devices("links") or "place" in dict(q.rules())) or \
            q.options.get("map") in ("any", "replicas"):
        raise Unsayable("stage k is on device k")
    q = q.but(schedule=None, copies=None, micro_batches=None, recompute=None,
              objectives=",".join(q.objectives()))
    document, names = {**q.document}, q.names
    for key in ("units", "cuts", "cut_cycles"):
        if key in document:
            document[key] = document[key][::-1]
    rules = [f"{word}:" + (own if "cut" not in word else ",".join(
        names[names.index(name) + 1] for name in own.split(","))) for word, own in q.rules()]
    other = q.but(document, map=None if devices is None else devices[::-1], require=rules or None,
                  num_ipus=q.num_ipus() if devices is None else None)
    answer, again = case_ask(rng, q), case_ask(rng, other)
    expect(again["status"], answer["status"], "status backwards")
    if answer["status"] == "optimal":
        keys = ("bound",) if "slack" in q.options else ("bound", "value")  # which is what cuts say
        expect([values(again, key) for key in keys], [values(answer, key) for key in keys],
               "values backwards")
    else:
        # the reason is the first layer that is too large, if there are several
        for one in (answer, again):
            why = one["infeasibility"]
            why["reason"] = {"place": "layer"}.get(why["reason"], why["reason"])
        keys = ("reason", "enough_num_ipus", "enough_mem_per_tile", "needed_mem_per_tile")
        expect([again["infeasibility"].get(key) for key in keys],
               [answer["infeasibility"].get(key) for key in keys], "what is enough, backwards")


def times(value, factor):
    """What a number of a question, or a list or object of such, is times a factor."""
    if isinstance(value, dict):
        return {key: times(own, factor) for key, own in value.items()}
    if isinstance(value, list):
        return [times(own, factor) for own in value]
    product = plain_solver.decimal(value) * factor
    return int(product) if product.denominator == 1 else float(product)


BYTES = {"memory", "stash", "inputs", "workspace", "recomputed", "parameters", "cuts", "capacity",
         "memories", "bandwidth", "replica_bandwidth", "links", "reserve"}
TIMES = {"cycles", "forward", "backward", "recompute_cycles", "cut_cycles"}


def in_units(tree, bytes_, time_):
    """Costs or options in units so much smaller."""
    if isinstance(tree, list):
        return [in_units(own, bytes_, time_) for own in tree]
    if not isinstance(tree, dict):
        return tree
    found = {}
    for key, own in tree.items():
        if key in BYTES:
            own = times(own, bytes_)
        if key in TIMES:
            own = times(own, time_)
        if key in ("bandwidth", "links"):
            own = times(own, plain_solver.Fraction(1, time_))
        found[key] = in_units(own, bytes_, time_) if isinstance(own, (dict, list)) and \
            key not in BYTES | TIMES else own
    return found


@holds(6)
def other_units(rng, q):
    """Bytes and times in smaller units are as many times more. Nothing may be rounded for that:
    speeds and bandwidths divide, and slack and reserves in percent are left out. What a step takes
    is divided in halves and thirds."""
    options = {key: own for key, own in q.options.items() if key not in ("slack", "micro_batches")}
    if str(options.get("copies", "")).startswith("gpipe"):
        options["micro_batches"] = q.options["micro_batches"]
    if "%" in options.get("reserve", ""):
        del options["reserve"]
    def even(tree):
        if isinstance(tree, dict):
            return {key: {ipu: 0.5 for ipu in own} if key in ("speeds", "links") else
                    0.5 if key == "bandwidth" else even(own) for key, own in tree.items()}
        return [even(own) for own in tree] if isinstance(tree, list) else tree
    bytes_, time_ = rng.choice([(1, 10000), (1000, 1), (1, 10), (1024, 10000)])
    if q.options.get("map") == "replicas":
        time_ = 1  # their number divides
    if "reserve" in options:
        options["reserve"] = int(options["reserve"])
    q = Question(even(q.document), even(options))
    other = Question(in_units(q.document, bytes_, time_), in_units(q.options, bytes_, time_))
    answer, again = case_ask(rng, q), case_ask(rng, other)
    expect(again["status"], answer["status"], "status in other units")
    def unit(i, names):
        is_time = names[i] == "cycles" or names[i] == "balance" and "cycles" in names[:i]
        return time_ if is_time else 1 if names[i] == "ipus" else bytes_
    names = [own["name"] for own in answer["objectives"]]
    for key in ("value", "bound"):
        if answer["status"] == "optimal":
            expect(values(again, key), [own * unit(i, names) for i, own in
                                        enumerate(values(answer, key))], f"{key}s in other units")
    expect([(s["ipu"], s["layer_to"], s["mem"]["max_tile_mem"], s["cycles"], s["cut_bytes"])
            for s in again["stages"]],
           [(s["ipu"], s["layer_to"], s["mem"]["max_tile_mem"] * bytes_,
             None if s["cycles"] is None else s["cycles"] * time_, s["cut_bytes"] * bytes_)
            for s in answer["stages"]], "stages in other units")


def shuffled(rng, tree):
    """Objects with their keys in another order."""
    if isinstance(tree, dict):
        return {key: shuffled(rng, tree[key]) for key in rng.sample(list(tree), len(tree))}
    return [shuffled(rng, own) for own in tree] if isinstance(tree, list) else tree


@holds(4, 1)
def other_orders(rng, q):
    """The order of keys, options and rules changes nothing."""
    other = Question(q.document if q.is_profile else shuffled(rng, q.document),
                     shuffled(rng, q.options))
    if "require" in other.options:
        rng.shuffle(other.options["require"])
    answer, again = told(case_ask(rng, q)), told(case_ask(rng, other))
    for one in (answer, again):  # lists of rules are in the order of the rules
        one["options"] = {key: sorted(map(str, own)) if isinstance(own, list) else own
                          for key, own in one["options"].items()}
        why = one["infeasibility"]
        for key in ("constraints", "remedies", "left_out_together"):
            if why and isinstance(why.get(key), list):
                why[key] = sorted(map(str, why[key]))
    expect(again, answer, "in another order")


@holds(10, 2)
def enough_is_enough(rng, q):
    """What is said to help is accepted and helps; of the least that does, less does not."""
    answer = case_ask(rng, q)
    why = answer["infeasibility"]
    if why is None:
        return

    def fits(question, is_enough, what):
        if not is_enough and q.options.get("map") in ("any", "replicas"):
            return  # the reasons are those of the devices' own order, one for each stage
        try:
            found = case_ask(rng, question.but(objectives=",".join(q.objectives())))["status"]
        except Refused as error:
            raise AssertionError(f"{what} is refused: {error}") from error
        expect(found != "infeasible", is_enough, f"{what} is enough")

    bytes_, count = why.get("enough_mem_per_tile"), why.get("enough_num_ipus")
    if bytes_ is not None:
        fits(q.but(memory=bytes_), True, f"mem-per-tile {bytes_}")
        if bytes_ > 0:
            fits(q.but(memory=bytes_ - 1), False, f"mem-per-tile {bytes_ - 1}")
    if count is not None:
        fits(q.but(num_ipus=count), True, f"num-ipus {count}")
        if count > 1:
            fits(q.but(num_ipus=count - 1), False, f"num-ipus {count - 1}")
    for remedy in why.get("remedies", []):
        change = remedy["change"]
        if change == "ipu_limit":
            for less, is_enough in ((0, True), (1, False)):
                if remedy["bytes"] >= less:
                    fits(q.but(memories={**q.options.get("memories", {}), str(remedy["ipu"]):
                                         remedy["bytes"] - less}), is_enough,
                         f"{remedy} less {less}")
        elif change == "without_device_map":
            count = remedy["num_ipus"]
            fits(q.but(map=None, num_ipus=count), True, str(remedy))
            if count > q.least_ipus():
                fits(q.but(map=None, num_ipus=count - 1), False, f"{remedy} less 1")
        elif change == "every_limit":
            more = {ipu: own + remedy["more_bytes"] for ipu, own in q.limits().items()}
            fits(q.but(memory=more.pop(None, None), memories={
                str(ipu): own for ipu, own in more.items()} or None), True, str(remedy))
    if rng.through_command:
        for other, line in hinted(q):
            fits(other, True, line)


def hinted(q):
    """The questions of lines such as "Enough      --num-ipus 3"."""
    report = run(COMMAND, "-q", q.path(), "--solve", "--format=text", *q.words())
    for found in re.finditer(r"^Enough +--(\S+) (\S+)(.*)", report, re.M):
        name, value, rest = found.groups()
        changes = {} if "and no --device-map" not in rest else {"map": None}
        if name == "num-ipus":
            changes["num_ipus"] = int(value)
        elif name == "mem-per-tile":
            limits = [own.rpartition("=") for own in value.split(",")]
            changes.update({"memory": int(value)} if "=" not in value else {
                "memories": {**q.options.get("memories", {}),
                             **{ipu: int(bytes_) for ipu, _, bytes_ in limits}}})
        yield q.but(**changes), found[0]


@holds(6, 4)
def together_is_not_more(rng, q):
    """What stages need on one device is not more than the sum of what each needs alone, in its
    place of the pipeline."""
    names = q.names
    cuts = sorted(rng.sample(range(1, len(names)), rng.randrange(len(names))))
    q = q.but(slack=None, require=None, num_ipus=None, map=None, objectives="memory", reserve=None,
              recompute={"auto": None}.get(*[q.options.get("recompute")] * 2),
              copies=None if q.options.get("copies", "").startswith("inter") else
              q.options.get("copies"))
    devices = [rng.randrange(2) for _ in range(len(cuts) + 1)]
    alone = q.python(split=cuts)
    if plain_solver.takes_turns(q.options.get("copies", "").partition("+")[0], devices):
        raise Unsayable("stages that take turns have other copies")
    if q.options.get("schedule") is None and q.options.get("copies") is None:
        q = q.but(recompute=None)
    shared = q.but(map=devices).python(split=cuts)

    def needs(stage):
        own = [stage["mem"]["max_tile_mem"]]
        return own + [stage["needs"][key] for key in (
            "at_least_bytes", "expected_bytes", "at_most_bytes")] if stage["needs"] else own

    for k, stage in enumerate(shared["stages"]):
        apart = [needs(other) for i, other in enumerate(alone["stages"])
                 if devices[i] == devices[k]]
        for own, *others in zip(needs(stage), *apart):
            if own > sum(others):
                raise AssertionError(f"stage {k} of {cuts} on {devices}: {own} bytes together, "
                                     f"{others} alone: {needs(stage)}, {apart}")
        if max(needs(stage)) < max(map(max, apart)):
            raise AssertionError(f"stage {k} of {cuts} on {devices}: {needs(stage)} together, less "
                                 f"than one alone: {apart}")


#: what is known of a stage that was not measured
UNMEASURED = ("ipu", "unit_from", "unit_to", "limit_bytes", "need_bytes", "cycles", "cut_bytes",
              "link_cycles", "recompute")


@holds(3, 2)
def row_is_the_answer(rng, q):
    """A row of a range is the answer for its value."""
    if q.options.get("map") in ("any", "replicas"):
        raise Unsayable("no ranges")
    q = q.but(objectives=",".join(q.objectives()), solver=None)
    if isinstance(q.options.get("map"), list) or rng.has(.4):
        first = q.options.get("memory", 20)
        name, key, step = "mem-per-tile", "memory", max(1, first // 3)
        values_ = range(first, 3 * first, step)
        limits = ",".join([f"{first}..{values_[-1]}:{step}", *(
            f"{ipu}={own}" for ipu, own in q.options.get("memories", {}).items())])
        rows = q.but(memory=None, memories=None).command("--solve", f"--mem-per-tile={limits}")
    else:
        name, key, values_ = "num-ipus", "num_ipus", range(1, 3 + q.least_ipus())
        rows = q.but(num_ipus=None).command("--solve", f"--num-ipus=1..{values_[-1]}")
    expect(rows["sweep"], name, "range")
    for value, row in zip(values_, rows["results"]):
        if key == "num_ipus" and value < q.least_ipus():
            continue
        answer = case_ask(rng, q.but(**{key: value}))
        expect(row["value"], value, "value")
        expect(row["status"], answer["status"], f"status of {name} {value}")
        expect(row.get("step"), answer["totals"].get("step"), f"step of {name} {value}")
        told_ = [[own[k] for k in ("name", "value", "bound")] for own in row["objectives"]]
        expect(told_, [[own[k] for k in ("name", "value", "bound")]
                       for own in answer["objectives"]], f"objectives of {name} {value}")
        for member in ("totals", "bottleneck"):
            expect(row[member], answer[member], f"{member} of {name} {value}")
        # rows of profiles are not measured; the parts of rows whose costs differ are not known
        common = [[key for key in own if (own.get("peak") is None or key in UNMEASURED) and
                   (key != "parts" or all("parts" in it for it in row["stages"]))]
                  for own in answer["stages"]]
        expect([{key: own.get(key) for key in keys} for own, keys in zip(row["stages"], common)],
               [{key: own[key] for key in keys} for own, keys in zip(answer["stages"], common)],
               f"stages of {name} {value}")


@holds(4, 2)
def solvers_agree(rng, q):
    devices = q.device_map() or []
    if q.options.get("map") in ("any", "replicas") or len(set(devices)) < len(devices):
        raise Unsayable("one solver alone")
    answer = case_ask(rng, q)
    for solver in ["dp"] + ["ilp"] * (q.options.get("recompute") != "auto"):
        again = case_ask(rng, q.but(solver=solver))
        for key in ("status", "totals", "infeasibility", "bottleneck"):
            expect(again[key], answer[key], f"{key} by {solver}")
        expect(stages(again), stages(answer), f"stages by {solver}")
        expect([values(again), values(again, "bound")] if answer["status"] == "optimal" else 0,
               [values(answer), values(answer, "bound")] if answer["status"] == "optimal" else 0,
               f"values by {solver}")


@holds(14)
def every_split_is_looked_at(rng, q):
    """The answer is that of plain_solver.py."""
    costs, request = q.plain()
    if request.recompute == "auto" and len(costs.names) > 5:
        raise Unsayable("too many choices")
    answer = case_ask(rng, q)
    if q.options.get("map") == "any":
        every_order_is_looked_at(costs, request, answer)
        return
    does_fit, best = plain_solver.solve(costs, request)
    if best is not None and best[0].shares():  # of equally good ones any
        cuts = tuple(first_units(q, answer))
        best = plain_solver.solve(costs, request, cuts)[1]
    expect(answer["status"], "optimal" if does_fit else "infeasible", "status")
    if best is None:
        expect(answer["stages"], [], "best effort")
        return
    split, worth, bounds = best
    ends = [[s.device, costs.names[s.first], costs.names[s.end - 1], s.replicas]
            for s in split.stages]
    expect(stages(answer, "ipu", "layer_from", "layer_to", "replicas"), ends, "stages")
    if request.recompute != "auto":
        expect([[s["mem"]["max_tile_mem"], (s["cycles"] or 0) * costs.scale, s["cut_bytes"],
                 s.get("link_cycles", 0) * costs.scale] for s in answer["stages"]],
               [[s.memory, s.cycles, s.cut, s.link] for s in split.stages], "numbers of stages")
        check_step(costs, request, split, answer["totals"])
    if does_fit:
        names = request.objectives
        scales = [costs.scale if name == "cycles" or name == "balance" and "cycles" in names[:i]
                  else 1 for i, name in enumerate(names)]
        for key, own in (("value", worth), ("bound", bounds)):
            expect([value * scale for value, scale in zip(values(answer, key), scales)], own, key)


#: the schedules of each shape of a pipeline; some have no order there, but a memory
SCHEDULES = {
    "": ("none", "inference", "sequential", "popart", "tf-grouped", "tf-interleaved", "1f1b",
         "gpipe", "zero-bubble", "zb-h2", "0,1,...", "2"),
    "interleaved": ("none", "inference", "1f1b", "gpipe", "interleaved", "zero-bubble", "zb-h2"),
    "v": ("none", "inference", "1f1b", "gpipe", "zero-bubble", "zb-h2", *plain_step.IN_V)}


@holds(8)
def every_split_of_any_schedule(rng, q):
    """The answer is that of plain_solver.py, which counts along the orders of plain_step.py: of any
    schedule and map, whatever is recomputed."""
    document = json.loads(json.dumps(q.document))
    for key in ("devices", "regions"):
        document.pop(key, None)
    recompute = rng.choice(["none", "full", "auto", "layers"])
    for unit in document["units"]:
        if not q.has_times():
            unit.pop("recompute_cycles", None)
        for key in [key for key, own in unit.items() if isinstance(own, list)
                    and key != "variants"]:
            unit[key] = unit[key][0]
        if recompute == "layers":  # each alone, of what only a workspace has
            unit["workspace"] = rng.randrange(40)
            unit["recomputed"] = rng.randrange(unit["workspace"] + 1)
        elif recompute == "auto":
            unit.pop("recomputed", None)
            unit.pop("workspace", None)
    for own in document.get("shared", []):
        own["memory"] = own["memory"][0] if isinstance(own["memory"], list) else own["memory"]
    shape = rng.choice([*SCHEDULES, "v", "interleaved"])
    chunks = {"": 1, "v": 2}.get(shape) or rng.randrange(1, 4)
    count = rng.randrange(1 + (shape == "v"), max(2, len(document["units"]) // chunks) + 1)
    rule = rng.choice(SCHEDULES[shape])
    is_rule = rule in plain_solver.RULES or rule[0].isdigit()
    more = rng.choice(["", "+1"]) if rule in plain_solver.RULES else ""
    micro = rng.randrange(1, 14) if is_rule and (rule == "gpipe" or rng.has(.7)) else None
    q = Question(document, {
        "num_ipus": count, "map":
            {"interleaved": f"interleaved:{chunks}"}.get(shape, shape) or None,
        "schedule": None if is_rule else rule, "copies": rule + more if is_rule else None,
        "micro_batches": micro, "recompute": None if recompute == "layers" or rule in (
            "none", "inference", "sequential") else recompute}).but()
    if rng.has(.5):
        q = q.but(memory=draw_limit(rng, document, count))
    objectives = ["memory", "memory,cycles", "cycles", "cycles,memory"]
    q = q.but(objectives=rng.choice(objectives if q.has_times() else objectives[:1]))
    every_split_is_looked_at(rng, q)


def every_order_is_looked_at(costs, request, answer):
    """Of all orders of the devices the best split is the answer."""
    orders = [plain_solver.solve(costs, plain_solver.Request(
        **{**vars(request), "device_map": list(order)})) for count in range(1, request.num_ipus + 1)
              for order in itertools.permutations(range(request.num_ipus), count)]
    found = [best[1] for does_fit, best in orders if does_fit]
    expect(answer["status"], "optimal" if found else "infeasible", "status of any order")
    if found:
        expect([own * (costs.scale if name == "cycles" else 1) for name, own in
                zip(request.objectives, values(answer))], min(found), "values of any order")


def check_step(costs, request, split, totals):
    """A step is the longest path through its passes."""
    step = totals.get("step")
    if step is None or step["cycles"] is None or request.has_replicas:
        return False
    devices = request.device_map or range(len(split.stages))
    count, time_ = len(set(devices)), plain_solver.step_of(request, split, len(set(devices)))
    expect(step["cycles"] * costs.scale, time_, "step")
    expect(step["micro_batches"], request.micro_batches, "micro-batches of the step")
    idle = 1 - request.micro_batches * sum(s.cycles for s in split.stages) / (time_ * count)
    expect(abs(step["idle_share"] - idle) < 1e-9, True, f"idle share {step['idle_share']}, {idle}")
    return True


@holds(8)
def step_is_the_longest_path(rng, q):
    """Of any schedule; with those that are no rule the command alone has micro-batches."""
    shape = q.options.get("map")
    if shape in ("any", "replicas") or not q.has_times():
        raise Unsayable("no step")
    rule = rng.choice(["none", "popart", "tf-grouped", "tf-interleaved", "sequential", "inference",
                       "1f1b", "1f1b+1", "gpipe", "zero-bubble", "zero-bubble", "zb-h2", "0,1,...",
                       "3"] + ["interleaved"] * 2 * str(shape).startswith("interleaved") +
                      [*plain_step.IN_V] * (shape == "v"))
    is_rule = rule.startswith(plain_solver.RULES) or rule[0].isdigit()
    q = q.but(schedule=None if is_rule else rule, copies=rule if is_rule else None,
              micro_batches=rng.randrange(1, 10), slack=None,
              recompute="full" if is_rule and rng.has(.3) else None)
    costs, request = q.plain()
    answer = q.command("--solve")
    split = next(costs.split(request, first_units(q, answer)), None) if answer["stages"] else None
    if split is None or not check_step(costs, request, split, answer["totals"]):
        raise Unsayable("no order is known, or nothing fits")
    expect(answer["totals"]["step"]["third_assumed"],
           not costs.has_passes and rule != "inference", "third_assumed")


@holds(6)
def pipelines_are_the_best(rng, q):
    """--total-ipus: of each number of devices, no pipeline with any number of replicas has more
    throughput than the gap says."""
    if not q.has_times() or q.options.get("recompute") == "auto" and len(q.names) > 4:
        raise Unsayable("no times, or too many choices")
    shape, total = rng.choice([None, None, "v", "interleaved:2"]), rng.randrange(1, 7)
    chunks = {"v": "v", None: 1}.get(shape, 2)
    size = rng.choice([1, 1, 2])
    batch = size * rng.randrange(1, 25) if rng.has(.5) and not q.options.get(
        "copies", "").startswith("gpipe") else None
    bandwidth = rng.bandwidth() if rng.has(.5) else None
    q = q.but(objectives=None, slack=None, solver=None, replica_bandwidth=bandwidth, map=shape,
              num_ipus=rng.randrange(1, total + 1) if rng.has(.3) else None,
              micro_batches=None if batch else rng.randrange(1, 8))
    costs, request = q.but(num_ipus=q.options.get("num_ipus", total)).plain()
    each = 2 if chunks == "v" else chunks
    most = min(total, len(q.names) // each, request.num_ipus)
    if isinstance(request.copies, tuple) and not request.copies[1]:
        most = min(most, len(request.copies[0]) // each)
    answer = q.command("--solve", f"--total-ipus={total}",
                       *([f"--batch={batch}/{size}"] if batch else []))
    rows = answer["candidates"]
    expect([row["num_ipus"] for row in rows], list(range(1 + (shape == "v"), most + 1)),
           "candidates")
    best = []
    for row in rows:
        found = plain_solver.pipelines_of(costs, request, total, chunks, batch, size,
                                          bandwidth and plain_solver.decimal(bandwidth),
                                          row["num_ipus"])
        expect(row["status"] == "infeasible", not found, f"status of {row}")
        if not found:
            continue
        begins = tuple(q.names.index(stage["unit_from"]) for stage in row["stages"][1:])
        same = [own for own in found if own[2] == row["replicas"] and own[4].cuts == begins and
                own[1] == row["step_cycles"] * costs.scale]
        expect(len(same) > 0, True, f"there is such a pipeline: {row}")
        expect(row["micro_batches"], same[0][3], f"micro-batches of {row}")
        expect(row["totals"]["cycles"] * costs.scale in
               [own[4].value("cycles") for own in same], True, f"cycles of {row}")
        plain_solver.check_throughput(row, found, -same[0][0][0])
        best.append((same[0][0][:2], rows.index(row)))
    expect(answer["best"], min(best)[1] if best else None, "best")


@holds(4)
def front_is_all(rng, q):
    """--pareto has all best compromises that plain_solver.py finds."""
    if q.options.get("map") in ("any", "replicas"):
        raise Unsayable("no fronts")
    objectives = [name for name in q.objectives() if name != "balance"][:3]
    if len(objectives) < 2:
        raise Unsayable("a front has two objectives")
    q = q.but(objectives=None, slack=None, pareto=",".join(objectives))
    costs, request = q.but(pareto=None, objectives=",".join(objectives)).plain()
    if request.recompute == "auto" and len(costs.names) > 5:
        raise Unsayable("too many choices")
    told_ = q.command("--solve")
    points = plain_solver.front_of(costs, request)
    scales = [costs.scale if name == "cycles" else 1 for name in objectives]
    expect([[signed(own["name"], own["value"]) * scale for own, scale in
             zip(row["objectives"], scales)] for row in told_["results"]] if points else [],
           [own for _, own, _ in points], "front")


@holds(4)
def given_split_is_solved(rng, q):
    """--evaluate of any split is the answer where every cut is given."""
    names = q.names
    if q.options.get("map") in ("any", "replicas") or "solver" in q.options or \
            q.options.get("recompute") == "auto":
        raise Unsayable("something is chosen")
    cuts = sorted(rng.sample(range(1, len(names)), rng.randrange(len(names))))
    devices = q.device_map()
    q = q.but(slack=None, require=None, num_ipus=len(cuts) + 1 if devices is None else None,
              map=devices and [rng.choice(devices) for _ in range(len(cuts) + 1)],
              objectives=",".join(q.objectives()))
    rules = [f"{'cut' if unit in cuts else 'no-cut'}:{names[unit - 1]}"
             for unit in range(1, len(names))]
    own = q.python(split=cuts)
    other = case_ask(rng, q.but(require=[*rules, "layers:0.."]))
    for key in ("status", "time_unit", "totals", "bottleneck"):
        expect(own[key], other[key], f"{key} of a given split")
    expect(stages(own), stages(other), "stages of a given split")
    expect(values(own), values(other), "values of a given split")


@holds(0, 5)
def stored_is_the_profile(rng, q):
    """A stored analysis answers as the profile does."""
    expect(told(q.python(how="load")), told(q.python()), "of the stored analysis")


# ---- running ----

def case_ask(rng, question):
    """One in ten through the command, at a fixed place of the case."""
    words = ["--solve"]
    return question.command(*words) if rng.through_command else question.python()


PROFILES = ([], ["--training"], ["--framework", "tensorflow", "--training", "--outline"],
            ["--framework", "poptorch", "--training", "--accumulate"],
            ["--framework", "popart", "--training", "--outline", "--skips", "1"],
            ["--framework", "tensorflow", "--inference", "--skips", "1"])


def draw_question(rng, is_profile):
    if not is_profile:
        question = Question(draw_costs(rng), {})
        return draw_options(rng, question, lambda r, q: draw_limit(
            r, q.document, len(q.device_map() or []) or q.num_ipus()))
    words = ["--layers", str(rng.randrange(2, 5)), "--seed", str(rng.randrange(3)), "--tiles",
             "2", "--hidden", "8", "--sequence", "8", "--vocabulary", "20", "--pieces", "1",
             "--debug-arguments", "0", "--debug-nesting", "0", *rng.choice(PROFILES)]
    question = draw_options(rng, Question({"profile": words}, {}),
                            lambda r, q: r.randrange(5000, 60000))
    if rng.has(.5):
        question.options["need"] = rng.choice(["at-most", "at-least", "expected"])
    return question


class Case:
    def __init__(self, name, seed, question=None):
        self.name, self.seed = name, seed
        rng = Draw(f"{name} {seed}")
        _, weight, profiles = RELATIONS[name]
        self.is_profile = rng.random() * (weight + profiles) >= weight
        self.question = question or draw_question(rng, self.is_profile)

    def check(self, question=None):
        """None, or what is wrong."""
        rng = Draw(f"{self.name} {self.seed} again")
        rng.through_command = rng.has(.1)
        try:
            RELATIONS[self.name][0](rng, question or self.question)
        except AssertionError as error:
            return str(error)
        except (Refused, Unsayable):
            raise
        except Exception as error:
            return repr(error)
        return None

    def check_apart(self, question=None):
        """The same in a process of its own, which may die."""
        out, into = os.pipe()
        if os.fork() == 0:
            try:
                wrong = self.check(question)
            except BaseException:
                wrong = None
            os.write(into, (wrong or "").encode()[:60000])
            os._exit(0)
        os.close(into)
        with open(out, encoding="utf-8", errors="replace") as file:
            wrong = file.read()
        status = os.wait()[1]
        return f"died: {status}" if status != 0 else wrong or None

    def shrunk(self):
        """The question with as little in it as possible, and what is wrong with it."""
        best, wrong = self.question, self.check_apart()
        kind = re.split(r"[:(]|\d", wrong)[0]
        begun, is_smaller = time.monotonic(), True
        while is_smaller and time.monotonic() - begun < 60:
            is_smaller = False
            for other in best.simpler():
                own = self.check_apart(other)
                if own is not None and own.startswith(kind):
                    best, wrong, is_smaller = other, own, True
                    break
        return best, wrong

    def report(self, wrong):
        """Prints what is wrong, smaller if it is so in a process of its own, too."""
        question = self.question
        if self.check_apart():
            question, wrong = self.shrunk()
        print(f"{self.name}, seed {self.seed}: {wrong}")
        cases.tell_alone("--only", self.name, "--seed", self.seed, "--case", str(question))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", help="the first of this run's seeds, or that of a case")
    parser.add_argument("--only", help="one relation")
    parser.add_argument("--number", type=int, help="so many cases, whatever the time")
    parser.add_argument("--seconds", type=float, default=cases.chosen(
        5 * cases.BUDGET_SECONDS, 60, 1800))
    parser.add_argument("--case", help="a question")
    asked = parser.parse_args()
    seed = asked.seed or str(random.SystemRandom().randrange(10**6))
    names = [asked.only] if asked.only else list(RELATIONS)
    if asked.case:
        case = Case(asked.only, seed, Question(*json.loads(asked.case)))
        wrong = case.check()
        print(wrong or "it holds")
        return wrong is not None
    print(f"seed {seed}", flush=True)
    current = os.path.join(SCRATCH.name, "current")
    child = os.fork()
    if child == 0:
        os._exit(run_cases(asked, seed, names, current))
    status = os.waitpid(child, 0)[1]
    if status > 1 << 8 or status & 255:
        with open(current, encoding="utf-8") as file:
            Case(*file.read().split()).report("the process died")
    return status != 0


def run_cases(asked, seed, names, current):
    order = Draw(seed)
    weights = [sum(RELATIONS[name][1:]) for name in names]
    counts = collections.Counter()
    found = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relations_found.txt")
    with open(found, encoding="utf-8") as file:  # cases that failed once
        for name, own, question in (line.split(" ", 2) for line in file):
            wrong = name in names and Case(name, own, Question(*json.loads(question))).check()
            if wrong:
                print(f"{name} {own}: {wrong}\n   {question}")
                counts["fails"] += 1
    i = 0
    while i < asked.number if asked.number else sum(os.times()[:4]) < asked.seconds:
        case = Case(order.choices(names, weights)[0], f"{seed}.{i}")
        i += 1
        with open(current, "w", encoding="utf-8") as file:
            file.write(f"{case.name} {case.seed}")
        try:
            wrong = case.check()
            result = "holds" if wrong is None else "fails"
        except Refused as error:
            result, wrong = "refused", None
            if asked.number:
                print(f"refused: {case.name} {case.seed}: {str(error)[:300]}")
        except Unsayable:
            result, wrong = "not said", None
        counts[case.name, result] += 1
        counts[result] += 1
        if wrong is not None:
            case.report(wrong)
            if counts["fails"] >= 5:
                break
    for name in names:
        print(f"{name:30}", *(f"{result} {counts[name, result]}" for result in (
            "holds", "refused", "not said", "fails")))
    print(f"seed {seed}: {counts['holds']} cases hold, {counts['refused']} are refused, "
          f"{counts['not said']} cannot be asked, {counts['fails']} fail", flush=True)
    return counts["fails"] > 0


if __name__ == "__main__":
    sys.exit(main())
