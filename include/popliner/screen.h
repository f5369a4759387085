/* popliner: answers for people to read on a terminal.
 *
 * Each function makes one NUL-terminated text, complete with its last line end, which the caller
 * frees with free(). It has a verdict, a table, where the bottleneck is, what would help, and
 * notes; parts without content are left out. `screen` says how wide the text may be, whether it may
 * have characters besides ASCII, and whether it has colours; a text has at most 100 columns.
 *
 * Threads: like the functions that made what is shown.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SCREEN_H
#define POPLINER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line of what would help. The texts are the caller's. */
typedef struct popliner_hint {
    const char *label;                     /* "Try", "Enough" or "Not enough" */
    const char *option;                    /* to be pasted: "--num-ipus 3" */
    const char *words;                     /* what it was measured to give */
    const popliner_constraint *constraint; /* follows `option` in words; NULL: nothing does */
} popliner_hint;

/* Shows the answer of a solver, or an evaluation, with hints[num_hints] in their order by label.
 * `lacks_schedule` is true if the profile trains and no schedule was given: the verdict says so.
 * Errors: MEMORY. O(stages^2). */
popliner_status popliner_screen_answer(const popliner_certificate *certificate,
                                       const popliner_hint *hints, size_t num_hints,
                                       bool lacks_schedule, const popliner_plot_options *screen,
                                       char **text, popliner_error *error);

/* Shows a diagnosis: whether the memory that is explained on the fullest tile is within
 * allowed_percent of the compiler's, what is missing there by category, how layers were found, and
 * the checks of the profile. `more` (may be "") says where the rest is. Errors: MEMORY. */
popliner_status popliner_screen_diagnosis(const popliner_diagnosis *diagnosis,
                                          double allowed_percent, const char *more,
                                          const popliner_plot_options *screen, char **text,
                                          popliner_error *error);

/* Shows a comparison of two profiles: how the largest tile changed, then what changed most. `more`
 * (may be "") says where further rows are. Errors: MEMORY. */
popliner_status popliner_screen_changes(const popliner_changes *changes, const char *more,
                                        const popliner_plot_options *screen, char **text,
                                        popliner_error *error);

/* Shows a comparison with a compiled pipeline: the stage whose prediction was missed most first.
 * `more` (may be "") says what to do with the correction. Errors: MEMORY. */
popliner_status popliner_screen_comparison(const popliner_comparison *comparison, const char *more,
                                           const popliner_plot_options *screen, char **text,
                                           popliner_error *error);

/* Shows what a profile is: compiler, device, layers, whether it trains and is consistent; and, by
 * `whole`, its evaluation as a single stage (may be NULL), whether it fits one IPU. hints[num_hints]
 * say what to do next. Errors: those of popliner_analysis_chain. O(operations). */
popliner_status popliner_screen_overview(popliner_analysis *analysis,
                                         const popliner_certificate *whole,
                                         const popliner_hint *hints, size_t num_hints,
                                         const popliner_plot_options *screen, char **text,
                                         popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
