/* Reads the rows of declared tables.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/profile_readers.h"

/* ---- Numbers by tile ---- */

pl_series pl_read_runs(popliner_profile *profile, pl_rows *rows, int column) {
    const size_t num_tiles = profile->target.num_tiles;
    if (pl_rows_is_null(rows, column))
        return (pl_series){0};
    size_t size_bytes;
    const uint8_t *rle = pl_rows_blob(rows, column, &size_bytes);
    pl_runs runs = pl_runs_begin(rle, size_bytes);
    uint64_t tiles = 0;
    uint64_t value;
    uint64_t length;
    int more;
    bool all_zero = true;
    while ((more = pl_runs_next(&runs, &value, &length)) > 0 && length <= num_tiles - tiles &&
           value <= PL_MAX_TILE_BYTES) {
        tiles += length;
        all_zero = all_zero && value == 0;
    }
    if (more < 0)
        pl_rows_fail(rows, column, "is damaged: it ends inside a number or a run");
    else if (more > 0 && length > num_tiles - tiles)
        pl_rows_fail(rows, column, "holds more numbers than the target has tiles (%zu)", num_tiles);
    else if (more > 0)
        pl_rows_fail(rows, column, "holds %llu, more than a tile can have",
                     (unsigned long long)value);
    else if (tiles != num_tiles)
        pl_rows_fail(rows, column, "holds %llu numbers, the target has %zu tiles",
                     (unsigned long long)tiles, num_tiles);
    else if (!all_zero)
        return pl_profile_add_series(profile, rle, size_bytes);
    return (pl_series){0};
}

pl_series pl_read_list(popliner_profile *p, pl_rows *rows, int column) {
    const size_t num_tiles = p->target.num_tiles;
    size_t size_bytes;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    pl_series series = {0};
    size_t tile = 0;
    if (size_bytes == 0 || pl_varint_list_is_zero(blob, size_bytes, num_tiles))
        return series;
    uint64_t *by_tile = pl_new_array(num_tiles, sizeof *by_tile);
    p->arrays.failed = p->arrays.failed || by_tile == NULL;
    if (by_tile == NULL)
        return series;
    const bool is_list = pl_varint_list_read(blob, size_bytes, by_tile, num_tiles);
    while (is_list && tile < num_tiles && by_tile[tile] <= PL_MAX_TILE_BYTES)
        tile++;
    if (!is_list)
        pl_rows_fail(rows, column, "does not hold one number for each of the target's %zu tiles",
                     num_tiles);
    else if (tile < num_tiles)
        pl_rows_fail(rows, column, "holds %llu, more than a tile can have",
                     (unsigned long long)by_tile[tile]);
    else
        series = pl_profile_add_numbers(p, by_tile, num_tiles);
    free(by_tile);
    return series;
}

/* Adds a series, the last in the profile, to *sum, which is the one before it. */
static void add_to(popliner_profile *p, pl_series series, pl_series *sum) {
    if (series.size_bytes == 0 || sum->size_bytes == 0) {
        *sum = series.size_bytes == 0 ? *sum : series;
        return;
    }
    assert(sum->offset + sum->size_bytes == series.offset);
    assert(series.offset + series.size_bytes == p->series_length);
    uint64_t *by_tile = pl_new_array(p->target.num_tiles, sizeof *by_tile);
    p->arrays.failed = p->arrays.failed || by_tile == NULL;
    if (by_tile != NULL) {
        pl_series_add(p, *sum, 1, by_tile);
        pl_series_add(p, series, 1, by_tile);
        p->series_length = sum->offset;
        *sum = pl_profile_add_numbers(p, by_tile, p->target.num_tiles);
    }
    free(by_tile);
}

/* ---- A value ---- */

/* Reads a reference. An unknown one is PL_NONE, and an error if `must_exist`. */
static uint64_t read_reference(pl_table_rows *t, int column, bool must_exist) {
    const int of = t->rows.table->columns[column].of;
    const uint64_t id = must_exist ? pl_rows_number(&t->rows, column, INT64_MAX)
                                   : pl_rows_number_or(&t->rows, column, INT64_MAX, UINT64_MAX);
    const uint32_t index = pl_id_map_find(&t->reading->ids[of], id);
    if (must_exist && index == PL_NONE)
        pl_rows_fail(&t->rows, column, "is %llu, which table %s does not have",
                     (unsigned long long)id, pl_tables[of].name);
    return index;
}

/* Reads the first number of a list. */
static uint64_t read_first(pl_rows *rows, int column) {
    size_t size_bytes = 0;
    uint64_t number = 0;
    const uint8_t *blob = pl_rows_blob(rows, column, &size_bytes);
    if (size_bytes > 0 && !pl_varint_read(&blob, blob + size_bytes, &number))
        pl_rows_fail(rows, column, "is damaged: it ends inside a number");
    return number;
}

/* Reads a column of the current row; 0 if it is no number. Sets the item or the target of the row,
 * if the column says it. */
static uint64_t read_value(pl_table_rows *t, int column) {
    const pl_column *c = &t->rows.table->columns[column];
    pl_rows *rows = &t->rows;
    const uint64_t most = t->most[column];
    uint64_t value = c->kind == PL_ANY_OR_0 || c->kind == PL_FLAG ? 0 : UINT64_MAX;
    switch ((pl_column_kind)c->kind) {
    case PL_ID:
    case PL_NUMBER:
        return pl_rows_number(rows, column, most);
    case PL_NUMBER_OR_0:
        return pl_rows_number_or(rows, column, most, 0);
    case PL_NUMBER_OR_NONE:
        return pl_rows_number_or(rows, column, most, UINT64_MAX);
    case PL_STEP:
        return pl_rows_number(rows, column, t->reading->profile->num_steps);
    case PL_TILE:
        return t->place =
                   (size_t)pl_rows_number(rows, column, t->reading->profile->target.num_tiles - 1);
    case PL_ID_OR_SKIP:
    case PL_ANY_OR_0:
    case PL_ANY_OR_NONE:
    case PL_LEADS_TO_NUMBER:
        pl_rows_find_number(rows, column, &value);
        t->is_skipped = value == UINT64_MAX && c->kind != PL_ANY_OR_NONE;
        if (c->kind == PL_LEADS_TO_NUMBER)
            t->target = value < PL_NONE ? value : PL_NONE - 1;
        return value;
    case PL_FLAG:
        pl_rows_find_number(rows, column, &value);
        return value != 0;
    case PL_ITEM:
    case PL_ITEM_OR_SKIP:
        value = read_reference(t, column, c->kind == PL_ITEM);
        t->is_skipped = value == PL_NONE;
        t->place = (size_t)value;
        return value;
    case PL_REFERENCE:
    case PL_REFERENCE_OR_NONE:
        return read_reference(t, column, c->kind == PL_REFERENCE);
    case PL_LEADS_TO:
    case PL_LEADS_TO_OR_SKIP:
        value = read_reference(t, column, c->kind == PL_LEADS_TO);
        t->is_skipped = value == PL_NONE;
        return t->target = value;
    case PL_TEXT:
    case PL_LEADS_TO_TEXT:
        value = pl_profile_add_string(t->reading->profile, pl_rows_text(rows, column));
        t->target = c->kind == PL_LEADS_TO_TEXT ? value : t->target;
        return value;
    case PL_FIRST:
        return read_first(rows, column);
    case PL_OTHER:
    case PL_RUNS:
    case PL_ADDED_RUNS:
    case PL_LIST:
        break;
    }
    return 0;
}

/* True if a column is stored as a number of the target, not in an array. */
static bool is_number(const pl_column *column) {
    return column->into < offsetof(popliner_profile, target) + sizeof(pl_target);
}

/* Stores a column of the current row in its array. */
static void store(pl_table_rows *t, int column) {
    popliner_profile *p = t->reading->profile;
    const pl_column *c = &t->rows.table->columns[column];
    const pl_field *field = &t->fields[column];
    const uint64_t value = t->values[column];
    void *items = is_number(c) ? (char *)p + c->into : pl_field_items(field);
    if (is_number(c))
        *(uint64_t *)items = value;
    else if (c->kind == PL_RUNS)
        ((pl_series *)items)[t->place] = pl_read_runs(p, &t->rows, column);
    else if (c->kind == PL_ADDED_RUNS)
        add_to(p, pl_read_runs(p, &t->rows, column), &((pl_series *)items)[t->place]);
    else if (c->kind == PL_LIST)
        ((pl_series *)items)[t->place] = pl_read_list(p, &t->rows, column);
    else if (field->item_size == sizeof(uint8_t))
        ((uint8_t *)items)[t->place] = (uint8_t)value;
    else if (field->item_size == sizeof(uint32_t))
        ((uint32_t *)items)[t->place] = (uint32_t)value;
    else
        ((uint64_t *)items)[t->place] = value;
}

/* ---- Rows ---- */

pl_table_rows pl_table_open(pl_reading *r, pl_table_number number) {
    const pl_table *table = &pl_tables[number];
    pl_table_rows t = {.reading = r, .number = number, .num_columns = pl_table_width(table)};
    if (table->count != 0) {
        t.count = (size_t *)(void *)((char *)r->profile + table->count);
        t.num_grown = pl_profile_fields(r->profile, PL_FIELDS_BY_COUNT, t.count, t.grown);
    }
    for (size_t i = 0; i < t.num_columns; i++) {
        const pl_column *c = &table->columns[i];
        t.most[i] = INT64_MAX;
        if (!is_number(c)) {
            t.fields[i] = pl_profile_field(r->profile, c->into, &t.most[i]);
            pl_profile_allocate(r->profile, t.fields[i].count);
        }
        if (c->max != 0)
            t.most[i] = c->max;
    }
    pl_reading_has(r, true);
    t.rows = pl_rows_open(&r->database, table);
    return t;
}

/* Reads all columns of the current row, unless it is skipped. */
static void take_row(pl_table_rows *t) {
    pl_reading *r = t->reading;
    pl_outcome *outcome = &r->database.outcome;
    const bool has_id =
        t->rows.table->columns[0].kind == PL_ID || t->rows.table->columns[0].kind == PL_ID_OR_SKIP;
    t->is_skipped = false;
    t->place = t->count != NULL ? *t->count : t->num_rows;
    t->target = UINT64_MAX;
    if (t->count != NULL)
        pl_reading_has(r, *t->count < PL_NONE - 1 &&
                              pl_fields_reserve(&r->profile->arrays, t->grown, t->num_grown));
    for (size_t i = 0; i < t->num_columns && !t->is_skipped; i++) {
        t->values[i] = read_value(t, (int)i);
        if (outcome->status != POPLINER_OK)
            return;
        if (t->rows.table->columns[i].into != 0 && !t->is_skipped)
            store(t, (int)i);
    }
    if (t->is_skipped)
        return;
    if (has_id)
        pl_reading_has(r, pl_id_map_add(&r->ids[t->number], t->values[0],
                                        t->target == UINT64_MAX ? t->place : (size_t)t->target));
    t->num_rows++;
    if (t->count != NULL)
        ++*t->count;
}

bool pl_table_next(pl_table_rows *t) {
    do {
        if (!pl_rows_next(&t->rows)) {
            pl_id_map_sort(&t->reading->ids[t->number]);
            return false;
        }
        take_row(t);
    } while (t->is_skipped);
    if (pl_reading_has(t->reading, true))
        return true;
    pl_rows_close(&t->rows);
    return false;
}

size_t pl_table_read(pl_reading *r, pl_table_number number) {
    pl_table_rows t = pl_table_open(r, number);
    while (pl_table_next(&t))
        continue;
    return t.num_rows;
}

/* ---- What is missing ---- */

static void add_absence(popliner_profile *p, const pl_table *table, const pl_column *column) {
    char sentence[400];
    if (column == NULL)
        snprintf(sentence, sizeof sentence, "The profile has no table %s (%s). Do not trust %s.",
                 table->name, table->tells, table->untrusted);
    else
        snprintf(sentence, sizeof sentence,
                 "Table %s of the profile has no column %s (%s). Do not trust %s.", table->name,
                 column->name, column->tells, column->untrusted);
    const pl_string text = pl_profile_add_string(p, sentence);
    if (pl_profile_reserve(p, &p->num_absences))
        p->absence[p->num_absences++] = text;
}

/* True if a query, with `text` as its parameter unless NULL, has a row. */
static bool has_row(pl_database *database, const char *query, const char *text) {
    int64_t ignored;
    return pl_database_ask(database, query, text, "looking for what is missing", &ignored);
}

/* True if a missing table or column is worth a warning. */
static bool is_expected(const char *untrusted) {
    return untrusted != NULL && untrusted != pl_required;
}

void pl_tables_find_absences(pl_reading *r) {
    pl_database *database = &r->database;
    for (size_t i = 0; pl_database_is_well(database) && i < PL_NUM_TABLES; i++) {
        const pl_table *table = &pl_tables[i];
        char query[120];
        snprintf(query, sizeof query, "SELECT 1 FROM \"%s\" LIMIT 1", table->name);
        const bool found = pl_database_has_table(database, table->name);
        if (!found && is_expected(table->untrusted) &&
            (table->program_type == NULL ||
             has_row(database, "SELECT 1 FROM program_types WHERE name = ?1", table->program_type)))
            add_absence(r->profile, table, NULL);
        /* without rows its columns do not matter */
        if (!found || !has_row(database, query, NULL))
            continue;
        for (size_t k = 0; k < pl_table_width(table); k++) {
            if (is_expected(table->columns[k].untrusted) &&
                !pl_database_has_column(database, table->name, table->columns[k].name))
                add_absence(r->profile, table, &table->columns[k]);
        }
    }
}

void pl_profile_tell_absences(const popliner_profile *profile, const popliner_listener *listener) {
    for (size_t i = 0; i < profile->num_absences; i++)
        pl_tell(listener, POPLINER_LEVEL_WARNING, "%s",
                pl_profile_string(profile, profile->absence[i]));
}
