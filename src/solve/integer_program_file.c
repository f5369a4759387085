/* Writes integer programs as files. GLPK's own writer has no comments and keeps nine digits in free
 * MPS.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/integer_program.h"

typedef struct program_text {
    const pl_mip *program; /* no row has two different finite bounds */
    popliner_program_format format;
    const char *objective_name;
    const char *comment; /* lines, each with its end; written first */
    /* Names a column; rows are r_0, r_1, ... */
    void (*name_column)(const void *user, size_t index, char *name, size_t size);
    const void *user;
} program_text;

/* Readers limit the length of a line. */
enum { TERMS_PER_LINE = 6 };

enum { NAME_BYTES = 80 };

/* The entries, sorted by row or by column: those of group i are order[first[i]] ... order[first[i +
 * 1] - 1]. */
typedef struct groups {
    size_t *first; /* owned, like `order` */
    const pl_mip_entry **order;
} groups;

static void free_groups(groups *g) {
    free(g->first);
    free((void *)g->order);
}

static bool sort_entries(const pl_mip *program, bool by_row, groups *g) {
    size_t count = by_row ? program->num_rows : program->num_columns;
    g->first = pl_new_array(count + 2, sizeof *g->first);
    g->order = pl_new_array(program->num_entries, sizeof *g->order);
    if (g->first == NULL || g->order == NULL)
        return false;
    /* first[i + 1] first counts, and then is the next index of group i */
    for (size_t i = 0; i < program->num_entries; ++i) {
        const pl_mip_entry *e = &program->entries[i];
        ++g->first[(by_row ? e->row : e->column) + 2];
    }
    for (size_t i = 0; i < count; ++i)
        g->first[i + 2] += g->first[i + 1];
    for (size_t i = 0; i < program->num_entries; ++i) {
        const pl_mip_entry *e = &program->entries[i];
        g->order[g->first[(by_row ? e->row : e->column) + 1]++] = e;
    }
    return true;
}

static const char *name_of(const program_text *t, size_t column, char name[NAME_BYTES]) {
    t->name_column(t->user, column, name, NAME_BYTES);
    return name;
}

/* Prints a number with as many digits as it needs, with or without a plus sign. */
static void print_number(FILE *file, double value, bool with_sign) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.15g", value);
    bool is_same = strtod(digits, NULL) >= value && strtod(digits, NULL) <= value;
    fprintf(file, with_sign ? is_same ? "%+.15g" : "%+.17g" : is_same ? "%.15g" : "%.17g", value);
}

static void print_comment(FILE *file, const char *comment, const char *mark) {
    for (const char *line = comment; *line != '\0'; line = strchr(line, '\n') + 1)
        fprintf(file, "%s %.*s\n", mark, (int)strcspn(line, "\n"), line);
}

/* ---- CPLEX LP ---- */

static void print_term(FILE *file, const program_text *t, double value, size_t column,
                       size_t place) {
    char name[NAME_BYTES];
    fputs(place > 0 && place % TERMS_PER_LINE == 0 ? "\n  " : " ", file);
    print_number(file, value, true);
    fprintf(file, " %s", name_of(t, column, name));
}

static void print_lp(FILE *file, const program_text *t, const groups *by_row) {
    const pl_mip *program = t->program;
    char name[NAME_BYTES];
    size_t num_terms = 0;
    print_comment(file, t->comment, "\\");
    fprintf(file, "Minimize\n %s:", t->objective_name);
    for (size_t a = 0; a < program->num_columns; ++a)
        if (fabs(program->columns[a].cost) > 0.0)
            print_term(file, t, program->columns[a].cost, a, num_terms++);
    if (num_terms == 0 && program->num_columns > 0)
        print_term(file, t, 0.0, 0, 0);
    fputs("\nSubject To\n", file);
    for (size_t i = 0; i < program->num_rows; ++i) {
        const pl_mip_row *row = &program->rows[i];
        bool is_upper = isinf(row->lower);
        if (by_row->first[i] == by_row->first[i + 1])
            continue;
        fprintf(file, " r_%zu:", i);
        for (size_t k = by_row->first[i]; k < by_row->first[i + 1]; ++k)
            print_term(file, t, by_row->order[k]->value, by_row->order[k]->column,
                       k - by_row->first[i]);
        fputs(is_upper ? " <= " : isinf(row->upper) ? " >= " : " = ", file);
        print_number(file, is_upper ? row->upper : row->lower, false);
        fputs("\n", file);
    }
    fputs("Binary\n", file);
    for (size_t a = 0; a < program->num_columns; ++a)
        if (program->columns[a].binary)
            fprintf(file, " %s\n", name_of(t, a, name));
    fputs("End\n", file);
}

/* ---- free MPS ---- */

static void print_column(FILE *file, const program_text *t, const groups *by_column, size_t a) {
    char name[NAME_BYTES];
    double cost = t->program->columns[a].cost;
    size_t first = by_column->first[a];
    name_of(t, a, name);
    if (fabs(cost) > 0.0 || first == by_column->first[a + 1]) {
        fprintf(file, " %s %s ", name, t->objective_name);
        print_number(file, cost, false);
        fputs("\n", file);
    }
    for (size_t k = first; k < by_column->first[a + 1]; ++k) {
        fprintf(file, " %s r_%zu ", name, by_column->order[k]->row);
        print_number(file, by_column->order[k]->value, false);
        fputs("\n", file);
    }
}

/* Prints the binary columns, or the others. */
static void print_columns(FILE *file, const program_text *t, const groups *by_column, bool binary) {
    for (size_t a = 0; a < t->program->num_columns; ++a)
        if (t->program->columns[a].binary == binary)
            print_column(file, t, by_column, a);
}

static void print_mps(FILE *file, const program_text *t, const groups *by_column) {
    const pl_mip *program = t->program;
    char name[NAME_BYTES];
    print_comment(file, t->comment, "*");
    fprintf(file, "NAME popliner\nROWS\n N %s\n", t->objective_name);
    for (size_t i = 0; i < program->num_rows; ++i)
        fprintf(file, " %c r_%zu\n",
                isinf(program->rows[i].lower)   ? 'L'
                : isinf(program->rows[i].upper) ? 'G'
                                                : 'E',
                i);
    fputs("COLUMNS\n MARKER0 'MARKER' 'INTORG'\n", file);
    print_columns(file, t, by_column, true);
    fputs(" MARKER1 'MARKER' 'INTEND'\n", file);
    print_columns(file, t, by_column, false);
    fputs("RHS\n", file);
    for (size_t i = 0; i < program->num_rows; ++i) {
        const pl_mip_row *row = &program->rows[i];
        double side = isinf(row->lower) ? row->upper : row->lower;
        if (!(fabs(side) > 0.0))
            continue;
        fprintf(file, " RHS r_%zu ", i);
        print_number(file, side, false);
        fputs("\n", file);
    }
    fputs("BOUNDS\n", file);
    for (size_t a = 0; a < program->num_columns; ++a)
        if (program->columns[a].binary)
            fprintf(file, " UP BOUND %s 1\n", name_of(t, a, name));
    fputs("ENDATA\n", file);
}

/* ---- the file ---- */

/* Opens a stream for the file, which stays open when the stream is closed. NULL with errno. */
static FILE *open_stream(const pl_new_file *new_file) {
    int file = dup(new_file->file);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    if (file >= 0 && stream == NULL) {
        int fault = errno;
        close(file);
        errno = fault;
    }
    return stream;
}

/* Writes the file `path`, with numbers that read back exactly. Errors: MEMORY, OUTPUT. */
static popliner_status write_text(const program_text *text, const char *path,
                                  popliner_error *error) {
    bool is_lp = text->format == POPLINER_PROGRAM_LP;
    groups g = {0};
    popliner_status status = POPLINER_OK;
    pl_new_file new_file;
    FILE *file = NULL;
    int fault = 0;
    if (!sort_entries(text->program, is_lp, &g)) {
        status = pl_fail_memory(error, "the integer program");
        goto done;
    }
    fault = pl_new_file_begin(&new_file, path);
    if (fault == 0 && (file = open_stream(&new_file)) == NULL)
        fault = pl_new_file_end(&new_file, errno);
    if (file != NULL) {
        errno = 0;
        pl_plain_locale locale = pl_plain_locale_enter();
        if (is_lp)
            print_lp(file, text, &g);
        else
            print_mps(file, text, &g);
        pl_plain_locale_leave(&locale);
        if (fflush(file) != 0 || ferror(file) != 0)
            fault = errno != 0 ? errno : EIO;
        if (fclose(file) != 0 && fault == 0)
            fault = errno;
        fault = pl_new_file_end(&new_file, fault);
    }
    if (fault == ENOMEM)
        status = pl_fail_memory(error, "the integer program");
    else if (fault != 0)
        status = pl_fail(error, POPLINER_ERROR_OUTPUT,
                         "%s: the integer program cannot be written (%s)", path, strerror(fault));
done:
    free_groups(&g);
    return status;
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
    if (goal != PL_GOAL_ANY) {
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

/* Describes the program for readers of the file. */
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
             pl_objective_name(w->asked->objective), known,
             k->exists ? "left out: what costs more than that by itself\n" : "", w->unit,
             w->asked->objective == POPLINER_OBJECTIVE_HEADROOM
                 ? "the headroom is the largest limit of an IPU less this value\n"
                 : "");
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
    char comment[600];
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
        describe(&w, comment, sizeof comment);
        const program_text text = {
            .program = &w.s.program,
            .format = asked->format,
            .objective_name = objective->name,
            .comment = comment,
            .name_column = name_column,
            .user = &w,
        };
        status = write_text(&text, path, error);
    }
    pl_integer_program_clear(&w.s);
    return status;
}
