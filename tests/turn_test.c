/* One analysis and its tables in several threads, and in a process that was forked meanwhile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test_data.h"

#include "popliner/popliner.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- threads ---- */

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

/* ---- a fork ---- */

/* A thread that stays in a call until it may go on. */
typedef struct waiter {
    popliner_analysis *analysis;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool may_wait; /* in the next call */
    bool is_inside;
    bool may_go_on;
} waiter;

/* An analysis's should_stop. */
static bool wait_inside(void *user) {
    waiter *w = user;
    pthread_mutex_lock(&w->lock);
    if (w->may_wait) {
        w->is_inside = true;
        pthread_cond_broadcast(&w->changed);
        while (!w->may_go_on)
            pthread_cond_wait(&w->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return false;
}

/* Measures what was not measured before. */
static void *measure(void *user) {
    popliner_costs *costs = NULL;
    popliner_request request = POPLINER_REQUEST_INIT;
    waiter *w = user;
    request.memory_model = POPLINER_MEMORY_MODEL_POPLINER;
    popliner_analysis_costs(w->analysis, &request, &costs, NULL);
    popliner_costs_free(costs);
    return NULL;
}

/* In the child: each use of the analysis ends with the error. Returns what is wrong, or 0. */
static int use_in_child(popliner_analysis *analysis, const popliner_costs *costs) {
    const popliner_layer_finding *layers;
    size_t count;
    const popliner_solver_options options = shared_ipus();
    popliner_plan *plan = NULL;
    popliner_error error = {.message = ""};
    if (popliner_analysis_layers(analysis, &layers, &count, &error) != POPLINER_ERROR_USAGE)
        return 1;
    if (strstr(error.message, "was in use when this process was forked") == NULL)
        return 2;
    if (popliner_solve(costs, &options, &plan, &error) != POPLINER_ERROR_USAGE || plan != NULL)
        return 3;
    /* what needs no measuring is whole; GLPK has a thread of its own, and the thread sanitizer lets
     * such a child start none */
    popliner_solver_options alone = PLAIN_SOLVER_OPTIONS;
    alone.without_second_proof = true;
    if (popliner_solve(costs, &alone, &plan, &error) != POPLINER_OK)
        return 4;
    popliner_plan_free(plan);
    popliner_analysis_free(analysis);
    return 0;
}

static int forked(popliner_analysis *analysis, const popliner_costs *costs) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        alarm(20); /* in place of hanging */
        _exit(use_in_child(analysis, costs));
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_fork_leaves_what_was_in_use(void **state) {
    (void)state;
    waiter w = {.may_wait = false};
    pthread_t thread;
    pthread_mutex_init(&w.lock, NULL);
    pthread_cond_init(&w.changed, NULL);
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    options.should_stop = wait_inside;
    options.should_stop_user = &w;
    w.analysis = read_sample(&options);
    popliner_costs *costs = NULL;
    assert_int_equal(popliner_analysis_costs(w.analysis, NULL, &costs, NULL), POPLINER_OK);
    w.may_wait = true;
    assert_int_equal(pthread_create(&thread, NULL, measure, &w), 0);
    pthread_mutex_lock(&w.lock);
    while (!w.is_inside)
        pthread_cond_wait(&w.changed, &w.lock);
    pthread_mutex_unlock(&w.lock);
    int of_used = forked(w.analysis, costs);
    pthread_mutex_lock(&w.lock);
    w.may_go_on = true;
    pthread_cond_broadcast(&w.changed);
    pthread_mutex_unlock(&w.lock);
    pthread_join(thread, NULL);
    /* nobody uses it now: the child may, so the first of its checks fails */
    int of_unused = forked(w.analysis, costs);
    worker here = {.analysis = w.analysis, .costs = costs};
    work(&here);
    assert_int_equal(here.status, POPLINER_OK);
    assert_true(WIFEXITED(of_used));
    assert_int_equal(WEXITSTATUS(of_used), 0);
    assert_true(WIFEXITED(of_unused));
    assert_int_equal(WEXITSTATUS(of_unused), 1);
    popliner_costs_free(costs);
    popliner_analysis_free(w.analysis);
    pthread_cond_destroy(&w.changed);
    pthread_mutex_destroy(&w.lock);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_find_what_one_finds),
        cmocka_unit_test(a_fork_leaves_what_was_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
