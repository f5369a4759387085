/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "command/option_table.h"
#include "popliner/utilities.h"

/* ---- tables ---- */

/* Tables of 1.0.0 are in PopLiner's model unless another one was requested. */
static popliner_status make_original(session *s, popliner_table table, popliner_format format,
                                     char **text, popliner_error *error) {
    const popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER);
    return popliner_report_table(s->analysis, table, model, format, text, error);
}

static popliner_status make_section(session *s, const wanted_output *w,
                                    const popliner_certificate *certificate, popliner_format format,
                                    char **text, popliner_error *error) {
    const popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    const popliner_section section = (popliner_section)w->what->number;
    if ((int)format == FORMAT_PLOT) {
        popliner_plot_options how = screen_options(s);
        how.has_colour = how.has_colour && w->path == NULL;
        how.tile = w->tile;
        how.has_always_live = w->has_always_live;
        const popliner_plot plot = section == POPLINER_SECTION_TILES      ? POPLINER_PLOT_TILES
                                   : section == POPLINER_SECTION_LIVENESS ? POPLINER_PLOT_LIVENESS
                                                                          : POPLINER_PLOT_PLAN;
        return popliner_plot_text(s->analysis, plot, model, certificate, &how, text, error);
    }
    return popliner_section_text(s->analysis, section, model, certificate, format, text, error);
}

popliner_status outputs_stages(session *s, const popliner_certificate *certificate,
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

popliner_status outputs_check(const options *o, popliner_error *error) {
    popliner_emit_options how = emit_options_of(o);
    request r = {0};
    popliner_status status =
        options_wanted(o, OUTPUT_FRAMEWORK) != NULL ? request_take_map(&r, o, error) : POPLINER_OK;
    how.device_map = r.solver.device_map;
    how.num_mapped_stages = r.solver.num_mapped_stages;
    for (size_t i = 0; status == POPLINER_OK && i < o->outputs.count; i++) {
        const output *what = o->outputs.items[i].what;
        const popliner_emit_format format = (popliner_emit_format)what->number;
        popliner_emit_options own = how;
        if (what->kind != OUTPUT_FRAMEWORK)
            continue;
        name_layers(&own, o, format);
        status = name_option(popliner_emit(&own, format, NULL, error), error);
    }
    request_free(&r);
    return status;
}

/* Whether there is a split of the whole chain to write. */
static bool has_plan(const session *s, const material *m) {
    if (m->certificate == NULL)
        return m->replicas != NULL && m->replicas->best != SIZE_MAX;
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
    how.replicas = m->replicas;
    how.names = m->certificate == NULL ? &s->input : NULL;
    return name_option(popliner_emit(&how, format, text, error), error);
}

/* ---- making ---- */

/* For outputs of the profile alone. */
static const material nothing;

/* Makes the text of an output that is no file of its own kind. */
static popliner_status make(session *s, const wanted_output *w, const material *m, char **text,
                            popliner_error *error) {
    const output *what = w->what;
    const popliner_format format = options_format_of(&s->options, w);
    const bool is_screen = format == FORMAT_TEXT;
    const popliner_format table_format = is_screen ? POPLINER_FORMAT_TSV : format;
    popliner_status status = POPLINER_OK;
    switch (what->kind) {
    case OUTPUT_SECTION:
    case OUTPUT_PLAN:
        status = what->kind == OUTPUT_PLAN && (int)format != FORMAT_PLOT
                     ? outputs_stages(s, m->certificate, table_format, text, error)
                     : make_section(s, w, m->certificate, table_format, text, error);
        return status == POPLINER_OK && is_screen ? screen_table(s, NULL, text, error) : status;
    case OUTPUT_ORIGINAL:
        return make_original(s, (popliner_table)what->number, format, text, error);
    case OUTPUT_FRAMEWORK:
        if (has_plan(s, m))
            return make_plan(s, what, m, &s->listener, text, error);
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--output %s: not written, for there is no split.", what->name);
        return POPLINER_OK;
    case OUTPUT_REPORT: {
        const colour_choice color = s->options.color;
        s->options.color = w->path == NULL ? color : COLOUR_NEVER;
        status = m->make(s, m->of, what->formats == AS_JSON ? POPLINER_FORMAT_JSON : format, text,
                         error);
        s->options.color = color;
        return status;
    }
    case OUTPUT_POPLINER:
        return popliner_certificate_text(m->certificate, POPLINER_CERTIFICATE_STAGES_JSON, text,
                                         error);
    case OUTPUT_TRACE:
        return popliner_trace_text(s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                   m->certificate, text, error);
    case OUTPUT_PAGE:
    case OUTPUT_PROGRAM:
    case OUTPUT_ANALYSIS:
        break;
    }
    return POPLINER_OK;
}

/* Whether what is known is what an output is made of. */
static bool is_made_of(const session *s, const output *what, const material *m) {
    const options *o = &s->options;
    switch (what->kind) {
    case OUTPUT_SECTION:
    case OUTPUT_ORIGINAL:
    case OUTPUT_ANALYSIS:
        return m->action == 0;
    case OUTPUT_PLAN:
    case OUTPUT_POPLINER:
        return m->certificate != NULL;
    case OUTPUT_FRAMEWORK:
        return m->certificate != NULL || m->replicas != NULL;
    case OUTPUT_TRACE:
        return o->solve || o->evaluate != NULL ? m->certificate != NULL : m->action == 0;
    case OUTPUT_REPORT:
        return ((unsigned)what->number & m->action) != 0;
    case OUTPUT_PROGRAM:
        return m->action == SOLVE && m->certificate != NULL;
    case OUTPUT_PAGE:
        break;
    }
    return false;
}

/* ---- printing and writing ---- */

/* Whether a split is known, or none is ruled out. */
static bool may_have_split(const material *m) {
    const popliner_plan *plan = m->certificate->plan;
    return plan->status != POPLINER_PLAN_INFEASIBLE || plan->proof == POPLINER_PROOF_NONE;
}

static popliner_status write_program(session *s, const wanted_output *w, const material *m,
                                     popliner_error *error) {
    const popliner_plan *plan = m->certificate->plan;
    const popliner_costs *costs = answer_costs(s);
    if (costs != NULL && may_have_split(m))
        return popliner_solver_write(costs, &s->request.solver, plan,
                                     (popliner_program_format)w->what->number, w->path, error);
    log_message(&s->log, POPLINER_LEVEL_WARNING,
                "--output %s: not written, for no split is within the limits.", w->what->name);
    return POPLINER_OK;
}

/* Prints or writes an output, if it is made of this. */
static popliner_status deliver(session *s, const wanted_output *w, const material *m,
                               popliner_error *error) {
    char *text = NULL;
    if (!is_made_of(s, w->what, m))
        return POPLINER_OK;
    if (w->what->kind == OUTPUT_PROGRAM)
        return write_program(s, w, m, error);
    if (w->what->kind == OUTPUT_ANALYSIS)
        return popliner_analysis_store(
            s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL), w->path, error);
    popliner_status status = make(s, w, m, &text, error);
    if (status == POPLINER_OK && text != NULL && w->path == NULL)
        return session_print(
            text, w->what->kind != OUTPUT_FRAMEWORK && w->what->kind != OUTPUT_ORIGINAL, error);
    if (status == POPLINER_OK && text != NULL)
        status = popliner_file_write(w->path, text, strlen(text), error);
    free(text);
    return status;
}

/* Delivers the stored analyses or the files that are made of this. */
static popliner_status write_files(session *s, const material *m, bool are_analyses,
                                   popliner_error *error) {
    const wanted_list *list = &s->options.outputs;
    for (const wanted_output *w = list->items; w < list->items + list->count; w++)
        if (w->path != NULL && (w->what->kind == OUTPUT_ANALYSIS) == are_analyses)
            TRY(deliver(s, w, m, error));
    return POPLINER_OK;
}

popliner_status outputs_of_profile(session *s, popliner_error *error) {
    const options *o = &s->options;
    const wanted_output *printed = options_printed(o);
    TRY(write_files(s, &nothing, true, error));
    if (printed != NULL)
        TRY(deliver(s, printed, &nothing, error));
    TRY(write_files(s, &nothing, false, error));
    /* in the order of PopLiner 1.0.0, each once */
    for (size_t i = 0; i < num_outputs; i++) {
        const wanted_output *w = o->outputs.items;
        const wanted_output *end = w + o->outputs.count;
        while (output_table[i].kind == OUTPUT_ORIGINAL && w < end &&
               (w->what != &output_table[i] || w->path != NULL))
            w++;
        if (output_table[i].kind == OUTPUT_ORIGINAL && w < end)
            TRY(deliver(s, w, &nothing, error));
    }
    return POPLINER_OK;
}

/* Makes all plans for frameworks: one that is refused leaves all outputs unwritten. */
static popliner_status try_plans(session *s, const material *m, popliner_error *error) {
    for (size_t i = 0; i < s->options.outputs.count; i++) {
        const output *what = s->options.outputs.items[i].what;
        char *text = NULL;
        if (what->kind == OUTPUT_FRAMEWORK && is_made_of(s, what, m) && has_plan(s, m))
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
        TRY(m->make(s, m->of, s->options.format, &text, error));
        TRY(session_print(text, true, error));
    }
    TRY(write_files(s, m, false, error));
    const bool may_have_page = s->analysis != NULL || s->page_input.costs != NULL;
    return may_have_page && m->certificate != NULL ? write_page(s, m->certificate, error)
                                                   : POPLINER_OK;
}
