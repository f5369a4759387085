/* The compiler's own account of memory: by tile, and by category and tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/profile_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

static const pl_column tile_columns[] = {{"tile", true},
                                         {"total", true},
                                         {"total_including_gaps", true},
                                         {"always_live_bytes", true},
                                         {"not_always_live_max_bytes", true},
                                         {"interleaved", false},
                                         {"non_interleaved", false},
                                         {"overflowed", false}};

enum { NUM_TILE_COLUMNS = sizeof tile_columns / sizeof *tile_columns };

/* While the account by tile is read: where its columns go, but that of the tile itself. */
typedef struct tile_arrays {
    size_t num_tiles;
    uint64_t *by_tile[NUM_TILE_COLUMNS - 1];
} tile_arrays;

static popliner_status take_tile(void *user, pl_rows *rows, popliner_error *error) {
    const tile_arrays *arrays = user;
    int64_t values[NUM_TILE_COLUMNS];
    uint64_t tile = 0;
    popliner_status status = POPLINER_OK;
    bool is_plain = pl_rows_plain_numbers(rows, NUM_TILE_COLUMNS, values) && values[0] >= 0 &&
                    (uint64_t)values[0] < arrays->num_tiles;
    for (int i = 1; is_plain && i < NUM_TILE_COLUMNS; i++)
        is_plain = values[i] <= (int64_t)PL_MAX_TILE_BYTES;
    if (is_plain) {
        for (int i = 1; i < NUM_TILE_COLUMNS; i++) /* NULL reads as -1 */
            arrays->by_tile[i - 1][values[0]] = values[i] < 0 ? 0 : (uint64_t)values[i];
        return POPLINER_OK;
    }
    /* something is wrong: find out what */
    status = pl_rows_number(rows, 0, arrays->num_tiles - 1, &tile, error);
    for (int i = 1; status == POPLINER_OK && i < NUM_TILE_COLUMNS; i++)
        status =
            pl_rows_number_or(rows, i, PL_MAX_TILE_BYTES, 0, &arrays->by_tile[i - 1][tile], error);
    return status;
}

static popliner_status read_tiles(const pl_database *database, popliner_profile *p,
                                  popliner_error *error) {
    uint64_t **const members[] = {&p->tile_total_bytes,       &p->tile_total_including_gaps_bytes,
                                  &p->tile_always_live_bytes, &p->tile_not_always_live_peak_bytes,
                                  &p->tile_interleaved_bytes, &p->tile_non_interleaved_bytes,
                                  &p->tile_overflowed_bytes};
    tile_arrays arrays = {.num_tiles = p->target.num_tiles};
    for (int i = 0; i < NUM_TILE_COLUMNS - 1; i++) {
        arrays.by_tile[i] = *members[i] = pl_new_array(arrays.num_tiles, sizeof **members[i]);
        if (*members[i] == NULL)
            return pl_fail_memory(error, "the tiles");
    }
    static const pl_table table = {"memory_by_tile", PL_TABLE_WHOLE, tile_columns, NUM_TILE_COLUMNS,
                                   ""};
    pl_rows rows = {.database = database, .table = table.name, .columns = tile_columns};
    pl_text names = {0};
    pl_text sql = {0};
    bool found = false;
    popliner_status status = pl_list_columns(database, &table, &found, &names, error);
    if (status == POPLINER_OK && found) {
        pl_text_format(&sql, "SELECT %s FROM \"%s\"", names.data, rows.table);
        status = sql.failed
                     ? pl_fail_memory(error, "a query")
                     : pl_rows_each(&rows, sql.data, NUM_TILE_COLUMNS, take_tile, &arrays, error);
    }
    free(names.data);
    free(sql.data);
    return status;
}

/* The category of this name, which is what the account goes by; SIZE_MAX if there is none. */
static size_t find_category(const popliner_profile *p, const char *name) {
    for (size_t i = 0; i < p->num_categories; i++) {
        if (strcmp(pl_profile_string(p, p->category_name[i]), name) == 0)
            return i;
    }
    return SIZE_MAX;
}

static popliner_status read_categories(const pl_database *database,
                                       const popliner_listener *listener, popliner_profile *p,
                                       popliner_error *error) {
    static const pl_column columns[] = {{"category_id", true},
                                        {"non_interleaved_non_overlapped", true},
                                        {"non_interleaved_overlapped", true},
                                        {"interleaved_non_overlapped", true},
                                        {"interleaved_overlapped", true},
                                        {"overflowed_non_overlapped", true},
                                        {"overflowed_overlapped", true}};
    static const pl_table table = {"memory_by_category", PL_TABLE_WHOLE, columns,
                                   PL_NUM_CATEGORY_PARTS + 1, ""};
    pl_rows rows = {0};
    bool more = false;
    size_t num_unknown = 0;
    p->category_memory =
        pl_new_array(p->num_categories * PL_NUM_CATEGORY_PARTS, sizeof *p->category_memory);
    if (p->category_memory == NULL)
        return pl_fail_memory(error, "the categories of memory");
    popliner_status status = pl_rows_open(&rows, database, &table, error);
    while (status == POPLINER_OK && (status = pl_rows_next(&rows, &more, error)) == POPLINER_OK &&
           more) {
        size_t category =
            pl_rows_is_null(&rows, 0) ? SIZE_MAX : find_category(p, pl_rows_text(&rows, 0));
        if (category == SIZE_MAX) {
            num_unknown++;
            continue;
        }
        p->num_category_parts = p->num_categories * PL_NUM_CATEGORY_PARTS;
        pl_series *parts = p->category_memory + category * PL_NUM_CATEGORY_PARTS;
        for (int i = 0; status == POPLINER_OK && i < PL_NUM_CATEGORY_PARTS; i++)
            status = pl_profile_read_list_series(p, &rows, i + 1, &parts[i], error);
    }
    pl_rows_close(&rows);
    if (num_unknown > 0)
        pl_tell(listener, POPLINER_LEVEL_WARNING,
                "The profile counts memory of %zu categories that it does not describe; they are "
                "left out.",
                num_unknown);
    return status;
}

popliner_status pl_profile_read_tiles(const pl_database *database,
                                      const popliner_listener *listener, popliner_profile *profile,
                                      popliner_error *error) {
    popliner_status status = read_tiles(database, profile, error);
    if (status == POPLINER_OK)
        status = read_categories(database, listener, profile, error);
    return status;
}
