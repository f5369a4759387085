/* The memory that no counted operation explains: by variable, with reasons and owners.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "memory/code.h"
#include "model/operations.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "profile/profile_data.h"

const char *pl_missing_reason_text(pl_missing_reason reason) {
    switch (reason) {
    case PL_MISSING_NO_DEBUG_ID:
        return "no debug id";
    case PL_MISSING_UNKNOWN_CONTEXT:
        return "debug id not in the debug information";
    case PL_MISSING_NO_OPERATION:
        return "context chain without operation layer";
    case PL_MISSING_NO_LAYER:
        return "operation in no layer";
    case PL_MISSING_UNTOUCHED:
        return "touched by no program";
    case PL_MISSING_PARENT:
        return "of a program with children, besides theirs";
    case PL_MISSING_COMPILER:
        break;
    }
    return "the compiler's own";
}

pl_missing_reason pl_program_reason(const pl_operations *operations, size_t program) {
    switch ((pl_standing)operations->program_standing[program]) {
    case PL_STANDING_NO_DEBUG_ID:
        return PL_MISSING_NO_DEBUG_ID;
    case PL_STANDING_UNKNOWN_CONTEXT:
        return PL_MISSING_UNKNOWN_CONTEXT;
    case PL_STANDING_NO_OPERATION:
        return PL_MISSING_NO_OPERATION;
    case PL_STANDING_IN_OPERATION:
        break;
    }
    return PL_MISSING_NO_LAYER;
}

/* Adds a reason unless the list has it. */
static void add_reason(pl_missing_reason *reasons, size_t *count, pl_missing_reason reason) {
    for (size_t i = 0; i < *count; i++)
        if (reasons[i] == reason)
            return;
    reasons[(*count)++] = reason;
}

/* ---- Owners of code and vertex state --------------------------------------------------------- */

typedef struct named_code {
    pl_missing_part *parts; /* [num_parts], owned; the largest first */
    size_t num_parts;
    uint64_t named_bytes; /* their sum */
    uint64_t rest_bytes;  /* missing, without an owner */
} named_code;

/* Users: programs that count, programs that are missing, or both. */
enum { SEEN = 1, MISSED = 2 };

/* State while parts are found. */
typedef struct naming {
    const pl_explained *explained;
    size_t first_tile; /* the tiles to sum over */
    size_t end_tile;
    uint64_t *left;      /* [num_tiles]: missing, without an owner yet */
    uint64_t *by_tile;   /* [num_tiles]: of one candidate */
    uint64_t *other;     /* [num_tiles] */
    uint8_t *set_users;  /* [num_compute_sets]: SEEN and MISSED */
    uint8_t *type_users; /* [num_vertex_types * num_tiles]: SEEN and MISSED; only for vertex code */
    uint32_t *part_of;   /* of each vertex type or compute set: its part + 1 */
    pl_arrays arrays;    /* own all of these */
    named_code *named;
    size_t capacity;
} naming;

static bool begin_naming(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    size_t num_tiles = p->target.num_tiles;
    size_t num_owners =
        p->num_vertex_types > p->num_compute_sets ? p->num_vertex_types : p->num_compute_sets;
    size_t num_types = code == PL_DIAGNOSED_VERTEX ? p->num_vertex_types : 0;
    n->left = pl_arrays_new(&n->arrays, num_tiles, sizeof *n->left);
    n->by_tile = pl_arrays_new(&n->arrays, num_tiles, sizeof *n->by_tile);
    n->other = pl_arrays_new(&n->arrays, num_tiles, sizeof *n->other);
    n->set_users = pl_arrays_new(&n->arrays, p->num_compute_sets, 1);
    n->type_users = pl_arrays_new(&n->arrays, num_types * num_tiles, 1);
    n->part_of = pl_arrays_new(&n->arrays, num_owners, sizeof *n->part_of);
    if (n->arrays.failed)
        return false;
    for (size_t tile = n->first_tile; tile < n->end_tile; tile++) {
        uint64_t truth_bytes = n->explained->truth_bytes[code][tile];
        uint64_t code_bytes = n->explained->code_bytes[code][tile];
        n->left[tile] = truth_bytes > code_bytes ? truth_bytes - code_bytes : 0;
    }
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (set != PL_NONE)
            n->set_users[set] |= n->explained->program_seen[program] ? SEEN : MISSED;
    }
    return true;
}

/* Makes a part of the missing bytes in n->by_tile, and clears these. *part becomes its number + 1,
 * or 0 if none of the bytes are missing. */
static bool take(naming *n, const char *vertex_type, uint32_t *part) {
    size_t num_tiles = n->explained->profile->target.num_tiles;
    uint64_t size_bytes = 0;
    *part = 0;
    for (size_t tile = n->first_tile; tile < n->end_tile; tile++) {
        uint64_t taken = n->by_tile[tile] < n->left[tile] ? n->by_tile[tile] : n->left[tile];
        n->left[tile] -= taken;
        size_bytes += taken;
    }
    memset(n->by_tile, 0, num_tiles * sizeof *n->by_tile);
    if (size_bytes == 0)
        return true;
    named_code *named = n->named;
    named->named_bytes += size_bytes;
    if (!pl_grow(&named->parts, &n->capacity, named->num_parts + 1, sizeof *named->parts))
        return false;
    named->parts[named->num_parts++] =
        (pl_missing_part){.vertex_type = vertex_type, .size_bytes = size_bytes};
    *part = (uint32_t)named->num_parts;
    return true;
}

/* Adds a program to a part. */
static void add_program(naming *n, uint32_t part, uint32_t program) {
    pl_missing_part *to = &n->named->parts[part - 1];
    if (to->num_programs < sizeof to->programs / sizeof *to->programs)
        to->programs[to->num_programs] = program;
    to->num_programs++;
    add_reason(to->reasons, &to->num_reasons,
               n->explained->program_seen[program]
                   ? PL_MISSING_PARENT
                   : pl_program_reason(n->explained->operations, program));
}

/* ---- Vertex code ----------------------------------------------------------------------------- */

static void find_type_users(naming *n) {
    const popliner_profile *p = n->explained->profile;
    for (uint32_t set = 0; set < p->num_compute_sets; set++) {
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint8_t *users = n->type_users + p->compute_set_vertex_type[i] * p->target.num_tiles;
            pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[i]);
            size_t tile;
            size_t end;
            while (pl_tile_runs_next(&walk, &tile, &end)) {
                for (; tile < end; tile++)
                    users[tile] |= n->set_users[set];
            }
        }
    }
}

/* True if a vertex of a compute set is on one of the tiles where only missing programs use its
 * type. */
static bool is_missed(const naming *n, uint32_t vertex) {
    const popliner_profile *p = n->explained->profile;
    const uint8_t *users = n->type_users + p->compute_set_vertex_type[vertex] * p->target.num_tiles;
    pl_tile_runs walk = pl_tile_runs_of(p, p->compute_set_vertex_instances[vertex]);
    size_t tile;
    size_t end;
    while (pl_tile_runs_next(&walk, &tile, &end)) {
        for (; tile < end; tile++) {
            if (tile >= n->first_tile && tile < n->end_tile && users[tile] == MISSED)
                return true;
        }
    }
    return false;
}

static bool name_vertex_code(naming *n) {
    const popliner_profile *p = n->explained->profile;
    size_t num_tiles = p->target.num_tiles;
    find_type_users(n);
    for (size_t type = 0; type < p->num_vertex_types; type++) {
        const uint8_t *users = n->type_users + type * num_tiles;
        if (memchr(users, MISSED, num_tiles) == NULL)
            continue;
        pl_series_add(p, p->vertex_type_code[type], 1, n->by_tile);
        for (size_t tile = 0; tile < num_tiles; tile++)
            n->by_tile[tile] = users[tile] == MISSED ? n->by_tile[tile] : 0;
        if (!take(n, pl_profile_string(p, p->vertex_type_name[type]), &n->part_of[type]))
            return false;
    }
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (n->explained->program_seen[program] || set == PL_NONE)
            continue;
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint32_t part = n->part_of[p->compute_set_vertex_type[i]];
            if (part > 0 && is_missed(n, i))
                add_program(n, part, program);
        }
    }
    return true;
}

/* ---- Vertex state ---------------------------------------------------------------------------- */

/* Adds the state of a compute set to n->by_tile: for instances, at most what the compiler has for
 * them; for fields, what exceeds the instances. */
static void add_state(naming *n, int code, uint32_t set) {
    const popliner_profile *p = n->explained->profile;
    size_t num_tiles = p->target.num_tiles;
    bool is_told = p->num_compute_set_states > 0;
    if (code == PL_DIAGNOSED_DESCRIPTORS) {
        if (is_told)
            pl_series_add(p, p->compute_set_descriptors[set], 1, n->by_tile);
        return;
    }
    pl_add_vertex_instances(p, set, code == PL_DIAGNOSED_INSTANCES ? n->by_tile : n->other);
    if (!is_told) {
        memset(n->other, 0, num_tiles * sizeof *n->other);
        return; /* of instances only: the profile has nothing about fields */
    }
    pl_series_add(p, p->compute_set_state[set], 1,
                  code == PL_DIAGNOSED_INSTANCES ? n->other : n->by_tile);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        uint64_t own = n->by_tile[tile];
        uint64_t other = n->other[tile];
        if (code == PL_DIAGNOSED_INSTANCES)
            n->by_tile[tile] = own < other ? own : other;
        else
            n->by_tile[tile] = own > other ? own - other : 0;
        n->other[tile] = 0;
    }
}

static bool name_state(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    for (uint32_t set = 0; set < p->num_compute_sets; set++) {
        if (n->set_users[set] != MISSED)
            continue;
        add_state(n, code, set);
        if (!take(n, NULL, &n->part_of[set]))
            return false;
    }
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (set != PL_NONE && n->part_of[set] > 0)
            add_program(n, n->part_of[set], program);
    }
    return true;
}

/* ---- Code of programs ------------------------------------------------------------------------ */

/* Adds the control code of a program that is not in its children. */
static void add_own_control_code(naming *n, uint32_t program) {
    const popliner_profile *p = n->explained->profile;
    if (p->program_control_code[program].size_bytes == 0)
        return;
    pl_series_add(p, p->program_control_code[program], 1, n->by_tile);
    for (uint32_t i = p->program_children_start[program];
         i < p->program_children_start[program + 1]; i++)
        pl_series_add(p, p->program_control_code[p->program_child[i]], 1, n->other);
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        n->by_tile[tile] -= n->other[tile] < n->by_tile[tile] ? n->other[tile] : n->by_tile[tile];
        n->other[tile] = 0;
    }
}

static bool name_programs(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        bool is_seen = n->explained->program_seen[program];
        bool is_parent = pl_profile_num_children(p, program) > 0;
        uint32_t part;
        if (code == PL_DIAGNOSED_CONTROL && (!is_seen || is_parent))
            add_own_control_code(n, program);
        else if (code == PL_DIAGNOSED_EXCHANGE && !is_seen)
            pl_series_add(p, p->program_exchange_code[program], 1, n->by_tile);
        else
            continue;
        if (!take(n, NULL, &part))
            return false;
        if (part > 0)
            add_program(n, part, program);
    }
    return true;
}

/* ---- All code -------------------------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right) {
    const pl_missing_part *a = left;
    const pl_missing_part *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    if (a->programs[0] != b->programs[0])
        return a->programs[0] < b->programs[0] ? -1 : 1;
    return a->vertex_type == NULL ? 0 : strcmp(a->vertex_type, b->vertex_type);
}

/* Finds the owners of a missing code (PL_DIAGNOSED_VERTEX, ...) on a tile, or on all (SIZE_MAX),
 * from the profile's vertex types, compute sets and programs. In their order in the profile, each
 * owner gets as much as is still missing on a tile; with the rest, the parts sum to all of it.
 * *named must be 0; the caller frees it, also without memory for it, which gives false. Cost: a few
 * passes over the vertices of compute sets; O(tiles) for each part. */
static bool name_code(const pl_explained *explained, int code, size_t tile, named_code *named) {
    bool is_of_all = tile == SIZE_MAX;
    naming n = {.explained = explained,
                .first_tile = is_of_all ? 0 : tile,
                .end_tile = is_of_all ? explained->profile->target.num_tiles : tile + 1,
                .named = named};
    bool memory = begin_naming(&n, code);
    if (memory) {
        switch (code) {
        case PL_DIAGNOSED_VERTEX:
            memory = name_vertex_code(&n);
            break;
        case PL_DIAGNOSED_INSTANCES:
        case PL_DIAGNOSED_FIELDS:
        case PL_DIAGNOSED_DESCRIPTORS:
            memory = name_state(&n, code);
            break;
        default:
            memory = name_programs(&n, code);
        }
    }
    for (size_t t = n.first_tile; memory && t < n.end_tile; t++)
        named->rest_bytes += n.left[t];
    if (memory && named->num_parts > 0)
        qsort(named->parts, named->num_parts, sizeof *named->parts, compare_parts);
    pl_arrays_free(&n.arrays);
    return memory;
}

/* ---- By variable ----------------------------------------------------------------------------- */

static size_t key_of(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    size_t row = unlowered == PL_NONE ? p->num_unlowered : unlowered;
    return row * p->num_categories + p->variable_category[variable];
}

bool pl_missing_begin(pl_missing_bytes *missing, const popliner_profile *profile) {
    missing->count = (profile->num_unlowered + 1) * profile->num_categories;
    missing->bytes = pl_new_array(missing->count, sizeof *missing->bytes);
    return missing->bytes != NULL;
}

void pl_missing_add(pl_missing_bytes *missing, const popliner_profile *p, size_t variable) {
    missing->bytes[key_of(p, variable)] += p->variable_size_bytes[variable];
}

void pl_missing_add_code(pl_missing_bytes *missing, const pl_explained *explained, size_t tile) {
    const popliner_profile *p = explained->profile;
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = explained->code_of_category[category];
        if (code == PL_NUM_DIAGNOSED_CODE)
            continue;
        uint64_t truth_bytes = explained->truth_bytes[code][tile];
        uint64_t code_bytes = explained->code_bytes[code][tile];
        if (truth_bytes > code_bytes)
            missing->bytes[p->num_unlowered * p->num_categories + category] +=
                truth_bytes - code_bytes;
    }
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
    enum { SHOWN = sizeof list->items->programs / sizeof *list->items->programs };
    const popliner_profile *p = explained->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        pl_touches touches = pl_touches_of(p, program);
        uint32_t variable;
        if (explained->program_seen[program] == PL_SEEN_DATA)
            continue; /* none of its variables is missing */
        while (pl_touches_next(&touches, &variable)) {
            uint32_t place =
                explained->variable_seen[variable] ? 0 : place_of_key[key_of(p, variable)];
            if (place == 0 || last_program[place - 1] == program + 1)
                continue; /* not missing, or already counted for another variable */
            pl_missing_variable *item = &list->items[place - 1];
            last_program[place - 1] = program + 1;
            if (item->num_programs < SHOWN)
                item->programs[item->num_programs] = program;
            item->num_programs++;
            add_reason(item->reasons, &item->num_reasons,
                       explained->program_seen[program]
                           ? PL_MISSING_NO_LAYER
                           : pl_program_reason(explained->operations, program));
        }
    }
}

/* Finds the parts of an item of code, and the bytes without an owner. */
static bool name_item(const pl_explained *explained, bool has_name, size_t tile, size_t category,
                      pl_missing_variable *item) {
    int code = explained->code_of_category[category];
    named_code named = {0};
    bool memory = true;
    if (code < PL_NUM_DIAGNOSED_CODE && !has_name) {
        memory = name_code(explained, code, tile, &named);
        item->parts = named.parts;
        item->num_parts = named.num_parts;
        /* the rest, and the category's variables that are not always live */
        item->compiler_bytes =
            item->num_programs == 0 ? item->size_bytes - named.named_bytes : named.rest_bytes;
    } else if (item->num_programs == 0 &&
               !pl_category_is_model_data((pl_category)explained->profile->category[category])) {
        item->compiler_bytes = item->size_bytes;
    }
    return memory;
}

/* Adds the reasons of the parts to those of the programs that touch the item. */
static void complete_reasons(pl_missing_variable *item) {
    for (size_t part = 0; part < item->num_parts; part++)
        for (size_t i = 0; i < item->parts[part].num_reasons; i++)
            add_reason(item->reasons, &item->num_reasons, item->parts[part].reasons[i]);
    if (item->compiler_bytes > 0)
        add_reason(item->reasons, &item->num_reasons, PL_MISSING_COMPILER);
    if (item->num_reasons == 0)
        add_reason(item->reasons, &item->num_reasons, PL_MISSING_UNTOUCHED);
}

bool pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained, size_t tile,
                     pl_missing_variables *list) {
    const popliner_profile *p = explained->profile;
    size_t count = 0;
    for (size_t key = 0; key < missing->count; key++)
        count += missing->bytes[key] > 0;
    list->items = pl_new_array(count, sizeof *list->items);
    uint32_t *place_of_key = pl_new_array(missing->count, sizeof *place_of_key);
    uint32_t *last_program = pl_new_array(count, sizeof *last_program);
    bool memory = list->items != NULL && place_of_key != NULL && last_program != NULL;
    for (size_t key = 0; memory && key < missing->count; key++) {
        if (missing->bytes[key] == 0)
            continue;
        size_t unlowered = key / p->num_categories;
        bool has_name = unlowered < p->num_unlowered;
        place_of_key[key] = (uint32_t)list->count + 1;
        list->items[list->count++] = (pl_missing_variable){
            .name = has_name ? pl_profile_string(p, p->unlowered_name[unlowered]) : "",
            .category = pl_profile_string(p, p->category_name[key % p->num_categories]),
            .size_bytes = missing->bytes[key],
            .debug_context = has_name ? p->unlowered_debug_context[unlowered] : 0,
        };
    }
    if (memory)
        find_touching_programs(explained, place_of_key, last_program, list);
    for (size_t key = 0; memory && key < missing->count; key++) {
        if (place_of_key[key] == 0)
            continue;
        pl_missing_variable *item = &list->items[place_of_key[key] - 1];
        bool has_name = key / p->num_categories < p->num_unlowered;
        memory = name_item(explained, has_name, tile, key % p->num_categories, item);
        complete_reasons(item);
    }
    if (memory)
        qsort(list->items, list->count, sizeof *list->items, compare_missing);
    free(place_of_key);
    free(last_program);
    return memory;
}

void pl_missing_list_clear(pl_missing_variables *list) {
    for (size_t i = 0; i < list->count; i++)
        free((pl_missing_part *)list->items[i].parts);
    free(list->items);
    *list = (pl_missing_variables){0};
}
