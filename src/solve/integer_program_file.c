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
#include "solve/integer_program.h"

/* ---- the file ---- */

static bool ends_with(const pl_text *text, const char *end) {
    const size_t length = strlen(end);
    return text->length >= length && memcmp(text->data + text->length - length, end, length) == 0;
}

/* Lets GLPK write the program into a temporary file, and adds that to the comment. Errors: those of
 * pl_glpk_write and popliner_file_write. */
static popliner_status write_text(const pl_mip *program, pl_glpk_text *text, pl_text *whole,
                                  const char *path, popliner_error *error) {
    char name[40];
    FILE *file = tmpfile();
    if (file == NULL)
        return errno == ENOMEM ? pl_fail_memory(error, "the integer program")
                               : pl_fail(error, POPLINER_ERROR_OUTPUT,
                                         "%s: the integer program has no temporary file (%s)", path,
                                         strerror(errno));
    snprintf(name, sizeof name, "/dev/fd/%d", fileno(file));
    text->path = name;
    text->shown_path = path;
    popliner_status status = pl_glpk_write(program, text, error);
    if (status == POPLINER_OK)
        status = pl_file_read(name, "the integer program", whole, error);
    (void)fclose(file);
    if (status == POPLINER_ERROR_INPUT)
        return pl_fail(error, POPLINER_ERROR_OUTPUT,
                       "%s: the temporary file of the integer program cannot be read", path);
    /* GLPK does not look whether the last bytes reached the disk */
    if (status == POPLINER_OK && !ends_with(whole, text->is_lp ? "\nEnd\n" : "\nENDATA\n"))
        return pl_fail(error, POPLINER_ERROR_OUTPUT,
                       "%s: the temporary file of the integer program is not whole; is there room "
                       "for it?",
                       path);
    return status == POPLINER_OK ? popliner_file_write(path, whole->data, whole->length, error)
                                 : status;
}

/* ---- the program ---- */

/* A program, and what its text needs. */
typedef struct writing {
    const pl_written_program *asked;
    pl_integer_program s;
    double unit; /* of the objective */
} writing;

static void name_column(const void *user, size_t index, char *name, size_t size) {
    const pl_integer_program *s = &((const writing *)user)->s;
    if (index < s->num_columns)
        snprintf(name, size, "z_%zu_%zu_%zu", s->columns[index].stage, s->columns[index].first_unit,
                 s->columns[index].last_unit);
    else
        snprintf(name, size, index == s->num_columns ? "T" : "L");
}

/* Adds the objective in true bytes or cycles, as other solvers tell it. */
static popliner_status add_objective(writing *w, popliner_error *error) {
    const pl_written_program *asked = w->asked;
    const pl_filter *filter = &asked->filter;
    const pl_objective_kind kind = pl_objective_of(asked->objective)->kind;
    popliner_status status = POPLINER_OK;
    w->unit = w->s.unit_of_one;
    if (kind != PL_OBJECTIVE_SUM)
        status = pl_integer_program_add_values(
            &w->s, pl_objective_measure(asked->objective, filter->spread_is_of_cycles),
            kind == PL_OBJECTIVE_SPREAD, asked->most, &w->unit, error);
    for (size_t i = 0; i < w->s.program.num_columns; ++i)
        w->s.program.columns[i].cost *= w->unit;
    return status;
}

/* Describes the program for readers of the file; each line begins with the mark of a comment. */
static void describe(const writing *w, const char *mark, pl_text *text) {
    pl_text_format(text, "%s objective: %s; ", mark, pl_objective_name(w->asked->objective));
    if (w->asked->most < UINT64_MAX)
        pl_text_format(text, "left out: what costs more than %" PRIu64 " by itself",
                       w->asked->most);
    else
        pl_text_add(text, "nothing is left out: no value of it is known");
    pl_text_add(text, w->asked->is_stopped ? "; the search was stopped" : "");
    pl_text_format(
        text, "\n%s z_K_I_J is 1 if stage K, or with K 0 some stage, is the units I to J\n", mark);
    if (pl_objective_of(w->asked->objective)->kind != PL_OBJECTIVE_SUM)
        pl_text_format(text, "%s T counts units of %.17g\n", mark, w->unit);
    if (w->asked->objective == POPLINER_OBJECTIVE_HEADROOM)
        pl_text_format(text, "%s the headroom is the largest limit of an IPU less this value\n",
                       mark);
}

static popliner_status build(writing *w, popliner_error *error) {
    popliner_status status =
        pl_integer_program_build(&w->s, pl_objective_of(w->asked->objective)->goal, error);
    if (status == POPLINER_OK && w->s.num_columns == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "the limits allow no stage, so there is no integer program; raise them");
    if (status == POPLINER_OK)
        status = add_objective(w, error);
    return status == POPLINER_OK ? pl_integer_program_check(&w->s, error) : status;
}

popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error) {
    const pl_problem *p = asked->problem;
    pl_text whole = {0};
    if (p->min_stages > p->max_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%zu units cannot be %zu stages, so there is no integer program; use fewer",
                       p->num_units, p->min_stages);
    if (p->is_shared)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "no integer program where stages share an IPU; leave out the device map");
    /* places tell IPUs apart by what is limited: the largest value also is */
    const bool is_largest = pl_objective_of(asked->objective)->kind == PL_OBJECTIVE_LARGEST;
    const uint64_t most = is_largest ? pl_smaller(asked->most, UINT64_MAX - 1) : asked->most;
    const pl_filter limited = pl_filter_limited(&asked->filter, asked->objective, most);
    writing w = {
        .asked = asked,
        .s = {.problem = p, .limits = most < UINT64_MAX ? limited.limits : asked->filter.limits}};
    popliner_status status = build(&w, error);
    if (status == POPLINER_OK) {
        pl_glpk_text text = {.is_lp = asked->format == POPLINER_PROGRAM_LP,
                             .objective_name = pl_objective_name(asked->objective),
                             .name_column = name_column,
                             .user = &w};
        describe(&w, text.is_lp ? "\\" : "*", &whole);
        status = write_text(&w.s.program, &text, &whole, path, error);
    }
    free(whole.data);
    pl_integer_program_clear(&w.s);
    return status;
}
