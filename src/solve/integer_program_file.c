/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/integer_program_file.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/integer_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Adds the largest value T, and the rows "T is at least what the stage that holds unit u costs": as
 * exactly one column holds a unit, this says more to the relaxation than a row per column would.
 * Stages on one IPU have a row for what their cycles come to together. */
static popliner_status add_largest(pl_integer_program *s, bool of_cycles, popliner_error *error) {
    const pl_problem *p = s->problem;
    pl_mip *program = &s->program;
    size_t largest = program->num_columns;
    if (!pl_mip_add_column(program, false, 1.0))
        return pl_integer_program_too_large(s, error);
    size_t num_rows = of_cycles && p->is_shared ? s->num_places : p->num_units;
    for (size_t r = 0; r < num_rows; ++r) {
        size_t row = program->num_rows;
        if (!pl_mip_add_row(program, 0.0, INFINITY) ||
            !pl_integer_program_add_entry(s, row, largest, 1.0))
            return pl_integer_program_too_large(s, error);
        for (size_t a = 0; a < s->num_columns; ++a) {
            const pl_column *c = &s->columns[a];
            uint64_t value =
                of_cycles ? popliner_costs_cycles(p->costs, c->first_unit, c->last_unit)
                          : popliner_costs_peak(p->costs, c->first_unit, c->last_unit,
                                                s->num_places > 1 ? s->num_places - c->stage : 1);
            bool is_in = num_rows == p->num_units && !(of_cycles && p->is_shared)
                             ? c->first_unit <= r && r <= c->last_unit
                             : p->first_on_ipu[c->stage] == r;
            if (is_in && !pl_integer_program_add_entry(s, row, a, -(double)value))
                return pl_integer_program_too_large(s, error);
        }
    }
    return POPLINER_OK;
}

/* T is at least this peak, unless one of the conditions is not fulfilled. */
static bool add_known_row(pl_integer_program *s, double peak, const pl_condition *conditions,
                          size_t count) {
    size_t largest = s->num_columns;
    size_t row = s->program.num_rows;
    if (!pl_mip_add_row(&s->program, -peak * ((double)count - 1.0), INFINITY) ||
        !pl_integer_program_add_entry(s, row, largest, 1.0))
        return false;
    for (size_t a = 0; a < s->num_columns; ++a)
        for (size_t k = 0; k < count; ++k)
            if (pl_column_fulfils(&s->columns[a], &conditions[k]) &&
                !pl_integer_program_add_entry(s, row, a, -peak))
                return false;
    return true;
}

/* T is at least what stages on one IPU are known to need together: their peak, unless one of them
 * is not there. */
static popliner_status add_known(pl_integer_program *s, const pl_shared *shared,
                                 popliner_error *error) {
    pl_condition *conditions = pl_new_array(2 * s->num_places, sizeof *conditions);
    if (conditions == NULL)
        return pl_fail_memory(error, "the integer program");
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < shared->count; ++i) {
        size_t count = pl_integer_program_list_known(s, shared, i, conditions);
        if (!add_known_row(s, (double)shared->peak_bytes[i], conditions, count)) {
            status = pl_integer_program_too_large(s, error);
            break;
        }
    }
    free(conditions);
    return status;
}

/* Forbids what stages on one IPU are known to need together, if it is too much. */
static popliner_status forbid_no_goods(pl_integer_program *s, const pl_shared *shared,
                                       popliner_error *error) {
    pl_condition *conditions = pl_new_array(2 * s->num_places, sizeof *conditions);
    popliner_status status = conditions == NULL
                                 ? pl_fail_memory(error, "the integer program")
                                 : pl_integer_program_forbid_known(s, shared, conditions, error);
    free(conditions);
    return status;
}

static void name_column(const void *user, size_t index, char *name, size_t size) {
    const pl_integer_program *s = user;
    if (index == s->num_columns)
        snprintf(name, size, "T");
    else
        snprintf(name, size, "z_%zu_%zu_%zu", s->columns[index].stage, s->columns[index].first_unit,
                 s->columns[index].last_unit);
}

popliner_status pl_integer_program_write(const pl_problem *problem, const pl_filter *filter,
                                         popliner_objective objective, const pl_shared *shared,
                                         popliner_program_format format, const char *path,
                                         popliner_error *error) {
    pl_goal goal = objective == POPLINER_OBJECTIVE_TRAFFIC ? PL_GOAL_FEWEST_CUT_BYTES
                   : objective == POPLINER_OBJECTIVE_IPUS  ? PL_GOAL_FEWEST_STAGES
                                                           : PL_GOAL_ANY;
    bool of_cycles = objective == POPLINER_OBJECTIVE_CYCLES;
    bool by_place = problem->is_mapped || problem->depends_on_end || problem->depends_on_ipu;
    if (problem->min_stages > problem->max_stages)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "a chain of %zu units has no %zu stages: there is no integer program to write",
            problem->num_units, problem->min_stages);
    if (by_place && problem->min_stages < problem->max_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "what a stage costs depends on its place here: there is an integer program "
                       "for each number of stages; give a device map for the one that is meant");
    pl_integer_program s = {.problem = problem,
                            .filter = *filter,
                            .peaks_never_shrink =
                                problem->is_shared &&
                                pl_costs_shared_peak_never_shrinks(problem->costs)};
    popliner_status status = pl_integer_program_build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "no interval is within the limits: there is no integer program to write");
    if (status != POPLINER_OK)
        goto done;
    for (size_t a = 0; a < s.num_columns; ++a)
        s.program.columns[a].cost =
            goal == PL_GOAL_ANY ? 0.0 : (double)pl_integer_program_cost(&s, goal, &s.columns[a]);
    if (problem->is_shared)
        status = forbid_no_goods(&s, shared, error);
    if (status == POPLINER_OK && goal == PL_GOAL_ANY)
        status = add_largest(&s, of_cycles, error);
    if (status == POPLINER_OK && goal == PL_GOAL_ANY && !of_cycles)
        status = add_known(&s, shared, error);
    if (status == POPLINER_OK)
        status =
            pl_glpk_write(&s.program, name_column, &s, format == POPLINER_PROGRAM_MPS, path, error);
done:
    pl_integer_program_clear(&s);
    return status;
}
