/* The library tells how large its structures are, and what their macros make.
 * That none is missing is tests/python/layout_test.py's to see.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <string.h>

#include "popliner/popliner.h"

/* Finds a structure: its size, 0 if there is none, and the bytes that its macro sets. */
static size_t find(const char *name, const void **initial) {
    const char *it = NULL;
    size_t size_bytes = 0;
    for (size_t i = 0; (it = popliner_structure_at(i, &size_bytes, initial)) != NULL; i++)
        if (strcmp(it, name) == 0)
            return size_bytes;
    return 0;
}

static const char *name_at(size_t i) {
    return popliner_structure_at(i, NULL, NULL);
}

static void structures_are_in_order(void **state) {
    (void)state;
    size_t count = 0;
    for (; name_at(count + 1) != NULL; count++)
        assert_true(strcmp(name_at(count), name_at(count + 1)) < 0);
    assert_true(count > 50);
    assert_null(name_at(count + 2));
    assert_null(name_at(SIZE_MAX));
}

static void sizes_are_those_of_the_compiler(void **state) {
    (void)state;
    const void *initial = NULL;
    assert_int_equal(find("popliner_stage_detail", NULL), sizeof(popliner_stage_detail));
    assert_int_equal(find("popliner_request", NULL), sizeof(popliner_request));
    assert_int_equal(find("popliner_error", &initial), sizeof(popliner_error));
    assert_null(initial);
    assert_int_equal(find("popliner_analysis", NULL), 0); /* it is opaque */
}

static void what_macros_make_begins_with_its_size(void **state) {
    (void)state;
    size_t num_begun = 0;
    size_t size_bytes;
    const void *initial;
    for (size_t i = 0; popliner_structure_at(i, &size_bytes, &initial) != NULL; i++) {
        size_t struct_size = 0;
        if (initial == NULL)
            continue;
        memcpy(&struct_size, initial, sizeof struct_size);
        assert_int_equal(struct_size, size_bytes);
        num_begun++;
    }
    assert_true(num_begun > 20);
}

static void defaults_are_those_of_the_macros(void **state) {
    (void)state;
    const void *initial;
    assert_true(find("popliner_solver_options", &initial) > 0);
    const popliner_solver_options *solver = initial;
    assert_true(solver->min_units == POPLINER_USUAL_UNITS);
    assert_true(solver->mem_per_tile == POPLINER_TARGET_BYTES);
    assert_true(find("popliner_request", &initial) > 0);
    const popliner_request *request = initial;
    assert_int_equal(request->memory_model, POPLINER_MEMORY_MODEL_FULL);
    assert_int_equal(request->effects, POPLINER_EFFECTS_ALL);
    assert_true(find("popliner_analysis_options", &initial) > 0);
    const popliner_analysis_options *options = initial;
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
