/* The most of what is added range by range, against adding up place by place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "memory/peak_tree.h"
#include "test_data.h"

enum { MOST_PLACES = 300 };

static const uint64_t LIFT = UINT64_C(1) << 62;

/* The first place with the largest bytes over a range; the first of all if there are none. */
static size_t plain_most(const uint64_t *bytes, size_t first, size_t end, uint64_t *most_bytes) {
    size_t found = first;
    *most_bytes = 0;
    for (size_t place = first; place < end; place++) {
        if (bytes[place] > *most_bytes) {
            *most_bytes = bytes[place];
            found = place;
        }
    }
    return found;
}

static void assert_same(const pl_peak_tree *tree, const uint64_t *bytes, size_t num_places) {
    uint64_t most_bytes;
    size_t place = plain_most(bytes, 0, num_places, &most_bytes);
    assert_int_equal(pl_peak_tree_most(tree), most_bytes);
    assert_int_equal(pl_peak_tree_place(tree), place);
}

static void assert_same_within(const pl_peak_tree *tree, const uint64_t *bytes, size_t first,
                               size_t end) {
    uint64_t most_bytes;
    size_t place;
    size_t expected = plain_most(bytes, first, end, &most_bytes);
    assert_int_equal(pl_peak_tree_most_within(tree, first, end, &place), most_bytes);
    assert_int_equal(place, expected);
}

/* A range, often short, sometimes empty. */
static void draw_range(uint64_t *random, size_t num_places, size_t *first, size_t *end) {
    *first = test_below(random, num_places + 1);
    size_t length = test_below(random, 3) == 0 ? num_places : 5;
    *end = *first + test_below(random, length + 1);
    *end = *end < num_places ? *end : num_places;
}

static void agrees_with_adding_up(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, MOST_PLACES};
    uint64_t random = 73;
    pl_peak_tree tree = {0};
    pl_peak_tree base = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int round = 0; round < 60; round++) {
            uint64_t bytes[MOST_PLACES];
            size_t first;
            size_t end;
            for (size_t k = 0; k < sizes[i]; k++)
                bytes[k] = round % 2 == 0 ? 0 : test_below(&random, 10);
            assert_true(pl_peak_tree_begin(&base, bytes, sizes[i]));
            assert_same(&base, bytes, sizes[i]);
            assert_true(pl_peak_tree_copy(&tree, &base));
            for (int k = 0; k < 40; k++) {
                /* twice a range as the sweep lifts those that count; more would not go into 64
                 * bits */
                uint64_t more_bytes = k % 20 == 10 ? LIFT : test_below(&random, 6);
                draw_range(&random, sizes[i], &first, &end);
                pl_peak_tree_add(&tree, first, end, more_bytes);
                for (size_t place = first; place < end; place++)
                    bytes[place] += more_bytes;
                if (round % 3 > 0 && k % 7 != 6) /* several at once */
                    continue;
                pl_peak_tree_settle(&tree);
                assert_same(&tree, bytes, sizes[i]);
                draw_range(&random, sizes[i], &first, &end);
                assert_same_within(&tree, bytes, first, end);
            }
        }
    }
    pl_peak_tree_free(&tree);
    pl_peak_tree_free(&base);
}

static void adds_to_every_range(void **state) {
    (void)state;
    enum { PLACES = 13 };
    const uint64_t none[PLACES] = {0};
    pl_peak_tree tree = {0};
    for (size_t first = 0; first <= PLACES; first++) {
        for (size_t end = first; end <= PLACES; end++) {
            assert_true(pl_peak_tree_begin(&tree, none, PLACES));
            pl_peak_tree_add(&tree, first, end, LIFT);
            pl_peak_tree_settle(&tree);
            for (size_t place = 0; place < PLACES; place++) {
                size_t found;
                assert_int_equal(pl_peak_tree_most_within(&tree, place, place + 1, &found),
                                 place >= first && place < end ? LIFT : 0);
                assert_int_equal(found, place);
            }
        }
    }
    pl_peak_tree_free(&tree);
}

/* By hand; places count when they are lifted. */
static void tells_a_peak_that_is_calculated(void **state) {
    (void)state;
    const uint64_t none[200] = {0};
    pl_peak_tree tree = {0};
    size_t place;
    assert_true(pl_peak_tree_begin(&tree, none, 200));
    pl_peak_tree_add(&tree, 10, 150, 7);
    pl_peak_tree_settle(&tree);
    assert_int_equal(pl_peak_tree_most(&tree), 7); /* nothing counts */
    pl_peak_tree_add(&tree, 100, 160, LIFT);
    pl_peak_tree_settle(&tree);
    assert_int_equal(pl_peak_tree_most(&tree), LIFT + 7);
    assert_int_equal(pl_peak_tree_place(&tree), 100);
    pl_peak_tree_add(&tree, 149, 151, 3); /* 10 at 149, 3 at 150 */
    pl_peak_tree_settle(&tree);
    assert_int_equal(pl_peak_tree_most(&tree), LIFT + 10);
    assert_int_equal(pl_peak_tree_place(&tree), 149);
    pl_peak_tree_add(&tree, 70, 71, 50); /* does not count yet */
    pl_peak_tree_settle(&tree);
    assert_int_equal(pl_peak_tree_most(&tree), LIFT + 10);
    pl_peak_tree_add(&tree, 0, 100, LIFT);
    pl_peak_tree_add(&tree, 160, 200, LIFT);
    pl_peak_tree_settle(&tree);
    assert_int_equal(pl_peak_tree_most(&tree), LIFT + 57);
    assert_int_equal(pl_peak_tree_place(&tree), 70);
    assert_int_equal(pl_peak_tree_most_within(&tree, 71, 200, &place), LIFT + 10);
    assert_int_equal(place, 149);
    assert_int_equal(pl_peak_tree_most_within(&tree, 151, 200, &place), LIFT);
    assert_int_equal(place, 151);
    pl_peak_tree_free(&tree);
}

/* A copy has the places of the other tree, whatever it had. */
static void copies_into_trees_of_other_sizes(void **state) {
    (void)state;
    const uint64_t bytes[9] = {1, 2, 3, 4, 5, 4, 3, 2, 1};
    pl_peak_tree few = {0};
    pl_peak_tree many = {0};
    pl_peak_tree copy = {0};
    assert_true(pl_peak_tree_begin(&few, bytes, 2));
    assert_true(pl_peak_tree_begin(&many, bytes, 9));
    assert_true(pl_peak_tree_copy(&copy, &few));
    assert_int_equal(pl_peak_tree_most(&copy), 2);
    assert_true(pl_peak_tree_copy(&copy, &many));
    assert_int_equal(pl_peak_tree_most(&copy), 5);
    assert_int_equal(pl_peak_tree_place(&copy), 4);
    assert_true(pl_peak_tree_copy(&copy, &few));
    assert_int_equal(pl_peak_tree_most(&copy), 2);
    pl_peak_tree_add(&copy, 0, 1, 7); /* of the copy alone */
    pl_peak_tree_settle(&copy);
    assert_int_equal(pl_peak_tree_most(&copy), 8);
    assert_int_equal(pl_peak_tree_most(&few), 2);
    /* what was not settled is given up */
    pl_peak_tree_add(&copy, 0, 2, 1);
    assert_true(pl_peak_tree_copy(&copy, &many));
    pl_peak_tree_settle(&copy);
    assert_int_equal(pl_peak_tree_most(&copy), 5);
    pl_peak_tree_free(&few);
    pl_peak_tree_free(&many);
    pl_peak_tree_free(&copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_adding_up),
        cmocka_unit_test(adds_to_every_range),
        cmocka_unit_test(tells_a_peak_that_is_calculated),
        cmocka_unit_test(copies_into_trees_of_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
