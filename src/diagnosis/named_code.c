/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/named_code.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "diagnosis/missing.h"
#include "memory/code.h"
#include "profile/profile_data.h"
#include "profile/tile_runs.h"

/* Who has something: programs that count, programs that are missing, or both. */
enum { SEEN = 1, MISSED = 2 };

/* While parts are found. */
typedef struct naming {
    const pl_explained *explained;
    size_t first_tile; /* the tiles in question */
    size_t end_tile;
    uint64_t *left;      /* [num_tiles]: missing, and not yet named */
    uint64_t *by_tile;   /* [num_tiles]: of one candidate */
    uint64_t *other;     /* [num_tiles] */
    uint8_t *set_users;  /* [num_compute_sets]: SEEN and MISSED */
    uint8_t *type_users; /* [num_vertex_types * num_tiles]: the same; vertex code only */
    uint32_t *part_of;   /* of each vertex type or compute set: its part + 1 */
    pl_named_code *named;
    size_t capacity;
} naming;

static void free_naming(naming *n) {
    free(n->left);
    free(n->by_tile);
    free(n->other);
    free(n->set_users);
    free(n->type_users);
    free(n->part_of);
}

static bool begin_naming(naming *n, int code) {
    const popliner_profile *p = n->explained->profile;
    size_t num_tiles = p->target.num_tiles;
    size_t num_owners =
        p->num_vertex_types > p->num_compute_sets ? p->num_vertex_types : p->num_compute_sets;
    n->left = pl_new_array(num_tiles, sizeof *n->left);
    n->by_tile = pl_new_array(num_tiles, sizeof *n->by_tile);
    n->other = pl_new_array(num_tiles, sizeof *n->other);
    n->set_users = pl_new_array(p->num_compute_sets, 1);
    n->type_users = pl_new_array(code == PL_DIAGNOSED_VERTEX ? p->num_vertex_types * num_tiles : 0,
                                 sizeof *n->type_users);
    n->part_of = pl_new_array(num_owners, sizeof *n->part_of);
    if (n->left == NULL || n->by_tile == NULL || n->other == NULL || n->set_users == NULL ||
        n->type_users == NULL || n->part_of == NULL)
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

/* Makes a part of n->by_tile, as far as it is missing, and empties it. *part is its number + 1, or
 * 0 if nothing of it is missing. */
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
    pl_named_code *named = n->named;
    named->named_bytes += size_bytes;
    if (!pl_grow(&named->parts, &n->capacity, named->num_parts + 1, sizeof *named->parts))
        return false;
    named->parts[named->num_parts++] =
        (popliner_missing_part){.vertex_type = vertex_type, .size_bytes = size_bytes};
    *part = (uint32_t)named->num_parts;
    return true;
}

/* Notes that a program has a part. */
static void add_program(naming *n, uint32_t part, uint32_t program) {
    popliner_missing_part *to = &n->named->parts[part - 1];
    if (to->num_programs < sizeof to->programs / sizeof *to->programs)
        to->programs[to->num_programs] = program;
    to->num_programs++;
    pl_missing_reasons_add(&to->reasons,
                           n->explained->program_seen[program]
                               ? POPLINER_MISSING_PARENT
                               : pl_program_reason(n->explained->operations, program));
}

/* ---- vertex code ---- */

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

/* Whether a vertex of a compute set is on a tile in question where only missing programs have its
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

/* ---- vertex state ---- */

/* Adds the state of a compute set to n->by_tile: of its instances what the compiler tells of them
 * at most, of their fields what it tells beyond that. */
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
        return; /* of instances alone, and nothing is known of fields */
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

/* ---- code of programs ---- */

/* Adds the control code of a program that its children do not have. */
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

/* ---- all of it ---- */

static int compare_parts(const void *left, const void *right) {
    const popliner_missing_part *a = left;
    const popliner_missing_part *b = right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    if (a->programs[0] != b->programs[0])
        return a->programs[0] < b->programs[0] ? -1 : 1;
    return a->vertex_type == NULL ? 0 : strcmp(a->vertex_type, b->vertex_type);
}

popliner_status pl_name_code(const pl_explained *explained, int code, size_t tile,
                             pl_named_code *named, popliner_error *error) {
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
    free_naming(&n);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the diagnosis");
}
