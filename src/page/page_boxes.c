/* The variables of some tiles by address, and when they are live: of the tiles that matter most,
 * and those of stages as the compiler's rule would lay them out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "page/page_data.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/packed.h"
#include "memory/placement.h"
#include "profile/profile_data.h"

enum {
    NUM_FULLEST = 11, /* tiles, besides the median one and those of the caller */
    MAX_BOXES = 20000,
    MAX_BOXES_OF_FULLEST = 40000, /* which comes first */
    MAX_STAGE_BOXES = 10000,
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
    pl_packed tiles, stages, counts, offsets, sizes, variables, categories, classes;
    pl_packed ranges, firsts, ends; /* of the classes */
    uint32_t *number;               /* [classes]: of each in the columns, from 1; 0: not there */
    size_t num_classes;
    size_t num_boxes;
    size_t num_stage_boxes;
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
    pl_packed_number(&b->ranges, end - first);
    for (uint32_t k = first; k < end; k++) {
        pl_packed_number(&b->firsts, p->range_first_step[k]);
        pl_packed_number(&b->ends, p->range_end_step[k]);
    }
    return b->num_classes;
}

/* Adds variables of a tile, whose keys are their addresses; of a stage, counted from 1, or of the
 * profile: 0. */
static void add_boxes(boxes *b, const popliner_profile *p, size_t tile, size_t stage, keyed *sorted,
                      size_t count) {
    qsort(sorted, count, sizeof *sorted, compare_keyed);
    pl_packed_number(&b->tiles, tile);
    pl_packed_number(&b->stages, stage);
    pl_packed_number(&b->counts, count);
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

/* Adds the variables of a tile by address, unless they are too many. False if memory is short. */
static bool add_tile(boxes *b, const popliner_profile *p, size_t tile) {
    const size_t start = p->tile_variables_start[tile];
    const size_t most = p->tile_variables_start[tile + 1] - start;
    size_t count = 0;
    if (b->num_boxes + most > (b->num_boxes == 0 ? MAX_BOXES_OF_FULLEST : MAX_BOXES))
        return true;
    keyed *sorted = pl_new_array(most + 1, sizeof *sorted);
    if (sorted == NULL)
        return false;
    for (size_t i = start; i < start + most; i++)
        if (p->variable_size_bytes[i] > 0)
            sorted[count++] = (keyed){p->variable_offset[i], i};
    add_boxes(b, p, tile, 0, sorted, count);
    b->num_boxes += count;
    free(sorted);
    return true;
}

/* ---- stages ---- */

static bool is_touched(const pl_page_boxed *from, const pl_page_boxed_stage *stage,
                       size_t variable) {
    const pl_unit_sets *sets = &from->usage->sets;
    for (uint32_t s = pl_unit_usage_of(from->usage, variable); s != 0; s = sets->rest[s]) {
        const size_t unit = sets->last_unit[s] % from->num_units;
        if (stage->first_unit <= unit && unit <= stage->last_unit)
            return true;
    }
    return false;
}

/* Lays out what operations of a stage touch on its tile, in the order of the profile, and adds it,
 * unless it is too much. False if memory is short. */
static bool add_stage(boxes *b, const popliner_profile *p, pl_placer *placer,
                      const pl_page_boxed *from, size_t number) {
    const pl_page_boxed_stage *stage = &from->stages[number];
    const pl_lives lives = {p->class_ranges_start, p->range_first_step, p->range_end_step};
    const pl_item *all = NULL;
    size_t num_all = 0;
    size_t count = 0;
    uint64_t end = 0;
    if (!pl_placer_replay(placer, stage->tile, &all, &num_all, &end))
        return false;
    pl_item *items = pl_new_array(num_all + 1, sizeof *items);
    keyed *sorted = pl_new_array(num_all + 1, sizeof *sorted);
    for (size_t i = 0; items != NULL && i < num_all; i++)
        if (is_touched(from, stage, all[i].variable))
            items[count++] = all[i];
    const bool has_room = b->num_stage_boxes + count <= MAX_STAGE_BOXES;
    const bool memory = items != NULL && sorted != NULL &&
                        pl_placer_place(placer, stage->tile, &lives, items, count, &end);
    for (size_t i = 0; memory && i < count; i++)
        sorted[i] = (keyed){items[i].address, items[i].variable};
    if (memory && has_room && count > 0) {
        add_boxes(b, p, stage->tile, number + 1, sorted, count);
        b->num_stage_boxes += count;
    }
    free(items);
    free(sorted);
    return memory;
}

static bool add_stages(boxes *b, const popliner_profile *p, const pl_page_boxed *from) {
    pl_placer *placer = pl_placer_create(p);
    bool memory = placer != NULL;
    for (size_t k = 0; memory && k < from->num_stages; k++)
        memory = add_stage(b, p, placer, from, k);
    pl_placer_free(placer);
    return memory;
}

static void put_columns(pl_json *json, boxes *b) {
    const struct {
        const char *name;
        pl_packed *column;
    } all[] = {
        {"tile", &b->tiles},          {"stage", &b->stages},     {"count", &b->counts},
        {"offset", &b->offsets},      {"size_bytes", &b->sizes}, {"variable", &b->variables},
        {"category", &b->categories}, {"class", &b->classes},    {"ranges", &b->ranges},
        {"first", &b->firsts},        {"end", &b->ends},
    };
    pl_put_open(json, "boxes", '{');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        pl_put_packed(json, all[i].name, all[i].column);
    pl_put_close(json);
}

popliner_status pl_page_put_boxes(pl_json *json, const popliner_profile *profile,
                                  const pl_page_boxed *from, popliner_error *error) {
    const popliner_profile *p = profile;
    const size_t all = p->target.num_tiles;
    const size_t num_tiles = from->num_stages;
    const size_t num_wanted = num_tiles + NUM_FULLEST + 1;
    boxes b = {.number = pl_new_array(p->num_classes + 1, sizeof *b.number)};
    keyed *order = pl_new_array(all + 1, sizeof *order); /* the fullest last */
    uint8_t *is_there = pl_new_array(all + 1, 1);
    bool memory = b.number != NULL && order != NULL && is_there != NULL;
    for (size_t i = 0; memory && i < all; i++)
        order[i] = (keyed){p->tile_always_live_bytes[i] + p->tile_not_always_live_peak_bytes[i], i};
    if (memory)
        qsort(order, all, sizeof *order, compare_keyed);
    /* the fullest one, those of the stages, the median one, and the next ones of the fullest */
    for (size_t k = 0; memory && all > 0 && k < num_wanted; k++) {
        const size_t tile = k == 0               ? order[all - 1].index
                            : k <= num_tiles     ? from->stages[k - 1].tile
                            : k == num_tiles + 1 ? order[all / 2].index
                                                 : order[all - 1 - (k - num_tiles - 1) % all].index;
        if (tile < all && is_there[tile] == 0)
            memory = add_tile(&b, p, tile);
        is_there[tile < all ? tile : all] = 1;
    }
    memory = memory && add_stages(&b, p, from);
    put_columns(json, &b);
    free(b.number);
    free(order);
    free(is_there);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the boxes of tiles");
}
