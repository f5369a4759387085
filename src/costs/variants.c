/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "pipeline/moments.h"

/* ---- Variants -------------------------------------------------------------------------------- */

void pl_variants_free(pl_variants *variants) {
    for (size_t i = 0; i < variants->count; ++i)
        free(variants->items[i].name);
    free(variants->items);
    free(variants->arrivals);
    *variants = (pl_variants){0};
}

bool pl_variants_add(pl_variants *variants, pl_variant variant, const char *name, size_t length) {
    if (!pl_grow(&variants->items, &variants->capacity, variants->count + 1,
                 sizeof *variants->items))
        return false;
    variant.name = pl_copy_string(name, length);
    variants->items[variants->count] = variant;
    variants->count += variant.name != NULL;
    return variant.name != NULL;
}

bool pl_variant_choice_is_better(const pl_variant_choice *own, const pl_variant_choice *other,
                                 bool by_cycles) {
    if (by_cycles && own->cycles != other->cycles)
        return own->cycles < other->cycles;
    return own->peak_bytes < other->peak_bytes;
}

/* ---- a stage of units ---- */

pl_variant_counts pl_variants_counts(const pl_variants *v, size_t place) {
    return (pl_variant_counts){pl_pipeline_held(&v->pipeline, place), false};
}

size_t pl_variants_num_moments(const pl_variants *v, size_t place) {
    size_t count = 1;
    if (v->moments != NULL)
        pl_moments_of(v->moments, place, &count);
    return count;
}

void pl_variants_counts_then(const pl_variants *v, size_t place, size_t num_moments,
                             pl_variant_counts *counts) {
    size_t count;
    counts[0] = pl_variants_counts(v, place);
    if (v->moments == NULL || num_moments == 0)
        return;
    const pl_held *held = pl_moments_of(v->moments, place, &count);
    held += pl_moments_chunk(v->moments, place);
    for (size_t i = 0; i < num_moments; ++i, held += v->moments->num_chunks) {
        counts[i] = (pl_variant_counts){*held, held->sets == 0 && v->has_working_set};
        if (held->sets > 0)
            --counts[i].held.sets;
        else if (!v->has_working_set)
            counts[i].held.kept -= held->kept > 0;
    }
}

void pl_variant_add(pl_variant *sum, const pl_variant *other) {
    sum->memory_bytes += other->memory_bytes;
    sum->stash_bytes += other->stash_bytes;
    sum->set_bytes += other->set_bytes;
    sum->running_bytes += other->running_bytes;
    sum->cycles = pl_add_or_never(sum->cycles, other->cycles);
}

pl_variant_stage pl_variant_stage_begin(const pl_variants *v, size_t first_unit) {
    pl_variant_stage s = {.variants = v, .first_unit = first_unit, .end = first_unit};
    while (s.arrival < v->num_arrivals && v->arrivals[s.arrival].unit < first_unit)
        ++s.arrival;
    return s;
}

void pl_variant_stage_extend(pl_variant_stage *s, size_t end) {
    const pl_variants *v = s->variants;
    for (; s->end < end; ++s->end) {
        for (; s->arrival < v->num_arrivals && v->arrivals[s->arrival].unit == s->end;
             ++s->arrival) {
            const pl_arrival *arrival = &v->arrivals[s->arrival];
            bool is_new =
                arrival->begins_after == SIZE_MAX || s->first_unit > arrival->begins_after;
            s->shared_bytes += is_new ? arrival->bytes : 0;
        }
        pl_variant_add(&s->units, &v->items[v->first[s->end]]);
        s->units.cycles += v->recompute_cycles[s->end];
    }
}

uint64_t pl_variant_stage_cut_cycles(const pl_variant_stage *s) {
    return s->variants->cut_cycles[s->first_unit] + s->variants->cut_cycles[s->end];
}

pl_variant pl_variant_stage_full(const pl_variant_stage *s) {
    const uint64_t inputs = s->variants->inputs_bytes[s->first_unit];
    pl_variant full = s->units;
    full.stash_bytes = inputs;
    full.set_bytes = pl_larger(full.set_bytes, inputs);
    full.cycles += pl_variant_stage_cut_cycles(s);
    return full;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

size_t pl_choices_place(const pl_choices *choices, bool follows_split, size_t num_stages,
                        size_t stage) {
    const pl_variants *v = choices->variants;
    if (v != NULL && follows_split && pl_pipeline_holds_recomputed(&v->pipeline))
        return pl_place_of(num_stages, stage);
    return follows_split ? num_stages : num_stages - stage;
}

bool pl_choices_store_the_same(const pl_choices *choices, size_t place, size_t other) {
    const pl_variants *v = choices->variants;
    bool is_so = v == NULL || pl_variant_counts_equal(pl_variants_counts(v, place),
                                                      pl_variants_counts(v, other));
    for (size_t i = 0; is_so && i < choices->ways.count; ++i)
        is_so = choices->ways.costs[i]->max_stages_to_end == 1;
    return is_so || place == other;
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
