/* A chain on devices of which each stage takes some: a dynamic program over the units that are left
 * and the state of the devices, which says what the stages from there on have taken.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_DEVICE_STATES_H
#define PL_SOLVE_DEVICE_STATES_H

#include "solve/search.h"

/* The stages from a unit on with the fewest cut bytes, in a state. */
typedef struct pl_state_rest {
    uint64_t cut_bytes; /* UINT64_MAX: there are none */
    uint32_t end;       /* the unit after the first of these stages */
    uint32_t later;     /* the state without it */
} pl_state_rest;

/* Zero-initialise; set the first members; free with pl_device_states_free. */
typedef struct pl_device_states {
    pl_problem problem; /* owned */
    size_t num_states;  /* state 0: none is taken */
    size_t *num_ipus;   /* [num_states] that are taken; above max_ipus: the state is not allowed */
    size_t max_ipus;
    /* Prepares for limits; NULL: nothing to do. Errors: MEMORY. */
    popliner_status (*prepare)(void *user, const pl_limits *limits, popliner_error *error);
    /* Calls pl_device_states_add for all stages that begin with a unit. */
    void (*add_stages)(void *user, const pl_limits *limits, size_t first_unit);
    /* Completes a stage, whose units are set, of a split in order; returns its load. */
    pl_load (*complete)(void *user, size_t state, size_t later, popliner_plan_stage *stage);
    void *user;

    pl_state_rest *rests;        /* [num_states][units + 1] */
    popliner_plan_stage *stages; /* [num_stages] of the last split; room for [units] */
    size_t num_stages;
    pl_arrays arrays; /* own the arrays, also those of the caller */
} pl_device_states;

/* Makes the tables of the states. Errors: MEMORY. */
popliner_status pl_device_states_begin(pl_device_states *states, popliner_error *error);
void pl_device_states_free(pl_device_states *states);

/* True if there are stages from a unit on in a state. */
static inline bool pl_device_states_have(const pl_device_states *states, size_t unit,
                                         size_t state) {
    return states->rests[state * (states->problem.num_units + 1) + unit].cut_bytes < UINT64_MAX;
}

/* Adds a stage first_unit ... end_unit - 1 that turns the state `later` into `state`. */
void pl_device_states_add(pl_device_states *states, size_t first_unit, size_t end_unit,
                          size_t later, size_t state);

/* Minimises the objectives, then finds a split on the fewest devices: fills an empty plan, which
 * has no stages if there is none. Errors: MEMORY, INTERNAL. O(units) calls of add_stages for each
 * split that is looked for. */
popliner_status pl_device_states_optimise(pl_device_states *states, const pl_stop *stop,
                                          const popliner_objective *objectives,
                                          size_t num_objectives, popliner_plan *plan,
                                          popliner_error *error);

#endif
