/* Which device gets which stage: states are the devices of each kind that are taken.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/device_states.h"
#include "solve/options.h"
#include "solve/stage_rule.h"
#include "solve/tokens.h"

/* More work than this takes minutes: sets of devices times units times kinds. */
#define MAX_WORK (UINT64_C(1) << 28)

/* Devices that are alike. */
typedef struct kind {
    uint64_t limit_bytes;
    uint64_t speed;
    size_t count;
    size_t radix;     /* what one device of this kind adds to the number of a set */
    size_t first_ipu; /* one of them */
    size_t taken;
} kind;

/* A set of devices is the sum of the radixes of its devices, and the state of the stages on it,
 * which are the last ones. */
typedef struct device_order {
    pl_device_states states;
    size_t most_stages;
    kind *kinds; /* [number of devices] at most */
    size_t num_kinds;
    pl_stage_ends *ends; /* [num_kinds][most_stages], the second by the number of later stages */
} device_order;

/* Returns how many devices of a kind a set has. */
static size_t count_in(const device_order *d, size_t set, size_t k) {
    return set / d->kinds[k].radix % (d->kinds[k].count + 1);
}

/* Whether a device has a limit and a speed of this kind. */
static bool is_of(const popliner_solver_options *o, size_t ipu, const kind *k) {
    return pl_limit_of(o, ipu, o->mem_per_tile) == k->limit_bytes &&
           pl_speed_of(o, ipu) == k->speed;
}

/* Finds the kinds of devices. */
static popliner_status find_kinds(device_order *d, popliner_error *error) {
    pl_problem *p = &d->states.problem;
    const popliner_solver_options *o = p->options;
    d->kinds = pl_arrays_new(&d->states.arrays, o->num_ipus, sizeof *d->kinds);
    if (d->kinds == NULL)
        return pl_fail_memory(error, "the kinds of devices");
    for (size_t ipu = 0; ipu < o->num_ipus; ++ipu) {
        size_t k = 0;
        while (k < d->num_kinds && !is_of(o, ipu, &d->kinds[k]))
            ++k;
        if (k == d->num_kinds)
            d->kinds[d->num_kinds++] = (kind){.limit_bytes = pl_limit_of(o, ipu, o->mem_per_tile),
                                              .speed = pl_speed_of(o, ipu),
                                              .first_ipu = ipu};
        /* more than one for each unit are never used */
        d->kinds[k].count += d->kinds[k].count < p->num_units;
        /* any of them may be */
        p->largest_limit_bytes = pl_larger(p->largest_limit_bytes, d->kinds[k].limit_bytes);
    }
    return POPLINER_OK;
}

/* Makes a state of each set of devices. Checks that there are not too many, and that the costs are
 * for as many stages as there may be. */
static popliner_status make_states(device_order *d, popliner_error *error) {
    pl_device_states *s = &d->states;
    const size_t n = s->problem.num_units;
    const size_t known = s->problem.num_places;
    d->most_stages = s->max_ipus = s->problem.max_stages;
    if (s->problem.depends_on_end && d->most_stages > known)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: %zu stages: the costs are for pipelines of at most %zu",
                       d->most_stages, known);
    s->num_states = 1;
    for (size_t k = 0; k < d->num_kinds; ++k) {
        d->kinds[k].radix = s->num_states;
        s->num_states *= d->kinds[k].count + 1;
        if (s->num_states * d->num_kinds > MAX_WORK / (n * n))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "order of devices: there are too many kinds of devices, with their own "
                           "limits and speeds, for %zu units; give a device map",
                           n);
    }
    s->num_ipus = pl_arrays_new(&s->arrays, s->num_states, sizeof *s->num_ipus);
    d->ends = pl_arrays_new(&s->arrays, d->num_kinds * d->most_stages, sizeof *d->ends);
    if (s->arrays.failed)
        return pl_fail_memory(error, "the sets of devices");
    for (size_t set = 0; set < s->num_states; ++set)
        for (size_t k = 0; k < d->num_kinds; ++k)
            s->num_ipus[set] += count_in(d, set, k);
    return pl_device_states_begin(s, error);
}

/* Finds the stages that the limits allow on each kind of device, with each number of later
 * stages. */
static popliner_status find_ends(void *user, const pl_limits *limits, popliner_error *error) {
    device_order *d = user;
    const pl_problem *p = &d->states.problem;
    const size_t num_places = p->depends_on_end ? d->most_stages : 1;
    for (size_t k = 0; k < d->num_kinds; ++k)
        for (size_t i = 0; i < num_places; ++i) {
            const pl_stage_rule rule = pl_stage_rule_of(p, limits, d->kinds[k].first_ipu, i + 1);
            PL_TRY(pl_stage_ends_find(&d->ends[k * d->most_stages + i], &rule, NULL, error));
        }
    return POPLINER_OK;
}

/* Adds the stages that begin with a unit, on each kind of device, before those of each set. */
static void add_stages(void *user, const pl_limits *limits, size_t first) {
    device_order *d = user;
    pl_device_states *s = &d->states;
    (void)limits;
    for (size_t set = 0; set < s->num_states; ++set)
        for (size_t k = 0; s->num_ipus[set] < d->most_stages && k < d->num_kinds; ++k) {
            const size_t later = s->problem.depends_on_end ? s->num_ipus[set] : 0;
            const pl_stage_ends *e = &d->ends[k * d->most_stages + later];
            if (count_in(d, set, k) == d->kinds[k].count)
                continue;
            for (size_t end = e->from[first]; end < e->to[first]; ++end)
                if (pl_device_states_have(s, end, set) && pl_stage_ends_have(e, first, end))
                    pl_device_states_add(s, first, end, set, set + d->kinds[k].radix);
        }
}

/* Gives a stage the next device of its kind. */
static pl_load complete(void *user, size_t set, size_t later, popliner_plan_stage *stage) {
    device_order *d = user;
    const pl_problem *p = &d->states.problem;
    size_t k = 0;
    while (d->kinds[k].radix != set - later)
        ++k;
    for (size_t i = 0; stage->first_unit == 0 && i < d->num_kinds; ++i)
        d->kinds[i].taken = 0;
    stage->ipu = d->kinds[k].first_ipu;
    for (size_t before = d->kinds[k].taken++; before > 0;)
        before -= is_of(p->options, ++stage->ipu, &d->kinds[k]);
    stage->peak_bytes =
        popliner_costs_peak(p->costs, stage->first_unit, stage->last_unit, d->states.num_ipus[set]);
    stage->cycles = pl_problem_cycles(p, stage->ipu, stage->first_unit, stage->last_unit);
    return pl_problem_load(p, stage->ipu, stage->peak_bytes, stage->cycles);
}

static popliner_status check(const popliner_costs *costs, const popliner_solver_options *o,
                             popliner_error *error) {
    PL_TRY(pl_options_check(o, popliner_costs_num_units(costs), costs, error));
    if (o->num_mapped_stages > 0 || o->num_placements > 0 || o->num_ipu_links > 0 ||
        o->slack_percent != 0.0 || o->ipu_weight != NULL ||
        pl_objectives_include(o, POPLINER_OBJECTIVE_BALANCE))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: not with a device map, placements, links, slack, weights "
                       "or the objective balance; leave them out");
    if (costs->follows_split || costs->choices != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: not with copies that depend on the number of stages, or "
                       "stages that choose what they recompute");
    return POPLINER_OK;
}

/* Finds the order with the best split, which the plan has. A pl_solve_function. */
static popliner_status solve(const popliner_costs *costs, const popliner_solver_options *options,
                             popliner_plan *plan, popliner_error *error) {
    const pl_stop stop = pl_stop_of(options);
    size_t num_objectives;
    const popliner_objective *objectives = pl_objectives_of(options, &num_objectives);
    device_order d = {
        .states = {.prepare = find_ends, .add_stages = add_stages, .complete = complete}};
    d.states.user = &d;
    popliner_status status = check(costs, options, error);
    if (status == POPLINER_OK)
        status = pl_problem_create(&d.states.problem, costs, options, error);
    if (status == POPLINER_OK)
        status = find_kinds(&d, error);
    if (status == POPLINER_OK)
        status = make_states(&d, error);
    if (status == POPLINER_OK)
        status =
            pl_device_states_optimise(&d.states, &stop, objectives, num_objectives, plan, error);
    for (size_t i = 0; d.ends != NULL && i < d.num_kinds * d.most_stages; ++i)
        pl_stage_ends_free(&d.ends[i]);
    pl_device_states_free(&d.states);
    return status;
}

popliner_status popliner_solver_order_devices(const popliner_costs *costs,
                                              const popliner_solver_options *options,
                                              size_t *device_map, size_t *num_stages,
                                              bool *is_proven, popliner_error *error) {
    popliner_solver_options own;
    popliner_listener listener;
    popliner_plan plan = {0};
    popliner_status status = pl_solver_options_take(options, costs, &own, &listener, error);
    own.time_limit_seconds /= 2; /* the split is found anew */
    if (status == POPLINER_OK && pl_objectives_include(&own, POPLINER_OBJECTIVE_STEP))
        status = pl_fail(error, POPLINER_ERROR_USAGE,
                         "%s: step is for devices in a given order; give a device map, or cycles",
                         PL_OPTION(&own, objectives));
    if (status == POPLINER_OK)
        status = pl_tokens_lead(&own) ? pl_tokens_solve(costs, &own, solve, &plan, error)
                                      : solve(costs, &own, &plan, error);
    *num_stages = status == POPLINER_OK ? plan.num_stages : 0;
    *is_proven = status == POPLINER_OK && !plan.is_stopped;
    for (size_t i = 0; i < *num_stages; ++i)
        device_map[i] = plan.stages[i].ipu;
    pl_plan_clear(&plan);
    return status;
}
