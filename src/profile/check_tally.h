/* What comes of a relation while it is checked, place by place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_CHECK_TALLY_H
#define PL_PROFILE_CHECK_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/database.h"

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

/* Adds the runs of a blob, one number per tile, to by_tile[num_tiles]; false, with an unknown part
 * of them added, if the blob holds something else. */
bool pl_tally_add_runs(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile);

#endif
