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
    free(moments->held);
    *moments = (pl_moments){0};
}

static pl_held *moment_at(const pl_moments *m, size_t i) {
    return m->held + i * m->num_chunks;
}

/* True if moment `a` holds as much as `b` or more. */
static bool covers(const pl_moments *m, const pl_held *a, const pl_held *b) {
    size_t chunk = 0;
    while (chunk < m->num_chunks && a[chunk].kept >= b[chunk].kept &&
           a[chunk].sets >= b[chunk].sets)
        ++chunk;
    return chunk == m->num_chunks;
}

/* Adds a moment to those from `first` to *end, unless one of them covers it. False if memory is
 * short. */
static bool add(pl_moments *m, size_t first, size_t *end, const pl_held *moment) {
    const size_t size = m->num_chunks * sizeof *moment;
    for (size_t i = *end; i > first; --i) /* the last ones are the likeliest */
        if (covers(m, moment_at(m, i - 1), moment))
            return true;
    size_t kept = first;
    for (size_t i = first; i < *end; ++i)
        if (!covers(m, moment, moment_at(m, i)))
            memmove(moment_at(m, kept++), moment_at(m, i), size);
    if (kept == m->capacity) {
        const size_t capacity = 2 * m->capacity + 16;
        pl_held *grown = realloc(m->held, capacity * size);
        if (grown == NULL)
            return false;
        m->held = grown;
        m->capacity = capacity;
    }
    memcpy(moment_at(m, kept), moment, size);
    *end = kept + 1;
    return true;
}

/* Returns the sets, then the micro-batches of a moment, as one number. */
static uint64_t size_of(const pl_moments *m, const pl_held *moment) {
    uint64_t size = 0;
    for (size_t chunk = 0; chunk < m->num_chunks; ++chunk)
        size += ((uint64_t)moment[chunk].sets << 32) + moment[chunk].kept;
    return size;
}

static void put_largest_first(pl_moments *m, size_t first, size_t end, pl_held *scratch) {
    size_t largest = first;
    const size_t size = m->num_chunks * sizeof *scratch;
    for (size_t i = first; i < end; ++i)
        if (size_of(m, moment_at(m, i)) > size_of(m, moment_at(m, largest)))
            largest = i;
    memcpy(scratch, moment_at(m, largest), size);
    memcpy(moment_at(m, largest), moment_at(m, first), size);
    memcpy(moment_at(m, first), scratch, size);
}

/* Walks through the passes of an IPU. Most is held before something is freed; but where stages
 * recompute, each pass has a set of its own. `now` has room for a moment. */
static bool walk(pl_moments *m, const pl_order *order, size_t device, bool recomputes,
                 pl_held *now) {
    pl_order_walk passes = pl_order_begin(order, device);
    const size_t first = m->first[device];
    size_t end = first;
    bool has_room = true;
    bool has_grown = false;
    memset(now, 0, m->num_chunks * sizeof *now);
    for (pl_pass pass; has_room && pl_order_next(&passes, &pass);) {
        pl_held *own = &now[pl_moments_chunk(m, m->num_devices * m->num_chunks - pass.stage)];
        const bool is_forward = pass.kind == PL_PASS_FORWARD;
        if (!recomputes) {
            if (has_grown && !is_forward)
                has_room = add(m, first, &end, now);
            has_grown = is_forward;
            own->kept += is_forward;
            own->kept -= pass.is_last;
            continue;
        }
        own->kept -= pass.kind == PL_PASS_BACKWARD;
        own->sets += pass.kind != PL_PASS_WEIGHTS;
        has_room = add(m, first, &end, now);
        own->sets -= is_forward || pass.is_last;
        own->kept += is_forward;
    }
    if (has_room) /* the last pass is no forward one: nothing has grown since */
        put_largest_first(m, first, end, now);
    m->first[device + 1] = end;
    return has_room;
}

static size_t device_of(const pl_moments *m, size_t stages_to_end) {
    const size_t stage = m->num_devices * m->num_chunks - stages_to_end;
    return m->is_v ? pl_fewer(stage, stages_to_end - 1) : stage % m->num_devices;
}

bool pl_moments_create(pl_moments *m, const popliner_pipeline *pipeline, size_t stages_to_end) {
    enum { MOST_PASSES = 1 << 24 };
    const popliner_copies *copies = &pipeline->copies;
    *m = (pl_moments){.num_devices = copies->num_ipus, .is_v = copies->is_v};
    if (!pl_copies_take_turns(copies) || copies->num_stages <= copies->num_ipus)
        return true;
    m->num_chunks = copies->num_stages / copies->num_ipus;
    const pl_order order = pl_order_of_copies(pipeline);
    if (pl_order_obstacle(&order) != NULL ||
        order.num_micro_batches > MOST_PASSES / PL_NUM_PASS_KINDS / copies->num_stages)
        return true;
    m->first = pl_new_array(m->num_devices + 1, sizeof *m->first);
    pl_held *now = pl_new_array(m->num_chunks, sizeof *now);
    bool has_room = m->first != NULL && now != NULL;
    const bool recomputes = pipeline->recompute == POPLINER_RECOMPUTE_FULL ||
                            pipeline->recompute == POPLINER_RECOMPUTE_AUTO;
    for (size_t device = 0; has_room && device < m->num_devices; ++device)
        if (stages_to_end == 0 || device == device_of(m, stages_to_end))
            has_room = walk(m, &order, device, recomputes, now);
        else
            m->first[device + 1] = m->first[device];
    free(now);
    return has_room;
}

const pl_held *pl_moments_of(const pl_moments *m, size_t stages_to_end, size_t *count) {
    *count = 0;
    if (m->first == NULL || stages_to_end > m->num_devices * m->num_chunks)
        return NULL;
    const size_t device = device_of(m, stages_to_end);
    *count = m->first[device + 1] - m->first[device];
    return moment_at(m, m->first[device]);
}

size_t pl_moments_chunk(const pl_moments *m, size_t stages_to_end) {
    return (m->num_devices * m->num_chunks - stages_to_end) / m->num_devices;
}
