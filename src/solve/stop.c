/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/stop.h"

#include <stddef.h>

bool pl_stop_is_wanted(const pl_stop *stop) {
    return pl_clock_seconds() >= stop->deadline_seconds ||
           (stop->should_stop != NULL && stop->should_stop(stop->user));
}
