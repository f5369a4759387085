/* The memory of several stages on one IPU.
 *
 * A variable, or code, counts if the stages have one of the units that count it, whichever stage
 * has it. So all variables of a tile with one set of units are one sum, and so are those that are
 * live in the same segments of its steps (see tile_meter.c). A tile has millions of variables, but
 * few sets and segments.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/stage.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "memory/stage_meter.h"
#include "memory/tile_meter.h"
#include "pipeline/pipeline.h"
#include "profile/profile_data.h"

/* The lists of a tile, one after another. */
enum {
    SUMS,     /* of `what`, in stages that have a unit of the set `at` */
    CHANGES,  /* at the segment `what`, in such stages: the ends of pl_live_parts */
    SEGMENTS, /* of the unit `at`: the base, of which `what` bytes are touched by no operation */
    STASH,    /* of stages that begin at `at` or later and have the unit `what` */
    UNITS,    /* OWN_STASH, APART, SENT_FORWARD or SENT_BACKWARD of the unit `at` */
    NUM_LISTS
};
enum { OWN_STASH, APART, SENT_FORWARD, SENT_BACKWARD };

typedef struct item {
    uint32_t at;
    uint32_t what;
    uint64_t bytes;
} item;

typedef struct tile_lists {
    size_t worker;
    size_t end[NUM_LISTS]; /* in the items of the worker; a list begins where the last one ends */
    size_t begin;
    size_t turn_segment;
} tile_lists;

/* One thread. */
typedef struct worker {
    pl_tile_meter meter;
    bool has_begun;
    item *items;
    size_t count;
    size_t capacity;
} worker;

struct pl_ipu_tiles {
    pl_interval_options options;
    bool keeps;
    pl_interval_inputs inputs;
    pl_arrays arrays; /* own the arrays below; their items are owned by each worker */
    worker *workers;
    size_t num_workers;
    tile_lists *tiles;      /* [tiles] */
    uint8_t *has_unit;      /* [units]: the stages have it */
    uint8_t *has_set;       /* [pl_tile_set]: they have a unit of the set */
    uint64_t *change_bytes; /* [steps + 1]: all 0 between tiles */
};

/* ---- Finding the sums ---- */

static bool append(worker *w, size_t at, size_t what, uint64_t bytes) {
    if (!pl_grow(&w->items, &w->capacity, w->count + 1, sizeof *w->items))
        return false;
    w->items[w->count++] = (item){(uint32_t)at, (uint32_t)what, bytes};
    return true;
}

static bool append_parts(worker *w, tile_lists *lists) {
    const pl_tile_meter *m = &w->meter;
    bool memory = true;
    for (size_t i = 0; memory && i < m->set_sums.count; i++) {
        const pl_live_part *sum = &m->set_sums.parts[i];
        memory = append(w, sum->set, sum->first_step, sum->bytes);
    }
    lists->end[SUMS] = w->count;
    for (size_t i = 0; memory && i < m->parts.count; i++) {
        const pl_live_part *part = &m->parts.parts[i];
        memory = append(w, part->set, m->segment_of_step[part->first_step], part->bytes) &&
                 append(w, part->set, m->segment_of_step[part->end_step], 0 - part->bytes);
    }
    lists->end[CHANGES] = w->count;
    return memory;
}

static bool append_segments(worker *w, tile_lists *lists) {
    const pl_tile_meter *m = &w->meter;
    const pl_interval_inputs *in = m->inputs;
    const size_t num_segments = m->segment_of_step[in->profile->num_steps];
    bool memory = true;
    for (size_t i = 0; memory && i < num_segments; i++) {
        const uint32_t step = m->segment_step[i];
        memory = append(w, in->unit_run[in->run_of_step[step]].unit, 0, m->segment_bytes[i]);
        if (memory && m->has_unexplained) /* a tile has less than 2^32 bytes */
            w->items[w->count - 1].what = (uint32_t)m->unexplained_bytes[step];
    }
    lists->end[SEGMENTS] = w->count;
    const size_t turn = in->pass_usage->passes.turn_step;
    lists->turn_segment = turn <= in->profile->num_steps ? m->segment_of_step[turn] : num_segments;
    return memory;
}

static bool append_kept(worker *w, tile_lists *lists) {
    const pl_tile_meter *m = &w->meter;
    const size_t num_units = m->inputs->chain->num_units;
    const uint64_t *stash = m->arriving_bytes[PL_SUM_STASH];
    bool memory = true;
    for (size_t i = 0; memory && m->inputs->keeps && i < num_units * num_units; i++)
        memory = stash[i] == 0 || append(w, i / num_units, i % num_units, stash[i]);
    lists->end[STASH] = w->count;
    for (size_t unit = 0; memory && unit < num_units; unit++) {
        if (m->unit_stash_bytes != NULL)
            memory = append(w, unit, OWN_STASH, m->unit_stash_bytes[unit]);
        if (memory && m->unit_apart_bytes[unit] > 0)
            memory = append(w, unit, APART, m->unit_apart_bytes[unit]);
        if (memory && m->sent_forward != NULL && unit + 1 < num_units)
            memory = append(w, unit, SENT_FORWARD, m->sent_forward[unit + 1]) &&
                     append(w, unit, SENT_BACKWARD, m->sent_backward[unit + 1]);
    }
    lists->end[UNITS] = w->count;
    return memory;
}

static bool find_tile(void *user, size_t number, size_t tile) {
    pl_ipu_tiles *t = user;
    worker *w = &t->workers[number];
    tile_lists *lists = &t->tiles[tile];
    const bool has_begun = w->has_begun || pl_tile_meter_begin(&w->meter, &t->inputs, false);
    w->has_begun = true;
    w->meter.is_by_set = true;
    lists->worker = number;
    lists->begin = w->count;
    return has_begun && pl_tile_arrivals_find(&w->meter, tile) && append_parts(w, lists) &&
           append_segments(w, lists) && append_kept(w, lists);
}

/* True if a stage of the pipeline stores copies: with few micro-batches none may, by any rule. */
static bool stores(const pl_interval_inputs *inputs, const popliner_pipeline *pipeline) {
    return pl_pipeline_copies_for(pipeline, POPLINER_NEED_MOST, inputs->chain->num_units) > 0;
}

popliner_status pl_ipu_tiles_create(pl_stage_meter *meter, const popliner_pipeline *pipeline,
                                    size_t num_threads, pl_ipu_tiles **tiles,
                                    popliner_error *error) {
    const popliner_profile *p = meter->profile;
    const size_t num_tiles = p->target.num_tiles;
    *tiles = NULL;
    pl_ipu_tiles *t = calloc(1, sizeof *t);
    if (t == NULL)
        return pl_fail_memory(error, "stages on one IPU");
    t->options = (pl_interval_options){.pipeline = *pipeline, .meter = meter};
    t->inputs = (pl_interval_inputs){.chain = meter->chain, .options = &t->options};
    t->keeps = stores(&t->inputs, pipeline);
    bool made = pl_interval_inputs_find(&t->inputs, SIZE_MAX, true);
    const pl_unit_sets *last = made ? &t->inputs.pass_usage->usage.sets : NULL;
    t->num_workers = num_threads > 0 ? num_threads : pl_machine_processors();
    t->workers = pl_arrays_new(&t->arrays, t->num_workers, sizeof *t->workers);
    t->tiles = pl_arrays_new(&t->arrays, num_tiles, sizeof *t->tiles);
    t->has_unit = pl_arrays_new(&t->arrays, meter->chain->num_units, 1);
    if (last != NULL)
        t->has_set =
            pl_arrays_new(&t->arrays, pl_tile_set(&t->inputs, last, (uint32_t)last->count), 1);
    t->change_bytes = pl_arrays_new(&t->arrays, p->num_steps + 1, sizeof *t->change_bytes);
    const pl_parallel tasks = {t->num_workers, num_tiles, find_tile, NULL, t, NULL};
    made = made && !t->arrays.failed && pl_parallel_run(&tasks) == num_tiles;
    for (size_t i = 0; t->workers != NULL && i < t->num_workers; i++)
        pl_tile_meter_free(&t->workers[i].meter);
    if (made)
        *tiles = t;
    else
        pl_ipu_tiles_free(t);
    return made ? POPLINER_OK : pl_fail_memory(error, "stages on one IPU");
}

void pl_ipu_tiles_free(pl_ipu_tiles *t) {
    if (t == NULL)
        return;
    for (size_t i = 0; t->workers != NULL && i < t->num_workers; i++)
        free(t->workers[i].items);
    pl_interval_inputs_free(&t->inputs);
    pl_arrays_free(&t->arrays);
    free(t);
}

bool pl_ipu_tiles_serve(const pl_ipu_tiles *t, const popliner_pipeline *pipeline) {
    const popliner_pipeline *own = &t->options.pipeline;
    return own->schedule == pipeline->schedule && own->recompute == pipeline->recompute &&
           pl_pipeline_stored(own) == pl_pipeline_stored(pipeline) &&
           own->effects == pipeline->effects && own->accumulators == pipeline->accumulators &&
           pl_pipeline_kind(own) == pl_pipeline_kind(pipeline) &&
           t->keeps == stores(&t->inputs, pipeline);
}

/* ---- Adding them up ---- */

/* Stages on one IPU. */
typedef struct ipu {
    const pl_ipu_tiles *tiles;
    const popliner_pipeline *pipeline;
    const popliner_interval *stages;
    size_t num_stages;
    popliner_need need;
    pl_need_rule rule;
    bool has_buffers;
} ipu;

/* The items of a tile. */
typedef struct lists {
    const item *begin[NUM_LISTS + 1];
} lists;

static void mark_sets(pl_ipu_tiles *t, const pl_unit_sets *sets) {
    uint8_t *has = t->has_set + pl_tile_set(&t->inputs, sets, 0);
    const size_t num_units = t->inputs.chain->num_units;
    /* the rest of a set was made before the set */
    for (uint32_t set = 1; set < sets->count; set++) {
        const uint32_t unit = sets->last_unit[set];
        has[set] = has[sets->rest[set]] | (unit < num_units ? t->has_unit[unit] : 0);
    }
}

/* Adds up the stash of the stages, and what of it is not live itself. */
static uint64_t add_stash(const ipu *q, const lists *l, uint64_t *freed_bytes) {
    uint64_t copy_bytes = 0;
    for (size_t i = 0; l->begin[STASH] < l->begin[UNITS] && i < q->num_stages; i++) {
        const popliner_interval *s = &q->stages[i];
        uint64_t stash_bytes = 0;
        uint64_t unit_bytes = 0;
        for (const item *it = l->begin[STASH]; it < l->begin[UNITS]; it++)
            if (it->at <= s->first_unit && it->what >= s->first_unit && it->what <= s->last_unit)
                stash_bytes += it->bytes;
        for (const item *it = l->begin[UNITS]; it < l->begin[NUM_LISTS]; it++)
            if (it->what == OWN_STASH && it->at >= s->first_unit && it->at <= s->last_unit &&
                it->bytes > unit_bytes)
                unit_bytes = it->bytes;
        const size_t copies = pl_pipeline_copies_for(q->pipeline, q->need, s->stages_to_end);
        copy_bytes += (q->num_stages == 1 ? 1 : copies) * stash_bytes;
        if (q->tiles->inputs.frees[q->need] && copies > 0)
            *freed_bytes += stash_bytes > unit_bytes ? stash_bytes - unit_bytes : 0;
    }
    return copy_bytes;
}

/* Adds up what the stages send over the cuts after them. */
static void add_sent(const ipu *q, const lists *l, uint64_t sent_bytes[SENT_BACKWARD + 1]) {
    for (const item *it = l->begin[UNITS]; q->has_buffers && it < l->begin[NUM_LISTS]; it++)
        for (size_t i = 0; i < q->num_stages; i++)
            sent_bytes[it->what] += q->stages[i].last_unit == it->at ? it->bytes : 0;
}

/* Returns the largest sum of live bytes and buffers at a step of the stages; for NEED_LEAST without
 * what no operation touches. */
static uint64_t find_live(const ipu *q, const lists *l, size_t turn_segment) {
    const pl_ipu_tiles *t = q->tiles;
    uint64_t sent_bytes[SENT_BACKWARD + 1] = {0};
    uint64_t arrived_bytes = 0;
    uint64_t most_bytes = 0;
    uint64_t unexplained_bytes = 0;
    const size_t num_segments = (size_t)(l->begin[STASH] - l->begin[SEGMENTS]);
    add_sent(q, l, sent_bytes);
    for (const item *it = l->begin[CHANGES]; it < l->begin[SEGMENTS]; it++)
        t->change_bytes[it->what] += t->has_set[it->at] != 0 ? it->bytes : 0;
    for (size_t i = 0; i < num_segments; i++) {
        const item *segment = &l->begin[SEGMENTS][i];
        arrived_bytes += t->change_bytes[i];
        t->change_bytes[i] = 0;
        uint64_t bytes = segment->bytes + arrived_bytes +
                         sent_bytes[i < turn_segment ? SENT_BACKWARD : SENT_FORWARD];
        if (t->has_unit[segment->at] == 0 || bytes <= most_bytes)
            continue;
        most_bytes = bytes;
        unexplained_bytes = segment->what;
    }
    t->change_bytes[num_segments] = 0;
    return most_bytes - (q->need == POPLINER_NEED_LEAST ? unexplained_bytes : 0);
}

/* Returns the largest variable of the stages that lies apart. */
static uint64_t find_apart(const ipu *q, const lists *l) {
    uint64_t apart_bytes = 0;
    for (const item *it = l->begin[UNITS]; it < l->begin[NUM_LISTS]; it++)
        if (it->what == APART && q->tiles->has_unit[it->at] != 0)
            apart_bytes = pl_larger(apart_bytes, it->bytes);
    return apart_bytes;
}

/* Returns the need of a tile. */
static pl_need_line find_need(const ipu *q, size_t tile) {
    const pl_ipu_tiles *t = q->tiles;
    const tile_lists *known = &t->tiles[tile];
    const item *items = t->workers[known->worker].items;
    const pl_account *account = t->inputs.account;
    uint64_t sum_bytes[PL_NUM_SUMS] = {0};
    lists l = {{items + known->begin}};
    for (int list = 0; list < NUM_LISTS; list++)
        l.begin[list + 1] = items + known->end[list];
    for (const item *it = l.begin[SUMS]; it < l.begin[CHANGES]; it++)
        sum_bytes[it->what] += t->has_set[it->at] != 0 ? it->bytes : 0;
    const pl_steady_bytes steady = pl_steady_bytes_of(account, tile, sum_bytes, find_apart(q, &l));
    pl_placed_bytes placed = steady.placed;
    const uint64_t bytes = find_live(q, &l, known->turn_segment) + pl_steady_sum(&steady, q->need);
    const uint64_t copy_bytes = add_stash(q, &l, &placed.freed);
    const pl_overhead layout = pl_account_overhead(account, tile);
    return pl_need_of(&q->rule, q->need, &layout, bytes, placed, copy_bytes);
}

uint64_t pl_ipu_tiles_peak(pl_ipu_tiles *t, const popliner_pipeline *pipeline, popliner_need need,
                           const popliner_interval *stages, size_t num_stages) {
    const pl_interval_inputs *in = &t->inputs;
    ipu q = {t,
             pipeline,
             stages,
             num_stages,
             need,
             in->rule,
             need == POPLINER_NEED_MOST || (need == POPLINER_NEED_EXPECTED &&
                                            (pipeline->effects & POPLINER_EFFECT_BUFFERS) != 0)};
    q.rule.scales = pl_stage_scales(in->chain, pipeline, stages, num_stages);
    memset(t->has_unit, 0, in->chain->num_units);
    for (size_t i = 0; i < num_stages; i++)
        memset(t->has_unit + stages[i].first_unit, 1,
               stages[i].last_unit - stages[i].first_unit + 1);
    mark_sets(t, &in->passing.sets);
    mark_sets(t, &in->kind_sets);
    mark_sets(t, &in->pass_usage->usage.sets);
    uint64_t peak_bytes = 0;
    pl_need_spread spread = {0};
    const size_t copies = /* of several stages one, with the total of theirs */
        num_stages == 1 ? pl_pipeline_copies_for(pipeline, need, stages->stages_to_end) : 1;
    for (size_t tile = 0; tile < in->profile->target.num_tiles; tile++) {
        const pl_need_line line = find_need(&q, tile);
        pl_need_spread_add(&spread, &line);
        peak_bytes = pl_larger(peak_bytes, line.bytes + copies * line.copy_bytes);
    }
    if (need != POPLINER_NEED_MOST)
        return peak_bytes;
    const pl_need_line any = pl_need_spread_line(&spread, &q.rule, in->profile->target.num_tiles);
    peak_bytes = pl_larger(peak_bytes, pl_need_line_at(&any, copies));
    if (num_stages == 1 || !q.rule.has_needs)
        return peak_bytes;
    uint64_t most_bytes = 0; /* what is enough for each alone is enough for all */
    for (size_t i = 0; i < num_stages; i++)
        most_bytes += pl_ipu_tiles_peak(t, pipeline, need, &stages[i], 1);
    return pl_smaller(peak_bytes, most_bytes);
}
