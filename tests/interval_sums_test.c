/* Sums over all intervals, against looking at each thing for each interval.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <string.h>

#include "costs/triangle.h"
#include "test_data.h"

enum { MOST_UNITS = 9, THINGS = 12, WIDTH = 2 };

/* A thing of some units, which counts once in every interval with one of them; the first amount of
 * a parted one only where it does not have all of them. */
typedef struct thing {
    bool has_unit[MOST_UNITS];
    bool is_parted;
    uint64_t amounts[WIDTH];
} thing;

static bool counts(const thing *t, size_t k, size_t num_units, size_t first, size_t last) {
    size_t num_inside = 0;
    size_t num_all = 0;
    for (size_t unit = 0; unit < num_units; unit++) {
        num_all += t->has_unit[unit];
        num_inside += t->has_unit[unit] && unit >= first && unit <= last;
    }
    return num_inside > 0 && !(t->is_parted && k == 0 && num_inside == num_all);
}

static void add(pl_interval_sums *sums, const thing *t, size_t num_units) {
    size_t units[MOST_UNITS];
    size_t count = 0;
    for (size_t unit = 0; unit < num_units; unit++)
        if (t->has_unit[unit])
            units[count++] = unit;
    pl_interval_sums_add(sums, units, count, t->amounts);
    if (!t->is_parted || count == 0)
        return;
    const size_t last = units[count - 1];
    pl_interval_sums_add_arrival(sums, &(pl_arrival){last, SIZE_MAX, 0 - t->amounts[0]});
    if (count > 1)
        pl_interval_sums_add_arrival(sums, &(pl_arrival){last, units[0], t->amounts[0]});
}

static void agrees_with_looking_at_each_interval(void **state) {
    (void)state;
    uint64_t random = 89;
    for (int round = 0; round < 300; round++) {
        size_t num_units = 1 + test_below(&random, MOST_UNITS);
        size_t num_things = test_below(&random, THINGS + 1);
        thing things[THINGS];
        pl_interval_sums sums = {0};
        pl_interval_sums_init(&sums, num_units, WIDTH);
        memset(things, 0, sizeof things);
        for (size_t i = 0; i < num_things; i++) {
            for (size_t unit = 0; unit < num_units; unit++)
                things[i].has_unit[unit] = test_below(&random, 3) == 0;
            things[i].is_parted = test_below(&random, 2) == 0;
            for (size_t k = 0; k < WIDTH; k++)
                things[i].amounts[k] = test_below(&random, 100);
            add(&sums, &things[i], num_units);
        }
        assert_false(sums.arrays.failed);
        for (size_t first = 0; first < num_units; first++) {
            pl_interval_sums_begin(&sums);
            for (size_t last = first; last < num_units; last++) {
                uint64_t expected[WIDTH] = {0};
                for (size_t i = 0; i < num_things; i++)
                    for (size_t k = 0; k < WIDTH; k++)
                        if (counts(&things[i], k, num_units, first, last))
                            expected[k] += things[i].amounts[k];
                assert_memory_equal(pl_interval_sums_extend(&sums), expected, sizeof expected);
            }
        }
        pl_arrays_free(&sums.arrays);
    }
}

/* Every interval has a place of its own, and the places are in order. */
static void gives_every_interval_a_place(void **state) {
    (void)state;
    for (size_t num_units = 0; num_units <= 20; num_units++) {
        size_t place = 0;
        for (size_t first = 0; first < num_units; first++)
            for (size_t last = first; last < num_units; last++)
                assert_int_equal(pl_triangle_place(num_units, first, last), place++);
        assert_int_equal(pl_triangle_size(num_units), place);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_looking_at_each_interval),
        cmocka_unit_test(gives_every_interval_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
