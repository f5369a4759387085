"""python -m popliner.costs SOURCE: a table of costs from a checkpoint, a configuration, an ONNX
model, ONNX Runtime's statistics, or a job of Megatron-LM.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import argparse
import contextlib
import contextvars
import dataclasses
import functools
import os
import re
import signal
import sys
from typing import Any, Callable, Dict, List, NoReturn, Optional

from .._calling import clean
from ..chains import MAX_UNITS
from ..enums import Level
from ..errors import Error, InputError, OutputError, UsageError
from ..files import write_file
from ..plans import Answer
from ..request import Copies, bytes_of
from .source import opened
from .table import (DTYPE_BYTES, FILES_READ, KV_BYTES, Assumed, Table, ceil_div, expect, flags_of,
                    kind_of)
from .workspace import MASK_UNIT, SERVERS, outside_of, settings_of


def _type(pattern: str, expected: str, value: Callable[[Any], Any]) -> Callable[[str], Any]:
    """A type of options: the value of what a pattern finds."""
    def converted(text: str) -> Any:
        found = re.fullmatch(pattern, text)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {expected}")
        return value(found)

    return converted


def _log(text: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it
        os.write(2, f"{text}\n".encode())


def _say(level: Level, message: str) -> None:
    if level >= Level.WARNING:
        _log(f"{level.name.lower()}: {clean(message)}")


class Asked:
    """What the command asks: a model, read with what is assumed or others of it, and a split."""

    def __init__(self, a: argparse.Namespace, assumed: Assumed) -> None:
        self.a, self.assumed, self.model = a, assumed, opened(a.source)
        self.status = 0  #: 1: the split does not fit

    def table(self, **other: Any) -> Table:
        """The costs, with other members of Assumed."""
        return self.model(dataclasses.replace(self.assumed, **other))

    def solved(self, table: Table, **members: Any) -> Answer:
        """The best split for the devices."""
        count, copies = len(self.a.devices), Copies("1f1b+1") if table.trains else None
        if table.uncut:
            members["require"] = "no-cut:" + ",".join(table.uncut)
        if table.chunks > 1:
            members["device_map"] = list(range(count)) * table.chunks
            copies = Copies("interleaved+1", num_stages=count * table.chunks, num_ipus=count)
        return table.costs(need=self.a.need, copies=copies).solve(
            num_ipus=count, mem_per_tile=dict(enumerate(self.a.devices)), reserve=self.a.reserve,
            message=lambda level, text: None, **members)


def _least(most: int, holds: Callable[[int], bool]) -> int:
    """The least number from 0 on that holds, as do all above it; `most` if none below it does."""
    least = 0
    while least < most:
        middle = (least + most) // 2
        try:
            least, most = (least, middle) if holds(middle) else (middle + 1, most)
        except InputError:  # more than a table may have
            most = middle
    return least


def _room(asked: Asked, best: Answer) -> str:
    """How many more tokens the split holds where workspaces grow with them, as caches do."""
    step, own = MASK_UNIT * asked.assumed.batch, best.stages
    limits = {i: asked.a.devices[it.ipu] for i, it in enumerate(own)}

    @functools.lru_cache(maxsize=None)
    def stages(steps: int) -> List[Dict[str, Any]]:
        table = asked.table(sequence=asked.assumed.sequence + MASK_UNIT * steps)
        return table.costs(need=asked.a.need).evaluate(
            [it.first_unit for it in own[1:]], mem_per_tile=limits,
            reserve=asked.a.reserve).json()["stages"]

    def held(need: str) -> int:
        return step * (_least(best.headroom_tokens // step + 1, lambda steps: any(
            it.get(need, it["need_bytes"]) > it["limit_bytes"] for it in stages(steps))) - 1)

    expected = held("need_bytes")
    if best.headroom_tokens - expected < step:
        return ""
    most = held("at_most_bytes")
    at_most = f", with the most that they may need for {most}" if 0 <= most < expected else ""
    return ("Workspaces grow with the context: with them this split has room for "
            f"{expected} more tokens{at_most}.")


def _for_llama(text: str, best: Answer, assumed: Assumed) -> str:
    """A plan of llama.cpp with the options for what is on the host."""
    count, layers = len(best.unit_names) - 2, assumed.host_layers
    text = (f"{text.rstrip()} -c {assumed.batch * assumed.sequence} -b {max(assumed.ubatch, 2048)} "
            f"-ub {assumed.ubatch} -np {assumed.batch} -fa {'on' if assumed.flash else 'off'}")
    if any(KV_BYTES[dtype] != 2 for dtype in assumed.cache_dtypes):
        for flag, dtype in zip(("-ctk", "-ctv"), assumed.cache_dtypes):
            expect(dtype not in DTYPE_BYTES or KV_BYTES[dtype] in (2, 4), f"{flag} {dtype}: "
                   "llama.cpp has no such cache; give q8_0 or q4_0", UsageError)
            text += f" {flag} { {2: 'f16', 4: 'f32'}.get(int(KV_BYTES[dtype]), dtype)}"
    if layers:
        shares = [max(it.last_unit - max(it.first_unit, layers + 1) + 1, 0) for it in best.stages]
        text = text.replace("-ngl all", f"-ngl {max(count - layers, 0) + 1}")
        text = re.sub(r"-ts \S+", "-ts " + ",".join(map(str, shares)), text)
    experts = f" --n-cpu-moe {min(assumed.host_experts, count)}" if assumed.host_experts else ""
    return f"{text}{experts}\n"


def _of_pipeline(asked: Asked, best: Answer) -> str:
    """What llama.cpp's pipeline costs on the device where that is most, if it is a tenth."""
    half = max(asked.assumed.ubatch // 2, 1)
    tables = asked.table(), asked.table(pipeline=1), asked.table(ubatch=half)
    found = []
    for stage in best.stages:
        own, alone, less = (max(it.workspace for it in table.units[
            stage.first_unit:stage.last_unit + 1]) / (1 << 30) for table in tables)
        size = bytes_of(asked.a.devices[stage.ipu], "--devices") / (1 << 30)
        found.append(((own - alone) / size, own - alone, own - less, stage.ipu))
    share, copies, saved, device = max(found, key=lambda it: it[0])
    if share <= 0.1:
        return ""
    return (f"The pipeline's copies of inputs take {copies:.1f} "
            f"GiB of device {device}, {share:.0%} of it. llama.cpp runs without a "
            "pipeline if -ot is given; then there are no copies (--pipeline 1). "
            f"-ub {half} would save {saved:.1f} GiB.")


def _remedy(text: str, a: argparse.Namespace) -> str:
    """What would be enough, with the options here instead of members of a request."""
    def other(found: "re.Match[str]") -> str:
        limits = list(a.devices)
        for device, size in (it.split("=") for it in found[1].split(",")):
            limits[int(device)] = f"{ceil_div(int(size), 1 << 20)}MiB"
        return "--devices " + ",".join(limits)

    text = re.sub(r"mem_per_tile (\d+=\d+(?:,\d+=\d+)*)", other, text)
    return re.sub(r"\breserve keeps", f"{a.kept_by} keeps", text).replace(
        "The JSON has", "--format json has")


def _remedies(asked: Asked, table: Table) -> List[str]:
    """The options of which each is enough alone to make the model fit."""
    a, assumed, tried = asked.a, asked.assumed, []
    if a.plan in (None, "llama") and not assumed.serves:
        if a.host_experts is None and any(it.startswith("Experts") for it in table.notes):
            tried.append(("--experts-on-host auto", {"host_experts": MAX_UNITS}))
        if a.host_layers is None:
            tried.append(("--layers-on-host auto", {"host_layers": MAX_UNITS}))
        if a.kv_dtype is None and a.v_dtype is None and assumed.flash:
            tried.append(("-ctk q8_0", {"kv_dtype": "q8_0"}))
    return [option for option, members in tried if asked.solved(
        asked.table(**members), without_reasons=True, without_second_proof=True).fits]


def _planned(table: Table, a: argparse.Namespace, asked: Asked) -> str:
    """The text of the split for devices."""
    objective = "tokens" if any(it.kv and it.kv_tokens != 0 for it in table.units) else "headroom"
    assumed, trains = asked.assumed, table.trains
    if a.kept_by != "--reserve":  # SGLang's share, too
        table.not_counted = []
    best = asked.solved(table, objectives=objective)
    has_buffers = not trains and not assumed.serves and any(it.workspace for it in table.units)
    has_copies = has_buffers and assumed.copies > 1
    if has_copies:  # later devices need more than the first one
        asked.assumed = dataclasses.replace(assumed, first_layers=best.stages[0].last_unit)
        again = asked.solved(asked.table(), objectives=objective)
        if again.stages[0].last_unit >= best.stages[0].last_unit:
            best = again

    def tell(level: Level, text: str) -> None:
        if text and a.plan is not None:
            _say(level, text)
        elif text:
            best.add_message(text, level)

    for message in best.messages:
        if a.plan is not None or a.format is None and message.text.startswith(
                ("It would fit", "The JSON has")):
            tell(message.level, _remedy(message.text, a))
    for option in [] if best.fits or trains else _remedies(asked, table):
        tell(Level.WARNING, f"It would fit with {option}.")
    if has_buffers and best.fits and best.headroom_tokens and a.plan is None:
        tell(Level.INFO, _room(asked, best))
    if objective == "tokens" and a.sequence is None and a.context is None:
        tell(Level.WARNING if a.plan == "llama" else Level.INFO,
             f"Counted for {assumed.batch * assumed.sequence} tokens; --tokens gives another "
             "number.")
    for note in table.notes:
        if re.match("The first |Experts of |A device is |Workspaces (of|are llama)", note):
            tell(Level.INFO, note)
    tell(Level.WARNING, _of_pipeline(asked, best) if has_copies else "")
    asked.status = 0 if best.fits else 1
    if a.format is not None:
        return best.json_text() if a.format == "json" else best.csv()
    if a.plan is None:
        is_terminal = a.output is None and os.isatty(1)
        return best.report(width=min(os.get_terminal_size(1).columns, 100) if is_terminal else 80)
    if a.plan == "llama" and not has_buffers:
        _say(Level.WARNING, "llama.cpp's compute buffers are counted for a GGUF file alone; keep "
             "memory free for them with --reserve.")
    try:
        text = best.emit(a.plan, message=_say)
    except UsageError as error:
        if "; give " not in error.message:
            raise
        raise UsageError(f"{error.message}, to the command: popliner MODEL >costs.csv, then "
                         f"popliner costs.csv --solve --output {a.plan}") from None
    return _for_llama(text, best, assumed) if a.plan == "llama" else text


def _running(a: argparse.Namespace) -> Dict[str, Any]:
    """Members of Assumed about what runs the model."""
    devices = a.devices or []
    name, tensor = (a.server or "").partition(":")[0], a.tensor or 1
    sizes = [bytes_of(size, "--devices") for size in devices]
    told: Dict[str, Any] = {"devices": max(len(devices), 1)}
    for text, size in zip(devices, sizes):
        if text.isdigit() and size < 1 << 20:
            _say(Level.WARNING, f"--devices {','.join(devices)}: {text} is bytes; a unit is "
                 f"missing, like {text}G")
    expect(a.utilization is None or name in SERVERS and devices and not a.reserve, "--utilization "
           "is for --devices with --server vllm or sglang, and without --reserve", UsageError)
    if name in SERVERS:
        least = max(min(sizes, default=80 << 30), 1)
        told["batched_tokens"], told["sequences"], share = settings_of(
            a.server, least, tensor, a.pipeline or told["devices"], a.batched_tokens, a.sequences)
        if devices and not a.reserve:
            share = share if a.utilization is None else a.utilization
            share *= 1 - (outside_of(least, tensor) / least if name == "sglang" else 0)
            a.kept_by, a.reserve = "--utilization", f"{100 * (1 - max(share, 0)):.2f}%"
    return told


class Parser(argparse.ArgumentParser):
    """Says what is wrong as the command does."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; --help describes the options")

    def _get_option_tuples(self, option_string: str) -> List[Any]:
        """-n is not -np: allow_abbrev=False leaves out those with two dashes alone."""
        return [it for it in super()._get_option_tuples(option_string)
                if option_string.startswith(it[1])]

    def print_help(self, file: Any = None) -> None:
        write(None, self.format_help())


def program() -> str:
    """As it was called: the command runs this as code."""
    return "popliner" if sys.argv[0] == "-c" else "python -m popliner.costs"


def parser() -> argparse.ArgumentParser:
    """The options: those of Assumed."""
    p = Parser(
        prog=program(), allow_abbrev=False,
        description="Writes a table of costs that popliner solves. SOURCE is a safetensors file, "
        "its index, a GGUF file, a config.json, their folder, an ONNX model, statistics of ONNX "
        "Runtime, or a script or YAML with Megatron-LM's arguments.")
    p.add_argument("source", metavar="SOURCE", nargs="?")
    p.add_argument("--megatron", metavar="ARGUMENTS|FILE", help="instead of SOURCE: "
                   "a job's arguments, or a file of them")
    p.add_argument("--format", choices=["csv", "json"],
                   help="json has all that is chosen (default: csv); with --devices: of the split "
                   "(default: text)")
    p.add_argument("--output", metavar="FILE", help="write to FILE (default: standard output)")
    whole = _type("(-?[0-9]{1,12})([kK]?)", "a whole number, like 32768 or 32K",
                  lambda it: int(it[1]) * (1024 if it[2] else 1))
    numbers = {"int": whole, "float": float}
    for it in dataclasses.fields(Assumed):
        how, kind, known = it.metadata, kind_of(it), it.metadata.get("known")
        if not how.get("text"):
            continue
        is_told = it.default in (None, False, 0, "none") or "(default" in how["text"]
        told = how["text"] + ("" if is_told else f" (default: {it.default})")
        if it.default is False:
            p.add_argument(*flags_of(it), action="store_true", help=told, default=None)
            continue
        metavar = how.get("metavar") or ("DTYPE" if known in (DTYPE_BYTES, KV_BYTES) else
                                         None if known or kind == "bool" else "N")
        p.add_argument(*flags_of(it), help=told, dest=it.name, metavar=metavar,
                       type=str if "auto" in str(metavar) else numbers.get(kind, str),
                       choices=["on", "off"] if kind == "bool" else known and list(known))
    size = _type("(.+)=([0-9]{1,18})", "NAME=SIZE, like batch=1", lambda it: (it[1], int(it[2])))
    device = _type("(?:([1-9][0-9]{0,2})x)?([0-9].*)", "sizes, like 24G,12G or 8x80G",
                   lambda it: [it[2]] * int(it[1] or 1))
    p.add_argument("--tokens", "--context", "-c", dest="context", type=whole, metavar="N",
                   help="tokens of all sequences, instead of --sequence, like 32768 or 32K; "
                   "llama.cpp has the other two names")
    share = _type(r"0?\.[0-9]*[1-9][0-9]*|1(?:\.0*)?", "a share, like 0.9", lambda it: float(it[0]))
    p.add_argument("--utilization", type=share, metavar="SHARE", help="with --devices: the part of "
                   "each that the server uses (default: vLLM's 0.92, before 0.21 0.9, or SGLang's)")
    p.add_argument("--dim", action="append", default=[], type=size, metavar="NAME=SIZE",
                   help="the size of a symbolic dimension of an ONNX model")
    p.add_argument("--devices", type=lambda text: sum(map(device, text.split(",")), []),
                   metavar="SIZE,...", help="shows the split that holds most tokens instead, with "
                   "so much free of each device, like 24G,11.6GiB or 8x80G")
    p.add_argument("--reserve", metavar="SIZE", default=0, help="with --devices: memory to keep "
                   "free on each, like 1GiB or 5%%, or of one: 0=1GiB")
    p.add_argument("--need", choices=["expected", "at-least", "at-most"], default="expected",
                   help="with --devices: the estimate that has to fit; a table has all")
    p.set_defaults(kept_by="--reserve")
    p.add_argument("--plan", "-o", metavar="FORMAT", help="with --devices: print the plan for "
                   "llama, vllm, sglang, tensorrt or another framework that counts layers")
    return p


def write(output: Optional[str], text: str) -> None:
    """Writes to a file that this run has not read, or to standard output: UTF-8 in any locale."""
    name = "standard output" if output is None else f"--output {output}"
    with contextlib.suppress(OSError):  # a new file, or what the writing says
        info = os.stat(1 if output is None else output)
        expect((info.st_dev, info.st_ino) not in FILES_READ.get(), f"{name}: would overwrite a "
               "file that is read; give another file", UsageError)
    if output is not None:
        write_file(output, text)
        return
    try:
        with open(1, "wb", closefd=False) as out:
            out.write(text.encode())
    except OSError as error:
        raise OutputError(f"standard output cannot be written: {error.strerror}") from None


def _run(a: argparse.Namespace, others: List[str]) -> int:
    FILES_READ.set(set())
    expect((a.source is None) != (a.megatron is None),
           "give SOURCE or --megatron; --help describes the options", UsageError)
    a.source = a.megatron if a.source is None else a.source
    given = {it.name: getattr(a, it.name) for it in dataclasses.fields(Assumed)
             if it.metadata.get("text") and getattr(a, it.name) is not None}
    on_host = [(name, flag, given.pop(name)) for name, flag in (
        ("host_experts", "--experts-on-host"), ("host_layers", "--layers-on-host"))
        if name in given]
    if "flash" in given:
        given["flash"] = a.flash == "on"
    if a.context is not None:
        expect(a.sequence is None, "--tokens is those of all sequences, instead of --sequence: "
               "give one", UsageError)
        given.update(sequence=ceil_div(a.context, max(given.get("batch", 1), 1)), cells=256)
    asked = Asked(a, Assumed(**{**given, **_running(a)}, dims=dict(a.dim),
                             megatron=" ".join(others)))
    for member, flag, value in on_host:
        is_chosen = flag == "--experts-on-host" and value == "auto" and a.devices is None
        expect(not is_chosen or a.format == "json", f"{flag} auto: only --format json has what a "
               "layer may choose; or give --devices", UsageError)
        expect(is_chosen or re.fullmatch("[0-9]{1,9}|all|auto", value) and (
            value != "auto" or a.devices is not None), f"{flag} {value}: expected a number of "
            "layers, all, or with --devices auto", UsageError)
        expect(is_chosen or value == "0" or a.plan in (None, "llama"), f"{flag} {value}: no plan "
               f"of {a.plan} says that; it is for llama", UsageError)
        count = int(value) if value.isdigit() else MAX_UNITS
        if is_chosen:
            member, count = "host_slowdown", 10
        elif value == "auto":
            count = _least(len(asked.table().units), lambda it, of=member: asked.solved(
                asked.table(**{of: it}), without_reasons=True, without_second_proof=True).fits)
        asked.assumed = dataclasses.replace(asked.assumed, **{member: count})
    table = asked.table()
    expect(a.plan is None or a.format is None, f"--format {a.format}: a plan has a form of its "
           "own; leave out --plan", UsageError)
    for flag, value in (("--plan", a.plan), ("--reserve", a.reserve), ("--need", a.need)):
        expect(a.devices is not None or value in (None, 0, "expected"), f"{flag} is for a split: "
               "give --devices", UsageError)
    write(a.output, _planned(table, a, asked) if a.devices is not None else
          table.json() if a.format == "json" else table.csv())
    return asked.status


def carried_out(name: str, run: Callable[[], int]) -> int:
    """Runs a command; the result is its exit status."""
    try:
        return contextvars.copy_context().run(run)
    except (Error, MemoryError) as error:
        _log(f"{name}: {str(error) or 'not enough memory'}")
        return {UsageError: 2, InputError: 3, OutputError: 3}.get(type(error), 4)
    except KeyboardInterrupt:  # ends as by the signal, without Python's lines
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        return 4


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command; the result is its exit status."""
    def run() -> int:
        try:
            return _run(*parser().parse_known_args(arguments))
        except UsageError as error:  # with the options here instead of members
            names = {it.name: flags_of(it)[0] for it in dataclasses.fields(Assumed)}
            names.update(mem_per_tile="--devices", reserve="--reserve", format="--plan")
            raise UsageError(re.sub(
                r"^\w+(?=:? )|(?<=give )\w+|(?<=leave out )\w+|mem_per_tile",
                lambda it: names.get(it[0], it[0]), str(error))) from None

    return carried_out(program(), run)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # it ends with its reader, like the command
    sys.exit(main())
