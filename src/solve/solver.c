/* Two ways to the same answer. The dynamic program finds the optimal values and, by walking its
 * tables, the earliest of the splits that have them. The integer program is solved besides it when
 * asked for: the dynamic program's values leave intervals out of it and bound it, and its own split
 * must have exactly these values, added up in integers; anything else is an error, not an answer.
 *
 * Neither looks at max_stage_bytes: the smallest possible peak is the same with and without that
 * limit, or there is no split within it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/solver.h"

#include "base/failure.h"
#include "solve/costs.h"
#include "solve/dynamic_program.h"
#include "solve/interval_program.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <math.h>

/* What GLPK may take; it fails, cleanly, when it wants more. */
#define GLPK_MEMORY_MIB 1024

/* An answer of the integer program against the bound of the dynamic program. */
static popliner_status compare(const pl_program_answer *answer, const char *what,
                               uint64_t bound_bytes, const popliner_listener *listener,
                               popliner_error *error) {
    if (answer->out_of_time) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "GLPK ran out of time over the %s; the answer rests on the dynamic program alone",
                what);
        if (answer->split.num_stages == 0 || answer->value_bytes >= bound_bytes)
            return POPLINER_OK;
    }
    if (answer->split.num_stages == 0)
        return pl_fail(error, POPLINER_ERROR_INTERNAL,
                       "GLPK finds no split where the dynamic program has one with %" PRIu64
                       " bytes as the %s",
                       bound_bytes, what);
    if (answer->value_bytes == bound_bytes)
        return POPLINER_OK;
    /* given up among splits that GLPK cannot tell apart: unproven, but no contradiction */
    if (answer->value_bytes > bound_bytes && !answer->proven) {
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "GLPK cannot tell splits apart whose %s differ by %" PRIu64
                " bytes; the answer rests on the dynamic program alone",
                what, answer->value_bytes - bound_bytes);
        return POPLINER_OK;
    }
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "GLPK's optimum for the %s is %" PRIu64
                   " bytes, that of the dynamic program %" PRIu64,
                   what, answer->value_bytes, bound_bytes);
}

/* Solves both programs with GLPK and compares their answers with the values known. */
static popliner_status solve_programs(const popliner_costs *costs,
                                      const popliner_solver_options *options, uint64_t peak_bytes,
                                      uint64_t cut_bytes, popliner_error *error) {
    pl_glpk_limits limits = {
        .memory_mib = GLPK_MEMORY_MIB, .deadline_seconds = INFINITY, .listener = options->listener};
    if (options->time_limit_seconds > 0.0)
        limits.deadline_seconds = pl_clock_seconds() + options->time_limit_seconds;
    pl_program_answer peak = {0};
    pl_program_answer cuts = {0};
    popliner_status status = pl_program_smallest_peak(costs, options->max_stages, peak_bytes,
                                                      peak_bytes, &limits, &peak, error);
    if (status == POPLINER_OK)
        status = compare(&peak, "largest peak", peak_bytes, options->listener, error);
    /* sums that were cut off are all the same: nothing is left to be minimised */
    if (status != POPLINER_OK || cut_bytes == PL_MOST_CUT_BYTES)
        goto done;
    status = pl_program_fewest_cut_bytes(costs, options->max_stages, peak_bytes, cut_bytes,
                                         cut_bytes, &limits, &cuts, error);
    if (status == POPLINER_OK)
        status = compare(&cuts, "cut bytes", cut_bytes, options->listener, error);
done:
    pl_split_clear(&peak.split);
    pl_split_clear(&cuts.split);
    return status;
}

popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan *plan, popliner_error *error) {
    if (options->max_stages == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "at least one stage must be allowed");
    if (options->method != POPLINER_METHOD_ILP &&
        options->method != POPLINER_METHOD_DYNAMIC_PROGRAMMING)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no solving method %d",
                       (int)options->method);
    if (isnan(options->time_limit_seconds) || options->time_limit_seconds < 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the time limit of the solver must not be negative, but it is %g seconds",
                       options->time_limit_seconds);

    pl_split split = {0};
    uint64_t peak_bytes;
    uint64_t cut_bytes;
    popliner_status status = pl_smallest_peak(costs, options->max_stages, &peak_bytes, error);
    if (status != POPLINER_OK)
        goto done;
    if (peak_bytes == POPLINER_PEAK_FORBIDDEN) {
        plan->status = POPLINER_PLAN_INFEASIBLE;
        goto done;
    }
    status =
        pl_earliest_best_split(costs, options->max_stages, peak_bytes, &split, &cut_bytes, error);
    if (status == POPLINER_OK && options->method == POPLINER_METHOD_ILP)
        status = solve_programs(costs, options, peak_bytes, cut_bytes, error);
    if (status == POPLINER_OK)
        status = pl_plan_fill(costs, &split, plan, error);
    if (status == POPLINER_OK)
        status = pl_plan_check(costs, plan, options->max_stages, peak_bytes, cut_bytes, error);
    if (status != POPLINER_OK)
        goto done;

    if (peak_bytes > options->max_stage_bytes) {
        plan->status = POPLINER_PLAN_INFEASIBLE;
    } else {
        plan->bounds_known = true;
        plan->peak_bound = peak_bytes;
        plan->cut_bound = cut_bytes;
        bool proven = plan->peak_bytes == plan->peak_bound && plan->cut_bytes == plan->cut_bound;
        plan->status = proven ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_FEASIBLE;
    }
done:
    pl_split_clear(&split);
    if (status != POPLINER_OK)
        popliner_plan_clear(plan);
    return status;
}
