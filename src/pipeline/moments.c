/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/order.h"
#include "pipeline/pipeline.h"

void pl_moments_free(pl_moments *moments) {
    free(moments->first);
    free(moments->numbers);
    *moments = (pl_moments){0};
}

static uint32_t *moment_at(const pl_moments *m, size_t i) {
    return m->numbers + i * (m->num_chunks + 1);
}

/* True if moment `a` holds as much as `b` or more. */
static bool covers(const pl_moments *m, const uint32_t *a, const uint32_t *b) {
    bool is_so = a[m->num_chunks] == b[m->num_chunks];
    for (size_t chunk = 0; is_so && chunk < m->num_chunks; ++chunk)
        is_so = a[chunk] >= b[chunk];
    return is_so;
}

/* Adds a moment to those from `first` to *end, unless one of them covers it. False if memory is
 * short. */
static bool add(pl_moments *m, size_t first, size_t *end, const uint32_t *moment) {
    const size_t size = (m->num_chunks + 1) * sizeof *moment;
    for (size_t i = *end; i > first; --i) /* the last ones are the likeliest */
        if (covers(m, moment_at(m, i - 1), moment))
            return true;
    size_t kept = first;
    for (size_t i = first; i < *end; ++i)
        if (!covers(m, moment, moment_at(m, i)))
            memmove(moment_at(m, kept++), moment_at(m, i), size);
    if (kept == m->capacity) {
        const size_t capacity = 2 * m->capacity + 16;
        uint32_t *grown = realloc(m->numbers, capacity * size);
        if (grown == NULL)
            return false;
        m->numbers = grown;
        m->capacity = capacity;
    }
    memcpy(moment_at(m, kept), moment, size);
    *end = kept + 1;
    return true;
}

static size_t count_held(const pl_moments *m, const uint32_t *moment) {
    size_t count = 0;
    for (size_t chunk = 0; chunk < m->num_chunks; ++chunk)
        count += moment[chunk];
    return count;
}

/* Puts the moment with most micro-batches first. */
static void put_largest_first(pl_moments *m, size_t first, size_t end, uint32_t *scratch) {
    size_t largest = first;
    const size_t size = (m->num_chunks + 1) * sizeof *scratch;
    for (size_t i = first; i < end; ++i)
        if (count_held(m, moment_at(m, i)) > count_held(m, moment_at(m, largest)))
            largest = i;
    memcpy(scratch, moment_at(m, largest), size);
    memcpy(moment_at(m, largest), moment_at(m, first), size);
    memcpy(moment_at(m, first), scratch, size);
}

/* Walks through the passes of an IPU. Most is held before something is freed; `now` has room for a
 * moment. */
static bool walk(pl_moments *m, const pl_order *order, size_t device, pl_pass_kind last,
                 uint32_t *now) {
    pl_order_walk passes = pl_order_begin(order, device);
    const size_t first = m->first[device];
    size_t end = first;
    bool has_room = true;
    bool has_grown = false;
    memset(now, 0, (m->num_chunks + 1) * sizeof *now);
    for (pl_pass pass; has_room && pl_order_next(&passes, &pass);) {
        const size_t chunk = pl_moments_chunk(m, m->num_devices * m->num_chunks - pass.stage);
        const bool is_forward = pass.kind == PL_PASS_FORWARD;
        if (has_grown && !is_forward && !m->has_running)
            has_room = add(m, first, &end, now);
        has_grown = is_forward;
        now[chunk] += is_forward;
        if (m->has_running) {
            now[m->num_chunks] = (uint32_t)chunk;
            has_room = add(m, first, &end, now);
        }
        now[chunk] -= pass.kind == last;
    }
    if (has_room && has_grown)
        has_room = add(m, first, &end, now);
    if (has_room)
        put_largest_first(m, first, end, now);
    m->first[device + 1] = end;
    return has_room;
}

bool pl_moments_create(pl_moments *m, const popliner_pipeline *pipeline) {
    enum { MOST_PASSES = 1 << 24, ROUNDS = 4 };
    const popliner_copies *copies = &pipeline->copies;
    *m = (pl_moments){.num_devices = copies->num_ipus, .is_v = copies->is_v};
    if (!pl_copies_take_turns(copies) || copies->num_stages <= copies->num_ipus)
        return true;
    m->num_chunks = copies->num_stages / copies->num_ipus;
    m->has_running =
        pipeline->recompute == POPLINER_RECOMPUTE_FULL && !pl_pipeline_holds_recomputed(pipeline);
    popliner_pipeline own = *pipeline;
    if (own.copies.num_micro_batches == 0)
        own.copies.num_micro_batches = ROUNDS * m->num_devices;
    pl_order order = pl_order_of(&own, m->num_devices, m->num_chunks, m->is_v);
    if (pl_order_obstacle(&order) != NULL)
        return true;
    const size_t round = m->is_v ? 2 * m->num_devices : order.round;
    order.num_micro_batches = pl_fewer(order.num_micro_batches, ROUNDS * round);
    if (order.num_micro_batches > MOST_PASSES / PL_NUM_PASS_KINDS / copies->num_stages)
        return true;
    m->first = pl_new_array(m->num_devices + 1, sizeof *m->first);
    uint32_t *now = pl_new_array(m->num_chunks + 1, sizeof *now);
    bool has_room = m->first != NULL && now != NULL;
    const pl_pass_kind last =
        copies->rule == POPLINER_COPIES_ZERO_BUBBLE ? PL_PASS_WEIGHTS : PL_PASS_BACKWARD;
    for (size_t device = 0; has_room && device < m->num_devices; ++device)
        has_room = walk(m, &order, device, last, now);
    free(now);
    return has_room;
}

const uint32_t *pl_moments_of(const pl_moments *m, size_t stages_to_end, size_t *count) {
    *count = 0;
    if (m->first == NULL)
        return NULL;
    const size_t stage = m->num_devices * m->num_chunks - stages_to_end;
    const size_t device = m->is_v ? pl_fewer(stage, stages_to_end - 1) : stage % m->num_devices;
    *count = m->first[device + 1] - m->first[device];
    return moment_at(m, m->first[device]);
}

size_t pl_moments_chunk(const pl_moments *m, size_t stages_to_end) {
    return (m->num_devices * m->num_chunks - stages_to_end) / m->num_devices;
}
