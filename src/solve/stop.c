/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stop.h"

#include <stddef.h>
#include <time.h>

double pl_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool pl_stop_is_wanted(const pl_stop *stop) {
    return pl_clock_seconds() >= stop->deadline_seconds ||
           (stop->should_stop != NULL && stop->should_stop(stop->user));
}
