/* Reports for people: used on a terminal, or with --format text.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_SCREEN_H
#define PL_COMMAND_SCREEN_H

#include "command/request.h"
#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/report.h"
#include "popliner/screen.h"

/* True if the report is for people, so that the log need not repeat it. */
bool screen_is_used(const session *s);

/* Returns the capabilities of standard output. --color overrides the terminal and NO_COLOR. */
popliner_plot_options screen_options(const session *s);

/* Replaces a table of tab-separated values by one that fits the screen: see popliner_screen_table.
 * Errors: MEMORY. */
popliner_status screen_table(const session *s, const char *headline, char **text,
                             popliner_error *error);

/* Prints the splits of a table whose sweep, front or replicas are there, and writes what is made of
 * them; those of a profile with measured verdicts. Errors: those of popliner_screen_splits, and of
 * the reports. */
popliner_status splits_print(session *s, popliner_split_table *table, popliner_error *error);

/* Prints the overview of the profile: as text what it is, and whether it fits one IPU; else the
 * table summary. Errors: those of evaluating. */
popliner_status screen_overview(session *s, popliner_error *error);

/* Makes the output of a popliner_together: as text the table of stages. */
popliner_status screen_together(session *s, const void *of, popliner_format format, char **text,
                                popliner_error *error);

#endif
