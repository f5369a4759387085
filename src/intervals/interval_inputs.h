/* What is found out once for measuring all stages, before the tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_INTERVALS_INTERVAL_INPUTS_H
#define PL_INTERVALS_INTERVAL_INPUTS_H

#include "intervals/stash.h"
#include "memory/account.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/passes.h"
#include "memory/unit_usage.h"
#include "popliner/intervals.h"

/* Liveness steps one after another that belong to the same unit. */
typedef struct pl_step_run {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t unit;
} pl_step_run;

/* What is the same for all tiles, and for all threads that meter them. */
typedef struct pl_interval_inputs {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    const popliner_interval_options *options;
    const pl_memory_model *model; /* that of the chain */
    pl_account account;
    uint32_t first_data_unit; /* data that only units before it touch does not count */
    pl_unit_usage usage;
    pl_passes passes;
    pl_unit_usage pass_usage; /* of the passes, see pl_passes_unit_usage */
    pl_stash stash;           /* only for a pipeline that trains */
    size_t most_stages;       /* of the pipeline: 1 for one that keeps nothing */

    /* State and code of all programs with the same set of units: [sets][tiles]. */
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
    /* The sets of units that use something, as bits: [sets][set_words]. */
    size_t set_words;
    uint64_t *set_bits;
} pl_interval_inputs;

/* Finds them out for a pipeline of at most so many stages. Zero-initialise before, free with
 * pl_interval_inputs_free, also after an error. Refers to all that it is given. Errors: MEMORY.
 * Cost: two passes over the variables that programs touch, and O((vertex types + sets) * tiles). */
popliner_status pl_interval_inputs_find(pl_interval_inputs *inputs, const popliner_profile *profile,
                                        const popliner_operations *operations,
                                        const popliner_chain *chain,
                                        const popliner_interval_options *options,
                                        size_t most_stages, popliner_error *error);
void pl_interval_inputs_free(pl_interval_inputs *inputs);

#endif
