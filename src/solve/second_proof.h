/* A second method for one answer: GLPK chooses the split once more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SECOND_PROOF_H
#define PL_SOLVE_SECOND_PROOF_H

#include "solve/search.h"

/* Lets integer programs choose the split of a plan that the dynamic program has proven OPTIMAL, or
 * that has no stages because nothing fits, and makes its proofs BOTH_PROGRAMS. Leaves the plan as
 * it is if its options want no second proof, if stages share IPUs, without GLPK, or if the programs
 * are larger, or take more work, than GLPK does in about half a second; both are counted, not
 * timed, so that a proof depends on the question alone. Errors: INTERNAL if GLPK's split or one of
 * its values differs; MEMORY. */
popliner_status pl_prove_again(const pl_solving *solving, popliner_plan *plan,
                               popliner_error *error);

#endif
