/* popliner: programs, cycles and memory along the steps of a profile, as a trace that Perfetto
 * (ui.perfetto.dev) and Chrome's about:tracing open.
 *
 * Threads: like the functions of popliner/analysis.h: while one thread works with an analysis,
 * others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_TRACE_H
#define POPLINER_TRACE_H

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/chain.h"
#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes one JSON object in the Trace Event Format, complete with its last line end, which the
 * caller frees with free(). docs/trace.md tells what is in it: the tree of programs, the units of
 * the chain in this memory model, what is live; the stages of `certificate`, unless that is NULL,
 * and then the units are its own; and what was executed on each IPU. What a loaded analysis lacks
 * is loaded. Errors: USAGE for a model that there is not, or a certificate that is of no profile;
 * INPUT when a file that was loaded is damaged; MEMORY. Cost: a pass over the variables for each
 * stage, and O(steps * stages); some 200 bytes for each step. */
popliner_status popliner_trace_text(popliner_analysis *analysis, popliner_memory_model model,
                                    const popliner_certificate *certificate, char **text,
                                    popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
