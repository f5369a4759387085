/* --diagnose: what the analysis explains of the compiler's own account.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "command/commands.h"
#include "command/request.h"
#include "popliner/report.h"

/* The units of "A-B" or "A"; names may hold dashes, too, so every dash is tried. */
static popliner_status parse_layers(const request *r, const char *layers, size_t *first,
                                    size_t *last, popliner_error *error) {
    *first = request_find_unit(r, layers, strlen(layers));
    *last = *first;
    for (const char *dash = strchr(layers, '-'); *first == SIZE_MAX && dash != NULL;
         dash = strchr(dash + 1, '-')) {
        *last = request_find_unit(r, dash + 1, strlen(dash + 1));
        *first =
            *last == SIZE_MAX ? SIZE_MAX : request_find_unit(r, layers, (size_t)(dash - layers));
    }
    char hint[NEAREST_HINT_BYTES] = "";
    if (*first == SIZE_MAX || *last < *first)
        return session_fail(
            error, POPLINER_ERROR_USAGE,
            "--layers %s: expected the names of two layers in their order, like 2-5, or of one%s",
            layers, *first == SIZE_MAX ? request_suggest_of_two(r, layers, '-', "", hint) : "");
    return POPLINER_OK;
}

popliner_status diagnose_and_print(session *s, popliner_error *error) {
    enum { SHOWN = 20 };
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_FULL);
    popliner_diagnosis diagnosis = {0};
    request r = {0};
    const popliner_chain *chain = NULL;
    popliner_diagnosis_options diagnosis_options = {
        .layer_operations_only = s->options.layer_operations_only, .last_unit = SIZE_MAX};
    bool shows_all = s->options.verbose || s->options.format == POPLINER_FORMAT_JSON;
    char *text = NULL;
    popliner_status status = popliner_analysis_chain(s->analysis, model, &chain, error);
    if (status == POPLINER_OK && s->options.layers != NULL)
        status = request_name_chain(&r, chain, error);
    if (status == POPLINER_OK && s->options.layers != NULL)
        status = parse_layers(&r, s->options.layers, &diagnosis_options.first_unit,
                              &diagnosis_options.last_unit, error);
    if (status == POPLINER_OK)
        status =
            popliner_analysis_diagnose(s->analysis, model, &diagnosis_options, &diagnosis, error);
    if (status == POPLINER_OK)
        status = popliner_report_diagnosis(s->analysis, &diagnosis, s->options.format,
                                           shows_all ? SIZE_MAX : SHOWN, &text, error);
    if (status == POPLINER_OK) {
        double difference = (double)diagnosis.truth_bytes - (double)diagnosis.explained_bytes;
        double allowed = (double)diagnosis.truth_bytes * s->options.tolerance_percent / 100;
        if (difference > allowed || -difference > allowed) {
            s->failed_softly = true;
            log_message(&s->log, POPLINER_LEVEL_WARNING,
                        "%llu of %llu bytes are explained at the bottleneck: that is not within "
                        "--tolerance %g (percent), so the exit status is 1.",
                        (unsigned long long)diagnosis.explained_bytes,
                        (unsigned long long)diagnosis.truth_bytes, s->options.tolerance_percent);
        }
        status = session_print(text, error);
    }
    popliner_diagnosis_clear(&diagnosis);
    request_free(&r);
    return status;
}
