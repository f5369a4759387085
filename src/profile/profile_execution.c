/* Reads runs and the steps that they executed; and the times of programs: estimates of the
 * compiler, or measurements of these steps, and the counts of Repeats. All of it is optional: no
 * known file has rows of an execution, so invalid rows never make a profile unreadable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "profile/profile_readers.h"

/* The number of type names that are stored only once; there are about twenty. */
enum { MAX_TYPES = 32 };

/* The state of reading an execution. */
typedef struct execution {
    pl_reading *reading;
    popliner_profile *profile;
    const pl_profile_ids *ids;
    pl_id_map steps; /* by id */
    pl_string types[MAX_TYPES];
    size_t num_types;
    size_t num_senseless;   /* rows with invalid values */
    uint64_t num_run_steps; /* sum over the runs */
} execution;

/* Returns the string of a type's name; steps share a few names. */
static pl_string keep_type(execution *x, const char *name) {
    for (size_t i = 0; i < x->num_types; i++) {
        if (strcmp(pl_profile_string(x->profile, x->types[i]), name) == 0)
            return x->types[i];
    }
    pl_string string = pl_profile_add_string(x->profile, name);
    if (string != PL_NONE && x->num_types < MAX_TYPES)
        x->types[x->num_types++] = string;
    return string;
}

static void read_steps(execution *x) {
    static const pl_column columns[] = {{"id", false}, {"program", false}, {"type", false}};
    static const pl_table table = {"steps", PL_TABLE_OPTIONAL, columns, 3, "ORDER BY 1"};
    pl_database *database = &x->reading->database;
    popliner_profile *p = x->profile;
    size_t capacity = 0;
    pl_rows rows = pl_rows_open(database, &table);
    while (pl_rows_next(&rows)) {
        uint64_t id;
        uint64_t program_id;
        uint32_t program = PL_NONE;
        if (!pl_rows_told(&rows, 0, &id)) {
            x->num_senseless++;
            continue;
        }
        if (pl_rows_told(&rows, 1, &program_id))
            program = pl_id_map_find(&x->ids->programs, program_id);
        if (program == PL_NONE && !pl_rows_is_null(&rows, 1))
            x->num_senseless++; /* but syncs between programs have none */
        pl_string type = keep_type(x, pl_rows_text(&rows, 2));
        const bool memory = type != PL_NONE &&
                            pl_profile_reserve(p, &p->num_execution_steps, &capacity) &&
                            pl_id_map_add(&x->steps, id, p->num_execution_steps);
        if (!pl_outcome_has(&database->outcome, memory, "the steps of the execution"))
            continue;
        p->execution_program[p->num_execution_steps] = program;
        p->execution_type_name[p->num_execution_steps++] = type;
    }
    pl_id_map_sort(&x->steps);
}

/* These columns come before those of the table of fields. */
enum { STEP_ID, IPU, CYCLES, ACTIVE_TILES, TILE_BALANCE, NUM_OWN_COLUMNS };

/* True if the current row of steps_by_ipu is in the part. A row without an IPU is for all IPUs. */
static bool is_of_part(const pl_rows *rows, const pl_part *part) {
    uint64_t ipu;
    return part->is_all ||
           (pl_rows_told(rows, IPU, &ipu) ? pl_part_has_ipu(part, ipu) : !part->is_one_ipu);
}

/* Appends the current row of steps_by_ipu, which has cycles. */
static void put_ipu(pl_rows *rows, execution *x, uint64_t cycles) {
    popliner_profile *p = x->profile;
    size_t i = p->num_execution_ipus;
    uint64_t ipu = 0;
    uint64_t num_tiles = 0;
    pl_reading_add(x->reading, rows, &p->num_execution_ipus, NULL, 0);
    if (!pl_database_is_well(rows->database))
        return;
    pl_rows_told(rows, IPU, &ipu);
    pl_rows_told(rows, ACTIVE_TILES, &num_tiles);
    p->execution_cycles[i] = cycles;
    p->execution_ipu[i] = ipu < UINT32_MAX ? (uint32_t)ipu : UINT32_MAX;
    p->execution_active_tiles[i] = num_tiles < UINT32_MAX ? (uint32_t)num_tiles : UINT32_MAX;
    p->execution_tile_balance[i] = pl_rows_real(rows, TILE_BALANCE);
    if (!pl_is_balance(p->execution_tile_balance[i])) {
        p->execution_tile_balance[i] = 0; /* for example infinity, which JSON cannot represent */
        x->num_senseless++;
    }
}

static void read_ipus(execution *x) {
    static const pl_column columns[NUM_OWN_COLUMNS] = {{"step_id", false},
                                                       {"ipu", false},
                                                       {"cycles", false},
                                                       {"active_tiles", false},
                                                       {"tile_balance", false}};
    static const pl_table table = {"steps_by_ipu", PL_TABLE_OPTIONAL, columns, NUM_OWN_COLUMNS,
                                   "ORDER BY 1, 2"};
    popliner_profile *p = x->profile;
    uint64_t *starts = pl_new_array(p->num_execution_steps + 1, sizeof *starts);
    p->execution_ipus_start = starts;
    if (!pl_outcome_has(&x->reading->database.outcome, starts != NULL,
                        "the steps of the execution") ||
        p->num_execution_steps == 0)
        return;
    pl_rows rows = pl_reading_open(x->reading, &table, &p->num_execution_ipus);
    while (pl_rows_next(&rows)) {
        uint64_t id;
        uint64_t cycles;
        if (!pl_rows_told(&rows, STEP_ID, &id) || !pl_rows_told(&rows, CYCLES, &cycles)) {
            x->num_senseless++;
            continue;
        }
        uint32_t step = pl_id_map_find(&x->steps, id);
        if (step == PL_NONE || !is_of_part(&rows, &x->reading->part))
            continue;
        /* both tables are read in the order of the steps */
        starts[step + 1]++;
        put_ipu(&rows, x, cycles);
    }
    for (size_t step = 0; step < p->num_execution_steps; step++)
        starts[step + 1] += starts[step];
}

static void read_runs(execution *x) {
    static const pl_column columns[] = {{"id", false}, {"num_steps", false}};
    static const pl_table table = {"runs", PL_TABLE_OPTIONAL, columns, 2, "ORDER BY 1"};
    popliner_profile *p = x->profile;
    size_t capacity = 0; /* of run_first_step */
    pl_rows rows = pl_reading_open(x->reading, &table, &p->num_runs);
    while (pl_rows_next(&rows)) {
        size_t i = p->num_runs;
        uint64_t num_steps = 0;
        /* one more item, for the end of the last run's steps */
        if (!pl_outcome_has(
                &rows.database->outcome,
                pl_grow(&p->run_first_step, &capacity, i + 2, sizeof *p->run_first_step),
                "the runs"))
            continue;
        pl_reading_add(x->reading, &rows, &p->num_runs, NULL, 0);
        pl_rows_told(&rows, 1, &num_steps);
        uint64_t first_step = i > 0 ? p->run_first_step[i] : 0;
        uint64_t steps_left = p->num_execution_steps - first_step;
        p->run_first_step[i] = first_step;
        p->run_first_step[i + 1] = first_step + (num_steps < steps_left ? num_steps : steps_left);
        x->num_run_steps += num_steps <= UINT32_MAX ? num_steps : UINT32_MAX;
    }
}

uint64_t pl_profile_execution_cycles(const popliner_profile *p, size_t step) {
    uint64_t slowest = 0;
    for (uint64_t i = p->execution_ipus_start[step]; i < p->execution_ipus_start[step + 1]; i++)
        slowest = p->execution_cycles[i] > slowest ? p->execution_cycles[i] : slowest;
    return slowest;
}

/* ---- Times of programs ---- */

/* Limits cycles so that sums and products of a few of them stay far below 2^64. */
static const uint64_t max_cycles = UINT64_MAX / 4096;

static uint64_t add_cycles(uint64_t a, uint64_t b) {
    return b > max_cycles || a > max_cycles - b ? max_cycles : a + b;
}

/* Numbers by id: cycles of the rows of a table, for example. */
typedef struct numbers {
    pl_id_map ids;
    uint64_t *values;
    size_t count;
    size_t capacity;
} numbers;

static void free_numbers(numbers *n) {
    pl_id_map_free(&n->ids);
    free(n->values);
}

/* Sort the ids before searching for them. */
static bool add_number(numbers *n, uint64_t id, uint64_t value) {
    if (n->count >= PL_NONE - 1 ||
        !pl_grow(&n->values, &n->capacity, n->count + 1, sizeof *n->values))
        return false;
    n->values[n->count] = value;
    return pl_id_map_add(&n->ids, id, n->count++);
}

static bool find_number(const numbers *n, uint64_t id, uint64_t *value) {
    uint32_t index = pl_id_map_find(&n->ids, id);
    if (index != PL_NONE)
        *value = n->values[index];
    return index != PL_NONE;
}

/* Returns the count of numbers in runs; 0 if they are damaged. */
static uint64_t count_runs(const uint8_t *rle, size_t size_bytes) {
    pl_runs runs = pl_runs_begin(rle, size_bytes);
    uint64_t count = 0;
    uint64_t value;
    uint64_t length;
    int got;
    while ((got = pl_runs_next(&runs, &value, &length)) > 0)
        count = length < UINT64_MAX - count ? count + length : UINT64_MAX;
    return got < 0 ? 0 : count;
}

/* Opens two columns of an optional table: ids, and what belongs to them. */
static pl_rows open_pairs(pl_database *database, const char *name, const pl_column columns[2]) {
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 2, ""};
    return pl_rows_open(database, &table);
}

/* Reads the cycles of the slowest tile in each row of compilation_cycles_by_tile. As far as known,
 * a row has the tiles of one IPU; in a row of all tiles, only those of the part count. */
static void read_slowest_tiles(pl_reading *r, numbers *slowest) {
    static const pl_column columns[] = {{"id", false}, {"cycles_by_tile_rle", false}};
    const pl_part *part = &r->part;
    pl_rows rows = open_pairs(&r->database, "compilation_cycles_by_tile", columns);
    while (pl_rows_next(&rows)) {
        uint64_t id;
        size_t size_bytes;
        uint64_t most = 0;
        uint64_t value;
        uint64_t length;
        int got;
        if (!pl_rows_told(&rows, 0, &id) || pl_rows_is_null(&rows, 1))
            continue;
        const uint8_t *rle = pl_rows_blob(&rows, 1, &size_bytes);
        pl_runs runs = pl_runs_begin(rle, size_bytes);
        bool is_cut = !part->is_all && count_runs(rle, size_bytes) == r->profile->target.num_tiles;
        uint64_t tile = 0;
        while ((got = pl_runs_next(&runs, &value, &length)) > 0) {
            bool counts = !is_cut || (tile < part->end_tile && tile + length > part->first_tile);
            most = counts && value > most ? value : most;
            tile += is_cut ? length : 0;
        }
        if (got < 0)
            pl_rows_fail(&rows, 1, "is damaged: it ends inside a number or a run");
        pl_outcome_has(&r->database.outcome,
                       add_number(slowest, id, most < max_cycles ? most : max_cycles),
                       "the cycles of the programs");
    }
    pl_id_map_sort(&slowest->ids);
}

/* Reads the estimates of a table whose rows refer to compilation_cycles_by_tile, by one id per IPU:
 * the slowest IPU of the part counts. `numbering` leads from ids of rows to the numbers to use;
 * NULL: the ids. */
static void read_estimates(pl_reading *r, pl_rows rows, const pl_id_map *numbering,
                           const numbers *slowest, numbers *estimates) {
    while (pl_rows_next(&rows)) {
        uint64_t id;
        size_t size_bytes;
        const uint8_t *cursor = pl_rows_blob(&rows, 1, &size_bytes);
        const uint8_t *end = cursor + size_bytes;
        uint64_t most = 0;
        uint64_t reference;
        uint64_t cycles;
        bool is_known = false;
        size_t place = 0;
        size_t count = 0;
        if (!pl_rows_told(&rows, 0, &id))
            continue;
        pl_varint_list_count(cursor, size_bytes, &count);
        if (numbering != NULL)
            id = pl_id_map_find(numbering, id);
        while (cursor < end && pl_varint_read(&cursor, end, &reference)) {
            if (pl_part_has_place(&r->part, place++, count) &&
                find_number(slowest, reference, &cycles)) {
                is_known = true;
                most = cycles > most ? cycles : most;
            }
        }
        if (cursor < end)
            pl_rows_fail(&rows, 1, "is damaged: it ends inside a number");
        pl_outcome_has(&r->database.outcome, !is_known || add_number(estimates, id, most),
                       "the cycles of the programs");
    }
    pl_id_map_sort(&estimates->ids);
}

static void read_repeats(pl_database *database, numbers *repeats) {
    static const pl_column columns[] = {{"id", false}, {"repeat_count", false}};
    pl_rows rows = open_pairs(database, "program_type_repeat", columns);
    while (pl_rows_next(&rows)) {
        uint64_t id;
        uint64_t count;
        if (pl_rows_told(&rows, 0, &id) && pl_rows_told(&rows, 1, &count))
            pl_outcome_has(&database->outcome,
                           add_number(repeats, id, count < UINT32_MAX ? count : UINT32_MAX),
                           "the repeats");
    }
    pl_id_map_sort(&repeats->ids);
}

/* The tables of program types, and the columns with their cycles. */
enum { EXECUTES, DO_EXCHANGES, GLOBAL_EXCHANGES, CODE_COPIES, STREAM_COPIES, NUM_TABLES };

static const struct {
    const char *name;
    pl_column columns[2];
    popliner_program_type type;
} tables[NUM_TABLES] = {
    [EXECUTES] = {"compute_sets",
                  {{"compute_set", false}, {"cycles_by_tile_ids", false}},
                  POPLINER_PROGRAM_ON_TILE_EXECUTE},
    [DO_EXCHANGES] = {"program_type_do_exchange",
                      {{"id", false}, {"cycles_by_tile_ids", false}},
                      POPLINER_PROGRAM_DO_EXCHANGE},
    [GLOBAL_EXCHANGES] = {"program_type_global_exchange",
                          {{"id", false}, {"estimated_cycles_by_tile_ids", false}},
                          POPLINER_PROGRAM_GLOBAL_EXCHANGE},
    [CODE_COPIES] = {"program_type_code_copy",
                     {{"id", false}, {"cycles_by_tile_ids", false}},
                     POPLINER_PROGRAM_CODE_COPY},
    [STREAM_COPIES] = {"program_type_stream_copy_mid",
                       {{"id", false}, {"estimated_cycles_by_tile_ids", false}},
                       POPLINER_PROGRAM_STREAM_COPY_MID},
};

/* Sets the estimate of every program, and its repeats. */
static void estimate_programs(pl_database *database, popliner_profile *p,
                              const numbers estimates[NUM_TABLES], const numbers *repeats) {
    static const pl_column columns[] = {{"variant_index", false}};
    static const pl_table programs = {"programs", PL_TABLE_REQUIRED, columns, 1, "ORDER BY rowid"};
    pl_rows rows = pl_rows_open(database, &programs);
    for (size_t program = 0; pl_rows_next(&rows) && program < p->num_programs; program++) {
        popliner_program_type type = (popliner_program_type)p->program_type[program];
        uint64_t index = UINT64_MAX;
        uint64_t value;
        if (type == POPLINER_PROGRAM_ON_TILE_EXECUTE)
            index = p->program_compute_set[program];
        else
            pl_rows_told(&rows, 0, &index);
        if (type == POPLINER_PROGRAM_REPEAT && find_number(repeats, index, &value))
            p->program_repeats[program] = (uint32_t)value;
        for (int table = 0; table < NUM_TABLES; table++) {
            if (type == tables[table].type && find_number(&estimates[table], index, &value)) {
                p->program_cycles[program] = value;
                p->program_cycles_source[program] = POPLINER_CYCLES_ESTIMATED;
            }
        }
    }
    pl_rows_close(&rows);
}

/* Replaces all estimates if anything was measured: the two must not be mixed. A program gets the
 * mean of its executions, each with the cycles of its slowest IPU. */
static void measure_programs(popliner_profile *p, pl_outcome *outcome) {
    uint64_t *cycles = pl_new_array(p->num_programs, sizeof *cycles);
    uint64_t *executions = pl_new_array(p->num_programs, sizeof *executions);
    bool is_measured = false;
    const bool is_well =
        pl_outcome_has(outcome, cycles != NULL && executions != NULL, "the steps of the execution");
    for (size_t step = 0; is_well && step < p->num_execution_steps; step++) {
        uint32_t program = p->execution_program[step];
        if (program == PL_NONE ||
            p->execution_ipus_start[step] == p->execution_ipus_start[step + 1])
            continue;
        cycles[program] = add_cycles(cycles[program], pl_profile_execution_cycles(p, step));
        executions[program]++;
        is_measured = true;
    }
    for (size_t i = 0; is_measured && i < p->num_programs; i++) {
        bool ran = executions[i] > 0;
        p->program_cycles[i] = ran ? (cycles[i] + executions[i] / 2) / executions[i] : 0;
        p->program_cycles_source[i] = ran ? POPLINER_CYCLES_MEASURED : POPLINER_CYCLES_NONE;
    }
    free(cycles);
    free(executions);
}

static void read_cycles(pl_reading *r) {
    pl_database *database = &r->database;
    popliner_profile *p = r->profile;
    numbers slowest = {0};
    numbers repeats = {0};
    numbers estimates[NUM_TABLES] = {{.count = 0}};
    p->num_timed_programs = p->num_programs;
    if (!pl_outcome_has(&database->outcome, pl_profile_allocate(p, &p->num_timed_programs),
                        "the cycles of the programs"))
        return;
    for (size_t i = 0; i < p->num_programs; i++)
        p->program_repeats[i] = 1;
    read_slowest_tiles(r, &slowest);
    for (int i = 0; i < NUM_TABLES; i++)
        read_estimates(r, open_pairs(database, tables[i].name, tables[i].columns),
                       i == EXECUTES ? &r->ids.compute_sets : NULL, &slowest, &estimates[i]);
    read_repeats(database, &repeats);
    estimate_programs(database, p, estimates, &repeats);
    measure_programs(p, &database->outcome);
    /* nothing uses the repeats without cycles */
    if (pl_profile_cycles_source(p) == POPLINER_CYCLES_NONE)
        p->num_timed_programs = 0;
    free_numbers(&slowest);
    free_numbers(&repeats);
    for (int table = 0; table < NUM_TABLES; table++)
        free_numbers(&estimates[table]);
}

/* ---- The whole execution ---- */

void pl_profile_read_execution(pl_reading *r) {
    const popliner_listener *listener = r->options->listener;
    const popliner_profile *profile = r->profile;
    execution x = {.reading = r, .profile = r->profile, .ids = &r->ids};
    read_steps(&x);
    read_ipus(&x);
    read_runs(&x);
    if (pl_database_is_well(&r->database) && x.num_senseless > 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "Ignored wrong values of %zu executed steps: unknown program, no cycles or "
                "impossible balance.",
                x.num_senseless);
    if (pl_database_is_well(&r->database) && profile->num_runs > 0 &&
        x.num_run_steps != profile->num_execution_steps)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The runs have %llu steps in total, but %zu are recorded: steps may count in the "
                "wrong run.",
                (unsigned long long)x.num_run_steps, profile->num_execution_steps);
    pl_id_map_free(&x.steps);
    read_cycles(r);
}
