/* The largest variables of stages.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory/largest.h"

#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "memory/chain_data.h"
#include "profile/profile_data.h"

/* ---- Variables ------------------------------------------------------------------------------- */

/* Adds to a kind what a digest says of a variable. */
static void add_digest(pl_variable_kind *kind, const pl_digest *digest, uint32_t variable) {
    const pl_gradients *gradients = digest->gradients;
    uint32_t *counting = kind->counting[pl_digest_number(digest)];
    counting[0] = pl_digest_counting(digest, variable, false);
    counting[1] = pl_digest_counting(digest, variable, true);
    if (gradients != NULL)
        kind->complete_step = gradients->complete_step[gradients->variable_set[variable]];
}

static pl_variable_kind kind_of(const pl_account *account, const popliner_profile *p,
                                uint32_t variable) {
    const uint32_t class_index = p->variable_class[variable];
    return (pl_variable_kind){.class_index = class_index,
                              .unlowered = p->variable_unlowered[variable],
                              .category = p->variable_category[variable],
                              .complete_step = PL_NONE,
                              .is_untouched = account->touched != NULL &&
                                              !p->class_always_live[class_index] &&
                                              !pl_account_is_touched(account, variable)};
}

static bool is_live(const pl_variable_kind *kind, const pl_digest *digest, size_t step) {
    const popliner_profile *p = digest->chain->profile;
    bool is = p->class_always_live[kind->class_index] != 0;
    for (uint32_t k = p->class_ranges_start[kind->class_index];
         !is && k < p->class_ranges_start[kind->class_index + 1]; k++) {
        const size_t first = p->range_first_step[k];
        const size_t end = p->range_end_step[k];
        const size_t complete = kind->complete_step;
        const bool is_shorter = digest->key.accumulates && first < complete && complete < end;
        is = first <= step && step < (is_shorter ? complete : end);
    }
    return is;
}

static uint32_t counting_of(const pl_variable_kind *kind, const pl_digest *digest, size_t step) {
    const bool is_before_turn = step < digest->pass_usage->passes.turn_step;
    return kind->counting[pl_digest_number(digest)][is_before_turn];
}

/* A variable of the current tile. */
typedef struct tile_variable {
    uint32_t size_bytes;
    uint32_t variable;
    pl_variable_kind kind;
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

/* Lists the data variables of a tile, largest first, with what these digests say of them; returns
 * their number. */
static size_t list_of_tile(const pl_stage_meter *meter, const pl_digest *const *digests,
                           size_t num_digests, size_t tile, tile_variable *variables) {
    const popliner_profile *p = meter->chain->profile;
    const pl_candidates *c = meter->candidates;
    size_t count = 0;
    for (uint64_t i = c != NULL ? c->tile_start[tile] : 0; c != NULL && i < c->tile_start[tile + 1];
         i++)
        variables[count++] =
            (tile_variable){c->size_bytes[i], c->variable[i], c->kinds[c->kind[i]]};
    for (uint64_t i = c == NULL ? p->tile_variables_start[tile] : 0;
         c == NULL && i < p->tile_variables_start[tile + 1]; i++) {
        const uint32_t variable = (uint32_t)i;
        if (p->variable_size_bytes[i] == 0 || pl_account_is_code(&meter->account, i))
            continue;
        tile_variable *own = &variables[count++];
        *own = (tile_variable){p->variable_size_bytes[i], variable,
                               kind_of(&meter->account, p, variable)};
        for (size_t k = 0; k < num_digests; k++)
            add_digest(&own->kind, digests[k], variable);
    }
    if (count > 0)
        qsort(variables, count, sizeof *variables, compare_tile_variables);
    return count;
}

/* ---- Those of stages ------------------------------------------------------------------------- */

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

/* Lists those of variables[count] that are live at a step, in the same order; returns their
 * number. */
static size_t list_live(const pl_digest *digest, const tile_variable *variables, size_t count,
                        size_t step, const tile_variable **live) {
    size_t num_live = 0;
    for (size_t i = 0; i < count; i++)
        if (is_live(&variables[i].kind, digest, step))
            live[num_live++] = &variables[i];
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
static void pick(const pl_digest *digest, const tile_variable *const *variables, size_t count,
                 size_t step, const uint64_t *units, pl_detail_variables *picked) {
    for (size_t i = 0; i < count && picked->count < POPLINER_DETAIL_VARIABLES; i++) {
        const tile_variable *own = variables[i];
        if (!own->kind.is_untouched &&
            !pl_digest_meets(digest, counting_of(&own->kind, digest, step), units))
            continue;
        const uint32_t place = picked->count++;
        picked->variable[place] = own->variable;
        picked->size_bytes[place] = own->size_bytes;
        picked->unlowered[place] = own->kind.unlowered;
        picked->category[place] = own->kind.category;
    }
}

bool pl_largest_find(const pl_stage_meter *meter, const pl_estimation *estimation,
                     pl_largest_wish *wishes, size_t count, const popliner_interval *stages,
                     size_t num_stages, pl_detail_variables *picked) {
    const pl_digest *digest = estimation->evaluation.digest;
    size_t max_variables = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t num = num_of_tile(meter, wishes[i].tile);
        max_variables = num > max_variables ? num : max_variables;
    }
    tile_variable *variables = pl_new_array(max_variables, sizeof *variables); /* of one tile */
    const tile_variable **live = pl_new_array(max_variables, sizeof *live);    /* at one step */
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
            num_variables = list_of_tile(meter, &digest, 1, wish->tile, variables);
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

/* ---- Candidates ------------------------------------------------------------------------------ */

/* The candidates of a tile. */
typedef struct tile_candidates {
    size_t count;
    tile_variable *items; /* by number */
} tile_candidates;

typedef struct search {
    const pl_stage_meter *meter;
    const pl_digest *digests[PL_NUM_DIGESTS];
    size_t num_digests;
    tile_candidates *tiles;
} search;

static int compare_numbers(const void *left, const void *right) {
    const tile_variable *a = left;
    const tile_variable *b = right;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

/* Marks the variables that may be among the largest of stages whose peak is at a step of a unit
 * (PL_NO_UNIT: of none): those that all such stages have, and of each set those that are larger
 * than all but a few of these. `seen` are the numbers of variables so far, by set, all 0 before
 * and after. */
static void mark_at(const pl_digest *digest, const tile_variable *variables, size_t count,
                    size_t step, uint32_t unit, uint8_t *seen, uint8_t *is_marked) {
    size_t num_common = 0;
    size_t end = 0;
    for (; end < count && num_common < POPLINER_DETAIL_VARIABLES; end++) {
        const pl_variable_kind *kind = &variables[end].kind;
        if (!is_live(kind, digest, step))
            continue;
        const uint32_t set = counting_of(kind, digest, step);
        if (kind->is_untouched || (unit != PL_NO_UNIT && pl_digest_set_has(digest, set, unit))) {
            num_common++;
            is_marked[end] = 1;
        } else if (num_common + seen[set] < POPLINER_DETAIL_VARIABLES) {
            seen[set]++;
            is_marked[end] = 1;
        }
    }
    for (size_t i = 0; i < end; i++)
        seen[counting_of(&variables[i].kind, digest, step)] = 0;
}

static bool mark_tile(const search *s, size_t tile, const tile_variable *variables, size_t count,
                      uint8_t *is_marked) {
    for (size_t k = 0; k < s->num_digests; k++) {
        const pl_digest *digest = s->digests[k];
        const pl_digest_tile *own = &digest->tiles[tile];
        uint8_t *seen = pl_new_array(digest->num_sets, 1);
        if (seen == NULL)
            return false;
        mark_at(digest, variables, count, 0, PL_NO_UNIT, seen, is_marked);
        for (size_t i = 0; i < own->num_segments; i++)
            mark_at(digest, variables, count, own->segments[i].step, own->segments[i].unit, seen,
                    is_marked);
        free(seen);
    }
    return true;
}

static bool search_tile(void *user, size_t worker, size_t tile) {
    const search *s = user;
    const size_t max = num_of_tile(s->meter, tile);
    tile_candidates *own = &s->tiles[tile];
    tile_variable *variables = pl_new_array(max, sizeof *variables);
    uint8_t *is_marked = pl_new_array(max, 1);
    bool memory = variables != NULL && is_marked != NULL;
    (void)worker;
    const size_t count =
        memory ? list_of_tile(s->meter, s->digests, s->num_digests, tile, variables) : 0;
    memory = memory && mark_tile(s, tile, variables, count, is_marked);
    for (size_t i = 0; i < count; i++)
        if (is_marked[i] != 0)
            variables[own->count++] = variables[i];
    memory = memory && (own->items = pl_new_array(own->count, sizeof *own->items)) != NULL;
    if (memory && own->count > 0) {
        memcpy(own->items, variables, own->count * sizeof *own->items);
        qsort(own->items, own->count, sizeof *own->items, compare_numbers);
    }
    free(variables);
    free(is_marked);
    return memory;
}

static int compare_kinds(const void *left, const void *right) {
    const tile_variable *const *a = left;
    const tile_variable *const *b = right;
    return memcmp(&(*a)->kind, &(*b)->kind, sizeof(pl_variable_kind));
}

/* Numbers the kinds of all candidates, and lists both. */
static bool list_candidates(const search *s, pl_candidates *c) {
    const size_t num_tiles = s->meter->chain->profile->target.num_tiles;
    c->tile_start = pl_arrays_new(&c->arrays, num_tiles + 1, sizeof *c->tile_start);
    for (size_t tile = 0; c->tile_start != NULL && tile < num_tiles; tile++)
        c->tile_start[tile + 1] = c->count += s->tiles[tile].count;
    c->variable = pl_arrays_new(&c->arrays, c->count, sizeof *c->variable);
    c->size_bytes = pl_arrays_new(&c->arrays, c->count, sizeof *c->size_bytes);
    c->kind = pl_arrays_new(&c->arrays, c->count, sizeof *c->kind);
    c->kinds = pl_arrays_new(&c->arrays, c->count, sizeof *c->kinds);
    const tile_variable **all = pl_new_array(c->count, sizeof *all);
    if (all == NULL || c->arrays.failed) {
        free(all);
        return false;
    }
    size_t count = 0;
    for (size_t tile = 0; tile < num_tiles; tile++)
        for (size_t i = 0; i < s->tiles[tile].count; i++) {
            c->variable[count] = s->tiles[tile].items[i].variable;
            c->size_bytes[count] = s->tiles[tile].items[i].size_bytes;
            /* the number of the candidate, until its kind is known */
            s->tiles[tile].items[i].variable = (uint32_t)count;
            all[count++] = &s->tiles[tile].items[i];
        }
    if (count > 0)
        qsort(all, count, sizeof *all, compare_kinds);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_kinds(&all[i - 1], &all[i]) != 0)
            c->kinds[c->num_kinds++] = all[i]->kind;
        c->kind[all[i]->variable] = (uint32_t)c->num_kinds - 1;
    }
    free(all);
    return true;
}

pl_candidates *pl_candidates_find(const pl_stage_meter *meter) {
    const size_t num_tiles = meter->chain->profile->target.num_tiles;
    search s = {.meter = meter, .tiles = pl_new_array(num_tiles, sizeof *s.tiles)};
    pl_candidates *candidates = calloc(1, sizeof *candidates);
    for (size_t k = 0; k < PL_NUM_DIGESTS; k++)
        if (meter->digests[k / 2][k % 2] != NULL)
            s.digests[s.num_digests++] = meter->digests[k / 2][k % 2];
    const pl_parallel work = {.num_threads = meter->num_threads > 0 ? meter->num_threads
                                                                    : pl_machine_processors(),
                              .count = num_tiles,
                              .task = search_tile,
                              .user = &s};
    const bool memory = s.tiles != NULL && candidates != NULL &&
                        pl_parallel_run(&work) == num_tiles && list_candidates(&s, candidates);
    for (size_t tile = 0; s.tiles != NULL && tile < num_tiles; tile++)
        free(s.tiles[tile].items);
    free(s.tiles);
    if (memory)
        return candidates;
    pl_candidates_free(candidates);
    return NULL;
}

void pl_candidates_free(pl_candidates *candidates) {
    if (candidates != NULL)
        pl_arrays_free(&candidates->arrays);
    free(candidates);
}
