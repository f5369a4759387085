/* Reports that are measured for.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include "show/reports.h"

/* Makes ready what the tables are measured with. */
static popliner_status begin(popliner_analysis *analysis, popliner_memory_model model, char **text,
                             popliner_error *error) {
    *text = NULL;
    popliner_status status = pl_analysis_begin(analysis, model, error);
    return status == POPLINER_OK ? pl_analysis_make_meter(analysis, model, error) : status;
}

popliner_status popliner_report_memory_totals(popliner_analysis *analysis, char delimiter,
                                              char **text, popliner_error *error) {
    const popliner_memory_model model = POPLINER_MEMORY_MODEL_POPLINER;
    popliner_status status = begin(analysis, model, text, error);
    if (status == POPLINER_OK)
        status = pl_report_memory_totals(analysis->profile, analysis->operations,
                                         analysis->models[model].meter, delimiter, text, error);
    return status;
}

popliner_status popliner_report_operations(popliner_analysis *analysis, popliner_memory_model model,
                                           char delimiter, char **text, popliner_error *error) {
    popliner_status status = begin(analysis, model, text, error);
    if (status == POPLINER_OK)
        status = pl_report_operations(analysis->operations, analysis->layers,
                                      analysis->models[model].meter, &analysis->listener, delimiter,
                                      text, error);
    return status;
}

popliner_status popliner_report_layers(popliner_analysis *analysis, popliner_memory_model model,
                                       char delimiter, char **text, popliner_error *error) {
    popliner_status status = begin(analysis, model, text, error);
    if (status == POPLINER_OK)
        status = pl_report_layers(analysis->models[model].chain, analysis->models[model].meter,
                                  delimiter, text, error);
    return status;
}
