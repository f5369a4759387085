"""What a unit needs while it runs, and keeps for its backward pass.

In inference these are llama.cpp's compute buffers, or what vLLM measures before it has a cache, in
training what Megatron-LM holds. The rules are those of logs: of the buffers of llama.cpp with CUDA,
ROCm and Vulkan, of vLLM 0.10 to 0.19, and of 18 jobs of Megatron-LM and its sources.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Dict, Iterable, List, Optional, Tuple

from .table import DTYPE_BYTES, Assumed, LayerShape, Shape, Unit, ceil_div

# ---- llama.cpp, whose allocator leaves holes ----

#: The multiple of tokens of masks and of caches of windows.
MASK_UNIT = 256
#: The builds from which on a gate and its activation are one step (pull request 14158), masks for
#: flash attention are in fp16 (23764; before, the first device converted them), llama-server has
#: logits of slots (23861), what goes to quantised caches is rotated (in a log of 8946), and later
#: devices get the norm of their first layer, too (in 0.5.0; not yet in a log of 9967).
ONE_GATE, HALF_MASKS, FEW_LOGITS, ROTATED, EARLY_NORM = 5780, 9410, 9450, 8600, 10000

#: llama.cpp's steps (src/models, src/llama-graph.cpp), for which its allocator is replayed
#: (ggml/src/ggml-alloc.c): of a layer, with attention or a gated delta net, and of the head. The
#: result, "=" if it may take the place of an operand that nothing else needs (of one that is there
#: twice it may not), its size ("-": it is its operand), operands, and what a layer has that has the
#: step, tensors among them ("!": has not). Without it the result is its first operand, if it is
#: nothing yet.
BEGIN, ATTENTION, DELTA, END, HEAD = (
    [row.split() for row in re.split(r"\||\n", rows.strip())] for rows in ("""
x = hidden x token_types|x = hidden x scaled|x = hidden pos,x position_embd|deep padded x padded
x - deep padded|x hidden x token_embd_norm|n hidden x attn_norm
""", """
w fused n fused|w fused w ssm_out|w fused w ssm_out|q query w !fused !attn_k_b !query_gate
g query_gate n query_gate|q - g query_gate|q unfolded w attn_k_b|b folded q attn_k_b
t turning q attn_k_b|q query b,t attn_k_b|p query q turned !attn_k_b
p query p k_rotated fused !turned|p query p k_rotated|l attn_kv_b w attn_kv_b
v value l !fused !uncached|v value v v_rotated fused|v value v v_rotated|k key l !fused
e key k turned|e key e k_rotated|v value v !fused uncached|h none e !uncached|h half_key h uncached
j none v !uncached|j half_value j uncached|. none j|mask half mask convert|s scores p !flash
s = scores s,mask !flash|a mixed s !flash|a mixed p,h,j,mask flash|a narrow a attn_k_b
a narrow a attn_k_b|t mixed n ssm_out|a mixed a v_rotated|a = mixed a,t ssm_out|g mixed g query_gate
a = mixed g,a,a query_gate
""", """
z conv .|w fused n|k joined w,z|s scan .|w fused k|q grouped w|q ssm_out q ssm_ba|p grouped w
p ssm_out p ssm_ba|g ssm_ba n ssm_ba|e steps g|b steps g|d scanned q,p,w,e,b,s|a ssm_out d
t ssm_out n|t ssm_out t|a = ssm_out a,t
""", """
o hidden a !late|o hidden o outputs|x hidden x outputs|r - x|r = hidden x,o,o delta
r = hidden o,x !parallel !delta|r hidden r norms_last|f hidden r ffn_norm|f - n parallel !ffn_norm
c copied . copied|g gate f,c gate|c copied . copied|u up f,c|t inner u halves|u inner u halves
i = inner t,u halves|i inner g,u gate one_gate|i = inner g,u gate !one_gate
i = inner u !gate !halves|c copied . copied|d down i,c|d hidden d experts|z shared f shared
t shared f shared|z shared z,t shared|z hidden z shared|t ffn_gate_inp_shexp f ffn_gate_inp_shexp
z = hidden z,t ffn_gate_inp_shexp|d = hidden d,z shared|y = hidden r,d sum_first
y = hidden d,r !sum_first|y = hidden y,deep deep|y hidden y norms_last|o hidden a late
y = hidden y,o parallel
""", """
n = hidden x rms|n hidden x !rms|y logits n
"""))
#: What a first layer has before it.
BEGINS = ("token_types", "scaled", "position_embd", "padded", "token_embd_norm")
Sizes = Tuple[Tuple[str, int], ...]


def _free(blocks: Iterable[Tuple[int, int]], size: int) -> int:
    """Where the smallest gap begins that is large enough, of equal ones the last, between blocks
    from one place to another, or after them."""
    begins, ends = zip(*sorted(blocks), (1 << 60, 0))
    gaps = zip(begins, (0, *ends[:-1]))
    return -min((begin - end, -end) for begin, end in gaps if begin - end >= size)[1]


@lru_cache(maxsize=1024)
def _peak(inputs: Sizes, copies: int, layers: Tuple[Sizes, ...]) -> int:
    """The bytes of a device that gets the inputs, the hidden state first, and computes layers."""
    names = {name: i for i, (name, _) in enumerate(inputs)}
    steps: List[Tuple[int, bool, List[int]]] = [(size, False, []) for _, size in inputs]
    for layer in layers:
        has = dict(layer)
        names = {it: names[it] for it in names if it in ("x", "pos", "deep") or it.isdigit()}
        names["mask"] = names[str(has["mask"])]
        mixer = DELTA if has.get("delta") else ATTENTION
        for row in HEAD if "logits" in has else BEGIN + mixer + END:
            in_place = row[1] == "="
            result, size, words, *conditions = row[:1] + row[1 + in_place:]
            operands = [names[it] for it in words.split(",") if it in names]
            holds = all(bool(has.get(it.strip("!"))) != it.startswith("!") for it in conditions)
            if holds and size != "-":
                steps.append((max(has.get(size, 0), 0), in_place, operands))
                names[result] = len(steps) - 1
            elif operands and (holds or result not in names):
                names[result] = operands[0]
        names["x"], names[str(has["mask"])] = names["y"], names["mask"]
    if "logits" not in has:  # other layers follow
        steps.append((0, False, [names[it] for it in names if it == "x" or it.isdigit()]))
    places: Dict[int, Tuple[int, int]] = {}  # of results, and of copies that are kept to the end
    most = 0
    uses = [sum(operands.count(i) for _, _, operands in steps) for i in range(len(steps))]
    for i, (size, in_place, operands) in enumerate(steps):
        reused = [it for it in operands if in_place and uses[it] == 1 and it in places
                  and places[it][1] - places[it][0] == size]
        keys = [i] if copies < 2 or i >= len(inputs) else [-1 - k - copies * i
                                                           for k in range(copies)]
        for key in keys if size else []:
            begin = places.pop(reused[0])[0] if reused else _free(places.values(), size)
            places[key], most = (begin, begin + size), max(most, begin + size)
        for it in operands:
            uses[it] -= 1
            if not uses[it]:
                places.pop(it, None)
    return most


def _steps_of(layer: LayerShape, windows: List[int], cells: List[int], assumed: Assumed,
              copied: int) -> Dict[str, int]:
    """What a layer has, with the sizes of its results."""
    tokens, version = min(assumed.ubatch, assumed.batch * assumed.sequence), assumed.version
    sizes = {name: 4 * tokens * count for name, count in layer.sizes.items()}
    mask = windows.index(layer.sizes["reach"])
    sizes.update(dict.fromkeys(BEGINS, 0), mask=1 + mask, half=2 * tokens * cells[mask],
                 copied=copied, flash=assumed.flash, scores=sizes["heads"] * cells[mask],
                 one_gate=version >= ONE_GATE, halves=version < ONE_GATE and sizes["packed"],
                 half_key=sizes["key"] // 2, half_value=sizes["value"] // 2)
    if sizes.get("delta"):  # what it keeps of each slot is copied
        sizes["conv"] = 4 * assumed.batch * layer.sizes["conv"]
        sizes["scan"] = assumed.batch * layer.state - sizes["conv"]
        sizes.update(joined=sizes["fused"] + sizes["conv"],
                     scanned=sizes["ssm_out"] + sizes["scan"])
    for name, dtype, side in zip("kv", assumed.cache_dtypes, ("query", "mixed")):
        width = layer.sizes[side] // (layer.sizes["heads"] or 1) or 1
        if layer.caches and version >= ROTATED and dtype not in DTYPE_BYTES and width % 64 == 0:
            # by a matrix of the power of two that divides it, or of 64
            sizes[f"{name}_rotated"] = width & -width if name == "k" else 64
    return sizes


def buffer_of(shape: Shape, i: Optional[int], assumed: Assumed, copied: int,
              is_first: bool) -> int:
    """The compute buffer of a device that begins with layer i, or of one with the head."""
    loaded = [it for it in shape.layers if it.sizes]
    count, context = len(loaded), assumed.batch * assumed.sequence
    begin = max(count - shape.period, 0) if i is None else i
    if begin >= count:
        return 0
    copies, tokens, version = assumed.copies, min(assumed.ubatch, context), assumed.version
    uncached = not any(it.caches for it in shape.layers)
    windows = sorted({0, *(it.sizes["reach"] for it in loaded)})
    cells = [tokens if uncached else MASK_UNIT * ceil_div(  # masks of what is computed alone
        min(context, it * assumed.batch + assumed.ubatch if it else context), MASK_UNIT)
             for it in windows]
    is_first = is_first or assumed.stages == 1
    converts = assumed.flash and version < HALF_MASKS and is_first
    wide = 4 if converts or not assumed.flash else 2
    layers = [{**_steps_of(loaded[min(begin + k, count - 1)], windows, cells, assumed, copied),
               "uncached": uncached} for k in range(shape.period)]
    turns = sum(4 * layers[0].get(f"{it}_rotated", 0) ** 2 for it in "kv")  # with each mask
    inputs = [("x", layers[0]["hidden"]), *((str(1 + k), wide * tokens * it + turns)
                                            for k, it in enumerate(cells))]
    layers[0]["convert"] = converts
    if is_first:
        layers[0].update((it, 4 * tokens * shape.layers[0].sizes.get(it, 0)) for it in BEGINS)
        inputs[1:1] = [("pos", layers[0]["hidden"])] * bool(layers[0]["position_embd"])
    elif copies > 1 and version >= EARLY_NORM and layers[0]["attn_norm"]:
        inputs.append(("0", layers[0]["hidden"]))
    if i is None:
        is_few = assumed.logits == "last" and version >= FEW_LOGITS
        rows = min(tokens, assumed.batch) if is_few else tokens
        layers[-1]["outputs"] = not is_few
        layers.append({"rms": layers[-1]["rms"], "hidden": 4 * rows * shape.hidden, "mask": 1,
                       "logits": 4 * rows * shape.vocabulary})
    return _peak(tuple(inputs), copies, tuple(tuple(it.items()) for it in layers))


# ---- servers ----

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
    undivided = hidden / (tensor if assumed.sequence_parallel else 1)
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
