/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"

/* More passes than this take too long, and too much memory. */
enum { MAX_PASSES = 1 << 22 };

typedef enum kind { FORWARD, BACKWARD, WEIGHTS, NUM_KINDS, NO_PASS = NUM_KINDS } kind;

/* An IPU, and how far it is. */
typedef struct device {
    size_t done[NUM_KINDS]; /* passes of each kind, over all its stages */
    size_t ahead;           /* forward passes before forward and backward passes alternate */
    uint64_t free_at;
    bool is_waiting; /* in the list of devices that may go on */
} device;

/* Stage s runs on device s modulo num_devices. */
typedef struct run {
    const popliner_pipeline *pipeline;
    size_t num_stages;
    size_t num_devices;
    size_t num_chunks; /* stages of a device */
    size_t num_micro;
    uint64_t (*cycles)[NUM_KINDS]; /* [num_stages] */
    bool is_training;
    device *devices; /* [num_devices] */
    size_t *waiting; /* [num_devices] a stack */
    size_t num_waiting;
    uint64_t *ended; /* [2][num_stages * num_micro]: when each pass ended, plus 1; 0: not yet */
} run;

/* ---- The order on a device ---- */

size_t pl_step_passes_ahead(const popliner_pipeline *pipeline, size_t d, size_t num_devices,
                            size_t num_chunks) {
    const size_t after = num_devices - 1 - d;
    const popliner_schedule schedule = pipeline->schedule;
    popliner_copies copies = pipeline->copies;
    copies.more = 0;
    if (schedule == POPLINER_SCHEDULE_INFERENCE || copies.rule == POPLINER_COPIES_GPIPE)
        return SIZE_MAX;
    if (num_chunks > 1)
        return 2 * after + (num_chunks - 1) * num_devices;
    if (copies.rule == POPLINER_COPIES_LIST)
        return popliner_copies_at(&copies, after + 1);
    if (copies.rule != POPLINER_COPIES_OF_SCHEDULE)
        return after;
    return schedule == POPLINER_SCHEDULE_SEQUENTIAL ? 0
           : schedule == POPLINER_SCHEDULE_POPART || schedule == POPLINER_SCHEDULE_TF_GROUPED
               ? 2 * after
               : after;
}

/* Returns the kind of the next pass of a device. In a zero-bubble schedule, d passes for the
 * inputs' gradients are ahead of those for the weights' gradients (ZB-H1). */
static kind next_kind(const run *r, size_t d) {
    const size_t *done = r->devices[d].done;
    const size_t all = r->num_chunks * r->num_micro;
    const bool has_backward = r->is_training && done[BACKWARD] < all;
    if (r->pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE &&
        done[BACKWARD] - done[WEIGHTS] > (has_backward ? d : 0))
        return WEIGHTS;
    if (done[FORWARD] < all && done[FORWARD] - done[BACKWARD] <= r->devices[d].ahead)
        return FORWARD;
    return has_backward ? BACKWARD : NO_PASS;
}

/* Finds the stage and the micro-batch of the next pass of a kind: groups of as many micro-batches
 * as there are devices, each through all stages of the device. */
static size_t next_stage(const run *r, size_t d, kind k, size_t *micro) {
    const size_t number = r->devices[d].done[k];
    if (r->num_chunks == 1) { /* most are, and dividing takes long */
        *micro = number;
        return d;
    }
    const size_t group = number / (r->num_devices * r->num_chunks);
    const size_t left = r->num_micro - group * r->num_devices;
    const size_t size = left < r->num_devices ? left : r->num_devices;
    const size_t within = number % (r->num_devices * r->num_chunks);
    const size_t chunk = within / size;
    *micro = group * r->num_devices + within % size;
    return (k == FORWARD ? chunk : r->num_chunks - 1 - chunk) * r->num_devices + d;
}

/* ---- Running ---- */

static uint64_t *end_of(const run *r, kind k, size_t stage, size_t micro) {
    return &r->ended[((size_t)k * r->num_stages + stage) * r->num_micro + micro];
}

/* Returns when a pass may begin, plus 1; 0 if what it needs has not run. */
static uint64_t begin_of(const run *r, kind k, size_t stage, size_t micro) {
    if (k == WEIGHTS || (k == FORWARD && stage == 0))
        return 1;
    if (k == FORWARD)
        return *end_of(r, FORWARD, stage - 1, micro);
    if (stage + 1 == r->num_stages || *end_of(r, FORWARD, stage, micro) == 0)
        return *end_of(r, FORWARD, stage, micro);
    return *end_of(r, BACKWARD, stage + 1, micro);
}

static void wake(run *r, size_t stage) {
    const size_t number = r->num_chunks == 1 ? stage : stage % r->num_devices;
    device *d = &r->devices[number];
    if (!d->is_waiting)
        r->waiting[r->num_waiting++] = number;
    d->is_waiting = true;
}

/* Runs all passes of a device that can run by now. */
static void go_on(run *r, size_t number) {
    device *d = &r->devices[number];
    for (kind k = next_kind(r, number); k != NO_PASS; k = next_kind(r, number)) {
        size_t micro = 0;
        const size_t stage = next_stage(r, number, k, &micro);
        const uint64_t begin = begin_of(r, k, stage, micro);
        if (begin == 0)
            return;
        d->free_at =
            pl_add_or_never(d->free_at > begin - 1 ? d->free_at : begin - 1, r->cycles[stage][k]);
        d->done[k]++;
        if (k == WEIGHTS)
            continue;
        *end_of(r, k, stage, micro) = pl_add_or_never(d->free_at, 1);
        if (k == FORWARD && stage + 1 < r->num_stages)
            wake(r, stage + 1);
        if (k == BACKWARD && stage > 0)
            wake(r, stage - 1);
    }
}

/* Returns the end of the last pass. */
static uint64_t run_all(run *r) {
    uint64_t end = 0;
    for (size_t d = r->num_devices; d-- > 0;)
        wake(r, d);
    while (r->num_waiting > 0) {
        const size_t number = r->waiting[--r->num_waiting];
        r->devices[number].is_waiting = false;
        go_on(r, number);
    }
    for (size_t d = 0; d < r->num_devices; ++d)
        end = r->devices[d].free_at > end ? r->devices[d].free_at : end;
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
        r->cycles[i][FORWARD] = p.forward;
        r->cycles[i][BACKWARD] = p.backward;
        r->cycles[i][WEIGHTS] = p.weights;
    }
    for (size_t d = 0; d < r->num_devices; ++d)
        r->devices[d].ahead = pl_step_passes_ahead(r->pipeline, d, r->num_devices, r->num_chunks);
    return r->is_training && (passes_of(costs) == NULL || passes_of(costs)->are_thirds);
}

/* Finds how many devices there are; 0 if the stages do not go round them. */
static size_t count_devices(const popliner_plan *plan) {
    size_t count = 1;
    while (count < plan->num_stages && plan->stages[count].ipu != plan->stages[0].ipu)
        ++count;
    for (size_t i = 0; i < plan->num_stages; ++i)
        if (plan->stages[i].ipu != plan->stages[i % count].ipu)
            return 0;
    return plan->num_ipus == count && plan->num_stages % count == 0 ? count : 0;
}

/* True if the schedule is known for several stages on each device. */
static bool goes_round(const popliner_pipeline *pipeline) {
    switch (pipeline->copies.rule) {
    case POPLINER_COPIES_1F1B:
    case POPLINER_COPIES_GPIPE:
    case POPLINER_COPIES_INTERLEAVED:
        return true;
    case POPLINER_COPIES_OF_SCHEDULE:
        return pipeline->schedule == POPLINER_SCHEDULE_NONE;
    case POPLINER_COPIES_LIST:
    case POPLINER_COPIES_ZERO_BUBBLE:
    case POPLINER_NUM_COPIES_RULES:
        break;
    }
    return false;
}

const char *pl_step_obstacle(const popliner_pipeline *pipeline, size_t num_stages,
                             size_t num_devices) {
    const size_t num_micro = pipeline->copies.num_micro_batches;
    const bool is_training = pipeline->schedule != POPLINER_SCHEDULE_INFERENCE;
    const bool is_shared = num_stages > num_devices;
    if (num_micro > MAX_PASSES / num_stages)
        return "there are more than four million passes";
    if (is_shared && is_training && pipeline->copies.rule != POPLINER_COPIES_GPIPE &&
        num_micro % num_devices != 0)
        return "interleaved stages need a multiple of the devices as micro-batches";
    if (is_shared && is_training && !goes_round(pipeline))
        return "this schedule is known for one stage on each device";
    return NULL;
}

/* Returns why there is no step to be found; NULL if there is. */
static const char *find_obstacle(const run *r, const popliner_plan *plan) {
    if (plan->cycles == 0)
        return "the costs have no times";
    if (plan->stages[0].num_replicas > 0)
        return "no schedule is known for stages with replicas";
    if (r->num_devices == 0)
        return "no schedule is known for stages that share devices like this";
    return pl_step_obstacle(r->pipeline, r->num_stages, r->num_devices);
}

/* Returns the share of the devices' time in which they run no pass. */
static double idle_share(const run *r, uint64_t cycles) {
    double busy = 0;
    for (size_t i = 0; i < r->num_stages; ++i)
        for (kind k = FORWARD; k < NUM_KINDS; ++k)
            busy += (double)r->cycles[i][k] * (double)r->num_micro;
    const double share = 1 - busy / ((double)cycles * (double)r->num_devices);
    return share > 0 ? share : 0;
}

static const char *name_of(const run *r) {
    return !r->is_training                                     ? "inference"
           : r->pipeline->copies.rule == POPLINER_COPIES_GPIPE ? "gpipe"
           : r->num_chunks > 1                                 ? "interleaved"
           : r->pipeline->copies.rule != POPLINER_COPIES_OF_SCHEDULE
               ? pl_copies_rule_name(r->pipeline->copies.rule)
           : r->pipeline->schedule == POPLINER_SCHEDULE_NONE
               ? "1f1b"
               : pl_schedule_name(r->pipeline->schedule);
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
    r.num_devices = count_devices(plan);
    r.num_chunks = r.num_devices == 0 ? 0 : r.num_stages / r.num_devices;
    step->obstacle = find_obstacle(&r, plan);
    if (step->obstacle != NULL)
        return POPLINER_OK;
    pl_arrays arrays = {0};
    r.cycles = pl_arrays_new(&arrays, r.num_stages, sizeof *r.cycles);
    r.devices = pl_arrays_new(&arrays, r.num_devices, sizeof *r.devices);
    r.waiting = pl_arrays_new(&arrays, r.num_devices, sizeof *r.waiting);
    r.ended = pl_arrays_new(&arrays, 2 * r.num_stages * r.num_micro, sizeof *r.ended);
    const bool has_room = !arrays.failed;
    if (has_room) {
        step->is_third_assumed = divide(&r, plan, options, costs);
        step->cycles = run_all(&r);
        step->idle_share = idle_share(&r, step->cycles);
        step->order = name_of(&r);
    }
    pl_arrays_free(&arrays);
    return has_room ? POPLINER_OK : pl_fail_memory(error, "the passes of a step");
}
