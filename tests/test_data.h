/* Helpers that tests of reading share: where the data is, files and directories of a test, arrays,
 * and a listener that remembers what it received.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_TEST_DATA_H
#define PL_TESTS_TEST_DATA_H

#include "cases.h"
#include "test.h"

#include <stdbool.h>

#include "popliner/error.h"

enum { TEST_MOST_CASES = 32, TEST_CASE_NAME = 64 };

/* The names of the golden cases in alphabetic order; 0 when there are none. They are folders of
 * tests/golden or of ../shared/golden, whichever exists first. The quick run has one for each
 * framework. */
size_t test_golden_cases(char names[TEST_MOST_CASES][TEST_CASE_NAME]);

/* The path of a golden case's file, or of a file of the real profile; NULL, with a message, when it
 * is not there: then skip(). The caller frees it. */
char *test_golden_file(const char *golden_case, const char *file);
char *test_firehose_file(const char *file);

/* The files of a golden case. */
typedef struct test_golden_files {
    const char *name; /* of the case */
    const char *profile;
    const char *debug;
} test_golden_files;

/* Calls `check` with the files of every golden case, both of which must be there; skips the test if
 * there is no case. */
void test_each_golden_case(void (*check)(void *user, const test_golden_files *files), void *user);

/* Like test_golden_file, for a file of ../shared/data, and for a file of the project, which must
 * exist. */
char *test_shared_file(const char *file);
char *test_project_file(const char *file);

/* Setup and teardown: *state is the path of a new, empty directory, removed with all in it. */
int test_begin_directory(void **state);
int test_end_directory(void **state);

/* The same, in the list of a file's tests. */
#define IN_DIRECTORY(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, test_begin_directory, test_end_directory)

/* directory/name; the caller frees it. */
char *test_path(const char *directory, const char *name);

/* The bytes of a file, which must exist; the caller frees them. */
uint8_t *test_read_bytes(const char *path, size_t *size);
void test_write_bytes(const char *path, const void *bytes, size_t size);

/* Like test_write_bytes, for an existing file, in place: file systems hurry to the disk with one
 * that is emptied and written again. */
void test_rewrite_bytes(const char *path, const void *bytes, size_t size);

/* A zeroed array; the caller frees it. */
void *test_new_array(size_t count, size_t item_size);

uint64_t test_sum(const uint64_t *values, size_t count);

/* Stops what asks whether to stop, at the question after as many as the size_t says that `left`
 * points to, which is counted down. */
bool test_stop_after(void *left);

/* The messages that a listener received: how often and what last, by level, and whether progress
 * ended. */
typedef struct test_told {
    size_t messages[4];
    char last[4][2048];
    uint64_t progress_done;
    uint64_t progress_total;
} test_told;

/* A listener that fills `told`, which is zeroed first. */
popliner_listener test_listen(test_told *told);

/* Whether the library solves integer programs; if not, says that what needs them is left out. */
bool test_has_glpk(void);

/* Asserts that a message is one sentence: no line end, no second sentence, not cut. */
void test_assert_sentence(const char *message);

#endif
