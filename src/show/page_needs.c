/* What every stage needs on every tile, in few bytes: a stage mostly needs what the two stages that
 * are one unit shorter need together, less what both have, and the difference to that is mostly the
 * same from tile to tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/triangle.h"
#include "profile/profile_data.h"
#include "show/packed.h"
#include "show/page_data.h"

enum { CODE_COLUMN = 3, NUM_COLUMNS };

static uint64_t column_of(const pl_tile_need *need, int column) {
    return column == 0   ? need->bytes
           : column == 1 ? need->freed_bytes
           : column == 2 ? need->copy_bytes
                         : need->code_bytes;
}

/* By how much the needs of a tile are above what those of shorter stages let expect. */
static void find_surplus(const pl_tile_need *needs, int column, size_t num_units,
                         int64_t *surplus) {
    for (size_t first = 0; first < num_units; first++)
        for (size_t last = first; last < num_units; last++) {
            size_t place = pl_triangle_place(num_units, first, last);
            int64_t expected = 0;
            if (last > first)
                expected = (int64_t)column_of(&needs[place - 1], column) +
                           (int64_t)column_of(&needs[pl_triangle_place(num_units, first + 1, last)],
                                              column);
            if (last > first + 1)
                expected -= (int64_t)column_of(
                    &needs[pl_triangle_place(num_units, first + 1, last - 1)], column);
            surplus[place] = (int64_t)column_of(&needs[place], column) - expected;
        }
}

/* Code mostly is 0 here, so that runs of it are counted. */
static void add_difference(pl_packed *packed, int column, int64_t difference, size_t *num_zeros) {
    if (column != CODE_COLUMN) {
        pl_packed_difference(packed, difference);
    } else if (difference == 0) {
        ++*num_zeros;
    } else {
        pl_packed_difference(packed, (int64_t)*num_zeros);
        pl_packed_difference(packed, difference);
        *num_zeros = 0;
    }
}

static bool is_all_zero(const pl_tile_need *needs, size_t count, int column) {
    for (size_t i = 0; i < count; i++)
        if (column_of(&needs[i], column) != 0)
            return false;
    return true;
}

popliner_status pl_page_add_tile_needs(pl_text *text, const pl_stage_details *details,
                                       size_t num_tiles, size_t max_chars, popliner_error *error) {
    static const char *const names[NUM_COLUMNS] = {"bytes", "freed_bytes", "copy_bytes",
                                                   "code_bytes"};
    const size_t num_intervals = pl_triangle_size(details->num_units);
    const pl_tile_need *needs = details->tile_needs;
    if (needs == NULL) {
        pl_text_add(text, "null");
        return POPLINER_OK;
    }
    pl_text told = {0};
    int64_t *surplus = pl_new_array(2 * num_intervals, sizeof *surplus);
    for (int column = 0; surplus != NULL && column < NUM_COLUMNS && told.length <= max_chars;
         column++) {
        pl_packed packed = {0};
        pl_text_format(&told, "%s\"%s\":", column == 0 ? "{" : ",", names[column]);
        if (is_all_zero(needs, num_tiles * num_intervals, column)) {
            pl_text_add(&told, "null");
            continue;
        }
        size_t num_zeros = 0;
        for (size_t i = 0; i < 2 * num_intervals; i++)
            surplus[i] = 0;
        for (size_t tile = 0; tile < num_tiles; tile++) {
            int64_t *own = surplus + tile % 2 * num_intervals;
            const int64_t *before = surplus + (1 - tile % 2) * num_intervals;
            find_surplus(needs + tile * num_intervals, column, details->num_units, own);
            for (size_t i = 0; i < num_intervals; i++)
                add_difference(&packed, column, own[i] - before[i], &num_zeros);
        }
        pl_packed_end(&packed, &told);
    }
    pl_text_add(&told, "}");
    if (told.length > max_chars)
        pl_text_add(text, "null");
    else if (told.data != NULL)
        pl_text_append(text, told.data, told.length);
    text->failed = text->failed || told.failed;
    free(told.data);
    bool memory = surplus != NULL;
    free(surplus);
    return memory ? POPLINER_OK : pl_fail_memory(error, "the needs of the tiles");
}
