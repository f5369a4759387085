/* What is kept free of the memory of a tile, and the memory of which so much is left, by trying
 * all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "popliner/solver.h"
#include "solve/options.h"

static const popliner_reserve reserves[] = {{0, 0},    {1, 0},     {37, 0},    {0, 1},    {0, 700},
                                            {0, 3333}, {0, 9999},  {0, 10000}, {5, 5000}, {100, 1},
                                            {2, 9999}, {0, 12345}, {3, 10000}};
enum { NUM_RESERVES = sizeof reserves / sizeof *reserves, MOST_MEMORY = 3000 };

static void leaves_what_is_not_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RESERVES; ++i)
        for (uint64_t memory = 0; memory <= MOST_MEMORY; ++memory) {
            const popliner_reserve *r = &reserves[i];
            uint64_t share =
                r->percent_hundredths > 10000 ? memory : memory * r->percent_hundredths / 10000;
            uint64_t kept = r->bytes + share;
            uint64_t left = 0;
            assert_int_equal(popliner_reserve_limit(r, memory, &left), kept <= memory);
            assert_int_equal(left, kept <= memory ? memory - kept : kept);
        }
    uint64_t left = 0;
    assert_true(popliner_reserve_limit(&reserves[8], UINT64_MAX, &left));
    assert_true(left == UINT64_MAX - UINT64_MAX / 2 - 5);
    assert_false(popliner_reserve_limit(&(popliner_reserve){UINT64_MAX, 5000}, 10, &left));
}

static void finds_the_smallest_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RESERVES; ++i)
        for (uint64_t limit = 0; limit <= 40; ++limit) {
            uint64_t memory = 0;
            uint64_t left = 0;
            uint64_t least = 1;
            bool is_known = pl_reserve_memory(&reserves[i], limit, &memory);
            while (least <= 1000000 &&
                   (!popliner_reserve_limit(&reserves[i], least, &left) || left < limit))
                ++least;
            assert_int_equal(is_known, least <= 1000000);
            if (is_known)
                assert_int_equal(memory, least);
        }
    uint64_t memory = 0;
    assert_true(pl_reserve_memory(&reserves[0], INT64_MAX, &memory));
    assert_true(memory == INT64_MAX);
    assert_false(pl_reserve_memory(&reserves[0], (uint64_t)INT64_MAX + 1, &memory));
    assert_false(pl_reserve_memory(&reserves[1], INT64_MAX, &memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_is_not_kept),
        cmocka_unit_test(finds_the_smallest_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
