/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scarce_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sqlite3.h>
#include <zlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static bool is_scarce;
static bool is_for_good;
static size_t num_granted; /* before the first refusal */
static size_t num_asked;
static int64_t num_blocks; /* allocated and not freed yet */

static bool may_allocate(void) {
    if (!is_scarce)
        return true;
    size_t number = num_asked++;
    return number < num_granted || (number > num_granted && !is_for_good);
}

/* ---- the C library: the linker puts these in the place of its functions ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size) {
    void *memory = may_allocate() ? __real_malloc(size) : NULL;
    num_blocks += memory != NULL;
    return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = may_allocate() ? __real_calloc(count, size) : NULL;
    num_blocks += memory != NULL;
    return memory;
}

void *__wrap_realloc(void *memory, size_t size) {
    void *grown = may_allocate() ? __real_realloc(memory, size) : NULL;
    num_blocks += memory == NULL && grown != NULL;
    return grown;
}

void __wrap_free(void *memory) {
    num_blocks -= memory != NULL;
    __real_free(memory);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode) {
    if (may_allocate())
        return __real_fopen(path, mode);
    errno = ENOMEM;
    return NULL;
}

int __real_compress2(Bytef *to, uLongf *room, const Bytef *from, uLong length, int level);
int __wrap_compress2(Bytef *to, uLongf *room, const Bytef *from, uLong length, int level);

/* zlib allocates where it cannot be counted. */
int __wrap_compress2(Bytef *to, uLongf *room, const Bytef *from, uLong length, int level) {
    return may_allocate() ? __real_compress2(to, room, from, length, level) : Z_MEM_ERROR;
}

/* The C library's own of these allocate where it cannot be counted. */

char *__wrap_strndup(const char *text, size_t length);
char *__wrap_strdup(const char *text);
char *__wrap_realpath(const char *path, char *resolved);

char *__wrap_strndup(const char *text, size_t length) {
    const size_t own = strnlen(text, length);
    char *copy = malloc(own + 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, text, own);
    copy[own] = '\0';
    return copy;
}

char *__wrap_strdup(const char *text) {
    return __wrap_strndup(text, strlen(text));
}

char *__wrap_realpath(const char *path, char *resolved) {
    assert(resolved == NULL);
    (void)resolved; /* without assertions */
    char *copy = __wrap_strdup(path);
    if (copy == NULL)
        errno = ENOMEM;
    return copy;
}

/* ---- jansson ---- */

static void *json_allocate(size_t size) {
    return malloc(size);
}

static void json_free(void *memory) {
    free(memory);
}

/* ---- PCRE2: a pattern without a context of its own gets one that refuses ---- */

static void *regex_allocate(PCRE2_SIZE size, void *user) {
    (void)user;
    return malloc(size);
}

static void regex_free(void *memory, void *user) {
    (void)user;
    free(memory);
}

/* Made with plenty of memory, before anything is refused. */
static pcre2_general_context *regex_general;
static pcre2_compile_context *regex_context;

pcre2_code *__real_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE length, uint32_t options,
                                   int *code, PCRE2_SIZE *offset, pcre2_compile_context *context);
pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE length, uint32_t options,
                                   int *code, PCRE2_SIZE *offset, pcre2_compile_context *context);
pcre2_match_context *__real_pcre2_match_context_create_8(pcre2_general_context *general);
pcre2_match_context *__wrap_pcre2_match_context_create_8(pcre2_general_context *general);

pcre2_code *__wrap_pcre2_compile_8(PCRE2_SPTR pattern, PCRE2_SIZE length, uint32_t options,
                                   int *code, PCRE2_SIZE *offset, pcre2_compile_context *context) {
    assert_null(context);
    return __real_pcre2_compile_8(pattern, length, options, code, offset, regex_context);
}

pcre2_match_context *__wrap_pcre2_match_context_create_8(pcre2_general_context *general) {
    assert_null(general);
    return __real_pcre2_match_context_create_8(regex_general);
}

/* ---- SQLite, which asks how large a block is ---- */

static void *sqlite_allocate(int size) {
    sqlite3_int64 *block = malloc(sizeof *block + (size_t)size);
    if (block == NULL)
        return NULL;
    *block = size;
    return block + 1;
}

static void sqlite_free(void *memory) {
    if (memory != NULL)
        free((sqlite3_int64 *)memory - 1);
}

static void *sqlite_reallocate(void *memory, int size) {
    sqlite3_int64 *block = realloc((sqlite3_int64 *)memory - 1, sizeof *block + (size_t)size);
    if (block == NULL)
        return NULL;
    *block = size;
    return block + 1;
}

static int sqlite_size(void *memory) {
    return memory == NULL ? 0 : (int)((sqlite3_int64 *)memory)[-1];
}

static int sqlite_round_up(int size) {
    return (size + 7) & ~7;
}

static int sqlite_begin(void *user) {
    (void)user;
    return SQLITE_OK;
}

static void sqlite_end(void *user) {
    (void)user;
}

/* ---- the check ---- */

void scarce_memory_prepare(void) {
    static const sqlite3_mem_methods methods = {
        sqlite_allocate, sqlite_free,  sqlite_reallocate, sqlite_size,
        sqlite_round_up, sqlite_begin, sqlite_end,        NULL};
    json_set_alloc_funcs(json_allocate, json_free);
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK ||
        sqlite3_initialize() != SQLITE_OK)
        abort();
    regex_general = pcre2_general_context_create(regex_allocate, regex_free, NULL);
    regex_context = pcre2_compile_context_create(regex_general);
    if (regex_context == NULL)
        abort();
}

size_t scarce_memory_check(const char *what, scarce_memory_task task, void *user) {
    char *expected = NULL;
    popliner_error error = {.message = ""};
    if (task(user, &expected, &error) != POPLINER_OK)
        fail_msg("%s: %s", what, error.message);
    assert_non_null(expected);
    size_t num_allocations = 0;
    for (int for_good = 0; for_good < 2; for_good++) {
        is_for_good = for_good != 0;
        num_granted = 0;
        for (bool is_refused = true; is_refused; num_granted++) {
            char *text = NULL;
            int64_t blocks_before = num_blocks;
            error = (popliner_error){.message = ""};
            num_asked = 0;
            is_scarce = true;
            popliner_status status = task(user, &text, &error);
            is_scarce = false;
            is_refused = num_asked > num_granted;
            if (!is_refused)
                num_allocations = num_asked;
            const char *how = is_for_good ? "and all later ones" : "alone";
            if (status == POPLINER_OK && (text == NULL || strcmp(text, expected) != 0))
                fail_msg("%s: allocation %zu %s refused: OK with '%s'", what, num_granted, how,
                         text == NULL ? "" : text);
            if (status != POPLINER_OK &&
                (status != POPLINER_ERROR_MEMORY || error.status != status || !is_refused))
                fail_msg("%s: allocation %zu %s refused: status %d: %s", what, num_granted, how,
                         (int)status, error.message);
            if (status != POPLINER_OK &&
                (text != NULL || strncmp(error.message, "not enough memory for ", 22) != 0))
                fail_msg("%s: allocation %zu %s refused: %s", what, num_granted, how,
                         error.message);
            free(text);
            if (num_blocks != blocks_before)
                fail_msg("%s: allocation %zu %s refused: %lld blocks left behind", what,
                         num_granted, how, (long long)(num_blocks - blocks_before));
        }
    }
    free(expected);
    return num_allocations;
}
