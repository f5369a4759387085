/* The largest tile of every stage of a chain, wherever the stage stands in a pipeline.
 *
 * A tile needs the bytes of a plain stage and, the further from the end the stage stands, the more
 * copies of what it keeps: over the number of copies a line, and the largest of all tiles the upper
 * envelope of their lines. It has few pieces, most often one, where a table by place would have as
 * many entries as the pipeline stages; and it serves every schedule.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PEAK_ENVELOPE_H
#define PL_MEMORY_PEAK_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/chain.h"
#include "popliner/costs.h"
#include "popliner/pipeline.h"

/* One piece. Made without gaps, for it is stored as it is. */
typedef struct pl_peak_piece {
    uint64_t bytes;       /* without copies */
    uint64_t stash_bytes; /* one copy of what it keeps */
    uint64_t unexplained_bytes;
    uint64_t layout_bytes;      /* part of bytes that nothing uses */
    uint64_t copy_layout_bytes; /* part of stash_bytes */
    uint64_t freed_bytes;       /* not in bytes any more, because copies are kept */
    uint32_t tile;
    uint32_t step;        /* of the peak */
    uint32_t from_copies; /* from which on, as far as the next piece, this is largest */
    uint32_t next;        /* piece of the same stage, or PL_NONE */
} pl_peak_piece;

typedef struct pl_peak_envelope {
    size_t max_copies;    /* that are looked at */
    size_t num_intervals; /* in the order of costs/triangle.h */
    uint32_t *first;      /* [num_intervals] the piece for no copies, or PL_NONE; owned */
    size_t num_pieces;
    size_t capacity;
    pl_peak_piece *pieces; /* [num_pieces], owned */
    uint32_t unused;       /* the first of those that are not in use any more, or PL_NONE */
} pl_peak_envelope;

/* Makes them empty; false when memory is short. Zero-initialise before; free with
 * pl_peak_envelope_free. */
bool pl_peak_envelope_begin(pl_peak_envelope *tiles, size_t num_intervals, size_t max_copies);
void pl_peak_envelope_free(pl_peak_envelope *tiles);

/* Whether a tile of a stage (with its bytes, stash_bytes and number) is the largest for any number
 * of copies; of equals that of the lower number is. O(pieces of the stage). */
bool pl_peak_envelope_has_place_for(const pl_peak_envelope *tiles, size_t interval,
                                    const pl_peak_piece *tile);

/* Lets a tile be the largest for all numbers of copies where it is; from_copies and next do not
 * matter. The tiles may come in any order. False when memory is short. O(pieces of the stage + log
 * copies). */
bool pl_peak_envelope_add(pl_peak_envelope *tiles, size_t interval, const pl_peak_piece *tile);

/* Adds all tiles of `from`, of as many stages. False when memory is short. */
bool pl_peak_envelope_merge(pl_peak_envelope *tiles, const pl_peak_envelope *from);

/* Puts the pieces in the order of the stages and copies, so that equal ones are stored as the same
 * bytes. False when memory is short. */
bool pl_peak_envelope_pack(pl_peak_envelope *tiles);

/* Whether the arrays, which may come from a file, are packed, have a piece for each number of
 * copies of each stage, and name no other tiles or steps. */
bool pl_peak_envelope_check(const pl_peak_envelope *tiles, size_t num_tiles, size_t num_steps);

/* The piece for so many copies, NULL if no tile was added; and the bytes of its tile then. */
const pl_peak_piece *pl_peak_envelope_find(const pl_peak_envelope *tiles, size_t interval,
                                           size_t copies);
uint64_t pl_peak_piece_bytes(const pl_peak_piece *tile, size_t copies);

/* Gives the costs of a chain the peaks of all stages of a pipeline of max_stages, or of as many as
 * there are copies looked at for, `tiles` being those of a need; the first unit alone is forbidden
 * if nothing runs for it. Errors: MEMORY. O(stages * places). */
popliner_status pl_peak_envelope_fill(const pl_peak_envelope *tiles, const popliner_chain *chain,
                                      const popliner_pipeline *pipeline, popliner_need need,
                                      popliner_costs *costs, popliner_error *error);

#endif
