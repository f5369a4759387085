/* The split as an integer program: one binary variable per interval that may be a stage; where it
 * matters which stage, one per interval and stage.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_H
#define PL_SOLVE_INTEGER_PROGRAM_H

#include "popliner/error.h"
#include "solve/dynamic_program.h"
#include "solve/glpk_session.h"
#include "solve/shared/shared.h"

/* A stage of the program. Where it does not matter which one an interval is, one place stands for
 * all of them; else one for each, counted from the front, from the end, or, where both matter, for
 * each number of stages. */
typedef struct pl_place {
    size_t stage;  /* 0 where it does not matter which */
    size_t to_end; /* the stages that are still to come and itself; 1 where that does not matter */
    size_t next;   /* the place of the stage behind it */
    bool begins;   /* it may be the first one of the chain */
    bool ends;     /* or the last one */
} pl_place;

/* An interval as a stage. */
typedef struct pl_column {
    size_t stage; /* a place; with a device map the stage itself */
    size_t first_unit;
    size_t last_unit;
} pl_column;

typedef struct pl_integer_program {
    const pl_problem *problem;
    pl_filter filter;
    const pl_split *fixed; /* the first stages, if not NULL: each begins where it does there */
    pl_place *places;      /* [num_places], each before those behind it */
    size_t num_places;
    pl_column *columns;
    size_t num_columns;
    size_t column_capacity;
    bool peaks_never_shrink; /* when a stage grows */
    bool cycles_never_shrink;
    size_t *row; /* [num_places][num_units]: the row of the flow through a unit, or SIZE_MAX */
    double unit_of_one; /* a coefficient of 1 in the objective stands for so many bytes or units */
    bool is_goal_whole; /* that divides all coefficients of the objective */
    /* Of peaks and cycles in rows: they are counted from here, in units of so many. */
    uint64_t value_offset;
    uint64_t least_value; /* smaller ones count as this much */
    double value_unit;
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

/* 0 of two 0s. */
uint64_t pl_common_divisor(uint64_t a, uint64_t b);

/* Builds everything but the no-goods and what the objective adds; without any column, nothing.
 * Zero-initialise the program but for the problem, the filter, fixed and what never shrinks.
 * Errors: MEMORY, INTERNAL if it becomes too large. */
popliner_status pl_integer_program_build(pl_integer_program *s, pl_goal goal,
                                         popliner_error *error);

/* Collects the columns alone. Errors: MEMORY. */
popliner_status pl_integer_program_collect(pl_integer_program *s, popliner_error *error);

/* The place of a stage of a split of so many. */
size_t pl_integer_program_place(const pl_integer_program *s, size_t num_stages, size_t stage);

/* What a column contributes to a goal, unscaled. */
uint64_t pl_integer_program_cost(const pl_integer_program *s, pl_goal goal, const pl_column *c);

/* What a column has of what IPUs are compared by. */
uint64_t pl_integer_program_value(const pl_integer_program *s, bool of_cycles, const pl_column *c);

/* The largest of all units' smallest value of a column that holds the unit: no split of stages that
 * have their IPUs to themselves has a smaller largest one. And the smallest of all units' largest
 * value. O(entries). Errors: MEMORY. */
popliner_status pl_integer_program_bounds(const pl_integer_program *s, bool of_cycles,
                                          uint64_t *largest_at_least, uint64_t *smallest_at_most,
                                          popliner_error *error);

/* Adds the largest value, in units of value_unit (0: one is chosen) above value_offset, as a
 * continuous column with this cost, and the rows that make it so: it is
 * at least what the stage that holds unit u has. As exactly one column holds a unit, this says more
 * to the relaxation than a row per column would. Values up to value_offset count as that much.
 * Stages on one IPU have a row for what their cycles come to together. Errors: MEMORY, INTERNAL. */
popliner_status pl_integer_program_add_largest(pl_integer_program *s, bool of_cycles, double cost,
                                               popliner_error *error);

/* Adds the largest and the smallest value, with this cost for how far they are apart, and that they
 * are at most the filter's max_spread apart. value_offset must not be above any value. Only where
 * no stages share an IPU. Errors: MEMORY, INTERNAL. */
popliner_status pl_integer_program_add_spread(pl_integer_program *s, double cost,
                                              popliner_error *error);

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

/* ---- rows, columns and entries one by one ---- */

/* A mixed-integer program in plain arrays. */

void pl_mip_clear(pl_mip *program);

/* Each appends one item; false when memory is short. */
bool pl_mip_add_row(pl_mip *program, double lower, double upper);
bool pl_mip_add_column(pl_mip *program, bool binary, double cost);
bool pl_mip_add_entry(pl_mip *program, size_t row, size_t column, double value);

/* ---- where no stages share an IPU ---- */

/* The best split by integer programs alone, where no stages share an IPU: one program for each
 * objective, solved by GLPK, which knows nothing of what the dynamic program found. */

typedef struct pl_straight_programs {
    const pl_problem *problem;
    const pl_filter *filter;
    const pl_stop *stop;
    const popliner_listener *listener; /* may be NULL */
} pl_straight_programs;

/* What became of a search for the smallest value. */
typedef struct pl_straight_answer {
    uint64_t bound;   /* no split within the filter has a smaller value */
    bool is_stopped;  /* time was up, or the caller wanted it to end */
    bool is_unproven; /* GLPK could not tell the best from others by a few bytes */
} pl_straight_answer;

/* Finds a split within the filter. *split must be empty, and stays so if there is none or
 * *is_stopped becomes true. Errors: MEMORY; INTERNAL, also where the program becomes too large. */
popliner_status pl_straight_find(const pl_straight_programs *asked, pl_split *split,
                                 bool *is_stopped, popliner_error *error);

/* Makes *split, which is one within the filter, the best by an objective. What is above its value,
 * or above that of stages filled one after another, is left out of the programs. The value is
 * computed in integers; once it is known, a second program has to show that there is nothing below
 * it. Errors: as above. */
popliner_status pl_straight_minimise(const pl_straight_programs *asked,
                                     popliner_objective objective, pl_split *split,
                                     pl_straight_answer *answer, popliner_error *error);

/* Makes *split the one with the earliest cuts, one cut after another. Errors: as above. */
popliner_status pl_straight_find_earliest(const pl_straight_programs *asked, pl_split *split,
                                          bool *is_stopped, popliner_error *error);

/* ---- as a file ---- */

/* The integer program as a file for other solvers. */

/* What is known of the smallest value when the program is written. */
typedef struct pl_known_value {
    bool exists;     /* there is a split, and its value is: */
    uint64_t value;  /* what costs more than this is left out */
    uint64_t bound;  /* no split has less */
    bool is_stopped; /* the search for it was */
    bool is_loose;   /* stages that need too much on one IPU may be missing from what was learnt */
} pl_known_value;

typedef struct pl_written_program {
    const pl_problem *problem;
    const pl_filter *filter;
    popliner_objective objective;
    const pl_shared *shared;
    pl_known_value known;
    popliner_program_format format;
} pl_written_program;

/* Writes the program. Errors: USAGE where there is none (of the spread where stages share an IPU),
 * MEMORY, INTERNAL, OUTPUT. */
popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error);

#endif
