/* What an analysis tells of itself: the diagnosis, and what layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include "base/clock.h"
#include "base/failure.h"

popliner_status popliner_analysis_diagnose(popliner_analysis *analysis, popliner_memory_model model,
                                           const popliner_diagnosis_options *options,
                                           popliner_diagnosis *diagnosis, popliner_error *error) {
    double start = pl_clock_seconds();
    popliner_status status = pl_analysis_begin(analysis, model, error);
    if (status == POPLINER_OK)
        status = pl_analysis_make_meter(analysis, model, error);
    if (status == POPLINER_OK)
        status = popliner_diagnose(analysis->profile, analysis->operations, analysis->layers,
                                   analysis->models[model].chain, analysis->models[model].meter,
                                   options, diagnosis, error);
    if (status == POPLINER_OK)
        pl_step(&analysis->listener, "Diagnosing", start);
    return status;
}

popliner_status popliner_analysis_share(popliner_analysis *analysis, popliner_sharing *sharing,
                                        popliner_error *error) {
    const popliner_layers *layers;
    popliner_status status = popliner_analysis_layers(analysis, &layers, error);
    if (status == POPLINER_OK)
        status = pl_analysis_load_variables(analysis, error);
    if (status == POPLINER_OK)
        status = popliner_sharing_measure(analysis->profile, analysis->operations, layers, sharing,
                                          error);
    return status;
}
