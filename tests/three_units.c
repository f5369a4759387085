/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "three_units.h"

#include "test.h"

popliner_costs *three_units(bool has_cycles) {
    popliner_costs *costs = NULL;
    assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 3; ++i)
        for (size_t j = i, sum = 0; j < 3; ++j) {
            sum += 3 + j;
            popliner_costs_set_peak(costs, i, j, 1, 1, NULL);
            if (has_cycles)
                popliner_costs_set_cycles(costs, i, j, sum, NULL);
        }
    return costs;
}

void assert_refuses(const popliner_costs *costs, const popliner_solver_options *options,
                    const char *message) {
    popliner_plan *plan = NULL;
    popliner_error error;
    assert_int_equal(popliner_solve(costs, options, &plan, &error), POPLINER_ERROR_USAGE);
    assert_string_equal(error.message, message);
    assert_null(plan);
}
