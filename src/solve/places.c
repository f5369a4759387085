/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/places.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/stop.h"

#include <stdlib.h>

/* ---- places ---- */

/* Adds the places of pipelines that may end anywhere, from the last one on. */
static void lay_any(pl_places *p, size_t max_stages) {
    for (size_t stage = max_stages; stage-- > 0;)
        p->items[stage] =
            (pl_place){pl_fewer(stage, p->num_special), 1, stage + 1, stage == 0, true};
}

/* Adds, for each number of stages, the place that so many leave to the others, and its special
 * places, from the last one on. */
static void lay_exact(pl_places *p, const pl_problem *problem, size_t max_stages) {
    const size_t special = p->num_special;
    size_t at = p->count;
    size_t plain = p->count; /* the one laid last */
    for (size_t n = 1; n <= max_stages; ++n) {
        const bool is_allowed = n >= problem->min_stages;
        if (n > special) {
            p->items[--at] = (pl_place){special, n - special, plain, special == 0 && is_allowed,
                                        n == special + 1};
            plain = at;
        }
        for (size_t k = is_allowed ? pl_fewer(special, n) : 0; k-- > 0;) {
            const bool is_last = k + 1 == pl_fewer(special, n);
            --at;
            p->items[at] = (pl_place){k, n - k, !is_last ? at + 1 : plain, k == 0, k + 1 == n};
        }
    }
}

popliner_status pl_places_lay(pl_places *places, const pl_problem *problem, const pl_limits *limits,
                              size_t max_stages, popliner_error *error) {
    pl_places *p = places;
    p->num_special = pl_fewer(pl_problem_num_special(problem, limits), max_stages);
    p->is_exact = problem->depends_on_end || problem->is_mapped;
    p->count = p->is_exact ? 0 : max_stages;
    for (size_t n = 1; p->is_exact && n <= max_stages; ++n)
        p->count +=
            (n > p->num_special) + (n >= problem->min_stages ? pl_fewer(n, p->num_special) : 0);
    p->items = pl_new_array(p->count, sizeof *p->items);
    if (p->items == NULL)
        return pl_fail_memory(error, "the places of the stages");
    if (p->is_exact)
        lay_exact(p, problem, max_stages);
    else
        lay_any(p, max_stages);
    return POPLINER_OK;
}

void pl_places_free(pl_places *places) {
    free(places->items);
    *places = (pl_places){0};
}

/* ---- ways through the chain ---- */

/* Finds the stages that a place may have, of the units that stages before it reach. */
static popliner_status find_ends(pl_ways_through *w, size_t place, uint8_t *begins,
                                 popliner_error *error) {
    const size_t n = w->problem->num_units;
    const pl_place *at = &w->places.items[place];
    pl_stage_ends *ends = &w->ends[place];
    const pl_stage_rule rule = pl_stage_rule_of(w->problem, w->limits, at->stage, at->to_end);
    for (size_t i = 0; i < n; ++i) /* where places are one, stages reach them from themselves */
        begins[i] = at->next == place || w->before[place * (n + 1) + i] <= n;
    popliner_status status = pl_stage_ends_find(ends, &rule, begins, error);
    for (size_t i = 0; status == POPLINER_OK && w->may_be != NULL && i < n; ++i) {
        uint8_t *ok = pl_stage_ends_marks(ends, i);
        for (size_t end = ends->from[i]; end < ends->to[i]; ++end, ++ok)
            *ok = *ok != 0 && w->may_be(w->user, i, end);
    }
    return status;
}

/* Finds the fewest stages before each unit and place. */
static popliner_status go_forward(pl_ways_through *w, uint8_t *begins, popliner_error *error) {
    const size_t n = w->problem->num_units;
    popliner_status status = POPLINER_OK;
    for (size_t place = 0; status == POPLINER_OK && place < w->places.count; ++place) {
        const pl_place *at = &w->places.items[place];
        const pl_stage_ends *ends = &w->ends[place];
        size_t *before = w->before + place * (n + 1);
        size_t *next = w->before + at->next * (n + 1);
        before[0] = at->begins ? 0 : before[0];
        w->is_stopped = w->stop != NULL && pl_stop_is_wanted(w->stop);
        if (w->is_stopped)
            break;
        status = find_ends(w, place, begins, error);
        for (size_t i = 0; status == POPLINER_OK && at->next < w->places.count && i < n; ++i) {
            const uint8_t *ok = pl_stage_ends_marks(ends, i);
            const size_t own = before[i] + 1;
            for (size_t end = ends->from[i]; own <= n && end < ends->to[i]; ++end, ++ok)
                next[end] = *ok != 0 && own < next[end] ? own : next[end];
        }
    }
    return status;
}

/* Finds the fewest stages from each unit and place on, and drops those on no way. */
static void go_back(pl_ways_through *w) {
    const size_t n = w->problem->num_units;
    const size_t most = pl_fewer(w->problem->max_stages, n);
    for (size_t place = w->places.count; place-- > 0;) {
        const pl_place *at = &w->places.items[place];
        pl_stage_ends *ends = &w->ends[place];
        const size_t *before = w->before + place * (n + 1);
        const size_t *rest = w->after + at->next * (n + 1);
        size_t *after = w->after + place * (n + 1);
        for (size_t i = n; i-- > 0;) {
            uint8_t *ok = pl_stage_ends_marks(ends, i);
            size_t to = ends->from[i]; /* who goes through all ends has no others after the last */
            for (size_t end = ends->from[i]; end < ends->to[i]; ++end, ++ok) {
                const size_t own = end < n ? rest[end] : at->ends ? 0 : n + 1;
                *ok = *ok != 0 && before[i] + 1 + own <= most;
                to = *ok != 0 ? end + 1 : to;
                after[i] = *ok != 0 && own < after[i] ? own + 1 : after[i];
            }
            ends->to[i] = to;
        }
        w->exists = w->exists || (at->begins && after[0] <= n);
    }
}

popliner_status pl_ways_find(pl_ways_through *ways, popliner_error *error) {
    pl_ways_through *w = ways;
    const size_t n = w->problem->num_units;
    popliner_status status =
        w->places.items == NULL
            ? pl_places_lay(&w->places, w->problem, w->limits, w->problem->max_stages, error)
            : POPLINER_OK;
    const size_t size = (w->places.count + 1) * (n + 1);
    uint8_t *begins = pl_new_array(n, sizeof *begins);
    w->ends = pl_arrays_new(&w->arrays, w->places.count, sizeof *w->ends);
    w->before = pl_arrays_new(&w->arrays, size, sizeof *w->before);
    w->after = pl_arrays_new(&w->arrays, size, sizeof *w->after);
    if (status == POPLINER_OK && (begins == NULL || w->arrays.failed))
        status = pl_fail_memory(error, "the ways through the chain");
    for (size_t i = 0; status == POPLINER_OK && i < size; ++i)
        w->before[i] = w->after[i] = n + 1;
    if (status == POPLINER_OK)
        status = go_forward(w, begins, error);
    if (status == POPLINER_OK && !w->is_stopped)
        go_back(w);
    free(begins);
    return status;
}

void pl_ways_free(pl_ways_through *ways) {
    for (size_t place = 0; ways->ends != NULL && place < ways->places.count; ++place)
        pl_stage_ends_free(&ways->ends[place]);
    pl_arrays_free(&ways->arrays);
    pl_places_free(&ways->places);
    *ways = (pl_ways_through){0};
}
