/* Computes the estimates of a tile's memory from what was measured: at least, expected, at most.
 * docs/internals/memory-models.md has the rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_NEEDS_H
#define PL_MEMORY_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "popliner/pipeline.h"
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

/* Returns the overhead of a tile of the profile, by the compiler's account. O(variables of the
 * tile), which need not be loaded. */
pl_overhead pl_overhead_of_tile(const popliner_profile *profile, size_t tile);

/* Returns the largest unused_bytes of any tile with live bytes, and the largest share of
 * fragmentation of any tile with at least half of the largest live bytes, rounded down, of
 * overheads[num_tiles]. O(tiles). */
pl_overhead pl_overhead_worst(const pl_overhead *overheads, size_t num_tiles);

/* Returns the fragmentation of live_bytes in a layout, rounded up. */
uint64_t pl_overhead_fragments(const pl_overhead *layout, uint64_t live_bytes);

/* Factors of the estimates for IPUs with at least min_tiles tiles: how much the peak of a stage was
 * seen to vary with planning and mapping (docs/internals/memory-models.md). */
typedef struct pl_need_width {
    size_t min_tiles;
    uint64_t least_per_thousand;
    uint64_t most_per_thousand;
} pl_need_width;

/* Returns the factors for IPUs of this number of tiles. */
pl_need_width pl_need_width_for(size_t tiles_per_ipu);

/* How to compute the estimates of a tile. */
typedef struct pl_need_rule {
    bool has_needs;  /* false: all three are what was measured, in a memory model without effects */
    bool has_layout; /* the expected estimate includes layout overhead */
    pl_overhead worst;
    size_t tiles_per_ipu;            /* decide the widths */
    popliner_scales scales;          /* of a calibration, or all 0 */
    const popliner_profile *profile; /* its memory elements count; NULL: none */
} pl_need_rule;

/* Code that was measured on a tile: that of all groups, and the part that is vertex state. */
typedef struct pl_code_bytes {
    uint64_t all;
    uint64_t state;
} pl_code_bytes;

/* An estimate as a linear function of the number of copies. */
typedef struct pl_need_line {
    uint64_t bytes;      /* without copies */
    uint64_t copy_bytes; /* for each copy */
    /* without layout and without the worst case: what was measured, calibrated */
    uint64_t live_bytes;
    uint64_t live_copy_bytes;
} pl_need_line;

/* True if an estimate may become less when there is more code, as it leaves less of an element:
 * with a calibration that scales this up. */
bool pl_need_may_shrink(const pl_need_rule *rule);

/* Returns an estimate for a tile with this layout, where `bytes` were measured, `code` of them in
 * the groups of code, and copy_bytes for one copy of what it stores; see pl_pipeline_copies_for.
 * O(memory elements). */
pl_need_line pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                        uint64_t bytes, pl_code_bytes code, uint64_t copy_bytes);

#endif
