/* A program that uses GLPK itself, and the solver beside it: however a solve ends, the program
 * finds its own GLPK as it left it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "cases.h"
#include "plain_options.h"
#include "refused_threads.h"
#include "test.h"

#include "popliner/solver.h"
#include "solve/glpk_session.h"
#include "solve/integer_program.h"
#include "solve/plan.h"

#include <glpk.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the program and its GLPK ---- */

enum { LIMIT_MIB = 4 };

typedef struct host {
    glp_prob *problem;
    int num_blocks; /* of GLPK's memory */
    size_t num_bytes;
    size_t num_printed;
    jmp_buf escape;
} host;

static int count_output(void *info, const char *text) {
    host *h = info;
    h->num_printed += strlen(text);
    return 1;
}

static void leave_failure(void *info) {
    host *h = info;
    longjmp(h->escape, 1);
}

/* max 2 x + 3 y under x + y <= 4, x + 3 y <= 6: x = 3 and y = 1, worth 9. Must stay where it is. */
static void set_up(host *h) {
    static const int rows[] = {0, 1, 1, 2, 2};
    static const int columns[] = {0, 1, 2, 1, 2};
    static const double values[] = {0, 1, 1, 1, 3};
    *h = (host){0};
    glp_term_hook(count_output, h);
    glp_error_hook(leave_failure, h);
    glp_mem_limit(LIMIT_MIB);
    h->problem = glp_create_prob();
    glp_set_obj_dir(h->problem, GLP_MAX);
    glp_add_rows(h->problem, 2);
    glp_set_row_bnds(h->problem, 1, GLP_UP, 0, 4);
    glp_set_row_bnds(h->problem, 2, GLP_UP, 0, 6);
    glp_add_cols(h->problem, 2);
    glp_set_obj_coef(h->problem, 1, 2);
    glp_set_obj_coef(h->problem, 2, 3);
    glp_set_col_bnds(h->problem, 1, GLP_LO, 0, 0);
    glp_set_col_bnds(h->problem, 2, GLP_LO, 0, 0);
    glp_load_matrix(h->problem, 4, rows, columns, values);
    glp_mem_usage(&h->num_blocks, NULL, &h->num_bytes, NULL);
}

/* Whether the memory limit is in force, and what exceeds it reaches the host's hook. */
static bool meets_its_limit(host *h) {
    if (setjmp(h->escape) != 0)
        return true;
    free(glp_alloc(1, (LIMIT_MIB + 1) << 20));
    return false;
}

/* Checks that all is as it was set up, by using it, and ends it. */
static void check_and_end(host *h) {
    int num_blocks;
    size_t num_bytes;
    glp_mem_usage(&num_blocks, NULL, &num_bytes, NULL);
    assert_int_equal(num_blocks, h->num_blocks);
    assert_int_equal(num_bytes, h->num_bytes);
    assert_int_equal(h->num_printed, 0);
    assert_int_equal(glp_simplex(h->problem, NULL), 0);
    assert_true(fabs(glp_get_obj_val(h->problem) - 9) < 1e-9);
    assert_true(h->num_printed > 0);
    size_t num_printed = h->num_printed;
    assert_true(meets_its_limit(h));
    assert_true(h->num_printed > num_printed); /* what GLPK says of it */
    assert_int_equal(glp_free_env(), 0);
}

/* ---- solving meanwhile ---- */

enum { NUM_UNITS = 12 };

/* Who is called, and how often. */
typedef struct calls {
    pthread_t caller;
    size_t num_questions;
    size_t stops_at;   /* this question; 0: never */
    bool is_elsewhere; /* one call came from another thread */
} calls;

static void note_thread(calls *c) {
    c->is_elsewhere = c->is_elsewhere || pthread_equal(pthread_self(), c->caller) == 0;
}

static bool should_stop(void *user) {
    calls *c = user;
    note_thread(c);
    return ++c->num_questions >= c->stops_at && c->stops_at > 0;
}

static void hear(void *user, popliner_level level, const char *text) {
    (void)level;
    (void)text;
    note_thread(user);
}

/* The bytes of the units, and of what the even and the odd ones need once. */
static uint64_t peak_of(const popliner_interval *stage) {
    static const uint64_t own_bytes[NUM_UNITS] = {7, 3, 9, 4, 8, 5, 2, 9, 6, 3, 7, 5};
    uint64_t bytes = 0;
    bool has[2] = {false, false};
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; ++unit) {
        bytes += own_bytes[unit] + (has[unit % 2] ? 0 : 10 + unit);
        has[unit % 2] = true;
    }
    return bytes;
}

static popliner_costs *new_costs(void) {
    popliner_costs *costs = NULL;
    assert_int_equal(popliner_costs_create(NUM_UNITS, 1, &costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < NUM_UNITS; ++first) {
        if (first > 0)
            popliner_costs_set_cut(costs, first, 1 + first * 7 % 5, NULL);
        for (size_t last = first; last < NUM_UNITS; ++last) {
            popliner_interval it = {first, last, 1};
            popliner_costs_set_peak(costs, first, last, 1, peak_of(&it), NULL);
        }
    }
    return costs;
}

/* Solves until the given question; returns how many there were. */
static size_t solve(size_t stops_at, popliner_status expected) {
    calls c = {.caller = pthread_self(), .stops_at = stops_at};
    const popliner_listener listener = {.user = &c, .message = hear};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_plan plan = {0};
    popliner_error error = {0};
    popliner_costs *costs = new_costs();
    options.method = POPLINER_METHOD_ILP; /* which has nobody but GLPK to ask */
    options.num_ipus = 4;
    options.should_stop = should_stop;
    options.should_stop_user = &c;
    options.listener = &listener;
    assert_int_equal(pl_solve(costs, &options, &plan, &error), expected);
    assert_false(c.is_elsewhere);
    if (expected == POPLINER_OK && stops_at == 0) {
        assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
        assert_false(plan.is_stopped);
    } else if (expected != POPLINER_OK) {
        assert_non_null(strstr(error.message, "thread"));
        assert_null(plan.stages);
    }
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
    return c.num_questions;
}

static void survives_every_stop(void **state) {
    (void)state;
    static host h;
    size_t num_questions = 0;
    for (size_t n = 0; n <= 200 && n <= num_questions; ++n) {
        if (!test_takes_case(n, 7))
            continue;
        set_up(&h);
        size_t num_asked = solve(n, POPLINER_OK);
        num_questions = n == 0 ? num_asked : num_questions;
        check_and_end(&h);
    }
    print_message("%zu questions\n", num_questions);
    assert_true(num_questions > 20);
}

static void survives_a_lack_of_threads(void **state) {
    (void)state;
    static host h;
    set_up(&h);
    refuses_threads = true;
    solve(0, POPLINER_ERROR_MEMORY);
    refuses_threads = false;
    check_and_end(&h);
}

/* ---- failures of GLPK ---- */

static const pl_stop never = {.deadline_seconds = INFINITY};

/* One row and one variable of it for each of `count`. */
static void fill(pl_mip *program, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        pl_mip_add_row(program, 1.0, INFINITY);
        pl_mip_add_column(program, true, 1.0);
        pl_mip_add_entry(program, i, i, 1.0);
        assert_false(program->arrays.failed);
    }
}

static void survives_failures(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    static host h;
    static double values[COUNT];
    for (int repeats_entry = 0; repeats_entry < 2; ++repeats_entry) {
        const pl_glpk_limits limits = {.memory_mib = 1, .stop = &never};
        pl_mip program = {0};
        pl_mip_outcome outcome = PL_MIP_UNSOLVED;
        popliner_error error = {0};
        set_up(&h);
        fill(&program, repeats_entry ? 1 : COUNT);
        if (repeats_entry)
            pl_mip_add_entry(&program, 0, 0, 1.0);
        assert_false(program.arrays.failed);
        assert_int_equal(pl_glpk_solve(&program, &limits, values, &outcome, &error),
                         POPLINER_ERROR_INTERNAL);
        assert_non_null(strstr(error.message, repeats_entry ? "duplicate" : "memory"));
        assert_int_equal(outcome, PL_MIP_UNSOLVED);
        pl_arrays_free(&program.arrays);
        check_and_end(&h);
    }
}

/* A thread that never used GLPK has no environment of it afterwards. */
static void leaves_nothing_behind(void **state) {
    (void)state;
    solve(0, POPLINER_OK);
    assert_int_equal(glp_free_env(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survives_every_stop),
        cmocka_unit_test(survives_a_lack_of_threads),
        cmocka_unit_test(survives_failures),
        cmocka_unit_test(leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
