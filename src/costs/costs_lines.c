/* Peaks as lines over the number of copies, and whether costs ever shrink as stages grow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

bool pl_costs_begin_lines(popliner_costs *costs, pl_peaks_kind kind, const size_t *copies,
                          size_t max_stages, size_t num_regions, const uint64_t *capacity_bytes) {
    const size_t n = costs->num_units;
    const size_t size = pl_triangle_size(n);
    pl_peaks made = {.kind = kind, .num_regions = num_regions};
    assert(kind != PL_PEAKS_BY_PLACE && (kind == PL_PEAKS_OF_LINES || num_regions == 1));
    made.copies = pl_arrays_copy(&made.arrays, copies, max_stages, sizeof *copies);
    if (kind == PL_PEAKS_ADDED_UP) {
        made.line_bytes = pl_differences_new(&made.arrays, n);
        made.line_copy_bytes = pl_differences_new(&made.arrays, n);
    } else {
        made.capacity_bytes =
            pl_arrays_copy(&made.arrays, capacity_bytes, num_regions, sizeof *capacity_bytes);
        made.arrays.failed = made.arrays.failed || size > SIZE_MAX / num_regions;
        made.lines = pl_arrays_new(&made.arrays, size * num_regions, sizeof *made.lines);
    }
    const bool is_made = !made.arrays.failed;
    if (is_made) {
        pl_arrays_free(&costs->peaks.arrays);
        costs->peaks = made;
        costs->max_stages_to_end = max_stages;
    } else {
        pl_arrays_free(&made.arrays);
    }
    return is_made;
}

void pl_costs_set_lines(popliner_costs *costs, size_t first_unit, size_t last_unit,
                        const pl_peak_line *lines) {
    const pl_peaks *peaks = &costs->peaks;
    const size_t at = pl_triangle_place(costs->num_units, first_unit, last_unit);
    assert(peaks->kind == PL_PEAKS_OF_LINES);
    memcpy(peaks->lines + at * peaks->num_regions, lines, peaks->num_regions * sizeof *lines);
}

/* Returns the first index, in the row of a unit, that is not skipped. */
static size_t first_looked_at(const popliner_costs *costs, const size_t *first_ends, size_t unit) {
    return first_ends == NULL || unit == costs->num_units ? 0 : first_ends[unit] - unit - 1;
}

/* True if no number of the triangle is smaller than that of an interval within. Skips the intervals
 * that end before first_ends, unless that is NULL. */
static bool never_shrinks(const popliner_costs *costs, const uint64_t *triangle,
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

/* True if one interval needs at least as much as another of each region, for any number of copies.
 * It may need more than that of the region where it needs most. */
static bool needs_as_much(const pl_peaks *peaks, size_t at, size_t within) {
    const pl_peak_line *own = &peaks->lines[at * peaks->num_regions];
    const pl_peak_line *other = &peaks->lines[within * peaks->num_regions];
    bool is_so = peaks->kept_bytes == NULL || peaks->kept_bytes[at] >= peaks->kept_bytes[within];
    for (size_t i = 0; i < peaks->num_regions; ++i)
        is_so = is_so && own[i].bytes >= other[i].bytes && own[i].copy_bytes >= other[i].copy_bytes;
    return is_so || own->bytes == POPLINER_PEAK_FORBIDDEN;
}

/* Like never_shrinks, for differences, of which none is forbidden. */
static bool differences_never_shrink(const popliner_costs *costs, const pl_differences *own) {
    bool is_so = true;
    for (size_t unit = 1; unit < costs->num_units; ++unit)
        is_so = is_so && own->begins[unit] - own->begins[unit - 1] <= INT64_MAX &&
                own->ends[unit + 1] - own->ends[unit] <= INT64_MAX;
    return is_so;
}

/* Like never_shrinks, for lines. */
static bool lines_never_shrink(const popliner_costs *costs, const size_t *first_ends) {
    size_t n = costs->num_units;
    const pl_peaks *peaks = &costs->peaks;
    if (peaks->kind == PL_PEAKS_ADDED_UP)
        return differences_never_shrink(costs, &peaks->line_bytes) &&
               differences_never_shrink(costs, &peaks->line_copy_bytes);
    for (size_t first = 0; first < n; ++first) {
        size_t row = pl_triangle_row(n, first);
        size_t next_row = pl_triangle_row(n, first + 1);
        size_t least = first_looked_at(costs, first_ends, first);
        size_t least_within = first_looked_at(costs, first_ends, first + 1) + 1;
        for (size_t d = least + 1; d < n - first; ++d)
            if (!needs_as_much(peaks, row + d, row + d - 1))
                return false;
        for (size_t d = least > least_within ? least : least_within; d < n - first; ++d)
            if (!needs_as_much(peaks, row + d, next_row + d - 1))
                return false;
    }
    return true;
}

bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs) {
    if (costs->shared_peak != NULL)
        return costs->shared_peak_never_shrinks;
    if (costs->peaks.kind != PL_PEAKS_BY_PLACE)
        return lines_never_shrink(costs, NULL);
    bool is_so = true;
    for (size_t to_end = 1; is_so && to_end <= costs->max_stages_to_end; ++to_end)
        is_so = never_shrinks(costs, pl_costs_peaks_at(costs, to_end), NULL);
    return is_so;
}

bool pl_costs_cycles_never_shrink(const popliner_costs *costs) {
    if (costs->cycles_kind == PL_CYCLES_ADDED_UP)
        return differences_never_shrink(costs, &costs->added_cycles);
    return costs->cycles_kind == PL_CYCLES_UNKNOWN || never_shrinks(costs, costs->cycles, NULL);
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
    const pl_differences *own = &costs->added_cycles;
    const size_t n = costs->num_units;
    pl_differences *least = &order->least_cycles;
    *least = pl_differences_new(&order->arrays, n);
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
    size_t known = costs->max_stages_to_end;
    if (max_stages > known)
        max_stages = known;
    order->first_ends = pl_arrays_new(&order->arrays, costs->num_units, sizeof *order->first_ends);
    if (order->first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    order->peaks_never_shrink = find_first_ends(costs, order->first_ends);
    const bool is_by_place = costs->peaks.kind == PL_PEAKS_BY_PLACE;
    if (!is_by_place)
        order->peaks_never_shrink =
            order->peaks_never_shrink && lines_never_shrink(costs, order->first_ends);
    for (size_t stages = 1; is_by_place && stages <= max_stages; ++stages)
        order->peaks_never_shrink =
            order->peaks_never_shrink &&
            never_shrinks(costs, pl_costs_peaks_at(costs, stages), order->first_ends);
    order->cycles_never_shrink = pl_costs_cycles_never_shrink(costs);
    if (!order->cycles_never_shrink && costs->cycles_kind == PL_CYCLES_ADDED_UP)
        find_least_cycles(costs, order);
    return order->arrays.failed ? pl_fail_memory(error, "the order of the costs") : POPLINER_OK;
}

void pl_cost_order_clear(pl_cost_order *order) {
    pl_arrays_free(&order->arrays);
    *order = (pl_cost_order){0};
}
