"""Parameters, FLOPs and KV bytes from a config.json of Hugging Face.

Knows decoders whose layers are attention and an MLP: dense or with experts, with keys and values
of heads or latent ones (DeepSeek), with a sliding window for all or some layers, with a tied head.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional

from ..errors import InputError
from .model import Cache, LayerShape, Model, Place, Shape, Weights, chain
from .table import DTYPE_BYTES, MAX_UNITS, Assumed, Table, read_json

#: Models whose MLP has two matrices, with biases everywhere and norms of two vectors.
_PLAIN = {"gpt2"}
#: Models with learned positions, and the key that counts these.
_POSITIONS = {"gpt2": "n_positions"}
#: Models with biases of query, key and value alone.
_QKV_BIAS = {"qwen2", "qwen2_moe"}
#: Models with a norm of each head of query and key.
_QK_NORM = {"qwen3", "qwen3_moe", "gemma3_text", "gemma3"}
#: Models with four norms a layer.
_FOUR_NORMS = {"gemma2", "gemma3", "gemma3_text"}
#: Models whose heads are tied if the file does not say: the defaults of their classes.
_TIED = {"gpt2", "gemma", "gemma2", "gemma3", "gemma3_text"}
#: What this knows; others are refused rather than guessed.
KNOWN = {"gpt2", "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "gemma",
         "gemma2", "gemma3", "gemma3_text", "deepseek_v2", "deepseek_v3", "kimi_k2", "granite"}


class _Config:
    """The keys of a configuration, checked."""

    def __init__(self, name: str, keys: Dict[str, Any]) -> None:
        self.name = name
        self.keys = keys

    def refuse(self, what: str) -> InputError:
        return InputError(f"{self.name}: {what}")

    def whole(self, *names: str, default: Optional[int] = None, least: int = 1) -> int:
        """The first of these keys that is there."""
        for name in names:
            value = self.keys.get(name)
            if value is None:
                continue
            if type(value) is not int or not least <= value < 1 << 32:
                raise self.refuse(f"{name} is {value!r:.40}; expected a whole number from {least} "
                                  "to 4294967295")
            return value
        if default is None:
            raise self.refuse(f"has no {names[0]}")
        return default

    def numbers(self, name: str) -> List[int]:
        value = self.keys.get(name) or []
        if not isinstance(value, list) or not all(type(it) is int for it in value):
            raise self.refuse(f"{name} is {value!r:.40}; expected a list of whole numbers")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.keys.get(name)
        if value is None:
            return default
        if type(value) is not bool:
            raise self.refuse(f"{name} is {value!r:.40}; expected true or false")
        return value


def _windows(c: _Config, kind: str, count: int) -> List[Optional[int]]:
    """The sliding window of each layer."""
    window = c.whole("sliding_window", default=0, least=0) or None
    types = c.keys.get("layer_types")
    if types is not None:
        known = {"full_attention": None, "sliding_attention": window}
        if not isinstance(types, list) or len(types) != count or \
                any(not isinstance(it, str) or it not in known for it in types):
            raise c.refuse(f"layer_types: expected {count} of full_attention and sliding_attention")
        return [known[it] for it in types]
    if window is None or not c.flag("use_sliding_window", not kind.startswith("qwen")):
        return [None] * count
    if kind.startswith("qwen"):
        first = c.whole("max_window_layers", default=0, least=0)
        return [window if i >= first else None for i in range(count)]
    pattern = c.whole("sliding_window_pattern", default={"gemma2": 2, "gemma3": 6,
                                                         "gemma3_text": 6}.get(kind, 0), least=0)
    return [None if pattern and (i + 1) % pattern == 0 else window for i in range(count)]


def _attention(c: _Config, kind: str, hidden: int, heads: int, layer: LayerShape,
               window: Optional[int]) -> None:
    """Adds the parameters, cache and scores of attention."""
    if c.keys.get("kv_lora_rank") is not None:
        latent, rope = c.whole("kv_lora_rank"), c.whole("qk_rope_head_dim")
        nope, value = c.whole("qk_nope_head_dim"), c.whole("v_head_dim")
        query = c.whole("q_lora_rank", default=0, least=0)
        width = heads * (nope + rope)
        matrices = (hidden * query + query * width if query else hidden * width)
        matrices += hidden * (latent + rope) + latent * heads * (nope + value)
        matrices += heads * value * hidden
        layer.active += matrices
        layer.parameters += matrices + query + latent
        layer.caches = [Cache(latent + rope, window=window)]
        layer.score_width = heads * (nope + rope + value)
        return
    kv_heads = c.whole("num_key_value_heads", default=heads)
    if heads % kv_heads != 0:
        raise c.refuse(f"num_attention_heads {heads} is no multiple of {kv_heads} key-value heads")
    size = c.whole("head_dim", default=hidden // heads)
    matrices = hidden * size * (2 * heads + 2 * kv_heads)
    layer.active += matrices
    layer.parameters += matrices
    if kind in _PLAIN or c.flag("attention_bias"):
        layer.parameters += size * (heads + 2 * kv_heads) + hidden
    elif kind in _QKV_BIAS:
        layer.parameters += size * (heads + 2 * kv_heads)
    if kind in _QK_NORM:
        layer.parameters += 2 * size
    layer.caches = [Cache(2 * kv_heads * size, kv_heads, window)]
    layer.score_width = 2 * heads * size


def _num_experts(c: _Config) -> int:
    return c.whole("n_routed_experts", "num_local_experts", "num_experts", default=0, least=0)


def _mlp(c: _Config, kind: str, hidden: int, i: int, layer: LayerShape) -> None:
    """Adds the parameters of the MLP, or of the experts, of layer i."""
    inner = c.whole("intermediate_size", "n_inner", default=4 * hidden)
    matrices = 2 if kind in _PLAIN else 3
    experts = _num_experts(c)
    is_dense = (experts == 0 or i < c.whole("first_k_dense_replace", default=0, least=0)
                or i in c.numbers("mlp_only_layers")
                or (kind.startswith("qwen")
                    and (i + 1) % c.whole("decoder_sparse_step", default=1) != 0)
                or i % c.whole("moe_layer_freq", default=1) != 0)
    if is_dense:
        layer.active += matrices * hidden * inner
        layer.parameters += matrices * hidden * inner
        layer.intermediate = inner
        if kind in _PLAIN or c.flag("mlp_bias"):
            layer.parameters += (matrices - 1) * inner + hidden
        return
    width = c.whole("moe_intermediate_size", default=inner)
    used = c.whole("num_experts_per_tok")
    if used > experts:
        raise c.refuse(f"num_experts_per_tok is {used}, of {experts} experts")
    shared = c.whole("n_shared_experts", default=0, least=0) * width
    if kind == "qwen2_moe":
        shared = c.whole("shared_expert_intermediate_size")
        layer.parameters += hidden  # its gate
        layer.active += hidden
    layer.expert_parameters = 3 * hidden * width * experts
    layer.parameters += layer.expert_parameters + hidden * experts + 3 * hidden * shared
    layer.active += 3 * hidden * (width * used + shared) + hidden * experts
    layer.intermediate = width * used + shared
    if c.keys.get("topk_method") == "noaux_tc":
        layer.parameters += experts  # the correction of the router


def _mtp(hidden: int, layer: LayerShape, vocabulary: int) -> LayerShape:
    """A layer that predicts a further token (DeepSeek-V3): two norms, a projection and the norm of
    its head besides; its copies of embedding and head are counted once, at the ends."""
    return LayerShape(**{**vars(layer),
                         "parameters": layer.parameters + 2 * hidden * hidden + 3 * hidden,
                         "active": layer.active + 2 * hidden * hidden + hidden * vocabulary})


def shape_of(name: str, keys: Any, assumed: Assumed) -> Shape:
    """The hyperparameters of a configuration."""
    if not isinstance(keys, dict):
        raise InputError(f"{name}: expected a JSON object")
    inner = keys.get("text_config")
    if isinstance(inner, dict):
        keys = {"tie_word_embeddings": keys.get("tie_word_embeddings"),
                "torch_dtype": keys.get("torch_dtype"), **inner}
    c = _Config(name, keys)
    kind = keys.get("model_type")
    if not isinstance(kind, str) or kind not in KNOWN:
        raise c.refuse(f"model_type {kind!r:.40} is unknown; expected one of "
                       f"{', '.join(sorted(KNOWN))}")
    hidden = c.whole("hidden_size", "n_embd")
    heads = c.whole("num_attention_heads", "n_head")
    count = c.whole("num_hidden_layers", "n_layer")
    vocabulary = c.whole("vocab_size")
    num_mtp = c.whole("num_nextn_predict_layers", default=0, least=0)
    if count + num_mtp > MAX_UNITS - 2:
        raise c.refuse(f"{count} layers; expected at most {MAX_UNITS - 2}")
    if hidden % heads != 0 and keys.get("head_dim") is None and keys.get("kv_lora_rank") is None:
        raise c.refuse(f"hidden_size {hidden} is no multiple of {heads} heads")
    norms = (4 if kind in _FOUR_NORMS else 2) * hidden * (2 if kind in _PLAIN else 1)
    layers = []
    for i, window in enumerate(_windows(c, kind, count)):
        layer = LayerShape(parameters=norms)
        _attention(c, kind, hidden, heads, layer, window)
        _mlp(c, kind, hidden, i, layer)
        layers.append(layer)
    layers += [_mtp(hidden, layers[-1], vocabulary) for _ in range(num_mtp)]
    shape = Shape(hidden, vocabulary, heads, layers, num_mtp=num_mtp)
    shape.embedding = vocabulary * hidden
    if kind in _POSITIONS:
        shape.embedding += c.whole(_POSITIONS[kind], "max_position_embeddings") * hidden
    shape.norm = hidden * (2 if kind in _PLAIN else 1)
    shape.is_tied = c.flag("tie_word_embeddings", kind in _TIED)
    shape.head = 0 if shape.is_tied else vocabulary * hidden
    dtype = keys.get("torch_dtype", keys.get("dtype"))
    shape.dtype = None if dtype is None else str(dtype)
    return shape


def read_shape(path: str, assumed: Assumed) -> Shape:
    """The hyperparameters of a file."""
    return shape_of(os.path.basename(path), read_json(path), assumed)


def read(path: str, assumed: Assumed) -> Table:
    """The costs of a model whose weights are all of one dtype."""
    keys = read_json(path)
    name = os.path.basename(path)
    shape = shape_of(name, keys, assumed)
    if keys.get("quantization_config") and assumed.dtype is None:
        raise InputError(f"{name}: quantization_config is not read; give dtype, or the folder with "
                         "the weights")
    dtype = assumed.dtype or shape.dtype or "bf16"
    if dtype not in DTYPE_BYTES:
        raise InputError(f"{name}: torch_dtype {dtype!r:.40} is unknown; give dtype")
    size = DTYPE_BYTES[dtype]
    places: Dict[Place, Weights] = {}
    model = Model([str(i) for i in range(len(shape.layers))], places)
    for i, layer in enumerate(shape.layers):
        places[i] = Weights(layer.parameters * size, layer.parameters,
                            layer.expert_parameters * size, layer.expert_parameters)
    for part, count in (("input", shape.embedding), ("norm", shape.norm), ("head", shape.head)):
        if count:
            places[part] = Weights(count * size, count)
    places["table"] = Weights(shape.vocabulary * shape.hidden * size, shape.vocabulary * shape.hidden)
    table = chain(name, model, shape, assumed)
    table.notes.insert(0, f"All weights are {dtype}; {sum(w.elements for it, w in places.items() if it != 'table')} "
                       "parameters.")
    return table
