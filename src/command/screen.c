/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/screen.h"

#include "command/commands.h"

#include <stdlib.h>
#include <unistd.h>

#include "command/hints.h"
#include "command/terminal.h"
#include "popliner/screen.h"
#include "popliner/utilities.h"

bool screen_is_used(const session *s) {
    return s->options.format == POPLINER_FORMAT_TEXT && options_printed(&s->options) == NULL;
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

/* True if the profile trains, but no schedule says what stages keep. */
static popliner_status find_schedule(const session *s, const request *r, bool *lacks_schedule,
                                     popliner_error *error) {
    *lacks_schedule = false;
    if (s->analysis == NULL || !screen_lacks_schedule(s))
        return POPLINER_OK;
    return popliner_analysis_is_training(s->analysis, r->asked.memory_model, lacks_schedule, error);
}

popliner_status screen_solve(session *s, const request *r, const popliner_certificate *certificate,
                             const popliner_costs *costs, char **text, popliner_error *error) {
    const popliner_plot_options screen = screen_options(s);
    hint_list hints = {0};
    bool lacks_schedule = false;
    popliner_status status = find_schedule(s, r, &lacks_schedule, error);
    if (status == POPLINER_OK)
        status = options_fix_cuts(&s->options)
                     ? hints_for_evaluate(s, r, certificate, costs, lacks_schedule, &hints, error)
                     : hints_for_solve(s, r, certificate, costs, lacks_schedule, &hints, error);
    if (status == POPLINER_OK)
        status = popliner_screen_answer(certificate, hints.items, hints.count, lacks_schedule,
                                        &screen, text, error);
    hints_free(&hints);
    return status;
}

popliner_status screen_evaluate(session *s, const request *r,
                                const popliner_certificate *certificate, char **text,
                                popliner_error *error) {
    const popliner_plot_options screen = screen_options(s);
    hint_list hints = {0};
    bool lacks_schedule = false;
    popliner_status status = find_schedule(s, r, &lacks_schedule, error);
    if (status == POPLINER_OK)
        status = hints_for_evaluate(s, r, certificate, NULL, lacks_schedule, &hints, error);
    if (status == POPLINER_OK)
        status = popliner_screen_answer(certificate, hints.items, hints.count, lacks_schedule,
                                        &screen, text, error);
    hints_free(&hints);
    return status;
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

popliner_status screen_splits(const session *s, popliner_split_table *table,
                              const popliner_certificate_input *names, char **text,
                              popliner_error *error) {
    const popliner_plot_options screen = screen_options(s);
    table->more = "--format tsv";
    return popliner_screen_splits(table, names, &screen, text, error);
}

popliner_status screen_verdict(session *s, const request *r, size_t micro_batches,
                               popliner_split_row *row, size_t place, popliner_error *error) {
    enum { SHOWN_ROWS = 40 };
    const popliner_plan *plan = row->plan;
    popliner_verdict verdict = POPLINER_FITS_NOT;
    bool has_verdict = false;
    popliner_status status = POPLINER_OK;
    if (plan == NULL || plan->num_stages == 0) {
        row->verdict = plan == NULL ? "no answer" : "none fits";
        return POPLINER_OK;
    }
    if (s->analysis != NULL && place < SHOWN_ROWS)
        status = hints_measure_verdict(s, r, row, micro_batches, &has_verdict, &verdict, error);
    if (!has_verdict && plan->status != POPLINER_PLAN_INFEASIBLE)
        verdict = POPLINER_FITS;
    row->verdict = popliner_name_of(POPLINER_NAMED_VERDICT, verdict);
    return status;
}

popliner_status screen_overview(session *s, popliner_error *error) {
    enum { NUM_HINTS = 3 };
    static const popliner_hint hints[2][NUM_HINTS] = {
        {{"Try", "--solve", "the fewest IPUs that fit, and where to cut", NULL},
         {"Try", "--diagnose", "the analysis against the compiler's totals", NULL},
         {"Try", "--output page=page.html", "the same for a browser", NULL}},
        {{"Try", "--solve --schedule popart", "the fewest IPUs, and where to cut", NULL},
         {"Try", "--diagnose", "compare with the compiler's totals", NULL},
         {"Try", "--schedule popart -o page=page.html", "the same for a browser", NULL}},
    };
    const size_t num_left_out = s->options.ipu != ALL_IPUS; /* --solve is for a whole model */
    bool is_training = false;
    const popliner_plot_options how = screen_options(s);
    popliner_certificate *whole = NULL;
    char *text = NULL;
    if (s->options.format != POPLINER_FORMAT_TEXT) {
        popliner_status status =
            popliner_section_text(s->analysis, POPLINER_SECTION_SUMMARY, POPLINER_MEMORY_MODEL_FULL,
                                  NULL, s->options.format, &text, error);
        return status == POPLINER_OK ? session_print(text, error) : status;
    }
    s->options.evaluate = "whole";
    popliner_status status = evaluate_certificate(s, &whole, error);
    s->options.evaluate = NULL;
    s->failed_softly = false; /* the verdict was not requested */
    if (status == POPLINER_OK)
        status = popliner_analysis_is_training(s->analysis, POPLINER_MEMORY_MODEL_FULL,
                                               &is_training, error);
    if (status == POPLINER_OK)
        status = popliner_screen_overview(s->analysis, whole, hints[is_training] + num_left_out,
                                          NUM_HINTS - num_left_out, &how, &text, error);
    popliner_certificate_free(whole);
    return status == POPLINER_OK ? session_print(text, error) : status;
}
