/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/outputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/commands.h"
#include "command/request.h"
#include "command/terminal.h"
#include "popliner/report.h"
#include "popliner/utilities.h"

/* ---- tables, and storing ---- */

/* What is measured stage by stage is in PopLiner's model unless another was asked for. */
static popliner_status print_table(const session *s, popliner_table table, popliner_error *error) {
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER);
    char *text = NULL;
    popliner_status status =
        popliner_report_table(s->analysis, table, model, s->options.format, &text, error);
    return status == POPLINER_OK ? session_print_bytes(text, error) : status;
}

/* The original's few lines and, unless its model was asked for, the compiler's account in full. */
static popliner_status print_totals(const session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    if (o->format != POPLINER_FORMAT_JSON) {
        status = print_table(s, POPLINER_TABLE_MEMORY_TOTALS, error);
        if (o->memory_model == MODEL_POPLINER)
            return status;
        putchar('\n');
    }
    return status == POPLINER_OK ? print_table(s, POPLINER_TABLE_TILES, error) : status;
}

popliner_status print_tables(const session *s, popliner_error *error) {
    static const struct {
        unsigned action;
        popliner_table table;
    } tables[] = {
        {OPERATION_BREAKDOWN, POPLINER_TABLE_OPERATIONS},
        {LAYER_BREAKDOWN, POPLINER_TABLE_LAYERS},
        {MEMORY_AFFINITY, POPLINER_TABLE_AFFINITY},
        {INTERLAYER_COMMUNICATION, POPLINER_TABLE_COMMUNICATION},
    };
    popliner_status status = s->options.memory_totals ? print_totals(s, error) : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < sizeof tables / sizeof *tables; i++)
        if ((s->options.actions & tables[i].action) != 0)
            status = print_table(s, tables[i].table, error);
    return status;
}

/* ---- sections, plots, traces ---- */

static popliner_status make_text(session *s, popliner_section section,
                                 const popliner_certificate *certificate, popliner_format format,
                                 char **text, popliner_error *error) {
    return popliner_section_text(s->analysis, section,
                                 session_memory_model(s, POPLINER_MEMORY_MODEL_FULL), certificate,
                                 format, text, error);
}

popliner_status print_shown(session *s, const popliner_certificate *certificate,
                            popliner_error *error) {
    const options *o = &s->options;
    char *text = NULL;
    popliner_status status;
    if (o->has_plot) {
        const terminal shown = terminal_of(STDOUT_FILENO);
        popliner_plot_options how = POPLINER_PLOT_OPTIONS_INIT;
        how.width = shown.width;
        how.is_ascii = shown.is_ascii;
        how.has_colour = shown.has_colour;
        status = popliner_plot_text(s->analysis, o->plot,
                                    session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                                    certificate, &how, &text, error);
    } else {
        status = make_text(s, o->section, certificate, o->format, &text, error);
    }
    return status == POPLINER_OK ? session_print(text, error) : status;
}

/* The format that the name of a file ends with, or else that of --format. */
static popliner_format format_of(const char *path, popliner_format otherwise) {
    const char *slash = strrchr(path, '/');
    const char *end = strrchr(slash == NULL ? path : slash, '.');
    if (end == NULL)
        return otherwise;
    return strcmp(end, ".csv") == 0    ? POPLINER_FORMAT_CSV
           : strcmp(end, ".tsv") == 0  ? POPLINER_FORMAT_TSV
           : strcmp(end, ".json") == 0 ? POPLINER_FORMAT_JSON
                                       : otherwise;
}

static popliner_status write_trace(session *s, const popliner_certificate *certificate,
                                   popliner_error *error) {
    char *text = NULL;
    popliner_status status =
        popliner_trace_text(s->analysis, session_memory_model(s, POPLINER_MEMORY_MODEL_FULL),
                            certificate, &text, error);
    if (status == POPLINER_OK)
        status = popliner_file_write(s->options.trace, text, strlen(text), error);
    free(text);
    return status;
}

popliner_status write_outputs(session *s, const popliner_certificate *certificate,
                              popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < o->outputs.count; i++) {
        const written_file *output = &o->outputs.items[i];
        char *text = NULL;
        if (((popliner_section)output->what == POPLINER_SECTION_PLAN) != (certificate != NULL))
            continue;
        status = make_text(s, (popliner_section)output->what, certificate,
                           format_of(output->path, o->format), &text, error);
        if (status == POPLINER_OK)
            status = popliner_file_write(output->path, text, strlen(text), error);
        free(text);
    }
    if (status == POPLINER_OK && o->trace != NULL &&
        (certificate != NULL || (!o->solve && o->evaluate == NULL)))
        status = write_trace(s, certificate, error);
    return status;
}

/* ---- plans for frameworks ---- */

/* What the library is to know, from the options. Zero-initialise; free with free_asked. */
typedef struct asked {
    char *copy; /* of --modules, with NULs between the names */
    const char **modules;
    popliner_option_names names;
    popliner_emit_options options; /* refers to the above */
} asked;

static void free_asked(asked *a) {
    free(a->copy);
    free(a->modules);
}

/* Takes --modules, which was checked: the path of layers, and what is before and after it. */
static popliner_status take_modules(asked *a, const char *text, popliner_error *error) {
    size_t count = 0;
    a->copy = strdup(text);
    a->modules = calloc(strlen(text) + 1, sizeof *a->modules);
    if (a->copy == NULL || a->modules == NULL)
        return fail_memory(error, "names of modules");
    a->options.head_modules = a->modules;
    char *to = a->copy;
    for (const char *name = text; name != NULL;) {
        const size_t length = value_span(name, ",");
        char *begin = to;
        to = value_copy(name, length, to);
        if (strstr(begin, "{}") != NULL) {
            a->options.layer_path = strcmp(begin, "{}") == 0 ? NULL : begin;
            a->options.num_head_modules = count;
            a->options.tail_modules = a->modules + count;
        } else {
            a->modules[count++] = begin;
        }
        name = name[length] == '\0' ? NULL : name + length + 1;
    }
    a->options.num_tail_modules = count - a->options.num_head_modules;
    return POPLINER_OK;
}

static popliner_status take_asked(asked *a, const options *o, popliner_error *error) {
    a->names = names_of(o);
    a->options = (popliner_emit_options)POPLINER_EMIT_OPTIONS_INIT;
    a->options.option_names = &a->names;
    return o->modules == NULL ? POPLINER_OK : take_modules(a, o->modules, error);
}

/* The library begins with the format: here it is the value of an option. */
static popliner_status name_option(popliner_status status, popliner_error *error) {
    const popliner_error told = *error;
    return status == POPLINER_ERROR_USAGE ? fail(error, status, "--emit %s", told.message) : status;
}

popliner_status emit_check(const options *o, popliner_error *error) {
    asked a = {0};
    request r = {0};
    popliner_status status = take_asked(&a, o, error);
    if (status == POPLINER_OK && o->emits.count > 0)
        status = request_take_map(&r, o, error);
    a.options.device_map = r.device_map;
    a.options.num_mapped_stages = r.solver.num_mapped_stages;
    for (size_t i = 0; status == POPLINER_OK && i < o->emits.count; i++)
        status = name_option(
            popliner_emit(&a.options, (popliner_emit_format)o->emits.items[i].what, NULL, error),
            error);
    request_free(&r);
    free_asked(&a);
    return status;
}

/* Where the texts come from: one of these. */
typedef struct source {
    const popliner_certificate *certificate;
    const popliner_replicas *replicas;
    const popliner_certificate_input *names;
} source;

static popliner_status make_all(session *s, const source *from, emitted *made,
                                popliner_error *error) {
    const options *o = &s->options;
    asked a = {0};
    popliner_status status = take_asked(&a, o, error);
    a.options.listener = &s->listener;
    a.options.certificate = from->certificate;
    a.options.replicas = from->replicas;
    a.options.names = from->names;
    made->texts = calloc(o->emits.count, sizeof *made->texts);
    made->num_texts = made->texts == NULL ? 0 : o->emits.count;
    if (status == POPLINER_OK && made->texts == NULL)
        status = fail_memory(error, "--emit");
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++) {
        popliner_emit_format format = (popliner_emit_format)o->emits.items[i].what;
        status = name_option(popliner_emit(&a.options, format, &made->texts[i], error), error);
    }
    free_asked(&a);
    return status;
}

static void tell_nothing(session *s) {
    log_message(&s->log, POPLINER_LEVEL_WARNING, "--emit: not written, for there is no split.");
}

popliner_status emit_make(session *s, const popliner_certificate *certificate, size_t num_units,
                          emitted *made, popliner_error *error) {
    const popliner_plan *plan = popliner_certificate_get_info(certificate)->plan;
    const size_t num_stages = popliner_plan_get_summary(plan)->num_stages;
    const source from = {.certificate = certificate};
    if (s->options.emits.count == 0)
        return POPLINER_OK;
    if (num_stages == 0 ||
        popliner_plan_get_summary(plan)->stages[num_stages - 1].last_unit + 1 < num_units) {
        tell_nothing(s);
        return POPLINER_OK;
    }
    return make_all(s, &from, made, error);
}

popliner_status emit_make_replicas(session *s, const popliner_replicas *replicas,
                                   const popliner_certificate_input *names, emitted *made,
                                   popliner_error *error) {
    const source from = {.replicas = replicas, .names = names};
    if (s->options.emits.count == 0)
        return POPLINER_OK;
    if (popliner_replicas_get_summary(replicas)->best == SIZE_MAX) {
        tell_nothing(s);
        return POPLINER_OK;
    }
    return make_all(s, &from, made, error);
}

bool emit_prints(const options *o) {
    for (size_t i = 0; i < o->emits.count; i++)
        if (o->emits.items[i].path == NULL)
            return true;
    return false;
}

popliner_status emit_print(session *s, emitted *made, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++)
        if (o->emits.items[i].path == NULL) {
            status = session_print_bytes(made->texts[i], error);
            made->texts[i] = NULL;
        }
    return status;
}

popliner_status emit_write(const session *s, const emitted *made, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < made->num_texts; i++)
        if (o->emits.items[i].path != NULL)
            status = popliner_file_write(o->emits.items[i].path, made->texts[i],
                                         strlen(made->texts[i]), error);
    return status;
}

void emitted_free(emitted *made) {
    for (size_t i = 0; i < made->num_texts; i++)
        free(made->texts[i]);
    free(made->texts);
}
