/* Walking over the tiles for which a profile tells something.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_TILE_RUNS_H
#define PL_PROFILE_TILE_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/blob_codec.h"
#include "profile/profile_data.h"

/* Where such a walk is. */
typedef struct pl_tile_runs {
    pl_runs runs;
    size_t end_tile; /* of the last run, one of zeros or not */
} pl_tile_runs;

/* Begins the walk over the tiles where the number of a series is not 0. */
static inline pl_tile_runs pl_tile_runs_of(const popliner_profile *profile, pl_series series) {
    return (pl_tile_runs){pl_series_runs(profile, series), 0};
}

/* The next of them, *first ... *end - 1, which have the same number; false behind the last. */
static inline bool pl_tile_runs_next(pl_tile_runs *walk, size_t *first, size_t *end) {
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&walk->runs, &value, &length) > 0) {
        *first = walk->end_tile;
        walk->end_tile += (size_t)length;
        *end = walk->end_tile;
        if (value > 0)
            return true;
    }
    return false;
}

#endif
