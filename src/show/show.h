/* The plots and the trace of popliner/report.h.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_SHOW_H
#define PL_SHOW_SHOW_H

#include "answer/certificate_data.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/report.h"

/* Whether a plot can be as large as the options say. Errors: USAGE. */
popliner_status pl_plot_check(const popliner_plot_options *options, popliner_error *error);

/* Errors: MEMORY; of what is live at each step, USAGE if the variables are not loaded. */
popliner_status pl_plot_tiles(const popliner_profile *profile, const popliner_plot_options *options,
                              char **text, popliner_error *error);
popliner_status pl_plot_liveness(const popliner_profile *profile, const pl_chain *chain,
                                 const popliner_plot_options *options, char **text,
                                 popliner_error *error);

/* ---- Traces ---- */

/* Shows a chain, and a plan (certificate NULL: none), which needs the chain's meter. Errors:
 * MEMORY; USAGE if the variables are not loaded. */
popliner_status pl_trace_make(const pl_chain *chain, const pl_certificate *certificate,
                              const pl_stage_meter *meter, char **text, popliner_error *error);

#endif
