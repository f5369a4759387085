/* From what was measured to what a tile needs: layouts and needs calculated by hand, from the rules
 * in docs/internals/memory-models.md; and how sure it is that a stage fits.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <math.h>

#include "answer/certificate_data.h"
#include "memory/needs.h"
#include "popliner/stage.h"
#include "profile/profile_data.h"

enum { TILES = 6 };

/* No variable is known to be executable. */
#define NO_CODE INT64_MIN

/* Tiles of a profile, as the compiler accounts for them. */
static const struct {
    uint64_t always_live, peak, total, total_including_gaps;
    pl_overhead layout; /* by hand */
} tiles[TILES] = {
    /* 30 of 1000 fragment; 70 that nobody uses */
    {400, 600, 1030, 1100, {70, 30, 1000, NO_CODE}},
    /* all is in use */
    {400, 600, 1000, 1000, {0, 0, 1000, NO_CODE}},
    /* a total below what is live counts as that: 5 behind it are not used */
    {400, 600, 900, 1005, {5, 0, 1000, NO_CODE}},
    /* a highest address below the total: nothing unused */
    {10, 90, 108, 104, {0, 8, 100, NO_CODE}},
    /* of a tile that holds nothing nothing can be told */
    {0, 0, 50, 900, {850, 50, 0, NO_CODE}},
    /* nor does one without gaps tell of any */
    {0, 0, 0, 0, {0, 0, 0, NO_CODE}},
};

static popliner_profile make_profile(size_t num_tiles) {
    static uint64_t always_live[TILES];
    static uint64_t peak[TILES];
    static uint64_t total[TILES];
    static uint64_t end[TILES];
    for (size_t i = 0; i < TILES; i++) {
        always_live[i] = tiles[i].always_live;
        peak[i] = tiles[i].peak;
        total[i] = tiles[i].total;
        end[i] = tiles[i].total_including_gaps;
    }
    return (popliner_profile){
        .target = {.num_tiles = num_tiles},
        .tile_always_live_bytes = always_live,
        .tile_not_always_live_peak_bytes = peak,
        .tile_total_bytes = total,
        .tile_total_including_gaps_bytes = end,
    };
}

static void assert_layout(pl_overhead actual, pl_overhead expected) {
    assert_int_equal(actual.unused_bytes, expected.unused_bytes);
    assert_int_equal(actual.fragmented_bytes, expected.fragmented_bytes);
    assert_int_equal(actual.live_bytes, expected.live_bytes);
    assert_true(actual.more_executable_bytes == expected.more_executable_bytes);
}

static void tiles_are_as_the_compiler_laid_them_out(void **state) {
    (void)state;
    popliner_profile p = make_profile(TILES);
    for (size_t i = 0; i < TILES; i++)
        assert_layout(pl_overhead_of_tile(&p, i, NULL, 0), tiles[i].layout);
}

/* Of the executable variables only 100 + 30 + 7 bytes of the first tile are known: 20 + 30 of the
 * groups of code, which also have 5 that are not executable, and 100 - 20 + 7 of others. */
static void code_is_that_of_executable_variables(void **state) {
    (void)state;
    enum { VERTEX_CODE, CONTROL_CODE, HOST_CODE, STATE, DATA };
    uint8_t categories[] = {PL_CATEGORY_VERTEX_CODE, PL_CATEGORY_CONTROL_CODE, PL_CATEGORY_OTHER,
                            PL_CATEGORY_VERTEX_INSTANCE_STATE, PL_CATEGORY_VARIABLE};
    uint64_t starts[TILES + 1] = {0, 8, 8, 8, 8, 8, 8};
    uint8_t always_live[] = {1, 0};
    uint32_t classes[] = {0, 0, 0, 0, 0, 0, 1, 1};
    uint8_t own[] = {VERTEX_CODE, VERTEX_CODE, CONTROL_CODE, HOST_CODE,
                     STATE,       DATA,        DATA,         HOST_CODE};
    uint32_t sizes[] = {20, 5, 30, 80, 400, 1000, 1000, 7};
    uint8_t placing[] = {
        PL_PLACING_EXECUTABLE, 2, PL_PLACING_EXECUTABLE, PL_PLACING_EXECUTABLE, 2, 3, 3,
        PL_PLACING_EXECUTABLE};
    uint32_t offsets[] = {0, 300, 0, 0, 160, 300, 300, 0}; /* of code they do not matter */
    uint64_t elements[] = {0, 120, 160, 300};
    popliner_profile p = make_profile(TILES);
    p.num_variables = starts[1];
    p.tile_variables_start = starts;
    p.class_always_live = always_live;
    p.variable_class = classes;
    p.category = categories;
    p.variable_category = own;
    p.variable_size_bytes = sizes;
    p.variable_placing = placing;
    p.variable_offset = offsets;
    /* without elements nothing is known */
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){70, 30, 1000, NO_CODE});
    assert_layout(pl_overhead_of_tile(&p, 1, NULL, 0), tiles[1].layout);
    /* it ends at 16 + 137, so that data begins at 160: 7 more */
    p.element_offset = elements;
    p.num_elements = 4;
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0),
                  (pl_overhead){70 - 16 - 7, 30, 1000, 137 - 55});
    /* data lies lower */
    offsets[4] = 159;
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){70, 30, 1000, NO_CODE});
    offsets[4] = 300;
    /* data would begin at 300, and more be unused than is: the rule was not followed */
    elements[2] = 300;
    p.num_elements = 3;
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){70, 30, 1000, NO_CODE});
    elements[2] = 160;
    p.num_elements = 4;

    const pl_need_rule rule = {
        .has_needs = true, .has_layout = true, .tiles_per_ipu = 128, .profile = &p};
    const pl_overhead layout = {0, 0, 1000, 137 - 55};
    pl_need_line lines[PL_NUM_LINES];
    /* bytes of code, of these vertex state, and where data begins: 16 + code + 82 at least */
    static const uint64_t codes[][3] = {
        {62, 0, 160}, {63, 0, 300}, {463, 401, 160}, {202, 0, 300}, {203, 0, 16 + 82 + 203}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const pl_placed_bytes code = {.code = codes[i][0], .state = codes[i][1]};
        const uint64_t executable_bytes = code.code - code.state + 82;
        pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 2000, code, 0, lines);
        assert_int_equal(lines->bytes, 2000 + codes[i][2] - executable_bytes);
        assert_int_equal(lines->layout_bytes, codes[i][2] - executable_bytes);
    }
    /* 144 executable bytes that begin at 16 end at an element; 17 % more, rounded up to 169, do
     * not: 300 - 144 are added */
    pl_need_of(&rule, POPLINER_NEED_MOST, &layout, 2000, (pl_placed_bytes){.code = 62}, 0, lines);
    assert_int_equal(lines->bytes, 2200); /* 2199.12, with 2 % more */
    pl_need_of(&rule, POPLINER_NEED_LEAST, &layout, 2000, (pl_placed_bytes){.code = 62}, 0, lines);
    assert_int_equal(lines->bytes, 1760);
    /* less of the groups than what is not executable in them */
    const pl_overhead data = {0, 0, 1000, -50};
    pl_need_of(&rule, POPLINER_NEED_EXPECTED, &data, 2000, (pl_placed_bytes){.code = 50}, 0, lines);
    assert_int_equal(lines->bytes, 2000);
    pl_need_of(&rule, POPLINER_NEED_EXPECTED, &data, 2000, (pl_placed_bytes){.code = 51}, 0, lines);
    assert_int_equal(lines->bytes, 2000 + 120 - 1);
    /* the last code ends at 158, with what alignment leaves: 142 bytes; 2 more up to 160 */
    offsets[3] = 158 - 80;
    offsets[4] = 160;
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){70 - 18, 30, 1000, 142 - 55});
    offsets[4] = 157; /* data below that end: only sizes count, and data lies too low */
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){70, 30, 1000, NO_CODE});
}

/* What lies apart begins an element after all data that is always live. */
static void what_lies_apart_begins_an_element(void **state) {
    (void)state;
    uint64_t elements[] = {0, 100, 200, 300, 400};
    popliner_profile p = {.element_offset = elements, .num_elements = 5};
    const pl_need_rule rule = {
        .has_needs = true, .has_layout = true, .tiles_per_ipu = 128, .profile = &p};
    const pl_overhead layout = {0, 0, 1000, 0};
    static const struct {
        pl_placed_bytes placed;
        uint64_t bytes, expected;
    } cases[] = {
        {{50, 0, 60, 0, 0}, 110, 110 + 50},  /* data begins at 100 */
        {{50, 0, 60, 7, 0}, 117, 207},       /* and ends at 160 */
        {{50, 0, 100, 7, 0}, 157, 207},      /* at an element */
        {{50, 0, 101, 7, 0}, 158, 307},      /* just after it began */
        {{50, 0, 60, 7, 0}, 170, 170 + 50},  /* other data goes further */
        {{50, 0, 301, 7, 0}, 358, 358 + 50}, /* no element is left */
        {{50, 50, 60, 7, 0}, 117, 117},      /* no code, so nothing is known */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pl_need_line lines[PL_NUM_LINES];
        pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, cases[i].bytes, cases[i].placed, 0,
                   lines);
        assert_int_equal(lines->bytes, cases[i].expected);
        assert_int_equal(lines->layout_bytes, cases[i].expected - cases[i].bytes);
    }
    /* in a profile: 30 unused below it, at the end of the tile alone */
    uint64_t starts[] = {0, 3};
    uint64_t always_live[] = {500};
    uint64_t peak[] = {100};
    uint64_t total[] = {600};
    uint64_t end[] = {700};
    uint8_t categories[] = {PL_CATEGORY_VARIABLE};
    uint8_t own[] = {0, 0, 0};
    uint8_t class_always_live[] = {1};
    uint32_t classes[] = {0, 0, 0};
    uint8_t placing[] = {PL_PLACING_EXECUTABLE, 0, 0};
    uint32_t sizes[] = {50, 60, 7};
    uint32_t offsets[] = {16, 110, 200};
    const uint32_t apart[] = {2};
    p.target.num_tiles = 1;
    p.num_variables = 3;
    p.tile_variables_start = starts;
    p.tile_always_live_bytes = always_live;
    p.tile_not_always_live_peak_bytes = peak;
    p.tile_total_bytes = total;
    p.tile_total_including_gaps_bytes = end;
    p.category = categories;
    p.variable_category = own;
    p.class_always_live = class_always_live;
    p.variable_class = classes;
    p.variable_placing = placing;
    p.variable_size_bytes = sizes;
    p.variable_offset = offsets;
    /* 100 unused: 50 are left by code, 30 below 200 */
    assert_layout(pl_overhead_of_tile(&p, 0, apart, 1), (pl_overhead){20, 0, 600, 50});
    assert_layout(pl_overhead_of_tile(&p, 0, NULL, 0), (pl_overhead){50, 0, 600, 50});
    offsets[1] = 220;
    assert_layout(pl_overhead_of_tile(&p, 0, apart, 1), (pl_overhead){50, 0, 600, 50});
}

/* The mean of 4 tiles is 100 * 64, their deviation 20 * 64; that of the copies 10 * 64 and 0. */
static void the_fullest_tile_is_told_by_all(void **state) {
    (void)state;
    static const uint64_t units[] = {80, 80, 120, 120};
    pl_need_spread all = {0};
    for (size_t i = 0; i < 4; i++)
        pl_need_spread_add(&all, (pl_need_line[]){{.bytes = units[i] * 64 + 64000},
                                                  {.bytes = units[i] * 64, .copy_bytes = 640}});
    pl_need_rule rule = {.has_needs = true};
    pl_need_line lines[PL_NUM_LINES];
    pl_need_spread_lines(&all, &rule, 4, lines);
    const pl_need_line line = lines[PL_LINE_WITH_COPIES];
    const double once = 1.135 * (6400 + 1.5 * 1280);
    assert_true((double)line.bytes > once - 1e-6 && (double)line.bytes < once + 1.000001);
    assert_true((double)line.copy_bytes > 1.135 * 640 - 1e-6 &&
                (double)line.copy_bytes < 1.135 * 640 + 1.000001);
    const double level = once + 1.135 * 64000;
    assert_true((double)lines[0].bytes > level - 1e-6 && (double)lines[0].bytes < level + 1.000001);
    assert_int_equal(lines[0].copy_bytes, 0);
    assert_int_equal(pl_need_line_at(&line, 200), line.bytes + 200 * line.copy_bytes);
    pl_need_spread_lines(&all, &rule, 0, lines);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].bytes, 0);
    rule.has_needs = false;
    pl_need_spread_lines(&all, &rule, 4, lines);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].bytes, 0);
    rule.has_needs = true;
    /* equal tiles do not deviate, however their units are rounded */
    for (uint64_t bytes = 64 * 1000; bytes < 64 * 1001; bytes++) {
        pl_need_spread equal = {0};
        for (size_t i = 0; i < 7; i++)
            pl_need_spread_add(&equal, (pl_need_line[]){{.bytes = bytes}, {.bytes = bytes}});
        const double exact = 1.135 * (double)bytes;
        pl_need_spread_lines(&equal, &rule, 7, lines);
        const uint64_t most = lines[PL_LINE_WITH_COPIES].bytes;
        assert_true((double)most > exact - 1e-6 && (double)most < exact + 1.000001);
    }
}

static void fragments_are_rounded_up(void **state) {
    (void)state;
    const pl_overhead third = {100, 1, 3, NO_CODE};
    static const uint64_t expected[] = {0, 1, 1, 1, 2, 2, 2, 3};
    for (uint64_t bytes = 0; bytes < sizeof expected / sizeof *expected; bytes++)
        assert_int_equal(pl_overhead_fragments(&third, bytes), expected[bytes]);
    const pl_overhead more = {0, 7, 5, NO_CODE}; /* more than is live */
    assert_int_equal(pl_overhead_fragments(&more, 1), 2);
    assert_int_equal(pl_overhead_fragments(&more, 5), 7);
    assert_int_equal(pl_overhead_fragments(&more, 11), 16); /* 15.4 */
    const pl_overhead none = {100, 5, 0, NO_CODE};
    assert_int_equal(pl_overhead_fragments(&none, 1000), 0);
    /* 2^40 bytes, of which a 2^20th part and 1 of 2^30 fragment: the product is beyond 64 bits */
    const pl_overhead large = {0, (1u << 10) + 1, UINT64_C(1) << 30, NO_CODE};
    assert_true(pl_overhead_fragments(&large, UINT64_C(1) << 40) ==
                (UINT64_C(1) << 20) + (UINT64_C(1) << 10));
    assert_true(pl_overhead_fragments(&large, (UINT64_C(1) << 40) + 1) ==
                (UINT64_C(1) << 20) + (UINT64_C(1) << 10) + 1);
    /* as many bytes as an IPU has tiles of a gigabyte, half of them again */
    const pl_overhead half = {0, UINT64_C(500000001), UINT64_C(1000000002), NO_CODE};
    assert_true(pl_overhead_fragments(&half, UINT64_C(1500000000003)) == UINT64_C(750000000002));
}

static void assert_need(const pl_need_rule *rule, popliner_need need, const pl_overhead *layout,
                        uint64_t bytes, uint64_t copy_bytes) {
    pl_need_line lines[PL_NUM_LINES];
    pl_need_of(rule, need, layout, 1000, (pl_placed_bytes){.code = 300}, 150, lines);
    assert_int_equal(lines[PL_LINE_WITHOUT_COPIES].bytes, bytes);
    assert_int_equal(lines[PL_LINE_WITHOUT_COPIES].copy_bytes, 0);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].bytes, bytes);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].copy_bytes, copy_bytes);
}

static void needs_are_lines(void **state) {
    (void)state;
    pl_need_rule rule = {.has_needs = true, .has_layout = true, .tiles_per_ipu = 128};
    const pl_overhead layout = {40, 2, 32, NO_CODE};
    const pl_overhead unknown = {40, 2, 0, NO_CODE};
    /* 1000 + 40 + 62.5; 150 + 9.375 */
    assert_need(&rule, POPLINER_NEED_EXPECTED, &layout, 1103, 160);
    assert_need(&rule, POPLINER_NEED_EXPECTED, &unknown, 1000, 150);
    /* 12 % less */
    assert_need(&rule, POPLINER_NEED_LEAST, &layout, 880, 132);
    /* 2 % more: 1125.06, 163.2 */
    assert_need(&rule, POPLINER_NEED_MOST, &layout, 1126, 164);
    assert_need(&rule, POPLINER_NEED_MOST, &unknown, 1020, 153);
    /* whether it is expected to be wasteful, says nothing of the other two */
    rule.has_layout = false;
    assert_need(&rule, POPLINER_NEED_EXPECTED, &layout, 1000, 150);
    assert_need(&rule, POPLINER_NEED_LEAST, &layout, 880, 132);
    assert_need(&rule, POPLINER_NEED_MOST, &layout, 1126, 164);
    /* a model that knows of no needs */
    rule = (pl_need_rule){.has_needs = false, .has_layout = true};
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        assert_need(&rule, (popliner_need)need, &layout, 1000, 150);
    /* nothing needs nothing more than what is never used */
    rule.has_needs = true;
    pl_need_line lines[PL_NUM_LINES];
    pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 0, (pl_placed_bytes){0}, 0, lines);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].bytes, 40);
    assert_int_equal(lines[PL_LINE_WITH_COPIES].copy_bytes, 0);
}

/* What is stored is freed once there are copies; freeing never makes a stage need more. */
static void what_is_stored_is_freed(void **state) {
    (void)state;
    const pl_need_rule rule = {.has_needs = true, .has_layout = true, .tiles_per_ipu = 128};
    const pl_overhead layout = {40, 2, 32, NO_CODE};
    const pl_placed_bytes placed = {.code = 300, .freed = 200};
    /* 1000 + 40 + 62.5; 800 + 40 + 50; 150 + 9.375 */
    pl_need_line lines[PL_NUM_LINES];
    const pl_need_line *level = &lines[PL_LINE_WITHOUT_COPIES];
    const pl_need_line *line = &lines[PL_LINE_WITH_COPIES];
    pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 1000, placed, 150, lines);
    assert_int_equal(level->bytes, 1103);
    assert_int_equal(level->layout_bytes, 103);
    assert_int_equal(level->freed_bytes, 0);
    assert_int_equal(line->bytes, 890);
    assert_int_equal(line->copy_bytes, 160);
    assert_int_equal(line->layout_bytes, 90);
    assert_int_equal(line->freed_bytes, 200);
    assert_int_equal(pl_need_line_stash(line, 3), 3 * 150 - 200);
    assert_int_equal(pl_need_line_layout(line, 3), 90 + 3 * 10);
    /* 2 % more, rounded up */
    pl_need_of(&rule, POPLINER_NEED_MOST, &layout, 1000, placed, 150, lines);
    assert_int_equal(level->bytes, 1126);
    assert_int_equal(line->bytes, 908);
    /* not more than there is */
    pl_need_of(&rule, POPLINER_NEED_EXPECTED, &layout, 120, placed, 150, lines);
    assert_int_equal(line->freed_bytes, 120);
    assert_int_equal(line->bytes, line->layout_bytes);
    /* tiles that were even, and are not without it */
    pl_need_spread spread = {0};
    for (uint64_t i = 0; i < 2; i++)
        pl_need_spread_add(&spread,
                           (pl_need_line[]){{.bytes = 64000}, {.bytes = 64000 - i * 32000}});
    pl_need_spread_lines(&spread, &rule, 2, lines);
    assert_int_equal(level->bytes, 72640); /* 1.135 * 64000 */
    assert_int_equal(line->bytes, level->bytes);
}

/* The factor of what is needed at least, by the number of tiles. */
static void widths_depend_on_tiles(void **state) {
    (void)state;
    static const struct {
        size_t tiles;
        double least;
    } cases[] = {{0, 0.850}, {4, 0.850}, {127, 0.850}, {128, 0.880}, {1472, 0.880}};
    const pl_overhead layout = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pl_need_rule rule = {.has_needs = true, .tiles_per_ipu = cases[i].tiles};
        for (uint64_t bytes = 0; bytes < 100000; bytes = bytes * 3 + 1) {
            pl_need_line lines[PL_NUM_LINES];
            const pl_need_line *line = &lines[PL_LINE_WITH_COPIES];
            pl_need_of(&rule, POPLINER_NEED_LEAST, &layout, bytes, (pl_placed_bytes){0}, bytes,
                       lines);
            const double exact = (double)bytes * cases[i].least;
            assert_true((double)line->bytes < exact + 1e-6 && (double)line->bytes > exact - 1);
            assert_int_equal(line->copy_bytes, line->bytes);
        }
    }
}

/* ---- Whether it fits ------------------------------------------------------------------------ */

static void verdicts_change_at_the_needs(void **state) {
    (void)state;
    popliner_stage_detail d = {.tile_bytes = 200};
    d.need_bytes[POPLINER_NEED_LEAST] = 100;
    d.need_bytes[POPLINER_NEED_EXPECTED] = 200;
    d.need_bytes[POPLINER_NEED_MOST] = 300;
    static const struct {
        uint64_t limit;
        popliner_verdict verdict;
        const char *text;
    } cases[] = {
        {0, POPLINER_FITS_NOT, "does not fit"},
        {99, POPLINER_FITS_NOT, "does not fit"},
        {100, POPLINER_FITS_PERHAPS, "may not fit"},
        {199, POPLINER_FITS_PERHAPS, "may not fit"},
        {200, POPLINER_FITS_LIKELY, "likely fits"},
        {299, POPLINER_FITS_LIKELY, "likely fits"},
        {300, POPLINER_FITS, "fits"},
        {UINT64_MAX, POPLINER_FITS, "fits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(popliner_verdict_of(&d, cases[i].limit, NULL), cases[i].verdict);
        assert_string_equal(pl_verdict_text(cases[i].verdict), cases[i].text);
    }
    assert_string_equal(pl_verdict_text((popliner_verdict)5), "");
    assert_string_equal(pl_verdict_text((popliner_verdict)-1), "");
    /* tiles of several IPUs tell what one does not have, but not what it has */
    d.num_ipus = 2;
    assert_int_equal(popliner_verdict_of(&d, 99, NULL), POPLINER_FITS_NOT);
    assert_int_equal(popliner_verdict_of(&d, 100, NULL), POPLINER_FITS_UNKNOWN);
    assert_int_equal(popliner_verdict_of(&d, UINT64_MAX, NULL), POPLINER_FITS_UNKNOWN);
    assert_string_equal(pl_verdict_text(POPLINER_FITS_UNKNOWN), "is not known to fit");
    d.num_ipus = 1;
    /* where all are one, there is no doubt */
    d.need_bytes[POPLINER_NEED_LEAST] = d.need_bytes[POPLINER_NEED_MOST] = 200;
    assert_int_equal(popliner_verdict_of(&d, 199, NULL), POPLINER_FITS_NOT);
    assert_int_equal(popliner_verdict_of(&d, 200, NULL), POPLINER_FITS);
}

static void margins_are_in_spreads(void **state) {
    (void)state;
    popliner_stage_detail d = {.tile_bytes = 1000};
    d.need_bytes[POPLINER_NEED_EXPECTED] = 1000; /* a spread is 34 bytes */
    assert_true(fabs(pl_margin_spreads(&d, 1000)) < 1e-9);
    assert_true(fabs(pl_margin_spreads(&d, 1034) - 1) < 1e-9);
    assert_true(fabs(pl_margin_spreads(&d, 1102) - 3) < 1e-9);
    assert_true(fabs(pl_margin_spreads(&d, 983) + 0.5) < 1e-9);
    assert_true(fabs(pl_margin_spreads(&d, 0) + 1 / POPLINER_SPREAD) < 1e-9);
    d.need_bytes[POPLINER_NEED_EXPECTED] = 0;
    assert_true(pl_margin_spreads(&d, 10) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_as_the_compiler_laid_them_out),
        cmocka_unit_test(code_is_that_of_executable_variables),
        cmocka_unit_test(what_lies_apart_begins_an_element),
        cmocka_unit_test(the_fullest_tile_is_told_by_all),
        cmocka_unit_test(fragments_are_rounded_up),
        cmocka_unit_test(needs_are_lines),
        cmocka_unit_test(what_is_stored_is_freed),
        cmocka_unit_test(widths_depend_on_tiles),
        cmocka_unit_test(verdicts_change_at_the_needs),
        cmocka_unit_test(margins_are_in_spreads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
