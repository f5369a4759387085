/* Whether a profile agrees with itself: the relations of docs/profile-format.md, section 15, that
 * tie what the compiler counted to the variables, vertices and programs that it lists.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CHECKS_H
#define PL_PROFILE_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/profile_readers.h"

/* ---- what comes of a relation while it is checked, place by place ---- */

/* Zero-initialise. */
typedef struct pl_tally {
    uint64_t checked;
    uint64_t breached;
    uint64_t largest;
    char where[160];
    const char *kind; /* the place that is looked at: "tile" */
    uint64_t number;
    bool is_off; /* this place */
} pl_tally;

/* Goes on to a place, such as ("tile", 5); `kind` lives as long as the tally, or is NULL for a
 * place that has no number. */
void pl_tally_begin(pl_tally *t, const char *kind, uint64_t number);

/* Notes that the relation does not hold at this place, by `difference`. `what` and `part` say what
 * of the place; both may be "". */
void pl_tally_note(pl_tally *t, uint64_t difference, const char *what, const char *part);

/* The same for one tile of this place. */
void pl_tally_note_tile(pl_tally *t, uint64_t difference, const char *what, size_t tile);

/* Notes the difference between what is told and what is found, if there is one. */
void pl_tally_compare(pl_tally *t, uint64_t told, uint64_t found, const char *what,
                      const char *part);

/* Notes that a column of the current row cannot be read: for one that only checks need. */
void pl_tally_note_damage(pl_tally *t, const pl_rows *rows, int column);

/* Moves what has come of a relation into the profile. Errors: MEMORY. */
popliner_status pl_tally_keep(const pl_tally *t, popliner_profile *profile,
                              popliner_relation relation, popliner_error *error);

/* The number that occurs most often, of several the smallest; 0 of none. Sorts them. */
int64_t pl_most_frequent(int64_t *numbers, size_t count);

/* Adds the runs of a blob, one number per tile, to by_tile[num_tiles]; false, with an unknown part
 * of them added, if the blob holds something else. */
bool pl_tally_add_runs(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile);

/* ---- what the lowered variables come to, tile by tile ---- */

/* Zero-initialise; free with pl_tile_sums_free. */
typedef struct pl_tile_sums {
    uint64_t *always_live_bytes;     /* [num_tiles] */
    uint64_t *not_always_live_bytes; /* [num_tiles]: most at one step */
    uint32_t *peak_step;             /* [num_tiles]: the first where it is so much */
    uint64_t *covered_bytes;         /* [num_tiles]: at addresses that some variable has */
    uint64_t *end;                   /* [num_tiles]: behind the last of these addresses */
    /* item category * num_tiles + tile: bytes at addresses that no other variable of the tile has,
     * and at those that another has, too */
    uint64_t *alone_bytes;
    uint64_t *shared_bytes;
    uint64_t *class_bytes; /* [num_classes]: over all tiles */
} pl_tile_sums;

/* Adds up the variables of a profile whose ranges are read, tiles beside each other on as many
 * threads. The sums do not depend on how many. Errors: MEMORY. O(variables + tiles * steps). */
popliner_status pl_tile_sums_find(const popliner_profile *profile, size_t num_threads,
                                  pl_tile_sums *sums, popliner_error *error);
void pl_tile_sums_free(pl_tile_sums *sums);

/* Bytes of the variables of a category on a tile. O(categories). */
uint64_t pl_tile_sums_of_category(const popliner_profile *profile, const pl_tile_sums *sums,
                                  pl_category category, size_t tile);

/* ---- the relations ---- */

/* Checks the relations of programs and compute sets, and with pl_exchange_checks_find those of
 * exchanges. `sums` is NULL where the file does not tell categories; tallies[] is by
 * popliner_relation. Errors: INPUT, MEMORY; a breach is none.
 * O((programs + exchanges) * tiles + variables of the lists). */
popliner_status pl_program_checks_find(const pl_database *database, const popliner_profile *profile,
                                       const pl_profile_ids *ids, const pl_tile_sums *sums,
                                       pl_tally *tallies, popliner_error *error);

/* What the lists of compute sets and exchanges are checked with: they name data alone, which lives
 * when the program runs. */
typedef struct pl_list_checks {
    const popliner_profile *profile;
    bool *is_never_named; /* by category */
    uint32_t *step;       /* by list: the first of a program that has it, or PL_NONE */
    uint32_t *seen;       /* by class: the list that it was looked at for, plus 1 */
    size_t every;         /* of long lists only every so-many-th variable is looked at */
} pl_list_checks;

/* Checks a list, and adds the sizes of its variables to by_tile[num_tiles] unless that is NULL.
 * O(its variables). */
void pl_list_check(const pl_list_checks *checks, uint32_t list, pl_tally *tally, uint64_t *by_tile);

/* Likewise for the code of exchanges and what they send. The text of regions is read for so many of
 * the exchanges, spread over the file, as take no time to speak of: for all of a small file. */
popliner_status pl_exchange_checks_find(const pl_database *database, const pl_list_checks *lists,
                                        const pl_profile_ids *ids, const pl_tile_sums *sums,
                                        pl_tally *tallies, popliner_error *error);

#endif
