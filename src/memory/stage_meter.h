/* The contents of a stage meter, and functions for its memory model.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STAGE_METER_H
#define PL_MEMORY_STAGE_METER_H

#include "base/numbers.h"
#include "memory/account.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "memory/curve.h"
#include "memory/needs.h"
#include "memory/parameters.h"
#include "memory/parts.h"
#include "memory/passes.h"
#include "memory/stage.h"

struct pl_stage_meter {
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_chain *chain;
    pl_code_counter code;
    pl_account account;
    pl_curve curve;
    pl_arrays arrays; /* own the arrays that are made with the meter, except `variables` */
    void *work;       /* the memory model's own state, made by its begin_work */

    /* The number of the current stage; program_seen holds it for its programs. */
    uint32_t stage_number;
    uint32_t *program_seen; /* [num_programs]: the stage whose variables are marked */
    /* Marks of the current stage's variables, of which there may be millions. The mark fits a byte:
     * it repeats only after all marks were cleared. */
    uint8_t *variable_seen; /* [num_variables] */
    uint8_t variable_mark;

    uint32_t *variables; /* [num_variables]: of the stage */
    size_t num_variables;
    pl_number_sort variable_order;
    size_t *operation_buffer; /* [operations] */
    bool is_shared;           /* the stage is several stages on one IPU */
    bool remembers_peaks;     /* see pl_stage_meter_remember_peaks */

    /* The current stages, for effects; NULL or 0 for no effects. The stages are the caller's. */
    unsigned effects;
    const popliner_interval *stages; /* [num_stages] */
    size_t num_stages;
    uint8_t *passed;                 /* [sets of pass_usage]; NULL if nothing passes */
    const uint64_t *sent_forward;    /* [tiles] sent over the cuts after the stages, forward */
    const uint64_t *sent_backward;   /* [tiles] sent over these cuts, backward */
    const pl_gradients *accumulated; /* NULL: gradients live as in the profile */

    /* Filled when a stash or an effect is measured; see stage_ipu.c. */
    pl_pass_usage pass_usage;
    bool has_pass_usage;
    uint8_t *touched_by; /* [num_variables] */
    uint8_t *is_fed;     /* [num_variables] */
    pl_waits waits;
    bool knows_accumulators;
    bool has_accumulators;  /* the profile, if knows_accumulators */
    pl_gradients gradients; /* if it has none */
};

/* The passes in which variables of a set pass through a stage. */
enum { PL_PASSED_FORWARD = 1, PL_PASSED_BACKWARD = 2 };

/* True if a variable that the current stage does not touch passes through it, at steps before the
 * turn, or else from it on. */
bool pl_stage_is_passed(const pl_stage_meter *meter, size_t variable, bool is_before_turn);

/* Returns the calibration of stages on one IPU in a pipeline, which may be NULL. */
pl_scales pl_stage_scales(const pl_chain *chain, const popliner_pipeline *pipeline,
                          const popliner_interval *stages, size_t num_stages);

/* Sets the meter to stages without effects. */
static inline void pl_stage_without_effects(pl_stage_meter *meter) {
    meter->effects = 0;
    meter->sent_forward = meter->sent_backward = NULL;
    meter->accumulated = NULL;
}

/* Adds the variables that an operation touches to the stage. */
void pl_stage_add_variables(pl_stage_meter *meter, const popliner_operation *operation);

/* Like pl_stage_measure, for all operations of several stages on one IPU; false if memory is
 * short. */
bool pl_stage_measure_intervals(pl_stage_meter *meter, const popliner_interval *stages,
                                size_t num_stages, popliner_stage_memory *memory);

/* Sorts the variables of the stage, which also sorts them by tile. */
void pl_stage_sort_variables(pl_stage_meter *meter);

#endif
