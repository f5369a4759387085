/* What a stage keeps for a pipeline, measured for one stage by itself.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "model/operations.h"
#include "profile/profile_data.h"

/* Marks with `mark` the variables that an operation touches. */
static void mark_touched(pl_stage_meter *meter, const popliner_operation *operation, uint8_t mark) {
    for (size_t k = 0; k < operation->num_programs; k++) {
        pl_account_touches touches =
            pl_account_touches_of(&meter->account, meter->profile, operation->programs[k]);
        uint32_t variable;
        while (pl_account_touches_next(&touches, &variable))
            meter->touched_by[variable] |= mark;
    }
}

popliner_status pl_stage_measure_stash(pl_stage_meter *meter, popliner_recompute recompute,
                                       size_t first_unit, size_t last_unit, uint64_t *by_tile_bytes,
                                       popliner_error *error) {
    enum { FORWARD = 1, BACKWARD = 2, BEFORE = 4, BEHIND = 8 };
    const popliner_profile *p = meter->profile;
    const pl_passes *passes = &meter->pass_usage.passes;
    const pl_pass_usage *pass_usage;
    memset(by_tile_bytes, 0, p->target.num_tiles * sizeof *by_tile_bytes);
    popliner_status status = pl_stage_meter_pass_usage(meter, &pass_usage, error);
    if (status == POPLINER_OK && meter->touched_by == NULL) {
        meter->is_fed = pl_mark_fed(p);
        meter->touched_by = pl_new_array(p->num_variables, 1);
        if (meter->is_fed == NULL || meter->touched_by == NULL) {
            free(meter->is_fed);
            free(meter->touched_by);
            meter->is_fed = meter->touched_by = NULL;
            status = pl_fail_memory(error, "what a pipeline keeps");
        }
    }
    if (status != POPLINER_OK)
        return status;
    if (!passes->is_training)
        return POPLINER_OK;
    memset(meter->touched_by, 0, p->num_variables);
    for (size_t i = 0; i < popliner_operations_count(meter->operations); i++) {
        size_t unit = pl_chain_unit_of(meter->chain, i);
        uint8_t mark = 0;
        if (unit < first_unit) {
            mark = pl_is_forward(passes, unit, i) ? BEFORE : 0;
        } else if (unit <= last_unit && unit >= pl_chain_first_data_unit(meter->chain)) {
            mark |= pl_is_forward(passes, unit, i) ? FORWARD : 0;
            mark |= pl_is_backward(passes, unit, i) ? BACKWARD : 0;
        } else if (unit > last_unit) {
            mark = pl_is_forward(passes, unit, i) ? BEHIND : 0;
        }
        if (mark != 0)
            mark_touched(meter, pl_operation_at(meter->operations, i), mark);
    }
    bool keeps_activations = recompute != POPLINER_RECOMPUTE_FULL;
    bool keeps_inputs = recompute != POPLINER_RECOMPUTE_NONE;
    bool keeps_outputs =
        recompute == POPLINER_RECOMPUTE_STANDARD && last_unit + 1 < meter->chain->num_units;
    for (size_t i = 0, tile = 0; i < p->num_variables; i++) {
        tile = pl_profile_tile_from(p, i, tile);
        uint8_t marks = meter->touched_by[i];
        uint32_t class_index = p->variable_class[i];
        if ((marks & FORWARD) == 0 || p->class_always_live[class_index])
            continue;
        /* the host may bring an input after the stage has begun */
        bool is_input = meter->is_fed[i] != 0 ||
                        ((marks & BEFORE) != 0 &&
                         pl_class_crosses(p, class_index, passes->forward_step[first_unit]));
        if ((keeps_activations && (marks & BACKWARD) != 0 &&
             pl_class_crosses(p, class_index, passes->turn_step)) ||
            (keeps_inputs && is_input) ||
            (keeps_outputs && (marks & BEHIND) != 0 &&
             pl_class_crosses(p, class_index, passes->forward_step[last_unit + 1])))
            by_tile_bytes[tile] += p->variable_size_bytes[i];
    }
    return POPLINER_OK;
}

/* Adds a variable to the units first_unit ... last_unit of which both passes touch it. */
static void add_to_units(const pl_pass_usage *own, uint32_t variable_set, size_t first_unit,
                         size_t last_unit, uint64_t bytes, uint64_t *unit_bytes) {
    const pl_unit_sets *sets = &own->usage.sets;
    uint32_t num_units = (uint32_t)own->usage.num_units / 2;
    for (uint32_t set = variable_set; set != 0; set = sets->rest[set]) {
        uint32_t member = sets->last_unit[set];
        pl_pass_member m = pl_pass_member_of(&own->passes, num_units, member);
        if (m.unit < first_unit || m.unit > last_unit)
            continue;
        /* where the unit is twice in the set, what comes behind it in the chain's order counts */
        bool is_both =
            member >= num_units
                ? m.is_forward || pl_unit_sets_has(sets, sets->rest[set], m.unit)
                : m.is_backward && !pl_unit_sets_has(sets, variable_set, m.unit + num_units);
        if (is_both)
            unit_bytes[m.unit - first_unit] += bytes;
    }
}

popliner_status pl_stage_measure_unit_stash(pl_stage_meter *meter, size_t first_unit,
                                            size_t last_unit, uint64_t *by_tile_bytes,
                                            popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const pl_pass_usage *own;
    size_t num_tiles = p->target.num_tiles;
    memset(by_tile_bytes, 0, num_tiles * sizeof *by_tile_bytes);
    popliner_status status = pl_stage_meter_pass_usage(meter, &own, error);
    if (status != POPLINER_OK || !own->passes.is_training)
        return status;
    if (first_unit < pl_chain_first_data_unit(meter->chain))
        first_unit = pl_chain_first_data_unit(meter->chain);
    size_t num_units = last_unit >= first_unit ? last_unit - first_unit + 1 : 0;
    uint64_t *unit_bytes = pl_new_array(num_units, sizeof *unit_bytes);
    if (unit_bytes == NULL)
        return pl_fail_memory(error, "what a pipeline keeps");
    for (size_t tile = 0; num_units > 0 && tile < num_tiles; tile++) {
        memset(unit_bytes, 0, num_units * sizeof *unit_bytes);
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            uint32_t class_index = p->variable_class[i];
            uint32_t set = pl_unit_usage_of(&own->usage, i);
            if (set != 0 && !p->class_always_live[class_index] &&
                pl_class_crosses(p, class_index, own->passes.turn_step))
                add_to_units(own, set, first_unit, last_unit, p->variable_size_bytes[i],
                             unit_bytes);
        }
        by_tile_bytes[tile] = pl_tiles_max(unit_bytes, num_units);
    }
    free(unit_bytes);
    return POPLINER_OK;
}
