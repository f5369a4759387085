/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/layout.h"

#include "base/failure.h"
#include "base/growth.h"

#include <stdlib.h>
#include <string.h>

/* An end of the address range of a temporary. */
typedef struct edge {
    uint64_t address;
    mk_category category;
    int change; /* 1 at the start, -1 behind the end */
} edge;

popliner_status mk_layout_begin(mk_layout *layout, const mk_sizes *sizes, popliner_error *error) {
    const mk_network_plan *plan = sizes->plan;
    size_t variables = plan->variables.count;
    size_t steps = plan->steps.count + 1;
    *layout = (mk_layout){.placement = {.sizes = sizes}};
    layout->class_bytes = pl_new_array(plan->classes.count + 1, sizeof *layout->class_bytes);
    layout->step_bytes = pl_new_array(plan->options.num_ipus * steps, sizeof *layout->step_bytes);
    layout->tile_changes = pl_new_array(steps, sizeof *layout->tile_changes);
    layout->edges = pl_new_array(variables * 2, sizeof *layout->edges);
    if (layout->class_bytes == NULL || layout->step_bytes == NULL || layout->tile_changes == NULL ||
        layout->edges == NULL)
        return pl_fail_memory(error, "the layout of a tile");
    return mk_placement_begin(&layout->placement, sizes, error);
}

void mk_layout_end(mk_layout *layout) {
    mk_placement_end(&layout->placement);
    free(layout->class_bytes);
    free(layout->step_bytes);
    free(layout->tile_changes);
    free(layout->edges);
}

static bool is_temporary(const mk_network_plan *plan, const mk_lowered *lowered) {
    return mk_variable_at(plan, lowered->variable)->group == MK_GROUP_TEMPORARY;
}

static void sum_lives(mk_layout *layout, uint64_t tile) {
    const mk_network_plan *plan = layout->placement.sizes->plan;
    int64_t *of_ipu =
        layout->step_bytes + tile / plan->options.tiles_per_ipu * (plan->steps.count + 1);
    mk_tile_memory *memory = &layout->memory;
    memset(layout->class_bytes, 0, (plan->classes.count + 1) * sizeof *layout->class_bytes);
    memset(layout->tile_changes, 0, (plan->steps.count + 1) * sizeof *layout->tile_changes);
    for (size_t i = 0; i < layout->placement.num_lowered; i++) {
        size_t class_id = mk_variable_at(plan, layout->placement.lowered[i].variable)->class_id;
        layout->class_bytes[class_id] += layout->placement.lowered[i].size_bytes;
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

/* What is always live shares no address; temporaries are swept in the order of their addresses. */
static void sum_addresses(mk_layout *layout) {
    const mk_network_plan *plan = layout->placement.sizes->plan;
    mk_tile_memory *memory = &layout->memory;
    size_t num_edges = 0;
    for (size_t i = 0; i < layout->placement.num_allocated; i++) {
        const mk_lowered *lowered = &layout->placement.lowered[layout->placement.allocated[i]];
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
    layout->memory = (mk_tile_memory){.total_bytes = 0};
    mk_place_tile(&layout->placement, tile);
    sum_lives(layout, tile);
    sum_addresses(layout);
}
