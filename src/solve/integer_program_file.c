/* Integer programs as files that GLPK writes, after a comment.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/utilities.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/integer_program.h"

/* ---- the file ---- */

/* Lets GLPK write the program into a temporary file, and adds that to the comment. Errors: those of
 * pl_glpk_write and popliner_file_write. */
static popliner_status write_text(const pl_mip *program, pl_glpk_text *text, pl_text *whole,
                                  const char *path, popliner_error *error) {
    char name[40];
    FILE *file = tmpfile();
    if (file == NULL)
        return pl_fail(error, POPLINER_ERROR_OUTPUT,
                       "the integer program cannot be written: no temporary file (%s)",
                       strerror(errno));
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(file));
    text->path = name;
    popliner_status status = pl_glpk_write(program, text, error);
    if (status == POPLINER_OK)
        status = pl_file_read(name, "the integer program", whole, error);
    (void)fclose(file);
    return status == POPLINER_OK ? popliner_file_write(path, whole->data, whole->length, error)
                                 : status;
}

/* ---- the program ---- */

/* The largest written coefficient, unless digits would be lost. */
#define LARGEST_WRITTEN 1000.0

/* Returns the unit of a coefficient in which these numbers are whole, or have few digits before the
 * point; no digit is lost. */
static double decimal_unit(pl_coefficients all) {
    double unit = all.divisor > 0 ? (double)all.divisor : 1.0;
    while ((double)all.largest > LARGEST_WRITTEN * unit)
        unit *= 10.0;
    return unit;
}

/* Raises all values to a lower bound of the largest one, and chooses their unit. */
static popliner_status prepare_values(pl_integer_program *s, pl_measure measure, bool is_raised,
                                      popliner_error *error) {
    pl_coefficients all = {0};
    uint64_t smallest;
    popliner_status status = POPLINER_OK;
    if (is_raised)
        status = pl_integer_program_bounds(s, measure, &s->least_value, &smallest, error);
    for (size_t a = 0; status == POPLINER_OK && a < s->num_columns; ++a) {
        uint64_t value = pl_integer_program_value(s, measure, &s->columns[a]);
        pl_coefficients_add(&all, pl_larger(value, s->least_value));
    }
    s->value_unit = decimal_unit(all);
    return status;
}

/* A program, and what its text needs. */
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

/* Adds T, the sum of the columns' costs, as the objective. */
static void add_sum(writing *w, pl_goal goal) {
    pl_integer_program *s = &w->s;
    w->unit = decimal_unit(pl_integer_program_costs(s, goal));
    pl_mip_add_column(&s->program, false, w->unit);
    size_t row = pl_mip_add_row(&s->program, 0.0, 0.0);
    pl_mip_add_entry(&s->program, row, s->num_columns, 1.0);
    for (size_t a = 0; a < s->num_columns; ++a) {
        double cost = (double)pl_integer_program_cost(s, goal, &s->columns[a]) / w->unit;
        if (cost > 0.0)
            pl_mip_add_entry(&s->program, row, a, -cost);
    }
}

/* Adds the objective. */
static popliner_status add_objective(writing *w, pl_goal goal, popliner_error *error) {
    const pl_written_program *asked = w->asked;
    pl_integer_program *s = &w->s;
    const pl_measure measure =
        pl_objective_measure(asked->objective, asked->filter->spread_is_of_cycles);
    bool is_spread = pl_objective_of(asked->objective)->kind == PL_OBJECTIVE_SPREAD;
    for (size_t a = 0; a < s->num_columns; ++a)
        s->program.columns[a].cost = 0.0;
    if (pl_objective_of(asked->objective)->kind == PL_OBJECTIVE_SUM) {
        add_sum(w, goal);
        return POPLINER_OK;
    }
    popliner_status status = prepare_values(s, measure, !is_spread, error);
    w->unit = s->value_unit;
    if (status != POPLINER_OK)
        return status;
    if (is_spread)
        pl_integer_program_add_spread(s, w->unit);
    else
        pl_integer_program_add_largest(s, measure, w->unit);
    return POPLINER_OK;
}

/* Describes the program for readers of the file; each line begins with the mark of a comment. */
static void describe(const writing *w, const char *mark, pl_text *text) {
    const pl_known_value *k = &w->asked->known;
    pl_text_format(text, "%s objective: %s; ", mark, pl_objective_name(w->asked->objective));
    if (k->exists && k->is_stopped)
        pl_text_format(text,
                       "%" PRIu64 " is the best known and nothing is below %" PRIu64
                       ": the search was stopped",
                       k->value, k->bound);
    else if (k->exists)
        pl_text_format(text, "%" PRIu64 " is the smallest value", k->value);
    else
        pl_text_add(text, k->is_stopped ? "nothing is known of it: the search was stopped"
                                        : "nothing is known of its smallest value");
    if (k->exists)
        pl_text_format(text, "\n%s left out: what costs more than that by itself", mark);
    pl_text_format(text,
                   "\n%s z_K_I_J is 1 if stage K, or with K 0 some stage, is the units I to J\n"
                   "%s T counts units of %.17g\n",
                   mark, mark, w->unit);
    if (w->asked->objective == POPLINER_OBJECTIVE_HEADROOM)
        pl_text_format(text, "%s the headroom is the largest limit of an IPU less this value\n",
                       mark);
}

static pl_filter within_known(const pl_written_program *asked) {
    return asked->known.exists
               ? pl_filter_limited(asked->filter, asked->objective, asked->known.value)
               : *asked->filter;
}

static popliner_status build(writing *w, pl_goal goal, popliner_error *error) {
    popliner_status status = pl_integer_program_build(&w->s, goal, error);
    if (status == POPLINER_OK && w->s.num_columns == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "the limits allow no stage, so there is no integer program; raise them");
    if (status == POPLINER_OK)
        status = add_objective(w, goal, error);
    return status == POPLINER_OK ? pl_integer_program_check(&w->s, error) : status;
}

popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error) {
    const pl_problem *p = asked->problem;
    const pl_objective *objective = pl_objective_of(asked->objective);
    pl_text whole = {0};
    if (p->min_stages > p->max_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%zu units cannot be %zu stages, so there is no integer program; use fewer",
                       p->num_units, p->min_stages);
    if (p->is_shared)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "no integer program where stages share an IPU; leave out the device map");
    writing w = {.asked = asked, .s = {.problem = p, .filter = within_known(asked)}};
    popliner_status status = build(&w, objective->goal, error);
    if (status == POPLINER_OK) {
        pl_glpk_text text = {.is_lp = asked->format == POPLINER_PROGRAM_LP,
                             .objective_name = objective->name,
                             .name_column = name_column,
                             .user = &w};
        describe(&w, text.is_lp ? "\\" : "*", &whole);
        status = write_text(&w.s.program, &text, &whole, path, error);
    }
    free(whole.data);
    pl_integer_program_clear(&w.s);
    return status;
}
