/* How reports write JSON: numbers with as few digits as tell them apart, texts as they are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "show/report_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_written(json_t *value, const char *expected) {
    pl_text text = {0};
    json_t *list = json_pack("[o]", value);
    char whole[100];
    assert_non_null(list);
    snprintf(whole, sizeof whole, "[\n    %s\n]\n", expected);
    assert_int_equal(pl_report_json(list, &text, NULL), POPLINER_OK);
    assert_string_equal(text.data, whole);
    free(text.data);
}

static void numbers_have_as_few_digits_as_tell_them_apart(void **state) {
    (void)state;
    assert_written(json_real(16.458), "16.458");
    assert_written(json_real(89.478601344), "89.478601344");
    assert_written(json_real(0.1), "0.1");
    assert_written(json_real(0.1 + 0.2), "0.30000000000000004");
    assert_written(json_real(-2.5), "-2.5");
    assert_written(json_real(3), "3.0");
    assert_written(json_real(0), "0.0");
    assert_written(json_real(5e-324), "4.94065645841247e-324");
    assert_written(json_real(1.7976931348623157e308), "1.7976931348623157e+308");
    assert_written(json_integer(INT64_MAX), "9223372036854775807");
}

static void texts_stay_as_they_are(void **state) {
    (void)state;
    assert_written(json_string("16.457999999999998"), "\"16.457999999999998\"");
    assert_written(json_string("\"16.457999999999998"), "\"\\\"16.457999999999998\"");
    assert_written(json_pack("{s:s}", "0.10000000000000001", "\""),
                   "{\n        \"0.10000000000000001\": \"\\\"\"\n    }");
}

/* Whatever a table of costs can hold of a file's times. */
static void times_are_written_as_they_were_read(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (size_t round = 0; round < 20000; ++round) {
        seed = test_random(seed);
        uint64_t billionths = seed >> (12 + round % 50);
        char expected[40];
        int length = snprintf(expected, sizeof expected, "%" PRIu64 ".%09" PRIu64,
                              billionths / 1000000000, billionths % 1000000000);
        while (expected[length - 1] == '0' && expected[length - 2] != '.')
            expected[--length] = '\0';
        if (billionths == 0 || billionths >= 100000) /* smaller ones have an exponent */
            assert_written(json_real((double)billionths / 1e9), expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_as_few_digits_as_tell_them_apart),
        cmocka_unit_test(texts_stay_as_they_are),
        cmocka_unit_test(times_are_written_as_they_were_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
