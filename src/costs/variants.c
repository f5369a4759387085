/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/variants.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "pipeline/pipeline.h"

/* ---- Variants -------------------------------------------------------------------------------- */

enum { MAX_POINTS = 1 << 22 };

/* A Pareto-optimal choice for the units of a stage so far: more cycles than the point before it,
 * fewer bytes. */
typedef struct point {
    uint64_t cycles;
    uint64_t bytes;
    uint32_t parent; /* the point of the units before the last one */
    uint32_t variant;
} point;

/* A stage that grows unit by unit, in one place of the pipeline. */
typedef struct row {
    const pl_variants *variants;
    size_t copies;
    uint64_t max_cycles;
    uint64_t max_bytes;
    size_t first_unit;
    size_t end;    /* one past the last unit */
    point *points; /* of all units so far, those of the last unit at the end */
    size_t count;
    size_t capacity;
    size_t current;   /* where the points of the last unit begin */
    size_t arrival;   /* the next one */
    bool wants_least; /* only the smallest peak is needed */
    uint64_t shared_bytes;
    uint64_t full_bytes; /* if all units are recomputed */
    uint64_t full_cycles;
} row;

void pl_variants_free(pl_variants *variants) {
    for (size_t i = 0; i < variants->count; ++i)
        free(variants->items[i].name);
    free(variants->items);
    free(variants->first);
    free(variants->inputs_bytes);
    free(variants->recompute_cycles);
    free(variants->cut_cycles);
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

/* ---- a stage of units ---- */

static int compare_points(const void *left, const void *right) {
    const point *a = left;
    const point *b = right;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    /* a total order, so that the result does not depend on qsort */
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return (a->variant > b->variant) - (a->variant < b->variant);
}

static void begin_row(row *r, size_t first_unit) {
    const pl_variants *v = r->variants;
    r->first_unit = r->end = first_unit;
    r->count = r->current = 0;
    r->shared_bytes = r->full_bytes = r->full_cycles = 0;
    r->arrival = 0;
    while (r->arrival < v->num_arrivals && v->arrivals[r->arrival].unit < first_unit)
        ++r->arrival;
    if (v->has_full)
        r->full_bytes = r->copies * v->inputs_bytes[first_unit];
}

/* Drops the points from `from` on that another point beats. */
static void keep_compromises(row *r, size_t from) {
    size_t kept = from;
    qsort(r->points + from, r->count - from, sizeof *r->points, compare_points);
    for (size_t i = from; i < r->count; ++i)
        if (kept == from || r->points[i].bytes < r->points[kept - 1].bytes)
            r->points[kept++] = r->points[i];
    if (r->wants_least && kept > from) {
        r->points[from] = r->points[kept - 1];
        kept = from + 1;
    }
    r->count = kept;
}

/* Adds the next unit to the stage. */
static popliner_status extend_row(row *r, popliner_error *error) {
    const pl_variants *v = r->variants;
    size_t unit = r->end++;
    size_t num_before = r->count - r->current;
    size_t begin = r->current;
    bool is_first = unit == r->first_unit;
    size_t num_own = v->first[unit + 1] - v->first[unit];
    for (; r->arrival < v->num_arrivals && v->arrivals[r->arrival].unit == unit; ++r->arrival) {
        const pl_variant_arrival *arrival = &v->arrivals[r->arrival];
        bool is_new = arrival->begins_after == SIZE_MAX || r->first_unit > arrival->begins_after;
        r->shared_bytes += is_new ? arrival->bytes : 0;
    }
    const pl_variant *own = &v->items[v->first[unit]];
    r->full_bytes += own->memory_bytes;
    r->full_cycles += own->cycles + v->recompute_cycles[unit];
    size_t wanted = r->count + (is_first ? 1 : num_before) * num_own;
    if (wanted > MAX_POINTS)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "units %zu to %zu offer too many choices between memory and cycles; use "
                       "fewer variants, or rounder numbers",
                       r->first_unit, unit);
    if (!pl_grow(&r->points, &r->capacity, wanted, sizeof *r->points))
        return pl_fail_memory(error, "the variants of the stages");
    size_t from = r->count;
    for (size_t i = 0; i < (is_first ? 1 : num_before); ++i)
        for (size_t k = 0; k < num_own; ++k) {
            const point none = {0, 0, 0, 0};
            const point *before = is_first ? &none : &r->points[begin + i];
            point next = {before->cycles + own[k].cycles,
                          before->bytes + own[k].memory_bytes + r->copies * own[k].stash_bytes,
                          (uint32_t)(begin + i), (uint32_t)k};
            if (next.cycles <= r->max_cycles && next.bytes <= r->max_bytes)
                r->points[r->count++] = next;
        }
    r->current = from;
    keep_compromises(r, from);
    return POPLINER_OK;
}

static uint64_t cut_cycles(const row *r) {
    return r->variants->cut_cycles[r->first_unit] + r->variants->cut_cycles[r->end];
}

static bool is_within(const row *r, uint64_t bytes, uint64_t cycles) {
    return bytes <= r->max_bytes && bytes <= r->variants->capacity_bytes && cycles <= r->max_cycles;
}

/* Returns the point within the limits that has the fewest cycles, or else the fewest bytes. Sets
 * *is_full if the whole stage is recomputed, else *place to the index of the point. */
static pl_variant_choice choose_in_row(const row *r, bool by_cycles, bool *is_full, size_t *place) {
    uint64_t full_bytes = r->full_bytes + r->shared_bytes;
    uint64_t full_cycles = r->full_cycles + cut_cycles(r);
    pl_variant_choice best = {0};
    *is_full = false;
    for (size_t i = r->current; i < r->count; ++i) {
        uint64_t bytes = r->points[i].bytes + r->shared_bytes;
        uint64_t cycles = r->points[i].cycles + cut_cycles(r);
        if (!is_within(r, bytes, cycles) || (best.exists && by_cycles))
            continue;
        best = (pl_variant_choice){true, bytes, cycles};
        *place = i;
    }
    bool full_is_better = by_cycles ? full_cycles < best.cycles || (full_cycles == best.cycles &&
                                                                    full_bytes < best.peak_bytes)
                                    : full_bytes < best.peak_bytes;
    if (r->variants->has_full && is_within(r, full_bytes, full_cycles) &&
        (!best.exists || full_is_better)) {
        best = (pl_variant_choice){true, full_bytes, full_cycles};
        *is_full = true;
    }
    return best;
}

/* ---- a listed stage ---- */

static pl_variant_choice choose_listed(const pl_variants *v, const popliner_interval *stage,
                                       size_t copies, uint64_t max_cycles, uint64_t max_bytes,
                                       bool by_cycles, size_t *place) {
    size_t interval = pl_triangle_place(v->num_units, stage->first_unit, stage->last_unit);
    pl_variant_choice best = {0};
    for (size_t i = v->first[interval]; i < v->first[interval + 1]; ++i) {
        uint64_t bytes = v->items[i].memory_bytes + copies * v->items[i].stash_bytes;
        uint64_t cycles = v->items[i].cycles;
        bool is_better =
            by_cycles ? cycles < best.cycles || (cycles == best.cycles && bytes < best.peak_bytes)
                      : bytes < best.peak_bytes;
        if (cycles > max_cycles || bytes > max_bytes || bytes > v->capacity_bytes ||
            (best.exists && !is_better))
            continue;
        best = (pl_variant_choice){true, bytes, cycles};
        *place = i;
    }
    return best;
}

/* ---- tables ---- */

/* Fills the peaks of one place of the pipeline; not all of them if *is_stopped. */
static popliner_status fill_place(const pl_variants *v, size_t to_end,
                                  const pl_variant_limits *limits, popliner_costs *costs,
                                  bool *is_stopped, popliner_error *error) {
    row r = {.variants = v,
             .copies = pl_pipeline_copies(&v->pipeline, to_end),
             .max_cycles = limits->max_cycles,
             .max_bytes = limits->max_bytes,
             .wants_least = limits->max_cycles == UINT64_MAX};
    popliner_status status = POPLINER_OK;
    size_t place;
    bool is_full;
    for (size_t first = 0; status == POPLINER_OK && first < v->num_units; ++first) {
        *is_stopped =
            *is_stopped || (limits->should_stop != NULL && limits->should_stop(limits->user));
        if (*is_stopped)
            break;
        if (!v->is_listed)
            begin_row(&r, first);
        for (size_t last = first; last < v->num_units; ++last) {
            const popliner_interval stage = {first, last, to_end};
            if (!v->is_listed)
                status = extend_row(&r, error);
            if (status != POPLINER_OK)
                break;
            pl_variant_choice choice =
                v->is_listed
                    ? choose_listed(v, &stage, r.copies, r.max_cycles, r.max_bytes, false, &place)
                    : choose_in_row(&r, false, &is_full, &place);
            pl_costs_set_peak(costs, first, last, to_end,
                              choice.exists ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN);
        }
    }
    free(r.points);
    return status;
}

popliner_status pl_variants_costs(const pl_variants *variants, const popliner_costs *like,
                                  const pl_variant_limits *limits, popliner_costs **costs,
                                  popliner_error *error) {
    popliner_costs *made = NULL;
    bool is_stopped = false;
    *costs = NULL;
    popliner_status status =
        popliner_costs_create(variants->num_units, variants->max_stages, &made, error);
    if (status == POPLINER_OK && pl_pipeline_follows_split(&variants->pipeline))
        made->follows_split = true;
    for (size_t to_end = 1; status == POPLINER_OK && to_end <= variants->max_stages; ++to_end)
        status = fill_place(variants, to_end, limits, made, &is_stopped, error);
    for (size_t unit = 1; status == POPLINER_OK && unit < variants->num_units; ++unit)
        pl_costs_set_cut(made, unit, popliner_costs_cut(like, unit));
    if (status != POPLINER_OK || is_stopped) {
        popliner_costs_free(made);
        return status;
    }
    *costs = made;
    return POPLINER_OK;
}

/* ---- choices ---- */

/* Appends the units that use a variant, following the points from the last unit to the first. */
static popliner_status tell_units(const row *r, size_t place, const char *const *unit_names,
                                  pl_text *text, popliner_error *error) {
    size_t count = r->end - r->first_unit;
    uint32_t *variants = pl_new_array(count, sizeof *variants);
    bool has_any = false;
    if (variants == NULL)
        return pl_fail_memory(error, "the variants of the stages");
    for (size_t i = count; i-- > 0; place = r->points[place].parent)
        variants[i] = r->points[place].variant;
    for (size_t i = 0; i < count; ++i) {
        size_t unit = r->first_unit + i;
        if (variants[i] == 0)
            continue;
        pl_text_format(text, "%s%s=%s", has_any ? "," : "", unit_names[unit],
                       r->variants->items[r->variants->first[unit] + variants[i]].name);
        has_any = true;
    }
    if (!has_any)
        pl_text_add(text, "none");
    free(variants);
    return POPLINER_OK;
}

popliner_status pl_variants_choose(const pl_variants *variants, const popliner_interval *stage,
                                   uint64_t max_bytes, const char *const *unit_names,
                                   pl_variant_choice *choice, pl_text *text,
                                   popliner_error *error) {
    const pl_variants *v = variants;
    row r = {.variants = v,
             .copies = pl_pipeline_copies(&v->pipeline, stage->stages_to_end),
             .max_cycles = UINT64_MAX,
             .max_bytes = max_bytes};
    popliner_status status = POPLINER_OK;
    size_t place = 0;
    bool is_full = false;
    if (v->is_listed) {
        *choice = choose_listed(v, stage, r.copies, UINT64_MAX, max_bytes, true, &place);
        if (choice->exists && text != NULL)
            pl_text_add(text, v->items[place].name);
        goto done;
    }
    begin_row(&r, stage->first_unit);
    while (status == POPLINER_OK && r.end <= stage->last_unit)
        status = extend_row(&r, error);
    if (status != POPLINER_OK)
        goto done;
    *choice = choose_in_row(&r, true, &is_full, &place);
    if (choice->exists && text != NULL && is_full)
        pl_text_add(text, "full");
    else if (choice->exists && text != NULL)
        status = tell_units(&r, place, unit_names, text, error);
done:
    free(r.points);
    if (status == POPLINER_OK && text != NULL && text->failed)
        status = pl_fail_memory(error, "the variants of the stages");
    return status;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

popliner_status pl_ways_check(const pl_ways *ways, popliner_error *error) {
    if (ways->count == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "ways: none are given; give at least one");
    const popliner_costs *first = ways->costs[0];
    for (size_t i = 1; i < ways->count; ++i)
        if (popliner_costs_num_units(ways->costs[i]) != popliner_costs_num_units(first) ||
            popliner_costs_has_cycles(ways->costs[i]) != popliner_costs_has_cycles(first))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "ways %s and %s: their costs have different numbers of units, or only "
                           "one has cycles",
                           ways->names[0], ways->names[i]);
    for (size_t i = 0; i < ways->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (ways->costs[i]->follows_split != ways->costs[k]->follows_split &&
                ways->costs[i]->max_stages_to_end > 1 && ways->costs[k]->max_stages_to_end > 1)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "ways %s and %s: the costs are of pipelines with different copies",
                               ways->names[k], ways->names[i]);
    return POPLINER_OK;
}

static uint64_t cycles_of(const popliner_costs *costs, const popliner_interval *stage) {
    return popliner_costs_has_cycles(costs)
               ? popliner_costs_cycles(costs, stage->first_unit, stage->last_unit)
               : 0;
}

/* Returns the smallest peak of a stage within the limit of cycles. */
static uint64_t least_peak(const pl_ways *ways, const popliner_interval *stage,
                           const pl_variant_limits *limits) {
    uint64_t least_bytes = POPLINER_PEAK_FORBIDDEN;
    for (size_t i = 0; i < ways->count; ++i) {
        uint64_t peak_bytes = popliner_costs_peak(ways->costs[i], stage->first_unit,
                                                  stage->last_unit, stage->stages_to_end);
        if (peak_bytes < least_bytes && cycles_of(ways->costs[i], stage) <= limits->max_cycles)
            least_bytes = peak_bytes;
    }
    return least_bytes;
}

popliner_status pl_ways_costs(const pl_ways *ways, size_t max_stages,
                              const pl_variant_limits *limits, popliner_costs **costs,
                              popliner_error *error) {
    size_t num_units = popliner_costs_num_units(ways->costs[0]);
    size_t num_places = 1;
    popliner_costs *made = NULL;
    bool is_stopped = false;
    *costs = NULL;
    for (size_t i = 0; i < ways->count; ++i) {
        size_t own = ways->costs[i]->max_stages_to_end;
        num_places = own > num_places ? own : num_places;
    }
    num_places = max_stages < num_places ? max_stages : num_places;
    popliner_status status = popliner_costs_create(num_units, num_places, &made, error);
    for (size_t i = 0; status == POPLINER_OK && i < ways->count; ++i)
        if (ways->costs[i]->follows_split)
            made->follows_split = true;
    for (size_t first = 0; status == POPLINER_OK && !is_stopped && first < num_units; ++first) {
        is_stopped = limits->should_stop != NULL && limits->should_stop(limits->user);
        for (size_t last = first; last < num_units; ++last)
            for (size_t to_end = 1; to_end <= num_places; ++to_end) {
                const popliner_interval stage = {first, last, to_end};
                pl_costs_set_peak(made, first, last, to_end, least_peak(ways, &stage, limits));
            }
    }
    for (size_t unit = 1; status == POPLINER_OK && unit < num_units; ++unit)
        pl_costs_set_cut(made, unit, popliner_costs_cut(ways->costs[0], unit));
    if (status != POPLINER_OK || is_stopped) {
        popliner_costs_free(made);
        return status;
    }
    *costs = made;
    return POPLINER_OK;
}

size_t pl_ways_choose(const pl_ways *ways, const popliner_interval *stage, uint64_t max_bytes,
                      pl_variant_choice *choice) {
    size_t best = ways->count;
    *choice = (pl_variant_choice){0};
    for (size_t i = 0; i < ways->count; ++i) {
        uint64_t peak_bytes = popliner_costs_peak(ways->costs[i], stage->first_unit,
                                                  stage->last_unit, stage->stages_to_end);
        uint64_t cycles = cycles_of(ways->costs[i], stage);
        if (peak_bytes == POPLINER_PEAK_FORBIDDEN || peak_bytes > max_bytes)
            continue;
        if (choice->exists && (cycles > choice->cycles ||
                               (cycles == choice->cycles && peak_bytes >= choice->peak_bytes)))
            continue;
        *choice = (pl_variant_choice){true, peak_bytes, cycles};
        best = i;
    }
    return best;
}
