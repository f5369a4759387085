/* The bound of a step by the units alone, against the simulated step of every split.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>

#include "cases.h"
#include "costs/costs.h"
#include "solve/step_search.h"

enum { MOST_UNITS = 9, NUM_QUESTIONS = 6000, QUICK_QUESTIONS = 600 };

typedef struct question {
    popliner_costs *costs;
    popliner_pipeline pipeline;
    popliner_solver_options options;
    size_t map[MOST_UNITS];
    uint64_t unit_cycles[MOST_UNITS];
    size_t num_units;
    size_t num_stages;
    bool adds_up;
    bool are_thirds; /* of the units: no passes are given */
} question;

/* Costs that add up, without passes: a third of them is forward. */
static void add_up(question *q, const uint64_t *cuts) {
    pl_differences *own = &q->costs->added_cycles;
    uint64_t sum = 0;
    assert_true(pl_differences_create(own, q->num_units));
    for (size_t u = 0; u < q->num_units; sum += q->unit_cycles[u++]) {
        own->begins[u] = sum - cuts[u];
        own->ends[u] = sum + cuts[u];
    }
    own->ends[q->num_units] = sum;
}

/* Costs of a forward and a backward pass for each unit, and transfers; intervals may take longer
 * than their units, as with recomputation. */
static void draw_costs(question *q, uint64_t *random) {
    const size_t n = q->num_units;
    const size_t most = test_below(random, 2) == 0 ? 3 : 1000;
    const size_t extra = test_below(random, 3);
    assert_int_equal(popliner_costs_create(n, 1, &q->costs, NULL), POPLINER_OK);
    uint64_t cuts[MOST_UNITS + 1] = {0};
    uint64_t forward[MOST_UNITS];
    for (size_t u = 0; u < n; u++) {
        forward[u] = test_below(random, most);
        q->unit_cycles[u] = forward[u] + test_below(random, 2 * most);
        cuts[u] = u > 0 && test_below(random, 2) == 0 ? test_below(random, most) : 0;
    }
    if (q->adds_up) {
        add_up(q, cuts);
        return;
    }
    assert_int_equal(pl_costs_add_cycles(q->costs, NULL), POPLINER_OK);
    q->are_thirds = test_below(random, 3) == 0;
    const pl_passes_source source = {1, q->unit_cycles, forward, cuts, q->are_thirds};
    assert_true(pl_costs_add_passes(q->costs, &source));
    for (size_t first = 0; first < n; first++) {
        uint64_t sum = cuts[first];
        for (size_t last = first; last < n; last++) {
            sum += q->unit_cycles[last];
            pl_costs_set_cycles(q->costs, first, last,
                                sum + cuts[last + 1] + extra * (last - first));
        }
    }
}

static void draw(question *q, bool adds_up, uint64_t *random) {
    static const popliner_copies_rule rules[] = {POPLINER_COPIES_OF_SCHEDULE, POPLINER_COPIES_1F1B,
                                                 POPLINER_COPIES_GPIPE,
                                                 POPLINER_COPIES_ZERO_BUBBLE};
    static const popliner_schedule schedules[] = {
        POPLINER_SCHEDULE_NONE, POPLINER_SCHEDULE_INFERENCE, POPLINER_SCHEDULE_POPART,
        POPLINER_SCHEDULE_TF_GROUPED, POPLINER_SCHEDULE_SEQUENTIAL};
    *q = (question){.num_units = 1 + test_below(random, MOST_UNITS), .adds_up = adds_up};
    q->num_stages = 1 + test_below(random, q->num_units < 5 ? q->num_units : 5);
    draw_costs(q, random);
    q->pipeline = (popliner_pipeline){.max_stages = q->num_stages};
    q->pipeline.copies.rule = rules[test_below(random, sizeof rules / sizeof *rules)];
    if (q->pipeline.copies.rule == POPLINER_COPIES_OF_SCHEDULE)
        q->pipeline.schedule = schedules[test_below(random, sizeof schedules / sizeof *schedules)];
    q->pipeline.copies.num_micro_batches = 1 + test_below(random, 12);
    q->pipeline.copies.num_stages = q->num_stages;
    for (size_t k = 0; k < q->num_stages; k++)
        q->map[k] = k;
    q->options.mem_per_tile = UINT64_MAX - 2;
    q->options.device_map = q->map;
    q->options.num_mapped_stages = q->num_stages;
}

/* Returns the step of the fastest split; `cuts` are bits of the units that begin stages. */
static uint64_t fastest_step(const question *q) {
    popliner_plan_stage stages[MOST_UNITS];
    uint64_t fastest = UINT64_MAX;
    for (unsigned cuts = 1; cuts < 1u << q->num_units; cuts += 2) {
        popliner_plan plan = {.stages = stages, .num_units = q->num_units};
        for (size_t u = 0; u < q->num_units; u++) {
            if ((cuts >> u & 1) != 0 && plan.num_stages == MOST_UNITS)
                break;
            if ((cuts >> u & 1) != 0) {
                stages[plan.num_stages] =
                    (popliner_plan_stage){.first_unit = u, .ipu = plan.num_stages};
                plan.num_stages++;
            }
            popliner_plan_stage *stage = &stages[plan.num_stages - 1];
            stage->last_unit = u;
            stage->cycles = popliner_costs_cycles(q->costs, stage->first_unit, u);
            plan.cycles = stage->cycles > plan.cycles ? stage->cycles : plan.cycles;
        }
        plan.num_ipus = plan.num_stages;
        popliner_pipeline_step step = {0};
        if (plan.num_stages != q->num_stages)
            continue;
        assert_int_equal(pl_step_find(&plan, &q->options, &q->pipeline, q->costs, &step, NULL),
                         POPLINER_OK);
        fastest = step.cycles < fastest ? step.cycles : fastest;
    }
    return fastest;
}

static void check_bounds(bool adds_up, double least_share) {
    const size_t count = test_chosen(QUICK_QUESTIONS, NUM_QUESTIONS, NUM_QUESTIONS);
    uint64_t random = 30;
    double sum_of_shares = 0;
    size_t num_equal = 0;
    size_t num_unbounded = 0; /* zero-bubble divides the backward passes, which are not known */
    for (size_t i = 0; i < count; i++) {
        question q;
        pl_problem problem = {0};
        draw(&q, adds_up, &random);
        assert_int_equal(pl_problem_create(&problem, q.costs, &q.options, NULL, NULL), POPLINER_OK);
        pl_step_bound bound;
        assert_int_equal(pl_step_bound_create(&bound, &problem, &q.pipeline, q.num_stages, NULL),
                         POPLINER_OK);
        const uint64_t least = pl_step_bound_least(&bound, UINT64_MAX);
        const uint64_t fastest = fastest_step(&q);
        assert_true(least <= fastest);
        assert_true(pl_step_bound_allows(&bound, least));
        assert_int_equal(pl_step_bound_least(&bound, least / 2), least / 2);
        /* all passes of a unit, one after another; cuts may hide them, but not all units */
        const bool has_bound =
            !q.are_thirds || q.pipeline.copies.rule != POPLINER_COPIES_ZERO_BUBBLE;
        for (size_t u = 0; !adds_up && has_bound && u < q.num_units; u++)
            assert_true(least >= q.pipeline.copies.num_micro_batches * q.unit_cycles[u]);
        if (adds_up && q.pipeline.copies.rule != POPLINER_COPIES_ZERO_BUBBLE)
            assert_true(least >= popliner_costs_cycles(q.costs, 0, q.num_units - 1));
        assert_true(least == 0 || !pl_step_bound_allows(&bound, least - 1));
        num_equal += least == fastest;
        pl_step_bound_free(&bound);
        num_unbounded += !has_bound;
        sum_of_shares += !has_bound ? 0 : fastest == 0 ? 1 : (double)least / (double)fastest;
        pl_problem_free(&problem);
        popliner_costs_free(q.costs);
    }
    printf("%zu of %zu are equal; on average the bound is %.3f of the step\n", num_equal, count,
           sum_of_shares / (double)(count - num_unbounded));
    /* a bound of nothing would pass, too */
    assert_true(num_equal > count / 5);
    assert_true(sum_of_shares > least_share * (double)(count - num_unbounded));
}

static void test_no_split_is_below_the_bound(void **state) {
    (void)state;
    check_bounds(false, 0.85);
}

/* Without passes. Nothing is known of the zero-bubble schedule, a fourth of them. */
static void test_no_split_is_below_the_bound_of_sums(void **state) {
    (void)state;
    check_bounds(true, 0.6);
}

/* What an interval takes less than its units is not known. */
static void test_intervals_that_save_cycles_have_no_bound(void **state) {
    (void)state;
    uint64_t random = 31;
    question q;
    pl_problem problem = {0};
    do
        draw(&q, false, &random);
    while (q.num_units < 3 || popliner_costs_cycles(q.costs, 0, 2) == 0 || q.num_stages < 2);
    pl_costs_set_cycles(q.costs, 0, 2, 0);
    assert_int_equal(pl_problem_create(&problem, q.costs, &q.options, NULL, NULL), POPLINER_OK);
    pl_step_bound bound;
    assert_int_equal(pl_step_bound_create(&bound, &problem, &q.pipeline, q.num_stages, NULL),
                     POPLINER_OK);
    assert_int_equal(pl_step_bound_least(&bound, UINT64_MAX), 0);
    pl_step_bound_free(&bound);
    pl_problem_free(&problem);
    popliner_costs_free(q.costs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_split_is_below_the_bound),
        cmocka_unit_test(test_no_split_is_below_the_bound_of_sums),
        cmocka_unit_test(test_intervals_that_save_cycles_have_no_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
