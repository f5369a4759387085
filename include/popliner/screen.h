/* popliner: answers for people to read on a terminal.
 *
 * Each function writes one NUL-terminated text, with its last line end, which the caller frees with
 * free(). It has a verdict, a table, the bottleneck, changes that would help, and notes; parts
 * without content are left out. `screen` sets the width of tables, that of sentences up to 100
 * columns, and whether there may be colours and characters other than ASCII.
 *
 * Threads: as in popliner/analysis.h for functions that take an analysis; any number of threads may
 * call the other functions at once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SCREEN_H
#define POPLINER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shows the answer of a solver, or an evaluation, with its hints. Errors: MEMORY. O(stages^2). */
popliner_status popliner_screen_answer(const popliner_certificate *certificate,
                                       const popliner_plot_options *screen, char **text,
                                       popliner_error *error);

/* Shows a diagnosis: whether the attributed memory of the fullest tile is within allowed_percent of
 * the compiler's total, the unattributed memory there by category, the rules that found layers, and
 * the consistency checks. `more` (may be "") is the last line: where to find the rest. Errors:
 * MEMORY. */
popliner_status popliner_screen_diagnosis(const popliner_diagnosis *diagnosis,
                                          double allowed_percent, const char *more,
                                          const popliner_plot_options *screen, char **text,
                                          popliner_error *error);

/* Shows a comparison of two profiles: the change of the peak, then the largest changes. `more` (may
 * be "") is the last line: where to find further rows. Errors: MEMORY. */
popliner_status popliner_screen_changes(const popliner_changes *changes, const char *more,
                                        const popliner_plot_options *screen, char **text,
                                        popliner_error *error);

/* Shows a comparison with a compiled pipeline, the stage with the largest error first. Errors:
 * MEMORY. */
popliner_status popliner_screen_comparison(const popliner_comparison *comparison,
                                           const popliner_plot_options *screen, char **text,
                                           popliner_error *error);

/* Shows a table of tab-separated values with a line of names, as other functions write it: words of
 * names below each other, commas between thousands, long texts without their middle. Columns for
 * which there is no room are left out, details first; the last line says how many, and `more` where
 * they are. `headline` comes first; NULL: none, but those of layers and tiles begin with the
 * largest, and a sentence about it. Row marked_row has a `>` and is bold; SIZE_MAX: none. Errors:
 * MEMORY. O(length of the table). */
popliner_status popliner_screen_table(const char *headline, const char *table, size_t marked_row,
                                      const char *more, const popliner_plot_options *screen,
                                      char **text, popliner_error *error);

/* Shows several splits: which is the first that fits, or the best, or whether these are all; then
 * of each its value, devices, pipelines and step, the memory of the IPU that has least room, with
 * its limit, the objectives of input->options, its cuts and its verdict. input->plan is ignored.
 * Errors: USAGE for plans of other units; those of `judge`; MEMORY. O(stages of all rows). */
popliner_status popliner_screen_splits(const popliner_split_table *table,
                                       const popliner_certificate_input *input,
                                       const popliner_plot_options *screen, char **text,
                                       popliner_error *error);

/* Shows an overview of a profile: compiler, device, layers, whether it trains and is consistent.
 * `whole` is its evaluation as a single stage, for the verdict of one IPU; NULL: no verdict.
 * hints[num_hints] are the next steps. Errors: USAGE for a certificate of something
 * else; those of popliner_analysis_chain. O(operations). */
popliner_status popliner_screen_overview(popliner_analysis *analysis,
                                         const popliner_certificate *whole,
                                         const popliner_hint *hints, size_t num_hints,
                                         const popliner_plot_options *screen, char **text,
                                         popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
