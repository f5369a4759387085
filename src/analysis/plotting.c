/* Plots of an analysis.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/plot.h"

#include "analysis/analysis_data.h"
#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/structs.h"
#include "show/plot.h"

static popliner_status plot_text_in_turn(popliner_analysis *analysis, popliner_plot plot,
                                         popliner_memory_model model,
                                         const popliner_certificate *certificate,
                                         const popliner_plot_options *options, char **text,
                                         popliner_error *error) {
    popliner_analysis *a = analysis;
    popliner_plot_options own = POPLINER_PLOT_OPTIONS_INIT;
    popliner_status status =
        pl_struct_take(&own, sizeof own, options, "popliner_plot_options", error);
    if (status == POPLINER_OK)
        status = pl_plot_check(&own, error);
    if (status != POPLINER_OK)
        return status;
    switch (plot) {
    case POPLINER_PLOT_TILES:
        return pl_plot_tiles(a->profile, &own, text, error);
    case POPLINER_PLOT_LIVENESS:
        status = pl_analysis_begin(a, model, error);
        if (status == POPLINER_OK)
            status = pl_analysis_make_chain(a, model, error);
        return status == POPLINER_OK
                   ? pl_plot_liveness(a->profile, a->models[model].chain, &own, text, error)
                   : status;
    case POPLINER_PLOT_PLAN:
        if (certificate == NULL || !certificate->is_measured)
            return pl_fail(
                error, POPLINER_ERROR_USAGE,
                "the plot of a plan is of a certificate of a profile, and there is none");
        return pl_plot_plan(certificate, &own, text, error);
    }
    return pl_fail(error, POPLINER_ERROR_USAGE, "there is no plot %d", (int)plot);
}

popliner_status popliner_plot_text(popliner_analysis *analysis, popliner_plot plot,
                                   popliner_memory_model model,
                                   const popliner_certificate *certificate,
                                   const popliner_plot_options *options, char **text,
                                   popliner_error *error) {
    *text = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = plot_text_in_turn(analysis, plot, model, certificate, options, text, error);
    pl_analysis_leave(analysis);
    return status;
}
