/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_details.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* ---- The fullest tiles ----------------------------------------------------------------------- */

pl_peak_envelope pl_peak_envelope_begin(pl_arrays *arrays, size_t num_intervals,
                                        size_t max_copies) {
    pl_peak_envelope tiles = {
        .max_copies = max_copies, .num_intervals = num_intervals, .arrays = arrays};
    tiles.first = pl_arrays_new(arrays, num_intervals, sizeof *tiles.first);
    for (size_t i = 0; tiles.first != NULL && i < num_intervals; i++)
        tiles.first[i] = PL_NONE;
    return tiles;
}

/* Returns the index of a new piece; PL_NONE after a failure. */
static uint64_t add_piece(pl_peak_envelope *tiles, const pl_peak_piece *piece) {
    tiles->arrays->failed = tiles->arrays->failed || tiles->num_pieces >= PL_NONE;
    if (!pl_arrays_grow(tiles->arrays, &tiles->pieces, tiles->num_pieces + 1, sizeof *piece))
        return PL_NONE;
    tiles->pieces[tiles->num_pieces] = *piece;
    return tiles->num_pieces++;
}

uint64_t pl_peak_piece_bytes(const pl_peak_piece *tile, size_t copies) {
    return tile->bytes + copies * tile->stash_bytes;
}

static bool is_larger(const pl_peak_piece *tile, const pl_peak_piece *other, size_t copies) {
    uint64_t bytes = pl_peak_piece_bytes(tile, copies);
    uint64_t other_bytes = pl_peak_piece_bytes(other, copies);
    if (bytes != other_bytes)
        return bytes > other_bytes;
    return tile->tile != other->tile ? tile->tile < other->tile
                                     : tile->stash_bytes < other->stash_bytes;
}

/* True if a line is above another one, or the first of equals, for some number of copies: as lines
 * cross once, for the most or the fewest. */
static bool is_larger_somewhere(const pl_peak_envelope *tiles, const pl_peak_piece *tile,
                                const pl_peak_piece *other) {
    return is_larger(tile, other, 0) || is_larger(tile, other, tiles->max_copies);
}

void pl_peak_envelope_add(pl_peak_envelope *tiles, size_t interval, const pl_peak_piece *tile) {
    uint64_t own = PL_NONE;
    if (tiles->arrays->failed)
        return;
    for (uint64_t *link = &tiles->first[interval]; *link != PL_NONE;) {
        pl_peak_piece *it = &tiles->pieces[*link];
        if (!is_larger_somewhere(tiles, tile, it))
            return;
        if (is_larger_somewhere(tiles, it, tile)) {
            link = &it->next;
        } else if (own == PL_NONE) { /* takes its place */
            const uint64_t next = it->next;
            own = *link;
            *it = *tile;
            it->next = next;
            link = &it->next;
        } else {
            *link = it->next;
        }
    }
    if (own != PL_NONE || (own = add_piece(tiles, tile)) == PL_NONE)
        return;
    tiles->pieces[own].next = tiles->first[interval];
    tiles->first[interval] = own;
}

void pl_peak_envelope_merge(pl_peak_envelope *tiles, const pl_peak_envelope *from) {
    assert(from->num_intervals == tiles->num_intervals && from->max_copies == tiles->max_copies);
    if (from->arrays->failed)
        tiles->arrays->failed = true;
    for (size_t interval = 0; !tiles->arrays->failed && interval < tiles->num_intervals; interval++)
        for (uint64_t i = from->first[interval]; i != PL_NONE; i = from->pieces[i].next)
            pl_peak_envelope_add(tiles, interval, &from->pieces[i]);
}

/* Returns the smallest number of copies above `low`, up to `end`, for which a line is larger than
 * one that is the largest with `low` copies; `end` if it never is. */
static size_t first_larger(const pl_peak_piece *tile, const pl_peak_piece *largest, size_t low,
                           size_t end) {
    if (end - low < 2 || !is_larger(tile, largest, end - 1))
        return end;
    size_t high = end - 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (is_larger(tile, largest, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Adds the pieces of a stage to packed ones. */
static void pack_stage(const pl_peak_envelope *tiles, size_t interval, pl_peak_envelope *packed) {
    const uint64_t first = tiles->first[interval];
    const size_t end = tiles->max_copies + 1;
    packed->first[interval] = first == PL_NONE ? PL_NONE : packed->num_pieces;
    for (size_t copies = first == PL_NONE ? end : 0; copies < end;) {
        const pl_peak_piece *largest = &tiles->pieces[first];
        size_t next = end;
        for (uint64_t i = largest->next; i != PL_NONE; i = tiles->pieces[i].next)
            if (is_larger(&tiles->pieces[i], largest, copies))
                largest = &tiles->pieces[i];
        for (uint64_t i = first; i != PL_NONE; i = tiles->pieces[i].next)
            next = first_larger(&tiles->pieces[i], largest, copies, next);
        pl_peak_piece piece = *largest;
        assert(copies < next && next <= end);
        piece.from_copies = copies;
        piece.next = next < end ? packed->num_pieces + 1 : PL_NONE;
        add_piece(packed, &piece);
        copies = next;
    }
}

pl_peak_envelope pl_peak_envelope_pack(const pl_peak_envelope *tiles, pl_arrays *arrays) {
    pl_peak_envelope packed =
        pl_peak_envelope_begin(arrays, tiles->num_intervals, tiles->max_copies);
    arrays->failed = arrays->failed || tiles->arrays->failed;
    for (size_t interval = 0; !arrays->failed && interval < tiles->num_intervals; interval++)
        pack_stage(tiles, interval, &packed);
    return packed;
}

bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps) {
    size_t count = 0;
    for (size_t interval = 0; interval < tiles->num_intervals; interval++) {
        uint64_t least_copies = 0;
        if (count >= tiles->num_pieces || tiles->first[interval] != count)
            return false;
        for (bool goes_on = true; goes_on; count++) {
            const pl_peak_piece *piece = &tiles->pieces[count];
            goes_on = piece->next != PL_NONE;
            if (piece->tile >= num_tiles || piece->step > num_steps ||
                piece->from_copies < least_copies ||
                (least_copies == 0 && piece->from_copies > 0) ||
                piece->from_copies > tiles->max_copies ||
                (goes_on && (piece->next != count + 1 || count + 1 >= tiles->num_pieces)))
                return false;
            least_copies = piece->from_copies + 1;
        }
    }
    return count == tiles->num_pieces;
}

const pl_peak_piece *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                           size_t copies) {
    const pl_peak_piece *found = NULL;
    for (uint64_t i = tiles->first[interval];
         i != PL_NONE && tiles->pieces[i].from_copies <= copies; i = tiles->pieces[i].next)
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
                const pl_peak_piece *piece =
                    pl_peak_envelope_find(tiles, pl_triangle_place(num_units, first, last), copies);
                if (piece != NULL)
                    pl_costs_set_peak(costs, first, last, stages,
                                      pl_peak_piece_bytes(piece, copies));
            }
    for (size_t stages = 1;
         stages <= costs->max_stages_to_end && !pl_chain_has_operations(chain, 0); stages++)
        pl_costs_set_peak(costs, 0, 0, stages, POPLINER_PEAK_FORBIDDEN);
    return true;
}

/* ---- Columns --------------------------------------------------------------------------------- */

const char *pl_detail_sums_column(size_t number) {
    static const char *const others[] = {"copy_layout_bytes", "freed_bytes", "freed_layout_bytes"};
    _Static_assert(PL_NUM_DETAIL_SUMS == POPLINER_NUM_PARTS + sizeof others / sizeof *others,
                   "all");
    return number < POPLINER_NUM_PARTS ? pl_parts[number].column
                                       : others[number - POPLINER_NUM_PARTS];
}

static const char *const piece_columns[] = {
    "from_copies",  "bytes",
    "stash_bytes",  "unexplained_bytes",
    "layout_bytes", "copy_layout_bytes",
    "freed_bytes",  "always_live_bytes",
    "code_bytes",   "buffer_bytes",
    "tile",         "step",
};
enum { NUM_PIECE_COLUMNS = sizeof piece_columns / sizeof *piece_columns, OF_ANY_NEED = 3 };
_Static_assert(offsetof(pl_peak_piece, added_bytes) == NUM_PIECE_COLUMNS * sizeof(uint64_t),
               "the columns are in its order");

const char *pl_peak_piece_column(size_t number) {
    return number < NUM_PIECE_COLUMNS
               ? piece_columns[number]
               : pl_parts[PL_FIRST_ADDED + number - NUM_PIECE_COLUMNS].column;
}

size_t pl_peak_piece_columns(popliner_need need) {
    return need == POPLINER_NEED_EXPECTED ? NUM_PIECE_COLUMNS + PL_NUM_ADDED : OF_ANY_NEED;
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

size_t pl_stage_details_size(size_t num_units) {
    const size_t bytes_each = sizeof(pl_detail_sums) +
                              POPLINER_NUM_NEEDS * (sizeof(pl_peak_piece) + sizeof(uint32_t)) +
                              sizeof(pl_detail_variables);
    if (num_units > (size_t)1 << (sizeof(size_t) * 2))
        return SIZE_MAX;
    return pl_triangle_size(num_units) * bytes_each;
}

void pl_detail_sums_add(pl_detail_sums *sums, const pl_detail_sums *others, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < PL_NUM_DETAIL_SUMS; k++)
            sums[i].bytes[k] += others[i].bytes[k];
}

size_t pl_details_fields(pl_stage_details *d, pl_field *fields) {
    pl_peak_envelope *expected = &d->largest[POPLINER_NEED_EXPECTED];
    pl_peak_envelope *least = &d->largest[POPLINER_NEED_LEAST];
    pl_peak_envelope *most = &d->largest[POPLINER_NEED_MOST];
    const pl_field all[PL_DETAILS_FIELDS] = {
        {"stage_sums", &d->sums, sizeof *d->sums, &expected->num_intervals, 0},
        {"expected_first", &expected->first, sizeof *expected->first, &expected->num_intervals, 0},
        {"expected_tiles", &expected->pieces, sizeof *expected->pieces, &expected->num_pieces, 0},
        {"least_first", &least->first, sizeof *least->first, &least->num_intervals, 0},
        {"least_tiles", &least->pieces, sizeof *least->pieces, &least->num_pieces, 0},
        {"most_first", &most->first, sizeof *most->first, &most->num_intervals, 0},
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

bool pl_details_serve(const pl_details_key *measured, const popliner_pipeline *wanted) {
    const popliner_pipeline *own = &measured->pipeline;
    pl_schedule_kind kind = pl_pipeline_kind(wanted);
    if (own->effects != wanted->effects)
        return false;
    if (!measured->is_training)
        return true;
    /* at most the copies that fullest tiles are known for: those of any schedule, and its own */
    size_t most = pl_most_copies(own->max_stages);
    if (pl_pipeline_has_own_copies(own) && pl_pipeline_copies(own, own->max_stages) > most)
        most = pl_pipeline_copies(own, own->max_stages);
    if (pl_pipeline_has_own_copies(wanted) && pl_pipeline_copies(wanted, own->max_stages) > most)
        return false;
    return kind == pl_pipeline_kind(own) &&
           (kind == PL_SCHEDULE_PLAIN || own->accumulators == wanted->accumulators) &&
           (!pl_pipeline_keeps(wanted) ||
            (own->max_stages > 1 && pl_pipeline_stored(own) == pl_pipeline_stored(wanted) &&
             pl_pipeline_frees_originals(own, POPLINER_NEED_MOST) ==
                 pl_pipeline_frees_originals(wanted, POPLINER_NEED_MOST)));
}

popliner_status pl_stage_details_costs(const pl_stage_details *details, const pl_chain *chain,
                                       const popliner_pipeline *pipeline, popliner_need need,
                                       popliner_costs **result, popliner_error *error) {
    size_t num_units = details->num_units;
    popliner_costs *costs = NULL;
    popliner_pipeline own = *pipeline;
    *result = NULL;
    if (own.max_stages > details->key.pipeline.max_stages) /* if nothing is stored */
        own.max_stages = details->key.pipeline.max_stages;
    popliner_status status = popliner_costs_create(num_units, 1, &costs, error);
    if (status == POPLINER_OK && details->largest[need].first != NULL &&
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
                              popliner_stage_variable *named) {
    for (size_t i = 0; i < variables->count; i++) {
        const uint32_t unlowered = variables->unlowered[i];
        named[i] = (popliner_stage_variable){
            .variable = variables->variable[i],
            .size_bytes = variables->size_bytes[i],
            .name = unlowered == PL_NONE
                        ? ""
                        : pl_profile_string(profile, profile->unlowered_name[unlowered]),
            .category = pl_profile_string(profile, profile->category_name[variables->category[i]]),
        };
    }
}

popliner_stage_detail pl_stage_details_get(const pl_stage_details *details,
                                           const popliner_profile *profile,
                                           const popliner_pipeline *pipeline,
                                           const popliner_interval *stage) {
    size_t copies = pipeline == NULL ? 0 : pl_pipeline_copies(pipeline, stage->stages_to_end);
    size_t place = pl_triangle_place(details->num_units, stage->first_unit, stage->last_unit);
    const uint64_t *sums = details->sums[place].bytes;
    const pl_peak_envelope *expected = &details->largest[POPLINER_NEED_EXPECTED];
    const pl_peak_piece *largest = pl_peak_envelope_find(expected, place, copies);
    popliner_stage_detail d = {0};
    memcpy(d.part_bytes, sums, sizeof d.part_bytes);
    d.part_bytes[POPLINER_PART_STASH] *= copies;
    d.part_bytes[POPLINER_PART_LAYOUT] += copies * sums[PL_SUM_COPY_LAYOUT];
    if (copies > 0) {
        d.part_bytes[POPLINER_PART_STASH] -= sums[PL_SUM_FREED];
        d.part_bytes[POPLINER_PART_LAYOUT] -= sums[PL_SUM_FREED_LAYOUT];
    }
    d.total_bytes = pl_parts_sum(d.part_bytes);
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++) {
        size_t own_copies = pipeline == NULL ? 0
                                             : pl_pipeline_copies_for(pipeline, (popliner_need)need,
                                                                      stage->stages_to_end);
        const pl_peak_piece *piece =
            pl_peak_envelope_find(&details->largest[need], place, own_copies);
        d.need_bytes[need] = piece == NULL ? 0 : pl_peak_piece_bytes(piece, own_copies);
    }
    if (largest == NULL) /* there is no tile */
        return d;
    d.tile = (size_t)largest->tile;
    d.tile_bytes = d.need_bytes[POPLINER_NEED_EXPECTED];
    d.tile_unexplained_bytes = largest->unexplained_bytes;
    d.tile_stash_bytes =
        copies * (largest->stash_bytes - largest->copy_layout_bytes) - largest->freed_bytes;
    d.tile_layout_bytes = largest->layout_bytes + copies * largest->copy_layout_bytes;
    d.tile_always_live_bytes = largest->always_live_bytes;
    d.tile_code_bytes = largest->code_bytes;
    d.tile_buffer_bytes = largest->buffer_bytes;
    for (int i = 0; i < PL_NUM_ADDED; i++)
        *pl_tile_bytes_at(&d, pl_parts[PL_FIRST_ADDED + i].tile_place) = largest->added_bytes[i];
    uint64_t live_bytes = d.tile_bytes; /* what is left */
    for (size_t part = 0; part < PL_NUM_TILE_PARTS; part++)
        live_bytes -= pl_tile_part_bytes(&d, part);
    d.tile_live_bytes = live_bytes;
    d.step = (size_t)largest->step;
    const pl_detail_variables *variables = &details->variables[largest - expected->pieces];
    d.num_variables = variables->count;
    pl_detail_variables_name(variables, profile, d.variables);
    return d;
}
