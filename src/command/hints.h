/* Changes that would help: options to paste, each with its measured result.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_HINTS_H
#define PL_COMMAND_HINTS_H

#include "command/request.h"
#include "popliner/certificate.h"
#include "popliner/screen.h"

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

/* Solves with options that are a little different, silently. The table is there already, so it
 * takes no longer than the answer itself did, whoever gave it. Changes some of the options. */
popliner_status hints_solve_again(session *s, const popliner_costs *costs,
                                  popliner_solver_options *changed, popliner_plan **plan,
                                  popliner_error *error);

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

/* Returns the worst verdict of any stage; POPLINER_FITS if there is none. O(stages). */
popliner_verdict hints_worst_verdict(const popliner_certificate *certificate);

#endif
