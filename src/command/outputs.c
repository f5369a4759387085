/* Prints and writes reports for people, with --format text, and what --output names: tables, plots,
 * plans for frameworks, documents.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/option_table.h"
#include "popliner/utilities.h"

/* ---- for people ---- */

bool screen_is_used(const session *s) {
    return s->options.format == FORMAT_TEXT && options_printed(&s->options) == NULL;
}

/* The capabilities of standard output, or of a file, which has no colours. */
static popliner_plot_options screen_options(const session *s, bool is_file) {
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

/* Replaces a table of tab-separated values by one that fits the screen. */
static popliner_status screen_table(const session *s, const char *headline, char **text,
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

static popliner_status screen_together(const session *s, const popliner_together *together,
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

/* ---- tables ---- */

static popliner_status make_section(session *s, const wanted_output *w,
                                    const popliner_certificate *certificate, popliner_format format,
                                    char **text, popliner_error *error) {
    const popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    const popliner_section section = (popliner_section)w->what->number;
    if ((int)format == FORMAT_PLOT) {
        popliner_plot_options how = screen_options(s, w->path != NULL);
        how.tile = w->tile;
        how.has_always_live = w->has_always_live;
        const popliner_plot plot = section == POPLINER_SECTION_TILES      ? POPLINER_PLOT_TILES
                                   : section == POPLINER_SECTION_LIVENESS ? POPLINER_PLOT_LIVENESS
                                                                          : POPLINER_PLOT_PLAN;
        return popliner_plot_text(s->analysis, plot, model, certificate, &how, text, error);
    }
    return popliner_section_text(s->analysis, section, model, certificate, format, text, error);
}

static popliner_status make_stages(session *s, const popliner_certificate *certificate,
                                   popliner_format format, char **text, popliner_error *error) {
    static const popliner_certificate_form forms[] = {
        [POPLINER_FORMAT_TSV] = POPLINER_CERTIFICATE_TSV,
        [POPLINER_FORMAT_CSV] = POPLINER_CERTIFICATE_CSV,
        [POPLINER_FORMAT_JSON] = POPLINER_CERTIFICATE_ROWS_JSON,
    };
    if (s->analysis != NULL)
        return popliner_section_text(s->analysis, POPLINER_SECTION_PLAN,
                                     session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                     certificate, format, text, error);
    return popliner_certificate_text(certificate, forms[format], text, error);
}

/* ---- plans for frameworks ---- */

static popliner_emit_options emit_options_of(const options *o) {
    popliner_emit_options how = POPLINER_EMIT_OPTIONS_INIT;
    how.option_names = &option_names;
    how.layer_path = o->modules.layer_path;
    how.head_modules = o->modules.names;
    how.num_head_modules = o->modules.num_head;
    how.tail_modules = o->modules.names + o->modules.num_head;
    how.num_tail_modules = o->modules.count - o->modules.num_head;
    return how;
}

/* A format that needs the path of a layer takes its name as one. */
static void name_layers(popliner_emit_options *how, const options *o, popliner_emit_format format) {
    if (o->modules.names != NULL && how->layer_path == NULL &&
        popliner_emit(how, format, NULL, NULL) == POPLINER_ERROR_USAGE)
        how->layer_path = "{}";
}

/* The library begins with the format: here it is the value of an option. */
static popliner_status name_option(popliner_status status, popliner_error *error) {
    const popliner_error told = *error;
    return status == POPLINER_ERROR_USAGE ? fail(error, status, "--output %s", told.message)
                                          : status;
}

popliner_status outputs_check(const session *s, popliner_error *error) {
    const options *o = &s->options;
    for (size_t i = 0; i < o->outputs.count; i++) {
        const output *what = o->outputs.items[i].what;
        popliner_emit_options how = emit_options_of(o);
        if (what->kind != OUTPUT_FRAMEWORK)
            continue;
        how.device_map = s->request.solver.device_map;
        how.num_mapped_stages = s->request.solver.num_mapped_stages;
        name_layers(&how, o, (popliner_emit_format)what->number);
        TRY(name_option(popliner_emit(&how, (popliner_emit_format)what->number, NULL, error),
                        error));
    }
    return POPLINER_OK;
}

/* Those of --total-ipus; NULL: none. */
static const popliner_replicas *replicas_of(const material *m) {
    return m->splits == NULL ? NULL : m->splits->replicas;
}

/* Whether there is a split of the whole chain to write. */
static bool has_plan(const session *s, const material *m) {
    if (m->certificate == NULL)
        return replicas_of(m) != NULL && replicas_of(m)->best != SIZE_MAX;
    const popliner_plan *plan = m->certificate->plan;
    return plan->num_stages > 0 &&
           plan->stages[plan->num_stages - 1].last_unit + 1 == s->request.num_units;
}

static popliner_status make_plan(session *s, const output *what, const material *m,
                                 const popliner_listener *listener, char **text,
                                 popliner_error *error) {
    const popliner_emit_format format = (popliner_emit_format)what->number;
    popliner_emit_options how = emit_options_of(&s->options);
    name_layers(&how, &s->options, format);
    how.listener = listener;
    how.certificate = m->certificate;
    how.replicas = replicas_of(m);
    how.names = m->certificate == NULL ? &s->input : NULL;
    return name_option(popliner_emit(&how, format, text, error), error);
}

/* ---- making ---- */

/* For outputs of the profile alone. */
static const material nothing;

static popliner_status write_program(session *s, const wanted_output *w, popliner_error *error) {
    const popliner_plan *plan = s->answer->plan;
    const popliner_costs *costs = answer_costs(s);
    const bool is_ruled_out =
        plan->status == POPLINER_PLAN_INFEASIBLE && plan->proof != POPLINER_PROOF_NONE;
    if (costs != NULL && !is_ruled_out)
        return popliner_solver_write(costs, &s->request.solver, plan,
                                     (popliner_program_format)w->what->number, w->path, error);
    session_warn(s, "--output %s: not written, for no split is within the limits.", w->what->name);
    return POPLINER_OK;
}

/* Makes what an action prints: its report. */
static popliner_status make_report(session *s, const material *m, popliner_format format,
                                   bool is_file, char **text, popliner_error *error) {
    const popliner_plot_options screen = screen_options(s, is_file);
    const bool is_text = format == FORMAT_TEXT;
    const bool is_json = format == POPLINER_FORMAT_JSON;
    if (m->changes != NULL)
        return is_text ? popliner_screen_changes(m->changes, "--output comparison", &screen, text,
                                                 error)
                       : popliner_changes_text(m->changes, format, text, error);
    if (m->diagnosis != NULL)
        return is_text
                   ? popliner_screen_diagnosis(m->diagnosis, s->options.fail_on.unexplained_percent,
                                               "--output missing, programs, checks or diagnosis",
                                               &screen, text, error)
                   : popliner_report_diagnosis(m->diagnosis, format, text, error);
    if (m->comparison != NULL)
        return is_json ? popliner_report_comparison(m->comparison, text, error)
                       : popliner_screen_comparison(m->comparison, &screen, text, error);
    if (m->splits != NULL)
        return is_text ? popliner_screen_splits(m->splits, &s->input, &screen, text, error)
                       : popliner_report_splits(m->splits, &s->input, format, text, error);
    if (m->together != NULL)
        return screen_together(s, m->together, format, text, error);
    return is_text ? popliner_screen_answer(m->certificate, &screen, text, error)
           : is_json
               ? popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_JSON, text, error)
               : make_stages(s, m->certificate, format, text, error);
}

/* Whether one split is on its way, of which outputs are that can also be of the profile alone. */
static bool awaits_split(const session *s) {
    const options *o = &s->options;
    const bool can_split =
        s->file != NULL || (s->can_split && (s->other == NULL || s->other->can_split));
    return can_split && (o->solve || o->evaluate != NULL) && !options_have_several(o);
}

/* Prints or writes an output, if this is what it is made of. */
static popliner_status deliver(session *s, const wanted_output *w, const material *m,
                               popliner_error *error) {
    const output *what = w->what;
    const popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    const popliner_format format = options_format_of(&s->options, w);
    const popliner_format table_format = format == FORMAT_TEXT ? POPLINER_FORMAT_TSV : format;
    const bool is_of_profile = m->action == 0;
    const bool has_split = m->certificate != NULL;
    char *text = NULL;
    switch (what->kind) {
    case OUTPUT_SECTION:
    case OUTPUT_PLAN:
        if (what->kind == OUTPUT_PLAN ? !has_split : !is_of_profile)
            break;
        TRY(what->kind == OUTPUT_PLAN && (int)format != FORMAT_PLOT
                ? make_stages(s, m->certificate, table_format, &text, error)
                : make_section(s, w, m->certificate, table_format, &text, error));
        if (format == FORMAT_TEXT)
            TRY(screen_table(s, NULL, &text, error));
        break;
    case OUTPUT_ORIGINAL: /* in PopLiner's model unless another one was requested */
        if (is_of_profile)
            TRY(popliner_report_table(s->analysis, (popliner_table)what->number,
                                      session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER),
                                      format, &text, error));
        break;
    case OUTPUT_FRAMEWORK:
        if (has_plan(s, m))
            TRY(make_plan(s, what, m, &s->listener, &text, error));
        else if (has_split || replicas_of(m) != NULL)
            session_warn(s, "--output %s: not written, for there is no split.", what->name);
        break;
    case OUTPUT_REPORT:
        if (((unsigned)what->number & m->action) != 0)
            TRY(make_report(s, m, what->formats == AS_JSON ? POPLINER_FORMAT_JSON : format,
                            w->path != NULL, &text, error));
        break;
    case OUTPUT_POPLINER:
        if (has_split)
            TRY(popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_STAGES_JSON, &text,
                                          error));
        break;
    case OUTPUT_TRACE:
        if (awaits_split(s) ? has_split : is_of_profile)
            TRY(popliner_trace_text(s->analysis, model, m->certificate, &text, error));
        break;
    case OUTPUT_PROGRAM:
        return m->action == SOLVE && has_split ? write_program(s, w, error) : POPLINER_OK;
    case OUTPUT_ANALYSIS:
        return is_of_profile ? popliner_analysis_store(s->analysis, model, w->path, error)
                             : POPLINER_OK;
    case OUTPUT_PAGE:
        if (awaits_split(s) ? has_split : is_of_profile)
            TRY(page_make(s, m->certificate, &text, error));
        break;
    }
    if (text != NULL && w->path == NULL)
        return session_print(text, what->kind != OUTPUT_FRAMEWORK && what->kind != OUTPUT_ORIGINAL,
                             error);
    const popliner_status status =
        text == NULL ? POPLINER_OK : popliner_file_write(w->path, text, strlen(text), error);
    free(text);
    return status;
}

/* Writes the files, or the stored analyses, that are made of this. */
static popliner_status write_files(session *s, const material *m, bool are_analyses,
                                   popliner_error *error) {
    const wanted_list *list = &s->options.outputs;
    for (const wanted_output *w = list->items; w < list->items + list->count; w++)
        if (w->path != NULL && (w->what->kind == OUTPUT_ANALYSIS) == are_analyses)
            TRY(deliver(s, w, m, error));
    return POPLINER_OK;
}

/* True if an output is printed that comes before in the list. */
static bool is_printed_before(const wanted_list *list, const wanted_output *w) {
    for (const wanted_output *other = list->items; other < w; other++)
        if (other->what == w->what && other->path == NULL)
            return true;
    return false;
}

popliner_status outputs_of_profile(session *s, popliner_error *error) {
    const wanted_list *list = &s->options.outputs;
    const wanted_output *printed = options_printed(&s->options);
    /* an analysis took longest, so it is stored whatever becomes of the others */
    TRY(write_files(s, &nothing, true, error));
    if (printed != NULL)
        TRY(deliver(s, printed, &nothing, error));
    TRY(write_files(s, &nothing, false, error));
    for (const wanted_output *w = list->items; w < list->items + list->count; w++)
        if (w->path == NULL && w->what->kind == OUTPUT_ORIGINAL && !is_printed_before(list, w))
            TRY(deliver(s, w, &nothing, error));
    return POPLINER_OK;
}

/* Makes all plans for frameworks: one that is refused leaves all outputs unwritten. */
static popliner_status try_plans(session *s, const material *m, popliner_error *error) {
    for (size_t i = 0; i < s->options.outputs.count; i++) {
        const output *what = s->options.outputs.items[i].what;
        char *text = NULL;
        if (what->kind == OUTPUT_FRAMEWORK && has_plan(s, m))
            TRY(make_plan(s, what, m, NULL, &text, error));
        free(text);
    }
    return POPLINER_OK;
}

popliner_status outputs_of_answer(session *s, const material *m, popliner_error *error) {
    const wanted_output *printed = options_printed(&s->options);
    char *text = NULL;
    TRY(try_plans(s, m, error));
    if (printed != NULL) {
        TRY(deliver(s, printed, m, error));
    } else {
        TRY(make_report(s, m, s->options.format, false, &text, error));
        TRY(session_print(text, true, error));
    }
    return write_files(s, m, false, error);
}
