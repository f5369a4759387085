/* Consistency of a profile: the relations of docs/profile-format.md, section 15, between what the
 * compiler counted and the variables, vertices and programs that the profile lists. A relation
 * compares series of numbers, place by place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CHECKS_H
#define PL_PROFILE_CHECKS_H

#include "profile/profile_readers.h"

/* ---- The result of a relation ---- */

/* Zero-initialise. */
typedef struct pl_tally {
    uint64_t checked; /* places */
    uint64_t breached;
    uint64_t largest;
    char where[160];  /* the first place with the largest difference */
    const char *kind; /* the kind of the current place: "tile" */
    uint64_t number;
    bool is_off; /* the relation does not hold at this place */
} pl_tally;

/* Moves on to a place, such as ("tile", 5); `kind` lives as long as the tally, or is NULL for a
 * place without a number. */
void pl_tally_begin(pl_tally *tally, const char *kind, uint64_t number);

/* Notes that the relation does not hold at this place, by `difference`. The text describes the part
 * of the place; it may be "". */
void pl_tally_note(pl_tally *tally, uint64_t difference, const char *format, ...);

/* Returns the difference of numbers that are modulo 2^64. */
static inline uint64_t pl_tally_difference(uint64_t a, uint64_t b) {
    return a - b > INT64_MAX ? b - a : a - b;
}

/* Stores the result of a relation in the profile. */
void pl_tally_keep(const pl_tally *tally, popliner_profile *profile, popliner_relation relation);

/* ---- Series ---- */

/* How a number that the compiler reports and a sum are related. */
typedef enum pl_comparison {
    PL_EQUAL,
    PL_AT_MOST,      /* the number is at most the sum */
    PL_BOUNDED,      /* it is, and 0 only if the sum is */
    PL_BOTH_OR_NONE, /* one is 0 if and only if the other is */
} pl_comparison;

/* Two series by place, or NULL for an unknown one; `what` and `part` (or NULL) are words for the
 * part of the place. */
typedef struct pl_compared {
    popliner_relation relation;
    pl_comparison how;
    const uint64_t *recorded;
    const uint64_t *found;
    const char *what;
    const char *part;
} pl_compared;

/* Compares all pairs of known series at each of `count` places. Rows of one relation are adjacent:
 * without a known pair, it is not checked. tallies[] is by popliner_relation. */
void pl_compare_all(pl_tally *tallies, const char *kind, size_t count, const pl_compared *rows,
                    size_t num_rows);

/* Compares two series by tile at the tally's place. */
void pl_compare_tiles(pl_tally *tally, pl_comparison how, const uint64_t *recorded,
                      const uint64_t *found, size_t num_tiles, const char *what);

/* Adds a column of numbers by tile that only checks need to by_tile[num_tiles]. False if it is NULL
 * or, which is noted as a place of its own, cannot be read; some of them are added then. */
bool pl_tally_add_column(pl_tally *tally, pl_table_rows *rows, int column, uint64_t *by_tile);

/* ---- Sums over the lowered variables, by tile ---- */

/* Zero-initialise; free its arrays, which own all of these. */
typedef struct pl_tile_sums {
    uint64_t *always_live_bytes;     /* [num_tiles] */
    uint64_t *not_always_live_bytes; /* [num_tiles]: largest sum at one step */
    uint64_t *covered_bytes;         /* [num_tiles]: at addresses that variables use */
    uint64_t *end;                   /* [num_tiles]: the end of the last of these addresses */
    /* item category * num_tiles + tile: bytes of all variables, of those that are always live, and
     * at addresses that several variables use */
    uint64_t *category_bytes;
    uint64_t *category_always_bytes;
    uint64_t *shared_bytes;
    uint64_t *step_bytes; /* [num_steps]: not always live, over all tiles */
    pl_arrays arrays;
} pl_tile_sums;

/* Adds up the variables of a profile whose ranges are read, tiles in parallel. The sums do not
 * depend on the number of threads. O(variables + tiles * steps). */
void pl_tile_sums_find(const popliner_profile *profile, size_t num_threads, pl_tile_sums *sums);

/* ---- Relations ---- */

/* The checks of a profile. Series are by tile; NULL: unknown. */
typedef struct pl_checks {
    pl_reading *reading;
    pl_database *database;
    const popliner_profile *profile;
    size_t num_tiles;
    pl_tally tallies[PL_NUM_RELATIONS];
    pl_tile_sums sums;
    bool has_offsets;
    bool has_categories;
    uint64_t *variables; /* item pl_category * num_tiles + tile: bytes of the variables */
    /* what the programs have in all */
    uint64_t *root_code; /* control code of the roots */
    uint64_t *exchange_code;
    uint64_t *num_with_code; /* exchanges */

    /* ---- Only for programs ---- */
    uint64_t *by_tile; /* series of the current program or exchange */
    uint32_t *roots;   /* or PL_NONE, in the order of their ids */
    size_t num_roots;
    size_t num_roots_passed;
    uint32_t inner;       /* the innermost step around the current one, or PL_NONE */
    bool *is_open;        /* by step: it is around the current one */
    uint32_t *num_inside; /* by step: programs that were passed inside it */
    /* A program, compute set or list that belongs to several others counts only for the first,
     * which limits the work; in real files none does. */
    bool *is_child; /* by program */
    bool *is_seen;  /* by list; those of compute sets come first */
    /* the lists, which must name only data that is live when the program runs */
    bool is_never_named[PL_MAX_CATEGORIES];
    uint32_t *first_step;  /* by list: of a program that has it, or PL_NONE */
    uint32_t *seen_in;     /* by class: the last list that it was checked for, plus 1 */
    size_t every;          /* of long lists only every n-th variable is checked */
    uint64_t *list_id;     /* by list of an exchange: in exchange_regions */
    sqlite3_stmt *regions; /* of one target; NULL: the text of regions is not parsed */
    size_t stride;         /* the text of every stride-th side is parsed */
    size_t num_sides;
    size_t regions_left;
} pl_checks;

/* Returns an array of zeros that the reading owns; NULL, with an error, if memory is short. */
static inline uint64_t *pl_checks_new(const pl_checks *checks, size_t count) {
    return pl_reading_new(checks->reading, count, sizeof(uint64_t));
}

/* Check the relations of programs and compute sets, then of exchanges, and add up what they have.
 * The text of regions is parsed for a sample of the exchanges, spread over the file, that takes
 * negligible time: all of a small file. O((programs + exchanges) * tiles + variables of the
 * lists). */
void pl_checks_of_programs(pl_checks *checks);

#endif
