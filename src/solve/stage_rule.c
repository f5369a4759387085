/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stage_rule.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/ipus.h"

#include <stdlib.h>
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
    size_t known = problem->costs->max_stages_to_end;
    size_t place = pl_costs_place(problem->costs, stage + stages_to_end, stage);
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
        .to_end = place < known ? place : known,
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
 * if it must not be on the IPU. O(1). */
static size_t placed_end(const pl_stage_rule *rule, size_t first_unit) {
    const pl_problem *p = rule->problem;
    size_t placed = rule->is_anywhere ? p->num_units : p->next_placed[first_unit];
    if (placed < p->num_units && p->unit_ipu[placed] == (int64_t)rule->ipu)
        placed = p->next_other[placed];
    return placed;
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
    uint64_t peak_bytes = popliner_costs_peak(costs, first_unit, end_unit - 1, rule->to_end);
    uint64_t cycles = popliner_costs_cycles(costs, first_unit, end_unit - 1);
    return peak_bytes <= rule->max_peak_bytes && peak_bytes >= rule->min_peak_bytes &&
           cycles <= rule->max_cycles && cycles >= rule->min_cycles &&
           is_busy_enough(rule, first_unit, end_unit, cycles);
}

/* Like is_busy_enough, for the ends from `end_unit` on. */
static void mark_busy_enough(const pl_stage_rule *rule, size_t first_unit, size_t end_unit,
                             size_t count, uint8_t *ok) {
    uint64_t earlier;
    const uint64_t *cycles = pl_costs_cycles_row(rule->problem->costs, first_unit, &earlier) +
                             (end_unit - 1 - first_unit);
    const uint64_t *after = rule->link_after + end_unit;
    uint64_t before = rule->link_before[first_unit];
    if (rule->speed != POPLINER_SPEED_ONE) {
        for (size_t d = 0; d < count; ++d)
            ok[d] =
                ok[d] != 0 && is_busy_enough(rule, first_unit, end_unit + d, cycles[d] - earlier);
        return;
    }
    for (size_t d = 0; d < count; ++d) {
        uint64_t busy = cycles[d] - earlier + before + after[d];
        ok[d] &= (busy <= rule->max_busy_cycles) & (busy >= rule->min_busy_cycles);
    }
}

/* Ends that a stage may have, one after another. */
typedef struct end_range {
    size_t first_unit;
    size_t end_unit; /* the first of them */
    size_t count;
    bool is_outer; /* the outer rule allows all of them */
} end_range;

/* Sets ok[0 ... count - 1] to pl_stage_rule_allows for the ends of a range. O(count). */
static void mark_ends(const pl_stage_rule *rule, const end_range *range, uint8_t *ok) {
    const pl_problem *p = rule->problem;
    const size_t first_unit = range->first_unit;
    const size_t end_unit = range->end_unit;
    const size_t count = range->count;
    uint64_t earlier;
    const uint64_t *cycles = pl_costs_cycles_row(p->costs, first_unit, &earlier);
    size_t max_end = placed_end(rule, first_unit);
    if (max_end > p->max_end[first_unit])
        max_end = p->max_end[first_unit];
    size_t min_end = p->may_cut[first_unit] != 0 ? p->min_end[first_unit] : SIZE_MAX;
    for (size_t d = 0; d < count; ++d) {
        size_t end = end_unit + d;
        ok[d] = p->may_cut[end] & (end >= min_end) & (end <= max_end);
    }
    if (!range->is_outer || rule->min_peak_bytes > 0)
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
        ok[d] &=
            (cycles[d] - earlier <= rule->max_cycles) & (cycles[d] - earlier >= rule->min_cycles);
    if (rule->link_before != NULL)
        mark_busy_enough(rule, first_unit, end_unit, count, ok);
}

void pl_problem_mark(const pl_problem *problem, const pl_limits *limits, size_t stage,
                     size_t stages_to_end, size_t first_unit, uint8_t *ok) {
    const pl_stage_rule rule = pl_stage_rule_of(problem, limits, stage, stages_to_end);
    const pl_stage_rule outer = pl_stage_rule_outer(&rule);
    end_range range = {first_unit, first_unit + 1, problem->num_units - first_unit, false};
    if (pl_stage_rule_is_ordered(&outer)) {
        const size_t begin = problem->order.first_ends[first_unit];
        const size_t end = pl_stage_rule_last_end(&outer, first_unit) + 1;
        memset(ok, 0, range.count);
        ok += begin - first_unit - 1;
        range = (end_range){first_unit, begin, end - begin, true};
    }
    mark_ends(&rule, &range, ok);
}

size_t pl_problem_num_special(const pl_problem *problem, const pl_limits *limits) {
    const popliner_solver_options *options = problem->options;
    size_t count = 0;
    /* where costs follow the split, each number of stages needs its own rows */
    if (problem->costs->follows_split || problem->costs->kinds != NULL || problem->is_shared ||
        (problem->is_mapped && problem->depends_on_ipu))
        return problem->max_stages;
    if (!problem->depends_on_ipu)
        return 0;
    uint64_t plain = pl_limits_peak(problem, limits, SIZE_MAX); /* of no particular IPU */
    for (size_t i = 0; i < options->num_ipu_limits; ++i) {
        size_t ipu = options->ipu_limits[i].ipu;
        if (ipu >= count &&
            (pl_limits_peak(problem, limits, ipu) != plain || limits_exclude(problem, limits, ipu)))
            count = ipu < problem->max_stages ? ipu + 1 : problem->max_stages;
    }
    bool has_cycles = limits->max_cycles < UINT64_MAX || limits->min_cycles > 0;
    for (size_t i = 0; has_cycles && i < options->num_ipu_speeds; ++i) {
        size_t ipu = options->ipu_speeds[i].ipu;
        if (ipu >= count && options->ipu_speeds[i].value != POPLINER_SPEED_ONE)
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

/* ---- where stages may end ---- */

void pl_stage_ends_free(pl_stage_ends *ends) {
    free(ends->from);
    free(ends->to);
    free(ends->row);
    free(ends->ok);
    *ends = (pl_stage_ends){0};
}

bool pl_stage_rule_is_ordered(const pl_stage_rule *rule) {
    const pl_cost_order *order = &rule->problem->order;
    bool has_cycles = rule->max_cycles < UINT64_MAX || rule->min_cycles > 0;
    return order->peaks_never_shrink && rule->link_before == NULL &&
           (!has_cycles || order->cycles_never_shrink || rule->is_outer);
}

pl_stage_rule pl_stage_rule_outer(const pl_stage_rule *rule) {
    pl_stage_rule outer = *rule;
    outer.link_before = outer.link_after = NULL;
    if (!rule->problem->order.cycles_never_shrink) {
        outer.is_outer = true;
        outer.min_cycles = 0;
        if (rule->problem->order.least_cycles.ends == NULL)
            outer.max_cycles = UINT64_MAX;
    }
    return outer;
}

/* Returns the cycles of an interval that count for max_cycles. */
static uint64_t counted_cycles(const pl_stage_rule *rule, size_t first, size_t end) {
    const pl_differences *least = &rule->problem->order.least_cycles;
    if (!rule->is_outer)
        return popliner_costs_cycles(rule->problem->costs, first, end - 1);
    return least->ends[end] > least->begins[first] ? least->ends[end] - least->begins[first] : 0;
}

static bool is_too_small(const pl_stage_rule *rule, size_t first, size_t end) {
    const popliner_costs *costs = rule->problem->costs;
    return (rule->min_peak_bytes > 0 &&
            popliner_costs_peak(costs, first, end - 1, rule->to_end) < rule->min_peak_bytes) ||
           (rule->min_cycles > 0 &&
            popliner_costs_cycles(costs, first, end - 1) < rule->min_cycles);
}

static bool is_too_large(const pl_stage_rule *rule, size_t first, size_t end) {
    const popliner_costs *costs = rule->problem->costs;
    return popliner_costs_peak(costs, first, end - 1, rule->to_end) > rule->max_peak_bytes ||
           (rule->max_cycles < UINT64_MAX && counted_cycles(rule, first, end) > rule->max_cycles);
}

size_t pl_stage_rule_last_end(const pl_stage_rule *rule, size_t first_unit) {
    size_t n = rule->problem->num_units;
    size_t begin = rule->problem->order.first_ends[first_unit];
    size_t fits = begin - 1; /* the last end that fits, or that is not checked */
    size_t end = begin;
    while (end <= n && !is_too_large(rule, first_unit, end)) {
        fits = end;
        end += end - begin + 1;
    }
    size_t too_large = end <= n ? end : n + 1;
    while (too_large - fits > 1) {
        size_t middle = fits + (too_large - fits) / 2;
        if (is_too_large(rule, first_unit, middle))
            too_large = middle;
        else
            fits = middle;
    }
    return fits;
}

size_t pl_stage_rule_first_begin(const pl_stage_rule *rule, size_t end_unit) {
    const size_t *first_ends = rule->problem->order.first_ends;
    size_t begin = end_unit;
    while (begin > 0 &&
           (first_ends[begin - 1] > end_unit || !is_too_large(rule, begin - 1, end_unit)))
        --begin;
    return begin;
}

static void find_windows(pl_stage_ends *ends, const pl_stage_rule *rule, pl_begin_range range) {
    const pl_problem *p = rule->problem;
    size_t n = p->num_units;
    size_t from = 0;
    size_t to = 0;
    for (size_t first = range.first; first <= range.last && first < n; ++first) {
        size_t least = p->order.first_ends[first];
        size_t most = placed_end(rule, first);
        if (p->max_end[first] < most)
            most = p->max_end[first];
        from = from > least ? from : least;
        from = from > p->min_end[first] ? from : p->min_end[first];
        while (from <= n && is_too_small(rule, first, from))
            ++from;
        to = to > least ? to : least;
        while (to <= n && !is_too_large(rule, first, to))
            ++to;
        ends->from[first] = from;
        ends->to[first] = to <= most ? to : most + 1;
    }
}

/* Finds windows without the limits that a longer interval may meet although a shorter one does not;
 * all ends if peaks may shrink. */
static void find_outer_windows(pl_stage_ends *ends, const pl_stage_rule *rule,
                               pl_begin_range range) {
    size_t n = rule->problem->num_units;
    const pl_stage_rule outer = pl_stage_rule_outer(rule);
    if (pl_stage_rule_is_ordered(&outer)) {
        find_windows(ends, &outer, range);
        return;
    }
    for (size_t first = range.first; first <= range.last && first < n; ++first) {
        ends->from[first] = first + 1;
        ends->to[first] = n + 1;
    }
}

/* Marks the ends within the windows. */
static popliner_status mark_all(pl_stage_ends *ends, const pl_stage_rule *rule,
                                pl_begin_range range, const pl_stage_ends *within,
                                popliner_error *error) {
    size_t n = rule->problem->num_units;
    size_t num_marks = 0;
    const pl_stage_rule outer = pl_stage_rule_outer(rule);
    const bool is_outer = pl_stage_rule_is_ordered(&outer);
    for (size_t first = range.first; first <= range.last && first < n; ++first) {
        size_t from = ends->from[first];
        size_t to = ends->to[first];
        if (within != NULL && within->from[first] > from)
            from = within->from[first];
        if (within != NULL && within->to[first] < to)
            to = within->to[first];
        size_t count = to > from ? to - from : 0;
        if (!pl_grow(&ends->ok, &ends->capacity, num_marks + count + 1, sizeof *ends->ok))
            return pl_fail_memory(error, "the intervals that may be stages");
        uint8_t *ok = ends->ok + num_marks;
        mark_ends(rule, &(end_range){first, from, count, is_outer}, ok);
        size_t skipped = 0;
        while (count > 0 && ok[count - 1] == 0)
            --count;
        while (skipped < count && ok[skipped] == 0)
            ++skipped;
        ends->from[first] = from + skipped;
        ends->to[first] = from + count;
        ends->row[first] = num_marks + skipped;
        num_marks += count;
    }
    return POPLINER_OK;
}

popliner_status pl_stage_ends_find(pl_stage_ends *ends, const pl_stage_rule *rule,
                                   pl_begin_range range, const pl_stage_ends *within,
                                   popliner_error *error) {
    size_t n = rule->problem->num_units;
    if (ends->from == NULL)
        ends->from = pl_new_array(n, sizeof *ends->from);
    if (ends->to == NULL)
        ends->to = pl_new_array(n, sizeof *ends->to);
    if (ends->row == NULL)
        ends->row = pl_new_array(n, sizeof *ends->row);
    if (ends->from == NULL || ends->to == NULL || ends->row == NULL)
        return pl_fail_memory(error, "the intervals that may be stages");
    ends->is_ordered = pl_stage_rule_is_ordered(rule);
    if (ends->is_ordered) {
        find_windows(ends, rule, range);
        return POPLINER_OK;
    }
    find_outer_windows(ends, rule, range);
    return mark_all(ends, rule, range, within, error);
}

/* ---- which units stages can reach ---- */

/* Marks the intervals that the stage may be, regardless of other stages. */
static void mark_alone(const pl_reachability *r, size_t stage, size_t first_unit, uint8_t *ok) {
    pl_problem_mark(r->problem, r->limits, stage, r->num_stages - stage, first_unit, ok);
}

/* Scratch arrays of a pass over the stages. */
typedef struct reach_pass {
    pl_stage_ends ends;
    uint8_t *ok;   /* [units] */
    size_t *count; /* [units + 2] */
    pl_arrays arrays;
} reach_pass;

static popliner_status begin_pass(reach_pass *pass, size_t num_units, popliner_error *error) {
    pass->ok = pl_arrays_new(&pass->arrays, num_units, sizeof *pass->ok);
    pass->count = pl_arrays_new(&pass->arrays, num_units + 2, sizeof *pass->count);
    return pass->arrays.failed ? pl_fail_memory(error, "the units that stages can reach")
                               : POPLINER_OK;
}

static void end_pass(reach_pass *pass) {
    pl_stage_ends_free(&pass->ends);
    pl_arrays_free(&pass->arrays);
}

/* Finds the ends of a stage if they are windows; sets *is_ordered if so. */
static popliner_status find_stage(const pl_reachability *r, size_t stage, reach_pass *pass,
                                  bool *is_ordered, popliner_error *error) {
    pl_stage_rule rule = pl_stage_rule_of(r->problem, r->limits, stage, r->num_stages - stage);
    *is_ordered = pl_stage_rule_is_ordered(&rule);
    if (!*is_ordered)
        return POPLINER_OK;
    return pl_stage_ends_find(&pass->ends, &rule, (pl_begin_range){0, r->problem->num_units - 1},
                              NULL, error);
}

/* Marks the units that the next stage can begin with. */
static popliner_status reach_forward(pl_reachability *r, size_t stage, reach_pass *pass,
                                     popliner_error *error) {
    const pl_problem *p = r->problem;
    size_t n = p->num_units;
    const uint8_t *from = r->from_start + stage * (n + 1);
    uint8_t *after = r->from_start + (stage + 1) * (n + 1);
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
            after[i + d + 1] |= pass->ok[d];
    }
    size_t num_open = 0;
    for (size_t end = 1; is_ordered && end <= n; ++end) {
        num_open += pass->count[end];
        after[end] = num_open > 0 && p->may_cut[end] != 0;
    }
    return POPLINER_OK;
}

/* Marks, of these units, those from which stages can reach the end of the chain. */
static popliner_status reach_backward(pl_reachability *r, size_t stage, reach_pass *pass,
                                      popliner_error *error) {
    const pl_problem *p = r->problem;
    size_t n = p->num_units;
    const uint8_t *from = r->from_start + stage * (n + 1);
    const uint8_t *after = r->to_end + (stage + 1) * (n + 1);
    uint8_t *to_end = r->to_end + stage * (n + 1);
    bool is_ordered;
    popliner_status status = find_stage(r, stage, pass, &is_ordered, error);
    if (status != POPLINER_OK)
        return status;
    pass->count[0] = 0; /* the number of ends before this unit that reach the end of the chain */
    for (size_t end = 0; end <= n; ++end)
        pass->count[end + 1] = pass->count[end] + after[end];
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
            to_end[i] |= pass->ok[d] & after[i + d + 1];
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
        status = pl_fail_memory(error, "the units that stages can reach");
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
    const uint8_t *after = r->to_end + (stage + 1) * (n + 1);
    reach_pass pass = {0};
    bool is_ordered = false;
    size_t num_done = 0;
    size_t last = 0; /* one past the last unit that can reach the end of the chain */
    popliner_status status = begin_pass(&pass, n, error);
    if (status == POPLINER_OK)
        status = find_stage(r, stage, &pass, &is_ordered, error);
    memset(units, 0, n);
    for (size_t end = 0; status == POPLINER_OK && end <= n; ++end) {
        last = after[end] != 0 ? end : last;
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
