/* The memory that no counted operation explains: by variable, with reasons and owners.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "base/numbers.h"
#include "memory/code.h"
#include "model/operations.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "profile/profile_data.h"

const char *pl_missing_reason_text(pl_missing_reason reason) {
    static const char *const texts[] = {
        [PL_MISSING_NO_DEBUG_ID] = "no debug id",
        [PL_MISSING_UNKNOWN_CONTEXT] = "debug id not in the debug information",
        [PL_MISSING_NO_OPERATION] = "context chain without operation layer",
        [PL_MISSING_NO_LAYER] = "operation in no layer",
        [PL_MISSING_UNTOUCHED] = "touched by no program",
        [PL_MISSING_PARENT] = "of a program with children, besides theirs",
        [PL_MISSING_COMPILER] = "the compiler's own",
    };
    return texts[reason];
}

pl_missing_reason pl_program_reason(const pl_operations *operations, size_t program) {
    static const pl_missing_reason reasons[] = {
        [PL_STANDING_IN_OPERATION] = PL_MISSING_NO_LAYER,
        [PL_STANDING_NO_DEBUG_ID] = PL_MISSING_NO_DEBUG_ID,
        [PL_STANDING_UNKNOWN_CONTEXT] = PL_MISSING_UNKNOWN_CONTEXT,
        [PL_STANDING_NO_OPERATION] = PL_MISSING_NO_OPERATION,
    };
    return reasons[operations->program_standing[program]];
}

/* Adds a reason unless the item has it. */
static void add_reason(pl_missing_variable *to, pl_missing_reason reason) {
    for (size_t i = 0; i < to->num_reasons; i++)
        if (to->reasons[i] == reason)
            return;
    to->reasons[to->num_reasons++] = reason;
}

/* Adds a program, and why it does not count; `if_seen` is the reason for one that does. */
static void add_program(const pl_explained *explained, uint32_t program, pl_missing_reason if_seen,
                        pl_missing_variable *to) {
    if (to->num_programs < sizeof to->programs / sizeof *to->programs)
        to->programs[to->num_programs] = program;
    to->num_programs++;
    add_reason(to, explained->program_seen[program]
                       ? if_seen
                       : pl_program_reason(explained->operations, program));
}

/* The bytes of a code on a tile that nothing explains. */
static uint64_t missing_code(const pl_explained *explained, int code, size_t tile) {
    const uint64_t truth_bytes = explained->truth_bytes[code][tile];
    return truth_bytes - pl_smaller(truth_bytes, explained->code_bytes[code][tile]);
}

/* ---- Owners of code and vertex state --------------------------------------------------------- */

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

    pl_arrays *of_parts;        /* own the parts */
    pl_missing_variable *parts; /* [num_parts] */
    size_t num_parts;
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
    for (size_t tile = n->first_tile; tile < n->end_tile; tile++)
        n->left[tile] = missing_code(n->explained, code, tile);
    for (size_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (set != PL_NONE)
            n->set_users[set] |= n->explained->program_seen[program] ? SEEN : MISSED;
    }
    return true;
}

/* Makes a part of the missing bytes in n->by_tile, and clears these. Returns its number + 1, or 0
 * if none of the bytes are missing, or without memory. */
static uint32_t take(naming *n, const char *vertex_type) {
    pl_missing_variable part = {.name = vertex_type};
    for (size_t tile = n->first_tile; tile < n->end_tile; tile++) {
        uint64_t taken = pl_smaller(n->by_tile[tile], n->left[tile]);
        n->left[tile] -= taken;
        part.size_bytes += taken;
    }
    memset(n->by_tile, 0, n->explained->profile->target.num_tiles * sizeof *n->by_tile);
    if (part.size_bytes == 0 ||
        !pl_arrays_grow(n->of_parts, &n->parts, n->num_parts + 1, sizeof part))
        return 0;
    n->parts[n->num_parts++] = part;
    return (uint32_t)n->num_parts;
}

/* Adds a program to part - 1, unless `part` is 0. */
static void add_owner(naming *n, uint32_t part, uint32_t program) {
    if (part > 0)
        add_program(n->explained, program, PL_MISSING_PARENT, &n->parts[part - 1]);
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

static void name_vertex_code(naming *n) {
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
        n->part_of[type] = take(n, pl_profile_string(p, p->vertex_type_name[type]));
    }
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (n->explained->program_seen[program] || set == PL_NONE)
            continue;
        for (uint32_t i = p->compute_set_vertices_start[set];
             i < p->compute_set_vertices_start[set + 1]; i++) {
            uint32_t part = n->part_of[p->compute_set_vertex_type[i]];
            if (part > 0 && is_missed(n, i))
                add_owner(n, part, program);
        }
    }
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
            n->by_tile[tile] = pl_smaller(own, other);
        else
            n->by_tile[tile] = own - pl_smaller(own, other);
        n->other[tile] = 0;
    }
}

static void name_state(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    for (uint32_t set = 0; set < p->num_compute_sets; set++) {
        if (n->set_users[set] != MISSED)
            continue;
        add_state(n, code, set);
        n->part_of[set] = take(n, "");
    }
    for (uint32_t program = 0; program < p->num_programs; program++) {
        uint32_t set = p->program_compute_set[program];
        if (set != PL_NONE)
            add_owner(n, n->part_of[set], program);
    }
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
        n->by_tile[tile] -= pl_smaller(n->other[tile], n->by_tile[tile]);
        n->other[tile] = 0;
    }
}

static void name_programs(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        bool is_seen = n->explained->program_seen[program];
        bool is_parent = pl_profile_num_children(p, program) > 0;
        if (code == PL_DIAGNOSED_CONTROL && (!is_seen || is_parent))
            add_own_control_code(n, program);
        else if (code == PL_DIAGNOSED_EXCHANGE && !is_seen)
            pl_series_add(p, p->program_exchange_code[program], 1, n->by_tile);
        else
            continue;
        add_owner(n, take(n, ""), program);
    }
}

/* ---- All code -------------------------------------------------------------------------------- */

static int compare_parts(const void *left, const void *right) {
    const pl_missing_variable *a = left;
    const pl_missing_variable *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    if (a->programs[0] != b->programs[0])
        return a->programs[0] < b->programs[0] ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Gives an item the owners of a missing code (PL_DIAGNOSED_VERTEX, ...) on a tile, or on all
 * (SIZE_MAX), from the profile's vertex types, compute sets and programs. In their order in the
 * profile, each owner gets as much as is still missing on a tile; with the rest, the parts sum to
 * all of it. Cost: a few passes over the vertices of compute sets; O(tiles) for each part. */
static void name_code(const pl_explained *explained, int code, size_t tile, pl_arrays *arrays,
                      pl_missing_variable *item) {
    bool is_of_all = tile == SIZE_MAX;
    naming n = {.explained = explained,
                .first_tile = is_of_all ? 0 : tile,
                .end_tile = is_of_all ? explained->profile->target.num_tiles : tile + 1,
                .of_parts = arrays};
    if (begin_naming(&n, code)) {
        if (code == PL_DIAGNOSED_VERTEX)
            name_vertex_code(&n);
        else if (code == PL_DIAGNOSED_EXCHANGE || code == PL_DIAGNOSED_CONTROL)
            name_programs(&n, code);
        else
            name_state(&n, code);
        /* the rest, and the category's variables that are not always live */
        item->compiler_bytes = item->num_programs == 0 ? item->size_bytes : 0;
        for (size_t i = 0; item->num_programs == 0 && i < n.num_parts; i++)
            item->compiler_bytes -= n.parts[i].size_bytes;
        for (size_t t = n.first_tile; item->num_programs > 0 && t < n.end_tile; t++)
            item->compiler_bytes += n.left[t];
        if (n.num_parts > 0)
            qsort(n.parts, n.num_parts, sizeof *n.parts, compare_parts);
        item->parts = n.parts;
        item->num_parts = n.num_parts;
    }
    pl_arrays_end(&n.arrays, arrays);
}

/* ---- By variable ----------------------------------------------------------------------------- */

static size_t key_of(const popliner_profile *p, size_t variable) {
    uint32_t unlowered = p->variable_unlowered[variable];
    size_t row = unlowered == PL_NONE ? p->num_unlowered : unlowered;
    return row * p->num_categories + p->variable_category[variable];
}

void pl_missing_begin(pl_missing_bytes *missing, const popliner_profile *profile,
                      pl_arrays *arrays) {
    missing->count = (profile->num_unlowered + 1) * profile->num_categories;
    missing->bytes = pl_arrays_new(arrays, missing->count, sizeof *missing->bytes);
}

void pl_missing_add(pl_missing_bytes *missing, const popliner_profile *p, size_t variable) {
    missing->bytes[key_of(p, variable)] += p->variable_size_bytes[variable];
}

void pl_missing_add_code(pl_missing_bytes *missing, const pl_explained *explained, size_t tile) {
    const popliner_profile *p = explained->profile;
    for (size_t category = 0; category < p->num_categories; category++) {
        int code = explained->code_of_category[category];
        if (code < PL_NUM_DIAGNOSED_CODE)
            missing->bytes[p->num_unlowered * p->num_categories + category] +=
                missing_code(explained, code, tile);
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
            last_program[place - 1] = program + 1;
            add_program(explained, program, PL_MISSING_NO_LAYER, &list->items[place - 1]);
        }
    }
}

/* Adds the reasons of the parts to those of the programs that touch the item. */
static void complete_reasons(pl_missing_variable *item) {
    for (size_t part = 0; part < item->num_parts; part++)
        for (size_t i = 0; i < item->parts[part].num_reasons; i++)
            add_reason(item, item->parts[part].reasons[i]);
    if (item->compiler_bytes > 0)
        add_reason(item, PL_MISSING_COMPILER);
    if (item->num_reasons == 0)
        add_reason(item, PL_MISSING_UNTOUCHED);
}

void pl_missing_list(const pl_missing_bytes *missing, const pl_explained *explained, size_t tile,
                     pl_arrays *arrays, pl_missing_variables *list) {
    const popliner_profile *p = explained->profile;
    pl_arrays own = {0};
    size_t count = 0;
    for (size_t key = 0; key < missing->count; key++)
        count += missing->bytes[key] > 0;
    list->items = pl_arrays_new(arrays, count, sizeof *list->items);
    uint32_t *place_of_key = pl_arrays_new(&own, missing->count, sizeof *place_of_key);
    uint32_t *last_program = pl_arrays_new(&own, count, sizeof *last_program);
    if (!arrays->failed && !own.failed) {
        for (size_t key = 0; key < missing->count; key++) {
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
        find_touching_programs(explained, place_of_key, last_program, list);
        for (size_t key = 0; key < missing->count; key++) {
            if (place_of_key[key] == 0)
                continue;
            pl_missing_variable *item = &list->items[place_of_key[key] - 1];
            size_t category = key % p->num_categories;
            int code = explained->code_of_category[category];
            if (code < PL_NUM_DIAGNOSED_CODE && key / p->num_categories == p->num_unlowered)
                name_code(explained, code, tile, arrays, item);
            else if (item->num_programs == 0 &&
                     !pl_category_is_model_data((pl_category)p->category[category]))
                item->compiler_bytes = item->size_bytes;
            complete_reasons(item);
        }
        qsort(list->items, list->count, sizeof *list->items, compare_missing);
    }
    pl_arrays_end(&own, arrays);
}
