/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/problem.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"

#include <stdlib.h>
#include <string.h>

popliner_status pl_constraints_list(const popliner_costs *costs,
                                    const popliner_solver_options *options,
                                    popliner_constraint **constraints, size_t *count,
                                    popliner_error *error) {
    enum { NUM_SINGLE = 3 };
    size_t num_units = popliner_costs_num_units(costs);
    popliner_constraint *list = pl_new_array(
        NUM_SINGLE + num_units + options->num_pairs + options->num_placements, sizeof *list);
    *count = 0;
    *constraints = list;
    if (list == NULL)
        return pl_fail_memory(error, "the constraints");
    bool is_mapped = options->num_mapped_stages > 0;
    list[(*count)++] = (popliner_constraint){
        .kind = is_mapped ? POPLINER_CONSTRAINT_DEVICE_MAP : POPLINER_CONSTRAINT_MAX_STAGES,
        .number = is_mapped ? options->num_mapped_stages : options->max_stages};
    list[(*count)++] =
        (popliner_constraint){.kind = POPLINER_CONSTRAINT_MIN_UNITS, .number = options->min_units};
    list[(*count)++] =
        (popliner_constraint){.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = options->max_units};
    for (size_t unit = 1; options->cut_rules != NULL && unit < num_units; ++unit)
        if (options->cut_rules[unit] != POPLINER_CUT_FREE)
            list[(*count)++] =
                (popliner_constraint){.kind = options->cut_rules[unit] == POPLINER_CUT_REQUIRED
                                                  ? POPLINER_CONSTRAINT_REQUIRED_CUT
                                                  : POPLINER_CONSTRAINT_FORBIDDEN_CUT,
                                      .unit = unit - 1};
    for (size_t i = 0; i < options->num_pairs; ++i)
        list[(*count)++] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                                 .unit = options->pairs[i].first_unit,
                                                 .second_unit = options->pairs[i].second_unit};
    for (size_t i = 0; i < options->num_placements; ++i)
        list[(*count)++] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PLACEMENT,
                                                 .unit = options->placements[i].unit,
                                                 .ipu = options->placements[i].ipu};
    return POPLINER_OK;
}

/* What is left of the options once inactive constraints are taken away. */
typedef struct rules {
    size_t min_units;
    size_t max_units;
    popliner_cut_rule *cuts; /* [num_units] */
    size_t *counted;         /* [num_units + 1]: how many counted units stand before */
} rules;

/* Marks the intervals that keep to the rules of cuts and sizes. */
static void mark_shapes(pl_problem *p, const rules *r) {
    size_t n = p->num_units;
    for (size_t first = 0; first < n; ++first) {
        uint8_t *shape = p->shape + pl_triangle_row(n, first);
        bool may_begin = first == 0 || r->cuts[first] != POPLINER_CUT_FORBIDDEN;
        bool is_whole = true; /* no required cut inside */
        uint64_t weight_left = p->options->max_stage_weight;
        const uint64_t *weights = p->options->unit_weights;
        bool is_light = true;
        for (size_t last = first; last < n; ++last) {
            uint64_t weight = weights == NULL ? 0 : weights[last];
            is_light = is_light && weight <= weight_left;
            weight_left -= is_light ? weight : 0;
            is_whole = is_whole && (last == first || r->cuts[last] != POPLINER_CUT_REQUIRED);
            size_t size = r->counted[last + 1] - r->counted[first];
            bool may_end = last + 1 == n || r->cuts[last + 1] != POPLINER_CUT_FORBIDDEN;
            shape[last - first] = may_begin && is_light && is_whole && may_end &&
                                  size >= r->min_units &&
                                  (r->max_units == 0 || size <= r->max_units);
        }
    }
}

/* Takes away the intervals with one unit of a pair alone. */
static void unmark_half_pairs(pl_problem *p, popliner_pair pair) {
    size_t a = pair.first_unit < pair.second_unit ? pair.first_unit : pair.second_unit;
    size_t b = pair.first_unit < pair.second_unit ? pair.second_unit : pair.first_unit;
    for (size_t first = 0; first <= b; ++first) {
        uint8_t *shape = p->shape + pl_triangle_row(p->num_units, first);
        for (size_t last = first > a ? first : a; last < p->num_units; ++last) {
            bool has_a = first <= a; /* last is not before a where first is not behind it */
            bool has_b = last >= b;
            if (has_a != has_b)
                shape[last - first] = 0;
        }
    }
}

static void apply(pl_problem *p, rules *r, const popliner_constraint *c) {
    switch (c->kind) {
    case POPLINER_CONSTRAINT_MAX_STAGES:
        if (c->number < p->max_stages)
            p->max_stages = c->number;
        break;
    case POPLINER_CONSTRAINT_DEVICE_MAP:
        p->is_mapped = true;
        p->min_stages = c->number;
        if (c->number < p->max_stages)
            p->max_stages = c->number;
        break;
    case POPLINER_CONSTRAINT_MIN_UNITS:
        r->min_units = c->number;
        break;
    case POPLINER_CONSTRAINT_MAX_UNITS:
        r->max_units = c->number;
        break;
    case POPLINER_CONSTRAINT_REQUIRED_CUT:
        r->cuts[c->unit + 1] = POPLINER_CUT_REQUIRED;
        break;
    case POPLINER_CONSTRAINT_FORBIDDEN_CUT:
        r->cuts[c->unit + 1] = POPLINER_CUT_FORBIDDEN;
        break;
    case POPLINER_CONSTRAINT_PLACEMENT: {
        int64_t *ipu = &p->unit_ipu[c->unit];
        int64_t wanted = (int64_t)c->ipu;
        *ipu = *ipu == PL_ANY_IPU || *ipu == wanted ? wanted : PL_NO_IPU;
        break;
    }
    case POPLINER_CONSTRAINT_PAIR: /* told by is_pair_active */
    case POPLINER_NUM_CONSTRAINT_KINDS:
        break;
    }
}

static popliner_status find_rules(pl_problem *p, const uint8_t *active, rules *r,
                                  popliner_error *error) {
    const popliner_solver_options *options = p->options;
    popliner_constraint *constraints = NULL;
    size_t count = 0;
    size_t num_pairs = 0;
    popliner_status status = pl_constraints_list(p->costs, options, &constraints, &count, error);
    r->cuts = pl_new_array(p->num_units, sizeof *r->cuts);
    r->counted = pl_new_array(p->num_units + 1, sizeof *r->counted);
    p->is_pair_active = pl_new_array(options->num_pairs, sizeof *p->is_pair_active);
    p->unit_ipu = pl_new_array(p->num_units, sizeof *p->unit_ipu);
    if (status == POPLINER_OK &&
        (r->cuts == NULL || r->counted == NULL || p->is_pair_active == NULL || p->unit_ipu == NULL))
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;

    p->max_stages = p->num_units;
    p->min_stages = 1;
    for (size_t unit = 0; unit < p->num_units; ++unit) {
        bool counts = options->counted_units == NULL || options->counted_units[unit] != 0;
        r->counted[unit + 1] = r->counted[unit] + counts;
        p->unit_ipu[unit] = PL_ANY_IPU;
    }
    for (size_t i = 0; i < count; ++i) {
        const popliner_constraint *c = &constraints[i];
        bool is_active = active == NULL || active[i] != 0;
        if (c->kind == POPLINER_CONSTRAINT_PAIR)
            p->is_pair_active[num_pairs++] = is_active;
        if (is_active)
            apply(p, r, c);
    }
done:
    free(constraints);
    return status;
}

/* Finds out which stages of the device map run on one IPU. */
static popliner_status find_sharing(pl_problem *p, popliner_error *error) {
    size_t num_stages = p->is_mapped ? p->options->num_mapped_stages : 0;
    p->first_on_ipu = pl_new_array(num_stages, sizeof *p->first_on_ipu);
    if (p->first_on_ipu == NULL)
        return pl_fail_memory(error, "the device map");
    for (size_t stage = 0; stage < num_stages; ++stage) {
        size_t first = 0;
        while (p->options->device_map[first] != p->options->device_map[stage])
            ++first;
        p->first_on_ipu[stage] = first;
        p->num_ipus += first == stage;
        p->is_shared = p->is_shared || first != stage;
    }
    return POPLINER_OK;
}

popliner_status pl_problem_create(pl_problem *problem, const popliner_costs *costs,
                                  const popliner_solver_options *options, const uint8_t *active,
                                  popliner_error *error) {
    pl_problem *p = problem;
    rules r = {0};
    p->costs = costs;
    p->options = options;
    p->num_units = popliner_costs_num_units(costs);
    p->shape = pl_new_array(pl_triangle_size(p->num_units), sizeof *p->shape);
    popliner_status status =
        p->shape == NULL ? pl_fail_memory(error, "the constraints") : POPLINER_OK;
    if (status == POPLINER_OK)
        status = find_rules(p, active, &r, error);
    if (status == POPLINER_OK)
        status = find_sharing(p, error);
    if (status != POPLINER_OK)
        goto done;
    mark_shapes(p, &r);
    for (size_t i = 0; i < options->num_pairs && !p->is_shared; ++i)
        if (p->is_pair_active[i] != 0)
            unmark_half_pairs(p, options->pairs[i]);
    p->depends_on_end = pl_costs_max_stages_to_end(costs) > 1;
    p->depends_on_ipu = options->num_ipu_limits > 0;
    for (size_t unit = 0; unit < p->num_units; ++unit)
        p->depends_on_ipu = p->depends_on_ipu || p->unit_ipu[unit] != PL_ANY_IPU;
done:
    free(r.cuts);
    free(r.counted);
    return status;
}

void pl_problem_free(pl_problem *problem) {
    free(problem->shape);
    free(problem->unit_ipu);
    free(problem->first_on_ipu);
    free(problem->is_pair_active);
    *problem = (pl_problem){0};
}

size_t pl_problem_ipu(const pl_problem *problem, size_t stage) {
    return problem->is_mapped ? problem->options->device_map[stage] : stage;
}

pl_filter pl_filter_of_limits(const pl_problem *problem) {
    return (pl_filter){
        .plain_limit_bytes = problem->options->max_stage_bytes,
        .max_peak_bytes = POPLINER_PEAK_FORBIDDEN - 1,
        .max_cycles = UINT64_MAX,
        .max_cut_bytes = UINT64_MAX,
        .max_ipus = SIZE_MAX,
        .max_spread = UINT64_MAX,
    };
}

pl_filter pl_filter_without_memory(const pl_problem *problem) {
    pl_filter filter = pl_filter_of_limits(problem);
    filter.plain_limit_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    filter.ignores_ipu_limits = true;
    return filter;
}

uint64_t pl_filter_limit(const pl_problem *problem, const pl_filter *filter, size_t ipu) {
    uint64_t limit = filter->plain_limit_bytes;
    const popliner_solver_options *options = problem->options;
    for (size_t i = 0; i < options->num_ipu_limits && !filter->ignores_ipu_limits; ++i)
        if (options->ipu_limits[i].ipu == ipu)
            limit = options->ipu_limits[i].bytes;
    if (limit > filter->max_peak_bytes)
        limit = filter->max_peak_bytes;
    return limit < POPLINER_PEAK_FORBIDDEN ? limit : POPLINER_PEAK_FORBIDDEN - 1;
}

void pl_problem_mark(const pl_problem *problem, const pl_filter *filter, size_t stage,
                     size_t stages_to_end, size_t first_unit, uint8_t *ok) {
    const pl_problem *p = problem;
    size_t count = p->num_units - first_unit;
    size_t ipu = pl_problem_ipu(p, stage);
    uint64_t limit = pl_filter_limit(p, filter, ipu);
    bool is_alone = true;
    for (size_t other = 0; p->is_shared && other < p->options->num_mapped_stages; ++other)
        is_alone = is_alone && (other == stage || p->first_on_ipu[other] != p->first_on_ipu[stage]);
    /* what shares its IPU may make up for what it lacks itself */
    uint64_t min_peak = is_alone ? filter->min_peak_bytes : 0;
    uint64_t min_cycles = is_alone ? filter->min_cycles : 0;
    /* longer pipelines than the costs know are only looked at to see what contradicts */
    size_t known = pl_costs_max_stages_to_end(p->costs);
    const uint64_t *peaks =
        pl_costs_peaks_from(p->costs, stages_to_end < known ? stages_to_end : known, first_unit);
    const uint64_t *cycles = pl_costs_cycles_from(p->costs, first_unit);
    const uint8_t *shape = p->shape + pl_triangle_row(p->num_units, first_unit);
    for (size_t d = 0; d < count; ++d)
        ok[d] = shape[d] & (peaks[d] <= limit) & (peaks[d] >= min_peak);
    for (size_t d = 0; cycles != NULL && d < count; ++d)
        ok[d] &= (cycles[d] <= filter->max_cycles) & (cycles[d] >= min_cycles);
    if (cycles == NULL && min_cycles > 0)
        memset(ok, 0, count);
    for (size_t d = 0; p->depends_on_ipu && d < count; ++d) {
        int64_t wanted = p->unit_ipu[first_unit + d];
        if (wanted != PL_ANY_IPU && wanted != (int64_t)ipu) {
            memset(ok + d, 0, count - d);
            break;
        }
    }
}

/* Whether the stage may be there, whatever is before and behind it. */
static void mark_alone(const pl_reachability *r, size_t stage, size_t first_unit, uint8_t *ok) {
    pl_problem_mark(r->problem, r->filter, stage, r->num_stages - stage, first_unit, ok);
    if (stage < r->num_fixed && r->fixed_units[stage] != first_unit)
        memset(ok, 0, r->problem->num_units - first_unit);
}

popliner_status pl_reachability_find(pl_reachability *reachability, popliner_error *error) {
    pl_reachability *r = reachability;
    size_t n = r->problem->num_units;
    size_t width = n + 1;
    uint8_t *ok = pl_new_array(n, sizeof *ok);
    r->from_start = pl_new_array((r->num_stages + 1) * width, sizeof *r->from_start);
    r->to_end = pl_new_array((r->num_stages + 1) * width, sizeof *r->to_end);
    if (ok == NULL || r->from_start == NULL || r->to_end == NULL) {
        free(ok);
        return pl_fail_memory(error, "what stages can reach");
    }
    r->from_start[0] = 1;
    for (size_t stage = 0; stage < r->num_stages; ++stage)
        for (size_t i = 0; i < n; ++i) {
            if (r->from_start[stage * width + i] == 0)
                continue;
            mark_alone(r, stage, i, ok);
            for (size_t d = 0; d < n - i; ++d)
                r->from_start[(stage + 1) * width + i + d + 1] |= ok[d];
        }
    r->to_end[r->num_stages * width + n] = 1;
    for (size_t stage = r->num_stages; stage-- > 0;)
        for (size_t i = 0; i < n; ++i) {
            if (r->from_start[stage * width + i] == 0)
                continue;
            mark_alone(r, stage, i, ok);
            for (size_t d = 0; d < n - i; ++d)
                r->to_end[stage * width + i] |= ok[d] & r->to_end[(stage + 1) * width + i + d + 1];
        }
    free(ok);
    return POPLINER_OK;
}

void pl_reachability_free(pl_reachability *reachability) {
    free(reachability->from_start);
    free(reachability->to_end);
    *reachability = (pl_reachability){0};
}

bool pl_reachability_mark(const pl_reachability *reachability, size_t stage, size_t first_unit,
                          uint8_t *ok) {
    size_t n = reachability->problem->num_units;
    size_t width = n + 1;
    if (reachability->from_start[stage * width + first_unit] == 0 ||
        reachability->to_end[stage * width + first_unit] == 0)
        return false;
    mark_alone(reachability, stage, first_unit, ok);
    for (size_t d = 0; d < n - first_unit; ++d)
        ok[d] &= reachability->to_end[(stage + 1) * width + first_unit + d + 1];
    return true;
}

uint64_t pl_objective_values_spread(const pl_objective_values *values, bool is_of_cycles) {
    return is_of_cycles ? values->cycles - values->min_cycles
                        : values->peak_bytes - values->min_peak_bytes;
}

void pl_filter_enter_window(pl_filter *filter, uint64_t min_value, uint64_t width) {
    uint64_t max_value = min_value > UINT64_MAX - width ? UINT64_MAX : min_value + width;
    uint64_t *min_of = filter->spread_is_of_cycles ? &filter->min_cycles : &filter->min_peak_bytes;
    uint64_t *max_of = filter->spread_is_of_cycles ? &filter->max_cycles : &filter->max_peak_bytes;
    *min_of = min_value > *min_of ? min_value : *min_of;
    *max_of = max_value < *max_of ? max_value : *max_of;
}

pl_filter pl_filter_limited(const pl_filter *filter, popliner_objective objective, uint64_t max) {
    pl_filter result = *filter;
    switch (objective) {
    case POPLINER_OBJECTIVE_MEMORY:
        result.max_peak_bytes = max;
        break;
    case POPLINER_OBJECTIVE_CYCLES:
        result.max_cycles = max;
        break;
    case POPLINER_OBJECTIVE_TRAFFIC:
        result.max_cut_bytes = max;
        break;
    case POPLINER_OBJECTIVE_IPUS:
        result.max_ipus = max < SIZE_MAX ? (size_t)max : SIZE_MAX;
        break;
    case POPLINER_OBJECTIVE_BALANCE:
        /* UINT64_MAX would mean that the spread is of no interest */
        result.max_spread = max < UINT64_MAX ? max : UINT64_MAX - 1;
        break;
    case POPLINER_NUM_OBJECTIVES:
        break;
    }
    return result;
}

bool pl_filter_admits(const pl_filter *filter, const pl_objective_values *values) {
    return values->peak_bytes <= filter->max_peak_bytes &&
           values->min_peak_bytes >= filter->min_peak_bytes &&
           values->cycles <= filter->max_cycles && values->min_cycles >= filter->min_cycles &&
           values->cut_bytes <= filter->max_cut_bytes && values->num_ipus <= filter->max_ipus &&
           pl_objective_values_spread(values, filter->spread_is_of_cycles) <= filter->max_spread;
}
