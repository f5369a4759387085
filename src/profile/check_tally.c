/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/check_tally.h"

#include <inttypes.h>
#include <stdio.h>

#include "profile/blob_codec.h"

void pl_tally_begin(pl_tally *t, const char *kind, uint64_t number) {
    t->checked++;
    t->kind = kind;
    t->number = number;
    t->is_off = false;
}

void pl_tally_note(pl_tally *t, uint64_t difference, const char *what, const char *part) {
    if (!t->is_off)
        t->breached++;
    t->is_off = true;
    if (difference <= t->largest && t->where[0] != '\0')
        return;
    t->largest = difference;
    if (t->kind == NULL)
        snprintf(t->where, sizeof t->where, "%s", what);
    else
        snprintf(t->where, sizeof t->where, "%s %" PRIu64 "%s%s%s%s", t->kind, t->number,
                 *what == '\0' ? "" : ", ", what, *part == '\0' ? "" : " ", part);
}

void pl_tally_note_tile(pl_tally *t, uint64_t difference, const char *what, size_t tile) {
    char part[40];
    snprintf(part, sizeof part, "tile %zu", tile);
    pl_tally_note(t, difference, what, part);
}

void pl_tally_compare(pl_tally *t, uint64_t told, uint64_t found, const char *what,
                      const char *part) {
    if (told != found)
        pl_tally_note(t, told > found ? told - found : found - told, what, part);
}

void pl_tally_note_damage(pl_tally *t, const pl_rows *rows, int column) {
    char what[80];
    snprintf(what, sizeof what, "%s.%s", rows->table, rows->columns[column].name);
    pl_tally_begin(t, "row", rows->row);
    pl_tally_note(t, 0, what, "is damaged");
}

bool pl_tally_add_runs(const uint8_t *blob, size_t size, size_t num_tiles, uint64_t *by_tile) {
    pl_runs runs = pl_runs_begin(blob, size);
    uint64_t value;
    uint64_t length;
    size_t tile = 0;
    int more;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0) {
        if (length > num_tiles - tile)
            return false;
        for (size_t end = tile + (size_t)length; value > 0 && tile < end; tile++)
            by_tile[tile] += value;
        tile += value > 0 ? 0 : (size_t)length;
    }
    return more == 0 && tile == num_tiles;
}
