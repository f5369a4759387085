/* Replaces glpk_session.c in builds without GLPK: reports that it is missing.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/glpk_session.h"

#include "base/failure.h"

bool pl_glpk_exists(void) {
    return false;
}

static popliner_status fail_absent(popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "integer programs need GLPK, which this libpopliner was built without "
                   "(POPLINER_GLPK=OFF)");
}

popliner_status pl_glpk_solve(const pl_mip *program, const pl_glpk_limits *limits, double *values,
                              pl_mip_outcome *outcome, popliner_error *error) {
    (void)program;
    (void)limits;
    (void)values;
    *outcome = PL_MIP_UNSOLVED;
    return fail_absent(error);
}

popliner_status pl_glpk_write(const pl_mip *program, const pl_glpk_text *text,
                              popliner_error *error) {
    (void)program;
    (void)text;
    return fail_absent(error);
}
