/* --solve: the best split of a profile, or of what a file of costs says; logs it, with remarks on
 * what would be better or enough, and prints it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "popliner/page.h"

/* ---- the answer ---- */

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

void answer_log(const session *s) {
    if (!s->log.is_mute)
        popliner_certificate_tell(s->answer, false, &s->listener, NULL);
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
    if (s->warnings.failed)
        return fail_memory(error, "the log");
    return s->warnings.text == NULL
               ? POPLINER_OK
               : popliner_certificate_add_message(s->answer, POPLINER_LEVEL_WARNING,
                                                  s->warnings.text, error);
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

/* ---- costs from a file ---- */

/* The library has the estimate's own name, not that of the option, and knows no options that take
 * an answer. */
static popliner_status in_options(popliner_status status, popliner_error *error) {
    const popliner_error told = *error;
    if (status == POPLINER_ERROR_USAGE && strncmp(told.message, "need ", 5) == 0)
        return fail_usage(error, "--%s", told.message);
    return status == POPLINER_ERROR_INPUT && strstr(told.message, ": an answer or a plan") != NULL
               ? fail(error, status,
                      "%s; give what it was made from (its cuts: --evaluate), or --against LOG to "
                      "compare it with a log",
                      told.message)
               : status;
}

static popliner_status read_file(const options *o, const popliner_pipeline *asked,
                                 popliner_costs_file **file, popliner_error *error) {
    popliner_pipeline pipeline = *asked;
    pipeline.should_stop = limits_are_over;
    pipeline.need = o->need;
    return in_options(popliner_costs_file_read(o->costs, NULL, 0, &pipeline, file, error), error);
}

popliner_status costs_read_again(void *user, const popliner_pipeline *pipeline,
                                 popliner_costs_file **file, popliner_error *error) {
    const session *s = user;
    const options *o = &s->options;
    if (strcmp(o->costs, "-") == 0)
        return fail_usage(
            error, "standard input: the costs are read again for each pipeline; give a file");
    return read_file(o, pipeline, file, error);
}

/* For how many stages the costs are to be known, or the chain of a graph is to be the best;
 * SIZE_MAX if the options leave that to the file. The reason why nothing fits is found for more
 * stages than --num-ipus or a device map has, so where what a pipeline keeps counts, all are to be
 * known. */
static size_t stages_to_know(const options *o, const request *r) {
    enum { MOST_PLACES = 16384 }; /* of stages with replicas, of which each counts */
    if (options_keep_activations(o))
        return o->device_map.is_replicated ? (size_t)MOST_PLACES : SIZE_MAX;
    if (r->solver.num_mapped_stages > 0)
        return r->solver.num_mapped_stages;
    bool has_number = o->num_ipus.number > 0 && o->sweep == NULL;
    return has_number && o->total_ipus == 0 ? o->num_ipus.number : SIZE_MAX;
}

/* Refuses and warns of what would do nothing for what the file has. */
static popliner_status check_file(session *s, popliner_error *error) {
    const options *o = &s->options;
    const popliner_costs_file *file = s->read;
    if (options_has_reserve(o) && (o->sweep == NULL || o->sweep->of_ipus) &&
        o->lists[LIST_LIMITS].all.bytes == 0 && file->bytes_per_tile == 0 &&
        o->lists[LIST_LIMITS].count == 0 && file->num_ipu_limits == 0)
        return fail_usage(error, "--reserve: the costs have no limit of memory to keep something "
                                 "free of; give --mem-per-tile");
    if (options_keep_activations(o) && !file->has_kept)
        session_warn(s,
                     file->is_graph
                         ? "--schedule %s: a graph has no stash, so nothing is stored."
                         : "--schedule %s: the costs have no stash, so nothing is stored.",
                     o->schedule.text);
    return POPLINER_OK;
}

/* Puts the units of a graph in the order in which its best partition is a split, and the options in
 * terms of them; nothing changes where the file's own order stands. */
static popliner_status arrange_file(session *s, popliner_error *error) {
    solving_begin(s);
    const popliner_status status =
        popliner_costs_file_arrange(s->read, &s->request.solver, &s->arranged, error);
    TRY(solving_end(s, s->arranged == NULL ? NULL : "Searching the graph", status));
    return s->arranged == NULL
               ? POPLINER_OK
               : request_make(&s->request, s, POPLINER_MEMORY_MODEL_FULL, s->arranged, NULL, error);
}

/* Chooses which device gets which stage. If nothing fits, the devices stay in their own order, of
 * which the reasons are. */
static popliner_status order_devices(session *s, popliner_error *error) {
    request *r = &s->request;
    bool is_proven;
    r->device_map = calloc(r->solver.num_ipus, sizeof *r->device_map);
    if (r->device_map == NULL)
        return fail_memory(error, "the device map");
    solving_begin(s);
    TRY(solving_end(s, "Ordering the devices",
                    popliner_solver_order_devices(s->read->costs, &r->solver, r->device_map,
                                                  &r->solver.num_mapped_stages, &is_proven,
                                                  error)));
    if (r->solver.num_mapped_stages > 0) {
        r->solver.device_map = r->device_map;
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    is_proven ? "No other order of the devices has a better split."
                              : "Stopped: another order of the devices may be better.");
    } else {
        session_warn(s, is_proven ? "No split fits in any order of the devices; what follows is of "
                                    "their own order."
                                  : "Stopped: no order of the devices was found yet.");
    }
    return POPLINER_OK;
}

/* Reads the file and puts the options in terms of its units. */
static popliner_status read_costs(session *s, popliner_error *error) {
    const options *o = &s->options;
    request *r = &s->request;
    double start = progress_seconds();
    TRY(request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error));
    const popliner_pipeline pipeline = request_pipeline(r, stages_to_know(o, r));
    TRY(read_file(o, &pipeline, &s->read, error));
    TRY(check_file(s, error));
    log_took(&s->log, "Reading the costs", progress_seconds() - start);
    const popliner_costs_file *info = s->read;
    if (info->unit_order != NULL && options_have_several(o))
        session_warn(s, "The units make a chain %s; another order may be better.",
                     info->unit_order);
    if (info->not_counted != NULL && options_have_several(o))
        session_warn(s, "Not counted: %s", info->not_counted);
    const size_t samples = o->batch.of_micro_batch > 0 ? o->batch.of_micro_batch : 1;
    if (info->samples > 0 && o->batch.samples > 0 && samples != info->samples)
        session_warn(s,
                     "--batch: a micro-batch has %zu samples, but %" PRIu64
                     " in the costs; give --batch %" PRIu64 "/%" PRIu64 ", or make costs of %zu.",
                     samples, info->samples,
                     (o->batch.samples - 1) / info->samples * info->samples + info->samples,
                     info->samples, samples);
    TRY(request_make(r, s, POPLINER_MEMORY_MODEL_FULL, info, NULL, error));
    if (info->has_kept && o->schedule.order == POPLINER_SCHEDULE_NONE &&
        !options_keep_activations(o) && o->recompute.way != POPLINER_RECOMPUTE_AUTO)
        session_warn(s, "The costs have a stash: without --schedule none of it is counted.");
    return POPLINER_OK;
}

/* Prepares the page, or refuses it before anything is solved. */
static popliner_status begin_page(session *s, popliner_error *error) {
    popliner_error told = {0};
    TRY(page_request(s, s->read, error));
    s->page_input = request_certificate_input(&s->page_request, s, s->read->costs, s->read);
    s->page_input.is_evaluation = false;
    const popliner_status status = popliner_page_of_costs(&s->page_input, NULL, NULL, &told);
    return status == POPLINER_OK ? status : fail(error, status, "--output page: %s", told.message);
}

/* Says what all units need together, as one stage, and what to ask next. */
static popliner_status print_overview(session *s, popliner_error *error) {
    static const char hint[] = "\nTry         --solve%s    where to cut\n";
    char text[80];
    TRY(question_print(s, error));
    s->failed_softly = false; /* the verdict was not requested */
    if (s->options.format != FORMAT_TEXT)
        return POPLINER_OK;
    snprintf(text, sizeof text, hint, s->file->has_kept ? " --schedule 1f1b" : "");
    char *hint_text = strdup(text);
    return hint_text != NULL ? session_print(hint_text, true, error)
                             : fail_memory(error, "the answer");
}

/* Asks for the device that has most memory, where these differ and none was requested. */
static popliner_status choose_largest(request *r, popliner_error *error) {
    const popliner_solver_options *o = &r->solver;
    const popliner_ipu_value *most = NULL;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].value > (most == NULL ? 0 : most->value))
            most = &o->ipu_limits[i];
    if (most == NULL || o->num_mapped_stages > 0)
        return POPLINER_OK;
    r->device_map = calloc(1, sizeof *r->device_map);
    if (r->device_map == NULL)
        return fail_memory(error, "the device map");
    *r->device_map = most->ipu;
    r->solver.device_map = r->device_map;
    r->solver.num_mapped_stages = 1;
    return POPLINER_OK;
}

popliner_status solve_costs_and_print(session *s, popliner_error *error) {
    options *o = &s->options;
    const bool has_page = options_wanted(o, OUTPUT_PAGE) != NULL;
    s->is_overview = !o->solve && !has_page;
    if (s->is_overview) {
        o->evaluate = "whole";
        o->solve = true;
    }
    TRY(read_costs(s, error));
    if (s->is_overview && o->device_map.text == NULL)
        TRY(choose_largest(&s->request, error));
    if (has_page)
        TRY(begin_page(s, error));
    if (o->device_map.is_any)
        TRY(order_devices(s, error));
    else if (o->solve && !options_fix_cuts(o) && !o->device_map.is_replicated &&
             !options_have_several(o))
        TRY(arrange_file(s, error));
    s->file = s->arranged != NULL ? s->arranged : s->read;
    TRY(outputs_of_profile(s, error));
    if (!o->solve)
        return POPLINER_OK;
    s->input = request_certificate_input(&s->request, s, s->file->costs, s->file);
    return s->is_overview ? print_overview(s, error) : question_print(s, error);
}

/* ---- a profile ---- */

/* Refuses what needs cycles of a profile that has none. `r` is NULL before there is a request. */
static popliner_status check_cycles(const session *s, const request *r, popliner_error *error) {
    const options *o = &s->options;
    if (session_profile(s).cycles_source >= POPLINER_CYCLES_ESTIMATED)
        return POPLINER_OK;
    if (r == NULL)
        return o->recompute.way != POPLINER_RECOMPUTE_AUTO
                   ? POPLINER_OK
                   : fail_usage(error,
                                "--recompute auto: the profile has no cycles of computing, so what "
                                "recomputing costs is not known; compile with the engine option "
                                "profiler.includeCycleEstimates set to true, or give none, "
                                "standard or full");
    if (o->total_ipus == 0 && !request_wants(&r->solver, POPLINER_OBJECTIVE_CYCLES))
        return POPLINER_OK;
    const bool is_total = o->total_ipus > 0;
    return fail_usage(error,
                      "--%s%s%s: the profile has no cycles of computing; compile with the engine "
                      "option profiler.includeCycleEstimates set to true",
                      is_total ? "total-ipus" : options_objectives(o)->option, is_total ? "" : " ",
                      is_total ? "" : options_objectives(o)->text);
}

/* Refuses and warns of what the profile does not have. Where links are given, the others are those
 * of its cycles. */
static popliner_status check_profile(session *s, popliner_error *error) {
    request *r = &s->request;
    const popliner_profile_info info = session_profile(s);
    popliner_solver_options *o = &r->solver;
    bool is_training = true;
    TRY(check_cycles(s, r, error));
    if (o->num_ipu_links > 0 && o->link_bandwidth.bytes == 0 && info.clock_hz > 0)
        o->link_bandwidth =
            (popliner_ipu_link){.bytes = POPLINER_LINK_BYTES_PER_SECOND, .cycles = info.clock_hz};
    if (options_keep_activations(&s->options))
        TRY(popliner_analysis_is_training(s->analysis, r->asked.memory_model, &is_training, error));
    if (!is_training)
        session_warn(
            s, "--schedule %s: the profile has no backward pass, so no activations are stored.",
            s->options.schedule.text);
    return POPLINER_OK;
}

popliner_status question_begin(session *s, popliner_error *error) {
    const options *o = &s->options;
    /* the original's algorithm goes on without layers, as the original did, and goes with the
     * original's memory */
    const bool is_greedy = o->evaluate == NULL && o->method == POPLINER_METHOD_GREEDY;
    const bool is_whole = o->evaluate != NULL && strcmp(o->evaluate, "whole") == 0;
    s->can_split = true;
    if (o->diagnose)
        return diagnose_begin(s, error);
    TRY(check_cycles(s, NULL, error));
    if (!is_greedy && !is_whole)
        TRY(can_split(s, error));
    if (!s->can_split)
        return POPLINER_OK;
    TRY(request_make(&s->request, s,
                     is_greedy ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL, NULL,
                     NULL, error));
    return o->evaluate == NULL   ? check_profile(s, error)
           : o->compiled != NULL ? compiled_begin(s, error)
                                 : POPLINER_OK;
}

/* Solves for the best split, by a profile or the costs of a file. */
static popliner_status solve(session *s, popliner_error *error) {
    popliner_certificate_input input = s->input;
    if (s->file != NULL && s->options.device_map.is_replicated) {
        TRY(replicas_of_stages(s, &input.plan, error));
        return answer_certify(s, &input, error);
    }
    if (s->file != NULL)
        return answer_solve(s, error);
    if (options_wanted(&s->options, OUTPUT_PAGE) != NULL) /* measured once for both */
        TRY(popliner_analysis_prepare(s->analysis, &s->request.asked, true, error));
    return popliner_analysis_solve(s->analysis, &s->request.asked, &s->answer, error);
}

popliner_status question_answer(session *s, popliner_error *error) {
    const request *r = &s->request;
    const options *o = &s->options;
    if (s->file == NULL && o->evaluate != NULL) {
        TRY(popliner_analysis_evaluate(s->analysis, &r->asked, r->first_units, r->num_cuts,
                                       &s->answer, error));
        if (s->answer->plan->status == POPLINER_PLAN_INFEASIBLE)
            s->failed_softly = true;
        return POPLINER_OK;
    }
    TRY(solve(s, error));
    s->log.is_mute = o->compare == NULL && screen_is_used(s); /* the report says it */
    const popliner_status status = answer_tell(s, answer_costs(s), error);
    s->log.is_mute = false;
    return status;
}

/* Finds what would help where it is shown, and prints and writes all that is made of the split. */
static popliner_status answer_output(session *s, popliner_error *error) {
    const options *o = &s->options;
    if (screen_is_used(s) || o->format == POPLINER_FORMAT_JSON ||
        options_wanted(o, OUTPUT_REPORT) != NULL || options_wanted(o, OUTPUT_PAGE) != NULL)
        TRY(answer_find_hints(s, error));
    return outputs_of_answer(
        s, &(material){.action = o->solve ? SOLVE : EVALUATE, .certificate = s->answer}, error);
}

popliner_status question_print(session *s, popliner_error *error) {
    if (s->options.compiled != NULL)
        return compiled_and_print(s, error);
    if (options_have_several(&s->options))
        return several_print(s, error);
    TRY(question_answer(s, error));
    return answer_output(s, error);
}
