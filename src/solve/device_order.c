/* Which device gets which stage: a dynamic program over the remaining units and the devices of each
 * kind that are taken.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "costs/grown.h"
#include "solve/options.h"
#include "solve/plan.h"
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

/* A set of devices is the sum of the radixes of its devices. The stages on it are the last ones. */
typedef struct search {
    pl_problem problem;
    pl_minimiser best;
    pl_stop stop;
    size_t num_units;
    size_t num_ipus;
    size_t most_stages;
    kind *kinds; /* [num_ipus] at most */
    size_t num_kinds;
    size_t num_sets;
    size_t *size_of;     /* [num_sets] devices of a set */
    pl_stage_ends *ends; /* [num_kinds][most_stages], the second by the number of later stages */
    /* [num_sets][units + 1]: the fewest cut bytes of the stages from a unit on, UINT64_MAX for
     * none; the kind of the first of these stages, and the unit after it */
    uint64_t *cut_bytes;
    uint32_t *kind_of;
    uint32_t *end_of;
    size_t *map; /* [num_ipus] the devices of the last answer */
    size_t num_stages;
    pl_arrays arrays; /* own all of these */
} search;

static size_t place_of(const search *s, size_t set, size_t unit) {
    return set * (s->num_units + 1) + unit;
}

/* Returns how many devices of a kind a set has. */
static size_t count_in(const search *s, size_t set, size_t k) {
    return set / s->kinds[k].radix % (s->kinds[k].count + 1);
}

/* Whether a device has a limit and a speed of this kind. */
static bool is_of(const popliner_solver_options *o, size_t ipu, const kind *k) {
    return pl_limit_of(o, ipu, o->mem_per_tile) == k->limit_bytes &&
           pl_speed_of(o, ipu) == k->speed;
}

static popliner_status find_kinds(search *s, const popliner_solver_options *o,
                                  popliner_error *error) {
    s->kinds = pl_arrays_new(&s->arrays, s->num_ipus, sizeof *s->kinds);
    if (s->kinds == NULL)
        return pl_fail_memory(error, "the kinds of devices");
    for (size_t ipu = 0; ipu < s->num_ipus; ++ipu) {
        size_t k = 0;
        while (k < s->num_kinds && !is_of(o, ipu, &s->kinds[k]))
            ++k;
        if (k == s->num_kinds)
            s->kinds[s->num_kinds++] = (kind){.limit_bytes = pl_limit_of(o, ipu, o->mem_per_tile),
                                              .speed = pl_speed_of(o, ipu),
                                              .first_ipu = ipu};
        /* more than one for each unit are never used */
        s->kinds[k].count += s->kinds[k].count < s->num_units;
    }
    s->num_sets = 1;
    for (size_t k = 0; k < s->num_kinds; ++k) {
        s->kinds[k].radix = s->num_sets;
        s->num_sets *= s->kinds[k].count + 1;
        if (s->num_sets * s->num_kinds > MAX_WORK / (s->num_units * s->num_units))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "order of devices: there are too many kinds of devices, with their own "
                           "limits and speeds, for %zu units; give a device map",
                           s->num_units);
    }
    return POPLINER_OK;
}

static popliner_status begin_search(search *s, popliner_error *error) {
    const size_t count = s->num_sets * (s->num_units + 1);
    s->most_stages = s->num_ipus < s->num_units ? s->num_ipus : s->num_units;
    s->size_of = pl_arrays_new(&s->arrays, s->num_sets, sizeof *s->size_of);
    s->ends = pl_arrays_new(&s->arrays, s->num_kinds * s->most_stages, sizeof *s->ends);
    s->cut_bytes = pl_arrays_new(&s->arrays, count, sizeof *s->cut_bytes);
    s->kind_of = pl_arrays_new(&s->arrays, count, sizeof *s->kind_of);
    s->end_of = pl_arrays_new(&s->arrays, count, sizeof *s->end_of);
    s->map = pl_arrays_new(&s->arrays, s->num_ipus, sizeof *s->map);
    if (s->arrays.failed)
        return pl_fail_memory(error, "the sets of devices");
    for (size_t set = 0; set < s->num_sets; ++set)
        for (size_t k = 0; k < s->num_kinds; ++k)
            s->size_of[set] += count_in(s, set, k);
    return POPLINER_OK;
}

static void free_search(search *s) {
    for (size_t i = 0; s->ends != NULL && i < s->num_kinds * s->most_stages; ++i)
        pl_stage_ends_free(&s->ends[i]);
    pl_arrays_free(&s->arrays);
    pl_problem_free(&s->problem);
}

/* Finds the stages that the filter allows on each kind of device, with each number of later
 * stages. */
static popliner_status find_ends(search *s, const pl_filter *filter, popliner_error *error) {
    const size_t places = s->problem.depends_on_end ? s->most_stages : 1;
    popliner_status status = POPLINER_OK;
    for (size_t k = 0; k < s->num_kinds; ++k)
        for (size_t i = 0; status == POPLINER_OK && i < places; ++i) {
            pl_stage_rule rule =
                pl_stage_rule_of(&s->problem, &filter->limits, s->kinds[k].first_ipu, i + 1);
            rule.is_anywhere = true;
            status = pl_stage_ends_find(&s->ends[k * s->most_stages + i], &rule, NULL, error);
        }
    return status;
}

/* Adds stages on a device of kind k before those of `set`. */
static void add_stages(search *s, size_t set, size_t k) {
    const size_t later = s->problem.depends_on_end ? s->size_of[set] : 0;
    const pl_stage_ends *e = &s->ends[k * s->most_stages + later];
    const size_t with = set + s->kinds[k].radix;
    for (size_t first = 0; first < s->num_units; ++first)
        for (size_t end = e->from[first]; end < e->to[first]; ++end) {
            const uint64_t rest = s->cut_bytes[place_of(s, set, end)];
            if (rest == UINT64_MAX || !pl_stage_ends_have(e, first, end))
                continue;
            const uint64_t cut = end < s->num_units ? popliner_costs_cut(s->problem.costs, end) : 0;
            const uint64_t sum = pl_add_cut_bytes(rest, cut);
            const size_t place = place_of(s, with, first);
            if (sum >= s->cut_bytes[place])
                continue;
            s->cut_bytes[place] = sum;
            s->kind_of[place] = (uint32_t)k;
            s->end_of[place] = (uint32_t)end;
        }
}

/* Returns the device of kind k that has `before` others of its kind before it. */
static size_t find_device(const search *s, size_t k, size_t before) {
    const popliner_solver_options *o = s->problem.options;
    size_t ipu = s->kinds[k].first_ipu;
    while (before > 0) {
        ++ipu;
        before -= is_of(o, ipu, &s->kinds[k]);
    }
    return ipu;
}

/* Reads the split of a set: its devices, and its values. */
static void read_split(search *s, size_t set) {
    s->num_stages = 0;
    s->best.values = (pl_objective_values)PL_OBJECTIVE_VALUES_INIT;
    s->best.values.cut_bytes = s->cut_bytes[place_of(s, set, 0)];
    for (size_t k = 0; k < s->num_kinds; ++k)
        s->kinds[k].taken = 0;
    for (size_t unit = 0; unit < s->num_units;) {
        const size_t place = place_of(s, set, unit);
        kind *own = &s->kinds[s->kind_of[place]];
        const size_t end = s->end_of[place];
        const uint64_t peak_bytes =
            popliner_costs_peak(s->problem.costs, unit, end - 1, s->size_of[set]);
        const uint64_t cycles = pl_problem_cycles(&s->problem, own->first_ipu, unit, end - 1);
        pl_objective_values_add(&s->best.values,
                                pl_problem_load(&s->problem, own->first_ipu, peak_bytes, cycles));
        s->map[s->num_stages++] = find_device(s, s->kind_of[place], own->taken++);
        set -= own->radix;
        unit = end;
    }
}

/* Finds the best split within the filter, for the goal; *exists tells whether there is one, and
 * *values what it has. */
static popliner_status find(void *user, const pl_filter *filter, pl_goal goal, bool *exists,
                            popliner_error *error) {
    search *s = user;
    const size_t count = s->num_sets * (s->num_units + 1);
    size_t best = SIZE_MAX;
    popliner_status status = find_ends(s, filter, error);
    *exists = false;
    for (size_t i = 0; i < count; ++i)
        s->cut_bytes[i] = UINT64_MAX;
    s->cut_bytes[place_of(s, 0, s->num_units)] = 0;
    for (size_t set = 0; status == POPLINER_OK && set < s->num_sets; ++set) {
        s->best.is_stopped = s->best.is_stopped || pl_stop_is_wanted(&s->stop);
        if (s->best.is_stopped)
            return POPLINER_OK;
        const uint64_t cut_bytes = s->cut_bytes[place_of(s, set, 0)];
        if (set > 0 && cut_bytes <= filter->limits.max_cut_bytes && cut_bytes < UINT64_MAX &&
            s->size_of[set] <= filter->limits.max_ipus && s->size_of[set] <= s->most_stages &&
            (best == SIZE_MAX ||
             (goal == PL_GOAL_FEWEST_STAGES ? s->size_of[set] < s->size_of[best]
                                            : cut_bytes < s->cut_bytes[place_of(s, best, 0)])))
            best = set;
        for (size_t k = 0; s->size_of[set] < s->most_stages && k < s->num_kinds; ++k)
            if (count_in(s, set, k) < s->kinds[k].count)
                add_stages(s, set, k);
    }
    *exists = best != SIZE_MAX;
    if (*exists)
        read_split(s, best);
    return status;
}

static popliner_status check(const search *s, const popliner_solver_options *o,
                             const popliner_costs *costs, popliner_error *error) {
    popliner_status status = pl_options_check(o, s->num_units, costs, error);
    if (status == POPLINER_OK &&
        (o->num_mapped_stages > 0 || o->num_placements > 0 || o->num_ipu_links > 0 ||
         o->slack_percent != 0.0 || o->ipu_weight != NULL ||
         pl_objectives_include(o, POPLINER_OBJECTIVE_BALANCE)))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: not with a device map, placements, links, slack, weights "
                       "or the objective balance; leave them out");
    if (status == POPLINER_OK && costs->follows_split)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: not with copies that depend on the number of stages");
    if (status == POPLINER_OK && s->num_ipus > s->num_units &&
        pl_objectives_include(o, POPLINER_OBJECTIVE_HEADROOM))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: not for the objective headroom with more devices than "
                       "units; lower %s",
                       PL_OPTION(o, num_ipus));
    return status;
}

/* Checks that the costs are for as many stages as there may be. */
static popliner_status check_length(const search *s, popliner_error *error) {
    const size_t known = s->problem.costs->max_stages_to_end;
    if (s->problem.depends_on_end && s->most_stages > known)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "order of devices: %zu stages: the costs are for pipelines of at most %zu",
                       s->most_stages, known);
    return POPLINER_OK;
}

/* Where the order is written. */
typedef struct order {
    const popliner_solver_options *options;
    pl_stop stop;
    size_t *device_map;
    size_t num_stages;
    bool is_proven;
} order;

/* Finds the order for the objectives; no stages if nothing fits. */
static popliner_status find_order(order *found, const popliner_costs *costs,
                                  popliner_error *error) {
    const popliner_solver_options *own = found->options;
    search s = {.num_units = popliner_costs_num_units(costs), .num_ipus = own->num_ipus};
    bool exists = false;
    s.stop = found->stop;
    found->num_stages = 0;
    popliner_status status = check(&s, own, costs, error);
    if (status == POPLINER_OK)
        status = pl_problem_create(&s.problem, costs, own, NULL, error);
    if (status == POPLINER_OK)
        status = find_kinds(&s, own, error);
    if (status == POPLINER_OK)
        status = begin_search(&s, error);
    if (status == POPLINER_OK)
        status = check_length(&s, error);
    if (status == POPLINER_OK) {
        s.best.find = find;
        s.best.user = &s;
        s.best.filter = pl_filter_of_limits(&s.problem);
        status = find(&s, &s.best.filter, PL_GOAL_ANY, &exists, error);
    }
    size_t num_objectives;
    popliner_plan_value value;
    const popliner_objective *objectives = pl_objectives_of(own, &num_objectives);
    for (size_t i = 0; status == POPLINER_OK && exists && i < num_objectives; ++i)
        status = pl_minimise(&s.best, objectives[i], &value, error);
    if (status == POPLINER_OK && exists) {
        found->num_stages = s.num_stages;
        for (size_t i = 0; i < s.num_stages; ++i)
            found->device_map[i] = s.map[i];
    }
    found->is_proven = status == POPLINER_OK && !s.best.is_stopped;
    free_search(&s);
    return status;
}

/* A pl_tokens_function. */
static popliner_status fits(void *user, const popliner_costs *grown, bool *does_fit,
                            bool *is_stopped, popliner_error *error) {
    order *found = user;
    popliner_status status = find_order(found, grown, error);
    *does_fit = found->num_stages > 0;
    *is_stopped = !*does_fit && !found->is_proven;
    return status;
}

/* Finds the order that holds the most tokens, and that of the other objectives then. */
static popliner_status find_order_of_tokens(order *found, const popliner_costs *costs,
                                            popliner_error *error) {
    static const popliner_objective any[] = {POPLINER_OBJECTIVE_MEMORY};
    const popliner_solver_options *asked = found->options;
    popliner_solver_options own = *asked;
    pl_grown_costs grown = {0};
    bool does_fit = false;
    bool is_stopped = false;
    uint64_t tokens = 0;
    uint64_t bound = 0;
    own.objectives = any;
    own.num_objectives = 1;
    popliner_status status = pl_tokens_check(costs, asked, error);
    found->options = &own;
    if (status == POPLINER_OK)
        status = fits(found, costs, &does_fit, &is_stopped, error);
    if (status == POPLINER_OK && does_fit)
        status = pl_tokens_find(costs, fits, found, asked, &tokens, &bound, error);
    if (asked->num_objectives > 1) {
        own.objectives = asked->objectives + 1;
        own.num_objectives = asked->num_objectives - 1;
    }
    if (status == POPLINER_OK)
        status = pl_grown_costs_create(&grown, costs, tokens, error);
    if (status == POPLINER_OK)
        status = find_order(found, &grown.costs, error);
    found->is_proven = found->is_proven && tokens == bound;
    pl_grown_costs_free(&grown);
    return status;
}

popliner_status popliner_solver_order_devices(const popliner_costs *costs,
                                              const popliner_solver_options *options,
                                              size_t *device_map, size_t *num_stages,
                                              bool *is_proven, popliner_error *error) {
    popliner_solver_options own;
    popliner_listener listener;
    order found = {.options = &own, .device_map = device_map};
    popliner_status status = pl_solver_options_take(options, costs, &own, &listener, error);
    found.stop = (pl_stop){INFINITY, own.should_stop, own.should_stop_user, NULL};
    if (status == POPLINER_OK && own.time_limit_seconds > 0)
        found.stop.deadline_seconds = pl_clock_seconds() + own.time_limit_seconds / 2;
    if (status == POPLINER_OK)
        status = pl_tokens_lead(&own) ? find_order_of_tokens(&found, costs, error)
                                      : find_order(&found, costs, error);
    *num_stages = found.num_stages;
    *is_proven = found.is_proven;
    return status;
}
