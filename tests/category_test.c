/* The categories that the library knows, against the names in a profile.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/category.h"

#include "test.h"

static void knows_each_name_as_one_category(void **state) {
    (void)state;
    assert_int_equal(pl_category_from_name(""), PL_CATEGORY_NAMELESS);
    assert_int_equal(pl_category_from_name("variable"), PL_CATEGORY_VARIABLE);
    assert_int_equal(pl_category_from_name("multiple"), PL_CATEGORY_MULTIPLE);
    assert_int_equal(pl_category_from_name("message"), PL_CATEGORY_MESSAGE);
    assert_int_equal(pl_category_from_name("globalMessage"), PL_CATEGORY_GLOBAL_MESSAGE);
    assert_int_equal(pl_category_from_name("outputEdge"), PL_CATEGORY_OUTPUT_EDGE);
    assert_int_equal(pl_category_from_name("rearrangement"), PL_CATEGORY_REARRANGEMENT);
    assert_int_equal(pl_category_from_name("constant"), PL_CATEGORY_CONSTANT);
    assert_int_equal(pl_category_from_name("vertexCode"), PL_CATEGORY_VERTEX_CODE);
    assert_int_equal(pl_category_from_name("vertexInstanceState"),
                     PL_CATEGORY_VERTEX_INSTANCE_STATE);
    assert_int_equal(pl_category_from_name("vertexFieldData"), PL_CATEGORY_VERTEX_FIELD_DATA);
    assert_int_equal(pl_category_from_name("copyDescriptor"), PL_CATEGORY_COPY_DESCRIPTOR);
    assert_int_equal(pl_category_from_name("internalExchangeCode"),
                     PL_CATEGORY_INTERNAL_EXCHANGE_CODE);
    assert_int_equal(pl_category_from_name("controlCode"), PL_CATEGORY_CONTROL_CODE);
}

static void takes_other_names_for_the_compilers_own(void **state) {
    (void)state;
    assert_int_equal(pl_category_from_name("stack"), PL_CATEGORY_OTHER);
    assert_int_equal(pl_category_from_name("Variable"), PL_CATEGORY_OTHER);
    assert_int_equal(pl_category_from_name("variables"), PL_CATEGORY_OTHER);
    assert_false(pl_category_is_model_data(PL_CATEGORY_OTHER));
    assert_false(pl_category_is_model_data(PL_CATEGORY_VERTEX_CODE));
    assert_true(pl_category_is_model_data(PL_CATEGORY_NAMELESS));
    assert_true(pl_category_is_model_data(PL_CATEGORY_MESSAGE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_each_name_as_one_category),
        cmocka_unit_test(takes_other_names_for_the_compilers_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
