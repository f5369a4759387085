/* How variables are placed on a tile: against the addresses of the real profile, and random tiles
 * against a search over every address.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "memory/placement.h"
#include "profile/profile_data.h"
#include "profile/read.h"

/* ---- The real profile ------------------------------------------------------------------------ */

static void test_real_addresses(void **state) {
    (void)state;
    popliner_profile *p = NULL;
    pl_laid_out layout;
    char *path = test_firehose_file("profile.pop");
    if (path == NULL)
        test_skip("its data is in ../shared alone");
    assert_int_equal(pl_read_profile(path, NULL, &p, NULL), POPLINER_OK);
    assert_int_equal(pl_placement_check(p, &layout, NULL), POPLINER_OK);
    assert_int_equal(layout.num_tiles, 1472);
    assert_int_equal(layout.num_tiles_equal, 1472);
    assert_int_equal(layout.num_variables, 50407);
    assert_int_equal(layout.num_equal, 50407);
    uint64_t sum_bytes = layout.live_bytes;
    for (size_t i = 0; i < PL_NUM_GAPS; i++)
        sum_bytes += layout.gap_bytes[i];
    assert_int_equal(sum_bytes, layout.end_bytes);

    /* in the rule's own order, as if the file recorded none */
    p->num_ordered = 0;
    assert_int_equal(pl_placement_check(p, &layout, NULL), POPLINER_OK);
    assert_int_equal(layout.num_ends_equal, 1472);
    assert_int_equal(layout.num_equal, 50338);
    pl_profile_free(p);
    free(path);
}

/* ---- Random tiles ---------------------------------------------------------------------------- */

enum { MOST_VARIABLES = 40, NUM_CLASSES = 9, NUM_STEPS = 16, NUM_ELEMENTS = 6, MOST_APART = 60 };

/* A profile of one tile with small elements. */
typedef struct tile {
    popliner_profile profile;
    uint8_t class_always_live[NUM_CLASSES];
    uint32_t class_ranges_start[NUM_CLASSES + 1];
    uint32_t first_step[2 * NUM_CLASSES];
    uint32_t end_step[2 * NUM_CLASSES];
    uint8_t category[3];
    uint32_t size_bytes[MOST_VARIABLES];
    uint32_t offset[MOST_VARIABLES];
    uint32_t variable_class[MOST_VARIABLES];
    uint8_t variable_category[MOST_VARIABLES];
    uint8_t placing[MOST_VARIABLES];
    uint64_t tile_variables_start[2];
    uint64_t elements[NUM_ELEMENTS];
    uint32_t apart_variable[MOST_APART];
    uint32_t apart_from[MOST_APART];
    uint64_t told_bytes[1];
} tile;

static void make_classes(tile *t, uint64_t *random) {
    uint32_t num_ranges = 0;
    for (size_t c = 0; c < NUM_CLASSES; c++) {
        uint32_t step = (uint32_t)pl_random_below(random, NUM_STEPS - 8);
        t->class_always_live[c] = pl_random_below(random, 3) == 0;
        for (size_t i = pl_random_below(random, 3); !t->class_always_live[c] && i > 0; i--) {
            t->first_step[num_ranges] = step;
            t->end_step[num_ranges++] = step + 1 + (uint32_t)pl_random_below(random, 3);
            step += 5;
        }
        t->class_ranges_start[c + 1] = num_ranges;
    }
}

static void make_tile(tile *t, uint64_t *random) {
    popliner_profile *p = &t->profile;
    *t = (tile){
        .category = {PL_CATEGORY_VARIABLE, PL_CATEGORY_COPY_DESCRIPTOR, PL_CATEGORY_VERTEX_CODE}};
    const size_t count = 1 + (size_t)pl_random_below(random, MOST_VARIABLES);
    const bool has_elements = pl_random_below(random, 8) > 0;
    make_classes(t, random);
    for (size_t i = 0; i < NUM_ELEMENTS; i++)
        t->elements[i] = i == 0 ? 0 : t->elements[i - 1] + 16 + pl_random_below(random, 80);
    for (size_t i = 0; i < count; i++) {
        t->size_bytes[i] = (uint32_t)pl_random_below(random, 40);
        t->variable_class[i] = (uint32_t)pl_random_below(random, NUM_CLASSES);
        t->variable_category[i] = (uint8_t)pl_random_below(random, 3);
        t->placing[i] = (uint8_t)(pl_random_below(random, 6) | pl_random_below(random, 8) << 5);
        for (size_t k = pl_random_below(random, 3); k > 0 && p->num_apart < MOST_APART; k--) {
            t->apart_variable[p->num_apart] = (uint32_t)i;
            t->apart_from[p->num_apart++] = (uint32_t)pl_random_below(random, count);
        }
    }
    t->tile_variables_start[1] = count;
    p->target.num_tiles = 1;
    p->num_variables = count;
    p->num_classes = NUM_CLASSES;
    p->class_always_live = t->class_always_live;
    p->class_ranges_start = t->class_ranges_start;
    p->range_first_step = t->first_step;
    p->range_end_step = t->end_step;
    p->category = t->category;
    p->variable_size_bytes = t->size_bytes;
    p->variable_offset = t->offset;
    p->variable_class = t->variable_class;
    p->variable_category = t->variable_category;
    p->variable_placing = t->placing;
    p->tile_variables_start = t->tile_variables_start;
    p->num_elements = has_elements ? NUM_ELEMENTS : 0;
    p->element_offset = t->elements;
    p->apart_variable = t->apart_variable;
    p->apart_from = t->apart_from;
    p->tile_always_live_bytes = p->tile_not_always_live_peak_bytes = t->told_bytes;
}

static bool live_together(const tile *t, uint32_t a, uint32_t b) {
    if (t->class_always_live[a] || t->class_always_live[b])
        return true;
    for (uint32_t step = 0; step < NUM_STEPS; step++) {
        bool lives[2] = {false, false};
        for (size_t k = 0; k < 2; k++) {
            uint32_t c = k == 0 ? a : b;
            for (uint32_t i = t->class_ranges_start[c]; i < t->class_ranges_start[c + 1]; i++)
                lives[k] = lives[k] || (t->first_step[i] <= step && step < t->end_step[i]);
        }
        if (lives[0] && lives[1])
            return true;
    }
    return false;
}

static size_t element_at(const tile *t, uint64_t address) {
    size_t element = 0;
    while (element + 1 < NUM_ELEMENTS && t->elements[element + 1] <= address)
        element++;
    return element;
}

/* Whether variable a at an address lies in an element of b, but for the last one. */
static bool share_element(const tile *t, size_t a, uint64_t address, size_t b, uint64_t address_b) {
    const size_t first_a = element_at(t, address);
    const size_t first_b = element_at(t, address_b);
    const size_t first = first_a > first_b ? first_a : first_b;
    return t->profile.num_elements > 0 && first + 1 < NUM_ELEMENTS &&
           first <= element_at(t, address + t->size_bytes[a] - 1) &&
           first <= element_at(t, address_b + t->size_bytes[b] - 1);
}

static bool may_be_at(const tile *t, const pl_item *items, size_t own, uint64_t address) {
    const size_t a = items[own].variable;
    if (address % (UINT64_C(1) << (t->placing[a] & PL_PLACING_ALIGNMENT)) != 0)
        return false;
    for (size_t i = 0; i < own; i++) {
        const size_t b = items[i].variable;
        const uint64_t address_b = items[i].address;
        bool is_apart = ((t->placing[a] ^ t->placing[b]) & PL_PLACING_EXECUTABLE) != 0;
        for (size_t k = 0; k < t->profile.num_apart; k++)
            is_apart = is_apart || (t->apart_variable[k] == a && t->apart_from[k] == b);
        if (address < address_b + t->size_bytes[b] && address_b < address + t->size_bytes[a] &&
            live_together(t, t->variable_class[a], t->variable_class[b]))
            return false;
        if (is_apart && share_element(t, a, address, b, address_b))
            return false;
    }
    return true;
}

/* The order: each one has no later one that is to come before it. */
static unsigned group_of(const tile *t, size_t v) {
    if ((t->placing[v] & PL_PLACING_EXECUTABLE) != 0)
        return (t->placing[v] & PL_PLACING_START) != 0         ? 0
               : (t->placing[v] & PL_PLACING_VERTEX_CODE) != 0 ? 1
                                                               : 2;
    return t->variable_category[v] == 1 ? 5 : t->class_always_live[t->variable_class[v]] ? 3 : 4;
}

static void check_order(const tile *t, const pl_item *items, size_t count) {
    size_t num_placed = 0;
    for (size_t i = 0; i < t->profile.num_variables; i++)
        num_placed += t->size_bytes[i] > 0;
    assert_int_equal(count, num_placed);
    for (size_t i = 1; i < count; i++) {
        const size_t a = items[i - 1].variable;
        const size_t b = items[i].variable;
        assert_true(group_of(t, a) <= group_of(t, b));
        if (group_of(t, a) == group_of(t, b))
            assert_true(t->size_bytes[a] > t->size_bytes[b] ||
                        (t->size_bytes[a] == t->size_bytes[b] && a < b));
    }
}

static void check_tile(const tile *t) {
    pl_placer *placer = pl_placer_create(&t->profile);
    const pl_item *items = NULL;
    size_t count = 0;
    uint64_t end = 0;
    uint64_t highest = 0;
    uint64_t gap_bytes[PL_NUM_GAPS] = {0};
    assert_non_null(placer);
    assert_true(pl_placer_replay(placer, 0, &items, &count, &end));
    check_order(t, items, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t address = 16;
        while (!may_be_at(t, items, i, address))
            address++;
        assert_int_equal(items[i].address, address);
        highest = address + items[i].size_bytes > highest ? address + items[i].size_bytes : highest;
    }
    assert_int_equal(end, highest);
    pl_placer_add_gaps(placer, 0, gap_bytes);
    for (size_t i = 0; i < PL_NUM_GAPS; i++)
        highest -= gap_bytes[i];
    assert_int_equal(highest, 0);
    pl_placer_free(placer);
}

static void test_random_tiles(void **state) {
    (void)state;
    uint64_t random = 1;
    for (size_t i = 0; i < 2000; i++) {
        tile t;
        make_tile(&t, &random);
        check_tile(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_addresses),
        cmocka_unit_test(test_random_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
