#!/usr/bin/env python3
"""The orders of passes against those that PyTorch's own module of pipeline schedules makes, run as
it is: for random numbers of devices, stages and micro-batches each order is the same, the step that
is told is the longest path through PyTorch's, and each device needs the most that it holds along
it, with and without recomputation. Left out where there is no PyTorch of 2.6 or later: as a module,
or as its files in the folder TORCH_FILES (as unpacked from a package).

    torch_orders_test.py POPLINER [SEED [CASES]]

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import glob
import importlib.util
import json
import os
import random
import subprocess
import sys
import tempfile
import types

import cases
from plain_step import longest_path


class Anything:
    """What the module of schedules imports, and does not need to make an order."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return Anything()

    def __getattr__(self, name):
        return Anything()


def find_schedules():
    """The file of the schedules; None if there is none."""
    name = "torch/distributed/pipelining/schedules.py"
    found = importlib.util.find_spec("torch")
    folders = [*([os.path.dirname(os.path.dirname(found.origin))] if found else []),
               "/usr/lib/python3/dist-packages", *glob.glob(os.path.join(os.environ.get(
                   "TORCH_FILES", "/nowhere"), "**", "dist-packages"), recursive=True)]
    return next((path for path in (os.path.join(own, name) for own in folders)
                 if os.path.exists(path)), None)


def load_schedules(path):
    """The module, with empty classes in the place of what it imports of torch."""
    def module(name):
        made = sys.modules[name] = types.ModuleType(name)
        made.__getattr__ = lambda member: type(member, (Anything,), {})
        made.__path__ = [os.path.dirname(path)] if name.endswith("pipelining") else []
        return made
    torch = module("torch")
    torch.distributed = module("torch.distributed")
    for name in ("distributed.fsdp", "profiler", "nn", "nn.modules", "nn.modules.loss",
                 "distributed.pipelining", "distributed.pipelining.microbatch",
                 "distributed.pipelining.stage", "distributed.pipelining._utils"):
        module("torch." + name)
    spec = importlib.util.spec_from_file_location("torch.distributed.pipelining.schedules", path)
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def order_of(schedules, name, devices, stages, micro):
    """Its order, one list of (pass, micro-batch, stage) a device; None if it refuses the numbers.
    Schedule1F1B has none before it runs, so it runs, and its stages write down what they do."""
    def stage(index):
        own = sys.modules["torch.distributed.pipelining.stage"]._PipelineStageBase()
        for passing in ("fwd_recv", "fwd_send", "bwd_recv", "bwd_send"):
            own.__dict__[f"get_{passing}_ops"] = lambda _: []
        done = own.__dict__["done"] = []
        own.__dict__.update(
            forward_one_chunk=lambda i, *_: done.append(("F", i, index)),
            backward_one_chunk=lambda i, **_: done.append(("B", i, index)),
            stage_index=index, group_rank=0, group_size=devices, num_stages=stages,
            is_first=index == 0, is_last=index == stages - 1, has_backward=True, device="cpu",
            submod=Anything())
        return own
    if name == "Schedule1F1B":
        ranks = [schedules.Schedule1F1B(stage(d), micro, loss_fn=None) for d in range(devices)]
        for rank in ranks:
            rank._stage_initialized = True
            rank._step_microbatches([()] * micro, [{}] * micro)
        return [rank._stage.done for rank in ranks]
    of_rank = [0, stages - 1] if name == "ScheduleZBVZeroBubble" else range(0, stages, devices)
    try:
        made = getattr(schedules, name)([stage(i) for i in of_rank], micro, loss_fn=None)
    except ValueError:
        return None
    return [[tuple(cell) for cell in map(parts_of, map(str, filter(None, made.pipeline_order[d])))]
            for d in range(devices)]


def parts_of(cell):
    kind = next(c for c in cell if c in "FBIW")
    stage, micro = cell.split(kind)
    return kind, int(micro), int(stage)


def most_held(order, sizes, is_again):
    """The most that a device holds at one moment, by the (stash, inputs) of its stages: stashes
    from the forward pass of a micro-batch to the last of its others; if all is recomputed, that of
    what was just computed, or was computed again, and the inputs of the others."""
    last = "W" if any(kind == "W" for kind, _, _ in order) else "B"
    most = inputs = stashes = 0
    for kind, _, stage in order:
        stash, own_inputs = sizes[stage]
        if is_again:
            inputs -= own_inputs * (kind in "BI")
            stashes += stash * (kind != "W")
        else:
            stashes += stash * (kind == "F")
        most = max(most, inputs + stashes)
        if is_again and kind == "F":
            stashes -= stash
            inputs += own_inputs
        stashes -= stash * (kind == last)
    return most


def step_of(lists, times, is_again):
    """The longest path, by the (forward, backward) of the stages; half of a backward pass is W
    where there are such, and the other half has what is recomputed: nothing in the last stage, if
    that holds one micro-batch."""
    last = len(times) - 1
    of_last = [it for own in lists for it in own if it[2] == last]
    is_again_last = is_again and most_held(of_last, {last: (1, 0)}, False) > 1
    has_weights = any(kind == "W" for own in lists for kind, _, _ in own)
    cost = [{"F": f, "B": (b - b // 2 if has_weights else b) +
             f * (is_again_last if stage == last else is_again), "W": b // 2}
            for stage, (f, b) in enumerate(times)]
    return longest_path([[("B" if kind == "I" else kind, m, s) for kind, m, s in own]
                         for own in lists], cost, last)


SCHEDULES = [  # of PyTorch, its stages on a device, and the options of the same here
    ("Schedule1F1B", [1], "1f1b", "interleaved:1"),
    ("ScheduleInterleaved1F1B", range(1, 6), "interleaved", "interleaved:{}"),
    ("ScheduleLoopedBFS", range(1, 5), "gpipe", "interleaved:{}"),
    ("ScheduleInterleavedZeroBubble", range(1, 5), "zero-bubble", "interleaved:{}"),
    ("ScheduleZBVZeroBubble", [2], "zero-bubble", "v")]


def check(popliner, scratch, schedules, row, rng):
    """One case; None if PyTorch refuses the numbers."""
    name, chunks, rule, device_map = row
    devices, chunks, micro = rng.randint(1, 8), rng.choice(chunks), rng.randint(1, 40)
    devices = max(devices, 2) if device_map == "v" else devices
    stages = devices * chunks
    theirs = order_of(schedules, name, devices, stages, micro)
    table, written = os.path.join(scratch, "table.csv"), os.path.join(scratch, "order.csv")
    times = [(rng.randint(0, 9), rng.randint(1, 20)) for _ in range(stages)]
    sizes = [(rng.randint(9, 30), rng.randint(0, 9)) for _ in range(stages)]
    with open(table, "w", encoding="utf-8") as file:
        file.write("name,memory,forward,backward,stash,inputs\n" + "".join(
            f"{i},0,{f},{b},{stash},{inputs}\n"
            for i, ((f, b), (stash, inputs)) in enumerate(zip(times, sizes))))
    recompute = rng.choice(["none", "full"])
    options = ["--num-ipus", str(devices), "--device-map", device_map.format(chunks), "--schedule",
               rule + "+1", "--micro-batches", str(micro), "--recompute", recompute,
               "--output", "order=" + written]
    split = ["--evaluate", ",".join(map(str, range(stages - 1)))] if stages > 1 else ["--solve"]
    done = subprocess.run([popliner, table, "-q", *split, *options, "--format", "json"],
                          capture_output=True, encoding="utf-8", check=False)
    told = f"{name} {devices} x {chunks}, {micro} micro-batches: {options}: {done.stderr}"
    assert done.returncode in (0, 1), told
    if theirs is None:
        return None
    with open(written, encoding="utf-8") as file:
        ours = [[parts_of(cell) for cell in line] for line in csv.reader(file)]
    if rule == "gpipe":  # here as in ScheduleGPipe the first micro-batch is the first one backward
        theirs = [[(kind, micro - 1 - m if kind == "B" else m, stage) for kind, m, stage in own]
                  for own in theirs]
    assert ours == theirs, told
    answer = json.loads(done.stdout)
    step = answer["totals"]["step"]["cycles"]
    assert step == step_of(theirs, times, recompute == "full"), (told, step)
    for own in answer["stages"]:
        most = most_held(theirs[own["ipu"]], sizes, recompute == "full")
        assert own["mem"]["max_tile_mem"] == most, (told, own, most)
    return step


def main():
    popliner = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 500 if cases.takes_all() else 10
    path = find_schedules()
    if path is None:
        print("Left out: there is no PyTorch, and no TORCH_FILES")
        return
    schedules = load_schedules(path)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        for row in SCHEDULES:
            had = []
            while len(had) - had.count(None) < count:
                had.append(check(popliner, scratch, schedules, row, rng))
            print(f"{row[0]} ({row[2]}): {count} orders, {had.count(None)} refused there "
                  f"(seed {seed})")


if __name__ == "__main__":
    main()
