/* The answer of --solve: logs it, with remarks on what would be better or enough, and prints it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output_table.h"
#include "command/outputs.h"
#include "command/progress.h"
#include "command/screen.h"
#include "popliner/report.h"

popliner_verdict answer_worst_verdict(const popliner_certificate *certificate) {
    const size_t num_stages = certificate->plan->num_stages;
    popliner_verdict worst = POPLINER_FITS;
    for (size_t i = 0; certificate->verdicts != NULL && i < num_stages; i++)
        if (certificate->verdicts[i] > worst)
            worst = certificate->verdicts[i];
    return worst;
}

bool answer_fits(const session *s, const request *r, const popliner_plan *plan) {
    popliner_stage_detail detail = {.num_ipus = 1};
    popliner_status status = POPLINER_OK;
    if (plan == NULL || plan->status == POPLINER_PLAN_INFEASIBLE)
        return false;
    if (s->analysis == NULL || session_profile(s).num_ipus <= 1)
        return true;
    for (size_t i = 0; status == POPLINER_OK && detail.num_ipus <= 1 && i < plan->num_stages; i++) {
        const popliner_interval stage = {plan->stages[i].first_unit, plan->stages[i].last_unit, 1};
        status = popliner_analysis_measure_stages(s->analysis, &r->asked, &stage, 1, &detail, NULL,
                                                  NULL);
    }
    return status == POPLINER_OK && detail.num_ipus <= 1;
}

/* Says what kind of stages the costs forbid, where that leaves no split. `costs` may be NULL. */
static popliner_status explain_costs(session *s, const request *r,
                                     popliner_certificate *certificate, const popliner_costs *costs,
                                     popliner_error *error) {
    const popliner_plan *plan = certificate->plan;
    /* of a profile's stages none is forbidden in a way that the user could change */
    if (plan->is_stopped || r->solver.method == POPLINER_METHOD_GREEDY || costs == NULL ||
        s->options.costs == NULL || !plan->infeasibility.needs_costs)
        return POPLINER_OK;
    return session_say(s, certificate, error, POPLINER_LEVEL_WARNING,
                       "What the costs forbid is over the capacity of a region.");
}

/* ---- the answer ---- */

/* Reports that a split has fewer stages than the user requested. */
static popliner_status tell_unused_ipus(session *s, const request *r,
                                        popliner_certificate *certificate, popliner_error *error) {
    const popliner_plan *plan = certificate->plan;
    const size_t requested = r->solver.num_ipus;
    const bool is_replicated = s->options.device_map.is_replicated;
    const size_t num_used = is_replicated ? plan->num_ipus : plan->num_stages;
    /* the default of 16 was not requested; the algorithm of the original reports it anyway, and
     * always of "IPUs" */
    const bool is_original = s->options.method == POPLINER_METHOD_GREEDY;
    const bool was_requested = s->options.num_ipus.number > 0 || is_original;
    if (r->solver.num_mapped_stages > 0 || !was_requested || num_used >= requested ||
        request_wants(&r->solver, POPLINER_OBJECTIVE_IPUS))
        return POPLINER_OK;
    return session_say(s, certificate, error, POPLINER_LEVEL_WARNING,
                       "Used %zu %s instead of the %zu requested.", num_used,
                       session_devices(s, is_original ? 2 : num_used), requested);
}

/* Logs what the certificate says and the listener was not told. */
static void log_untold(void *user, popliner_level level, const char *text) {
    log_message(user, level, "%s", text);
}

void answer_log(session *s, const popliner_certificate *certificate) {
    popliner_listener listener = POPLINER_LISTENER_INIT;
    listener.user = &s->log;
    listener.message = log_untold;
    popliner_certificate_tell(certificate, false, &listener, NULL);
}

static popliner_status say_warnings(const session *s, popliner_certificate *certificate,
                                    popliner_error *error) {
    popliner_status status = s->warnings.failed ? fail_memory(error, "the log") : POPLINER_OK;
    for (const char *line = s->warnings.text;
         status == POPLINER_OK && line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        char *own = strndup(line, length);
        status = own == NULL ? fail_memory(error, "the log")
                             : popliner_certificate_add_message(certificate, POPLINER_LEVEL_WARNING,
                                                                own, error);
        free(own);
        line += length + 1;
    }
    return status;
}

static popliner_status tell_plan(session *s, const request *r, popliner_certificate *certificate,
                                 popliner_error *error) {
    enum { MAX_UNEXPLAINED_PERCENT = 20 };
    const popliner_plan *plan = certificate->plan;
    char *line = NULL;
    double share = certificate->unexplained_share;
    popliner_status status =
        popliner_certificate_text(certificate, POPLINER_CERTIFICATE_LINE, &line, error);
    if (status != POPLINER_OK)
        return status;
    const bool is_infeasible = plan->status == POPLINER_PLAN_INFEASIBLE;
    const bool is_unknown = answer_worst_verdict(certificate) == POPLINER_FITS_UNKNOWN;
    if (is_infeasible)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN
                        ? "STOPPED: no split was found yet, and none is ruled out."
                    : options_fix_cuts(&s->options) ? "FAILURE: The split does not fit."
                    : s->options.pareto.count > 0 ||
                            (plan->num_stages == 0 && s->options.method != POPLINER_METHOD_GREEDY)
                        ? "FAILURE: Unable to fit model on IPUs."
                        : "FAILURE: Unable to fit model on IPUs. Best effort printed.");
    else
        log_whole(&s->log, POPLINER_LEVEL_INFO,
                  is_unknown ? "NOT KNOWN TO FIT: " : "SUCCESS: ", line);
    free(line);
    s->failed_softly = s->failed_softly || is_infeasible || is_unknown;
    answer_log(s, certificate);
    status = say_warnings(s, certificate, error);
    if (status == POPLINER_OK && !is_infeasible)
        status = tell_unused_ipus(s, r, certificate, error);
    if (status == POPLINER_OK && share * 100 > (double)MAX_UNEXPLAINED_PERCENT)
        status =
            session_say(s, certificate, error, POPLINER_LEVEL_WARNING,
                        "%.0f %% of the peak is in no operation and counted in every stage; see "
                        "--diagnose.",
                        share * 100);
    return status;
}

/* The answer for people, as an object, or as a table of stages. */
static popliner_status make_answer(session *s, const void *of, popliner_format format, char **text,
                                   popliner_error *error) {
    const popliner_certificate *certificate = of;
    const popliner_plot_options screen = screen_options(s);
    return format == FORMAT_TEXT ? popliner_screen_answer(certificate, &screen, text, error)
           : format == POPLINER_FORMAT_JSON
               ? popliner_certificate_text(certificate, POPLINER_CERTIFICATE_JSON, text, error)
               : outputs_stages(s, certificate, format, text, error);
}

popliner_status answer_certify(const popliner_certificate_input *input,
                               popliner_certificate **certificate, popliner_error *error) {
    popliner_status status = popliner_certificate_create(input, certificate, error);
    if (status != POPLINER_OK)
        popliner_plan_free(input->plan);
    return status;
}

popliner_status answer_solve(session *s, const request *r, popliner_certificate_input *input,
                             popliner_certificate **certificate, popliner_error *error) {
    const double start = progress_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_solve(input->costs, &r->solver, &input->plan, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Solving", start);
    return answer_certify(input, certificate, error);
}

popliner_status answer_tell(session *s, const request *r, popliner_certificate *certificate,
                            const popliner_costs *costs, popliner_error *error) {
    popliner_status status = tell_plan(s, r, certificate, error);
    return status == POPLINER_OK && certificate->plan->status == POPLINER_PLAN_INFEASIBLE
               ? explain_costs(s, r, certificate, costs, error)
               : status;
}

popliner_status answer_find_hints(session *s, const request *r, popliner_certificate *certificate,
                                  const popliner_costs *costs, popliner_error *error) {
    const options *o = &s->options;
    const bool can_read = o->costs != NULL && strcmp(o->costs, "-") != 0;
    interrupts_catch(&s->interrupts); /* the answer is not printed yet */
    popliner_status status = popliner_certificate_find_hints(
        certificate, s->analysis, &r->asked, costs, can_read ? costs_read_again : NULL, s, error);
    interrupts_release(&s->interrupts);
    return status;
}

popliner_status answer_output(session *s, unsigned action, const request *r,
                              popliner_certificate *certificate, const popliner_costs *costs,
                              popliner_error *error) {
    const options *o = &s->options;
    const bool is_shown = screen_is_used(s) || o->format == POPLINER_FORMAT_JSON ||
                          options_wanted(o, OUTPUT_REPORT) != NULL ||
                          options_wanted(o, OUTPUT_PAGE) != NULL;
    popliner_status status =
        is_shown ? answer_find_hints(s, r, certificate, costs, error) : POPLINER_OK;
    return status != POPLINER_OK
               ? status
               : outputs_of_answer(s,
                                   &(material){.action = action,
                                               .report = {make_answer, certificate},
                                               .certificate = certificate,
                                               .num_units = r->num_units,
                                               .request = action == SOLVE ? r : NULL,
                                               .costs = costs},
                                   error);
}
