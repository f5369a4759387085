/* Consistency of a profile: the relations of docs/profile-format.md, section 15, between what the
 * compiler counted and the variables, vertices and programs that the profile lists.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CHECKS_H
#define PL_PROFILE_CHECKS_H

#include "profile/profile_readers.h"

/* ---- The result of a relation, counted place by place ---- */

/* Zero-initialise. */
typedef struct pl_tally {
    uint64_t checked;
    uint64_t breached;
    uint64_t largest;
    char where[160];
    const char *kind; /* the kind of the current place: "tile" */
    uint64_t number;
    bool is_off; /* the relation does not hold at this place */
} pl_tally;

/* Moves on to a place, such as ("tile", 5); `kind` lives as long as the tally, or is NULL for a
 * place without a number. */
void pl_tally_begin(pl_tally *t, const char *kind, uint64_t number);

/* Notes that the relation does not hold at this place, by `difference`. `what` and `part` describe
 * the part of the place; both may be "". */
void pl_tally_note(pl_tally *t, uint64_t difference, const char *what, const char *part);

/* Like pl_tally_note, for one tile of this place. */
void pl_tally_note_tile(pl_tally *t, uint64_t difference, const char *what, size_t tile);

/* Notes the difference between the recorded number and the one that was found, if any. */
void pl_tally_compare(pl_tally *t, uint64_t recorded, uint64_t found, const char *what,
                      const char *part);

/* How a number that the compiler reports and a sum are related. */
typedef enum pl_comparison {
    PL_EQUAL,
    PL_AT_MOST,      /* the number is at most the sum */
    PL_BOUNDED,      /* it is, and 0 only if the sum is */
    PL_BOTH_OR_NONE, /* one is 0 if and only if the other is */
} pl_comparison;

/* Two series by place, or NULL for an unknown one. */
typedef struct pl_compared {
    pl_comparison how;
    const uint64_t *recorded;
    const uint64_t *found;
    const char *what;
    const char *part;
} pl_compared;

/* Compares all pairs of known series at each of `count` places, and nothing if there are none. */
void pl_tally_compare_all(pl_tally *t, const char *kind, size_t count, const pl_compared *compared,
                          size_t num_compared);

/* Compares two series by tile, all at this place. */
void pl_tally_compare_tiles(pl_tally *t, pl_comparison how, const uint64_t *recorded,
                            const uint64_t *found, size_t num_tiles, const char *what);

/* Checks that on each tile the sum exceeds the number by the same or, if more tiles have that, by
 * the same multiple of the weight of the tile (`weights` is NULL: none). `what` is for a number
 * that is larger. */
void pl_tally_compare_rest(pl_tally *t, pl_reading *reading, const uint64_t *recorded,
                           const uint64_t *found, const uint64_t *weights, const char *what);

/* Adds a column of numbers by tile that only checks need to by_tile[num_tiles]. False if it is NULL
 * or, which is noted as a place of its own, cannot be read; some of them are added then. */
bool pl_tally_add_column(pl_tally *t, pl_table_rows *rows, int column, uint64_t *by_tile);

/* Stores the result of a relation in the profile. */
void pl_tally_keep(const pl_tally *t, popliner_profile *profile, popliner_relation relation);

/* ---- Sums over the lowered variables, by tile ---- */

/* Zero-initialise; free with pl_tile_sums_free. */
typedef struct pl_tile_sums {
    uint64_t *always_live_bytes;     /* [num_tiles] */
    uint64_t *not_always_live_bytes; /* [num_tiles]: largest sum at one step */
    uint32_t *peak_step;             /* [num_tiles]: the first step with that sum */
    uint64_t *covered_bytes;         /* [num_tiles]: at addresses that variables use */
    uint64_t *end;                   /* [num_tiles]: the end of the last of these addresses */
    /* item category * num_tiles + tile: bytes at addresses that one variable of the tile uses, and
     * at those that several use */
    uint64_t *alone_bytes;
    uint64_t *shared_bytes;
    uint64_t *category_always_bytes; /* by category and tile: of variables that are always live */
    uint64_t *class_bytes;           /* [num_classes]: over all tiles */
    pl_arrays arrays;                /* which own all of these */
} pl_tile_sums;

/* Adds up the variables of a profile whose ranges are read, tiles in parallel. The sums do not
 * depend on the number of threads. O(variables + tiles * steps). */
void pl_tile_sums_find(const popliner_profile *profile, size_t num_threads, pl_tile_sums *sums);
void pl_tile_sums_free(pl_tile_sums *sums);

/* Adds the bytes of the variables of a category to by_tile[num_tiles]. O(categories * tiles). */
void pl_tile_sums_add_category(const popliner_profile *profile, const pl_tile_sums *sums,
                               pl_category category, uint64_t *by_tile);

/* ---- Relations ---- */

/* Checks the relations of programs and compute sets, and with pl_exchange_checks_find those of
 * exchanges. `sums` is NULL if the file has no categories; tallies[] is by popliner_relation.
 * O((programs + exchanges) * tiles + variables of the lists). */
void pl_program_checks_find(pl_reading *reading, const pl_tile_sums *sums, pl_tally *tallies);

/* State for checking the lists of compute sets and exchanges, which must name only data that is
 * live when the program runs. */
typedef struct pl_list_checks {
    const popliner_profile *profile;
    bool *is_never_named; /* by category */
    uint32_t *step;       /* by list: the first step of a program that has it, or PL_NONE */
    uint32_t *seen;       /* by class: the last list that it was checked for, plus 1 */
    size_t every;         /* of long lists only every n-th variable is checked */
} pl_list_checks;

/* Checks a list, and adds the sizes of its variables to by_tile[num_tiles] unless NULL. O(its
 * variables). */
void pl_list_check(const pl_list_checks *checks, uint32_t list, pl_tally *tally, uint64_t *by_tile);

/* Checks the code of exchanges and what they send. Parses the text of regions for a sample of the
 * exchanges, spread over the file, that takes negligible time: all of a small file. */
void pl_exchange_checks_find(pl_reading *reading, const pl_list_checks *lists,
                             const pl_tile_sums *sums, pl_tally *tallies);

#endif
