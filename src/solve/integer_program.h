/* The split as an integer program: one binary variable per interval that may be a stage; where it
 * matters which stage, one per interval and stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_H
#define PL_SOLVE_INTEGER_PROGRAM_H

#include "solve/dynamic_program.h"
#include "solve/glpk_session.h"
#include "solve/shared_stages.h"

/* An interval as a stage. */
typedef struct pl_column {
    size_t stage; /* 0 where it does not matter which */
    size_t first_unit;
    size_t last_unit;
} pl_column;

typedef struct pl_integer_program {
    const pl_problem *problem;
    pl_filter filter;
    size_t num_places;     /* the stages that are told apart: 1, or as many as there are */
    const pl_split *fixed; /* the first stages, if not NULL: each begins where it does there */
    pl_column *columns;
    size_t num_columns;
    size_t column_capacity;
    bool peaks_never_shrink; /* when a stage grows */
    bool cycles_never_shrink;
    size_t *row; /* [num_places][num_units]: the row of the flow through a unit, or SIZE_MAX */
    double unit_of_one; /* a coefficient of 1 in the objective stands for so many bytes or units */
    pl_mip program;
    double *values;
} pl_integer_program;

/* How a column is compared with the stage that a row speaks of. */
typedef enum pl_relation { PL_SAME, PL_CONTAINS, PL_IS_PART_OF } pl_relation;

typedef struct pl_condition {
    size_t stage;
    popliner_interval interval;
    pl_relation relation;
} pl_condition;

void pl_integer_program_clear(pl_integer_program *s);

/* Builds everything but the no-goods; without any column, nothing. Zero-initialise the
 * program but for the problem, the filter, num_places, fixed and what never shrinks. Errors:
 * MEMORY, INTERNAL if it becomes too large. */
popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error);

/* Collects the columns alone, for one place. Errors: MEMORY. */
popliner_status pl_integer_program_collect(pl_integer_program *s, popliner_error *error);

/* What a column contributes to a goal, unscaled. */
uint64_t pl_integer_program_cost(const pl_integer_program *s, pl_goal goal, const pl_column *c);

bool pl_column_fulfils(const pl_column *c, const pl_condition *it);

/* Adds the row "not all of these conditions". */
popliner_status pl_integer_program_forbid(pl_integer_program *s, const pl_condition *conditions,
                                          size_t count, popliner_error *error);

/* Lists the conditions of entry `i` of the known stages on one IPU; returns how many. */
size_t pl_integer_program_list_known(const pl_integer_program *s, const pl_shared *shared, size_t i,
                                     pl_condition *conditions);

/* Forbids what stages on one IPU are known to need together, if it is too much. `conditions` is
 * room for two per place. */
popliner_status pl_integer_program_forbid_known(pl_integer_program *s, const pl_shared *shared,
                                                pl_condition *conditions, popliner_error *error);

/* Adds an entry, false when memory is short or the program too large; and the error of that. */
bool pl_integer_program_add_entry(pl_integer_program *s, size_t row, size_t at, double value);
popliner_status pl_integer_program_too_large(const pl_integer_program *s, popliner_error *error);

/* Lets GLPK solve the program, once it is built. With OPTIMAL and FEASIBLE the split, which must be
 * empty, becomes what GLPK chose, and *objective what that is worth in scaled units. Errors:
 * MEMORY, INTERNAL. */
popliner_status pl_integer_program_solve(pl_integer_program *s, const pl_stop *stop,
                                         const popliner_listener *listener, pl_mip_outcome *outcome,
                                         double *objective, pl_split *split, popliner_error *error);

/* How far GLPK's objective may be from the true one, both in scaled units: GLPK takes a variable
 * for 0 or 1 that is within 1e-5 of it, and ends a search for less than 1e-7 of the objective. */
double pl_integer_program_tolerance(double objective);

#endif
