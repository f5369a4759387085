/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/peak_envelope.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "memory/chain_data.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

bool pl_peak_envelope_begin(pl_peak_envelope *tiles, size_t num_intervals, size_t max_copies) {
    tiles->max_copies = max_copies;
    tiles->num_intervals = num_intervals;
    tiles->unused = PL_NONE;
    tiles->first = pl_new_array(num_intervals, sizeof *tiles->first);
    for (size_t i = 0; tiles->first != NULL && i < num_intervals; i++)
        tiles->first[i] = PL_NONE;
    return tiles->first != NULL;
}

void pl_peak_envelope_free(pl_peak_envelope *tiles) {
    free(tiles->first);
    free(tiles->pieces);
    *tiles = (pl_peak_envelope){0};
}

uint64_t pl_peak_piece_bytes(const pl_peak_piece *tile, size_t copies) {
    return tile->bytes + copies * tile->stash_bytes;
}

static bool is_larger(const pl_peak_piece *tile, const pl_peak_piece *other, size_t copies) {
    uint64_t bytes = pl_peak_piece_bytes(tile, copies);
    uint64_t other_bytes = pl_peak_piece_bytes(other, copies);
    return bytes > other_bytes || (bytes == other_bytes && tile->tile < other->tile);
}

/* Behind the last number of copies of a piece. */
static size_t end_of(const pl_peak_envelope *tiles, const pl_peak_piece *piece) {
    return piece->next == PL_NONE ? tiles->max_copies + 1 : tiles->pieces[piece->next].from_copies;
}

/* Copies from_copies ... end_copies - 1. */
typedef struct copy_range {
    size_t from_copies;
    size_t end_copies;
} copy_range;

/* The copies of a piece with which a tile is larger: as two lines cross once, all, none, or
 * those on one side of a number. */
static copy_range where_larger(const pl_peak_envelope *tiles, const pl_peak_piece *tile,
                               const pl_peak_piece *piece) {
    size_t low = piece->from_copies;
    size_t high = end_of(tiles, piece) - 1;
    bool at_first = is_larger(tile, piece, low);
    bool at_last = is_larger(tile, piece, high);
    if (at_first == at_last)
        return at_first ? (copy_range){low, high + 1} : (copy_range){low, low};
    /* the crossing is between low and high */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (is_larger(tile, piece, middle) == at_first)
            low = middle;
        else
            high = middle;
    }
    return at_first ? (copy_range){piece->from_copies, high}
                    : (copy_range){high, end_of(tiles, piece)};
}

bool pl_peak_envelope_has_place_for(const pl_peak_envelope *tiles, size_t interval,
                                    const pl_peak_piece *tile) {
    uint32_t i = tiles->first[interval];
    if (i == PL_NONE)
        return true;
    for (; i != PL_NONE; i = tiles->pieces[i].next) {
        const pl_peak_piece *piece = &tiles->pieces[i];
        if (is_larger(tile, piece, piece->from_copies) ||
            is_larger(tile, piece, end_of(tiles, piece) - 1))
            return true;
    }
    return false;
}

/* A piece that is not in use; PL_NONE when memory is short. */
static uint32_t take_piece(pl_peak_envelope *tiles) {
    uint32_t i = tiles->unused;
    if (i != PL_NONE) {
        tiles->unused = tiles->pieces[i].next;
        return i;
    }
    if (tiles->num_pieces >= PL_NONE ||
        !pl_grow(&tiles->pieces, &tiles->capacity, tiles->num_pieces + 1, sizeof *tiles->pieces))
        return PL_NONE;
    return (uint32_t)tiles->num_pieces++;
}

bool pl_peak_envelope_add(pl_peak_envelope *tiles, size_t interval, const pl_peak_piece *tile) {
    if (!pl_peak_envelope_has_place_for(tiles, interval, tile))
        return true;
    uint32_t own = take_piece(tiles);
    if (own == PL_NONE)
        return false;
    uint32_t *link = &tiles->first[interval]; /* to the piece that is looked at */
    size_t from_copies = SIZE_MAX;            /* of the tile itself, once it is known */
    while (*link != PL_NONE) {
        uint32_t i = *link;
        pl_peak_piece *piece = &tiles->pieces[i];
        copy_range larger = where_larger(tiles, tile, piece);
        bool is_none = larger.from_copies == larger.end_copies;
        if (is_none && from_copies != SIZE_MAX)
            break;
        if (!is_none && from_copies == SIZE_MAX)
            from_copies = larger.from_copies;
        if (is_none || larger.from_copies > piece->from_copies) {
            link = &piece->next; /* it begins with what is left of it */
        } else if (larger.end_copies < end_of(tiles, piece)) {
            piece->from_copies = (uint32_t)larger.end_copies;
            break;
        } else {
            *link = piece->next;
            piece->next = tiles->unused;
            tiles->unused = i;
        }
    }
    tiles->pieces[own] = *tile;
    tiles->pieces[own].from_copies = from_copies != SIZE_MAX ? (uint32_t)from_copies : 0;
    tiles->pieces[own].next = *link;
    *link = own;
    return true;
}

bool pl_peak_envelope_merge(pl_peak_envelope *tiles, const pl_peak_envelope *from) {
    for (size_t interval = 0; interval < tiles->num_intervals; interval++)
        for (uint32_t i = from->first[interval]; i != PL_NONE; i = from->pieces[i].next)
            if (!pl_peak_envelope_add(tiles, interval, &from->pieces[i]))
                return false;
    return true;
}

bool pl_peak_envelope_pack(pl_peak_envelope *tiles) {
    size_t count = 0;
    pl_peak_piece *packed = pl_new_array(tiles->num_pieces, sizeof *packed);
    if (packed == NULL)
        return false;
    for (size_t interval = 0; interval < tiles->num_intervals; interval++) {
        uint32_t i = tiles->first[interval];
        if (i != PL_NONE)
            tiles->first[interval] = (uint32_t)count;
        for (; i != PL_NONE; i = tiles->pieces[i].next) {
            packed[count] = tiles->pieces[i];
            if (packed[count].next != PL_NONE)
                packed[count].next = (uint32_t)count + 1;
            count++;
        }
    }
    free(tiles->pieces);
    tiles->pieces = packed;
    tiles->capacity = tiles->num_pieces;
    tiles->num_pieces = count;
    tiles->unused = PL_NONE;
    return true;
}

bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps) {
    size_t count = 0;
    for (size_t interval = 0; interval < tiles->num_intervals; interval++) {
        size_t least_copies = 0;
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
            least_copies = (size_t)piece->from_copies + 1;
        }
    }
    return count == tiles->num_pieces;
}

const pl_peak_piece *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                           size_t copies) {
    const pl_peak_piece *found = NULL;
    for (uint32_t i = tiles->first[interval];
         i != PL_NONE && tiles->pieces[i].from_copies <= copies; i = tiles->pieces[i].next)
        found = &tiles->pieces[i];
    return found;
}

popliner_status pl_peak_envelope_fill(const pl_peak_envelope *tiles, const popliner_chain *chain,
                                      const popliner_pipeline *pipeline, popliner_need need,
                                      popliner_costs *costs, popliner_error *error) {
    size_t num_units = popliner_costs_num_units(costs);
    size_t max_stages = 1;
    while (max_stages < pipeline->max_stages && max_stages < num_units &&
           pl_pipeline_keeps(pipeline) &&
           pl_pipeline_copies_for(pipeline, need, max_stages + 1) <= tiles->max_copies)
        max_stages++;
    popliner_status status = pl_costs_add_pipeline(costs, max_stages, error);
    if (status != POPLINER_OK)
        return status;
    if (pl_pipeline_follows_split(pipeline))
        pl_costs_follow_split(costs);
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            uint32_t i = tiles->first[pl_triangle_place(num_units, first, last)];
            for (size_t stages = 1; i != PL_NONE && stages <= max_stages; stages++) {
                size_t copies = pl_pipeline_copies_for(pipeline, need, stages);
                for (uint32_t next = tiles->pieces[i].next;
                     next != PL_NONE && tiles->pieces[next].from_copies <= copies;
                     next = tiles->pieces[i].next)
                    i = next;
                pl_costs_set_peak(costs, first, last, stages,
                                  pl_peak_piece_bytes(&tiles->pieces[i], copies));
            }
        }
    if (!pl_chain_has_operations(chain, 0))
        pl_costs_forbid(costs, 0, 0);
    return POPLINER_OK;
}
