/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/glpk_session.h"

#include "base/failure.h"
#include "base/threads.h"

#include <glpk.h>

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>

/* One call of pl_glpk_solve or pl_glpk_write. It is outside the function that setjmp returns to, so
 * its members keep their values when GLPK jumps. */
typedef struct job {
    const pl_mip *program;
    const pl_glpk_limits *limits;
    const pl_glpk_text *text; /* NULL: solve */
    double *values;
    pl_mip_outcome *outcome;
    popliner_error *error;
    popliner_status status;
    pl_bounds bounds; /* which the caller's thread polls */

    jmp_buf escape;
    size_t num_calls; /* of the function for nodes */
    bool is_stopping; /* GLPK was left on request, not because it failed */
    char line[200];   /* the incomplete last line that GLPK printed */
    size_t line_length;
    char last_line[200]; /* the last line that is not empty */
} job;

enum { GLPK_NAME_BYTES = 256 };

/* How often GLPK prints, and so checks whether to stop. */
enum { OUTPUT_MILLISECONDS = 200 };

static bool must_stop(const job *current) {
    return pl_clock_seconds() >= current->limits->stop->deadline_seconds ||
           pl_bounds_are_over(&current->bounds);
}

static void end_line(job *current) {
    current->line[current->line_length] = '\0';
    if (current->line_length > 0) {
        /* a fatal error is followed by its place in GLPK's source; keep the line before that */
        if (strncmp(current->line, "Error detected in", strlen("Error detected in")) != 0)
            memcpy(current->last_line, current->line, current->line_length + 1);
    }
    current->line_length = 0;
}

/* GLPK prints in pieces; only the last line is kept, for error messages. Nonzero: GLPK prints
 * nothing itself. */
static int take_output(void *info, const char *text) {
    job *current = info;
    for (; *text != '\0'; ++text) {
        if (*text == '\n') {
            end_line(current);
        } else {
            if (current->line_length + 1 == sizeof current->line)
                end_line(current);
            current->line[current->line_length++] = *text;
        }
    }
    /* the simplex method has no callback, but it prints; a failure is the only way out */
    if (!current->is_stopping && must_stop(current)) {
        current->is_stopping = true;
        glp_error("stopped\n");
    }
    return 1;
}

/* GLPK aborts the process if this function returns. */
static void escape_from_failure(void *info) {
    job *current = info;
    longjmp(current->escape, 1);
}

bool pl_glpk_exists(void) {
    return true;
}

static int bound_type(double lower, double upper) {
    if (isinf(lower))
        return isinf(upper) ? GLP_FR : GLP_UP;
    if (isinf(upper))
        return GLP_LO;
    return lower < upper ? GLP_DB : GLP_FX;
}

static glp_prob *build_problem(const job *current) {
    const pl_mip *program = current->program;
    glp_prob *problem = glp_create_prob();
    glp_set_obj_dir(problem, GLP_MIN);
    if (program->num_rows > 0)
        glp_add_rows(problem, (int)program->num_rows);
    for (size_t i = 0; i < program->num_rows; ++i) {
        const pl_mip_row *row = &program->rows[i];
        glp_set_row_bnds(problem, (int)i + 1, bound_type(row->lower, row->upper), row->lower,
                         row->upper);
    }
    if (program->num_columns > 0)
        glp_add_cols(problem, (int)program->num_columns);
    for (size_t i = 0; i < program->num_columns; ++i) {
        const pl_mip_column *column = &program->columns[i];
        if (column->binary)
            glp_set_col_kind(problem, (int)i + 1, GLP_BV);
        else
            glp_set_col_bnds(problem, (int)i + 1, GLP_LO, 0.0, 0.0);
        glp_set_obj_coef(problem, (int)i + 1, column->cost);
    }
    glp_load_matrix(problem, (int)program->num_entries, program->entry_rows, program->entry_columns,
                    program->entry_values);
    return problem;
}

/* Returns the time until the deadline for GLPK: INT_MAX is no limit. */
static int milliseconds_left(const job *current) {
    double left = (current->limits->stop->deadline_seconds - pl_clock_seconds()) * 1000.0;
    if (left <= 0.0 || must_stop(current))
        return 0;
    return left < (double)INT_MAX ? (int)ceil(left) : INT_MAX;
}

/* Returns the work of an iteration. */
static uint64_t work_of_iteration(const job *current) {
    return current->program->num_entries + 10 * (uint64_t)current->program->num_rows;
}

/* Returns the iterations that GLPK may still take. */
static int iterations_left(const job *current) {
    const uint64_t *work = current->limits->stop->glpk_work;
    uint64_t most = work == NULL ? INT_MAX : *work / (1 + work_of_iteration(current));
    return most < INT_MAX ? (int)most : INT_MAX;
}

/* Returns the iterations that GLPK took. To build and presolve a program is as much work as a few
 * of them, and so is what is done with a node between two calls. */
static int iterations_done(const job *current, glp_prob *problem) {
    enum { TO_BEGIN = 10, OF_CALL = 5, MOST_CALLS = INT_MAX / 16 };
    int calls = current->num_calls < MOST_CALLS ? (int)current->num_calls : MOST_CALLS;
    int iterations = glp_get_it_cnt(problem);
    return (iterations < INT_MAX / 2 ? iterations : INT_MAX / 2) + TO_BEGIN + OF_CALL * calls;
}

/* Takes what GLPK did from what it may still do. */
static void count_work(const job *current, glp_prob *problem) {
    uint64_t *work = current->limits->stop->glpk_work;
    uint64_t done = (uint64_t)iterations_done(current, problem) * work_of_iteration(current);
    if (work != NULL)
        *work -= done < *work ? done : *work;
}

/* Solves the relaxation separately, without GLPK's presolver for integer programs, so that the time
 * limit also applies to it. */
static popliner_status solve_relaxation(glp_prob *problem, job *current, bool *solved) {
    *solved = false;
    glp_smcp parameters;
    glp_init_smcp(&parameters);
    parameters.msg_lev = GLP_MSG_ALL;
    parameters.presolve = GLP_ON;
    parameters.out_frq = OUTPUT_MILLISECONDS;
    parameters.tm_lim = milliseconds_left(current);
    parameters.it_lim = iterations_left(current);
    if (parameters.tm_lim == 0 || parameters.it_lim == 0)
        return POPLINER_OK;
    int code = glp_simplex(problem, &parameters);
    if (code == GLP_ETMLIM || code == GLP_EITLIM)
        return POPLINER_OK;
    if (code == GLP_ENOPFS || (code == 0 && glp_get_status(problem) == GLP_NOFEAS)) {
        *current->outcome = PL_MIP_IMPOSSIBLE;
        return POPLINER_OK;
    }
    if (code != 0 || glp_get_status(problem) != GLP_OPT)
        return pl_fail(current->error, POPLINER_ERROR_INTERNAL,
                       "GLPK cannot solve the relaxation: code %d, status %d (%s)", code,
                       glp_get_status(problem), current->last_line);
    *solved = true;
    return POPLINER_OK;
}

static void stop_tree(glp_tree *tree, void *info) {
    job *current = info;
    ++current->num_calls;
    if (iterations_done(current, glp_ios_get_prob(tree)) >= iterations_left(current) ||
        must_stop(current))
        glp_ios_terminate(tree);
}

static popliner_status branch(glp_prob *problem, job *current) {
    glp_iocp parameters;
    glp_init_iocp(&parameters);
    parameters.msg_lev = GLP_MSG_ALL;
    parameters.out_frq = OUTPUT_MILLISECONDS;
    parameters.cb_func = stop_tree;
    parameters.cb_info = current;
    parameters.tm_lim = milliseconds_left(current);
    if (parameters.tm_lim == 0)
        return POPLINER_OK;
    int code = glp_intopt(problem, &parameters);
    int status = glp_mip_status(problem);
    bool is_stopped = code == GLP_ETMLIM || code == GLP_ESTOP;
    if (code != 0 && !is_stopped)
        return pl_fail(current->error, POPLINER_ERROR_INTERNAL,
                       "GLPK cannot solve the program: code %d (%s)", code, current->last_line);
    if (status == GLP_NOFEAS && !is_stopped) {
        *current->outcome = PL_MIP_IMPOSSIBLE;
    } else if (status == GLP_OPT || status == GLP_FEAS) {
        *current->outcome = status == GLP_OPT ? PL_MIP_OPTIMAL : PL_MIP_FEASIBLE;
        for (size_t i = 0; i < current->program->num_columns; ++i)
            current->values[i] = glp_mip_col_val(problem, (int)i + 1);
    } else if (!is_stopped) {
        return pl_fail(current->error, POPLINER_ERROR_INTERNAL,
                       "GLPK ended without an answer: status %d (%s)", status, current->last_line);
    }
    return POPLINER_OK;
}

static popliner_status write_text(glp_prob *problem, const job *current) {
    const pl_glpk_text *text = current->text;
    char name[GLPK_NAME_BYTES];
    glp_set_obj_name(problem, text->objective_name);
    for (size_t i = 0; i < current->program->num_columns; ++i) {
        text->name_column(text->user, i, name, sizeof name);
        glp_set_col_name(problem, (int)i + 1, name);
    }
    errno = 0;
    const int code = text->is_lp ? glp_write_lp(problem, NULL, text->path)
                                 : glp_write_mps(problem, GLP_MPS_FILE, NULL, text->path);
    if (code == 0)
        return POPLINER_OK;
    return errno == ENOMEM ? pl_fail_memory(current->error, "the integer program")
                           : pl_fail(current->error, POPLINER_ERROR_OUTPUT,
                                     "%s: the integer program cannot be written (%s)",
                                     text->shown_path, current->last_line);
}

/* Allocates only GLPK's own memory, so nothing leaks when GLPK jumps out. */
static popliner_status run_glpk(job *current) {
    glp_term_hook(take_output, current);
    glp_error_hook(escape_from_failure, current);
    glp_mem_limit(current->limits->memory_mib);
    glp_prob *problem = build_problem(current);
    bool solved = false;
    popliner_status status = current->text != NULL ? write_text(problem, current)
                                                   : solve_relaxation(problem, current, &solved);
    if (status == POPLINER_OK && solved)
        status = branch(problem, current);
    count_work(current, problem);
    glp_delete_prob(problem);
    end_line(current);
    return status;
}

/* After a fatal error, every GLPK object of the thread is invalid: it may only be freed. */
static popliner_status work_guarded(job *current) {
    if (setjmp(current->escape) == 0)
        return run_glpk(current);
    end_line(current);
    if (current->is_stopping) {
        *current->outcome = PL_MIP_UNSOLVED;
        return POPLINER_OK;
    }
    return pl_fail(current->error, POPLINER_ERROR_INTERNAL,
                   "GLPK gave up, with a limit of %d MiB (%s)", current->limits->memory_mib,
                   current->last_line);
}

/* Runs on a new thread, with its own GLPK environment. If there is one already, GLPK was built
 * without threads, and it is the caller's. */
static bool work_on_thread(void *user, size_t worker, size_t i) {
    job *current = user;
    (void)worker;
    (void)i;
    enum { NO_MEMORY = 2 };
    int code = glp_init_env();
    if (code != 0) {
        current->status = code == NO_MEMORY ? pl_fail_memory(current->error, "GLPK")
                                            : pl_fail(current->error, POPLINER_ERROR_INTERNAL,
                                                      "GLPK cannot be started: code %d", code);
        return true;
    }
    pl_plain_locale locale = pl_plain_locale_enter();
    current->status = work_guarded(current);
    pl_plain_locale_leave(&locale);
    glp_free_env();
    return true;
}

static popliner_status run_job(job *current) {
    const pl_mip *program = current->program;
    popliner_error *error = current->error;
    if (program->num_rows >= INT_MAX || program->num_columns >= INT_MAX ||
        program->num_entries >= INT_MAX)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "a program of %zu rows, %zu columns and %zu entries is too large for GLPK",
                       program->num_rows, program->num_columns, program->num_entries);
    const pl_parallel work = {.num_threads = 2,
                              .count = 1,
                              .task = work_on_thread,
                              .user = current,
                              .bounds = &current->bounds,
                              .is_apart = true};
    current->bounds.should_stop = current->limits->stop->should_stop;
    current->bounds.user = current->limits->stop->user;
    *current->outcome = PL_MIP_UNSOLVED;
    return pl_parallel_run(&work) == 1 || pl_bounds_are_over(&current->bounds)
               ? current->status
               : pl_fail_memory(error, "the thread that GLPK runs on");
}

popliner_status pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits, double *values,
                              pl_mip_outcome *outcome, popliner_error *error) {
    job current = {
        .program = program, .limits = limits, .values = values, .outcome = outcome, .error = error};
    popliner_status status = run_job(&current);
    if (status != POPLINER_ERROR_INTERNAL || limits->stop->glpk_work == NULL)
        return status;
    *outcome = PL_MIP_UNSOLVED; /* where its work is limited, the answer does not depend on it */
    return POPLINER_OK;
}

popliner_status pl_glpk_write(const pl_mip *program, const pl_glpk_text *text,
                              popliner_error *error) {
    enum { MEMORY_MIB = 1 << 15 };
    const pl_stop never = {INFINITY, NULL, NULL, NULL};
    const pl_glpk_limits limits = {MEMORY_MIB, &never};
    pl_mip_outcome outcome;
    job current = {
        .program = program, .limits = &limits, .text = text, .outcome = &outcome, .error = error};
    return run_job(&current);
}
