/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shared_instance.h"
#include "plain_options.h"

#include "test.h"

#include "costs/costs.h"

#include <string.h>

static uint64_t random_below(shared_instance *in, uint64_t limit) {
    in->random = test_random(in->random);
    return (in->random >> 24) % limit;
}

static uint64_t peak_of(const shared_instance *in, const popliner_interval *stages,
                        size_t num_stages) {
    uint64_t bytes = 0;
    unsigned types = 0;
    for (size_t i = 0; i < num_stages; ++i)
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; ++unit) {
            bytes += in->own_bytes[unit];
            types |= in->types[unit];
        }
    for (size_t t = 0; t < NUM_TYPES; ++t)
        bytes += (types >> t & 1) * in->code_bytes[t];
    return bytes;
}

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    shared_instance *in = user;
    (void)error;
    ++in->num_calls;
    *peak_bytes = peak_of(in, stages, num_stages);
    return POPLINER_OK;
}

static pl_peak_parts peak_parts(const void *user, const popliner_interval *stage) {
    const shared_instance *in = user;
    pl_peak_parts parts = {0, 0};
    for (size_t unit = stage->first_unit; unit <= stage->last_unit; ++unit)
        parts.own_bytes += in->own_bytes[unit];
    parts.other_bytes = peak_of(in, stage, 1) - parts.own_bytes;
    return parts;
}

static const struct {
    size_t num_stages;
    size_t ipus[MOST_STAGES];
} maps[] = {{6, {0, 1, 2, 0, 1, 2}}, {3, {0, 1, 0}},          {3, {0, 0, 1}},
            {5, {0, 1, 2, 3, 0}},    {5, {0, 1, 0, 1, 0}},    {4, {1, 0, 0, 1}},
            {6, {0, 1, 2, 2, 1, 0}}, {6, {0, 1, 2, 1, 2, 3}}, {2, {4, 4}}};

void make_shared_costs(shared_instance *in) {
    for (size_t t = 0; t < NUM_TYPES; ++t)
        in->code_bytes[t] = random_below(in, 30);
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        in->own_bytes[unit] = random_below(in, 20);
        in->types[unit] = (unsigned)random_below(in, 1u << NUM_TYPES);
        in->types[unit] &= (unsigned)random_below(in, 1u << NUM_TYPES);
        in->cycles[unit] = random_below(in, 10);
    }
    assert_int_equal(popliner_costs_create(in->num_units, 1, &in->costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < in->num_units; ++first) {
        uint64_t cycles = 0;
        if (first > 0)
            popliner_costs_set_cut(in->costs, first, random_below(in, 9), NULL);
        for (size_t last = first; last < in->num_units; ++last) {
            popliner_interval it = {first, last, 1};
            cycles += in->cycles[last] + in->pair_cycles * (last - first);
            popliner_costs_set_peak(in->costs, first, last, 1, peak_of(in, &it, 1), NULL);
            popliner_costs_set_cycles(in->costs, first, last, cycles, NULL);
        }
    }
    popliner_costs_set_shared_peak(in->costs, shared_peak, in, true);
    if (in->knows_parts)
        in->costs->peak_parts = peak_parts;
}

void draw_shared_instance(shared_instance *in, uint64_t seed) {
    *in = (shared_instance){.random = seed, .knows_parts = seed % 2 == 1};
    size_t map = seed % (sizeof maps / sizeof *maps);
    memcpy(in->device_map, maps[map].ipus, sizeof in->device_map);
    in->num_units = maps[map].num_stages + random_below(in, 7);
    in->pair_cycles = seed / 9 % 3;
    make_shared_costs(in);
    popliner_interval whole = {0, in->num_units - 1, 1};
    uint64_t all_bytes = peak_of(in, &whole, 1);
    in->options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    in->options.device_map = in->device_map;
    in->options.num_mapped_stages = maps[map].num_stages;
    in->options.mem_per_tile = all_bytes / 3 + random_below(in, all_bytes / 2 + 1);
    in->options.cut_rules = in->cut_rules;
    for (size_t unit = 1; random_below(in, 2) == 0 && unit < in->num_units; ++unit)
        if (random_below(in, 5) == 0)
            in->cut_rules[unit] =
                random_below(in, 3) == 0 ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN;
    in->pair = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                     .unit = random_below(in, in->num_units),
                                     .second_unit = random_below(in, in->num_units)};
    in->options.pairs = &in->pair;
    in->options.num_pairs = random_below(in, 3) == 0;
    static const uint64_t millionths[] = {500000, 2000000, 333333, 1700000};
    in->speed =
        (popliner_ipu_value){in->device_map[seed % maps[map].num_stages], millionths[seed / 3 % 4]};
    in->options.ipu_speeds = &in->speed;
    in->options.num_ipu_speeds = seed % 3 == 0;
    in->link = (popliner_ipu_link){0, 1, 1 + random_below(in, 5), 1 + random_below(in, 9)};
    in->options.ipu_links = &in->link;
    if (random_below(in, 3) == 0) {
        in->options.link_bandwidth =
            (popliner_ipu_link){.bytes = 1 + random_below(in, 3), .cycles = 1};
        in->options.num_ipu_links = random_below(in, 2);
    }
    assert_int_equal(pl_problem_create(&in->problem, in->costs, &in->options, NULL), POPLINER_OK);
    in->filter = pl_filter_of_limits();
    if (random_below(in, 3) == 0)
        in->filter.limits.max_cycles = in->num_units * (2 + random_below(in, 4));
    if (random_below(in, 3) == 0)
        in->filter.limits.max_cut_bytes = random_below(in, 6 * maps[map].num_stages);
}

void discard_shared_instance(shared_instance *in) {
    pl_problem_free(&in->problem);
    popliner_costs_free(in->costs);
}

void draw_long_shared_chain(shared_instance *in, size_t num_units) {
    draw_shared_instance(in, 0);
    discard_shared_instance(in);
    in->num_units = num_units;
    make_shared_costs(in);
    memset(in->cut_rules, 0, sizeof in->cut_rules);
    in->options.num_pairs = 0;
    in->options.num_ipu_speeds = 0;
    in->options.num_ipu_links = 0;
    in->options.link_bandwidth = (popliner_ipu_link){0};
    in->options.mem_per_tile = 100000;
}

/* ---- every split ---- */

static size_t stage_of(const every_split *e, size_t unit) {
    size_t stage = 0;
    while (stage + 1 < e->in->options.num_mapped_stages && e->first_units[stage + 1] <= unit)
        ++stage;
    return stage;
}

/* Returns the time of the cut before a stage, on the link between the IPUs of both sides. */
static uint64_t link_cycles(const every_split *e, size_t stage) {
    const shared_instance *in = e->in;
    if (stage == 0 || stage == in->options.num_mapped_stages)
        return 0;
    const size_t before = in->device_map[stage - 1];
    const size_t after = in->device_map[stage];
    const bool is_special = in->options.num_ipu_links > 0 && before + after == 1;
    const popliner_ipu_link b = is_special ? in->link : in->options.link_bandwidth;
    const uint64_t bytes = popliner_costs_cut(in->costs, e->first_units[stage]);
    return before == after || b.bytes == 0 ? 0 : (bytes * b.cycles + b.bytes - 1) / b.bytes;
}

bool is_split_fine(every_split *e, uint64_t *cut_bytes) {
    const shared_instance *in = e->in;
    size_t num_stages = in->options.num_mapped_stages;
    uint64_t fewest[2] = {UINT64_MAX, UINT64_MAX}; /* bytes, cycles */
    *cut_bytes = e->peak_bytes = e->cycles = 0;
    for (size_t unit = 1; unit < in->num_units; ++unit) {
        bool is_cut = e->first_units[stage_of(e, unit)] == unit;
        if ((is_cut && in->cut_rules[unit] == POPLINER_CUT_FORBIDDEN) ||
            (!is_cut && in->cut_rules[unit] == POPLINER_CUT_REQUIRED))
            return false;
        *cut_bytes += is_cut ? popliner_costs_cut(in->costs, unit) : 0;
    }
    for (size_t stage = 0; stage < num_stages; ++stage) {
        popliner_interval together[MOST_STAGES];
        uint64_t cycles = 0;
        size_t count = 0;
        for (size_t other = 0; other < num_stages; ++other) {
            size_t end = other + 1 < num_stages ? e->first_units[other + 1] : in->num_units;
            if (in->device_map[other] != in->device_map[stage])
                continue;
            together[count++] = (popliner_interval){e->first_units[other], end - 1, 1};
            uint64_t own = 0;
            for (size_t unit = e->first_units[other]; unit < end; ++unit)
                own += in->cycles[unit] + in->pair_cycles * (unit - e->first_units[other]);
            bool has_speed =
                in->options.num_ipu_speeds > 0 && in->speed.ipu == in->device_map[other];
            uint64_t speed = has_speed ? in->speed.value : 1000000;
            cycles += (own * 1000000 + speed - 1) / speed;
            cycles += link_cycles(e, other) + link_cycles(e, other + 1);
        }
        uint64_t peak_bytes = peak_of(in, together, count);
        if (peak_bytes > e->limit_bytes || cycles > in->filter.limits.max_cycles)
            return false;
        e->peak_bytes = peak_bytes > e->peak_bytes ? peak_bytes : e->peak_bytes;
        e->cycles = cycles > e->cycles ? cycles : e->cycles;
        fewest[0] = peak_bytes < fewest[0] ? peak_bytes : fewest[0];
        fewest[1] = cycles < fewest[1] ? cycles : fewest[1];
    }
    e->spread = in->filter.spread_is_of_cycles ? e->cycles - fewest[1] : e->peak_bytes - fewest[0];
    if (e->spread > in->filter.max_spread || fewest[0] < in->filter.limits.min_peak_bytes ||
        fewest[1] < in->filter.limits.min_cycles)
        return false;
    return *cut_bytes <= in->filter.limits.max_cut_bytes &&
           (in->options.num_pairs == 0 || in->device_map[stage_of(e, in->pair.unit)] ==
                                              in->device_map[stage_of(e, in->pair.second_unit)]);
}

static void enumerate(every_split *e, size_t stage, size_t first_unit) {
    e->first_units[stage] = first_unit;
    /* MOST_STAGES for gcc 14, which cannot know how long the list of the options is */
    if (stage + 1 < MOST_STAGES && stage + 1 < e->in->options.num_mapped_stages) {
        for (size_t next = first_unit + 1; next < e->in->num_units; ++next)
            enumerate(e, stage + 1, next);
        return;
    }
    uint64_t cut_bytes;
    if (!is_split_fine(e, &cut_bytes))
        return;
    if (e->num_splits++ == 0)
        memcpy(e->earliest, e->first_units, sizeof e->earliest);
    e->fewest_bytes = cut_bytes < e->fewest_bytes ? cut_bytes : e->fewest_bytes;
    e->smallest_bytes = e->peak_bytes < e->smallest_bytes ? e->peak_bytes : e->smallest_bytes;
    e->fewest_cycles = e->cycles < e->fewest_cycles ? e->cycles : e->fewest_cycles;
    e->least_spread = e->spread < e->least_spread ? e->spread : e->least_spread;
}

every_split try_every_split(const shared_instance *in, uint64_t limit_bytes) {
    every_split e = {.in = in,
                     .limit_bytes = limit_bytes,
                     .fewest_bytes = UINT64_MAX,
                     .smallest_bytes = UINT64_MAX,
                     .fewest_cycles = UINT64_MAX,
                     .least_spread = UINT64_MAX};
    enumerate(&e, 0, 0);
    return e;
}
