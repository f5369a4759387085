#!/usr/bin/env python3
"""The commands of docs/guide.md, docs/guide-gpu.md or docs/questions.md, run in their order: each
prints what the document shows.

    guide_test.py GUIDE POPLINER MKPROFILE
    guide_test.py --screen README POPLINER DATA
    guide_test.py --indented POPLINER MKPROFILE DOCUMENT...

The second form runs the commands of README.md on a terminal, with the folder DATA as "data". It
compares what they show, without the log. A comment "# exit status N" is an expectation. The third
form runs the indented commands of documents, with files for the names in capitals: each is one
that the command accepts, whatever it prints.

A block that begins with "$ " is a session. Every command of it has to end with status 0 and to
print the lines below it: "…" alone stands for some lines, elsewhere for some characters, and the
spaces between columns may be a tab. Of the log, without its times, the lines are compared where
the guide shows any. Nothing else is left out: a command without lines prints none.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

import cases
import screen_test

FORMATS = {  # whose plans a guide shows
    "guide.md": {"optimum", "poptorch", "tensorflow", "popart", "popxl"},
    "guide-gpu.md": {"megatron", "vllm", "torch", "titan", "accelerate", "sglang", "tensorrt",
                     "llama", "deepspeed"},
    "questions.md": {"megatron"},
}
LOG_LINE = re.compile(r"(warning|error): ")


class Failure(Exception):
    pass


def sessions_of(text):
    """Gives (number of the line, command, lines that are shown) of each command."""
    fence, commands = False, None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fence, is_first = not fence, True
            if not fence and commands:
                yield from commands
            commands = []
        elif fence:
            if line.startswith("$ "):
                commands.append((number, line[2:], []))
            elif commands and line.startswith("> ") and not commands[-1][2]:
                commands[-1] = (commands[-1][0], commands[-1][1] + "\n" + line[2:], [])
            elif commands:
                commands[-1][2].append(line)
            elif not is_first and line.startswith("$ "):
                raise Failure(f"line {number}: a command within another block")
            is_first = False


def pattern_of(line):
    """What a shown line stands for."""
    if line.strip() == "…":
        return r"(?:.*\n)*?"
    pattern = ""
    for part in re.findall(r"^ +| +|…|[^ …]+", line):
        if part == "…":
            pattern += ".*"
        elif part.isspace() and pattern:
            pattern += rf"(?: {{{len(part)}}}|\t+)"
        else:
            pattern += re.escape(part)
    return pattern + r"\t*\n"


def check(what, shown, printed):
    if printed and not printed.endswith("\n"):
        printed += "\n"
    if re.fullmatch("".join(map(pattern_of, shown)), printed) is None:
        raise Failure(f"{what} is not as shown:\n{printed}\nbut:\n" + "\n".join(shown))


def run(directory, environment, command, shown):
    done = subprocess.run(["sh", "-c", command], cwd=directory, env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    printed, log = done.stdout.decode(), done.stderr.decode()
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}\n{printed}{log}")
    if any(not LOG_LINE.match(line) for line in log.splitlines()):
        raise Failure(f"this is no log:\n{log}")
    # the log comes last; what is left out before it is of both
    first = next((i for i, line in enumerate(shown) if LOG_LINE.match(line)), len(shown))
    of_output, of_log = shown[:first], shown[first:]
    if of_log and of_output[-1:] == ["…"]:
        of_log = ["…"] + of_log
    check("what is printed", of_output, printed)
    if of_log:
        check("the log", of_log, log)


def readme(document, popliner, data):
    """The commands of README.md: on a terminal of 80 columns they show what it shows."""
    with open(document, encoding="utf-8") as file:
        commands = list(sessions_of(file.read()))
    if len(commands) < 3:
        sys.exit(f"{document}: only {len(commands)} commands were found")
    with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.abspath(popliner), os.path.join(tools, "popliner"))
        os.symlink(os.path.abspath(data), os.path.join(directory, "data"))
        path = tools + os.pathsep + os.environ.get("PATH", os.defpath)
        for number, command, shown in commands:
            if command.startswith("cat "):  # a file that the reader writes
                with open(os.path.join(directory, command[4:]), "w", encoding="utf-8") as file:
                    file.write("".join(f"{line}\n" for line in shown))
                continue
            expected = re.search(r"# exit status (\d)$", command)
            printed, log, status = screen_test.on_terminal(
                ["sh", "-c", f"cd {directory} && {command}"], 80, PATH=path, NO_COLOR="1")
            try:
                if status != int(expected[1] if expected else 0):
                    raise Failure(f"exit status {status}\n{log}")
                check("what is shown", shown, printed)
            except Failure as failure:
                sys.exit(f"{document}, line {number}: $ {command}\n{failure}")
    print(f"{len(commands)} commands")


def indented(popliner, mkprofile, *documents):
    """The indented commands of documents, of which those of a model file are left out."""
    count = 0
    with tempfile.TemporaryDirectory() as directory:
        def path(name, text=None):
            if text is not None:
                with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return os.path.join(directory, name)

        made = {"REPORT": ["--training"], "OTHER": ["--training", "--seed", "2"],
                "DIRECTORY/training": ["--training"], "DIRECTORY/inference": []}
        os.mkdir(path("DIRECTORY"))
        for name, options in made.items():
            subprocess.run([mkprofile, "--layers", "9", "--tiles", "2", "--hidden", "8",
                            "--sequence", "4", *options, "--output", path(name), "--quiet"],
                           check=True)
        layers = "".join(f"{i},1M,1\n" for i in range(9))
        for name in ("COSTS", "FILE"):
            path(name, "name,memory,time\n" + layers)
        path("options.json", '{"solve": true}')
        os.symlink(os.path.join(os.path.dirname(__file__), "..", "data"), path("data"))
        for document in documents:
            with open(document, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    found = re.match(r" {4,7}popliner (?!model\.gguf|DIR )(.*)", line)
                    if found is None:
                        continue
                    words = shlex.split(found[1], comments=True)
                    done = subprocess.run([popliner, *words], cwd=directory, check=False,
                                          stdin=subprocess.DEVNULL, capture_output=True)
                    if done.returncode > 1:
                        sys.exit(f"{document}, line {number}: {line}{done.stderr.decode()}")
                    count += 1
    if count < 25:
        sys.exit(f"only {count} commands were found")
    print(f"{count} commands")


def check_devices(directory, environment):
    """Stages of the example of devices against its table, by the definition of its columns: a
    device holds the memory of its units and their activations for each micro-batch under way, one
    on the last device and one more on each before it."""
    def bytes_of(text):
        return round(float(text[:-1]) * {"G": 10**9, "M": 10**6}[text[-1]]) if text else 0

    with open(os.path.join(directory, "layers.csv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file][1:]
    names = [row[0] for row in rows]
    stages = subprocess.run(["popliner", "layers.csv", "@gpus", "--format", "tsv"],
                            cwd=directory, env=environment, stdout=subprocess.PIPE,
                            check=True).stdout.decode().splitlines()[1:]
    for i, line in enumerate(stages):
        _, _, first, last, memory, *_ = line.split("\t")
        own = rows[names.index(first):names.index(last) + 1]
        expected = sum(bytes_of(row[1]) + (len(stages) - i) * bytes_of(row[3]) for row in own)
        if int(memory) != expected:
            sys.exit(f"stage {i} of the devices holds {expected} bytes, not {memory}")


def check_model(directory, environment):
    """Stages of the model of the guide against formulas of its own: bytes of weights, caches,
    training and activations, and the tokens that there is room for."""
    h, f, layers, heads, kv_heads, vocabulary = 4096, 14336, 32, 32, 8, 128256
    width = h // heads
    matrices = h * width * (2 * heads + 2 * kv_heads) + 3 * h * f
    units = [h * vocabulary, *layers * [matrices + 2 * h], h * vocabulary + h]

    def stages(*arguments):
        printed = subprocess.run(["popliner", "-q", "--format=tsv", *arguments],
                                 cwd=directory, env=environment, stdout=subprocess.PIPE,
                                 check=True).stdout.decode()
        names = ["embedding", *map(str, range(layers)), "head"]
        for line in printed.splitlines()[1:]:
            _, _, first, last, memory, *_, time, _, _, _, _ = line.split("\t")
            yield names.index(first), names.index(last) + 1, int(memory), float(time)

    def own_layers(first, end):
        return min(end, layers + 1) - max(first, 1)

    def flops(tokens, first, end):
        return tokens * (own_layers(first, end) * (2 * matrices + 4 * tokens * heads * width)
                         + (2 * h * vocabulary if end == layers + 2 else 0))

    cache = 2 * kv_heads * width * 2
    rooms = []
    for first, end, memory, time in stages("costs.csv", "--solve", "--num-ipus", "3",
                                           "--mem-per-tile", "8G"):
        expected = 2 * sum(units[first:end]) + own_layers(first, end) * cache * 8192
        if (memory, time) != (expected, flops(8192, first, end)):
            sys.exit(f"{first} to {end} needs {expected} bytes, {flops(8192, first, end)} FLOP")
        rooms.append((8 * 10**9 - expected) // (own_layers(first, end) * cache))
    if min(rooms) != 48068:
        sys.exit(f"there is room for {rooms} tokens")
    found = list(stages("train.csv", "@train"))
    for i, (first, end, memory, time) in enumerate(found):
        token = 8 * h + 4 * (heads + kv_heads) * width + 6 * f
        activations = own_layers(first, end) * 4096 * token
        workspace = 4096 * 6 * f
        if end == layers + 2:
            activations += 4 * 4096 * (h + vocabulary)
            workspace = 4096 * 2 * vocabulary
        expected = 18 * sum(units[first:end]) + (len(found) - i) * activations + workspace
        expected += 80 << 20
        passes = 3 * flops(4096, first, end) / 400e9
        if memory != expected or abs(time - passes) > 1e-4:
            sys.exit(f"{first} to {end} needs {expected} bytes and {passes} ms in training")


def main():
    if sys.argv[1] == "--screen":
        readme(*sys.argv[2:])
        return
    if sys.argv[1] == "--indented":
        indented(*sys.argv[2:])
        return
    guide, popliner, mkprofile = sys.argv[1:]
    with open(guide, encoding="utf-8") as file:
        text = file.read()
    commands = list(sessions_of(text))
    formats = FORMATS[os.path.basename(guide)]
    if len(commands) < 15:
        sys.exit(f"{guide}: only {len(commands)} commands were found")
    written = {name for _, command, _ in commands
               for name in re.findall(r"--output ([a-z]+)", command)}
    if not formats <= written:
        sys.exit(f"{guide}: no plans for {sorted(formats - written)}")
    with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as directory:
        os.symlink(os.path.abspath(popliner), os.path.join(tools, "popliner"))
        os.symlink(os.path.abspath(mkprofile), os.path.join(tools, "popliner-mkprofile"))
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("COLUMNS", "TERM")}
        environment["PATH"] = tools + os.pathsep + environment.get("PATH", os.defpath)
        environment["LC_ALL"] = "C.UTF-8"
        for number, command, shown in commands:
            try:
                run(directory, environment, command, shown)
            except Failure as failure:
                sys.exit(f"{guide}, line {number}: $ {command}\n{failure}")
        if "vllm" in formats:
            check_model(directory, environment)
            check_devices(directory, environment)
    print(f"{len(commands)} commands")


if __name__ == "__main__":
    main()
