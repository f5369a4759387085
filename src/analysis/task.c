/* Prepares a request: checks it, has its stages measured, and computes what recomputation costs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "costs/triangle.h"
#include "costs/variants.h"
#include "memory/chain_data.h"
#include "memory/stage.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/constraint.h"
#include "solve/ipus.h"

void pl_task_free(pl_task *t) {
    pl_owned_options_free(&t->solver);
    popliner_costs_free(t->costs);
    pl_arrays_free(&t->arrays);
    pl_messages_clear(&t->recorder.warnings);
}

/* ---- Preparing ---- */

/* Like pl_analysis_take_request, if stages may choose what they recompute. */
static popliner_status take_request(const popliner_request *request, popliner_request *own,
                                    popliner_error *error) {
    popliner_solver_options options;
    popliner_listener listener;
    *own = (popliner_request)POPLINER_REQUEST_INIT;
    PL_TRY(pl_struct_take(own, sizeof *own, request, "popliner_request", error));
    const popliner_pipeline pipeline = {
        .schedule = own->schedule, .recompute = own->recompute, .copies = own->copies};
    PL_TRY(pl_pipeline_check(&pipeline, error));
    if (own->recompute_ways >> PL_NUM_RECOMPUTES != 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown ways of recomputing 0x%x",
                       own->recompute_ways);
    if ((own->effects & ~POPLINER_EFFECTS_ALL) != 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown effects 0x%x",
                       own->effects & ~POPLINER_EFFECTS_ALL);
    if (pl_accumulators_name(own->accumulators) == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown accumulators %d",
                       (int)own->accumulators);
    if ((unsigned)own->need >= POPLINER_NUM_NEEDS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "unknown need %d", (int)own->need);
    /* checks the method before the other options are completed */
    return pl_solver_options_take(own->solver, NULL, &options, &listener, error);
}

popliner_status pl_analysis_take_request(const popliner_request *request, popliner_request *own,
                                         popliner_error *error) {
    PL_TRY(take_request(request, own, error));
    if (own->recompute == POPLINER_RECOMPUTE_AUTO)
        return pl_fail(
            error, POPLINER_ERROR_USAGE,
            "the recomputation auto needs a search for a split; choose none, standard or full");
    return POPLINER_OK;
}

/* True if the request is for the greedy algorithm in PopLiner's memory model, as PopLiner 1.0.0 had
 * it: it measures each stage when it tries it. The request is completed. */
static bool is_greedy(const popliner_request *request) {
    return request->memory_model == POPLINER_MEMORY_MODEL_POPLINER && request->solver != NULL &&
           request->solver->method == POPLINER_METHOD_GREEDY;
}

popliner_pipeline pl_analysis_pipeline(const popliner_request *request) {
    bool has_effects = request->memory_model == POPLINER_MEMORY_MODEL_FULL;
    const popliner_solver_options *solver = request->solver;
    popliner_pipeline pipeline = {
        .schedule = request->schedule,
        .recompute = request->recompute,
        .max_stages = 1,
        .copies = request->copies,
        .effects = has_effects ? request->effects : 0,
        .accumulators = has_effects ? request->accumulators : POPLINER_ACCUMULATORS_NONE,
    };
    if (solver != NULL && solver->num_mapped_stages > 0)
        popliner_copies_set_map(&pipeline.copies, solver->device_map, solver->num_mapped_stages);
    return pl_pipeline_of_any_split(&pipeline);
}

/* Finds stages that were stored, or makes the meter if there are none. If stages may choose what
 * they recompute, those that recompute nothing are the first to be needed. */
static popliner_status prepare(popliner_analysis *a, const popliner_request *request,
                               const pl_stage_details **stages, popliner_error *error) {
    const popliner_memory_model model = request->memory_model;
    popliner_pipeline pipeline = pl_analysis_pipeline(request);
    *stages = NULL;
    PL_TRY(pl_analysis_begin(a, model, PL_NEED_CHAIN, error));
    if (pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        pipeline.recompute = POPLINER_RECOMPUTE_NONE;
    if (a->stored != NULL && !is_greedy(request))
        PL_TRY(pl_analysis_find_stages(a, model, &pipeline, request->need, stages, error));
    return *stages == NULL ? pl_analysis_make_meter(a, model, error) : POPLINER_OK;
}

popliner_status popliner_analysis_prepare(popliner_analysis *analysis,
                                          const popliner_request *request, bool for_page,
                                          popliner_error *error) {
    popliner_request r;
    const pl_stage_details *stages = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = for_page ? pl_analysis_prepare_page(analysis, request, error)
                                      : take_request(request, &r, error);
    if (status == POPLINER_OK && !for_page)
        status = prepare(analysis, &r, &stages, error);
    return pl_analysis_leave(analysis, status);
}

popliner_status pl_analysis_own_options(const popliner_analysis *a, const pl_chain *chain,
                                        const popliner_pipeline *pipeline,
                                        const popliner_solver_options *options,
                                        pl_owned_options *own, popliner_error *error) {
    popliner_solver_options o = *options;
    const size_t num_units = pl_chain_num_units(chain);
    const uint64_t clock_hz = a->profile->target.clock_hz;
    uint8_t *layers = pl_new_array(num_units, sizeof *layers);
    if (layers == NULL)
        return pl_fail_memory(error, "the options of the solver");
    for (size_t unit = 0; unit < num_units; unit++)
        layers[unit] = chain->kind[unit] == POPLINER_UNIT_LAYER;
    if (o.counted_units == NULL)
        o.counted_units = layers;
    if (o.mem_per_tile == POPLINER_TARGET_BYTES)
        o.mem_per_tile = a->profile->target.bytes_per_tile;
    if (o.option_names == NULL)
        o.option_names = &a->option_names;
    if (o.num_ipu_links > 0 && o.link_bandwidth.bytes == 0 && clock_hz > 0)
        o.link_bandwidth =
            (popliner_ipu_link){.bytes = POPLINER_LINK_BYTES_PER_SECOND, .cycles = clock_hz};
    popliner_solver_options_complete(&o, num_units,
                                     pl_pipeline_has_own_copies(pipeline)
                                         ? popliner_copies_max_stages(&pipeline->copies)
                                         : SIZE_MAX,
                                     false);
    pl_solver_options_choose_by_room(&o, NULL);
    popliner_status status = pl_owned_options_copy(own, &o, num_units, error);
    free(layers);
    return status;
}

/* Copies the solver's options and sets those that follow from the profile. */
static popliner_status take_options(pl_task *t, const popliner_solver_options *callers,
                                    pl_purpose what, popliner_error *error) {
    popliner_solver_options given;
    popliner_solver_options *own = &t->solver.options;
    size_t num_units = pl_chain_num_units(t->chain);
    PL_TRY(pl_solver_options_take(callers, NULL, &given, &t->listener, error));
    if (given.num_ipus == 0)
        given.num_ipus = t->num_stages;
    if (given.min_units == POPLINER_USUAL_UNITS && what == PL_TO_EVALUATE)
        given.min_units = 0;
    PL_TRY(pl_analysis_own_options(t->analysis, t->chain, &t->pipeline, &given, &t->solver, error));
    const popliner_listener told =
        own->listener != NULL ? *own->listener : t->analysis->recorder.callers;
    pl_recorder_begin(&t->recorder, &told, &t->listener);
    own->listener = &t->listener;
    own->pipeline = &t->pipeline;
    PL_TRY(pl_options_check(own, num_units, NULL, error));
    return pl_constraints_leave_out(&t->solver, num_units, error);
}

/* Stores a warning for the certificate, and reports it unless that was done before. */
static void warn_once(pl_task *t, bool *was_told, const char *text) {
    if (!*was_told)
        pl_tell(&t->analysis->recorder.callers, POPLINER_LEVEL_WARNING, "%s", text);
    *was_told = true;
    pl_messages_add(&t->recorder.warnings, POPLINER_LEVEL_WARNING, text, true);
}

void pl_task_tell_training(pl_task *t) {
    popliner_analysis *a = t->analysis;
    pl_model_parts *parts = &a->models[t->model];
    popliner_accumulators wanted = t->pipeline.accumulators;
    bool is_training = false;
    bool has_schedule =
        t->pipeline.schedule != POPLINER_SCHEDULE_NONE || pl_pipeline_has_own_copies(&t->pipeline);
    if (t->model != POPLINER_MEMORY_MODEL_FULL || t->is_greedy ||
        t->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE || t->num_stages == 1 ||
        (has_schedule && wanted != POPLINER_ACCUMULATORS_NONE &&
         wanted != POPLINER_ACCUMULATORS_AUTO))
        return;
    bool has_accumulators = true;
    if (t->stages != NULL) {
        is_training = t->stages->key.is_training;
        has_accumulators = t->stages->key.has_accumulators;
    } else {
        is_training = parts->meter->pass_usage.passes.is_training;
        has_accumulators = parts->meter->has_accumulators;
    }
    if (is_training && !has_schedule)
        warn_once(t, &parts->told_training,
                  "The profile trains: without a schedule, what backward passes need is left out.");
    else if (is_training && !has_accumulators)
        warn_once(t, &parts->told_training,
                  wanted == POPLINER_ACCUMULATORS_AUTO
                      ? "Gradient accumulators, which the profile lacks, are added to each stage."
                      : "The profile lacks gradient accumulators; stages of a pipeline need more.");
}

popliner_status pl_task_begin(pl_task *t, popliner_analysis *analysis,
                              const popliner_request *request, pl_purpose what,
                              popliner_error *error) {
    popliner_request r;
    t->analysis = analysis;
    PL_TRY(take_request(request, &r, error));
    const bool chooses = r.recompute == POPLINER_RECOMPUTE_AUTO;
    if (chooses && what == PL_TO_EVALUATE && r.stage_recomputes != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "stage_recomputes: not with the recomputation auto; choose another one");
    PL_TRY(prepare(analysis, &r, &t->stages, error));
    t->model = r.memory_model;
    t->chain = analysis->models[t->model].chain;
    t->pipeline = pl_analysis_pipeline(&r);
    t->is_greedy = is_greedy(&r);
    t->need = t->is_greedy ? POPLINER_NEED_EXPECTED : r.need;
    t->ways = r.recompute_ways;
    t->given = what == PL_TO_EVALUATE ? r.stage_recomputes : NULL;
    if (t->given != NULL && r.num_stage_recomputes != t->num_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the split has %zu stages, but stage_recomputes has %zu", t->num_stages,
                       r.num_stage_recomputes);
    PL_TRY(take_options(t, r.solver, what, error));
    if (t->num_stages == 0)
        t->num_stages = t->solver.options.num_ipus;
    /* the peaks of stages on one IPU are not stored */
    return pl_options_share_an_ipu(&t->solver.options)
               ? pl_analysis_make_meter(analysis, t->model, error)
               : POPLINER_OK;
}

/* ---- Recomputation --------------------------------------------------------------------------- */

popliner_status pl_analysis_know_cycles(pl_model_parts *parts, popliner_error *error) {
    pl_arrays own = {0};
    pl_passes found = {0};
    const bool is_known = parts->meter != NULL;
    const pl_passes *passes = is_known ? &parts->meter->pass_usage.passes : &found;
    if (parts->cycles.of_run != NULL)
        return POPLINER_OK;
    if (!is_known)
        pl_passes_find(&found, &own, parts->chain);
    if (!own.failed) {
        parts->cycles = pl_unit_cycles_find(&parts->arrays, parts->chain, passes);
        parts->is_training = passes->is_training;
        parts->has_cycles =
            pl_profile_cycles_source(parts->chain->profile) >= POPLINER_CYCLES_ESTIMATED;
    }
    pl_arrays_end(&own, &parts->arrays);
    if (!parts->arrays.failed)
        return POPLINER_OK;
    parts->cycles = (pl_unit_cycles){NULL, NULL};
    pl_arrays_free(&parts->arrays);
    return pl_fail_memory(error, "the cycles of the layers");
}

popliner_status pl_analysis_find_cycles(pl_model_parts *parts, const popliner_pipeline *pipeline,
                                        const uint64_t *cuts_bytes, pl_arrays *arrays,
                                        uint64_t **cycles, popliner_error *error) {
    const popliner_status status = pl_analysis_know_cycles(parts, error);
    *cycles = NULL;
    if (status == POPLINER_OK && parts->has_cycles)
        *cycles = pl_stage_cycles_find(arrays, parts->chain, &parts->cycles, pipeline, cuts_bytes);
    return arrays->failed ? pl_fail_memory(error, "the cycles of the stages") : status;
}

/* Checks that the time of recomputation is known. Errors: USAGE if the profile has no cycles, or
 * trains and has none of a forward pass; MEMORY. O(steps). */
static popliner_status check_recomputing(pl_model_parts *parts, popliner_error *error) {
    static const char remedy[] =
        "compile with profiler.includeCycleEstimates set to true, or choose none, standard or full";
    bool has_any = false;
    PL_TRY(pl_analysis_know_cycles(parts, error));
    if (!parts->has_cycles)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the recomputation auto: the profile has no cycles of computing; %s",
                       remedy);
    for (size_t unit = 0; unit < parts->chain->num_units; unit++)
        has_any = has_any || parts->cycles.of_forward[unit] > 0;
    return !parts->is_training || has_any
               ? POPLINER_OK
               : pl_fail(error, POPLINER_ERROR_USAGE,
                         "the recomputation auto: the profile has no cycles of a forward pass; %s",
                         remedy);
}

/* ---- Costs ---- */

/* The state of shared_peak. */
typedef struct shared_stages {
    popliner_analysis *analysis;
    popliner_memory_model model;
    popliner_pipeline pipeline;
    popliner_need need;
} shared_stages;

/* A popliner_shared_peak_function. */
static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const shared_stages *own = user;
    /* several threads may solve the table, or work with the analysis, but there is one meter */
    pl_analysis_enter(own->analysis);
    popliner_status status = pl_analysis_make_meter(own->analysis, own->model, error);
    if (status == POPLINER_OK)
        status = pl_stage_measure_peak(own->analysis->models[own->model].meter, &own->pipeline,
                                       own->need, stages, num_stages, peak_bytes, error);
    return pl_analysis_leave(own->analysis, status);
}

/* Sets the function for the peaks of stages on one IPU. */
static popliner_status add_shared_peak(pl_task *t, const popliner_pipeline *pipeline,
                                       popliner_error *error) {
    shared_stages *own = malloc(sizeof *own);
    if (own == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    *own = (shared_stages){t->analysis, t->model, *pipeline, t->need};
    t->costs->owned_user = own;
    popliner_costs_set_shared_peak(t->costs, shared_peak, own,
                                   pl_pipeline_never_shrinks(pipeline, t->need));
    return POPLINER_OK;
}

/* Returns the number of stages a pipeline may have while the smallest number that fits is searched
 * for: up to the number of units, if the table, with one row for each, stays below half a GiB. */
static size_t longest_pipeline(const pl_task *t, size_t max_stages) {
    enum { MAX_NUMBERS = 1 << 26 };
    size_t num_units = pl_chain_num_units(t->chain);
    size_t affordable = MAX_NUMBERS / (num_units * (num_units + 1) / 2);
    size_t longest = num_units < affordable ? num_units : affordable;
    if (pl_pipeline_has_own_copies(&t->pipeline) &&
        longest > popliner_copies_max_stages(&t->pipeline.copies))
        longest = popliner_copies_max_stages(&t->pipeline.copies);
    if (!pl_pipeline_keeps(&t->pipeline) || longest <= max_stages)
        return max_stages;
    if (longest < num_units && t->solver.options.num_mapped_stages == 0)
        pl_tell(&t->listener, POPLINER_LEVEL_WARNING,
                "Pipelines of more than %zu stages are ignored.", longest);
    return longest;
}

/* Finds the cycles of stages that recompute in a way, whose cuts the costs have. */
static popliner_status find_cycles(const pl_task *t, popliner_recompute way, pl_arrays *arrays,
                                   uint64_t **cycles, popliner_error *error) {
    popliner_pipeline pipeline = t->pipeline;
    pipeline.recompute = way;
    return pl_analysis_find_cycles(&t->analysis->models[t->model], &pipeline,
                                   pl_links_exist(&t->solver.options) ? NULL : t->costs->cuts_bytes,
                                   arrays, cycles, error);
}

popliner_status pl_task_measure_work(pl_task *t, const popliner_plan *plan, popliner_error *error) {
    pl_stage_meter *meter = t->analysis->models[t->model].meter;
    const uint64_t *cuts_bytes = t->stages != NULL ? t->stages->cuts_bytes : NULL;
    const size_t num_units = pl_chain_num_units(t->chain);
    pl_arrays own = {0};
    popliner_costs_free(t->costs);
    popliner_status status = popliner_costs_create(num_units, 1, &t->costs, error);
    if (status == POPLINER_OK && cuts_bytes == NULL) {
        if (!pl_stage_meter_find_sums(meter))
            status = pl_fail_memory(error, "the intervals");
        cuts_bytes = meter->cut_bytes;
    }
    for (size_t unit = 1; status == POPLINER_OK && unit < num_units; unit++)
        pl_costs_set_cut(t->costs, unit, cuts_bytes[unit]);
    for (int way = 0; way < PL_NUM_RECOMPUTES; way++) {
        uint64_t *cycles = NULL;
        for (size_t i = 0; i < plan->num_stages; i++) {
            const popliner_plan_stage *stage = &plan->stages[i];
            if (way != (int)(t->given != NULL ? t->given[i] : t->pipeline.recompute))
                continue;
            if (status == POPLINER_OK && cycles == NULL)
                status = find_cycles(t, (popliner_recompute)way, &own, &cycles, error);
            if (status == POPLINER_OK && cycles != NULL)
                status = popliner_costs_set_cycles(
                    t->costs, stage->first_unit, stage->last_unit,
                    cycles[pl_triangle_place(num_units, stage->first_unit, stage->last_unit)],
                    error);
        }
    }
    pl_arrays_free(&own);
    return status;
}

/* Measures all stages for a recomputation. */
static popliner_status measure_way(pl_task *t, popliner_recompute way, bool of_any_length,
                                   popliner_error *error) {
    uint64_t *cycles = NULL;
    pl_arrays own = {0};
    popliner_pipeline pipeline = t->pipeline;
    size_t num_mapped = t->solver.options.num_mapped_stages;
    pipeline.recompute = way;
    pipeline.max_stages = t->solver.options.num_ipus;
    if (of_any_length)
        pipeline.max_stages = longest_pipeline(t, pipeline.max_stages);
    /* the reason why nothing fits may require solving without the map, in a longer pipeline */
    if (num_mapped > 0 && (!of_any_length || pipeline.max_stages < num_mapped))
        pipeline.max_stages = num_mapped;
    popliner_costs_free(t->costs);
    t->costs = NULL;
    PL_TRY(pl_analysis_stages(t->analysis, t->model, &pipeline, t->need, false, &t->stages, error));
    PL_TRY(pl_stage_details_costs(t->stages, t->chain, &pipeline, t->need, &t->costs, error));
    popliner_status status = find_cycles(t, way, &own, &cycles, error);
    if (status == POPLINER_OK)
        status = pl_costs_list_cycles(t->costs, cycles, error);
    pl_arrays_free(&own);
    PL_TRY(status);
    if (!pl_costs_set_counted_units(t->costs, t->solver.options.counted_units))
        return pl_fail_memory(error, "the marks of the units");
    pipeline.max_stages = t->pipeline.max_stages;
    PL_TRY(popliner_costs_set_pipeline(t->costs, &pipeline, error));
    return add_shared_peak(t, &pipeline, error);
}

/* Lists the recomputations to measure, of those that stages choose from (bits; 0: all), in
 * measured[PL_NUM_RECOMPUTES]; returns their number. With NONE, STANDARD is not measured: it never
 * needs less, but at most, and takes as many cycles. If the pipeline stores nothing, one is
 * enough. */
static size_t recomputing_ways(const popliner_pipeline *pipeline, popliner_need need, unsigned ways,
                               popliner_recompute *measured) {
    size_t count = 0;
    if (ways == 0)
        ways = (1u << PL_NUM_RECOMPUTES) - 1;
    if ((ways & 1u << POPLINER_RECOMPUTE_NONE) != 0 && need != POPLINER_NEED_MOST)
        ways &= ~(1u << POPLINER_RECOMPUTE_STANDARD);
    for (int way = 0; way < PL_NUM_RECOMPUTES; way++)
        if ((ways >> way & 1) != 0 && (count == 0 || pl_pipeline_keeps(pipeline)))
            measured[count++] = (popliner_recompute)way;
    return count;
}

/* Measures all stages for each recomputation; the costs choose between them. */
static popliner_status measure_ways(pl_task *t, bool of_any_length, popliner_error *error) {
    popliner_costs *costs[PL_NUM_RECOMPUTES] = {0};
    const char *names[PL_NUM_RECOMPUTES];
    popliner_recompute ways[PL_NUM_RECOMPUTES];
    const size_t count = recomputing_ways(&t->pipeline, t->need, t->ways, ways);
    popliner_status status = pl_pipeline_keeps(&t->pipeline)
                                 ? check_recomputing(&t->analysis->models[t->model], error)
                                 : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        status = measure_way(t, ways[i], of_any_length, error);
        names[i] = pl_recompute_name(ways[i]);
        costs[i] = t->costs;
        t->costs = NULL;
    }
    if (status == POPLINER_OK) {
        t->costs = costs[0];
        return pl_ways_join(costs, names, count, error);
    }
    for (size_t i = 0; i < count; i++)
        popliner_costs_free(costs[i]);
    return status;
}

popliner_status pl_task_measure_costs(pl_task *t, bool of_any_length, popliner_error *error) {
    if (t->pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        return measure_way(t, t->pipeline.recompute, of_any_length, error);
    popliner_costs_free(t->costs);
    t->costs = NULL;
    return measure_ways(t, of_any_length, error);
}

popliner_status popliner_analysis_costs(popliner_analysis *analysis,
                                        const popliner_request *request, popliner_costs **costs,
                                        popliner_error *error) {
    pl_task t = {0};
    *costs = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = pl_task_begin(&t, analysis, request, PL_TO_TELL_COSTS, error);
    if (status == POPLINER_OK)
        status = pl_task_measure_costs(&t, true, error);
    if (status == POPLINER_OK) {
        pl_task_tell_training(&t);
        *costs = t.costs;
        t.costs = NULL;
    }
    pl_task_free(&t);
    return pl_analysis_leave(analysis, status);
}
