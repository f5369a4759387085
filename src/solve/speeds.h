/* IPUs that run slower or faster than the others: cycles and limits of cycles, turned into each
 * other. All in integers, so that a limit holds of a stage exactly if it holds of its cycles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_SPEEDS_H
#define PL_SOLVE_SPEEDS_H

#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"
#include "popliner/solver.h"

/* The speed of an IPU in millionths. O(speeds). */
uint64_t pl_speed_of(const popliner_solver_options *options, size_t ipu);

/* How many cycles of an IPU of speed 1 an IPU takes for so many (at most POPLINER_MAX_CYCLES): the
 * quotient, rounded up. */
uint64_t pl_speed_cycles(uint64_t millionths, uint64_t cycles);

/* The most cycles that an IPU does in at most `limit`: pl_speed_cycles of them is within the limit,
 * of one more it is not. UINT64_MAX, which is no limit, stays; so does what would be more. */
uint64_t pl_speed_most(uint64_t millionths, uint64_t limit);

/* The fewest cycles that take an IPU at least `limit`, or UINT64_MAX if that is less. */
uint64_t pl_speed_fewest(uint64_t millionths, uint64_t limit);

#endif
