/* Where the variables of a tile lie: Poplar's own rule, as found in a real profile.
 *
 * Variables are placed one after another, by group (mk_group), in a group the larger first, then
 * that with the smaller id; each at the lowest address that is a multiple of its alignment, not
 * among the first 16 bytes, free while it lives, and in no memory element of a variable from which
 * it must be apart: those of its pairs (mk_apart), and executables from all others.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_PLACEMENT_H
#define MK_PLACEMENT_H

#include "mkprofile/sizes.h"

/* The memory of a Mk2 tile. Its elements are smaller in the lower part. */
#define MK_BYTES_PER_TILE 638976
#define MK_UPPER_ELEMENTS 212992

/* The first address of the element after that of `address`. */
uint64_t mk_next_element(uint64_t address);

/* A lowered variable. */
typedef struct mk_lowered {
    size_t variable; /* logical */
    uint64_t size_bytes;
    uint64_t offset;
    bool is_placed;
} mk_lowered;

/* Filled tile after tile; the arrays are reused. */
typedef struct mk_placement {
    const mk_sizes *sizes;
    size_t *place; /* of a logical variable among `lowered`, MK_NONE if not on the tile */

    mk_lowered *lowered; /* in the order of their ids */
    size_t num_lowered;
    size_t *allocated; /* places in `lowered`, in the order of allocation */
    size_t num_allocated;
    uint64_t end; /* the largest address in use + 1 */

    /* The variables from which logical variable i must be apart: from first_apart[i] up to, not
     * including, first_apart[i + 1]. */
    size_t *first_apart;
    size_t *apart;

    struct order_key *keys; /* scratch */
    struct mk_taken *taken; /* by address */
    size_t num_taken;
} mk_placement;

popliner_status mk_placement_begin(mk_placement *placement, const mk_sizes *sizes,
                                   popliner_error *error);
void mk_placement_end(mk_placement *placement);

/* Places the variables of one tile. */
void mk_place_tile(mk_placement *placement, uint64_t tile);

#endif
