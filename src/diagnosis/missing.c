/* The memory that no counted operation explains: by variable, with reasons and owners.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "model/operations.h"
#include "profile/profile_data.h"

const char *pl_missing_reason_text(pl_missing_reason reason) {
    static const char *const texts[] = {
        [PL_MISSING_NO_DEBUG_ID] = "no debug id",
        [PL_MISSING_UNKNOWN_CONTEXT] = "debug id not in the debug information",
        [PL_MISSING_NO_OPERATION] = "context chain without operation layer",
        [PL_MISSING_NO_LAYER] = "operation in no layer",
        [PL_MISSING_UNTOUCHED] = "touched by no program",
        [PL_MISSING_COMPILER] = "the compiler's own",
    };
    return texts[reason];
}

/* Adds a reason unless the item has it. */
static void add_reason(pl_missing_variable *to, pl_missing_reason reason) {
    for (size_t i = 0; i < to->num_reasons; i++)
        if (to->reasons[i] == reason)
            return;
    to->reasons[to->num_reasons++] = reason;
}

/* Adds a program, and why it does not count. The data of one that counts is that of no layer. */
static void add_program(const pl_explained *explained, uint32_t program, pl_missing_variable *to) {
    if (to->num_programs < sizeof to->programs / sizeof *to->programs)
        to->programs[to->num_programs] = program;
    to->num_programs++;
    add_reason(to, explained->program_seen[program]
                       ? PL_MISSING_NO_LAYER
                       : (pl_missing_reason)explained->chain->operations->program_reason[program]);
}

/* ---- Code and vertex state ------------------------------------------------------------------- */

/* Adds what a program has of a code, in bytes or vertices, to by_tile. */
static void add_code_of(const popliner_profile *p, pl_category code, uint32_t program,
                        uint64_t *by_tile) {
    const uint32_t set = p->program_compute_set[program];
    if (code == PL_CATEGORY_INTERNAL_EXCHANGE_CODE)
        pl_series_add(p, p->program_exchange_code[program], 1, by_tile);
    else if (code == PL_CATEGORY_CONTROL_CODE && pl_profile_num_children(p, program) == 0)
        pl_series_add(p, p->program_control_code[program], 1, by_tile);
    else if (code == PL_CATEGORY_COPY_DESCRIPTOR && set != PL_NONE)
        pl_series_add(p, p->compute_set_descriptors[set], 1, by_tile);
    else if (code < PL_CATEGORY_COPY_DESCRIPTOR && set != PL_NONE)
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++)
            pl_series_add(p, p->compute_set_vertex_instances[i], 1, by_tile);
}

/* Adds the programs that have such code on a tile, or on any (SIZE_MAX), and do not count.
 * by_tile[tiles] is scratch. */
static void add_owners(const pl_explained *explained, pl_category code, size_t tile,
                       uint64_t *by_tile, pl_missing_variable *item) {
    const popliner_profile *p = explained->chain->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint64_t own = 0;
        if (explained->program_seen[program])
            continue;
        memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
        add_code_of(p, code, program, by_tile);
        for (size_t t = 0; t < p->target.num_tiles; t++)
            own += tile == SIZE_MAX || tile == t ? by_tile[t] : 0;
        if (own > 0)
            add_program(explained, program, item);
    }
}

/* Finds what is the compiler's of a missing code (PL_CATEGORY_VERTEX_CODE, ...) on a tile, or on
 * all (SIZE_MAX): what would be missing if all programs counted. If no program touches such
 * variables, adds those that the rest belongs to. */
static void name_code(const pl_explained *explained, pl_category code, size_t tile,
                      uint64_t *by_tile, pl_missing_variable *item) {
    uint64_t left_bytes = 0;
    uint64_t owned_bytes = 0;
    for (size_t t = 0; t < explained->chain->profile->target.num_tiles; t++) {
        const uint64_t missing = pl_explained_missing_code(explained, code, t);
        const uint64_t truth_bytes = explained->truth_bytes[code][t];
        const uint64_t left =
            truth_bytes - pl_smaller(truth_bytes, explained->all_code_bytes[code][t]);
        if (tile != SIZE_MAX && tile != t)
            continue;
        left_bytes += pl_smaller(left, missing);
        owned_bytes += missing - pl_smaller(left, missing);
    }
    item->compiler_bytes = item->num_programs > 0 ? left_bytes : item->size_bytes - owned_bytes;
    if (item->num_programs == 0 && owned_bytes > 0)
        add_owners(explained, code, tile, by_tile, item);
}

/* ---- By variable ----------------------------------------------------------------------------- */

/* Variables are listed by name and category: item unlowered * categories + category, where the last
 * "unlowered" is for variables without one. */
static size_t key_of(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    size_t row = unlowered == PL_NONE ? p->num_unlowered : unlowered;
    return row * p->num_categories + p->variable_category[variable];
}

/* Adds the bytes of a tile that are missing at a step, or at any (SIZE_MAX), by key. Code has no
 * name. */
static void add_missing(const pl_explained *explained, size_t tile, size_t step, uint64_t *bytes) {
    const popliner_profile *p = explained->chain->profile;
    for (uint64_t v = p->tile_variables_start[tile]; v < p->tile_variables_start[tile + 1]; v++)
        if (explained->variable_marks[v] == 0 &&
            (step == SIZE_MAX || popliner_liveness_is_live(p, v, step)))
            bytes[key_of(p, v)] += p->variable_size_bytes[v];
    for (size_t category = 0; category < p->num_categories; category++)
        if (explained->code_of_category[category] != PL_CATEGORY_OTHER)
            bytes[p->num_unlowered * p->num_categories + category] +=
                pl_explained_missing_code(explained, explained->code_of_category[category], tile);
}

static int compare_missing(const void *left, const void *right) {
    const pl_missing_variable *a = left;
    const pl_missing_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    int order = strcmp(a->category, b->category);
    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Finds the programs that touch missing variables. place_of_key has the item + 1 of each key;
 * last_program[items] is scratch: the last counted program + 1. */
static void find_touching_programs(const pl_explained *explained, const uint32_t *place_of_key,
                                   uint32_t *last_program, pl_missing_variables *list) {
    const popliner_profile *p = explained->chain->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        if (explained->program_seen[program] == PL_SEEN_DATA)
            continue; /* none of its variables is missing */
        while (pl_touches_next(&touches, &variable)) {
            const bool is_touched = (explained->variable_marks[variable] & PL_MARK_TOUCHED) != 0;
            const uint32_t place = is_touched ? 0 : place_of_key[key_of(p, variable)];
            if (place == 0 || last_program[place - 1] == program + 1)
                continue; /* not missing, or already counted for another variable */
            last_program[place - 1] = program + 1;
            add_program(explained, program, &list->items[place - 1]);
        }
    }
}

void pl_missing_find(const pl_explained *explained, size_t tile, size_t step, pl_arrays *arrays,
                     pl_missing_variables *list) {
    const popliner_profile *p = explained->chain->profile;
    const size_t num_keys = (p->num_unlowered + 1) * p->num_categories;
    pl_arrays own = {0};
    uint64_t *bytes = pl_arrays_new(&own, num_keys, sizeof *bytes);
    uint32_t *place_of_key = pl_arrays_new(&own, num_keys, sizeof *place_of_key);
    uint64_t *by_tile = pl_arrays_new(&own, p->target.num_tiles, sizeof *by_tile);
    for (size_t t = 0; !own.failed && t < p->target.num_tiles; t++)
        if (tile == SIZE_MAX || tile == t)
            add_missing(explained, t, step, bytes);
    for (size_t key = 0; !own.failed && key < num_keys; key++) {
        const size_t unlowered = key / p->num_categories;
        const bool has_name = unlowered < p->num_unlowered;
        if (bytes[key] == 0 ||
            !pl_arrays_grow(arrays, &list->items, list->count + 1, sizeof *list->items))
            continue;
        list->items[list->count++] = (pl_missing_variable){
            .name = has_name ? pl_profile_string(p, p->unlowered_name[unlowered]) : "",
            .category = pl_profile_string(p, p->category_name[key % p->num_categories]),
            .size_bytes = bytes[key],
            .debug_context = has_name ? p->unlowered_debug_context[unlowered] : 0,
        };
        place_of_key[key] = (uint32_t)list->count;
    }
    uint32_t *last_program = pl_arrays_new(&own, list->count, sizeof *last_program);
    if (!arrays->failed && !own.failed)
        find_touching_programs(explained, place_of_key, last_program, list);
    for (size_t key = 0; !arrays->failed && !own.failed && key < num_keys; key++) {
        const size_t category = key % p->num_categories;
        const pl_category code = explained->code_of_category[category];
        if (place_of_key[key] == 0)
            continue;
        pl_missing_variable *item = &list->items[place_of_key[key] - 1];
        if (code != PL_CATEGORY_OTHER && key / p->num_categories == p->num_unlowered)
            name_code(explained, code, tile, by_tile, item);
        else if (item->num_programs == 0 &&
                 !pl_category_is_model_data((pl_category)p->category[category]))
            item->compiler_bytes = item->size_bytes;
        if (item->compiler_bytes > 0)
            add_reason(item, PL_MISSING_COMPILER);
        if (item->num_reasons == 0)
            add_reason(item, PL_MISSING_UNTOUCHED);
    }
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, compare_missing);
    pl_arrays_end(&own, arrays);
}
