/* A lower bound of the time of a step, by the cycles of units alone.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

uint64_t pl_step_rest(const popliner_pipeline *pipeline, pl_step_parts passes, size_t k,
                      size_t num_stages) {
    const uint64_t others = pipeline->copies.num_micro_batches - 1;
    const pl_order order = pl_order_of(pipeline, num_stages, 1, false);
    size_t ahead = pl_order_ahead(&order, k);
    if (ahead == SIZE_MAX) /* all forward passes come first, and the last one runs to the end */
        ahead = 0;
    const uint64_t rest =
        pl_add_or_never(pl_multiply_or_never(others, passes.backward),
                        pl_multiply_or_never(others > ahead ? others - ahead : 0, passes.forward));
    return pl_add_or_never(rest, pl_multiply_or_never(others > k ? others - k : 0, passes.weights));
}

uint64_t pl_step_turns(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks) {
    const size_t num_micro = pipeline->copies.num_micro_batches;
    const pl_order order = pl_order_of(pipeline, num_devices, num_chunks, false);
    const size_t ahead = pl_order_ahead(&order, 0);
    return ahead >= num_micro ? 1 : num_micro / (ahead + 1) + (num_micro % (ahead + 1) > 0);
}

/* Every interval of more units would take too long to look at. */
enum { MAX_UNITS = 4096 };

/* True if no interval takes less than its units and its cuts. */
static bool add_up(const popliner_costs *costs, const pl_unit_passes *passes, size_t n) {
    const uint64_t *cuts = pl_passes_cuts(passes, n);
    for (size_t first = 0; first < n; ++first)
        for (size_t end = first + 1; end <= n; ++end)
            if (popliner_costs_cycles(costs, first, end - 1) <
                pl_passes_before(passes, end, 0) - pl_passes_before(passes, first, 0) +
                    cuts[first] + cuts[end])
                return false;
    return true;
}

/* Fills before[units + 1]: no interval takes less than the difference of two of these numbers,
 * which never fall, and all units take the last one. They are the largest of the intervals'
 * beginnings so far. False if a cut takes less than no time. */
static bool find_before(const pl_differences *cycles, size_t n, uint64_t *before) {
    for (size_t unit = 1; unit < n; ++unit) {
        const uint64_t begin = cycles->begins[unit] - cycles->begins[0];
        const bool is_later = begin <= INT64_MAX && begin > before[unit - 1];
        before[unit] = is_later ? begin : before[unit - 1];
        if (cycles->ends[unit] - cycles->begins[unit] > INT64_MAX)
            return false;
    }
    before[n] = cycles->ends[n] - cycles->begins[0];
    return true;
}

popliner_status pl_step_bound_create(pl_step_bound *bound, const pl_problem *problem,
                                     const popliner_pipeline *pipeline, size_t num_stages,
                                     popliner_error *error) {
    const pl_unit_passes *passes = pl_costs_of_any_split(problem->costs)->passes;
    const size_t n = problem->num_units;
    *bound = (pl_step_bound){.pipeline = pipeline, .num_units = n, .num_stages = num_stages};
    if (problem->options->num_ipu_speeds > 0)
        return POPLINER_OK;
    const bool is_zero_bubble = pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE;
    if (passes != NULL && passes->has_cuts && passes->num_samples == 1 && n <= MAX_UNITS &&
        !(passes->are_thirds && is_zero_bubble) && add_up(problem->costs, passes, n))
        bound->passes = passes;
    if (passes != NULL || problem->costs->added_cycles.ends == NULL || is_zero_bubble)
        return POPLINER_OK;
    bound->before = pl_new_array(n + 1, sizeof *bound->before);
    if (bound->before == NULL)
        return pl_fail_memory(error, "the bounds of a step");
    if (!find_before(&problem->costs->added_cycles, n, bound->before))
        pl_step_bound_free(bound);
    return POPLINER_OK;
}

popliner_status pl_step_bound_choices(pl_step_bound *bound, const popliner_costs *costs,
                                      const uint64_t *least, popliner_error *error) {
    const pl_unit_passes *passes = pl_costs_of_any_split(costs)->passes;
    const size_t n = bound->num_units;
    if ((passes == NULL || passes->are_thirds) &&
        bound->pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE)
        return POPLINER_OK;
    if (passes != NULL && (passes->num_samples > 1 || !passes->has_cuts))
        return POPLINER_OK;
    for (size_t unit = 0; passes != NULL && unit < n; ++unit)
        if (least[unit + 1] - least[unit] <
            (passes->are_thirds
                 ? pl_passes_before(passes, unit + 1, 0) - pl_passes_before(passes, unit, 0)
                 : pl_passes_forward_of(passes, n, unit, unit + 1, 0)))
            return POPLINER_OK;
    bound->before = pl_new_array(n + 1, sizeof *bound->before);
    if (bound->before == NULL)
        return pl_fail_memory(error, "the bounds of a step");
    memcpy(bound->before, least, (n + 1) * sizeof *least);
    bound->passes = passes;
    return POPLINER_OK;
}

void pl_step_bound_free(pl_step_bound *bound) {
    free(bound->before);
    bound->before = NULL;
}

/* Returns the passes of an interval, as pl_step_passes divides them: at least so many. */
static pl_step_parts parts_of(const pl_step_bound *b, size_t first, size_t end) {
    const uint64_t all = b->before != NULL ? b->before[end] - b->before[first]
                                           : pl_passes_before(b->passes, end, 0) -
                                                 pl_passes_before(b->passes, first, 0);
    const bool is_inference = b->pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    pl_step_parts p = {.forward = all};
    if (b->passes == NULL && !is_inference)
        p.forward = pl_forward_third(all);
    else if (!is_inference)
        p.forward = pl_passes_forward_of(b->passes, b->num_units, first, end, 0);
    p.backward = all - p.forward;
    if (b->pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE)
        p.weights = p.backward / 2;
    p.backward -= p.weights;
    return p;
}

/* True if the bounds allow stage k to have these units. */
static bool may_have(const pl_step_bound *b, size_t k, size_t first, size_t end, uint64_t cycles) {
    const pl_step_parts earlier = parts_of(b, 0, first);
    const pl_step_parts every = parts_of(b, 0, b->num_units);
    const pl_step_parts own = parts_of(b, first, end);
    const bool is_zero_bubble = b->pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE;
    const uint64_t before = earlier.forward + (is_zero_bubble ? 0 : earlier.backward);
    const uint64_t all = own.forward + own.backward + own.weights;
    return pl_add_or_never(before, pl_multiply_or_never(b->pipeline->copies.num_micro_batches,
                                                        all)) <= cycles &&
           pl_add_or_never(every.forward + every.backward,
                           pl_step_rest(b->pipeline, own, k, b->num_stages)) <= cycles;
}

bool pl_step_bound_allows(const pl_step_bound *bound, uint64_t cycles) {
    size_t first = 0;
    if (bound->passes == NULL && bound->before == NULL)
        return true;
    const pl_step_parts every = parts_of(bound, 0, bound->num_units);
    const uint64_t turns = pl_step_turns(bound->pipeline, bound->num_stages, 1);
    if (pl_multiply_or_never(turns, every.forward + every.backward) > cycles)
        return false;
    for (size_t k = 0; k < bound->num_stages && first < bound->num_units; ++k) {
        size_t end = first;
        size_t most = bound->num_units;
        while (end < most) {
            const size_t middle = most - (most - end) / 2;
            if (may_have(bound, k, first, middle, cycles))
                end = middle;
            else
                most = middle - 1;
        }
        first = end;
    }
    return first == bound->num_units;
}

uint64_t pl_step_bound_least(const pl_step_bound *bound, uint64_t most) {
    uint64_t least = 0;
    while (least < most) {
        const uint64_t middle = least + (most - least) / 2;
        if (pl_step_bound_allows(bound, middle))
            most = middle;
        else
            least = middle + 1;
    }
    return least;
}
