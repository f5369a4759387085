/* What is told of single variables of all stages at once, by the sets of units that touch them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/interval_variables.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "popliner/liveness.h"
#include "read/profile_data.h"

/* Whether a unit of the set is in the stage. */
static bool touches(const pl_sweep_ground *ground, uint32_t set, size_t first_unit,
                    size_t last_unit) {
    const pl_unit_sets *sets = &ground->usage.sets;
    while (set != 0 && sets->last_unit[set] > last_unit)
        set = sets->rest[set];
    return set != 0 && sets->last_unit[set] >= first_unit &&
           pl_sweep_unit_counts(ground, sets->last_unit[set]);
}

/* ---- parameters ---- */

/* Adds up by set of units what is always live and of the category "variable". */
static void sum_by_set(const pl_sweep_ground *ground, uint64_t *set_bytes) {
    const popliner_profile *p = ground->profile;
    bool is_parameter[UINT8_MAX + 1] = {false};
    for (size_t i = 0; i < p->num_categories && i <= UINT8_MAX; i++)
        is_parameter[i] = strcmp(pl_profile_string(p, p->category_name[i]), "variable") == 0;
    for (size_t i = 0; i < p->num_variables; i++) {
        if (is_parameter[p->variable_category[i]] && p->class_always_live[p->variable_class[i]])
            set_bytes[ground->usage.variable_set[i]] += p->variable_size_bytes[i];
    }
}

/* As in the sweep, what is touched by the units u1 < u2 < ... arrives at each of them in the stages
 * that begin behind the one before it. */
static popliner_status find_parameters(const pl_sweep_ground *ground,
                                       popliner_stage_details *details, popliner_error *error) {
    const pl_unit_sets *sets = &ground->usage.sets;
    size_t num_units = ground->usage.num_units;
    uint64_t *set_bytes = pl_new_array(sets->count, sizeof *set_bytes);
    /* differences over the starts, which wrap around and come out right in the sums */
    uint64_t *arriving = pl_new_array((num_units + 1) * num_units, sizeof *arriving);
    popliner_status status = set_bytes == NULL || arriving == NULL
                                 ? pl_fail_memory(error, "the details of the stages")
                                 : POPLINER_OK;
    if (status == POPLINER_OK)
        sum_by_set(ground, set_bytes);
    for (uint32_t all = 1; status == POPLINER_OK && all < sets->count; all++) {
        for (uint32_t set = all; set != 0 && pl_sweep_unit_counts(ground, sets->last_unit[set]);
             set = sets->rest[set]) {
            uint32_t unit = sets->last_unit[set];
            uint32_t rest = sets->rest[set];
            bool is_first = rest == 0 || !pl_sweep_unit_counts(ground, sets->last_unit[rest]);
            size_t first_start = is_first ? 0 : sets->last_unit[rest] + 1;
            arriving[first_start * num_units + unit] += set_bytes[all];
            arriving[((size_t)unit + 1) * num_units + unit] -= set_bytes[all];
        }
    }
    for (size_t first = 0; status == POPLINER_OK && first < num_units; first++) {
        uint64_t *row = arriving + first * num_units;
        uint64_t bytes = 0;
        for (size_t unit = 0; first > 0 && unit < num_units; unit++)
            row[unit] += row[unit - num_units];
        for (size_t last = first; last < num_units; last++) {
            bytes += row[last];
            details->sums[pl_details_place(details, first, last)].parameter_bytes = bytes;
        }
    }
    free(set_bytes);
    free(arriving);
    return status;
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

/* Whether the variable counts as data in a stage, by the rules of popliner_stage_measure. */
static bool is_of_stage(const pl_sweep_ground *ground, uint32_t variable, size_t first_unit,
                        size_t last_unit) {
    bool is_touched = touches(ground, ground->usage.variable_set[variable], first_unit, last_unit);
    return ground->is_full
               ? pl_full_model_has_data(&ground->full, ground->profile, variable, is_touched)
               : is_touched;
}

/* Picks the first of the tile's variables, largest first, that are of the stage and live. */
static void pick(const pl_sweep_ground *ground, const tile_variable *variables, size_t count,
                 size_t first_unit, size_t last_unit, pl_detail_top *top) {
    const popliner_profile *p = ground->profile;
    for (size_t i = 0; i < count && top->num_variables < POPLINER_DETAIL_VARIABLES; i++) {
        uint32_t variable = variables[i].variable;
        if (!is_of_stage(ground, variable, first_unit, last_unit) ||
            !popliner_liveness_is_live(p, variable, top->step))
            continue;
        uint32_t place = top->num_variables++;
        top->variable[place] = variable;
        top->size_bytes[place] = variables[i].size_bytes;
        top->unlowered[place] = p->variable_unlowered[variable];
        top->category[place] = p->variable_category[variable];
    }
}

/* The stages, by the tile that is their largest: top i is for the place and the interval behind
 * it. */
typedef struct tops_by_tile {
    size_t *start;        /* [num_tiles + 1] into top */
    size_t *top;          /* [num_tops] */
    uint32_t *first_unit; /* [intervals] */
    uint32_t *last_unit;
    tile_variable *variables; /* of one tile */
    size_t capacity;
} tops_by_tile;

/* Whether the same stage one place nearer to the end has the same tile and step. */
static bool is_as_before(const popliner_stage_details *details, size_t top) {
    return top >= details->num_sums &&
           details->tops[top].tile == details->tops[top - details->num_sums].tile &&
           details->tops[top].step == details->tops[top - details->num_sums].step;
}

static bool sort_tops(const popliner_stage_details *details, size_t num_tiles, tops_by_tile *by) {
    by->start = pl_new_array(num_tiles + 2, sizeof *by->start);
    by->top = pl_new_array(details->num_tops, sizeof *by->top);
    by->first_unit = pl_new_array(details->num_sums, sizeof *by->first_unit);
    by->last_unit = pl_new_array(details->num_sums, sizeof *by->last_unit);
    if (by->start == NULL || by->top == NULL || by->first_unit == NULL || by->last_unit == NULL)
        return false;
    for (size_t first = 0; first < details->num_units; first++)
        for (size_t last = first; last < details->num_units; last++) {
            size_t place = pl_details_place(details, first, last);
            by->first_unit[place] = (uint32_t)first;
            by->last_unit[place] = (uint32_t)last;
        }
    /* counted two places up and filled one place up, so that the starts are right in the end */
    for (size_t i = 0; i < details->num_tops; i++)
        by->start[details->tops[i].tile + 2] += !is_as_before(details, i);
    for (size_t tile = 0; tile < num_tiles; tile++)
        by->start[tile + 2] += by->start[tile + 1];
    for (size_t i = 0; i < details->num_tops; i++)
        if (!is_as_before(details, i))
            by->top[by->start[details->tops[i].tile + 1]++] = i;
    return true;
}

static popliner_status find_largest(const pl_sweep_ground *ground, popliner_stage_details *details,
                                    tops_by_tile *by, popliner_error *error) {
    const popliner_profile *p = ground->profile;
    if (!sort_tops(details, p->target.num_tiles, by))
        return pl_fail_memory(error, "the details of the stages");
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        size_t count = 0;
        size_t first = (size_t)p->tile_variables_start[tile];
        size_t end = (size_t)p->tile_variables_start[tile + 1];
        void *variables = by->variables;
        if (by->start[tile] == by->start[tile + 1])
            continue;
        if (!pl_reserve(&variables, &by->capacity, end - first, sizeof *by->variables))
            return pl_fail_memory(error, "the details of the stages");
        by->variables = variables;
        for (size_t i = first; i < end; i++)
            if (p->variable_size_bytes[i] > 0)
                by->variables[count++] = (tile_variable){p->variable_size_bytes[i], (uint32_t)i};
        if (count > 0)
            qsort(by->variables, count, sizeof *by->variables, compare_tile_variables);
        for (size_t i = by->start[tile]; i < by->start[tile + 1]; i++) {
            size_t interval = by->top[i] % details->num_sums;
            pick(ground, by->variables, count, by->first_unit[interval], by->last_unit[interval],
                 &details->tops[by->top[i]]);
        }
    }
    for (size_t i = details->num_sums; i < details->num_tops; i++) {
        const pl_detail_top *before = &details->tops[i - details->num_sums];
        pl_detail_top *top = &details->tops[i];
        if (!is_as_before(details, i))
            continue;
        top->num_variables = before->num_variables;
        memcpy(top->variable, before->variable, sizeof top->variable);
        memcpy(top->size_bytes, before->size_bytes, sizeof top->size_bytes);
        memcpy(top->unlowered, before->unlowered, sizeof top->unlowered);
        memcpy(top->category, before->category, sizeof top->category);
    }
    return POPLINER_OK;
}

popliner_status pl_interval_variables_find(const pl_sweep_ground *ground,
                                           popliner_stage_details *details, popliner_error *error) {
    tops_by_tile by = {0};
    popliner_status status = find_parameters(ground, details, error);
    if (status == POPLINER_OK)
        status = find_largest(ground, details, &by, error);
    free(by.start);
    free(by.top);
    free(by.first_unit);
    free(by.last_unit);
    free(by.variables);
    return status;
}
