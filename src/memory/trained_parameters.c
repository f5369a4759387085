/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/trained_parameters.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"
#include "memory/parameters.h"
#include "memory/stage_data.h"
#include "profile/profile_data.h"

/* Adds up by set what is trained, and keeps the sets that have something. */
static bool find_used(pl_trained_parameters *t, const pl_stage_meter *meter,
                      const pl_pass_usage *usage) {
    const popliner_profile *p = meter->profile;
    uint64_t *set_bytes = pl_new_array(t->sets->count, sizeof *set_bytes);
    if (set_bytes == NULL)
        return false;
    for (size_t i = 0; i < p->num_variables; i++)
        set_bytes[pl_parameter_units(usage, p, &meter->account, i)] += p->variable_size_bytes[i];
    set_bytes[0] = 0; /* what nothing trains */
    for (size_t set = 0; set < t->sets->count; set++)
        t->num_used += set_bytes[set] > 0;
    t->used = pl_new_array(t->num_used, sizeof *t->used);
    size_t at = 0;
    for (size_t set = 0; t->used != NULL && set < t->sets->count; set++)
        if (set_bytes[set] > 0)
            t->used[at++] = (pl_trained_set){(uint32_t)set, set_bytes[set]};
    free(set_bytes);
    return t->used != NULL;
}

/* What every stage has by itself. */
static bool sum_intervals(pl_trained_parameters *t) {
    pl_interval_sums sums = {0};
    size_t *units = pl_new_array(t->num_units, sizeof *units);
    bool memory = units != NULL && pl_interval_sums_init(&sums, t->num_units, 1);
    for (size_t i = 0; memory && i < t->num_used; i++) {
        size_t place = t->num_units; /* descending: from the last place on */
        for (uint32_t set = t->used[i].set; set != 0; set = t->sets->rest[set])
            units[--place] = t->sets->last_unit[set];
        memory =
            pl_interval_sums_add(&sums, units + place, t->num_units - place, &t->used[i].bytes);
    }
    for (size_t first = 0; memory && first < t->num_units; first++) {
        pl_interval_sums_begin(&sums);
        for (size_t last = first; last < t->num_units; last++)
            t->interval_bytes[pl_triangle_place(t->num_units, first, last)] =
                *pl_interval_sums_extend(&sums);
    }
    free(units);
    pl_interval_sums_free(&sums);
    return memory;
}

popliner_status pl_trained_parameters_find(pl_trained_parameters *trained, pl_stage_meter *meter,
                                           popliner_error *error) {
    const pl_pass_usage *usage = NULL;
    popliner_status status = pl_stage_meter_pass_usage(meter, &usage, error);
    if (status != POPLINER_OK)
        return status;
    trained->sets = &usage->usage.sets;
    trained->num_units = meter->chain->num_units;
    trained->interval_bytes =
        pl_new_array(pl_triangle_size(trained->num_units), sizeof *trained->interval_bytes);
    bool memory = trained->interval_bytes != NULL;
    if (memory && usage->passes.is_training)
        memory = find_used(trained, meter, usage) && sum_intervals(trained);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the parameters of the stages");
}

void pl_trained_parameters_free(pl_trained_parameters *trained) {
    free(trained->used);
    free(trained->interval_bytes);
    *trained = (pl_trained_parameters){0};
}

uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages) {
    const pl_trained_parameters *t = user;
    uint64_t sum = 0;
    if (num_stages == 1)
        return t->interval_bytes[pl_triangle_place(t->num_units, stages->first_unit,
                                                   stages->last_unit)];
    for (size_t i = 0; i < t->num_used; i++) {
        uint32_t set = t->used[i].set;
        bool is_there = false;
        for (size_t k = num_stages; k-- > 0 && !is_there;) {
            set = pl_unit_sets_up_to(t->sets, set, (uint32_t)stages[k].last_unit);
            is_there = set != 0 && t->sets->last_unit[set] >= stages[k].first_unit;
        }
        sum += is_there ? t->used[i].bytes : 0;
    }
    return sum;
}
