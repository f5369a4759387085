/* Stores a profile and its operations alone, and loads them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef STORED_H
#define STORED_H

#include <stddef.h>

#include "store/store.h"

static inline popliner_status save_stored(const popliner_profile *profile,
                                          const pl_operations *operations, const char *path,
                                          popliner_error *error) {
    const pl_stored_contents contents = {.profile = profile, .operations = operations};
    return pl_stored_analysis_save(&contents, path, error);
}

/* The caller frees *profile, which lacks its variables, and *operations. Errors: those of
 * pl_stored_analysis_open. */
static inline popliner_status load_stored(const char *path, popliner_profile **profile,
                                          pl_operations **operations, popliner_error *error) {
    pl_stored_analysis *analysis;
    *profile = NULL;
    *operations = NULL;
    popliner_status status = pl_stored_analysis_open(path, &analysis, error);
    if (status == POPLINER_OK) {
        *profile = analysis->profile;
        *operations = analysis->operations;
        analysis->profile = NULL;
        analysis->operations = NULL;
        pl_stored_analysis_close(analysis);
    }
    return status;
}

#endif
