/* Texts for people (base/layout.h): bars, numbers, names and words.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/layout.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

static popliner_plot_options screen_of(size_t width, bool is_ascii) {
    popliner_plot_options screen = POPLINER_PLOT_OPTIONS_INIT;
    screen.width = width;
    screen.is_ascii = is_ascii;
    return screen;
}

static void assert_layout(pl_layout *layout, const char *expected) {
    char *text = NULL;
    popliner_error error = {0};
    assert_int_equal(pl_text_finish(&layout->text, POPLINER_OK, &text, &error), POPLINER_OK);
    assert_string_equal(text, expected);
    free(text);
}

/* ---- bars ---- */

/* The bar of a row, in a table whose longest bar is `top` bytes or the limit. */
static void assert_bar(pl_grid_bar bar, uint64_t top, bool is_ascii, const char *expected) {
    const pl_grid_column columns[] = {{NULL, PL_GRID_BAR, 0, 0, 0}, {NULL, PL_GRID_WORDS, 0, 0, 0}};
    const popliner_plot_options screen = screen_of(100, is_ascii);
    pl_grid grid = {.columns = columns, .num_columns = 2};
    pl_layout layout;
    pl_layout_begin(&layout, &screen);
    pl_grid_bars(&grid, bar);
    pl_grid_text(&grid, ";");
    pl_grid_bars(&grid, (pl_grid_bar){top, 0, bar.limit_bytes});
    pl_grid_text(&grid, ";");
    pl_grid_write(&grid, 1, "", &layout);
    char *text = NULL;
    popliner_error error = {0};
    assert_int_equal(pl_text_finish(&layout.text, POPLINER_OK, &text, &error), POPLINER_OK);
    *strchr(text, ';') = '\0';
    assert_string_equal(text, expected);
    free(text);
}

/* The bars that the design of the command draws. */
static void bars_are_linear_from_0(void **state) {
    (void)state;
    const uint64_t limit = 638976;
    assert_bar((pl_grid_bar){348826, 0, limit}, 0, false, "█████████████           │");
    assert_bar((pl_grid_bar){480786, 0, limit}, 0, false, "██████████████████      │");
    assert_bar((pl_grid_bar){429236, 0, limit}, 0, false, "████████████████        │");
    assert_bar((pl_grid_bar){509414, 0, limit}, 0, false, "███████████████████▏    │");
    assert_bar((pl_grid_bar){498112, 0, limit}, 0, false, "██████████████████▋     │");
    assert_bar((pl_grid_bar){756501, 0, limit}, 756501, false, "████████████████████│▓▓▓▓");
    assert_bar((pl_grid_bar){644430, 0, limit}, 756501, false, "████████████████████│▓   ");
}

/* 24 bytes are 24 characters: the line begins after the bar, and a sign of it after the limit. */
static void lines_lead_to_what_is_needed_at_most(void **state) {
    (void)state;
    assert_bar((pl_grid_bar){10, 15, 20}, 24, false, "██████████─────     │    ");
    assert_bar((pl_grid_bar){18, 22, 20}, 24, false, "██████████████████──│──  ");
    assert_bar((pl_grid_bar){18, 22, 20}, 24, true, "##################--|--  ");
    assert_bar((pl_grid_bar){22, 24, 20}, 24, false, "████████████████████│▓▓──");
    assert_bar((pl_grid_bar){22, 24, 20}, 24, true, "####################|!!--");
}

static void bars_of_the_smallest_and_largest_numbers(void **state) {
    (void)state;
    assert_bar((pl_grid_bar){0, 0, 20}, 24, false, "                    │    ");
    assert_bar((pl_grid_bar){1, 0, UINT64_MAX / 4}, 0, false, "▏                       │");
    assert_bar((pl_grid_bar){1, 0, UINT64_MAX / 4}, 0, true, "#                       |");
    assert_bar((pl_grid_bar){5, 0, PL_NO_LIMIT}, 25, false, "█████                    ");
    assert_bar((pl_grid_bar){5, 0, 0}, 24, false, "│▓▓▓▓▓                   ");
    assert_bar((pl_grid_bar){20, 0, 20}, 24, false, "████████████████████│    ");
    assert_bar((pl_grid_bar){21, 0, 20}, 24, false, "████████████████████│▓   ");
}

/* ---- numbers and names ---- */

static void assert_percent(uint64_t bytes, uint64_t limit, const char *expected) {
    pl_text text = {0};
    pl_text_add_percent(&text, bytes, limit);
    assert_string_equal(text.data, expected);
    free(text.data);
}

static void percentages_agree_with_the_limit(void **state) {
    (void)state;
    assert_percent(0, 1000, "0 %");
    assert_percent(797, 1000, "80 %");
    assert_percent(999, 1000, "99 %");
    assert_percent(1000, 1000, "100 %");
    assert_percent(1001, 1000, "101 %");
    assert_percent(1184, 1000, "118 %");
}

static void numbers_are_grouped_or_short(void **state) {
    (void)state;
    pl_text text = {0};
    const uint64_t numbers[] = {0, 999, 1000, 638976, UINT64_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        pl_text_format(&text, "%s ", PL_GROUPED(numbers[i]));
    assert_string_equal(text.data, "0 999 1,000 638,976 18,446,744,073,709,551,615 ");
    text.length = 0;
    pl_text_add_short(&text, 950, true, "");
    pl_text_add_short(&text, 15562218, true, "cycles");
    pl_text_add_short(&text, 6, false, "ms");
    pl_text_add_size(&text, 16336);
    pl_text_add_size(&text, 1000);
    pl_text_add_size(&text, 9.5 * 1024 * 1024);
    assert_string_equal(text.data, "95015.56 M cycles6.00 ms16 KiB1000 B9.5 MiB");
    const double growths[] = {0,     0.000012, 0.108, 0.99951, 9.994,
                              99.94, 99.96,    999.6, -33.37,  12345.67};
    text.length = 0;
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        pl_text_add_significant(&text, growths[i]);
        pl_text_add(&text, " ");
    }
    assert_string_equal(text.data, "0 0.0000120 0.108 1.00 9.99 99.9 100 1,000 -33.4 12,346 ");
    free(text.data);
}

static void assert_name(const char *name, size_t width, bool is_ascii, const char *expected) {
    const popliner_plot_options screen = screen_of(80, is_ascii);
    pl_layout layout;
    pl_layout_begin(&layout, &screen);
    pl_layout_add_name(&layout, &layout.text, name, width);
    assert_layout(&layout, expected);
}

static void names_lack_their_middle(void **state) {
    (void)state;
    assert_name("encoder", 7, false, "encoder");
    assert_name("encoder", 6, false, "enc…er");
    assert_name("encoder", 6, true, "en...r");
    assert_name("bert/encoder/7/output/dense/MatMul", 24, false, "bert/…/dense/MatMul");
    assert_name("Überschuß", 9, false, "Überschuß");
    assert_name("Überschuß", 9, true, "Überschuß"); /* ASCII is what is drawn, not names */
    assert_name("Überschuß", 8, true, "Übe...uß");
    assert_name("a\x1b[31mb\n", 20, false, "a\\u001b[31mb\\n");
    /* wide characters take two columns, combining ones none (Unicode's EastAsianWidth.txt) */
    assert_name("词嵌入层", 8, false, "词嵌入层");
    assert_name("词嵌入层", 7, false, "词…入层");
    assert_name("词嵌入层", 6, false, "词…层");
    assert_name("te\u0301nse", 5, false, "te\u0301nse");
    assert_name("te\u0301nse", 4, false, "te\u0301…e");
}

/* ---- sentences and entries ---- */

static void words_wrap_below_themselves(void **state) {
    (void)state;
    const popliner_plot_options screen = screen_of(44, false);
    pl_layout layout;
    pl_layout_begin(&layout, &screen);
    pl_layout_sentence(&layout, PL_TINT_GREEN, pl_text_of("Fits on 4 IPUs."),
                       pl_text_of("Proven: no split has a smaller."));
    pl_layout_entry(&layout, "Try", "-n 3", 4, pl_text_of("likely fits: 588,957 bytes (92 %%)"));
    pl_layout_entry(&layout, "", "--objective cycles", 18, pl_text_of("31 %% less"));
    assert_layout(&layout, "Fits on 4 IPUs. Proven: no split has a\n"
                           "smaller.\n"
                           "Try         -n 3    likely fits: 588,957\n"
                           "                    bytes (92 %)\n"
                           "            --objective cycles\n"
                           "              31 % less\n");
}

static void colours_are_for_screens_that_have_some(void **state) {
    (void)state;
    popliner_plot_options screen = screen_of(80, false);
    screen.has_colour = true;
    pl_layout layout;
    pl_layout_begin(&layout, &screen);
    pl_layout_sentence(&layout, PL_TINT_RED, pl_text_of("No."), pl_text_of("Proven."));
    assert_layout(&layout, "\x1b[1;31mNo.\x1b[0m Proven.\n");
}

/* ---- tables ---- */

static void begin(pl_layout *layout, size_t width) {
    const popliner_plot_options screen = screen_of(width, false);
    pl_layout_begin(layout, &screen);
}

static void columns_without_room_come_below(void **state) {
    (void)state;
    static const pl_grid_column columns[] = {{"layer", PL_GRID_NAME, 0, 60, 0},
                                             {"first", PL_GRID_RIGHT, 2, 60, 0},
                                             {"second", PL_GRID_RIGHT, 2, 60, 0},
                                             {"third", PL_GRID_RIGHT, 2, 60, 0}};
    pl_grid grid = {.columns = columns, .num_columns = 4};
    pl_layout layout;
    begin(&layout, 40);
    pl_grid_text(&grid, "x");
    for (size_t i = 1; i < 4; i++)
        pl_grid_text(&grid, PL_GROUPED(i * 100000000));
    pl_grid_write(&grid, 3, "", &layout);
    assert_layout(&layout, "layer        first       second\n"
                           "x      100,000,000  200,000,000\n"
                           "\n"
                           "layer        third\n"
                           "x      300,000,000\n");
}

static void long_tables_say_where_the_rest_is(void **state) {
    (void)state;
    static const pl_grid_column columns[] = {{"n", PL_GRID_RIGHT, 0, 60, 0},
                                             {"m", PL_GRID_RIGHT, 2, 60, 0}};
    pl_grid grid = {.columns = columns, .num_columns = 2};
    pl_layout layout;
    begin(&layout, 40);
    for (size_t i = 0; i < 10; i++)
        pl_grid_text(&grid, PL_GROUPED(i / 2 + 1));
    pl_grid_write(&grid, 3, "--output layers", &layout);
    assert_layout(&layout, "n  m\n"
                           "1  1\n"
                           "2  2\n"
                           "3  3\n"
                           "… 2 more: --output layers\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_linear_from_0),
        cmocka_unit_test(lines_lead_to_what_is_needed_at_most),
        cmocka_unit_test(bars_of_the_smallest_and_largest_numbers),
        cmocka_unit_test(percentages_agree_with_the_limit),
        cmocka_unit_test(numbers_are_grouped_or_short),
        cmocka_unit_test(names_lack_their_middle),
        cmocka_unit_test(words_wrap_below_themselves),
        cmocka_unit_test(colours_are_for_screens_that_have_some),
        cmocka_unit_test(columns_without_room_come_below),
        cmocka_unit_test(long_tables_say_where_the_rest_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
