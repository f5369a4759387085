/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/costs.h"

#include "base/failure.h"
#include "base/growth.h"

#include <assert.h>
#include <stdlib.h>

/* A triangle, row by row: the intervals that begin with unit 0, then those with unit 1, ... */
struct popliner_costs {
    size_t num_units;
    uint64_t *peaks_bytes;
    uint64_t *cuts_bytes; /* by the unit after the cut; element 0 is unused */
};

popliner_status popliner_costs_create(size_t num_units, popliner_costs **costs,
                                      popliner_error *error) {
    *costs = NULL;
    if (num_units == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a chain needs at least one unit, but there is none to split");
    /* so that the number of intervals, and their bytes, stay within size_t */
    if (num_units >= (size_t)1 << (sizeof(size_t) * 4 - 3))
        return pl_fail_memory(error, "the costs of the intervals");

    popliner_costs *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    made->num_units = num_units;
    made->peaks_bytes = pl_new_array(num_units * (num_units + 1) / 2, sizeof *made->peaks_bytes);
    made->cuts_bytes = pl_new_array(num_units, sizeof *made->cuts_bytes);
    if (made->peaks_bytes == NULL || made->cuts_bytes == NULL) {
        popliner_costs_free(made);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    *costs = made;
    return POPLINER_OK;
}

void popliner_costs_free(popliner_costs *costs) {
    if (costs == NULL)
        return;
    free(costs->peaks_bytes);
    free(costs->cuts_bytes);
    free(costs);
}

size_t popliner_costs_num_units(const popliner_costs *costs) {
    return costs->num_units;
}

/* Where the row of `first_unit` begins: the rows before it have n, n - 1, ... elements. */
static size_t row_start(const popliner_costs *costs, size_t first_unit) {
    return first_unit * (2 * costs->num_units - first_unit + 1) / 2;
}

const uint64_t *pl_costs_peaks_from(const popliner_costs *costs, size_t first_unit) {
    assert(first_unit < costs->num_units);
    return costs->peaks_bytes + row_start(costs, first_unit);
}

void popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                             uint64_t peak_bytes) {
    assert(first_unit <= last_unit && last_unit < costs->num_units);
    costs->peaks_bytes[row_start(costs, first_unit) + (last_unit - first_unit)] = peak_bytes;
}

uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    assert(first_unit <= last_unit && last_unit < costs->num_units);
    return costs->peaks_bytes[row_start(costs, first_unit) + (last_unit - first_unit)];
}

void popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes) {
    assert(unit >= 1 && unit < costs->num_units);
    costs->cuts_bytes[unit] = cut_bytes;
}

uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit) {
    assert(unit >= 1 && unit < costs->num_units);
    return costs->cuts_bytes[unit];
}

uint64_t pl_add_cut_bytes(uint64_t a, uint64_t b) {
    if (b >= PL_MOST_CUT_BYTES || a >= PL_MOST_CUT_BYTES - b)
        return PL_MOST_CUT_BYTES;
    return a + b;
}
