/* The memory that operations account for, next to the compiler's own totals.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "memory/code.h"
#include "memory/unit_usage.h"
#include "model/layers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

void pl_explained_free(pl_explained *explained) {
    pl_arrays_free(&explained->arrays);
    pl_stage_memory_clear(&explained->stage);
}

static void allocate(pl_explained *e) {
    const popliner_profile *p = e->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    e->program_seen = pl_arrays_new(&e->arrays, p->num_programs, 1);
    e->variable_marks = pl_arrays_new(&e->arrays, p->num_variables, 1);
    e->code_of_category = pl_arrays_new(&e->arrays, p->num_categories, sizeof *e->code_of_category);
    for (pl_category code = PL_CATEGORY_VERTEX_CODE; code < PL_NUM_CATEGORIES; code++) {
        e->code_bytes[code] = pl_arrays_new(&e->arrays, num_tiles, sizeof(uint64_t));
        e->all_code_bytes[code] = pl_arrays_new(&e->arrays, num_tiles, sizeof(uint64_t));
        e->truth_bytes[code] = pl_arrays_new(&e->arrays, num_tiles, sizeof(uint64_t));
    }
}

/* Marks the variables, and sums the compiler's bytes of code. The data of operation i counts if
 * data_counts[i]. */
static void mark_variables(const pl_explained *explained, pl_arrays *own,
                           const uint8_t *data_counts) {
    const pl_operation_usage *usage = explained->chain->usage;
    const popliner_profile *p = explained->chain->profile;
    const size_t num_operations = usage->num_operations;
    /* a member of the set counts */
    uint8_t *counts = pl_arrays_new(own, usage->sets.count, sizeof *counts);
    if (counts == NULL)
        return;
    for (uint32_t set = 1; set < usage->sets.count; set++) {
        size_t member = usage->sets.last[set];
        counts[set] = counts[usage->sets.rest[set]] |
                      data_counts[member < num_operations ? member : member - num_operations];
    }
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            const pl_category code = explained->code_of_category[p->variable_category[i]];
            const bool is_code =
                code != PL_CATEGORY_OTHER && p->class_always_live[p->variable_class[i]] != 0;
            explained->variable_marks[i] =
                (uint8_t)(counts[usage->variable_set[i]] | (is_code ? PL_MARK_CODE : 0));
            if (is_code)
                explained->truth_bytes[code][tile] += p->variable_size_bytes[i];
        }
}

/* Assigns the categories to the codes. */
static void sort_categories(pl_explained *explained) {
    const popliner_profile *p = explained->chain->profile;
    /* without state by compute set in the profile, descriptors are data like any other */
    bool has_descriptors = pl_takes_told_state(explained->chain->model, p);
    for (size_t category = 0; category < p->num_categories; category++) {
        const pl_category own = (pl_category)p->category[category];
        const bool is_code = own >= PL_CATEGORY_VERTEX_CODE &&
                             (own != PL_CATEGORY_COPY_DESCRIPTOR || has_descriptors);
        explained->code_of_category[category] = is_code ? own : PL_CATEGORY_OTHER;
    }
}

/* Finds the operations and programs that count, and whose data does. */
static void count_operations(pl_explained *explained, bool layer_operations_only,
                             uint8_t *data_counts) {
    bool all_have_data = pl_chain_is_full(explained->chain);
    for (size_t i = 0; i < pl_operations_count(explained->chain->operations); i++) {
        bool in_layer = pl_layers_unit_of(explained->chain->layers, i) > 0;
        if (layer_operations_only && !in_layer)
            continue;
        data_counts[i] = in_layer || all_have_data;
        const popliner_operation *operation = pl_operation_at(explained->chain->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint8_t *seen = &explained->program_seen[operation->programs[k]];
            if (*seen != PL_SEEN_DATA)
                *seen = data_counts[i] ? PL_SEEN_DATA : PL_SEEN_CODE;
        }
    }
}

/* Divides vertex state into its categories: state by compute set has instances, fields and
 * descriptors, so that the rest after instances and descriptors is fields. */
static void part_state(const popliner_profile *p, const uint64_t *state,
                       uint64_t *const bytes[PL_NUM_CATEGORIES]) {
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        const uint64_t own = state[tile] - bytes[PL_CATEGORY_COPY_DESCRIPTOR][tile];
        uint64_t *instances = &bytes[PL_CATEGORY_VERTEX_INSTANCE_STATE][tile];
        *instances = pl_smaller(*instances, own);
        bytes[PL_CATEGORY_VERTEX_FIELD_DATA][tile] = own - *instances;
    }
}

/* The work of counting code: once by compute set, but in PopLiner's model by program, and once by
 * kind of vertex types on each tile. */
typedef struct counting {
    pl_vertex_kinds kinds;
    uint8_t *set_seen;  /* [num_compute_sets] */
    uint8_t *kind_seen; /* [num_vertex_types][num_tiles] */
    uint64_t *state;    /* [num_tiles], like the next one */
    uint64_t *of_type;
} counting;

static void count_compute_set(const pl_explained *explained, counting *c, uint32_t set,
                              uint64_t *const bytes[PL_NUM_CATEGORIES]) {
    const popliner_profile *p = explained->chain->profile;
    c->set_seen[set] = 1;
    pl_add_vertex_instances(p, set, bytes[PL_CATEGORY_VERTEX_INSTANCE_STATE]);
    if (pl_takes_told_state(explained->chain->model, p))
        pl_series_add(p, p->compute_set_descriptors[set], 1, bytes[PL_CATEGORY_COPY_DESCRIPTOR]);
    pl_add_vertex_state(explained->chain->model, p, set, c->state);
    for (uint32_t i = p->compute_set_vertices_start[set];
         i < p->compute_set_vertices_start[set + 1]; i++) {
        const size_t kind = c->kinds.kind[p->compute_set_vertex_type[i]];
        pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
        size_t first;
        size_t end;
        while (pl_tile_runs_next(&walk, &first, &end))
            memset(c->kind_seen + kind * p->target.num_tiles + first, 1, end - first);
    }
}

static void count_vertex_code(const popliner_profile *p, counting *c, uint64_t *by_tile_bytes) {
    const size_t num_tiles = p->target.num_tiles;
    for (size_t kind = 0; kind < p->num_vertex_types; kind++) {
        const uint8_t *seen = c->kind_seen + kind * num_tiles;
        if (memchr(seen, 1, num_tiles) == NULL)
            continue;
        memset(c->of_type, 0, num_tiles * sizeof *c->of_type);
        pl_series_add(p, p->vertex_type_code[c->kinds.code[kind]], 1, c->of_type);
        for (size_t tile = 0; tile < num_tiles; tile++)
            by_tile_bytes[tile] += seen[tile] != 0 ? c->of_type[tile] : 0;
    }
}

/* Counts the code of the programs that count, or of all. */
static void count_code(const pl_explained *explained, bool of_all,
                       uint64_t *const bytes[PL_NUM_CATEGORIES], pl_arrays *own) {
    const popliner_profile *p = explained->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    counting c = {.set_seen = pl_arrays_new(own, p->num_compute_sets, 1),
                  .kind_seen = pl_arrays_new(own, p->num_vertex_types * num_tiles, 1),
                  .state = pl_arrays_new(own, num_tiles, sizeof *c.state),
                  .of_type = pl_arrays_new(own, num_tiles, sizeof *c.of_type)};
    pl_vertex_kinds_find(&c.kinds, own, explained->chain->model, p);
    for (uint32_t program = 0; !own->failed && program < p->num_programs; program++) {
        const uint32_t set = p->program_compute_set[program];
        if (!of_all && explained->program_seen[program] == 0)
            continue;
        if (pl_profile_num_children(p, program) == 0)
            pl_series_add(p, p->program_control_code[program], 1, bytes[PL_CATEGORY_CONTROL_CODE]);
        pl_series_add(p, p->program_exchange_code[program], 1,
                      bytes[PL_CATEGORY_INTERNAL_EXCHANGE_CODE]);
        if (set != PL_NONE && (c.set_seen[set] == 0 || !pl_chain_is_full(explained->chain)))
            count_compute_set(explained, &c, set, bytes);
    }
    if (own->failed)
        return;
    count_vertex_code(p, &c, bytes[PL_CATEGORY_VERTEX_CODE]);
    if (pl_takes_told_state(explained->chain->model, p))
        part_state(p, c.state, bytes);
}

popliner_status pl_explained_find(pl_explained *explained, pl_stage_meter *meter,
                                  bool layer_operations_only, popliner_error *error) {
    const pl_chain *chain = explained->chain = meter->chain;
    /* in PopLiner's model those in no layer are unit 0 */
    const size_t first_unit = layer_operations_only ? 1 : 0;
    const popliner_interval stage = {first_unit, chain->num_units - 1, 1};
    pl_arrays own = {0};
    uint8_t *data_counts = pl_arrays_new(&own, chain->num_operations, 1);
    allocate(explained);
    own.failed = own.failed || explained->arrays.failed;
    if (!own.failed) {
        sort_categories(explained);
        count_operations(explained, layer_operations_only, data_counts);
        mark_variables(explained, &own, data_counts);
        count_code(explained, false, explained->code_bytes, &own);
        count_code(explained, true, explained->all_code_bytes, &own);
    }
    const bool has_failed = own.failed;
    pl_arrays_free(&own);
    if (has_failed)
        return pl_fail_memory(error, "the diagnosis");
    return pl_chain_is_full(chain)
               ? POPLINER_OK
               : pl_stage_measure(meter, NULL, &stage, first_unit < chain->num_units ? 1 : 0,
                                  &explained->stage, NULL, error);
}
