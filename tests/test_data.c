/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include "popliner/solver.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "popliner/error.h"

char *test_path(const char *directory, const char *name) {
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    assert_non_null(path);
    snprintf(path, size, "%s/%s", directory, name);
    return path;
}

/* ---- Data ----------------------------------------------------------------------------------- */

static bool is_directory(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static const char *golden_directory(void) {
    static const char *const places[] = {
        PROJECT_DIRECTORY "/tests/golden",
        PROJECT_DIRECTORY "/../shared/golden",
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (is_directory(places[i]))
            return places[i];
    }
    return NULL;
}

static bool is_quick_case(const char *name) {
    return strcmp(name, "popart-inf") == 0 || strcmp(name, "poptorch-train-outline") == 0 ||
           strcmp(name, "tensorflow-train") == 0;
}

static int compare_names(const void *left, const void *right) {
    return strcmp(left, right);
}

size_t test_golden_cases(char names[TEST_MOST_CASES][TEST_CASE_NAME]) {
    const char *golden = golden_directory();
    DIR *folders = golden == NULL ? NULL : opendir(golden);
    size_t count = 0;
    struct dirent *entry;
    while (folders != NULL && (entry = readdir(folders)) != NULL) {
        char *folder = test_path(golden, entry->d_name);
        char *profile = test_path(folder, "profile.pop");
        if (entry->d_name[0] != '.' && access(profile, R_OK) == 0 &&
            (is_quick_case(entry->d_name) || test_takes_all())) {
            assert_true(count < TEST_MOST_CASES && strlen(entry->d_name) < TEST_CASE_NAME);
            strcpy(names[count++], entry->d_name);
        }
        free(profile);
        free(folder);
    }
    if (folders != NULL)
        closedir(folders);
    qsort(names, count, TEST_CASE_NAME, compare_names);
    if (count == 0)
        print_message("no golden cases in tests/golden or ../shared/golden\n");
    return count;
}

/* The path if something can be read there, else NULL. */
static char *if_readable(char *path) {
    if (access(path, R_OK) == 0)
        return path;
    print_message("missing: %s\n", path);
    free(path);
    return NULL;
}

char *test_golden_file(const char *golden_case, const char *file) {
    const char *golden = golden_directory();
    if (golden == NULL) {
        print_message("no golden cases in tests/golden or ../shared/golden\n");
        return NULL;
    }
    char *folder = test_path(golden, golden_case);
    char *path = test_path(folder, file);
    free(folder);
    return if_readable(path);
}

void test_each_golden_case(void (*check)(void *user, const test_golden_files *files), void *user) {
    char names[TEST_MOST_CASES][TEST_CASE_NAME];
    size_t count = test_golden_cases(names);
    if (count == 0)
        test_skip("its data is in ../shared alone");
    for (size_t i = 0; i < count; i++) {
        char *profile = test_golden_file(names[i], "profile.pop");
        char *debug = test_golden_file(names[i], "debug.cbor");
        assert_true(profile != NULL && debug != NULL);
        check(user, &(test_golden_files){names[i], profile, debug});
        free(profile);
        free(debug);
    }
}

char *test_firehose_file(const char *file) {
    return if_readable(test_path(PROJECT_DIRECTORY "/../shared/data/firehose", file));
}

char *test_shared_file(const char *file) {
    return if_readable(test_path(PROJECT_DIRECTORY "/../shared/data", file));
}

char *test_project_file(const char *file) {
    char *path = if_readable(test_path(PROJECT_DIRECTORY, file));
    assert_non_null(path);
    return path;
}

/* ---- Files and directories ------------------------------------------------------------------ */

int test_begin_directory(void **state) {
    const char *place = getenv("TMPDIR");
    char *path = test_path(place == NULL || *place == '\0' ? "/tmp" : place, "popliner-XXXXXX");
    *state = path;
    return mkdtemp(path) == NULL;
}

static void remove_all(const char *path) {
    if (unlink(path) == 0 || !is_directory(path))
        return;        /* a link to a directory, too: what it leads to stays */
    chmod(path, 0700); /* a test may have made it read-only */
    DIR *entries = opendir(path);
    struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *inner = test_path(path, entry->d_name);
        remove_all(inner);
        free(inner);
    }
    if (entries != NULL)
        closedir(entries);
    rmdir(path);
}

int test_end_directory(void **state) {
    remove_all(*state);
    free(*state);
    return 0;
}

uint8_t *test_read_bytes(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    struct stat about;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    *size = (size_t)about.st_size;
    uint8_t *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

void test_write_bytes(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (size > 0)
        assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void test_rewrite_bytes(const char *path, const void *bytes, size_t size) {
    int file = open(path, O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, size, 0), size);
    assert_int_equal(ftruncate(file, (off_t)size), 0);
    close(file);
}

/* ---- Arrays --------------------------------------------------------------------------------- */

void *test_new_array(size_t count, size_t item_size) {
    void *items = calloc(count + 1, item_size);
    assert_non_null(items);
    return items;
}

bool test_stop_after(void *left) {
    size_t *num_questions = left;
    if (*num_questions == 0)
        return true;
    --*num_questions;
    return false;
}

uint64_t test_sum(const uint64_t *values, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static void on_message(void *user, popliner_level level, const char *text) {
    test_told *told = user;
    assert_true(level <= POPLINER_LEVEL_ERROR);
    told->messages[level]++;
    snprintf(told->last[level], sizeof told->last[level], "%s", text);
}

static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    test_told *told = user;
    assert_non_null(task);
    told->progress_done = done;
    told->progress_total = total;
}

popliner_listener test_listen(test_told *told) {
    *told = (test_told){0};
    return (popliner_listener){.user = told, .message = on_message, .progress = on_progress};
}

void test_assert_sentence(const char *message) {
    size_t length = strlen(message);
    assert_true(length > 0 && length + 1 < sizeof((popliner_error *)0)->message);
    assert_null(strchr(message, '\n'));
    assert_null(strstr(message, ". "));
    assert_int_not_equal(message[length - 1], '.');
}

bool test_has_glpk(void) {
    if (!popliner_solver_has_glpk())
        print_message("left out: the library was built without GLPK\n[  SKIPPED ] what_needs_it\n");
    return popliner_solver_has_glpk();
}
