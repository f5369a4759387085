/* From what was measured of a stage on a tile to what the tile will need: at least, expected, at
 * most. docs/internals/memory-models.md has the rules.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_NEEDS_H
#define PL_MEMORY_NEEDS_H

#include <stdbool.h>
#include <stdint.h>

#include "popliner/pipeline.h"
#include "popliner/profile.h"

/* Memory that a layout leaves unused: so many bytes that nobody ever uses, and
 * fragmented_bytes for every live_bytes; none if these are 0. */
typedef struct pl_layout {
    uint64_t unused_bytes;
    uint64_t fragmented_bytes;
    uint64_t live_bytes;
} pl_layout;

/* That of a tile of the profile, by the compiler's account. O(1). */
pl_layout pl_layout_of_tile(const popliner_profile *profile, size_t tile);

/* The most unused_bytes of any tile that has live bytes, with the largest share that fragments on a
 * tile with at least half of the most live bytes, rounded down. O(tiles). */
pl_layout pl_layout_worst(const popliner_profile *profile);

/* What of a layout so many live bytes fragment, rounded up. */
uint64_t pl_layout_fragments(const pl_layout *layout, uint64_t live_bytes);

/* How a tile's bytes become a need. */
typedef struct pl_need_rule {
    bool has_needs;  /* else all three are what was measured: a memory model without effects */
    bool has_layout; /* it is expected to be wasteful */
    pl_layout worst;
    popliner_scales scales; /* of a calibration, or all 0 */
} pl_need_rule;

/* A need as a line over the number of copies. */
typedef struct pl_need_line {
    uint64_t bytes;      /* without copies */
    uint64_t copy_bytes; /* of each */
    /* the same without what the layout, or the worst case, adds: what was measured, calibrated */
    uint64_t live_bytes;
    uint64_t live_copy_bytes;
} pl_need_line;

/* That of a tile with a layout, of which so many bytes were measured, code_bytes of them in the
 * groups of code, and of one copy of what it keeps; see pl_pipeline_copies_for. O(1). */
pl_need_line pl_need_of(const pl_need_rule *rule, popliner_need need, const pl_layout *layout,
                        uint64_t bytes, uint64_t code_bytes, uint64_t copy_bytes);

#endif
