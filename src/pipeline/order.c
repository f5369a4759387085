/* Schedules as phrases of passes: a new one is a list of them, with its obstacles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/order_file.h"

#include <assert.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/pipeline.h"

static bool has_weights(const pl_order *order) {
    return pl_copies_have_weights(&order->pipeline->copies);
}

static bool is_in_blocks(const pl_order *order) {
    return order->pipeline->copies.rule == POPLINER_COPIES_V_HALF ||
           order->pipeline->copies.rule == POPLINER_COPIES_V_MIN;
}

/* True if all forward passes come before any other. */
static bool is_in_one_wave(const pl_order *order) {
    return order->pipeline->schedule == POPLINER_SCHEDULE_INFERENCE ||
           order->pipeline->copies.rule == POPLINER_COPIES_GPIPE;
}

static pl_order make_order(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks,
                           bool is_v, size_t num_micro_batches) {
    pl_order order = {pipeline,          num_devices, num_chunks,
                      num_micro_batches, 0,           is_v && num_chunks > 1};
    if (is_in_one_wave(&order))
        order.round = num_micro_batches;
    else
        order.round = pl_copies_round(num_devices, num_micro_batches);
    return order;
}

pl_order pl_order_of(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks,
                     bool is_v) {
    return make_order(pipeline, num_devices, num_chunks, is_v, pipeline->copies.num_micro_batches);
}

pl_order pl_order_of_copies(const popliner_pipeline *pipeline) {
    enum { ROUNDS = 4 };
    const popliner_copies *c = &pipeline->copies;
    const size_t micro = c->num_micro_batches > 0 ? c->num_micro_batches : ROUNDS * c->num_ipus;
    pl_order order = make_order(pipeline, c->num_ipus, c->num_stages / c->num_ipus, c->is_v, micro);
    const size_t several = ROUNDS * order.round + micro % order.round;
    if (c->rule != POPLINER_COPIES_ORDER)
        order.num_micro_batches = pl_fewer(micro, several);
    return order;
}

static size_t ipu_at(const size_t *first_ipu, size_t stride, size_t stage) {
    return *(const size_t *)(const void *)((const char *)first_ipu + stage * stride);
}

size_t pl_order_shape(const size_t *first_ipu, size_t stride, size_t num_stages, bool *is_v) {
    size_t count = 0; /* of the stages before an IPU comes again */
    for (bool is_new = true; is_new && count < num_stages; count += is_new)
        for (size_t i = 0; i < count; ++i)
            is_new = is_new && ipu_at(first_ipu, stride, i) != ipu_at(first_ipu, stride, count);
    bool goes_round = count > 0 && num_stages % count == 0;
    *is_v = count > 1 && num_stages == 2 * count;
    for (size_t i = 0; i < num_stages; ++i) {
        const size_t ipu = ipu_at(first_ipu, stride, i);
        goes_round = goes_round && ipu == ipu_at(first_ipu, stride, i % count);
        *is_v = *is_v && ipu == ipu_at(first_ipu, stride, num_stages - 1 - i);
    }
    return goes_round || *is_v ? count : 0;
}

pl_order pl_order_of_map(const popliner_pipeline *pipeline, const size_t *first_ipu, size_t stride,
                         size_t num_stages) {
    bool is_v = false;
    const size_t num_devices = pl_order_shape(first_ipu, stride, num_stages, &is_v);
    const pl_order none = {.pipeline = pipeline};
    return num_devices == 0 ? none
                            : pl_order_of(pipeline, num_devices, num_stages / num_devices, is_v);
}

/* True if the schedule has an order for several stages on each device. */
static bool has_chunks(const pl_order *order) {
    switch (order->pipeline->copies.rule) {
    case POPLINER_COPIES_1F1B:
    case POPLINER_COPIES_GPIPE:
    case POPLINER_COPIES_INTERLEAVED:
    case POPLINER_COPIES_ZERO_BUBBLE:
    case POPLINER_COPIES_V_HALF:
    case POPLINER_COPIES_V_MIN:
    case POPLINER_COPIES_DUALPIPE_V:
    case POPLINER_COPIES_ORDER:
        return true;
    case POPLINER_COPIES_OF_SCHEDULE:
        return order->pipeline->schedule == POPLINER_SCHEDULE_NONE ||
               order->pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    case POPLINER_COPIES_LIST:
    case POPLINER_COPIES_ZB_H2:
    case POPLINER_NUM_COPIES_RULES:
        break;
    }
    return false;
}

const char *pl_order_obstacle(const pl_order *order) {
    const popliner_copies_rule rule = order->pipeline->copies.rule;
    const popliner_order *given = order->pipeline->copies.order;
    if (rule == POPLINER_COPIES_ORDER)
        return given->num_ipus == order->num_devices &&
                       given->num_stages == order->num_devices * order->num_chunks &&
                       given->is_v == order->is_v &&
                       given->num_micro_batches == order->num_micro_batches
                   ? NULL
                   : "the file of the order is for other stages, devices or micro-batches";
    if (pl_copies_are_for_v(&order->pipeline->copies) && !order->is_v)
        return "this schedule is for two stages on each device, in a V";
    if (order->num_chunks == 1)
        return NULL;
    if (!has_chunks(order))
        return "this schedule is known for one stage on each device";
    if (order->is_v && (order->num_chunks != 2 || !(is_in_one_wave(order) || has_weights(order))))
        return "in a V only the schedules zero-bubble, v-half, v-min, dualpipev, gpipe and "
               "inference are known";
    if (rule == POPLINER_COPIES_DUALPIPE_V && order->num_micro_batches < 2 * order->num_devices)
        return "dualpipev needs two micro-batches for each device";
    return NULL;
}

const char *pl_order_name(const pl_order *order) {
    const popliner_copies_rule rule = order->pipeline->copies.rule;
    const popliner_schedule schedule = order->pipeline->schedule;
    const bool is_zero_bubble = rule == POPLINER_COPIES_ZERO_BUBBLE;
    return schedule == POPLINER_SCHEDULE_INFERENCE   ? "inference"
           : order->is_v && is_zero_bubble           ? "zero-bubble-v"
           : order->num_chunks > 1 && is_zero_bubble ? "interleaved-zero-bubble"
           : rule == POPLINER_COPIES_ORDER           ? "order"
           : order->num_chunks > 1 && !order->is_v && rule != POPLINER_COPIES_GPIPE ? "interleaved"
           : rule != POPLINER_COPIES_OF_SCHEDULE ? pl_copies_rule_name(rule)
           : schedule == POPLINER_SCHEDULE_NONE  ? "1f1b"
                                                 : pl_schedule_name(schedule);
}

size_t pl_order_device(const pl_order *order, size_t stage) {
    if (stage < order->num_devices)
        return stage;
    return order->is_v ? 2 * order->num_devices - 1 - stage : stage % order->num_devices;
}

/* Returns how many forward passes a device runs before forward and backward passes alternate;
 * SIZE_MAX if they never do. Not for a V. */
static size_t count_ahead(const pl_order *order, size_t device) {
    const size_t after = order->num_devices - 1 - device;
    const popliner_schedule schedule = order->pipeline->schedule;
    popliner_copies copies = order->pipeline->copies;
    copies.more = 0;
    if (copies.rule == POPLINER_COPIES_ORDER)
        return 0; /* it need not alternate at all */
    if (is_in_one_wave(order))
        return SIZE_MAX;
    if (order->num_chunks > 1 || copies.rule == POPLINER_COPIES_INTERLEAVED)
        return (has_weights(order) ? 1 : 2) * after + (order->num_chunks - 1) * order->round;
    if (copies.rule == POPLINER_COPIES_LIST)
        return popliner_copies_at(&copies, after + 1);
    if (copies.rule != POPLINER_COPIES_OF_SCHEDULE)
        return pl_more(pl_copies_late(&copies), 1) * after;
    return schedule == POPLINER_SCHEDULE_SEQUENTIAL ? 0
           : schedule == POPLINER_SCHEDULE_POPART || schedule == POPLINER_SCHEDULE_TF_GROUPED
               ? 2 * after
               : after;
}

/* Returns the micro-batches for which a V is made; those beyond the real ones are left out. */
static size_t micro_batches_of_v(const pl_order *order) {
    return pl_more(order->num_micro_batches, 2 * order->num_devices - 1);
}

/* ZBV of Qi et al., Pipeline Parallelism with Controllable Memory, 2024. */
static void set_zero_bubble_v(pl_phrase *phrases, const pl_order *order, size_t device) {
    const size_t after = order->num_devices - device; /* with this one */
    const pl_phrase all[] = {
        {2 * after - 1, "F0"}, {device, "F1F0"},
        {after, "F1B1W1"},     {micro_batches_of_v(order) - order->num_devices, "F0B0W0F1B1W1"},
        {device, "B0B1"},      {after, "B0W0"},
        {device, "W1"},        {device, "W0"},
    };
    static_assert(sizeof all <= PL_MAX_PHRASES * sizeof *all, "it has room");
    memcpy(phrases, all, sizeof all);
}

/* DualPipeV of DeepSeek (dualpipe/dualpipev.py of deepseek-ai/DualPipe). Weights follow in the
 * order of their backward passes, of which the last ones are of either chunk in turn. */
static void set_dualpipe_v(pl_phrase *phrases, const pl_order *order, size_t device) {
    const size_t after = order->num_devices - 1 - device;
    const size_t with = device + 1;
    const size_t mixed = pl_fewer(with, after);
    const pl_phrase all[] = {
        {2 * after, "F0"},
        {with, "F0F1"},
        {after, "B1W1F1"},
        {order->num_micro_batches - 2 * order->num_devices + with, "F0A1F1A0"},
        {after, "A1F1A0"},
        {with / 2, "A1A0"},
        {with % 2, "A1"},
        {with, "B~"},
        {mixed, "W~B0"},
        {after - mixed, "W0B0"},
        {with - mixed, "W~"},
        {mixed, "W0"},
    };
    static_assert(sizeof all == PL_MAX_PHRASES * sizeof *all, "one array");
    memcpy(phrases, all, sizeof all);
}

/* The steps of a block, all of one pass, after which that of the next micro-batch begins. */
enum { BLOCK_STEPS = 6 };

/* Finds the steps of the passes of a device's first micro-batch by kind and chunk. Qi et al., 2024:
 * each pass of a stage is some steps after that of the stage before, and the
 * backward ones wait where two would meet. Weights take the steps that are left. */
static void find_block(popliner_copies_rule rule, size_t num_devices, size_t device,
                       size_t steps[PL_NUM_PASS_KINDS][2]) {
    const bool is_half = rule == POPLINER_COPIES_V_HALF;
    const size_t down = is_half ? 2 : 1; /* steps from a stage of the way down to the next one */
    const size_t wait = is_half ? (num_devices % 2 == 0 ? 3 : 0) : (num_devices % 3 == 0 ? 2 : 0);
    const size_t back = down * (num_devices - 1) + num_devices + 1 + wait;
    bool is_taken[BLOCK_STEPS] = {false};
    steps[PL_PASS_FORWARD][0] = down * device;
    steps[PL_PASS_FORWARD][1] = down * (num_devices - 1) + num_devices - device;
    steps[PL_PASS_BACKWARD][1] = back + down * device;
    steps[PL_PASS_BACKWARD][0] = back + (down + 1) * num_devices - 1 - device;
    for (size_t i = 0; i < 4; ++i)
        is_taken[steps[i / 2][i % 2] % BLOCK_STEPS] = true;
    for (size_t chunk = 2; chunk-- > 0;) {
        size_t step = steps[PL_PASS_BACKWARD][chunk];
        while (is_taken[step % BLOCK_STEPS])
            ++step;
        is_taken[step % BLOCK_STEPS] = true;
        steps[PL_PASS_WEIGHTS][chunk] = step;
    }
}

/* All others: forward passes, both in turn, backward passes. With a pass for the weights (ZB-H1 and
 * ZB-H2 of Qi et al., Zero Bubble Pipeline Parallelism, 2023) that of a micro-batch runs some
 * backward passes later: as many as there are devices before, or twice as many. */
static void set_in_turn(pl_phrase *phrases, const pl_order *order, size_t device) {
    const size_t all = order->num_chunks * order->num_micro_batches;
    const size_t ahead = pl_fewer(count_ahead(order, device), all);
    const bool trains = order->pipeline->schedule != POPLINER_SCHEDULE_INFERENCE;
    const size_t each = pl_copies_late(&order->pipeline->copies);
    const size_t late = each > 0 ? pl_fewer(each * device, all) : all;
    const size_t late_in_turn = pl_fewer(late, all - ahead);
    const size_t late_after = trains ? pl_fewer(late - late_in_turn, ahead) : 0;
    *phrases++ = (pl_phrase){ahead, "F."};
    *phrases++ = (pl_phrase){late_in_turn, "F.B."};
    *phrases++ = (pl_phrase){all - ahead - late_in_turn, "F.B.W."};
    *phrases++ = (pl_phrase){late_after, "B."};
    *phrases++ = (pl_phrase){trains ? ahead - late_after : 0, "B.W."};
    *phrases++ = (pl_phrase){has_weights(order) ? late : 0, "W."};
}

pl_order_walk pl_order_begin(const pl_order *order, size_t device) {
    pl_order_walk walk = {.order = order, .device = device};
    assert(pl_order_obstacle(order) == NULL && device < order->num_devices);
    const popliner_copies_rule rule = order->pipeline->copies.rule;
    if (rule == POPLINER_COPIES_ORDER)
        walk.step = pl_given_order_of(&order->pipeline->copies)->first[device];
    else if (is_in_blocks(order))
        find_block(rule, order->num_devices, device, walk.steps);
    else if (rule == POPLINER_COPIES_DUALPIPE_V)
        set_dualpipe_v(walk.phrases, order, device);
    else if (order->is_v && !is_in_one_wave(order))
        set_zero_bubble_v(walk.phrases, order, device);
    else
        set_in_turn(walk.phrases, order, device);
    return walk;
}

/* Finds the chunk and the micro-batch of the pass with this number of its kind, where the chunks
 * take turns; backward the last one is the first. */
static size_t find_turn(const pl_order *order, pl_pass_kind kind, size_t number, size_t *micro) {
    *micro = number;
    if (order->num_chunks == 1) /* most are, and dividing takes long */
        return 0;
    const size_t turn = number % (order->round * order->num_chunks);
    const size_t begun = number / (order->round * order->num_chunks) * order->round;
    const size_t size = pl_fewer(order->round, order->num_micro_batches - begun);
    const size_t chunk = turn / size;
    *micro = begun + turn % size;
    return kind == PL_PASS_FORWARD ? chunk : order->num_chunks - 1 - chunk;
}

/* Goes to the next letters; NULL at the end. */
static const char *next_letters(pl_order_walk *walk) {
    while (walk->phrase < PL_MAX_PHRASES) {
        const pl_phrase *phrase = &walk->phrases[walk->phrase];
        if (walk->time < phrase->times && phrase->passes[walk->letter] != '\0') {
            walk->letter += 2;
            return &phrase->passes[walk->letter - 2];
        }
        walk->letter = 0;
        if (walk->time < phrase->times)
            walk->time++;
        if (walk->time >= phrase->times) {
            walk->time = 0;
            walk->phrase++;
        }
    }
    return NULL;
}

/* Finds the next pass of blocks that are repeated; false at the end. */
static bool find_in_blocks(pl_order_walk *walk, pl_pass *pass, size_t *chunk) {
    const size_t num_micro_batches = walk->order->num_micro_batches;
    /* the weights of either chunk are last */
    const size_t end = pl_more(walk->steps[PL_PASS_WEIGHTS][0], walk->steps[PL_PASS_WEIGHTS][1]) +
                       BLOCK_STEPS * (num_micro_batches - 1);
    for (; walk->step <= end; ++walk->step)
        for (size_t i = 0; i < (size_t)PL_NUM_PASS_KINDS * 2; ++i) {
            const size_t first = walk->steps[i / 2][i % 2];
            if (walk->step < first || (walk->step - first) % BLOCK_STEPS != 0 ||
                (walk->step - first) / BLOCK_STEPS >= num_micro_batches)
                continue;
            pass->kind = (pl_pass_kind)(i / 2);
            pass->micro_batch = (walk->step - first) / BLOCK_STEPS;
            pass->is_last = pass->kind == PL_PASS_WEIGHTS;
            *chunk = i % 2;
            ++walk->step;
            return true;
        }
    return false;
}

/* Finds the next pass of the phrases that is there; false at the end. */
static bool find_in_phrases(pl_order_walk *walk, pl_pass *pass, size_t *chunk) {
    const pl_order *order = walk->order;
    const char *letters = NULL;
    while ((letters = next_letters(walk)) != NULL) {
        pass->kind = letters[0] == 'F'   ? PL_PASS_FORWARD
                     : letters[0] == 'W' ? PL_PASS_WEIGHTS
                                         : PL_PASS_BACKWARD;
        pass->is_last =
            letters[0] == 'A' || letters[0] == 'W' || (letters[0] == 'B' && !has_weights(order));
        *chunk = letters[1] == '1';
        if (letters[1] == '~')
            *chunk = (walk->device + walk->num_by_parity[pass->kind]++) % 2;
        const size_t number = walk->done[pass->kind][*chunk]++;
        pass->micro_batch = number;
        if (letters[0] == 'A')
            ++walk->done[PL_PASS_WEIGHTS][*chunk];
        if (letters[1] == '.')
            *chunk = find_turn(order, pass->kind, number, &pass->micro_batch);
        if (pass->micro_batch < order->num_micro_batches)
            return true;
    }
    return false;
}

bool pl_order_next(pl_order_walk *walk, pl_pass *pass) {
    const pl_order *order = walk->order;
    size_t chunk = 0;
    if (order->pipeline->copies.rule == POPLINER_COPIES_ORDER) {
        const pl_given_order *given = pl_given_order_of(&order->pipeline->copies);
        const bool is_one = walk->step < given->first[walk->device + 1];
        if (is_one)
            *pass = given->passes[walk->step++].pass;
        return is_one;
    }
    if (!(is_in_blocks(order) ? find_in_blocks(walk, pass, &chunk)
                              : find_in_phrases(walk, pass, &chunk)))
        return false;
    pass->stage = order->is_v && chunk == 1 ? 2 * order->num_devices - 1 - walk->device
                                            : chunk * order->num_devices + walk->device;
    return true;
}

/* ---- all devices ---- */

typedef struct device {
    pl_order_walk walk;
    pl_pass next;
    bool has_next;
    bool is_waiting; /* in the list of those that may go on */
} device;

typedef struct devices {
    const pl_order *order;
    device *all;     /* [num_devices] */
    size_t *waiting; /* [num_devices] a stack */
    size_t num_waiting;
} devices;

static void wake(devices *d, size_t number) {
    if (!d->all[number].is_waiting)
        d->waiting[d->num_waiting++] = number;
    d->all[number].is_waiting = true;
}

/* Runs all passes of a device that can run by now. */
static void go_on(devices *d, size_t number, pl_order_function *run, void *user) {
    const size_t num_stages = d->order->num_devices * d->order->num_chunks;
    device *own = &d->all[number];
    own->is_waiting = false;
    for (; own->has_next && run(user, number, &own->next);
         own->has_next = pl_order_next(&own->walk, &own->next)) {
        if (own->next.kind == PL_PASS_FORWARD && own->next.stage + 1 < num_stages)
            wake(d, pl_order_device(d->order, own->next.stage + 1));
        if (own->next.kind == PL_PASS_BACKWARD && own->next.stage > 0)
            wake(d, pl_order_device(d->order, own->next.stage - 1));
    }
}

popliner_status pl_order_run(const pl_order *order, pl_order_function *run, void *user,
                             popliner_error *error) {
    pl_arrays own = {0};
    devices d = {.order = order};
    d.all = pl_arrays_new(&own, order->num_devices, sizeof *d.all);
    d.waiting = pl_arrays_new(&own, order->num_devices, sizeof *d.waiting);
    const popliner_status status =
        own.failed ? pl_fail_memory(error, "an order of passes") : POPLINER_OK;
    for (size_t i = status == POPLINER_OK ? order->num_devices : 0; i-- > 0;) {
        d.all[i].walk = pl_order_begin(order, i);
        d.all[i].has_next = pl_order_next(&d.all[i].walk, &d.all[i].next);
        wake(&d, i);
    }
    while (d.num_waiting > 0)
        go_on(&d, d.waiting[--d.num_waiting], run, user);
    pl_arrays_free(&own);
    return status;
}
