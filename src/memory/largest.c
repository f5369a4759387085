/* The largest variables of stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "memory/chain_data.h"
#include "memory/stage_meter.h"
#include "profile/profile_data.h"

/* A variable of the current tile. */
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

/* Sorts by tile and step, so that the live variables there are found once. */
static int compare_wishes(const void *left, const void *right) {
    const pl_largest_wish *a = left;
    const pl_largest_wish *b = right;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Lists the variables of a tile, largest first; returns their number. */
static size_t list_of_tile(const popliner_profile *p, size_t tile, tile_variable *variables) {
    size_t count = 0;
    for (uint64_t i = p->tile_variables_start[tile]; i < p->tile_variables_start[tile + 1]; i++)
        if (p->variable_size_bytes[i] > 0)
            variables[count++] = (tile_variable){p->variable_size_bytes[i], (uint32_t)i};
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_tile_variables);
    return count;
}

/* Lists those of variables[count] that are live at a step, in the same order; returns their
 * number. */
static size_t list_live(const pl_digest *digest, const tile_variable *variables, size_t count,
                        size_t step, tile_variable *live) {
    size_t num_live = 0;
    for (size_t i = 0; i < count; i++)
        if (pl_gradients_is_live(digest->gradients, digest->chain->profile, variables[i].variable,
                                 step))
            live[num_live++] = variables[i];
    return num_live;
}

static void mark_units(const pl_digest *digest, size_t first_unit, size_t last_unit,
                       uint64_t *units) {
    const uint32_t first_data_unit = pl_chain_first_data_unit(digest->chain);
    for (size_t unit = first_unit; unit <= last_unit; unit++)
        if (unit >= first_data_unit)
            units[unit / 64] |= UINT64_C(1) << unit % 64;
}

/* Picks the first of these variables, largest first, that count as data of the units. */
static void pick(const pl_digest *digest, const tile_variable *variables, size_t count, size_t step,
                 const uint64_t *units, pl_detail_variables *picked) {
    const popliner_profile *p = digest->chain->profile;
    const bool is_before_turn = step < digest->pass_usage->passes.turn_step;
    for (size_t i = 0; i < count && picked->count < POPLINER_DETAIL_VARIABLES; i++) {
        const uint32_t variable = variables[i].variable;
        const bool is_counted =
            pl_digest_meets(digest, pl_digest_counting(digest, variable, is_before_turn), units);
        if (!pl_account_is_data(digest->account, p, variable, is_counted))
            continue;
        const uint32_t place = picked->count++;
        picked->variable[place] = variable;
        picked->size_bytes[place] = variables[i].size_bytes;
        picked->unlowered[place] = p->variable_unlowered[variable];
        picked->category[place] = p->variable_category[variable];
    }
}

bool pl_largest_find(const pl_stage_meter *meter, const pl_estimation *estimation,
                     pl_largest_wish *wishes, size_t count, const popliner_interval *stages,
                     size_t num_stages, pl_detail_variables *picked) {
    const popliner_profile *p = meter->chain->profile;
    const pl_digest *digest = estimation->evaluation.digest;
    size_t max_variables = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t tile = wishes[i].tile;
        const size_t num =
            (size_t)(p->tile_variables_start[tile + 1] - p->tile_variables_start[tile]);
        max_variables = num > max_variables ? num : max_variables;
    }
    tile_variable *variables = pl_new_array(max_variables, sizeof *variables); /* of one tile */
    tile_variable *live = pl_new_array(max_variables, sizeof *live);           /* at one step */
    uint64_t *units = pl_new_array(digest->set_words, sizeof *units);
    const bool memory = variables != NULL && live != NULL && units != NULL;
    size_t num_variables = 0;
    size_t num_live = 0;
    if (memory && count > 0)
        qsort(wishes, count, sizeof *wishes, compare_wishes);
    for (size_t i = 0; memory && i < count; i++) {
        const pl_largest_wish *wish = &wishes[i];
        const bool is_new = i == 0 || wish->tile != wishes[i - 1].tile;
        if (is_new)
            num_variables = list_of_tile(p, wish->tile, variables);
        if (is_new || wish->step != wishes[i - 1].step)
            num_live = list_live(digest, variables, num_variables, wish->step, live);
        memset(units, 0, digest->set_words * sizeof *units);
        if (stages == NULL)
            mark_units(digest, wish->first_unit, wish->last_unit, units);
        for (size_t k = 0; k < num_stages; k++)
            mark_units(digest, stages[k].first_unit, stages[k].last_unit, units);
        pick(digest, live, num_live, wish->step, units, &picked[wish->place]);
    }
    free(variables);
    free(live);
    free(units);
    return memory;
}
