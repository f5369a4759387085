/* How many bytes of parameters an IPU trains: those whose gradients replicas add up.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_TRAINED_PARAMETERS_H
#define PL_MEMORY_TRAINED_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include "memory/stage.h"
#include "memory/unit_sets.h"
#include "popliner/costs.h"
#include "popliner/error.h"

/* Parameters that the same units use, which count once wherever some of them are together. */
typedef struct pl_trained_set {
    uint32_t set; /* of units, as pl_parameter_units tells it */
    uint64_t bytes;
} pl_trained_set;

/* Zero-initialise; free with pl_trained_parameters_free. */
typedef struct pl_trained_parameters {
    const pl_unit_sets *sets; /* the meter's */
    size_t num_units;
    pl_trained_set *used; /* [num_used] */
    size_t num_used;
    uint64_t *interval_bytes; /* in the order of costs/triangle.h */
} pl_trained_parameters;

/* Finds those of the profile, none if it does not train, by the rule of pl_parameter_units. They
 * refer to the meter. Errors: MEMORY. Cost: O(variables + units^2 + units of the sets), and that of
 * pl_stage_meter_pass_usage. */
popliner_status pl_trained_parameters_find(pl_trained_parameters *trained, pl_stage_meter *meter,
                                           popliner_error *error);
void pl_trained_parameters_free(pl_trained_parameters *trained);

/* A popliner_weight_function, `user` is a pl_trained_parameters: the bytes over all tiles of an IPU
 * with these stages. O(1) for one stage, else O(sets * (units + stages)). */
uint64_t pl_trained_parameters_bytes(void *user, const popliner_interval *stages,
                                     size_t num_stages);

#endif
