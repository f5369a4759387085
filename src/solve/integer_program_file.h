/* The integer program as a file for other solvers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_INTEGER_PROGRAM_FILE_H
#define PL_SOLVE_INTEGER_PROGRAM_FILE_H

#include "solve/shared_stages.h"

/* What is known of the smallest value when the program is written. */
typedef struct pl_known_value {
    bool exists;     /* there is a split, and its value is: */
    uint64_t value;  /* what costs more than this is left out */
    uint64_t bound;  /* no split has less */
    bool is_stopped; /* the search for it was */
    bool is_loose;   /* stages that need too much on one IPU may be missing from what was learnt */
} pl_known_value;

typedef struct pl_written_program {
    const pl_problem *problem;
    const pl_filter *filter;
    popliner_objective objective;
    const pl_shared *shared;
    pl_known_value known;
    popliner_program_format format;
} pl_written_program;

/* Writes the program. Errors: USAGE where there is none (of the spread where stages share an IPU),
 * MEMORY, INTERNAL, OUTPUT. */
popliner_status pl_integer_program_write(const pl_written_program *asked, const char *path,
                                         popliner_error *error);

#endif
