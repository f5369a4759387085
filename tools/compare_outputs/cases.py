# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines: every option, alone and together with others, on many inputs."""

import dataclasses
import json
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

from compare_outputs.inputs import CHANGED_PROFILES, GRAPHS, LARGE, MADE, WRONG_COSTS
from compare_outputs.runs import STORED, Case, execute

# ---- Facts ---------------------------------------------------------------------------------------

@dataclasses.dataclass
class Subject:
    """What is solved, and what the command lines need to know of it."""

    name: str
    base: tuple  # the arguments that name it
    layers: list  # their names in order
    best: dict  # number of IPUs: the smallest possible fullest tile

    def is_costs(self):
        return self.base[0].startswith(("in/costs/", "in/graphs/"))


def execute_among_inputs(command, workdir, arguments):
    """Runs a command line that writes nothing but standard output, or a file with a full path."""
    with tempfile.TemporaryDirectory(dir=workdir) as directory:
        (pathlib.Path(directory) / "in").symlink_to(workdir / "inputs")
        return execute(command, arguments, directory, "")


def ask(command, workdir, arguments):
    """The answer to --solve --format json; an empty one if the command refuses."""
    _, out, _ = execute_among_inputs(command, workdir, [*arguments, "-q", "--format", "json"])
    try:
        return json.loads(out)
    except ValueError:
        return {"stages": [], "totals": {"memory": 0}}


def find_subject(command, workdir, name, base, numbers=(1, 2, 3)):
    best = {}
    layers = []
    for number in numbers:
        question = f"--solve --num-ipus {number} --objective memory --mem-per-tile {10**12}"
        answer = ask(command, workdir, [*base, *question.split()])
        layers = [layer for stage in answer["stages"] for layer in stage["layers"]] or layers
        best[number] = answer["totals"]["memory"] or 1000
    return Subject(name, tuple(base), layers, best)


# ---- Command lines -------------------------------------------------------------------------------

OBJECTIVE_LISTS = [
    "memory",
    "cycles",
    "traffic",
    "ipus",
    "balance",
    "memory,cycles",
    "cycles,memory",
    "ipus,memory",
    "memory,balance",
    "cycles,balance",
    "traffic,memory",
    "balance,traffic",
    "ipus,cycles,traffic",
    "memory,cycles,traffic,ipus",
    "balance,ipus,traffic,cycles,memory",
]
TABLES = ["--operation-breakdown", "--layer-breakdown"]
SQUARES = ["--memory-affinity", "--interlayer-communication"]


class Matrix:
    """Collects the cases; one that is there already is not added again."""

    def __init__(self):
        self.cases = {}

    def add(self, group, *arguments, **more):
        self.add_steps(group, arguments, **more)

    def add_steps(self, group, *steps, **more):
        case = Case(group, tuple(tuple(step) for step in steps), **more)
        self.cases.setdefault(case.key(), case)

    def solve(self, subject, text, *more, group="solve"):
        """Options that hold no blanks are given as one text."""
        self.add(f"{group} {subject.name}", *subject.base, "--solve", *text.split(), *more)


class Third:
    """Passes on every third solve, by chance: with the turns 0, 1 and 2 for three subjects, each is
    done for one of them."""

    def __init__(self, matrix, turn):
        self.matrix = matrix
        self.turn = turn
        self.chance = random.Random("turns")

    def solve(self, *arguments, **more):
        if self.chance.randrange(3) == self.turn:
            self.matrix.solve(*arguments, **more)


def lines(text):
    """The lines of a text as a list, without indentation; a line of "-" stands for an empty one."""
    stripped = [line.strip() for line in text.strip().splitlines()]
    return ["" if line == "-" else line for line in stripped if line]


def regexes_of(folder):
    """The layer regexes of a golden case."""
    rows = (folder / "regex.txt").read_text(encoding="utf-8").splitlines()
    return [row.split("\t")[1] for row in rows if "\t" in row]


def add_tables(m, subject, regexes=()):
    group = f"tables {subject.name}"
    for table in TABLES:
        m.add(group, *subject.base, table)
        m.add(group, *subject.base, table, "--format", "csv", "--memory-model", "full", "-q")
        m.add(group, *subject.base, table, "--layer-order", "natural", "--memory-model", "popliner")
        for regex in regexes:
            m.add(group, *subject.base, table, "--layer-name-regex", regex)
        m.add(group, *subject.base, table, "--layer-name-regex=(.)(.)", "--layer-order=natural")
    for square in SQUARES:
        m.add(group, *subject.base, square)
        m.add(group, *subject.base, square, "--format=csv", "--layer-order=natural", "--threads=1")
    for text in lines("""
        -
        --memory-model popliner --format csv
        --memory-model full
        --format json
        """):
        m.add(group, *subject.base, "--memory-totals", *text.split())
    m.add(group, *subject.base, *TABLES, *SQUARES, "--memory-totals", "--inputs-regex-layer-0=W$")


def add_diagnoses(m, subject):
    for text in lines("""
        -
        --format json
        -v
        --memory-model popliner
        --layers only:all
        """):
        m.add(f"diagnose {subject.name}", *subject.base, "--diagnose", *text.split())


def add_thorough_diagnoses(m, subject):
    texts = lines("""
        -q --format csv
        --fail-on unexplained=0%
        --fail-on unexplained=100%
        --fail-on unexplained=0.5% --format json
        --memory-model=popliner --layers=only:all -v
        --layers only:all --format json --fail-on unexplained=50%
        --threads 1
        --threads 2
        --layer-order natural
        --layers Head
        --layers Head..Tail
        --layers None
        --layers nothing
        --layers 1..0
        --layers ..
        --layers 0..
        --layer-name-regex nothing(\\d+)
        --layer-name-regex ^(.)
        """)
    last = subject.layers[-1]
    for layer, following in zip(subject.layers, [*subject.layers[1:], last]):
        texts.append(f"--layers {layer}")
        texts.append(f"--layers {layer}..{following} --format json")
        texts.append(f"--layers {layer}..{last} --memory-model popliner -v")
    for text in texts:
        m.add(f"diagnose {subject.name}", *subject.base, "--diagnose", *text.split())


def middle_layer(subject):
    return subject.layers[(len(subject.layers) - 1) // 2] if subject.layers else "0"


def add_evaluations(m, subject):
    middle = middle_layer(subject)
    for split, text in [
        ("whole", ""),
        (middle, "--format json"),
        (middle, "--schedule popart --memory-model popliner"),
        ("|".join(subject.layers[:-1]) or "whole", "--schedule popart --recompute full"),
    ]:
        m.add(f"evaluate {subject.name}", *subject.base, "--evaluate", split, *text.split())


def add_thorough_evaluations(m, subject):
    group = f"evaluate {subject.name}"
    layers = subject.layers
    middle = middle_layer(subject)
    most = subject.best[1]
    splits = ["Head", "None", "Tail", f"Head|{middle}", "|", "", f"{middle}|", "nothing"]
    splits += [f"{middle}|{middle}", "|".join(reversed(layers)), f"whole|{middle}"]
    splits += ["|".join(layers), "|".join(["Head", *layers]), *layers]
    for split in splits:
        m.add(group, *subject.base, "--evaluate", split)
        m.add(group, *subject.base, "--evaluate", split, "--memory-model=popliner", "--format=csv")
    for text in lines(f"""
        -v
        -q --format json
        --mem-per-tile 1
        --mem-per-tile {subject.best[2]} --format json
        --mem-per-tile {subject.best[2] - 1}
        --reserve gaps
        --reserve 10%
        --reserve 5000
        --reserve 700000
        --num-ipus 1
        --device-map 0,0 --format json
        --device-map 1,0 --mem-per-tile 0=1,7=1
        --device-map 0
        --schedule inference
        --schedule popart --format json
        --schedule popart --recompute full --format json
        --threads 1
        --layer-order natural
        --layer-name-regex ^(.)
        """):
        m.add(group, *subject.base, "--evaluate", middle, *text.split())
    for text in [f"{most}", f"{most - 1}", f"{most} --reserve {most}"]:
        m.add(group, *subject.base, "--evaluate", "whole", "--mem-per-tile", *text.split())


def add_solves(m, s):
    most, second, third = (s.best[number] for number in (1, 2, 3))
    for text in lines(f"""
        -
        --num-ipus 3 --format json
        --num-ipus 2 -v
        --num-ipus 4 --mem-per-tile {third}
        --num-ipus 3 --mem-per-tile {third - 1} --format json
        --num-ipus 2 --mem-per-tile {third // 2 + 1}
        --num-ipus 4 --objective cycles,memory --format json
        --num-ipus 4 --objective memory,cycles,traffic --slack 10 -v
        --objective ipus,memory --mem-per-tile {second}
        --schedule popart --num-ipus 3 --format json
        --schedule popart --recompute full --num-ipus 3 -v
        --schedule popart --num-ipus 3 --mem-per-tile {third}
        --device-map 0,1,0 --format json
        --num-ipus 1..5
        --mem-per-tile {third}..{most} --objective ipus,memory --format json
        --num-ipus 3 --output lp=out.lp --output mps=out.mps -q
        """):
        m.solve(s, text)
    if s.is_costs():
        return
    for text in lines(f"""
        --solver popliner --num-ipus 3 --mem-per-tile {second}
        --num-ipus 3 --mem-per-tile {third} --memory-model popliner
        --num-ipus 3 --memory-model popliner --format json --schedule popart
        --num-ipus 3 --reserve gaps
        """):
        m.solve(s, text)


def add_limits(m, s):
    most, second, third = (s.best[number] for number in (1, 2, 3))
    for number in [1, 2, 3, 5, 64]:
        for text in ["", "--format json", "-v --format csv", "--objective memory,cycles,balance"]:
            m.solve(s, f"--num-ipus {number} {text}", group="solve IPUs")
    limits = [1, third // 2 + 1, third - 1, third, second - 1, second, most - 1, most, 2**62]
    for limit in limits:
        for text in lines("""
            -
            --num-ipus 2 --format json
            --num-ipus 3
            --num-ipus 3 --reserve 3%
            --schedule popart -v
            """):
            m.solve(s, f"--mem-per-tile {limit} {text}", group="solve limits")
    for reserve in ["0", "1000", "0%", "5%", "0.5%", "99.99%", "100%", "gaps", str(10**12)]:
        m.solve(s, f"--num-ipus 3 --reserve {reserve}", group="solve limits")
        text = f"--num-ipus 2 --mem-per-tile {most} --reserve {reserve} --format json"
        m.solve(s, text, group="solve limits")


def add_objectives(m, s):
    for objectives in OBJECTIVE_LISTS:
        for text in lines(f"""
            --num-ipus 3 --format json
            --num-ipus 4 --slack 5 -v
            --mem-per-tile {s.best[2]}
            """):
            m.solve(s, f"--objective {objectives} {text}", group="solve objectives")
        text = f"--num-ipus 3 --objective {objectives} --output lp=out.lp --output mps=out.mps"
        m.solve(s, text, group="solve programs")
    for slack in ["0", "0.01", "50", "100"]:
        m.solve(s, f"--num-ipus 4 --slack {slack} --format json", group="solve objectives")
        m.solve(s, f"--objective cycles,ipus --slack {slack} -v", group="solve objectives")


def add_schedules(m, s):
    for schedule in lines("""
        --schedule none
        --schedule inference
        --schedule popart
        --schedule popart --recompute none
        --schedule popart --recompute full
        """):
        for text in lines(f"""
            --num-ipus 3 --format json
            --device-map 0,1,0
            --num-ipus 1..4
            --num-ipus 4 --mem-per-tile {s.best[3]} -v
            --objective balance,memory --output lp=out.lp
            """):
            m.solve(s, f"{schedule} {text}", group="solve schedules")


def add_maps(m, s):
    for devices in lines("""
        0
        0,1
        3,1,2
        0,0
        0,1,0
        0,0,1
        0,1,1,0
        0,1,2,0,1
        1,0
        5
        0,1,2
        """):
        for text in lines(f"""
            --format json
            --mem-per-tile {s.best[2]} -v
            --objective cycles,traffic
            --output lp=out.lp -q
            --mem-per-tile 0={s.best[3]}
            """):
            m.solve(s, f"--device-map {devices} {text}", group="solve maps")
        pair = f"{s.layers[0]},{s.layers[-1]}"
        m.solve(s, f"--device-map {devices}", "--require", f"together:{pair}", group="solve maps")


def add_sweeps(m, s):
    most, second, third = (s.best[number] for number in (1, 2, 3))
    for sweep in lines(f"""
        --num-ipus 1..6
        --num-ipus 2..2
        --num-ipus 1..9:3
        --mem-per-tile {third}..{most}:{most // 10 + 1}
        --mem-per-tile {third}..{most}
        --mem-per-tile 1..{third // 2 + 1}
        --mem-per-tile 1..9:4
        --mem-per-tile {second}..{second}
        """):
        for text in ["", "--format csv", "--format json", "--objective ipus,memory -q"]:
            m.solve(s, f"{sweep} {text}", group="solve sweeps")
        text = f"{sweep} --reserve 2% -v"
        m.solve(s, text, "--require", f"cut:{s.layers[0]}", group="solve sweeps")


def add_time_limits(m, s):
    """A search that must end at once, and one that never does so early."""
    for text in lines("""
        --num-ipus 3 --time-limit 600 --format json
        --num-ipus 3 --time-limit 0.000001
        --device-map 0,1,0 --time-limit 0.000001 --format json
        """):
        m.solve(s, text, group="solve time limit")


def constraints_of(s):
    """Lists of options: constraints that can be kept, contradictory ones, and wrong ones."""
    most, third = s.best[1], s.best[3]
    first, last = s.layers[0], s.layers[-1]
    second, third_layer = (s.layers[min(i, len(s.layers) - 1)] for i in (1, 2))
    single = [["--require", rule + layer] for rule in ["cut:", "no-cut:"] for layer in s.layers]
    single += [["--require", f"place:{layer}={ipu}"] for layer in s.layers[:4] for ipu in [0, 1, 3]]
    single += [["--require", f"layers:{str(n)}.."] for n in [1, 2, 3, 1000]]
    single += [["--require", f"layers:..{str(n)}"] for n in [1, 2, 3, 1000]]
    possible = [
        ["--require", f"cut:{first},{second}"],
        ["--require", f"together:{first},{second}"],
        ["--require", f"together:{second},{first}"],
        ["--require", f"together:{first},{last}"],
        ["--require", f"together:{first},{first}"],
        ["--require", f"place:{first}=0,{last}=2"],
        ["--require", "cut:Head"],
        ["--require", "cut:Tail"],
        ["--require", "no-cut:Head"],
        ["--require", f"together:Head,{first}"],
        ["--require", "together:Head,Tail"],
        ["--require", "place:Tail=1"],
        ["--mem-per-tile", f"0={third}"],
        ["--mem-per-tile", f"0=1,1={most}"],
        ["--mem-per-tile", f"0={most},1={third},9=5"],
        ["--mem-per-tile", f"0={third},1={third}", "--reserve", "1%"],
        [part for layer in s.layers[:-1] for part in ("--require", f"no-cut:{layer}")],
        [part for layer in s.layers[:-1] for part in ("--require", f"cut:{layer}")],
    ]
    contradictory = [
        ["--require", f"cut:{first}", "--require", f"no-cut:{first}"],
        ["--require", f"cut:{first}", "--require", f"together:{first},{second}"],
        ["--require", f"cut:{second},{first}", "--require", f"together:{first},{last}"],
        ["--require", f"place:{first}=0,{first}=1"],
        ["--require", f"place:{first}=1,{second}=0"],
        ["--require", f"cut:{first}", "--require", f"place:{first}=0,{second}=0"],
        ["--require", f"place:{first}=7"],
        ["--require", "layers:3..2"],
        ["--require", f"cut:{first},{second}", "--require", "layers:2.."],
        ["--require", f"together:{first},{third_layer}", "--require", "layers:..1"],
        ["--require", f"no-cut:{first}", "--require", f"place:{last}=1", "--require", "layers:..1"],
    ]
    wrong = [
        ["--require", "cut:nothing"],
        ["--require", "cut:None"],
        ["--require", f"no-cut:{last}"],
        ["--require", f"together:{first}"],
        ["--require", f"together:{first},nothing"],
        ["--require", f"place:{first}"],
        ["--require", f"place:{first}=x"],
        ["--require", "place:nothing=0"],
        ["--require", "place:None=1"],
    ]
    return single + possible + contradictory + wrong


def add_constraints(m, s):
    for constraint in constraints_of(s):
        for text in lines(f"""
            --num-ipus 3 --format json
            --num-ipus 4 --mem-per-tile {s.best[3]}
            """):
            m.solve(s, text, *constraint, group="constraints")
    few = constraints_of(s)
    for constraint in few[:: 1 + len(few) // 25]:
        for text in lines("""
            --device-map 0,1,0
            --objective cycles,balance -v
            --schedule popart --format json
            --num-ipus 1..4
            --num-ipus 3 --output mps=out.mps -q
            """):
            m.solve(s, text, *constraint, group="constraints")


def add_thorough_solves(m, s, turn):
    third = Third(m, turn)
    add_limits(third, s)
    add_objectives(third, s)
    add_schedules(third, s)
    add_maps(third, s)
    add_sweeps(third, s)
    add_constraints(third, s)
    add_time_limits(m, s)


def add_random_solves(m, s, count):
    """Combinations that nobody thought of; always the same ones."""
    chance = random.Random(s.name)
    names = s.layers if s.is_costs() else [*s.layers, "Head", "Tail"]

    def name():
        return chance.choice(names)

    choices = [
        lambda: ["--require", f"cut:{name()}"],
        lambda: ["--require", f"no-cut:{name()}"],
        lambda: ["--require", f"together:{name()},{name()}"],
        lambda: ["--require", f"place:{name()}={chance.randrange(4)}"],
        lambda: ["--require", f"layers:{str(chance.randint(1, 3))}.."],
        lambda: ["--require", f"layers:..{str(chance.randint(1, 4))}"],
        lambda: ["--mem-per-tile", str(chance.randint(s.best[3] // 2 + 1, s.best[1]))],
        lambda: ["--mem-per-tile", f"{chance.randrange(4)}={chance.randint(1, s.best[1])}"],
        lambda: ["--objective", chance.choice(OBJECTIVE_LISTS)],
        lambda: ["--slack", str(chance.randrange(30))],
        lambda: ["--reserve", f"{chance.randrange(20)}%"],
        lambda: ["--schedule", "popart", "--recompute", chance.choice(["none", "full"])],
        lambda: ["--format", chance.choice(["tsv", "csv", "json"])],
        lambda: [chance.choice(["-v", "-q"])],
        lambda: ["--threads", str(chance.randint(1, 3))],
    ]
    if not s.is_costs():
        choices.append(lambda: ["--memory-model", chance.choice(["full", "popliner"])])
    stages = [
        lambda: ["--num-ipus", str(chance.randint(1, 6))],
        lambda: ["--device-map", ",".join(str(chance.randrange(3)) for _ in range(3))],
        lambda: ["--num-ipus", f"1..{chance.randint(1, 5)}"],
    ]
    for _ in range(count):
        options = chance.choices(stages, [6, 2, 1])[0]()
        for choice in chance.sample(choices, chance.randint(2, 6)):
            options += choice()
        m.solve(s, "", *options, group="random")


def add_golden(m, s, folder):
    """The solves that the golden case has an answer for, and the same with the other solver."""
    base = [f"in/{s.name}/profile.pop", f"in/{s.name}/debug.cbor"]
    for path in sorted(folder.glob("solve-*.txt")):
        options = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("options: ").split()
        m.add(f"golden {s.name}", *base, *options, "--solver", "popliner")
        m.add(f"golden {s.name}", *base, *options)


def add_graph(m, s):
    for text in lines(f"""
        --num-ipus 4
        --num-ipus 4 --objective cycles --format json
        --num-ipus 2 -v
        --num-ipus 8 --objective cycles,traffic --format csv
        --num-ipus 1..4
        --num-ipus 3 --objective memory,cycles
        --num-ipus 2 --reserve 1%
        --num-ipus 3 --mem-per-tile {s.best[3] - 1}
        """):
        m.solve(s, text, group="graph")
    m.solve(s, "--num-ipus 4", "--require", f"cut:{s.layers[0]}", group="graph")
    m.solve(s, "--num-ipus 4", "--require", f"together:{s.layers[0]},{s.layers[-1]}", group="graph")


def add_real(m):
    """Real files that do not go together, or are no profile."""
    for names in lines("""
        in/firehose/profile.pop in/firehose/debug-truncated.cbor
        in/firehose/profile.pop in/sample/debug.cbor
        in/popxl-mnist
        in/popxl-mnist/profile.pop_cache
        """):
        for text in ["--solve --num-ipus 2", "--diagnose -v", "--operation-breakdown -v"]:
            m.add("real", *names.split(), *text.split())


def stored_name(subject):
    return pathlib.Path(subject.name).name + ".popliner"


def add_stored(m, subject):
    """Stores and loads again, and answers from what OLD stored."""
    third = subject.best[3]
    questions = lines(f"""
        --solve
        --solve --num-ipus 3 --format json
        --solve -v
        --solve --num-ipus 3 --mem-per-tile {third}
        --solve --num-ipus 3 --mem-per-tile {third // 2}
        --solve --schedule popart --num-ipus 3 -v
        --solve --schedule popart --recompute full --num-ipus 2 --format json
        --solve --device-map 0,1,0
        --solve --memory-model popliner --num-ipus 3
        --solve --layer-order natural
        --solve --layer-name-regex ^(.)
        --solve --num-ipus 1..4
        --solve --solver popliner --num-ipus 2
        --solve --objective cycles,memory
        --solve --num-ipus 3 --output lp=out.lp
        --solve --layer-breakdown --diagnose --num-ipus 2
        --solve --threads 1 -v
        --diagnose
        --diagnose --format json
        --layer-breakdown
        --operation-breakdown -q
        --memory-affinity
        --interlayer-communication
        --memory-totals
        --memory-totals --format json
        --evaluate whole
        """)
    for store in ["", "--memory-model popliner", "--layer-name-regex ^(.)", "--threads 1 -v"]:
        steps = [[*subject.base, "--save-to-file", STORED, *store.split()]]
        steps += [[STORED, "--load-from-file", *question.split()] for question in questions]
        m.add_steps(f"stored {subject.name}", *steps)
    m.add_steps(
        f"stored {subject.name}",
        [*subject.base, "--save-to-file", STORED, "--solve", "--layer-breakdown", "--diagnose"],
        [STORED, "--load-from-file", "--save-to-file", STORED, "--solve", "--num-ipus", "2"],
        [STORED, "--load-from-file", "--solve", "-v"],
    )
    for question in questions:
        file = f"in/stored/{stored_name(subject)}"
        m.add(f"stored by OLD {subject.name}", file, "--load-from-file", *question.split())


def add_damaged(m, inputs):
    names = ["damaged/" + path.name for path in sorted((inputs / "damaged").iterdir())]
    names += ["changed/" + name for name in CHANGED_PROFILES]
    names += ["damaged/one-up/run", "damaged/one-up/run/", "", "no-such-file", "golden"]
    for name in names:
        for text in lines("""
            --solve --num-ipus 2
            --solve --objective cycles --num-ipus 3
            --diagnose -v
            --layer-breakdown --operation-breakdown
            --memory-totals
            --memory-affinity
            """):
            m.add("damaged profiles", f"in/{name}", *text.split())
    profile = "in/sample/profile.pop"
    for debug in ["damaged/empty/profile.pop", "no-such-file", "sample/profile.pop", "sample", ""]:
        m.add("damaged profiles", profile, f"in/{debug}", "--solve", "--num-ipus", "2")
    m.add("damaged profiles", profile, "in/golden/popart-inf/debug.cbor", "--operation-breakdown")
    m.add("damaged profiles", "/dev/null", "--solve")
    m.add("damaged profiles", "in/no-such\nfile", "--solve")

    for path in sorted((inputs / "stored").glob("damaged-*")):
        for text in ["--solve --num-ipus 2", "--layer-breakdown", "--solve --diagnose -v"]:
            m.add("damaged stored", f"in/stored/{path.name}", "--load-from-file", *text.split())
    for name in ["sample", "sample/profile.pop", "costs/additive.json", "no-such-file"]:
        m.add("damaged stored", f"in/{name}", "--load-from-file", "--solve")
    m.add("damaged stored", "in/stored/sample.popliner", "--solve")

    for name in WRONG_COSTS:
        m.add("wrong costs", f"in/wrong-costs/{name}", "--solve")
        m.add("wrong costs", f"in/wrong-costs/{name}", "--solve", "--format=json", "-v")
    for name in ["sample", "sample/profile.pop", "no-such-file", "stored/sample.popliner"]:
        m.add("wrong costs", f"in/{name}", "--solve")
    for constraint in ["--require=cut:a\\,b", "--require=together:a,b\\,c|d\\=0",
                       "--require=place:c|d\\=0=0,c=0"]:
        m.add("wrong costs", "in/wrong-costs/names.json", "--solve", constraint)


def options_of(command):
    """What --help lists: letter ("-q" or empty), option, and the name of its value, if any."""
    told = subprocess.run([command, "--help", "all"], capture_output=True,
                          check=True).stdout.decode()
    return re.findall(r"^  (?:(-\w), )?(--[a-z0-9-]+)(?: (\S+))?", told, re.M)


def add_values(m, options):
    """Every option with values that are wrong for most."""
    for _, name, value_name in options:
        group = f"values of {name}"
        m.add(group, "in/sample", name)
        m.add(group, "in/sample", "--solve", f"{name}=2")
        m.add(group, "in/sample", "--solve", "--solver", "popliner", name, "2")
        m.add(group, "in/sample", "--evaluate", "whole", name, "2")
        m.add(group, "in/costs/additive.json", "--solve", name, "2")
        if not value_name:
            continue
        for arguments in [[name], [name, ""], [name + "="], [name, "--solve"], [name, "-q"]]:
            m.add(group, "in/sample", "--solve", *arguments)
        if value_name == "FILE":
            continue
        for value in lines("""
            0
            -1
            x
            1.5
            99999999999999999999
            101%
            none
            a(
            ,
            0=5,
            0,,1
            num-ipus=1..20000
            mem-per-tile=5..
            memory,memory
            \udcff
            """):
            m.add(group, "in/sample", "--solve", name, value)


def add_usage(m):
    """What is refused before anything is read, or because options do not go together."""
    for text in lines("""
        -
        -- --solve
        --solve
        --solve --
        - --solve
        -x
        -qv
        -q -v
        -h
        -h --solve
        --help
        --help --unknown
        --version x
        --=1
        ---solve
        -solve
        --solv in/sample
        --SOLVE in/sample
        --solve=1 in/sample
        --solve= in/sample
        in/costs/additive.json
        in/costs/additive.json --solve in/sample
        in/costs/additive.json --solve --diagnose
        in/costs/additive.json --solve --solver popliner
        in/costs/additive.json --solve --reserve gaps
        in/sample in/a in/b --solve
        in/sample --solve --quiet -v
        in/sample --solve -v -v
        in/sample --solve --recompute full
        in/sample --solve --device-map 0,1 --num-ipus 2
        in/sample --solve --device-map 0,1 --num-ipus 1..2
        in/sample --solve --num-ipus 1..2
        in/sample --solve --mem-per-tile 1..2
        in/sample --solve --output lp=a --num-ipus 1..2
        in/sample --solve --output lp=a --output mps=a
        in/sample --solve --output lp=a --save-to-file a
        in/sample --solve --output lp=no/a
        in/sample --solve --output mps=in
        in/sample --save-to-file in
        in/sample --save-to-file no/a
        in/sample --save-to-file /dev/null
        in/sample --save-to-file in/sample/profile.pop/a
        in/sample --threads 1
        in/sample --fail-on unexplained=5%
        in/sample --layers 0
        in/sample --solve --layers 0
        in/sample --layer-breakdown --num-ipus 2 --mem-per-tile 1
        in/sample --diagnose --num-ipus 2
        in/sample --format json
        in/sample --format json --layer-breakdown
        in/sample --format json --solve --diagnose
        in/sample --format json --memory-totals --evaluate whole
        in/sample --format=tsv --format csv --layer-breakdown
        in/sample in/sample/debug.cbor --load-from-file --solve
        in/sample/profile.pop --layer-breakdown in/sample/debug.cbor
        --layer-breakdown -- in/sample/profile.pop in/sample/debug.cbor
        --load-from-file --solve
        """):
        m.add("usage", *text.split())
    m.add("usage", "--solve", "")
    m.add("usage", "in/sample", "", "--solve")
    m.add("usage", "--un\nknown", "in/sample")
    m.add("usage", "in/sample", "--solve", *["--require=cut:0"] * 257)


def add_unwritable(m):
    """Files that are read and must not be overwritten; standard output that is full."""
    for text in lines("""
        --save-to-file sample/profile.pop
        --save-to-file sample/debug.cbor
        --solve --output lp=sample/profile.pop
        --solve --output mps=sample/debug.cbor
        """):
        m.add("unwritable", "sample", *text.split(), copies=("sample",))
    arguments = ["additive.json", "--solve", "--output", "lp=additive.json"]
    m.add("unwritable", *arguments, copies=("costs/additive.json",))
    for text in lines("""
        --help
        --version
        in/sample --solve
        in/sample --solve --layer-breakdown
        in/sample --solve --num-ipus 1..2
        in/sample --diagnose
        in/sample --memory-totals --format json
        in/sample --evaluate whole
        in/sample --memory-affinity
        in/costs/additive.json --solve
        """):
        m.add("unwritable", *text.split(), stdout="/dev/full")


SECTIONS = (
    "summary tiles categories liveness variables operations programs layers pairs execution checks "
    "vertices exchanges advice diagnosis missing"
).split()
FORMATS = (
    "json optimum poptorch megatron vllm torch titan accelerate tensorflow popart popxl"
).split()


def add_shown(m, s):
    """All that a profile or a plan is shown as, or written for others."""
    group = f"shown {s.name}"
    middle = middle_layer(s)
    plan = ["--evaluate", middle]
    for section in [] if s.is_costs() else SECTIONS:
        for form in ["tsv", "csv", "json"]:
            m.add(group, *s.base, "--output", section, "--format", form)
        m.add(group, *s.base, "--output", section, "--memory-model", "popliner", "-q")
    tables = [] if s.is_costs() else SECTIONS
    outputs = [f"--output={name}={name}.{form}" for name in tables for form in ["csv", "json"]]
    m.add(group, *s.base, "--solve", "--num-ipus", "3", *outputs, "--output", "plan=plan.json")
    for text in lines("""
        --output plan
        --output plan --format csv
        --output plan --format json --schedule popart
        --output plan --format plot
        """):
        m.solve(s, f"--num-ipus 3 {text}", group="shown")
        if not s.is_costs():
            m.add(group, *s.base, *plan, *text.split())
    for form in FORMATS:
        m.solve(s, f"--num-ipus 2 --output {form} --modules model.layers.{{}}", group="emit")
        text = f"--num-ipus 2 --device-map interleaved:2 --output {form}=out.txt --modules h.{{}}"
        m.solve(s, f"{text} --modules e,f,{{}},n,m", group="emit")
        m.solve(s, f"--num-ipus 3 --output {form} --schedule tf-grouped", group="emit")
    m.solve(s, "--num-ipus 3 --output page=page.html", group="shown")
    m.solve(s, "--num-ipus 3 --output page=page.html --schedule popart --recompute auto --paths -v")
    if s.is_costs():
        return
    for text in lines("""
        --output page=page.html
        --output page=page.html --paths
        --output trace=trace.json
        --output tiles --format plot
        --output liveness --format plot
        --fail-on contradiction --diagnose
        --fail-on contradiction --layer-breakdown -v
        --max-memory 1000 --diagnose
        --max-memory 1G --memory-totals
        --ipu 0 --output tiles
        --ipu 1 --diagnose
        --compare in/sample
        --compare in/sample --format json
        --compare in/planned-anew --fail-on growth=5%
        --compare in/planned-anew --format csv --fail-on \
            growth.tiles=0%,growth.layers=3%,growth.categories=100%
        """):
        m.add(group, *s.base, *text.split())
    m.add(group, *s.base, *plan, "--output", "page=page.html", "--output", "trace=trace.json",
          "--format", "json")
    m.add(group, *s.base, *plan, "--compare", "in/planned-anew", "--fail-on", "growth.stages=1%")
    m.solve(s, "--num-ipus 3 --output trace=trace.json --schedule popart", group="shown")
    m.solve(s, "--num-ipus 2 --compare in/sample --format json --paths", group="shown")


def add_pipelines(m, s):
    """What depends on how a pipeline runs, and how many of them do."""
    third = s.best[3]
    schedules = lines("""
        --schedule popart
        --schedule tf-grouped
        --schedule tf-interleaved --recompute standard
        --schedule sequential
        --schedule popart --recompute auto
        --schedule popart --recompute auto:standard,full
        --schedule popart --recompute auto:none,full
        --schedule 1f1b
        --schedule gpipe --micro-batches 5
        --schedule zero-bubble
        --schedule interleaved --device-map interleaved:2
        --schedule 1f1b+2 --recompute full
        --schedule none:1,2,3,5
        --schedule none:0,1,...
        """)
    for schedule in schedules:
        for text in lines(f"""
            --num-ipus 3 --format json
            --num-ipus 2 --mem-per-tile {third}
            --num-ipus 4 --objective cycles,memory -v
            """):
            if "interleaved:" not in schedule or "--num-ipus 2" in text:
                m.solve(s, f"{schedule} {text}", group="pipelines")
    for text in lines(f"""
        --num-ipus 2 --device-map interleaved:2 --format json
        --num-ipus 2 --device-map v --format json
        --num-ipus 3 --device-map v --schedule popart
        --num-ipus 3 --ipu-speed 0=0.5,2=3 --objective cycles,memory --format json
        --num-ipus 3 --bandwidth 64,1-2=0.5 --objective cycles --format json
        --num-ipus 3 --bandwidth 64 --ipu-speed 1=2 --objective cycles,traffic -v
        --num-ipus 3 --bandwidth 1-2=0
        --num-ipus 3 --ipu-speed 0=-1
        --pareto memory,cycles --num-ipus 4
        --pareto cycles,traffic --num-ipus 3 --format json
        --pareto balance,ipus,memory --num-ipus 4 --format csv
        --total-ipus 8 --micro-batches 16 --format json
        --total-ipus 8 --batch 32/2
        --total-ipus 6 --micro-batches 4 --objective throughput,memory -v
        --total-ipus 6 --batch 12 --bandwidth replicas=10 --format json --memory-model full
        --total-ipus 4 --batch 7 --schedule popart
        --need at-most --num-ipus 3 --format json
        --need at-least --num-ipus 3 --mem-per-tile {third}
        --effects accumulators --num-ipus 3 --format json
        --effects layout,buffers,accumulators --num-ipus 3 -v
        --effects passing,accumulators=fp32 --num-ipus 2
        --effects all,accumulators=fp16 --schedule popart --num-ipus 2 --format json
        --effects layout,passing,buffers --schedule popart --num-ipus 2
        --micro-batches 4 --num-ipus 2
        """):
        m.solve(s, text, group="pipelines")


def add_others(command, m, inputs):
    """Pipelines that were compiled, several reports, options from files."""
    group = "compiled pipelines"
    for text in lines("""
        --compiled in/pipeline
        --compiled in/pipeline/0/profile.pop
        --compiled in/sample
        --compiled no-such
        """):
        question = "--evaluate 1|3 --schedule popart " + text
        m.add(group, "in/reports/training", *question.split())
    for text in lines("""
        --solve --num-ipus 3
        --diagnose
        --output tiles --ipu 1
        --output summary
        --memory-totals --ipu 2
        --evaluate 1|3 --ipu 0
        --output page=page.html
        """):
        m.add(group, "in/pipeline", *text.split())
    group = "reports"
    for text in lines("""
        --solve --num-ipus 3
        --report all --solve --num-ipus 3 --schedule popart
        --report all --solve --num-ipus 3 --format json
        --report training --report inference --solve --num-ipus 2 --output plan --format csv
        --report training --diagnose
        --report training --solve --num-ipus 2 --output page=page.html
        --report all --evaluate 1|3 --format json
        --report all --evaluate 1|3
        --report all --diagnose
        --report all --solve --num-ipus 1..3
        --report train --solve
        """):
        m.add(group, "in/reports", *text.split())
    for path in sorted((inputs / "arguments").iterdir()):
        words = f"@in/arguments/{path.name}"
        m.add("arguments", words)
        m.add("arguments", "in/sample", words, "--num-ipus", "2", "-v")
        m.add("arguments", "in/sample", "--layer-breakdown", words)


def add_threads(m, subject):
    for text in lines("""
        --solve -v --num-ipus 3
        --solve --schedule popart --format json
        --diagnose
        --layer-breakdown
        --operation-breakdown
        --interlayer-communication
        """):
        for number in [1, 2, 7]:
            m.add(f"threads {subject.name}", *subject.base, *text.split(), f"--threads={number}")


def add_large(m, s):
    """Few, since each takes seconds: what is solved more than once is solved from storage."""
    third = s.best[3]
    for text in lines("""
        --solve --num-ipus 4 -v
        --diagnose --format json
        --operation-breakdown
        --layer-breakdown --memory-affinity --interlayer-communication --memory-totals
        """):
        m.add(f"large {s.name}", *s.base, *text.split())
    questions = lines(f"""
        --num-ipus 3 --format json
        -v --objective cycles,memory --num-ipus 8
        --num-ipus 2 --mem-per-tile {third}
        --num-ipus 4 --mem-per-tile {third}
        --num-ipus 4 --schedule popart
        --num-ipus 4 --schedule popart --recompute full --format json
        --num-ipus 1..24 --format csv
        --num-ipus 24 --objective balance,traffic
        --num-ipus 5 --output lp=out.lp
        --objective ipus,memory --reserve gaps --format json
        """)
    m.add_steps(
        f"large {s.name}",
        [*s.base, "--save-to-file", STORED, "-v"],
        *([STORED, "--load-from-file", "--solve", *text.split()] for text in questions),
    )
    if s.name == "large/training":  # takes longest
        return
    for text in lines(f"""
        --solve --solver popliner --num-ipus 4 --mem-per-tile {third}
        --solve --device-map 0,1,0
        --solve --memory-model popliner --threads 1
        --solve --schedule popart --num-ipus 4 --mem-per-tile {third}
        --solve --device-map 0,1,2 --objective memory,cycles
        --evaluate {middle_layer(s)}
        --diagnose -v --threads 1
        """):
        m.add(f"large {s.name}", *s.base, *text.split())


THOROUGH = ["sample", "golden/poptorch-train-outline", "made/popart-training-outline"]
SHOWN = ["sample", "golden/poptorch-train-outline", "made/tensorflow-training", "made/executed"]
RANDOM = [
    "sample",
    "golden/poptorch-train-outline",
    "golden/poptorch-inf",
    "golden/tensorflow-train",
    "made/poptorch-training",
    "made/popart-training-outline",
    "made/tensorflow-training",
]
STORING = [
    "sample",
    "golden/popart-train",
    "golden/tensorflow-train",
    "made/poptorch-training-outline",
]


def make_cases(command, workdir):
    """All command lines; the large ones first, so that no core waits for the last of them."""
    inputs = workdir / "inputs"
    m = Matrix()

    def find(name, *base):
        return find_subject(command, workdir, name, base or [f"in/{name}"])

    for name in LARGE:
        if (inputs / name).exists():
            add_large(m, find_subject(command, workdir, name, [f"in/{name}"], (3,)))
    golden = [f"golden/{path.parent.name}" for path in sorted(inputs.glob("golden/*/profile.pop"))]
    profiles = {name: find(name) for name in ["sample", *golden, *MADE]}
    if (inputs / "firehose").exists():
        profiles["firehose"] = find("firehose")
        add_real(m)
    for s in profiles.values():
        add_tables(m, s, regexes_of(inputs / s.name) if s.name in golden else ())
        add_diagnoses(m, s)
        add_evaluations(m, s)
        add_solves(m, s)
    for turn, name in enumerate(THOROUGH):
        add_thorough_diagnoses(m, profiles[name])
        add_thorough_evaluations(m, profiles[name])
        add_thorough_solves(m, profiles[name], turn)
        add_threads(m, profiles[name])
    for name in RANDOM:
        add_random_solves(m, profiles[name], 25)
    for name in SHOWN:
        add_shown(m, profiles[name])
        add_pipelines(m, profiles[name])
    for name in golden:
        add_golden(m, profiles[name], inputs / name)

    for turn, path in enumerate(sorted((inputs / "costs").glob("*.json"))):
        s = find(f"costs/{path.stem}", f"in/costs/{path.name}")
        add_solves(m, s)
        add_thorough_solves(m, s, turn % 3)
        add_random_solves(m, s, 25)
        add_shown(m, s)
        add_pipelines(m, s)
    for name in GRAPHS if (inputs / "graphs").exists() else []:
        s = find(f"graphs/{name}", f"in/graphs/{name}")
        add_graph(m, s)
        if len(s.layers) < 50:  # longer chains take long where stages share an IPU
            add_solves(m, s)
            add_random_solves(m, s, 8)

    store(command, workdir, [profiles[name] for name in STORING])
    for name in STORING:
        add_stored(m, profiles[name])
    add_others(command, m, inputs)
    add_damaged(m, inputs)
    add_values(m, options_of(command))
    add_usage(m)
    add_unwritable(m)
    return list(m.cases.values())


def store(command, workdir, subjects):
    """Stores analyses with OLD among the inputs, and damaged copies of the first of them."""
    folder = workdir / "inputs" / "stored"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for subject in subjects:
        path = folder / stored_name(subject)
        execute_among_inputs(command, workdir, [*subject.base, "-q", "--save-to-file", str(path)])
    content = (folder / stored_name(subjects[0])).read_bytes()
    damaged = {
        "half": content[: len(content) // 2],
        "empty": b"",
        "text": b"This is no analysis.\n",
        "longer": content + b"x",
    }
    for place in range(0, len(content), len(content) // 12 + 1):
        flipped = bytes([content[place] ^ 1])
        damaged[f"flipped-{place}"] = content[:place] + flipped + content[place + 1 :]
    for name, changed in damaged.items():
        (folder / f"damaged-{name}.popliner").write_bytes(changed)
