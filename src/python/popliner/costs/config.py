"""Parameters, FLOPs, caches and states from a config.json of Hugging Face.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .model import Model, Weights, chain
from .table import (DTYPE_BYTES, MAX_UNITS, Assumed, Cache, LayerShape, Shape, Table, at_most,
                    expect, rows_of, whole)

#: Rows of kinds: how layers differ from Llama's; of several that are alike one. plain: an MLP of
#: two matrices; ln: norms have a bias; norms=N: norms of a layer; bias: all matrices have one; qkv,
#: o, mlp, ebias (experts): they do; aqkv: attention_bias means query, key and value alone; qk:
#: norms of each head of query and key, qkall: of all heads together, qkflag: if use_qk_norm says
#: so; subln: norms within attention and MLP; sinks; xielu: an activation with parameters; tied: the
#: head is, unless the file says no; headbias; pos=N: learned positions, N more than the key says;
#: type, types: of tokens; embln: a norm of the embedding; mqa: one head of keys; half: the file has
#: twice the MLP's width; corr: routers correct their scores; gate (in the query), ogate: of
#: attention's output; mnorm: norms within Mamba; window=N: the period of layers, whose last has no
#: window; scan: layers without attention are Mamba's, both: and the others, too, apart: MLPs are
#: layers of their own; inner: Mamba's, as the file says; copies: of embedding and head in layers
#: that predict further tokens; enc: neither cache nor head; pool: a pooler; two: encoder and
#: decoder, final: with norms after each, nokey: keys without a bias; image, conv: what comes before
#: the layers; drop: dropout of hidden states; KEY:N: defaults of the class in transformers.
KINDS = rows_of("""
afmoe norms=4 qk ogate corr window=4|apertus plain qk xielu|arcee plain|baichuan|bailing_moe
bailing_moe_v2,dots1 qk corr|bamba,granitemoehybrid scan
bart drop two ln plain bias tied pos=2 embln|bert drop ln bias plain pos=0 types enc embln pool
bitnet tied subln|bloom ln plain bias embln tied
camembert,roberta,xlm-roberta drop ln bias plain pos=0 type enc embln pool|chatglm
codegen,gptj ln norms=1 plain mlp headbias|cohere norms=1 tied qkflag qkall
cohere2 norms=1 tied window=4 sliding_window:4096|dbrx|deepseek|deepseek_v2|deepseek_v3 copies
deepseek_v32|distilbert drop ln bias plain pos=0 enc embln
electra drop ln bias plain pos=0 types enc embln|ernie4_5,minicpm,minicpm3,smollm3 tied
ernie4_5_moe tied corr|exaone|exaone4 qk window=4|falcon ln plain bias tied mqa attention_bias:false
falcon_h1 scan both|falcon_mamba norms=1 inner scan apart num_attention_heads:1
gemma tied head_dim:256
gemma2 norms=4 tied window=2 head_dim:256 num_key_value_heads:4 sliding_window:4096
gemma3 norms=4 tied qk window=6 vocab_size:262208 num_attention_heads:8 num_key_value_heads:4
 head_dim:256 sliding_window:4096
glm,seed_oss aqkv attention_bias:true|glm4 norms=4 aqkv|glm4_moe aqkv qkflag qk corr copies
glm_moe_dsa|gpt2 drop ln plain bias pos=0 tied|gpt_bigcode drop ln plain bias pos=0 tied mqa
gpt_neo ln plain o mlp pos=0 tied|gpt_neox ln plain bias
gpt_oss qkv o sinks ebias window=2 sliding_window:128|granite|granitemoe
hubert,wav2vec2 drop ln plain bias enc conv|hunyuan_v1_dense,hunyuan_v1_moe,lfm2,lfm2_moe qk tied
internlm qkv o|internlm2|internlm3|jamba mnorm scan attn_layer_offset:4 attn_layer_period:8|kimi_k2
kimi_linear corr|llama|llama4 num_shared_experts:1 window=4 sliding_window:8192
m2m_100 drop two ln plain bias tied final|mamba tied norms=1 inner scan apart num_attention_heads:1
mamba2 norms=1 scan apart num_attention_heads:1|mbart drop two ln plain bias tied pos=2 embln final
minimax_m2 qkall corr|mistral|mixtral|mpt plain tied|nemotron ln plain
mt5 drop two final relative_attention_num_buckets:32
t5 drop two tied final relative_attention_num_buckets:32
nemotron_h plain norms=1 scan apart head_dim:128|olmo norms=0|olmo2,olmoe qkall|olmo3 qkall window=4
opt drop ln plain bias pos=2 tied|orion,stablelm ln|phi ln norms=1 plain bias headbias|phi3
phimoe ln qkv o headbias|qwen qkv half|qwen2,qwen2_moe qkv|qwen3,qwen3_moe qk
qwen3_5,qwen3_5_moe,qwen3_next qk gate|starcoder2 ln plain bias tied|vit ln plain bias enc image
whisper two ln plain bias tied nokey final
""")

#: Other names of keys, and of kinds; what is written after a kind's name is left out.
ALIASES = {alias: key for key, row in rows_of("""
hidden_size n_embd d_model dim n_embed|num_hidden_layers n_layer n_layers num_layers encoder_layers
num_attention_heads n_head n_heads encoder_attention_heads num_heads|vocab_size padded_vocab_size
num_key_value_heads num_kv_heads kv_n_heads multi_query_group_num|add_qkv_bias use_qkv_bias qkv_bias
intermediate_size n_inner ffn_dim d_ff ffn_hidden_size hidden_dim encoder_ffn_dim
max_position_embeddings n_positions n_ctx max_target_positions
head_dim kv_channels d_kv attention_head_dim|sliding_window attention_chunk_size
sliding_window_pattern no_rope_layer_interval _sliding_window_pattern
num_experts n_routed_experts num_local_experts moe_num_experts|mamba_n_groups n_groups
num_experts_per_tok moe_topk moe_k moe_top_k num_experts_per_token experts_per_token
num_shared_experts n_shared_experts moe_num_shared_experts num_shared_expert
first_k_dense_replace moe_layer_start_index num_dense_layers|moe_layer_freq moe_layer_interval
shared_expert_intermediate_size shared_intermediate_size moe_shared_expert_intermediate_size
decoder_sparse_step interleave_moe_layer_step|attention_bias use_bias bias|mamba_d_conv conv_kernel
mamba_d_state state_size ssm_state_size|mamba_n_heads mamba_num_heads|mamba_d_head mamba_head_dim
hidden_dropout_prob resid_pdrop hidden_dropout dropout dropout_rate residual_dropout
torch_dtype dtype|mamba_ssm_cache_dtype mamba_ssm_dtype
qwen2 qwen2_vl qwen2_5_vl internvl_chat|qwen3 qwen3_vl|qwen3_moe qwen3_vl_moe|gemma paligemma
llama llava llava_next yi solar|mistral mistral3 ministral3 pixtral
""").items() for alias in row}


def _object(value: Any) -> Dict[str, Any]:
    """An object of a file; for anything else an empty one."""
    return value if isinstance(value, dict) else {}


class _Config:
    """The keys of a configuration, checked; `words` are those of its row."""

    def __init__(self, name: str, keys: Dict[str, Any], row: Sequence[str] = ()) -> None:
        self.name, self.layer = name, 0
        self.words: Dict[str, int] = {}
        self.keys: Dict[str, Any] = {}
        for part in (keys.get("attn_config"), keys.get("ffn_config"), keys):
            self.keys.update((key, value) for key, value in _object(part).items()
                             if value is not None and value != "auto")
        for alias, key in ALIASES.items():
            if alias in self.keys:
                self.keys.setdefault(key, self.keys[alias])
        for word in row:
            key, sign, value = re.fullmatch(r"(\w+)([:=]?)(\w*)", word).groups()
            if sign == ":":
                self.keys.setdefault(key, int(value) if value.isdigit() else value == "true")
            else:
                self.words[key] = int(value or 1)

    def __contains__(self, word: str) -> bool:
        return word in self.words

    def expect(self, is_right: Any, what: str) -> None:
        expect(is_right, f"{self.name}: {what}")

    def whole(self, name: str, default: Optional[int] = None, least: int = 1) -> int:
        """A number; a list has one for each layer."""
        value = self.keys.get(name)
        if isinstance(value, list) and value:
            value = value[min(self.layer, len(value) - 1)]
        if value is None:
            self.expect(default is not None, f"has no {name}")
            return default
        return whole(value, f"{self.name}: {name}", least)

    def numbers(self, name: str) -> List[int]:
        value = self.keys.get(name) or []
        self.expect(isinstance(value, list) and all(type(it) is int for it in value),
                    f"{name} is {value!r:.40}; expected a list of whole numbers")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.keys.get(name, default)
        self.expect(type(value) is bool, f"{name} is {value!r:.40}; expected true or false")
        return value


def _norm(c: _Config, size: int) -> int:
    return size * (2 if "ln" in c else 1)


def _latent(c: _Config, hidden: int, heads: int, layer: LayerShape) -> None:
    """Latent attention (DeepSeek-V2), in version 3.2 with an indexer."""
    latent, rope = c.whole("kv_lora_rank"), c.whole("qk_rope_head_dim")
    nope, value = c.whole("qk_nope_head_dim"), c.whole("v_head_dim")
    query = c.whole("q_lora_rank", 0, 0)
    layer.add(hidden, query, kind="whole")
    layer.add(query or hidden, heads * (nope + rope))
    layer.add(hidden, latent + rope, kind="whole")
    layer.add(latent, heads * (nope + value))
    layer.add(heads * value, hidden)
    layer.plain["whole"] += latent + query
    layer.caches = [Cache(latent + rope)]
    layer.score_width = heads * (nope + rope + value)
    layer.latent = 2 * (query + latent)
    layer.kept, layer.expanded = 2 * layer.score_width, heads * (2 * (nope + rope) + value)
    if c.keys.get("index_head_dim") is not None:
        size, count = c.whole("index_head_dim"), c.whole("index_n_heads")
        layer.add(query or hidden, count * size, kind="whole")
        layer.add(hidden, size + count, kind="whole")
        layer.plain[""] += 2 * size
        layer.caches.append(Cache(size, entry_bytes=size + 4 * -(-size // 128)))  # and scales


def _attention(c: _Config, hidden: int, heads: int, window: Optional[int],
               layer: LayerShape) -> None:
    """Adds the parameters, cache and scores of attention."""
    if c.keys.get("kv_lora_rank") is not None:
        return _latent(c, hidden, heads, layer)
    kv_heads = c.whole("num_key_value_heads", heads)
    if "mqa" in c and not c.flag("new_decoder_architecture"):
        kv_heads = 1 if c.flag("multi_query", True) else heads
    c.expect(heads % kv_heads == 0, f"num_attention_heads {heads} is no multiple of {kv_heads} "
             "key-value heads")
    size = c.whole("head_dim", hidden // heads)
    both, width = c.flag("attention_bias", "bias" in c), (heads + kv_heads) * size
    bias = both or "qkv" in c or c.flag("add_qkv_bias")
    layer.add(hidden, heads * size * (2 if "gate" in c else 1), bias)
    layer.add(hidden, 2 * kv_heads * size, bias, 2)
    layer.add(heads * size, hidden, both and "aqkv" not in c or "o" in c)
    layer.add(hidden, heads * size * ("ogate" in c))
    of_heads = "qk" in c and c.flag("use_qk_norm", True)
    of_all = "qkall" in c and c.flag("use_qk_norm", "qkflag" not in c)
    layer.plain["whole"] += 2 * size * of_heads
    layer.plain[""] += width * of_all + heads * ("sinks" in c) + hidden * ("subln" in c)
    layer.kept = (2 + of_heads + of_all) * width + 2 * heads * size * (
        "gate" in c or "ogate" in c)
    if "enc" not in c:
        layer.caches = [Cache(2 * kv_heads * size, kv_heads, window, values=kv_heads * size)]
    layer.score_width = 2 * heads * size


def _scan(c: _Config, mixer: str, hidden: int, layer: LayerShape) -> None:
    """Adds what is not attention: Mamba, with heads of Mamba 2; gated delta networks (Qwen3-Next);
    Kimi Delta Attention; gated short convolutions (LFM2)."""
    others, scanned = 0, 0  # parameters besides those of the convolution, and bytes
    dtype = str(c.keys.get("mamba_ssm_cache_dtype", "float32"))  # of states, as SGLang has them
    c.expect(dtype in DTYPE_BYTES, f"mamba_ssm_cache_dtype is {dtype!r:.40}: expected float32")
    if mixer == "conv":
        mixed, kernel = hidden, c.whole("conv_L_cache", 3)
        layer.add(hidden, 4 * hidden, c.flag("conv_bias"))
    elif mixer == "delta":
        own = _Config(c.name, c.keys["linear_attn_config"])
        heads, size = own.whole("num_heads"), own.whole("head_dim")
        mixed, kernel = 3 * heads * size, own.whole("short_conv_kernel_size", 4)
        for rows, columns in ((hidden, mixed), (hidden, 2 * size), (size, 2 * heads * size),
                              (hidden, heads), (heads * size, hidden)):
            layer.add(rows, columns)
        others, scanned = heads * size + heads + size, 4 * heads * size * size
    elif mixer == "linear":
        values, size = c.whole("linear_num_value_heads"), c.whole("linear_value_head_dim")
        keys = c.whole("linear_num_key_heads") * c.whole("linear_key_head_dim")
        kernel, mixed = c.whole("linear_conv_kernel_dim", 4), 2 * keys + values * size
        layer.add(hidden, mixed + values * size + 2 * values)
        layer.add(values * size, hidden)
        others = 2 * values + size
        scanned = int(DTYPE_BYTES[dtype]) * size * values * c.whole("linear_key_head_dim")
    else:
        heads = c.whole("mamba_n_heads", c.whole("num_heads", 0), 0)
        size, kernel = c.whole("mamba_d_state", 16), c.whole("mamba_d_conv", 4)
        inner = c.whole("mamba_d_ssm", c.whole("mamba_expand", c.whole("expand", 2)) * hidden)
        inner = c.whole("intermediate_size", inner) if "inner" in c else inner
        if heads:
            inner = heads * c.whole("mamba_d_head", inner // heads)
            mixed = inner + 2 * c.whole("mamba_n_groups", 1) * size
            layer.add(hidden, inner + mixed + heads, c.flag("mamba_proj_bias"))
            others = 3 * heads + inner * c.flag("mamba_rms_norm", True)
        else:
            mixed = inner
            rank = c.whole("mamba_dt_rank", c.whole("time_step_rank", -(-hidden // 16)))
            layer.add(hidden, 2 * inner)
            layer.add(inner, rank + 2 * size)
            layer.add(rank, inner, True)
            others = inner * size + inner + (rank + 2 * size) * ("mnorm" in c)
        others += mixed * c.flag("mamba_conv_bias", c.flag("use_conv_bias", True))
        layer.add(inner, hidden, c.flag("mamba_proj_bias"))
        scanned = int(DTYPE_BYTES[dtype]) * inner * size
    layer.plain[""] += mixed * kernel + others
    layer.state += 2 * mixed * (kernel - 1) + scanned


def _mlp(c: _Config, hidden: int, i: int, layer: LayerShape) -> None:
    """Adds the parameters of the MLP, or of the experts, of layer i."""
    inner = c.whole("intermediate_size", 4 * hidden, 0)
    matrices, layer.is_plain = (2, True) if "plain" in c else (3, False)
    period, offset = c.whole("expert_layer_period", 1), c.whole("expert_layer_offset", 0, 0)
    frequency = c.keys.get("moe_layer_freq")
    if (c.whole("num_experts", 0, 0) <= 1 or i < c.whole("first_k_dense_replace", 0, 0)
            or i in c.numbers("mlp_only_layers") or i not in (c.numbers("moe_layers") or [i])
            or (i + 1) % c.whole("decoder_sparse_step", 1) != 0 or i % period != offset % period
            or (frequency[i % len(frequency)] == 0 if isinstance(frequency, list) and frequency else
                i % c.whole("moe_layer_freq", 1) != 0)):  # no experts
        inner = c.whole("intermediate_size_mlp", inner // (2 if "half" in c else 1), 0)
        if not c.whole("num_experts", 1, 0):
            inner = c.whole("shared_expert_intermediate_size", inner)
        bias = "mlp" in c or c.flag("mlp_bias", "bias" in c and c.flag("attention_bias", True))
        layer.add(hidden, (matrices - 1) * inner, bias, matrices - 1)
        layer.add(inner, hidden, bias)
        layer.intermediate = inner
        layer.plain[""] += inner * ("subln" in c) + 2 * ("xielu" in c)
        return
    experts, width = c.whole("num_experts"), c.whole("moe_intermediate_size", inner)
    used = c.whole("num_experts_per_tok")
    c.expect(used <= experts, f"num_experts_per_tok is {used}, of {experts} experts")
    shared = c.whole("num_shared_experts", 0, 0) * width
    if "shared_expert_intermediate_size" in c.keys:
        shared = c.whole("shared_expert_intermediate_size", 0, 0)
        if "linear_num_key_heads" in c.keys or "qkv" in c:
            layer.add(hidden, 1)  # the gate of Qwen's shared expert
    layer.matrices["expert"] += experts * matrices * hidden * width
    layer.plain["expert"] += experts * ((matrices - 1) * width + hidden) * ("ebias" in c)
    layer.add(hidden, experts, "ebias" in c, kind="router")
    layer.add(hidden, matrices * shared, parts=matrices)
    layer.used = matrices * hidden * width * used
    layer.active += layer.used
    layer.intermediate = width * used + shared
    layer.routed, layer.expert_width = used, width
    if "corr" in c or c.keys.get("topk_method") == "noaux_tc":
        layer.plain[""] += experts  # the correction of the router


def _mixers(c: _Config, kind: str, count: int) -> List[str]:
    """What mixes tokens in each layer: attention, window, mamba, both, linear, conv or none."""
    known = {"full_attention": "attention", "sliding_attention": "window", "attention": "attention",
             "chunked_attention": "window",
             "linear_attention": "mamba" if "scan" in c else "linear",  # as in transformers 5
             "conv": "conv", "mamba": "mamba", "hybrid": "both", "M": "mamba", "*": "attention",
             "-": "none", "E": "none", "mlp": "none", "moe": "none"}
    types = c.keys.get("layer_types", c.keys.get("layers_block_type",
                                                 c.keys.get("hybrid_override_pattern")))
    if types is not None:
        c.expect(isinstance(types, (list, str)) and len(types) >= count and
                 not any(not isinstance(it, str) or it not in known for it in types),
                 f"layer_types: expected {count} of {', '.join(known)}")
        return [known[it] for it in types[:count]]
    others, period = "window", 0
    full: Sequence[int] = []  # layers with attention of all tokens, or the last of each period
    delta = _object(c.keys.get("linear_attn_config")).get("full_attn_layers")
    if "scan" in c:
        others, full = "both" if "both" in c else "mamba", c.numbers("attn_layer_indices")
        if "attn_layer_period" in c.keys:
            full = range(c.whole("attn_layer_offset", 0, 0), count, c.whole("attn_layer_period"))
    elif "full_attention_interval" in c.keys or "linear_num_key_heads" in c.keys:
        others, period = "linear", c.whole("full_attention_interval", 4)
    elif isinstance(delta, list):
        others, full = "delta", [it - 1 for it in delta if type(it) is int]
    elif "full_attn_idxs" in c.keys:
        others, full = "conv", c.numbers("full_attn_idxs")
    elif not c.whole("sliding_window", 0, 0) or \
            not c.flag("use_sliding_window", not kind.startswith("qwen")):
        full = range(count)
    elif kind.startswith("qwen"):
        full = range(c.whole("max_window_layers", 0, 0))
    elif kind == "llama4" and c.numbers("no_rope_layers"):  # 0: none, and all tokens
        full = [i for i, has_rope in enumerate(c.numbers("no_rope_layers")) if not has_rope]
    else:
        period = c.whole("sliding_window_pattern", c.words.get("window", 0), 0)
    if period:
        full = range(period - 1, count, period)
    return ["attention" if i in full else others for i in range(count)]


def _decoder(c: _Config, kind: str, hidden: int, heads: int) -> List[LayerShape]:
    """The layers of a stack."""
    norms = c.words.get("norms", 2)
    if kind == "falcon":
        norms = 1 if c.flag("parallel_attn", True) and not c.flag("new_decoder_architecture") else 2
    period = c.whole("sliding_window", 0, 0) or None
    layers = []
    for i, mixer in enumerate(_mixers(c, kind, c.whole("num_hidden_layers"))):
        c.layer = i
        layer = LayerShape(Counter(whole=norms * _norm(c, hidden)), norms=norms or 2)
        if mixer in ("attention", "window", "both"):
            _attention(c, hidden, heads, period if mixer == "window" else None, layer)
        if mixer not in ("attention", "window", "none"):
            _scan(c, mixer, hidden, layer)
        layer.attention = sum(layer.matrices.values())
        if mixer not in ("attention", "window"):
            layer.kept, layer.is_guessed = layer.sides, mixer != "none"
        if mixer == "none" or "apart" not in c:
            _mlp(c, hidden, i, layer)
        layers.append(layer)
    return layers


def _two_stacks(c: _Config, hidden: int, heads: int) -> Tuple[List[str], List[LayerShape]]:
    """Encoder and decoder: T5, BART, Whisper and their like."""
    names, layers = [], []
    source, count = c.keys.get("max_source_positions"), c.whole("num_hidden_layers")
    if not str(c.keys.get("feed_forward_proj", "")).startswith("gated"):
        c.words["plain"] = 1
    decoders = c.whole("decoder_layers", c.whole("num_decoder_layers", count))
    for part, number, times in (("encoder", count, 1), ("decoder", decoders, 2)):
        for i in range(number):
            norms = (times + 1 + ("final" in c and i == number - 1)) * _norm(c, hidden)
            layer = LayerShape(Counter(whole=norms), norms=times + 1)
            for _ in range(times):
                _attention(c, hidden, heads, None, layer)
            (own,) = layer.caches
            layer.plain[""] += c.whole("relative_attention_num_buckets", 0, 0) * heads * (
                i == 0) - times * own.values * ("nokey" in c)
            layer.kept, layer.score_width = times * layer.kept, times * layer.score_width
            window = source if type(source) is int else None
            layer.caches = [own, replace(own, window=window, is_full=bool(window))] * (times == 2)
            layer.attention = sum(layer.matrices.values())
            _mlp(c, hidden, i, layer)
            names.append(f"{part}.{i}")
            layers.append(layer)
    return names, layers


#: Towers: patch: a bias of patches; cls: a token of its own; pre, post: norms before and after.
TOWERS = rows_of("""
siglip_vision_model ln plain bias patch pos post|clip_vision_model ln plain bias cls pos pre post
qwen3_vl,qwen3_vl_moe,qwen3_5,qwen3_5_moe ln plain bias patch merge
pixtral pre|qwen2_vl ln plain bias merge|qwen2_5_vl bias merge
""")


def _tower(name: str, keys: Dict[str, Any], outer: str, hidden: int) -> Optional[int]:
    """The parameters of a vision tower and its projector; None if it is unknown."""
    kind = str(keys.get("model_type", outer if outer in TOWERS else ""))
    if kind not in TOWERS:
        return None
    c = _Config(name, keys, TOWERS[kind])
    out = c.whole("out_hidden_size", c.whole("hidden_size") if "embed_dim" in keys else hidden)
    size = c.whole("embed_dim", c.whole("hidden_size", 1280))
    patch, image = c.whole("patch_size", 14), c.whole("image_size", 224)
    (layer,) = _decoder(_Config(name, {
        "hidden_size": size, "num_hidden_layers": 1,
        "intermediate_size": c.whole("intermediate_size", 4 * size)}, TOWERS[kind]), "", size, 1)
    total = c.whole("depth", c.whole("num_hidden_layers", 24)) * sum(
        (layer.plain + layer.matrices).values())
    total += size * (3 * patch * patch * (2 if "merge" in c else 1) + ("patch" in c) + ("cls" in c))
    total += size * ((image // patch) ** 2 + ("cls" in c)) * ("pos" in c)
    total += size * c.whole("num_position_embeddings", 0, 0)
    total += _norm(c, size) * (("pre" in c) + ("post" in c))
    if "merge" in c:
        merged = size * c.whole("spatial_merge_size", 2) ** 2
        merger = merged * (merged + 1) + (merged + 1) * out
        deep = len(c.numbers("deepstack_visual_indexes"))
        return total + (1 + deep) * merger + _norm(c, size) + deep * _norm(c, merged)
    return total + {"gemma3": size * (hidden + 1), "paligemma": (size + 1) * hidden,
                    "mistral3": size + 4 * size * size + (size + hidden) * hidden}.get(
                        outer, (size + 1) * hidden + (hidden + 1) * hidden)


def _conv_stack(c: _Config, hidden: int) -> int:
    """The parameters before the layers of wav2vec 2 and HuBERT."""
    width, total = 1, 0
    norms_all = c.keys.get("feat_extract_norm") == "layer"
    for i, (size, kernel) in enumerate(zip(c.numbers("conv_dim") or [512] * 7,
                                           c.numbers("conv_kernel") or [10, 3, 3, 3, 3, 2, 2])):
        total += width * size * kernel + size * c.flag("conv_bias")
        total, width = total + 2 * size * (norms_all or i == 0), size
    groups = c.whole("num_conv_pos_embedding_groups", 16)
    kernel = c.whole("num_conv_pos_embeddings", 128)
    return (total + 2 * width + (width + 1) * hidden + hidden * hidden // groups * kernel + kernel
            + 4 * hidden)


def _ends(c: _Config, shape: Shape) -> None:
    """The parameters before and after the layers."""
    hidden, stacks, positions = shape.hidden, 2 if "two" in c else 1, 0
    width = c.whole("embedding_size", c.whole("word_embed_proj_dim", hidden))
    size = table = width * shape.vocabulary
    if width != hidden:
        size += width * hidden + hidden * ("enc" in c)
    if "pos" in c:
        count = c.whole("max_position_embeddings", 1024) + c.words["pos"]
        positions = count * (width if "enc" in c else hidden) * stacks
    if "max_source_positions" in c.keys and "nokey" in c:
        size += hidden * (c.whole("max_source_positions") + c.whole("max_position_embeddings")
                          + 3 * c.whole("num_mel_bins", 80) + 3 * hidden + 2)
    if "image" in c:
        patch, image = c.whole("patch_size", 16), c.whole("image_size", 224)
        size = hidden * (3 * patch * patch + 3 + (image // patch) ** 2)
    if "conv" in c:
        size = _conv_stack(c, hidden)
    if "types" in c or "type" in c:
        size += width * c.whole("type_vocab_size", 2 if "types" in c else 1)
    size += _norm(c, width) * ("embln" in c) * stacks
    norm = _norm(c, hidden) * (c.words.get("norms", 2) > 0 and "two" not in c
                               and ("enc" not in c or "image" in c)
                               and c.flag("do_layer_norm_before", True))
    shape.is_tied = c.flag("tie_word_embeddings", "tied" in c) and "enc" not in c
    own = shape.vocabulary * ("headbias" in c) + (hidden + 1) * hidden * ("pool" in c)
    if width != hidden and "enc" not in c:
        own += hidden * width  # to the width of the table
    # a head that is tied has no place of its own
    norm, head = (norm + own, 0) if shape.is_tied else (norm, own + table * ("enc" not in c))
    shape.ends = {"input": Counter({"": size, "whole": positions}), "table": Counter({"": table}),
                  "norm": Counter(whole=norm), "head": Counter({"": head})}


def shape_of(name: str, keys: Any, row: Optional[Sequence[str]] = None) -> Shape:
    """The hyperparameters of a configuration; `row` is one of KINDS, or None: as it says."""
    expect(isinstance(keys, dict), f"{name}: expected a JSON object")
    outer = str(keys.get("model_type", ""))
    inner = next((keys[it] for it in ("text_config", "llm_config", "language_config")
                  if isinstance(keys.get(it), dict)), {})
    own = {key: value for key, value in keys.items()
           if not inner or key in ("tie_word_embeddings", "torch_dtype", "dtype")}
    kind = inner.get("model_type", keys.get("model_type"))
    short = re.sub("_text$", "", str(kind))
    short = ALIASES.get(short, ALIASES.get(str(kind), short))
    expect(row is not None or isinstance(kind, str) and short in KINDS, f"{name}: model_type "
           f"{kind!r:.40} is unknown; expected one like llama, bert, t5, or a folder with weights")
    c = _Config(name, {**own, **inner}, KINDS[short] if row is None else row)
    hidden, vocabulary = c.whole("hidden_size"), c.whole("vocab_size", 0 if "enc" in c else None, 0)
    heads = c.whole("num_attention_heads")
    if isinstance(c.keys.get("layers_block_type"), list):
        c.keys.setdefault("num_hidden_layers", len(c.keys["layers_block_type"]))
    count, num_mtp = c.whole("num_hidden_layers"), c.whole("num_nextn_predict_layers", 0, 0)
    at_most(count + num_mtp, MAX_UNITS - 2, name, "layers")
    c.expect(hidden % heads == 0 or "head_dim" in c.keys or "kv_lora_rank" in c.keys, "hidden_size "
             f"{hidden} is no multiple of {heads} heads")
    names = [str(i) for i in range(count + num_mtp)]
    if "two" in c:
        names, layers = _two_stacks(c, hidden, heads)
    else:
        layers = _decoder(c, short, hidden, heads)
    # layers that predict further tokens (DeepSeek-V3) have two norms, a projection and the norm of
    # the head besides; files of some kinds have copies of embedding and head
    last, table = layers[-1], hidden * vocabulary
    layers += [replace(last, norms=last.norms + 3, logits=table,
                       active=last.active + 2 * hidden * hidden,
                       plain=last.plain + Counter({"": 3 * hidden, "copy": 2 * table * (
                           "copies" in c)}),
                       matrices=last.matrices + Counter({"": 2 * hidden * hidden}))
               for _ in range(num_mtp)]
    shape = Shape(hidden, vocabulary, heads, layers, num_mtp=num_mtp, names=names)
    _ends(c, shape)
    dropped = c.keys.get("hidden_dropout_prob", "drop" in c)
    shape.dropout = isinstance(dropped, (bool, int, float)) and dropped > 0
    shape.dtype = str(c.keys.get("torch_dtype", "")).replace("torch.", "")
    for key in ("vision_config", "audio_config", "visual", "vit_config"):
        if isinstance(keys.get(key), dict):
            size = _tower(name, keys[key], outer, hidden) if key == "vision_config" else None
            shape.ends["input"][""] += size or 0
            shape.notes.append(f"{key}: " + (
                "an unknown kind, which is not counted." if size is None else
                f"{size} parameters with the projector."))
    return shape


#: The bytes of a quantised weight, by names of methods and formats.
FORMATS = {"mxfp4": DTYPE_BYTES["mxfp4"], "nvfp4": DTYPE_BYTES["nvfp4"],
           "fp8|float-quantized": DTYPE_BYTES["fp8"]}


def _quantised(keys: Dict[str, Any]) -> Optional[Tuple[Optional[Fraction], bool]]:
    """The bytes of a quantised weight, with its share of scales, and whether attention is
    also quantised. The bytes are None if they are unknown; all is, if nothing is quantised."""
    found = next((it[key] for it in (keys, _object(keys.get("text_config"))) for key in (
        "quantization_config", "compression_config") if it.get(key)), None)
    if not isinstance(found, dict):
        return None
    kept = str([found.get(it) for it in ("modules_to_not_convert", "ignore", "ignored_layers",
                                         "llm_int8_skip_modules", "exclude_modules")])
    for group in [*_object(found.get("config_groups")).values()][:1]:
        found = {**found, **_object(_object(group).get("weights"))}
    method = str(found.get("quant_method", ""))
    words = f"{method} {found.get('quant_algo', found.get('format', ''))}".lower()
    bits = next((it for it in (4, 8) if found.get(f"load_in_{it}bit")),
                found.get("bits", found.get("num_bits", found.get("w_bit"))))
    group_size, block = found.get("group_size"), found.get("weight_block_size")
    size = next((it for name, it in FORMATS.items() if re.search(name, words)), None)
    if size == 1 and isinstance(block, list) and len(block) == 2 and all(
            type(it) is int and it > 0 for it in block):
        size += Fraction(4, block[0] * block[1])
    elif size is None and type(bits) is int and 1 <= bits <= 8:
        size = Fraction(bits, 8)
        if method == "bitsandbytes":
            size += Fraction(1, 16) if bits == 4 else 0
        elif type(group_size) is int and group_size > 0:
            size += Fraction(16 + bits * (method in ("gptq", "awq")), 8 * group_size)  # and zeros
    return size, "attn" not in kept and "attention" not in kept


def table_of(name: str, keys: Dict[str, Any], assumed: Assumed,
             row: Optional[Sequence[str]] = None) -> Table:
    """The costs of a model whose weights are all of one dtype, or quantised in its layers; `row` is
    one of KINDS, or None: as the configuration says."""
    shape = shape_of(name, keys, row)
    quantised = _quantised(keys)
    dtype = (None if quantised else assumed.dtype) or shape.dtype or "bf16"
    expect(dtype in DTYPE_BYTES, f"{name}: torch_dtype {dtype!r:.40} is unknown; give dtype")
    size = small = DTYPE_BYTES[dtype]
    if quantised is not None:
        small = DTYPE_BYTES[assumed.dtype] if assumed.dtype else quantised[0]
        expect(small is not None or assumed.train is not None, f"{name}: quantization_config is of "
               "an unknown kind; give dtype, or the folder with the weights")
        small = small or size  # to train is refused
    model = Model(shape.names, {}, is_quantised=quantised is not None)

    def weights(plain: "Counter[str]", matrices: "Counter[str]", exact: int = 0) -> Weights:
        """Those of elements by kind; of those in matrices `exact` are not quantised."""
        counts = Counter(plain)
        counts.update(matrices)
        sizes = Counter({it: int(plain[it] * size + matrices[it] * small) for it in counts if it})
        sizes[""] = int(sum(plain.values()) * size + sum(matrices.values()) * small
                        + exact * (size - small)) - sum(sizes.values())
        return Weights(sizes, counts)

    for i, layer in enumerate(shape.layers):
        model.places[i] = weights(layer.plain, layer.matrices, layer.attention * (
            quantised is not None and not quantised[1]))
    for part, elements in shape.ends.items():
        if any(elements.values()) or part == "table":
            model.places[part] = weights(elements, Counter())
    count = sum(it.elements for key, it in model.places.items() if key != "table")
    table = chain(name, model, shape, assumed)
    table.notes.insert(0, (f"All weights are {dtype}" if quantised is None else
                           f"Matrices of layers take {float(small):g} bytes a weight, others are "
                           f"{dtype}") + f"; {count} parameters.")
    return table
