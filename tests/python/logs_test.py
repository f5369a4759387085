"""What servers printed of their memory, against what tables of the importer say about the same
split: the cases of ../shared, each with its ratio. Skipped where these are not. And lines of all
that --against reads, as their sources and public logs have them.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import glob
import json
import os
import re
import struct
import subprocess
import sys
import unittest

import common
import popliner
from popliner import against
from popliner.costs import read_source
from popliner.costs.workspace import settings_of
from sources_test import (DEEPSEEK, GGUF_BLOCKS, LLAMA, QWEN2, QWEN3, QWEN3_MOE, gguf_value, text,
                          write)

CASES = os.path.join(common.ROOT, os.pardir, "shared", "data", "cases")
MIB, GIB = 1 << 20, 1 << 30
#: Block types by their bits an element, of experts whose type the case does not name.
TYPES = {8 * size / count: kind for kind, (count, size) in GGUF_BLOCKS.items()}

#: Builds of logs of llama.cpp that are older than their masks tell.
BUILDS = {"03": 5622, "05": 5200, "10": 5400, "14": 8946}

#: The models of the cases of vLLM.
LLAMA2_7B = {**LLAMA, "num_key_value_heads": 32, "intermediate_size": 11008}
MODELS = {
    "s01": LLAMA, "s05": QWEN3_MOE, "s13": QWEN3_MOE, "s25": LLAMA,
    "s07": {**QWEN3, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 28,
            "intermediate_size": 3072, "tie_word_embeddings": True},
    "s09": {**DEEPSEEK, "quantization_config": {"quant_method": "fp8",
                                                "weight_block_size": [128, 128]}},
    "s14": {"model_type": "gemma2", "hidden_size": 4608, "head_dim": 128, "num_hidden_layers": 46,
            "num_attention_heads": 32, "num_key_value_heads": 16, "intermediate_size": 36864,
            "vocab_size": 256000, "sliding_window": 4096},
    "s15": {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4,
                                             "group_size": 128}},
    "s17": {**LLAMA, "model_type": "qwen2", "hidden_size": 8192, "num_attention_heads": 64,
            "num_hidden_layers": 80, "intermediate_size": 29568, "vocab_size": 152064},
    "s18": {**LLAMA2_7B, "vocab_size": 32016},
    "s21": {**QWEN3, "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 40,
            "intermediate_size": 17408}}
QWEN3_235B = {**QWEN3_MOE, "hidden_size": 4096, "num_attention_heads": 64,
              "num_hidden_layers": 94, "moe_intermediate_size": 1536, "quantization_config": {
                  "quant_method": "fp8", "weight_block_size": [128, 128]}}
#: Other public logs, of which no constant is that they test: model, options, GiB of SGLang's that
#: are free when weights begin to load and the share that it fills (None: its default), or vLLM's
#: budget; weights (GiB) and tokens in the log, and by how much these may be off.
PUBLIC = {
    "Qwen3 14B, 4 x 24 GB, 0.8": (MODELS["s21"], {"tensor": 4}, 23.08, .8, 7.08, 298447, .02),
    "Qwen3 30B A3B, MI355X": (QWEN3_MOE, {}, 287.18, None, 56.98, 2235118, .01),
    "Mistral 7B, 24 GB, 0.4.0": ({**LLAMA, "vocab_size": 32000}, {"server": "sglang:0.4.0"}, 23.25,
                                 None, 13.56, 56524, .02),
    "Qwen3 235B fp8, 4 x H100": (QWEN3_235B, {"tensor": 4}, 79.19 - 2, .93, None, 367404, .02),
    "GLM 4.7 Flash, 2 x NPU": (
        {**DEEPSEEK, "hidden_size": 2048, "num_hidden_layers": 47, "num_attention_heads": 20,
         "num_key_value_heads": 20, "q_lora_rank": 768, "qk_nope_head_dim": 192, "v_head_dim": 256,
         "n_routed_experts": 64, "num_experts_per_tok": 4, "moe_intermediate_size": 1536,
         "intermediate_size": 10240, "first_k_dense_replace": 1, "vocab_size": 154880},
        {"tensor": 2, "sequences": 8}, 60.81, None, 28.79, 383872, .05),
    "vLLM 0.6.4, Llama 3 8B, H100": (LLAMA, {"server": "vllm:0.6.4", "sequences": 256}, 71.29, 1,
                                     14.96, 436552, .04),
    "vLLM 0.6.4, Llama 3 8B, 2 x H100": (
        LLAMA, {"server": "vllm:0.6.4", "sequences": 256, "tensor": 2}, 71.29, 1, 7.48,
        966164, .06),
    "vLLM 0.7.2, Qwen2.5 14B, 2 x 4090": (
        {**QWEN2, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8,
         "num_hidden_layers": 48, "intermediate_size": 13824},
        {"server": "vllm:0.7.2", "batched_tokens": 2048, "sequences": 256, "tensor": 2}, 23.08, 1,
        13.95, 81536, .02),
    "vLLM 0.10, Qwen3 235B fp8, 4 x H100": (QWEN3_235B, {"server": "vllm:0.10", "tensor": 4},
                                            .9 * 79.19, 1, None, 178880, .17)}


def cases(kind):
    """(name, case) of each file."""
    for path in sorted(glob.glob(os.path.join(CASES, kind, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path)[:-5], json.load(file)


def described(model):
    """A GGUF file with the model's tensors, whose data is a hole."""
    arch, hidden = model["arch"], model["n_embd"]
    keys = {"block_count": model["n_layer"], "embedding_length": hidden,
            "attention.head_count": model["n_head"], "feed_forward_length": model["n_ff"],
            "attention.head_count_kv": model["n_head_kv"], "attention.key_length": model["head_k"],
            "attention.value_length": model["head_v"], "context_length": 4096,
            "attention.sliding_window": model.get("window", 0), "ssm.conv_kernel": 4,
            "ssm.inner_size": 6144, "ssm.state_size": 128, "ssm.group_count": 16,
            "expert_count": model.get("n_expert", 0),
            "expert_used_count": model.get("n_expert_used", 0),
            "expert_feed_forward_length": model.get("n_ff_exp", 0), "vocab_size": model["n_vocab"],
            "attention.layer_norm_rms_epsilon": 1e-6}
    query, keyed = model["n_head"] * model["head_k"], model["n_head_kv"] * model["head_k"]
    tensors = [("token_embd.weight", [hidden, model["n_vocab"]], 8)]
    tensors += [("rope_freqs.weight", [model["head_k"] // 2], 0)] if arch == "llama" else []
    wide = model.get("q_times", 1) * query
    for i in range(model["n_layer"]):
        parts = [("attn_q", [hidden, wide]), ("attn_k", [hidden, keyed]),
                 ("attn_v", [hidden, model["n_head_kv"] * model["head_v"]])]
        if (i + 1) % model.get("full_attention_interval", 1):
            parts = [("attn_qkv", [hidden, wide]), ("ssm_out", [6144, hidden])]
        elif arch.startswith(("qwen3", "gemma", "olmoe")):
            parts += [(f"attn_{it}_norm", [hidden if arch == "olmoe" else model["head_k"]])
                      for it in "qk"]
        kind, experts = 8, [model["n_expert"]] if "n_expert" in model else []
        width = model["n_ff_exp" if experts else "n_ff"]
        if experts and "expert_tensor_bytes" in model:
            kind = TYPES[8 * model["expert_tensor_bytes"] / (hidden * width * experts[0])]
        end = "_exps" if experts else ""
        is_packed = arch in ("glm4", "phi3")
        if arch == "phi3":
            parts = [("attn_qkv", [hidden, wide + 2 * keyed])]
        elif arch == "deepseek2":
            parts = [parts[0], ("attn_kv_a_mqa", [hidden, 576]), ("attn_kv_b", [512, 4096])] + [
                (f"ffn_{it}_shexp", [hidden, 2816]) for it in ("up", "gate", "down")]
        parts += [("ffn_up" + end, [hidden, width * (2 if is_packed else 1)] + experts),
                  ("ffn_down" + end, [width, hidden] + experts)]
        parts += [] if is_packed else [("ffn_gate" + end, [hidden, width] + experts)]
        parts += [(it, [hidden]) for it in ("attn_norm", "ffn_norm")] + [
            (it, [hidden]) for it in ("post_attention_norm", "post_ffw_norm") if "gemma" in arch]
        parts += [("attn_output", [model["n_head"] * model["head_v"], hidden])]
        parts += [("ffn_gate_inp", [hidden] + experts)] if experts else []
        tensors += [(f"blk.{i}.{name}.weight", dims, 0 if len(dims) == 1 else
                     kind if "ffn" in name else 8) for name, dims in parts]
    tensors += [("output_norm.weight", [hidden], 0), ("output.weight", tensors[0][1], 8)]
    return hollow({"general.architecture": arch, "tokenizer.ggml.model": "none",
                   **{f"{arch}.{key}": it for key, it in keys.items()}}, tensors)


def hollow(pairs, tensors):
    """A GGUF file with tensors (name, dims, type), whose data is a hole."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    for key, value in pairs.items():
        kind, data = gguf_value(value)
        head += text(key) + struct.pack("<I", kind) + data
    at = 0
    for name, dims, kind in tensors:
        head += text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, at)
        size = GGUF_BLOCKS[kind][1]
        for dim in dims:
            size *= dim
        at += -(-(size // GGUF_BLOCKS[kind][0]) // 32) * 32
    path = write("described.gguf", head)
    os.truncate(path, -(-len(head) // 32) * 32 + at)
    return path


def stages_of(table, split, **pipeline):
    """The stages of a split as the answer has them."""
    return table.costs(**pipeline).evaluate(split, mem_per_tile=1 << 48).json()["stages"]


class Compared:
    """All cases of a kind in one test: their ratios are printed."""

    def compare(self, name, what, found, right, most):
        """Prints a ratio, and notes one that is further from 1 than expected."""
        ratio = found / right
        print(f"{name:48} {what:24} {found:12,.2f} {right:12,.2f} {ratio:6.3f}", flush=True)
        if abs(ratio - 1) > most:
            self.wrong.append(f"{name} {what}: {found:.2f} for {right:.2f}")
        return ratio

    def setUp(self):
        self.wrong = []

    def tearDown(self):
        self.assertEqual(self.wrong, [])


class Others(Compared, unittest.TestCase):
    def test_tokens(self):
        for name, (model, options, free, share, weights, tokens, most) in PUBLIC.items():
            options = {"server": "sglang", "sequence": 1, **options}
            path = write("served/config.json", model)
            # a device has what is free, and 0.8 GiB and more besides
            own = settings_of(options["server"], round(free + .8) * GIB, options.get("tensor", 1),
                              1, None, options.get("sequences"))[2] if share is None else share
            answer = read_source(path, **options).costs().evaluate(
                [], mem_per_tile=int(own * free * GIB), objectives="tokens").json()
            if weights is not None:
                self.compare(name, "weights, GiB", answer["stages"][0]["parts"]["states"] / GIB,
                             weights, .03)
            self.compare(name, "tokens", answer["totals"]["headroom_tokens"], tokens, most)

    def test_what_it_keeps_free(self):
        """By hand from server_args.py of three versions, for 80 GiB and two or eight ranks."""
        for server, size, tensor, kept in (
                ("sglang", 80, 2, .5 + 12 + .5 + .25), ("sglang", 24, 8, .5 + 6 + .3125 + 1),
                ("sglang:0.5.2", 80, 8, 9.5 + 4), ("sglang:0.4.10", 24, 1, 2.9),
                ("sglang:0.4", 141, 2, 12 + 1), ("sglang:0.4.6", 80, 8, 80 * .19)):
            share = settings_of(server, size * GIB, tensor, 1)[2]
            self.assertAlmostEqual(share, 1 - kept / size, 3, server)
        path = write("sglang/config.json", LLAMA)
        done = common.python("-m", "popliner.costs", path, "--server", "sglang:0.4.6", "--sequence",
                             "1", "--devices", "23.65GiB", "--format", "json")
        # 0.88 of 23.25 GiB, less weights
        self.assertAlmostEqual(json.loads(done.stdout)["totals"]["headroom_tokens"],
                               (.88 * 23.25 - 14.96) * 8192, delta=100)


@unittest.skipUnless(glob.glob(os.path.join(CASES, "serve", "s*")),
                     "its data is in ../shared alone")
class Logs(Compared, unittest.TestCase):
    def test_llama(self):
        for name, case in cases("workspace"):
            given, right = case["arguments"], case["compute_mib"]
            host = case["model"]["n_layer"] if given.get("experts_on_host") else 0
            # the masks tell the build, where neither the log nor its date does
            is_new = "logit_rows" in given or given["mask"] == "f16"
            build = BUILDS.get(name[:2], 9700 if is_new else 9409)
            options = dict(
                batch=given["np"], sequence=given["c"] // given["np"],
                ubatch=given["ub"], flash=given["fa"], cells=256, host_experts=host,
                kv_dtype=given.get("ctk", "fp16"), v_dtype=given.get("ctv", "fp16"),
                pipeline=len(right), server=f"llama:{build}")
            share = [sum(case["kv_mib"][:k + 1]) / sum(case["kv_mib"]) for k in range(len(right))]
            cuts = [1 + round(it * case["model"]["n_layer"]) for it in share[:-1]]
            path = described(case["model"])
            table = read_source(path, **options)
            stages, most = ([it["parts"]["workspace"] / MIB for it in stages_of(
                table, cuts, need=need)] for need in ("expected", "at-most"))
            for k in range(len(right)):
                if right[k] is not None:
                    self.compare(name, f"device {k}, buffer, MiB", stages[k], right[k], .16)
                    self.assertGreaterEqual(most[k], right[k], name)

    def test_vllm(self):
        for name, case in cases("serve"):
            if case["kind"] != "serving":
                continue
            given, right = case["configuration"], case["right"]
            found = re.search(r"vLLM 0\.(\d+)", case["server"])
            cuts = re.search(r"--evaluate ([0-9,]+)", case["command"])
            cuts = [int(it) + 2 for it in cuts[1].split(",")] if cuts else []
            path = write("served/config.json", MODELS[name[:3]])
            table = read_source(
                path, sequence=1, tensor=given.get("tp", 1), server=f"vllm:0.{found[1]}",
                batched_tokens=given["batched_tokens"], sequences=given["seqs"],
                pipeline=given.get("pp", 1))
            budget = given.get("budget_gib", [1000])[0]
            answer = table.costs().evaluate(cuts, mem_per_tile=f"{budget}GiB",
                                            objectives="tokens").json()
            stages = answer["stages"]
            for k, (stage, values, least_room) in enumerate(zip(
                    stages, right["ranks"], stages_of(table, cuts, need="at-most"))):
                self.compare(name, f"rank {k}, weights, GiB", stage["parts"]["states"] / GIB,
                             values["weights_gib"], .035)
                if "activation_gib" in values:
                    beside = values["activation_gib"] + values["non_torch_gib"]
                    self.compare(name, f"rank {k}, beside, GiB", stage["parts"]["workspace"] / GIB,
                                 beside, .15 if given.get("top_k") else .05)
                    self.assertGreaterEqual(least_room["parts"]["workspace"] / GIB, beside, name)
            if "activation_difference_gib" in right:
                self.compare(name, "last less first, GiB", (
                    stages[-1]["parts"]["workspace"] - stages[0]["parts"]["workspace"]) / GIB,
                    right["activation_difference_gib"], .05)
            if right["tokens"] and "budget_gib" in given:
                # where little is left of the budget, 0.1 GiB are many tokens
                self.compare(name, "tokens", answer["totals"]["headroom_tokens"], right["tokens"],
                             .02 if right["ranks"][0]["cache_gib"] > .1 * budget else .05)


#: What a log says of (stage, part), in GiB: 2 stages of 4 GiB of states, 1 of cache, 0.5 of
#: workspace, with a limit of 10 GiB and caches of 1 MiB a token.
SAMPLES = {
    "vLLM 0.19": ("""\
\x1b[1;36m(Worker_PP0_TP0 pid=611)\x1b[0;0m INFO Model loading took 4.02 GiB memory and 9.01 seconds
(Worker_PP0_TP1 pid=612) INFO [model_runner.py:329] Model loading took 4.01 GiB and 9.5 seconds
(Worker_PP1_TP0 pid=613) INFO [model_runner.py:329] Model loading took 5 GiB and 9.547118 seconds
(Worker_PP0_TP0 pid=611) Memory profiling takes 17.96 seconds. Total non KV cache memory: 5.02GiB; \
torch peak memory increase: 0.75GiB; non-torch forward increase memory: 0.25GiB; weights memory: \
4.02GiB.
(Worker_PP0_TP0 pid=611) INFO [gpu_worker.py:563] Available KV cache memory: 5.25 GiB
(Worker_PP0_TP1 pid=612) INFO [gpu_worker.py:563] Available KV cache memory: 5 GiB
(Worker_PP1_TP0 pid=613) INFO [gpu_worker.py:563] Available KV cache memory: 4 GiB
(Worker_PP1_TP0 pid=613) INFO Graph capturing finished in 5 secs, took 0.65 GiB
(EngineCore pid=411) INFO [kv_cache_utils.py:2235] GPU KV cache size: 4,096 tokens
(EngineCore pid=411) INFO [kv_cache_utils.py:2235] GPU KV cache size: 4,160 tokens
""", {(0, "states"): 4.02, (0, "workspace"): 1, (0, "room"): 5, (1, "states"): 5,
      (1, "room"): 4, (1, "graphs"): .65}, 4096, {"0": .5, "1": 1.5}),
    "vLLM 0.7": ("""\
INFO 03-25 21:32:40 model_runner.py:1115] Loading model weights took 4.0 GB
INFO 03-25 21:32:48 worker.py:266] the current vLLM instance can use total_gpu_memory (11.11GiB) x \
gpu_memory_utilization (0.90) = 10GiB
INFO 03-25 21:32:48 worker.py:266] model weights take 4.00GiB; non_torch_memory takes 0.05GiB; \
PyTorch activation peak memory takes 0.95GiB; the rest of the memory reserved for KV Cache is \
4.99GiB.
(VllmWorkerProcess pid=123) INFO worker.py:266] model weights take 4.00GiB; non_torch_memory takes \
0.5GiB; PyTorch activation peak memory takes 0.5GiB; the rest of the memory reserved for KV Cache \
is -1GiB.
""", {(0, "states"): 4, (0, "workspace"): 1, (0, "room"): 4.99, (1, "states"): 4,
      (1, "workspace"): 1, (1, "room"): -1}, None, {"0": .51, "1": 6.5}),
    "SGLang": ("""\
[2025-07-14 05:48:43 PP0 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, \
avail mem=7.37 GB, mem usage=4.02 GB.
[2025-07-14 05:48:43 PP0 TP0] KV Cache is allocated. #tokens: 38141, K size: 2 GB, V size: 2 GB
[2025-07-14 05:48:43 PP0 TP1] KV Cache is allocated. #tokens: 38141, K size: 2 GB, V size: 2 GB
[2025-07-14 05:48:43 PP1 TP0] KV Cache is allocated. dtype: x, #tokens: 38141, KV size: 3.5 GB
[2025-07-14 05:49:02 PP1 TP0] Capture cuda graph end. Time elapsed: 5.13 s. mem usage=0.35 GB. \
avail mem=0.5 GB.
[2025-07-14 05:49:02 PP0 TP0] max_total_num_tokens=3584, chunked_prefill_size=8192
""", {(0, "states"): 4.02, (0, "room"): 4, (1, "room"): 3.5, (1, "graphs"): .35}, 3584,
               {"0": 1.5, "1": 2}),
    "Megatron-LM": ("""\
[Rank 4] (after 2 iterations) memory (MB) | allocated: 5120.0 | max allocated: 7168.5 | reserved: \
7200.0 | max reserved: 7200.0
[Rank 0] (after 2 iterations) memory (MB) | allocated: 4096.0 | max allocated: 5120.0 | reserved: \
6000.0 | max reserved: 6000.0
[Rank 0] (after 100 iterations) memory (MB) | allocated: 4096.0 | max allocated: 6144.0
""", {(0, "states"): 4, (0, "need"): 6, (1, "states"): 5, (1, "need"): 7168.5 / 1024}, None,
                    {"0": .5, "1": 7168.5 / 1024 - 5.5}),
    "PyTorch": ("""\
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a \
total capacity of 10.00 GiB of which 200.00 MiB is free. Including non-PyTorch memory, this \
process has 9.80 GiB memory in use. Of the allocated memory 9.00 GiB is allocated by PyTorch, and \
300.00 MiB is reserved by PyTorch but unallocated.
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 1; 10.00 GiB \
total capacity; 4.00 GiB already allocated; 0 bytes free; 4.5 GiB reserved in total by PyTorch)
""", {(0, "wanted"): 9.5, (1, "wanted"): 5}, None, {"0": 4}),
    "llama.cpp": ("""\
load_tensors:          CPU model buffer size =   545.62 MiB
load_tensors:        CUDA0 model buffer size =  4096.00 MiB
0.00.926 I load_tensors:        CUDA1 model buffer size =  4352.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   512.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =   256.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =   256.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =   1024.00 MiB
sched_reserve:      CUDA1 compute buffer size =    768.00 MiB
sched_reserve:  CUDA_Host compute buffer size =    13.00 MiB
""", {(0, "states"): 4, (0, "cache"): 1, (1, "states"): 4.25, (1, "cache"): 1,
      (1, "workspace"): .75}, None, {"0": 0, "1": .5})}


#: Models by their hidden state, heads, those of keys, their width, and that of the MLP.
COMPUTED = {it[0]: dict(zip(("arch", "n_embd", "n_head", "n_head_kv", "head_k", "n_ff"), it),
                        n_layer=6, n_vocab=1000, head_v=it[4], **more) for it, more in (
    (("llama", 4096, 32, 8, 128, 14336), {}), (("qwen3", 2560, 32, 8, 128, 9728), {}),
    (("phi3", 3072, 32, 32, 96, 8192), {}), (("gemma3", 2560, 8, 4, 256, 10240), {"window": 1024}),
    (("olmoe", 2048, 16, 16, 128, 1024), {"n_expert": 64, "n_expert_used": 8, "n_ff_exp": 1024}))}


class Pipelines(unittest.TestCase):
    def test_what_the_program_computed(self):
        """Compute buffers (MiB) that llama.cpp 0.5 computed for such files, without its reordering
        for Vulkan: of one device, and of the first and a later one of two."""
        for arch, right in (("llama", (116.01, 102.02, 118.02)), ("qwen3", (83.01, 79.52, 89.52)),
                            ("phi3", (68.01, 74.02, 86.02)), ("gemma3", (83.52, 81.54, 91.54)),
                            ("olmoe", (68.01, 70.02, 78.02))):
            path, found = described(COMPUTED[arch]), []
            for options in ({"sequence": 8192}, {"sequence": 16384, "ubatch": 256, "pipeline": 2}):
                table = read_source(path, logits="last", cells=256, **options)
                found += [unit.workspace / MIB for unit in table.units[:2]]
            for ours, theirs in zip((max(found[:2]), *found[2:]), right):
                self.assertLess(abs(ours - theirs), 0.2, (arch, found))
        # quantised in as many bytes, and so rotated alike
        self.assertEqual(*(read_source(path, kv_dtype=it).units[0].workspace
                           for it in ("q4_0", "iq4_nl")))

    def test_what_copies_cost(self):
        """By hand: masks of 2 · 2048 · 131072 bytes, four of them instead of one, and four times
        two hidden states, on the first device one; half of that, and of the MLP, with half of the
        micro-batch."""
        path = described({"arch": "llama", "n_layer": 4, "n_embd": 1024, "n_head": 8,
                          "n_head_kv": 8, "head_k": 128, "head_v": 128, "n_ff": 4096,
                          "n_vocab": 1000})
        mask, state, mlp = 2 * 2048 * 131072, 4 * 2048 * 1024, 4 * 2048 * (2 * 1024 + 3 * 4096)
        told = (f"take {(3 * mask + 8 * state) / GIB:.1f} GiB of device 1, 20% of it. "
                "llama.cpp runs",
                f"-ub 1024 would save {(4 * mask + 8 * state + mlp) / 2 / GIB:.1f} GiB.")
        for devices, plan, expected in (("8GiB,8GiB", ["-o", "llama"], told),
                                        ("8GiB,8GiB", [], told), ("24GiB,24GiB", [], ())):
            done = common.python("-m", "popliner.costs", path, "-c", "128K", "-ub", "2048",
                                 "--server", "llama", "--devices", devices, *plan)
            said = " ".join((done.stdout + done.stderr).split())
            for text_ in expected:
                self.assertIn(text_, said)
            self.assertEqual("copies of inputs take" in said, bool(expected))
            # the factors of rotary positions are no embedding, and the buffers are none
            self.assertNotIn("keeps the embedding", said)
            if not plan:
                self.assertRegex(done.stdout, r"stage +device +layers")
                self.assertIn("With the most that it may need, it has room for", said)
        done = common.python("-m", "popliner.costs", path, "-c", "128K", "-ub", "2048", "--server",
                             "llama", "--devices", "8GiB,8GiB", "--format", "json")
        first, later = (it["parts"]["workspace"] for it in json.loads(done.stdout)["stages"])
        self.assertEqual(later - first, 4 * state)
        for pipeline in (1, 2):
            said = " ".join(read_source(path, pipeline=pipeline).notes)
            self.assertEqual("on one device (--pipeline N: of N)" in said, pipeline == 1)
            self.assertIn(f"ubatch 512, flash-attention, pipeline {pipeline}.", said)
        unit = read_source(path, ubatch=2048).units[1]
        self.assertEqual(unit.estimates, {
            "least": {"workspace": round(.95 * unit.workspace)},
            "most": {"workspace": round(1.15 * unit.workspace) + (32 << 20)}})

    def test_room(self):
        """As many more tokens as are said fit, and not 256 more; so with what may be needed."""
        path = described(COMPUTED["llama"])
        for need, more in (("expected", r"has room for (\d+) more tokens, with"),
                           ("at-most", r"they may need for (\d+)\.")):
            def of(tokens, wanted="expected"):
                done = common.python("-m", "popliner.costs", path, "-c", str(tokens), "-fa", "off",
                                     "--devices", "4GiB", "--need", wanted)
                return done.returncode, " ".join(done.stdout.split())
            room = int(re.search(more, of(8192)[1])[1])
            self.assertEqual([of(8192 + it, need)[0] for it in (room, room + 256)], [0, 1])


class Devices(unittest.TestCase):
    def test_what_is_said(self):
        path = write("said/config.json", LLAMA)
        moe = described({"arch": "llama", "n_layer": 4, "n_embd": 1024, "n_head": 8,
                         "n_head_kv": 8, "head_k": 128, "head_v": 128, "n_ff": 4096,
                         "n_vocab": 1000})
        for source, words, status, told in (
                (path, ("6G,6G",), 1,
                 r"It would fit with --devices \d+MiB,6G\. --format json has 1 more change "),
                (path, ("6G,6G",), 1, r"enough\. It would fit with --layers-on-host auto\. [^I]*$"),
                (path, ("18G,4G", "-c", "64K", "-o", "llama"), 1, "with -ctk q8_0"),
                (path, ("6G,6G", "-o", "vllm"), 1, "with --devices [0-9]+MiB,6G"),
                (path, ("6G,6G", "--reserve", "5%"), 1, "of which --reserve keeps"),
                (path, ("24G,24G", "--tensor", "2"), 0, "one of the 2 tensor-parallel GPUs"),
                (path, ("24,12",), 1, "24 is bytes; a unit is missing, like 24G"),
                (path, ("24G,24G", "--format", "json"), 0, '^{ "status": "optimal'),
                (path, ("24G,24G", "--format", "csv"), 0, "^[a-z_]+,[a-z_]+,"),
                (path, ("24G,24G", "--format", "csv", "-o", "vllm"), 2, "leave out --plan"),
                (path, ("24G,24G", "--reserve", "110%"), 2, "110% is above 100%"),
                (path, ("24G,24G", "--utilization", ".9"), 2, "is for --devices with --server"),
                (path, ("6G,6G", "--server", "vllm"), 1, "to what --utilization keeps free"),
                (path, ("24G,24G", "--server", "sglang"), 0, r"Fits on 2 devices\. Proven"),
                (path, ("24G,24G", "--server", "sglang", "--reserve", "1G"), 0, "Not counted: act"),
                (moe, ("1G", "-fa", "off", "-ctv", "q8_0", "-o", "llama"), 2, "leave out -fa off"),
                (moe, ("1G", "-ctk", "fp8", "-o", "llama"), 2, "llama.cpp has no such cache"),
                (moe, ("1G", "-ctk", "q8_0", "-ctv", "float16", "-o", "llama"), 0, "-ctv f16 "),
                (moe, ("1G", "-o", "llama"), 0, "-c 2048 .*Counted for 2048 tokens"),
                (moe, ("1G", "--layers-on-host", "3"), 0, "The first 3 layers run on the host")):
            done = common.python("-m", "popliner.costs", source, "--devices", *words)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertRegex(" ".join((done.stdout + done.stderr).split()), told)
            if told[0] == "^" and "json" in words:
                self.assertEqual(len(json.loads(done.stdout)["stages"]), 2)


class Against(unittest.TestCase):
    def test_lines(self):
        parts = {"states": 4 * GIB, "cache": GIB, "stash": 0, "workspace": GIB // 2, "reserve": 0}
        plan = {"stages": [
            {"ipu": k, "parts": parts, "need_bytes": 11 * GIB // 2, "limit_bytes": 10 * GIB,
             "kv_bytes": MIB} for k in range(2)]}
        ours = {**parts, "need": 11 * GIB // 2, "wanted": 11 * GIB // 2, "graphs": 0,
                "room": 11 * GIB // 2}
        for name, (lines, right, tokens, reserve) in SAMPLES.items():
            log, program = against.read_log(write("log", lines.encode()))
            self.assertIn(program and against.PROGRAMS[program], (name.split()[0], ""))
            found = against.compared(plan, against.by_stage(log, 2, None),
                                     log.get(against.EVERYBODY, {}).get("tokens"))
            rows = {(row["device"], row["part"]): row for row in found["parts"]}
            self.assertEqual(set(rows), set(right), name)
            for key, size in right.items():
                self.assertAlmostEqual(rows[key]["log"] / GIB, size, 6, (name, key))
                self.assertEqual(rows[key]["plan"], ours[key[1]])
            self.assertEqual(found.get("tokens", {}).get("log"), tokens)
            if tokens is not None:
                self.assertEqual(found["tokens"]["plan"], 5632)
            self.assertEqual(set(found["reserve_bytes"]), set(reserve))
            for ipu, size in reserve.items():
                self.assertAlmostEqual(found["reserve_bytes"][ipu] / GIB, size, 6, (name, ipu))

    def test_what_no_reserve_mends(self):
        """By hand: 2 GiB of 10 are taken and 1 of these is cache, so 9 GiB are room."""
        parts = {"states": GIB, "cache": GIB, "stash": 0, "workspace": 0, "reserve": 0}
        stage = {"ipu": 0, "parts": parts, "need_bytes": 2 * GIB, "limit_bytes": 10 * GIB,
                 "kv_bytes": MIB}
        plan = write("mends.json", {"stages": [stage]})
        kept = write("kept.json", {"stages": [{**stage, "parts": {**parts, "reserve": GIB}}]})
        poor = write("poor.json", {"stages": [{**stage, "need_bytes": 20 * GIB}]})
        room, tokens = "Available KV cache memory: {} GiB", "GPU KV cache size: {} tokens"
        job = "[Rank 0] (after {} iterations) memory (MB) | allocated: 1024.0 | max allocated: 1500"
        for path, lines, told in (
                (plan, (room.format(9.5),), "The plan counts 512 MiB too much on device 0: no"),
                (poor, (room.format(1), tokens.format("1,024")), " 0   0.000\n"),
                (plan, (tokens.format("4,608"),), "does not tell with which --reserve"),
                (plan, ("CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has",),
                 "does not tell with which --reserve"),
                (plan, (room.format(9), tokens.format("18,432")),
                 "0=0MiB\nTokens do not: by the plan the room of the log is for 9,216.\n"
                  "The log is of"),
                (kept, (room.format(10),), "0=0MiB instead of the plan's --reserve or --util"),
                (plan, (job.format(1),), "The plan counts 548 MiB too much on device 0: no"),
                (plan, (job.format(2),), "The plan counts 548 MiB too much on device 0: no"),
                (plan, (room.format(9), tokens.format("9,200")), "0=0MiB\n")):
            log = write("log3", "\n".join(lines).encode())
            done = common.python("-m", "popliner", path, "--against", log)
            self.assertIn(told, done.stdout, lines)
            self.assertEqual("first iteration" in done.stdout, "after 1 iterations" in lines[0])
            self.assertEqual("--reserve 0=" in done.stdout, told.startswith("0=0"), lines)
            self.assertEqual("Tokens do" in done.stdout, "Tokens" in told, lines)

    def test_logs_of_another_program(self):
        lines = {"vllm": "Model loading took 5.05 GiB", "sglang": "max_total_num_tokens=5",
                 "llama": "CUDA0 model buffer size = 5.0 MiB",
                 "megatron": "memory (MB) | allocated: 1.0 | max allocated: 2.0"}
        with self.assertRaisesRegex(popliner.UsageError,
                                    "vLLM and SGLang printed it; give the log"):
            against.read_log(write("of.log", "\n".join(lines.values()).encode()))
        model, job = write("said/config.json", LLAMA), ("--train", "adam-mixed")
        gguf = described(COMPUTED["llama"])
        for program, words in {"vllm": (model, "--server", "vllm"), "megatron": (model, *job),
                               "sglang": (model, "--server", "sglang"), "llama": (gguf,)}.items():
            done = common.python("-m", "popliner.costs", *words, "--devices", "180G", "--format",
                                 "json")
            plan = write("of.json", done.stdout.encode())
            for other, line in lines.items():
                log = write("of.log", line.encode())
                done = common.python("-m", "popliner", plan, "--against", log)
                self.assertEqual(done.returncode, 0 if program == other else 2, (program, other))
                self.assertEqual(f"but the plan is for {against.PROGRAMS[program]}" in done.stderr,
                                 program != other)

    def test_what_does_not_fit_together(self):
        stage = {"ipu": 0, "parts": {"states": 1, "cache": 0, "stash": 0, "workspace": 0,
                                     "reserve": 0},
                 "need_bytes": 1, "limit_bytes": None}
        plan = write("plan.json", {"stages": 2 * [stage]})
        log = write("log", b"[Rank 7] (after 1 iterations) memory (MB) | allocated: 1.0 | max a")
        for words, kind, told in (
                ([plan, "--against", log], popliner.UsageError, "1 rank, the plan of 2 stages"),
                ([plan, "--against", log, "--stage", "2"], popliner.UsageError, "stages 0 to 1"),
                ([plan, "--against", plan], popliner.InputError, "no line about memory"),
                ([log, "--against", log], popliner.InputError,
                 "no valid JSON.*; PLAN is an answer for a table of costs: popliner COSTS --solve"),
                *(([write(f"{key}.json", {"stages": [{**stage, key: wrong}]}), "--against", log],
                   popliner.InputError, "expected an answer .*--solve --format json > PLAN")
                  for key, wrong in (("parts", {}), ("need_bytes", "1"), ("ipu", -1),
                                     ("limit_bytes", 1.5), ("kv_bytes", True)))):
            with self.assertRaisesRegex(kind, told):
                against.run(words)
        # no size, or none that is one
        for line in ("Model loading took 1.2.3 GiB", "Model loading took . GiB", "Model loading "
                     f"took {'9' * 400} GiB", "GPU KV cache size: , tokens", "\xff", "\0"):
            with self.assertRaisesRegex(popliner.InputError, "no line about memory"):
                against.read_log(write("log2", line.encode() + b"\n" * 9))
        for of in (plan, write("of.json",
                               {"messages": "Workspaces of vllm", "stages": 2 * [stage]})):
            done = common.python("-m", "popliner", of, "--against", log, "--stage", "1")
            with open(log, "rb") as file:
                piped = subprocess.run([sys.executable, "-m", "popliner", of, "--against", "-",
                                        "--stage", "1"], env=common.PYTHON_ENVIRONMENT, stdin=file,
                                       capture_output=True, encoding="utf-8", check=False)
            self.assertEqual((piped.returncode, piped.stdout, piped.stderr), (
                done.returncode, done.stdout, done.stderr.replace(log, "standard input")))
        done = common.python("-m", "popliner", plan, "--against", log, "--stage", "1")
        self.assertEqual(done.stdout, """\
device  part         log      plan  ratio
     0  states  0.00 GiB  0.00 GiB  0.000

They agree with --reserve 0=1MiB
The log is of the first iteration: its passes ran before the optimizer's states existed. \
Those of the second one also need them.
The log is of Megatron-LM; the plan does not say what it is for.
""")


if __name__ == "__main__":
    common.main()
