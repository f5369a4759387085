/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step.h"

#include <assert.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/order.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"

/* More passes than this take too long, and too much memory. */
enum { MAX_PASSES = 1 << 22 };

typedef struct build {
    pl_step_graph *graph;
    const pl_order *order;
    uint32_t *last;  /* [num_devices] the last pass of each so far, as in pl_step_node */
    uint32_t *nodes; /* [2][num_stages * num_micro]: of each pass, as in pl_step_node */
} build;

/* ---- The order of all passes ---- */

static uint32_t *node_of(const build *b, pl_pass_kind kind, size_t stage, size_t micro) {
    return &b->nodes[((size_t)kind * b->graph->num_stages + stage) * b->order->num_micro_batches +
                     micro];
}

/* Finds the pass of another stage, or kind, that a pass needs, 0 if it needs none. False if that
 * has not run. */
static bool find_needed(const build *b, const pl_pass *p, uint32_t *needed) {
    *needed = 0;
    if (p->kind == PL_PASS_WEIGHTS || (p->kind == PL_PASS_FORWARD && p->stage == 0))
        return true;
    *needed = p->kind == PL_PASS_FORWARD ? *node_of(b, p->kind, p->stage - 1, p->micro_batch)
                                         : *node_of(b, PL_PASS_FORWARD, p->stage, p->micro_batch);
    if (p->kind == PL_PASS_BACKWARD && p->stage + 1 < b->graph->num_stages && *needed > 0)
        *needed = *node_of(b, p->kind, p->stage + 1, p->micro_batch);
    return *needed > 0;
}

static void append(build *b, size_t device, pl_pass_kind kind, size_t stage, uint32_t needed) {
    b->graph->nodes[b->graph->num_passes] =
        (pl_step_node){(uint32_t)(stage * PL_NUM_PASS_KINDS + kind), b->last[device], needed};
    b->last[device] = (uint32_t)++b->graph->num_passes;
}

/* A pl_order_function: appends a pass; a backward pass with the gradients of weights is two. */
static bool append_pass(void *user, size_t device, const pl_pass *p) {
    build *b = user;
    uint32_t needed = 0;
    if (!find_needed(b, p, &needed))
        return false;
    append(b, device, p->kind, p->stage, needed);
    if (p->kind == PL_PASS_BACKWARD && p->is_last &&
        pl_copies_have_weights(&b->order->pipeline->copies))
        append(b, device, PL_PASS_WEIGHTS, p->stage, 0);
    if (p->kind != PL_PASS_WEIGHTS)
        *node_of(b, p->kind, p->stage, p->micro_batch) = b->last[device];
    return true;
}

popliner_status pl_step_graph_create(pl_step_graph *graph, const pl_order *order, pl_arrays *arrays,
                                     popliner_error *error) {
    pl_arrays own = {0};
    build b = {.graph = graph, .order = order};
    *graph = (pl_step_graph){.num_stages = order->num_devices * order->num_chunks};
    const size_t num_places = graph->num_stages * order->num_micro_batches;
    graph->nodes = pl_arrays_new(arrays, PL_NUM_PASS_KINDS * num_places, sizeof *graph->nodes);
    graph->ends = pl_arrays_new(arrays, PL_NUM_PASS_KINDS * num_places + 1, sizeof *graph->ends);
    b.last = pl_arrays_new(&own, order->num_devices, sizeof *b.last);
    b.nodes = pl_arrays_new(&own, 2 * num_places, sizeof *b.nodes);
    const popliner_status status = arrays->failed || own.failed
                                       ? pl_fail_memory(error, "the passes of a step")
                                       : pl_order_run(order, append_pass, &b, error);
    for (size_t i = 0; status == POPLINER_OK && i < num_places; ++i) {
        assert(b.nodes[i] > 0); /* no order of passes waits for itself */
        assert((b.nodes[num_places + i] > 0) == (b.nodes[num_places] > 0));
    }
    pl_arrays_free(&own);
    return status;
}

uint64_t pl_step_run(const pl_step_graph *graph, const uint64_t *cycles) {
    uint64_t *ends = graph->ends;
    uint64_t last = 0;
    for (size_t i = 0; i < graph->num_passes; ++i) {
        const pl_step_node *node = &graph->nodes[i];
        ends[i + 1] =
            pl_add_or_never(pl_larger(ends[node->before], ends[node->needs]), cycles[node->part]);
        last = pl_larger(last, ends[i + 1]);
    }
    return last;
}

void pl_step_count_path(const pl_step_graph *graph, uint32_t *counts) {
    const uint64_t *ends = graph->ends;
    uint32_t at = 0;
    for (size_t i = 0; i < graph->num_stages * PL_NUM_PASS_KINDS; ++i)
        counts[i] = 0;
    for (uint32_t i = 1; i <= graph->num_passes; ++i)
        at = ends[i] > ends[at] ? i : at;
    while (at > 0) {
        const pl_step_node *node = &graph->nodes[at - 1];
        counts[node->part]++;
        at = ends[node->before] >= ends[node->needs] ? node->before : node->needs;
    }
}

/* ---- The plan ---- */

static const pl_unit_passes *passes_of(const popliner_costs *costs) {
    return costs == NULL ? NULL : costs->passes;
}

pl_step_parts pl_step_passes(const popliner_plan_stage *stage, uint64_t link_cycles,
                             const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs) {
    const uint64_t own = stage->cycles - link_cycles;
    uint64_t plain = own;
    pl_step_parts p = {.forward = pl_forward_third(own)};
    if (passes_of(costs) != NULL) {
        const uint64_t speed = pl_speed_of(options, stage->ipu);
        p.forward = pl_speed_cycles(
            speed, pl_costs_forward(costs, stage->first_unit, stage->last_unit, &plain));
        plain = pl_smaller(pl_speed_cycles(speed, plain), own);
    }
    p.forward += link_cycles / 2;
    if (pipeline->schedule == POPLINER_SCHEDULE_INFERENCE || p.forward > stage->cycles)
        p.forward = stage->cycles;
    p.backward = stage->cycles - p.forward;
    /* what is recomputed comes before any gradient */
    if (pl_copies_have_weights(&pipeline->copies))
        p.weights = (p.backward - pl_smaller(own - plain, p.backward)) / 2;
    p.backward -= p.weights;
    return p;
}

void pl_step_divide(const popliner_plan *plan, const popliner_solver_options *options,
                    const popliner_pipeline *pipeline, const popliner_costs *costs,
                    uint64_t *cycles) {
    for (size_t i = 0; i < plan->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        const uint64_t link_cycles =
            stage->link_cycles + (i > 0 ? plan->stages[i - 1].link_cycles : 0);
        const pl_step_parts p = pl_step_passes(stage, link_cycles, options, pipeline, costs);
        pl_step_set_cycles(cycles, i, p);
    }
}

const char *pl_step_obstacle(const pl_order *order) {
    const size_t num_stages = order->num_devices * order->num_chunks;
    if (num_stages == 0)
        return "no schedule is known for stages that share devices like this";
    if (order->num_micro_batches > MAX_PASSES / num_stages)
        return "there are more than four million passes";
    return pl_order_obstacle(order);
}

/* Returns why there is no step to be found; NULL if there is. */
static const char *find_obstacle(const pl_order *order, const popliner_plan *plan) {
    if (plan->cycles == 0)
        return "the costs have no times";
    if (plan->stages[0].num_replicas > 0)
        return "no schedule is known for stages with replicas";
    return pl_step_obstacle(order);
}

/* Returns the share of the devices' time in which they run no pass. */
static double idle_share(const pl_order *order, size_t num_stages, const uint64_t *passes,
                         uint64_t cycles) {
    double busy = 0;
    for (size_t i = 0; i < num_stages * PL_NUM_PASS_KINDS; ++i)
        busy += (double)passes[i] * (double)order->num_micro_batches;
    const double share = 1 - busy / ((double)cycles * (double)order->num_devices);
    return share > 0 ? share : 0;
}

popliner_status pl_step_simulate(const popliner_plan *plan, const popliner_solver_options *options,
                                 const popliner_pipeline *pipeline, const popliner_costs *costs,
                                 popliner_pipeline_step *step, pl_step_graph *graph,
                                 pl_arrays *arrays, popliner_error *error) {
    *graph = (pl_step_graph){0};
    *step = (popliner_pipeline_step){.num_micro_batches = pipeline->copies.num_micro_batches};
    if (step->num_micro_batches == 0 || plan->num_stages == 0)
        return POPLINER_OK;
    const pl_order order =
        pl_order_of_map(pipeline, &plan->stages->ipu, sizeof *plan->stages, plan->num_stages);
    step->obstacle = find_obstacle(&order, plan);
    if (step->obstacle != NULL)
        return POPLINER_OK;
    uint64_t *cycles = pl_arrays_new(arrays, plan->num_stages * PL_NUM_PASS_KINDS, sizeof *cycles);
    const popliner_status status = pl_step_graph_create(graph, &order, arrays, error);
    if (status == POPLINER_OK) {
        pl_step_divide(plan, options, pipeline, costs, cycles);
        step->cycles = pl_step_run(graph, cycles);
        step->idle_share = idle_share(&order, plan->num_stages, cycles, step->cycles);
        step->order = pl_order_name(&order);
        step->is_third_assumed = pipeline->schedule != POPLINER_SCHEDULE_INFERENCE &&
                                 (passes_of(costs) == NULL || passes_of(costs)->are_thirds);
    }
    return status;
}

popliner_status pl_step_find(const popliner_plan *plan, const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs,
                             popliner_pipeline_step *step, popliner_error *error) {
    pl_arrays arrays = {0};
    pl_step_graph graph;
    const popliner_status status =
        pl_step_simulate(plan, options, pipeline, costs, step, &graph, &arrays, error);
    pl_arrays_free(&arrays);
    return status;
}
