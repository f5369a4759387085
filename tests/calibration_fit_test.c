/* Calibrating, against numbers that are calculated by hand.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "memory/needs.h"
#include "pipeline/pipeline.h"

static void assert_scales(const uint64_t *scales, uint64_t code, uint64_t data, uint64_t layout) {
    assert_int_equal(scales[POPLINER_SCALE_CODE], code);
    assert_int_equal(scales[POPLINER_SCALE_DATA], data);
    assert_int_equal(scales[POPLINER_SCALE_LAYOUT], layout);
}

static void assert_chosen(const popliner_calibration *c, bool has_earlier, bool has_last,
                          uint64_t code, uint64_t data, uint64_t layout) {
    const pl_scales own = pl_calibration_scales(c, has_earlier, has_last);
    assert_scales(
        (const uint64_t[]){own.code_per_million, own.data_per_million, own.layout_per_million},
        code, data, layout);
}

/* Two stages before the last: (120 + 60) / (100 + 50) of code, (300 + 60) / (200 + 200) of data.
 * The last: 7 / 8, 2 / 1. The layout is not learnt: 1. */
static const pl_fit_stage stages[] = {
    {.predicted = {100, 200}, .compiled = {120, 300}},
    {.predicted = {50, 200}, .compiled = {60, 60}},
    {.predicted = {8, 1}, .compiled = {7, 2}},
};

static void sums_are_divided(void **state) {
    (void)state;
    popliner_calibration c;
    assert_true(pl_calibration_fit(stages, 3, SIZE_MAX, &c));
    assert_scales(c.per_million[0], 1200000, 900000, 1000000);
    assert_scales(c.per_million[1], 875000, 2000000, 1000000);
    assert_true(pl_is_calibrated(&c));
}

static void what_is_left_out_teaches_nothing(void **state) {
    (void)state;
    popliner_calibration c;
    assert_true(pl_calibration_fit(stages, 3, 0, &c));
    assert_scales(c.per_million[0], 1200000, 300000, 1000000);
    assert_scales(c.per_million[1], 875000, 2000000, 1000000);
    assert_true(pl_calibration_fit(stages, 3, 2, &c));
    assert_scales(c.per_million[0], 1200000, 900000, 1000000);
    assert_scales(c.per_million[1], 1000000, 1000000, 1000000);
    /* the only one before the last, and the only one */
    assert_true(pl_calibration_fit(stages + 1, 2, 0, &c));
    assert_scales(c.per_million[0], 1000000, 1000000, 1000000);
    assert_true(pl_calibration_fit(stages, 1, SIZE_MAX, &c));
    assert_scales(c.per_million[0], 1000000, 1000000, 1000000);
    assert_scales(c.per_million[1], 1200000, 1500000, 1000000);
}

static void scales_have_limits(void **state) {
    (void)state;
    popliner_calibration c;
    pl_fit_stage stage = {.predicted = {1, 1}, .compiled = {100, 100}};
    assert_true(pl_calibration_fit(&stage, 1, SIZE_MAX, &c));
    assert_scales(c.per_million[1], POPLINER_MAX_PER_MILLION, POPLINER_MAX_PER_MILLION, 1000000);
    stage.compiled.data_bytes = 101;
    assert_false(pl_calibration_fit(&stage, 1, SIZE_MAX, &c));
    assert_false(pl_is_calibrated(&c));
    stage.compiled.data_bytes = 0;
    assert_false(pl_calibration_fit(&stage, 1, SIZE_MAX, &c));
    stage.predicted.data_bytes = 0; /* nothing was predicted, nothing is there */
    assert_true(pl_calibration_fit(&stage, 1, SIZE_MAX, &c));
    assert_int_equal(c.per_million[1][POPLINER_SCALE_DATA], 1000000);
}

static void stages_on_one_ipu_have_the_larger_scales(void **state) {
    (void)state;
    const popliner_calibration c = {{{1, 20, 3}, {10, 2, 30}}};
    assert_chosen(&c, true, false, 1, 20, 3);
    assert_chosen(&c, false, true, 10, 2, 30);
    assert_chosen(&c, true, true, 10, 20, 30);
}

static void assert_line(const pl_need_line *line, uint64_t bytes, uint64_t copy_bytes,
                        uint64_t live_bytes, uint64_t live_copy_bytes) {
    assert_int_equal(line->bytes, bytes);
    assert_int_equal(line->copy_bytes, copy_bytes);
    assert_int_equal(line->live_bytes, live_bytes);
    assert_int_equal(line->live_copy_bytes, live_copy_bytes);
}

/* 1001 bytes, of which 301 are code, and copies of 50, where 7 bytes are never used and a tenth of
 * the live ones fragments. */
static void needs_are_scaled(void **state) {
    (void)state;
    const pl_overhead layout = {7, 10, 100, INT64_MIN};
    const pl_placed_bytes code = {.code = 301};
    pl_need_rule rule = {true, true, 128, {0, 0, 0}, NULL};
    pl_need_line line = pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 1001, code, 50);
    assert_line(&line, 1001 + 7 + 101, 50 + 5, 1001, 50);
    rule.scales = (pl_scales){1200000, 900000, 500000};
    /* 361.2 and 630 are 362 + 630 = 992; half of 7 + 99.2 rounded up is 53.5; 45 and 4.5 -> 5, of
     * which half is 2.5 */
    line = pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 1001, code, 50);
    assert_line(&line, 992 + 54, 45 + 3, 992, 45);
    /* what makes it more is not certain: 301 + 630 */
    line = pl_need_of(&rule, POPLINER_NEED_LEAST, &layout, 1001, code, 50);
    /* 931 and 45, times 0.88: 819.28 and 39.6, down */
    assert_line(&line, 819, 39, 819, 39);
    line = pl_need_of(&rule, POPLINER_NEED_MOST, &layout, 1001, code, 50);
    /* 992 + 54 and 45 + 3, times 1.02: 1066.92 and 48.96, up */
    assert_line(&line, 1067, 49, 992, 45);
    rule.has_layout = false;
    line = pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 1001, code, 50);
    assert_line(&line, 992, 45, 992, 45);
    rule.has_needs = false; /* PopLiner's model knows nothing of it */
    line = pl_need_of(&rule, POPLINER_NEED_MOST, &layout, 1001, code, 50);
    assert_line(&line, 1001, 50, 1001, 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_divided),
        cmocka_unit_test(what_is_left_out_teaches_nothing),
        cmocka_unit_test(scales_have_limits),
        cmocka_unit_test(stages_on_one_ipu_have_the_larger_scales),
        cmocka_unit_test(needs_are_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
