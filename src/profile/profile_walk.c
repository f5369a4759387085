/* Access to single items of a profile, its program and its execution.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "profile/blob_codec.h"
#include "profile/profile_data.h"

popliner_status pl_walk_check_index(size_t index, size_t count, const char *what,
                                    popliner_error *error) {
    if (index < count)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "the profile has %zu %s; number %zu is out of range", count, what, index);
}

/* ---- The profile as a whole ------------------------------------------------------------------ */

/* Returns layout_gap_bytes. O(tiles). */
static uint64_t find_layout_gap(const popliner_profile *profile) {
    uint64_t largest = 0;
    for (size_t tile = 0; tile < profile->target.num_tiles; tile++) {
        uint64_t live =
            profile->tile_always_live_bytes[tile] + profile->tile_not_always_live_peak_bytes[tile];
        uint64_t end = profile->tile_total_including_gaps_bytes[tile];
        uint64_t gap = end > live ? end - live : 0;
        largest = gap > largest ? gap : largest;
    }
    return largest;
}

popliner_status popliner_profile_get_info(const popliner_profile *p, popliner_profile_info *info,
                                          popliner_error *error) {
    popliner_profile_info result = {
        .poplar_version = pl_profile_string(p, (pl_string)p->target.poplar_text),
        .poplar_package_hash = pl_profile_string(p, (pl_string)p->target.poplar_hash),
        .poplar_major_number = (unsigned)p->target.poplar_major,
        .poplar_minor_number = (unsigned)p->target.poplar_minor,
        .poplar_point_number = (unsigned)p->target.poplar_point,
        .format_major_number = (unsigned)p->target.format_major,
        .format_minor_number = (unsigned)p->target.format_minor,
        .format_point_number = (unsigned)p->target.format_point,
        .is_unstable_format = p->target.is_unstable_format != 0,
        .num_tiles = p->target.num_tiles,
        .num_ipus = p->target.num_ipus,
        .num_replicas = p->target.num_replicas,
        .tiles_per_ipu = p->target.tiles_per_ipu,
        .ipus_per_replica = p->target.ipus_per_replica,
        .bytes_per_tile = p->target.bytes_per_tile,
        .clock_hz = p->target.clock_hz,
        .architecture = p->target.architecture,
        .target_type = p->target.type,
        .num_compute_sets = p->num_compute_sets,
        .num_vertices = p->target.num_vertices,
        .num_edges = p->target.num_edges,
        .num_vertex_types = p->num_vertex_types,
        .num_variables = p->num_variables,
        .num_unlowered_variables = p->num_unlowered,
        .num_equivalence_classes = p->num_classes,
        .num_categories = p->num_categories,
        .num_programs = p->num_programs,
        .num_steps = p->num_steps,
        .num_engine_options = p->num_options,
        .num_runs = p->num_runs,
        .num_execution_steps = p->num_execution_steps,
        .cycles_source = pl_profile_cycles_source(p),
        .layout_gap_bytes = find_layout_gap(p),
        .ipu = (size_t)p->target.ipu - 1,
    };
    for (size_t i = 0; i < p->num_checks; i++)
        result.breached_relations |= (uint32_t)(p->checks[i].breached > 0) << i;
    return pl_struct_fill(info, &result, sizeof result, "popliner_profile_info", error);
}

/* The structures that popliner_profile_get fills. */
typedef union item {
    popliner_tile_memory tile_memory;
    popliner_variable variable;
    popliner_unlowered_variable unlowered_variable;
    popliner_program program;
    popliner_step step;
    popliner_compute_set compute_set;
    popliner_vertices vertices;
    popliner_run run;
    popliner_execution_step execution_step;
    popliner_ipu_step ipu_step;
} item;

/* ---- Memory as the compiler counts it ------------------------------------------------------- */

static void fill_tile_memory(const popliner_profile *p, size_t tile, item *result) {
    result->tile_memory = (popliner_tile_memory){
        .total_bytes = p->tile_total_bytes[tile],
        .total_including_gaps_bytes = p->tile_total_including_gaps_bytes[tile],
        .always_live_bytes = p->tile_always_live_bytes[tile],
        .not_always_live_peak_bytes = p->tile_not_always_live_peak_bytes[tile],
        .interleaved_bytes = p->tile_interleaved_bytes[tile],
        .non_interleaved_bytes = p->tile_non_interleaved_bytes[tile],
        .overflowed_bytes = p->tile_overflowed_bytes[tile],
        .first_variable = (size_t)p->tile_variables_start[tile],
        .end_variable = (size_t)p->tile_variables_start[tile + 1],
    };
}

#define SERIES(array, count, name)                                                                 \
    { offsetof(popliner_profile, array), offsetof(popliner_profile, count), name }

/* The series of each popliner_by_tile, by item. The parts of a category's account, which are the
 * first of them, are consecutive for each category. */
static const struct {
    size_t array;
    size_t count;
    const char *items;
} by_tile_rows[] = {
    [POPLINER_BY_TILE_CATEGORY] = SERIES(category_memory, num_categories, "categories"),
    [POPLINER_BY_TILE_VERTEX_CODE] = SERIES(vertex_type_code, num_vertex_types, "vertex types"),
    [POPLINER_BY_TILE_VERTICES] = SERIES(compute_set_vertex_instances, num_compute_set_vertices,
                                         "types of vertices in its compute sets"),
    [POPLINER_BY_TILE_CONTROL_CODE] = SERIES(program_control_code, num_programs, "programs"),
    [POPLINER_BY_TILE_EXCHANGE_CODE] = SERIES(program_exchange_code, num_programs, "programs"),
};

popliner_status popliner_profile_by_tile(const popliner_profile *p, popliner_by_tile what,
                                         size_t index, uint64_t *by_tile, popliner_error *error) {
    const int part = (int)what - POPLINER_BY_TILE_NON_INTERLEAVED_NON_OVERLAPPED;
    const bool is_part = part >= 0 && part < PL_NUM_CATEGORY_PARTS;
    const size_t row = is_part ? POPLINER_BY_TILE_CATEGORY : (size_t)what;
    const size_t num_parts = row == POPLINER_BY_TILE_CATEGORY ? PL_NUM_CATEGORY_PARTS : 1;
    const pl_series *series;
    size_t count;
    if (row >= sizeof by_tile_rows / sizeof *by_tile_rows || by_tile_rows[row].items == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%d is not a popliner_by_tile", (int)what);
    memcpy(&series, (const char *)p + by_tile_rows[row].array, sizeof series);
    memcpy(&count, (const char *)p + by_tile_rows[row].count, sizeof count);
    PL_TRY(pl_walk_check_index(index, count, by_tile_rows[row].items, error));
    memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
    if (num_parts > 1 && p->num_category_parts == 0) /* there is no account */
        return POPLINER_OK;
    for (size_t i = is_part ? (size_t)part : 0; i < (is_part ? (size_t)part + 1 : num_parts); i++)
        pl_series_add(p, series[index * num_parts + i], 1, by_tile);
    return POPLINER_OK;
}

static void fill_variable(const popliner_profile *p, size_t variable, item *result) {
    uint32_t unlowered = p->variable_unlowered[variable];
    result->variable = (popliner_variable){
        .tile = pl_profile_tile_of(p, variable),
        .size_bytes = p->variable_size_bytes[variable],
        .offset_bytes = p->variable_offset[variable],
        .equivalence_class = p->variable_class[variable],
        .is_always_live = p->class_always_live[p->variable_class[variable]] != 0,
        .name = unlowered == PL_NONE ? "" : pl_profile_string(p, p->unlowered_name[unlowered]),
        .category = pl_profile_string(p, p->category_name[p->variable_category[variable]]),
        .category_index = p->variable_category[variable],
        .unlowered_variable = pl_walk_index(unlowered),
    };
}

static void fill_unlowered_variable(const popliner_profile *p, size_t variable, item *result) {
    result->unlowered_variable = (popliner_unlowered_variable){
        .name = pl_profile_string(p, p->unlowered_name[variable]),
        .debug_context = p->unlowered_debug_context[variable],
        .size_bytes = p->unlowered_size_bytes[variable],
        .num_pieces = p->unlowered_num_pieces[variable],
    };
}

/* ---- Programs ------------------------------------------------------------------------------- */

static void fill_program(const popliner_profile *p, size_t program, item *result) {
    popliner_program own = {
        .type = (popliner_program_type)p->program_type[program],
        .type_name = pl_profile_string(p, p->program_type_name[program]),
        .name = pl_profile_program_name(p, program),
        .num_children = pl_profile_num_children(p, program),
        .children = p->program_child + p->program_children_start[program],
        .compute_set = pl_walk_index(p->program_compute_set[program]),
        .called_program = pl_walk_index(p->program_called[program]),
        .debug_context = p->program_debug_context[program],
        .num_repeats = 1,
        .cycles_source = POPLINER_CYCLES_NONE,
    };
    if (p->num_timed_programs > 0) {
        own.num_repeats = p->program_repeats[program];
        own.cycles = p->program_cycles[program];
        own.cycles_source = (popliner_cycles_source)p->program_cycles_source[program];
    }
    result->program = own;
}

static void fill_step(const popliner_profile *p, size_t step, item *result) {
    result->step = (popliner_step){.program = p->step_program[step],
                                   .parent_step = pl_walk_index(p->step_parent[step])};
}

/* ---- Compute sets and vertices -------------------------------------------------------------- */

static void fill_compute_set(const popliner_profile *p, size_t compute_set, item *result) {
    size_t start = p->compute_set_vertices_start[compute_set];
    size_t end = p->compute_set_vertices_start[compute_set + 1];
    popliner_compute_set own = {
        .name = pl_profile_string(p, p->compute_set_name[compute_set]),
        .debug_context = p->compute_set_debug_context[compute_set],
        .first_vertices = start,
        .num_vertex_types = end - start,
        .num_edges = p->compute_set_num_edges[compute_set],
    };
    for (size_t i = start; i < end; i++)
        own.num_vertices += pl_series_sum(p, p->compute_set_vertex_instances[i]);
    result->compute_set = own;
}

/* Adds up `values` over the tiles where `marks` is not 0, and counts these tiles. */
static uint64_t sum_up_marked(const popliner_profile *p, pl_series values, pl_series marks,
                              size_t *num_tiles) {
    pl_tile_runs marked = pl_tile_runs_of(p, marks);
    pl_runs runs = pl_series_runs(p, values);
    uint64_t value = 0;
    uint64_t length = 0;
    uint64_t sum = 0;
    size_t run_end = 0; /* of the run of `value` */
    size_t tile;
    size_t end;
    for (*num_tiles = 0; pl_tile_runs_next(&marked, &tile, &end);) {
        *num_tiles += end - tile;
        while (tile < end) {
            if (run_end <= tile && pl_runs_next(&runs, &value, &length) <= 0)
                break; /* all others are 0 */
            run_end += run_end <= tile ? (size_t)length : 0;
            const size_t until = run_end < end ? run_end : end;
            sum += until > tile ? value * (until - tile) : 0;
            tile = until > tile ? until : tile;
        }
    }
    return sum;
}

static void fill_vertices(const popliner_profile *p, size_t index, item *result) {
    uint32_t type = p->compute_set_vertex_type[index];
    pl_series instances = p->compute_set_vertex_instances[index];
    popliner_vertices own = {
        .vertex_type = type,
        .name = pl_profile_string(p, p->vertex_type_name[type]),
        .num_vertices = pl_series_sum(p, instances),
        .index = index,
    };
    own.state_bytes = own.num_vertices * p->vertex_type_size_bytes[type];
    own.code_bytes = sum_up_marked(p, p->vertex_type_code[type], instances, &own.num_tiles);
    result->vertices = own;
}

/* ---- Execution ---- */

static void fill_run(const popliner_profile *p, size_t run, item *result) {
    result->run = (popliner_run){
        .name = pl_profile_string(p, p->run_name[run]),
        .start_microseconds = p->run_start_microseconds[run],
        .elapsed_microseconds = p->run_elapsed_microseconds[run],
        .num_programs = p->run_num_programs[run],
        .first_step = (size_t)p->run_first_step[run],
        .num_steps = (size_t)(p->run_first_step[run + 1] - p->run_first_step[run]),
    };
}

static void fill_execution_step(const popliner_profile *p, size_t step, item *result) {
    const size_t run = pl_owner_of(p->run_first_step, p->num_runs, step);
    result->execution_step = (popliner_execution_step){
        .program = pl_walk_index(p->execution_program[step]),
        .type_name = pl_profile_string(p, p->execution_type_name[step]),
        .run = run < p->num_runs ? run : SIZE_MAX,
        .first_ipu_step = (size_t)p->execution_ipus_start[step],
        .num_ipus = (size_t)(p->execution_ipus_start[step + 1] - p->execution_ipus_start[step]),
        .cycles = pl_profile_execution_cycles(p, step),
    };
}

static void fill_ipu_step(const popliner_profile *p, size_t i, item *result) {
    result->ipu_step = (popliner_ipu_step){
        .ipu = p->execution_ipu[i],
        .cycles = p->execution_cycles[i],
        .first_cycle = p->execution_first_cycle[i],
        .active_from_cycles = p->execution_active_from[i],
        .active_to_cycles = p->execution_active_to[i],
        .num_active_tiles = p->execution_active_tiles[i],
        .tile_balance = p->execution_tile_balance[i],
    };
}

/* ---- Any item ---- */

#define ROW(kind, structure, count, what)                                                          \
    [POPLINER_ITEM_##kind] = {what, offsetof(popliner_profile, count), "popliner_" #structure,     \
                              sizeof(popliner_##structure), fill_##structure}

static const struct {
    const char *what;
    size_t count_offset; /* offset of its count in the profile */
    const char *structure;
    size_t size;
    void (*fill)(const popliner_profile *p, size_t index, item *result);
} kinds[POPLINER_NUM_ITEMS] = {
    ROW(TILE, tile_memory, target.num_tiles, "tiles"),
    ROW(VARIABLE, variable, num_variables, "lowered variables"),
    ROW(UNLOWERED_VARIABLE, unlowered_variable, num_unlowered, "unlowered variables"),
    ROW(PROGRAM, program, num_programs, "programs"),
    ROW(STEP, step, num_steps, "liveness steps"),
    ROW(COMPUTE_SET, compute_set, num_compute_sets, "compute sets"),
    ROW(VERTICES, vertices, num_compute_set_vertices, "types of vertices in compute sets"),
    ROW(RUN, run, num_runs, "runs"),
    ROW(EXECUTION_STEP, execution_step, num_execution_steps, "executed steps"),
    ROW(IPU_STEP, ipu_step, num_execution_ipus, "measured IPUs of steps"),
};

popliner_status popliner_profile_get(const popliner_profile *p, popliner_item kind, size_t index,
                                     void *result, popliner_error *error) {
    item own;
    if ((unsigned)kind >= POPLINER_NUM_ITEMS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%d is not a popliner_item", (int)kind);
    const size_t *count = (const size_t *)((const char *)p + kinds[kind].count_offset);
    PL_TRY(pl_walk_check_index(index, *count, kinds[kind].what, error));
    kinds[kind].fill(p, index, &own);
    return pl_struct_fill(result, &own, kinds[kind].size, kinds[kind].structure, error);
}

popliner_status popliner_profile_get_all(const popliner_profile *p, popliner_item kind, void *items,
                                         popliner_error *error) {
    popliner_status status = POPLINER_OK;
    size_t struct_size;
    if ((unsigned)kind >= POPLINER_NUM_ITEMS)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%d is not a popliner_item", (int)kind);
    const size_t *count = (const size_t *)((const char *)p + kinds[kind].count_offset);
    if (*count == 0)
        return POPLINER_OK;
    memcpy(&struct_size, items, sizeof struct_size);
    /* the first one says what all are like, so it is the last to be filled */
    for (size_t i = *count; status == POPLINER_OK && i-- > 0;) {
        char *place = (char *)items + i * struct_size;
        if (i > 0)
            memcpy(place, items, sizeof struct_size);
        status = popliner_profile_get(p, kind, i, place, error);
    }
    return status;
}

/* ---- Visiting programs in the order of the tree ---- */

popliner_status popliner_profile_visit(const popliner_profile *p, popliner_program_type type,
                                       popliner_program_visitor visitor, void *user,
                                       popliner_error *error) {
    if (visitor == NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "there is no function to visit programs with");
    if (type != POPLINER_PROGRAM_ANY && ((int)type < 0 || (int)type >= PL_NUM_PROGRAM_TYPES))
        return pl_fail(error, POPLINER_ERROR_USAGE, "%d is not a popliner_program_type", (int)type);
    uint8_t *visited = pl_new_array(p->num_programs, sizeof *visited);
    popliner_status status =
        visited == NULL ? pl_fail_memory(error, "a visit of the programs") : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < p->num_steps + p->num_programs; i++) {
        const size_t program = i < p->num_steps ? p->step_program[i] : i - p->num_steps;
        const popliner_program_type own = (popliner_program_type)p->program_type[program];
        if (visited[program] || (type != POPLINER_PROGRAM_ANY && type != own))
            continue;
        visited[program] = 1;
        status = visitor(user, program, own);
        if (status != POPLINER_OK) {
            popliner_error why = {.message = ""};
            snprintf(why.message, sizeof why.message,
                     "the caller's function visitor failed at program %zu", program);
            status = pl_fail_callback(error, "visitor", status, &why);
        }
    }
    free(visited);
    return status;
}
