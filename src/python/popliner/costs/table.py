"""Costs that were taken from a model file: rows for units, what was assumed, and the three forms
that the solver reads them in.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import mmap
import os
import re
import stat
import struct
from collections import Counter
from contextvars import ContextVar
from dataclasses import Field, dataclass, field, fields
from fractions import Fraction
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Type

from .._calling import clean, file_name, instance, number, real, shown, text
from ..chains import MAX_UNITS, Costs
from ..errors import InputError, UsageError

#: The bits of an element.
DTYPE_BITS: Dict[str, int] = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "F64": 64, "I64": 64, "U64": 64, "C64": 64}

#: The bytes of an element by the names that options and config.json take; of blocks with scales
#: those of a block.
DTYPE_BYTES: Dict[str, Fraction] = {name: Fraction(size, block) for names, block, size in (
    ("float32 fp32 f32", 1, 4), ("bfloat16 bf16 float16 fp16 f16", 1, 2),
    ("float8 fp8 int8 float8_e4m3fn", 1, 1), ("int4 fp4", 2, 1), ("mxfp4", 32, 17),
    ("nvfp4", 16, 9)) for name in names.split()}
#: The same of caches: llama.cpp's types besides.
KV_BYTES: Dict[str, Fraction] = {**DTYPE_BYTES, **{name: Fraction(size, 32) for name, size in (
    ("q8_0", 34), ("q5_1", 24), ("q5_0", 22), ("q4_1", 20), ("q4_0", 18), ("iq4_nl", 18))}}

#: Bytes of states for each parameter, from the bytes of the parameter itself.
OPTIMIZERS: Mapping[str, Any] = {
    "none": lambda size: 0,
    "sgd": lambda size: 0,
    "momentum": lambda size: size,
    "adam": lambda size: 2 * size,
    "adam-mixed": lambda size: 12,  # a copy in fp32, and two moments in fp32
}

#: What data-parallel ranks divide: each also divides what those before it do.
SHARDS = ("none", "optimizer", "gradients", "parameters")

#: What may be recomputed of a layer, by Megatron-LM's names (--recompute-modules).
MODULES = ("core_attn", "layernorm", "mla_up_proj", "mlp", "moe", "moe_act", "shared_experts")

#: The most bytes that a file of costs holds.
MAX_BYTES = 1 << 48
#: The most samples that a time has.
MAX_SAMPLES = 256
#: The most that times may total: a file of costs holds times below 2^52.
MAX_TIME = (1 << 52) - 1

#: Estimates besides the expected one: keys of units, and ends of columns.
ESTIMATES = ("least", "most")
#: The columns in their order, and those of them that have a unit of time.
COLUMNS = ("memory", "forward", "backward", "time", "stash", "inputs", "parameters", "kv",
           "kv_tokens", "cache", "workspace", "recomputed", "sharded", "cut")
TIMES = ("time", "forward", "backward")

#: Sources of hyperparameters, of models, and of nodes.
CONFIGURED = ("config.json", "Megatron-LM's arguments")
MODELS, NODES = ("GGUF", "safetensors", *CONFIGURED), ("ONNX", "statistics of ONNX Runtime")


def expect(is_right: Any, message: str, error: Type[Exception] = InputError) -> None:
    """Refuses a source, or what is asked, if something is not as it has to be."""
    if not is_right:
        raise error(message)


def whole(value: Any, what: str, least: int = 0, most: int = (1 << 32) - 1,
          error: Type[Exception] = InputError) -> int:
    """A whole number of a source, or of what is asked."""
    expect(type(value) is int and least <= value <= most, f"{what} {shown(value)}: expected a "
           f"whole number from {least} to {most}", error)
    return value


def at_most(count: int, most: int, name: str, what: str) -> None:
    """Refuses a source that has more of something than is read."""
    expect(count <= most, f"{name}: {count} {what}; expected at most {most}")


def rows_of(text: str) -> Dict[str, List[str]]:
    """The words of rows by their names, of which a row may have several; a line may have several
    rows, and goes on in one that begins with a blank."""
    rows = re.split(r"\||\n(?! )", text.strip())
    return {name: row.split()[1:] for row in rows for name in row.split()[0].split(",")}


def option(default: Any, text: str, *flags: str, of: Sequence[str] = MODELS, only: str = "",
           **how: Any) -> Any:
    """A member of Assumed and its option: what that says, other names, the sources `of` which it
    is, the purposes and programs that it is `only` for, and perhaps its `metavar`, `known` values,
    the `least` and `most` of a number, and what is `expected`: whether a value `holds`."""
    return field(default=default, metadata={"text": text, "flags": flags, "of": of,
                                            "only": only.split(), **how})


training = functools.partial(option, only="training")
serving = functools.partial(option, only="inference")


def flags_of(member: "Field[Any]") -> List[str]:
    """The options of a member, the one that messages name first."""
    flags = member.metadata.get("flags", ())
    return [*["--" + member.name.replace("_", "-")] * ("--" not in "".join(flags)), *flags]


def kind_of(member: "Field[Any]") -> str:
    """The type of a member, like int."""
    return str(member.type).replace("Optional[", "").rstrip("]")


@dataclass
class Assumed:
    """What a model file does not say. Sizes are of a micro-batch. Members with a text are options
    of the command."""

    batch: int = option(1, "sequences of a micro-batch", "-np")
    sequence: int = option(2048, "tokens of a sequence")
    train: Optional[str] = option(None, "optimizer (default: inference)", known=OPTIMIZERS)
    gradient: Optional[str] = training(None, "of gradients (adam-mixed: fp32)", known=DTYPE_BYTES)
    dtype: Optional[str] = option(None, "of weights that no file has (default: torch_dtype, or "
                                  "bf16)", known=DTYPE_BYTES, of=CONFIGURED)
    kv_dtype: str = serving("bf16", "of the KV cache", "-ctk", known=KV_BYTES)
    v_dtype: Optional[str] = serving(None, "of the V cache (default: -ctk)", "-ctv", known=KV_BYTES)
    tensor: int = option(1, "tensor degree, which divides weights, cache, activations and times")
    experts: Optional[int] = option(None, "expert-parallel degree (default: --tensor)")
    expert_tensor: Optional[int] = training(None, "tensor degree of experts (default: --tensor)")
    tflops: Optional[float] = option(None, "TFLOP/s that a device reaches, for times",
                                     expected="between 0 and 1e9", holds=lambda it: 0 < it < 1e9)
    activations: str = training("selective", "all: attention is not fused and its scores are kept",
                                known=("selective", "all"))
    recompute: str = training(
        "none", "layers: each is recomputed alone; layers:N: N together; block:N/L: the first N of "
        f"each L alone; or modules: {', '.join(MODULES)}",
        metavar="layers[:N]|block:N/L|MODULE,...", holds=re.compile(
            r"none|layers(:[1-9]\d{0,3})?|block:[1-9]\d{0,3}/[1-9]\d{0,3}|(MODULE)(,(MODULE))*"
            .replace("MODULE", "|".join(MODULES))).fullmatch)
    lora: int = training(0, "rank of adapters, which alone train", least=0, most=1 << 20)
    trainable: Optional[str] = training(None, "only units whose names match train", metavar="REGEX")
    sequence_parallel: bool = training(False, "the tensor degree divides hidden states, too")
    context_parallel: int = training(1, "ranks that divide the tokens of a sequence in training")
    hidden_dropout: Optional[float] = training(
        None, "0: none (default: the job's)", expected="from 0 to 1", holds=lambda it: 0 <= it <= 1)
    moe_permute_fusion: bool = training(False, "a fused kernel permutes tokens of experts")
    cross_entropy_loss_fusion: bool = training(False, "the loss is compiled: logits take 6 bytes")
    exp_avg_dtype: Optional[str] = training(None, "of Adam's first moments", known=DTYPE_BYTES)
    exp_avg_sq_dtype: Optional[str] = training(None, "of Adam's second moments", known=DTYPE_BYTES)
    torch_adam: bool = training(False, "PyTorch's Adam: its step needs more (--format json)")
    shard: str = training(
        "none", "what replicas divide: the optimizer's states (ZeRO 1), gradients too (ZeRO 2), or "
        "parameters too (ZeRO 3, FSDP)", known=SHARDS)
    data: int = training(0, "data-parallel ranks (default: of popliner --total-ipus)", least=0)
    server: Optional[str] = serving(
        None, "what runs it (default for GGUF: llama.cpp's newest, with logits of all tokens)",
        metavar="vllm[:0.N]|sglang[:0.N.N]|llama[:BUILD]", holds=re.compile(
            r"(vllm|sglang)(:0\.\d{1,3}(\.\d{1,3})*)?|llama(:b?\d{1,6})?").fullmatch)
    logits: Optional[str] = serving(None, "tokens with logits (default: all, with --server last)",
                                    known=("all", "last"))
    embedding: Optional[str] = serving(None, "where it is (default: host for GGUF, else device)",
                                       known=("device", "host"))
    mtp: Optional[str] = option(None, "layers that predict further tokens (default: drop for GGUF "
                                "in inference, else keep)", known=("keep", "drop"))
    ubatch: int = option(512, "tokens that llama.cpp computes at once", "-ub", only="llama")
    flash: bool = option(True, "fused (default: on)", "--flash-attention", "-fa", only="llama")
    batched_tokens: int = option(8192, "tokens that the server runs at once (default: its own)",
                                 only="vllm sglang")
    sequences: int = option(1024, "sequences that it runs at once (default: its own)",
                            only="vllm sglang")
    host_experts: int = serving(
        0, "the first layers whose experts are on the host; auto: as few as --devices need, or, in "
        "a table, those that --recompute auto chooses", "--experts-on-host", least=0,
        metavar="N|all|auto")
    host_layers: int = serving(0, "the first layers, which run on the host with their caches",
                               "--layers-on-host", least=0, metavar="N|all|auto")
    pipeline: Optional[int] = option(None, "devices that share the model", only="llama vllm sglang")
    group: Optional[str] = option(
        None, "of ONNX nodes: its first ( ) names their unit", metavar="REGEX", of=NODES,
        holds=lambda it: re.compile(it).groups > 0, expected="a group ( ) around the unit's name")
    profile: Optional[str] = option(
        None, "times that ONNX Runtime wrote with enable_profiling", metavar="FILE", of=NODES)
    megatron: str = ""  #: further arguments of Megatron-LM, which replace those of the source
    #: sizes of symbolic dimensions
    dims: Dict[str, int] = field(default_factory=dict, metadata={"of": ("ONNX",),
                                                                 "flags": ("--dim",)})
    stage_layers: List[int] = field(default_factory=list)  #: of each stage of a job, in order
    cells: int = 1  #: llama.cpp's caches have a multiple of so many tokens: 256 for a context
    host_slowdown: Optional[int] = serving(None, "", most=1 << 20)  #: of experts, if layers choose
    devices: int = 1  #: as many as the stages are for without `pipeline`
    #: the first layers, which are known to be on llama.cpp's first device
    first_layers: int = field(default=0, metadata={"least": 0})

    def __post_init__(self) -> None:
        if self.profile is not None:
            self.profile = os.fsdecode(file_name(self.profile, "profile"))
        for name, size in instance(self.dims, dict, "dims").items():
            text(instance(name, str, "a name of dims"), "a name of dims")
            number(size, "a size of dims", (1 << 60) - 1, 0)
        for it in fields(self):
            if getattr(self, it.name) is not None or it.default is not None:
                self._check(it)
        trains, server = self.train is not None, self.server or ""
        self.experts = self.tensor if self.experts is None else self.experts
        self.logits = self.logits or ("last" if server else "all")
        #: the types of keys and of values in caches
        self.cache_dtypes = self.kv_dtype, self.v_dtype or self.kv_dtype
        self.server_name = server.partition(":")[0]  #: without its version
        self.serves = self.server_name in ("vllm", "sglang")
        self.purpose = "training" if trains else "inference"
        self.stages = self.pipeline or self.devices  #: how many devices the stages are for
        #: of a micro-batch on one device
        self.tokens = self.batch * ceil_div(self.sequence, self.context_parallel)
        #: layers that predict further tokens train: as in Megatron-LM they have the embedding, and
        #: the head computes all losses
        self.trains_mtp = trains and self.mtp != "drop"
        #: how often a device has its inputs: llama.cpp runs no pipeline with something on the host
        self.copies = 4 if self.stages > 1 and not self.host_experts + self.host_layers else 1
        #: the modules that are recomputed: all of the experts', if they are
        self.modules = {*self.recompute.split(",")}
        self.modules |= {"moe_act", "shared_experts"} if "moe" in self.modules else set()
        #: the second part of vLLM's version, of SGLang's the last two as 407 of 0.4.7, or the build
        #: of llama.cpp; without one, of the newest
        self.version = 1 << 30
        for major, minor in re.findall(r":(?:0\.|b?)(\d+)(?:\.(\d+))?", server):
            self.version = 100 * int(major) + int(minor or 99) if self.server_name == "sglang" \
                else int(major)
        expect(self.flash or self.cache_dtypes[1] in DTYPE_BYTES, f"-ctv {self.cache_dtypes[1]}: "
               "llama.cpp needs flash attention for it; leave out -fa off, or give -ctv f16",
               UsageError)
        expect(not self.exp_avg_dtype and not self.exp_avg_sq_dtype or "adam" in str(self.train),
               "exp_avg_dtype and exp_avg_sq_dtype: are for adam and adam-mixed", UsageError)
        ranks = self.data * self.context_parallel * self.tensor
        expect(self.shard == "none" or ranks % self.experts == 0,
               f"experts {self.experts}: does not divide the {self.data} · {self.tensor} ranks of "
               "data and tensor", UsageError)

    def _check(self, member: "Field[Any]") -> None:
        """That a member has a value of its kind, and one for what is asked."""
        how, kind, value = member.metadata, kind_of(member), getattr(self, member.name)
        known, expected = how.get("known"), how.get("expected", how.get("metavar"))
        if kind == "int":
            whole(value, member.name, how.get("least", 1), how.get("most", 1 << 32), UsageError)
        elif kind == "str" and not known:
            text(instance(value, str, member.name), member.name)
        elif kind == "float":
            real(value, member.name)
        try:
            is_right = isinstance(value, str) and value in known if known else \
                how.get("holds", re.compile if expected == "REGEX" else lambda _: True)(value)
        except re.error as error:
            is_right, expected = False, f"a regular expression: {error}"
        expect(is_right, f"{member.name} {shown(value)}: expected "
               f"{'one of ' + ', '.join(known) if known else expected}", UsageError)

    def told(self, is_llama: bool) -> str:
        """What is assumed, of llama.cpp or in general, by the names of options."""
        asked = {self.purpose, self.server_name or "llama" * is_llama}
        values = {flags_of(it)[0][2:]: getattr(self, it.name) for it in fields(self)
                  if it.metadata.get("text") and not asked.isdisjoint(it.metadata["only"] or asked)}
        if values.get("flash-attention") is False:
            values["flash-attention"] = "off"
        return "Assumed: " + ", ".join(name if value is True else f"{name} {value}"
                                       for name, value in values.items()
                                       if value not in (None, False, 0, "none")) + "."

    def require(self, source: str) -> None:
        """That nothing is asked that such a source, or its purpose and program, does not use."""
        asked = {self.purpose,
                 self.server_name or "llama" * (source == "GGUF" and self.train is None)}
        unasked = Assumed()
        for it in fields(self):
            value = getattr(self, it.name)
            wrong = f"{it.name} {shown(value)}: is for "
            of, only = it.metadata.get("of", [source]), it.metadata.get("only") or [self.purpose]
            if value == getattr(unasked, it.name):
                continue
            expect(source in of, f"{wrong}{', '.join(of)}, not for {source}; leave it out",
                   UsageError)
            remedy = {"training": "give train", "inference": "leave out train"}.get(
                only[0], f"leave it out, or give server {only[0]}")
            expect(not asked.isdisjoint(only), f"{wrong}{' or '.join(only)}; {remedy}", UsageError)
        expect(self.server_name != "llama" or source == "GGUF", f"server {self.server}: {source} "
               "is not for llama.cpp; give a GGUF file, or the server vllm or sglang", UsageError)

    def trains(self, name: str) -> bool:
        """True if the weights of a unit train."""
        return self.train is not None and not self.lora and (
            self.trainable is None or re.search(self.trainable, name) is not None)

    def gradient_bytes(self, size: float) -> float:
        """The bytes of a gradient, from the bytes of its parameter."""
        if self.gradient is not None:
            return DTYPE_BYTES[self.gradient]
        return 4 if self.train == "adam-mixed" else size

    def state_bytes(self, size: float) -> float:
        """The bytes that training adds to a parameter of `size` bytes: gradient and optimizer."""
        if self.train is None:
            return 0
        usual = 4 if self.train == "adam-mixed" else size
        moments = sum(DTYPE_BYTES[it] - usual for it in (self.exp_avg_dtype, self.exp_avg_sq_dtype)
                      if it is not None)
        return self.gradient_bytes(size) + OPTIMIZERS[self.train](size) + moments


@dataclass
class Cache:
    """What attention keeps of tokens. Elements are those of one entry."""

    elements: int  #: of keys and values, of all heads
    heads: int = 1  #: parts that devices share out; each is whole on some
    window: Optional[int] = None  #: the most tokens that it attends to
    ratio: int = 1  #: tokens that an entry stands for
    is_own: bool = False  #: each sequence has one, also in llama.cpp
    values: int = 0  #: the elements of values, which may have another type than those of keys
    is_full: bool = False  #: it has all entries of its window from the first token on
    entry_bytes: Optional[int] = None  #: of an entry that has a type of its own


@dataclass
class LayerShape:
    """A layer of a model. Numbers are of elements; FLOPs are those of one token."""

    #: parameters by kind, as of Weights: others, and those of matrices, which may be quantised
    plain: "Counter[str]" = field(default_factory=Counter)
    matrices: "Counter[str]" = field(default_factory=Counter)
    active: int = 0  #: parameters of the matrices that a token is multiplied with
    used: int = 0  #: the part of these in experts
    attention: int = 0  #: parameters of matrices before the MLP
    caches: List[Cache] = field(default_factory=list)
    sides: int = 0  #: rows and columns of the matrices that may have adapters
    norms: int = 2  #: each keeps the hidden state before it
    kept: int = 0  #: elements between norms and MLP that a token keeps in training
    expanded: int = 0  #: the part of these that latent attention expands
    latent: int = 0  #: others, which tensor parallelism does not divide
    is_guessed: bool = False  #: what it keeps is a guess: inputs and outputs of its matrices
    logits: int = 0  #: what a token is multiplied with for a prediction of its own
    state: int = 0  #: bytes that a sequence of any length keeps
    score_width: int = 0  #: elements of query and value, of all heads together
    intermediate: int = 0  #: the width of the MLP that a token goes through
    is_plain: bool = False  #: that MLP has two matrices, no gate
    routed: int = 0  #: experts that a token goes through
    expert_width: int = 0  #: of each of them
    #: elements of a token in what llama.cpp computes (workspace.py)
    sizes: Dict[str, int] = field(default_factory=dict)

    def add(self, rows: int, columns: int, bias: bool = False, parts: int = 1,
            kind: str = "") -> None:
        """A matrix, with a bias of each column, or several of the same rows. A router is not
        quantised, nor divided."""
        self.sides += parts * rows + columns if columns else 0
        self.active += rows * columns
        self.plain[""] += columns if bias else 0
        if kind == "router":
            self.plain["whole"] += rows * columns
        else:
            self.matrices[kind] += rows * columns


@dataclass
class Shape:
    """The hyperparameters of a model that costs depend on."""

    hidden: int
    vocabulary: int
    heads: int
    layers: List[LayerShape]
    names: List[str] = field(default_factory=list)  #: of the layers
    #: parameters by place and kind, as of Weights: input, norm, head, and the table of the input
    ends: "Dict[str, Counter[str]]" = field(default_factory=dict)
    is_tied: bool = False
    num_mtp: int = 0  #: the last of `layers` predict further tokens
    dtype: Optional[str] = None
    dropout: bool = False  #: hidden states are dropped in training
    period: int = 3  #: as many layers in a row have all kinds of llama.cpp's, or three
    is_llama: bool = False  #: llama.cpp's caches: one for all sequences, windows next to a batch
    notes: List[str] = field(default_factory=list)
    not_counted: List[str] = field(default_factory=list)  #: of llama.cpp's buffers


@dataclass
class Unit:
    """A unit of the chain; the members are the columns of docs/costs.md."""

    name: str
    memory: int = 0
    forward: float = 0  #: times of the passes
    backward: float = 0
    stash: int = 0
    inputs: int = 0
    parameters: int = 0
    cache: int = 0  #: the part of `memory` that caches and states of sequences take
    workspace: int = 0  #: what it needs while it runs; a stage needs the largest
    recomputed: int = 0  #: the part of it that stays for a later pass of the weights
    step: int = 0  #: what it needs instead while the optimizer steps
    kv: int = 0  #: what the cache of a token more takes
    kv_tokens: Optional[int] = None  #: by how many tokens that grows; None: any number
    sharded: int = 0  #: memory that data-parallel replicas divide
    cut: int = 0
    kind: str = "layer"  #: or embedding, mtp, loss, other
    weight_bytes: int = 0  #: the part of `memory` that the file holds
    host: Optional[Tuple[int, float]] = None  #: memory and time with its experts on the host
    #: what such sizes may be: "least" and "most"
    estimates: Dict[str, Dict[str, int]] = field(default_factory=dict)
    #: times of the passes in several runs; empty: as in `forward` and `backward`
    samples: List[Tuple[float, float]] = field(default_factory=list)

    @property
    def time(self) -> float:
        """Of both passes."""
        return self.forward + self.backward

    def sampled(self, runs: List[Tuple[float, float]]) -> None:
        """Sets the times of runs: samples if there are several; the largest is that of a pass."""
        self.forward, self.backward = (max(run[i] for run in runs) for i in range(2))
        self.samples = runs if len(runs) > 1 else []

    def cell(self, name: str) -> Any:
        """What a column has: a list if there are samples of times."""
        size, _, estimate = name.rpartition("_")
        if estimate in ESTIMATES:
            return self.estimates.get(estimate, {}).get(size)
        if name not in TIMES or not self.samples:
            return getattr(self, name)
        return [{"forward": run[0], "backward": run[1], "time": sum(run)}[name]
                for run in self.samples]


@dataclass
class Table:
    """Costs of units, in the order in which these run."""

    units: List[Unit] = field(default_factory=list)
    shared: List[Tuple[List[str], int]] = field(default_factory=list)  #: units, bytes once
    #: how many times as many these may be: "least" and "most"
    shared_shares: Dict[str, float] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)  #: what was assumed, a sentence each
    not_counted: List[str] = field(default_factory=list)  #: what is in no size, which answers tell
    samples: Optional[int] = None  #: of a micro-batch, which a note says too
    time_unit: Optional[str] = None
    chunks: int = 1  #: stages that a device of the job has in turn
    uncut: List[str] = field(default_factory=list)  #: units after which costs hold for no cut

    trains = property(lambda self: any(it.stash for it in self.units), doc="True of a job.")

    def checked(self, source: str) -> "Table":
        """The table, if the solver can read it."""
        at_most(len(self.units), MAX_UNITS, source, "units")
        Costs.parse(self.document(), source, copies="1f1b+1")
        return self

    def _columns(self) -> List[str]:
        usual, has_passes = Unit(""), any(it.backward for it in self.units)
        others = ("time",) if has_passes else ("forward", "backward")
        return [name for name in COLUMNS if name == "memory" or name not in others
                and any(getattr(it, name) != getattr(usual, name) for it in self.units)]

    def csv(self) -> str:
        """The table of layers of docs/costs.md. What units share is part of the memory of each."""
        expect(not any(unit.step for unit in self.units), "torch_adam: a table in CSV has no place "
               "for its step; take JSON", UsageError)
        out = io.StringIO()
        left_out = [f"Not counted: {'; '.join(self.not_counted)}."] * bool(self.not_counted)
        for note in map(clean, self.notes + left_out):
            out.write("# " + " ".join(note.split()) + "\n")
        columns = self._columns()
        columns += [f"{name}_{key}" for key in ESTIMATES for name in columns
                    if any(name in it.estimates.get(key, {}) for it in self.units)]
        columns += ["tied"] * bool(self.shared) + ["kind"]
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["name", *(f"{name} ({self.time_unit})" if name in TIMES else name
                                   for name in columns)])
        for unit in self.units:
            tied = {f"tied{i}:{size}": size for i, (names, size) in enumerate(self.shared)
                    if unit.name in names}
            cells = [sum(tied.values(), unit.cell(it)) if it.startswith("memory") else
                     [*tied] if it == "tied" else unit.cell(it) for it in ["name", *columns]]
            writer.writerow(" ".join(map(str, it)) if isinstance(it, list) else it for it in cells)
        return out.getvalue()

    def document(self) -> Dict[str, Any]:
        """The object of popliner's own format."""
        columns, steps = self._columns(), any(unit.step for unit in self.units)

        def sized(name: str, size: Any, step: int) -> Any:
            """A size, or with steps of the optimizer that of the passes and that of the step."""
            if not steps or name not in ("memory", "stash", "inputs", "recomputed"):
                return size
            return [size, size + step if name == "memory" else 0]

        def known(members: Dict[str, Any]) -> Dict[str, Any]:
            return {key: value for key, value in members.items() if value not in (None, [], {})}

        units = [known({
            "name": unit.name,
            **{"cycles" if name == "time" else name: sized(name, unit.cell(name), unit.step)
               for name in columns if name != "cut"},
            **{key: {name: sized(name, size, own.get("step", 0)) for name, size in own.items()
                     if name in columns} for key, own in unit.estimates.items()},
            "kind": None if unit.kind == "layer" else unit.kind,
            "variants": unit.host and [{"name": "experts-on-host", "memory": unit.host[0],
                                        **({"cycles": unit.host[1]} if unit.time else {})}]})
            for unit in self.units]
        return known({
            "format": "popliner-costs", "version": 1, "description": clean(" ".join(self.notes)),
            "units": units, "regions": ["passes", "step"] * steps,
            "not_counted": clean("; ".join(self.not_counted)) + "." if self.not_counted else None,
            "samples": self.samples,
            "time_unit": self.time_unit if any(unit.time for unit in self.units) else None,
            "cuts": [unit.cut for unit in self.units[:-1]] * any(unit.cut for unit in self.units),
            "shared": [{"units": names, "memory": size, **{
                key: {"memory": round(size * share)} for key, share in self.shared_shares.items()}}
                       for names, size in self.shared]})

    def json(self) -> str:
        """The same as a text."""
        return json.dumps(self.document(), indent=4) + "\n"

    def costs(self, **pipeline: Any) -> Costs:
        """The Costs that the solver takes; members as for Costs.parse."""
        return Costs.parse(self.document(), "the table", **pipeline)


#: The device and inode of each file that was read, of a command since it began.
FILES_READ: "ContextVar[Set[Tuple[int, int]]]" = ContextVar("FILES_READ", default=set())

#: The most values of a JSON document, which take many times its bytes. A profile has more.
MAX_VALUES, MAX_PROFILE = 1 << 19, 1 << 21

_LENGTH = struct.Struct("<Q")


class Source(contextlib.AbstractContextManager):
    """A file that is read from its beginning, never past its end."""

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path) or path
        try:
            info = os.stat(file_name(path))
            expect(stat.S_ISREG(info.st_mode), f"{path}: is not a regular file")
            self.file: BinaryIO = open(file_name(path), "rb")
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        self.size = info.st_size
        FILES_READ.get().add((info.st_dev, info.st_ino))

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def refuse(self, what: str) -> InputError:
        """The error to raise."""
        return InputError(f"{self.name}: {what}")

    def expect(self, is_right: Any, what: str) -> None:
        """Refuses the file if something is not as it has to be."""
        expect(is_right, f"{self.name}: {what}")

    def need(self, count: int, what: str) -> None:
        """Checks that `count` more bytes are there."""
        left = self.size - self.file.tell()
        self.expect(count <= left, f"{what} needs {count} bytes, and {left} are left: the file is "
                    "cut off or damaged")

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes."""
        self.need(count, what)
        try:
            taken = self.file.read(count)
        except OSError as error:
            raise self.refuse(error.strerror or str(error)) from None
        self.expect(len(taken) == count, f"{what}: the file became shorter while it was read")
        return taken

    def check_spans(self, spans: "List[Tuple[int, int, str]]", alignment: int = 1) -> None:
        """That tensors (offset, size, name) follow one another to the end of the file, aligned."""
        start, expected = alignment * ceil_div(self.file.tell(), alignment), 0
        for offset, size, name in sorted(spans):
            self.expect(offset == expected, f"{name!r:.100} begins at byte {offset} of the data; "
                        f"expected {expected}: a hole or two tensors are there")
            self.expect(start + offset + size <= self.size, f"{name!r:.100} ends at byte "
                        f"{start + offset + size} of {self.size}: the file is cut off or damaged")
            expected = alignment * ceil_div(offset + size, alignment)
        self.expect(self.size <= start + expected or not spans, f"{self.size - start - expected} "
                    "bytes follow the last tensor: the file is cut off or damaged")

    def skip(self, count: int, what: str) -> None:
        """Leaves out the next `count` bytes."""
        self.need(count, what)
        self.file.seek(count, os.SEEK_CUR)

    def skip_texts(self, count: int, what: str) -> None:
        """Leaves out texts, each after its length in 8 bytes."""
        at, last = self.file.tell(), self.size - 8
        with mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for _ in range(count):
                if at > last:
                    raise self.refuse(f"{what}: a text is cut off or damaged")
                at += 8 + _LENGTH.unpack_from(data, at)[0]
        self.skip(at - self.file.tell(), what)


def _no_twice(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result: Dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"{key!r:.100} appears twice")
        result[key] = value
    return result


def parse_json(text: bytes, name: str, most: int = MAX_VALUES) -> Any:
    """A JSON text; whatever is wrong with it is an InputError."""
    count = sum(map(text.count, (b",", b"[", b"{")))
    at_most(count, most, name, "values of JSON")
    try:
        return json.loads(text.decode("utf-8-sig"), object_pairs_hook=_no_twice)
    except RecursionError:
        raise InputError(f"{name}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{name}: no valid JSON: {error}") from None


def read_json(path: str, most: int = MAX_VALUES) -> Any:
    """A JSON file of at most 64 MB."""
    with Source(path) as source:
        at_most(source.size, 1 << 26, source.name, "bytes of JSON")
        return parse_json(source.take(source.size, "the JSON"), source.name, most)


def ceil_div(value: float, divisor: int) -> int:
    """The share of one of `divisor` devices."""
    return -int(-value // divisor)
