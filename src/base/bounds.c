/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/bounds.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/numbers.h"

/* ---- Bounds ---------------------------------------------------------------------------------- */

static const double SECONDS_BETWEEN = 0.02;

void pl_bounds_begin(pl_bounds *bounds) {
    atomic_store(&bounds->is_stopped, false);
    bounds->next_seconds = 0.0; /* so that each call polls at least once */
}

bool pl_bounds_are_over(const pl_bounds *bounds) {
    return bounds != NULL && atomic_load_explicit(&bounds->is_stopped, memory_order_relaxed);
}

bool pl_bounds_ask(pl_bounds *bounds) {
    if (bounds == NULL || bounds->should_stop == NULL || pl_bounds_are_over(bounds))
        return pl_bounds_are_over(bounds);
    if (pl_clock_seconds() < bounds->next_seconds)
        return false;
    bool is_over = bounds->should_stop(bounds->user);
    bounds->next_seconds = pl_clock_seconds() + SECONDS_BETWEEN;
    if (is_over)
        atomic_store(&bounds->is_stopped, true);
    return is_over;
}

popliner_status pl_bounds_take(pl_bounds *bounds, const char *path, const char *what,
                               uint64_t count, uint64_t item_bytes, popliner_error *error) {
    uint64_t needed = pl_multiply_or_never(count, item_bytes);
    uint64_t max = bounds == NULL ? 0 : bounds->max_bytes;
    uint64_t taken = bounds == NULL ? 0 : atomic_load(&bounds->taken_bytes);
    if (max == 0)
        max = pl_machine_memory_bytes();
    if (taken <= max && needed <= max - taken) {
        if (bounds != NULL)
            atomic_fetch_add(&bounds->taken_bytes, needed);
        return POPLINER_OK;
    }
    return pl_fail(error, POPLINER_ERROR_MEMORY,
                   "%s: needs about %" PRIu64 " MiB of memory for %s, but there are %" PRIu64
                   " MiB, %" PRIu64 " of them taken",
                   path, (needed >> 20) + 1, what, max >> 20, taken >> 20);
}

/* ---- Machine --------------------------------------------------------------------------------- */

size_t pl_machine_processors(void) {
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

uint64_t pl_machine_memory_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
}
