#!/usr/bin/env python3
"""Every pair of options of --solve, for files of costs and for profiles: it is refused by name
before work begins, or its answer is that of plain_solver.py. --evaluate of a file of costs takes
the place of --solve: the answer is that of the one split.

    option_pairs_test.py POPLINER MKPROFILE DOCUMENT [--write] [--only ITEM] [--seed N]

The options are those of `popliner --help`; one that ITEMS does not have fails the test. What is
refused is in option_pairs.txt, and why in DOCUMENT between two markers; --write writes both. What
stages of a profile need is what --evaluate tells of every single split, and their cycles what
--solve tells with all cuts given; the choice between the splits is made here.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import argparse
import base64
import csv
import io
import itertools
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from dataclasses import replace
from fractions import Fraction

import cases
import plain_solver
from plain_solver import Request, Split, Stage, decimal

KINDS = COSTS, PROFILE = "costs", "profile"
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "option_pairs.txt")
REASON_MARKS = ("<!-- reasons: begin -->\n", "<!-- reasons: end -->\n")
MOST_REASONS = 10
EVERY = 23  # pair is answered in the full run; all are asked whether they are refused


# ---- what is asked ----

class World:
    """Units to be split, and what options may say of them."""

    def __init__(self, kind, names, is_layer, files, unit_bytes, devices):
        self.kind = kind
        self.names, self.is_layer = names, is_layer
        self.layers = [name for name, own in zip(names, is_layer) if own]
        self.files = files
        self.unit_bytes = unit_bytes  # about what a stage needs
        self.devices = devices  # as a file of costs has them

    def bytes(self, rng):
        return str(rng.randrange(self.unit_bytes * 2 // 3, self.unit_bytes * 3))

    def path(self, name):
        return os.path.join(self.files, name)


def one_of(option, *values, **others):
    """An option with one of several values, and what it needs beside it."""
    return lambda rng, world: {option: rng.choice(values), **others}


def flag(option, **others):
    return lambda rng, world: {option: True, **others}


def written(option, text, **others):
    """An option that names a file."""
    return lambda rng, world: {name: value.replace("@", world.files + os.sep)
                               for name, value in {option: text, **others}.items()}


def limits_of_ipus(rng, world):
    return {"ipu-mem-per-tile": ",".join(f"{i}={world.bytes(rng)}"
                                         for i in rng.sample(range(2), rng.randrange(1, 3)))}


def balance(rng, world):
    return {"objective": rng.choice(["balance", "balance,cycles", "memory,balance",
                                     "traffic,balance,memory", "memory,balance,cycles"])}


def headroom(rng, world):
    return {"objective": rng.choice(["headroom", "headroom,cycles", "cycles,headroom",
                                     "headroom,traffic,cycles", "ipus,headroom"]),
            "mem-per-tile": world.bytes(rng)}


def cut(rule, at):
    return lambda rng, world: {
        "require": [rule + world.layers[rng.choice(at) % (len(world.layers) - 1)]]}


def together(rng, world):
    first = rng.randrange(len(world.layers) - 1)
    return {"require": ["together:" + ",".join(world.layers[first:first + 2])]}


def place(rng, world):
    return {"require": [rng.choice(["place:" + world.layers[0] + "=0",
                                    "place:" + world.layers[1] + "=1",
                                    "place:" + world.layers[1] + "=0"])]}


def sweep_memory(rng, world):
    low = world.unit_bytes
    return {"sweep": f"mem-per-tile={low}..{low * 2}:{low // 2}"}


ACTIONS = ("diagnose", "memory-totals", "operation-breakdown", "layer-breakdown",
           "memory-affinity", "interlayer-communication")
LISTS = ("require", "fail-on")  # values of several items add up

# What is tried: as the table calls it, and how it is drawn: {option: value}, first its own one.
ITEMS = {
    "--num-ipus": one_of("num-ipus", "2", "3", "4"),
    "--objective": one_of("objective", "cycles", "memory,cycles", "cycles,traffic",
                          "traffic,cycles,memory", "ipus,cycles", "memory,ipus,traffic"),
    "--objective balance": balance,
    "--objective cycles,balance": one_of("objective", "cycles,balance,memory",
                                         "cycles,memory,balance"),
    "--objective headroom": headroom,
    "--objective throughput": one_of("objective", "throughput,memory", "throughput,cycles,traffic",
                                     **{"total-ipus": "4", "micro-batches": "6"}),
    "--slack": one_of("slack", "10", "50", "12.5"),
    "--mem-per-tile": lambda rng, world: {"mem-per-tile": world.bytes(rng)},
    "--mem-per-tile I=": limits_of_ipus,
    "--ipu-speed": one_of("ipu-speed", "0=0.5", "1=2", "0=0.3,1=1.25"),
    "--bandwidth": one_of("link-bandwidth", "64", "2.5"),
    "--bandwidth I-J": one_of("link-bandwidth", "2.5,0-1=0.5", "1-0=3"),
    "--num-ipus A..B": one_of("sweep", "num-ipus=1..4", "num-ipus=2..3"),
    "--mem-per-tile A..B": sweep_memory,
    "--pareto": one_of("pareto", "cycles,traffic", "memory,cycles", "memory,traffic,cycles",
                       "ipus,memory"),
    "--pareto throughput": one_of("pareto", "throughput,memory", "throughput,memory,traffic",
                                  "throughput,memory,cycles",
                                  **{"total-ipus": "4", "micro-batches": "6"}),
    "--output lp=FILE": written("write-lp", "@out.lp"),
    "--output mps=FILE": written("write-mps", "@out.mps"),
    "--solver auto": one_of("solver", "auto"),
    "--solver ilp": one_of("solver", "ilp"),
    "--solver dp": one_of("solver", "dp"),
    "--solver popliner": one_of("solver", "popliner"),
    "--memory-model full": one_of("memory-model", "full"),
    "--memory-model popliner": one_of("memory-model", "popliner"),
    "--reserve BYTES": one_of("reserve", "30", "7"),
    "--reserve PERCENT": one_of("reserve", "10%", "2.5%"),
    "--reserve gaps": one_of("reserve", "gaps"),
    "--require layers:A..": one_of("require", ["layers:0.."], ["layers:2.."]),
    "--require layers:..B": one_of("require", ["layers:..2"], ["layers:..3"]),
    "--require cut": cut("cut:", (0, 2)),
    "--require no-cut": cut("no-cut:", (1, 3)),
    "--require together": together,
    "--require place": place,
    "--device-map": one_of("device-map", "1,0", "2,1,0", "1,0,2"),
    "--device-map, shared": one_of("device-map", "0,1,0,1", "0,0,1,1", "1,0,1,0", "1,0,0,1"),
    "--device-map, uneven": one_of("device-map", "0,1,0", "1,0,1", "0,0,1"),
    "--device-map interleaved:V": one_of("interleave", "2", **{"num-ipus": "2"}),
    "--device-map v": flag("v-shape", **{"num-ipus": "2"}),
    "--device-map replicas": flag("stage-replicas", **{"num-ipus": "4"}),
    "--schedule": one_of("schedule", "popart", "tf-grouped", "tf-interleaved"),
    "--schedule inference": one_of("schedule", "inference"),
    "--schedule sequential": one_of("schedule", "sequential", "none"),
    "--recompute full": one_of("recompute", "full", schedule="popart"),
    "--recompute standard": one_of("recompute", "standard", schedule="popart"),
    "--recompute auto": one_of("recompute", "auto", schedule="popart"),
    "--schedule RULE": one_of("copies", "1f1b", "1f1b+1"),
    "--schedule zero-bubble": one_of("copies", "zero-bubble", "zb-h2"),
    "--schedule gpipe": one_of("copies", "gpipe", "gpipe+1", **{"micro-batches": "3"}),
    "--schedule interleaved": one_of("copies", "interleaved", "interleaved+1",
                                     **{"num-ipus": "2", "interleave": "2"}),
    "--schedule NAME:LIST": one_of("copies", "0,1,...", "1,2,3,5", "1,3,...", "2"),
    "--micro-batches": one_of("micro-batches", "2", "5", copies="1f1b"),
    "--effects": one_of("effects", "none", "layout", "passing,buffers", "all"),
    "--effects accumulators": one_of("accumulators", "none", "fp16", "fp32", schedule="popart"),
    "--need": one_of("need", "at-most", "at-least", "expected"),
    "--total-ipus": one_of("total-ipus", "3", "4", "6", **{"micro-batches": "5"}),
    "--batch": one_of("batch", "6", "12", **{"total-ipus": "4"}),
    "--batch N/SIZE": one_of("micro-batch-size", "2", "3",
                             **{"total-ipus": "4", "batch": "12"}),
    "--bandwidth replicas": one_of("replica-bandwidth", "3", "0.5",
                                   **{"total-ipus": "4", "micro-batches": "5"}),
    "--compiled": written("compiled", "@pipeline"),
    "--ipu": one_of("ipu", "0"),
    "--layers": one_of("layers", "0..1", "only:all"),
    "--fail-on unexplained": one_of("fail-on", "unexplained=20%"),
    "--fail-on contradiction": one_of("fail-on", "contradiction"),
    "--layer-name-regex": one_of("layer-name-regex", r"Layer(\d)", r"[Ll]ayer(\d+)/"),
    "--inputs-regex-layer-0": one_of("inputs-regex-layer-0", "Embedding", "nothing"),
    "--layer-order": one_of("layer-order", "natural", "steps"),
    "--modules": one_of("modules", "m.a,m.{},m.z", emit="torch"),
    "--format tsv": one_of("format", "tsv", "csv"),
    "--format json": one_of("format", "json"),
    "--color": one_of("color", "never", "always"),
    "--paths": lambda rng, world: {"paths": True, "html": world.path("out.html")},
    "--threads": one_of("threads", "1", "2"),
    "--time-limit": one_of("time-limit", "100"),
    "--max-memory": one_of("max-memory", "4G"),
    "--quiet": flag("quiet"),
    "--verbose": flag("verbose"),
    "--evaluate": lambda rng, world: {"evaluate": rng.choice(world.layers[:-1])},
    **{"--" + name: flag(name) for name in ACTIONS},
    "--output plan": one_of("section", "plan"),
    "--output TABLE": one_of("section", "tiles", "summary"),
    "--output plan=FILE": written("output", "plan=@out-plan.csv"),
    "--output TABLE=FILE": written("output", "layers=@out-layers.csv"),
    "--output pipeline": one_of("emit", "pipeline"),
    "--output pipeline=FILE": written("emit", "pipeline=@out-emit.json"),
    "--output page=FILE": written("html", "@out.html"),
    "--output plan, plot": one_of("plot", "plan"),
    "--output TABLE, plot": one_of("plot", "tiles", "liveness"),
    "--output trace=FILE": written("trace", "@out-trace.json"),
    "--compare": written("compare", "@before"),
    "--fail-on growth": written("fail-on", "growth=99%", compare="@before"),
    "--save-to-file": written("save-to-file", "@out.popliner"),
    "--load-from-file": flag("load-from-file"),
    "--report NAME": one_of("report", "training"),
    "--report all": one_of("report", "all"),
}
# Values of --output, by what is asked here.
OUTPUTS = {"section": ["--output={}"], "emit": ["--output={}"], "html": ["--output=page={}"],
           "plot": ["--output={}", "--format=plot"], "trace": ["--output=trace={}"],
           "write-lp": ["--output=lp={}"], "write-mps": ["--output=mps={}"]}
# Options by what is asked here, where that is called otherwise.
NAMES = {**{key: ("output",) for key in OUTPUTS}, "sweep": ("num-ipus", "mem-per-tile"),
         "ipu-mem-per-tile": ("mem-per-tile",), "link-bandwidth": ("bandwidth",),
         "replica-bandwidth": ("bandwidth",), "interleave": ("device-map",),
         "v-shape": ("device-map",), "stage-replicas": ("device-map",),
         "copies": ("schedule",), "accumulators": ("effects",),
         "micro-batch-size": ("batch",)}
# What one option says together; of others with the same name the last one counts.
COMBINED = [{"mem-per-tile", "ipu-mem-per-tile"}, {"ipu-mem-per-tile", "sweep"},
            {"schedule", "copies"}, {"effects", "accumulators"}, {"batch", "micro-batch-size"},
            {"link-bandwidth", "replica-bandwidth"}, {"require"}, {"fail-on"}]
# These are not asked with --solve: it is what they are paired with, or they end the command.
LEFT_OUT = {"solve", "help", "version"}


def check_items(popliner):
    """That each option of --help is tried."""
    done = subprocess.run([popliner, "--help", "all"], capture_output=True,
                          encoding="utf-8", check=True)
    options = set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", done.stdout, re.M))
    world = World(COSTS, list("abcde"), [True] * 5, "", 100, {})
    tried = {next(iter(draw(random.Random(0), world))) for draw in ITEMS.values()}
    tried = {own for key in tried for own in NAMES.get(key, (key,))}
    if options != tried | LEFT_OUT:
        sys.exit(f"ITEMS has not all options of --help, or others: "
                 f"{sorted(options ^ (tried | LEFT_OUT))}")


# What an option needs, and what says the same in another way.
SAID_OTHERWISE = {"interleave": {"device-map", "v-shape", "stage-replicas"},
                  "num-ipus": {"device-map"}, "micro-batches": {"batch"},
                  "total-ipus": {"stage-replicas"}, "copies": {"schedule"}}


def merged(rng, world, labels, items=None):
    """The options of these items: what an item needs yields to what another one is."""
    drawn = [list((items or ITEMS)[label](rng, world).items()) for label in labels]
    own = {}
    for name, value in (items[0] for items in drawn):
        own[name] = value if name not in LISTS or name not in own else \
            own[name] + value if isinstance(value, list) else f"{own[name]},{value}"
    needed = {name: value for items in drawn for name, value in items[1:]}
    needed.pop(own.get("sweep", "").partition("=")[0], None)
    options = {**{name: value for name, value in needed.items()
                  if not SAID_OTHERWISE.get(name, set()) & {*own, *needed}}, **own}
    if "evaluate" in options and device_map(options, 2) is not None:
        options["evaluate"] = "|".join(world.layers[:len(device_map(options, 2)) - 1])
    return options


def effects_of(options):
    """The value of --effects for effects and accumulators; None if neither is said."""
    effects, accumulators = options.get("effects"), options.get("accumulators")
    if effects is None and accumulators is None:
        return None
    usual = ["passing", "buffers"] if "reserve" in options else ["layout", "passing", "buffers"]
    own = usual if effects is None else ["layout", "passing", "buffers"] if effects == "all" else \
        [] if effects == "none" else effects.split(",")
    own = own + {None: ["accumulators"], "none": []}.get(accumulators,
                                                          [f"accumulators={accumulators}"])
    return ",".join(own) or "none"


def as_given(options):
    """The options of the command for what is asked here."""
    own = {key: value for key, value in options.items() if key not in NAMES or key in OUTPUTS}
    what, _, span = options.get("sweep", "").partition("=")
    if what == "num-ipus":
        own["num-ipus"] = span
    memory = [span if what == "mem-per-tile" else options.get("mem-per-tile"),
              options.get("ipu-mem-per-tile")]
    replicas = options.get("replica-bandwidth")
    bandwidth = [options.get("link-bandwidth"), replicas and "replicas=" + replicas]
    for name, parts in (("mem-per-tile", memory), ("bandwidth", bandwidth)):
        if any(parts):
            own[name] = ",".join(part for part in parts if part)
    if "interleave" in options or "v-shape" in options:
        own["device-map"] = "interleaved:" + options["interleave"] if "interleave" in options \
            else "v"
    if "stage-replicas" in options:
        own["device-map"] = "replicas"
    if "copies" in options:
        schedule, copies = options.get("schedule", "none"), options["copies"]
        own["schedule"] = copies if schedule == "none" and not copies[0].isdigit() else \
            f"{schedule}:{copies}"
    own.pop("effects", None)
    if effects_of(options) is not None:
        own["effects"] = effects_of(options)
    if "micro-batch-size" in options:
        own["batch"] = f"{options['batch']}/{options['micro-batch-size']}"
    return own


def words_of(options):
    words = []
    for name, value in as_given(options).items():
        for own in value if isinstance(value, list) else [value]:
            if name in OUTPUTS:
                words += [word.format(own) for word in OUTPUTS[name]]
            else:
                words.append("--" + name if own is True else f"--{name}={own}")
    return words


def limits_differ(options, told):
    """Where limits differ, and each IPU that may be used has one."""
    memories = {**told.get("memories", {}), **pairs_of(options.get("ipu-mem-per-tile"))}
    limits = {int(ipu): int(own) for ipu, own in memories.items()}
    usual = options.get("mem-per-tile", told.get("memory"))
    num_ipus = int(options.get("num-ipus", told.get("count", 16)))
    has_all = usual is not None or set(device_map(options, num_ipus) or range(num_ipus)) <= \
        set(limits)
    return has_all and len({*limits.values(), *([] if usual is None else [int(usual)])}) > 1 and \
        options.get("solver") != "popliner"


def read_objectives(options, told):
    """What is best; of a file of costs that names no devices, and of a profile, the fewest IPUs
    where neither their number nor an objective is given."""
    given = options.get("pareto") or options.get("objective")
    is_told = {"num-ipus", "total-ipus", "device-map"} & set(options) or "count" in told or \
        options.get("sweep", "").startswith("num-ipus") or options.get("solver") == "popliner"
    has_limit = {"mem-per-tile", "ipu-mem-per-tile", "sweep"} & set(options) or \
        {"memory", "memories"} & set(told)
    if given is None and "stage-replicas" in options:
        given = "cycles,memory,traffic"
    if given is None:
        given = "ipus,memory,traffic" if has_limit and not is_told else "headroom,traffic" if \
            limits_differ(options, told) else "memory,traffic"
    if given == options.get("pareto") == "throughput,memory":
        given += ",traffic"
    return tuple(given.split(","))


def pairs_of(value):
    """{"0": "x"} of "0=x"; what has no key is under None."""
    found = {}
    for text in ([value] if isinstance(value, str) else value or []):
        for own in text.split(","):
            key, _, last = own.rpartition("=")
            found[key or None] = last
    return found


def link_key(text):
    return frozenset(int(end) for end in text.split("-"))


def device_map(options, num_ipus):
    if "device-map" in options:
        return None if options["device-map"] == "any" else \
        [int(ipu) for ipu in options["device-map"].split(",")]
    if "v-shape" in options:
        return [*range(num_ipus), *reversed(range(num_ipus))]
    if "interleave" in options:
        return list(range(num_ipus)) * int(options["interleave"])
    return None


def copies_asked(text):
    """A rule or (numbers, goes on), and what +N adds."""
    if text is None:
        return None, 0
    if not text.startswith(plain_solver.RULES):
        numbers = [own for own in text.split(",") if own != "..."]
        return ([int(n) for n in numbers], text.endswith("...") or len(numbers) == 1), 0
    rule, _, more = text.partition("+")
    return rule, int(more or 0)


def rules_of(options):
    """The rules of --require by their words; layers as (least, most)."""
    rules = {word: [] for word in ("cut", "no-cut", "together", "place", "layers")}
    for rule in options.get("require", []):
        word, _, value = rule.partition(":")
        rules[word].append(value)
    ends = [own.split("..") for own in rules.pop("layers")]
    return rules, tuple(next((own[k] for own in reversed(ends) if own[k]), None) for k in (0, 1))


def given_split(world, options):
    """Of a file of costs the units after the cuts of --evaluate; None if no split is given."""
    if world.kind != COSTS or "evaluate" not in options:
        return None
    names = [] if options["evaluate"] == "whole" else options["evaluate"].split("|")
    return [world.names.index(name) + 1 for name in names]


def request_of(world, options, gaps):
    """The request by the documents; `gaps` is what `--reserve gaps` keeps free."""
    told = world.devices
    cuts = given_split(world, options)
    if cuts is not None:
        others = set(range(1, len(world.names))) - set(cuts)
        own = {key: value for key, value in options.items() if key != "evaluate"}
        if "total-ipus" in options or (device_map(options, 2) is None and
                                       "stage-replicas" not in options):
            own["num-ipus"] = (len(cuts) + 1) // (
                2 if "v-shape" in options else int(options.get("interleave", 1)))
        return Request(**{**vars(request_of(world, own, gaps)), "min_layers": 0,
                          "cut_after": {u - 1 for u in cuts},
                          "no_cut_after": {u - 1 for u in others}})
    num_ipus = int(options.get("num-ipus", told.get("count", 16)))
    bandwidths = pairs_of(options.get("link-bandwidth"))
    usual = bandwidths.pop(None, told.get("bandwidth"))
    links = {**told.get("links", {})}
    links = {link_key(key): decimal(own) for key, own in links.items()}
    links.update({link_key(key): decimal(own) for key, own in bandwidths.items()})
    speeds = {**told.get("speeds", {}), **pairs_of(options.get("ipu-speed"))}
    copies, more = copies_asked(options.get("copies"))
    unit = world.names.index
    rules, layers = rules_of(options)
    kept = options.get("reserve", "0")

    def left(bytes_):
        if bytes_ is None:
            return None
        if kept == "gaps":
            return int(bytes_) - gaps
        if kept.endswith("%"):
            return int(bytes_) - int(bytes_) * decimal(kept[:-1]) // 100
        return int(bytes_) - int(kept)

    memories = {**told.get("memories", {}), **pairs_of(options.get("ipu-mem-per-tile"))}
    objectives = tuple(plain_solver.completed(read_objectives(options, told),
                                              device_map(options, 1) is not None))
    return Request(
        num_ipus=num_ipus, device_map=device_map(options, num_ipus),
        memory=left(options.get("mem-per-tile", told.get("memory"))),
        memories={int(ipu): left(own) for ipu, own in memories.items()},
        speeds={int(ipu): decimal(own) for ipu, own in speeds.items()},
        bandwidth=usual and decimal(usual), links=links,
        min_layers=int(layers[0] or 1),
        max_layers=int(layers[1]) if layers[1] else None,
        cut_after={unit(name) for name in rules["cut"]},
        no_cut_after={unit(name) for name in rules["no-cut"]},
        together=[tuple(unit(name) for name in own.split(",")) for own in rules["together"]],
        place=[(unit(own.split("=")[0]), int(own.split("=")[1]))
               for own in rules["place"]],
        objectives=objectives, slack=decimal(options.get("slack", 0)),
        schedule=options.get("schedule", "none"), copies=copies, more_copies=more,
        micro_batches=int(options["micro-batches"]) if "micro-batches" in options else None,
        recompute=options.get("recompute", "none"),
        has_replicas="stage-replicas" in options,
        replica_bandwidth=decimal(options["replica-bandwidth"])
        if "replica-bandwidth" in options else None)


# ---- what stages of a profile need, by the command itself ----

MEASURES = ("memory-model", "schedule", "recompute", "copies", "effects", "accumulators",
            "reserve")
FINDS_LAYERS = ("layer-name-regex", "inputs-regex-layer-0", "layer-order")
NEEDS = {"at-most": "at_most_bytes", "expected": "expected_bytes", "at-least": "at_least_bytes"}
LINK_BYTES_PER_SECOND, CLOCK = 64 * 10**9, 1_850_000_000
NO_TIME = 10**12  # a bandwidth at which each cut takes one cycle


def load(text):
    return json.loads(text, parse_float=Fraction)


class Profile:
    """Costs of a profile: each split is evaluated by the command."""
    scale = 1

    def __init__(self, popliner, path, options, answers):
        self.popliner, self.path, self.answers = popliner, path, answers
        self.has_replicas = "total-ipus" in options
        self.need = NEEDS[options.get("need", "expected")]
        if options.get("solver") == "popliner":
            options = {"memory-model": "popliner", **options}
        self.options = {key: options[key] for key in FINDS_LAYERS + ("memory-model",)
                        if key in options}
        whole = self.ask(["--evaluate=whole"])["stages"][0]
        layers = self.ask(["--solve", "--num-ipus=1", "--mem-per-tile=1G"])["stages"][0]["layers"]
        self.options = {key: options[key] for key in FINDS_LAYERS + MEASURES if key in options}
        self.names = list(layers)
        if whole["unit_from"] not in layers:
            self.names.insert(0, whole["unit_from"])
        if whole["unit_to"] not in layers:
            self.names.append(whole["unit_to"])
        self.is_layer = [name in layers for name in self.names]

    def ask(self, words, **options):
        """What the command answers in JSON, once for the same words."""
        words = [self.path, *words, *words_of({**self.options, **options})]
        if "@stored" in self.path:
            words.append("--load-from-file")
        key = tuple(words)
        if key not in self.answers:
            done = subprocess.run([self.popliner, "-q", "--format=json", *words],
                                  capture_output=True, encoding="utf-8")
            if done.returncode not in (0, 1):
                raise AssertionError(f"the oracle cannot ask {words}: {done.stderr}")
            self.answers[key] = load(done.stdout)
        return self.answers[key]

    def evaluate(self, request, cuts, **options):
        ends = [self.names[cut - 1] for cut in cuts]
        words = ["--evaluate=" + ("|".join(ends) or "whole")]
        devices = request.device_map
        if devices is not None and devices != list(range(len(devices))):
            words.append("--device-map=" + ",".join(map(str, devices)))
        if request.micro_batches is not None and "copies" in {**self.options, **options}:
            words.append(f"--micro-batches={request.micro_batches}")
        return self.ask(words, **options)["stages"]

    def needs(self, request, cuts, **options):
        if request.copies in plain_solver.RULES and \
                plain_solver.takes_turns(request.copies, request.device_map):
            return self.needs_together(request, cuts, options)
        return [(stage.get("needs") or {}).get(self.need, stage["peak"]["bytes"])
                for stage in self.evaluate(request, cuts, **options)]

    def needs_together(self, request, cuts, options):
        """The same of stages that take turns: of each moment of an IPU, with a list of copies."""
        devices, more = request.device_map, request.more_copies
        if {**self.options, **options}.get("recompute") == "full" and \
                request.copies in plain_solver.plain_step.WITH_WEIGHTS:
            options["recompute"] = "standard"  # what is recomputed stays
        most = [0] * len(devices)
        for device, moments in plain_solver.moments_of(
                request.copies, request.micro_batches, tuple(devices)).items():
            own = [k for k, it in enumerate(devices) if it == device]
            copies = {tuple(max(0, sum(held[k]) - 1 + more) for k in own) for held in moments}
            for numbers in copies:
                if any(o != numbers and all(map(int.__ge__, o, numbers)) for o in copies):
                    continue
                numbers = [max([n for j, n in zip(own, numbers) if j >= k], default=0)
                           for k in reversed(range(len(devices)))]
                then = replace(request, copies=(numbers, False), more_copies=0, micro_batches=None)
                needs = self.needs(then, cuts, **options, copies=",".join(map(str, numbers)))
                for k in own:
                    most[k] = max(most[k], needs[k])
        return most

    @staticmethod
    def where(request, count):
        if request.device_map is None:
            return f"--num-ipus={count}"
        return "--device-map=" + ",".join(map(str, request.device_map))

    def solved(self, request, cuts, **options):
        words = ["--solve", "--objective=ipus", "--mem-per-tile=1G", "--require=layers:0..",
                 self.where(request, len(cuts) + 1),
                 *("--require=cut:" + self.names[cut - 1] for cut in cuts)]
        if request.bandwidth is not None or request.links:
            words.append(f"--bandwidth={NO_TIME}")
        if request.micro_batches is not None and "copies" in {**self.options, **options}:
            words.append(f"--micro-batches={request.micro_batches}")
        stages = self.ask(words, **options)["stages"]
        assert len(stages) == len(cuts) + 1, (cuts, stages)
        return stages

    def cycles(self, request, cuts, **options):
        """(cycles, cut, link) of each stage, at its speed and with its links."""
        devices = request.device_map or range(len(cuts) + 1)
        found, link = [], 0
        for k, stage in enumerate(self.solved(request, cuts, **options)):
            before, link, taken = link, 0, 0
            if "link_cycles" in stage:
                taken = stage["link_cycles"] + (found[-1][3] if found else 0)
                if k < len(cuts) and devices[k] != devices[k + 1]:
                    carries = request.carries(devices[k], devices[k + 1]) or \
                        Fraction(LINK_BYTES_PER_SECOND, CLOCK)
                    link = -(-stage["cut_bytes"] // carries)
            own = -(-(stage["cycles"] - taken) // request.speeds.get(devices[k], Fraction(1)))
            found.append((own + before + link, stage["cut_bytes"], link,
                          stage.get("link_cycles", 0), stage["cycles"] - taken))
        return found

    def split(self, request, cuts):
        edges = [0, *cuts, len(self.names)]
        count = len(cuts) + 1
        devices = request.device_map or range(count)
        if any(plain_solver.copies_of(request, k, count) is None
               for k in range(count)):
            return
        own_ways = [{"recompute": way} for way in ("none", "standard", "full")] \
            if request.recompute == "auto" else [{}]
        rows = [list(zip(self.needs(request, cuts, **way), self.cycles(request, cuts, **way)))
                for way in own_ways]
        weights = self.weights(request, cuts) if self.has_replicas else [0] * count
        # stages on one IPU go one way
        choices = {device: range(len(rows)) for device in devices}
        for ways in itertools.product(*choices.values()):
            ways = dict(zip(choices, ways))
            ways = [rows[ways[devices[k]]][k] for k in range(count)]
            yield Split(tuple(cuts), [
                Stage(edges[k], edges[k + 1], devices[k], memory, cycles, cut, link, weights[k],
                      plain=plain)
                for k, (memory, (cycles, cut, link, _, plain)) in enumerate(ways)])

    def weights(self, request, cuts):
        """Bytes of the parameters that each IPU trains, with its first stage."""
        devices = request.device_map or range(len(cuts) + 1)
        if self.options.get("schedule") == "inference":
            return [0] * (len(cuts) + 1)
        own = self.evaluate(request, cuts, schedule="popart", accumulators="fp16", recompute="none",
                            **{"memory-model": "full"})
        return [stage["mem"].get("accumulators", 0) if devices[k] not in devices[:k] else 0
                for k, stage in enumerate(own)]


class Together:
    """Costs of several profiles of the same layers, which have one split."""
    scale = 1

    def __init__(self, profiles):
        self.profiles = profiles
        longest = max(profiles, key=lambda own: len(own.names))
        self.names, self.is_layer = longest.names, longest.is_layer

    def split(self, request, cuts):
        if any(cut >= len(own.names) for own in self.profiles for cut in cuts):
            return
        for rows in itertools.product(*(own.split(request, cuts) for own in self.profiles)):
            stages = [Stage(each[0].first, max(own.end for own in each), each[0].device,
                            max(own.memory for own in each), max(own.cycles for own in each),
                            sum(own.cut for own in each))
                      for each in zip(*(row.stages for row in rows))]
            yield Split(tuple(cuts), stages)


# ---- what is answered ----

def rows_of(text, options):
    """A table as a list of objects."""
    if options.get("format") == "json":
        return load(text)["rows"]
    delimiter = "," if options.get("format") == "csv" else "\t"
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def parts(number, scale):
    return decimal(number) * scale


def is_time(told, scale, value):
    """Tables have six decimals of a time with fractions, JSON all of them."""
    if isinstance(told, str) and scale != 1:
        return told == f"{value / scale:.6f}"
    return parts(told, scale) == value


def expect_time(told, scale, value, what):
    if not is_time(told, scale, value):
        expect(told, value / scale, what)


def named(costs, split):
    """(ipu, first, last) of each stage."""
    return [(s.device, costs.names[s.first], costs.names[s.end - 1]) for s in split.stages]


def expect(own, other, what):
    if own != other:
        raise AssertionError(f"{what}: answered {own}, expected {other}")


class Check:
    """One run against what is expected of it."""

    def __init__(self, world, costs, options, done):
        what, _, span = options.get("sweep", "").partition("=")
        self.shortest = 1
        if "total-ipus" in options and what == "num-ipus":  # lengths of a pipeline
            self.shortest, longest = (int(end) for end in span.split(".."))
            options = {**{key: own for key, own in options.items() if key != "sweep"},
                       "num-ipus": str(longest)}
        if "total-ipus" in options and "v-shape" in options:
            self.shortest = max(self.shortest, 2)
        self.world, self.costs, self.options, self.done = world, costs, options, done
        self.request = request_of(world, options, world.gaps(options))
        self.split_is_given = given_split(world, options) is not None

    def whole(self):
        """Everything that the run printed and wrote."""
        options = self.options
        if "help" in options or "version" in options:
            return
        if {"total-ipus", "pareto", "sweep"} & set(options) and \
                options.get("section", options.get("plot", "plan")) != "plan":
            return  # the table is printed instead
        if {"total-ipus", "sweep"} <= set(options):
            self.sweep_replicas()
        elif {"total-ipus", "pareto"} <= set(options):
            self.front_of_replicas()
        elif "total-ipus" in options:
            self.replicas()
        elif "pareto" in options:
            self.front()
        elif "sweep" in options:
            self.sweep()
        else:
            self.solved()
            self.files()

    # -- one split --

    def solved(self):
        request, costs = self.request, self.costs
        solve = plain_solver.greedy if self.options.get("solver") == "popliner" else \
            plain_solver.solve
        does_fit, best = solve(costs, request)
        self.does_fit, self.best = does_fit, best
        self.status(does_fit)
        shown = self.printed()
        if shown is None:
            return
        kind, answer = shown
        if best is not None and best[0].shares():
            best = solve(costs, request, self.cuts_of(answer["stages"] if kind == "certificate"
                                                      else answer))[1]
            self.best = best
        if kind == "certificate":
            self.certificate(answer)
        elif best is None:
            expect(answer, [], kind)
        else:
            self.stages(kind, answer, best[0])

    def cuts_of(self, stages):
        """The cuts of stages as they are answered: where each begins but the first; None if they do
        not say it."""
        begins = [own.get("layer_from") or own.get("from") or own.get("first_unit")
                  for own in stages[1:]]
        names = self.costs.names
        return tuple(names.index(name) for name in begins) if set(begins) <= set(names) else None

    def status(self, does_fit):
        """The exit status, unless something else has a say in it, too."""
        others = {"diagnose", "fail-on"} if self.split_is_given else \
            {"diagnose", "evaluate", "fail-on"}
        if not others & set(self.options):
            expect(self.done.returncode, 0 if does_fit else 1, "exit status")

    def table(self, first):
        """The rows of a table that begins with this column and is the last that is printed."""
        at = self.done.stdout.rfind("\n" + first + ("," if self.options.get("format") == "csv"
                                                    else "\t"))
        return rows_of(self.done.stdout[at + 1:], self.options)

    def has_reports(self):
        """True if several reports are split; a file of costs has none."""
        return self.world.kind == PROFILE and self.options.get("report") == "all"

    def printed(self):
        """(kind, stages or a certificate) of what is on standard output."""
        text, options = self.done.stdout, self.options
        if options.get("emit", "").isalpha():
            return self.emitted(text)
        if "section" in options:
            return ("section", rows_of(text, options)) if options["section"] == "plan" else None
        if "compare" in options:
            return self.compared(text)
        if "plot" in options and options["plot"] != "plan":
            return None
        if "plot" in options:
            plain = re.sub("\x1b\\[[0-9;]*m", "", text)  # --color always
            lines = re.findall(r"^>? +\d+ +(\d+)  (\S+)(?: to (\S+))?", plain, re.M)
            return "plot", [{"ipu": ipu, "from": first, "to": last or first}
                            for ipu, first, last in lines]
        if options.get("format") == "json":
            answer = load(text)
            return "certificate", answer["answer"] if self.has_reports() else answer
        if {*ACTIONS[1:], "load-from-file"} & set(options):
            return "popliner", load(text[("\n" + text).rindex("\n["):])
        return "table", self.table("stage")

    def emitted(self, text):
        if self.options["emit"].split("=")[0] != "pipeline" or not text:
            return None
        return "plan", [{"ipu": stage["ipu"], "from": stage["units"][0], "to": stage["units"][-1]}
                        for stage in load(text)["stages"]]

    def compared(self, text):
        if self.options.get("format") == "json":
            stages = [stage["now"] for stage in load(text)["stages"]]
            return "comparison", [stage for stage in stages if stage is not None]
        rows = rows_of(text, self.options) if "format" in self.options else []
        needs = [row["now"] for row in rows
                 if row["what"] == "stage" and row["quantity"] == "need_bytes" and row["now"]]
        if rows and self.best is not None:
            expect([int(need) for need in needs], [s.memory for s in self.best[0].stages], "needs")
        return None

    def stages(self, kind, answer, split):
        """Stages of a table, whatever its columns."""
        told = split.stages
        expect(len(answer), len(told), kind + ": stages")
        chosen = self.choices(split)
        for k, (own, stage, (ipu, first, last)) in enumerate(
                zip(answer, told, named(self.costs, split))):
            if kind == "popliner":
                layers = [self.costs.names[u] for u in range(stage.first, stage.end)
                          if self.costs.is_layer[u]]
                expect(own["layer_from"], first if first in layers else None, "layer_from")
                expect(own["layer_to"], last if last in layers else None, "layer_to")
                if "need" not in self.options:
                    expect(own["mem"]["max_tile_mem"], stage.memory, "max_tile_mem")
                continue
            expect(int(own["ipu"]), ipu, kind + ": ipu")
            expect((own.get("from", own.get("first_unit")), own.get("to", own.get("last_unit"))),
                   (first, last), kind + ": units")
            if stage.replicas is not None:
                expect(int(own["replicas"]), stage.replicas, kind + ": replicas")
            memory = own.get("memory")
            if memory is not None and int(memory) not in {own for own, _ in chosen[k]}:
                raise AssertionError(f"{kind}: {memory} bytes of stage {k}, expected some of "
                                     f"{chosen[k]}")
            for key, value in (("cut", stage.cut), ("cut_bytes", stage.cut)):
                if own.get(key) not in (None, ""):
                    expect(parts(own[key], 1), value, kind + ": " + key)

    def is_time(self, names, i):
        return names[i] == "cycles" or names[i] == "balance" and "cycles" in names[:i]

    def values(self, told, values, bounds=None):
        """The objectives of an answer, with their bounds."""
        names = self.request.objectives
        expect([own["name"] for own in told], list(names), "objectives")
        for i, own in enumerate(told):
            scale = self.costs.scale if self.is_time(names, i) else 1
            expect(parts(own["value"], scale), abs(values[i]), names[i])
            if bounds is not None:
                expect(parts(own["bound"], scale), abs(bounds[i]), "bound of " + names[i])

    def certificate(self, told):
        if self.options.get("solver") == "popliner":
            expect(told["status"], "feasible" if self.does_fit else "infeasible", "status")
            expect([(s["ipu"], s["layer_from"], s["layer_to"]) for s in told["stages"]],
                   list(self.layers_named(self.best[0])), "stages")
            return
        if not self.does_fit:
            # the reasons are those of one device for each stage
            self.request = Request(**{**vars(self.request), "has_replicas": False})
            self.infeasible(told)
            return
        split, values, bounds = self.best
        expect(told["status"], "optimal", "status")
        self.values(told["objectives"], values, bounds)
        expect([(s["ipu"], s["layer_from"], s["layer_to"]) for s in told["stages"]],
               list(self.layers_named(split)), "stages")
        self.stage_numbers(told["stages"], split)
        expect(told["totals"]["ipus"], split.value("ipus"), "totals.ipus")
        # ways of running with as many cycles may need other memory
        expect(told["totals"]["memory"], split.value("memory") if self.request.recompute != "auto"
               else max(map(self.memory_of, told["stages"])), "totals.memory")
        expect(told["infeasibility"], None, "infeasibility")

    def layers_named(self, split):
        """Files of costs have the names of units there, profiles those of layers."""
        for ipu, first, last in named(self.costs, split):
            if self.world.kind == COSTS or self.has_reports():
                yield ipu, first, last
            else:
                is_layer = dict(zip(self.costs.names, self.costs.is_layer))
                yield ipu, first if is_layer[first] else None, last if is_layer[last] else None

    def memory_of(self, stage):
        """Of the estimate that was asked for."""
        return stage["mem"]["max_tile_mem"] if stage["needs"] is None else \
            stage["needs"][NEEDS[self.options.get("need", "expected")]]

    def stage_numbers(self, told, split):
        chosen = self.choices(split)
        for k, (own, stage) in enumerate(zip(told, split.stages)):
            expect(own["cut_bytes"], stage.cut, f"cut_bytes of stage {k}")
            expect(own.get("replicas"), stage.replicas, f"replicas of stage {k}")
            memory = self.memory_of(own)
            cycles = parts(own["cycles"] or 0, self.costs.scale)
            if (memory, cycles) not in chosen[k]:
                raise AssertionError(f"stage {k}: {memory} bytes and {cycles} cycles, expected one "
                                     f"of {chosen[k]}")
            if "link_cycles" in own:
                expect(parts(own["link_cycles"], self.costs.scale), stage.link, "link_cycles")

    def choices(self, split, request=None, bounds=None):
        """(memory, cycles) that each stage may have: with --recompute auto those with the fewest
        cycles within its limit, and within memory and headroom, with their slack, if asked for."""
        request, bounds = request or self.request, bounds or self.best[2]
        if request.recompute != "auto":
            return [{(s.memory, s.cycles)} for s in split.stages]
        ways = list(self.costs.split(request, split.cuts))
        chosen = []
        if bounds is None:  # nothing fits
            own = plain_solver.settled(ways, plain_solver.by_memory)
            return [{(w.stages[k].memory, w.stages[k].cycles) for w in own}
                    for k in range(len(split.stages))]
        for k, stage in enumerate(split.stages):
            most = request.limit(stage.device)
            most = float("inf") if most is None else most
            for i, (objective, bound) in enumerate(zip(request.objectives, bounds)):
                slack = request.slack if i + 1 < len(request.objectives) else 0
                allowed = math.floor(abs(bound) * slack / 100)
                if objective == "memory":
                    most = min(most, bound + allowed)
                elif objective == "headroom":
                    most = min(most, request.limit(stage.device) + bound + allowed)
            own = [w for w in ways if w.stages[k].memory <= most]
            best = min(plain_solver.by_cycles(w, w.stages[k]) for w in own)
            chosen.append({(w.stages[k].memory, w.stages[k].cycles) for w in own
                           if plain_solver.by_cycles(w, w.stages[k]) == best})
        return chosen

    def infeasible(self, told):
        expect(told["status"], "infeasible", "status")
        why = told["infeasibility"]
        if self.best is None:
            expect((told["stages"], why["reason"]), ([], "constraints"), "contradiction")
        else:
            split = self.best[0]
            expect([s["ipu"] for s in told["stages"]], [s.device for s in split.stages], "effort")
            expect([(s["layer_from"], s["layer_to"]) for s in told["stages"]],
                   [tuple(ends) for _, *ends in self.layers_named(split)], "best effort")
            if why["reason"] not in ("layer", "place", "capacity"):
                raise AssertionError(f"memory is short, but the reason is {why['reason']}")
        if self.split_is_given:
            expect((why["enough_num_ipus"], why["remedies"]), (None, []), "what would help")
        elif self.request.device_map is None:
            expect(why["enough_num_ipus"], self.enough_ipus(), "enough_num_ipus")
        if self.best is not None:
            expect(why["enough_mem_per_tile"], self.enough_memory(), "enough_mem_per_tile")

    def enough_ipus(self):
        for number in range(1, len(self.costs.names) + 1):
            request = Request(**{**vars(self.request), "num_ipus": number})
            if any(plain_solver.fits(request, s) for s in plain_solver.splits(self.costs, request)):
                return number
        return None

    def enough_memory(self):
        request = Request(**{**vars(self.request), "memory": None})
        least = min((max([s.memory for s in split.stages if s.device not in request.memories],
                         default=0)
                     for split in plain_solver.splits(self.costs, request)
                     if plain_solver.fits(request, split)), default=None)
        # the reserve is kept free of what is named
        kept = self.options.get("reserve", "0")
        if not least or kept == "gaps":
            return least
        if not kept.endswith("%"):
            return least + int(kept)
        share = decimal(kept[:-1]) / 100
        return next(limit for limit in itertools.count(least)
                    if limit - int(limit * share) >= least)

    # -- several splits --

    def rows(self):
        """(row, value, request) of a range."""
        what, _, span = self.options["sweep"].partition("=")
        first, _, rest = span.partition("..")
        last, _, step = rest.partition(":")
        told = load(self.done.stdout)["results"] if self.options.get("format") == "json" else \
            self.table(what)
        values = range(int(first), int(last) + 1, int(step or 1))
        expect([int(own.get("value", own.get(what))) for own in told], list(values), "values")
        for own, value in zip(told, values):
            options = {**self.options, what: str(value)}
            yield own, value, request_of(self.world, options, self.world.gaps(options))

    def sweep(self):
        does_any = False
        for own, value, self.request in self.rows():
            request = self.request
            does_fit, best = plain_solver.solve(self.costs, request)
            if best is not None and best[0].shares() and "stages" in own:
                best = plain_solver.solve(self.costs, request, self.cuts_of(own["stages"]))[1]
            does_any = does_any or does_fit
            expect(own["status"], "optimal" if does_fit else "infeasible", f"status of {value}")
            if best is not None:
                self.row(own, best, does_fit)
        self.status(does_any)

    def chosen(self, row, split):
        """That a row of a table has a choice of each stage, where stages choose."""
        expect("recompute" in row, self.request.recompute == "auto", "column recompute")
        if "recompute" in row:
            expect(len(row["recompute"].split(" | ")), len(split.stages), "recompute")

    def row(self, own, best, does_fit=True):
        """A row of a sweep or a front, in JSON or in a table."""
        split, values, bounds = best
        if "objectives" in own:
            self.values(own["objectives"], values, bounds if does_fit else None)
            if does_fit or not split.shares():
                expect([(s["ipu"], s["unit_from"], s["unit_to"]) for s in own["stages"]],
                       named(self.costs, split), "stages")
        else:
            names = self.request.objectives
            for i, name in enumerate(names):
                scale = self.costs.scale if self.is_time(names, i) else 1
                expect_time(own[name], scale, abs(values[i]), name)
            if not split.shares():  # else it is one of the equally good ones
                expect(own["split"], self.split_text(split), "split")
            self.chosen(own, split)
        expect(own["totals"]["ipus"] if "totals" in own else int(own["used"]),
               split.value("ipus"), "used")

    def front(self):
        points = plain_solver.front_of(self.costs, self.request)
        told = load(self.done.stdout)["results"] if self.options.get("format") == "json" else \
            self.table("status")
        self.status(points)
        if points:
            expect(len(told), len(points), "points")
            for own, best in zip(told, points):
                self.row(own, (*best[:2], None), False)

    def sweep_replicas(self):
        """Each row is the best candidate."""
        does_any = False
        for own, value, self.request in self.rows():
            found = self.pipelines()
            does_any = does_any or len(found) > 0
            if "value" in own:
                expect(own["best"] is None, not found, f"best of {value}")
                own = own["best"]
            elif not found:
                expect((own["status"], own["split"]), ("infeasible", ""), f"status of {value}")
            if found:
                own = self.table_row(own)
                self.candidate(int(own["stages"]) - 1, own, [
                    f for f in found
                    if len({s.device for s in f[4].stages}) == int(own["stages"])])
        self.status(does_any)

    def front_of_replicas(self):
        found = self.pipelines()
        told = load(self.done.stdout)["results"] if self.options.get("format") == "json" else \
            self.table("memory")
        self.status(found)
        for own in map(self.table_row, told):
            self.candidate(int(own["stages"]) - 1, own, found)
            found = [f for f in found if f[4].value("memory") < int(own["memory"])]
        if found and all(float(own["gap"]) == 0 for own in told):
            raise AssertionError(f"no point with less memory than {told[-1:]}")

    def question(self):
        """What plain_solver is asked about replicas."""
        options, costs = self.options, self.costs
        bandwidth = options.get("replica-bandwidth")
        most = self.request.num_ipus if self.split_is_given else \
            int(options.get("num-ipus", options["total-ipus"]))
        if isinstance(self.request.copies, tuple) and not self.request.copies[1]:
            each = 2 if "v-shape" in options else int(options.get("interleave", 1))
            most = min(most, len(self.request.copies[0]) // each)
        return (costs, Request(**{**vars(self.request), "num_ipus": most}),
                int(options["total-ipus"]),
                "v" if "v-shape" in options else int(options.get("interleave", 1)),
                int(options["batch"]) if "batch" in options else None,
                int(options.get("micro-batch-size", 1)), bandwidth and decimal(bandwidth))

    def candidates(self):
        """All pipelines of each number of IPUs."""
        question = self.question()
        chunks = 2 if question[3] == "v" else question[3]
        most = min(question[2], len(question[0].names) // chunks, question[1].num_ipus)
        return [plain_solver.pipelines_of(*question, n) for n in range(self.shortest, most + 1)]

    def pipelines(self):
        return [found for row in self.candidates() for found in row]

    def replicas(self):
        options = self.options
        rows = self.candidates()
        self.status(any(rows))
        if options.get("emit", "").isalpha():
            return
        if options.get("format") == "json":
            answer = load(self.done.stdout)
            told, best = answer["candidates"], answer["best"]
        else:
            told = self.table("stages")
            best = next((i for i, own in enumerate(told) if own["best"] == "yes"), None)
        expect(len(told), len(rows), "candidates")
        ranks = [self.candidate(i + self.shortest - 1, own, row)
                 for i, (own, row) in enumerate(zip(told, rows))]
        expect(best, min((i for i, rank in enumerate(ranks) if rank), default=None,
                         key=lambda i: (ranks[i][:2], i)), "best")

    def split_text(self, split):
        return "[ " + " | ".join(
            " ".join(self.costs.names[s.first:s.end]) for s in split.stages) + " ]"

    @staticmethod
    def table_row(own):
        """A candidate, with the names of columns where it is an object."""
        if not isinstance(own["stages"], list):
            return own
        return {**own, "stages": own["num_ipus"], "split": own["stages"],
                "memory": own["totals"]["memory"], "cycles": own["totals"]["cycles"]}

    def with_stages(self, told, split):
        """What was told, if it has these stages."""
        is_list = isinstance(told, list)
        return told if is_list and [(s["ipu"], s["unit_from"], s["unit_to"]) for s in told] == \
            named(self.costs, split) else None

    def candidate(self, i, own, found):
        """Is one of the pipelines that were found, and no other has more throughput than its gap
        says. Returns its rank."""
        own = self.table_row(own)
        expect(int(own["stages"]), i + 1, "stages")
        if not found:
            expect((own["status"], int(own["replicas"])), ("infeasible", 0), f"candidate {i}")
            return None
        same = [f for f in found if int(own["replicas"]) == f[2] and own["split"] in (
            self.split_text(f[4]), self.with_stages(own["split"], f[4])) and
            self.is_chosen(own, f[4])]
        same = [f for f in same if is_time(own["step_cycles"], self.costs.scale, f[1])] or same
        if not same:
            raise AssertionError(f"candidate {i}: no such pipeline: {own}")
        rank, step, _, batches, split = min(same, key=lambda f: f[0])
        expect(int(own["micro_batches"]), batches, f"candidate {i}")
        expect_time(own["step_cycles"], self.costs.scale, step, f"candidate {i}: step_cycles")
        expect_time(own["cycles"], self.costs.scale, split.value("cycles"),
                    f"candidate {i}: cycles")
        plain_solver.check_throughput(own, found, -rank[0])
        return rank

    def is_chosen(self, own, split):
        """Whether the numbers are those of the split."""
        scale = self.costs.scale
        if isinstance(own["split"], str):
            self.chosen(own, split)
            cycles = split.value("cycles")
            return own["cycles"] == (str(cycles) if scale == 1 else f"{cycles / scale:.6f}") and \
                int(own.get("memory", split.value("memory"))) == split.value("memory")
        return all((told["need_bytes"], parts(told["cycles"], scale)) ==
                   (stage.memory, stage.cycles) for told, stage in zip(own["split"], split.stages))

    # -- files --

    def files(self):
        """What was written beside the answer says the same."""
        options, split = self.options, self.best and self.best[0]
        if split is None:
            return
        for key in ("output", "emit", "html", "trace"):
            name = options.get(key, "").rpartition("=")[2]
            if key == "emit" and "=" not in options.get(key, "") or key not in options:
                continue
            with open(name, encoding="utf-8") as file:
                getattr(self, "in_" + key)(file.read(), split)
        if self.does_fit:
            self.programs(split)
        if "save-to-file" in options and "load-from-file" not in options:
            self.stored()

    def in_output(self, text, split):
        if self.options["output"].startswith("plan="):
            self.stages("--output plan", list(csv.DictReader(io.StringIO(text))), split)
        elif not text.startswith("index,unit,"):
            raise AssertionError(f"--output layers: {text[:50]}")

    def in_emit(self, text, split):
        stages = load(text)["stages"]
        expect([(s["ipu"], s["units"]) for s in stages],
               [(s.device, self.costs.names[s.first:s.end]) for s in split.stages], "--emit")

    def in_html(self, text, split):
        data = text.split('id="data">')[1].split("</script>")[0]
        data = load(zlib.decompress(base64.b64decode(data)).decode())
        plan = data["plan"]
        expect(plan, [s.first for s in split.stages[1:]], "--html: begins of stages")

    def in_trace(self, text, split):
        names = {event["args"]["name"] for event in json.loads(text)["traceEvents"]
                 if event["ph"] == "M" and event["name"] == "process_name"}
        expect({name for name in names if name.startswith("Stage ")},
               {f"Stage {k} on IPU {ipu}: {first} to {last}"
                for k, (ipu, first, last) in enumerate(named(self.costs, split))}, "--trace")

    def programs(self, split):
        """The optimum that glpsol finds for what was written is the value of the objective."""
        for key, format_ in (("write-lp", "--lp"), ("write-mps", "--freemps")):
            if key not in self.options or not shutil.which("glpsol"):
                continue
            out = self.world.path("glpsol.txt")
            subprocess.run(["glpsol", format_, self.options[key], "-o", out],
                           capture_output=True, check=True)
            with open(out, encoding="utf-8") as file:
                found = re.search(r"^Objective: +\S* *= *(\S+)", file.read(), re.M).group(1)
            value = self.best[2][0]  # times as the solver counts them: in whole parts of the unit
            if self.request.objectives[0] == "headroom":  # the program has what is not free
                value += max(self.request.limit(ipu) for ipu in range(self.request.num_ipus))
            if abs(float(found) - value) > 1e-6 * max(1, value):
                raise AssertionError(f"--{key}: glpsol finds {found}, not {value}")

    def stored(self):
        """The stored analysis has the same answer."""
        words = [own for own in words_of({**self.options, "load-from-file": True})
                 if not own.startswith(("--save-to-file", "--report="))]
        kept = [own for own in words if own.split("=")[0].strip("-") not in FINDS_LAYERS]
        again = subprocess.run(
            [self.world.popliner, "--solve", self.options["save-to-file"], *kept],
            capture_output=True, encoding="utf-8")
        if "compare" not in self.options and again.stdout != self.done.stdout:
            raise AssertionError(f"stored, it answers {again.stdout[:300]}{again.stderr}")


# ---- files to ask about ----

def draw_costs(rng, path, num_regions=1, has_limit=False):
    """A random file of costs."""
    names = [f"u{i}" for i in range(rng.randrange(5, 7))]
    is_whole = rng.random() < 0.7
    layers = [True] * len(names)
    if rng.random() < 0.5:
        layers[0] = False

    def bytes_(most):
        return [rng.randrange(most) for _ in range(num_regions)] if num_regions > 1 else \
            rng.randrange(most)

    def time():
        return rng.randrange(1, 30) if is_whole else round(rng.random() * 8, 2)

    units = [{"name": name, "layer": own, "memory": bytes_(100), "cycles": time(),
              "stash": bytes_(20), "inputs": bytes_(8), "recompute_cycles": time(),
              "parameters": rng.randrange(60)} for name, own in zip(names, layers)]
    for unit in rng.sample(units, 2) if num_regions == 1 else []:
        unit["variants"] = [{"name": "v", "stash": rng.randrange(10), "cycles": time()}]
    document = {"format": "popliner-costs", "version": 1, "units": units,
                "regions": [f"tile {i}" for i in range(num_regions)],
                "shared": [{"units": sorted(rng.sample(names, 2)), "memory": bytes_(40)}],
                "cuts": [rng.randrange(60) for _ in names[1:]]}
    if rng.random() < 0.5:
        document["cut_cycles"] = [time() for _ in names[1:]]
    devices = document["devices"] = {}
    if rng.random() < 0.5:
        devices["count"] = rng.randrange(3, 5)
    if rng.random() < 0.3 or has_limit:
        devices["memory"] = rng.randrange(150, 500)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)
    return document


class Tester:
    def __init__(self, popliner, mkprofile, scratch):
        self.popliner, self.mkprofile, self.scratch = popliner, mkprofile, scratch
        self.answers, self.num_problems, self.counts = {}, 0, {"refused": 0, "answered": 0}
        self.refused = {COSTS: {}, PROFILE: {}}  # by labels: whether, of each seed
        self.make_profiles()

    def path(self, name):
        return os.path.join(self.scratch, name)

    def run(self, *words, **others):
        return subprocess.run([*words], capture_output=True, encoding="utf-8", **others)

    def make_profiles(self):
        small = ["--tiles", "4", "--hidden", "16", "--sequence", "8", "--vocabulary", "60",
                 "--quiet", "--framework", "popart", "--layers", "4"]
        for name, others in (("root/training", ["--training", "--seed", "21"]),
                             ("root/use", ["--inference", "--seed", "21"]),
                             ("before", ["--training", "--seed", "22"]),
                             ("pipeline", ["--training", "--accumulate", "--seed", "21",
                                           "--pipeline", "1"])):
            os.makedirs(self.path(name))
            self.run(self.mkprofile, "--output", self.path(name), *small, *others, check=True)
        report = self.path("root/training")
        self.run(self.popliner, report, "--save-to-file", self.path("@stored"), check=True)
        self.run(self.popliner, report, "--save-to-file", self.path("popliner@stored"),
                 "--memory-model=popliner", check=True)
        self.run(self.popliner, self.path("root/use"), "--save-to-file", self.path("use@stored"),
                 check=True)
        draw_costs(random.Random(0), self.path("other.json"))

    def gaps(self, options):
        """What `--reserve gaps` keeps free, of the section summary; no file of costs has it."""
        if options.get("reserve") != "gaps":
            return 0
        done = self.run(self.popliner, "--verbose", self.path("@stored"), "--load-from-file",
                        "--solve", "--reserve=gaps")
        return int(re.search(r"Keeping (\d+) of", done.stderr).group(1))

    def world(self, kind, labels, rng):
        if kind == COSTS:
            num_regions = 1 if "--recompute auto" in labels else rng.choice([1, 1, 2])
            has_limit = any(label.startswith("--reserve") for label in labels)
            document = draw_costs(rng, self.path("costs.json"), num_regions, has_limit)
            costs = plain_solver.Costs(document)
            world = World(kind, costs.names, costs.is_layer, self.scratch, 250,
                          document["devices"])
        else:
            costs = None
            names = ["Head", "0", "1", "2", "3"]
            world = World(kind, names, [False] + [True] * 4, self.scratch, 45000,
                          {"memory": 638976})
        world.popliner, world.gaps = self.popliner, self.gaps
        return world, costs

    def profile(self, options):
        """What the profile of these options costs."""
        # a stored analysis has the layers and the memory model that it was stored for
        finds = any(key in options for key in (*FINDS_LAYERS, "memory-model")) or \
            options.get("solver") == "popliner"
        use = Profile(self.popliner, self.path("root/use" if finds else "use@stored"), options,
                      self.answers) if options.get("report") == "all" else None
        own = Profile(self.popliner, self.path("root/training" if finds else "@stored"), options,
                      self.answers)
        return Together([own, use]) if use else own

    def command(self, world, options):
        words = [self.popliner, "--solve"]
        if given_split(world, options) is not None:
            words.pop()
        if world.kind == COSTS:
            words.append(self.path("costs.json"))
        elif "load-from-file" in options:
            of_popliner = "popliner" in (options.get("memory-model"), options.get("solver"))
            words.append(self.path("popliner@stored" if of_popliner else "@stored"))
        else:
            words.append(self.path("root" if "report" in options else "root/training"))
        return words + words_of(options)

    def left_files(self):
        return [name for name in os.listdir(self.scratch) if name.startswith("out")]

    def asked(self, kind, labels, seed):
        """The world, its costs, and options that have these items."""
        rng = random.Random(f"{kind} {labels} {seed}")
        world, costs = self.world(kind, labels, rng)
        options = merged(rng, world, labels)
        if not {"format", "emit", "plot", *ACTIONS, "evaluate"} & set(options) and \
                rng.random() < 0.8:
            options["format"] = "json"
        if not {"format", "plot", "compare"} & set(options) and \
                not options.get("emit", "").isalpha():
            options["format"] = "tsv"
        return world, costs, options

    def ask(self, kind, labels, seed):
        """Whether they are refused before anything is read, without an answer."""
        world, _, options = self.asked(kind, labels, seed)
        is_no_analysis = kind == COSTS and "load-from-file" in options
        refused = is_no_analysis or self.refusal(world, options) is not None
        self.refused[kind].setdefault(labels, {})[refused] = repr(options)

    def check(self, kind, labels, seed):
        world, costs, options = self.asked(kind, labels, seed)
        for name in self.left_files():
            os.remove(self.path(name))
        command = self.command(world, options)
        done = self.run(*command)
        told = " ".join(map(repr, command))
        try:
            # that costs are no stored analysis is known once they are read
            is_no_analysis = kind == COSTS and "load-from-file" in options
            is_known_once_read = any(text in done.stderr for text in LACKS)
            refused = done.returncode in ((2, 3) if is_no_analysis else (2,))
            is_late = LACKS[1] in done.stderr
            self.refused[kind].setdefault(labels, {})[refused and not is_late] = told
            if refused:
                self.counts["refused"] += 1
                if not is_no_analysis and not is_known_once_read:
                    self.check_refusal(options, done, command)
            else:
                self.counts["answered"] += 1
                if done.returncode not in (0, 1):
                    raise AssertionError(f"status {done.returncode}: {done.stderr}")
                Check(world, costs or self.profile(options), options, done).whole()
        except (AssertionError, ValueError, KeyError, TypeError, IndexError, AttributeError,
                OSError) as error:
            self.num_problems += 1
            print(f"{kind} {' with '.join(labels)}, seed {seed}:\n  {told}\n"
                  f"  {type(error).__name__}: {error}"[:3000])
            self.tell_alone(kind, labels, seed)

    @staticmethod
    def tell_alone(kind, labels, seed):
        cases.tell_alone(*sys.argv[1:4], "--kind", kind, "--seed", str(seed),
                         *(f"--only={label}" for label in labels))

    def refusal(self, world, options):
        """Why the options are refused, whatever the file has; None if they are not."""
        with open(self.path("no.json"), "w", encoding="ascii") as file:
            file.write("{")
        path = re.compile(re.escape(self.scratch) + r"/(root\S*|@stored|costs\.json)$")
        other = self.path("no.json") if world.kind == COSTS else "missing"
        done = self.run(*(path.sub(other, word) for word in self.command(world, options)))
        return done.stderr.partition("error: ")[2].strip() \
            if done.returncode == 2 else None

    def check_refusal(self, options, done, command):
        """It is told by name, and nothing was done: not even the file to be solved was read."""
        if done.stdout or self.left_files():
            raise AssertionError(f"refused, but {self.left_files()} {done.stdout[:200]}")
        lines = [line for line in done.stderr.splitlines()
                 if "debug: Total" not in line]
        if len(lines) != 1 or "error: " not in lines[0]:
            raise AssertionError(f"refused after work: {done.stderr}")
        message = lines[0].partition("error: ")[2].strip()
        if len(message) > 100 and "/" not in message:
            raise AssertionError(f"longer than 100 columns: {message}")
        names = {own for key in options for own in NAMES.get(key, (key,))}
        if not any("--" + name in lines[0] for name in names):
            raise AssertionError(f"names none of the options: {lines[0]}")
        path = re.compile(re.escape(self.scratch) + r"/(root\S*|@stored|costs\.json)$")
        # of costs another file, as what a file is shows in its first bytes
        other = self.path("no.json") if self.path("costs.json") in command else "missing"
        with open(self.path("no.json"), "w", encoding="ascii") as file:
            file.write("{")
        without = self.run(*(path.sub(other, word) for word in command)).stderr
        told = re.sub(re.escape(self.scratch) + r"/(root[a-z/]*|@stored|costs\.json)", other,
                      lines[0].split(" ", 1)[1])
        if told not in without:
            raise AssertionError(f"refused once a file was read: {told}; without it: {without}")


# What an input lacks is known once it is read.
LACKS = ("has no lowered variables", "does not say what its sizes may be at most")

# Options that ask something of the solver; others say of what, and what is printed.
QUESTIONS = ("--num-ipus", "--objective", "--slack", "--mem-per-tile", "--ipu-speed", "--bandwidth",
             "--pareto", "--output lp", "--output mps", "--solver", "--require", "--device-map",
             "--schedule", "--recompute", "--micro-batches", "--total-ipus", "--batch",
             "--evaluate")
ITEMS_OF_REASONS = {label: draw for label, draw in ITEMS.items()
                    if label.startswith(QUESTIONS) and label != "--solver popliner"}
ITEMS_OF_REASONS["--device-map any"] = one_of("device-map", "any")


def option_of(label):
    return label.split(" ")[0].rstrip(",")


def all_pairs():
    world = World(COSTS, list("abcde"), [True] * 5, "", 100, {})
    keys = {label: next(iter(draw(random.Random(0), world))) for label, draw in ITEMS.items()}
    return [(a, b) for a, b in itertools.combinations(ITEMS, 2)
            if option_of(a) != option_of(b) or {keys[a], keys[b]} in COMBINED]


# ---- what is written down ----

def is_refused(told, labels):
    return True in told.get(labels, told.get(labels[::-1], {}))


def table_of(refused):
    """A row and a column for each item: refused for (c)osts, (p)rofiles, (b)oth or neither (.)."""
    rows = []
    for row, label in enumerate(ITEMS):
        marks = ""
        for other in list(ITEMS)[:row + 1]:
            labels = (label,) if other == label else (other, label)
            marks += ".cpb"[sum(1 << i for i, kind in enumerate(KINDS)
                                if is_refused(refused[kind], labels))]
        rows.append(f"{marks} {label}\n")
    return "".join(rows)


def check_table(refused, writes):
    """What is committed must be what was found."""
    own = table_of(refused)
    if writes:
        with open(TABLE, "w", encoding="utf-8") as file:
            file.write(own)
    with open(TABLE, encoding="utf-8") as file:
        return [] if file.read() == own else [f"{TABLE}: is not what --write makes of this run"]


def read_table():
    """For each kind the items that are never taken, and all pairs that are refused."""
    found = {kind: (set(), set()) for kind in KINDS}
    with open(TABLE, encoding="utf-8") as file:
        rows = [line.rstrip("\n").partition(" ")[::2] for line in file]
    for marks, label in rows:
        for mark, (_, other) in zip(marks, rows):
            for i, kind in enumerate(KINDS):
                if ".cpb".index(mark) >> i & 1:
                    found[kind][0].update([label] if other == label else [])
                    found[kind][1].add(frozenset((label, other)))
    return found


def check_said(refused):
    """What was tried, against the table: for samples."""
    said, problems = read_table(), []
    for kind, told in refused.items():
        _, pairs = said[kind]
        for labels, results in told.items():
            expected = frozenset(labels) in pairs
            if set(results) != {expected}:
                problems.append(f"{kind} {' with '.join(labels)}: by {TABLE} it is "
                                f"{'' if expected else 'not '}refused, but: {results}")
    return problems


def covered(pairs):
    """Pairs in few words: `a`, `b` with `c`, `d`; first what is in most of them."""
    left, lines = set(pairs), {}
    while left:
        count = {label: sum(label in pair for pair in left) for label in itertools.chain(*left)}
        most = max(ITEMS_OF_REASONS, key=lambda label: count.get(label, 0))
        own = {pair for pair in left if most in pair}
        others = {label for label in itertools.chain(*own) if label != most}
        lines.setdefault(tuple(label for label in ITEMS_OF_REASONS if label in others),
                         []).append(most)
        left -= own
    return "; ".join(f"{told(labels)} with {told(others)}" for others, labels in lines.items())


def told(labels):
    return ", ".join(f"`{label}`" for label in labels)


def reasons_of(tester, said):
    """The table of the questions that do not go together, by the reason of the command. Costs that
    --evaluate takes for --solve are among them: their cuts are fixed."""
    reasons, new = {}, "--device-map any"
    for kind in KINDS:
        alone, refused = said[kind]
        for pair in itertools.combinations(ITEMS_OF_REASONS, 2):
            if frozenset(pair) not in refused and new not in pair or alone & set(pair) or \
                    kind == PROFILE and {"--evaluate", new} & set(pair) or \
                    option_of(pair[0]) == option_of(pair[1]):
                continue
            rng = random.Random(0)
            world, _ = tester.world(kind, pair, rng)
            message = tester.refusal(world, merged(rng, world, pair, ITEMS_OF_REASONS))
            if message is not None:
                reason = re.sub(r"^.*?(: not with .*?, |: )", "", message).partition(";")[0]
                reasons.setdefault(reason, set()).add(pair)
    return ["", "| reason, as the command gives it | not together |", "|---|---|",
            *(f"| {reason} | {covered(pairs)} |" for reason, pairs in reasons.items())]


def check_reasons(path, tester, writes):
    """The table of reasons is what the command says, and short."""
    lines = reasons_of(tester, read_table())
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = text.index(REASON_MARKS[0]) + len(REASON_MARKS[0]), text.index(REASON_MARKS[1])
    own = "\n".join(lines) + "\n\n"
    if writes:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text[:begin] + own + text[end:])
    if not writes and text[begin:end] != own or len(lines) - 3 > MOST_REASONS:
        return [f"{path}: questions are refused otherwise, or for more than {MOST_REASONS} "
                f"reasons:{own}"]
    return []


def sample(rng, count):
    """Some pairs with every item in at least one."""
    pairs = all_pairs()
    chosen, left = set(), set(ITEMS)
    for label in ITEMS:
        if label in left:
            own = [pair for pair in pairs if label in pair]
            pair = rng.choice([pair for pair in own if left.issuperset(pair)] or own)
            chosen.add(pair)
            left.difference_update(pair)
    chosen |= set(rng.sample(pairs, count))
    return [pair for pair in pairs if pair in chosen]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("popliner")
    parser.add_argument("mkprofile")
    parser.add_argument("document")
    parser.add_argument("--write", action="store_true", help="write the table of what is refused")
    parser.add_argument("--seed", type=int, help="with other values of the options")
    parser.add_argument("--only", action="append", help="cases with these items")
    parser.add_argument("--kind", choices=KINDS)
    asked = parser.parse_args()
    check_items(asked.popliner)
    is_whole = asked.write or cases.takes_all()
    tried = [(label,) for label in ITEMS] + all_pairs() if is_whole or asked.only else \
        sample(random.Random(0), 0)
    if asked.only:
        tried = [labels for labels in tried if all(own in labels for own in asked.only)]
    seeds = range(5 if cases.is_nightly() else 1) if asked.seed is None else [asked.seed]
    with tempfile.TemporaryDirectory() as scratch:
        tester = Tester(asked.popliner, asked.mkprofile, scratch)
        # the quick run has costs and a profile by turns
        asks = [own for number, own in enumerate(itertools.product(seeds, tried, KINDS))
                if asked.kind in (None, own[2]) and
                (is_whole or asked.only or number % 4 in (0, 3))]
        for seed, labels, kind in asks if is_whole else []:
            tester.ask(kind, labels, seed)
        if is_whole and not cases.is_nightly():
            asks = asks[::EVERY]
        for seed, labels, kind in asks if is_whole or asked.only else cases.some(asks, 1, 2):
            tester.check(kind, labels, seed)
        wrong = check_said(tester.refused) if not asked.write else []
        if asked.write or is_whole and not (asked.only or asked.kind):
            wrong += check_table(tester.refused, asked.write)
        wrong += check_reasons(asked.document, tester, asked.write)
    print(*wrong, sep="\n")
    print(f"{tester.num_problems} answers and {len(wrong)} refusals are wrong; {tester.counts}")
    return 1 if tester.num_problems or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
