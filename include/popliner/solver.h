/* popliner: choosing the boundaries.
 *
 * The solvers know costs and limits, not profiles: see popliner/costs.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SOLVER_H
#define POPLINER_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum popliner_method {
    /* The dynamic program where it is exact, with GLPK's word that nothing is better where its
     * program is of a moderate size. Where stages share IPUs, GLPK alone; or, once it has learnt too
     * much for its programs to stay small, an exact search over all stages. */
    POPLINER_METHOD_ILP,
    POPLINER_METHOD_DYNAMIC_PROGRAMMING, /* without GLPK; not where stages share IPUs */
    POPLINER_METHOD_GREEDY, /* the algorithm of PopLiner 1.0.0, see popliner_solve_greedily */
} popliner_method;

/* What must be true of the place before a unit. */
typedef enum popliner_cut_rule {
    POPLINER_CUT_FREE,
    POPLINER_CUT_REQUIRED,
    POPLINER_CUT_FORBIDDEN,
} popliner_cut_rule;

/* Two units that must run on the same IPU. Unless IPUs are shared that is one stage, and so all
 * units between them are in it. */
typedef struct popliner_pair {
    size_t first_unit;
    size_t second_unit;
} popliner_pair;

/* A unit that must run on an IPU. */
typedef struct popliner_placement {
    size_t unit;
    size_t ipu;
} popliner_placement;

/* What is asked for. Begin with POPLINER_SOLVER_OPTIONS_INIT. Arrays are the caller's; each may be
 * NULL with its number 0. */
typedef struct popliner_solver_options {
    popliner_method method;

    /* What is best, in order: each is optimised within the optimum of those before it. None stands
     * for MEMORY, TRAFFIC; none twice. */
    const popliner_objective *objectives;
    size_t num_objectives;
    double slack_percent; /* each optimum may be missed by so much for the sake of the next ones */

    size_t max_stages;        /* at least 1; not looked at with a device map */
    uint64_t max_stage_bytes; /* no IPU may have a larger peak; or POPLINER_TARGET_BYTES */
    const popliner_ipu_limit *ipu_limits;
    size_t num_ipu_limits;

    size_t min_units; /* of a stage */
    size_t max_units; /* of a stage; 0 for any */
    /* What counts for these two: one mark per unit, 0 for those that do not (a chain's head and
     * tail). NULL: all do. */
    const uint8_t *counted_units;
    const popliner_cut_rule *cut_rules; /* one per unit (the first means nothing), or NULL */
    const popliner_pair *pairs;
    size_t num_pairs;
    const popliner_placement *placements;
    size_t num_placements;

    /* The IPU of each stage, in order: then there are exactly so many stages, and those on the same
     * IPU share its memory. Without it stage k runs on IPU k. */
    const size_t *device_map;
    size_t num_mapped_stages;

    /* When nothing fits, do not look for reasons: the plan stays empty, with the obstacle UNKNOWN. */
    bool without_reasons;

    double time_limit_seconds; /* 0 = none */
    /* Asked now and then whether to stop; may be NULL. */
    bool (*should_stop)(void *user);
    void *should_stop_user;

    /* How units are called in the names of contradicting constraints: NULL for their numbers. */
    const char *(*unit_name)(void *user, size_t unit);
    void *unit_name_user;

    const popliner_listener *listener; /* may be NULL */
} popliner_solver_options;

/* Instead of a limit, of which 0 is one: the memory of a tile of the profile's target, where there is
 * a profile, else none. */
#define POPLINER_TARGET_BYTES UINT64_MAX

#define POPLINER_SOLVER_OPTIONS_INIT                                                               \
    { .method = POPLINER_METHOD_ILP, .max_stages = 16, .max_stage_bytes = POPLINER_TARGET_BYTES }

/* Chooses stages that cover the chain, within all limits and constraints, so that
 *   1. the objectives are as small as possible, one after another (with slack: at most so much above
 *      the smallest possible),
 *   2. among these splits the cuts come as early as possible: the sorted lists of cuts are compared
 *      element by element, and a list is before any longer one that begins with it.
 * So the answer is unique, whatever the method.
 *
 * When no split is within the limits, the plan is INFEASIBLE and says why. Its stages are then the
 * best effort: the split with the smallest largest peak (then the earliest cuts) that the other
 * constraints allow; none, if they contradict each other.
 *
 * When time is up, or should_stop returns true, the plan holds the best that is known: FEASIBLE
 * with bounds, unless all is proven by then; INFEASIBLE, with the obstacle UNKNOWN and no stages, if
 * nothing is known yet.
 *
 * *plan must be empty (zeroed); the caller clears it. Errors: USAGE (an option that makes no sense,
 * by name), MEMORY, INTERNAL (GLPK failed or its answer does not check; the process goes on), and
 * those of the shared peaks.
 *
 * Cost: O(n^2 * stages) time for each value that is tried, about 40 for each objective; with peaks
 * that depend on the place or limits by IPU times the number of stages; BALANCE tries up to n^2
 * values. O(n * stages) memory besides the table. For ILP also GLPK's time, and up to 1 GiB. */
popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan *plan, popliner_error *error);

/* Writes the integer program of the first objective into the file `path`: one binary variable
 * z_K_I_J per stage K (0 where it does not matter which) and interval I ... J that is within limits
 * and constraints, and the largest value T. Where stages share IPUs, it holds what a solve with
 * these options had to add for their sake.
 * Errors: as popliner_solve, and OUTPUT. */
typedef enum popliner_program_format {
    POPLINER_PROGRAM_LP, /* CPLEX LP */
    POPLINER_PROGRAM_MPS /* free MPS */
} popliner_program_format;
popliner_status popliner_solver_write(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      popliner_program_format format, const char *path,
                                      popliner_error *error);

/* The greedy algorithm of PopLiner 1.0.0, to the letter: for at least 3, then 2, then 1 units per
 * stage, for a target of 50, 60, ... 100 % of options->max_stage_bytes, stages are filled one after
 * another with as many units as keep the peak within the target; the first attempt that places all
 * units in at most options->max_stages stages wins. Each attempt is announced to the listener.
 * Without a success the plan is INFEASIBLE and holds the stages of the last attempt, which may not
 * cover the chain and may be none. Peaks are asked for on demand.
 *
 * Of the options only these two and the listener count. cut_bytes and cycles stay 0, and there are
 * no values: this solver knows no other costs. Errors: USAGE, MEMORY, and whatever `peak` returns. */
popliner_status popliner_solve_greedily(size_t num_units, popliner_peak_function peak, void *user,
                                        const popliner_solver_options *options, popliner_plan *plan,
                                        popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
