#!/usr/bin/env python3
"""popliner-mkprofile: its profiles agree with themselves, by profile_relations.py; equal options
give equal files; parts of a model are like the whole; executions obey the definitions of their
tables; planted faults are those that were requested. profile_checks_test.py draws options at
random.

    mkprofile_test.py MKPROFILE

SPDX-License-Identifier: GPL-3.0-or-later
"""
import itertools
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile

import cases
import profile_relations as relations

TOOL = os.path.abspath(sys.argv[1])
SMALL = "--hidden 32 --sequence 16 --vocabulary 100"
relations.MOST_REGIONS = 10 ** 9  # which the library would not read all
SCRATCH = tempfile.TemporaryDirectory()


def run(options):
    return subprocess.run([TOOL, *shlex.split(options)], capture_output=True, encoding="utf-8",
                          cwd=SCRATCH.name, check=False)


def path(name, file="profile.pop"):
    return os.path.join(SCRATCH.name, name, file)


def make(name, options):
    done = run(f"--output {name} --force {options}")
    assert done.returncode == 0, (options, done.stderr)
    return done.stdout.splitlines()[1:]  # after the summary


def same_files(one, other, *files):
    """Whether two profiles have the same bytes."""
    for file in files or ("profile.pop", "debug.cbor"):
        with open(path(one, file), "rb") as a, open(path(other, file), "rb") as b:
            if a.read() != b.read():
                return False
    return True


class Made:
    """A profile as SQLite has it, perhaps beside a whole one, and its contexts."""

    def __init__(self, name, whole=None):
        self.name = name
        self.sql = sqlite3.connect(path(name))
        self.sql.create_function("tail_of", 1, tail_of)
        self.contexts = relations.read_contexts(path(name, "debug.cbor"))
        if whole:
            self.sql.execute("ATTACH ? AS whole", (path(whole),))

    def ask(self, query, *values):
        return self.sql.execute(query, values).fetchone()[0]

    def nothing(self, query):
        """That the query has no row."""
        rows = self.sql.execute(query).fetchmany(3)
        assert rows == [], (self.name, query, rows)

    def check_sound(self):
        for own in relations.check(path(self.name)):
            assert own["breached"] == 0 and (own["checked"] or own["relation"] == "debug_info"), own
        known = set(self.contexts)
        assert {own["parentId"] for own in self.contexts.values() if "parentId" in own} <= known
        assert {number for number, in self.sql.execute(
            "SELECT debug_id FROM programs UNION SELECT debug_id FROM compute_sets")} <= known | {
                None, 0}
        for ids, in self.sql.execute("SELECT ids FROM debug_ids"):
            assert set(relations.varints(ids)) <= known | {0}
        self.nothing("SELECT 1 FROM unlowered_vars WHERE id NOT IN (SELECT variable_id FROM "
                     "debug_ids)")  # as in the real file, made-up names also have a row
        self.nothing("SELECT 1 FROM vars_info WHERE name_base_id NOT IN (SELECT id FROM "
                     "vars_string_table)")

    def operations(self):
        """The contexts of operations."""
        return {number for number, own in self.contexts.items()
                if own.get("layer") in ("popart", "xla_op")}


def tail_of(name):
    """What follows the number of the operation in the name of a variable or a compute set. The
    names in the body of a function begin with the operation that is the first to call it, which is
    another one in a part."""
    return re.sub(r"^.*/\d+/", "", name)


# ---- any style ----

def check_style(number):
    is_tensorflow, is_outlined = number % 3 == 2, number // 6 == 1
    make("style", f"{SMALL} --framework {['popart', 'poptorch', 'tensorflow'][number % 3]} "
                  f"{['--inference', '--training'][number // 3 % 2]} "
                  f"{['--no-outline', '--outline'][is_outlined]} "
                  f"--layers {8 if is_tensorflow else 2} "
                  f"--tiles {1 if number == 4 else 9 + number} "
                  f"--pieces {1 + number % 2} --debug-nesting {number % 4} --seed {number}")
    own = Made("style")
    own.check_sound()
    assert list(own.contexts) != sorted(own.contexts), "real files have them in no order"
    assert len(own.operations()) > 20
    replaces = any(len(it.get("replacedDebugContextIds", "")) > 2 for it in own.contexts.values())
    assert replaces == (is_outlined and not is_tensorflow)
    calls = own.ask("SELECT count(*) FROM program_type_call")
    assert (calls > 0) == is_outlined
    assert own.ask("SELECT count(*) FROM function_programs") <= calls
    assert own.ask("SELECT count(*) FROM sqlite_master WHERE type = 'table'") == 67
    assert own.ask("SELECT count(*) FROM (SELECT 1 FROM eq_class_step GROUP BY eq_class_id HAVING "
                   "count(*) > 1)") > 0, "no class has several ranges"


MODELS = [
    "--framework popart --training --accumulate --skips 2 --outline",
    "--framework poptorch --training --skips 1 --pieces 2 --map-in-turn",
    "--framework tensorflow --training --accumulate --skips 2",
    "--framework tensorflow --inference --skips 2 --only-layers first-1",
    "--framework popart --training --accumulate --skips 2 --only-layers 2-last",
    "--training --outline --skips 2 --pipeline '0|2'",
    "--preset bert-tiny --tiles 8 --vocabulary 100 --hidden 64",
]


def check_model(options):
    make("model", f"{SMALL} --layers 4 --tiles 7 {options}")
    Made("model").check_sound()


def check_large():
    make("large", "--tiles 16 --preset bert-large --layers 3 --hidden 64 --sequence 16 "
                  "--vocabulary 500")
    Made("large").check_sound()


def check_equal_options():
    for name, options in (("first", "--seed 5"), ("second", "--seed 5"), ("third", "--seed 6"),
                          ("planned", "--seed 5 --plan-seed 5"),
                          ("replanned", "--seed 5 --plan-seed 6")):
        make(name, f"--training --outline {options}")
    assert same_files("first", "second") and same_files("first", "planned")
    assert not same_files("first", "third", "profile.pop")
    assert not same_files("first", "replanned", "profile.pop")
    assert same_files("first", "replanned", "debug.cbor")


# ---- what is refused ----

BAD = ["--output x " + options for options in """--layers
--layers none
--layers 0
--layers ..1
--layers 99999999999999999999
--tiles 1000001
--framework caffe
--preset bert-huge
--colour
--only-layers
--only-layers 1
--only-layers first
--only-layers first-
--only-layers -last
--only-layers 0-first
--only-layers last-1
--only-layers 0-1-2
--only-layers 1-0
--only-layers 0-2
--only-layers 2-last
--only-layers first-2
--layers 3 --only-layers 0-99999999999999999999
--fault
--fault untouched
--fault untouched:
--fault untouched:-1
--fault untouched:100001
--fault no-debug:1
--fault :1
--fault no-operation:99999
--pipeline
--pipeline ''
--pipeline '0|'
--pipeline '|0'
--pipeline Head
--layers 3 --pipeline '1|1'
--layers 3 --pipeline '1|0'
--layers 3 --pipeline 2
--pipeline 99999999999999999999
--pipeline 0 --only-layers 0-1
--pipeline 0 --execution
--pipeline 0 --fault untouched:1
--pipeline 0 --schedule interleaved
--framework tensorflow --schedule interleaved
--pipeline 0 --schedule gpipe
--layers 4 --skips 3
--plan-seed x""".splitlines()] + ["", "--output", "x"]


def check_refused():
    for options in BAD:
        done = run(options)
        assert done.returncode == 2, (options, done)
        assert len(done.stderr) > 20 and done.stderr.find("\n") == len(done.stderr) - 1, done
    assert run("--help").returncode == run("--version").returncode == 0
    assert os.listdir(SCRATCH.name) == [] or not os.path.exists(path("x"))


def check_nothing_is_left():
    make("there", "")
    assert run("--output there").returncode == 3  # the files exist
    assert run("--output there --force --seed 2").returncode == 0
    assert run("--output there/debug.cbor/inside").returncode == 3  # a file is in the way
    os.makedirs(path("blocked", "debug.cbor"))  # where a file should go: found out at the end
    assert run("--output blocked --force").returncode == 3
    assert os.listdir(path("blocked", "")) == ["debug.cbor"]


# ---- parts of a model ----

# The bytes of operations, tile by tile; {0} is main or whole.
TABLES = {
    "executes": """SELECT c.name AS name, t.name AS type, t.size AS size,
        i.instances_by_tile AS instances, p.control_code_bytes_by_tile AS control
        FROM {0}.programs p JOIN {0}.program_types k ON k.id = p.variant AND
            k.name = 'OnTileExecute'
        JOIN {0}.program_type_on_tile_execute e ON e.id = p.variant_index
        JOIN {0}.compute_sets c ON c.compute_set = e.compute_set
        JOIN {0}.vertex_instances i ON i.compute_set = c.compute_set
        JOIN {0}.vertex_types t ON t.id = i.vertex_type""",
    "exchanges": """SELECT p.name, x.code_bytes_by_tile_rle, p.control_code_bytes_by_tile,
            x.bytes_sent_by_tile_rle, x.bytes_received_by_tile_rle
        FROM {0}.programs p JOIN {0}.program_types k ON k.id = p.variant AND k.name = 'DoExchange'
        JOIN {0}.program_type_do_exchange x ON x.id = p.variant_index""",
    "variables": """SELECT s.string || v.name_suffix AS name, v.tile AS tile, v.size_bytes AS size,
            v.category AS category, count(*) AS count
        FROM {0}.vars_info v JOIN {0}.vars_string_table s ON s.id = v.name_base_id
        WHERE v.category IN (0, 2, 3, 6) GROUP BY 1, 2, 3, 4"""}


def check_like_the_whole(own, is_outlined):
    """Whatever the part has, the whole has too, of the same size on every tile."""
    for (table, query), place in itertools.product(TABLES.items(), ("main", "whole")):
        own.sql.execute(f"CREATE TEMP TABLE {place}_{table} AS " + query.format(place))
    for table, least in (("executes", 10), ("exchanges", 3), ("variables", 100)):
        assert own.ask(f"SELECT count(*) FROM main_{table}") > least
        own.sql.execute(f"CREATE TEMP TABLE other_{table} AS SELECT * FROM main_{table} EXCEPT "
                        f"SELECT * FROM whole_{table}")
    own.nothing("SELECT * FROM other_exchanges")
    for table, columns in (("executes", "type, size, instances, control"),
                           ("variables", "tile, size, category")):
        if not is_outlined:
            own.nothing(f"SELECT * FROM other_{table}")
            continue
        # those of functions are like others of another name, and the whole has none of their own
        own.nothing(f"SELECT tail_of(name), {columns} FROM other_{table} EXCEPT "
                    f"SELECT tail_of(name), {columns} FROM whole_{table}")
        own.nothing(f"SELECT name FROM other_{table} WHERE name IN (SELECT name FROM "
                    f"whole_{table})")


def check_same_code(own):
    """Every vertex type in use has its code, and the same as in the whole."""
    own.nothing(" EXCEPT ".join(
        f"SELECT s.string, v.tile, v.size_bytes FROM {place}.vars_info v JOIN "
        f"{place}.vars_string_table s ON s.id = v.name_base_id" +
        " WHERE v.category IN (11, 18, 22, 8)" * (place == "main") for place in ("main", "whole")))
    own.nothing("SELECT 1 FROM vars_info WHERE category = 18 GROUP BY tile, name_base_id HAVING "
                "count(*) > 1")  # once on each tile
    for category in (11, 22):  # what every program has
        assert len({own.ask(f"SELECT count(*) FROM {place}.vars_info WHERE category = ?", category)
                    for place in ("main", "whole")}) == 1
    assert own.ask("SELECT count(*) FROM vars_info WHERE category = 20") > 0


def check_within_the_whole(own, leaves_some_out):
    """No tile needs more than for the whole. One thing is kept longer in a part: what other parts
    use is there to the end, where the whole has freed it long before; when nearly all of a training
    model is in the part, its peak is higher by that."""
    both = "main.memory_by_tile a JOIN whole.memory_by_tile b USING (tile)"
    own.nothing(f"SELECT tile FROM {both} WHERE a.always_live_bytes >= b.always_live_bytes")
    own.sql.execute(
        "CREATE TEMP TABLE kept AS SELECT v.tile AS tile, sum(v.size_bytes) AS bytes "
        "FROM vars_info v JOIN eq_classes c ON c.id = v.equivalence_class WHERE NOT "
        "c.is_always_live AND v.var_id IN (SELECT r.var_id FROM host_exchange_to_host "
        "h JOIN exchange_regions r ON r.id = h.regions_id) GROUP BY 1")
    kept = "0" if leaves_some_out else "ifnull(kept.bytes, 0)"
    own.nothing(f"SELECT tile FROM {both} LEFT JOIN kept USING (tile) WHERE "
                f"a.not_always_live_max_bytes > b.not_always_live_max_bytes + {kept}")
    assert own.ask("SELECT sum(total) FROM main.memory_by_tile") < \
        own.ask("SELECT sum(total) FROM whole.memory_by_tile")


NAMES = ("SELECT name FROM {0}.compute_sets UNION SELECT name FROM {0}.programs WHERE name IS NOT "
         "NULL UNION SELECT name FROM {0}.unlowered_vars")
STYLES = ["--framework popart", "--framework popart --outline --pieces 2 --seed 3",
          "--framework popart --training --seed 1 --pieces 2",
          "--framework popart --training --outline", "--framework poptorch --seed 7",
          "--framework poptorch --training", "--framework poptorch --training --outline --seed 2",
          "--framework tensorflow --outline", "--framework tensorflow --training --seed 4",
          "--framework tensorflow --training --outline"]


def check_parts(number, style):
    make("whole", f"{style} {SMALL} --layers 4 --tiles 10")
    missing = {name for name, in Made("whole").sql.execute(NAMES.format("main"))}
    others = ["0-last", "first-3", "0-3"] if number % 3 == 2 else []
    for part in ["first-1", "2-2", "3-last"] + others:
        make("part", f"{style} {SMALL} --layers 4 --tiles 10 --only-layers {part}")
        own = Made("part", "whole")
        own.check_sound()
        check_like_the_whole(own, "--outline" in style)
        check_same_code(own)
        check_within_the_whole(own, part not in others)
        if part not in others:  # together they are the whole, and none can be spared
            missing -= {name for name, in own.sql.execute(NAMES.format("main"))}
            assert (not missing) == (part == "3-last"), (style, part, missing)


def check_all_layers(style):
    make("whole", style)
    make("part", f"{style} --only-layers first-last")
    assert same_files("whole", "part")


def check_one_layer():
    make("one", "--layers 1")
    make("part", "--layers 1 --only-layers first-0")
    assert not same_files("one", "part", "profile.pop")  # the tail is missing
    make("part", "--layers 1 --only-layers 0-last --only-layers first-last")
    assert same_files("one", "part", "profile.pop")


def check_lives():
    """Data from another part lives from its copy on; data that another part uses lives to the
    end."""
    make("middle", "--training --layers 4 --tiles 10 --only-layers 1-2")
    own, steps = Made("middle"), []
    for direction, what, layer in (("from", "", 0), ("from", "Gradient___", 2), ("to", "", 2),
                                   ("to", "Gradient___", 0)):
        name = f"{what}Layer{layer}/FF/GroupNormalization:0"
        steps.append(own.ask(
            "SELECT d.id FROM depth_first_steps d JOIN programs p ON p.id = d.program_id JOIN "
            "program_types t ON t.id = p.variant AND t.name = 'StreamCopyMid' JOIN "
            f"host_exchange_{direction}_host h ON h.stream_copy_mid_id = p.variant_index WHERE "
            "h.stream = ?", name))
        edge = own.ask(
            f"SELECT {'min' if direction == 'from' else 'max'}(e.step_id_{direction}) FROM "
            "unlowered_vars u JOIN vars_info v ON v.unlowered_var_id = u.id JOIN eq_class_step e "
            "ON e.eq_class_id = v.equivalence_class WHERE u.name = ?", name)
        assert edge == steps[-1] + (direction == "to"), (direction, name, edge, steps)
    # the gradient arrives between forward and backward; results leave together
    assert steps[0] < steps[1] < steps[2] == steps[3], steps
    # activations of the part are not copied
    own.nothing("SELECT 1 FROM host_exchange_to_host WHERE stream LIKE 'Layer1/FF/G%:0'")
    # the mask of all layers comes again, the embedding does not
    assert own.ask("SELECT count(*) FROM host_exchange_from_host WHERE stream = "
                   "'Layer0/Attention/Z/Mask/Mul:0'") == 1
    own.nothing("SELECT name FROM unlowered_vars WHERE name LIKE 'Embedding%' OR name LIKE "
                "'Layer3%' OR name LIKE 'Accl1___Layer0%'")
    assert own.ask("SELECT count(*) FROM unlowered_vars WHERE name LIKE 'Accl1___Layer2%'") > 0


# ---- executions ----

EXECUTION_TILES = 6
# The totals of a run, in the order of execution_cycle_totals, by the type of the steps that count;
# all others are synchronizations.
TOTALS = ["OnTileExecute", None, "DoExchange", None, "StreamCopyMid", "StreamCopyBegin",
          "StreamCopyEnd", None]


def spread(values):
    """Most, mean and least."""
    return max(values), sum(values) // len(values), min(values)


def check_step(clocks, totals, row):
    """One step: its row is what its cycles by tile make it, and where all tiles were before."""
    _, kind, blob, *told, active, active_balance, balance = row
    cycles, base = relations.runs(blob), min(clocks)
    before = [clock - base for clock in clocks]
    after = [a + b for a, b in zip(before, cycles)]
    ran = [tile for tile, own in enumerate(cycles) if own > 0]
    assert told == [base, *spread([before[tile] for tile in ran]),
                    *spread([after[tile] for tile in ran]), *spread(after), max(cycles)], row
    assert active == len(ran)
    for share, count in ((active_balance, len(ran)), (balance, len(cycles))):
        assert abs(share - sum(cycles) / count / max(cycles)) < 1e-6, row
    clocks[:] = [a + b for a, b in zip(clocks, cycles)]
    if kind.startswith("Sync"):
        assert len(set(clocks)) == 1, "after it all tiles are together"
    which = TOTALS.index(kind) if kind in TOTALS else len(TOTALS) - 1
    assert which < len(TOTALS) - 1 or kind in ("Sync", "SyncAns"), kind
    totals[which] += sum(cycles)
    totals[1] += max(cycles) * len(cycles) * (which == 0)


def check_runs(own):
    """Runs one after another, with their steps and totals."""
    steps = own.sql.execute(
        "SELECT s.id, s.type, c.cycles_by_tile_rle, i.cycles_base, i.active_cycles_from_max, "
        "i.active_cycles_from_mean, i.active_cycles_from_min, i.active_cycles_to_max, "
        "i.active_cycles_to_mean, i.active_cycles_to_min, i.all_cycles_to_max, "
        "i.all_cycles_to_mean, i.all_cycles_to_min, i.cycles, i.active_tiles, "
        "i.active_tile_balance, i.tile_balance FROM steps s JOIN steps_by_ipu i ON i.step_id = "
        "s.id JOIN cycles_by_tile c ON c.id = i.tile_cycles_id ORDER BY s.id").fetchall()
    totals = own.sql.execute("SELECT * FROM execution_cycle_totals ORDER BY run_id").fetchall()
    frequency = own.ask("SELECT clock_frequency FROM target_info")
    taken = last_end = last_epoch = 0
    runs = own.sql.execute(
        "SELECT id, start_epoch_time_microseconds, elapsed_microseconds, num_programs, num_steps, "
        "start_cycles_by_ipu, end_cycles_by_ipu FROM runs ORDER BY id").fetchall()
    assert [row[0] for row in runs] == [row[0] for row in totals] == [0, 1, 2, 3]
    for (number, epoch, elapsed, programs, count, *cycles), told in zip(runs, totals):
        (start,), (end,) = map(relations.varints, cycles)
        assert last_end <= start < end and (number > 0 or start == 0) and epoch > last_epoch
        last_epoch = epoch + elapsed
        assert end - start <= elapsed * (frequency // 10 ** 6)
        assert programs == own.ask("SELECT count(program) FROM steps WHERE id >= ? AND id < ?",
                                   taken, taken + count)
        clocks, sums = [start] * EXECUTION_TILES, [0] * len(TOTALS)
        for place, row in enumerate(steps[taken:taken + count], taken):
            assert row[0] == place
            check_step(clocks, sums, row)
        taken, last_end = taken + count, max(clocks)
        assert last_end == end
        assert list(told[1:]) == [end - start, *sums, *[0] * len(TOTALS)], told
    assert taken == len(steps) > 300, "every step belongs to a run"


# So often each program must run, going by the steps of liveness: once in each run, but those below
# a Repeat so many times more, and below the switch only in the runs that choose them.
EXPECTED = """CREATE TEMP TABLE expected AS
    WITH RECURSIVE walk(step, program, times) AS (
        SELECT id, program_id, 4 FROM depth_first_steps WHERE parent_step_id IS NULL
        UNION ALL SELECT d.id, d.program_id, CASE t.name
            WHEN 'Repeat' THEN w.times * r.repeat_count
            WHEN 'OnEveryTileSwitch' THEN CASE (SELECT count(*) FROM depth_first_steps b WHERE
                b.parent_step_id = d.parent_step_id AND b.id < d.id) WHEN 1 THEN 2 ELSE 1 END
            ELSE w.times END
        FROM walk w JOIN depth_first_steps d ON d.parent_step_id = w.step
        JOIN programs p ON p.id = w.program JOIN program_types t ON t.id = p.variant
        LEFT JOIN program_type_repeat r ON t.name = 'Repeat' AND r.id = p.variant_index)
    SELECT program, sum(times) AS times FROM walk
    JOIN programs p ON p.id = program JOIN program_types t ON t.id = p.variant
    WHERE t.name NOT IN ('Sequence', 'Repeat', 'Call', 'OnEveryTileSwitch', 'WriteUndef', 'Sans')
    GROUP BY program"""
NO_ROW = [
    "SELECT 1 FROM steps s LEFT JOIN steps_by_ipu i ON i.step_id = s.id WHERE i.ipu IS NOT 0",
    "SELECT 1 FROM steps_by_ipu WHERE step_id NOT IN (SELECT id FROM steps)",
    "SELECT 1 FROM steps_by_ipu GROUP BY tile_cycles_id HAVING count(*) > 1",
    "SELECT 1 FROM cycles_by_tile WHERE id NOT IN (SELECT tile_cycles_id FROM steps_by_ipu)",
    "SELECT 1 FROM steps s LEFT JOIN programs p ON p.id = s.program LEFT JOIN program_types t "
    "ON t.id = p.variant WHERE s.type IS NOT ifnull(t.name, 'Sync')",
    "SELECT 1 FROM steps WHERE program IS NULL AND type <> 'Sync'",
    "SELECT 1 FROM steps WHERE (type = 'Sync') <> (sync_type IS 'Internal')",
    "SELECT 1 FROM steps s JOIN programs p ON p.id = s.program LEFT JOIN "
    "program_type_on_tile_execute e ON s.type = 'OnTileExecute' AND e.id = p.variant_index WHERE "
    "s.compute_set IS NOT e.compute_set",
    "SELECT 1 FROM steps s JOIN programs p ON p.id = s.program WHERE s.exchange IS NOT CASE s.type "
    "WHEN 'DoExchange' THEN p.variant_index END OR s.host_exchange IS NOT CASE s.type WHEN "
    "'StreamCopyMid' THEN p.variant_index END OR s.inter_ipu_exchange IS NOT NULL",
    "SELECT row_number() OVER (ORDER BY id) - 1, program FROM steps WHERE program IS NOT NULL "
    "EXCEPT SELECT id, program_id FROM program_trace",
    "SELECT 1 WHERE (SELECT count(*) FROM program_trace) <> (SELECT count(program) FROM steps)",
    "SELECT program, times FROM expected EXCEPT SELECT program, count(*) FROM steps GROUP BY "
    "program",
    "SELECT 1 FROM steps WHERE program NOT IN (SELECT program FROM expected)",
    "SELECT 1 FROM execution_info WHERE compilation_id NOT IN (SELECT compilation_id FROM "
    "compilation_info)"]
EXECUTIONS = ("runs", "steps", "steps_by_ipu", "cycles_by_tile", "program_trace",
              "execution_cycle_totals", "execution_info")
# The lists of estimates of programs.
ESTIMATES = """SELECT p.id, coalesce(c.cycles_by_tile_ids, d.cycles_by_tile_ids,
        s.estimated_cycles_by_tile_ids) AS ids
    FROM programs p JOIN program_types t ON t.id = p.variant
    LEFT JOIN program_type_on_tile_execute e ON t.name = 'OnTileExecute' AND e.id = p.variant_index
    LEFT JOIN compute_sets c ON c.compute_set = e.compute_set
    LEFT JOIN program_type_do_exchange d ON t.name = 'DoExchange' AND d.id = p.variant_index
    LEFT JOIN program_type_stream_copy_mid s ON t.name = 'StreamCopyMid' AND s.id = p.variant_index
    WHERE ids IS NOT NULL"""


def estimates(own):
    """The cycles of the slowest tile that the compiler estimated, by program."""
    slowest = {number: max(relations.runs(blob)) for number, blob in own.sql.execute(
        "SELECT id, cycles_by_tile_rle FROM compilation_cycles_by_tile")}
    return {program: max(slowest[number] for number in relations.varints(ids))
            for program, ids in own.sql.execute(ESTIMATES)}


def measured(own):
    """The mean cycles of each program that ran, rounded half up."""
    return dict(own.sql.execute(
        "SELECT program, (2 * sum(c) + count(*)) / (2 * count(*)) FROM (SELECT s.program AS "
        "program, max(i.cycles) AS c FROM steps s JOIN steps_by_ipu i ON i.step_id = s.id GROUP BY "
        "s.id) WHERE program IS NOT NULL GROUP BY program"))


def check_execution(style):
    """All else is as if nothing had run."""
    make("compiled", f"{style} --tiles {EXECUTION_TILES}")
    make("executed", f"{style} --tiles {EXECUTION_TILES} --execution")
    assert same_files("executed", "compiled", "debug.cbor")
    own = Made("executed", "compiled")
    check_runs(own)
    own.sql.execute(EXPECTED)
    for query in NO_ROW:
        own.nothing(query)
    assert own.ask("SELECT count(*) FROM execution_info") == 1
    for name, in own.sql.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'"):
        if name in EXECUTIONS:
            own.nothing(f"SELECT 1 FROM whole.{name}")
        else:
            own.nothing(f"SELECT * FROM main.{name} EXCEPT SELECT * FROM whole.{name}")
            assert own.ask(f"SELECT count(*) FROM main.{name}") == \
                own.ask(f"SELECT count(*) FROM whole.{name}"), name
    # what was measured is not far from what was estimated
    guesses, means = estimates(Made("compiled")), measured(own)
    assert len(means) > len(guesses) > 100, (style, len(means), len(guesses))
    for program, guess in guesses.items():
        assert guess * 9 // 10 <= means[program] + 2 and means[program] <= guess * 5 // 4 + 2, \
            (style, program, guess, means[program])


def check_seeds_of_executions():
    """Another seed does not only make other estimates, it measures otherwise, too, and by more than
    another tile would."""
    for name, seed in (("executed", 5), ("again", 5), ("other", 6)):
        make(name, f"--execution --layers 1 --tiles 4 --seed {seed}")
    assert same_files("executed", "again")
    for name, seed in (("compiled", 5), ("other-compiled", 6)):
        make(name, f"--layers 1 --tiles 4 --seed {seed}")
    guesses, others = estimates(Made("compiled")), estimates(Made("other-compiled"))
    means, other_means = measured(Made("executed")), measured(Made("other"))
    assert sum(others.get(program) == guess and abs(means[program] - other_means[program]) >
               guess // 16 + 1 for program, guess in guesses.items()) > 20


# ---- planted faults ----

FAULTS = [("", (0, 0, 0)),
          ("--fault no-debug-id:7", (7, 0, 0)),
          ("--fault no-operation:6", (0, 6, 0)),
          ("--fault untouched:3 --pieces 2", (0, 0, 3)),
          ("--fault untouched:9 --fault untouched:1 --framework tensorflow", (0, 0, 1)),
          ("--fault no-operation:9 --fault untouched:4 --fault no-debug-id:8 --outline --training "
           "--framework poptorch", (8, 9, 4)),
          ("--fault no-operation:5 --fault no-debug-id:5 --fault untouched:2 --layers 4 "
           "--only-layers 1-2 --framework tensorflow", (5, 5, 2))]


def touched(own):
    """The variables that compute sets and exchanges list."""
    found = {number for number, in own.sql.execute("SELECT var_id FROM exchange_regions")}
    for blob, in own.sql.execute("SELECT var_ids_diff_rle FROM compute_sets"):
        found.update(itertools.accumulate(relations.runs(blob)))
    return found


def check_faults(options, wanted):
    """What is printed after the first line is in the profile, and nothing else."""
    lines = [line.split() for line in make("faulty", f"{SMALL} {options}")]
    own, told = Made("faulty"), {"no-debug-id": [], "no-operation": [], "untouched": []}
    own.check_sound()
    for kind, subject, *_ in lines:
        told[kind].append(subject if kind == "untouched" else int(subject.rstrip(":,")))
    assert tuple(map(len, told.values())) == wanted, (options, lines)
    seen, operations = touched(own), own.operations()
    half = own.ask("SELECT count(*) FROM depth_first_steps") // 2
    for name in told["untouched"]:
        assert "untouched" in name
        variables = own.sql.execute(
            "SELECT v.var_id, v.tile, NOT c.is_always_live AND v.category = 0 AND v.size_bytes > "
            "1000 AND e.step_id_from <= ? AND e.step_id_to > ? FROM unlowered_vars u JOIN "
            "vars_info v ON v.unlowered_var_id = u.id JOIN eq_classes c ON c.id = "
            "v.equivalence_class JOIN eq_class_step e ON e.eq_class_id = c.id WHERE u.name = ?",
            (half, half, name)).fetchall()
        assert not seen & {number for number, _, _ in variables}, name
        assert len({tile for _, tile, is_large in variables if is_large}) == \
            own.ask("SELECT num_tiles FROM target_info"), name
    for kind in ("no-debug-id", "no-operation"):
        assert told[kind] == sorted(set(told[kind])), "each once"
        for number in told[kind]:
            name, debug_id = own.sql.execute(
                "SELECT t.name, ifnull(p.debug_id, 0) FROM programs p JOIN program_types t ON t.id "
                "= p.variant WHERE p.id = ?", (number,)).fetchone()
            assert name in ("OnTileExecute", "DoExchange")
            assert (debug_id == 0) == (kind == "no-debug-id")
            while debug_id and debug_id not in operations:
                debug_id = own.contexts[debug_id].get("parentId", 0)
            assert debug_id == 0, (kind, number)
    assert own.ask("SELECT count(*) FROM programs WHERE ifnull(debug_id, 0) = 0") == wanted[0]
    assert own.ask("SELECT count(*) FROM unlowered_vars WHERE name LIKE 'fault%'") == wanted[2]


def main():
    check_refused()
    check_nothing_is_left()
    check_equal_options()
    check_one_layer()
    check_lives()
    check_seeds_of_executions()
    for number in cases.some(range(12), 12, 2):
        check_style(number)
    for options in cases.some(MODELS, 3, 2):
        check_model(options)
    if cases.takes_all():
        check_large()
    for number, style in cases.some(list(enumerate(STYLES)), 10, 2):
        check_parts(number, style)
    for style in cases.some(["--outline", "--training --framework poptorch",
                             "--framework tensorflow --fault untouched:2"], 3, 2):
        check_all_layers(style)
    for style in cases.some(["--framework popart --outline --layers 1 --seed 3",
                             "--framework popart --training --outline --layers 1 --seed 8",
                             "--framework tensorflow --layers 3 --fault no-debug-id:5 "
                             "--only-layers 1-last"], 3, 2):
        check_execution(style)
    for options, wanted in cases.some(FAULTS, 6, 2):
        check_faults(options, wanted)


if __name__ == "__main__":
    main()
