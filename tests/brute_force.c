/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"

#include "test.h"

#include "costs/costs.h"
#include "solve/plan.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is asked, with what follows from it. */
typedef struct question {
    const popliner_costs *costs;
    const popliner_solver_options *options;
    size_t num_units;
    bool balances_cycles; /* BALANCE is about cycles, not peaks */
} question;

/* The constraints as bits of a mask; behind these come the places (bit 2 + unit), the pairs and the
 * placements. */
enum { NUM_STAGES_BIT = 0, MIN_UNITS_BIT = 1, MAX_UNITS_BIT = 2 };

/* One of the splits. */
typedef struct trial {
    uint32_t cut_set; /* bit u - 1: the chain is cut before unit u */
    size_t num_stages;
    /* It has IPUs, and no stage that must not be, whatever the limits. */
    bool is_possible;
    uint64_t violated; /* the constraints that it does not fulfil */
    bool is_within_ipu_limits;
    uint64_t other_peak_bytes; /* the largest of the IPUs without a limit of their own */
    uint64_t above_bytes;      /* the most that an IPU needs above its limit */
    uint64_t values[POPLINER_NUM_OBJECTIVES];
} trial;

/* ---- one split ---- */

/* The stages of a split, without what they cost. */
static size_t cut_into_stages(const question *q, uint32_t cut_set, popliner_plan_stage *stages) {
    size_t num_stages = 0;
    size_t first = 0;
    for (size_t end = 1; end <= q->num_units; ++end) {
        if (end < q->num_units && (cut_set >> (end - 1) & 1) == 0)
            continue;
        stages[num_stages] = (popliner_plan_stage){.first_unit = first, .last_unit = end - 1};
        stages[num_stages].cut_bytes = end < q->num_units ? popliner_costs_cut(q->costs, end) : 0;
        stages[num_stages].ipu = num_stages;
        if (q->options->device_map != NULL)
            stages[num_stages].ipu = num_stages < q->options->num_mapped_stages
                                         ? q->options->device_map[num_stages]
                                         : SIZE_MAX;
        ++num_stages;
        first = end;
    }
    return num_stages;
}

static bool has_own_limit(const question *q, size_t ipu, uint64_t *limit_bytes) {
    for (size_t i = 0; i < q->options->num_ipu_limits; ++i)
        if (q->options->ipu_limits[i].ipu == ipu) {
            *limit_bytes = q->options->ipu_limits[i].value;
            return true;
        }
    *limit_bytes = q->options->mem_per_tile;
    return false;
}

/* Whether each stage may be where it stands, and whether the costs know it there. */
static bool are_stages_possible(const question *q, const popliner_plan_stage *stages,
                                size_t num_stages) {
    size_t most = q->costs->max_stages_to_end;
    if (most > 1 && num_stages > most)
        return false;
    if (q->options->device_map != NULL && num_stages != q->options->num_mapped_stages)
        return false;
    for (size_t k = 0; k < num_stages; ++k)
        if (popliner_costs_peak(q->costs, stages[k].first_unit, stages[k].last_unit,
                                num_stages - k) == POPLINER_PEAK_FORBIDDEN)
            return false;
    return true;
}

uint64_t brute_link_cycles(const popliner_solver_options *options, size_t ipu, size_t other,
                           uint64_t bytes) {
    popliner_ipu_link b = options->link_bandwidth;
    for (size_t i = 0; i < options->num_ipu_links; ++i) {
        popliner_ipu_link link = options->ipu_links[i];
        if ((link.first_ipu == ipu && link.second_ipu == other) ||
            (link.second_ipu == ipu && link.first_ipu == other))
            b = link;
    }
    if (b.bytes == 0 || ipu == other)
        return 0;
    uint64_t times = bytes / b.bytes;
    uint64_t rest = bytes % b.bytes * b.cycles;
    assert_true(b.bytes * b.cycles / b.cycles == b.bytes);
    if (times >= POPLINER_MAX_CYCLES / b.cycles)
        return POPLINER_MAX_CYCLES;
    uint64_t cycles = times * b.cycles + rest / b.bytes + (rest % b.bytes != 0);
    return cycles < POPLINER_MAX_CYCLES ? cycles : POPLINER_MAX_CYCLES;
}

uint64_t brute_speed_cycles(const popliner_solver_options *options, size_t ipu, uint64_t cycles) {
    for (size_t i = 0; i < options->num_ipu_speeds; ++i)
        if (options->ipu_speeds[i].ipu == ipu) {
            uint64_t slower = cycles * 1000000;
            uint64_t speed = options->ipu_speeds[i].value;
            assert_true(cycles == 0 || slower / cycles == 1000000);
            for (cycles = slower / speed; cycles * speed < slower;)
                ++cycles;
        }
    return cycles;
}

/* What the cut behind a stage takes on the link to the next one. */
static uint64_t link_after(const question *q, const popliner_plan_stage *stages, size_t k) {
    return brute_link_cycles(q->options, stages[k].ipu, stages[k + 1].ipu, stages[k].cut_bytes);
}

/* The cycles of a stage with what it receives and sends. */
static uint64_t cycles_of(const question *q, const popliner_plan_stage *stages, size_t num_stages,
                          size_t k) {
    uint64_t cycles = brute_speed_cycles(
        q->options, stages[k].ipu,
        popliner_costs_cycles(q->costs, stages[k].first_unit, stages[k].last_unit));
    cycles += k > 0 ? link_after(q, stages, k - 1) : 0;
    cycles += k + 1 < num_stages ? link_after(q, stages, k) : 0;
    return cycles;
}

/* The peak of the IPU of stage k with all that runs there, and its cycles. */
static uint64_t peak_of_ipu(const question *q, const popliner_plan_stage *stages, size_t num_stages,
                            size_t k, uint64_t *cycles) {
    popliner_interval there[MOST_BRUTE_UNITS];
    size_t num_there = 0;
    *cycles = 0;
    for (size_t i = 0; i < num_stages; ++i)
        if (stages[i].ipu == stages[k].ipu) {
            there[num_there++] =
                (popliner_interval){stages[i].first_unit, stages[i].last_unit, num_stages - i};
            *cycles += cycles_of(q, stages, num_stages, i);
        }
    if (num_there == 1)
        return popliner_costs_peak(q->costs, there[0].first_unit, there[0].last_unit,
                                   there[0].stages_to_end);
    uint64_t peak_bytes = 0;
    assert_int_equal(pl_costs_shared_peak(q->costs, there, num_there, &peak_bytes, NULL),
                     POPLINER_OK);
    return peak_bytes;
}

/* The first stage on its IPU speaks for it. */
static bool is_first_of_ipu(const popliner_plan_stage *stages, size_t k) {
    for (size_t i = 0; i < k; ++i)
        if (stages[i].ipu == stages[k].ipu)
            return false;
    return true;
}

/* Fills what the stages cost, and what the split is worth. */
static void measure(const question *q, popliner_plan_stage *stages, trial *t) {
    uint64_t most_bytes = 0;
    uint64_t least_bytes = UINT64_MAX;
    uint64_t most_cycles = 0;
    uint64_t least_cycles = UINT64_MAX;
    uint64_t num_ipus = 0;
    uint64_t traffic_bytes = 0;
    uint64_t least_free_bytes = UINT64_MAX;
    t->is_within_ipu_limits = true;
    t->other_peak_bytes = 0;
    t->above_bytes = 0;
    for (size_t k = 0; k < t->num_stages; ++k) {
        uint64_t cycles;
        uint64_t bytes = peak_of_ipu(q, stages, t->num_stages, k, &cycles);
        stages[k].peak_bytes = bytes;
        stages[k].cycles = cycles_of(q, stages, t->num_stages, k);
        stages[k].link_cycles = k + 1 < t->num_stages ? link_after(q, stages, k) : 0;
        if (bytes == POPLINER_PEAK_FORBIDDEN)
            t->is_possible = false;
        uint64_t limit_bytes;
        if (!has_own_limit(q, stages[k].ipu, &limit_bytes))
            t->other_peak_bytes = bytes > t->other_peak_bytes ? bytes : t->other_peak_bytes;
        else if (bytes > limit_bytes)
            t->is_within_ipu_limits = false;
        uint64_t free_bytes = limit_bytes > bytes ? limit_bytes - bytes : 0;
        uint64_t above_bytes = bytes > limit_bytes ? bytes - limit_bytes : 0;
        t->above_bytes = above_bytes > t->above_bytes ? above_bytes : t->above_bytes;
        least_free_bytes = free_bytes < least_free_bytes ? free_bytes : least_free_bytes;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        least_bytes = bytes < least_bytes ? bytes : least_bytes;
        most_cycles = cycles > most_cycles ? cycles : most_cycles;
        least_cycles = cycles < least_cycles ? cycles : least_cycles;
        num_ipus += is_first_of_ipu(stages, k);
        bool is_too_much = stages[k].cut_bytes > UINT64_MAX - 1 - traffic_bytes;
        traffic_bytes = is_too_much ? UINT64_MAX - 1 : traffic_bytes + stages[k].cut_bytes;
    }
    t->values[POPLINER_OBJECTIVE_MEMORY] = most_bytes;
    t->values[POPLINER_OBJECTIVE_CYCLES] = most_cycles;
    t->values[POPLINER_OBJECTIVE_TRAFFIC] = traffic_bytes;
    t->values[POPLINER_OBJECTIVE_IPUS] = num_ipus;
    t->values[POPLINER_OBJECTIVE_BALANCE] =
        q->balances_cycles ? most_cycles - least_cycles : most_bytes - least_bytes;
    t->values[POPLINER_OBJECTIVE_HEADROOM] = least_free_bytes;
}

static size_t ipu_of(const popliner_plan_stage *stages, size_t unit) {
    size_t k = 0;
    while (stages[k].last_unit < unit)
        ++k;
    return stages[k].ipu;
}

/* The constraints that a split does not fulfil; those of memory are not among them. */
static uint64_t find_violated(const question *q, const popliner_plan_stage *stages,
                              size_t num_stages) {
    const popliner_solver_options *o = q->options;
    assert_true(MAX_UNITS_BIT + q->num_units + o->num_pairs + o->num_placements <=
                MOST_BRUTE_CONSTRAINTS);
    uint64_t violated = 0;
    if (o->device_map != NULL ? num_stages != o->num_mapped_stages : num_stages > o->num_ipus)
        violated |= (uint64_t)1 << NUM_STAGES_BIT;
    for (size_t k = 0; k < num_stages; ++k) {
        size_t num_counted = 0;
        for (size_t unit = stages[k].first_unit; unit <= stages[k].last_unit; ++unit)
            num_counted += o->counted_units == NULL || o->counted_units[unit] != 0;
        if (num_counted < o->min_units)
            violated |= (uint64_t)1 << MIN_UNITS_BIT;
        if (o->max_units > 0 && num_counted > o->max_units)
            violated |= (uint64_t)1 << MAX_UNITS_BIT;
    }
    size_t next_bit = MAX_UNITS_BIT + 1;
    size_t k = 0;
    for (size_t unit = 1; unit < q->num_units; ++unit, ++next_bit) {
        k += stages[k].last_unit < unit;
        bool is_cut = stages[k].first_unit == unit;
        popliner_cut_rule rule = o->cut_rules == NULL ? POPLINER_CUT_FREE : o->cut_rules[unit];
        if ((rule == POPLINER_CUT_REQUIRED && !is_cut) ||
            (rule == POPLINER_CUT_FORBIDDEN && is_cut))
            violated |= (uint64_t)1 << next_bit;
    }
    for (size_t i = 0; i < o->num_pairs; ++i, ++next_bit)
        if (ipu_of(stages, o->pairs[i].unit) != ipu_of(stages, o->pairs[i].second_unit))
            violated |= (uint64_t)1 << next_bit;
    for (size_t i = 0; i < o->num_placements; ++i, ++next_bit)
        if (ipu_of(stages, o->placements[i].unit) != o->placements[i].ipu)
            violated |= (uint64_t)1 << next_bit;
    return violated;
}

/* The bits of constraints that are not of IPUs. */
static uint64_t bits_of_chain(const question *q) {
    return ((uint64_t)1 << (MAX_UNITS_BIT + q->num_units)) - 1;
}

static uint64_t bits_of_pairs(const question *q) {
    return (((uint64_t)1 << q->options->num_pairs) - 1) << (MAX_UNITS_BIT + q->num_units);
}

static trial try_split(const question *q, uint32_t cut_set, popliner_plan_stage *stages) {
    trial t = {.cut_set = cut_set};
    t.num_stages = cut_into_stages(q, cut_set, stages);
    t.violated = find_violated(q, stages, t.num_stages);
    t.is_possible = are_stages_possible(q, stages, t.num_stages);
    if (t.is_possible)
        measure(q, stages, &t);
    return t;
}

/* ---- all splits ---- */

typedef struct trials {
    trial *all;
    size_t count;
    bool *is_in; /* [count]: those within limits and constraints; then of these the best ones */
    bool is_any_in;
} trials;

/* Possible, and within the constraints, if there may be so many stages (not looked at with a device
 * map). */
static bool is_allowed_with(const question *q, const trial *t, size_t max_stages) {
    uint64_t violated = t->violated;
    if (q->options->device_map == NULL) {
        violated &= ~((uint64_t)1 << NUM_STAGES_BIT);
        if (t->num_stages > max_stages)
            return false;
    }
    return t->is_possible && violated == 0;
}

static bool is_allowed(const question *q, const trial *t) {
    return is_allowed_with(q, t, q->options->num_ipus);
}

static bool is_within_memory(const question *q, const trial *t) {
    return t->is_within_ipu_limits && t->other_peak_bytes <= q->options->mem_per_tile;
}

/* Whether the cuts of a come before those of b: by the first that differs, or as the beginning of
 * the longer list. */
static bool is_earlier(uint32_t a, uint32_t b) {
    for (;;) {
        if (a == 0 || b == 0)
            return a == 0 && b != 0;
        uint32_t first_of_a = a & (~a + 1);
        uint32_t first_of_b = b & (~b + 1);
        if (first_of_a != first_of_b)
            return first_of_a < first_of_b;
        a ^= first_of_a;
        b ^= first_of_b;
    }
}

/* Of those that are still in, keeps the ones that leave most free memory, or so much less, and
 * returns the most. There must be one. */
static uint64_t keep_roomiest(const trials *all, bool *is_in, double slack_percent) {
    uint64_t best = 0;
    for (size_t i = 0; i < all->count; ++i)
        if (is_in[i] && all->all[i].values[POPLINER_OBJECTIVE_HEADROOM] > best)
            best = all->all[i].values[POPLINER_OBJECTIVE_HEADROOM];
    long double less = floorl((long double)best * (long double)slack_percent / 100.0L);
    uint64_t least = less >= (long double)best ? 0 : best - (uint64_t)less;
    for (size_t i = 0; i < all->count; ++i)
        is_in[i] = is_in[i] && all->all[i].values[POPLINER_OBJECTIVE_HEADROOM] >= least;
    return best;
}

/* Of those that are still in, keeps the ones with at most so much above the smallest value, which
 * it returns. There must be one. */
static uint64_t keep_smallest(const trials *all, bool *is_in, popliner_objective objective,
                              double slack_percent) {
    uint64_t best = UINT64_MAX;
    if (objective == POPLINER_OBJECTIVE_HEADROOM)
        return keep_roomiest(all, is_in, slack_percent);
    for (size_t i = 0; i < all->count; ++i)
        if (is_in[i] && all->all[i].values[objective] < best)
            best = all->all[i].values[objective];
    long double extra = floorl((long double)best * (long double)slack_percent / 100.0L);
    uint64_t most = extra >= (long double)(UINT64_MAX - best) ? UINT64_MAX : best + (uint64_t)extra;
    for (size_t i = 0; i < all->count; ++i)
        is_in[i] = is_in[i] && all->all[i].values[objective] <= most;
    return best;
}

/* Whether stages share an IPU. */
static bool is_shared(const popliner_solver_options *options) {
    for (size_t i = 0; options->device_map != NULL && i < options->num_mapped_stages; ++i)
        for (size_t k = 0; k < i; ++k)
            if (options->device_map[i] == options->device_map[k])
                return true;
    return false;
}

/* Makes the earliest of those that are in the answer's split. */
static void keep_earliest(const question *q, const trials *all, const bool *is_in,
                          brute_answer *answer) {
    brute_split *split = &answer->split;
    const trial *best = NULL;
    answer->has_ties = is_shared(q->options);
    for (size_t i = 0; i < all->count; ++i)
        if (is_in[i])
            answer->is_best[all->all[i].cut_set / 8] |= (uint8_t)(1u << all->all[i].cut_set % 8);
    for (size_t i = 0; i < all->count; ++i)
        if (is_in[i] && (best == NULL || is_earlier(all->all[i].cut_set, best->cut_set)))
            best = &all->all[i];
    trial again = try_split(q, best->cut_set, split->stages);
    split->exists = true;
    split->num_stages = again.num_stages;
    memcpy(split->values, again.values, sizeof split->values);
}

/* ---- why nothing fits ---- */

/* How many stages there can be. */
static size_t count_places(const question *q) {
    if (q->options->device_map != NULL)
        return q->options->num_mapped_stages;
    return q->options->num_ipus < q->num_units ? q->options->num_ipus : q->num_units;
}

/* The first unit whose smallest peak alone, wherever it may stand, is above every limit that it may
 * have there. It may stand where a split has it that is within the constraints, whatever its
 * memory. */
static bool find_unit_too_large(const question *q, const trials *all,
                                popliner_infeasibility *found) {
    uint64_t least_bytes[MOST_BRUTE_UNITS];
    uint64_t most_limit_bytes[MOST_BRUTE_UNITS] = {0};
    for (size_t unit = 0; unit < q->num_units; ++unit)
        least_bytes[unit] = UINT64_MAX;
    for (size_t i = 0; i < all->count; ++i) {
        popliner_plan_stage stages[MOST_BRUTE_UNITS];
        size_t num_stages = cut_into_stages(q, all->all[i].cut_set, stages);
        trial own = all->all[i];
        for (size_t k = 0; k < num_stages; ++k)
            if (!is_first_of_ipu(stages, k)) /* where stages share IPUs, pairs are not looked at */
                own.violated &= ~bits_of_pairs(q);
        if (!is_allowed(q, &own))
            continue;
        for (size_t k = 0; k < num_stages; ++k) {
            uint64_t limit_bytes;
            has_own_limit(q, stages[k].ipu, &limit_bytes);
            for (size_t unit = stages[k].first_unit; unit <= stages[k].last_unit; ++unit) {
                uint64_t bytes = popliner_costs_peak(q->costs, unit, unit, num_stages - k);
                if (bytes < least_bytes[unit])
                    least_bytes[unit] = bytes;
                if (limit_bytes > most_limit_bytes[unit])
                    most_limit_bytes[unit] = limit_bytes;
            }
        }
    }
    for (size_t unit = 0; unit < q->num_units; ++unit)
        /* what must not be a stage of its own has no size of its own */
        if (least_bytes[unit] != POPLINER_PEAK_FORBIDDEN &&
            least_bytes[unit] > most_limit_bytes[unit]) {
            found->unit = unit;
            found->unit_bytes = least_bytes[unit];
            found->limit_bytes = most_limit_bytes[unit];
            found->obstacle = POPLINER_OBSTACLE_UNIT;
            for (size_t k = 0; k < count_places(q); ++k) {
                size_t ipu = q->options->device_map != NULL ? q->options->device_map[k] : k;
                uint64_t limit_bytes;
                has_own_limit(q, ipu, &limit_bytes);
                if (found->obstacle == POPLINER_OBSTACLE_UNIT && limit_bytes >= least_bytes[unit]) {
                    found->obstacle = POPLINER_OBSTACLE_PLACE;
                    found->fitting_ipu = ipu;
                }
            }
            return true;
        }
    return false;
}

static size_t find_enough_stages(const question *q, const trials *all) {
    if (q->options->device_map != NULL)
        return 0;
    for (size_t max_stages = 1; max_stages <= q->num_units; ++max_stages)
        for (size_t i = 0; i < all->count; ++i)
            if (is_allowed_with(q, &all->all[i], max_stages) && is_within_memory(q, &all->all[i]))
                return max_stages;
    return 0;
}

static uint64_t find_enough_bytes(const question *q, const trials *all) {
    uint64_t least_bytes = UINT64_MAX;
    for (size_t i = 0; i < all->count; ++i) {
        const trial *t = &all->all[i];
        if (is_allowed(q, t) && t->is_within_ipu_limits && t->other_peak_bytes < least_bytes)
            least_bytes = t->other_peak_bytes;
    }
    return least_bytes == UINT64_MAX ? 0 : least_bytes;
}

static bool hits_all(uint64_t set, const uint64_t *masks, size_t num_masks) {
    for (size_t i = 0; i < num_masks; ++i)
        if ((set & masks[i]) == 0)
            return false;
    return true;
}

/* What the bits stand for. */
static void list_constraints(const question *q, brute_answer *answer) {
    const popliner_solver_options *o = q->options;
    popliner_constraint *next = answer->constraints;
    *next++ = o->device_map != NULL ? (popliner_constraint){.kind = POPLINER_CONSTRAINT_DEVICE_MAP,
                                                            .number = o->num_mapped_stages}
                                    : (popliner_constraint){.kind = POPLINER_CONSTRAINT_NUM_IPUS,
                                                            .number = o->num_ipus};
    *next++ = (popliner_constraint){.kind = POPLINER_CONSTRAINT_MIN_UNITS, .number = o->min_units};
    *next++ = (popliner_constraint){.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = o->max_units};
    for (size_t unit = 1; unit < q->num_units; ++unit)
        *next++ = (popliner_constraint){.kind = o->cut_rules != NULL &&
                                                        o->cut_rules[unit] == POPLINER_CUT_REQUIRED
                                                    ? POPLINER_CONSTRAINT_REQUIRED_CUT
                                                    : POPLINER_CONSTRAINT_FORBIDDEN_CUT,
                                        .unit = unit - 1};
    for (size_t i = 0; i < o->num_pairs; ++i)
        *next++ = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                        .unit = o->pairs[i].unit,
                                        .second_unit = o->pairs[i].second_unit};
    for (size_t i = 0; i < o->num_placements; ++i)
        *next++ = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PLACEMENT,
                                        .unit = o->placements[i].unit,
                                        .ipu = o->placements[i].ipu};
    answer->num_constraints = (size_t)(next - answer->constraints);
}

/* Sets of constraints of which each split violates one, without those that contain another. */
typedef struct violations {
    uint64_t *masks; /* owned */
    size_t count;
} violations;

static void add_violation(violations *v, uint64_t mask) {
    size_t kept = 0;
    for (size_t i = 0; i < v->count; ++i)
        if ((v->masks[i] & ~mask) == 0)
            return;
    for (size_t i = 0; i < v->count; ++i)
        if ((mask & ~v->masks[i]) != 0)
            v->masks[kept++] = v->masks[i];
    v->count = kept;
    v->masks = realloc(v->masks, (v->count + 1) * sizeof *v->masks);
    assert_non_null(v->masks);
    v->masks[v->count++] = mask;
}

/* Whether each stage may be one somewhere, for all that the costs know: of longer pipelines they
 * know as much as of their longest. */
static bool may_be_stages(const question *q, const popliner_plan_stage *stages, size_t num_stages) {
    size_t most = q->costs->max_stages_to_end;
    for (size_t k = 0; k < num_stages; ++k) {
        size_t to_end = most > 1 && num_stages - k > most ? most : num_stages - k;
        if (popliner_costs_peak(q->costs, stages[k].first_unit, stages[k].last_unit, to_end) ==
            POPLINER_PEAK_FORBIDDEN)
            return false;
    }
    return true;
}

/* What splits violate, as the costs are, and if they forbade nothing. */
typedef struct all_violations {
    violations with_costs;
    violations without_costs;
} all_violations;

static void find_violations(const question *q, const trials *all, all_violations *v) {
    bool is_mapped = q->options->device_map != NULL;
    for (size_t i = 0; i < all->count; ++i) {
        const trial *t = &all->all[i];
        popliner_plan_stage stages[MOST_BRUTE_UNITS];
        cut_into_stages(q, t->cut_set, stages);
        add_violation(&v->without_costs, t->violated);
        /* memory is not looked at, and so not what is unknown of it */
        if (is_mapped ? t->is_possible : may_be_stages(q, stages, t->num_stages))
            add_violation(&v->with_costs, t->violated);
        if (!is_mapped)
            continue;
        /* without its device map it may be anywhere: pairs and placements are then left out */
        const uint64_t violated = (t->violated & bits_of_chain(q)) | (uint64_t)1 << NUM_STAGES_BIT;
        add_violation(&v->without_costs, violated);
        if (may_be_stages(q, stages, t->num_stages))
            add_violation(&v->with_costs, violated);
    }
}

/* Constraints contradict each other if every split violates one of them. */
static void find_contradictions(const question *q, const trials *all, brute_answer *answer) {
    all_violations both = {0};
    uint64_t used = 0;
    uint64_t bits[MOST_BRUTE_CONSTRAINTS];
    size_t num_bits = 0;
    for (size_t i = 0; i < all->count; ++i) {
        popliner_plan_stage stages[MOST_BRUTE_UNITS];
        size_t num_stages = cut_into_stages(q, all->all[i].cut_set, stages);
        answer->has_split_without_constraints |= may_be_stages(q, stages, num_stages);
    }
    if (!answer->has_split_without_constraints)
        return;
    find_violations(q, all, &both);
    const violations v = both.with_costs;
    for (size_t i = 0; i < v.count; ++i)
        used |= v.masks[i];
    for (size_t b = 0; b < MOST_BRUTE_CONSTRAINTS; ++b)
        if ((used >> b & 1) != 0)
            bits[num_bits++] = (uint64_t)1 << b;
    for (uint32_t choice = 0; num_bits <= 12 && choice < 1u << num_bits; ++choice) {
        uint64_t set = 0;
        for (size_t b = 0; b < num_bits; ++b)
            set |= (choice >> b & 1) != 0 ? bits[b] : 0;
        bool is_minimal = hits_all(set, v.masks, v.count);
        for (size_t b = 0; b < num_bits && is_minimal; ++b)
            if ((choice >> b & 1) != 0 && hits_all(set ^ bits[b], v.masks, v.count))
                is_minimal = false;
        if (!is_minimal)
            continue;
        answer->needs_costs[answer->num_contradictions] =
            !hits_all(set, both.without_costs.masks, both.without_costs.count);
        answer->contradictions[answer->num_contradictions++] = set;
    }
    free(v.masks);
    free(both.without_costs.masks);
}

/* Of those that are still in, keeps the ones that are least above a limit. */
static void keep_least_above(const trials *all, bool *is_in) {
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < all->count; ++i)
        if (is_in[i] && all->all[i].above_bytes < least)
            least = all->all[i].above_bytes;
    for (size_t i = 0; i < all->count; ++i)
        is_in[i] = is_in[i] && all->all[i].above_bytes == least;
}

/* The best effort, and why it is not enough. */
static void explain(const question *q, const trials *all, bool *is_in, brute_answer *answer) {
    popliner_infeasibility *why = &answer->infeasibility;
    answer->status = POPLINER_PLAN_INFEASIBLE;
    bool is_any_in = false;
    for (size_t i = 0; i < all->count; ++i) {
        is_in[i] = is_allowed(q, &all->all[i]);
        is_any_in |= is_in[i];
    }
    if (!is_any_in) {
        why->obstacle = POPLINER_OBSTACLE_CONSTRAINTS;
        list_constraints(q, answer);
        find_contradictions(q, all, answer);
        why->enough_stages = find_enough_stages(q, all);
        return;
    }
    keep_least_above(all, is_in);
    keep_earliest(q, all, is_in, answer);
    if (!find_unit_too_large(q, all, why))
        why->obstacle = POPLINER_OBSTACLE_CAPACITY;
    why->enough_stages = find_enough_stages(q, all);
    why->enough_bytes = find_enough_bytes(q, all);
}

/* ---- the answer ---- */

static void list_objectives(const popliner_solver_options *options, brute_answer *answer) {
    static const popliner_objective usual[] = {POPLINER_OBJECTIVE_MEMORY,
                                               POPLINER_OBJECTIVE_TRAFFIC};
    bool has_list = options->num_objectives > 0;
    answer->num_objectives = has_list ? options->num_objectives : 2;
    for (size_t i = 0; i < answer->num_objectives; ++i)
        answer->objectives[i] = has_list ? options->objectives[i] : usual[i];
}

static bool has_cycles_before_balance(const brute_answer *answer) {
    bool has_cycles = false;
    for (size_t i = 0; i < answer->num_objectives; ++i) {
        if (answer->objectives[i] == POPLINER_OBJECTIVE_BALANCE)
            return has_cycles;
        has_cycles |= answer->objectives[i] == POPLINER_OBJECTIVE_CYCLES;
    }
    return false;
}

/* The question, and the objectives of its answers. */
static question ask(const popliner_costs *costs, const popliner_solver_options *options,
                    brute_answer *answer) {
    *answer = (brute_answer){.costs = costs, .options = *options};
    list_objectives(options, answer);
    const question q = {costs, options, popliner_costs_num_units(costs),
                        has_cycles_before_balance(answer)};
    assert_in_range(q.num_units, 1, MOST_BRUTE_UNITS);
    return q;
}

static trials try_all(const question *q) {
    trials all = {.count = (size_t)1 << (q->num_units - 1)};
    all.all = malloc(all.count * sizeof *all.all);
    all.is_in = malloc(all.count * sizeof *all.is_in);
    for (size_t i = 0; i < all.count; ++i) {
        popliner_plan_stage stages[MOST_BRUTE_UNITS];
        all.all[i] = try_split(q, (uint32_t)i, stages);
        all.is_in[i] = is_allowed(q, &all.all[i]) && is_within_memory(q, &all.all[i]);
        all.is_any_in |= all.is_in[i];
    }
    return all;
}

static void free_trials(trials *all) {
    free(all->is_in);
    free(all->all);
}

/* The best of those that are in. */
static void choose(const question *q, trials *all, brute_answer *answer) {
    answer->status = POPLINER_PLAN_OPTIMAL;
    for (size_t i = 0; i < answer->num_objectives; ++i) {
        /* the last one has none to make room for */
        bool is_last = i + 1 == answer->num_objectives;
        answer->bounds[i] = keep_smallest(all, all->is_in, answer->objectives[i],
                                          is_last ? 0.0 : q->options->slack_percent);
    }
    keep_earliest(q, all, all->is_in, answer);
}

brute_answer brute_force(const popliner_costs *costs, const popliner_solver_options *options) {
    brute_answer answer;
    const question q = ask(costs, options, &answer);
    trials all = try_all(&q);
    if (all.is_any_in)
        choose(&q, &all, &answer);
    else
        explain(&q, &all, all.is_in, &answer);
    free_trials(&all);
    return answer;
}

/* A value of which less is better. */
static uint64_t loss(const trial *t, popliner_objective objective) {
    return objective == POPLINER_OBJECTIVE_HEADROOM ? UINT64_MAX - t->values[objective]
                                                    : t->values[objective];
}

static bool dominates(const trial *a, const trial *b, const popliner_objective *two) {
    return loss(a, two[0]) <= loss(b, two[0]) && loss(a, two[1]) <= loss(b, two[1]) &&
           (loss(a, two[0]) < loss(b, two[0]) || loss(a, two[1]) < loss(b, two[1]));
}

/* Of those within limits and constraints, the one with the smallest first value above `above` that
 * none of them dominates; NULL if there is none. */
static const trial *next_point(const trials *all, const bool *is_within,
                               const popliner_objective *two, const trial *above) {
    const trial *next = NULL;
    for (size_t i = 0; i < all->count; ++i) {
        const trial *t = &all->all[i];
        bool is_dominated = !is_within[i];
        for (size_t other = 0; other < all->count; ++other)
            is_dominated |= is_within[other] && dominates(&all->all[other], t, two);
        if (!is_dominated && (above == NULL || loss(t, two[0]) > loss(above, two[0])) &&
            (next == NULL || loss(t, two[0]) < loss(next, two[0])))
            next = t;
    }
    return next;
}

size_t brute_pareto(const popliner_costs *costs, const popliner_solver_options *options,
                    brute_answer *points, size_t most) {
    brute_answer empty;
    const question q = ask(costs, options, &empty);
    trials all = try_all(&q);
    bool *is_within = malloc(all.count * sizeof *is_within);
    memcpy(is_within, all.is_in, all.count * sizeof *is_within);
    size_t count = 0;
    const trial *point = NULL;
    while ((point = next_point(&all, is_within, empty.objectives, point)) != NULL) {
        assert_true(count < most);
        for (size_t i = 0; i < all.count; ++i)
            all.is_in[i] =
                is_within[i] && !dominates(&all.all[i], point, empty.objectives) &&
                !dominates(point, &all.all[i], empty.objectives) &&
                all.all[i].values[empty.objectives[0]] == point->values[empty.objectives[0]];
        points[count] = empty;
        choose(&q, &all, &points[count++]);
    }
    free(is_within);
    free_trials(&all);
    return count;
}

/* ---- comparing ---- */

enum { DIFFERENCE_SIZE = 200 };

static bool is_same(const char *what, uint64_t actual, uint64_t expected, char *difference) {
    if (actual == expected)
        return true;
    snprintf(difference, DIFFERENCE_SIZE, "%s is %" PRIu64 ", not %" PRIu64, what, actual,
             expected);
    return false;
}

static bool is_same_stage(size_t k, const popliner_plan_stage *actual,
                          const popliner_plan_stage *expected, char *difference) {
    const struct {
        const char *name;
        uint64_t actual;
        uint64_t expected;
    } fields[] = {
        {"first_unit", actual->first_unit, expected->first_unit},
        {"last_unit", actual->last_unit, expected->last_unit},
        {"ipu", actual->ipu, expected->ipu},
        {"peak_bytes", actual->peak_bytes, expected->peak_bytes},
        {"cycles", actual->cycles, expected->cycles},
        {"cut_bytes", actual->cut_bytes, expected->cut_bytes},
        {"link_cycles", actual->link_cycles, expected->link_cycles},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        char what[60];
        snprintf(what, sizeof what, "stages[%zu].%s", k, fields[i].name);
        if (!is_same(what, fields[i].actual, fields[i].expected, difference))
            return false;
    }
    return true;
}

static bool are_values_same(const popliner_plan *plan, const brute_answer *expected,
                            char *difference) {
    if (!is_same("num_values", plan->num_values, expected->num_objectives, difference))
        return false;
    for (size_t i = 0; i < plan->num_values; ++i) {
        popliner_objective objective = expected->objectives[i];
        char what[60];
        snprintf(what, sizeof what, "values[%zu].objective", i);
        if (!is_same(what, plan->values[i].objective, objective, difference))
            return false;
        snprintf(what, sizeof what, "values[%zu].value", i);
        if (!is_same(what, plan->values[i].value, expected->split.values[objective], difference))
            return false;
        snprintf(what, sizeof what, "values[%zu].bound", i);
        if (!is_same(what, plan->values[i].bound, expected->bounds[i], difference))
            return false;
    }
    return true;
}

/* The bits of some constraints; of such as are given twice the first ones. 0 if one is none. */
static uint64_t bits_of(const brute_answer *expected, const popliner_constraint *constraints,
                        size_t count) {
    uint64_t set = 0;
    for (size_t i = 0; i < count; ++i) {
        const popliner_constraint *it = &constraints[i];
        size_t b = 0;
        for (; b < expected->num_constraints; ++b) {
            const popliner_constraint *known = &expected->constraints[b];
            if ((set >> b & 1) == 0 && it->kind == known->kind && it->number == known->number &&
                it->unit == known->unit && it->second_unit == known->second_unit &&
                it->ipu == known->ipu)
                break;
        }
        if (b == expected->num_constraints)
            return 0;
        set |= (uint64_t)1 << b;
    }
    return set;
}

/* Which contradiction is told is the solver's choice. */
static bool is_contradiction(const popliner_infeasibility *why, const brute_answer *expected,
                             char *difference) {
    if (expected->infeasibility.obstacle != POPLINER_OBSTACLE_CONSTRAINTS)
        return is_same("num_constraints", why->num_constraints, 0, difference);
    if (!expected->has_split_without_constraints)
        return is_same("num_constraints", why->num_constraints, 0, difference) &&
               is_same("needs_costs", why->needs_costs, true, difference);
    uint64_t set = bits_of(expected, why->constraints, why->num_constraints);
    snprintf(difference, DIFFERENCE_SIZE,
             "the %zu constraints (%#" PRIx64 ") do not contradict each other just so",
             why->num_constraints, set);
    bool is_known = false;
    for (size_t i = 0; i < expected->num_contradictions; ++i) {
        if (expected->contradictions[i] != set)
            continue;
        is_known = true;
        if (!is_same("needs_costs", why->needs_costs, expected->needs_costs[i], difference))
            return false;
    }
    return set != 0 && (expected->num_contradictions == 0 || is_known);
}

static bool is_reason_same(const popliner_infeasibility *why, const brute_answer *expected,
                           char *difference) {
    const popliner_infeasibility *right = &expected->infeasibility;
    if (!is_same("obstacle", why->obstacle, right->obstacle, difference) ||
        !is_same("enough_stages", why->enough_stages, right->enough_stages, difference) ||
        !is_same("enough_bytes", why->enough_bytes, right->enough_bytes, difference))
        return false;
    if ((right->obstacle == POPLINER_OBSTACLE_UNIT || right->obstacle == POPLINER_OBSTACLE_PLACE) &&
        (!is_same("unit", why->unit, right->unit, difference) ||
         !is_same("unit_bytes", why->unit_bytes, right->unit_bytes, difference) ||
         !is_same("limit_bytes", why->limit_bytes, right->limit_bytes, difference) ||
         !is_same("fitting_ipu", why->fitting_ipu, right->fitting_ipu, difference)))
        return false;
    return is_contradiction(why, expected, difference);
}

/* Makes the plan's split the expected one, if it is one of the best. */
static bool take_tie(const popliner_plan *plan, brute_answer *expected, char *difference) {
    const question q = {expected->costs, &expected->options,
                        popliner_costs_num_units(expected->costs),
                        has_cycles_before_balance(expected)};
    uint32_t cut_set = 0;
    for (size_t k = 1; k < plan->num_stages; ++k)
        cut_set |= (uint32_t)1 << (plan->stages[k].first_unit - 1);
    snprintf(difference, DIFFERENCE_SIZE, "the cuts %#" PRIx32 " are not among the best", cut_set);
    if ((expected->is_best[cut_set / 8] >> cut_set % 8 & 1) == 0)
        return false;
    trial again = try_split(&q, cut_set, expected->split.stages);
    expected->split.num_stages = again.num_stages;
    memcpy(expected->split.values, again.values, sizeof expected->split.values);
    return true;
}

static bool is_answer(const popliner_plan *plan, const brute_answer *expected, char *difference) {
    const brute_split *split = &expected->split;
    if (!is_same("status", plan->status, expected->status, difference) ||
        !is_same("is_stopped", plan->is_stopped, false, difference) ||
        !is_same("num_stages", plan->num_stages, split->num_stages, difference))
        return false;
    for (size_t k = 0; k < split->num_stages; ++k)
        if (!is_same_stage(k, &plan->stages[k], &split->stages[k], difference))
            return false;
    if (!is_same("peak_bytes", plan->peak_bytes, split->values[POPLINER_OBJECTIVE_MEMORY],
                 difference) ||
        !is_same("cycles", plan->cycles, split->values[POPLINER_OBJECTIVE_CYCLES], difference) ||
        !is_same("cut_bytes", plan->cut_bytes, split->values[POPLINER_OBJECTIVE_TRAFFIC],
                 difference) ||
        !is_same("num_ipus", plan->num_ipus, split->values[POPLINER_OBJECTIVE_IPUS], difference) ||
        !is_same("spread", plan->spread, split->values[POPLINER_OBJECTIVE_BALANCE], difference))
        return false;
    /* without any split there is nothing that the values could be of */
    if (split->exists && !are_values_same(plan, expected, difference))
        return false;
    return is_reason_same(&plan->infeasibility, expected, difference);
}

bool plan_is(const popliner_plan *plan, const brute_answer *expected, char *difference) {
    if (!expected->has_ties || !expected->split.exists || plan->num_stages == 0)
        return is_answer(plan, expected, difference);
    brute_answer own = *expected;
    return take_tie(plan, &own, difference) && is_answer(plan, &own, difference);
}

void assert_plan_is(const popliner_plan *plan, const brute_answer *expected) {
    char difference[DIFFERENCE_SIZE];
    if (!plan_is(plan, expected, difference))
        fail_msg("%s", difference);
}
