/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <stdlib.h>

#include "base/failure.h"
#include "diagnosis/bottleneck.h"
#include "diagnosis/categories.h"
#include "diagnosis/coverage.h"
#include "diagnosis/explained.h"
#include "diagnosis/missing.h"
#include "diagnosis/program_types.h"
#include "model/layers_data.h"
#include "model/operations_data.h"

/* The range of steps that the original shows. */
static void find_steps(const pl_explained *explained, popliner_diagnosis *d) {
    bool has_layer = false;
    d->first_step = 1; /* no step, unless an operation counts */
    d->last_step = 0;
    for (size_t i = 0; i < explained->num_counted; i++) {
        const popliner_operation *operation =
            pl_operation_at(explained->operations, explained->counted[i]);
        bool in_layer = pl_layers_unit_of(explained->layers, explained->counted[i]) > 0;
        if (i == 0 || (in_layer && !has_layer))
            d->first_step = operation->first_step;
        has_layer = has_layer || in_layer;
        d->last_step = operation->last_step;
    }
}

popliner_status pl_diagnose(const pl_diagnosis_subject *subject,
                            const popliner_diagnosis_options *options,
                            popliner_diagnosis *diagnosis, popliner_error *error) {
    const popliner_chain *chain = subject->chain;
    pl_diagnosis_clear(diagnosis);
    if (options->first_unit >= chain->num_units || options->first_unit > options->last_unit)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the diagnosis of units %zu to %zu: the chain has units 0 to %zu",
                       options->first_unit, options->last_unit, chain->num_units - 1);
    diagnosis->model = chain->model->id;
    diagnosis->layer_operations_only = options->layer_operations_only;
    diagnosis->program_name = "";
    pl_explained explained = {.profile = subject->profile,
                              .operations = subject->operations,
                              .layers = subject->layers,
                              .chain = chain};
    popliner_status status =
        pl_explained_find(&explained, subject->meter, options->layer_operations_only, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_program_types(&explained, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_categories(&explained, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_bottleneck(&explained, options, diagnosis, error);
    if (status == POPLINER_OK)
        status = pl_diagnose_coverage(subject->operations, subject->layers, diagnosis, error);
    if (status == POPLINER_OK)
        find_steps(&explained, diagnosis);
    pl_explained_free(&explained);
    if (status != POPLINER_OK)
        pl_diagnosis_clear(diagnosis);
    return status;
}

void pl_diagnosis_clear(popliner_diagnosis *diagnosis) {
    for (size_t i = 0; i < diagnosis->num_program_types; i++)
        free((uint32_t *)diagnosis->programs[i].missing);
    free(diagnosis->programs);
    free(diagnosis->categories);
    pl_missing_list_clear(&diagnosis->missing_here);
    pl_missing_list_clear(&diagnosis->missing_everywhere);
    free(diagnosis->coverage);
    *diagnosis = (popliner_diagnosis){0};
}

/* ---- what programs call ---- */

void pl_diagnosis_summarise(popliner_diagnosis *d) {
    d->summary = (popliner_diagnosis_summary){
        .model = d->model,
        .layer_operations_only = d->layer_operations_only,
        .num_program_types = d->num_program_types,
        .num_categories = d->num_categories,
        .num_operations = d->num_operations,
        .num_coverage = d->num_coverage,
        .num_missing_here = d->missing_here.count,
        .num_missing_everywhere = d->missing_everywhere.count,
        .tile = d->tile,
        .step = d->step,
        .truth_bytes = d->truth_bytes,
        .explained_bytes = d->explained_bytes,
        .program_name = d->program_name,
        .model_tile = d->model_tile,
        .model_step = d->model_step,
        .model_bytes = d->model_bytes,
        .tiles_off = d->tiles_off,
        .first_step = d->first_step,
        .last_step = d->last_step,
        .suggested_regex = d->suggestion.regex,
        .suggestion_example = d->suggestion.example,
        .suggested_layers = d->suggestion.num_layers,
    };
}

const popliner_diagnosis_summary *
popliner_diagnosis_get_summary(const popliner_diagnosis *diagnosis) {
    return &diagnosis->summary;
}

const popliner_diagnosis_programs *
popliner_diagnosis_programs_at(const popliner_diagnosis *diagnosis, size_t i) {
    return i < diagnosis->num_program_types ? &diagnosis->programs[i] : NULL;
}

const popliner_diagnosis_category *
popliner_diagnosis_category_at(const popliner_diagnosis *diagnosis, size_t i) {
    return i < diagnosis->num_categories ? &diagnosis->categories[i] : NULL;
}

const popliner_coverage *popliner_diagnosis_coverage_at(const popliner_diagnosis *diagnosis,
                                                        size_t i) {
    return i < diagnosis->num_coverage ? &diagnosis->coverage[i] : NULL;
}

const popliner_missing_variable *popliner_diagnosis_missing_at(const popliner_diagnosis *diagnosis,
                                                               popliner_missing_place place,
                                                               size_t i) {
    const popliner_missing_variables *list = NULL;
    switch (place) {
    case POPLINER_MISSING_PLACE_HERE:
        list = &diagnosis->missing_here;
        break;
    case POPLINER_MISSING_PLACE_EVERYWHERE:
        list = &diagnosis->missing_everywhere;
        break;
    }
    return list != NULL && i < list->count ? &list->items[i] : NULL;
}

void popliner_diagnosis_free(popliner_diagnosis *diagnosis) {
    if (diagnosis == NULL)
        return;
    pl_diagnosis_clear(diagnosis);
    free(diagnosis);
}
