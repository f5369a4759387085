"""Costs from model files: safetensors, GGUF, config.json, ONNX, ONNX Runtime's statistics, PyTorch.

The files are written here from the formats' own definitions; bytes have to be right to the byte,
FLOPs by hand. Damaged files have to be refused, or read as what they still say.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import copy
import dataclasses
import itertools
import json
import math
import multiprocessing
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import unittest
from concurrent.futures import ProcessPoolExecutor
from unittest import mock

import common
import popliner
from models import CACHES, MODELS, of, UNTIED
from popliner.costs import Assumed, Table, read_source
from popliner.costs.config import shape_of
from popliner.costs.table import LayerShape, Shape, Source, Unit
from popliner.costs.workspace import workspace_of
from popliner.costs.__main__ import main

SEED = int(os.environ.get("POPLINER_SEED", "0")) or random.randrange(1, 10**6)

LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
         "num_key_value_heads": 8, "num_hidden_layers": 32, "intermediate_size": 14336,
         "vocab_size": 128256, "torch_dtype": "bfloat16", "tie_word_embeddings": False}
MIXTRAL = {"model_type": "mixtral", "hidden_size": 4096, "num_attention_heads": 32,
           "num_key_value_heads": 8, "num_hidden_layers": 32, "intermediate_size": 14336,
           "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
           "tie_word_embeddings": False, "sliding_window": None}
DEEPSEEK = {"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
            "num_key_value_heads": 128, "num_hidden_layers": 61, "intermediate_size": 18432,
            "moe_intermediate_size": 2048, "vocab_size": 129280, "n_routed_experts": 256,
            "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
            "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128, "v_head_dim": 128, "topk_method": "noaux_tc",
            "tie_word_embeddings": False}
GPT2 = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
        "vocab_size": 50257}
QWEN2 = {"model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28,
         "num_key_value_heads": 4, "num_hidden_layers": 28, "intermediate_size": 18944,
         "vocab_size": 152064, "use_sliding_window": False, "sliding_window": 131072,
         "max_window_layers": 28, "tie_word_embeddings": False}
QWEN3 = {"model_type": "qwen3", "hidden_size": 4096, "head_dim": 128, "num_attention_heads": 32,
         "num_key_value_heads": 8, "num_hidden_layers": 36, "intermediate_size": 12288,
         "vocab_size": 151936, "tie_word_embeddings": False}
QWEN3_MOE = {"model_type": "qwen3_moe", "hidden_size": 2048, "head_dim": 128,
             "num_attention_heads": 32, "num_key_value_heads": 4, "num_hidden_layers": 48,
             "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
             "num_experts_per_tok": 8, "vocab_size": 151936, "decoder_sparse_step": 1,
             "mlp_only_layers": [], "tie_word_embeddings": False}
GEMMA2 = {"model_type": "gemma2", "hidden_size": 2304, "head_dim": 256, "num_attention_heads": 8,
          "num_key_value_heads": 4, "num_hidden_layers": 26, "intermediate_size": 9216,
          "vocab_size": 256000, "sliding_window": 4096}


def write(name, content):
    path = os.path.join(common.scratch(), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def weights(table):
    return {unit.name: unit.weight_bytes for unit in table.units}


# ---- writers, by the formats' definitions ----

def safetensors(tensors, metadata=None, padding=0):
    """tensors: (name, dtype, shape, bytes), in the order of the data."""
    header, at = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, dtype, shape, size in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode() + b" " * padding
    return struct.pack("<Q", len(text)) + text + bytes(at)


def transformer(num_layers, tied=False):
    tensors = [("model.embed_tokens.weight", "BF16", [10, 8], 160)]
    for i in range(num_layers):
        tensors += [(f"model.layers.{i}.self_attn.q_proj.weight", "BF16", [8, 8], 128),
                    (f"model.layers.{i}.mlp.experts.0.w1.weight", "F8_E4M3", [6, 4 + i],
                     6 * (4 + i)),
                    (f"model.layers.{i}.mlp.experts.0.w1.scale", "F32", [1], 4),
                    (f"model.layers.{i}.input_layernorm.weight", "F32", [8], 32)]
    tensors += [("model.norm.weight", "F32", [8], 32)]
    return tensors + ([] if tied else [("lm_head.weight", "BF16", [10, 8], 160)])


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf_value(value):
    """The type and the bytes of a value: a str, an int (u32), a float (f32), a list of these."""
    if isinstance(value, str):
        return 8, text(value)
    if isinstance(value, bool):
        return 7, bytes([value])
    if isinstance(value, list):
        inner = gguf_value(value[0])[0] if value else 4
        return 9, struct.pack("<IQ", inner, len(value)) + b"".join(gguf_value(v)[1] for v in value)
    return (6, struct.pack("<f", value)) if isinstance(value, float) else \
        (4, struct.pack("<I", value))


def gguf(pairs, tensors, version=3, alignment=32):
    """tensors: (name, dims, type, bytes)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
    for key, value in pairs.items():
        kind, data = gguf_value(value)
        out += text(key) + struct.pack("<I", kind) + data
    at, data = 0, b""
    for name, dims, kind, size in tensors:
        out += text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims)
        out += struct.pack("<IQ", kind, at)
        data += bytes(size) + bytes(-size % alignment)
        at = len(data)
    return out + bytes(-len(out) % alignment) + data


GGUF_PAIRS = {"general.architecture": "llama", "llama.block_count": 2,
              "llama.embedding_length": 256, "llama.attention.head_count": 4,
              "llama.attention.head_count_kv": [2, 1], "llama.feed_forward_length": 512,
              "tokenizer.ggml.tokens": ["a", "bc", ""], "nested": [[1, 2], [3]]}
# 256 × 10 elements of Q6_K are 10 blocks of 210 bytes, and so on
GGUF_TENSORS = [("token_embd.weight", [256, 10], 14, 2100),
                ("blk.0.attn_q.weight", [256, 256], 12, 256 * 144),
                ("blk.0.attn_norm.weight", [256], 0, 1024),
                ("blk.1.attn_q.weight", [256, 256], 8, 256 * 8 * 34),
                ("blk.1.ffn_down.weight", [512, 256], 39, 256 * 16 * 17),
                ("blk.1.attn_norm.weight", [256], 0, 1024),
                ("output_norm.weight", [256], 0, 1024)]

#: Elements and bytes of a block, from ggml-common.h: scales, minima, quants.
GGUF_BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 2 + 16), 3: (32, 4 + 16), 6: (32, 2 + 4 + 16),
               7: (32, 4 + 4 + 16), 8: (32, 2 + 32), 9: (32, 2 + 2 + 32),
               10: (256, 16 + 64 + 4), 11: (256, 32 + 64 + 12 + 2), 12: (256, 4 + 12 + 128),
               13: (256, 4 + 12 + 32 + 128), 14: (256, 128 + 64 + 16 + 2),
               15: (256, 4 + 256 + 32), 16: (256, 2 + 64), 17: (256, 2 + 64 + 8),
               18: (256, 2 + 96), 19: (256, 2 + 32 + 16), 20: (32, 2 + 16),
               21: (256, 2 + 64 + 8 + 32 + 4), 22: (256, 2 + 64 + 8 + 8),
               23: (256, 2 + 2 + 4 + 128), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
               28: (1, 8), 29: (256, 32 + 16 + 8), 30: (1, 2), 34: (256, 48 + 4 + 2),
               35: (256, 64 + 2), 39: (32, 1 + 16), 40: (64, 4 + 32), 41: (128, 2 + 16),
               42: (64, 2 + 16)}

#: Bits of an element by TensorProto.DataType, from onnx.proto.
ONNX_BITS = {1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
             14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8}


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def pb(number, value):
    """A field: a number, or bytes, or a text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx_tensor(name, dims, kind, raw):
    return b"".join(pb(1, dim) for dim in dims) + pb(2, kind) + pb(8, name) + pb(9, raw)


def onnx_value(name, dims, kind=1):
    shape = b"".join(pb(1, pb(1, dim) if isinstance(dim, int) else pb(2, dim)) for dim in dims)
    return pb(1, name) + pb(2, pb(1, pb(1, kind) + pb(2, shape)))


def onnx_node(inputs, outputs, name):
    return (b"".join(pb(1, it) for it in inputs) + b"".join(pb(2, it) for it in outputs)
            + pb(3, name) + pb(4, "MatMul"))


def onnx():
    """x → embed → layers 0, 1 (which uses e, too) → head, with the weight w1 in both layers."""
    graph = b"".join([
        pb(1, onnx_node(["x", "w0"], ["e"], "/embed/MatMul")),
        pb(1, onnx_node(["e", "w1"], ["a"], "/layers.0/MatMul")),
        pb(1, onnx_node(["a"], ["b"], "/layers.0/Relu")),
        pb(1, onnx_node(["b", "w1", "e"], ["c"], "/layers.1/MatMul")),
        pb(1, onnx_node(["c", "w2"], ["y"], "/head/MatMul")),
        pb(5, onnx_tensor("w0", [4, 8], 1, bytes(128))),
        pb(5, onnx_tensor("w1", [8, 8], 10, bytes(128))),
        pb(5, onnx_tensor("w2", [8, 3], 22, bytes(12))),
        pb(11, onnx_value("x", ["batch", 4])), pb(12, onnx_value("y", ["batch", 3])),
        pb(13, onnx_value("e", ["batch", 8])), pb(13, onnx_value("a", ["batch", 8])),
        pb(13, onnx_value("b", [2, 8])), pb(13, onnx_value("c", [2, 8]))])
    return pb(1, 8) + pb(2, "writer") + pb(7, graph) + pb(8, pb(2, 17))


STATISTICS = (b"#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations\n"
              b"/embed/Gather,8,100,20,0\n/layers.0/MatMul,20,50,30,7\n/layers.0/Add,30,0,30,9\n"
              b"/layers.1/MatMul,30,60,40,1\n/norm/Mul,30,4,6,0\n")


#: What ONNX Runtime's profiler writes: a run has its nodes within. Microseconds.
NODES = ["/embed/Gather", "/layers.0/MatMul", "/layers.0/Add", "/layers.1/MatMul", "/norm/Mul"]


def profile(*runs, names=None):
    """A profile of runs, each with the times of nodes."""
    events, at = [{"cat": "Session", "name": "session_initialization", "ts": 0, "dur": 9}], 100
    for times in runs:
        start = at
        for name, time in zip(names or NODES, times):
            events.append({"cat": "Node", "name": name + "_fence_before", "ts": at, "dur": 900})
            events.append({"cat": "Node", "pid": 1, "dur": time, "ts": at, "ph": "X",
                           "name": name + "_kernel_time", "args": {"op_name": "Add"}})
            at += time
        events.append({"cat": "Session", "name": "model_run", "ts": start, "dur": at - start})
        at += 50
    return events


class Checkpoints(unittest.TestCase):
    def test_safetensors(self):
        path = write("one/model.safetensors", safetensors(transformer(3), {"format": "pt"}, 5))
        table = read_source(path)
        self.assertEqual(weights(table), {
            "embedding": 160, "0": 128 + 24 + 36, "1": 128 + 30 + 36, "2": 128 + 36 + 36,
            "head": 192})
        self.assertEqual([unit.memory for unit in table.units],
                         [unit.weight_bytes for unit in table.units])
        self.assertEqual([unit.kind for unit in table.units],
                         ["embedding", "layer", "layer", "layer", "loss"])
        tied = read_source(write("tied/model.safetensors", safetensors(transformer(3, True))))
        self.assertEqual([any(it.startswith("No tensor is a head") for it in of.notes)
                          for of in (table, tied)], [False, True])
        halved = read_source(path, tensor=2, experts=4)
        self.assertEqual(halved.units[1].memory, (128 + 32) // 2 + 28 // 4)
        with self.assertRaisesRegex(popliner.UsageError, "quantised"):
            read_source(path, train="adam")

    def test_sharded(self):
        tensors = transformer(3)
        write("shards/b.safetensors", safetensors(tensors[4:]))
        write("shards/a.safetensors", safetensors(tensors[:4]))
        index = {"metadata": {"total_size": sum(size for *_, size in tensors)}, "weight_map": {
            name: "a.safetensors" if i < 4 else "b.safetensors"
            for i, (name, *_) in enumerate(tensors)}}
        path = write("shards/model.safetensors.index.json", index)
        whole = read_source(write("whole/x.safetensors", safetensors(tensors)))
        self.assertEqual(weights(read_source(path)), weights(whole))
        self.assertEqual(weights(read_source(os.path.dirname(path))), weights(whole))
        for change, told in (({"metadata": {"total_size": 1}}, "total_size is 1"),
                             ({"weight_map": {**index["weight_map"], "x": "a.safetensors"}},
                              "a.safetensors differ in 'x'"),
                             ({"weight_map": {**index["weight_map"], "x": "../a"}}, "not the name"),
                             ({"weight_map": []}, "weight_map")):
            with self.assertRaisesRegex(popliner.InputError, told):
                read_source(write("shards/other.json", {"weight_map": {}, **index, **change}))

    def test_folders_as_they_are(self):
        """Stacks follow one another, towers come first, MTP layers last; what config.json says of
        them is of no matter."""
        tensors = [("decoder.layers.0.a", "F32", [1], 4), ("encoder.layers.0.a", "F32", [2], 8),
                   ("encoder.layers.1.a", "F32", [3], 12), ("mtp.layers.0.a", "F32", [4], 16),
                   ("mtp.fc.weight", "F32", [1], 4), ("vision_tower.layers.0.a", "F32", [5], 20),
                   ("vision_tower.post_layernorm.weight", "F32", [1], 4),
                   ("multi_modal_projector.linear.weight", "F32", [6], 24),
                   ("mlp1.0.weight", "F32", [1], 4), ("embed_tokens.weight", "F32", [7], 28),
                   ("strange", "F32", [8], 32), ("norm.weight", "F32", [1], 4)]
        path = write("stacks/model.safetensors", safetensors(tensors))
        for config in (None, {"model_type": "unheard-of"}, [], LLAMA, dict(LLAMA, hidden_size="x")):
            if config is not None:
                write("stacks/config.json", config)
            table = read_source(os.path.dirname(path))
            self.assertEqual(weights(table), {
                "embedding": 20 + 4 + 24 + 4 + 28, "encoder.0": 8, "encoder.1": 12, "decoder.0": 4,
                "mtp.0": 20, "head": 36})
            self.assertIn("Nothing says where these belong: strange.", table.notes)
        self.assertTrue(any("hidden_size 'x': expected" in it for it in table.notes))
        self.assertEqual(read_source(path, embedding="host").units[0].memory, 20 + 4 + 24 + 4)
        own = [(f"layers.{i}.a", "F32", [1], 4) for i in range(32)] + [("mtp.0.layers.0.a", "F32",
                                                                       [1], 4)]
        write("mtp/config.json", LLAMA)
        table = read_source(write("mtp/model.safetensors", safetensors(own)), sequence=8)
        self.assertEqual([unit.memory for unit in table.units[-3:]], [4 + 8 * 4096, 4, 0])
        self.assertEqual(len(read_source(os.path.join(common.scratch(), "mtp"), mtp="drop").units),
                         34)

    def test_training_of_a_checkpoint_with_its_configuration(self):
        config = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2,
                  "num_key_value_heads": 1, "num_hidden_layers": 1, "intermediate_size": 12,
                  "vocab_size": 10, "tie_word_embeddings": True}
        write("tied/config.json", config)
        tensors = [("model.embed_tokens.weight", "BF16", [10, 8], 160),
                   ("model.layers.0.mlp.up_proj.weight", "BF16", [12, 8], 192),
                   ("model.norm.weight", "BF16", [8], 16)]
        path = write("tied/model.safetensors", safetensors(tensors))
        table = read_source(os.path.dirname(path), train="adam-mixed", batch=2, sequence=4)
        # 2 bytes of weight, 4 of gradient, 12 of the optimizer
        self.assertEqual([unit.memory for unit in table.units], [0, 96 * 18, 8 * 18])
        self.assertEqual(table.shared, [(["embedding", "head"], 80 * 18)])
        self.assertEqual([unit.parameters for unit in table.units], [320, 384, 32])
        # a layer: norms, attention of one head of keys, a gated MLP; the cut: there and back
        self.assertEqual(table.units[1].stash, 8 * (8 * 8 + 4 * (8 + 4) + 6 * 12))
        self.assertEqual(table.units[0].cut, 8 * 8 * 2 * 2)
        self.assertEqual(table.costs(copies=[0]).solve(num_ipus=1).peak_bytes,
                         184 * 18 + table.units[1].workspace)
        self.assertEqual(table.units[1].workspace, (80 << 20) + 8 * 6 * 12)

    def test_gguf(self):
        path = write("m.gguf", gguf(GGUF_PAIRS, GGUF_TENSORS))
        table = read_source(path)
        self.assertEqual(weights(table), {"embedding": 2100, "0": 36864 + 1024,
                                          "1": 69632 + 69632 + 1024, "head": 1024})
        # heads of 64: 2 and 1 of keys and values, in 2 bytes
        self.assertEqual([unit.kv for unit in table.units], [0, 512, 256, 0])
        # as in llama.cpp: the embedding on the host, the tied head with a copy
        self.assertEqual((table.shared, table.units[0].memory, table.units[-1].memory),
                         ([], 0, 2100 + 1024))
        self.assertEqual(table.units[1].memory, 36864 + 1024 + 2048 * 512)
        table = read_source(path, embedding="device")
        self.assertEqual((table.shared, table.units[0].memory, table.units[-1].memory),
                         ([(["embedding", "head"], 2100)], 0, 1024))
        other_path = write("h.gguf", gguf(GGUF_PAIRS, GGUF_TENSORS + [
            ("output.weight", [256, 10], 14, 2100)]))
        own_head = read_source(other_path)
        self.assertEqual((own_head.shared, own_head.units[0].memory, own_head.units[-1].memory),
                         ([], 0, 2100 + 1024))
        self.assertIn("The embedding, 2100 bytes, is on the host", own_head.csv())
        self.assertEqual(read_source(other_path, embedding="device")
                         .units[0].memory, 2100)
        other = dict(GGUF_PAIRS, **{"general.alignment": 64})
        again = read_source(write("a.gguf", gguf(other, GGUF_TENSORS, 2, 64)))
        self.assertEqual(weights(again), weights(table))
        for kind in (4, 5, 31, 33, 36, 43, 1 << 31):
            tensors = [("blk.0.x", [256], kind, 256)]
            with self.assertRaisesRegex(popliner.InputError, "unknown type"):
                read_source(write("u.gguf", gguf({}, tensors)))

    def test_blocks_of_gguf(self):
        """Elements and bytes of every type."""
        from popliner.costs import gguf as module
        self.assertEqual({key: row[1:] for key, row in module.BLOCKS.items()}, GGUF_BLOCKS)

    def test_byte_order_mark(self):
        """Which editors write before JSON."""
        path = write("marked.json", b"\xef\xbb\xbf\n" + json.dumps({
            "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 4, "vocab_size": 100,
            "intermediate_size": 256, "num_attention_heads": 4}).encode())
        self.assertEqual(len(read_source(path).units), 6)
        self.assertEqual(common.python("-m", "popliner", path).returncode, 0)

    def test_blocks_without_tensors(self):
        """Pruned models, which llama.cpp loads; a block too many is an error."""
        pairs = dict(GGUF_PAIRS, **{"llama.block_count": 4,
                                    "llama.attention.head_count_kv": [2, 1, 0, 1]})
        table = read_source(write("b.gguf", gguf(pairs, GGUF_TENSORS)))
        self.assertEqual([unit.memory for unit in table.units[2:5]],
                         [69632 + 69632 + 1024 + 256 * 2048, 0, 256 * 2048])
        empty = gguf(dict(GGUF_PAIRS, **{"llama.attention.head_count_kv": 1}), GGUF_TENSORS[:1])
        self.assertEqual([unit.memory for unit in read_source(write("b.gguf", empty)).units],
                         [0, 256 * 2048, 256 * 2048, 2100])
        with self.assertRaisesRegex(popliner.InputError, "length 0: expected .* from 1 to"):
            read_source(write("c.gguf", gguf(dict(GGUF_PAIRS, **{"llama.embedding_length": 0}),
                                             GGUF_TENSORS)))
        with self.assertRaisesRegex(popliner.InputError, "block_count is 1, but block 1"):
            read_source(write("b.gguf", gguf(dict(GGUF_PAIRS, **{"llama.block_count": 1}),
                                             GGUF_TENSORS)))

    #: What llama.cpp's sources say of ten layers: w has a window, f has none, - keeps nothing.
    WINDOWS = {"afmoe": "wwwfwwwfww", "cohere2": "wwwfwwwfww", "cohere2moe": "fwwwfwwwfw",
               "exaone-moe": "wwwfwwwfww", "exaone4": "ffffffffff", "gemma2": "wfwfwfwfwf",
               "gemma3": "wwwwwfwwww", "gemma3n": "wwwwfwwwwf", "gpt-oss": "wfwfwfwfwf",
               "laguna": "fwwwfwwwfw", "llama": "ffffffffff", "llama4": "cccfcccfcc",
               "mellum": "wwwfwwwfww", "olmo2": "wwwfwwwfww", "phi3": "ffffffffff",
               "plamo3": "wwwwwwwfww", "smallthinker": "faaafaaafa", "bert": "----------",
               "dream": "----------", "gemma-embedding": "----------", "lfm2": "wwwwwwwwww"}

    def test_windows_of_llama_cpp(self):
        """Memory of a cache of 40,960 tokens: 128 + 512 of a micro-batch, rounded up to 768, 8,192
        + 512 (llama4), 4,096 + 512 (smallthinker)."""
        cells = {"f": 40960, "w": 768, "c": 8704, "a": 4608, "-": 0}

        def kept(base, options=None, **more):
            pairs = {"general.architecture": base, f"{base}.block_count": 10,
                     f"{base}.embedding_length": 64, f"{base}.attention.head_count": 2,
                     f"{base}.attention.sliding_window": 128,
                     **{f"{base}.{key}": value for key, value in more.items()}}
            tensors = [(f"blk.{i}.attn_k.weight", [64], 0, 256) for i in range(10)]
            table = read_source(write("w.gguf", gguf(pairs, tensors)),
                                **{"sequence": 40960, "kv_dtype": "q8_0", **(options or {})})
            return [(unit.memory - 256) / (2 * 64 * 34 / 32) for unit in table.units[1:-1]]

        for base, right in self.WINDOWS.items():
            with self.subTest(base):
                self.assertEqual(kept(base), [cells[it] for it in right])
        listed = [1, 0, 1, 1, 0, 0, 0, 1, 1, 1]
        for base, right in (("gemma4", listed), ("mimo2", listed), ("step35", listed),
                            ("mellum", listed), ("cohere2moe", listed), ("unheard-of", listed),
                            ("gpt-oss", [1, 0] * 5)):  # which takes a period alone
            with self.subTest(base):
                self.assertEqual(kept(base, **{"attention.sliding_window_pattern": listed}),
                                 [768 if it else 40960 for it in right])
        self.assertEqual(kept("gemma3", **{"attention.sliding_window_pattern": 2}),
                         [768, 40960] * 5)
        self.assertEqual(kept("gemma4", **{"attention.shared_kv_layers": 3})[6:], [768, 0, 0, 0])
        # a byte and 1/16 for keys, 9/16 for values
        self.assertEqual(kept("llama", {"v_dtype": "q4_0"})[0], 40960 * (34 + 18) / 68)
        # four slots of 2,500 tokens, rounded up to 256, and of micro-batches of 1,024
        self.assertEqual(kept("gemma4", {"sequence": 2500, "batch": 4, "ubatch": 1024,
                                         "cells": 256},
                              **{"attention.sliding_window_pattern": 2})[:2], [1536, 10240])
        # keys alone, of each slot: 128 + 1,024, rounded up, and at most the tokens of all slots
        for sequence, slots, right in ((1024, 2, 2 * 1280), (256, 4, 4 * 1024)):
            self.assertEqual(kept("deepseek4", {"sequence": sequence, "batch": slots,
                                                "ubatch": 1024, "cells": 256},
                                  **{"attention.compress_ratios": [0] * 10})[0], right / 2)

    def test_steps_of_llama_cpp(self):
        """Answers say which buffers are not replayed; layers that use others' caches compute."""
        left_out = "steps of {} that make llama.cpp's compute buffers up to three times as large"
        for base, told in (("llama", []), ("gemma3n", [left_out.format("gemma3n")])):
            pairs = {key.replace("llama", base): base if it == "llama" else it
                     for key, it in GGUF_PAIRS.items()}
            table = read_source(write("steps.gguf", gguf({
                **pairs, f"{base}.attention.shared_kv_layers": 1}, GGUF_TENSORS)))
            self.assertEqual(table.not_counted, told)
            self.assertTrue(all(it.time and it.workspace for it in table.units[1:3]))

    def test_the_longest_context(self):
        """Of all splits, counted by hand: the most tokens that the fullest device holds; devices in
        order, in any order, or with two stages."""
        print(f"seed {SEED} (POPLINER_SEED)")
        chance = random.Random(SEED)
        for _ in range(40 if common.takes_all() else 12):
            count = chance.randrange(2, 7)
            units = [Unit(str(i), memory=chance.randrange(1, 50), cut=chance.randrange(9),
                          kv=chance.choice([0, 1, 3, 7]) if i else 2,
                          kv_tokens=chance.choice([None, None, 0, 4])) for i in range(count)]
            names = chance.sample([unit.name for unit in units], 2)
            table = Table(units, chance.choice([[], [(names, 9)]]))
            limits = [chance.randrange(20, 300) for _ in range(chance.randrange(1, 4))]
            most = max(999 if unit.kv_tokens is None else unit.kv_tokens
                       for unit in units if unit.kv)

            def room(stages, free):
                """The most tokens of a device; -1: it does not fit."""
                own = [unit for i, j in stages for unit in units[i:j]]
                shared = 9 if table.shared and {unit.name for unit in own} & set(names) else 0
                return max((t for t in range(most + 1) if shared + sum(
                    unit.memory + unit.kv * (t if unit.kv_tokens is None else
                                             min(t, unit.kv_tokens)) for unit in own) <= free),
                           default=-1)

            def best(order):
                """The most tokens of the splits with a stage on each of these devices."""
                return max((min(room([its for at, its in zip(order, zip((0, *cuts), (*cuts, count)))
                                      if at == device], limits[device]) for device in set(order))
                            for cuts in itertools.combinations(range(1, count), len(order) - 1)),
                           default=-1)

            devices = range(len(limits))
            members = {"without_reasons": True, "message": lambda *_: None,
                       "mem_per_tile": dict(enumerate(limits)), "objectives": "tokens"}
            costs = table.costs()
            orders = {(): max(best(devices[:k + 1]) for k in devices),
                      (*devices, *devices): best((*devices, *devices))}
            found = costs.order_devices(num_ipus=len(limits), **members)
            right = max(best(order) for k in devices
                        for order in itertools.permutations(devices, k + 1))
            self.assertEqual(best(found) if found else -1, right, (table, limits))
            for order, right in orders.items():
                where = {"device_map": order} if order else {"num_ipus": len(limits)}
                answer = costs.solve(**where, **members)
                value = answer.values[0] if answer.values else None
                self.assertEqual(answer.fits, right >= 0, (table, limits, order))
                if right >= 0:
                    self.assertEqual((value.value, value.bound, answer.is_optimal),
                                     (right, right, True), (table, limits, order))
        for members, message in (({"objectives": "memory,tokens"}, "comes first"),
                                 ({"objectives": "tokens,memory"}, "after tokens"),
                                 ({"objectives": "tokens", "slack_percent": 1}, "slack"),
                                 ({"objectives": "tokens", "mem_per_tile": None}, "limit of each")):
            with self.assertRaisesRegex(popliner.UsageError, message):
                costs.solve(**{"num_ipus": 2, "mem_per_tile": 400, **members})
        if popliner.has_glpk():
            costs.write(os.path.join(common.scratch(), "tokens.lp"), num_ipus=2,
                        mem_per_tile={0: 900, 1: 400})  # of memory
        with self.assertRaisesRegex(popliner.UsageError, "whose caches grow"):
            Table([Unit("0", memory=1)]).costs().solve(num_ipus=1, mem_per_tile=9,
                                                       objectives="tokens")

    def test_experts_on_the_host(self):
        """--n-cpu-moe of llama.cpp: those of the first layers, of which the first is dense."""
        pairs = {"general.architecture": "qwen3moe", "qwen3moe.block_count": 4}
        tensors = [(f"blk.{i}.{name}", [size // 4], 0, size) for i in range(4)
                   for name, size in (("attn_k.weight", 256), ("ffn_up.weight", 512) if i == 0 else
                                      ("ffn_up_exps.weight", 1024))]
        path = write("moe.gguf", gguf(pairs, tensors))
        for count, right in ((0, [768, 1280, 1280, 1280]), (2, [768, 256, 1280, 1280]),
                             (9, [768, 256, 256, 256])):
            table = read_source(path, host_experts=count)
            self.assertEqual([unit.memory for unit in table.units[1:-1]], right)
        context = " -c 2048 -b 2048 -ub 512 -np 1 -fa on"
        # 3,584 bytes on one device; 768 + 256 + 256 and 1,280 on two; without a tensor on the host
        for host, devices, plan in (
                ("--experts-on-host", "4000,800", f"all -ts 5{context} --n-cpu-moe 2"),
                ("--experts-on-host", "2000,1300", f"all -ts 3,2{context} --n-cpu-moe 3"),
                ("--experts-on-host", "3400,1300", f"all -ts 3,2{context}"),
                # the last two layers and the output, as llama.cpp counts
                ("--layers-on-host", "1300,1300", f"3 -ts 1,2{context}")):
            written = os.path.join(common.scratch(), "plan" + devices)
            self.assertEqual(main([path, "--devices", devices, "--plan", "llama", host, "auto",
                                   "--output", written]), 0)
            with open(written, encoding="utf-8") as file:
                self.assertEqual(file.read().replace(" -sm layer ", " ").partition(" -ngl ")[2],
                                 plan + "\n")

    def test_workspaces_of_servers(self):
        """Logs of vLLM: activations and what PyTorch does not count, of ranks; GiB."""
        for hidden, width, vocabulary, options, first, last in (
                (4096, 14336, 128256, {"server": "vllm:0.19.0", "pipeline": 2}, 1.17, 2.08),
                (8192, 29568, 152064, {"server": "vllm", "tensor": 2}, None, 4.38),
                (4608, 36864, 256000, {"server": "vllm"}, None, 3.92),
                (4096, 14336, 128256, {"server": "vllm:0.11"}, None, 4.89)):
            shape = Shape(hidden, vocabulary, 32, [LayerShape(intermediate=width)])
            of_layer, of_head = (workspace_of(shape, i, Assumed(**options)) / (1 << 30)
                                 for i in (0, None))
            self.assertLess(abs(max(of_layer, of_head) / last - 1), 0.02)
            if first is not None:
                self.assertLess(abs(of_layer / first - 1), 0.05)
        config = write("served/config.json", json.dumps(LLAMA).encode())
        with self.assertRaisesRegex(popliner.UsageError, "give a GGUF file"):
            read_source(config, server="llama")
        for wrong in ("sglang:", "vllm:1", "vllm:0.x"):
            with self.assertRaisesRegex(popliner.UsageError, "expected vllm"):
                Assumed(server=wrong)
        config = write("served/config.json", json.dumps(LLAMA).encode())
        written = os.path.join(common.scratch(), "served.txt")
        said = {}
        for more in ([], ["--server", "vllm", "--utilization", "0.9"], ["--server", "vllm:0.20"]):
            self.assertEqual(main([config, "--devices", "24G,24G", "--output", written, *more]), 0)
            with open(written, encoding="utf-8") as file:
                said[len(more)] = int(re.search("caches of ([0-9,]+) more",
                                                file.read())[1].replace(",", ""))
        # 16 layers and an end each, a tenth of 24 GB, and what 2,048 tokens and 256 sequences need
        self.assertLess(said[4], said[0] - 2.4e9 / 65536)
        self.assertEqual(said[2], said[4])  # vLLM's own default until 0.21
        self.assertEqual(main([config, "--devices", "24G,24G", "--utilization", "0.9"]), 2)

    def test_experts_that_layers_choose(self):
        """Variants of a table, and the plan of what the solver chose: llama.cpp takes a pattern of
        tensors (arg.cpp, LLM_FFN_EXPS_REGEX), or the first layers."""
        config = {"model_type": "qwen3_moe", "hidden_size": 8, "num_hidden_layers": 6,
                  "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 10,
                  "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
        path = write("choice/config.json", json.dumps(config).encode())
        table = read_source(path, batch=1, sequence=4, host_slowdown=3)
        for unit in table.units[1:-1]:
            # four experts of three matrices in bf16, of which a token of four uses two
            self.assertEqual((unit.memory - unit.host[0], unit.host[1] - unit.forward),
                             (4 * 3 * 8 * 16 * 2, 2 * 2 * 4 * 2 * 3 * 8 * 16))
        least, most = table.units[1].host[0], table.units[1].memory
        # those that are there already choose nothing
        told = read_source(path, batch=1, sequence=4, host_slowdown=3, host_experts=2)
        self.assertEqual([unit.host is None for unit in told.units[1:5]],
                         [True, True, False, False])
        ends = table.units[0].memory + table.units[-1].memory
        costs = popliner.Costs.parse(table.document(), "the table", recompute="auto")
        for memory, host in ((6 * most + ends, 0), (4 * most + 2 * least + ends, 2),
                             (6 * least + ends, 6)):
            best = costs.solve(num_ipus=1, mem_per_tile=memory, objectives="cycles")
            plan = best.emit("llama", message=lambda *_: None)
            found = re.search(r" -ot '(.*)=CPU'", plan)
            chosen = [i for i in range(6) if found is not None and re.search(
                found[1], f"blk.{i}.ffn_gate_exps.weight")]
            first = re.search("--n-cpu-moe ([0-9]+)", plan)
            self.assertEqual(host, int(first[1]) if first else len(chosen), plan)
        config["num_nextn_predict_layers"] = 1  # an MTP block, which comes after the layers
        table = read_source(write("choice/config.json", json.dumps(config).encode()), batch=1,
                            sequence=4, host_slowdown=3, mtp="keep")
        limit = sum(unit.host[0] if unit.host else unit.memory for unit in table.units)
        best = popliner.Costs.parse(table.document(), "the table", recompute="auto").solve(
            num_ipus=1, mem_per_tile=limit, objectives="cycles")
        self.assertIn("--n-cpu-moe 7", best.emit("llama", message=lambda *_: None))
        pairs = {"general.architecture": "glm4moe", "glm4moe.block_count": 2,
                 "glm4moe.nextn_predict_layers": 1, "glm4moe.embedding_length": 64,
                 "glm4moe.attention.head_count": 2, "glm4moe.expert_count": 4,
                 "glm4moe.expert_used_count": 2}
        tensors = [(f"blk.{i}.{name}.weight", [64], 0, 256)
                   for i in range(2) for name in ("attn_k", "ffn_up_exps")]
        table = read_source(write("w.gguf", gguf(pairs, tensors)), sequence=8, host_slowdown=3)
        self.assertEqual([unit.host and unit.memory - unit.host[0] for unit in table.units[1:3]],
                         [256, None])  # llama.cpp does not load the MTP block

    def test_states_of_llama_cpp(self):
        """By its sources: (kernel - 1) (inner + 2 groups size) + size inner numbers in fp32; hybrid
        layers without heads have states alone; MTP blocks are not loaded; latent caches have keys
        alone."""
        def units(base, names, **more):
            pairs = {"general.architecture": base, f"{base}.block_count": len(names),
                     f"{base}.embedding_length": 64, f"{base}.attention.head_count": 2,
                     **{f"{base}.{key}": value for key, value in more.items()}}
            tensors = [(f"blk.{i}.{name}.weight", [64], 0, 256) for i, name in enumerate(names)]
            return read_source(write("w.gguf", gguf(pairs, tensors)), sequence=1024,
                               kv_dtype="fp16", batch=2).units[1:-1]

        ssm = {"ssm.conv_kernel": 4, "ssm.inner_size": 128, "ssm.state_size": 16,
               "ssm.group_count": 2}
        state, cache = 4 * 2 * (3 * (128 + 2 * 2 * 16) + 16 * 128), 2 * 1024 * 2 * 2 * 64
        self.assertEqual([unit.memory - 256 for unit in units(
            "jamba", ["ssm_in", "attn_k"], **ssm, **{"attention.head_count_kv": [0, 2]})],
            [state, cache])
        self.assertEqual([unit.memory - 256 for unit in units("falcon-h1", ["attn_k"], **ssm)],
                         [cache])
        self.assertEqual([unit.memory - 256 for unit in units(
            "rwkv7", ["time_mix_key"], **{"wkv.head_size": 32, "attention.head_count": 0})],
            [4 * 2 * 64 * (2 + 32)])
        self.assertEqual([unit.memory - 256 for unit in units("minimax-01", ["attn_q"] * 8)],
                         [4 * 2 * 2 * 32 * 32] * 7 + [cache])
        found = units("glm4moe", ["attn_k"] * 3, nextn_predict_layers=1)
        self.assertEqual([(unit.memory, unit.kind) for unit in found],
                         [(256 + cache, "layer")] * 2 + [(0, "mtp")])
        latent = {"attention.kv_lora_rank": 32, "attention.key_length": 48,
                  "attention.value_length": 32, "attention.head_count_kv": 1,
                  "attention.key_length_mla": 24, "attention.value_length_mla": 16}
        self.assertEqual([unit.memory - 256 for unit in units("deepseek2", ["attn_k_b"], **latent)],
                         [2 * 1024 * 2 * 48])
        self.assertEqual([unit.memory - 256 for unit in units(
            "deepseek32", ["attn_k_b"], **latent, **{"attention.indexer.key_length": 8})],
            [2 * 1024 * 2 * (48 + 8)])
        self.assertEqual([unit.memory - 256 for base in ("qwen4exp", "minimax-m3")
                          for unit in units(
            base, ["attn_k"], **{"attention.indexer.key_length": 8})],
            [cache + 2 * 1024 * 2 * 8, cache + 2 * 1024 * 2 * (8 + 32)])
        # blocks that run twice, and the layer of a switch, of one head: as the library lays them
        # out
        self.assertEqual([unit.memory for unit in units("nanbeige", ["attn_k"] * 2, num_loops=2)],
                         [256 + cache] * 2 + [cache] * 2)
        self.assertEqual([unit.memory for unit in units("graniteswitch", ["attn_k"] * 2)],
                         [256 + cache] * 2 + [cache // 2])
        # MiB of a sequence in logs: Qwen3.6 27B with three (llama.cpp 23792), and Qwen3.5 9B, whose
        # checkpoints have little else (lmstudio-bug-tracker 1563)
        for layers, inner, mib in ((48, 6144, 448.88 / 3), (24, 4096, 50.251)):
            found = units("qwen35", ["ssm_conv1d"] * layers, **{
                "ssm.conv_kernel": 4, "ssm.inner_size": inner, "ssm.state_size": 128,
                "ssm.group_count": 16})
            self.assertAlmostEqual(sum(unit.memory - 256 for unit in found) / 2 ** 21, mib, 2)

    def test_shards_of_gguf(self):
        pairs = dict(GGUF_PAIRS, **{"split.count": 2})
        first = write("s-00001-of-00002.gguf", gguf(pairs, GGUF_TENSORS[:3]))
        second = write("s-00002-of-00002.gguf", gguf({"split.count": 2}, GGUF_TENSORS[3:]))
        whole = read_source(write("m.gguf", gguf(GGUF_PAIRS, GGUF_TENSORS)))
        self.assertEqual(read_source(first).csv(), read_source(second).csv())
        self.assertEqual(weights(read_source(first)), weights(whole))
        os.remove(second)
        with self.assertRaisesRegex(popliner.InputError, "00002-of-00002"):
            read_source(first)
        write("s-00002-of-00002.gguf", gguf({"split.count": 2}, GGUF_TENSORS[2::-1]))
        with self.assertRaisesRegex(popliner.InputError, "00002-of-00002.gguf: .*"
                                    f"{GGUF_TENSORS[2][0]}.* is in an earlier file, too"):
            read_source(first)

    def test_a_run_reads_once(self):
        """A file, of which several tables are made for --devices; the next run reads it again."""
        path = write("once/s-00001-of-00002.gguf", gguf(dict(GGUF_PAIRS, **{"split.count": 2}),
                                                        GGUF_TENSORS[:3]))
        write("once/s-00002-of-00002.gguf", gguf({"split.count": 2}, GGUF_TENSORS[3:]))
        words = ["--devices", "1G,1G", "--output", os.path.join(common.scratch(), "once/plan")]
        for name in 2 * (path, write("once/config.json", LLAMA)):
            with mock.patch.object(Source, "__init__", autospec=True,
                                   side_effect=Source.__init__) as opened:
                self.assertLess(main([name, *words, "--experts-on-host", "auto"]), 2)
            # its beginning tells the kind
            self.assertEqual(opened.call_count, 3 if name == path else 2)

    def test_hostile_files(self):
        deep = b"[" * 100000
        array = struct.pack("<IQ", 9, 1)
        nested = (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("k") + struct.pack("<I", 9)
                  + array * 50 + bytes(200))
        hostile = {
            "deep.safetensors": (struct.pack("<Q", len(deep) + 5) + b'{"a":' + deep, "too deeply"),
            "deep.json": (b'{"a":' + deep, "too deeply"),
            "long.safetensors": (struct.pack("<Q", 1 << 40) + b"{}", "at most"),
            "hole.safetensors": (safetensors([("layers.0.a", "F32", [1], 4)]) + b"x", "cut off"),
            "lies.safetensors": (safetensors([("layers.0.a", "F32", [2], 4)]), "make 8"),
            "dtype.safetensors": (safetensors([("layers.0.a", "F33", [2], 8)]), "F33.* a dtype"),
            "gap.safetensors": (safetensors([("layers.1.a", "F32", [2], 8)]), "layer|no tensor"),
            "two.safetensors": (safetensors([("encoder.layers.0.a", "F32", [2], 8),
                                             ("decoder.layers.1.a", "F32", [2], 8)]), "0 has no"),
            "nested.gguf": (nested, "too deeply"),
            # of several tensors that are there twice the first in the order of the file is named
            "twice.gguf": (gguf({}, [(it, [1], 0, 4) for it in "zaza"]), "'z' appears twice"),
            "twice.safetensors": (struct.pack("<Q", 65) + 8 * b'{"z":{}, "a":{}, "z":{}, "a":{}}'
                                  .ljust(65) + bytes(9), "'z' appears twice"),
            "many.gguf": (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "needs"),
            "string.gguf": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 62)
                            + bytes(40), "key .* at most 1024"),
            "version.gguf": (b"GGUF" + struct.pack("<IQQ", 4, 0, 0), "version 4"),
            "split.gguf": (gguf(dict(GGUF_PAIRS, **{"split.count": [2]}), GGUF_TENSORS),
                           r"split.count .*\[2\].*a whole number"),
            "number.onnx": (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "does not end"),
            "long.onnx": (b"\x3a\x7f\x00", "are left"), "none.onnx": (b"", "no graph"),
            "empty": (b"", "expected safetensors"), "list.json": (b"{}", "model_type"),
        }
        for name, (content, told) in hostile.items():
            with self.subTest(name), self.assertRaisesRegex(popliner.InputError, told):
                read_source(write("hostile/" + name, content))
        for path in ("nowhere", common.scratch() + "/nothing"):
            with self.assertRaises(popliner.InputError):
                read_source(path)


class Configurations(unittest.TestCase):
    def read(self, config, **options):
        return read_source(write("config/config.json", config), **options)

    def test_published_numbers_of_parameters(self):
        """To the last digit; bytes of fp8 are parameters."""
        for name, (config, parameters) in MODELS.items():
            with self.subTest(name):
                table = self.read(config, dtype="fp8")
                self.assertEqual(sum(weights(table).values()), parameters)
                self.assertIn(f" {parameters} parameters", table.notes[0])
        kinds = {config.get("text_config", config)["model_type"] for config, _ in MODELS.values()}
        self.assertGreater(len(kinds), 60)

    def test_quantised(self):
        """Matrices of layers alone: by hand, with 2 bytes for embedding, head and norms."""
        matrices = (2 * 4096 + 2 * 1024 + 3 * 14336) * 4096
        for config, size in (
                ({"quant_method": "fp8"}, 1),
                ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 1 + 4 / 128 ** 2),
                ({"quant_method": "awq", "bits": 4, "group_size": 128}, 0.5 + (2 + 0.5) / 128),
                ({"quant_method": "gptq", "bits": 8, "group_size": 32}, 1 + 3 / 32),
                ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 0.5 + 4 / 64),
                ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
                    "weights": {"num_bits": 4, "group_size": 32, "type": "int"}}}}, 0.5 + 2 / 32),
                ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 0.5 + 1 / 16)):
            for keys in ({"quantization_config": config}, {"compression_config": config}):
                table = self.read(dict(LLAMA, **keys))
                self.assertEqual((table.units[0].memory, table.units[1].weight_bytes),
                                 (2 * 128256 * 4096, matrices * size + 4 * 4096))
        inner = {"model_type": "llava", "text_config": dict(LLAMA, quantization_config={
            "quant_method": "fp8"})}
        self.assertEqual(self.read(inner).units[1].weight_bytes, matrices + 4 * 4096)
        kept = {"quant_method": "fp8", "ignore": ["re:.*self_attn.*", "lm_head"]}
        self.assertEqual(self.read(dict(LLAMA, quantization_config=kept)).units[1].weight_bytes,
                         matrices + (2 * 4096 + 2 * 1024) * 4096 + 4 * 4096)
        with self.assertRaisesRegex(popliner.UsageError, "does not train"):
            self.read(dict(LLAMA, quantization_config=config), train="adam")
        # the least that is known: a dtype beside the text's configuration
        other = {"model_type": "mistral3", "dtype": "float32",
                 "text_config": dict(LLAMA, model_type="mistral", torch_dtype=None)}
        self.assertEqual(self.read(other).units[0].memory, 4 * 128256 * 4096)

    def test_caches_of_models(self):
        for name, size in CACHES.items():
            with self.subTest(name):
                table = self.read(MODELS[name][0], sequence=1024)
                self.assertEqual(sum(unit.kv for unit in table.units), size)
        # Qwen3.8 27B in vLLM: 32 KiB in fp8 (talos-argocd-proxmox 1995); its pictures change
        # nothing
        text = {"model_type": "qwen3_5_text", "hidden_size": 5120, "num_hidden_layers": 64,
                "num_attention_heads": 24, "num_key_value_heads": 4, "head_dim": 256,
                "intermediate_size": 17408, "vocab_size": 248320, "linear_num_value_heads": 48,
                "linear_num_key_heads": 16, "linear_key_head_dim": 128,
                "linear_value_head_dim": 128, "full_attention_interval": 4}
        table = self.read({"model_type": "qwen3_5", "text_config": text, "vision_config": {}},
                          kv_dtype="fp8")
        self.assertEqual(sum(unit.kv for unit in table.units), 32 << 10)

    def test_flops_by_hand(self):
        """For each matrix that a token is multiplied with, twice its elements; for each head and
        token before it, two for each element of the query and two for each of the value."""
        s = 1000
        llama = [(4096, 4096), (4096, 1024), (4096, 1024), (4096, 4096),
                 (4096, 14336), (4096, 14336), (14336, 4096)]
        mixtral = llama[:4] + [(4096, 8)] + 2 * llama[4:]
        latent = [(7168, 1536), (1536, 128 * 192), (7168, 512 + 64), (512, 128 * 256),
                  (128 * 128, 7168)]
        dense = latent + [(7168, 18432), (7168, 18432), (18432, 7168)]
        sparse = latent + [(7168, 256)] + 9 * [(7168, 2048), (7168, 2048), (2048, 7168)]
        for config, unit, matrices, scores, head in (
                (LLAMA, 5, llama, 32 * 4 * 128, 4096 * 128256),
                (MIXTRAL, 5, mixtral, 32 * 4 * 128, 4096 * 32000),
                (DEEPSEEK, 3, dense, 128 * (2 * 192 + 2 * 128), 7168 * 129280),
                (DEEPSEEK, 4, sparse, 128 * (2 * 192 + 2 * 128), 7168 * 129280)):
            table = self.read(config, sequence=s, batch=3)
            layer = sum(2 * rows * columns for rows, columns in matrices) + s * scores
            self.assertEqual(table.units[unit].time, 3 * s * layer)
            self.assertEqual(table.units[-1].time, 3 * s * 2 * head)
            trained = self.read(config, sequence=s, batch=3, train="sgd", tflops=100.0)
            self.assertAlmostEqual(trained.units[unit].time, 9 * s * layer / 1e11, places=5)

    def test_caches(self):
        for config, kv in ((LLAMA, 2 * 8 * 128 * 2), (DEEPSEEK, (512 + 64) * 2),
                           (GPT2, 2 * 768 * 2), (QWEN2, 2 * 4 * 128 * 2)):
            table = self.read(config, sequence=10, batch=3)
            for unit in table.units[1:-1]:
                self.assertEqual((unit.kv, unit.memory - unit.weight_bytes), (kv, 30 * kv))
        # a device has whole heads, and all of a latent cache (vLLM, ModelConfig.get_num_kv_heads)
        for config, tensor, kv in ((LLAMA, 8, 2 * 128 * 2), (LLAMA, 32, 2 * 128 * 2),
                                   (LLAMA, 4, 2 * 2 * 128 * 2), (DEEPSEEK, 16, (512 + 64) * 2)):
            self.assertEqual(self.read(config, sequence=10, tensor=tensor).units[1].kv, kv)
        # every other layer of Gemma 2 sees 4096 tokens, the first one does
        table = self.read(GEMMA2, sequence=10000)
        self.assertEqual([unit.memory - unit.weight_bytes for unit in table.units[1:4]],
                         [4096 * 4096, 10000 * 4096, 4096 * 4096])
        self.assertEqual([unit.kv for unit in table.units[:4]], [0, 0, 4096, 0])
        types = dict(QWEN3, num_hidden_layers=2, sliding_window=7,
                     layer_types=["full_attention", "sliding_attention"])
        table = self.read(types, sequence=100)
        self.assertEqual([unit.memory - unit.weight_bytes for unit in table.units[1:3]],
                         [100 * 4096, 7 * 4096])

    def test_further_tokens(self):
        table = self.read(dict(DEEPSEEK, num_nextn_predict_layers=1))
        self.assertEqual([unit.name for unit in table.units[-3:]], ["60", "mtp.0", "head"])
        self.assertEqual(table.units[-2].weight_bytes - table.units[-3].weight_bytes,
                         2 * (2 * 7168 * 7168 + 3 * 7168 + 2 * 129280 * 7168))
        self.assertEqual([unit.name for unit in self.read(dict(
            DEEPSEEK, num_nextn_predict_layers=1), mtp="drop").units[-2:]], ["60", "head"])

    def test_further_tokens_in_training(self):
        """Megatron-LM (gpt_model.py): a stage of MTP has an embedding, once, and no head; the
        stage of the head computes all losses. 18 bytes a parameter, logits in fp32."""
        table = self.read(dict(DEEPSEEK, num_nextn_predict_layers=1), train="adam-mixed",
                          sequence=10)
        layer, mtp, head = table.units[-3:]
        tokens = 129280 * 7168
        self.assertEqual(table.shared, [(["embedding", "mtp.0"], 18 * tokens)])
        self.assertEqual((table.units[0].memory, mtp.memory - layer.memory),
                         (0, 18 * (2 * 7168 * 7168 + 3 * 7168)))
        self.assertEqual(head.stash, 10 * (4 * 7168 + 2 * 4 * 129280))
        self.assertEqual((mtp.forward - layer.forward, head.forward),
                         (2 * 10 * 2 * 7168 * 7168, 2 * 2 * 10 * tokens))
        path = write("ahead.safetensors", safetensors(
            [("model.embed_tokens.weight", "BF16", [10, 8], 160),
             ("model.layers.0.a.weight", "BF16", [8, 8], 128)]
            + [(f"model.layers.1.{name}.weight", "BF16", shape, 2 * shape[0] * shape[1])
               for name, shape in (("a", [8, 8]), ("embed_tokens", [10, 8]),
                                   ("shared_head.head", [10, 8]))]))
        self.assertEqual([(it.memory, it.parameters) for it in read_source(
            path, train="adam-mixed").units[1:3]], 2 * [(64 * 18, 64 * 4)])

    def test_adapters(self):
        """PEFT prints 41,943,040 trainable parameters of rank 16 beside all matrices of the layers
        of Llama 3 8B (target_modules all-linear)."""
        frozen = self.read(LLAMA)
        table = self.read(LLAMA, train="adam-mixed", lora=16, sequence=10)
        self.assertEqual(sum(unit.memory for unit in table.units),
                         sum(unit.weight_bytes for unit in frozen.units) + 41943040 * 18)
        self.assertEqual(sum(unit.parameters for unit in table.units), 41943040 * 4)
        self.assertEqual(self.read(LLAMA, train="adam-mixed", lora=16, sequence=10, data=8,
                                   shard="gradients").units[1].memory, table.units[1].memory)
        with self.assertRaisesRegex(popliner.UsageError, "for training"):
            self.read(LLAMA, lora=16)

    def test_encoders_and_decoders(self):
        """By hand: rows and columns of query, key, value, output, of three matrices of the MLP;
        norms are not divided, and without experts all but attention is the MLP."""
        encoder, decoder = shape_of("t5", {
            "model_type": "t5", "d_model": 64, "num_layers": 1, "num_heads": 4, "d_ff": 128,
            "vocab_size": 100, "d_kv": 16, "feed_forward_proj": "gated-gelu"}).layers
        self.assertEqual((encoder.sides, decoder.sides),
                         (4 * 128 + 3 * 192, 2 * 4 * 128 + 3 * 192))
        self.assertEqual((encoder.plain["whole"], decoder.plain["whole"]), (3 * 64, 4 * 64))
        self.assertEqual((encoder.attention, decoder.attention), (4 * 64 * 64, 8 * 64 * 64))

    def test_states_that_ranks_divide(self):
        """Bytes a parameter with Adam in fp32 beside weights of 16 bits: Megatron-LM 6 + 12 / d
        (its documents of the distributed optimizer), ZeRO 2 + 16 / d and 18 / d (Rajbhandari et
        al., 2020, with gradients in fp32). Experts have d · tensor / experts ranks."""
        config = of("llama", 4096, 32, 32, 11008, 32000, UNTIED)
        count = 32000 * 4096 + 16 * (4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096)
        for shard, size in (("none", 18), ("optimizer", 7.5), ("gradients", 4),
                            ("parameters", 2.25)):
            table = self.read(config, train="adam-mixed", shard=shard, data=8)
            self.assertEqual(sum(unit.memory for unit in table.units[:17]), count * size)
            # the column is the same for any number of ranks
            undivided = self.read(config, train="adam-mixed", shard=shard)
            costs = undivided.costs(num_replicas=8)
            work = max(unit.workspace for unit in undivided.units[:17])
            self.assertEqual(costs.peak(0, 16), count * size + work)
            self.assertEqual(undivided.costs().peak(0, 16), count * 18 + work)
            # gathered: a layer's weights, those of the next one, its gradients; or the embedding's
            layer = 4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096
            mlp = 2048 * 6 * 11008
            self.assertEqual(table.units[1].workspace - (80 << 20) - mlp,
                             layer * 8 * (shard == "parameters"))
        options = {"train": "adam-mixed", "shard": "optimizer", "experts": 4}
        table = self.read(MODELS["mixtral"][0], data=8, **options)
        others = 2 * 4096 * (4096 + 1024) + 8 * 4096 + 2 * 4096
        self.assertEqual(table.units[1].memory,
                         others * 7.5 + 8 * 3 * 4096 * 14336 / 4 * (6 + 12 / 2))
        for wrong, more in (("does not divide", {"data": 2}), ("for training", {"train": None})):
            with self.assertRaisesRegex(popliner.UsageError, wrong):
                self.read(LLAMA, **{**options, **more})

    def test_activations_of_fp32(self):
        """GPT-2's layers in 16 bits keep 18 h + 4 f bytes a token (Korthikanti et al.), in fp32
        twice that; logits are in fp32 anyway."""
        config = of("gpt2", 1024, 24, 16, 4096, 50257)
        tokens = 2 * 1024
        for train, dtype, width in (("adam", "fp32", 4), ("adam", "bf16", 2),
                                    ("adam-mixed", "fp32", 2)):
            table = self.read(config, train=train, dtype=dtype, sequence=1024, batch=2)
            self.assertEqual((table.units[1].stash, table.units[1].inputs, table.units[1].cut),
                             (tokens * width * (9 * 1024 + 2 * 4096), tokens * width * 1024,
                              2 * tokens * width * 1024))
            self.assertEqual(table.units[-1].stash, tokens * (2 * width * 1024 + 4 * 50257))

    def test_what_trains_and_is_kept(self):
        """Of Llama 3 8B, h 4096 and f 14336: by hand."""
        def read(**options):
            return self.read(LLAMA, **{"train": "adam-mixed", "sequence": 10, **options}).units
        plain = read()
        half = read(context_parallel=2, shard="optimizer", data=4)
        self.assertEqual([(it.stash, it.forward, it.cut) for it in half[1:]], [
            (it.stash // 2, it.forward // 2, it.cut // 2) for it in plain[1:]])
        self.assertEqual(half[1].memory, read(shard="optimizer", data=8)[1].memory)
        norms, mlp = read(recompute="layernorm"), read(recompute="mlp,core_attn")
        for units, kept, again in ((norms, 4 * 4096, 0), (mlp, 6 * 14336, 3 * 4096 * 14336)):
            self.assertEqual(
                (units[1].stash, units[1].workspace, units[1].recomputed, units[1].backward),
                (plain[1].stash - 10 * kept, plain[1].workspace + 10 * kept, 10 * kept,
                 plain[1].backward + 10 * 2 * again))
        self.assertEqual(read(cross_entropy_loss_fusion=True)[-1].workspace - plain[-1].workspace,
                         10 * 4 * 128256)
        self.assertEqual(read(hidden_dropout=0.1, tensor=2)[1].stash - read(tensor=2)[1].stash,
                         10 * 2 * 4096)
        self.assertEqual(read(exp_avg_dtype="fp8", exp_avg_sq_dtype="bf16")[1].memory,
                         218112000 * (18 - 3 - 2))
        last = read(trainable="^(31|head)$")
        self.assertEqual([(it.memory == it.weight_bytes, it.stash == 0, it.backward)
                          for it in last],
                         [(True, True, 0)] * 32 + [(False, False, it.backward)
                                                   for it in plain[-2:]])
        self.assertEqual((last[30].cut, last[31].cut), (plain[1].cut // 2, plain[1].cut // 2))
        # in training each rank has norms, latent projections, routers and positions whole, with
        # gradients: of GPT-2, whose head is tied, 1024 positions of 768
        one, part = (self.read(GPT2, tensor=it, sequence=1, train="sgd").units[0].memory
                     for it in (1, 4))
        self.assertEqual((one, part), (4 * 1024 * 768,) * 2)
        # as servers have: the rest of DeepSeek's norms, router and projections on each of 8 ranks
        divided, whole = (self.read(DEEPSEEK, tensor=8, sequence=1, server=server).units[4].memory
                          for server in (None, "vllm"))
        own = 7168 * (2 + 256 + 1536 + 512 + 64) + 1536 + 512
        self.assertEqual(whole - divided, 2 * own * 7 // 8)
        frozen = read(trainable="^0$|embedding")[-1]
        self.assertEqual((frozen.stash, frozen.backward), (plain[-1].stash, plain[-1].forward))
        stepped = self.read(LLAMA, train="adam-mixed", sequence=10, torch_adam=True)
        costs = stepped.costs(copies=[7])
        states = [unit.memory for unit in plain[1:4]]
        self.assertEqual(costs.peak(1, 3, 1), sum(states) * (18 + 4) // 18)
        with self.assertRaisesRegex(popliner.UsageError, "take JSON"):
            stepped.csv()
        kept = self.read(LLAMA, train="adam-mixed", sequence=10000, torch_adam=True)
        self.assertEqual(kept.costs(copies=[7]).peak(1, 3, 1), sum(states) + sum(
            7 * unit.stash for unit in kept.units[1:4]) + kept.units[1].workspace)
        self.assertEqual([plain[1].estimates[it]["stash"] for it in ("least", "most")],
                         [round(plain[1].stash * it) for it in (.97, 1.04)])
        for kind, left_out in ((LLAMA, None), (MODELS["mamba-2.8b"][0], "scans")):
            table = self.read(kind, train="adam-mixed", sequence=10)
            self.assertEqual(bool(table.not_counted), left_out is not None)
            path = write("left_out.csv", table.csv().encode())
            for costs in (popliner.Costs.read(path, copies="1f1b"), table.costs(copies="1f1b")):
                told = costs.solve(num_ipus=2).text()
                self.assertEqual("Not counted: " in told, left_out is not None)
                self.assertIn(left_out or "", told)
        for wrong, options in (("no unit is called", {"trainable": "none"}),
                               ("unterminated", {"trainable": "["}),
                               ("0 to 1", {"hidden_dropout": 2}),
                               ("expected layers", {"recompute": "moe,x"}),
                               ("for adam", {"train": "sgd", "exp_avg_dtype": "bf16"}),
                               ("for training", {"train": None, "sequence_parallel": True})):
            with self.assertRaisesRegex(popliner.UsageError, wrong):
                read(**options)

    def test_what_is_needed_at_least_and_at_most(self):
        """Answers say of each stage what a table of these sizes alone says."""
        def of_sizes(table, estimate):
            alone = copy.deepcopy(table)
            for unit in alone.units:
                vars(unit).update(unit.estimates.pop(estimate, {}))
                unit.estimates = {}
            share = alone.shared_shares.get(estimate, 1)
            alone.shared = [(names, round(size * share)) for names, size in alone.shared]
            alone.shared_shares = {}
            return alone

        tied = dict(LLAMA, num_hidden_layers=3, tie_word_embeddings=True)
        for options in ({"server": "vllm", "pipeline": 2}, {"train": "adam-mixed"},
                        {"train": "adam-mixed", "shard": "optimizer", "recompute": "mlp"},
                        {"train": "adam-mixed", "torch_adam": True}):
            own = self.read(tied, sequence=64, **options)
            copies = {"copies": "1f1b+1"} if "train" in options else {}
            forms = [lambda **more: own.costs(**copies, **more)]
            if "torch_adam" not in options:
                forms.append(lambda **more: popliner.Costs.parse(own.csv(), "t", **copies, **more))
            for k, costs in enumerate(forms):
                for split in ([1], [1, 3], [2]):
                    found = costs().evaluate(split).json()["stages"]
                    least = costs(need="least").evaluate(split).json()["stages"]
                    for stage, at_least, lower, upper in zip(found, least, *(
                            of_sizes(own, it).costs(**copies).evaluate(split).json()["stages"]
                            for it in ("least", "most"))):
                        self.assertLessEqual(at_least["need_bytes"], stage["need_bytes"])
                        self.assertLessEqual(stage["need_bytes"], stage["at_most_bytes"])
                        # tied weights in a table are rounded apart
                        near = 9 + k * .04 * own.shared[0][1]
                        self.assertLess(abs(at_least["need_bytes"] - lower["need_bytes"]), near)
                        self.assertLess(abs(stage["at_most_bytes"] - upper["need_bytes"]), near)
        own = self.read(tied, train="adam-mixed")
        for devices, copies in (([0, 1, 1, 0], "1f1b+1"), ([0, 1, 2, 3], "zero-bubble+1")):
            found, right = (it.costs(copies=copies).evaluate([1, 2, 4], device_map=devices).json()[
                "stages"] for it in (own, of_sizes(own, "most")))
            self.assertEqual([it["at_most_bytes"] for it in found],
                             [it["need_bytes"] for it in right])

    def test_layers_that_are_recomputed_alone(self):
        """Each keeps 2 h bytes a token (Korthikanti et al.), a stage its largest layer once, here
        of h 8 with gradients of its MLP: two dense ones of f 20 and one whose token goes through
        2 experts of f 6, each with 4 h."""
        config = of("mixtral", 8, 3, 2, 6, 10, UNTIED, num_local_experts=4, num_experts_per_tok=2,
                    first_k_dense_replace=2, intermediate_size_mlp=20)
        plain = self.read(config, train="adam-mixed", sequence=5)
        table = self.read(config, train="adam-mixed", sequence=5, recompute="layers")
        self.assertIn("Recomputing keeps an input for each layer:", " ".join(table.notes))
        self.assertEqual([unit.stash for unit in table.units[:-1]], [0, *3 * [5 * 2 * 8]])
        self.assertEqual(table.units[-1].stash, plain.units[-1].stash)
        costs = table.costs(copies=[0])
        for first, last in ((1, 3), (2, 3), (3, 3), (1, 2)):
            units = plain.units[first:last + 1]
            largest = 2 * 6 * 20 if first < 3 else 2 * 6 * 12 + 2 * 4 * 8
            self.assertEqual(costs.peak(first, last), sum(unit.memory for unit in units)
                             + (80 << 20) + 5 * (16 * 8 + largest))
        for unit, before in zip(table.units[1:4], plain.units[1:4]):
            self.assertEqual((unit.backward, unit.inputs), (3 * before.forward, 0))
            self.assertEqual(unit.recomputed + unit.stash, before.stash)
        kept = sum(it.memory + 2 * it.stash for it in plain.units[2:4])  # the last of two stages
        self.assertEqual(table.costs(copies="zero-bubble+1").peak(2, 3, 2), kept + 5 * 2 * 8
                         + max(it.workspace for it in plain.units[2:4]))

    def test_ties_and_text_config(self):
        tied = self.read(dict(LLAMA, tie_word_embeddings=True))
        self.assertEqual(sum(weights(tied).values()), 2 * (8030261248 - 128256 * 4096))
        self.assertEqual(tied.shared, [(["embedding", "head"], 2 * 128256 * 4096)])
        narrow = self.read(MODELS["opt-350m"][0])  # its table, positions and a projection; another
        self.assertEqual((narrow.shared[0][1], narrow.units[0].memory, narrow.units[-1].memory),
                         (2 * 50272 * 512, 2 * 1024 * (2050 + 512), 2 * 1024 * 512))
        biased = self.read({"model_type": "gptj", "n_embd": 8, "n_head": 2, "n_layer": 1,
                            "vocab_size": 100, "tie_word_embeddings": True})
        self.assertEqual(biased.shared, [(["embedding", "head"], 2 * 100 * 8)])
        tied = self.read(dict(LLAMA, tie_word_embeddings=True), train="adam", trainable="head")
        self.assertEqual((tied.units[0].memory, tied.shared[0][1]), (0, 4 * 2 * 4096 * 128256))
        nested = self.read({"model_type": "llava", "text_config": LLAMA, "vision_config": {}})
        self.assertEqual(weights(nested), weights(self.read(LLAMA)))

    def test_logits(self):
        """A head multiplies each token that it computes with 4096 x 128256, by hand."""
        every = self.read(LLAMA, sequence=100, batch=3)
        last = self.read(LLAMA, sequence=100, batch=3, logits="last")
        self.assertEqual((every.units[-1].time, last.units[-1].time),
                         (2 * 300 * 4096 * 128256, 2 * 3 * 4096 * 128256))
        self.assertEqual(every.units[1], last.units[1])
        self.assertIn("logits all", every.csv())
        self.assertIn("logits last", last.csv())
        for options in ({"logits": "last"}, {"embedding": "host"}):
            with self.assertRaisesRegex(popliner.UsageError, "is for inference; leave out train"):
                self.read(LLAMA, train="adam", **options)
        host = self.read(LLAMA, embedding="host")
        self.assertEqual((host.units[0].memory, host.units[0].weight_bytes),
                         (0, 2 * 4096 * 128256))

    def test_the_solver_reads_what_is_written(self):
        table = self.read(dict(LLAMA, tie_word_embeddings=True), train="adam-mixed")
        csv_path = write("solve/costs.csv", table.csv().encode())
        json_path = write("solve/costs.json", table.json().encode())
        head = table.units[0].memory + table.shared[0][1]
        own = table.costs(copies=[0, 0])
        for path in (csv_path, json_path):
            costs = popliner.Costs.read(path, copies=[0, 0])
            self.assertEqual(costs.unit_names, tuple(unit.name for unit in table.units))
            self.assertEqual(costs.peak(0, 0), head + (80 << 20))
            self.assertEqual(costs.peak(1, 2), 2 * table.units[1].memory + table.units[1].workspace)
            self.assertEqual(costs.cycles(1, 2), 2 * table.units[1].time)
            self.assertEqual(costs.cut(4), table.units[3].cut)
            for last in range(34):  # a stage with both ends has the tied weights once
                self.assertEqual(costs.peak(0, last), own.peak(0, last))
            self.assertEqual(costs.counted_units, [unit.kind == "layer" for unit in table.units])
        # a file of costs has times of less than 2^52 / 10^9 ms, if with fractions
        with self.assertRaisesRegex(popliner.InputError, "config.json: .* a larger unit$"):
            self.read(LLAMA, tflops=1e-6)

    def test_wrong_configurations(self):
        for change, told in (({"model_type": "unheard-of"}, "'unheard-of' is unknown"),
                             ({"hidden_size": "8"}, "hidden_size '8': expected"),
                             ({"hidden_size": None}, "has no hidden_size"),
                             ({"num_hidden_layers": 0}, "from 1 to"),
                             ({"num_hidden_layers": 99999}, "at most 16382"),
                             ({"num_attention_heads": 7}, "no multiple"),
                             ({"num_key_value_heads": 3}, "no multiple of 3"),
                             ({"quantization_config": {"quant_method": "x"}}, "give dtype"),
                             ({"tie_word_embeddings": 1}, "true or false"),
                             ({"torch_dtype": "int3"}, "torch_dtype 'int3' is unknown"),
                             ({"num_local_experts": 8, "mlp_only_layers": 5}, "mlp_only_layers"),
                             ({"layer_types": ["unheard-of"] * 32}, "layer_types"),
                             ({"layer_types": ["linear_attention"] * 32}, "linear_num_value"),
                             ({"num_local_experts": 2, "num_experts_per_tok": 3}, "of 2 experts")):
            with self.subTest(told), self.assertRaisesRegex(popliner.InputError, told):
                self.read(dict(LLAMA, **change))
        with self.assertRaisesRegex(popliner.InputError, "32 heads cannot be divided among 3"):
            self.read(LLAMA, tensor=3)
        self.read(dict(LLAMA, quantization_config={"bits": 8}), dtype="int8")
        for options in ({"batch": 0}, {"train": "sgd2"}, {"kv_dtype": "x"}, {"tensor": True},
                        {"unknown": 1}, {"tflops": 0.0}, {"activations": "some"}):
            with self.subTest(options), self.assertRaises(popliner.UsageError):
                self.read(LLAMA, **options)
        with self.assertRaises(TypeError):
            read_source("x", "x")


class Graphs(unittest.TestCase):
    def test_onnx(self):
        table = read_source(write("m.onnx", onnx()), dims={"batch": 2})
        self.assertEqual(weights(table), {"embedding": 128, "0": 128, "1": 128, "head": 12})
        self.assertEqual(table.shared, [(["0", "1"], 128)])
        # weights that are not shared, and the most that a node reads and writes
        self.assertEqual([unit.memory for unit in table.units],
                         [128 + 32 + 64, 64 + 64, 3 * 64, 12 + 64 + 24])
        # e; e and b; c
        self.assertEqual([unit.cut for unit in table.units], [64, 128, 64, 0])
        unsized = read_source(write("m.onnx", onnx()))
        self.assertIn("sizes of batch", unsized.csv())
        self.assertEqual([unit.cut for unit in unsized.units], [0, 64, 64, 0])
        nodes = read_source(write("m.onnx", onnx()), group="(nothing)")
        self.assertEqual([unit.name for unit in nodes.units][:2],
                         ["/embed/MatMul", "/layers.0/MatMul"])

    PROGRAM = """
import json, os, sys
import onnx
from onnx import numpy_helper
for path in sys.argv[1:]:
    graph = onnx.load(path, load_external_data=False).graph
    sizes = {it.name: numpy_helper.to_array(it).nbytes for it in graph.initializer}
    nodes = [sum(sizes[name] for name in set(node.input) & set(sizes)) for node in graph.node]
    unused = set(sizes).difference(*(node.input for node in graph.node))
    if nodes:
        nodes[0] += sum(sizes[name] for name in unused)
    print(json.dumps(nodes))
"""

    def test_models_of_debian(self):
        """libonnx-testdata: the bytes of the initialisers of each node, by the arrays that the onnx
        package makes of them."""
        root = "/usr/share/libonnx-testdata"
        paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(root)
                       for name in names if name.endswith(".onnx"))
        counted = subprocess.run(["/usr/bin/python3", "-c", self.PROGRAM, *paths], check=False,
                                 capture_output=True) if paths else None
        if counted is None or b"No module named" in counted.stderr:
            self.skipTest("Debian's libonnx-testdata or python3-onnx is not installed")
        self.assertEqual((counted.returncode, counted.stderr), (0, b""))
        read = bytes_of_weights = 0
        for path, line in zip(paths, counted.stdout.splitlines(), strict=True):
            with self.subTest(path):
                try:
                    table = read_source(path, group="(nothing)")
                except popliner.InputError as error:
                    self.assertRegex(str(error), "has texts|no nodes|unknown type")
                    continue
                own = [unit.weight_bytes for unit in table.units]
                self.assertEqual(own, json.loads(line))
                read, bytes_of_weights = read + 1, bytes_of_weights + sum(own)
        print(f"{read} of {len(paths)} models of Debian, {bytes_of_weights} bytes of initialisers")
        self.assertGreater(bytes_of_weights, 0)
        self.assertGreater(read, len(paths) * 9 // 10)

    def test_times_of_runs(self):
        """In the first run layer 0 is slow, in the second layer 1: a stage of both takes the
        larger sum, and not the sum of the largest."""
        path = write("stats.csv", STATISTICS)
        runs = write("runs.json", profile([1000, 4000, 3000, 1000, 500],
                                          [1000, 1000, 1000, 6000, 0]))
        table = read_source(path, profile=runs)
        self.assertEqual([unit.samples for unit in table.units],
                         [[(1, 0), (1, 0)], [(7, 0), (2, 0)], [(1, 0), (6, 0)], [(.5, 0), (0, 0)]])
        csv_path = write("times.csv", table.csv().encode())
        for costs in (table.costs(), popliner.Costs.read(csv_path)):
            first = costs.cycles(0, 0)  # 1 ms
            self.assertEqual([costs.cycles(*it) for it in ((1, 1), (2, 2), (1, 2), (0, 3))],
                             [7 * first, 6 * first, 8 * first, 19 * first // 2])
        self.assertIn("a sample for each of 2 runs", table.csv())
        one = read_source(path, profile=write("runs.json", profile([1000, 4000, 3000, 1000, 500])))
        self.assertEqual([(unit.samples, unit.time) for unit in one.units],
                         [([], 1), ([], 7), ([], 1), ([], .5)])
        model = read_source(write("m.onnx", onnx()), profile=write("runs.json", profile(
            [1000] * 5, [2000] * 5, names=["/embed/MatMul", "/layers.0/MatMul", "/layers.0/Relu",
                                           "/layers.1/MatMul", "/head/MatMul"])))
        self.assertEqual([unit.samples for unit in model.units],
                         [[(n, 0), (2 * n, 0)] for n in (1, 2, 1, 1)])
        for events, told in (({}, "a list of events"), ([], "expected 1 to 256"),
                             (profile([1] * 5, names=["x"] * 5), "'x' is no node"),
                             (profile(*[[1] * 5] * 257), "257 times"),
                             ([{"name": "model_run", "ts": 1.5, "dur": 2}], "microseconds")):
            with self.assertRaisesRegex(popliner.InputError, told):
                read_source(path, profile=write("runs.json", events))
        with self.assertRaisesRegex(popliner.UsageError,
                                    "statistics of ONNX Runtime, not for config.json"):
            read_source(write("config/config.json", LLAMA), profile=runs)

    def test_statistics(self):
        table = read_source(write("stats.csv", STATISTICS))
        self.assertEqual([(unit.name, unit.memory) for unit in table.units],
                         [("embedding", 120), ("0", 50 + 60 + 9), ("1", 101), ("head", 10)])
        for old, new, told in ((b",7\n", b",x\n", "line 3"),
                               (b"_sizes,total", b",total", "columns"),
                               (b",20,0\n", b",20\n", "line 2")):
            with self.assertRaisesRegex(popliner.InputError, told):
                read_source(write("stats.csv", STATISTICS.replace(old, new)))


def gguf_of(**pairs):
    """A GGUF file of one layer; a pair is a number, or (type, bytes)."""
    pairs = {"block_count": 1, "embedding_length": 8, "attention.head_count": 2, **pairs}
    out = b"GGUF" + struct.pack("<IQQ", 3, 1, 1 + len(pairs))
    out += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in pairs.items():
        kind, data = value if isinstance(value, tuple) else gguf_value(value)
        out += text("llama." + key) + struct.pack("<I", kind) + data
    out += text("blk.0.w") + struct.pack("<IQIQ", 1, 8, 0, 0)
    return out + bytes(-len(out) % 32) + bytes(32)


def onnx_chain(*nodes, given=("x",), made=()):
    """A model of nodes (inputs, outputs, name), with initialisers `given`."""
    graph = b"".join(pb(1, onnx_node(*it)) for it in nodes)
    graph += b"".join(pb(5, onnx_tensor(name, [1], 1, bytes(4))) for name in made)
    return pb(1, 8) + pb(7, graph + b"".join(pb(11, onnx_value(name, [4])) for name in given))


def most_kib():
    """The most memory that this process had; getrusage() begins with that of its parent."""
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])


def cost_of_reading(path):
    """What is wrong with a file, and the seconds and KiB that it takes to see it."""
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    before, start, told = most_kib(), time.process_time(), None
    try:
        read_source(path)
    except popliner.InputError as error:
        told = str(error)
    return told, time.process_time() - start, most_kib() - before


class Robust(unittest.TestCase):
    """Files that lie, and outputs that must not destroy what is read."""

    def run_command(self, *arguments, **options):
        return subprocess.run([sys.executable, "-m", "popliner.costs", *arguments], check=False,
                              stderr=subprocess.PIPE,
                              **{"env": common.PYTHON_ENVIRONMENT, **options})

    @staticmethod
    def locale(name):
        """An environment whose texts are in this locale, whatever Python would rather have."""
        return {**common.PYTHON_ENVIRONMENT, "LC_ALL": name, "PYTHONUTF8": "0",
                "PYTHONCOERCECLOCALE": "0"}

    def test_nothing_that_is_read_is_replaced(self):
        """Whatever it is called: itself, links, config.json, shards, the profile."""
        folder = os.path.dirname(write("own/config.json", LLAMA))
        layer = safetensors([("model.layers.0.w", "F32", [1], 4)])
        write("own/a.safetensors", layer)
        write("own/model.safetensors.index.json",
              {"weight_map": {"model.layers.0.w": "a.safetensors"}})
        write("own/config.json", dict(LLAMA, num_hidden_layers=1))
        write("own/m.onnx", onnx_chain((["x"], ["y"], "/layers.0/a")))
        write("own/p.json", profile([5], names=["/layers.0/a"]))
        os.symlink("a.safetensors", os.path.join(folder, "soft"))
        os.symlink("soft", os.path.join(folder, "softer"))
        os.link(os.path.join(folder, "a.safetensors"), os.path.join(folder, "hard"))
        def contents():
            result = {}
            for name in before or os.listdir(folder):
                with open(os.path.join(folder, name), "rb") as file:
                    result[name] = file.read()
            return result

        before = {}
        before = contents()
        for source, output in (("", "a.safetensors"), ("", "soft"), ("", "softer"), ("", "hard"),
                               ("", "config.json"), ("", "model.safetensors.index.json"),
                               ("a.safetensors", "config.json"), ("m.onnx", "m.onnx"),
                               ("m.onnx", "p.json"), ("", "../own/hard")):
            more = ["--profile", os.path.join(folder, "p.json")] if source == "m.onnx" else []
            with self.subTest(output):
                with mock.patch("os.write") as log:
                    status = main([os.path.join(folder, source), *more, "--output",
                                   os.path.join(folder, output)])
                self.assertEqual(status, 2, log.mock_calls)
                self.assertIn(b"would overwrite a file that is read", log.call_args[0][1])
        with open(os.path.join(folder, "hard"), "ab") as output:
            self.assertEqual(self.run_command(folder, stdout=output).returncode, 2)
        self.assertEqual(contents(), before)
        self.assertEqual(main([folder, "--output", os.path.join(folder, "new.csv")]), 0)

    def test_numbers_of_gguf(self):
        for name, value in (("block_count", (6, struct.pack("<f", 1))),
                            ("block_count", (7, b"\1")), ("embedding_length", "8"),
                            ("attention.kv_lora_rank", (5, struct.pack("<i", -1000))),
                            ("attention.head_count", (10, struct.pack("<Q", 1 << 63))),
                            ("attention.head_count_kv", (9, struct.pack("<IQi", 5, 1, -1))),
                            ("rope.dimension_count", (12, struct.pack("<d", float("nan")))),
                            ("feed_forward_length", []), ("expert_used_count", ["a"]),
                            ("attention.sliding_window", (11, struct.pack("<q", -5))),
                            ("attention.key_length", [[1]]), ("block_count", 0)):
            with self.subTest(name), self.assertRaisesRegex(popliner.InputError, name):
                read_source(write("n.gguf", gguf_of(**{name: value})))

    def test_graphs_of_onnx(self):
        first, second = "/layers.0/a", "/layers.1/a"
        for nodes, told in (
                ([(["z"], ["y"], first), (["y"], ["z"], second)], "'z' is used before it is made"),
                ([(["x", "y"], ["y"], first)], "'y' is used before it is made"),
                ([(["q"], ["y"], first), (["x"], ["q"], first)], "'q' is used before it is made"),
                ([(["x"], ["y"], first), (["x"], ["y"], second)], "'y' is made twice"),
                ([(["x"], ["y", "y"], first)], "'y' is made twice"),
                ([(["y"], ["x"], first)], "'x' is made twice"),
                ([(["x"], ["w"], first)], "'w' is made twice")):
            with self.subTest(told), self.assertRaisesRegex(popliner.InputError, told):
                read_source(write("g.onnx", onnx_chain(*nodes, made=["w"])))
        read_source(write("g.onnx", onnx_chain((["x", "w", ""], ["y", ""], first),
                                               (["y", "outside"], ["", "z"], second), made=["w"])))

    def test_kinds_of_files(self):
        """A ninth byte or a first one that happens to be a brace."""
        node = onnx_chain((["x"], ["y"], "/layers.0/a"))
        braced = pb(1, 8) + pb(2, "wri" + "{" + "er") + node[2:]
        for shift in range(4):
            braced = pb(1, 8) + pb(2, "p" * (4 - shift) + "{" * (1 + shift)) + node[2:]
            self.assertEqual(braced[8:9], b"{")
            self.assertEqual([unit.name for unit in read_source(write("b.onnx", braced)).units],
                             ["0"])
        one = [("layers.0.w", "F32", [1], 4)]
        for length in (123, 123 * 256 + 32, 10 + 123 * 256):  # which begin with {, " {" and "\n{"
            content = safetensors(one, padding=length - len(safetensors(one)) + 12)
            self.assertEqual(struct.unpack("<Q", content[:8]), (length,))
            self.assertEqual(read_source(write("c", content)).units[1].memory, 4)

    def test_names(self):
        """What a terminal obeys, and what is no text, in names of files, tensors and nodes."""
        bad = "\x1b[2J\u202e\u2028\x9b\r\n\t"
        shown = "\\u001b[2J\\u202e\\u2028\\u009b\\r\\n\\t"
        nodes = [(["x"], ["y"], bad), (["y"], ["z"], bad + "\0"), (["z"], ["a"], bad),
                 (["a"], ["b"], shown)]
        table = read_source(write("n.onnx", onnx_chain(*nodes)))
        names = [shown, shown + "\\u0000", shown + "#2", shown + "#3"]
        self.assertEqual([unit.name for unit in table.units], names)
        self.assertEqual(popliner.Costs.read(write("n.csv", table.csv().encode())).unit_names,
                         tuple(names))
        stacks = safetensors([(name + ".layers.0.w", "F32", [1], 4) for name in (bad, "z")])
        self.assertEqual(read_source(write("s", stacks)).units[1].name, shown + ".0")
        content = pb(1, 8) + pb(7, pb(1, onnx_node(["x"], ["y"], "a")) +
                                pb(11, onnx_value("x", [bad])))
        self.assertIn(shown, read_source(write("d.onnx", content)).csv())
        lone = b'{"\\ud800.layers.0.w":{"dtype":"F3","shape":[1],"data_offsets":[0,4]}}'
        write("l.safetensors", struct.pack("<Q", len(lone)) + lone + bytes(4))
        two = safetensors([(bad + ".a.layers.1.w", "F32", [1], 4), (bad, "F33", [1], 4)])
        write("t\x1b.safetensors", two)
        program = ("import itertools, sys\nfrom popliner.costs.__main__ import main\n"
                   "for ends, own in itertools.groupby(sys.argv[1:], '|'.__eq__):\n"
                   "    ends or print(main(list(own)))")
        wrong = ["l.safetensors", "|", "t\x1b.safetensors", "|", "none\x1b\udcff", "|",
                 "x", "--x\x1b", "|", "x", "--group", "(\x1b"]
        for locale in common.some(("C", "C.UTF-8"), 2):
            done = subprocess.run([sys.executable, "-c", program, *wrong], check=False,
                                  capture_output=True, cwd=common.scratch(),
                                  env=self.locale(locale))
            self.assertRegex(done.stdout, b"^([23]\n){5}$", done.stderr)
            self.assertNotRegex(done.stderr.decode(), r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            self.assertEqual(done.stderr.count(b"\n"), 5, done.stderr)

    def test_streams(self):
        """A full disk, a closed stream, a reader that ends: like the command."""
        path = write("config/config.json", LLAMA)
        for words in ([path], ["--help"]):
            with open("/dev/full", "wb") as full:
                done = self.run_command(*words, stdout=full)
            self.assertEqual(done.returncode, 3)
            self.assertIn(b"standard output cannot be written: No space left", done.stderr)
        closed = self.run_command(path, preexec_fn=lambda: os.close(1))
        self.assertEqual(closed.returncode, 3, closed.stderr)
        reading, writing = os.pipe()
        os.close(reading)
        done = self.run_command(path, stdout=writing)
        os.close(writing)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))
        stop = ("import popliner.costs.__main__ as it\ndef _run(*_):\n    raise KeyboardInterrupt\n"
                "it._run = _run\nit.main([])")
        done = subprocess.run([sys.executable, "-c", stop], check=False, capture_output=True,
                              env=common.PYTHON_ENVIRONMENT)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGINT, b""))
        node = write("é.onnx", onnx_chain((["x"], ["y"], "é→")))
        done = self.run_command(node, stdout=subprocess.PIPE, env=self.locale("C"))
        self.assertIn("\né→,".encode(), done.stdout)

    def test_limits(self):
        """Refused within a second and 200 MB; the bound on time is lax, as machines are loaded."""
        more = 10 if common.takes_all() else 1  # the quick run is just above the limits
        count = 80_000 * more
        entry = '"layers.0.%07d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]},'
        header = ("{" + "".join(entry % (i, i, i + 1) for i in range(count))[:-1] + "}").encode()
        tensor = struct.pack("<Q", 7) + b"%07d" + struct.pack("<IQIQ", 1, 1, 24, 0)
        tensors = b"".join(tensor.replace(b"%07d", b"%07d" % i) for i in range(count))
        short = safetensors([("layers.0.a", "U8", [4], 4), ("layers.0.b", "U8", [4], 4)])
        sparse = write("limits/sparse.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a")
                       + struct.pack("<IIQ", 9, 8, 1 << 30))
        os.truncate(sparse, 1 << 34)
        wide = write("limits/wide.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a")
                     + struct.pack("<IQ", 8, 1 << 33))
        os.truncate(wide, 1 << 34)
        empty = pb(1, b"")
        node = pb(1, onnx_node(["xAAAAAA"], ["xBBBBBB"], "nAAAAAA"))
        nodes = b"".join(node.replace(b"AAAAAA", b"%06d" % i).replace(b"BBBBBB", b"%06d" % (i + 1))
                         for i in range(17_000 * min(more, 5)))
        hostile = {
            "tensors.safetensors": (struct.pack("<Q", len(header)) + header, "expected at most"),
            "tensors.gguf": (b"GGUF" + struct.pack("<IQQ", 3, count, 0) + tensors, "at most"),
            "lists.json": (b"[" + b"[]," * (10 ** 6 * more) + b"[]]", "expected"),
            "keys.json": (b"{" + b",".join(b'"%d":0' % i for i in range(530_000)) + b"}",
                          "expected at most"),
            "overlap.safetensors": (short.replace(b"[4, 8]", b"[3, 7]"), "two tensors"),
            "length.safetensors": (struct.pack("<Q", 1 << 63) + b"{}", "at most"),
            "shape.safetensors": (short.replace(b'"shape": [4]', b'"shape": [%d]' % (1 << 62)),
                                  "has 4 bytes|cut off|no valid"),
            "nodes.onnx": (pb(7, empty * 530_000), "more than 524288 fields"),
            "outputs.onnx": (pb(7, pb(1, pb(2, b"y") * 530_000)), "more than 524288 fields"),
            "sparse.gguf": (None, "texts"), "wide.gguf": (None, "no tensors"),
            "stacks.safetensors": (safetensors([(f"a{i}.layers.0.w", "U8", [1], 1)
                                                for i in range(5000 * more)]), "000 stacks"),
            "mtp.safetensors": (safetensors([("layers.0.w", "U8", [1], 1)] + [
                (f"mtp{i}.layers.0.w", "U8", [1], 1) for i in range(5000 * more)]), "001 stacks"),
            "block.gguf": (gguf({**GGUF_PAIRS, "llama.attention.head_count_kv": 1}, [
                (f"blk.0.{'x' * 900}{i}", [32], 24, 32) for i in range(3000)]), None),
            "names.onnx": (pb(1, 8) + pb(7, nodes + pb(11, onnx_value("x000000", [4]))),
                           "000 units"),
            "long.safetensors": (safetensors([("embed" * (10 ** 5 * more), "U8", [1], 1)]),
                                 "no tensor"),
            "long.onnx": (onnx_chain((["x"], ["y"], "h.1" * (10 ** 5 * more)),
                                     (["y"], ["z"], "b")), None)}
        for name, (content, told) in hostile.items():
            path = os.path.join(common.scratch(), "limits", name)
            if content is not None:
                write(path, content)
            with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as apart:
                error, seconds, kib = apart.submit(cost_of_reading, path).result()
            with self.subTest(name):
                self.assertRegex(error or "", told or "^$")
                self.assertLess(seconds, 5)
                if not common.PRELOAD:
                    self.assertLess(kib, 200 << 10)


def with_torch():
    """A Python that has PyTorch; None if there is none."""
    return next((path for path in (sys.executable, "/usr/bin/python3")
                 if not common.PRELOAD and subprocess.run(
                     [path, "-c", "import torch"], capture_output=True, check=False,
                     env={**os.environ, "PYTHONPATH": ""}).returncode == 0), None)


class Modules(unittest.TestCase):
    """In a process without the sanitizers' runtime, which PyTorch does not stand."""

    PROGRAM = """
import torch
from popliner.costs import torch as costs
h, f, b = 64, 256, 32
class Head(torch.nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.weight = embedding.weight
    def forward(self, x):
        return x @ self.weight
def build():
    chain = [("embed", torch.nn.Linear(h, h))]
    for i in range(2):
        chain.append((f"layers.{i}", torch.nn.Sequential(torch.nn.Linear(h, f), torch.nn.ReLU(),
                                                         torch.nn.Linear(f, h))))
    return chain + [("head", Head(chain[0][1]))], torch.randn(b, h)
chain, x = build()
table = costs.of_modules(chain, x, optimizer="adam-mixed")
layer = h * f + f + f * h + h
assert [u.name for u in table.units] == ["embed", "layers.0", "layers.1", "head"]
assert [u.kind for u in table.units] == ["other", "layer", "layer", "other"]
# weight, gradient, and 12 bytes of the optimizer
assert [u.memory for u in table.units] == [h * 20, layer * 20, layer * 20, 0], table.units
assert table.shared == [(["embed", "head"], h * h * 20)], table.shared
# a layer keeps its input and what ReLU returned, which the second Linear keeps, too
assert [u.stash for u in table.units] == [4 * b * h, 4 * b * (h + f), 4 * b * (h + f), 4 * b * h]
assert all(u.cut == 2 * 4 * b * h and u.inputs == 4 * b * h and u.time > u.forward > 0
           for u in table.units)
from torch._subclasses import FakeTensorMode
with FakeTensorMode():
    fake = costs.of_modules(*build(), optimizer="adam-mixed")
for unit in table.units + fake.units:
    unit.forward = unit.backward = 0
assert fake == table, (fake, table)
several = costs.of_modules(chain, x, optimizer="adam-mixed", repeats=1, samples=3)
assert all(len(u.samples) == 3 and u.forward == max(f for f, _ in u.samples)
           and u.backward == max(b for _, b in u.samples) for u in several.units)
assert several.units[1].cell("backward") == [b for _, b in several.units[1].samples]
for cell in several.csv().splitlines()[-3].split(",")[2:4]:
    assert len(cell.split()) == 3, several.csv()
several.costs(copies="1f1b+1")
inference = costs.of_modules(chain, x, optimizer=None)
assert [u.memory for u in inference.units] == [4 * h, 4 * layer, 4 * layer, 0]
assert all(u.stash == 0 and u.cut == 4 * b * h for u in inference.units)
assert table.costs(copies="1f1b+1").solve(num_ipus=2).fits
print("right")
"""

    def test_modules(self):
        found = with_torch()
        if found is None:
            self.skipTest("PyTorch is not installed, or the library has a sanitizer")
        done = subprocess.run([found, "-c", self.PROGRAM], capture_output=True, check=False,
                              env=os.environ)
        self.assertEqual((done.stdout, done.stderr), (b"right\n", b""))

    def test_stages_that_train(self):
        """Against what the C library has allocated while they train."""
        found = with_torch()
        if found is None:
            self.skipTest("PyTorch is not installed, or the library has a sanitizer")
        optimizers = ["adam", "momentum", "sgd"] if common.takes_all() else ["adam"]
        program = ("import sys, train_stages\n"
                   "for optimizer in sys.argv[1:]:\n"
                   "    for stages in range(2, 2 + (len(sys.argv) > 2) + 1):\n"
                   "        for it in train_stages.compare(2, stages, optimizer):\n"
                   "            print(*it)\n")
        examples = os.path.join(common.ROOT, "tests", "examples")
        done = subprocess.run([found, "-c", program, *optimizers], capture_output=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                  [examples, os.environ["PYTHONPATH"]])})
        self.assertEqual(done.stderr, b"")
        lines = done.stdout.decode().splitlines()
        self.assertEqual(len(lines), 15 if len(optimizers) > 1 else 2)
        for line in lines:
            predicted, measured = map(int, line.split())
            self.assertLess(abs(predicted - measured), measured / 100, line)


class Command(unittest.TestCase):
    def test_command(self):
        path = write("config/config.json", LLAMA)

        def run(*arguments):
            done = common.python("-m", "popliner.costs", *arguments)
            return done.returncode, done.stdout, done.stderr

        self.assertEqual(run(path)[:2], (0, read_source(path).csv()))
        wanted = read_source(path, batch=2, train="adam", tflops=50.0, tensor=2)
        self.assertEqual(run(path, "--batch", "2", "--train", "adam", "--tflops", "50", "--tensor",
                             "2", "--format", "json"), (0, wanted.json(), ""))
        with mock.patch("os.write"):
            self.assertEqual(main(["nowhere"]), 3)
            self.assertEqual(main([path, "--batch", "0"]), 2)
            self.assertEqual(main([path, "--dim", "x"]), 2)
        # equal devices, and what is wrong in the words of the options
        self.assertEqual(run(path, "--devices", "2x1G,2G"), run(path, "--devices", "1G,1G,2G"))
        self.assertEqual(run(path, "--sequence", "8K"), run(path, "--sequence", "8192"))
        for wrong, told in (
                (("-n", "3"), "unrecognized arguments: -n 3;"),
                (("--devices", "1G,,2G"), "expected sizes, like 24G,12G or 8x80G"),
                (("--devices", "1Gx2"), "--devices is '1Gx2': expected bytes"),
                (("--devices", "1G", "-o", "lama"), "--plan is 'lama': expected one of"),
                (("--devices", "1G", "--reserve", "2G"), "--reserve: 2000000000 bytes are more"),
                (("--train", "adam", "--experts-on-host", "3"),
                 ": --experts-on-host 3: is for inference; leave out --train\n"),
                (("--batch", "0"), "--batch 0: expected"),
                (("-o", "vllm"), "--plan is for a split"),
                (("--tokens", "8", "--sequence", "8"), "give one")):
            status, _, error = run(path, *wrong)
            self.assertEqual(status, 2)
            self.assertIn(told, error)


class Options(unittest.TestCase):
    VALUES = {
        "batch": [3], "sequence": [96], "gradient": ["bf16"], "dtype": ["fp8"], "kv_dtype": ["fp8"],
        "v_dtype": ["q8_0"], "tensor": [4], "experts": [4], "expert_tensor": [1], "tflops": [7.0],
        "activations": ["all"], "recompute": ["moe,mlp"], "lora": [4], "trainable": ["head"],
        "sequence_parallel": [True], "context_parallel": [2], "hidden_dropout": [0.5],
        "moe_permute_fusion": [True], "cross_entropy_loss_fusion": [True], "torch_adam": [True],
        "exp_avg_dtype": ["bf16"], "exp_avg_sq_dtype": ["bf16"], "shard": ["gradients"],
        "data": [4], "logits": ["all", "last"], "embedding": ["device", "host"],
        "mtp": ["keep", "drop"], "ubatch": [64], "flash": [False],
        "server": ["llama:9000"], "batched_tokens": [512], "sequences": [64], "pipeline": [2],
        "group": ["(l)"], "dims": [{"batch": 5}], "host_experts": [1], "host_layers": [1],
        "host_slowdown": [9], "train": ["sgd"]}
    #: What a plan for SGLang keeps free depends on these (settings_of), no unit does.
    OF_PLANS = {("sglang", "batched_tokens"), ("sglang", "sequences"), ("sglang", "pipeline")}

    def sources(self):
        """Each has experts, and a layer that predicts further tokens, where it may."""
        matrices = [(f"blk.{i}.{name}.weight", dims) for i in range(2) for name, *dims in (
            ("attn_q", 256, 256), ("attn_k", 256, 128), ("attn_v", 256, 128), ("attn_norm", 256),
            ("attn_output", 256, 256), ("ffn_gate_inp", 256, 4), ("ffn_gate_exps", 256, 512, 4),
            ("ffn_up_exps", 256, 512, 4), ("ffn_down_exps", 512, 256, 4), ("ffn_norm", 256))]
        pairs = {**GGUF_PAIRS, "llama.attention.head_count_kv": 2, "llama.expert_count": 4,
                 "llama.expert_used_count": 2, "llama.nextn_predict_layers": 1}
        moe = {**QWEN3_MOE, "num_hidden_layers": 2, "num_nextn_predict_layers": 1}
        yield "GGUF", write("options/m.gguf", gguf(pairs, [
            *GGUF_TENSORS[:1], *((name, dims, 0, 4 * math.prod(dims)) for name, dims in matrices)]))
        yield "config.json", write("options/config.json", moe)
        yield "job", write("options/job.sh", (
            b"--num-layers 4 --hidden-size 64 --num-attention-heads 4 --seq-length 512 --swiglu "
            b"--vocab-size 1000 --max-position-embeddings 512 --num-experts 4 --mtp-num-layers 1 "
            b"--hidden-dropout 0 --global-batch-size 64 --tensor-model-parallel-size 2"))
        yield "safetensors", write("options/a/m.safetensors", safetensors(transformer(3)))
        write("options/a/config.json", {**LLAMA, "num_hidden_layers": 3})
        yield "ONNX", write("options/m.onnx", onnx())
        yield "statistics", write("options/m.csv", STATISTICS)

    def test_none_is_ignored(self):
        """Each of a model or its purpose changes the costs, or is refused."""
        profiled = write("options/runs.json", profile([1] * 5))
        values, ignored = {**self.VALUES, "profile": [profiled]}, []
        known = {it.name for it in dataclasses.fields(Assumed)}
        self.assertEqual(known, set(values) | {
            "megatron", "cells", "devices", "stage_layers", "first_layers"})
        for (source, path), (purpose, base) in itertools.product(self.sources(), {
                "inference": {}, "vllm": {"server": "vllm"}, "sglang": {"server": "sglang"},
                "training": {"train": "adam-mixed", "tensor": 2, "experts": 2,
                             "shard": "optimizer"}}.items()):
            def costs(path=path, **options):
                try:
                    found = read_source(path, **options).document()
                    said = re.sub(r"Assumed: .*?\.(?= [A-Z]|$)", "", found["description"])
                    return {**found, "description": said}
                except popliner.Error:
                    return None

            plain = costs(**base)
            ignored += [(source, purpose, name) for name in values
                        if plain is not None and (purpose, name) not in self.OF_PLANS
                        and all(costs(**{**base, name: it}) == plain for it in values[name])]
        self.assertEqual(ignored, [("safetensors", it, "mtp") for it in (  # it has no such layer
            "inference", "vllm", "sglang")])


if __name__ == "__main__":
    common.main()
