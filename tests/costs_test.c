/* The table of costs: every place is its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "costs/costs.h"
#include "popliner/costs.h"
#include "solve/plan.h"

static void begins_with_zeros(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_num_units(costs), 4);
    for (size_t i = 0; i < 4; ++i)
        for (size_t j = i; j < 4; ++j)
            assert_int_equal(popliner_costs_peak(costs, i, j, 1), 0);
    for (size_t unit = 1; unit < 4; ++unit)
        assert_int_equal(popliner_costs_cut(costs, unit), 0);
    popliner_costs_free(costs);
}

static void keeps_every_interval_apart(void **state) {
    (void)state;
    for (size_t n = 1; n <= 12; ++n) {
        popliner_costs *costs;
        assert_int_equal(popliner_costs_create(n, 1, &costs, NULL), POPLINER_OK);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j)
                popliner_costs_set_peak(costs, i, j, 1, 1000 * i + j + 1, NULL);
        for (size_t unit = 1; unit < n; ++unit)
            popliner_costs_set_cut(costs, unit, 7 * unit, NULL);
        for (size_t i = 0; i < n; ++i)
            for (size_t j = i; j < n; ++j)
                assert_int_equal(popliner_costs_peak(costs, i, j, 1), 1000 * i + j + 1);
        for (size_t unit = 1; unit < n; ++unit)
            assert_int_equal(popliner_costs_cut(costs, unit), 7 * unit);
        popliner_costs_free(costs);
    }
}

static void keeps_64_bits(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(2, 1, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 1, 1, POPLINER_PEAK_FORBIDDEN, NULL);
    popliner_costs_set_cut(costs, 1, UINT64_MAX - 5, NULL);
    assert_true(popliner_costs_peak(costs, 0, 1, 1) == UINT64_MAX);
    assert_true(popliner_costs_cut(costs, 1) == UINT64_MAX - 5);
    popliner_costs_free(costs);
    popliner_costs_free(NULL);
}

static void refuses_no_units_and_too_many(void **state) {
    (void)state;
    popliner_costs *costs;
    popliner_error error;
    assert_int_equal(popliner_costs_create(0, 1, &costs, &error), POPLINER_ERROR_USAGE);
    assert_null(costs);
    assert_int_equal(error.status, POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_costs_create(SIZE_MAX, 1, &costs, &error), POPLINER_ERROR_MEMORY);
    assert_null(costs);
    assert_int_equal(popliner_costs_create(2, 0, &costs, &error), POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "max_stages 0: "));
    assert_null(costs);
    assert_int_equal(popliner_costs_create(2, SIZE_MAX, &costs, &error), POPLINER_ERROR_MEMORY);
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
    assert_int_equal(popliner_costs_create(N, 1, &costs, NULL), POPLINER_OK);
    assert_false(popliner_costs_has_cycles(costs));
    assert_int_equal(costs->max_stages_to_end, 1);
    popliner_costs_set_peak(costs, 1, 2, 1, 99, NULL);
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 7), 99);
    assert_int_equal(popliner_costs_cycles(costs, 1, 2), 0);
    assert_int_equal(pl_costs_add_cycles(costs, NULL), POPLINER_OK);
    assert_true(pl_costs_add_pipeline(costs, 2));
    assert_true(pl_costs_add_pipeline(costs, STAGES));
    assert_int_equal(popliner_costs_peak(costs, 1, 2, 2), 0);
    for (size_t i = 0; i < N; ++i)
        for (size_t j = i; j < N; ++j) {
            popliner_costs_set_cycles(costs, i, j, 10000 + 10 * i + j, NULL);
            for (size_t k = 1; k <= STAGES; ++k)
                popliner_costs_set_peak(costs, i, j, k, 1000 * k + 10 * i + j, NULL);
        }
    assert_int_equal(pl_costs_add_cycles(costs, NULL), POPLINER_OK);
    assert_true(pl_costs_add_pipeline(costs, 3));
    assert_true(popliner_costs_has_cycles(costs));
    assert_int_equal(costs->max_stages_to_end, STAGES);
    for (size_t i = 0; i < N; ++i)
        for (size_t j = i; j < N; ++j) {
            assert_int_equal(popliner_costs_peak(costs, i, j, 1), 1000 + 10 * i + j);
            assert_int_equal(popliner_costs_cycles(costs, i, j), 10000 + 10 * i + j);
            for (size_t k = 1; k <= STAGES; ++k)
                assert_int_equal(popliner_costs_peak(costs, i, j, k), 1000 * k + 10 * i + j);
        }
    popliner_costs_free(costs);
}

enum { LINE_UNITS = 5, LINE_PLACES = 7, MOST_LINES = 4 };

typedef struct line {
    uint64_t bytes;
    uint64_t copy_bytes;
} line;

static void set_lines(popliner_costs *costs, size_t first, size_t last, const line *lines) {
    const size_t at = pl_triangle_place(costs->num_units, first, last);
    for (size_t i = 0; i < costs->peaks.num_regions; ++i) {
        costs->peaks.lines[i].bytes.listed[at] = lines[i].bytes;
        costs->peaks.lines[i].copy_bytes.listed[at] = lines[i].copy_bytes;
    }
}

/* The largest of the regions of an interval, unless one is too small. */
static uint64_t told_peak(const line *lines, const uint64_t *capacities, size_t copies) {
    uint64_t peak = 0;
    for (size_t k = 0; k < MOST_LINES; ++k) {
        uint64_t bytes = lines[k].bytes + copies * lines[k].copy_bytes;
        peak = bytes > peak ? bytes : peak;
        if (bytes > capacities[k])
            return POPLINER_PEAK_FORBIDDEN;
    }
    return peak;
}

/* Few values, so that lines are equal, parallel, and meet at whole numbers. */
static void keeps_lines_by_region(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t round = 0; round < 300; ++round) {
        popliner_costs *costs;
        line told[LINE_UNITS][LINE_UNITS][MOST_LINES];
        uint64_t capacities[MOST_LINES];
        size_t copies[LINE_PLACES];
        assert_int_equal(popliner_costs_create(LINE_UNITS, 1, &costs, NULL), POPLINER_OK);
        for (size_t i = 0; i < LINE_PLACES; ++i)
            copies[i] = i == 0 ? 0 : copies[i - 1] + test_below(&random, 4);
        for (size_t k = 0; k < MOST_LINES; ++k)
            capacities[k] = test_below(&random, 3) == 0 ? test_below(&random, 60) : UINT64_MAX;
        assert_true(pl_costs_begin_lines(costs, PL_NUMBERS_LISTED, copies, LINE_PLACES, MOST_LINES,
                                         capacities));
        assert_int_equal(popliner_costs_peak(costs, 0, 1, LINE_PLACES), 0);
        for (size_t i = LINE_UNITS; i-- > 0;)
            for (size_t j = i; j < LINE_UNITS; ++j) {
                for (size_t k = 0; k < MOST_LINES; ++k)
                    told[i][j][k] = (line){test_below(&random, 20), test_below(&random, 5)};
                set_lines(costs, i, j, told[i][j]);
            }
        /* the second time as peaks by place, which a setter makes of them */
        for (int pass = 0; pass < 2; ++pass) {
            for (size_t i = 0; i < LINE_UNITS; ++i)
                for (size_t j = i; j < LINE_UNITS; ++j)
                    for (size_t t = 1; t <= LINE_PLACES; ++t)
                        assert_true(popliner_costs_peak(costs, i, j, t) ==
                                    (pass == 1 && i == 1 && j == 2
                                         ? 77
                                         : told_peak(told[i][j], capacities, copies[t - 1])));
            assert_true(popliner_costs_peak(costs, 0, 0, LINE_PLACES + 1) ==
                        POPLINER_PEAK_FORBIDDEN);
            for (size_t t = 1; t <= LINE_PLACES; ++t)
                assert_int_equal(popliner_costs_set_peak(costs, 1, 2, t, 77, NULL), POPLINER_OK);
        }
        popliner_costs_free(costs);
    }
}

/* ---- the order of costs ---- */

static bool naive_never_shrinks(const popliner_costs *costs, size_t to_end) {
    size_t n = popliner_costs_num_units(costs);
    for (size_t i = 0; i < n; ++i)
        for (size_t j = i; j < n; ++j)
            for (size_t k = i; k <= j; ++k)
                for (size_t l = k; l <= j; ++l) {
                    uint64_t own = to_end == 0 ? popliner_costs_cycles(costs, i, j)
                                               : popliner_costs_peak(costs, i, j, to_end);
                    uint64_t within = to_end == 0 ? popliner_costs_cycles(costs, k, l)
                                                  : popliner_costs_peak(costs, k, l, to_end);
                    if (own < within)
                        return false;
                }
    return true;
}

/* Peaks that add up, with some that are forbidden, and sometimes one that is out of order. */
static void draw_ordered(popliner_costs *costs, size_t most_stages, uint64_t *random) {
    size_t n = popliner_costs_num_units(costs);
    bool is_spoilt = test_below(random, 3) == 0;
    size_t spoilt = test_below(random, n);
    size_t forbidden = test_below(random, n);
    uint64_t own[8];
    for (size_t i = 0; i < n; ++i)
        own[i] = test_below(random, 3);
    for (size_t i = 0; i < n; ++i) {
        uint64_t sum = 0;
        for (size_t j = i; j < n; ++j) {
            sum += own[j];
            uint64_t more = is_spoilt && i == spoilt && j == i ? test_below(random, 4) : 0;
            popliner_costs_set_cycles(costs, i, j, sum + more, NULL);
            for (size_t t = 1; t <= most_stages; ++t)
                popliner_costs_set_peak(costs, i, j, t,
                                        j < forbidden && forbidden < 3 ? POPLINER_PEAK_FORBIDDEN
                                                                       : sum * t + more,
                                        NULL);
        }
    }
}

static void finds_the_order_of_costs(void **state) {
    (void)state;
    uint64_t random = 5;
    size_t num_ordered = 0;
    for (size_t round = 0; round < 600; ++round) {
        popliner_costs *costs;
        size_t n = 1 + test_below(&random, 7);
        size_t most_stages = 1 + test_below(&random, 3);
        pl_cost_order order = {0};
        assert_int_equal(popliner_costs_create(n, most_stages, &costs, NULL), POPLINER_OK);
        draw_ordered(costs, most_stages, &random);
        assert_int_equal(pl_costs_find_order(costs, most_stages, &order, NULL), POPLINER_OK);
        assert_int_equal(order.cycles_never_shrink, naive_never_shrinks(costs, 0));
        bool is_ordered = true;
        for (size_t t = 1; t <= most_stages; ++t)
            is_ordered = is_ordered && naive_never_shrinks(costs, t);
        assert_int_equal(order.peaks_never_shrink, is_ordered);
        num_ordered += is_ordered;
        pl_cost_order_clear(&order);
        popliner_costs_free(costs);
    }
    assert_true(num_ordered > 200 && num_ordered < 580);
}

/* Of lines, too; it may miss an order, but is never wrong. */
static void finds_the_order_of_lines(void **state) {
    (void)state;
    uint64_t random = 9;
    size_t num_found = 0;
    size_t num_ordered = 0;
    for (size_t round = 0; round < 600; ++round) {
        static const size_t copies[] = {0, 1, 3, 5};
        popliner_costs *costs;
        pl_cost_order order = {0};
        assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
        const uint64_t capacities[] = {test_below(&random, 6) == 0 ? 30 : UINT64_MAX, UINT64_MAX};
        assert_true(pl_costs_begin_lines(costs, PL_NUMBERS_LISTED, copies, 4, 2, capacities));
        for (size_t i = 0; i < 3; ++i)
            for (size_t j = i; j < 3; ++j) {
                const line lines[] = {
                    {9 * (j - i) + test_below(&random, 12), 2 * (j - i) + test_below(&random, 3)},
                    {8 * (j - i) + test_below(&random, 9), 2 * (j - i) + test_below(&random, 3)}};
                set_lines(costs, i, j, lines);
            }
        bool is_ordered = true;
        for (size_t t = 1; t <= 4; ++t)
            is_ordered = is_ordered && naive_never_shrinks(costs, t);
        assert_int_equal(pl_costs_find_order(costs, 4, &order, NULL), POPLINER_OK);
        assert_true(is_ordered || !order.peaks_never_shrink);
        num_found += order.peaks_never_shrink;
        num_ordered += is_ordered;
        pl_cost_order_clear(&order);
        popliner_costs_free(costs);
    }
    assert_true(num_found > num_ordered / 2 && num_ordered > 100 && num_ordered < 580);
}

/* A table for a pipeline has all its peaks at once, and cycles from the first that are set. */
static void makes_tables_when_they_are_needed(void **state) {
    (void)state;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(3, 2, &costs, NULL), POPLINER_OK);
    assert_int_equal(costs->max_stages_to_end, 2);
    assert_int_equal(popliner_costs_set_peak(costs, 0, 2, 2, 7, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_peak(costs, 0, 2, 1), 0);
    assert_int_equal(popliner_costs_peak(costs, 0, 2, 2), 7);
    assert_int_equal(popliner_costs_peak(costs, 1, 1, 2), 0);
    assert_true(popliner_costs_peak(costs, 0, 2, 3) == POPLINER_PEAK_FORBIDDEN);
    assert_false(popliner_costs_has_cycles(costs));
    assert_int_equal(popliner_costs_set_cycles(costs, 1, 2, 0, NULL), POPLINER_OK);
    assert_true(popliner_costs_has_cycles(costs));
    assert_int_equal(popliner_costs_set_cycles(costs, 1, 1, 5, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_cycles(costs, 1, 2), 0);
    assert_int_equal(popliner_costs_cycles(costs, 1, 1), 5);
    assert_int_equal(popliner_costs_cycles(costs, 0, 2), 0);
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
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_fill_peaks(costs, ten_per_unit, &a, 25, NULL), POPLINER_OK);
    assert_int_equal(a.count, 9);
    assert_memory_equal(a.at, expected, sizeof expected);
    assert_true(popliner_costs_peak(costs, 0, 0, 1) == POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(popliner_costs_peak(costs, 0, 1, 1), 20);
    assert_true(popliner_costs_peak(costs, 0, 2, 1) == POPLINER_PEAK_FORBIDDEN);
    assert_true(popliner_costs_peak(costs, 0, 3, 1) == POPLINER_PEAK_FORBIDDEN);
    assert_int_equal(popliner_costs_peak(costs, 2, 3, 1), 20);
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
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 0, 1, 5, NULL);
    popliner_costs_set_peak(costs, 2, 3, 1, 7, NULL);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 12);
    popliner_costs_set_shared_peak(costs, largest_and_a_bit, &bit, true);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 1003);
    assert_int_equal(pl_costs_shared_peak(costs, two, 1, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 5);
    popliner_costs_set_shared_peak(costs, NULL, NULL, false);
    popliner_costs_set_peak(costs, 0, 0, 1, POPLINER_PEAK_FORBIDDEN, NULL);
    assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, NULL), POPLINER_OK);
    assert_true(bytes == POPLINER_PEAK_FORBIDDEN);
    popliner_costs_free(costs);
}

/* Asserts USAGE with these words, and the same without an error to write into. */
#define ASSERT_REFUSED(words, ...)                                                                 \
    do {                                                                                           \
        popliner_error error = {.message = ""};                                                    \
        popliner_error *to = &error;                                                               \
        assert_int_equal(__VA_ARGS__, POPLINER_ERROR_USAGE);                                       \
        assert_int_equal(error.status, POPLINER_ERROR_USAGE);                                      \
        assert_string_equal(error.message, words);                                                 \
        to = NULL;                                                                                 \
        assert_int_equal(__VA_ARGS__, POPLINER_ERROR_USAGE);                                       \
    } while (0)

static void refuses_what_is_not_in_the_table(void **state) {
    (void)state;
    static const size_t wrong[][2] = {{0, 4},        {4, 4},        {2, 1},
                                      {0, SIZE_MAX}, {SIZE_MAX, 0}, {SIZE_MAX, SIZE_MAX}};
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    ASSERT_REFUSED("4503599627370496 cycles: at most 4503599627370495; use a larger unit of time",
                   popliner_costs_set_cycles(costs, 0, 0, POPLINER_MAX_CYCLES + 1, to));
    assert_false(popliner_costs_has_cycles(costs));
    assert_int_equal(popliner_costs_set_cycles(costs, 0, 0, POPLINER_MAX_CYCLES, NULL),
                     POPLINER_OK);
    for (size_t stages = 1; stages <= 3; stages += 2) {
        assert_true(pl_costs_add_pipeline(costs, stages));
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            const popliner_interval shared[] = {{0, 0, 1}, {wrong[i][0], wrong[i][1], 1}};
            char words[100];
            uint64_t bytes = 0;
            snprintf(words, sizeof words, "units %zu to %zu: not an interval of a chain of 4 units",
                     wrong[i][0], wrong[i][1]);
            ASSERT_REFUSED(words,
                           popliner_costs_set_peak(costs, wrong[i][0], wrong[i][1], 1, 1, to));
            ASSERT_REFUSED(words,
                           popliner_costs_set_peak(costs, wrong[i][0], wrong[i][1], stages, 1, to));
            ASSERT_REFUSED(words,
                           popliner_costs_set_cycles(costs, wrong[i][0], wrong[i][1], 1, to));
            ASSERT_REFUSED(words, pl_costs_shared_peak(costs, shared, 2, &bytes, to));
            assert_true(popliner_costs_peak(costs, wrong[i][0], wrong[i][1], 1) == UINT64_MAX);
            assert_true(popliner_costs_peak(costs, wrong[i][0], wrong[i][1], stages) == UINT64_MAX);
            assert_int_equal(popliner_costs_cycles(costs, wrong[i][0], wrong[i][1]), 0);
        }
    }
    ASSERT_REFUSED("stages_to_end 4: the costs have peaks for 1 to 3",
                   popliner_costs_set_peak(costs, 0, 0, 4, 1, to));
    ASSERT_REFUSED("stages_to_end 0: the costs have peaks for 1 to 3",
                   popliner_costs_set_peak(costs, 0, 0, 0, 1, to));
    assert_true(popliner_costs_peak(costs, 0, 0, 4) == UINT64_MAX);
    assert_true(popliner_costs_peak(costs, 0, 0, 0) == UINT64_MAX);
    ASSERT_REFUSED("unit 0: no cut of a chain of 4 units is before it",
                   popliner_costs_set_cut(costs, 0, 1, to));
    ASSERT_REFUSED("unit 4: no cut of a chain of 4 units is before it",
                   popliner_costs_set_cut(costs, 4, 1, to));
    ASSERT_REFUSED("unit 18446744073709551615: no cut of a chain of 4 units is before it",
                   popliner_costs_set_cut(costs, SIZE_MAX, 1, to));
    assert_int_equal(popliner_costs_cut(costs, 0), 0);
    assert_int_equal(popliner_costs_cut(costs, 4), 0);
    /* nothing was written anywhere */
    for (size_t first = 0; first < 4; first++)
        for (size_t last = first; last < 4; last++)
            for (size_t stages = 1; stages <= 3; stages++)
                assert_int_equal(popliner_costs_peak(costs, first, last, stages), 0);
    for (size_t unit = 1; unit < 4; unit++)
        assert_int_equal(popliner_costs_cut(costs, unit), 0);
    popliner_costs_free(costs);
}

/* What the caller's functions answer. */
typedef struct answer {
    popliner_status status;
    const char *message; /* NULL: none */
} answer;

static popliner_status answer_with(const answer *a, popliner_error *error) {
    assert_non_null(error);
    if (a->message != NULL)
        snprintf(error->message, sizeof error->message, "%s", a->message);
    return a->status;
}

static popliner_status answer_peak(void *user, size_t first_unit, size_t last_unit,
                                   uint64_t *peak_bytes, popliner_error *error) {
    (void)first_unit;
    (void)last_unit;
    (void)peak_bytes;
    return answer_with(user, error);
}

static popliner_status answer_shared_peak(void *user, const popliner_interval *stages,
                                          size_t num_stages, uint64_t *peak_bytes,
                                          popliner_error *error) {
    (void)stages;
    (void)num_stages;
    (void)peak_bytes;
    return answer_with(user, error);
}

static void checks_what_the_callers_functions_answer(void **state) {
    (void)state;
    static const struct {
        answer given;
        popliner_status status;
        const char *message; /* a part of it */
    } cases[] = {
        {{(popliner_status)77, NULL},
         POPLINER_ERROR_USAGE,
         "peak returned 77, which is not a status"},
        {{(popliner_status)-1, "lost"}, POPLINER_ERROR_USAGE, "peak returned -1"},
        {{(popliner_status)7, NULL}, POPLINER_ERROR_USAGE, "peak returned 7"},
        {{POPLINER_ERROR_STOPPED, "enough"}, POPLINER_ERROR_STOPPED, "enough"},
        {{POPLINER_ERROR_INPUT, NULL}, POPLINER_ERROR_INPUT, "peak failed without saying why"},
        {{POPLINER_ERROR_INTERNAL, "lost"}, POPLINER_ERROR_INTERNAL, "lost"},
        {{POPLINER_ERROR_MEMORY, "100 % of it"}, POPLINER_ERROR_MEMORY, "100 % of it"},
    };
    popliner_costs *costs;
    const popliner_interval two[] = {{0, 0, 1}, {2, 3, 1}};
    uint64_t bytes = 0;
    assert_int_equal(popliner_costs_create(4, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answer given = cases[i].given;
        popliner_error error = {.message = ""};
        popliner_plan plan = {0};
        popliner_costs_set_shared_peak(costs, answer_shared_peak, &given, true);
        assert_int_equal(popliner_costs_fill_peaks(costs, answer_peak, &given, 25, &error),
                         cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_non_null(strstr(error.message, cases[i].message));
        error = (popliner_error){.message = ""};
        assert_int_equal(pl_costs_shared_peak(costs, two, 2, &bytes, &error), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_non_null(strstr(error.message, cases[i].message));
        error = (popliner_error){.message = ""};
        assert_int_equal(pl_solve_greedily(4, answer_peak, &given, NULL, &plan, &error),
                         cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        assert_non_null(strstr(error.message, cases[i].message));
        assert_null(plan.stages);
        assert_int_equal(popliner_costs_fill_peaks(costs, answer_peak, &given, 25, NULL),
                         cases[i].status);
    }
    /* no peak is none that a stage may have */
    answer nothing = {POPLINER_OK, NULL};
    popliner_costs_set_shared_peak(costs, answer_shared_peak, &nothing, true);
    assert_int_equal(popliner_costs_fill_peaks(costs, answer_peak, &nothing, 25, NULL),
                     POPLINER_OK);
    assert_true(popliner_costs_peak(costs, 1, 2, 1) == POPLINER_PEAK_FORBIDDEN);
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
        cmocka_unit_test(keeps_lines_by_region),
        cmocka_unit_test(finds_the_order_of_costs),
        cmocka_unit_test(finds_the_order_of_lines),
        cmocka_unit_test(makes_tables_when_they_are_needed),
        cmocka_unit_test(fills_up_to_the_limit),
        cmocka_unit_test(adds_up_stages_on_one_ipu_or_asks),
        cmocka_unit_test(refuses_what_is_not_in_the_table),
        cmocka_unit_test(checks_what_the_callers_functions_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
