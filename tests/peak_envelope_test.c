/* The fullest tile by number of copies, against looking at all tiles for each place.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "memory/stage_details.h"
#include "profile/profile_data.h"
#include "test_data.h"

enum { MOST_TILES = 40, INTERVALS = 3 };

/* Tiles with few different numbers, so that many are equal somewhere, and that need the less the
 * more they keep, so that each may be the largest somewhere. */
static pl_need_line draw_tile(uint64_t *random, size_t tile) {
    size_t copy_bytes = test_below(random, 8);
    return (pl_need_line){
        .bytes = 200 - 2 * copy_bytes * copy_bytes + test_below(random, 6),
        .copy_bytes = copy_bytes,
        .unexplained_bytes = test_below(random, 5),
        .tile = (uint32_t)tile,
        .step = (uint32_t)test_below(random, 100),
    };
}

/* The fullest tile with so many copies, the first of equals. */
static const pl_need_line *plain_largest(const pl_need_line *tiles, size_t num_tiles,
                                         size_t copies) {
    const pl_need_line *largest = &tiles[0];
    for (size_t i = 1; i < num_tiles; i++) {
        if (tiles[i].bytes + copies * tiles[i].copy_bytes >
            largest->bytes + copies * largest->copy_bytes)
            largest = &tiles[i];
    }
    return largest;
}

static void assert_all_copies(const pl_peak_envelope *largest, size_t interval,
                              const pl_need_line *tiles, size_t num_tiles) {
    for (size_t copies = 0; copies <= largest->max_copies; copies++) {
        const pl_need_line *expected = plain_largest(tiles, num_tiles, copies);
        const pl_need_line *found = pl_peak_envelope_find(largest, interval, copies);
        assert_non_null(found);
        assert_int_equal(found->tile, expected->tile);
        assert_int_equal(found->bytes, expected->bytes);
        assert_int_equal(found->copy_bytes, expected->copy_bytes);
        assert_int_equal(found->unexplained_bytes, expected->unexplained_bytes);
        assert_int_equal(found->step, expected->step);
        assert_int_equal(pl_need_line_at(found, copies),
                         expected->bytes + copies * expected->copy_bytes);
    }
}

static void shuffle(uint32_t *order, size_t count, uint64_t *random) {
    for (size_t i = count; i > 1; i--) {
        size_t k = test_below(random, i);
        uint32_t other = order[i - 1];
        order[i - 1] = order[k];
        order[k] = other;
    }
}

static void agrees_with_looking_at_all_tiles(void **state) {
    (void)state;
    uint64_t random = 83;
    size_t most_pieces = 0;
    for (int round = 0; round < 2000; round++) {
        size_t max_copies = round % 4 == 0 ? 0 : test_below(&random, 24);
        size_t num_tiles = 1 + test_below(&random, MOST_TILES);
        pl_need_line tiles[INTERVALS][MOST_TILES];
        uint32_t order[MOST_TILES];
        pl_arrays arrays = {0};
        /* in two orders of tiles */
        pl_peak_envelope largest[2] = {{.max_copies = max_copies}, {.max_copies = max_copies}};
        pl_peak_lines lines[2][INTERVALS] = {{{0, NULL}}};
        for (size_t i = 0; i < num_tiles; i++)
            order[i] = (uint32_t)i;
        for (size_t interval = 0; interval < INTERVALS; interval++) {
            for (size_t i = 0; i < num_tiles; i++)
                tiles[interval][i] = draw_tile(&random, i);
            shuffle(order, num_tiles, &random);
            for (size_t i = 0; i < num_tiles; i++) {
                pl_peak_lines_add(&lines[0][interval], &arrays, max_copies,
                                  &tiles[interval][order[i]]);
                pl_peak_lines_add(&lines[1][interval], &arrays, max_copies,
                                  &tiles[interval][num_tiles - 1 - i]);
            }
        }
        for (size_t i = 0; i < 2; i++) {
            pl_peak_envelope_list(&largest[i], &arrays, lines[i], INTERVALS);
            assert_false(arrays.failed);
            assert_true(pl_peak_envelope_check(&largest[i], num_tiles, 100));
            for (size_t interval = 0; interval < INTERVALS; interval++)
                assert_all_copies(&largest[i], interval, tiles[interval], num_tiles);
        }
        /* the same lines, whatever the order */
        assert_int_equal(largest[0].num_pieces, largest[1].num_pieces);
        assert_memory_equal(largest[0].start, largest[1].start,
                            (INTERVALS + 1) * sizeof *largest[0].start);
        most_pieces = largest[0].num_pieces > most_pieces ? largest[0].num_pieces : most_pieces;
        pl_arrays_free(&arrays);
    }
    assert_true(most_pieces >= 4 * INTERVALS); /* or the test is too easy */
}

/* By hand: with 0, 3, 5, 7 copies. */
static void tells_lines_that_are_calculated(void **state) {
    (void)state;
    pl_arrays arrays = {0};
    pl_peak_envelope largest = {.max_copies = 7};
    pl_peak_lines lines[2] = {{0, NULL}, {0, NULL}};
    /* 100, 103, 105, 107; 90, 108, 120, 132; 85, 106, 120, 134 */
    const pl_need_line tiles[] = {{.bytes = 100, .copy_bytes = 1, .tile = 5},
                                  {.bytes = 90, .copy_bytes = 6, .tile = 7},
                                  {.bytes = 85, .copy_bytes = 7, .tile = 6}};
    static const size_t copies[] = {0, 3, 5, 7};
    static const uint32_t expected[] = {5, 7, 6, 6}; /* the lower number of two with 120 */
    /* one above all leaves nothing of the others */
    const pl_need_line above = {.bytes = 200, .copy_bytes = 7, .tile = 9};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 2; k++)
            pl_peak_lines_add(&lines[k], &arrays, 7, &tiles[i]);
    pl_peak_lines_add(&lines[1], &arrays, 7, &above);
    pl_peak_envelope_list(&largest, &arrays, lines, 2);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pl_peak_envelope_find(&largest, 0, copies[i])->tile, expected[i]);
    assert_int_equal(pl_need_line_at(pl_peak_envelope_find(&largest, 0, 7), 7), 134);
    assert_int_equal(largest.start[2], largest.start[1] + 1);
    assert_int_equal(largest.pieces[largest.start[1]].tile, 9);
    pl_arrays_free(&arrays);
}

static void refuses_what_leads_out(void **state) {
    (void)state;
    const pl_need_line good[] = {{.tile = 1, .step = 4}, {.tile = 2}, {.step = 10}};
    const struct {
        size_t place;
        pl_need_line piece;
    } bad[] = {
        {0, {.tile = 3}},             /* no such tile */
        {0, {.tile = 1, .step = 11}}, /* no such step */
        {1, {.tile = UINT64_MAX}},
        {2, {.step = UINT64_MAX}},
    };
    static const uint64_t bad_starts[][3] = {{1, 2, 3}, {0, 0, 3},          {0, 3, 3}, {0, 4, 3},
                                             {0, 2, 2}, {0, UINT64_MAX, 3}, {0, 2, 4}};
    pl_need_line pieces[3];
    uint64_t start[] = {0, 2, 3};
    pl_peak_envelope tiles = {
        .max_copies = 2, .num_intervals = 2, .start = start, .num_pieces = 3, .pieces = pieces};
    memcpy(pieces, good, sizeof pieces);
    assert_true(pl_peak_envelope_check(&tiles, 3, 10));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(pieces, good, sizeof pieces);
        pieces[bad[i].place] = bad[i].piece;
        if (pl_peak_envelope_check(&tiles, 3, 10))
            fail_msg("bad piece %zu was not refused", i);
    }
    memcpy(pieces, good, sizeof pieces);
    for (size_t i = 0; i < sizeof bad_starts / sizeof *bad_starts; i++) {
        memcpy(start, bad_starts[i], sizeof start);
        if (pl_peak_envelope_check(&tiles, 3, 10))
            fail_msg("bad starts %zu were not refused", i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_looking_at_all_tiles),
        cmocka_unit_test(tells_lines_that_are_calculated),
        cmocka_unit_test(refuses_what_leads_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
