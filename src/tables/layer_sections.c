/* Sections of the model: operations, layers, pairs of layers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "answer/certificate_data.h"
#include "base/failure.h"
#include "base/growth.h"
#include "memory/chain_data.h"
#include "memory/part_sums.h"
#include "memory/parts.h"
#include "memory/passes.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "tables/sections.h"

void pl_column_names_add(pl_column_names *columns, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        columns->names[columns->count++] = names[i];
}

void pl_column_names_add_parts(pl_column_names *columns, const popliner_part *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        columns->names[columns->count++] = pl_parts[parts[i]].info.column;
}

/* Names of columns with those of the parts that operations have in the middle. */
static pl_column_names with_parts(const char *const *first, size_t num_first,
                                  const char *const *last, size_t num_last) {
    pl_column_names columns = {0};
    pl_column_names_add(&columns, first, num_first);
    pl_column_names_add_parts(&columns, pl_operation_parts, PL_NUM_OPERATION_PARTS);
    pl_column_names_add(&columns, last, num_last);
    return columns;
}

/* What operations and layers have in common. */
static void add_sums(const pl_part_sums *sums, pl_sheet *sheet) {
    for (size_t i = 0; i < PL_NUM_OPERATION_PARTS; i++)
        pl_sheet_number(sheet, sums->part_bytes[pl_operation_parts[i]]);
}

/* The cycles of one execution of each program of an operation. */
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

popliner_status pl_section_operations(const pl_section_source *source, pl_sheet *sheet,
                                      popliner_error *error) {
    static const char *const first[] = {
        "operation", "name", "layer", "rule", "unit",
    };
    static const char *const last[] = {
        "cycles", "num_programs",  "first_step", "last_step",
        "inputs", "debug_context", "debug_path",
    };
    enum { PATH_SIZE = 4096 };
    const popliner_operations *operations = source->operations;
    pl_part_sums *sums = NULL;
    char *path = malloc(PATH_SIZE);
    popliner_status status = path == NULL ? pl_fail_memory(error, "a name") : POPLINER_OK;
    const pl_column_names columns =
        with_parts(first, sizeof first / sizeof *first, last, sizeof last / sizeof *last);
    pl_sheet_begin(sheet, sheet->format, "operations", columns.names, columns.count);
    if (status == POPLINER_OK)
        status =
            pl_operation_sums_measure(operations, source->meter, source->listener, &sums, error);
    for (size_t i = 0; status == POPLINER_OK && i < popliner_operations_count(operations); i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        const popliner_layer_finding *finding = popliner_layers_at(source->layers, i);
        bool has_path = source->info != NULL &&
                        pl_debug_info_path(source->info, operation->debug_context, path, PATH_SIZE);
        pl_sheet_number(sheet, i);
        pl_sheet_text(sheet, operation->name);
        pl_sheet_text(sheet, finding->name);
        pl_sheet_text(sheet, rule_name(finding->rule));
        pl_sheet_text(sheet, pl_section_unit(source, i));
        add_sums(&sums[i], sheet);
        if (source->profile->num_timed_programs > 0)
            pl_sheet_number(sheet, operation_cycles(source->profile, operation));
        else
            pl_sheet_none(sheet);
        pl_sheet_number(sheet, operation->num_programs);
        pl_sheet_number(sheet, operation->first_step);
        pl_sheet_number(sheet, operation->last_step);
        pl_sheet_text(sheet, operation->inputs);
        pl_sheet_id(sheet, operation->debug_context);
        pl_sheet_text(sheet, has_path ? path : NULL);
    }
    free(sums);
    free(path);
    return status;
}

/* ---- layers ---- */

/* How many operations a unit has, and from which step to which they run. */
static void add_operations(const pl_section_source *source, size_t unit, pl_sheet *sheet) {
    const popliner_chain *chain = source->chain;
    size_t count = 0;
    size_t first_step = SIZE_MAX;
    size_t last_step = SIZE_MAX;
    for (size_t i = chain->unit_operations_start[unit]; i < chain->unit_operations_start[unit + 1];
         i++) {
        const popliner_operation *operation =
            pl_operation_at(source->operations, chain->unit_operation[i]);
        if (count == 0 || operation->first_step < first_step)
            first_step = operation->first_step;
        if (count == 0 || operation->last_step > last_step)
            last_step = operation->last_step;
        count++;
    }
    pl_sheet_number(sheet, count);
    pl_sheet_index(sheet, first_step);
    pl_sheet_index(sheet, last_step);
}

/* The cycles of all units, [units]; NULL where none are known, or without memory. */
static popliner_status find_cycles(const pl_section_source *source, uint64_t **cycles,
                                   popliner_error *error) {
    const struct pl_pass_usage *usage;
    *cycles = NULL;
    if (source->profile->num_timed_programs == 0)
        return POPLINER_OK;
    popliner_status status = pl_stage_meter_pass_usage(source->meter, &usage, error);
    if (status != POPLINER_OK)
        return status;
    *cycles = pl_new_array(source->chain->num_units, sizeof **cycles);
    if (*cycles == NULL)
        return pl_fail_memory(error, "the cycles of the layers");
    return pl_unit_cycles_find(source->profile, source->operations, source->chain, &usage->passes,
                               *cycles, error);
}

/* What each unit needs by itself. */
static popliner_status measure_units(const pl_section_source *source, pl_part_sums *all,
                                     popliner_error *error) {
    const popliner_chain *chain = source->chain;
    const struct pl_pass_usage *usage;
    popliner_stage_memory memory = {0};
    popliner_status status = POPLINER_OK;
    if (pl_part_sums_are_possible(source->meter)) {
        status = pl_stage_meter_pass_usage(source->meter, &usage, error);
        if (status != POPLINER_OK)
            return status;
        const pl_shares shares = {chain->num_units, chain->unit_of_operation, &usage->usage, true};
        return pl_part_sums_measure(source->meter, &shares, all, error);
    }
    for (size_t unit = 0; status == POPLINER_OK && unit < chain->num_units; unit++) {
        status = pl_stage_measure_units(source->meter, unit, unit, &memory, error);
        if (status == POPLINER_OK)
            all[unit] = pl_part_sums_of(source->meter, &memory);
    }
    pl_stage_memory_clear(&memory);
    return status;
}

popliner_status pl_section_layers(const pl_section_source *source, pl_sheet *sheet,
                                  popliner_error *error) {
    static const char *const first[] = {
        "index", "unit", "kind", "num_operations", "first_step", "last_step",
    };
    static const char *const last[] = {
        "unexplained_bytes", "total_bytes",        "parameter_bytes",
        "largest_tile",      "largest_tile_bytes", "cycles",
    };
    const size_t num_units = source->chain->num_units;
    uint64_t *cycles = NULL;
    pl_part_sums *all = pl_new_array(num_units, sizeof *all);
    const pl_column_names columns =
        with_parts(first, sizeof first / sizeof *first, last, sizeof last / sizeof *last);
    pl_sheet_begin(sheet, sheet->format, "layers", columns.names, columns.count);
    popliner_status status =
        all == NULL ? pl_fail_memory(error, "a report") : find_cycles(source, &cycles, error);
    if (status == POPLINER_OK)
        status = measure_units(source, all, error);
    for (size_t unit = 0; status == POPLINER_OK && unit < num_units; unit++) {
        const pl_part_sums *own = &all[unit];
        pl_sheet_number(sheet, unit);
        pl_sheet_text(sheet, pl_chain_unit_at(source->chain, unit)->label);
        pl_sheet_text(sheet, pl_unit_kind_name(pl_chain_unit_at(source->chain, unit)->kind));
        add_operations(source, unit, sheet);
        add_sums(own, sheet);
        pl_sheet_number(sheet, own->part_bytes[POPLINER_PART_UNEXPLAINED]);
        pl_sheet_number(sheet, own->total_bytes);
        pl_sheet_number(sheet, own->part_bytes[POPLINER_PART_PARAMETERS]);
        pl_sheet_number(sheet, own->largest_tile);
        pl_sheet_number(sheet, own->largest_tile_bytes);
        if (cycles == NULL)
            pl_sheet_none(sheet);
        else
            pl_sheet_number(sheet, cycles[unit]);
    }
    free(all);
    free(cycles);
    return status;
}

popliner_status pl_section_pairs(const pl_section_source *source, pl_sheet *sheet,
                                 popliner_error *error) {
    static const char *const columns[] = {"layer", "other_layer", "affinity_bytes",
                                          "communication_bytes"};
    const popliner_layer_pairs *pairs = source->pairs;
    (void)error;
    pl_sheet_begin(sheet, sheet->format, "pairs", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < pairs->num_layers; i++) {
        for (size_t j = 0; j < pairs->num_layers; j++) {
            pl_sheet_text(sheet, pairs->names[i]);
            pl_sheet_text(sheet, pairs->names[j]);
            pl_sheet_number(sheet, pairs->affinity_bytes[i * pairs->num_layers + j]);
            pl_sheet_number(sheet, pairs->communication_bytes[i * pairs->num_layers + j]);
        }
    }
    return POPLINER_OK;
}

/* ---- the plan ---- */

/* The columns of what the IPU of a stage needs over all tiles: parts, then parameters. */
static size_t list_parts(popliner_part *parts) {
    size_t count = 0;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        if (!pl_parts[part].info.is_within)
            parts[count++] = (popliner_part)part;
    parts[count++] = POPLINER_PART_PARAMETERS;
    return count;
}

/* PopLiner's model does not know what compiling adds: nothing is certain there. */
static void add_bound(pl_sheet *sheet, bool has_needs, uint64_t bytes) {
    if (has_needs)
        pl_sheet_number(sheet, bytes);
    else
        pl_sheet_none(sheet);
}

popliner_status pl_section_plan(const pl_section_source *source, pl_sheet *sheet,
                                popliner_error *error) {
    static const char *const first[] = {
        "stage",          "ipu",
        "first_unit",     "last_unit",
        "limit_bytes",    "need_bytes",
        "headroom_bytes", "verdict",
        "largest_tile",   "largest_tile_bytes",
        "peak_step",      "at_least_bytes",
        "at_most_bytes",  "total_bytes",
    };
    static const char *const last[] = {
        "correction_bytes",
        "cycles",
        "cut_bytes",
    };
    const popliner_certificate *c = source->certificate;
    const bool has_needs = c->input.chain->model->follows_account;
    (void)error;
    popliner_part parts[POPLINER_NUM_PARTS];
    const size_t num_parts = list_parts(parts);
    pl_column_names columns = {0};
    pl_column_names_add(&columns, first, sizeof first / sizeof *first);
    pl_column_names_add_parts(&columns, parts, num_parts);
    pl_column_names_add(&columns, last, sizeof last / sizeof *last);
    pl_sheet_begin(sheet, sheet->format, "plan", columns.names, columns.count);
    for (size_t i = 0; i < c->plan.num_stages; i++) {
        const popliner_plan_stage *stage = &c->plan.stages[i];
        const popliner_stage_detail *d = &c->details[i];
        const uint64_t limit_bytes = pl_certificate_limit(c, stage->ipu);
        const uint64_t need_bytes = d->need_bytes[c->input.need];
        pl_sheet_number(sheet, i);
        pl_sheet_number(sheet, stage->ipu);
        pl_sheet_text(sheet, c->input.unit_names[stage->first_unit]);
        pl_sheet_text(sheet, c->input.unit_names[stage->last_unit]);
        pl_sheet_number(sheet, limit_bytes);
        pl_sheet_number(sheet, need_bytes);
        pl_sheet_signed(sheet, need_bytes > limit_bytes ? -(int64_t)(need_bytes - limit_bytes)
                                                        : (int64_t)(limit_bytes - need_bytes));
        pl_sheet_text(sheet, has_needs ? popliner_verdict_text(popliner_verdict_of(d, limit_bytes))
                                       : NULL);
        pl_sheet_number(sheet, d->tile);
        pl_sheet_number(sheet, d->tile_bytes);
        pl_sheet_number(sheet, d->step);
        add_bound(sheet, has_needs, d->need_bytes[POPLINER_NEED_LEAST]);
        add_bound(sheet, has_needs, d->need_bytes[POPLINER_NEED_MOST]);
        pl_sheet_number(sheet, d->total_bytes);
        for (size_t k = 0; k < num_parts; k++)
            pl_sheet_number(sheet, d->part_bytes[parts[k]]);
        pl_sheet_signed(sheet, d->correction_bytes);
        if (c->input.has_cycles)
            pl_sheet_number(sheet, stage->cycles);
        else
            pl_sheet_none(sheet);
        /* the greedy algorithm, and who evaluates a split, count no cuts */
        if (c->plan.num_values > 0)
            pl_sheet_number(sheet, stage->cut_bytes);
        else
            pl_sheet_none(sheet);
    }
    return POPLINER_OK;
}
