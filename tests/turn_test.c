/* One analysis and its tables in several threads.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include "popliner/popliner.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_THREADS = 8, NUM_ROUNDS = 200, QUICK_ROUNDS = 20, MOST_STAGES = 8 };

static const size_t map[] = {0, 1, 0};

static popliner_analysis *read_sample(const popliner_analysis_options *options) {
    popliner_analysis *analysis = NULL;
    popliner_error error = {.message = ""};
    char *path = test_project_file("data/sample/profile.pop");
    if (popliner_analysis_read(path, NULL, options, &analysis, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    free(path);
    return analysis;
}

static popliner_solver_options shared_ipus(void) {
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    options.device_map = map;
    options.num_mapped_stages = 3;
    return options;
}

/* What a thread works with, and what it found. */
typedef struct worker {
    pthread_t thread;
    popliner_analysis *analysis;
    const popliner_costs *costs; /* NULL: it solves with the analysis itself */
    popliner_status status;
    uint64_t peak_bytes;
    size_t first_units[MOST_STAGES];
    size_t num_stages;
} worker;

static void keep(worker *w, const popliner_plan *plan) {
    w->peak_bytes = plan->peak_bytes;
    w->num_stages = plan->num_stages;
    for (size_t i = 0; i < w->num_stages && i < MOST_STAGES; ++i)
        w->first_units[i] = plan->stages[i].first_unit;
}

static void *work(void *user) {
    worker *w = user;
    const popliner_solver_options options = shared_ipus();
    popliner_request request = POPLINER_REQUEST_INIT;
    popliner_certificate *certificate = NULL;
    popliner_plan *plan = NULL;
    request.solver = &options;
    if (w->costs != NULL)
        w->status = popliner_solve(w->costs, &options, &plan, NULL);
    else
        w->status = popliner_analysis_solve(w->analysis, &request, &certificate, NULL);
    if (w->status == POPLINER_OK)
        keep(w, plan != NULL ? plan : certificate->plan);
    popliner_certificate_free(certificate);
    popliner_plan_free(plan);
    return NULL;
}

static void expect_same(const worker *w, const worker *expected) {
    assert_int_equal(w->status, POPLINER_OK);
    assert_int_equal(w->peak_bytes, expected->peak_bytes);
    assert_int_equal(w->num_stages, expected->num_stages);
    assert_memory_equal(w->first_units, expected->first_units, sizeof w->first_units);
}

/* Two tables and the analysis itself, whose stages are all measured by one meter. */
static void threads_find_what_one_finds(void **state) {
    (void)state;
    popliner_analysis *analysis = read_sample(NULL);
    popliner_costs *costs[3] = {NULL};
    for (size_t i = 0; i < 2; ++i)
        assert_int_equal(popliner_analysis_costs(analysis, NULL, &costs[i], NULL), POPLINER_OK);
    worker alone[3];
    for (size_t i = 0; i < 3; ++i) {
        alone[i] = (worker){.analysis = analysis, .costs = costs[i]};
        work(&alone[i]);
        assert_int_equal(alone[i].status, POPLINER_OK);
    }
    size_t num_rounds = test_takes_all() ? NUM_ROUNDS : QUICK_ROUNDS;
    for (size_t round = 0; round < num_rounds; ++round) {
        worker workers[NUM_THREADS];
        /* in every other round all have one table */
        for (size_t i = 0; i < NUM_THREADS; ++i) {
            workers[i] = (worker){.analysis = analysis, .costs = costs[round % 2 * i % 3]};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (size_t i = 0; i < NUM_THREADS; ++i)
            pthread_join(workers[i].thread, NULL);
        for (size_t i = 0; i < NUM_THREADS; ++i)
            expect_same(&workers[i], &alone[round % 2 * i % 3]);
    }
    for (size_t i = 0; i < 2; ++i)
        popliner_costs_free(costs[i]);
    popliner_analysis_free(analysis);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_find_what_one_finds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
