/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"

popliner_status pl_database_fail(const pl_database *database, const char *action,
                                 popliner_error *error) {
    int code = sqlite3_errcode(database->sqlite);
    if (code == SQLITE_NOMEM)
        return pl_fail_memory(error, "the database");
    if (code == SQLITE_INTERRUPT)
        return pl_fail(error, POPLINER_ERROR_STOPPED, "%s: %s was stopped", database->path, action);
    const char *remedy =
        code == SQLITE_CORRUPT ? "; the file is damaged or was cut off, write it again" : "";
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: %s failed: %s%s", database->path, action,
                   sqlite3_errmsg(database->sqlite), remedy);
}

const char *pl_database_why_not_opened(sqlite3 *sqlite, const char *path) {
    const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    /* SQLite needs space for the longest name of a companion file */
    size_t room = strlen("-journal");
    if (vfs != NULL && sqlite3_errcode(sqlite) == SQLITE_CANTOPEN &&
        strlen(path) + room > (size_t)vfs->mxPathname)
        return "its absolute path is too long for SQLite; use a shorter one";
    return sqlite3_errmsg(sqlite);
}

popliner_status pl_database_has_table(const pl_database *database, const char *table, bool *found,
                                      popliner_error *error) {
    sqlite3_stmt *statement = NULL;
    bool is_plain = true;
    /* tables without a root page are computed: views, and virtual tables */
    int code = sqlite3_prepare_v2(database->sqlite,
                                  "SELECT type = 'table' AND rootpage > 0 FROM sqlite_master WHERE "
                                  "type IN ('table', 'view') AND name = ?1 COLLATE NOCASE",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        is_plain = sqlite3_column_int(statement, 0) != 0;
    popliner_status status = POPLINER_OK;
    if (!is_plain)
        status = pl_fail(error, POPLINER_ERROR_INPUT,
                         "%s: %s is a view or a virtual table; a profile has only ordinary tables",
                         database->path, table);
    else if (code == SQLITE_ROW || code == SQLITE_DONE)
        *found = code == SQLITE_ROW;
    else
        status = pl_database_fail(database, "reading the list of tables", error);
    sqlite3_finalize(statement);
    return status;
}

static const char *what_tells(const pl_database *database, const char *table, const char *column) {
    return database->tells == NULL ? NULL : database->tells(table, column);
}

static popliner_status fail_without_column(const pl_database *database, const char *table,
                                           const char *column, popliner_error *error) {
    const char *tells = what_tells(database, table, column);
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: table %s has no column %s%s%s%s%s",
                   database->path, table, column, tells == NULL ? "" : " (",
                   tells == NULL ? "" : tells, tells == NULL ? "" : ")", database->format);
}

static popliner_status fail_without_table(const pl_database *database, const char *table,
                                          popliner_error *error) {
    const char *tells = what_tells(database, table, NULL);
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: has no table %s%s%s%s%s", database->path,
                   table, tells == NULL ? "" : " (", tells == NULL ? "" : tells,
                   tells == NULL ? "" : ")", database->format);
}

/* Sets present[i] for each of its columns that the table has. */
static popliner_status find_columns(const pl_database *database, const pl_table *table,
                                    bool *present, popliner_error *error) {
    const pl_column *columns = table->columns;
    size_t num_columns = table->num_columns;
    sqlite3_stmt *statement = NULL;
    popliner_status status = POPLINER_OK;
    int code = sqlite3_prepare_v2(database->sqlite, "SELECT name FROM pragma_table_info(?1)", -1,
                                  &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        const char *name =
            code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        for (size_t i = 0; name != NULL && i < num_columns; i++) {
            if (sqlite3_stricmp(name, columns[i].name) == 0)
                present[i] = true;
        }
    }
    if (code != SQLITE_DONE)
        status = pl_database_fail(database, "reading the columns of a table", error);
    sqlite3_finalize(statement);
    return status;
}

/* Returns the first required column that the table does not have; NULL if it has all. */
static const pl_column *first_absent(const pl_table *table, const bool *present) {
    for (size_t i = 0; i < table->num_columns; i++) {
        if (table->columns[i].required && !present[i])
            return &table->columns[i];
    }
    return NULL;
}

popliner_status pl_database_has_column(const pl_database *database, const char *name,
                                       const char *column, bool *found, popliner_error *error) {
    const pl_column columns[] = {{column, false}};
    const pl_table table = {name, PL_TABLE_OPTIONAL, columns, 1, ""};
    *found = false;
    return find_columns(database, &table, found, error);
}

popliner_status pl_list_columns(const pl_database *database, const pl_table *table, bool *found,
                                pl_text *sql, popliner_error *error) {
    bool present[PL_MAX_COLUMNS] = {false};
    popliner_status status = pl_database_has_table(database, table->name, found, error);
    if (status == POPLINER_OK && !*found && table->need == PL_TABLE_REQUIRED)
        return fail_without_table(database, table->name, error);
    if (status == POPLINER_OK && *found) {
        status = find_columns(database, table, present, error);
        const pl_column *absent = first_absent(table, present);
        if (status == POPLINER_OK && absent != NULL && table->need == PL_TABLE_WHOLE)
            *found = false;
        else if (status == POPLINER_OK && absent != NULL)
            status = fail_without_column(database, table->name, absent->name, error);
    }
    for (size_t i = 0; i < table->num_columns; i++) {
        pl_text_add(sql, i > 0 ? ", " : "");
        if (present[i])
            pl_text_format(sql, "\"%s\"", table->columns[i].name);
        else
            pl_text_add(sql, "NULL");
    }
    if (status == POPLINER_OK && sql->failed)
        status = pl_fail_memory(error, "a query");
    return status;
}

popliner_status pl_rows_open(pl_rows *rows, const pl_database *database, const pl_table *table,
                             popliner_error *error) {
    *rows = (pl_rows){.database = database, .table = table->name, .columns = table->columns};
    bool found = false;
    pl_text list = {0};
    pl_text sql = {0};
    popliner_status status = pl_list_columns(database, table, &found, &list, error);
    if (status != POPLINER_OK || !found)
        goto done;
    pl_text_format(&sql, "SELECT %s FROM \"%s\" %s", list.data, table->name, table->tail);
    if (sql.failed)
        status = pl_fail_memory(error, "a query");
    else if (sqlite3_prepare_v2(database->sqlite, sql.data, -1, &rows->statement, NULL) !=
             SQLITE_OK)
        status = pl_database_fail(database, "reading a table", error);
done:
    free(list.data);
    free(sql.data);
    return status;
}

void pl_rows_close(pl_rows *rows) {
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
}

static popliner_status fail_at_row(const pl_rows *rows, popliner_error *error) {
    char action[120];
    snprintf(action, sizeof action, "reading table %s, row %zu,", rows->table, rows->row + 1);
    return pl_database_fail(rows->database, action, error);
}

popliner_status pl_rows_next(pl_rows *rows, bool *more, popliner_error *error) {
    *more = false;
    if (rows->statement == NULL)
        return POPLINER_OK;
    int code = sqlite3_step(rows->statement);
    if (code == SQLITE_ROW) {
        rows->row++;
        *more = true;
        return POPLINER_OK;
    }
    return code == SQLITE_DONE ? POPLINER_OK : fail_at_row(rows, error);
}

popliner_status pl_table_read(const pl_database *database, const pl_table *table, pl_take_row take,
                              void *user, popliner_error *error) {
    pl_rows rows = {0};
    bool more = false;
    popliner_status status = pl_rows_open(&rows, database, table, error);
    while (status == POPLINER_OK) {
        status = pl_rows_next(&rows, &more, error);
        if (status != POPLINER_OK || !more)
            break;
        status = take(user, &rows, error);
    }
    pl_rows_close(&rows);
    return status;
}

/* The state of the aggregate function that takes the rows. */
typedef struct taker {
    pl_rows *rows;
    pl_take_row take;
    void *user;
    popliner_status status;
    popliner_error *error;
} taker;

static void take_row(sqlite3_context *context, int num_values, sqlite3_value **values) {
    taker *t = sqlite3_user_data(context);
    (void)num_values;
    if (t->status != POPLINER_OK)
        return;
    t->rows->values = values;
    t->rows->row++;
    t->status = t->take(t->user, t->rows, t->error);
    if (t->status != POPLINER_OK)
        sqlite3_result_error(context, "refused", -1); /* ends the query */
}

static void end_rows(sqlite3_context *context) {
    sqlite3_result_null(context);
}

popliner_status pl_rows_each(pl_rows *rows, const char *query, size_t num_columns, pl_take_row take,
                             void *user, popliner_error *error) {
    sqlite3 *sqlite = rows->database->sqlite;
    sqlite3_stmt *statement = NULL;
    taker t = {.rows = rows, .take = take, .user = user, .error = error};
    pl_text sql = {0};
    popliner_status status = POPLINER_OK;
    pl_text names = {0};
    for (size_t i = 0; i < num_columns; i++)
        pl_text_format(&names, "%sc%zu", i > 0 ? ", " : "", i);
    /* SQLite must not change the order of the inner query of an aggregate function */
    if (!names.failed)
        pl_text_format(&sql, "WITH r(%s) AS (%s) SELECT popliner_take(%s) FROM r", names.data,
                       query, names.data);
    int code = SQLITE_NOMEM;
    if (!names.failed && !sql.failed)
        code = sqlite3_create_function_v2(sqlite, "popliner_take", (int)num_columns, SQLITE_UTF8,
                                          &t, NULL, take_row, end_rows, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(sqlite, sql.data, -1, &statement, NULL);
    if (code == SQLITE_NOMEM)
        status = pl_fail_memory(error, "a query");
    else if (code != SQLITE_OK)
        status = pl_database_fail(rows->database, "reading a table", error);
    else if (sqlite3_step(statement) != SQLITE_ROW)
        status = t.status != POPLINER_OK ? t.status : fail_at_row(rows, error);
    sqlite3_finalize(statement);
    free(names.data);
    free(sql.data);
    rows->values = NULL;
    return status;
}

bool pl_rows_plain_numbers(const pl_rows *rows, size_t num_columns, int64_t *values) {
    for (size_t i = 0; i < num_columns; i++) {
        int type = sqlite3_value_type(rows->values[i]);
        values[i] = type == SQLITE_INTEGER ? sqlite3_value_int64(rows->values[i]) : -1;
        if (values[i] < 0 && type != SQLITE_NULL)
            return false;
    }
    return true;
}

static int type_of(const pl_rows *rows, int column) {
    return rows->values != NULL ? sqlite3_value_type(rows->values[column])
                                : sqlite3_column_type(rows->statement, column);
}

popliner_status pl_rows_number_or(pl_rows *rows, int column, uint64_t max, uint64_t otherwise,
                                  uint64_t *value, popliner_error *error) {
    if (pl_rows_is_null(rows, column)) {
        *value = otherwise;
        return POPLINER_OK;
    }
    return pl_rows_number(rows, column, max, value, error);
}

popliner_status pl_rows_number(pl_rows *rows, int column, uint64_t max, uint64_t *value,
                               popliner_error *error) {
    int type = type_of(rows, column);
    if (type == SQLITE_NULL)
        return pl_rows_fail(rows, column, error, "is NULL, expected a number");
    if (type != SQLITE_INTEGER)
        return pl_rows_fail(rows, column, error, "is not a whole number");
    sqlite3_int64 number = rows->values != NULL ? sqlite3_value_int64(rows->values[column])
                                                : sqlite3_column_int64(rows->statement, column);
    if (number < 0 || (uint64_t)number > max)
        return pl_rows_fail(rows, column, error, "is %lld, expected 0 to %llu", number,
                            (unsigned long long)max);
    *value = (uint64_t)number;
    return POPLINER_OK;
}

bool pl_rows_told(const pl_rows *rows, int column, uint64_t *value) {
    if (sqlite3_column_type(rows->statement, column) != SQLITE_INTEGER)
        return false;
    sqlite3_int64 number = sqlite3_column_int64(rows->statement, column);
    if (number < 0)
        return false;
    *value = (uint64_t)number;
    return true;
}

bool pl_rows_is_null(const pl_rows *rows, int column) {
    return type_of(rows, column) == SQLITE_NULL;
}

const char *pl_rows_text(pl_rows *rows, int column) {
    const unsigned char *text = rows->values != NULL ? sqlite3_value_text(rows->values[column])
                                                     : sqlite3_column_text(rows->statement, column);
    return text == NULL ? "" : (const char *)text;
}

const uint8_t *pl_rows_blob(pl_rows *rows, int column, size_t *size) {
    static const uint8_t nothing[1] = {0};
    const void *blob = NULL;
    if (rows->values != NULL) {
        blob = sqlite3_value_blob(rows->values[column]);
        *size = (size_t)sqlite3_value_bytes(rows->values[column]);
    } else {
        blob = sqlite3_column_blob(rows->statement, column);
        *size = (size_t)sqlite3_column_bytes(rows->statement, column);
    }
    return blob != NULL ? blob : nothing; /* readers compute its end */
}

popliner_status pl_rows_fail(const pl_rows *rows, int column, popliner_error *error,
                             const char *format, ...) {
    char problem[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return pl_fail(error, POPLINER_ERROR_INPUT, "%s: table %s, row %zu: column %s %s",
                   rows->database->path, rows->table, rows->row, rows->columns[column].name,
                   problem);
}

/* ---- The progress of reading ---- */

uint64_t pl_file_bytes(const char *path) {
    struct stat info;
    return path != NULL && stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

void pl_reading_progress_tell(const pl_reading_progress *p) {
    const double pieces =
        p->num_pieces == 0 ? 0 : (double)atomic_load(&p->pieces_done) / (double)p->num_pieces;
    const double percent = p->percent + p->next_percent * pieces;
    pl_progress(p->listener, "Reading the profile",
                p->debug_done + (uint64_t)((double)p->profile_bytes / 100 * percent),
                p->debug_bytes + p->profile_bytes);
}

void pl_reading_progress_next(pl_reading_progress *p, unsigned percent) {
    p->percent += p->next_percent;
    p->next_percent = percent - p->percent;
    p->num_pieces = 0;
    atomic_store(&p->pieces_done, 0);
    if (p->percent > 0) /* before that, nothing is read */
        pl_reading_progress_tell(p);
}

static void on_message(void *user, popliner_level level, const char *text) {
    const pl_reading_progress *p = user;
    pl_tell(p->listener, level, "%s", text);
}

static void on_debug_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    pl_reading_progress *p = user;
    (void)task;
    p->debug_done = done < total ? done : p->debug_bytes;
    pl_reading_progress_tell(p);
}

popliner_listener pl_reading_progress_of_debug(pl_reading_progress *progress) {
    popliner_listener listener = POPLINER_LISTENER_INIT;
    listener.user = progress;
    listener.message = on_message;
    listener.progress = on_debug_progress;
    return listener;
}
