/* How documents of JSON are written: numbers with as few digits as tell them apart, texts as they
 * are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks the text between the brackets of a list. */
static void assert_written(pl_json *json, const char *expected) {
    char whole[200];
    pl_put_close(json);
    snprintf(whole, sizeof whole, "[\n    %s\n]\n", expected);
    assert_false(json->text->failed);
    assert_string_equal(json->text->data, whole);
    free(json->text->data);
    *json->text = (pl_text){0};
}

static void begin(pl_json *json, pl_text *text) {
    *json = (pl_json){.text = text};
    pl_put_open(json, NULL, '[');
}

static void assert_real(double value, const char *expected) {
    pl_text text = {0};
    pl_json json;
    begin(&json, &text);
    pl_put_real(&json, NULL, value);
    assert_written(&json, expected);
}

static void assert_text(const char *value, const char *expected) {
    pl_text text = {0};
    pl_json json;
    begin(&json, &text);
    pl_put_text(&json, NULL, value);
    assert_written(&json, expected);
}

static void numbers_have_as_few_digits_as_tell_them_apart(void **state) {
    (void)state;
    pl_text text = {0};
    pl_json json;
    assert_real(16.458, "16.458");
    assert_real(89.478601344, "89.478601344");
    assert_real(0.1, "0.1");
    assert_real(0.1 + 0.2, "0.30000000000000004");
    assert_real(-2.5, "-2.5");
    assert_real(3, "3.0");
    assert_real(0, "0.0");
    assert_real(5e-324, "4.94065645841247e-324");
    assert_real(1.7976931348623157e308, "1.7976931348623157e+308");
    assert_real(INFINITY, "null"); /* JSON has no such numbers */
    assert_real(-INFINITY, "null");
    assert_real(NAN, "null");
    begin(&json, &text);
    pl_put_number(&json, NULL, INT64_MAX);
    assert_written(&json, "9223372036854775807");
}

/* Expected: what json.loads of Python reads as text.decode("utf-8", "replace"), without characters
 * that a terminal would obey. */
static void texts_are_as_they_are(void **state) {
    (void)state;
    assert_text(NULL, "null");
    assert_text("16.457999999999998", "\"16.457999999999998\"");
    assert_text("\"16.457999999999998", "\"\\\"16.457999999999998\"");
    assert_text("\\ \b\f\n\r\t \x01 \x7f /",
                "\"\\\\ \\u0008\\u000c\\u000a\\u000d\\u0009 \\u0001 \\u007f /\"");
    assert_text("\xc3\xa9 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xf0\x9f\x98\x80\"");
    assert_text("\xc3\xa9 \xff", "\"\xc3\xa9 \xef\xbf\xbd\"");
}

static void objects_and_lists_are_indented(void **state) {
    (void)state;
    pl_text text = {0};
    pl_json json;
    begin(&json, &text);
    pl_put_open(&json, NULL, '{');
    pl_put_text(&json, "0.10000000000000001", "\"");
    pl_put_open(&json, "empty", '{');
    pl_put_close(&json);
    pl_put_texts(&json, "none", NULL, 0);
    pl_put_known(&json, "i", false, 7);
    pl_put_close(&json);
    assert_written(&json, "{\n        \"0.10000000000000001\": \"\\\"\",\n"
                          "        \"empty\": {},\n        \"none\": [],\n"
                          "        \"i\": null\n    }");
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
            assert_real((double)billionths / 1e9, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_as_few_digits_as_tell_them_apart),
        cmocka_unit_test(texts_are_as_they_are),
        cmocka_unit_test(objects_and_lists_are_indented),
        cmocka_unit_test(times_are_written_as_they_were_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
