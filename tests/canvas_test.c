/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/plot.h"

#include <stdlib.h>

#include "test.h"

/* A bar of four characters for four bytes, so that each character is a byte. */
static void assert_bar(uint64_t bytes, uint64_t limit_bytes, const char *expected) {
    pl_canvas canvas = {.options = POPLINER_PLOT_OPTIONS_INIT};
    canvas.options.is_ascii = true;
    pl_canvas_bar(&canvas, 4, bytes, limit_bytes, 4);
    assert_string_equal(canvas.text.data, expected);
    free(canvas.text.data);
}

static void a_limit_is_drawn_where_it_is(void **state) {
    (void)state;
    assert_bar(2, 4, "## |");
    assert_bar(2, 3, "##| ");
    assert_bar(3, 3, "### ");
    assert_bar(4, 2, "##!!");
}

/* As many eighths of a character as 2^64 bytes would take are no number of 64 bits: the sanitizer
 * for real numbers that become integers has to be on. */
static void no_limit_is_in_no_cell(void **state) {
    (void)state;
    assert_bar(2, 5, "##  ");
    assert_bar(2, UINT64_MAX, "##  ");
    assert_bar(4, UINT64_MAX, "####");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_is_drawn_where_it_is),
        cmocka_unit_test(no_limit_is_in_no_cell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
