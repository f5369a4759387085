/* The compiler's account, tile by tile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "show/certificate_data.h"
#include "show/report_parts.h"
#include "show/reports.h"
#include "show/tiles_table.h"

/* Smallest, largest and sum of a column. */
typedef struct summary {
    uint64_t min;
    uint64_t max;
    uint64_t sum;
    double mean;
} summary;

static summary summarise(const pl_tiles_table *table, size_t column) {
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

/* The name of a category, which the profile gave. */
static void add_name(pl_text *text, const char *name, char delimiter) {
    if (delimiter == ',')
        pl_certificate_add_field(text, name, delimiter);
    else
        pl_text_add(text, name); /* all of the text is made printable in the end */
}

static void write_rows(const pl_tiles_table *table, const size_t *tiles, size_t count,
                       char delimiter, pl_text *text) {
    pl_text_add(text, "Tile");
    for (size_t column = 0; column < table->num_columns; column++) {
        pl_text_append(text, &delimiter, 1);
        add_name(text, table->names[column], delimiter);
    }
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
static size_t num_worst(const pl_tiles_table *table) {
    return table->num_tiles < PL_WORST_TILES ? table->num_tiles : PL_WORST_TILES;
}

static void write_text(const pl_tiles_table *table, char delimiter, pl_text *text) {
    pl_text_format(text, "Category%cMin%cMean%cMax%cSum\n", delimiter, delimiter, delimiter,
                   delimiter);
    for (size_t column = 0; column < table->num_columns; column++) {
        summary s = summarise(table, column);
        add_name(text, table->names[column], delimiter);
        pl_text_format(text, "%c%" PRIu64 "%c%.2f%c%" PRIu64 "%c%" PRIu64 "\n", delimiter, s.min,
                       delimiter, s.mean, delimiter, s.max, delimiter, s.sum);
    }
    pl_text_add(text, "\n");
    write_rows(table, table->worst, num_worst(table), delimiter, text);
    pl_text_add(text, "\n");
    write_rows(table, NULL, table->num_tiles, delimiter, text);
}

static void put_rows(const pl_tiles_table *table, const char *key, const size_t *tiles,
                     size_t count, pl_json *json) {
    pl_put_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        const size_t tile = tiles == NULL ? i : tiles[i];
        pl_put_open(json, NULL, '{');
        pl_put_number(json, "Tile", tile);
        for (size_t column = 0; column < table->num_columns; column++)
            pl_put_number(json, table->names[column],
                          table->bytes[tile * table->num_columns + column]);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_tiles(const pl_tiles_table *table, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_open(json, "summary", '{');
    for (size_t column = 0; column < table->num_columns; column++) {
        const summary s = summarise(table, column);
        pl_put_open(json, table->names[column], '{');
        pl_put_number(json, "min", s.min);
        pl_put_real(json, "mean", s.mean);
        pl_put_number(json, "max", s.max);
        pl_put_number(json, "sum", s.sum);
        pl_put_close(json);
    }
    pl_put_close(json);
    put_rows(table, "worst_tiles", table->worst, num_worst(table), json);
    put_rows(table, "tiles", NULL, table->num_tiles, json);
    pl_put_close(json);
}

popliner_status pl_report_tiles(const popliner_profile *profile, popliner_format format,
                                char **result, popliner_error *error) {
    pl_text text = {0};
    pl_tiles_table table = {0};
    popliner_status status = pl_tiles_table_fill(&table, profile, error);
    if (status == POPLINER_OK && format == POPLINER_FORMAT_JSON) {
        put_tiles(&table, &(pl_json){.text = &text});
    } else if (status == POPLINER_OK) {
        write_text(&table, format == POPLINER_FORMAT_CSV ? ',' : '\t', &text);
    }
    pl_tiles_table_clear(&table);
    return pl_report_finish_printable(&text, status, result, error);
}
