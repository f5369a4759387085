/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "costs/costs.h"

/* ---- Variants -------------------------------------------------------------------------------- */

bool pl_variant_choice_is_better(const pl_variant_choice *own, const pl_variant_choice *other,
                                 bool by_cycles) {
    if (by_cycles && own->cycles != other->cycles)
        return own->cycles < other->cycles;
    return own->peak_bytes < other->peak_bytes;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

size_t pl_choices_place(const pl_choices *choices, bool follows_split, size_t num_stages,
                        size_t stage) {
    const pl_variants *v = choices->variants;
    if (v != NULL && follows_split && pl_pipeline_holds_recomputed(&v->pipeline))
        return pl_place_of(num_stages, stage);
    return follows_split ? num_stages : num_stages - stage;
}

popliner_status pl_ways_join(popliner_costs *const *costs, const char *const *names, size_t count,
                             popliner_error *error) {
    pl_choices *made = calloc(1, sizeof *made);
    popliner_costs **own_costs = pl_new_array(count, sizeof *own_costs);
    const char **own_names = pl_new_array(count, sizeof *own_names);
    if (made == NULL || own_costs == NULL || own_names == NULL) {
        for (size_t i = 1; i < count; ++i)
            popliner_costs_free(costs[i]);
        free(made);
        free(own_costs);
        free(own_names);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    memcpy(own_costs, costs, count * sizeof *own_costs);
    memcpy(own_names, names, count * sizeof *own_names);
    made->ways = (pl_ways){(const popliner_costs *const *)own_costs, own_names, count};
    costs[0]->choices = made;
    return POPLINER_OK;
}

void pl_ways_part(popliner_costs *costs) {
    pl_choices *own = (pl_choices *)costs->choices;
    if (own == NULL || own->variants != NULL)
        return;
    for (size_t i = 1; i < own->ways.count; ++i)
        popliner_costs_free((popliner_costs *)own->ways.costs[i]);
    free((popliner_costs **)own->ways.costs);
    free((const char **)own->ways.names);
    free(own);
}
