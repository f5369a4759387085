"""Megatron-LM's arguments, as on a command line, in a script or in YAML: the model, what the job
assumes, and its own split.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any, Dict, List, Optional, Tuple

from .._calling import shown
from ..errors import UsageError
from . import config
from .table import CONFIGURED, Assumed, Table, ceil_div, expect, rows_of, whole

#: Arguments that are numbers of a configuration, or of Assumed, by their names there.
MODEL = {flag: row[0] for flag, row in rows_of("""
num-layers num_hidden_layers|hidden-size hidden_size|num-attention-heads num_attention_heads
ffn-hidden-size intermediate_size|kv-channels head_dim|num-experts,num-moe-experts num_experts
max-position-embeddings max_position_embeddings
moe-router-topk num_experts_per_tok|moe-ffn-hidden-size moe_intermediate_size
moe-shared-expert-intermediate-size shared_expert_intermediate_size
mtp-num-layers num_nextn_predict_layers""").items()}
LATENT = {"q-lora-rank": ("q_lora_rank", None), "kv-lora-rank": ("kv_lora_rank", 32),
          "qk-head-dim": ("qk_nope_head_dim", 128), "v-head-dim": ("v_head_dim", 128),
          "qk-pos-emb-head-dim": ("qk_rope_head_dim", 64)}
ASSUMED = {"micro-batch-size": "batch", "seq-length": "sequence", "context-parallel-size":
           "context_parallel", "tensor-model-parallel-size": "tensor"}
SWITCHES = ("sequence-parallel", "moe-permute-fusion", "cross-entropy-loss-fusion")
#: Arguments that change what a device needs, and are not read.
MATTERS = re.compile(r"fp[48]-|.*offload|moe-(?:expert-capacity|pad-expert)|window-|.*hybrid|mamba|"
                     r"encoder-num|decoder-seq|linear-att|overlap-moe|delay-wgrad|.*cuda-graph|"
                     r"use-megatron-fsdp|use-custom-fsdp|experimental-att|reuse-grad-buf")
MOST_STAGES, MAX_TEXT = 1 << 12, 1 << 20


def are_arguments(text: str) -> bool:
    """True if a text has the model's layers and width as Megatron-LM names them."""
    return all(re.search(rf"(?m)(?:--|^\s*){it}\b", text) for it in (
        "num[-_]layers", "hidden[-_]size"))


class Arguments:
    """The arguments of a text by name; those of variables that it sets are replaced."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.found, self.asked = name, {}, set()
        text = re.sub(r"(?m)(^|\s)#.*$", "", text).replace("\\\n", " ")
        text = re.sub(r"\$\(\(.*?\)\)(?!\))|\$\([^()\n]*\)|`[^`\n]*`", lambda it: re.sub(
            r"[\s\"';&]", "", it[0]), text)
        values: Dict[str, Optional[str]] = {}
        for it in re.finditer(r"(?<![\w.{$-])([A-Za-z_]\w*)\+?=(?!\()(\"[^\"]*\"|'[^']*'|"
                              r"\$\(\S*\)|[^\s\"'(;&]*)", text):
            value = re.sub(rf"^\$\{{{it[1]}:?[-=](.*)\}}$", r"\1", it[2].strip("\"'"))
            is_one = len(value) <= 200 and " " not in value and values.get(it[1], value) == value
            values[it[1]] = value if is_one else None
        for _ in range(6):
            expect(len(text) <= 4 * MAX_TEXT, f"{name}: its variables make a text of more than 4 "
                   "MiB")
            text = re.sub(r"\$(?:\{(\w+)(?::?[-=]([^{}]*))?\}|(\w+))", lambda it: next(
                word for word in (values.get(it[1] or it[3], it[2]), it[0]) if word is not None),
                text)
        text = re.sub(r"(?m)^\s*-?\s*(?:--)?([A-Za-z][\w-]*):(?=\s|$)", r" --\1 ", text)
        text = re.sub(r"(?m)(?<![\w-])\w+\+?=[(\"']|[\"']\s*$|[;&]|\s\|\s|\s\d?>", " -- ", text)
        key = ""
        for word in re.findall(r"[^\s\"']+", re.sub(r"=[(\"']", " ", text)):
            flag = re.fullmatch(r"--([A-Za-z][\w-]*)(?:=(.*))?", word)
            closes = word.count(")") > word.count("(")
            if flag is not None:
                key = flag[1].replace("_", "-")
                self.found[key] = [] if flag[2] is None else [flag[2]]
            elif word in ("--", ")") or word[0] == "$" and self.found.get(key):
                key = ""
            elif key:
                self.found[key].append(word[:-1] if closes else word)
                key = "" if closes else key

    def words(self, flag: str, *default: str) -> List[str]:
        """What comes after a flag."""
        self.asked.add(flag)
        return self.found.get(flag) or [*default]

    def has(self, *flags: str) -> bool:
        """True if one of the switches is on."""
        return any(flag in self.found and self.words(flag, "true")[0].lower() not in (
            "false", "null", "none", "0") for flag in flags)

    def text(self, flag: str, default: str = "") -> str:
        """The first word after a flag."""
        word = self.words(flag, default)[0]
        expect("$" not in word, f"{self.name}: --{flag} {word:.40}: the script does not say what "
               f"that is, or says several; give --{flag}, too")
        return word

    def whole(self, flag: str, default: Optional[int] = None) -> int:
        """A number, of at least 1 if that is not the default."""
        word = self.text(flag, "" if default is None or flag in self.found else str(default))
        return whole(int(word) if re.fullmatch("[0-9]{1,10}", word) else word,
                     f"{self.name}: --{flag}", 0 if default == 0 else 1)


def config_of(a: Arguments) -> Tuple[Dict[str, Any], List[str]]:
    """A configuration, and the row of its kind."""
    hidden, heads = a.whole("hidden-size"), a.whole("num-attention-heads")
    is_gated = a.has("swiglu", "gated-linear-unit", "quick-geglu")
    keys: Dict[str, Any] = {key: a.whole(flag) for flag, key in MODEL.items() if a.has(flag)}
    keys.setdefault("intermediate_size", 64 * (8 * hidden // 192) if is_gated else 4 * hidden)
    keys.setdefault("num_experts_per_tok", 2)
    if a.has("group-query-attention") or "num-query-groups" in a.found:
        keys["num_key_value_heads"] = a.whole("num-query-groups", heads)
    if a.has("multi-latent-attention"):
        keys.update((key, a.whole(flag, default)) for flag, (key, default) in LATENT.items()
                    if default is not None or flag in a.found)
    frequency = a.text("moe-layer-freq", "1")[:256]
    keys["moe_layer_freq"] = int(frequency) if re.fullmatch("[0-9]{1,9}", frequency) else [
        int(it) for it in "".join(layer * int(times or 1) for layer, times in re.findall(
            r"\[([01])\](?:\*(\d{1,4}))?", frequency)) or re.findall("[01]", frequency)]
    kind = a.text("tokenizer-type", "GPT2BPETokenizer")  # pretrain_gpt.py's default
    unit = a.whole("make-vocab-size-divisible-by", 128) * a.whole("tensor-model-parallel-size", 1)
    flag = "padded-vocab-size" if "padded-vocab-size" in a.found else "vocab-size"
    expect(flag in a.found or kind.startswith("GPT2BPE"), f"{a.name}: {kind:.40} does not say how "
           "many tokens it has: give --vocab-size N, too")
    keys["vocab_size"] = unit * ceil_div(a.whole(flag, 50257) + (kind == "NullTokenizer"), unit)
    keys["tie_word_embeddings"] = not a.has("untie-embeddings-and-output-weights")
    keys["torch_dtype"] = "bfloat16" if a.has("bf16", "fp16") else "float32"
    keys["add_qkv_bias"] = a.has("add-qkv-bias")
    words = {"plain": not is_gated, "ln": a.text("normalization", "LayerNorm") == "LayerNorm",
             "bias": not a.has("disable-bias-linear"), "qk": a.has("qk-layernorm"),
             "pos=0": a.text("position-embedding-type", "learned_absolute") == "learned_absolute"
             and not a.has("use-rotary-position-embeddings", "no-position-embedding")}
    return keys, [word for word, is_so in words.items() if is_so]


def assumed_of(a: Arguments, assumed: Assumed) -> Tuple[Assumed, List[str]]:
    """What the job assumes, and what of it is not said."""
    left_out = [f"what --{flag} changes" for flag in a.found if MATTERS.match(flag) and a.has(flag)]
    own: Dict[str, Any] = {key: a.whole(flag) for flag, key in ASSUMED.items() if flag in a.found}
    own.update((flag.replace("-", "_"), True) for flag in SWITCHES if a.has(flag))
    tensor = own.get("tensor", 1)
    own["expert_tensor"] = a.whole("expert-tensor-parallel-size", tensor)
    own["experts"] = a.whole("expert-model-parallel-size", 1) * own["expert_tensor"]
    dropout = a.text("hidden-dropout", "0.1")
    expect(re.fullmatch(r"[0-9.]{1,9}(?:e-?[0-9])?", dropout) and dropout.count(".") < 2,
           f"{a.name}: --hidden-dropout {dropout!r:.40}: expected a number")
    if assumed.hidden_dropout is None:
        own["hidden_dropout"] = float(dropout)
    if assumed.train is None:
        own["train"] = "sgd" if a.text("optimizer") == "sgd" else \
            "adam-mixed" if a.has("bf16", "fp16") else "adam"
    if a.has("use-precision-aware-optimizer"):
        own.update((f"{it}_dtype", a.text(f"{it.replace('_', '-')}-dtype", "fp32"))
                   for it in ("exp_avg", "exp_avg_sq"))
        own["gradient"] = a.text("main-grads-dtype", "fp32")
    local = a.text("transformer-impl") == "local" and not a.has("use-flash-attn")
    if a.text("attention-backend") in ("unfused", "local") or local:
        own["activations"] = "all"
    own["stage_layers"] = [max(it, 0) for it, _ in stages_of(a)]
    granularity = a.text("recompute-granularity",
                         "selective" if a.has("recompute-activations") else "none")
    if granularity == "selective":
        own["recompute"] = ",".join(re.findall(r"\w+", " ".join(
            a.words("recompute-modules", "core_attn"))))
    elif granularity == "full":
        count, lengths = a.whole("recompute-num-layers", 1), own["stage_layers"]
        own["recompute"] = f"layers:{count}" if count > 1 else "layers"
        if a.text("recompute-method") == "block":
            own["recompute"] = "layers" if count >= max(lengths, default=count + 1) else \
                f"block:{count}/{lengths[0]}" if len(set(lengths)) == 1 and count > 0 else "none"
    if a.has("use-distributed-optimizer", "use-torch-fsdp2"):
        own["shard"] = "parameters" if a.has("use-torch-fsdp2") else "optimizer"
    ranks = tensor * own.get("context_parallel", 1) * a.whole("pipeline-model-parallel-size", 1)
    gpus, nodes = (int(it) if re.fullmatch("[0-9]{1,10}", it) else 0 for it, *_ in (
        a.words("nproc-per-node", "0"), a.words("nnodes", "1")))  # or as $SLURM_NNODES, gpu, 1:4
    own["data"] = assumed.data or (gpus * nodes // ranks if gpus * nodes % ranks == 0 else 0)
    unasked = Assumed()
    for key, value in own.items():
        expect(getattr(assumed, key) in (value, getattr(unasked, key)), f"{key} "
               f"{shown(getattr(assumed, key))}: {a.name} says {shown(value)}; give the job's own "
               "argument instead", UsageError)
    return replace(assumed, **own), left_out


def stages_of(a: Arguments) -> List[Tuple[int, str]]:
    """The layers of each stage in the order of the pipeline, and what else it has."""
    devices, count = a.whole("pipeline-model-parallel-size", 1), a.whole("num-layers")
    layout = a.text("pipeline-model-parallel-layout").replace(",", "")
    if layout:
        for pattern in (r"\(([^()]*)\)\*(\d{1,4})", r"(\w)\*(\d{1,4})"):
            layout = re.sub(pattern, lambda it: it[1] * min(int(it[2]), MOST_STAGES // max(
                len(it[1]), 1)), layout[:MOST_STAGES])
        return [(part.count("t"), part) for part in layout.split("|")]
    first, last = (a.whole(f"decoder-{it}-pipeline-num-layers", 0) for it in ("first", "last"))
    chunks = a.whole("num-virtual-stages-per-pipeline-rank", a.whole(
        "virtual-pipeline-model-parallel-size", 0)) or 1
    if "num-layers-per-virtual-pipeline-stage" in a.found:
        chunks = max(count // devices // a.whole("num-layers-per-virtual-pipeline-stage"), 1)
    if devices * chunks > count:
        return []
    ends = [a.has(f"account-for-{it}-in-pipeline-split") for it in ("embedding", "loss")]
    others = max(devices - (first > 0) - (last > 0), 1)
    each = [(count - first - last + sum(ends)) // others // chunks] * (devices * chunks)
    for k in range(chunks):
        each[k * devices] = first // chunks if first else each[k * devices]
        each[(k + 1) * devices - 1] = last // chunks if last else each[(k + 1) * devices - 1]
    each[0], each[-1] = each[0] - ends[0], each[-1] - ends[1]
    return [(it, "") for it in each]


def split_of(a: Arguments, table: Table, data: int) -> Optional[str]:
    """The options of popliner for the job's own split; None if it is not known."""
    stages, devices = stages_of(a), a.whole("pipeline-model-parallel-size", 1)
    if sum(count for count, _ in stages) != a.whole("num-layers") or len(stages) % devices or \
            min(stages)[0] < 0:
        return None
    lasts = itertools.accumulate(count + part.count("m") for count, part in stages[:-1])
    cuts = [table.units[it].name for it in lasts]
    each = max(a.whole("micro-batch-size", 1) * data, 1)
    batch, chunks = a.whole("global-batch-size", 0), len(stages) // devices
    return " ".join(
        [f"--evaluate {','.join(cuts) or 'whole'} --num-ipus {devices}"]
        + [f"--device-map interleaved:{chunks}"] * (chunks > 1)
        + [f"--schedule {'interleaved' if chunks > 1 else '1f1b'}+1"]
        + [f"--micro-batches {batch // each}"] * (data > 0 and batch > 0 and batch % each == 0))


def read(name: str, text: str, assumed: Assumed) -> Table:
    """The costs of a job, with a note of its own split."""
    a = Arguments(name, f"{text}\n{assumed.megatron}")
    own, left_out = assumed_of(a, assumed)
    own.require(CONFIGURED[1])
    keys, row = config_of(a)
    table = config.table_of(name, keys, own, row)
    if a.has("recompute-granularity") and a.text("recompute-method") == "block" and \
            own.recompute == "none":
        table.notes.append("Less is needed: layers that --recompute-method block recomputes count.")
    if own.data == 0 and (own.shard != "none" or "global-batch-size" in a.found):
        table.notes.append("The number of GPUs is not known, or not a multiple of a replica's; "
                           "give --data N, the data-parallel ranks.")
    split = split_of(a, table, own.data)
    table.notes.append("The job's own split is not known: its layers are not divided evenly."
                       if split is None else f"The job's own split: popliner TABLE {split}")
    table.not_counted += left_out
    table.chunks = max(len(stages_of(a)) // a.whole("pipeline-model-parallel-size", 1), 1)
    for flag in Arguments(name, assumed.megatron).found:
        expect(flag in a.asked, f"--{flag}: is no option, nor an argument of Megatron-LM that is "
               "read; --help describes the options", UsageError)
    return table
