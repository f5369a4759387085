/* Changes between two tables: how rows are matched, and what growth is.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "tables/changes_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A kept table of units: kind, unit, largest_tile, total_bytes, headroom_bytes, cycles. */
typedef struct row {
    const char *kind;
    const char *unit;
    uint64_t total_bytes;
    int64_t headroom_bytes;
    bool has_cycles;
    uint64_t cycles;
} row;

static const char *const columns[] = {"kind",        "unit",           "largest_tile",
                                      "total_bytes", "headroom_bytes", "cycles"};

static pl_sheet table_of(const row *rows, size_t count) {
    pl_sheet sheet = {0};
    pl_sheet_begin(&sheet, PL_FORMAT_KEPT, "layers");
    pl_sheet_set_columns(&sheet, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        pl_sheet_text(&sheet, rows[i].kind);
        pl_sheet_text(&sheet, rows[i].unit);
        pl_sheet_number(&sheet, i * 7);
        pl_sheet_number(&sheet, rows[i].total_bytes);
        pl_sheet_change(&sheet, true, rows[i].headroom_bytes);
        if (rows[i].has_cycles)
            pl_sheet_number(&sheet, rows[i].cycles);
        else
            pl_sheet_none(&sheet);
    }
    assert_false(sheet.text.failed);
    assert_int_equal(sheet.column, 0); /* the last row is complete */
    assert_int_equal(pl_kept_num_rows(&sheet), count);
    return sheet;
}

static pl_changes *compare(pl_sheet *before, pl_sheet *now, const pl_pairing *pairing) {
    pl_changes *changes = calloc(1, sizeof *changes);
    assert_non_null(changes);
    pl_changes_add_tables(changes, pairing, before, now);
    assert_false(changes->arrays.failed);
    pl_sheet_clear(before);
    pl_sheet_clear(now);
    return changes;
}

static const pl_pairing units = {NULL, "kind", "unit"};

/* The next quantity, by its place. */
static const popliner_change *expect(const pl_changes *changes, size_t *place, const char *what,
                                     const char *name, const char *quantity,
                                     popliner_presence presence) {
    assert_true(*place < changes->info.num_changes);
    const popliner_change *d = &changes->items[(*place)++];
    assert_string_equal(d->what, what);
    assert_string_equal(d->name, name);
    assert_string_equal(d->quantity, quantity);
    assert_int_equal(d->presence, presence);
    return d;
}

static void assert_values(const popliner_change *d, bool has_before, int64_t before, bool has_now,
                          int64_t now) {
    assert_int_equal(d->has_before, has_before);
    assert_int_equal(d->has_now, has_now);
    assert_int_equal(d->before, before);
    assert_int_equal(d->now, now);
}

static void rows_are_matched_by_kind_and_name(void **state) {
    (void)state;
    const row before[] = {
        {"head", "Head", 10, 0, true, 5},
        {"layer", "Head", 20, -3, true, 6}, /* a layer may have that name */
        {"layer", "\xff", 30, 0, true, 7},  /* as text both of these are U+FFFD */
        {"layer", "\xfe", 40, 0, true, 8},
        {"layer", "gone", 50, 0, true, 9},
        {"layer", "twice", 60, 0, true, 1},
        {"layer", "twice", 70, 0, true, 2},
    };
    const row now[] = {
        {"layer", "twice", 61, 0, true, 1}, {"layer", "\xfe", 40, 0, false, 0},
        {"layer", "", 80, 0, true, 3},      {"layer", "Head", 20, 4, true, 6},
        {"head", "Head", 11, 0, true, 5},   {"layer", "\xff", 30, 0, true, 7},
    };
    pl_sheet left = table_of(before, sizeof before / sizeof *before);
    pl_sheet right = table_of(now, sizeof now / sizeof *now);
    pl_changes *c = compare(&left, &right, &units);
    size_t i = 0;
    const popliner_presence both = POPLINER_ON_BOTH_SIDES;
    assert_values(expect(c, &i, "layer", "twice", "total_bytes", both), true, 60, true, 61);
    assert_values(expect(c, &i, "layer", "twice", "headroom_bytes", both), true, 0, true, 0);
    assert_values(expect(c, &i, "layer", "twice", "cycles", both), true, 1, true, 1);
    assert_values(expect(c, &i, "layer", "\xfe", "total_bytes", both), true, 40, true, 40);
    assert_values(expect(c, &i, "layer", "\xfe", "headroom_bytes", both), true, 0, true, 0);
    assert_values(expect(c, &i, "layer", "\xfe", "cycles", both), true, 8, false, 0);
    assert_values(expect(c, &i, "layer", "", "total_bytes", POPLINER_ONLY_NOW), false, 0, true, 80);
    i += 2;
    assert_values(expect(c, &i, "layer", "Head", "total_bytes", both), true, 20, true, 20);
    assert_values(expect(c, &i, "layer", "Head", "headroom_bytes", both), true, -3, true, 4);
    i++;
    assert_values(expect(c, &i, "head", "Head", "total_bytes", both), true, 10, true, 11);
    i += 2;
    assert_values(expect(c, &i, "layer", "\xff", "total_bytes", both), true, 30, true, 30);
    i += 2;
    assert_values(expect(c, &i, "layer", "gone", "total_bytes", POPLINER_ONLY_BEFORE), true, 50,
                  false, 0);
    i += 2;
    assert_values(expect(c, &i, "layer", "twice", "total_bytes", POPLINER_ONLY_BEFORE), true, 70,
                  false, 0);
    i += 2;
    assert_int_equal(i, c->info.num_changes);
    /* three of what is only now, two times three of what is only before, and twice's, Head's two
     * and cycles that are not known any more */
    assert_int_equal(c->info.num_changed, 3 + 6 + 1 + 2 + 1);
    popliner_changes_free(&c->info);
}

/* As the tiles have them, one for each category. */
static void columns_of_one_table_count_nothing_in_the_other(void **state) {
    (void)state;
    static const char *const left_columns[] = {"tile", "live_bytes", "category_a_bytes"};
    static const char *const right_columns[] = {"category_b_bytes", "tile", "live_bytes"};
    static const pl_pairing tiles = {"tile", NULL, "tile"};
    pl_sheet left = {0};
    pl_sheet right = {0};
    pl_sheet_begin(&left, PL_FORMAT_KEPT, "tiles");
    pl_sheet_set_columns(&left, left_columns, 3);
    pl_sheet_begin(&right, PL_FORMAT_KEPT, "tiles");
    pl_sheet_set_columns(&right, right_columns, 3);
    for (uint64_t tile = 0; tile < 12; tile++) {
        pl_sheet_number(&left, tile);
        pl_sheet_number(&left, 100 + tile);
        pl_sheet_number(&left, 5);
        pl_sheet_number(&right, 6);
        pl_sheet_number(&right, tile);
        pl_sheet_number(&right, 100 + tile * 2);
    }
    pl_changes *c = compare(&left, &right, &tiles);
    size_t i = 0;
    for (int64_t tile = 0; tile < 12; tile++) {
        char name[8];
        snprintf(name, sizeof name, "%d", (int)tile);
        const popliner_presence both = POPLINER_ON_BOTH_SIDES;
        assert_values(expect(c, &i, "tile", name, "category_b_bytes", both), true, 0, true, 6);
        assert_values(expect(c, &i, "tile", name, "live_bytes", both), true, 100 + tile, true,
                      100 + tile * 2);
        assert_values(expect(c, &i, "tile", name, "category_a_bytes", both), true, 5, true, 0);
    }
    assert_int_equal(i, c->info.num_changes);
    assert_int_equal(c->info.num_changed, 12 + 12 + 11);
    popliner_changes_free(&c->info);
}

static void empty_tables_have_no_changes(void **state) {
    (void)state;
    pl_sheet left = table_of(NULL, 0);
    pl_sheet right = table_of(NULL, 0);
    pl_changes *c = compare(&left, &right, &units);
    assert_int_equal(c->info.num_changes, 0);
    assert_int_equal(c->info.num_changed, 0);
    popliner_changes_free(&c->info);
}

static bool grew(int64_t before, int64_t now, double percent) {
    popliner_change item = {.what = "device",
                            .name = "memory",
                            .quantity = "largest_tile_live_bytes",
                            .has_before = true,
                            .has_now = true,
                            .before = before,
                            .now = now};
    return pl_change_grew(&item, percent);
}

/* Percentages are compared as decimals, not as the nearest doubles. */
static void growth_is_compared_exactly(void **state) {
    (void)state;
    assert_false(grew(1000, 1000, 0));
    assert_true(grew(1000, 1001, 0));
    assert_false(grew(1000, 999, 0));
    assert_false(grew(1000, 1025, 2.5));
    assert_true(grew(1000, 1026, 2.5));
    for (int64_t parts = 1; parts <= 10000; parts++) { /* hundredths of a percent */
        const double percent = (double)parts / 100;
        assert_false(grew(10000, 10000 + parts, percent));
        assert_true(grew(10000, 10000 + parts + 1, percent));
        assert_false(grew(70000, 70000 + 7 * parts, percent));
        assert_true(grew(70000, 70000 + 7 * parts + 1, percent));
    }
    assert_true(grew(0, 1, 100));
    assert_false(grew(0, 0, 0));
    assert_false(grew(1, 2, 100));
    assert_true(grew(1, 3, 100));
    /* no product overflows */
    assert_true(grew(INT64_MAX / 2, INT64_MAX - 1, 99.999999));
    assert_false(grew(INT64_MAX / 2, INT64_MAX - 1, 100));
    assert_false(grew(INT64_MAX / 2, INT64_MAX / 2 + INT64_MAX / 200, 1));
    assert_false(grew(1, INT64_MAX, 1e300));
    const popliner_change unknown = {.has_before = false, .has_now = true, .now = 7};
    assert_false(pl_change_grew(&unknown, 0));
}

static popliner_change quantity(const char *what, const char *name, int64_t before, int64_t now) {
    return (popliner_change){.what = what,
                             .name = name,
                             .quantity = "total_bytes",
                             .has_before = true,
                             .has_now = true,
                             .before = before,
                             .now = now};
}

/* Shares by hand: 50 %, 60 %, none before, 50 %, less, 49 %, 200 %, and that little
 * more that a double does not tell from it: 2 + 1 / (n - 1) for 2. */
static void bounds_find_what_grew_by_more(void **state) {
    (void)state;
    popliner_change items[] = {
        quantity("head", "Head", 100, 150),
        quantity("layer", "0", 1000, 1600),
        quantity("layer", "1", 0, 1),
        quantity("tail", "Tail", 10, 15),
        quantity("unlayered", "None", 100, 90),
        quantity("layer", "2", 100, 149),
        quantity("layer", "3", INT64_MAX / 4, INT64_MAX / 4 * 3),
        quantity("layer", "4", INT64_MAX / 4 - 1, INT64_MAX / 4 * 3 - 2),
        quantity("tile", "5", 1, 9),
        {.what = "layer",
         .name = "6",
         .quantity = "total_bytes",
         .has_now = true,
         .now = 9,
         .presence = POPLINER_ONLY_NOW},
        {.what = "layer",
         .name = "7",
         .quantity = "largest_tile_bytes",
         .has_before = true,
         .before = 1,
         .has_now = true,
         .now = 9},
    };
    static const double layers[] = {49.999999, 50};
    /* the largest share first, of equals the first of the list */
    static const struct {
        const char *name;
        int64_t before, now;
    } over[][8] = {{{"1", 0, 1},
                    {"4", INT64_MAX / 4 - 1, INT64_MAX / 4 * 3 - 2},
                    {"3", INT64_MAX / 4, INT64_MAX / 4 * 3},
                    {"0", 1000, 1600},
                    {"Head", 100, 150},
                    {"Tail", 10, 15},
                    {NULL, 0, 0}},
                   {{"1", 0, 1},
                    {"4", INT64_MAX / 4 - 1, INT64_MAX / 4 * 3 - 2},
                    {"3", INT64_MAX / 4, INT64_MAX / 4 * 3},
                    {"0", 1000, 1600},
                    {NULL, 0, 0}}};
    for (size_t i = 0; i < 2; i++) {
        popliner_changes_input input = POPLINER_CHANGES_INPUT_INIT;
        pl_changes *c = calloc(1, sizeof *c);
        assert_non_null(c);
        for (size_t k = 0; k < sizeof items / sizeof *items; k++)
            pl_changes_add(c, &items[k]);
        c->deciding = 4;
        input.max_percents[POPLINER_GROWTH_LAYERS] = layers[i];
        input.max_percents[POPLINER_GROWTH_TILES] = 0;
        input.max_percents[POPLINER_GROWTH_LARGEST_TILE] = 0;
        pl_changes_hold(c, input.max_percents);
        assert_false(c->arrays.failed);
        const popliner_changes *info = &c->info;
        assert_ptr_equal(info->deciding, &info->changes[4]);
        assert_int_equal(info->num_changes, sizeof items / sizeof *items);
        assert_memory_equal(info->max_percents, input.max_percents, sizeof input.max_percents);
        assert_int_equal(info->num_compared[POPLINER_GROWTH_LAYERS], 8);
        size_t k = 0;
        for (; over[i][k].name != NULL; k++) {
            assert_true(k < info->num_exceeded[POPLINER_GROWTH_LAYERS]);
            const popliner_change *own = info->exceeded[POPLINER_GROWTH_LAYERS][k];
            assert_string_equal(own->name, over[i][k].name);
            assert_int_equal(own->before, over[i][k].before);
            assert_int_equal(own->now, over[i][k].now);
        }
        assert_int_equal(info->num_exceeded[POPLINER_GROWTH_LAYERS], k);
        /* tiles have another quantity; what decides is less; the others have no limit */
        assert_int_equal(info->num_compared[POPLINER_GROWTH_TILES], 0);
        assert_int_equal(info->num_compared[POPLINER_GROWTH_LARGEST_TILE], 1);
        assert_int_equal(info->num_exceeded[POPLINER_GROWTH_LARGEST_TILE], 0);
        assert_int_equal(info->num_compared[POPLINER_GROWTH_CYCLES], 0);
        popliner_changes_free(&c->info);
    }
    for (int of = 0; of < POPLINER_NUM_GROWTHS; of++)
        assert_non_null(pl_growth_name((popliner_growth)of));
    assert_null(pl_growth_name(POPLINER_NUM_GROWTHS));
    assert_null(pl_growth_name((popliner_growth)-1));
}

static void differences_do_not_overflow(void **state) {
    (void)state;
    double percent = 0;
    popliner_change d = {.has_before = true, .has_now = true, .before = 40, .now = 50};
    assert_int_equal(pl_change_of(&d), 10);
    assert_true(pl_change_percent(&d, &percent));
    assert_true(percent == 25);
    d = (popliner_change){.has_before = true, .has_now = true, .before = -40, .now = 50};
    assert_int_equal(pl_change_of(&d), 90);
    assert_false(pl_change_percent(&d, &percent));
    d.before = 0;
    assert_false(pl_change_percent(&d, &percent));
    d = (popliner_change){.has_before = true, .has_now = true, .before = -2, .now = INT64_MAX};
    assert_true(pl_change_of(&d) == INT64_MAX);
    d = (popliner_change){.has_before = true, .has_now = true, .before = 2, .now = INT64_MIN};
    assert_true(pl_change_of(&d) == INT64_MIN);
}

/* ---- what callers may do wrong ---- */

static void inputs_are_checked(void **state) {
    (void)state;
    popliner_error error;
    popliner_changes *changes = (popliner_changes *)&error;
    popliner_changes_input input = POPLINER_CHANGES_INPUT_INIT;
    assert_int_equal(popliner_changes_create(&input, &changes, &error), POPLINER_ERROR_USAGE);
    assert_null(changes);
    input.max_percents[POPLINER_GROWTH_STAGES] = 5;
    assert_int_equal(popliner_changes_create(&input, &changes, &error), POPLINER_ERROR_USAGE);
    assert_non_null(strstr(error.message, "stages"));
    const double wrong[] = {-2, NAN, INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        input.max_percents[POPLINER_GROWTH_LAYERS] = wrong[i];
        assert_int_equal(popliner_changes_create(&input, &changes, &error), POPLINER_ERROR_USAGE);
        assert_non_null(strstr(error.message, "a bound of growth: "));
    }
    input.struct_size = 0;
    assert_int_equal(popliner_changes_create(&input, &changes, &error), POPLINER_ERROR_USAGE);
    char *text = NULL;
    const popliner_changes none = {0};
    for (int format = POPLINER_FORMAT_JSON + 1; format < 6; format++)
        assert_int_equal(popliner_changes_text(&none, (popliner_format)format, &text, &error),
                         POPLINER_ERROR_USAGE);
    assert_null(text);
    popliner_changes_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_matched_by_kind_and_name),
        cmocka_unit_test(columns_of_one_table_count_nothing_in_the_other),
        cmocka_unit_test(empty_tables_have_no_changes),
        cmocka_unit_test(growth_is_compared_exactly),
        cmocka_unit_test(bounds_find_what_grew_by_more),
        cmocka_unit_test(differences_do_not_overflow),
        cmocka_unit_test(inputs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
