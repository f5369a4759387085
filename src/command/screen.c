/* Reports for people: used on a terminal, or with --format text.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>
#include <unistd.h>

#include "popliner/utilities.h"

bool screen_is_used(const session *s) {
    return s->options.format == FORMAT_TEXT && options_printed(&s->options) == NULL;
}

popliner_plot_options screen_options(const session *s, bool is_file) {
    const terminal t = terminal_of(STDOUT_FILENO);
    popliner_plot_options how = POPLINER_PLOT_OPTIONS_INIT;
    how.width = t.width;
    how.is_ascii = t.is_ascii;
    how.has_whole_names = s->options.verbose;
    how.has_colour =
        !is_file &&
        (s->options.color == COLOUR_AUTO ? t.has_colour : s->options.color == COLOUR_ALWAYS);
    return how;
}

popliner_status screen_table(const session *s, const char *headline, char **text,
                             popliner_error *error) {
    const popliner_plot_options screen = screen_options(s, false);
    char *table = *text;
    popliner_status status =
        popliner_screen_table(headline, table, SIZE_MAX, "--format tsv", &screen, text, error);
    free(table);
    return status;
}

/* Measures a split of the profile of a session, `user`, within its limit, silently: one that cannot
 * be measured does not fit. */
static popliner_status judge(void *user, const popliner_plan *plan, uint64_t limit_bytes,
                             uint64_t num_micro_batches, popliner_verdict *verdict,
                             popliner_error *error) {
    session *s = user;
    popliner_request asked = s->request.asked;
    popliner_solver_options solver = s->request.solver;
    popliner_certificate *measured = NULL;
    popliner_error told = {0};
    const popliner_level level = s->log.least_level;
    solver.listener = NULL;
    if (limit_bytes != POPLINER_TARGET_BYTES)
        solver.mem_per_tile = limit_bytes;
    if (num_micro_batches > 0)
        asked.copies.num_micro_batches = (size_t)num_micro_batches;
    asked.solver = &solver;
    s->log.least_level = POPLINER_LEVEL_ERROR + 1;
    const popliner_status status =
        popliner_analysis_evaluate_plan(s->analysis, &asked, plan, &measured, &told);
    s->log.least_level = level;
    if (measured != NULL && measured->verdicts != NULL)
        *verdict = answer_worst_verdict(measured);
    popliner_certificate_free(measured);
    if (status == POPLINER_OK || status == POPLINER_ERROR_USAGE || status == POPLINER_ERROR_STOPPED)
        return POPLINER_OK;
    *error = told;
    return status;
}

popliner_status splits_print(session *s, popliner_split_table *table, popliner_error *error) {
    table->is_of_ipus = s->analysis != NULL;
    table->more = "--format tsv";
    table->need = s->options.need;
    table->judge = s->analysis != NULL ? judge : NULL;
    table->judge_user = s;
    return outputs_of_answer(s, &(material){.action = SOLVE, .splits = table}, error);
}

popliner_status screen_overview(session *s, popliner_error *error) {
    enum { NUM_HINTS = 3 };
    popliner_hint hints[NUM_HINTS] = {
        {.label = "Try",
         .option = "--solve",
         .words = "the fewest IPUs that fit, and where to cut"},
        {.label = "Try",
         .option = "--diagnose",
         .words = "the analysis against the compiler's totals"},
        {.label = "Try", .option = "--output page=page.html", .words = "the same for a browser"},
    };
    /* a stored analysis has nothing for the others */
    const size_t end = s->options.load_from_file ? 1 : NUM_HINTS;
    const size_t num_left_out =
        s->options.reading.ipu != SIZE_MAX; /* --solve is for a whole model */
    bool is_training = false;
    const popliner_plot_options how = screen_options(s, false);
    char *text = NULL;
    if (s->options.format != FORMAT_TEXT) {
        TRY(popliner_section_text(s->analysis, POPLINER_SECTION_SUMMARY, POPLINER_MEMORY_MODEL_FULL,
                                  NULL, s->options.format, &text, error));
        return session_print(text, true, error);
    }
    s->options.evaluate = "whole";
    TRY(question_begin(s, error));
    TRY(question_answer(s, error));
    s->failed_softly = false; /* the verdict was not requested */
    TRY(popliner_analysis_is_training(s->analysis, POPLINER_MEMORY_MODEL_FULL, &is_training,
                                      error));
    if (is_training) {
        hints[0].option = "--solve --schedule popart";
        hints[2].option = "--schedule popart -o page=page.html";
    }
    TRY(popliner_screen_overview(s->analysis, s->answer, hints + num_left_out, end - num_left_out,
                                 &how, &text, error));
    return session_print(text, true, error);
}

popliner_status screen_together(const session *s, const popliner_together *together,
                                popliner_format format, char **text, popliner_error *error) {
    const bool is_screen = format == FORMAT_TEXT;
    TRY(popliner_report_together(together, is_screen ? POPLINER_FORMAT_TSV : format, text, error));
    if (!is_screen)
        return POPLINER_OK;
    char headline[160] = "No split of all reports was found.";
    popliner_verdict worst = POPLINER_FITS;
    const options *o = &s->options;
    const bool is_unscheduled = o->schedule.copies == NULL &&
                                o->schedule.order == POPLINER_SCHEDULE_NONE &&
                                o->method != POPLINER_METHOD_GREEDY;
    bool lacks_schedule = false;
    for (size_t i = 0; i < together->num_reports; i++) {
        if (together->num_stages > 0 && answer_worst_verdict(together->evaluations[i]) > worst)
            worst = answer_worst_verdict(together->evaluations[i]);
        lacks_schedule = lacks_schedule || (together->are_training[i] && is_unscheduled);
    }
    if (together->num_stages > 0) {
        snprintf(headline, sizeof headline, "%s in %s of %zu reports: %zu stage%s%s.",
                 popliner_name_of(POPLINER_NAMED_VERDICT, worst),
                 worst <= POPLINER_FITS_LIKELY ? "each" : "one or more", together->num_reports,
                 together->num_stages, together->num_stages == 1 ? "" : "s",
                 lacks_schedule ? ", if nothing is kept for the backward passes" : "");
        headline[0] = (char)(headline[0] - 'a' + 'A');
    }
    return screen_table(s, headline, text, error);
}
