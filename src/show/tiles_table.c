/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/tiles_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "popliner/liveness.h"

static const char *const measures[PL_NUM_TILES_MEASURES] = {
    [PL_TILES_ALWAYS_LIVE] = "Always live",
    [PL_TILES_NOT_ALWAYS_LIVE] = "Not-always live",
    [PL_TILES_LIVE] = "Live",
    [PL_TILES_TOTAL] = "Total",
    [PL_TILES_WITH_GAPS] = "Total including gaps",
    [PL_TILES_OVERHEAD] = "Layout overhead",
};

/* The column of a category, which is added when it is met first. Nearly always the address tells;
 * only a profile with one name for two categories needs the comparison. */
static size_t column_of(pl_tiles_table *table, const char *category) {
    for (size_t i = PL_NUM_TILES_MEASURES; i < table->num_columns; i++) {
        if (table->names[i] == category)
            return i;
    }
    for (size_t i = PL_NUM_TILES_MEASURES; i < table->num_columns; i++) {
        if (strcmp(table->names[i], category) == 0)
            return i;
    }
    table->names[table->num_columns] = category;
    return table->num_columns++;
}

popliner_status pl_tiles_table_fill(pl_tiles_table *table, const popliner_profile *profile,
                                    popliner_error *error) {
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status != POPLINER_OK)
        return status;
    table->num_tiles = profile->target.num_tiles;
    table->num_columns = PL_NUM_TILES_MEASURES;
    memcpy(table->names, measures, sizeof measures);
    size_t column[PL_MAX_CATEGORIES] = {0}; /* by category; 0: of none yet */
    for (size_t i = 0; i < profile->num_variables; i++) {
        uint8_t category = profile->variable_category[i];
        if (column[category] == 0)
            column[category] =
                column_of(table, pl_profile_string(profile, profile->category_name[category]));
    }
    table->bytes = pl_new_array(table->num_tiles * table->num_columns, sizeof *table->bytes);
    if (table->bytes == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t tile = 0; tile < table->num_tiles; tile++)
        for (size_t i = profile->tile_variables_start[tile];
             i < profile->tile_variables_start[tile + 1]; i++)
            table->bytes[tile * table->num_columns + column[profile->variable_category[i]]] +=
                profile->variable_size_bytes[i];
    for (size_t tile = 0; tile < table->num_tiles; tile++) {
        popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
        popliner_profile_tile(profile, tile, &memory, NULL);
        uint64_t *row = table->bytes + tile * table->num_columns;
        row[PL_TILES_ALWAYS_LIVE] = memory.always_live_bytes;
        row[PL_TILES_NOT_ALWAYS_LIVE] = memory.not_always_live_peak_bytes;
        row[PL_TILES_LIVE] = memory.always_live_bytes + memory.not_always_live_peak_bytes;
        row[PL_TILES_TOTAL] = memory.total_bytes;
        row[PL_TILES_WITH_GAPS] = memory.total_including_gaps_bytes;
        row[PL_TILES_OVERHEAD] = row[PL_TILES_WITH_GAPS] > row[PL_TILES_LIVE]
                                     ? row[PL_TILES_WITH_GAPS] - row[PL_TILES_LIVE]
                                     : 0;
        size_t place = tile < PL_WORST_TILES ? tile : PL_WORST_TILES;
        for (; place > 0 &&
               table->bytes[table->worst[place - 1] * table->num_columns + PL_TILES_LIVE] <
                   row[PL_TILES_LIVE];
             place--) {
            if (place < PL_WORST_TILES)
                table->worst[place] = table->worst[place - 1];
        }
        if (place < PL_WORST_TILES)
            table->worst[place] = tile;
    }
    return POPLINER_OK;
}

void pl_tiles_table_clear(pl_tiles_table *table) {
    free(table->bytes);
    table->bytes = NULL;
}

size_t pl_tiles_largest(const popliner_profile *p) {
    size_t largest = 0;
    for (size_t tile = 1; tile < p->target.num_tiles; tile++) {
        if (p->tile_always_live_bytes[tile] + p->tile_not_always_live_peak_bytes[tile] >
            p->tile_always_live_bytes[largest] + p->tile_not_always_live_peak_bytes[largest])
            largest = tile;
    }
    return largest;
}

uint64_t pl_tiles_always_live(const popliner_profile *p, size_t tile, const uint8_t *selection) {
    bool is_of_all = tile == POPLINER_ALL_TILES;
    size_t first = is_of_all ? 0 : (size_t)p->tile_variables_start[tile];
    size_t end = is_of_all ? p->num_variables : (size_t)p->tile_variables_start[tile + 1];
    uint64_t bytes = 0;
    for (size_t v = first; v < end; v++) {
        if ((selection == NULL || selection[v] != 0) &&
            p->class_always_live[p->variable_class[v]] != 0)
            bytes += p->variable_size_bytes[v];
    }
    return bytes;
}
