/* Everything that has to do with GLPK: plain arrays in, an answer out. No other file calls it.
 *
 * GLPK ends the process when something goes wrong, prints what it does, and keeps its state (its
 * objects, hooks and limits) per thread. Here it says nothing, and its fatal errors come back as
 * POPLINER_ERROR_INTERNAL with the last line that it wanted to print. Every call runs it on a thread
 * of its own, whose state is freed with it: GLPK as the caller uses it is never touched.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_GLPK_SESSION_H
#define PL_SOLVE_GLPK_SESSION_H

#include "popliner/error.h"
#include "solve/stop.h"

#include <stdbool.h>
#include <stddef.h>

/* lower <= sum over the columns of value * x <= upper; -INFINITY and INFINITY are no bound. */
typedef struct pl_program_row {
    double lower;
    double upper;
} pl_program_row;

/* A variable: 0 or 1, or anything from 0. */
typedef struct pl_program_column {
    bool binary;
    double cost;
} pl_program_column;

typedef struct pl_program_entry {
    size_t row;
    size_t column;
    double value;
} pl_program_entry;

/* Minimise the sum of cost * x. Zero-initialise; free with pl_program_clear. */
typedef struct pl_program {
    pl_program_row *rows; /* owned, like the others */
    size_t num_rows;
    size_t row_capacity;
    pl_program_column *columns;
    size_t num_columns;
    size_t column_capacity;
    pl_program_entry *entries; /* each place at most once */
    size_t num_entries;
    size_t entry_capacity;
} pl_program;

void pl_program_clear(pl_program *program);

/* Each appends one item; false when memory is short. */
bool pl_program_add_row(pl_program *program, double lower, double upper);
bool pl_program_add_column(pl_program *program, bool binary, double cost);
bool pl_program_add_entry(pl_program *program, size_t row, size_t column, double value);

/* What GLPK may use. */
typedef struct pl_glpk_limits {
    int memory_mib;      /* at least 1 */
    const pl_stop *stop; /* looked at now and then */
} pl_glpk_limits;

typedef enum pl_program_outcome {
    PL_PROGRAM_OPTIMAL,    /* the values are, within GLPK's tolerance, the best */
    PL_PROGRAM_FEASIBLE,   /* stopped; the values are the best so far */
    PL_PROGRAM_UNSOLVED,   /* stopped before there were any values */
    PL_PROGRAM_IMPOSSIBLE, /* no values satisfy the rows */
} pl_program_outcome;

/* Solves the program. With OPTIMAL and FEASIBLE, values (room for num_columns) and *objective are
 * set. GLPK looks at `stop` now and then: it may be missed by the time of one step. should_stop is
 * called by the calling thread.
 * Errors: MEMORY (the arrays, or no thread is to be had), INTERNAL (GLPK failed or used up its
 * memory, in its words). */
popliner_status pl_glpk_solve(const pl_program *program, const pl_glpk_limits *limits,
                              double *values, double *objective, pl_program_outcome *outcome,
                              popliner_error *error);

/* Writes the program into the file `path`, as CPLEX LP or (is_mps) free MPS. Rows are r_0, r_1, ...;
 * name_column gives the columns' names. Errors: as above, and OUTPUT. */
popliner_status
pl_glpk_write(const pl_program *program,
              void (*name_column)(const void *user, size_t index, char *name, size_t size),
              const void *user, bool is_mps, const char *path, popliner_error *error);

#endif
