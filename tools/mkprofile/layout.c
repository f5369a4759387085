/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/layout.h"

#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/random.h"

#include <stdlib.h>
#include <string.h>

/* Where the first variable of a tile may lie: the start of memory is reserved. */
enum { FIRST_OFFSET = 16 };

/* An end of the address range of a temporary. */
typedef struct edge {
    uint64_t address;
    mk_category category;
    int change; /* 1 at the start, -1 behind the end */
} edge;

typedef struct address_key {
    mk_section section;
    size_t lane;
    size_t variable;
} address_key;

static int by_address_key(const void *left, const void *right) {
    const address_key *a = left;
    const address_key *b = right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

static bool order_by_address(mk_layout *layout) {
    const mk_network_plan *plan = layout->sizes->plan;
    size_t count = plan->variables.count;
    address_key *keys = pl_new_array(count, sizeof *keys);
    if (keys == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const mk_variable *variable = mk_variable_at(plan, i);
        keys[i] =
            (address_key){.section = variable->section, .lane = variable->lane, .variable = i};
    }
    qsort(keys, count, sizeof *keys, by_address_key);
    for (size_t i = 0; i < count; i++)
        layout->address_order[i] = keys[i].variable;
    free(keys);
    return true;
}

popliner_status mk_layout_begin(mk_layout *layout, const mk_sizes *sizes, popliner_error *error) {
    const mk_network_plan *plan = sizes->plan;
    size_t variables = plan->variables.count;
    size_t steps = plan->steps.count + 1;
    *layout = (mk_layout){.sizes = sizes};
    layout->address_order = pl_new_array(variables, sizeof *layout->address_order);
    layout->place = pl_new_array(variables, sizeof *layout->place);
    layout->lowered = pl_new_array(variables, sizeof *layout->lowered);
    layout->allocated = pl_new_array(variables, sizeof *layout->allocated);
    layout->class_bytes = pl_new_array(plan->classes.count + 1, sizeof *layout->class_bytes);
    layout->step_bytes = pl_new_array(plan->options.num_ipus * steps, sizeof *layout->step_bytes);
    layout->tile_changes = pl_new_array(steps, sizeof *layout->tile_changes);
    layout->edges = pl_new_array(variables * 2, sizeof *layout->edges);
    if (layout->address_order == NULL || layout->place == NULL || layout->lowered == NULL ||
        layout->allocated == NULL || layout->class_bytes == NULL || layout->step_bytes == NULL ||
        layout->tile_changes == NULL || layout->edges == NULL || !order_by_address(layout))
        return pl_fail_memory(error, "the layout of a tile");
    return POPLINER_OK;
}

void mk_layout_end(mk_layout *layout) {
    free(layout->address_order);
    free(layout->place);
    free(layout->lowered);
    free(layout->allocated);
    free(layout->class_bytes);
    free(layout->step_bytes);
    free(layout->tile_changes);
    free(layout->edges);
}

static uint64_t align_up(uint64_t offset, uint64_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
}

static void collect(mk_layout *layout, uint64_t tile) {
    const mk_network_plan *plan = layout->sizes->plan;
    layout->num_lowered = 0;
    for (size_t i = 0; i < plan->variables.count; i++) {
        layout->place[i] = MK_NONE;
        if (!mk_is_held(layout->sizes, i, tile))
            continue;
        layout->place[i] = layout->num_lowered;
        layout->lowered[layout->num_lowered++] =
            (mk_lowered){.variable = i, .size_bytes = mk_size_on_tile(layout->sizes, i, tile)};
    }
}

static bool is_temporary(const mk_network_plan *plan, const mk_lowered *lowered) {
    return mk_variable_at(plan, lowered->variable)->section == MK_SECTION_TEMPORARY;
}

/* Puts a temporary somewhere into its lane: half of them at the start. */
static uint64_t place_in_lane(const mk_network_plan *plan, uint64_t tile, const mk_lowered *lowered,
                              uint64_t lane_start, uint64_t lane_bytes) {
    const mk_variable *variable = mk_variable_at(plan, lowered->variable);
    uint64_t random = mk_random(plan->options.plan_seed + 1, variable->identity, tile);
    if (random % 2 == 0)
        return lane_start;
    uint64_t places = (lane_bytes - lowered->size_bytes) / variable->alignment + 1;
    return lane_start + random / 2 % places * variable->alignment;
}

static void give_addresses(mk_layout *layout, uint64_t tile) {
    const mk_network_plan *plan = layout->sizes->plan;
    uint64_t cursor = FIRST_OFFSET;
    size_t at = 0;
    layout->num_allocated = 0;
    while (at < plan->variables.count) {
        const mk_variable *first = mk_variable_at(plan, layout->address_order[at]);
        size_t end = at + 1;
        if (first->section == MK_SECTION_TEMPORARY) {
            while (end < plan->variables.count &&
                   mk_variable_at(plan, layout->address_order[end])->lane == first->lane)
                end++;
            cursor = align_up(cursor, 8); /* lanes suit every alignment */
        }
        uint64_t lane_bytes = 0;
        for (size_t i = at; i < end; i++) {
            size_t place = layout->place[layout->address_order[i]];
            if (place != MK_NONE && layout->lowered[place].size_bytes > lane_bytes)
                lane_bytes = layout->lowered[place].size_bytes;
        }
        uint64_t next = cursor;
        for (size_t i = at; i < end; i++) {
            size_t place = layout->place[layout->address_order[i]];
            if (place == MK_NONE)
                continue;
            mk_lowered *lowered = &layout->lowered[place];
            const mk_variable *variable = mk_variable_at(plan, lowered->variable);
            if (variable->rule == MK_RULE_UNALLOCATED)
                continue;
            lowered->offset = variable->section == MK_SECTION_TEMPORARY
                                  ? place_in_lane(plan, tile, lowered, cursor, lane_bytes)
                                  : align_up(cursor, variable->alignment);
            layout->allocated[layout->num_allocated++] = place;
            if (lowered->offset + lowered->size_bytes > next)
                next = lowered->offset + lowered->size_bytes;
        }
        if (next > cursor)
            layout->memory.end = next;
        cursor = next;
        at = end;
    }
}

static void sum_lives(mk_layout *layout, uint64_t tile) {
    const mk_network_plan *plan = layout->sizes->plan;
    int64_t *of_ipu =
        layout->step_bytes + tile / plan->options.tiles_per_ipu * (plan->steps.count + 1);
    mk_tile_memory *memory = &layout->memory;
    memset(layout->class_bytes, 0, (plan->classes.count + 1) * sizeof *layout->class_bytes);
    memset(layout->tile_changes, 0, (plan->steps.count + 1) * sizeof *layout->tile_changes);
    for (size_t i = 0; i < layout->num_lowered; i++) {
        size_t class_id = mk_variable_at(plan, layout->lowered[i].variable)->class_id;
        layout->class_bytes[class_id] += layout->lowered[i].size_bytes;
    }
    for (size_t id = 1; id <= plan->classes.count; id++) {
        const mk_class *life = mk_class_at(plan, id - 1);
        int64_t bytes = (int64_t)layout->class_bytes[id];
        if (life->is_always_live) {
            memory->always_live_bytes += layout->class_bytes[id];
            continue;
        }
        for (size_t k = 0; k < life->num_ranges && bytes > 0; k++) {
            const mk_range *range = mk_range_at(plan, life->first_range + k);
            layout->tile_changes[range->from] += bytes;
            layout->tile_changes[range->to] -= bytes;
        }
    }
    int64_t live = 0;
    for (size_t step = 0; step <= plan->steps.count; step++) {
        live += layout->tile_changes[step];
        of_ipu[step] += layout->tile_changes[step];
        if ((uint64_t)live > memory->not_always_live_peak_bytes)
            memory->not_always_live_peak_bytes = (uint64_t)live;
    }
}

static int by_address(const void *left, const void *right) {
    const edge *a = left;
    const edge *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->change > b->change) - (a->change < b->change);
}

/* Variables outside the lanes never share addresses; those in lanes are swept in the order of
 * their addresses. */
static void sum_addresses(mk_layout *layout) {
    const mk_network_plan *plan = layout->sizes->plan;
    mk_tile_memory *memory = &layout->memory;
    size_t num_edges = 0;
    for (size_t i = 0; i < layout->num_allocated; i++) {
        const mk_lowered *lowered = &layout->lowered[layout->allocated[i]];
        mk_category category = mk_variable_at(plan, lowered->variable)->category;
        if (!is_temporary(plan, lowered)) {
            memory->non_overlapped_bytes[category] += lowered->size_bytes;
            memory->total_bytes += lowered->size_bytes;
            continue;
        }
        layout->edges[num_edges++] =
            (edge){.address = lowered->offset, .category = category, .change = 1};
        layout->edges[num_edges++] = (edge){
            .address = lowered->offset + lowered->size_bytes, .category = category, .change = -1};
    }
    qsort(layout->edges, num_edges, sizeof *layout->edges, by_address);
    uint64_t covering[MK_CATEGORY_COUNT] = {0};
    uint64_t all = 0;
    for (size_t i = 0; i + 1 < num_edges; i++) {
        const edge *here = &layout->edges[i];
        covering[here->category] += (uint64_t)(int64_t)here->change;
        all += (uint64_t)(int64_t)here->change;
        uint64_t bytes = layout->edges[i + 1].address - here->address;
        if (all == 0 || bytes == 0)
            continue;
        memory->total_bytes += bytes;
        for (size_t category = 0; category < MK_CATEGORY_COUNT; category++) {
            if (all == 1)
                memory->non_overlapped_bytes[category] += covering[category] * bytes;
            else
                memory->overlapped_bytes[category] += covering[category] * bytes;
        }
    }
}

void mk_layout_tile(mk_layout *layout, uint64_t tile) {
    layout->memory = (mk_tile_memory){.end = 0};
    collect(layout, tile);
    give_addresses(layout, tile);
    sum_lives(layout, tile);
    sum_addresses(layout);
}
