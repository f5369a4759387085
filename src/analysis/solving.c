/* Solves and evaluates a request, also for replicas, and finds out why nothing fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/analysis_data.h"
#include "analysis/hints.h"
#include "answer/certificate_data.h"
#include "base/bounds.h"
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/structs.h"
#include "base/text.h"
#include "costs/costs.h"
#include "costs/variants.h"
#include "memory/chain_data.h"
#include "memory/parameters.h"
#include "memory/stage.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/plan.h"

/* ---- Solving ---- */

/* Computes the peak of a stage for the greedy algorithm. */
static popliner_status measure_peak(void *user, size_t first_unit, size_t last_unit,
                                    uint64_t *peak_bytes, popliner_error *error) {
    pl_task *t = user;
    pl_stage_meter *meter = t->analysis->models[t->model].meter;
    if (pl_bounds_ask(&t->analysis->bounds))
        return pl_fail(error, POPLINER_ERROR_STOPPED,
                       "the greedy algorithm was stopped at units %zu to %zu", first_unit,
                       last_unit);
    const popliner_interval stage = {first_unit, last_unit, 1};
    return pl_stage_measure_peak(meter, NULL, POPLINER_NEED_EXPECTED, &stage, 1, peak_bytes, error);
}

static popliner_status solve_greedily(pl_task *t, popliner_plan *plan, popliner_error *error) {
    pl_stage_meter *meter = t->analysis->models[t->model].meter;
    double start = pl_clock_seconds();
    pl_stage_meter_remember_peaks(meter, true);
    PL_TRY(pl_solve_greedily(pl_chain_num_units(t->chain), measure_peak, t, &t->solver.options,
                             plan, error));
    pl_step(&t->analysis->listener, "Solving", start);
    return POPLINER_OK;
}

static popliner_status solve_costs(pl_task *t, popliner_plan *plan, popliner_error *error) {
    const popliner_listener *listener = &t->analysis->listener;
    double start = pl_clock_seconds();
    pl_progress(listener, "Solving", 0, 0);
    PL_TRY(pl_solve(t->costs, &t->solver.options, plan, error));
    pl_step(listener, "Solving", start);
    return POPLINER_OK;
}

static popliner_status find_plan(pl_task *t, popliner_plan *plan, popliner_error *error) {
    popliner_solver_options *o = &t->solver.options;
    const bool chooses = t->pipeline.recompute == POPLINER_RECOMPUTE_AUTO;
    const bool without_reasons = o->without_reasons;
    if (t->is_greedy && !chooses)
        return solve_greedily(t, plan, error);
    if (chooses)
        PL_TRY(pl_variants_check_options(o, error));
    PL_TRY(pl_task_measure_costs(t, false, error));
    o->without_reasons = true; /* reasons need longer pipelines */
    PL_TRY(solve_costs(t, plan, error));
    o->without_reasons = without_reasons;
    if (plan->status != POPLINER_PLAN_INFEASIBLE || plan->is_stopped || without_reasons)
        return POPLINER_OK;
    pl_plan_clear(plan);
    PL_TRY(pl_task_measure_costs(t, true, error));
    return solve_costs(t, plan, error);
}

/* ---- Certificates ---- */

/* Lists what each stage recomputes, if they chose it: an array of the task, else NULL. */
static const popliner_recompute *list_choices(pl_task *t, const popliner_plan *plan) {
    popliner_recompute *own =
        plan->choices == NULL ? NULL : pl_arrays_new(&t->arrays, plan->num_stages, sizeof *own);
    for (size_t i = 0; own != NULL && i < plan->num_stages; i++)
        own[i] = (popliner_recompute)pl_find_name(pl_recompute_name, plan->choices[i]);
    return own;
}

/* Finds the stored stages, for each recomputation; not needed if there is a meter, which is made if
 * those of a given way were not stored. */
static popliner_status list_stages(const pl_task *t, const popliner_plan *plan,
                                   const pl_stage_details **of_ways, popliner_error *error) {
    popliner_pipeline pipeline = t->pipeline;
    pl_model_parts *parts = &t->analysis->models[t->model];
    const bool is_needed = t->given != NULL || pipeline.recompute == POPLINER_RECOMPUTE_AUTO;
    for (int way = 0; is_needed && parts->meter == NULL && way < PL_NUM_RECOMPUTES; way++) {
        pipeline.recompute = (popliner_recompute)way;
        PL_TRY(pl_analysis_find_stages(t->analysis, t->model, &pipeline, POPLINER_NEED_EXPECTED,
                                       &of_ways[way], error));
        for (size_t i = 0; t->given != NULL && of_ways[way] == NULL && i < plan->num_stages; i++)
            if ((int)t->given[i] == way)
                return pl_analysis_make_meter(t->analysis, t->model, error);
    }
    return POPLINER_OK;
}

/* Makes the certificate of a plan; it takes ownership of the plan and the costs. */
static popliner_status certify(pl_task *t, bool is_evaluation, popliner_plan *plan,
                               popliner_certificate **certificate, popliner_error *error) {
    pl_model_parts *parts = &t->analysis->models[t->model];
    pl_certificate_input input = {
        .options = &t->solver.options,
        .pipeline = t->pipeline,
        .need = t->need,
        .num_units = pl_chain_num_units(t->chain),
        .unit_names = t->chain->labels,
        .time_unit = "cycles",
        .cycles_per_time_unit = 1,
        .cuts_per_unit = 1,
        .has_cycles = t->costs != NULL && !t->is_greedy && popliner_costs_has_cycles(t->costs),
        .costs = is_evaluation ? t->costs : NULL,
        .chain = t->chain,
        .option_names = t->analysis->option_names,
        .warnings = {&t->analysis->recorder.warnings, &t->recorder.warnings},
    };
    const popliner_recompute *recomputes = t->given != NULL ? t->given : list_choices(t, plan);
    if (t->arrays.failed)
        return pl_fail_memory(error, "a report");
    if (t->solver.options.method != POPLINER_METHOD_GREEDY &&
        t->pipeline.schedule == POPLINER_SCHEDULE_NONE &&
        !pl_pipeline_has_own_copies(&t->pipeline)) {
        PL_TRY(pl_analysis_know_cycles(parts, error));
        input.lacks_schedule = parts->is_training;
    }
    input.stage_recomputes = recomputes;
    if (recomputes == NULL && t->pipeline.recompute != POPLINER_RECOMPUTE_AUTO)
        input.stages_of_ways[t->pipeline.recompute] = t->stages;
    if (recomputes != NULL)
        input.pipeline.recompute = POPLINER_RECOMPUTE_AUTO;
    if (plan->choices != NULL) { /* the certificate has no costs: those of a way are not all */
        input.has_cycles =
            pl_profile_cycles_source(t->analysis->profile) >= POPLINER_CYCLES_ESTIMATED;
        popliner_costs_free(t->costs);
        t->costs = NULL;
    }
    PL_TRY(list_stages(t, plan, input.stages_of_ways, error));
    input.meter = parts->meter;
    pl_task_tell_training(t);
    const popliner_status status = pl_certificate_create(
        &input, is_evaluation, plan, is_evaluation ? NULL : t->costs, certificate, error);
    /* stages, or the chain that they were made for, may come from the file */
    if (status == POPLINER_ERROR_INTERNAL && t->analysis->stored != NULL)
        return pl_fail(error, POPLINER_ERROR_INPUT,
                       "%s: is damaged: its stages are not those of its digests; store the "
                       "analysis again",
                       pl_analysis_stored_name(t->analysis));
    if (status == POPLINER_OK && !is_evaluation)
        t->costs = NULL;
    return status;
}

popliner_status popliner_analysis_solve(popliner_analysis *analysis,
                                        const popliner_request *request,
                                        popliner_certificate **certificate, popliner_error *error) {
    pl_task t = {0};
    popliner_plan plan = {0};
    *certificate = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = pl_task_begin(&t, analysis, request, PL_TO_SOLVE, error);
    if (status == POPLINER_OK)
        status = find_plan(&t, &plan, error);
    if (status == POPLINER_OK)
        status = certify(&t, false, &plan, certificate, error);
    /* other methods must not use the peaks of the greedy algorithm */
    if (t.chain != NULL && analysis->models[t.model].meter != NULL)
        pl_stage_meter_remember_peaks(analysis->models[t.model].meter, false);
    pl_plan_clear(&plan);
    pl_task_free(&t);
    return pl_analysis_leave(analysis, status);
}

/* ---- Evaluating ---- */

/* Checks the recomputation that the caller requests for each stage. */
static popliner_status check_given(const pl_task *t, const popliner_plan *plan,
                                   popliner_error *error) {
    for (size_t i = 0; t->given != NULL && i < plan->num_stages; i++) {
        if (t->given[i] >= POPLINER_RECOMPUTE_AUTO || pl_recompute_name(t->given[i]) == NULL)
            return pl_fail(
                error, POPLINER_ERROR_USAGE,
                "stage %zu: expected the recomputation none, standard or full for a given split",
                i);
        for (size_t k = 0; k < i; k++)
            if (plan->stages[i].ipu == plan->stages[k].ipu && t->given[i] != t->given[k])
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "stages %zu and %zu are on one IPU, but recompute %s and %s; choose "
                               "one recomputation for both",
                               k, i, pl_recompute_name(t->given[k]),
                               pl_recompute_name(t->given[i]));
    }
    return POPLINER_OK;
}

/* Finds the stages of a given split that run on the IPU of one of them. Returns their number. */
static size_t find_on_ipu(const pl_task *t, const popliner_plan *plan, size_t stage,
                          popliner_interval *units) {
    size_t count = 0;
    for (size_t i = 0; i < plan->num_stages; i++)
        if (plan->stages[i].ipu == plan->stages[stage].ipu)
            units[count++] =
                (popliner_interval){plan->stages[i].first_unit, plan->stages[i].last_unit,
                                    pl_costs_place(t->costs, plan->num_stages, i)};
    return count;
}

/* Chooses how the stages of an IPU recompute: alike, with the fewest cycles within its limit, then
 * the lowest peak; or else with the lowest peak. */
static popliner_status choose_for_ipu(const pl_ways *ways, const popliner_interval *units,
                                      size_t count, const popliner_solver_options *o, size_t ipu,
                                      popliner_recompute *recompute, popliner_error *error) {
    const uint64_t limit_bytes = pl_limit_of(o, ipu, o->mem_per_tile);
    pl_variant_choice best = {0};
    popliner_status status = POPLINER_OK;
    for (size_t way = 0; status == POPLINER_OK && way < ways->count; way++) {
        const popliner_costs *costs = ways->costs[way];
        pl_variant_choice own = {.exists = true};
        status = pl_costs_shared_peak(costs, units, count, &own.peak_bytes, error);
        for (size_t i = 0; i < count; i++)
            own.cycles += pl_speed_cycles(
                pl_speed_of(o, ipu),
                popliner_costs_cycles(costs, units[i].first_unit, units[i].last_unit));
        const bool fits = own.peak_bytes <= limit_bytes;
        const bool is_better = !best.exists || (fits == (best.peak_bytes <= limit_bytes)
                                                    ? pl_variant_choice_is_better(&own, &best, fits)
                                                    : fits);
        if (status != POPLINER_OK || !is_better)
            continue;
        best = own;
        *recompute = (popliner_recompute)pl_find_name(pl_recompute_name, ways->names[way]);
    }
    return status;
}

/* Chooses how each stage of a given split recomputes. */
static popliner_status choose_given(pl_task *t, const popliner_plan *plan, popliner_error *error) {
    popliner_solver_options *o = &t->solver.options;
    PL_TRY(pl_variants_check_options(o, error));
    o->num_ipus = plan->num_stages;
    PL_TRY(pl_task_measure_costs(t, false, error));
    popliner_interval *units = pl_arrays_new(&t->arrays, plan->num_stages, sizeof *units);
    popliner_recompute *own = pl_arrays_new(&t->arrays, plan->num_stages, sizeof *own);
    if (t->arrays.failed)
        return pl_fail_memory(error, "the stages of the plan");
    for (size_t i = 0; i < plan->num_stages; i++)
        PL_TRY(choose_for_ipu(&t->costs->choices->ways, units, find_on_ipu(t, plan, i, units), o,
                              plan->stages[i].ipu, &own[i], error));
    popliner_costs_free(t->costs);
    t->costs = NULL;
    t->given = own;
    return POPLINER_OK;
}

/* Measures a given split. */
static popliner_status evaluate(pl_task *t, const size_t *first_units, size_t num_cuts,
                                popliner_plan *plan, popliner_certificate **certificate,
                                popliner_error *error) {
    PL_TRY(pl_plan_place(plan, &t->solver.options, pl_chain_num_units(t->chain), first_units,
                         num_cuts, error));
    if (t->pipeline.recompute == POPLINER_RECOMPUTE_AUTO)
        PL_TRY(choose_given(t, plan, error));
    PL_TRY(check_given(t, plan, error));
    PL_TRY(pl_task_measure_work(t, plan, error));
    return certify(t, true, plan, certificate, error);
}

popliner_status popliner_analysis_evaluate(popliner_analysis *analysis,
                                           const popliner_request *request,
                                           const size_t *first_units, size_t num_cuts,
                                           popliner_certificate **certificate,
                                           popliner_error *error) {
    pl_task t = {.num_stages = num_cuts + 1};
    popliner_plan plan = {0};
    *certificate = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = pl_task_begin(&t, analysis, request, PL_TO_EVALUATE, error);
    if (status == POPLINER_OK)
        status = evaluate(&t, first_units, num_cuts, &plan, certificate, error);
    pl_plan_clear(&plan);
    pl_task_free(&t);
    return pl_analysis_leave(analysis, status);
}

popliner_status popliner_analysis_evaluate_plan(popliner_analysis *analysis,
                                                const popliner_request *request,
                                                const popliner_plan *plan,
                                                popliner_certificate **certificate,
                                                popliner_error *error) {
    popliner_request asked = POPLINER_REQUEST_INIT;
    popliner_solver_options solver;
    popliner_listener listener;
    pl_arrays arrays = {0};
    *certificate = NULL;
    PL_TRY(pl_struct_take(&asked, sizeof asked, request, "popliner_request", error));
    PL_TRY(pl_solver_options_take(asked.solver, NULL, &solver, &listener, error));
    size_t *first_units = pl_arrays_new(&arrays, plan->num_stages + 1, sizeof *first_units);
    size_t *map = pl_arrays_new(&arrays, plan->num_stages, sizeof *map);
    popliner_recompute *ways = pl_arrays_new(&arrays, plan->num_stages, sizeof *ways);
    for (size_t i = 0; !arrays.failed && i < plan->num_stages; i++) {
        first_units[i] = plan->stages[i].first_unit;
        map[i] = plan->stages[i].ipu;
        if (plan->choices != NULL)
            ways[i] = (popliner_recompute)pl_find_name(pl_recompute_name, plan->choices[i]);
    }
    solver.device_map = map;
    solver.num_mapped_stages = plan->num_stages;
    asked.solver = &solver;
    if (!arrays.failed)
        popliner_copies_set_map(&asked.copies, map, plan->num_stages);
    if (plan->choices != NULL) {
        asked.recompute = POPLINER_RECOMPUTE_NONE;
        asked.stage_recomputes = ways;
        asked.num_stage_recomputes = plan->num_stages;
    }
    const popliner_status status =
        arrays.failed ? pl_fail_memory(error, "what a split needs")
        : plan->num_stages == 0
            ? pl_fail(error, POPLINER_ERROR_USAGE, "a plan without stages cannot be measured")
            : popliner_analysis_evaluate(analysis, &asked, first_units + 1, plan->num_stages - 1,
                                         certificate, error);
    pl_arrays_free(&arrays);
    return status;
}

/* ---- Replicas ---- */

/* A search for stages and replicas. Zero-initialise; free with free_replicas_search. */
typedef struct replicas_search {
    pl_task task;
    popliner_replicas_options options;
    pl_trained_parameters trained;
    pl_arrays arrays;   /* of these */
    size_t max_ipus;    /* of a pipeline */
    bool of_any_length; /* costs are also of longer pipelines */
} replicas_search;

static void free_replicas_search(replicas_search *s) {
    pl_arrays_free(&s->arrays);
    pl_task_free(&s->task);
}

/* Sets what copies depend on. */
static void set_pipeline(replicas_search *s, size_t num_ipus, uint64_t num_micro_batches) {
    popliner_copies *copies = &s->task.pipeline.copies;
    copies->num_stages = num_ipus * s->options.chunks;
    copies->num_ipus = num_ipus;
    copies->is_v = s->options.is_v;
    copies->num_micro_batches = (size_t)num_micro_batches;
}

/* Measures the costs of pipelines of num_stages. A popliner_replicas_costs. */
static popliner_status find_replicas_costs(void *user, size_t num_stages, size_t num_replicas,
                                           uint64_t num_micro_batches, const popliner_costs **costs,
                                           popliner_error *error) {
    replicas_search *s = user;
    pl_task *t = &s->task;
    (void)num_replicas;
    set_pipeline(s, num_stages / s->options.chunks, num_micro_batches);
    t->solver.options.num_ipus = num_stages;
    popliner_status status = pl_task_measure_costs(t, s->of_any_length, error);
    *costs = t->costs;
    return status;
}

/* Measures the stages that serve pipelines of any length, with as many copies as the longest ones
 * of the most micro-batches have. */
static popliner_status measure_for_replicas(replicas_search *s, popliner_error *error) {
    const size_t longest =
        pl_fewer(pl_chain_num_units(s->task.chain) / s->options.chunks, s->max_ipus);
    set_pipeline(s, pl_more(longest, 1),
                 s->options.micro_batches > 0 ? s->options.micro_batches : s->options.batch);
    return pl_task_measure_costs(&s->task, false, error);
}

static popliner_status begin_replicas_search(replicas_search *s, popliner_analysis *analysis,
                                             const popliner_request *request,
                                             const popliner_replicas_options *options,
                                             popliner_error *error) {
    pl_task *t = &s->task;
    popliner_replicas_options *o = &s->options;
    *o = (popliner_replicas_options)POPLINER_REPLICAS_OPTIONS_INIT;
    PL_TRY(pl_struct_take(o, sizeof *o, options, "popliner_replicas_options", error));
    t->num_stages = o->total_ipus;
    PL_TRY(pl_task_begin(t, analysis, request, PL_TO_TELL_COSTS, error));
    if (t->solver.options.method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "replicas need an exact method; choose another one than greedy");
    /* in PopLiner's model the operations in no layer are one unit, which would train what each
     * layer has */
    bool has_parameters = t->model != POPLINER_MEMORY_MODEL_POPLINER;
    if (o->bandwidth_bytes > 0 && !has_parameters)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "bandwidth_bytes: PopLiner's memory model has no parameters to reduce; "
                       "choose the full model");
    if (o->chunks == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "chunks: expected 1 or more");
    PL_TRY(pl_analysis_make_meter(analysis, t->model, error));
    pl_stage_meter *meter = analysis->models[t->model].meter;
    const bool has_sums = pl_stage_meter_find_sums(meter);
    if (has_sums)
        pl_trained_parameters_find(&s->trained, &s->arrays, &meter->pass_usage,
                                   meter->trained_bytes);
    if (!has_sums || s->arrays.failed)
        return pl_fail_memory(error, "the parameters of the stages");
    s->max_ipus = t->solver.options.num_ipus;
    if (o->total_ipus < s->max_ipus)
        s->max_ipus = o->total_ipus;
    o->parameter_bytes = NULL;
    o->parameters = has_parameters && t->pipeline.schedule != POPLINER_SCHEDULE_INFERENCE
                        ? pl_trained_parameters_bytes
                        : NULL;
    o->parameters_user = &s->trained;
    if (o->pipeline != NULL)
        o->pipeline = &t->pipeline;
    bool follows = t->pipeline.copies.rule != POPLINER_COPIES_OF_SCHEDULE &&
                   t->pipeline.copies.rule != POPLINER_COPIES_LIST;
    o->costs = follows ? find_replicas_costs : NULL;
    o->costs_user = s;
    return follows ? measure_for_replicas(s, error) : POPLINER_OK;
}

/* Solves, and searches for reasons only with the costs of longer pipelines. */
static popliner_status try_replicas(replicas_search *s, bool of_any_length,
                                    popliner_replicas **replicas, popliner_error *error) {
    pl_task *t = &s->task;
    popliner_solver_options solver = t->solver.options;
    const popliner_costs *costs = NULL;
    size_t num_units = pl_chain_num_units(t->chain);
    size_t chunks = s->options.chunks;
    solver.without_reasons = solver.without_reasons || !of_any_length;
    solver.num_ipus = s->max_ipus;
    s->options.solver = &solver;
    s->of_any_length = of_any_length;
    t->solver.options.num_ipus =
        s->max_ipus < num_units / chunks ? s->max_ipus * chunks : num_units;
    /* if costs depend on the pipeline, any will do at first */
    PL_TRY(s->options.costs != NULL ? find_replicas_costs(s, chunks, 1, 1, &costs, error)
                                    : pl_task_measure_costs(t, of_any_length, error));
    double start = pl_clock_seconds();
    pl_progress(&t->analysis->listener, "Solving", 0, 0);
    PL_TRY(popliner_replicas_solve(t->costs, &s->options, replicas, error));
    pl_step(&t->analysis->listener, "Solving", start);
    return POPLINER_OK;
}

popliner_status popliner_analysis_solve_replicas(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_replicas_options *options,
                                                 popliner_replicas **replicas,
                                                 popliner_error *error) {
    replicas_search s = {.of_any_length = false};
    const popliner_solver_options *solver = &s.task.solver.options;
    *replicas = NULL;
    pl_analysis_enter(analysis);
    popliner_status status = begin_replicas_search(&s, analysis, request, options, error);
    if (status == POPLINER_OK)
        status = try_replicas(&s, false, replicas, error);
    const popliner_replicas *found = status == POPLINER_OK ? *replicas : NULL;
    if (found != NULL && found->best == SIZE_MAX && !found->is_stopped &&
        !solver->without_reasons) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
        status = try_replicas(&s, true, replicas, error);
    }
    if (status == POPLINER_OK)
        pl_task_tell_training(&s.task);
    if (status != POPLINER_OK) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
    }
    free_replicas_search(&s);
    return pl_analysis_leave(analysis, status);
}

/* ---- Hints ---- */

popliner_status
popliner_certificate_find_hints(popliner_certificate *callers, popliner_analysis *analysis,
                                const popliner_request *request, const popliner_costs *costs,
                                popliner_costs_reader read, void *user, popliner_error *error) {
    pl_certificate *c = (pl_certificate *)callers;
    if (analysis == NULL)
        return pl_hints_find(c, NULL, false, request, costs, read, user, error);
    PL_TRY(pl_analysis_check_certificate(analysis, c, "a search for hints", error));
    pl_analysis_enter(analysis);
    const popliner_listener callers_own = analysis->recorder.callers;
    const popliner_listener listener = analysis->listener;
    analysis->recorder.callers.message = NULL; /* nobody hears of trials */
    analysis->recorder.callers.step = analysis->listener.step = NULL;
    const popliner_status status =
        pl_hints_find(c, analysis, pl_analysis_require_variables(analysis, NULL) == POPLINER_OK,
                      request, costs, read, user, error);
    analysis->recorder.callers = callers_own;
    analysis->listener = listener;
    return pl_analysis_leave(analysis, status);
}
