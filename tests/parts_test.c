/* The table of the parts of a stage's memory: every part has a whole row, of its own.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <string.h>

#include "memory/parts.h"
#include "popliner/utilities.h"

static void every_part_has_a_row(void **state) {
    (void)state;
    for (int part = 0; part < POPLINER_NUM_PARTS; part++) {
        const pl_part_row *info = &pl_parts[part];
        assert_non_null(info->name);
        assert_ptr_equal(info->column, popliner_name_of(POPLINER_NAMED_PART, (size_t)part));
        assert_non_null(info->text);
        assert_true(strlen(info->text) > 0);
        assert_string_equal(info->column + strlen(info->column) - strlen("_bytes"), "_bytes");
        for (int other = 0; other < part; other++) {
            assert_string_not_equal(info->name, pl_parts[other].name);
            assert_string_not_equal(info->column, pl_parts[other].column);
        }
        assert_true(pl_parts[part].place <= PL_PART_NOWHERE);
    }
    assert_null(popliner_name_of(POPLINER_NAMED_PART, POPLINER_NUM_PARTS));
    assert_null(popliner_name_of(POPLINER_NAMED_PART, SIZE_MAX));
}

static void groups_of_code_are_parts_with_a_category(void **state) {
    (void)state;
    for (int group = 0; group < PL_NUM_CODE_GROUPS; group++)
        assert_true(pl_parts[PL_FIRST_CODE + group].category != PL_CATEGORY_OTHER);
    assert_int_equal(PL_FIRST_CODE + PL_VERTEX_STATE, POPLINER_PART_VERTEX_STATE);
    assert_int_equal(PL_FIRST_CODE + PL_CONTROL_CODE, POPLINER_PART_CONTROL_CODE);
}

static void adds_up_what_is_within_no_other(void **state) {
    (void)state;
    uint64_t bytes[POPLINER_NUM_PARTS];
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        bytes[part] = UINT64_C(1) << part;
    assert_int_equal(pl_parts_sum(bytes), (UINT64_C(1) << POPLINER_NUM_PARTS) - 1 -
                                              bytes[POPLINER_PART_UNEXPLAINED_ALWAYS_LIVE] -
                                              bytes[POPLINER_PART_PARAMETERS]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_has_a_row),
        cmocka_unit_test(groups_of_code_are_parts_with_a_category),
        cmocka_unit_test(adds_up_what_is_within_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
