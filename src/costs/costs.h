/* Inner view of the cost table: for loops over many intervals, and for those who fill it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "popliner/costs.h"

/* The peaks, in bytes, of the intervals that begin with `first_unit` as stages so far from the end:
 * element d is that of first_unit ... first_unit + d, and those that begin with the next unit
 * follow. Borrowed from the table. O(1). */
const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t stages_to_end,
                                    size_t first_unit);

/* Whether a longer interval never has fewer cycles: it may, where it saves those of a cut.
 * O(n^2). */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* The same for cycles; NULL without such a table. */
const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit);

/* Asked for the peak of the stage first_unit ... last_unit. */
typedef popliner_status (*pl_peak_function)(void *user, size_t first_unit, size_t last_unit,
                                            uint64_t *peak_bytes, popliner_error *error);

/* Fills the peaks by asking `peak` for every interval, those that begin with unit 0 first, each row
 * from the shortest to the longest. A longer interval never needs less: once one needs more than
 * max_bytes, it and the longer ones with the same first unit are POPLINER_PEAK_FORBIDDEN, and not
 * asked for. Errors: those of `peak`. */
popliner_status pl_costs_fill_peaks(popliner_costs *costs, pl_peak_function peak, void *user,
                                    uint64_t max_bytes, popliner_error *error);

/* 1 if a stage costs the same wherever it stands. */
size_t pl_costs_max_stages_to_end(const popliner_costs *costs);

/* Forbids an interval as a stage, wherever it stands in the pipeline. O(max_stages_to_end). */
void pl_costs_forbid(popliner_costs *costs, size_t first_unit, size_t last_unit);

/* Gives the table the `user` of its shared peaks, which it frees with free(). */
void pl_costs_own_user(popliner_costs *costs, void *user);

/* Whether that was promised; without such a function, whether it is so: O(n^2). */
bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs);
popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error);

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MOST_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MOST_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
