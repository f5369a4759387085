/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stage_rule.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/ipus.h"

#include <string.h>

/* True if no other stage runs on the stage's IPU. */
static bool is_alone(const pl_problem *p, size_t stage) {
    for (size_t other = 0; p->is_shared && other < p->options->num_mapped_stages; ++other)
        if (other != stage && p->first_on_ipu[other] == p->first_on_ipu[stage])
            return false;
    return true;
}

/* True if the IPU may not have any stage, however small. */
static bool limits_exclude(const pl_problem *problem, const pl_limits *limits, size_t ipu) {
    return limits->max_shortfall_bytes < UINT64_MAX &&
           limits->max_shortfall_bytes < pl_problem_lack(problem, ipu);
}

pl_stage_rule pl_stage_rule_of(const pl_problem *problem, const pl_limits *limits, size_t stage,
                               size_t stages_to_end) {
    size_t ipu = pl_problem_ipu(problem, stage);
    size_t known = problem->num_places;
    size_t place = pl_problem_place(problem, stage + stages_to_end, stage);
    const size_t stages = place % PL_PLACES;
    const size_t over = stages - pl_fewer(stages, known);
    uint64_t speed = pl_speed_of(problem->options, ipu);
    /* stages that share its IPU may add what it lacks */
    bool has_minimum = is_alone(problem, stage);
    bool is_limited = limits->min_cycles > 0 || limits->max_cycles < UINT64_MAX;
    bool has_links = is_limited && problem->links.cycles != NULL;
    /* a peak of 0 is also too much then */
    uint64_t least_bytes = limits_exclude(problem, limits, ipu) ? 1 : 0;
    if (has_minimum && limits->min_peak_bytes > least_bytes)
        least_bytes = limits->min_peak_bytes;
    return (pl_stage_rule){
        .problem = problem,
        /* costs end at `known`; longer pipelines are tried only to find conflicting constraints */
        .to_end = place - over,
        .ipu = ipu,
        .min_peak_bytes = least_bytes,
        .max_peak_bytes = pl_limits_peak(problem, limits, ipu),
        .min_cycles = has_minimum && !has_links ? pl_speed_fewest(speed, limits->min_cycles) : 0,
        .max_cycles = pl_speed_most(speed, limits->max_cycles),
        .link_before = has_links ? pl_links_before(&problem->links, stage) : NULL,
        .link_after = has_links ? pl_links_before(&problem->links, stage + 1) : NULL,
        .speed = speed,
        .min_busy_cycles = has_minimum ? limits->min_cycles : 0,
        .max_busy_cycles = limits->max_cycles,
    };
}

/* Returns the largest end that placements allow a stage that begins with the unit; the unit itself
 * if it must not be on the IPU. O(placements). */
static size_t placed_end(const pl_stage_rule *rule, size_t first_unit) {
    const popliner_solver_options *o = rule->problem->options;
    size_t end = rule->problem->num_units;
    for (size_t i = 0; i < o->num_placements; ++i)
        if (o->placements[i].unit >= first_unit && o->placements[i].ipu != rule->ipu)
            end = pl_fewer(end, o->placements[i].unit);
    return end;
}

/* True if cuts, sizes and placements allow the interval. */
static bool has_right_ends(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const pl_problem *p = rule->problem;
    return p->may_cut[first_unit] != 0 && p->may_cut[end_unit] != 0 &&
           end_unit >= p->min_end[first_unit] && end_unit <= p->max_end[first_unit] &&
           end_unit <= placed_end(rule, first_unit);
}

/* True if the cycles, with the time of both cuts, are within the limits. */
static bool is_busy_enough(const pl_stage_rule *rule, size_t first_unit, size_t end_unit,
                           uint64_t cycles) {
    if (rule->link_before == NULL)
        return true;
    uint64_t busy = pl_speed_cycles(rule->speed, cycles) + rule->link_before[first_unit] +
                    rule->link_after[end_unit];
    return busy <= rule->max_busy_cycles && busy >= rule->min_busy_cycles;
}

bool pl_stage_rule_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const popliner_costs *costs = rule->problem->costs;
    if (!has_right_ends(rule, first_unit, end_unit))
        return false;
    if (rule->problem->chooser != NULL)
        return pl_chooser_allows(rule, first_unit, end_unit);
    uint64_t peak_bytes = popliner_costs_peak(costs, first_unit, end_unit - 1, rule->to_end);
    uint64_t cycles = popliner_costs_cycles(costs, first_unit, end_unit - 1);
    return peak_bytes <= rule->max_peak_bytes && peak_bytes >= rule->min_peak_bytes &&
           cycles <= rule->max_cycles && cycles >= rule->min_cycles &&
           is_busy_enough(rule, first_unit, end_unit, cycles);
}

/* Sets ok[0 ... count - 1] to pl_stage_rule_allows for the ends from `end_unit` on, which cuts,
 * sizes and placements reach. */
static void mark_ends(const pl_stage_rule *rule, size_t first_unit, size_t end_unit, size_t count,
                      uint8_t *ok) {
    const pl_problem *p = rule->problem;
    uint64_t earlier;
    const uint64_t *cycles = pl_costs_cycles_row(p->costs, first_unit, &earlier);
    memcpy(ok, p->may_cut + end_unit, count);
    for (size_t d = 0; p->chooser != NULL && d < count; ++d)
        ok[d] = ok[d] != 0 && pl_chooser_allows(rule, first_unit, end_unit + d);
    if (p->chooser != NULL)
        return;
    pl_costs_mark_peaks(p->costs, rule->to_end,
                        &(pl_peak_range){first_unit, end_unit - 1, count, rule->min_peak_bytes,
                                         rule->max_peak_bytes},
                        ok);
    if (cycles == NULL && rule->min_cycles > 0)
        memset(ok, 0, count);
    if (cycles == NULL)
        return;
    cycles += end_unit - 1 - first_unit;
    for (size_t d = 0; d < count; ++d)
        ok[d] &=
            (cycles[d] - earlier <= rule->max_cycles) & (cycles[d] - earlier >= rule->min_cycles);
    for (size_t d = 0; rule->link_before != NULL && d < count; ++d)
        ok[d] = ok[d] != 0 && is_busy_enough(rule, first_unit, end_unit + d, cycles[d] - earlier);
}

/* True if the units are too large for a stage, and stay so if more come after them. */
static bool is_over(const pl_stage_rule *rule, size_t first, size_t end) {
    const popliner_interval stage = {first, end - 1, rule->to_end};
    if (rule->problem->chooser != NULL)
        return pl_chooser_is_over(rule, first, end);
    return pl_cost_order_is_over(&rule->problem->order, rule->problem->costs, &stage,
                                 rule->max_cycles, rule->max_peak_bytes);
}

/* Sets placed[units] to the placed_end of each. O(units + placements). */
static void find_placed_ends(const pl_stage_rule *rule, size_t *placed) {
    const popliner_solver_options *o = rule->problem->options;
    const size_t n = rule->problem->num_units;
    for (size_t unit = 0; unit < n; ++unit)
        placed[unit] = n;
    for (size_t i = 0; i < o->num_placements; ++i)
        if (o->placements[i].ipu != rule->ipu)
            placed[o->placements[i].unit] = o->placements[i].unit;
    for (size_t unit = n; unit-- > 1;)
        placed[unit - 1] = pl_fewer(placed[unit - 1], placed[unit]);
}

/* Appends the marks of a unit's ends, from min_end on. */
static void mark_unit(pl_stage_ends *ends, const pl_stage_rule *rule, size_t first, size_t last_end,
                      size_t *num_marks) {
    const pl_problem *p = rule->problem;
    const size_t step = p->chooser != NULL ? 1 : 64; /* choices take longer than marks */
    const size_t most = pl_fewer(p->max_end[first], last_end);
    size_t end = p->min_end[first];
    while (p->may_cut[first] != 0 && end <= most && !is_over(rule, first, end)) {
        const size_t count = pl_fewer(most + 1 - end, step);
        if (!pl_arrays_grow(&ends->arrays, &ends->ok, *num_marks + count, sizeof *ends->ok))
            return;
        mark_ends(rule, first, end, count, ends->ok + *num_marks);
        *num_marks += count;
        end += count;
    }
    ends->to[first] = end;
}

size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits) {
    const bool has_shortfalls = limits->max_shortfall_bytes < UINT64_MAX;
    const bool has_cycles = limits->max_cycles < UINT64_MAX || limits->min_cycles > 0;
    size_t count = 0;
    /* where costs follow the split, each number of stages needs its own rows */
    if (problem->follows_split || problem->is_shared ||
        (problem->is_mapped && problem->depends_on_ipu))
        return problem->max_stages;
    if (!problem->depends_on_ipu)
        return 0;
    const size_t none = POPLINER_MAX_IPU + 1; /* of no particular IPU */
    const pl_stage_rule usual = pl_stage_rule_of(problem, limits, none, 1);
    for (size_t i = 0; i < problem->options->num_placements; ++i)
        count = pl_more(count, problem->options->placements[i].ipu + 1);
    count = pl_fewer(count, problem->max_stages);
    for (size_t stage = problem->max_stages; stage-- > count;) {
        const pl_stage_rule own = pl_stage_rule_of(problem, limits, stage, 1);
        if (own.max_peak_bytes != usual.max_peak_bytes || own.link_before != usual.link_before ||
            own.link_after != usual.link_after || (has_cycles && own.speed != usual.speed) ||
            (has_shortfalls && pl_problem_lack(problem, stage) != pl_problem_lack(problem, none)))
            return stage + 1;
    }
    return count;
}

/* ---- where stages may end ---- */

void pl_stage_ends_free(pl_stage_ends *ends) {
    pl_arrays_free(&ends->arrays);
    *ends = (pl_stage_ends){0};
}

/* True if no limit excludes that a stage has these units. If none excludes it, none does for
 * fewer. */
static bool may_have(const pl_stage_rule *rule, size_t first, size_t end) {
    return end <= first || (end <= rule->problem->max_end[first] && !is_over(rule, first, end));
}

size_t pl_stage_rule_last(const pl_stage_rule *rule, size_t first) {
    size_t last = first;
    for (size_t over = rule->problem->num_units + 1; last + 1 < over;) {
        const size_t middle = last + (over - last) / 2;
        if (may_have(rule, first, middle))
            last = middle;
        else
            over = middle;
    }
    return last;
}

size_t pl_stage_rule_first(const pl_stage_rule *rule, size_t end) {
    size_t first = 0;
    for (size_t last = end; first < last;) {
        const size_t middle = first + (last - first) / 2;
        if (may_have(rule, middle, end))
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

popliner_status pl_stage_ends_find(pl_stage_ends *ends, const pl_stage_rule *rule,
                                   const uint8_t *begins, popliner_error *error) {
    const size_t n = rule->problem->num_units;
    size_t num_marks = 0;
    ends->from = rule->problem->min_end;
    pl_arrays_grow(&ends->arrays, &ends->to, n, sizeof *ends->to);
    if (pl_arrays_grow(&ends->arrays, &ends->row, n, sizeof *ends->row))
        find_placed_ends(rule, ends->to); /* until each has its own */
    for (size_t first = 0; !ends->arrays.failed && first < n; ++first) {
        const size_t last_end = ends->to[first];
        ends->row[first] = num_marks;
        ends->to[first] = ends->from[first];
        if (begins == NULL || begins[first] != 0)
            mark_unit(ends, rule, first, last_end, &num_marks);
    }
    return ends->arrays.failed ? pl_fail_memory(error, "the intervals that may be stages")
                               : POPLINER_OK;
}
