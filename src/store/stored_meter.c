/* The digest of a stage meter, and all else that it needs to measure stages without the variables
 * of the profile, as bytes: first what all tiles share, then the lists of each tile; at last the
 * variables that may be the largest. Letters tell what the numbers of each item are, and one
 * function of each structure writes and reads it. A number has 7 bits in each byte, the lowest
 * first, with the top bit while more follow (LEB128).
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store.h"

#include <assert.h>
#include <stdlib.h>

#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/largest.h"
#include "memory/stage.h"
#include "profile/profile_data.h"

/* ---- Numbers --------------------------------------------------------------------------------- */

typedef enum number_form {
    PLAIN,
    OF_EITHER_SIGN, /* and INT64_MIN */
    OPTIONAL,       /* or PL_NONE */
    FROM_BEFORE,    /* not below that of the item before */
    FROM_LEFT,      /* not below the number to its left */
} number_form;

/* A letter stands for such numbers. */
typedef struct number_kind {
    size_t size; /* 4 or 8 bytes */
    uint64_t max;
    number_form form;
} number_kind;

/* The work of writing or reading. */
typedef struct work {
    bool is_reading;
    bool is_damaged; /* a number is out of range, or the bytes end early: then all are 0 */
    bool is_short;   /* of memory */
    pl_text written;
    const char *bytes; /* to read: all, and the next one */
    size_t length;
    size_t at;
    pl_stage_meter *meter;
    size_t num_units;
    size_t num_tiles;
    number_kind kinds['z' + 1]; /* by letter */
    pl_candidates *candidates;
} work;

static bool is_well(const work *w) {
    return !w->is_damaged && !w->is_short;
}

static void refuse_if(work *w, bool is_wrong) {
    w->is_damaged = w->is_damaged || is_wrong;
}

static uint64_t read_number(work *w, uint64_t max) {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && w->at < w->length; shift += 7) {
        const uint8_t byte = (uint8_t)w->bytes[w->at++];
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80 && number <= max)
            return number;
        if (byte < 0x80)
            break;
    }
    w->is_damaged = true;
    w->at = w->length;
    return 0;
}

static void write_number(work *w, uint64_t number) {
    char bytes[10];
    size_t length = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[length++] = (char)(number | 0x80);
    bytes[length++] = (char)number;
    pl_text_append(&w->written, bytes, length);
}

/* Writes a number, or sets it to the next one, which must be at most `max`. */
static void code(work *w, uint64_t *number, uint64_t max) {
    assert(w->is_reading || *number <= max);
    if (w->is_reading)
        *number = read_number(w, max);
    else
        write_number(w, *number);
}

static uint64_t number_at(const char *at, size_t size) {
    return size == 4 ? *(const uint32_t *)(const void *)at : *(const uint64_t *)(const void *)at;
}

/* Codes one number; `base` is what it is not below. */
static void code_number(work *w, const number_kind *kind, char *at, uint64_t base) {
    uint64_t number = w->is_reading ? 0 : number_at(at, kind->size) - base;
    if (kind->form == OPTIONAL) {
        number = number == PL_NONE ? 0 : number + 1;
        code(w, &number, kind->max + 1);
        number = number == 0 ? PL_NONE : number - 1;
    } else if (kind->form == OF_EITHER_SIGN) {
        const bool is_negative = number >> 63 != 0;
        number = number == (uint64_t)INT64_MIN ? 0 : is_negative ? 2 * -number : 2 * number + 1;
        code(w, &number, 2 * kind->max + 1);
        number = number == 0 ? (uint64_t)INT64_MIN : number % 2 == 0 ? -(number / 2) : number / 2;
    } else {
        code(w, &number, kind->max - base);
    }
    number += base;
    if (w->is_reading && kind->size == 4)
        *(uint32_t *)(void *)at = (uint32_t)number;
    else if (w->is_reading)
        *(uint64_t *)(void *)at = number;
}

/* Codes items whose numbers have these letters, one after the other. */
static void code_items(work *w, void *items, size_t count, size_t item_size, const char *letters) {
    for (size_t i = 0; i < count && is_well(w); i++) {
        char *at = (char *)items + i * item_size;
        for (const char *letter = letters; *letter != '\0'; letter++) {
            const number_kind *kind = &w->kinds[(int)*letter];
            uint64_t base = 0;
            if (kind->form == FROM_LEFT)
                base = number_at(at - kind->size, kind->size);
            else if (kind->form == FROM_BEFORE && i > 0)
                base = number_at(at - item_size, kind->size);
            code_number(w, kind, at, base);
            at += kind->size;
        }
    }
}

#define CODE(w, items, count, letters) code_items(w, items, count, sizeof *(items), letters)

/* Likewise of an array of the meter, which is made to read it. */
#define CODE_ARRAY(w, array, count, letters)                                                       \
    ((array) = array_of(w, array, count, sizeof *(array)), CODE(w, array, count, letters))

/* Says what the letters are whose numbers are below a count. */
static void name_numbers(work *w, char letter, size_t size, number_form form, size_t count) {
    w->kinds[(int)letter] = (number_kind){size, count > 0 ? count - 1 : 0, form};
}

/* The number of items that follow; they need a number of something of which there is none. */
static void code_count(work *w, size_t *count, bool is_possible) {
    uint64_t wide = *count;
    code(w, &wide, w->is_reading ? w->length - w->at : SIZE_MAX); /* each has a byte */
    *count = (size_t)wide;
    refuse_if(w, *count > 0 && !is_possible);
}

/* To read, makes an array of the meter; returns it. */
static void *array_of(work *w, void *known, size_t count, size_t item_size) {
    if (!w->is_reading || !is_well(w))
        return known;
    void *made = pl_arrays_new(&w->meter->arrays, count, item_size);
    w->is_short = w->is_short || made == NULL;
    return made;
}

/* ---- The meter ------------------------------------------------------------------------------- */

static void code_account(work *w) {
    pl_account *a = &w->meter->account;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        CODE(w, a->truth_bytes[group], w->num_tiles, "b");
    CODE(w, a->fixed_bytes, w->num_tiles, "b");
    CODE(w, a->overheads, w->num_tiles, "bbbd");
}

/* The sets of units. */
static void code_sets(work *w) {
    pl_pass_usage *usage = &w->meter->pass_usage;
    code_count(w, &usage->sets.count, true);
    const size_t num_words = usage->sets.count * usage->sets.key_size / sizeof(uint64_t);
    uint64_t *bits = (uint64_t *)(void *)usage->sets.keys;
    CODE_ARRAY(w, bits, num_words, "w");
    usage->sets.keys = (unsigned char *)(void *)bits;
    name_numbers(w, 's', 4, PLAIN, usage->sets.count);
}

static void code_tile(work *w, pl_digest_tile *tile) {
    const bool has_sets = w->meter->pass_usage.sets.count > 0;
    uint64_t turn = tile->turn_segment;
    code_count(w, &tile->num_sums, has_sets);
    code_count(w, &tile->num_stash, w->meter->pass_usage.passes.is_training);
    code_count(w, &tile->num_parts, has_sets);
    code_count(w, &tile->num_segments, w->meter->chain->num_steps > 0);
    refuse_if(w, tile->num_segments > w->meter->chain->num_steps);
    name_numbers(w, 'g', 4, PLAIN, tile->num_segments + 1);
    name_numbers(w, 'e', 4, FROM_LEFT, tile->num_segments + 1);
    code(w, &turn, tile->num_segments);
    tile->turn_segment = (size_t)turn;
    if (w->is_reading && is_well(w))
        w->is_short = !pl_digest_allocate_tile(tile, w->num_units);
    CODE(w, tile->fixed_code_bytes, PL_NUM_CODE_GROUPS, "b");
    CODE(w, tile->sums, tile->num_sums, "bsm");
    CODE(w, tile->units, w->num_units, "bbbb");
    CODE(w, tile->stash, tile->num_stash, "duur");
    CODE(w, tile->parts, tile->num_parts, "bssssge");
    CODE(w, tile->segments, tile->num_segments, "bbtbbtu");
    for (size_t i = 0; is_well(w) && i < tile->num_segments; i++)
        for (size_t ends = 0; ends <= PL_LIVE_ACCUMULATES; ends++)
            refuse_if(w, tile->segments[i].peaks[ends].unexplained_bytes >
                             tile->segments[i].peaks[ends].bytes);
}

static void code_digest(work *w) {
    pl_stage_meter *meter = w->meter;
    if (w->is_reading && is_well(w))
        pl_digest_begin(&meter->digest, &meter->arrays, meter->chain, &meter->account,
                        &meter->pass_usage, &meter->gradients);
    w->is_short = w->is_short || meter->arrays.failed;
    for (size_t tile = 0; is_well(w) && tile < w->num_tiles; tile++)
        code_tile(w, &meter->digest.tiles[tile]);
    meter->digest.is_made = true;
}

static void code_candidates(work *w) {
    pl_candidates *c = w->candidates;
    const popliner_profile *p = w->meter->chain->profile;
    code_count(w, &c->num_kinds,
               p->num_classes > 0 && p->num_categories > 0 && w->meter->pass_usage.sets.count > 0);
    code_count(w, &c->count, c->num_kinds > 0);
    name_numbers(w, 'x', 4, PLAIN, c->num_kinds);
    name_numbers(w, 'i', 8, FROM_BEFORE, c->count + 1);
    CODE_ARRAY(w, c->tile_start, w->num_tiles + 1, "i");
    CODE_ARRAY(w, c->kinds, c->num_kinds, "cnypfsss");
    CODE_ARRAY(w, c->variables, c->count, "vzx");
}

static void code_meter(work *w) {
    pl_stage_meter *meter = w->meter;
    const popliner_profile *p = meter->chain->profile;
    w->num_units = meter->chain->num_units;
    w->num_tiles = p->target.num_tiles;
    /* no sum of bytes is larger, and sums of many of them do not overflow */
    const uint64_t max_bytes = UINT64_C(1) << 48;
    w->kinds['b'] = (number_kind){8, max_bytes, PLAIN};
    w->kinds['d'] = (number_kind){8, max_bytes, OF_EITHER_SIGN};
    w->kinds['w'] = (number_kind){8, UINT64_MAX, PLAIN};
    w->kinds['p'] = (number_kind){4, PL_NONE - 1, OPTIONAL};
    w->kinds['v'] = (number_kind){4, UINT32_MAX, FROM_BEFORE};
    w->kinds['z'] = (number_kind){4, UINT32_MAX, PLAIN};
    name_numbers(w, 'f', 4, PLAIN, 2);
    name_numbers(w, 'u', 4, PLAIN, w->num_units);
    name_numbers(w, 'm', 4, PLAIN, PL_NUM_SUMS);
    name_numbers(w, 'r', 4, PLAIN, PL_NUM_STASHES);
    name_numbers(w, 't', 8, FROM_BEFORE, p->num_steps);
    name_numbers(w, 'c', 4, PLAIN, p->num_classes);
    name_numbers(w, 'y', 4, PLAIN, p->num_categories);
    w->kinds['n'] = (number_kind){4, p->num_unlowered - 1, OPTIONAL};
    uint64_t has_accumulators = meter->has_accumulators;
    code(w, &has_accumulators, 1);
    meter->has_accumulators = has_accumulators != 0;
    code_account(w);
    code_sets(w);
    code_digest(w);
    code_candidates(w);
}

bool pl_stored_meter_write(pl_text *text, pl_stage_meter *meter) {
    work w = {.meter = meter};
    pl_arrays own = {0};
    assert(meter->popliner == NULL);
    meter->arrays.failed = false;
    pl_stage_meter_complete(meter, NULL, NULL);
    if (!meter->arrays.failed)
        w.candidates =
            meter->candidates != NULL ? meter->candidates : pl_candidates_find(&own, meter);
    if (w.candidates != NULL)
        code_meter(&w);
    pl_arrays_free(&own);
    *text = w.written;
    return w.candidates != NULL && !w.written.failed;
}

pl_stage_meter *pl_stored_meter_read(const char *bytes, size_t length, const pl_chain *chain,
                                     size_t num_threads, bool *is_short) {
    pl_stage_meter *meter = calloc(1, sizeof *meter);
    work w = {.is_reading = true, .bytes = bytes, .length = length, .meter = meter};
    *is_short = meter == NULL;
    if (meter == NULL)
        return NULL;
    meter->chain = chain;
    meter->num_threads = num_threads > 0 ? num_threads : pl_machine_processors();
    pl_arrays *arrays = &meter->arrays;
    meter->pass_usage.num_units = chain->num_units;
    meter->pass_usage.sets = pl_bits_begin(arrays, chain->num_units);
    w.candidates = meter->candidates = pl_arrays_new(arrays, 1, sizeof *meter->candidates);
    pl_account_allocate(&meter->account, arrays, chain->profile->target.num_tiles);
    pl_passes_find(&meter->pass_usage.passes, arrays, chain);
    w.is_short = arrays->failed;
    if (!w.is_short)
        code_meter(&w);
    if (is_well(&w) && w.at == length)
        return meter;
    *is_short = w.is_short;
    pl_stage_meter_free(meter);
    return NULL;
}
