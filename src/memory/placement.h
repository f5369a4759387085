/* Places the variables of a tile as Poplar does: docs/internals/layout.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_PLACEMENT_H
#define PL_MEMORY_PLACEMENT_H

#include "popliner/profile.h"

/* Why addresses of a tile that lie below its highest one are not in use at the step where most is
 * live. docs/internals/layout.md explains them. */
typedef enum pl_gap {
    PL_GAP_RESERVED,  /* the first bytes of each tile */
    PL_GAP_ALIGNMENT, /* before a variable that needs a multiple of its alignment */
    PL_GAP_CODE,      /* no data lies in the elements of memory that hold code */
    PL_GAP_APART,     /* other variables that must not share an element */
    PL_GAP_LIVES,     /* in use at some step, but not at that one */
    PL_NUM_GAPS,
} pl_gap;

/* The tiles laid out by the compiler's rule: whether its variables get the addresses of the file.
 * Of large profiles every n-th tile was laid out. Sums are over these tiles. */
typedef struct pl_laid_out {
    size_t num_tiles;       /* that were laid out, without those that have no variables */
    size_t num_tiles_equal; /* on which all addresses are those of the file */
    size_t num_ends_equal;  /* on which the highest one is */
    uint64_t num_variables;
    uint64_t num_equal;              /* variables with the address of the file */
    uint64_t end_bytes;              /* up to the highest addresses, as laid out */
    uint64_t live_bytes;             /* of these in use at the step where most is live */
    uint64_t gap_bytes[PL_NUM_GAPS]; /* the others */
} pl_laid_out;

/* Something to be placed. */
typedef struct pl_item {
    uint64_t address; /* set by pl_placer_place */
    uint64_t size_bytes;
    uint32_t variable; /* what it is, of the tile; PL_NONE: not a variable of the profile */
    uint32_t life;     /* index of pl_lives, or PL_NONE: it is always live */
    uint8_t placing;   /* pl_placing */
} pl_item;

/* When items are live that are not always live: item i on [first_step[k], end_step[k]) for k from
 * start[life] up to start[life + 1]. The ranges of a life ascend. */
typedef struct pl_lives {
    const uint32_t *start;
    const uint32_t *first_step;
    const uint32_t *end_step;
} pl_lives;

/* Places items on one tile after another; not for several threads at once. */
typedef struct pl_placer pl_placer;

/* Creates a placer, which refers to the profile, whose variables are loaded; NULL if memory is
 * short. Free with pl_placer_free. O(variables of the fullest tile). */
pl_placer *pl_placer_create(const popliner_profile *profile);
void pl_placer_free(pl_placer *placer);

/* Places items[count] on a tile in this order, each at the lowest address that the rule allows, and
 * sets *end to the highest end of any. False if memory is short. Cost: for each item that is always
 * live O(gaps between those); for each other one, O(those not always live that lie below it). */
bool pl_placer_place(pl_placer *placer, size_t tile, const pl_lives *lives, pl_item *items,
                     size_t count, uint64_t *end);

/* Returns the lowest address of an element without code, if executable_bytes of code are on a tile;
 * the end of the code if there is none. O(elements). */
uint64_t pl_placer_data_begin(const popliner_profile *profile, uint64_t executable_bytes);

/* Returns the bytes of code that ends at this address, with what lies between it. */
uint64_t pl_placer_code_bytes(uint64_t end);

/* Returns the first address from this one on at which a memory element begins; the address if there
 * is none. O(elements). */
uint64_t pl_placer_element_from(const popliner_profile *profile, uint64_t address);

/* Adds the bytes below the end of what was placed last to gap_bytes[PL_NUM_GAPS], but for
 * live_bytes, which are live at the step with most. O(gaps). */
void pl_placer_add_gaps(const pl_placer *placer, uint64_t live_bytes, uint64_t *gap_bytes);

/* Places all variables of a tile in the order that the compiler recorded, or else would use. Sets
 * *items, owned by the placer until it is used again, and *count. False if memory is short. */
bool pl_placer_replay(pl_placer *placer, size_t tile, const pl_item **items, size_t *count,
                      uint64_t *end);

/* Replays tiles of a profile, all or, of more than a million variables, every n-th. Errors: USAGE
 * if the variables are not loaded; MEMORY. */
popliner_status pl_placement_check(const popliner_profile *profile, pl_laid_out *layout,
                                   popliner_error *error);

#endif
