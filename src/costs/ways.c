/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/ways.h"

#include "base/failure.h"
#include "costs/costs.h"

popliner_status pl_ways_check(const pl_ways *ways, popliner_error *error) {
    if (ways->count == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "stages have no way of running to choose");
    const popliner_costs *first = ways->costs[0];
    for (size_t i = 1; i < ways->count; ++i)
        if (popliner_costs_num_units(ways->costs[i]) != popliner_costs_num_units(first) ||
            popliner_costs_has_cycles(ways->costs[i]) != popliner_costs_has_cycles(first))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "the costs of the ways %s and %s are of chains of different lengths, or "
                           "one has no cycles",
                           ways->names[0], ways->names[i]);
    for (size_t i = 0; i < ways->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (pl_costs_follows_split(ways->costs[i]) != pl_costs_follows_split(ways->costs[k]) &&
                pl_costs_max_stages_to_end(ways->costs[i]) > 1 &&
                pl_costs_max_stages_to_end(ways->costs[k]) > 1)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "the costs of the ways %s and %s are of pipelines with other copies",
                               ways->names[k], ways->names[i]);
    return POPLINER_OK;
}

static uint64_t cycles_of(const popliner_costs *costs, const popliner_interval *stage) {
    return popliner_costs_has_cycles(costs)
               ? popliner_costs_cycles(costs, stage->first_unit, stage->last_unit)
               : 0;
}

/* The least peak of a stage within the limit of cycles. */
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
        size_t own = pl_costs_max_stages_to_end(ways->costs[i]);
        num_places = own > num_places ? own : num_places;
    }
    num_places = max_stages < num_places ? max_stages : num_places;
    popliner_status status = popliner_costs_create(num_units, num_places, &made, error);
    for (size_t i = 0; status == POPLINER_OK && i < ways->count; ++i)
        if (pl_costs_follows_split(ways->costs[i]))
            pl_costs_follow_split(made);
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
