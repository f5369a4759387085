#!/usr/bin/env python3
"""Small files that ask for endless work: each has its answer, or one sentence, within seconds.

    hostile_files_test.py POPLINER SAMPLE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import contextlib
import json
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

import cases
import profile_blobs

popliner, sample = map(os.path.abspath, sys.argv[1:])
MAX_SECONDS = 30  # with the sanitizers, on a machine that has other work
MAX_FILE_BYTES = 1 << 30
ERROR_LINE = re.compile(r"^error: (.+)$", re.M)
QUESTIONS = (["--solve"], ["--diagnose"], ["--output", "programs"], ["--output", "page=/dev/null"])
failures = []


def check(holds, *what):
    if not holds:
        failures.append(" ".join(str(word) for word in what))


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(name, *arguments, statuses, names=None):
    """Runs the command; a failure has to be one sentence, with `names` in it."""
    try:
        result = subprocess.run([popliner, *arguments], capture_output=True, timeout=MAX_SECONDS,
                                preexec_fn=limit, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        check(False, name, "was not done after", MAX_SECONDS, "s")
        return None
    told = result.stderr.decode()
    check(result.returncode in statuses, name, "ended with", result.returncode, told[:300])
    errors = ERROR_LINE.findall(told)
    if result.returncode > 1:  # 1: there is no such split
        check(len(errors) == 1, name, "has", len(errors), "sentences", told[:500])
        check(result.stdout == b"", name, "has an answer as well")
        check(names is None or any(names in error for error in errors), name, "says", errors)
    return result


class Report:
    """A copy of the sample, altered by statements."""

    def __init__(self, folder):
        self.folder = os.path.join(folder, "report")
        shutil.copytree(sample, self.folder)
        self.path = os.path.join(self.folder, "profile.pop")

    def alter(self, *steps):
        shutil.copy(os.path.join(sample, "profile.pop"), self.path)
        os.chmod(self.path, 0o600)
        sql = sqlite3.connect(self.path)
        for step in steps:
            if callable(step):
                step(sql)
            else:
                sql.executescript(step)
        sql.commit()
        sql.close()


def columns(sql, table):
    return [row[1] for row in sql.execute(f"PRAGMA table_info({table})")]


def endless_view(sql):
    names = columns(sql, "vars_info")
    sql.executescript("ALTER TABLE vars_info RENAME TO other")
    row = ", ".join("n" if name == "var_id" else "1" for name in names)
    sql.executescript(f"""
        CREATE VIEW vars_info({', '.join(names)}) AS
        WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
        SELECT {row} FROM numbers""")


def endless_generated_column(sql):
    """A text that is computed, and large, for each of the rows."""
    sql.executescript("""
        ALTER TABLE unlowered_vars RENAME COLUMN name TO short;
        ALTER TABLE unlowered_vars ADD COLUMN name TEXT
            GENERATED ALWAYS AS (short || hex(zeroblob(400000000))) VIRTUAL""")


def deep_tree(depth):
    """Programs that are each in the one before."""
    def alter(sql):
        sequence = sql.execute("SELECT id FROM program_types WHERE name = 'Sequence'").fetchone()[0]
        sql.execute("DELETE FROM programs")
        names = columns(sql, "programs")
        for number in range(depth):
            row = dict.fromkeys(names)
            row.update(id=number, variant=sequence,
                       children=profile_blobs.as_list([number + 1]) if number + 1 < depth else b"")
            sql.execute(f"INSERT INTO programs({', '.join(names)}) VALUES "
                        f"({', '.join('?' * len(names))})", [row[name] for name in names])
        for table in ("depth_first_steps", "memory_not_always_live_by_step_and_ipu",
                      "eq_class_step", "compilation_cycles_by_tile"):
            sql.execute(f"DELETE FROM {table}")
        sql.executemany("INSERT INTO depth_first_steps VALUES (?, ?, ?)",
                        ((n, n, n - 1 if n > 0 else None) for n in range(depth)))
    return alter


def repeat_forever(sql):
    """A loop in the tree: each program has the first again."""
    sql.execute("UPDATE programs SET children = ? WHERE id = 0", [profile_blobs.as_list([0])])


def huge_run(count):
    """A list of so many equal numbers, in a few bytes."""
    blob = profile_blobs.varint(count << 1) + profile_blobs.varint(1)

    def alter(sql):
        sql.execute("UPDATE compute_sets SET vertex_counts = ?", [blob])
        sql.execute("UPDATE vertex_instances SET instances_by_tile = ?", [blob])
    return alter


def executed_with_balance(balance):
    def alter(sql):
        program = sql.execute("SELECT id FROM programs").fetchone()[0]
        sql.execute("INSERT INTO steps(id, type, program) VALUES (1, 'step', ?)", [program])
        row = dict.fromkeys(columns(sql, "steps_by_ipu"), 1)
        row.update(tile_balance=balance, tile_cycles_id=None)
        sql.execute(f"INSERT INTO steps_by_ipu({', '.join(row)}) VALUES "
                    f"({', '.join('?' * len(row))})", list(row.values()))
    return alter


def try_balances(report):
    """What is no number that JSON knows."""
    for balance in (float("inf"), -float("inf"), 1e308):
        report.alter(executed_with_balance(balance))
        result = run(f"balance {balance}", report.folder, "--output", "execution", "--format",
                     "json", statuses={0})
        try:
            rows = json.loads(result.stdout)["rows"]
            check([row["tile_balance"] for row in rows] == [0], f"balance {balance}:", rows)
        except (AttributeError, ValueError) as error:
            check(False, f"balance {balance}:", error)


def try_foreign_debug(report):
    """What made the programs is not in debug.cbor: that is of another compilation."""
    for added, is_told in ((0, False), (1, True), (10**6, True)):
        report.alter(f"UPDATE programs SET debug_id = debug_id + {added} WHERE debug_id > 0")
        result = run(f"{added} added", report.folder, "--solve", statuses={0, 1})
        log = result.stderr
        check((b"The debug.cbor does not match" in log) == is_told, "another debug.cbor:", log)
        run(f"{added} added, --fail-on contradiction", report.folder, "--solve", "--fail-on",
            "contradiction", statuses={3} if is_told else {0, 1})


def try_short_limit(report):
    """A file that may not grow is said, and nothing is left of it."""
    report.alter("SELECT 1")
    page = os.path.join(report.folder, "page.html")
    command = f"ulimit -f 8; exec '{popliner}' '{report.folder}' --solve -q --output page={page}"
    result = subprocess.run(["sh", "-c", command], capture_output=True,
                            encoding="utf-8", timeout=60)
    left = [name for name in os.listdir(report.folder) if "page" in name or ".part" in name]
    check(result.returncode == 3 and "page.html" in result.stderr and not left,
          "a file that may not grow:", result.returncode, result.stderr, left)


def try_profiles(folder):
    report = Report(folder)
    try_foreign_debug(report)
    try_short_limit(report)
    refused = {3}
    report.alter(endless_view)
    run("an endless view", report.folder, "--solve", statuses=refused, names="vars_info")
    report.alter(endless_generated_column)
    run("a computed column", report.folder, "--solve", statuses={0, 3, 4})
    for column in ("num_tiles", "tiles_per_ipu", "num_ipus"):
        for number in (10**9, 2**62):
            report.alter(f"UPDATE target_info SET {column} = {number}")
            run(f"{column} {number}", report.folder, "--solve",
                statuses=refused if column == "num_tiles" else {0, 3})
    report.alter("UPDATE graph_info SET num_vars = 1000000000, num_vertices = 1000000000")
    run("a billion variables", report.folder, "--solve", statuses={0, 3})
    report.alter("UPDATE vars_info SET tile = 999999999 WHERE var_id % 7 = 0")
    run("a variable on a far tile", report.folder, "--solve", statuses=refused)
    report.alter("UPDATE eq_class_step SET step_id_to = 1000000000")
    run("a billion steps", report.folder, "--solve", statuses=refused)
    report.alter("UPDATE eq_classes SET id = id + 4000000000000")
    run("far classes", report.folder, "--diagnose", statuses={0, 3})
    for count in (10**9, 2**60):
        report.alter(huge_run(count))
        run(f"a run of {count}", report.folder, "--solve", statuses={0, 3}, names="profile.pop")
    try_balances(report)
    report.alter(repeat_forever)
    for question in QUESTIONS:
        run(f"a loop of programs, {question[0]}", report.folder, *question, statuses={0, 1, 3})
    report.alter(deep_tree(10000))
    for question in QUESTIONS:
        run(f"10,000 deep, {question[0]}", report.folder, *question, statuses={0, 1, 3})


def leaves(database, page_bytes, number):
    """The offset and the number of rows of each leaf of a table, in the order of the rows."""
    page = (number - 1) * page_bytes
    count = int.from_bytes(database[page + 3:page + 5], "big")
    if database[page] == 13:
        yield page, count
        return
    for i in range(count):
        cell = page + int.from_bytes(database[page + 12 + 2 * i:page + 14 + 2 * i], "big")
        yield from leaves(database, page_bytes, int.from_bytes(database[cell:cell + 4], "big"))
    yield from leaves(database, page_bytes, int.from_bytes(database[page + 8:page + 12], "big"))


def try_damaged_page(folder):
    """The first row of a damaged page is told, whatever connection has seen the page before."""
    report = Report(os.path.join(folder, "damaged"))
    with contextlib.closing(sqlite3.connect(report.path)) as sql:
        [page_bytes] = sql.execute("PRAGMA page_size").fetchone()
        [root] = sql.execute("SELECT rootpage FROM sqlite_master WHERE name = 'vars_info'"
                             ).fetchone()
    with open(report.path, "rb") as file:
        database = bytearray(file.read())
    all_leaves = list(leaves(database, page_bytes, root))
    for place in (len(all_leaves) // 3, len(all_leaves) * 9 // 10):
        page, count = all_leaves[place]
        row = 1 + sum(before for _, before in all_leaves[:place])
        damaged = bytearray(database)
        pointer = page + 8 + 2 * (count // 2)
        damaged[pointer:pointer + 2] = b"\xff\xff"
        os.chmod(report.path, 0o600)
        with open(report.path, "wb") as file:
            file.write(damaged)
        for threads in (1, 2, 4, 2, 4):
            run(f"damaged page, {threads} threads", report.folder, "--output", "programs",
                "--threads", str(threads), statuses={3}, names=f"vars_info, row {row}, failed")


def try_endless_files(folder):
    profile = os.path.join(sample, "profile.pop")
    costs = os.path.join(folder, "costs.json")
    with open(costs, "w", encoding="utf-8") as file:
        file.write('{"memory_bytes": [1, 2]}')
    for name, arguments, names in (
            ("profile", ["/dev/zero", "--solve"], "/dev/zero"),
            ("debug.cbor", [profile, "/dev/zero", "--solve"], "/dev/zero"),
            ("costs", ["/dev/zero", "--solve"], "/dev/zero"),
            ("arguments", [sample, "@/dev/zero"], "/dev/zero"),
            ("stored", ["/dev/zero", "--load-from-file"], None),
            ("compared", [sample, "--compare", "/dev/zero"], "/dev/zero")):
        run("/dev/zero as " + name, *arguments, statuses={2, 3}, names=names)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    for name, arguments in (("costs", [fifo, "--solve"]),):
        # nobody ever writes to it: a limit ends the wait
        run("a pipe as " + name, *arguments, "--time-limit", "1", statuses={1, 3})
    endless = threading.Thread(target=write_without_end, args=(fifo,), daemon=True)
    endless.start()
    run("an endless pipe", fifo, "--solve", statuses={3}, names="fifo")


def write_without_end(path):
    try:
        with open(path, "wb") as file:
            while True:
                file.write(b'{"a": "' + b" " * (1 << 20))
    except OSError:
        pass  # it is refused while this writes


def try_regexes():
    for regex in ("(a+)+$", "(.*)*(.*)*(.*)*x", "((.+)+)+!", "(?:(?:[^/]*)*)*#", "(" * 5000,
                  "(?R)*", r"(.)\1*(.)\2*(.)\3*(.)\4*(.)\5*$", "[a-z]{1,60000}" * 20):
        run("regex " + regex[:20], sample, "--solve", "--layer-name-regex", regex,
            statuses={0, 1, 2, 3})


def try_deep_json(folder):
    for name, text in (("arrays", "[" * 100000), ("objects", '{"a":' * 100000),
                       ("a number", '{"memory_bytes": [1' + "0" * 1000000 + "]}"),
                       ("a name", '{"names": ["' + "x" * (1 << 20) + '"], "memory_bytes": [1]}')):
        path = os.path.join(folder, "deep.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        run("deep " + name, path, "--solve", statuses={0, 3})
        run("deep " + name, sample, "@" + path, statuses={2, 3})


with tempfile.TemporaryDirectory() as folder:
    try_profiles(folder)
    try_damaged_page(folder)
    try_endless_files(folder)
    try_regexes()
    try_deep_json(folder)
if failures:
    sys.exit("\n".join(failures))
