/* Determines the part of the file that is analysed: the IPUs of its first replica, or one of them;
 * and reads the compiler's own account of memory: by tile, and by category and tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "profile/profile_readers.h"

/* ---- The compiler's account ---- */

static void read_tiles(pl_reading *r) {
    pl_table_rows t = pl_table_open(r, PL_TABLE_TILES);
    while (pl_table_next(&t))
        for (size_t i = 0; i < t.num_columns; i++)
            r->tile_is_recorded[i] = r->tile_is_recorded[i] || !pl_rows_is_null(&t.rows, (int)i);
}

/* Returns the category of this name, which the account uses as its id; SIZE_MAX if there is
 * none. */
static size_t find_category(const popliner_profile *p, const char *name) {
    for (size_t i = 0; i < p->num_categories; i++) {
        if (strcmp(pl_profile_string(p, p->category_name[i]), name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static void read_categories(pl_reading *r) {
    popliner_profile *p = r->profile;
    size_t num_unknown = 0;
    p->category_memory = pl_arrays_new(&p->arrays, p->num_categories * PL_NUM_CATEGORY_PARTS,
                                       sizeof *p->category_memory);
    pl_table_rows t = pl_table_open(r, PL_TABLE_CATEGORY_MEMORY);
    while (pl_table_next(&t)) {
        size_t category =
            pl_rows_is_null(&t.rows, 0) ? SIZE_MAX : find_category(p, pl_rows_text(&t.rows, 0));
        if (category == SIZE_MAX) {
            num_unknown++;
            continue;
        }
        p->num_category_parts = p->num_categories * PL_NUM_CATEGORY_PARTS;
        pl_series *parts = p->category_memory + category * PL_NUM_CATEGORY_PARTS;
        for (int i = 0; i < PL_NUM_CATEGORY_PARTS; i++)
            parts[i] = pl_read_list(p, &t.rows, i + 1);
    }
    if (num_unknown > 0)
        pl_tell(r->options->listener, POPLINER_LEVEL_WARNING,
                "Ignored the memory of %zu categories that the profile does not describe.",
                num_unknown);
}

void pl_profile_read_tiles(pl_reading *r) {
    read_tiles(r);
    read_categories(r);
}

/* ---- The part ---- */

/* True if the target's numbers are consistent, so that they determine the tiles of an IPU. */
static bool target_fits(const pl_target *t) {
    return t->tiles_per_ipu > 0 && t->ipus_per_replica > 0 && t->num_ipus > 0 &&
           t->num_tiles % t->tiles_per_ipu == 0 && t->num_tiles / t->tiles_per_ipu == t->num_ipus &&
           t->num_ipus % t->ipus_per_replica == 0 &&
           t->num_ipus / t->ipus_per_replica == t->num_replicas;
}

/* A program is compiled for one replica, and it is unknown whether a profile then has the tiles of
 * one replica or of all. If the account by tile has those of one, there are no others. */
static void find_held_tiles(pl_database *database, pl_target *target) {
    uint64_t end_tile = 0;
    pl_rows rows = pl_rows_open(database, &pl_tables[PL_TABLE_TILES]);
    while (pl_rows_next(&rows)) {
        uint64_t tile = pl_rows_number(&rows, 0, INT64_MAX - 1);
        end_tile = tile >= end_tile ? tile + 1 : end_tile;
    }
    if (end_tile == target->num_tiles / target->num_replicas)
        target->num_tiles = (size_t)end_tile;
}

static void warn(const pl_part *part, const pl_target *target, const popliner_listener *listener) {
    if (target->num_replicas > 1 && !part->is_of_replica)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The profile has %zu replicas, whose memory is counted as one model's; profile a "
                "single replica.",
                target->num_replicas);
    size_t num_ipus = part->end_ipu - part->first_ipu;
    if (num_ipus > 1)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The profile has %zu IPUs, so the model is already split; compile the whole model "
                "for one IPU.",
                num_ipus);
}

void pl_part_find(pl_reading *r) {
    pl_outcome *outcome = &r->database.outcome;
    const pl_read_options *options = r->options;
    pl_part *part = &r->part;
    pl_target *t = &r->profile->target;
    const char *name = options->ipu_name == NULL ? "ipu" : options->ipu_name;
    bool fits = target_fits(t);
    *part = (pl_part){
        .is_one_ipu = options->is_one_ipu,
        .is_of_replica = fits && t->num_replicas > 1,
        .num_ipus = t->num_ipus,
        .replica_ipus = fits ? t->ipus_per_replica : t->num_ipus,
        .replica_tiles = fits ? t->ipus_per_replica * t->tiles_per_ipu : t->num_tiles,
    };
    part->end_ipu = part->replica_ipus;
    part->end_tile = part->replica_tiles;
    if (part->is_one_ipu && !fits)
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT,
                        "%s: table target_info has %zu tiles, but %zu IPUs of %zu tiles and %zu "
                        "replicas of %zu IPUs; leave out %s",
                        r->path, t->num_tiles, t->num_ipus, t->tiles_per_ipu, t->num_replicas,
                        t->ipus_per_replica, name);
    if (part->is_one_ipu && options->ipu >= part->replica_ipus && part->replica_ipus == 1)
        pl_outcome_fail(outcome, POPLINER_ERROR_USAGE, "%s %zu: the profile has one IPU; use 0",
                        name, options->ipu);
    if (part->is_one_ipu && options->ipu >= part->replica_ipus)
        pl_outcome_fail(outcome, POPLINER_ERROR_USAGE,
                        "%s %zu: the profile has %zu IPUs; use 0 to %zu", name, options->ipu,
                        part->replica_ipus, part->replica_ipus - 1);
    if (outcome->status != POPLINER_OK)
        return;
    if (part->is_one_ipu) {
        part->first_ipu = options->ipu;
        part->end_ipu = options->ipu + 1;
        part->first_tile = part->first_ipu * t->tiles_per_ipu;
        part->end_tile = part->end_ipu * t->tiles_per_ipu;
    }
    part->is_all = part->end_ipu - part->first_ipu == part->num_ipus;
    warn(part, t, options->listener);
    if (part->is_of_replica)
        find_held_tiles(&r->database, t);
}

/* ---- Comparing replicas ---- */

/* Counts the tiles of other replicas whose account differs from that of the first one. */
static void compare_replicas(popliner_profile *p, const pl_part *part) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_fields(p, PL_FIELDS_BY_COUNT, &p->target.num_tiles, fields);
    uint64_t num_tiles = 0;
    uint64_t largest = 0;
    for (size_t tile = part->replica_tiles; tile < p->target.num_tiles; tile++) {
        bool is_alike = true;
        for (size_t i = 0; i < num_fields; i++) {
            const uint64_t *by_tile = pl_field_items(&fields[i]);
            uint64_t own = by_tile[tile];
            uint64_t of_first = by_tile[tile % part->replica_tiles];
            uint64_t difference = own > of_first ? own - of_first : of_first - own;
            is_alike = is_alike && difference == 0;
            largest = difference > largest ? difference : largest;
        }
        num_tiles += !is_alike;
    }
    p->target.replica_tiles_off = num_tiles;
    p->target.replica_bytes_off = largest;
}

/* ---- Restricting a profile to the part ---- */

static void keep_items(void *items, size_t first, size_t end, size_t item_size) {
    assert(first <= end);
    memmove(items, (char *)items + first * item_size, (end - first) * item_size);
}

/* Restricts the arrays with *count items. */
static void keep_fields(popliner_profile *p, const size_t *count, size_t first, size_t end) {
    pl_field fields[PL_MAX_FIELDS];
    size_t num_fields = pl_profile_fields(p, PL_FIELDS_BY_COUNT, count, fields);
    for (size_t i = 0; i < num_fields; i++)
        keep_items(pl_field_items(&fields[i]), first, end, fields[i].item_size);
}

/* Keeps those of some variables that are within first ... end - 1, from items[kept] on; returns how
 * many are kept then. */
static uint64_t keep_between(uint32_t *items, uint64_t begin_place, uint64_t end_place,
                             uint64_t kept, size_t first, size_t end) {
    for (uint64_t place = begin_place; place < end_place; place++)
        if (items[place] >= first && items[place] < end)
            items[kept++] = items[place] - (uint32_t)first;
    return kept;
}

static void keep_variables(popliner_profile *p, const pl_part *part) {
    size_t first = (size_t)p->tile_variables_start[part->first_tile];
    size_t end = (size_t)p->tile_variables_start[part->end_tile];
    keep_fields(p, &p->num_variables, first, end);
    keep_items(p->tile_variables_start, part->first_tile, part->end_tile + 1,
               sizeof *p->tile_variables_start);
    for (size_t tile = 0; tile <= part->end_tile - part->first_tile; tile++)
        p->tile_variables_start[tile] -= first;
    p->num_variables = end - first;
    pl_profile_sum_up_pieces(p);
    p->num_apart = (size_t)keep_between(p->apart_variable, 0, p->num_apart, 0, first, end);
    uint64_t place = 0;
    for (size_t list = 0; list < p->num_lists; list++) {
        const uint64_t end_place = p->list_start[list + 1];
        p->list_start[list + 1] =
            keep_between(p->list_variable, place, end_place, p->list_start[list], first, end);
        place = end_place;
    }
    p->num_list_variables = (size_t)p->list_start[p->num_lists];
}

/* Replaces each series by that of the tiles of the part: adds all of these after the old ones, and
 * moves them to the front at the end. */
static void keep_series(popliner_profile *p, const pl_part *part) {
    pl_field fields[PL_MAX_FIELDS];
    const size_t num_fields = pl_profile_fields(p, PL_FIELDS_OF_SERIES, NULL, fields);
    const size_t old_length = p->series_length;
    uint64_t *by_tile = pl_arrays_new(&p->arrays, p->target.num_tiles, sizeof *by_tile);
    for (size_t i = 0; i < num_fields; i++)
        for (size_t k = 0; !p->arrays.failed && k < *fields[i].count; k++) {
            pl_series *series = (pl_series *)pl_field_items(&fields[i]) + k;
            memset(by_tile, 0, p->target.num_tiles * sizeof *by_tile);
            pl_series_add(p, *series, 1, by_tile);
            *series = pl_profile_add_numbers(p, by_tile + part->first_tile,
                                             part->end_tile - part->first_tile);
            series->offset -= series->size_bytes > 0 ? old_length : 0;
        }
    if (!p->arrays.failed)
        keep_items(p->series_bytes, old_length, p->series_length, 1);
    p->series_length -= old_length;
}

void pl_part_keep(popliner_profile *p, const pl_part *part) {
    if (p->arrays.failed)
        return;
    if (part->is_one_ipu)
        p->target.ipu = part->first_ipu + 1;
    if (part->is_of_replica)
        compare_replicas(p, part);
    if (part->is_all)
        return;
    keep_fields(p, &p->target.num_tiles, part->first_tile, part->end_tile);
    keep_variables(p, part);
    keep_series(p, part);
    p->target.num_tiles = part->end_tile - part->first_tile;
    p->target.num_ipus = part->end_ipu - part->first_ipu;
}

/* ---- Messages ---- */

void pl_part_tell(const popliner_profile *p, const popliner_listener *listener) {
    const pl_target *target = &p->target;
    const uint64_t ipu = target->ipu;
    const uint64_t tiles = target->num_tiles;
    if (ipu > 0)
        pl_tell(listener, POPLINER_LEVEL_INFO,
                "IPU %" PRIu64 " alone: the tiles %" PRIu64 " to %" PRIu64
                " of the profile, numbered from 0",
                ipu - 1, (ipu - 1) * tiles, ipu * tiles - 1);
    if (target->replica_tiles_off > 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The %zu replicas differ on %" PRIu64 " of %zu tiles, by up to %" PRIu64
                " bytes; only the first is analysed.",
                target->num_replicas, target->replica_tiles_off,
                (target->num_replicas - 1) * target->ipus_per_replica * target->tiles_per_ipu,
                target->replica_bytes_off);
}
