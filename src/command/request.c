/* The request to the library: the options of the command line in terms of units.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/session.h"

#include <stdlib.h>

#include "popliner/operations.h"
#include "popliner/pipeline.h"

/* ---- copies ---- */

/* Puts the copies of --schedule into the request, if it is given; the device map has to be there.
 * Errors: USAGE, which names the option that is missing. */
static popliner_status copies_take(request *r, const options *o, popliner_error *error) {
    popliner_copies *copies = &r->asked.copies;
    size_t num_mapped = r->solver.num_mapped_stages;
    *copies = o->schedule.rule;
    copies->num_micro_batches = o->micro_batches > 0 ? o->micro_batches : o->batch.samples;
    if (o->schedule.copies == NULL)
        return POPLINER_OK;
    size_t num_ipus = o->num_ipus.number > 0 ? o->num_ipus.number : o->total_ipus;
    size_t chunks = o->total_ipus > 0 ? options_chunks(o) : 1;
    /* with --total-ipus, or a range, these are set again for each pipeline */
    if (num_mapped > 0)
        popliner_copies_set_map(copies, r->solver.device_map, num_mapped);
    else {
        copies->num_stages = chunks * num_ipus;
        copies->num_ipus = num_ipus;
        copies->is_v = o->device_map.is_v;
    }
    if (copies->rule == POPLINER_COPIES_GPIPE && copies->num_micro_batches == 0)
        return fail_usage(error,
                          "--schedule %s: every micro-batch of a step is kept; give "
                          "--micro-batches",
                          o->schedule.text);
    bool is_interleaved = o->total_ipus > 0
                              ? o->device_map.interleaved > 0
                              : num_mapped > 0 && copies->num_ipus > 0 && !copies->is_v;
    if (copies->rule == POPLINER_COPIES_INTERLEAVED && !is_interleaved)
        return fail_usage(error,
                          "--schedule %s: needs a --device-map whose stages go round the IPUs, "
                          "like interleaved:2",
                          o->schedule.text);
    const popliner_order *of_file = o->schedule.given;
    if (of_file != NULL && copies->num_micro_batches == 0)
        copies->num_micro_batches = of_file->num_micro_batches;
    if (of_file != NULL && (num_mapped == 0 || popliner_copies_check(copies, NULL) != POPLINER_OK))
        return fail_usage(error,
                          "--schedule %s: is for --num-ipus %zu, --device-map %s%.0zu and "
                          "--micro-batches %zu; give these or none of them",
                          o->schedule.text, of_file->num_ipus, of_file->is_v ? "v" : "interleaved:",
                          of_file->is_v ? 0 : of_file->num_stages / of_file->num_ipus,
                          of_file->num_micro_batches);
    const size_t least = /* replicas divide a batch */
        2 * (o->micro_batches == 0 && o->total_ipus > 0 ? o->total_ipus : copies->num_ipus);
    const size_t in_all = copies->num_micro_batches;
    const bool divides = o->micro_batches == 0 && o->batch.of_micro_batch > 0;
    if (copies->rule == POPLINER_COPIES_DUALPIPE_V && in_all > 0 &&
        in_all / (divides ? o->batch.of_micro_batch : 1) < least)
        return fail_usage(error,
                          "--schedule %s: needs two micro-batches for each device; give "
                          "--micro-batches %zu or more, fewer devices, or --schedule zero-bubble",
                          o->schedule.text, least);
    if (of_file == NULL && copies->rule >= POPLINER_COPIES_V_HALF && !copies->is_v)
        return fail_usage(error, "--schedule %s: needs --device-map v, on two IPUs or more",
                          o->schedule.text);
    return POPLINER_OK;
}

/* Keeps the number of stages to those that a list of copies is for: the usual number becomes
 * smaller, at most *max_ipus, one that was requested is rejected. Errors: USAGE. */
static popliner_status copies_limit(request *r, const options *o, size_t *max_ipus,
                                    popliner_error *error) {
    size_t num_mapped = r->solver.num_mapped_stages;
    size_t known =
        o->schedule.copies == NULL ? SIZE_MAX : popliner_copies_max_stages(&r->asked.copies);
    size_t wanted = num_mapped > 0 ? num_mapped : o->num_ipus.number;
    if (known < wanted)
        return fail_usage(error,
                          "--schedule %s: is for %zu stages, but %s%zu stages are requested; give "
                          "a number for each, or end with ',...' if it goes on like that",
                          o->schedule.text, known, num_mapped > 0 ? "" : "up to ", wanted);
    *max_ipus = o->total_ipus > 0 ? known / options_chunks(o) : known;
    if (*max_ipus == 0)
        return fail_usage(error,
                          "--schedule %s: is for %zu stages, but --device-map %s has as many on "
                          "one IPU",
                          o->schedule.text, known, o->device_map.text);
    if (r->solver.num_ipus > *max_ipus)
        r->solver.num_ipus = *max_ipus;
    return POPLINER_OK;
}

/* ---- units ---- */

void request_free(request *r) {
    free(r->counted_units);
    free(r->first_units);
    free(r->cut_rules);
    free(r->pairs);
    free(r->placements);
    for (size_t list = 0; list < NUM_LISTS; list++)
        free(r->ipu_lists[list]);
    free(r->device_map);
}

/* calloc that does not fail for lack of items. */
static void *new_array(size_t count, size_t size) {
    return calloc(count > 0 ? count : 1, size);
}

static popliner_status name_units(request *r, size_t num_units, const char *const *names,
                                  const uint8_t *counted, popliner_error *error) {
    r->num_units = num_units;
    r->unit_names = names;
    r->counted_units = new_array(num_units, sizeof *r->counted_units);
    if (r->counted_units == NULL)
        return fail_memory(error, "the constraints");
    for (size_t unit = 0; unit < num_units; unit++)
        r->counted_units[unit] = counted == NULL || counted[unit] != 0;
    return POPLINER_OK;
}

popliner_status request_name_chain(request *r, const popliner_chain *chain, popliner_error *error) {
    TRY(name_units(r, chain->num_units, chain->unit_labels, NULL, error));
    for (size_t unit = 0; unit < r->num_units; unit++)
        r->counted_units[unit] = chain->unit_kinds[unit] == POPLINER_UNIT_LAYER;
    return POPLINER_OK;
}

size_t request_find_unit(const request *r, const char *name, size_t length) {
    size_t found = SIZE_MAX;
    for (size_t unit = 0; unit < r->num_units; unit++) {
        if (!value_is(name, length, r->unit_names[unit]))
            continue;
        if (r->counted_units[unit] != 0)
            return unit;
        found = found == SIZE_MAX ? unit : found;
    }
    return found;
}

popliner_status request_make_map(const options *o, size_t num_ipus, size_t **map, size_t *count,
                                 popliner_error *error) {
    *count = options_chunks(o) * num_ipus;
    *map = new_array(*count, sizeof **map);
    if (*map == NULL)
        return fail_memory(error, "the constraints");
    for (size_t stage = 0; stage < *count; stage++)
        (*map)[stage] =
            o->device_map.is_v && stage >= num_ipus ? *count - 1 - stage : stage % num_ipus;
    return POPLINER_OK;
}

/* Takes the device map, if the options give one in any way. */
static popliner_status take_map(request *r, const options *o, popliner_error *error) {
    if (o->device_map.is_any || o->device_map.is_replicated)
        return POPLINER_OK; /* found when the costs are known */
    if (o->device_map.ipus == NULL && options_map_name(o) != NULL)
        TRY(request_make_map(o, options_num_ipus(o), &r->device_map, &r->solver.num_mapped_stages,
                             error));
    else
        r->solver.num_mapped_stages = o->device_map.num_stages;
    r->solver.device_map = r->device_map != NULL ? r->device_map : o->device_map.ipus;
    return POPLINER_OK;
}

popliner_status request_begin(request *r, const session *s, popliner_memory_model otherwise,
                              popliner_error *error) {
    const options *o = &s->options;
    request_free(r);
    *r = (request){.solver = POPLINER_SOLVER_OPTIONS_INIT, .asked = POPLINER_REQUEST_INIT};
    r->solver.method = o->method;
    TRY(take_map(r, o, error));
    r->asked.memory_model = session_memory_model(s, otherwise);
    r->asked.schedule = o->schedule.order;
    r->asked.recompute = o->recompute.way;
    r->asked.recompute_ways = o->recompute.ways;
    r->asked.effects = o->effects.mask;
    r->asked.accumulators = o->effects.accumulators;
    r->asked.need = o->need;
    r->asked.solver = &r->solver;
    TRY(copies_take(r, o, error));
    r->pipeline = (popliner_pipeline){.schedule = r->asked.schedule, .copies = r->asked.copies};
    r->solver.pipeline = &r->pipeline;
    return POPLINER_OK;
}

bool request_wants(const popliner_solver_options *solver, popliner_objective objective) {
    for (size_t i = 0; i < solver->num_objectives; i++)
        if (solver->objectives[i] == objective)
            return true;
    return false;
}

/* Returns the requested objective that is of free memory; NULL: none is. */
static const char *wanted_room(const popliner_solver_options *solver) {
    return request_wants(solver, POPLINER_OBJECTIVE_HEADROOM) ? "headroom"
           : request_wants(solver, POPLINER_OBJECTIVE_TOKENS) ? "tokens"
                                                              : NULL;
}

/* Takes the requested objectives, if there are any. With --total-ipus the first is the throughput,
 * of a front also the memory; those after it decide between equals. */
static popliner_status take_objectives(request *r, const options *o, popliner_error *error) {
    const bool is_front = o->pareto.count > 0;
    const bool is_of_replicas = o->total_ipus > 0;
    const asked_objectives *asked = options_objectives(o);
    const size_t first = !is_of_replicas ? 0 : is_front ? 2 : 1;
    r->solver.objectives = r->objectives;
    if (is_of_replicas && asked->count > 0 &&
        (asked->count < first || asked->names[0] != THROUGHPUT ||
         (is_front && asked->names[1] != (int)POPLINER_OBJECTIVE_MEMORY)))
        return fail_usage(error, "--%s %s: with --total-ipus the first one is throughput%s",
                          asked->option, asked->text, is_front ? "; give throughput,memory" : "");
    const bool has_step = o->micro_batches > 0 || o->batch.samples > 0 || o->schedule.given != NULL;
    for (size_t i = first; i < asked->count; i++)
        if (asked->names[i] == (int)POPLINER_OBJECTIVE_STEP && !has_step)
            return fail_usage(error, "--%s %s: how long is a step? Give --micro-batches",
                              asked->option, asked->text);
        else if (asked->names[i] == THROUGHPUT)
            return fail_usage(error,
                              "--%s %s: the throughput is that of all pipelines on a number of "
                              "IPUs; give --total-ipus, and the throughput first",
                              asked->option, asked->text);
        else
            r->objectives[r->solver.num_objectives++] = (popliner_objective)asked->names[i];
    if (is_of_replicas && r->solver.num_objectives == 0) {
        r->objectives[r->solver.num_objectives++] = POPLINER_OBJECTIVE_MEMORY;
        r->objectives[r->solver.num_objectives++] = POPLINER_OBJECTIVE_TRAFFIC;
    }
    const char *room = wanted_room(&r->solver);
    if (is_of_replicas && room != NULL)
        return fail_usage(error,
                          "--%s %s: %s is not with --total-ipus; give memory, which is the same "
                          "for IPUs of one size",
                          asked->option, asked->text, room);
    return !is_front || asked->count > 1
               ? POPLINER_OK
               : fail_usage(error, "--pareto %s: needs two objectives, like memory,cycles",
                            asked->text);
}

popliner_status request_no_unit(const request *r, const char *option, const char *value,
                                const char *name, size_t length, popliner_error *error) {
    return fail_usage(error, "--%s %s: no layer %.*s%s", option, value, (int)length, name,
                      names_hint(r->unit_names, r->num_units, name, length).text);
}

popliner_status request_check(session *s, popliner_error *error) {
    TRY(popliner_analysis_options_check(&s->options.reading, error));
    TRY(take_objectives(&s->request, &s->options, error));
    TRY(take_map(&s->request, &s->options, error));
    return copies_take(&s->request, &s->options, error);
}

static bool has_limit(const options *o, uint64_t limit_bytes, const popliner_costs_file *file) {
    return limit_bytes < UINT64_MAX - 1 || o->lists[LIST_LIMITS].count > 0 || o->sweep != NULL ||
           (file != NULL && file->num_ipu_limits > 0);
}

/* The number of IPUs, if it is given or follows from what is; else 0. */
static size_t given_ipus(const options *o, const popliner_costs_file *file) {
    const bool is_usual = o->device_map.is_replicated || options_fix_cuts(o) ||
                          (o->sweep != NULL && o->sweep->of_ipus);
    return o->num_ipus.number > 0                 ? o->num_ipus.number
           : o->total_ipus > 0                    ? o->total_ipus
           : o->lists[LIST_LIMITS].num_listed > 0 ? o->lists[LIST_LIMITS].num_listed
           : file != NULL && file->num_ipus > 0   ? file->num_ipus
           : is_usual                             ? POPLINER_USUAL_IPUS
                                                  : 0;
}

/* Leaves no other split than that of --evaluate. */
static void fix_cuts(request *r, const options *o) {
    for (size_t unit = 1; unit < r->num_units; unit++)
        r->cut_rules[unit] = POPLINER_CUT_FORBIDDEN;
    for (size_t i = 0; i < r->num_cuts; i++)
        r->cut_rules[r->first_units[i]] = POPLINER_CUT_REQUIRED;
    if (!o->device_map.is_replicated)
        r->solver.num_ipus = (r->num_cuts + 1) / (o->total_ipus > 0 ? options_chunks(o) : 1);
    r->solver.min_units = r->solver.max_units = 0;
}

static popliner_status complete(request *r, session *s, uint64_t limit_bytes,
                                const popliner_costs_file *file, popliner_error *error) {
    const options *o = &s->options;
    size_t max_ipus = SIZE_MAX;
    r->solver.num_ipus = given_ipus(o, file);
    TRY(copies_limit(r, o, &max_ipus, error));
    r->solver.slack_percent = o->slack_percent;
    r->solver.time_limit_seconds = o->time_limit_seconds;
    r->solver.min_units = o->require.min_layers;
    r->solver.max_units = o->require.max_layers;
    r->solver.counted_units = r->counted_units;
    r->solver.listener = &s->listener;
    r->solver.option_names = &option_names;
    r->solver.should_stop = solving_should_stop;
    TRY(take_objectives(r, o, error));
    const char *room = wanted_room(&r->solver);
    if (room != NULL && !has_limit(o, limit_bytes, file))
        return fail_usage(error, "--%s %s: %s needs a limit of each IPU; give --mem-per-tile",
                          options_objectives(o)->option, options_objectives(o)->text, room);
    /* a front has the smallest spread at one of its ends */
    if (o->total_ipus == 0 && o->pareto.count == 0 && r->solver.num_mapped_stages == 0)
        r->solver.num_objectives = popliner_objectives_complete(
            r->objectives, r->solver.num_objectives, file == NULL ? NULL : file->costs);
    /* the limits are set below, those of a range for each of its values */
    r->solver.mem_per_tile = has_limit(o, limit_bytes, file) ? 0 : POPLINER_TARGET_BYTES;
    popliner_solver_options_complete(&r->solver, r->num_units, max_ipus,
                                     file != NULL && file->is_graph &&
                                         !o->device_map.is_replicated);
    TRY(request_take_rules(r, o, error));
    if (options_fix_cuts(o))
        fix_cuts(r, o);
    return request_set_lists(r, s, limit_bytes, file, error);
}

popliner_pipeline request_pipeline(const request *r, size_t max_stages) {
    return (popliner_pipeline){.schedule = r->asked.schedule,
                               .recompute = r->asked.recompute,
                               .max_stages = max_stages,
                               .copies = r->asked.copies};
}

popliner_certificate_input request_certificate_input(const request *r, const session *s,
                                                     const popliner_costs *costs,
                                                     const popliner_costs_file *file) {
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    input.costs = costs;
    input.options = &r->solver;
    input.schedule = s->options.schedule.order;
    input.recompute = s->options.recompute.way;
    input.copies = r->asked.copies;
    input.unit_names = r->unit_names;
    input.option_names = &option_names;
    input.is_evaluation = options_fix_cuts(&s->options);
    if (file == NULL)
        return input;
    input.time_unit = file->time_unit;
    input.cycles_per_time_unit = file->cycles_per_time_unit;
    input.cuts_per_unit = file->cuts_per_unit;
    return input;
}

static popliner_status make(request *r, session *s, popliner_memory_model otherwise,
                            const popliner_costs_file *file, const popliner_group *group,
                            popliner_error *error) {
    const options *o = &s->options;
    const bool is_measured = o->evaluate != NULL && file == NULL;
    const popliner_chain *chain = NULL;
    uint64_t limit_bytes = 0;
    TRY(request_begin(r, s, otherwise, error));
    TRY(request_take_reserve(r, s, file, &limit_bytes, error));
    if (file != NULL) {
        TRY(name_units(r, popliner_costs_num_units(file->costs), file->unit_names,
                       file->counted_units, error));
    } else if (group != NULL) {
        TRY(name_units(r, group->num_units, group->unit_names, group->counted_units, error));
    } else {
        if (!is_measured)
            TRY(popliner_analysis_prepare(s->analysis, &r->asked, false, error));
        TRY(popliner_analysis_chain(s->analysis, r->asked.memory_model, &chain, error));
        TRY(request_name_chain(r, chain, error));
    }
    if (o->evaluate != NULL)
        TRY(split_take(r, o, file, error));
    if (!is_measured)
        return complete(r, s, limit_bytes, file, error);
    /* of the solver's options the limits alone are meant for a given split */
    r->solver.method = POPLINER_METHOD_AUTO; /* also with --solve */
    r->solver.num_ipus = r->asked.copies.num_stages = r->num_cuts + 1;
    r->asked.stage_recomputes = o->recompute.each;
    r->asked.num_stage_recomputes = o->recompute.num_stages;
    return request_set_lists(r, s, limit_bytes, NULL, error);
}

popliner_status request_make(request *r, session *s, popliner_memory_model otherwise,
                             const popliner_costs_file *file, const popliner_group *group,
                             popliner_error *error) {
    s->log.is_mute = s->has_request;
    const popliner_status status = make(r, s, otherwise, file, group, error);
    s->log.is_mute = false;
    s->has_request = true;
    return status;
}
