/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kept_connections.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "fuzz.h"

/* The linker (--wrap) has the library call __wrap_X for X, and calls X itself __real_X. */
int __real_sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
int __real_sqlite3_close(sqlite3 *);
int __real_sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int __real_sqlite3_finalize(sqlite3_stmt *);
int __real_sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *,
                        char **);
int __real_sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
                                      void (*)(sqlite3_context *, int, sqlite3_value **),
                                      void (*)(sqlite3_context *, int, sqlite3_value **),
                                      void (*)(sqlite3_context *), void (*)(void *));
void *__real_sqlite3_user_data(sqlite3_context *);
int __wrap_sqlite3_open_v2(const char *, sqlite3 **, int, const char *);
int __wrap_sqlite3_close(sqlite3 *);
int __wrap_sqlite3_prepare_v2(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
int __wrap_sqlite3_finalize(sqlite3_stmt *);
int __wrap_sqlite3_exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *,
                        char **);
int __wrap_sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
                                      void (*)(sqlite3_context *, int, sqlite3_value **),
                                      void (*)(sqlite3_context *, int, sqlite3_value **),
                                      void (*)(sqlite3_context *), void (*)(void *));
void *__wrap_sqlite3_user_data(sqlite3_context *);

enum { MAX_CONNECTIONS = 4, NUM_BUCKETS = 256, MAX_STATEMENTS = 1000, MAX_FUNCTIONS = 32 };

typedef struct kept_statement {
    struct kept_statement *next;
    sqlite3_stmt *statement;
    bool is_used;
    size_t length;
    char sql[];
} kept_statement;

/* An aggregate function: another one of the same name and number of arguments takes its place, for
 * which SQLite itself would prepare all statements again. */
typedef struct kept_function {
    int num_arguments;
    void *user;
    void (*step)(sqlite3_context *, int, sqlite3_value **);
    void (*end)(sqlite3_context *);
} kept_function;

typedef struct kept_connection {
    sqlite3 *sqlite; /* NULL: none */
    char *name;
    bool is_used;
    bool has_settings; /* a pragma has run: again it would do nothing but have all prepared again */
    size_t num_used;   /* statements */
    size_t num_statements;
    kept_statement *buckets[NUM_BUCKETS];
    kept_function functions[MAX_FUNCTIONS];
    size_t num_functions;
} kept_connection;

static kept_connection connections[MAX_CONNECTIONS];
static const char *kept_path;

void kept_connections_use(const char *path, bool is_kept) {
    kept_path = is_kept ? path : NULL;
}

static kept_connection *find_connection(const sqlite3 *sqlite) {
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        if (connections[i].sqlite == sqlite)
            return &connections[i];
    }
    return NULL;
}

int __wrap_sqlite3_open_v2(const char *name, sqlite3 **sqlite, int flags, const char *vfs) {
    if (kept_path == NULL || (flags & SQLITE_OPEN_READONLY) == 0 ||
        strstr(name, kept_path) == NULL || strstr(name, "immutable") != NULL)
        return __real_sqlite3_open_v2(name, sqlite, flags, vfs);
    kept_connection *unused = NULL;
    for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
        kept_connection *c = &connections[i];
        if (c->sqlite == NULL) {
            unused = c;
        } else if (!c->is_used && strcmp(c->name, name) == 0) {
            c->is_used = true;
            *sqlite = c->sqlite;
            return SQLITE_OK;
        }
    }
    const int code = __real_sqlite3_open_v2(name, sqlite, flags, vfs);
    if (code == SQLITE_OK && unused != NULL) {
        *unused = (kept_connection){.sqlite = *sqlite, .is_used = true};
        unused->name = strdup(name);
    }
    return code;
}

static void forget_statements(kept_connection *c) {
    for (size_t i = 0; i < NUM_BUCKETS; i++) {
        while (c->buckets[i] != NULL) {
            kept_statement *s = c->buckets[i];
            c->buckets[i] = s->next;
            __real_sqlite3_finalize(s->statement);
            free(s);
        }
    }
    c->num_statements = 0;
}

int __wrap_sqlite3_close(sqlite3 *sqlite) {
    kept_connection *c = sqlite == NULL ? NULL : find_connection(sqlite);
    if (c == NULL)
        return __real_sqlite3_close(sqlite);
    FUZZ_CHECK(c->is_used && c->num_used == 0);
    c->is_used = false;
    sqlite3_progress_handler(sqlite, 0, NULL, NULL); /* what it works on may go now */
    if (sqlite3_get_autocommit(sqlite) == 0)
        FUZZ_CHECK(__wrap_sqlite3_exec(sqlite, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK);
    if (c->num_statements > MAX_STATEMENTS)
        forget_statements(c);
    return SQLITE_OK;
}

static size_t bucket_of(const char *sql, size_t length) {
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = hash * 31 + (uint8_t)sql[i];
    return (size_t)((hash ^ hash >> 17) % NUM_BUCKETS);
}

int __wrap_sqlite3_prepare_v2(sqlite3 *sqlite, const char *sql, int size, sqlite3_stmt **statement,
                              const char **rest) {
    kept_connection *c = find_connection(sqlite);
    if (c == NULL || size >= 0 || rest != NULL)
        return __real_sqlite3_prepare_v2(sqlite, sql, size, statement, rest);
    const size_t length = strlen(sql);
    const size_t bucket = bucket_of(sql, length);
    kept_statement *s = c->buckets[bucket];
    while (s != NULL && (s->is_used || s->length != length || memcmp(s->sql, sql, length) != 0))
        s = s->next;
    if (s == NULL) {
        const int code = __real_sqlite3_prepare_v2(sqlite, sql, size, statement, NULL);
        if (code != SQLITE_OK || *statement == NULL)
            return code;
        s = malloc(sizeof *s + length + 1);
        FUZZ_CHECK(s != NULL);
        *s =
            (kept_statement){.next = c->buckets[bucket], .statement = *statement, .length = length};
        memcpy(s->sql, sql, length + 1);
        c->buckets[bucket] = s;
        c->num_statements++;
    }
    s->is_used = true;
    c->num_used++;
    *statement = s->statement;
    return SQLITE_OK;
}

int __wrap_sqlite3_finalize(sqlite3_stmt *statement) {
    kept_connection *c = statement == NULL ? NULL : find_connection(sqlite3_db_handle(statement));
    if (c == NULL)
        return __real_sqlite3_finalize(statement);
    const char *sql = sqlite3_sql(statement);
    const size_t length = strlen(sql);
    for (kept_statement *s = c->buckets[bucket_of(sql, length)]; s != NULL; s = s->next) {
        if (s->statement == statement) {
            s->is_used = false;
            c->num_used--;
            sqlite3_clear_bindings(statement);
            return sqlite3_reset(statement);
        }
    }
    return __real_sqlite3_finalize(statement);
}

int __wrap_sqlite3_exec(sqlite3 *sqlite, const char *sql,
                        int (*take)(void *, int, char **, char **), void *user, char **message) {
    kept_connection *c = find_connection(sqlite);
    if (c == NULL || take != NULL || message != NULL)
        return __real_sqlite3_exec(sqlite, sql, take, user, message);
    if (strncmp(sql, "PRAGMA", 6) == 0) {
        const int code =
            c->has_settings ? SQLITE_OK : __real_sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
        c->has_settings = code == SQLITE_OK;
        return code;
    }
    while (*sql != '\0') {
        char one[200];
        sqlite3_stmt *statement;
        const size_t length = strcspn(sql, ";");
        FUZZ_CHECK(length < sizeof one);
        memcpy(one, sql, length);
        one[length] = '\0';
        sql += length + (sql[length] == ';');
        int code = __wrap_sqlite3_prepare_v2(sqlite, one, -1, &statement, NULL);
        while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
            code = SQLITE_OK;
        const int ended = statement == NULL ? code : __wrap_sqlite3_finalize(statement);
        if (code != SQLITE_DONE || ended != SQLITE_OK)
            return ended;
    }
    return SQLITE_OK;
}

static void step_kept(sqlite3_context *context, int num_values, sqlite3_value **values) {
    ((kept_function *)__real_sqlite3_user_data(context))->step(context, num_values, values);
}

static void end_kept(sqlite3_context *context) {
    ((kept_function *)__real_sqlite3_user_data(context))->end(context);
}

int __wrap_sqlite3_create_function_v2(sqlite3 *sqlite, const char *name, int num_arguments,
                                      int encoding, void *user,
                                      void (*one)(sqlite3_context *, int, sqlite3_value **),
                                      void (*step)(sqlite3_context *, int, sqlite3_value **),
                                      void (*end)(sqlite3_context *), void (*forget)(void *)) {
    kept_connection *c = find_connection(sqlite);
    if (c == NULL)
        return __real_sqlite3_create_function_v2(sqlite, name, num_arguments, encoding, user, one,
                                                 step, end, forget);
    FUZZ_CHECK(one == NULL && forget == NULL);
    const kept_function made = {num_arguments, user, step, end};
    for (size_t i = 0; i < c->num_functions; i++) {
        if (c->functions[i].num_arguments == num_arguments) {
            c->functions[i] = made;
            return SQLITE_OK;
        }
    }
    FUZZ_CHECK(c->num_functions < MAX_FUNCTIONS);
    kept_function *f = &c->functions[c->num_functions++];
    *f = made;
    return __real_sqlite3_create_function_v2(sqlite, name, num_arguments, encoding, f, NULL,
                                             step_kept, end_kept, NULL);
}

void *__wrap_sqlite3_user_data(sqlite3_context *context) {
    void *user = __real_sqlite3_user_data(context);
    kept_connection *c = find_connection(sqlite3_context_db_handle(context));
    return c == NULL ? user : ((kept_function *)user)->user;
}
