/* Choosing how stages recompute together with the cuts, by hand. relations_test.py has every split
 * with every choice.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "costs/variants.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"
#include "solve/shared/shared.h"
#include "test_data.h"

enum { TEXT_SIZE = 1 << 12 };

/* Writes 12 equal layers, which may store less and take longer. Returns the length of the text. */
static size_t write_layers(char text[TEXT_SIZE]) {
    size_t length = (size_t)snprintf(text, TEXT_SIZE, "%s",
                                     "{\"format\": \"popliner-costs\", \"version\": 1, "
                                     "\"units\": [");
    for (size_t u = 0; u < 12; u++)
        length += (size_t)snprintf(text + length, TEXT_SIZE - length,
                                   "%s{\"name\": \"l%zu\", \"memory\": 10, \"cycles\": 20, "
                                   "\"stash\": 4, \"variants\": [{\"name\": \"some\", "
                                   "\"stash\": 1, \"cycles\": 23}]}",
                                   u > 0 ? ", " : "", u);
    return length + (size_t)snprintf(text + length, TEXT_SIZE - length, "]}");
}

/* Many equal layers: of each stage as many recompute as its place in the pipeline asks for. 12
 * layers of 10 bytes with a stash of 4, or of 1 for 3 more cycles, on three IPUs with y copies of a
 * stage y from the end and 4 layers each: 40 + 3 * 16 = 88, 72 and 56 bytes. Of 60 bytes the first
 * stage has 20 for 3 copies: 16 - 3 k of the stash at most 6 layers' worth, k = 4: 40 + 3 * 4 = 52;
 * k = 3: 40 + 3 * 7 = 61. The second has 20 for 2: k = 2: 40 + 2 * 10. */
static void layers_choose_one_by_one(void **state) {
    (void)state;
    static char text[TEXT_SIZE];
    const size_t length = write_layers(text);
    popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = 3};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_copies_parse("1,2,...", &pipeline.copies, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.num_ipus = 3;
    o.mem_per_tile = 60;
    o.min_units = 4;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    static const uint64_t cycles[] = {92, 86, 80};
    static const uint64_t bytes[] = {52, 60, 56};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(plan->stages[i].cycles, cycles[i]);
        assert_int_equal(plan->stages[i].peak_bytes, bytes[i]);
    }
    assert_string_equal(plan->choices[2], "none");
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
    /* a file that was read with another recomputation has nothing to choose from */
    pipeline.recompute = POPLINER_RECOMPUTE_FULL;
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.mem_per_tile = UINT64_MAX;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_null(plan->choices);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
}

/* Reads the layers, of which each chooses, for three stages on the IPUs 0, 1 and 0. */
static popliner_costs_file *read_on_two_ipus(popliner_solver_options *o) {
    static char text[TEXT_SIZE];
    static const size_t map[] = {0, 1, 0};
    const popliner_solver_options plain = PLAIN_SOLVER_OPTIONS;
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
                                        .recompute = POPLINER_RECOMPUTE_AUTO,
                                        .max_stages = 3};
    popliner_costs_file *file = NULL;
    assert_int_equal(
        popliner_costs_file_read("made", text, write_layers(text), &pipeline, &file, NULL),
        POPLINER_OK);
    *o = plain;
    o->device_map = map;
    o->num_mapped_stages = 3;
    return file;
}

/* The first and the last third of 12 layers are on one IPU, with 2 and 0 copies and no other cuts:
 * as they are, they need 80 + 4 * 4 * 2 = 112 bytes and 160 cycles. Each layer of the first third
 * that keeps less saves 3 * 2 bytes for 3 cycles: two are needed for 100 bytes. The other IPU needs
 * 40 + 4 * 4 = 56 bytes. */
static void stages_on_one_ipu_choose_together(void **state) {
    (void)state;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY};
    popliner_solver_options o;
    popliner_costs_file *file = read_on_two_ipus(&o);
    popliner_plan *plan = NULL;
    o.objectives = objectives;
    o.num_objectives = 1;
    o.mem_per_tile = 100;
    o.min_units = o.max_units = 4;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->cycles, 166);
    assert_int_equal(plan->stages[0].cycles, 86);
    assert_int_equal(plan->stages[2].cycles, 80);
    assert_int_equal(plan->stages[0].peak_bytes, 100);
    assert_int_equal(plan->stages[1].peak_bytes, 56);
    assert_int_equal(plan->stages[2].peak_bytes, 100);
    assert_string_equal(plan->choices[1], "none");
    assert_string_equal(plan->choices[2], "none");
    popliner_plan_free(plan);
    o.num_objectives = 2; /* 166 cycles are not needed for fewer bytes, nor allowed */
    o.mem_per_tile = 87;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(plan->peak_bytes, 80 + 4 * 2);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
}

/* Requests end by their work, of which choosing is the largest part. */
static void choosing_is_work(void **state) {
    (void)state;
    const popliner_interval together[] = {{0, 3, 3}, {8, 11, 1}};
    popliner_solver_options o;
    popliner_costs_file *file = read_on_two_ipus(&o);
    pl_problem problem = {0};
    pl_shared shared = {0};
    pl_load load;
    assert_int_equal(pl_problem_create(&problem, file->costs, &o, NULL), POPLINER_OK);
    pl_wish wish = {.limits = pl_filter_of_limits().limits, .by_cycles = true};
    wish.limits.max_peak_bytes = 100;
    assert_int_equal(pl_shared_measure(&shared, &problem, &wish, together, 2, &load, NULL),
                     POPLINER_OK);
    assert_int_equal(load.cycles, 166);
    assert_true(shared.work >=
                PL_WORK_OF_SUM + 8 * 2); /* each layer with and without its variant */
    const uint64_t work = shared.work;
    assert_int_equal(pl_shared_measure(&shared, &problem, &wish, together, 2, &load, NULL),
                     POPLINER_OK);
    assert_int_equal(shared.work, work + PL_WORK_OF_SUM);
    pl_shared_free(&shared);
    pl_problem_free(&problem);
    popliner_costs_file_free(file);
}

typedef struct patience {
    size_t calls;
    size_t most;
} patience;

static bool stop_after(void *user) {
    patience *p = user;
    return ++p->calls > p->most;
}

/* Whenever it is stopped, what is told is true: a plan within the limits, and a bound. */
static void the_search_can_be_stopped(void **state) {
    (void)state;
    static const char text[] =
        "{\"format\": \"popliner-costs\", \"version\": 1, \"cuts\": [1, 3, 0, 2], \"units\": ["
        "{\"name\": \"a\", \"memory\": 5, \"stash\": 4, \"cycles\": 7, \"inputs\": 2,"
        " \"variants\": [{\"name\": \"v\", \"stash\": 1, \"cycles\": 9}]},"
        "{\"name\": \"b\", \"memory\": 2, \"stash\": 5, \"cycles\": 3, \"inputs\": 3,"
        " \"variants\": [{\"name\": \"v\", \"stash\": 0, \"cycles\": 8}]},"
        "{\"name\": \"c\", \"memory\": 4, \"stash\": 3, \"cycles\": 6, \"inputs\": 1},"
        "{\"name\": \"d\", \"memory\": 1, \"stash\": 2, \"cycles\": 5, \"inputs\": 4,"
        " \"variants\": [{\"name\": \"v\", \"memory\": 3, \"stash\": 0, \"cycles\": 5}]},"
        "{\"name\": \"e\", \"memory\": 3, \"stash\": 5, \"cycles\": 2, \"inputs\": 2}]}";
    popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = SIZE_MAX};
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_copies_parse("1,2,...", &pipeline.copies, NULL), POPLINER_OK);
    assert_int_equal(
        popliner_costs_file_read("made", text, sizeof text - 1, &pipeline, &file, NULL),
        POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.num_ipus = 3;
    o.mem_per_tile = 30;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    const uint64_t best = plan->values[0].value;
    popliner_plan_free(plan);
    bool was_stopped[2] = {false, false}; /* without a plan, with one */
    bool is_proven = false;
    for (size_t most = 0; !is_proven; most++) {
        patience p = {0, most};
        o.should_stop = stop_after;
        o.should_stop_user = &p;
        assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
        is_proven = plan->status == POPLINER_PLAN_OPTIMAL;
        assert_true(plan->is_stopped || is_proven);
        if (plan->status == POPLINER_PLAN_INFEASIBLE) {
            was_stopped[0] = true;
            assert_int_equal(plan->infeasibility.obstacle, POPLINER_OBSTACLE_UNKNOWN);
        } else {
            was_stopped[1] = was_stopped[1] || !is_proven;
            assert_true(plan->values[0].bound <= best);
            assert_true(plan->values[0].value >= best);
            assert_int_equal(plan->values[0].value, plan->cycles);
        }
        popliner_plan_free(plan);
    }
    assert_true(was_stopped[0]);
    assert_true(was_stopped[1]);
    popliner_costs_file_free(file);
}

/* Nor is it forgotten that nothing fits, when time is up while it is looked for why. */
static void looking_for_reasons_can_be_stopped(void **state) {
    (void)state;
    static const char text[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["
                               "{\"name\": \"a\", \"memory\": 40, \"stash\": 10, \"inputs\": 4},"
                               "{\"name\": \"b\", \"memory\": 90, \"stash\": 20, \"inputs\": 4},"
                               "{\"name\": \"c\", \"memory\": 80, \"stash\": 20, \"inputs\": 4}]}";
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_AUTO,
                                  .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    assert_int_equal(
        popliner_costs_file_read("made", text, sizeof text - 1, &pipeline, &file, NULL),
        POPLINER_OK);
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    o.num_ipus = 2;
    o.mem_per_tile = 110;
    bool was_proven = false;
    bool is_done = false;
    for (size_t most = 0; !is_done; most++) {
        patience p = {0, most};
        popliner_plan *plan = NULL;
        o.should_stop = stop_after;
        o.should_stop_user = &p;
        assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
        is_done = !plan->is_stopped;
        assert_int_equal(plan->status, POPLINER_PLAN_INFEASIBLE);
        if (is_done)
            assert_int_equal(plan->infeasibility.enough_stages, 3);
        assert_false(was_proven && plan->proof == POPLINER_PROOF_NONE);
        was_proven = was_proven || (!is_done && plan->proof != POPLINER_PROOF_NONE);
        popliner_plan_free(plan);
    }
    assert_true(was_proven);
    popliner_costs_file_free(file);
}

/* What gives each stage some of the devices knows of no choices; nor does it answer as if there
 * were none. */
static void refuses_to_choose_devices_too(void **state) {
    (void)state;
    static char text[TEXT_SIZE];
    const size_t length = write_layers(text);
    popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = 3};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    popliner_replicas_options replicas = POPLINER_REPLICAS_OPTIONS_INIT;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    size_t map[3];
    size_t num_stages;
    bool is_proven;
    assert_int_equal(popliner_copies_parse("1,2,...", &pipeline.copies, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.num_ipus = 3;
    o.mem_per_tile = 60;
    assert_int_equal(
        popliner_solver_order_devices(file->costs, &o, map, &num_stages, &is_proven, &error),
        POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "choose what they recompute"));
    assert_int_equal(num_stages, 0);
    replicas.solver = &o;
    assert_int_equal(popliner_replicas_solve_stages(file->costs, &replicas, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "choose what they recompute"));
    assert_null(plan);
    popliner_costs_file_free(file);
}

/* That not even no tokens fit is proven: nothing was stopped. */
static void no_room_for_tokens_is_proven(void **state) {
    (void)state;
    static const char text[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["
                               "{\"name\": \"a\", \"memory\": 40, \"kv\": 2}]}";
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TOKENS};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_costs_file_read("made", text, sizeof text - 1, NULL, &file, NULL),
                     POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.num_ipus = 1;
    o.mem_per_tile = 39;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_INFEASIBLE);
    assert_false(plan->is_stopped);
    assert_int_equal(plan->values[0].value, 0);
    popliner_plan_free(plan);
    o.mem_per_tile = 45;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->values[0].value, 2);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
}

static bool stop_first(void *user) {
    patience *p = user;
    return p->calls++ < p->most;
}

/* Whatever part of the search is stopped, the bound holds. On two devices one token fits, as b has
 * one of the others beside it. */
static void the_most_tokens_are_within_their_bound(void **state) {
    (void)state;
    static const char text[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["
                               "{\"name\": \"a\", \"memory\": 20, \"kv\": 5},"
                               "{\"name\": \"b\", \"memory\": 10, \"kv\": 7},"
                               "{\"name\": \"c\", \"memory\": 15, \"kv\": 5}]}";
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_TOKENS};
    popliner_costs_file *file = NULL;
    bool is_stopped = true;
    assert_int_equal(popliner_costs_file_read("made", text, sizeof text - 1, NULL, &file, NULL),
                     POPLINER_OK);
    for (size_t most = 0; most < 40; ++most) {
        patience p = {0, most};
        popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
        popliner_plan *plan = NULL;
        o.objectives = objectives;
        o.num_objectives = 1;
        o.num_ipus = 2;
        o.mem_per_tile = 45;
        o.should_stop = stop_first;
        o.should_stop_user = &p;
        assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
        assert_true(plan->num_stages == 0 || plan->values[0].bound >= 1);
        assert_true(plan->values[0].value <= 1);
        if (plan->status == POPLINER_PLAN_OPTIMAL)
            assert_int_equal(plan->values[0].value, 1);
        is_stopped = is_stopped && (most == 0 || plan->is_stopped);
        popliner_plan_free(plan);
    }
    assert_true(is_stopped);
    popliner_costs_file_free(file);
}

/* Tables of costs that stages choose between. */
static void refuses_what_does_not_belong_together(void **state) {
    static const char *const ways[] = {"none", "standard"};
    popliner_costs *costs[2] = {NULL, NULL};
    const popliner_costs *seen[2];
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    (void)state;
    assert_int_equal(popliner_costs_create(2, 1, &costs[0], NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_create(3, 1, &costs[1], NULL), POPLINER_OK);
    seen[0] = costs[0];
    seen[1] = costs[1];
    assert_int_equal(popliner_variants_solve_costs(seen, ways, 0, NULL, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_int_equal(popliner_variants_solve_costs(seen, ways, 2, NULL, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "none and standard"));
    seen[1] = costs[0];
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    static const popliner_objective balance[] = {POPLINER_OBJECTIVE_MEMORY,
                                                 POPLINER_OBJECTIVE_BALANCE};
    options.objectives = balance;
    options.num_objectives = 2;
    assert_int_equal(popliner_variants_solve_costs(seen, ways, 2, &options, &plan, &error),
                     POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "balance"));
    assert_null(plan);
    popliner_costs_free(costs[0]);
    popliner_costs_free(costs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_choose_one_by_one),
        cmocka_unit_test(stages_on_one_ipu_choose_together),
        cmocka_unit_test(choosing_is_work),
        cmocka_unit_test(the_search_can_be_stopped),
        cmocka_unit_test(looking_for_reasons_can_be_stopped),
        cmocka_unit_test(refuses_to_choose_devices_too),
        cmocka_unit_test(no_room_for_tokens_is_proven),
        cmocka_unit_test(the_most_tokens_are_within_their_bound),
        cmocka_unit_test(refuses_what_does_not_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
