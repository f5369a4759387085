/* Questions of a search for hints to an analysis, besides answers. A page's module has its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANALYSIS_ASKED_H
#define PL_ANALYSIS_ASKED_H

#include "base/failure.h"
#include "popliner/analysis.h"

struct pl_certificate;

/* Waits until no other thread works with the analysis. Public functions that compute or measure
 * anything enter first, and return what pl_analysis_leave returns, the status; a thread may enter
 * again. Errors: USAGE if the analysis was in use when this process was forked. The caller of all
 * functions of analysis_data.h has entered, or works for a thread that has. */
popliner_status pl_analysis_enter(popliner_analysis *analysis, popliner_error *error);
popliner_status pl_analysis_leave(popliner_analysis *analysis, popliner_status status);

/* Fails with USAGE if the analysis was stored, without the lowered variables. */
popliner_status pl_analysis_require_variables(const popliner_analysis *analysis,
                                              popliner_error *error);

/* Rejects a certificate (NULL: none) that is not of this analysis; `user` is what would show it. */
popliner_status pl_analysis_check_certificate(const popliner_analysis *analysis,
                                              const struct pl_certificate *certificate,
                                              const char *user, popliner_error *error);

/* The listeners of an analysis, while it is silent. */
typedef struct pl_silenced {
    popliner_listener callers;
    popliner_listener listener;
} pl_silenced;

/* Lets no listener hear of steps and messages, until pl_analysis_speak. */
pl_silenced pl_analysis_silence(popliner_analysis *analysis);
void pl_analysis_speak(popliner_analysis *analysis, const pl_silenced *silenced);

#endif
