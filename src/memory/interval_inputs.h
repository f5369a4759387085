/* Data for measuring all stages that is the same for every tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_INTERVAL_INPUTS_H
#define PL_MEMORY_INTERVAL_INPUTS_H

#include "base/bounds.h"
#include "base/growth.h"
#include "memory/account.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/needs.h"
#include "memory/parameters.h"
#include "memory/passes.h"
#include "memory/stage.h"
#include "memory/unit_usage.h"
#include "popliner/pipeline.h"

/* ---- Data that a stage in a pipeline stores of each micro-batch until its backward pass ---- */

/* A variable is added at `unit` to the stages that begin at first_start ... last_start and grow to
 * the right. */
typedef struct pl_stash_arrival {
    uint32_t unit;
    uint32_t first_start;
    uint32_t last_start;
} pl_stash_arrival;

typedef struct pl_stash {
    popliner_recompute recompute;
    size_t num_units;
    uint32_t first_data_unit;
    const pl_passes *passes; /* not owned */
    uint8_t *is_fed;         /* [num_variables], if inputs are stored; else NULL */
    /* Two lists for each set of the usage of the passes, the second for variables that were copied
     * from the host: a variable of list l that is live at the right time is added as
     * arrivals[start[l] ... start[l + 1] - 1] say. Empty for POPLINER_RECOMPUTE_STANDARD, where
     * arrivals depend on when the variable is live. */
    size_t *start;
    pl_stash_arrival *arrivals;
    /* [num_classes], for POPLINER_RECOMPUTE_STANDARD: true if it crosses the turn, or the start of
     * a unit's forward pass */
    uint8_t *class_matters;
} pl_stash;

/* Scratch space of each thread that adds tiles, each [num_units]; the first array is all 0. */
typedef struct pl_stash_work {
    uint8_t *passes;  /* that touch a variable */
    uint8_t *crosses; /* whether it is live when the unit begins its forward pass */
} pl_stash_work;

/* Adds the variables of a tile to the stash of the stages that begin at s when they grow to unit u,
 * as differences over s, to arriving_bytes[(num_units + 1) * num_units], at s * num_units + u.
 * Differences may be negative: as unsigned numbers they wrap around, and the sums are right. */
void pl_stash_add_tile(const pl_stash *stash, const popliner_profile *profile,
                       const pl_unit_usage *usage, size_t tile, pl_stash_work *work,
                       uint64_t *arriving_bytes);

/* The bandwidth of an IPU to its neighbour, and from it, at the same time. */
#define PL_LINK_BYTES_PER_SECOND ((double)POPLINER_LINK_BYTES_PER_SECOND)

typedef struct pl_interval_options {
    popliner_pipeline pipeline;
    popliner_need need;           /* to compute; with details all are */
    uint64_t max_bytes;           /* limit of a tile: beyond it the need is not computed */
    bool with_cycles;             /* also fill the table of cycles */
    double link_bytes_per_second; /* for the transfer time of cuts; 0: no time */
    /* 0: one per processor; the result does not depend on it */
    size_t num_threads;
    const popliner_listener *listener; /* gets progress; may be NULL */
    bool with_tile_needs;              /* also fill tile_needs of the details */
    /* of the chain: uses its account and pass usage; or NULL */
    pl_stage_meter *meter;
    pl_bounds *bounds; /* or NULL */
} pl_interval_options;

#define PL_INTERVAL_OPTIONS_INIT                                                                   \
    {                                                                                              \
        {POPLINER_SCHEDULE_NONE,                                                                   \
         POPLINER_RECOMPUTE_NONE,                                                                  \
         1,                                                                                        \
         0,                                                                                        \
         POPLINER_ACCUMULATORS_NONE,                                                               \
         {{{0}}},                                                                                  \
         POPLINER_COPIES_UNSET,                                                                    \
         NULL,                                                                                     \
         NULL},                                                                                    \
            POPLINER_NEED_EXPECTED, UINT64_MAX, false, PL_LINK_BYTES_PER_SECOND, 0, NULL, false,   \
            NULL, NULL                                                                             \
    }

/* Consecutive liveness steps of one unit. */
typedef struct pl_step_run {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t unit;
} pl_step_run;

/* Data for all tiles, and for all threads that measure them. */
typedef struct pl_interval_inputs {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_chain *chain;
    const pl_interval_options *options;
    const pl_memory_model *model; /* of the chain */
    /* those of the options' meter, or own_account and own_pass_usage */
    const pl_account *account;
    const pl_pass_usage *pass_usage;
    pl_arrays arrays; /* own all arrays below */
    pl_account own_account;
    pl_pass_usage own_pass_usage;
    uint32_t first_data_unit; /* data that only earlier units touch does not count */
    pl_passing passing;       /* the units that touch and count the variables of each set */
    uint8_t *was_kept;        /* [classes], only if it trains: it is live across the turn */
    pl_stash stash;           /* only for a pipeline that stores something */
    size_t max_stages;        /* of the pipeline: 1 if it stores nothing */
    bool keeps;
    bool frees[POPLINER_NUM_NEEDS]; /* see pl_pipeline_frees_originals */
    pl_waits waits;                 /* if any need frees */
    bool has_buffers;               /* sent data stays in the stage */
    bool has_accumulators;          /* the profile */
    uint64_t accumulator_factor;
    pl_gradients gradients;
    const pl_gradients *accumulated; /* `gradients`; NULL: gradients live as in the profile */
    pl_need_rule rule;               /* of stages before the last unit */
    pl_need_rule last_rule;          /* of stages that end with the last unit */
    bool wants_need[POPLINER_NUM_NEEDS];

    /* State and code of all programs with one set of pass_usage: [sets][tiles]. */
    uint64_t *set_bytes[PL_NUM_CODE_GROUPS];
    /* The units that need each vertex kind on each tile: [types][tiles], sets of kind_sets. */
    pl_vertex_kinds kinds;
    uint32_t *kind_set;
    pl_unit_sets kind_sets;
    /* Code of each vertex kind: [types][tiles]. */
    uint64_t *kind_code_bytes;
    /* The steps of each unit: those of unit u begin at unit_runs_start[u]. */
    size_t *unit_runs_start; /* [num_units + 1] */
    pl_step_run *unit_run;
    uint32_t *run_of_step; /* [num_steps] */
    /* Whether the steps that count in some stage can begin or end before a step. */
    uint8_t *is_break; /* [num_steps + 1] */
    /* The sets of units of `passing`, as bits: [sets][set_words]. */
    size_t set_words;
    uint64_t *set_bits;
} pl_interval_inputs;

/* Returns the units that touch a variable: a set of passing.sets. O(1). */
static inline uint32_t pl_units_touching(const pl_interval_inputs *inputs, uint64_t variable) {
    return inputs->passing.touching[pl_unit_usage_of(&inputs->pass_usage->usage, variable)];
}

/* Returns the units that count a variable, if it is not always-live, at steps before the turn or
 * from it on: a set of passing.sets. O(1). */
static inline uint32_t pl_units_counting(const pl_interval_inputs *inputs, uint64_t variable,
                                         bool is_before_turn) {
    uint32_t set = pl_unit_usage_of(&inputs->pass_usage->usage, variable);
    uint32_t class_index = inputs->profile->variable_class[variable];
    if (inputs->profile->class_always_live[class_index])
        return inputs->passing.touching[set];
    if (is_before_turn)
        return inputs->passing.forward[set];
    return inputs->was_kept != NULL && inputs->was_kept[class_index] != 0
               ? inputs->passing.touching[set]
               : inputs->passing.backward[set];
}

/* Fills the inputs for a pipeline of at most max_stages stages, and for all needs or that of the
 * options. The caller has set the chain and options, to which the inputs refer, and everything else
 * to 0; free with pl_interval_inputs_free, also after a failure. False if memory is short. Cost:
 * two passes over the variables that programs touch, unless the options have a meter that made
 * them, and O((vertex types + sets) * tiles). */
bool pl_interval_inputs_find(pl_interval_inputs *inputs, size_t max_stages, bool with_all_needs);
void pl_interval_inputs_free(pl_interval_inputs *inputs);

#endif
