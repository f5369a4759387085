/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/sections.h"

#include <stdlib.h>
#include <string.h>

#include "command/terminal.h"
#include "popliner/files.h"
#include "popliner/plot.h"
#include "popliner/sections.h"
#include "popliner/trace.h"

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
        const popliner_plot_options how = terminal_plot_options();
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
    for (size_t i = 0; status == POPLINER_OK && i < o->num_outputs; i++) {
        const output_file *output = &o->outputs[i];
        char *text = NULL;
        if ((output->section == POPLINER_SECTION_PLAN) != (certificate != NULL))
            continue;
        status = make_text(s, output->section, certificate, format_of(output->path, o->format),
                           &text, error);
        if (status == POPLINER_OK)
            status = popliner_file_write(output->path, text, strlen(text), error);
        free(text);
    }
    if (status == POPLINER_OK && o->trace != NULL &&
        (certificate != NULL || (!o->solve && o->evaluate == NULL)))
        status = write_trace(s, certificate, error);
    return status;
}
