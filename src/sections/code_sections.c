/* Sections of code and state: vertex types, exchanges.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/sections.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/walk.h"
#include "show/tiles_table.h"

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
