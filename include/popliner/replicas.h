/* popliner: chooses the number of stages, and the number of data-parallel replicas of the pipeline.
 *
 * With N IPUs there can be R pipelines of S stages each, S * R <= N. In a step each pipeline runs M
 * micro-batches, and then the replicas add up the gradients of their parameters. With C the cycles
 * of the slowest stage, V chunks on each IPU, and W the parameter bytes of the IPU that has most,
 *
 *   the pipeline takes   what a simulation of the schedule takes (docs/costs.md). Where none is
 *                        wanted, or no order is known:
 *                        (M + (S - 1) / V) * C   cycles: M micro-batches, and a bubble of S - 1
 *                        (divided by V, if interleaved) (Narayanan et al., arXiv 2104.04473, 2.2)
 *   the all-reduce       2 * (R - 1) / R * W / bandwidth: a ring's, on all stages at one time
 *                        (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69, 2009)
 *
 * Each is rounded up to whole cycles. The throughput is R * M micro-batches divided by their sum.
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
#include "popliner/pipeline.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sets *costs to the costs of num_replicas pipelines of num_stages stages that run
 * num_micro_batches each in a step, for copies that depend on these, and memory that replicas
 * divide. The callback keeps ownership of *costs, which must live until its next call. Errors
 * end the search; a number that is no popliner_status becomes USAGE. */
typedef popliner_status (*popliner_replicas_costs)(void *user, size_t num_stages,
                                                   size_t num_replicas, uint64_t num_micro_batches,
                                                   const popliner_costs **costs,
                                                   popliner_error *error);

/* Options of the search. Begin with POPLINER_REPLICAS_OPTIONS_INIT. Pointers are the caller's. */
typedef struct popliner_replicas_options {
    size_t struct_size;
    /* Limits and constraints of each pipeline. Its objectives, except for CYCLES, follow the
     * throughput; num_ipus is the most IPUs of a pipeline; the device map must be unset.
     * time_limit_seconds is for the whole search. NULL: POPLINER_SOLVER_OPTIONS_INIT.
     *
     * Not with slack: the front of throughput and memory says more.
     *
     * Stages may choose how they recompute (POPLINER_RECOMPUTE_AUTO), as popliner/solver.h says; of
     * a simulated step, within the least memory for it if MEMORY is an objective. Not with BALANCE
     * then, nor with several stages on an IPU. */
    const popliner_solver_options *solver;
    size_t total_ipus; /* 1 to POPLINER_MAX_IPU + 1 */
    /* Micro-batches of a step in each pipeline, or in all together; one of the two is 0. With
     * `batch`, M is the batch divided by R, and only divisors R of the batch are tried. */
    uint64_t micro_batches;
    uint64_t batch;
    size_t chunks; /* V: stages on each IPU, interleaved unless is_v says otherwise; at least 1 */
    /* [units of the costs]: parameters whose gradients are added up; NULL: none */
    const uint64_t *parameter_bytes;
    /* The bandwidth of an IPU to other replicas, as popliner_ipu_link has it. 0 bytes: the
     * all-reduce takes no time. */
    uint64_t bandwidth_bytes;
    uint64_t bandwidth_cycles;
    popliner_replicas_costs costs; /* NULL: the costs that were passed hold for all pipelines */
    void *costs_user;
    /* For units that share parameters: returns the parameter bytes of an IPU, each parameter once.
     * Replaces parameter_bytes, which are added up; NULL: parameter_bytes. */
    popliner_weight_function parameters;
    void *parameters_user;
    /* Its schedule and copies' rule have the order of the passes of a simulated step; other members
     * are ignored. popliner_analysis_solve_replicas uses those of its request instead. NULL: no
     * step is simulated, the formula counts. */
    const popliner_pipeline *pipeline;
    /* The answer is the Pareto front of throughput and memory. */
    bool is_front;
    /* True if the callback's costs also depend on the number of replicas, for which it is then
     * asked again. */
    bool costs_follow_replicas;
    size_t min_ipus; /* the fewest IPUs of a pipeline; 0: any. At most total_ipus and num_ipus. */
    bool is_v;       /* the two chunks of each IPU go there and back; copies may need min_ipus 2 */
} popliner_replicas_options;

#define POPLINER_REPLICAS_OPTIONS_INIT                                                             \
    {                                                                                              \
        sizeof(popliner_replicas_options), NULL, 1, 1, 0, 1, NULL, 0, 1, NULL, NULL, NULL, NULL,   \
            NULL, false, false, 0, false                                                           \
    }

/* The best number of replicas for pipelines of one number of IPUs. */
typedef struct popliner_replicas_candidate {
    size_t num_ipus;          /* S */
    size_t num_replicas;      /* R; 0 if there is no such pipeline */
    uint64_t micro_batches;   /* M; this and the members below are 0 without a pipeline */
    uint64_t cycles;          /* C */
    uint64_t parameter_bytes; /* W */
    uint64_t pipeline_cycles;
    uint64_t reduce_cycles;
    uint64_t step_cycles; /* sum of both; UINT64_MAX if larger */
    /* True if no pipeline of as many IPUs has more throughput. By the formula the split is the one
     * with the fewest cycles, and with these the best in the other objectives; another may have
     * fewer parameters. */
    bool is_proven;
    /* INFEASIBLE, without stages, if there is none; NULL if the search was stopped before */
    const popliner_plan *plan;
    /* [stages of the plan] parameter bytes of each; NULL without a pipeline or parameters */
    const uint64_t *stage_parameter_bytes;
    /* If no candidate fits: an INFEASIBLE plan that has the smallest peak of such pipelines; else
     * NULL, as with without_reasons */
    const popliner_plan *best_effort;
    /* The simulated step. Without one its cycles are 0, and pipeline_cycles are those of the
     * formula; if one was wanted, step.obstacle says why there is none. */
    popliner_pipeline_step step;
    /* How much more throughput another pipeline of as many IPUs might have: 0.02 is 2 %. 0 if none
     * has more. */
    double gap;
} popliner_replicas_candidate;

/* The answer. Owned by the caller, who reads it and changes nothing; free with
 * popliner_replicas_free. Later versions may append members. */
typedef struct popliner_replicas {
    popliner_replicas_candidate *candidates; /* [num_candidates], ascending by num_ipus */
    size_t num_candidates;
    size_t
        /* the largest throughput, then the fewest IPUs, then the fewest stages; SIZE_MAX if nothing
         * fits */
        best;
    bool is_stopped;
    bool is_proven; /* true if all candidates are */
    /* If nothing fits, and the search was not stopped: the candidate that comes closest. SIZE_MAX
     * if no split is allowed even with unlimited memory, or something fits. */
    size_t closest;
    /* The reason why nothing fits, for the closest candidate, or without one for pipelines of any
     * length: an INFEASIBLE plan of popliner_solve, with the best effort and remedies. IPUs and
     * bytes are those of one pipeline, but with a callback for costs enough_stages is the
     * total_ipus that is enough (or, if it is not above total_ipus, the num_ipus). NULL if
     * something fits, the search was stopped, or the solver's options have without_reasons. The
     * caller may take it and leave NULL here. */
    popliner_plan *reason;
    /* That of the options. If true and something fits, the candidates are the points of the front,
     * from the best on: each has the largest throughput of all pipelines with less memory
     * than those before it, the least memory for that, then the fewest IPUs, then the fewest
     * stages, and is the best of these in the other objectives. is_proven and gap of each are those
     * of pipelines of any number of IPUs; one that is not proven may have too little throughput, or
     * too much memory. is_proven of the answer is true if the front is complete, and all are. */
    bool is_front;
} popliner_replicas;

/* Tries every number of IPUs of a pipeline from min_ipus on, each with every number of replicas,
 * and solves each exactly: no split has a larger throughput. With simulated steps the splits of the
 * least bounds are simulated, and moved, within a fixed amount of work (some seconds): the gap says
 * how much is open, and is_proven is true if nothing is. `options` must not be NULL; costs must
 * have cycles. Errors: USAGE, MEMORY, INTERNAL, those of popliner_solve and of the callbacks. Cost:
 * for each number of stages, one solve for cycles for each split that has fewer parameters on its
 * fullest IPU and might be better (usually one or two), and one solve for the other objectives for
 * each of these with the best throughput (usually one). If nothing fits, another solve each for
 * peak memory, and one with reasons. A front takes further solves, with as much work, for each
 * point: those of numbers of stages that might be the best within less memory. */
popliner_status popliner_replicas_solve(const popliner_costs *costs,
                                        const popliner_replicas_options *options,
                                        popliner_replicas **replicas, popliner_error *error);

/* Chooses the split, and on how many IPUs each stage runs, for IPUs that are alike: num_ipus of the
 * solver's options in all. Each of the n IPUs of a stage, its replicas, runs every n-th micro-batch
 * with all of the stage's parameters W, whose gradients they add up meanwhile. A micro-batch then
 * takes (Narayanan et al., PipeDream, SOSP 2019, section 3.1), each rounded up,
 *
 *   the stage       max(cycles / n, 2 * (n - 1) * W / (n * bandwidth))
 *   a cut           its bytes / link_bandwidth, at the same time as the stages; 0 without one
 *
 * and `cycles` of the plan is the largest of these. An IPU stores as many micro-batches as that of
 * a stage with L / n stages after it, rounded up, if the later stages run on L IPUs. Objectives are
 * those of the solver's options; without any CYCLES, MEMORY, TRAFFIC. Of plans that are as good,
 * it is the one on the fewest IPUs, then with the fewest cut bytes, then the earliest cuts. If
 * nothing fits, it is the plan of popliner_solve, whose reasons are those of one IPU for each
 * stage. Exact: a dynamic program over the remaining units and the IPUs of their stages. Of the
 * options only the solver's, the parameters and the bandwidth matter. The caller frees *plan.
 * Errors: USAGE, also for a device map, placements, single limits, speeds or links, a
 * weight, BALANCE, TOKENS, copies that depend on the number of stages, and stages that choose what
 * they recompute; MEMORY, INTERNAL.
 * Cost: O(n^2 * num_ipus) for each value that is tried, about 40 for each objective. */
popliner_status popliner_replicas_solve_stages(const popliner_costs *costs,
                                               const popliner_replicas_options *options,
                                               popliner_plan **plan, popliner_error *error);

/* Returns how much more throughput than the best candidate any pipeline might have: 0 if none has
 * more, negative if that is unknown, as the search was stopped. Something fits. O(candidates). */
double popliner_replicas_gap(const popliner_replicas *replicas);

/* Frees an answer. NULL is fine. */
void popliner_replicas_free(popliner_replicas *replicas);

#ifdef __cplusplus
}
#endif

#endif
