/* The intervals that may be stages, and those on a way through the chain, against the options read
 * one by one, on thousands of random instances; where needs never shrink, and where some do.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "random_instance.h"
#include "test_data.h"

#include "solve/places.h"
#include "solve/problem.h"
#include "solve/stage_rule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the units first ... end - 1 keep to the rules of cuts and sizes. */
static bool keeps_shape(const popliner_solver_options *o, size_t num_units, size_t first,
                        size_t end) {
    size_t size = 0;
    for (size_t unit = first; unit < end; ++unit) {
        size += o->counted_units == NULL || o->counted_units[unit] != 0;
        if (o->cut_rules != NULL && unit > first && o->cut_rules[unit] == POPLINER_CUT_REQUIRED)
            return false;
    }
    if (o->cut_rules != NULL && ((first > 0 && o->cut_rules[first] == POPLINER_CUT_FORBIDDEN) ||
                                 (end < num_units && o->cut_rules[end] == POPLINER_CUT_FORBIDDEN)))
        return false;
    for (size_t i = 0; i < o->num_pairs; ++i) {
        size_t a = o->pairs[i].unit;
        size_t b = o->pairs[i].second_unit;
        size_t low = a < b ? a : b;
        size_t high = a < b ? b : a;
        if ((first > low && first <= high) || (end > low && end <= high))
            return false;
    }
    return size >= o->min_units && (o->max_units == 0 || size <= o->max_units);
}

/* The place of stage `stage` of num_stages. */
static size_t place_of(const pl_places *places, size_t num_stages, size_t stage) {
    size_t place = 0;
    for (size_t at = 0; places->is_exact; at = ++place) {
        size_t count = 1;
        for (; !places->items[at].ends; at = places->items[at].next)
            ++count;
        if (places->items[place].begins && count == num_stages)
            break;
    }
    for (; stage > 0; --stage)
        place = places->items[place].next;
    return place;
}

/* The IPU of a place, or SIZE_MAX where there is none. */
static size_t ipu_at(const pl_problem *p, size_t place) {
    if (p->is_mapped)
        return place < p->options->num_mapped_stages ? p->options->device_map[place] : SIZE_MAX;
    return place;
}

/* The cycles of units at a place. */
static uint64_t cycles_of(const instance *in, const pl_problem *p, size_t place, size_t first,
                          size_t last) {
    const popliner_solver_options *o = &in->options;
    size_t ipu = ipu_at(p, place);
    size_t before = place > 0 ? ipu_at(p, place - 1) : SIZE_MAX;
    uint64_t cycles = brute_speed_cycles(o, ipu, popliner_costs_cycles(in->costs, first, last));
    if (first > 0)
        cycles += brute_link_cycles(o, before, ipu, popliner_costs_cut(in->costs, first));
    if (last + 1 < in->num_units)
        cycles += brute_link_cycles(o, ipu, ipu_at(p, place + 1),
                                    popliner_costs_cut(in->costs, last + 1));
    return cycles;
}

/* Whether it may be the stage at a place, with so many to come. */
static bool may_be(const instance *in, const pl_problem *p, const pl_limits *limits, size_t place,
                   const popliner_interval *stage) {
    const popliner_solver_options *o = &in->options;
    size_t ipu = ipu_at(p, place);
    uint64_t bytes =
        popliner_costs_peak(in->costs, stage->first_unit, stage->last_unit, stage->stages_to_end);
    uint64_t cycles = cycles_of(in, p, place, stage->first_unit, stage->last_unit);
    uint64_t limit = limits->plain_limit_bytes;
    for (size_t i = 0; i < o->num_ipu_limits && !limits->ignores_ipu_limits; ++i)
        if (o->ipu_limits[i].ipu == ipu)
            limit = o->ipu_limits[i].value;
    for (size_t i = 0; i < o->num_placements; ++i)
        if (o->placements[i].unit >= stage->first_unit &&
            o->placements[i].unit <= stage->last_unit && o->placements[i].ipu != ipu)
            return false;
    return keeps_shape(o, in->num_units, stage->first_unit, stage->last_unit + 1) &&
           bytes != POPLINER_PEAK_FORBIDDEN && bytes <= limit && bytes <= limits->max_peak_bytes &&
           bytes >= limits->min_peak_bytes && cycles <= limits->max_cycles &&
           cycles >= limits->min_cycles;
}

static uint64_t below(uint64_t *random, uint64_t limit) {
    return test_below(random, (size_t)limit);
}

/* Limits around what intervals have. */
static pl_limits draw_limits(const instance *in, const pl_problem *p, uint64_t *random) {
    pl_limits limits = pl_filter_of_limits(p).limits;
    size_t n = in->num_units;
    size_t first = below(random, n);
    size_t last = first + below(random, n - first);
    uint64_t peak = popliner_costs_peak(in->costs, first, last, 1);
    uint64_t cycles = cycles_of(in, p, below(random, p->max_stages), first, last);
    uint64_t fewest = cycles_of(in, p, below(random, p->max_stages), first, first);
    /* speeds and links are looked at only if cycles are an objective */
    bool has_cycles = in->objectives[0] == POPLINER_OBJECTIVE_CYCLES ||
                      (in->options.num_ipu_speeds == 0 && p->links.cycles == NULL);
    if (below(random, 2) == 0 && peak != POPLINER_PEAK_FORBIDDEN)
        limits.max_peak_bytes = peak;
    if (below(random, 3) == 0 && has_cycles)
        limits.max_cycles = cycles;
    if (below(random, 3) == 0 && popliner_costs_peak(in->costs, first, first, 1) < peak)
        limits.min_peak_bytes = popliner_costs_peak(in->costs, first, first, 1);
    if (below(random, 4) == 0 && has_cycles)
        limits.min_cycles = fewest;
    limits.ignores_ipu_limits = below(random, 4) == 0;
    return limits;
}

static bool has_end(const pl_stage_ends *ends, const pl_problem *p, size_t first, size_t end) {
    (void)p;
    return pl_stage_ends_have(ends, first, end);
}

/* Every stage of pipelines of so many. */
static void check_ends(const instance *in, const pl_problem *p, const pl_limits *limits,
                       size_t num_stages, size_t *num_ordered) {
    pl_stage_ends ends = {0};
    for (size_t stage = 0; stage < num_stages; ++stage) {
        size_t to_end = num_stages - stage;
        pl_stage_rule rule = pl_stage_rule_of(p, limits, stage, to_end);
        assert_int_equal(pl_stage_ends_find(&ends, &rule, NULL, NULL), POPLINER_OK);
        *num_ordered += 1;
        for (size_t first = 0; first < in->num_units; ++first) {
            for (size_t last = first; last < in->num_units; ++last) {
                const popliner_interval interval = {first, last, to_end};
                bool expected = may_be(in, p, limits, stage, &interval);
                assert_int_equal(has_end(&ends, p, first, last + 1), expected);
                assert_int_equal(pl_stage_rule_allows(&rule, first, last + 1), expected);
            }
        }
    }
    pl_stage_ends_free(&ends);
}

/* Places after the special ones are alike. */
static void check_special(const instance *in, const pl_problem *p, const pl_limits *limits) {
    size_t num_special = pl_problem_num_special(p, limits);
    assert_true(num_special <= p->max_stages);
    for (size_t stage = num_special; stage + 1 < p->max_stages; ++stage)
        for (size_t first = 0; first < in->num_units; ++first)
            for (size_t last = first; last < in->num_units; ++last) {
                const popliner_interval interval = {first, last, 1};
                assert_int_equal(may_be(in, p, limits, stage, &interval),
                                 may_be(in, p, limits, stage + 1, &interval));
            }
}

enum { WIDTH = MOST_RANDOM_UNITS + 1 };

/* Marks the stages of pipelines of so many that are on a way through the chain. */
static void mark_ways(const instance *in, const pl_problem *p, const pl_limits *limits,
                      size_t num_stages, const pl_places *places, bool (*expected)[WIDTH][WIDTH]) {
    bool from_start[MOST_RANDOM_STAGES + 1][WIDTH] = {{true}};
    bool to_end[MOST_RANDOM_STAGES + 1][WIDTH] = {{false}};
    size_t n = in->num_units;
    to_end[num_stages][n] = true;
    for (size_t stage = 0; stage < num_stages; ++stage)
        for (size_t first = 0; first < n; ++first)
            for (size_t last = first; last < n; ++last) {
                const popliner_interval at = {first, last, num_stages - stage};
                if (from_start[stage][first] && may_be(in, p, limits, stage, &at))
                    from_start[stage + 1][last + 1] = true;
            }
    for (size_t stage = num_stages; stage-- > 0;)
        for (size_t first = 0; first < n; ++first)
            for (size_t last = first; last < n; ++last) {
                const popliner_interval at = {first, last, num_stages - stage};
                if (!from_start[stage][first] || !to_end[stage + 1][last + 1] ||
                    !may_be(in, p, limits, stage, &at))
                    continue;
                to_end[stage][first] = true;
                expected[place_of(places, num_stages, stage)][first][last + 1] = true;
            }
}

/* Which stages are on a way through the chain at each place, whatever the length of the
 * pipeline. */
static void check_ways(const instance *in, const pl_problem *p, const pl_limits *limits) {
    size_t n = in->num_units;
    pl_ways_through ways = {.problem = p, .limits = limits};
    assert_int_equal(pl_ways_find(&ways, NULL), POPLINER_OK);
    bool(*expected)[WIDTH][WIDTH] = calloc(ways.places.count, sizeof *expected);
    assert_non_null(expected);
    for (size_t num_stages = p->min_stages; num_stages <= p->max_stages; ++num_stages)
        mark_ways(in, p, limits, num_stages, &ways.places, expected);
    bool is_any = false;
    for (size_t place = 0; place < ways.places.count; ++place)
        for (size_t first = 0; first < n; ++first)
            for (size_t end = first + 1; end <= n; ++end) {
                assert_int_equal(pl_stage_ends_have(&ways.ends[place], first, end),
                                 expected[place][first][end]);
                is_any = is_any || expected[place][first][end];
            }
    assert_int_equal(ways.exists, is_any);
    free(expected);
    pl_ways_free(&ways);
}

static void check_wish(const instance_wish *wish, size_t num_instances, size_t *num_ordered) {
    size_t num_taken = 0;
    uint64_t random = 11;
    *num_ordered = 0;
    for (uint64_t seed = 0; seed < num_instances; ++seed) {
        instance in;
        pl_problem p = {0};
        if (!test_takes_case(seed, 13))
            continue;
        draw_instance(wish, seed, &in);
        assert_int_equal(pl_problem_create(&p, in.costs, &in.options, NULL), POPLINER_OK);
        pl_limits limits = draw_limits(&in, &p, &random);
        check_special(&in, &p, &limits);
        if (p.min_stages <= p.max_stages) {
            size_t most = p.max_stages < MOST_RANDOM_STAGES ? p.max_stages : MOST_RANDOM_STAGES;
            size_t num_stages = p.is_mapped ? p.min_stages : 1 + below(&random, most);
            check_ends(&in, &p, &limits, num_stages, num_ordered);
            if (p.max_stages <= MOST_RANDOM_STAGES)
                check_ways(&in, &p, &limits);
        }
        num_taken++;
        pl_problem_free(&p);
        free_instance(&in);
    }
    assert_true(num_taken > 0);
    *num_ordered = 100 * *num_ordered / num_taken; /* stages of a hundred instances */
}

enum { SOMETIMES = CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP };

static void finds_what_may_be_a_stage(void **state) {
    (void)state;
    static const instance_wish wish = {0, SOMETIMES | UNORDERED, 1, 1};
    size_t num_ordered;
    check_wish(&wish, 4000, &num_ordered);
    assert_true(num_ordered > 50);
}

static void knows_speeds_and_links(void **state) {
    (void)state;
    static const instance_wish wishes[] = {{SPEEDS, SOMETIMES, 1, 1},
                                           {LINKS, SOMETIMES, 1, 1},
                                           {LINKS | UNORDERED, SOMETIMES, 1, 1},
                                           {SPEEDS | LINKS, SOMETIMES, 1, 1}};
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; ++i) {
        size_t num_ordered;
        check_wish(&wishes[i], 3000, &num_ordered);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_may_be_a_stage),
        cmocka_unit_test(knows_speeds_and_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
