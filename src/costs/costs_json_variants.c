/* What stages may choose from: units or intervals as they are, their variants, and full
 * recomputation.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "costs/variants.h"

static popliner_status add(pl_costs_json *r, size_t interval, pl_variant variant,
                           const char *name) {
    pl_variants *v = &r->file->variants;
    if (!pl_grow(&r->variant_interval, &r->variant_capacity, v->count + 1,
                 sizeof *r->variant_interval) ||
        !pl_variants_add(v, variant, name, strlen(name)))
        return pl_costs_json_fail_memory(r);
    r->variant_interval[v->count - 1] = interval;
    return POPLINER_OK;
}

/* A variant has what `own` has, but for what it says itself. */
static popliner_status read_variant(pl_costs_json *r, const pl_json_place *place,
                                    const json_t *value, size_t interval, pl_variant variant) {
    static const char *const keys[] = {"memory", "stash"};
    uint64_t *const bytes[] = {&variant.memory_bytes, &variant.stash_bytes};
    const json_t *cycles = json_object_get(value, "cycles");
    pl_json_place name_place = pl_place("%s.name", place->text);
    pl_json_place cycles_place = pl_place("%s.cycles", place->text);
    const char *name = NULL;
    popliner_status status = pl_costs_json_check_keys(r, PL_COSTS_KEYS_VARIANT, place, value);
    if (status == POPLINER_OK)
        status = pl_json_text(&r->json, &name_place, json_object_get(value, "name"), &name);
    for (size_t k = 0; status == POPLINER_OK && k < 2; ++k)
        if (json_object_get(value, keys[k]) != NULL)
            status = pl_costs_json_additive_bytes(r, place, value, keys[k], bytes[k]);
    if (status == POPLINER_OK && cycles != NULL)
        status = pl_costs_json_cycles(r, &cycles_place, cycles, &variant.cycles);
    if (status == POPLINER_OK)
        status = pl_costs_json_add_up_cycles(r, &cycles_place, variant.cycles);
    return status == POPLINER_OK ? add(r, interval, variant, name) : status;
}

/* All of an owner's "variants". */
static popliner_status read_variants(pl_costs_json *r, const char *owner, size_t i,
                                     const json_t *value, size_t interval, pl_variant own) {
    const json_t *list = json_object_get(value, "variants");
    pl_json_place list_place = pl_place("%s[%zu].variants", owner, i);
    if (list == NULL)
        return POPLINER_OK;
    popliner_status status = pl_json_array(&r->json, &list_place, list);
    if (status == POPLINER_OK && r->num_regions > 1)
        status =
            pl_json_refuse(&r->json, &list_place,
                           "variants are known for one region, but there are %zu", r->num_regions);
    for (size_t k = 0; status == POPLINER_OK && k < json_array_size(list); ++k) {
        pl_json_place place = pl_place("%s[%zu].variants[%zu]", owner, i, k);
        status = read_variant(r, &place, json_array_get(list, k), interval, own);
    }
    return status;
}

popliner_status pl_costs_json_read_unit_variants(pl_costs_json *r, size_t unit,
                                                 const json_t *value) {
    pl_variants *v = &r->file->variants;
    const json_t *more = json_object_get(value, "recompute_cycles");
    pl_json_place more_place = pl_place("units[%zu].recompute_cycles", unit);
    size_t row = unit * r->num_regions;
    const pl_variant own = {r->memory[row], r->stash[row], r->cycles[unit], NULL};
    popliner_status status = POPLINER_OK;
    if (more != NULL)
        status = pl_costs_json_cycles(r, &more_place, more, &r->recompute_cycles[unit]);
    if (status == POPLINER_OK)
        status = pl_costs_json_add_up_cycles(r, &more_place, r->recompute_cycles[unit]);
    if (status == POPLINER_OK)
        status = add(r, unit, own, "none");
    if (status == POPLINER_OK)
        status = read_variants(r, "units", unit, value, unit, own);
    v->has_full = v->has_full || json_object_get(value, "inputs") != NULL;
    return status;
}

popliner_status pl_costs_json_read_interval_variants(pl_costs_json *r, size_t i,
                                                     const json_t *value, size_t interval,
                                                     uint64_t cycles) {
    const json_t *more = json_object_get(value, "recompute_cycles");
    pl_json_place more_place = pl_place("intervals[%zu].recompute_cycles", i);
    const uint64_t *bytes = r->interval_bytes;
    const pl_variant own = {bytes[0], bytes[r->num_regions], cycles, NULL};
    pl_variant full = {bytes[0], bytes[2 * r->num_regions], cycles, NULL};
    uint64_t more_cycles = 0;
    popliner_status status = add(r, interval, own, "none");
    if (status == POPLINER_OK && more != NULL)
        status = pl_costs_json_cycles(r, &more_place, more, &more_cycles);
    full.cycles += more_cycles;
    if (status == POPLINER_OK && full.cycles > POPLINER_MAX_CYCLES)
        status = pl_json_refuse(&r->json, &more_place, "too many, with the cycles of the interval");
    if (status == POPLINER_OK && json_object_get(value, "inputs") != NULL)
        status = add(r, interval, full, "full");
    /* the bytes of intervals do not add up */
    uint64_t *sums = r->sum_bytes;
    uint64_t sum_cycles = r->sum_cycles;
    memset(sums, 0, r->num_regions * sizeof *sums);
    if (status == POPLINER_OK)
        status = read_variants(r, "intervals", i, value, interval, own);
    r->sum_cycles = sum_cycles;
    return status;
}

static int compare_arrivals(const void *left, const void *right) {
    const pl_variant_arrival *a = left;
    const pl_variant_arrival *b = right;
    return (a->unit > b->unit) - (a->unit < b->unit);
}

/* Shared memory arrives with each of its units in a stage that begins behind the one before. */
static bool add_arrivals(pl_variants *v, const pl_additive_costs *a) {
    for (size_t i = 0; i < a->num_shared; ++i)
        for (size_t k = 0; k < a->shared[i].num_units; ++k) {
            if (!pl_grow(&v->arrivals, &v->arrivals_capacity, v->num_arrivals + 1,
                         sizeof *v->arrivals))
                return false;
            v->arrivals[v->num_arrivals++] = (pl_variant_arrival){
                a->shared[i].units[k], k == 0 ? SIZE_MAX : a->shared[i].units[k - 1],
                a->shared[i].bytes[0]};
        }
    if (v->num_arrivals > 0)
        qsort(v->arrivals, v->num_arrivals, sizeof *v->arrivals, compare_arrivals);
    return true;
}

/* Puts the variants in the order of their units or intervals, those of each as they were. */
static bool order(pl_costs_json *r, pl_variants *v, size_t num_owners) {
    pl_variant *sorted = pl_new_array(v->count, sizeof *sorted);
    size_t *next = pl_new_array(num_owners + 1, sizeof *next);
    v->first = pl_new_array(num_owners + 1, sizeof *v->first);
    bool memory = sorted != NULL && next != NULL && v->first != NULL;
    for (size_t i = 0; memory && i < v->count; ++i)
        ++v->first[r->variant_interval[i] + 1];
    for (size_t i = 0; memory && i < num_owners; ++i)
        v->first[i + 1] += v->first[i];
    if (memory) {
        memcpy(next, v->first, (num_owners + 1) * sizeof *next);
        for (size_t i = 0; i < v->count; ++i)
            sorted[next[r->variant_interval[i]]++] = v->items[i];
        free(v->items);
        v->items = sorted;
        v->capacity = v->count;
        sorted = NULL;
    }
    free(sorted);
    free(next);
    return memory;
}

popliner_status pl_costs_json_finish_variants(pl_costs_json *r, bool is_listed) {
    pl_variants *v = &r->file->variants;
    pl_json_place place = pl_place("regions");
    size_t n = r->num_units;
    if (r->num_regions > 1)
        return pl_json_refuse(&r->json, &place,
                              "stages choose how they recompute for one region, but there are %zu",
                              r->num_regions);
    v->num_units = n;
    v->is_listed = is_listed;
    v->pipeline = r->pipeline;
    v->max_stages = pl_costs_max_stages_to_end(r->file->costs);
    v->capacity_bytes = r->file->additive.capacity_bytes[0];
    v->inputs_bytes = pl_new_array(n, sizeof *v->inputs_bytes);
    bool memory = v->inputs_bytes != NULL && add_arrivals(v, &r->file->additive) &&
                  order(r, v, is_listed ? pl_triangle_size(n) : n);
    if (!memory)
        return pl_costs_json_fail_memory(r);
    memcpy(v->inputs_bytes, r->file->additive.inputs, n * sizeof *v->inputs_bytes);
    v->recompute_cycles = r->recompute_cycles;
    v->cut_cycles = r->cut_cycles;
    r->recompute_cycles = r->cut_cycles = NULL;
    return POPLINER_OK;
}
