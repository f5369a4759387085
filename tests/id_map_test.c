/* From ids to indices: the regular case that stores nothing, and every way out of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>

#include "base/id_map.h"

static void finds_nothing_in_an_empty_map(void **state) {
    (void)state;
    pl_id_map map = {0};
    pl_id_map_sort(&map);
    assert_int_equal(pl_id_map_find(&map, 0), PL_NONE);
    assert_int_equal(pl_id_map_find(&map, UINT64_MAX), PL_NONE);
    assert_int_equal(pl_id_map_find(&map, 0), PL_NONE);
    pl_id_map_free(&map);
}

static void stores_nothing_for_regular_ids(void **state) {
    (void)state;
    const uint64_t firsts[] = {0, 1, 1000, UINT64_MAX - 500};
    for (size_t k = 0; k < 4; k++) {
        pl_id_map map = {0};
        for (uint32_t i = 0; i < 500; i++)
            assert_true(pl_id_map_add(&map, firsts[k] + i, i));
        pl_id_map_sort(&map);
        assert_null(map.entries);
        for (uint32_t i = 0; i < 500; i++)
            assert_int_equal(pl_id_map_find(&map, firsts[k] + i), i);
        assert_int_equal(pl_id_map_find(&map, firsts[k] + 500), PL_NONE);
        assert_int_equal(pl_id_map_find(&map, firsts[k] - 1), PL_NONE);
        pl_id_map_free(&map);
    }
}

/* Behind the largest id comes 0, which is as far from the first one as the index says. */
static void finds_ids_on_both_sides_of_the_largest(void **state) {
    (void)state;
    pl_id_map map = {0};
    for (uint32_t i = 0; i < 4; i++)
        assert_true(pl_id_map_add(&map, UINT64_MAX - 1 + i, i));
    pl_id_map_sort(&map);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(pl_id_map_find(&map, UINT64_MAX - 1 + i), i);
    assert_int_equal(pl_id_map_find(&map, 2), PL_NONE);
    pl_id_map_free(&map);
}

static void turns_irregular_at_any_place(void **state) {
    (void)state;
    for (uint32_t regular = 0; regular < 40; regular++) {
        pl_id_map map = {0};
        for (uint32_t i = 0; i < regular; i++)
            assert_true(pl_id_map_add(&map, 10 + i, i));
        assert_true(pl_id_map_add(&map, 1000, regular)); /* a gap */
        assert_true(pl_id_map_add(&map, 3, regular + 1));
        assert_true(pl_id_map_add(&map, 1001, regular + 2));
        pl_id_map_sort(&map);
        for (uint32_t i = 0; i < regular; i++)
            assert_int_equal(pl_id_map_find(&map, 10 + i), i);
        assert_int_equal(pl_id_map_find(&map, 1000), regular);
        assert_int_equal(pl_id_map_find(&map, 3), regular + 1);
        assert_int_equal(pl_id_map_find(&map, 1001), regular + 2);
        assert_int_equal(pl_id_map_find(&map, 10 + regular), PL_NONE);
        assert_int_equal(pl_id_map_find(&map, 0), PL_NONE);
        pl_id_map_free(&map);
    }
}

/* The ids may ascend by one while the indices do not: exchange targets, program types. */
static void keeps_indices_that_are_not_places(void **state) {
    (void)state;
    pl_id_map map = {0};
    for (uint32_t i = 0; i < 20; i++)
        assert_true(pl_id_map_add(&map, i, 100 - i));
    pl_id_map_sort(&map);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(pl_id_map_find(&map, i), 100 - i);
    assert_int_equal(pl_id_map_find(&map, 20), PL_NONE);
    pl_id_map_free(&map);
}

static void keeps_the_first_of_equal_ids(void **state) {
    (void)state;
    pl_id_map map = {0};
    const uint64_t ids[] = {5, 6, 5, 7, 6, 5, 8};
    for (uint32_t i = 0; i < 7; i++)
        assert_true(pl_id_map_add(&map, ids[i], i));
    pl_id_map_sort(&map);
    assert_int_equal(pl_id_map_find(&map, 5), 0);
    assert_int_equal(pl_id_map_find(&map, 6), 1);
    assert_int_equal(pl_id_map_find(&map, 7), 3);
    assert_int_equal(pl_id_map_find(&map, 8), 6);
    pl_id_map_free(&map);
}

/* Random ids of a small range, against a plain array. */
static void agrees_with_an_array(void **state) {
    (void)state;
    enum { RANGE = 600 };
    uint64_t random = 5;
    for (size_t round = 0; round < 50; round++) {
        uint32_t expected[RANGE];
        for (size_t id = 0; id < RANGE; id++)
            expected[id] = PL_NONE;
        pl_id_map map = {0};
        uint32_t count = (uint32_t)round * 10;
        for (uint32_t i = 0; i < count; i++) {
            random = test_random(random);
            uint64_t id = (random >> 33) % RANGE;
            if (expected[id] == PL_NONE)
                expected[id] = i;
            assert_true(pl_id_map_add(&map, id, i));
        }
        pl_id_map_sort(&map);
        for (size_t id = 0; id < RANGE; id++)
            assert_int_equal(pl_id_map_find(&map, id), expected[id]);
        pl_id_map_free(&map);
    }
}

/* They would become other ones: an index has 32 bits, the largest of them is PL_NONE. */
static void refuses_indices_that_have_no_place(void **state) {
    (void)state;
    pl_id_map map = {0};
    assert_false(pl_id_map_add(&map, 7, PL_NONE));
    assert_false(pl_id_map_add(&map, 7, (size_t)PL_NONE + 1));
    pl_id_map_free(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nothing_in_an_empty_map),
        cmocka_unit_test(stores_nothing_for_regular_ids),
        cmocka_unit_test(finds_ids_on_both_sides_of_the_largest),
        cmocka_unit_test(turns_irregular_at_any_place),
        cmocka_unit_test(keeps_indices_that_are_not_places),
        cmocka_unit_test(keeps_the_first_of_equal_ids),
        cmocka_unit_test(agrees_with_an_array),
        cmocka_unit_test(refuses_indices_that_have_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
