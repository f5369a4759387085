/* The compiler's account, tile by tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "popliner/liveness.h"
#include "profile/profile_data.h"
#include "show/report_parts.h"
#include "show/reports.h"

/* Columns before those of the categories. */
enum { ALWAYS_LIVE, NOT_ALWAYS_LIVE, LIVE, TOTAL, WITH_GAPS, OVERHEAD, NUM_MEASURES };

static const char *const measures[NUM_MEASURES] = {
    [ALWAYS_LIVE] = "Always live",
    [NOT_ALWAYS_LIVE] = "Not-always live",
    [LIVE] = "Live",
    [TOTAL] = "Total",
    [WITH_GAPS] = "Total including gaps",
    [OVERHEAD] = "Layout overhead",
};

enum { WORST_TILES = 10 };

/* A table of tiles: bytes[tile * num_columns + column]. */
typedef struct tiles_table {
    size_t num_tiles;
    size_t num_columns;
    const char *names[NUM_MEASURES + PL_MAX_CATEGORIES];
    uint64_t *bytes;
    size_t worst[WORST_TILES]; /* those with most live memory, the largest first */
} tiles_table;

/* The column of a category, which is added when it is met first. Nearly always the address tells;
 * only a profile with one name for two categories needs the comparison. */
static size_t column_of(tiles_table *table, const char *category) {
    for (size_t i = NUM_MEASURES; i < table->num_columns; i++) {
        if (table->names[i] == category)
            return i;
    }
    for (size_t i = NUM_MEASURES; i < table->num_columns; i++) {
        if (strcmp(table->names[i], category) == 0)
            return i;
    }
    table->names[table->num_columns] = category;
    return table->num_columns++;
}

static popliner_status fill(tiles_table *table, const popliner_profile *profile,
                            popliner_error *error) {
    table->num_tiles = profile->target.num_tiles;
    table->num_columns = NUM_MEASURES;
    memcpy(table->names, measures, sizeof measures);
    for (size_t i = 0; i < profile->num_variables; i++) {
        popliner_variable v = POPLINER_VARIABLE_INIT;
        popliner_liveness_variable(profile, i, &v, NULL);
        column_of(table, v.category);
    }
    table->bytes = pl_new_array(table->num_tiles * table->num_columns, sizeof *table->bytes);
    if (table->bytes == NULL)
        return pl_fail_memory(error, "a report");
    for (size_t i = 0; i < profile->num_variables; i++) {
        popliner_variable v = POPLINER_VARIABLE_INIT;
        popliner_liveness_variable(profile, i, &v, NULL);
        table->bytes[v.tile * table->num_columns + column_of(table, v.category)] += v.size_bytes;
    }
    for (size_t tile = 0; tile < table->num_tiles; tile++) {
        popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
        popliner_profile_tile(profile, tile, &memory, NULL);
        uint64_t *row = table->bytes + tile * table->num_columns;
        row[ALWAYS_LIVE] = memory.always_live_bytes;
        row[NOT_ALWAYS_LIVE] = memory.not_always_live_peak_bytes;
        row[LIVE] = memory.always_live_bytes + memory.not_always_live_peak_bytes;
        row[TOTAL] = memory.total_bytes;
        row[WITH_GAPS] = memory.total_including_gaps_bytes;
        row[OVERHEAD] = row[WITH_GAPS] > row[LIVE] ? row[WITH_GAPS] - row[LIVE] : 0;
        size_t place = tile < WORST_TILES ? tile : WORST_TILES;
        for (; place > 0 &&
               table->bytes[table->worst[place - 1] * table->num_columns + LIVE] < row[LIVE];
             place--) {
            if (place < WORST_TILES)
                table->worst[place] = table->worst[place - 1];
        }
        if (place < WORST_TILES)
            table->worst[place] = tile;
    }
    return POPLINER_OK;
}

/* Smallest, largest and sum of a column. */
typedef struct summary {
    uint64_t min;
    uint64_t max;
    uint64_t sum;
    double mean;
} summary;

static summary summarise(const tiles_table *table, size_t column) {
    summary s = {.min = UINT64_MAX};
    for (size_t tile = 0; tile < table->num_tiles; tile++) {
        uint64_t bytes = table->bytes[tile * table->num_columns + column];
        s.min = bytes < s.min ? bytes : s.min;
        s.max = bytes > s.max ? bytes : s.max;
        s.sum += bytes;
    }
    s.mean = (double)s.sum / (double)table->num_tiles;
    return s;
}

static void write_rows(const tiles_table *table, const size_t *tiles, size_t count, char delimiter,
                       pl_text *text) {
    pl_text_add(text, "Tile");
    for (size_t column = 0; column < table->num_columns; column++)
        pl_text_format(text, "%c%s", delimiter, table->names[column]);
    pl_text_add(text, "\n");
    for (size_t i = 0; i < count; i++) {
        size_t tile = tiles == NULL ? i : tiles[i];
        pl_text_format(text, "%zu", tile);
        for (size_t column = 0; column < table->num_columns; column++)
            pl_text_format(text, "%c%" PRIu64, delimiter,
                           table->bytes[tile * table->num_columns + column]);
        pl_text_add(text, "\n");
    }
}

/* The number of tiles in table->worst. */
static size_t num_worst(const tiles_table *table) {
    return table->num_tiles < WORST_TILES ? table->num_tiles : WORST_TILES;
}

static void write_text(const tiles_table *table, char delimiter, pl_text *text) {
    pl_text_format(text, "Category%cMin%cMean%cMax%cSum\n", delimiter, delimiter, delimiter,
                   delimiter);
    for (size_t column = 0; column < table->num_columns; column++) {
        summary s = summarise(table, column);
        pl_text_format(text, "%s%c%" PRIu64 "%c%.2f%c%" PRIu64 "%c%" PRIu64 "\n",
                       table->names[column], delimiter, s.min, delimiter, s.mean, delimiter, s.max,
                       delimiter, s.sum);
    }
    pl_text_add(text, "\n");
    write_rows(table, table->worst, num_worst(table), delimiter, text);
    pl_text_add(text, "\n");
    write_rows(table, NULL, table->num_tiles, delimiter, text);
}

/* Sets a value, which is taken over, under a name that the profile gave and that may be no
 * UTF-8. */
static bool put_column(json_t *object, const char *name, json_t *value) {
    json_t *key = pl_report_json_text(name);
    bool done = pl_report_put(object, json_string_value(key), value);
    json_decref(key);
    return done;
}

static json_t *row_as_json(const tiles_table *table, size_t tile) {
    json_t *row = json_pack("{s:I}", "Tile", (json_int_t)tile);
    bool done = row != NULL;
    for (size_t column = 0; done && column < table->num_columns; column++)
        done =
            put_column(row, table->names[column],
                       json_integer((json_int_t)table->bytes[tile * table->num_columns + column]));
    return pl_report_whole(row, done);
}

static json_t *rows_as_json(const tiles_table *table, const size_t *tiles, size_t count) {
    json_t *rows = json_array();
    bool done = rows != NULL;
    for (size_t i = 0; done && i < count; i++)
        done = pl_report_append(rows, row_as_json(table, tiles == NULL ? i : tiles[i]));
    return pl_report_whole(rows, done);
}

static json_t *summaries_as_json(const tiles_table *table) {
    json_t *summaries = json_object();
    bool done = summaries != NULL;
    for (size_t column = 0; done && column < table->num_columns; column++) {
        summary s = summarise(table, column);
        done = put_column(summaries, table->names[column],
                          json_pack("{s:I, s:f, s:I, s:I}", "min", (json_int_t)s.min, "mean",
                                    s.mean, "max", (json_int_t)s.max, "sum", (json_int_t)s.sum));
    }
    return pl_report_whole(summaries, done);
}

static json_t *as_json(const tiles_table *table) {
    return json_pack("{s:o, s:o, s:o}", "summary", summaries_as_json(table), "worst_tiles",
                     rows_as_json(table, table->worst, num_worst(table)), "tiles",
                     rows_as_json(table, NULL, table->num_tiles));
}

popliner_status pl_report_tiles(const popliner_profile *profile, popliner_format format,
                                char **result, popliner_error *error) {
    pl_text text = {0};
    tiles_table table = {0};
    popliner_status status = pl_profile_require_variables(profile, error);
    if (status == POPLINER_OK)
        status = fill(&table, profile, error);
    if (status == POPLINER_OK && format == POPLINER_FORMAT_JSON) {
        status = pl_report_json(as_json(&table), &text, error);
    } else if (status == POPLINER_OK) {
        write_text(&table, format == POPLINER_FORMAT_CSV ? ',' : '\t', &text);
    }
    free(table.bytes);
    return pl_report_finish(&text, status, result, error);
}
