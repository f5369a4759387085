/* What an analysis tells of itself: the diagnosis, and what layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/failure.h"
#include "base/structs.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/sharing.h"

popliner_status popliner_analysis_diagnose(popliner_analysis *analysis,
                                           const popliner_diagnosis_options *options,
                                           popliner_diagnosis **diagnosis, popliner_error *error) {
    popliner_analysis *a = analysis;
    popliner_diagnosis_options o = POPLINER_DIAGNOSIS_OPTIONS_INIT;
    popliner_diagnosis *made = NULL;
    double start = pl_clock_seconds();
    *diagnosis = NULL;
    popliner_status status =
        pl_struct_take(&o, sizeof o, options, "popliner_diagnosis_options", error);
    if (status == POPLINER_OK)
        status = pl_analysis_begin(a, o.memory_model, error);
    if (status == POPLINER_OK)
        status = pl_analysis_make_meter(a, o.memory_model, error);
    if (status == POPLINER_OK && (made = calloc(1, sizeof *made)) == NULL)
        status = pl_fail_memory(error, "the diagnosis");
    if (status == POPLINER_OK) {
        const pl_model_parts *parts = &a->models[o.memory_model];
        const pl_diagnosis_subject subject = {a->profile, a->operations, a->layers, parts->chain,
                                              parts->meter};
        status = pl_diagnose(&subject, &o, made, error);
    }
    if (status != POPLINER_OK) {
        free(made); /* which is empty */
        return status;
    }
    pl_diagnosis_summarise(made);
    made->profile = a->profile;
    made->operations = a->operations;
    made->info = a->info;
    pl_step(&a->listener, "Diagnosing", start);
    *diagnosis = made;
    return POPLINER_OK;
}

/* Pairs of layers, and whose tables they are. */
typedef struct layer_pairs {
    popliner_layer_pairs shown;
    pl_sharing sharing;
} layer_pairs;

popliner_status popliner_analysis_pair_layers(popliner_analysis *analysis,
                                              popliner_layer_pairs **pairs, popliner_error *error) {
    const popliner_layers *layers;
    *pairs = NULL;
    popliner_status status = popliner_analysis_layers(analysis, &layers, error);
    if (status == POPLINER_OK)
        status = pl_analysis_load_variables(analysis, error);
    if (status != POPLINER_OK)
        return status;
    layer_pairs *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the tables of layers");
    status =
        pl_sharing_measure(analysis->profile, analysis->operations, layers, &made->sharing, error);
    if (status != POPLINER_OK) {
        free(made); /* which is empty */
        return status;
    }
    made->shown = (popliner_layer_pairs){made->sharing.num_layers, made->sharing.affinity_bytes,
                                         made->sharing.communication_bytes};
    *pairs = &made->shown;
    return POPLINER_OK;
}

void popliner_layer_pairs_free(popliner_layer_pairs *pairs) {
    layer_pairs *own = (layer_pairs *)pairs; /* its first member */
    if (own == NULL)
        return;
    pl_sharing_clear(&own->sharing);
    free(own);
}
