/* Everything that has to do with GLPK: plain arrays in, an answer out. No other file calls it.
 *
 * GLPK ends the process when something goes wrong, prints what it does, and keeps its state (its
 * objects, hooks and limits) per thread. Here it says nothing, and its fatal errors come back as
 * POPLINER_ERROR_INTERNAL with the last line that it wanted to print. Every call runs it on a
 * thread of its own, whose state is freed with it: GLPK as the caller uses it is never touched.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_GLPK_SESSION_H
#define PL_SOLVE_GLPK_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/error.h"
#include "solve/stop.h"

/* lower <= sum over the columns of value * x <= upper; -INFINITY and INFINITY are no bound. */
typedef struct pl_mip_row {
    double lower;
    double upper;
} pl_mip_row;

/* A variable: 0 or 1, or anything from 0. */
typedef struct pl_mip_column {
    bool binary;
    double cost;
} pl_mip_column;

typedef struct pl_mip_entry {
    size_t row;
    size_t column;
    double value;
} pl_mip_entry;

/* Minimise the sum of cost * x. Zero-initialise; free with pl_mip_clear. */
typedef struct pl_mip {
    pl_mip_row *rows; /* owned, like the others */
    size_t num_rows;
    size_t row_capacity;
    pl_mip_column *columns;
    size_t num_columns;
    size_t column_capacity;
    pl_mip_entry *entries; /* each place at most once */
    size_t num_entries;
    size_t entry_capacity;
} pl_mip;

/* Whether GLPK is there: glpk_session.c has it, glpk_absent.c is built in its place without. */
bool pl_glpk_exists(void);

/* What GLPK may use. */
typedef struct pl_glpk_limits {
    int memory_mib;      /* at least 1 */
    const pl_stop *stop; /* looked at now and then */
} pl_glpk_limits;

typedef enum pl_mip_outcome {
    PL_MIP_OPTIMAL,    /* the values are, within GLPK's tolerance, the best */
    PL_MIP_FEASIBLE,   /* stopped; the values are the best so far */
    PL_MIP_UNSOLVED,   /* stopped before there were any values */
    PL_MIP_IMPOSSIBLE, /* no values satisfy the rows */
} pl_mip_outcome;

/* Solves the program. With OPTIMAL and FEASIBLE, values (room for num_columns) and *objective are
 * set. GLPK looks at `stop` now and then: it may be missed by the time of one step. should_stop is
 * called by the calling thread.
 * Errors: MEMORY (the arrays, or no thread is to be had), INTERNAL (GLPK failed or used up its
 * memory, in its words), USAGE (there is no GLPK). */
popliner_status pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits, double *values,
                              double *objective, pl_mip_outcome *outcome, popliner_error *error);

#endif
