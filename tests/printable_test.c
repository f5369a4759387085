/* What is shown of texts that come from files: every character, and names in reports.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "popliner/utilities.h"

static const struct {
    const char *text;
    const char *shown;
} examples[] = {
    {"", ""},
    {"plain text, \"quotes\" and \\ stay", "plain text, \"quotes\" and \\ stay"},
    {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\x1b[31mred\x07", "\\u001b[31mred\\u0007"},
    {"a\nb\rc\td", "a\\nb\\rc\\td"},
    {"\x7f", "\\u007f"},
    {"\xc2\x9b\x33\x31m", "\\u009b31m"}, /* C1: CSI as one character */
    {"\xe2\x80\xae"
     "txt",
     "\\u202etxt"}, /* turns the direction */
    {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},
    {"\xe2\x80\xa8", "\\u2028"},
    {"\x9b"
     "31m \xe9 \xe2\x82",
     "\\x9b31m \\xe9 \\xe2\\x82"}, /* no UTF-8: other terminals obey */
    {"\xc0\x9b", "\\xc0\\x9b"},    /* overlong */
};

static void shows_characters(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        pl_text text = pl_text_of("%s", examples[i].text);
        pl_text_make_printable(&text, "");
        assert_string_equal(text.data, examples[i].shown);
        free(text.data);
    }
}

/* Each character by a second rule: what is not ASCII from blank to tilde is shown as it is only if
 * it is no control. */
static void shows_every_byte_and_pair(void **state) {
    (void)state;
    for (unsigned first = 1; first < 256; first++)
        for (unsigned second = 1; second < 256; second++) {
            char text[3] = {(char)first, (char)second, '\0'};
            char shown[POPLINER_PRINTABLE_SIZE];
            char all[2 * POPLINER_PRINTABLE_SIZE] = "";
            for (const char *rest = text; *rest != '\0';) {
                rest = popliner_printable_take(rest, shown);
                assert_true(rest <= text + 2);
                assert_true(strlen(shown) < sizeof shown);
                strcat(all, shown);
            }
            bool is_c1 = first == 0xc2 && second >= 0x80 && second < 0xa0;
            bool is_pair = first >= 0xc2 && first < 0xe0 && second >= 0x80 && second < 0xc0;
            char expected[2 * POPLINER_PRINTABLE_SIZE] = "";
            for (unsigned i = 0; i < 2 && !is_pair; i++) {
                unsigned c = (unsigned char)text[i];
                char *end = expected + strlen(expected);
                if (c == '\n' || c == '\r' || c == '\t')
                    sprintf(end, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
                else if (c < ' ' || c == 0x7f)
                    sprintf(end, "\\u%04x", c);
                else if (c >= 0x80)
                    sprintf(end, "\\x%02x", c);
                else
                    sprintf(end, "%c", (int)c);
            }
            if (is_pair && is_c1)
                sprintf(expected, "\\u%04x", second);
            else if (is_pair && !(first == 0xd8 && second == 0x9c)) /* U+061C turns the direction */
                strcpy(expected, text);
            else if (is_pair)
                strcpy(expected, "\\u061c");
            assert_string_equal(all, expected);
        }
}

static void keeps_the_layout_of_a_text(void **state) {
    (void)state;
    pl_text text = {0};
    pl_text_add(&text, "a\tb\n\x1b[2J\r\n");
    pl_text_make_printable(&text, "\n\t");
    assert_string_equal(text.data, "a\tb\n\\u001b[2J\\r\n");
    assert_int_equal(text.length, strlen(text.data));
    /* what is printable stays, even nothing */
    pl_text_make_printable(&text, "\n\t");
    assert_string_equal(text.data, "a\tb\n\\u001b[2J\\r\n");
    free(text.data);
    text = (pl_text){0};
    pl_text_add(&text, "");
    pl_text_make_printable(&text, "\n\t");
    assert_string_equal(text.data, "");
    free(text.data);
    text = (pl_text){0};
    pl_text_make_printable(&text, "\n\t");
    assert_null(text.data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_characters),
        cmocka_unit_test(shows_every_byte_and_pair),
        cmocka_unit_test(keeps_the_layout_of_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
