/* Stages that share IPUs, with more than a million splits, so that they are not listed: against
 * every split, for every order of objectives that includes balance.
 *
 * The splits are gone through once for each objective, each time within the best for those before
 * it. Costs are added up here, from what the units have; the solver reads a table and a callback.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"
#include "test_data.h"

#include "costs/costs.h"
#include "popliner/solver.h"
#include "solve/plan.h"

#include <inttypes.h>
#include <string.h>

enum {
    NUM_STAGES = 6,
    MOST_UNITS = 48,
    NUM_TYPES = 5,
    MOST_OBJECTIVES = POPLINER_OBJECTIVE_HEADROOM
};
/* The quick run has two chains, and an order of each. */
enum { NUM_INSTANCES = 64, QUICK_EVERY = 63, QUICK_ORDERS = 1 };

typedef struct chain {
    uint64_t random;
    size_t num_units;
    uint64_t own_bytes[MOST_UNITS]; /* these add up */
    unsigned types[MOST_UNITS];     /* of code, of which an IPU has each once */
    uint64_t code_bytes[NUM_TYPES];
    uint64_t cycles[MOST_UNITS];
    uint64_t cut_bytes[MOST_UNITS]; /* by the unit after the cut */
    uint64_t link_bytes;            /* in a cycle of a link; 0: cuts take none */
    const size_t *device_map;
    size_t num_ipus;
    popliner_costs *costs;
} chain;

static const size_t maps[][NUM_STAGES] = {
    {0, 1, 2, 0, 1, 2}, {0, 1, 2, 2, 1, 0}, {0, 1, 2, 1, 2, 3}, {0, 1, 2, 3, 1, 0}};

static uint64_t below(chain *c, uint64_t limit) {
    c->random = test_random(c->random);
    return (c->random >> 24) % limit;
}

static uint64_t code_of(const chain *c, unsigned types) {
    uint64_t bytes = 0;
    for (size_t t = 0; t < NUM_TYPES; ++t)
        bytes += (types >> t & 1) * c->code_bytes[t];
    return bytes;
}

/* ---- what the solver is given ---- */

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const chain *c = user;
    unsigned types = 0;
    (void)error;
    *peak_bytes = 0;
    for (size_t i = 0; i < num_stages; ++i)
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; ++unit) {
            *peak_bytes += c->own_bytes[unit];
            types |= c->types[unit];
        }
    *peak_bytes += code_of(c, types);
    return POPLINER_OK;
}

static void fill_costs(chain *c) {
    assert_int_equal(popliner_costs_create(c->num_units, 1, &c->costs, NULL), POPLINER_OK);
    for (size_t first = 0; first < c->num_units; ++first) {
        uint64_t cycles = 0;
        if (first > 0)
            popliner_costs_set_cut(c->costs, first, c->cut_bytes[first], NULL);
        for (size_t last = first; last < c->num_units; ++last) {
            const popliner_interval it = {first, last, 1};
            uint64_t peak_bytes;
            cycles += c->cycles[last];
            shared_peak(c, &it, 1, &peak_bytes, NULL);
            popliner_costs_set_peak(c->costs, first, last, 1, peak_bytes, NULL);
            popliner_costs_set_cycles(c->costs, first, last, cycles, NULL);
        }
    }
    popliner_costs_set_shared_peak(c->costs, shared_peak, c, true);
    c->costs->shared_peak_is_quick = true;
}

/* Half of the chains have nearly equal layers. Must stay where it is. */
static void draw(chain *c, uint64_t seed) {
    bool is_even = seed % 2 == 1;
    *c = (chain){.random = seed,
                 .num_units = is_even ? 48 : 46 + seed / 2 % 3,
                 .device_map = maps[seed / 2 % (sizeof maps / sizeof *maps)],
                 .link_bytes = seed / 3 % 3};
    for (size_t t = 0; t < NUM_TYPES; ++t)
        c->code_bytes[t] = below(c, 30);
    for (size_t unit = 0; unit < c->num_units; ++unit) {
        c->own_bytes[unit] = is_even ? 100 + below(c, 3) : below(c, 12);
        c->types[unit] = is_even ? 1 : (unsigned)(below(c, 1 << NUM_TYPES) & below(c, 1 << 5));
        c->cycles[unit] = is_even ? 50 + below(c, 3) : below(c, 12);
        c->cut_bytes[unit] = below(c, 9);
    }
    for (size_t stage = 0; stage < NUM_STAGES; ++stage)
        if (c->device_map[stage] >= c->num_ipus)
            c->num_ipus = c->device_map[stage] + 1;
    fill_costs(c);
}

/* ---- every split ---- */

typedef struct load {
    uint64_t own_bytes;
    uint64_t cycles;
    unsigned types;
} load;

typedef struct walk {
    const chain *c;
    bool spread_is_of_cycles;
    uint64_t max[MOST_OBJECTIVES]; /* by objective: what a split may have */
    popliner_objective objective;  /* that is made as small as possible */
    uint64_t code_bytes[1 << NUM_TYPES];
    load to_end[MOST_UNITS + 1]; /* by unit: of this one and all after it */
    size_t first_units[NUM_STAGES];
    size_t num_splits;
    uint64_t best; /* and the earliest split that has it */
} walk;

static void look_at(walk *w, const load *loads, uint64_t cut_bytes) {
    uint64_t most[2] = {0, 0}; /* bytes, cycles */
    uint64_t least[2] = {UINT64_MAX, UINT64_MAX};
    for (size_t ipu = 0; ipu < w->c->num_ipus; ++ipu) {
        const uint64_t has[] = {loads[ipu].own_bytes + w->code_bytes[loads[ipu].types],
                                loads[ipu].cycles};
        for (size_t k = 0; k < 2; ++k) {
            most[k] = has[k] > most[k] ? has[k] : most[k];
            least[k] = has[k] < least[k] ? has[k] : least[k];
        }
    }
    size_t k = w->spread_is_of_cycles;
    const uint64_t values[MOST_OBJECTIVES] = {[POPLINER_OBJECTIVE_MEMORY] = most[0],
                                              [POPLINER_OBJECTIVE_CYCLES] = most[1],
                                              [POPLINER_OBJECTIVE_TRAFFIC] = cut_bytes,
                                              [POPLINER_OBJECTIVE_IPUS] = w->c->num_ipus,
                                              [POPLINER_OBJECTIVE_BALANCE] = most[k] - least[k]};
    ++w->num_splits;
    for (size_t i = 0; i < MOST_OBJECTIVES; ++i)
        if (values[i] > w->max[i])
            return;
    if (values[w->objective] >= w->best)
        return;
    w->best = values[w->objective];
}

/* The time of the cut before a stage that begins with the unit. */
static uint64_t link_cycles(const chain *c, size_t stage, size_t unit) {
    return c->link_bytes == 0 || c->device_map[stage - 1] == c->device_map[stage]
               ? 0
               : (c->cut_bytes[unit] + c->link_bytes - 1) / c->link_bytes;
}

static void go_through(walk *w, size_t stage, const load *loads, uint64_t cut_bytes) {
    const chain *c = w->c;
    size_t first = w->first_units[stage];
    size_t to_come = NUM_STAGES - stage - 1;
    load now[NUM_STAGES];
    memcpy(now, loads, sizeof now);
    load *mine = &now[c->device_map[stage]];
    if (to_come == 0) {
        mine->own_bytes += w->to_end[first].own_bytes;
        mine->cycles += w->to_end[first].cycles;
        mine->types |= w->to_end[first].types;
        look_at(w, now, cut_bytes);
        return;
    }
    for (size_t unit = first; unit + to_come < c->num_units; ++unit) {
        mine->own_bytes += c->own_bytes[unit];
        mine->cycles += c->cycles[unit];
        mine->types |= c->types[unit];
        w->first_units[stage + 1] = unit + 1;
        load *next = &now[c->device_map[stage + 1]];
        const uint64_t link = link_cycles(c, stage + 1, unit + 1);
        mine->cycles += link;
        next->cycles += link;
        go_through(w, stage + 1, now, cut_bytes + c->cut_bytes[unit + 1]);
        mine->cycles -= link;
        next->cycles -= link;
    }
}

/* Leaves the best split in w, and in bounds[i] the best that objective i can be. */
static void find_best(walk *w, const popliner_solver_options *options, uint64_t *bounds) {
    for (unsigned types = 0; types < 1 << NUM_TYPES; ++types)
        w->code_bytes[types] = code_of(w->c, types);
    for (size_t unit = w->c->num_units; unit-- > 0;)
        w->to_end[unit] = (load){w->to_end[unit + 1].own_bytes + w->c->own_bytes[unit],
                                 w->to_end[unit + 1].cycles + w->c->cycles[unit],
                                 w->to_end[unit + 1].types | w->c->types[unit]};
    memset(w->max, 0xff, sizeof w->max);
    w->spread_is_of_cycles = false;
    for (size_t i = 0; options->objectives[i] != POPLINER_OBJECTIVE_BALANCE; ++i)
        if (options->objectives[i] == POPLINER_OBJECTIVE_CYCLES)
            w->spread_is_of_cycles = true;
    for (size_t i = 0; i < options->num_objectives; ++i) {
        const load nothing[NUM_STAGES] = {{0, 0, 0}};
        w->objective = options->objectives[i];
        w->best = UINT64_MAX;
        w->num_splits = 0;
        go_through(w, 0, nothing, 0);
        assert_true(w->num_splits > 1000000);
        bounds[i] = w->best;
        w->max[w->objective] = w->best + w->best * (uint64_t)options->slack_percent / 100;
    }
}

/* ---- orders of objectives ---- */

enum { MOST_ORDERS = 300 };

typedef struct orders {
    popliner_objective objectives[MOST_ORDERS][MOST_OBJECTIVES];
    size_t lengths[MOST_ORDERS];
    size_t count;
} orders;

/* Adds all that begin with `so_far` and include balance. */
static void list_orders(orders *o, const popliner_objective *so_far, size_t length) {
    popliner_objective longer[MOST_OBJECTIVES];
    bool is_used[MOST_OBJECTIVES] = {false};
    for (size_t i = 0; i < length; ++i)
        is_used[longer[i] = so_far[i]] = true;
    if (is_used[POPLINER_OBJECTIVE_BALANCE]) {
        memcpy(o->objectives[o->count], so_far, length * sizeof *so_far);
        o->lengths[o->count++] = length;
    }
    for (size_t next = 0; next < MOST_OBJECTIVES; ++next)
        if (!is_used[next] && length < MOST_OBJECTIVES) {
            longer[length] = (popliner_objective)next;
            list_orders(o, longer, length + 1);
        }
}

/* ---- both ---- */

/* The work of a request is limited, so some answers have a gap: of how many splits are proven. */
static size_t num_checked, num_proven;

static void check(chain *c, const popliner_solver_options *options) {
    walk w = {.c = c};
    uint64_t bounds[MOST_OBJECTIVES];
    popliner_plan *plan = NULL;
    popliner_error error;
    find_best(&w, options, bounds);
    if (popliner_solve(c->costs, options, &plan, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    bool is_best = true; /* so far: then what follows is asked within the same limits */
    for (size_t i = 0; is_best && i < options->num_objectives; ++i) {
        const popliner_plan_value *value = &plan->values[i];
        assert_int_equal(value->objective, options->objectives[i]);
        assert_true(value->bound <= bounds[i]);
        if (value->proof != POPLINER_PROOF_NONE)
            assert_int_equal(value->bound, bounds[i]);
        /* which of the equally good splits it is decides how much of the slack is used */
        is_best = options->slack_percent > 0.0 && i + 1 < options->num_objectives
                      ? value->proof != POPLINER_PROOF_NONE
                      : value->value == bounds[i];
        assert_true(is_best || value->proof == POPLINER_PROOF_NONE);
        assert_true(is_best || value->value > bounds[i] || options->slack_percent > 0.0);
    }
    assert_true(plan->status == POPLINER_PLAN_FEASIBLE || is_best);
    ++num_checked;
    num_proven += plan->status == POPLINER_PLAN_OPTIMAL;
    popliner_plan_free(plan);
}

static void balance_in_every_order(void **state) {
    (void)state;
    static chain c;
    static orders o;
    list_orders(&o, NULL, 0);
    assert_int_equal(o.count, 261); /* the sum over k of k! * (k + 1) choices of k others of 4 */
    size_t per_instance = (o.count + NUM_INSTANCES - 1) / NUM_INSTANCES;
    for (uint64_t seed = 0; seed < NUM_INSTANCES; ++seed) {
        if (!test_takes_case(seed, QUICK_EVERY))
            continue;
        draw(&c, seed);
        size_t num_orders = test_takes_all() ? per_instance : QUICK_ORDERS;
        for (size_t i = 0; i < num_orders; ++i) {
            size_t order = (seed * per_instance + i) * 100 % o.count;
            popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
            options.device_map = c.device_map;
            options.num_mapped_stages = NUM_STAGES;
            options.objectives = o.objectives[order];
            options.num_objectives = o.lengths[order];
            options.link_bandwidth =
                (popliner_ipu_link){.bytes = c.link_bytes, .cycles = c.link_bytes > 0};
            options.slack_percent = i == seed % 2 ? 10.0 : 0.0;
            check(&c, &options);
        }
        popliner_costs_free(c.costs);
    }
    assert_true(num_proven * 4 >= num_checked * 3);
}

/* ---- equal layers ---- */

enum { NUM_LAYERS = 96, NUM_CHAIN = NUM_LAYERS + 2, NUM_IPUS = 8, MOST_ROUNDS = 4 };

/* The cycles of an embedding, equal layers and a head; each cut takes time on both sides. */
static uint64_t cycles_of(size_t first, size_t last) {
    enum { EMBEDDING = 300, LAYER = 180, HEAD = 250, CUT = 20 };
    uint64_t cycles = (last - first + 1) * LAYER;
    cycles += first == 0 ? EMBEDDING - LAYER : CUT;
    cycles += last + 1 == NUM_CHAIN ? HEAD - LAYER : CUT;
    return cycles;
}

/* Independent of the library: with so many layers on each IPU, at least one in each stage (the
 * first holds the embedding, the last the head), whether the chain can be held within the limit. */
static bool can_hold(uint64_t limit, size_t num_rounds) {
    size_t num_held = 0;
    for (size_t ipu = 0; ipu < NUM_IPUS; ++ipu) {
        size_t most = 0;
        for (size_t units = num_rounds; units <= NUM_CHAIN; ++units) {
            uint64_t cycles = 180 * units + 40 * num_rounds;
            cycles += ipu == 0 ? 300 - 180 - 20 : 0;
            cycles += ipu == NUM_IPUS - 1 ? 250 - 180 - 20 : 0;
            most = cycles <= limit ? units : most;
        }
        num_held += most;
    }
    return num_held >= NUM_CHAIN;
}

static void equal_layers_are_proven(void **state) {
    (void)state;
    size_t device_map[NUM_IPUS * MOST_ROUNDS];
    for (size_t i = 0; i < NUM_IPUS * MOST_ROUNDS; ++i)
        device_map[i] = i % NUM_IPUS;
    for (size_t num_rounds = 2; num_rounds <= MOST_ROUNDS; num_rounds += 2) {
        if (!test_takes_case(num_rounds / 2 - 1, 2))
            continue;
        popliner_costs *costs;
        popliner_plan plan = {0};
        assert_int_equal(popliner_costs_create(NUM_CHAIN, 1, &costs, NULL), POPLINER_OK);
        for (size_t first = 0; first < NUM_CHAIN; ++first)
            for (size_t last = first; last < NUM_CHAIN; ++last)
                popliner_costs_set_cycles(costs, first, last, cycles_of(first, last), NULL);
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        static const popliner_objective cycles[] = {POPLINER_OBJECTIVE_CYCLES};
        options.objectives = cycles;
        options.num_objectives = 1;
        options.device_map = device_map;
        options.num_mapped_stages = NUM_IPUS * num_rounds;
        assert_int_equal(pl_solve(costs, &options, &plan, NULL), POPLINER_OK);
        assert_false(plan.is_stopped);
        assert_int_equal(plan.status, POPLINER_PLAN_OPTIMAL);
        uint64_t least = 0;
        while (!can_hold(least, num_rounds))
            ++least;
        assert_int_equal(plan.cycles, least);
        assert_int_equal(plan.values[0].bound, least);
        pl_plan_clear(&plan);
        popliner_costs_free(costs);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balance_in_every_order),
        cmocka_unit_test(equal_layers_are_proven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
