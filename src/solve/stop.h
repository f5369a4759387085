/* When to stop: at a time, when the caller requests it, or after so much work of GLPK.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STOP_H
#define PL_SOLVE_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* On the clock of pl_clock_seconds; INFINITY for no limit. should_stop may be NULL. */
typedef struct pl_stop {
    double deadline_seconds;
    bool (*should_stop)(void *user);
    void *user;
    /* what GLPK may still do: iterations times the entries of the program. The same on every
     * machine, as time is not. Updated by pl_glpk_solve; NULL for no limit */
    uint64_t *glpk_work;
} pl_stop;

static inline bool pl_stop_is_wanted(const pl_stop *stop) {
    return pl_clock_seconds() >= stop->deadline_seconds ||
           (stop->should_stop != NULL && stop->should_stop(stop->user));
}

#endif
