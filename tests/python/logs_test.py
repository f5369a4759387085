"""What servers printed of their memory, against what tables of the importer say about the same
split: the cases of ../shared, each with its ratio. Skipped where these are not.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import glob
import json
import os
import re
import struct
import unittest

import common
from popliner.costs import read_source
from sources_test import (DEEPSEEK, GGUF_BLOCKS, LLAMA, QWEN3, QWEN3_MOE, gguf_value, text, write)

CASES = os.path.join(common.ROOT, os.pardir, "shared", "data", "cases")
MIB, GIB = 1 << 20, 1 << 30
#: Block types by their bits an element, of experts whose type the case does not name.
TYPES = {8 * size / count: kind for kind, (count, size) in GGUF_BLOCKS.items()}

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
            "expert_feed_forward_length": model.get("n_ff_exp", 0)}
    query, keyed = model["n_head"] * model["head_k"], model["n_head_kv"] * model["head_k"]
    tensors = [("token_embd.weight", [hidden, model["n_vocab"]], 8)]
    wide = model.get("q_times", 1) * query
    for i in range(model["n_layer"]):
        parts = [("attn_q", [hidden, wide]), ("attn_k", [hidden, keyed]),
                 ("attn_v", [hidden, model["n_head_kv"] * model["head_v"]])]
        if (i + 1) % model.get("full_attention_interval", 1):
            parts = [("attn_qkv", [hidden, wide]), ("ssm_out", [6144, hidden])]
        elif arch.startswith(("qwen3", "gemma")):
            parts += [("attn_q_norm", [model["head_k"]])]
        kind, experts = 8, [model["n_expert"]] if "n_expert" in model else []
        width = model["n_ff_exp" if experts else "n_ff"]
        if experts and "expert_tensor_bytes" in model:
            kind = TYPES[8 * model["expert_tensor_bytes"] / (hidden * width * experts[0])]
        end = "_exps" if experts else ""
        parts += [("ffn_up" + end, [hidden, width] + experts),
                  ("ffn_gate" + end, [hidden, width] + experts),
                  ("ffn_down" + end, [width, hidden] + experts)]
        tensors += [(f"blk.{i}.{name}.weight", dims, kind if "ffn" in name else
                     8 if len(dims) > 1 else 0) for name, dims in parts]
    tensors += [("output_norm.weight", [hidden], 0), ("output.weight", tensors[0][1], 8)]
    pairs = {"general.architecture": arch, **{f"{arch}.{key}": it for key, it in keys.items()}}
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


@unittest.skipUnless(glob.glob(os.path.join(CASES, "serve", "s*")), "its data is in ../shared alone")
class Logs(unittest.TestCase):
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

    def test_llama(self):
        for name, case in cases("workspace"):
            given, right = case["arguments"], case["compute_mib"]
            host = case["model"]["n_layer"] if given.get("experts_on_host") else 0
            # the masks tell the build, where the case does not
            is_new = "logit_rows" in given or given["mask"] == "f16"
            table = read_source(
                described(case["model"]), batch=given["np"], sequence=given["c"] // given["np"],
                ubatch=given["ub"], flash=given["fa"], cells=256, host_experts=host,
                kv_dtype=given.get("ctk", "fp16"), v_dtype=given.get("ctv", "fp16"),
                pipeline=len(right) if given["pipeline"] else 1,
                server="llama" if is_new else "llama:9409")
            share = [sum(case["kv_mib"][:k + 1]) / sum(case["kv_mib"]) for k in range(len(right))]
            cuts = [1 + round(it * case["model"]["n_layer"]) for it in share[:-1]]
            for k, stage in enumerate(stages_of(table, cuts)):
                if right[k] is not None:
                    self.compare(name, f"device {k}, buffer, MiB", stage["parts"]["workspace"] / MIB,
                                 right[k], .16)


    def test_vllm(self):
        for name, case in cases("serve"):
            if case["kind"] != "serving":
                continue
            given, right = case["configuration"], case["right"]
            found = re.search(r"vLLM 0\.(\d+)", case["server"])
            cuts = re.search(r"--evaluate ([0-9,]+)", case["command"])
            cuts = [int(it) + 2 for it in cuts[1].split(",")] if cuts else []
            table = read_source(
                write("served/config.json", MODELS[name[:3]]), sequence=1, tensor=given.get("tp", 1),
                server=f"vllm:0.{found[1]}", batched_tokens=given["batched_tokens"],
                sequences=given["seqs"], pipeline=given.get("pp", 1))
            budget = given.get("budget_gib", [1000])[0]
            answer = table.costs().evaluate(cuts, mem_per_tile=f"{budget}GiB",
                                            objectives="tokens").json()
            stages = answer["stages"]
            for k, (stage, values) in enumerate(zip(stages, right["ranks"])):
                self.compare(name, f"rank {k}, weights, GiB", stage["parts"]["states"] / GIB,
                             values["weights_gib"], .035)
                if "activation_gib" in values:
                    most = .15 if given.get("top_k") else .05
                    self.compare(name, f"rank {k}, beside, GiB", stage["parts"]["workspace"] / GIB,
                                 values["activation_gib"] + values["non_torch_gib"], most)
            if "activation_difference_gib" in right:
                self.compare(name, "last less first, GiB", (
                    stages[-1]["parts"]["workspace"] - stages[0]["parts"]["workspace"]) / GIB,
                    right["activation_difference_gib"], .05)
            if right["tokens"] and "budget_gib" in given:
                # where little is left of the budget, 0.1 GiB are many tokens
                self.compare(name, "tokens", answer["totals"]["headroom_tokens"], right["tokens"],
                             .02 if right["ranks"][0]["cache_gib"] > .1 * budget else .05)


if __name__ == "__main__":
    common.main()
