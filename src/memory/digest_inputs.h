/* Inputs to making the tiles of a digest, for all tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_MEMORY_DIGEST_INPUTS_H
#define PL_MEMORY_DIGEST_INPUTS_H

#include <assert.h>

#include "memory/digest.h"

/* Consecutive liveness steps of one unit. */
typedef struct pl_step_run {
    uint32_t first_step;
    uint32_t end_step;
    uint32_t unit;
} pl_step_run;

typedef struct pl_digest_inputs {
    pl_arrays arrays; /* own all arrays */
    /* State and code of all programs of the same units, [rows][tiles]; the sets, by row. */
    uint64_t *set_bytes[PL_NUM_CODE_GROUPS];
    pl_keys rows;
    /* The units that need each vertex type on each tile, [types][tiles]: at last sets of the pass
     * usage; and its code there. */
    pl_unit_sets type_sets;
    uint32_t *type_set;
    uint64_t *type_code_bytes;
    pl_step_run *runs;
    uint32_t *run_of_step;  /* [num_steps] */
    uint8_t *is_break;      /* [num_steps + 1]: a segment begins on every tile */
    uint8_t *class_matters; /* [num_classes]: its variables may be stored; like the next two only
                               for a digest that is pipelined */
    uint8_t *is_fed;        /* [num_variables] */
    pl_waits waits;
} pl_digest_inputs;

#endif
