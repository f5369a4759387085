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

const pl_category pl_diagnosed_code[PL_NUM_DIAGNOSED_CODE] = {
    [PL_DIAGNOSED_VERTEX] = PL_CATEGORY_VERTEX_CODE,
    [PL_DIAGNOSED_INSTANCES] = PL_CATEGORY_VERTEX_INSTANCE_STATE,
    [PL_DIAGNOSED_FIELDS] = PL_CATEGORY_VERTEX_FIELD_DATA,
    [PL_DIAGNOSED_DESCRIPTORS] = PL_CATEGORY_COPY_DESCRIPTOR,
    [PL_DIAGNOSED_EXCHANGE] = PL_CATEGORY_INTERNAL_EXCHANGE_CODE,
    [PL_DIAGNOSED_CONTROL] = PL_CATEGORY_CONTROL_CODE,
};

void pl_explained_free(pl_explained *explained) {
    pl_arrays_free(&explained->arrays);
    pl_stage_memory_clear(&explained->stage);
}

static void allocate(pl_explained *e) {
    const popliner_profile *p = e->chain->profile;
    const size_t num_tiles = p->target.num_tiles;
    e->counted =
        pl_arrays_new(&e->arrays, pl_operations_count(e->chain->operations), sizeof *e->counted);
    e->program_seen = pl_arrays_new(&e->arrays, p->num_programs, 1);
    e->variable_marks = pl_arrays_new(&e->arrays, p->num_variables, 1);
    e->code_of_category = pl_arrays_new(&e->arrays, p->num_categories, sizeof *e->code_of_category);
    for (int code = 0; code < PL_NUM_DIAGNOSED_CODE; code++) {
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
        size_t member = usage->sets.last_unit[set];
        counts[set] = counts[usage->sets.rest[set]] |
                      data_counts[member < num_operations ? member : member - num_operations];
    }
    for (size_t tile = 0; tile < p->target.num_tiles; tile++)
        for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1];
             i++) {
            const int code = explained->code_of_category[p->variable_category[i]];
            const bool is_code =
                code < PL_NUM_DIAGNOSED_CODE && p->class_always_live[p->variable_class[i]] != 0;
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
        int code = 0;
        while (code < PL_NUM_DIAGNOSED_CODE &&
               (p->category[category] != pl_diagnosed_code[code] ||
                (code == PL_DIAGNOSED_DESCRIPTORS && !has_descriptors)))
            code++;
        explained->code_of_category[category] = code;
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
        explained->counted[explained->num_counted++] = i;
        data_counts[i] = in_layer || all_have_data;
        const popliner_operation *operation = pl_operation_at(explained->chain->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++) {
            uint8_t *seen = &explained->program_seen[operation->programs[k]];
            if (*seen != PL_SEEN_DATA)
                *seen = data_counts[i] ? PL_SEEN_DATA : PL_SEEN_CODE;
        }
    }
}

/* Divides vertex state into its categories; `state` is the counter's sum. State by compute set has
 * instances, fields and descriptors: the rest after instances and descriptors is fields. */
static void part_state(const popliner_profile *p, const uint64_t *state,
                       uint64_t *const bytes[PL_NUM_DIAGNOSED_CODE]) {
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        const uint64_t own = state[tile] - bytes[PL_DIAGNOSED_DESCRIPTORS][tile];
        uint64_t *instances = &bytes[PL_DIAGNOSED_INSTANCES][tile];
        *instances = pl_smaller(*instances, own);
        bytes[PL_DIAGNOSED_FIELDS][tile] = own - *instances;
    }
}

/* Counts the code of the programs that count, or of all; state[tiles] is 0. */
static void count_code(const pl_explained *explained, pl_code_counter *counter, bool of_all,
                       uint64_t *state, uint64_t *const bytes[PL_NUM_DIAGNOSED_CODE]) {
    const popliner_profile *p = explained->chain->profile;
    const bool is_told = pl_takes_told_state(counter->model, p);
    uint64_t *const groups[PL_NUM_CODE_GROUPS] = {
        [PL_VERTEX_CODE] = bytes[PL_DIAGNOSED_VERTEX],
        [PL_VERTEX_STATE] = state,
        [PL_EXCHANGE_CODE] = bytes[PL_DIAGNOSED_EXCHANGE],
        [PL_CONTROL_CODE] = bytes[PL_DIAGNOSED_CONTROL],
    };
    pl_code_counter_reset(counter);
    for (uint32_t program = 0; program < p->num_programs; program++) {
        const uint32_t set = p->program_compute_set[program];
        if (!of_all && !explained->program_seen[program])
            continue;
        if (set != PL_NONE && (counter->model == POPLINER_MEMORY_MODEL_POPLINER ||
                               counter->compute_set_seen[set] != counter->number)) {
            pl_add_vertex_instances(p, set, bytes[PL_DIAGNOSED_INSTANCES]);
            if (is_told)
                pl_series_add(p, p->compute_set_descriptors[set], 1,
                              bytes[PL_DIAGNOSED_DESCRIPTORS]);
        }
        pl_code_counter_add(counter, program, groups);
    }
    pl_code_counter_finish(counter, groups);
    if (is_told)
        part_state(p, state, bytes);
}

popliner_status pl_explained_find(pl_explained *explained, pl_stage_meter *meter,
                                  bool layer_operations_only, popliner_error *error) {
    const popliner_profile *p = meter->chain->profile;
    pl_code_counter counter;
    pl_arrays own = {0};
    explained->chain = meter->chain;
    uint64_t *state = pl_arrays_new(&own, p->target.num_tiles, sizeof *state);
    uint8_t *data_counts =
        pl_arrays_new(&own, pl_operations_count(explained->chain->operations), 1);
    allocate(explained);
    own.failed = own.failed || explained->arrays.failed;
    pl_code_counter_begin(&counter, &own, explained->chain->model, p);
    if (!own.failed) {
        sort_categories(explained);
        count_operations(explained, layer_operations_only, data_counts);
        mark_variables(explained, &own, data_counts);
        count_code(explained, &counter, false, state, explained->code_bytes);
        memset(state, 0, p->target.num_tiles * sizeof *state);
        count_code(explained, &counter, true, state, explained->all_code_bytes);
    }
    const bool has_failed = own.failed;
    pl_arrays_free(&own);
    if (has_failed)
        return pl_fail_memory(error, "the diagnosis");
    return pl_chain_is_full(explained->chain)
               ? POPLINER_OK
               : pl_stage_measure_operations(meter, explained->counted, explained->num_counted,
                                             &explained->stage, error);
}
