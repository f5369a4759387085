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

/* True if no schedule or copies were requested, so that nothing is kept for a backward pass. */
bool screen_lacks_schedule(const session *s);

/* Makes the report of a split that was found, or was given; the caller frees *text. `costs` may be
 * NULL. Errors: those of solving, which finds out what would help. */
popliner_status screen_answer(session *s, const request *r, const popliner_certificate *certificate,
                              const popliner_costs *costs, bool is_given, char **text,
                              popliner_error *error);

/* Replaces a table of tab-separated values by one that fits the screen: see popliner_screen_table.
 * Errors: MEMORY. */
popliner_status screen_table(const session *s, const char *headline, size_t marked_row, char **text,
                             popliner_error *error);

/* Replaces the table of a section as screen_table does. Layers and tiles have the largest first,
 * and a sentence about it. Errors: MEMORY. */
popliner_status screen_section(session *s, popliner_section section, char **text,
                               popliner_error *error);

/* Shows a table of splits in the place of another. Errors: those of popliner_screen_splits. */
popliner_status screen_splits(const session *s, popliner_split_table *table,
                              const popliner_certificate_input *names, char **text,
                              popliner_error *error);

/* Sets the verdict of a row of such a table, which has its plan and its limit: of a profile it is
 * measured, unless the row is not shown, being row number `place`. With replicas, each works on so
 * many micro-batches. Errors: MEMORY. */
popliner_status screen_verdict(session *s, const request *r, size_t micro_batches,
                               popliner_split_row *row, size_t place, popliner_error *error);

/* Prints the overview of the profile: as text what it is, and whether it fits one IPU; else the
 * table summary. Errors: those of evaluating. */
popliner_status screen_overview(session *s, popliner_error *error);

/* An output_maker of a popliner_together: as text the table of stages. */
popliner_status screen_together(session *s, const void *of, popliner_format format, char **text,
                                popliner_error *error);

/* ---- changes that would help: options to paste, each with its measured result ---- */

enum { MAX_HINTS = 16 };

/* Zero-initialise; free with hints_free. */
typedef struct hint_list {
    popliner_hint items[MAX_HINTS];
    size_t count;
    char *texts[4 * MAX_HINTS]; /* owned */
    size_t num_texts;
    bool failed;
} hint_list;

void hints_free(hint_list *list);

/* Finds what would help after --solve: the same list for the same question, however fast the
 * machine is. Solves by `costs` (may be NULL), or measures once more; what would need more than the
 * dynamic program is named without numbers. Logs nothing. Errors: those of solving. */
popliner_status hints_for_solve(session *s, const request *r,
                                const popliner_certificate *certificate,
                                const popliner_costs *costs, bool lacks_schedule, hint_list *list,
                                popliner_error *error);

/* Likewise after --evaluate: the best split into as many stages; of costs also the memory that is
 * enough. */
popliner_status hints_for_evaluate(session *s, const request *r,
                                   const popliner_certificate *certificate,
                                   const popliner_costs *costs, bool lacks_schedule,
                                   hint_list *list, popliner_error *error);

/* Measures the split of a row within the row's limit, and sets *verdict to the worst of its stages;
 * *has_verdict is false if it cannot be measured. micro_batches (0: those of the request) are those
 * of a step. Logs nothing. Errors: those of popliner_analysis_evaluate, except for USAGE and
 * STOPPED. */
popliner_status hints_measure_verdict(session *s, const request *r, const popliner_split_row *row,
                                      size_t micro_batches, bool *has_verdict,
                                      popliner_verdict *verdict, popliner_error *error);

#endif
