/* Sections of the model: operations, layers, pairs of layers, and the stages of a plan.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/parts.h"
#include "memory/passes.h"
#include "memory/stage.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

/* Adds the columns that operations and layers have in common. */
static void add_sums(const popliner_stage_detail *sums, pl_sheet *sheet) {
    for (int part = PL_FIRST_CODE; part < PL_FIRST_CODE + PL_NUM_CODE_GROUPS; part++)
        PL_COLUMN(sheet, number, pl_parts[part].column, sums->part_bytes[part]);
    PL_COLUMN(sheet, number, pl_parts[POPLINER_PART_VARIABLES].column,
              sums->part_bytes[POPLINER_PART_VARIABLES]);
}

/* Returns the cycles of one execution of each program of an operation. */
static uint64_t operation_cycles(const popliner_profile *p, const popliner_operation *operation) {
    uint64_t cycles = 0;
    for (size_t i = 0; p->num_timed_programs > 0 && i < operation->num_programs; i++)
        cycles += p->program_cycles[operation->programs[i]];
    return cycles;
}

static const char *rule_name(popliner_layer_rule rule) {
    static const char *const names[] = {
        [POPLINER_LAYER_RULE_NAME] = "name",
        [POPLINER_LAYER_RULE_INPUTS] = "inputs",
        [POPLINER_LAYER_RULE_VARIABLES] = "variables",
        [POPLINER_LAYER_RULE_FOLLOWING] = "following",
        [POPLINER_LAYER_RULE_FIRST_LAYER] = "first_layer",
        [POPLINER_LAYER_RULE_TENSOR] = "tensor",
        [POPLINER_LAYER_RULE_NONE] = "none",
    };
    return names[rule];
}

/* `path` is that of the debug context; NULL: unknown. */
static void add_operation(const pl_section_source *source, size_t i,
                          const popliner_stage_detail *sums, const char *path, pl_sheet *sheet) {
    const bool has_cycles = source->profile->num_timed_programs > 0;
    const popliner_operation *own =
        sheet->is_naming ? NULL : pl_operation_at(source->chain->operations, i);
    PL_COLUMN(sheet, number, "operation", i);
    PL_COLUMN(sheet, text, "name", own->name);
    PL_COLUMN(sheet, text, "layer", pl_layer_at(source->chain->layers, i)->name);
    PL_COLUMN(sheet, text, "rule", rule_name(pl_layer_at(source->chain->layers, i)->rule));
    PL_COLUMN(sheet, text, "unit", pl_section_unit(source, i));
    add_sums(sums, sheet);
    PL_COLUMN(sheet, known, "cycles", has_cycles, operation_cycles(source->profile, own));
    PL_COLUMN(sheet, number, "num_programs", own->num_programs);
    PL_COLUMN(sheet, number, "first_step", own->first_step);
    PL_COLUMN(sheet, number, "last_step", own->last_step);
    PL_COLUMN(sheet, text, "inputs", own->inputs);
    PL_COLUMN(sheet, id, "debug_context", own->debug_context);
    PL_COLUMN(sheet, text, "debug_path", path);
}

popliner_status pl_section_operations(const pl_section_source *source, pl_sheet *sheet,
                                      popliner_error *error) {
    enum { PATH_SIZE = 4096 };
    const pl_operations *operations = source->chain->operations;
    popliner_stage_detail *sums = NULL;
    char *path = pl_arrays_new(source->arrays, PATH_SIZE, 1);
    add_operation(source, 0, NULL, NULL, sheet);
    pl_sheet_end_names(sheet);
    if (path == NULL)
        return pl_fail_memory(error, "a name");
    PL_TRY(pl_operation_sums_measure(source->meter, source->listener, &sums, error));
    for (size_t i = 0; i < pl_operations_count(operations); i++) {
        const uint64_t context = pl_operation_at(operations, i)->debug_context;
        const bool has_path =
            source->info != NULL && pl_debug_info_path(source->info, context, path, PATH_SIZE);
        add_operation(source, i, &sums[i], has_path ? path : NULL, sheet);
    }
    free(sums);
    return POPLINER_OK;
}

/* ---- layers ---- */

/* Adds how many operations a unit has, and the range of their steps. */
static void add_operations(const pl_section_source *source, size_t unit, pl_sheet *sheet) {
    const pl_chain *chain = source->chain;
    size_t count = 0;
    size_t first_step = SIZE_MAX;
    size_t last_step = SIZE_MAX;
    for (size_t i = 0; !sheet->is_naming && i < chain->num_operations; i++) {
        const popliner_operation *operation = pl_operation_at(chain->operations, i);
        if (chain->unit_of_operation[i] != unit)
            continue;
        first_step = pl_fewer(first_step, operation->first_step);
        last_step = count++ == 0 ? operation->last_step : pl_more(last_step, operation->last_step);
    }
    PL_COLUMN(sheet, number, "num_operations", count);
    PL_COLUMN(sheet, index, "first_step", first_step);
    PL_COLUMN(sheet, index, "last_step", last_step);
}

static void add_layer(const pl_section_source *source, size_t unit,
                      const popliner_stage_detail *own, const uint64_t *cycles, pl_sheet *sheet) {
    const pl_chain *chain = source->chain;
    PL_COLUMN(sheet, number, "index", unit);
    PL_COLUMN(sheet, text, "unit", chain->labels[unit]);
    PL_COLUMN(sheet, text, "kind", pl_unit_kind_name(chain->kind[unit]));
    add_operations(source, unit, sheet);
    add_sums(own, sheet);
    PL_COLUMN(sheet, number, "unexplained_bytes", own->part_bytes[POPLINER_PART_UNEXPLAINED]);
    PL_COLUMN(sheet, number, "total_bytes", own->total_bytes);
    PL_COLUMN(sheet, number, "parameter_bytes", own->part_bytes[POPLINER_PART_PARAMETERS]);
    PL_COLUMN(sheet, number, "largest_tile", own->tile);
    PL_COLUMN(sheet, number, "largest_tile_bytes", own->tile_bytes);
    PL_COLUMN(sheet, known, "cycles", cycles != NULL, cycles != NULL ? cycles[unit] : 0);
}

/* Finds the cycles of all units, [units]; *cycles is NULL if the profile has none. */
static popliner_status find_cycles(const pl_section_source *source, const uint64_t **cycles,
                                   popliner_error *error) {
    if (source->profile->num_timed_programs == 0)
        return POPLINER_OK;
    *cycles = pl_unit_cycles_find(source->arrays, source->chain, &source->meter->pass_usage.passes)
                  .of_run;
    return source->arrays->failed ? pl_fail_memory(error, "the cycles of the layers") : POPLINER_OK;
}

popliner_status pl_section_layers(const pl_section_source *source, pl_sheet *sheet,
                                  popliner_error *error) {
    const size_t num_units = source->chain->num_units;
    const uint64_t *cycles = NULL;
    add_layer(source, 0, NULL, NULL, sheet);
    pl_sheet_end_names(sheet);
    PL_TRY(find_cycles(source, &cycles, error));
    for (size_t unit = 0; unit < num_units; unit++) {
        const popliner_interval stage = {unit, unit, 1};
        popliner_stage_detail own;
        PL_TRY(pl_stage_measure(source->meter, NULL, &stage, 1, NULL, &own, error));
        add_layer(source, unit, &own, cycles, sheet);
    }
    return POPLINER_OK;
}

static void add_pair(const pl_section_source *source, size_t i, size_t j, pl_sheet *sheet) {
    const size_t place = i * source->pairs->num_layers + j;
    PL_COLUMN(sheet, text, "layer", pl_layers_name(source->chain->layers, i + 1));
    PL_COLUMN(sheet, text, "other_layer", pl_layers_name(source->chain->layers, j + 1));
    PL_COLUMN(sheet, number, "affinity_bytes", source->pairs->affinity_bytes[place]);
    PL_COLUMN(sheet, number, "communication_bytes", source->pairs->communication_bytes[place]);
}

popliner_status pl_section_pairs(const pl_section_source *source, pl_sheet *sheet,
                                 popliner_error *error) {
    const size_t num_layers = source->pairs->num_layers;
    (void)error;
    add_pair(source, 0, 0, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < num_layers; i++)
        for (size_t j = 0; j < num_layers; j++)
            add_pair(source, i, j, sheet);
    return POPLINER_OK;
}

/* ---- the plan ---- */

static void add_part(const popliner_stage_detail *d, popliner_part part, pl_sheet *sheet) {
    PL_COLUMN(sheet, number, pl_parts[part].column, d->part_bytes[part]);
}

/* Adds a stage and the need of its IPU. The table begins as that of any split. */
static void add_stage(const pl_certificate *c, size_t i, pl_sheet *sheet) {
    const popliner_stage_detail *d = &c->details[i];
    const bool has_needs = pl_chain_is_full(c->input.chain);
    pl_stage_facts_columns(c, i, sheet);
    PL_COLUMN(sheet, number, "largest_tile", d->tile);
    PL_COLUMN(sheet, number, "largest_tile_bytes", d->tile_bytes);
    PL_COLUMN(sheet, number, "peak_step", d->step);
    PL_COLUMN(sheet, known, "at_least_bytes", has_needs, d->need_bytes[POPLINER_NEED_LEAST]);
    PL_COLUMN(sheet, known, "at_most_bytes", has_needs, d->need_bytes[POPLINER_NEED_MOST]);
    PL_COLUMN(sheet, number, "total_bytes", d->total_bytes);
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (!pl_part_is_within(part))
            add_part(d, (popliner_part)part, sheet);
    add_part(d, POPLINER_PART_PARAMETERS, sheet);
}

popliner_status pl_section_plan(const pl_section_source *source, pl_sheet *sheet,
                                popliner_error *error) {
    const pl_certificate *c = source->certificate;
    (void)error;
    add_stage(c, 0, sheet);
    pl_sheet_end_names(sheet);
    for (size_t i = 0; i < c->plan.num_stages; i++)
        add_stage(c, i, sheet);
    return POPLINER_OK;
}
