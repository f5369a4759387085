/* Writes the lowered variables, and the memory of tiles.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/growth.h"
#include "mkprofile/profile.h"

#include <stdio.h>
#include <stdlib.h>

/* Real files count so many bytes more in non_interleaved_including_gaps. */
enum { GAP_AT_THE_END = 8 };

/* The bytes of an origin in a liveness class; the origins of what the compiler made are the
 * categories, behind all others. */
typedef struct origin_bytes {
    size_t origin;
    size_t class_id;
    size_t variable;
} origin_bytes;

static void suffix_of(const mk_variable *variable, size_t tile, char *text, size_t size) {
    switch (variable->suffix) {
    case MK_SUFFIX_NONE:
        text[0] = '\0';
        break;
    case MK_SUFFIX_TILE:
        snprintf(text, size, "%zu", tile);
        break;
    case MK_SUFFIX_NUMBER:
        snprintf(text, size, "0_%zu", variable->suffix_number);
        break;
    case MK_SUFFIX_TILE_NUMBER:
        snprintf(text, size, "%zu_%zu", tile, variable->suffix_number);
        break;
    case MK_SUFFIX_MESSAGE:
        snprintf(text, size, "%zu-%zu-0", variable->suffix_number, tile);
        break;
    }
}

/* The places, among the variables of the tile, of those that it may not share an element with. */
static void write_apart(mk_profile *profile, mk_rows *rows, size_t variable) {
    const mk_placement *placement = &profile->layout.placement;
    for (size_t i = placement->first_apart[variable]; i < placement->first_apart[variable + 1];
         i++) {
        size_t place = placement->place[placement->apart[i]];
        if (place != MK_NONE)
            pl_varint_write(&profile->blob, place);
    }
    if (profile->blob.size > 0)
        mk_rows_blob(rows, &profile->blob);
    else
        mk_rows_null(rows);
}

static void write_variable(mk_profile *profile, mk_rows *rows, size_t tile, size_t place) {
    const mk_network_plan *plan = profile->plan;
    const mk_lowered *lowered = &profile->layout.placement.lowered[place];
    const mk_variable *variable = mk_variable_at(plan, lowered->variable);
    uint64_t id = profile->first_var_id[tile] + place;
    char suffix[64];
    suffix_of(variable, tile, suffix, sizeof suffix);
    mk_rows_integer(rows, id);
    mk_rows_integer(rows, tile);
    mk_rows_integer(rows, variable->name);
    if (variable->prefix != MK_NONE)
        mk_rows_integer(rows, variable->prefix);
    else
        mk_rows_null(rows);
    mk_rows_text(rows, suffix);
    mk_rows_integer(rows, lowered->size_bytes);
    mk_rows_integer(rows, variable->alignment);
    mk_rows_integer(rows, lowered->offset);
    mk_rows_integer(rows, variable->category);
    mk_rows_integer(rows, variable->class_id);
    write_apart(profile, rows, lowered->variable);
    mk_rows_null(rows);
    if (variable->unlowered != MK_NONE)
        mk_rows_integer(rows, variable->unlowered);
    else
        mk_rows_null(rows);
    mk_rows_integer(rows, variable->bitset);
    mk_rows_next(rows);
}

static void write_memory(mk_profile *profile, mk_rows *rows, size_t tile) {
    const mk_tile_memory *memory = &profile->layout.memory;
    uint64_t end = profile->layout.placement.end;
    mk_rows_integer(rows, tile);
    mk_rows_integer(rows, 0); /* nothing lies in interleaved memory */
    mk_rows_integer(rows, 0);
    mk_rows_integer(rows, memory->total_bytes);
    mk_rows_integer(rows, end + GAP_AT_THE_END);
    mk_rows_integer(rows, 0); /* nor behind the end of memory */
    mk_rows_integer(rows, 0);
    mk_rows_integer(rows, memory->total_bytes);
    mk_rows_integer(rows, end);
    mk_rows_integer(rows, memory->always_live_bytes);
    mk_rows_integer(rows, memory->not_always_live_peak_bytes);
    mk_rows_next(rows);
}

static void write_allocation_order(mk_profile *profile, mk_rows *rows, size_t tile) {
    const mk_layout *layout = &profile->layout;
    mk_rows_integer(rows, tile);
    for (size_t i = 0; i < layout->placement.num_allocated; i++)
        pl_varint_write(&profile->blob,
                        profile->first_var_id[tile] + layout->placement.allocated[i]);
    mk_rows_blob(rows, &profile->blob);
    mk_rows_next(rows);
}

static void write_categories(mk_profile *profile, const uint64_t *overlapped,
                             const uint64_t *non_overlapped, const uint64_t *nothing) {
    size_t tiles = (size_t)profile->plan->options.num_tiles;
    mk_rows rows = mk_rows_begin(&profile->database, "memory_by_category", 7);
    for (size_t category = 0; category < MK_CATEGORY_COUNT; category++) {
        const uint64_t *const columns[] = {
            nothing, nothing, non_overlapped + category * tiles, overlapped + category * tiles,
            nothing, nothing};
        mk_rows_text(&rows, mk_category_name(category));
        for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
            pl_varint_list_write(&profile->blob, columns[i], tiles);
            mk_rows_blob(&rows, &profile->blob);
        }
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
}

/* The changes per step, for each IPU and for all of them. */
static void write_step_changes(mk_profile *profile) {
    mk_rows rows = mk_rows_begin(&profile->database, "memory_not_always_live_by_step_and_ipu", 3);
    size_t num_ipus = (size_t)profile->plan->options.num_ipus;
    size_t num_steps = profile->plan->steps.count;
    for (size_t ipu = 0; ipu <= num_ipus; ipu++) {
        for (size_t step = 0; step < num_steps; step++) {
            int64_t change = 0;
            for (size_t i = 0; i < num_ipus; i++) {
                if (i == ipu || ipu == num_ipus)
                    change += profile->layout.step_bytes[i * (num_steps + 1) + step];
            }
            if (change == 0)
                continue;
            if (ipu < num_ipus)
                mk_rows_integer(&rows, ipu);
            else
                mk_rows_null(&rows);
            mk_rows_integer(&rows, step);
            mk_rows_signed(&rows, change);
            mk_rows_next(&rows);
        }
    }
    mk_rows_end(&rows);
}

static int by_origin(const void *left, const void *right) {
    const origin_bytes *a = left;
    const origin_bytes *b = right;
    if (a->origin != b->origin)
        return a->origin < b->origin ? -1 : 1;
    if (a->class_id != b->class_id)
        return a->class_id < b->class_id ? -1 : 1;
    return (a->variable > b->variable) - (a->variable < b->variable);
}

static uint64_t bytes_on(const mk_profile *profile, const origin_bytes *entry, uint64_t tile) {
    return mk_is_held(&profile->sizes, entry->variable, tile)
               ? mk_size_on_tile(&profile->sizes, entry->variable, tile)
               : 0;
}

static void write_origin_row(mk_rows *rows, const origin_bytes *entry, uint64_t bytes,
                             const size_t *tile) {
    if (bytes == 0)
        return;
    mk_rows_integer(rows, entry->origin);
    mk_rows_integer(rows, entry->class_id);
    mk_rows_integer(rows, bytes);
    if (tile != NULL)
        mk_rows_integer(rows, *tile);
    else
        mk_rows_null(rows);
    mk_rows_next(rows);
}

static void write_origins(mk_profile *profile, const uint64_t *bytes_by_variable,
                          const size_t watched[2], size_t num_watched) {
    const mk_network_plan *plan = profile->plan;
    size_t count = plan->variables.count;
    origin_bytes *entries = pl_new_array(count, sizeof *entries);
    if (entries == NULL) {
        profile->blob.failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const mk_variable *variable = mk_variable_at(plan, i);
        entries[i] = (origin_bytes){.origin = variable->unlowered != MK_NONE
                                                  ? variable->unlowered
                                                  : plan->unlowered.count + variable->category,
                                    .class_id = variable->class_id,
                                    .variable = i};
    }
    qsort(entries, count, sizeof *entries, by_origin);
    mk_rows rows = mk_rows_begin(&profile->database, "var_bytes_by_eq_class", 4);
    for (size_t first = 0; first < count;) {
        uint64_t total = 0;
        uint64_t here[2] = {0, 0};
        size_t end = first;
        for (; end < count && entries[end].origin == entries[first].origin &&
               entries[end].class_id == entries[first].class_id;
             end++) {
            total += bytes_by_variable[entries[end].variable];
            for (size_t k = 0; k < num_watched; k++)
                here[k] += bytes_on(profile, &entries[end], watched[k]);
        }
        write_origin_row(&rows, &entries[first], total, NULL);
        for (size_t k = 0; k < num_watched; k++)
            write_origin_row(&rows, &entries[first], here[k], &watched[k]);
        first = end;
    }
    mk_rows_end(&rows);
    free(entries);
}

/* What is gathered while the tiles are written. */
typedef struct tile_sums {
    uint64_t *overlapped;     /* by category, then tile */
    uint64_t *non_overlapped; /* likewise */
    uint64_t *by_variable;    /* bytes on all tiles, by logical variable */
    uint64_t *nothing;        /* zero, by tile */
    uint64_t max_total_bytes;
    uint64_t max_peak_bytes;
    size_t watched[2]; /* the tiles with the largest total and the largest peak */
} tile_sums;

static void write_tile_rows(mk_profile *profile, tile_sums *sums) {
    const mk_network_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.num_tiles;
    mk_layout *layout = &profile->layout;
    mk_rows variables = mk_rows_begin(&profile->database, "vars_info", 14);
    mk_rows memory = mk_rows_begin(&profile->database, "memory_by_tile", 11);
    mk_rows orders = mk_rows_begin(&profile->database, "allocation_order_by_tile", 2);
    for (size_t tile = 0; tile < tiles && !profile->database.failed; tile++) {
        mk_layout_tile(layout, tile);
        for (size_t place = 0; place < layout->placement.num_lowered; place++) {
            write_variable(profile, &variables, tile, place);
            sums->by_variable[layout->placement.lowered[place].variable] +=
                layout->placement.lowered[place].size_bytes;
        }
        write_memory(profile, &memory, tile);
        write_allocation_order(profile, &orders, tile);
        for (size_t category = 0; category < MK_CATEGORY_COUNT; category++) {
            sums->overlapped[category * tiles + tile] = layout->memory.overlapped_bytes[category];
            sums->non_overlapped[category * tiles + tile] =
                layout->memory.non_overlapped_bytes[category];
        }
        if (layout->memory.total_bytes > sums->max_total_bytes) {
            sums->max_total_bytes = layout->memory.total_bytes;
            sums->watched[0] = tile;
        }
        if (layout->memory.not_always_live_peak_bytes > sums->max_peak_bytes) {
            sums->max_peak_bytes = layout->memory.not_always_live_peak_bytes;
            sums->watched[1] = tile;
        }
        if (layout->placement.end > MK_BYTES_PER_TILE)
            profile->figures.overfull_tiles++;
    }
    mk_rows_end(&variables);
    mk_rows_end(&memory);
    mk_rows_end(&orders);
}

static void write_liveness_tiles(mk_profile *profile, const size_t watched[2], size_t num_watched) {
    mk_rows rows = mk_rows_begin(&profile->database, "memory_liveness_tiles", 2);
    for (size_t i = 0; i < num_watched; i++) {
        mk_rows_integer(&rows, i);
        mk_rows_integer(&rows, watched[i]);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
}

void mk_write_tiles(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    size_t tiles = (size_t)plan->options.num_tiles;
    tile_sums sums = {
        .overlapped = pl_new_array(MK_CATEGORY_COUNT * tiles, sizeof(uint64_t)),
        .non_overlapped = pl_new_array(MK_CATEGORY_COUNT * tiles, sizeof(uint64_t)),
        .by_variable = pl_new_array(plan->variables.count, sizeof(uint64_t)),
        .nothing = pl_new_array(tiles, sizeof(uint64_t)),
    };
    if (sums.overlapped == NULL || sums.non_overlapped == NULL || sums.by_variable == NULL ||
        sums.nothing == NULL) {
        profile->blob.failed = true;
    } else {
        write_tile_rows(profile, &sums);
        write_categories(profile, sums.overlapped, sums.non_overlapped, sums.nothing);
        write_step_changes(profile);
        size_t num_watched = sums.watched[0] == sums.watched[1] ? 1 : 2;
        write_liveness_tiles(profile, sums.watched, num_watched);
        write_origins(profile, sums.by_variable, sums.watched, num_watched);
        profile->figures.lowered_variables = profile->first_var_id[tiles];
        profile->figures.max_tile_bytes = sums.max_total_bytes;
    }
    free(sums.overlapped);
    free(sums.non_overlapped);
    free(sums.by_variable);
    free(sums.nothing);
}
