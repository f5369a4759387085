/* First what all tiles share; then what is the same in all digests, tile by tile; then the live
 * ranges of each digest; at last the variables that may be the largest.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/stored_meter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/largest.h"
#include "memory/stage_meter.h"
#include "profile/profile_data.h"

/* No sum of bytes that are stored is larger, and sums of many of them do not overflow. */
static const int64_t max_bytes = (int64_t)1 << 48;

/* The work of writing or reading. */
typedef struct work {
    pl_coder *coder;
    pl_stage_meter *meter;
    size_t num_units;
    size_t num_tiles;
    pl_arrays arrays; /* own the arrays below */
    bool is_pipelined;
    /* The sets that any of these has. */
    pl_keys sets;
    uint32_t *number_of[PL_NUM_DIGESTS]; /* [sets of the digest]: number of a set, or PL_NONE */
    pl_candidates *candidates;
    pl_digest_tile *shared; /* [num_tiles], to read: lists that are the same in all digests */
} work;

static void code_bytes(work *w, uint64_t *bytes) {
    pl_code(w->coder, bytes, (uint64_t)max_bytes);
}

/* ---- What all tiles share -------------------------------------------------------------------- */

static void code_account(work *w) {
    pl_account *a = &w->meter->account;
    for (size_t tile = 0; tile < w->num_tiles && pl_coder_is_well(w->coder); tile++) {
        for (int group = 0; group < PL_NUM_CODE_GROUPS; group++) {
            code_bytes(w, &a->truth_bytes[group][tile]);
            code_bytes(w, &a->explained_bytes[group][tile]);
        }
        code_bytes(w, &a->fixed_bytes[tile]);
        pl_overhead *o = &a->overheads[tile];
        bool has_code = o->more_executable_bytes != INT64_MIN;
        code_bytes(w, &o->unused_bytes);
        code_bytes(w, &o->fragmented_bytes);
        code_bytes(w, &o->live_bytes);
        pl_code_flag(w->coder, &has_code);
        if (has_code)
            pl_code_signed(w->coder, &o->more_executable_bytes, max_bytes);
        else
            o->more_executable_bytes = INT64_MIN;
    }
}

/* The sets of the usage, with the bytes of their parameters; and the cuts. */
static void code_parameters(work *w) {
    pl_unit_sets *sets = &w->meter->pass_usage.usage.sets;
    pl_parameter_sums *sums = &w->meter->parameters;
    pl_coder *c = w->coder;
    pl_code_count(c, &sets->count);
    c->is_damaged = c->is_damaged || (c->is_reading && sets->count == 0);
    if (c->is_reading) {
        pl_arrays *arrays = &w->meter->arrays;
        sets->rest = pl_arrays_new(arrays, sets->count, sizeof *sets->rest);
        sets->last_unit = pl_arrays_new(arrays, sets->count, sizeof *sets->last_unit);
        sums->touched_bytes = pl_arrays_new(arrays, sets->count, sizeof *sums->touched_bytes);
        sums->trained_bytes = pl_arrays_new(arrays, sets->count, sizeof *sums->trained_bytes);
        w->meter->cut_bytes = pl_arrays_new(arrays, w->num_units, sizeof(uint64_t));
        c->is_short = c->is_short || arrays->failed;
        if (pl_coder_is_well(c))
            sets->last_unit[0] = PL_NONE;
    }
    for (uint32_t set = 1; pl_coder_is_well(c) && set < sets->count; set++) {
        pl_code_place(c, &sets->rest[set], set - 1);
        pl_code_place(c, &sets->last_unit[set], 2 * w->num_units - 1);
        code_bytes(w, &sums->touched_bytes[set]);
        code_bytes(w, &sums->trained_bytes[set]);
        c->is_damaged = c->is_damaged || (sets->rest[set] != 0 &&
                                          sets->last_unit[sets->rest[set]] >= sets->last_unit[set]);
    }
    for (size_t unit = 1; pl_coder_is_well(c) && unit < w->num_units; unit++)
        code_bytes(w, &w->meter->cut_bytes[unit]);
}

/* ---- Sets ------------------------------------------------------------------------------------ */

/* Gives a set of a digest its number. */
static void number_set(work *w, size_t digest, uint32_t set) {
    uint32_t *number = &w->number_of[digest][set];
    if (*number == PL_NONE)
        *number =
            (uint32_t)pl_keys_number(&w->sets, pl_digest_bits(w->meter->digests[digest], set));
}

/* Numbers all sets that the tiles of the digests have. */
static void number_sets(work *w) {
    for (size_t k = 0; k < PL_NUM_DIGESTS; k++) {
        const pl_digest *digest = w->meter->digests[k];
        if (digest == NULL)
            continue;
        w->number_of[k] = pl_arrays_new(&w->arrays, digest->passing.sets.count, sizeof(uint32_t));
        w->coder->is_short = w->coder->is_short || w->number_of[k] == NULL;
        for (size_t set = 0; !w->coder->is_short && set < digest->passing.sets.count; set++)
            w->number_of[k][set] = PL_NONE;
        for (size_t tile = 0; !w->coder->is_short && tile < w->num_tiles; tile++) {
            const pl_digest_tile *t = &digest->tiles[tile];
            for (size_t i = 0; i < t->num_sums; i++)
                number_set(w, k, t->sums[i].set);
            for (size_t i = 0; i < t->num_parts; i++)
                number_set(w, k, t->parts[i].set);
        }
        for (size_t i = 0; !w->coder->is_short && i < 2 * w->candidates->num_kinds; i++)
            number_set(w, k, w->candidates->kinds[i / 2].counting[k][i % 2]);
    }
}

static void code_sets(work *w) {
    pl_coder *c = w->coder;
    if (!c->is_reading)
        number_sets(w);
    pl_code_count(c, &w->sets.count);
    if (c->is_reading)
        w->sets.keys = pl_arrays_new(&w->arrays, w->sets.count, w->sets.key_size);
    c->is_short = c->is_short || w->arrays.failed;
    uint64_t *bits = (uint64_t *)(void *)w->sets.keys;
    for (size_t i = 0; pl_coder_is_well(c) && i < w->sets.count * w->sets.key_size / sizeof *bits;
         i++)
        pl_code(c, &bits[i], UINT64_MAX);
}

static void code_set(work *w, size_t digest, uint32_t *set) {
    uint32_t number = w->coder->is_reading ? 0 : w->number_of[digest][*set];
    w->coder->is_damaged = w->coder->is_damaged || (w->coder->is_reading && w->sets.count == 0);
    pl_code_place(w->coder, &number, w->sets.count > 0 ? w->sets.count - 1 : 0);
    if (w->coder->is_reading)
        *set = number;
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Allocates the lists of a tile that is read. */
static void allocate(work *w, pl_digest_tile *tile) {
    if (w->coder->is_reading && pl_coder_is_well(w->coder))
        w->coder->is_short = !pl_digest_allocate_tile(tile, w->num_units);
}

/* Codes the lists that are the same in all digests: `tile` is of the first one, or, to read, of
 * w->shared. */
static void code_shared(work *w, pl_digest_tile *tile) {
    pl_coder *c = w->coder;
    const uint32_t last_unit = (uint32_t)w->num_units - 1;
    const int num_ways = w->is_pipelined ? PL_NUM_STASHES : 0;
    pl_code_count(c, &tile->num_sums);
    for (int way = 0; way < num_ways; way++)
        pl_code_count(c, &tile->num_stash[way]);
    allocate(w, tile);
    for (size_t i = 0; pl_coder_is_well(c) && i < tile->num_sums; i++) {
        code_set(w, 0, &tile->sums[i].set);
        pl_code_place(c, &tile->sums[i].sum, PL_NUM_SUMS - 1);
        code_bytes(w, &tile->sums[i].bytes);
    }
    for (size_t unit = 0; pl_coder_is_well(c) && unit < w->num_units; unit++) {
        pl_digest_unit *own = &tile->units[unit];
        if (c->is_reading)
            *own = (pl_digest_unit){0, 0, 0, 0};
        code_bytes(w, &own->apart_bytes);
        if (!w->is_pipelined)
            continue;
        code_bytes(w, &own->own_stash_bytes);
        code_bytes(w, &own->sent_forward_bytes);
        code_bytes(w, &own->sent_backward_bytes);
    }
    for (int way = 0; way < num_ways; way++)
        for (size_t i = 0; pl_coder_is_well(c) && i < tile->num_stash[way]; i++) {
            pl_digest_stash *stash = &tile->stash[way][i];
            int64_t bytes = (int64_t)stash->bytes;
            pl_code_place(c, &stash->start, last_unit);
            pl_code_place(c, &stash->unit, last_unit);
            pl_code_signed(c, &bytes, max_bytes);
            stash->bytes = (uint64_t)bytes;
        }
}

/* Begins to read a tile of a digest with what all share. */
static void take_shared(work *w, pl_digest_tile *tile, const pl_digest_tile *shared) {
    tile->num_sums = shared->num_sums;
    memcpy(tile->num_stash, shared->num_stash, sizeof tile->num_stash);
    allocate(w, tile);
    if (!pl_coder_is_well(w->coder))
        return;
    memcpy(tile->sums, shared->sums, tile->num_sums * sizeof *tile->sums);
    memcpy(tile->units, shared->units, w->num_units * sizeof *tile->units);
    for (int way = 0; way < PL_NUM_STASHES; way++)
        memcpy(tile->stash[way], shared->stash[way],
               tile->num_stash[way] * sizeof *tile->stash[way]);
}

/* The live ranges of a digest. */
static void code_live(work *w, size_t digest, size_t number) {
    pl_coder *c = w->coder;
    pl_digest_tile *tile = &w->meter->digests[digest]->tiles[number];
    const size_t num_steps = w->meter->chain->profile->num_steps;
    uint32_t turn = (uint32_t)tile->turn_segment;
    uint32_t step = 0;
    pl_code_count(c, &tile->num_parts);
    pl_code_count(c, &tile->num_segments);
    c->is_damaged = c->is_damaged || tile->num_segments > num_steps;
    pl_code_place(c, &turn, tile->num_segments);
    tile->turn_segment = turn;
    if (c->is_reading)
        take_shared(w, tile, &w->shared[number]);
    for (size_t i = 0; pl_coder_is_well(c) && i < tile->num_parts; i++) {
        pl_digest_part *part = &tile->parts[i];
        uint32_t length = c->is_reading ? 0 : part->end_segment - part->first_segment;
        code_set(w, digest, &part->set);
        pl_code_place(c, &part->first_segment, tile->num_segments);
        pl_code_place(c, &length, tile->num_segments - part->first_segment);
        part->end_segment = part->first_segment + length;
        part->unused = 0;
        code_bytes(w, &part->bytes);
    }
    for (size_t i = 0; pl_coder_is_well(c) && i < tile->num_segments; i++) {
        pl_digest_segment *segment = &tile->segments[i];
        uint32_t distance = c->is_reading ? 0 : segment->step - step;
        code_bytes(w, &segment->bytes);
        pl_code(c, &segment->unexplained_bytes, segment->bytes);
        pl_code_place(c, &segment->unit, w->num_units - 1);
        pl_code_place(c, &distance, num_steps - 1 - step);
        step = segment->step = step + distance;
    }
}

/* ---- Digests --------------------------------------------------------------------------------- */

/* Makes an empty digest to read into, of this number. */
static void begin_digest(work *w, size_t k) {
    pl_stage_meter *meter = w->meter;
    pl_digest *digest = calloc(1, sizeof *digest);
    meter->digests[k] = digest;
    w->coder->is_short = w->coder->is_short || digest == NULL;
    if (digest == NULL)
        return;
    *digest = (pl_digest){.chain = meter->chain,
                          .account = &meter->account,
                          .pass_usage = &meter->pass_usage,
                          .key = {k / 2 != 0, k % 2 != 0, w->is_pipelined},
                          .passing.sets = w->sets};
    digest->tiles = pl_arrays_new(&digest->arrays, w->num_tiles, sizeof *digest->tiles);
    digest->passing.sets.keys =
        pl_arrays_copy(&digest->arrays, w->sets.keys, w->sets.count, w->sets.key_size);
    w->coder->is_short = w->coder->is_short || digest->arrays.failed;
}

static void code_digests(work *w) {
    pl_coder *c = w->coder;
    pl_code_flag(c, &w->is_pipelined);
    code_sets(w);
    if (c->is_reading)
        w->shared = pl_arrays_new(&w->arrays, w->num_tiles, sizeof *w->shared);
    c->is_short = c->is_short || w->arrays.failed;
    for (size_t tile = 0; pl_coder_is_well(c) && tile < w->num_tiles; tile++)
        code_shared(w, c->is_reading ? &w->shared[tile] : &w->meter->digests[0]->tiles[tile]);
    for (size_t k = 0; pl_coder_is_well(c) && k < PL_NUM_DIGESTS; k++) {
        bool is_there = w->meter->digests[k] != NULL;
        pl_code_flag(c, &is_there);
        if (is_there && c->is_reading)
            begin_digest(w, k);
        for (size_t tile = 0; is_there && pl_coder_is_well(c) && tile < w->num_tiles; tile++)
            code_live(w, k, tile);
    }
}

/* ---- Large variables ------------------------------------------------------------------------- */

/* Codes a number that may be PL_NONE, else below `end`. */
static void code_optional(work *w, uint32_t *number, uint64_t end) {
    uint64_t wide = *number == PL_NONE ? 0 : (uint64_t)*number + 1;
    pl_code(w->coder, &wide, end);
    *number = wide == 0 ? PL_NONE : (uint32_t)(wide - 1);
}

static void code_kind(work *w, pl_variable_kind *kind) {
    const popliner_profile *p = w->meter->chain->profile;
    w->coder->is_damaged = w->coder->is_damaged || p->num_classes == 0 || p->num_categories == 0;
    if (!pl_coder_is_well(w->coder))
        return;
    pl_code_place(w->coder, &kind->class_index, p->num_classes - 1);
    code_optional(w, &kind->unlowered, p->num_unlowered);
    pl_code_place(w->coder, &kind->category, p->num_categories - 1);
    code_optional(w, &kind->complete_step, UINT32_MAX);
    pl_code_place(w->coder, &kind->is_untouched, 1);
    for (size_t k = 0; k < PL_NUM_DIGESTS; k++)
        for (size_t i = 0; w->meter->digests[k] != NULL && i < 2; i++)
            code_set(w, k, &kind->counting[k][i]);
}

/* Begins to read candidates. */
static void allocate_candidates(work *w, pl_candidates *c) {
    pl_arrays *arrays = &w->meter->arrays;
    c->tile_start = pl_arrays_new(arrays, w->num_tiles + 1, sizeof *c->tile_start);
    c->kinds = pl_arrays_new(arrays, c->num_kinds, sizeof *c->kinds);
    c->variable = pl_arrays_new(arrays, c->count, sizeof *c->variable);
    c->size_bytes = pl_arrays_new(arrays, c->count, sizeof *c->size_bytes);
    c->kind = pl_arrays_new(arrays, c->count, sizeof *c->kind);
    w->coder->is_short = w->coder->is_short || arrays->failed;
}

static void code_candidates(work *w) {
    pl_coder *coder = w->coder;
    pl_candidates *c = w->candidates;
    uint32_t before = 0;
    if (!pl_coder_is_well(coder))
        return;
    pl_code_count(coder, &c->num_kinds);
    pl_code_count(coder, &c->count);
    coder->is_damaged = coder->is_damaged || (c->num_kinds == 0 && c->count > 0);
    if (coder->is_reading && pl_coder_is_well(coder))
        allocate_candidates(w, c);
    for (size_t i = 0; pl_coder_is_well(coder) && i < c->num_kinds; i++)
        code_kind(w, &c->kinds[i]);
    for (size_t tile = 0; pl_coder_is_well(coder) && tile < w->num_tiles; tile++) {
        const uint64_t start = c->tile_start[tile];
        uint64_t count = coder->is_reading ? 0 : c->tile_start[tile + 1] - start;
        pl_code(coder, &count, c->count - start);
        c->tile_start[tile + 1] = start + count;
        for (uint64_t i = start; pl_coder_is_well(coder) && i < start + count; i++) {
            uint32_t distance = coder->is_reading ? 0 : c->variable[i] - before;
            pl_code_place(coder, &distance, UINT32_MAX - before);
            before = c->variable[i] = before + distance;
            pl_code_place(coder, &c->size_bytes[i], UINT32_MAX);
            pl_code_place(coder, &c->kind[i], c->num_kinds - 1);
        }
    }
}

static void code_meter(work *w) {
    pl_stage_meter *meter = w->meter;
    w->num_units = meter->chain->num_units;
    w->num_tiles = meter->chain->profile->target.num_tiles;
    w->sets =
        (pl_keys){.arrays = &w->arrays, .key_size = (w->num_units / 64 + 1) * sizeof(uint64_t)};
    pl_code_flag(w->coder, &meter->has_accumulators);
    code_account(w);
    code_parameters(w);
    code_digests(w);
    code_candidates(w);
    for (size_t i = 0; w->shared != NULL && i < w->num_tiles; i++)
        free(w->shared[i].block);
}

void pl_stored_meter_write(pl_coder *coder, pl_stage_meter *meter) {
    work w = {.coder = coder, .meter = meter};
    assert(meter->popliner == NULL && !coder->is_reading);
    pl_stage_meter_complete(meter);
    pl_stage_meter_find_cuts(meter);
    coder->is_short = meter->arrays.failed;
    if (coder->is_short)
        return;
    w.is_pipelined = meter->digests[0]->key.is_pipelined;
    w.candidates =
        meter->candidates != NULL ? meter->candidates : pl_candidates_find(&w.arrays, meter);
    coder->is_short = w.candidates == NULL;
    if (!coder->is_short)
        code_meter(&w);
    pl_arrays_free(&w.arrays);
}

/* True if there is a digest for every pipeline. */
static bool is_complete(const pl_stage_meter *m) {
    const bool is_training = m->pass_usage.passes.is_training;
    const bool accumulates = is_training && !m->has_accumulators;
    bool is = m->digests[0] != NULL && m->digests[0]->key.is_pipelined == is_training;
    for (size_t k = 0; k < PL_NUM_DIGESTS; k++) {
        const bool is_wanted = k % 2 == 0 || accumulates;
        is = is && (m->digests[k] != NULL) == is_wanted;
    }
    return is;
}

pl_stage_meter *pl_stored_meter_read(pl_coder *coder, const pl_chain *chain, size_t num_threads) {
    pl_stage_meter *meter = calloc(1, sizeof *meter);
    work w = {.coder = coder, .meter = meter};
    coder->is_short = coder->is_short || meter == NULL;
    if (meter == NULL)
        return NULL;
    meter->chain = chain;
    meter->num_threads = num_threads;
    meter->pass_usage.usage.num_units = 2 * chain->num_units;
    pl_arrays *arrays = &meter->arrays;
    w.candidates = meter->candidates = pl_arrays_new(arrays, 1, sizeof *meter->candidates);
    pl_account_allocate(&meter->account, arrays, chain->profile->target.num_tiles);
    pl_passes_find(&meter->pass_usage.passes, arrays, chain);
    coder->is_short = arrays->failed;
    if (!coder->is_short)
        code_meter(&w);
    pl_arrays_free(&w.arrays);
    meter->has_pass_usage = meter->knows_accumulators = true;
    coder->is_damaged = coder->is_damaged || (!coder->is_short && !is_complete(meter));
    if (pl_coder_is_well(coder) && coder->at == coder->text.length)
        return meter;
    coder->is_damaged = coder->is_damaged || !coder->is_short;
    pl_stage_meter_free(meter);
    return NULL;
}
