/* What a memory model counts, as rules that everything else asks: a table of them for each model,
 * in a file of its own. Another model is another such file, and a row in memory_model.c.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_MEMORY_MODEL_H
#define PL_MEMORY_MEMORY_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/stage.h"

struct pl_vertex_kinds;
struct pl_stage_meter;

/* The place of an operation behind all layers, while a chain is made. Those before all layers, or
 * in none, are in place 0, and each layer is in that of its number. */
static const uint32_t PL_PLACE_TAIL = UINT32_MAX - 1;

typedef struct pl_memory_model {
    popliner_memory_model id;
    const char *name; /* in reports */

    /* ---- the chain ---- */

    /* Unit 0 is what is in no layer, wherever it runs. Its data is taken to be spread over all IPUs
     * and counts in no stage. Otherwise the chain has a head and a tail. */
    bool has_unlayered_unit;

    /* Gives every operation of a chain without units its place, as its unit. Errors: MEMORY; USAGE
     * if it needs the variables and they are not loaded. */
    popliner_status (*place_operations)(popliner_chain *chain, popliner_error *error);

    /* ---- code and vertex state ---- */

    /* Changes the kinds, of which each vertex type has its own, where types count as one. NULL:
     * none do. Errors: MEMORY. */
    popliner_status (*merge_vertex_types)(struct pl_vertex_kinds *kinds,
                                          const popliner_profile *profile, popliner_error *error);

    /* The state of a compute set is what the compiler tells of it, where it does. Otherwise it is
     * instances times the size of their type. */
    bool takes_told_state;

    /* The state of a compute set counts again for every program that executes it. */
    bool repeats_state;

    /* ---- data ---- */

    /* What the compiler counts and no operation explains is in every stage, and no stage has more
     * code than the compiler counts; see memory/account.h. */
    bool follows_account;

    /* Always-live data is added to the peak of the other data. Otherwise it is data like any other,
     * live at the steps that the compiler tells. */
    bool adds_always_live;

    /* The steps of a stage are those of its units, wherever they are. Otherwise they are all steps
     * from its first to its last operation, by the rules of PopLiner (popliner/stage.h). */
    bool has_own_steps;

    /* A longer stage may need less on a tile. */
    bool may_shrink;

    /* A diagnosis compares the stage of all operations, at its own step, with the account.
     * Otherwise it compares what is explained at the step of the account. */
    bool compares_own_step;

    /* ---- one stage, see memory/stage_data.h ---- */

    /* Makes meter->work, what measuring needs beside the meter, and frees it, also after an error.
     * Errors: MEMORY. */
    popliner_status (*begin_work)(struct pl_stage_meter *meter, popliner_error *error);
    void (*free_work)(struct pl_stage_meter *meter);

    /* Forgets the peaks that it remembered; NULL if it never does. */
    void (*forget_peaks)(struct pl_stage_meter *meter);

    /* Marks the variables of a stage and finds variables_bytes, peak_step, and of unexplained_bytes
     * what is not always live, of each tile, which are 0 before. Errors: MEMORY. */
    popliner_status (*measure_data)(struct pl_stage_meter *meter, const size_t *operations,
                                    size_t num_operations, popliner_stage_memory *memory,
                                    popliner_error *error);
} pl_memory_model;

extern const pl_memory_model pl_popliner_model;
extern const pl_memory_model pl_full_model;

/* The rules of a model, which are static; NULL if there is no such model. */
const pl_memory_model *pl_memory_model_find(popliner_memory_model id);

#endif
