"""Random questions for the suites in Python: costs or a profile, and options of all kinds. Each is
spelled for the command, the Python module, a program in C and plain_solver.py; one that fails is
made smaller, and can be given on a command line.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import copy
import json
import os
import random
import subprocess
import tempfile
from decimal import Decimal
from fractions import Fraction

import cases
import plain_solver
import plain_step
import popliner
from plain_solver import decimal

COMMAND = os.environ.get("POPLINER_COMMAND", "popliner")
MKPROFILE = os.environ.get("POPLINER_MKPROFILE", "popliner-mkprofile")
IN_C = os.environ.get("POPLINER_ASKED_IN_C", "")
PRELOAD = os.environ.pop("LD_PRELOAD", "")  # of a library with sanitizers; programs do without
OBJECTIVES = ("memory", "cycles", "traffic", "ipus", "balance", "headroom")
SCRATCH = tempfile.TemporaryDirectory()
READ = {}  # what was read or loaded of a profile, by the words it was made with


class Refused(Exception):
    """A question that nobody can ask."""


class Unsayable(Exception):
    """A question that has no words here; cases with it are passed over."""


def load(text):
    return json.loads(text, parse_float=Fraction)


def run(*words):
    """What a program prints, whose status is 0 or 1."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 2:
        raise Refused("".join(line for line in done.stderr.splitlines()
                              if "error: " in line or IN_C in words))
    assert done.returncode in (0, 1), f"status {done.returncode}: {done.stderr[-3000:]}"
    return done.stdout


# ---- a question ----

class Question:
    """`document`: a file of costs, or {"profile": words of mkprofile}. `options`: those of the
    command, by name; "map", "copies", "speeds", "links" and "memories" are parts of theirs."""

    def __init__(self, document, options):
        self.document, self.options = document, options

    def but(self, document=None, **changes):
        """The same with other options, of which None is not given."""
        options = {**self.options, **changes}
        return Question(self.document if document is None else document,
                        {key: value for key, value in options.items() if value is not None})

    def __str__(self):
        return json.dumps([self.document, self.options])

    @property
    def is_profile(self):
        return "profile" in self.document

    @property
    def is_graph(self):
        return "nodes" in self.document

    @property
    def names(self):
        if self.is_profile:
            return list(self.analysis().chain().labels)
        if self.is_graph:
            return [f"node{node['id']}" for node in self.document["nodes"]]
        return [unit["name"] for unit in self.document["units"]]

    def told(self, key, usual=None):
        return self.document.get("devices", {}).get(key, usual)

    def of_devices(self, key):
        """What the file says of single devices, and the options instead."""
        return {**self.told(key, {}), **self.options.get(key, {})}

    def num_ipus(self):
        return self.options.get("num_ipus", self.told("count", 16))

    def device_map(self):
        """The map as a list; None if each stage has a device."""
        shape, count = self.options.get("map"), self.num_ipus()
        if shape == "v":
            return [*range(count), *reversed(range(count))]
        if isinstance(shape, str) and shape.startswith("interleaved:"):
            return list(range(count)) * int(shape.partition(":")[2])
        return shape if isinstance(shape, list) else None

    def least_ipus(self):
        """So many that all which are named exist."""
        named = [ipu for key in ("speeds", "memories", "links")
                 for own in self.of_devices(key) for ipu in own.split("-")]
        named += [own.partition("=")[2] for word, own in self.rules() if word == "place"]
        return 1 + max(map(int, named), default=0)

    def devices(self):
        """Those that may be used."""
        return sorted(set(self.device_map() or range(self.num_ipus())))

    def has_limit(self):
        return self.is_profile or bool(
            {"memory", "memories"} & {*self.options, *self.document.get("devices", {})})

    def has_times(self):
        return self.is_profile or any({"cycles", "forward", "backward"} & set(unit) or
                                      unit.get("variants") for unit in self.document["units"]) or \
            "cut_cycles" in self.document

    def has_limit_of_all(self):
        return self.is_profile or None in self.limits() or set(self.devices()) <= set(self.limits())

    def bytes_of_one_stage(self):
        """The keys of a unit that count where all units are one stage, the last one."""
        rule, _, more = self.options.get("copies", "").partition("+")
        copies = int(more or 0)
        if rule == "gpipe":
            copies += self.options["micro_batches"] - 1
        elif rule and rule not in plain_solver.RULES:
            copies = int(rule.split(",")[0])
        stored = {"full": ["stash", "inputs"] if more else ["inputs"]}
        kept = stored.get(self.options.get("recompute"), ["stash"]) if copies else []
        return ["memory", "workspace", *kept]

    def objectives(self):
        """Those that count (docs/options.md)."""
        given = self.options.get("objectives")
        if given is None and self.options.get("map") == "replicas":
            given = "cycles,memory,traffic"
        if given is None:
            is_counted = {"num_ipus", "map"} & set(self.options) or self.told("count")
            given = "ipus,memory,traffic" if self.has_limit() and not is_counted else \
                "headroom,traffic" if self.limits_differ() else "memory,traffic"
        is_of_time = not self.is_profile and self.has_times() and not any(
            any(own.get(key)) if isinstance(own.get(key), list) else own.get(key)
            for own in [*self.document["units"], *self.document.get("shared", [])]
            for key in self.bytes_of_one_stage())
        return plain_solver.completed(given.split(","), self.device_map() is not None,
                                      "cycles" if is_of_time else "memory")

    def limits_differ(self):
        """That they do, and every device has one."""
        found = self.limits()
        if self.is_profile:
            found.setdefault(None, self.analysis().profile.info.bytes_per_tile)
        return len(set(found.values())) > 1 and self.has_limit_of_all()

    def kept(self, bytes_):
        """What --reserve leaves of these."""
        reserve = str(self.options.get("reserve", 0))
        if reserve.endswith("%"):
            return bytes_ - bytes_ * decimal(reserve[:-1]) // 100
        return bytes_ - int(reserve)

    def limits(self):
        """The limit of a device by its number, or None for that of all others; without the
        reserve."""
        found = {int(ipu): bytes_ for ipu, bytes_ in self.of_devices("memories").items()}
        usual = self.options.get("memory", self.told("memory"))
        if usual is None and self.is_profile and "reserve" in self.options:
            usual = self.analysis().profile.info.bytes_per_tile
        return {**found, **({} if usual is None else {None: usual})}

    def rules(self):
        """The rules of --require as (word, value)."""
        return [tuple(rule.split(":", 1)) for rule in self.options.get("require", [])]

    def layers(self):
        """The fewest and the most of a stage, as texts."""
        ends = [own.split("..") for word, own in self.rules() if word == "layers"]
        has_layers = self.is_profile or any(unit.get("layer", True)
                                            for unit in self.document["units"])
        return [next((own[k] for own in reversed(ends) if own[k]), usual)
                for k, usual in ((0, "1" * has_layers), (1, ""))]

    # -- for the command --

    def words(self, **others):
        o = {**self.options, **others}
        words = [f"--require={rule}" for rule in o.get("require", [])]
        for name, usual, single in (
                ("mem-per-tile", "memory", "memories"), ("ipu-speed", "", "speeds"),
                ("bandwidth", "bandwidth", "links")):
            texts = [written(o[usual])] if usual in o else []
            if usual == "bandwidth" and "replica_bandwidth" in o:
                texts.append("replicas=" + written(o["replica_bandwidth"]))
            texts += [f"{key}={written(value)}" for key, value in o.get(single, {}).items()]
            words += [f"--{name}={','.join(texts)}"] if texts else []
        schedule, copies = o.get("schedule"), o.get("copies")
        if copies is not None:
            schedule = copies if schedule is None and not copies[0].isdigit() else \
                f"{schedule or 'none'}:{copies}"
        shape = o.get("map")
        shape = ",".join(map(str, shape)) if isinstance(shape, list) else shape
        for name, value in (("num-ipus", o.get("num_ipus")), ("device-map", shape),
                            ("schedule", schedule), ("objective", o.get("objectives")),
                            *((key, o.get(key.replace("-", "_"))) for key in (
                                "slack", "micro-batches", "recompute", "reserve", "solver", "need",
                                "pareto"))):
            words += [] if value is None else [f"--{name}={value}"]
        return words

    def path(self):
        """A file of it."""
        if self.is_profile:
            return self.profile_path()
        path = os.path.join(SCRATCH.name, "costs.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.document, file)
        return path

    def command(self, *words, **others):
        """What the command prints as JSON."""
        return load(run(COMMAND, "-q", self.path(), "--format=json", *words, *self.words(**others)))

    # -- in Python --

    def profile_path(self):
        words = self.document["profile"]
        path = os.path.join(SCRATCH.name, "-".join(words).replace("-", "") or "usual")
        if not os.path.exists(path):
            made = subprocess.run([MKPROFILE, "--output", path, "--quiet", *words],
                                  capture_output=True, check=False)
            if made.returncode != 0:
                raise Refused(made.stderr)
        return path

    def analysis(self, how="read"):
        """The profile as it is, or stored and loaded."""
        key = (how, *self.document["profile"])
        if key not in READ:
            if how == "load":
                self.analysis().save(self.profile_path() + ".stored")
                READ[key] = popliner.load(self.profile_path() + ".stored")
            else:
                READ[key] = popliner.read(self.profile_path())
        return READ[key]

    def pipeline(self):
        o, devices = self.options, self.device_map()
        found = {key: o[key] for key in ("schedule", "recompute") if key in o}
        if o.get("map") == "replicas":
            found["max_stages"] = 16384  # each of a stage counts
        if "copies" in o:
            found["copies"] = popliner.Copies(o["copies"], o.get("micro_batches", 0),
                                              device_map=devices or ())
        elif "micro_batches" in o:
            raise Unsayable("in Python micro-batches belong to copies")
        return found

    def members(self):
        """What a Request has of it."""
        o = self.options
        found = {name: o[key] for key, name in (
            ("slack", "slack_percent"), ("num_ipus", "num_ipus"), ("need", "need")) if key in o}
        if "solver" in o:
            found["method"] = {"dp": "dynamic-programming"}.get(o["solver"], o["solver"])
        # what is usual is left to the library, unless it depends on the map that is found
        if "objectives" in o or o.get("map") == "any":
            found["objectives"] = self.objectives()
        found["require"] = [f"{word}:{own}" for word, own in self.rules() if word != "layers"]
        if any(word == "layers" for word, _ in self.rules()):
            found["require"].append("layers:" + "..".join(self.layers()))
        devices = self.device_map()
        if devices is not None:
            found["device_map"] = devices
        found["mem_per_tile"] = self.limits() or None
        if min(map(self.kept, self.limits().values()), default=0) < 0:
            raise Unsayable("a reserve of more than all")
        reserve = str(o.get("reserve", 0))
        found["reserve"] = reserve if reserve.endswith("%") else int(reserve)
        found["ipu_speeds"] = {int(ipu): float(own)
                               for ipu, own in self.of_devices("speeds").items()}
        usual = o.get("bandwidth", self.told("bandwidth"))
        if usual is not None:
            found["link_bandwidth"] = as_pair(usual)
        links = {link_key(key): as_pair(own)
                 for part in (self.told("links", {}), o.get("links", {}))
                 for key, own in part.items()}
        found["ipu_links"] = links
        return found

    def python(self, split=None, how="read", **others):
        """The answer of the module; `split` is evaluated."""
        members, shape = {**self.members(), **others}, self.options.get("map")
        try:
            if self.is_profile:
                owner = self.analysis(how)
                members.update(self.pipeline())
            else:
                owner = popliner.Costs.parse(self.document, **self.pipeline())
            if split is not None:
                for key in ("require", "slack_percent", "num_ipus", "method"):
                    members.pop(key, None)
                return load(owner.evaluate(split, **members).json_text())
            if shape == "any":
                members["device_map"] = owner.order_devices(**members)
            if shape == "replicas":
                usual = self.options.get("replica_bandwidth")
                return load(owner.solve_stage_replicas(
                    bandwidth=usual and as_pair(usual), **members).json_text())
            return load(owner.solve(**members).json_text())
        except popliner.UsageError as error:
            raise Refused(str(error)) from error

    # -- in C --

    def in_c(self):
        """The words of asked_in_c.c: members of the structures of C."""
        o, names, members = self.options, self.names, self.members()
        pipeline = self.pipeline()
        if o.get("map") in ("any", "replicas"):
            raise Unsayable("the program in C only solves")
        kinds = {"schedule": popliner.Schedule, "recompute": popliner.Recompute,
                 "need": popliner.Need}
        words = [f"{key}={int(kind[str(o[key]).replace('at-', '').replace('-', '_').upper()])}"
                 for key, kind in kinds.items() if key in o]
        if "objectives" in members:
            words.append("objectives=" + ",".join(str(int(popliner.Objective[name.upper()]))
                                                  for name in members["objectives"]))
        if any(word == "layers" for word, _ in self.rules()):
            words += [f"{key}={own or 0}" for key, own in zip(("min", "max"), self.layers())]
        words += [f"method={int(popliner.Method[members['method'].replace('-', '_').upper()])}"
                  ] if "method" in members else []
        if "copies" in pipeline:
            words.append("copies=" + ":".join(map(str, pipeline["copies"][:2])))
        if "reserve" in o and self.is_profile:  # docs/options.md: all but layout
            words.append(f"effects={int(popliner.Effect.PASSING | popliner.Effect.BUFFERS)}")
        words += [f"slack={o['slack']}"] if "slack" in o else []
        if "num_ipus" in o or self.told("count"):
            words.append(f"num_ipus={self.num_ipus()}")
        for ipu, own in (members["mem_per_tile"] or {}).items():
            own = self.kept(own)
            words.append(f"memory={own}" if ipu is None else f"limit={ipu}:{own}")
        words += [f"speed={ipu}:{round(own * 10**6)}" for ipu, own in members["ipu_speeds"].items()]
        if "link_bandwidth" in members:
            words.append("link=%d:%d" % members["link_bandwidth"])
        words += ["links=%d:%d:%d:%d" % (*ends, *own) for ends, own in members["ipu_links"].items()]
        words += ["map=" + ",".join(map(str, self.device_map() or []))]
        reserve = str(members["reserve"])
        words.append(f"percent={round(float(reserve[:-1]) * 100)}" if reserve.endswith("%") else
                     f"reserve={reserve}")
        for word, own in self.rules():
            told = [":".join([str(names.index(name)), *ipu]) for name, *ipu in
                    (one.split("=") for one in own.split(",") if word != "layers")]
            words += [f"{word}={':'.join(told)}"] if told else []
        return load(run(IN_C, self.path(), *words))

    # -- for plain_solver --

    def plain(self):
        """(costs, request)."""
        o, unit = self.options, self.names.index
        if self.is_profile or self.is_graph or \
                any(isinstance(unit.get(key), list) for unit in self.document["units"]
                    for key in ("cycles", "forward", "backward")):
            raise Unsayable("plain_solver has neither profiles nor graphs nor samples")
        copies, more = None, 0
        if "copies" in o:
            rule, _, added = o["copies"].partition("+")
            copies, more = rule, int(added or 0)
            devices = self.device_map()
            micro = o.get("micro_batches")
            count = len(set(devices or ()))
            if rule == "dualpipev" and micro and micro < 2 * count:
                raise Unsayable("no paper has the order of so few")
            if rule not in plain_solver.RULES:
                numbers = [int(own) for own in rule.split(",") if own != "..."]
                copies = numbers, rule.endswith("...") or len(numbers) == 1
        rules = {word: [own.split(",") for key, own in self.rules() if key == word]
                 for word in ("cut", "no-cut", "together", "place")}
        least, most = self.layers()
        usual = o.get("bandwidth", self.told("bandwidth"))
        limits = {ipu: self.kept(own) for ipu, own in self.limits().items()}
        return plain_solver.Costs(copy.deepcopy(self.document)), plain_solver.Request(
            num_ipus=self.num_ipus(), device_map=self.device_map(), memory=limits.pop(None, None),
            memories=limits, bandwidth=usual and decimal(usual),
            speeds={int(ipu): decimal(own) for ipu, own in self.of_devices("speeds").items()},
            links={frozenset(link_key(key)): decimal(own)
                   for part in (self.told("links", {}), o.get("links", {}))
                   for key, own in part.items()},
            min_layers=int(least or 0), max_layers=int(most) if most else None,
            cut_after={unit(name) for own in rules["cut"] for name in own},
            no_cut_after={unit(name) for own in rules["no-cut"] for name in own},
            together=[(unit(a), unit(b)) for own in rules["together"]
                      for a, b in zip(own, own[1:])],
            place=[(unit(one.split("=")[0]), int(one.split("=")[1]))
                   for own in rules["place"] for one in own],
            objectives=tuple(self.objectives()), slack=decimal(o.get("slack", 0)),
            schedule=o.get("schedule", "none"), copies=copies, more_copies=more,
            micro_batches=o.get("micro_batches"), recompute=o.get("recompute", "none"),
            has_replicas=o.get("map") == "replicas",
            replica_bandwidth=o.get("replica_bandwidth") and decimal(o["replica_bandwidth"]))

    # -- smaller ones --

    def without_unit(self, at):
        document, names = copy.deepcopy(self.document), self.names
        gone = document["units"].pop(at)["name"]
        for key in ("cuts", "cut_cycles"):
            if document.get(key):
                document[key].pop(min(at, len(document[key]) - 1))
        for own in document.get("shared", []):
            own["units"] = [name for name in own["units"] if name != gone]
        document["shared"] = [own for own in document.get("shared", []) if own["units"]]
        rules = [rule for rule in self.options.get("require", [])
                 if gone not in rule.partition(":")[2].replace("=", ",").split(",")]
        shape = self.options.get("map")
        if isinstance(shape, list):
            shape = shape[:len(names) - 1]
        return self.but(document, require=rules or None, map=shape)

    def simpler(self):
        """Questions with less in them."""
        for name in self.options:
            yield self.but(**{name: None})
            if isinstance(self.options[name], (list, dict)):
                for key in range(len(self.options[name])):
                    items = list(self.options[name].items() if isinstance(self.options[name], dict)
                                 else self.options[name])
                    del items[key]
                    yield self.but(**{name: type(self.options[name])(items)})
        if "units" in self.document and len(self.document["units"]) > 1:
            for at in range(len(self.document["units"])):
                yield self.without_unit(at)
        for path in paths_of(self.document):
            if path[-1] not in ("name", "units", "format", "version") or "shared" in path:
                yield Question(changed(self.document, path, None), self.options)
        for kind, tree in (("document", self.document), ("options", self.options)):
            for path in paths_of(tree):
                value = inner(tree, path)
                smaller = {0, 1, value // 2, int(value)} - {value} if type(value) in (int, float) \
                    else ()
                for own in sorted(smaller):
                    new = changed(tree, path, own)
                    yield Question(new, self.options) if kind == "document" else \
                        Question(self.document, new)


def inner(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def paths_of(tree, path=()):
    """Where something is, from the top down."""
    keys = list(tree) if isinstance(tree, dict) else \
        range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield (*path, key)
        yield from paths_of(tree[key], (*path, key))


def changed(tree, path, value):
    """A copy with another value there, or without it."""
    tree = copy.deepcopy(tree)
    if value is None:
        del inner(tree, path[:-1])[path[-1]]
    else:
        inner(tree, path[:-1])[path[-1]] = value
    return tree


def written(number):
    """A number without an exponent."""
    return format(Decimal(str(number)), "f")


def as_pair(bandwidth):
    number = decimal(bandwidth)
    return number.numerator, number.denominator


def link_key(text):
    return tuple(sorted(int(end) for end in text.split("-")))


# ---- drawing ----

class Draw(random.Random):
    """Draws by a seed; a feature is there with a probability."""

    def has(self, probability):
        return self.random() < probability

    def time(self, is_whole):
        return self.randrange(30) if is_whole else round(self.random() * 8, self.randrange(1, 5))

    def bandwidth(self):
        return self.choice([1, 2, 3, 7, 64, 0.5, 2.5, 0.3, 12.75])

    def some(self, items, most):
        return self.sample(items, min(len(items), self.randrange(1, most + 1)))


def draw_costs(rng, most_units=7, regions=.2, variants=.3):
    """A file of costs."""
    names = [f"u{i}" for i in range(rng.choice(range(1, most_units + 1)))]
    num_regions = rng.choice([2, 3]) if rng.has(regions) else 1
    is_whole, times = rng.has(.6), rng.choice(["", "cycles", "cycles", "cycles", "passes"])

    def bytes_(most):
        return [rng.randrange(most) for _ in range(num_regions)] if num_regions > 1 and \
            rng.has(.8) else rng.randrange(most)

    units = [{"name": name} for name in names]
    has = {key: rng.has(chance) for key, chance in (
        ("memory", .95), ("stash", .6), ("inputs", .3), ("recompute", .3), ("parameters", .2),
        ("layer", .3), ("workspace", .3))}
    for unit in units:
        for key, most in (("memory", 40), ("stash", 8), ("inputs", 4), ("parameters", 30)):
            if has[key] and rng.has(.9):
                unit[key] = rng.randrange(most) if key == "parameters" else bytes_(most)
        if has["workspace"] and rng.has(.8):
            unit["workspace"] = rng.randrange(40)
            if has["stash"] and rng.has(.4):
                own = rng.randrange(unit["workspace"] + 1)
                unit["recomputed"] = [own, *[0] * (num_regions - 1)] if num_regions > 1 else own
        if times == "cycles" and rng.has(.9):
            unit["cycles"] = rng.time(is_whole)
        elif times == "passes":
            unit["forward"], unit["backward"] = rng.time(is_whole), rng.time(is_whole)
        if has["recompute"] and times == "cycles":
            unit["recompute_cycles"] = rng.time(is_whole)
        if has["layer"] and rng.has(.4):
            unit["layer"] = False
        if num_regions == 1 and has["stash"] and times == "cycles" and rng.has(variants):
            unit["variants"] = [{"name": f"v{i}", "stash": rng.randrange(6),
                                 "cycles": rng.time(is_whole)} for i in range(rng.randrange(1, 3))]
    document = {"format": "popliner-costs", "version": 1, "units": units}
    if num_regions > 1:
        document["regions"] = [{"name": f"r{i}", "capacity": rng.randrange(60, 200)}
                               if rng.has(.3) else f"r{i}" for i in range(num_regions)]
    if rng.has(.3) and len(names) > 1:
        document["shared"] = [{"units": rng.sample(names, rng.randrange(1, len(names))),
                               "memory": bytes_(20)} for _ in range(rng.randrange(1, 3))]
    if rng.has(.9):
        document["cuts"] = [rng.randrange(40) for _ in names[1:]]
    if times and rng.has(.3):
        document["cut_cycles"] = [rng.time(is_whole) for _ in names[1:]]
    if rng.has(.3):
        document["time_unit"] = "ms"
    if rng.has(.3):
        draw_devices(rng, document, names)
    return document


def draw_limit(rng, document, count):
    """A limit that some splits keep to."""
    total = sum(max(own) if isinstance(own, list) else own for own in
                (unit.get("memory", 0) for unit in document["units"]))
    return rng.randrange(1, 3 + int(total * 3 / max(1, min(count, len(document["units"])))))


def draw_devices(rng, document, names):
    count = rng.randrange(1, 5)
    has_times = .3 * Question(document, {}).has_times()
    devices = document["devices"] = {"count": count} if rng.has(.7) else {}
    if rng.has(.4):
        devices["memory"] = draw_limit(rng, document, count)
    for key, chance, value in (("memories", .3, lambda: draw_limit(rng, document, count)),
                               ("speeds", has_times, lambda: rng.choice([0.5, 2, 0.3, 1.25]))):
        if rng.has(chance):
            devices[key] = {str(ipu): value() for ipu in rng.some(range(count), count)}
    if rng.has(has_times):
        devices["bandwidth"] = rng.bandwidth()
    if rng.has(has_times) and count > 1:
        devices["links"] = {"%d-%d" % tuple(rng.sample(range(count), 2)): rng.bandwidth()}

COPIES = ["1f1b", "1f1b+1", "gpipe", "gpipe+1", "zero-bubble", "zero-bubble+1", "zb-h2",
          "zb-h2+1", "0,1,...", "1,3,...", "2"]


def draw_map(rng, question, names):
    """The shape of the pipeline."""
    o, count = question.options, rng.randrange(1, 5)
    shape = rng.choice([None, None, None, None, "list", "shared", "v", "interleaved", "any",
                        "replicas"])
    single = {"memories", "speeds", "links"} & set(question.document.get("devices", {}))
    if shape in ("any", "replicas") and question.is_profile or shape == "replicas" and (
            single or not question.has_times()) or shape == "any" and (
                {"links", "bandwidth"} & set(question.document.get("devices", {}))):
        shape = None
    if shape == "list":
        o["map"] = rng.sample(range(count), rng.randrange(1, count + 1))
    elif shape == "shared":
        o["map"] = [rng.randrange(count) for _ in range(rng.randrange(1, 6))]
    elif shape is not None:
        o["map"] = f"interleaved:{rng.randrange(1, 4)}" if shape == "interleaved" else shape
    if shape not in ("list", "shared") and (shape is not None or rng.has(.8)):
        o["num_ipus"] = count


def draw_pipeline(rng, question):
    o, shape = question.options, question.options.get("map")
    if rng.has(.5):
        if rng.has(.4):
            o["schedule"] = rng.choice(["popart", "tf-grouped", "tf-interleaved", "sequential",
                                        "inference"])
        else:
            o["copies"] = rng.choice(COPIES)
            if str(shape).startswith("interleaved:") and rng.has(.5):
                o["copies"] = rng.choice(["interleaved", "interleaved+1"])
            if shape == "v" and o.get("num_ipus", 1) > 1 and rng.has(.5):
                o["copies"] = rng.choice(plain_step.IN_V) + rng.choice(["", "+1"])
            if o["copies"].startswith("z") and (shape in ("any", "replicas")):
                o["copies"] = "1f1b"
            if rng.has(.4) or o["copies"].startswith("gpipe"):
                o["micro_batches"] = rng.randrange(1, 7)
    if rng.has(.3) and o.get("schedule") not in ("inference", "sequential"):
        ways = ["full", "standard" if question.is_profile else "full", "auto", "auto"]
        o["recompute"] = rng.choice(ways)
        if o["recompute"] == "auto" and (shape in ("any", "replicas") or
                                         "regions" in question.document or any(
                "recomputed" in unit for unit in question.document.get("units", ()))):
            o["recompute"] = "full"
        if not {"schedule", "copies"} & set(o):
            o["schedule"] = "popart"


def draw_objectives(rng, question):
    o, shape = question.options, question.options.get("map")
    names = [name for name in OBJECTIVES[:6 if question.has_limit_of_all() else 5] if
             not (name == "balance" and shape in ("any", "replicas")) and
             not (name == "cycles" and not question.has_times())]
    chosen = rng.some(names, 3)
    o["objectives"] = ",".join(chosen)
    if o.get("recompute") == "auto" and "balance" in question.objectives():
        o["objectives"] = "memory,cycles"


def draw_rules(rng, question, names):
    rules = []
    if rng.has(.25):
        rules.append(rng.choice(["layers:0..", "layers:2..", "layers:..2", "layers:..3",
                                 "layers:1..4"]))
    if rng.has(.15) and len(names) > 1:
        rules.append(f"{rng.choice(['cut', 'no-cut'])}:{','.join(rng.some(names[:-1], 2))}")
    if rng.has(.15) and len(names) > 1:
        rules.append(f"together:{','.join(rng.sample(names, 2))}")
    if rng.has(.1) and question.options.get("map") not in ("any", "replicas"):
        rules.append(f"place:{rng.choice(names)}={rng.choice(question.devices())}")
    if rules:
        question.options["require"] = rules


def draw_options(rng, question, limit):
    """Everything that may be asked together (docs/options.md); `limit` draws one."""
    o, names = question.options, question.names
    draw_map(rng, question, names)
    shape = o.get("map")
    if rng.has(.5):
        o["memory"] = limit(rng, question)
    if rng.has(.2) and shape != "replicas":
        o["memories"] = {str(ipu): limit(rng, question) for ipu in rng.some(question.devices(), 3)}
    has_times = question.has_times()
    if rng.has(.2) and shape != "replicas" and has_times:
        o["speeds"] = {str(ipu): rng.choice([0.5, 2, 0.3, 1.25, 1.5])
                       for ipu in rng.some(question.devices(), 3)}
    if rng.has(.2) and shape != "any" and has_times:
        o["bandwidth"] = rng.bandwidth()
    if rng.has(.5) and shape == "replicas":
        o["replica_bandwidth"] = rng.bandwidth()
    places = question.device_map() or question.devices()
    neighbours = [pair for pair in zip(places, places[1:]) if pair[0] != pair[1]]
    if rng.has(.2) and shape not in ("any", "replicas") and neighbours and has_times:
        o["links"] = {"%d-%d" % rng.choice(neighbours)[::rng.choice([1, -1])]: rng.bandwidth()}
    draw_pipeline(rng, question)
    if rng.has(.7):
        draw_objectives(rng, question)
    if rng.has(.2) and shape != "any":
        o["slack"] = rng.choice([10, 25, 50, 100, 12.5])
    draw_rules(rng, question, names)
    if rng.has(.1) and question.has_limit():
        o["reserve"] = rng.choice(["1", "3", "10%", "2.5%"])
    return question
