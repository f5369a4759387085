/* What single IPUs need against brute force: with as much there is a split, with a byte less there
 * is none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "test.h"
#include "test_data.h"

#include "solve/infeasibility.h"
#include "solve/stop.h"

#include <math.h>
#include <string.h>

#define NO_LIMIT (POPLINER_PEAK_FORBIDDEN - 1)

enum { MOST_PLACES = 12 };

static const pl_stop never = {.deadline_seconds = INFINITY};

static bool fits_with(const instance *in, size_t ipu, uint64_t bytes) {
    popliner_solver_options options = in->options;
    popliner_ipu_value limits[MOST_RANDOM_ENTRIES + 1];
    size_t i = 0;
    if (options.num_ipu_limits > 0)
        memcpy(limits, options.ipu_limits, options.num_ipu_limits * sizeof *limits);
    while (i < options.num_ipu_limits && limits[i].ipu != ipu)
        ++i;
    limits[i] = (popliner_ipu_value){ipu, bytes};
    options.num_ipu_limits += i == options.num_ipu_limits;
    options.ipu_limits = limits;
    return brute_force(in->costs, &options).status == POPLINER_PLAN_OPTIMAL;
}

/* How many places there were for which a number was found. */
static size_t check_instance(const instance *in) {
    uint64_t bytes[MOST_PLACES];
    pl_problem p = {0};
    size_t num_found = 0;
    assert_int_equal(pl_problem_create(&p, in->costs, &in->options, NULL, NULL), POPLINER_OK);
    pl_filter filter = pl_filter_of_limits(&p);
    size_t num_places = p.max_stages < MOST_PLACES ? p.max_stages : MOST_PLACES;
    assert_int_equal(pl_ipu_needs_find(&p, &filter.limits, num_places, &never, bytes, NULL),
                     POPLINER_OK);
    for (size_t place = 0; place < num_places; ++place) {
        size_t ipu = pl_problem_ipu(&p, place);
        if (bytes[place] == POPLINER_PEAK_FORBIDDEN) {
            assert_false(fits_with(in, ipu, NO_LIMIT));
            continue;
        }
        ++num_found;
        assert_true(fits_with(in, ipu, bytes[place]));
        if (bytes[place] > 0)
            assert_false(fits_with(in, ipu, bytes[place] - 1));
    }
    pl_problem_free(&p);
    return num_found;
}

/* What is found without the IPU is found, too, where nothing fits and all is tight. */
static void equals_brute_force(void **state) {
    (void)state;
    static const instance_wish wishes[] = {
        {MEMORY_LIMIT | TIGHT | IPU_LIMITS, PIPELINE | CONSTRAINTS, 0, 1},
        {MEMORY_LIMIT | TIGHT | IPU_LIMITS | UNORDERED, PIPELINE | CONSTRAINTS, 0, 1},
        {MEMORY_LIMIT | TIGHT | DEVICE_MAP, PIPELINE | CONSTRAINTS | UNORDERED, 0, 1},
    };
    for (size_t k = 0; k < sizeof wishes / sizeof *wishes; ++k) {
        size_t num_taken = 0;
        size_t num_found = 0;
        for (uint64_t seed = 0; seed < 2000; ++seed) {
            instance in;
            if (!test_takes_case(seed, 13))
                continue;
            num_taken++;
            draw_instance(&wishes[k], seed, &in);
            brute_answer answer = brute_force(in.costs, &in.options);
            if (answer.status == POPLINER_PLAN_INFEASIBLE && answer.split.exists)
                num_found += check_instance(&in);
            free_instance(&in);
        }
        assert_true(num_found > num_taken / 20);
    }
}

static bool wants_to_stop(void *user) {
    (void)user;
    return true;
}

static void finds_nothing_when_stopped(void **state) {
    (void)state;
    static const pl_stop now = {.deadline_seconds = INFINITY, .should_stop = wants_to_stop};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_costs *costs;
    pl_problem p = {0};
    uint64_t bytes = 0;
    assert_int_equal(popliner_costs_create(1, 1, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 0, 1, 7, NULL);
    assert_int_equal(pl_problem_create(&p, costs, &options, NULL, NULL), POPLINER_OK);
    pl_filter filter = pl_filter_of_limits(&p);
    assert_int_equal(pl_ipu_needs_find(&p, &filter.limits, 1, &never, &bytes, NULL), POPLINER_OK);
    assert_int_equal(bytes, 7);
    assert_int_equal(pl_ipu_needs_find(&p, &filter.limits, 1, &now, &bytes, NULL), POPLINER_OK);
    assert_true(bytes == POPLINER_PEAK_FORBIDDEN);
    pl_problem_free(&p);
    popliner_costs_free(costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_brute_force),
        cmocka_unit_test(finds_nothing_when_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
