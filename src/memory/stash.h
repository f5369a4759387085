/* What a stage in a pipeline keeps of each micro-batch until its backward pass comes, for all
 * stages at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_STASH_H
#define PL_MEMORY_STASH_H

#include "memory/passes.h"
#include "popliner/pipeline.h"

/* A variable arrives at `unit` in the stages that begin at first_start ... last_start, when they
 * are grown to the right. */
typedef struct pl_stash_arrival {
    uint32_t unit;
    uint32_t first_start;
    uint32_t last_start;
} pl_stash_arrival;

typedef struct pl_stash {
    popliner_recompute recompute;
    size_t num_units;
    uint32_t first_data_unit;
    const pl_passes *passes; /* not owned */
    uint8_t *is_fed;         /* [num_variables], where inputs are kept; else NULL */
    /* Two lists for each set of the usage of the passes, the second for variables that were copied
     * from the host: if it is live at the right time, a variable of list l arrives as said by
     * arrivals[start[l] ... start[l + 1] - 1]. None for POPLINER_RECOMPUTE_STANDARD, where that
     * depends on when the variable is live. */
    size_t *start;
    pl_stash_arrival *arrivals;
    /* [num_classes], for POPLINER_RECOMPUTE_STANDARD: whether it crosses the turn, or the begin
     * of a unit's forward pass */
    uint8_t *class_matters;
} pl_stash;

/* Finds out for a usage of a pl_pass_usage. Zero-initialise before, free with pl_stash_free,
 * also after an error. Errors: MEMORY. O(units of all sets). */
popliner_status pl_stash_create(pl_stash *stash, const popliner_profile *profile,
                                const popliner_chain *chain, const pl_passes *passes,
                                const pl_unit_usage *usage, popliner_recompute recompute,
                                popliner_error *error);
void pl_stash_free(pl_stash *stash);

/* What each thread that adds tiles has for itself, each [num_units]; the first one is all 0. */
typedef struct pl_stash_work {
    uint8_t *passes;  /* that touch a variable */
    uint8_t *crosses; /* whether it is live when the unit begins its forward pass */
} pl_stash_work;

/* Adds what the variables of a tile add to the stash of the stages beginning at s when they grow to
 * unit u, as differences over s, to arriving_bytes[(num_units + 1) * num_units], at s * num_units +
 * u. They may be below zero: unsigned, they wrap around and come out right in the sums. */
void pl_stash_add_tile(const pl_stash *stash, const popliner_profile *profile,
                       const pl_unit_usage *usage, size_t tile, pl_stash_work *work,
                       uint64_t *arriving_bytes);

#endif
