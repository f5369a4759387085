/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/problem.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/speeds.h"
#include "solve/stage_ends.h"

#include <stdlib.h>
#include <string.h>

/* What is left of the options once inactive constraints are taken away. */
typedef struct rules {
    pl_rules of;
    size_t *counted; /* [num_units + 1]: how many counted units stand before */
} rules;

/* Whether the units first ... last are light enough for an IPU. */
static bool is_light(const pl_problem *p, size_t first, size_t last) {
    const popliner_interval stage = {first, last, 1};
    return pl_options_allow_weight(p->options, &stage, 1);
}

/* Finds which intervals keep to the rules of cuts, sizes and weights. */
static void find_ends(pl_problem *p, const rules *r) {
    size_t n = p->num_units;
    size_t min_end = 1;
    size_t max_end = 0;
    p->may_cut[0] = p->may_cut[n] = 1;
    for (size_t unit = 1; unit < n; ++unit)
        p->may_cut[unit] = r->of.cuts[unit] != POPLINER_CUT_FORBIDDEN;
    for (size_t first = 0; first < n; ++first) {
        min_end = min_end > first ? min_end : first + 1;
        while (min_end <= n && r->counted[min_end] - r->counted[first] < r->of.min_units)
            ++min_end;
        if (max_end < first)
            max_end = first;
        while (max_end < n && is_light(p, first, max_end) &&
               (max_end == first ||
                (r->of.cuts[max_end] != POPLINER_CUT_REQUIRED &&
                 (r->of.max_units == 0 ||
                  r->counted[max_end + 1] - r->counted[first] <= r->of.max_units))))
            ++max_end;
        p->min_end[first] = min_end;
        p->max_end[first] = max_end;
    }
}

/* Forbids the cuts between the units of a pair. */
static void join(pl_problem *p, popliner_pair pair) {
    size_t a = pair.first_unit < pair.second_unit ? pair.first_unit : pair.second_unit;
    size_t b = pair.first_unit < pair.second_unit ? pair.second_unit : pair.first_unit;
    for (size_t unit = a + 1; unit <= b; ++unit)
        p->may_cut[unit] = 0;
}

/* Links the units that have to be on some IPU. */
static void link_placements(pl_problem *p) {
    size_t n = p->num_units;
    p->next_placed[n] = n;
    for (size_t unit = n; unit-- > 0;) {
        size_t next = p->next_placed[unit + 1];
        p->next_placed[unit] = p->unit_ipu[unit] != PL_ANY_IPU ? unit : next;
        p->next_other[unit] =
            next < n && p->unit_ipu[next] == p->unit_ipu[unit] ? p->next_other[next] : next;
    }
}

static popliner_status find_rules(pl_problem *p, const uint8_t *active, rules *r,
                                  popliner_error *error) {
    const popliner_solver_options *options = p->options;
    pl_constraints list = {0};
    size_t num_pairs = 0;
    popliner_status status = pl_constraints_list(p->costs, options, &list, error);
    r->of = (pl_rules){.min_stages = 1, .max_stages = p->num_units};
    r->of.cuts = pl_new_array(p->num_units, sizeof *r->of.cuts);
    r->of.unit_ipu = p->unit_ipu = pl_new_array(p->num_units, sizeof *p->unit_ipu);
    r->counted = pl_new_array(p->num_units + 1, sizeof *r->counted);
    p->is_pair_active = pl_new_array(options->num_pairs, sizeof *p->is_pair_active);
    if (status == POPLINER_OK && (r->of.cuts == NULL || r->counted == NULL ||
                                  p->is_pair_active == NULL || p->unit_ipu == NULL))
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;

    for (size_t unit = 0; unit < p->num_units; ++unit) {
        bool counts = options->counted_units == NULL || options->counted_units[unit] != 0;
        r->counted[unit + 1] = r->counted[unit] + counts;
        p->unit_ipu[unit] = PL_ANY_IPU;
    }
    for (size_t i = 0; i < list.count; ++i) {
        const popliner_constraint *c = &list.items[i];
        const pl_constraint_kind *kind = pl_constraint_of(c->kind);
        bool is_active = active == NULL || active[i] != 0;
        if (c->kind == POPLINER_CONSTRAINT_PAIR)
            p->is_pair_active[num_pairs++] = is_active;
        if (is_active && kind->apply != NULL)
            kind->apply(&r->of, c);
    }
    p->min_stages = r->of.min_stages;
    p->max_stages = r->of.max_stages;
    p->is_mapped = r->of.is_mapped;
done:
    free(list.items);
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
    for (size_t stage = 0; stage < num_stages; ++stage) {
        size_t count = 0;
        for (size_t other = 0; other <= stage; ++other)
            count += p->first_on_ipu[other] == p->first_on_ipu[stage];
        p->num_shared_ipus += count == 2;
        p->most_stages_of_ipu = count > p->most_stages_of_ipu ? count : p->most_stages_of_ipu;
    }
    return POPLINER_OK;
}

/* Whether speeds and links tell places apart. They are of cycles, which no filter limits unless
 * they are an objective. */
static bool cycles_depend_on_ipu(const pl_problem *p) {
    return pl_objectives_need_cycles(p->options) != NULL &&
           (p->options->num_ipu_speeds > 0 || p->links.num_special > 0);
}

/* Takes over the order of the costs where it is known of as many places, else finds it. */
static popliner_status find_order(pl_problem *p, const pl_problem *like, popliner_error *error) {
    size_t known = pl_costs_max_stages_to_end(p->costs);
    size_t most = p->max_stages < known ? p->max_stages : known;
    if (p->is_shared)
        return POPLINER_OK;
    if (like == NULL || like->is_shared || most > like->max_stages ||
        (like->own_costs == NULL) != (p->own_costs == NULL))
        return pl_costs_find_order(p->costs, p->max_stages, &p->order, error);
    p->order = like->order;
    p->order.first_ends = pl_new_array(p->num_units, sizeof *p->order.first_ends);
    if (p->order.first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    memcpy(p->order.first_ends, like->order.first_ends, p->num_units * sizeof *p->order.first_ends);
    return POPLINER_OK;
}

popliner_status pl_problem_create_like(pl_problem *problem, const pl_problem *like,
                                       const popliner_costs *costs,
                                       const popliner_solver_options *options,
                                       const uint8_t *active, popliner_error *error) {
    pl_problem *p = problem;
    rules r = {0};
    costs = pl_costs_of_any_split(costs);
    p->costs = costs;
    p->options = options;
    p->num_units = popliner_costs_num_units(costs);
    p->may_cut = pl_new_array(p->num_units + 1, sizeof *p->may_cut);
    p->min_end = pl_new_array(p->num_units, sizeof *p->min_end);
    p->max_end = pl_new_array(p->num_units, sizeof *p->max_end);
    p->next_placed = pl_new_array(p->num_units + 1, sizeof *p->next_placed);
    p->next_other = pl_new_array(p->num_units, sizeof *p->next_other);
    bool has_room = p->may_cut != NULL && p->min_end != NULL && p->max_end != NULL &&
                    p->next_placed != NULL && p->next_other != NULL;
    popliner_status status =
        has_room ? find_rules(p, active, &r, error) : pl_fail_memory(error, "the constraints");
    if (status == POPLINER_OK)
        status = find_sharing(p, error);
    if (status == POPLINER_OK && p->is_mapped && pl_costs_follows_split(costs))
        status = pl_costs_of_number(costs, p->min_stages, &p->own_costs, error);
    if (p->own_costs != NULL)
        p->costs = costs = p->own_costs;
    if (status == POPLINER_OK)
        status = pl_links_find(&p->links, costs, options, p->max_stages, error);
    if (status != POPLINER_OK)
        goto done;
    find_ends(p, &r);
    link_placements(p);
    for (size_t i = 0; i < options->num_pairs && !p->is_shared; ++i)
        if (p->is_pair_active[i] != 0)
            join(p, options->pairs[i]);
    p->depends_on_end = pl_costs_max_stages_to_end(costs) > 1;
    p->depends_on_ipu = options->num_ipu_limits > 0 || cycles_depend_on_ipu(p);
    for (size_t unit = 0; unit < p->num_units; ++unit)
        p->depends_on_ipu = p->depends_on_ipu || p->unit_ipu[unit] != PL_ANY_IPU;
    status = find_order(p, like, error);
done:
    free(r.of.cuts);
    free(r.counted);
    return status;
}

popliner_status pl_problem_create(pl_problem *problem, const popliner_costs *costs,
                                  const popliner_solver_options *options, const uint8_t *active,
                                  popliner_error *error) {
    return pl_problem_create_like(problem, NULL, costs, options, active, error);
}

void pl_problem_free(pl_problem *problem) {
    pl_cost_order_clear(&problem->order);
    pl_links_free(&problem->links);
    free(problem->may_cut);
    free(problem->min_end);
    free(problem->max_end);
    free(problem->next_placed);
    free(problem->next_other);
    free(problem->unit_ipu);
    free(problem->first_on_ipu);
    free(problem->is_pair_active);
    popliner_costs_free(problem->own_costs);
    *problem = (pl_problem){0};
}

size_t pl_problem_broken_pairs(const pl_problem *problem, const size_t *first_units,
                               size_t num_stages) {
    size_t num_broken = 0;
    for (size_t i = 0; i < problem->options->num_pairs; ++i) {
        const popliner_pair pair = problem->options->pairs[i];
        size_t first = 0;
        size_t second = 0;
        if (problem->is_pair_active[i] == 0)
            continue;
        for (size_t stage = 1; stage < num_stages; ++stage) {
            first = first_units[stage] <= pair.first_unit ? stage : first;
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

popliner_status pl_problem_shared_peak(const pl_problem *problem, const popliner_interval *stages,
                                       size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error) {
    if (pl_options_allow_weight(problem->options, stages, num_stages))
        return pl_costs_shared_peak(problem->costs, stages, num_stages, peak_bytes, error);
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    return POPLINER_OK;
}

size_t pl_problem_ipu(const pl_problem *problem, size_t stage) {
    return problem->is_mapped ? problem->options->device_map[stage] : stage;
}

uint64_t pl_problem_cycles(const pl_problem *problem, size_t stage, size_t first_unit,
                           size_t last_unit) {
    uint64_t speed = pl_speed_of(problem->options, pl_problem_ipu(problem, stage));
    uint64_t cycles =
        pl_speed_cycles(speed, popliner_costs_cycles(problem->costs, first_unit, last_unit));
    const uint64_t *before = pl_links_before(&problem->links, stage);
    const uint64_t *behind = pl_links_before(&problem->links, stage + 1);
    return before == NULL ? cycles : cycles + before[first_unit] + behind[last_unit + 1];
}

pl_filter pl_filter_of_limits(const pl_problem *problem) {
    return (pl_filter){
        .limits = {.plain_limit_bytes = problem->options->max_stage_bytes,
                   .max_peak_bytes = POPLINER_PEAK_FORBIDDEN - 1,
                   .max_cycles = UINT64_MAX,
                   .max_cut_bytes = UINT64_MAX,
                   .max_ipus = UINT64_MAX},
        .max_spread = UINT64_MAX,
    };
}

pl_filter pl_filter_without_memory(const pl_problem *problem) {
    pl_filter filter = pl_filter_of_limits(problem);
    filter.limits.plain_limit_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    filter.limits.ignores_ipu_limits = true;
    return filter;
}

/* A limit of memory that is none over what the limits admit of every IPU. */
static uint64_t within(const pl_limits *limits, uint64_t limit_bytes) {
    if (limit_bytes > limits->max_peak_bytes)
        limit_bytes = limits->max_peak_bytes;
    return limit_bytes < POPLINER_PEAK_FORBIDDEN ? limit_bytes : POPLINER_PEAK_FORBIDDEN - 1;
}

uint64_t pl_limits_peak(const pl_problem *problem, const pl_limits *limits, size_t ipu) {
    uint64_t limit = limits->plain_limit_bytes;
    const popliner_solver_options *options = problem->options;
    for (size_t i = 0; i < options->num_ipu_limits && !limits->ignores_ipu_limits; ++i)
        if (options->ipu_limits[i].ipu == ipu)
            limit = options->ipu_limits[i].bytes;
    return within(limits, limit);
}

/* Whether no other stage runs on the IPU of this one. */
static bool is_alone(const pl_problem *p, size_t stage) {
    for (size_t other = 0; p->is_shared && other < p->options->num_mapped_stages; ++other)
        if (other != stage && p->first_on_ipu[other] == p->first_on_ipu[stage])
            return false;
    return true;
}

pl_stage_rule pl_stage_rule_of(const pl_problem *problem, const pl_limits *limits, size_t stage,
                               size_t stages_to_end) {
    size_t ipu = pl_problem_ipu(problem, stage);
    size_t known = pl_costs_max_stages_to_end(problem->costs);
    size_t place = pl_costs_place(problem->costs, stage + stages_to_end, stage);
    uint64_t speed = pl_speed_of(problem->options, ipu);
    /* what shares its IPU may make up for what it lacks itself */
    bool has_minimum = is_alone(problem, stage);
    bool is_limited = limits->min_cycles > 0 || limits->max_cycles < UINT64_MAX;
    bool has_links = is_limited && problem->links.cycles != NULL;
    return (pl_stage_rule){
        .problem = problem,
        /* longer pipelines than the costs know are only looked at to see what contradicts */
        .to_end = place < known ? place : known,
        .ipu = ipu,
        .min_peak_bytes = has_minimum ? limits->min_peak_bytes : 0,
        .max_peak_bytes = pl_limits_peak(problem, limits, ipu),
        .min_cycles = has_minimum && !has_links ? pl_speed_fewest(speed, limits->min_cycles) : 0,
        .max_cycles = pl_speed_most(speed, limits->max_cycles),
        .link_before = has_links ? pl_links_before(&problem->links, stage) : NULL,
        .link_behind = has_links ? pl_links_before(&problem->links, stage + 1) : NULL,
        .speed = speed,
        .min_busy_cycles = limits->min_cycles,
        .max_busy_cycles = limits->max_cycles,
    };
}

size_t pl_stage_rule_placed_end(const pl_stage_rule *rule, size_t first_unit) {
    const pl_problem *p = rule->problem;
    size_t placed = rule->is_anywhere ? p->num_units : p->next_placed[first_unit];
    if (placed < p->num_units && p->unit_ipu[placed] == (int64_t)rule->ipu)
        placed = p->next_other[placed];
    return placed;
}

/* What cuts, sizes and placements say. */
static bool has_right_ends(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const pl_problem *p = rule->problem;
    return p->may_cut[first_unit] != 0 && p->may_cut[end_unit] != 0 &&
           end_unit >= p->min_end[first_unit] && end_unit <= p->max_end[first_unit] &&
           end_unit <= pl_stage_rule_placed_end(rule, first_unit);
}

/* Whether the cycles are within the limits with what the cuts take on their links. */
static bool is_busy_enough(const pl_stage_rule *rule, size_t first_unit, size_t end_unit,
                           uint64_t cycles) {
    if (rule->link_before == NULL)
        return true;
    uint64_t busy = pl_speed_cycles(rule->speed, cycles) + rule->link_before[first_unit] +
                    rule->link_behind[end_unit];
    return busy <= rule->max_busy_cycles && busy >= rule->min_busy_cycles;
}

bool pl_stage_rule_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const popliner_costs *costs = rule->problem->costs;
    if (!has_right_ends(rule, first_unit, end_unit))
        return false;
    uint64_t peak_bytes = popliner_costs_peak(costs, first_unit, end_unit - 1, rule->to_end);
    uint64_t cycles = popliner_costs_cycles(costs, first_unit, end_unit - 1);
    return peak_bytes <= rule->max_peak_bytes && peak_bytes >= rule->min_peak_bytes &&
           cycles <= rule->max_cycles && cycles >= rule->min_cycles &&
           is_busy_enough(rule, first_unit, end_unit, cycles);
}

/* The same for the ends from `end_unit` on. */
static void mark_busy_enough(const pl_stage_rule *rule, size_t first_unit, size_t end_unit,
                             size_t count, uint8_t *ok) {
    const uint64_t *cycles =
        pl_costs_cycles_from(rule->problem->costs, first_unit) + (end_unit - 1 - first_unit);
    const uint64_t *behind = rule->link_behind + end_unit;
    uint64_t before = rule->link_before[first_unit];
    if (rule->speed != POPLINER_SPEED_ONE) {
        for (size_t d = 0; d < count; ++d)
            ok[d] = ok[d] != 0 && is_busy_enough(rule, first_unit, end_unit + d, cycles[d]);
        return;
    }
    for (size_t d = 0; d < count; ++d) {
        uint64_t busy = cycles[d] + before + behind[d];
        ok[d] &= (busy <= rule->max_busy_cycles) & (busy >= rule->min_busy_cycles);
    }
}

void pl_stage_rule_mark(const pl_stage_rule *rule, size_t first_unit, size_t end_unit, size_t count,
                        uint8_t *ok) {
    const pl_problem *p = rule->problem;
    const uint64_t *cycles = pl_costs_cycles_from(p->costs, first_unit);
    const pl_stage_rule outer = pl_stage_rule_outer(rule);
    if (count > 0 && pl_stage_rule_is_ordered(&outer)) {
        size_t last_end = pl_stage_rule_last_end(&outer, first_unit);
        size_t within = last_end >= end_unit ? last_end - end_unit + 1 : 0;
        if (within < count) {
            memset(ok + within, 0, count - within);
            count = within;
        }
    }
    size_t max_end = pl_stage_rule_placed_end(rule, first_unit);
    if (max_end > p->max_end[first_unit])
        max_end = p->max_end[first_unit];
    size_t min_end = p->may_cut[first_unit] != 0 ? p->min_end[first_unit] : SIZE_MAX;
    for (size_t d = 0; d < count; ++d) {
        size_t end = end_unit + d;
        ok[d] = p->may_cut[end] & (end >= min_end) & (end <= max_end);
    }
    pl_costs_mark_peaks(p->costs, rule->to_end,
                        &(pl_peak_range){first_unit, end_unit - 1, count, rule->min_peak_bytes,
                                         rule->max_peak_bytes},
                        ok);
    if (cycles == NULL && rule->min_cycles > 0)
        memset(ok, 0, count);
    bool has_limits = rule->max_cycles < UINT64_MAX || rule->min_cycles > 0;
    if (cycles == NULL || (!has_limits && rule->link_before == NULL))
        return;
    cycles += end_unit - 1 - first_unit;
    for (size_t d = 0; d < count; ++d)
        ok[d] &= (cycles[d] <= rule->max_cycles) & (cycles[d] >= rule->min_cycles);
    if (rule->link_before != NULL)
        mark_busy_enough(rule, first_unit, end_unit, count, ok);
}

void pl_problem_mark(const pl_problem *problem, const pl_limits *limits, size_t stage,
                     size_t stages_to_end, size_t first_unit, uint8_t *ok) {
    pl_stage_rule rule = pl_stage_rule_of(problem, limits, stage, stages_to_end);
    pl_stage_rule_mark(&rule, first_unit, first_unit + 1, problem->num_units - first_unit, ok);
}

size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits) {
    const popliner_solver_options *options = problem->options;
    size_t count = 0;
    /* where costs follow the split, no row of one number of stages serves another */
    if (problem->is_mapped || pl_costs_follows_split(problem->costs))
        return problem->max_stages;
    if (!problem->depends_on_ipu)
        return 0;
    uint64_t plain = within(limits, limits->plain_limit_bytes);
    for (size_t i = 0; i < options->num_ipu_limits; ++i) {
        size_t ipu = options->ipu_limits[i].ipu;
        if (ipu >= count && pl_limits_peak(problem, limits, ipu) != plain)
            count = ipu < problem->max_stages ? ipu + 1 : problem->max_stages;
    }
    bool has_cycles = limits->max_cycles < UINT64_MAX || limits->min_cycles > 0;
    for (size_t i = 0; has_cycles && i < options->num_ipu_speeds; ++i) {
        size_t ipu = options->ipu_speeds[i].ipu;
        if (ipu >= count && options->ipu_speeds[i].millionths != POPLINER_SPEED_ONE)
            count = ipu < problem->max_stages ? ipu + 1 : problem->max_stages;
    }
    if (has_cycles && problem->links.num_special > count)
        count = problem->links.num_special < problem->max_stages ? problem->links.num_special
                                                                 : problem->max_stages;
    for (size_t unit = 0; unit < problem->num_units; ++unit)
        if (problem->unit_ipu[unit] >= (int64_t)count)
            count = (size_t)problem->unit_ipu[unit] < problem->max_stages
                        ? (size_t)problem->unit_ipu[unit] + 1
                        : problem->max_stages;
    return count;
}

/* Whether the stage may be there, whatever is before and behind it. */
static void mark_alone(const pl_reachability *r, size_t stage, size_t first_unit, uint8_t *ok) {
    pl_problem_mark(r->problem, r->limits, stage, r->num_stages - stage, first_unit, ok);
}

/* What the passes over the stages need. */
typedef struct reach_pass {
    pl_stage_ends ends;
    uint8_t *ok;   /* [units] */
    size_t *count; /* [units + 2] */
} reach_pass;

static popliner_status begin_pass(reach_pass *pass, size_t num_units, popliner_error *error) {
    pass->ok = pl_new_array(num_units, sizeof *pass->ok);
    pass->count = pl_new_array(num_units + 2, sizeof *pass->count);
    return pass->ok != NULL && pass->count != NULL ? POPLINER_OK
                                                   : pl_fail_memory(error, "what stages can reach");
}

static void end_pass(reach_pass *pass) {
    pl_stage_ends_free(&pass->ends);
    free(pass->ok);
    free(pass->count);
}

/* Finds the ends of a stage if they are windows; *is_ordered says so. */
static popliner_status find_stage(const pl_reachability *r, size_t stage, reach_pass *pass,
                                  bool *is_ordered, popliner_error *error) {
    pl_stage_rule rule = pl_stage_rule_of(r->problem, r->limits, stage, r->num_stages - stage);
    *is_ordered = pl_stage_rule_is_ordered(&rule);
    if (!*is_ordered)
        return POPLINER_OK;
    return pl_stage_ends_find(&pass->ends, &rule, (pl_begin_range){0, r->problem->num_units - 1},
                              NULL, error);
}

/* Which units stages can begin with behind this one. */
static popliner_status reach_forward(pl_reachability *r, size_t stage, reach_pass *pass,
                                     popliner_error *error) {
    const pl_problem *p = r->problem;
    size_t n = p->num_units;
    const uint8_t *from = r->from_start + stage * (n + 1);
    uint8_t *behind = r->from_start + (stage + 1) * (n + 1);
    bool is_ordered;
    popliner_status status = find_stage(r, stage, pass, &is_ordered, error);
    if (status != POPLINER_OK)
        return status;
    memset(pass->count, 0, (n + 2) * sizeof *pass->count);
    for (size_t i = 0; i < n; ++i) {
        if (from[i] == 0)
            continue;
        if (is_ordered) {
            if (p->may_cut[i] != 0 && pass->ends.from[i] < pass->ends.to[i]) {
                ++pass->count[pass->ends.from[i]];
                --pass->count[pass->ends.to[i]]; /* modulo 2^64 the order does not matter */
            }
            continue;
        }
        mark_alone(r, stage, i, pass->ok);
        for (size_t d = 0; d < n - i; ++d)
            behind[i + d + 1] |= pass->ok[d];
    }
    size_t num_open = 0;
    for (size_t end = 1; is_ordered && end <= n; ++end) {
        num_open += pass->count[end];
        behind[end] = num_open > 0 && p->may_cut[end] != 0;
    }
    return POPLINER_OK;
}

/* With which of them it goes on to the end of the chain. */
static popliner_status reach_backward(pl_reachability *r, size_t stage, reach_pass *pass,
                                      popliner_error *error) {
    const pl_problem *p = r->problem;
    size_t n = p->num_units;
    const uint8_t *from = r->from_start + stage * (n + 1);
    const uint8_t *behind = r->to_end + (stage + 1) * (n + 1);
    uint8_t *to_end = r->to_end + stage * (n + 1);
    bool is_ordered;
    popliner_status status = find_stage(r, stage, pass, &is_ordered, error);
    if (status != POPLINER_OK)
        return status;
    pass->count[0] = 0; /* ends before so many units that go on */
    for (size_t end = 0; end <= n; ++end)
        pass->count[end + 1] = pass->count[end] + behind[end];
    for (size_t i = 0; i < n; ++i) {
        if (from[i] == 0)
            continue;
        if (is_ordered) {
            to_end[i] = p->may_cut[i] != 0 && pass->ends.from[i] < pass->ends.to[i] &&
                        pass->count[pass->ends.to[i]] > pass->count[pass->ends.from[i]];
            continue;
        }
        mark_alone(r, stage, i, pass->ok);
        for (size_t d = 0; d < n - i; ++d)
            to_end[i] |= pass->ok[d] & behind[i + d + 1];
    }
    return POPLINER_OK;
}

popliner_status pl_reachability_find(pl_reachability *reachability, popliner_error *error) {
    pl_reachability *r = reachability;
    size_t n = r->problem->num_units;
    size_t width = n + 1;
    reach_pass pass = {0};
    popliner_status status = begin_pass(&pass, n, error);
    r->from_start = pl_new_array((r->num_stages + 1) * width, sizeof *r->from_start);
    r->to_end = pl_new_array((r->num_stages + 1) * width, sizeof *r->to_end);
    if (status == POPLINER_OK && (r->from_start == NULL || r->to_end == NULL))
        status = pl_fail_memory(error, "what stages can reach");
    if (status != POPLINER_OK)
        goto done;
    r->from_start[0] = 1;
    for (size_t stage = 0; status == POPLINER_OK && stage < r->num_stages; ++stage)
        status = reach_forward(r, stage, &pass, error);
    for (size_t stage = r->is_at_most ? 1 : r->num_stages; stage <= r->num_stages; ++stage)
        r->to_end[stage * width + n] = 1;
    for (size_t stage = r->num_stages; status == POPLINER_OK && stage-- > 0;)
        status = reach_backward(r, stage, &pass, error);
done:
    end_pass(&pass);
    return status;
}

popliner_status pl_reachability_cover(const pl_reachability *reachability, size_t stage,
                                      uint8_t *units, popliner_error *error) {
    const pl_reachability *r = reachability;
    size_t n = r->problem->num_units;
    const uint8_t *behind = r->to_end + (stage + 1) * (n + 1);
    reach_pass pass = {0};
    bool is_ordered = false;
    size_t num_done = 0;
    size_t last = 0; /* the last unit up to an end from which it goes on */
    popliner_status status = begin_pass(&pass, n, error);
    if (status == POPLINER_OK)
        status = find_stage(r, stage, &pass, &is_ordered, error);
    memset(units, 0, n);
    for (size_t end = 0; status == POPLINER_OK && end <= n; ++end) {
        last = behind[end] != 0 ? end : last;
        pass.count[end + 1] = last;
    }
    for (size_t first = 0; status == POPLINER_OK && first < n; ++first) {
        size_t end = first;
        if (r->from_start[stage * (n + 1) + first] == 0 || r->to_end[stage * (n + 1) + first] == 0)
            continue;
        if (is_ordered)
            end = pass.count[pass.ends.to[first]];
        else if (pl_reachability_mark(r, stage, first, pass.ok))
            for (size_t d = 0; d < n - first; ++d)
                end = pass.ok[d] != 0 ? first + d + 1 : end;
        for (size_t unit = num_done > first ? num_done : first; unit < end; ++unit)
            units[unit] = 1;
        num_done = end > num_done ? end : num_done;
    }
    end_pass(&pass);
    return status;
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
