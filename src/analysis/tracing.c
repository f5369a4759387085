/* A trace of an analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/trace.h"

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "show/trace.h"

static popliner_status trace_text_in_turn(popliner_analysis *analysis, popliner_memory_model model,
                                          const popliner_certificate *certificate, char **text,
                                          popliner_error *error) {
    popliner_analysis *a = analysis;
    if (certificate != NULL && !certificate->is_measured)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "a trace shows the stages of a certificate of a profile, and this is none");
    popliner_status status = pl_analysis_begin(a, model, error);
    if (status == POPLINER_OK)
        status = pl_analysis_make_chain(a, model, error);
    if (status != POPLINER_OK)
        return status;
    /* stages are of the chain that they were cut from */
    const popliner_chain *chain =
        certificate != NULL ? certificate->input.chain : a->models[model].chain;
    const pl_trace_source source = {a->profile, a->operations, chain, certificate};
    return pl_trace_make(&source, text, error);
}

popliner_status popliner_trace_text(popliner_analysis *analysis, popliner_memory_model model,
                                    const popliner_certificate *certificate, char **text,
                                    popliner_error *error) {
    *text = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = trace_text_in_turn(analysis, model, certificate, text, error);
    pl_analysis_leave(analysis);
    return status;
}
