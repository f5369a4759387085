#!/usr/bin/env python3
"""The orders of passes against those that PyTorch's own module of pipeline schedules makes, run as it
is: for random numbers of devices, stages and micro-batches each order is the same, and the step that
is told is the longest path through PyTorch's. Left out where there is no PyTorch of 2.6 or later:
as a module, or as its files in the folder TORCH_FILES (as unpacked from a package).

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


def step_of(lists, cost):
    """The longest path; `cost` has all of a backward pass, which is half of it with passes W."""
    apart = any(kind == "W" for own in lists for kind, _, _ in own)
    cost = [{"F": f, "B": b - b // 2 if apart else b, "W": b // 2} for f, b in cost]
    return longest_path([[("B" if kind == "I" else kind, m, s) for kind, m, s in own]
                         for own in lists], cost, len(cost) - 1)


SCHEDULES = [  # of PyTorch, its stages on a device, and the options of the same here
    ("Schedule1F1B", [1], "1f1b", "interleaved:1"),
    ("ScheduleInterleaved1F1B", range(2, 6), "interleaved", "interleaved:{}"),
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
    cost = [(rng.randint(0, 9), rng.randint(1, 20)) for _ in range(stages)]
    with open(table, "w", encoding="utf-8") as file:
        file.write("name,forward,backward\n" + "".join(
            f"{i},{f},{b}\n" for i, (f, b) in enumerate(cost)))
    options = ["--num-ipus", str(devices), "--device-map", device_map.format(chunks), "--schedule",
               rule, "--micro-batches", str(micro), "--output", "order=" + written]
    split = ["--evaluate", ",".join(map(str, range(stages - 1)))] if stages > 1 else ["--solve"]
    done = subprocess.run([popliner, table, "-q", *split, *options, "--format", "json"],
                          capture_output=True, encoding="utf-8", check=False)
    told = f"{name} {devices} x {chunks}, {micro} micro-batches: {options}: {done.stderr}"
    if theirs is None:
        # one stage on each device needs no rounds, which is all that PyTorch refuses
        assert (chunks == 1) != ("order of passes is unknown" in done.stderr), told
        return None
    assert done.returncode in (0, 1), told
    with open(written, encoding="utf-8") as file:
        ours = [[parts_of(cell) for cell in line] for line in csv.reader(file)]
    if rule == "gpipe":  # here as in ScheduleGPipe the first micro-batch is the first one backward
        theirs = [[(kind, micro - 1 - m if kind == "B" else m, stage) for kind, m, stage in own]
                  for own in theirs]
    assert ours == theirs, told
    step = json.loads(done.stdout)["totals"]["step"]["cycles"]
    assert step == step_of(theirs, cost), (told, step)
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
