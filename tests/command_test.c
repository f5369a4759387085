/* Profiles that are damaged, and names that a terminal would obey. The rest is in tests/cli.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* terminals */

#include "command_run.h"
#include "test_sql.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static command_run run;

/* ---- Profiles ------------------------------------------------------------------------------- */

static void survives_damaged_profiles(void **state) {
    (void)state;
    enum { STRIDE = 70001, DAMAGE = 200 };
    const char *file = in_scratch("profile.pop");
    size_t size;
    uint8_t *bytes = test_read_bytes(CASE_PROFILE, &size);
    uint8_t kept[DAMAGE];
    for (size_t offset = 0; offset + DAMAGE < size; offset += STRIDE) {
        memcpy(kept, bytes + offset, DAMAGE);
        memset(bytes + offset, 0xa5, DAMAGE);
        test_write_bytes(file, bytes, size);
        memcpy(bytes + offset, kept, DAMAGE);
        RUN(&run, file, CASE_DEBUG, "--solve", "--operation-breakdown");
        /* what is hit may be of no importance */
        if (run.status == 0)
            assert_is_log(&run);
        else
            assert_refused(&run, 3, "profile.pop");
    }
    free(bytes);
}

/* ---- Names that a terminal would obey ------------------------------------------------------- */

/* Whether the text holds ESC, DEL, C1 as UTF-8, a byte that is no ASCII otherwise, or what turns
 * the direction: of what make_hostile wrote. */
static bool is_obeyed(const char *text) {
    return strpbrk(text, "\x1b\x7f") != NULL || strstr(text, "\xc2\x9b") != NULL ||
           strstr(text, "\xe2\x80\xae") != NULL;
}

static void assert_not_obeyed(const char *what, const command_run *r) {
    if (is_obeyed(r->out) || is_obeyed(r->err))
        fail_msg("%s: a terminal would obey: %s%s", what, r->out, r->err);
}

/* A report whose operations, variables and vertex types have such names. */
static void make_hostile(void) {
    copy_file(CASE_PROFILE, in_scratch("profile.pop"), SIZE_MAX);
    test_alter(in_scratch("profile.pop"),
               "UPDATE vars_string_table SET string = string || char(27, 91, 127, 155, 8238, 10);"
               "UPDATE vertex_types SET name = char(27, 127, 155, 8238) || name;"
               "UPDATE string_table SET string = char(27, 127, 155, 8238) || string");
    size_t size;
    size_t num_found = 0;
    uint8_t *bytes = test_read_bytes(CASE_DEBUG, &size);
    for (size_t i = 0; i + 6 < size; i++)
        if (memcmp(bytes + i, "MatMul", 6) == 0) {
            memcpy(bytes + i, "\x1b[31m\n", 6);
            num_found++;
        }
    assert_true(num_found > 0);
    test_write_bytes(in_scratch("debug.cbor"), bytes, size);
    free(bytes);
}

static void names_are_no_orders_for_a_terminal(void **state) {
    (void)state;
    static const char *const ours[] = {"--solve", "--diagnose", "--output=variables",
                                       "--output=operations", "--output=diagnosis"};
    static const char *const formats[] = {"--format=tsv", "--format=csv", "--format=json",
                                          "--format=text"};
    make_hostile();
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        RUN(&run, in_scratch(""), ours[i], "-v");
        assert_int_equal(run.status, 0);
        assert_not_obeyed(ours[i], &run);
        for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
            RUN(&run, in_scratch(""), ours[i], formats[k], "-v");
            assert_not_obeyed(ours[i], &run);
        }
    }
    RUN(&run, in_scratch(""), "--output", "tiles", "--format", "plot");
    assert_not_obeyed("--format plot", &run);
    RUN(&run, in_scratch(""), "--evaluate", "1", "-v");
    assert_not_obeyed("--evaluate", &run);
}

/* The original's tables hold the bytes, but not on a terminal. */
static void tables_of_the_original_keep_their_bytes(void **state) {
    (void)state;
    static char shown[1 << 16];
    make_hostile();
    RUN(&run, in_scratch(""), "-q", "--operation-breakdown");
    assert_int_equal(run.status, 0);
    assert_contains(run.out, "\x1b[31m\n");
    int screen = posix_openpt(O_RDWR | O_NOCTTY);
    if (screen < 0 || grantpt(screen) != 0 || unlockpt(screen) != 0)
        test_skip("there are no terminals");
    int kept = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    RUN_INTO(&run, ptsname(screen), in_scratch(""), "-q", "--operation-breakdown", "--format=text");
    assert_int_equal(run.status, 0);
    assert_int_equal(fcntl(screen, F_SETFL, O_NONBLOCK), 0);
    size_t length = 0;
    for (ssize_t count; length + 1 < sizeof shown &&
                        (count = read(screen, shown + length, sizeof shown - 1 - length)) > 0;)
        length += (size_t)count;
    shown[length] = '\0';
    close(kept);
    close(screen);
    assert_contains(shown, "\\u001b[31m");
    assert_contains(shown, "\tVertex state\t");
    assert_false(is_obeyed(shown));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(survives_damaged_profiles),
        SCRATCH_TEST(names_are_no_orders_for_a_terminal),
        SCRATCH_TEST(tables_of_the_original_keep_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
