/* Lists splits stage by stage, shorter stages first: so splits with earlier cuts come first. Tries
 * only stages from which the end can be reached, so every path leads to a split.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"
#include "solve/stage_rule.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"

#include <stdlib.h>
#include <string.h>

/* Above this (units^2 * stages), counting takes longer than it may save. */
enum { MAX_COUNTING = 200000000 };

/* The memory limit of the list. */
enum { MAX_LIST_BYTES = 1 << 28 };

/* Splits, and measured loads, between two checks of the clock. */
enum { SPLITS_PER_LOOK = 1024, LOADS_PER_LOOK = 16 };

#define NO_LOAD UINT32_MAX

void pl_enumeration_free(pl_enumeration *e) {
    pl_arrays_free(&e->arrays);
    free(e->split_of_load);
    free(e->ipu_of_load);
    free(e->load_bytes);
    free(e->load_cycles);
    free(e->is_measured);
    *e = (pl_enumeration){0};
}

/* ---- counting ---- */

static popliner_status count_ways(const pl_reachability *reachability, size_t *count,
                                  popliner_error *error) {
    size_t n = reachability->problem->num_units;
    pl_arrays arrays = {0};
    uint8_t *ok = pl_arrays_new(&arrays, n, sizeof *ok);
    size_t *ways = pl_arrays_new(&arrays, n + 1, sizeof *ways);
    if (arrays.failed) {
        pl_arrays_free(&arrays);
        return pl_fail_memory(error, "the number of splits");
    }
    /* ways[i]: of continuing at unit i with the following stages. Units ascend, so the new values
     * do not enter the sums of the same stage. */
    ways[n] = 1;
    for (size_t stage = reachability->num_stages; stage-- > 0;) {
        for (size_t i = 0; i < n; ++i) {
            size_t sum = 0;
            bool is_reached = pl_reachability_mark(reachability, stage, i, ok);
            for (size_t d = 0; is_reached && d < n - i && sum <= PL_MAX_ENUMERATED_SPLITS; ++d)
                sum += ok[d] != 0 ? ways[i + d + 1] : 0;
            ways[i] = sum <= PL_MAX_ENUMERATED_SPLITS ? sum : PL_MAX_ENUMERATED_SPLITS + 1;
        }
        ways[n] = 0;
    }
    *count = ways[0];
    pl_arrays_free(&arrays);
    return POPLINER_OK;
}

popliner_status pl_enumeration_count(const pl_problem *problem, const pl_limits *limits,
                                     size_t *count, popliner_error *error) {
    pl_reachability reachability = {
        .problem = problem, .limits = limits, .num_stages = problem->options->num_mapped_stages};
    size_t n = problem->num_units;
    *count = 0;
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    *count = PL_MAX_ENUMERATED_SPLITS + 1;
    if (n > MAX_COUNTING / n / reachability.num_stages)
        return POPLINER_OK;
    popliner_status status = pl_reachability_find(&reachability, error);
    if (status == POPLINER_OK)
        status = count_ways(&reachability, count, error);
    pl_reachability_free(&reachability);
    return status;
}

/* ---- listing ---- */

static popliner_interval stage_of(const pl_enumeration *e, size_t split, size_t stage) {
    const uint32_t *first_units = e->first_units + split * e->num_stages;
    size_t end = stage + 1 < e->num_stages ? first_units[stage + 1] : e->problem->num_units;
    return (popliner_interval){first_units[stage], end - 1, e->num_stages - stage};
}

static bool is_of(const pl_enumeration *e, size_t stage, size_t ipu) {
    return e->problem->first_on_ipu[stage] == e->first_stages[ipu];
}

/* State while splits are listed. */
typedef struct lister {
    pl_enumeration *e;
    pl_reachability reachability;
    uint8_t *ok;       /* [stages][units]: the ends of each stage */
    size_t *units;     /* [stages]: where each begins */
    uint32_t *places;  /* [num_places]: a hash table of loads by their stages */
    size_t num_places; /* a power of 2 */
    size_t max_splits;
    size_t max_shared; /* the limit of loads with several stages */
    size_t num_shared;
    bool is_given_up;
    bool is_stopped;
    pl_arrays arrays;
    popliner_error *error;
} lister;

static size_t hash_of(const pl_enumeration *e, size_t split, size_t ipu) {
    uint64_t hash = ipu + 1;
    for (size_t stage = e->first_stages[ipu]; stage < e->num_stages; ++stage) {
        popliner_interval it = stage_of(e, split, stage);
        if (!is_of(e, stage, ipu))
            continue;
        hash = (hash ^ it.first_unit) * 0x9e3779b97f4a7c15u;
        hash = (hash ^ hash >> 29 ^ it.last_unit) * 0xbf58476d1ce4e5b9u;
        hash ^= hash >> 32;
    }
    return (size_t)hash;
}

static bool is_load(const pl_enumeration *e, size_t load, size_t split, size_t ipu) {
    bool is_same = e->ipu_of_load[load] == ipu;
    for (size_t stage = e->first_stages[ipu]; is_same && stage < e->num_stages; ++stage) {
        popliner_interval a = stage_of(e, split, stage);
        popliner_interval b = stage_of(e, e->split_of_load[load], stage);
        is_same =
            !is_of(e, stage, ipu) || (a.first_unit == b.first_unit && a.last_unit == b.last_unit);
    }
    return is_same;
}

static size_t find_place(const lister *l, size_t split, size_t ipu) {
    size_t place = hash_of(l->e, split, ipu) & (l->num_places - 1);
    while (l->places[place] != NO_LOAD && !is_load(l->e, l->places[place], split, ipu))
        place = (place + 1) & (l->num_places - 1);
    return place;
}

/* Doubles the hash table. */
static popliner_status grow_places(lister *l) {
    size_t num_places = l->num_places > 0 ? 2 * l->num_places : 256;
    uint32_t *places = pl_new_array(num_places, sizeof *places);
    if (places == NULL)
        return pl_fail_memory(l->error, "the list of splits");
    memset(places, 0xff, num_places * sizeof *places);
    free(l->places);
    l->places = places;
    l->num_places = num_places;
    for (size_t load = 0; load < l->e->num_loads; ++load)
        places[find_place(l, l->e->split_of_load[load], l->e->ipu_of_load[load])] = (uint32_t)load;
    return POPLINER_OK;
}

/* Adds the load of an IPU in a split, with the bounds that need no measurement. */
static popliner_status add_load(lister *l, size_t split, size_t ipu) {
    pl_enumeration *e = l->e;
    const pl_column_room columns[] = {PL_COLUMN_ROOM(e->split_of_load),
                                      PL_COLUMN_ROOM(e->ipu_of_load), PL_COLUMN_ROOM(e->load_bytes),
                                      PL_COLUMN_ROOM(e->load_cycles),
                                      PL_COLUMN_ROOM(e->is_measured)};
    size_t load = e->num_loads;
    size_t num_stages = 0;
    uint64_t least_bytes = 0;
    uint64_t cycles = 0;
    if (!pl_grow_columns(columns, sizeof columns / sizeof *columns, &e->load_capacity, load + 1))
        return pl_fail_memory(l->error, "the list of splits");
    for (size_t stage = e->first_stages[ipu]; stage < e->num_stages; ++stage) {
        popliner_interval it = stage_of(e, split, stage);
        if (!is_of(e, stage, ipu))
            continue;
        uint64_t bytes =
            popliner_costs_peak(e->problem->costs, it.first_unit, it.last_unit, it.stages_to_end);
        least_bytes = bytes > least_bytes ? bytes : least_bytes;
        cycles = pl_add_or_never(cycles,
                                 pl_problem_cycles(e->problem, stage, it.first_unit, it.last_unit));
        ++num_stages;
    }
    e->split_of_load[load] = (uint32_t)split;
    e->ipu_of_load[load] = (uint32_t)ipu;
    e->load_bytes[load] = least_bytes;
    e->load_cycles[load] = cycles;
    e->is_measured[load] = num_stages == 1;
    l->num_shared += num_stages > 1;
    l->is_given_up = l->is_given_up || l->num_shared > l->max_shared;
    ++e->num_loads;
    return POPLINER_OK;
}

static popliner_status add_split(lister *l) {
    pl_enumeration *e = l->e;
    size_t split = e->count;
    uint64_t cut_bytes = 0;
    if (pl_problem_broken_pairs(l->e->problem, l->units, l->e->num_stages) > 0)
        return POPLINER_OK;
    for (size_t stage = 0; stage < e->num_stages; ++stage) {
        e->first_units[split * e->num_stages + stage] = (uint32_t)l->units[stage];
        if (stage > 0)
            cut_bytes =
                pl_add_cut_bytes(cut_bytes, popliner_costs_cut(e->problem->costs, l->units[stage]));
    }
    e->cut_bytes[split] = cut_bytes;
    for (size_t ipu = 0; ipu < e->num_ipus; ++ipu) {
        popliner_status status = POPLINER_OK;
        if (2 * (e->num_loads + 1) > l->num_places)
            status = grow_places(l);
        if (status != POPLINER_OK)
            return status;
        size_t place = find_place(l, split, ipu);
        if (l->places[place] == NO_LOAD) {
            l->places[place] = (uint32_t)e->num_loads;
            status = add_load(l, split, ipu);
        }
        if (status != POPLINER_OK)
            return status;
        e->loads[split * e->num_ipus + ipu] = l->places[place];
    }
    ++e->count;
    if (e->count % SPLITS_PER_LOOK == 0 && pl_stop_is_wanted(e->stop))
        l->is_stopped = true;
    return POPLINER_OK;
}

/* Lists all splits that continue the first stages in l->units with stage `stage` at `unit`. */
static popliner_status add_splits(lister *l, size_t stage, size_t unit) {
    size_t n = l->e->problem->num_units;
    uint8_t *ok = l->ok + stage * n;
    l->units[stage] = unit;
    if (!pl_reachability_mark(&l->reachability, stage, unit, ok))
        return POPLINER_OK;
    if (stage + 1 == l->e->num_stages)
        return add_split(l);
    for (size_t d = 0; d + 1 < n - unit && !l->is_given_up && !l->is_stopped; ++d) {
        popliner_status status = ok[d] != 0 ? add_splits(l, stage + 1, unit + d + 1) : POPLINER_OK;
        if (status != POPLINER_OK)
            return status;
    }
    return POPLINER_OK;
}

static popliner_status prepare(lister *l) {
    pl_enumeration *e = l->e;
    const pl_problem *p = e->problem;
    e->first_stages = pl_arrays_new(&e->arrays, p->num_ipus, sizeof *e->first_stages);
    e->limit_bytes = pl_arrays_new(&e->arrays, p->num_ipus, sizeof *e->limit_bytes);
    e->first_units =
        pl_arrays_new(&e->arrays, l->max_splits * e->num_stages, sizeof *e->first_units);
    e->loads = pl_arrays_new(&e->arrays, l->max_splits * p->num_ipus, sizeof *e->loads);
    e->cut_bytes = pl_arrays_new(&e->arrays, l->max_splits, sizeof *e->cut_bytes);
    l->ok = pl_arrays_new(&l->arrays, e->num_stages * p->num_units, sizeof *l->ok);
    l->units = pl_arrays_new(&l->arrays, e->num_stages, sizeof *l->units);
    if (e->arrays.failed || l->arrays.failed)
        return pl_fail_memory(l->error, "the list of splits");
    for (size_t stage = 0; stage < e->num_stages; ++stage)
        if (p->first_on_ipu[stage] == stage) {
            e->limit_bytes[e->num_ipus] = pl_limits_peak(p, &e->limits, pl_problem_ipu(p, stage));
            e->first_stages[e->num_ipus++] = stage;
        }
    return pl_reachability_find(&l->reachability, l->error);
}

/* True if a list of this length may be made. */
static bool is_few(const pl_problem *p, size_t count) {
    size_t split_bytes =
        (p->options->num_mapped_stages + p->num_ipus) * sizeof(uint32_t) + sizeof(uint64_t);
    const bool has_spread = pl_objectives_include(p->options, POPLINER_OBJECTIVE_BALANCE);
    const size_t most = has_spread ? PL_MAX_ENUMERATED_SPLITS : PL_MAX_ENUMERATED_SPLITS / 4;
    return count <= most && count <= MAX_LIST_BYTES / split_bytes && p->num_units < UINT32_MAX;
}

static bool is_no_wider(const pl_enumeration *e, const pl_limits *limits) {
    for (size_t i = 0; i < e->num_ipus; ++i) {
        size_t ipu = pl_problem_ipu(e->problem, e->first_stages[i]);
        if (pl_limits_peak(e->problem, limits, ipu) > e->limit_bytes[i])
            return false;
    }
    return true;
}

bool pl_enumeration_serves(const pl_enumeration *e, const pl_limits *limits) {
    return e->is_listed && limits->max_cycles <= e->limits.max_cycles &&
           limits->min_cycles >= e->limits.min_cycles &&
           limits->min_peak_bytes >= e->limits.min_peak_bytes && is_no_wider(e, limits);
}

popliner_status pl_enumeration_list(pl_enumeration *enumeration, const pl_problem *problem,
                                    const pl_limits *limits, const pl_stop *stop, bool *is_stopped,
                                    popliner_error *error) {
    pl_enumeration *e = enumeration;
    size_t count = 0;
    /* too long lists stay too long; other limits may need another list */
    if (e->is_tried && (!e->is_listed || pl_enumeration_serves(e, limits)))
        return POPLINER_OK;
    pl_enumeration_free(e);
    *e = (pl_enumeration){.problem = problem,
                          .stop = stop,
                          .limits = *limits,
                          .is_tried = true,
                          .num_stages = problem->options->num_mapped_stages};
    popliner_status status = pl_enumeration_count(problem, &e->limits, &count, error);
    if (status != POPLINER_OK || !is_few(problem, count))
        return status;
    bool is_quick = pl_costs_shared_peak_is_quick(problem->costs);
    lister l = {.e = e,
                .max_splits = count,
                .max_shared = is_quick ? SIZE_MAX : PL_MAX_ASKED_LOADS,
                .error = error,
                .reachability = {.problem = problem,
                                 .limits = &e->limits,
                                 .num_stages = problem->options->num_mapped_stages}};
    status = prepare(&l);
    if (status == POPLINER_OK && count > 0)
        status = add_splits(&l, 0, 0);
    e->is_listed = status == POPLINER_OK && !l.is_given_up && !l.is_stopped;
    *is_stopped = *is_stopped || l.is_stopped;
    if (!e->is_listed) {
        pl_enumeration_free(e);
        e->is_tried = true;
    }
    pl_arrays_free(&l.arrays);
    free(l.places);
    pl_reachability_free(&l.reachability);
    return status;
}

/* ---- the best split of the list ---- */

/* A pass over the list. */
typedef struct finder {
    pl_enumeration *e;
    const pl_filter *filter;
    popliner_objective objective;
    uint64_t *limit_bytes;     /* [IPUs] */
    popliner_interval *stages; /* [stages]: scratch for one IPU */
    uint64_t best;             /* only smaller values are of interest */
    size_t num_measured;
    bool is_stopped;
    popliner_error *error;
} finder;

static popliner_status measure(finder *f, size_t load) {
    pl_enumeration *e = f->e;
    size_t ipu = e->ipu_of_load[load];
    size_t count = 0;
    if (e->is_measured[load] != 0)
        return POPLINER_OK;
    for (size_t stage = e->first_stages[ipu]; stage < e->num_stages; ++stage)
        if (is_of(e, stage, ipu))
            f->stages[count++] = stage_of(e, e->split_of_load[load], stage);
    popliner_status status =
        pl_problem_shared_peak(e->problem, f->stages, count, &e->load_bytes[load], f->error);
    e->is_measured[load] = status == POPLINER_OK;
    if (++f->num_measured % LOADS_PER_LOOK == 0 && pl_stop_is_wanted(e->stop))
        f->is_stopped = true;
    return status;
}

/* Bounds the values of a split by what is known: peaks from below, the smallest peak from above.
 * False if the split is outside the filter, whatever is not measured yet. */
static bool estimate(const finder *f, size_t split, pl_objective_values *values) {
    const pl_enumeration *e = f->e;
    const uint32_t *loads = e->loads + split * e->num_ipus;
    pl_objective_values v = PL_OBJECTIVE_VALUES_INIT;
    bool is_small = true;
    for (size_t ipu = 0; ipu < e->num_ipus; ++ipu) {
        uint64_t bytes = e->load_bytes[loads[ipu]];
        uint64_t cycles = e->load_cycles[loads[ipu]];
        is_small = is_small && bytes <= f->limit_bytes[ipu];
        uint64_t least_bytes = v.min_peak_bytes;
        pl_objective_values_add(&v,
                                pl_problem_load(e->problem, e->first_stages[ipu], bytes, cycles));
        if (e->is_measured[loads[ipu]] == 0)
            v.min_peak_bytes = least_bytes;
    }
    v.cut_bytes = e->cut_bytes[split];
    if (v.min_peak_bytes == UINT64_MAX) {
        /* nothing is measured: each peak may be the filter's minimum */
        if (v.peak_bytes < f->filter->limits.min_peak_bytes)
            v.peak_bytes = f->filter->limits.min_peak_bytes;
        v.min_peak_bytes = v.peak_bytes;
    }
    *values = v;
    return is_small && pl_filter_admits(f->filter, &v);
}

static uint64_t value_of(const finder *f, const pl_objective_values *v) {
    return f->objective == POPLINER_NUM_OBJECTIVES
               ? 0
               : pl_objective_value(v, f->objective, f->filter->spread_is_of_cycles);
}

/* Tries a split, measuring its IPUs one by one until it is clear whether it is within the filter
 * and better than f->best. If so, lowers f->best. */
static popliner_status try_split(finder *f, size_t split, bool *is_better) {
    pl_enumeration *e = f->e;
    pl_objective_values values;
    *is_better = false;
    for (size_t ipu = 0; ipu <= e->num_ipus; ++ipu) {
        if (!estimate(f, split, &values) || value_of(f, &values) >= f->best)
            return POPLINER_OK;
        if (ipu == e->num_ipus)
            break;
        popliner_status status = measure(f, e->loads[split * e->num_ipus + ipu]);
        if (status != POPLINER_OK)
            return status;
    }
    f->best = value_of(f, &values);
    *is_better = true;
    return POPLINER_OK;
}

static popliner_status find(finder *f, size_t *found) {
    pl_enumeration *e = f->e;
    popliner_status status = POPLINER_OK;
    bool is_better = false;
    *found = SIZE_MAX;
    f->best = UINT64_MAX;
    for (size_t split = 0; status == POPLINER_OK && !f->is_stopped && split < e->count; ++split) {
        if (split % SPLITS_PER_LOOK == 0 && pl_stop_is_wanted(e->stop))
            f->is_stopped = true;
        status = try_split(f, split, &is_better);
        if (!is_better)
            continue;
        *found = split;
        if (f->best == 0)
            break;
    }
    return status;
}

popliner_status pl_enumeration_find(pl_enumeration *enumeration, const pl_filter *filter,
                                    popliner_objective objective, pl_split *split, bool *is_stopped,
                                    popliner_error *error) {
    pl_enumeration *e = enumeration;
    finder f = {.e = e, .filter = filter, .objective = objective, .error = error};
    pl_arrays arrays = {0};
    size_t found = SIZE_MAX;
    f.limit_bytes = pl_arrays_new(&arrays, e->num_ipus, sizeof *f.limit_bytes);
    f.stages = pl_arrays_new(&arrays, e->num_stages, sizeof *f.stages);
    if (arrays.failed) {
        pl_arrays_free(&arrays);
        return pl_fail_memory(error, "the best split");
    }
    for (size_t ipu = 0; ipu < e->num_ipus; ++ipu)
        f.limit_bytes[ipu] = pl_limits_peak(e->problem, &filter->limits,
                                            pl_problem_ipu(e->problem, e->first_stages[ipu]));
    popliner_status status = find(&f, &found);
    *is_stopped = *is_stopped || f.is_stopped;
    for (size_t stage = 0; status == POPLINER_OK && found != SIZE_MAX && stage < e->num_stages;
         ++stage)
        if (!pl_split_append(split, e->first_units[found * e->num_stages + stage]))
            status = pl_fail_memory(error, "the best split");
    pl_arrays_free(&arrays);
    return status;
}
