/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_details.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* ---- The fullest tiles ----------------------------------------------------------------------- */

static bool is_larger(const pl_need_line *tile, const pl_need_line *other, size_t copies) {
    uint64_t bytes = pl_need_line_at(tile, copies);
    uint64_t other_bytes = pl_need_line_at(other, copies);
    if (bytes != other_bytes)
        return bytes > other_bytes;
    return tile->tile != other->tile ? tile->tile < other->tile
                                     : tile->copy_bytes < other->copy_bytes;
}

/* True if a line is above another one, or the first of equals, for some number of copies: as lines
 * cross once, for the most or the fewest. */
static bool is_larger_somewhere(const pl_need_line *tile, const pl_need_line *other,
                                size_t max_copies) {
    return is_larger(tile, other, 0) || is_larger(tile, other, max_copies);
}

void pl_peak_lines_add(pl_peak_lines *lines, pl_arrays *arrays, size_t max_copies,
                       const pl_need_line *tile) {
    size_t count = 0; /* of the others that stay */
    for (size_t i = 0; i < lines->count; i++)
        if (!is_larger_somewhere(tile, &lines->lines[i], max_copies))
            return;
    for (size_t i = 0; i < lines->count; i++)
        if (is_larger_somewhere(&lines->lines[i], tile, max_copies))
            lines->lines[count++] = lines->lines[i];
    lines->count = count;
    if (pl_arrays_grow(arrays, &lines->lines, count + 1, sizeof *tile))
        lines->lines[lines->count++] = *tile;
}

void pl_peak_envelope_list(pl_peak_envelope *tiles, pl_arrays *arrays, const pl_peak_lines *lines,
                           size_t num_intervals) {
    size_t count = 0;
    for (size_t i = 0; i < num_intervals; i++)
        count += lines[i].count;
    tiles->start = pl_arrays_new(arrays, num_intervals + 1, sizeof *tiles->start);
    tiles->pieces = pl_arrays_new(arrays, count, sizeof *tiles->pieces);
    tiles->num_intervals = num_intervals;
    for (size_t i = 0; !arrays->failed && i < num_intervals; i++) {
        for (size_t k = 0; k < lines[i].count; k++)
            tiles->pieces[tiles->num_pieces++] = lines[i].lines[k];
        tiles->start[i + 1] = tiles->num_pieces;
    }
}

bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps) {
    bool is_right = tiles->start[0] == 0 && tiles->start[tiles->num_intervals] == tiles->num_pieces;
    for (size_t i = 0; is_right && i < tiles->num_intervals; i++)
        is_right =
            tiles->start[i] < tiles->start[i + 1] && tiles->start[i + 1] <= tiles->num_pieces;
    for (size_t i = 0; is_right && i < tiles->num_pieces; i++)
        is_right = tiles->pieces[i].tile < num_tiles && tiles->pieces[i].step <= num_steps;
    return is_right;
}

const pl_need_line *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                          size_t copies) {
    const pl_need_line *found = NULL;
    for (uint64_t i = tiles->start[interval]; i < tiles->start[interval + 1]; i++)
        if (found == NULL || is_larger(&tiles->pieces[i], found, copies))
            found = &tiles->pieces[i];
    return found;
}

/* Sets the peaks of the costs for all stages of a pipeline of max_stages, or of the number that
 * copies are known for. */
static bool fill_peaks(const pl_peak_envelope *tiles, const pl_chain *chain,
                       const popliner_pipeline *pipeline, popliner_need need,
                       popliner_costs *costs) {
    size_t num_units = popliner_costs_num_units(costs);
    /* one position has that of every split if nothing is stored, as by a profile without
     * training */
    size_t max_stages = 1;
    while (max_stages < pipeline->max_stages && max_stages < num_units && tiles->max_copies > 0 &&
           pl_pipeline_keeps(pipeline) &&
           pl_pipeline_copies_for(pipeline, need, max_stages + 1) <= tiles->max_copies)
        max_stages++;
    if (!pl_costs_add_pipeline(costs, max_stages))
        return false;
    costs->follows_split = max_stages > 1 && pl_pipeline_follows_split(pipeline);
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++)
            for (size_t stages = 1; stages <= max_stages; stages++) {
                const size_t copies = pl_pipeline_copies_for(pipeline, need, stages);
                const pl_need_line *piece =
                    pl_peak_envelope_find(tiles, pl_triangle_place(num_units, first, last), copies);
                if (piece != NULL)
                    pl_costs_set_peak(costs, first, last, stages, pl_need_line_at(piece, copies));
            }
    for (size_t stages = 1;
         stages <= costs->max_stages_to_end && !pl_chain_has_operations(chain, 0); stages++)
        pl_costs_set_peak(costs, 0, 0, stages, POPLINER_PEAK_FORBIDDEN);
    return true;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static bool is_of_variables(const pl_field *field) {
    return field->item_size == sizeof(pl_detail_variables);
}

size_t pl_details_columns(const pl_field *field) {
    const bool is_of_other_needs =
        strcmp(field->name, "least_tiles") == 0 || strcmp(field->name, "most_tiles") == 0;
    return is_of_other_needs        ? 2
           : is_of_variables(field) ? field->item_size / sizeof(uint32_t)
                                    : field->item_size / sizeof(uint64_t);
}

uint64_t pl_details_number(const pl_field *field, size_t item, size_t column) {
    const char *at = (const char *)pl_field_items(field) + item * field->item_size;
    return is_of_variables(field) ? ((const uint32_t *)(const void *)at)[column]
                                  : ((const uint64_t *)(const void *)at)[column];
}

void pl_details_set_number(const pl_field *field, size_t item, size_t column, uint64_t number) {
    char *at = (char *)pl_field_items(field) + item * field->item_size;
    if (is_of_variables(field))
        ((uint32_t *)(void *)at)[column] = (uint32_t)number;
    else
        ((uint64_t *)(void *)at)[column] = number;
}

/* ---- Details of all stages ------------------------------------------------------------------- */

pl_stage_details *pl_details_new(size_t num_units) {
    pl_stage_details *details = calloc(1, sizeof *details);
    if (details == NULL)
        return NULL;
    details->num_units = num_units;
    details->cuts_bytes = pl_arrays_new(&details->arrays, num_units, sizeof *details->cuts_bytes);
    return details;
}

void pl_stage_details_free(pl_stage_details *details) {
    if (details != NULL)
        pl_arrays_free(&details->arrays);
    free(details);
}

bool pl_stage_details_are_large(size_t num_units) {
    const size_t bytes_each = sizeof(pl_detail_sums) +
                              POPLINER_NUM_NEEDS * (sizeof(pl_need_line) + sizeof(uint32_t)) +
                              sizeof(pl_detail_variables);
    return num_units >= 1 << 15 || pl_triangle_size(num_units) * bytes_each > (size_t)64 << 20;
}

size_t pl_details_fields(pl_stage_details *d, pl_field *fields) {
    pl_peak_envelope *expected = &d->largest[POPLINER_NEED_EXPECTED];
    pl_peak_envelope *least = &d->largest[POPLINER_NEED_LEAST];
    pl_peak_envelope *most = &d->largest[POPLINER_NEED_MOST];
    const pl_field all[PL_DETAILS_FIELDS] = {
        {"stage_sums", &d->sums, sizeof *d->sums, &expected->num_intervals, 0},
        {"expected_start", &expected->start, sizeof *expected->start, &expected->num_intervals, 1},
        {"expected_tiles", &expected->pieces, sizeof *expected->pieces, &expected->num_pieces, 0},
        {"least_start", &least->start, sizeof *least->start, &least->num_intervals, 1},
        {"least_tiles", &least->pieces, sizeof *least->pieces, &least->num_pieces, 0},
        {"most_start", &most->start, sizeof *most->start, &most->num_intervals, 1},
        {"most_tiles", &most->pieces, sizeof *most->pieces, &most->num_pieces, 0},
        {"largest_variables", &d->variables, sizeof *d->variables, &expected->num_pieces, 0},
        {"cuts_bytes", &d->cuts_bytes, sizeof *d->cuts_bytes, &d->num_units, 0},
    };
    memcpy(fields, all, sizeof all);
    return PL_DETAILS_FIELDS;
}

bool pl_details_check(const pl_stage_details *details, size_t num_units,
                      const popliner_profile *profile) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    if (num_units >= UINT32_MAX || details->num_units != num_units)
        return false;
    bool is_right = true;
    for (int need = 0; is_right && need < POPLINER_NUM_NEEDS; need++)
        is_right = details->largest[need].num_intervals == pl_triangle_size(num_units) &&
                   pl_peak_envelope_check(&details->largest[need], profile->target.num_tiles,
                                          profile->num_steps);
    for (size_t i = 0; is_right && i < largest->num_pieces; i++) {
        const pl_detail_variables *variables = &details->variables[i];
        is_right = variables->count <= POPLINER_DETAIL_VARIABLES;
        for (size_t k = 0; is_right && k < variables->count; k++)
            is_right = variables->category[k] < profile->num_categories &&
                       (variables->unlowered[k] == PL_NONE ||
                        variables->unlowered[k] < profile->num_unlowered);
    }
    return is_right;
}

pl_details_key pl_details_key_of(const popliner_pipeline *pipeline, bool is_training) {
    const pl_schedule_kind kind = is_training ? pl_pipeline_kind(pipeline) : PL_SCHEDULE_PLAIN;
    const bool keeps = is_training && pl_pipeline_keeps(pipeline);
    return (pl_details_key){
        .is_training = is_training,
        .effects = pipeline->effects,
        .kind = kind,
        .accumulators = kind == PL_SCHEDULE_PLAIN ? 0 : pipeline->accumulators,
        .stored = keeps ? 1 + (uint64_t)pl_pipeline_stored(pipeline) : 0,
        .frees_originals = keeps && pl_pipeline_frees_originals(pipeline, POPLINER_NEED_MOST),
    };
}

bool pl_details_serve(const pl_details_key *measured, const popliner_pipeline *wanted) {
    const pl_details_key key = pl_details_key_of(wanted, measured->is_training);
    const bool has_copies =
        key.is_training == 0 || !pl_pipeline_has_own_copies(wanted) ||
        pl_pipeline_copies(wanted, (size_t)measured->max_stages) <= measured->max_copies;
    const bool has_stash = measured->max_stages > 1 && key.stored == measured->stored &&
                           key.frees_originals == measured->frees_originals;
    return key.effects == measured->effects && key.kind == measured->kind &&
           key.accumulators == measured->accumulators && has_copies &&
           (key.stored == 0 || has_stash);
}

popliner_status pl_stage_details_costs(const pl_stage_details *details, const pl_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_need need,
                                       popliner_costs **result, popliner_error *error) {
    size_t num_units = details->num_units;
    popliner_costs *costs = NULL;
    popliner_pipeline own = *pipeline;
    *result = NULL;
    own.max_stages =
        pl_fewer(own.max_stages, (size_t)details->key.max_stages); /* if nothing is stored */
    popliner_status status = popliner_costs_create(num_units, 1, &costs, error);
    if (status == POPLINER_OK && details->largest[need].start != NULL &&
        !fill_peaks(&details->largest[need], chain, &own, need, costs))
        status = pl_fail_memory(error, "the costs of the intervals");
    if (status != POPLINER_OK) {
        popliner_costs_free(costs);
        return status;
    }
    for (size_t unit = 1; unit < num_units; unit++)
        pl_costs_set_cut(costs, unit, details->cuts_bytes[unit]);
    *result = costs;
    return POPLINER_OK;
}

void pl_detail_variables_name(const pl_detail_variables *variables, const popliner_profile *profile,
                              popliner_stage_detail *d) {
    d->num_variables = variables->count;
    for (size_t i = 0; i < variables->count; i++) {
        const uint32_t unlowered = variables->unlowered[i];
        d->variables[i] = (popliner_stage_variable){
            .variable = variables->variable[i],
            .size_bytes = variables->size_bytes[i],
            .name = unlowered == PL_NONE
                        ? ""
                        : pl_profile_string(profile, profile->unlowered_name[unlowered]),
            .category = pl_profile_string(profile, profile->category_name[variables->category[i]]),
        };
    }
}

void pl_stage_detail_set_tile(popliner_stage_detail *d, const pl_need_line *line, size_t copies) {
    uint64_t live_bytes; /* what is left */
    d->tile = (size_t)line->tile;
    d->step = (size_t)line->step;
    d->tile_bytes = live_bytes = pl_need_line_at(line, copies);
    d->tile_live_bytes = 0;
    d->tile_unexplained_bytes = line->unexplained_bytes;
    d->tile_stash_bytes = pl_need_line_stash(line, copies);
    d->tile_layout_bytes = pl_need_line_layout(line, copies);
    d->tile_always_live_bytes = line->always_live_bytes;
    d->tile_code_bytes = line->code_bytes;
    d->tile_buffer_bytes = line->buffer_bytes;
    d->tile_accumulator_bytes = line->accumulator_bytes;
    for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
        live_bytes -= pl_tile_part_bytes(d, part);
    d->tile_live_bytes = live_bytes;
}

/* Sets part_bytes[POPLINER_NUM_PARTS] to what sums are with so many copies. */
static void set_parts(const pl_detail_sums *sums, size_t copies, uint64_t *part_bytes) {
    const uint64_t *bytes = sums->bytes;
    memcpy(part_bytes, bytes, POPLINER_NUM_PARTS * sizeof *part_bytes);
    part_bytes[POPLINER_PART_STASH] *= copies;
    part_bytes[POPLINER_PART_LAYOUT] += copies * bytes[PL_SUM_COPY_LAYOUT];
    if (copies > 0) {
        part_bytes[POPLINER_PART_STASH] -= bytes[PL_SUM_FREED];
        part_bytes[POPLINER_PART_LAYOUT] -= bytes[PL_SUM_FREED_LAYOUT];
    }
}

popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage) {
    size_t copies = pipeline == NULL ? 0 : pl_pipeline_copies(pipeline, stage->stages_to_end);
    size_t place = pl_triangle_place(details->num_units, stage->first_unit, stage->last_unit);
    const pl_peak_envelope *expected = &details->largest[POPLINER_NEED_EXPECTED];
    const pl_need_line *largest = pl_peak_envelope_find(expected, place, copies);
    popliner_stage_detail d = {0};
    set_parts(&details->sums[place], copies, d.part_bytes);
    d.total_bytes = pl_parts_sum(d.part_bytes);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        size_t own_copies = pipeline == NULL ? 0
                                             : pl_pipeline_copies_for(pipeline, (popliner_need)need,
                                                                      stage->stages_to_end);
        const pl_need_line *piece =
            pl_peak_envelope_find(&details->largest[need], place, own_copies);
        d.need_bytes[need] = piece == NULL ? 0 : pl_need_line_at(piece, own_copies);
    }
    if (largest == NULL) /* there is no tile */
        return d;
    pl_stage_detail_set_tile(&d, largest, copies);
    pl_detail_variables_name(&details->variables[largest - expected->pieces], profile, &d);
    return d;
}
