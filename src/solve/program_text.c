/* Written here rather than by GLPK, which has no comments and keeps nine digits in free MPS.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/program_text.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/new_file.h"
#include "base/plain_locale.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Readers have limits for the length of a line. */
enum { TERMS_PER_LINE = 6 };

enum { NAME_BYTES = 80 };

/* The entries, sorted by row or by column: those of group i are order[first[i]] up to
 * order[first[i + 1]]. */
typedef struct groups {
    size_t *first; /* owned, like the next */
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
    /* first[i + 1] counts, and is then where the next entry of group i goes */
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

static const char *name_of(const pl_program_text *t, size_t column, char name[NAME_BYTES]) {
    t->name_column(t->user, column, name, NAME_BYTES);
    return name;
}

/* A number with as many digits as it needs, behind a sign or not. */
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

static void print_term(FILE *file, const pl_program_text *t, double value, size_t column,
                       size_t place) {
    char name[NAME_BYTES];
    fputs(place > 0 && place % TERMS_PER_LINE == 0 ? "\n  " : " ", file);
    print_number(file, value, true);
    fprintf(file, " %s", name_of(t, column, name));
}

static void print_lp(FILE *file, const pl_program_text *t, const groups *by_row) {
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

static void print_column(FILE *file, const pl_program_text *t, const groups *by_column, size_t a) {
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

/* The columns that are 0 or 1, or the others. */
static void print_columns(FILE *file, const pl_program_text *t, const groups *by_column,
                          bool binary) {
    for (size_t a = 0; a < t->program->num_columns; ++a)
        if (t->program->columns[a].binary == binary)
            print_column(file, t, by_column, a);
}

static void print_mps(FILE *file, const pl_program_text *t, const groups *by_column) {
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

/* A stream into the file, which stays open behind it; NULL with errno. */
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

popliner_status pl_program_text_write(const pl_program_text *text, const char *path,
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
