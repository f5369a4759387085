/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/integer_program_file.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/integer_program.h"
#include "solve/program_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Written coefficients are at most this, where that leaves them their digits. */
#define LARGEST_WRITTEN 1000.0

/* What a unit of a coefficient stands for, so that numbers up to `largest` with this divisor become
 * whole numbers, or have few digits before the point; all their digits remain. */
static double decimal_unit(uint64_t largest, uint64_t divisor) {
    double unit = divisor > 0 ? (double)divisor : 1.0;
    while ((double)largest > LARGEST_WRITTEN * unit)
        unit *= 10.0;
    return unit;
}

/* Raises the values to what the largest one is at least, and chooses their unit. */
static popliner_status prepare_values(pl_integer_program *s, bool of_cycles, bool is_raised,
                                      popliner_error *error) {
    uint64_t largest = 0;
    uint64_t divisor = 0;
    uint64_t smallest;
    popliner_status status = POPLINER_OK;
    if (is_raised)
        status = pl_integer_program_bounds(s, of_cycles, &s->least_value, &smallest, error);
    for (size_t a = 0; status == POPLINER_OK && a < s->num_columns; ++a) {
        uint64_t value = pl_integer_program_value(s, of_cycles, &s->columns[a]);
        value = value > s->least_value ? value : s->least_value;
        largest = value > largest ? value : largest;
        divisor = pl_common_divisor(value, divisor);
    }
    s->value_unit = decimal_unit(largest, divisor);
    return status;
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
        if (!add_known_row(s, (double)shared->peak_bytes[i] / s->value_unit, conditions, count)) {
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

/* The program and what its text needs. */
typedef struct writing {
    const pl_written_program *asked;
    pl_integer_program s;
    double unit; /* of the sum, or of the values */
} writing;

static void name_column(const void *user, size_t index, char *name, size_t size) {
    const pl_integer_program *s = &((const writing *)user)->s;
    if (index < s->num_columns)
        snprintf(name, size, "z_%zu_%zu_%zu", s->columns[index].stage, s->columns[index].first_unit,
                 s->columns[index].last_unit);
    else
        snprintf(name, size, index == s->num_columns ? "T" : "L");
}

/* What makes the objective, T, the sum of what the columns cost. */
static popliner_status add_sum(writing *w, pl_goal goal, popliner_error *error) {
    pl_integer_program *s = &w->s;
    uint64_t largest = 0;
    uint64_t divisor = 0;
    size_t sum = s->program.num_columns;
    size_t row = s->program.num_rows;
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t cost = pl_integer_program_cost(s, goal, &s->columns[a]);
        largest = cost > largest ? cost : largest;
        divisor = pl_common_divisor(cost, divisor);
    }
    w->unit = decimal_unit(largest, divisor);
    if (!pl_mip_add_column(&s->program, false, w->unit) || !pl_mip_add_row(&s->program, 0.0, 0.0) ||
        !pl_integer_program_add_entry(s, row, sum, 1.0))
        return pl_integer_program_too_large(s, error);
    for (size_t a = 0; a < s->num_columns; ++a) {
        double cost = (double)pl_integer_program_cost(s, goal, &s->columns[a]) / w->unit;
        if (cost > 0.0 && !pl_integer_program_add_entry(s, row, a, -cost))
            return pl_integer_program_too_large(s, error);
    }
    return POPLINER_OK;
}

/* Adds what the objective needs beside the ways through the chain. */
static popliner_status add_objective(writing *w, pl_goal goal, popliner_error *error) {
    const pl_written_program *asked = w->asked;
    pl_integer_program *s = &w->s;
    bool is_shared = asked->problem->is_shared;
    bool of_cycles =
        pl_objective_is_of_cycles(asked->objective, asked->filter->spread_is_of_cycles);
    bool is_spread = pl_objective_of(asked->objective)->kind == PL_OBJECTIVE_SPREAD;
    for (size_t a = 0; a < s->num_columns; ++a)
        s->program.columns[a].cost = 0.0;
    if (goal != PL_GOAL_ANY)
        return add_sum(w, goal, error);
    popliner_status status =
        prepare_values(s, of_cycles, !is_spread && !(is_shared && of_cycles), error);
    w->unit = s->value_unit;
    if (status != POPLINER_OK)
        return status;
    if (is_spread)
        return pl_integer_program_add_spread(s, w->unit, error);
    status = pl_integer_program_add_largest(s, of_cycles, w->unit, error);
    if (status == POPLINER_OK && is_shared && !of_cycles)
        status = add_known(s, asked->shared, error);
    return status;
}

/* Says what the file is, for those who open it. */
static void describe(const writing *w, char *text, size_t size) {
    const pl_known_value *k = &w->asked->known;
    char known[160] = "nothing is known of its smallest value";
    if (k->exists && k->is_stopped)
        snprintf(known, sizeof known,
                 "%" PRIu64 " is the best known and nothing is below %" PRIu64
                 ": the search was stopped",
                 k->value, k->bound);
    else if (k->exists)
        snprintf(known, sizeof known, "%" PRIu64 " is the smallest value", k->value);
    else if (k->is_stopped)
        snprintf(known, sizeof known, "nothing is known of it: the search was stopped");
    snprintf(text, size,
             "objective: %s; %s\n"
             "%s"
             "z_K_I_J is 1 if stage K, or with K 0 some stage, is the units I to J\n"
             "T counts units of %.17g\n"
             "%s",
             popliner_objective_name(w->asked->objective), known,
             k->exists ? "left out: what costs more than that by itself\n" : "", w->unit,
             k->is_loose ? "it is not known of all stages whether they need too much together "
                           "on one IPU: the\n"
                           "smallest value of this program may be too small\n"
                         : "");
}

static pl_filter within_known(const pl_written_program *asked) {
    return asked->known.exists
               ? pl_filter_limited(asked->filter, asked->objective, asked->known.value)
               : *asked->filter;
}

static popliner_status build(writing *w, pl_goal goal, popliner_error *error) {
    const pl_problem *p = w->asked->problem;
    popliner_status status = pl_integer_program_build(&w->s, goal, error);
    if (status == POPLINER_OK && w->s.num_columns == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "no interval is within the limits: there is no integer program to write");
    if (status == POPLINER_OK && p->is_shared)
        status = forbid_no_goods(&w->s, w->asked->shared, error);
    return status == POPLINER_OK ? add_objective(w, goal, error) : status;
}

popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error) {
    const pl_problem *p = asked->problem;
    const pl_objective *objective = pl_objective_of(asked->objective);
    char comment[600];
    if (p->min_stages > p->max_stages)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "a chain of %zu units has no %zu stages: there is no integer program to write",
            p->num_units, p->min_stages);
    if (p->is_shared && objective->kind == PL_OBJECTIVE_SPREAD)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the spread is no objective of an integer program where stages share an "
                       "IPU; put another first");
    writing w = {
        .asked = asked,
        .s = {.problem = p,
              .filter = within_known(asked),
              .peaks_never_shrink = p->is_shared && pl_costs_shared_peak_never_shrinks(p->costs)}};
    popliner_status status = build(&w, objective->goal, error);
    if (status == POPLINER_OK) {
        describe(&w, comment, sizeof comment);
        const pl_program_text text = {
            .program = &w.s.program,
            .format = asked->format,
            .objective_name = objective->name,
            .comment = comment,
            .name_column = name_column,
            .user = &w,
        };
        status = pl_program_text_write(&text, path, error);
    }
    pl_integer_program_clear(&w.s);
    return status;
}
