/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stage_ends.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

#include <stdlib.h>

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
           (!has_cycles || order->cycles_never_shrink);
}

pl_stage_rule pl_stage_rule_outer(const pl_stage_rule *rule) {
    pl_stage_rule outer = *rule;
    outer.link_before = outer.link_behind = NULL;
    if (!rule->problem->order.cycles_never_shrink) {
        outer.max_cycles = UINT64_MAX;
        outer.min_cycles = 0;
    }
    return outer;
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
           (rule->max_cycles < UINT64_MAX &&
            popliner_costs_cycles(costs, first, end - 1) > rule->max_cycles);
}

size_t pl_stage_rule_last_end(const pl_stage_rule *rule, size_t first_unit) {
    size_t n = rule->problem->num_units;
    size_t begin = rule->problem->order.first_ends[first_unit];
    size_t fits = begin - 1; /* the last end that does, or that nothing is said of */
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
        size_t most = pl_stage_rule_placed_end(rule, first);
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

/* The windows of everything but what may shrink; of any end if peaks may, too. */
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

/* Marks the ends in the windows. */
static popliner_status mark_all(pl_stage_ends *ends, const pl_stage_rule *rule,
                                pl_begin_range range, const pl_stage_ends *within,
                                popliner_error *error) {
    size_t n = rule->problem->num_units;
    size_t num_marks = 0;
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
        pl_stage_rule_mark(rule, first, from, count, ok);
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
