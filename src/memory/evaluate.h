/* The memory of stages on a tile, from its digest: of any stages on one IPU (a question), and of
 * all stages that begin with one unit (a row).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_EVALUATE_H
#define PL_MEMORY_EVALUATE_H

#include "memory/digest.h"
#include "memory/needs.h"
#include "memory/parts.h"

/* The most bytes that are live at a step of stages. */
typedef struct pl_live_peak {
    uint64_t bytes;
    uint64_t unexplained_bytes; /* part of it */
    uint64_t buffer_bytes;      /* in addition, at the same time */
    size_t step;                /* the first one with it */
} pl_live_peak;

/* The bytes of stages on one IPU on a tile, as measured: before any estimate. */
typedef struct pl_stage_tile {
    size_t tile;
    /* The bytes that do not depend on steps. Without buffers, stash and layout. */
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    uint64_t own_code_bytes; /* of all groups */
    pl_placed_bytes placed;  /* including unattributed code and data */
    pl_live_peak plain;      /* without buffers */
    pl_live_peak buffered;   /* with what is sent and received; without a pipeline as `plain` */
} pl_stage_tile;

/* One copy of what a stage stores on a tile; freed_bytes of it are not live themselves then. */
typedef struct pl_tile_stash {
    uint64_t bytes;
    uint64_t freed_bytes;
} pl_tile_stash;

/* How stages of a pipeline are estimated, from a digest. */
typedef struct pl_estimation {
    popliner_pipeline pipeline;
    struct pl_popliner_meter *popliner; /* for PopLiner's model, else NULL */
    pl_digest *digest;
    size_t live;                    /* how its live ranges count */
    size_t max_stages;              /* of the pipeline: 1 if it stores nothing */
    uint32_t stash_way;             /* of what is stored: the recomputation; PL_NONE: nothing is */
    bool has_buffers;               /* data that is sent stays in the stage */
    uint64_t accumulator_factor;    /* the bytes for each of trained parameters */
    bool frees[POPLINER_NUM_NEEDS]; /* see pl_pipeline_frees_originals */
    bool expects_buffers;           /* the expected estimate includes them */
    pl_need_rule rule;
} pl_estimation;

/* Returns the live peak that an estimate includes. */
static inline const pl_live_peak *
pl_stage_tile_peak(const pl_estimation *estimation, popliner_need need, const pl_stage_tile *tile) {
    return need == POPLINER_NEED_MOST ||
                   (need == POPLINER_NEED_EXPECTED && estimation->expects_buffers)
               ? &tile->buffered
               : &tile->plain;
}

/* Sets lines[PL_NUM_LINES] to an estimate of a tile; of what is stored, that of one copy. */
void pl_stage_tile_needs(const pl_estimation *estimation, popliner_need need,
                         const pl_stage_tile *tile, const pl_tile_stash *stash,
                         pl_need_line *lines);

/* Adds the parts that a tile has in a stage with this peak to part_bytes[POPLINER_NUM_PARTS]; not
 * the stash and the layout. */
void pl_stage_tile_parts(const pl_stage_tile *tile, const pl_live_peak *peak, uint64_t *part_bytes);

/* ---- Questions ------------------------------------------------------------------------------- */

/* Stages on one IPU, whose units must not overlap. */
typedef struct pl_question {
    const pl_estimation *estimation;
    const popliner_interval *stages;
    size_t num_stages;
    uint64_t *units;        /* as those of a set of the digest */
    uint8_t *meets;         /* [sets]: has one of the units */
    uint64_t *change_bytes; /* [steps + 1]: all 0 between tiles */
} pl_question;

/* Begins a question, which refers to the others and whose arrays are in `arrays`. O(steps +
 * sets). */
void pl_question_begin(pl_question *question, pl_arrays *arrays, const pl_estimation *estimation,
                       const popliner_interval *stages, size_t num_stages);

/* Sets *result to what the stages have on a tile, and stash[num_stages] to what each
 * stores. O(lists of the tile). */
void pl_question_measure(pl_question *question, size_t tile, pl_stage_tile *result,
                         pl_tile_stash *stash);

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The stages that begin with one unit, from the shortest on; or each unit alone. Nothing that a
 * longer stage has in addition is negative, so each item of the digest is added once, where it
 * arrives, and the peak is a running maximum. */
typedef struct pl_row pl_row;

/* Makes a row for any tiles and stages, which `arrays` own; NULL after a failure. */
pl_row *pl_row_new(pl_arrays *arrays, const pl_estimation *estimation);

/* Begins with the stages on a tile that begin with a unit. False if memory is short. O(lists of the
 * tile). */
bool pl_row_begin(pl_row *row, size_t tile, size_t first_unit);

/* Sets *result and *stash to those of the next longer stage. Cost: the lists of the tile, once for
 * all stages of the row, and for each part its segments. */
void pl_row_extend(pl_row *row, pl_stage_tile *result, pl_tile_stash *stash);

/* Sets results[num_units] to what each unit has on a tile as a stage of its own; without a
 * pipeline. False if memory is short. O(sums of the tile * units in each set), and for
 * each part its segments. */
bool pl_row_measure_each(pl_row *row, size_t tile, pl_stage_tile *results);

#endif
