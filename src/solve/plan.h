/* Splits, and the plans made of them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PLAN_H
#define PL_SOLVE_PLAN_H

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/plan.h"

/* A split under construction: the first unit of each stage, ascending from 0. Zero-initialise;
 * free with pl_split_clear. */
typedef struct pl_split {
    size_t *first_units; /* owned */
    size_t num_stages;
    size_t capacity;
} pl_split;

void pl_split_clear(pl_split *split);

/* Appends a stage that begins with `first_unit`. False when memory is short. */
bool pl_split_append(pl_split *split, size_t first_unit);

/* The largest peak of a stage of the split, which covers the chain, and the sum of its cuts; both
 * in bytes. POPLINER_PEAK_FORBIDDEN if one of the stages must not be. O(stages). */
uint64_t pl_split_peak(const popliner_costs *costs, const pl_split *split);
uint64_t pl_split_cut_bytes(const popliner_costs *costs, const pl_split *split);

/* Fills the empty plan with the stages and values of the split, which must begin with unit 0 and
 * ascend; leaves status and bounds alone. Errors: MEMORY. */
popliner_status pl_plan_fill(const popliner_costs *costs, const pl_split *split,
                             popliner_plan *plan, popliner_error *error);

/* Adds up a plan anew, from its stages and the table alone, trusting no solver: at most max_stages
 * stages, none forbidden, cover the chain without gap or overlap, and the peak and the cut bytes
 * are those expected. Errors: INTERNAL, naming what is wrong. O(stages). */
popliner_status pl_plan_check(const popliner_costs *costs, const popliner_plan *plan,
                              size_t max_stages, uint64_t expected_peak_bytes,
                              uint64_t expected_cut_bytes, popliner_error *error);

#endif
