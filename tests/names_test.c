/* Names are numbered in order of appearance, however many there are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdio.h>

#include "base/id_map.h"

static void numbers_names_by_appearance(void **state) {
    (void)state;
    pl_names names = {0};
    assert_int_equal(pl_names_number(&names, "b"), 0);
    assert_int_equal(pl_names_number(&names, ""), 1);
    assert_int_equal(pl_names_number(&names, "a"), 2);
    assert_int_equal(pl_names_number(&names, "b"), 0);
    assert_int_equal(pl_names_number(&names, ""), 1);
    assert_int_equal(names.count, 3);
    assert_string_equal(names.items[2], "a");
    pl_names_free(&names);
    assert_int_equal(names.count, 0);
}

static void finds_names_again_after_growing(void **state) {
    (void)state;
    enum { MANY = 5000 };
    pl_names names = {0};
    char name[20];
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < MANY; i++) {
            snprintf(name, sizeof name, "%zu", i * 7919);
            assert_int_equal(pl_names_number(&names, name), i);
        }
    }
    assert_int_equal(names.count, MANY);
    pl_names_free(&names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_names_by_appearance),
        cmocka_unit_test(finds_names_again_after_growing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
