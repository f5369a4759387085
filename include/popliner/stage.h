/* popliner: the memory of a stage.
 *
 * A stage is a set of units that run together on one IPU. What counts depends on the memory model.
 *
 * PopLiner's model, from its source, quirks included:
 *   vertex code    once per vertex type (name and size) with an instance on the tile; its bytes are
 *                  those of the last type of that name
 *   vertex state   instances times the type's size, for every program that executes them
 *   exchange code  of the DoExchange programs
 *   control code   of the programs without children
 *   variables      those that operations in a layer touch, at the step in [first, last] where most
 *                  bytes are live; first is the first step of the first operation in a layer (of
 *                  the first operation, if none is), last is the last step of the last operation
 *
 * The full model:
 *   vertex code    once per vertex type with an instance on the tile
 *   vertex state   what the compiler tells of each compute set, else instances times the type's
 *                  size; once per compute set
 *   exchange code, control code  as above
 *                  each of these four at most what the compiler counts of it on the tile
 *   variables      the always-live data that its operations touch, and the other data that they
 *                  touch, at the stage's own step where most bytes are live, those that no
 *                  operation touches among them; its own steps are those of its operations, see
 *                  popliner/operations.h
 *                  A copy from or to the host does not touch what other programs of operations
 *                  touch: each stage copies its own data.
 *   unexplained    what no operation explains, in every stage: everything always live, and the
 *                  data that no operation touches, as far as it is live at that step
 * docs/internals/memory-models.md tells what compiling a stage by itself adds to that
 * (popliner/pipeline.h).
 * So all operations together have, on every tile, always_live_bytes + not_always_live_peak_bytes of
 * the compiler's account.
 *
 * Threads: structures of this header do not change once they are made, and any number of threads
 * may read them at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_STAGE_H
#define POPLINER_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the memory of a stage is for. */
typedef enum popliner_part {
    POPLINER_PART_VARIABLES, /* data: at the step of the stage where most is live */
    POPLINER_PART_VERTEX_CODE,
    POPLINER_PART_VERTEX_STATE,
    POPLINER_PART_EXCHANGE_CODE,
    POPLINER_PART_CONTROL_CODE,
    POPLINER_PART_UNEXPLAINED, /* of no operation: 0 in PopLiner's model */
    POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE,
    POPLINER_PART_STASH, /* what it keeps for a pipeline, all copies */
    POPLINER_PART_PARAMETERS,
    /* What compiling it by itself adds, of the effects that were asked for: what is handed on and
     * in, accumulators of gradients that the profile has not, what the layout leaves unused. */
    POPLINER_PART_BUFFERS,
    POPLINER_PART_ACCUMULATORS,
    POPLINER_PART_LAYOUT,
    POPLINER_NUM_PARTS,
} popliner_part;

/* Static; later versions may append members. */
typedef struct popliner_part_info {
    const char *name;   /* "vertex_code", as in JSON */
    const char *column; /* "vertex_code_bytes", as in tables */
    const char *text;   /* "vertex code": for people */
    bool is_within;     /* it is part of another part, and no summand of the whole */
} popliner_part_info;

/* NULL if there is no such part. */
const popliner_part_info *popliner_part_info_of(popliner_part part);

/* Bytes by tile, each array with num_tiles items. */
typedef struct popliner_stage_memory {
    size_t num_tiles;
    /* NULL for PARAMETERS, which are known over all tiles alone. */
    uint64_t *part_bytes[POPLINER_NUM_PARTS];
    /* EXPECTED is the sum of the parts that are not within others, and of the correction. */
    uint64_t *need_bytes[POPLINER_NUM_NEEDS];
    uint64_t *peak_step;       /* no bytes: the first step at which the variables are live */
    int64_t *correction_bytes; /* what a calibration adds, layout apart; may be below 0 */
} popliner_stage_memory;

/* A variable of a stage, see popliner/profile.h for what belongs to the number. The texts live as
 * long as the profile. */
typedef struct popliner_stage_variable {
    size_t variable;
    uint64_t size_bytes;
    const char *name; /* "" if it has none */
    const char *category;
} popliner_stage_variable;

/* How many variables are listed. */
#define POPLINER_DETAIL_VARIABLES 5

/* The memory of an IPU, summed up, and its largest tile. Plain memory; the names in it live as long
 * as the profile. */
typedef struct popliner_stage_detail {
    uint64_t total_bytes; /* over all tiles, like the next */
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    size_t tile; /* the largest one, the first of equals */
    uint64_t tile_bytes;
    uint64_t tile_unexplained_bytes;
    uint64_t tile_stash_bytes;
    uint64_t tile_layout_bytes;
    size_t step; /* of its peak */
    size_t num_variables;
    popliner_stage_variable variables[POPLINER_DETAIL_VARIABLES]; /* the largest there and then */
    uint64_t need_bytes[POPLINER_NUM_NEEDS]; /* of the largest tile each; EXPECTED is tile_bytes */
    int64_t correction_bytes; /* over all tiles: what a calibration adds, layout apart */
    /* On how many IPUs of the profile its operations compute. Where these are several, all that is
     * told here is of the tiles that they have there, which is less than one IPU would need. */
    size_t num_ipus;
} popliner_stage_detail;

/* Whether a stage fits in so many bytes on its largest tile, by what is known of its needs. */
typedef enum popliner_verdict {
    POPLINER_FITS,         /* with what it needs at most */
    POPLINER_FITS_LIKELY,  /* with what is expected */
    POPLINER_FITS_PERHAPS, /* with what it needs at least */
    POPLINER_FITS_NOT,
    POPLINER_FITS_UNKNOWN, /* nothing tells: the profile has it on several IPUs */
} popliner_verdict;

/* Decides it; everything that shows a verdict has it from here. *margin_spreads (NULL: not asked
 * for) is how far what is expected is below so many bytes, or above them if less than 0, in spreads
 * of popliner/pipeline.h. */
popliner_verdict popliner_verdict_of(const popliner_stage_detail *detail, uint64_t limit_bytes,
                                     double *margin_spreads);

/* What was measured of stages that are together on one IPU. Owned by the caller that measured; free
 * with popliner_measurement_free. Later versions may append members, here and to what it points
 * to. */
typedef struct popliner_measurement {
    const popliner_stage_memory *memory; /* by tile */
    const popliner_stage_detail *detail; /* summed up */
} popliner_measurement;

/* NULL is fine. */
void popliner_measurement_free(popliner_measurement *measurement);

#ifdef __cplusplus
}
#endif

#endif
