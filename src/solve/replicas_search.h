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
#define PL_REPLICAS_MAX_WORK (UINT64_C(1) << 27)

/* The best splits of a pipeline: each has fewer parameters on its fullest IPU than the split before
 * it, and at least as many cycles. */
typedef struct pl_replicas_point {
    uint64_t cycles;
    uint64_t parameter_bytes;
} pl_replicas_point;

typedef struct pl_replicas_walk {
    size_t num_ipus;
    uint64_t least_bytes; /* a lower bound of the parameters on the fullest IPU */
    pl_replicas_point *points;
    size_t count;
    size_t capacity;
    bool is_at_end;
    bool is_stopped;        /* the points may not be optimal */
    uint64_t micro_batches; /* of which the costs are; 0: not known */
    popliner_plan *first;   /* the plan of the first point, for simulations to begin with */
} pl_replicas_walk;

typedef struct pl_replicas_search {
    const popliner_costs *given; /* for the current pipeline */
    const popliner_costs *costs; /* these, or a table of `fixed` */
    pl_step_fixed fixed;
    size_t way; /* of the table, from 1 on; 0: none */
    /* if stages choose: the best plans of stages that recompute alike, as long as those in
     * question; NULL if there is none */
    const popliner_plan *starts[PL_MOST_FIXED];
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
    popliner_pipeline pipeline;         /* if steps are simulated: with the current micro-batches */
    size_t num_lengths;                 /* of pipelines */
    uint64_t work;                      /* that simulations may still do */
    uint64_t fixed_work[PL_MOST_FIXED]; /* those of `starts` */
} pl_replicas_search;

/* ---- one pipeline ---- */

/* Returns the candidate of a point, by the formulas. */
popliner_replicas_candidate pl_replicas_candidate_of(const pl_replicas_search *s,
                                                     const pl_replicas_walk *w, size_t num_replicas,
                                                     uint64_t micro_batches, pl_replicas_point p);

/* Returns 1, 0 or -1: whether a has more throughput than b. Any is more than none. */
int pl_replicas_compare(const popliner_replicas_candidate *a, const popliner_replicas_candidate *b);

/* Returns how much more throughput than `now` a pipeline might have of which `before` knows as
 * much. */
double pl_replicas_gap(const popliner_replicas_candidate *before,
                       const popliner_replicas_candidate *now);

/* Returns the cycles of an all-reduce, and the most parameters for which it takes at most so many;
 * these must be enough for none. */
uint64_t pl_replicas_reduce_cycles(const pl_replicas_search *s, size_t num_replicas,
                                   uint64_t parameter_bytes);
uint64_t pl_replicas_most_reduced(const pl_replicas_search *s, size_t num_replicas,
                                  uint64_t reduce_cycles);

/* Returns the parameters of the IPU with most. */
uint64_t pl_replicas_most_parameters(const pl_replicas_search *s, const pl_replicas_walk *w,
                                     const popliner_plan *plan);

/* Returns the micro-batches of each of num_replicas pipelines; 0 if they do not divide the
 * batch. */
uint64_t pl_replicas_share(const pl_replicas_search *s, size_t num_replicas);

/* Returns the options for a pipeline of w->num_ipus IPUs, without objectives. */
popliner_solver_options pl_replicas_options_of(pl_replicas_search *s, const pl_replicas_walk *w);

/* Solves within the remaining time, and within a filter that is not NULL. *plan is NULL if no time
 * was left. */
popliner_status pl_replicas_solve_within(pl_replicas_search *s, popliner_solver_options *o,
                                         const pl_filter *filter, popliner_plan **plan,
                                         popliner_error *error);

void pl_replicas_begin_walk(const pl_replicas_search *s, pl_replicas_walk *w);

/* Gets the costs for a number of micro-batches, restarts the walk, and sets *obstacle to the reason
 * why no steps are simulated although that is wanted; else to NULL. */
popliner_status pl_replicas_find_costs(pl_replicas_search *s, pl_replicas_walk *w,
                                       uint64_t micro_batches, const char **obstacle,
                                       popliner_error *error);

/* The all-reduce of a number of replicas. */
typedef struct pl_replicas_reduction {
    const pl_replicas_search *s;
    size_t num_replicas;
} pl_replicas_reduction;

/* Returns a question about steps of any length, without starts. */
pl_step_question pl_replicas_question(const pl_replicas_reduction *reduced,
                                      const pl_replicas_walk *w, const popliner_solver_options *o);

/* Returns the candidate of an answer, whose plan it takes. */
popliner_replicas_candidate pl_replicas_take(const pl_replicas_reduction *reduced,
                                             const pl_replicas_walk *w,
                                             const pl_step_answer *found);

/* Sets the parameters of each stage of the candidate's plan. */
popliner_status pl_replicas_set_parameters(const pl_replicas_search *s,
                                           popliner_replicas_candidate *c, popliner_error *error);

/* Finds the best pipelines of num_ipus IPUs. The caller frees what the candidate has. Errors: those
 * of popliner_replicas_solve. */
popliner_status pl_replicas_find(pl_replicas_search *s, size_t num_ipus,
                                 popliner_replicas_candidate *best, popliner_error *error);

/* ---- all pipelines ---- */

/* Gives a candidate of simulated steps whose stages choose the best plan in the other objectives,
 * of all with its stages, replicas and throughput. Errors: those of popliner_replicas_solve. */
popliner_status pl_replicas_refine(pl_replicas_search *s, popliner_replicas_candidate *c,
                                   popliner_error *error);

/* Replaces candidates by those that the slack of the throughput allows, as popliner/replicas.h says
 * of slack_percent, and sets answer->best. Errors: those of popliner_replicas_solve. */
popliner_status pl_replicas_settle(pl_replicas_search *s, popliner_replicas *answer,
                                   popliner_error *error);

#endif
