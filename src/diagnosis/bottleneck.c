/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/bottleneck.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/missing.h"
#include "popliner/liveness.h"

/* Bytes that are explained on a tile at a step; the others go to *missing_bytes. To `missing` go,
 * variable by variable, those or, at `all_steps`, all that are missing on the tile. */
static uint64_t add_up(const pl_explained *explained, size_t tile, size_t step, bool all_steps,
                       pl_missing_bytes *missing, uint64_t *missing_bytes) {
    const popliner_profile *p = explained->profile;
    uint64_t bytes = 0;
    *missing_bytes = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        if (pl_explained_is_code(explained, i))
            continue;
        const bool is_live = popliner_liveness_is_live(p, i, step);
        const uint64_t live_bytes = is_live ? p->variable_size_bytes[i] : 0;
        if (explained->variable_seen[i]) {
            bytes += live_bytes;
        } else {
            *missing_bytes += live_bytes;
            if (is_live || all_steps)
                pl_missing_add(missing, p, i);
        }
    }
    for (int code = 0; code < PL_NUM_DIAGNOSED_CODE; code++) {
        uint64_t truth_bytes = explained->truth_bytes[code][tile];
        uint64_t code_bytes = explained->code_bytes[code][tile];
        bytes += code_bytes < truth_bytes ? code_bytes : truth_bytes;
        *missing_bytes += truth_bytes > code_bytes ? truth_bytes - code_bytes : 0;
    }
    pl_missing_add_code(missing, explained, tile);
    return bytes;
}

static bool has_account_by_tile(const popliner_profile *p) {
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        if (p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile] > 0)
            return true;
    }
    return false;
}

/* The peaks of the compiler's account over the steps of the units in question. */
static popliner_status find_bottleneck(const pl_explained *explained,
                                       const popliner_diagnosis_options *options,
                                       popliner_peak *peaks, popliner_diagnosis *d,
                                       popliner_error *error) {
    const popliner_chain *chain = explained->chain;
    const popliner_profile *p = explained->profile;
    size_t last_unit = options->last_unit;
    bool has_account = has_account_by_tile(p);
    uint64_t *bytes = pl_new_array(p->num_steps, sizeof *bytes);
    bool all_steps = options->first_unit == 0 && last_unit >= chain->num_units - 1;
    popliner_status status = bytes == NULL ? pl_fail_memory(error, "the diagnosis") : POPLINER_OK;
    if (status == POPLINER_OK)
        status = popliner_liveness_peaks(p, NULL, 0, p->num_steps, peaks, error);
    for (size_t tile = 0; status == POPLINER_OK && tile < p->target.num_tiles; tile++) {
        uint64_t always_live =
            has_account ? p->tile_always_live_bytes[tile] : peaks[tile].always_live_bytes;
        uint64_t most = has_account ? p->tile_not_always_live_peak_bytes[tile]
                                    : peaks[tile].not_always_live_bytes;
        size_t most_step = peaks[tile].peak_step;
        /* The compiler does not tell what a tile has at other steps than its largest. A tile whose
         * peak over all steps is no larger cannot win over fewer steps. */
        if (!all_steps && always_live + most > d->truth_bytes) {
            status = popliner_liveness_by_step(p, tile, NULL, 0, p->num_steps, bytes, error);
            most = 0;
            most_step = SIZE_MAX; /* until the first step of the units is met */
            for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++) {
                uint32_t operation = chain->operation_of_step[step];
                size_t unit = operation == PL_NONE ? 0 : chain->unit_of_operation[operation];
                if (unit >= options->first_unit && unit <= last_unit &&
                    (most_step == SIZE_MAX || bytes[step] > most)) {
                    most = bytes[step];
                    most_step = step;
                }
            }
        }
        if (always_live + most > d->truth_bytes && most_step < p->num_steps) {
            d->truth_bytes = always_live + most;
            d->tile = tile;
            d->step = most_step;
        }
    }
    free(bytes);
    return status;
}

/* What is explained, and what is missing, where the compiler counts most. */
static popliner_status compare_there(const pl_explained *explained, pl_missing_bytes *missing,
                                     popliner_diagnosis *d, popliner_error *error) {
    const popliner_profile *p = explained->profile;
    uint64_t missing_bytes;
    d->explained_bytes = add_up(explained, d->tile, d->step, false, missing, &missing_bytes);
    if (explained->chain->model->compares_own_step)
        d->explained_bytes = explained->stage.total_bytes[d->tile];
    if (p->num_steps > 0)
        d->program_name = pl_profile_program_name(p, p->step_program[d->step]);
    return pl_missing_list(missing, explained, d->tile, &d->missing_here, error);
}

/* The tile where the model explains most; whether the account adds up on every tile; and what is
 * missing on all of them, into `missing`, which is 0. */
static void compare_everywhere(const pl_explained *explained, const popliner_peak *peaks,
                               pl_missing_bytes *missing, popliner_diagnosis *d) {
    const popliner_profile *p = explained->profile;
    const pl_stage_memory *stage = &explained->stage;
    bool compares_own_step = explained->chain->model->compares_own_step;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        uint64_t missing_bytes;
        uint64_t bytes =
            add_up(explained, tile, peaks[tile].peak_step, true, missing, &missing_bytes);
        uint64_t account_bytes =
            p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
        d->tiles_off += bytes + missing_bytes != account_bytes;
        uint64_t model_bytes = compares_own_step ? stage->total_bytes[tile] : bytes;
        if (model_bytes > d->model_bytes) {
            d->model_bytes = model_bytes;
            d->model_tile = tile;
            d->model_step = compares_own_step ? stage->peak_step[tile] : peaks[tile].peak_step;
        }
    }
    if (!has_account_by_tile(p))
        d->tiles_off = SIZE_MAX;
}

popliner_status pl_diagnose_bottleneck(const pl_explained *explained,
                                       const popliner_diagnosis_options *options,
                                       popliner_diagnosis *d, popliner_error *error) {
    const popliner_profile *p = explained->profile;
    pl_missing_bytes missing = {0};
    popliner_peak *peaks = pl_new_array(p->target.num_tiles, sizeof *peaks);
    popliner_status status = peaks == NULL ? pl_fail_memory(error, "the diagnosis")
                                           : pl_missing_begin(&missing, p, error);
    if (status == POPLINER_OK)
        status = find_bottleneck(explained, options, peaks, d, error);
    if (status == POPLINER_OK)
        status = compare_there(explained, &missing, d, error);
    if (status == POPLINER_OK) {
        memset(missing.bytes, 0, missing.count * sizeof *missing.bytes);
        compare_everywhere(explained, peaks, &missing, d);
        status = pl_missing_list(&missing, explained, SIZE_MAX, &d->missing_everywhere, error);
    }
    free(peaks);
    free(missing.bytes);
    return status;
}
