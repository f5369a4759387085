/* The tables: totals, breakdowns, and what layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "command/commands.h"
#include "popliner/report.h"

/* What is measured stage by stage is in PopLiner's model unless another was asked for. */
static popliner_status print_table(const session *s, popliner_table table, popliner_error *error) {
    popliner_memory_model model = session_memory_model(s, POPLINER_MEMORY_MODEL_POPLINER);
    char *text = NULL;
    popliner_status status =
        popliner_report_table(s->analysis, table, model, s->options.format, &text, error);
    return status == POPLINER_OK ? session_print_bytes(text, error) : status;
}

popliner_status print_sharing(session *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (s->options.memory_affinity)
        status = print_table(s, POPLINER_TABLE_AFFINITY, error);
    if (status == POPLINER_OK && s->options.interlayer_communication)
        status = print_table(s, POPLINER_TABLE_COMMUNICATION, error);
    return status;
}

/* The original's few lines and, unless its model was asked for, the compiler's account in full. */
popliner_status print_totals(session *s, popliner_error *error) {
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

popliner_status print_breakdowns(session *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (s->options.operation_breakdown)
        status = print_table(s, POPLINER_TABLE_OPERATIONS, error);
    if (status == POPLINER_OK && s->options.layer_breakdown)
        status = print_table(s, POPLINER_TABLE_LAYERS, error);
    return status;
}
