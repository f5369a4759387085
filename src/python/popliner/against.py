"""popliner PLAN --against LOG: what a server or trainer printed of its memory, against a plan.

PLAN is an answer in JSON for a table of costs, LOG what vLLM, SGLang, llama.cpp, Megatron-LM or
PyTorch, out of memory, printed when it ran with this split.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from .costs.__main__ import Parser, carried_out, write
from .costs.table import Source, ceil_div, read_json
from .errors import InputError, UsageError

GIB, MIB = 1 << 30, 1 << 20
ROUNDED = 10 * MIB  #: what logs with hundredths of a GiB leave out
_SIZE = r"(?P<size>-?\d{1,15}(?:\.\d{1,15})?|\d{1,3}(?:,\d{3}){1,4})(?![\d.,]*\d)"
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": GIB}
_ANY = rf"# (?P<unit>{'|'.join(_UNITS)})"  #: a size with its unit
_GPU = r"\b(?:CUDA|ROCm|Vulkan|SYCL|MUSA|CANN|MTL|Metal|RPC)(?P<device>\d*)[^\s_]*\s+"


class Row(NamedTuple):
    """What a line of a program may say; # is a size, and those of a line add up to the part."""

    program: str  #: empty: of any
    part: str
    pattern: str
    unit: int = GIB
    sign: int = 1
    adds_up: bool = False  #: the lines of a device also do; else the largest counts


#: Parts are those of answers; besides, `room` is what is left for caches, `need` is all, `wanted`
#: what it was at least where memory ran out, `graphs` are counted by nobody, `tokens` fit, and so
#: many `iterations` were over.
#: G and M stand for powers of 1024 in all logs.
ROWS = (
    Row("llama", "states", _GPU + r"(?:model )?buffer size =\s*# MiB", MIB, 1, True),
    Row("llama", "cache", _GPU + r"(?:KV|RS) buffer size =\s*# MiB", MIB, 1, True),
    Row("llama", "workspace", _GPU + r"compute buffer size =\s*# MiB", MIB),
    Row("vllm", "states", r"(?:Model loading|Loading model weights) took # G"),
    Row("vllm", "states", r"model weights take # ?G"),
    Row("sglang", "states", r"Load weight end\..*mem usage=# G"),
    Row("vllm", "workspace", r"Total non KV cache memory: # ?G"),
    Row("vllm", "workspace", r"weights memory: # ?G", GIB, -1),
    Row("vllm", "workspace", r"non_torch_memory takes # ?G"),
    Row("vllm", "workspace", r"PyTorch activation peak memory takes # ?G"),
    Row("vllm", "room", r"Available KV cache memory: # G"),
    Row("vllm", "room", r"Available memory: #, total memory", 1),
    Row("vllm", "room", r"reserved for KV Cache is # ?G"),
    Row("sglang", "room", r"KV Cache is allocated\..*\bK size: # G", GIB, 1, True),
    Row("sglang", "room", r"KV Cache is allocated\..*\bV size: # G", GIB, 1, True),
    Row("sglang", "room", r"KV Cache is allocated\..*\bKV size: # G", GIB, 1, True),
    Row("", "graphs", r"(?:Graph capturing|Capture .*graph end).*(?:took|usage=) ?# G"),
    Row("vllm", "tokens", r"GPU KV cache size: # tokens", 1),
    Row("sglang", "tokens", r"max_total_num_tokens=#", 1),
    Row("megatron", "states", r"\(MB\) \| allocated: #", MIB),
    Row("megatron", "need", r"\| max allocated: #", MIB),
    Row("megatron", "iterations", r"\(after # iterations\) memory", 1),
    Row("", "wanted", rf"out of memory\. Tried to allocate {_ANY}"),
    Row("", "wanted", rf"out of memory\..* {_ANY} (?:is allocated by PyTorch|already allocated)"))
PROGRAMS = {"llama": "llama.cpp", "vllm": "vLLM", "sglang": "SGLang", "megatron": "Megatron-LM"}
#: Who printed a line: a stage, else a rank, else a process.
_OWNERS = (("stage", r"PP(\d+)"), ("rank", r"\[[Rr]ank ?(\d+)\]|\brank[= ](\d+)"
            r"|(?<![A-Za-z])TP(\d+)|\bGPU (\d+)(?: has|;)"), ("process", r"\bpid=(\d+)"))
PARTS = ("states", "cache", "workspace", "graphs", "need", "wanted", "room")
Owner = Tuple[str, int, Tuple[str, ...]]
EVERYBODY: Owner = ("all", 0, ())


def _worse(part: str, size: float, sizes: Dict[str, float]) -> float:
    """Of a size and one from before, what leaves less."""
    return (min if part in ("room", "tokens") else max)(size, sizes.get(part, size))


def _owner(line: str) -> Owner:
    """Whose a line is: what `_OWNERS` has first, and all that it has, of one device of a stage."""
    found = [(kind, next(filter(None, it.groups()))) for kind, it in (
        (kind, re.search(pattern, line)) for kind, pattern in _OWNERS) if it is not None]
    kind, number = next(iter(found), ("process", "0"))
    return kind, int(number), tuple(it for _, it in found)


def program_of(plan: Any) -> str:
    """What a plan is for, as the importer's messages say; empty if it is not known."""
    found = re.search("(?i)(?:workspaces of|workspaces are|for which) (vllm|sglang|llama)",
                      str(plan.get("messages")))
    trains = any(it["parts"]["stash"] for it in plan["stages"])
    return found[1].lower() if found else "megatron" if trains else ""


def _lines(path: str) -> Iterator[bytes]:
    """The lines of a log, or the beginnings of long ones; "-" is standard input."""
    if path != "-":
        with Source(path) as source:
            yield from iter(lambda: source.file.readline(1 << 12), b"")
        return
    try:
        with open(0, "rb", closefd=False) as file:
            yield from iter(lambda: file.readline(1 << 12), b"")
    except OSError as error:
        raise InputError(f"standard input cannot be read: {error.strerror}") from None


def read_log(path: str, program: str = "") -> Tuple[Dict[Owner, Dict[str, float]], str]:
    """The sizes of the parts by who printed them, and the program: the one that the plan is for, or
    the first that printed one."""
    rows = [(row, re.compile(row.pattern.replace("#", _SIZE))) for row in ROWS]
    name, planned = "standard input" if path == "-" else path, program
    may_have = re.compile(rb"\d ?G|MiB|\(MB\)|tokens|Available memory")
    result: Dict[Owner, Dict[str, float]] = {}
    for raw in _lines(path):
        if may_have.search(raw) is None:
            continue
        line = re.sub("\x1b\\[[0-9;]*m", "", raw.decode("utf-8", "replace"))
        sums: Dict[Tuple[str, bool], float] = {}
        owner = _owner(line)
        for row, pattern in rows:
            found = pattern.search(line)
            if found is None:
                continue
            if planned and row.program not in ("", planned):
                raise UsageError(f"{name}: {PROGRAMS[row.program]} printed it, but the plan is "
                                 f"for {PROGRAMS[planned]}; plan with its --server, or GGUF, "
                                 "or arguments")
            if program and row.program not in ("", program):
                raise UsageError(f"{name}: {PROGRAMS[program]} and {PROGRAMS[row.program]} printed "
                                 "it; give the log of one program")
            program = program or row.program
            if found.groupdict().get("device") is not None:
                owner = "rank", int(found["device"] or 0), ()
            key = row.part, row.adds_up
            unit = _UNITS.get(found.groupdict().get("unit") or "", row.unit)
            sums[key] = sums.get(key, 0) + row.sign * unit * float(
                found["size"].replace(",", ""))
        for (part, adds_up), size in sums.items():
            own = result.setdefault(EVERYBODY if part == "tokens" else owner, {})
            own[part] = size + own.get(part, 0) if adds_up else _worse(part, size, own)
    if not result:
        raise InputError(f"{name}: has no line about memory of "
                         "vLLM, SGLang, llama.cpp, Megatron-LM or PyTorch")
    return result, program


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 'es' if what.endswith('s') else 's'}"


def by_stage(log: Dict[Owner, Dict[str, float]], num_stages: int,
             stage: Optional[int]) -> List[Dict[str, float]]:
    """The same by stage, of which the rank that leaves least counts."""
    kinds = {own[0] for own in log}
    kind = next((it for it, _ in _OWNERS if it in kinds), "")
    owners = sorted({own[1] for own in log if own[0] == kind})
    result: List[Dict[str, float]] = [{} for _ in range(num_stages)]
    for i, number in enumerate(owners):
        at = stage if stage is not None else number if kind == "stage" else \
            i * num_stages // len(owners)
        if at >= num_stages or stage is None and kind != "stage" and len(owners) % num_stages:
            raise UsageError(f"the log is of {_counted(len(owners), kind)}, the plan of "
                             f"{_counted(num_stages, 'stage')}; give the plan that ran, or --stage "
                             "N for the log of one")
        for sizes in (it for own, it in log.items() if own[:2] == (kind, number)):
            result[at].update({part: _worse(part, size, result[at])
                               for part, size in sizes.items()})
    return result


def compared(plan: Any, log: List[Dict[str, float]], tokens: Optional[float]) -> Dict[str, Any]:
    """What JSON has."""
    result: Dict[str, Any] = {"parts": [], "reserve_bytes": {}, "excess_bytes": {}}
    fits, in_room = [], []  # tokens
    for stage, right in zip(plan["stages"], log):
        ours = {**stage["parts"], "need": stage["need_bytes"], "wanted": stage["need_bytes"],
                "graphs": 0}
        if stage["limit_bytes"] is not None:
            ours["room"] = stage["limit_bytes"] - stage["need_bytes"] + ours["cache"]
            if stage.get("kv_bytes"):
                fits.append(max(ours["room"], 0) / stage["kv_bytes"])
                in_room += [right["room"] / stage["kv_bytes"]] if "room" in right else []
        known = [part for part in PARTS if part in right and part in ours]
        result["parts"] += [
            {"device": stage["ipu"], "part": part, "log": round(right[part]),
             "plan": round(ours[part]),
             "ratio": round(ours[part] / right[part], 3) if right[part] > 0 else None}
            for part in known]
        lacks = {part: (right[part] - ours[part]) * (-1 if part == "room" else 1)
                 for part in known if part != "wanted" or right[part] > ours[part]}
        if lacks:
            total = next((lacks[it] for it in ("room", "need", "wanted") if it in lacks),
                         sum(lacks.values()))
            reserve = round(ours["reserve"] + total)
            of = "reserve_bytes" if reserve > -ROUNDED else "excess_bytes"
            result[of][str(stage["ipu"])] = max(reserve, 0) if reserve > -ROUNDED else -reserve
    if tokens is not None and fits:
        result["tokens"] = {"log": round(tokens), "plan": int(min(fits)),
                            "ratio": round(min(fits) / tokens, 3) if tokens > 0 else None}
        if len(in_room) == len(fits):
            result["tokens"]["in_room"] = max(int(min(in_room)), 0)
    return result


def _shown(found: Dict[str, Any], is_kept: bool, is_early: bool, program: str) -> str:
    lines = [("device", "part", "log", "plan", "ratio")]
    for row in found["parts"]:
        sizes = [f"{row[of] / GIB:.2f} GiB" for of in ("log", "plan")]
        lines.append((str(row["device"]), row["part"], *sizes,
                      "" if row["ratio"] is None else f"{row['ratio']:.3f}"))
    if "tokens" in found:
        own = found["tokens"]
        lines.append(("", "tokens", f"{own['log']:,}", f"{own['plan']:,}",
                      "" if own["ratio"] is None else f"{own['ratio']:.3f}"))
    widths = [max(len(line[i]) for line in lines) for i in range(5)]
    text = "".join("  ".join((it.ljust if i == 1 else it.rjust)(widths[i])
                             for i, it in enumerate(line)).rstrip() + "\n" for line in lines)
    told = [f"The plan counts {ceil_div(own, MIB):,} MiB too much on device {ipu}: no --reserve "
            "makes up for that." for ipu, own in found["excess_bytes"].items()]
    if found["reserve_bytes"]:
        told.append(("They agree" if not told else "Other devices agree") + " with --reserve "
                    + ",".join(f"{ipu}={ceil_div(own, MIB)}MiB"
                               for ipu, own in found["reserve_bytes"].items())
                    + is_kept * " instead of the plan's --reserve or --utilization")
    elif not told:
        told.append("The log does not tell with which --reserve they agree.")
    own = found.get("tokens", {})
    if abs(own.get("in_room", own.get("log", 0)) - own.get("log", 0)) > .05 * own.get("log", 0):
        told.append(f"Tokens do not: by the plan the room of the log is for {own['in_room']:,}.")
    if is_early:
        told.append("The log is of the first iteration: its passes ran before the optimizer's "
                    "states existed. Those of the second one also need them.")
    if program:
        told.append(f"The log is of {PROGRAMS[program]}; the plan does not say what it is for.")
    return f"{text}\n" + "\n".join(told) + "\n"


def parser() -> Parser:
    """The options."""
    p = Parser(prog="popliner PLAN", allow_abbrev=False,
               description="Compares what a server or trainer printed of its memory with a plan.")
    p.add_argument("plan", metavar="PLAN", help="an answer for a table of costs (--format json)")
    p.add_argument("--against", metavar="LOG", required=True,
                   help="what vLLM, SGLang, llama.cpp, Megatron-LM or PyTorch printed when it "
                   "ran so; - is standard input")
    p.add_argument("--stage", type=int, metavar="N", help="of which stage the whole log is")
    p.add_argument("--format", choices=["text", "json"], default="text", help="(default: text)")
    return p


def _is_told(stage: Any) -> bool:
    """Whether a stage of an answer has all that is compared."""
    if not isinstance(stage, dict) or not isinstance(stage.get("parts"), dict):
        return False
    sizes = [stage.get("ipu"), stage.get("need_bytes"), stage.get("limit_bytes") or 0,
             stage.get("kv_bytes", 0), *(stage["parts"].get(part) for part in (
                 "states", "cache", "stash", "workspace", "reserve"))]
    return "limit_bytes" in stage and all(type(it) is int and 0 <= it < 1 << 63 for it in sizes)


ANSWER = "an answer for a table of costs: popliner COSTS --solve --format json > PLAN"


def run(arguments: Optional[List[str]]) -> int:
    """Runs the command; the result is its exit status. Errors: popliner.Error."""
    a = parser().parse_args(arguments)
    try:
        plan = read_json(a.plan)
    except InputError as error:
        raise InputError(f"{error}; PLAN is {ANSWER}") from None
    stages = plan.get("stages") if isinstance(plan, dict) else None
    if not isinstance(stages, list) or not stages or not all(map(_is_told, stages)):
        raise InputError(f"{a.plan}: has no stages with parts and a device each; expected {ANSWER}")
    if a.stage is not None and not 0 <= a.stage < len(stages):
        raise UsageError(f"--stage {a.stage}: the plan has stages 0 to {len(stages) - 1}")
    planned = program_of(plan)
    log, program = read_log(a.against, planned)
    printed = by_stage(log, len(stages), a.stage)
    found = compared(plan, printed, log.get(EVERYBODY, {}).get("tokens"))
    is_early = any(it.get("iterations") == 1 for it in printed)
    is_kept = any(it["parts"]["reserve"] for it in stages)
    write(None, json.dumps(found, indent=4) + "\n" if a.format == "json" else
          _shown(found, is_kept, is_early, "" if planned else program))
    return 0


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; the result is its exit status."""
    return carried_out("popliner", lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
