/* Limits of work: when its caller stops it, and how much memory it may take; the machine's
 * resources.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_BOUNDS_H
#define PL_BASE_BOUNDS_H

#include <stdatomic.h>

#include "popliner/error.h"

/* ---- Bounds ---------------------------------------------------------------------------------- */

/* All zero, or a NULL pointer to it, means no limits. One call uses it at a time, with all threads
 * that work for that call. */
typedef struct pl_bounds {
    bool (*should_stop)(void *user); /* the caller's; NULL: never */
    void *user;
    uint64_t max_bytes; /* limit of the counted memory; 0: the memory of the machine, if known */

    double next_seconds;    /* when should_stop is polled next, by pl_clock_seconds */
    atomic_bool is_stopped; /* should_stop returned true */
    atomic_uint_fast64_t taken_bytes;
} pl_bounds;

/* Resets the limits for another call. */
void pl_bounds_begin(pl_bounds *bounds);

/* True if the work must end. Polls the caller's function, at most some fifty times a second, so
 * this is cheap. Only for the thread that called the library. */
bool pl_bounds_ask(pl_bounds *bounds);

/* Thread-safe: true once pl_bounds_ask has returned true. */
bool pl_bounds_are_over(const pl_bounds *bounds);

/* Counts count * item_bytes of memory before they are allocated, for `what` of the file `path`, for
 * example "the bytes by tile and category". Errors: MEMORY, if the total exceeds the limit. */
popliner_status pl_bounds_take(pl_bounds *bounds, const char *path, const char *what,
                               uint64_t count, uint64_t item_bytes, popliner_error *error);

/* ---- Machine --------------------------------------------------------------------------------- */

/* Returns the number of online processors, at least 1. */
size_t pl_machine_processors(void);

/* Returns the memory without swap; UINT64_MAX if the system does not report it. */
uint64_t pl_machine_memory_bytes(void);

#endif
