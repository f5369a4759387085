/* Members of documents by path.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <string.h>

#include "popliner/report.h"

static void reads_members_by_path(void **state) {
    (void)state;
    popliner_document *d = NULL;
    double value = 5;
    assert_int_equal(popliner_document_parse(
                         "{\"a\": [{\"b\": 1.5, \"is\": true}, \"x\", null], \"c\": {}}", &d, NULL),
                     POPLINER_OK);
    assert_true(popliner_document_number(d, "a.0.b", &value));
    assert_true(value == 1.5);
    assert_true(popliner_document_number(d, "a.0.is", &value));
    assert_true(value == 1);
    assert_string_equal(popliner_document_text(d, "a.1"), "x");
    assert_int_equal(popliner_document_count(d, "a"), 3);
    assert_int_equal(popliner_document_count(d, "a.0"), 2);
    assert_int_equal(popliner_document_count(d, ""), 2);
    static const char *const missing[] = {"b", "a.3", "a.x", "a.-1", "a.0.b.c", "a.2", "c.c", "a."};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        assert_false(popliner_document_number(d, missing[i], &value));
        assert_null(popliner_document_text(d, missing[i]));
    }
    assert_int_equal(popliner_document_count(d, "c.c"), 0);
    popliner_document_free(d);
    popliner_document_free(NULL);
}

static void refuses_other_texts(void **state) {
    (void)state;
    popliner_error error;
    popliner_document *d = NULL;
    assert_int_equal(popliner_document_parse("{\n\"a\": }", &d, &error), POPLINER_ERROR_INPUT);
    assert_null(d);
    assert_non_null(strstr(error.message, "line 2, column 6"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_members_by_path),
        cmocka_unit_test(refuses_other_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
