#!/usr/bin/env python3
"""Profiles of other versions of the format: columns missing, added, or in another order.

    schema_versions_test.py POPLINER SCHEMAS DOCUMENT SAMPLE

Each file of SCHEMAS is SQL that makes another version of the sample, and says what has to come of
it: `same`, every answer is that of the sample as it is; `differs`; `refused`, with the end of the
message; `told` and `warned` of, and `never`. Then every table and column of the sample is taken
away, one after another; DOCUMENT has a table of those that are needed and of those that are missed,
and all others have to be harmless.

In the quick run the harmless ones go all at once, and of the others every third.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import cases

popliner, schemas, document, sample = sys.argv[1:]
TAKES_ALL = cases.takes_all()
QUESTIONS = (("--operation-breakdown",),
             ("--solve", "--num-ipus", "2", "--format", "json"),
             ("--solve", "--num-ipus", "3", "--memory-model", "popliner", "-o", "popliner"),
             ("--diagnose", "--format", "json"),
             ("--memory-totals",),
             ("--output", "variables"))
FEW = QUESTIONS[:2]
failures = []


def check(holds, *what):
    if not holds:
        failures.append(" ".join(str(word) for word in what))


class Report:
    """A copy of the sample, to be altered."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copy(os.path.join(sample, "debug.cbor"), folder)
        self.path = os.path.join(folder, "profile.pop")

    def alter(self, *statements):
        shutil.copy(os.path.join(sample, "profile.pop"), self.path)
        os.chmod(self.path, 0o600)
        with sqlite3.connect(self.path) as sql:
            sql.execute("PRAGMA legacy_alter_table = ON")
            sql.execute("PRAGMA synchronous = OFF")
            for statement in statements:
                sql.executescript(statement)
        sql.close()

    def ask(self, *question):
        """Status, output, and the log as of any run, without details and times."""
        result = subprocess.run([popliner, self.folder, *question, "-v"], capture_output=True,
                                encoding="utf-8",
                                timeout=300)
        log = re.sub(r"^[\d:]{8} ([A-Z]+) +", lambda found: found[1].lower() + ": ", result.stderr,
                     flags=re.M).replace("info: ", "").splitlines()
        log = [line for line in log if not line.startswith(("debug: ", "Layers found for "))]
        check(result.returncode in (0, 1, 2, 3), question, "ended with", result.returncode)
        return result.returncode, result.stdout, log


def messages(answer):
    """Those of a certificate; [] of another answer."""
    return json.loads(answer).get("messages", []) if answer.startswith("{") else []


def without_cycles(answer):
    """Nothing of what tells of cycles, or of times, which are made of them: messages, lines."""
    if messages(answer):
        document = json.loads(answer)
        for message in document["messages"]:
            message["text"] = re.sub(r", \d+ cycles", "", message["text"])
        document["messages"] = [m for m in document["messages"] if "cycles" not in m["text"]]
        answer = json.dumps(document, indent=1)
    return [line for line in answer.splitlines() if "cycles" not in line and "seconds" not in line]


def expectations(text):
    """What the comments of a file expect: (kind, words)."""
    lines = []
    for line in text.splitlines():
        if line.startswith("-- expect: "):
            lines.append(line[len("-- expect: "):])
        elif line.startswith("-- ") and lines:
            lines[-1] += " " + line[3:]
        elif not line.startswith("--"):
            break
    kinds = ("same but cycles", "same", "differs", "refused", "told", "warned", "never")
    return [(kind, line[len(kind) + 1:]) for line in lines
            for kind in kinds[:1 if line.startswith(kinds[0]) else None] if line.startswith(kind)]


def look_at_stored(report, name, warned):
    """What was stored of such a profile warns of the same."""
    if not warned:
        return
    path = os.path.join(report.folder, "stored")
    status, _, log = report.ask("--save-to-file", path)
    check(status == 0, name, "cannot be stored:", log)
    result = subprocess.run([popliner, path, "--load-from-file", "--output", "layers"],
                            capture_output=True, encoding="utf-8", timeout=300)
    for words in warned:
        check("warning: " + words in result.stderr, name, "when loaded, does not warn", words)


def look_at_version(report, path, usual):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = os.path.basename(path)
    expected = expectations(text)
    check(expected, name, "expects nothing")
    report.alter(text)
    answers = [report.ask(*question) for question in (QUESTIONS if TAKES_ALL else QUESTIONS[:4])]
    for question, (_, out, log) in zip(QUESTIONS, answers):
        stored = ["warning: " + m["text"] for m in messages(out) if m["level"] == "warning"]
        check(not messages(out) or stored == [line for line in log if line.startswith("warning: ")],
              name, question, "has the warnings", stored)
    for kind, words in expected:
        for question, (status, out, log), (usual_status, usual_out, _) in zip(QUESTIONS, answers,
                                                                            usual):
            whole = "\n".join(log)
            if kind == "same":
                check((status, out) == (usual_status, usual_out), name, question, "differs")
            elif kind == "same but cycles":
                check((status, without_cycles(out)) == (usual_status, without_cycles(usual_out)),
                      name, question, "differs")
            elif kind == "differs":
                check(status in (0, 1), name, question, "ends with", status)
            elif kind == "refused":
                check(status == 3 and out == "", name, question, "ends with", status)
                check(log[-1].startswith("error: ") and log[-1].endswith(words) and
                      not any(line.startswith("warning: ") for line in log), name, question, "says",
                      log)
            elif kind == "told":
                check(words in whole, name, question, "does not tell", words)
            elif kind == "warned":
                check("warning: " + words in whole, name, question, "does not warn", words, log)
            elif kind == "never":
                check(words not in whole, name, question, "tells", words)
    look_at_stored(report, name, [words for kind, words in expected if kind == "warned"])
    if ("differs", "") in expected:
        check([a[:2] for a in answers] != [u[:2] for u in usual], name, "changes nothing")
    elif any(kind.startswith("same") for kind, _ in expected):
        warned = [words for kind, words in expected if kind == "warned"]
        told = [line[9:] for line in answers[0][2] if line.startswith("warning: ")]
        check(sorted(told) == sorted(warned), name, "warns of", told)


def documented():
    """The two parts of the document's list: {(table, column or None)}."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    text = text[text.index("## 20. Required tables and columns"):]
    needed, missed = set(), set()
    for table, words in re.findall(r"^- `(\w+)`:((?: .*\n)+)", text, re.M):
        first, _, second = words.partition("expected ")
        for words, into in ((first, needed), (second, missed)):
            if "the table" in words:
                into.add((table, None))
            into.update((table, column) for column in re.findall(r"`(\w+)`", words))
    return needed, missed


def schema():
    sql = sqlite3.connect(f"file:{os.path.join(sample, 'profile.pop')}?mode=ro&immutable=1",
                          uri=True)
    tables = [name for name, in sql.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    result = {}
    for table in tables:
        columns = [row[1] for row in sql.execute(f'PRAGMA table_info("{table}")')]
        rows = sql.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        result[table] = columns, rows
    types = {name for name, in sql.execute("SELECT name FROM program_types")}
    sql.close()
    return result, types


def removal(table, column):
    # renamed: SQLite drops no column that is a key
    if column is None:
        return f'ALTER TABLE "{table}" RENAME TO "gone_{table}";'
    return f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "gone_{column}";'


def look_at_needed(report, table, column):
    report.alter(removal(table, column))
    status, out, log = report.ask(*FEW[0])
    what = (table, column)
    check(status == 3 and out == "" and len(log) == 1, what, "ends with", status, log)
    check(table in log[-1] and (column is None or f"no column {column} (" in log[-1]),
          what, "says", log)


def look_at_missed(report, table, column, rows, types, usual):
    report.alter(removal(table, column))
    answers = [report.ask(*question) for question in FEW]
    what = (table, column)
    named = f"no table {table} (" if column is None else f"Table {table} of the profile has no " \
        f"column {column} ("
    for status, _, log in answers:
        warnings = [line for line in log if line.startswith("warning: ") and named in line]
        check(status in (0, 1), what, "ends with", status)
        # what has no rows in the sample is not missed there, nor what programs of no type need
        expected = rows > 0 if column is not None else not (rows == 0 and types == "absent")
        check(len(warnings) == int(expected), what, "warns", warnings)
        check(not any("is inconsistent" in line for line in log), what, "contradicts", log)


def look_at_addresses(report):
    """Rows that lack a category have all the rest."""
    rows = []
    for statements in ((), ("DROP TABLE var_categories; DROP TABLE memory_by_category",)):
        report.alter(*statements)
        table = [line.split("\t")
                 for line in report.ask("--output", "addresses", "--format", "tsv")[1].splitlines()]
        rows.append([row[:3] + row[4:] for row in table])
        check(table[0][3] == "category" and len(table) > 8000, "addresses", table[:1])
    check(rows[0] == rows[1], "without categories, addresses differ")


def look_at_all_harmless(report, harmless, usual):
    report.alter(*(removal(table, column) for table, column in harmless))
    for question, (status, out, log) in zip(QUESTIONS, usual):
        now = report.ask(*question)
        check((now[0], now[2]) == (status, log) or question[0] == "--diagnose", question, "tells",
              now[2])


def main():
    needed, missed = documented()
    tables, types = schema()
    everything = {(table, column) for table, (columns, _) in tables.items()
                  for column in [None, *columns]}
    check(needed <= everything and missed <= everything, "no such columns:",
          (needed | missed) - everything)
    check(not needed & missed, "both needed and missed:", needed & missed)
    of_type = {"program_type_call": "Call", "function_programs": "Call",
               "program_type_global_exchange": "GlobalExchange",
               "program_type_code_copy": "CodeCopy"}
    with tempfile.TemporaryDirectory() as folder:
        report = Report(folder)
        report.alter()
        usual = [report.ask(*question) for question in QUESTIONS]
        paths = sorted(glob.glob(os.path.join(schemas, "*.sql")))
        check(len(paths) >= 12, "where are the versions?", schemas)
        for path in paths:
            look_at_version(report, path, usual)
        key = lambda item: (item[0], item[1] or "")
        for table, column in cases.some(sorted(needed, key=key), 5):
            # of a table without rows nothing can be missing but its columns
            look_at_needed(report, table, column)
        for table, column in cases.some(sorted(missed, key=key), 5, 2):
            is_absent = of_type.get(table) is not None and of_type[table] not in types
            look_at_missed(report, table, column, tables[table][1],
                           "absent" if is_absent else "", usual)
        look_at_addresses(report)
        harmless = sorted(everything - needed - missed, key=key)
        columns = [(t, c) for t, c in harmless if c is not None]
        look_at_all_harmless(report, columns, usual)
        # of tables those that are not in the document at all
        known = {table for table, _ in needed | missed}
        look_at_all_harmless(report, [(t, c) for t, c in harmless if c is None and t not in known],
                             usual)
        for table, column in columns if TAKES_ALL else []:
            report.alter(removal(table, column))
            status, _, log = report.ask(*FEW[0])
            check((status, log) == (usual[0][0], usual[0][2]), table, column, "matters", log)
    for failure in failures:
        print(failure)
    print(f"{len(paths)} versions, {len(needed)} needed, {len(missed)} missed, "
          f"{len(harmless)} harmless; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
