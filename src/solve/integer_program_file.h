/* The integer program as a file for other solvers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_FILE_H
#define PL_SOLVE_INTEGER_PROGRAM_FILE_H

#include "solve/dynamic_program.h"
#include "solve/shared_stages.h"

/* Writes the program with the largest peak (or, of_cycles, cycles) of an IPU as the objective; or
 * that of `goal`, if it is FEWEST_CUT_BYTES or FEWEST_STAGES. Errors: MEMORY, INTERNAL, OUTPUT. */
popliner_status pl_integer_program_write(const pl_problem *problem, const pl_filter *filter,
                                         pl_goal goal, bool of_cycles, const pl_shared *shared,
                                         popliner_program_format format, const char *path,
                                         popliner_error *error);

#endif
