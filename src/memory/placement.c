/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_data.h"

/* The first bytes of each tile are kept free. */
enum { RESERVED_BYTES = 16 };

/* Addresses [first, end). */
typedef struct extent {
    uint64_t first;
    uint64_t end;
} extent;

/* Extents that ascend and do not touch each other. Free `items`. */
typedef struct extents {
    extent *items;
    size_t count;
    size_t capacity;
} extents;

/* An item that is not always live, and the steps from its first to its last one. */
typedef struct temporary {
    extent at;
    uint32_t first_step;
    uint32_t end_step;
    uint32_t life;
} temporary;

struct pl_placer {
    const popliner_profile *profile;
    size_t num_elements;    /* at least 1 */
    const uint64_t *begins; /* of the elements */
    uint8_t *kinds;         /* [num_elements]: KIND_... of what lies there */
    uint32_t *forbidden;    /* [num_elements]: the last item, plus 1, that must not lie there */
    extents always;         /* in use by what is always live */
    extents all;            /* in use at any time */
    temporary *temporaries; /* as placed */
    size_t num_temporaries;
    size_t temporary_capacity;
    uint32_t *by_address; /* [num_temporaries]: indices, ascending by their first address */
    size_t by_address_capacity;
    uint64_t *address; /* by variable of the tile; 0: not placed */
    pl_item *items;    /* of a replay, like keys: [the most variables of a tile] */
    pl_id_entry *keys;
    pl_arrays arrays; /* own what does not grow */
};

enum { KIND_CODE = 1, KIND_DATA = 2 };

static const uint64_t no_elements[] = {0};

pl_placer *pl_placer_create(const popliner_profile *p) {
    size_t most = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        size_t count = (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        most = count > most ? count : most;
    }
    pl_placer *placer = calloc(1, sizeof *placer);
    if (placer == NULL)
        return NULL;
    placer->profile = p;
    placer->num_elements = p->num_elements > 0 ? p->num_elements : 1;
    placer->begins = p->num_elements > 0 ? p->element_offset : no_elements;
    pl_arrays *arrays = &placer->arrays;
    placer->kinds = pl_arrays_new(arrays, placer->num_elements, sizeof *placer->kinds);
    placer->forbidden = pl_arrays_new(arrays, placer->num_elements, sizeof *placer->forbidden);
    placer->address = pl_arrays_new(arrays, most, sizeof *placer->address);
    placer->items = pl_arrays_new(arrays, most, sizeof *placer->items);
    placer->keys = pl_arrays_new(arrays, most, sizeof *placer->keys);
    if (arrays->failed) {
        pl_placer_free(placer);
        return NULL;
    }
    return placer;
}

void pl_placer_free(pl_placer *placer) {
    if (placer == NULL)
        return;
    free(placer->always.items);
    free(placer->all.items);
    free(placer->temporaries);
    free(placer->by_address);
    pl_arrays_free(&placer->arrays);
    free(placer);
}

/* ---- Extents ---- */

/* Returns the position of the first extent that ends at `address` or later. */
static size_t extents_place(const extents *all, uint64_t address) {
    size_t low = 0;
    size_t high = all->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all->items[middle].end < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds addresses, merged with those that they touch. False if memory is short. */
static bool extents_add(extents *all, extent added) {
    size_t place = extents_place(all, added.first);
    size_t end = place;
    for (; end < all->count && all->items[end].first <= added.end; end++) {
        added.first = all->items[end].first < added.first ? all->items[end].first : added.first;
        added.end = all->items[end].end > added.end ? all->items[end].end : added.end;
    }
    if (!pl_grow(&all->items, &all->capacity, all->count + 1, sizeof *all->items))
        return false;
    memmove(all->items + place + 1, all->items + end, (all->count - end) * sizeof *all->items);
    all->items[place] = added;
    all->count += place + 1 - end;
    return true;
}

/* ---- Elements ---- */

/* Returns the element of an address. */
static size_t element_of(const pl_placer *placer, uint64_t address) {
    size_t low = 1;
    size_t high = placer->num_elements;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (placer->begins[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

/* Forbids the item `mark` - 1 the elements of the variables that it must not share one with. */
static void forbid(pl_placer *placer, const pl_item *item, uint32_t mark, uint64_t first_variable,
                   uint64_t end_variable) {
    const popliner_profile *p = placer->profile;
    size_t low = 0;
    size_t high = item->variable == PL_NONE ? 0 : p->num_apart;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->apart_variable[middle] < item->variable)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->num_apart && p->apart_variable[low] == item->variable; low++) {
        uint32_t other = p->apart_from[low];
        if (other < first_variable || other >= end_variable)
            continue;
        uint64_t address = placer->address[other - first_variable];
        if (address == 0)
            continue;
        size_t last = element_of(placer, address + p->variable_size_bytes[other] - 1);
        for (size_t e = element_of(placer, address); e <= last; e++)
            placer->forbidden[e] = mark;
    }
}

/* ---- First fit ---- */

static bool meet(const pl_lives *lives, const temporary *a, const temporary *b) {
    if (a->first_step >= b->end_step || b->first_step >= a->end_step)
        return false;
    uint32_t i = lives->start[a->life];
    uint32_t k = lives->start[b->life];
    while (i < lives->start[a->life + 1] && k < lives->start[b->life + 1]) {
        if (lives->end_step[i] <= lives->first_step[k])
            i++;
        else if (lives->end_step[k] <= lives->first_step[i])
            k++;
        else
            return true;
    }
    return false;
}

/* A search for the place of an item. */
typedef struct search {
    pl_placer *placer;
    const pl_lives *lives;
    const pl_item *item;
    const extents *taken; /* by what is live with the item in any case */
    const temporary *own; /* the item, if it is not always live, else NULL */
    uint32_t mark;        /* of its forbidden elements */
} search;

/* Returns the lowest address from `at` on, which lies in element `first`, where the item lies in no
 * element that it is forbidden. In the last element, which has no end, nothing is forbidden. */
static uint64_t leave_elements(const search *s, uint64_t at, size_t first) {
    const pl_placer *placer = s->placer;
    const uint8_t other_kind =
        (s->item->placing & PL_PLACING_EXECUTABLE) != 0 ? KIND_DATA : KIND_CODE;
    uint64_t last_moved = at;
    for (size_t e = first; e + 1 < placer->num_elements; e++) {
        if (placer->forbidden[e] == s->mark || (placer->kinds[e] & other_kind) != 0)
            last_moved = placer->begins[e + 1];
        if (placer->begins[e + 1] >= at + s->item->size_bytes)
            break;
    }
    return last_moved;
}

/* Returns the lowest address where the item fits. */
static uint64_t first_fit(const search *s) {
    const pl_placer *placer = s->placer;
    const uint64_t size_bytes = s->item->size_bytes;
    const uint64_t step = UINT64_C(1) << (s->item->placing & PL_PLACING_ALIGNMENT);
    const size_t num_temporaries = s->own == NULL ? 0 : placer->num_temporaries;
    size_t i = 0; /* of the extents: those below end at `at` or before */
    size_t k = 0; /* of the temporaries: those below end there, too, or are never in the way */
    size_t element = 0; /* of `at` */
    uint64_t at = RESERVED_BYTES;
    for (;;) {
        at = (at + step - 1) & ~(step - 1);
        while (i < s->taken->count && s->taken->items[i].end <= at)
            i++;
        if (i < s->taken->count && s->taken->items[i].first < at + size_bytes) {
            at = s->taken->items[i].end;
            continue;
        }
        while (element + 1 < placer->num_elements && placer->begins[element + 1] <= at)
            element++;
        uint64_t moved = leave_elements(s, at, element);
        while (moved == at && k < num_temporaries) {
            const temporary *other = &placer->temporaries[placer->by_address[k]];
            if (other->at.first >= at + size_bytes)
                break;
            if (other->at.end > at && meet(s->lives, s->own, other))
                moved = other->at.end;
            k++;
        }
        if (moved == at)
            return at;
        at = moved;
    }
}

/* Lists a temporary that was placed. */
static bool add_temporary(pl_placer *placer, const temporary *own) {
    size_t count = placer->num_temporaries;
    if (!pl_grow(&placer->temporaries, &placer->temporary_capacity, count + 1,
                 sizeof *placer->temporaries) ||
        !pl_grow(&placer->by_address, &placer->by_address_capacity, count + 1,
                 sizeof *placer->by_address))
        return false;
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (placer->temporaries[placer->by_address[middle]].at.first < own->at.first)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(placer->by_address + low + 1, placer->by_address + low,
            (count - low) * sizeof *placer->by_address);
    placer->by_address[low] = (uint32_t)count;
    placer->temporaries[placer->num_temporaries++] = *own;
    return true;
}

static bool place_item(search *s, pl_item *item) {
    pl_placer *placer = s->placer;
    temporary own = {.life = item->life};
    s->item = item;
    s->own = item->life == PL_NONE ? NULL : &own;
    s->taken = item->life == PL_NONE ? &placer->all : &placer->always;
    if (item->life != PL_NONE && s->lives->start[own.life] < s->lives->start[own.life + 1]) {
        own.first_step = s->lives->first_step[s->lives->start[own.life]];
        own.end_step = s->lives->end_step[s->lives->start[own.life + 1] - 1];
    }
    item->address = first_fit(s);
    own.at = (extent){item->address, item->address + item->size_bytes};
    size_t last = element_of(placer, own.at.end - 1);
    for (size_t e = element_of(placer, own.at.first); e <= last; e++)
        placer->kinds[e] |= (item->placing & PL_PLACING_EXECUTABLE) != 0 ? KIND_CODE : KIND_DATA;
    return extents_add(&placer->all, own.at) &&
           (s->own == NULL ? extents_add(&placer->always, own.at) : add_temporary(placer, &own));
}

bool pl_placer_place(pl_placer *placer, size_t tile, const pl_lives *lives, pl_item *items,
                     size_t count, uint64_t *end) {
    const uint64_t first_variable = placer->profile->tile_variables_start[tile];
    const uint64_t end_variable = placer->profile->tile_variables_start[tile + 1];
    search s = {.placer = placer, .lives = lives};
    placer->always.count = placer->all.count = placer->num_temporaries = 0;
    memset(placer->kinds, 0, placer->num_elements * sizeof *placer->kinds);
    memset(placer->forbidden, 0, placer->num_elements * sizeof *placer->forbidden);
    memset(placer->address, 0, (size_t)(end_variable - first_variable) * sizeof *placer->address);
    for (size_t i = 0; i < count; i++) {
        s.mark = (uint32_t)i + 1;
        forbid(placer, &items[i], s.mark, first_variable, end_variable);
        if (!place_item(&s, &items[i]))
            return false;
        if (items[i].variable != PL_NONE)
            placer->address[items[i].variable - first_variable] = items[i].address;
    }
    *end = placer->all.count == 0 ? 0 : placer->all.items[placer->all.count - 1].end;
    return true;
}

uint64_t pl_placer_data_begin(const popliner_profile *p, uint64_t executable_bytes) {
    return pl_placer_element_from(p, RESERVED_BYTES + executable_bytes);
}

uint64_t pl_placer_code_bytes(uint64_t end) {
    return end > RESERVED_BYTES ? end - RESERVED_BYTES : 0;
}

uint64_t pl_placer_element_from(const popliner_profile *p, uint64_t address) {
    for (size_t i = 0; i < p->num_elements; i++) {
        if (p->element_offset[i] >= address)
            return p->element_offset[i];
    }
    return address;
}

void pl_placer_add_gaps(const pl_placer *placer, uint64_t live_bytes, uint64_t *gap_bytes) {
    uint64_t used_bytes = 0;
    uint64_t before = RESERVED_BYTES; /* the end of what lies below */
    if (placer->all.count > 0)
        gap_bytes[PL_GAP_RESERVED] += RESERVED_BYTES;
    for (size_t i = 0; i < placer->all.count; i++) {
        const extent *used = &placer->all.items[i];
        const size_t element = element_of(placer, used->first);
        pl_gap cause = PL_GAP_ALIGNMENT;
        /* an item moves up to the end of another, and to its alignment, or to another element */
        if (used->first == placer->begins[element] && element > 0)
            cause = placer->kinds[element_of(placer, before - 1)] != placer->kinds[element]
                        ? PL_GAP_CODE
                        : PL_GAP_APART;
        gap_bytes[cause] += used->first - before;
        used_bytes += used->end - used->first;
        before = used->end;
    }
    gap_bytes[PL_GAP_LIVES] += used_bytes - (live_bytes < used_bytes ? live_bytes : used_bytes);
}

/* ---- Replaying a profile ---- */

/* Lists the variables of a tile with bytes, as they are placed, in placer->keys, and returns their
 * number. */
static size_t find_order(pl_placer *placer, size_t tile) {
    const popliner_profile *p = placer->profile;
    const size_t start = (size_t)p->tile_variables_start[tile];
    const size_t end = (size_t)p->tile_variables_start[tile + 1];
    size_t count = 0;
    size_t low = 0; /* of the recorded orders, which ascend by tile */
    size_t high = p->num_ordered;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (p->ordered_variable[middle] < start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->num_ordered && count < end - start; low++) {
        const uint32_t variable = p->ordered_variable[low];
        if (variable < start || variable >= end) /* of a stored file in any order */
            break;
        placer->keys[count++].index = variable;
    }
    if (count > 0)
        return count;
    for (size_t i = start; i < end; i++) {
        if (p->variable_size_bytes[i] > 0)
            placer->keys[count++] = (pl_id_entry){pl_placing_key(p, i), (uint32_t)i};
    }
    qsort(placer->keys, count, sizeof *placer->keys, pl_id_entry_compare);
    return count;
}

bool pl_placer_replay(pl_placer *placer, size_t tile, const pl_item **items, size_t *count,
                      uint64_t *end) {
    const popliner_profile *p = placer->profile;
    const pl_lives lives = {p->class_ranges_start, p->range_first_step, p->range_end_step};
    *count = find_order(placer, tile);
    for (size_t i = 0; i < *count; i++) {
        const uint32_t variable = placer->keys[i].index;
        const uint32_t class_index = p->variable_class[variable];
        placer->items[i] = (pl_item){
            .size_bytes = p->variable_size_bytes[variable],
            .variable = variable,
            .life = p->class_always_live[class_index] != 0 ? PL_NONE : class_index,
            .placing = p->variable_placing[variable],
        };
    }
    *items = placer->items;
    return pl_placer_place(placer, tile, &lives, placer->items, *count, end);
}

static void add_tile(pl_laid_out *layout, const pl_placer *placer, size_t tile, size_t count,
                     uint64_t end) {
    const popliner_profile *p = placer->profile;
    const uint64_t live_bytes =
        p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile];
    uint64_t told_end = 0;
    size_t num_equal = 0;
    for (size_t i = 0; i < count; i++) {
        const pl_item *item = &placer->items[i];
        const uint64_t told = p->variable_offset[item->variable];
        num_equal += item->address == told;
        told_end = told + item->size_bytes > told_end ? told + item->size_bytes : told_end;
    }
    layout->num_tiles++;
    layout->num_tiles_equal += num_equal == count;
    layout->num_ends_equal += told_end == end;
    layout->num_variables += count;
    layout->num_equal += num_equal;
    layout->live_bytes += live_bytes;
    layout->end_bytes += end;
    pl_placer_add_gaps(placer, live_bytes, layout->gap_bytes);
}

popliner_status pl_placement_check(const popliner_profile *p, pl_laid_out *layout,
                                   popliner_error *error) {
    enum { MOST_VARIABLES = 1000000 };
    const size_t every = p->num_variables / MOST_VARIABLES + 1;
    *layout = (pl_laid_out){0};
    popliner_status status = pl_profile_require_variables(p, error);
    if (status != POPLINER_OK)
        return status;
    pl_placer *placer = pl_placer_create(p);
    bool memory = placer != NULL;
    for (size_t tile = 0; memory && tile < p->target.num_tiles; tile += every) {
        const pl_item *items = NULL;
        size_t count = 0;
        uint64_t end = 0;
        memory = pl_placer_replay(placer, tile, &items, &count, &end);
        if (memory && count > 0)
            add_tile(layout, placer, tile, count, end);
    }
    pl_placer_free(placer);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the layout of the tiles");
}
