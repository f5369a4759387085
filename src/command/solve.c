/* --solve: the best split of a profile, or of what a file of costs says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/commands.h"
#include "command/output_table.h"
#include "command/outputs.h"
#include "command/progress.h"
#include "command/request.h"
#include "command/screen.h"
#include "command/session.h"
#include "command/values.h"
#include "popliner/costs.h"
#include "popliner/page.h"
#include "popliner/solver.h"

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
static popliner_status check_file(session *s, const popliner_costs_file *file,
                                  popliner_error *error) {
    const options *o = &s->options;
    popliner_status status = POPLINER_OK;
    if (options_has_reserve(o) && (o->sweep == NULL || o->sweep->of_ipus) &&
        o->lists[LIST_LIMITS].all.bytes == 0 && file->bytes_per_tile == 0 &&
        o->lists[LIST_LIMITS].count == 0 && file->num_ipu_limits == 0)
        status =
            fail_usage(error, "--reserve: the costs have no limit of memory to keep something free "
                              "of; give --mem-per-tile");
    if (status == POPLINER_OK && options_keep_activations(o) && !file->has_kept)
        session_warn(s,
                     file->is_graph
                         ? "--schedule %s: a graph has no stash, so nothing is stored."
                         : "--schedule %s: the costs have no stash, so nothing is stored.",
                     o->schedule.text);
    return status;
}

/* Puts the units of a graph in the order in which its best partition is a split, and the options in
 * terms of them. *arranged is NULL, and nothing changes, where the file's own order stands. */
static popliner_status arrange_file(session *s, request *r, const popliner_costs_file *file,
                                    popliner_costs_file **arranged, popliner_error *error) {
    double start = progress_seconds();
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_costs_file_arrange(file, &r->solver, arranged, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK || *arranged == NULL)
        return status;
    log_step(&s->log, "Searching the graph", start);
    return request_make(r, s, POPLINER_MEMORY_MODEL_FULL, *arranged, NULL, error);
}

/* Chooses which device gets which stage. If nothing fits, the devices stay in their own order, of
 * which the reasons are. */
static popliner_status order_devices(session *s, request *r, const popliner_costs *costs,
                                     popliner_error *error) {
    double start = progress_seconds();
    bool is_proven;
    r->device_map = calloc(r->solver.num_ipus, sizeof *r->device_map);
    if (r->device_map == NULL)
        return fail_memory(error, "the device map");
    interrupts_catch(&s->interrupts);
    popliner_status status = popliner_solver_order_devices(
        costs, &r->solver, r->device_map, &r->solver.num_mapped_stages, &is_proven, error);
    interrupts_release(&s->interrupts);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Ordering the devices", start);
    if (r->solver.num_mapped_stages > 0) {
        r->solver.device_map = r->device_map;
        log_message(&s->log, POPLINER_LEVEL_INFO,
                    is_proven ? "No other order of the devices has a better split."
                              : "Stopped: another order of the devices may be better.");
    } else {
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    is_proven ? "No split fits in any order of the devices; what follows is of "
                                "their own order."
                              : "Stopped: no order of the devices was found yet.");
    }
    return POPLINER_OK;
}

/* Reads the file and puts the options in terms of its units. */
static popliner_status read_costs(session *s, request *r, popliner_costs_file **file,
                                  popliner_error *error) {
    const options *o = &s->options;
    double start = progress_seconds();
    popliner_status status = request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error);
    const popliner_pipeline pipeline = {
        .schedule = o->schedule.order,
        .recompute = o->recompute.way,
        .copies = r->asked.copies,
        .max_stages = stages_to_know(o, r),
    };
    if (status == POPLINER_OK)
        status = read_file(o, &pipeline, file, error);
    if (status == POPLINER_OK)
        status = check_file(s, *file, error);
    if (status != POPLINER_OK)
        return status;
    log_step(&s->log, "Reading the costs", start);
    const popliner_costs_file *info = *file;
    if (info->unit_order != NULL && options_have_several(o))
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The units make a chain %s; another order may be better.", info->unit_order);
    if (info->not_counted != NULL && options_have_several(o))
        log_message(&s->log, POPLINER_LEVEL_WARNING, "Not counted: %s", info->not_counted);
    const size_t samples = o->batch.of_micro_batch > 0 ? o->batch.of_micro_batch : 1;
    if (info->samples > 0 && o->batch.samples > 0 && samples != info->samples)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--batch: a micro-batch has %zu samples, but %" PRIu64
                    " in the costs; give --batch %" PRIu64 "/%" PRIu64 ", or make costs of %zu.",
                    samples, info->samples,
                    (o->batch.samples - 1) / info->samples * info->samples + info->samples,
                    info->samples, samples);
    status = request_make(r, s, POPLINER_MEMORY_MODEL_FULL, info, NULL, error);
    if (status == POPLINER_OK && info->has_kept && o->schedule.order == POPLINER_SCHEDULE_NONE &&
        !options_keep_activations(o) && o->recompute.way != POPLINER_RECOMPUTE_AUTO)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The costs have a stash: without --schedule none of it is counted.");
    return status;
}

/* How a certificate calls what is in a file. */
static popliner_certificate_input input_of(const session *s, const request *r,
                                           const popliner_costs_file *file) {
    popliner_certificate_input input = request_certificate_input(r, s, file->costs);
    input.time_unit = file->time_unit;
    input.cycles_per_time_unit = file->cycles_per_time_unit;
    input.cuts_per_unit = file->cuts_per_unit;
    return input;
}

/* Prepares the page, or refuses it before anything is solved. */
static popliner_status begin_page(session *s, request *r, const popliner_costs_file *file,
                                  popliner_certificate_input *input, popliner_error *error) {
    popliner_error told = {0};
    popliner_status status = page_request(r, s, file, error);
    if (status != POPLINER_OK)
        return status;
    *input = input_of(s, r, file);
    input->is_evaluation = false;
    s->page_costs = input;
    status = popliner_page_of_costs(input, NULL, NULL, &told);
    return status == POPLINER_OK ? status : fail(error, status, "--output page: %s", told.message);
}

/* Says what all units need together, as one stage, and what to ask next. */
static popliner_status print_overview(session *s, question *q, popliner_error *error) {
    static const char hint[] = "\nTry         --solve%s    where to cut\n";
    char text[80];
    popliner_status status = question_print(s, q, error);
    s->failed_softly = false; /* the verdict was not requested */
    if (status != POPLINER_OK || s->options.format != FORMAT_TEXT)
        return status;
    snprintf(text, sizeof text, hint, q->file->has_kept ? " --schedule 1f1b" : "");
    char *hint_text = strdup(text);
    return hint_text != NULL ? session_print(hint_text, error) : fail_memory(error, "the answer");
}

/* Asks for the device that has most memory, where these differ and none was requested. */
static void choose_largest(request *r, size_t *largest) {
    const popliner_solver_options *o = &r->solver;
    uint64_t most = 0;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].value > most) {
            most = o->ipu_limits[i].value;
            *largest = o->ipu_limits[i].ipu;
        }
    if (most == 0 || o->num_mapped_stages > 0)
        return;
    r->solver.device_map = largest;
    r->solver.num_mapped_stages = 1;
}

popliner_status solve_costs_and_print(session *s, popliner_error *error) {
    options *o = &s->options;
    question q = {0};
    request of_page = {0};
    popliner_certificate_input page_input;
    popliner_costs_file *file = NULL;
    popliner_costs_file *arranged = NULL;
    const bool has_page = options_wanted(o, OUTPUT_PAGE) != NULL;
    const bool is_overview = s->is_overview = !o->solve && !has_page;
    if (is_overview) {
        o->evaluate = "whole";
        o->solve = true;
    }
    size_t largest = 0;
    popliner_status status = read_costs(s, &q.request, &file, error);
    if (status == POPLINER_OK && is_overview && o->device_map.text == NULL)
        choose_largest(&q.request, &largest);
    if (status == POPLINER_OK && has_page)
        status = begin_page(s, &of_page, file, &page_input, error);
    if (status == POPLINER_OK && o->device_map.is_any)
        status = order_devices(s, &q.request, file->costs, error);
    else if (status == POPLINER_OK && o->solve && !options_fix_cuts(o) &&
             !o->device_map.is_replicated && !options_have_several(o))
        status = arrange_file(s, &q.request, file, &arranged, error);
    if (status == POPLINER_OK && o->solve) {
        q.file = arranged != NULL ? arranged : file;
        q.input = input_of(s, &q.request, q.file);
        status = is_overview ? print_overview(s, &q, error) : question_print(s, &q, error);
    }
    if (status == POPLINER_OK && s->page_costs != NULL)
        status = write_page(s, NULL, error); /* unless a plan has one */
    s->page_costs = NULL;
    popliner_costs_file_free(arranged);
    popliner_costs_file_free(file);
    request_free(&of_page);
    question_free(&q);
    return status;
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
static popliner_status check_profile(session *s, request *r, popliner_error *error) {
    const popliner_profile_info info = session_profile(s);
    popliner_solver_options *o = &r->solver;
    bool is_training = true;
    popliner_status status = check_cycles(s, r, error);
    if (o->num_ipu_links > 0 && o->link_bandwidth.bytes == 0 && info.clock_hz > 0)
        o->link_bandwidth =
            (popliner_ipu_link){.bytes = POPLINER_LINK_BYTES_PER_SECOND, .cycles = info.clock_hz};
    if (status == POPLINER_OK && options_keep_activations(&s->options))
        status =
            popliner_analysis_is_training(s->analysis, r->asked.memory_model, &is_training, error);
    if (status == POPLINER_OK && !is_training)
        session_warn(
            s, "--schedule %s: the profile has no backward pass, so no activations are stored.",
            s->options.schedule.text);
    return status;
}

void question_free(question *q) {
    request_free(&q->request);
    free(q->compiled);
}

popliner_status question_begin(session *s, question *q, popliner_error *error) {
    const options *o = &s->options;
    request *r = &q->request;
    /* the original's algorithm goes on without layers, as the original did, and goes with the
     * original's memory */
    const bool is_greedy = o->evaluate == NULL && o->method == POPLINER_METHOD_GREEDY;
    const bool is_whole = o->evaluate != NULL && strcmp(o->evaluate, "whole") == 0;
    q->can = true;
    if (o->diagnose)
        return diagnose_begin(s, q, error);
    popliner_status status = check_cycles(s, NULL, error);
    if (status == POPLINER_OK && !is_greedy && !is_whole)
        status = can_split(s, &q->can, error);
    if (status != POPLINER_OK || !q->can)
        return status;
    status =
        request_make(r, s, is_greedy ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL,
                     NULL, NULL, error);
    if (status == POPLINER_OK && o->evaluate != NULL)
        return o->compiled != NULL ? compiled_begin(s, q, error) : POPLINER_OK;
    return status == POPLINER_OK ? check_profile(s, r, error) : status;
}

/* Stages are measured once for the answer and the page. */
static popliner_status prepare_page(const session *s, const request *r, popliner_error *error) {
    return options_wanted(&s->options, OUTPUT_PAGE) != NULL
               ? popliner_analysis_prepare(s->analysis, &r->asked, true, error)
               : POPLINER_OK;
}

/* The costs by which an answer is explained, and better ones are looked for; NULL: none. */
static const popliner_costs *costs_of(const session *s, const question *q,
                                      const popliner_certificate *certificate) {
    const options *o = &s->options;
    if (q->file == NULL)
        return o->solve ? certificate->costs : NULL;
    /* remarks would solve again, without a choice */
    return o->recompute.way == POPLINER_RECOMPUTE_AUTO || o->device_map.is_replicated
               ? NULL
               : q->file->costs;
}

popliner_status question_answer(session *s, const question *q, popliner_certificate **certificate,
                                popliner_error *error) {
    const request *r = &q->request;
    const options *o = &s->options;
    popliner_certificate_input input = q->input;
    popliner_status status = POPLINER_OK;
    if (q->file == NULL && o->evaluate != NULL) {
        status = popliner_analysis_evaluate(s->analysis, &r->asked, r->first_units, r->num_cuts,
                                            certificate, error);
        if (status == POPLINER_OK && (*certificate)->plan->status == POPLINER_PLAN_INFEASIBLE)
            s->failed_softly = true;
        return status;
    }
    if (q->file == NULL) {
        status = prepare_page(s, r, error);
        if (status == POPLINER_OK)
            status = popliner_analysis_solve(s->analysis, &r->asked, certificate, error);
    } else if (o->device_map.is_replicated) {
        status = replicas_of_stages(s, r, q->file, &input.plan, error);
        if (status == POPLINER_OK)
            status = answer_certify(&input, certificate, error);
    } else {
        status = answer_solve(s, r, &input, certificate, error);
    }
    s->log.is_mute = o->compare == NULL && screen_is_used(s); /* the report says it */
    if (status == POPLINER_OK)
        status = answer_tell(s, r, *certificate, costs_of(s, q, *certificate), error);
    s->log.is_mute = false;
    return status;
}

popliner_status question_print(session *s, question *q, popliner_error *error) {
    const options *o = &s->options;
    popliner_certificate *certificate = NULL;
    if (o->compiled != NULL)
        return compiled_and_print(s, q, error);
    if (options_have_several(o))
        return several_print(s, q, error);
    popliner_status status = question_answer(s, q, &certificate, error);
    if (status == POPLINER_OK)
        status = answer_output(s, o->solve ? SOLVE : EVALUATE, &q->request, certificate,
                               costs_of(s, q, certificate), error);
    popliner_certificate_free(certificate);
    return status;
}
