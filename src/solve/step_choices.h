/* Stages choose what they recompute where steps are simulated: each is as fast as its memory allows,
 * because a longer pass never makes a step shorter.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_CHOICES_H
#define PL_SOLVE_STEP_CHOICES_H

#include "costs/variants.h"
#include "solve/problem.h"
#include "solve/stop.h"

/* The choices of a stage of some units within the limit of its IPU. */
typedef struct pl_step_choice {
    uint64_t cycles_and_1; /* at speed 1, plus 1; 0 if it was not looked for */
    uint64_t peak_bytes;
} pl_step_choice;

/* Zero-initialise; free with pl_step_choices_free. */
typedef struct pl_step_choices {
    const pl_choices *of;  /* NULL: stages do not choose */
    popliner_costs *table; /* the smallest peak of each stage, and no cycles */
    pl_variants variants;  /* those of the choices, for pipelines of any length; borrowed */
    size_t num_stages;
    size_t *like; /* [num_stages] the first stage that chooses like this one: has the same copies */
    pl_step_choice *made; /* [num_stages], of each a triangle */
    uint64_t *least; /* [units + 1] sums of the fewest cycles of earlier units; NULL: not known */
} pl_step_choices;

/* Prepares the choices for pipelines of num_stages. The table stays NULL if the search is stopped,
 * or if there are too many stages to look at; also if the costs have no choices. Errors: MEMORY.
 * O(n^2 * places). */
popliner_status pl_step_choices_create(pl_step_choices *choices, const popliner_costs *costs,
                                       const popliner_solver_options *options, size_t num_stages,
                                       const pl_stop *stop, popliner_error *error);
void pl_step_choices_free(pl_step_choices *choices);

/* Chooses the fewest cycles, at speed 1 and without links, within max_bytes for stage k; appends
 * the name to `text`, which may be NULL. Errors: those of pl_variants_choose. */
popliner_status pl_step_choose(const pl_step_choices *choices, size_t k,
                               const popliner_interval *units, uint64_t max_bytes,
                               pl_variant_choice *choice, pl_text *text, popliner_error *error);

/* Like pl_step_choose, for the limit of the stage's IPU, which is always the same: looks for a
 * choice once, and then decreases *work. */
popliner_status pl_step_usual(const pl_step_choices *choices, size_t k,
                              const popliner_interval *units, uint64_t max_bytes, uint64_t *work,
                              pl_variant_choice *choice, popliner_error *error);

/* False if a stage of these units has more cycles, whatever it chooses. */
static inline bool pl_step_may_take(const pl_step_choices *choices, size_t first_unit,
                                    size_t end_unit, uint64_t cycles) {
    return choices->least == NULL ||
           choices->least[end_unit] - choices->least[first_unit] <= cycles;
}

/* Tables of stages that all recompute alike. */
enum { PL_MOST_FIXED = 4 };
typedef struct pl_step_fixed {
    popliner_costs plain; /* the first way; borrows from the costs */
    popliner_costs *full; /* owned */
    const popliner_costs *tables[PL_MOST_FIXED];
    size_t count;
} pl_step_fixed;

/* Makes the tables of costs whose stages choose. Errors: MEMORY. O(n^2 * num_stages). */
popliner_status pl_step_fixed_create(pl_step_fixed *fixed, const popliner_costs *costs,
                                     size_t num_stages, popliner_error *error);
size_t pl_step_num_fixed(const popliner_costs *costs); /* 0 if stages do not choose */
void pl_step_fixed_free(pl_step_fixed *fixed);

#endif
