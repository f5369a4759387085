/* Peaks as lines over the number of copies, and whether costs ever shrink as stages grow.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

bool pl_costs_begin_lines(popliner_costs *costs, const size_t *copies, size_t max_stages,
                          bool are_added) {
    pl_peak_line *lines =
        are_added ? NULL : pl_new_array(pl_triangle_size(costs->num_units), sizeof *lines);
    size_t *own = pl_new_array(max_stages, sizeof *own);
    bool is_made = own != NULL &&
                   (are_added ? pl_differences_create(&costs->line_bytes, costs->num_units) &&
                                    pl_differences_create(&costs->line_copy_bytes, costs->num_units)
                              : lines != NULL);
    if (!is_made) {
        free(lines);
        free(own);
        return false;
    }
    memcpy(own, copies, max_stages * sizeof *own);
    free(costs->peaks_bytes);
    costs->peaks_bytes = NULL;
    costs->lines = lines;
    costs->copies = own;
    for (size_t i = 0; i < max_stages; ++i)
        if (own[i] > costs->most_copies)
            costs->most_copies = own[i];
    costs->max_stages_to_end = max_stages;
    return true;
}

/* Returns, among the lines that are the largest for `copies`, the one that stays the largest
 * longest. */
static size_t largest_line(const pl_peak_line *lines, size_t num_lines, size_t copies) {
    size_t found = 0;
    for (size_t i = 1; i < num_lines; ++i) {
        uint64_t bytes = pl_peak_line_at(&lines[i], copies);
        uint64_t most = pl_peak_line_at(&lines[found], copies);
        if (bytes > most || (bytes == most && lines[i].copy_bytes > lines[found].copy_bytes))
            found = i;
    }
    return found;
}

/* Returns the smallest number of copies for which some line is larger than `line`; SIZE_MAX if
 * there is none. */
static size_t next_copies(const pl_peak_line *lines, size_t num_lines, const pl_peak_line *line) {
    size_t next = SIZE_MAX;
    for (size_t i = 0; i < num_lines; ++i) {
        if (lines[i].copy_bytes <= line->copy_bytes)
            continue;
        /* `line` is the largest for some number of copies, so lines that grow faster start lower */
        uint64_t lead = line->bytes > lines[i].bytes ? line->bytes - lines[i].bytes : 0;
        uint64_t copies = lead / (lines[i].copy_bytes - line->copy_bytes) + 1;
        next = copies < next ? (size_t)copies : next;
    }
    return next;
}

bool pl_costs_set_lines(popliner_costs *costs, const popliner_interval *interval,
                        const pl_peak_line *lines, size_t num_lines, size_t forbidden_from) {
    pl_peak_line *own = &costs->lines[pl_triangle_place(costs->num_units, interval->first_unit,
                                                        interval->last_unit)];
    size_t most = costs->most_copies;
    size_t found = largest_line(lines, num_lines, 0);
    *own = forbidden_from > 0 ? lines[found] : (pl_peak_line){POPLINER_PEAK_FORBIDDEN, 0};
    size_t last = forbidden_from > most ? most : forbidden_from - (forbidden_from > 0);
    size_t next = next_copies(lines, num_lines, own);
    if (forbidden_from == 0 || (forbidden_from > most && next > most))
        return true;
    if (!pl_grow(&costs->more_lines, &costs->more_lines_capacity,
                 costs->num_more_lines + num_lines + 1, sizeof *costs->more_lines))
        return false;
    pl_peak_line *head = &costs->more_lines[costs->num_more_lines];
    head[0] = (pl_peak_line){1, forbidden_from};
    head[1] = *own;
    for (; next <= last; next = next_copies(lines, num_lines, &head[head->bytes])) {
        found = largest_line(lines, num_lines, next);
        head[++head->bytes] = lines[found];
    }
    *own = (pl_peak_line){costs->num_more_lines, PL_SEVERAL_LINES};
    costs->num_more_lines += head->bytes + 1;
    return true;
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

/* Returns the lines of an interval; it is forbidden with *forbidden_from copies or more. */
static const pl_peak_line *lines_of(const popliner_costs *costs, size_t at, size_t *count,
                                    size_t *forbidden_from) {
    const pl_peak_line *line = &costs->lines[at];
    *count = 1;
    *forbidden_from = line->bytes == POPLINER_PEAK_FORBIDDEN ? 0 : SIZE_MAX;
    if (line->copy_bytes != PL_SEVERAL_LINES)
        return line;
    line = &costs->more_lines[line->bytes];
    *count = (size_t)line->bytes;
    *forbidden_from = (size_t)line->copy_bytes;
    return line + 1;
}

/* True if one interval needs at least as much as another for any number of copies. May be false
 * although that is so, where different lines are the largest. */
static bool needs_as_much(const popliner_costs *costs, size_t at, size_t within) {
    const pl_peak_line *line = &costs->lines[at];
    const pl_peak_line *line_within = &costs->lines[within];
    if (costs->kept_bytes != NULL && costs->kept_bytes[at] < costs->kept_bytes[within])
        return false;
    if (line->copy_bytes != PL_SEVERAL_LINES && line_within->copy_bytes != PL_SEVERAL_LINES)
        return line->bytes == POPLINER_PEAK_FORBIDDEN ||
               (line->bytes >= line_within->bytes && line->copy_bytes >= line_within->copy_bytes);
    size_t count;
    size_t count_within;
    size_t forbidden_from;
    size_t forbidden_within;
    const pl_peak_line *lines = lines_of(costs, at, &count, &forbidden_from);
    const pl_peak_line *other = lines_of(costs, within, &count_within, &forbidden_within);
    if (forbidden_from == 0 || forbidden_from > forbidden_within)
        return forbidden_from == 0;
    for (size_t i = 0; i < count_within; ++i) {
        size_t k = 0;
        while (k < count &&
               (lines[k].bytes < other[i].bytes || lines[k].copy_bytes < other[i].copy_bytes))
            ++k;
        if (k == count)
            return false;
    }
    return true;
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

/* True if the peak never falls as a stage moves away from the end. */
static bool peaks_grow_to_front(const popliner_costs *costs, size_t max_stages) {
    bool is_so = costs->kept_bytes == NULL; /* sets are more at the end */
    size_t size = pl_triangle_size(costs->num_units);
    for (size_t stages = 2; is_so && stages <= max_stages; ++stages) {
        if (costs->peaks_bytes == NULL) {
            is_so = costs->copies[stages - 1] >= costs->copies[stages - 2];
            continue;
        }
        const uint64_t *peaks = pl_costs_peaks_at(costs, stages);
        const uint64_t *behind = pl_costs_peaks_at(costs, stages - 1);
        for (size_t at = 0; at < size; ++at)
            is_so &= peaks[at] >= behind[at];
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
    order->peaks_grow_to_front = peaks_grow_to_front(costs, max_stages);
    return order->cycles_never_shrink || costs->added_cycles.ends == NULL ||
                   find_least_cycles(costs, &order->least_cycles)
               ? POPLINER_OK
               : pl_fail_memory(error, "the order of the costs");
}

popliner_status pl_cost_order_copy(pl_cost_order *to, const pl_cost_order *from, size_t num_units,
                                   popliner_error *error) {
    const size_t n = num_units;
    *to = *from;
    to->least_cycles = (pl_differences){0};
    to->first_ends = pl_new_array(n, sizeof *to->first_ends);
    if (to->first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    memcpy(to->first_ends, from->first_ends, n * sizeof *to->first_ends);
    if (from->least_cycles.ends == NULL)
        return POPLINER_OK;
    if (!pl_differences_create(&to->least_cycles, n))
        return pl_fail_memory(error, "the order of the costs");
    memcpy(to->least_cycles.begins, from->least_cycles.begins, n * sizeof *to->least_cycles.begins);
    memcpy(to->least_cycles.ends, from->least_cycles.ends, (n + 1) * sizeof *to->least_cycles.ends);
    return POPLINER_OK;
}

void pl_cost_order_clear(pl_cost_order *order) {
    free(order->first_ends);
    free(order->least_cycles.begins);
    free(order->least_cycles.ends);
    *order = (pl_cost_order){0};
}
