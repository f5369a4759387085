/* Reads runs and the steps that they executed; and the times of programs: estimates of the
 * compiler, or measurements of these steps, and the counts of Repeats. All of it is optional: no
 * known file has rows of an execution, so invalid rows never make a profile unreadable.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "profile/profile_readers.h"

/* Reads the steps; returns the number of those with invalid values. */
static size_t read_steps(pl_reading *r) {
    enum { PROGRAM = 1 };
    size_t num_senseless = 0;
    pl_table_rows t = pl_table_open(r, PL_TABLE_EXECUTED);
    while (pl_table_next(&t)) {
        const uint32_t program = pl_id_map_find(&r->ids[PL_TABLE_PROGRAM_IDS], t.values[PROGRAM]);
        if (program == PL_NONE && !pl_rows_is_null(&t.rows, PROGRAM))
            num_senseless++; /* but syncs between programs have none */
        r->profile->execution_program[t.place] = program;
    }
    return num_senseless + t.rows.row - t.num_rows; /* those without an id */
}

enum { STEP_ID, IPU, CYCLES, ACTIVE_TILES, TILE_BALANCE };

/* True if an IPU of the file is in the part. A row of steps_by_ipu without one is for all IPUs. */
static bool is_of_part(uint64_t ipu, const pl_part *part) {
    return part->is_all ||
           (ipu != UINT64_MAX ? ipu >= part->first_ipu && ipu < part->end_ipu : !part->is_one_ipu);
}

static uint32_t limit(uint64_t number) {
    return (uint32_t)pl_smaller(number, UINT32_MAX);
}

/* Reads what the steps did on each IPU; returns the number of invalid values. */
static size_t read_ipus(pl_reading *r) {
    popliner_profile *p = r->profile;
    size_t num_senseless = 0;
    uint64_t *starts = pl_arrays_new(&p->arrays, p->num_execution_steps + 1, sizeof *starts);
    p->execution_ipus_start = starts;
    if (!pl_reading_has(r, true) || p->num_execution_steps == 0)
        return 0;
    pl_table_rows t = pl_table_open(r, PL_TABLE_EXECUTED_IPUS);
    while (pl_table_next(&t)) {
        const uint32_t step = pl_id_map_find(&r->ids[PL_TABLE_EXECUTED], t.values[STEP_ID]);
        const bool is_senseless = t.values[STEP_ID] == UINT64_MAX || t.values[CYCLES] == UINT64_MAX;
        const double balance = pl_rows_real(&t.rows, TILE_BALANCE);
        num_senseless += is_senseless;
        if (is_senseless || step == PL_NONE || !is_of_part(t.values[IPU], &r->part)) {
            p->num_execution_ipus--;
            continue;
        }
        /* both tables are read in the order of the steps */
        assert(step + 1 == p->num_execution_steps || starts[step + 2] == 0);
        starts[step + 1]++;
        p->execution_ipu[t.place] = t.values[IPU] == UINT64_MAX ? 0 : limit(t.values[IPU]);
        p->execution_active_tiles[t.place] = limit(t.values[ACTIVE_TILES]);
        /* it may be infinity, for example, which JSON cannot represent */
        p->execution_tile_balance[t.place] = pl_is_balance(balance) ? balance : 0;
        num_senseless += !pl_is_balance(balance);
    }
    for (size_t step = 0; step < p->num_execution_steps; step++)
        starts[step + 1] += starts[step];
    return num_senseless;
}

/* Reads the runs; returns the number of their steps. */
static uint64_t read_runs(pl_reading *r) {
    enum { NUM_STEPS = 1 };
    popliner_profile *p = r->profile;
    uint64_t num_run_steps = 0;
    pl_table_rows t = pl_table_open(r, PL_TABLE_RUNS);
    while (pl_table_next(&t)) {
        const uint64_t num_steps = t.values[NUM_STEPS];
        /* one more item, for the end of the last run's steps */
        if (!pl_arrays_grow(&p->arrays, &p->run_first_step, t.place + 2, sizeof(uint64_t)))
            continue;
        const uint64_t first_step = t.place > 0 ? p->run_first_step[t.place] : 0;
        const uint64_t steps_left = p->num_execution_steps - first_step;
        p->run_first_step[t.place] = first_step;
        p->run_first_step[t.place + 1] = first_step + pl_smaller(num_steps, steps_left);
        num_run_steps += limit(num_steps);
    }
    return num_run_steps;
}

uint64_t pl_profile_execution_cycles(const popliner_profile *p, size_t step) {
    uint64_t slowest = 0;
    for (uint64_t i = p->execution_ipus_start[step]; i < p->execution_ipus_start[step + 1]; i++)
        slowest = pl_larger(slowest, p->execution_cycles[i]);
    return slowest;
}

/* ---- Times of programs ---- */

/* Limits cycles so that sums and products of a few of them stay far below 2^64. */
static const uint64_t max_cycles = UINT64_MAX / 4096;

void pl_profile_read_cycles(pl_reading *r) {
    enum { RUNS = 1 };
    const pl_part *part = &r->part;
    pl_table_rows t = pl_table_open(r, PL_TABLE_CYCLES);
    while (pl_table_next(&t)) {
        size_t size_bytes;
        uint64_t most = 0;
        uint64_t most_of_part = 0;
        uint64_t tile = 0;
        uint64_t value;
        uint64_t length;
        int got;
        const uint8_t *rle = pl_rows_blob(&t.rows, RUNS, &size_bytes);
        pl_runs runs = pl_runs_begin(rle, size_bytes);
        while ((got = pl_runs_next(&runs, &value, &length)) > 0) {
            const uint64_t end = length < UINT64_MAX - tile ? tile + length : UINT64_MAX;
            most = pl_larger(most, value);
            if (tile < part->end_tile && end > part->first_tile)
                most_of_part = pl_larger(most_of_part, value);
            tile = end;
        }
        if (got < 0)
            pl_rows_fail(&t.rows, RUNS, "is damaged: it ends inside a number or a run");
        /* as far as known, a row has the tiles of one IPU; else only those of the part count */
        if (!part->is_all && tile == r->profile->target.num_tiles)
            most = most_of_part;
        if (pl_reading_grow(r, &r->row_cycles, t.place + 1, sizeof *r->row_cycles))
            r->row_cycles[t.place] =
                pl_rows_is_null(&t.rows, RUNS) ? UINT64_MAX : pl_smaller(most, max_cycles);
    }
}

uint64_t pl_reading_cycles(pl_reading *r, pl_rows *rows, int column) {
    size_t size_bytes;
    const uint8_t *cursor = pl_rows_blob(rows, column, &size_bytes);
    const uint8_t *end = cursor + size_bytes;
    uint64_t most = UINT64_MAX;
    uint64_t id;
    size_t count = 0;
    pl_varint_list_count(cursor, size_bytes, &count);
    const bool is_by_ipu = count == r->part.num_ipus || count == r->part.replica_ipus;
    for (size_t place = 0; cursor < end && pl_varint_read(&cursor, end, &id); place++) {
        const uint32_t row = pl_id_map_find(&r->ids[PL_TABLE_CYCLES], id);
        const uint64_t cycles = row == PL_NONE ? UINT64_MAX : r->row_cycles[row];
        if ((!is_by_ipu || is_of_part(place, &r->part)) && cycles != UINT64_MAX)
            most = most == UINT64_MAX ? cycles : pl_larger(most, cycles);
    }
    if (cursor < end)
        pl_rows_fail(rows, column, "is damaged: it ends inside a number");
    return most;
}

/* Replaces all estimates if anything was measured: the two must not be mixed. A program gets the
 * mean of its executions, each with the cycles of its slowest IPU. */
static void measure_programs(pl_reading *r) {
    popliner_profile *p = r->profile;
    uint64_t *cycles = pl_reading_new(r, p->num_programs, sizeof *cycles);
    uint64_t *executions = pl_reading_new(r, p->num_programs, sizeof *executions);
    const bool is_well = pl_database_is_well(&r->database);
    bool is_measured = false;
    for (size_t step = 0; is_well && step < p->num_execution_steps; step++) {
        uint32_t program = p->execution_program[step];
        if (program == PL_NONE ||
            p->execution_ipus_start[step] == p->execution_ipus_start[step + 1])
            continue;
        cycles[program] = pl_smaller(
            max_cycles,
            cycles[program] + pl_smaller(max_cycles, pl_profile_execution_cycles(p, step)));
        executions[program]++;
        is_measured = true;
    }
    for (size_t i = 0; is_measured && i < p->num_programs; i++) {
        bool ran = executions[i] > 0;
        p->program_cycles[i] = ran ? (cycles[i] + executions[i] / 2) / executions[i] : 0;
        p->program_cycles_source[i] = ran ? POPLINER_CYCLES_MEASURED : POPLINER_CYCLES_NONE;
    }
}

/* ---- The whole execution ---- */

void pl_profile_read_execution(pl_reading *r) {
    const popliner_listener *listener = r->options->listener;
    popliner_profile *profile = r->profile;
    size_t num_senseless = read_steps(r);
    num_senseless += read_ipus(r);
    const uint64_t num_run_steps = read_runs(r);
    if (pl_database_is_well(&r->database) && num_senseless > 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "Ignored wrong values of %zu executed steps: unknown program, no cycles or "
                "impossible balance.",
                num_senseless);
    if (pl_database_is_well(&r->database) && profile->num_runs > 0 &&
        num_run_steps != profile->num_execution_steps)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The runs have %llu steps in total, but %zu are recorded: steps may count in the "
                "wrong run.",
                (unsigned long long)num_run_steps, profile->num_execution_steps);
    measure_programs(r);
    /* nothing uses the repeats without cycles */
    if (pl_profile_cycles_source(profile) == POPLINER_CYCLES_NONE)
        profile->num_timed_programs = 0;
}
