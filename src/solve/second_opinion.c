/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/second_opinion.h"

#include "base/failure.h"
#include "costs/costs.h"
#include "solve/integer_program.h"

#include <inttypes.h>

/* The dynamic program's word is taken for more intervals than this. */
enum { MAX_CHECKED_COLUMNS = 12000 };

popliner_status pl_second_opinion(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                  const uint64_t *best, const pl_stop *stop,
                                  const popliner_listener *listener, popliner_error *error) {
    if (problem->depends_on_ipu || problem->depends_on_end || problem->is_mapped ||
        filter->max_spread != UINT64_MAX)
        return POPLINER_OK;
    pl_integer_program s = {.problem = problem, .filter = *filter};
    pl_split split = {0};
    pl_objective_values values = {0};
    double objective = 0.0;
    pl_mip_outcome outcome = PL_MIP_UNSOLVED;
    popliner_status status = pl_integer_program_collect(&s, error);
    if (status != POPLINER_OK || (best == NULL && s.num_columns == 0))
        goto done;
    if (s.num_columns > MAX_CHECKED_COLUMNS) {
        pl_tell(listener, POPLINER_LEVEL_DEBUG,
                "%zu intervals are too many for GLPK to be asked for a second opinion",
                s.num_columns);
        goto done;
    }
    status = pl_integer_program_build(&s, goal, error);
    if (status == POPLINER_OK && s.num_columns > 0) {
        popliner_error failure = {.message = ""};
        status =
            pl_integer_program_solve(&s, stop, listener, &outcome, &objective, &split, &failure);
        if (status == POPLINER_ERROR_INTERNAL) {
            /* no opinion is no contradiction: the proof stands without it */
            pl_tell(listener, POPLINER_LEVEL_WARNING, "No second opinion on the optimum: %s",
                    failure.message);
            status = POPLINER_OK;
            goto done;
        }
        if (status != POPLINER_OK)
            status = pl_fail(error, status, "%s", failure.message);
    }
    if (status != POPLINER_OK || (outcome == PL_MIP_UNSOLVED && s.num_columns > 0) ||
        outcome == PL_MIP_FEASIBLE)
        goto done;
    if (best != NULL && split.num_stages == 0) {
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "GLPK finds no split where the dynamic program has one");
        goto done;
    }
    if (split.num_stages == 0)
        goto done;
    status = pl_split_evaluate(problem, &split, &values, NULL, error);
    /* what is over the budget of cut bytes by less than the tolerance was not forbidden */
    if (status != POPLINER_OK || !pl_filter_admits(filter, &values))
        goto done;
    uint64_t value = goal == PL_GOAL_FEWEST_STAGES ? values.num_ipus : values.cut_bytes;
    double expected = best == NULL ? 0.0 : (double)*best / s.unit_of_one;
    if (best == NULL || value < *best ||
        (*best < PL_MAX_CUT_BYTES && objective > expected + pl_integer_program_tolerance(expected)))
        status = pl_fail(error, POPLINER_ERROR_INTERNAL,
                         "GLPK knows a split worth %" PRIu64
                         " that the dynamic program says there cannot be",
                         value);
done:
    pl_integer_program_clear(&s);
    pl_split_clear(&split);
    return status;
}
