/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/grown.h"

#include "base/failure.h"

#include <assert.h>

bool pl_costs_grow(const popliner_costs *costs, uint64_t *most_tokens) {
    bool do_grow = false;
    *most_tokens = 0;
    for (size_t unit = 0; costs->kv_bytes != NULL && unit < costs->num_units; ++unit) {
        const uint64_t most = costs->kv_tokens != NULL ? costs->kv_tokens[unit] : UINT64_MAX;
        if (costs->kv_bytes[unit] == 0)
            continue;
        do_grow = true;
        *most_tokens = most > *most_tokens ? most : *most_tokens;
    }
    return do_grow;
}

/* Returns what a unit grows by, so limited that no sum of all units overflows. */
static uint64_t growth_of(const popliner_costs *costs, size_t unit, uint64_t tokens) {
    const uint64_t most = costs->kv_tokens != NULL ? costs->kv_tokens[unit] : UINT64_MAX;
    const uint64_t bytes = costs->kv_bytes[unit];
    const uint64_t limit = (POPLINER_PEAK_FORBIDDEN >> 2) / costs->num_units;
    tokens = tokens < most ? tokens : most;
    return bytes > 0 && tokens > limit / bytes ? limit : tokens * bytes;
}

uint64_t pl_grown_costs_bytes(const pl_grown_costs *grown, size_t first_unit, size_t last_unit) {
    return grown->before[last_unit + 1] - grown->before[first_unit];
}

/* Grows the variants of units. */
static bool grow_variants(pl_grown_costs *grown, const pl_choices *choices) {
    pl_variants *own = &grown->variants;
    *own = *choices->variants;
    own->items = pl_arrays_copy(&grown->arrays, own->items, own->count, sizeof *own->items);
    for (size_t unit = 0; own->items != NULL && unit < own->num_units; ++unit)
        for (size_t i = own->first[unit]; i < own->first[unit + 1]; ++i)
            own->items[i].memory_bytes = pl_add_or_never(own->items[i].memory_bytes,
                                                         pl_grown_costs_bytes(grown, unit, unit));
    grown->choices = *choices;
    grown->choices.variants = own;
    grown->costs.choices = &grown->choices;
    return own->items != NULL;
}

popliner_status pl_grown_costs_create(pl_grown_costs *grown, const popliner_costs *costs,
                                      uint64_t tokens, popliner_error *error) {
    const pl_choices *choices = costs->choices;
    assert(choices == NULL || choices->ways.count == 0);
    grown->costs = *costs;
    grown->costs.peak_parts = NULL; /* of the table that grew */
    grown->before = pl_arrays_new(&grown->arrays, costs->num_units + 1, sizeof *grown->before);
    for (size_t unit = 0; grown->before != NULL && unit < costs->num_units; ++unit)
        grown->before[unit + 1] = grown->before[unit] + growth_of(costs, unit, tokens);
    grown->costs.grown_before = grown->before;
    if (grown->before == NULL ||
        (choices != NULL && choices->variants != NULL && !grow_variants(grown, choices)))
        return pl_fail_memory(error, "the costs of more tokens");
    return POPLINER_OK;
}

void pl_grown_costs_free(pl_grown_costs *grown) {
    pl_arrays_free(&grown->arrays);
    *grown = (pl_grown_costs){0};
}
