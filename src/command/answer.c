/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/emit.h"
#include "command/page.h"
#include "command/remarks.h"
#include "command/sections.h"
#include "popliner/report.h"

/* Logs a text line by line, and frees it. */
static void log_lines(session *s, popliner_level level, char *text) {
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL)
            *end = '\0';
        log_message(&s->log, level, "%s", line);
        line = end == NULL ? NULL : end + 1;
    }
    free(text);
}

/* Logs the evaluation of a split, line by line, for -v. */
static popliner_status log_evaluation(session *s, const popliner_certificate *certificate,
                                      popliner_error *error) {
    char *text = NULL;
    popliner_status status =
        popliner_report_evaluation(certificate, POPLINER_FORMAT_TSV, &text, error);
    if (status == POPLINER_OK)
        log_lines(s, POPLINER_LEVEL_DEBUG, text);
    return status;
}

/* Whether as few IPUs as possible were asked for, in whatever place. */
static bool wants_few_ipus(const popliner_plan *plan) {
    const popliner_plan_value *value;
    for (size_t i = 0; (value = popliner_plan_value_at(plan, i)) != NULL; i++)
        if (value->objective == POPLINER_OBJECTIVE_IPUS)
            return true;
    return false;
}

/* Says that a split has fewer stages than somebody asked for. */
static popliner_status tell_unused_ipus(session *s, const request *r,
                                        popliner_certificate *certificate, popliner_error *error) {
    const popliner_plan *plan = popliner_certificate_get_info(certificate)->plan;
    const size_t requested = r->solver.max_stages;
    const size_t num_used = popliner_plan_get_summary(plan)->num_stages;
    /* nobody asked for the 16 that are usual; the original's algorithm says it all the same, and
     * always of "IPUs" */
    const bool is_original = s->options.solver == SOLVER_GREEDY;
    const bool was_requested = s->options.num_ipus > 0 || is_original;
    if (r->solver.num_mapped_stages > 0 || !was_requested || num_used >= requested ||
        wants_few_ipus(plan))
        return POPLINER_OK;
    return session_say(s, certificate, error, POPLINER_LEVEL_WARNING,
                       "Used %zu IPU%s instead of the %zu requested.", num_used,
                       num_used == 1 && !is_original ? "" : "s", requested);
}

/* Logs what the certificate says and the listener was not told. */
static void log_messages(session *s, const popliner_certificate *certificate) {
    const popliner_message *m;
    for (size_t i = 0; (m = popliner_certificate_message_at(certificate, i)) != NULL; i++)
        if (!m->is_told)
            log_message(&s->log, m->level, "%s", m->text);
}

/* Whether nothing tells if some stage of a profile fits. */
static bool has_unknown_stage(const popliner_certificate *certificate) {
    for (size_t i = 0; popliner_certificate_detail_at(certificate, i) != NULL; i++)
        if (popliner_certificate_verdict_at(certificate, i) == POPLINER_FITS_UNKNOWN)
            return true;
    return false;
}

static popliner_status tell_plan(session *s, const request *r, popliner_certificate *certificate,
                                 popliner_error *error) {
    enum { MAX_UNEXPLAINED_PERCENT = 20 };
    const popliner_plan_summary *plan =
        popliner_plan_get_summary(popliner_certificate_get_info(certificate)->plan);
    char *line = NULL;
    double share = popliner_certificate_get_info(certificate)->unexplained_share;
    popliner_status status =
        popliner_certificate_text(certificate, POPLINER_CERTIFICATE_LINE, &line, error);
    if (status != POPLINER_OK)
        return status;
    const bool is_infeasible = plan->status == POPLINER_PLAN_INFEASIBLE;
    if (is_infeasible)
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    plan->infeasibility->obstacle == POPLINER_OBSTACLE_UNKNOWN
                        ? "STOPPED: no split was found yet, and none is ruled out."
                    : s->options.pareto != NULL ||
                            (plan->num_stages == 0 && s->options.solver != SOLVER_GREEDY)
                        ? "FAILURE: Unable to fit model on IPUs."
                        : "FAILURE: Unable to fit model on IPUs. Best effort printed.");
    else
        log_message(&s->log, POPLINER_LEVEL_INFO, "SUCCESS: %s", line);
    free(line);
    s->failed_softly = s->failed_softly || is_infeasible || has_unknown_stage(certificate);
    log_messages(s, certificate);
    status = session_say_warnings(s, certificate, error);
    if (status == POPLINER_OK && !is_infeasible)
        status = tell_unused_ipus(s, r, certificate, error);
    if (status == POPLINER_OK && share * 100 > MAX_UNEXPLAINED_PERCENT)
        status = session_say(s, certificate, error, POPLINER_LEVEL_WARNING,
                             "%.0f%% of the largest tile is explained by no operation and counted "
                             "in every stage; see --diagnose for what is missing.",
                             share * 100);
    return status;
}

static popliner_status tell_obstacles(session *s, const request *r,
                                      popliner_certificate *certificate,
                                      const popliner_costs *costs, popliner_error *error) {
    popliner_status status = remark_min_layers(s, r, certificate, error);
    return status == POPLINER_OK ? remark_obstacles(s, r, certificate, costs, error) : status;
}

popliner_status answer_explain(session *s, const request *r, popliner_certificate *certificate,
                               const popliner_costs *costs, popliner_error *error) {
    log_messages(s, certificate);
    return tell_obstacles(s, r, certificate, costs, error);
}

/* Whether a split is known, or none is ruled out. */
static bool may_have_split(const popliner_plan *plan) {
    const popliner_plan_summary *summary = popliner_plan_get_summary(plan);
    return summary->status != POPLINER_PLAN_INFEASIBLE || summary->proof == POPLINER_PROOF_NONE;
}

static popliner_status write_programs(const session *s, const request *r, const popliner_plan *plan,
                                      const popliner_costs *costs, popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    if (o->write_lp != NULL)
        status = popliner_solver_write_solved(costs, &r->solver, plan, POPLINER_PROGRAM_LP,
                                              o->write_lp, error);
    if (status == POPLINER_OK && o->write_mps != NULL)
        status = popliner_solver_write_solved(costs, &r->solver, plan, POPLINER_PROGRAM_MPS,
                                              o->write_mps, error);
    return status;
}

/* The answer in the format that was asked for, an object or a table; else that of a profile is the
 * original's array. */
static popliner_status print_plan(session *s, const popliner_certificate *certificate,
                                  popliner_error *error) {
    if (options_show_plan(&s->options))
        return print_shown(s, certificate, error);
    popliner_format format = s->options.format;
    popliner_certificate_form form = format == POPLINER_FORMAT_JSON ? POPLINER_CERTIFICATE_JSON
                                     : s->options.costs == NULL && !s->options.has_format
                                         ? POPLINER_CERTIFICATE_STAGES_JSON
                                     : format == POPLINER_FORMAT_CSV ? POPLINER_CERTIFICATE_CSV
                                                                     : POPLINER_CERTIFICATE_TSV;
    char *text = NULL;
    popliner_status status = popliner_certificate_text(certificate, form, &text, error);
    return status == POPLINER_OK ? session_print(text, error) : status;
}

popliner_status answer_tell(session *s, const request *r, popliner_certificate *certificate,
                            const popliner_costs *costs, popliner_error *error) {
    const popliner_plan *plan = popliner_certificate_get_info(certificate)->plan;
    popliner_status status = tell_plan(s, r, certificate, error);
    if (status != POPLINER_OK)
        return status;
    if (popliner_plan_get_summary(plan)->status == POPLINER_PLAN_INFEASIBLE)
        return tell_obstacles(s, r, certificate, costs, error);
    status = remark_fewer_ipus(s, r, certificate, costs, error);
    return status == POPLINER_OK ? remark_no_layers(s, r, certificate, costs, error) : status;
}

popliner_status answer_print(session *s, const request *r, popliner_certificate *certificate,
                             const popliner_costs *costs, popliner_error *error) {
    const options *o = &s->options;
    const popliner_plan *plan = popliner_certificate_get_info(certificate)->plan;
    emitted made = {0};
    popliner_status status = POPLINER_OK;
    /* where stages share an IPU, the details are of the IPU, which the certificate tells */
    if (o->costs == NULL && o->verbose && !request_shares_an_ipu(r))
        status = log_evaluation(s, certificate, error);
    if (status == POPLINER_OK)
        status = answer_tell(s, r, certificate, costs, error);
    if (status == POPLINER_OK)
        status = emit_make(s, certificate, r->num_units, &made, error);
    if (status == POPLINER_OK)
        status = emit_prints(o) ? emit_print(s, &made, error) : print_plan(s, certificate, error);
    if (status == POPLINER_OK)
        status = emit_write(s, &made, error);
    emitted_free(&made);
    if (status == POPLINER_OK)
        status = write_outputs(s, certificate, error);
    if (status == POPLINER_OK && o->costs == NULL)
        status = write_page(s, certificate, NULL, error);
    /* the answer comes first: it is not to be lost for a program that cannot be written */
    if (status == POPLINER_OK && costs != NULL && may_have_split(plan))
        status = write_programs(s, r, plan, costs, error);
    else if (status == POPLINER_OK && (o->write_lp != NULL || o->write_mps != NULL))
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--write-lp, --write-mps: not written, for no split is within the limits.");
    return status;
}
