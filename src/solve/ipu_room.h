/* How much of a chain IPUs can hold at all where stages share them and units share code: a bound
 * that knows that an IPU with many units needs nearly all of the code.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_IPU_ROOM_H
#define PL_SOLVE_IPU_ROOM_H

#include "solve/problem.h"
#include "solve/stop.h"

/* IPUs that are alike: with as many stages, which need the same, and the same limit. */
typedef struct pl_room_kind {
    size_t first_stage; /* of one of them */
    size_t num_stages;
    size_t num_ipus;
    double *own_bytes;   /* [stages][units]: what a stage has more with the unit, at least */
    double *begin_bytes; /* [stages][units]: what it has beside that if it begins there */
    uint64_t *peaks;     /* of a stage alone: a triangle; else NULL */
} pl_room_kind;

/* Weights of units, and what is needed to know how much an IPU can hold of them. Zero-initialise;
 * free with pl_room_free. */
typedef struct pl_room {
    const pl_problem *problem;
    bool is_known;       /* whether anything is known of what units share */
    pl_room_kind *kinds; /* [num_kinds], the ones of all IPUs */
    size_t num_kinds;
    size_t *kind_of; /* [stages]: of the IPU, by its first stage */
    double *weights; /* [units], each at least 0 */
    double *sizes;   /* [units]: the weights that it begins with */
    double sum_of_weights;
    double usual_step;
    uint64_t *last_sets; /* [num_kinds]: the items that were left out where most was held */
} pl_room;

/* Errors: MEMORY. O(stages * units^2). */
popliner_status pl_room_create(pl_room *room, const pl_problem *problem, popliner_error *error);
void pl_room_free(pl_room *room);

/* No IPU with that first stage holds more of the weights within the limits. In double precision,
 * with a margin for what is rounded. As dear as some thousand walks along the chain, and never
 * more than a tenth of a second's worth. */
double pl_room_held(pl_room *room, const pl_limits *limits, size_t first_stage);

/* Looks for weights of which all IPUs together cannot hold the sum: then there is no split within
 * the limits. *is_impossible: there are, and room->weights are such; else they are those that come
 * nearest to it. Begins with room->weights, and takes at most so many steps. */
typedef struct pl_room_effort {
    size_t max_steps;
    double deadline_seconds;
    const pl_stop *stop;
} pl_room_effort;
popliner_status pl_room_rule_out(pl_room *room, const pl_limits *limits,
                                 const pl_room_effort *effort, bool *is_impossible,
                                 popliner_error *error);

#endif
