#!/usr/bin/env python3
"""Runs against a profile that another program rewrites all the while: each answer is that of one of
its two states, or the run is refused with one sentence.

    rewritten_test.py POPLINER SAMPLE

The other program writes in transactions, with a journal (DELETE) or a log (WAL), through one
connection or a new one each time; or it asks for no lock and copies the one or the other state onto
the file. Both states are answered for at rest first.

200 runs each, 12 in the quick run.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import collections
import multiprocessing
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import cases

popliner, sample = sys.argv[1:]
NUM_RUNS = 200 if cases.takes_all() else 12
QUESTIONS = (("--output", "variables"), ("--solve", "--num-ipus", "2", "--format", "json"))
WAYS = ("DELETE", "WAL", "WAL, coming and going", "copied")
# All that one state differs by from the other; the answers depend on both tables.
THERE = ("UPDATE vars_info SET size_bytes = size_bytes + 4",
         "UPDATE unlowered_vars SET name = 'new ' || name")
BACK = ("UPDATE vars_info SET size_bytes = size_bytes - 4",
        "UPDATE unlowered_vars SET name = substr(name, 5)")
failures = []


def check(holds, *what):
    if not holds:
        failures.append(" ".join(str(word) for word in what))


def connect(path):
    sql = sqlite3.connect(path, timeout=5, isolation_level=None)
    sql.execute("PRAGMA synchronous = OFF")
    sql.execute("PRAGMA cache_size = 20")  # so that it writes before the end of a transaction
    return sql


def change(sql, statements):
    try:
        sql.execute("BEGIN IMMEDIATE")
        for statement in statements:
            sql.execute(statement)
        sql.execute("COMMIT")
        return True
    except sqlite3.OperationalError:  # a reader has its lock for long
        if sql.in_transaction:
            sql.execute("ROLLBACK")
        return False


def write_all_the_while(path, way, states, seed):
    chance = random.Random(seed)
    is_new = False
    sql = None if way == "copied" else connect(path)
    while True:
        if way == "copied":
            with open(path, "r+b") as file:
                file.write(states[not is_new])
                file.truncate()
            is_new = not is_new
        elif change(sql, BACK if is_new else THERE):
            is_new = not is_new
        if way.endswith("going"):
            sql.close()
            sql = None
        # mostly shorter than a run, sometimes longer than several
        time.sleep(chance.choice((0, 0.005, 0.02, 0.05, 0.2, 1)))
        sql = sql or (None if way == "copied" else connect(path))


def ask(folder, question):
    result = subprocess.run([popliner, "-q", folder, *question], capture_output=True, timeout=300)
    return result.returncode, result.stdout, result.stderr.decode()


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "profile.pop")
        shutil.copy(os.path.join(sample, "debug.cbor"), folder)
        states = []
        right = {question: [] for question in QUESTIONS}
        for statements in ((), THERE):
            shutil.copy(os.path.join(sample, "profile.pop"), path)
            os.chmod(path, 0o600)
            sql = connect(path)
            change(sql, statements)
            sql.close()
            with open(path, "rb") as file:
                states.append(file.read())
            for question in QUESTIONS:
                status, out, log = ask(folder, question)
                check(status == 0, question, "at rest", status, log)
                right[question].append(out)
        for question in QUESTIONS:
            check(right[question][0] != right[question][1], question, "answers the same")
        for seed, way in enumerate(WAYS):
            with open(path, "wb") as file:
                file.write(states[0])
            sql = connect(path)
            if way != "copied":
                sql.execute(f"PRAGMA journal_mode = {way[:6].strip(',')}" if way == "DELETE"
                            else "PRAGMA journal_mode = WAL")
            sql.close()
            writer = multiprocessing.Process(target=write_all_the_while,
                                             args=(path, way, states, seed), daemon=True)
            writer.start()
            came = collections.Counter()
            for i in range(NUM_RUNS):
                question = QUESTIONS[i % len(QUESTIONS)]
                status, out, log = ask(folder, question)
                if status == 0:
                    which = right[question].index(out) if out in right[question] else 2
                    came[("old", "new", "neither")[which]] += 1
                    check(which < 2, way, question, "answers for neither state")
                    continue
                errors = [line for line in log.splitlines() if "error: " in line]
                came["refused"] += 1
                check(status == 3 and out == b"" and len(errors) == 1, way, question, status, log)
                check(path in log and "writ" in log, way, question, "says", log)
            check(writer.is_alive(), way, "the writer has ended")
            writer.kill()
            writer.join()
            print(f"{way}: {NUM_RUNS} runs,", ", ".join(f"{n} {what}" for what, n in
                                                         sorted(came.items())), flush=True)
            for name in os.listdir(folder):
                if name not in ("debug.cbor",):
                    os.remove(os.path.join(folder, name))
    for failure in failures[:20]:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
