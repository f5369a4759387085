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

/* Layout overhead: unused_bytes that are never used, and fragmented_bytes for every live_bytes;
 * none if these are 0. */
typedef struct pl_overhead {
    uint64_t unused_bytes;
    uint64_t fragmented_bytes;
    uint64_t live_bytes;
} pl_overhead;

/* Returns the overhead of a tile of the profile, by the compiler's account. O(1). */
pl_overhead pl_overhead_of_tile(const popliner_profile *profile, size_t tile);

/* Returns the largest unused_bytes of any tile with live bytes, and the largest share of
 * fragmentation of any tile with at least half of the largest live bytes, rounded down.
 * O(tiles). */
pl_overhead pl_overhead_worst(const popliner_profile *profile);

/* Returns the fragmentation of live_bytes in a layout, rounded up. */
uint64_t pl_overhead_fragments(const pl_overhead *layout, uint64_t live_bytes);

/* How to compute the estimates of a tile. */
typedef struct pl_need_rule {
    bool has_needs;  /* false: all three are what was measured, in a memory model without effects */
    bool has_layout; /* the expected estimate includes layout overhead */
    pl_overhead worst;
    popliner_scales scales; /* of a calibration, or all 0 */
} pl_need_rule;

/* An estimate as a linear function of the number of copies. */
typedef struct pl_need_line {
    uint64_t bytes;      /* without copies */
    uint64_t copy_bytes; /* for each copy */
    /* without layout and without the worst case: what was measured, calibrated */
    uint64_t live_bytes;
    uint64_t live_copy_bytes;
} pl_need_line;

/* Returns an estimate for a tile with this layout, where `bytes` were measured, code_bytes of them
 * in the groups of code, and copy_bytes for one copy of what it stores; see pl_pipeline_copies_for.
 * O(1). */
pl_need_line pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                        uint64_t bytes, uint64_t code_bytes, uint64_t copy_bytes);

#endif
