"""What a unit needs while it runs, and keeps for its backward pass.

In inference these are llama.cpp's compute buffers, or what vLLM measures before it has a cache, in
training what Megatron-LM holds. The rules are those of logs: of the buffers of llama.cpp with CUDA,
ROCm and Vulkan, of vLLM 0.10 to 0.19, and of 18 jobs of Megatron-LM and its sources.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import math
from typing import Optional, Tuple

from .llama import buffer_of
from .table import Assumed, Shape, Unit, ceil_div

#: Bytes of logits and sampling for each sequence and token of the vocabulary: FlashInfer's sampler,
#: and PyTorch's before vLLM 0.17; GiB outside PyTorch's on one device, with a pipeline or tensor
#: parallelism, and before vLLM 0.18.
SAMPLING = (15.0, 38.7)
NON_TORCH = ((0.25, 0.07, 2.1), (0.13, 0.07, 0.55))
#: The least and most that logs had instead, as shares, and bytes for what allocators leave unused.
BOUNDS = {"least": (0.95, 0), "most": (1.15, 32 << 20)}
#: Bytes for each token and element of the hidden state: in a layer, and between stages.
HIDDEN, BUFFERS = 8.5, 4
#: Tokens and sequences that servers run at once on devices of less than so many GiB (vLLM: but
#: A100), and sequences with four ranks of tensor parallelism; SGLang's are those of graphs.
SERVERS = {"vllm": ((70, 2048, 256, 256), (math.inf, 8192, 1024, 1024)),
           "sglang": ((20, 2048, 8, 8), (35, 4096, 48, 160), (60, 4096, 32, 160),
                      (160, 8192, 256, 512), (math.inf, 16384, 512, 512))}
#: What SGLang filled before 0.4.7, with so many ranks of tensor parallelism and more.
FILLED = ((16, 0.79), (8, 0.81), (4, 0.85), (2, 0.87), (1, 0.88))


def settings_of(server: str, size: int, tensor: int, stages: int, tokens: Optional[int] = None,
                sequences: Optional[int] = None) -> Tuple[int, int, float]:
    """The tokens and sequences that vLLM or SGLang runs at once on devices of `size` bytes if they
    are not given, and what share of a device weights and cache may take."""
    name, version = server.partition(":")[0], Assumed(server=server).version
    gib = size / (1 << 30) if name == "sglang" or version >= 9 else 0
    _, *own = next(row for row in SERVERS[name] if gib < row[0])
    tokens, sequences = tokens or int(own[0]), sequences or int(own[2 if tensor >= 4 else 1])
    if name == "vllm":
        return tokens, sequences, 0.92 if version >= 21 else 0.9
    ranks = tensor * stages
    if version < 407:
        share = next(it for least, it in FILLED if tensor >= least)
    elif version < 503:
        share = 1 - (2.8 + ranks / 10 if gib < 35 else 9.5 + ranks / 2 if gib < 90 else
                     12 + ranks / 2 if gib < 160 else 32) / gib
    else:
        kept = 0.5 + 1.5 * max(tokens, 2048) / 1024 + 2 * sequences / 1024 + ranks / 8
        share = 1 - max(kept, 10 if gib > 60 else 0) / gib
    return tokens, sequences, round(share, 3)


def outside_of(size: int, tensor: int) -> float:
    """The bytes of a device that SGLang does not see: a context, and what tensor parallelism takes
    before it begins; in logs 0.57 of 23.65 GiB, and 2 of 80 and of 140."""
    return min(size / 40, 2 << 30) if tensor > 1 else 0.4 * (1 << 30)


def workspace_of(shape: Shape, i: Optional[int], assumed: Assumed, copied: int = 0,
                 is_first: bool = False) -> int:
    """The bytes that layer i, or the head, needs while it runs in inference, with what llama.cpp
    copies from the host meanwhile, or on the first device, or vLLM has outside of PyTorch; 0: not
    known."""
    layer = None if i is None else shape.layers[i]
    if assumed.train is not None or i is not None and i < assumed.host_layers:
        return 0
    if assumed.server_name != "vllm":
        return buffer_of(shape, i, assumed, copied, is_first) \
            if shape.is_llama and not assumed.serves else 0
    is_old = [assumed.version < 17, assumed.version < 18]
    tokens, tensor, hidden = assumed.batched_tokens, assumed.tensor, shape.hidden
    experts = max(shape.layers, key=lambda it: it.routed * it.expert_width)
    if layer is None:
        size = SAMPLING[is_old[0]] * assumed.sequences * shape.vocabulary + tokens * hidden
    else:
        mlp = 2 * layer.routed * layer.expert_width if layer.routed else \
            (4 if layer.is_plain else 6) * layer.intermediate
        size = tokens * (mlp / tensor + HIDDEN * hidden)
    size += 2 * tokens * experts.routed * (hidden + 2 * experts.expert_width / tensor)
    size += BUFFERS * tokens * hidden * (assumed.stages > 1)
    kind = 2 if tensor > 1 else int(assumed.stages > 1)
    return round(size + NON_TORCH[is_old[1]][kind] * (1 << 30))


# ---- training ----

#: Bytes that a device needs besides: workspaces of libraries, masks, batches.
OTHER = 80 << 20
#: Bytes of logits for each token and element of the vocabulary: the softmax that is kept in fp32,
#: and what the fusion of PyTorch's compiler ("native") has besides.
SOFTMAX, FUSED = 4, 4
#: The least and most of jobs, as shares of what is expected, without and with experts: the most is
#: what PyTorch's allocator reserved.
SHARES = {"least": (0.97, 0.85), "most": (1.04, 1.15)}


def fill_training(unit: Unit, shape: Shape, i: Optional[int], assumed: Assumed, width: int) -> None:
    """Adds what layer i, or the head, needs: what it keeps of a micro-batch, and while it runs, for
    gradients of what an MLP keeps and what is recomputed, or for logits; `width` is the bytes of an
    element."""
    tokens, tensor, hidden = assumed.tokens, assumed.tensor, shape.hidden
    undivided = hidden / assumed.hidden_parts
    unit.backward = 2 * unit.forward
    unit.inputs = ceil_div(width * tokens * undivided, 1)
    if i is None:
        predictions = 1 + sum(it.logits > 0 for it in shape.layers) * assumed.trains_mtp
        fused = FUSED if assumed.cross_entropy_loss_fusion else 0
        unit.stash = ceil_div(tokens * (2 * width * undivided
                                        + SOFTMAX * predictions * shape.vocabulary / tensor), 1)
        unit.workspace = OTHER + ceil_div(tokens * (width + fused) * shape.vocabulary, tensor)
        return
    layer, kept, again = shape.layers[i], 0.0, 0.0
    drops = shape.dropout if assumed.hidden_dropout is None else assumed.hidden_dropout > 0
    outputs = layer.norms if layer.norms % 2 else 2  # others come after attention and MLP
    up, routed = 4 if layer.is_plain else 6, layer.routed * layer.expert_width
    inner = max(layer.intermediate - routed, 0)
    split = assumed.expert_tensor or min(tensor, assumed.experts or 1)
    copies = layer.routed * hidden * (2 if assumed.moe_permute_fusion else 4)
    # bytes of a token in 16 bits, by the module that may recompute them; "": what no module does
    for module, size in {
            "": 2 * (layer.norms * undivided + layer.latent)
            + 2 * (layer.kept - layer.expanded) / tensor + (2 * undivided if drops else 0),
            "layernorm": 2 * outputs * undivided,
            "mla_up_proj": 2 * layer.expanded / tensor,
            "core_attn": 5 * shape.heads * assumed.sequence / tensor
            if assumed.activations == "all" and layer.score_width else 0,
            "moe": (copies * split + (up - 2) * routed) / tensor,
            "moe_act": 2 * routed / tensor,
            "shared_experts" if layer.routed else "mlp": up * inner / tensor}.items():
        if module in assumed.modules:
            again += tokens * width / 2 * size
        else:
            kept += tokens * width / 2 * size
    if ("moe" if layer.routed else "mlp") in assumed.modules:
        unit.backward += ceil_div(2 * tokens * max(layer.active - layer.attention, 0), tensor)
    gradients = up * (routed or layer.intermediate) / tensor
    unit.stash, unit.recomputed = ceil_div(kept, 1), int(again)
    unit.workspace = ceil_div(OTHER + tokens * width / 2 * gradients + again, 1)
    if drops:  # in logs of four jobs two hidden states remain until the next one
        unit.memory += ceil_div(2 * width * tokens * undivided, 1)
