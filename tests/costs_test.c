/* The table of costs: every place is its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "popliner/costs.h"
#include "solve/costs.h"

static void begins_with_zeros(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, &costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_num_units(costs), 4);
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = i; j < 4; ++j)
            assert_int_equal(popliner_costs_peak(costs, i, j), 0);
    for (size_t unit = 1; unit < 4; ++unit)
        assert_int_equal(popliner_costs_cut(costs, unit), 0);
    popliner_costs_free(costs);
}

static void keeps_every_interval_apart(void **state) {
    (void)state;
    for (size_t n = 1; n <= 12; ++n) {
        popliner_costs *costs;
        assert_int_equal(popliner_costs_create(n, &costs, NULL), POPLINER_OK);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j)
                popliner_costs_set_peak(costs, i, j, 1000 * i + j + 1);
        for (size_t unit = 1; unit < n; ++unit)
            popliner_costs_set_cut(costs, unit, 7 * unit);
        for (size_t i = 0; i < n; ++i) {
            const uint64_t *peaks = pl_costs_peaks_from(costs, i);
            for (size_t j = i; j < n; ++j) {
                assert_int_equal(popliner_costs_peak(costs, i, j), 1000 * i + j + 1);
                assert_int_equal(peaks[j - i], 1000 * i + j + 1);
            }
        }
        for (size_t unit = 1; unit < n; ++unit)
            assert_int_equal(popliner_costs_cut(costs, unit), 7 * unit);
        popliner_costs_free(costs);
    }
}

static void keeps_64_bits(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(2, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 1, POPLINER_PEAK_FORBIDDEN);
    popliner_costs_set_cut(costs, 1, UINT64_MAX - 5);
    assert_true(popliner_costs_peak(costs, 0, 1) == UINT64_MAX);
    assert_true(popliner_costs_cut(costs, 1) == UINT64_MAX - 5);
    popliner_costs_free(costs);
    popliner_costs_free(NULL);
}

static void refuses_no_units_and_too_many(void **state) {
    (void)state;
    popliner_costs *costs;
    popliner_error error;
    assert_int_equal(popliner_costs_create(0, &costs, &error), POPLINER_ERROR_USAGE);
    assert_null(costs);
    assert_int_equal(error.status, POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_costs_create(SIZE_MAX, &costs, &error), POPLINER_ERROR_MEMORY);
    assert_null(costs);
}

static void adds_without_overflow(void **state) {
    (void)state;
    assert_true(pl_add_cut_bytes(3, 4) == 7);
    assert_true(pl_add_cut_bytes(UINT64_MAX - 3, 1) == UINT64_MAX - 2);
    assert_true(pl_add_cut_bytes(UINT64_MAX - 3, 2) == UINT64_MAX - 1);
    assert_true(pl_add_cut_bytes(UINT64_MAX - 3, 4) == UINT64_MAX - 1);
    assert_true(pl_add_cut_bytes(UINT64_MAX, 0) == UINT64_MAX - 1);
    assert_true(pl_add_cut_bytes(0, UINT64_MAX) == UINT64_MAX - 1);
    assert_true(pl_add_cut_bytes(UINT64_MAX, UINT64_MAX) == UINT64_MAX - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_zeros),     cmocka_unit_test(keeps_every_interval_apart),
        cmocka_unit_test(keeps_64_bits),         cmocka_unit_test(refuses_no_units_and_too_many),
        cmocka_unit_test(adds_without_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
