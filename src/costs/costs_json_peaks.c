/* Fills the table of costs of popliner's own format from those of its units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/costs_json.h"
#include "costs/triangle.h"
#include "pipeline/moments.h"
#include "pipeline/pipeline.h"

/* ---- Peaks ----------------------------------------------------------------------------------- */

/* Returns the peak of a stage that needs memory[] and stores `copies` of kept[]. */
static uint64_t peak_of(const pl_additive_costs *additive, const uint64_t *memory,
                        const uint64_t *kept, size_t copies) {
    uint64_t peak_bytes = 0;
    for (size_t i = 0; i < additive->num_regions; ++i) {
        uint64_t bytes = memory[i] + copies * kept[i];
        if (bytes > additive->capacity_bytes[i])
            return POPLINER_PEAK_FORBIDDEN;
        peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
    }
    return peak_bytes;
}

/* Returns what a stage stores of a region for each copy, of the bytes of all its units: the inputs
 * instead of the stash if it recomputes; the larger of both if it holds what it recomputes. */
static uint64_t kept_of(const popliner_pipeline *pipeline, uint64_t stash, uint64_t inputs) {
    if (pipeline->recompute != POPLINER_RECOMPUTE_FULL)
        return stash;
    return pl_pipeline_holds_recomputed(pipeline) ? pl_larger(stash, inputs) : inputs;
}

/* Returns the inputs of a region of a stage with the units first ... end - 1. */
static uint64_t inputs_of(const pl_additive_costs *a, size_t region, size_t first, size_t end) {
    const size_t from = first * a->num_regions + region;
    return a->inputs_before == NULL
               ? a->inputs[from]
               : a->inputs_before[end * a->num_regions + region] - a->inputs_before[from];
}

/* Like kept_of, for the units first ... end - 1. Of stages that take turns that is the least: what
 * they recompute is counted moment by moment. */
static uint64_t kept_by(const pl_additive_costs *a, size_t region, size_t first, size_t end) {
    const size_t from = first * a->num_regions + region;
    if (a->pipeline.recompute == POPLINER_RECOMPUTE_FULL &&
        pl_copies_take_turns(&a->pipeline.copies))
        return inputs_of(a, region, first, end);
    return kept_of(&a->pipeline,
                   a->stash_before[end * a->num_regions + region] - a->stash_before[from],
                   inputs_of(a, region, first, end));
}

/* Gives the table lines if the pipeline's peaks differ from those of a single stage, or if they are
 * differences. */
static void begin_peaks(pl_costs_json *r, bool are_added) {
    popliner_costs *costs = r->file->costs;
    size_t max_stages = r->pipeline.max_stages == 0 ? SIZE_MAX : r->pipeline.max_stages;
    if (max_stages > r->num_units)
        max_stages = r->num_units;
    if (pl_pipeline_has_own_copies(&r->pipeline) &&
        max_stages > popliner_copies_max_stages(&r->pipeline.copies))
        max_stages = popliner_copies_max_stages(&r->pipeline.copies);
    if (max_stages == 1 && r->num_units > 1)
        max_stages = 2; /* a table for one stage has the same peak for every place */
    const bool has_places = r->has_kept && pl_pipeline_keeps(&r->pipeline) && max_stages >= 2;
    if (!has_places && !are_added)
        return;
    if (!has_places)
        max_stages = 1;
    size_t *copies = pl_arrays_new(&r->arrays, max_stages, sizeof *copies);
    if (!pl_costs_json_has(r, !r->arrays.failed))
        return;
    for (size_t i = 0; i < max_stages; ++i)
        copies[i] = pl_pipeline_copies(&r->pipeline, i + 1);
    if (!pl_costs_json_has(
            r, pl_costs_begin_lines(costs, are_added ? PL_NUMBERS_ADDED_UP : PL_NUMBERS_LISTED,
                                    copies, max_stages, r->num_regions,
                                    are_added ? NULL : r->file->additive.capacity_bytes)) ||
        !has_places)
        return;
    costs->follows_split = costs->follows_split || pl_pipeline_follows_split(&r->pipeline);
    if (costs->follows_split && r->num_regions == 1 &&
        r->pipeline.recompute == POPLINER_RECOMPUTE_FULL) {
        pl_peaks *peaks = &costs->peaks;
        peaks->sets_late = pl_copies_late(&r->pipeline.copies);
        peaks->kept_bytes = pl_numbers_new(&peaks->arrays, PL_NUMBERS_LISTED, r->num_units);
        pl_costs_json_has(r, !peaks->arrays.failed);
    }
}

/* Sets the peaks of an interval, in every place, that needs memory[num_regions] and stores copies
 * of kept[num_regions], or in some places of the inputs of the only region. */
static void set_peaks(pl_costs_json *r, size_t first, size_t last, const uint64_t *memory,
                      const uint64_t *kept, uint64_t inputs) {
    const pl_additive_costs *a = &r->file->additive;
    const pl_peaks *peaks = &r->file->costs->peaks;
    const size_t at = pl_triangle_place(r->num_units, first, last);
    if (peaks->lines == NULL)
        peaks->by_place[at] = peak_of(a, memory, kept, pl_pipeline_copies(&r->pipeline, 1));
    for (size_t i = 0; i < peaks->num_regions; ++i) {
        peaks->lines[i].bytes.listed[at] = memory[i];
        peaks->lines[i].copy_bytes.listed[at] = kept[i];
    }
    if (pl_costs_keep_sets(r->file->costs))
        peaks->kept_bytes.listed[at] = inputs;
}

/* Fails if reading should stop; true if nothing has failed. */
static bool goes_on(pl_costs_json *r) {
    if (pl_costs_json_is_well(r))
        r->json.outcome.status = pl_costs_file_ask(r->file, r->json.path, r->json.outcome.error);
    return pl_costs_json_is_well(r);
}

/* Returns the largest workspace of the units of a stage: stages on one device run in turn. */
static uint64_t workspace_of(const pl_additive_costs *a, const popliner_interval *stage) {
    uint64_t most = 0;
    for (size_t u = stage->first_unit; a->workspace != NULL && u <= stage->last_unit; ++u)
        most = pl_larger(most, a->workspace[u]);
    return most;
}

/* Returns the bytes of a region that units of stages on one IPU share. */
static uint64_t shared_bytes(const pl_additive_costs *a, size_t region,
                             const popliner_interval *stages, size_t num_stages) {
    uint64_t bytes = 0;
    for (size_t s = 0; region == 0 && s < num_stages; ++s)
        bytes = pl_larger(bytes, workspace_of(a, &stages[s]));
    for (size_t k = 0; k < a->num_shared; ++k) {
        const pl_shared_memory *shared = &a->shared[k];
        bool is_used = false;
        for (size_t s = 0, u = 0; !is_used && s < num_stages; ++s) {
            while (u < shared->num_units && shared->units[u] < stages[s].first_unit)
                ++u;
            is_used = u < shared->num_units && shared->units[u] <= stages[s].last_unit;
        }
        bytes += is_used ? shared->bytes[region] : 0;
    }
    return bytes;
}

uint64_t pl_costs_json_shared_bytes(const void *additive, const popliner_interval *stages,
                                    size_t num_stages) {
    return shared_bytes(additive, 0, stages, num_stages);
}

/* Bytes of a stage in a region: its memory, and what it keeps of a micro-batch in either way. */
typedef struct stage_bytes {
    uint64_t memory;
    uint64_t stash;
    uint64_t inputs;
} stage_bytes;

static stage_bytes bytes_of(const pl_additive_costs *a, size_t region,
                            const popliner_interval *stage) {
    const size_t width = a->num_regions;
    const size_t from = stage->first_unit * width + region;
    const size_t to = (stage->last_unit + 1) * width + region;
    return (stage_bytes){a->memory_before[to] - a->memory_before[from],
                         a->stash_before[to] - a->stash_before[from],
                         inputs_of(a, region, stage->first_unit, stage->last_unit + 1)};
}

static bool is_full(const pl_additive_costs *a) {
    return a->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
}

/* Returns what a stage, which recomputes everything or nothing, needs of a region at a moment of
 * its IPU; NULL: with all its copies. */
static uint64_t bytes_at(const pl_additive_costs *a, size_t region, const popliner_interval *stage,
                         const pl_held *moment) {
    const stage_bytes own = bytes_of(a, region, stage);
    const uint64_t kept = is_full(a) ? own.inputs : own.stash;
    pl_held held = moment == NULL ? pl_pipeline_held(&a->pipeline, stage->stages_to_end)
                                  : moment[pl_moments_chunk(&a->moments, stage->stages_to_end)];
    uint64_t without = 0;
    if (moment != NULL && !is_full(a))
        held = (pl_held){held.kept + held.sets, 0};
    if (moment != NULL && held.sets > 0)
        --held.sets; /* the memory has one */
    else if (moment != NULL && a->has_working_set && (is_full(a) || held.kept == 0))
        without = own.stash;
    else if (moment != NULL)
        held.kept = (uint32_t)pl_copies_of_held(&a->pipeline.copies, held.kept);
    return own.memory - without + held.kept * kept + held.sets * pl_larger(own.stash, kept);
}

/* A popliner_shared_peak_function. The need is that of the region in which stages on one IPU need
 * most: the memory of each unit, shared memory once, and what they store at the moment at which
 * they store most. */
static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const pl_additive_costs *a = &((const pl_costs_file *)user)->additive;
    size_t width = a->num_regions;
    size_t num_moments = 0;
    const pl_held *moments = pl_moments_of(&a->moments, stages[0].stages_to_end, &num_moments);
    uint64_t *bytes = pl_new_array(2 * width, sizeof *bytes); /* and those of all moments */
    if (bytes == NULL)
        return pl_fail_memory(error, "the memory of stages on one IPU");
    for (size_t i = 0; i < width; ++i)
        bytes[width + i] = shared_bytes(a, i, stages, num_stages);
    *peak_bytes = 0;
    for (size_t k = 0; k < pl_more(1, num_moments) && *peak_bytes != POPLINER_PEAK_FORBIDDEN; ++k) {
        const pl_held *moment = num_moments > 0 ? moments + k * a->moments.num_chunks : NULL;
        memcpy(bytes, bytes + width, width * sizeof *bytes);
        for (size_t s = 0; s < num_stages; ++s)
            for (size_t i = 0; i < width; ++i)
                bytes[i] += bytes_at(a, i, &stages[s], moment);
        *peak_bytes = pl_larger(*peak_bytes, peak_of(a, bytes, bytes, 0));
    }
    free(bytes);
    return POPLINER_OK;
}

/* Returns the region in which all units together need most. */
static size_t largest_region(const pl_additive_costs *a, size_t num_units) {
    const uint64_t *all = a->memory_before + num_units * a->num_regions;
    size_t largest = 0;
    for (size_t i = 1; i < a->num_regions; ++i)
        largest = all[i] > all[largest] ? i : largest;
    return largest;
}

/* A pl_peak_parts_function. It counts one region and one moment only: the peak is at least as many
 * bytes. */
static pl_peak_parts peak_parts(const void *user, const popliner_interval *stage) {
    const pl_costs_file *file = user;
    const pl_additive_costs *a = &file->additive;
    size_t region = largest_region(a, popliner_costs_num_units(file->costs));
    size_t num_moments = 0;
    const pl_held *moments = pl_moments_of(&a->moments, stage->stages_to_end, &num_moments);
    return (pl_peak_parts){bytes_at(a, region, stage, moments), shared_bytes(a, region, stage, 1)};
}

/* Whether units add up the peaks of stages. */
static bool peaks_add_up(const pl_costs_json *r) {
    const pl_additive_costs *a = &r->file->additive;
    return a->num_regions == 1 && a->capacity_bytes[0] == UINT64_MAX && a->num_arrivals == 0 &&
           !pl_pipeline_holds_recomputed(&r->pipeline);
}

static void add_up_peaks(pl_costs_json *r, bool recomputes) {
    const pl_additive_costs *a = &r->file->additive;
    const pl_region_lines *lines = r->file->costs->peaks.lines;
    for (size_t unit = 0; unit <= r->num_units; ++unit) {
        lines->bytes.added.ends[unit] = a->memory_before[unit];
        lines->copy_bytes.added.ends[unit] = recomputes ? 0 : a->stash_before[unit];
        if (unit == r->num_units)
            break;
        lines->bytes.added.begins[unit] = a->memory_before[unit];
        /* the inputs of its first unit are all that a stage stores */
        lines->copy_bytes.added.begins[unit] =
            recomputes ? 0 - a->inputs[unit] : a->stash_before[unit];
    }
}

/* True if a stage takes the cycles of recomputation. Working sets are stored, but do not make the
 * last stage recompute. */
static bool recomputes_stage(const pl_costs_json *r, size_t first, size_t last) {
    const bool is_last = last + 1 == r->num_units;
    if (r->recomputes_units) /* their cycles include it */
        return false;
    return pl_pipeline_recomputes(&r->pipeline, first == 0, is_last) ||
           (!is_last && r->num_working_sets > 0 &&
            r->pipeline.recompute == POPLINER_RECOMPUTE_FULL);
}

/* Whether units and cuts add up the cycles of stages: one sample, and nothing is recomputed, which
 * the last stage does not. */
static bool cycles_add_up(const pl_costs_json *r) {
    bool is_so = true;
    for (size_t unit = 0; unit < r->num_units; ++unit)
        is_so = is_so && r->recompute_cycles[unit] == 0;
    return r->num_samples == 1 && (is_so || !recomputes_stage(r, 0, 0));
}

static void add_up_cycles(pl_costs_json *r) {
    popliner_costs *costs = r->file->costs;
    const pl_differences *own = &costs->cycles.added;
    uint64_t before = 0;
    costs->cycles = pl_numbers_new(&costs->arrays, PL_NUMBERS_ADDED_UP, r->num_units);
    pl_costs_json_has(r, !costs->arrays.failed);
    for (size_t unit = 0; pl_costs_json_is_well(r) && unit <= r->num_units; ++unit) {
        own->ends[unit] = before + r->cut_cycles[unit];
        if (unit == r->num_units)
            break;
        own->begins[unit] = before - r->cut_cycles[unit];
        before += r->cycles[unit];
    }
}

/* Sets the peaks, the cycles, or both, of every interval. */
static void fill_triangles(pl_costs_json *r, bool fills_peaks, bool fills_cycles) {
    const pl_additive_costs *a = &r->file->additive;
    const size_t width = r->num_regions;
    uint64_t *kept = r->region_bytes;
    uint64_t *sums = pl_new_array(r->num_samples, sizeof *sums); /* of the cycles of each sample */
    pl_costs_json_has(r, sums != NULL);
    for (size_t first = 0; first < r->num_units && goes_on(r); ++first) {
        memset(sums, 0, r->num_samples * sizeof *sums);
        uint64_t more_cycles = 0; /* of recomputation */
        pl_interval_sums_begin(&r->sums);
        for (size_t last = first; last < r->num_units; ++last) {
            for (size_t i = 0; i < width; ++i)
                kept[i] = kept_by(a, i, first, last + 1);
            if (fills_peaks)
                set_peaks(r, first, last, pl_interval_sums_extend(&r->sums), kept,
                          inputs_of(a, 0, first, last + 1));
            uint64_t cycles = 0; /* of the slowest sample */
            for (size_t s = 0; s < r->num_samples; ++s) {
                sums[s] += r->cycles[last * r->num_samples + s];
                cycles = sums[s] > cycles ? sums[s] : cycles;
            }
            more_cycles += r->recompute_cycles[last];
            const bool adds = recomputes_stage(r, first, last);
            if (fills_cycles)
                pl_costs_set_cycles(r->file->costs, first, last,
                                    cycles + (adds ? more_cycles : 0) + r->cut_cycles[first] +
                                        r->cut_cycles[last + 1]);
        }
    }
    free(sums);
}

/* Prepares the cycles of every interval. */
static void begin_cycles(pl_costs_json *r) {
    if (pl_costs_json_is_well(r))
        r->json.outcome.status = pl_costs_add_cycles(r->file->costs, r->json.outcome.error);
}

void pl_costs_json_fill_additive(pl_costs_json *r) {
    const pl_additive_costs *a = &r->file->additive;
    popliner_costs *costs = r->file->costs;
    const bool recomputes = r->pipeline.recompute == POPLINER_RECOMPUTE_FULL;
    for (size_t i = 0; i < r->num_units * r->num_regions; ++i) {
        const size_t unit = i / r->num_regions;
        const stage_bytes own =
            bytes_of(a, i % r->num_regions, &(popliner_interval){unit, unit, 1});
        r->has_kept = r->has_kept || kept_of(&r->pipeline, own.stash, own.inputs) > 0;
    }
    r->has_kept = r->has_kept || r->pipeline.recompute == POPLINER_RECOMPUTE_AUTO;
    const bool fills_peaks = !peaks_add_up(r);
    const bool fills_cycles = r->has_cycles && !cycles_add_up(r);
    r->file->additive.has_working_set = r->num_working_sets > 0;
    if (goes_on(r))
        pl_costs_json_has(r, pl_moments_create(&r->file->additive.moments, &r->pipeline, 0));
    if (goes_on(r))
        begin_peaks(r, !fills_peaks);
    if (pl_costs_json_is_well(r) && !fills_peaks)
        add_up_peaks(r, recomputes);
    if (fills_cycles)
        begin_cycles(r);
    else if (pl_costs_json_is_well(r) && r->has_cycles)
        add_up_cycles(r);
    if (fills_peaks || fills_cycles)
        fill_triangles(r, fills_peaks, fills_cycles);
    /* a stage that begins earlier may have smaller inputs */
    popliner_costs_set_shared_peak(costs, shared_peak, r->file, !recomputes);
    costs->peak_parts = peak_parts;
    costs->shared_peak_is_quick = true;
}
