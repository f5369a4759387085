/* Growing arrays and text at their edges: what does not fit, what is empty, what is
 * formatted, what fails half-way.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

/* ---- memory that can be refused ---- */

static size_t num_granted = SIZE_MAX; /* before the first refusal */
static size_t num_asked;

void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_realloc(void *memory, size_t size) {
    return num_asked++ < num_granted ? __real_realloc(memory, size) : NULL;
}

static void grant(size_t num_allocations) {
    num_granted = num_allocations;
    num_asked = 0;
}

/* ---- arrays ---- */

static void refuses_more_bytes_than_an_address_counts(void **state) {
    (void)state;
    uint64_t *items = NULL;
    size_t capacity = 0;
    assert_true(pl_grow(&items, &capacity, 3, sizeof *items));
    assert_true(capacity >= 3);
    size_t before = capacity;
    const uint64_t *same = items;
    assert_false(pl_grow(&items, &capacity, SIZE_MAX / 8 + 1, sizeof *items));
    assert_false(pl_grow(&items, &capacity, SIZE_MAX, sizeof *items));
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
        size_t before = capacity;
        assert_true(pl_grow(&numbers, &capacity, i + 1, sizeof *numbers));
        numbers[i] = i;
        moves += capacity != before;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(numbers[i], i);
    assert_true(moves < 30); /* by half as much again, not one by one */
    free(numbers);
}

static void keeps_an_array_that_cannot_grow(void **state) {
    (void)state;
    uint32_t *numbers = NULL;
    size_t capacity = 0;
    assert_true(pl_grow(&numbers, &capacity, 1, sizeof *numbers));
    numbers[0] = 7;
    size_t before = capacity;
    grant(0);
    bool room = pl_grow(&numbers, &capacity, before + 1, sizeof *numbers);
    bool room_in_it = pl_grow(&numbers, &capacity, before, sizeof *numbers);
    grant(SIZE_MAX);
    assert_false(room);
    assert_true(room_in_it);
    assert_int_equal(capacity, before);
    assert_int_equal(numbers[0], 7);
    free(numbers);
}

/* ---- the rest ---- */

static void makes_empty_arrays(void **state) {
    (void)state;
    uint64_t *none = pl_new_array(0, sizeof *none);
    assert_non_null(none);
    assert_int_equal(none[0], 0);
    free(none);
}

static void frees_arrays_of_one_owner_together(void **state) {
    (void)state;
    pl_arrays own = {0};
    for (size_t count = 0; count < 20; count++) {
        uint64_t *made = pl_arrays_new(&own, count, sizeof *made);
        assert_non_null(made);
        assert_int_equal((uintptr_t)made % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(made[i], 0);
        memset(made, 0xff, count * sizeof *made);
    }
    assert_false(own.failed);
    assert_null(pl_arrays_new(&own, SIZE_MAX / 4, sizeof(uint64_t)));
    assert_true(own.failed);
    assert_null(pl_arrays_new(&own, 1, 1)); /* once it has failed */
    pl_arrays_free(&own);
    assert_false(own.failed);
    assert_null(own.last);
    pl_arrays_free(&own);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_more_bytes_than_an_address_counts),
        cmocka_unit_test(keeps_what_was_there_while_growing),
        cmocka_unit_test(keeps_an_array_that_cannot_grow),
        cmocka_unit_test(makes_empty_arrays),
        cmocka_unit_test(frees_arrays_of_one_owner_together),
        cmocka_unit_test(formats_text_behind_text),
        cmocka_unit_test(does_nothing_after_a_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
