/* popliner: the memory of a stage.
 *
 * A stage is a set of units that run together on one IPU. The memory that counts depends on the
 * memory model.
 *
 * PopLiner's model, from its source, quirks included:
 *
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
 *
 *   vertex code    once per vertex type with an instance on the tile
 *   vertex state   the compiler's figure for each compute set, else instances times the type's
 *                  size; once per compute set
 *   exchange code, control code  as above
 *                  each of these four at most the compiler's total of its category on the tile
 *   variables      the always-live data that its operations touch, and the other data that they
 *                  touch, at the stage's own step where most bytes are live, counting data that no
 *                  operation touches; its own steps are those of its operations, see
 *                  popliner/operations.h
 *                  A copy from or to the host does not touch what other programs of operations
 *                  touch: each stage copies its own data.
 *   unexplained    unattributed memory, in every stage: all of it that is always-live, and the
 *                  data that no operation touches, as far as it is live at that step
 *
 * docs/internals/memory-models.md describes what compiling a stage separately adds
 * (popliner/pipeline.h). The full model gives all operations together, on every tile,
 * always_live_bytes + not_always_live_peak_bytes of the compiler's account.
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

/* The parts of a stage's memory. */
typedef enum popliner_part {
    POPLINER_PART_VARIABLES, /* data, at the step of the stage where most is live */
    POPLINER_PART_VERTEX_CODE,
    POPLINER_PART_VERTEX_STATE,
    POPLINER_PART_EXCHANGE_CODE,
    POPLINER_PART_CONTROL_CODE,
    POPLINER_PART_UNEXPLAINED, /* unattributed; 0 in PopLiner's model */
    POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE,
    POPLINER_PART_STASH, /* activations stored for a pipeline, all copies */
    POPLINER_PART_PARAMETERS,
    /* Effects of compiling it separately, as requested: what it sends and receives, accumulators of
     * gradients that the profile lacks, layout overhead. */
    POPLINER_PART_BUFFERS,
    POPLINER_PART_ACCUMULATORS,
    POPLINER_PART_LAYOUT,
    POPLINER_NUM_PARTS,
} popliner_part;

/* Bits of the parts that are within other parts, and so not added to a total:
 * UNEXPLAINED_ALWAYS_LIVE and PARAMETERS. */
#define POPLINER_PARTS_WITHIN 0x140

/* Bytes by tile; each array has num_tiles items. Free with popliner_stage_memory_free. */
typedef struct popliner_stage_memory {
    size_t num_tiles;
    uint64_t *part_bytes[POPLINER_NUM_PARTS];
    /* EXPECTED is the sum of the parts that are not within others. */
    uint64_t *need_bytes[POPLINER_NUM_NEEDS];
    uint64_t *peak_step; /* a step, not bytes: the peak of the variables */
    /* the part of VARIABLES that is always-live; 0 in PopLiner's model, which does not tell it
     * apart */
    uint64_t *always_live_bytes;
} popliner_stage_memory;

/* A variable of a stage; the number is that of popliner/profile.h. The texts live as long as the
 * profile. */
typedef struct popliner_stage_variable {
    size_t variable;
    uint64_t size_bytes;
    const char *name; /* "" if it has none */
    const char *category;
} popliner_stage_variable;

/* The number of variables that a detail lists. */
#define POPLINER_DETAIL_VARIABLES 5

/* The memory of an IPU, summed up, and its fullest tile. Plain memory; the names in it live as long
 * as the profile. */
typedef struct popliner_stage_detail {
    uint64_t total_bytes; /* over all tiles, like part_bytes */
    uint64_t part_bytes[POPLINER_NUM_PARTS];
    size_t tile; /* the fullest one, the first of equals */
    uint64_t tile_bytes;
    /* The parts of tile_bytes, which add up to it. */
    uint64_t tile_always_live_bytes; /* of variables; 0 in PopLiner's model */
    uint64_t tile_live_bytes;        /* of other variables, live at `step` */
    uint64_t tile_code_bytes;        /* the four kinds of code and state */
    uint64_t tile_unexplained_bytes;
    uint64_t tile_stash_bytes;
    uint64_t tile_buffer_bytes;
    uint64_t tile_accumulator_bytes;
    uint64_t tile_layout_bytes;
    size_t step; /* of its peak */
    size_t num_variables;
    /* the largest on `tile` at `step` */
    popliner_stage_variable variables[POPLINER_DETAIL_VARIABLES];
    /* the peak over all tiles; EXPECTED is tile_bytes */
    uint64_t need_bytes[POPLINER_NUM_NEEDS];
    /* The number of IPUs of the profile on which its operations compute. If several, all bytes are
     * those of the tiles there, which is less than one IPU would need. */
    size_t num_ipus;
} popliner_stage_detail;

/* Whether the peak memory of a stage is within a limit, by the estimates of its memory. */
typedef enum popliner_verdict {
    POPLINER_FITS,         /* the upper estimate is within the limit */
    POPLINER_FITS_LIKELY,  /* the expected memory is */
    POPLINER_FITS_PERHAPS, /* the lower estimate is */
    POPLINER_FITS_UNKNOWN, /* unknown: the profile has the stage on several IPUs */
    POPLINER_FITS_NOT,
} popliner_verdict;

/* Returns the verdict that all outputs show. Sets *margin_spreads (unless NULL) to the distance
 * from the expected memory to limit_bytes in POPLINER_SPREAD (sigma), negative above the limit. */
popliner_verdict popliner_verdict_of(const popliner_stage_detail *detail, uint64_t limit_bytes,
                                     double *margin_spreads);

/* Frees the bytes by tile. NULL is fine. */
void popliner_stage_memory_free(popliner_stage_memory *memory);

#ifdef __cplusplus
}
#endif

#endif
