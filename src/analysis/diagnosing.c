/* The diagnosis of an analysis, and what layers share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/unit_usage.h"
#include "model/layers.h"

static popliner_status diagnose_in_turn(popliner_analysis *analysis,
                                        const popliner_diagnosis_options *options,
                                        pl_diagnosis **diagnosis, popliner_error *error) {
    popliner_analysis *a = analysis;
    popliner_diagnosis_options o = POPLINER_DIAGNOSIS_OPTIONS_INIT;
    pl_diagnosis *made = NULL;
    double start = pl_clock_seconds();
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
        free(made); /* it is empty */
        return status;
    }
    pl_diagnosis_summarise(made);
    made->profile = a->profile;
    made->operations = a->operations;
    made->info = a->info;
    made->option_names = a->option_names;
    pl_step(&a->listener, "Diagnosing", start);
    *diagnosis = made;
    return POPLINER_OK;
}

popliner_status popliner_analysis_diagnose(popliner_analysis *analysis,
                                           const popliner_diagnosis_options *options,
                                           popliner_diagnosis **diagnosis, popliner_error *error) {
    *diagnosis = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    pl_diagnosis *made = NULL;
    status = diagnose_in_turn(analysis, options, &made, error);
    *diagnosis = made == NULL ? NULL : &made->summary;
    return pl_analysis_leave(analysis, status);
}

popliner_status pl_analysis_keep_diagnosis(popliner_analysis *a, popliner_memory_model model,
                                           const pl_diagnosis **diagnosis, popliner_error *error) {
    pl_diagnosis **kept = &a->models[model].diagnosis;
    popliner_status status = POPLINER_OK;
    if (*kept == NULL) {
        popliner_diagnosis_options options = POPLINER_DIAGNOSIS_OPTIONS_INIT;
        options.memory_model = model;
        status = diagnose_in_turn(a, &options, kept, error);
    }
    *diagnosis = *kept;
    return status;
}

/* Returns the usage by operation, if the chain of a memory model has it. */
static const pl_operation_usage *known_usage(const popliner_analysis *a) {
    const pl_operation_usage *usage = NULL;
    for (size_t i = 0; i < sizeof a->models / sizeof *a->models && usage == NULL; i++)
        usage = a->models[i].chain != NULL ? a->models[i].chain->usage : NULL;
    return usage;
}

popliner_status pl_analysis_pair_layers(popliner_analysis *a, const pl_sharing **sharing,
                                        popliner_error *error) {
    const pl_layers *layers;
    popliner_status status = pl_analysis_layers(a, &layers, error);
    if (status == POPLINER_OK && a->sharing.affinity_bytes == NULL) {
        status = pl_analysis_load_variables(a, error);
        if (status == POPLINER_OK)
            status = pl_sharing_measure(a->profile, a->operations, layers, known_usage(a),
                                        &a->sharing, error);
    }
    *sharing = status == POPLINER_OK ? &a->sharing : NULL;
    return status;
}
