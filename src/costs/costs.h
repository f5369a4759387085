/* Inner view of the cost table, for loops over many intervals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "popliner/costs.h"

/* The peaks, in bytes, of the intervals that begin with `first_unit` as stages so far from the end:
 * element d is that of first_unit ... first_unit + d, and those that begin with the next unit follow.
 * Borrowed from the table. O(1). */
const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t stages_to_end,
                                    size_t first_unit);

/* Whether a longer interval never has fewer cycles: it may, where it saves those of a cut. O(n^2). */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* The same for cycles; NULL without such a table. */
const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit);

/* Gives the table the `user` of its shared peaks, which it frees with free(). */
void pl_costs_own_user(popliner_costs *costs, void *user);

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MOST_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MOST_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
