/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/options_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "solve/glpk_session.h"
#include "solve/links.h"
#include "solve/objective.h"

/* ---- lists ---- */

/* The lists of the options whose items are of one or two units or IPUs. */
enum { PAIRS, PLACEMENTS, LIMITS, SPEEDS, LINKS, NUM_LISTS };

typedef struct list {
    const char *name;
    bool is_of_units;
    bool has_two;
} list;

static const list lists[NUM_LISTS] = {
    [PAIRS] = {"pairs", true, true},         [PLACEMENTS] = {"placements", true, false},
    [LIMITS] = {"ipu_limits", false, false}, [SPEEDS] = {"ipu_speeds", false, false},
    [LINKS] = {"ipu_links", false, true},
};

/* What an item is of; both are the same where it is of one. */
typedef struct item {
    size_t first;
    size_t second;
} item;

static size_t count_items(const popliner_solver_options *o, int kind) {
    const size_t counts[NUM_LISTS] = {o->num_pairs, o->num_placements, o->num_ipu_limits,
                                      o->num_ipu_speeds, o->num_ipu_links};
    return counts[kind];
}

static bool is_missing(const popliner_solver_options *o, int kind) {
    const bool missing[NUM_LISTS] = {o->pairs == NULL, o->placements == NULL, o->ipu_limits == NULL,
                                     o->ipu_speeds == NULL, o->ipu_links == NULL};
    return missing[kind];
}

static item item_at(const popliner_solver_options *o, int kind, size_t i) {
    switch (kind) {
    case PAIRS:
        return (item){o->pairs[i].first_unit, o->pairs[i].second_unit};
    case PLACEMENTS:
        return (item){o->placements[i].unit, o->placements[i].unit};
    case LIMITS:
        return (item){o->ipu_limits[i].ipu, o->ipu_limits[i].ipu};
    case SPEEDS:
        return (item){o->ipu_speeds[i].ipu, o->ipu_speeds[i].ipu};
    default:
        return (item){o->ipu_links[i].first_ipu, o->ipu_links[i].second_ipu};
    }
}

static int compare_items(const void *left, const void *right) {
    const item *a = left;
    const item *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

static popliner_status fail_missing(const char *name, size_t count, popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: NULL, but there are %zu of them", name, count);
}

static popliner_status check_ipu(const char *name, size_t ipu, popliner_error *error) {
    if (ipu <= POPLINER_MAX_IPU)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: IPU %zu, but IPUs have numbers from 0 to %d",
                   name, ipu, POPLINER_MAX_IPU);
}

static popliner_status check_item(int kind, item it, size_t num_units, popliner_error *error) {
    const list *l = &lists[kind];
    if (kind == LINKS && it.first == it.second)
        return pl_fail(error, POPLINER_ERROR_USAGE, "ipu_links: IPU %zu has no link to itself",
                       it.first);
    size_t larger = it.first > it.second ? it.first : it.second;
    if (!l->is_of_units)
        return check_ipu(l->name, larger, error);
    if (larger < num_units)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: unit %zu, but there are only %zu units",
                   l->name, larger, num_units);
}

/* Sorts the items, which are then compared with their neighbours. */
static popliner_status check_once(int kind, item *items, size_t count, popliner_error *error) {
    const list *l = &lists[kind];
    for (size_t i = 0; i < count; ++i)
        if (items[i].first > items[i].second)
            items[i] = (item){items[i].second, items[i].first};
    qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 1; i < count; ++i) {
        if (compare_items(&items[i], &items[i - 1]) != 0)
            continue;
        if (l->has_two)
            return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s %zu and %zu are given twice",
                           l->name, l->is_of_units ? "units" : "IPUs", items[i].first,
                           items[i].second);
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s %zu is given twice", l->name,
                       l->is_of_units ? "unit" : "IPU", items[i].first);
    }
    return POPLINER_OK;
}

static popliner_status check_list(const popliner_solver_options *o, int kind, size_t num_units,
                                  popliner_error *error) {
    size_t count = count_items(o, kind);
    popliner_status status = POPLINER_OK;
    if (count == 0)
        return POPLINER_OK;
    if (is_missing(o, kind))
        return fail_missing(lists[kind].name, count, error);
    item *items = pl_new_array(count, sizeof *items);
    if (items == NULL)
        return pl_fail_memory(error, "the options of the solver");
    for (size_t i = 0; status == POPLINER_OK && i < count; ++i) {
        items[i] = item_at(o, kind, i);
        status = check_item(kind, items[i], num_units, error);
    }
    if (status == POPLINER_OK)
        status = check_once(kind, items, count, error);
    free(items);
    return status;
}

static popliner_status check_objectives(const popliner_solver_options *o, popliner_error *error) {
    if (o->num_objectives > 0 && o->objectives == NULL)
        return fail_missing("objectives", o->num_objectives, error);
    for (size_t i = 0; i < o->num_objectives; ++i) {
        const char *name = popliner_objective_name(o->objectives[i]);
        if (name == NULL)
            return pl_fail(error, POPLINER_ERROR_USAGE, "objectives: there is no %d",
                           (int)o->objectives[i]);
        for (size_t j = 0; j < i; ++j)
            if (o->objectives[i] == o->objectives[j])
                return pl_fail(error, POPLINER_ERROR_USAGE, "objectives: %s is given twice", name);
    }
    return POPLINER_OK;
}

static popliner_status check_map(const popliner_solver_options *o, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (o->num_mapped_stages == 0)
        return o->max_stages > 0 ? POPLINER_OK
                                 : pl_fail(error, POPLINER_ERROR_USAGE,
                                           "max_stages: 0, but at least one stage must be allowed");
    if (o->device_map == NULL)
        return fail_missing("device_map", o->num_mapped_stages, error);
    if (o->num_mapped_stages > POPLINER_MAX_IPU + 1)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "device_map: %zu stages, but there may be at most %d", o->num_mapped_stages,
                       POPLINER_MAX_IPU + 1);
    for (size_t i = 0; status == POPLINER_OK && i < o->num_mapped_stages; ++i)
        status = check_ipu("device_map", o->device_map[i], error);
    return status;
}

static popliner_status check_units(const popliner_solver_options *o, size_t num_units,
                                   popliner_error *error) {
    popliner_status status = POPLINER_OK;
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; ++unit)
        if ((unsigned)o->cut_rules[unit] > POPLINER_CUT_FORBIDDEN)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "cut_rules: there is no %d, which unit %zu has", (int)o->cut_rules[unit],
                           unit);
    for (size_t i = 0; status == POPLINER_OK && i < o->num_placements; ++i)
        status = check_ipu("placements", o->placements[i].ipu, error);
    return status;
}

/* ---- numbers ---- */

static popliner_status check_numbers(const popliner_solver_options *o, popliner_error *error) {
    if ((unsigned)o->method > POPLINER_METHOD_ILP)
        return pl_fail(error, POPLINER_ERROR_USAGE, "method: there is no %d", (int)o->method);
    if (o->method == POPLINER_METHOD_ILP && !pl_glpk_exists())
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "method: integer programs need GLPK, which this libpopliner was built "
                       "without (POPLINER_GLPK=OFF)");
    if (isnan(o->time_limit_seconds) || o->time_limit_seconds < 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "time_limit_seconds: %g, but it must not be negative",
                       o->time_limit_seconds);
    if (!(o->slack_percent >= 0.0) || isinf(o->slack_percent))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "slack_percent: %g, but it must be a percentage from 0", o->slack_percent);
    for (size_t i = 0; i < o->num_ipu_speeds; ++i) {
        popliner_ipu_speed speed = o->ipu_speeds[i];
        if (speed.millionths < POPLINER_LEAST_SPEED || speed.millionths > POPLINER_MOST_SPEED)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "ipu_speeds: %" PRIu64 " millionths of IPU %zu are not from %d to %d",
                           speed.millionths, speed.ipu, POPLINER_LEAST_SPEED, POPLINER_MOST_SPEED);
    }
    return POPLINER_OK;
}

static popliner_status check_bandwidth(popliner_bandwidth bandwidth, const char *whose,
                                       popliner_error *error) {
    if ((bandwidth.bytes == 0) == (bandwidth.cycles == 0))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "%s: %" PRIu64 " bytes in %" PRIu64 " cycles, but both must be at least 1",
                   whose, bandwidth.bytes, bandwidth.cycles);
}

static popliner_status check_bandwidths(const popliner_solver_options *o, popliner_error *error) {
    popliner_status status = check_bandwidth(o->link_bandwidth, "link_bandwidth", error);
    for (size_t i = 0; status == POPLINER_OK && i < o->num_ipu_links; ++i)
        status = check_bandwidth(o->ipu_links[i].bandwidth, "ipu_links", error);
    return status;
}

/* ---- costs ---- */

static popliner_status check_costs(const popliner_solver_options *o, const popliner_costs *costs,
                                   popliner_error *error) {
    if (popliner_costs_has_cycles(costs))
        return POPLINER_OK;
    if (o->num_ipu_speeds > 0)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "speeds of IPUs need costs that have cycles; leave them out");
    if (pl_links_exist(o))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "bandwidths of links need costs that have cycles; leave them out");
    const char *needs = pl_objectives_need_cycles(o);
    return needs == NULL ? POPLINER_OK
                         : pl_fail(error, POPLINER_ERROR_USAGE,
                                   "the objective %s needs costs that have cycles", needs);
}

popliner_status pl_options_check(const popliner_solver_options *options, size_t num_units,
                                 const popliner_costs *costs, popliner_error *error) {
    popliner_status status = check_objectives(options, error);
    for (int kind = 0; status == POPLINER_OK && kind < NUM_LISTS; ++kind)
        status = check_list(options, kind, num_units, error);
    if (status == POPLINER_OK)
        status = check_map(options, error);
    if (status == POPLINER_OK)
        status = check_units(options, num_units, error);
    if (status == POPLINER_OK)
        status = check_numbers(options, error);
    if (status == POPLINER_OK)
        status = check_bandwidths(options, error);
    return status == POPLINER_OK && costs != NULL ? check_costs(options, costs, error) : status;
}
