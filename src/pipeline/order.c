/* Schedules as phrases of passes: a new one is a list of them, with its obstacles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/order.h"

#include <assert.h>
#include <string.h>

#include "base/numbers.h"
#include "pipeline/pipeline.h"

static bool is_zero_bubble(const pl_order *order) {
    return order->pipeline->copies.rule == POPLINER_COPIES_ZERO_BUBBLE;
}

/* True if all forward passes come before any other. */
static bool is_in_one_wave(const pl_order *order) {
    return order->pipeline->schedule == POPLINER_SCHEDULE_INFERENCE ||
           order->pipeline->copies.rule == POPLINER_COPIES_GPIPE;
}

pl_order pl_order_of(const popliner_pipeline *pipeline, size_t num_devices, size_t num_chunks,
                     bool is_v) {
    const size_t num_micro_batches = pipeline->copies.num_micro_batches;
    pl_order order = {pipeline,          num_devices, num_chunks,
                      num_micro_batches, 0,           is_v && num_chunks > 1};
    if (is_in_one_wave(&order))
        order.round = order.is_v ? num_micro_batches : num_devices;
    else
        order.round = pl_copies_round(num_devices, num_micro_batches);
    return order;
}

/* True if the schedule has an order for several stages on each device. */
static bool has_chunks(const pl_order *order) {
    switch (order->pipeline->copies.rule) {
    case POPLINER_COPIES_1F1B:
    case POPLINER_COPIES_GPIPE:
    case POPLINER_COPIES_INTERLEAVED:
    case POPLINER_COPIES_ZERO_BUBBLE:
        return true;
    case POPLINER_COPIES_OF_SCHEDULE:
        return order->pipeline->schedule == POPLINER_SCHEDULE_NONE ||
               order->pipeline->schedule == POPLINER_SCHEDULE_INFERENCE;
    case POPLINER_COPIES_LIST:
    case POPLINER_NUM_COPIES_RULES:
        break;
    }
    return false;
}

const char *pl_order_obstacle(const pl_order *order) {
    if (order->num_chunks == 1)
        return NULL;
    if (!has_chunks(order))
        return "this schedule is known for one stage on each device";
    if (order->is_v &&
        (order->num_chunks != 2 || !(is_in_one_wave(order) || is_zero_bubble(order))))
        return "in a V only the schedules zero-bubble, gpipe and inference are known";
    if (!order->is_v && !is_in_one_wave(order) && order->num_micro_batches % order->round != 0)
        return "interleaved stages need micro-batches that can be divided into equal rounds of at "
               "least as many as there are devices";
    return NULL;
}

const char *pl_order_name(const pl_order *order) {
    const popliner_copies_rule rule = order->pipeline->copies.rule;
    const popliner_schedule schedule = order->pipeline->schedule;
    return schedule == POPLINER_SCHEDULE_INFERENCE          ? "inference"
           : rule == POPLINER_COPIES_GPIPE                  ? "gpipe"
           : order->is_v                                    ? "zero-bubble-v"
           : order->num_chunks > 1 && is_zero_bubble(order) ? "interleaved-zero-bubble"
           : order->num_chunks > 1                          ? "interleaved"
           : rule != POPLINER_COPIES_OF_SCHEDULE            ? pl_copies_rule_name(rule)
           : schedule == POPLINER_SCHEDULE_NONE             ? "1f1b"
                                                            : pl_schedule_name(schedule);
}

size_t pl_order_device(const pl_order *order, size_t stage) {
    if (stage < order->num_devices)
        return stage;
    return order->is_v ? 2 * order->num_devices - 1 - stage : stage % order->num_devices;
}

size_t pl_order_ahead(const pl_order *order, size_t device) {
    const size_t after = order->num_devices - 1 - device;
    const popliner_schedule schedule = order->pipeline->schedule;
    popliner_copies copies = order->pipeline->copies;
    copies.more = 0;
    if (is_in_one_wave(order))
        return SIZE_MAX;
    if (order->num_chunks > 1)
        return (is_zero_bubble(order) ? 1 : 2) * after + (order->num_chunks - 1) * order->round;
    if (copies.rule == POPLINER_COPIES_LIST)
        return popliner_copies_at(&copies, after + 1);
    if (copies.rule != POPLINER_COPIES_OF_SCHEDULE)
        return after;
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
    static_assert(sizeof all == PL_MAX_PHRASES * sizeof *all, "one array");
    memcpy(phrases, all, sizeof all);
}

/* All others: forward passes, both in turn, backward passes. With a pass for the weights (ZB-H1 of
 * Qi et al., Zero Bubble Pipeline Parallelism, 2023) that of a micro-batch runs `device` backward
 * passes later. */
static void set_in_turn(pl_phrase *phrases, const pl_order *order, size_t device) {
    const size_t all = order->num_chunks * order->num_micro_batches;
    const size_t ahead = pl_fewer(pl_order_ahead(order, device), all);
    const bool trains = order->pipeline->schedule != POPLINER_SCHEDULE_INFERENCE;
    const size_t late = is_zero_bubble(order) ? pl_fewer(device, all) : all;
    const size_t late_in_turn = pl_fewer(late, all - ahead);
    const size_t late_after = trains ? pl_fewer(late - late_in_turn, ahead) : 0;
    *phrases++ = (pl_phrase){ahead, "F."};
    *phrases++ = (pl_phrase){late_in_turn, "F.B."};
    *phrases++ = (pl_phrase){all - ahead - late_in_turn, "F.B.W."};
    *phrases++ = (pl_phrase){late_after, "B."};
    *phrases++ = (pl_phrase){trains ? ahead - late_after : 0, "B.W."};
    *phrases++ = (pl_phrase){is_zero_bubble(order) ? late : 0, "W."};
}

pl_order_walk pl_order_begin(const pl_order *order, size_t device) {
    pl_order_walk walk = {.order = order, .device = device};
    assert(pl_order_obstacle(order) == NULL && device < order->num_devices);
    if (order->is_v && !is_in_one_wave(order))
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
    const size_t first = number / (order->round * order->num_chunks) * order->round;
    const size_t size = pl_fewer(order->num_micro_batches - first, order->round);
    const size_t chunk = turn / size;
    *micro = first + turn % size;
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

bool pl_order_next(pl_order_walk *walk, pl_pass *pass) {
    const pl_order *order = walk->order;
    const char *letters = NULL;
    while ((letters = next_letters(walk)) != NULL) {
        pass->kind = letters[0] == 'F'   ? PL_PASS_FORWARD
                     : letters[0] == 'B' ? PL_PASS_BACKWARD
                                         : PL_PASS_WEIGHTS;
        size_t chunk = letters[1] == '1';
        size_t *done = &walk->done[pass->kind][chunk];
        const size_t number = (*done)++;
        pass->micro_batch = number;
        if (letters[1] == '.')
            chunk = find_turn(order, pass->kind, number, &pass->micro_batch);
        pass->stage = order->is_v && chunk == 1 ? 2 * order->num_devices - 1 - walk->device
                                                : chunk * order->num_devices + walk->device;
        if (pass->micro_batch < order->num_micro_batches)
            return true;
    }
    return false;
}
