/* The best compromises of two objectives: by hand, against a plain dynamic program for every limit,
 * and against all splits of thousands of random instances: every pair of objectives, with and
 * without further ones, every constraint, pipelines and shared IPUs.
 *
 * A failure prints its instance and the two numbers that make it: "popliner_tests pareto KIND SEED"
 * solves that one again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "test_data.h"

#include "popliner/solver.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1 << (MOST_RANDOM_UNITS - 1), DIFFERENCE_BYTES = 200 };

/* ---- random instances ----------------------------------------------------------------------- */

/* What is done to the numbers of an instance: those that were drawn are so few, and memory goes so
 * much with cycles, that most have one point or two. */
typedef enum numbers {
    AS_DRAWN,
    SUMS,     /* of what each unit has, in a wide range, drawn for each quantity */
    ANYTHING, /* each interval has its own */
} numbers;

/* One test. */
typedef struct kind {
    const char *name;
    instance_wish wish;
    numbers numbers;
    size_t num_instances;
    size_t least_points; /* of 100 instances together */
} kind;

enum { WIDE = 100000, MOST_UNITS = 30 };

/* Gives an instance other numbers, and as many stages as it likes. */
static void make_contrary(numbers n, uint64_t seed, instance *in) {
    uint64_t random = test_random(seed);
    size_t bytes[MOST_UNITS];
    size_t cycles[MOST_UNITS];
    if (n == AS_DRAWN)
        return;
    in->options.num_ipus = in->num_units;
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        bytes[unit] = test_below(&random, WIDE);
        cycles[unit] = test_below(&random, WIDE);
        if (unit > 0)
            popliner_costs_set_cut(in->costs, unit, test_below(&random, WIDE), NULL);
    }
    for (size_t first = 0; first < in->num_units; ++first) {
        size_t sum_bytes = 0;
        size_t sum_cycles = 0;
        for (size_t last = first; last < in->num_units; ++last) {
            sum_bytes = n == SUMS ? sum_bytes + bytes[last] : test_below(&random, WIDE);
            sum_cycles = n == SUMS ? sum_cycles + cycles[last] : test_below(&random, WIDE);
            popliner_costs_set_peak(in->costs, first, last, 1, sum_bytes, NULL);
            popliner_costs_set_cycles(in->costs, first, last, sum_cycles, NULL);
        }
    }
}

/* Whether the points are these; if not, says what differs first. */
static bool are_points(const popliner_costs *costs, const popliner_solver_options *options,
                       const brute_answer *expected, size_t num_expected,
                       char difference[DIFFERENCE_BYTES]) {
    popliner_pareto *pareto = NULL;
    popliner_error error = {.message = ""};
    if (popliner_pareto_solve(costs, options, &pareto, &error) != POPLINER_OK) {
        snprintf(difference, DIFFERENCE_BYTES, "%.190s", error.message);
        return false;
    }
    bool is_same = pareto->num_points == num_expected && pareto->is_complete && !pareto->is_stopped;
    if (!is_same)
        snprintf(difference, DIFFERENCE_BYTES, "%zu points%s%s instead of %zu", pareto->num_points,
                 pareto->is_complete ? "" : ", not complete", pareto->is_stopped ? ", stopped" : "",
                 num_expected);
    for (size_t i = 0; is_same && i < num_expected; ++i) {
        char of_plan[DIFFERENCE_BYTES] = "";
        is_same = plan_is(pareto->plans[i], &expected[i], of_plan);
        if (!is_same)
            snprintf(difference, DIFFERENCE_BYTES, "point %zu: %.150s", i, of_plan);
    }
    popliner_pareto_free(pareto);
    return is_same;
}

/* Holds all methods that can against all splits; returns how many points there are. */
static size_t check_points(const char *name, uint64_t seed, const instance *in) {
    static brute_answer expected[MOST_POINTS];
    popliner_solver_options options = in->options;
    size_t count = brute_pareto(in->costs, &options, expected, MOST_POINTS);
    static const popliner_method methods[] = {POPLINER_METHOD_AUTO, POPLINER_METHOD_ILP,
                                              POPLINER_METHOD_DYNAMIC_PROGRAMMING};
    bool has_glpk = test_has_glpk();
    for (size_t i = 0; i < (has_shared_ipus(&options) ? 1 : 3); ++i) {
        char difference[DIFFERENCE_BYTES];
        options.method = methods[i];
        if (options.method == POPLINER_METHOD_ILP && !has_glpk)
            continue;
        if (are_points(in->costs, &options, expected, count, difference))
            continue;
        print_error("pareto_test %s %" PRIu64 "\n", name, seed);
        print_instance(in);
        fail_msg("method %d: %s", (int)methods[i], difference);
    }
    return count;
}

/* How many points there are. */
static size_t check_instance(const kind *k, uint64_t seed) {
    instance in;
    draw_instance(&k->wish, seed, &in);
    make_contrary(k->numbers, seed, &in);
    size_t count = check_points(k->name, seed, &in);
    free_instance(&in);
    return count;
}

static void check_kind(void **state) {
    const kind *k = *state;
    size_t num_taken = 0;
    size_t num_points = 0;
    for (uint64_t seed = 0; seed < k->num_instances; ++seed) {
        if (!test_takes_case(seed, 19)) /* of every list of objectives some */
            continue;
        num_taken++;
        num_points += check_instance(k, seed);
    }
    /* the instances are what they are meant to be */
    assert_met(100 * num_points >= k->least_points * num_taken);
}

static kind kinds[] = {
    {"every_pair", {0, MEMORY_LIMIT | CUT_RULES | DEVICE_MAP, 2, 2}, AS_DRAWN, 600, 60},
    {"every_pair_of_sums", {0, 0, 2, 2}, SUMS, 600, 200},
    {"every_pair_of_anything", {0, CUT_RULES, 2, 2}, ANYTHING, 600, 150},
    {"further_objectives", {0, MEMORY_LIMIT | CUT_RULES | DEVICE_MAP, 3, 5}, AS_DRAWN, 400, 60},
    {"further_objectives_of_sums", {0, 0, 3, 5}, SUMS, 400, 200},
    {"usual_objectives", {0, MEMORY_LIMIT, 0, 0}, AS_DRAWN, 100, 60},
    {"constraints", {0, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS, 2, 3}, AS_DRAWN, 400, 50},
    {"constraints_of_sums", {0, CONSTRAINTS, 2, 3}, SUMS, 400, 100},
    {"pipeline",
     {PIPELINE, MEMORY_LIMIT | IPU_LIMITS | DEVICE_MAP | CUT_RULES, 2, 3},
     AS_DRAWN,
     600,
     60},
    {"speeds_of_ipus",
     {SPEEDS, MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP | SHARED_IPUS, 2, 3},
     AS_DRAWN,
     400,
     60},
    {"links_between_ipus",
     {LINKS | SPEEDS, MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP | SHARED_IPUS, 2, 3},
     AS_DRAWN,
     400,
     60},
    {"shared_ipus", {SHARED_IPUS, MEMORY_LIMIT | IPU_LIMITS, 2, 2}, AS_DRAWN, 400, 60},
    {"shared_ipus_with_constraints",
     {SHARED_IPUS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE, 2, 5},
     AS_DRAWN,
     400,
     50},
    {"headroom",
     {HEADROOM | MEMORY_LIMIT, IPU_LIMITS | DEVICE_MAP | CUT_RULES | SHARED_IPUS | PIPELINE, 1, 2},
     AS_DRAWN,
     600,
     40},
    {"everything_together",
     {0, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP, 2, 5},
     AS_DRAWN,
     800,
     50},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* ---- longer chains -------------------------------------------------------------------------- */

enum { LONG_UNITS = 28, LONG_STAGES = 9, LONG_VALUES = LONG_UNITS * (LONG_UNITS + 1) / 2 };

/* What the interval first ... last has of an objective as a stage, with the cut before it. */
static uint64_t value_of_stage(const popliner_costs *costs, popliner_objective objective,
                               size_t first, size_t last) {
    switch (objective) {
    case POPLINER_OBJECTIVE_MEMORY:
        return popliner_costs_peak(costs, first, last, 1);
    case POPLINER_OBJECTIVE_CYCLES:
        return popliner_costs_cycles(costs, first, last);
    case POPLINER_OBJECTIVE_TRAFFIC:
        return first == 0 ? 0 : popliner_costs_cut(costs, first);
    default:
        return 1;
    }
}

/* The least of the second objective for all splits whose stages have at most `most` of the first,
 * which is the largest of its stages; UINT64_MAX if there is none. */
static uint64_t least_second(const popliner_costs *costs, const popliner_objective *two,
                             uint64_t most) {
    bool adds_up = two[1] == POPLINER_OBJECTIVE_TRAFFIC || two[1] == POPLINER_OBJECTIVE_IPUS;
    uint64_t least[LONG_STAGES + 1][LONG_UNITS + 1]; /* of the first units in so many stages */
    uint64_t result = UINT64_MAX;
    for (size_t end = 0; end <= LONG_UNITS; ++end)
        least[0][end] = end == 0 ? 0 : UINT64_MAX;
    for (size_t m = 1; m <= LONG_STAGES; ++m) {
        for (size_t end = 0; end <= LONG_UNITS; ++end) {
            least[m][end] = UINT64_MAX;
            for (size_t first = 0; first < end; ++first) {
                uint64_t before = least[m - 1][first];
                uint64_t own = value_of_stage(costs, two[1], first, end - 1);
                if (before == UINT64_MAX || value_of_stage(costs, two[0], first, end - 1) > most)
                    continue;
                uint64_t value = adds_up ? before + own : before > own ? before : own;
                least[m][end] = value < least[m][end] ? value : least[m][end];
            }
        }
        result = least[m][LONG_UNITS] < result ? least[m][LONG_UNITS] : result;
    }
    return result;
}

static int compare_numbers(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every value that an interval has is a limit on the first objective, one after another: a point is
 * where a larger one leaves less of the second. Holds these against the points that are found;
 * returns how many there are. */
static size_t check_long_chain(const popliner_costs *costs, const popliner_objective *two) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_pareto *pareto;
    uint64_t limits[LONG_VALUES];
    size_t num_limits = 0;
    uint64_t last_second = UINT64_MAX;
    size_t count = 0;
    options.objectives = two;
    options.num_objectives = 2;
    options.num_ipus = LONG_STAGES;
    assert_int_equal(popliner_pareto_solve(costs, &options, &pareto, NULL), POPLINER_OK);
    assert_true(pareto->is_complete);
    for (size_t first = 0; first < LONG_UNITS; ++first)
        for (size_t last = first; last < LONG_UNITS; ++last)
            limits[num_limits++] = value_of_stage(costs, two[0], first, last);
    qsort(limits, num_limits, sizeof *limits, compare_numbers);
    for (size_t i = 0; i < num_limits; ++i) {
        uint64_t second = least_second(costs, two, limits[i]);
        if (second >= last_second)
            continue;
        const popliner_plan *plan = pareto->plans[count++];
        assert_non_null(plan);
        assert_int_equal(plan->values[0].value, limits[i]);
        assert_int_equal(plan->values[1].value, second);
        last_second = second;
    }
    assert_int_equal(pareto->num_points, count);
    popliner_pareto_free(pareto);
    return count;
}

/* Against a plain dynamic program for every limit that there is. */
static void knows_the_points_of_longer_chains(void **state) {
    static const popliner_objective pairs[][2] = {
        {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES},
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY},
        {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC},
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC},
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_IPUS},
    };
    enum { NUM_PAIRS = sizeof pairs / sizeof *pairs, NUM_CHAINS = 40 };
    size_t num_taken = 0;
    size_t num_points = 0;
    (void)state;
    for (size_t i = 0; i < NUM_CHAINS; ++i) {
        instance in = {.num_units = LONG_UNITS};
        if (!test_takes_case(i, 7))
            continue;
        assert_int_equal(popliner_costs_create(LONG_UNITS, 1, &in.costs, NULL), POPLINER_OK);
        make_contrary(i % 2 == 0 ? SUMS : ANYTHING, i, &in);
        num_points += check_long_chain(in.costs, pairs[i % NUM_PAIRS]);
        num_taken++;
        free_instance(&in);
    }
    assert_met(num_points > 7 * num_taken);
}

/* ---- by hand -------------------------------------------------------------------------------- */

/* Three units: 6, 2, 4 bytes; 1, 4, 3 cycles; the cuts carry 5 and 9 bytes. So the splits have
 *
 *     cuts       memory  cycles  traffic  ipus
 *     none           12       8        0     1
 *     first           6       7        5     2
 *     second          8       5        9     2
 *     both            6       4       14     3
 */
static popliner_costs *three_units(void) {
    static const uint64_t bytes[] = {6, 2, 4};
    static const uint64_t cycles[] = {1, 4, 3};
    static const uint64_t cut_bytes[] = {0, 5, 9};
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(3, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < 3; ++first) {
        uint64_t peak_bytes = 0;
        uint64_t sum_cycles = 0;
        for (size_t last = first; last < 3; ++last) {
            popliner_costs_set_peak(costs, first, last, 1, peak_bytes += bytes[last], NULL);
            popliner_costs_set_cycles(costs, first, last, sum_cycles += cycles[last], NULL);
        }
        if (first > 0)
            popliner_costs_set_cut(costs, first, cut_bytes[first], NULL);
    }
    return costs;
}

static void knows_the_points_of_three_units(void **state) {
    static const struct {
        popliner_objective objectives[2];
        size_t max_stages;
        size_t num_points;
        uint64_t points[4][2];
    } cases[] = {
        {{POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES}, 3, 1, {{6, 4}}},
        {{POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES}, 2, 2, {{6, 7}, {8, 5}}},
        {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY}, 2, 2, {{5, 8}, {7, 6}}},
        {{POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_TRAFFIC}, 3, 2, {{6, 5}, {12, 0}}},
        {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC},
         3,
         4,
         {{4, 14}, {5, 9}, {7, 5}, {8, 0}}},
        {{POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_CYCLES},
         3,
         4,
         {{0, 8}, {5, 7}, {9, 5}, {14, 4}}},
        {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_IPUS}, 3, 3, {{4, 3}, {5, 2}, {8, 1}}},
        {{POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_CYCLES}, 3, 3, {{1, 8}, {2, 5}, {3, 4}}},
        {{POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_BALANCE},
         3,
         1,
         {{6, 0}}}, /* of peaks: one cut leaves 6 and 6 */
        /* of cycles: 7 and 1, 5 and 3, 4 and 1, or all 8 alone */
        {{POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_BALANCE}, 3, 3, {{4, 3}, {5, 2}, {8, 0}}},
    };
    (void)state;
    popliner_costs *costs = three_units();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_pareto *pareto;
        options.objectives = cases[i].objectives;
        options.num_objectives = 2;
        options.num_ipus = cases[i].max_stages;
        assert_int_equal(popliner_pareto_solve(costs, &options, &pareto, NULL), POPLINER_OK);
        assert_int_equal(pareto->num_points, cases[i].num_points);
        assert_true(pareto->is_complete);
        for (size_t k = 0; k < cases[i].num_points; ++k)
            for (size_t value = 0; value < 2; ++value)
                assert_int_equal((pareto->plans[k])->values[value].value,
                                 cases[i].points[k][value]);
        popliner_pareto_free(pareto);
    }
    popliner_costs_free(costs);
}

static void nothing_that_fits_is_no_point(void **state) {
    (void)state;
    popliner_costs *costs = three_units();
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_pareto *pareto;
    options.mem_per_tile = 5;
    assert_int_equal(popliner_pareto_solve(costs, &options, &pareto, NULL), POPLINER_OK);
    assert_int_equal(pareto->num_points, 0);
    assert_true(pareto->is_complete);
    assert_int_equal(pareto->num_points, 0);
    popliner_pareto_free(pareto);
    popliner_pareto_free(NULL);
    popliner_costs_free(costs);
}

static void refuses_what_has_no_compromise(void **state) {
    static const popliner_objective one[] = {POPLINER_OBJECTIVE_CYCLES};
    (void)state;
    popliner_costs *costs = three_units();
    for (int i = 0; i < 3; ++i) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_pareto *pareto;
        popliner_error error;
        if (i == 0) {
            options.objectives = one;
            options.num_objectives = 1;
        } else if (i == 1) {
            options.slack_percent = 1;
        } else {
            options.method = POPLINER_METHOD_GREEDY;
        }
        assert_int_equal(popliner_pareto_solve(costs, &options, &pareto, &error),
                         POPLINER_ERROR_USAGE);
        assert_null(pareto);
        test_assert_sentence(error.message);
    }
    popliner_costs_free(costs);
}

/* ---- stopping ------------------------------------------------------------------------------- */

static bool stop_when_done(void *user) {
    size_t *num_left = user;
    if (*num_left == 0)
        return true;
    --*num_left;
    return false;
}

/* Wherever it stops, the points are the first ones of all, and perhaps one that is not proven. */
static void check_stopping(popliner_solver_options options, const popliner_costs *costs) {
    popliner_pareto *all;
    bool is_complete = false;
    bool was_stopped_between = false;
    options.should_stop = NULL;
    assert_int_equal(popliner_pareto_solve(costs, &options, &all, NULL), POPLINER_OK);
    size_t num_all = all->num_points;
    options.should_stop = stop_when_done;
    for (size_t num_asked = 0; !is_complete; ++num_asked) {
        size_t num_left = num_asked;
        popliner_pareto *some;
        options.should_stop_user = &num_left;
        assert_int_equal(popliner_pareto_solve(costs, &options, &some, NULL), POPLINER_OK);
        is_complete = some->is_complete;
        assert_true(some->is_stopped != is_complete);
        assert_true(some->num_points <= num_all);
        for (size_t i = 0; i < some->num_points; ++i) {
            const popliner_plan *plan = some->plans[i];
            const popliner_plan *right = all->plans[i];
            bool is_proven = plan->status == POPLINER_PLAN_OPTIMAL;
            assert_true(is_proven || i + 1 == some->num_points);
            for (size_t k = 0; is_proven && k < 2; ++k)
                assert_int_equal(plan->values[k].value, right->values[k].value);
            /* it has less of the second objective than the point before, and no bound is wrong */
            uint64_t first = plan->values[0].value;
            assert_true(plan->values[0].bound <= right->values[0].value);
            assert_true(first >= right->values[0].value);
            if (i > 0)
                assert_true(plan->values[1].value < (all->plans[i - 1])->values[1].value);
        }
        was_stopped_between |= !is_complete && some->num_points > 1;
        if (is_complete)
            assert_int_equal(some->num_points, num_all);
        popliner_pareto_free(some);
    }
    assert_true(num_all < 3 || was_stopped_between);
    popliner_pareto_free(all);
}

static void tells_what_is_known_when_it_is_stopped(void **state) {
    static const popliner_objective lists[][2] = {
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC},
        {POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_MEMORY},
        {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_BALANCE},
    };
    static const size_t shared[] = {0, 1, 0};
    (void)state;
    popliner_costs *costs = three_units();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.objectives = lists[i];
        options.num_objectives = 2;
        check_stopping(options, costs);
        options.device_map = shared;
        options.num_mapped_stages = 3;
        check_stopping(options, costs);
    }
    popliner_costs_free(costs);
}

int main(void) {
    uint64_t seed;
    struct CMUnitTest tests[NUM_KINDS + 5] = {
        [NUM_KINDS] = cmocka_unit_test(knows_the_points_of_three_units),
        [NUM_KINDS + 1] = cmocka_unit_test(nothing_that_fits_is_no_point),
        [NUM_KINDS + 2] = cmocka_unit_test(refuses_what_has_no_compromise),
        [NUM_KINDS + 3] = cmocka_unit_test(tells_what_is_known_when_it_is_stopped),
        [NUM_KINDS + 4] = cmocka_unit_test(knows_the_points_of_longer_chains),
    };
    for (size_t i = 0; i < NUM_KINDS; ++i) {
        tests[i] = (struct CMUnitTest){kinds[i].name, check_kind, NULL, NULL, &kinds[i]};
        if (test_replays(kinds[i].name, &seed))
            return check_instance(&kinds[i], seed) == SIZE_MAX;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
