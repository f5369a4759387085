/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "table_changes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "database_image.h"
#include "fuzz.h"
#include "profile/blob_codec.h"
#include "records.h"
#include "small_profile.h"

enum { MAX_COLUMNS = 256, MAX_TABLES = 64, MAX_BLOB = 512 };

typedef struct table {
    char name[64];
    char columns[400]; /* with a comma between them, the number of the row as ?2 */
    int num_rows;
    sqlite3_stmt *copy; /* copies row ?1 to row ?2 */
    sqlite3_stmt *remove;
} table;

typedef struct column {
    size_t table;
    char name[64];
    sqlite3_stmt *select; /* of row ?1 */
    sqlite3_stmt *update; /* of row ?1 to ?2 */
} column;

/* The profile before it is changed. Every change is in a transaction that is given up. */
static struct {
    sqlite3 *sqlite;
    table tables[MAX_TABLES];
    size_t num_tables;
    column columns[MAX_COLUMNS];
    size_t num_columns;
} base;

/* ---- The profile ---------------------------------------------------------------------------- */

static void run_sql(const char *sql) {
    FUZZ_CHECK(sqlite3_exec(base.sqlite, sql, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepare(const char *format, const char *first, const char *second,
                             const char *third) {
    char sql[1200];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, format, first, second, third);
    FUZZ_CHECK(sqlite3_prepare_v2(base.sqlite, sql, -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static void find_columns(table *t, size_t number) {
    sqlite3_stmt *list = prepare("SELECT name, pk FROM pragma_table_info('%s')", t->name, "", "");
    while (sqlite3_step(list) == SQLITE_ROW) {
        FUZZ_CHECK(base.num_columns < MAX_COLUMNS);
        column *c = &base.columns[base.num_columns++];
        c->table = number;
        snprintf(c->name, sizeof c->name, "%s", (const char *)sqlite3_column_text(list, 0));
        const size_t length = strlen(t->columns);
        snprintf(t->columns + length, sizeof t->columns - length, "%s%s", length > 0 ? "," : "",
                 sqlite3_column_int(list, 1) != 0 ? "?2" : c->name);
    }
    sqlite3_finalize(list);
    sqlite3_stmt *count = prepare("SELECT max(rowid) + 1 FROM %s", t->name, "", "");
    FUZZ_CHECK(sqlite3_step(count) == SQLITE_ROW);
    t->num_rows = sqlite3_column_int(count, 0);
    sqlite3_finalize(count);
}

static void make_base(void) {
    base.sqlite = small_profile_make();
    sqlite3_stmt *list = prepare("SELECT name FROM sqlite_master WHERE type = 'table'", "", "", "");
    while (sqlite3_step(list) == SQLITE_ROW) {
        FUZZ_CHECK(base.num_tables < MAX_TABLES);
        table *t = &base.tables[base.num_tables];
        snprintf(t->name, sizeof t->name, "%s", (const char *)sqlite3_column_text(list, 0));
        find_columns(t, base.num_tables++);
    }
    sqlite3_finalize(list);
}

/* ---- Changes -------------------------------------------------------------------------------- */

/* Runs a statement whose values are bound. What the table does not allow is left. */
static void run(sqlite3_stmt *statement) {
    sqlite3_step(statement);
    sqlite3_reset(statement);
}

/* A text for a name: of a layer, a type, a category; or one that nobody expects. */
static const char *text_of(uint8_t choice, int *length) {
    static const char *const texts[] = {
        "",
        "Layer0/x",
        "Layer1/",
        "Layer2",
        "layer/00000000000000000000000000000000001",
        "Embedding_Dict",
        "encoder.12/blocks_7",
        "\x1b[2J\xc2\x9b\xe2\x80\xae",
        "\xff\xfe bytes",
        "a\nb\tc,\"d\"",
        "Sequence",
        "OnTileExecute",
        "Call",
        "Repeat",
        "RepeatWhile",
        "DoExchange",
        "StreamCopyMid",
        "OnEveryTileSwitch",
        "Sync",
        "variable",
        "message",
        "vertexCode",
        "controlCode",
        "vertexInstanceState",
        "copyDescriptor",
        "internalExchangeCode",
        "ipu2",
        "12",
        "NaN",
        "/",
        "////Layer3////",
        "\xf0\x9f\x98\x80",
    };
    const char *text = texts[choice % (sizeof texts / sizeof *texts)];
    *length = (int)strlen(text) + (choice >= 240); /* with the NUL */
    return text;
}

/* A value of another type than the column's own. */
static void bind_other_type(sqlite3_stmt *update, const uint8_t *record) {
    static const double numbers[] = {1.5, -0.0, 1e300, 3.0, 1e-300};
    int length;
    const char *text = text_of(record[4], &length);
    switch (record[3] % 5) {
    case 0:
        sqlite3_bind_null(update, 2);
        break;
    case 1:
        sqlite3_bind_double(update, 2, numbers[record[4] % 5]);
        break;
    case 2:
        sqlite3_bind_zeroblob(update, 2, record[4] % 64);
        break;
    case 3:
        sqlite3_bind_blob(update, 2, text, length, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_text(update, 2, text, length, SQLITE_STATIC);
        break;
    }
}

/* The blob of the row, changed in its bytes. */
static int change_blob(sqlite3_stmt *select, const uint8_t *record, uint8_t blob[MAX_BLOB]) {
    const void *bytes = sqlite3_column_blob(select, 0);
    int size = sqlite3_column_bytes(select, 0);
    if (size > MAX_BLOB / 2)
        size = MAX_BLOB / 2;
    if (size > 0)
        memcpy(blob, bytes, (size_t)size);
    const int place = size == 0 ? 0 : record[4] % size;
    switch (record[3] % 4) {
    case 0:
        blob[place] = record[5];
        return size == 0 ? 1 : size;
    case 1:
        return place;
    case 2:
        memmove(blob + place + 1, blob + place, (size_t)(size - place));
        blob[place] = record[5];
        return size + 1;
    default:
        if (size > 0)
            memcpy(blob + size, blob, (size_t)size);
        return 2 * size;
    }
}

/* Numbers in one of the encodings that blobs have. */
static int encode(const uint8_t *record, uint8_t blob[MAX_BLOB]) {
    pl_blob made = {0};
    uint64_t numbers[4];
    for (size_t i = 0; i < 4; i++)
        numbers[i] =
            record[3] & 8 ? (uint64_t)record[4 + i] << (record[3] >> 4) * 4 : record[4 + i] % 24u;
    const size_t count = record[3] & 4 ? 2 : 1 + record[3] % 4u;
    if (record[3] & 128)
        pl_rle_write(&made, numbers, count);
    else if (record[3] & 64)
        pl_varint_list_write(&made, numbers, count);
    else
        pl_varint_write(&made, 2 * numbers[0]), pl_varint_write(&made, numbers[1]);
    FUZZ_CHECK(!made.failed && made.size <= MAX_BLOB);
    memcpy(blob, made.data, made.size);
    free(made.data);
    return (int)made.size;
}

static void change_row(table *t, const uint8_t *record) {
    if (t->copy == NULL) {
        t->copy = prepare("INSERT OR REPLACE INTO %s SELECT %s FROM %s WHERE rowid = ?1 AND ?2 > 0",
                          t->name, t->columns, t->name);
        t->remove = prepare("DELETE FROM %s WHERE rowid = ?1", t->name, "", "");
    }
    const int row = t->num_rows == 0 ? 0 : record[2] % t->num_rows;
    sqlite3_stmt *statement = record[3] & 1 ? t->copy : t->remove;
    sqlite3_bind_int(statement, 1, row);
    if (record[3] & 1)
        sqlite3_bind_int(statement, 2, t->num_rows + record[4] % 4);
    run(statement);
}

enum { SET, SET_TOO, ADD, COPY, TYPE, BLOB, ENCODE, TEXT, ROW, NUM_CHANGES, HIDE = NUM_CHANGES };

/* What a record does. The last one is rare, because all has to be prepared again. */
static uint8_t kind_of(const uint8_t *record) {
    return record[0] < 4 ? HIDE : record[0] % NUM_CHANGES;
}

static void change_value(column *c, const uint8_t *record) {
    const table *t = &base.tables[c->table];
    uint8_t blob[MAX_BLOB];
    const uint8_t kind = kind_of(record);
    if (c->select == NULL) {
        c->select = prepare("SELECT %s FROM %s WHERE rowid = ?1", c->name, t->name, "");
        c->update =
            prepare("UPDATE OR IGNORE %s SET %s = ?2 WHERE rowid = ?1", t->name, c->name, "");
    }
    sqlite3_bind_int(c->update, 1, t->num_rows == 0 ? 0 : record[2] % t->num_rows);
    sqlite3_bind_int(c->select, 1,
                     t->num_rows == 0 ? 0 : (kind == COPY ? record[3] : record[2]) % t->num_rows);
    if (sqlite3_step(c->select) == SQLITE_ROW) {
        int length;
        const char *text;
        switch (kind) {
        case ADD:
            sqlite3_bind_int64(c->update, 2,
                               (sqlite3_int64)((uint64_t)sqlite3_column_int64(c->select, 0) +
                                               (uint64_t)(int8_t)record[3]));
            break;
        case COPY:
            sqlite3_bind_value(c->update, 2, sqlite3_column_value(c->select, 0));
            break;
        case TYPE:
            bind_other_type(c->update, record);
            break;
        case BLOB:
            length = change_blob(c->select, record, blob);
            sqlite3_bind_blob(c->update, 2, blob, length, SQLITE_TRANSIENT);
            break;
        case ENCODE:
            length = encode(record, blob);
            sqlite3_bind_blob(c->update, 2, blob, length, SQLITE_TRANSIENT);
            break;
        case TEXT:
            text = text_of(record[3], &length);
            sqlite3_bind_text(c->update, 2, text, length, SQLITE_STATIC);
            break;
        default:
            sqlite3_bind_int64(c->update, 2, records_number(record));
            break;
        }
        run(c->update);
    }
    sqlite3_reset(c->select);
}

/* Gives a column, or a table, another name in the file, unless an earlier record has. */
static void hide(unsigned char *image, size_t size, const uint8_t *record) {
    const column *c = &base.columns[record[1] % base.num_columns];
    const char *name = base.tables[c->table].name;
    char text[160];
    snprintf(text, sizeof text, "table%s%s", name, name);
    const size_t length = strlen(text);
    size_t at = 0;
    while (at + length < size && (image[at] != 't' || memcmp(image + at, text, length) != 0))
        at++;
    if (at + length >= size)
        return;
    if ((record[3] & 1) != 0) {
        image[at + 5] = 'X';
        image[at + 5 + strlen(name)] = 'X';
        return;
    }
    for (at += length; at + strlen(c->name) < size && image[at] != ')'; at++) {
        if ((image[at - 1] == '(' || image[at - 1] == ',') &&
            memcmp(image + at, c->name, strlen(c->name)) == 0) {
            image[at] = 'X';
            return;
        }
    }
}

unsigned char *table_changes_make(const uint8_t *records, size_t num_records, size_t *size) {
    if (base.sqlite == NULL)
        make_base();
    run_sql("BEGIN");
    for (size_t i = 0; i < num_records; i++) {
        const uint8_t *record = records + i * RECORD_SIZE;
        column *c = &base.columns[record[1] % base.num_columns];
        if (kind_of(record) == ROW)
            change_row(&base.tables[c->table], record);
        else if (kind_of(record) != HIDE)
            change_value(c, record);
    }
    unsigned char *image = database_image_take(base.sqlite, size);
    run_sql("ROLLBACK");
    for (size_t i = 0; i < num_records; i++) {
        const uint8_t *record = records + i * RECORD_SIZE;
        if (kind_of(record) == HIDE)
            hide(image, *size, record);
    }
    return image;
}
