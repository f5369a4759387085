/* The variables of some tiles by address, and when they are live: of the tiles that matter most,
 * and those of stages as the compiler's rule would lay them out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/packed.h"
#include "profile/profile_data.h"

enum {
    NUM_FULLEST = 11, /* tiles, besides the median one and those of the caller */
    MAX_BOXES = 20000,
    MAX_BOXES_OF_FULLEST = 40000, /* which comes first */
};

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
    return x->index > y->index ? -1 : x->index < y->index;
}

/* The columns that are written. */
typedef struct boxes {
    pl_packed tiles, starts, offsets, sizes, variables, categories, classes;
    pl_packed ranges, firsts, ends;   /* of the classes: where those of each end, and they */
    pl_packed live_tiles, live_bytes; /* at each step */
    uint32_t *number;                 /* [classes]: of each in the columns, from 1; 0: not there */
    size_t num_classes;
    size_t num_ranges;
    size_t num_boxes;
} boxes;

/* Returns the number of a class in the columns, where its ranges are; 0 for one that is always
 * live. */
static size_t number_class(boxes *b, const popliner_profile *p, uint32_t class_index) {
    const uint32_t first = p->class_ranges_start[class_index];
    const uint32_t end = p->class_ranges_start[class_index + 1];
    if (p->class_always_live[class_index] != 0)
        return 0;
    if (b->number[class_index] != 0)
        return b->number[class_index];
    b->number[class_index] = (uint32_t)++b->num_classes;
    pl_packed_number(&b->ranges, b->num_ranges += end - first);
    for (uint32_t k = first; k < end; k++) {
        pl_packed_number(&b->firsts, p->range_first_step[k]);
        pl_packed_number(&b->ends, p->range_end_step[k]);
    }
    return b->num_classes;
}

/* Adds variables of a tile, whose keys are their addresses. */
static void add_boxes(boxes *b, const popliner_profile *p, size_t tile, keyed *sorted,
                      size_t count) {
    qsort(sorted, count, sizeof *sorted, compare_keyed);
    pl_packed_number(&b->tiles, tile);
    pl_packed_number(&b->starts, b->num_boxes + count);
    for (size_t k = 0; k < count; k++) {
        const size_t i = sorted[k].index;
        const uint32_t unlowered = p->variable_unlowered[i];
        pl_packed_number(&b->offsets, sorted[k].key);
        pl_packed_number(&b->sizes, p->variable_size_bytes[i]);
        pl_packed_number(&b->variables, unlowered == PL_NONE ? 0 : (uint64_t)unlowered + 1);
        pl_packed_number(&b->categories, p->variable_category[i]);
        pl_packed_number(&b->classes, number_class(b, p, p->variable_class[i]));
    }
}

/* Adds the bytes at each step that are not always live on a tile. False if memory is short. */
static bool add_live(boxes *b, const popliner_profile *p, size_t tile) {
    uint64_t *change = pl_new_array(p->num_steps + 1, sizeof *change);
    uint64_t sum = 0;
    if (change == NULL)
        return false;
    for (size_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t own = p->variable_class[i];
        if (p->class_always_live[own] != 0)
            continue;
        for (uint32_t k = p->class_ranges_start[own]; k < p->class_ranges_start[own + 1]; k++) {
            change[p->range_first_step[k]] += p->variable_size_bytes[i];
            change[p->range_end_step[k]] -= p->variable_size_bytes[i];
        }
    }
    pl_packed_number(&b->live_tiles, tile);
    for (size_t step = 0; step < p->num_steps; step++)
        pl_packed_number(&b->live_bytes, sum += change[step]);
    free(change);
    return true;
}

/* Adds the variables of a tile by address, unless they are too many, and its bytes by step, as for
 * each tile that is wanted. False if memory is short. */
static bool add_tile(boxes *b, const popliner_profile *p, size_t tile, bool is_wanted) {
    const size_t start = p->tile_variables_start[tile];
    const size_t most = p->tile_variables_start[tile + 1] - start;
    size_t count = 0;
    if (b->num_boxes + most > (b->num_boxes == 0 ? MAX_BOXES_OF_FULLEST : MAX_BOXES))
        return !is_wanted || add_live(b, p, tile);
    keyed *sorted = pl_new_array(most + 1, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = start; i < start + most; i++)
        if (p->variable_size_bytes[i] > 0)
            sorted[count++] = (keyed){p->variable_offset[i], i};
    add_boxes(b, p, tile, sorted, count);
    b->num_boxes += count;
    free(sorted);
    return add_live(b, p, tile);
}

static void put_columns(pl_json *json, boxes *b) {
    const struct {
        const char *name;
        pl_packed *column;
    } all[] = {
        {"tile", &b->tiles},       {"start", &b->starts},         {"offset", &b->offsets},
        {"size_bytes", &b->sizes}, {"variable", &b->variables},   {"category", &b->categories},
        {"class", &b->classes},    {"ranges", &b->ranges},        {"first", &b->firsts},
        {"end", &b->ends},         {"live_tile", &b->live_tiles}, {"live_bytes", &b->live_bytes},
    };
    pl_put_open(json, "boxes", '{');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pl_put_packed(json, all[i].name, all[i].column);
    pl_put_close(json);
}

popliner_status pl_page_put_boxes(pl_json *json, const popliner_profile *profile,
                                  const uint64_t *stage_tiles, size_t num_stages,
                                  popliner_error *error) {
    const popliner_profile *p = profile;
    const size_t all = p->target.num_tiles;
    const size_t num_wanted = num_stages + NUM_FULLEST + 1;
    boxes b = {.number = pl_new_array(p->num_classes + 1, sizeof *b.number)};
    keyed *order = pl_new_array(all + 1, sizeof *order); /* the fullest last */
    uint8_t *is_there = pl_new_array(all + 1, 1);
    bool memory = b.number != NULL && order != NULL && is_there != NULL;
    pl_packed_number(&b.starts, 0);
    pl_packed_number(&b.ranges, 0);
    for (size_t i = 0; memory && i < all; i++)
        order[i] = (keyed){p->tile_always_live_bytes[i] + p->tile_not_always_live_peak_bytes[i], i};
    if (memory)
        qsort(order, all, sizeof *order, compare_keyed);
    /* the fullest one, those of the stages, the median one, and the next ones of the fullest */
    for (size_t k = 0; memory && all > 0 && k < num_wanted; k++) {
        const size_t tile = k == 0            ? order[all - 1].index
                            : k <= num_stages ? stage_tiles[k - 1]
                            : k == num_stages + 1
                                ? order[all / 2].index
                                : order[all - 1 - (k - num_stages - 1) % all].index;
        if (tile < all && is_there[tile] == 0)
            memory = add_tile(&b, p, tile, k <= num_stages);
        is_there[tile < all ? tile : all] = 1;
    }
    put_columns(json, &b);
    free(b.number);
    free(order);
    free(is_there);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the boxes of tiles");
}
