"""The file of a page: the same bytes each time, nothing from elsewhere, what it may run, names that
try to get out of its data, and its tables against --output.

Arguments: popliner, popliner-mkprofile, a scratch folder, the sample, folders of other profiles.

SPDX-License-Identifier: GPL-3.0-or-later"""

import base64
import gzip
import hashlib
import html
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zlib

import cases
import terminals

popliner, mkprofile, scratch, sample, *others = sys.argv[1:]
os.makedirs(scratch, exist_ok=True)
SECTIONS = ["summary", "tiles", "categories", "liveness", "variables", "operations", "programs",
            "layers", "pairs", "execution", "checks", "vertices", "exchanges", "advice",
            "diagnosis", "missing"]


def run(*words, status=0):
    result = subprocess.run([popliner, "-q", *words], capture_output=True)
    assert status in (result.returncode, None), (words, result.returncode, result.stderr)
    return result.stdout


def make(*words, name="page.html", status=0):
    path = os.path.join(scratch, name)
    run(*words, "--output", f"page={path}", status=status)
    with open(path, "rb") as file:
        return file.read()


def element(page, name):
    """What is in an element of the page that a script reads: base64."""
    parts = page.decode().split(f'<script type="text/plain" id="{name}">')
    assert len(parts) == 2
    return base64.b64decode(parts[1][:parts[1].index("</script>")], validate=True)


def data_of(page):
    return zlib.decompress(element(page, "data")).decode()


def rows_of(table):
    assert len(table["rows"]) == table["all_rows"], table["columns"]
    assert all(len(row) == len(table["columns"]) for row in table["rows"]), table["columns"]
    return [dict(zip(table["columns"], row)) for row in table["rows"]]


def check_frame(page):
    """One file, whose own style and script are all that runs."""
    text = page.decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert policy.startswith("default-src 'none';")
    # of what is not in the page's own script, it runs its solver
    assert policy.count(" 'wasm-unsafe-eval'") == (
        0 if '"solver":null' in data_of(page) else 1)
    policy = policy.replace(" 'wasm-unsafe-eval'", "")
    assert "unsafe" not in policy and "http" not in policy and "data:" not in policy
    own = [re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S) for tag in ("style", "script")]
    assert [len(parts) for parts in own] == [1, 1]
    scripts = [own[1][0].encode(), gzip.decompress(element(page, "scripts"))]
    sums = [f"'sha256-{base64.b64encode(hashlib.sha256(part).digest()).decode()}'"
            for part in [own[0][0].encode(), *scripts]]
    assert f"style-src {sums[0]};" in policy.replace("\n", " ")
    assert f"script-src {sums[1]} {sums[2]};" in policy.replace("\n", " ")
    assert not re.search(r"\b(src|href)\s*=", text.split("<script>")[0])


def check_answer(*words, status=0):
    """What the page shows without its script: the answer that a terminal has, and no hints."""
    answer = re.search('<div id="page">(.*?)</div>', make(*words, status=status).decode(),
                       re.S).group(1)
    assert re.fullmatch("<pre>[^<>]*</pre>", answer.replace("\n>", "\n")), answer
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}
    printed, ended = terminals.run([popliner, *words], environment, width=100)
    told = printed["stdout"].split("\n")
    own = [line for line in html.unescape(answer[5:-6]).split("\n") if line]
    assert status in (ended, None) and own[0] in told and len(own) > 2, (answer, printed)
    assert [line for line in own if line not in told] == [], (answer, printed)


def check_tables(words, data):
    for name in SECTIONS:
        told = json.loads(run(*words, "--output", name, "--format", "json"))
        assert rows_of(data["sections"][name]) == told["rows"], name
        if name == "execution":
            check_sums(rows_of(data["sections"]["execution_sums"]), told["rows"])


def check_sums(sums, executed):
    """What ran, summed up by type of program and by unit."""
    for by in ("type", "unit"):
        own = {}
        for row in executed:
            if row["ipu"] is not None:
                sum_ = own.setdefault(row[by], [0, 0, 0.0])
                sum_[0] += 1
                sum_[1] += row["cycles"]
                sum_[2] += row["cycles"] * row["tile_balance"]
        told = {row["name"]: row for row in sums if row["by"] == by}
        assert set(told) == set(own) and len(told) == sum(row["by"] == by for row in sums)
        for name, (count, cycles, mean) in own.items():
            row = told[name]
            assert (row["num_executions"], row["cycles"]) == (count, cycles), name
            assert abs(row["mean_tile_cycles"] - mean) <= 1e-4 * mean, name


def check_files(data, *paths, has_paths=False):
    """Which files were read."""
    assert [(file["name"], file["size_bytes"]) for file in data["files"]] == [
        (path if has_paths else os.path.basename(path), os.path.getsize(path))
        for path in paths], data["files"]


def check_page(*words):
    page = make(*words)
    assert make(*words, name="again.html") == page
    check_frame(page)
    data = json.loads(data_of(page))
    check_tables(words[:1], data)
    return data


HOSTILE = ["</script><script>alert(1)</script>", "<!--", "--><script>", "]]>", "\"'`${x}\\",
           "\u2028\u2029\u202e", "\x1b[31m\x07\x00", "<img src=x onerror=alert(1)>"]


def write_hostile(folder):
    """The sample with names that want to be more than text."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(sample, folder)
    for root, _, files in os.walk(folder):
        for file in files:
            os.chmod(os.path.join(root, file), 0o644)
    database = sqlite3.connect(os.path.join(folder, "profile.pop"))
    names = [text.replace("\x00", "") for text in HOSTILE]
    for i, name in enumerate(names):
        place = {"i": i, "n": len(names)}
        for table in ("programs", "compute_sets"):
            database.execute(f"UPDATE {table} SET name = name || :text WHERE rowid % :n = :i",
                             {"text": name, **place})
        database.execute("UPDATE unlowered_vars SET name = name || :text WHERE id % :n = :i",
                         {"text": name, **place})
    database.execute("UPDATE unlowered_vars SET name = name || :text WHERE id IN "
                     "(SELECT max(id) FROM unlowered_vars)", {"text": "a" * 1000000})
    database.execute("UPDATE unlowered_vars SET name = CAST(x'ff3c2f736372697074fe' AS TEXT) "
                     "WHERE id IN (SELECT id FROM unlowered_vars LIMIT 3)")
    database.commit()
    database.close()
    return folder


def check_hostile():
    folder = write_hostile(os.path.join(scratch, "hostile</script>"))
    page = make(folder, "--solve", "--num-ipus", "3", "--paths")
    check_frame(page)
    data = json.loads(data_of(page))
    assert data["title"] == folder
    names = {row["name"] for row in rows_of(data["sections"]["variables"])}
    assert any(name and "</script><script>" in name for name in names)
    assert any(name and "\ufffd</script\ufffd" in name for name in names)


# ---- beside a comparison ----

def check_compared(before, now, *options, status=0):
    """A page is that of the profile now; what is printed, and the status, are as without it."""
    words = [now, "--compare", before, *options]
    page = make(*words, status=status)
    assert page == make(now, *[word for i, word in enumerate(options)
                               if "--fail-on" not in options[max(0, i - 1):i + 1]],
                        name="alone.html")
    for form in cases.some(("csv", "json"), 2):
        path = os.path.join(scratch, "beside.html")
        printed = run(*words, "--format", form, status=status)
        assert run(*words, "--format", form, "--output", f"page={path}", status=status) == printed
        with open(path, "rb") as file:
            assert file.read() == page


def check_comparisons():
    check_compared(sample, sample, "--evaluate", "0", "--mem-per-tile", "1M")
    before, now = others[1:]  # on as many tiles
    check_compared(before, now, "--fail-on", "growth=99%")
    grown = [subprocess.run([popliner, "-q", *pair[::-1][:1], "--compare", pair[0], "--fail-on",
                             "growth=0%"], capture_output=True).returncode
             for pair in ((before, now), (now, before))]
    assert set(grown) == {0, 1}
    check_compared(*((before, now) if grown[0] == 1 else (now, before)), "--fail-on", "growth=0%",
                   status=1)
    check_compared(before, now, "--solve", "--num-ipus", "3")


def check_refusals():
    for words, status, text in (
            (["--solver", "popliner", "--solve"], 2, b"--output page: not with --solver popliner"),
            (["--evaluate", "1", "--compiled", "x"], 2, b"--output page"),
            (["--objective", "nothing"], 2, b"--objective nothing"),
            (["--save-to-file", os.path.join(scratch, "no.html")], 2, b"--output page=")):
        path = os.path.join(scratch, "no.html")
        result = subprocess.run([popliner, "-q", sample, *words, "--output", f"page={path}"],
                                capture_output=True)
        assert result.returncode == status and text in result.stderr, (words, result)
        assert not os.path.exists(path)
    path = os.path.join(scratch, "nowhere", "page.html")
    result = subprocess.run([popliner, "-q", sample, "--output", f"page={path}"],
                            capture_output=True)
    assert result.returncode == 3 and b"--output page=" in result.stderr, result


def check_stage_tiles(words):
    """The tiles of the plan's stages add up to what the plan says of each."""
    data = json.loads(data_of(make(*words)))
    told = json.loads(run(*words, "--format", "json"))
    assert len(data["stage_tiles"]) == len(told["stages"])
    for own, stage in zip(data["stage_tiles"], told["stages"]):
        tiles = {name: values for name, values in own.items()
                 if name not in ("first", "last", "to_end")}
        total = tiles.pop("total")
        assert max(total) == stage["mem"]["max_tile_mem"]
        assert [sum(parts) for parts in zip(*tiles.values())] == total
        for name, values in tiles.items():
            assert sum(values) == stage["mem"].get(name, 0), name


def check_wishes():
    """What was asked for is in the page: units count from the head."""
    words = [sample, "--require", "place:1=0", "--mem-per-tile", "1=20K,2=30K"]
    data = json.loads(data_of(make(
        *words, "--num-ipus", "3", "--slack", "0.5", "--objective", "balance,cycles",
        "--ipu-speed", "0=0.333", "--bandwidth", "1-0=3.5", "--require", "cut:1")))
    own = {"placements": [[2, 0]], "mem_per_tile": [[1, 20000], [2, 30000]], "device_map": None,
           "slack_percent": 0.5, "objectives": ["memory", "balance", "cycles"],
           "ipu_speeds": [[0, 333000]],
           "cut_rules": [0, 0, 0, 1, 0, 0], "pairs": [],
           "unknown": []}
    assert {name: data["wishes"][name] for name in own} == own, data["wishes"]
    summary = json.loads(run(sample, "--output", "summary", "--format", "json"))
    clock = next(row["value"] for row in summary["rows"] if "clock" in row["name"])
    assert data["wishes"]["links"] == {
        "all": ["64000000000", str(clock)], "all_is_asked_for": False,
        "single": [[1, 0, "35", "10"]]}, data["wishes"]["links"]
    data = json.loads(data_of(make(*words, "--device-map", "2,0,1", "--bandwidth", "64")))
    assert data["wishes"]["device_map"] == [2, 0, 1]
    assert data["wishes"]["links"] == {"all": ["64", "1"], "all_is_asked_for": True, "single": []}
    data = json.loads(data_of(make(*words, "--device-map", "0,1,0")))
    own = {"placements": own["placements"], "mem_per_tile": own["mem_per_tile"],
           "device_map": [0, 1, 0], "unknown": []}
    assert {name: data["wishes"][name] for name in own} == own, data["wishes"]


def check_execution():
    """A profile of what ran; without runs the sums are empty."""
    folder = os.path.join(scratch, "ran")
    subprocess.run([mkprofile, "--quiet", "--force", "--output", folder, "--framework", "popart",
                    "--inference", "--layers", "2", "--tiles", "4", "--execution"], check=True)
    sums = rows_of(check_page(folder)["sections"]["execution_sums"])
    assert {row["by"] for row in sums} == {"type", "unit"}
    assert any(0 < row["mean_tile_cycles"] < row["cycles"] for row in sums), sums


def check_measurements(*words, exit_status=0):
    """Each group of stages of a page is measured once, whether a plan is asked for or not; and the
    answer is the one without a page."""
    path = os.path.join(scratch, "measured.html")
    plain = run(*words, "--format", "json", status=exit_status)
    result = subprocess.run([popliner, "-v", *words, "--format", "json", "--output",
                             f"page={path}"],
                            capture_output=True)
    assert result.returncode == exit_status, (words, result)
    assert result.stdout == plain, words
    with open(path, "rb") as file:
        data = json.loads(data_of(file.read()))
    measured = [line for line in result.stderr.decode().splitlines()
                if "Measuring all stages" in line]
    prepared = [line for line in result.stderr.decode().splitlines()
                if "Preparing the full memory model" in line]
    # nobody hears of the stages that a hint is measured with, which the page then has
    unheard = sum(it["option"] == "--schedule popart" and it["fits"] is not None
                  for it in json.loads(plain).get("hints", []))
    assert len(measured) + unheard == len(data["stages"]) > 0, (words, measured)
    assert len(prepared) == 1, (words, prepared)


def check_messages():
    """All that the log says of an answer is in the JSON, --quiet or not, and on the page."""
    found_nothing = json.loads(data_of(make(sample, "--solve", "--layer-name-regex", "x(y)",
                                            status=1)))["messages"]
    texts = [it["text"] for it in found_nothing if it["level"] in ("warning", "error")]
    assert any("The layer regex 'x(y)' matches nothing" in text for text in texts), texts
    assert any(text.startswith("No layer was found") for text in texts), texts
    assert any("would find 4 layers" in text for text in texts), texts
    for options, status in ((["--num-ipus", "5", "--schedule", "inference"], 0),
                            (["--num-ipus", "2", "--mem-per-tile", "30000"], 1),
                            (["--mem-per-tile", "9000"], 1),
                            (["--num-ipus", "2", "--require", "cut:1", "--require",
                              "together:1,2"], 1),
                            (["--num-ipus", "3", "--mem-per-tile", "0=9K,1=9K,2=9K"], 1),
                            (["--num-ipus", "3", "--mem-per-tile", "1=9000"], 0),
                            (["--num-ipus", "3", "--schedule", "popart"], 0)):
        words = [sample, "--solve", *options]
        printed = run(*words, "--format", "json", status=status)
        result = subprocess.run([popliner, *words, "--format", "json"], capture_output=True)
        assert result.stdout == printed, words
        told = [it["level"] + ": " + it["text"] for it in json.loads(printed)["messages"]
                if it["level"] != "info"]
        log = result.stderr.decode().splitlines()
        assert sorted(told) == sorted(log), (told, log)
        page = json.loads(data_of(make(*words, status=status)))
        assert page["messages"] == json.loads(printed)["messages"], words


def check_beginnings():
    """What a page begins with: the plan of the run, or none."""
    assert json.loads(data_of(make(sample)))["plan"] is None
    solved = json.loads(data_of(make(sample, "--solve", "--num-ipus", "3")))
    told = json.loads(run(sample, "--solve", "--num-ipus", "3", "--format", "json"))
    assert len(solved["plan"]) + 1 == len(told["stages"])
    assert solved["wishes"]["num_ipus"] == 3
    split = "|".join(solved["chain"]["labels"][unit - 1] for unit in solved["plan"])
    evaluated = json.loads(data_of(make(sample, "--evaluate", split)))
    assert evaluated["plan"] == solved["plan"]
    mapped = json.loads(data_of(make(sample, "--solve", "--device-map", "0,1,0")))
    assert mapped["wishes"]["unknown"] == []
    assert mapped["wishes"]["device_map"] == [0, 1, 0]
    plain = json.loads(data_of(make(sample)))
    read = [os.path.join(sample, name) for name in ("profile.pop", "debug.cbor")]
    check_files(plain, *read)
    assert plain["title"] == os.path.basename(sample)
    told = json.loads(data_of(make(sample, "--paths")))
    check_files(told, *read, has_paths=True)
    assert told["title"] == sample


def check_words():
    """A page's commands have the words of its pipeline. Its limit is without the reserve, beside
    which the gaps of the layout do not count."""
    for options, begin in (
            ([], "popliner sample"), (["--reserve", "5%", "--memory-model", "popliner"],
                                      "popliner sample --memory-model popliner"),
            (["--reserve", "5%"], "popliner sample --effects passing,buffers,accumulators"),
            (["--reserve", "5%", "--effects", "passing"], "popliner sample --effects passing"),
            (["--reserve", "5%", "--effects", "all,accumulators=fp32"],
             "popliner sample --effects passing,buffers,accumulators=fp32")):
        words = json.loads(data_of(make(sample, *options)))["words"]
        assert words["command"] == begin, (options, words)


written = write_hostile(os.path.join(scratch, "hostile</script>"))
too_little = [sample, "--solve", "--num-ipus", "2", "--mem-per-tile", "1000"]
checks = [(check_page, [sample, "--solve"]), (check_beginnings, []),
          (check_measurements, [sample, "--solve", "--num-ipus", "3"]),
          (check_answer, [written, "--solve"]), (check_hostile, []), (check_wishes, []),
          (check_stage_tiles, [[sample, "--solve", "--num-ipus", "3"]]), (check_messages, []),
          (check_words, []),
          (check_refusals, []), (check_comparisons, []), (check_execution, []),
          (lambda *words: check_answer(*words, status=1), too_little),
          (lambda *words: check_measurements(*words, exit_status=1), too_little),
          (check_answer, [sample, "--solve", "--num-ipus", "3"]),
          (check_measurements, [sample, "--solve", "-n", "2", "--pareto", "memory,traffic"]),
          (check_answer, [sample, "--evaluate", "0|1"])]
for other in others:
    asked = [other, "--solve", "--num-ipus", "2"]
    kept = [*asked, "--schedule", "popart"]
    checks += [(check_page, [other]), (check_measurements, asked), (check_measurements, [
        *kept, "--recompute", "full", "--need", "at-most"])]
    if other == others[0]:
        assert '"words":"--schedule popart"' in data_of(make(*kept, status=None))
        checks += [(check_stage_tiles, [kept]),
                   (lambda *words: check_answer(*words, status=None), asked)]
for check, words in cases.within_budget(checks, 3):
    check(*words)
print("pages are whole")
