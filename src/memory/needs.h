/* Computes the estimates of a tile's memory from what was measured: at least, expected, at most.
 * docs/internals/memory-models.md has the rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_NEEDS_H
#define PL_MEMORY_NEEDS_H

#include "pipeline/pipeline.h"
#include "popliner/profile.h"

/* Layout overhead of a tile: what code leaves of its last memory element, unused_bytes that are
 * never used, and fragmented_bytes for every live_bytes; none if these are 0. */
typedef struct pl_overhead {
    uint64_t unused_bytes; /* without what code leaves */
    uint64_t fragmented_bytes;
    uint64_t live_bytes;
    /* of executable variables, minus that of the groups of code but vertex state: a stage has these
     * in addition to its own code. INT64_MIN: code leaves nothing, as elements or executable
     * variables are not known, or data lies lower than the rule allows */
    int64_t more_executable_bytes;
} pl_overhead;

/* Returns the overhead of a tile of the profile, by the compiler's account. apart[num_apart] are
 * its variables that lie apart (memory/account.h), ascending. O(variables of the tile), which need
 * not be loaded. */
pl_overhead pl_overhead_of_tile(const popliner_profile *profile, size_t tile, const uint32_t *apart,
                                size_t num_apart);

/* Returns the fragmentation of live_bytes in a layout, rounded up. */
uint64_t pl_overhead_fragments(const pl_overhead *layout, uint64_t live_bytes);

/* Returns the factor of what a stage needs at least, for IPUs of this number of tiles. */
uint64_t pl_need_least_per_thousand(size_t tiles_per_ipu);

/* How to compute the estimates of a tile. */
typedef struct pl_need_rule {
    bool has_needs;  /* false: all three are what was measured, in a memory model without effects */
    bool has_layout; /* the expected estimate includes layout overhead */
    size_t tiles_per_ipu;            /* decide how much is needed at least */
    const popliner_profile *profile; /* its memory elements count; NULL: none */
} pl_need_rule;

/* Bytes that were measured on a tile, and decide where others begin. */
typedef struct pl_placed_bytes {
    uint64_t code;   /* of all groups */
    uint64_t state;  /* the part of it that is vertex state */
    uint64_t always; /* data that is always live */
    uint64_t apart;  /* the largest variable that lies apart from such data; 0: there is none */
    uint64_t freed;  /* what is stored, and not live itself if there are copies */
} pl_placed_bytes;

/* An estimate of a tile, as a line over the number of copies of what it stores: numbers, stored as
 * bytes, in the order of their columns in pages. */
typedef struct pl_need_line {
    uint64_t bytes;      /* without copies */
    uint64_t copy_bytes; /* for each copy */
    uint64_t unexplained_bytes;
    uint64_t layout_bytes;      /* part of bytes: layout overhead */
    uint64_t copy_layout_bytes; /* part of copy_bytes */
    uint64_t freed_bytes;       /* no longer in `bytes` if there are copies */
    uint64_t always_live_bytes; /* parts of bytes: of variables that operations touch */
    uint64_t code_bytes;        /* of all groups */
    uint64_t buffer_bytes;
    uint64_t tile;
    uint64_t step; /* of the peak */
    uint64_t accumulator_bytes;
} pl_need_line;

/* Return the estimate with so many copies; and the parts of it that are stored, and layout. */
static inline uint64_t pl_need_line_at(const pl_need_line *line, uint64_t copies) {
    return line->bytes + copies * line->copy_bytes;
}
static inline uint64_t pl_need_line_stash(const pl_need_line *line, uint64_t copies) {
    return copies * (line->copy_bytes - line->copy_layout_bytes) - line->freed_bytes;
}
static inline uint64_t pl_need_line_layout(const pl_need_line *line, uint64_t copies) {
    return line->layout_bytes + copies * line->copy_layout_bytes;
}

/* With any number of copies a tile needs the larger of two lines: that of a stage without copies,
 * which has no copy_bytes, and that of one from which what they store is freed. */
enum { PL_LINE_WITHOUT_COPIES, PL_LINE_WITH_COPIES, PL_NUM_LINES };

/* Sets what an estimate of a tile with this layout tells in lines[PL_NUM_LINES]: bytes, copy_bytes,
 * the layout of both, freed_bytes. `bytes` were measured, `placed` among them, and copy_bytes for
 * one copy of what the tile stores; see pl_pipeline_copies_for. NEED_MOST is that of the tile
 * alone: see pl_need_spread. O(memory elements). */
void pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                uint64_t bytes, pl_placed_bytes placed, uint64_t copy_bytes, pl_need_line *lines);

/* Sums of NEED_MOST over the tiles of a stage. The compiler chooses anew which of its data share a
 * tile. So the mean and the deviation of all tiles predict its fullest tile better than the tile
 * that happens to be the fullest. Zero-initialise. */
typedef struct pl_tile_spread {
    uint64_t bytes;
    uint64_t units;   /* of 64 bytes, each tile's rounded to the nearest */
    uint64_t squares; /* of these */
} pl_tile_spread;
typedef struct pl_need_spread {
    pl_tile_spread sums[3]; /* without copies, with those that are freed, of a copy */
} pl_need_spread;

/* Adds the estimate of a tile. Every tile has less than 2^32 bytes. */
void pl_need_spread_add(pl_need_spread *spread, const pl_need_line lines[PL_NUM_LINES]);

/* Sets lines[PL_NUM_LINES] to what the fullest of num_tiles tiles needs at most, by their sums:
 * NEED_MOST of a stage is this, or that of a tile alone if it is larger. With copies it is an upper
 * bound, as deviations of sums are at most the sums of deviations. O(1). */
void pl_need_spread_lines(const pl_need_spread *spread, const pl_need_rule *rule, size_t num_tiles,
                          pl_need_line *lines);

#endif
