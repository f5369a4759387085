"""What a unit keeps for its backward pass, and needs while it runs, in training: as Megatron-LM
holds it. The rules are those of its sources, and of logs of 18 of its jobs.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Dict, Optional

from .table import Assumed, LayerShape, Shape

#: Bytes that a device needs besides: workspaces of libraries, masks, batches.
OTHER = 80 << 20
#: Bytes of logits for each token and element of the vocabulary: the softmax that is kept in fp32,
#: and what the fusion of PyTorch's compiler ("native") has besides.
SOFTMAX, FUSED = 4, 4


#: The least and most of jobs, as shares of what is expected, without and with experts: the most is
#: what PyTorch's allocator reserved.
ESTIMATES = {"at-least": (0.97, 0.85), "expected": (1, 1), "at-most": (1.04, 1.15)}


def _drops(shape: Shape, assumed: Assumed) -> bool:
    """True if hidden states are dropped."""
    return shape.dropout if assumed.hidden_dropout is None else assumed.hidden_dropout > 0


def resident_of(shape: Shape, assumed: Assumed, width: int) -> float:
    """The bytes that a layer has of its last micro-batch until the next one: in logs two hidden
    states where these are dropped (four jobs, within 1 %), and none where not."""
    size = 2 * width * assumed.tokens * shape.hidden * _drops(shape, assumed)
    return size / assumed.hidden_parts


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
    copies = layer.routed * hidden * (2 if assumed.moe_permute_fusion else 4)
    return {
        "": 2 * (norms * undivided + layer.latent) + 2 * (layer.kept - layer.expanded) / tensor
        + (2 * undivided if _drops(shape, assumed) else 0),
        "layernorm": 2 * outputs * undivided,
        "mla_up_proj": 2 * layer.expanded / tensor,
        "core_attn": 5 * shape.heads * assumed.sequence / tensor
        if assumed.activations == "all" and layer.score_width else 0,
        "moe": (copies * assumed.expert_tensor + (up - 2) * routed) / tensor,
        "moe_act": 2 * routed / tensor,
        "shared_experts" if layer.routed else "mlp": up * inner / tensor}


def _is_again(module: str, assumed: Assumed) -> bool:
    """True if a module is recomputed: all of the experts' are, if they are."""
    asked = assumed.recompute.split(",")
    return module in asked or "moe" in asked and module in ("moe_act", "shared_experts")


def stash_of(shape: Shape, i: Optional[int], assumed: Assumed, width: int) -> float:
    """The bytes that layer i, or the head, keeps of a micro-batch; `width` is that of an
    element."""
    if i is None:
        undivided = shape.hidden / assumed.hidden_parts
        predictions = 1 + sum(it.logits > 0 for it in shape.layers) * assumed.trains_mtp
        return assumed.tokens * (2 * width * undivided
                                 + SOFTMAX * predictions * shape.vocabulary / assumed.tensor)
    return assumed.tokens * width / 2 * sum(
        size for module, size in parts_of(shape, shape.layers[i], assumed).items()
        if not _is_again(module, assumed))


def again_of(shape: Shape, i: Optional[int], assumed: Assumed, width: int) -> float:
    """The bytes of modules of layer i, or the head, that are recomputed."""
    return 0 if i is None else assumed.tokens * width / 2 * sum(
        size for module, size in parts_of(shape, shape.layers[i], assumed).items()
        if _is_again(module, assumed))


def workspace_of(shape: Shape, i: Optional[int], assumed: Assumed, width: int) -> float:
    """The bytes that layer i, or the head, needs while it runs: gradients of what an MLP keeps and
    what is recomputed, or the logits."""
    if i is None:
        fused = FUSED if assumed.cross_entropy_loss_fusion else 0
        return OTHER + assumed.tokens * (width + fused) * shape.vocabulary / assumed.tensor
    layer = shape.layers[i]
    gradients = (4 if layer.is_plain else 6) * (
        layer.routed * layer.expert_width or layer.intermediate) / assumed.tensor
    return OTHER + assumed.tokens * width / 2 * gradients + again_of(shape, i, assumed, width)


def recomputed_of(shape: Shape, i: int, assumed: Assumed) -> int:
    """The weights that a token is multiplied with again, by what is recomputed of layer i."""
    layer = shape.layers[i]
    names = ("moe",) if layer.routed else ("mlp",)
    return max(layer.active - layer.attention, 0) if any(_is_again(it, assumed) for it in names) \
        else 0
