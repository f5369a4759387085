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

/* An IPU, and how far it is. */
typedef struct device {
    pl_order_walk walk;
    pl_pass next;
    bool has_next;
    uint64_t free_at;
    bool is_waiting; /* in the list of devices that may go on */
} device;

typedef struct run {
    const popliner_pipeline *pipeline;
    pl_order order;
    size_t num_stages;
    size_t num_micro;
    uint64_t (*cycles)[PL_NUM_PASS_KINDS]; /* [num_stages] */
    bool is_training;
    device *devices; /* [num_devices] */
    size_t *waiting; /* [num_devices] a stack */
    size_t num_waiting;
    uint64_t *ended; /* [2][num_stages * num_micro]: when each pass ended, plus 1; 0: not yet */
} run;

/* ---- Running ---- */

static uint64_t *end_of(const run *r, pl_pass_kind kind, size_t stage, size_t micro) {
    return &r->ended[((size_t)kind * r->num_stages + stage) * r->num_micro + micro];
}

/* Returns when a pass may begin, plus 1; 0 if what it needs has not run. */
static uint64_t begin_of(const run *r, const pl_pass *p) {
    if (p->kind == PL_PASS_WEIGHTS || (p->kind == PL_PASS_FORWARD && p->stage == 0))
        return 1;
    if (p->kind == PL_PASS_FORWARD)
        return *end_of(r, PL_PASS_FORWARD, p->stage - 1, p->micro_batch);
    const uint64_t forward = *end_of(r, PL_PASS_FORWARD, p->stage, p->micro_batch);
    if (p->stage + 1 == r->num_stages || forward == 0)
        return forward;
    return *end_of(r, PL_PASS_BACKWARD, p->stage + 1, p->micro_batch);
}

static void wake(run *r, size_t stage) {
    const size_t number = pl_order_device(&r->order, stage);
    device *d = &r->devices[number];
    if (!d->is_waiting)
        r->waiting[r->num_waiting++] = number;
    d->is_waiting = true;
}

/* Runs all passes of a device that can run by now. */
static void go_on(run *r, size_t number) {
    device *d = &r->devices[number];
    for (; d->has_next; d->has_next = pl_order_next(&d->walk, &d->next)) {
        const pl_pass *p = &d->next;
        const uint64_t begin = begin_of(r, p);
        if (begin == 0)
            return;
        d->free_at =
            pl_add_or_never(pl_larger(d->free_at, begin - 1), r->cycles[p->stage][p->kind]);
        if (p->kind == PL_PASS_WEIGHTS)
            continue;
        *end_of(r, p->kind, p->stage, p->micro_batch) = pl_add_or_never(d->free_at, 1);
        if (p->kind == PL_PASS_FORWARD && p->stage + 1 < r->num_stages)
            wake(r, p->stage + 1);
        if (p->kind == PL_PASS_BACKWARD && p->stage > 0)
            wake(r, p->stage - 1);
    }
}

/* Returns the end of the last pass. */
static uint64_t run_all(run *r) {
    uint64_t end = 0;
    for (size_t d = r->order.num_devices; d-- > 0;) {
        r->devices[d].walk = pl_order_begin(&r->order, d);
        r->devices[d].has_next = pl_order_next(&r->devices[d].walk, &r->devices[d].next);
        wake(r, d);
    }
    while (r->num_waiting > 0) {
        const size_t number = r->waiting[--r->num_waiting];
        r->devices[number].is_waiting = false;
        go_on(r, number);
    }
    for (size_t d = 0; d < r->order.num_devices; ++d) {
        assert(!r->devices[d].has_next); /* no order of passes waits for itself */
        end = pl_larger(end, r->devices[d].free_at);
    }
    return end;
}

/* ---- The plan ---- */

static const pl_unit_passes *passes_of(const popliner_costs *costs) {
    return costs == NULL ? NULL : pl_costs_of_any_split(costs)->passes;
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
    if (pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE)
        p.weights = (p.backward - pl_smaller(own - plain, p.backward)) / 2;
    p.backward -= p.weights;
    return p;
}

/* Divides the cycles of each stage into its passes. True if a third is assumed to be forward. */
static bool divide(run *r, const popliner_plan *plan, const popliner_solver_options *options,
                   const popliner_costs *costs) {
    for (size_t i = 0; i < r->num_stages; ++i) {
        const popliner_plan_stage *stage = &plan->stages[i];
        const uint64_t link_cycles =
            stage->link_cycles + (i > 0 ? plan->stages[i - 1].link_cycles : 0);
        const pl_step_parts p = pl_step_passes(stage, link_cycles, options, r->pipeline, costs);
        r->cycles[i][PL_PASS_FORWARD] = p.forward;
        r->cycles[i][PL_PASS_BACKWARD] = p.backward;
        r->cycles[i][PL_PASS_WEIGHTS] = p.weights;
    }
    return r->is_training && (passes_of(costs) == NULL || passes_of(costs)->are_thirds);
}

pl_order pl_step_order(const popliner_pipeline *pipeline, const popliner_plan_stage *stages,
                       size_t num_stages, size_t num_ipus) {
    bool goes_round = num_stages % num_ipus == 0;
    bool is_v = num_stages == 2 * num_ipus && num_ipus > 1;
    for (size_t i = 0; i < num_stages; ++i) {
        goes_round = goes_round && stages[i].ipu == stages[i % num_ipus].ipu;
        is_v = is_v && stages[i].ipu == stages[num_stages - 1 - i].ipu;
    }
    return goes_round || is_v ? pl_order_of(pipeline, num_ipus, num_stages / num_ipus, is_v)
                              : (pl_order){.pipeline = pipeline};
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
static const char *find_obstacle(const run *r, const popliner_plan *plan) {
    if (plan->cycles == 0)
        return "the costs have no times";
    if (plan->stages[0].num_replicas > 0)
        return "no schedule is known for stages with replicas";
    return pl_step_obstacle(&r->order);
}

/* Returns the share of the devices' time in which they run no pass. */
static double idle_share(const run *r, uint64_t cycles) {
    double busy = 0;
    for (size_t i = 0; i < r->num_stages; ++i)
        for (int k = 0; k < PL_NUM_PASS_KINDS; ++k)
            busy += (double)r->cycles[i][k] * (double)r->num_micro;
    const double share = 1 - busy / ((double)cycles * (double)r->order.num_devices);
    return share > 0 ? share : 0;
}

popliner_status pl_step_find(const popliner_plan *plan, const popliner_solver_options *options,
                             const popliner_pipeline *pipeline, const popliner_costs *costs,
                             popliner_pipeline_step *step, popliner_error *error) {
    run r = {.pipeline = pipeline,
             .num_stages = plan->num_stages,
             .num_micro = pipeline->copies.num_micro_batches,
             .is_training = pipeline->schedule != POPLINER_SCHEDULE_INFERENCE};
    *step = (popliner_pipeline_step){.num_micro_batches = r.num_micro};
    if (r.num_micro == 0 || plan->num_stages == 0)
        return POPLINER_OK;
    r.order = pl_step_order(pipeline, plan->stages, plan->num_stages, plan->num_ipus);
    const size_t num_devices = r.order.num_devices;
    step->obstacle = find_obstacle(&r, plan);
    if (step->obstacle != NULL)
        return POPLINER_OK;
    pl_arrays arrays = {0};
    r.cycles = pl_arrays_new(&arrays, r.num_stages, sizeof *r.cycles);
    r.devices = pl_arrays_new(&arrays, num_devices, sizeof *r.devices);
    r.waiting = pl_arrays_new(&arrays, num_devices, sizeof *r.waiting);
    r.ended = pl_arrays_new(&arrays, 2 * r.num_stages * r.num_micro, sizeof *r.ended);
    const bool has_room = !arrays.failed;
    if (has_room) {
        step->is_third_assumed = divide(&r, plan, options, costs);
        step->cycles = run_all(&r);
        step->idle_share = idle_share(&r, step->cycles);
        step->order = pl_order_name(&r.order);
    }
    pl_arrays_free(&arrays);
    return has_room ? POPLINER_OK : pl_fail_memory(error, "the passes of a step");
}
