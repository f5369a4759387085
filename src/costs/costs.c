/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/variants.h"
#include "pipeline/pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Marks an interval with several lines, in copy_bytes. */
#define SEVERAL_LINES UINT64_MAX

static size_t triangle_size(const popliner_costs *costs) {
    return pl_triangle_size(costs->num_units);
}

popliner_status popliner_costs_create(size_t num_units, size_t max_stages, popliner_costs **costs,
                                      popliner_error *error) {
    *costs = NULL;
    if (num_units == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "num_units 0: a chain needs at least one unit");
    if (max_stages == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "max_stages 0: expected at least 1; use 1 if the place of a stage does not "
                       "matter");
    /* so that the number of intervals, and their bytes, stay within size_t */
    if (num_units >= (size_t)1 << (sizeof(size_t) * 4 - 3))
        return pl_fail_memory(error, "the costs of the intervals");

    popliner_costs *made = calloc(1, sizeof *made);
    if (made == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    made->num_units = num_units;
    made->max_stages_to_end = 1;
    made->peaks_bytes = pl_new_array(triangle_size(made), sizeof *made->peaks_bytes);
    made->cuts_bytes = pl_new_array(num_units, sizeof *made->cuts_bytes);
    if (made->peaks_bytes == NULL || made->cuts_bytes == NULL) {
        popliner_costs_free(made);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    popliner_status status = pl_costs_add_pipeline(made, max_stages, error);
    if (status != POPLINER_OK) {
        popliner_costs_free(made);
        return status;
    }
    *costs = made;
    return POPLINER_OK;
}

static void free_differences(pl_differences *differences) {
    free(differences->begins);
    free(differences->ends);
    *differences = (pl_differences){0};
}

popliner_status pl_differences_create(pl_differences *made, size_t num_units,
                                      popliner_error *error) {
    made->begins = pl_new_array(num_units, sizeof *made->begins);
    made->ends = pl_new_array(num_units + 1, sizeof *made->ends);
    if (made->begins != NULL && made->ends != NULL)
        return POPLINER_OK;
    free_differences(made);
    return pl_fail_memory(error, "the costs of the intervals");
}

static void forget_items(popliner_costs *costs) {
    free(costs->item_numbers);
    costs->item_numbers = NULL;
    costs->shared_items = (pl_shared_items){0};
}

void popliner_costs_free(popliner_costs *costs) {
    if (costs == NULL)
        return;
    if (costs->whole != NULL) {
        free(costs);
        return;
    }
    free(costs->peaks_bytes);
    free(costs->lines);
    free(costs->copies);
    free(costs->more_lines);
    free(costs->cuts_bytes);
    free(costs->cycles);
    free_differences(&costs->line_bytes);
    free_differences(&costs->line_copy_bytes);
    free_differences(&costs->added_cycles);
    free(costs->counted_units);
    free(costs->kv_bytes);
    free(costs->unit_kinds);
    free(costs->passes);
    free(costs->owned_user);
    free(costs->kinds);
    pl_ways_part(costs);
    forget_items(costs);
    free(costs);
}

size_t popliner_costs_num_units(const popliner_costs *costs) {
    return costs->num_units;
}

popliner_status popliner_costs_set_pipeline(popliner_costs *costs,
                                            const popliner_pipeline *pipeline,
                                            popliner_error *error) {
    const popliner_pipeline own = pl_pipeline_of_any_split(pipeline);
    popliner_status status = pl_pipeline_check(&own, error);
    if (status != POPLINER_OK)
        return status;
    costs->has_pipeline = true;
    costs->pipeline = own;
    /* a table of one position has that of every split */
    if (costs->max_stages_to_end > 1)
        costs->follows_split = pl_pipeline_follows_split(&own);
    return POPLINER_OK;
}

/* True if chains of num_units units store the same number of copies in each place. */
static bool have_same_copies(const popliner_pipeline *a, const popliner_pipeline *b,
                             size_t num_units) {
    bool is_same = pl_pipeline_has_own_copies(a) == pl_pipeline_has_own_copies(b) &&
                   pl_pipeline_follows_split(a) == pl_pipeline_follows_split(b);
    for (size_t place = 1; is_same && pl_pipeline_has_own_copies(a) && place <= num_units; ++place)
        is_same = pl_pipeline_copies(a, place) == pl_pipeline_copies(b, place);
    return is_same;
}

popliner_status popliner_costs_check_pipeline(const popliner_costs *costs,
                                              const popliner_pipeline *pipeline,
                                              popliner_error *error) {
    const popliner_pipeline wanted = pl_pipeline_of_any_split(pipeline);
    const popliner_pipeline *made = &costs->pipeline;
    popliner_status status = pl_pipeline_check(&wanted, error);
    if (status != POPLINER_OK || !costs->has_pipeline ||
        (made->schedule == wanted.schedule && made->recompute == wanted.recompute &&
         have_same_copies(made, &wanted, costs->num_units)))
        return status;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "schedule %s, recompute %s, copies %s: the costs are for %s, %s, %s; make them "
                   "for this pipeline",
                   pl_schedule_name(wanted.schedule), pl_recompute_name(wanted.recompute),
                   pl_copies_rule_name(wanted.copies.rule), pl_schedule_name(made->schedule),
                   pl_recompute_name(made->recompute), pl_copies_rule_name(made->copies.rule));
}

popliner_status pl_costs_set_counted_units(popliner_costs *costs, const uint8_t *counted_units,
                                           popliner_error *error) {
    uint8_t *own = NULL;
    if (counted_units != NULL) {
        own = pl_new_array(costs->num_units, sizeof *own);
        if (own == NULL)
            return pl_fail_memory(error, "the marks of the units");
        memcpy(own, counted_units, costs->num_units * sizeof *own);
    }
    free(costs->counted_units);
    costs->counted_units = own;
    return POPLINER_OK;
}

static size_t place(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    assert(first_unit <= last_unit && last_unit < costs->num_units);
    return pl_triangle_place(costs->num_units, first_unit, last_unit);
}

/* The triangle of peaks for stages_to_end. */
static uint64_t *peaks_at(const popliner_costs *costs, size_t stages_to_end) {
    assert(stages_to_end >= 1);
    if (stages_to_end == 1 || costs->max_stages_to_end == 1)
        return costs->peaks_bytes;
    assert(stages_to_end <= costs->max_stages_to_end);
    return costs->peaks_bytes + (stages_to_end - 1) * triangle_size(costs);
}

popliner_status pl_costs_of_number(const popliner_costs *costs, size_t num_stages,
                                   popliner_costs **result, popliner_error *error) {
    size_t known = costs->max_stages_to_end;
    *result = NULL;
    if (num_stages > known && known < costs->num_units)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%zu stages: the costs are for at most %zu; make them for longer pipelines",
                       num_stages, known);
    popliner_costs *part = malloc(sizeof *part);
    if (part == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    /* there is no split of more stages than units */
    size_t place = num_stages < known ? num_stages : known;
    *part = *costs;
    part->whole = costs;
    part->num_stages = num_stages;
    part->follows_split = false;
    part->max_stages_to_end = 1;
    if (costs->peaks_bytes != NULL)
        part->peaks_bytes = peaks_at(costs, place);
    else
        part->copies += place - 1;
    *result = part;
    return POPLINER_OK;
}

/* Returns the value of a line; a forbidden peak stays forbidden. */
static uint64_t line_at(const pl_peak_line *line, size_t copies) {
    return line->bytes == POPLINER_PEAK_FORBIDDEN ? POPLINER_PEAK_FORBIDDEN
                                                  : line->bytes + copies * line->copy_bytes;
}

/* Returns the largest of several lines; lines[0] is their head. */
static uint64_t lines_at(const pl_peak_line *lines, size_t copies) {
    uint64_t peak_bytes = 0;
    if (copies >= lines[0].copy_bytes)
        return POPLINER_PEAK_FORBIDDEN;
    for (size_t i = 1; i <= lines[0].bytes; ++i) {
        uint64_t bytes = line_at(&lines[i], copies);
        peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
    }
    return peak_bytes;
}

static uint64_t difference(const pl_differences *differences, size_t first_unit, size_t last_unit) {
    return differences->ends[last_unit + 1] - differences->begins[first_unit];
}

/* Returns the line of an interval, which stands for several if its copy_bytes are SEVERAL_LINES. */
static pl_peak_line line_of(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    if (costs->lines != NULL)
        return costs->lines[place(costs, first_unit, last_unit)];
    return (pl_peak_line){difference(&costs->line_bytes, first_unit, last_unit),
                          difference(&costs->line_copy_bytes, first_unit, last_unit)};
}

static size_t copies_at(const popliner_costs *costs, size_t stages_to_end) {
    const size_t max_stages = costs->max_stages_to_end;
    assert(stages_to_end >= 1 && (max_stages == 1 || stages_to_end <= max_stages));
    return costs->copies[max_stages == 1 ? 0 : stages_to_end - 1];
}

/* Returns the peak of an interval. */
static uint64_t peak_of(const popliner_costs *costs, size_t stages_to_end, size_t first_unit,
                        size_t last_unit) {
    if (costs->peaks_bytes != NULL)
        return peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)];
    const pl_peak_line line = line_of(costs, first_unit, last_unit);
    const size_t copies = copies_at(costs, stages_to_end);
    return line.copy_bytes == SEVERAL_LINES ? lines_at(&costs->more_lines[line.bytes], copies)
                                            : line_at(&line, copies);
}

void pl_costs_mark_peaks(const popliner_costs *costs, size_t stages_to_end,
                         const pl_peak_range *range, uint8_t *marks) {
    if (range->count == 0)
        return;
    if (costs->peaks_bytes == NULL && costs->lines == NULL) {
        const uint64_t *bytes = costs->line_bytes.ends + range->last_unit + 1;
        const uint64_t *copy_bytes = costs->line_copy_bytes.ends + range->last_unit + 1;
        const size_t copies = copies_at(costs, stages_to_end);
        const uint64_t before = costs->line_bytes.begins[range->first_unit] +
                                copies * costs->line_copy_bytes.begins[range->first_unit];
        for (size_t d = 0; d < range->count; ++d) {
            const uint64_t own = bytes[d] + copies * copy_bytes[d] - before;
            marks[d] &= (own <= range->max_bytes) & (own >= range->min_bytes);
        }
        return;
    }
    if (costs->peaks_bytes == NULL) {
        for (size_t d = 0; d < range->count; ++d) {
            uint64_t bytes = peak_of(costs, stages_to_end, range->first_unit, range->last_unit + d);
            marks[d] &= (bytes <= range->max_bytes) & (bytes >= range->min_bytes);
        }
        return;
    }
    const uint64_t *peaks =
        peaks_at(costs, stages_to_end) + place(costs, range->first_unit, range->last_unit);
    for (size_t d = 0; d < range->count; ++d)
        marks[d] &= (peaks[d] <= range->max_bytes) & (peaks[d] >= range->min_bytes);
}

static bool is_interval(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    return first_unit <= last_unit && last_unit < costs->num_units;
}

static popliner_status check_interval(const popliner_costs *costs, size_t first_unit,
                                      size_t last_unit, popliner_error *error) {
    if (is_interval(costs, first_unit, last_unit))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "units %zu to %zu: not an interval of a chain of %zu units", first_unit,
                   last_unit, costs->num_units);
}

popliner_status pl_ask_peak(popliner_peak_function peak, void *user, size_t first_unit,
                            size_t last_unit, uint64_t *peak_bytes, popliner_error *error) {
    popliner_error told;
    told.message[0] = '\0';
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    popliner_status status = peak(user, first_unit, last_unit, peak_bytes, &told);
    return pl_fail_callback(error, "peak", status, &told);
}

static popliner_status fail_pipeline(popliner_error *error) {
    return pl_fail_memory(error, "the costs of a pipeline");
}

popliner_status pl_costs_begin_lines(popliner_costs *costs, const size_t *copies, size_t max_stages,
                                     bool are_added, popliner_error *error) {
    pl_peak_line *lines = are_added ? NULL : pl_new_array(triangle_size(costs), sizeof *lines);
    size_t *own = pl_new_array(max_stages, sizeof *own);
    popliner_status status = POPLINER_OK;
    if (own == NULL || (lines == NULL && !are_added))
        status = fail_pipeline(error);
    if (status == POPLINER_OK && are_added)
        status = pl_differences_create(&costs->line_bytes, costs->num_units, error);
    if (status == POPLINER_OK && are_added)
        status = pl_differences_create(&costs->line_copy_bytes, costs->num_units, error);
    if (status != POPLINER_OK) {
        free(lines);
        free(own);
        return status;
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
    return POPLINER_OK;
}

/* Returns, among the lines that are the largest for `copies`, the one that stays the largest
 * longest. */
static size_t largest_line(const pl_peak_line *lines, size_t num_lines, size_t copies) {
    size_t found = 0;
    for (size_t i = 1; i < num_lines; ++i) {
        uint64_t bytes = line_at(&lines[i], copies);
        uint64_t most = line_at(&lines[found], copies);
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

popliner_status pl_costs_set_lines(popliner_costs *costs, const popliner_interval *interval,
                                   const pl_peak_line *lines, size_t num_lines,
                                   size_t forbidden_from, popliner_error *error) {
    pl_peak_line *own = &costs->lines[place(costs, interval->first_unit, interval->last_unit)];
    size_t most = costs->most_copies;
    size_t found = largest_line(lines, num_lines, 0);
    *own = forbidden_from > 0 ? lines[found] : (pl_peak_line){POPLINER_PEAK_FORBIDDEN, 0};
    size_t last = forbidden_from > most ? most : forbidden_from - (forbidden_from > 0);
    size_t next = next_copies(lines, num_lines, own);
    if (forbidden_from == 0 || (forbidden_from > most && next > most))
        return POPLINER_OK;
    if (!pl_grow(&costs->more_lines, &costs->more_lines_capacity,
                 costs->num_more_lines + num_lines + 1, sizeof *costs->more_lines))
        return fail_pipeline(error);
    pl_peak_line *head = &costs->more_lines[costs->num_more_lines];
    head[0] = (pl_peak_line){1, forbidden_from};
    head[1] = *own;
    for (; next <= last; next = next_copies(lines, num_lines, &head[head->bytes])) {
        found = largest_line(lines, num_lines, next);
        head[++head->bytes] = lines[found];
    }
    *own = (pl_peak_line){costs->num_more_lines, SEVERAL_LINES};
    costs->num_more_lines += head->bytes + 1;
    return POPLINER_OK;
}

/* Replaces lines by peaks for each place, so that each can be set. */
static popliner_status make_dense(popliner_costs *costs, popliner_error *error) {
    size_t size = triangle_size(costs);
    size_t max_stages = costs->max_stages_to_end;
    if (costs->peaks_bytes != NULL)
        return POPLINER_OK;
    uint64_t *peaks =
        max_stages > SIZE_MAX / size ? NULL : pl_new_array(max_stages * size, sizeof *peaks);
    if (peaks == NULL)
        return fail_pipeline(error);
    uint64_t *next = peaks;
    for (size_t stages = 1; stages <= max_stages; ++stages)
        for (size_t first = 0; first < costs->num_units; ++first)
            for (size_t last = first; last < costs->num_units; ++last)
                *next++ = peak_of(costs, stages, first, last);
    free_differences(&costs->line_bytes);
    free_differences(&costs->line_copy_bytes);
    free(costs->lines);
    free(costs->copies);
    free(costs->more_lines);
    costs->lines = NULL;
    costs->copies = NULL;
    costs->more_lines = NULL;
    costs->peaks_bytes = peaks;
    return POPLINER_OK;
}

popliner_status popliner_costs_fill_peaks(popliner_costs *costs, popliner_peak_function peak,
                                          void *user, uint64_t max_bytes, popliner_error *error) {
    popliner_status status = make_dense(costs, error);
    for (size_t first = 0; status == POPLINER_OK && first < costs->num_units; ++first) {
        uint64_t peak_bytes = 0;
        for (size_t last = first; last < costs->num_units; ++last) {
            if (peak_bytes <= max_bytes) {
                status = pl_ask_peak(peak, user, first, last, &peak_bytes, error);
                if (status != POPLINER_OK)
                    return status;
            }
            /* an interval can be forbidden only because it has no operations: longer ones may be
             * allowed */
            bool is_forbidden = peak_bytes == POPLINER_PEAK_FORBIDDEN;
            pl_costs_set_peak(costs, first, last, 1,
                              peak_bytes > max_bytes ? POPLINER_PEAK_FORBIDDEN : peak_bytes);
            if (is_forbidden)
                peak_bytes = 0;
        }
    }
    return status;
}

popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error) {
    if (costs->cycles != NULL)
        return POPLINER_OK;
    costs->cycles = pl_new_array(triangle_size(costs), sizeof *costs->cycles);
    if (costs->cycles == NULL)
        return pl_fail_memory(error, "the cycles of the intervals");
    uint64_t *next = costs->cycles;
    for (size_t first = 0; costs->added_cycles.ends != NULL && first < costs->num_units; ++first)
        for (size_t last = first; last < costs->num_units; ++last)
            *next++ = difference(&costs->added_cycles, first, last);
    free_differences(&costs->added_cycles);
    return POPLINER_OK;
}

bool popliner_costs_has_cycles(const popliner_costs *costs) {
    return costs->cycles != NULL || costs->added_cycles.ends != NULL;
}

void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles) {
    assert(costs->cycles != NULL && cycles <= POPLINER_MAX_CYCLES);
    costs->cycles[place(costs, first_unit, last_unit)] = cycles;
}

popliner_status popliner_costs_set_cycles(popliner_costs *costs, size_t first_unit,
                                          size_t last_unit, uint64_t cycles,
                                          popliner_error *error) {
    popliner_status status = check_interval(costs, first_unit, last_unit, error);
    if (status != POPLINER_OK)
        return status;
    if (cycles > POPLINER_MAX_CYCLES)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%" PRIu64 " cycles: at most %" PRIu64 "; use a larger unit of time", cycles,
                       POPLINER_MAX_CYCLES);
    if (costs->cycles == NULL) {
        status = pl_costs_add_cycles(costs, error);
        if (status != POPLINER_OK)
            return status;
    }
    pl_costs_set_cycles(costs, first_unit, last_unit, cycles);
    return POPLINER_OK;
}

uint64_t popliner_costs_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    if (!is_interval(costs, first_unit, last_unit))
        return 0;
    if (costs->added_cycles.ends != NULL)
        return difference(&costs->added_cycles, first_unit, last_unit);
    return costs->cycles == NULL ? 0 : costs->cycles[place(costs, first_unit, last_unit)];
}

popliner_status pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages,
                                      popliner_error *error) {
    popliner_status status = make_dense(costs, error);
    if (status != POPLINER_OK || max_stages <= costs->max_stages_to_end)
        return status;
    size_t size = triangle_size(costs);
    size_t known = costs->max_stages_to_end;
    uint64_t *grown = max_stages > SIZE_MAX / sizeof *grown / size
                          ? NULL
                          : realloc(costs->peaks_bytes, max_stages * size * sizeof *grown);
    if (grown == NULL)
        return fail_pipeline(error);
    memset(grown + known * size, 0, (max_stages - known) * size * sizeof *grown);
    costs->peaks_bytes = grown;
    costs->max_stages_to_end = max_stages;
    return POPLINER_OK;
}

void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes) {
    assert(stages_to_end <= costs->max_stages_to_end);
    peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)] = peak_bytes;
}

void pl_costs_repeat_peaks(popliner_costs *costs, size_t first_unit, size_t own_first,
                           size_t stages_to_end) {
    uint64_t *peaks_bytes = peaks_at(costs, stages_to_end);
    memcpy(peaks_bytes + place(costs, own_first, own_first),
           peaks_bytes + place(costs, first_unit, first_unit),
           (costs->num_units - own_first) * sizeof *peaks_bytes);
}

void pl_costs_forbid_from(popliner_costs *costs, size_t first_unit, size_t last_unit,
                          size_t stages_to_end) {
    uint64_t *peaks_bytes = peaks_at(costs, stages_to_end) + place(costs, first_unit, last_unit);
    for (size_t i = 0; i < costs->num_units - last_unit; ++i)
        peaks_bytes[i] = POPLINER_PEAK_FORBIDDEN;
}

popliner_status popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                                        size_t stages_to_end, uint64_t peak_bytes,
                                        popliner_error *error) {
    popliner_status status = check_interval(costs, first_unit, last_unit, error);
    if (status != POPLINER_OK)
        return status;
    if (stages_to_end == 0 || stages_to_end > costs->max_stages_to_end)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stages_to_end %zu: the costs have peaks for 1 to %zu", stages_to_end,
                       costs->max_stages_to_end);
    status = make_dense(costs, error);
    if (status != POPLINER_OK)
        return status;
    pl_costs_set_peak(costs, first_unit, last_unit, stages_to_end, peak_bytes);
    return POPLINER_OK;
}

void pl_costs_forbid(popliner_costs *costs, size_t first_unit, size_t last_unit) {
    if (costs->peaks_bytes == NULL) {
        costs->lines[place(costs, first_unit, last_unit)] =
            (pl_peak_line){POPLINER_PEAK_FORBIDDEN, 0};
        return;
    }
    for (size_t stages = 1; stages <= costs->max_stages_to_end; ++stages)
        pl_costs_set_peak(costs, first_unit, last_unit, stages, POPLINER_PEAK_FORBIDDEN);
}

uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                             size_t stages_to_end) {
    size_t max_stages = costs->max_stages_to_end;
    if (!is_interval(costs, first_unit, last_unit) || stages_to_end == 0 ||
        (max_stages > 1 && stages_to_end > max_stages))
        return POPLINER_PEAK_FORBIDDEN;
    return peak_of(costs, stages_to_end, first_unit, last_unit);
}

void popliner_costs_set_shared_peak(popliner_costs *costs, popliner_shared_peak_function peak,
                                    void *user, bool never_shrinks) {
    costs->shared_peak_never_shrinks = never_shrinks;
    costs->shared_peak = peak;
    costs->shared_peak_user = user;
    costs->peak_parts = NULL;
    costs->shared_peak_is_quick = false;
    forget_items(costs);
}

/* Restores the place that a stage of a part has in the whole table, for its callbacks. */
static popliner_interval in_whole(const popliner_costs *costs, popliner_interval stage) {
    if (costs->whole != NULL)
        stage.stages_to_end = costs->num_stages;
    return stage;
}

pl_peak_parts pl_costs_peak_parts(const popliner_costs *costs, const popliner_interval *stage) {
    if (costs->peak_parts != NULL) {
        const popliner_interval own = in_whole(costs, *stage);
        return costs->peak_parts(costs->shared_peak_user, &own);
    }
    uint64_t peak_bytes =
        popliner_costs_peak(costs, stage->first_unit, stage->last_unit, stage->stages_to_end);
    bool is_added = costs->shared_peak == NULL;
    return (pl_peak_parts){is_added ? peak_bytes : 0, is_added ? 0 : peak_bytes};
}

popliner_status pl_costs_set_shared_items(popliner_costs *costs, const pl_shared_items *items,
                                          popliner_error *error) {
    forget_items(costs);
    size_t n = costs->num_units;
    uint64_t *own = pl_new_array(n + items->num_items, sizeof *own);
    if (own == NULL)
        return pl_fail_memory(error, "the memory that units share");
    memcpy(own, items->uses, n * sizeof *own);
    memcpy(own + n, items->bytes, items->num_items * sizeof *own);
    costs->item_numbers = own;
    costs->shared_items = (pl_shared_items){own, own + n, items->num_items};
    return POPLINER_OK;
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
    if (line->copy_bytes != SEVERAL_LINES)
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
    if (line->copy_bytes != SEVERAL_LINES && line_within->copy_bytes != SEVERAL_LINES)
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
        is_so = never_shrinks(costs, peaks_at(costs, to_end), NULL);
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
            if (peak_of(costs, stages, first, last) != POPLINER_PEAK_FORBIDDEN)
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
        while (last < n && peak_of(costs, 1, first, last) == POPLINER_PEAK_FORBIDDEN)
            ++last;
        first_ends[first] = last == n ? first + 1 : last + 1;
        is_so = (first == 0 || first_ends[first] >= first_ends[first - 1]) &&
                are_forbidden(costs, first, first_ends[first]);
    }
    return is_so;
}

/* True if the peak never falls as a stage moves away from the end. */
static bool peaks_grow_to_front(const popliner_costs *costs, size_t max_stages) {
    bool is_so = true;
    size_t size = triangle_size(costs);
    for (size_t stages = 2; is_so && stages <= max_stages; ++stages) {
        if (costs->peaks_bytes == NULL) {
            is_so = costs->copies[stages - 1] >= costs->copies[stages - 2];
            continue;
        }
        const uint64_t *peaks = peaks_at(costs, stages);
        const uint64_t *behind = peaks_at(costs, stages - 1);
        for (size_t at = 0; at < size; ++at)
            is_so &= peaks[at] >= behind[at];
    }
    return is_so;
}

/* Finds how many cycles an interval and all longer ones take at least, if cycles are differences:
 * those of the units from the first one on, without what follows the end. */
static popliner_status find_least_cycles(const popliner_costs *costs, pl_differences *least,
                                         popliner_error *error) {
    const pl_differences *own = &costs->added_cycles;
    const size_t n = costs->num_units;
    popliner_status status = pl_differences_create(least, n, error);
    if (status != POPLINER_OK)
        return status;
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
    return POPLINER_OK;
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
            never_shrinks(costs, peaks_at(costs, stages), order->first_ends);
    order->cycles_never_shrink = pl_costs_cycles_never_shrink(costs);
    order->peaks_grow_to_front = costs->kinds == NULL && peaks_grow_to_front(costs, max_stages);
    order->peaks_never_shrink = order->peaks_never_shrink && costs->kinds == NULL;
    return order->cycles_never_shrink || costs->added_cycles.ends == NULL
               ? POPLINER_OK
               : find_least_cycles(costs, &order->least_cycles, error);
}

popliner_status pl_cost_order_copy(pl_cost_order *to, const pl_cost_order *from, size_t num_units,
                                   popliner_error *error) {
    const size_t n = num_units;
    popliner_status status = POPLINER_OK;
    *to = *from;
    to->least_cycles = (pl_differences){0};
    to->first_ends = pl_new_array(n, sizeof *to->first_ends);
    if (to->first_ends == NULL)
        return pl_fail_memory(error, "the order of the costs");
    memcpy(to->first_ends, from->first_ends, n * sizeof *to->first_ends);
    if (from->least_cycles.ends == NULL)
        return POPLINER_OK;
    status = pl_differences_create(&to->least_cycles, n, error);
    if (status != POPLINER_OK)
        return status;
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

/* Calls the table's function. */
static popliner_status ask_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                       size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error) {
    popliner_error told;
    popliner_interval *own = costs->whole == NULL ? NULL : pl_new_array(num_stages, sizeof *own);
    if (costs->whole != NULL && own == NULL)
        return pl_fail_memory(error, "the stages of an IPU");
    for (size_t i = 0; own != NULL && i < num_stages; ++i)
        own[i] = in_whole(costs, stages[i]);
    told.message[0] = '\0';
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    popliner_status status = costs->shared_peak(costs->shared_peak_user, own != NULL ? own : stages,
                                                num_stages, peak_bytes, &told);
    free(own);
    return pl_fail_callback(error, "shared_peak", status, &told);
}

popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; i < num_stages; ++i) {
        status = check_interval(costs, stages[i].first_unit, stages[i].last_unit, error);
        if (status != POPLINER_OK)
            return status;
    }
    if (num_stages > 1 && costs->shared_peak != NULL)
        return ask_shared_peak(costs, stages, num_stages, peak_bytes, error);
    *peak_bytes = 0;
    for (size_t i = 0; i < num_stages; ++i) {
        uint64_t own_bytes = popliner_costs_peak(costs, stages[i].first_unit, stages[i].last_unit,
                                                 stages[i].stages_to_end);
        *peak_bytes = pl_add_or_never(*peak_bytes, own_bytes);
    }
    return POPLINER_OK;
}

popliner_status pl_costs_add_passes(popliner_costs *costs, const pl_passes_source *source,
                                    popliner_error *error) {
    const size_t n = costs->num_units;
    const size_t num_samples = source->num_samples;
    const size_t count = (n + 1) * (2 * num_samples + 1);
    pl_unit_passes *passes = calloc(1, sizeof *passes + count * sizeof *passes->cycles);
    costs->passes = passes;
    if (passes == NULL)
        return pl_fail_memory(error, "the passes of the units");
    uint64_t *forward = passes->cycles + (n + 1) * num_samples;
    passes->num_samples = num_samples;
    passes->has_cuts = source->cut_cycles != NULL;
    for (size_t i = 0; i < n * num_samples; ++i) {
        passes->cycles[num_samples + i] = passes->cycles[i] + source->cycles[i];
        forward[num_samples + i] = forward[i] + source->forward[i];
    }
    if (passes->has_cuts)
        memcpy(forward + (n + 1) * num_samples, source->cut_cycles,
               (n + 1) * sizeof *source->cut_cycles);
    return POPLINER_OK;
}

uint64_t pl_costs_forward(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    const pl_unit_passes *p = pl_costs_of_any_split(costs)->passes;
    const size_t n = costs->num_units;
    const uint64_t *cuts = pl_passes_cuts(p, n);
    uint64_t slowest = 0;
    uint64_t result = 0;
    for (size_t s = 0; s < p->num_samples; ++s) {
        const uint64_t sum =
            pl_passes_before(p, last_unit + 1, s) - pl_passes_before(p, first_unit, s);
        if (s > 0 && sum <= slowest)
            continue;
        slowest = sum;
        result = pl_passes_forward_before(p, n, last_unit + 1, s) -
                 pl_passes_forward_before(p, n, first_unit, s);
    }
    const uint64_t all = popliner_costs_cycles(costs, first_unit, last_unit);
    const uint64_t transfers = p->has_cuts     ? cuts[first_unit] + cuts[last_unit + 1]
                               : all > slowest ? all - slowest
                                               : 0;
    return result + transfers / 2;
}

void pl_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes) {
    assert(unit >= 1 && unit < costs->num_units);
    costs->cuts_bytes[unit] = cut_bytes;
}

popliner_status popliner_costs_set_cut(popliner_costs *costs, size_t unit, uint64_t cut_bytes,
                                       popliner_error *error) {
    if (unit == 0 || unit >= costs->num_units)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "unit %zu: no cut of a chain of %zu units is before it", unit,
                       costs->num_units);
    pl_costs_set_cut(costs, unit, cut_bytes);
    return POPLINER_OK;
}

uint64_t popliner_costs_cut(const popliner_costs *costs, size_t unit) {
    return unit < costs->num_units ? costs->cuts_bytes[unit] : 0;
}
