/* An execution of the profile's programs: runs, their steps, and what these took on every tile.
 *
 * No real file with such rows is known. They are made from the definitions of the tables: the
 * comments of the columns in real files that hold none, and programs that others wrote to read
 * them. Where these leave a choice, it is told below, beside what is written. Tables that repeat
 * or sum up others (compute_set_cycles_*, absolute_markers), that belong to other instrumentation
 * (vertices, blocks, inter_ipu_exchange_cycles_by_tile) or that hold options alone
 * (execution_parameters) stay empty.
 *
 * What a program takes is near its estimate, where it has one. Tiles go ahead on their own and wait
 * for each other in syncs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"
#include "mkprofile/profile.h"
#include "mkprofile/random.h"

#include <stdlib.h>
#include <string.h>

/* Calls of Engine::run: the choice among the children of the control program's switch. */
static const struct {
    size_t choice;
    const char *name;
} runs[] = {
    {0, "copy the weights to the device"},
    {1, "first batch"},
    {1, "second batch"},
    {2, "copy the weights to the host"},
};

enum { NUM_RUNS = sizeof runs / sizeof *runs };

/* 2022-10-01, the date of the profile; between two runs the host is busy for a while. */
static const uint64_t first_epoch_microseconds = 1664582400000000;
enum { MICROSECONDS_BETWEEN_RUNS = 1000 };

enum {
    SYNC_CYCLES = 20,
    HOST_MIN_CYCLES = 1000, /* that the host lets the device wait at the begin of a copy */
    HOST_MORE_CYCLES = 20000,
    COPY_END_CYCLES = 140,
};

/* The columns of execution_cycle_totals behind its run and its cycles, in their order. */
typedef enum total {
    /* Of all tiles that have vertices, ... */
    TOTAL_ACTIVE_COMPUTE,
    /* ... and of all tiles until the last of them is done. */
    TOTAL_COMPUTE,
    TOTAL_INTERNAL_EXCHANGE,
    TOTAL_INTER_IPU_EXCHANGE, /* none: there is one IPU */
    TOTAL_STREAM_COPY,
    TOTAL_STREAM_COPY_BEGIN,
    TOTAL_STREAM_COPY_END,
    TOTAL_SYNC,
    NUM_TOTALS,
} total;

typedef struct execution {
    mk_profile *profile;
    mk_lookup estimates;
    mk_rows steps;
    mk_rows steps_by_ipu;
    mk_rows cycles_by_tile;
    mk_rows trace;
    uint64_t *clocks; /* by tile: cycles since the first run began */
    uint64_t *cycles; /* by tile: of the current step */
    size_t choice;    /* of the current run */
    size_t num_steps; /* of all runs so far */
    size_t num_programs;
    uint64_t totals[NUM_TOTALS]; /* of the current run */
} execution;

/* The least, the most and the mean (rounded down) of some numbers. */
typedef struct spread {
    uint64_t min;
    uint64_t max;
    uint64_t sum;
    uint64_t count;
} spread;

static void spread_add(spread *s, uint64_t value) {
    s->min = s->count == 0 || value < s->min ? value : s->min;
    s->max = value > s->max ? value : s->max;
    s->sum += value;
    s->count++;
}

static void write_spread(mk_rows *rows, const spread *s) {
    mk_rows_integer(rows, s->max);
    mk_rows_integer(rows, s->count > 0 ? s->sum / s->count : 0);
    mk_rows_integer(rows, s->min);
}

/* The mean as a part of the most: 1 when all are equal. */
static double balance(uint64_t sum, uint64_t count, uint64_t max) {
    return max > 0 ? (double)sum / (double)count / (double)max : 0;
}

/* ---- What a step takes ---------------------------------------------------------------------- */

/* The estimate, which misses each program by a part of its own, and a little more from tile to tile
 * and from step to step. */
static void measure_estimated(execution *x, const mk_program *program, size_t estimate) {
    size_t num_tiles = (size_t)x->profile->plan->options.num_tiles;
    uint64_t seed = x->profile->plan->options.plan_seed + 3;
    uint64_t permille = 900 + mk_random(seed, program->id, 0) % 301;
    uint64_t of_step = mk_random(seed, x->num_steps, 1);
    mk_lookup_rle(&x->estimates, estimate, x->cycles, num_tiles);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t cycles = x->cycles[tile] * permille / 1000;
        x->cycles[tile] = cycles + mk_random(of_step, tile, 0) % (cycles / 64 + 1);
    }
}

static void measure_equal(execution *x, uint64_t cycles) {
    for (size_t tile = 0; tile < x->profile->plan->options.num_tiles; tile++)
        x->cycles[tile] = cycles;
}

/* Every tile waits for the last one. */
static void measure_sync(execution *x) {
    size_t num_tiles = (size_t)x->profile->plan->options.num_tiles;
    uint64_t last = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        last = x->clocks[tile] > last ? x->clocks[tile] : last;
    for (size_t tile = 0; tile < num_tiles; tile++)
        x->cycles[tile] = last - x->clocks[tile] + SYNC_CYCLES;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* The row of the one IPU: cycles_base is when the first tile begins with the step, the other
 * cycles count from there. Active are the tiles that take any time. Moves the clocks on. */
static void write_step_of_ipu(execution *x) {
    size_t num_tiles = (size_t)x->profile->plan->options.num_tiles;
    spread begin = {0};
    spread active_from = {0};
    spread active_to = {0};
    spread all_to = {0};
    spread taken = {0};
    for (size_t tile = 0; tile < num_tiles; tile++)
        spread_add(&begin, x->clocks[tile]);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t from = x->clocks[tile] - begin.min;
        uint64_t to = from + x->cycles[tile];
        spread_add(&all_to, to);
        if (x->cycles[tile] > 0) {
            spread_add(&active_from, from);
            spread_add(&active_to, to);
            spread_add(&taken, x->cycles[tile]);
        }
        x->clocks[tile] += x->cycles[tile];
    }
    mk_rows *rows = &x->steps_by_ipu;
    mk_rows_integer(rows, x->num_steps);
    mk_rows_integer(rows, 0);
    mk_rows_integer(rows, begin.min);
    write_spread(rows, &active_from);
    write_spread(rows, &active_to);
    write_spread(rows, &all_to);
    mk_rows_integer(rows, taken.max);
    mk_rows_integer(rows, taken.count);
    mk_rows_real(rows, balance(taken.sum, taken.count, taken.max));
    mk_rows_null(rows); /* threads are not told apart */
    mk_rows_real(rows, balance(taken.sum, num_tiles, taken.max));
    mk_rows_integer(rows, x->num_steps);
    mk_rows_next(rows);
    mk_rows_integer(&x->cycles_by_tile, x->num_steps);
    mk_write_by_tile(x->profile, &x->cycles_by_tile, x->cycles);
    mk_rows_next(&x->cycles_by_tile);
}

static void add_total(execution *x, mk_program_type type) {
    static const total totals[MK_PROGRAM_TYPE_END] = {
        [MK_ON_TILE_EXECUTE] = TOTAL_ACTIVE_COMPUTE,
        [MK_DO_EXCHANGE] = TOTAL_INTERNAL_EXCHANGE,
        [MK_STREAM_COPY_BEGIN] = TOTAL_STREAM_COPY_BEGIN,
        [MK_STREAM_COPY_MID] = TOTAL_STREAM_COPY,
        [MK_STREAM_COPY_END] = TOTAL_STREAM_COPY_END,
        [MK_SYNC] = TOTAL_SYNC,
        [MK_SYNC_ANS] = TOTAL_SYNC,
    };
    size_t num_tiles = (size_t)x->profile->plan->options.num_tiles;
    uint64_t max = 0;
    for (size_t tile = 0; tile < num_tiles; tile++) {
        x->totals[totals[type]] += x->cycles[tile];
        max = x->cycles[tile] > max ? x->cycles[tile] : max;
    }
    if (type == MK_ON_TILE_EXECUTE)
        x->totals[TOTAL_COMPUTE] += max * num_tiles;
}

/* The number where the program is of the type, else NULL: what the programs' tables tell, too. */
static void write_if(mk_rows *rows, bool is_told, size_t number) {
    if (is_told)
        mk_rows_integer(rows, number);
    else
        mk_rows_null(rows);
}

/* Writes the step that took x->cycles; `program` is NULL for a sync that no program asks for. */
static void write_step(execution *x, const mk_program *program) {
    mk_program_type type = program != NULL ? program->type : MK_SYNC;
    mk_rows *rows = &x->steps;
    mk_rows_integer(rows, x->num_steps);
    mk_rows_text(rows, mk_program_type_name(type));
    write_if(rows, program != NULL, program != NULL ? program->id : 0);
    if (type == MK_SYNC)
        mk_rows_text(rows, "Internal");
    else
        mk_rows_null(rows);
    size_t target = program != NULL ? program->target : 0;
    write_if(rows, type == MK_STREAM_COPY_MID, target);
    mk_rows_null(rows); /* between IPUs */
    write_if(rows, type == MK_DO_EXCHANGE, target);
    write_if(rows, type == MK_ON_TILE_EXECUTE, target);
    mk_rows_next(rows);
    add_total(x, type);
    write_step_of_ipu(x);
    if (program != NULL) {
        mk_rows_integer(&x->trace, x->num_programs++);
        mk_rows_integer(&x->trace, program->id);
        mk_rows_next(&x->trace);
    }
    x->num_steps++;
}

static void execute(execution *x, size_t number);

static void execute_children(execution *x, size_t number) {
    const mk_network_plan *plan = x->profile->plan;
    for (size_t child = mk_program_at(plan, number)->children; child != MK_NONE;
         child = mk_program_at(plan, child)->next)
        execute(x, child);
}

/* Programs made of others take no time of their own, nor does WriteUndef, nor Sans, which waits for
 * nothing: they are no steps. An exchange needs all tiles at its start. */
static void execute(execution *x, size_t number) {
    const mk_network_plan *plan = x->profile->plan;
    const mk_program *program = mk_program_at(plan, number);
    switch (program->type) {
    case MK_ON_TILE_EXECUTE:
        measure_estimated(x, program, program->target);
        write_step(x, program);
        break;
    case MK_DO_EXCHANGE:
        measure_sync(x);
        write_step(x, NULL);
        measure_estimated(x, program, x->profile->exchange_cycles + program->target);
        write_step(x, program);
        break;
    case MK_STREAM_COPY_BEGIN:
        measure_equal(x, HOST_MIN_CYCLES + mk_random(plan->options.plan_seed + 3, x->num_steps, 2) %
                                               HOST_MORE_CYCLES);
        write_step(x, program);
        break;
    case MK_STREAM_COPY_MID:
        measure_estimated(x, program, x->profile->host_copy_cycles + program->target);
        write_step(x, program);
        break;
    case MK_STREAM_COPY_END:
        measure_equal(x, COPY_END_CYCLES);
        write_step(x, program);
        break;
    case MK_SYNC:
    case MK_SYNC_ANS:
        measure_sync(x);
        write_step(x, program);
        break;
    case MK_REPEAT:
        for (size_t i = 0; i < program->target; i++)
            execute_children(x, number);
        break;
    case MK_CALL:
        execute(x, mk_occasion_at(plan, program->target)->body);
        break;
    case MK_ON_EVERY_TILE_SWITCH: {
        size_t child = program->children;
        for (size_t i = 0; i < x->choice; i++)
            child = mk_program_at(plan, child)->next;
        execute(x, child);
        break;
    }
    case MK_SEQUENCE:
        execute_children(x, number);
        break;
    case MK_SANS:
    case MK_WRITE_UNDEF:
    case MK_GLOBAL_EXCHANGE: /* there is one IPU */
    case MK_PROGRAM_TYPE_END:
        break;
    }
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* How the blobs by IPU of runs are written is not known: they are taken for lists. */
static void write_by_ipu(execution *x, mk_rows *rows, uint64_t value) {
    pl_varint_write(&x->profile->blob, value);
    mk_rows_blob(rows, &x->profile->blob);
}

static void write_totals(execution *x, mk_rows *rows, size_t run, uint64_t cycles) {
    mk_rows_integer(rows, run);
    mk_rows_integer(rows, cycles);
    for (size_t i = 0; i < NUM_TOTALS; i++)
        mk_rows_integer(rows, x->totals[i]);
    for (size_t i = 0; i < NUM_TOTALS; i++)
        mk_rows_integer(rows, 0); /* of the instrumentation, which costs nothing here */
    mk_rows_next(rows);
}

/* All tiles begin at cycle `begin`; returns when the last of them is done. */
static uint64_t execute_run(execution *x, uint64_t begin) {
    size_t num_tiles = (size_t)x->profile->plan->options.num_tiles;
    memset(x->totals, 0, sizeof x->totals);
    for (size_t tile = 0; tile < num_tiles; tile++)
        x->clocks[tile] = begin;
    execute(x, 0); /* the control program, which is lowered first */
    uint64_t end = begin;
    for (size_t tile = 0; tile < num_tiles; tile++)
        end = x->clocks[tile] > end ? x->clocks[tile] : end;
    return end;
}

static void write_runs(execution *x) {
    mk_database *database = &x->profile->database;
    mk_rows rows = mk_rows_begin(database, "runs", 9);
    mk_rows totals = mk_rows_begin(database, "execution_cycle_totals", 2 + 2 * NUM_TOTALS);
    uint64_t begin = 0;
    uint64_t epoch = first_epoch_microseconds;
    for (size_t run = 0; run < NUM_RUNS; run++) {
        size_t first_step = x->num_steps;
        size_t first_program = x->num_programs;
        x->choice = runs[run].choice;
        uint64_t end = execute_run(x, begin);
        uint64_t microseconds = (end - begin) / MK_CYCLES_PER_MICROSECOND + 1;
        mk_rows_integer(&rows, run);
        mk_rows_integer(&rows, epoch);
        mk_rows_integer(&rows, microseconds);
        mk_rows_text(&rows, runs[run].name);
        mk_rows_integer(&rows, x->num_programs - first_program);
        mk_rows_integer(&rows, x->num_steps - first_step);
        mk_rows_null(&rows); /* the frequency is that of the target */
        write_by_ipu(x, &rows, begin);
        write_by_ipu(x, &rows, end);
        mk_rows_next(&rows);
        write_totals(x, &totals, run, end - begin);
        epoch += microseconds + MICROSECONDS_BETWEEN_RUNS;
        begin = end + MICROSECONDS_BETWEEN_RUNS * MK_CYCLES_PER_MICROSECOND;
    }
    mk_rows_end(&rows);
    mk_rows_end(&totals);
}

void mk_write_execution(mk_profile *profile) {
    mk_database *database = &profile->database;
    size_t num_tiles = (size_t)profile->plan->options.num_tiles;
    execution x = {
        .profile = profile,
        .estimates = mk_lookup_begin(database, "SELECT cycles_by_tile_rle FROM "
                                               "compilation_cycles_by_tile WHERE id = ?"),
        .steps = mk_rows_begin(database, "steps", 8),
        .steps_by_ipu = mk_rows_begin(database, "steps_by_ipu", 18),
        .cycles_by_tile = mk_rows_begin(database, "cycles_by_tile", 2),
        .trace = mk_rows_begin(database, "program_trace", 2),
        .clocks = pl_new_array(num_tiles, sizeof *x.clocks),
        .cycles = pl_new_array(num_tiles, sizeof *x.cycles),
    };
    if (x.clocks == NULL || x.cycles == NULL)
        profile->blob.failed = true;
    else
        write_runs(&x);
    mk_lookup_end(&x.estimates);
    mk_rows_end(&x.steps);
    mk_rows_end(&x.steps_by_ipu);
    mk_rows_end(&x.cycles_by_tile);
    mk_rows_end(&x.trace);
    free(x.clocks);
    free(x.cycles);
}
