/* A lower bound of the shortest step, as the value of a game.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_STEP_GAME_H
#define PL_SOLVE_STEP_GAME_H

#include "solve/step.h"
#include "solve/stop.h"

/* A stage of some units. */
typedef struct pl_step_arc {
    uint32_t from; /* stage * (num_units + 1) + its first unit */
    uint32_t to;   /* (stage + 1) * (num_units + 1) + its end */
    double cycles[PL_NUM_PASS_KINDS];
} pl_step_arc;

/* One player draws splits, the other one paths through the passes of a step, which takes as long as
 * the longest path. A mean of paths takes some passes of each stage, so the split that is shortest
 * for it is a shortest path itself, and no step is shorter than that. Each player in turn answers
 * the mean of the other's choices so far (fictitious play: Brown 1951; Robinson 1951). Stages that
 * no step within `most` has, for some mean of paths, are left out (reduced costs). */
typedef struct pl_step_game {
    const pl_step_graph *graph;
    const pl_order *order;
    size_t num_units;
    uint64_t most;     /* longer steps do not count */
    pl_step_arc *arcs; /* by `from`, then by `to` */
    size_t num_arcs;
    uint64_t *work; /* as of pl_step_search */
    const pl_stop *stop;
} pl_step_game;

/* Plays for *bound: no step that counts takes less; UINT64_MAX if none counts. Errors: MEMORY. */
popliner_status pl_step_game_play(pl_step_game *game, uint64_t *bound, popliner_error *error);

#endif
