/* The split of a pipeline whose step takes least.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_SEARCH_H
#define PL_SOLVE_STEP_SEARCH_H

#include "costs/variants.h"
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
    bool is_even_only;          /* only the start and even stages are tried */
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
 * limits, of which the backward ones are longer; if MEMORY is an objective, within the least memory
 * for the best split's step.
 *
 * A step has these lower bounds, for each stage s with forward and backward passes of f and b
 * cycles:
 *
 *   Σ (f + b) of stages before the first one of a device + all passes of the device
 *   Σ f + b of all other stages + the passes of s from its first to its last backward one; if all
 *       forward passes come first, also those from the first to the last of these
 *   turns · Σ (f + b)          micro-batches of which one begins when the one before has ended
 *
 * b is without the weights' gradients; if these are passes of their own, b does not count in the
 * first sum. A table has the least that the stages from each unit on add to each bound. Even stages
 * are tried first. A beam goes through the stages and keeps, for each end, some beginnings of the
 * least bound with that table; the last ones are simulated. Then cuts of the best one move by a
 * unit as long as that is faster, or as fast and better in the objectives. With several stages on a
 * device a game raises the bound (step_game), and a sweep (step_sweep), and the search wanders
 * first. It ends after *work units of work (about ten nanoseconds each), which it decreases, or
 * when it is stopped. Errors: USAGE (the step is unknown), those of pl_split_evaluate. */
popliner_status pl_step_search(const pl_step_question *question, uint64_t *work,
                               pl_step_answer *answer, popliner_error *error);

/* ---- stages that choose what they recompute ---- */

/* Each is as fast as its memory allows, because a longer pass never makes a step shorter. */

/* The choices of a stage of some units within the limit of its IPU. */
typedef struct pl_step_choice {
    uint64_t cycles_and_1; /* at speed 1, plus 1; 0 if it was not looked for */
    uint64_t peak_bytes;
} pl_step_choice;

/* Zero-initialise; free with pl_step_choices_free. */
typedef struct pl_step_choices {
    const pl_choices *of; /* NULL: stages do not choose */
    const pl_problem *problem;
    uint64_t *work;
    size_t num_stages;
    size_t *like; /* [num_stages] the first stage that chooses like this one: has the same copies */
    pl_step_choice *made; /* [num_stages], of each a triangle */
    bool are_too_many;    /* stages to look at */
    pl_arrays arrays;     /* own like and made */
} pl_step_choices;

/* Prepares the choices of a problem for pipelines of num_stages, which decrease *work. Errors:
 * MEMORY. O(stages^2). */
popliner_status pl_step_choices_create(pl_step_choices *choices, const pl_problem *problem,
                                       size_t num_stages, uint64_t *work, popliner_error *error);
void pl_step_choices_free(pl_step_choices *choices);

/* Chooses the fewest cycles, at speed 1 and without links, within max_bytes for stage k; appends
 * the name to `text`, which may be NULL. Errors: those of pl_choices_choose. */
popliner_status pl_step_choose(const pl_step_choices *choices, size_t k,
                               const popliner_interval *units, uint64_t max_bytes,
                               pl_variant_choice *choice, pl_text *text, popliner_error *error);

/* Like pl_step_choose, for the limit of the stage's IPU, which is always the same: looks for a
 * choice once, and then decreases the work. */
popliner_status pl_step_usual(const pl_step_choices *choices, size_t k,
                              const popliner_interval *units, uint64_t max_bytes,
                              pl_variant_choice *choice, popliner_error *error);

/* Sets what all stages of a plan choose within the limits and most_bytes, and its values. Sets
 * *fits to false if one cannot. Errors: those of pl_choices_choose. */
popliner_status pl_step_choose_all(const pl_step_choices *choices, const pl_limits *limits,
                                   uint64_t most_bytes, popliner_plan *plan,
                                   pl_objective_values *values, bool *fits, popliner_error *error);

/* Names what the stages of such a plan choose. Errors: MEMORY, those of pl_choices_choose. */
popliner_status pl_step_name_choices(const pl_step_choices *choices, popliner_plan *plan,
                                     popliner_error *error);

#endif
