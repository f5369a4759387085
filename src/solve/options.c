/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/options.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/structs.h"
#include "costs/costs.h"
#include "pipeline/pipeline.h"
#include "solve/glpk_session.h"
#include "solve/objective.h"
#include "solve/tokens.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void popliner_solver_options_complete(popliner_solver_options *o, size_t num_units,
                                      size_t most_stages, bool is_graph) {
    static const popliner_objective fastest[] = {POPLINER_OBJECTIVE_CYCLES};
    static const popliner_objective fewest[] = {POPLINER_OBJECTIVE_IPUS, POPLINER_OBJECTIVE_MEMORY,
                                                POPLINER_OBJECTIVE_TRAFFIC};
    const bool is_greedy = o->method == POPLINER_METHOD_GREEDY;
    /* without a limit one IPU would do; UINT64_MAX - 1 is none either */
    const bool has_limit = o->mem_per_tile < UINT64_MAX - 1 || o->num_ipu_limits > 0;
    size_t unit = 0;
    while (o->counted_units != NULL && unit < num_units && o->counted_units[unit] == 0)
        ++unit;
    if (o->min_units == POPLINER_USUAL_UNITS)
        o->min_units = unit < num_units && !is_greedy;
    if (o->num_objectives == 0 && is_graph) {
        o->objectives = fastest;
        o->num_objectives = 1;
    } else if (o->num_objectives == 0 && o->num_ipus == 0 && o->num_mapped_stages == 0 &&
               has_limit && !is_greedy) {
        o->objectives = fewest;
        o->num_objectives = sizeof fewest / sizeof *fewest;
    }
    if (o->num_ipus == 0)
        o->num_ipus = most_stages < POPLINER_USUAL_IPUS ? most_stages : POPLINER_USUAL_IPUS;
}

/* True if the given limits differ, and all IPUs have one. */
static bool have_own_limits(const popliner_solver_options *o) {
    const bool has_plain = o->mem_per_tile > 0 && o->mem_per_tile < POPLINER_PEAK_FORBIDDEN - 1;
    uint64_t least = has_plain ? o->mem_per_tile : UINT64_MAX;
    uint64_t most = has_plain ? o->mem_per_tile : 0;
    for (size_t i = 0; o->ipu_limits != NULL && i < o->num_ipu_limits; ++i) {
        const uint64_t own = o->ipu_limits[i].value;
        least = own < least ? own : least;
        most = own > most ? own : most;
    }
    return least < most && !pl_tokens_lack_limit(o);
}

void pl_solver_options_choose_by_room(popliner_solver_options *o, const popliner_costs *costs) {
    static const popliner_objective tokens[] = {POPLINER_OBJECTIVE_TOKENS};
    static const popliner_objective room[] = {POPLINER_OBJECTIVE_HEADROOM,
                                              POPLINER_OBJECTIVE_TRAFFIC};
    if (o->num_objectives > 0 || o->method == POPLINER_METHOD_GREEDY || !have_own_limits(o))
        return;
    const bool has_tokens = costs != NULL && pl_tokens_are_asked_of(o, costs);
    o->objectives = has_tokens ? tokens : room;
    o->num_objectives = has_tokens ? 1 : sizeof room / sizeof *room;
}

void pl_solver_options_complete(popliner_solver_options *options, const popliner_costs *costs) {
    const size_t num_units = popliner_costs_num_units(costs);
    const size_t known = costs->max_stages_to_end;
    const size_t most_stages = costs->has_pipeline && pl_pipeline_has_own_copies(&costs->pipeline)
                                   ? popliner_copies_max_stages(&costs->pipeline.copies)
                               : known > 1 && known < num_units ? known
                                                                : SIZE_MAX;
    if (options->counted_units == NULL)
        options->counted_units = costs->counted_units;
    popliner_solver_options_complete(options, num_units, most_stages, costs->is_of_time);
    pl_solver_options_choose_by_room(options, costs);
}

popliner_status pl_solver_options_take(const popliner_solver_options *callers,
                                       const popliner_costs *costs, popliner_solver_options *own,
                                       popliner_listener *listener, popliner_error *error) {
    *own = (popliner_solver_options)POPLINER_SOLVER_OPTIONS_INIT;
    *listener = (popliner_listener)POPLINER_LISTENER_INIT;
    PL_TRY(pl_struct_take(own, sizeof *own, callers, "popliner_solver_options", error));
    if (costs != NULL)
        pl_solver_options_complete(own, costs);
    if (own->listener == NULL)
        return POPLINER_OK;
    PL_TRY(pl_struct_take(listener, sizeof *listener, own->listener, "popliner_listener", error));
    own->listener = listener;
    return POPLINER_OK;
}

/* ---- lists ---- */

/* An array of the options. Its items may name one or two units or IPUs. */
typedef struct list {
    const char *name;
    size_t items;     /* offset of the array in the options */
    size_t count;     /* offset of its size; NUM_UNITS if there is an item for each unit */
    size_t item_size; /* in bytes */
    enum { OF_NOTHING, OF_UNITS, OF_IPUS, OF_REPEATED_IPUS } is_of;
    size_t first;  /* offset of the unit or IPU in an item */
    size_t second; /* offset of the other one, or the same */
    /* If it has a number by IPU: its name in certificates, and what 1 is there. */
    const char *key;
    uint64_t unit;
} list;

#define NUM_UNITS SIZE_MAX
#define ITEMS(name, number)                                                                        \
    offsetof(popliner_solver_options, name), number, sizeof *((popliner_solver_options *)NULL)->name
#define NUMBER(name) offsetof(popliner_solver_options, name)
#define BY_IPU(member)                                                                             \
    ITEMS(member, NUMBER(num_##member)), OF_IPUS, offsetof(popliner_ipu_value, ipu),               \
        offsetof(popliner_ipu_value, ipu)

static const list lists[] = {
    {"objectives", ITEMS(objectives, NUMBER(num_objectives)), OF_NOTHING, 0, 0, NULL, 0},
    {"device_map", ITEMS(device_map, NUMBER(num_mapped_stages)), OF_REPEATED_IPUS, 0, 0, NULL, 0},
    {"counted_units", ITEMS(counted_units, NUM_UNITS), OF_NOTHING, 0, 0, NULL, 0},
    {"cut_rules", ITEMS(cut_rules, NUM_UNITS), OF_NOTHING, 0, 0, NULL, 0},
    {"pairs", ITEMS(pairs, NUMBER(num_pairs)), OF_UNITS, offsetof(popliner_constraint, unit),
     offsetof(popliner_constraint, second_unit), NULL, 0},
    {"placements", ITEMS(placements, NUMBER(num_placements)), OF_UNITS,
     offsetof(popliner_constraint, unit), offsetof(popliner_constraint, unit), NULL, 0},
    {"mem_per_tile", BY_IPU(ipu_limits), "ipu_mem_per_tile", 1},
    {"reserve", BY_IPU(ipu_reserves), "ipu_reserve", 1},
    {"ipu_speeds", BY_IPU(ipu_speeds), "ipu_speed", POPLINER_SPEED_ONE},
    {"ipu_links", ITEMS(ipu_links, NUMBER(num_ipu_links)), OF_IPUS,
     offsetof(popliner_ipu_link, first_ipu), offsetof(popliner_ipu_link, second_ipu), NULL, 0},
};
static const size_t num_lists = sizeof lists / sizeof *lists;

/* The units or IPUs of an item, ascending; equal if it has only one. */
typedef struct item {
    size_t first;
    size_t second;
} item;

static size_t size_at(const void *start, size_t offset) {
    size_t size;
    memcpy(&size, (const char *)start + offset, sizeof size);
    return size;
}

static void *items_of(const popliner_solver_options *o, const list *l) {
    void *items;
    memcpy(&items, (const char *)o + l->items, sizeof items);
    return items;
}

static size_t count_of(const popliner_solver_options *o, const list *l, size_t num_units) {
    return l->count == NUM_UNITS ? num_units : size_at(o, l->count);
}

bool pl_ipu_numbers_at(const popliner_solver_options *options, size_t which,
                       pl_ipu_numbers *numbers) {
    for (const list *l = lists; l < lists + num_lists; ++l)
        if (l->key != NULL && which-- == 0) {
            *numbers = (pl_ipu_numbers){l->name, l->key, l->unit, size_at(options, l->count),
                                        items_of(options, l)};
            return true;
        }
    return false;
}

static popliner_status fail_missing(const char *name, size_t count, popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: NULL; expected %zu items", name, count);
}

static popliner_status check_ipu(const char *name, size_t ipu, popliner_error *error) {
    if (ipu <= POPLINER_MAX_IPU)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: IPU %zu; expected 0 to %d", name, ipu,
                   POPLINER_MAX_IPU);
}

static popliner_status check_item(const list *l, const char *name, item it, size_t num_units,
                                  popliner_error *error) {
    if (l->is_of == OF_IPUS && l->first != l->second && it.first == it.second)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: IPU %zu has no link to itself", name,
                       it.first);
    if (l->is_of != OF_UNITS)
        return check_ipu(name, it.second, error);
    if (it.second < num_units)
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE, "%s: unit %zu, but the chain has %zu units", name,
                   it.second, num_units);
}

/* Returns the units or IPUs of an item, the smaller one first. */
static item item_at(const popliner_solver_options *o, const list *l, size_t i) {
    const char *given = (const char *)items_of(o, l) + i * l->item_size;
    const size_t first = size_at(given, l->first);
    const size_t second = size_at(given, l->second);
    return first < second ? (item){first, second} : (item){second, first};
}

static int compare_items(const void *left, const void *right) {
    const item *a = left;
    const item *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->second > b->second) - (a->second < b->second);
}

/* Sorts the items and checks that they differ. */
static popliner_status check_once(const list *l, const char *name, item *items, size_t count,
                                  popliner_error *error) {
    const char *of = l->is_of == OF_UNITS ? "unit" : "IPU";
    qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 1; i < count; ++i)
        if (compare_items(&items[i], &items[i - 1]) == 0)
            return l->first != l->second
                       ? pl_fail(error, POPLINER_ERROR_USAGE, "%s: %ss %zu and %zu appear twice",
                                 name, of, items[i].first, items[i].second)
                       : pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s %zu appears twice", name, of,
                                 items[i].first);
    return POPLINER_OK;
}

static popliner_status check_list(const popliner_solver_options *o, const list *l, size_t num_units,
                                  popliner_error *error) {
    const size_t count = l->is_of == OF_NOTHING ? 0 : count_of(o, l, num_units);
    const char *name = pl_option_name(o, l->name);
    popliner_status status = POPLINER_OK;
    if (count == 0)
        return POPLINER_OK;
    if (items_of(o, l) == NULL)
        return fail_missing(name, count, error);
    item *items = pl_new_array(count, sizeof *items);
    if (items == NULL)
        return pl_fail_memory(error, "the options of the solver");
    for (size_t i = 0; status == POPLINER_OK && i < count; ++i) {
        items[i] = item_at(o, l, i);
        status = check_item(l, name, items[i], num_units, error);
    }
    if (status == POPLINER_OK && l->is_of != OF_REPEATED_IPUS)
        status = check_once(l, name, items, count, error);
    free(items);
    return status;
}

static popliner_status check_objectives(const popliner_solver_options *o, popliner_error *error) {
    if (o->num_objectives > 0 && o->objectives == NULL)
        return fail_missing(PL_OPTION(o, objectives), o->num_objectives, error);
    for (size_t i = 0; i < o->num_objectives; ++i) {
        const char *name = pl_objective_name(o->objectives[i]);
        if (name == NULL)
            return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %d is not an objective",
                           PL_OPTION(o, objectives), (int)o->objectives[i]);
        for (size_t j = 0; j < i; ++j)
            if (o->objectives[i] == o->objectives[j])
                return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s appears twice",
                               PL_OPTION(o, objectives), name);
    }
    return POPLINER_OK;
}

static popliner_status check_units(const popliner_solver_options *o, size_t num_units,
                                   popliner_error *error) {
    for (size_t unit = 1; o->cut_rules != NULL && unit < num_units; ++unit)
        if ((unsigned)o->cut_rules[unit] > POPLINER_CUT_FORBIDDEN)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "cut_rules: unit %zu has %d, which is not a rule", unit,
                           (int)o->cut_rules[unit]);
    for (size_t i = 0; i < o->num_placements; ++i)
        PL_TRY(check_ipu(PL_OPTION(o, placements), o->placements[i].ipu, error));
    return POPLINER_OK;
}

/* ---- numbers ---- */

static popliner_status check_numbers(const popliner_solver_options *o, popliner_error *error) {
    if ((unsigned)o->method > POPLINER_METHOD_ILP)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %d is not a method", PL_OPTION(o, method),
                       (int)o->method);
    if (o->method == POPLINER_METHOD_ILP && !pl_glpk_exists())
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "%s: integer programs need GLPK, which this libpopliner was built "
                       "without (POPLINER_GLPK=OFF)",
                       PL_OPTION(o, method));
    if (isnan(o->time_limit_seconds) || o->time_limit_seconds < 0.0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %g; expected at least 0",
                       PL_OPTION(o, time_limit_seconds), o->time_limit_seconds);
    if (!(o->slack_percent >= 0.0) || isinf(o->slack_percent))
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %g; expected a percentage, at least 0",
                       PL_OPTION(o, slack_percent), o->slack_percent);
    for (size_t i = 0; i < o->num_ipu_speeds; ++i) {
        popliner_ipu_value speed = o->ipu_speeds[i];
        if (speed.value < POPLINER_LEAST_SPEED || speed.value > POPLINER_MOST_SPEED)
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "%s: IPU %zu: %" PRIu64 " millionths; expected %d to %d",
                           PL_OPTION(o, ipu_speeds), speed.ipu, speed.value, POPLINER_LEAST_SPEED,
                           POPLINER_MOST_SPEED);
    }
    return POPLINER_OK;
}

static popliner_status check_bandwidth(popliner_ipu_link bandwidth, const char *whose,
                                       popliner_error *error) {
    if ((bandwidth.bytes == 0) == (bandwidth.cycles == 0))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "%s: %" PRIu64 " bytes in %" PRIu64 " cycles; expected at least 1 of both",
                   whose, bandwidth.bytes, bandwidth.cycles);
}

static popliner_status check_bandwidths(const popliner_solver_options *o, popliner_error *error) {
    PL_TRY(check_bandwidth(o->link_bandwidth, PL_OPTION(o, link_bandwidth), error));
    for (size_t i = 0; i < o->num_ipu_links; ++i)
        PL_TRY(check_bandwidth(o->ipu_links[i], PL_OPTION(o, ipu_links), error));
    return POPLINER_OK;
}

bool pl_options_share_an_ipu(const popliner_solver_options *options) {
    for (size_t i = 0; i < options->num_mapped_stages; ++i)
        for (size_t k = 0; k < i; ++k)
            if (options->device_map[k] == options->device_map[i])
                return true;
    return false;
}

/* ---- costs ---- */

/* Refuses costs whose copies are those of other stages on each IPU. */
static popliner_status check_copies(const popliner_solver_options *o, const popliner_costs *costs,
                                    popliner_error *error) {
    const popliner_copies *copies = &costs->pipeline.copies;
    if (!costs->has_pipeline || pl_copies_are_of_map(copies, o->device_map, o->num_mapped_stages))
        return POPLINER_OK;
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "%s: the costs count the copies of %s for another device map; solve for that "
                   "one, or make them for copies of this one",
                   PL_OPTION(o, device_map), pl_copies_rule_name(copies->rule));
}

static popliner_status check_costs(const popliner_solver_options *o, const popliner_costs *costs,
                                   popliner_error *error) {
    PL_TRY(check_copies(o, costs, error));
    if (popliner_costs_has_cycles(costs))
        return POPLINER_OK;
    const char *needs = pl_objectives_need_cycles(o);
    const char *option = o->num_ipu_speeds > 0         ? PL_OPTION(o, ipu_speeds)
                         : o->num_ipu_links > 0        ? PL_OPTION(o, ipu_links)
                         : o->link_bandwidth.bytes > 0 ? PL_OPTION(o, link_bandwidth)
                                                       : NULL;
    if (option != NULL)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: the costs have no cycles; leave it out",
                       option);
    return needs == NULL ? POPLINER_OK
                         : pl_fail(error, POPLINER_ERROR_USAGE, "%s: %s needs costs with cycles",
                                   PL_OPTION(o, objectives), needs);
}

popliner_status pl_options_check(const popliner_solver_options *options, size_t num_units,
                                 const popliner_costs *costs, popliner_error *error) {
    PL_TRY(check_objectives(options, error));
    if (options->num_mapped_stages > POPLINER_MAX_IPU + 1)
        return pl_fail(error, POPLINER_ERROR_USAGE, "%s: %zu stages; expected at most %d",
                       PL_OPTION(options, device_map), options->num_mapped_stages,
                       POPLINER_MAX_IPU + 1);
    for (size_t i = 0; i < num_lists; ++i)
        PL_TRY(check_list(options, &lists[i], num_units, error));
    PL_TRY(check_units(options, num_units, error));
    PL_TRY(check_numbers(options, error));
    PL_TRY(check_bandwidths(options, error));
    return costs != NULL ? check_costs(options, costs, error) : POPLINER_OK;
}

/* ---- copies ---- */

popliner_status pl_owned_options_copy(pl_owned_options *copy,
                                      const popliner_solver_options *options, size_t num_units,
                                      popliner_error *error) {
    *copy = (pl_owned_options){.options = *options};
    bool has_memory = true;
    for (const list *l = lists; l < lists + num_lists; ++l) {
        const void *items = items_of(options, l);
        size_t count = count_of(options, l, num_units);
        void *own = has_memory && items != NULL ? pl_new_array(count, l->item_size) : NULL;
        has_memory = has_memory && (items == NULL) == (own == NULL);
        if (own != NULL)
            memcpy(own, items, count * l->item_size);
        memcpy((char *)&copy->options + l->items, &own, sizeof own);
    }
    if (has_memory)
        return POPLINER_OK;
    pl_owned_options_free(copy);
    return pl_fail_memory(error, "the options of the solver");
}

void pl_owned_options_free(pl_owned_options *copy) {
    for (size_t i = 0; i < num_lists; ++i)
        free(items_of(&copy->options, &lists[i]));
    *copy = (pl_owned_options){0};
}

/* ---- reserved memory ---- */

bool popliner_reserve_limit(const popliner_solver_options *options, size_t ipu,
                            uint64_t memory_bytes, uint64_t *limit_bytes) {
    const uint64_t hundredths = options->reserve_percent_hundredths;
    const uint64_t whole = 10000;
    /* in two parts, so that no product overflows */
    uint64_t share = hundredths < whole ? memory_bytes / whole * hundredths +
                                              memory_bytes % whole * hundredths / whole
                                        : memory_bytes;
    uint64_t kept =
        options->reserve_bytes < UINT64_MAX - share ? options->reserve_bytes + share : UINT64_MAX;
    for (size_t i = 0; i < options->num_ipu_reserves; ++i)
        kept = options->ipu_reserves[i].ipu == ipu ? options->ipu_reserves[i].value : kept;
    *limit_bytes = kept > memory_bytes ? kept : memory_bytes - kept;
    return kept <= memory_bytes;
}

bool popliner_reserve_memory(const popliner_solver_options *options, size_t ipu,
                             uint64_t limit_bytes, uint64_t *memory_bytes) {
    const uint64_t most_bytes = INT64_MAX;
    uint64_t too_little = 0;
    uint64_t enough = limit_bytes > 0 ? limit_bytes : 1;
    uint64_t left = 0;
    if (enough > most_bytes)
        return false;
    while (!popliner_reserve_limit(options, ipu, enough, &left) || left < limit_bytes) {
        if (enough > most_bytes / 2)
            return false;
        too_little = enough;
        enough *= 2;
    }
    while (enough - too_little > 1) {
        uint64_t middle = too_little + (enough - too_little) / 2;
        if (popliner_reserve_limit(options, ipu, middle, &left) && left >= limit_bytes)
            enough = middle;
        else
            too_little = middle;
    }
    *memory_bytes = enough;
    return true;
}
