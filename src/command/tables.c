/* The tables: totals, breakdowns, and what layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "command/commands.h"
#include "popliner/report.h"

static char delimiter(const options *o) {
    return o->format == POPLINER_FORMAT_CSV ? ',' : '\t';
}

popliner_status print_sharing(session *s, popliner_error *error) {
    popliner_layer_pairs *pairs = NULL;
    char *text = NULL;
    const popliner_layers *layers = NULL;
    popliner_status status = popliner_analysis_pair_layers(s->analysis, &pairs, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_layers(s->analysis, &layers, error);
    if (status == POPLINER_OK && s->options.memory_affinity) {
        status = popliner_report_layer_pairs(pairs, layers, POPLINER_LAYER_TABLE_AFFINITY,
                                             delimiter(&s->options), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    if (status == POPLINER_OK && s->options.interlayer_communication) {
        status = popliner_report_layer_pairs(pairs, layers, POPLINER_LAYER_TABLE_COMMUNICATION,
                                             delimiter(&s->options), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    popliner_layer_pairs_free(pairs);
    return status;
}

/* The original's few lines and, unless its model was asked for, the compiler's account in full. */
popliner_status print_totals(session *s, popliner_error *error) {
    const options *o = &s->options;
    char *text = NULL;
    popliner_status status = POPLINER_OK;
    if (o->format != POPLINER_FORMAT_JSON) {
        status = popliner_report_memory_totals(s->analysis, delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
        if (o->memory_model == MODEL_POPLINER)
            return status;
        putchar('\n');
    }
    if (status == POPLINER_OK)
        status =
            popliner_report_tiles(popliner_analysis_profile(s->analysis), o->format, &text, error);
    if (status == POPLINER_OK)
        status = session_print(text, error);
    return status;
}

/* The tables that are measured stage by stage: in PopLiner's model unless another was asked for. */
popliner_status print_breakdowns(session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER);
    char *text = NULL;
    popliner_status status = POPLINER_OK;
    if (o->operation_breakdown) {
        status = popliner_report_operations(s->analysis, model, delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    if (status == POPLINER_OK && o->layer_breakdown) {
        status = popliner_report_layers(s->analysis, model, delimiter(o), &text, error);
        if (status == POPLINER_OK)
            status = session_print(text, error);
    }
    return status;
}
