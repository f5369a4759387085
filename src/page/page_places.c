/* Where the variables of a profile are and when they live: on all tiles, and by address on the
 * tiles that matter most.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/numbers.h"
#include "profile/profile_data.h"

enum {
    MAX_NAMED = 12000,          /* variables with rows of their own */
    MAX_NAMED_CHARS = 10000000, /* of these rows */
    MAX_LIVES = 60000,
    NUM_FULLEST = 11, /* tiles, besides the median one and those of the caller */
    MAX_BOXES = 20000,
    MAX_BOXES_OF_FULLEST = 40000, /* which comes first */
};

typedef struct writer {
    pl_json *json;
    pl_json rows; /* of what is being written */
    const popliner_profile *profile;
    pl_arrays arrays;       /* own the arrays */
    pl_pieces pieces;       /* of variables */
    uint8_t *is_class_used; /* [classes]: by what is written */
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

/* Adds the row of a thing and a category: its bytes on every tile. */
static void put_row(writer *w, size_t thing, size_t category, const uint64_t *bytes) {
    pl_put_open(&w->rows, NULL, '[');
    pl_put_number(&w->rows, NULL, thing);
    pl_put_number(&w->rows, NULL, category);
    pl_page_put_numbers(&w->rows, NULL, bytes, w->profile->target.num_tiles);
    pl_put_close(&w->rows);
}

/* Begins rows of numbers: as a text, which a browser reads when a view needs them. */
static void begin_rows(writer *w, const char *name) {
    pl_put_open(w->json, name, '{');
    pl_put_value(w->json, "rows");
    pl_text_add(w->json->text, "\"");
    w->rows = (pl_json){.text = w->json->text, .style = PL_JSON_COMPACT};
    pl_put_open(&w->rows, NULL, '[');
}

static void end_rows(writer *w, bool is_whole) {
    pl_put_close(&w->rows);
    pl_text_add(w->json->text, "\"");
    pl_put_flag(w->json, "is_whole", is_whole);
    pl_put_close(w->json);
}

/* Adds the rows of a variable by category; bytes[tiles] is scratch. */
static void put_variable(writer *w, size_t variable, uint64_t *bytes) {
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
        put_row(w, variable, category, bytes);
    }
}

/* Adds the largest variables, as many as there is room for. */
static void put_named(writer *w) {
    const popliner_profile *p = w->profile;
    const keyed *order = by_size(&w->arrays, p->unlowered_size_bytes, p->num_unlowered);
    uint64_t *bytes = pl_arrays_new(&w->arrays, p->target.num_tiles, sizeof *bytes);
    const size_t most = w->arrays.failed ? 0 : pl_fewer(p->num_unlowered, MAX_NAMED);
    const size_t begin = w->json->text->length;
    size_t count = 0;
    begin_rows(w, "named");
    for (; count < most && w->json->text->length - begin <= MAX_NAMED_CHARS; count++)
        put_variable(w, order[count].index, bytes);
    end_rows(w, count == p->num_unlowered);
}

/* Adds what the operations of each unit touch: sums by set of units, then by unit. */
static void put_layers(writer *w, const pl_pass_usage *usage) {
    const popliner_profile *p = w->profile;
    const size_t num_categories = p->num_categories;
    const size_t num_sums = usage->usage.sets.count * num_categories;
    const size_t num_rows = usage->num_units * num_categories;
    uint64_t *sums = pl_arrays_new(&w->arrays, num_sums, sizeof *sums);
    uint64_t **bytes = pl_arrays_new(&w->arrays, num_rows, sizeof *bytes); /* NULL: none */
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
    begin_rows(w, "layers");
    for (size_t i = 0; !w->arrays.failed && i < num_rows; i++)
        if (bytes[i] != NULL)
            put_row(w, i / num_categories, i % num_categories, bytes[i]);
    end_rows(w, true);
}

/* ---- lives ---- */

/* Adds the bytes by variable, class and category, the largest first. */
static void put_lives(writer *w) {
    enum { VARIABLE, CATEGORY, CLASS, NUM_KEYS };
    const popliner_profile *p = w->profile;
    pl_key_sums lives = {.keys = {.arrays = &w->arrays, .key_size = NUM_KEYS * sizeof(uint32_t)}};
    for (size_t variable = 0; variable <= p->num_unlowered; variable++)
        for (size_t i = w->pieces.start[variable]; i < w->pieces.start[variable + 1]; i++) {
            const size_t piece = w->pieces.piece[i];
            const uint32_t key[NUM_KEYS] = {(uint32_t)((variable + 1) % (p->num_unlowered + 1)),
                                            p->variable_category[piece], p->variable_class[piece]};
            if (p->class_always_live[key[CLASS]] == 0)
                pl_key_sums_add(&lives, key, p->variable_size_bytes[piece]);
        }
    const keyed *order =
        w->arrays.failed ? NULL : by_size(&w->arrays, lives.bytes, lives.keys.count);
    begin_rows(w, "lives");
    for (size_t i = 0; order != NULL && i < lives.keys.count && i < MAX_LIVES; i++) {
        const uint32_t *key = pl_key_at(&lives.keys, order[i].index);
        const uint64_t row[] = {key[VARIABLE], key[CATEGORY], key[CLASS],
                                lives.bytes[order[i].index]};
        pl_page_put_numbers(&w->rows, NULL, row, sizeof row / sizeof *row);
        w->is_class_used[key[CLASS]] = 1;
    }
    end_rows(w, lives.keys.count <= MAX_LIVES);
}

/* Adds when the classes that are used are live. */
static void put_classes(const writer *w) {
    const popliner_profile *p = w->profile;
    pl_put_open(w->json, "classes", '[');
    for (size_t i = 0; i < p->num_classes; i++) {
        const bool is_there = w->is_class_used[i] != 0 && p->class_always_live[i] == 0;
        if (!pl_put_open_if(w->json, is_there, NULL, '['))
            continue;
        for (uint32_t k = p->class_ranges_start[i]; k < p->class_ranges_start[i + 1]; k++) {
            const uint64_t range[] = {p->range_first_step[k], p->range_end_step[k]};
            pl_page_put_numbers(w->json, NULL, range, 2);
        }
        pl_put_close(w->json);
    }
    pl_put_close(w->json);
}

/* ---- the variables of some tiles by address ---- */

/* Adds variables of a tile by address. */
static void put_variables(writer *w, size_t start, size_t end) {
    const popliner_profile *p = w->profile;
    keyed *sorted = pl_arrays_new(&w->arrays, end - start, sizeof *sorted);
    size_t count = 0;
    for (size_t i = start; sorted != NULL && i < end; i++)
        if (p->variable_size_bytes[i] > 0)
            sorted[count++] = (keyed){p->variable_offset[i], i};
    if (sorted != NULL)
        qsort(sorted, count, sizeof *sorted, compare_keyed);
    pl_put_open(w->json, "variables", '[');
    for (size_t k = 0; k < count; k++) {
        const size_t i = sorted[k].index;
        const uint32_t unlowered = p->variable_unlowered[i];
        const uint64_t row[] = {sorted[k].key, p->variable_size_bytes[i],
                                unlowered == PL_NONE ? 0 : (uint64_t)unlowered + 1,
                                p->variable_category[i], p->variable_class[i]};
        pl_page_put_numbers(w->json, NULL, row, sizeof row / sizeof *row);
        w->is_class_used[p->variable_class[i]] = 1;
    }
    pl_put_close(w->json);
}

/* Adds a tile with its variables, unless these are too many: then with its bytes by step alone, if
 * it is wanted. bytes[steps] is scratch, *count all variables so far. */
static popliner_status put_tile(writer *w, size_t tile, bool is_wanted, uint64_t *bytes,
                                size_t *count, popliner_error *error) {
    const popliner_profile *p = w->profile;
    const size_t start = p->tile_variables_start[tile];
    const size_t end = p->tile_variables_start[tile + 1];
    const bool has_room = *count + end - start <= (*count == 0 ? MAX_BOXES_OF_FULLEST : MAX_BOXES);
    if (!has_room && !is_wanted)
        return POPLINER_OK;
    PL_TRY(popliner_liveness_by_step(p, tile, NULL, 0, p->num_steps, bytes, error));
    pl_put_open(w->json, NULL, '{');
    pl_put_number(w->json, "tile", tile);
    if (has_room)
        put_variables(w, start, end);
    else
        pl_put_null(w->json, "variables");
    pl_page_put_numbers(w->json, "live_bytes", bytes, p->num_steps);
    pl_put_close(w->json);
    *count += has_room ? end - start : 0;
    return POPLINER_OK;
}

static popliner_status put_boxes(writer *w, const uint64_t *stage_tiles, size_t num_stages,
                                 popliner_error *error) {
    const popliner_profile *p = w->profile;
    const size_t num_tiles = p->target.num_tiles;
    uint64_t *live = pl_arrays_new(&w->arrays, num_tiles, sizeof *live);
    uint64_t *bytes = pl_arrays_new(&w->arrays, p->num_steps, sizeof *bytes);
    uint8_t *is_there = pl_arrays_new(&w->arrays, num_tiles, 1);
    for (size_t i = 0; live != NULL && i < num_tiles; i++)
        live[i] = p->tile_always_live_bytes[i] + p->tile_not_always_live_peak_bytes[i];
    const keyed *order = w->arrays.failed ? NULL : by_size(&w->arrays, live, num_tiles);
    popliner_status status = POPLINER_OK;
    size_t count = 0;
    pl_put_line(w->json);
    pl_put_open(w->json, "boxes", '[');
    /* the fullest one, those of the stages, the median one, and the next ones of the fullest */
    for (size_t k = 0; order != NULL && !w->arrays.failed && status == POPLINER_OK &&
                       k < num_stages + NUM_FULLEST + 1;
         k++) {
        const size_t tile = k == 0                ? order[0].index
                            : k <= num_stages     ? stage_tiles[k - 1]
                            : k == num_stages + 1 ? order[(num_tiles - 1) / 2].index
                                                  : order[(k - num_stages - 1) % num_tiles].index;
        if (is_there[tile] == 0)
            status = put_tile(w, tile, k <= num_stages, bytes, &count, error);
        is_there[tile] = 1;
    }
    pl_put_close(w->json);
    return status;
}

popliner_status pl_page_put_places(pl_json *json, const popliner_profile *profile,
                                   const pl_pass_usage *usage, const uint64_t *stage_tiles,
                                   size_t num_stages, popliner_error *error) {
    writer w = {.json = json, .profile = profile};
    PL_TRY(pl_profile_require_variables(profile, error));
    pl_pieces_find(&w.pieces, &w.arrays, profile);
    w.is_class_used = pl_arrays_new(&w.arrays, profile->num_classes, 1);
    if (w.arrays.failed) {
        pl_arrays_free(&w.arrays);
        return pl_fail_memory(error, "the variables of the page");
    }
    pl_put_open(json, "places", '{');
    put_named(&w);
    put_layers(&w, usage);
    put_lives(&w);
    pl_put_close(json);
    popliner_status status = put_boxes(&w, stage_tiles, num_stages, error);
    put_classes(&w);
    if (status == POPLINER_OK && w.arrays.failed)
        status = pl_fail_memory(error, "the variables of the page");
    pl_arrays_free(&w.arrays);
    return status;
}
