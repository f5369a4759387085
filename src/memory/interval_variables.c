/* What is told of single variables of all stages at once, by the sets of units that touch them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/interval_variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"

/* Whether a unit of the set is in the stage. */
static bool counts(const pl_interval_inputs *inputs, const pl_unit_sets *sets, uint32_t set,
                   size_t first_unit, size_t last_unit) {
    set = pl_unit_sets_up_to(sets, set, (uint32_t)last_unit);
    return set != 0 && sets->last_unit[set] >= first_unit &&
           sets->last_unit[set] >= inputs->first_data_unit;
}

/* ---- parameters ---- */

/* Adds up by set of units what is always live and of the category "variable". */
static void sum_by_set(const pl_interval_inputs *inputs, uint64_t *set_bytes) {
    const popliner_profile *p = inputs->profile;
    for (size_t i = 0; i < p->num_variables; i++) {
        if (p->category[p->variable_category[i]] == PL_CATEGORY_VARIABLE &&
            p->class_always_live[p->variable_class[i]])
            set_bytes[pl_units_touching(inputs, i)] += p->variable_size_bytes[i];
    }
}

static popliner_status find_parameters(const pl_interval_inputs *inputs, pl_stage_details *details,
                                       popliner_error *error) {
    const pl_unit_sets *sets = &inputs->passing.sets;
    size_t num_units = inputs->chain->num_units;
    pl_interval_sums sums = {0};
    uint64_t *set_bytes = pl_new_array(sets->count, sizeof *set_bytes);
    size_t *units = pl_new_array(num_units, sizeof *units);
    bool memory = set_bytes != NULL && units != NULL && pl_interval_sums_init(&sums, num_units, 1);
    if (memory)
        sum_by_set(inputs, set_bytes);
    for (uint32_t all = 1; memory && all < sets->count; all++) {
        size_t place = num_units; /* descending: from the last place on */
        if (set_bytes[all] == 0)
            continue;
        for (uint32_t set = all; set != 0 && sets->last_unit[set] >= inputs->first_data_unit;
             set = sets->rest[set])
            units[--place] = sets->last_unit[set];
        memory = pl_interval_sums_add(&sums, units + place, num_units - place, &set_bytes[all]);
    }
    for (size_t first = 0; memory && first < num_units; first++) {
        pl_interval_sums_begin(&sums);
        for (size_t last = first; last < num_units; last++)
            details->sums[pl_triangle_place(num_units, first, last)]
                .bytes[POPLINER_PART_PARAMETERS] = *pl_interval_sums_extend(&sums);
    }
    free(set_bytes);
    free(units);
    pl_interval_sums_free(&sums);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the details of the stages");
}

/* ---- the largest variables ---- */

/* A variable of the tile that is looked at. */
typedef struct tile_variable {
    uint32_t size_bytes;
    uint32_t variable;
} tile_variable;

static int compare_tile_variables(const void *left, const void *right) {
    const tile_variable *a = left;
    const tile_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

/* Whether the variable counts as data in a stage, at a step, by the rules of pl_stage_measure. */
static bool is_of_stage(const pl_interval_inputs *inputs, uint32_t variable, size_t step,
                        size_t first_unit, size_t last_unit) {
    uint32_t set = pl_units_counting(inputs, variable, step < inputs->pass_usage->passes.turn_step);
    bool is_counted = counts(inputs, &inputs->passing.sets, set, first_unit, last_unit);
    return pl_account_is_data(inputs->account, inputs->profile, variable, is_counted);
}

/* Picks the first of these variables, largest first, that are of the stage. */
static void pick(const pl_interval_inputs *inputs, const tile_variable *variables, size_t count,
                 size_t step, size_t first_unit, size_t last_unit, pl_detail_variables *picked) {
    const popliner_profile *p = inputs->profile;
    for (size_t i = 0; i < count && picked->count < POPLINER_DETAIL_VARIABLES; i++) {
        uint32_t variable = variables[i].variable;
        if (!is_of_stage(inputs, variable, step, first_unit, last_unit))
            continue;
        uint32_t place = picked->count++;
        picked->variable[place] = variable;
        picked->size_bytes[place] = variables[i].size_bytes;
        picked->unlowered[place] = p->variable_unlowered[variable];
        picked->category[place] = p->variable_category[variable];
    }
}

/* A piece of details->largest, and whose it is. */
typedef struct tile_piece {
    uint32_t tile;
    uint32_t step;
    uint32_t piece;
    uint32_t first_unit;
    uint32_t last_unit;
} tile_piece;

/* By tile and step, so that what is live there is found once. */
static int compare_tile_pieces(const void *left, const void *right) {
    const tile_piece *a = left;
    const tile_piece *b = right;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->piece > b->piece) - (a->piece < b->piece);
}

static tile_piece *sort_pieces(const pl_stage_details *details) {
    const pl_peak_envelope *largest = &details->largest[POPLINER_NEED_EXPECTED];
    tile_piece *sorted = pl_new_array(largest->num_pieces, sizeof *sorted);
    if (sorted == NULL)
        return NULL;
    for (uint32_t first = 0; first < details->num_units; first++)
        for (uint32_t last = first; last < details->num_units; last++)
            for (uint32_t i = largest->first[pl_triangle_place(details->num_units, first, last)];
                 i != PL_NONE; i = largest->pieces[i].next)
                sorted[i] =
                    (tile_piece){largest->pieces[i].tile, largest->pieces[i].step, i, first, last};
    if (largest->num_pieces > 0)
        qsort(sorted, largest->num_pieces, sizeof *sorted, compare_tile_pieces);
    return sorted;
}

/* The variables of a tile, largest first; returns how many. */
static size_t list_of_tile(const popliner_profile *p, size_t tile, tile_variable *variables) {
    size_t count = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        if (p->variable_size_bytes[i] > 0)
            variables[count++] = (tile_variable){p->variable_size_bytes[i], (uint32_t)i};
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_tile_variables);
    return count;
}

/* Those of variables[count] that are live at a step, in the same order; returns how many. */
static size_t list_live(const popliner_profile *p, const tile_variable *variables, size_t count,
                        size_t step, tile_variable *live) {
    size_t num_live = 0;
    for (size_t i = 0; i < count; i++)
        if (popliner_liveness_is_live(p, variables[i].variable, step))
            live[num_live++] = variables[i];
    return num_live;
}

static popliner_status find_largest(const pl_interval_inputs *inputs, pl_stage_details *details,
                                    popliner_error *error) {
    const popliner_profile *p = inputs->profile;
    size_t max_variables = 0;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        size_t count = (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        max_variables = count > max_variables ? count : max_variables;
    }
    tile_piece *pieces = sort_pieces(details);
    tile_variable *variables = pl_new_array(max_variables, sizeof *variables); /* of one tile */
    tile_variable *live = pl_new_array(max_variables, sizeof *live); /* those at one step */
    popliner_status status = pieces == NULL || variables == NULL || live == NULL
                                 ? pl_fail_memory(error, "the details of the stages")
                                 : POPLINER_OK;
    size_t count = 0;
    size_t num_live = 0;
    for (size_t i = 0;
         status == POPLINER_OK && i < details->largest[POPLINER_NEED_EXPECTED].num_pieces; i++) {
        const tile_piece *piece = &pieces[i];
        bool is_new = i == 0 || piece->tile != pieces[i - 1].tile;
        if (is_new)
            count = list_of_tile(p, piece->tile, variables);
        if (is_new || piece->step != pieces[i - 1].step)
            num_live = list_live(p, variables, count, piece->step, live);
        pick(inputs, live, num_live, piece->step, piece->first_unit, piece->last_unit,
             &details->variables[piece->piece]);
    }
    free(pieces);
    free(variables);
    free(live);
    return status;
}

popliner_status pl_interval_variables_find(const pl_interval_inputs *inputs,
                                           pl_stage_details *details, popliner_error *error) {
    popliner_status status = find_parameters(inputs, details, error);
    if (status == POPLINER_OK)
        status = find_largest(inputs, details, error);
    return status;
}
