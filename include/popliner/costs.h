/* popliner: what the stages of a chain would cost.
 *
 * A model is a chain of units 0 ... n-1 (in popliner: what is in no layer, then the layers). A
 * stage is an interval of it. Its cost is not the sum of its units' costs, because neighbours share
 * code and variables and because the peak of live memory is a maximum over time; so the table
 * holds one number for every interval. The solver reads nothing but this table: anything that can
 * fill it can be solved.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_COSTS_H
#define POPLINER_COSTS_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The peak of an interval that must not be a stage, whatever the limit (for example one without
 * any operation). */
#define POPLINER_PEAK_FORBIDDEN UINT64_MAX

/* Owned by the caller that created it; free with popliner_costs_free. */
typedef struct popliner_costs popliner_costs;

/* Makes the table of a chain of `num_units` units (at least 1), in which every interval has peak 0
 * and every cut costs 0 bytes. Takes 4 * num_units * (num_units + 1) bytes.
 * Errors: USAGE for 0 units, MEMORY. */
popliner_status popliner_costs_create(size_t num_units, popliner_costs **costs,
                                      popliner_error *error);
void popliner_costs_free(popliner_costs *costs);

size_t popliner_costs_num_units(const popliner_costs *costs);

/* The largest memory, in bytes, that a tile needs at any moment for the stage of the units
 * first_unit ... last_unit, both included; first_unit <= last_unit < num_units. O(1). */
void popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                             uint64_t peak_bytes);
uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit);

/* What it costs to cut the chain before `unit`, in bytes, 1 <= unit < num_units. O(1).
 */
void popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes);
uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit);

#ifdef __cplusplus
}
#endif

#endif
