/* Inner view of the cost table, for loops over many intervals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_COSTS_H
#define PL_SOLVE_COSTS_H

#include "popliner/costs.h"

/* The peaks, in bytes, of the intervals that begin with `first_unit` as stages so far from the end:
 * element d is that of first_unit ... first_unit + d. Borrowed from the table. O(1). */
const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t stages_to_end,
                                    size_t first_unit);

/* The arrays of a table, as a file holds them. */
typedef struct pl_costs_arrays {
    size_t num_units;
    size_t most_stages_to_end;
    uint64_t
        *peaks_bytes; /* for each place a triangle: the intervals from unit 0, from unit 1, ... */
    uint64_t *cuts_bytes; /* [num_units]: by the unit after the cut; element 0 is unused */
    uint64_t *cycles;     /* a triangle, or NULL */
} pl_costs_arrays;

/* Those of a table, not to be changed; and a table of such arrays, which it then owns, as it does not
 * if this fails. Errors: MEMORY. */
pl_costs_arrays pl_costs_list_arrays(const popliner_costs *costs);
popliner_status pl_costs_adopt(const pl_costs_arrays *arrays, popliner_costs **costs,
                               popliner_error *error);

/* Makes it a table of plain stages, which cost the same wherever they stand. */
void pl_costs_drop_pipeline(popliner_costs *costs);

/* Whether a longer interval never has fewer cycles: it may, where it saves those of a cut. O(n^2). */
bool pl_costs_cycles_never_shrink(const popliner_costs *costs);

/* The same for cycles; NULL without such a table. */
const uint64_t *pl_costs_cycles_from(const popliner_costs *costs, size_t first_unit);

/* The largest sum of cut bytes that is told from others; larger ones are taken for it. One less
 * than UINT64_MAX, which stays free for "no split at all". */
#define PL_MOST_CUT_BYTES (UINT64_MAX - 1)

/* a + b, at most PL_MOST_CUT_BYTES. */
uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b);

#endif
