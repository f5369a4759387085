/* The table of costs after more tokens: every stage has the caches of its units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COSTS_GROWN_H
#define PL_COSTS_GROWN_H

#include "costs/costs.h"
#include "costs/variants.h"

/* Zero-initialise; free with pl_grown_costs_free. `costs` borrows what does not grow. */
typedef struct pl_grown_costs {
    popliner_costs costs;
    uint64_t *before; /* [units + 1]: what all earlier units grow by */
    pl_variants variants;
    pl_choices choices;
    pl_arrays arrays; /* own all that grows */
} pl_grown_costs;

/* True if the units have caches that grow; then *most_tokens is from how many tokens on none does;
 * UINT64_MAX: never. */
bool pl_costs_grow(const popliner_costs *costs, uint64_t *most_tokens);

/* Makes the table of so many tokens more. Ways (see costs/variants.h) must be absent. Errors:
 * MEMORY. O(n), or O(variants). */
popliner_status pl_grown_costs_create(pl_grown_costs *grown, const popliner_costs *costs,
                                      uint64_t tokens, popliner_error *error);
void pl_grown_costs_free(pl_grown_costs *grown);

/* Returns what the units of a stage grow by. O(1). */
uint64_t pl_grown_costs_bytes(const pl_grown_costs *grown, size_t first_unit, size_t last_unit);

#endif
