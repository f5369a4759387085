/* Few units in questions of many stages, IPUs and choices: an array whose size is from the one must
 * not be read by the number of the other, which sanitizers tell; and what is possible is found.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cases.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"

enum { MOST_UNITS = 4, MOST_STAGES = 9, TEXT_SIZE = 1 << 12 };

typedef struct question {
    char text[TEXT_SIZE];
    size_t num_units;
    popliner_pipeline pipeline;
    popliner_solver_options options;
    size_t map[MOST_STAGES];
    popliner_objective objectives[3];
    popliner_ipu_value limit;
    popliner_ipu_value speed;
    popliner_ipu_link link;
    popliner_constraint place;
} question;

static void draw_text(question *q, uint64_t *random) {
#define VARIANT "{\"name\": \"v\", \"stash\": 0, \"cycles\": 9}"
    static const char *const more[] = {"", ", \"inputs\": 2", ", \"recompute_cycles\": 1.5",
                                       ", \"variants\": [" VARIANT "]"};
    char *end = q->text + sprintf(q->text, "{\"format\": \"popliner-costs\", \"version\": 1, "
                                           "\"units\": [");
    q->num_units = 1 + test_below(random, MOST_UNITS);
    for (size_t i = 0; i < q->num_units; i++)
        end += sprintf(end,
                       "%s{\"name\": \"u%zu\", \"memory\": %zu, \"cycles\": %zu, \"stash\": %zu%s}",
                       i > 0 ? ", " : "", i, test_below(random, 9), test_below(random, 7),
                       test_below(random, 5), more[test_below(random, 4)]);
    sprintf(end, "]}");
}

static void draw_pipeline(question *q, uint64_t *random) {
    popliner_copies *c = &q->pipeline.copies;
    q->pipeline.schedule = (popliner_schedule)test_below(random, 5);
    if (test_below(random, 2) == 0 || q->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE)
        return;
    c->rule = (popliner_copies_rule)(POPLINER_COPIES_1F1B + test_below(random, 4));
    c->more = test_below(random, 2);
    c->num_micro_batches = 1 + test_below(random, 4);
    c->num_ipus = 1 + test_below(random, 3);
    if (c->rule == POPLINER_COPIES_INTERLEAVED ||
        (c->rule == POPLINER_COPIES_ZERO_BUBBLE && test_below(random, 2) == 0))
        c->num_stages = c->num_ipus * (1 + test_below(random, 3));
}

/* A map of any kind, or none. */
static void draw_map(question *q, uint64_t *random) {
    popliner_solver_options *o = &q->options;
    const size_t num_ipus = 1 + test_below(random, 4);
    const size_t kind = test_below(random, 4);
    o->num_ipus = num_ipus;
    if (kind == 0)
        return;
    o->num_mapped_stages = 1 + test_below(random, MOST_STAGES);
    o->device_map = q->map;
    for (size_t i = 0; i < o->num_mapped_stages; i++) {
        const size_t turn = i % (2 * num_ipus);
        q->map[i] = kind == 1   ? test_below(random, 5)
                    : kind == 2 ? i % num_ipus
                                : (turn < num_ipus ? turn : 2 * num_ipus - 1 - turn);
    }
}

static void draw_question(question *q, uint64_t *random) {
    popliner_solver_options *o = &q->options;
    *q = (question){.options = PLAIN_SOLVER_OPTIONS,
                    .pipeline.max_stages =
                        test_below(random, 4) == 0 ? 1 + test_below(random, 9) : SIZE_MAX};
    draw_text(q, random);
    draw_pipeline(q, random);
    draw_map(q, random);
    o->objectives = q->objectives;
    o->num_objectives = 1 + test_below(random, 3);
    for (size_t i = 0, first = test_below(random, 5); i < 3; i++)
        q->objectives[i] = (popliner_objective)((first + i) % 5);
    if (test_below(random, 2) == 0)
        o->mem_per_tile = test_below(random, 40);
    q->limit = (popliner_ipu_value){test_below(random, 6), test_below(random, 40)};
    o->ipu_limits = &q->limit;
    o->num_ipu_limits = test_below(random, 2);
    q->speed = (popliner_ipu_value){test_below(random, 6), POPLINER_SPEED_ONE / 2};
    o->ipu_speeds = &q->speed;
    o->num_ipu_speeds = test_below(random, 2);
    q->link = (popliner_ipu_link){1 + test_below(random, 5), 0, 3, 2};
    o->ipu_links = &q->link;
    o->num_ipu_links = test_below(random, 2);
    q->place = (popliner_constraint){.unit = q->num_units - 1, .ipu = test_below(random, 6)};
    o->placements = &q->place;
    o->num_placements = test_below(random, 8) == 0;
    o->slack_percent = test_below(random, 4) == 0 ? 50.0 : 0.0;
}

/* Returns a table with one way to recompute, which the caller frees. */
static popliner_costs_file *read_table(const question *q, popliner_recompute recompute) {
    popliner_error error = {0};
    popliner_costs_file *file = NULL;
    popliner_pipeline pipeline = q->pipeline;
    pipeline.recompute = recompute;
    if (popliner_costs_file_read("few.json", q->text, strlen(q->text), &pipeline, &file, &error) !=
        POPLINER_OK)
        fail_msg("%s", error.message);
    return file;
}

/* Other questions of the same kind, for what they touch. */
static void ask_more(const question *q, const popliner_costs *costs) {
    popliner_replicas_options asked = POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_solver_options own = q->options;
    popliner_pareto *pareto = NULL;
    popliner_replicas *replicas = NULL;
    popliner_plan *plan = NULL;
    size_t map[MOST_STAGES];
    size_t num_stages;
    bool is_proven;
    (void)popliner_pareto_solve(costs, &own, &pareto, NULL);
    popliner_pareto_free(pareto);
    own.num_mapped_stages = 0;
    own.num_ipu_links = own.num_placements = 0;
    (void)popliner_solver_order_devices(costs, &own, map, &num_stages, &is_proven, NULL);
    asked.solver = &own;
    asked.total_ipus = 1 + q->map[0] + q->num_units;
    asked.micro_batches = 3;
    asked.pipeline = &q->pipeline;
    (void)popliner_replicas_solve(costs, &asked, &replicas, NULL);
    popliner_replicas_free(replicas);
    own.num_ipu_limits = own.num_ipu_speeds = 0;
    (void)popliner_replicas_solve_stages(costs, &asked, &plan, NULL);
    popliner_plan_free(plan);
}

/* Returns whether there is an answer; *fits tells, and *bytes is its peak. */
static bool solve(const question *q, popliner_recompute recompute, bool *fits, uint64_t *bytes) {
    popliner_error error = {0};
    popliner_plan *plan = NULL;
    popliner_costs_file *file = read_table(q, recompute);
    const size_t stages = q->options.num_mapped_stages;
    popliner_status status = popliner_solve(file->costs, &q->options, &plan, &error);
    if (status != POPLINER_OK && status != POPLINER_ERROR_USAGE)
        fail_msg("%s", error.message);
    if (status == POPLINER_OK) {
        *fits = plan->status != POPLINER_PLAN_INFEASIBLE;
        *bytes = plan->peak_bytes;
        assert_true(*fits ? stages == 0 || plan->num_stages == stages
                          : plan->num_values == 0 || plan->num_stages > 0);
        assert_true(stages <= q->num_units || (!*fits && plan->num_stages == 0));
    }
    popliner_plan_free(plan);
    ask_more(q, file->costs);
    popliner_costs_file_free(file);
    return status == POPLINER_OK;
}

/* What stages can as they are, they can by choice. */
static void check(uint64_t seed, size_t *num_answers) {
    question q;
    bool fits[2] = {false, false};
    uint64_t bytes[2] = {0, 0};
    uint64_t random = test_random(seed);
    draw_question(&q, &random);
    if (!solve(&q, POPLINER_RECOMPUTE_NONE, &fits[0], &bytes[0]) ||
        !solve(&q, POPLINER_RECOMPUTE_AUTO, &fits[1], &bytes[1]))
        return;
    ++*num_answers;
    assert_true(fits[1] || !fits[0]);
    if (fits[0] && q.objectives[0] == POPLINER_OBJECTIVE_MEMORY && q.options.slack_percent == 0.0)
        assert_true(bytes[1] <= bytes[0]);
}

static void few_units_have_many_stages(void **state) {
    (void)state;
    uint64_t seed = 0;
    const bool replays = test_replays("few", &seed);
    const size_t count = replays ? 1 : test_chosen(400, 4000, 40000);
    size_t num_answers = 0;
    if (!replays)
        seed = (uint64_t)time(NULL) * 1000003;
    for (size_t i = 0; i < count; i++) {
        if (i % 100 == 0)
            printf("few %" PRIu64 "\n", seed + i), fflush(stdout);
        check(seed + i, &num_answers);
    }
    assert_true(replays || num_answers > count / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_units_have_many_stages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
