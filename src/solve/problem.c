/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/problem.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/ipus.h"
#include "solve/objective.h"
#include "solve/options.h"

#include <stdlib.h>

/* True if the units first ... last are light enough for an IPU. */
static bool is_light(const pl_problem *p, size_t first, size_t last) {
    const popliner_interval stage = {first, last, 1};
    return pl_options_allow_weight(p->options, &stage, 1);
}

static popliner_cut_rule rule_before(const pl_problem *p, size_t unit) {
    return p->options->cut_rules != NULL ? p->options->cut_rules[unit] : POPLINER_CUT_FREE;
}

/* Finds the ends that cuts, sizes and weights allow. `counted` is of the units before one. */
static void find_ends(pl_problem *p, size_t *counted) {
    const popliner_solver_options *o = p->options;
    size_t n = p->num_units;
    size_t min_end = 1;
    size_t max_end = 0;
    for (size_t unit = 0; unit < n; ++unit)
        counted[unit + 1] =
            counted[unit] + (o->counted_units == NULL || o->counted_units[unit] != 0);
    p->may_cut[0] = p->may_cut[n] = 1;
    for (size_t unit = 1; unit < n; ++unit)
        p->may_cut[unit] = rule_before(p, unit) != POPLINER_CUT_FORBIDDEN;
    for (size_t first = 0; first < n; ++first) {
        min_end = min_end > first ? min_end : first + 1;
        while (min_end <= n && counted[min_end] - counted[first] < o->min_units)
            ++min_end;
        if (max_end < first)
            max_end = first;
        while (max_end < n && is_light(p, first, max_end) &&
               (max_end == first ||
                (rule_before(p, max_end) != POPLINER_CUT_REQUIRED &&
                 (o->max_units == 0 || counted[max_end + 1] - counted[first] <= o->max_units))))
            ++max_end;
        p->min_end[first] = min_end;
        p->max_end[first] = max_end;
    }
}

/* Forbids the cuts between the units of a pair. */
static void join(pl_problem *p, popliner_constraint pair) {
    size_t a = pair.unit < pair.second_unit ? pair.unit : pair.second_unit;
    size_t b = pair.unit < pair.second_unit ? pair.second_unit : pair.unit;
    for (size_t unit = a + 1; unit <= b; ++unit)
        p->may_cut[unit] = 0;
}

/* Finds which stages of the device map run on one IPU. O(stages^2). */
static void find_sharing(pl_problem *p) {
    const size_t *map = p->options->device_map;
    for (size_t stage = 0; p->is_mapped && stage < p->options->num_mapped_stages; ++stage) {
        size_t first = 0;
        size_t count = 1;
        while (map[first] != map[stage])
            ++first;
        for (size_t other = first; other < stage; ++other)
            count += map[other] == map[stage];
        p->first_on_ipu[stage] = first;
        p->num_ipus += first == stage;
        p->most_stages_of_ipu = pl_more(p->most_stages_of_ipu, count);
    }
    p->is_shared = p->most_stages_of_ipu > 1;
}

/* True if speeds and links differ between places, and matter: only objectives limit cycles. */
static bool cycles_depend_on_ipu(const pl_problem *p) {
    return pl_objectives_need_cycles(p->options) != NULL &&
           (p->options->num_ipu_speeds > 0 || p->links.num_special > 0);
}

/* Returns the largest limit of an IPU that may be used; UINT64_MAX if one has no limit. */
static uint64_t largest_limit(const pl_problem *p) {
    const popliner_solver_options *o = p->options;
    const size_t most = p->is_mapped ? o->num_mapped_stages : p->max_stages;
    uint64_t largest = 0;
    for (size_t stage = 0; stage < most; ++stage)
        largest = pl_larger(largest, pl_limit_of(o, pl_problem_ipu(p, stage), o->mem_per_tile));
    return largest;
}

popliner_status pl_problem_create(pl_problem *problem, const popliner_costs *costs,
                                  const popliner_solver_options *options, popliner_error *error) {
    pl_problem *p = problem;
    const size_t n = popliner_costs_num_units(costs);
    size_t *counted = pl_arrays_new(&p->arrays, n + 1, sizeof *counted);
    p->costs = costs;
    p->options = options;
    p->num_units = n;
    p->may_cut = pl_arrays_new(&p->arrays, n + 1, sizeof *p->may_cut);
    p->min_end = pl_arrays_new(&p->arrays, n, sizeof *p->min_end);
    p->max_end = pl_arrays_new(&p->arrays, n, sizeof *p->max_end);
    p->first_on_ipu =
        pl_arrays_new(&p->arrays, options->num_mapped_stages, sizeof *p->first_on_ipu);
    p->is_mapped = options->num_mapped_stages > 0;
    p->min_stages = p->is_mapped ? options->num_mapped_stages : 1;
    p->max_stages = pl_fewer(n, p->is_mapped ? options->num_mapped_stages : options->num_ipus);
    if (p->arrays.failed)
        return pl_fail_memory(error, "the constraints");
    find_sharing(p);
    PL_TRY(pl_links_find(&p->links, costs, options, p->max_stages, error));
    p->largest_limit_bytes = largest_limit(p);
    find_ends(p, counted);
    for (size_t i = 0; i < options->num_pairs && !p->is_shared; ++i)
        join(p, options->pairs[i]);
    p->num_places = costs->max_stages_to_end;
    /* with a device map, all splits have the same number of stages */
    p->follows_split = costs->follows_split && !p->is_mapped;
    PL_TRY(pl_chooser_create(p, error));
    p->depends_on_end = p->num_places > 1 && (p->chooser != NULL || !p->is_mapped ||
                                              !costs->follows_split || pl_costs_keep_sets(costs));
    p->depends_on_ipu =
        options->num_ipu_limits > 0 || options->num_placements > 0 || cycles_depend_on_ipu(p);
    return p->is_shared || p->chooser != NULL
               ? POPLINER_OK
               : pl_costs_find_order(costs, p->max_stages, &p->order, error);
}

void pl_problem_free(pl_problem *problem) {
    pl_chooser_free(problem->chooser);
    pl_cost_order_clear(&problem->order);
    pl_links_free(&problem->links);
    pl_arrays_free(&problem->arrays);
    *problem = (pl_problem){0};
}

size_t pl_problem_broken_pairs(const pl_problem *problem, const size_t *first_units,
                               size_t num_stages) {
    size_t num_broken = 0;
    for (size_t i = 0; i < problem->options->num_pairs; ++i) {
        const popliner_constraint pair = problem->options->pairs[i];
        size_t first = 0;
        size_t second = 0;
        for (size_t stage = 1; stage < num_stages; ++stage) {
            first = first_units[stage] <= pair.unit ? stage : first;
            second = first_units[stage] <= pair.second_unit ? stage : second;
        }
        num_broken += problem->first_on_ipu[first] != problem->first_on_ipu[second];
    }
    return num_broken;
}

bool pl_options_allow_weight(const popliner_solver_options *options,
                             const popliner_interval *stages, size_t num_stages) {
    return options->ipu_weight == NULL ||
           options->ipu_weight(options->ipu_weight_user, stages, num_stages) <=
               options->max_ipu_weight;
}

size_t pl_problem_place(const pl_problem *problem, size_t num_stages, size_t stage) {
    if (problem->is_mapped) { /* of its own number, of which num_stages may be the last ones */
        stage += problem->min_stages - num_stages;
        num_stages = problem->min_stages;
    }
    return problem->chooser != NULL ? pl_choices_place(problem->costs->choices,
                                                       problem->follows_split, num_stages, stage)
                                    : pl_costs_place(problem->costs, num_stages, stage);
}

uint64_t pl_problem_peak(const pl_problem *problem, size_t first_unit, size_t last_unit,
                         size_t place) {
    const popliner_interval stage = {first_unit, last_unit, place};
    return problem->chooser != NULL
               ? pl_chooser_least_peak(problem, &stage)
               : popliner_costs_peak(problem->costs, first_unit, last_unit, place);
}

popliner_status pl_problem_shared_peak(const pl_problem *problem, const popliner_interval *stages,
                                       size_t count, size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error) {
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    if (!pl_options_allow_weight(problem->options, stages, count))
        return POPLINER_OK;
    if (!problem->costs->follows_split) /* then a place is the number of stages to the end */
        return pl_costs_shared_peak(problem->costs, stages, count, peak_bytes, error);
    popliner_interval *placed = pl_new_array(count, sizeof *placed);
    for (size_t i = 0; placed != NULL && i < count; ++i) {
        placed[i] = stages[i];
        placed[i].stages_to_end =
            pl_costs_place(problem->costs, num_stages, num_stages - stages[i].stages_to_end);
    }
    popliner_status status =
        placed == NULL ? pl_fail_memory(error, "the stages of an IPU")
                       : pl_costs_shared_peak(problem->costs, placed, count, peak_bytes, error);
    free(placed);
    return status;
}

size_t pl_problem_ipu(const pl_problem *problem, size_t stage) {
    return problem->is_mapped ? problem->options->device_map[stage] : stage;
}

uint64_t pl_problem_busy_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                                size_t last_unit, uint64_t cycles) {
    const uint64_t *before = pl_links_before(&problem->links, stage);
    const uint64_t *after = pl_links_before(&problem->links, stage + 1);
    cycles = pl_speed_cycles(pl_speed_of(problem->options, pl_problem_ipu(problem, stage)), cycles);
    return before == NULL ? cycles : cycles + before[first_unit] + after[last_unit + 1];
}

uint64_t pl_problem_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                           size_t last_unit) {
    const uint64_t cycles = problem->chooser != NULL
                                ? pl_chooser_least_cycles(problem, first_unit, last_unit)
                                : popliner_costs_cycles(problem->costs, first_unit, last_unit);
    return pl_problem_busy_cycles(problem, stage, first_unit, last_unit, cycles);
}

uint64_t pl_problem_lack(const pl_problem *problem, size_t ipu) {
    uint64_t own = pl_limit_of(problem->options, ipu, problem->options->mem_per_tile);
    return own < problem->largest_limit_bytes ? problem->largest_limit_bytes - own : 0;
}

uint64_t pl_problem_largest_lack(const pl_problem *problem) {
    uint64_t largest = 0;
    for (size_t stage = 0; problem->is_mapped && stage < problem->max_stages; ++stage) {
        uint64_t lack = pl_problem_lack(problem, pl_problem_ipu(problem, stage));
        largest = lack > largest ? lack : largest;
    }
    return largest;
}

pl_load pl_problem_load(const pl_problem *problem, size_t stage, uint64_t peak_bytes,
                        uint64_t cycles) {
    uint64_t lack_bytes = pl_problem_lack(problem, pl_problem_ipu(problem, stage));
    return (pl_load){peak_bytes, cycles, pl_add_or_never(peak_bytes, lack_bytes)};
}

popliner_status pl_problem_check_limits(const pl_problem *problem, popliner_error *error) {
    for (size_t i = 0; i < problem->options->num_objectives; ++i)
        if (pl_objective_of(problem->options->objectives[i])->has_own_search)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "%s: %s comes first, and is for single answers; leave it out",
                           PL_OPTION(problem->options, objectives),
                           pl_objective_name(problem->options->objectives[i]));
    if (problem->largest_limit_bytes >= POPLINER_PEAK_FORBIDDEN - 1 &&
        pl_objectives_include(problem->options, POPLINER_OBJECTIVE_HEADROOM))
        return pl_fail(
            error, POPLINER_ERROR_USAGE, "%s: headroom needs a limit of each IPU; pass %s",
            PL_OPTION(problem->options, objectives), PL_OPTION(problem->options, mem_per_tile));
    return POPLINER_OK;
}

popliner_status pl_problem_check(const pl_problem *problem, popliner_error *error) {
    size_t known = problem->num_places;
    if ((problem->depends_on_end || problem->costs->follows_split) && problem->max_stages > known)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%zu stages: the costs are for pipelines of at most %zu; make them for "
                       "longer ones",
                       problem->max_stages, known);
    if (problem->is_shared && problem->options->method != POPLINER_METHOD_AUTO)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: only auto can put several stages on one IPU",
                       PL_OPTION(problem->options, method));
    return pl_problem_check_limits(problem, error);
}

pl_filter pl_filter_of_limits(void) {
    return (pl_filter){
        .limits = {.max_peak_bytes = POPLINER_PEAK_FORBIDDEN - 1,
                   .max_cycles = UINT64_MAX,
                   .max_cut_bytes = UINT64_MAX,
                   .max_ipus = UINT64_MAX,
                   .max_shortfall_bytes = UINT64_MAX},
        .max_spread = UINT64_MAX,
    };
}

pl_filter pl_filter_without_memory(void) {
    pl_filter filter = pl_filter_of_limits();
    filter.limits.ignores_ipu_limits = true;
    return filter;
}

uint64_t pl_limits_peak(const pl_problem *problem, const pl_limits *limits, size_t ipu) {
    const popliner_solver_options *o = problem->options;
    uint64_t most = pl_smaller(limits->max_peak_bytes, POPLINER_PEAK_FORBIDDEN - 1);
    if (!limits->ignores_ipu_limits)
        most = pl_smaller(most, pl_limit_of(o, ipu, o->mem_per_tile));
    if (limits->max_shortfall_bytes < UINT64_MAX) {
        const uint64_t lack_bytes = pl_problem_lack(problem, ipu);
        const uint64_t rest = limits->max_shortfall_bytes;
        most = pl_smaller(most, rest > lack_bytes ? rest - lack_bytes : 0);
    }
    return most;
}
