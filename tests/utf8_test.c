/* Characters: every code point as it is encoded here, and all that must be none.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

enum { MOST_BYTES = 4, LAST_CODE_POINT = 0x10ffff };

/* Encodes in so many bytes, also where fewer would do. */
static void encode(uint32_t c, size_t length, char text[MOST_BYTES + 1]) {
    static const unsigned char first[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    text[length] = '\0';
    for (size_t i = length; i-- > 1; c /= 64)
        text[i] = (char)(0x80 + c % 64);
    text[0] = (char)(first[length] + c);
}

static size_t shortest(uint32_t c) {
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static bool is_surrogate(uint32_t c) {
    return c >= 0xd800 && c <= 0xdfff;
}

static void assert_none(const char *text) {
    uint32_t c = 7;
    assert_int_equal(pl_utf8_decode(text, &c), 0);
    assert_int_equal(c, 7);
}

static void every_character_is_found(void **state) {
    (void)state;
    for (uint32_t wanted = 1; wanted <= LAST_CODE_POINT; wanted++) {
        char text[MOST_BYTES + 3];
        uint32_t c = 0;
        encode(wanted, shortest(wanted), text);
        if (is_surrogate(wanted)) {
            assert_none(text);
            continue;
        }
        strcat(text, "\x80"); /* what comes behind does not matter */
        if (pl_utf8_decode(text, &c) != shortest(wanted) || c != wanted)
            fail_msg("U+%04X is read as U+%04X", (unsigned)wanted, (unsigned)c);
    }
}

static void overlong_forms_are_none(void **state) {
    (void)state;
    for (uint32_t c = 0; c < 0x10000; c++) {
        for (size_t length = shortest(c) + 1; length <= MOST_BYTES; length++) {
            char text[MOST_BYTES + 1];
            encode(c, length, text);
            assert_none(text);
        }
    }
}

static void what_is_above_the_last_one_is_none(void **state) {
    (void)state;
    for (uint32_t c = LAST_CODE_POINT + 1; c < 0x200000; c += 61) {
        char text[MOST_BYTES + 1];
        encode(c, MOST_BYTES, text);
        assert_none(text);
    }
    assert_none("\xf4\x90\x80\x80");
    assert_none("\xf7\xbf\xbf\xbf");
}

/* A text may end anywhere, and nothing behind its end is read: the sanitizer sees to that. */
static void ends_that_are_missing_are_none(void **state) {
    (void)state;
    static const uint32_t some[] = {0x80, 0x7ff, 0x800, 0xfffd, 0xffff, 0x10000, 0x10ffff};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        for (size_t length = 1; length < shortest(some[i]); length++) {
            char whole[MOST_BYTES + 1];
            char cut[MOST_BYTES + 2];
            encode(some[i], shortest(some[i]), whole);
            memcpy(cut, whole, length);
            cut[length] = '\0';
            assert_none(cut);
            strcpy(cut + length, "a"); /* another character where one byte is missing */
            assert_none(cut);
        }
    }
}

static void lone_bytes_are_none(void **state) {
    (void)state;
    for (unsigned byte = 0x80; byte <= 0xff; byte++) {
        const char alone[] = {(char)byte, '\0'};
        const char before[] = {(char)byte, 'a', 'b', 'c', '\0'};
        assert_none(alone);
        assert_none(before);
        /* five and six bytes, which there were once, and FE and FF never begin anything */
        const char begun[] = {(char)byte, '\x80', '\x80', '\x80', '\x80', '\x80', '\0'};
        if (byte < 0xc0 || byte >= 0xf8)
            assert_none(begun);
    }
}

/* As Unicode lists them: categories Cc, Zl and Zp, and the property Bidi_Control. */
static void controls_are_told(void **state) {
    (void)state;
    static const struct {
        uint32_t first, last;
    } controls[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                    {0x2028, 0x2029}, {0x202a, 0x202e}, {0x2066, 0x2069}};
    for (uint32_t c = 0; c <= LAST_CODE_POINT; c++) {
        bool is_one = false;
        for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
            is_one = is_one || (c >= controls[i].first && c <= controls[i].last);
        if (pl_utf8_is_control(c) != is_one)
            fail_msg("U+%04X", (unsigned)c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_found),
        cmocka_unit_test(overlong_forms_are_none),
        cmocka_unit_test(what_is_above_the_last_one_is_none),
        cmocka_unit_test(ends_that_are_missing_are_none),
        cmocka_unit_test(lone_bytes_are_none),
        cmocka_unit_test(controls_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
