/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/coverage.h"

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/suggestion.h"
#include "model/layers_data.h"

popliner_status pl_diagnose_coverage(const popliner_operations *operations,
                                     const popliner_layers *layers, popliner_diagnosis *d,
                                     popliner_error *error) {
    size_t capacity = 0;
    d->num_operations = popliner_operations_count(operations);
    for (size_t i = 0; i < d->num_operations; i++) {
        const popliner_layer_finding *layer = pl_layer_at(layers, i);
        popliner_coverage found = {
            .rule = layer->rule, .num_named = layer->num_named, .note = layer->note};
        size_t place = 0;
        while (place < d->num_coverage && (d->coverage[place].rule != found.rule ||
                                           d->coverage[place].num_named != found.num_named))
            place++;
        if (place == d->num_coverage) {
            if (!pl_grow(&d->coverage, &capacity, place + 1, sizeof *d->coverage))
                return pl_fail_memory(error, "the diagnosis");
            d->coverage[d->num_coverage++] = found;
        }
        d->coverage[place].num_operations++;
    }
    size_t num_found = 0;
    for (size_t i = 0; i < d->num_operations; i++)
        num_found += pl_layers_unit_of(layers, i) > 0;
    if (!popliner_operations_are_of_framework(operations) || num_found * 2 >= d->num_operations)
        return POPLINER_OK; /* nothing to suggest */
    return pl_suggest_regex(operations, layers, &d->suggestion, error);
}
