/* The split of a pipeline whose step takes least.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_SEARCH_H
#define PL_SOLVE_STEP_SEARCH_H

#include "popliner/pipeline.h"
#include "solve/problem.h"
#include "solve/step.h"
#include "solve/stop.h"

typedef struct pl_step_question {
    const popliner_costs *costs;
    /* Complete, with the device map of the pipeline. Objectives are those after the step; none is
     * HEADROOM. If stages choose, each has its own IPU, and none is BALANCE. */
    const popliner_solver_options *options;
    const popliner_pipeline *pipeline; /* copies.num_micro_batches is set */
    /* Returns the cycles that follow the passes, for the stages of one IPU: at least those for some
     * of them. The IPU with most counts; each has at least least_after. NULL: none follow. */
    uint64_t (*after)(void *user, const popliner_interval *stages, size_t num_stages);
    void *user;
    uint64_t least_after;
    uint64_t least_cycles;      /* no split that counts takes less */
    uint64_t max_cycles;        /* of the step and what follows; slower splits do not count */
    const popliner_plan *start; /* a split to begin with, or NULL */
    const pl_filter *filter;    /* of the splits that count; NULL: the limits of the options */
    const pl_stop *stop;
} pl_step_question;

typedef struct pl_step_answer {
    popliner_plan
        *plan; /* NULL if no split counts, or none was found; of its values none is proven */
    popliner_pipeline_step step;
    uint64_t cycles;       /* of the step and what follows */
    uint64_t bound_cycles; /* no split that counts takes less; UINT64_MAX if none counts */
    bool is_proven;        /* no split is faster */
} pl_step_answer;

/* Stages may choose (costs->choices): their passes are those of the fewest cycles within the
 * limits, of which the backward ones are longer.
 *
 * Even stages are tried first, then all splits if they are few; else the search wanders, and a game
 * (step_game) bounds the step. The search ends after *work units of work (about ten nanoseconds
 * each), which it decreases, or if it is stopped; without work only the start and even stages are
 * tried. Errors: USAGE (the step is unknown), those of pl_split_evaluate. */
popliner_status pl_step_search(const pl_step_question *question, uint64_t *work,
                               pl_step_answer *answer, popliner_error *error);

#endif
