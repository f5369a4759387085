/* What is kept free of the memory of a tile, and the memory of which so much is left, by trying
 * all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include "popliner/solver.h"
#include "solve/options.h"

static const uint64_t reserves[][2] = {{0, 0},    {1, 0},     {37, 0},    {0, 1},    {0, 700},
                                       {0, 3333}, {0, 9999},  {0, 10000}, {5, 5000}, {100, 1},
                                       {2, 9999}, {0, 12345}, {3, 10000}};
/* The options with the bytes and the hundredths of a percent. */
static popliner_solver_options keeping(uint64_t bytes, uint64_t hundredths) {
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    o.reserve_bytes = bytes;
    o.reserve_percent_hundredths = hundredths;
    return o;
}

enum { NUM_RESERVES = sizeof reserves / sizeof *reserves, MOST_MEMORY = 3000 };

static void leaves_what_is_not_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RESERVES; ++i)
        for (uint64_t memory = 0; memory <= MOST_MEMORY; ++memory) {
            const popliner_solver_options o = keeping(reserves[i][0], reserves[i][1]);
            uint64_t share = o.reserve_percent_hundredths > 10000
                                 ? memory
                                 : memory * o.reserve_percent_hundredths / 10000;
            uint64_t kept = o.reserve_bytes + share;
            uint64_t left = 0;
            assert_int_equal(popliner_reserve_limit(&o, SIZE_MAX, memory, &left), kept <= memory);
            assert_int_equal(left, kept <= memory ? memory - kept : kept);
        }
    uint64_t left = 0;
    popliner_solver_options o = keeping(5, 5000);
    assert_true(popliner_reserve_limit(&o, SIZE_MAX, UINT64_MAX, &left));
    assert_true(left == UINT64_MAX - UINT64_MAX / 2 - 5);
    o.reserve_bytes = UINT64_MAX;
    assert_false(popliner_reserve_limit(&o, SIZE_MAX, 10, &left));
    o.ipu_reserves = &(popliner_ipu_value){3, 4};
    o.num_ipu_reserves = 1;
    assert_true(popliner_reserve_limit(&o, 3, 10, &left));
    assert_int_equal(left, 6);
    assert_false(popliner_reserve_limit(&o, 2, 10, &left));
}

static void finds_the_smallest_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < NUM_RESERVES; ++i)
        for (uint64_t limit = 0; limit <= 40; ++limit) {
            uint64_t memory = 0;
            uint64_t left = 0;
            uint64_t least = 1;
            const popliner_solver_options o = keeping(reserves[i][0], reserves[i][1]);
            bool is_known = popliner_reserve_memory(&o, SIZE_MAX, limit, &memory);
            while (least <= 1000000 &&
                   (!popliner_reserve_limit(&o, SIZE_MAX, least, &left) || left < limit))
                ++least;
            assert_int_equal(is_known, least <= 1000000);
            if (is_known)
                assert_int_equal(memory, least);
        }
    uint64_t memory = 0;
    popliner_solver_options o = keeping(0, 0);
    assert_true(popliner_reserve_memory(&o, SIZE_MAX, INT64_MAX, &memory));
    assert_true(memory == INT64_MAX);
    assert_false(popliner_reserve_memory(&o, SIZE_MAX, (uint64_t)INT64_MAX + 1, &memory));
    o.reserve_bytes = 1;
    assert_false(popliner_reserve_memory(&o, SIZE_MAX, INT64_MAX, &memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_is_not_kept),
        cmocka_unit_test(finds_the_smallest_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
