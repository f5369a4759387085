/* Inner view of the cost table, for loops over many intervals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_COSTS_H
#define PL_COSTS_COSTS_H

#include "popliner/costs.h"

/* The setters without a check, for those who run over the intervals of the table itself. */
void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes);
void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles);
void pl_costs_set_peak_at(popliner_costs *costs, size_t stages_to_end, size_t first_unit,
                          size_t last_unit, uint64_t peak_bytes);
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

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MAX_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MAX_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
