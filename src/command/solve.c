/* --solve: the best split of a profile, or of what a file of costs says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/option_table.h"
#include "command/progress.h"
#include "popliner/page.h"

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
    const bool is_front = o->pareto.count > 0;
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
    return fail_usage(error,
                      "--%s%s: the profile has no cycles of computing; compile "
                      "with the engine option profiler.includeCycleEstimates set to true",
                      o->total_ipus > 0 ? "total-ipus"
                      : is_front        ? "pareto "
                                        : "objective ",
                      o->total_ipus > 0 ? ""
                      : is_front        ? o->pareto.text
                                        : o->objective.text);
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

popliner_status question_print(session *s, popliner_error *error) {
    if (s->options.compiled != NULL)
        return compiled_and_print(s, error);
    if (options_have_several(&s->options))
        return several_print(s, error);
    TRY(question_answer(s, error));
    return answer_output(s, error);
}
