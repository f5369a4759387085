/* Sections along the programs: liveness steps, the tree of programs, the execution.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/names.h"
#include "diagnosis/diagnosis.h"
#include "memory/chain_data.h"
#include "memory/code.h"
#include "model/operations.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"
#include "tables/reports.h"
#include "tables/sections.h"

const char *pl_section_unit(const pl_section_source *source, size_t operation) {
    return operation == SIZE_MAX
               ? NULL
               : pl_chain_unit_at(source->chain, pl_chain_unit_of(source->chain, operation))->label;
}

static const char *type_name(const popliner_profile *p, size_t program) {
    return pl_profile_string(p, p->program_type_name[program]);
}

/* ---- liveness ---- */

popliner_status pl_section_liveness(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    static const char *const columns[] = {
        "step",
        "parent_step",
        "program",
        "type",
        "name",
        "operation",
        "unit",
        "not_always_live_bytes",
        "live_bytes",
        "largest_tile",
        "largest_tile_live_bytes",
    };
    const popliner_profile *p = source->profile;
    uint64_t *all_bytes = pl_new_array(p->num_steps, sizeof *all_bytes);
    uint64_t *tile_bytes = pl_new_array(p->num_steps, sizeof *tile_bytes);
    popliner_status status = POPLINER_OK;
    pl_sheet_begin(sheet, sheet->format, "liveness", columns, sizeof columns / sizeof *columns);
    if (all_bytes == NULL || tile_bytes == NULL)
        status = pl_fail_memory(error, "the live bytes of all steps");
    const size_t tile = pl_tiles_largest(p);
    if (status == POPLINER_OK)
        status = popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, p->num_steps, all_bytes,
                                           error);
    if (status == POPLINER_OK)
        status = popliner_liveness_by_step(p, tile, NULL, 0, p->num_steps, tile_bytes, error);
    const uint64_t always_bytes =
        status == POPLINER_OK ? pl_tiles_always_live(p, POPLINER_ALL_TILES, NULL) : 0;
    const uint64_t tile_always_bytes =
        status == POPLINER_OK ? pl_tiles_always_live(p, tile, NULL) : 0;
    for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++) {
        size_t program = p->step_program[step];
        size_t operation = popliner_chain_operation_at(source->chain, step);
        pl_sheet_number(sheet, step);
        pl_sheet_index(sheet, pl_walk_index(p->step_parent[step]));
        pl_sheet_number(sheet, program);
        pl_sheet_text(sheet, type_name(p, program));
        pl_sheet_text(sheet, pl_profile_program_name(p, program));
        pl_sheet_index(sheet, operation);
        pl_sheet_text(sheet, pl_section_unit(source, operation));
        pl_sheet_number(sheet, all_bytes[step]);
        pl_sheet_number(sheet, always_bytes + all_bytes[step]);
        pl_sheet_number(sheet, tile);
        pl_sheet_number(sheet, tile_always_bytes + tile_bytes[step]);
    }
    free(tile_bytes);
    free(all_bytes);
    return status;
}

/* ---- programs ---- */

uint32_t *pl_section_operations_of(const pl_section_source *source) {
    uint32_t *first = pl_new_array(source->profile->num_programs, sizeof *first);
    for (size_t i = 0; first != NULL && i < source->profile->num_programs; i++)
        first[i] = PL_NONE;
    for (size_t i = popliner_operations_count(source->operations); first != NULL && i-- > 0;) {
        const popliner_operation *operation = pl_operation_at(source->operations, i);
        for (size_t k = 0; k < operation->num_programs; k++)
            first[operation->programs[k]] = (uint32_t)i;
    }
    return first;
}

/* What is known of each program by others. */
typedef struct places {
    uint32_t *parent; /* the first whose child it is, or PL_NONE */
    uint32_t *first_step;
    uint32_t *num_steps;
    uint32_t *operation; /* the first that has it, or PL_NONE */
} places;

static void free_places(places *own) {
    free(own->parent);
    free(own->first_step);
    free(own->num_steps);
    free(own->operation);
}

static popliner_status find_places(const pl_section_source *source, places *own,
                                   popliner_error *error) {
    const popliner_profile *p = source->profile;
    own->parent = pl_new_array(p->num_programs, sizeof *own->parent);
    own->first_step = pl_new_array(p->num_programs, sizeof *own->first_step);
    own->num_steps = pl_new_array(p->num_programs, sizeof *own->num_steps);
    own->operation = pl_section_operations_of(source);
    if (own->parent == NULL || own->first_step == NULL || own->num_steps == NULL ||
        own->operation == NULL)
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

/* The vertices of the compute set that a program executes, and their state: what the compiler tells
 * of it where the memory model takes that, as that of operations is. */
static void add_vertices(const pl_section_source *source, size_t compute_set, pl_sheet *sheet) {
    const popliner_profile *p = source->profile;
    popliner_compute_set told = POPLINER_COMPUTE_SET_INIT;
    uint64_t state_bytes = 0;
    if (compute_set == SIZE_MAX) {
        pl_sheet_none(sheet);
        pl_sheet_none(sheet);
        return;
    }
    popliner_profile_compute_set(p, compute_set, &told, NULL);
    if (pl_takes_told_state(source->chain->model, p)) {
        state_bytes = pl_series_sum(p, p->compute_set_state[compute_set]) +
                      pl_series_sum(p, p->compute_set_descriptors[compute_set]);
    } else {
        for (size_t i = 0; i < told.num_vertex_types; i++) {
            popliner_vertices vertices = POPLINER_VERTICES_INIT;
            popliner_profile_vertices(p, compute_set, i, &vertices, NULL);
            state_bytes += vertices.state_bytes;
        }
    }
    pl_sheet_number(sheet, told.num_vertices);
    pl_sheet_number(sheet, state_bytes);
}

static const char *cycles_name(popliner_cycles_source source) {
    return source == POPLINER_CYCLES_MEASURED    ? "measured"
           : source == POPLINER_CYCLES_ESTIMATED ? "estimated"
                                                 : NULL;
}

popliner_status pl_section_programs(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    static const char *const columns[] = {
        "program",
        "parent",
        "type",
        "name",
        "num_children",
        "called",
        "compute_set",
        "num_repeats",
        "cycles",
        "cycles_source",
        "control_code_bytes",
        "exchange_code_bytes",
        "num_vertices",
        "vertex_state_bytes",
        "first_step",
        "num_steps",
        "operation",
        "unit",
        "debug_context",
        "missing_reason",
    };
    const popliner_profile *p = source->profile;
    places own = {0};
    pl_sheet_begin(sheet, sheet->format, "programs", columns, sizeof columns / sizeof *columns);
    popliner_status status = find_places(source, &own, error);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_programs; i++) {
        popliner_program program = POPLINER_PROGRAM_INIT;
        popliner_profile_program(p, i, &program, NULL);
        size_t operation = pl_walk_index(own.operation[i]);
        pl_sheet_number(sheet, i);
        pl_sheet_index(sheet, pl_walk_index(own.parent[i]));
        pl_sheet_text(sheet, program.type_name);
        pl_sheet_text(sheet, program.name);
        pl_sheet_number(sheet, program.num_children);
        pl_sheet_index(sheet, program.called_program);
        pl_sheet_index(sheet, program.compute_set);
        if (strcmp(program.type_name, "RepeatWhile") == 0) /* nothing tells */
            pl_sheet_none(sheet);
        else
            pl_sheet_number(sheet, program.num_repeats);
        if (cycles_name(program.cycles_source) == NULL)
            pl_sheet_none(sheet);
        else
            pl_sheet_number(sheet, program.cycles);
        pl_sheet_text(sheet, cycles_name(program.cycles_source));
        pl_sheet_number(sheet, pl_series_sum(p, p->program_control_code[i]));
        pl_sheet_number(sheet, pl_series_sum(p, p->program_exchange_code[i]));
        add_vertices(source, program.compute_set, sheet);
        pl_sheet_index(sheet, pl_walk_index(own.first_step[i]));
        pl_sheet_number(sheet, own.num_steps[i]);
        pl_sheet_index(sheet, operation);
        pl_sheet_text(sheet, pl_section_unit(source, operation));
        pl_sheet_id(sheet, program.debug_context);
        pl_sheet_text(sheet, operation != SIZE_MAX ? NULL
                                                   : pl_missing_reason_text(
                                                         pl_program_reason(source->operations, i)));
    }
    free_places(&own);
    return status;
}

/* ---- the execution ---- */

/* What an executed step took on one of its IPUs, or that none was measured. */
static void add_ipu(const popliner_ipu_step *ipu, pl_sheet *sheet) {
    if (ipu == NULL) {
        for (int i = 0; i < 7; i++)
            pl_sheet_none(sheet);
        return;
    }
    pl_sheet_number(sheet, ipu->ipu);
    pl_sheet_number(sheet, ipu->cycles);
    pl_sheet_number(sheet, ipu->first_cycle);
    pl_sheet_number(sheet, ipu->active_from_cycles);
    pl_sheet_number(sheet, ipu->active_to_cycles);
    pl_sheet_number(sheet, ipu->num_active_tiles);
    pl_sheet_real(sheet, ipu->tile_balance);
}

popliner_status pl_section_execution(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    static const char *const columns[] = {
        "execution_step",
        "run",
        "run_name",
        "program",
        "type",
        "name",
        "unit",
        "ipu",
        "cycles",
        "first_cycle",
        "active_from_cycles",
        "active_to_cycles",
        "active_tiles",
        "tile_balance",
    };
    const popliner_profile *p = source->profile;
    uint32_t *operation_of = pl_section_operations_of(source);
    popliner_status status =
        operation_of == NULL ? pl_fail_memory(error, "the programs") : POPLINER_OK;
    pl_sheet_begin(sheet, sheet->format, "execution", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        popliner_run run = POPLINER_RUN_INIT;
        popliner_profile_execution_step(p, i, &step, NULL);
        if (step.run != SIZE_MAX)
            popliner_profile_run(p, step.run, &run, NULL);
        for (size_t k = 0; k < step.num_ipus || k == 0; k++) {
            popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
            if (k < step.num_ipus)
                popliner_profile_ipu_step(p, i, k, &ipu, NULL);
            pl_sheet_number(sheet, i);
            pl_sheet_index(sheet, step.run);
            pl_sheet_text(sheet, run.name);
            pl_sheet_index(sheet, step.program);
            pl_sheet_text(sheet, step.type_name);
            pl_sheet_text(
                sheet, step.program == SIZE_MAX ? NULL : pl_profile_program_name(p, step.program));
            pl_sheet_text(sheet,
                          step.program == SIZE_MAX
                              ? NULL
                              : pl_section_unit(source, pl_walk_index(operation_of[step.program])));
            add_ipu(k < step.num_ipus ? &ipu : NULL, sheet);
        }
    }
    free(operation_of);
    return status;
}

/* What the executions of some programs took. */
typedef struct execution_sum {
    uint64_t num_executions;
    uint64_t cycles;
    double mean_tile_cycles; /* of these, what the tiles take on the mean */
} execution_sum;

/* By name. Zero-initialise. */
typedef struct execution_sums {
    pl_names names;
    execution_sum *sums; /* [names.count] */
    size_t capacity;
} execution_sums;

static bool add_execution(execution_sums *of, const char *name, const popliner_ipu_step *ipu) {
    const size_t count = of->names.count;
    size_t i = pl_names_number(&of->names, name == NULL ? "" : name);
    if (i == SIZE_MAX || !pl_grow(&of->sums, &of->capacity, of->names.count, sizeof *of->sums))
        return false;
    if (of->names.count > count)
        of->sums[i] = (execution_sum){0, 0, 0};
    of->sums[i].num_executions++;
    of->sums[i].cycles += ipu->cycles;
    of->sums[i].mean_tile_cycles += (double)ipu->cycles * ipu->tile_balance;
    return true;
}

static void add_execution_sums(const char *by, const execution_sums *of, pl_sheet *sheet) {
    for (size_t i = 0; i < of->names.count; i++) {
        const char *name = of->names.items[i];
        pl_sheet_text(sheet, by);
        pl_sheet_text(sheet, *name == '\0' ? NULL : name);
        pl_sheet_number(sheet, of->sums[i].num_executions);
        pl_sheet_number(sheet, of->sums[i].cycles);
        pl_sheet_real(sheet, of->sums[i].mean_tile_cycles);
    }
}

popliner_status pl_section_execution_sums(const pl_section_source *source, pl_sheet *sheet,
                                          popliner_error *error) {
    static const char *const columns[] = {"by", "name", "num_executions", "cycles",
                                          "mean_tile_cycles"};
    const popliner_profile *p = source->profile;
    uint32_t *operation_of = pl_section_operations_of(source);
    popliner_status status =
        operation_of == NULL ? pl_fail_memory(error, "the programs") : POPLINER_OK;
    execution_sums types = {0};
    execution_sums units = {0};
    pl_sheet_begin(sheet, sheet->format, "execution_sums", columns,
                   sizeof columns / sizeof *columns);
    for (size_t i = 0; status == POPLINER_OK && i < p->num_execution_steps; i++) {
        popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
        popliner_profile_execution_step(p, i, &step, NULL);
        const char *unit = step.program == SIZE_MAX
                               ? NULL
                               : pl_section_unit(source, pl_walk_index(operation_of[step.program]));
        for (size_t k = 0; status == POPLINER_OK && k < step.num_ipus; k++) {
            popliner_ipu_step ipu = POPLINER_IPU_STEP_INIT;
            popliner_profile_ipu_step(p, i, k, &ipu, NULL);
            if (!add_execution(&types, step.type_name, &ipu) || !add_execution(&units, unit, &ipu))
                status = pl_fail_memory(error, "a report");
        }
    }
    if (status == POPLINER_OK) {
        add_execution_sums("type", &types, sheet);
        add_execution_sums("unit", &units, sheet);
    }
    pl_names_free(&types.names);
    pl_names_free(&units.names);
    free(types.sums);
    free(units.sums);
    free(operation_of);
    return status;
}

/* ---- code and state ---- */

/* ---- vertex types ---- */

/* The vertices of each type on each tile, [types * tiles], and how many compute sets have some. */
static popliner_status count_vertices(const popliner_profile *p, uint64_t *vertices,
                                      size_t *num_sets, popliner_error *error) {
    const size_t num_tiles = p->target.num_tiles;
    uint32_t *last_set = pl_new_array(p->num_vertex_types, sizeof *last_set); /* plus one */
    if (last_set == NULL)
        return pl_fail_memory(error, "the vertex types");
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
    free(last_set);
    return POPLINER_OK;
}

static void add_vertex_type(const popliner_profile *p, size_t type, const uint64_t *vertices,
                            const uint64_t *code, size_t num_sets, pl_sheet *sheet) {
    const uint64_t instance_bytes = p->vertex_type_size_bytes[type];
    const size_t worst = pl_tiles_largest(p);
    uint64_t num_vertices = 0;
    size_t num_tiles = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        num_vertices += vertices[tile];
        num_tiles += vertices[tile] > 0;
    }
    pl_sheet_number(sheet, type);
    pl_sheet_text(sheet, pl_profile_string(p, p->vertex_type_name[type]));
    pl_sheet_number(sheet, num_sets);
    pl_sheet_number(sheet, num_vertices);
    pl_sheet_number(sheet, num_tiles);
    pl_sheet_number(sheet, instance_bytes);
    pl_sheet_number(sheet, num_vertices * instance_bytes);
    pl_sheet_number(sheet, pl_series_sum(p, p->vertex_type_code[type]));
    pl_sheet_number(sheet, worst);
    pl_sheet_number(sheet, vertices[worst]);
    pl_sheet_number(sheet, vertices[worst] * instance_bytes);
    pl_sheet_number(sheet, code[worst]);
}

popliner_status pl_section_vertices(const pl_section_source *source, pl_sheet *sheet,
                                    popliner_error *error) {
    static const char *const columns[] = {
        "vertex_type",
        "name",
        "num_compute_sets",
        "num_vertices",
        "num_tiles",
        "instance_bytes",
        "state_bytes",
        "code_bytes",
        "worst_tile",
        "worst_tile_vertices",
        "worst_tile_state_bytes",
        "worst_tile_code_bytes",
    };
    const popliner_profile *p = source->profile;
    const size_t num_tiles = p->target.num_tiles;
    uint64_t *vertices = pl_new_array(p->num_vertex_types * num_tiles, sizeof *vertices);
    uint64_t *code = pl_new_array(num_tiles, sizeof *code);
    size_t *num_sets = pl_new_array(p->num_vertex_types, sizeof *num_sets);
    pl_sheet_begin(sheet, sheet->format, "vertices", columns, sizeof columns / sizeof *columns);
    popliner_status status = vertices == NULL || code == NULL || num_sets == NULL
                                 ? pl_fail_memory(error, "the vertex types")
                                 : count_vertices(p, vertices, num_sets, error);
    for (size_t type = 0; status == POPLINER_OK && type < p->num_vertex_types; type++) {
        memset(code, 0, num_tiles * sizeof *code);
        pl_series_add(p, p->vertex_type_code[type], 1, code);
        add_vertex_type(p, type, vertices + type * num_tiles, code, num_sets[type], sheet);
    }
    free(num_sets);
    free(code);
    free(vertices);
    return status;
}

/* ---- exchanges ---- */

static bool is_exchange(popliner_program_type type) {
    return type == POPLINER_PROGRAM_DO_EXCHANGE || type == POPLINER_PROGRAM_GLOBAL_EXCHANGE ||
           type == POPLINER_PROGRAM_STREAM_COPY_MID;
}

/* The sizes of the lowered variables in each list of some program, as far as they are known yet:
 * plus one, 0 for not yet. */
static uint64_t list_bytes(const popliner_profile *p, uint32_t list, uint64_t *known) {
    if (known[list] == 0) {
        known[list] = 1;
        for (uint64_t i = p->list_start[list]; i < p->list_start[list + 1]; i++)
            known[list] += p->variable_size_bytes[p->list_variable[i]];
    }
    return known[list] - 1;
}

static void add_code(const popliner_profile *p, const uint64_t *code, pl_sheet *sheet) {
    const size_t worst = pl_tiles_largest(p);
    uint64_t code_bytes = 0;
    size_t num_tiles = 0;
    size_t largest = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        code_bytes += code[tile];
        num_tiles += code[tile] > 0;
        largest = code[tile] > code[largest] ? tile : largest;
    }
    pl_sheet_number(sheet, code_bytes);
    pl_sheet_number(sheet, num_tiles);
    pl_sheet_index(sheet, code_bytes > 0 ? largest : SIZE_MAX);
    pl_sheet_number(sheet, code[largest]);
    pl_sheet_number(sheet, worst);
    pl_sheet_number(sheet, code[worst]);
}

popliner_status pl_section_exchanges(const pl_section_source *source, pl_sheet *sheet,
                                     popliner_error *error) {
    static const char *const columns[] = {
        "program",          "type",          "name",         "operation",          "unit",
        "code_bytes",       "num_tiles",     "largest_tile", "largest_tile_bytes", "worst_tile",
        "worst_tile_bytes", "touched_bytes", "cycles",       "num_steps",
    };
    const popliner_profile *p = source->profile;
    uint64_t *code = pl_new_array(p->target.num_tiles, sizeof *code);
    uint64_t *known = pl_new_array(p->num_lists, sizeof *known);
    uint32_t *num_steps = pl_new_array(p->num_programs, sizeof *num_steps);
    uint32_t *operation_of = pl_section_operations_of(source);
    pl_sheet_begin(sheet, sheet->format, "exchanges", columns, sizeof columns / sizeof *columns);
    popliner_status status = pl_profile_require_variables(p, error);
    if (status == POPLINER_OK &&
        (code == NULL || known == NULL || num_steps == NULL || operation_of == NULL))
        status = pl_fail_memory(error, "the exchanges");
    for (size_t step = 0; status == POPLINER_OK && step < p->num_steps; step++)
        num_steps[p->step_program[step]]++;
    for (size_t i = 0; status == POPLINER_OK && i < p->num_programs; i++) {
        if (!is_exchange((popliner_program_type)p->program_type[i]))
            continue;
        popliner_program program = POPLINER_PROGRAM_INIT;
        const size_t operation = pl_walk_index(operation_of[i]);
        uint64_t touched_bytes = 0;
        popliner_profile_program(p, i, &program, NULL);
        memset(code, 0, p->target.num_tiles * sizeof *code);
        pl_series_add(p, p->program_exchange_code[i], 1, code);
        for (uint32_t k = p->program_lists_start[i]; k < p->program_lists_start[i + 1]; k++)
            touched_bytes += list_bytes(p, p->program_list[k], known);
        pl_sheet_number(sheet, i);
        pl_sheet_text(sheet, program.type_name);
        pl_sheet_text(sheet, program.name);
        pl_sheet_index(sheet, operation);
        pl_sheet_text(sheet, pl_section_unit(source, operation));
        add_code(p, code, sheet);
        pl_sheet_number(sheet, touched_bytes);
        if (program.cycles_source == POPLINER_CYCLES_NONE)
            pl_sheet_none(sheet);
        else
            pl_sheet_number(sheet, program.cycles);
        pl_sheet_number(sheet, num_steps[i]);
    }
    free(operation_of);
    free(num_steps);
    free(known);
    free(code);
    return status;
}
