/* Sections of programs: liveness steps, the program tree, executions, vertex types and exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/id_map.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

const char *pl_section_unit(const pl_section_source *source, size_t operation) {
    return operation == SIZE_MAX
               ? NULL
               : source->chain->labels[pl_chain_unit_of(source->chain, operation)];
}

static const char *type_name(const popliner_profile *p, size_t program) {
    return pl_profile_string(p, p->program_type_name[program]);
}

/* ---- liveness ---- */

/* Live bytes over all tiles, and on the largest one. */
typedef struct live {
    size_t tile;
    uint64_t *all_bytes; /* [steps], not always live; also tile_bytes */
    uint64_t *tile_bytes;
    uint64_t always_bytes;
    uint64_t tile_always_bytes;
} live;

static popliner_status find_live(const pl_section_source *source, live *own,
                                 popliner_error *error) {
    const popliner_profile *p = source->profile;
    own->tile = pl_tiles_largest(p);
    own->all_bytes = pl_arrays_new(source->arrays, p->num_steps, sizeof *own->all_bytes);
    own->tile_bytes = pl_arrays_new(source->arrays, p->num_steps, sizeof *own->tile_bytes);
    if (source->arrays->failed)
        return pl_fail_memory(error, "the live bytes of all steps");
    PL_TRY(popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, p->num_steps, own->all_bytes,
                                     error));
    PL_TRY(popliner_liveness_by_step(p, own->tile, NULL, 0, p->num_steps, own->tile_bytes, error));
    own->always_bytes = pl_tiles_always_live(p, POPLINER_ALL_TILES, NULL);
    own->tile_always_bytes = pl_tiles_always_live(p, own->tile, NULL);
    return POPLINER_OK;
}

static void add_step(const pl_section_source *source, size_t step, const live *own,
                     pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    const size_t program = sheet->is_naming ? 0 : p->step_program[step];
    const size_t operation = sheet->is_naming ? 0 : pl_chain_operation_at(source->chain, step);
    PL_COLUMN(sheet, number, "step", step);
    PL_COLUMN(sheet, place, "parent_step", p->step_parent[step]);
    PL_COLUMN(sheet, number, "program", program);
    PL_COLUMN(sheet, text, "type", type_name(p, program));
    PL_COLUMN(sheet, text, "name", pl_profile_program_name(p, program));
    PL_COLUMN(sheet, index, "operation", operation);
    PL_COLUMN(sheet, text, "unit", pl_section_unit(source, operation));
    PL_COLUMN(sheet, number, "not_always_live_bytes", own->all_bytes[step]);
    PL_COLUMN(sheet, number, "live_bytes", own->always_bytes + own->all_bytes[step]);
    PL_COLUMN(sheet, number, "largest_tile", own->tile);
    PL_COLUMN(sheet, number, "largest_tile_live_bytes",
              own->tile_always_bytes + own->tile_bytes[step]);
}

popliner_status pl_section_liveness(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    live own = {0};
    add_step(source, 0, NULL, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(find_live(source, &own, error));
    for (size_t step = 0; step < source->profile->num_steps; step++)
        add_step(source, step, &own, sheet);
    return POPLINER_OK;
}

/* ---- programs ---- */

/* Properties of a program that other tables have. */
typedef struct places {
    uint32_t *parent; /* its first parent, or PL_NONE */
    uint32_t *first_step;
    uint32_t *num_steps;
} places;

static popliner_status find_places(const pl_section_source *source, places *own,
                                   popliner_error *error) {
    const popliner_profile *p = source->profile;
    own->parent = pl_arrays_new(source->arrays, p->num_programs, sizeof *own->parent);
    own->first_step = pl_arrays_new(source->arrays, p->num_programs, sizeof *own->first_step);
    own->num_steps = pl_arrays_new(source->arrays, p->num_programs, sizeof *own->num_steps);
    if (source->arrays->failed)
        return pl_fail_memory(error, "the programs");
    for (size_t i = 0; i < p->num_programs; i++) {
        own->parent[i] = PL_NONE;
        own->first_step[i] = PL_NONE;
    }
    for (size_t i = p->num_programs; i-- > 0;) {
        for (uint32_t c = p->program_children_start[i]; c < p->program_children_start[i + 1]; c++)
            own->parent[p->program_child[c]] = (uint32_t)i;
    }
    for (size_t step = p->num_steps; step-- > 0;) {
        own->first_step[p->step_program[step]] = (uint32_t)step;
        own->num_steps[p->step_program[step]]++;
    }
    return POPLINER_OK;
}

/* Returns the state of a compute set's vertices: the compiler's value if the memory model uses it,
 * like that of operations. */
static uint64_t state_of(const pl_section_source *source, size_t compute_set) {
    const popliner_profile *p = source->profile;
    uint64_t bytes = 0;
    if (pl_takes_told_state(source->chain->model, p))
        return pl_series_sum(p, p->compute_set_state[compute_set]) +
               pl_series_sum(p, p->compute_set_descriptors[compute_set]);
    for (uint32_t i = p->compute_set_vertices_start[compute_set];
         i < p->compute_set_vertices_start[compute_set + 1]; i++)
        bytes += pl_series_sum(p, p->compute_set_vertex_instances[i]) *
                 p->vertex_type_size_bytes[p->compute_set_vertex_type[i]];
    return bytes;
}

/* Adds the vertices of a program's compute set. */
static void add_vertices(const pl_section_source *source, size_t compute_set, pl_sheet *sheet) {
    const bool has_set = compute_set != SIZE_MAX;
    popliner_compute_set told = POPLINER_COMPUTE_SET_INIT;
    if (has_set)
        popliner_profile_get(source->profile, POPLINER_ITEM_COMPUTE_SET, compute_set, &told, NULL);
    PL_COLUMN(sheet, known, "num_vertices", has_set, told.num_vertices);
    PL_COLUMN(sheet, known, "vertex_state_bytes", has_set,
              has_set ? state_of(source, compute_set) : 0);
}

static void add_program(const pl_section_source *source, size_t i, const places *own,
                        pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    popliner_program program = POPLINER_PROGRAM_INIT;
    program.compute_set = SIZE_MAX;
    if (!sheet->is_naming)
        popliner_profile_get(p, POPLINER_ITEM_PROGRAM, i, &program, NULL);
    const size_t operation = sheet->is_naming ? 0 : pl_walk_index(source->operation_of[i]);
    const char *cycles_source = program.cycles_source == POPLINER_CYCLES_NONE
                                    ? NULL
                                    : pl_cycles_source_name(program.cycles_source);
    PL_COLUMN(sheet, number, "program", i);
    PL_COLUMN(sheet, place, "parent", own->parent[i]);
    PL_COLUMN(sheet, text, "type", program.type_name);
    PL_COLUMN(sheet, text, "name", program.name);
    PL_COLUMN(sheet, number, "num_children", program.num_children);
    PL_COLUMN(sheet, index, "called", program.called_program);
    PL_COLUMN(sheet, index, "compute_set", program.compute_set);
    /* the profile does not have how often a RepeatWhile repeats */
    PL_COLUMN(sheet, known, "num_repeats", strcmp(program.type_name, "RepeatWhile") != 0,
              program.num_repeats);
    PL_COLUMN(sheet, known, "cycles", cycles_source != NULL, program.cycles);
    PL_COLUMN(sheet, text, "cycles_source", cycles_source);
    PL_COLUMN(sheet, number, "control_code_bytes", pl_series_sum(p, p->program_control_code[i]));
    PL_COLUMN(sheet, number, "exchange_code_bytes", pl_series_sum(p, p->program_exchange_code[i]));
    add_vertices(source, program.compute_set, sheet);
    PL_COLUMN(sheet, place, "first_step", own->first_step[i]);
    PL_COLUMN(sheet, number, "num_steps", own->num_steps[i]);
    PL_COLUMN(sheet, index, "operation", operation);
    PL_COLUMN(sheet, text, "unit", pl_section_unit(source, operation));
    PL_COLUMN(sheet, id, "debug_context", program.debug_context);
    PL_COLUMN(sheet, text, "missing_reason",
              operation != SIZE_MAX
                  ? NULL
                  : pl_missing_reason_text(source->chain->operations->program_reason[i]));
}

popliner_status pl_section_programs(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    places own = {0};
    add_program(source, 0, NULL, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(find_places(source, &own, error));
    for (size_t i = 0; i < source->profile->num_programs; i++)
        add_program(source, i, &own, sheet);
    return POPLINER_OK;
}

/* ---- the execution ---- */

static const char *unit_of_program(const pl_section_source *source, size_t program) {
    return program == SIZE_MAX
               ? NULL
               : pl_section_unit(source, pl_walk_index(source->operation_of[program]));
}

/* Adds an executed step on one of its IPUs, if it was measured. */
static void add_execution(const pl_section_source *source, size_t i, size_t which_ipu,
                          pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
    popliner_run run = POPLINER_RUN_INIT;
    popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
    if (!sheet->is_naming)
        popliner_profile_get(p, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL);
    if (!sheet->is_naming && step.run != SIZE_MAX)
        popliner_profile_get(p, POPLINER_ITEM_RUN, step.run, &run, NULL);
    const bool is_measured = which_ipu < step.num_ipus;
    if (is_measured)
        popliner_profile_get(p, POPLINER_ITEM_IPU_STEP, step.first_ipu_step + which_ipu, &ipu,
                             NULL);
    PL_COLUMN(sheet, number, "execution_step", i);
    PL_COLUMN(sheet, index, "run", step.run);
    PL_COLUMN(sheet, text, "run_name", run.name);
    PL_COLUMN(sheet, index, "program", step.program);
    PL_COLUMN(sheet, text, "type", step.type_name);
    PL_COLUMN(sheet, text, "name",
              step.program == SIZE_MAX ? NULL : pl_profile_program_name(p, step.program));
    PL_COLUMN(sheet, text, "unit", unit_of_program(source, step.program));
    PL_COLUMN(sheet, known, "ipu", is_measured, ipu.ipu);
    PL_COLUMN(sheet, known, "cycles", is_measured, ipu.cycles);
    PL_COLUMN(sheet, known, "first_cycle", is_measured, ipu.first_cycle);
    PL_COLUMN(sheet, known, "active_from_cycles", is_measured, ipu.active_from_cycles);
    PL_COLUMN(sheet, known, "active_to_cycles", is_measured, ipu.active_to_cycles);
    PL_COLUMN(sheet, known, "active_tiles", is_measured, ipu.num_active_tiles);
    PL_COLUMN(sheet, share, "tile_balance", is_measured, ipu.tile_balance);
}

popliner_status pl_section_execution(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    (void)error;
    add_execution(source, 0, 0, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < p->num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        popliner_profile_get(p, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL);
        for (size_t k = 0; k < step.num_ipus || k == 0; k++)
            add_execution(source, i, k, sheet);
    }
    return POPLINER_OK;
}

/* Sums over executions. */
typedef struct execution_sum {
    uint64_t num_executions;
    uint64_t cycles;
    double mean_tile_cycles; /* cycles times the tile balance of each: what tiles take on average */
} execution_sum;

/* By name. Begin with the arrays. */
typedef struct execution_sums {
    pl_arrays *arrays; /* own the sums */
    pl_names names;
    execution_sum *sums; /* [names.count] */
} execution_sums;

static void take_execution(execution_sums *of, const char *name, const popliner_ipu_step *ipu) {
    const size_t count = of->names.count;
    const size_t i = pl_names_number(&of->names, name == NULL ? "" : name);
    of->arrays->failed = of->arrays->failed || i == SIZE_MAX;
    if (!pl_arrays_grow(of->arrays, &of->sums, of->names.count, sizeof *of->sums))
        return;
    if (of->names.count > count)
        of->sums[i] = (execution_sum){0, 0, 0};
    of->sums[i].num_executions++;
    of->sums[i].cycles += ipu->cycles;
    of->sums[i].mean_tile_cycles += (double)ipu->cycles * ipu->tile_balance;
}

static void add_sum(const char *by, const char *name, const execution_sum *sum, pl_sheet *sheet) {
    PL_COLUMN(sheet, text, "by", by);
    PL_COLUMN(sheet, words, "name", name);
    PL_COLUMN(sheet, number, "num_executions", sum->num_executions);
    PL_COLUMN(sheet, number, "cycles", sum->cycles);
    PL_COLUMN(sheet, share, "mean_tile_cycles", true, sum->mean_tile_cycles);
}

static void add_execution_sums(const char *by, execution_sums *of, pl_sheet *sheet) {
    for (size_t i = 0; i < of->names.count && !of->arrays->failed; i++)
        add_sum(by, of->names.items[i], &of->sums[i], sheet);
    pl_names_free(&of->names);
}

popliner_status pl_section_execution_sums(const pl_section_source *source, pl_sheet *sheet,
                                          popliner_error *error) {
    const popliner_profile *p = source->profile;
    execution_sums types = {.arrays = source->arrays};
    execution_sums units = {.arrays = source->arrays};
    add_sum(NULL, NULL, NULL, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < p->num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        popliner_profile_get(p, POPLINER_ITEM_EXECUTION_STEP, i, &step, NULL);
        for (size_t k = 0; k < step.num_ipus; k++) {
            popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
            popliner_profile_get(p, POPLINER_ITEM_IPU_STEP, step.first_ipu_step + k, &ipu, NULL);
            take_execution(&types, step.type_name, &ipu);
            take_execution(&units, unit_of_program(source, step.program), &ipu);
        }
    }
    add_execution_sums("type", &types, sheet);
    add_execution_sums("unit", &units, sheet);
    return source->arrays->failed ? pl_fail_memory(error, "a report") : POPLINER_OK;
}

/* ---- vertex types ---- */

/* Counts the vertices of each type on each tile, [types * tiles], and the compute sets that have
 * some; last_set[types] is scratch, plus one. */
static void count_vertices(const popliner_profile *p, uint64_t *vertices, size_t *num_sets,
                           uint32_t *last_set) {
    const size_t num_tiles = p->target.num_tiles;
    for (uint32_t set = 0; set < p->num_compute_sets; set++) {
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            const uint32_t type = p->compute_set_vertex_type[i];
            pl_series_add(p, p->compute_set_vertex_instances[i], 1, vertices + type * num_tiles);
            if (pl_series_sum(p, p->compute_set_vertex_instances[i]) == 0)
                continue;
            num_sets[type] += last_set[type] != set + 1;
            last_set[type] = set + 1;
        }
    }
}

/* `vertices` and `code` are by tile. */
static void add_vertex_type(const popliner_profile *p, size_t type, const uint64_t *vertices,
                            const uint64_t *code, size_t num_sets, pl_sheet *sheet) {
    const uint64_t instance_bytes = sheet->is_naming ? 0 : p->vertex_type_size_bytes[type];
    const size_t worst = pl_tiles_largest(p);
    uint64_t num_vertices = 0;
    size_t num_tiles = 0;
    for (size_t tile = 0; !sheet->is_naming && tile < p->target.num_tiles; tile++) {
        num_vertices += vertices[tile];
        num_tiles += vertices[tile] > 0;
    }
    PL_COLUMN(sheet, number, "vertex_type", type);
    PL_COLUMN(sheet, text, "name", pl_profile_string(p, p->vertex_type_name[type]));
    PL_COLUMN(sheet, number, "num_compute_sets", num_sets);
    PL_COLUMN(sheet, number, "num_vertices", num_vertices);
    PL_COLUMN(sheet, number, "num_tiles", num_tiles);
    PL_COLUMN(sheet, number, "instance_bytes", instance_bytes);
    PL_COLUMN(sheet, number, "state_bytes", num_vertices * instance_bytes);
    PL_COLUMN(sheet, number, "code_bytes", pl_series_sum(p, p->vertex_type_code[type]));
    PL_COLUMN(sheet, number, "worst_tile", worst);
    PL_COLUMN(sheet, number, "worst_tile_vertices", vertices[worst]);
    PL_COLUMN(sheet, number, "worst_tile_state_bytes", vertices[worst] * instance_bytes);
    PL_COLUMN(sheet, number, "worst_tile_code_bytes", code[worst]);
}

popliner_status pl_section_vertices(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    const popliner_profile *p = source->profile;
    const size_t num_tiles = p->target.num_tiles;
    const size_t num_types = p->num_vertex_types;
    uint64_t *vertices = pl_arrays_new(source->arrays, num_types * num_tiles, sizeof *vertices);
    uint64_t *code = pl_arrays_new(source->arrays, num_tiles, sizeof *code);
    size_t *num_sets = pl_arrays_new(source->arrays, num_types, sizeof *num_sets);
    uint32_t *last_set = pl_arrays_new(source->arrays, num_types, sizeof *last_set);
    if (source->arrays->failed)
        return pl_fail_memory(error, "the vertex types");
    add_vertex_type(p, 0, NULL, NULL, 0, sheet);
    pl_sheet_end_names(sheet);
    count_vertices(p, vertices, num_sets, last_set);
    for (size_t type = 0; type < num_types; type++) {
        memset(code, 0, num_tiles * sizeof *code);
        pl_series_add(p, p->vertex_type_code[type], 1, code);
        add_vertex_type(p, type, vertices + type * num_tiles, code, num_sets[type], sheet);
    }
    return POPLINER_OK;
}

/* ---- exchanges ---- */

static bool is_exchange(popliner_program_type type) {
    return type == POPLINER_PROGRAM_DO_EXCHANGE || type == POPLINER_PROGRAM_GLOBAL_EXCHANGE ||
           type == POPLINER_PROGRAM_STREAM_COPY_MID;
}

/* Returns the bytes of the lowered variables of a program's lists. */
static uint64_t touched_bytes_of(const popliner_profile *p, size_t program) {
    uint64_t bytes = 0;
    for (uint32_t k = p->program_lists_start[program]; k < p->program_lists_start[program + 1]; k++)
        for (uint64_t i = p->list_start[p->program_list[k]];
             i < p->list_start[p->program_list[k] + 1]; i++)
            bytes += p->variable_size_bytes[p->list_variable[i]];
    return bytes;
}

static void add_code(const popliner_profile *p, const uint64_t *code, pl_sheet *sheet) {
    const size_t worst = pl_tiles_largest(p);
    uint64_t code_bytes = 0;
    size_t num_tiles = 0;
    size_t largest = 0;
    for (size_t tile = 0; !sheet->is_naming && tile < p->target.num_tiles; tile++) {
        code_bytes += code[tile];
        num_tiles += code[tile] > 0;
        largest = code[tile] > code[largest] ? tile : largest;
    }
    PL_COLUMN(sheet, number, "code_bytes", code_bytes);
    PL_COLUMN(sheet, number, "num_tiles", num_tiles);
    PL_COLUMN(sheet, index, "largest_tile", code_bytes > 0 ? largest : SIZE_MAX);
    PL_COLUMN(sheet, number, "largest_tile_bytes", code[largest]);
    PL_COLUMN(sheet, number, "worst_tile", worst);
    PL_COLUMN(sheet, number, "worst_tile_bytes", code[worst]);
}

/* code[tiles] is scratch. */
static void add_exchange(const pl_section_source *source, size_t i, const places *own,
                         uint64_t *code, pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    popliner_program program = POPLINER_PROGRAM_INIT;
    const size_t operation = sheet->is_naming ? 0 : pl_walk_index(source->operation_of[i]);
    if (!sheet->is_naming) {
        popliner_profile_get(p, POPLINER_ITEM_PROGRAM, i, &program, NULL);
        memset(code, 0, p->target.num_tiles * sizeof *code);
        pl_series_add(p, p->program_exchange_code[i], 1, code);
    }
    PL_COLUMN(sheet, number, "program", i);
    PL_COLUMN(sheet, text, "type", program.type_name);
    PL_COLUMN(sheet, text, "name", program.name);
    PL_COLUMN(sheet, index, "operation", operation);
    PL_COLUMN(sheet, text, "unit", pl_section_unit(source, operation));
    add_code(p, code, sheet);
    PL_COLUMN(sheet, number, "touched_bytes", touched_bytes_of(p, i));
    PL_COLUMN(sheet, known, "cycles", program.cycles_source != POPLINER_CYCLES_NONE,
              program.cycles);
    PL_COLUMN(sheet, number, "num_steps", own->num_steps[i]);
}

popliner_status pl_section_exchanges(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    const popliner_profile *p = source->profile;
    places own = {0};
    uint64_t *code = pl_arrays_new(source->arrays, p->target.num_tiles, sizeof *code);
    if (code == NULL)
        return pl_fail_memory(error, "the exchanges");
    PL_TRY(pl_profile_require_variables(p, error));
    add_exchange(source, 0, NULL, NULL, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(find_places(source, &own, error));
    for (size_t i = 0; i < p->num_programs; i++)
        if (is_exchange((popliner_program_type)p->program_type[i]))
            add_exchange(source, i, &own, code, sheet);
    return POPLINER_OK;
}
