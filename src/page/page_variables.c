/* Where the variables of a profile are and when they live: two walks over all lowered variables,
 * each shared among threads by blocks of tiles. The first finds the rows that there are, the second
 * fills them for one block after another and writes them at once, so that no table of all rows and
 * tiles is ever held.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/failure.h"
#include "base/packed.h"
#include "base/threads.h"
#include "profile/profile_data.h"

enum {
    TILES_OF_BLOCK = PL_PACKED_BLOCK,
    MAX_NAMED = 12000,         /* unlowered variables that are looked at */
    MAX_NAMED_BYTES = 1500000, /* of their rows, before they are text */
    MAX_LIVES = 60000,
};

/* The bytes of an unlowered variable (or of none: PL_NONE) in one category and class. */
typedef struct life {
    uint64_t bytes; /* 0: this place is empty */
    uint32_t unlowered;
    uint32_t class_index;
    uint8_t category;
} life;

/* An open hash table of them; its capacity is a power of two. */
typedef struct lives {
    life *places;
    size_t capacity;
    size_t count;
} lives;

/* One thread's part. */
typedef struct worker {
    uint8_t *is_named;   /* [num_named * num_categories]: there are such pieces */
    uint8_t *is_used;    /* [sets * num_categories] */
    uint32_t named_bits; /* all that is set in some size of these */
    uint32_t used_bits;
    uint64_t *named;      /* [TILES_OF_BLOCK][named rows] */
    uint64_t *used;       /* [sets * num_categories]: of one tile */
    uint64_t *layers;     /* [layer rows * TILES_OF_BLOCK] */
    uint64_t *row_length; /* [named rows]: of what was written of each */
    lives lives;
} worker;

typedef struct task {
    const popliner_profile *profile;
    const pl_pass_usage *usage;
    size_t num_units;
    size_t num_workers;
    size_t num_blocks;
    size_t num_named;
    uint32_t *named;       /* [num_named]: unlowered variables, the largest first */
    uint32_t *place;       /* [num_unlowered]: in named, or PL_NONE */
    uint32_t *row;         /* [num_named * num_categories], or PL_NONE */
    uint32_t *first_row;   /* [num_unlowered]: the first of its rows, or PL_NONE */
    uint8_t *row_category; /* [num_rows] */
    size_t num_rows;
    uint32_t *unit_row; /* [num_units * num_categories], or PL_NONE */
    size_t num_unit_rows;
    unsigned named_shift;
    unsigned layer_shift;
    pl_text *named_blocks; /* [num_blocks] */
    pl_text *layer_blocks;
    worker *workers;  /* [num_workers] */
    pl_arrays arrays; /* of these and of the workers, all but lives */
} task;

/* ---- lives ---- */

static size_t place_of(const lives *all, const life *item) {
    uint64_t key = ((uint64_t)item->unlowered << 32 | item->class_index) ^ (uint64_t)item->category
                                                                               << 24;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    size_t place = (size_t)(key >> 32) & (all->capacity - 1);
    for (;; place = (place + 1) & (all->capacity - 1)) {
        const life *other = &all->places[place];
        if (other->bytes == 0 ||
            (other->unlowered == item->unlowered && other->class_index == item->class_index &&
             other->category == item->category))
            return place;
    }
}

static bool grow_lives(lives *all) {
    lives larger = {NULL, all->capacity == 0 ? 1024 : 2 * all->capacity, all->count};
    larger.places = pl_new_array(larger.capacity, sizeof *larger.places);
    if (larger.places == NULL)
        return false;
    for (size_t i = 0; i < all->capacity; i++)
        if (all->places[i].bytes > 0)
            larger.places[place_of(&larger, &all->places[i])] = all->places[i];
    free(all->places);
    *all = larger;
    return true;
}

static bool add_life(lives *all, const life *item) {
    if (2 * all->count >= all->capacity && !grow_lives(all))
        return false;
    life *place = &all->places[place_of(all, item)];
    if (place->bytes > 0) {
        place->bytes += item->bytes;
    } else {
        *place = *item;
        all->count++;
    }
    return true;
}

static int compare_larger(const void *a, const void *b) {
    const life *x = a;
    const life *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->unlowered != y->unlowered)
        return x->unlowered < y->unlowered ? -1 : 1;
    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    return x->class_index < y->class_index ? -1 : x->class_index > y->class_index;
}

static void tiles_of_block(const task *t, size_t block, size_t *first, size_t *end) {
    size_t num_tiles = t->profile->target.num_tiles;
    *first = block * TILES_OF_BLOCK;
    *end = *first + TILES_OF_BLOCK < num_tiles ? *first + TILES_OF_BLOCK : num_tiles;
}

/* ---- the first walk ---- */

static bool find_rows_of_block(void *user, size_t number, size_t block) {
    const task *t = user;
    const popliner_profile *p = t->profile;
    worker *w = &t->workers[number];
    size_t first, end;
    tiles_of_block(t, block, &first, &end);
    for (size_t i = p->tile_variables_start[first]; i < p->tile_variables_start[end]; i++) {
        uint32_t unlowered = p->variable_unlowered[i];
        uint32_t set = pl_unit_usage_of(&t->usage->usage, i);
        if (p->variable_size_bytes[i] == 0)
            continue;
        if (unlowered != PL_NONE && t->place[unlowered] != PL_NONE) {
            w->is_named[t->place[unlowered] * p->num_categories + p->variable_category[i]] = 1;
            w->named_bits |= p->variable_size_bytes[i];
        }
        if (set != 0) {
            w->is_used[set * p->num_categories + p->variable_category[i]] = 1;
            w->used_bits |= p->variable_size_bytes[i];
        }
    }
    return true;
}

/* ---- the second walk ---- */

static bool fill_tile(const task *t, worker *w, size_t tile, size_t place) {
    const popliner_profile *p = t->profile;
    const size_t num_categories = p->num_categories;
    const size_t num_sets = t->usage->usage.sets.count;
    uint64_t *named = w->named + place * t->num_rows;
    bool memory = true;
    memset(w->used, 0, num_sets * num_categories * sizeof *w->used);
    for (size_t i = p->tile_variables_start[tile]; memory && i < p->tile_variables_start[tile + 1];
         i++) {
        uint32_t unlowered = p->variable_unlowered[i];
        uint32_t set = pl_unit_usage_of(&t->usage->usage, i);
        uint32_t size_bytes = p->variable_size_bytes[i];
        uint8_t category = p->variable_category[i];
        if (size_bytes == 0)
            continue;
        uint32_t row = unlowered != PL_NONE ? t->first_row[unlowered] : PL_NONE;
        if (row != PL_NONE) {
            while (t->row_category[row] != category) /* mostly it has one */
                row++;
            named[row] += size_bytes;
        }
        if (set != 0)
            w->used[set * num_categories + category] += size_bytes;
        if (p->class_always_live[p->variable_class[i]] == 0) {
            const life item = {size_bytes, unlowered, p->variable_class[i], category};
            memory = add_life(&w->lives, &item);
        }
    }
    return memory;
}

static const uint64_t *units_of(const task *t, size_t set) {
    return pl_bits_at(&t->usage->sets, t->usage->uses[set].counting.touching);
}

/* From what sets of units touch on a tile to what each unit does. */
static void fill_layers(const task *t, worker *w, size_t place) {
    const size_t num_categories = t->profile->num_categories;
    for (size_t set = 1; set < t->usage->usage.sets.count; set++) {
        const uint64_t *units = units_of(t, set);
        for (size_t category = 0; category < num_categories; category++) {
            uint64_t bytes = w->used[set * num_categories + category];
            for (size_t unit = bytes == 0 ? t->num_units : pl_bits_next(units, 0, t->num_units);
                 unit < t->num_units; unit = pl_bits_next(units, unit + 1, t->num_units))
                w->layers[(size_t)t->unit_row[unit * num_categories + category] * TILES_OF_BLOCK +
                          place] += bytes;
        }
    }
}

static bool fill_block(void *user, size_t number, size_t block) {
    const task *t = user;
    worker *w = &t->workers[number];
    pl_text *named = &t->named_blocks[block];
    pl_text *layers = &t->layer_blocks[block];
    size_t first, end;
    tiles_of_block(t, block, &first, &end);
    memset(w->named, 0, t->num_rows * TILES_OF_BLOCK * sizeof *w->named);
    memset(w->layers, 0, t->num_unit_rows * TILES_OF_BLOCK * sizeof *w->layers);
    for (size_t tile = first; tile < end; tile++) {
        if (!fill_tile(t, w, tile, tile - first))
            return false;
        fill_layers(t, w, tile - first);
    }
    for (size_t row = 0; row < t->num_rows; row++) {
        size_t before = named->length;
        uint64_t numbers[TILES_OF_BLOCK];
        for (size_t place = 0; place < end - first; place++)
            numbers[place] = w->named[place * t->num_rows + row];
        pl_packed_block(named, numbers, end - first, t->named_shift);
        w->row_length[row] += named->length - before;
    }
    for (size_t row = 0; row < t->num_unit_rows; row++)
        pl_packed_block(layers, w->layers + row * TILES_OF_BLOCK, end - first, t->layer_shift);
    return !named->failed && !layers->failed;
}

/* ---- the rows ---- */

/* For qsort: an unlowered variable and its bytes. */
typedef struct sized {
    uint64_t bytes;
    uint32_t unlowered;
} sized;

static int compare_sized(const void *a, const void *b) {
    const sized *x = a;
    const sized *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->unlowered < y->unlowered ? -1 : x->unlowered > y->unlowered;
}

/* Chooses the unlowered variables that are looked at. */
static bool choose_named(task *t) {
    const popliner_profile *p = t->profile;
    sized *all = pl_new_array(p->num_unlowered, sizeof *all);
    t->place = pl_arrays_new(&t->arrays, p->num_unlowered, sizeof *t->place);
    t->named = pl_arrays_new(&t->arrays, MAX_NAMED, sizeof *t->named);
    bool memory = all != NULL && !t->arrays.failed;
    if (memory) {
        for (size_t i = 0; i < p->num_unlowered; i++) {
            all[i] = (sized){p->unlowered_size_bytes[i], (uint32_t)i};
            t->place[i] = PL_NONE;
        }
        qsort(all, p->num_unlowered, sizeof *all, compare_sized);
        for (; t->num_named < p->num_unlowered && t->num_named < MAX_NAMED; t->num_named++) {
            t->named[t->num_named] = all[t->num_named].unlowered;
            t->place[all[t->num_named].unlowered] = (uint32_t)t->num_named;
        }
    }
    free(all);
    return memory;
}

static bool begin_workers(task *t) {
    const size_t num_categories = t->profile->num_categories;
    const size_t num_used = t->usage->usage.sets.count * num_categories;
    t->workers = pl_arrays_new(&t->arrays, t->num_workers, sizeof *t->workers);
    for (size_t i = 0; t->workers != NULL && i < t->num_workers; i++) {
        worker *w = &t->workers[i];
        w->is_named = pl_arrays_new(&t->arrays, t->num_named * num_categories, 1);
        w->is_used = pl_arrays_new(&t->arrays, num_used, 1);
        w->used = pl_arrays_new(&t->arrays, num_used, sizeof *w->used);
    }
    return !t->arrays.failed;
}

static unsigned lowest_bit(uint32_t bits) {
    unsigned shift = 0;
    while (bits != 0 && (bits >> shift & 1) == 0)
        shift++;
    return shift;
}

/* Notes where the rows of each unlowered variable are, one after the other, and their category. */
static bool list_rows(task *t) {
    const size_t num_categories = t->profile->num_categories;
    t->first_row = pl_arrays_new(&t->arrays, t->profile->num_unlowered, sizeof *t->first_row);
    t->row_category = pl_arrays_new(&t->arrays, t->num_rows, sizeof *t->row_category);
    if (t->arrays.failed)
        return false;
    for (size_t i = 0; i < t->profile->num_unlowered; i++)
        t->first_row[i] = PL_NONE;
    for (size_t i = t->num_named * num_categories; i-- > 0;) {
        if (t->row[i] == PL_NONE)
            continue;
        t->first_row[t->named[i / num_categories]] = t->row[i];
        t->row_category[t->row[i]] = (uint8_t)(i % num_categories);
    }
    return true;
}

/* Numbers the rows that some worker has met, and makes room for them. */
static bool number_rows(task *t) {
    const size_t num_categories = t->profile->num_categories;
    uint32_t named_bits = 0;
    uint32_t used_bits = 0;
    t->row = pl_arrays_new(&t->arrays, t->num_named * num_categories, sizeof *t->row);
    t->unit_row = pl_arrays_new(&t->arrays, t->num_units * num_categories, sizeof *t->unit_row);
    t->named_blocks = pl_arrays_new(&t->arrays, t->num_blocks, sizeof *t->named_blocks);
    t->layer_blocks = pl_arrays_new(&t->arrays, t->num_blocks, sizeof *t->layer_blocks);
    bool memory = !t->arrays.failed;
    for (size_t k = 1; memory && k < t->num_workers; k++) {
        for (size_t i = 0; i < t->num_named * num_categories; i++)
            t->workers[0].is_named[i] |= t->workers[k].is_named[i];
        for (size_t i = 0; i < t->usage->usage.sets.count * num_categories; i++)
            t->workers[0].is_used[i] |= t->workers[k].is_used[i];
    }
    for (size_t k = 0; memory && k < t->num_workers; k++) {
        named_bits |= t->workers[k].named_bits;
        used_bits |= t->workers[k].used_bits;
    }
    t->named_shift = lowest_bit(named_bits);
    t->layer_shift = lowest_bit(used_bits);
    for (size_t i = 0; memory && i < t->num_named * num_categories; i++)
        t->row[i] = t->workers[0].is_named[i] != 0 ? (uint32_t)t->num_rows++ : PL_NONE;
    memory = memory && list_rows(t);
    for (size_t i = 0; memory && i < t->num_units * num_categories; i++)
        t->unit_row[i] = PL_NONE;
    for (size_t set = 1; memory && set < t->usage->usage.sets.count; set++)
        for (size_t category = 0; category < num_categories; category++)
            if (t->workers[0].is_used[set * num_categories + category] != 0)
                for (size_t unit = 0; unit < t->num_units; unit++)
                    if (pl_bits_has(units_of(t, set), unit))
                        t->unit_row[unit * num_categories + category] = 0;
    for (size_t i = 0; memory && i < t->num_units * num_categories; i++)
        if (t->unit_row[i] == 0)
            t->unit_row[i] = (uint32_t)t->num_unit_rows++;
    for (size_t k = 0; memory && k < t->num_workers; k++) {
        worker *w = &t->workers[k];
        w->named = pl_arrays_new(&t->arrays, t->num_rows * TILES_OF_BLOCK, sizeof *w->named);
        w->layers = pl_arrays_new(&t->arrays, t->num_unit_rows * TILES_OF_BLOCK, sizeof *w->layers);
        w->row_length = pl_arrays_new(&t->arrays, t->num_rows, sizeof *w->row_length);
    }
    return memory && !t->arrays.failed;
}

/* ---- the rows that a page has ---- */

/* How many rows there is room for. */
static size_t count_held(const task *t) {
    uint64_t length = 0;
    for (size_t row = 0; row < t->num_rows; row++) {
        for (size_t k = 0; k < t->num_workers; k++)
            length += t->workers[k].row_length[row];
        if (length > MAX_NAMED_BYTES)
            return row;
    }
    return t->num_rows;
}

/* The length of the first rows of a block. */
static size_t length_of_rows(const pl_text *block, size_t num_rows, size_t num_tiles) {
    size_t at = 0;
    for (size_t row = 0; row < num_rows; row++) {
        size_t width = (unsigned char)block->data[at++];
        while ((unsigned char)block->data[at++] >= 0x80) {
        }
        at += (width * num_tiles + 7) / 8;
    }
    return at;
}

/* The rows of [things * num_categories], as far as they are held. */
typedef struct table {
    const char *name;
    const char *thing;
    const uint32_t *row; /* of each, or PL_NONE */
    size_t num_things;
    bool are_all_things;
    const uint32_t *numbers; /* [num_things]: what each is called; NULL: by its place */
    const pl_text *blocks;
    size_t held;
    size_t all;
    unsigned shift;
} table;

static void put_rows(pl_json *json, const task *t, const table *own) {
    const size_t num_categories = t->profile->num_categories;
    pl_packed things = {0};
    pl_packed categories = {0};
    pl_packed tiles = {0};
    for (size_t i = 0; i < own->num_things * num_categories; i++)
        if (own->row[i] < own->held) {
            size_t number = i / num_categories;
            pl_packed_number(&things, own->numbers != NULL ? own->numbers[number] : number);
            pl_packed_number(&categories, i % num_categories);
        }
    for (size_t block = 0; own->held > 0 && block < t->num_blocks; block++) {
        size_t first, end;
        tiles_of_block(t, block, &first, &end);
        pl_text_append(&tiles.bytes, own->blocks[block].data,
                       own->held == own->all
                           ? own->blocks[block].length
                           : length_of_rows(&own->blocks[block], own->held, end - first));
    }
    pl_put_open(json, own->name, '{');
    pl_put_flag(json, "is_whole", own->held == own->all && own->are_all_things);
    pl_put_number(json, "shift", own->shift);
    pl_put_packed(json, own->thing, &things);
    pl_put_packed(json, "category", &categories);
    pl_put_packed(json, "tiles", &tiles);
    pl_put_close(json);
}

/* All lives of all workers, the largest first. */
static bool gather_lives(task *t, life **items, size_t *count) {
    lives *all = &t->workers[0].lives;
    bool memory = true;
    for (size_t k = 1; memory && k < t->num_workers; k++)
        for (size_t i = 0; memory && i < t->workers[k].lives.capacity; i++)
            if (t->workers[k].lives.places[i].bytes > 0)
                memory = add_life(all, &t->workers[k].lives.places[i]);
    *count = 0;
    *items = pl_new_array(all->count, sizeof **items);
    for (size_t i = 0; memory && *items != NULL && i < all->capacity; i++)
        if (all->places[i].bytes > 0)
            (*items)[(*count)++] = all->places[i];
    if (*items != NULL)
        qsort(*items, *count, sizeof **items, compare_larger);
    return memory && *items != NULL;
}

static bool put_lives(pl_json *json, task *t) {
    const popliner_profile *p = t->profile;
    life *items = NULL;
    size_t all = 0;
    size_t num_classes = 0;
    uint32_t *number = pl_new_array(p->num_classes, sizeof *number); /* plus 1 */
    pl_packed variables = {0}, categories = {0}, classes = {0}, sizes = {0};
    pl_packed counts = {0}, firsts = {0}, ends = {0};
    bool memory = number != NULL && gather_lives(t, &items, &all);
    for (size_t i = 0; memory && i < all && i < MAX_LIVES; i++) {
        const uint32_t class_index = items[i].class_index;
        if (number[class_index] == 0) {
            const uint32_t first = p->class_ranges_start[class_index];
            const uint32_t end = p->class_ranges_start[class_index + 1];
            number[class_index] = (uint32_t)++num_classes;
            pl_packed_number(&counts, end - first);
            for (uint32_t k = first; k < end; k++) {
                pl_packed_number(&firsts, p->range_first_step[k]);
                pl_packed_number(&ends, p->range_end_step[k]);
            }
        }
        pl_packed_number(&variables,
                         items[i].unlowered == PL_NONE ? 0 : (uint64_t)items[i].unlowered + 1);
        pl_packed_number(&categories, items[i].category);
        pl_packed_number(&classes, number[class_index] - 1);
        pl_packed_number(&sizes, items[i].bytes);
    }
    free(items);
    free(number);
    pl_put_open(json, "lives", '{');
    pl_put_flag(json, "is_whole", memory && all <= MAX_LIVES);
    pl_put_packed(json, "variable", &variables);
    pl_put_packed(json, "category", &categories);
    pl_put_packed(json, "class", &classes);
    pl_put_packed(json, "bytes", &sizes);
    pl_put_close(json);
    pl_put_open(json, "classes", '{');
    pl_put_packed(json, "ranges", &counts);
    pl_put_packed(json, "first", &firsts);
    pl_put_packed(json, "end", &ends);
    pl_put_close(json);
    return memory;
}

static void clear(task *t) {
    for (size_t i = 0; t->workers != NULL && i < t->num_workers; i++)
        free(t->workers[i].lives.places);
    for (size_t i = 0; t->named_blocks != NULL && i < t->num_blocks; i++)
        free(t->named_blocks[i].data);
    for (size_t i = 0; t->layer_blocks != NULL && i < t->num_blocks; i++)
        free(t->layer_blocks[i].data);
    pl_arrays_free(&t->arrays);
}

popliner_status pl_page_put_variables(pl_json *json, const popliner_profile *profile,
                                      const pl_pass_usage *usage, size_t num_threads,
                                      popliner_error *error) {
    task t = {.profile = profile, .usage = usage, .num_units = usage->num_units};
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    t.num_blocks = (profile->target.num_tiles + TILES_OF_BLOCK - 1) / TILES_OF_BLOCK;
    t.num_workers = num_threads != 0 ? num_threads : pl_machine_processors();
    t.num_workers = t.num_workers < t.num_blocks ? t.num_workers : t.num_blocks;
    t.num_workers = t.num_workers > 0 ? t.num_workers : 1;
    pl_parallel work = {t.num_workers, t.num_blocks, find_rows_of_block, NULL, &t, NULL};
    bool memory = choose_named(&t) && begin_workers(&t) && pl_parallel_run(&work) == t.num_blocks &&
                  number_rows(&t);
    work.task = fill_block;
    memory = memory && pl_parallel_run(&work) == t.num_blocks;
    if (memory) {
        const table named = {"named",
                             "variable",
                             t.row,
                             t.num_named,
                             t.num_named == profile->num_unlowered,
                             t.named,
                             t.named_blocks,
                             count_held(&t),
                             t.num_rows,
                             t.named_shift};
        const table layers = {
            "layers", "unit",         t.unit_row,      t.num_units,     true,
            NULL,     t.layer_blocks, t.num_unit_rows, t.num_unit_rows, t.layer_shift};
        pl_put_open(json, "places", '{');
        pl_put_number(json, "block", TILES_OF_BLOCK);
        put_rows(json, &t, &named);
        put_rows(json, &t, &layers);
        memory = put_lives(json, &t);
        pl_put_close(json);
    }
    clear(&t);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the variables of the page");
}
