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

/* True if no number of a triangle is smaller than that of an interval within. */
static bool triangle_never_shrinks(size_t num_units, const uint64_t *triangle) {
    for (size_t first = 0; first < num_units; ++first) {
        const uint64_t *row = triangle + pl_triangle_row(num_units, first);
        const uint64_t *next_row = triangle + pl_triangle_row(num_units, first + 1);
        bool is_so = true;
        for (size_t d = 1; d < num_units - first; ++d)
            is_so &= (row[d] >= row[d - 1]) & (row[d] >= next_row[d - 1]);
        if (!is_so)
            return false;
    }
    return true;
}

/* Like triangle_never_shrinks, for numbers of any kind; true of unknown ones. */
static bool never_shrink(size_t num_units, const pl_interval_numbers *own) {
    bool is_so = own->kind != PL_NUMBERS_LISTED || triangle_never_shrinks(num_units, own->listed);
    for (size_t unit = 1; own->kind == PL_NUMBERS_ADDED_UP && unit < num_units; ++unit)
        is_so = is_so && own->added.begins[unit] - own->added.begins[unit - 1] <= INT64_MAX &&
                own->added.ends[unit + 1] - own->added.ends[unit] <= INT64_MAX;
    return is_so;
}

/* Like never_shrink, for the peaks in the places up to max_stages. An interval of lines needs at
 * least as much as another if it does so of each region, for any number of copies. It may need more
 * than that of the region where it needs most. */
static bool peaks_never_shrink(const popliner_costs *costs, size_t max_stages) {
    const size_t n = costs->num_units;
    const pl_peaks *peaks = &costs->peaks;
    bool is_so = never_shrink(n, &peaks->kept_bytes);
    for (size_t i = 0; is_so && i < peaks->num_regions; ++i)
        is_so =
            never_shrink(n, &peaks->lines[i].bytes) && never_shrink(n, &peaks->lines[i].copy_bytes);
    for (size_t stages = 1; is_so && peaks->by_place != NULL && stages <= max_stages; ++stages)
        is_so = triangle_never_shrinks(n, pl_costs_peaks_at(costs, stages));
    return is_so;
}

bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs) {
    return costs->shared_peak != NULL ? costs->shared_peak_never_shrinks
                                      : peaks_never_shrink(costs, costs->max_stages_to_end);
}

bool pl_costs_cycles_never_shrink(const popliner_costs *costs) {
    return never_shrink(costs->num_units, &costs->cycles);
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
    order->peaks_never_shrink =
        peaks_never_shrink(costs, pl_fewer(max_stages, costs->max_stages_to_end));
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
           (order->peaks_never_shrink &&
            popliner_costs_peak(costs, first, end - 1, interval->stages_to_end) > max_bytes);
}
