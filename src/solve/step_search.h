/* The split of a pipeline whose step takes least.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_SEARCH_H
#define PL_SOLVE_STEP_SEARCH_H

#include "popliner/pipeline.h"
#include "solve/problem.h"
#include "solve/stop.h"

typedef struct pl_step_question {
    const popliner_costs *costs;
    /* Complete, with the device map of the pipeline, whose stages go round its IPUs. Objectives are
     * those after the step; none is HEADROOM. */
    const popliner_solver_options *options;
    const popliner_pipeline *pipeline; /* copies.num_micro_batches is set */
    /* Returns the cycles that follow the passes, for the stages of one IPU: at least those for some
     * of them. The IPU with most counts; each has at least least_after. NULL: none follow. */
    uint64_t (*after)(void *user, const popliner_interval *stages, size_t num_stages);
    void *user;
    uint64_t least_after;
    uint64_t max_cycles;        /* of the step and what follows; slower splits do not count */
    const popliner_plan *start; /* a split to begin with */
    const pl_stop *stop;
} pl_step_question;

typedef struct pl_step_answer {
    popliner_plan *plan; /* NULL if no split counts, or none was found */
    popliner_pipeline_step step;
    uint64_t cycles;       /* of the step and what follows */
    uint64_t bound_cycles; /* no split that counts takes less; UINT64_MAX if none counts */
    /* True if no split is faster, and none as fast is better in the objectives. */
    bool is_proven;
} pl_step_answer;

/* Simulates splits in the order of a branch and bound. It ends after *work units of work (about ten
 * nanoseconds each), which it decreases, or when it is stopped. A step has these lower bounds, for
 * each stage s with forward and backward passes of f and b cycles and cₛ = fₛ + bₛ, when a device runs at
 * most a + 1 forward passes before its first backward pass:
 *
 *   c₀ + … + cₛ₋₁ + M cₛ                            what comes before, all passes, what comes after
 *   Σ c + (M − 1) bₛ + max(M − 1 − aₛ, 0) fₛ        the first micro-batch up to its backward pass
 *   ⌈M / (a₀ + 1)⌉ Σ c                              micro-batches that wait for each other
 *
 * For zero-bubble, b without the weights' gradients counts in the sums. Errors: those of
 * pl_split_evaluate. */
popliner_status pl_step_search(const pl_step_question *question, uint64_t *work,
                               pl_step_answer *answer, popliner_error *error);

#endif
