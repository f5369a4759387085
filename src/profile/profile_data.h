/* The profile in memory: structures of arrays, with indices instead of ids.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_PROFILE_DATA_H
#define PL_PROFILE_PROFILE_DATA_H

#include <assert.h>

#include "base/growth.h"
#include "base/id_map.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/profile.h"
#include "profile/blob_codec.h"
#include "profile/category.h"

/* The number of known program types, which are numbered from 0. */
enum { PL_NUM_PROGRAM_TYPES = POPLINER_PROGRAM_SYNC_ANS + 1 };

/* One number per tile, RLE-encoded in popliner_profile.series_bytes: most are all zero or change
 * seldom, and each is needed once. Size 0 is all zero. */
typedef struct pl_series {
    uint64_t offset;
    uint64_t size_bytes;
} pl_series;

/* Upper bounds of what a tile can have, so that sums over variables, programs and tiles do not
 * overflow. The state of a compute set is a sum of three such numbers. */
#define PL_MAX_TILE_BYTES UINT32_MAX
#define PL_MAX_STATE_BYTES (3 * (uint64_t)PL_MAX_TILE_BYTES)

/* More tiles than any machine has: 64 IPUs of 1472 tiles have 94,208. */
#define PL_MAX_TILES (1 << 24)

/* The category of a lowered variable is one byte. */
#define PL_MAX_CATEGORIES (UINT8_MAX + 1)

/* The parts of the compiler's account of a category: its columns, in this order. */
enum { PL_NUM_CATEGORY_PARTS = 6 };

enum { PL_NUM_RELATIONS = POPLINER_RELATION_COMPUTE_SETS + 1 };

/* The result of a consistency check. */
typedef struct pl_check {
    uint64_t checked; /* places: tiles, steps, ...; 0 if the profile lacks a table that is needed */
    uint64_t breached;      /* the places where the relation does not hold */
    uint64_t largest_bytes; /* the largest difference; vertices or rows where these are counted */
    uint64_t where; /* pl_string: the place of that difference, "tile 5, total"; "" for none */
} pl_check;

/* A string is the offset of its first byte in popliner_profile.strings; offset 0 is "". */
typedef uint32_t pl_string;

/* The device that the program was compiled for, the part of it that the profile has, and single
 * numbers: see popliner_profile_info. Stored as in memory. */
typedef struct pl_target {
    size_t num_tiles;
    size_t num_ipus;
    size_t num_replicas;
    uint64_t bytes_per_tile;
    uint64_t clock_hz;
    char architecture[16];
    char type[16];
    size_t tiles_per_ipu;
    size_t ipus_per_replica;
    uint64_t format_major;
    uint64_t format_minor;
    uint64_t format_point;
    uint64_t is_unstable_format;
    uint64_t poplar_text; /* pl_string, like the next one */
    uint64_t poplar_hash;
    uint64_t poplar_major;
    uint64_t poplar_minor;
    uint64_t poplar_point;
    uint64_t num_vertices;
    uint64_t num_edges;
    uint64_t ipu; /* the IPU that the profile was restricted to, plus 1; 0: none */
    /* if the replicas differ: the number of tiles of the others, and the largest difference */
    uint64_t replica_tiles_off;
    uint64_t replica_bytes_off;
} pl_target;

struct popliner_profile {
    pl_arrays arrays; /* own all arrays below */
    pl_target target;

#define COUNT(name) size_t name;
#define ARRAY(type, name, length, ...) type *name;
#include "profile/profile_arrays.h"
#undef COUNT
#undef ARRAY

    /* True if PL_FIELDS_OF_VARIABLES were left out, and the number of variables
     * that there were. */
    bool lacks_variables;
    size_t num_left_out;
};

/* How a variable is placed; the low bits are the logarithm of its alignment. */
enum {
    PL_PLACING_ALIGNMENT = 0x1f,
    PL_PLACING_EXECUTABLE = 0x20,
};

static inline size_t pl_profile_num_children(const popliner_profile *profile, size_t program) {
    return profile->program_children_start[program + 1] - profile->program_children_start[program];
}

/* True if a number can be a tile balance: the mean of the tiles divided by their maximum, which may
 * be rounded up. False for NaN. */
static inline bool pl_is_balance(double balance) {
    return balance >= 0 && balance <= 1 + 1e-6;
}

/* Returns the name of a program, or of the compute set that it executes; "" if neither has one. */
const char *pl_profile_program_name(const popliner_profile *profile, size_t program);

/* Returns the best source of cycles of any program. O(programs). */
popliner_cycles_source pl_profile_cycles_source(const popliner_profile *profile);

/* Returns the number i of `count` owners whose items, from starts[i] on, contain a place; `count`
 * if it is after the last one's. O(log count). */
size_t pl_owner_of(const uint64_t *starts, size_t count, uint64_t place);

/* Returns the tile of a lowered variable. O(log tiles). */
size_t pl_profile_tile_of(const popliner_profile *profile, size_t variable);

/* Like pl_profile_tile_of, for iterating over ascending variables: `tile` is that of the previous
 * one, 0 at first. O(1) amortised. */
static inline size_t pl_profile_tile_from(const popliner_profile *profile, size_t variable,
                                          size_t tile) {
    assert(variable < profile->num_variables && variable >= profile->tile_variables_start[tile]);
    while (variable >= profile->tile_variables_start[tile + 1])
        tile++;
    return tile;
}

/* The lowered variables with bytes that are pieces of each unlowered variable, in the order of the
 * tiles: piece[start[i]] to piece[start[i + 1] - 1]; those of number num_unlowered are of none. */
typedef struct pl_pieces {
    size_t *start;
    uint32_t *piece;
} pl_pieces;

/* Finds them; both lists are in `arrays`. O(variables). */
void pl_pieces_find(pl_pieces *pieces, pl_arrays *arrays, const popliner_profile *profile);

/* Returns the text of a string, valid as long as the profile. */
static inline const char *pl_profile_string(const popliner_profile *profile, pl_string string) {
    return profile->strings + string;
}

/* Adds `factor` times the series to by_tile[num_tiles]. O(tiles), or O(1) for an all-zero one. */
void pl_series_add(const popliner_profile *profile, pl_series series, uint64_t factor,
                   uint64_t *by_tile);

/* Returns an iteration over the runs of a series, with no run for an all-zero one, which may have
 * no bytes. */
static inline pl_runs pl_series_runs(const popliner_profile *profile, pl_series series) {
    return pl_runs_begin(series.size_bytes > 0 ? profile->series_bytes + series.offset : NULL,
                         (size_t)series.size_bytes);
}

/* True if a class is always live, or live at the step. O(its ranges). */
static inline bool pl_profile_lives_at(const popliner_profile *profile, uint32_t class_index,
                                       size_t step) {
    bool lives = profile->class_always_live[class_index] != 0;
    for (uint32_t i = profile->class_ranges_start[class_index];
         !lives && i < profile->class_ranges_start[class_index + 1]; i++)
        lives = profile->range_first_step[i] <= step && step < profile->range_end_step[i];
    return lives;
}

/* True if `instances` of size_bytes each do not exceed the limit of any tile. */
bool pl_profile_vertices_fit(const popliner_profile *profile, pl_series instances,
                             uint64_t size_bytes);

/* Returns the cycles of an executed step on the slowest IPU; 0 if none was measured. */
uint64_t pl_profile_execution_cycles(const popliner_profile *profile, size_t step);

/* Returns the sum of a series over the tiles. O(its runs). */
uint64_t pl_series_sum(const popliner_profile *profile, pl_series series);

/* ---- Iterations ---- */

/* Fails with USAGE unless index < count; `what` names the items, for example "programs". */
popliner_status pl_walk_check_index(size_t index, size_t count, const char *what,
                                    popliner_error *error);

/* Returns an index for callers: SIZE_MAX for PL_NONE. */
static inline size_t pl_walk_index(uint32_t index) {
    return index == PL_NONE ? SIZE_MAX : index;
}

/* An iteration over the variables that a program touches. */
typedef struct pl_touches {
    const popliner_profile *profile;
    uint32_t list; /* the next list of the program */
    uint32_t end_list;
    uint64_t place; /* the next variable of the current list */
    uint64_t end_place;
} pl_touches;

/* Begins an iteration over the variables of `program`; there are none if the variables are not
 * loaded. */
static inline pl_touches pl_touches_of(const popliner_profile *profile, uint32_t program) {
    return (pl_touches){.profile = profile,
                        .list = profile->program_lists_start[program],
                        .end_list = profile->program_lists_start[program + 1]};
}

/* Gets the next variable; false after the last one. A variable in two lists of the program comes
 * twice. O(1). */
static inline bool pl_touches_next(pl_touches *touches, uint32_t *variable) {
    const popliner_profile *p = touches->profile;
    while (touches->place == touches->end_place) {
        if (touches->list == touches->end_list)
            return false;
        uint32_t list = p->program_list[touches->list++];
        touches->place = p->list_start[list];
        touches->end_place = p->list_start[list + 1];
    }
    *variable = p->list_variable[touches->place++];
    return true;
}

/* An iteration over the tiles where a series is not 0. */
typedef struct pl_tile_runs {
    pl_runs runs;
    size_t end_tile; /* end of the last run, zero or not */
} pl_tile_runs;

static inline pl_tile_runs pl_tile_runs_of(const popliner_profile *profile, pl_series series) {
    return (pl_tile_runs){pl_series_runs(profile, series), 0};
}

/* Gets the next tiles with one number other than 0, *first ... *end - 1; false after the last. */
static inline bool pl_tile_runs_next(pl_tile_runs *walk, size_t *first, size_t *end) {
    uint64_t value;
    uint64_t length;
    while (pl_runs_next(&walk->runs, &value, &length) > 0) {
        *first = walk->end_tile;
        walk->end_tile += (size_t)length;
        *end = walk->end_tile;
        if (value > 0)
            return true;
    }
    return false;
}

/* ---- All arrays ---- */

/* Which arrays of a profile to list. */
typedef enum pl_which_fields {
    PL_FIELDS_ALL,
    PL_FIELDS_BY_COUNT, /* those with *count items, a member of the profile; no arrays of starts */
    /* those that grow with the lowered variables or refer to them, so that nothing refers to
     * variables that are left out; the last of all */
    PL_FIELDS_OF_VARIABLES,
    PL_FIELDS_OF_SERIES,
} pl_which_fields;

/* Fills fields[PL_MAX_FIELDS] with these arrays and returns their number. `count` is only for
 * PL_FIELDS_BY_COUNT. */
size_t pl_profile_fields(popliner_profile *profile, pl_which_fields which, const size_t *count,
                         pl_field *fields);

/* Returns the field of the array at this offset, and the largest of its numbers that is valid. */
pl_field pl_profile_field(popliner_profile *profile, size_t array, uint64_t *most);

/* For readers: allocates the missing arrays with *count items, all 0. */
void pl_profile_allocate(popliner_profile *profile, const size_t *count);

/* For readers: grows these arrays for one more item, which is 0. False after a failure. */
bool pl_profile_reserve(popliner_profile *profile, const size_t *count);

/* Sets the counts of PL_FIELDS_OF_VARIABLES. */
void pl_profile_count_variables(popliner_profile *profile, size_t count);

/* Fails with USAGE if the variables have been left out. For every public function that would
 * otherwise return wrong results. */
popliner_status pl_profile_require_variables(const popliner_profile *profile,
                                             popliner_error *error);

/* True if all items, of 1, 4 or 8 bytes, are below a limit, or PL_NONE if that is valid; if starts
 * ascend from 0 to `total`, or to any number if that is SIZE_MAX. */
bool pl_items_are_below(const void *items, size_t item_size, size_t count, uint64_t limit,
                        bool is_optional);
bool pl_starts_ascend(const void *items, size_t item_size, size_t count, uint64_t total);

/* Checks that every index is in range and every start ascends, so that no other code needs to.
 * `path` is the file it came from. */
popliner_status pl_profile_check(const popliner_profile *profile, const char *path,
                                 popliner_error *error);

void pl_profile_free(popliner_profile *profile);

/* For readers: add a string or a series; that of "" or of zeros after a failure. */
pl_string pl_profile_add_string(popliner_profile *profile, const char *text);
pl_series pl_profile_add_series(popliner_profile *profile, const uint8_t *rle, size_t size_bytes);
pl_series pl_profile_add_numbers(popliner_profile *profile, const uint64_t *by_tile,
                                 size_t num_tiles);

/* ---- Consistency, and missing data ---- */

/* The words for a relation. */
typedef struct pl_relation {
    const char *name; /* "always_live" */
    const char *places;
    const char *unit;      /* of the largest difference */
    const char *untrusted; /* the results that a breach makes unreliable: "memory by category" */
} pl_relation;

extern const pl_relation pl_relations[PL_NUM_RELATIONS];

/* Returns the result of checking one relation. */
static inline pl_check pl_profile_check_of(const popliner_profile *profile, size_t relation) {
    const pl_check none = {0};
    return profile->num_checks == 0 ? none : profile->checks[relation];
}

/* Returns the number of relations that are breached. */
size_t pl_profile_num_breaches(const popliner_profile *profile);

/* Warns of each relation that is breached. */
void pl_profile_tell_checks(const popliner_profile *profile, const popliner_listener *listener);

/* Warns of missing tables and columns. */
void pl_profile_tell_absences(const popliner_profile *profile, const popliner_listener *listener);

/* Reports which part of the profile was read or loaded, and warns if its replicas differ. */
void pl_part_tell(const popliner_profile *profile, const popliner_listener *listener);

#endif
