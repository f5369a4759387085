/* Messages that are longer than the room there is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/text.h"

static void keeps_what_has_room(void **state) {
    popliner_error error;
    char text[sizeof error.message];
    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        memset(text, 'x', length);
        text[length] = '\0';
        assert_int_equal(pl_fail(&error, POPLINER_ERROR_INPUT, "%s", text), POPLINER_ERROR_INPUT);
        assert_string_equal(error.message, text);
    }
}

/* Behind the longest path what to do still stands, and no character is cut. */
static void leaves_out_the_middle(void **state) {
    static const char *const characters[] = {"x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static const char end[] = ": is wrong; write it again";
    static char path[4096];
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (size_t shift = 0; shift < 4; shift++) {
            popliner_error error;
            size_t size = strlen(characters[i]);
            memset(path, 'y', shift);
            path[shift] = '\0';
            for (size_t k = shift; k + size < sizeof path; k += size)
                strcat(path + k, characters[i]);
            pl_fail(&error, POPLINER_ERROR_INPUT, "%s: is wrong; write it again", path);
            size_t length = strlen(error.message);
            assert_true(length < sizeof error.message && length > sizeof error.message - 8);
            assert_memory_equal(error.message, path, 240);
            assert_string_equal(error.message + length - strlen(end), end);
            assert_non_null(strstr(error.message, " [...] "));
            for (const char *c = error.message; *c != '\0';) {
                uint32_t character;
                size_t taken = pl_utf8_decode(c, &character);
                assert_int_not_equal(taken, 0);
                c += taken;
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_has_room),
        cmocka_unit_test(leaves_out_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
