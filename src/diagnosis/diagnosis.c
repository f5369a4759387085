/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/diagnosis.h"

#include <stdlib.h>

#include "base/failure.h"
#include "diagnosis/bottleneck.h"
#include "diagnosis/categories.h"
#include "diagnosis/coverage.h"
#include "diagnosis/explained.h"
#include "diagnosis/program_types.h"

/* The range of steps that the original shows. */
static void find_steps(const pl_explained *explained, popliner_diagnosis *d) {
    bool has_layer = false;
    d->first_step = 1; /* no step, unless an operation counts */
    d->last_step = 0;
    for (size_t i = 0; i < explained->num_counted; i++) {
        popliner_operation operation =
            popliner_operations_get(explained->operations, explained->counted[i]);
        bool in_layer = popliner_layers_unit_of(explained->layers, explained->counted[i]) > 0;
        if (i == 0 || (in_layer && !has_layer))
            d->first_step = operation.first_step;
        has_layer = has_layer || in_layer;
        d->last_step = operation.last_step;
    }
}

popliner_status popliner_diagnose(const popliner_profile *profile,
                                  const popliner_operations *operations,
                                  const popliner_layers *layers, const popliner_chain *chain,
                                  popliner_stage_meter *meter,
                                  const popliner_diagnosis_options *options,
                                  popliner_diagnosis *diagnosis, popliner_error *error) {
    static const popliner_diagnosis_options defaults = {.last_unit = SIZE_MAX};
    options = options != NULL ? options : &defaults;
    popliner_diagnosis_clear(diagnosis);
    if (options->first_unit >= chain->num_units || options->first_unit > options->last_unit)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the diagnosis of units %zu to %zu: the chain has units 0 to %zu",
                       options->first_unit, options->last_unit, chain->num_units - 1);
    diagnosis->model = chain->model->id;
    diagnosis->layer_operations_only = options->layer_operations_only;
    diagnosis->program_name = "";
    pl_explained explained = {
        .profile = profile, .operations = operations, .layers = layers, .chain = chain};
    popliner_status status =
        pl_explained_find(&explained, meter, options->layer_operations_only, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_program_types(&explained, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_categories(&explained, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_bottleneck(&explained, options, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_coverage(operations, layers, diagnosis, error);
    if (status == POPLINER_OK)
        find_steps(&explained, diagnosis);
    pl_explained_free(&explained);
    if (status != POPLINER_OK)
        popliner_diagnosis_clear(diagnosis);
    return status;
}

void popliner_diagnosis_clear(popliner_diagnosis *diagnosis) {
    for (size_t i = 0; i < diagnosis->num_program_types; i++)
        free(diagnosis->programs[i].missing);
    free(diagnosis->programs);
    free(diagnosis->categories);
    free(diagnosis->missing_here.items);
    free(diagnosis->missing_everywhere.items);
    free(diagnosis->coverage);
    *diagnosis = (popliner_diagnosis){0};
}
