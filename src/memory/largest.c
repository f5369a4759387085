/* The largest variables of stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/largest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/chain_data.h"
#include "profile/profile_data.h"

/* ---- Variables ------------------------------------------------------------------------------- */

static pl_variable_kind kind_of(const pl_stage_meter *meter, uint32_t variable) {
    const popliner_profile *p = meter->chain->profile;
    const uint32_t class_index = p->variable_class[variable];
    return (pl_variable_kind){.class_index = class_index,
                              .unlowered = p->variable_unlowered[variable],
                              .category = p->variable_category[variable],
                              .complete_step =
                                  pl_complete_step(&meter->gradients, meter->chain, variable),
                              .is_untouched = pl_account_is_unexplained(&meter->account, variable),
                              .counting = pl_counting_of(&meter->pass_usage, p, variable)};
}

static bool is_live(const pl_variable_kind *kind, const pl_digest *digest, size_t live,
                    size_t step) {
    const popliner_profile *p = digest->chain->profile;
    const size_t complete = (live & PL_LIVE_ACCUMULATES) != 0 ? kind->complete_step : PL_NONE;
    bool is = p->class_always_live[kind->class_index] != 0;
    for (uint32_t k = p->class_ranges_start[kind->class_index];
         !is && k < p->class_ranges_start[kind->class_index + 1]; k++) {
        const size_t first = p->range_first_step[k];
        const size_t end = p->range_end_step[k];
        is = first <= step && step < (first < complete && complete < end ? complete : end);
    }
    return is;
}

static uint32_t counting_of(const pl_variable_kind *kind, const pl_digest *digest, size_t live,
                            size_t step) {
    const bool is_before = step < digest->pass_usage->passes.turn_step;
    return (live & PL_LIVE_PASSES_THROUGH) == 0 ? kind->counting.touching
           : is_before                          ? kind->counting.before
                                                : kind->counting.after;
}

/* A variable of the current tile. */
typedef struct tile_variable {
    uint32_t size_bytes;
    uint32_t variable;
    pl_variable_kind kind;
    bool is_candidate; /* while candidates are found */
} tile_variable;

static int compare_tile_variables(const void *left, const void *right) {
    const tile_variable *a = left;
    const tile_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

static size_t num_of_tile(const pl_stage_meter *meter, size_t tile) {
    const uint64_t *start = meter->candidates != NULL ? meter->candidates->tile_start
                                                      : meter->chain->profile->tile_variables_start;
    return (size_t)(start[tile + 1] - start[tile]);
}

/* Lists the data variables of a tile, largest first; returns their number. */
static size_t list_of_tile(const pl_stage_meter *meter, size_t tile, tile_variable *variables) {
    const popliner_profile *p = meter->chain->profile;
    const pl_candidates *c = meter->candidates;
    size_t count = 0;
    for (uint64_t i = c != NULL ? c->tile_start[tile] : 0; c != NULL && i < c->tile_start[tile + 1];
         i++) {
        const pl_candidate *own = &c->variables[i];
        variables[count++] =
            (tile_variable){own->size_bytes, own->variable, c->kinds[own->kind], false};
    }
    for (uint64_t i = c == NULL ? p->tile_variables_start[tile] : 0;
         c == NULL && i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t variable = (uint32_t)i;
        if (p->variable_size_bytes[i] == 0 || pl_account_is_code(&meter->account, i))
            continue;
        variables[count++] =
            (tile_variable){p->variable_size_bytes[i], variable, kind_of(meter, variable), false};
    }
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_tile_variables);
    return count;
}

/* ---- Those of stages ------------------------------------------------------------------------- */

/* Sorts by tile and step, so that the live variables there are found once. */
static int compare_queries(const void *left, const void *right) {
    const pl_largest_query *a = left;
    const pl_largest_query *b = right;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    return (a->step > b->step) - (a->step < b->step);
}

/* Lists those of variables[count] that are live at a step, in the same order; returns their
 * number. */
static size_t list_live(const pl_digest *digest, size_t live, const tile_variable *variables,
                        size_t count, size_t step, const tile_variable **listed) {
    size_t num_live = 0;
    for (size_t i = 0; i < count; i++)
        if (is_live(&variables[i].kind, digest, live, step))
            listed[num_live++] = &variables[i];
    return num_live;
}

static void mark_units(const pl_chain *chain, const pl_largest_query *query, uint64_t *units) {
    for (size_t i = 0; i < query->num_stages; i++)
        for (size_t unit = query->stages[i].first_unit; unit <= query->stages[i].last_unit; unit++)
            if (pl_chain_has_data(chain, unit))
                pl_bits_add(units, unit);
}

/* Picks the first of these variables, largest first, that count as data of the units. */
static void pick(const pl_digest *digest, size_t live, const tile_variable *const *variables,
                 size_t count, size_t step, const uint64_t *units, pl_detail_variables *picked) {
    for (size_t i = 0; i < count && picked->count < POPLINER_DETAIL_VARIABLES; i++) {
        const tile_variable *own = variables[i];
        if (!own->kind.is_untouched &&
            !pl_digest_meets(digest, counting_of(&own->kind, digest, live, step), units))
            continue;
        const uint32_t place = picked->count++;
        picked->variable[place] = own->variable;
        picked->size_bytes[place] = own->size_bytes;
        picked->unlowered[place] = own->kind.unlowered;
        picked->category[place] = own->kind.category;
    }
}

void pl_largest_find(pl_stage_meter *meter, size_t live, pl_largest_query *queries, size_t count) {
    const pl_digest *digest = &meter->digest;
    size_t max_variables = 0;
    size_t num_variables = 0;
    size_t num_live = 0;
    pl_arrays own = {0};
    if (meter->arrays.failed)
        return;
    for (size_t i = 0; i < count; i++)
        max_variables = pl_more(max_variables, num_of_tile(meter, queries[i].tile));
    tile_variable *variables = pl_arrays_new(&own, max_variables, sizeof *variables);
    /* those that are live at a step */
    const tile_variable **listed = pl_arrays_new(&own, max_variables, sizeof *listed);
    const size_t key_size = meter->pass_usage.sets.key_size;
    uint64_t *units = pl_arrays_new(&own, 1, key_size);
    if (!own.failed && count > 0)
        qsort(queries, count, sizeof *queries, compare_queries);
    for (size_t i = 0; !own.failed && i < count; i++) {
        const pl_largest_query *query = &queries[i];
        const bool is_new = i == 0 || query->tile != queries[i - 1].tile;
        if (is_new)
            num_variables = list_of_tile(meter, query->tile, variables);
        if (is_new || query->step != queries[i - 1].step)
            num_live = list_live(digest, live, variables, num_variables, query->step, listed);
        memset(units, 0, key_size);
        mark_units(digest->chain, query, units);
        pick(digest, live, listed, num_live, query->step, units, query->picked);
    }
    pl_arrays_end(&own, &meter->arrays);
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static int compare_numbers(const void *left, const void *right) {
    const tile_variable *a = left;
    const tile_variable *b = right;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

/* Marks the variables that may be among the largest of stages whose peak is at a step of a unit
 * (PL_NO_UNIT: of none): those that all such stages have, and of each set those that are larger
 * than all but a few of these. `seen` are the numbers of variables so far, by set, all 0 before
 * and after. */
static void mark_at(const pl_digest *digest, size_t live, tile_variable *variables, size_t count,
                    size_t step, uint32_t unit, uint8_t *seen) {
    size_t num_common = 0;
    size_t end = 0;
    for (; end < count && num_common < POPLINER_DETAIL_VARIABLES; end++) {
        const pl_variable_kind *kind = &variables[end].kind;
        if (!is_live(kind, digest, live, step))
            continue;
        const uint32_t set = counting_of(kind, digest, live, step);
        if (kind->is_untouched ||
            (unit != PL_NO_UNIT && pl_bits_has(pl_digest_bits(digest, set), unit))) {
            num_common++;
            variables[end].is_candidate = true;
        } else if (num_common + seen[set] < POPLINER_DETAIL_VARIABLES) {
            seen[set]++;
            variables[end].is_candidate = true;
        }
    }
    for (size_t i = 0; i < end; i++)
        seen[counting_of(&variables[i].kind, digest, live, step)] = 0;
}

static void mark_tile(const pl_digest *digest, size_t tile, tile_variable *variables, size_t count,
                      uint8_t *seen) {
    const pl_digest_tile *own = &digest->tiles[tile];
    for (size_t live = 0; live < PL_NUM_LIVES; live++) {
        const size_t ends = live & PL_LIVE_ACCUMULATES;
        if (ends != 0 && !pl_has_gradients(digest->gradients))
            continue;
        mark_at(digest, live, variables, count, 0, PL_NO_UNIT, seen);
        for (size_t i = 0; i < own->num_segments; i++)
            mark_at(digest, live, variables, count, (size_t)own->segments[i].peaks[ends].step,
                    own->segments[i].unit, seen);
    }
}

/* Adds a candidate, and numbers its kind. */
static void add_candidate(pl_candidates *c, pl_keys *kinds, const tile_variable *own) {
    if (pl_arrays_grow(kinds->arrays, &c->variables, c->count + 1, sizeof *c->variables))
        c->variables[c->count++] = (pl_candidate){own->variable, own->size_bytes,
                                                  (uint32_t)pl_keys_number(kinds, &own->kind)};
}

pl_candidates *pl_candidates_find(pl_arrays *arrays, const pl_stage_meter *meter) {
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    pl_candidates *c = pl_arrays_new(arrays, 1, sizeof *c);
    uint64_t *tile_start = pl_arrays_new(arrays, num_tiles + 1, sizeof *tile_start);
    pl_keys kinds = {.arrays = arrays, .key_size = sizeof *c->kinds};
    pl_arrays own = {0};
    size_t most = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        most = pl_more(most, num_of_tile(meter, tile));
    tile_variable *variables = pl_arrays_new(&own, most, sizeof *variables);
    uint8_t *seen = pl_arrays_new(&own, meter->pass_usage.sets.count, 1);
    for (size_t tile = 0; !own.failed && !arrays->failed && tile < num_tiles; tile++) {
        const size_t count = list_of_tile(meter, tile, variables);
        size_t num_candidates = 0;
        mark_tile(&meter->digest, tile, variables, count, seen);
        for (size_t i = 0; i < count; i++)
            if (variables[i].is_candidate)
                variables[num_candidates++] = variables[i];
        if (num_candidates > 0)
            qsort(variables, num_candidates, sizeof *variables, compare_numbers);
        for (size_t i = 0; i < num_candidates; i++)
            add_candidate(c, &kinds, &variables[i]);
        tile_start[tile + 1] = c->count;
    }
    pl_arrays_end(&own, arrays);
    if (arrays->failed)
        return NULL;
    c->tile_start = tile_start;
    c->kinds = (pl_variable_kind *)(void *)kinds.keys;
    c->num_kinds = kinds.count;
    return c;
}
