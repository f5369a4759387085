/* Curves that only rise, against adding up step by step.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "memory/rising_curve.h"
#include "test_data.h"

enum { MOST_STEPS = 300 };

/* The same, as simply as can be. */
typedef struct plain_curve {
    size_t num_steps;
    uint64_t bytes[MOST_STEPS];
    bool counts[MOST_STEPS];
} plain_curve;

/* The first step of the largest bytes over a range; `counted`: of the steps that count, else of all
 * with more than nothing. */
static size_t plain_peak(const plain_curve *plain, bool counted, size_t first, size_t end,
                         uint64_t *bytes) {
    size_t found = SIZE_MAX;
    for (size_t step = first; step < end; step++) {
        if (counted && !plain->counts[step])
            continue;
        if (found == SIZE_MAX ? counted || plain->bytes[step] > 0
                              : plain->bytes[step] > plain->bytes[found])
            found = step;
    }
    *bytes = found == SIZE_MAX ? 0 : plain->bytes[found];
    return found == SIZE_MAX ? first : found;
}

static void assert_same(const pl_rising_curve *curve, const plain_curve *plain) {
    uint64_t bytes;
    size_t step = plain_peak(plain, true, 0, plain->num_steps, &bytes);
    assert_int_equal(curve->peak_bytes, bytes);
    assert_int_equal(pl_rising_curve_peak_step(curve), step);
}

static void assert_same_within(const pl_rising_curve *curve, const plain_curve *plain, size_t first,
                               size_t end) {
    uint64_t bytes;
    size_t step;
    size_t expected = plain_peak(plain, false, first, end, &bytes);
    assert_int_equal(pl_rising_curve_peak_within(curve, first, end, &step), bytes);
    assert_int_equal(step, expected);
}

static void add(pl_rising_curve *curve, plain_curve *plain, size_t first, size_t end,
                uint64_t bytes) {
    pl_rising_curve_add(curve, first, end, bytes);
    for (size_t step = first; step < end; step++)
        plain->bytes[step] += bytes;
}

static void count(pl_rising_curve *curve, plain_curve *plain, size_t first, size_t end) {
    pl_rising_curve_count(curve, first, end);
    for (size_t step = first; step < end; step++)
        plain->counts[step] = true;
}

static size_t below(uint64_t *random, size_t limit) {
    *random = test_random(*random);
    return (size_t)((*random >> 20) % limit);
}

/* A range, often short, sometimes empty, sometimes with ends where blocks have theirs. */
static void draw_range(uint64_t *random, size_t num_steps, size_t *first, size_t *end) {
    *first = below(random, num_steps + 1);
    size_t length = below(random, 3) == 0 ? num_steps : 5;
    *end = *first + below(random, length + 1);
    if (below(random, 4) == 0) {
        *first -= *first % PL_RISING_BLOCK_STEPS;
        *end += PL_RISING_BLOCK_STEPS - *end % PL_RISING_BLOCK_STEPS;
    }
    *end = *end < num_steps ? *end : num_steps;
}

static void agrees_with_adding_up(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 129, 300};
    uint64_t random = 73;
    pl_rising_curve curve = {0};
    pl_rising_curve base = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int round = 0; round < 60; round++) {
            plain_curve plain = {.num_steps = sizes[i]};
            bool counts_all = round % 3 == 0;
            size_t first;
            size_t end;
            assert_true(pl_rising_curve_begin(&base, sizes[i]));
            assert_true(pl_rising_curve_begin(&curve, sizes[i]));
            /* what is there from the beginning; that it counted then does not matter */
            for (int k = 0; k < round % 5; k++) {
                draw_range(&random, sizes[i], &first, &end);
                add(&base, &plain, first, end, below(&random, 10));
                pl_rising_curve_count(&base, first, end);
                pl_rising_curve_add(&curve, first, end, 1000);
            }
            pl_rising_curve_copy(&curve, &base);
            assert_same(&curve, &plain);
            if (counts_all)
                count(&curve, &plain, 0, sizes[i]);
            for (int k = 0; k < 40; k++) {
                draw_range(&random, sizes[i], &first, &end);
                if (!counts_all && below(&random, 4) == 0)
                    count(&curve, &plain, first, end);
                else
                    add(&curve, &plain, first, end, below(&random, 6));
                assert_same(&curve, &plain);
                draw_range(&random, sizes[i], &first, &end);
                if (counts_all)
                    assert_same_within(&curve, &plain, first, end);
            }
        }
    }
    pl_rising_curve_free(&curve);
    pl_rising_curve_free(&base);
}

static void tells_a_peak_that_is_calculated(void **state) {
    (void)state;
    pl_rising_curve curve = {0};
    size_t step;
    assert_true(pl_rising_curve_begin(&curve, 200));
    pl_rising_curve_add(&curve, 10, 150, 7); /* over a whole block */
    assert_int_equal(curve.peak_bytes, 0);   /* nothing counts */
    pl_rising_curve_count(&curve, 100, 160);
    assert_int_equal(curve.peak_bytes, 7);
    assert_int_equal(pl_rising_curve_peak_step(&curve), 100);
    pl_rising_curve_add(&curve, 149, 151, 3); /* 10 at 149, 3 at 150 */
    assert_int_equal(curve.peak_bytes, 10);
    assert_int_equal(pl_rising_curve_peak_step(&curve), 149);
    pl_rising_curve_add(&curve, 70, 71, 50); /* does not count yet */
    assert_int_equal(curve.peak_bytes, 10);
    pl_rising_curve_count(&curve, 0, 200);
    assert_int_equal(curve.peak_bytes, 57);
    assert_int_equal(pl_rising_curve_peak_step(&curve), 70);
    assert_int_equal(pl_rising_curve_peak_within(&curve, 71, 200, &step), 10);
    assert_int_equal(step, 149);
    assert_int_equal(pl_rising_curve_peak_within(&curve, 151, 200, &step), 0);
    assert_int_equal(step, 151);
    pl_rising_curve_free(&curve);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_adding_up),
        cmocka_unit_test(tells_a_peak_that_is_calculated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
