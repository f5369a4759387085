/* Solving for a request: measuring what may be a stage, choosing, and telling why nothing fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/recomputing.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "costs/pipeline.h"
#include "intervals/intervals.h"
#include "memory/chain_data.h"
#include "memory/parameters.h"
#include "memory/trained_parameters.h"
#include "popliner/variants.h"
#include "profile/profile_data.h"
#include "show/certificate_data.h"
#include "solve/greedy.h"
#include "solve/links.h"
#include "solve/owned_options.h"
#include "solve/plan_data.h"
#include "solve/variants.h"

/* A request, made ready. Zero-initialise; free with free_task. */
typedef struct task {
    popliner_analysis *analysis;
    popliner_memory_model model;
    popliner_pipeline pipeline; /* its max_stages mean nothing */
    popliner_need need;
    bool is_greedy;
    size_t num_stages; /* of an evaluation; else most of a split */
    const popliner_chain *chain;
    const pl_stage_details *stages; /* those that were stored, or NULL */
    pl_owned_options solver;
    popliner_listener listener; /* the solver's, if the caller has one for it */
    popliner_costs *costs;
    unsigned ways;                    /* bits: what stages choose from; 0: all */
    const popliner_recompute *given;  /* the caller's, what each stage recomputes; NULL: as one */
    popliner_variants_answer *chosen; /* what each stage chose to; NULL: nothing was chosen */
} task;

static void free_task(task *t) {
    pl_owned_options_free(&t->solver);
    popliner_costs_free(t->costs);
    popliner_variants_answer_free(t->chosen);
}

/* ---- making ready ---- */

static bool are_scales(const popliner_scales *s) {
    return s->code_per_million >= 1 && s->code_per_million <= POPLINER_MAX_PER_MILLION &&
           s->data_per_million >= 1 && s->data_per_million <= POPLINER_MAX_PER_MILLION &&
           s->layout_per_million <= POPLINER_MAX_PER_MILLION;
}

static popliner_status check_calibration(const popliner_calibration *c, popliner_error *error) {
    const uint64_t numbers = c->earlier.code_per_million | c->earlier.data_per_million |
                             c->earlier.layout_per_million | c->last.code_per_million |
                             c->last.data_per_million | c->last.layout_per_million;
    if (numbers == 0 || (are_scales(&c->earlier) && are_scales(&c->last)))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "the scales of a calibration are 1 to %d per million (a layout's may be 0), or "
                   "all 0",
                   POPLINER_MAX_PER_MILLION);
}

/* The same where stages may choose what they recompute. */
static popliner_status take_request(const popliner_request *request, popliner_request *own,
                                    popliner_error *error) {
    popliner_solver_options options;
    popliner_listener listener;
    *own = (popliner_request)POPLINER_REQUEST_INIT;
    popliner_status status = pl_struct_take(own, sizeof *own, request, "popliner_request", error);
    if (status == POPLINER_OK) {
        popliner_pipeline pipeline = {
            .schedule = own->schedule, .recompute = own->recompute, .copies = own->copies};
        status = pl_pipeline_check(&pipeline, error);
    }
    if (status == POPLINER_OK && own->recompute_ways >> PL_NUM_RECOMPUTES != 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "there are no ways of recomputing 0x%x",
                         own->recompute_ways);
    if (status == POPLINER_OK && (own->effects & ~POPLINER_EFFECTS_ALL) != 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "there are no effects 0x%x",
                         own->effects & ~POPLINER_EFFECTS_ALL);
    if (status == POPLINER_OK && pl_accumulators_name(own->accumulators) == NULL)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "there are no accumulators %d",
                         (int)own->accumulators);
    if (status == POPLINER_OK && (unsigned)own->need >= POPLINER_NUM_NEEDS)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "there is no need %d", (int)own->need);
    if (status == POPLINER_OK)
        status = check_calibration(&own->calibration, error);
    /* the method is looked at before the rest of the options can be taken */
    if (status == POPLINER_OK)
        status = pl_solver_options_take(own->solver, &options, &listener, error);
    return status;
}

popliner_status pl_analysis_take_request(const popliner_request *request, popliner_request *own,
                                         popliner_error *error) {
    popliner_status status = take_request(request, own, error);
    if (status == POPLINER_OK && own->recompute == POPLINER_RECOMPUTE_AUTO)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "the recomputation auto is chosen when a split is looked for; say none, "
                         "standard or full here");
    return status;
}

/* The greedy algorithm measures each stage when it tries it. The request was taken. */
static bool is_greedy(const popliner_request *request) {
    return request->solver != NULL && request->solver->method == POPLINER_METHOD_GREEDY;
}

popliner_pipeline pl_analysis_pipeline(const popliner_request *request) {
    bool has_effects = request->memory_model == POPLINER_MEMORY_MODEL_FULL && !is_greedy(request);
    return (popliner_pipeline){
        .schedule = request->schedule,
        .recompute = request->recompute,
        .max_stages = 1,
        .copies = request->copies,
        .effects = has_effects ? request->effects : 0,
        .accumulators = has_effects ? request->accumulators : POPLINER_ACCUMULATORS_NONE,
        .calibration =
            has_effects ? request->calibration : (popliner_calibration){{0, 0, 0}, {0, 0, 0}},
    };
}

/* Finds stages that serve a pipeline; where they may choose what they recompute, those of the two
 * ways that are stored, or none. */
static popliner_status find_of_ways(popliner_analysis *a, popliner_memory_model model,
                                    const popliner_pipeline *pipeline,
                                    const pl_stage_details **stages, popliner_error *error) {
    popliner_pipeline way = *pipeline;
    if (pipeline->recompute != POPLINER_RECOMPUTE_AUTO)
        return pl_analysis_find_stages(a, model, pipeline, stages, error);
    way.recompute = POPLINER_RECOMPUTE_NONE;
    popliner_status status = pl_analysis_find_stages(a, model, &way, stages, error);
    way.recompute = POPLINER_RECOMPUTE_FULL;
    if (status == POPLINER_OK && *stages != NULL)
        status = pl_analysis_find_stages(a, model, &way, stages, error);
    return status;
}

/* Finds stages that were stored. */
static popliner_status find_stored(popliner_analysis *a, const popliner_request *request,
                                   const pl_stage_details **stages, popliner_error *error) {
    const popliner_pipeline pipeline = pl_analysis_pipeline(request);
    pl_model_parts *parts = &a->models[request->memory_model];
    *stages = NULL;
    if (is_greedy(request) || pl_is_calibrated(&pipeline.calibration))
        return POPLINER_OK;
    popliner_status status = find_of_ways(a, request->memory_model, &pipeline, stages, error);
    if (status == POPLINER_OK && *stages == NULL && a->stored != NULL && !parts->told_not_stored) {
        parts->told_not_stored = true;
        pl_tell(&a->listener, POPLINER_LEVEL_INFO,
                "The stages of these layers, or of this memory model, were not stored with the "
                "analysis: they are measured now.");
    }
    return status;
}

popliner_status popliner_analysis_load_rest(popliner_analysis *analysis,
                                            const popliner_request *request,
                                            popliner_error *error) {
    popliner_request r;
    const pl_stage_details *stages;
    popliner_status status = pl_analysis_load_variables(analysis, error);
    if (status == POPLINER_OK && request != NULL)
        status = take_request(request, &r, error);
    if (status != POPLINER_OK || request == NULL || analysis->stored == NULL || is_greedy(&r) ||
        pl_is_calibrated(&r.calibration))
        return status;
    const popliner_pipeline pipeline = pl_analysis_pipeline(&r);
    status = pl_analysis_begin(analysis, r.memory_model, error);
    if (status == POPLINER_OK)
        status = find_of_ways(analysis, r.memory_model, &pipeline, &stages, error);
    return status;
}

/* Makes the meter ready where stages do not do. */
static popliner_status prepare(popliner_analysis *a, const popliner_request *request,
                               const pl_stage_details **stages, popliner_error *error) {
    popliner_status status = pl_analysis_begin(a, request->memory_model, error);
    if (status == POPLINER_OK)
        status = find_stored(a, request, stages, error);
    /* where variables are, every stage of the answer is measured once more */
    if (status == POPLINER_OK && (*stages == NULL || a->has_variables))
        status = pl_analysis_make_meter(a, request->memory_model, error);
    return status;
}

popliner_status popliner_analysis_prepare(popliner_analysis *analysis,
                                          const popliner_request *request, popliner_error *error) {
    popliner_request r;
    const pl_stage_details *stages = NULL;
    popliner_status status = take_request(request, &r, error);
    return status == POPLINER_OK ? prepare(analysis, &r, &stages, error) : status;
}

/* Copies the solver's options and sets what follows from the profile. */
static popliner_status take_options(task *t, const popliner_solver_options *callers,
                                    popliner_error *error) {
    popliner_solver_options complete;
    popliner_solver_options *own = &t->solver.options;
    size_t num_units = popliner_chain_num_units(t->chain);
    popliner_status status = pl_solver_options_take(callers, &complete, &t->listener, error);
    if (status == POPLINER_OK)
        status = pl_owned_options_copy(&t->solver, &complete, num_units, error);
    if (status != POPLINER_OK)
        return status;
    if (own->max_stage_bytes == POPLINER_TARGET_BYTES)
        own->max_stage_bytes = t->analysis->profile->target.bytes_per_tile;
    if (own->listener == NULL)
        own->listener = &t->analysis->listener;
    uint64_t clock_hz = t->analysis->profile->target.clock_hz;
    if (own->num_ipu_links > 0 && own->link_bandwidth.bytes == 0 && clock_hz > 0)
        own->link_bandwidth = (popliner_bandwidth){POPLINER_LINK_BYTES_PER_SECOND, clock_hz};
    if (own->counted_units != NULL)
        return POPLINER_OK;
    t->solver.counted_units = pl_new_array(num_units, sizeof *t->solver.counted_units);
    if (t->solver.counted_units == NULL)
        return pl_fail_memory(error, "the options of the solver");
    for (size_t unit = 0; unit < num_units; unit++)
        t->solver.counted_units[unit] =
            pl_chain_unit_at(t->chain, unit)->kind == POPLINER_UNIT_LAYER;
    own->counted_units = t->solver.counted_units;
    return POPLINER_OK;
}

/* Whether stages are together on an IPU. */
static bool shares_an_ipu(const popliner_solver_options *o) {
    for (size_t i = 0; i < o->num_mapped_stages; i++)
        for (size_t k = i + 1; k < o->num_mapped_stages; k++)
            if (o->device_map[i] == o->device_map[k])
                return true;
    return false;
}

/* Warns, once, of a profile that trains while no schedule says what a pipeline keeps, or that was
 * taken without accumulators that a pipeline will have. */
static popliner_status tell_training(task *t, popliner_error *error) {
    popliner_analysis *a = t->analysis;
    pl_model_parts *parts = &a->models[t->model];
    popliner_accumulators wanted = t->pipeline.accumulators;
    bool is_training = false;
    bool has_schedule =
        t->pipeline.schedule != POPLINER_SCHEDULE_NONE || pl_pipeline_has_own_copies(&t->pipeline);
    if (parts->told_training || t->model != POPLINER_MEMORY_MODEL_FULL || t->is_greedy ||
        t->pipeline.schedule == POPLINER_SCHEDULE_INFERENCE || t->num_stages == 1 ||
        (has_schedule && wanted != POPLINER_ACCUMULATORS_NONE &&
         wanted != POPLINER_ACCUMULATORS_AUTO))
        return POPLINER_OK;
    popliner_status status = POPLINER_OK;
    bool has_accumulators = true;
    if (t->stages != NULL) {
        is_training = t->stages->key.is_training;
        has_accumulators = t->stages->key.has_accumulators;
    } else {
        const pl_pass_usage *usage;
        status = pl_stage_meter_pass_usage(parts->meter, &usage, error);
        is_training = status == POPLINER_OK && usage->passes.is_training;
        if (is_training)
            has_accumulators = pl_has_accumulators(a->profile);
    }
    parts->told_training = true;
    if (status == POPLINER_OK && is_training && !has_schedule)
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "The profile trains, but no schedule says what a pipeline keeps for its backward "
                "passes: that, its buffers and its accumulators are not counted.");
    else if (status == POPLINER_OK && is_training && !has_accumulators)
        pl_tell(&a->listener, POPLINER_LEVEL_WARNING,
                "The profile has no accumulators of gradients, but a pipeline that trains has: %s.",
                wanted == POPLINER_ACCUMULATORS_AUTO
                    ? "as many bytes as its parameters are added to each stage"
                    : "none are added, so stages will need more");
    return status;
}

/* What a request is for. */
typedef enum purpose { TO_SOLVE, TO_TELL_COSTS, TO_EVALUATE } purpose;

/* Makes the request ready. A single split is measured where the variables are there already. */
static popliner_status begin_task(task *t, popliner_analysis *analysis,
                                  const popliner_request *request, purpose what,
                                  popliner_error *error) {
    popliner_request r;
    t->analysis = analysis;
    popliner_status status = what == TO_SOLVE ? take_request(request, &r, error)
                                              : pl_analysis_take_request(request, &r, error);
    if (status == POPLINER_OK && what == TO_EVALUATE && analysis->has_variables) {
        status = pl_analysis_begin(analysis, r.memory_model, error);
        if (status == POPLINER_OK)
            status = pl_analysis_make_meter(analysis, r.memory_model, error);
    } else if (status == POPLINER_OK) {
        status = prepare(analysis, &r, &t->stages, error);
    }
    if (status != POPLINER_OK)
        return status;
    t->model = r.memory_model;
    t->chain = analysis->models[t->model].chain;
    t->pipeline = pl_analysis_pipeline(&r);
    t->is_greedy = is_greedy(&r);
    t->need = t->is_greedy ? POPLINER_NEED_EXPECTED : r.need;
    t->ways = r.recompute_ways;
    t->given = what == TO_EVALUATE ? r.stage_recomputes : NULL;
    if (t->given != NULL && r.num_stage_recomputes != t->num_stages)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the split has %zu stages, but what is recomputed is said for %zu",
                       t->num_stages, r.num_stage_recomputes);
    status = take_options(t, r.solver, error);
    if (t->num_stages == 0)
        t->num_stages = t->solver.options.max_stages;
    /* what stages need together is not stored */
    if (status == POPLINER_OK && shares_an_ipu(&t->solver.options))
        status = pl_analysis_make_meter(analysis, t->model, error);
    return status;
}

/* ---- costs ---- */

/* Whose stages share an IPU. */
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
    popliner_status status = pl_analysis_make_meter(own->analysis, own->model, error);
    pl_shared_stages shared = {own->analysis->models[own->model].meter, own->pipeline, own->need};
    if (status == POPLINER_OK)
        status = pl_intervals_shared_peak(&shared, stages, num_stages, peak_bytes, error);
    return status;
}

/* Lets the table ask what stages need together. */
static popliner_status add_shared_peak(task *t, popliner_error *error) {
    shared_stages *own = malloc(sizeof *own);
    if (own == NULL)
        return pl_fail_memory(error, "the costs of the intervals");
    *own = (shared_stages){t->analysis, t->model, t->pipeline, t->need};
    pl_costs_own_user(t->costs, own);
    popliner_costs_set_shared_peak(t->costs, shared_peak, own,
                                   pl_pipeline_never_shrinks(&t->pipeline, t->need));
    return POPLINER_OK;
}

/* How many stages a pipeline may have for the one that fits to be found: as many as there are
 * units, as long as the table, of which there is one for each, stays below half a GiB. */
static size_t longest_pipeline(const task *t, size_t max_stages) {
    enum { MAX_NUMBERS = 1 << 26 };
    size_t num_units = popliner_chain_num_units(t->chain);
    size_t affordable = MAX_NUMBERS / (num_units * (num_units + 1) / 2);
    size_t longest = num_units < affordable ? num_units : affordable;
    if (pl_pipeline_has_own_copies(&t->pipeline) &&
        longest > popliner_copies_max_stages(&t->pipeline.copies))
        longest = popliner_copies_max_stages(&t->pipeline.copies);
    if (!pl_pipeline_keeps(&t->pipeline) || longest <= max_stages)
        return max_stages;
    if (longest < num_units)
        pl_tell(&t->analysis->listener, POPLINER_LEVEL_WARNING,
                "Pipelines of more than %zu stages are not looked at.", longest);
    return longest;
}

/* Measures all stages, if they were not before. Those that are above max_bytes are not measured
 * further; without such a limit, all pipelines are measured that may be enough when nothing
 * fits. */
static popliner_status measure_costs(task *t, uint64_t max_bytes, popliner_error *error) {
    pl_interval_options options = PL_INTERVAL_OPTIONS_INIT;
    popliner_analysis *a = t->analysis;
    size_t num_mapped = t->solver.options.num_mapped_stages;
    size_t max_stages = t->solver.options.max_stages;
    popliner_status status;
    double start = pl_clock_seconds();
    if (max_bytes == UINT64_MAX)
        max_stages = longest_pipeline(t, max_stages);
    /* why nothing fits may be found without the map, in a longer pipeline */
    if (num_mapped > 0 && (max_bytes < UINT64_MAX || max_stages < num_mapped))
        max_stages = num_mapped;
    options.pipeline = t->pipeline;
    options.pipeline.max_stages = max_stages;
    options.need = t->need;
    options.max_bytes = max_bytes;
    options.with_cycles = true;
    options.num_threads = a->num_threads;
    options.listener = &a->listener;
    popliner_costs_free(t->costs);
    t->costs = NULL;
    if (t->stages != NULL) {
        status = pl_stage_details_costs(t->stages, t->chain, &options.pipeline, t->need, &t->costs,
                                        error);
    } else {
        status = pl_stage_meter_pass_usage(a->models[t->model].meter, &options.pass_usage, error);
        if (status == POPLINER_OK)
            status = pl_intervals_measure(a->profile, a->operations, t->chain, &options, &t->costs,
                                          NULL, error);
        if (status == POPLINER_OK)
            pl_step(&a->listener, "Measuring all stages", start);
    }
    if (status == POPLINER_OK && pl_links_exist(&t->solver.options))
        pl_intervals_leave_out_links(t->costs, a->profile->target.clock_hz);
    if (status == POPLINER_OK)
        status = pl_recomputing_add_cycles(a, t->chain, &t->pipeline, t->costs, error);
    return status == POPLINER_OK ? add_shared_peak(t, error) : status;
}

popliner_status popliner_analysis_costs(popliner_analysis *analysis,
                                        const popliner_request *request, popliner_costs **costs,
                                        popliner_error *error) {
    task t = {0};
    *costs = NULL;
    popliner_status status = begin_task(&t, analysis, request, TO_TELL_COSTS, error);
    if (status == POPLINER_OK)
        status = measure_costs(&t, UINT64_MAX, error);
    if (status == POPLINER_OK) {
        *costs = t.costs;
        t.costs = NULL;
    }
    free_task(&t);
    return status;
}

/* ---- solving ---- */

/* The peak of a stage as the greedy algorithm sees it. */
static popliner_status measure_peak(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    pl_stage_meter *meter = user;
    pl_stage_memory memory = {0};
    popliner_status status = pl_stage_measure_units(meter, first_unit, last_unit, &memory, error);
    if (status == POPLINER_OK)
        *peak_bytes = pl_tiles_max(memory.total_bytes, memory.num_tiles);
    pl_stage_memory_clear(&memory);
    return status;
}

static popliner_status solve_greedily(task *t, popliner_plan *plan, popliner_error *error) {
    pl_stage_meter *meter = t->analysis->models[t->model].meter;
    double start = pl_clock_seconds();
    pl_stage_meter_remember_peaks(meter);
    popliner_status status = pl_solve_greedily(popliner_chain_num_units(t->chain), measure_peak,
                                               meter, &t->solver.options, plan, error);
    if (status == POPLINER_OK)
        pl_step(&t->analysis->listener, "Solving", start);
    return status;
}

static popliner_status solve_costs(task *t, popliner_plan *plan, popliner_error *error) {
    const popliner_listener *listener = &t->analysis->listener;
    double start = pl_clock_seconds();
    pl_progress(listener, "Solving", 0, 0);
    popliner_status status = pl_solve(t->costs, &t->solver.options, plan, error);
    if (status == POPLINER_OK)
        pl_step(listener, "Solving", start);
    return status;
}

/* The largest limit of any IPU. */
static uint64_t largest_limit(const popliner_solver_options *o) {
    uint64_t largest = o->max_stage_bytes;
    for (size_t i = 0; i < o->num_ipu_limits; i++)
        if (o->ipu_limits[i].bytes > largest)
            largest = o->ipu_limits[i].bytes;
    return largest;
}

/* Measures all stages for one way of recomputing. */
static popliner_status measure_way(task *t, popliner_recompute way, uint64_t max_bytes,
                                   popliner_error *error) {
    const popliner_pipeline asked = t->pipeline;
    popliner_status status = POPLINER_OK;
    t->pipeline.recompute = way;
    t->stages = NULL;
    if (!pl_is_calibrated(&asked.calibration))
        status = pl_analysis_find_stages(t->analysis, t->model, &t->pipeline, &t->stages, error);
    if (status == POPLINER_OK && t->stages == NULL)
        status = pl_analysis_make_meter(t->analysis, t->model, error);
    if (status == POPLINER_OK)
        status = measure_costs(t, max_bytes, error);
    t->pipeline = asked;
    return status;
}

/* Solves within what was measured below max_bytes in each way. */
static popliner_status choose_within(task *t, const popliner_recompute *ways, size_t count,
                                     uint64_t max_bytes, popliner_error *error) {
    const popliner_listener *listener = &t->analysis->listener;
    popliner_costs *costs[PL_NUM_RECOMPUTES] = {0};
    const popliner_costs *seen[PL_NUM_RECOMPUTES] = {0};
    const char *names[PL_NUM_RECOMPUTES];
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; i++) {
        status = measure_way(t, ways[i], max_bytes, error);
        names[i] = pl_recompute_name(ways[i]);
        seen[i] = costs[i] = t->costs;
        t->costs = NULL;
    }
    double start = pl_clock_seconds();
    popliner_variants_answer_free(t->chosen);
    t->chosen = NULL;
    if (status == POPLINER_OK) {
        pl_progress(listener, "Solving", 0, 0);
        status = popliner_variants_solve_costs(seen, names, count, &t->solver.options, &t->chosen,
                                               error);
    }
    if (status == POPLINER_OK)
        pl_step(listener, "Solving", start);
    for (size_t i = 0; i < count; i++)
        popliner_costs_free(costs[i]);
    return status;
}

/* Finds the best split with the best choices. */
static popliner_status choose_plan(task *t, popliner_plan *plan, popliner_error *error) {
    popliner_solver_options *o = &t->solver.options;
    popliner_recompute ways[PL_NUM_RECOMPUTES];
    bool without_reasons = o->without_reasons;
    size_t count = pl_recomputing_ways(&t->pipeline, t->ways, ways);
    popliner_status status = pl_variants_check_options(o, error);
    if (status == POPLINER_OK && pl_pipeline_keeps(&t->pipeline))
        status = pl_recomputing_check(t->analysis, t->chain, error);
    o->without_reasons = true; /* they are not to be had of what was not measured */
    if (status == POPLINER_OK)
        status = choose_within(t, ways, count, largest_limit(o), error);
    o->without_reasons = without_reasons;
    popliner_plan *found = status == POPLINER_OK ? popliner_variants_take_plan(t->chosen) : NULL;
    if (status == POPLINER_OK && found->status == POPLINER_PLAN_INFEASIBLE && !found->is_stopped &&
        !without_reasons) {
        popliner_plan_free(found);
        status = choose_within(t, ways, count, UINT64_MAX, error);
        found = status == POPLINER_OK ? popliner_variants_take_plan(t->chosen) : NULL;
    }
    if (found != NULL) {
        *plan = *found;
        *found = (popliner_plan){0};
        popliner_plan_free(found);
    }
    return status;
}

static popliner_status find_plan(task *t, popliner_plan *plan, popliner_error *error) {
    popliner_solver_options *o = &t->solver.options;
    if (t->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        return choose_plan(t, plan, error);
    bool without_reasons = o->without_reasons;
    if (o->method == POPLINER_METHOD_GREEDY)
        return solve_greedily(t, plan, error);
    popliner_status status = measure_costs(t, largest_limit(o), error);
    o->without_reasons = true; /* they are not to be had of what was not measured */
    if (status == POPLINER_OK)
        status = solve_costs(t, plan, error);
    o->without_reasons = without_reasons;
    /* what is beyond the limit matters only now: to tell how far */
    if (status == POPLINER_OK && plan->status == POPLINER_PLAN_INFEASIBLE && !plan->is_stopped &&
        !without_reasons) {
        pl_plan_clear(plan);
        status = measure_costs(t, UINT64_MAX, error);
        if (status == POPLINER_OK)
            status = solve_costs(t, plan, error);
    }
    return status;
}

/* ---- telling ---- */

/* The way of recomputing of a name that it was chosen by. */
static popliner_recompute way_of(const char *name) {
    for (int way = 0; way < PL_NUM_RECOMPUTES; way++)
        if (strcmp(pl_recompute_name((popliner_recompute)way), name) == 0)
            return (popliner_recompute)way;
    return POPLINER_RECOMPUTE_NONE;
}

/* What each stage recomputes, if they may differ: an array to be freed, else NULL. */
static popliner_status list_recomputes(const task *t, size_t num_stages,
                                       popliner_recompute **recomputes, popliner_error *error) {
    *recomputes = NULL;
    if (t->given == NULL && t->chosen == NULL)
        return POPLINER_OK;
    *recomputes = pl_new_array(num_stages, sizeof **recomputes);
    if (*recomputes == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < num_stages; i++)
        (*recomputes)[i] =
            t->given != NULL ? t->given[i] : way_of(popliner_variants_texts(t->chosen)[i]);
    return POPLINER_OK;
}

/* The stages that were stored, for each way of recomputing; where there is a meter they are not
 * looked at. */
static popliner_status list_stages(const task *t, const pl_stage_details **of_ways,
                                   popliner_error *error) {
    popliner_pipeline pipeline = t->pipeline;
    bool is_needed = (t->given != NULL || t->chosen != NULL) &&
                     t->analysis->models[t->model].meter == NULL &&
                     !pl_is_calibrated(&pipeline.calibration);
    popliner_status status = POPLINER_OK;
    for (int way = 0; status == POPLINER_OK && is_needed && way < PL_NUM_RECOMPUTES; way++) {
        pipeline.recompute = (popliner_recompute)way;
        status = pl_analysis_find_stages(t->analysis, t->model, &pipeline, &of_ways[way], error);
    }
    return status;
}

/* Makes the certificate of a plan, which is the certificate's then, as are the costs. */
static popliner_status certify(task *t, bool is_evaluation, popliner_plan *plan,
                               popliner_certificate **certificate, popliner_error *error) {
    const pl_model_parts *parts = &t->analysis->models[t->model];
    size_t num_units = popliner_chain_num_units(t->chain);
    const char **names = pl_new_array(num_units, sizeof *names);
    if (names == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t unit = 0; unit < num_units; unit++)
        names[unit] = pl_chain_unit_at(t->chain, unit)->label;
    pl_certificate_input input = {
        .options = &t->solver.options,
        .pipeline = t->pipeline,
        .need = t->need,
        .num_units = num_units,
        .unit_names = names,
        .time_unit = "cycles",
        .cycles_per_time_unit = 1,
        .cuts_per_unit = 1,
        .has_cycles = t->costs != NULL && popliner_costs_has_cycles(t->costs),
        .profile = t->analysis->profile,
        .operations = t->analysis->operations,
        .chain = t->chain,
        .meter = parts->meter,
        .stage_details = t->stages,
        .option_names = t->analysis->option_names,
    };
    popliner_recompute *recomputes = NULL;
    popliner_status status = list_recomputes(t, plan->num_stages, &recomputes, error);
    input.stage_recomputes = recomputes;
    if (recomputes != NULL)
        input.pipeline.recompute = POPLINER_RECOMPUTE_AUTO;
    if (t->chosen != NULL)
        input.has_cycles =
            pl_profile_cycles_source(t->analysis->profile) >= POPLINER_CYCLES_ESTIMATED;
    if (status == POPLINER_OK)
        status = list_stages(t, input.stages_of_ways, error);
    if (status == POPLINER_OK)
        status = pl_certificate_create(&input, is_evaluation, plan, t->costs, certificate, error);
    if (status == POPLINER_OK)
        t->costs = NULL;
    if (status == POPLINER_OK && (status = tell_training(t, error)) != POPLINER_OK) {
        popliner_certificate_free(*certificate);
        *certificate = NULL;
    }
    free(recomputes);
    free(names);
    return status;
}

popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error) {
    task t = {0};
    popliner_plan plan = {0};
    *certificate = NULL;
    popliner_status status = begin_task(&t, analysis, request, TO_SOLVE, error);
    if (status == POPLINER_OK)
        status = find_plan(&t, &plan, error);
    if (status == POPLINER_OK)
        status = certify(&t, false, &plan, certificate, error);
    /* what the greedy algorithm takes for the memory of a stage is for nobody else */
    if (t.chain != NULL && analysis->models[t.model].meter != NULL)
        pl_stage_meter_forget_peaks(analysis->models[t.model].meter);
    pl_plan_clear(&plan);
    free_task(&t);
    return status;
}

/* ---- evaluating ---- */

/* The stages of a given split. */
static popliner_status place_stages(const task *t, const size_t *first_units, size_t num_cuts,
                                    popliner_plan *plan, popliner_error *error) {
    const popliner_solver_options *o = &t->solver.options;
    size_t num_units = popliner_chain_num_units(t->chain);
    for (size_t i = 0; i < num_cuts; i++)
        if (first_units[i] == 0 || first_units[i] >= num_units ||
            (i > 0 && first_units[i] <= first_units[i - 1]))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "unit %zu cannot begin stage %zu: units ascend, from 1 to %zu",
                           first_units[i], i + 1, num_units - 1);
    if (o->num_mapped_stages > 0 && o->num_mapped_stages != num_cuts + 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "the split has %zu stages, but the device map %zu", num_cuts + 1,
                       o->num_mapped_stages);
    plan->stages = pl_new_array(num_cuts + 1, sizeof *plan->stages);
    if (plan->stages == NULL)
        return pl_fail_memory(error, "the stages of the plan");
    plan->num_stages = num_cuts + 1;
    for (size_t i = 0; i <= num_cuts; i++)
        plan->stages[i] = (popliner_plan_stage){
            .first_unit = i == 0 ? 0 : first_units[i - 1],
            .last_unit = (i < num_cuts ? first_units[i] : num_units) - 1,
            .ipu = o->num_mapped_stages > 0 ? o->device_map[i] : i,
        };
    return POPLINER_OK;
}

/* Whether the stages may recompute what the caller says. */
static popliner_status check_given(const task *t, const popliner_plan *plan,
                                   popliner_error *error) {
    for (size_t i = 0; t->given != NULL && i < plan->num_stages; i++) {
        if (t->given[i] >= POPLINER_RECOMPUTE_AUTO || pl_recompute_name(t->given[i]) == NULL)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "stage %zu: a stage of a given split recomputes none, standard or full",
                           i);
        for (size_t k = 0; k < i; k++)
            if (plan->stages[i].ipu == plan->stages[k].ipu && t->given[i] != t->given[k])
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "stages %zu and %zu are on one IPU, but %s and %s is said of what "
                               "they recompute; say the same of both",
                               k, i, pl_recompute_name(t->given[k]),
                               pl_recompute_name(t->given[i]));
    }
    return POPLINER_OK;
}

popliner_status popliner_analysis_evaluate(popliner_analysis *analysis,
                                           const popliner_request *request,
                                           const size_t *first_units, size_t num_cuts,
                                           popliner_certificate **certificate,
                                           popliner_error *error) {
    task t = {0};
    popliner_plan plan = {0};
    *certificate = NULL;
    t.num_stages = num_cuts + 1;
    popliner_status status = begin_task(&t, analysis, request, TO_EVALUATE, error);
    if (status == POPLINER_OK)
        status = place_stages(&t, first_units, num_cuts, &plan, error);
    if (status == POPLINER_OK)
        status = check_given(&t, &plan, error);
    if (status == POPLINER_OK)
        status = certify(&t, true, &plan, certificate, error);
    pl_plan_clear(&plan);
    free_task(&t);
    return status;
}

/* ---- replicas ---- */

/* A search for stages and replicas. Zero-initialise; free with free_replicas_search. */
typedef struct replicas_search {
    task task;
    popliner_replicas_options options;
    pl_trained_parameters trained;
    size_t max_ipus;                /* of a pipeline */
    const pl_stage_details *stages; /* those that may serve, where copies follow the pipeline */
    uint64_t max_bytes;             /* what is beyond need not be known */
} replicas_search;

static void free_replicas_search(replicas_search *s) {
    pl_trained_parameters_free(&s->trained);
    free_task(&s->task);
}

/* Measures the costs of pipelines of so many stages. A popliner_replicas_costs. */
static popliner_status find_replicas_costs(void *user, size_t num_stages,
                                           uint64_t num_micro_batches, const popliner_costs **costs,
                                           popliner_error *error) {
    replicas_search *s = user;
    task *t = &s->task;
    t->pipeline.copies.num_stages = num_stages;
    t->pipeline.copies.num_ipus = num_stages / s->options.chunks;
    t->pipeline.copies.num_micro_batches = (size_t)num_micro_batches;
    t->solver.options.max_stages = num_stages;
    bool serves = s->stages != NULL && pl_stage_details_serve(s->stages, &t->pipeline);
    t->stages = serves ? s->stages : NULL;
    popliner_status status = measure_costs(t, s->max_bytes, error);
    *costs = t->costs;
    return status;
}

/* Finds stages that serve pipelines of any length. */
static popliner_status find_replicas_stages(replicas_search *s, popliner_error *error) {
    task *t = &s->task;
    s->stages = t->stages;
    /* as many copies as the longest pipelines of the most micro-batches have */
    size_t num_units = popliner_chain_num_units(t->chain);
    size_t longest = num_units / s->options.chunks;
    longest = longest < s->max_ipus ? longest : s->max_ipus;
    t->pipeline.copies.num_stages = (longest > 0 ? longest : 1) * s->options.chunks;
    t->pipeline.copies.num_ipus = longest > 0 ? longest : 1;
    t->pipeline.copies.num_micro_batches =
        (size_t)(s->options.micro_batches > 0 ? s->options.micro_batches : s->options.batch);
    if (s->stages != NULL || pl_is_calibrated(&t->pipeline.calibration) ||
        !pl_analysis_can_keep_stages(num_units))
        return POPLINER_OK;
    popliner_status status =
        pl_analysis_keep_stages(t->analysis, t->model, &t->pipeline, ", for any pipeline", error);
    if (status == POPLINER_OK)
        s->stages = t->analysis->models[t->model].stages[pl_stages_place(&t->pipeline)];
    return status;
}

static popliner_status begin_replicas_search(replicas_search *s, popliner_analysis *analysis,
                                             const popliner_request *request,
                                             const popliner_replicas_options *options,
                                             popliner_error *error) {
    task *t = &s->task;
    popliner_replicas_options *o = &s->options;
    *o = (popliner_replicas_options)POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_status status =
        pl_struct_take(o, sizeof *o, options, "popliner_replicas_options", error);
    if (status == POPLINER_OK)
        status = begin_task(t, analysis, request, false, error);
    if (status == POPLINER_OK && t->is_greedy)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "replicas are not solved for with the greedy method");
    if (status == POPLINER_OK && o->chunks == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "chunks: an IPU has at least one");
    if (status == POPLINER_OK)
        status = pl_analysis_make_meter(analysis, t->model, error);
    if (status == POPLINER_OK)
        status = pl_trained_parameters_find(&s->trained, analysis->models[t->model].meter, error);
    if (status != POPLINER_OK)
        return status;
    s->max_ipus = t->solver.options.max_stages;
    if (o->total_ipus < s->max_ipus)
        s->max_ipus = o->total_ipus;
    o->parameter_bytes = NULL;
    o->parameters =
        t->pipeline.schedule != POPLINER_SCHEDULE_INFERENCE ? pl_trained_parameters_bytes : NULL;
    o->parameters_user = &s->trained;
    bool follows = t->pipeline.copies.rule != POPLINER_COPIES_OF_SCHEDULE &&
                   t->pipeline.copies.rule != POPLINER_COPIES_LIST;
    o->costs = follows ? find_replicas_costs : NULL;
    o->costs_user = s;
    return follows ? find_replicas_stages(s, error) : POPLINER_OK;
}

/* Solves with costs up to max_bytes, and for reasons only with all of them. */
static popliner_status try_replicas(replicas_search *s, uint64_t max_bytes,
                                    popliner_replicas **replicas, popliner_error *error) {
    task *t = &s->task;
    popliner_solver_options solver = t->solver.options;
    const popliner_costs *costs = NULL;
    size_t num_units = popliner_chain_num_units(t->chain);
    size_t chunks = s->options.chunks;
    solver.without_reasons = solver.without_reasons || max_bytes < UINT64_MAX;
    solver.max_stages = s->max_ipus;
    s->options.solver = &solver;
    s->max_bytes = max_bytes;
    t->solver.options.max_stages =
        s->max_ipus < num_units / chunks ? s->max_ipus * chunks : num_units;
    /* where costs follow the pipeline, any will do to begin with */
    popliner_status status = s->options.costs != NULL
                                 ? find_replicas_costs(s, chunks, 1, &costs, error)
                                 : measure_costs(t, max_bytes, error);
    double start = pl_clock_seconds();
    pl_progress(&t->analysis->listener, "Solving", 0, 0);
    if (status == POPLINER_OK)
        status = popliner_replicas_solve(t->costs, &s->options, replicas, error);
    if (status == POPLINER_OK)
        pl_step(&t->analysis->listener, "Solving", start);
    return status;
}

popliner_status popliner_analysis_solve_replicas(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_replicas_options *options,
                                                 popliner_replicas **replicas,
                                                 popliner_error *error) {
    replicas_search s = {.max_bytes = 0};
    const popliner_solver_options *solver = &s.task.solver.options;
    *replicas = NULL;
    popliner_status status = begin_replicas_search(&s, analysis, request, options, error);
    if (status == POPLINER_OK)
        status = try_replicas(&s, largest_limit(solver), replicas, error);
    const popliner_replicas_summary *found =
        status == POPLINER_OK ? popliner_replicas_get_summary(*replicas) : NULL;
    /* what is beyond the limit matters only now: to tell how far */
    if (found != NULL && found->best == SIZE_MAX && !found->is_stopped &&
        !solver->without_reasons && s.max_bytes < UINT64_MAX) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
        status = try_replicas(&s, UINT64_MAX, replicas, error);
    }
    if (status == POPLINER_OK)
        status = tell_training(&s.task, error);
    if (status != POPLINER_OK) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
    }
    free_replicas_search(&s);
    return status;
}
