/* Regular expressions: the results agree with Python's re.findall, which PopLiner uses, and no
 * pattern or text makes matching crash or last.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/regex.h"

static bool add_to_text(void *user, const char *result) {
    pl_text_format(user, "[%s]", result);
    return true;
}

/* All results, each in brackets. */
static char *find_all(const char *pattern, const char *text, size_t length) {
    pl_regex *regex;
    popliner_error error = {.message = ""};
    pl_text found = {0};
    pl_text_add(&found, "");
    if (pl_regex_compile(pattern, "regex", &regex, &error) != POPLINER_OK ||
        pl_regex_find_all(regex, text, length, add_to_text, &found, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    pl_regex_free(regex);
    return found.data;
}

static void assert_finds(const char *pattern, const char *text, const char *expected) {
    char *found = find_all(pattern, text, strlen(text));
    if (strcmp(found, expected) != 0)
        fail_msg("%s in '%s' finds %s instead of %s", pattern, text, found, expected);
    free(found);
    /* the interpreter agrees with the compiled code */
    char interpreted[200];
    snprintf(interpreted, sizeof interpreted, "(*NO_JIT)%s", pattern);
    found = find_all(interpreted, text, strlen(text));
    assert_string_equal(found, expected);
    free(found);
}

static void joins_the_groups_of_a_match(void **state) {
    (void)state;
    assert_finds("(?:layer)(\\d+)(?:_(\\d+))?", "layer1_2/layer3", "[12][3]");
    assert_finds("(\\w)(\\w)", "abcd\u00e9", "[ab][cd]");
    assert_finds("(^|/)(\\d)", "1/2/3", "[1][/2][/3]");
}

static void takes_the_whole_match_without_groups(void **state) {
    (void)state;
    assert_finds("\\d+", "layer12/3", "[12][3]");
    assert_finds("(?:Layer)\\d", "Layer1/Layer2", "[Layer1][Layer2]");
    assert_finds("(?<=/)\\w", "a/b/c", "[b][c]");
    assert_finds("nothing", "layer12/3", "");
}

static void leaves_unset_groups_empty(void **state) {
    (void)state;
    assert_finds("(a)|b", "abab", "[a][][a][]");
    assert_finds("(a)|(b)", "ab c", "[a][b]");
    assert_finds("(b)?", "ab", "[][b][]");
    assert_finds("(?=(\\w\\w))", "abcd", "[ab][bc][cd]");
}

static void finds_empty_matches_as_python_does(void **state) {
    (void)state;
    assert_finds("a*", "baac", "[][aa][][]");
    assert_finds("", "abc", "[][][][]");
    assert_finds("()", "ab", "[][][]");
    assert_finds("x?", "", "[]");
    assert_finds("\\w+", "", "");
    assert_finds("$", "ab\n", "[][]");
    assert_finds("\\b", "ab cd", "[][][][]");
    assert_finds("\\b|\\w+", "ab cd", "[][ab][][][cd][]");
    assert_finds("a|(?=b)", "aab", "[a][a][]");
    assert_finds("|a", "aab", "[][a][][a][][]");
    assert_finds("(?:a|(?=x))", "xaax", "[][a][a][]");
    assert_finds("\\w*?", "ab", "[][a][][b][]");
}

static void steps_over_whole_characters(void **state) {
    (void)state;
    assert_finds("x*", "a\u00e9b", "[][][][]");
    assert_finds("\u00e9*", "a\u00e9\u00e9b\u00fc", "[][\u00e9\u00e9][][][]");
    assert_finds("(.)", "\u65e5\u672c", "[\u65e5][\u672c]");
    assert_finds("", "\U0001f600", "[][]");
    /* \d and \w know more than ASCII, in Python as here */
    assert_finds("\\d+", "layer\u0663/12", "[\u0663][12]");
}

static void accepts_texts_that_are_no_utf8(void **state) {
    (void)state;
    /* a lonely continuation byte, a cut-off character, a byte that never occurs */
    static const char text[] = "a\x80"
                               "1\xe6\x97"
                               "2\xff"
                               "3\xf0\x9f\x98";
    assert_finds("\\d", text, "[1][2][3]");
    /* how many empty matches there are is not defined, only that they end */
    char *found = find_all("x*", text, sizeof text - 1);
    assert_int_equal(strspn(found, "[]"), strlen(found));
    assert_true(strlen(found) <= 2 * sizeof text);
    free(found);
    for (int byte = 1; byte < 256; byte++) {
        const char one[] = {(char)byte, 'b', (char)byte};
        found = find_all("b|", one, sizeof one);
        assert_non_null(strstr(found, "[b]"));
        free(found);
    }
}

static void treats_a_nul_as_any_character(void **state) {
    (void)state;
    static const char text[] = "layer1\0layer2";
    char *found = find_all("layer(\\d)", text, sizeof text - 1);
    assert_string_equal(found, "[1][2]");
    free(found);
}

static void ends_whatever_moves_the_start_of_a_match(void **state) {
    (void)state;
    static const char *const patterns[] = {
        "a\\Kb",
        "a\\K",
        "(?=ab\\K)",
        "(?<=\\Ka)b?",
        "(?=a\\K)|b",
        "\\Kab|\\K",
        "(?<=a)\\K|b\\K",
        "(?=(?1))(\\Ka)?",
        "(?|(a\\K)|(b))",
        "(?=(a\\K.)?)",
        "(*ACCEPT)",
        "a(*SKIP)b|.",
        "(?:(?=(?1))|(a\\Kb))",
        "(?<=(?1))(\\Ka)|$",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        pl_regex *regex;
        popliner_error error;
        /* PCRE2 refuses some of them, depending on its version */
        if (pl_regex_compile(patterns[i], "regex", &regex, &error) != POPLINER_OK) {
            assert_int_equal(error.status, POPLINER_ERROR_USAGE);
            continue;
        }
        pl_text found = {0};
        popliner_status status =
            pl_regex_find_all(regex, "abababab", 8, add_to_text, &found, &error);
        assert_true(status == POPLINER_OK || status == POPLINER_ERROR_USAGE);
        assert_true(found.length < 200);
        free(found.data);
        pl_regex_free(regex);
    }
    assert_finds("a\\Kb", "abab", "[b][b]");
}

static void tells_whether_a_text_matches(void **state) {
    (void)state;
    pl_regex *regex;
    popliner_error error;
    bool matches;
    assert_int_equal(pl_regex_compile("(word|Dict)", "regex", &regex, &error), POPLINER_OK);
    assert_int_equal(pl_regex_matches(regex, "x/word_y", 8, &matches, NULL, &error), POPLINER_OK);
    assert_true(matches);
    assert_int_equal(pl_regex_matches(regex, "x/wor_y", 7, &matches, NULL, &error), POPLINER_OK);
    assert_false(matches);
    assert_int_equal(pl_regex_matches(regex, "", 0, &matches, NULL, &error), POPLINER_OK);
    assert_false(matches);
    pl_regex_free(regex);
}

static void says_where_a_pattern_is_wrong(void **state) {
    (void)state;
    static const struct {
        const char *pattern;
        const char *offset;
    } wrong[] = {
        {"Layer(\\d+", "at offset 9"},
        {"a[", "at offset 2"},
        {"*a", "at offset 0"},
        {"ab\\", "at offset 3"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pl_regex *regex;
        popliner_error error;
        assert_int_equal(pl_regex_compile(wrong[i].pattern, "name_regex", &regex, &error),
                         POPLINER_ERROR_USAGE);
        assert_null(regex);
        assert_int_equal(error.status, POPLINER_ERROR_USAGE);
        assert_non_null(strstr(error.message, "name_regex"));
        assert_non_null(strstr(error.message, wrong[i].pattern));
        if (strstr(error.message, wrong[i].offset) == NULL)
            fail_msg("%s is not %s", error.message, wrong[i].offset);
    }
    pl_regex *regex;
    popliner_error error;
    /* a pattern that is no UTF-8 */
    assert_int_equal(pl_regex_compile("a\xff", "regex", &regex, &error), POPLINER_ERROR_USAGE);
}

static void gives_up_on_patterns_that_explode(void **state) {
    (void)state;
    char name[2001];
    memset(name, 'a', sizeof name);
    name[1999] = '!';
    name[2000] = '\0';
    static const char *const patterns[] = {"(a+)+$", "(*NO_JIT)(a+)+$", "(?:a|a?)+$",
                                           "(*NO_JIT)(?:a|a?)+$"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        pl_regex *regex;
        popliner_error error;
        pl_text found = {0};
        bool matches;
        clock_t begin = clock();
        assert_int_equal(pl_regex_compile(patterns[i], "name_regex", &regex, &error), POPLINER_OK);
        assert_int_equal(pl_regex_find_all(regex, name, strlen(name), add_to_text, &found, &error),
                         POPLINER_ERROR_USAGE);
        assert_non_null(strstr(error.message, "name_regex"));
        assert_non_null(strstr(error.message, "limit"));
        assert_int_equal(pl_regex_matches(regex, name, strlen(name), &matches, NULL, &error),
                         POPLINER_ERROR_USAGE);
        assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
        pl_regex_free(regex);
        free(found.data);
    }
}

static void matches_long_texts(void **state) {
    (void)state;
    /* the joined inputs of one operation can be long; compiled code has a small stack */
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = "ab"[i % 2];
    text[LENGTH] = '\0';
    memcpy(text + LENGTH - 7, "/layer3", 7);
    static const char *const patterns[] = {"layer(\\d)", "(?:a|b)*/layer(\\d)",
                                           "^(?:(?:a|b)+/)*layer(\\d)", "^.*/layer(\\d)"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        char *found = find_all(patterns[i], text, LENGTH);
        assert_string_equal(found, "[3]");
        free(found);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_the_groups_of_a_match),
        cmocka_unit_test(takes_the_whole_match_without_groups),
        cmocka_unit_test(leaves_unset_groups_empty),
        cmocka_unit_test(finds_empty_matches_as_python_does),
        cmocka_unit_test(steps_over_whole_characters),
        cmocka_unit_test(accepts_texts_that_are_no_utf8),
        cmocka_unit_test(treats_a_nul_as_any_character),
        cmocka_unit_test(ends_whatever_moves_the_start_of_a_match),
        cmocka_unit_test(tells_whether_a_text_matches),
        cmocka_unit_test(says_where_a_pattern_is_wrong),
        cmocka_unit_test(gives_up_on_patterns_that_explode),
        cmocka_unit_test(matches_long_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
