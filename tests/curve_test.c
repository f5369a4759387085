/* Live bytes step by step: half-open ranges, windows of steps, peaks and where they are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "memory/curve.h"
#include "profile/profile_data.h"

/* Classes with these ranges, in order; starts[c] is the first range of class c. */
static popliner_profile make_classes(size_t num_classes, uint32_t *starts, uint32_t *first_steps,
                                     uint32_t *end_steps) {
    return (popliner_profile){
        .num_classes = num_classes,
        .class_ranges_start = starts,
        .num_ranges = starts[num_classes],
        .range_first_step = first_steps,
        .range_end_step = end_steps,
    };
}

static uint64_t live_at(const pl_curve *curve, size_t step) {
    size_t peak_step = SIZE_MAX;
    uint64_t bytes = pl_curve_peak(curve, step, step + 1, &peak_step);
    assert_int_equal(peak_step, step);
    return bytes;
}

/* The peak over [first_step, end_step) is so many bytes, and peak_step is the first that has it. */
static void assert_peak(const pl_curve *curve, size_t first_step, size_t end_step, uint64_t bytes,
                        size_t peak_step) {
    size_t found = SIZE_MAX;
    assert_int_equal(pl_curve_peak(curve, first_step, end_step, &found), bytes);
    assert_int_equal(found, peak_step);
}

static void is_live_in_each_of_several_ranges(void **state) {
    (void)state;
    popliner_profile p =
        make_classes(2, (uint32_t[]){0, 3, 4}, (uint32_t[]){1, 4, 8, 2}, (uint32_t[]){2, 6, 9, 5});
    static const uint64_t expected[] = {0, 10, 7, 7, 17, 10, 0, 0, 10, 0};
    pl_curve curve = {0};
    pl_arrays own = {0};
    pl_curve_begin(&curve, &own, 0, 10);
    assert_false(own.failed);
    pl_curve_add(&curve, &p, 0, 10);
    pl_curve_add(&curve, &p, 1, 7);
    for (size_t step = 0; step < 10; step++)
        assert_int_equal(live_at(&curve, step), expected[step]);
    assert_peak(&curve, 0, 10, 17, 4);
    assert_peak(&curve, 5, 10, 10, 5);
    assert_peak(&curve, 6, 10, 10, 8);
    assert_peak(&curve, 2, 4, 7, 2);
    assert_peak(&curve, 6, 8, 0, 6);
    pl_arrays_free(&own);
}

static void has_no_peak_in_an_empty_window(void **state) {
    (void)state;
    popliner_profile p = make_classes(1, (uint32_t[]){0, 1}, (uint32_t[]){0}, (uint32_t[]){20});
    pl_curve curve = {0};
    pl_arrays own = {0};
    pl_curve_begin(&curve, &own, 5, 5);
    assert_false(own.failed);
    pl_curve_add(&curve, &p, 0, 100);
    assert_peak(&curve, 5, 5, 0, 5);
    pl_curve_begin(&curve, &own, 5, 3); /* ends before it begins */
    assert_false(own.failed);
    pl_curve_add(&curve, &p, 0, 100);
    assert_peak(&curve, 5, 3, 0, 5);
    pl_curve_begin(&curve, &own, 0, 0);
    assert_false(own.failed);
    pl_curve_add(&curve, &p, 0, 100);
    assert_peak(&curve, 0, 0, 0, 0);
    pl_curve_begin(&curve, &own, 0, 10);
    assert_false(own.failed);
    pl_curve_add(&curve, &p, 0, 100);
    assert_peak(&curve, 4, 4, 0, 4);
    assert_peak(&curve, 4, 2, 0, 4);
    pl_arrays_free(&own);
}

enum { STEPS = 40, CLASSES = 12, MOST_RANGES = 4 };

static void agrees_with_a_sum_for_every_step(void **state) {
    (void)state;
    uint64_t random = 5;
    for (size_t round = 0; round < 500; round++) {
        uint32_t starts[CLASSES + 1] = {0};
        uint32_t first_steps[CLASSES * MOST_RANGES];
        uint32_t end_steps[CLASSES * MOST_RANGES];
        uint64_t sum[STEPS] = {0};
        uint64_t size[CLASSES];
        size_t first_step = (size_t)(round * 7 % STEPS);
        random = test_random(random);
        size_t end_step = first_step + (size_t)(random >> 33) % (STEPS + 1 - first_step);
        for (size_t c = 0; c < CLASSES; c++) {
            starts[c + 1] = starts[c];
            uint32_t step = 0;
            random = test_random(random);
            size[c] = random >> 50;
            for (size_t k = 0; k < MOST_RANGES; k++) {
                random = test_random(random);
                uint32_t from = step + (uint32_t)(random >> 33) % 10;
                uint32_t to = from + (uint32_t)(random >> 50) % 10;
                if (to > STEPS)
                    break;
                first_steps[starts[c + 1]] = from;
                end_steps[starts[c + 1]++] = to;
                for (step = from; step < to; step++)
                    sum[step] += size[c];
            }
        }
        popliner_profile p = make_classes(CLASSES, starts, first_steps, end_steps);
        pl_curve curve = {0};
        pl_arrays own = {0};
        pl_curve_begin(&curve, &own, first_step, end_step);
        assert_false(own.failed);
        for (uint32_t c = 0; c < CLASSES; c++)
            pl_curve_add(&curve, &p, c, size[c]);
        for (size_t from = first_step; from <= end_step; from++) {
            for (size_t to = from; to <= end_step; to++) {
                size_t peak_step = from;
                for (size_t step = from; step < to; step++)
                    peak_step = sum[step] > sum[peak_step] ? step : peak_step;
                assert_peak(&curve, from, to, to > from ? sum[peak_step] : 0, peak_step);
            }
        }
        uint64_t read[STEPS + 1];
        memset(read, 0xff, sizeof read);
        pl_curve_read(&curve, read);
        for (size_t step = first_step; step < end_step; step++)
            assert_int_equal(read[step - first_step], sum[step]);
        assert_true(read[end_step - first_step] == UINT64_MAX); /* no more than its steps */
        pl_arrays_free(&own);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_live_in_each_of_several_ranges),
        cmocka_unit_test(has_no_peak_in_an_empty_window),
        cmocka_unit_test(agrees_with_a_sum_for_every_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
