/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/database.h"

#include <stdio.h>
#include <stdlib.h>

void pl_database_fail(pl_database *database, const char *action) {
    pl_outcome *outcome = &database->outcome;
    int code = sqlite3_errcode(database->sqlite);
    const char *remedy =
        code == SQLITE_CORRUPT ? "; the file is damaged or was cut off, write it again" : "";
    if (code == SQLITE_NOMEM)
        pl_outcome_fail_memory(outcome, "the database");
    else if (code == SQLITE_INTERRUPT)
        pl_outcome_fail(outcome, POPLINER_ERROR_STOPPED, "%s: %s was stopped", database->path,
                        action);
    else
        pl_outcome_fail(outcome, POPLINER_ERROR_INPUT, "%s: %s failed: %s%s", database->path,
                        action, sqlite3_errmsg(database->sqlite), remedy);
}

void pl_database_take_bytes(pl_database *database, const char *what, uint64_t count,
                            uint64_t item_bytes) {
    if (pl_database_is_well(database))
        database->outcome.status = pl_bounds_take(database->bounds, database->path, what, count,
                                                  item_bytes, database->outcome.error);
}

bool pl_database_ask(pl_database *database, const char *sql, const char *text, const char *action,
                     int64_t *number) {
    sqlite3_stmt *statement = NULL;
    if (!pl_database_is_well(database))
        return false;
    int code = sqlite3_prepare_v2(database->sqlite, sql, -1, &statement, NULL);
    if (code == SQLITE_OK && text != NULL)
        code = sqlite3_bind_text(statement, 1, text, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *number = sqlite3_column_int64(statement, 0);
    else if (code != SQLITE_DONE)
        pl_database_fail(database, action);
    sqlite3_finalize(statement);
    return code == SQLITE_ROW;
}

bool pl_database_has_table(pl_database *database, const char *table) {
    int64_t is_plain = 1;
    /* tables without a root page are computed: views, and virtual tables */
    const bool found =
        pl_database_ask(database,
                        "SELECT type = 'table' AND rootpage > 0 FROM sqlite_master WHERE "
                        "type IN ('table', 'view') AND name = ?1 COLLATE NOCASE",
                        table, "reading the list of tables", &is_plain);
    if (is_plain == 0)
        pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT,
                        "%s: %s is a view or a virtual table; a profile has only ordinary tables",
                        database->path, table);
    return found && is_plain != 0;
}

const char pl_required[] = "";

size_t pl_table_width(const pl_table *table) {
    size_t width = 0;
    while (width < PL_MAX_COLUMNS && table->columns[width].name != NULL)
        width++;
    return width;
}

/* Fails without this column, or without the table (`column` NULL). */
static void fail_without(pl_database *database, const pl_table *table, const pl_column *column) {
    const char *tells = column == NULL ? table->tells : column->tells;
    pl_outcome_fail(&database->outcome, POPLINER_ERROR_INPUT, "%s: %s %s%s%s%s%s%s%s",
                    database->path, column == NULL ? "has no table" : "table", table->name,
                    column == NULL ? "" : " has no column ", column == NULL ? "" : column->name,
                    tells == NULL ? "" : " (", tells == NULL ? "" : tells, tells == NULL ? "" : ")",
                    database->format);
}

/* Returns the first column that the table cannot be read without and does not have, or NULL. */
static const pl_column *first_absent(const pl_table *table, const bool *present) {
    for (size_t i = 0; i < pl_table_width(table); i++) {
        const char *untrusted = table->columns[i].untrusted;
        if (!present[i] && (table->is_whole ? untrusted != NULL : untrusted == pl_required))
            return &table->columns[i];
    }
    return NULL;
}

bool pl_database_has_column(pl_database *database, const char *table, const char *column) {
    if (!pl_database_is_well(database))
        return false;
    const int code = sqlite3_table_column_metadata(database->sqlite, NULL, table, column, NULL,
                                                   NULL, NULL, NULL, NULL);
    if (code == SQLITE_NOMEM)
        pl_database_fail(database, "reading the columns of a table");
    return code == SQLITE_OK;
}

/* Adds the query of all columns of a table, NULL for missing optional ones, with this tail, or none
 * (NULL). Returns whether the table exists. */
static bool add_query(pl_database *database, const pl_table *table, const char *tail,
                      pl_text *sql) {
    bool present[PL_MAX_COLUMNS] = {false};
    bool found = pl_database_has_table(database, table->name);
    for (size_t i = 0; found && i < pl_table_width(table); i++)
        present[i] = pl_database_has_column(database, table->name, table->columns[i].name);
    if (!found && table->untrusted == pl_required && !table->fails_later)
        fail_without(database, table, NULL);
    const pl_column *absent = found ? first_absent(table, present) : NULL;
    if (absent != NULL && table->is_whole)
        found = false;
    else if (absent != NULL)
        fail_without(database, table, absent);
    for (size_t i = 0; i < pl_table_width(table); i++) {
        pl_text_add(sql, i > 0 ? ", " : "SELECT ");
        if (present[i])
            pl_text_format(sql, "\"%s\"", table->columns[i].name);
        else
            pl_text_add(sql, "NULL");
    }
    pl_text_format(sql, " FROM \"%s\" %s", table->name, tail == NULL ? "" : tail);
    return pl_outcome_has(&database->outcome, !sql->failed, "a query") && found;
}

pl_rows pl_rows_open(pl_database *database, const pl_table *table) {
    pl_rows rows = {.database = database, .table = table};
    pl_text sql = {0};
    if (add_query(database, table, table->tail, &sql) &&
        sqlite3_prepare_v2(database->sqlite, sql.data, -1, &rows.statement, NULL) != SQLITE_OK)
        pl_database_fail(database, "reading a table");
    free(sql.data);
    return rows;
}

void pl_rows_close(pl_rows *rows) {
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
}

static void fail_at_row(const pl_rows *rows) {
    char action[120];
    snprintf(action, sizeof action, "reading table %s, row %zu,", rows->table->name, rows->row + 1);
    pl_database_fail(rows->database, action);
}

bool pl_rows_next(pl_rows *rows) {
    int code = SQLITE_DONE;
    if (rows->statement != NULL && pl_database_is_well(rows->database))
        code = sqlite3_step(rows->statement);
    if (code == SQLITE_ROW) {
        rows->row++;
        return true;
    }
    if (code != SQLITE_DONE)
        fail_at_row(rows);
    pl_rows_close(rows);
    return false;
}

/* The state of the aggregate function that takes the rows. */
typedef struct taker {
    pl_rows *rows;
    pl_take_row take;
    void *user;
} taker;

static void take_row(sqlite3_context *context, int num_values, sqlite3_value **values) {
    const taker *t = sqlite3_user_data(context);
    (void)num_values;
    if (!pl_database_is_well(t->rows->database))
        return;
    t->rows->values = values;
    t->rows->row++;
    t->take(t->user, t->rows);
    if (!pl_database_is_well(t->rows->database))
        sqlite3_result_error(context, "refused", -1); /* ends the query */
}

static void end_rows(sqlite3_context *context) {
    sqlite3_result_null(context);
}

void pl_rows_each(pl_rows *rows, const char *tail, pl_take_row take, void *user) {
    const size_t num_columns = pl_table_width(rows->table);
    sqlite3 *sqlite = rows->database->sqlite;
    sqlite3_stmt *statement = NULL;
    taker t = {.rows = rows, .take = take, .user = user};
    pl_text sql = {0};
    static const char names[] = "a,b,c,d,e,f,g,h,i,j,k,l";
    const int length = 2 * (int)num_columns - 1;
    _Static_assert(sizeof names / 2 == PL_MAX_COLUMNS, "one for each column");
    /* SQLite must not change the order of the inner query of an aggregate function */
    pl_text_format(&sql, "WITH r(%.*s) AS (", length, names);
    const bool found = add_query(rows->database, rows->table, tail, &sql);
    pl_text_format(&sql, ") SELECT popliner_take(%.*s) FROM r", length, names);
    int code = found ? SQLITE_NOMEM : SQLITE_OK;
    if (found && !sql.failed)
        code = sqlite3_create_function_v2(sqlite, "popliner_take", (int)num_columns, SQLITE_UTF8,
                                          &t, NULL, take_row, end_rows, NULL);
    if (found && code == SQLITE_OK)
        code = sqlite3_prepare_v2(sqlite, sql.data, -1, &statement, NULL);
    if (code == SQLITE_NOMEM)
        pl_outcome_fail_memory(&rows->database->outcome, "a query");
    else if (code != SQLITE_OK)
        pl_database_fail(rows->database, "reading a table");
    else if (found && sqlite3_step(statement) != SQLITE_ROW)
        fail_at_row(rows); /* unless `take` has failed */
    sqlite3_finalize(statement);
    free(sql.data);
    rows->values = NULL;
}

/* A value of the current row. No other thread uses the connection, so all are as good as protected
 * ones. */
static sqlite3_value *value_of(const pl_rows *rows, int column) {
    return rows->values != NULL ? rows->values[column]
                                : sqlite3_column_value(rows->statement, column);
}

int64_t pl_rows_integer(const pl_rows *rows, int column) {
    return sqlite3_value_int64(value_of(rows, column));
}

double pl_rows_real(const pl_rows *rows, int column) {
    return sqlite3_value_double(value_of(rows, column));
}

bool pl_rows_find_number(const pl_rows *rows, int column, uint64_t *value) {
    sqlite3_value *own = value_of(rows, column);
    const int64_t number = sqlite3_value_int64(own);
    if (sqlite3_value_type(own) != SQLITE_INTEGER || number < 0)
        return false;
    *value = (uint64_t)number;
    return true;
}

uint64_t pl_rows_number(pl_rows *rows, int column, uint64_t max) {
    uint64_t number;
    if (pl_rows_find_number(rows, column, &number) && number <= max)
        return number;
    if (pl_rows_is_null(rows, column))
        pl_rows_fail(rows, column, "is NULL, expected a number");
    else if (sqlite3_value_type(value_of(rows, column)) != SQLITE_INTEGER)
        pl_rows_fail(rows, column, "is not a whole number");
    else
        pl_rows_fail(rows, column, "is %lld, expected 0 to %llu",
                     (long long)pl_rows_integer(rows, column), (unsigned long long)max);
    return 0;
}

uint64_t pl_rows_number_or(pl_rows *rows, int column, uint64_t max, uint64_t otherwise) {
    return pl_rows_is_null(rows, column) ? otherwise : pl_rows_number(rows, column, max);
}

bool pl_rows_is_null(const pl_rows *rows, int column) {
    return sqlite3_value_type(value_of(rows, column)) == SQLITE_NULL;
}

const char *pl_rows_text(pl_rows *rows, int column) {
    const unsigned char *text = sqlite3_value_text(value_of(rows, column));
    return text == NULL ? "" : (const char *)text;
}

const uint8_t *pl_rows_blob(pl_rows *rows, int column, size_t *size) {
    static const uint8_t nothing[1] = {0};
    sqlite3_value *value = value_of(rows, column);
    const void *blob = sqlite3_value_blob(value);
    *size = (size_t)sqlite3_value_bytes(value);
    return blob != NULL ? blob : nothing; /* readers compute its end */
}

void pl_rows_fail(const pl_rows *rows, int column, const char *format, ...) {
    char problem[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    pl_outcome_fail(&rows->database->outcome, POPLINER_ERROR_INPUT,
                    "%s: table %s, row %zu: column %s %s", rows->database->path, rows->table->name,
                    rows->row, rows->table->columns[column].name, problem);
}
