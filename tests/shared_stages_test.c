/* What was measured of stages on one IPU is remembered, and is what the costs say.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "test.h"

#include "costs/costs.h"
#include "solve/shared/shared.h"

#include <string.h>

/* Every two stages of a chain, twice: the second time nothing is asked. */
static void asks_once(void **state) {
    (void)state;
    static shared_instance in;
    pl_shared shared = {0};
    size_t num_pairs = 0;
    draw_shared_instance(&in, 0);
    discard_shared_instance(&in);
    in.num_units = 16;
    make_shared_costs(&in);
    in.options.num_pairs = 0;
    memset(in.cut_rules, 0, sizeof in.cut_rules);
    assert_int_equal(pl_problem_create(&in.problem, in.costs, &in.options, NULL), POPLINER_OK);
    for (int round = 0; round < 2; ++round) {
        in.num_calls = 0;
        num_pairs = 0;
        for (size_t a = 0; a < in.num_units; ++a)
            for (size_t b = a; b < in.num_units; ++b)
                for (size_t c = b + 1; c < in.num_units; ++c)
                    for (size_t d = c; d < in.num_units; ++d) {
                        const popliner_interval together[] = {{a, b, 6}, {c, d, 3}};
                        pl_load load;
                        uint64_t expected = 0;
                        size_t num_calls = in.num_calls;
                        assert_int_equal(
                            pl_shared_measure(&shared, &in.problem, NULL, together, 2, &load, NULL),
                            POPLINER_OK);
                        assert_int_equal(in.num_calls, num_calls + (round == 0));
                        assert_int_equal(
                            pl_costs_shared_peak(in.costs, together, 2, &expected, NULL),
                            POPLINER_OK);
                        assert_int_equal(load.peak_bytes, expected);
                        ++num_pairs;
                    }
    }
    assert_true(num_pairs > 2000); /* so that the table grew */
    pl_shared_free(&shared);
    discard_shared_instance(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(asks_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
