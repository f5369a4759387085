"""Costs that were taken from a model file: rows for units, what was assumed, and the three forms
that the solver reads them in.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import contextvars
import csv
import io
import json
import mmap
import os
import re
import stat
import struct
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, BinaryIO, Dict, List, Mapping, Optional, Set, Tuple

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
#: Members of Assumed that inference has no use for.
OF_TRAINING = ("shard", "recompute", "lora", "trainable", "sequence_parallel", "context_parallel",
               "hidden_dropout", "moe_permute_fusion", "cross_entropy_loss_fusion",
               "exp_avg_dtype", "exp_avg_sq_dtype", "torch_adam")

#: The most bytes that a file of costs holds.
MAX_BYTES = 1 << 48
#: The most samples that a time has.
MAX_SAMPLES = 256
#: The most that times may total: a file of costs holds times below 2^52.
MAX_TIME = (1 << 52) - 1


#: The columns that have a unit of time.
TIMES = ("time", "forward", "backward")


def version_of(server: Optional[str]) -> int:
    """The second part of vLLM's version, or the build of llama.cpp; without one, of the newest."""
    found = re.search(r":(?:0\.|b?)(\d+)", server or "")
    return 1 << 30 if found is None else int(found[1])


@dataclass
class Assumed:
    """What a model file does not say. Sizes are of a micro-batch."""

    batch: int = 1  #: sequences
    sequence: int = 2048  #: tokens of a sequence
    train: Optional[str] = None  #: the optimizer; None: inference
    gradient: Optional[str] = None  #: dtype; None: that of the weights, fp32 for adam-mixed
    dtype: Optional[str] = None  #: of weights of a config.json; None: as it says, or bf16
    kv_dtype: str = "bf16"
    tensor: int = 1  #: the degree that divides weights, KV cache and activations
    experts: Optional[int] = None  #: the degree that divides experts, instead of `tensor`
    tflops: Optional[float] = None  #: TFLOP in a second: times are then in ms
    activations: str = "selective"  #: "selective" recomputation or flash attention; "all" kept
    group: Optional[str] = None  #: a regular expression whose group 1 names the unit of a node
    dims: Dict[str, int] = field(default_factory=dict)  #: sizes of symbolic dimensions (ONNX)
    profile: Optional[str] = None  #: a file of ONNX Runtime with the times of nodes
    #: tokens that the head computes: "all", or the "last" of a sequence; None: as servers do
    logits: Optional[str] = None
    #: where its weights are: "device", or "host"; None: host for GGUF in inference, as llama.cpp
    embedding: Optional[str] = None
    #: layers that predict further tokens: "keep", or "drop"; None: drop for GGUF in inference
    mtp: Optional[str] = None
    ubatch: int = 512  #: tokens that llama.cpp computes at once, which it stores next to a window
    cells: int = 1  #: llama.cpp's caches have a multiple of so many tokens: 256 for a context
    v_dtype: Optional[str] = None  #: of the values in the cache; None: kv_dtype
    host_experts: int = 0  #: the first layers whose experts are on the host, in inference
    host_layers: int = 0  #: the first layers that run on the host, with their caches
    host_slowdown: Optional[int] = None  #: layers may choose experts there, which take so long
    shard: str = "none"  #: what the data-parallel ranks divide, of SHARDS
    data: int = 0  #: the number of these ranks; 0: the table has what each of them would divide
    lora: int = 0  #: the rank of the adapters that train instead of the weights; 0: none
    trainable: Optional[str] = None  #: a regular expression of units that train; None: all do
    #: "layers": each keeps its input and is recomputed alone; or modules of Megatron-LM
    recompute: str = "none"
    sequence_parallel: bool = False  #: `tensor` divides hidden states, too
    context_parallel: int = 1  #: ranks that divide the tokens of a sequence
    expert_tensor: Optional[int] = None  #: the part of `experts` within an expert; None: `tensor`
    hidden_dropout: Optional[float] = None  #: None: as config.json says
    moe_permute_fusion: bool = False
    cross_entropy_loss_fusion: bool = False
    exp_avg_dtype: Optional[str] = None  #: of Adam's first moments; None: as `train` says
    exp_avg_sq_dtype: Optional[str] = None  #: of the second ones
    torch_adam: bool = False  #: Adam is PyTorch's, not a fused one
    flash: bool = True  #: llama.cpp's flash attention
    pipeline: int = 1  #: the number of devices that stages are for
    #: which estimate, of workspaces in inference, or of all in training: "at-least", or "at-most"
    need: str = "expected"
    server: Optional[str] = None  #: "vllm" or "llama", perhaps with a version: "vllm:0.16"
    batched_tokens: int = 8192  #: that the server runs at once
    sequences: int = 1024  #: that it samples at once

    def __post_init__(self) -> None:
        self.experts = self.tensor if self.experts is None else self.experts
        self.logits = ("all" if self.server is None else "last") if self.logits is None \
            else self.logits
        for name in ("train", "group", "trainable"):
            if getattr(self, name) is not None:
                text(instance(getattr(self, name), str, name), name)
        if self.profile is not None:
            self.profile = os.fsdecode(file_name(self.profile, "profile"))
        if self.tflops is not None:
            real(self.tflops, "tflops")
        for name, value in instance(self.dims, dict, "dims").items():
            text(instance(name, str, "a name of dims"), "a name of dims")
            number(value, "a size of dims", (1 << 60) - 1, 0)
        for name in ("batch", "sequence", "tensor", "experts", "ubatch", "cells", "pipeline",
                     "batched_tokens", "sequences", "context_parallel", "expert_tensor"):
            value = getattr(self, name)
            if name == "expert_tensor" and value is None:
                self.expert_tensor = value = min(self.tensor, self.experts)
            if type(value) is not int or not 1 <= value <= 1 << 32:
                raise UsageError(f"{name} {shown(value)}: expected a whole number of at least 1")
        if self.host_slowdown is not None:
            number(self.host_slowdown, "host_slowdown", 1 << 20, 1)
        for name in ("host_experts", "host_layers"):
            if number(getattr(self, name), name) and self.train is not None:
                raise UsageError(f"{name}: is for inference; leave out train")
        if self.train is not None and self.train not in OPTIMIZERS:
            raise UsageError(f"train {shown(self.train)}: expected one of {', '.join(OPTIMIZERS)}")
        for name, known in (("gradient", DTYPE_BYTES), ("dtype", DTYPE_BYTES),
                            ("kv_dtype", KV_BYTES), ("v_dtype", KV_BYTES),
                            ("activations", ("selective", "all")),
                            ("logits", ("all", "last")), ("embedding", ("device", "host")),
                            ("mtp", ("keep", "drop")),
                            ("need", ("expected", "at-least", "at-most")), ("shard", SHARDS),
                            ("exp_avg_dtype", DTYPE_BYTES), ("exp_avg_sq_dtype", DTYPE_BYTES)):
            value = getattr(self, name)
            if value is None and (name.endswith("dtype") or name in (
                    "gradient", "embedding", "mtp")):
                continue
            if not isinstance(value, str) or value not in known:
                raise UsageError(f"{name} {shown(value)}: expected one of {', '.join(known)}")
        for name, own in (("logits", "last"), ("embedding", "host")):
            if self.train is not None and getattr(self, name) == own:
                raise UsageError(f"{name} {own}: is for inference; leave out train")
        number(self.lora, "lora", 1 << 20)
        number(self.data, "data", 1 << 32)
        if self.server is not None and (self.train is not None or re.fullmatch(
                r"vllm(:0\.\d{1,3}(\.\d+)*)?|llama(:b?\d{1,6})?",
                instance(self.server, str, "server")) is None):
            raise UsageError(f"server {shown(self.server)}: expected vllm or llama, or a version "
                             "like vllm:0.16 or llama:9410, for inference")
        if self.hidden_dropout is not None and not 0 <= real(
                self.hidden_dropout, "hidden_dropout") <= 1:
            raise UsageError(f"hidden_dropout {shown(self.hidden_dropout)}: expected from 0 to 1")
        modules = set(instance(self.recompute, str, "recompute").split(","))
        if self.recompute not in ("none", "layers") and not modules <= set(MODULES):
            raise UsageError(f"recompute {shown(self.recompute)}: expected none, layers, or "
                             f"modules with commas between them, of {', '.join(MODULES)}")
        for it in fields(self) if self.train is None else ():
            if it.name in OF_TRAINING and getattr(self, it.name) not in (it.default, False):
                raise UsageError(f"{it.name} {shown(getattr(self, it.name))}: is for training; "
                                 "give train")
        if (self.exp_avg_dtype or self.exp_avg_sq_dtype) and "adam" not in str(self.train):
            raise UsageError("exp_avg_dtype and exp_avg_sq_dtype: are for adam and adam-mixed")
        try:
            re.compile(self.trainable or "")
        except re.error as error:
            raise UsageError(f"trainable {shown(self.trainable)}: {error}") from None
        if self.shard != "none" and self.data * self.context_parallel * self.tensor \
                % self.experts != 0:
            raise UsageError(f"experts {self.experts}: does not divide the {self.data} · "
                             f"{self.tensor} ranks of data and tensor")
        if self.tflops is not None and not 0 < self.tflops < 1e9:
            raise UsageError(f"tflops {shown(self.tflops)}: expected more than 0, less than 1e9")

    @property
    def tokens(self) -> int:
        """The tokens of a micro-batch on one device."""
        return self.batch * ceil_div(self.sequence, self.context_parallel)

    @property
    def trains_mtp(self) -> bool:
        """True if layers that predict further tokens train: as in Megatron-LM they have the
        embedding, and the head computes all losses."""
        return self.train is not None and self.mtp != "drop"

    @property
    def hidden_parts(self) -> int:
        """The devices that divide the hidden states of a layer."""
        return self.tensor if self.sequence_parallel else 1

    def trains(self, name: str) -> bool:
        """True if the weights of a unit train."""
        return self.train is not None and not self.lora and (
            self.trainable is None or re.search(self.trainable, name) is not None)

    @property
    def version(self) -> int:
        """The version of the server."""
        return version_of(self.server)

    @property
    def runs_vllm(self) -> bool:
        """True if the server is vLLM."""
        return self.server is not None and self.server.startswith("vllm")

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

    parameters: int = 0
    expert_parameters: int = 0  #: the part of all experts but the shared ones
    active: int = 0  #: parameters of the matrices that a token is multiplied with
    used: int = 0  #: the part of these in experts
    matrices: int = 0  #: parameters that quantisation may make smaller: no router, norm or bias
    whole: int = 0  #: parameters that tensor parallelism does not divide
    whole_matrices: int = 0  #: the part of these that is of matrices
    attention: int = 0  #: the part of these before the MLP
    caches: List[Cache] = field(default_factory=list)
    sides: int = 0  #: rows and columns of the matrices that may have adapters
    norms: int = 2  #: each keeps the hidden state before it
    kept: int = 0  #: elements between norms and MLP that a token keeps in training
    expanded: int = 0  #: the part of these that latent attention expands
    latent: int = 0  #: others, which tensor parallelism does not divide
    is_guessed: bool = False  #: what it keeps is a guess: inputs and outputs of its matrices
    copied: int = 0  #: parameters that are copies of the embedding's and the head's
    logits: int = 0  #: what a token is multiplied with for a prediction of its own
    state: int = 0  #: bytes that a sequence of any length keeps
    score_width: int = 0  #: elements of query and value, of all heads together
    intermediate: int = 0  #: the width of the MLP that a token goes through
    is_plain: bool = False  #: that MLP has two matrices, no gate
    routed: int = 0  #: experts that a token goes through
    expert_width: int = 0  #: of each of them
    mixed: int = 0  #: elements of queries, keys and values of a token while llama.cpp computes them


@dataclass
class Shape:
    """The hyperparameters of a model that costs depend on."""

    hidden: int
    vocabulary: int
    heads: int
    layers: List[LayerShape]
    names: List[str] = field(default_factory=list)  #: of the layers
    embedding: int = 0
    table: int = 0  #: the part of it that a tied head uses
    positions: int = 0  #: the part of it that tensor parallelism does not divide
    norm: int = 0
    head: int = 0  #: 0 if tied
    is_tied: bool = False
    num_mtp: int = 0  #: the last of `layers` predict further tokens
    dtype: Optional[str] = None
    dropout: bool = False  #: hidden states are dropped in training
    is_llama: bool = False  #: llama.cpp's caches: one for all sequences, windows next to a batch
    notes: List[str] = field(default_factory=list)


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
    #: Times of the passes in several runs; empty: as in `forward` and `backward`.
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
        if name not in TIMES or not self.samples:
            return getattr(self, name)
        return [{"forward": run[0], "backward": run[1], "time": sum(run)}[name]
                for run in self.samples]


@dataclass
class Table:
    """Costs of units, in the order in which these run."""

    units: List[Unit] = field(default_factory=list)
    shared: List[Tuple[List[str], int]] = field(default_factory=list)  #: units, bytes once
    notes: List[str] = field(default_factory=list)  #: what was assumed, a sentence each
    not_counted: List[str] = field(default_factory=list)  #: what is in no size, which answers tell
    samples: Optional[int] = None  #: of a micro-batch, which a note says too
    time_unit: Optional[str] = None
    chunks: int = 1  #: stages that a device of the job has in turn

    def checked(self, source: str) -> "Table":
        """The table, if the solver can read it."""
        if not self.units:
            raise InputError(f"{source}: holds nothing that has a cost")
        if len(self.units) > MAX_UNITS:
            raise InputError(f"{source}: {len(self.units)} units; expected at most {MAX_UNITS}")
        for unit in self.units:
            if min(unit.memory, unit.parameters, unit.kv) < 0:
                raise InputError(f"{source}: what it says of {unit.name} makes sizes below 0")
        total = sum(u.memory + u.stash + u.inputs + u.parameters + u.kv + u.cut + u.workspace
                    + u.sharded for u in self.units) + sum(size for _, size in self.shared)
        if total > MAX_BYTES:
            raise InputError(f"{source}: the units total {total} bytes; expected at most 2^48")
        if sum(u.time for u in self.units) > MAX_TIME:
            raise InputError(f"{source}: the times total more than 2^52 {self.time_unit}")
        return self

    def _columns(self) -> List[str]:
        times = ["forward", "backward"] if any(unit.backward for unit in self.units) else ["time"]
        wanted = ["memory", *times, "stash", "inputs", "parameters", "kv", "kv_tokens", "cache",
                  "workspace", "recomputed", "sharded", "cut"]
        return [name for name in wanted
                if name == "memory" or any(getattr(unit, name) not in (0, None)
                                           or name == "kv_tokens" and unit.kv_tokens == 0
                                           for unit in self.units)]

    def csv(self) -> str:
        """The table of layers of docs/costs.md. What units share is part of the memory of each."""
        if any(unit.step for unit in self.units):
            raise UsageError("torch_adam: a table in CSV has no place for its step; take JSON")
        out = io.StringIO()
        notes = list(map(clean, self.notes))
        tied = {unit.name: [(i, size) for i, (names, size) in enumerate(self.shared)
                            if unit.name in names] for unit in self.units}
        notes += [f"Not counted: {clean('; '.join(self.not_counted))}."] * bool(self.not_counted)
        for note in notes:
            out.write("# " + " ".join(note.split()) + "\n")
        columns = self._columns()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["name", *(f"{name} ({self.time_unit})" if name in TIMES else name
                                   for name in columns), *["tied"] * bool(self.shared), "kind"])
        for unit in self.units:
            cells = [unit.cell(name) for name in columns]
            cells[0] += sum(size for _, size in tied[unit.name])
            if self.shared:
                cells.append([f"tied{i}:{size}" for i, size in tied[unit.name]])
            cells = [" ".join(map(str, it)) if isinstance(it, list) else it for it in cells]
            writer.writerow([unit.name, *cells, unit.kind])
        return out.getvalue()

    def document(self) -> Dict[str, Any]:
        """The object of popliner's own format."""
        keys = {"time": "cycles"}
        units, steps = [], any(unit.step for unit in self.units)
        for unit in self.units:
            row: Dict[str, Any] = {"name": unit.name}
            row.update((keys.get(name, name), unit.cell(name)) for name in self._columns()
                       if name != "cut" and unit.cell(name) is not None)
            if steps:
                row.update({"memory": [unit.memory, unit.memory + unit.step],
                            **{name: [getattr(unit, name), 0] for name in (
                                "stash", "inputs", "recomputed") if name in row}})
            if unit.kind != "layer":
                row["kind"] = unit.kind
            if unit.host is not None:
                row["variants"] = [{"name": "experts-on-host", "memory": unit.host[0],
                                    **({"cycles": unit.host[1]} if unit.time else {})}]
            units.append(row)
        result: Dict[str, Any] = {"format": "popliner-costs", "version": 1,
                                  "description": clean(" ".join(self.notes)), "units": units}
        if steps:
            result["regions"] = ["passes", "step"]
        if self.not_counted:
            result["not_counted"] = clean("; ".join(self.not_counted)) + "."
        if self.samples is not None:
            result["samples"] = self.samples
        if self.time_unit is not None and any(unit.time for unit in self.units):
            result["time_unit"] = self.time_unit
        if any(unit.cut for unit in self.units):
            result["cuts"] = [unit.cut for unit in self.units[:-1]]
        if self.shared:
            result["shared"] = [{"units": names, "memory": size} for names, size in self.shared]
        return result

    def json(self) -> str:
        """The same as a text."""
        return json.dumps(self.document(), indent=4) + "\n"

    def costs(self, **pipeline: Any) -> Costs:
        """The Costs that the solver takes; members as for Costs.parse."""
        return Costs.parse(self.document(), "the table", **pipeline)


#: The (device, inode) of every file that a run reads, if the run collects them.
READ: "contextvars.ContextVar[Optional[Set[Tuple[int, int]]]]" = contextvars.ContextVar(
    "READ", default=None)
#: The most values of a JSON document, which take many times its bytes. A profile has more.
MAX_VALUES, MAX_PROFILE = 1 << 19, 1 << 21


_LENGTH = struct.Struct("<Q")


class Source:
    """A file that is read from its beginning, never past its end."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path) or path
        try:
            info = os.stat(file_name(path))
            if not stat.S_ISREG(info.st_mode):
                raise InputError(f"{path}: is not a regular file")
            self.file: BinaryIO = open(file_name(path), "rb")
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        self.size, read = info.st_size, READ.get()
        if read is not None:
            read.add((info.st_dev, info.st_ino))

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    @property
    def position(self) -> int:
        """Where the next byte is read."""
        return self.file.tell()

    def refuse(self, what: str) -> InputError:
        """The error to raise."""
        return InputError(f"{self.name}: {what}")

    def need(self, count: int, what: str) -> None:
        """Checks that `count` more bytes are there."""
        if count > self.size - self.position:
            raise self.refuse(f"{what} needs {count} bytes, and {self.size - self.position} are "
                              "left: the file is cut off or damaged")

    def take(self, count: int, what: str) -> bytes:
        """The next `count` bytes."""
        self.need(count, what)
        try:
            taken = self.file.read(count)
        except OSError as error:
            raise self.refuse(error.strerror or str(error)) from None
        if len(taken) != count:
            raise self.refuse(f"{what}: the file became shorter while it was read")
        return taken

    def skip(self, count: int, what: str) -> None:
        """Leaves out the next `count` bytes."""
        self.need(count, what)
        self.file.seek(count, os.SEEK_CUR)

    def skip_texts(self, count: int, what: str) -> None:
        """Leaves out texts, each after its length in 8 bytes."""
        at, last = self.position, self.size - 8
        with mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for _ in range(count):
                if at > last:
                    raise self.refuse(f"{what}: a text is cut off or damaged")
                at += 8 + _LENGTH.unpack_from(data, at)[0]
        self.skip(at - self.position, what)


def _no_twice(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key appears twice")
    return result


def parse_json(text: bytes, name: str, most: int = MAX_VALUES) -> Any:
    """A JSON text; whatever is wrong with it is an InputError."""
    count = sum(map(text.count, (b",", b"[", b"{")))
    if count > most:
        raise InputError(f"{name}: JSON of {count} values; expected at most {most}")
    try:
        return json.loads(text.decode(), object_pairs_hook=_no_twice)
    except RecursionError:
        raise InputError(f"{name}: the JSON is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{name}: no valid JSON: {error}") from None


def read_json(path: str, most: int = MAX_VALUES) -> Any:
    """A JSON file of at most 64 MB."""
    with Source(path) as source:
        if source.size > 1 << 26:
            raise source.refuse(f"{source.size} bytes of JSON; expected at most 64 MB")
        return parse_json(source.take(source.size, "the JSON"), source.name, most)


def ceil_div(value: float, divisor: int) -> int:
    """The share of one of `divisor` devices."""
    return -int(-value // divisor)
