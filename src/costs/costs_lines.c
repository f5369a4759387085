/* Peaks as lines over the number of copies, and whether costs ever shrink as stages grow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

bool pl_costs_begin_lines(popliner_costs *costs, pl_numbers_kind kind, const size_t *copies,
                          size_t max_stages, size_t num_regions, const uint64_t *capacity_bytes) {
    const size_t n = costs->num_units;
    pl_peaks made = {.num_regions = num_regions};
    made.copies = pl_arrays_copy(&made.arrays, copies, max_stages, sizeof *copies);
    made.capacity_bytes =
        pl_arrays_copy(&made.arrays, capacity_bytes, num_regions, sizeof *capacity_bytes);
    made.lines = pl_arrays_new(&made.arrays, num_regions, sizeof *made.lines);
    for (size_t i = 0; !made.arrays.failed && i < num_regions; ++i)
        made.lines[i] = (pl_region_lines){pl_numbers_new(&made.arrays, kind, n),
                                          pl_numbers_new(&made.arrays, kind, n)};
    if (made.arrays.failed) {
        pl_arrays_free(&made.arrays);
        return false;
    }
    pl_arrays_free(&costs->peaks.arrays);
    costs->peaks = made;
    costs->max_stages_to_end = max_stages;
    return true;
}

/* Returns the first index, in the row of a unit, that is not skipped. */
static size_t first_looked_at(const popliner_costs *costs, const size_t *first_ends, size_t unit) {
    return first_ends == NULL || unit == costs->num_units ? 0 : first_ends[unit] - unit - 1;
}

/* True if no number of a triangle is smaller than that of an interval within. Skips the intervals
 * that end before first_ends, unless that is NULL. */
static bool triangle_never_shrinks(const popliner_costs *costs, const uint64_t *triangle,
                                   const size_t *first_ends) {
    size_t n = costs->num_units;
    for (size_t first = 0; first < n; ++first) {
        const uint64_t *row = triangle + pl_triangle_row(n, first);
        const uint64_t *next_row = triangle + pl_triangle_row(n, first + 1);
        size_t count = n - first;
        size_t least = first_looked_at(costs, first_ends, first);
        size_t least_within = first_looked_at(costs, first_ends, first + 1) + 1;
        bool is_so = true;
        for (size_t d = least + 1; d < count; ++d)
            is_so &= row[d] >= row[d - 1];
        for (size_t d = least > least_within ? least : least_within; d < count; ++d)
            is_so &= row[d] >= next_row[d - 1];
        if (!is_so)
            return false;
    }
    return true;
}

/* Like triangle_never_shrinks, for numbers of any kind; true of unknown ones. */
static bool never_shrink(const popliner_costs *costs, const pl_interval_numbers *own,
                         const size_t *first_ends) {
    bool is_so =
        own->kind != PL_NUMBERS_LISTED || triangle_never_shrinks(costs, own->listed, first_ends);
    for (size_t unit = 1; own->kind == PL_NUMBERS_ADDED_UP && unit < costs->num_units; ++unit)
        is_so = is_so && own->added.begins[unit] - own->added.begins[unit - 1] <= INT64_MAX &&
                own->added.ends[unit + 1] - own->added.ends[unit] <= INT64_MAX;
    return is_so;
}

/* Like never_shrink, for the peaks in the places up to max_stages. An interval of lines needs at
 * least as much as another if it does so of each region, for any number of copies. It may need more
 * than that of the region where it needs most. */
static bool peaks_never_shrink(const popliner_costs *costs, size_t max_stages,
                               const size_t *first_ends) {
    const pl_peaks *peaks = &costs->peaks;
    bool is_so = never_shrink(costs, &peaks->kept_bytes, first_ends);
    for (size_t i = 0; is_so && i < peaks->num_regions; ++i)
        is_so = never_shrink(costs, &peaks->lines[i].bytes, first_ends) &&
                never_shrink(costs, &peaks->lines[i].copy_bytes, first_ends);
    for (size_t stages = 1; is_so && peaks->by_place != NULL && stages <= max_stages; ++stages)
        is_so = triangle_never_shrinks(costs, pl_costs_peaks_at(costs, stages), first_ends);
    return is_so;
}

bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs) {
    return costs->shared_peak != NULL ? costs->shared_peak_never_shrinks
                                      : peaks_never_shrink(costs, costs->max_stages_to_end, NULL);
}

bool pl_costs_cycles_never_shrink(const popliner_costs *costs) {
    return never_shrink(costs, &costs->cycles, NULL);
}

/* True if the intervals that begin with `first` and end before `end` are forbidden everywhere. */
static bool are_forbidden(const popliner_costs *costs, size_t first, size_t end) {
    for (size_t last = first; last + 1 < end; ++last)
        for (size_t stages = 1; stages <= costs->max_stages_to_end; ++stages)
            if (popliner_costs_peak(costs, first, last, stages) != POPLINER_PEAK_FORBIDDEN)
                return false;
    return true;
}

/* Sets first_ends to the ends before which all intervals are forbidden. A unit that cannot begin
 * any stage gets no such end: its own peak is too large. False if the ends descend. */
static bool find_first_ends(const popliner_costs *costs, size_t *first_ends) {
    size_t n = costs->num_units;
    bool is_so = true;
    for (size_t first = 0; is_so && first < n; ++first) {
        size_t last = first;
        while (last < n && popliner_costs_peak(costs, first, last, 1) == POPLINER_PEAK_FORBIDDEN)
            ++last;
        first_ends[first] = last == n ? first + 1 : last + 1;
        is_so = (first == 0 || first_ends[first] >= first_ends[first - 1]) &&
                are_forbidden(costs, first, first_ends[first]);
    }
    return is_so;
}

/* Finds how many cycles an interval and all longer ones take at least, if cycles are differences:
 * those of the units from the first one on, without what follows the end. */
static void find_least_cycles(const popliner_costs *costs, pl_cost_order *order) {
    const pl_differences *own = &costs->cycles.added;
    const size_t n = costs->num_units;
    pl_differences *least = &order->least_cycles;
    *least = pl_numbers_new(&order->arrays, PL_NUMBERS_ADDED_UP, n).added;
    if (order->arrays.failed)
        return;
    const uint64_t all = least->ends[n] = own->ends[n] - own->begins[0];
    for (size_t end = n; end-- > 1;) {
        const uint64_t before = own->ends[end] - own->begins[0];
        least->ends[end] = before < least->ends[end + 1] ? before : least->ends[end + 1];
    }
    uint64_t rest = all;
    for (size_t first = 0; first < n; ++first) {
        const uint64_t from_here = own->ends[n] - own->begins[first];
        rest = from_here < rest ? from_here : rest;
        least->begins[first] = all - rest;
    }
}

popliner_status pl_costs_find_order(const popliner_costs *costs, size_t max_stages,
                                    pl_cost_order *order, popliner_error *error) {
    order->first_ends = pl_arrays_new(&order->arrays, costs->num_units, sizeof *order->first_ends);
    if (order->first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    order->peaks_never_shrink =
        find_first_ends(costs, order->first_ends) &&
        peaks_never_shrink(costs, pl_fewer(max_stages, costs->max_stages_to_end),
                           order->first_ends);
    order->cycles_never_shrink = pl_costs_cycles_never_shrink(costs);
    if (!order->cycles_never_shrink && costs->cycles.kind == PL_NUMBERS_ADDED_UP)
        find_least_cycles(costs, order);
    return order->arrays.failed ? pl_fail_memory(error, "the order of the costs") : POPLINER_OK;
}

void pl_cost_order_clear(pl_cost_order *order) {
    pl_arrays_free(&order->arrays);
    *order = (pl_cost_order){0};
}

bool pl_cost_order_is_over(const pl_cost_order *order, const popliner_costs *costs,
                           const popliner_interval *interval, uint64_t max_cycles,
                           uint64_t max_bytes) {
    const pl_differences *least = &order->least_cycles;
    const size_t first = interval->first_unit;
    const size_t end = interval->last_unit + 1;
    uint64_t cycles = 0;
    if (order->cycles_never_shrink)
        cycles = popliner_costs_cycles(costs, first, end - 1);
    else if (least->ends != NULL && least->ends[end] > least->begins[first])
        cycles = least->ends[end] - least->begins[first];
    return cycles > max_cycles ||
           (order->peaks_never_shrink && end >= order->first_ends[first] &&
            popliner_costs_peak(costs, first, end - 1, interval->stages_to_end) > max_bytes);
}
