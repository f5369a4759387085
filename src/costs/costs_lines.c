/* Peaks as lines over the number of copies, and whether costs ever shrink as stages grow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

bool pl_costs_begin_lines(popliner_costs *costs, const size_t *copies, size_t max_stages,
                          size_t num_regions, const uint64_t *capacity_bytes) {
    const size_t size = pl_triangle_size(costs->num_units);
    costs->num_regions = num_regions > 0 ? num_regions : 1;
    costs->copies = pl_new_array(max_stages, sizeof *costs->copies);
    bool is_made = costs->copies != NULL;
    if (capacity_bytes != NULL) {
        costs->capacity_bytes = pl_new_array(num_regions, sizeof *capacity_bytes);
        is_made = is_made && costs->capacity_bytes != NULL;
    }
    if (num_regions == 0)
        is_made = is_made && pl_differences_create(&costs->line_bytes, costs->num_units) &&
                  pl_differences_create(&costs->line_copy_bytes, costs->num_units);
    else if (size <= SIZE_MAX / sizeof *costs->lines / num_regions)
        costs->lines = pl_new_array(size * num_regions, sizeof *costs->lines);
    if (!is_made || (num_regions > 0 && costs->lines == NULL))
        return false;
    memcpy(costs->copies, copies, max_stages * sizeof *copies);
    if (capacity_bytes != NULL)
        memcpy(costs->capacity_bytes, capacity_bytes, num_regions * sizeof *capacity_bytes);
    free(costs->peaks_bytes);
    costs->peaks_bytes = NULL;
    costs->max_stages_to_end = max_stages;
    return true;
}

void pl_costs_set_lines(popliner_costs *costs, size_t first_unit, size_t last_unit,
                        const pl_peak_line *lines) {
    const size_t at = pl_triangle_place(costs->num_units, first_unit, last_unit);
    memcpy(costs->lines + at * costs->num_regions, lines, costs->num_regions * sizeof *lines);
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
static bool needs_as_much(const popliner_costs *costs, size_t at, size_t within) {
    const pl_peak_line *own = &costs->lines[at * costs->num_regions];
    const pl_peak_line *other = &costs->lines[within * costs->num_regions];
    bool is_so = costs->kept_bytes == NULL || costs->kept_bytes[at] >= costs->kept_bytes[within];
    for (size_t i = 0; i < costs->num_regions; ++i)
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
    if (costs->lines == NULL)
        return differences_never_shrink(costs, &costs->line_bytes) &&
               differences_never_shrink(costs, &costs->line_copy_bytes);
    for (size_t first = 0; first < n; ++first) {
        size_t row = pl_triangle_row(n, first);
        size_t next_row = pl_triangle_row(n, first + 1);
        size_t least = first_looked_at(costs, first_ends, first);
        size_t least_within = first_looked_at(costs, first_ends, first + 1) + 1;
        for (size_t d = least + 1; d < n - first; ++d)
            if (!needs_as_much(costs, row + d, row + d - 1))
                return false;
        for (size_t d = least > least_within ? least : least_within; d < n - first; ++d)
            if (!needs_as_much(costs, row + d, next_row + d - 1))
                return false;
    }
    return true;
}

bool pl_costs_shared_peak_never_shrinks(const popliner_costs *costs) {
    if (costs->shared_peak != NULL)
        return costs->shared_peak_never_shrinks;
    if (costs->peaks_bytes == NULL)
        return lines_never_shrink(costs, NULL);
    bool is_so = true;
    for (size_t to_end = 1; is_so && to_end <= costs->max_stages_to_end; ++to_end)
        is_so = never_shrinks(costs, pl_costs_peaks_at(costs, to_end), NULL);
    return is_so;
}

bool pl_costs_cycles_never_shrink(const popliner_costs *costs) {
    if (costs->added_cycles.ends != NULL)
        return differences_never_shrink(costs, &costs->added_cycles);
    return costs->cycles == NULL || never_shrinks(costs, costs->cycles, NULL);
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
static bool find_least_cycles(const popliner_costs *costs, pl_differences *least) {
    const pl_differences *own = &costs->added_cycles;
    const size_t n = costs->num_units;
    if (!pl_differences_create(least, n))
        return false;
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
    return true;
}

popliner_status pl_costs_find_order(const popliner_costs *costs, size_t max_stages,
                                    pl_cost_order *order, popliner_error *error) {
    size_t known = costs->max_stages_to_end;
    if (max_stages > known)
        max_stages = known;
    order->first_ends = pl_new_array(costs->num_units, sizeof *order->first_ends);
    if (order->first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    order->peaks_never_shrink = find_first_ends(costs, order->first_ends);
    if (costs->peaks_bytes == NULL)
        order->peaks_never_shrink =
            order->peaks_never_shrink && lines_never_shrink(costs, order->first_ends);
    for (size_t stages = 1; costs->peaks_bytes != NULL && stages <= max_stages; ++stages)
        order->peaks_never_shrink =
            order->peaks_never_shrink &&
            never_shrinks(costs, pl_costs_peaks_at(costs, stages), order->first_ends);
    order->cycles_never_shrink = pl_costs_cycles_never_shrink(costs);
    return order->cycles_never_shrink || costs->added_cycles.ends == NULL ||
                   find_least_cycles(costs, &order->least_cycles)
               ? POPLINER_OK
               : pl_fail_memory(error, "the order of the costs");
}

void pl_cost_order_clear(pl_cost_order *order) {
    free(order->first_ends);
    free(order->least_cycles.begins);
    free(order->least_cycles.ends);
    *order = (pl_cost_order){0};
}
