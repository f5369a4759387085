/* Sorting numbers, against qsort.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

static int compare(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static void assert_sorts(pl_number_sort *sort, uint32_t *numbers, size_t count) {
    uint32_t *expected = malloc((count + 1) * sizeof *expected);
    assert_non_null(expected);
    if (count > 0)
        memcpy(expected, numbers, count * sizeof *expected);
    qsort(expected, count, sizeof *expected, compare);
    pl_number_sort_ascending(sort, numbers, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(numbers[i], expected[i]);
    free(expected);
}

/* Each bit of a word, by itself and with the next word's. */
static void finds_every_bit(void **state) {
    (void)state;
    enum { LIMIT = 3 * 4096 + 5 };
    pl_number_sort sort = {0};
    assert_true(pl_number_sort_begin(&sort, LIMIT));
    for (uint32_t i = 0; i < LIMIT; i++) {
        uint32_t numbers[] = {i, (i + 64) % LIMIT, LIMIT - 1};
        assert_sorts(&sort, numbers, 1);
        assert_sorts(&sort, numbers, i + 1 == LIMIT || i + 65 == LIMIT ? 2 : 3);
    }
    pl_number_sort_free(&sort);
}

/* As many and as large ones as may be, after others: nothing of those is left. */
static void sorts_what_qsort_does(void **state) {
    (void)state;
    static const size_t limits[] = {1, 2, 63, 64, 65, 4095, 4096, 4097, 50000};
    uint64_t random = 1;
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        size_t limit = limits[k];
        uint32_t *numbers = malloc(limit * sizeof *numbers);
        pl_number_sort sort = {0};
        assert_non_null(numbers);
        assert_true(pl_number_sort_begin(&sort, limit));
        assert_sorts(&sort, numbers, 0);
        for (size_t round = 0; round < 20; round++) {
            for (uint32_t i = 0; i < limit; i++) {
                size_t place = (size_t)pl_random_below(&random, i + 1);
                numbers[i] = numbers[place];
                numbers[place] = i;
            }
            size_t count = round == 0 ? limit : (size_t)pl_random_below(&random, limit + 1);
            assert_sorts(&sort, numbers, count);
        }
        pl_number_sort_free(&sort);
        free(numbers);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_bit),
        cmocka_unit_test(sorts_what_qsort_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
