# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the command lines read: copies, made-up profiles, and damaged ones."""

import shutil
import sqlite3
import subprocess
import sys

MADE_FRAMEWORKS = ["popart", "poptorch", "tensorflow"]
MADE_SIZE = ["--layers", "6", "--tiles", "16", "--hidden", "32", "--sequence", "16"]
MADE = {
    f"made/{framework}-{work}{outline}": [
        *("--framework", framework, f"--{work}", f"--{outline[1:] or 'no-outline'}", *MADE_SIZE)
    ]
    for framework in MADE_FRAMEWORKS
    for work in ["inference", "training"]
    for outline in ["", "-outline"]
} | {
    "made/fault-no-debug-id": [*MADE_SIZE, "--fault", "no-debug-id:9"],
    "made/fault-no-operation": [*MADE_SIZE, "--fault", "no-operation:9"],
    "made/fault-untouched": [*MADE_SIZE, "--training", "--fault", "untouched:9"],
    "made/first-layers": [*MADE_SIZE, "--only-layers", "first-2"],
    "made/last-layers": [*MADE_SIZE, "--training", "--only-layers", "3-last"],
    "made/long": [
        *("--layers", "80", "--tiles", "4", "--pieces", "2", "--hidden", "8"),
        *("--debug-arguments", "0", "--debug-nesting", "0"),
    ],
    "made/executed": [*MADE_SIZE, "--training", "--execution"],
}
# What is no profile of one model on one IPU.
MADE_OTHERS = {
    "pipeline": [*MADE_SIZE, "--training", "--pipeline", "1|3"],
    "planned-anew": [*MADE_SIZE, "--training", "--plan-seed", "7"],
    "reports/inference": [*MADE_SIZE, "--inference"],
    "reports/training": [*MADE_SIZE, "--training"],
}
LARGE = {
    "large/inference": ["--preset", "bert-large"],
    "large/training": ["--preset", "bert-large", "--training"],
    "large/training-outline": [
        *("--preset", "bert-large", "--training", "--outline", "--tiles", "400"),
    ],
    "large/poptorch-outline": [
        *("--preset", "bert-large", "--framework", "poptorch", "--outline", "--tiles", "400"),
    ],
}

GRAPHS = {
    "alexnet.txt": "pipedream/profiler/image_classification/profiles/alexnet/graph.txt",
    "resnet50.txt": "pipedream/profiler/image_classification/profiles/resnet50/graph.txt",
    "nasnetalarge.txt": "pipedream/profiler/image_classification/profiles/nasnetalarge/graph.txt",
    "gnmt.txt": "pipedream/profiler/translation/profiles/gnmt/graph.txt",
    "bert24-inference.json": "dnn-partitioning/throughput-inputs/LayerGraphs/bert24_inference.json",
    "bert24-training.json": "dnn-partitioning/throughput-inputs/LayerGraphs/bert24_training.json",
    "gnmt-training.json": "dnn-partitioning/throughput-inputs/LayerGraphs/gnmt_training.json",
    "bert24-latency.json": "dnn-partitioning/latency-inputs/LayerGraphs/bert24_inference.json",
    "operators-inference.json": (
        "dnn-partitioning/throughput-inputs/OperatorGraphs/bert_l-3_inference.json"
    ),
    "operators-training.json": (
        "dnn-partitioning/throughput-inputs/OperatorGraphs/bert_l-3_training.json"
    ),
}

OWN_COSTS = '{"format": "popliner-costs", "version": 1'
UNITS = '"units": [{"name": "a", "memory": 5}, {"name": "b", "memory": 7}]'
WRONG_COSTS = {
    "empty.json": "",
    "text.json": "costs",
    "list.json": "[]",
    "cut-off.json": OWN_COSTS + ', "units": [{"na',
    "version.json": '{"format": "popliner-costs", "version": 2, ' + UNITS + "}",
    "format.json": '{"format": "other", "version": 1, ' + UNITS + "}",
    "no-units.json": OWN_COSTS + "}",
    "zero-units.json": OWN_COSTS + ', "units": []}',
    "unknown-key.json": OWN_COSTS + ", " + UNITS + ', "colour": "red"}',
    "same-names.json": OWN_COSTS + ', "units": [{"name": "a"}, {"name": "a"}]}',
    "no-name.json": OWN_COSTS + ', "units": [{"memory": 5}]}',
    "negative.json": OWN_COSTS + ', "units": [{"name": "a", "memory": -5}]}',
    "fraction.json": OWN_COSTS + ', "units": [{"name": "a", "memory": 5.5}]}',
    "huge.json": OWN_COSTS + ', "units": [{"name": "a", "memory": 999999999999999999}]}',
    "cuts.json": OWN_COSTS + ", " + UNITS + ', "cuts": [1, 2, 3]}',
    "regions.json": OWN_COSTS + ', "regions": ["r"], "units": [{"name": "a", "memory": [1, 2]}]}',
    "shared.json": OWN_COSTS + ", " + UNITS + ', "shared": [{"units": ["a", "z"], "memory": 1}]}',
    "devices.json": OWN_COSTS + ", " + UNITS + ', "devices": {"count": 0}}',
    "plain.json": OWN_COSTS + ", " + UNITS + "}",  # nothing is wrong: no cuts, no cycles
    "names.json": OWN_COSTS
    + ', "units": [{"name": "a,b", "memory": 3}, {"name": "c|d=0", "memory": 4}, '
    '{"name": "e-f\\u00e9", "memory": 2, "cycles": 0.5}], "cuts": [3, 4]}',
    "nodes.json": '{"nodes": [], "edges": []}',
    "graph.txt": "node1 -- Input() -- forward_compute_time=x",
    "cycle.json": '{"maxFPGAs": 2, "maxSizePerFPGA": 9, "nodes": [{"id": 1, "supportedOnFpga": 1, '
    '"cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": 0, "colorClass": 1, "size": 1}], '
    '"edges": [{"sourceId": 1, "destId": 2, "cost": 1}]}',
}

STEP_COLUMNS = (
    "cycles_base, active_cycles_from_max, active_cycles_from_mean, active_cycles_from_min, "
    "active_cycles_to_max, active_cycles_to_mean, active_cycles_to_min, all_cycles_to_max, "
    "all_cycles_to_mean, all_cycles_to_min, active_tiles, active_tile_balance, tile_balance"
)
# Changes to the profile of a golden case.
CHANGED_PROFILES = {
    "ran": "INSERT INTO steps(id, type, program) SELECT id + 1, 'a', id FROM programs"
    f"; INSERT INTO steps_by_ipu(step_id, ipu, cycles, {STEP_COLUMNS}) "
    "SELECT id + 1, 0, 10 + id * 37 % 101, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM programs",
    "ran-in-part": "INSERT INTO steps(id, type, program) VALUES (1, 'a', 20), (2, 'a', 100000)"
    f"; INSERT INTO steps_by_ipu(step_id, ipu, cycles, {STEP_COLUMNS}) VALUES "
    "(1, 0, 50, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "
    "(2, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
    "no-estimates": "DELETE FROM compilation_cycles_by_tile",
    "bad-estimates": "UPDATE compilation_cycles_by_tile SET cycles_by_tile_rle = x'a0'",
    "version": "UPDATE version_info SET major = 2",
    "newer": "UPDATE version_info SET minor = 99",
    "two-ipus": "UPDATE target_info SET num_ipus = 2",
    "no-variables": "DELETE FROM vars_info",
    "no-table-of-variables": "DROP TABLE vars_info",
    "no-programs": "DELETE FROM programs",
    "no-steps": "DELETE FROM depth_first_steps",
    "no-ids": "DELETE FROM debug_ids",
    "bad-tile": "UPDATE vars_info SET tile = 99 WHERE var_id = 5",
    "bad-children": "UPDATE programs SET children = x'01' WHERE id = 0",
    "bad-class": "UPDATE eq_class_step SET step_id_to = 99999",
}


ARGUMENTS = {
    "plain": "--solve --num-ipus 3 --objective memory,cycles --quiet",
    "files": "--solve --num-ipus 2 -o plan=plan.csv -o tiles=tiles.tsv",
    "unknown": "--solve --num-ipu 3",
    "quoted": "--solve '--layer-name-regex=(?:^|/)[Ll]ayer(\\d+)'",
    "open": "--solve 'a",
    "conflict": "--solve --quiet --verbose",
    "empty": "",
}


def fill_arguments(folder):
    for name, text in ARGUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")


def make_folder(path, fill):
    """Makes an input unless an earlier baseline did; a half-made one does not stay."""
    if path.exists():
        return
    part = path.with_name(path.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fill(part)
    part.rename(path)


def copy_of(source):
    def fill(folder):
        for path in (p for p in source.rglob("*") if p.is_file()):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)  # without the permissions, which may be to read only

    return fill


def make_profile(mkprofile, arguments):
    def fill(folder):
        command = [mkprofile, "--output", folder, "--force", "--quiet", *arguments]
        subprocess.run(command, check=True)

    return fill


def change_profile(case, sql):
    def fill(folder):
        for name in ["profile.pop", "debug.cbor"]:
            shutil.copyfile(case / name, folder / name)
        database = sqlite3.connect(folder / "profile.pop")
        try:
            database.executescript(sql)
        except sqlite3.Error as error:
            print(f"{folder.stem}: {error}", file=sys.stderr)
        database.close()

    return fill


def fill_damaged(case):
    """Files that are no profiles, or no debug information, and folders that lack one of them."""

    def fill(folder):
        profile = (case / "profile.pop").read_bytes()
        debug = (case / "debug.cbor").read_bytes()
        contents = {
            "half": (profile[: len(profile) // 2], debug),
            "empty": (b"", debug),
            "text": (b"This is no profile.\n" * 50, debug),
            "debug-half": (profile, debug[: len(debug) // 2]),
            "debug-empty": (profile, b""),
            "debug-text": (profile, b"This is no debug information.\n" * 50),
            "swapped": (debug, profile),
            "no-debug": (profile, None),
            "no-profile": (None, debug),
            "one-up": (None, debug),
            "one-up/run": (profile, None),
        }
        for name, (pop, cbor) in contents.items():
            (folder / name).mkdir()
            if pop is not None:
                (folder / name / "profile.pop").write_bytes(pop)
            if cbor is not None:
                (folder / name / "debug.cbor").write_bytes(cbor)

    return fill


def make_inputs(a, inputs):
    """Makes what is not there yet."""
    golden = a.source / "tests" / "golden"
    make_folder(inputs / "golden", copy_of(golden))
    make_folder(inputs / "sample", copy_of(a.source / "data" / "sample"))
    make_folder(inputs / "costs", copy_of(a.source / "data" / "costs"))

    def fill_wrong(folder):
        for name, text in WRONG_COSTS.items():
            (folder / name).write_text(text, encoding="utf-8")

    make_folder(inputs / "wrong-costs", fill_wrong)
    make_folder(inputs / "arguments", fill_arguments)
    make_folder(inputs / "damaged", fill_damaged(golden / "popart-inf"))
    for name, sql in CHANGED_PROFILES.items():
        make_folder(inputs / "changed" / name, change_profile(golden / "popart-inf", sql))
    made = MADE | MADE_OTHERS | ({} if a.without_large else LARGE)
    for name, arguments in made.items():
        make_folder(inputs / name, make_profile(a.mkprofile, arguments))
    if not a.data.is_dir():
        print(f"{a.data} is not there: the real profile and graphs are left out", file=sys.stderr)
        return

    def fill_graphs(folder):
        for name, path in GRAPHS.items():
            shutil.copyfile(a.data / path, folder / name)

    make_folder(inputs / "graphs", fill_graphs)
    for name in ["firehose", "popxl-mnist"]:
        make_folder(inputs / name, copy_of(a.data / name))
