/* What a stage meter is inside the library, and what its memory model measures with.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_DATA_H
#define PL_MEMORY_STAGE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/numbers.h"
#include "memory/account.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/needs.h"
#include "memory/parts.h"
#include "memory/passes.h"
#include "memory/stage.h"

struct pl_stage_meter {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    pl_code_counter code;
    pl_account account;
    pl_curve curve;
    pl_arrays arrays; /* own what the meter begins with, but `variables` */
    void *work;       /* the memory model's own, made by its begin_work */

    /* What the current stage has seen carries its number. */
    uint32_t stage_number;
    uint32_t *program_seen; /* [num_programs]: its variables are marked */
    /* Of the millions of variables those of the current stage carry a mark that fits a byte: it
     * comes again only after they were all cleared. */
    uint8_t *variable_seen; /* [num_variables] */
    uint8_t variable_mark;

    uint32_t *variables; /* [num_variables]: those of the stage */
    size_t num_variables;
    pl_number_sort variable_order;
    size_t *operation_buffer; /* [operations] */
    bool is_shared;           /* the stage is several on one IPU */
    bool remembers_peaks;     /* as pl_stage_meter_remember_peaks asks */

    /* What effects ask about the current stage; NULL or 0 for none of them. The stages are the
     * caller's. */
    unsigned effects;
    const popliner_interval *stages; /* [num_stages] */
    size_t num_stages;
    uint8_t *passed;           /* [sets of pass_usage]; NULL if nothing passes */
    const uint64_t *handed_on; /* [tiles] over the cuts behind the stages, forward */
    const uint64_t *handed_in; /* [tiles] the same backward */

    /* Once a stash or an effect is measured; see stage_stash.c and stage_effects.c. */
    pl_pass_usage pass_usage;
    bool has_pass_usage;
    uint8_t *touched_by; /* [num_variables] */
    uint8_t *is_fed;     /* [num_variables] */
    bool knows_accumulators;
    bool has_accumulators; /* the profile, once that is known */
};

/* In which pass variables of a set pass through a stage. */
enum { PL_PASSED_FORWARD = 1, PL_PASSED_BACKWARD = 2 };

/* Whether a variable that the current stage does not touch passes through it, at steps before the
 * turn, or else from it on. */
bool pl_stage_is_passed(const pl_stage_meter *meter, size_t variable, bool is_before_turn);

/* Adds to the stage the variables that an operation touches. */
void pl_stage_add_variables(pl_stage_meter *meter, const popliner_operation *operation);

/* pl_stage_measure for all operations of several stages that share an IPU. */
popliner_status pl_stage_measure_intervals(pl_stage_meter *meter, const popliner_interval *stages,
                                           size_t num_stages, popliner_stage_memory *memory,
                                           popliner_error *error);

/* Puts the variables of the stage into the order of their tiles, which is their own. */
void pl_stage_sort_variables(pl_stage_meter *meter);

#endif
