/* Which variables are live at a step, and how many bytes on each tile: popliner/profile.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/profile.h"

#include <assert.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "memory/curve.h"
#include "profile/profile_data.h"

bool popliner_liveness_is_live(const popliner_profile *p, size_t variable, size_t step) {
    return variable < p->num_variables && step < p->num_steps &&
           pl_profile_lives_at(p, p->variable_class[variable], step);
}

/* Adds the tile's not always-live variables to a curve; returns the bytes of the others. */
static uint64_t add_tile(pl_curve *curve, const popliner_profile *p, size_t tile,
                         const uint8_t *selection) {
    uint64_t always_live_bytes = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (selection != NULL && selection[i] == 0)
            continue;
        if (p->class_always_live[p->variable_class[i]])
            always_live_bytes += p->variable_size_bytes[i];
        else
            pl_curve_add(curve, p, p->variable_class[i], p->variable_size_bytes[i]);
    }
    return always_live_bytes;
}

/* Begins a curve of the steps. Errors: USAGE for steps out of range, or if the variables are not
 * loaded; MEMORY. */
static popliner_status begin(pl_curve *curve, pl_arrays *own, const popliner_profile *p,
                             size_t first_step, size_t end_step, popliner_error *error) {
    if (first_step > end_step || end_step > p->num_steps)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "steps %zu to %zu: out of range; the profile has the liveness steps 0 to %zu",
            first_step, end_step, p->num_steps);
    PL_TRY(pl_profile_require_variables(p, error));
    pl_curve_begin(curve, own, first_step, end_step);
    return own->failed ? pl_fail_memory(error, "the liveness of a tile") : POPLINER_OK;
}

popliner_status popliner_liveness_peaks(const popliner_profile *profile, const uint8_t *selection,
                                        size_t first_step, size_t end_step, popliner_peak *peaks,
                                        popliner_error *error) {
    pl_curve curve = {0};
    pl_arrays own = {0};
    PL_TRY(begin(&curve, &own, profile, first_step, end_step, error));
    for (size_t tile = 0; tile < profile->target.num_tiles; tile++) {
        popliner_peak *peak = &peaks[tile];
        pl_curve_begin(&curve, &own, first_step, end_step);
        peak->always_live_bytes = add_tile(&curve, profile, tile, selection);
        peak->not_always_live_bytes = pl_curve_peak(&curve, first_step, end_step, &peak->peak_step);
    }
    pl_arrays_free(&own);
    return POPLINER_OK;
}

popliner_status popliner_liveness_by_step(const popliner_profile *profile, size_t tile,
                                          const uint8_t *selection, size_t first_step,
                                          size_t end_step, uint64_t *bytes, popliner_error *error) {
    pl_curve curve = {0};
    pl_arrays own = {0};
    const bool is_of_all = tile == POPLINER_ALL_TILES;
    const size_t end = is_of_all ? profile->target.num_tiles : tile + 1;
    if (!is_of_all)
        PL_TRY(pl_walk_check_index(tile, profile->target.num_tiles, "tiles", error));
    PL_TRY(begin(&curve, &own, profile, first_step, end_step, error));
    for (size_t i = is_of_all ? 0 : tile; i < end; i++)
        add_tile(&curve, profile, i, selection);
    pl_curve_read(&curve, bytes);
    pl_arrays_free(&own);
    return POPLINER_OK;
}

/* ---- Curves ---------------------------------------------------------------------------------- */

void pl_curve_begin(pl_curve *curve, pl_arrays *arrays, size_t first_step, size_t end_step) {
    const size_t count = end_step > first_step ? end_step - first_step + 1 : 1;
    if (!pl_arrays_grow(arrays, &curve->change_bytes, count, sizeof *curve->change_bytes))
        return;
    memset(curve->change_bytes, 0, count * sizeof *curve->change_bytes);
    curve->first_step = first_step;
    curve->end_step = end_step > first_step ? end_step : first_step;
}

void pl_curve_add_steps(pl_curve *curve, size_t first_step, size_t end_step, uint64_t size_bytes) {
    assert(curve->first_step <= first_step && first_step <= end_step &&
           end_step <= curve->end_step);
    curve->change_bytes[first_step - curve->first_step] += (int64_t)size_bytes;
    curve->change_bytes[end_step - curve->first_step] -= (int64_t)size_bytes;
}

void pl_curve_add(pl_curve *curve, const popliner_profile *p, uint32_t class_index,
                  uint64_t size_bytes) {
    for (uint32_t i = p->class_ranges_start[class_index];
         i < p->class_ranges_start[class_index + 1]; i++) {
        const size_t first_step = pl_more(p->range_first_step[i], curve->first_step);
        const size_t end_step = pl_fewer(p->range_end_step[i], curve->end_step);
        if (first_step < end_step)
            pl_curve_add_steps(curve, first_step, end_step, size_bytes);
    }
}

uint64_t pl_curve_peak(const pl_curve *curve, size_t first_step, size_t end_step,
                       size_t *peak_step) {
    int64_t live = 0;
    int64_t peak = 0;
    assert(curve->first_step <= first_step && end_step <= pl_more(first_step, curve->end_step));
    *peak_step = first_step;
    for (size_t step = curve->first_step; step < end_step; step++) {
        live += curve->change_bytes[step - curve->first_step];
        assert(live >= 0);
        if (step >= first_step && live > peak) {
            peak = live;
            *peak_step = step;
        }
    }
    return (uint64_t)peak;
}

void pl_curve_read(const pl_curve *curve, uint64_t *bytes) {
    int64_t live = 0;
    for (size_t i = 0; i < curve->end_step - curve->first_step; i++) {
        live += curve->change_bytes[i];
        bytes[i] = (uint64_t)live;
    }
}
