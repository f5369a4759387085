/* The best split of a chain by trying all of them: what the solvers are held against.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_BRUTE_FORCE_H
#define PL_TESTS_BRUTE_FORCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/plan.h"

enum { MOST_BRUTE_UNITS = 16 };

/* A split as its cuts, and what it is worth. */
typedef struct candidate {
    bool exists;
    uint64_t peak_bytes;
    uint64_t cut_bytes;
    size_t num_cuts;
    size_t cuts[MOST_BRUTE_UNITS];
} candidate;

/* Every subset of the n - 1 places is a split; the best of those within the limits, by peak, cut
 * bytes, and the list of cuts. At most MOST_BRUTE_UNITS units. */
candidate brute_force(const popliner_costs *costs, size_t max_stages, uint64_t max_stage_bytes);

/* Asserts that a plan is this split. */
void assert_plan_is(const popliner_costs *costs, const popliner_plan *plan,
                    const candidate *expected);

#endif
