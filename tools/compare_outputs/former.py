# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines of the 78 options that popliner had up to commit 09206fc6, in today's options."""

import re

FLAGS = set("""solve diagnose memory-totals operation-breakdown layer-breakdown memory-affinity
    interlayer-communication load-from-file strict layer-operations-only v-shape paths no-notes quiet
    verbose help version""".split())
VALUED = set("""evaluate section output emit html plot trace compare max-growth save-to-file report
    num-ipus objective slack mem-per-tile ipu-mem-per-tile ipu-speed link-bandwidth sweep pareto costs
    write-lp write-mps solver memory-model reserve min-layers max-layers cut-after no-cut-after
    together place device-map interleave schedule recompute copies micro-batches effects accumulators
    risk total-ipus batch micro-batch-size replica-bandwidth calibrate ipu layers tolerance
    layer-name-regex inputs-regex-layer-0 layer-order layer-path head-modules tail-modules format
    config threads time-limit max-memory""".split())
LETTERS = {"-q": "quiet", "-v": "verbose", "-h": "help"}
# What stands by itself: the option, and its value with {} for that of the former option.
RENAMED = {
    "section": ("output", "{}"), "html": ("output", "page={}"), "trace": ("output", "trace={}"),
    "write-lp": ("output", "lp={}"), "write-mps": ("output", "mps={}"),
    "tolerance": ("fail-on", "unexplained={}"), "strict": ("fail-on", "contradiction"),
    "ipu-mem-per-tile": ("mem-per-tile", "{}"), "link-bandwidth": ("bandwidth", "{}"),
    "replica-bandwidth": ("bandwidth", "replicas={}"), "cut-after": ("require", "cut:{}"),
    "no-cut-after": ("require", "no-cut:{}"), "together": ("require", "together:{}"),
    "place": ("require", "place:{}"), "min-layers": ("require", "layers:{}.."),
    "max-layers": ("require", "layers:..{}"), "interleave": ("device-map", "interleaved:{}"),
    "v-shape": ("device-map", "v"), "calibrate": ("compiled", "{}"),
}
WORDS = {("solver", "greedy"): "popliner", ("schedule", "training"): "popart",
         ("risk", "low"): "at-most", ("risk", "high"): "at-least"}
# What several of the former options say together: handled by joined().
JOINED = {"schedule", "copies", "effects", "accumulators", "batch", "micro-batch-size", "layer-path",
          "head-modules", "tail-modules", "layers", "layer-operations-only"}
NAME_DEVICES = ("/additive.json", "/intervals.json", "/devices.json")  # they say how many
RULES = re.compile(r"(1f1b|gpipe|zero-bubble|interleaved)(\+\d+)?$")

# Words that are others on purpose; sentences for people are left out where a field has the number.
REWORDED = [(rb"fits for certain", b"fits"), (rb"probably fits", b"likely fits"),
            (rb"beside theirs", b"besides theirs"), (rb'(?m)^ *"text": ".*"\n', b""),
            (rb'"(?:require )?(?:min-layers |layers:)(\d+)(?:\.\.)?"', rb'"layers \1"')]


def reworded(content):
    """What a build printed or wrote, in words that both have."""
    for former, today in REWORDED:
        content = re.sub(former, today, content)
    return content


def parse(step):
    """The options as (name, value), and what else there is; None if it is not understood."""
    options, others = [], []
    words = list(step)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        name = LETTERS.get(word, name[2:] if name.startswith("--") else None)
        if name is None or word == "-":
            others.append(word)
        elif name in FLAGS and not equals:
            options.append((name, None))
        elif name in VALUED and (equals or words):
            options.append((name, value if equals else words.pop(0)))
        else:
            return None
    return options, others


def joined(given):
    """Today's options for those of JOINED; `given` has the last value of each former option."""
    if "schedule" in given or "copies" in given:
        order, copies = given.get("schedule"), given.get("copies")
        order = WORDS.get(("schedule", order), order)
        is_rule = copies is not None and RULES.match(copies)
        yield "schedule", (order if copies is None else
                           copies if is_rule and order in (None, "none") else
                           f"{order or 'none'}:{copies}")
    if "effects" in given or "accumulators" in given:
        effects = given.get("effects", "passing,buffers" if "reserve" in given
                            else "layout,passing,buffers")
        effects = "layout,passing,buffers" if effects == "all" else effects
        size = given.get("accumulators", "auto")
        added = {"auto": ["accumulators"], "none": []}.get(size, [f"accumulators={size}"])
        if given.get("memory-model") == "popliner":
            added = []
        yield "effects", ",".join(([] if effects == "none" else [effects]) + added) or "none"
    if "batch" in given:
        size = given.get("micro-batch-size")
        yield "batch", given["batch"] + (f"/{size}" if size else "")
    if given.keys() & {"layer-path", "head-modules", "tail-modules"}:
        path = given.get("layer-path", "{}")
        yield "modules", ",".join(filter(None, [given.get("head-modules"), path if "{}" in path else
                                                path + ".{}", given.get("tail-modules")]))
    if "layers" in given or "layer-operations-only" in given:
        ends = re.fullmatch(r"((?:[^-\\]|\\.)*)-(.*)", given.get("layers", ""))
        layers = f"{ends[1]}..{ends[2]}" if ends else given.get("layers", "all")
        yield "layers", ("only:" if "layer-operations-only" in given else "") + layers


def renamed(name, value):
    """Today's options for one that stands by itself."""
    value = WORDS.get((name, value), value)
    if name in RENAMED:
        if name in ("cut-after", "no-cut-after"):
            value = value.replace(",", "\\,")
        yield RENAMED[name][0], RENAMED[name][1].format(value)
    elif name == "emit":
        kind, equals, path = value.partition("=")
        yield "output", ("pipeline" if kind == "json" else kind) + equals + path
    elif name == "plot":
        yield from (("output", value), ("format", "plot"))
    elif name == "sweep":
        yield value.partition("=")[::2]
    elif name == "max-growth":
        yield "fail-on", ",".join("growth" + ("." if "=" in part else "=") + part
                                  for part in value.split(","))
    elif name == "risk":
        yield "need", value
    else:
        yield name, value


def translate(step):
    """The command line in today's options; None for one that cannot be taken apart."""
    parsed = parse(step)
    if parsed is None:
        return None
    options, others = parsed
    given = dict(options)
    if given.keys() & {"help", "version"}:
        return None
    made = []
    for name, value in options:
        if name == "costs":
            others.insert(0, value)
        elif name not in JOINED and not (name == "num-ipus" and
                                         given.get("sweep", "").startswith("num-ipus=")):
            made += renamed(name, value)
    made += joined(given)
    splits = given.keys() & {"solve", "html"}
    one_split = not given.keys() & {"sweep", "pareto", "total-ipus", "compare", "report"}
    has_number = (given.keys() & {"num-ipus", "device-map", "total-ipus"} or
                  given.get("sweep", "").startswith("num-ipus=") or
                  given.get("costs", "").endswith(NAME_DEVICES))
    if splits and not has_number:  # it was the default
        made.append(("num-ipus", "16"))
    if ("solve" in given and one_split and given.get("format") in ("tsv", "csv") and
            not given.keys() & {"section", "emit", "plot", "evaluate", "diagnose"}):
        made.append(("output", "plan"))
    return [f"--{name}" if value is None else f"--{name}={value}" for name, value in made] + others
