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
 * the mean of the other's choices so far (fictitious play: Brown 1951; Robinson 1951).
 *
 * For a target, stages that no split within it has for some mean of paths are left out (reduced
 * costs); if none is left, every step is longer. Zero-initialise, then set the first group. */
typedef struct pl_step_game {
    const pl_step_graph *graph;
    const pl_order *order;
    size_t num_units;
    pl_step_arc *arcs; /* by `from`, then by `to` */
    size_t num_arcs;
    uint64_t *work; /* as of pl_step_search */
    const pl_stop *stop;
    pl_arrays *arrays;

    uint64_t bound;      /* no step takes less */
    uint64_t cycles;     /* of the shortest split that was drawn; UINT64_MAX at first */
    size_t *first_units; /* [num_stages] of that split */

    size_t num_parts;
    pl_step_arc *open; /* the stages that are left for the least target that was not refuted */
    size_t num_open;
    size_t num_turns;  /* so far, as long as they count */
    double *passes;    /* [num_parts] of the mean path */
    double *mean;      /* [num_parts] cycles of the mean split */
    double *least[2];  /* [(num_stages + 1) * (num_units + 1)] of the stages before, and after */
    uint32_t *next;    /* of those after, the first one */
    uint64_t *refuted; /* [num_units] the largest target that no split has whose second chunk begins
                          with it (step_sweep), and the last unit for which one was not refuted */
    size_t hard_unit;
    double *chains; /* [devices][num_parts] the passes of a path through all those of a device */
    double *mixed;  /* [num_parts] scratch, as those below */
    uint64_t *of_parts;
    uint32_t *counts;
} pl_step_game;

/* Plays for a bound, UINT64_MAX if the stages make no split, and for a short split. Errors:
 * MEMORY. */
popliner_status pl_step_game_begin(pl_step_game *game, popliner_error *error);

/* Raises the bound towards the step of a known split. Once: then stages are left out that longer
 * steps may have. */
void pl_step_game_prove(pl_step_game *game, uint64_t step);

/* A sum of a split is at least so much of what the rounded one says. */
#define PL_STEP_CERTAIN (1 - 1e-9)

/* Returns the cycles of a stage's passes, each so many times: of its kinds, or of all parts. */
static inline double pl_step_take(const double *times, const pl_step_arc *arc) {
    return times[0] * arc->cycles[0] + times[1] * arc->cycles[1] + times[2] * arc->cycles[2];
}
static inline double pl_step_game_take(const pl_step_game *g, const double *passes,
                                       const pl_step_arc *arc) {
    return pl_step_take(&passes[arc->from / (g->num_units + 1) * PL_NUM_PASS_KINDS], arc);
}

static inline void pl_step_game_work(const pl_step_game *g, uint64_t units) {
    *g->work -= units < *g->work ? units : *g->work;
}

/* Leaves out stages that no split within a target has, and finds the least that those after each
 * place take for the mean path; false if none are left. */
bool pl_step_game_leave_out(pl_step_game *game, uint64_t target);

/* True if no split of the stages that are left has a step within a target (step_sweep). */
bool pl_step_sweep_refutes(pl_step_game *game, uint64_t target);

#endif
