/* The only file that calls GLPK: plain arrays in, an answer out.
 *
 * GLPK ends the process when something goes wrong, prints to the terminal, and keeps its state
 * (objects, hooks and limits) per thread. Here it prints nothing, and its fatal errors become
 * POPLINER_ERROR_INTERNAL with the last line that it printed. Every call runs GLPK on a new thread,
 * whose state is freed with it, so a caller's own use of GLPK is not affected.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_GLPK_SESSION_H
#define PL_SOLVE_GLPK_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/growth.h"
#include "popliner/error.h"
#include "solve/stop.h"

/* lower <= sum over the columns of value * x <= upper; -INFINITY and INFINITY: no bound. */
typedef struct pl_mip_row {
    double lower;
    double upper;
} pl_mip_row;

/* A variable: 0 or 1, or any number from 0. */
typedef struct pl_mip_column {
    bool binary;
    double cost;
} pl_mip_column;

/* Minimises the sum of cost * x. Zero-initialise; free `arrays`. */
typedef struct pl_mip {
    pl_mip_row *rows;
    size_t num_rows;
    pl_mip_column *columns;
    size_t num_columns;
    /* entries, each row and column at most once, all from 1 on as GLPK counts */
    int *entry_rows;
    int *entry_columns;
    double *entry_values;
    size_t num_entries;
    pl_arrays arrays; /* own these; failed also if there are too many: nothing more is added */
} pl_mip;

/* True if this build has GLPK (glpk_session.c), false if not (glpk_absent.c). */
bool pl_glpk_exists(void);

/* Limits of GLPK. */
typedef struct pl_glpk_limits {
    int memory_mib;      /* at least 1 */
    const pl_stop *stop; /* checked now and then */
} pl_glpk_limits;

typedef enum pl_mip_outcome {
    PL_MIP_OPTIMAL,    /* the values are optimal within GLPK's tolerance */
    PL_MIP_FEASIBLE,   /* stopped; the values are the best so far */
    PL_MIP_UNSOLVED,   /* stopped before any values were found */
    PL_MIP_IMPOSSIBLE, /* no values satisfy the rows */
} pl_mip_outcome;

/* Solves the program. With OPTIMAL and FEASIBLE, sets values[num_columns]. GLPK checks `stop`
 * now and then, and may exceed it by one step. The calling thread calls should_stop.
 * Errors: MEMORY (for the arrays or the thread), INTERNAL (GLPK failed or used up its memory, in
 * its words), USAGE (no GLPK). */
popliner_status pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits, double *values,
                              pl_mip_outcome *outcome, popliner_error *error);

/* How a program is written. */
typedef struct pl_glpk_text {
    bool is_lp; /* CPLEX LP; else free MPS */
    const char *objective_name;
    /* Names a column; rows are named by their numbers. */
    void (*name_column)(const void *user, size_t index, char *name, size_t size);
    const void *user;
    const char *path;
    const char *shown_path; /* as messages name the file */
} pl_glpk_text;

/* Writes the program with GLPK's writer, whose numbers have 15 digits in LP, and at most 12
 * characters in MPS. Errors: MEMORY, OUTPUT, INTERNAL, USAGE (no GLPK). */
popliner_status pl_glpk_write(const pl_mip *program, const pl_glpk_text *text,
                              popliner_error *error);

#endif
