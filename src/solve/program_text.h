/* A mixed-integer program as text for other solvers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PROGRAM_TEXT_H
#define PL_SOLVE_PROGRAM_TEXT_H

#include "popliner/solver.h"
#include "solve/mip.h"

typedef struct pl_program_text {
    const pl_mip *program; /* no row has two bounds that differ */
    popliner_program_format format;
    const char *objective_name;
    const char *comment; /* lines, each ended; they come first */
    /* The names of the columns; rows are r_0, r_1, ... */
    void (*name_column)(const void *user, size_t index, char *name, size_t size);
    const void *user;
} pl_program_text;

/* Writes it into the file `path`, every number so that it is read as the same one. Errors: MEMORY,
 * OUTPUT. */
popliner_status pl_program_text_write(const pl_program_text *text, const char *path,
                                      popliner_error *error);

#endif
