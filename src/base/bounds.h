/* What work may take: until its caller wants it to end, and how much memory; what the machine has.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_BOUNDS_H
#define PL_BASE_BOUNDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* All zero, like a NULL pointer to it, means without bounds. It is used by one call at a time, with
 * all threads that work for that call. */
typedef struct pl_bounds {
    bool (*should_stop)(void *user); /* the caller's; NULL: never */
    void *user;
    uint64_t max_bytes; /* of what is counted; 0: the memory of the machine, where it is known */

    double next_seconds;    /* when should_stop is asked next, of pl_clock_seconds */
    atomic_bool is_stopped; /* it said so */
    atomic_uint_fast64_t taken_bytes;
} pl_bounds;

/* Another call begins: what ended the last one is forgotten. */
void pl_bounds_begin(pl_bounds *bounds);

/* Whether the work is to end. Asks the caller's function, but some fifty times a second at most, so
 * this is cheap; for the thread that called the library alone. */
bool pl_bounds_ask(pl_bounds *bounds);

/* The same for any thread, which knows what the calling one has learnt. */
bool pl_bounds_are_over(const pl_bounds *bounds);

/* Counts count * item_bytes of memory before they are allocated, for `what` of the file `path`, for
 * example "the bytes by tile and category". Errors: MEMORY, if all that was counted would be more
 * than there may be. */
popliner_status pl_bounds_take(pl_bounds *bounds, const char *path, const char *what,
                               uint64_t count, uint64_t item_bytes, popliner_error *error);

/* ---- Machine --------------------------------------------------------------------------------- */

/* The processors that are online, at least 1. */
size_t pl_machine_processors(void);

/* Its memory without swap; UINT64_MAX where the system does not tell. */
uint64_t pl_machine_memory_bytes(void);

#endif
