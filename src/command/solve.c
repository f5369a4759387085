/* --solve: the best split of a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/answer.h"
#include "command/commands.h"
#include "command/names.h"
#include "command/no_layers.h"
#include "command/pareto.h"
#include "command/replicas.h"
#include "command/request.h"
#include "command/sweep.h"
#include "popliner/page.h"

/* Whether an objective is asked for. */
static bool wants(const request *r, popliner_objective objective) {
    for (size_t i = 0; i < r->solver.num_objectives; i++)
        if (r->solver.objectives[i] == objective)
            return true;
    return false;
}

/* Refuses and warns of what the profile does not have. */
static popliner_status check_profile(session *s, const request *r, popliner_error *error) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    bool is_training = true;
    popliner_status status =
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, error);
    bool has_replicas = s->options.total_ipus > 0;
    if (status == POPLINER_OK && (wants(r, POPLINER_OBJECTIVE_CYCLES) || has_replicas) &&
        info.cycles_source < POPLINER_CYCLES_ESTIMATED)
        status = session_fail(error, POPLINER_ERROR_USAGE,
                              "--%s%s: the profile has no cycles of computing; compile "
                              "with the engine option profiler.includeCycleEstimates set to true",
                              has_replicas                ? "total-ipus"
                              : s->options.pareto != NULL ? "pareto "
                                                          : "objective ",
                              has_replicas                ? ""
                              : s->options.pareto != NULL ? s->options.pareto
                                                          : s->options.objective);
    if (status == POPLINER_OK && s->options.recompute == POPLINER_RECOMPUTE_AUTO &&
        info.cycles_source < POPLINER_CYCLES_ESTIMATED)
        status = session_fail(error, POPLINER_ERROR_USAGE,
                              "--recompute auto: the profile has no cycles of computing, so what "
                              "recomputing costs is not known; compile with the engine option "
                              "profiler.includeCycleEstimates set to true, or give none, standard "
                              "or full");
    if (status == POPLINER_OK && options_keep_activations(&s->options))
        status =
            popliner_analysis_is_training(s->analysis, r->asked.memory_model, &is_training, error);
    if (status == POPLINER_OK && !is_training)
        session_warn(s,
                     "--%s %s: no layer computes again behind the last one, so nothing is kept "
                     "for a backward pass.",
                     s->options.copies != NULL ? "copies" : "schedule",
                     s->options.copies != NULL ? s->options.copies : s->options.schedule_name);
    return status;
}

/* Where links are told of, the others are those of a profile's cycles. */
static popliner_status complete_links(const session *s, request *r, popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_status status =
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, error);
    if (status == POPLINER_OK && o->num_ipu_links > 0 && o->link_bandwidth.bytes == 0 &&
        info.clock_hz > 0)
        o->link_bandwidth = (popliner_bandwidth){POPLINER_LINK_BYTES_PER_SECOND, info.clock_hz};
    return status;
}

/* Puts the options in terms of the chain's units; *can is false if there is nothing to split, which
 * the log tells. */
static popliner_status begin_solving(session *s, request *r, bool *can, popliner_error *error) {
    /* the original's algorithm goes on without layers, as the original did, and goes with the
     * original's memory */
    const bool is_greedy = s->options.solver == SOLVER_GREEDY;
    *can = true;
    popliner_status status = is_greedy ? POPLINER_OK : can_split(s, can, error);
    if (status == POPLINER_OK && *can)
        status = request_of_profile(
            r, s, is_greedy ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL, error);
    if (status == POPLINER_OK && *can)
        status = complete_links(s, r, error);
    if (status == POPLINER_OK && *can)
        status = check_profile(s, r, error);
    return status;
}

/* Stages are measured once for the answer and the page. */
static popliner_status prepare_page(const session *s, const request *r, popliner_error *error) {
    return s->options.html != NULL && s->options.total_ipus == 0
               ? popliner_page_prepare(s->analysis, &r->asked, error)
               : POPLINER_OK;
}

popliner_status solve_check(session *s, popliner_error *error) {
    request r = {0};
    bool can;
    popliner_status status = begin_solving(s, &r, &can, error);
    request_free(&r);
    return status;
}

popliner_status solve_certificate(session *s, popliner_certificate **certificate,
                                  popliner_error *error) {
    request r = {0};
    bool can;
    *certificate = NULL;
    popliner_status status = begin_solving(s, &r, &can, error);
    if (status == POPLINER_OK && can)
        status = prepare_page(s, &r, error);
    if (status == POPLINER_OK && can)
        status = popliner_analysis_solve(s->analysis, &r.asked, certificate, error);
    if (status == POPLINER_OK && can)
        status = answer_tell(s, &r, *certificate,
                             popliner_certificate_get_info(*certificate)->costs, error);
    request_free(&r);
    return status;
}

static popliner_status solve_once(session *s, const request *r, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    popliner_status status = popliner_analysis_solve(s->analysis, &r->asked, &certificate, error);
    if (status == POPLINER_OK)
        status = answer_print(s, r, certificate, popliner_certificate_get_info(certificate)->costs,
                              error);
    popliner_certificate_free(certificate);
    return status;
}

/* Measures once, for the most IPUs, and solves for every value of --sweep, or for --pareto. */
static popliner_status solve_several(session *s, const request *r, popliner_error *error) {
    popliner_costs *costs = NULL;
    popliner_request asked = r->asked;
    popliner_solver_options solver = r->solver;
    asked.solver = &solver;
    popliner_status status = POPLINER_OK;
    if (s->options.sweep != NULL)
        status = sweep_max_ipus(s, r->solver.max_stages, &solver.max_stages, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_costs(s->analysis, &asked, &costs, error);
    if (status == POPLINER_OK) {
        popliner_certificate_input names = POPLINER_CERTIFICATE_INPUT_INIT;
        names.costs = costs;
        names.options = &r->solver;
        names.schedule = r->asked.schedule;
        names.recompute = r->asked.recompute;
        names.copies = r->asked.copies;
        names.unit_names = r->unit_names;
        names.option_names = &s->names;
        status = s->options.sweep != NULL ? sweep_print(s, costs, &r->solver, &names, error)
                                          : pareto_print(s, r, &names, error);
    }
    popliner_costs_free(costs);
    return status;
}

popliner_status solve_and_print(session *s, popliner_error *error) {
    request r = {0};
    bool can;
    popliner_status status = begin_solving(s, &r, &can, error);
    if (status == POPLINER_OK && can)
        status = prepare_page(s, &r, error);
    if (status == POPLINER_OK && can && s->options.total_ipus > 0)
        status = replicas_print_profile(s, &r, error);
    else if (status == POPLINER_OK && can)
        status = s->options.sweep != NULL || s->options.pareto != NULL ? solve_several(s, &r, error)
                                                                       : solve_once(s, &r, error);
    request_free(&r);
    return status;
}
