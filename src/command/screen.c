/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/screen.h"

#include "command/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/outputs.h"
#include "command/progress.h"
#include "command/values.h"
#include "popliner/utilities.h"

bool screen_is_used(const session *s) {
    return s->options.format == FORMAT_TEXT && options_printed(&s->options) == NULL;
}

popliner_plot_options screen_options(const session *s) {
    const terminal t = terminal_of(STDOUT_FILENO);
    popliner_plot_options how = POPLINER_PLOT_OPTIONS_INIT;
    how.width = t.width;
    how.is_ascii = t.is_ascii;
    how.has_colour =
        s->options.color == COLOUR_AUTO ? t.has_colour : s->options.color == COLOUR_ALWAYS;
    return how;
}

bool screen_lacks_schedule(const session *s) {
    return s->options.schedule.copies == NULL &&
           s->options.schedule.order == POPLINER_SCHEDULE_NONE &&
           s->options.solver != SOLVER_GREEDY;
}

popliner_status screen_table(const session *s, const char *headline, size_t marked_row, char **text,
                             popliner_error *error) {
    const popliner_plot_options screen = screen_options(s);
    char *table = *text;
    popliner_status status =
        popliner_screen_table(headline, table, marked_row, "--format tsv", &screen, text, error);
    free(table);
    return status;
}

/* Whose splits are judged. */
typedef struct judging {
    session *s;
    const request *r;
} judging;

/* Measures a split of a profile within its limit, silently: one that cannot be measured does not
 * fit. */
static popliner_status judge(void *user, const popliner_plan *plan, uint64_t limit_bytes,
                             uint64_t num_micro_batches, popliner_verdict *verdict,
                             popliner_error *error) {
    const judging *own = user;
    popliner_request asked = own->r->asked;
    popliner_solver_options solver = own->r->solver;
    popliner_certificate *measured = NULL;
    popliner_error told = {0};
    const popliner_level level = own->s->log.least_level;
    solver.listener = NULL;
    if (limit_bytes != POPLINER_TARGET_BYTES)
        solver.mem_per_tile = limit_bytes;
    if (num_micro_batches > 0)
        asked.copies.num_micro_batches = (size_t)num_micro_batches;
    asked.solver = &solver;
    own->s->log.least_level = POPLINER_LEVEL_ERROR + 1;
    const popliner_status status =
        popliner_analysis_evaluate_plan(own->s->analysis, &asked, plan, &measured, &told);
    own->s->log.least_level = level;
    if (measured != NULL && measured->verdicts != NULL)
        *verdict = answer_worst_verdict(measured);
    popliner_certificate_free(measured);
    if (status == POPLINER_OK || status == POPLINER_ERROR_USAGE || status == POPLINER_ERROR_STOPPED)
        return POPLINER_OK;
    *error = told;
    return status;
}

/* The rows of a table of splits. */
typedef struct splits {
    popliner_split_table table;
    const request *r;
    const popliner_certificate_input *names;
} splits;

static popliner_status make_splits(session *s, const void *of, popliner_format format, char **text,
                                   popliner_error *error) {
    const splits *own = of;
    const popliner_plot_options screen = screen_options(s);
    popliner_split_table table = own->table;
    judging judged = {s, own->r};
    table.is_of_ipus = s->analysis != NULL;
    table.more = "--format tsv";
    table.need = s->options.need;
    table.judge = s->analysis != NULL ? judge : NULL;
    table.judge_user = &judged;
    return format == FORMAT_TEXT ? popliner_screen_splits(&table, own->names, &screen, text, error)
           : table.sweep != NULL
               ? popliner_report_sweep(table.sweep, own->names, format, text, error)
           : table.pareto != NULL
               ? popliner_report_pareto(table.pareto, own->names, format, text, error)
               : popliner_report_replicas(table.replicas, own->names, format, text, error);
}

popliner_status splits_print(session *s, const request *r, const popliner_certificate_input *names,
                             const popliner_sweep *sweep, const popliner_pareto *pareto,
                             const popliner_replicas *replicas, popliner_error *error) {
    splits own = {.table = POPLINER_SPLIT_TABLE_INIT, .r = r, .names = names};
    own.table.sweep = sweep;
    own.table.pareto = pareto;
    own.table.replicas = replicas;
    return outputs_of_answer(
        s,
        &(material){
            .action = SOLVE, .report = {make_splits, &own}, .replicas = replicas, .names = names},
        error);
}

popliner_status screen_overview(session *s, popliner_error *error) {
    enum { NUM_HINTS = 3 };
    static const popliner_hint hints[2][NUM_HINTS] = {
        {{.label = "Try",
          .option = "--solve",
          .words = "the fewest IPUs that fit, and where to cut"},
         {.label = "Try",
          .option = "--diagnose",
          .words = "the analysis against the compiler's totals"},
         {.label = "Try", .option = "--output page=page.html", .words = "the same for a browser"}},
        {{.label = "Try",
          .option = "--solve --schedule popart",
          .words = "the fewest IPUs, and where to cut"},
         {.label = "Try", .option = "--diagnose", .words = "compare with the compiler's totals"},
         {.label = "Try",
          .option = "--schedule popart -o page=page.html",
          .words = "the same for a browser"}},
    };
    /* a stored analysis has nothing for the others */
    const size_t end = s->options.load_from_file ? 1 : NUM_HINTS;
    const size_t num_left_out = s->options.ipu != ALL_IPUS; /* --solve is for a whole model */
    bool is_training = false;
    const popliner_plot_options how = screen_options(s);
    popliner_certificate *whole = NULL;
    char *text = NULL;
    if (s->options.format != FORMAT_TEXT) {
        popliner_status status =
            popliner_section_text(s->analysis, POPLINER_SECTION_SUMMARY, POPLINER_MEMORY_MODEL_FULL,
                                  NULL, s->options.format, &text, error);
        return status == POPLINER_OK ? session_print(text, error) : status;
    }
    question q = {0};
    s->options.evaluate = "whole";
    popliner_status status = question_begin(s, &q, error);
    if (status == POPLINER_OK)
        status = question_answer(s, &q, &whole, error);
    s->options.evaluate = NULL;
    s->failed_softly = false; /* the verdict was not requested */
    if (status == POPLINER_OK)
        status = popliner_analysis_is_training(s->analysis, POPLINER_MEMORY_MODEL_FULL,
                                               &is_training, error);
    if (status == POPLINER_OK)
        status = popliner_screen_overview(s->analysis, whole, hints[is_training] + num_left_out,
                                          end - num_left_out, &how, &text, error);
    popliner_certificate_free(whole);
    question_free(&q);
    return status == POPLINER_OK ? session_print(text, error) : status;
}

/* ---- Tables whose largest row comes first ---- */

/* Which tables, and by which column. */
static const struct {
    popliner_section section;
    const char *by;
    const char *name; /* the column that names a row */
    const char *kind; /* the column of what it is; NULL: a tile */
    const char *words;
    bool has_limit;    /* the bytes are shown as a share of it */
    const char *after; /* what the bytes are */
} rankings[] = {
    {POPLINER_SECTION_LAYERS, "largest_tile_bytes", "unit", "kind", "is the largest: it needs",
     false,
     " on its fullest tile. All bytes here are without layout, what compiling a stage alone adds "
     "and what a pipeline stores, which --evaluate counts."},
    {POPLINER_SECTION_TILES, "live_bytes", "tile", NULL, "is the fullest: it has", true,
     ", without gaps."},
};

enum { SHARE_SIZE = GROUPED_SIZE + 40 };

typedef struct row {
    const char *text; /* with its line end */
    uint64_t value;
} row;

static int compare_rows(const void *left, const void *right) {
    const row *a = left;
    const row *b = right;
    return a->value != b->value ? (a->value < b->value) - (a->value > b->value)
                                : (a->text > b->text) - (a->text < b->text);
}

/* The place of a column in the line of names; SIZE_MAX: there is none. */
static size_t place_of(const char *names, const char *wanted) {
    const size_t size = strlen(wanted);
    for (size_t place = 0;; place++) {
        const size_t length = strcspn(names, "\t\n");
        if (length == size && memcmp(names, wanted, size) == 0)
            return place;
        if (names[length] != '\t')
            return SIZE_MAX;
        names += length + 1;
    }
}

static const char *field_at(const char *line, size_t place) {
    for (; place > 0; place--)
        line += strcspn(line, "\t\n") + 1;
    return line;
}

/* Puts the rows in order; the line of names stays the first. False without memory. */
static bool sort(char **table, size_t place) {
    size_t count = 0;
    const char *rest = strchr(*table, '\n');
    for (const char *c = rest; c != NULL; c = strchr(c + 1, '\n'))
        count++;
    row *rows = calloc(count + 1, sizeof *rows);
    char *sorted = malloc(strlen(*table) + 1);
    bool done = rows != NULL && sorted != NULL && rest != NULL;
    if (done) {
        size_t length = (size_t)(rest + 1 - *table);
        memcpy(sorted, *table, length);
        count = 0;
        for (const char *line = rest + 1; *line != '\0'; line += strcspn(line, "\n") + 1)
            rows[count++] = (row){line, strtoull(field_at(line, place), NULL, 10)};
        qsort(rows, count, sizeof *rows, compare_rows);
        for (size_t i = 0; i < count; i++) {
            const size_t size = strcspn(rows[i].text, "\n") + 1;
            memcpy(sorted + length, rows[i].text, size);
            length += size;
        }
        sorted[length] = '\0';
        free(*table);
        *table = sorted;
        sorted = NULL;
    }
    free(rows);
    free(sorted);
    return done;
}

/* Writes " of 638,976 bytes (5 %)", of the requested limit. */
static void write_share(const session *s, uint64_t value, char text[SHARE_SIZE]) {
    const uint64_t limit = session_memory(s, NULL);
    snprintf(text, SHARE_SIZE, " of %s bytes (%.0f %%)", grouped(limit).text,
             limit == 0 ? 0 : 100 * (double)value / (double)limit);
}

/* Writes "Tile 3 is the fullest: it has 33,478 of 638,976 bytes (5 %), without gaps." */
static void write_headline(const session *s, size_t i, const char *table, char *text, size_t size) {
    const char *first = strchr(table, '\n') + 1;
    const char *name = field_at(first, place_of(table, rankings[i].name));
    const size_t kind_place =
        rankings[i].kind == NULL ? SIZE_MAX : place_of(table, rankings[i].kind);
    const char *kind = kind_place == SIZE_MAX ? "" : field_at(first, kind_place);
    const uint64_t value = strtoull(field_at(first, place_of(table, rankings[i].by)), NULL, 10);
    char share[SHARE_SIZE] = " bytes";
    if (rankings[i].has_limit)
        write_share(s, value, share);
    snprintf(text, size, "%s%.*s %s %s%s%s",
             rankings[i].kind == NULL         ? "Tile "
             : strncmp(kind, "layer", 5) == 0 ? "Layer "
                                              : "",
             (int)strcspn(name, "\t\n"), name, rankings[i].words, grouped(value).text, share,
             rankings[i].after);
}

popliner_status screen_section(session *s, popliner_section section, char **text,
                               popliner_error *error) {
    char headline[500];
    size_t i = 0;
    while (i < sizeof rankings / sizeof *rankings && rankings[i].section != section)
        i++;
    const bool is_ranked = i < sizeof rankings / sizeof *rankings;
    const char *end = strchr(*text, '\n');
    if (!is_ranked || end == NULL || end[1] == '\0')
        return screen_table(s, NULL, SIZE_MAX, text, error);
    if (!sort(text, place_of(*text, rankings[i].by))) {
        free(*text);
        *text = NULL;
        return fail_memory(error, "a table");
    }
    write_headline(s, i, *text, headline, sizeof headline);
    return screen_table(s, headline, 0, text, error);
}

popliner_status screen_together(session *s, const void *of, popliner_format format, char **text,
                                popliner_error *error) {
    const bool is_screen = format == FORMAT_TEXT;
    const popliner_together *together = of;
    popliner_status status =
        popliner_report_together(together, is_screen ? POPLINER_FORMAT_TSV : format, text, error);
    if (status != POPLINER_OK || !is_screen)
        return status;
    char headline[160] = "No split of all reports was found.";
    popliner_verdict worst = POPLINER_FITS;
    bool lacks_schedule = false;
    for (size_t i = 0; i < together->num_reports; i++) {
        if (together->num_stages > 0 && answer_worst_verdict(together->evaluations[i]) > worst)
            worst = answer_worst_verdict(together->evaluations[i]);
        lacks_schedule = lacks_schedule || (together->are_training[i] && screen_lacks_schedule(s));
    }
    if (together->num_stages > 0) {
        snprintf(headline, sizeof headline, "%s in %s of %zu reports: %zu stage%s%s.",
                 popliner_name_of(POPLINER_NAMED_VERDICT, worst),
                 worst <= POPLINER_FITS_LIKELY ? "each" : "one or more", together->num_reports,
                 together->num_stages, together->num_stages == 1 ? "" : "s",
                 lacks_schedule ? ", if nothing is kept for the backward passes" : "");
        headline[0] = (char)(headline[0] - 'a' + 'A');
    }
    return screen_table(s, headline, SIZE_MAX, text, error);
}
