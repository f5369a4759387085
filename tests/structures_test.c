/* The library tells how large its structures are, and what their macros make.
 * That none is missing is tests/python/layout_test.py's to see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <string.h>

#include "popliner/popliner.h"

static const popliner_structure *find(const char *name) {
    const popliner_structure *it = NULL;
    for (size_t i = 0; (it = popliner_structure_at(i)) != NULL && strcmp(it->name, name) != 0; i++)
        continue;
    return it;
}

static void structures_are_in_order(void **state) {
    (void)state;
    size_t count = 0;
    for (; popliner_structure_at(count + 1) != NULL; count++)
        assert_true(
            strcmp(popliner_structure_at(count)->name, popliner_structure_at(count + 1)->name) < 0);
    assert_true(count > 50);
    assert_null(popliner_structure_at(count + 2));
    assert_null(popliner_structure_at(SIZE_MAX));
}

static void sizes_are_those_of_the_compiler(void **state) {
    (void)state;
    assert_int_equal(find("popliner_error")->size_bytes, sizeof(popliner_error));
    assert_int_equal(find("popliner_stage_detail")->size_bytes, sizeof(popliner_stage_detail));
    assert_int_equal(find("popliner_request")->size_bytes, sizeof(popliner_request));
    assert_null(find("popliner_error")->initial);
    assert_null(find("popliner_analysis")); /* it is opaque */
}

static void what_macros_make_begins_with_its_size(void **state) {
    (void)state;
    size_t num_begun = 0;
    const popliner_structure *it;
    for (size_t i = 0; (it = popliner_structure_at(i)) != NULL; i++) {
        size_t struct_size = 0;
        if (it->initial == NULL)
            continue;
        memcpy(&struct_size, it->initial, sizeof struct_size);
        assert_int_equal(struct_size, it->size_bytes);
        num_begun++;
    }
    assert_true(num_begun > 20);
}

static void defaults_are_those_of_the_macros(void **state) {
    (void)state;
    const popliner_solver_options *solver = find("popliner_solver_options")->initial;
    assert_int_equal(solver->num_ipus, 16);
    assert_true(solver->mem_per_tile == POPLINER_TARGET_BYTES);
    const popliner_request *request = find("popliner_request")->initial;
    assert_int_equal(request->memory_model, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(request->effects, POPLINER_EFFECTS_ALL);
    const popliner_analysis_options *options = find("popliner_analysis_options")->initial;
    assert_true(options->ipu == SIZE_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structures_are_in_order),
        cmocka_unit_test(sizes_are_those_of_the_compiler),
        cmocka_unit_test(what_macros_make_begins_with_its_size),
        cmocka_unit_test(defaults_are_those_of_the_macros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
