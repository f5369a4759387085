/* Inner view of the search for stages and replicas: what its files share.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_REPLICAS_SEARCH_H
#define PL_SOLVE_REPLICAS_SEARCH_H

#include "popliner/replicas.h"
#include "solve/objective.h"
#include "solve/step_search.h"

/* How much work the simulations of all pipelines may take, in units of pl_step_search: some
 * seconds. */
#define PL_REPLICAS_MAX_WORK (UINT64_C(1) << 28)

/* Pipelines of one number of IPUs. */
typedef struct pl_replicas_walk {
    size_t num_ipus;
    uint64_t least_bytes;   /* a lower bound of the parameters on the fullest IPU */
    bool is_stopped;        /* the fastest split may not be optimal */
    uint64_t micro_batches; /* of which the costs are; 0: not known */
    size_t num_replicas;
    popliner_plan *fastest; /* by the first objectives; NULL: there is none */
    size_t num_objectives;  /* of these; 0: not known */
} pl_replicas_walk;

typedef struct pl_replicas_search {
    const popliner_costs *costs; /* for the current pipeline */
    popliner_replicas_options options;
    popliner_solver_options solver;
    popliner_ipu_value *ipu_limits; /* those of the solver, where they shrink; or NULL */
    /* the cycles, then the caller's objectives */
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    size_t num_objectives;
    size_t num_units;
    /* Returns the parameters of an IPU; NULL if there are none. */
    popliner_weight_function parameters;
    void *parameters_user;
    uint64_t *parameters_before; /* [num_units + 1] sums over earlier units, if parameters add up */
    pl_arrays arrays;
    size_t *device_map;          /* [num_units] */
    popliner_interval *together; /* [num_units] */
    pl_stop stop;
    bool is_stopped;
    popliner_pipeline pipeline; /* if steps are simulated: with the current micro-batches */
    uint64_t work;              /* that simulations may still do */
} pl_replicas_search;

/* ---- one pipeline ---- */

/* Returns 1, 0 or -1: whether a has more throughput than b. Any is more than none. */
int pl_replicas_compare(const popliner_replicas_candidate *a, const popliner_replicas_candidate *b);

/* Returns how much more throughput than `now` a pipeline might have of which `before` knows as
 * much. */
double pl_replicas_gap(const popliner_replicas_candidate *before,
                       const popliner_replicas_candidate *now);

/* Returns the micro-batches of each of num_replicas pipelines; 0 if they do not divide the
 * batch. */
uint64_t pl_replicas_share(const pl_replicas_search *s, size_t num_replicas);

/* Returns the options for a pipeline of w->num_ipus IPUs, without objectives. */
popliner_solver_options pl_replicas_options_of(pl_replicas_search *s, const pl_replicas_walk *w);

/* Solves within the remaining time. *plan is NULL if no time was left. */
popliner_status pl_replicas_solve(pl_replicas_search *s, popliner_solver_options *o,
                                  popliner_plan **plan, popliner_error *error);

/* Gets the costs for so many replicas and micro-batches of each, restarts the walk, and sets
 * *obstacle to the reason why no steps are simulated although that is wanted; else to NULL. */
popliner_status pl_replicas_find_costs(pl_replicas_search *s, pl_replicas_walk *w,
                                       size_t num_replicas, uint64_t micro_batches,
                                       const char **obstacle, popliner_error *error);

/* Finds the best pipelines of num_ipus IPUs. The caller frees what the candidate has. Errors: those
 * of popliner_replicas_solve. */
popliner_status pl_replicas_find(pl_replicas_search *s, size_t num_ipus,
                                 popliner_replicas_candidate *best, popliner_error *error);

#endif
