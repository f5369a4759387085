/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "whole_walk.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "popliner/profile.h"
#include "test.h"

typedef struct walk {
    const popliner_profile *profile;
    popliner_profile_info info;
    uint64_t *by_tile;
    uint64_t hash;
} walk;

static void add_number(walk *w, uint64_t number) {
    w->hash = XXH3_64bits_withSeed(&number, sizeof number, w->hash);
}

static void add_text(walk *w, const char *text) {
    assert_non_null(text);
    w->hash = XXH3_64bits_withSeed(text, strlen(text) + 1, w->hash);
}

static void add_double(walk *w, double number) {
    w->hash = XXH3_64bits_withSeed(&number, sizeof number, w->hash);
}

#define ASK(...) assert_int_equal((__VA_ARGS__), POPLINER_OK)

static void add_by_tile(walk *w, popliner_by_tile what, size_t index) {
    size_t num_tiles = w->info.num_tiles;
    ASK(popliner_profile_by_tile(w->profile, what, index, w->by_tile, NULL));
    w->hash = XXH3_64bits_withSeed(w->by_tile, num_tiles * sizeof *w->by_tile, w->hash);
}

static void walk_target(walk *w) {
    const popliner_profile_info *info = &w->info;
    add_number(w, info->num_tiles);
    add_number(w, info->num_ipus);
    add_number(w, info->num_replicas);
    add_number(w, info->bytes_per_tile);
    add_number(w, info->clock_hz);
    add_text(w, info->architecture);
    add_text(w, info->target_type);
    add_number(w, info->tiles_per_ipu);
    add_number(w, info->ipus_per_replica);
    add_text(w, info->poplar_version);
    add_text(w, info->poplar_package_hash);
    add_number(w, info->poplar_major_number);
    add_number(w, info->poplar_minor_number);
    add_number(w, info->poplar_point_number);
    add_number(w, info->format_major_number);
    add_number(w, info->format_minor_number);
    add_number(w, info->format_point_number);
    add_number(w, info->is_unstable_format);
    add_number(w, info->num_compute_sets);
    add_number(w, info->num_vertices);
    add_number(w, info->num_edges);
    add_number(w, info->num_vertex_types);
    add_number(w, info->num_variables);
    add_number(w, info->num_unlowered_variables);
    add_number(w, info->num_equivalence_classes);
    add_number(w, info->num_categories);
    add_number(w, info->num_programs);
    add_number(w, info->num_steps);
    add_number(w, info->num_engine_options);
    add_number(w, info->num_runs);
    add_number(w, info->num_execution_steps);
    add_number(w, info->cycles_source);
    add_number(w, info->layout_gap_bytes);
}

static void walk_memory(walk *w) {
    for (size_t tile = 0; tile < w->info.num_tiles; tile++) {
        popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_TILE, tile, &memory, NULL));
        w->hash = XXH3_64bits_withSeed(&memory, sizeof memory, w->hash);
    }
    for (size_t i = 0; i < w->info.num_categories; i++) {
        for (int part = POPLINER_BY_TILE_CATEGORY; part <= POPLINER_BY_TILE_OVERFLOWED_OVERLAPPED;
             part++)
            add_by_tile(w, (popliner_by_tile)part, i);
    }
}

static void walk_programs(walk *w) {
    for (size_t i = 0; i < w->info.num_programs; i++) {
        popliner_program program = POPLINER_PROGRAM_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_PROGRAM, i, &program, NULL));
        add_number(w, (uint64_t)program.type);
        add_text(w, program.type_name);
        add_text(w, program.name);
        add_number(w, program.compute_set);
        add_number(w, program.called_program);
        add_number(w, program.debug_context);
        add_number(w, program.num_repeats);
        add_number(w, program.cycles);
        add_number(w, (uint64_t)program.cycles_source);
        for (size_t k = 0; k < program.num_children; k++)
            add_number(w, program.children[k]);
        add_by_tile(w, POPLINER_BY_TILE_CONTROL_CODE, i);
        add_by_tile(w, POPLINER_BY_TILE_EXCHANGE_CODE, i);
    }
    for (size_t i = 0; i < w->info.num_steps; i++) {
        popliner_step step = POPLINER_STEP_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_STEP, i, &step, NULL));
        add_number(w, step.program);
        add_number(w, step.parent_step);
    }
}

static void walk_compute_sets(walk *w) {
    for (size_t i = 0; i < w->info.num_compute_sets; i++) {
        popliner_compute_set set = POPLINER_COMPUTE_SET_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_COMPUTE_SET, i, &set, NULL));
        add_text(w, set.name);
        add_number(w, set.debug_context);
        add_number(w, set.num_vertices);
        add_number(w, set.num_edges);
        for (size_t k = 0; k < set.num_vertex_types; k++) {
            popliner_vertices vertices = POPLINER_VERTICES_INIT;
            ASK(popliner_profile_get(w->profile, POPLINER_ITEM_VERTICES, set.first_vertices + k,
                                     &vertices, NULL));
            add_number(w, vertices.vertex_type);
            add_text(w, vertices.name);
            add_number(w, vertices.num_vertices);
            add_number(w, vertices.num_tiles);
            add_number(w, vertices.state_bytes);
            add_number(w, vertices.code_bytes);
            add_by_tile(w, POPLINER_BY_TILE_VERTICES, vertices.index);
        }
    }
    for (size_t i = 0; i < w->info.num_vertex_types; i++) {
        add_by_tile(w, POPLINER_BY_TILE_VERTEX_CODE, i);
    }
}

static void walk_variables(walk *w) {
    for (size_t i = 0; i < w->info.num_variables; i++) {
        popliner_variable variable = POPLINER_VARIABLE_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_VARIABLE, i, &variable, NULL));
        add_number(w, variable.tile);
        add_number(w, variable.size_bytes);
        add_number(w, variable.offset_bytes);
        add_number(w, variable.equivalence_class);
        add_number(w, variable.is_always_live);
        add_text(w, variable.name);
        add_text(w, variable.category);
        add_number(w, variable.category_index);
        add_number(w, variable.unlowered_variable);
    }
    for (size_t i = 0; i < w->info.num_unlowered_variables; i++) {
        popliner_unlowered_variable variable = POPLINER_UNLOWERED_VARIABLE_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_UNLOWERED_VARIABLE, i, &variable, NULL));
        add_text(w, variable.name);
        add_number(w, variable.debug_context);
        add_number(w, variable.size_bytes);
        add_number(w, variable.num_pieces);
    }
}

static void walk_execution(walk *w) {
    for (size_t i = 0; i < w->info.num_runs; i++) {
        popliner_run run = POPLINER_RUN_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_RUN, i, &run, NULL));
        add_text(w, run.name);
        add_number(w, run.start_microseconds);
        add_number(w, run.elapsed_microseconds);
        add_number(w, run.num_programs);
        add_number(w, run.first_step);
        add_number(w, run.num_steps);
    }
    for (size_t i = 0; i < w->info.num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        ASK(popliner_profile_get(w->profile, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL));
        add_number(w, step.program);
        add_text(w, step.type_name);
        add_number(w, step.run);
        add_number(w, step.cycles);
        for (size_t k = 0; k < step.num_ipus; k++) {
            popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
            ASK(popliner_profile_get(w->profile, POPLINER_ITEM_IPU_STEP, step.first_ipu_step + k,
                                     &ipu, NULL));
            add_number(w, ipu.ipu);
            add_number(w, ipu.cycles);
            add_number(w, ipu.first_cycle);
            add_number(w, ipu.active_from_cycles);
            add_number(w, ipu.active_to_cycles);
            add_number(w, ipu.num_active_tiles);
            add_double(w, ipu.tile_balance);
        }
    }
}

static popliner_status visit(void *user, size_t program, popliner_program_type type) {
    walk *w = user;
    add_number(w, program);
    add_number(w, (uint64_t)type);
    return POPLINER_OK;
}

uint64_t whole_walk(const popliner_profile *profile) {
    walk w = {.profile = profile, .info = POPLINER_PROFILE_INFO_INIT};
    ASK(popliner_profile_get_info(profile, &w.info, NULL));
    w.by_tile = calloc(w.info.num_tiles, sizeof *w.by_tile);
    assert_non_null(w.by_tile);
    walk_target(&w);
    walk_memory(&w);
    walk_programs(&w);
    walk_compute_sets(&w);
    walk_variables(&w);
    walk_execution(&w);
    ASK(popliner_profile_visit(profile, POPLINER_PROGRAM_ANY, visit, &w, NULL));
    free(w.by_tile);
    return w.hash;
}
