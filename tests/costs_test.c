/* The table of costs: every place is its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "costs/costs.h"
#include "popliner/costs.h"

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
            const uint64_t *peaks = pl_costs_peaks_from(costs, 1, i);
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

/* Cycles and the peaks of a pipeline have places of their own, and begin with zeros. */
static void keeps_added_tables_apart(void **state) {
    (void)state;
    enum { N = 5, STAGES = 4 };
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(N, &costs, NULL), POPLINER_OK);
    assert_false(popliner_costs_has_cycles(costs));
    assert_int_equal(pl_costs_max_stages_to_end(costs), 1);
    popliner_costs_set_peak(costs, 1, 2, 99);
    assert_int_equal(popliner_costs_peak_at(costs, 7, 1, 2), 99);
    assert_int_equal(popliner_costs_cycles(costs, 1, 2), 0);
    assert_int_equal(popliner_costs_add_cycles(costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_add_pipeline(costs, 2, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_add_pipeline(costs, STAGES, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_peak_at(costs, 2, 1, 2), 0);
    for (size_t i = 0; i < N; ++i)
        for (size_t j = i; j < N; ++j) {
            popliner_costs_set_cycles(costs, i, j, 10000 + 10 * i + j);
            for (size_t k = 1; k <= STAGES; ++k)
                popliner_costs_set_peak_at(costs, k, i, j, 1000 * k + 10 * i + j);
        }
    assert_int_equal(popliner_costs_add_cycles(costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_add_pipeline(costs, 3, NULL), POPLINER_OK);
    assert_true(popliner_costs_has_cycles(costs));
    assert_int_equal(pl_costs_max_stages_to_end(costs), STAGES);
    for (size_t i = 0; i < N; ++i)
        for (size_t j = i; j < N; ++j) {
            assert_int_equal(popliner_costs_peak(costs, i, j), 1000 + 10 * i + j);
            assert_int_equal(popliner_costs_cycles(costs, i, j), 10000 + 10 * i + j);
            for (size_t k = 1; k <= STAGES; ++k)
                assert_int_equal(popliner_costs_peak_at(costs, k, i, j), 1000 * k + 10 * i + j);
        }
    popliner_costs_free(costs);
}

typedef struct asked {
    size_t count;
    size_t at[16][2];
} asked;

/* 10 bytes per unit, but unit 0 alone must not be. */
static popliner_status ten_per_unit(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    (void)error;
    asked *a = user;
    a->at[a->count][0] = first_unit;
    a->at[a->count++][1] = last_unit;
    *peak_bytes = last_unit == 0 ? POPLINER_PEAK_FORBIDDEN : 10 * (last_unit - first_unit + 1);
    return POPLINER_OK;
}

static void fills_up_to_the_limit(void **state) {
    (void)state;
    static const size_t expected[][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2},
                                         {1, 3}, {2, 2}, {2, 3}, {3, 3}};
    popliner_costs *costs;
    asked a = {0};
    assert_int_equal(popliner_costs_create(4, &costs, NULL), POPLINER_OK);
    assert_int_equal(pl_costs_fill_peaks(costs, ten_per_unit, &a, 25, NULL), POPLINER_OK);
    assert_int_equal(a.count, 9);
    assert_memory_equal(a.at, expected, sizeof expected);
    assert_true(popliner_costs_peak(costs, 0, 0) == POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(popliner_costs_peak(costs, 0, 1), 20);
    assert_true(popliner_costs_peak(costs, 0, 2) == POPLINER_PEAK_FORBIDDEN);
    assert_true(popliner_costs_peak(costs, 0, 3) == POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(popliner_costs_peak(costs, 2, 3), 20);
    popliner_costs_free(costs);
}

static popliner_status largest_and_a_bit(void *user, const popliner_interval *stages,
                                         size_t num_stages, uint64_t *peak_bytes,
                                         popliner_error *error) {
    (void)error;
    *peak_bytes = *(uint64_t *)user + stages[num_stages - 1].last_unit;
    return POPLINER_OK;
}

static void adds_up_stages_on_one_ipu_or_asks(void **state) {
    (void)state;
    popliner_costs *costs;
    uint64_t bytes = 0;
    uint64_t bit = 1000;
    popliner_interval two[] = {{0, 0, 1}, {2, 3, 1}};
    assert_int_equal(popliner_costs_create(4, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 0, 5);
    popliner_costs_set_peak(costs, 2, 3, 7);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 12);
    popliner_costs_set_shared_peak(costs, largest_and_a_bit, &bit, true);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 1003);
    assert_int_equal(pl_costs_shared_peak(costs, two, 1, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 5);
    popliner_costs_set_shared_peak(costs, NULL, NULL, false);
    popliner_costs_set_peak(costs, 0, 0, POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_true(bytes == POPLINER_PEAK_FORBIDDEN);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_zeros),
        cmocka_unit_test(keeps_every_interval_apart),
        cmocka_unit_test(keeps_64_bits),
        cmocka_unit_test(refuses_no_units_and_too_many),
        cmocka_unit_test(adds_without_overflow),
        cmocka_unit_test(keeps_added_tables_apart),
        cmocka_unit_test(fills_up_to_the_limit),
        cmocka_unit_test(adds_up_stages_on_one_ipu_or_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
