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
    pl_filter filter;
    const pl_split *fixed; /* the first stages, if not NULL: each begins as in this split */
    bool keeps_all;        /* if no intervals are on a way through the chain, have all of them */
    pl_places places;      /* one stands for all that are alike: it is its own `next` */
    pl_column *columns;
    size_t num_columns;
    size_t *row; /* [places.count][num_units]: the row of the flow through a unit, or SIZE_MAX */
    /* the bytes or other units that a coefficient of 1 in the objective stands for */
    double unit_of_one;
    bool is_goal_whole; /* unit_of_one divides all coefficients of the objective */
    /* The zero of peaks and cycles in rows; value_unit is their unit. */
    uint64_t value_offset;
    uint64_t least_value; /* smaller values count as this one */
    double value_unit;
    pl_mip program; /* its arrays also own those of this */
    double *values;
    uint64_t most_entries; /* 0: as many as GLPK can take */
    bool is_too_large;     /* it would have more, and has no columns */
} pl_integer_program;

void pl_integer_program_clear(pl_integer_program *s);

/* Builds everything except what the objective adds; nothing if there are no columns.
 * Zero-initialise the program except for the problem, the filter, `fixed`, keeps_all and
 * most_entries. What is added to a program may make it too large: see pl_integer_program_check.
 * Errors: MEMORY. */
popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error);

/* Collects only the columns. Errors: MEMORY. */
popliner_status pl_integer_program_collect(pl_integer_program *s, popliner_error *error);

/* Lays the places of a program. A row counts stages, so one place stands for all that are alike.
 * Free with pl_places_free. Errors: MEMORY. */
popliner_status pl_integer_program_lay(const pl_problem *problem, const pl_limits *limits,
                                       pl_places *places, popliner_error *error);

/* Returns the cycles or the peak of a column, by which IPUs are compared. */
uint64_t pl_integer_program_value(const pl_integer_program *s, pl_measure measure,
                                  const pl_column *c);

/* Computes a lower bound of the largest value of a split: the largest, over units, of the smallest
 * value of a column with the unit. O(entries). Errors: MEMORY. */
popliner_status pl_integer_program_bound(const pl_integer_program *s, pl_measure measure,
                                         uint64_t *bound, popliner_error *error);

/* Adds the largest value as a continuous column with this cost, in units of value_unit (0: chosen
 * here) above value_offset. For each unit, a row makes it at least the value of the stage with the
 * unit: exactly one column has a unit, so this is a tighter relaxation than a row for each column.
 * Smaller values count as value_offset. An IPU with several stages has a row for the sum of their
 * cycles. Returns the column. */
size_t pl_integer_program_add_largest(pl_integer_program *s, pl_measure measure, double cost);

/* Adds the largest and the smallest value, with this cost for their difference, and limits the
 * difference to the filter's max_spread. value_offset must not be above any value. Only where no
 * stages share an IPU. */
void pl_integer_program_add_spread(pl_integer_program *s, double cost);

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

/* Finds the best split by integer programs alone, one for each objective, solved by GLPK
 * independently of the dynamic program. */

typedef struct pl_straight_programs {
    const pl_problem *problem;
    const pl_filter *filter;
    const pl_stop *stop;
} pl_straight_programs;

/* The result of a search for the smallest value. */
typedef struct pl_straight_answer {
    uint64_t bound;  /* no split within the filter has a smaller value */
    bool is_stopped; /* time was up, or GLPK could not tell the best from others nearby */
} pl_straight_answer;

/* Finds a split within the filter. *split must be empty, and stays empty if there is none or
 * *is_stopped becomes true. Errors: MEMORY; INTERNAL, also for programs that are too large. */
popliner_status pl_straight_find(const pl_straight_programs *asked, pl_split *split,
                                 bool *is_stopped, popliner_error *error);

/* Improves *split, which is within the filter, to the best by an objective. Programs exclude values
 * above that of *split and of a greedy filling. The value is then computed in integers, and a
 * second program proves that no split is below it. Errors: those of pl_straight_find. */
popliner_status pl_straight_minimise(const pl_straight_programs *asked,
                                     popliner_objective objective, pl_split *split,
                                     pl_straight_answer *answer, popliner_error *error);

/* Makes *split the split with the earliest cuts, one cut after another. Errors: those of
 * pl_straight_find. */
popliner_status pl_straight_find_earliest(const pl_straight_programs *asked, pl_split *split,
                                          bool *is_stopped, popliner_error *error);

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
