/* Chooses stages and replicas for profiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/task.h"

#include "base/failure.h"
#include "base/structs.h"
#include "memory/stage.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"

/* A search for stages and replicas. Zero-initialise; free with free_replicas_search. */
typedef struct replicas_search {
    pl_task task;
    popliner_replicas_options options;
    pl_trained_parameters trained;
    size_t max_ipus;                /* of a pipeline */
    const pl_stage_details *stages; /* may serve pipelines whose copies depend on them */
    uint64_t max_bytes;             /* larger peaks need not be exact */
} replicas_search;

static void free_replicas_search(replicas_search *s) {
    pl_trained_parameters_free(&s->trained);
    pl_task_free(&s->task);
}

/* Measures the costs of pipelines of num_stages. A popliner_replicas_costs. */
static popliner_status find_replicas_costs(void *user, size_t num_stages,
                                           uint64_t num_micro_batches, const popliner_costs **costs,
                                           popliner_error *error) {
    replicas_search *s = user;
    pl_task *t = &s->task;
    t->pipeline.copies.num_stages = num_stages;
    t->pipeline.copies.num_ipus = num_stages / s->options.chunks;
    t->pipeline.copies.num_micro_batches = (size_t)num_micro_batches;
    t->solver.options.num_ipus = num_stages;
    bool serves = s->stages != NULL && pl_details_serve(&s->stages->key, &t->pipeline);
    t->stages = serves ? s->stages : NULL;
    popliner_status status = pl_task_measure_costs(t, s->max_bytes, error);
    *costs = t->costs;
    return status;
}

/* Finds stages that serve pipelines of any length. */
static popliner_status find_replicas_stages(replicas_search *s, popliner_error *error) {
    pl_task *t = &s->task;
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
    popliner_status status = pl_analysis_keep_stages(t->analysis, t->model, &t->pipeline, false,
                                                     ", for any pipeline", error);
    if (status == POPLINER_OK)
        s->stages = t->analysis->models[t->model].stages[pl_stages_place(&t->pipeline)];
    return status;
}

static popliner_status begin_replicas_search(replicas_search *s, popliner_analysis *analysis,
                                             const popliner_request *request,
                                             const popliner_replicas_options *options,
                                             popliner_error *error) {
    pl_task *t = &s->task;
    popliner_replicas_options *o = &s->options;
    *o = (popliner_replicas_options)POPLINER_REPLICAS_OPTIONS_INIT;
    popliner_status status =
        pl_struct_take(o, sizeof *o, options, "popliner_replicas_options", error);
    if (status == POPLINER_OK)
        status = pl_task_begin(t, analysis, request, PL_TO_TELL_COSTS, error);
    if (status == POPLINER_OK && t->solver.options.method == POPLINER_METHOD_GREEDY)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "replicas need an exact method; choose another one than greedy");
    /* in PopLiner's model the operations in no layer are one unit, which would train what each
     * layer has */
    bool has_parameters = t->model != POPLINER_MEMORY_MODEL_POPLINER;
    if (status == POPLINER_OK && o->bandwidth_bytes > 0 && !has_parameters)
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "bandwidth_bytes: PopLiner's memory model has no parameters to reduce; "
                         "choose the full model");
    if (status == POPLINER_OK && o->chunks == 0)
        status = pl_fail(error, POPLINER_ERROR_USAGE, "chunks: expected 1 or more");
    if (status == POPLINER_OK)
        status = pl_analysis_make_meter(analysis, t->model, error);
    if (status == POPLINER_OK)
        status = pl_trained_parameters_find(&s->trained, analysis->models[t->model].meter, error);
    if (status != POPLINER_OK)
        return status;
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
    return follows ? find_replicas_stages(s, error) : POPLINER_OK;
}

/* Solves with costs up to max_bytes, and searches for reasons only with all costs. */
static popliner_status try_replicas(replicas_search *s, uint64_t max_bytes,
                                    popliner_replicas **replicas, popliner_error *error) {
    pl_task *t = &s->task;
    popliner_solver_options solver = t->solver.options;
    const popliner_costs *costs = NULL;
    size_t num_units = popliner_chain_num_units(t->chain);
    size_t chunks = s->options.chunks;
    solver.without_reasons = solver.without_reasons || max_bytes < UINT64_MAX;
    solver.num_ipus = s->max_ipus;
    s->options.solver = &solver;
    s->max_bytes = max_bytes;
    t->solver.options.num_ipus =
        s->max_ipus < num_units / chunks ? s->max_ipus * chunks : num_units;
    /* if costs depend on the pipeline, any will do at first */
    popliner_status status = s->options.costs != NULL
                                 ? find_replicas_costs(s, chunks, 1, &costs, error)
                                 : pl_task_measure_costs(t, max_bytes, error);
    double start = pl_clock_seconds();
    pl_progress(&t->analysis->listener, "Solving", 0, 0);
    if (status == POPLINER_OK)
        status = popliner_replicas_solve(t->costs, &s->options, replicas, error);
    if (status == POPLINER_OK)
        pl_step(&t->analysis->listener, "Solving", start);
    return status;
}

static popliner_status solve_replicas_in_turn(popliner_analysis *analysis,
                                              const popliner_request *request,
                                              const popliner_replicas_options *options,
                                              popliner_replicas **replicas, popliner_error *error) {
    replicas_search s = {.max_bytes = 0};
    const popliner_solver_options *solver = &s.task.solver.options;
    popliner_status status = begin_replicas_search(&s, analysis, request, options, error);
    if (status == POPLINER_OK)
        status = try_replicas(&s, pl_limits_largest(solver), replicas, error);
    const popliner_replicas *found = status == POPLINER_OK ? *replicas : NULL;
    /* peaks above the limit matter only now: to report by how much they exceed it */
    if (found != NULL && found->best == SIZE_MAX && !found->is_stopped &&
        !solver->without_reasons && s.max_bytes < UINT64_MAX) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
        status = try_replicas(&s, UINT64_MAX, replicas, error);
    }
    if (status == POPLINER_OK)
        status = pl_task_tell_training(&s.task, error);
    if (status != POPLINER_OK) {
        popliner_replicas_free(*replicas);
        *replicas = NULL;
    }
    free_replicas_search(&s);
    return status;
}

popliner_status popliner_analysis_solve_replicas(popliner_analysis *analysis,
                                                 const popliner_request *request,
                                                 const popliner_replicas_options *options,
                                                 popliner_replicas **replicas,
                                                 popliner_error *error) {
    *replicas = NULL;
    popliner_status status = pl_analysis_enter(analysis, error);
    if (status != POPLINER_OK)
        return status;
    status = solve_replicas_in_turn(analysis, request, options, replicas, error);
    pl_analysis_leave(analysis);
    return status;
}
