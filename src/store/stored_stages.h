/* The measured stages of one chain in a file of arrays.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_STORE_STORED_STAGES_H
#define PL_STORE_STORED_STAGES_H

#include "store/array_file.h"
#include "store/stored_analysis.h"

struct pl_stored_analysis {
    pl_array_reader reader;
    popliner_profile *profile;
    popliner_operations *operations;
};

/* Adds the stages as number `number`. Errors: OUTPUT, if the file cannot be written: without a
 * message, for SQLite has it; MEMORY. */
popliner_status pl_stored_stages_save(pl_array_writer *writer, size_t number,
                                      const popliner_operations *operations,
                                      const pl_measured_stages *stages, popliner_error *error);

/* Loads the stages of this number if they are wanted; else *stages stays zero. *is_last is whether
 * the file has none of this number. Errors: INPUT if they are damaged, MEMORY. */
popliner_status pl_stored_stages_load(pl_stored_analysis *analysis, size_t number,
                                      const pl_wanted_stages *wanted, pl_measured_stages *stages,
                                      bool *is_last, popliner_error *error);

#endif
