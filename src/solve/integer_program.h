/* The split as an integer program: a binary variable for each interval that may be a stage, or,
 * where the place of the stage matters, for each interval and place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_H
#define PL_SOLVE_INTEGER_PROGRAM_H

#include "popliner/error.h"
#include "solve/glpk_session.h"
#include "solve/places.h"
#include "solve/plan.h"

/* An interval as a stage. */
typedef struct pl_column {
    size_t stage; /* a place */
    size_t first_unit;
    size_t last_unit;
} pl_column;

typedef struct pl_integer_program {
    const pl_problem *problem;
    pl_limits limits;
    const pl_split *fixed; /* the first stages, if not NULL: each begins as in this split */
    bool keeps_all;        /* if no intervals are on a way through the chain, have all of them */
    pl_places places;      /* one stands for all that are alike: it is its own `next` */
    pl_column *columns;
    size_t num_columns;
    size_t *row; /* [places.count][num_units]: the row of the flow through a unit, or SIZE_MAX */
    /* the bytes or other units that a coefficient of 1 in the objective stands for */
    double unit_of_one;
    bool is_goal_whole; /* unit_of_one divides all coefficients of the objective */
    pl_mip program;     /* its arrays also own those of this */
    double *values;
    uint64_t most_entries; /* 0: as many as GLPK can take */
    bool is_too_large;     /* it would have more, and has no columns */
} pl_integer_program;

void pl_integer_program_clear(pl_integer_program *s);

/* Builds everything except what pl_integer_program_add_values adds; nothing if there are no
 * columns. Zero-initialise the program except for the problem, the limits, `fixed`, keeps_all and
 * most_entries. What is added to a program may make it too large: see pl_integer_program_check.
 * Errors: MEMORY. */
popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error);

/* Lays the places of a program. A row counts stages, so one place stands for all that are alike.
 * Free with pl_places_free. Errors: MEMORY. */
popliner_status pl_integer_program_lay(const pl_problem *problem, const pl_limits *limits,
                                       pl_places *places, popliner_error *error);

/* Makes the largest value of a stage the objective, or, for a spread, which is at most max_spread,
 * the largest less the smallest: continuous columns in units of *unit. For each unit, a row makes
 * the largest at least the value of the stage with the unit: exactly one column has a unit, so this
 * is a tighter relaxation than a row for each column. The largest is at least the largest, over
 * units, of the smallest value of a column with the unit: smaller values count as this bound, but
 * not in a spread. Errors: MEMORY. */
popliner_status pl_integer_program_add_values(pl_integer_program *s, pl_measure measure,
                                              bool is_spread, uint64_t max_spread, double *unit,
                                              popliner_error *error);

/* Checks that all that was added is in the program. Errors: MEMORY; INTERNAL if it is too large. */
popliner_status pl_integer_program_check(const pl_integer_program *s, popliner_error *error);

/* Solves a built program with GLPK. With OPTIMAL and FEASIBLE, *split, which must be empty, becomes
 * GLPK's choice. Errors: MEMORY, INTERNAL. */
popliner_status pl_integer_program_solve(pl_integer_program *s, const pl_stop *stop,
                                         pl_mip_outcome *outcome, pl_split *split,
                                         popliner_error *error);

/* Forbids exactly the last answer. */
void pl_integer_program_exclude(pl_integer_program *s);

/* ---- a mixed-integer program in plain arrays ---- */

/* Append one item, unless the program has failed. pl_mip_add_row returns the row. */
size_t pl_mip_add_row(pl_mip *program, double lower, double upper);
void pl_mip_add_column(pl_mip *program, bool binary, double cost);
void pl_mip_add_entry(pl_mip *program, size_t row, size_t column, double value);

/* ---- where no stages share an IPU ---- */

/* Finds a split for the goal by integer programs alone, independently of pl_dynamic_program, whose
 * parameters it has: any split, or the best, which is measured in integers. *split must be empty,
 * and stays empty if there is none, or if *is_stopped becomes true: time was up, or GLPK could not
 * tell the best from others nearby. Errors: MEMORY; INTERNAL, also for programs that are too
 * large. */
popliner_status pl_straight_find(const pl_problem *problem, const pl_limits *limits, pl_goal goal,
                                 const pl_stop *stop, pl_split *split, bool *is_stopped,
                                 popliner_error *error);

/* ---- as a file for other solvers ---- */

typedef struct pl_written_program {
    const pl_problem *problem;
    pl_filter filter;
    popliner_objective objective;
    uint64_t most;   /* larger values are left out; UINT64_MAX: none */
    bool is_stopped; /* a search that might have known a smaller one */
    popliner_program_format format;
} pl_written_program;

/* Writes the program. Errors: USAGE if there is none (for the spread where stages share an IPU),
 * MEMORY, INTERNAL, OUTPUT. */
popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error);

#endif
