/* Ways of running stages that each have a table of costs of their own, of which a stage may choose
 * any: what a profile would cost with one and with another way of recomputing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_WAYS_H
#define PL_COSTS_WAYS_H

#include "costs/variants.h"

/* Borrowed. All tables are of the same chain, and have cycles or have none. */
typedef struct pl_ways {
    const popliner_costs *const *costs; /* [count]; the cuts are those of the first */
    const char *const *names;           /* [count] */
    size_t count;
} pl_ways;

/* Errors: USAGE if they do not belong together, or if there are none. */
popliner_status pl_ways_check(const pl_ways *ways, popliner_error *error);

/* As pl_variants_costs, for the first max_stages places from the end at most; max_bytes is not
 * looked at, so an interval is forbidden in all places or in none. Errors: MEMORY. O(n^2 * places *
 * ways). */
popliner_status pl_ways_costs(const pl_ways *ways, size_t max_stages,
                              const pl_variant_limits *limits, popliner_costs **costs,
                              popliner_error *error);

/* As pl_variants_choose; of equal ways the first. Returns the way; `count` if none is within
 * max_bytes. O(ways). */
size_t pl_ways_choose(const pl_ways *ways, const popliner_interval *stage, uint64_t max_bytes,
                      pl_variant_choice *choice);

#endif
