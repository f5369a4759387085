/* Bounds of stages that choose variants, against every choice and against another way to the same
 * relaxation: the best price of a cycle (Lagrange) instead of steps in order.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/growth.h"
#include "popliner/solver.h"
#include "solve/variant_choices.h"
#include "test_data.h"

enum { MOST_UNITS = 5, MOST_VARIANTS = 3, NUM_PLACES = 3, MOST_CHOICES = 244 };

typedef struct instance {
    pl_variants v;
    pl_arrays arrays;   /* of v */
    pl_choices choices; /* of v */
    pl_variant_search *search;
    pl_choice_wish limits;
    uint64_t shared_bytes;
    unsigned shared_units; /* bits */
    bool is_small;         /* the numbers are: ties, and no product overflows */
} instance;

static uint64_t draw_number(const instance *in, uint64_t *random) {
    return in->is_small ? test_below(random, 7)
                        : test_below(random, 1000000) * (uint64_t)test_below(random, 100000000);
}

static uint64_t draw_limit(uint64_t *random, uint64_t sum) {
    return test_below(random, 4) == 0 ? UINT64_MAX : test_below(random, sum / 2 + 2);
}

/* Units share memory: it arrives at each that has it, if the stage begins after the one before. */
static void draw_arrivals(instance *in, uint64_t *random) {
    size_t before = SIZE_MAX;
    in->v.arrivals = pl_new_array(MOST_UNITS, sizeof *in->v.arrivals);
    assert_non_null(in->v.arrivals);
    in->shared_units = (unsigned)test_below(random, 1u << in->v.num_units);
    in->shared_bytes = draw_number(in, random);
    for (size_t unit = 0; unit < in->v.num_units; unit++)
        if ((in->shared_units >> unit & 1) != 0) {
            in->v.arrivals[in->v.num_arrivals++] = (pl_arrival){unit, before, in->shared_bytes};
            before = unit;
        }
}

/* In half of them, all units are alike. */
static void draw(instance *in, uint64_t *random) {
    uint64_t sums[2] = {0, 0}; /* bytes, cycles */
    *in = (instance){.is_small = test_below(random, 3) > 0};
    pl_variants *v = &in->v;
    v->num_units = 1 + test_below(random, MOST_UNITS);
    v->first = pl_arrays_new(&in->arrays, v->num_units + 1, sizeof *v->first);
    v->inputs_bytes = pl_arrays_new(&in->arrays, v->num_units, sizeof *v->inputs_bytes);
    v->recompute_cycles = pl_arrays_new(&in->arrays, v->num_units, sizeof *v->recompute_cycles);
    v->cut_cycles = pl_arrays_new(&in->arrays, v->num_units + 1, sizeof *v->cut_cycles);
    v->has_full = test_below(random, 2) == 0;
    v->max_stages = NUM_PLACES;
    v->pipeline.copies = (popliner_copies){.rule = POPLINER_COPIES_LIST, .num_listed = NUM_PLACES};
    for (size_t i = 0; i < NUM_PLACES; i++)
        v->pipeline.copies.listed[i] =
            (uint32_t)((i > 0 ? v->pipeline.copies.listed[i - 1] : 0) + test_below(random, 3));
    const bool are_alike = test_below(random, 2) == 0;
    const uint64_t seed = *random;
    for (size_t unit = 0; unit < v->num_units; unit++) {
        uint64_t own = are_alike ? seed : *random + 7919 * unit;
        v->inputs_bytes[unit] = draw_number(in, &own);
        v->recompute_cycles[unit] = draw_number(in, &own);
        v->first[unit] = v->count;
        for (size_t k = 1 + test_below(&own, MOST_VARIANTS); k > 0; k--) {
            const pl_variant variant = {draw_number(in, &own),
                                        draw_number(in, &own) / 2,
                                        0,
                                        0,
                                        draw_number(in, &own),
                                        NULL};
            assert_true(pl_variants_add(v, variant, "v", 1));
            sums[0] += variant.memory_bytes + 2 * variant.stash_bytes;
            sums[1] += variant.cycles;
        }
        v->cut_cycles[unit] = unit == 0 || are_alike ? 0 : draw_number(in, &own) / 2;
    }
    v->first[v->num_units] = v->count;
    if (test_below(random, 2) == 0)
        draw_arrivals(in, random);
    v->capacity_bytes = draw_limit(random, 4 * sums[0]);
    in->limits = (pl_choice_wish){.max_cycles = draw_limit(random, sums[1]),
                                  .max_bytes = draw_limit(random, 4 * sums[0])};
    in->choices = (pl_choices){.variants = v};
    assert_int_equal(pl_variant_search_create(&in->choices, v->num_units, false, &in->search, NULL),
                     POPLINER_OK);
}

static void discard(instance *in) {
    pl_variants_free(&in->v);
    pl_arrays_free(&in->arrays);
    pl_variant_search_free(in->search);
}

/* ---- every choice ---------------------------------------------------------------------------- */

static size_t copies_of(const instance *in, const popliner_interval *stage) {
    return in->v.pipeline.copies.listed[stage->stages_to_end - 1];
}

static uint64_t bytes_of(const instance *in, const popliner_interval *stage, size_t i) {
    return in->v.items[i].memory_bytes + copies_of(in, stage) * in->v.items[i].stash_bytes;
}

/* What all choices of a stage have: the shared memory, and the cycles of its cuts. */
static pl_variant_choice base_of(const instance *in, const popliner_interval *stage) {
    const unsigned units = (2u << stage->last_unit) - (1u << stage->first_unit);
    return (pl_variant_choice){true, (in->shared_units & units) != 0 ? in->shared_bytes : 0,
                               in->v.cut_cycles[stage->first_unit] +
                                   in->v.cut_cycles[stage->last_unit + 1]};
}

/* Recomputing all units, which are as they are. */
static pl_variant_choice full_of(const instance *in, const popliner_interval *stage) {
    pl_variant_choice full = base_of(in, stage);
    full.exists = in->v.has_full;
    full.peak_bytes += copies_of(in, stage) * in->v.inputs_bytes[stage->first_unit];
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        full.peak_bytes += in->v.items[in->v.first[unit]].memory_bytes;
        full.cycles += in->v.items[in->v.first[unit]].cycles + in->v.recompute_cycles[unit];
    }
    return full;
}

static bool is_within(const instance *in, const pl_variant_choice *own) {
    return own->exists && own->cycles <= in->limits.max_cycles &&
           own->peak_bytes <= in->limits.max_bytes && own->peak_bytes <= in->v.capacity_bytes;
}

static bool comes_first(const pl_variant_choice *a, const pl_variant_choice *b, bool by_cycles) {
    if (!b->exists)
        return true;
    if (by_cycles && a->cycles != b->cycles)
        return a->cycles < b->cycles;
    return a->peak_bytes < b->peak_bytes;
}

/* The best of all choices within the limits. */
static pl_variant_choice best_of(const instance *in, const popliner_interval *stage,
                                 bool by_cycles) {
    pl_variant_choice all[MOST_CHOICES] = {base_of(in, stage)};
    pl_variant_choice best = {0};
    size_t count = 1;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        const size_t before = count;
        const size_t first = in->v.first[unit];
        for (size_t i = in->v.first[unit + 1]; i-- > first;) /* the first one in place, at last */
            for (size_t k = 0; k < before; k++) {
                pl_variant_choice *next = i > first ? &all[count++] : &all[k];
                *next = (pl_variant_choice){true, all[k].peak_bytes + bytes_of(in, stage, i),
                                            all[k].cycles + in->v.items[i].cycles};
            }
    }
    all[count++] = full_of(in, stage);
    for (size_t k = 0; k < count; k++)
        if (is_within(in, &all[k]) && comes_first(&all[k], &best, by_cycles))
            best = all[k];
    return best;
}

/* ---- the relaxation -------------------------------------------------------------------------- */

/* What the units need at least, times `one`, if a cycle costs price / one bytes. */
static uint64_t least_priced(const instance *in, const popliner_interval *stage, uint64_t price,
                             uint64_t one) {
    uint64_t sum = 0;
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        uint64_t least = UINT64_MAX;
        for (size_t i = in->v.first[unit]; i < in->v.first[unit + 1]; i++) {
            const uint64_t own = one * bytes_of(in, stage, i) + price * in->v.items[i].cycles;
            least = own < least ? own : least;
        }
        sum += least;
    }
    return sum;
}

/* The fewest bytes of a stage if variants may be mixed, rounded down: the largest of what all
 * prices of a cycle say, of which those that two variants of a unit have suffice. FORBIDDEN without
 * one within the limits. Small numbers only. */
static uint64_t relaxed_bytes(const instance *in, const popliner_interval *stage) {
    const pl_variant_choice base = base_of(in, stage);
    const pl_variant_choice full = full_of(in, stage);
    const uint64_t least_cycles = least_priced(in, stage, 1, 0) + base.cycles;
    const uint64_t left = in->limits.max_cycles - base.cycles;
    pl_variant_choice own = {least_cycles <= in->limits.max_cycles, least_priced(in, stage, 0, 1),
                             0};
    for (size_t unit = stage->first_unit; own.exists && unit <= stage->last_unit; unit++)
        for (size_t a = in->v.first[unit]; a < in->v.first[unit + 1]; a++)
            for (size_t b = in->v.first[unit]; b < in->v.first[unit + 1]; b++) {
                const uint64_t slower = in->v.items[b].cycles - in->v.items[a].cycles;
                const uint64_t price = bytes_of(in, stage, a) - bytes_of(in, stage, b);
                if (in->v.items[b].cycles <= in->v.items[a].cycles ||
                    bytes_of(in, stage, a) <= bytes_of(in, stage, b) || left > 1000)
                    continue;
                const uint64_t sum = least_priced(in, stage, price, slower);
                const uint64_t bytes = sum < price * left ? 0 : (sum - price * left) / slower;
                own.peak_bytes = bytes > own.peak_bytes ? bytes : own.peak_bytes;
            }
    own.peak_bytes += base.peak_bytes;
    if (!is_within(in, &own) || (is_within(in, &full) && full.peak_bytes < own.peak_bytes))
        own = full;
    return is_within(in, &own) ? own.peak_bytes : POPLINER_PEAK_FORBIDDEN;
}

/* ---- against them ---------------------------------------------------------------------------- */

static uint64_t exact_bytes(const instance *in, const popliner_interval *stage) {
    const pl_variant_choice best = best_of(in, stage, false);
    return best.exists ? best.peak_bytes : POPLINER_PEAK_FORBIDDEN;
}

static uint64_t bound_of(const instance *in, const popliner_interval *it) {
    return pl_variant_search_least(in->search, it, &in->limits);
}

/* Goes to the next stage in the next place; false after the last one. Begin with {0, 0, 0}. */
static bool next_stage(const instance *in, popliner_interval *stage) {
    if (++stage->stages_to_end > NUM_PLACES) {
        stage->stages_to_end = 1;
        stage->last_unit++;
    }
    if (stage->last_unit == in->v.num_units)
        stage->last_unit = ++stage->first_unit;
    return stage->first_unit < in->v.num_units;
}

/* Asks in each of two ways, at once and by the best choice. Returns whether a bound was not
 * enough. */
static bool check_choices(instance *in, const popliner_interval *stage) {
    bool is_allowed;
    assert_int_equal(pl_variant_search_allow(in->search, stage, &in->limits, &is_allowed, NULL),
                     POPLINER_OK);
    for (int by_cycles = 0; by_cycles < 2; by_cycles++) {
        const pl_variant_choice best = best_of(in, stage, by_cycles != 0);
        pl_variant_question question = {stage, 1, POPLINER_SPEED_ONE, in->limits};
        pl_variant_choice choice;
        question.wish.by_cycles = by_cycles != 0;
        assert_int_equal(pl_variant_search_choose(in->search, &question, &choice, NULL, NULL, NULL),
                         POPLINER_OK);
        assert_int_equal(choice.exists, best.exists);
        assert_int_equal(choice.exists, is_allowed);
        assert_true(!best.exists || choice.peak_bytes == best.peak_bytes);
        assert_true(!best.exists || !by_cycles || choice.cycles == best.cycles);
    }
    return !is_allowed && bound_of(in, stage) != POPLINER_PEAK_FORBIDDEN;
}

/* With limits from the bound to the smallest peak, which is the first that allows a choice. */
static bool check_limits(instance *in, const popliner_interval *stage) {
    const pl_choice_wish limits = in->limits;
    const uint64_t least = bound_of(in, stage);
    const uint64_t exact = exact_bytes(in, stage);
    const uint64_t between = (exact - least) / 4;
    const uint64_t tried[] = {
        least, least + between, least + 2 * between, least + 3 * between, exact - (exact > 0),
        exact};
    bool is_decided = false;
    for (size_t i = 0; exact != POPLINER_PEAK_FORBIDDEN && i < sizeof tried / sizeof *tried; i++) {
        in->limits.max_bytes = tried[i];
        is_decided = check_choices(in, stage) || is_decided;
    }
    in->limits = limits;
    return is_decided;
}

/* Where it is said that no stage around this one fits, none does, and it is said of it as well. */
static size_t check_over(const instance *in, const popliner_interval *stage) {
    popliner_interval it = *stage;
    if (!pl_variant_search_is_over(in->search, stage, &in->limits))
        return 0;
    for (it.first_unit = 0; it.first_unit <= stage->first_unit; it.first_unit++)
        for (it.last_unit = stage->last_unit; it.last_unit < in->v.num_units; it.last_unit++) {
            assert_true(pl_variant_search_is_over(in->search, &it, &in->limits));
            assert_int_equal(exact_bytes(in, &it), POPLINER_PEAK_FORBIDDEN);
        }
    return 1;
}

static void bounds_of_stages(void **state) {
    (void)state;
    const size_t num_instances = test_chosen(600, 3000, 20000);
    size_t num_stages = 0;
    size_t num_decided = 0;
    size_t num_relaxed = 0;
    size_t num_over = 0;
    uint64_t random = 1;
    for (size_t i = 0; i < num_instances; i++) {
        instance in;
        draw(&in, &random);
        for (popliner_interval stage = {0}; next_stage(&in, &stage); num_stages++) {
            const uint64_t bound = bound_of(&in, &stage);
            assert_true(bound <= exact_bytes(&in, &stage));
            assert_true(in.limits.max_cycles < UINT64_MAX || bound == exact_bytes(&in, &stage));
            if (in.is_small)
                assert_int_equal(bound, relaxed_bytes(&in, &stage));
            assert_int_equal(pl_variant_search_cycles(in.search, &stage),
                             least_priced(&in, &stage, 1, 0) + base_of(&in, &stage).cycles);
            num_relaxed += bound < exact_bytes(&in, &stage);
            num_over += check_over(&in, &stage);
            const bool is_decided = check_choices(&in, &stage);
            num_decided += check_limits(&in, &stage) || is_decided;
        }
        discard(&in);
    }
    print_message("%zu stages, %zu bounds below the peak, %zu decided, %zu over\n", num_stages,
                  num_relaxed, num_decided, num_over);
    assert_true(num_relaxed > num_stages / 50);
    assert_true(num_decided > num_stages / 100);
    assert_true(num_over > num_stages / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
