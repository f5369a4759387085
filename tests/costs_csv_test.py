#!/usr/bin/env python3
"""Tables of layers against popliner's own format that says the same.

    costs_csv_test.py POPLINER

Random tables are written by Python's csv, with random order of columns, quotes, delimiters, line
ends and units of bytes; the numbers are added up here. Both files must have the same answer.

SPDX-License-Identifier: GPL-3.0-or-later
"""
import csv
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import cases

UNITS = {"": 1, "K": 1000, "M": 10**6, "KiB": 1 << 10, "MiB": 1 << 20}
TIMES = {"time": "cycles", "forward": "forward", "backward": "backward"}
NAMES = ["a", "l,0", 'the "first"', " b", "c;d", "größe", "x" * 300, "name", "#1", "'"]


def run(popliner, *arguments, text=None):
    done = subprocess.run([popliner, "-q", *arguments], capture_output=True, input=text)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def some_bytes(generator):
    """What the table says, and what it means."""
    unit = generator.choice(list(UNITS))
    if unit in ("K", "M") and generator.random() < 0.5:
        tenths = generator.randrange(1, 10000)
        return f"{tenths / 10}{unit}", tenths * UNITS[unit] // 10
    number = generator.randrange(0, 1000)
    return f"{number}{unit}", number * UNITS[unit]


def some_table(generator):
    columns = ["name"] + generator.sample(
        ["memory", generator.choice(["time", "forward", "backward"]), "stash", "inputs",
         "parameters", "kv", "kv_tokens", "cache", "workspace", "memory_most", "shared", "tied",
         generator.choice(["layer", "kind"]), "cut"], generator.randrange(1, 15))
    if "forward" in columns and generator.random() < 0.5:
        columns.append("backward")
    generator.shuffle(columns)
    time_unit = generator.choice([None, "ms", "µs", "cycles"])
    head = []
    for column in columns:
        text = column if generator.random() < 0.7 else column.upper()
        if column in TIMES:
            text = "cycles" if time_unit == "cycles" and column == "time" else text + (
                "" if time_unit is None else f"{generator.choice(['', ' '])}({time_unit})")
        head.append(text)
    document = {"format": "popliner-costs", "version": 1, "units": [], "cuts": []}
    if set(TIMES) & set(columns):
        document["time_unit"] = time_unit or "units"
    rows = [head]
    names = generator.sample(NAMES, generator.randrange(1, len(NAMES)))
    is_fraction = generator.random() < 0.5
    samples = generator.choice([1, 1, 2, 3])
    common = {name: some_bytes(generator) for name in ("w", "5", "tied,", "t")}
    shares = {"shared": ["5", "w"], "tied": ["t", "tied,"] * ("memory" in columns)}
    users = {}
    for i, name in enumerate(names):
        unit, row = {}, []
        cut = tied = 0
        for column in columns:
            is_empty = generator.random() < 0.2
            text = ""
            if column == "name":
                text = name
                unit["name"] = name
            elif is_empty:
                pass
            elif column in TIMES:
                values = [generator.randrange(0, 400) / 4 if is_fraction else
                          generator.randrange(0, 100) for _ in range(samples)]
                text = "  ".join(map(str, values))
                unit[TIMES[column]] = values if samples > 1 else values[0]
            elif column in shares:
                for own in generator.sample(shares[column], generator.randrange(
                        len(shares[column]) + 1)):
                    text += f"{own}:{common[own][0]}" + " " * generator.randrange(1, 3)
                    users.setdefault(own, []).append(name)
                    tied += common[own][1] * (column == "tied")
            elif column == "kind":
                unit["kind"] = text = generator.choice(
                    ["layer", "layer", "embedding", "mtp", "loss", "other"] if i else ["layer"])
            elif column == "layer":
                unit["layer"] = generator.random() < 0.8 or i == 0
                text = generator.choice(["true", "1", "True"] if unit["layer"]
                                        else ["false", "0", "FALSE"])
            else:
                text, value = some_bytes(generator)
                if column == "cut":
                    cut = value
                elif column == "memory_most":
                    value += 10 ** 9
                    text = str(value)
                    unit["most"] = {"memory": value}
                else:
                    unit[column] = value
            row.append(text)
        for column, size in (("memory", unit.get("memory", 0)),
                             ("memory_most", unit.get("most", {}).get("memory"))):
            if tied and size is not None and column in columns:
                row[columns.index(column)] = str(size + tied)
        rows.append(row)
        document["units"].append(unit)
        document["cuts"].append(cut)
    if users:
        document["shared"] = [{"units": own, "memory": common[name][1]}
                              for name, own in users.items()]
    document["cuts"].pop()
    if "cut" not in columns:
        del document["cuts"]
    return rows, document


def as_text(generator, rows):
    delimiter = generator.choice(",;\t")
    line_end = generator.choice(["\n", "\r\n"])
    quoting = generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=line_end, quoting=quoting)
    for row in rows:
        # spaces around a cell do not count, so a name with them needs its quotes
        if quoting == csv.QUOTE_MINIMAL and any(cell != cell.strip() for cell in row):
            csv.writer(out, delimiter=delimiter, lineterminator=line_end,
                       quoting=csv.QUOTE_ALL).writerow(row)
        else:
            writer.writerow(row)
        if generator.random() < 0.1:
            out.write(line_end)
    text = out.getvalue()
    if generator.random() < 0.3:
        text = text.rstrip("\r\n")
    if generator.random() < 0.3:  # comments, before the first row alone
        text = "".join(generator.choice(["#", "# a comment, \"unended", "#name;memory", ""]) +
                       line_end for _ in range(generator.randrange(1, 4))) + text
    return generator.choice(["", "\ufeff"]) + text


def check_random(popliner, scratch, seeds):
    table = os.path.join(scratch, "costs.csv")
    document = os.path.join(scratch, "costs.json")
    count = solved = 0
    for i in seeds:
        generator = random.Random(f"table {i}")
        count += 1
        rows, says = some_table(generator)
        with open(table, "w", encoding="utf-8", newline="") as file:
            file.write(as_text(generator, rows))
        with open(document, "w", encoding="utf-8") as file:
            json.dump(says, file)
        options = ["--solve", "--num-ipus", str(generator.randrange(1, 5)), "--format", "json"]
        if generator.random() < 0.4:
            options += ["--schedule", "popart"]
            if generator.random() < 0.5:
                options += ["--recompute", "full"]
        own = run(popliner, table, *options)
        told = run(popliner, document, *options)
        if own[:2] != told[:2] or own[2].replace(table, document) != told[2]:
            sys.exit(f"table {i}: {open(table, encoding='utf-8').read()}\n{options}\n{own}\n{told}")
        solved += own[0] == 0
    if not cases.is_enough(solved >= count // 2):
        sys.exit(f"only {solved} of {count} tables have an answer")
    return count, solved


A_NUMBER = "line 2: time: expected a number, at least 0, or several with spaces between them: "
WRONG = [
    ("name,memory\n", "the table has no layers"),
    ("name,memory\na,1,2\n", "line 2: expected as many cells as the first row has, 2, found 3"),
    ("name,memory\na\n", "line 2: expected as many cells as the first row has, 2, found 1"),
    ("name,memory\n\n\na,1\n,2\n", "line 5: name: the text is empty"),
    ("name,memory\na,1\na,2\n", "line 3: name: \"a\" appears twice"),
    ("name,memory\n\"a\nb\",1\nc,2\n", "line 2: name: the text has a control character in it"),
    ("name,memory\na,-1\n",
     "line 2: memory: expected bytes, like 638976, 624KiB or 1.5M, at most 2^48"),
    ("\n# a\n\n#b\r\nname,memory\na,-1\n", "line 6: memory: expected bytes"),
    ("name,memory\n#a,-1\n", "line 2: memory: expected bytes"),
    ("name,memory\na,1.5\n", "line 2: memory: expected bytes"),
    ("name,memory\na,300000G\n", "line 2: memory: expected bytes"),
    ("name,time\na,-1\n", A_NUMBER + "\"-1\""),
    ("name,time\na,1 ms\n", A_NUMBER + "\"1 ms\""),
    ("name,time\na,nan\n", A_NUMBER + "\"nan\""),
    ("name,time\na,2 1e999\n", A_NUMBER + "\"2 1e999\""),
    ("name,layer\na,yes\n", "line 2: layer: expected true or false: \"yes\""),
    ("name,shared\na,w:1\nb,w:2\n",
     "line 3: shared: what has this name has other bytes in an earlier"),
    ("name,shared\na,:1\n",
     "line 2: shared: expected what is shared, with its bytes, like tied:24MiB"),
    ("name,shared\na,w:1 w\n", "line 2: shared: expected what is shared, with its bytes"),
    ("name,shared\na,w:1 w:1\n", "shared[0].units: \"a\" appears twice"),
    ("name,memory,tied\na,2,w:3\n", "line 2: tied: the layer's memory is less than what is tied"),
    ("name,kv_most\na,2\n", 'line 1: unknown column: "kv_most"; did you mean kv?'),
    ("name,memory_most,MEMORY_MOST\na,1,1\n", "line 1: the column appears twice: \"MEMORY\""),
    ("name,memroy\na,1\n", 'line 1: unknown column: "memroy"; did you mean memory?'),
    ("name,memroy_most\na,1\n", '"memroy_most"; did you mean memory_most?'),
    ("name,Cylces\na,1\n", '"Cylces"; did you mean cycles?'),
    ("name,weight\na,1\n", '"weight"; there are name, memory, time, forward, backward, stash, '),
    ("name,weight\na,1\n", ", shared, tied, cut, cycles, and sizes with _least or _most"),
    ("name,memory (KiB)\na,1\n", "line 1: only time has a unit in the first row"),
    ("name,time,cycles\na,1,1\n", "line 1: the column appears twice: \"cycles\""),
    ("name,name\na,b\n", "line 1: the column appears twice: \"name\""),
    ("name,memory\n\"a,1\n", "a quoted cell does not end"),
    ("name,memory\n\"a\"b,1\n", "something follows a quoted cell: \"b,1"),
    ("name,memory\na,1\0\n", "a NUL character is in the table"),
    ("names,memory\na,1\n", "expected a JSON object, a CSV with a column 'name'"),
    (b"name,memory\n\xff,1\n", "line 2: name: the text is not UTF-8"),
    ("name,memory\n\"a\x07\",1\n", "line 2: name: the text has a control character in it"),
    ("name,memory\na,\x1b[31m\n", "1.5M, at most 2^48: \"\\u001b[31m\""),
    ("name,time,forward\na,1,1\n", "line 1: time is the sum of forward and backward"),
    ("name,backward,cycles\na,1,1\n", "line 1: time is the sum of forward and backward"),
    ("name,forward (ms),backward\na,1,1\n", "line 1: an earlier column has times in another"),
    ("name,kind,layer\na,mtp,1\n", "line 1: kind says which units are layers"),
    ("name,kind\na,head\n", "line 2: kind: expected layer, embedding, mtp, loss or other, found"),
    ("name,kv (MB)\na,1\n", "line 1: only time has a unit in the first row"),
    ("name,time\na,1 2\nb,3 4 5\n", "line 2: cycles: the list has 2 times, but others have 3"),
    ("name,time\na,1 x\n", "line 2: time: expected a number, at least 0, or several"),
]


def check_wrong(popliner, scratch):
    path = os.path.join(scratch, "wrong.csv")
    for text, told in WRONG:
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        status, out, log = run(popliner, path, "--solve")
        if status != 3 or out or told not in log or path not in log or log.count("\n") != 1:
            sys.exit(f"{text!r}: status {status}, {log}")
    status, out, log = run(popliner, "-", "--solve", "--format", "tsv",
                           text=b"name,layer\na,0\nb,true\nc,1\nd,false\n")
    if status or out.splitlines()[1:] != ["0\t0\ta\td\t0\t\t0\t\t\tfits"]:
        sys.exit(f"0 and 1 for false and true: {status}, {out}, {log}")
    many = "name\n" + "".join(f"u{i}\n" for i in range(16385))
    status, _, log = run(popliner, "-", "--solve", text=many.encode())
    if status != 3 or "line 16386: expected at most 16384 layers" not in log:
        sys.exit(f"too many layers: {status}, {log}")


def splits(count, most):
    """All splits of `count` units into at most `most` stages, as first units and the end."""
    for stages in range(1, min(count, most) + 1):
        for cuts in itertools.combinations(range(1, count), stages - 1):
            yield (0, *cuts, count)


def check_meaning(popliner, scratch, seeds):
    """Samples of time, passes and caches, against all splits."""
    path = os.path.join(scratch, "meaning.csv")
    told = 0
    for i in seeds:
        generator = random.Random(f"meaning {i}")
        units = generator.randrange(1, 8)
        samples = generator.randrange(1, 4)
        passes = [[[generator.randrange(50) for _ in range(samples)] for _ in range(2)]
                  for _ in range(units)]
        memory = [generator.randrange(1, 1000) for _ in range(units)]
        kv = [generator.choice([0, 1, 7, 40]) for _ in range(units)]
        left = [generator.choice(["", "", "0", "3", "20"]) for _ in range(units)]
        inputs = generator.choice([0, 1])
        with open(path, "w", encoding="utf-8") as file:
            file.write("name,kv,kv_tokens,memory,backward (us),forward (us)" + ",inputs" * inputs +
                       "\n")
            for u in range(units):
                file.write(f"u{u},{kv[u]},{left[u]},{memory[u]}," + ",".join(
                    " ".join(map(str, passes[u][1 - k])) for k in range(2)) + ",1" * inputs + "\n")
        most = generator.randrange(1, 5)
        limit = generator.randrange(max(memory), 2 * sum(memory) + 1)
        options = ["--objective", "cycles", "--mem-per-tile", str(limit)]
        recomputes = inputs and generator.random() < 0.5
        if recomputes:
            options += ["--schedule", "1f1b", "--recompute", "full"]

        def times(first, end, last):
            slowest = max(sum(passes[u][0][s] + passes[u][1][s] for u in range(first, end))
                          for s in range(samples))
            return slowest + (0 if last or not recomputes else
                              sum(max(passes[u][0]) for u in range(first, end)))

        def needs(split, k):
            copies = len(split) - 2 - k if recomputes else 0  # the stages after it
            return sum(memory[split[k]:split[k + 1]]) + copies

        fitting = [split for split in splits(units, most)
                   if all(needs(split, k) <= limit for k in range(len(split) - 1))]
        status, out, log = run(popliner, path, "--solve", "--num-ipus", str(most),
                               "--format", "json", *options)
        if not fitting:
            assert status == 1 and "more tokens" not in log, (i, status, log)
            continue
        answer = json.loads(out)["solutions"][0] if "solutions" in json.loads(out) else \
            json.loads(out)
        ends = [int(stage["layer_to"][1:]) + 1 for stage in answer["stages"]]
        split = (0, *ends)
        own = [times(split[k], split[k + 1], k + 2 == len(split)) for k in range(len(ends))]
        best = min(max(times(s[k], s[k + 1], k + 2 == len(s)) for k in range(len(s) - 1))
                   for s in fitting)
        assert answer["totals"]["cycles"] == max(own) == best, (i, answer, best)
        assert [stage["cycles"] for stage in answer["stages"]] == own, (i, answer, own)
        caches = [sum(kv[split[k]:split[k + 1]]) for k in range(len(ends))]
        assert [stage["kv_bytes"] for stage in answer["stages"]] == caches, (i, answer)
        rooms = [tokens - 1 for k in range(len(ends)) for tokens in [next(
            (t for t in range(limit + 2) if sum(kv[u] * min(t, int(left[u] or t)) for u in range(
                split[k], split[k + 1])) > limit - needs(split, k)), 0)] if tokens]
        assert answer["totals"]["headroom_tokens"] == (min(rooms) if rooms else None), (i, answer)
        if rooms:
            said = f"room for the caches of {min(rooms):,} more tokens"
            assert any(said in it["text"] for it in answer["messages"]), (i, answer)
            told += 1
    return told


def check_estimates(popliner, scratch, seeds):
    """What sizes may be at least and at most, of splits that are given; 1F1B keeps a stash for each
    stage after."""
    path = os.path.join(scratch, "most.csv")
    told = 0
    for i in seeds:
        generator = random.Random(f"most {i}")
        units = generator.randrange(1, 7)
        sizes = {name: [generator.randrange(100) for _ in range(units)]
                 for name in ("memory", "stash", "workspace")}
        least, most = ({name: [generator.choice([None, max(it + sign * generator.randrange(20), 0)])
                               for it in own]
                        for name, own in sizes.items() if generator.random() < 0.7}
                       for sign in (-1, 1))
        with open(path, "w", encoding="utf-8") as file:
            file.write(",".join(["name", *sizes, *(f"{it}_least" for it in least),
                                 *(f"{it}_most" for it in most)]) + "\n")
            for u in range(units):
                cells = [it[u] for it in [*sizes.values(), *least.values(), *most.values()]]
                file.write(f"u{u}," + ",".join("" if it is None else str(it)
                                               for it in cells) + "\n")
        split = generator.choice([it for it in splits(units, 4)])

        def need(k, other):
            own = {name: [it if other.get(name, [None] * units)[u] is None else other[name][u]
                          for u, it in enumerate(sizes[name])][split[k]:split[k + 1]]
                   for name in sizes}
            return sum(own["memory"]) + max(own["workspace"]) + (len(split) - 2 - k) * sum(
                own["stash"])

        cuts = ",".join(f"u{it - 1}" for it in split[1:-1]) or "whole"
        limit = max(need(k, {}) for k in range(len(split) - 1)) + generator.randrange(30)
        options = [path, "--evaluate", cuts, "--schedule", "1f1b", "--mem-per-tile", str(limit)]
        stages = json.loads(run(popliner, *options, "--format", "json")[1])["stages"]
        assert [it["need_bytes"] for it in stages] == [
            need(k, {}) for k in range(len(stages))], (i, stages)
        has_most = any(it is not None for own in most.values() for it in own)
        assert [it.get("at_most_bytes") for it in stages] == [
            need(k, most) if has_most else None for k in range(len(stages))], (i, stages)
        may_not = has_most and max(need(k, most) for k in range(len(stages))) > limit
        words = " ".join(run(popliner, *options)[1].split())
        assert ("not by what it may need at most" in words) == bool(may_not), (i, words)
        assert ("With the most that it may need, it does not fit" in words) == bool(may_not), words
        words = " ".join(run(popliner, *options, "--recompute", "auto")[1].split())
        said = [it in words for it in ("is not counted where they choose their recomputation",
                                       ", by what is expected of it.")]
        assert said == 2 * [has_most and words.startswith("Fits")], (i, words)
        for estimate, other in (("at-least", least), ("at-most", most)):
            status, out, err = run(popliner, *options, "--need", estimate, "--format", "json")
            if any(it is not None for own in other.values() for it in own):  # the costs, then
                assert [it["need_bytes"] for it in json.loads(out)["stages"]] == [
                    need(k, other) for k in range(len(stages))], (i, out)
                assert status == (max(need(k, other) for k in range(len(stages))) > limit), (i, err)
            else:
                assert status == 2, (i, err)
                assert "most.csv does not say what its sizes may be" in err, (i, err)
        told += bool(may_not)
    return told


def check_regions(popliner, scratch, seeds):
    """Of regions that need their most at different moments, the parts are those of the largest."""
    path = os.path.join(scratch, "regions.json")
    stashed = 0
    for i in seeds:
        generator = random.Random(f"regions {i}")
        names = ["passes", "step", "other"][:generator.randrange(1, 4)]
        units = [{"name": f"u{u}", **{size: [generator.randrange(1000) for _ in names]
                                      for size in ("memory", "stash")}}
                 for u in range(generator.randrange(2, 7))]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": "popliner-costs", "version": 1, "regions": names,
                       "units": units}, file)
        split = generator.choice([it for it in splits(len(units), 3) if len(it) > 2])
        cuts = ",".join(f"u{it - 1}" for it in split[1:-1])
        answer = json.loads(run(popliner, path, "--evaluate", cuts, "--schedule", "1f1b",
                                "--mem-per-tile", "1M", "--format", "json")[1])
        for k, stage in enumerate(answer["stages"]):
            held, need = zip(*(((len(split) - 2 - k) * sum(it["stash"][r] for it in own),
                                sum(it["memory"][r] for it in own))
                               for own in [units[split[k]:split[k + 1]]]
                               for r in range(len(names))))
            sums = [sum(it) for it in zip(held, need)]
            own = [h for h, of in zip(held, sums) if of == max(sums)]
            assert stage["need_bytes"] == max(sums), (i, stage)
            parts = stage.get("parts", {"states": max(sums), "stash": 0})
            assert parts["stash"] in own, (i, stage, own)
            assert parts["states"] + parts["stash"] == max(sums), (i, stage)
            stashed += len(names) > 1 and parts["stash"] > 0
    return stashed


def main():
    popliner = sys.argv[1]
    numbers = 40, 200, 1000
    with tempfile.TemporaryDirectory() as scratch:
        check_wrong(popliner, scratch)
        rooms = check_meaning(popliner, scratch, cases.seeds(*numbers))
        assert cases.is_enough(check_estimates(popliner, scratch, cases.seeds(*numbers)) > 2)
        assert cases.is_enough(check_regions(popliner, scratch, cases.seeds(*numbers)) > 10)
        count, solved = check_random(popliner, scratch, cases.seeds(*numbers))
    print(f"{count} tables, {solved} with an answer, {len(WRONG)} wrong ones; "
          f"{rooms} with room for tokens")


if __name__ == "__main__":
    main()
