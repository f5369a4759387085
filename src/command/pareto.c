/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/pareto.h"

#include <stdlib.h>

#include "command/answer.h"
#include "popliner/pareto.h"
#include "popliner/report.h"

/* Why there is no point: what --solve says of the same question. */
static popliner_status tell_why(session *s, const request *r,
                                const popliner_certificate_input *names, popliner_error *error) {
    popliner_certificate_input input = *names;
    popliner_certificate *certificate = NULL;
    popliner_status status = popliner_solve(names->costs, &r->solver, &input.plan, error);
    if (status != POPLINER_OK)
        return status;
    status = popliner_certificate_create(&input, &certificate, error);
    if (status != POPLINER_OK) {
        popliner_plan_free(input.plan);
        return status;
    }
    status = answer_tell(s, r, certificate, names->costs, error);
    popliner_certificate_free(certificate);
    return status;
}

/* Tells how many points there are, and whether there may be more. */
static void tell_points(session *s, const popliner_pareto_summary *summary) {
    const char *first = popliner_objective_name(summary->objectives[0]);
    const char *second = popliner_objective_name(summary->objectives[1]);
    if (summary->is_complete)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "SUCCESS: %zu best compromise%s of %s and %s, proven to be all.",
                    summary->num_points, summary->num_points == 1 ? "" : "s", first, second);
    else
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "%s: these %zu compromises of %s and %s may not be all; one that is only "
                    "feasible may not be among the best.",
                    summary->is_stopped ? "Stopped" : "Not all is proven", summary->num_points,
                    first, second);
}

static popliner_status print_points(session *s, const popliner_pareto *pareto,
                                    const popliner_certificate_input *names,
                                    popliner_error *error) {
    char *report = NULL;
    popliner_status status =
        popliner_report_pareto(pareto, names, s->options.format, &report, error);
    return status == POPLINER_OK ? session_print(report, error) : status;
}

popliner_status pareto_print(session *s, const request *r, const popliner_certificate_input *names,
                             popliner_error *error) {
    popliner_pareto *pareto = NULL;
    double start = log_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_pareto_solve(names->costs, &r->solver, &pareto, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    const popliner_pareto_summary *summary = popliner_pareto_get_summary(pareto);
    s->failed_softly = s->failed_softly || summary->num_points == 0;
    if (summary->num_points > 0)
        tell_points(s, summary);
    else if (summary->is_stopped)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    "STOPPED: no split was found yet, and none is ruled out.");
    else
        status = tell_why(s, r, names, error);
    if (status == POPLINER_OK)
        status = print_points(s, pareto, names, error);
    popliner_pareto_free(pareto);
    return status;
}
