/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/sizes.h"

#include "base/failure.h"
#include "base/growth.h"
#include "mkprofile/random.h"
#include "mkprofile/variables.h"

#include <stdlib.h>

bool mk_tiles_hold(const mk_network_plan *plan, mk_tiles tiles, uint64_t tile) {
    uint64_t all = plan->options.tiles_per_ipu;
    if (tiles.ipu == MK_EVERY_IPU) {
        tile %= all;
    } else {
        if (tile < tiles.ipu * all || tile >= (tiles.ipu + 1) * all)
            return false;
        tile -= tiles.ipu * all;
    }
    uint64_t distance = tile >= tiles.first ? tile - tiles.first : tile + all - tiles.first;
    return distance < tiles.count;
}

uint64_t mk_instances_on_tile(const mk_network_plan *plan, size_t number, uint64_t tile) {
    const mk_vertices *vertices = mk_vertices_at(plan, number);
    if (!mk_tiles_hold(plan, vertices->tiles, tile))
        return 0;
    if (vertices->extra_instances == 0)
        return vertices->min_instances;
    return vertices->min_instances + mk_random(plan->options.plan_seed, vertices->identity, tile) %
                                         (vertices->extra_instances + 1);
}

static bool takes_part(const mk_network_plan *plan, size_t number, uint64_t tile) {
    const mk_exchange *exchange = mk_exchange_at(plan, number);
    return mk_tiles_hold(plan, exchange->senders, tile) ||
           mk_tiles_hold(plan, exchange->receivers, tile);
}

uint64_t mk_exchange_code_on_tile(const mk_network_plan *plan, size_t number, uint64_t tile) {
    if (!takes_part(plan, number, tile))
        return 0;
    const mk_exchange *exchange = mk_exchange_at(plan, number);
    uint64_t instructions = exchange->code_bytes / 4;
    uint64_t min_instructions = instructions > 3 ? instructions - 3 : 1;
    return 4 *
           (min_instructions + mk_random(plan->options.plan_seed, exchange->identity, tile) % 7);
}

uint64_t mk_control_code_on_tile(const mk_network_plan *plan, size_t number, uint64_t tile) {
    const mk_program *program = mk_program_at(plan, number);
    if (!mk_tiles_hold(plan, mk_all_tiles(plan, program->ipu), tile))
        return 0;
    switch (program->type) {
    case MK_ON_TILE_EXECUTE: {
        const mk_compute_set *set = mk_compute_set_at(plan, program->target);
        for (size_t i = 0; i < set->num_vertices; i++) {
            if (mk_tiles_hold(plan, mk_vertices_at(plan, set->first_vertices + i)->tiles, tile))
                return program->control_bytes + 4 * (set->num_vertices - 1);
        }
        return 4;
    }
    case MK_GLOBAL_EXCHANGE: {
        uint64_t ipus = mk_global_exchange_at(plan, program->target)->ipus;
        return (ipus >> tile / plan->options.tiles_per_ipu & 1) != 0 ? program->control_bytes : 0;
    }
    case MK_DO_EXCHANGE:
        return takes_part(plan, program->target, tile) ? program->control_bytes : 4;
    default:
        return program->control_bytes;
    }
}

popliner_status mk_sizes_begin(mk_sizes *sizes, const mk_network_plan *plan,
                               popliner_error *error) {
    size_t tiles = (size_t)plan->options.num_tiles;
    *sizes = (mk_sizes){.plan = plan};
    sizes->control_bytes = pl_new_array(plan->num_chunks * tiles, sizeof *sizes->control_bytes);
    sizes->has_type = pl_new_array(plan->vertex_types.count * tiles, sizeof *sizes->has_type);
    sizes->tile_permille = pl_new_array(tiles, sizeof *sizes->tile_permille);
    if (sizes->control_bytes == NULL || sizes->has_type == NULL || sizes->tile_permille == NULL)
        return pl_fail_memory(error, "the sizes of variables");
    for (size_t program = 0; program < plan->programs.count; program++) {
        uint64_t *chunk = sizes->control_bytes + program / MK_CHUNK_PROGRAMS * tiles;
        for (size_t tile = 0; tile < tiles; tile++)
            chunk[tile] += mk_control_code_on_tile(plan, program, tile);
    }
    for (size_t i = 0; i < plan->vertices.count; i++) {
        const mk_vertices *vertices = mk_vertices_at(plan, i);
        bool *has_type = sizes->has_type + vertices->vertex_type * tiles;
        for (size_t tile = 0; tile < tiles; tile++)
            has_type[tile] = has_type[tile] || mk_tiles_hold(plan, vertices->tiles, tile);
    }
    for (size_t tile = 0; tile < tiles; tile++) {
        /* A few tiles hold more than their share, as in real mappings: they are what does not
         * fit. */
        uint64_t random = mk_random(plan->options.plan_seed, 3000000, tile);
        sizes->tile_permille[tile] = random % 32 == 0 ? 1160 : 965 + random / 32 % 61;
    }
    return POPLINER_OK;
}

void mk_sizes_end(mk_sizes *sizes) {
    free(sizes->control_bytes);
    free(sizes->has_type);
    free(sizes->tile_permille);
}

bool mk_is_held(const mk_sizes *sizes, size_t number, uint64_t tile) {
    const mk_network_plan *plan = sizes->plan;
    const mk_variable *variable = mk_variable_at(plan, number);
    if (variable->rule == MK_RULE_VERTEX_CODE)
        return sizes->has_type[variable->subject * plan->options.num_tiles + tile];
    if (variable->rule == MK_RULE_EXCHANGE)
        return takes_part(plan, variable->subject, tile);
    if (variable->rule == MK_RULE_CONTROL_CODE && plan->options.num_ipus > 1)
        return mk_size_on_tile(sizes, number, tile) > 0;
    return mk_tiles_hold(plan, variable->tiles, tile);
}

/* The tile of another IPU with the same number there. */
static uint64_t same_tile(const mk_network_plan *plan, uint64_t tile, size_t ipu) {
    return tile % plan->options.tiles_per_ipu + ipu * plan->options.tiles_per_ipu;
}

uint64_t mk_size_on_tile(const mk_sizes *sizes, size_t number, uint64_t tile) {
    const mk_network_plan *plan = sizes->plan;
    const mk_variable *variable = mk_variable_at(plan, number);
    switch (variable->rule) {
    case MK_RULE_SHARE: {
        uint64_t jitter = 980 + mk_random(plan->options.plan_seed, variable->identity, tile) % 41;
        uint64_t bytes = variable->bytes * sizes->tile_permille[tile] / 1000 * jitter / 1000;
        return bytes < 4 ? 4 : bytes / 4 * 4;
    }
    case MK_RULE_CLONE: {
        const mk_variable *original = mk_variable_at(plan, variable->subject);
        return variable->num_copies * mk_size_on_tile(sizes, variable->subject,
                                                      same_tile(plan, tile, original->tiles.ipu));
    }
    case MK_RULE_FIXED:
        return variable->bytes;
    case MK_RULE_STATE:
    case MK_RULE_FIELDS:
    case MK_RULE_DESCRIPTORS: {
        const mk_vertices *vertices = mk_vertices_at(plan, variable->subject);
        const mk_vertex_type *type = mk_vertex_type_at(plan, vertices->vertex_type);
        uint64_t each = variable->rule == MK_RULE_STATE    ? type->size_bytes
                        : variable->rule == MK_RULE_FIELDS ? type->field_bytes
                                                           : type->descriptor_bytes;
        return each * mk_instances_on_tile(plan, variable->subject, tile);
    }
    case MK_RULE_VERTEX_CODE:
        return mk_vertex_type_at(plan, variable->subject)->code_bytes;
    case MK_RULE_EXCHANGE:
        return mk_exchange_code_on_tile(plan, variable->subject, tile);
    case MK_RULE_CONTROL_CODE:
        return sizes->control_bytes[variable->subject * plan->options.num_tiles + tile];
    case MK_RULE_UNALLOCATED:
        return 0;
    }
    return 0;
}
