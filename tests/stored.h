/* Loads a whole stored analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORED_H
#define STORED_H

#include <stddef.h>

#include "store/store.h"

/* The caller frees *profile and *operations. Errors: those of pl_stored_analysis_open and
 * pl_stored_analysis_load_variables. */
static inline popliner_status load_stored(const char *path, popliner_profile **profile,
                                          pl_operations **operations, popliner_error *error) {
    pl_stored_analysis *analysis;
    *profile = NULL;
    *operations = NULL;
    popliner_status status = pl_stored_analysis_open(path, &analysis, error);
    if (status == POPLINER_OK)
        status = pl_stored_analysis_load_variables(analysis, NULL, error);
    if (status == POPLINER_OK) {
        *profile = analysis->profile;
        *operations = analysis->operations;
        analysis->profile = NULL;
        analysis->operations = NULL;
    }
    pl_stored_analysis_close(analysis);
    return status;
}

#endif
