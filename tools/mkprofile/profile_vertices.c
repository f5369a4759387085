/* Writes the types of vertices, and their memory.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"
#include "mkprofile/profile.h"

#include <stdlib.h>

/* What the vertices of a type or a compute set take up, by tile. */
typedef struct vertex_memory {
    uint64_t *copy_pointer_bytes;
    uint64_t *descriptor_bytes;
    uint64_t *edge_pointer_bytes;
    uint64_t *vertex_data_bytes;
} vertex_memory;

/* Four arrays in `block`, which has room for them. */
static vertex_memory memory_in(uint64_t *block, size_t tiles) {
    return (vertex_memory){.copy_pointer_bytes = block,
                           .descriptor_bytes = block + tiles,
                           .edge_pointer_bytes = block + 2 * tiles,
                           .vertex_data_bytes = block + 3 * tiles};
}

/* Pointers and fields count as pointers to edges or of copies, the rest of the state as data. */
static void add_instances(const mk_vertex_type *type, uint64_t instances, vertex_memory memory,
                          size_t tile) {
    if (type->copies)
        memory.copy_pointer_bytes[tile] += type->pointer_bytes * instances;
    else
        memory.edge_pointer_bytes[tile] += (type->pointer_bytes + type->field_bytes) * instances;
    memory.vertex_data_bytes[tile] += (type->size_bytes - type->pointer_bytes) * instances;
    memory.descriptor_bytes[tile] += type->descriptor_bytes * instances;
}

static void write_list(mk_profile *profile, mk_rows *rows, const uint64_t *values) {
    pl_varint_list_write(&profile->blob, values, (size_t)profile->plan->options.num_tiles);
    mk_rows_blob(rows, &profile->blob);
}

static void write_runs(mk_profile *profile, mk_rows *rows, const uint64_t *values) {
    pl_rle_write(&profile->blob, values, (size_t)profile->plan->options.num_tiles);
    mk_rows_blob(rows, &profile->blob);
}

static void write_by_compute_set(mk_profile *profile, uint64_t *by_type, uint64_t *scratch,
                                 const uint64_t *nothing) {
    const mk_network_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.num_tiles;
    mk_rows rows = mk_rows_begin(&profile->database, "memory_by_compute_set", 6);
    for (size_t i = 0; i < plan->compute_sets.count; i++) {
        const mk_compute_set *set = mk_compute_set_at(plan, i);
        vertex_memory of_set = memory_in(scratch, tiles);
        for (size_t k = 0; k < 4 * tiles; k++)
            scratch[k] = 0;
        for (size_t k = 0; k < set->num_vertices; k++) {
            size_t vertices = set->first_vertices + k;
            size_t number = mk_vertices_at(plan, vertices)->vertex_type;
            const mk_vertex_type *type = mk_vertex_type_at(plan, number);
            vertex_memory of_type = memory_in(by_type + number * 4 * tiles, tiles);
            for (size_t tile = 0; tile < tiles; tile++) {
                uint64_t instances = mk_instances_on_tile(plan, vertices, tile);
                add_instances(type, instances, of_set, tile);
                add_instances(type, instances, of_type, tile);
            }
        }
        mk_rows_integer(&rows, i);
        write_runs(profile, &rows, of_set.copy_pointer_bytes);
        write_runs(profile, &rows, of_set.descriptor_bytes);
        write_runs(profile, &rows, of_set.edge_pointer_bytes);
        write_runs(profile, &rows, nothing);
        write_runs(profile, &rows, of_set.vertex_data_bytes);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
}

static void write_by_type(mk_profile *profile, uint64_t *by_type, const uint64_t *nothing) {
    const mk_network_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.num_tiles;
    mk_rows types = mk_rows_begin(&profile->database, "vertex_types", 4);
    mk_rows rows = mk_rows_begin(&profile->database, "memory_by_vertex_type", 7);
    for (size_t i = 0; i < plan->vertex_types.count; i++) {
        const mk_vertex_type *type = mk_vertex_type_at(plan, i);
        vertex_memory memory = memory_in(by_type + i * 4 * tiles, tiles);
        mk_rows_integer(&types, i);
        mk_rows_text(&types, mk_vertex_type_name(plan, i));
        mk_rows_integer(&types, type->size_bytes);
        mk_rows_text(&types, type->source);
        mk_rows_next(&types);
        for (size_t tile = 0; tile < tiles; tile++)
            profile->by_tile[tile] =
                profile->sizes.has_type[i * tiles + tile] ? type->code_bytes : 0;
        mk_rows_integer(&rows, i);
        write_list(profile, &rows, profile->by_tile);
        write_list(profile, &rows, memory.copy_pointer_bytes);
        write_list(profile, &rows, memory.descriptor_bytes);
        write_list(profile, &rows, memory.edge_pointer_bytes);
        write_list(profile, &rows, nothing);
        write_list(profile, &rows, memory.vertex_data_bytes);
        mk_rows_next(&rows);
    }
    mk_rows_end(&types);
    mk_rows_end(&rows);
}

/* Each vertex counts two edges, as its compute set does. */
static void write_graph_info(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    uint64_t vertices = 0;
    for (size_t i = 0; i < plan->vertices.count; i++) {
        for (size_t tile = 0; tile < plan->options.num_tiles; tile++)
            vertices += mk_instances_on_tile(plan, i, tile);
    }
    mk_rows rows = mk_rows_begin(&profile->database, "graph_info", 4);
    mk_rows_integer(&rows, plan->compute_sets.count);
    mk_rows_integer(&rows, vertices * 2);
    mk_rows_integer(&rows, profile->first_var_id[plan->options.num_tiles]);
    mk_rows_integer(&rows, vertices);
    mk_rows_next(&rows);
    mk_rows_end(&rows);
}

void mk_write_vertices(mk_profile *profile) {
    size_t tiles = (size_t)profile->plan->options.num_tiles;
    uint64_t *by_type =
        pl_new_array(profile->plan->vertex_types.count * 4 * tiles, sizeof *by_type);
    uint64_t *scratch = pl_new_array(4 * tiles, sizeof *scratch);
    uint64_t *nothing = pl_new_array(tiles, sizeof *nothing);
    if (by_type == NULL || scratch == NULL || nothing == NULL) {
        profile->blob.failed = true;
    } else {
        write_by_compute_set(profile, by_type, scratch, nothing);
        write_by_type(profile, by_type, nothing);
        write_graph_info(profile);
    }
    free(by_type);
    free(scratch);
    free(nothing);
}
