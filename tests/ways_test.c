/* Stages that choose between tables of costs, against every split with every choice.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "popliner/solver.h"
#include "test_data.h"

enum { MOST_UNITS = 5, MOST_WAYS = 3 };

static const char *const names[MOST_WAYS] = {"none", "standard", "full"};

typedef struct question {
    size_t num_units;
    size_t num_ways;
    size_t num_places;
    popliner_costs *costs[MOST_WAYS];
    popliner_solver_options options;
    popliner_objective objectives[4];
    popliner_ipu_limit limit;
    popliner_cut_rule cut_rules[MOST_UNITS];
} question;

/* A split with its choices, and what it is worth. */
typedef struct answer {
    bool exists;
    size_t num_stages;
    size_t first[MOST_UNITS];
    uint64_t of[POPLINER_NUM_OBJECTIVES];
} answer;

static void draw_costs(question *q, uint64_t *random) {
    size_t n = q->num_units;
    bool has_cycles = test_below(random, 6) > 0;
    for (size_t way = 0; way < q->num_ways; way++) {
        assert_int_equal(popliner_costs_create(n, q->num_places, &q->costs[way], NULL),
                         POPLINER_OK);
        for (size_t first = 0; first < n; first++)
            for (size_t last = first; last < n; last++) {
                bool is_forbidden = test_below(random, 12) == 0;
                for (size_t place = 1; place <= q->num_places; place++)
                    assert_int_equal(
                        popliner_costs_set_peak(q->costs[way], first, last, place,
                                                is_forbidden
                                                    ? POPLINER_PEAK_FORBIDDEN
                                                    : (1 + last - first) * test_below(random, 12) +
                                                          place * test_below(random, 4),
                                                NULL),
                        POPLINER_OK);
                if (has_cycles)
                    assert_int_equal(
                        popliner_costs_set_cycles(q->costs[way], first, last,
                                                  (1 + last - first) * test_below(random, 9), NULL),
                        POPLINER_OK);
            }
    }
    for (size_t unit = 1; unit < n; unit++) {
        uint64_t bytes = test_below(random, 4);
        for (size_t way = 0; way < q->num_ways; way++)
            assert_int_equal(popliner_costs_set_cut(q->costs[way], unit, bytes, NULL), POPLINER_OK);
    }
}

static void draw_question(question *q, uint64_t *random) {
    static const popliner_objective all[] = {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES,
                                             POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_IPUS};
    *q = (question){.num_units = 1 + test_below(random, MOST_UNITS),
                    .num_ways = 1 + test_below(random, MOST_WAYS)};
    q->num_places = test_below(random, 3) == 0 ? 1 : q->num_units;
    draw_costs(q, random);
    memcpy(q->objectives, all, sizeof all);
    for (size_t i = 3; i > 0; i--) {
        size_t k = test_below(random, i + 1);
        popliner_objective kept = q->objectives[i];
        q->objectives[i] = q->objectives[k];
        q->objectives[k] = kept;
    }
    q->options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    q->options.method = test_below(random, 8) == 0 && popliner_solver_has_glpk()
                            ? POPLINER_METHOD_ILP
                            : POPLINER_METHOD_AUTO;
    q->options.objectives = q->objectives;
    q->options.num_objectives = 1 + test_below(random, 4);
    q->options.num_ipus = 1 + test_below(random, MOST_UNITS);
    if (test_below(random, 2) == 0)
        q->options.mem_per_tile = test_below(random, 50);
    if (test_below(random, 4) == 0) {
        q->limit = (popliner_ipu_limit){test_below(random, 3), test_below(random, 50)};
        q->options.ipu_limits = &q->limit;
        q->options.num_ipu_limits = 1;
    }
    for (size_t unit = 1; unit < q->num_units; unit++)
        q->cut_rules[unit] =
            test_below(random, 6) == 0 ? POPLINER_CUT_FORBIDDEN : POPLINER_CUT_FREE;
    q->options.cut_rules = q->cut_rules;
}

static uint64_t limit_of(const question *q, size_t ipu) {
    bool has_own = q->options.num_ipu_limits > 0 && q->limit.ipu == ipu;
    return has_own ? q->limit.bytes : q->options.mem_per_tile;
}

static bool has_objective(const question *q, popliner_objective objective) {
    for (size_t i = 0; i < q->options.num_objectives; i++)
        if (q->objectives[i] == objective)
            return true;
    return false;
}

static bool is_better(const question *q, const answer *a, const answer *b) {
    if (!a->exists || !b->exists)
        return a->exists;
    for (size_t i = 0; i < q->options.num_objectives; i++) {
        popliner_objective objective = q->objectives[i];
        if (a->of[objective] != b->of[objective])
            return a->of[objective] < b->of[objective];
    }
    return false;
}

static uint64_t cycles_of(const question *q, size_t way, size_t first, size_t last) {
    return popliner_costs_has_cycles(q->costs[way])
               ? popliner_costs_cycles(q->costs[way], first, last)
               : 0;
}

/* One split with one choice of each stage: digits of `choices`. */
static answer value_of(const question *q, unsigned begins, size_t choices) {
    answer a = {.exists = true};
    for (size_t unit = 0; unit < q->num_units; unit++)
        if (unit == 0 || (begins >> unit & 1) != 0) {
            a.exists = a.exists && (unit == 0 || q->cut_rules[unit] != POPLINER_CUT_FORBIDDEN);
            a.of[POPLINER_OBJECTIVE_TRAFFIC] +=
                unit == 0 ? 0 : popliner_costs_cut(q->costs[0], unit);
            a.first[a.num_stages++] = unit;
        }
    a.of[POPLINER_OBJECTIVE_IPUS] = a.num_stages;
    a.exists = a.exists && a.num_stages <= q->options.num_ipus;
    for (size_t i = 0; i < a.num_stages; i++, choices /= q->num_ways) {
        size_t last = (i + 1 < a.num_stages ? a.first[i + 1] : q->num_units) - 1;
        size_t way = choices % q->num_ways;
        uint64_t peak = popliner_costs_peak(q->costs[way], a.first[i], last, a.num_stages - i);
        uint64_t cycles = cycles_of(q, way, a.first[i], last);
        a.exists = a.exists && peak != POPLINER_PEAK_FORBIDDEN && peak <= limit_of(q, i);
        if (peak > a.of[POPLINER_OBJECTIVE_MEMORY])
            a.of[POPLINER_OBJECTIVE_MEMORY] = peak;
        if (cycles > a.of[POPLINER_OBJECTIVE_CYCLES])
            a.of[POPLINER_OBJECTIVE_CYCLES] = cycles;
    }
    return a;
}

static answer best_of_all(const question *q) {
    answer best = {0};
    for (unsigned begins = 0; begins < 1u << q->num_units; begins += 2) {
        size_t num_choices = q->num_ways;
        for (unsigned rest = begins; rest > 0; rest &= rest - 1)
            num_choices *= q->num_ways;
        for (size_t choices = 0; choices < num_choices; choices++) {
            answer own = value_of(q, begins, choices);
            if (is_better(q, &own, &best))
                best = own;
        }
    }
    return best;
}

/* The stages have the peaks and cycles of the ways that are told, which are the fastest within what
 * is left to them. */
static void check_choices(const question *q, const popliner_plan *plan, const char *const *texts,
                          uint64_t most_bytes) {
    bool is_infeasible = plan->status == POPLINER_PLAN_INFEASIBLE;
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        uint64_t limit = limit_of(q, i) < most_bytes ? limit_of(q, i) : most_bytes;
        size_t to_end = plan->num_stages - i;
        size_t chosen = q->num_ways;
        for (size_t way = 0; way < q->num_ways; way++)
            if (strcmp(names[way], texts[i]) == 0)
                chosen = way;
        assert_true(chosen < q->num_ways);
        assert_int_equal(stage->peak_bytes, popliner_costs_peak(q->costs[chosen], stage->first_unit,
                                                                stage->last_unit, to_end));
        assert_int_equal(stage->cycles, cycles_of(q, chosen, stage->first_unit, stage->last_unit));
        for (size_t way = 0; way < q->num_ways; way++) {
            uint64_t peak =
                popliner_costs_peak(q->costs[way], stage->first_unit, stage->last_unit, to_end);
            uint64_t cycles = cycles_of(q, way, stage->first_unit, stage->last_unit);
            if (is_infeasible) {
                assert_true(peak >= stage->peak_bytes);
            } else if (peak != POPLINER_PEAK_FORBIDDEN && peak <= limit) {
                assert_true(
                    cycles > stage->cycles ||
                    (cycles == stage->cycles && peak > stage->peak_bytes) ||
                    (cycles == stage->cycles && peak == stage->peak_bytes && way >= chosen));
            }
        }
    }
}

static size_t num_feasible;
static size_t num_without_recomputing; /* all stages have the first way */

static void check_answer(const question *q) {
    popliner_variants_answer *found = NULL;
    popliner_error error = {.message = ""};
    answer best = best_of_all(q);
    popliner_status status = popliner_variants_solve_costs(
        (const popliner_costs *const *)q->costs, names, q->num_ways, &q->options, &found, &error);
    if (has_objective(q, POPLINER_OBJECTIVE_CYCLES) && !popliner_costs_has_cycles(q->costs[0])) {
        assert_int_equal(status, POPLINER_ERROR_USAGE);
        assert_null(found);
        return;
    }
    if (status != POPLINER_OK)
        fail_msg("%s", error.message);
    popliner_plan *plan = popliner_variants_take_plan(found);
    assert_null(popliner_variants_take_plan(found));
    assert_int_equal(plan->status, best.exists ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_INFEASIBLE);
    for (size_t i = 0; best.exists && i < q->options.num_objectives; i++) {
        const popliner_plan_value *value = &plan->values[i];
        assert_int_equal(value->value, best.of[q->objectives[i]]);
        assert_int_equal(value->bound, value->value);
    }
    uint64_t most_bytes = has_objective(q, POPLINER_OBJECTIVE_MEMORY)
                              ? best.of[POPLINER_OBJECTIVE_MEMORY]
                              : POPLINER_PEAK_FORBIDDEN - 1;
    check_choices(q, plan, popliner_variants_texts(found), most_bytes);
    num_feasible += best.exists;
    bool is_plain = true;
    for (size_t i = 0; i < plan->num_stages; i++)
        is_plain = is_plain && strcmp(popliner_variants_texts(found)[i], names[0]) == 0;
    num_without_recomputing += best.exists && is_plain;
    popliner_plan_free(plan);
    popliner_variants_answer_free(found);
}

static void every_choice_was_tried(void **state) {
    size_t num_cases = test_chosen(2500, 7000, 20000);
    uint64_t random = 77;
    (void)state;
    for (size_t i = 0; i < num_cases; i++) {
        question q;
        draw_question(&q, &random);
        check_answer(&q);
        for (size_t way = 0; way < q.num_ways; way++)
            popliner_costs_free(q.costs[way]);
    }
    assert_true(num_feasible > num_cases / 3);
    assert_true(num_without_recomputing < num_feasible * 4 / 5);
}

static void refuses_what_does_not_belong_together(void **state) {
    popliner_costs *costs[2] = {NULL, NULL};
    const popliner_costs *seen[2];
    popliner_variants_answer *found = NULL;
    popliner_error error = {.message = ""};
    (void)state;
    assert_int_equal(popliner_costs_create(2, 1, &costs[0], NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_create(3, 1, &costs[1], NULL), POPLINER_OK);
    seen[0] = costs[0];
    seen[1] = costs[1];
    assert_int_equal(popliner_variants_solve_costs(seen, names, 0, NULL, &found, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_variants_solve_costs(seen, names, 2, NULL, &found, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "none and standard"));
    seen[1] = costs[0];
    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    static const popliner_objective balance[] = {POPLINER_OBJECTIVE_BALANCE};
    static const size_t map[] = {0, 0};
    options.objectives = balance;
    options.num_objectives = 1;
    assert_int_equal(popliner_variants_solve_costs(seen, names, 2, &options, &found, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "balance"));
    options = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    options.device_map = map;
    options.num_mapped_stages = 2;
    assert_int_equal(popliner_variants_solve_costs(seen, names, 2, &options, &found, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "share an IPU"));
    assert_null(found);
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_choice_was_tried),
        cmocka_unit_test(refuses_what_does_not_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
