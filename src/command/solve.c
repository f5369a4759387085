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

/* Puts the options in terms of the units of a file. */
static popliner_status name_units(session *s, request *r, const popliner_costs_file *info,
                                  popliner_error *error) {
    uint64_t limit_bytes = UINT64_MAX - 1; /* no limit */
    const uint64_t memory = session_memory(s, info);
    popliner_status status = POPLINER_OK;
    if (memory > 0)
        status = session_less_reserve(s, memory, &limit_bytes, error);
    if (status == POPLINER_OK)
        status = request_name_file(r, info, error);
    return status == POPLINER_OK ? request_complete(r, s, limit_bytes, info, error) : status;
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
    request_free(r);
    *r = (request){0};
    status = request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error);
    if (status == POPLINER_OK)
        status = name_units(s, r, (*arranged), error);
    return status;
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
static popliner_status make_request(session *s, request *r, popliner_costs_file **file,
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
    const popliner_costs_file *info = (*file);
    if (info->unit_order != NULL && (o->sweep != NULL || o->pareto.count > 0 || o->total_ipus > 0))
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The units make a chain %s; another order may be better.", info->unit_order);
    if (info->not_counted != NULL && (o->sweep != NULL || o->pareto.count > 0 || o->total_ipus > 0))
        log_message(&s->log, POPLINER_LEVEL_WARNING, "Not counted: %s", info->not_counted);
    const size_t samples = o->batch.of_micro_batch > 0 ? o->batch.of_micro_batch : 1;
    if (info->samples > 0 && o->batch.samples > 0 && samples != info->samples)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "--batch: a micro-batch has %zu samples, but %" PRIu64
                    " in the costs; give --batch %" PRIu64 "/%" PRIu64 ", or make costs of %zu.",
                    samples, info->samples,
                    (o->batch.samples - 1) / info->samples * info->samples + info->samples,
                    info->samples, samples);
    status = name_units(s, r, info, error);
    if (status == POPLINER_OK && info->has_kept && o->schedule.order == POPLINER_SCHEDULE_NONE &&
        !options_keep_activations(o) && o->recompute.way != POPLINER_RECOMPUTE_AUTO)
        log_message(&s->log, POPLINER_LEVEL_WARNING,
                    "The costs have a stash: without --schedule none of it is counted.");
    return status;
}

static popliner_status solve_file_once(session *s, const request *r,
                                       const popliner_costs_file *file,
                                       popliner_certificate_input *input, popliner_error *error) {
    popliner_certificate *certificate = NULL;
    const bool is_replicated = s->options.device_map.is_replicated;
    const bool chooses = input->recompute == POPLINER_RECOMPUTE_AUTO || is_replicated;
    popliner_status status = is_replicated ? replicas_of_stages(s, r, file, &input->plan, error)
                                           : answer_solve(s, r, input, &certificate, error);
    if (status == POPLINER_OK && is_replicated)
        status = answer_certify(input, &certificate, error);
    /* remarks would solve again, without a choice */
    if (status == POPLINER_OK)
        status = answer_print(s, r, certificate, chooses ? NULL : input->costs, error);
    popliner_certificate_free(certificate);
    return status;
}

/* ---- the overview of a file of costs ---- */

/* Says what a file of costs has, for people or as the table "summary" has it. `limit_bytes` is that
 * of the request; 0: none. */
static void add_facts(const popliner_costs_file *info, uint64_t limit_bytes, popliner_format format,
                      growing_text *text) {
    const size_t num_units = popliner_costs_num_units(info->costs);
    const uint64_t whole_bytes = popliner_costs_peak(info->costs, 0, num_units - 1, 1);
    const bool is_possible = whole_bytes != POPLINER_PEAK_FORBIDDEN;
    const bool is_json = format == POPLINER_FORMAT_JSON;
    size_t num_layers = 0;
    char line[300];
    for (size_t i = 0; i < num_units; i++)
        num_layers += info->counted_units == NULL || info->counted_units[i] != 0;
    if (format == FORMAT_TEXT) {
        if (!is_possible)
            snprintf(line, sizeof line,
                     "Does not fit on one device: the costs allow no such stage.\n");
        else if (limit_bytes == 0)
            snprintf(line, sizeof line, "All units together need %s bytes; there is no limit.\n",
                     grouped(whole_bytes).text);
        else
            snprintf(line, sizeof line,
                     "%s on one device: all units together need %s of %s bytes.\n",
                     whole_bytes <= limit_bytes ? "Fits" : "Does not fit",
                     grouped(whole_bytes).text, grouped(limit_bytes).text);
        text_add(text, line);
        snprintf(line, sizeof line, "\nUnits       %zu", num_units);
        text_add(text, line);
        snprintf(line, sizeof line, ", %zu of them layers", num_layers);
        text_add(text, num_layers < num_units ? line : ""); /* else no unit is marked */
        text_add(text, info->not_counted != NULL ? "\nNot counted " : "");
        text_add(text, info->not_counted != NULL ? info->not_counted : "");
        text_add(text, info->has_kept ? "\nTry         --solve --schedule 1f1b    where to cut\n"
                                      : "\nTry         --solve    where to cut\n");
        return;
    }
    const struct {
        const char *group;
        const char *name;
        uint64_t value;
        bool is_known;
    } rows[] = {
        {"count", "units", num_units, true},
        {"count", "layers", num_layers, true},
        {"device", "ipus", info->num_ipus, info->num_ipus > 0},
        {"device", "bytes_per_tile", limit_bytes, limit_bytes > 0},
        {"memory", "whole_bytes", whole_bytes, is_possible},
    };
    const char *const pattern = is_json ? "%s{\"group\": \"%s\", \"name\": \"%s\", \"value\": %llu}"
                                : format == POPLINER_FORMAT_CSV ? "%s%s,%s,%llu\r\n"
                                                                : "%s%s\t%s\t%llu\n";
    text_add(text, is_json                         ? "{\"section\": \"summary\", \"rows\": [\n"
                   : format == POPLINER_FORMAT_CSV ? "group,name,value\r\n"
                                                   : "group\tname\tvalue\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(line, sizeof line, pattern, is_json && i > 0 ? ",\n" : "", rows[i].group,
                 rows[i].name, (unsigned long long)rows[i].value);
        text_add(text, rows[i].is_known ? line : "");
    }
    text_add(text, is_json ? "\n]}\n" : "");
}

static popliner_status print_overview(const options *o, const popliner_costs_file *info,
                                      uint64_t limit_bytes, popliner_error *error) {
    growing_text text = {0};
    add_facts(info, limit_bytes < UINT64_MAX - 1 ? limit_bytes : 0, o->format, &text);
    return text.failed ? fail_memory(error, "the overview") : session_print(text.text, error);
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

/* Prepares the page, or refuses it before anything is solved. On a page cuts can be moved, also
 * those of --evaluate, which leave no other split. */
static popliner_status begin_page(session *s, request *r, const popliner_costs_file *file,
                                  popliner_certificate_input *input, popliner_error *error) {
    const char *split = s->options.evaluate;
    popliner_error told = {0};
    s->options.evaluate = NULL;
    s->log.is_mute = true; /* what it says was said */
    popliner_status status = request_begin(r, s, POPLINER_MEMORY_MODEL_FULL, error);
    if (status == POPLINER_OK)
        status = name_units(s, r, file, error);
    if (status == POPLINER_OK) {
        *input = input_of(s, r, file);
        s->page_costs = input;
        status = popliner_page_of_costs(input, NULL, NULL, &told);
        if (status != POPLINER_OK)
            status = fail(error, status, "--output page: %s", told.message);
    }
    s->log.is_mute = false;
    s->options.evaluate = split;
    return status;
}

popliner_status solve_costs_and_print(session *s, popliner_error *error) {
    request r = {0};
    request of_page = {0};
    popliner_certificate_input page_input;
    popliner_costs_file *file = NULL;
    popliner_costs_file *arranged = NULL;
    popliner_status status = make_request(s, &r, &file, error);
    if (status == POPLINER_OK && options_wanted(&s->options, OUTPUT_PAGE) != NULL)
        status = begin_page(s, &of_page, file, &page_input, error);
    if (status == POPLINER_OK && s->options.device_map.is_any)
        status = order_devices(s, &r, file->costs, error);
    else if (status == POPLINER_OK && s->options.solve && !options_fix_cuts(&s->options) &&
             !s->options.device_map.is_replicated && s->options.total_ipus == 0 &&
             s->options.sweep == NULL && s->options.pareto.count == 0)
        status = arrange_file(s, &r, file, &arranged, error);
    if (status == POPLINER_OK) {
        const popliner_costs_file *info = (arranged != NULL ? arranged : file);
        popliner_certificate_input input = input_of(s, &r, info);
        if (!s->options.solve)
            status = s->page_costs != NULL
                         ? POPLINER_OK
                         : print_overview(&s->options, info, r.solver.mem_per_tile, error);
        else if (s->options.total_ipus > 0)
            status = replicas_print(s, &r, info, &input, error);
        else if (s->options.sweep != NULL)
            status = sweep_print(s, &r, &input, NULL, NULL, error);
        else
            status = s->options.pareto.count > 0 ? pareto_print(s, &r, &input, error)
                                                 : solve_file_once(s, &r, file, &input, error);
    }
    if (status == POPLINER_OK && s->page_costs != NULL)
        status = write_page(s, NULL, error); /* unless a plan has one */
    s->page_costs = NULL;
    popliner_costs_file_free(arranged);
    popliner_costs_file_free(file);
    request_free(&of_page);
    request_free(&r);
    return status;
}

/* ---- a profile ---- */

/* Refuses --recompute auto for a profile without cycles. */
static popliner_status check_choices(const session *s, popliner_error *error) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    if (s->options.recompute.way != POPLINER_RECOMPUTE_AUTO)
        return POPLINER_OK;
    popliner_status status =
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, error);
    return status != POPLINER_OK || info.cycles_source >= POPLINER_CYCLES_ESTIMATED
               ? status
               : fail_usage(error,
                            "--recompute auto: the profile has no cycles of computing, so what "
                            "recomputing costs is not known; compile with the engine option "
                            "profiler.includeCycleEstimates set to true, or give none, standard "
                            "or full");
}

/* Refuses and warns of what the profile does not have. */
static popliner_status check_profile(session *s, const request *r, popliner_error *error) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    bool is_training = true;
    popliner_status status =
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, error);
    bool has_replicas = s->options.total_ipus > 0;
    if (status == POPLINER_OK &&
        (request_wants(&r->solver, POPLINER_OBJECTIVE_CYCLES) || has_replicas) &&
        info.cycles_source < POPLINER_CYCLES_ESTIMATED)
        status = fail_usage(error,
                            "--%s%s: the profile has no cycles of computing; compile "
                            "with the engine option profiler.includeCycleEstimates set to true",
                            has_replicas                  ? "total-ipus"
                            : s->options.pareto.count > 0 ? "pareto "
                                                          : "objective ",
                            has_replicas                  ? ""
                            : s->options.pareto.count > 0 ? s->options.pareto.text
                                                          : s->options.objective.text);
    if (status == POPLINER_OK && options_keep_activations(&s->options))
        status =
            popliner_analysis_is_training(s->analysis, r->asked.memory_model, &is_training, error);
    if (status == POPLINER_OK && !is_training)
        session_warn(
            s, "--schedule %s: the profile has no backward pass, so no activations are stored.",
            s->options.schedule.text);
    return status;
}

/* Where links are given, the others are those of a profile's cycles. */
static popliner_status complete_links(const session *s, request *r, popliner_error *error) {
    popliner_solver_options *o = &r->solver;
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_status status =
        popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, error);
    if (status == POPLINER_OK && o->num_ipu_links > 0 && o->link_bandwidth.bytes == 0 &&
        info.clock_hz > 0)
        o->link_bandwidth =
            (popliner_ipu_link){.bytes = POPLINER_LINK_BYTES_PER_SECOND, .cycles = info.clock_hz};
    return status;
}

void question_free(question *q) {
    request_free(&q->request);
    free(q->first_units);
    free(q->compiled);
}

popliner_status question_begin(session *s, question *q, popliner_error *error) {
    const options *o = &s->options;
    request *r = &q->request;
    /* the original's algorithm goes on without layers, as the original did, and goes with the
     * original's memory */
    const bool is_greedy = o->evaluate == NULL && o->solver == SOLVER_GREEDY;
    const bool is_whole = o->evaluate != NULL && strcmp(o->evaluate, "whole") == 0;
    q->can = true;
    if (o->diagnose)
        return diagnose_begin(s, q, error);
    popliner_status status = check_choices(s, error);
    if (status == POPLINER_OK && !is_greedy && !is_whole)
        status = can_split(s, &q->can, error);
    if (status != POPLINER_OK || !q->can)
        return status;
    if (o->evaluate != NULL) {
        status = split_take(s, NULL, q, error);
        return status == POPLINER_OK && o->compiled != NULL ? compiled_begin(s, q, error) : status;
    }
    status = request_of_profile(
        r, s, is_greedy ? POPLINER_MEMORY_MODEL_POPLINER : POPLINER_MEMORY_MODEL_FULL, error);
    if (status == POPLINER_OK)
        status = complete_links(s, r, error);
    return status == POPLINER_OK ? check_profile(s, r, error) : status;
}

/* Stages are measured once for the answer and the page. */
static popliner_status prepare_page(const session *s, const request *r, popliner_error *error) {
    return options_wanted(&s->options, OUTPUT_PAGE) != NULL && s->options.total_ipus == 0
               ? popliner_analysis_prepare(s->analysis, &r->asked, true, error)
               : POPLINER_OK;
}

popliner_status question_answer(session *s, const question *q, popliner_certificate **certificate,
                                popliner_error *error) {
    const request *r = &q->request;
    popliner_status status = POPLINER_OK;
    if (s->options.evaluate != NULL) {
        status = popliner_analysis_evaluate(s->analysis, &r->asked, q->first_units, q->num_cuts,
                                            certificate, error);
        if (status == POPLINER_OK && (*certificate)->plan->status == POPLINER_PLAN_INFEASIBLE)
            s->failed_softly = true;
        return status;
    }
    status = prepare_page(s, r, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_solve(s->analysis, &r->asked, certificate, error);
    s->log.is_mute = s->options.compare == NULL && screen_is_used(s); /* the report says it */
    if (status == POPLINER_OK)
        status = answer_tell(s, r, *certificate, (*certificate)->costs, error);
    s->log.is_mute = false;
    return status;
}

/* The most IPUs that a range asks for, or num_ipus if these are more. */
static size_t sweep_max_ipus(const session *s, size_t num_ipus) {
    const value_range *range = s->options.sweep;
    return range->of_ipus && range->last > num_ipus ? (size_t)range->last : num_ipus;
}

/* Measures once, for the most IPUs, and solves for every value of a range, or for --pareto. */
static popliner_status solve_several(session *s, const request *r, popliner_error *error) {
    popliner_costs *costs = NULL;
    popliner_request asked = r->asked;
    popliner_solver_options solver = r->solver;
    asked.solver = &solver;
    popliner_status status = POPLINER_OK;
    if (s->options.sweep != NULL)
        solver.num_ipus = sweep_max_ipus(s, r->solver.num_ipus);
    if (status == POPLINER_OK)
        status = popliner_analysis_costs(s->analysis, &asked, &costs, error);
    if (status == POPLINER_OK) {
        const popliner_certificate_input names = request_certificate_input(r, s, costs);
        status = s->options.sweep != NULL ? sweep_print(s, r, &names, NULL, NULL, error)
                                          : pareto_print(s, r, &names, error);
    }
    popliner_costs_free(costs);
    return status;
}

popliner_status question_print(session *s, const question *q, popliner_error *error) {
    const options *o = &s->options;
    popliner_certificate *certificate = NULL;
    if (o->compiled != NULL)
        return compiled_and_print(s, q, error);
    if (o->total_ipus > 0)
        return replicas_print_profile(s, &q->request, error);
    if (o->sweep != NULL || o->pareto.count > 0)
        return solve_several(s, &q->request, error);
    popliner_status status = question_answer(s, q, &certificate, error);
    if (status == POPLINER_OK)
        status = answer_output(s, o->solve ? SOLVE : EVALUATE, &q->request, certificate,
                               o->solve ? certificate->costs : NULL, error);
    popliner_certificate_free(certificate);
    return status;
}
