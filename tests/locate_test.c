/* Finding the files of a report as PopART, PopTorch and TensorFlow lay them out.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "popliner/analysis.h"

/* An empty file at directory/name, in a sub-directory if `name` has a slash. */
static void touch(const char *directory, const char *name) {
    char *path = test_path(directory, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
    test_write_bytes(path, "x", 1);
    free(path);
}

static bool same_file(const char *left, const char *right) {
    struct stat a;
    struct stat b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Locates directory/`profile` and expects the two files, directory/..., or no debug if NULL. */
static void expect_found(const char *directory, const char *profile, const char *expected_profile,
                         const char *expected_debug) {
    popliner_error error = {0};
    char *path = test_path(directory, profile);
    char *profile_path;
    char *debug_path;
    assert_int_equal(popliner_analysis_locate(path, NULL, &profile_path, &debug_path, &error),
                     POPLINER_OK);
    char *expected = test_path(directory, expected_profile);
    assert_true(same_file(profile_path, expected));
    free(expected);
    if (expected_debug == NULL) {
        assert_null(debug_path);
    } else {
        expected = test_path(directory, expected_debug);
        assert_non_null(debug_path);
        assert_true(same_file(debug_path, expected));
        free(expected);
    }
    free(profile_path);
    free(debug_path);
    free(path);
}

static void finds_debug_information_beside_the_profile(void **state) {
    touch(*state, "r/profile.pop");
    touch(*state, "r/debug.cbor");
    expect_found(*state, "r/profile.pop", "r/profile.pop", "r/debug.cbor");
}

static void finds_debug_information_one_directory_up(void **state) {
    touch(*state, "debug.cbor");
    touch(*state, "training/profile.pop");
    expect_found(*state, "training/profile.pop", "training/profile.pop", "debug.cbor");
}

static void prefers_what_is_beside_the_profile(void **state) {
    touch(*state, "debug.cbor");
    touch(*state, "training/debug.cbor");
    touch(*state, "training/profile.pop");
    expect_found(*state, "training/profile.pop", "training/profile.pop", "training/debug.cbor");
}

static void looks_no_further_than_one_directory_up(void **state) {
    touch(*state, "debug.cbor");
    char *middle = test_path(*state, "a");
    mkdir(middle, 0700);
    touch(middle, "b/profile.pop");
    expect_found(middle, "b/profile.pop", "b/profile.pop", NULL);
    free(middle);
}

/* Its own name, while the engine lives, is another. */
static void takes_a_profile_of_any_name(void **state) {
    touch(*state, "r/profile_4gf7.pop");
    touch(*state, "r/debug.cbor");
    expect_found(*state, "r/profile_4gf7.pop", "r/profile_4gf7.pop", "r/debug.cbor");
}

static void takes_a_directory_for_the_profile(void **state) {
    touch(*state, "debug.cbor");
    touch(*state, "training/profile.pop");
    expect_found(*state, "training", "training/profile.pop", "debug.cbor");
    expect_found(*state, "training/", "training/profile.pop", "debug.cbor");
}

static void passes_over_a_directory_called_debug_cbor(void **state) {
    touch(*state, "debug.cbor");
    touch(*state, "r/profile.pop");
    char *path = test_path(*state, "r/debug.cbor");
    mkdir(path, 0700);
    free(path);
    expect_found(*state, "r/profile.pop", "r/profile.pop", "debug.cbor");
}

/* Reading tells what is wrong with it. */
static void finds_what_cannot_be_looked_at(void **state) {
    static const char *const targets[] = {"nowhere", "debug.cbor", "profile.pop/x"};
    touch(*state, "r/profile.pop");
    char *profile = test_path(*state, "r/profile.pop");
    char *debug = test_path(*state, "r/debug.cbor");
    for (size_t i = 0; i < 3; i++) {
        popliner_error error = {0};
        char *profile_path;
        char *debug_path;
        assert_int_equal(symlink(targets[i], debug), 0);
        assert_int_equal(
            popliner_analysis_locate(profile, NULL, &profile_path, &debug_path, &error),
            POPLINER_OK);
        assert_non_null(debug_path);
        assert_string_equal(debug_path, debug);
        free(debug_path);
        free(profile_path);
        assert_int_equal(unlink(debug), 0);
    }
    free(debug);
    free(profile);
}

static void finds_none(void **state) {
    touch(*state, "r/profile.pop");
    expect_found(*state, "r/profile.pop", "r/profile.pop", NULL);
    expect_found(*state, "r", "r/profile.pop", NULL);
}

static void takes_the_debug_information_that_was_named(void **state) {
    touch(*state, "r/profile.pop");
    touch(*state, "r/debug.cbor");
    char *profile = test_path(*state, "r/profile.pop");
    char *debug =
        test_path(*state, "elsewhere.cbor"); /* need not exist: whoever reads it says so */
    char *profile_path;
    char *debug_path;
    assert_int_equal(popliner_analysis_locate(profile, debug, &profile_path, &debug_path, NULL),
                     POPLINER_OK);
    assert_string_equal(profile_path, profile);
    assert_string_equal(debug_path, debug);
    free(profile_path);
    free(debug_path);
    free(profile);
    free(debug);
}

static void takes_names_without_a_slash(void **state) {
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    touch(*state, "debug.cbor");
    touch(*state, "training/profile.pop");
    char *training = test_path(*state, "training");
    assert_int_equal(chdir(training), 0);
    char *profile_path;
    char *debug_path;
    popliner_error error = {0};
    const char *const names[] = {"profile.pop", "./profile.pop", ".", "../training"};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            popliner_analysis_locate(names[i], NULL, &profile_path, &debug_path, &error),
            POPLINER_OK);
        assert_true(same_file(profile_path, "profile.pop"));
        assert_true(same_file(debug_path, "../debug.cbor"));
        free(profile_path);
        free(debug_path);
    }
    touch(training, "debug.cbor");
    assert_int_equal(
        popliner_analysis_locate("profile.pop", NULL, &profile_path, &debug_path, &error),
        POPLINER_OK);
    assert_true(same_file(debug_path, "debug.cbor"));
    free(profile_path);
    free(debug_path);
    assert_int_equal(chdir(before), 0);
    free(training);
}

static void says_what_is_missing(void **state) {
    touch(*state, "r/debug.cbor");
    const char *const names[] = {"nothing", "r", "r/profile.pop", "r/debug.cbor/profile.pop"};
    for (size_t i = 0; i < 4; i++) {
        popliner_error error = {0};
        char *path = test_path(*state, names[i]);
        char *profile_path = path;
        char *debug_path = path;
        assert_int_equal(popliner_analysis_locate(path, NULL, &profile_path, &debug_path, &error),
                         POPLINER_ERROR_INPUT);
        assert_int_equal(error.status, POPLINER_ERROR_INPUT);
        test_assert_sentence(error.message);
        assert_non_null(strstr(error.message, path));
        assert_null(profile_path);
        assert_null(debug_path);
        if (i == 1)
            assert_non_null(strstr(error.message, "profile.pop"));
        free(path);
    }
}

/* Whether the directory is refused with these words after its name. */
static void expect_refused(const char *directory, const char *words) {
    popliner_error error = {0};
    char *profile_path;
    char *debug_path;
    assert_int_equal(popliner_analysis_locate(directory, NULL, &profile_path, &debug_path, &error),
                     POPLINER_ERROR_INPUT);
    test_assert_sentence(error.message);
    assert_int_equal(strncmp(error.message, directory, strlen(directory)), 0);
    assert_string_equal(error.message + strlen(directory), words);
}

/* The reports of a directory, separated by blanks. */
static void expect_reports(const char *directory, const char *expected) {
    char found[200] = "";
    char **reports = NULL;
    popliner_error error;
    assert_int_equal(popliner_reports_find(directory, &reports, &error), POPLINER_OK);
    for (size_t i = 0; reports[i] != NULL; i++) {
        strcat(found, i == 0 ? "" : " ");
        strcat(found, reports[i]);
    }
    assert_string_equal(found, expected);
    free(reports);
}

static void lists_reports_by_the_bytes_of_their_names(void **state) {
    char **reports = NULL;
    popliner_error error = {0};
    expect_reports(*state, "");
    touch(*state, "b/profile.pop");
    touch(*state, "\xc3\xa9/profile.pop");
    touch(*state, "Z/profile.pop");
    touch(*state, ".hidden/profile.pop");
    touch(*state, "other/debug.cbor");
    touch(*state, "profile.pop"); /* the directory is one itself */
    expect_reports(*state, ".hidden Z b \xc3\xa9");
    char *file = test_path(*state, "profile.pop");
    char *nowhere = test_path(*state, "nowhere");
    assert_int_equal(popliner_reports_find(file, &reports, &error), POPLINER_ERROR_INPUT);
    assert_non_null(strstr(error.message, "profile.pop: cannot be read: Not a directory"));
    assert_null(reports);
    assert_int_equal(popliner_reports_find(nowhere, &reports, NULL), POPLINER_ERROR_INPUT);
    assert_null(reports);
    free(file);
    free(nowhere);
}

/* Reading them tells why; without them a directory would seem to hold fewer. */
static void lists_reports_that_cannot_be_examined(void **state) {
    touch(*state, "a/profile.pop");
    touch(*state, "b/debug.cbor");
    touch(*state, "file");
    char *odd = test_path(*state, "b/profile.pop");
    char *entry = test_path(*state, "c");
    char *lock = test_path(*state, ".lock");
    assert_int_equal(symlink("nowhere", odd), 0);
    assert_int_equal(symlink("nowhere", entry), 0);
    assert_int_equal(symlink("nowhere", lock), 0); /* as editors make them */
    expect_reports(*state, "a b c");
    assert_int_equal(unlink(odd), 0);
    expect_reports(*state, "a c");
    mkdir(odd, 0700);
    expect_reports(*state, "a b c");
    free(lock);
    free(entry);
    free(odd);
}

static void names_the_reports_in_a_directory(void **state) {
    touch(*state, "other/debug.cbor");
    touch(*state, "file");
    char *odd = test_path(*state, "odd/profile.pop");
    char *odd_directory = test_path(*state, "odd");
    mkdir(odd_directory, 0700);
    mkdir(odd, 0700); /* a directory is not a profile */
    expect_refused(*state, ": no profile.pop here");
    touch(*state, "training/profile.pop");
    expect_refused(*state, ": no profile.pop here; found training/; pass it");
    touch(*state, "inference/profile.pop");
    expect_refused(*state, ": no profile.pop here; found inference/ and training/; "
                           "pass one of them");
    touch(*state, "a/profile.pop");
    expect_refused(*state, ": no profile.pop here; found a/, inference/ and training/"
                           "; pass one of them");
    touch(*state, "b/profile.pop");
    touch(*state, "c/profile.pop");
    touch(*state, "d/profile.pop");
    expect_refused(*state, ": no profile.pop here; found a/, b/, c/, d/, inference/ "
                           "and 1 more; pass one of them");
    free(odd);
    free(odd_directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(finds_debug_information_beside_the_profile),
        IN_DIRECTORY(finds_debug_information_one_directory_up),
        IN_DIRECTORY(prefers_what_is_beside_the_profile),
        IN_DIRECTORY(looks_no_further_than_one_directory_up),
        IN_DIRECTORY(takes_a_profile_of_any_name),
        IN_DIRECTORY(takes_a_directory_for_the_profile),
        IN_DIRECTORY(passes_over_a_directory_called_debug_cbor),
        IN_DIRECTORY(finds_what_cannot_be_looked_at),
        IN_DIRECTORY(finds_none),
        IN_DIRECTORY(takes_the_debug_information_that_was_named),
        IN_DIRECTORY(takes_names_without_a_slash),
        IN_DIRECTORY(says_what_is_missing),
        IN_DIRECTORY(lists_reports_by_the_bytes_of_their_names),
        IN_DIRECTORY(lists_reports_that_cannot_be_examined),
        IN_DIRECTORY(names_the_reports_in_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
