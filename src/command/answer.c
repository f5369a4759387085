/* The answer of --solve: logs it, with remarks on what would be better or enough, and prints it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/commands.h"

#include <stdlib.h>
#include <string.h>

#include "command/option_table.h"

popliner_verdict answer_worst_verdict(const popliner_certificate *certificate) {
    const size_t num_stages = certificate->plan->num_stages;
    popliner_verdict worst = POPLINER_FITS;
    for (size_t i = 0; certificate->verdicts != NULL && i < num_stages; i++)
        if (certificate->verdicts[i] > worst)
            worst = certificate->verdicts[i];
    return worst;
}

bool answer_fits(const session *s, const popliner_plan *plan) {
    popliner_stage_detail detail = {.num_ipus = 1};
    popliner_status status = POPLINER_OK;
    if (plan == NULL || plan->status == POPLINER_PLAN_INFEASIBLE)
        return false;
    if (s->analysis == NULL || session_profile(s).num_ipus <= 1)
        return true;
    for (size_t i = 0; status == POPLINER_OK && detail.num_ipus <= 1 && i < plan->num_stages; i++) {
        const popliner_interval stage = {plan->stages[i].first_unit, plan->stages[i].last_unit, 1};
        status = popliner_analysis_measure_stages(s->analysis, &s->request.asked, &stage, 1,
                                                  &detail, NULL, NULL);
    }
    return status == POPLINER_OK && detail.num_ipus <= 1;
}

/* ---- the answer ---- */

static void warn_of_unused_ipus(session *s) {
    const popliner_plan *plan = s->answer->plan;
    const popliner_solver_options *solver = &s->request.solver;
    const bool is_replicated = s->options.device_map.is_replicated;
    const size_t num_used = is_replicated ? plan->num_ipus : plan->num_stages;
    /* the default of 16 was not requested; the algorithm of the original reports it anyway, and
     * always of "IPUs" */
    const bool is_original = s->options.method == POPLINER_METHOD_GREEDY;
    const bool was_requested = s->options.num_ipus.number > 0 || is_original;
    if (solver->num_mapped_stages == 0 && was_requested && num_used < solver->num_ipus &&
        !request_wants(solver, POPLINER_OBJECTIVE_IPUS))
        session_warn(s, "Used %zu %s instead of the %zu requested.", num_used,
                     session_devices(s, is_original ? 2 : num_used), solver->num_ipus);
}

/* Logs what the certificate says and the listener was not told. */
static void log_untold(void *user, popliner_level level, const char *text) {
    log_message(user, level, "%s", text);
}

void answer_log(session *s) {
    popliner_listener listener = POPLINER_LISTENER_INIT;
    listener.user = &s->log;
    listener.message = log_untold;
    popliner_certificate_tell(s->answer, false, &listener, NULL);
}

/* Adds all warnings of the run to the answer. */
static popliner_status add_warnings(const session *s, popliner_error *error) {
    if (s->warnings.failed)
        return fail_memory(error, "the log");
    for (const char *line = s->warnings.text; line != NULL && *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        char *own = strndup(line, length);
        const popliner_status status =
            own == NULL
                ? fail_memory(error, "the log")
                : popliner_certificate_add_message(s->answer, POPLINER_LEVEL_WARNING, own, error);
        free(own);
        TRY(status);
        line += length + 1;
    }
    return POPLINER_OK;
}

popliner_status answer_tell(session *s, const popliner_costs *costs, popliner_error *error) {
    enum { MAX_UNEXPLAINED_PERCENT = 20 };
    const popliner_plan *plan = s->answer->plan;
    char *line = NULL;
    const double share = s->answer->unexplained_share;
    TRY(popliner_certificate_text(s->answer, POPLINER_CERTIFICATE_LINE, &line, error));
    const bool is_infeasible = plan->status == POPLINER_PLAN_INFEASIBLE;
    const bool is_unknown = answer_worst_verdict(s->answer) == POPLINER_FITS_UNKNOWN;
    if (is_infeasible)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    plan->infeasibility.obstacle == POPLINER_OBSTACLE_UNKNOWN
                        ? "STOPPED: no split was found yet, and none is ruled out."
                    : options_fix_cuts(&s->options) ? "FAILURE: The split does not fit."
                    : s->options.pareto.count > 0 ||
                            (plan->num_stages == 0 && s->options.method != POPLINER_METHOD_GREEDY)
                        ? "FAILURE: Unable to fit model on IPUs."
                        : "FAILURE: Unable to fit model on IPUs. Best effort printed.");
    else if (!s->log.is_mute)
        log_whole(&s->log, POPLINER_LEVEL_INFO,
                  is_unknown ? "NOT KNOWN TO FIT: " : "SUCCESS: ", line);
    free(line);
    s->failed_softly = s->failed_softly || is_infeasible || is_unknown;
    answer_log(s);
    if (!is_infeasible)
        warn_of_unused_ipus(s);
    if (share * 100 > (double)MAX_UNEXPLAINED_PERCENT)
        session_warn(s,
                     "%.0f %% of the peak is in no operation and counted in every stage; see "
                     "--diagnose.",
                     share * 100);
    /* of a profile's stages none is forbidden in a way that the user could change */
    if (is_infeasible && !plan->is_stopped && plan->infeasibility.needs_costs && costs != NULL &&
        s->options.costs != NULL && s->request.solver.method != POPLINER_METHOD_GREEDY)
        session_warn(s, "What the costs forbid is over the capacity of a region.");
    return add_warnings(s, error);
}

popliner_status answer_certify(session *s, const popliner_certificate_input *input,
                               popliner_error *error) {
    const popliner_status status = popliner_certificate_create(input, &s->answer, error);
    if (status != POPLINER_OK)
        popliner_plan_free(input->plan);
    return status;
}

popliner_status answer_solve(session *s, popliner_error *error) {
    popliner_certificate_input input = s->input;
    solving_begin(s);
    TRY(solving_end(s, "Solving",
                    popliner_solve(input.costs, &s->request.solver, &input.plan, error)));
    return answer_certify(s, &input, error);
}

const popliner_costs *answer_costs(const session *s) {
    const options *o = &s->options;
    if (s->file == NULL)
        return o->solve ? s->answer->costs : NULL;
    /* remarks would solve again, without a choice */
    return o->recompute.way == POPLINER_RECOMPUTE_AUTO || o->device_map.is_replicated
               ? NULL
               : s->file->costs;
}

popliner_status answer_find_hints(session *s, popliner_error *error) {
    const options *o = &s->options;
    const bool can_read = o->costs != NULL && strcmp(o->costs, "-") != 0;
    solving_begin(s); /* the answer is not printed yet */
    return solving_end(
        s, NULL,
        popliner_certificate_find_hints(s->answer, s->analysis, &s->request.asked, answer_costs(s),
                                        can_read ? costs_read_again : NULL, s, error));
}

popliner_status answer_output(session *s, popliner_error *error) {
    const options *o = &s->options;
    if (screen_is_used(s) || o->format == POPLINER_FORMAT_JSON ||
        options_wanted(o, OUTPUT_REPORT) != NULL || options_wanted(o, OUTPUT_PAGE) != NULL)
        TRY(answer_find_hints(s, error));
    return outputs_of_answer(
        s, &(material){.action = o->solve ? SOLVE : EVALUATE, .certificate = s->answer}, error);
}
