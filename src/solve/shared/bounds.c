/* Lower bounds of the objectives of all splits whose stages share IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/places.h"
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

#include <stdlib.h>
#include <string.h>

/* No stage. */
#define NONE UINT64_MAX

size_t pl_num_on_ipu(const pl_problem *problem, size_t stage) {
    size_t count = 0;
    for (size_t other = 0; other < problem->options->num_mapped_stages; ++other)
        count += problem->first_on_ipu[other] == problem->first_on_ipu[stage];
    return count;
}

uint64_t pl_least_load(const pl_problem *problem, popliner_objective objective,
                       const pl_limits *limits, const popliner_interval *stage,
                       size_t num_stages_on_ipu) {
    const size_t num_stages = problem->options->num_mapped_stages;
    const size_t number = num_stages - stage->stages_to_end;
    if (pl_objective_is_of_cycles(objective, false))
        return pl_problem_cycles(problem, number, stage->first_unit, stage->last_unit);
    if (problem->chooser != NULL)
        return pl_chooser_part(problem, limits, stage, num_stages_on_ipu);
    const popliner_interval placed = {stage->first_unit, stage->last_unit,
                                      pl_problem_place(problem, num_stages, number)};
    if (num_stages_on_ipu == 1)
        return popliner_costs_peak(problem->costs, placed.first_unit, placed.last_unit,
                                   placed.stages_to_end);
    pl_peak_parts parts = pl_costs_peak_parts(problem->costs, &placed);
    /* the largest of several numbers is at least their mean */
    return parts.own_bytes + parts.other_bytes / num_stages_on_ipu;
}

/* ---- the number of units that fit, and the mean of all IPUs ---- */

/* Lower bounds of what stages and IPUs need, by number of units, in splits better than `known`. */
typedef struct sizes {
    const pl_problem *problem;
    const pl_limits *limits;
    popliner_objective objective;
    size_t num_units;
    size_t num_stages;
    uint64_t *of_stage; /* [stages][units + 1] */
    uint64_t *of_ipu;   /* [stages][units + 1]: of the IPU, with its stages from this one on */
    size_t *next;       /* [stages]: the next stage of the same IPU, or SIZE_MAX */
    uint64_t *rest;     /* [units + 1]: of all stages together from this one and a unit on */
    pl_arrays arrays;   /* own these */
} sizes;

/* Adds a stage to the bounds of its IPU. */
static void add_stage(const sizes *s, size_t stage) {
    const size_t width = s->num_units + 1;
    const uint64_t *own = s->of_stage + stage * width;
    uint64_t *sum = s->of_ipu + stage * width;
    if (s->next[stage] == SIZE_MAX) {
        memcpy(sum, own, width * sizeof *sum);
        return;
    }
    const uint64_t *later = s->of_ipu + s->next[stage] * width;
    for (size_t k = 0; k < width; ++k)
        sum[k] = NONE;
    for (size_t k = 1; k < width; ++k) {
        if (own[k] == NONE)
            continue;
        for (size_t j = 1; j + k < width; ++j) {
            uint64_t both = pl_add_or_never(later[j], own[k]);
            sum[j + k] = both < sum[j + k] ? both : sum[j + k];
        }
    }
}

/* Fills the bounds of a stage; `rest` is of the stages after it, and becomes that from it on. */
static void fill_stage(const sizes *s, const pl_stage_ends *ends, size_t stage) {
    const size_t count = pl_num_on_ipu(s->problem, stage);
    uint64_t *own = s->of_stage + stage * (s->num_units + 1);
    for (size_t k = 0; k <= s->num_units; ++k)
        own[k] = NONE;
    for (size_t first = 0; first < s->num_units; ++first) {
        uint64_t least = NONE;
        for (size_t end = ends->from[first]; end < ends->to[first]; ++end) {
            const popliner_interval it = {first, end - 1, s->num_stages - stage};
            if (!pl_stage_ends_have(ends, first, end))
                continue;
            const uint64_t load = pl_least_load(s->problem, s->objective, s->limits, &it, count);
            own[end - first] = pl_smaller(own[end - first], load);
            least = pl_smaller(least, pl_add_or_never(load, s->rest[end]));
        }
        s->rest[first] = least;
    }
    s->rest[s->num_units] = NONE;
}

static void fill_sizes(sizes *s, const pl_ways_through *ways) {
    for (size_t unit = 0; unit < s->num_units; ++unit)
        s->rest[unit] = NONE;
    for (size_t stage = s->num_stages; stage-- > 0;) {
        fill_stage(s, &ways->ends[stage], stage);
        s->next[stage] = SIZE_MAX;
        for (size_t other = s->num_stages; --other > stage;)
            if (s->problem->first_on_ipu[other] == s->problem->first_on_ipu[stage])
                s->next[stage] = other;
        add_stage(s, stage);
    }
}

/* Returns the largest number of units that an IPU's stages from this one on can hold; 0 if none. */
static size_t most_units(const sizes *s, size_t stage, uint64_t limit) {
    const uint64_t *sum = s->of_ipu + stage * (s->num_units + 1);
    for (size_t k = s->num_units; k > 0; --k)
        if (sum[k] != NONE && sum[k] <= limit)
            return k;
    return 0;
}

/* True if all IPUs together may hold the chain. */
static bool can_hold(const sizes *s, uint64_t limit) {
    size_t num_held = 0;
    for (size_t stage = 0; stage < s->num_stages; ++stage) {
        if (s->problem->first_on_ipu[stage] != stage)
            continue;
        const size_t most = most_units(s, stage, limit);
        if (most == 0)
            return false;
        num_held += most;
    }
    return num_held >= s->num_units;
}

/* Finds the smallest limit with which the IPUs may hold the chain, at most `known`. */
static popliner_status bound_by_sizes(sizes *s, const pl_limits *limits, uint64_t known,
                                      uint64_t *bound, popliner_error *error) {
    const size_t width = s->num_units + 1;
    const pl_filter filter = {.limits = *limits};
    const pl_filter better =
        known == NONE ? filter : pl_filter_limited(&filter, s->objective, known - 1);
    pl_ways_through ways = {.problem = s->problem, .limits = &better.limits};
    s->of_stage = pl_arrays_new(&s->arrays, s->num_stages * width, sizeof *s->of_stage);
    s->of_ipu = pl_arrays_new(&s->arrays, s->num_stages * width, sizeof *s->of_ipu);
    s->next = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->next);
    s->rest = pl_arrays_new(&s->arrays, width, sizeof *s->rest);
    popliner_status status = s->arrays.failed ? pl_fail_memory(error, "the bounds of the search")
                                              : pl_ways_find(&ways, error);
    uint64_t high = known == NONE ? NONE - 1 : known;
    *bound = status == POPLINER_OK && !ways.exists ? known : 0;
    if (status == POPLINER_OK && *bound < high) {
        fill_sizes(s, &ways);
        const uint64_t num_ipus = s->problem->num_ipus;
        *bound = pl_smaller(high, s->rest[0] / num_ipus + (s->rest[0] % num_ipus > 0));
    }
    while (status == POPLINER_OK && *bound < high) {
        const uint64_t middle = *bound + (high - *bound) / 2;
        if (can_hold(s, middle))
            high = middle;
        else
            *bound = middle + 1;
    }
    pl_ways_free(&ways);
    return status;
}

/* ---- the fewest cut bytes ---- */

static popliner_status bound_traffic(const pl_shared_search *asked, const pl_limits *limits,
                                     uint64_t known, uint64_t *bound, pl_split *hint,
                                     popliner_error *error) {
    bool is_stopped = false;
    popliner_status status = pl_dynamic_program(asked->problem, limits, PL_GOAL_FEWEST_CUT_BYTES,
                                                asked->stop, hint, &is_stopped, error);
    if (status == POPLINER_OK && hint->num_stages > 0)
        *bound = pl_smaller(known, pl_split_cut_bytes(asked->problem, hint));
    else if (status == POPLINER_OK && !is_stopped)
        *bound = known;
    return status;
}

popliner_status pl_shared_bound_find(const pl_shared_search *asked, const pl_filter *filter,
                                     popliner_objective objective, uint64_t known, uint64_t *bound,
                                     pl_split *hint, popliner_error *error) {
    const pl_problem *p = asked->problem;
    sizes s = {.problem = p,
               .limits = &filter->limits,
               .objective = objective,
               .num_units = p->num_units,
               .num_stages = p->options->num_mapped_stages};
    *bound = 0;
    if (pl_objective_of(objective)->goal == PL_GOAL_FEWEST_CUT_BYTES)
        return bound_traffic(asked, &filter->limits, known, bound, hint, error);
    if (pl_objective_of(objective)->kind != PL_OBJECTIVE_LARGEST || known == 0 ||
        p->max_stages < p->min_stages)
        return POPLINER_OK;
    popliner_status status = bound_by_sizes(&s, &filter->limits, known, bound, error);
    pl_arrays_free(&s.arrays);
    return status;
}
