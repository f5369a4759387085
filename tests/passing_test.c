/* Who counts a variable: units that touch it and those that it passes through, for every set of a
 * few units, against the words of docs/internals/memory-models.md.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "memory/digest.h"
#include "test_data.h"

/* A usage with these sets, each given by bits: bit u for a unit that begins forward, bit
 * num_units + u for one that does not. Set i of `bits` gets the number numbers[i]. */
static pl_unit_usage make_usage(pl_arrays *arrays, size_t num_units, const uint32_t *bits,
                                size_t count, uint32_t *numbers) {
    pl_unit_usage usage = {.num_units = 2 * num_units};
    pl_unit_sets_begin(&usage.sets, arrays);
    memset(numbers, 0, count * sizeof *numbers);
    for (uint32_t unit = 0; unit < 2 * num_units; unit++) {
        pl_unit_sets_begin_unit(&usage.sets, unit);
        for (size_t i = 0; i < count; i++)
            if ((bits[i] >> unit & 1) != 0)
                pl_unit_sets_add(&usage.sets, &numbers[i]);
    }
    return usage;
}

/* The units of a set, as bits. */
static uint64_t bits_of(const pl_keys *sets, uint32_t set) {
    return *(const uint64_t *)pl_key_at(sets, set);
}

/* The units between the first and the last of some. */
static uint32_t between(uint32_t touching, size_t num_units) {
    uint32_t bits = 0;
    for (size_t unit = 0; unit < num_units; unit++) {
        bool has_before = (touching & ((UINT32_C(1) << unit) - 1)) != 0;
        bool has_behind = touching >> (unit + 1) != 0;
        bits |= has_before && has_behind ? UINT32_C(1) << unit : 0;
    }
    return bits;
}

/* Those that touch in a pass: what the last layer and all behind it touch belongs to both. Without
 * training nothing is backward. */
static uint32_t touching_in(uint32_t bits, size_t num_units, const pl_passes *passes,
                            bool is_forward) {
    uint32_t mask = (UINT32_C(1) << num_units) - 1;
    uint32_t forward = bits & mask;
    uint32_t backward = bits >> num_units;
    uint32_t of_both = ~((UINT32_C(1) << passes->last_layer) - 1) & mask;
    if (!passes->is_training)
        return is_forward ? forward : 0;
    return is_forward ? forward | (backward & of_both) : backward | (forward & of_both);
}

static void check_units(size_t num_units, const pl_passes *passes) {
    size_t count = (size_t)1 << (passes->is_training ? 2 : 1) * num_units;
    uint32_t *bits = test_new_array(count, sizeof *bits);
    uint32_t *numbers = test_new_array(count, sizeof *numbers);
    size_t num_wider = 0;
    for (size_t i = 0; i < count; i++)
        bits[i] = (uint32_t)i;
    pl_arrays arrays = {0};
    pl_pass_usage own = {*passes, make_usage(&arrays, num_units, bits, count, numbers), NULL};
    own.bounds = pl_passes_bounds(&arrays, &own.passes, &own.usage);
    assert_non_null(own.bounds);
    for (int passes_through = 0; passes_through < 2; passes_through++) {
        pl_passing passing = {0};
        pl_passing_find(&passing, &arrays, &own, passes_through != 0);
        assert_false(arrays.failed);
        for (size_t i = 0; i < count; i++) {
            uint32_t mask = (UINT32_C(1) << num_units) - 1;
            uint32_t all = (bits[i] | bits[i] >> num_units) & mask;
            uint32_t forward = touching_in(bits[i], num_units, passes, true);
            uint32_t backward = touching_in(bits[i], num_units, passes, false);
            uint32_t set = numbers[i];
            forward = passes_through ? all | between(forward, num_units) : all;
            backward = passes_through ? all | between(backward, num_units) : all;
            assert_int_equal(bits_of(&passing.sets, passing.touching[set]), all);
            assert_int_equal(bits_of(&passing.sets, passing.forward[set]), forward);
            assert_int_equal(bits_of(&passing.sets, passing.backward[set]), backward);
            num_wider += forward != all || backward != all;
        }
        assert_true(passes_through || num_wider == 0);
    }
    assert_true((num_wider > 0) == (num_units > 2));
    pl_arrays_free(&arrays);
    free(bits);
    free(numbers);
}

static void every_set_counts_where_it_passes(void **state) {
    (void)state;
    for (size_t num_units = 1; num_units <= 5; num_units++)
        for (size_t last_layer = 0; last_layer < num_units; last_layer++) {
            const pl_passes passes = {.is_training = true, .last_layer = last_layer};
            check_units(num_units, &passes);
        }
    const pl_passes inference = {.is_training = false, .last_layer = 2, .turn_step = SIZE_MAX};
    check_units(4, &inference);
}

/* By hand, of six units, of which the last layer is 4. */
static void passes_as_by_hand(void **state) {
    (void)state;
    enum { F = 0, B = 6 };
#define BIT(pass, unit) (UINT32_C(1) << ((pass) + (unit)))
    static const struct {
        uint32_t bits;
        uint32_t touching, forward, backward;
    } cases[] = {
        {0, 0, 0, 0},
        /* 0 hands it to its neighbour: nothing is between */
        {BIT(F, 0) | BIT(F, 1), 3, 3, 3},
        /* 0 to 3 forward: through 1 and 2 */
        {BIT(F, 0) | BIT(F, 3), 011, 017, 011},
        /* and used on the way */
        {BIT(F, 0) | BIT(F, 2) | BIT(F, 3), 015, 017, 015},
        /* 3 to 1 backward */
        {BIT(B, 3) | BIT(B, 1), 012, 012, 016},
        /* made by 1 forward, used by 3 backward: it does not go from one to the other in a pass */
        {BIT(F, 1) | BIT(B, 3), 012, 012, 012},
        /* the last layer works in both passes: its gradient goes to 1 through 3 and 2 */
        {BIT(F, 4) | BIT(B, 1), 022, 022, 036},
        /* 0 to the tail forward, the tail to 2 backward */
        {BIT(F, 0) | BIT(F, 5) | BIT(B, 2), 045, 077, 075},
    };
    enum { COUNT = sizeof cases / sizeof *cases };
    const pl_passes passes = {.is_training = true, .last_layer = 4};
    uint32_t bits[COUNT];
    uint32_t numbers[COUNT];
    pl_passing passing = {0};
    for (size_t i = 0; i < COUNT; i++)
        bits[i] = cases[i].bits;
    pl_arrays arrays = {0};
    pl_pass_usage own = {passes, make_usage(&arrays, 6, bits, COUNT, numbers), NULL};
    own.bounds = pl_passes_bounds(&arrays, &own.passes, &own.usage);
    assert_non_null(own.bounds);
    pl_passing_find(&passing, &arrays, &own, true);
    assert_false(arrays.failed);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(bits_of(&passing.sets, passing.touching[numbers[i]]), cases[i].touching);
        assert_int_equal(bits_of(&passing.sets, passing.forward[numbers[i]]), cases[i].forward);
        assert_int_equal(bits_of(&passing.sets, passing.backward[numbers[i]]), cases[i].backward);
    }
    pl_arrays_free(&arrays);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_counts_where_it_passes),
        cmocka_unit_test(passes_as_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
