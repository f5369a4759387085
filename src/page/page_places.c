/* Where the variables of a profile are and when they live: on all tiles, and by address on the
 * tiles that matter most.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "base/packed.h"
#include "profile/profile_data.h"

enum {
    MAX_NAMED = 12000,         /* variables with rows of their own */
    MAX_NAMED_BYTES = 1500000, /* of these rows, before they are text */
    MAX_LIVES = 60000,
    NUM_FULLEST = 11, /* tiles, besides the median one and those of the caller */
    MAX_BOXES = 20000,
    MAX_BOXES_OF_FULLEST = 40000, /* which comes first */
};

/* The columns of what is written, and of when classes live: where the ranges of each end, and
 * these. */
typedef struct writer {
    pl_json *json;
    const popliner_profile *profile;
    pl_arrays arrays;       /* own the arrays */
    pl_pieces pieces;       /* of variables */
    unsigned shift;         /* of the rows of a table: no size in it has bits below */
    uint32_t *class_number; /* [classes]: of each in the columns, from 1; 0: not there */
    size_t num_classes;
    size_t num_ranges;
    pl_packed ranges, firsts, ends;
} writer;

/* For qsort: a number, and what it is of. */
typedef struct keyed {
    uint64_t key;
    size_t index;
} keyed;

static int compare_keyed(const void *a, const void *b) {
    const keyed *x = a;
    const keyed *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Returns [count] sizes in order, the largest first; NULL when memory is short. */
static keyed *by_size(pl_arrays *arrays, const uint64_t *bytes, size_t count) {
    keyed *order = pl_arrays_new(arrays, count, sizeof *order);
    for (size_t i = 0; order != NULL && i < count; i++)
        order[i] = (keyed){UINT64_MAX - bytes[i], i};
    if (order != NULL)
        qsort(order, count, sizeof *order, compare_keyed);
    return order;
}

/* ---- bytes on all tiles ---- */

/* Rows of a thing and a category each: their bytes on every tile. */
typedef struct rows {
    pl_packed things, categories, tiles;
} rows;

static void add_row(const writer *w, rows *own, size_t thing, size_t category,
                    const uint64_t *bytes) {
    const size_t num_tiles = w->profile->target.num_tiles;
    pl_packed_number(&own->things, thing);
    pl_packed_number(&own->categories, category);
    for (size_t tile = 0; tile < num_tiles; tile += PL_PACKED_BLOCK)
        pl_packed_block(&own->tiles.bytes, bytes + tile,
                        pl_fewer(PL_PACKED_BLOCK, num_tiles - tile), w->shift);
}

/* Sets the shift by all bits that sizes of a table have. */
static void set_shift(writer *w, uint32_t bits) {
    for (w->shift = 0; bits != 0 && (bits >> w->shift & 1) == 0; w->shift++)
        continue;
}

static void put_rows(const writer *w, const char *name, const char *thing, bool is_whole,
                     rows *own) {
    const pl_page_column columns[] = {
        {thing, &own->things}, {"category", &own->categories}, {"tiles", &own->tiles}};
    pl_put_open(w->json, name, '{');
    pl_put_flag(w->json, "is_whole", is_whole);
    pl_put_number(w->json, "shift", w->shift);
    pl_page_put_columns(w->json, columns, sizeof columns / sizeof *columns);
}

/* Adds the rows of a variable by category. */
static void add_variable(const writer *w, size_t variable, uint64_t *bytes, rows *own) {
    const popliner_profile *p = w->profile;
    const size_t first = w->pieces.start[variable];
    const size_t end = w->pieces.start[variable + 1];
    bool has_category[PL_MAX_CATEGORIES] = {false};
    for (size_t i = first; i < end; i++)
        has_category[p->variable_category[w->pieces.piece[i]]] = true;
    for (size_t category = 0; category < p->num_categories; category++) {
        size_t tile = 0;
        if (!has_category[category])
            continue;
        memset(bytes, 0, p->target.num_tiles * sizeof *bytes);
        for (size_t i = first; i < end; i++) {
            const size_t piece = w->pieces.piece[i];
            tile = pl_profile_tile_from(p, piece, tile);
            if (p->variable_category[piece] == category)
                bytes[tile] += p->variable_size_bytes[piece];
        }
        add_row(w, own, variable, category, bytes);
    }
}

/* Adds the largest variables, as many as there is room for. */
static void put_named(writer *w) {
    const popliner_profile *p = w->profile;
    const keyed *order = by_size(&w->arrays, p->unlowered_size_bytes, p->num_unlowered);
    uint64_t *bytes = pl_arrays_new(&w->arrays, p->target.num_tiles, sizeof *bytes);
    const size_t most = w->arrays.failed ? 0 : pl_fewer(p->num_unlowered, MAX_NAMED);
    size_t count = 0;
    uint32_t bits = 0;
    rows own = {.tiles = {.last = 0}};
    for (size_t k = 0; k < most; k++)
        for (size_t i = w->pieces.start[order[k].index]; i < w->pieces.start[order[k].index + 1];
             i++)
            bits |= p->variable_size_bytes[w->pieces.piece[i]];
    set_shift(w, bits);
    for (; count < most && own.tiles.bytes.length <= MAX_NAMED_BYTES; count++)
        add_variable(w, order[count].index, bytes, &own);
    put_rows(w, "named", "variable", count == p->num_unlowered, &own);
}

/* Adds what the operations of each unit touch: sums by set of units, then by unit. */
static void put_layers(writer *w, const pl_pass_usage *usage) {
    const popliner_profile *p = w->profile;
    const size_t num_categories = p->num_categories;
    const size_t num_sums = usage->usage.sets.count * num_categories;
    const size_t num_rows = usage->num_units * num_categories;
    uint64_t *sums = pl_arrays_new(&w->arrays, num_sums, sizeof *sums);
    uint64_t **bytes = pl_arrays_new(&w->arrays, num_rows, sizeof *bytes); /* NULL: none */
    uint32_t bits = 0;
    rows own = {.tiles = {.last = 0}};
    for (size_t i = 0; i < p->num_variables; i++)
        bits |= pl_unit_usage_of(&usage->usage, i) != 0 ? p->variable_size_bytes[i] : 0;
    set_shift(w, bits);
    for (size_t tile = 0; !w->arrays.failed && tile < p->target.num_tiles; tile++) {
        memset(sums, 0, num_sums * sizeof *sums);
        for (size_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
            sums[pl_unit_usage_of(&usage->usage, i) * num_categories + p->variable_category[i]] +=
                p->variable_size_bytes[i];
        for (size_t i = num_categories; i < num_sums; i++) {
            const uint64_t *units =
                pl_bits_at(&usage->sets, usage->uses[i / num_categories].counting.touching);
            for (size_t unit = sums[i] == 0 ? usage->num_units
                                            : pl_bits_next(units, 0, usage->num_units);
                 unit < usage->num_units; unit = pl_bits_next(units, unit + 1, usage->num_units)) {
                uint64_t **row = &bytes[unit * num_categories + i % num_categories];
                if (*row == NULL)
                    *row = pl_arrays_new(&w->arrays, p->target.num_tiles, sizeof **row);
                if (*row != NULL)
                    (*row)[tile] += sums[i];
            }
        }
    }
    for (size_t i = 0; !w->arrays.failed && i < num_rows; i++)
        if (bytes[i] != NULL)
            add_row(w, &own, i / num_categories, i % num_categories, bytes[i]);
    put_rows(w, "layers", "unit", true, &own);
}

/* ---- lives ---- */

/* Returns the number of a class in the columns, where its ranges are; 0 for one that is always
 * live. */
static size_t number_class(writer *w, uint32_t class_index) {
    const popliner_profile *p = w->profile;
    const uint32_t first = p->class_ranges_start[class_index];
    const uint32_t end = p->class_ranges_start[class_index + 1];
    if (p->class_always_live[class_index] != 0)
        return 0;
    if (w->class_number[class_index] != 0)
        return w->class_number[class_index];
    w->class_number[class_index] = (uint32_t)++w->num_classes;
    pl_packed_number(&w->ranges, w->num_ranges += end - first);
    for (uint32_t k = first; k < end; k++) {
        pl_packed_number(&w->firsts, p->range_first_step[k]);
        pl_packed_number(&w->ends, p->range_end_step[k]);
    }
    return w->num_classes;
}

/* Adds the bytes by variable, class and category, the largest first. */
static void put_lives(writer *w) {
    enum { VARIABLE, CLASS, CATEGORY, NUM_KEYS };
    const popliner_profile *p = w->profile;
    pl_key_sums lives = {.keys = {.arrays = &w->arrays, .key_size = NUM_KEYS * sizeof(uint32_t)}};
    pl_packed variables = {0}, categories = {0}, classes = {0}, sizes = {0};
    const pl_page_column columns[] = {{"variable", &variables},
                                      {"category", &categories},
                                      {"class", &classes},
                                      {"bytes", &sizes}};
    for (size_t variable = 0; variable <= p->num_unlowered; variable++)
        for (size_t i = w->pieces.start[variable]; i < w->pieces.start[variable + 1]; i++) {
            const size_t piece = w->pieces.piece[i];
            const uint32_t key[NUM_KEYS] = {(uint32_t)((variable + 1) % (p->num_unlowered + 1)),
                                            p->variable_class[piece], p->variable_category[piece]};
            if (p->class_always_live[key[CLASS]] == 0)
                pl_key_sums_add(&lives, key, p->variable_size_bytes[piece]);
        }
    const keyed *order =
        w->arrays.failed ? NULL : by_size(&w->arrays, lives.bytes, lives.keys.count);
    for (size_t i = 0; order != NULL && i < lives.keys.count && i < MAX_LIVES; i++) {
        const uint32_t *key = pl_key_at(&lives.keys, order[i].index);
        pl_packed_number(&variables, key[VARIABLE]);
        pl_packed_number(&categories, key[CATEGORY]);
        pl_packed_number(&classes, number_class(w, key[CLASS]));
        pl_packed_number(&sizes, lives.bytes[order[i].index]);
    }
    pl_put_open(w->json, "lives", '{');
    pl_put_flag(w->json, "is_whole", lives.keys.count <= MAX_LIVES);
    pl_page_put_columns(w->json, columns, sizeof columns / sizeof *columns);
}

/* ---- the variables of some tiles by address ---- */

typedef struct boxes {
    pl_packed tiles, starts, offsets, sizes, variables, categories, classes;
    pl_packed live_tiles, live_bytes; /* at each step */
    size_t count;
} boxes;

/* Adds the variables of a tile by address. */
static void add_boxes(writer *w, boxes *b, size_t tile, size_t start, size_t end) {
    const popliner_profile *p = w->profile;
    keyed *sorted = pl_arrays_new(&w->arrays, end - start, sizeof *sorted);
    size_t count = 0;
    for (size_t i = start; sorted != NULL && i < end; i++)
        if (p->variable_size_bytes[i] > 0)
            sorted[count++] = (keyed){p->variable_offset[i], i};
    if (sorted != NULL)
        qsort(sorted, count, sizeof *sorted, compare_keyed);
    pl_packed_number(&b->tiles, tile);
    pl_packed_number(&b->starts, b->count += count);
    for (size_t k = 0; k < count; k++) {
        const size_t i = sorted[k].index;
        const uint32_t unlowered = p->variable_unlowered[i];
        pl_packed_number(&b->offsets, sorted[k].key);
        pl_packed_number(&b->sizes, p->variable_size_bytes[i]);
        pl_packed_number(&b->variables, unlowered == PL_NONE ? 0 : (uint64_t)unlowered + 1);
        pl_packed_number(&b->categories, p->variable_category[i]);
        pl_packed_number(&b->classes, number_class(w, p->variable_class[i]));
    }
}

/* Adds the variables of a tile by address, unless they are too many, and its bytes by step, as for
 * each tile that is wanted; bytes[steps] is scratch. */
static popliner_status add_tile(writer *w, boxes *b, size_t tile, bool is_wanted, uint64_t *bytes,
                                popliner_error *error) {
    const popliner_profile *p = w->profile;
    const size_t start = p->tile_variables_start[tile];
    const size_t end = p->tile_variables_start[tile + 1];
    const bool has_room =
        b->count + end - start <= (b->count == 0 ? MAX_BOXES_OF_FULLEST : MAX_BOXES);
    if (has_room)
        add_boxes(w, b, tile, start, end);
    if (!has_room && !is_wanted)
        return POPLINER_OK;
    PL_TRY(popliner_liveness_by_step(p, tile, NULL, 0, p->num_steps, bytes, error));
    pl_packed_number(&b->live_tiles, tile);
    for (size_t step = 0; step < p->num_steps; step++)
        pl_packed_number(&b->live_bytes, bytes[step]);
    return POPLINER_OK;
}

static popliner_status put_boxes(writer *w, const uint64_t *stage_tiles, size_t num_stages,
                                 popliner_error *error) {
    const popliner_profile *p = w->profile;
    const size_t num_tiles = p->target.num_tiles;
    boxes b = {.count = 0};
    const pl_page_column columns[] = {
        {"tile", &b.tiles},       {"start", &b.starts},         {"offset", &b.offsets},
        {"size_bytes", &b.sizes}, {"variable", &b.variables},   {"category", &b.categories},
        {"class", &b.classes},    {"live_tile", &b.live_tiles}, {"live_bytes", &b.live_bytes}};
    uint64_t *live = pl_arrays_new(&w->arrays, num_tiles, sizeof *live);
    uint64_t *bytes = pl_arrays_new(&w->arrays, p->num_steps, sizeof *bytes);
    uint8_t *is_there = pl_arrays_new(&w->arrays, num_tiles, 1);
    for (size_t i = 0; live != NULL && i < num_tiles; i++)
        live[i] = p->tile_always_live_bytes[i] + p->tile_not_always_live_peak_bytes[i];
    const keyed *order = w->arrays.failed ? NULL : by_size(&w->arrays, live, num_tiles);
    popliner_status status = POPLINER_OK;
    pl_packed_number(&b.starts, 0);
    /* the fullest one, those of the stages, the median one, and the next ones of the fullest */
    for (size_t k = 0; order != NULL && !w->arrays.failed && status == POPLINER_OK &&
                       k < num_stages + NUM_FULLEST + 1;
         k++) {
        const size_t tile = k == 0                ? order[0].index
                            : k <= num_stages     ? stage_tiles[k - 1]
                            : k == num_stages + 1 ? order[(num_tiles - 1) / 2].index
                                                  : order[(k - num_stages - 1) % num_tiles].index;
        if (is_there[tile] == 0)
            status = add_tile(w, &b, tile, k <= num_stages, bytes, error);
        is_there[tile] = 1;
    }
    pl_put_line(w->json);
    pl_put_open(w->json, "boxes", '{');
    pl_page_put_columns(w->json, columns, sizeof columns / sizeof *columns);
    return status;
}

popliner_status pl_page_put_places(pl_json *json, const popliner_profile *profile,
                                   const pl_pass_usage *usage, const uint64_t *stage_tiles,
                                   size_t num_stages, popliner_error *error) {
    writer w = {.json = json, .profile = profile};
    const pl_page_column columns[] = {
        {"ranges", &w.ranges}, {"first", &w.firsts}, {"end", &w.ends}};
    PL_TRY(pl_profile_require_variables(profile, error));
    pl_pieces_find(&w.pieces, &w.arrays, profile);
    w.class_number = pl_arrays_new(&w.arrays, profile->num_classes, sizeof *w.class_number);
    if (w.arrays.failed) {
        pl_arrays_free(&w.arrays);
        return pl_fail_memory(error, "the variables of the page");
    }
    pl_packed_number(&w.ranges, 0);
    pl_put_open(json, "places", '{');
    pl_put_number(json, "block", PL_PACKED_BLOCK);
    put_named(&w);
    put_layers(&w, usage);
    put_lives(&w);
    pl_put_close(json);
    popliner_status status = put_boxes(&w, stage_tiles, num_stages, error);
    pl_put_open(json, "classes", '{');
    pl_page_put_columns(json, columns, sizeof columns / sizeof *columns);
    if (status == POPLINER_OK && w.arrays.failed)
        status = pl_fail_memory(error, "the variables of the page");
    pl_arrays_free(&w.arrays);
    return status;
}
