/* Finds a minimal conflicting set: leaves out one constraint after another, as long as the others
 * still allow no split.
 *
 * That requires that leaving out a constraint never makes a split impossible. So leaving out a
 * device map leaves open how many stages there are and where each runs; it does not put stage k on
 * IPU k. Pairs and placements still hold, whichever the IPUs are. Stages share an IPU only where
 * these require it, since fewer stages on an IPU never need more.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"
#include "solve/stage_rule.h"

#include <stdlib.h>
#include <string.h>

/* The limit of a search's steps, and how many steps a slow measurement counts as. */
enum { MAX_STEPS = 50000000, STEPS_OF_SLOW_PEAK = 50000 };

/* ---- groups of units that must be on one IPU ---- */

/* Each group is named by its first unit. Zero-initialise; free with free_groups. */
typedef struct unit_groups {
    size_t num_units;
    size_t *first;      /* [units] the first unit of the unit's group */
    int64_t *ipu;       /* [units] the IPU that placements require, by group; or PL_ANY_IPU */
    bool has_several;   /* some group has several units */
    bool is_impossible; /* a group must be on two IPUs */
} unit_groups;

static void join(unit_groups *g, size_t a, size_t b) {
    size_t first = g->first[a] < g->first[b] ? g->first[a] : g->first[b];
    size_t other = g->first[a] < g->first[b] ? g->first[b] : g->first[a];
    if (first == other)
        return;
    g->has_several = true;
    if (g->ipu[first] == PL_ANY_IPU)
        g->ipu[first] = g->ipu[other];
    for (size_t unit = 0; unit < g->num_units; ++unit)
        if (g->first[unit] == other)
            g->first[unit] = first;
}

static void place(unit_groups *g, const popliner_constraint *c) {
    int64_t wanted = (int64_t)c->ipu;
    int64_t *ipu = &g->ipu[g->first[c->unit]];
    g->is_impossible = g->is_impossible || (*ipu != PL_ANY_IPU && *ipu != wanted);
    *ipu = wanted;
    for (size_t unit = 0; unit < g->num_units; ++unit)
        if (g->ipu[g->first[unit]] == wanted)
            join(g, unit, c->unit);
}

/* Finds the groups of a chain that the active pairs and placements make; ignores other constraints.
 * Errors: MEMORY. O(units * constraints). */
static popliner_status find_groups(unit_groups *groups, size_t num_units,
                                   const popliner_constraint *constraints, const uint8_t *active,
                                   size_t count, popliner_error *error) {
    unit_groups *g = groups;
    g->num_units = num_units;
    g->first = pl_new_array(num_units, sizeof *g->first);
    g->ipu = pl_new_array(num_units, sizeof *g->ipu);
    if (g->first == NULL || g->ipu == NULL)
        return pl_fail_memory(error, "the constraints");
    for (size_t unit = 0; unit < num_units; ++unit) {
        g->first[unit] = unit;
        g->ipu[unit] = PL_ANY_IPU;
    }
    for (size_t i = 0; i < count; ++i)
        if (active[i] != 0 && constraints[i].kind == POPLINER_CONSTRAINT_PAIR)
            join(g, constraints[i].unit, constraints[i].second_unit);
    for (size_t i = 0; i < count; ++i)
        if (active[i] != 0 && constraints[i].kind == POPLINER_CONSTRAINT_PLACEMENT)
            place(g, &constraints[i]);
    return POPLINER_OK;
}

static void free_groups(unit_groups *groups) {
    free(groups->first);
    free(groups->ipu);
    *groups = (unit_groups){0};
}

/* Removes, from a problem without a device map, stages with units of groups on two IPUs. */
static void separate_groups(const unit_groups *groups, pl_problem *problem) {
    for (size_t first = 0; first < problem->num_units; ++first) {
        int64_t ipu = PL_ANY_IPU;
        for (size_t unit = first; unit < problem->max_end[first]; ++unit) {
            int64_t wanted = groups->ipu[groups->first[unit]];
            if (ipu != PL_ANY_IPU && wanted != PL_ANY_IPU && wanted != ipu)
                problem->max_end[first] = unit;
            ipu = wanted != PL_ANY_IPU ? wanted : ipu;
        }
    }
}

/* ---- the search for units on one IPU ---- */

/* Searches from the end of the chain, one stage after another, the shortest first. Groups that have
 * units in one stage are joined. Once all units of joined groups are in stages, these stages are
 * together on an IPU, and must not be forbidden there. Which stages may precede depends on where
 * the last stage begins, on the joined stages that wait for more units, and, if costs depend on the
 * place, on the number of stages. Dead ends are stored. */

/* A state from which a unit cannot be continued to the start of the chain. */
typedef struct dead_end {
    size_t next; /* of the same unit, or SIZE_MAX */
    size_t begin;
    size_t length; /* in the pool */
} dead_end;

typedef struct walk {
    const unit_groups *groups;
    const pl_problem *problem;
    pl_filter filter;
    size_t num_stages_wanted;  /* if costs depend on it; else 0 */
    popliner_interval *stages; /* [units], from the end of the chain */
    size_t num_stages;
    size_t *joined;   /* [units] by group: another group that it is joined to, or itself */
    uint8_t *is_open; /* [units] by group: waits for more units */
    size_t *key;      /* scratch: the key of the current stages */
    popliner_interval *together;

    /* [units]: the last dead end that begins with the unit; SIZE_MAX if there is none */
    size_t *newest;
    dead_end *dead_ends;
    size_t num_dead_ends;
    size_t dead_end_capacity;
    size_t *pool;
    size_t pool_length;
    size_t pool_capacity;
    size_t num_steps;
    pl_arrays arrays; /* own those that do not grow */
} walk;

static void free_walk(walk *w) {
    pl_arrays_free(&w->arrays);
    free(w->dead_ends);
    free(w->pool);
}

static popliner_status begin_walk(walk *w, popliner_error *error) {
    size_t n = w->problem->num_units;
    w->stages = pl_arrays_new(&w->arrays, n, sizeof *w->stages);
    w->joined = pl_arrays_new(&w->arrays, n, sizeof *w->joined);
    w->is_open = pl_arrays_new(&w->arrays, n, sizeof *w->is_open);
    w->key = pl_arrays_new(&w->arrays, 3 * n + 1, sizeof *w->key);
    w->together = pl_arrays_new(&w->arrays, n, sizeof *w->together);
    w->newest = pl_arrays_new(&w->arrays, n, sizeof *w->newest);
    return w->arrays.failed ? pl_fail_memory(error, "the constraints") : POPLINER_OK;
}

/* Returns the group that represents all groups joined to the unit's. */
static size_t group_of(const walk *w, size_t unit) {
    size_t group = w->groups->first[unit];
    while (w->joined[group] != group)
        group = w->joined[group];
    return group;
}

/* Joins the groups that have units in one stage, and finds which wait for more. */
static void join_groups(walk *w) {
    size_t n = w->problem->num_units;
    size_t begin = w->num_stages > 0 ? w->stages[w->num_stages - 1].first_unit : n;
    w->num_steps += n;
    for (size_t unit = 0; unit < n; ++unit) {
        w->joined[unit] = unit;
        w->is_open[unit] = 0;
    }
    for (size_t i = 0; i < w->num_stages; ++i)
        for (size_t unit = w->stages[i].first_unit + 1; unit <= w->stages[i].last_unit; ++unit)
            w->joined[group_of(w, unit)] = group_of(w, unit - 1);
    for (size_t unit = 0; unit < begin; ++unit)
        w->is_open[group_of(w, unit)] = 1;
}

/* Checks whether the last stage may be on one IPU with those that it is joined to. */
static popliner_status check_ipu(walk *w, bool *fits, popliner_error *error) {
    const unit_groups *g = w->groups;
    size_t group = group_of(w, w->stages[w->num_stages - 1].first_unit);
    size_t num_together = 0;
    int64_t ipu = PL_ANY_IPU;
    uint64_t peak_bytes = 0;
    for (size_t unit = 0; unit < g->num_units; ++unit) {
        if (g->first[unit] != unit || g->ipu[unit] == PL_ANY_IPU || group_of(w, unit) != group)
            continue;
        *fits = *fits && ipu == PL_ANY_IPU;
        ipu = g->ipu[unit];
    }
    if (!*fits || w->is_open[group] != 0)
        return POPLINER_OK;
    for (size_t i = w->num_stages; i-- > 0;)
        if (group_of(w, w->stages[i].first_unit) == group)
            w->together[num_together++] = w->stages[i];
    if (num_together < 2)
        return POPLINER_OK;
    w->num_steps += pl_costs_shared_peak_is_quick(w->problem->costs) ? 1 : STEPS_OF_SLOW_PEAK;
    popliner_status status =
        pl_problem_shared_peak(w->problem, w->together, num_together, &peak_bytes, error);
    *fits = peak_bytes != POPLINER_PEAK_FORBIDDEN;
    return status;
}

/* Sets w->key to all that matters of the stages; returns its length. */
static size_t make_key(walk *w) {
    size_t length = 0;
    w->key[length++] = w->problem->depends_on_end ? w->num_stages : 0;
    for (size_t i = 0; i < w->num_stages; ++i)
        if (w->is_open[group_of(w, w->stages[i].first_unit)] != 0) {
            w->key[length++] = w->stages[i].first_unit;
            w->key[length++] = w->stages[i].last_unit;
            w->key[length++] = w->stages[i].stages_to_end;
        }
    return length;
}

static bool is_dead_end(walk *w, size_t first_unit) {
    size_t length = make_key(w);
    for (size_t i = w->newest[first_unit]; i != SIZE_MAX; i = w->dead_ends[i].next) {
        w->num_steps += 1;
        if (w->dead_ends[i].length == length &&
            memcmp(w->pool + w->dead_ends[i].begin, w->key, length * sizeof *w->key) == 0)
            return true;
    }
    return false;
}

static popliner_status remember(walk *w, size_t first_unit, popliner_error *error) {
    join_groups(w);
    size_t length = make_key(w);
    if (!pl_grow(&w->dead_ends, &w->dead_end_capacity, w->num_dead_ends + 1,
                 sizeof *w->dead_ends) ||
        !pl_grow(&w->pool, &w->pool_capacity, w->pool_length + length, sizeof *w->pool))
        return pl_fail_memory(error, "the constraints");
    memcpy(w->pool + w->pool_length, w->key, length * sizeof *w->key);
    w->dead_ends[w->num_dead_ends] = (dead_end){w->newest[first_unit], w->pool_length, length};
    w->newest[first_unit] = w->num_dead_ends++;
    w->pool_length += length;
    return POPLINER_OK;
}

/* Adds a stage before the others, if it is allowed there. */
static popliner_status add_stage(walk *w, size_t first_unit, size_t end_unit,
                                 popliner_error *error) {
    bool fits = true;
    size_t to_end = w->num_stages_wanted > 0 ? w->num_stages_wanted : w->num_stages + 1;
    pl_stage_rule rule = pl_stage_rule_of(w->problem, &w->filter.limits, 0, to_end);
    w->num_steps += 1;
    if (!pl_stage_rule_allows(&rule, first_unit, end_unit))
        return POPLINER_OK;
    w->stages[w->num_stages++] = (popliner_interval){first_unit, end_unit - 1, rule.to_end};
    join_groups(w);
    popliner_status status = check_ipu(w, &fits, error);
    if (status == POPLINER_OK && fits && first_unit > 0)
        fits = !is_dead_end(w, first_unit);
    w->num_stages -= !fits;
    return status;
}

/* True if the number of stages is the wanted one. The largest number that the costs have stands for
 * all larger ones. */
static bool has_right_number(const walk *w) {
    return w->num_stages_wanted == 0 || w->num_stages == w->num_stages_wanted ||
           (w->num_stages > w->num_stages_wanted &&
            w->num_stages_wanted == w->problem->costs->max_stages_to_end);
}

/* Searches for a split; w->num_stages is 0 if there is none. */
static popliner_status find(walk *w, const pl_stop *stop, bool *is_stopped, popliner_error *error) {
    size_t first_unit = w->problem->num_units;
    popliner_status status = POPLINER_OK;
    w->num_stages = 0;
    w->num_dead_ends = 0;
    w->pool_length = 0;
    for (size_t unit = 0; unit < w->problem->num_units; ++unit)
        w->newest[unit] = SIZE_MAX;
    while (status == POPLINER_OK && w->num_steps < MAX_STEPS && !*is_stopped) {
        size_t end_unit =
            w->num_stages > 0 ? w->stages[w->num_stages - 1].first_unit : w->problem->num_units;
        if (end_unit == 0 && has_right_number(w))
            break;
        /* a stage that begins earlier ends no later */
        if (first_unit > 0 && end_unit > 0 && w->problem->max_end[first_unit - 1] >= end_unit) {
            status = add_stage(w, --first_unit, end_unit, error);
            continue;
        }
        *is_stopped = pl_stop_is_wanted(stop);
        if (end_unit > 0 && w->num_stages > 0)
            status = remember(w, end_unit, error);
        if (w->num_stages == 0)
            break;
        first_unit = w->stages[--w->num_stages].first_unit;
    }
    return status;
}

/* Like try_units, with num_steps_left steps. */
static popliner_status try_groups(const unit_groups *groups, const pl_problem *problem,
                                  size_t num_steps_left, const pl_stop *stop, bool *possible,
                                  bool *is_stopped, popliner_error *error) {
    walk w = {.groups = groups,
              .problem = problem,
              .filter = pl_filter_without_memory(problem),
              .num_steps = MAX_STEPS - num_steps_left};
    bool follows_split = problem->costs->follows_split;
    size_t most = follows_split ? problem->costs->max_stages_to_end : 0;
    popliner_status status = begin_walk(&w, error);
    *possible = false;
    for (size_t wanted = follows_split ? 1 : 0;
         status == POPLINER_OK && !*possible && wanted <= most; ++wanted) {
        w.num_stages_wanted = wanted;
        status = find(&w, stop, is_stopped, error);
        *possible = w.num_stages > 0 || *is_stopped || w.num_steps >= MAX_STEPS;
    }
    free_walk(&w);
    return status;
}

/* Makes *one the groups with this group as the only one of several units; false if it has a single
 * unit. */
static bool take_group(const unit_groups *groups, size_t first_unit, unit_groups *one) {
    size_t num_taken = 0;
    for (size_t unit = 0; unit < groups->num_units; ++unit) {
        bool is_taken = groups->first[unit] == first_unit;
        one->first[unit] = is_taken ? first_unit : unit;
        one->ipu[unit] = PL_ANY_IPU;
        num_taken += is_taken;
    }
    return num_taken > 1;
}

/* Checks whether a problem without a device map, pairs and placements has a split, whatever memory
 * it needs, in which each group is on one IPU: stages with units of one group share it, and no
 * other stages do. *possible is also true if the search takes too many steps or is stopped. Errors:
 * MEMORY, those of shared peaks. Exponential in the number of overlapping groups; at most 50
 * million steps, or 1,000 slow measurements, and a quarter of that for each group alone. */
static popliner_status try_units(const unit_groups *groups, const pl_problem *problem,
                                 const pl_stop *stop, bool *possible, bool *is_stopped,
                                 popliner_error *error) {
    unit_groups one = {0};
    popliner_status status = find_groups(&one, groups->num_units, NULL, NULL, 0, error);
    *possible = true;
    /* one group alone takes few steps, and may already be impossible */
    for (size_t unit = 0;
         status == POPLINER_OK && *possible && !*is_stopped && unit < groups->num_units; ++unit)
        if (take_group(groups, unit, &one))
            status = try_groups(&one, problem, MAX_STEPS / 4, stop, possible, is_stopped, error);
    if (status == POPLINER_OK && *possible && !*is_stopped)
        status = try_groups(groups, problem, MAX_STEPS, stop, possible, is_stopped, error);
    free_groups(&one);
    return status;
}

/* ---- constraints ---- */

/* Checks whether a problem has any split, whatever memory it needs. *possible is also true if the
 * search was stopped. */
static popliner_status has_split(const pl_problem *problem, const pl_stop *stop, bool *possible,
                                 bool *is_stopped, popliner_error *error) {
    pl_search search = {.problem = problem, .stop = stop};
    pl_split split = {0};
    pl_filter filter = pl_filter_without_memory(problem);
    popliner_status status = pl_search_find(&search, &filter, PL_GOAL_ANY, &split, error);
    *possible = split.num_stages > 0 || search.is_stopped;
    *is_stopped = *is_stopped || search.is_stopped;
    pl_split_clear(&split);
    pl_search_free(&search);
    return status;
}

/* The constraints, and which of them are active. */
typedef struct selection {
    const pl_problem *like; /* a problem of these costs, or NULL */
    const popliner_costs *costs;
    const popliner_solver_options *options;
    const pl_stop *stop;
    popliner_constraint *constraints; /* owned, like `active` */
    uint8_t *active;                  /* [count] */
    size_t count;
    bool is_stopped;
} selection;

/* Like is_possible, with the device map left out. */
static popliner_status is_possible_anywhere(selection *s, bool *possible, popliner_error *error) {
    unit_groups groups = {0};
    pl_problem free_problem = {0};
    /* constraints other than pairs and placements */
    uint8_t *others = pl_new_array(s->count, sizeof *others);
    popliner_status status = others == NULL
                                 ? pl_fail_memory(error, "the constraints")
                                 : find_groups(&groups, popliner_costs_num_units(s->costs),
                                               s->constraints, s->active, s->count, error);
    *possible = false;
    if (status != POPLINER_OK || groups.is_impossible)
        goto done;
    for (size_t i = 0; i < s->count; ++i)
        others[i] = !pl_constraint_of(s->constraints[i].kind)->is_of_ipu && s->active[i];
    status = pl_problem_create_like(&free_problem, s->like, s->costs, s->options, others, error);
    if (status != POPLINER_OK)
        goto done;
    separate_groups(&groups, &free_problem);
    status = has_split(&free_problem, s->stop, possible, &s->is_stopped, error);
    if (status == POPLINER_OK && *possible && groups.has_several && !s->is_stopped)
        status = try_units(&groups, &free_problem, s->stop, possible, &s->is_stopped, error);
done:
    free(others);
    pl_problem_free(&free_problem);
    free_groups(&groups);
    return status;
}

/* Checks whether the active constraints allow any split, whatever memory it needs. */
static popliner_status is_possible(selection *s, bool *possible, popliner_error *error) {
    pl_problem other = {0};
    if (s->options->num_mapped_stages > 0 && s->active[0] == 0)
        return is_possible_anywhere(s, possible, error);
    popliner_status status =
        pl_problem_create_like(&other, s->like, s->costs, s->options, s->active, error);
    if (status == POPLINER_OK)
        status = has_split(&other, s->stop, possible, &s->is_stopped, error);
    pl_problem_free(&other);
    return status;
}

/* Checks whether the active constraints would allow a split if the costs forbade nothing. */
static popliner_status find_needs_costs(selection *s, bool *needs_costs, popliner_error *error) {
    popliner_solver_options options = *s->options;
    popliner_costs *costs = NULL;
    selection other = *s;
    options.ipu_weight = NULL; /* too heavy stages are also forbidden */
    popliner_status status =
        popliner_costs_create(popliner_costs_num_units(s->costs), 1, &costs, error);
    other.like = NULL;
    other.costs = costs;
    other.options = &options;
    if (status == POPLINER_OK)
        status = is_possible(&other, needs_costs, error);
    s->is_stopped = other.is_stopped;
    popliner_costs_free(costs);
    return status;
}

popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error) {
    selection s = {
        .like = problem, .costs = problem->costs, .options = problem->options, .stop = stop};
    pl_constraints list = {0};
    size_t num_needed = 0;
    popliner_status status =
        pl_constraints_list(problem->options, problem->num_units, &list, error);
    s.constraints = list.items;
    s.count = list.count;
    s.active = pl_new_array(s.count, sizeof *s.active);
    if (status == POPLINER_OK && s.active == NULL)
        status = pl_fail_memory(error, "the constraints");
    if (status != POPLINER_OK)
        goto done;
    memset(s.active, 1, s.count);
    /* the number of IPUs is left out first: a cut or a place explains more */
    for (size_t i = 0; status == POPLINER_OK && i < s.count; ++i) {
        bool possible = false;
        s.active[i] = 0;
        status = is_possible(&s, &possible, error);
        s.active[i] = possible;
    }
    if (status == POPLINER_OK)
        status = find_needs_costs(&s, &plan->infeasibility.needs_costs, error);
    if (status != POPLINER_OK)
        goto done;
    plan->is_stopped = plan->is_stopped || s.is_stopped;
    /* the set may not be minimal, so none is reported */
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
