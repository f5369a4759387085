/* One constraint after another is left out, as long as what is left is impossible, too.
 *
 * That finds a smallest contradiction only if nothing becomes impossible when a constraint goes. So
 * to leave out a device map is to leave open how many stages there are and where each runs, not to
 * put stage k on IPU k: pairs and placements still hold, wherever the IPUs are. Then units have to
 * be apart only for the sake of two placements, and whoever is paired with them. So each pair is
 * given one of the IPUs that placements name, or a place beside all of them, and no stage may hold
 * units of two IPUs.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/contradiction.h"

#include "base/failure.h"
#include "base/growth.h"

#include <stdlib.h>
#include <string.h>

/* Ways of giving pairs an IPU that are tried. With more, the map is taken for a part of the
 * contradiction. */
enum { MAX_WAYS = 4096 };

/* Whether there is any split of a problem, whatever memory it needs; also if that is not found
 * out. */
static popliner_status has_split(const pl_problem *problem, const pl_stop *stop, bool *possible,
                                 bool *is_stopped, popliner_error *error) {
    pl_search search = {.problem = problem, .stop = stop};
    pl_split split = {0};
    pl_filter filter = pl_filter_without_memory(problem);
    popliner_status status = pl_search_find(&search, &filter, PL_GOAL_ANY, &split, NULL, error);
    *possible = split.num_stages > 0 || search.is_stopped;
    *is_stopped = *is_stopped || search.is_stopped;
    pl_split_clear(&split);
    pl_search_free(&search);
    return status;
}

/* Constraints, of which some are active. */
typedef struct selection {
    const pl_problem *problem;
    const pl_stop *stop;
    popliner_constraint *constraints; /* owned, like the next */
    uint8_t *active;                  /* [count] */
    size_t count;
    bool is_stopped;
} selection;

/* Units that have to be on one IPU, by the first one of each group. Zero-initialise; free with
 * free_groups. */
typedef struct groups {
    size_t *first;   /* [units]: of the unit's group */
    int64_t *ipu;    /* [units]: of the group with that first unit */
    int64_t *wanted; /* [units]: of the unit, for the way that is tried */
    size_t *open;    /* first units of groups of several units without an IPU */
    size_t num_open;
    int64_t *named; /* the IPUs of placements, each once */
    size_t num_named;
    bool is_impossible; /* a group is wanted on two IPUs */
} groups;

static void free_groups(groups *g) {
    free(g->first);
    free(g->ipu);
    free(g->wanted);
    free(g->open);
    free(g->named);
}

static void join(groups *g, size_t num_units, size_t a, size_t b) {
    size_t first = g->first[a] < g->first[b] ? g->first[a] : g->first[b];
    size_t other = g->first[a] < g->first[b] ? g->first[b] : g->first[a];
    for (size_t unit = 0; unit < num_units; ++unit)
        if (g->first[unit] == other)
            g->first[unit] = first;
}

static void place(groups *g, const popliner_constraint *c) {
    int64_t wanted = (int64_t)c->ipu;
    int64_t *ipu = &g->ipu[g->first[c->unit]];
    g->is_impossible = g->is_impossible || (*ipu != PL_ANY_IPU && *ipu != wanted);
    *ipu = wanted;
    for (size_t i = 0; i < g->num_named; ++i)
        if (g->named[i] == wanted)
            return;
    g->named[g->num_named++] = wanted;
}

/* Finds the groups of the active pairs and placements. */
static popliner_status find_groups(const selection *s, groups *g, popliner_error *error) {
    size_t n = s->problem->num_units;
    g->first = pl_new_array(n, sizeof *g->first);
    g->ipu = pl_new_array(n, sizeof *g->ipu);
    g->wanted = pl_new_array(n, sizeof *g->wanted);
    g->open = pl_new_array(n, sizeof *g->open);
    g->named = pl_new_array(s->count, sizeof *g->named);
    if (g->first == NULL || g->ipu == NULL || g->wanted == NULL || g->open == NULL ||
        g->named == NULL)
        return pl_fail_memory(error, "the constraints");
    for (size_t unit = 0; unit < n; ++unit) {
        g->first[unit] = unit;
        g->ipu[unit] = PL_ANY_IPU;
    }
    for (size_t i = 0; i < s->count; ++i)
        if (s->active[i] != 0 && s->constraints[i].kind == POPLINER_CONSTRAINT_PAIR)
            join(g, n, s->constraints[i].unit, s->constraints[i].second_unit);
    for (size_t i = 0; i < s->count; ++i)
        if (s->active[i] != 0 && s->constraints[i].kind == POPLINER_CONSTRAINT_PLACEMENT)
            place(g, &s->constraints[i]);
    for (size_t unit = 0; unit < n; ++unit) {
        size_t first = g->first[unit];
        bool is_listed = false;
        for (size_t i = 0; i < g->num_open; ++i)
            is_listed = is_listed || g->open[i] == first;
        if (first != unit && g->ipu[first] == PL_ANY_IPU && !is_listed)
            g->open[g->num_open++] = first;
    }
    return POPLINER_OK;
}

/* How many ways there are to give the open groups an IPU: with nothing placed just one. Stops
 * counting behind MAX_WAYS. */
static size_t count_ways(const groups *g) {
    size_t ways = 1;
    for (size_t i = 0; i < g->num_open && g->num_named > 0 && ways <= MAX_WAYS; ++i)
        ways *= g->num_named + 1;
    return ways;
}

/* Takes away the stages that would hold units of two IPUs, in one of the ways. */
static void unmark_strangers(groups *g, size_t way, pl_problem *p) {
    size_t n = p->num_units;
    for (size_t i = 0; i < g->num_open && g->num_named > 0; ++i) {
        size_t choice = way % (g->num_named + 1);
        /* all that is beside the named IPUs may be on one, as nothing wants it apart */
        g->ipu[g->open[i]] = choice < g->num_named ? g->named[choice] : PL_NO_IPU;
        way /= g->num_named + 1;
    }
    for (size_t unit = 0; unit < n; ++unit)
        g->wanted[unit] = g->ipu[g->first[unit]];
    for (size_t first = 0; first < n; ++first) {
        int64_t ipu = PL_ANY_IPU;
        for (size_t last = first; last < n; ++last) {
            if (ipu != PL_ANY_IPU && g->wanted[last] != PL_ANY_IPU && g->wanted[last] != ipu) {
                p->max_end[first] = last < p->max_end[first] ? last : p->max_end[first];
                break;
            }
            ipu = g->wanted[last] != PL_ANY_IPU ? g->wanted[last] : ipu;
        }
    }
}

/* is_possible for a device map that is left out. */
static popliner_status is_possible_anywhere(selection *s, bool *possible, popliner_error *error) {
    groups g = {0};
    pl_problem free_problem = {0};
    uint8_t *cut_and_sizes = pl_new_array(s->count, sizeof *cut_and_sizes);
    size_t num_units = s->problem->num_units;
    size_t *max_end = NULL;
    popliner_status status = cut_and_sizes == NULL ? pl_fail_memory(error, "the constraints")
                                                   : find_groups(s, &g, error);
    *possible = false;
    if (status != POPLINER_OK || g.is_impossible)
        goto done;
    for (size_t i = 0; i < s->count; ++i)
        cut_and_sizes[i] = s->constraints[i].kind != POPLINER_CONSTRAINT_PAIR &&
                           s->constraints[i].kind != POPLINER_CONSTRAINT_PLACEMENT && s->active[i];
    status = pl_problem_create_like(&free_problem, s->problem, s->problem->costs,
                                    s->problem->options, cut_and_sizes, error);
    max_end = pl_new_array(num_units, sizeof *max_end);
    if (status == POPLINER_OK && max_end == NULL)
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;
    memcpy(max_end, free_problem.max_end, num_units * sizeof *max_end);
    size_t num_ways = count_ways(&g);
    *possible = num_ways > MAX_WAYS;
    for (size_t way = 0; status == POPLINER_OK && !*possible && way < num_ways; ++way) {
        memcpy(free_problem.max_end, max_end, num_units * sizeof *max_end);
        unmark_strangers(&g, way, &free_problem);
        status = has_split(&free_problem, s->stop, possible, &s->is_stopped, error);
    }
done:
    free(max_end);
    free(cut_and_sizes);
    pl_problem_free(&free_problem);
    free_groups(&g);
    return status;
}

/* Whether the active constraints allow any split, whatever memory it needs. */
static popliner_status is_possible(selection *s, bool *possible, popliner_error *error) {
    pl_problem other = {0};
    if (s->problem->is_mapped && s->active[0] == 0)
        return is_possible_anywhere(s, possible, error);
    popliner_status status = pl_problem_create_like(&other, s->problem, s->problem->costs,
                                                    s->problem->options, s->active, error);
    if (status == POPLINER_OK)
        status = has_split(&other, s->stop, possible, &s->is_stopped, error);
    pl_problem_free(&other);
    return status;
}

popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error) {
    selection s = {.problem = problem, .stop = stop};
    size_t num_needed = 0;
    popliner_status status =
        pl_constraints_list(problem->costs, problem->options, &s.constraints, &s.count, error);
    s.active = pl_new_array(s.count, sizeof *s.active);
    if (status == POPLINER_OK && s.active == NULL)
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;
    memset(s.active, 1, s.count);
    /* a cut or a place is more telling than the number of IPUs, which is tried first */
    for (size_t i = 0; status == POPLINER_OK && i < s.count; ++i) {
        bool possible = false;
        s.active[i] = 0;
        status = is_possible(&s, &possible, error);
        s.active[i] = possible;
    }
    if (status != POPLINER_OK)
        goto done;
    plan->is_stopped = plan->is_stopped || s.is_stopped;
    /* what was not looked at may not be needed: nothing is told then */
    if (plan->is_stopped) {
        plan->infeasibility.obstacle = POPLINER_OBSTACLE_UNKNOWN;
        goto done;
    }
    for (size_t i = 0; i < s.count; ++i)
        if (s.active[i] != 0)
            s.constraints[num_needed++] = s.constraints[i];
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_CONSTRAINTS;
    plan->infeasibility.constraints = s.constraints;
    plan->infeasibility.num_constraints = num_needed;
    s.constraints = NULL;
done:
    free(s.constraints);
    free(s.active);
    return status;
}
