/* Links between IPUs: what cuts take on them, exact to the last cycle; and long chains against a
 * program of their own. solver_random_test.c has them on random instances.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include "brute_force.h"
#include "costs/costs.h"
#include "popliner/costs.h"
#include "popliner/solver.h"
#include "solve/ipus.h"
#include "three_units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const popliner_method methods[] = {POPLINER_METHOD_AUTO, POPLINER_METHOD_DYNAMIC_PROGRAMMING,
                                          POPLINER_METHOD_ILP};

static void rounds_cycles_up(void **state) {
    (void)state;
    static const struct {
        popliner_ipu_link bandwidth;
        uint64_t bytes;
        uint64_t cycles;
    } cases[] = {
        {{0, 0, 3, 1}, 0, 0},
        {{0, 0, 3, 1}, 9, 3},
        {{0, 0, 3, 1}, 10, 4},
        {{0, 0, 3, 2}, 10, 7}, /* 6.67 */
        {{0, 0, 1000, 1}, 1, 1},
        {{0, 0, 1, 1000}, 7, 7000},
        {{0, 0, 0, 0}, 5, 0},
        {{0, 0, UINT64_MAX, 1}, UINT64_MAX, 1},
        {{0, 0, UINT64_MAX, 2}, UINT64_MAX - 1, 2},
        {{0, 0, 1, 1}, POPLINER_MAX_CYCLES - 1, POPLINER_MAX_CYCLES - 1},
        {{0, 0, 1, 1}, UINT64_MAX, POPLINER_MAX_CYCLES},
        {{0, 0, 1, UINT64_MAX}, UINT64_MAX, POPLINER_MAX_CYCLES},
        {{0, 0, UINT64_MAX, UINT64_MAX}, 12345678901, 12345678901},
    };
    /* a table whose times are fractions of a unit has so many cycles in each */
    const popliner_costs plain = {.cycles_per_time_unit = 1};
    const popliner_costs fine = {.cycles_per_time_unit = 1000000000};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i)
        assert_int_equal(pl_link_cycles(&plain, cases[i].bandwidth, cases[i].bytes),
                         cases[i].cycles);
    assert_int_equal(pl_link_cycles(&fine, (popliner_ipu_link){0, 0, 3, 2}, 10), 6666666667);
    assert_int_equal(pl_reduce_cycles(&fine, (popliner_ipu_link){0, 0, 3, 2}, 4, 10), 10000000000);
}

/* With cuts of 8 and 4 bytes between them. */
static popliner_costs *three_units_with_cuts(bool has_cycles) {
    popliner_costs *costs = three_units(has_cycles);
    popliner_costs_set_cut(costs, 1, 8, NULL);
    popliner_costs_set_cut(costs, 2, 4, NULL);
    return costs;
}

static void refuses_what_makes_no_sense(void **state) {
    (void)state;
    popliner_ipu_link links[] = {{0, 1, 2, 1}, {1, 2, 1, 1}};
    popliner_costs *costs = three_units_with_cuts(false);
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.ipu_links = links;
    options.num_ipu_links = 2;
    assert_refuses(costs, &options, "ipu_links: the costs have no cycles; leave it out");
    popliner_costs_free(costs);
    costs = three_units_with_cuts(true);
    links[1] = (popliner_ipu_link){1, 0, 1, 1};
    assert_refuses(costs, &options, "ipu_links: IPUs 0 and 1 appear twice");
    links[1] = (popliner_ipu_link){4, 4, 1, 1};
    assert_refuses(costs, &options, "ipu_links: IPU 4 has no link to itself");
    links[1] = (popliner_ipu_link){4, 5, 0, 1};
    assert_refuses(costs, &options, "ipu_links: 0 bytes in 1 cycles; expected at least 1 of both");
    links[1].bytes = 7;
    options.link_bandwidth.bytes = 5;
    assert_refuses(costs, &options,
                   "link_bandwidth: 5 bytes in 0 cycles; expected at least 1 of both");
    popliner_costs_free(costs);
}

/* By hand: 3 + 4 | 5 takes 7 and 5, and 4 bytes over the link; 3 | 4 + 5 takes 3 and 9, and 8. On
 * one IPU it is 12. */
static void counts_what_cuts_take(void **state) {
    (void)state;
    static const popliner_objective cycles = POPLINER_OBJECTIVE_CYCLES;
    static const struct {
        popliner_ipu_link usual;
        popliner_ipu_link own; /* of 0-1 */
        size_t num_stages;
        uint64_t cycles;
        uint64_t link_cycles;
    } cases[] = {
        {{0, 0, 4, 1}, {1, 0, 0, 0}, 2, 8, 1},  {{0, 0, 4, 1}, {1, 0, 1, 1}, 2, 11, 4},
        {{0, 0, 4, 1}, {1, 0, 4, 5}, 1, 12, 0}, {{0, 0, 1, 1}, {1, 0, 100, 1}, 2, 8, 1},
        {{0, 0, 1, 2}, {1, 0, 0, 0}, 1, 12, 0}, {{0, 0, 0, 0}, {1, 0, 3, 1}, 2, 9, 2},
        {{0, 0, 1, 90}, {1, 0, 8, 1}, 2, 8, 1}, {{0, 0, 1, 1}, {1, 0, 2, 1}, 2, 9, 2},
    };
    popliner_costs *costs = three_units_with_cuts(true);
    size_t count = test_has_glpk() ? 3 : 2;
    for (size_t i = 0; i < count * sizeof cases / sizeof *cases; ++i) {
        popliner_plan *plan = NULL;
        size_t k = i / count;
        const popliner_ipu_link link = cases[k].own;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.objectives = &cycles;
        options.num_objectives = 1;
        options.num_ipus = 2;
        options.method = methods[i % count];
        options.link_bandwidth = cases[k].usual;
        options.ipu_links = &link;
        options.num_ipu_links = link.bytes > 0;
        assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
        assert_int_equal(plan->num_stages, cases[k].num_stages);
        assert_int_equal(plan->cycles, cases[k].cycles);
        assert_int_equal(plan->stages[0].link_cycles, cases[k].link_cycles);
        assert_int_equal(plan->stages[plan->num_stages - 1].link_cycles, 0);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* By hand, with 3, 4 and 5 cycles and cuts of 8 and 4 bytes: IPU 0 has 3 + 8 and 5 + 4, IPU 1 has
 * 8 + 4 + 4; if both stages of a cut are on one IPU, it takes nothing. */
static void counts_what_cuts_of_shared_ipus_take(void **state) {
    (void)state;
    static const struct {
        size_t map[3];
        uint64_t of_stages[3];
        uint64_t cycles;
    } cases[] = {
        {{0, 1, 0}, {11, 16, 9}, 20}, {{1, 1, 0}, {3, 8, 9}, 11}, {{2, 2, 2}, {3, 4, 5}, 12}};
    popliner_costs *costs = three_units_with_cuts(true);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        popliner_plan *plan = NULL;
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        options.device_map = cases[i].map;
        options.num_mapped_stages = 3;
        options.link_bandwidth = (popliner_ipu_link){.bytes = 1, .cycles = 1};
        assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan->cycles, cases[i].cycles);
        for (size_t k = 0; k < 3; ++k)
            assert_int_equal(plan->stages[k].cycles, cases[i].of_stages[k]);
        popliner_plan_free(plan);
    }
    popliner_costs_free(costs);
}

/* ---- longer chains ---- */

enum { MOST_UNITS = 120, MOST_STAGES = 10 };

typedef struct long_chain {
    size_t num_units;
    size_t max_stages;
    uint64_t cycles_before[MOST_UNITS + 1]; /* of the units before a unit */
    popliner_ipu_link links[MOST_STAGES];
    popliner_ipu_value speeds[MOST_STAGES];
    popliner_costs *costs;
    popliner_solver_options options;
} long_chain;

static void draw_chain(long_chain *c, uint64_t *random) {
    *c = (long_chain){.num_units = 20 + test_below(random, MOST_UNITS - 20)};
    c->max_stages = 2 + test_below(random, MOST_STAGES - 1);
    size_t n = c->num_units;
    for (size_t u = 0; u < n; ++u)
        c->cycles_before[u + 1] = c->cycles_before[u] + test_below(random, 1000);
    assert_int_equal(popliner_costs_create(n, 1, &c->costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < n; ++i) {
        for (size_t j = i; j < n; ++j)
            popliner_costs_set_cycles(c->costs, i, j, c->cycles_before[j + 1] - c->cycles_before[i],
                                      NULL);
        popliner_costs_set_cut(c->costs, i, test_below(random, 4000), NULL);
    }
    c->options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    c->options.num_ipus = c->max_stages;
    c->options.link_bandwidth =
        (popliner_ipu_link){.bytes = 1 + test_below(random, 20), .cycles = 1};
    c->options.ipu_links = c->links;
    c->options.ipu_speeds = c->speeds;
    for (size_t k = 0; k + 1 < c->max_stages; ++k) {
        const popliner_ipu_link link = {k + 1, k, 1 + test_below(random, 30),
                                        1 + test_below(random, 4)};
        if (test_below(random, 3) > 0)
            c->links[c->options.num_ipu_links++] = link;
        if (test_below(random, 4) == 0)
            c->speeds[c->options.num_ipu_speeds++] =
                (popliner_ipu_value){k, 300000 + test_below(random, 3000000)};
    }
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* The fewest cycles of the slowest stage: by the place and the end of a stage, the best of the
 * stages up to it. */
static uint64_t fewest_cycles(const long_chain *c) {
    static uint64_t best[MOST_STAGES + 1][MOST_UNITS + 1];
    const popliner_solver_options *o = &c->options;
    size_t n = c->num_units;
    uint64_t fewest = UINT64_MAX;
    for (size_t end = 0; end <= n; ++end)
        best[0][end] = end == 0 ? 0 : UINT64_MAX;
    for (size_t k = 0; k < c->max_stages; ++k) {
        for (size_t end = 0; end <= n; ++end)
            best[k + 1][end] = UINT64_MAX;
        for (size_t first = 0; first < n; ++first)
            for (size_t end = first + 1; end <= n; ++end) {
                uint64_t busy =
                    brute_speed_cycles(o, k, c->cycles_before[end] - c->cycles_before[first]);
                if (best[k][first] == UINT64_MAX || (end < n && k + 1 == c->max_stages))
                    continue;
                if (first > 0)
                    busy += brute_link_cycles(o, k - 1, k, popliner_costs_cut(c->costs, first));
                if (end < n)
                    busy += brute_link_cycles(o, k, k + 1, popliner_costs_cut(c->costs, end));
                busy = larger(busy, best[k][first]);
                best[k + 1][end] = busy < best[k + 1][end] ? busy : best[k + 1][end];
            }
        fewest = best[k + 1][n] < fewest ? best[k + 1][n] : fewest;
    }
    return fewest;
}

static void solves_long_chains(void **state) {
    (void)state;
    static const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES,
                                                    POPLINER_OBJECTIVE_TRAFFIC};
    uint64_t random = 5;
    for (size_t i = 0; i < 100; ++i) {
        long_chain c;
        popliner_plan *plan = NULL;
        draw_chain(&c, &random);
        c.options.objectives = objectives;
        c.options.num_objectives = 1 + i % 2;
        c.options.method = i % 2 == 0 ? POPLINER_METHOD_AUTO : POPLINER_METHOD_DYNAMIC_PROGRAMMING;
        if (test_takes_case(i, 5)) {
            assert_int_equal(popliner_solve(c.costs, &c.options, &plan, NULL), POPLINER_OK);
            assert_int_equal(plan->cycles, fewest_cycles(&c));
            popliner_plan_free(plan);
        }
        popliner_costs_free(c.costs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_cycles_up),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(counts_what_cuts_take),
        cmocka_unit_test(counts_what_cuts_of_shared_ipus_take),
        cmocka_unit_test(solves_long_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
