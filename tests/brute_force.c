/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"

#include "test.h"

/* -1, 0, 1: a comes before b by peak, cut bytes, and the list of cuts. */
static int compare_candidates(const candidate *a, const candidate *b) {
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? -1 : 1;
    if (a->cut_bytes != b->cut_bytes)
        return a->cut_bytes < b->cut_bytes ? -1 : 1;
    for (size_t i = 0; i < a->num_cuts && i < b->num_cuts; ++i)
        if (a->cuts[i] != b->cuts[i])
            return a->cuts[i] < b->cuts[i] ? -1 : 1;
    if (a->num_cuts != b->num_cuts)
        return a->num_cuts < b->num_cuts ? -1 : 1;
    return 0;
}

candidate brute_force(const popliner_costs *costs, size_t max_stages, uint64_t max_stage_bytes) {
    size_t n = popliner_costs_num_units(costs);
    candidate best = {0};
    for (unsigned cut_set = 0; cut_set < 1u << (n - 1); ++cut_set) {
        candidate split = {.exists = true};
        bool allowed = true;
        size_t first = 0;
        for (size_t end = 1; end <= n; ++end) {
            if (end < n && (cut_set >> (end - 1) & 1) == 0)
                continue;
            uint64_t peak_bytes = popliner_costs_peak(costs, first, end - 1);
            if (peak_bytes == POPLINER_PEAK_FORBIDDEN || peak_bytes > max_stage_bytes)
                allowed = false;
            if (peak_bytes > split.peak_bytes)
                split.peak_bytes = peak_bytes;
            if (end < n) {
                uint64_t bytes = popliner_costs_cut(costs, end);
                bool overflows = bytes > UINT64_MAX - 1 - split.cut_bytes;
                split.cut_bytes = overflows ? UINT64_MAX - 1 : split.cut_bytes + bytes;
                split.cuts[split.num_cuts++] = end;
            }
            first = end;
        }
        if (allowed && split.num_cuts < max_stages &&
            (!best.exists || compare_candidates(&split, &best) < 0))
            best = split;
    }
    return best;
}

void assert_plan_is(const popliner_costs *costs, const popliner_plan *plan,
                    const candidate *expected) {
    assert_int_equal(plan->num_stages, expected->exists ? expected->num_cuts + 1 : 0);
    assert_true(plan->peak_bytes == expected->peak_bytes);
    assert_true(plan->cut_bytes == expected->cut_bytes);
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        assert_int_equal(stage->first_unit, i == 0 ? 0 : expected->cuts[i - 1]);
        assert_int_equal(stage->last_unit + 1, i < expected->num_cuts
                                                   ? expected->cuts[i]
                                                   : popliner_costs_num_units(costs));
        assert_true(stage->peak_bytes ==
                    popliner_costs_peak(costs, stage->first_unit, stage->last_unit));
    }
}
