/* A trace of a profile, see popliner/report.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_TRACE_H
#define PL_SHOW_TRACE_H

#include "popliner/certificate.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"

/* The objects that a trace shows. */
typedef struct pl_trace_source {
    const popliner_profile *profile;
    const popliner_operations *operations;
    const popliner_chain *chain;
    const popliner_certificate *certificate; /* NULL: of no plan */
} pl_trace_source;

/* Errors: MEMORY; USAGE if the variables are not loaded. */
popliner_status pl_trace_make(const pl_trace_source *source, char **text, popliner_error *error);

#endif
