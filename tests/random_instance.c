/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "random_instance.h"
#include "plain_options.h"

#include "brute_force.h"
#include "test.h"

#include "costs/costs.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t below(instance *in, uint64_t limit) {
    in->random = test_random(in->random);
    return (in->random >> 24) % limit;
}

/* The same as a cost; with fractions in billionths, of three digits or of nine. */
static uint64_t amount_below(instance *in, unsigned features, uint64_t limit) {
    uint64_t whole = below(in, limit);
    if ((features & FRACTIONS) == 0)
        return whole;
    bool has_three = in->num_units % 2 == 0;
    return whole * 1000000000 +
           below(in, has_three ? 1000 : 1000000000) * (has_three ? 1000000 : 1);
}

/* ---- the costs ---- */

/* The peak of all units of some stages together, each thing once. */
static uint64_t peak_of(const instance_parts *p, const popliner_interval *stages,
                        size_t num_stages) {
    uint64_t bytes = p->base_bytes;
    uint64_t live_bytes = 0;
    unsigned things = 0;
    for (size_t k = 0; k < num_stages; ++k) {
        if (p->is_first_forbidden && stages[k].last_unit == 0)
            return POPLINER_PEAK_FORBIDDEN;
        for (size_t unit = stages[k].first_unit; unit <= stages[k].last_unit; ++unit) {
            bytes += p->own_bytes[unit] + p->stash_bytes[unit] * (stages[k].stages_to_end - 1);
            live_bytes = p->live_bytes[unit] > live_bytes ? p->live_bytes[unit] : live_bytes;
            things |= p->things[unit];
        }
    }
    for (size_t t = 0; t < NUM_RANDOM_THINGS; ++t)
        bytes += (things >> t & 1) != 0 ? p->thing_bytes[t] : 0;
    bytes += live_bytes;
    return bytes <= p->capacity_bytes ? bytes : POPLINER_PEAK_FORBIDDEN;
}

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    (void)error;
    const instance *in = user;
    assert_true(num_stages >= 2);
    for (size_t k = 0; k < num_stages; ++k) {
        assert_true(stages[k].first_unit <= stages[k].last_unit);
        assert_true(k == 0 || stages[k - 1].last_unit < stages[k].first_unit);
        /* the same only where pipelines are longer than the costs know */
        assert_true(k == 0 || stages[k - 1].stages_to_end >= stages[k].stages_to_end);
        assert_true(stages[k].stages_to_end >= 1 && stages[k].last_unit < in->num_units);
    }
    *peak_bytes = peak_of(&in->parts, stages, num_stages);
    return POPLINER_OK;
}

/* A few small numbers, or larger ones that differ by little. */
static void draw_parts(instance *in, unsigned features) {
    static const uint64_t ranges[] = {2, 3, 4, 10, 1000};
    instance_parts *p = &in->parts;
    uint64_t range = ranges[below(in, 5)];
    bool has_own = below(in, 4) != 0;
    bool has_live = below(in, 2) != 0;
    bool has_things = below(in, 3) != 0;
    p->base_bytes = below(in, 4) == 0 ? (uint64_t)1 << 40 : below(in, 3);
    for (size_t t = 0; t < NUM_RANDOM_THINGS; ++t)
        p->thing_bytes[t] = has_things ? amount_below(in, features, range) : 0;
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        p->own_bytes[unit] = has_own ? amount_below(in, features, range) : 0;
        p->live_bytes[unit] = has_live ? amount_below(in, features, 2 * range) : 0;
        p->stash_bytes[unit] = (features & PIPELINE) != 0 ? amount_below(in, features, range) : 0;
        p->things[unit] =
            (unsigned)(below(in, 1 << NUM_RANDOM_THINGS) & below(in, 1 << NUM_RANDOM_THINGS));
    }
    /* a chain of which nothing may be a stage would leave nothing to ask */
    p->is_first_forbidden = in->num_units > 1 && below(in, 5) == 0;
    p->capacity_bytes = UINT64_MAX - 1;
    if ((features & CAPACITY) == 0)
        return;
    const size_t unit = below(in, in->num_units);
    const popliner_interval one = {unit, unit, 1};
    const popliner_interval all = {0, in->num_units - 1, 1 + below(in, 2)};
    const uint64_t least_bytes = peak_of(p, &one, 1);
    const uint64_t most_bytes = peak_of(p, &all, 1);
    /* between what a unit needs and what all do */
    if (least_bytes < most_bytes)
        p->capacity_bytes = least_bytes + below(in, most_bytes - least_bytes);
}

static void fill_peaks(instance *in, size_t most_stages) {
    for (size_t t = 1; t <= most_stages; ++t)
        for (size_t i = 0; i < in->num_units; ++i)
            for (size_t j = i; j < in->num_units; ++j) {
                const popliner_interval stage = {i, j, t};
                popliner_costs_set_peak(in->costs, i, j, t, peak_of(&in->parts, &stage, 1), NULL);
            }
}

/* A longer interval has no fewer: some add up, of others the largest counts. */
static void fill_cycles(instance *in, unsigned features) {
    static const uint64_t ranges[] = {2, 3, 5, 100};
    uint64_t range = ranges[below(in, 4)];
    uint64_t base = below(in, 4) == 0 ? (uint64_t)1 << 40 : 0;
    uint64_t own[MOST_RANDOM_UNITS];
    uint64_t most[MOST_RANDOM_UNITS];
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        own[unit] = amount_below(in, features, range);
        most[unit] = below(in, 3) == 0 ? amount_below(in, features, range) : 0;
    }
    for (size_t i = 0; i < in->num_units; ++i) {
        uint64_t sum = base;
        uint64_t largest = 0;
        for (size_t j = i; j < in->num_units; ++j) {
            sum += own[j];
            largest = most[j] > largest ? most[j] : largest;
            popliner_costs_set_cycles(in->costs, i, j, sum + largest, NULL);
        }
    }
}

static void fill_cuts(instance *in, unsigned features) {
    uint64_t style = below(in, 6);
    for (size_t unit = 1; unit < in->num_units; ++unit) {
        uint64_t bytes = amount_below(in, features, 4);
        if (style == 0)
            bytes = 0;
        else if (style == 1)
            bytes += (uint64_t)1 << 40;
        else if (style == 2)
            bytes = below(in, 1000);
        /* percents of sums that do not fit mean nothing */
        else if (style == 3 && (features & (SLACK | FRACTIONS)) == 0 && below(in, 2) == 0)
            bytes = UINT64_MAX / 3 + bytes * (UINT64_MAX / 6);
        popliner_costs_set_cut(in->costs, unit, bytes, NULL);
    }
}

/* Makes some intervals larger, so that a longer one needs less; a few are forbidden. No stage needs
 * less further from the end. Sums are then the shared peaks. */
static void spoil_order(instance *in, size_t most_stages, bool spoils_peaks) {
    for (size_t i = 0; i < in->num_units; ++i)
        for (size_t j = i; j < in->num_units; ++j) {
            uint64_t more = below(in, 3) == 0 ? below(in, 5) : 0;
            bool is_forbidden = j < in->num_units - 1 && below(in, 12) == 0;
            if (popliner_costs_has_cycles(in->costs) && below(in, 2) == 0)
                popliner_costs_set_cycles(
                    in->costs, i, j, popliner_costs_cycles(in->costs, i, j) + below(in, 3), NULL);
            for (size_t t = 1; spoils_peaks && t <= most_stages; ++t) {
                uint64_t bytes = popliner_costs_peak(in->costs, i, j, t);
                if (is_forbidden || bytes == POPLINER_PEAK_FORBIDDEN)
                    bytes = POPLINER_PEAK_FORBIDDEN;
                else
                    bytes += more;
                popliner_costs_set_peak(in->costs, i, j, t, bytes, NULL);
            }
        }
}

/* ---- the options ---- */

/* All but HEADROOM, which needs limits. */
enum { NUM_DRAWN_OBJECTIVES = POPLINER_OBJECTIVE_HEADROOM };

/* The lists of objectives, each once, from the empty one to those of all five: its number as places
 * in what is left. */
static size_t draw_objectives(instance *in, const instance_wish *wish, size_t number) {
    size_t length = wish->fewest_objectives;
    for (;; ++length) {
        size_t num_lists = 1;
        for (size_t i = 0; i < length; ++i)
            num_lists *= NUM_DRAWN_OBJECTIVES - i;
        if (number < num_lists)
            break;
        number -= num_lists;
        if (length == wish->most_objectives)
            length = wish->fewest_objectives - 1; /* they begin again */
    }
    bool is_used[NUM_DRAWN_OBJECTIVES] = {false};
    for (size_t i = 0; i < length; ++i) {
        size_t left = number % (NUM_DRAWN_OBJECTIVES - i);
        number /= NUM_DRAWN_OBJECTIVES - i;
        size_t objective = 0;
        while (is_used[objective] || left-- > 0)
            ++objective;
        is_used[objective] = true;
        in->objectives[i] = (popliner_objective)objective;
    }
    return length;
}

/* Puts HEADROOM somewhere into the list. */
static void add_headroom(instance *in) {
    popliner_solver_options *o = &in->options;
    size_t at = below(in, o->num_objectives + 1);
    for (size_t i = o->num_objectives++; i > at; --i)
        in->objectives[i] = in->objectives[i - 1];
    in->objectives[at] = POPLINER_OBJECTIVE_HEADROOM;
}

/* Maps of at most as many stages as there are units. */
static void draw_device_map(instance *in, unsigned features) {
    static const struct {
        size_t count;
        size_t map[MOST_RANDOM_STAGES];
    } apart[] = {{1, {0}},
                 {2, {0, 1}},
                 {2, {1, 0}},
                 {3, {0, 1, 2}},
                 {3, {2, 0, 1}},
                 {4, {3, 1, 0, 2}},
                 {3, {7, 0, 3}},
                 {4, {0, 1, 2, 3}},
                 {5, {4, 3, 2, 1, 0}},
                 {5, {0, 1, 2, 3, 4}}},
      shared[] = {{2, {0, 0}},          {3, {0, 1, 0}},       {3, {0, 0, 1}},
                  {3, {0, 1, 1}},       {3, {5, 7, 5}},       {3, {0, 0, 0}},
                  {4, {0, 1, 2, 0}},    {4, {0, 1, 0, 1}},    {4, {0, 1, 1, 0}},
                  {4, {1, 0, 0, 2}},    {5, {0, 1, 2, 3, 0}}, {5, {0, 1, 2, 1, 0}},
                  {5, {0, 1, 0, 1, 0}}, {5, {1, 0, 2, 2, 1}}};
    bool is_shared = (features & SHARED_IPUS) != 0;
    size_t count;
    const size_t *map;
    do {
        size_t i = is_shared ? below(in, sizeof shared / sizeof *shared)
                             : below(in, sizeof apart / sizeof *apart);
        count = is_shared ? shared[i].count : apart[i].count;
        map = is_shared ? shared[i].map : apart[i].map;
    } while (count > in->num_units);
    memcpy(in->device_map, map, count * sizeof *map);
    in->options.device_map = in->device_map;
    in->options.num_mapped_stages = count;
}

/* One of the IPUs that there are. */
static size_t draw_ipu(instance *in) {
    const popliner_solver_options *o = &in->options;
    return o->device_map != NULL ? o->device_map[below(in, o->num_mapped_stages)]
                                 : below(in, o->num_ipus);
}

/* Of most instances the constraints are drawn around a split, so that they do not contradict. */
static void draw_split(instance *in, unsigned features) {
    const popliner_solver_options *o = &in->options;
    size_t most = o->num_ipus < in->num_units ? o->num_ipus : in->num_units;
    size_t left = o->device_map != NULL ? o->num_mapped_stages - 1 : below(in, most);
    in->follows_split = (features & CONTRADICTING) == 0 && below(in, 4) != 0;
    in->stage_of[0] = 0;
    for (size_t unit = 1; unit < in->num_units; ++unit) {
        bool is_cut = below(in, in->num_units - unit) < left;
        /* the first unit takes the next one with it */
        if (unit == 1 && in->parts.is_first_forbidden && left < in->num_units - 1)
            is_cut = false;
        in->stage_of[unit] = in->stage_of[unit - 1] + is_cut;
        left -= is_cut;
    }
}

static size_t split_ipu(const instance *in, size_t unit) {
    size_t stage = in->stage_of[unit];
    return in->options.device_map != NULL ? in->options.device_map[stage] : stage;
}

static void draw_cut_rules(instance *in) {
    for (size_t unit = 0; unit < in->num_units; ++unit) {
        uint64_t choice = below(in, 6);
        bool is_cut = unit > 0 && in->stage_of[unit] > in->stage_of[unit - 1];
        popliner_cut_rule rule = choice == 0   ? POPLINER_CUT_REQUIRED
                                 : choice <= 2 ? POPLINER_CUT_FORBIDDEN
                                               : POPLINER_CUT_FREE;
        if (in->follows_split && rule != POPLINER_CUT_FREE)
            rule = is_cut ? POPLINER_CUT_REQUIRED : POPLINER_CUT_FORBIDDEN;
        in->cut_rules[unit] = rule;
    }
    in->options.cut_rules = in->cut_rules;
}

static void draw_counted_units(instance *in) {
    for (size_t unit = 0; unit < in->num_units; ++unit)
        in->counted_units[unit] = (uint8_t)(below(in, 4) != 0);
    in->options.counted_units = in->counted_units;
}

/* After the marks. */
static void draw_num_units(instance *in) {
    popliner_solver_options *o = &in->options;
    size_t fewest = 1 + below(in, in->num_units < 4 ? in->num_units : 4);
    size_t most = fewest;
    if (in->follows_split) {
        size_t counts[MOST_RANDOM_UNITS] = {0};
        for (size_t unit = 0; unit < in->num_units; ++unit)
            counts[in->stage_of[unit]] += o->counted_units == NULL || o->counted_units[unit] != 0;
        fewest = most = counts[0];
        for (size_t k = 1; k <= in->stage_of[in->num_units - 1]; ++k) {
            fewest = counts[k] < fewest ? counts[k] : fewest;
            most = counts[k] > most ? counts[k] : most;
        }
    }
    if (below(in, 3) != 0)
        o->min_units = fewest;
    if (below(in, 2) == 0)
        o->max_units = most + below(in, 3);
}

static void draw_pairs(instance *in) {
    popliner_solver_options *o = &in->options;
    size_t n = in->num_units;
    for (size_t tries = 1 + below(in, MOST_RANDOM_ENTRIES); tries > 0 && n > 1; --tries) {
        size_t first = below(in, n);
        size_t second = (first + 1 + below(in, n - 1)) % n;
        bool is_new = true;
        for (size_t i = 0; i < o->num_pairs; ++i)
            is_new = is_new && (in->pairs[i].unit != first || in->pairs[i].second_unit != second) &&
                     (in->pairs[i].unit != second || in->pairs[i].second_unit != first);
        if (is_new && (!in->follows_split || split_ipu(in, first) == split_ipu(in, second)))
            in->pairs[o->num_pairs++] = (popliner_constraint){
                .kind = POPLINER_CONSTRAINT_PAIR, .unit = first, .second_unit = second};
    }
    o->pairs = in->pairs;
}

static void draw_placements(instance *in) {
    popliner_solver_options *o = &in->options;
    for (size_t tries = 1 + below(in, MOST_RANDOM_ENTRIES); tries > 0; --tries) {
        size_t unit = below(in, in->num_units);
        size_t ipu = in->follows_split ? split_ipu(in, unit) : draw_ipu(in);
        bool is_new = true;
        for (size_t i = 0; i < o->num_placements; ++i)
            is_new = is_new && in->placements[i].unit != unit;
        if (is_new)
            in->placements[o->num_placements++] = (popliner_constraint){
                .kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = unit, .ipu = ipu};
    }
    o->placements = in->placements;
}

static void draw_constraints(instance *in, unsigned features) {
    draw_split(in, features);
    if ((features & CUT_RULES) != 0)
        draw_cut_rules(in);
    if ((features & COUNTED_UNITS) != 0)
        draw_counted_units(in);
    if ((features & NUM_UNITS) != 0)
        draw_num_units(in);
    if ((features & PAIRS) != 0)
        draw_pairs(in);
    if ((features & PLACEMENTS) != 0)
        draw_placements(in);
}

static uint64_t draw_peak(instance *in) {
    size_t i = below(in, in->num_units);
    size_t j = i + below(in, in->num_units - i);
    uint64_t bytes = popliner_costs_peak(in->costs, i, j, 1);
    return bytes == POPLINER_PEAK_FORBIDDEN ? popliner_costs_peak(in->costs, 0, 1, 1) : bytes;
}

/* A limit near the smallest largest peak, which can be met or not. */
static uint64_t draw_limit(instance *in, uint64_t best_bytes, bool is_tight) {
    uint64_t less = 1 + below(in, 3);
    uint64_t low_bytes = best_bytes < less ? 0 : best_bytes - less;
    if (is_tight) {
        uint64_t unit_bytes =
            popliner_costs_peak(in->costs, in->num_units - 1, in->num_units - 1, 1);
        return below(in, 3) == 0 && unit_bytes < low_bytes ? unit_bytes : low_bytes;
    }
    switch (below(in, 6)) {
    case 0:
    case 1:
        return low_bytes;
    case 2:
        return draw_peak(in);
    case 3:
        return best_bytes;
    default:
        return best_bytes + less - 1;
    }
}

/* The smallest largest peak without limits; 0 if there is no split. */
static uint64_t find_best_peak(const instance *in) {
    static const popliner_objective memory = POPLINER_OBJECTIVE_MEMORY;
    popliner_solver_options options = in->options;
    options.objectives = &memory;
    options.num_objectives = 1;
    return brute_force(in->costs, &options).split.values[POPLINER_OBJECTIVE_MEMORY];
}

static void draw_limits(instance *in, unsigned features) {
    popliner_solver_options *o = &in->options;
    if ((features & (MEMORY_LIMIT | IPU_LIMITS)) == 0)
        return;
    uint64_t best_bytes = find_best_peak(in);
    if ((features & MEMORY_LIMIT) != 0)
        o->mem_per_tile = draw_limit(in, best_bytes, (features & TIGHT) != 0);
    if ((features & IPU_LIMITS) != 0) {
        for (size_t tries = 1 + below(in, MOST_RANDOM_ENTRIES); tries > 0; --tries) {
            size_t ipu = draw_ipu(in);
            bool is_new = true;
            for (size_t i = 0; i < o->num_ipu_limits; ++i)
                is_new = is_new && in->ipu_limits[i].ipu != ipu;
            if (is_new)
                in->ipu_limits[o->num_ipu_limits++] =
                    (popliner_ipu_value){ipu, draw_limit(in, best_bytes, (features & TIGHT) != 0)};
        }
        o->ipu_limits = in->ipu_limits;
    }
}

static void draw_speeds(instance *in) {
    static const uint64_t millionths[] = {
        500000, 2000000, 3000000, 333333, 1500000, 700000, 1000000, 1000, POPLINER_MOST_SPEED};
    popliner_solver_options *o = &in->options;
    for (size_t tries = 1 + below(in, MOST_RANDOM_ENTRIES); tries > 0; --tries) {
        size_t ipu = draw_ipu(in);
        uint64_t speed = millionths[below(in, sizeof millionths / sizeof *millionths)];
        bool is_new = true;
        for (size_t i = 0; i < o->num_ipu_speeds; ++i)
            is_new = is_new && in->ipu_speeds[i].ipu != ipu;
        if (is_new)
            in->ipu_speeds[o->num_ipu_speeds++] = (popliner_ipu_value){ipu, speed};
    }
    o->ipu_speeds = in->ipu_speeds;
}

/* Mostly of IPUs that follow each other. */
static void draw_links(instance *in) {
    static const popliner_ipu_link bandwidths[] = {{0, 0, 1, 1},  {0, 0, 2, 1},    {0, 0, 3, 1},
                                                   {0, 0, 10, 1}, {0, 0, 1000, 1}, {0, 0, 1, 3},
                                                   {0, 0, 7, 2},  {0, 0, 5, 4},    {0, 0, 1, 1000}};
    enum { NUM_BANDWIDTHS = sizeof bandwidths / sizeof *bandwidths };
    popliner_solver_options *o = &in->options;
    if (below(in, 3) != 0)
        o->link_bandwidth = bandwidths[below(in, NUM_BANDWIDTHS)];
    for (size_t tries = below(in, MOST_RANDOM_ENTRIES + 1); tries > 0; --tries) {
        size_t most = o->num_mapped_stages > 0 ? o->num_mapped_stages : o->num_ipus;
        size_t stage = below(in, most);
        size_t next = below(in, 4) == 0 ? below(in, most + 1) : stage + 1;
        bool is_mapped = o->num_mapped_stages > 0;
        size_t first = is_mapped ? o->device_map[stage] : stage;
        size_t second = is_mapped && next < most ? o->device_map[next] : next;
        bool is_new = first != second;
        for (size_t i = 0; i < o->num_ipu_links; ++i)
            is_new =
                is_new &&
                !(in->ipu_links[i].first_ipu == first && in->ipu_links[i].second_ipu == second) &&
                !(in->ipu_links[i].first_ipu == second && in->ipu_links[i].second_ipu == first);
        popliner_ipu_link link = bandwidths[below(in, NUM_BANDWIDTHS)];
        const bool is_turned = below(in, 2) == 0;
        link.first_ipu = is_turned ? second : first;
        link.second_ipu = is_turned ? first : second;
        if (is_new)
            in->ipu_links[o->num_ipu_links++] = link;
    }
    o->ipu_links = in->ipu_links;
}

void draw_instance(const instance_wish *wish, uint64_t seed, instance *in) {
    static const double slacks[] = {1, 10, 12.5, 25, 50, 100, 300};
    /* each test has instances of its own */
    uint64_t test = (uint64_t)wish->always << 32 | (uint64_t)wish->sometimes << 16 |
                    wish->fewest_objectives << 8 | wish->most_objectives;
    *in = (instance){.random = test_random(test_random(test) + seed)};
    popliner_solver_options *o = &in->options;
    *o = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    unsigned features = wish->always;
    for (unsigned bit = 1; bit <= SPEEDS; bit <<= 1)
        if ((wish->sometimes & bit) != 0 && below(in, 5) < 2)
            features |= bit;

    /* rather long chains, rather few stages: then the limit is what all of them together need */
    size_t one = below(in, MOST_RANDOM_UNITS);
    size_t other = below(in, MOST_RANDOM_UNITS);
    in->num_units = 1 + (one > other ? one : other);
    if ((features & SHARED_IPUS) != 0 && in->num_units == 1)
        in->num_units = 2;
    o->num_ipus = 1 + below(in, 2 + below(in, 3 + in->num_units / 2));
    if ((features & (DEVICE_MAP | SHARED_IPUS)) != 0)
        draw_device_map(in, features);
    if ((features & SLACK) != 0)
        o->slack_percent = slacks[below(in, sizeof slacks / sizeof *slacks)];
    o->objectives = in->objectives;
    o->num_objectives = draw_objectives(in, wish, seed);
    if ((features & HEADROOM) != 0)
        add_headroom(in);
    if (o->num_objectives == 0)
        o->objectives = NULL;

    draw_parts(in, features);
    size_t most_stages = 1;
    if ((features & PIPELINE) != 0) {
        most_stages = o->num_ipus > o->num_mapped_stages ? o->num_ipus : o->num_mapped_stages;
        /* sometimes more stages would do, but nobody knows */
        if (below(in, 4) != 0 && in->num_units > most_stages)
            most_stages = in->num_units;
    }
    assert_int_equal(popliner_costs_create(in->num_units, most_stages, &in->costs, NULL),
                     POPLINER_OK);
    fill_peaks(in, most_stages);
    fill_cuts(in, features);
    bool needs_cycles = below(in, 2) == 0 || (features & (SPEEDS | LINKS)) != 0;
    for (size_t i = 0; i < o->num_objectives; ++i)
        needs_cycles = needs_cycles || in->objectives[i] == POPLINER_OBJECTIVE_CYCLES;
    if (needs_cycles)
        fill_cycles(in, features);
    if ((features & (UNORDERED | SHRINKING_CYCLES)) != 0)
        spoil_order(in, most_stages, (features & UNORDERED) != 0 && below(in, 4) != 0);
    in->is_shared_peak_known = below(in, 3) != 0;
    if (in->is_shared_peak_known)
        /* true of all of them, but the solver has to do without the promise, too */
        popliner_costs_set_shared_peak(in->costs, shared_peak, in, in->num_units % 3 != 0);
    draw_constraints(in, features);
    draw_limits(in, features);
    if ((features & SPEEDS) != 0)
        draw_speeds(in);
    if ((features & LINKS) != 0)
        draw_links(in);
}

bool has_shared_ipus(const popliner_solver_options *options) {
    for (size_t k = 0; options->device_map != NULL && k < options->num_mapped_stages; ++k)
        for (size_t i = 0; i < k; ++i)
            if (options->device_map[i] == options->device_map[k])
                return true;
    return false;
}

void free_instance(instance *in) {
    popliner_costs_free(in->costs);
}

/* ---- printing ---- */

static void print_numbers(const char *name, const uint64_t *numbers, size_t count) {
    print_error("%s[] = {", name);
    for (size_t i = 0; i < count; ++i)
        print_error("%s%" PRIu64, i == 0 ? "" : ", ", numbers[i]);
    print_error("};\n");
}

/* The rows of a triangle, one in braces for each first unit. */
static void print_triangle(const instance *in, const char *name, size_t stages_to_end) {
    print_error("%s[] = {", name);
    for (size_t i = 0; i < in->num_units; ++i) {
        print_error("%s{", i == 0 ? "" : ", ");
        for (size_t j = i; j < in->num_units; ++j) {
            uint64_t number = stages_to_end == 0
                                  ? popliner_costs_cycles(in->costs, i, j)
                                  : popliner_costs_peak(in->costs, i, j, stages_to_end);
            if (number == POPLINER_PEAK_FORBIDDEN)
                print_error("%sFORBIDDEN", j == i ? "" : ", ");
            else
                print_error("%s%" PRIu64, j == i ? "" : ", ", number);
        }
        print_error("}");
    }
    print_error("};\n");
}

static void print_costs(const instance *in) {
    const instance_parts *p = &in->parts;
    for (size_t t = 1; t <= in->costs->max_stages_to_end; ++t) {
        char name[60];
        snprintf(name, sizeof name, "peaks_%zu_to_end", t);
        print_triangle(in, name, t);
    }
    if (popliner_costs_has_cycles(in->costs))
        print_triangle(in, "cycles", 0);
    print_error("cuts_before_1_on[] = {");
    for (size_t unit = 1; unit < in->num_units; ++unit)
        print_error("%s%" PRIu64, unit == 1 ? "" : ", ", popliner_costs_cut(in->costs, unit));
    print_error("};\n");
    if (!in->is_shared_peak_known || in->options.device_map == NULL)
        return;
    print_error("shared: base = %" PRIu64 ";\n", p->base_bytes);
    print_numbers("own", p->own_bytes, in->num_units);
    print_numbers("live", p->live_bytes, in->num_units);
    print_numbers("stash", p->stash_bytes, in->num_units);
    print_numbers("thing", p->thing_bytes, NUM_RANDOM_THINGS);
    print_error("things[] = {");
    for (size_t unit = 0; unit < in->num_units; ++unit)
        print_error("%s%#x", unit == 0 ? "" : ", ", p->things[unit]);
    print_error("};\n");
}

void print_instance(const instance *in) {
    const popliner_solver_options *o = &in->options;
    print_error("num_units = %zu;\n", in->num_units);
    print_costs(in);
    print_error("{.num_ipus = %zu, .mem_per_tile = %" PRIu64 ", .slack_percent = %g,\n"
                " .objectives = {",
                o->num_ipus, o->mem_per_tile, o->slack_percent);
    static const char *const names[] = {"MEMORY", "CYCLES",  "TRAFFIC",
                                        "IPUS",   "BALANCE", "HEADROOM"};
    for (size_t i = 0; i < o->num_objectives; ++i)
        print_error("%s%s", i == 0 ? "" : ", ", names[o->objectives[i]]);
    print_error("},\n .ipu_limits = {");
    for (size_t i = 0; i < o->num_ipu_limits; ++i)
        print_error("{%zu, %" PRIu64 "} ", o->ipu_limits[i].ipu, o->ipu_limits[i].value);
    print_error("}, .ipu_speeds = {");
    for (size_t i = 0; i < o->num_ipu_speeds; ++i)
        print_error("{%zu, %" PRIu64 "} ", o->ipu_speeds[i].ipu, o->ipu_speeds[i].value);
    print_error("}, .link_bandwidth = {%" PRIu64 ", %" PRIu64 "}, .ipu_links = {",
                o->link_bandwidth.bytes, o->link_bandwidth.cycles);
    for (size_t i = 0; i < o->num_ipu_links; ++i)
        print_error("{%zu, %zu, {%" PRIu64 ", %" PRIu64 "}} ", o->ipu_links[i].first_ipu,
                    o->ipu_links[i].second_ipu, o->ipu_links[i].bytes, o->ipu_links[i].cycles);
    print_error("}, .min_units = %zu, .max_units = %zu,\n", o->min_units, o->max_units);
    print_error(" .counted_units = {");
    for (size_t unit = 0; o->counted_units != NULL && unit < in->num_units; ++unit)
        print_error("%s%u", unit == 0 ? "" : ", ", o->counted_units[unit]);
    print_error("}, .cut_rules = {");
    static const char *const rules[] = {"FREE", "REQUIRED", "FORBIDDEN"};
    for (size_t unit = 0; o->cut_rules != NULL && unit < in->num_units; ++unit)
        print_error("%s%s", unit == 0 ? "" : ", ", rules[o->cut_rules[unit]]);
    print_error("},\n .pairs = {");
    for (size_t i = 0; i < o->num_pairs; ++i)
        print_error("{%zu, %zu} ", o->pairs[i].unit, o->pairs[i].second_unit);
    print_error("}, .placements = {");
    for (size_t i = 0; i < o->num_placements; ++i)
        print_error("{%zu, %zu} ", o->placements[i].unit, o->placements[i].ipu);
    print_error("}, .device_map = {");
    for (size_t k = 0; o->device_map != NULL && k < o->num_mapped_stages; ++k)
        print_error("%s%zu", k == 0 ? "" : ", ", o->device_map[k]);
    print_error("}}\n");
}
