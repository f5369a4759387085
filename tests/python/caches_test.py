"""Caches and states of layers against formulas of the servers, on random configurations.

Each formula is from the sources of a server alone, whose class or function it names (vLLM:
kv_cache_interface.py and mamba_utils.py; SGLang: configs/mamba_utils.py, where states of scans are
float32 and those of convolutions bfloat16; transformers: cache_utils.py).

SPDX-License-Identifier: GPL-3.0-or-later
"""

import json
import os
import random
import unittest

import common
from models import of
from popliner.costs import read_source

SEED = int(os.environ.get("POPLINER_SEED", random.randrange(1000000)))
print(f"seed {SEED} (POPLINER_SEED)")
CHANCE = random.Random(SEED)
LAYERS, HEADS, SIZE = 8, 8, 32
HIDDEN = HEADS * SIZE
pick = CHANCE.choice


def attention(heads, size, tokens, tensor=1):
    """vLLM: FullAttentionSpec, keys and values in bf16; a rank has a whole head at least."""
    return 2 * max(heads // tensor, 1) * size * 2 * tokens


def latent(rank, rope, tokens):
    """vLLM: MLAAttentionSpec, one head of both together, not divided."""
    return (rank + rope) * 2 * tokens


def states(channels, kernel, scanned, tensor, size=4):
    """SGLang: BaseLinearStateParams.mamba_cache_per_req of a layer."""
    return (channels * (kernel - 1) * 2 + scanned * size) // tensor


def plain(kind, heads):
    def made(tokens, tensor):
        return [attention(heads, SIZE, tokens, tensor)] * LAYERS
    keys = {"num_key_value_heads": heads, "multi_query": True} if kind == "gpt_bigcode" else \
        {"num_key_value_heads": heads}
    return of(kind, HIDDEN, LAYERS, HEADS, 64, 100, **keys), made


def mla():
    """vLLM: DeepseekV32IndexerCache has bytes, and a scale in float32 for every 128."""
    rank, rope, index = pick([64, 96]), pick([16, 32]), pick([None, 64, 128, 256])
    indexed = 0 if index is None else index + 4 * -(-index // 128)
    return of("deepseek_v32" if index else "deepseek_v3", HIDDEN, LAYERS, HEADS, 64, 100,
              n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
              kv_lora_rank=rank, q_lora_rank=48, qk_nope_head_dim=16, qk_rope_head_dim=rope,
              v_head_dim=24, index_head_dim=index, index_n_heads=4), \
        lambda tokens, tensor: [latent(rank, rope, tokens) + indexed * tokens] * LAYERS


def window(kind, key, period):
    """transformers: StaticSlidingWindowLayer keeps min(sliding_window, max_cache_len) tokens; with
    chunks, as many; the last layer of a period has all (layer_types, no_rope_layers)."""
    heads, most = pick([1, 2, 4]), pick([16, 100])
    more = {"num_local_experts": 2, "num_experts_per_tok": 1} if kind == "llama4_text" else {}
    return of(kind, HIDDEN, LAYERS, HEADS, 64, 100, num_key_value_heads=heads, head_dim=SIZE,
              **{key: most}, **more), lambda tokens, tensor: [
                  attention(heads, SIZE, tokens if (i + 1) % period == 0 else min(most, tokens),
                            tensor) for i in range(LAYERS)]


def nemotron():
    """SGLang: Mamba2StateShape; M: Mamba 2, *: attention, -: an MLP, which keeps nothing.
    transformers 5 lists them by name; vLLM: the file may have the type of states."""
    pattern = "".join(CHANCE.choices("M*-", k=LAYERS - 2)) + "M*"
    heads, size, groups = pick([4, 8]), 16, pick([2, 4])
    state, kernel = pick([16, 32]), pick([3, 4])
    inner = heads * size

    def made(tokens, tensor):
        parts = {"M": states(inner + 2 * groups * state, kernel, heads * size * state, tensor,
                             2 if dtype == "bfloat16" else 4),
                 "*": attention(2, SIZE, tokens, tensor), "-": 0}
        return [parts[it] for it in pattern]
    dtype = pick([None, "float32", "bfloat16"])
    named = [{"M": "linear_attention", "*": "full_attention", "-": "mlp"}[it] for it in pattern]
    kinds = pick([{"hybrid_override_pattern": pattern}, {"layers_block_type": named}])
    config = of("nemotron_h", HIDDEN, LAYERS, HEADS, 64, 100, num_key_value_heads=2,
                attention_head_dim=SIZE, ssm_state_size=state, mamba_num_heads=heads,
                mamba_head_dim=size, n_groups=groups, conv_kernel=kernel,
                mamba_ssm_cache_dtype=dtype, **kinds)
    if "layers_block_type" in kinds:
        del config["num_hidden_layers"]
    return config, made


def all_mamba():
    """transformers: GraniteMoeHybridConfig and BambaConfig have Mamba 2 alone if none is named."""
    state, kernel, kind = pick([16, 32]), pick([3, 4]), pick(["granitemoehybrid", "bamba"])
    return of(kind, HIDDEN, LAYERS, HEADS, 64, 100, mamba_n_heads=8, mamba_d_head="auto",
              mamba_expand=2, mamba_d_state=state, mamba_n_groups=1, mamba_d_conv=kernel), \
        lambda tokens, tensor: [states(2 * HIDDEN + 2 * state, kernel, 2 * HIDDEN * state,
                                       tensor)] * LAYERS


def mamba():
    """vLLM: mamba1_state_shape, of intermediate_size, whatever `expand` says (Falcon Mamba)."""
    state, kernel, expand = pick([8, 16]), pick([3, 4]), pick([1, 2])
    inner = pick([expand * HIDDEN, 3 * HIDDEN])
    return dict(model_type=pick(["mamba", "falcon_mamba"]), hidden_size=HIDDEN, vocab_size=100,
                num_hidden_layers=LAYERS, state_size=state, conv_kernel=kernel, expand=expand,
                intermediate_size=inner), lambda tokens, tensor: [
                    states(inner, kernel, inner * state, 1)] * LAYERS


def delta_net():
    """vLLM: gated_delta_net_state_shape; every fourth layer has attention (Qwen3-Next)."""
    keys, values, size, kernel = pick([2, 4]), pick([4, 8]), pick([16, 32]), 4
    return of("qwen3_next", HIDDEN, LAYERS, HEADS, 64, 100, num_key_value_heads=2, head_dim=SIZE,
              linear_num_key_heads=keys, linear_num_value_heads=values, linear_key_head_dim=size,
              linear_value_head_dim=size, linear_conv_kernel_dim=kernel, num_experts=4,
              num_experts_per_tok=2, moe_intermediate_size=32,
              shared_expert_intermediate_size=32), \
        lambda tokens, tensor: [
            attention(2, SIZE, tokens, tensor) if i % 4 == 3 else
            states((2 * keys + values) * size, kernel, values * size * size, tensor)
            for i in range(LAYERS)]


def delta_attention():
    """SGLang: KimiLinearStateShape; layers are counted from 1."""
    rank, heads, size, kernel = 64, pick([4, 8]), pick([16, 32]), pick([3, 4])
    full = sorted(CHANCE.sample(range(1, LAYERS + 1), 3))
    return of("kimi_linear", HIDDEN, LAYERS, HEADS, 64, 100, kv_lora_rank=rank, q_lora_rank=None,
              qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16, num_experts=4,
              num_experts_per_token=2, moe_intermediate_size=32, linear_attn_config=dict(
                  full_attn_layers=full, kda_layers=[i for i in range(1, LAYERS + 1)
                                                     if i not in full], num_heads=heads,
                  head_dim=size, short_conv_kernel_size=kernel)), lambda tokens, tensor: [
                      latent(rank, 16, tokens) if i + 1 in full else
                      states(3 * heads * size, kernel, heads * size * size, tensor)
                      for i in range(LAYERS)]


def short():
    """vLLM: short_conv_state_shape of the hidden size (LFM2)."""
    kernel, kinds = pick([3, 4]), CHANCE.choices(["conv", "full_attention"], k=LAYERS)
    return of("lfm2", HIDDEN, LAYERS, HEADS, 64, 100, num_key_value_heads=2, conv_L_cache=kernel,
              layer_types=kinds), lambda tokens, tensor: [
                  attention(2, SIZE, tokens, tensor) if it == "full_attention" else
                  states(HIDDEN, kernel, 0, tensor) for it in kinds]


def whisper():
    """vLLM: CrossAttentionSpec of all the encoder's positions, besides those of the decoder."""
    frames = pick([20, 300])
    return dict(model_type="whisper", d_model=HIDDEN, encoder_layers=3, decoder_layers=4,
                encoder_attention_heads=HEADS, decoder_attention_heads=HEADS, encoder_ffn_dim=64,
                decoder_ffn_dim=64, vocab_size=100, max_source_positions=frames,
                max_target_positions=400), lambda tokens, tensor: [0] * 3 + [
                    attention(HEADS, SIZE, tokens, tensor)
                    + attention(HEADS, SIZE, frames, tensor)] * 4


def encoder():
    """vLLM: EncoderOnlyAttentionSpec keeps nothing."""
    return of("bert", HIDDEN, LAYERS, HEADS, 64, 100, max_position_embeddings=512), \
        lambda tokens, tensor: [0] * LAYERS


KINDS = {
    "grouped": lambda: plain("llama", pick([2, 4, 8])), "one head": lambda: plain("gpt_bigcode", 1),
    "latent": mla, "windows": lambda: window("gemma3_text", "sliding_window", 6),
    "chunks": lambda: window("llama4_text", "attention_chunk_size", 4), "Mamba 2": nemotron,
    "Mamba": mamba, "Mamba 2 alone": all_mamba, "gated delta net": delta_net,
    "delta attention": delta_attention, "short convolutions": short, "cross attention": whisper,
    "encoder": encoder}


class Caches(unittest.TestCase):
    def test_against_the_servers(self):
        path = os.path.join(common.scratch(), "caches.json")
        for name, make in KINDS.items():
            for _ in range(6):
                config, right = make()
                batch, tokens = pick([1, 3]), pick([7, 64, 200])
                tensor = 1 if name == "Mamba" else pick([1, 2])
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(config, file)
                table = read_source(path, batch=batch, sequence=tokens, tensor=tensor)
                empty = read_source(path, batch=1, sequence=1, tensor=tensor)
                with self.subTest(name, config=config, tokens=tokens, tensor=tensor):
                    own, least = (it.units[1:1 + len(right(1, 1))] for it in (table, empty))
                    # weights are the same in both tables
                    self.assertEqual(
                        [unit.memory - other.memory for unit, other in zip(own, least)],
                        [batch * a - b for a, b in zip(right(tokens, tensor), right(1, tensor))])


if __name__ == "__main__":
    common.main()
