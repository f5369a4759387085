"""llama.cpp itself, asked what it holds where for descriptions of models, against the importer.

Its library is in a package of npm, and Debian's software driver for Vulkan is the GPU, as many as
wanted; nothing is allocated or computed. Skipped without these (tools/packages peers; tools/test
installs the package). The driver takes no tensor of more than 128 MiB, so the models have fewer
words and experts here; where llama.cpp computes on the host all the same, buffers are not compared.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import ctypes
import functools
import glob
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import unittest

#: The package, and the offsets in its parameters: of the model, and of its context.
PACKAGE, VERSION = "@node-llama-cpp/linux-x64-vulkan", "v0.5.0"
MODEL = {"gpu_layers": 16, "main_gpu": 24, "load_mode": 28}
CONTEXT = {"context": 0, "batch": 4, "ubatch": 8, "slots": 12, "outputs": 20, "flash": 52,
           "type_k": 104, "type_v": 108}
OVERRIDES, SPLIT, NO_ALLOC, SWA_FULL = 8, 40, 76, 132


def library_asked(folder, path, wanted):
    """Loads the model; llama.cpp prints what is compared."""
    class Model(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_ubyte * 80)]

    class Context(ctypes.Structure):
        _fields_ = [("bytes", ctypes.c_ubyte * 168)]

    class Override(ctypes.Structure):
        _fields_ = [("tensors", ctypes.c_char_p), ("buffers", ctypes.c_void_p)]

    def put(parameters, offsets):
        for name, offset in offsets.items():
            struct.pack_into("<i", parameters.bytes, offset, wanted[name])
    base, llama = (ctypes.CDLL(f"{folder}/lib{it}.vulkan.{VERSION}.so", ctypes.RTLD_GLOBAL)
                   for it in ("ggml", "llama"))
    llama.llama_model_default_params.restype = Model
    llama.llama_context_default_params.restype = Context
    llama.llama_model_load_from_file.argtypes = (ctypes.c_char_p, Model)
    llama.llama_init_from_model.argtypes = (ctypes.c_void_p, Context)
    llama.llama_model_load_from_file.restype = llama.llama_init_from_model.restype = ctypes.c_void_p
    base.ggml_backend_load_all_from_path(folder.encode())
    llama.llama_backend_init()
    model, context = llama.llama_model_default_params(), llama.llama_context_default_params()
    split = (ctypes.c_float * 64)(*wanted["split"])
    put(model, MODEL)
    model.bytes[NO_ALLOC] = 1
    if len(wanted["split"]) > 1:
        struct.pack_into("<Q", model.bytes, SPLIT, ctypes.addressof(split))
    base.ggml_backend_dev_by_type.restype = ctypes.c_void_p  # the CPU's is 0
    base.ggml_backend_dev_buffer_type.restype = ctypes.c_void_p
    base.ggml_backend_dev_buffer_type.argtypes = (ctypes.c_void_p,)
    host = base.ggml_backend_dev_buffer_type(base.ggml_backend_dev_by_type(0))
    overrides = (Override * 2)((wanted["host"].encode(), host) if wanted["host"] else (None, None))
    struct.pack_into("<Q", model.bytes, OVERRIDES, ctypes.addressof(overrides))
    loaded = llama.llama_model_load_from_file(path.encode(), model)
    put(context, CONTEXT)
    context.bytes[SWA_FULL], context.bytes[SWA_FULL + 1] = 0, 1
    os._exit(0 if loaded and llama.llama_init_from_model(loaded, context) else 3)


if len(sys.argv) > 2 and sys.argv[1] == "--ask":
    library_asked(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))

import common  # noqa: E402  # the library's process needs none of these
from cases import is_nightly  # noqa: E402
from logs_test import CASES, COMPUTED, GGUF_BLOCKS, MIB, described, hollow, stages_of  # noqa: E402
from popliner.costs import read_source  # noqa: E402
from popliner.costs.__main__ import main  # noqa: E402

SEED = int(os.environ.get("POPLINER_SEED", random.randrange(1000000)))
print(f"seed {SEED} (POPLINER_SEED)")
CHANCE = random.Random(SEED)
pick = CHANCE.choice
COUNT = 4 if is_nightly() else 1
TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2, "q5_1": 7}
KINDS = {"F32": 0, "F16": 1, "Q5_0": 6, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "I32": 26,
         "MXFP4": 39}
IQ1_S = 19
#: Buffers that are not replayed, and by how much of theirs ours are less or more: a gate of
#: attention's output, layers of several widths, scans and convolutions.
NEARLY = {"afmoe": (.01, .46), "openelm": (0, .13), "granitehybrid": (.35, .01),
          "falcon-h1": (.16, 0), "lfm2": (0, .05), "kimi": (.15, .14)}
#: By how much ours are more where a device has fewer layers than a period and those around it.
FEW = .7
#: Not compared: indexers, caches of blocks, inputs of each layer, encoder and decoder; and what
#: this driver has no scan for, so that the host computes it, or another device.
OTHER = ("deepseek4", "glm-dsa", "gemma3n", "t5", "mamba", "rwkv", "nemotron_h")


def folder_of():
    """Where the library is; None if it, or the driver, is not here."""
    build = os.environ.get("POPLINER_BUILD", os.path.join(common.ROOT, "build", "optimised"))
    found = [it for top in (build, os.path.dirname(build)) for it in glob.glob(os.path.join(
        top, "node_modules", PACKAGE, "bins", "*", f"libllama.vulkan.{VERSION}.so"))]
    has_driver = glob.glob("/usr/share/vulkan/icd.d/lvp*")
    return os.path.dirname(found[0]) if found and has_driver else None


def small(pairs, tensors):
    """A model with fewer words and experts, and large tensors in fewer bits."""
    base, used = pairs["general.architecture"], 0
    fewer = {pairs.get(f"{base}.vocab_size"): 1 << 14}
    if pairs.get(f"{base}.expert_used_count"):
        used = 2 * pairs[f"{base}.expert_used_count"]
    result = []
    for name, dims, kind in tensors:
        if "_exps" in name or "gate_inp." in name or "exp_probs" in name:
            dims = [*dims[:-1], used]
        dims = [fewer.get(it, it) for it in dims]
        is_large = math.prod(dims) * GGUF_BLOCKS[kind][1] // GGUF_BLOCKS[kind][0] > 1 << 27
        result.append((name, dims, IQ1_S if is_large else kind))
    return {**pairs, **{f"{base}.{key}": it for key, it in (
        ("vocab_size", 1 << 14), ("expert_count", used)) if f"{base}.{key}" in pairs}}, result


def models():
    """(name, path, shares by which buffers may be less and more; None: any) of descriptions: own,
    and those of ../shared of each architecture."""
    for name, model in COMPUTED.items():
        used = 2 * model.get("n_expert_used", 0)
        yield name, described({**model, "n_layer": 24, "n_vocab": 1 << 14,
                               **({"n_expert": used} if used else {})}), (0, 0)
    for path in sorted(glob.glob(os.path.join(CASES, "architectures", "*.json"))):
        with open(path, encoding="utf-8") as file:
            case = json.load(file)
        tensors = [(row[0].format(i=i), row[2], KINDS[row[1]]) for row in case["tensors"]
                   for i in (range(1) if len(row) == 3 else range(row[3][0], row[3][1] + 1)
                             if len(row[3]) == 2 else row[3][0])]
        pairs = {key: it[1] for key, it in case["pairs"].items()}
        limits = next((it for start, it in NEARLY.items() if case["case"].startswith(start)),
                      (0, 0))
        yield case["case"], hollow(*small(pairs, tensors)), \
            None if case["case"].startswith(OTHER) else limits


def asked(path, devices, **wanted):
    """What llama.cpp printed; None if it refuses, after its message."""
    wanted = {"gpu_layers": 999, "main_gpu": 0, "load_mode": 1, "flash": 1, "batch": 2048,
              "host": "",
              **wanted}
    done = subprocess.run(
        [sys.executable, __file__, "--ask", folder_of(), path, json.dumps(wanted)],
        env={**os.environ, "GGML_VK_VISIBLE_DEVICES": ",".join(["0"] * devices),
             "GGML_VK_DISABLE_GRAPH_OPTIMIZE": "1"}, capture_output=True, check=False)
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode != 0:
        print(*re.findall(r"(?m)^.*(?:error|missing|not found|ASSERT).*$", said)[:1])
    return said if done.returncode == 0 else None


def planned(path, sizes, options, *more):
    """The plan for devices of these sizes; empty if the model does not fit."""
    written = os.path.join(common.scratch(), "plan")
    words = [path, "--devices", ",".join(map(str, sizes)), "--plan", "llama", "--output", written,
             "-c", str(options["context"]), "-np", str(options["slots"]), "--server", "llama",
             "-ub", str(options["ubatch"]), *more]
    if main(words) != 0:
        return ""
    with open(written, encoding="utf-8") as file:
        return file.read()


def placed(text):
    """What a plan asks of llama.cpp: --n-cpu-moe is -ot of the first layers."""
    found = {flag: value.strip("'") for flag, value in re.findall(r"(-[-\w]+) ('[^']*'|\S+)", text)}
    first = "|".join(map(str, range(int(found.get("--n-cpu-moe", 0)))))
    named = f"blk\\.({first})\\.ffn_(up|down|gate|gate_up)_(ch|)exps" if first else ""
    return {"split": [int(it) for it in found.get("-ts", "1").split(",")],
            "host": found.get("-ot", named).replace("=CPU", ""),
            "gpu_layers": int(found.get("-ngl", "all").replace("all", "999"))}


@unittest.skipIf(folder_of() is None, f"npm's {PACKAGE} or mesa-vulkan-drivers is not here")
class Llama(unittest.TestCase):
    def compare(self, name, path, limits, devices, drawn):
        """One setting; how many compute buffers were compared."""
        types = [pick(["f16", "f16", "q8_0", "q4_0", "q5_1"]) for _ in "kv"]
        for kinds in types, ["f16", "f16"]:  # refused where heads are no multiple of a block
            read = functools.partial(
                read_source, path, batch=drawn["slots"], kv_dtype=kinds[0], v_dtype=kinds[1],
                sequence=drawn["context"] // drawn["slots"], cells=256, ubatch=drawn["ubatch"],
                pipeline=devices, server="llama")
            table = read()
            need = sum(unit.memory for unit in table.units)
            shares = [CHANCE.uniform(1, 3) for _ in range(devices)]
            plan = placed(planned(path, [int(1.5 * need * it / sum(shares)) + (8 << 30)
                                         for it in shares], drawn))
            split = plan["split"]
            said = asked(path, devices, **plan, outputs=drawn["slots"], type_k=TYPES[kinds[0]],
                         type_v=TYPES[kinds[1]], **drawn)
            if said is not None:
                break
        else:
            self.skipTest(f"llama.cpp does not load {name}")
        found = re.findall(r"layer +\d+ assigned to device (\w+)", said)
        names = sorted(set(found))
        self.assertEqual([found.count(it) for it in names], split)
        kept = [float(it) for it in re.findall(
            r"(?:(?:kv_cache|memory_recurrent)\w*: |ratio = .*, )size = +([\d.]+) MiB", said)]
        self.assertAlmostEqual(sum(unit.cache for unit in table.units) / MIB,
                               sum(kept), delta=.011 * len(kept) + .001)
        buffers = [float(it) for it in re.findall(r"Vulkan\d+ compute buffer size = +([\d.]+)",
                                                  said)]
        is_on_host = int(re.search(r"splits = (\d+)", said)[1]) > len(split) + 2
        if limits is None or is_on_host:
            return 0
        cuts = [1 + sum(split[:k]) for k in range(1, len(split))]
        table = read(first_layers=split[0])
        ours = [it["parts"]["workspace"] / MIB for it in stages_of(table, cuts)]
        least = .2 * max(1, drawn["ubatch"] / 512)  # places and experts of tokens
        less, more = limits
        if (kinds[0] == "f16") != (kinds[1] == "f16"):  # one alone is rotated: in other holes
            less, more = max(less, .06), max(more, .5)
        for count, found, right in zip(split, ours, buffers):
            self.assertGreater(found, right * (1 - less) - least, (kinds, ours, buffers))
            self.assertLess(found, right * (1 + max(more, FEW if count < 9 else 0)) + least,
                            (kinds, ours, buffers))
        return len(buffers)

    def test_models(self):
        """The layers of each device are as the plan's -ts says, caches and states as the table's;
        buffers to 0.2 MiB, and as NEARLY has them."""
        count = 0
        for name, path, limits in models():
            for _ in range(COUNT):
                drawn = {"context": 256 * CHANCE.randrange(4, 65, 4), "slots": pick([1, 1, 2, 4]),
                         "ubatch": pick([128, 256, 512, 1024])}
                devices = CHANCE.randrange(1, 5)
                with self.subTest(name=name, devices=devices, **drawn):
                    count += self.compare(name, path, limits, devices, drawn)
        print(count, "buffers")

    def test_experts_on_the_host(self):
        """Layers are on the devices of a chosen plan's -ts, and experts on the host by its -ot."""
        for name, path, _ in models():
            table = read_source(path, cells=256, server="llama", host_slowdown=10)
            if all(it.host is None for it in table.units):
                continue
            with self.subTest(name=name):
                device = max(it.workspace for it in table.units) + CHANCE.choice([1, 2, 4]) * sum(
                    it.host[0] if it.host else it.memory for it in table.units)
                best = table.costs(recompute="auto").solve(
                    num_ipus=3, mem_per_tile=device, recompute="auto", objectives="cycles",
                    message=print)
                said = asked(path, 3, **placed(best.emit("llama", message=print)), context=2048,
                             outputs=1, slots=1, ubatch=512, type_k=1, type_v=1)
                if said is None:
                    continue
                places = dict(re.findall(r"layer +(\d+) assigned to device (\w+)", said))
                moved = set(re.findall(
                    r"tensor blk\.(\d+)\.\S* .*overridden to (?:CPU|Vulkan_Host)", said))
                wanted = [it for stage in best.json()["stages"] for it in re.findall(
                    r"(\d+)=experts-on-host", stage.get("recompute", ""))]
                self.assertEqual(moved, set(wanted))
                self.assertEqual([places[str(i)] for i in range(len(places))], [
                    f"Vulkan{it.ipu}" for it in best.stages for unit in range(
                        max(it.first_unit, 1), it.last_unit + 1)])

    def test_buffers_with_experts_on_the_host(self):
        """Prompts copy a tensor of experts at a time to the first device; later ones are counted as
        if all had the steps of a whole period."""
        for name, path, limits in models():
            devices, ubatch = CHANCE.randrange(1, 3), pick([128, 256, 512])
            table = read_source(path, sequence=2048, cells=256, ubatch=ubatch, pipeline=devices,
                                server="llama", host_experts=4)
            if limits is None or not any(it.startswith("Experts of ") for it in table.notes):
                continue
            with self.subTest(name=name, devices=devices, ubatch=ubatch):
                count = len(table.units) - 1
                split = [count // devices, count - count // devices][-devices:]
                said = asked(path, devices, split=split, context=2048, outputs=1, slots=1, type_k=1,
                             type_v=1, ubatch=ubatch, host=placed("--n-cpu-moe 4")["host"])
                if said is None:
                    continue
                ours = [it["parts"]["workspace"] / MIB for it in stages_of(
                    table, [1 + it for it in split[:-1]])]
                right = [float(it) for it in re.findall(
                    r"Vulkan\d+ compute buffer size = +([\d.]+)", said)]
                print(f"{name:24}", *(f"{a / b:.3f}" for a, b in zip(ours, right)))
                if int(re.search(r"splits = (\d+)", said)[1]) > 6 * 4 + devices + 1:
                    continue  # other steps are on the host, too: 6 is the most of a layer
                is_near = limits == (0, 0) and not name.startswith(("qwen3next", "qwen35"))
                for own, other in zip(ours, right):
                    self.assertLess(abs(own / other - 1), .15 if is_near else .25, (ours, right))

    def test_layers_on_the_host(self):
        """The first layers are where the plan leaves them, and the others as its -ts says."""
        drawn = {"context": 1024, "slots": 1, "ubatch": 128}
        for name, path, _ in CHANCE.sample(list(models()), 4):
            with self.subTest(name=name):
                plan = placed(planned(path, ["900GiB"] * 3, drawn, "--layers-on-host", "2"))
                said = asked(path, 3, **plan, outputs=1, type_k=1, type_v=1, **drawn)
                found = re.findall(r"layer +\d+ assigned to device (\w+)", said or "")
                self.assertEqual([found.count(it) for it in sorted(set(found))] if said else [],
                                 [2, *plan["split"]] if said else [])
                self.assertTrue(said is None or found[:2] == ["CPU", "CPU"])


if __name__ == "__main__":
    common.main()
