/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "costs/costs.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/variants.h"
#include "pipeline/pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    made->cycles_per_time_unit = 1;
    made->max_stages_to_end = 1;
    made->peaks.by_place =
        pl_arrays_new(&made->peaks.arrays, triangle_size(made), sizeof *made->peaks.by_place);
    made->cuts_bytes = pl_arrays_new(&made->arrays, num_units, sizeof *made->cuts_bytes);
    if (made->peaks.by_place == NULL || made->cuts_bytes == NULL ||
        !pl_costs_add_pipeline(made, max_stages)) {
        popliner_costs_free(made);
        return pl_fail_memory(error, "the costs of the intervals");
    }
    *costs = made;
    return POPLINER_OK;
}

pl_interval_numbers pl_numbers_new(pl_arrays *arrays, pl_numbers_kind kind, size_t num_units) {
    pl_interval_numbers made = {.kind = kind};
    if (kind == PL_NUMBERS_LISTED) {
        made.listed = pl_arrays_new(arrays, pl_triangle_size(num_units), sizeof *made.listed);
    } else {
        made.added.begins = pl_arrays_new(arrays, num_units, sizeof(uint64_t));
        made.added.ends = pl_arrays_new(arrays, num_units + 1, sizeof(uint64_t));
    }
    return made;
}

void popliner_costs_free(popliner_costs *costs) {
    if (costs == NULL)
        return;
    free(costs->owned_user);
    pl_arrays_free(&costs->peaks.arrays);
    pl_arrays_free(&costs->arrays);
    pl_ways_part(costs);
    free(costs);
}

size_t popliner_costs_num_units(const popliner_costs *costs) {
    return costs->num_units;
}

popliner_status popliner_costs_set_pipeline(popliner_costs *costs,
                                            const popliner_pipeline *pipeline,
                                            popliner_error *error) {
    const popliner_pipeline own = pl_pipeline_of_any_split(pipeline);
    PL_TRY(pl_pipeline_check(&own, error));
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
                   "for this pipeline, or read their file for it",
                   pl_schedule_name(wanted.schedule), pl_recompute_name(wanted.recompute),
                   pl_copies_rule_name(wanted.copies.rule), pl_schedule_name(made->schedule),
                   pl_recompute_name(made->recompute), pl_copies_rule_name(made->copies.rule));
}

bool pl_costs_set_counted_units(popliner_costs *costs, const uint8_t *counted_units) {
    costs->counted_units = counted_units == NULL
                               ? NULL
                               : pl_arrays_copy(&costs->arrays, counted_units, costs->num_units, 1);
    return !costs->arrays.failed;
}

static size_t place(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    assert(first_unit <= last_unit && last_unit < costs->num_units);
    return pl_triangle_place(costs->num_units, first_unit, last_unit);
}

uint64_t *pl_costs_peaks_at(const popliner_costs *costs, size_t stages_to_end) {
    assert(costs->peaks.by_place != NULL && stages_to_end >= 1);
    if (stages_to_end == 1 || costs->max_stages_to_end == 1)
        return costs->peaks.by_place;
    assert(stages_to_end <= costs->max_stages_to_end);
    return costs->peaks.by_place + (stages_to_end - 1) * triangle_size(costs);
}

static size_t copies_at(const popliner_costs *costs, size_t stages_to_end) {
    const size_t max_stages = costs->max_stages_to_end;
    assert(costs->peaks.lines != NULL && stages_to_end >= 1 &&
           (max_stages == 1 || stages_to_end <= max_stages));
    return costs->peaks.copies[max_stages == 1 ? 0 : stages_to_end - 1];
}

/* Returns what an interval needs with so many copies, and kept_bytes so many times, in the region
 * where it needs most; POPLINER_PEAK_FORBIDDEN if that is too much for a region. Unless it is NULL,
 * *held_bytes is what the copies and kept_bytes take there. */
static uint64_t lines_at(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                         size_t copies, size_t num_kept, uint64_t *held_bytes) {
    const pl_peaks *peaks = &costs->peaks;
    const size_t n = costs->num_units;
    if (held_bytes == NULL && peaks->lines->bytes.kind == PL_NUMBERS_ADDED_UP) /* one region */
        return pl_numbers_at(&peaks->lines->bytes, n, first_unit, last_unit) +
               copies * pl_numbers_at(&peaks->lines->copy_bytes, n, first_unit, last_unit);
    const uint64_t kept =
        num_kept > 0 ? num_kept * pl_numbers_at(&peaks->kept_bytes, n, first_unit, last_unit) : 0;
    uint64_t peak_bytes = 0;
    for (size_t i = 0; i < peaks->num_regions; ++i) {
        const pl_region_lines *own = &peaks->lines[i];
        const uint64_t held =
            copies * pl_numbers_at(&own->copy_bytes, n, first_unit, last_unit) + kept;
        const uint64_t bytes = pl_numbers_at(&own->bytes, n, first_unit, last_unit) + held;
        if (peaks->capacity_bytes != NULL && bytes > peaks->capacity_bytes[i])
            return POPLINER_PEAK_FORBIDDEN;
        if (held_bytes != NULL && bytes >= peak_bytes)
            *held_bytes = held;
        peak_bytes = pl_larger(bytes, peak_bytes);
    }
    return peak_bytes;
}

/* Returns the peak of an interval in a table with kept_bytes. */
static uint64_t peak_with_sets(const popliner_costs *costs, size_t at, size_t first_unit,
                               size_t last_unit, uint64_t *held_bytes) {
    const size_t num_stages = pl_fewer(pl_costs_stages_of(costs, at), costs->max_stages_to_end);
    const pl_held held =
        pl_held_of_copies(costs->peaks.copies[num_stages - 1], at, costs->peaks.sets_late);
    return lines_at(costs, first_unit, last_unit, held.sets, held.kept, held_bytes);
}

/* Returns what is added to the peaks of units. */
static uint64_t grown_bytes(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    const uint64_t *before = costs->grown_before;
    return before == NULL ? 0 : before[last_unit + 1] - before[first_unit];
}

/* Returns the peak of an interval; *held_bytes as in lines_at. */
static uint64_t peak_of(const popliner_costs *costs, size_t stages_to_end, size_t first_unit,
                        size_t last_unit, uint64_t *held_bytes) {
    const uint64_t bytes =
        costs->peaks.by_place != NULL
            ? pl_costs_peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)]
        : pl_costs_keep_sets(costs)
            ? peak_with_sets(costs, stages_to_end, first_unit, last_unit, held_bytes)
            : lines_at(costs, first_unit, last_unit, copies_at(costs, stages_to_end), 0,
                       held_bytes);
    return pl_add_or_never(bytes, grown_bytes(costs, first_unit, last_unit));
}

uint64_t pl_costs_copies_bytes(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                               size_t stages_to_end) {
    uint64_t held_bytes = 0;
    peak_of(costs, stages_to_end, first_unit, last_unit, &held_bytes);
    return held_bytes;
}

void pl_costs_mark_peaks(const popliner_costs *costs, size_t stages_to_end,
                         const pl_peak_range *range, uint8_t *marks) {
    const pl_peaks *peaks = &costs->peaks;
    const size_t first = range->first_unit;
    const size_t last = range->last_unit;
    if (range->count == 0)
        return;
    if (costs->grown_before != NULL ||
        (peaks->lines != NULL &&
         (peaks->num_regions > 1 || peaks->capacity_bytes != NULL || pl_costs_keep_sets(costs)))) {
        for (size_t d = 0; d < range->count; ++d) {
            const uint64_t bytes = peak_of(costs, stages_to_end, first, last + d, NULL);
            marks[d] &= (bytes <= range->max_bytes) & (bytes >= range->min_bytes);
        }
        return;
    }
    if (peaks->by_place != NULL) {
        const uint64_t *bytes = pl_costs_peaks_at(costs, stages_to_end) + place(costs, first, last);
        for (size_t d = 0; d < range->count; ++d)
            marks[d] &= (bytes[d] <= range->max_bytes) & (bytes[d] >= range->min_bytes);
        return;
    }
    const size_t copies = copies_at(costs, stages_to_end);
    uint64_t before;
    uint64_t copies_before;
    const uint64_t *own =
        pl_numbers_row(&peaks->lines->bytes, costs->num_units, first, &before) + (last - first);
    const uint64_t *copy_bytes =
        pl_numbers_row(&peaks->lines->copy_bytes, costs->num_units, first, &copies_before) +
        (last - first);
    before += copies * copies_before;
    for (size_t d = 0; d < range->count; ++d) {
        const uint64_t bytes = own[d] + copies * copy_bytes[d] - before;
        marks[d] &= (bytes <= range->max_bytes) & (bytes >= range->min_bytes);
    }
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

/* Replaces lines by peaks for each place, so that each can be set. */
static bool make_dense(popliner_costs *costs) {
    const size_t size = triangle_size(costs);
    const size_t max_stages = costs->max_stages_to_end;
    pl_peaks made = {0};
    if (costs->peaks.by_place != NULL)
        return true;
    if (max_stages <= SIZE_MAX / size)
        made.by_place = pl_arrays_new(&made.arrays, max_stages * size, sizeof *made.by_place);
    if (made.by_place == NULL)
        return false;
    uint64_t *next = made.by_place;
    for (size_t stages = 1; stages <= max_stages; ++stages)
        for (size_t first = 0; first < costs->num_units; ++first)
            for (size_t last = first; last < costs->num_units; ++last)
                *next++ = peak_of(costs, stages, first, last, NULL);
    pl_arrays_free(&costs->peaks.arrays);
    costs->peaks = made;
    return true;
}

popliner_status popliner_costs_fill_peaks(popliner_costs *costs, popliner_peak_function peak,
                                          void *user, uint64_t max_bytes, popliner_error *error) {
    if (!make_dense(costs))
        return pl_fail_memory(error, "the costs of a pipeline");
    for (size_t first = 0; first < costs->num_units; ++first) {
        uint64_t peak_bytes = 0;
        for (size_t last = first; last < costs->num_units; ++last) {
            if (peak_bytes <= max_bytes)
                PL_TRY(pl_ask_peak(peak, user, first, last, &peak_bytes, error));
            /* an interval can be forbidden only because it has no operations: longer ones may be
             * allowed */
            bool is_forbidden = peak_bytes == POPLINER_PEAK_FORBIDDEN;
            pl_costs_set_peak(costs, first, last, 1,
                              peak_bytes > max_bytes ? POPLINER_PEAK_FORBIDDEN : peak_bytes);
            if (is_forbidden)
                peak_bytes = 0;
        }
    }
    return POPLINER_OK;
}

popliner_status pl_costs_add_cycles(popliner_costs *costs, popliner_error *error) {
    const pl_interval_numbers before = costs->cycles;
    if (before.kind == PL_NUMBERS_LISTED)
        return POPLINER_OK;
    const pl_interval_numbers made =
        pl_numbers_new(&costs->arrays, PL_NUMBERS_LISTED, costs->num_units);
    if (made.listed == NULL)
        return pl_fail_memory(error, "the cycles of the intervals");
    costs->cycles = made;
    for (size_t first = 0; before.kind != PL_NUMBERS_UNKNOWN && first < costs->num_units; ++first)
        for (size_t last = first; last < costs->num_units; ++last)
            pl_costs_set_cycles(costs, first, last,
                                pl_numbers_at(&before, costs->num_units, first, last));
    return POPLINER_OK;
}

bool popliner_costs_has_cycles(const popliner_costs *costs) {
    return costs->cycles.kind != PL_NUMBERS_UNKNOWN;
}

void pl_costs_set_cycles(popliner_costs *costs, size_t first_unit, size_t last_unit,
                         uint64_t cycles) {
    assert(costs->cycles.kind == PL_NUMBERS_LISTED && cycles <= POPLINER_MAX_CYCLES);
    costs->cycles.listed[place(costs, first_unit, last_unit)] = cycles;
}

popliner_status popliner_costs_set_cycles(popliner_costs *costs, size_t first_unit,
                                          size_t last_unit, uint64_t cycles,
                                          popliner_error *error) {
    PL_TRY(check_interval(costs, first_unit, last_unit, error));
    if (cycles > POPLINER_MAX_CYCLES)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%" PRIu64 " cycles: at most %" PRIu64 "; use a larger unit of time", cycles,
                       POPLINER_MAX_CYCLES);
    PL_TRY(pl_costs_add_cycles(costs, error));
    pl_costs_set_cycles(costs, first_unit, last_unit, cycles);
    return POPLINER_OK;
}

popliner_status pl_costs_list_cycles(popliner_costs *costs, const uint64_t *cycles,
                                     popliner_error *error) {
    for (size_t first = 0; cycles != NULL && first < costs->num_units; ++first)
        for (size_t last = first; last < costs->num_units; ++last)
            PL_TRY(popliner_costs_set_cycles(costs, first, last, *cycles++, error));
    return POPLINER_OK;
}

uint64_t popliner_costs_cycles(const popliner_costs *costs, size_t first_unit, size_t last_unit) {
    return is_interval(costs, first_unit, last_unit) && costs->cycles.kind != PL_NUMBERS_UNKNOWN
               ? pl_numbers_at(&costs->cycles, costs->num_units, first_unit, last_unit)
               : 0;
}

bool pl_costs_add_pipeline(popliner_costs *costs, size_t max_stages) {
    const bool is_dense = make_dense(costs);
    if (!is_dense || max_stages <= costs->max_stages_to_end)
        return is_dense;
    const size_t size = triangle_size(costs);
    const size_t known = costs->max_stages_to_end;
    pl_peaks *peaks = &costs->peaks;
    const bool has_grown =
        max_stages <= SIZE_MAX / size && pl_arrays_grow(&peaks->arrays, &peaks->by_place,
                                                        max_stages * size, sizeof *peaks->by_place);
    peaks->arrays.failed = false; /* they are as before */
    if (!has_grown)
        return false;
    memset(peaks->by_place + known * size, 0,
           (max_stages - known) * size * sizeof *peaks->by_place);
    costs->max_stages_to_end = max_stages;
    return true;
}

void pl_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                       size_t stages_to_end, uint64_t peak_bytes) {
    assert(stages_to_end <= costs->max_stages_to_end);
    pl_costs_peaks_at(costs, stages_to_end)[place(costs, first_unit, last_unit)] = peak_bytes;
}

popliner_status popliner_costs_set_peak(popliner_costs *costs, size_t first_unit, size_t last_unit,
                                        size_t stages_to_end, uint64_t peak_bytes,
                                        popliner_error *error) {
    PL_TRY(check_interval(costs, first_unit, last_unit, error));
    if (stages_to_end == 0 || stages_to_end > costs->max_stages_to_end)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stages_to_end %zu: the costs have peaks for 1 to %zu", stages_to_end,
                       costs->max_stages_to_end);
    if (!make_dense(costs))
        return pl_fail_memory(error, "the costs of a pipeline");
    pl_costs_set_peak(costs, first_unit, last_unit, stages_to_end, peak_bytes);
    return POPLINER_OK;
}

uint64_t popliner_costs_peak(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                             size_t stages_to_end) {
    size_t max_stages = costs->max_stages_to_end;
    if (!is_interval(costs, first_unit, last_unit) || stages_to_end == 0 ||
        (max_stages > 1 && pl_costs_stages_of(costs, stages_to_end) > max_stages))
        return POPLINER_PEAK_FORBIDDEN;
    return peak_of(costs, stages_to_end, first_unit, last_unit, NULL);
}

void popliner_costs_set_shared_peak(popliner_costs *costs, popliner_shared_peak_function peak,
                                    void *user, bool never_shrinks) {
    costs->shared_peak_never_shrinks = never_shrinks;
    costs->shared_peak = peak;
    costs->shared_peak_user = user;
    costs->peak_parts = NULL;
    costs->shared_peak_is_quick = false;
}

pl_peak_parts pl_costs_peak_parts(const popliner_costs *costs, const popliner_interval *stage) {
    if (costs->peak_parts != NULL)
        return costs->peak_parts(costs->shared_peak_user, stage);
    uint64_t peak_bytes =
        popliner_costs_peak(costs, stage->first_unit, stage->last_unit, stage->stages_to_end);
    bool is_added = costs->shared_peak == NULL;
    return (pl_peak_parts){is_added ? peak_bytes : 0, is_added ? 0 : peak_bytes};
}

/* Calls the table's function. */
static popliner_status ask_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                       size_t num_stages, uint64_t *peak_bytes,
                                       popliner_error *error) {
    popliner_error told;
    told.message[0] = '\0';
    *peak_bytes = POPLINER_PEAK_FORBIDDEN;
    popliner_status status =
        costs->shared_peak(costs->shared_peak_user, stages, num_stages, peak_bytes, &told);
    return pl_fail_callback(error, "shared_peak", status, &told);
}

popliner_status pl_costs_shared_peak(const popliner_costs *costs, const popliner_interval *stages,
                                     size_t num_stages, uint64_t *peak_bytes,
                                     popliner_error *error) {
    for (size_t i = 0; i < num_stages; ++i)
        PL_TRY(check_interval(costs, stages[i].first_unit, stages[i].last_unit, error));
    const bool are_added = num_stages <= 1 || costs->shared_peak == NULL;
    *peak_bytes = 0;
    if (!are_added)
        PL_TRY(ask_shared_peak(costs, stages, num_stages, peak_bytes, error));
    for (size_t i = 0; i < num_stages; ++i) {
        const size_t first = stages[i].first_unit;
        const size_t last = stages[i].last_unit;
        *peak_bytes =
            pl_add_or_never(*peak_bytes, are_added ? popliner_costs_peak(costs, first, last,
                                                                         stages[i].stages_to_end)
                                                   : grown_bytes(costs, first, last));
    }
    return POPLINER_OK;
}

bool pl_costs_add_passes(popliner_costs *costs, const pl_passes_source *source) {
    const size_t n = costs->num_units;
    const size_t num_samples = source->num_samples;
    const size_t count = pl_passes_count(n, num_samples);
    pl_unit_passes *passes =
        pl_arrays_new(&costs->arrays, 1, sizeof *passes + count * sizeof *passes->cycles);
    costs->passes = passes;
    if (passes == NULL)
        return false;
    uint64_t *forward = passes->cycles + (n + 1) * num_samples;
    passes->num_samples = num_samples;
    passes->has_cuts = source->cut_cycles != NULL;
    passes->are_thirds = source->are_thirds;
    for (size_t i = 0; i < n * num_samples; ++i) {
        passes->cycles[num_samples + i] = passes->cycles[i] + source->cycles[i];
        forward[num_samples + i] = forward[i] + (source->are_thirds ? 0 : source->forward[i]);
    }
    if (passes->has_cuts)
        memcpy(forward + (n + 1) * num_samples, source->cut_cycles,
               (n + 1) * sizeof *source->cut_cycles);
    return true;
}

uint64_t pl_costs_forward(const popliner_costs *costs, size_t first_unit, size_t last_unit,
                          uint64_t *plain_cycles) {
    const pl_unit_passes *p = costs->passes;
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
        result = pl_passes_forward_of(p, n, first_unit, last_unit + 1, s);
    }
    const uint64_t all = popliner_costs_cycles(costs, first_unit, last_unit);
    const uint64_t transfers = p->has_cuts     ? cuts[first_unit] + cuts[last_unit + 1]
                               : all > slowest ? all - slowest
                                               : 0;
    *plain_cycles = slowest + transfers;
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
