/* Which variables are live when: against a sum for every step, a map of every byte, and the
 * compiler's own account.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "popliner/profile.h"
#include "profile/profile_data.h"
#include "test_data.h"

/* ---- By brute force ------------------------------------------------------------------------- */

/* Straight from the ranges of its class. */
static bool expect_live(const popliner_profile *p, size_t variable, size_t step) {
    uint32_t class_index = p->variable_class[variable];
    bool is_live = p->class_always_live[class_index] != 0;
    for (uint32_t r = p->class_ranges_start[class_index];
         r < p->class_ranges_start[class_index + 1]; r++)
        is_live = is_live || (p->range_first_step[r] <= step && step < p->range_end_step[r]);
    return is_live;
}

/* The bytes that are live at each step on each tile, without always-live data: live[step *
 * num_tiles + tile]. */
static uint64_t *expect_bytes(const popliner_profile *p, const uint8_t *selection,
                              uint64_t *always_live) {
    size_t num_tiles = p->target.num_tiles;
    uint64_t *live = test_new_array(p->num_steps * num_tiles, sizeof *live);
    memset(always_live, 0, num_tiles * sizeof *always_live);
    for (size_t v = 0; v < p->num_variables; v++) {
        uint32_t class_index = p->variable_class[v];
        if (selection != NULL && selection[v] == 0)
            continue;
        if (p->class_always_live[class_index]) {
            always_live[pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
            continue;
        }
        for (uint32_t r = p->class_ranges_start[class_index];
             r < p->class_ranges_start[class_index + 1]; r++) {
            for (size_t step = p->range_first_step[r]; step < p->range_end_step[r]; step++)
                live[step * num_tiles + pl_profile_tile_of(p, v)] += p->variable_size_bytes[v];
        }
    }
    return live;
}

static void check_window(const golden_case *c, const uint8_t *selection, const uint64_t *live,
                         const uint64_t *always_live, size_t first_step, size_t end_step) {
    const popliner_profile *p = c->profile;
    size_t num_tiles = p->target.num_tiles;
    size_t num_steps = end_step > first_step ? end_step - first_step : 0;
    popliner_peak *peaks = test_new_array(num_tiles, sizeof *peaks);
    uint64_t *bytes = test_new_array(num_steps, sizeof *bytes);
    uint64_t *sums = test_new_array(num_steps, sizeof *sums);
    assert_int_equal(popliner_liveness_peaks(p, selection, first_step, end_step, peaks, NULL),
                     POPLINER_OK);
    for (size_t tile = 0; tile < num_tiles; tile++) {
        size_t peak_step = first_step;
        for (size_t i = 0; i < num_steps; i++) {
            uint64_t expected = live[(first_step + i) * num_tiles + tile];
            sums[i] += expected;
            if (expected > live[peak_step * num_tiles + tile])
                peak_step = first_step + i;
        }
        assert_int_equal(peaks[tile].always_live_bytes, always_live[tile]);
        assert_int_equal(peaks[tile].not_always_live_bytes,
                         num_steps > 0 ? live[peak_step * num_tiles + tile] : 0);
        assert_int_equal(peaks[tile].peak_step, peak_step);
        memset(bytes, 0xff, (num_steps + 1) * sizeof *bytes);
        assert_int_equal(
            popliner_liveness_by_step(p, tile, selection, first_step, end_step, bytes, NULL),
            POPLINER_OK);
        for (size_t i = 0; i < num_steps; i++)
            assert_int_equal(bytes[i], live[(first_step + i) * num_tiles + tile]);
        assert_true(bytes[num_steps] == UINT64_MAX); /* no more than was requested */
    }
    memset(bytes, 0xff, (num_steps + 1) * sizeof *bytes);
    assert_int_equal(popliner_liveness_by_step(p, POPLINER_ALL_TILES, selection, first_step,
                                               end_step, bytes, NULL),
                     POPLINER_OK);
    assert_true(same_numbers("device", bytes, sums, num_steps));
    assert_true(bytes[num_steps] == UINT64_MAX);
    free(peaks);
    free(bytes);
    free(sums);
}

static void check_random_selections(const golden_case *c) {
    const popliner_profile *p = c->profile;
    static const unsigned chances[] = {1000, 500, 50, 3, 0}; /* of 1000 */
    uint8_t *selection = test_new_array(p->num_variables, 1);
    uint64_t *always_live = test_new_array(p->target.num_tiles, sizeof *always_live);
    uint64_t random = 59;
    for (size_t round = 0; round <= sizeof chances / sizeof *chances; round++) {
        bool is_all = round == sizeof chances / sizeof *chances;
        for (size_t v = 0; v < p->num_variables && !is_all; v++) {
            random = test_random(random);
            selection[v] = (random >> 33) % 1000 < chances[round] ? (uint8_t)(random >> 50) | 1 : 0;
        }
        const uint8_t *marks = is_all ? NULL : selection;
        uint64_t *live = expect_bytes(p, marks, always_live);
        check_window(c, marks, live, always_live, 0, p->num_steps);
        for (size_t window = 0; window < 3; window++) {
            random = test_random(random);
            size_t first_step = (size_t)(random >> 33) % p->num_steps;
            random = test_random(random);
            size_t end_step = first_step + (size_t)(random >> 33) % (p->num_steps - first_step + 1);
            check_window(c, marks, live, always_live, first_step, end_step);
        }
        check_window(c, marks, live, always_live, 0, 1);
        check_window(c, marks, live, always_live, p->num_steps - 1, p->num_steps);
        check_window(c, marks, live, always_live, 5, 5);
        free(live);
    }
    free(selection);
    free(always_live);
}

static void agrees_with_brute_force(void **state) {
    (void)state;
    golden_for_each(check_random_selections);
}

static void check_variables(const golden_case *c) {
    const popliner_profile *p = c->profile;
    size_t place = 0;
    uint64_t random = 61;
    for (size_t tile = 0; tile < p->target.num_tiles; tile++) {
        popliner_tile_memory memory = POPLINER_TILE_MEMORY_INIT;
        assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_TILE, tile, &memory, NULL),
                         POPLINER_OK);
        assert_int_equal(memory.first_variable, place);
        for (; place < p->num_variables && pl_profile_tile_of(p, place) == tile; place++)
            ;
        assert_int_equal(memory.end_variable, place);
    }
    assert_int_equal(place, p->num_variables);
    for (size_t v = 0; v < p->num_variables; v++) {
        popliner_variable variable = POPLINER_VARIABLE_INIT;
        assert_int_equal(popliner_profile_get(p, POPLINER_ITEM_VARIABLE, v, &variable, NULL),
                         POPLINER_OK);
        uint32_t class_index = p->variable_class[v];
        assert_int_equal(variable.tile, pl_profile_tile_of(p, v));
        assert_int_equal(variable.size_bytes, p->variable_size_bytes[v]);
        assert_int_equal(variable.offset_bytes, p->variable_offset[v]);
        assert_int_equal(variable.equivalence_class, class_index);
        assert_int_equal(variable.is_always_live, p->class_always_live[class_index] != 0);
        assert_non_null(variable.name);
        assert_non_null(variable.category);
        for (int k = 0; k < 4; k++) {
            random = test_random(random);
            size_t step = (size_t)(random >> 33) % p->num_steps;
            assert_int_equal(popliner_liveness_is_live(p, v, step), expect_live(p, v, step));
        }
        for (uint32_t r = p->class_ranges_start[class_index];
             r < p->class_ranges_start[class_index + 1]; r++) {
            const size_t edges[] = {p->range_first_step[r] - 1u, p->range_first_step[r],
                                    p->range_end_step[r] - 1u, p->range_end_step[r]};
            for (size_t k = 0; k < 4; k++) {
                if (edges[k] < p->num_steps)
                    assert_int_equal(popliner_liveness_is_live(p, v, edges[k]),
                                     expect_live(p, v, edges[k]));
            }
        }
    }
}

static void tells_of_single_variables(void **state) {
    (void)state;
    golden_for_each(check_variables);
}

/* ---- The compiler's account ----------------------------------------------------------------- */

static sqlite3_stmt *query(sqlite3 *sqlite, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(sqlite));
    return statement;
}

static void check_account(const golden_case *c, const char *path) {
    const popliner_profile *p = c->profile;
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open_v2(path, &sqlite, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    popliner_peak *peaks = test_new_array(p->target.num_tiles, sizeof *peaks);
    assert_int_equal(popliner_liveness_peaks(p, NULL, 0, p->num_steps, peaks, NULL), POPLINER_OK);
    sqlite3_stmt *rows = query(sqlite, "SELECT tile, always_live_bytes, not_always_live_max_bytes "
                                       "FROM memory_by_tile");
    size_t num_tiles = 0;
    for (; sqlite3_step(rows) == SQLITE_ROW; num_tiles++) {
        size_t tile = (size_t)sqlite3_column_int64(rows, 0);
        assert_true(tile < p->target.num_tiles);
        assert_int_equal(peaks[tile].always_live_bytes, sqlite3_column_int64(rows, 1));
        assert_int_equal(peaks[tile].not_always_live_bytes, sqlite3_column_int64(rows, 2));
    }
    assert_int_equal(num_tiles, p->target.num_tiles);
    sqlite3_finalize(rows);

    /* Changes from step to step, of one IPU or of all; a step without a row changes nothing. */
    uint64_t *change = test_new_array(p->num_steps, sizeof *change);
    uint64_t *bytes = test_new_array(p->num_steps, sizeof *bytes);
    rows = query(sqlite, "SELECT step_id, delta_bytes FROM memory_not_always_live_by_step_and_ipu "
                         "WHERE ipu IS NULL OR NOT EXISTS (SELECT 1 FROM "
                         "memory_not_always_live_by_step_and_ipu WHERE ipu IS NULL)");
    size_t num_changes = 0;
    for (; sqlite3_step(rows) == SQLITE_ROW; num_changes++)
        change[sqlite3_column_int64(rows, 0)] += (uint64_t)sqlite3_column_int64(rows, 1);
    sqlite3_finalize(rows);
    sqlite3_close(sqlite);
    assert_true(num_changes > 0);
    for (size_t step = 1; step < p->num_steps; step++)
        change[step] += change[step - 1];
    assert_int_equal(
        popliner_liveness_by_step(p, POPLINER_ALL_TILES, NULL, 0, p->num_steps, bytes, NULL),
        POPLINER_OK);
    assert_true(same_numbers("device", bytes, change, p->num_steps));
    free(peaks);
    free(change);
    free(bytes);
}

static void check_golden_account(const golden_case *c) {
    char *path = test_golden_file(c->name, "profile.pop");
    check_account(c, path);
    free(path);
}

static void agrees_with_the_compiler(void **state) {
    (void)state;
    golden_for_each(check_golden_account);
}

static void agrees_with_the_real_compiler(void **state) {
    (void)state;
    golden_case c;
    real_load(&c);
    char *path = test_firehose_file("profile.pop");
    check_account(&c, path);
    check_variables(&c);
    free(path);
    golden_free(&c);
}

/* ---- By hand -------------------------------------------------------------------------------- */

static void reads_a_model_made_by_hand(void **state) {
    (void)state;
    golden_case c = made_case();
    /* 1000 bytes at step 0, 10 at steps 1 and 2, 500 at step 4, 7 at steps 0 and 3, 90 always */
    static const uint64_t expected[] = {1007, 10, 10, 7, 500};
    uint64_t bytes[5];
    popliner_peak peak;
    assert_int_equal(popliner_liveness_by_step(c.profile, 0, NULL, 0, 5, bytes, NULL), POPLINER_OK);
    assert_true(same_numbers("live", bytes, expected, 5));
    assert_int_equal(popliner_liveness_peaks(c.profile, NULL, 0, 5, &peak, NULL), POPLINER_OK);
    assert_int_equal(peak.always_live_bytes, 90);
    assert_int_equal(peak.not_always_live_bytes, 1007);
    assert_int_equal(peak.peak_step, 0);
    static const uint8_t without_the_first[] = {0, 1, 1, 1, 1};
    assert_int_equal(popliner_liveness_peaks(c.profile, without_the_first, 0, 4, &peak, NULL),
                     POPLINER_OK);
    assert_int_equal(peak.not_always_live_bytes, 10);
    assert_int_equal(peak.peak_step, 1);
    popliner_variable variable = POPLINER_VARIABLE_INIT;
    assert_int_equal(popliner_profile_get(c.profile, POPLINER_ITEM_VARIABLE, 4, &variable, NULL),
                     POPLINER_OK);
    assert_true(variable.is_always_live);
    assert_string_equal(variable.name, "");
    assert_string_equal(variable.category, "variable");
    assert_true(popliner_liveness_is_live(c.profile, 1, 2));
    assert_false(popliner_liveness_is_live(c.profile, 1, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_brute_force),
        cmocka_unit_test(tells_of_single_variables),
        cmocka_unit_test(agrees_with_the_compiler),
        cmocka_unit_test(agrees_with_the_real_compiler),
        cmocka_unit_test(reads_a_model_made_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
