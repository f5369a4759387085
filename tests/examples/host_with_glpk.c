/* A program with GLPK objects, hooks and limits of its own finds all of them as they were, however
 * the solver ends: it is stopped at its first question, its second, and so on.
 *
 *     host_with_glpk [QUESTIONS]
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <glpk.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <popliner/popliner.h>

enum { NUM_UNITS = 24, LIMIT_MEGABYTES = 300 };

static size_t num_asked;
static size_t stop_at;

static bool should_stop(void *user) {
    (void)user;
    return ++num_asked >= stop_at;
}

static int count_line(void *info, const char *text) {
    (void)text;
    ++*(int *)info;
    return 1; /* it is not printed */
}

static jmp_buf after_error;

static void on_error(void *info) {
    (void)info;
    longjmp(after_error, 1);
}

/* Whether GLPK still has the host's limit and its error hook; no object of its outlives this. */
static bool is_limited(void) {
    if (setjmp(after_error) == 0) {
        glp_alloc(LIMIT_MEGABYTES + 1, 1 << 20);
        return false;
    }
    glp_free_env();
    return true;
}

/* The host's own program: max 2x + 3y with x + y <= 4, x + 3y <= 6, and x, y >= 0. */
static glp_prob *make_problem(void) {
    static const int rows[] = {0, 1, 1, 2, 2};
    static const int columns[] = {0, 1, 2, 1, 2};
    static const double values[] = {0, 1, 1, 1, 3};
    glp_prob *problem = glp_create_prob();
    glp_set_obj_dir(problem, GLP_MAX);
    glp_add_rows(problem, 2);
    glp_set_row_bnds(problem, 1, GLP_UP, 0, 4);
    glp_set_row_bnds(problem, 2, GLP_UP, 0, 6);
    glp_add_cols(problem, 2);
    glp_set_col_bnds(problem, 1, GLP_LO, 0, 0);
    glp_set_col_bnds(problem, 2, GLP_LO, 0, 0);
    glp_set_obj_coef(problem, 1, 2);
    glp_set_obj_coef(problem, 2, 3);
    glp_load_matrix(problem, 4, rows, columns, values);
    return problem;
}

/* Whether the host's GLPK is as it left it. By hand the optimum is 9, at x = 3 and y = 1. */
static bool is_intact(glp_prob *problem, int *num_lines, size_t bytes_before) {
    size_t bytes = 0;
    int lines_before = *num_lines;
    glp_printf("a line\n");
    glp_mem_usage(NULL, NULL, &bytes, NULL);
    if (*num_lines != lines_before + 1 || bytes != bytes_before)
        return false;
    glp_std_basis(problem);
    return glp_simplex(problem, NULL) == 0 && glp_get_status(problem) == GLP_OPT &&
           glp_get_obj_val(problem) > 8.999999 && glp_get_obj_val(problem) < 9.000001 &&
           *num_lines > lines_before + 1;
}

static popliner_status stage_peak(void *user, size_t first_unit, size_t last_unit,
                                  uint64_t *peak_bytes, popliner_error *error) {
    (void)user;
    (void)error;
    *peak_bytes = 0;
    for (size_t unit = first_unit; unit <= last_unit; unit++)
        *peak_bytes += 100 + unit * 37 % 50;
    return POPLINER_OK;
}

int main(int argc, char **argv) {
    const size_t max_questions = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    static const size_t device_map[] = {0, 1, 2, 0, 1, 2};
    popliner_costs *costs = NULL;
    popliner_error error;
    int num_lines = 0;
    glp_term_hook(count_line, &num_lines);
    glp_error_hook(on_error, NULL);
    glp_mem_limit(LIMIT_MEGABYTES);
    glp_prob *problem = make_problem();
    glp_simplex(problem, NULL);
    size_t bytes_before = 0;
    glp_mem_usage(NULL, NULL, &bytes_before, NULL);

    popliner_solver_options options = POPLINER_SOLVER_OPTIONS_INIT;
    options.device_map = device_map;
    options.num_mapped_stages = sizeof device_map / sizeof *device_map;
    options.should_stop = should_stop;
    popliner_status status = popliner_costs_create(NUM_UNITS, 1, &costs, &error);
    if (status == POPLINER_OK)
        status = popliner_costs_fill_peaks(costs, stage_peak, NULL, UINT64_MAX, &error);
    bool intact = status == POPLINER_OK;
    size_t num_solved = 0;
    for (stop_at = 1; intact && stop_at <= max_questions; stop_at++) {
        popliner_plan *plan = NULL;
        num_asked = 0;
        status = popliner_solve(costs, &options, &plan, &error);
        num_solved += num_asked < stop_at;
        popliner_plan_free(plan);
        intact = status == POPLINER_OK && is_intact(problem, &num_lines, bytes_before);
        if (!intact)
            fprintf(stderr, "host_with_glpk: stopped at question %zu: %s\n", stop_at,
                    status == POPLINER_OK ? "the host's GLPK has changed" : error.message);
    }
    glp_delete_prob(problem);
    popliner_costs_free(costs);
    if (intact && !is_limited()) {
        fprintf(stderr, "host_with_glpk: the limit of GLPK's memory is gone\n");
        intact = false;
    }
    if (intact)
        printf("GLPK as it was after %zu solves, %zu of them to the end\n", max_questions,
               num_solved);
    return intact ? 0 : 1;
}
