/* Parts of live ranges, against looking for the same one in a list.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "memory/tile_meter.h"
#include "test_data.h"

enum { MOST_PARTS = 3000 };

static void agrees_with_a_list(void **state) {
    (void)state;
    static pl_live_part list[MOST_PARTS];
    static const size_t rounds[] = {0, 1, 31, 32, 33, 400, MOST_PARTS, 5};
    uint64_t random = 97;
    pl_live_parts parts = {0};
    for (size_t round = 0; round < sizeof rounds / sizeof *rounds; round++) {
        size_t count = 0;
        pl_live_parts_empty(&parts);
        for (size_t i = 0; i < rounds[round]; i++) {
            pl_live_part drawn = {test_below(&random, 1000), (uint32_t)test_below(&random, 8),
                                  (uint32_t)test_below(&random, 12),
                                  (uint32_t)test_below(&random, 12)};
            if (i % 3 == 0) /* rare and large numbers, too */
                drawn.end_step = UINT32_MAX - (uint32_t)test_below(&random, 100);
            size_t k = 0;
            while (k < count &&
                   (list[k].set != drawn.set || list[k].first_step != drawn.first_step ||
                    list[k].end_step != drawn.end_step))
                k++;
            if (k == count)
                list[count++] = drawn;
            else
                list[k].bytes += drawn.bytes;
            assert_true(pl_live_parts_add(&parts, drawn.set, drawn.first_step, drawn.end_step,
                                          drawn.bytes));
        }
        assert_int_equal(parts.count, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(parts.parts[i].set, list[i].set);
            assert_int_equal(parts.parts[i].first_step, list[i].first_step);
            assert_int_equal(parts.parts[i].end_step, list[i].end_step);
            assert_int_equal(parts.parts[i].bytes, list[i].bytes);
        }
    }
    pl_live_parts_free(&parts);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
