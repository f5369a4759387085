/* What is said to be enough when nothing fits, against brute force: each remedy is one, one byte or
 * unit less is none, and what is no remedy would not be one.
 *
 * A failure prints its instance and the two numbers that make it: "popliner_tests remedies KIND
 * SEED" looks at that one again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "test_data.h"

#include "costs/costs.h"
#include "popliner/solver.h"
#include "solve/infeasibility.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_LIMIT (POPLINER_PEAK_FORBIDDEN - 1)

/* Options with lists of their own. Must stay where they are. */
typedef struct changed {
    popliner_solver_options options;
    popliner_ipu_value ipu_limits[MOST_RANDOM_ENTRIES + 1];
    popliner_cut_rule cut_rules[MOST_RANDOM_UNITS];
    popliner_constraint pairs[MOST_RANDOM_ENTRIES];
    popliner_constraint placements[MOST_RANDOM_ENTRIES];
} changed;

static void copy_options(const popliner_solver_options *options, size_t num_units, changed *c) {
    c->options = *options;
    if (options->num_ipu_limits > 0)
        memcpy(c->ipu_limits, options->ipu_limits, options->num_ipu_limits * sizeof *c->ipu_limits);
    c->options.ipu_limits = c->ipu_limits;
    if (options->cut_rules != NULL) {
        memcpy(c->cut_rules, options->cut_rules, num_units * sizeof *c->cut_rules);
        c->options.cut_rules = c->cut_rules;
    }
    if (options->num_pairs > 0)
        memcpy(c->pairs, options->pairs, options->num_pairs * sizeof *c->pairs);
    c->options.pairs = c->pairs;
    if (options->num_placements > 0)
        memcpy(c->placements, options->placements, options->num_placements * sizeof *c->placements);
    c->options.placements = c->placements;
}

static bool fits(const popliner_costs *costs, const popliner_solver_options *options) {
    return brute_force(costs, options).status == POPLINER_PLAN_OPTIMAL;
}

/* ---- limits ---- */

static bool fits_with_limit(const popliner_costs *costs, const popliner_solver_options *options,
                            size_t ipu, uint64_t bytes) {
    changed c;
    size_t i = 0;
    copy_options(options, popliner_costs_num_units(costs), &c);
    while (i < options->num_ipu_limits && c.ipu_limits[i].ipu != ipu)
        ++i;
    c.ipu_limits[i] = (popliner_ipu_value){ipu, bytes};
    c.options.num_ipu_limits += i == options->num_ipu_limits;
    return fits(costs, &c.options);
}

static uint64_t raised(uint64_t limit, uint64_t bytes) {
    return limit < NO_LIMIT - bytes ? limit + bytes : NO_LIMIT;
}

static bool fits_with_more(const popliner_costs *costs, const popliner_solver_options *options,
                           uint64_t bytes) {
    changed c;
    copy_options(options, popliner_costs_num_units(costs), &c);
    c.options.mem_per_tile = raised(options->mem_per_tile, bytes);
    for (size_t i = 0; i < options->num_ipu_limits; ++i)
        c.ipu_limits[i].value = raised(options->ipu_limits[i].value, bytes);
    return fits(costs, &c.options);
}

static const popliner_remedy *find_remedy(const popliner_infeasibility *why,
                                          popliner_remedy_kind kind, size_t ipu) {
    for (size_t i = 0; i < why->num_remedies; ++i)
        if (why->remedies[i].kind == kind && why->remedies[i].ipu == ipu)
            return &why->remedies[i];
    return NULL;
}

static size_t num_of_kind(const popliner_infeasibility *why, popliner_remedy_kind kind) {
    size_t count = 0;
    for (size_t i = 0; i < why->num_remedies; ++i)
        count += why->remedies[i].kind == kind;
    return count;
}

static void check_limits(const popliner_costs *costs, const popliner_solver_options *o,
                         const popliner_infeasibility *why) {
    size_t n = popliner_costs_num_units(costs);
    size_t count = o->device_map != NULL ? o->num_mapped_stages : o->num_ipus < n ? o->num_ipus : n;
    size_t num_found = 0;
    if (o->num_ipu_limits == 0 || why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS) {
        assert_int_equal(num_of_kind(why, POPLINER_REMEDY_IPU_LIMIT), 0);
        assert_int_equal(num_of_kind(why, POPLINER_REMEDY_EVERY_LIMIT), 0);
        return;
    }
    for (size_t k = 0; k < count; ++k) {
        size_t ipu = o->device_map != NULL ? o->device_map[k] : k;
        bool is_new = true;
        for (size_t i = 0; o->device_map != NULL && i < k; ++i)
            is_new = is_new && o->device_map[i] != ipu;
        if (!is_new)
            continue;
        const popliner_remedy *r = find_remedy(why, POPLINER_REMEDY_IPU_LIMIT, ipu);
        if (r == NULL) {
            assert_false(fits_with_limit(costs, o, ipu, NO_LIMIT));
            continue;
        }
        ++num_found;
        assert_true(fits_with_limit(costs, o, ipu, r->bytes));
        assert_false(fits_with_limit(costs, o, ipu, r->bytes - 1));
    }
    assert_int_equal(num_of_kind(why, POPLINER_REMEDY_IPU_LIMIT), num_found);
    const popliner_remedy *all = find_remedy(why, POPLINER_REMEDY_EVERY_LIMIT, 0);
    assert_non_null(all); /* there is a best effort */
    assert_true(fits_with_more(costs, o, all->bytes));
    assert_false(fits_with_more(costs, o, all->bytes - 1));
}

/* ---- constraints ---- */

static bool is_same(const popliner_constraint *a, const popliner_constraint *b) {
    return a->kind == b->kind && a->number == b->number && a->unit == b->unit &&
           a->second_unit == b->second_unit && a->ipu == b->ipu;
}

static const popliner_remedy *find_same(const popliner_infeasibility *why,
                                        popliner_remedy_kind kind, const popliner_constraint *it) {
    const popliner_remedy *found = NULL;
    for (size_t i = 0; i < why->num_remedies; ++i)
        if (why->remedies[i].kind == kind && is_same(&why->remedies[i].constraint, it))
            found = &why->remedies[i];
    return found;
}

/* Those that may be left out. */
static size_t list_constraints(const popliner_solver_options *o, size_t num_units,
                               popliner_constraint *list) {
    size_t count = 0;
    if (o->min_units > 0)
        list[count++] =
            (popliner_constraint){.kind = POPLINER_CONSTRAINT_MIN_UNITS, .number = o->min_units};
    if (o->max_units > 0)
        list[count++] =
            (popliner_constraint){.kind = POPLINER_CONSTRAINT_MAX_UNITS, .number = o->max_units};
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; ++unit)
        if (o->cut_rules[unit] != POPLINER_CUT_FREE)
            list[count++] =
                (popliner_constraint){.kind = o->cut_rules[unit] == POPLINER_CUT_REQUIRED
                                                  ? POPLINER_CONSTRAINT_REQUIRED_CUT
                                                  : POPLINER_CONSTRAINT_FORBIDDEN_CUT,
                                      .unit = unit - 1};
    for (size_t i = 0; i < o->num_pairs; ++i)
        list[count++] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PAIR,
                                              .unit = o->pairs[i].unit,
                                              .second_unit = o->pairs[i].second_unit};
    for (size_t i = 0; i < o->num_placements; ++i)
        list[count++] = (popliner_constraint){.kind = POPLINER_CONSTRAINT_PLACEMENT,
                                              .unit = o->placements[i].unit,
                                              .ipu = o->placements[i].ipu};
    return count;
}

/* All but the listed constraints that are marked; numbers of units become `number` instead. */
static bool fits_without(const popliner_costs *costs, const popliner_solver_options *o,
                         const popliner_constraint *list, size_t count, uint64_t marks,
                         size_t number) {
    changed c;
    copy_options(o, popliner_costs_num_units(costs), &c);
    c.options.num_pairs = 0;
    c.options.num_placements = 0;
    for (size_t i = 0; i < count; ++i) {
        bool is_out = (marks >> i & 1) != 0;
        const popliner_constraint *it = &list[i];
        if (it->kind == POPLINER_CONSTRAINT_PAIR && !is_out)
            c.pairs[c.options.num_pairs++] = (popliner_constraint){
                .kind = POPLINER_CONSTRAINT_PAIR, .unit = it->unit, .second_unit = it->second_unit};
        if (it->kind == POPLINER_CONSTRAINT_PLACEMENT && !is_out)
            c.placements[c.options.num_placements++] = (popliner_constraint){
                .kind = POPLINER_CONSTRAINT_PLACEMENT, .unit = it->unit, .ipu = it->ipu};
        if (it->kind == POPLINER_CONSTRAINT_MIN_UNITS && is_out)
            c.options.min_units = number;
        if (it->kind == POPLINER_CONSTRAINT_MAX_UNITS && is_out)
            c.options.max_units = number;
        if ((it->kind == POPLINER_CONSTRAINT_REQUIRED_CUT ||
             it->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT) &&
            is_out)
            c.cut_rules[it->unit + 1] = POPLINER_CUT_FREE;
    }
    return fits(costs, &c.options);
}

/* The same, by the library, which says USAGE for a constraint that is not there. */
static void check_solve_without(const popliner_costs *costs, const popliner_solver_options *o,
                                const popliner_constraint *it, bool is_enough) {
    popliner_constraint other = *it;
    popliner_solver_options options = *o;
    popliner_plan *plan = NULL;
    options.without_reasons = true;
    options.left_out = it;
    assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status != POPLINER_PLAN_INFEASIBLE, is_enough);
    popliner_plan_free(plan);
    options.left_out = &other;
    other.unit += MOST_RANDOM_UNITS;
    assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_ERROR_USAGE);
}

/* One that was relaxed: to the next number it is not enough. */
static void check_number(const popliner_costs *costs, const popliner_solver_options *o,
                         const popliner_constraint *it, size_t number) {
    changed c;
    copy_options(o, popliner_costs_num_units(costs), &c);
    bool is_min = it->kind == POPLINER_CONSTRAINT_MIN_UNITS;
    size_t *own = is_min ? &c.options.min_units : &c.options.max_units;
    assert_true(is_min ? number < it->number : number > it->number);
    *own = number;
    assert_true(fits(costs, &c.options));
    *own = is_min ? number + 1 : number - 1;
    assert_false(fits(costs, &c.options));
}

static void check_left_out(const popliner_costs *costs, const popliner_solver_options *o,
                           const popliner_constraint *list, size_t count,
                           const popliner_infeasibility *why) {
    uint64_t marks = 0;
    for (size_t k = 0; k < why->num_left_out; ++k) {
        size_t i = 0;
        while (i < count && ((marks >> i & 1) != 0 || !is_same(&list[i], &why->left_out[k])))
            ++i;
        assert_true(i < count);
        marks |= (uint64_t)1 << i;
    }
    assert_true(fits_without(costs, o, list, count, marks, 0));
    for (size_t i = 0; i < count; ++i)
        if ((marks >> i & 1) != 0)
            assert_false(fits_without(costs, o, list, count, marks ^ (uint64_t)1 << i, 0));
}

static void check_constraints(const popliner_costs *costs, const popliner_solver_options *o,
                              const popliner_infeasibility *why) {
    popliner_constraint list[MOST_BRUTE_CONSTRAINTS];
    size_t count = list_constraints(o, popliner_costs_num_units(costs), list);
    size_t num_found = 0;
    for (size_t i = 0; i < count; ++i) {
        const popliner_remedy *found = find_same(why, POPLINER_REMEDY_CONSTRAINT, &list[i]);
        const bool is_enough = fits_without(costs, o, list, count, (uint64_t)1 << i, 0);
        assert_int_equal(found != NULL, is_enough);
        check_solve_without(costs, o, &list[i], is_enough);
        num_found += found != NULL;
        if (found != NULL && (list[i].kind == POPLINER_CONSTRAINT_MIN_UNITS ||
                              list[i].kind == POPLINER_CONSTRAINT_MAX_UNITS))
            check_number(costs, o, &list[i], found->number);
        else if (found != NULL)
            assert_int_equal(found->number, 0);
    }
    assert_int_equal(num_of_kind(why, POPLINER_REMEDY_CONSTRAINT), num_found);
    bool is_needed = num_found == 0 && count > 1 &&
                     fits_without(costs, o, list, count, ((uint64_t)1 << count) - 1, 0);
    assert_int_equal(why->num_left_out > 1, is_needed);
    assert_int_equal(why->num_left_out > 0, is_needed);
    if (is_needed)
        check_left_out(costs, o, list, count, why);
}

/* ---- the device map ---- */

static bool fits_on_stages(const popliner_costs *costs, const popliner_solver_options *o,
                           size_t num_stages) {
    popliner_solver_options options = *o;
    options.device_map = NULL;
    options.num_mapped_stages = 0;
    options.num_ipus = num_stages;
    return num_stages > 0 && fits(costs, &options);
}

static void check_map(const popliner_costs *costs, const popliner_solver_options *o,
                      const popliner_infeasibility *why) {
    const popliner_remedy *r = find_remedy(why, POPLINER_REMEDY_WITHOUT_MAP, 0);
    size_t most = costs->max_stages_to_end;
    if (most == 1 || most > popliner_costs_num_units(costs))
        most = popliner_costs_num_units(costs);
    if (o->device_map == NULL) {
        assert_null(r);
    } else if (r == NULL) {
        assert_false(fits_on_stages(costs, o, most));
    } else {
        assert_true(fits_on_stages(costs, o, r->number));
        assert_false(fits_on_stages(costs, o, r->number - 1));
    }
}

/* ---- the number of stages ---- */

static void check_stages(const popliner_costs *costs, const popliner_solver_options *o,
                         const popliner_infeasibility *why) {
    size_t most = costs->max_stages_to_end;
    if (most == 1 || most > popliner_costs_num_units(costs))
        most = popliner_costs_num_units(costs);
    if (o->device_map != NULL) {
        assert_int_equal(why->enough_stages, 0);
    } else if (why->enough_stages == 0) {
        assert_false(fits_on_stages(costs, o, most));
    } else {
        assert_true(fits_on_stages(costs, o, why->enough_stages));
        assert_false(fits_on_stages(costs, o, why->enough_stages - 1));
    }
}

/* ---- at random ---- */

typedef struct kind {
    const char *name;
    instance_wish wish;
    size_t num_instances;
    size_t least_remedies; /* of 100 instances so many have some */
} kind;

static void check_plan(const instance *in, const popliner_plan *plan) {
    const popliner_infeasibility *why = &plan->infeasibility;
    assert_true(why->has_all_remedies);
    assert_int_equal(why->enough_bytes_bound, why->enough_bytes);
    check_stages(in->costs, &in->options, why);
    check_limits(in->costs, &in->options, why);
    check_constraints(in->costs, &in->options, why);
    check_map(in->costs, &in->options, why);
}

/* Whether nothing fits, though costs do not forbid every split; *has_remedies: some were found. */
static bool check_instance(const kind *k, uint64_t seed, bool is_told, bool *has_remedies) {
    instance in;
    popliner_plan plan = {0};
    popliner_error error;
    draw_instance(&k->wish, seed, &in);
    if (is_told)
        print_instance(&in);
    if (pl_solve(in.costs, &in.options, &plan, &error) != POPLINER_OK)
        fail_msg("%s %" PRIu64 ": %s", k->name, seed, error.message);
    bool is_one = plan.status == POPLINER_PLAN_INFEASIBLE &&
                  (plan.num_stages > 0 || plan.infeasibility.num_constraints > 0);
    *has_remedies = plan.infeasibility.num_remedies > 0 || plan.infeasibility.num_left_out > 0;
    if (is_one)
        check_plan(&in, &plan);
    else
        assert_false(*has_remedies);
    /* others are kinds of their own */
    bool counts = is_one && (plan.num_stages > 0 || (k->wish.always & CONTRADICTING) != 0);
    pl_plan_clear(&plan);
    free_instance(&in);
    *has_remedies = *has_remedies && counts;
    return counts;
}

/* The assertions know no instance: its seed is told when one fails. */
static uint64_t current_seed;

static int tell_seed(void **state) {
    const kind *k = *state;
    if (current_seed != UINT64_MAX)
        print_error("remedies_test %s %" PRIu64 "\n", k->name, current_seed);
    return 0;
}

static void check_kind(void **state) {
    const kind *k = *state;
    size_t num_found = 0;
    size_t num_with = 0;
    for (uint64_t seed = 0; seed < k->num_instances; ++seed) {
        bool has_remedies = false;
        if (!test_takes_case(seed, k->num_instances / 50))
            continue;
        current_seed = seed;
        num_found += check_instance(k, seed, false, &has_remedies);
        num_with += has_remedies;
    }
    current_seed = UINT64_MAX;
    assert_met(num_found > 0 && 100 * num_with >= k->least_remedies * num_found);
}

static kind kinds[] = {
    {"limits_of_ipus", {MEMORY_LIMIT | TIGHT | IPU_LIMITS, PIPELINE, 0, 1}, 400, 90},
    {"limits_and_constraints",
     {MEMORY_LIMIT | TIGHT, CONSTRAINTS | IPU_LIMITS | PIPELINE, 0, 1},
     800,
     20},
    {"loose_limits_and_constraints", {MEMORY_LIMIT, CONSTRAINTS | IPU_LIMITS, 0, 1}, 800, 40},
    {"unordered_costs",
     {MEMORY_LIMIT | TIGHT | IPU_LIMITS | UNORDERED, CONSTRAINTS | PIPELINE | DEVICE_MAP, 0, 1},
     600,
     50},
    {"maps",
     {MEMORY_LIMIT | TIGHT | DEVICE_MAP, CONSTRAINTS | IPU_LIMITS | PIPELINE, 0, 1},
     600,
     50},
    {"contradictions",
     {CONTRADICTING, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP | UNORDERED, 0,
      1},
     2000,
     30},
    {"shared_contradictions",
     {CONTRADICTING | SHARED_IPUS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE, 0, 1},
     800,
     30},
    {"shared_maps",
     {MEMORY_LIMIT | TIGHT | SHARED_IPUS, CONSTRAINTS | IPU_LIMITS | PIPELINE, 0, 1},
     600,
     50},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

/* Prints the instance, right or wrong. */
static int replay(const kind *k, uint64_t seed) {
    bool has_remedies;
    check_instance(k, seed, true, &has_remedies);
    return EXIT_SUCCESS;
}

/* ---- by hand ---- */

/* IPU 0 is too small for the first unit, which is always there; IPU 1 would hold it. */
static void tells_of_another_ipu_that_would_do(void **state) {
    (void)state;
    static const popliner_ipu_value limit = {0, 15};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_costs *costs;
    popliner_plan plan = {0};
    const popliner_infeasibility *why = &plan.infeasibility;
    assert_int_equal(popliner_costs_create(2, 1, &costs, NULL), POPLINER_OK);
    popliner_costs_set_peak(costs, 0, 0, 1, 18, NULL);
    popliner_costs_set_peak(costs, 1, 1, 1, 5, NULL);
    popliner_costs_set_peak(costs, 0, 1, 1, 23, NULL);
    options.num_ipus = 2;
    options.mem_per_tile = 20;
    options.ipu_limits = &limit;
    options.num_ipu_limits = 1;
    assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
    assert_int_equal(why->obstacle, POPLINER_OBSTACLE_PLACE);
    assert_int_equal(why->unit, 0);
    assert_int_equal(why->unit_bytes, 18);
    assert_int_equal(why->limit_bytes, 15);
    assert_int_equal(why->fitting_ipu, 1);
    assert_int_equal(why->enough_bytes, 0);
    assert_int_equal(why->enough_stages, 0);
    assert_int_equal(why->num_remedies, 2);
    assert_int_equal(why->remedies[0].kind, POPLINER_REMEDY_IPU_LIMIT);
    assert_int_equal(why->remedies[0].ipu, 0);
    assert_int_equal(why->remedies[0].bytes, 18);
    assert_int_equal(why->remedies[1].kind, POPLINER_REMEDY_EVERY_LIMIT);
    assert_int_equal(why->remedies[1].bytes, 3);
    pl_plan_clear(&plan);
    popliner_costs_free(costs);
}

/* With 17 IPUs and 65 constraints not all is looked at, and that is told. */
static void tells_what_it_did_not_look_for(void **state) {
    (void)state;
    enum { CHAIN_UNITS = 68 };
    popliner_cut_rule rules[CHAIN_UNITS];
    static const popliner_ipu_value limit = {0, 1};
    popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(CHAIN_UNITS, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < CHAIN_UNITS; ++i) {
        rules[i] = POPLINER_CUT_FORBIDDEN;
        for (size_t j = i; j < CHAIN_UNITS; ++j)
            popliner_costs_set_peak(costs, i, j, 1, j - i + 1, NULL);
    }
    options.mem_per_tile = CHAIN_UNITS - 1;
    for (size_t turn = 0; turn < 4; ++turn) {
        popliner_plan plan = {0};
        options.num_ipus = turn == 0 ? 17 : 16;
        options.ipu_limits = turn < 2 ? &limit : NULL;
        options.num_ipu_limits = turn < 2;
        options.cut_rules = turn < 2 ? NULL : rules;
        rules[1] = rules[2] = rules[3] = turn < 3 ? POPLINER_CUT_FORBIDDEN : POPLINER_CUT_FREE;
        options.mem_per_tile = turn < 2 ? 3 : CHAIN_UNITS - 5;
        assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_int_equal(plan.status, POPLINER_PLAN_INFEASIBLE);
        assert_int_equal(plan.infeasibility.has_all_remedies, turn % 2 == 1);
        pl_plan_clear(&plan);
    }
    popliner_costs_free(costs);
}

/* ---- time ---- */

enum { HARD_UNITS = 100 };

/* What a unit needs by itself, and while it runs. */
static uint64_t hard_bytes[2][HARD_UNITS];

static popliner_status hard_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                 uint64_t *peak_bytes, popliner_error *error) {
    uint64_t most = 0;
    (void)user;
    (void)error;
    *peak_bytes = 0;
    for (size_t k = 0; k < num_stages; ++k)
        for (size_t unit = stages[k].first_unit; unit <= stages[k].last_unit; ++unit) {
            *peak_bytes += hard_bytes[0][unit];
            most = hard_bytes[1][unit] > most ? hard_bytes[1][unit] : most;
        }
    *peak_bytes += most;
    return POPLINER_OK;
}

/* Where stages share IPUs the best effort may take hours to find: after its time the best that is
 * known is told, with what is needed at least; and nobody is said to have stopped. */
static void does_not_take_any_time(void **state) {
    (void)state;
    static const size_t map[] = {0, 1, 2, 3, 0, 1, 2, 3};
    static const popliner_ipu_value limit = {0, 2000};
    const pl_stop stop = {.deadline_seconds = INFINITY};
    popliner_costs *costs;
    uint64_t random = 7;
    assert_int_equal(popliner_costs_create(HARD_UNITS, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < 2 * HARD_UNITS; ++i) {
        random = test_random(random);
        hard_bytes[i / HARD_UNITS][i % HARD_UNITS] = (random >> 24) % 1000000;
    }
    for (size_t i = 0; i < HARD_UNITS; ++i)
        for (size_t j = i; j < HARD_UNITS; ++j) {
            const popliner_interval stage = {i, j, 1};
            uint64_t bytes = 0;
            hard_peak(NULL, &stage, 1, &bytes, NULL);
            popliner_costs_set_peak(costs, i, j, 1, bytes, NULL);
        }
    popliner_costs_set_shared_peak(costs, hard_peak, NULL, true);
    for (size_t turn = 0; turn < 2; ++turn) {
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_plan plan = {0};
        pl_problem problem = {0};
        const popliner_infeasibility *why = &plan.infeasibility;
        options.device_map = map;
        options.num_mapped_stages = sizeof map / sizeof *map;
        options.mem_per_tile = 1000000;
        options.ipu_limits = &limit;
        options.num_ipu_limits = turn;
        assert_int_equal(pl_problem_create(&problem, costs, &options, NULL), POPLINER_OK);
        assert_int_equal(pl_explain_infeasibility(&problem, &stop, &plan, NULL), POPLINER_OK);
        assert_false(plan.is_stopped);
        assert_int_equal(plan.num_stages, options.num_mapped_stages);
        assert_int_equal(why->has_all_remedies, turn == 0);
        assert_true(turn == 1 || why->enough_bytes == plan.peak_bytes);
        assert_true(turn == 1 || why->enough_bytes_bound > options.mem_per_tile);
        assert_true(why->enough_bytes_bound <= why->enough_bytes);
        pl_plan_clear(&plan);
        pl_problem_free(&problem);
    }
    popliner_costs_free(costs);
}

int main(void) {
    uint64_t seed;
    enum { NUM_OTHERS = 3 };
    struct CMUnitTest tests[NUM_KINDS + NUM_OTHERS] = {
        cmocka_unit_test(tells_of_another_ipu_that_would_do),
        cmocka_unit_test(tells_what_it_did_not_look_for),
        cmocka_unit_test(does_not_take_any_time),
    };
    for (size_t i = 0; i < NUM_KINDS; ++i) {
        tests[NUM_OTHERS + i] =
            (struct CMUnitTest){kinds[i].name, check_kind, NULL, tell_seed, &kinds[i]};
        if (test_replays(kinds[i].name, &seed))
            return replay(&kinds[i], seed);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
