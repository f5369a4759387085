/* Growing arrays and text at their edges: what does not fit, what is empty, what is formatted.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

static void refuses_more_bytes_than_an_address_counts(void **state) {
    (void)state;
    void *items = NULL;
    size_t capacity = 0;
    assert_true(pl_reserve(&items, &capacity, 3, 8));
    assert_true(capacity >= 3);
    size_t before = capacity;
    void *same = items;
    assert_false(pl_reserve(&items, &capacity, SIZE_MAX / 8 + 1, 8));
    assert_false(pl_reserve(&items, &capacity, SIZE_MAX, 16));
    assert_ptr_equal(items, same);
    assert_int_equal(capacity, before);
    free(items);
}

static void keeps_what_was_there_while_growing(void **state) {
    (void)state;
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    size_t moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        void *items = numbers;
        size_t before = capacity;
        assert_true(pl_reserve(&items, &capacity, i + 1, sizeof *numbers));
        numbers = items;
        numbers[i] = i;
        moves += capacity != before;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(numbers[i], i);
    assert_true(moves < 30); /* by half as much again, not one by one */
    free(numbers);
}

static void makes_empty_arrays(void **state) {
    (void)state;
    uint64_t *none = pl_new_array(0, sizeof *none);
    assert_non_null(none);
    assert_int_equal(none[0], 0);
    free(none);
}

static void formats_text_behind_text(void **state) {
    (void)state;
    pl_text text = {0};
    char expected[4000] = "";
    for (int i = 0; i < 400; i++) {
        char piece[32];
        /* of every length around the growing capacity, the empty one too */
        pl_text_format(&text, "%.*s", i % 9, "abcdefgh");
        snprintf(piece, sizeof piece, "%.*s", i % 9, "abcdefgh");
        strcat(expected, piece);
        assert_int_equal(text.length, strlen(expected));
        assert_string_equal(text.data, expected);
    }
    pl_text_format(&text, "%s", "");
    pl_text_add(&text, "");
    pl_text_append(&text, "xyz", 2);
    strcat(expected, "xy");
    assert_string_equal(text.data, expected);
    assert_false(text.failed);
    free(text.data);
}

static void does_nothing_after_a_failure(void **state) {
    (void)state;
    pl_text text = {0};
    pl_text_add(&text, "kept");
    text.failed = true;
    pl_text_add(&text, "more");
    pl_text_format(&text, "%d", 7);
    assert_string_equal(text.data, "kept");
    assert_int_equal(text.length, 4);
    free(text.data);
}

static void copies_strings(void **state) {
    (void)state;
    char *copy = pl_copy_string("abc", 2);
    assert_string_equal(copy, "ab");
    free(copy);
    copy = pl_copy_string(NULL, 0);
    assert_string_equal(copy, "");
    free(copy);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_more_bytes_than_an_address_counts),
        cmocka_unit_test(keeps_what_was_there_while_growing),
        cmocka_unit_test(makes_empty_arrays),
        cmocka_unit_test(formats_text_behind_text),
        cmocka_unit_test(does_nothing_after_a_failure),
        cmocka_unit_test(copies_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
