"""What a unit keeps for its backward pass, and needs while it runs, in training: as Megatron-LM
holds it. The rules are those of its sources, and of logs of 18 of its jobs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Dict, Optional

from .table import Assumed, LayerShape, Shape, Unit, ceil_div

#: Bytes that a device needs besides: workspaces of libraries, masks, batches.
OTHER = 80 << 20
#: Bytes of logits for each token and element of the vocabulary: the softmax that is kept in fp32,
#: and what the fusion of PyTorch's compiler ("native") has besides.
SOFTMAX, FUSED = 4, 4
#: The least and most of jobs, as shares of what is expected, without and with experts: the most is
#: what PyTorch's allocator reserved.
SHARES = {"least": (0.97, 0.85), "most": (1.04, 1.15)}


def _drops(shape: Shape, assumed: Assumed) -> bool:
    """True if hidden states are dropped."""
    return shape.dropout if assumed.hidden_dropout is None else assumed.hidden_dropout > 0


def parts_of(shape: Shape, layer: LayerShape, assumed: Assumed) -> Dict[str, float]:
    """The bytes that a token leaves in a layer in 16 bits, by the module that may recompute them;
    "": what no module does."""
    hidden, tensor = shape.hidden, assumed.tensor
    norms = layer.norms
    outputs = norms if norms % 2 else 2  # others come after attention and MLP
    undivided = hidden / assumed.hidden_parts
    up = 4 if layer.is_plain else 6
    routed = layer.routed * layer.expert_width
    inner = max(layer.intermediate - routed, 0)
    split = assumed.expert_tensor or min(tensor, assumed.experts or 1)
    copies = layer.routed * hidden * (2 if assumed.moe_permute_fusion else 4)
    return {
        "": 2 * (norms * undivided + layer.latent) + 2 * (layer.kept - layer.expanded) / tensor
        + (2 * undivided if _drops(shape, assumed) else 0),
        "layernorm": 2 * outputs * undivided,
        "mla_up_proj": 2 * layer.expanded / tensor,
        "core_attn": 5 * shape.heads * assumed.sequence / tensor
        if assumed.activations == "all" and layer.score_width else 0,
        "moe": (copies * split + (up - 2) * routed) / tensor,
        "moe_act": 2 * routed / tensor,
        "shared_experts" if layer.routed else "mlp": up * inner / tensor}


def _is_again(module: str, assumed: Assumed) -> bool:
    """True if a module is recomputed: all of the experts' are, if they are."""
    asked = assumed.recompute.split(",")
    return module in asked or "moe" in asked and module in ("moe_act", "shared_experts")


def fill(unit: Unit, shape: Shape, i: Optional[int], assumed: Assumed, width: int) -> None:
    """Adds what layer i, or the head, needs: what it keeps of a micro-batch, and while it runs, for
    gradients of what an MLP keeps and what is recomputed, or for logits; `width` is the bytes of an
    element."""
    tokens, tensor = assumed.tokens, assumed.tensor
    undivided = shape.hidden / assumed.hidden_parts
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
    for module, size in parts_of(shape, layer, assumed).items():
        if _is_again(module, assumed):
            again += tokens * width / 2 * size
        else:
            kept += tokens * width / 2 * size
    if _is_again("moe" if layer.routed else "mlp", assumed):
        unit.backward += ceil_div(2 * tokens * max(layer.active - layer.attention, 0), tensor)
    gradients = (4 if layer.is_plain else 6) * (
        layer.routed * layer.expert_width or layer.intermediate) / tensor
    unit.stash, unit.recomputed = ceil_div(kept, 1), int(again)
    unit.workspace = ceil_div(OTHER + tokens * width / 2 * gradients + again, 1)
    if _drops(shape, assumed):  # in logs of four jobs two hidden states remain until the next one
        unit.memory += ceil_div(2 * width * tokens * undivided, 1)
