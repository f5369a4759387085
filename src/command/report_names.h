/* The reports of a directory: its sub-directories that hold a profile.pop.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_REPORT_NAMES_H
#define PL_COMMAND_REPORT_NAMES_H

#include <stdbool.h>

#include "command/options.h"

/* Zero-initialise; free with report_names_free, also after an error. */
typedef struct report_names {
    char **names; /* [count], of those that --report asks for, in its order; of all: by name */
    char **paths; /* [count] */
    size_t count;
} report_names;

/* Finds what --report asks for. Errors: INPUT for a directory that has no reports, USAGE for a name
 * that none of them has, MEMORY. */
popliner_status report_names_find(const options *o, report_names *found, popliner_error *error);

void report_names_free(report_names *names);

/* Whether a directory has reports, but is none itself. */
bool report_names_are_in(const char *directory);

#endif
