/* A lower bound of the step of any split, from the passes of units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_BOUND_H
#define PL_SOLVE_STEP_BOUND_H

#include "popliner/pipeline.h"
#include "solve/problem.h"
#include "solve/step.h"

/* Returns the passes of stage k, alone on its IPU, that follow the first micro-batch's forward and
 * backward pass; saturates. */
uint64_t pl_step_rest(const popliner_pipeline *pipeline, pl_step_parts passes, size_t k,
                      size_t num_stages);

/* Returns how many groups of micro-batches wait for each other: the first device runs the forward
 * passes of a group before the first backward pass. */
uint64_t pl_step_turns(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks);

/* The data of the bound; zero-initialise, free with pl_step_bound_free. */
typedef struct pl_step_bound {
    const popliner_pipeline *pipeline;
    size_t num_units;
    size_t num_stages;
    const pl_unit_passes *passes; /* NULL: unknown */
    /* [units + 1]: cycles of stages that end before the unit, at least, if cycles add up and have no
     * passes; or NULL. Without both nothing is known, and every step is possible. */
    uint64_t *before;
} pl_step_bound;

/* Prepares the bound for pipelines of num_stages stages, one for each IPU. Nothing is known if IPUs
 * have speeds. With passes, nothing is known of several samples, if an interval takes less than its
 * units and its cuts, and of more than 4,096 units; without, if cycles do not add up, and of
 * zero-bubble schedules. Errors: MEMORY. O(n^2) with passes, else O(n). */
popliner_status pl_step_bound_create(pl_step_bound *bound, const pl_problem *problem,
                                     const popliner_pipeline *pipeline, size_t num_stages,
                                     popliner_error *error);
void pl_step_bound_free(pl_step_bound *bound);

/* False if no split has a step of at most `cycles`. The bounds of pl_step_search hold for each
 * stage of any split. If they hold for some split, they hold for the one whose every stage has as
 * many units as they allow: a stage that begins later has fewer units, of which M passes take longer
 * than what comes before them. Limits of memory and constraints do not count. O(stages * log(n)). */
bool pl_step_bound_allows(const pl_step_bound *bound, uint64_t cycles);

/* Returns the fewest cycles that the bound allows, or `most` if that is less. O(stages * log(n)),
 * log(most) times. */
uint64_t pl_step_bound_least(const pl_step_bound *bound, uint64_t most);

#endif
