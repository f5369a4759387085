/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "costs/triangle.h"
#include "pipeline/pipeline.h"

pl_need_line pl_stage_tile_need(const pl_estimation *estimation, popliner_need need,
                                const pl_overhead *layout, const pl_stage_tile *tile,
                                const pl_tile_stash *stash) {
    const pl_live_peak *peak = pl_stage_tile_peak(estimation, need, tile);
    pl_placed_bytes placed = tile->steady.placed;
    placed.freed = estimation->frees[need] ? stash->freed_bytes : 0;
    uint64_t bytes = peak->bytes + peak->buffer_bytes + pl_steady_sum(&tile->steady, need);
    if (need == POPLINER_NEED_LEAST)
        bytes -= peak->unexplained_bytes;
    return pl_need_of(&estimation->rule, need, layout, bytes, placed, stash->bytes);
}

/* Returns the largest number of copies, 0 without training; with details, that of every
 * schedule. */
static size_t most_copies(const pl_estimation *estimation, popliner_need need, bool with_details) {
    if (!estimation->is_training)
        return 0;
    const size_t own = pl_pipeline_copies_for(&estimation->pipeline, need, estimation->max_stages);
    const size_t any = with_details ? pl_most_copies(estimation->max_stages) : 0;
    return own > any ? own : any;
}

void pl_stage_table_begin(pl_stage_table *table, const pl_estimation *estimation, size_t num_units,
                          const pl_table_request *request) {
    const size_t num_intervals = pl_triangle_size(num_units);
    pl_arrays *own = &table->arrays;
    table->estimation = estimation;
    table->num_units = num_units;
    table->request = *request;
    table->allowed_end = pl_arrays_new(own, num_units, sizeof *table->allowed_end);
    if (request->needs[POPLINER_NEED_MOST] && estimation->rule.has_needs)
        table->spreads = pl_arrays_new(own, num_intervals, sizeof *table->spreads);
    if (request->with_details)
        table->sums = pl_new_array(num_intervals, sizeof *table->sums);
    own->failed = own->failed || (request->with_details && table->sums == NULL);
    for (int need = 0; !own->failed && need < POPLINER_NUM_NEEDS; need++)
        if (request->needs[need])
            own->failed = !pl_peak_envelope_begin(
                &table->largest[need], num_intervals,
                most_copies(estimation, (popliner_need)need, request->with_details));
    for (size_t unit = 0; !own->failed && unit < num_units; unit++)
        table->allowed_end[unit] = num_units;
}

void pl_stage_table_free(pl_stage_table *table) {
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        pl_peak_envelope_free(&table->largest[need]);
    free(table->sums);
    pl_arrays_free(&table->arrays);
    *table = (pl_stage_table){0};
}

static void add_piece(pl_stage_table *table, popliner_need need, size_t interval,
                      const pl_peak_piece *piece) {
    table->arrays.failed =
        table->arrays.failed || !pl_peak_envelope_add(&table->largest[need], interval, piece);
}

/* A stage on a tile. */
typedef struct entry {
    size_t interval;
    size_t tile;
    const pl_overhead *layout;
    const pl_stage_tile *measured;
    const pl_tile_stash *stash;
} entry;

/* Adds an estimate of a tile to that of a stage. */
static void add_need(pl_stage_table *table, popliner_need need, const entry *e,
                     const pl_need_line *line) {
    const pl_live_peak *peak = pl_stage_tile_peak(table->estimation, need, e->measured);
    const pl_steady_bytes *steady = &e->measured->steady;
    pl_peak_piece piece = {
        .bytes = line->bytes,
        .stash_bytes = line->copy_bytes,
        .unexplained_bytes =
            steady->fixed_bytes + (need == POPLINER_NEED_LEAST ? 0 : peak->unexplained_bytes),
        .layout_bytes = line->bytes - line->live_bytes,
        .copy_layout_bytes = line->copy_bytes - line->live_copy_bytes,
        .freed_bytes = line->freed_bytes,
        .always_live_bytes = steady->data_bytes,
        .code_bytes = steady->all_code_bytes,
        .buffer_bytes = peak->buffer_bytes,
        .tile = (uint32_t)e->tile,
        .step = (uint32_t)peak->step,
    };
    memcpy(piece.added_bytes, steady->added_bytes, sizeof piece.added_bytes);
    pl_peak_piece level = piece;
    level.bytes = line->level_bytes;
    level.layout_bytes = line->level_bytes - line->level_live_bytes;
    level.stash_bytes = level.copy_layout_bytes = level.freed_bytes = 0;
    /* a separate line, below the other one with any copies; the first of equals counts */
    if (line->freed_bytes > 0)
        add_piece(table, need, e->interval, &level);
    add_piece(table, need, e->interval, &piece);
}

/* Adds a tile with its expected memory to the sums of a stage. */
static void add_sums(pl_stage_table *table, const entry *e, const pl_need_line *line) {
    const pl_live_peak *peak =
        pl_stage_tile_peak(table->estimation, POPLINER_NEED_EXPECTED, e->measured);
    const pl_steady_bytes *steady = &e->measured->steady;
    const uint64_t layout_bytes = line->level_bytes - line->level_live_bytes;
    pl_detail_sums own = {{
        [POPLINER_PART_VARIABLES] = peak->bytes - peak->unexplained_bytes + steady->data_bytes,
        [POPLINER_PART_UNEXPLAINED] = peak->unexplained_bytes + steady->fixed_bytes,
        [POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] = steady->fixed_bytes,
        [POPLINER_PART_STASH] = e->stash->bytes,
        [POPLINER_PART_BUFFERS] = peak->buffer_bytes,
        [POPLINER_PART_LAYOUT] = layout_bytes,
        [PL_SUM_COPY_LAYOUT] = line->copy_bytes - line->live_copy_bytes,
        [PL_SUM_FREED] = line->freed_bytes,
        [PL_SUM_FREED_LAYOUT] = layout_bytes - (line->bytes - line->live_bytes),
    }};
    memcpy(own.bytes + PL_FIRST_CODE, steady->code_bytes, sizeof steady->code_bytes);
    memcpy(own.bytes + PL_FIRST_ADDED, steady->added_bytes, sizeof steady->added_bytes);
    pl_detail_sums_add(&table->sums[e->interval], &own, 1);
}

/* True if the stage and every longer one exceed the limit on the tile, by parts that never decrease
 * when a stage grows. */
static bool is_too_much(const pl_stage_table *table, const entry *e) {
    const pl_estimation *estimation = table->estimation;
    const popliner_need need = table->request.need;
    if (table->request.max_bytes == UINT64_MAX ||
        (need == POPLINER_NEED_LEAST &&
         estimation->evaluation.digest->tiles[e->tile].has_unexplained))
        return false;
    const pl_stage_tile plain = {e->measured->steady, e->measured->plain, e->measured->plain};
    const pl_tile_stash kept = {e->stash->bytes, 0};
    return pl_stage_tile_need(estimation, need, e->layout, &plain, e->stash).bytes >
               table->request.max_bytes &&
           pl_stage_tile_need(estimation, need, e->layout, &plain, &kept).bytes >
               table->request.max_bytes;
}

void pl_stage_table_add(pl_stage_table *table, size_t first_unit, size_t last_unit, size_t tile,
                        const pl_overhead *layout, const pl_stage_tile *measured,
                        const pl_tile_stash *stash) {
    assert(first_unit <= last_unit && last_unit < table->num_units);
    const pl_estimation *estimation = table->estimation;
    const size_t interval = pl_triangle_place(table->num_units, first_unit, last_unit);
    const entry e = {interval, tile, layout, measured, stash};
    if (is_too_much(table, &e)) {
        table->allowed_end[first_unit] = last_unit;
        return;
    }
    for (int i = 0; i < POPLINER_NUM_NEEDS; i++) {
        const popliner_need need = (popliner_need)i;
        const bool is_expected = need == POPLINER_NEED_EXPECTED;
        if (!table->request.needs[need] &&
            (!is_expected || (table->sums == NULL && table->tile_needs == NULL)))
            continue;
        const pl_need_line line = pl_stage_tile_need(estimation, need, layout, measured, stash);
        if (is_expected && table->sums != NULL)
            add_sums(table, &e, &line);
        if (is_expected && table->tile_needs != NULL)
            table->tile_needs[tile * pl_triangle_size(table->num_units) + interval] =
                (pl_tile_need){line.level_bytes, line.level_bytes - line.bytes, line.copy_bytes,
                               measured->steady.all_code_bytes};
        if (need == POPLINER_NEED_MOST && table->spreads != NULL)
            pl_need_spread_add(&table->spreads[interval], &line);
        if (table->request.needs[need])
            add_need(table, need, &e, &line);
    }
}

void pl_stage_table_end_tile(pl_stage_table *table) {
    for (size_t first = table->num_units - 1; first-- > 0;)
        table->allowed_end[first] =
            pl_fewer(table->allowed_end[first], table->allowed_end[first + 1]);
}

void pl_stage_table_merge(pl_stage_table *table, const pl_stage_table *other) {
    const size_t num_intervals = pl_triangle_size(table->num_units);
    for (size_t first = 0; first < table->num_units; first++)
        table->allowed_end[first] = pl_fewer(table->allowed_end[first], other->allowed_end[first]);
    if (table->sums != NULL)
        pl_detail_sums_add(table->sums, other->sums, num_intervals);
    for (size_t i = 0; table->spreads != NULL && i < num_intervals; i++)
        pl_need_spread_join(&table->spreads[i], &other->spreads[i]);
    for (int need = 0; !table->arrays.failed && need < POPLINER_NUM_NEEDS; need++)
        if (table->request.needs[need])
            table->arrays.failed =
                !pl_peak_envelope_merge(&table->largest[need], &other->largest[need]);
}

void pl_stage_table_finish(pl_stage_table *table, size_t num_tiles) {
    for (size_t i = 0; table->spreads != NULL && i < pl_triangle_size(table->num_units); i++) {
        const pl_need_line any =
            pl_need_spread_line(&table->spreads[i], &table->estimation->rule, num_tiles);
        const pl_peak_piece level = {.bytes = any.level_bytes};
        const pl_peak_piece piece = {.bytes = any.bytes, .stash_bytes = any.copy_bytes};
        if (any.level_bytes != any.bytes)
            add_piece(table, POPLINER_NEED_MOST, i, &level);
        add_piece(table, POPLINER_NEED_MOST, i, &piece);
    }
}
