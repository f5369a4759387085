/* The integer program as a file for other solvers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_FILE_H
#define PL_SOLVE_INTEGER_PROGRAM_FILE_H

#include "solve/shared_stages.h"

/* Writes the program of an objective but BALANCE, which is none. Errors: USAGE where there is no
 * one program, MEMORY, INTERNAL, OUTPUT. */
popliner_status pl_integer_program_write(const pl_problem *problem, const pl_filter *filter,
                                         popliner_objective objective, const pl_shared *shared,
                                         popliner_program_format format, const char *path,
                                         popliner_error *error);

#endif
