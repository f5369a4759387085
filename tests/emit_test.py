#!/usr/bin/env python3
"""Plans for frameworks, read back as the frameworks read them: docs/emit.md.

    emit_test.py POPLINER SCHEMA DIRECTORIES...

What a plan is comes from other outputs (--output plan and layers, or the file of costs). What is
written is read by second implementations, each from the source that is named there, or run as
Python with stubs that record what is called; then every layer has to be in its stage, on its IPU.
What cannot be said has to be refused by name, and nothing written.

The full run asks for every format of every split that is refused, too, not for one of each, and
reads back at least 20 different plans of each format, drawn at random; the nightly run 60.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import argparse
import collections
import contextlib
import csv
import io
import itertools
import json
import os
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import types

import cases

FORMATS = ["pipeline", "optimum", "poptorch", "megatron", "vllm", "torch", "titan", "accelerate",
           "tensorflow", "popart", "popxl", "automodel", "bridge", "hybrid", "sglang", "tensorrt",
           "llama", "deepspeed", "paddle", "mindspore", "mindformers"]
#: A device for each stage; in any order but for MindSpore.
OWN_DEVICES = {"vllm", "torch", "sglang", "tensorrt", "llama", "deepspeed", "paddle", "mindspore"}
IN_TURN = {"megatron", "bridge", "hybrid", "mindformers"}
NUMBERED = {"optimum", "megatron", "vllm", "bridge", "sglang", "tensorrt", "llama", "mindformers"}
NEEDS_PATH = {"poptorch", "torch", "titan", "accelerate", "automodel", "mindspore"}
NEEDS_LAYERS = {"vllm", "hybrid", "sglang", "tensorrt", "mindformers"}
SYMBOLS = "MG*D+-ECHW"
HEAD_MODULES = ["model.embed_tokens", "model.\"quoted\""]
TAIL_MODULES = ["model.norm", "lm_head"]
PATH = "model.layers.{}"
TEST_ALL = cases.takes_all()


class Failure(Exception):
    pass


def require(is_right, *what):
    if not is_right:
        raise Failure(" ".join(str(part) for part in what))


# ---- what a plan is ----

class Plan:
    """Stages as (IPU, layers, has head, has tail); whether the chain has something else."""

    def __init__(self, stages, replicas=1, micro_batches=None, has_stray=False):
        self.stages = stages
        self.replicas = replicas
        self.micro_batches = micro_batches
        self.has_stray = has_stray
        self.ipus = [stage[0] for stage in stages]
        self.layers = [layer for stage in stages for layer in stage[1]]
        self.stage_of = {layer: i for i, stage in enumerate(stages) for layer in stage[1]}
        self.num_ipus = len(set(self.ipus))
        self.devices = list(dict.fromkeys(self.ipus))  # by rank
        self.ranks = [self.devices.index(ipu) for ipu in self.ipus]
        self.rows = []  # (stage, "head", "inner" or "tail") of each unit but one without position
        self.is_unplaced = False  # there is such a unit
        self.has_head_bytes = stages[0][2]  # units before the layers need memory
        self.mtp = [0] * len(stages)  # units that predict further tokens, by stage
        self.ends = [stage[3] for stage in stages]  # units after the layers but those
        self.recompute = None  # what is known to be kept and recomputed by all stages: a name

    def __str__(self):
        return f"{self.stages}, {self.replicas} replicas"


def plan_of(stages, kinds, **more):
    """From (IPU, names of units), and the kind of each unit."""
    names = [unit for _, units in stages for unit in units]
    layers = [i for i, unit in enumerate(names) if kinds[unit] == "layer"]
    last, place, made = max(layers, default=-1), 0, []
    has_stray = False
    mtp, ends, rows = [], [], []
    for ipu, units in stages:
        own, has_head, has_tail = [], False, False
        mtp.append(0)
        ends.append(False)
        for unit in units:
            is_inner = kinds[unit] == "layer" or (kinds[unit] == "other" and layers and
                                                  layers[0] < place < last)
            is_head = kinds[unit] == "head" or (kinds[unit] == "other" and
                                                (not layers or place < layers[0]))
            if kinds[unit] != "unlayered":
                rows.append((len(made), "inner" if is_inner else "head" if is_head else "tail"))
            if kinds[unit] == "layer":
                own.append(unit)
            elif kinds[unit] == "unlayered":
                has_head = True
            elif kinds[unit] != "other":
                has_head = has_head or kinds[unit] == "head"
                has_tail = has_tail or kinds[unit] == "tail"
                ends[-1] = has_tail
            elif not layers or place < layers[0]:
                has_head = True
            elif place > last:
                has_tail = True
                is_mtp = re.fullmatch(r"mtp(\..*)?", unit) is not None
                mtp[-1] += is_mtp
                ends[-1] = ends[-1] or not is_mtp
            else:
                has_stray = True
            place += 1
        made.append((ipu, own, has_head, has_tail))
    if "unlayered" in kinds.values():
        ipu, own, has_head, _ = made[-1]
        made[-1] = (ipu, own, has_head, True)
        ends[-1] = True
    plan = Plan(made, has_stray=has_stray, **more)
    plan.mtp, plan.ends = mtp, ends
    plan.rows, plan.is_unplaced = rows, "unlayered" in kinds.values()
    return plan


def refused_devices(plan, name):
    """The same for the devices alone."""
    ipus, count = plan.ipus, len(plan.ipus)
    width = max(ipus) + 1
    ranks = plan.ranks
    own = list(dict.fromkeys(ipus))
    in_turn = ipus == own * (count // len(own)) and (len(own) > 1 or count == 1)
    there_and_back = ipus == own + own[::-1] and len(own) > 1
    if name == "optimum":
        first = ipus[:-1] if count > 2 and ipus[-1] == 0 and not plan.stages[-1][1] else ipus
        return None if ipus[0] == 0 and sorted(set(first)) == first else "needs ascending IPUs"
    if name in OWN_DEVICES and len(own) != count:
        return "needs an IPU for each stage"
    if name in IN_TURN and not in_turn:
        return "in turn"
    if name in ("titan", "automodel") and not (in_turn or there_and_back):
        return "in turn"
    if name == "poptorch" and (ipus[0] != 0 or plan.num_ipus != width):
        return "needs stage 0 on IPU 0"
    if name in ("mindspore", "mindformers") and ranks != ipus:
        return "needs stage k on IPU k"
    if name in ("poptorch", "tensorflow", "popart", "popxl") and plan.num_ipus < 2:
        return "two IPUs or more"
    return None


def are_numbered(layers):
    """Whether they are counted from 0 or 1 after one prefix."""
    prefix = layers[0].rstrip("0123456789")
    numbers = [f"{prefix}{i}" for i in range(len(layers) + 1)]
    return layers in (numbers[:-1], numbers[1:])


def refused(plan, name, path, head, tail, has_map):
    """Why a format cannot say a plan, by the table of docs/emit.md; None if it can. A map that was
    given is looked at before there is a plan."""
    if name == "pipeline":
        return None
    if name in NEEDS_PATH and path is None and not (head or tail):
        return "--modules"
    if name in ("titan", "automodel") and not (head and tail):
        return "--modules"
    if has_map and refused_devices(plan, name) is not None:
        return refused_devices(plan, name)
    if not plan.layers:
        return "no layer"
    if name in NUMBERED:
        stacks = 2 if name == "optimum" else 1  # an encoder's layers, then those of a decoder
        if not are_numbered(plan.layers) and not (stacks == 2 and any(
                are_numbered(plan.layers[:i]) and are_numbered(plan.layers[i:])
                for i in range(1, len(plan.layers)))):
            return "counts layers"
    if name in ("deepspeed", "paddle"):
        return refused_rows(plan, head, tail) or refused_devices(plan, name)
    if plan.has_stray:
        return "between two layers"
    tails = plan.ends if name in ("megatron", "bridge") else [stage[3] for stage in plan.stages]
    if any(stage[2] for stage in plan.stages[1:]) or any(tails[:-1]):
        return "layers is cut ("
    if name in NEEDS_LAYERS and any(not stage[1] for stage in plan.stages):
        return ", no layer;"
    return (refused_devices(plan, name) or refused_mtp(plan, name)
            or refused_ends(plan, name, path, head, tail))


def refused_rows(plan, head, tail):
    """The same for a cut between rows before or after the layers, if these are no modules."""
    before = [stage for stage, part in plan.rows if part == "head"]
    after = [stage for stage, part in plan.rows if part == "tail"]
    last = max(stage for stage, part in plan.rows if part == "inner")
    starts = [stage for i, stage in enumerate(after) if stage != ([last] + after)[i]]
    if any(before) and head and len(head) != len(before):
        return "rows before the layers"
    if tail and len(tail) != len(after) and any(stage != after[0] for stage in starts):
        return "rows after the layers"
    return None


def refused_mtp(plan, name):
    """The same for layers that predict further tokens, and symbols of layers."""
    if name == "hybrid" and any(layer[-1] not in SYMBOLS for layer in plan.layers):
        return "does not end with its symbol"
    if name == "hybrid" and any(plan.mtp):
        return "the pattern of MTP layers"
    if name in ("megatron", "bridge") and (
            sum(count > 0 for count in plan.mtp) > 1 or any(plan.mtp[:-plan.num_ipus])):
        return "MTP layers need one stage"
    return None


def refused_ends(plan, name, path, head, tail):
    """The same for what a stage without a layer needs."""
    count = len(plan.stages)
    if name in ("torch", "poptorch", "accelerate") and count > 1 and not plan.stages[-1][1] and \
            not tail and (name != "accelerate" or plan.num_ipus == count):
        return "--modules"
    if name == "tensorflow" and path is not None:
        if not plan.stages[0][1] and not head:
            return "--modules"
        if not plan.stages[-1][1] and not tail:
            return "--modules"
    return None


# ---- reading back: each gives the stage of every layer, and the IPU of every stage ----

def path_of(layer, path):
    return layer if path is None else path.replace("{}", layer, 1)


def on_devices(asked, name, text, ranks):
    """The devices of ranks, by the text or a warning about it."""
    found = (re.search(r"CUDA_VISIBLE_DEVICES(?:=|\"\] = \")([\d,]+)", text) or
             re.search(rf" {name}: Set CUDA_VISIBLE_DEVICES=([\d,]+),", asked.warnings))
    devices = None if found is None else found[1].split(",")
    return [rank if devices is None else int(devices[rank]) for rank in ranks]


def expect(plan, stage_of, ipus):
    require(stage_of == plan.stage_of, "stages", stage_of, "of", plan)
    require(ipus == plan.ipus, "IPUs", ipus, "of", plan)


def read_optimum(text, plan, _):
    """optimum/graphcore/ipu_configuration.py: IPUConfig, its validators and
    _validate_ipu_config; modeling_utils.py: get_layer_ipu, _expand_layers_per_ipu_wildcard."""
    config = json.loads(text)
    require(set(config) <= {"ipus_per_replica", "layers_per_ipu", "replication_factor",
                            "gradient_accumulation_steps"}, "keys", config)
    per_ipu = config["layers_per_ipu"]
    require(all(type(count) is int and count >= 0 for count in per_ipu), per_ipu)
    require(len(per_ipu) == config["ipus_per_replica"], config)
    require(sum(per_ipu) == len(plan.layers), config)
    ipu_of = [ipu for ipu, count in enumerate(per_ipu) for _ in range(count)]
    require(ipu_of == [plan.ipus[plan.stage_of[layer]] for layer in plan.layers], per_ipu)
    require(len(per_ipu) == max(plan.ipus) + 1, per_ipu)
    require(config.get("replication_factor", 1) == plan.replicas, config)
    require(config.get("gradient_accumulation_steps") == plan.micro_batches, config)


def read_counts(text, plan, asked, variable):
    given = dict(word.split("=") for word in text.rstrip("\n").split(" "))
    value = given.pop(variable)
    require(set(given) <= {"CUDA_VISIBLE_DEVICES"} and text.count("\n") == 1, text)
    partitions = [int(count) for count in value.split(",")]
    pp_size = len(plan.stages)
    require(len(partitions) == pp_size, text)
    require(sum(partitions) == len(plan.layers), text)
    stage_of = {}
    for rank in range(pp_size):
        start = sum(partitions[:rank])
        for layer in plan.layers[start:start + partitions[rank]]:
            stage_of[layer] = rank
    expect(plan, stage_of, on_devices(asked, "", text, range(pp_size)))


def read_vllm(text, plan, asked):
    """vllm/distributed/utils.py: get_pp_indices, for each rank."""
    read_counts(text, plan, asked, "VLLM_PP_LAYER_PARTITION")


def read_sglang(text, plan, asked):
    """sglang/srt/distributed/utils.py: get_pp_indices."""
    read_counts(text, plan, asked, "SGLANG_PP_LAYER_PARTITION")


def read_tensorrt(text, plan, asked):
    """tensorrt_llm/mapping.py: MappingBase.pp_layers, with the arguments of LLM."""
    given = run_python(text, {"os": stub("os", environ={})})["pipeline"]
    require(set(given) == {"pipeline_parallel_size", "pp_partition"}, given)
    partition = given["pp_partition"]
    require(len(partition) == given["pipeline_parallel_size"], given)
    require(sum(partition) == len(plan.layers), given)
    starts = list(itertools.accumulate(partition, initial=0))
    expect(plan, {layer: next(rank for rank in range(len(partition)) if starts[rank + 1] > i)
                  for i, layer in enumerate(plan.layers)},
           on_devices(asked, "", text, range(len(partition))))


def as_float(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def read_llama(text, plan, asked):
    """llama.cpp, src/llama-model.cpp: load_tensors, in float32: cumulated shares, and the first
    device whose share is above that of layers before; the output is layer n."""
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for option in ("-dev", "-ngl", "-sm", "-ts"):
        parser.add_argument(option)
    given = parser.parse_args(shlex.split(text))
    require(given.ngl == "all" and given.sm == "layer", text)
    devices = given.dev.split(",")
    require(all(re.fullmatch(r"CUDA\d+", device) for device in devices), text)
    require(("keeps the embedding on the CPU" in asked.warnings) == plan.has_head_bytes, text)
    shares, total = [], 0.0
    for share in given.ts.split(","):
        total = as_float(total + float(share))
        shares.append(total)
    shares = [as_float(share / total) for share in shares]
    num_layers = len(plan.layers) + sum(plan.mtp)

    def device(i):
        place = as_float(i / (num_layers + 1))
        return next(k for k, share in enumerate(shares) if share > place)

    expect(plan, {layer: device(i) for i, layer in enumerate(plan.layers)},
           [int(name[len("CUDA"):]) for name in devices])
    require(device(num_layers) == len(devices) - 1, "the output", text)
    require(all(device(i) == len(devices) - 1 for i in range(len(plan.layers), num_layers)), text)


def read_mindformers(text, plan, _):
    """mindformers/models/utils.py: LayerSetting with offset and recompute, and _check_inputs; one
    row for each chunk of a stage."""
    found = re.fullmatch(
        r"parallel_config:\n  pipeline_stage: (\d+)\n(?:  micro_batch_num: (\d+)\n)?"
        r"(parallel:\n  pipeline_config:\n    pipeline_interleave: true\n"
        r"    pipeline_scheduler: 1f1b\n)?(?:recompute_config:\n  recompute: (.*)\n)?"
        r"model:\n  model_config:\n(?:    pp_interleave_num: (\d+)\n)?    offset: (.*)\n",
        re.sub(r"(?m)^#.*\n|^\n", "", text))
    require(found is not None, text)
    pp, chunks, num_layers = int(found[1]), int(found[5] or 1), len(plan.layers)
    require(found[2] == (None if plan.micro_batches is None else str(plan.micro_batches)), text)
    require((found[3] is None) == (chunks == 1), text)
    require(found[4] == (None if plan.recompute is None else
                         "true" if plan.recompute == "full" else "false"), text)
    rows = json.loads(found[6]) if chunks > 1 else [json.loads(found[6])]
    offset = [more for row in rows for more in row]
    require(len(rows) == chunks and all(len(row) == pp for row in rows), text)
    require(sum(offset) == num_layers % (pp * chunks), text)
    ends = list(itertools.accumulate(num_layers // (pp * chunks) + more for more in offset))
    expect(plan, {layer: next(k for k, end in enumerate(ends) if end > i)
                  for i, layer in enumerate(plan.layers)}, list(range(pp)) * chunks)


def num_modules(plan, asked):
    """How many modules are before and after the layers, by docs/emit.md."""
    rows = [sum(part == own for _, part in plan.rows) + (plan.is_unplaced and own != "inner")
            for own in ("head", "inner", "tail")]
    return [(rows[0], len(asked.head) or rows[0]), (rows[1], rows[1]),
            (rows[2], len(asked.tail) or rows[2])]


def expect_parts(asked, name, text, plan, parts):
    """The stages by the first module of each: every row is a module, or all rows of an end are
    those that are named."""
    sizes = dict(zip(("head", "inner", "tail"), num_modules(plan, asked)))
    starts = dict(zip(sizes, itertools.accumulate((size for _, size in sizes.values()),
                                                  initial=0)))
    require(parts[-1] == sum(size for _, size in sizes.values()), parts)
    counts = collections.Counter()
    for stage, part in plan.rows:
        place = starts[part] + (counts[part] if sizes[part][0] == sizes[part][1] else 0)
        counts[part] += 1
        own = next(k for k in range(len(parts) - 1) if parts[k + 1] > place)
        require(own == stage, part, "of stage", stage, "in", own, parts)
    require(on_devices(asked, name, text, range(len(parts) - 1)) == plan.ipus, text)


def read_deepspeed(text, plan, asked):
    """deepspeed/runtime/pipe/module.py: PipelineModule, whose constructor sets stage_id, calls
    _partition_layers(method=…) and builds the layers between the bounds."""
    class PipelineModule:
        def __init__(self, stage_id):
            self.stage_id = stage_id
            self._partition_layers(method="parameters")

        def _set_bounds(self, start=None, stop=None):
            self._local_start, self._local_stop = start, stop

    names = run_python(text, {"deepspeed": stub("deepspeed"), "deepspeed.pipe":
                              stub("deepspeed.pipe", PipelineModule=PipelineModule)})
    made = [names["StagedModule"](stage) for stage in range(names["num_stages"])]
    # pylint: disable=protected-access
    require(all(one._local_stop == other._local_start for one, other in zip(made, made[1:])), text)
    expect_parts(asked, "deepspeed", text, plan,
                 [module._local_start for module in made] + [made[-1]._local_stop])
    require(all(module.parts == made[0].parts for module in made), text)


def read_paddle(text, plan, asked):
    """paddle/…/pp_layers.py: SegmentLayers.do_segment of a list."""
    given = run_python(text, {})["pipeline"]
    parts = given["seg_method"]
    require(set(given) == {"num_stages", "seg_method"}, given)
    require(parts[0] == 0 and all(type(part) is int for part in parts), parts)
    require(len(parts) == given["num_stages"] + 1 and parts == sorted(parts), given)
    require(parts[-1] >= given["num_stages"], given)
    expect_parts(asked, "paddle", text, plan, parts)


def read_mindspore(text, plan, asked):
    """mindspore/parallel/nn: PipelineCell sets the stage of each cell whose name is a key, and
    raises KeyError if a key is left over."""
    names = run_python(text, {})
    config = dict(names["stage_config"])
    require(names.get("micro_size") == plan.micro_batches, text)
    stages = {}
    for cell in ["", "backbone", *modules_of(plan, asked), "other"]:
        if cell in config:
            stages[cell] = config.pop(cell)
    require(not config, "KeyError", config)
    expect(plan, {layer: stages[path_of(layer, asked.path)] for layer in plan.layers},
           list(range(len(plan.stages))))
    require(all(stages[cell] == 0 for cell in asked.head), stages)
    require(all(stages[cell] == len(plan.stages) - 1 for cell in asked.tail), stages)


def expect_layout(asked, name, text, plan, layout, size):
    """megatron/core/transformer/pipeline_parallel_layer_layout.py: parse_str_to_list, the
    constructor, validate_layer_layout and get_layer_id_list of PipelineParallelLayerLayout."""
    layout = layout.replace(",", "")
    for pattern in (r"\(([^)]+)\)\*(\d+)", r"(.)\*(\d+)"):
        layout = re.sub(pattern, lambda found: found.group(1) * int(found.group(2)), layout)
    chunks = layout.split("|")
    require(set(layout) <= set("EtmL|"), layout)
    require(len(chunks) % size == 0 and (size > 1 or len(chunks) == 1), layout, size)
    flat = "".join(chunks)
    require(flat[0] == "E" and flat[-1] == "L" and flat.count("E") == flat.count("L") == 1, layout)
    require(flat.count("t") == len(plan.layers), layout)
    require(flat.count("m") == sum(plan.mtp) and "t" not in flat[len(flat) - 1 - sum(plan.mtp):],
            layout)
    require(sum("m" in chunk for chunk in chunks) == (sum(plan.mtp) > 0), layout)
    require(not any("m" in chunk for chunk in chunks[:len(chunks) - size]), layout)
    require([chunk.count("m") for chunk in chunks] == plan.mtp, layout, plan.mtp)
    ipus, stage_of = [None] * len(chunks), {}
    for rank in range(size):
        for vpp in range(len(chunks) // size):
            own = chunks[vpp * size + rank]
            offset = 0
            for earlier in range(vpp + 1):
                for other in range(size if earlier < vpp else rank):
                    offset += chunks[earlier * size + other].count("t")
            ipus[vpp * size + rank] = rank
            for layer in plan.layers[offset:offset + own.count("t")]:
                stage_of[layer] = vpp * size + rank
    expect(plan, stage_of, on_devices(asked, name, text, ipus))


def expect_group(text, plan, group, size, num_stages):
    """megatron/core/pipeline_parallel/schedules.py: with virtual stages, the micro-batches that
    are left of groups are none, or as many as there are ranks; a group is by default as many."""
    left = [(plan.micro_batches or 0) % it for it in range(size, (group or size) + 1)]
    fits = [it == 0 or it >= size for it in left]
    if num_stages == size or (plan.micro_batches or 0) < size:
        require(group is None, text)
    else:
        require(fits == [False] * (len(fits) - 1) + [True], text, left)


def read_megatron(text, plan, asked):
    """megatron/training/arguments.py, and the layout."""
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--pipeline-model-parallel-size", type=int)
    parser.add_argument("--pipeline-model-parallel-layout", type=str)
    parser.add_argument("--mtp-num-layers", type=int, default=0)
    parser.add_argument("--microbatch-group-size-per-virtual-pipeline-stage", type=int,
                        dest="group")
    given = parser.parse_args(shlex.split(text))
    require(given.mtp_num_layers == sum(plan.mtp), text)
    expect_group(text, plan, given.group, given.pipeline_model_parallel_size,
                 given.pipeline_model_parallel_layout.count("|") + 1)
    expect_layout(asked, "megatron", text, plan, given.pipeline_model_parallel_layout,
                  given.pipeline_model_parallel_size)


def read_bridge(text, plan, asked):
    """megatron/bridge: fields of the model's configuration, whose virtual degree must agree with
    the layout."""
    model = types.SimpleNamespace(virtual_pipeline_model_parallel_size=1, mtp_num_layers=0,
                                  microbatch_group_size_per_vp_stage=None)
    run_python(text, {}, cfg=types.SimpleNamespace(model=model))
    require(set(vars(model)) == {"virtual_pipeline_model_parallel_size", "mtp_num_layers",
                                 "microbatch_group_size_per_vp_stage",
                                 "pipeline_model_parallel_size",
                                 "pipeline_model_parallel_layout"}, vars(model))
    size, layout = model.pipeline_model_parallel_size, model.pipeline_model_parallel_layout
    require(model.mtp_num_layers == sum(plan.mtp), vars(model))
    require((layout.count("|") + 1) == size * model.virtual_pipeline_model_parallel_size, layout)
    expect_group(text, plan, model.microbatch_group_size_per_vp_stage, size, layout.count("|") + 1)
    expect_layout(asked, "bridge", text, plan, layout, size)


def read_hybrid(text, plan, asked):
    """megatron/core/models/hybrid/hybrid_layer_allocation.py: symbols, cut by |; segment
    v * size + rank is of that rank."""
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--pipeline-model-parallel-size", type=int)
    parser.add_argument("--hybrid-layer-pattern", type=str)
    parser.add_argument("--microbatch-group-size-per-virtual-pipeline-stage", type=int,
                        dest="group")
    given = parser.parse_args(shlex.split(text))
    segments = given.hybrid_layer_pattern.split("|")
    size = given.pipeline_model_parallel_size
    expect_group(text, plan, given.group, size, len(segments))
    require(len(segments) % size == 0, text)
    require(set("".join(segments)) <= set(SYMBOLS), text)
    require([layer[-1] for layer in plan.layers] == list("".join(segments)), text)
    stages = [i for i, segment in enumerate(segments) for _ in segment]
    expect(plan, dict(zip(plan.layers, stages)),
           on_devices(asked, "hybrid", text, [i % size for i in range(len(segments))]))


def rotary_of(asked):
    """The module of positions, which stands next to the list of layers."""
    named = [name for name in asked.head + asked.tail if name.endswith("rotary_emb")]
    before = (asked.path or "{}").split("{}")[0].split(".")
    return named[0] if named else ".".join(before[:-2] + ["rotary_emb"])


def read_automodel(text, plan, asked):
    """nemo_automodel/components/distributed/pipelining/functional.py: _process_module keeps what a
    part names, at any depth; stages of loop and v schedules; modules that all stages need."""
    names = run_python(text, {})
    parts, degree = names["module_fqns_per_model_part"], names["pp_size"]
    everywhere = rotary_of(asked)
    require(all(part[-1] == everywhere for part in parts), parts)
    parts = [part[:-1] for part in parts]
    expect(plan, *stages_of_parts(asked, "automodel", text, plan, parts, degree))
    require([module for part in parts for module in part] ==
            [module for module in modules_of(plan, asked) if module != everywhere], parts)


def read_titan(text, plan, asked):
    """torchtitan/config/configs.py: ParallelismConfig, which takes keywords alone;
    distributed/pipeline_parallel.py: _split_module, with the modules of each part, and the ranks of
    loop and v schedules."""
    fields = {"pipeline_parallel_degree", "data_parallel_replicate_degree",
              "module_fqns_per_model_part"}

    def parallelism_config(**members):
        require(set(members) <= fields, "unknown fields", members)
        return members

    names = run_python(text, {"torchtitan": stub("torchtitan"), "torchtitan.config":
                              stub("torchtitan.config", ParallelismConfig=parallelism_config)})
    config = names["parallelism"]
    parts, degree = config["module_fqns_per_model_part"], config["pipeline_parallel_degree"]
    require(config.get("data_parallel_replicate_degree", 1) == plan.replicas, config)
    expect(plan, *stages_of_parts(asked, "titan", text, plan, parts, degree))
    # nothing twice, nothing left out, all in the order in which it runs
    require([module for part in parts for module in part] == modules_of(plan, asked), parts)
    require(parts[0][:len(asked.head)] == asked.head, parts[0])
    require(parts[-1][len(parts[-1]) - len(asked.tail):] == asked.tail, parts[-1])


def stages_of_parts(asked, name, text, plan, parts, degree):
    """The stage of each layer, and the rank of each part in schedules of a loop and a v."""
    num_stages = len(parts)
    require(num_stages % degree == 0, "stages", num_stages, degree)
    style = "v" if plan.ranks != [i % degree for i in range(num_stages)] else "loop"
    ipus = [None] * num_stages
    for rank in range(degree):
        own = [rank + i * degree for i in range(num_stages // degree)]
        if style == "v":
            require(num_stages // degree == 2, "a v of", num_stages, "stages")
            own = list(zip(range(degree), range(num_stages - 1, degree - 1, -1)))[rank]
        for stage in own:
            ipus[stage] = rank
    layers = {path_of(layer, asked.path): layer for layer in plan.layers}
    stage_of = {}
    for stage, modules in enumerate(parts):
        for module in modules:
            if module in layers:
                stage_of[layers[module]] = stage
    return stage_of, on_devices(asked, name, text, ipus)


def modules_of(plan, asked):
    return asked.head + [path_of(layer, asked.path) for layer in plan.layers] + asked.tail


def run_python(text, modules, **names):
    """Runs a text with these modules in the place of installed ones; gives its names."""
    code = compile(text, "emitted", "exec")
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        exec(code, names)  # pylint: disable=exec-used
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return names


def stub(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    return module


def stages_of_beginnings(plan, asked, beginnings):
    """Runs all modules in order: a new stage begins with each of these. Where it has no layer, the
    stage of a head or tail is known, too."""
    stage, stage_of, of_module = 0, {}, {}
    layers = {path_of(layer, asked.path): layer for layer in plan.layers}
    for module in modules_of(plan, asked):
        if module in beginnings:
            stage += 1
        of_module[module] = stage
        if module in layers:
            stage_of[layers[module]] = stage
    require(set(beginnings) <= set(of_module), "unknown modules", beginnings)
    require(all(of_module[module] == 0 for module in asked.head), "head", of_module)
    require(all(of_module[module] == len(plan.stages) - 1 for module in asked.tail), of_module)
    return stage_of, stage + 1


def read_torch(text, plan, asked):
    """torch/distributed/pipelining/_IR.py: SplitPoint, annotate_split_points: a pipe_split before
    the forward of each module with BEGINNING."""
    class SplitPoint:
        BEGINNING = object()
        END = object()

    pipelining = stub("torch.distributed.pipelining", SplitPoint=SplitPoint)
    names = run_python(text, {"torch": stub("torch"),
                              "torch.distributed": stub("torch.distributed"),
                              "torch.distributed.pipelining": pipelining})
    spec = names["split_spec"]
    require(all(point is SplitPoint.BEGINNING for point in spec.values()), spec)
    stage_of, num_stages = stages_of_beginnings(plan, asked, spec)
    expect(plan, stage_of, on_devices(asked, "torch", text, range(num_stages)))


def read_accelerate(text, plan, asked):
    """accelerate/inference.py: build_pipeline makes a split_spec of split_points, with BEGINNING;
    process k has stage k. dispatch_model: each module on the device of its name."""
    names = run_python(text, {})
    device_map = names["device_map"]
    if plan.num_ipus == len(plan.stages):
        points = names["split_points"]
        require(len(set(points)) == len(points), points)
        stage_of, num_stages = stages_of_beginnings(plan, asked, points)
        expect(plan, stage_of, on_devices(asked, "", text, range(num_stages)))
    rotary = rotary_of(asked)
    require(device_map[rotary] in (plan.ipus[0], plan.ipus[-1]), device_map)
    require([name for name in device_map if name != rotary] ==
            [name for name in modules_of(plan, asked) if name != rotary], device_map)
    for layer in plan.layers:
        require(device_map[path_of(layer, asked.path)] == plan.ipus[plan.stage_of[layer]],
                device_map)
    require(all(device_map[module] == plan.ipus[0] for module in asked.head), device_map)
    require(all(device_map[module] == plan.ipus[-1] for module in asked.tail), device_map)


def reserved(count):
    """popart_compiler's roundUpNumIPUs in poptorch."""
    return next(2 ** i for i in itertools.count() if 2 ** i >= count) if count < 64 else \
        (count + 63) // 64 * 64


def read_poptorch(text, plan, asked):
    """poptorch/ops.py: BeginBlock, in place, once for a module; options.py: _DefaultStageManager
    gives blocks that were not seen before the next stage, from 1 on, with AutoIncrement."""
    calls, blocks = [], {}

    class AutoStage:
        AutoIncrement = "AutoIncrement"
        SameAsIpu = "SameAsIpu"

    class Options:
        def __init__(self):
            self.Training = types.SimpleNamespace(
                gradientAccumulation=lambda count: calls.append(("accumulation", count)))

        def setExecutionStrategy(self, strategy):
            calls.append(("strategy", strategy))

        def autoRoundNumIPUs(self, does):
            calls.append(("round", does))

        def replicationFactor(self, count):
            calls.append(("replicas", count))

    class Model:
        def get_submodule(self, name):
            require(name in modules_of(plan, asked), "no module", name)
            return name

    def begin_block(module, user_id=None, ipu_id=None):
        require(module not in blocks, "already in a block", module)
        blocks[module] = (user_id, ipu_id)
        return module

    poptorch = stub("poptorch", Options=Options, AutoStage=AutoStage, BeginBlock=begin_block,
                    PipelinedExecution=lambda *stages: ("pipelined", stages))
    run_python(text, {"poptorch": poptorch}, model=Model())
    told = dict(calls)
    require(len(told) == len(calls), calls)
    require(told.pop("strategy") == ("pipelined", ("AutoIncrement",)), calls)
    total = plan.num_ipus * plan.replicas
    require(told.pop("round", False) == (reserved(total) != total), calls, total)
    require(told.pop("replicas", 1) == plan.replicas, calls)
    require(told.pop("accumulation", None) == plan.micro_batches, calls)
    require(("rounds %d IPUs up to %d" % (total, reserved(total)) in text) ==
            (reserved(total) != total), "warning", text)
    seen, stage, ipu, ipus = {}, 0, 0, [0]
    layers = {path_of(layer, asked.path): layer for layer in plan.layers}
    stage_of = {}
    for module in modules_of(plan, asked):
        if module in blocks:
            user_id, ipu = blocks[module]
            if user_id not in seen:
                seen[user_id] = len(seen) + 1
                ipus.append(ipu)
            stage = seen[user_id]
        if module in layers:
            stage_of[layers[module]] = stage
        require(module not in asked.head or stage == 0, "head in stage", stage)
        require(module not in asked.tail or stage == len(plan.stages) - 1, "tail in stage", stage)
    expect(plan, stage_of, ipus)


def read_tensorflow(text, plan, asked):
    """keras/engine/sequential.py of Graphcore: _validate_pipeline_stage_assignment;
    keras/ipu/extensions/pipeline_stage_assignment.py: those of nested models, without `layer`;
    tensorflow/python/ipu/ops/pipelining_ops.py: the checks of pipeline."""
    if asked.path is None:
        names = run_python(text, {})
        stage_of = {layer: i for i, own in enumerate(names["layers_of_stage"]) for layer in own}
        require([layer for own in names["layers_of_stage"] for layer in own] == plan.layers, text)
        mapping = names["device_mapping"]
        require(len(names["layers_of_stage"]) == len(mapping) >= 2, text)
        expect(plan, stage_of, mapping)
        require(names.get("gradient_accumulation_count") == plan.micro_batches, text)
        return

    class Model:
        """With a Keras layer for each module; some of them within nested models: every third one
        is a nested model by itself, whose own layers no one names, the next one within a model that
        no one names."""

        def __init__(self):
            self.leaves = []
            self.assignments = [self.assignment(i, module)
                                for i, module in enumerate(modules_of(plan, asked))]
            self.options = None

        def assignment(self, i, module):
            def nested(name, inner):
                return types.SimpleNamespace(nested_model=types.SimpleNamespace(name=name),
                                             pipeline_stage_assignments=inner)

            def leaf(name):
                made = types.SimpleNamespace(layer=types.SimpleNamespace(name=name),
                                             module=module, pipeline_stage=None)
                self.leaves.append(made)
                return made
            if i % 3 == 1:
                return nested(module, [leaf("inner"), nested("deeper", [leaf("inner_2")])])
            return nested(f"wrapper {i}", [leaf(module)]) if i % 3 == 2 else leaf(module)

        def get_pipeline_stage_assignment(self):
            return self.assignments

        def set_pipeline_stage_assignment(self, assignments):
            require(assignments is self.assignments, "other assignments")
            previous = -1
            for leaf in self.leaves:
                require(leaf.pipeline_stage in ((0,) if previous < 0 else (previous, previous + 1)),
                        "stage", leaf.pipeline_stage, "after", previous)
                previous = leaf.pipeline_stage

        def set_pipelining_options(self, gradient_accumulation_steps_per_replica=None,
                                   device_mapping=None):
            self.options = (gradient_accumulation_steps_per_replica, device_mapping)

    model = Model()
    names = run_python(text, {}, model=model)
    count, mapping = model.options
    require(count == plan.micro_batches, model.options)
    require(names.get("num_ipus", max(plan.ipus) + 1) == (max(plan.ipus) + 1) * plan.replicas, text)
    layers = {path_of(layer, asked.path): layer for layer in plan.layers}
    expect(plan, {layers[own.module]: own.pipeline_stage for own in model.leaves
                  if own.module in layers}, mapping)


class Recorder:
    """Contexts that set something, and the parts that are called within them."""

    def __init__(self, plan, asked):
        self.plan, self.asked = plan, asked
        self.now = {}
        self.calls = []

    @contextlib.contextmanager
    def setting(self, what, value):
        require(what not in self.now, "nested", what)
        self.now[what] = value
        yield
        del self.now[what]

    def call(self, part, x):
        require("stage" in self.now and "ipu" in self.now, "outside of a stage:", part)
        require(x.ipu in (None, self.now["ipu"]), "tensor on IPU", x.ipu, "used on", self.now)
        self.calls.append((part, self.now["stage"], self.now["ipu"]))
        return Tensor(self.now["ipu"])

    def head(self, x):
        return self.call("head()", x)

    def layer(self, name, x):
        return self.call(name, x)

    def tail(self, x):
        return self.call("tail()", x)

    def parts(self):
        """What the function asks for."""
        own = {"layer": self.layer}
        if self.plan.stages[0][2] or self.asked.head:
            own["head"] = self.head
        if self.plan.stages[-1][3] or self.asked.tail:
            own["tail"] = self.tail
        return own

    def expect_all(self):
        wanted = []
        last = len(self.plan.stages) - 1
        for stage, (ipu, layers, has_head, has_tail) in enumerate(self.plan.stages):
            has_head = has_head or stage == 0 and self.asked.head
            has_tail = has_tail or stage == last and self.asked.tail
            wanted += [("head()", stage, ipu)] if has_head else []
            wanted += [(path_of(layer, self.asked.path), stage, ipu) for layer in layers]
            wanted += [("tail()", stage, ipu)] if has_tail else []
        require(self.calls == wanted, "calls", self.calls, "instead of", wanted)


class Tensor:
    def __init__(self, ipu):
        self.ipu = ipu

    def copy_to_ipu(self, ipu):
        require(ipu != self.ipu, "copied from IPU", ipu, "to itself")
        return Tensor(ipu)


class Anywhere(Tensor):
    """PopART copies between IPUs by itself."""

    def __init__(self, _=None):
        super().__init__(None)


def read_popart(text, plan, asked):
    """PopART User Guide, "Pipelined execution"; Builder.virtualGraph, Builder.pipelineStage,
    SessionOptions."""
    recorder = Recorder(plan, asked)
    builder = types.SimpleNamespace(
        virtualGraph=lambda ipu: recorder.setting("ipu", ipu),
        pipelineStage=lambda stage: recorder.setting("stage", stage))
    popart = stub("popart", SessionOptions=types.SimpleNamespace,
                  VirtualGraphMode=types.SimpleNamespace(Manual="Manual"),
                  RecomputationType=types.SimpleNamespace(Standard="Standard",
                                                          Pipeline="Pipeline"))
    names = run_python(text, {"popart": popart})
    parts = {name: (lambda part: lambda *given: part(*given[:-1], Anywhere()))(part)
             for name, part in recorder.parts().items()}
    require(isinstance(names["build_stages"](builder, Anywhere(), **parts), Tensor), text)
    recorder.expect_all()
    wanted = {"virtualGraphMode": "Manual", "enablePipelining": True}
    if plan.replicas > 1:
        wanted.update(enableReplicatedGraphs=True, replicatedGraphCount=plan.replicas)
    if plan.micro_batches is not None:
        wanted.update(enableGradientAccumulation=True, accumulationFactor=plan.micro_batches)
    if plan.recompute is not None:
        wanted["autoRecomputation"] = {"full": "Pipeline", "standard": "Standard"}[plan.recompute]
    require(vars(names["opts"]) == wanted, names["opts"])


def read_popxl(text, plan, asked):
    """popxl: pipeline_stage, ipu, Tensor.copy_to_ipu; popxl-addons, docs/pipelining.md:
    pipelined_execution."""
    recorder = Recorder(plan, asked)
    popxl = stub("popxl", pipeline_stage=lambda stage: recorder.setting("stage", stage),
                 ipu=lambda ipu: recorder.setting("ipu", ipu))
    addons = stub("popxl_addons",
                  pipelined_execution=lambda steps: recorder.setting("steps", steps))
    names = run_python(text, {"popxl": popxl, "popxl_addons": addons})
    names["build_stages"](7, Tensor(plan.ipus[0]), **recorder.parts())
    recorder.expect_all()
    require(names.get("replication_factor", 1) == plan.replicas, text)
    require(names.get("steps") == plan.micro_batches, text)


def complaint(schema, value, root, place="plan"):
    """Why a value is not as the schema wants it, by the words that the schema uses."""
    known = {"$ref", "$schema", "$defs", "title", "description", "type", "required", "properties",
             "additionalProperties", "const", "enum", "anyOf", "allOf", "items", "minItems",
             "minimum"}
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
             "null": type(None)}
    require(set(schema) <= known, "unknown words in the schema:", set(schema) - known)
    found = []
    if "$ref" in schema:
        found.append(complaint(root["$defs"][schema["$ref"].split("/")[-1]], value, root, place))
    if "type" in schema and (not isinstance(value, kinds[schema["type"]]) or
                             (schema["type"] == "integer" and isinstance(value, bool))):
        return f"{place}: {value!r} is no {schema['type']}"
    if "const" in schema and value != schema["const"]:
        return f"{place}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"{place}: {value} is less than {schema['minimum']}"
    if "minItems" in schema and len(value) < schema["minItems"]:
        return f"{place}: has {len(value)} items"
    if "anyOf" in schema:
        own = [complaint(choice, value, root, place) for choice in schema["anyOf"]]
        found.append(None if None in own else own[0])
    found += [complaint(choice, value, root, place) for choice in schema.get("allOf", [])]
    if "items" in schema:
        found += [complaint(schema["items"], item, root, f"{place}[{i}]")
                  for i, item in enumerate(value)]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        if not set(schema.get("required", [])) <= set(value) or \
                (schema.get("additionalProperties") is False and not set(value) <= set(properties)):
            return f"{place}: has the keys {sorted(value)}"
        found += [complaint(properties[key], item, root, f"{place}.{key}")
                  for key, item in value.items() if key in properties]
    return next((one for one in found if one is not None), None)


def read_json(text, plan, asked):
    document = json.loads(text)
    wrong = complaint(asked.schema, document, asked.schema)
    require(wrong is None, wrong)
    stages = document["stages"]
    require([(stage["ipu"], stage["layers"], stage["head"], stage["tail"]) for stage in stages] ==
            plan.stages, document)
    require(document["replicas"] == plan.replicas, document)
    require(document["micro_batches"] == plan.micro_batches, document)
    require(document["ipus"] == plan.num_ipus, document)
    require(all(stage["recompute"] == plan.recompute for stage in stages), document)
    if asked.path is None:
        require(all(stage["modules"] is None for stage in stages), document)
    else:
        require([module for stage in stages for module in stage["modules"]] ==
                modules_of(plan, asked), document)


READERS = {"pipeline": read_json, "optimum": read_optimum, "poptorch": read_poptorch,
           "megatron": read_megatron, "vllm": read_vllm, "torch": read_torch, "titan": read_titan,
           "accelerate": read_accelerate, "tensorflow": read_tensorflow, "popart": read_popart,
           "popxl": read_popxl, "automodel": read_automodel, "bridge": read_bridge,
           "hybrid": read_hybrid, "sglang": read_sglang, "tensorrt": read_tensorrt,
           "llama": read_llama, "deepspeed": read_deepspeed, "paddle": read_paddle,
           "mindspore": read_mindspore, "mindformers": read_mindformers}


# ---- running the command ----

class Asked:
    """What is asked for beside the split."""

    def __init__(self, popliner, schema, directory):
        self.popliner = popliner
        self.directory = directory
        self.path, self.head, self.tail = PATH, HEAD_MODULES, TAIL_MODULES
        with open(schema, encoding="utf-8") as file:
            self.schema = json.load(file)
        self.counts = {"read": 0, "refused": 0}
        self.seen = set()
        self.warnings = ""  # about the plans just written
        self.drawn = {name: set() for name in FORMATS}  # the different texts of random plans
        self.lines = []
        self.kinds = {}  # of splits: of each format whether one was read back

    def options(self):
        own = [*(self.head or ()), self.path or "{}", *(self.tail or ())]
        return [] if own == ["{}"] else ["--modules", ",".join(own)]


def run(asked, *arguments, may=(0, 1)):
    done = subprocess.run([asked.popliner, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    require(done.returncode in may, arguments, done.returncode, done.stderr.decode())
    return done


def read_text(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def check_refusal(asked, split, name, reason):
    """One that is refused leaves a file of another format beside it unwritten, too."""
    path = os.path.join(asked.directory, "refused")
    other = os.path.join(asked.directory, "other.json")
    done = run(asked, *split, *asked.options(), "-q", "--output", f"pipeline={other}",
               "--output", f"{name}={path}", may=(2,))
    message = done.stderr.decode()
    require(f"--output {name}: " in message and reason in message, name, reason, message)
    require(done.stdout == b"", "printed although refused", done.stdout)
    require(not os.path.exists(path) and not os.path.exists(other), "written although refused")
    done = run(asked, *split, *asked.options(), "-q", "--output", name, may=(2,))
    require(done.stdout == b"" and f"--output {name}: " in done.stderr.decode(), name)
    asked.counts["refused"] += 1


def kinds_of(plan):
    """What is unusual of a split."""
    (_, layers, has_head, has_tail), (_, last_layers, last_head, last_tail) = (
        plan.stages[0], plan.stages[-1])
    return [kind for kind, is_so in (
        ("one stage", len(plan.stages) == 1),
        ("head alone", has_head and not layers and not has_tail),
        ("tail alone", last_tail and not last_layers and not last_head),
        ("shared IPU", plan.num_ipus < len(plan.stages))) if is_so]


def check_plan(asked, split, plan, is_drawn=False):
    """All formats of a plan, those that it can be said in at once. What refuses a drawn plan is not
    asked for."""
    asked_for = {}
    for name in FORMATS:
        reason = refused(plan, name, asked.path, asked.head, asked.tail,
                         any(word.startswith("--device-map")
                             for word in split))
        for kind in kinds_of(plan):
            was_read = asked.kinds.setdefault(kind, {}).get(name, False)
            asked.kinds[kind][name] = was_read or reason is None
        if reason is None:
            asked_for[name] = os.path.join(asked.directory, name)
        elif not is_drawn and (TEST_ALL or (name, reason) not in asked.seen):
            asked.seen.add((name, reason))
            check_refusal(asked, split, name, reason)
    files = [f"--output={name}={path}" for name, path in asked_for.items()]
    done = run(asked, *split, *asked.options(), "-q", *files)
    asked.warnings = " ".join(done.stderr.decode().split())
    for name, path in asked_for.items():
        require(os.path.exists(path), name, "of", plan, "is not written", split, done.stderr)
        text = read_text(path)
        os.remove(path)
        try:
            READERS[name](text, plan, asked)
        except Exception as error:
            raise Failure(f"{name} of {plan}: {error!r}\n{text}") from error
        asked.counts["read"] += 1
        if is_drawn:
            asked.drawn[name].add(text)
    return asked_for


# ---- profiles ----

def section(asked, *arguments):
    text = run(asked, *arguments, "-q", "--format", "csv").stdout.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def plan_of_section(asked, split, units, kinds):
    stages = []
    for row in section(asked, *split, "--output", "plan"):
        first, last = units.index(row["from"]), units.index(row["to"])
        stages.append((int(row["ipu"]), units[first:last + 1]))
    return plan_of(stages, kinds)


def splits_of(units):
    """Options for a few splits: one stage, each cut alone, everything by itself, shared IPUs."""
    yield ["--evaluate", "whole"]
    cuts = units[:-1]
    for cut in cuts if TEST_ALL else cuts[:1] + cuts[-1:]:
        yield ["--evaluate", cut]
    yield ["--evaluate", "|".join(cuts)]
    if len(cuts) >= 2:
        for ipus in ("0,1,0", "0,1,1", "2,0,1", "0,1,3") if TEST_ALL else ("0,1,0", "2,0,1"):
            yield ["--evaluate", f"{cuts[0]},{cuts[-1]}", "--device-map", ipus]
        yield ["--evaluate", cuts[1], "--device-map", "0,0"]
    if len(cuts) >= 3:
        four = f"{cuts[0]}|{cuts[1]}|{cuts[2]}"
        yield ["--evaluate", four, "--device-map", "interleaved:2", "--num-ipus", "2"]
        yield ["--evaluate", four, "--device-map", "v", "--num-ipus", "2"]


def check_kinds(asked, kinds):
    """Every format had a split of each kind that the units allow, to read back or to refuse."""
    wanted = {"one stage", "shared IPU"}
    wanted |= {f"{kind} alone" for kind in ("head", "tail") if kind in kinds.values()}
    require(set(asked.kinds) == wanted, "kinds of splits", set(asked.kinds), "instead of", wanted)
    for kind, by_format in asked.kinds.items():
        require(sorted(by_format) == sorted(FORMATS), kind, by_format)
        asked.lines.append(f"{kind}: read back in " + ", ".join(
            name for name in FORMATS if by_format[name]))


def check_profile(asked, directory):
    asked.kinds.clear()
    for extra in ([], ["--memory-model", "popliner"]):
        rows = section(asked, directory, *extra, "--output", "layers")
        units = [row["unit"] for row in rows]
        kinds = {row["unit"]: row["kind"] for row in rows}
        if extra:
            splits = [["--evaluate", units[1]]]
        else:
            splits = list(splits_of(units))
            splits += [["--solve", "--num-ipus", str(n)] for n in ((1, 2, 3) if TEST_ALL else (2,))]
            splits.append(["--solve", "--num-ipus", "3", "--require", f"cut:{units[0]}",
                           "--require", "layers:0.."])
        for split in splits:
            where = [directory, *extra, *split]
            check_plan(asked, where, plan_of_section(asked, where, units, kinds))
        for recompute in () if extra else ("full", "standard") if TEST_ALL else ("full",):
            where = [directory, "--solve", "--num-ipus", "3", "--schedule", "popart",
                     "--recompute", recompute]
            plan = plan_of_section(asked, where, units, kinds)
            plan.recompute = recompute
            check_plan(asked, where, plan)
        if not extra:
            check_kinds(asked, kinds)
    # another name for each layer, none of them a number
    regex = ["--layer-name-regex", r"^([^/\d]+)"]
    rows = section(asked, directory, *regex, "--output", "layers")
    if sum(row["kind"] == "layer" for row in rows) > 1:
        units = [row["unit"] for row in rows]
        kinds = {row["unit"]: row["kind"] for row in rows}
        where = [directory, *regex, "--solve", "--num-ipus", "2"]
        check_plan(asked, where, plan_of_section(asked, where, units, kinds))


def check_stored(asked, directory):
    """A stored analysis says the same, byte by byte, and standard output what a file has."""
    stored = os.path.join(asked.directory, "stored.popliner")
    run(asked, directory, "--save-to-file", stored, "-q")
    split = ["--solve", "--num-ipus", "3"]
    for name in FORMATS:
        if name == "hybrid":
            continue  # its layers are called 0, 1, 2, 3
        path = os.path.join(asked.directory, "from-profile")
        printed = run(asked, stored, "--load-from-file", *split, *asked.options(), "-q", "--output",
                      name).stdout.decode()
        beside = run(asked, directory, *split, *asked.options(), "-q", "--output",
                     f"{name}={path}", "--format", "json").stdout.decode()
        require(printed == read_text(path) != "", name, printed)
        require(json.loads(beside)["stages"][0]["layer_from"] is None, "printed beside", beside)
        os.remove(path)
    for options, words in ((["--output", "vllm", "--output", "pipeline"],
                            "vllm is printed already"),
                           (["--output", "vllm", "--memory-totals"], "vllm is printed already"),
                           (["--output", "vllm", "--format", "json"], "--format"),
                           (["--output", "vllm", "--num-ipus", "1..2"], "--num-ipus"),
                           (["--output", "vllm", "--evaluate", "0"], "one question"),
                           (["--output", "nothing"], "no such output"),
                           (["--output", "pipeline="], "into which file"),
                           (["--output", f"pipeline={stored}"], "would overwrite"),
                           (["--output", "pipeline=a", "--output", "vllm=a"],
                            "vllm=a: is the file of --output pipeline=a"),
                           (["--output", "pipeline", "--modules", "{},a,,b"], "--modules"),
                           (["--modules", "{}"], "plans for frameworks")):
        done = run(asked, stored, "--load-from-file", "--solve", *options, may=(2,))
        require(words in done.stderr.decode() and done.stdout == b"", options, done.stderr)
    # the best effort of what does not fit is written, with a warning
    done = run(asked, directory, "--solve", "--num-ipus", "2", "--mem-per-tile", "1000", "--output",
               "optimum", may=(1,))
    require(b"does not fit" in done.stderr and json.loads(done.stdout), done.stderr)
    # where there is none, nothing is
    path = os.path.join(asked.directory, "none")
    done = run(asked, directory, "--solve", "--num-ipus", "1", "--require", "cut:0", "--output",
               f"optimum={path}", may=(1,))
    require(b"not written" in done.stderr and not os.path.exists(path), done.stderr)


def check_document(asked, directory, document):
    """The samples of docs/emit.md are of the profile in data/sample; "…" stands for some lines, and
    warnings before them are not shown where the text tells of them."""
    blocks = dict(re.findall(r"^```\w+ (\w+)\n(.*?)^```", read_text(document), re.DOTALL | re.M))
    blocks.update(re.findall(r"(\w+) +(.*\n)", blocks.pop("lines")))
    order = run(asked, directory, "--solve", "--num-ipus", "2", "-q", "--output", "order",
                "--schedule", "zero-bubble", "--micro-batches", "3").stdout.decode()
    require(blocks.pop("order") == order, "the order is not as documented", order)
    require(sorted(blocks) == sorted(FORMATS[1:]), "formats in the document:", sorted(blocks))
    options = ["--modules", f"model.embed_tokens,{PATH},model.norm,lm_head"]
    hybrid = os.path.join(asked.directory, "hybrid.csv")
    with open(hybrid, "w", encoding="utf-8") as file:
        file.write("name,memory\n0M,1\n1-,1\n2*,1\n3-,1\n")
    for name in FORMATS[1:]:
        split = [directory, "--solve", "--num-ipus", "3"]
        if name == "hybrid":
            split = [hybrid, "--solve", "--require", "cut:0M", "--require", "cut:2*",
                     "--num-ipus", "3"]
        text = run(asked, *split, *options, "-q", "--output", name).stdout.decode()
        wanted = "(?:    .*\\n)+".join(map(re.escape, blocks[name].split("    …\n")))
        require(re.fullmatch(r"(?:# .*\n\n)?" + wanted, text), name, "is not as documented", text)


# ---- files of costs ----

def draw_names(rng, count):
    """Mostly numbers; else anything."""
    first = rng.choice([0, 0, 0, 1, 2])
    names = [str(first + i) for i in range(count)]
    letters = "ab01{}\"'\\#|=.,$ é€\U0001f642"  # no control characters: a file of costs has none
    if rng.random() < 0.5:
        names = ["".join(rng.choice(letters) for _ in range(rng.randrange(1, 6))) + f"~{i}"
                 for i in range(count)]
    elif rng.random() < 0.2:
        rng.shuffle(names)
    elif rng.random() < 0.3:
        names = [name + rng.choice(SYMBOLS) for name in names]
    return names


def check_costs(asked, rng):
    count = rng.randrange(1, 8)
    names = draw_names(rng, count)
    kinds = {name: "layer" for name in names}
    for name, place in (("Head", 0), ("mtp", 99), ("mtp.1", 99), ("Tail", 99),
                        ("pool", count // 2)):
        if rng.random() < {"pool": 0.15, "mtp": 0.3, "mtp.1": 0.1}.get(name, 0.6):
            names.insert(min(place, len(names)), name)
            kinds[name] = "other"
    file = {"format": "popliner-costs", "version": 1,
            "units": [{"name": name, "layer": kinds[name] == "layer", "cycles": rng.randrange(1, 9),
                       "memory": rng.randrange(1, 9)} for name in names],
            "cuts": [rng.randrange(9) for _ in names[1:]]}
    path = os.path.join(asked.directory, "costs.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)
    num_stages = rng.randrange(1, min(len(names), 4) + 1)
    split = [path, "--solve", "--require", "layers:0.."]
    way = rng.random()
    if way < 0.4:
        ipus = [str(rng.randrange(num_stages)) for _ in range(num_stages)]
        split += ["--device-map", ",".join(ipus)]
    elif way < 0.7:
        split += ["--device-map", ",".join(map(str, range(num_stages)))]
    else:
        split += ["--num-ipus", str(num_stages)]
    asked.path = rng.choice([PATH, PATH, "layers.{}", "a\"{}\\n", None])
    asked.head = rng.choice([HEAD_MODULES, [], ["embed", "model.rotary_emb"]])
    asked.tail = rng.choice([TAIL_MODULES, []])
    answer = json.loads(run(asked, *split, "--format", "json", "-q").stdout)
    stages = []
    for stage in answer["stages"]:
        first, last = names.index(stage["layer_from"]), names.index(stage["layer_to"])
        stages.append((stage["ipu"], names[first:last + 1]))
    require(stages != [], "no split of", file)
    check_plan(asked, split, plan_of(stages, kinds))


def check_replicas(asked, rng):
    count = rng.randrange(1, 7)
    names = [str(i) for i in range(count)]
    file = {"format": "popliner-costs", "version": 1,
            "units": [{"name": name, "memory": 5, "cycles": rng.randrange(1, 9),
                       "parameters": rng.randrange(50)} for name in names]}
    path = os.path.join(asked.directory, "costs.json")
    with open(path, "w", encoding="utf-8") as out:
        json.dump(file, out)
    split = [path, "--solve", "--total-ipus", str(rng.randrange(1, 9)),
             "--micro-batches", str(rng.randrange(1, 20)), "--bandwidth", "replicas=7",
             "--mem-per-tile", str(rng.choice([5, 10, 100]))]
    if rng.random() < 0.3:
        split += ["--device-map", "interleaved:2"]
    done = run(asked, *split, "--format", "json", "-q")
    answer = json.loads(done.stdout)
    if answer["best"] is None:
        target = os.path.join(asked.directory, "none")
        run(asked, *split, "--output", f"pipeline={target}", may=(1,))
        require(not os.path.exists(target), "written although nothing fits")
        return
    best = answer["candidates"][answer["best"]]
    stages = []
    for stage in best["stages"]:
        first, last = names.index(stage["unit_from"]), names.index(stage["unit_to"])
        stages.append((stage["ipu"], names[first:last + 1]))
    check_plan(asked, split, plan_of(stages, {name: "layer" for name in names},
                                     replicas=best["replicas"],
                                     micro_batches=best["micro_batches"]))


def draw_ipus(rng, num_stages):
    """Mostly what many formats can say: in order, in any order, in turn, there and back."""
    half = num_stages // 2
    choices = [list(range(num_stages)), [rng.randrange(num_stages) for _ in range(num_stages)],
               rng.sample(range(num_stages), num_stages),
               sorted({0, *rng.sample(range(1, num_stages + 2), num_stages - 1)}),
               [*range(num_stages - 1), 0]]
    if num_stages % 2 == 0 and half > 1:
        choices += [list(range(half)) * 2, list(range(half)) + list(range(half))[::-1]]
    return rng.choice(choices[:1] + choices)


def check_drawn(asked, rng):
    """A plan of a model as users have it: layers with numbers, sometimes with symbols, and cuts
    anywhere."""
    count, first = rng.randrange(2, 25), rng.randrange(2)
    symbol, host = rng.random() < 0.25, rng.random() < 0.5
    layers = [f"{first + i}{rng.choice(SYMBOLS) if symbol else ''}" for i in range(count)]
    before = ["embedding"] * (rng.random() < 0.7)
    after = ["mtp"] * (rng.random() < 0.2) + ["head"] * (rng.random() < 0.7)
    names = before + layers + after
    kinds = {name: "layer" if name in layers else "other" for name in names}
    path = os.path.join(asked.directory, "drawn.csv")
    with open(path, "w", encoding="utf-8") as out:
        out.write("name,memory,layer\n")
        out.writelines(f"{name},{0 if host and name == 'embedding' else rng.randrange(1, 9)},"
                       f"{str(kinds[name] == 'layer').lower()}\n" for name in names)
    # a stage mostly ends with a layer, so that the parts before and after the layers are whole
    places = range(len(before), len(before) + count - 1)
    if rng.random() < 0.2:
        places = range(len(names) - 1)
    cuts = sorted(rng.sample(places, min(rng.randrange(1, 8), len(places))))
    ipus = draw_ipus(rng, len(cuts) + 1)
    ends = [-1, *cuts, len(names) - 1]
    stages = [(ipus[i], names[ends[i] + 1:ends[i + 1] + 1]) for i in range(len(ipus))]
    split = [path, "--solve", "--require", "layers:0..", "--require",
             "cut:" + ",".join(names[cut] for cut in cuts),
             "--device-map", ",".join(map(str, ipus))]
    asked.path = rng.choice([PATH, "layers.{}", "model.decoder.blocks.{}.block"])
    asked.head = rng.choice([HEAD_MODULES, ["tok_embeddings"]])
    asked.tail = rng.choice([TAIL_MODULES, ["norm", "output"]])
    plan = plan_of(stages, kinds)
    plan.has_head_bytes = bool(before) and not host
    check_plan(asked, split, plan, is_drawn=True)


def check_all_drawn(asked, rng, wanted):
    """Random plans until so many different ones of each format were read back."""
    for i in range(40 * wanted):
        if min(map(len, asked.drawn.values())) >= wanted:
            break
        try:
            check_drawn(asked, rng)
        except Failure as failure:
            sys.exit(f"drawn plan {i}: {failure}")
    print(f"different random plans read back, at least {wanted} each: "
          + ", ".join(f"{name} {len(texts)}" for name, texts in asked.drawn.items()))
    if min(map(len, asked.drawn.values())) < wanted:
        sys.exit("too few of a format")


def main():
    popliner, schema, *directories = sys.argv[1:]
    rng = random.Random(22)
    # each file is flushed to its disk, which takes long for so many
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as directory:
        asked = Asked(popliner, schema, directory)
        check_document(asked, directories[0],
                       os.path.join(os.path.dirname(schema), "emit.md"))
        for profile in cases.within_budget(directories[:1] +
                                           directories[1::cases.chosen(3, 3, 1)]):
            if not os.path.isdir(profile):
                continue
            try:
                check_profile(asked, profile)
            except Failure as failure:
                sys.exit(f"{profile}: {failure}")
        check_stored(asked, directories[0])
        for i in cases.within_budget(range(cases.chosen(12, 30, 150)), 3):
            try:
                check_costs(asked, rng)
                asked.path, asked.head, asked.tail = PATH, HEAD_MODULES, TAIL_MODULES
                if i % 4 == 0:
                    check_replicas(asked, rng)
            except Failure as failure:
                sys.exit(f"costs {i}: {failure}")
        check_all_drawn(asked, rng, cases.chosen(3, 10, 60))
    for line in sorted(set(asked.lines)):
        print(line)
    print(f"{asked.counts['read']} texts read back, {asked.counts['refused']} refused")


if __name__ == "__main__":
    main()
