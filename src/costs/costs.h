/* Inner view of the cost table: for loops over many intervals, and for those who fill it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "popliner/costs.h"

/* Adds a table of cycles, all 0, unless there is one. Errors: MEMORY. */
popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error);

/* Adds peaks, all 0, for pipelines of up to max_stages, as far as there are none: for those who
 * learn how many there are when they have made the table. Errors: MEMORY. */
popliner_status pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages,
                                      popliner_error *error);

/* The setters without a check, for those who run over the intervals of the table itself. */
void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes);
void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles);
void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes);

/* Forbids an interval as a stage, wherever it stands in the pipeline. O(max_stages_to_end). */
void pl_costs_forbid(popliner_costs *costs, size_t first_unit, size_t last_unit);

/* The peaks, in bytes, of the intervals that begin with `first_unit` as stages so far from the end:
 * element d is that of first_unit ... first_unit + d, and those that begin with the next unit
 * follow. Borrowed from the table. O(1). */
const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t stages_to_end,
                                    size_t first_unit);

/* Asks a caller's function for a peak, and checks how it answers. *peak_bytes stays
 * POPLINER_PEAK_FORBIDDEN if it sets none. */
popliner_status pl_ask_peak(popliner_peak_function peak, void *user, size_t first_unit,
                            size_t last_unit, uint64_t *peak_bytes, popliner_error *error);

/* Whether a longer interval never has fewer cycles: it may, where it saves those of a cut.
 * O(n^2). */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* The same for cycles; NULL without such a table. */
const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit);

/* 1 if a stage costs the same wherever it stands. */
size_t pl_costs_max_stages_to_end(const popliner_costs *costs);

/* Gives the table the `user` of its shared peaks, which it frees with free(). */
void pl_costs_own_user(popliner_costs *costs, void *user);

/* Whether that was promised; without such a function, whether it is so: O(n^2). */
bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs);
popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error);

/* Shared peaks may be asked for a million times: each takes microseconds, not a measurement. To be
 * said after they are set; where they are added up it is so. */
void pl_costs_promise_quick_shared_peak(popliner_costs *costs);
bool pl_costs_shared_peak_is_quick(const popliner_costs *costs);

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MAX_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MAX_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
