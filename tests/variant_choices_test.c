/* Bounds of stages that choose variants, against every choice and every mixture of two.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "base/numbers.h"
#include "solve/variant_choices.h"

enum { MOST_UNITS = 4, MOST_VARIANTS = 3, MOST_CHOICES = 81, NUM_PLACES = 62, LARGEST = 6 };

/* A chain, and the limits of what its stages choose. */
typedef struct chain {
    pl_variants v; /* of these arrays: */
    size_t first[MOST_UNITS + 1];
    pl_variant items[MOST_UNITS * MOST_VARIANTS];
    uint64_t inputs_bytes[MOST_UNITS];
    uint64_t recompute_cycles[MOST_UNITS];
    uint64_t cut_cycles[MOST_UNITS + 1];
    pl_arrival arrival; /* of the last unit */
    unsigned shift;     /* of all numbers: in half of the chains, products take 128 bits */
    pl_choice_wish wish;
} chain;

static uint64_t draw_number(const chain *c, uint64_t *random) {
    return (uint64_t)test_below(random, LARGEST + 1) << c->shift;
}

static uint64_t draw_limit(const chain *c, uint64_t *random, uint64_t of_unit) {
    return test_below(random, 4) == 0
               ? UINT64_MAX
               : (uint64_t)test_below(random, of_unit * c->v.num_units) << c->shift;
}

static void draw(chain *c, uint64_t *random) {
    *c = (chain){.shift = test_below(random, 2) == 0 ? 0 : 33};
    c->v = (pl_variants){.num_units = test_below(random, MOST_UNITS) + 1,
                         .items = c->items,
                         .first = c->first,
                         .inputs_bytes = c->inputs_bytes,
                         .recompute_cycles = c->recompute_cycles,
                         .has_full = test_below(random, 2) == 0,
                         .cut_cycles = c->cut_cycles,
                         .arrivals = &c->arrival,
                         .num_arrivals = 1,
                         .pipeline.copies = {.rule = POPLINER_COPIES_LIST,
                                             .num_listed = NUM_PLACES,
                                             .listed = {0, 1, [NUM_PLACES - 1] = 3}},
                         .max_stages = NUM_PLACES};
    const uint64_t alike = test_below(random, 2) == 0 ? *random : 0; /* then all units are */
    for (size_t unit = 0; unit < c->v.num_units; unit++) {
        *random = alike != 0 ? alike : *random;
        c->inputs_bytes[unit] = draw_number(c, random);
        c->recompute_cycles[unit] = draw_number(c, random);
        c->cut_cycles[unit] = draw_number(c, random);
        for (size_t i = test_below(random, MOST_VARIANTS) + 1; i > 0; i--)
            c->items[c->v.count++] = (pl_variant){.memory_bytes = draw_number(c, random),
                                                  .stash_bytes = draw_number(c, random),
                                                  .cycles = draw_number(c, random)};
        c->first[unit + 1] = c->v.count;
    }
    c->arrival = (pl_arrival){c->v.num_units - 1, SIZE_MAX, draw_number(c, random)};
    c->v.capacity_bytes = draw_limit(c, random, 4 * LARGEST);
    c->wish.max_bytes = draw_limit(c, random, 4 * LARGEST);
    c->wish.max_cycles = draw_limit(c, random, LARGEST);
}

/* Sets all[MOST_CHOICES] to the choices of a stage but recomputing it; returns their number. */
static size_t list_choices(const chain *c, const popliner_interval *stage, pl_variant_choice *all) {
    const uint64_t copies = c->v.pipeline.copies.listed[stage->stages_to_end - 1];
    size_t count = 1;
    all[0] =
        (pl_variant_choice){true, stage->last_unit + 1 == c->v.num_units ? c->arrival.bytes : 0,
                            c->cut_cycles[stage->first_unit] + c->cut_cycles[stage->last_unit + 1]};
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        const size_t before = count;
        for (size_t i = c->first[unit + 1]; i-- > c->first[unit];) /* the first in place, at last */
            for (size_t k = 0; k < before; k++) {
                const pl_variant *own = &c->items[i];
                all[i > c->first[unit] ? count++ : k] = (pl_variant_choice){
                    true, all[k].peak_bytes + own->memory_bytes + copies * own->stash_bytes,
                    all[k].cycles + own->cycles};
            }
    }
    return count;
}

/* Recomputing a stage: its units are as they are, which is the first choice. */
static pl_variant_choice full_of(const chain *c, const popliner_interval *stage,
                                 pl_variant_choice own) {
    const uint64_t copies = c->v.pipeline.copies.listed[stage->stages_to_end - 1];
    own.exists = c->v.has_full;
    own.peak_bytes += copies * c->inputs_bytes[stage->first_unit];
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; unit++) {
        own.peak_bytes -= copies * c->items[c->first[unit]].stash_bytes;
        own.cycles += c->recompute_cycles[unit];
    }
    return own;
}

static uint64_t if_allowed(const chain *c, const pl_variant_choice *own) {
    const bool is_allowed = own->exists && own->cycles <= c->wish.max_cycles &&
                            own->peak_bytes <= c->wish.max_bytes &&
                            own->peak_bytes <= c->v.capacity_bytes;
    return is_allowed ? own->peak_bytes : POPLINER_PEAK_FORBIDDEN;
}

/* A choice within the cycles, and so much of one above them that both together take all cycles:
 * bytes rounded down. Convex: no mixture of more has fewer. */
static pl_variant_choice mix(const chain *c, pl_variant_choice own, const pl_variant_choice *slow) {
    const uint64_t left = (c->wish.max_cycles - own.cycles) >> c->shift;
    const uint64_t more = (slow->cycles - own.cycles) >> c->shift;
    if (own.cycles <= c->wish.max_cycles && slow->cycles > c->wish.max_cycles &&
        slow->peak_bytes < own.peak_bytes)
        own.peak_bytes -= ((own.peak_bytes - slow->peak_bytes) * left + more - 1) / more;
    return own;
}

typedef struct truth {
    uint64_t least_bytes;
    uint64_t mixed_bytes; /* the same if variants may be mixed */
    uint64_t cycles;      /* the fewest but for recomputing */
} truth;

static truth find_truth(const chain *c, const popliner_interval *stage) {
    pl_variant_choice all[MOST_CHOICES];
    const size_t count = list_choices(c, stage, all);
    const pl_variant_choice full = full_of(c, stage, all[0]);
    truth t = {if_allowed(c, &full), if_allowed(c, &full), UINT64_MAX};
    for (size_t i = 0; i < count; i++) {
        t.least_bytes = pl_smaller(t.least_bytes, if_allowed(c, &all[i]));
        t.cycles = pl_smaller(t.cycles, all[i].cycles);
        for (size_t k = 0; k < count; k++) {
            const pl_variant_choice mixed = mix(c, all[i], &all[k]);
            t.mixed_bytes = pl_smaller(t.mixed_bytes, if_allowed(c, &mixed));
        }
    }
    return t;
}

/* Asserts what is told of a stage within the limits, also where the bound is not enough. */
static void check(pl_variant_search *search, chain *c, const popliner_interval *stage,
                  size_t *num_mixed, size_t *num_over) {
    const truth t = find_truth(c, stage);
    const pl_choice_wish wish = c->wish;
    bool is_allowed;
    popliner_interval it = *stage;
    assert_int_equal(pl_variant_search_least(search, stage, &wish), t.mixed_bytes);
    assert_true(t.mixed_bytes == t.least_bytes || wish.max_cycles < UINT64_MAX);
    assert_int_equal(pl_variant_search_cycles(search, stage), t.cycles);
    assert_int_equal(pl_variant_search_allow(search, stage, &wish, &is_allowed, NULL), POPLINER_OK);
    assert_int_equal(is_allowed, t.least_bytes != POPLINER_PEAK_FORBIDDEN);
    for (uint64_t less = 0; less < 2 && is_allowed && t.least_bytes > 0; less++) {
        const pl_choice_wish close = {wish.max_cycles, t.least_bytes - less, false};
        assert_int_equal(pl_variant_search_allow(search, stage, &close, &is_allowed, NULL),
                         POPLINER_OK);
        assert_int_equal(is_allowed, less == 0);
    }
    *num_mixed += t.mixed_bytes < t.least_bytes;
    if (!pl_variant_search_is_over(search, stage, &wish))
        return;
    for (; it.last_unit < c->v.num_units; it.last_unit++)
        for (it.first_unit = 0; it.first_unit <= stage->first_unit; it.first_unit++) {
            assert_true(pl_variant_search_is_over(search, &it, &wish));
            assert_int_equal(find_truth(c, &it).least_bytes, POPLINER_PEAK_FORBIDDEN);
        }
    ++*num_over;
}

static void bounds_of_stages(void **state) {
    (void)state;
    enum { NUM_CHAINS = 1500 };
    size_t num_stages = 0;
    size_t num_mixed = 0;
    size_t num_over = 0;
    uint64_t random = 1;
    for (size_t i = 0; i < NUM_CHAINS; i++) {
        chain c;
        draw(&c, &random);
        const pl_choices choices = {.variants = &c.v};
        pl_variant_search *search;
        assert_int_equal(pl_variant_search_create(&choices, c.v.num_units, false, &search, NULL),
                         POPLINER_OK);
        for (popliner_interval it = {0}; it.first_unit < c.v.num_units; it.first_unit++)
            for (size_t k = 0; k < 3; k++) {
                static const size_t places[] = {1, 2, NUM_PLACES};
                it.stages_to_end = places[k];
                for (it.last_unit = it.first_unit; it.last_unit < c.v.num_units; it.last_unit++)
                    check(search, &c, &it, &num_mixed, &num_over);
                num_stages += c.v.num_units - it.first_unit;
                it.last_unit = it.first_unit; /* shorter than the last one, and one of it */
                check(search, &c, &it, &num_mixed, &num_over);
            }
        pl_variant_search_free(search);
    }
    print_message("%zu stages, %zu bounds below the peak, %zu over\n", num_stages, num_mixed,
                  num_over);
    assert_true(num_mixed > num_stages / 50);
    assert_true(num_over > num_stages / 10 && num_over < num_stages / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_of_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
