/* popliner: how many stages, and how many replicas of the pipeline beside each other.
 *
 * With N IPUs there can be R pipelines of S stages each, S * R <= N. In a step each pipeline runs M
 * micro-batches, and then the replicas add up the gradients of their parameters. With C the cycles
 * of the slowest stage, V chunks on each IPU, and W the parameter bytes of the IPU that has most,
 *
 *   the pipeline takes   (M + (S - 1) / V) * C   cycles: M, and the bubble of S - 1 (over V, if
 *                        it is interleaved) micro-batches (Narayanan et al., arXiv 2104.04473, 2.2)
 *   the all-reduce       2 * (R - 1) / R * W / bandwidth: a ring's, on all stages at one time
 *                        (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009)
 *
 * Each is rounded up to whole cycles. The throughput is R * M micro-batches over their sum.
 *
 * Threads: replicas do not change once they are made, and any number of threads may read them at
 * once. The table is used as popliner/costs.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_REPLICAS_H
#define POPLINER_REPLICAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Asked for the costs of pipelines of so many stages that run so many micro-batches in a step, for
 * copies that depend on them. *costs stays the callee's, and is used until the next call. Errors
 * end the search; any number that is no popliner_status ends in USAGE. */
typedef popliner_status (*popliner_replicas_costs)(void *user, size_t num_stages,
                                                   uint64_t num_micro_batches,
                                                   const popliner_costs **costs,
                                                   popliner_error *error);

/* What is asked for. Begin with POPLINER_REPLICAS_OPTIONS_INIT. Pointers are the caller's. */
typedef struct popliner_replicas_options {
    size_t struct_size;
    /* What holds for each pipeline: limits, constraints, what to do when time is up. Its
     * objectives, but for CYCLES, come behind the throughput; max_stages limits the stages; without
     * slack and device map. time_limit_seconds is that of the whole search. NULL:
     * POPLINER_SOLVER_OPTIONS_INIT. */
    const popliner_solver_options *solver;
    size_t total_ipus; /* at least 1 */
    /* One of these is 0. Micro-batches of a step in each pipeline; or in all together: then M is
     * the batch divided by R, and only R that divide it come into question. */
    uint64_t micro_batches;
    uint64_t batch;
    size_t chunks; /* V: each IPU has so many stages, in turn; at least 1 */
    /* [units of the costs]: parameters whose gradients are added up; NULL: none */
    const uint64_t *parameter_bytes;
    /* What an IPU exchanges with other replicas: so many bytes in so many cycles. 0 bytes: the
     * all-reduce takes no time. */
    uint64_t bandwidth_bytes;
    uint64_t bandwidth_cycles;
    popliner_replicas_costs costs; /* NULL: those that are given always hold */
    void *costs_user;
    /* Where units share parameters: how many bytes of them an IPU has, each once. Instead of
     * parameter_bytes, which add up; NULL: those. */
    popliner_weight_function parameters;
    void *parameters_user;
} popliner_replicas_options;

#define POPLINER_REPLICAS_OPTIONS_INIT                                                             \
    { sizeof(popliner_replicas_options), NULL, 1, 1, 0, 1, NULL, 0, 1, NULL, NULL, NULL, NULL }

/* The best number of replicas for a number of IPUs that a pipeline has. */
typedef struct popliner_replicas_candidate {
    size_t num_ipus;          /* S */
    size_t num_replicas;      /* R; 0 if there is no such pipeline */
    uint64_t micro_batches;   /* M; here and below 0 without a pipeline */
    uint64_t cycles;          /* C */
    uint64_t parameter_bytes; /* W */
    uint64_t pipeline_cycles;
    uint64_t reduce_cycles;
    uint64_t step_cycles; /* both; UINT64_MAX for all that is larger */
    /* no pipeline of as many IPUs has more throughput, and of those with as many replicas and as
     * much none is better in the other objectives */
    bool is_proven;
    /* INFEASIBLE, without stages, if there is none; NULL if the search was stopped before */
    const popliner_plan *plan;
    /* [stages of the plan] the parameters of each; NULL without a pipeline or parameters */
    const uint64_t *stage_parameter_bytes;
} popliner_replicas_candidate;

/* The answer. Owned by the caller; free with popliner_replicas_free. */
typedef struct popliner_replicas popliner_replicas;

typedef struct popliner_replicas_summary {
    const popliner_replicas_candidate *candidates; /* [num_candidates], by the IPUs of a pipeline */
    size_t num_candidates;
    size_t best; /* that with the largest throughput, then the fewest IPUs, then the fewest
                    stages; SIZE_MAX if nothing fits */
    bool is_stopped;
    bool is_proven; /* all candidates are */
    /* If nothing fits, and the search was not stopped: the candidate that comes closest; SIZE_MAX
     * if no split is allowed however much memory there is, or something fits. */
    size_t closest;
    /* Why nothing fits, for the closest candidate, or if there is none, for pipelines of any
     * length: as popliner_solve tells it, with the best effort and what would be enough. So many
     * IPUs, or bytes, are those of one pipeline. NULL if something fits, the search was stopped, or
     * the solver's options want no reasons. */
    const popliner_plan *reason;
} popliner_replicas_summary;

/* Tries every number of IPUs of a pipeline from 1 on, each with every number of replicas, and
 * solves each exactly: no split has a larger throughput. `options` must not be NULL; costs must
 * have cycles. Errors: USAGE, MEMORY, INTERNAL, those of popliner_solve and of the callbacks.
 * Cost: for each number of stages a solve for cycles for each split that has fewer parameters on
 * its fullest IPU and might be better, mostly one or two, and one for the other objectives for each
 * of these with the best throughput, mostly one. If nothing fits, another one each for the largest
 * tile, and one with reasons. */
popliner_status popliner_replicas_solve(const popliner_costs *costs,
                                        const popliner_replicas_options *options,
                                        popliner_replicas **replicas, popliner_error *error);

/* As long as the answer. O(1). */
const popliner_replicas_summary *popliner_replicas_get_summary(const popliner_replicas *replicas);

/* The reason of the summary, which the caller then frees, and which is NULL there. */
popliner_plan *popliner_replicas_take_reason(popliner_replicas *replicas);

/* NULL is fine. */
void popliner_replicas_free(popliner_replicas *replicas);

#ifdef __cplusplus
}
#endif

#endif
