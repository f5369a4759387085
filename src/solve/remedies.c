/* Changes of the request with which a split would fit.
 *
 * Each remedy is tried in a copy of the options, as a caller would change them. Numbers are found
 * by bisection: a larger limit, or fewer or more units allowed in a stage, never rules out a split.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/pipeline.h"
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/options.h"

#include <stdlib.h>

/* The number of IPUs and of constraints that are tried. */
enum { MAX_IPUS = 16, MAX_CONSTRAINTS = 64 };

#define NO_LIMIT (POPLINER_PEAK_FORBIDDEN - 1)

typedef struct advice {
    const pl_problem *problem;
    const pl_stop *stop;
    popliner_infeasibility *why;
    size_t capacity;
    uint64_t work; /* of all trials */
    bool is_over;  /* no time is left, or nothing may be done any more */
    popliner_error *error;
} advice;

/* Changed options and a search with them. Zero-initialise; free with end_trial. */
typedef struct trial {
    pl_owned_options own;
    pl_problem problem;
    pl_search search;
    pl_split split; /* the last answer */
} trial;

static popliner_status begin_trial(advice *a, trial *t) {
    const popliner_solver_options *options = a->problem->options;
    popliner_status status =
        pl_owned_options_copy(&t->own, options, a->problem->num_units, a->error);
    if (status != POPLINER_OK)
        return status;
    t->own.options.listener = NULL;
    /* room for an IPU without its own limit */
    popliner_ipu_value *limits = realloc((popliner_ipu_value *)t->own.options.ipu_limits,
                                         (options->num_ipu_limits + 1) * sizeof *limits);
    if (limits == NULL)
        return pl_fail_memory(a->error, "the limits of IPUs");
    t->own.options.ipu_limits = limits;
    return POPLINER_OK;
}

static void end_search(trial *t) {
    pl_search_free(&t->search);
    pl_problem_free(&t->problem);
    pl_split_clear(&t->split);
}

static void end_trial(trial *t) {
    end_search(t);
    pl_owned_options_free(&t->own);
}

/* Prepares a search with the current options; limits may still change. */
static popliner_status begin_search(advice *a, trial *t) {
    end_search(t);
    t->search = (pl_search){.problem = &t->problem, .stop = a->stop};
    return pl_problem_create_like(&t->problem, a->problem, a->problem->costs, &t->own.options, NULL,
                                  a->error);
}

/* Searches for any split. */
static popliner_status search(advice *a, trial *t, bool *fits) {
    *fits = false;
    if (a->is_over)
        return POPLINER_OK;
    enum { WORK_OF_CUT = 64, PART_OF_TRIAL = 8 };
    const uint64_t before = t->search.shared.work;
    pl_filter filter = pl_filter_of_limits(&t->problem);
    pl_split_clear(&t->split);
    t->search.most_work = before + PL_WORK_FOR_REASONS / PART_OF_TRIAL;
    popliner_status status = pl_search_find(&t->search, &filter, PL_GOAL_ANY, &t->split, a->error);
    a->work += t->search.shared.work - before + WORK_OF_CUT * t->problem.num_units;
    a->is_over = t->search.is_stopped || a->work >= PL_WORK_FOR_REASONS;
    *fits = t->split.num_stages > 0;
    return status;
}

/* Searches with the current options. */
static popliner_status search_anew(advice *a, trial *t, bool *fits) {
    popliner_status status = begin_search(a, t);
    return status == POPLINER_OK ? search(a, t, fits) : status;
}

/* Solves with the remedy alone, checks the answer, and adds the remedy, unless the request would be
 * refused. */
static popliner_status add_remedy(advice *a, trial *t, const popliner_remedy *remedy) {
    popliner_infeasibility *why = a->why;
    popliner_plan plan = {0};
    bool fits = false;
    popliner_status status = search_anew(a, t, &fits);
    if (status != POPLINER_OK || a->is_over)
        return status;
    if (!fits)
        return pl_fail(a->error, POPLINER_ERROR_INTERNAL,
                       "a remedy was found, but nothing fits with it");
    if (pl_problem_check(&t->problem, &(popliner_error){0}) != POPLINER_OK)
        return POPLINER_OK;
    pl_filter filter = pl_filter_of_limits(&t->problem);
    status = pl_plan_fill(&t->problem, &t->split, false, &plan, a->error);
    if (status == POPLINER_OK)
        status = pl_plan_check(&t->problem, &filter, &plan, a->error);
    if (status == POPLINER_OK &&
        !pl_grow(&why->remedies, &a->capacity, why->num_remedies + 1, sizeof *why->remedies))
        status = pl_fail_memory(a->error, "the remedies");
    if (status == POPLINER_OK)
        why->remedies[why->num_remedies++] = *remedy;
    pl_plan_clear(&plan);
    return status;
}

/* ---- limits ---- */

/* A change of limits by a number; the larger it is, the more fits. */
typedef struct raise {
    bool of_every_ipu; /* adds the number to all limits; else sets the limit of `ipu` */
    size_t ipu;
    uint64_t least; /* the smallest number to try */
} raise;

static uint64_t raised(uint64_t limit_bytes, uint64_t bytes) {
    return limit_bytes < NO_LIMIT - bytes ? limit_bytes + bytes : NO_LIMIT;
}

static void set_limits(const advice *a, trial *t, const raise *r, uint64_t number) {
    const popliner_solver_options *options = a->problem->options;
    popliner_solver_options *own = &t->own.options;
    popliner_ipu_value *limits = (popliner_ipu_value *)own->ipu_limits;
    size_t i = 0;
    if (!r->of_every_ipu) {
        while (i < options->num_ipu_limits && options->ipu_limits[i].ipu != r->ipu)
            ++i;
        own->num_ipu_limits = i < options->num_ipu_limits ? options->num_ipu_limits : i + 1;
        limits[i] = (popliner_ipu_value){r->ipu, number};
        return;
    }
    own->mem_per_tile = raised(options->mem_per_tile, number);
    for (; i < options->num_ipu_limits; ++i)
        limits[i].value = raised(options->ipu_limits[i].value, number);
}

/* Finds the smallest number that suffices for the last answer. */
static popliner_status find_needed(advice *a, const trial *t, const raise *r, uint64_t *needed) {
    pl_objective_values values;
    pl_filter filter = pl_filter_of_limits(a->problem);
    uint64_t *peaks_bytes = pl_new_array(t->split.num_stages, sizeof *peaks_bytes);
    *needed = r->least;
    if (peaks_bytes == NULL)
        return pl_fail_memory(a->error, "the remedies");
    popliner_status status =
        pl_split_evaluate(&t->problem, &t->split, &values, peaks_bytes, a->error);
    for (size_t stage = 0; status == POPLINER_OK && stage < t->split.num_stages; ++stage) {
        size_t ipu = pl_problem_ipu(&t->problem, stage);
        uint64_t limit = r->of_every_ipu ? pl_limits_peak(a->problem, &filter.limits, ipu) : 0;
        bool counts = r->of_every_ipu ? peaks_bytes[stage] > limit : ipu == r->ipu;
        if (counts && peaks_bytes[stage] - limit > *needed)
            *needed = peaks_bytes[stage] - limit;
    }
    free(peaks_bytes);
    return status;
}

static popliner_status try_limits(advice *a, const raise *r) {
    trial t = {0};
    bool fits = false;
    uint64_t low = r->least;
    uint64_t high = NO_LIMIT;
    popliner_status status = begin_trial(a, &t);
    if (status != POPLINER_OK)
        goto done;
    set_limits(a, &t, r, high);
    status = search_anew(a, &t, &fits);
    if (status == POPLINER_OK && fits)
        status = find_needed(a, &t, r, &high);
    if (status != POPLINER_OK || !fits)
        goto done;
    while (low < high && !a->is_over) {
        uint64_t middle = low + (high - low) / 2;
        set_limits(a, &t, r, middle);
        status = search(a, &t, &fits);
        if (status == POPLINER_OK && fits)
            status = find_needed(a, &t, r, &high);
        else
            low = middle + 1;
        if (status != POPLINER_OK)
            goto done;
    }
    set_limits(a, &t, r, high);
    const popliner_remedy remedy = {.kind = r->of_every_ipu ? POPLINER_REMEDY_EVERY_LIMIT
                                                            : POPLINER_REMEDY_IPU_LIMIT,
                                    .ipu = r->ipu,
                                    .bytes = high};
    if (!a->is_over)
        status = add_remedy(a, &t, &remedy);
done:
    end_trial(&t);
    return status;
}

/* Lists the first stages of the IPUs to try, at most MAX_IPUS. */
static size_t list_stages(advice *a, size_t *stages) {
    const pl_problem *p = a->problem;
    size_t count = p->is_mapped ? p->options->num_mapped_stages : p->max_stages;
    size_t num_listed = 0;
    pl_filter filter = pl_filter_of_limits(p);
    for (size_t stage = 0; stage < count; ++stage) {
        if ((p->is_mapped && p->first_on_ipu[stage] != stage) ||
            pl_limits_peak(p, &filter.limits, pl_problem_ipu(p, stage)) >= NO_LIMIT)
            continue;
        if (num_listed == MAX_IPUS) {
            a->why->has_all_remedies = false;
            break;
        }
        stages[num_listed++] = stage;
    }
    return num_listed;
}

/* Where IPUs differ: tries a larger limit for each, and for all. */
static popliner_status try_every_limit(advice *a) {
    size_t stages[MAX_IPUS];
    /* with conflicting constraints, no limit helps */
    if (a->problem->options->num_ipu_limits == 0 ||
        a->why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS)
        return POPLINER_OK;
    const pl_problem *p = a->problem;
    const pl_limits limits = pl_filter_of_limits(p).limits;
    const size_t count = list_stages(a, stages);
    popliner_status status = POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < count; ++i) {
        const size_t ipu = pl_problem_ipu(p, stages[i]);
        const raise one = {.ipu = ipu, .least = pl_limits_peak(p, &limits, ipu) + 1};
        status = try_limits(a, &one);
    }
    const raise all = {.of_every_ipu = true, .least = 1};
    return status == POPLINER_OK ? try_limits(a, &all) : status;
}

/* ---- constraints ---- */

/* Relaxes a number of units as little as suffices; without it, a split fits. */
static popliner_status relax_number(advice *a, trial *t, const popliner_constraint *c,
                                    size_t *number) {
    bool is_min = c->kind == POPLINER_CONSTRAINT_MIN_UNITS;
    size_t *own = is_min ? &t->own.options.min_units : &t->own.options.max_units;
    size_t bad = c->number;
    size_t good = is_min ? 0 : a->problem->num_units;
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && !a->is_over && (bad < good ? good - bad : bad - good) > 1) {
        bool fits = false;
        size_t middle = bad < good ? bad + (good - bad) / 2 : good + (bad - good) / 2;
        *own = middle;
        status = search_anew(a, t, &fits);
        good = fits ? middle : good;
        bad = fits ? bad : middle;
    }
    *own = good;
    *number = good;
    return status;
}

/* Tries to change one constraint. */
static popliner_status try_constraint(advice *a, const popliner_constraint *c) {
    trial t = {0};
    bool fits = false;
    popliner_remedy remedy = {.kind = POPLINER_REMEDY_CONSTRAINT, .constraint = *c};
    popliner_status status = begin_trial(a, &t);
    if (status == POPLINER_OK) {
        pl_constraint_leave_out(&t.own, c);
        status = search_anew(a, &t, &fits);
    }
    if (status == POPLINER_OK && fits && pl_constraint_of(c->kind)->least > 0)
        status = relax_number(a, &t, c, &remedy.number);
    if (status == POPLINER_OK && fits && !a->is_over)
        status = add_remedy(a, &t, &remedy);
    end_trial(&t);
    return status;
}

/* The constraints that may be dropped, in order. An item is dropped as a whole: one constraint, or
 * a run of forbidden cuts without gaps. */
typedef struct items {
    popliner_constraint *constraints;
    size_t num_constraints;
    size_t *first; /* [num_items + 1]: its first constraint */
    size_t num_items;
    uint8_t *is_out; /* [num_constraints] */
    pl_arrays arrays;
} items;

static bool goes_on(const popliner_constraint *before, const popliner_constraint *c) {
    return c->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT &&
           before->kind == POPLINER_CONSTRAINT_FORBIDDEN_CUT && c->unit == before->unit + 1;
}

static popliner_status list_items(const advice *a, items *all) {
    pl_constraints list = {0};
    size_t count = 0;
    popliner_status status =
        pl_constraints_list(a->problem->options, a->problem->num_units, &list, a->error);
    size_t num_listed = list.count;
    all->constraints = list.items;
    all->first = pl_arrays_new(&all->arrays, num_listed + 1, sizeof *all->first);
    all->is_out = pl_arrays_new(&all->arrays, num_listed, sizeof *all->is_out);
    if (status == POPLINER_OK && all->arrays.failed)
        status = pl_fail_memory(a->error, "the remedies");
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < num_listed; ++i) {
        if (!pl_constraint_may_go(&all->constraints[i]))
            continue;
        all->constraints[count] = all->constraints[i];
        if (count == 0 || !goes_on(&all->constraints[count - 1], &all->constraints[count]))
            all->first[all->num_items++] = count;
        ++count;
    }
    all->first[all->num_items] = all->num_constraints = count;
    return POPLINER_OK;
}

static void mark(items *all, size_t first, size_t end, bool is_out) {
    for (size_t i = first; i < end; ++i)
        all->is_out[i] = is_out;
}

/* Tries without the marked constraints. */
static popliner_status fits_without(advice *a, const items *all, bool *fits) {
    trial t = {0};
    popliner_status status = begin_trial(a, &t);
    for (size_t i = 0; status == POPLINER_OK && i < all->num_constraints; ++i)
        if (all->is_out[i] != 0)
            pl_constraint_leave_out(&t.own, &all->constraints[i]);
    if (status == POPLINER_OK)
        status = search_anew(a, &t, fits);
    end_trial(&t);
    return status;
}

/* Finds the first cut of a run that suffices alone. */
static popliner_status find_enough_cut(advice *a, items *all, size_t item, size_t *enough_unit) {
    size_t first = all->first[item];
    size_t end = all->first[item + 1];
    popliner_status status = POPLINER_OK;
    bool fits = false;
    if (end - first > MAX_CONSTRAINTS) {
        a->why->has_all_remedies = false;
        return POPLINER_OK;
    }
    for (size_t i = first; status == POPLINER_OK && !a->is_over && !fits && i < end; ++i) {
        all->is_out[i] = 1;
        status = fits_without(a, all, &fits);
        all->is_out[i] = 0;
        if (fits)
            *enough_unit = all->constraints[i].unit;
    }
    return status;
}

/* Tries to drop a run of forbidden cuts. No other constraint is marked. */
static popliner_status try_run(advice *a, items *all, size_t item) {
    const popliner_constraint *first = &all->constraints[all->first[item]];
    const popliner_constraint *last = &all->constraints[all->first[item + 1] - 1];
    popliner_remedy remedy = {.kind = POPLINER_REMEDY_CUT_RUN,
                              .constraint = *first,
                              .last_unit = last->unit,
                              .enough_unit = SIZE_MAX};
    trial t = {0};
    bool fits = false;
    mark(all, all->first[item], all->first[item + 1], true);
    popliner_status status = fits_without(a, all, &fits);
    mark(all, all->first[item], all->first[item + 1], false);
    if (status == POPLINER_OK && fits)
        status = find_enough_cut(a, all, item, &remedy.enough_unit);
    if (status != POPLINER_OK || !fits || a->is_over)
        return status;
    status = begin_trial(a, &t);
    for (const popliner_constraint *c = first; status == POPLINER_OK && c <= last; ++c)
        pl_constraint_leave_out(&t.own, c);
    if (status == POPLINER_OK)
        status = add_remedy(a, &t, &remedy);
    end_trial(&t);
    return status;
}

/* Restores the constraints first ... end - 1 if a split still fits. */
static popliner_status take_back(advice *a, items *all, size_t first, size_t end) {
    bool fits = false;
    mark(all, first, end, false);
    popliner_status status = fits_without(a, all, &fits);
    mark(all, first, end, !fits);
    return status;
}

/* Restores items one by one, then constraints, as long as a split fits: the constraints that remain
 * dropped are needed. */
static popliner_status find_left_out(advice *a, items *all) {
    popliner_infeasibility *why = a->why;
    popliner_status status = POPLINER_OK;
    size_t num_out = 0;
    mark(all, 0, all->num_constraints, true);
    for (size_t i = 0; status == POPLINER_OK && !a->is_over && i < all->num_items; ++i)
        status = take_back(a, all, all->first[i], all->first[i + 1]);
    for (size_t i = 0; i < all->num_constraints; ++i)
        num_out += all->is_out[i];
    if (num_out > MAX_CONSTRAINTS) {
        why->has_all_remedies = false;
        return status;
    }
    for (size_t i = 0; status == POPLINER_OK && !a->is_over && i < all->num_constraints; ++i)
        if (all->is_out[i] != 0)
            status = take_back(a, all, i, i + 1);
    if (status != POPLINER_OK || a->is_over)
        return status;
    why->left_out = pl_new_array(num_out, sizeof *why->left_out);
    if (why->left_out == NULL)
        return pl_fail_memory(a->error, "the remedies");
    for (size_t i = 0; i < all->num_constraints; ++i)
        if (all->is_out[i] != 0)
            why->left_out[why->num_left_out++] = all->constraints[i];
    return POPLINER_OK;
}

/* Tries each item alone; if none suffices, several together. */
static popliner_status try_constraints(advice *a) {
    items all = {0};
    size_t num_before = a->why->num_remedies;
    bool fits = false;
    popliner_status status = list_items(a, &all);
    mark(&all, 0, all.num_constraints, true);
    if (status == POPLINER_OK && all.num_items > 0)
        status = fits_without(a, &all, &fits);
    mark(&all, 0, all.num_constraints, false);
    for (size_t i = 0; status == POPLINER_OK && fits && i < all.num_items && i < MAX_CONSTRAINTS;
         ++i)
        status = all.first[i + 1] - all.first[i] > 1
                     ? try_run(a, &all, i)
                     : try_constraint(a, &all.constraints[all.first[i]]);
    bool has_too_many = all.num_items > MAX_CONSTRAINTS;
    a->why->has_all_remedies = a->why->has_all_remedies && (!fits || !has_too_many);
    if (status == POPLINER_OK && fits && !a->is_over && all.num_items > 1 && !has_too_many &&
        a->why->num_remedies == num_before)
        status = find_left_out(a, &all);
    free(all.constraints);
    pl_arrays_free(&all.arrays);
    return status;
}

/* ---- the device map ---- */

/* Returns the fewest IPUs of a pipeline with at least num_ipus of them that has all IPUs and links
 * that the options give numbers; SIZE_MAX if there is none. */
static size_t ipus_with_numbers(const popliner_solver_options *o, size_t num_ipus) {
    for (size_t i = 0; i < o->num_ipu_speeds; ++i)
        if (num_ipus <= o->ipu_speeds[i].ipu)
            num_ipus = o->ipu_speeds[i].ipu + 1;
    for (size_t i = 0; i < o->num_ipu_links && num_ipus < SIZE_MAX; ++i) {
        const popliner_ipu_link *link = &o->ipu_links[i];
        const bool is_first = link->first_ipu < link->second_ipu;
        const size_t last = is_first ? link->second_ipu : link->first_ipu;
        if (last != (is_first ? link->first_ipu : link->second_ipu) + 1)
            return SIZE_MAX;
        num_ipus = num_ipus <= last ? last + 1 : num_ipus;
    }
    return num_ipus;
}

/* True if stages may choose for the objectives that callers have without a device map. */
static bool may_choose_without_map(const pl_problem *p) {
    popliner_objective list[POPLINER_NUM_OBJECTIVES + 1];
    popliner_solver_options o = *p->options;
    for (size_t i = 0; i < o.num_objectives; ++i)
        list[i] = o.objectives[i];
    o.objectives = list;
    o.num_objectives = popliner_objectives_complete(list, o.num_objectives, p->costs);
    return p->chooser == NULL || pl_variants_check_options(&o, NULL) == POPLINER_OK;
}

/* Finds the fewest stages that suffice if each has its own IPU. */
static popliner_status try_without_map(advice *a) {
    const pl_problem *p = a->problem;
    const popliner_costs *costs = pl_costs_of_any_split(p->costs);
    size_t known = costs->max_stages_to_end;
    trial t = {0};
    popliner_remedy remedy = {.kind = POPLINER_REMEDY_WITHOUT_MAP};
    if (!p->is_mapped || !may_choose_without_map(p) ||
        (costs->has_pipeline && pl_copies_take_turns(&costs->pipeline.copies)))
        return POPLINER_OK;
    popliner_status status = begin_trial(a, &t);
    if (status != POPLINER_OK)
        goto done;
    t.own.options.num_mapped_stages = 0;
    t.own.options.num_ipus = known > 1 && known < p->num_units ? known : p->num_units;
    status = begin_search(a, &t);
    if (status != POPLINER_OK)
        goto done;
    pl_filter filter = pl_filter_of_limits(&t.problem);
    status = pl_search_find(&t.search, &filter, PL_GOAL_FEWEST_STAGES, &t.split, a->error);
    a->is_over = a->is_over || t.search.is_stopped;
    remedy.number = ipus_with_numbers(&t.own.options, t.split.num_stages);
    t.own.options.num_ipus = remedy.number;
    if (status == POPLINER_OK && t.split.num_stages > 0 && remedy.number < SIZE_MAX && !a->is_over)
        status = add_remedy(a, &t, &remedy);
done:
    end_trial(&t);
    return status;
}

popliner_status pl_remedies_find(const pl_problem *problem, const pl_stop *stop,
                                 popliner_plan *plan, popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    advice a = {.problem = problem, .stop = stop, .why = why, .error = error};
    why->has_all_remedies = true;
    popliner_status status = try_every_limit(&a);
    if (status == POPLINER_OK && !a.is_over)
        status = try_constraints(&a);
    if (status == POPLINER_OK && !a.is_over)
        status = try_without_map(&a);
    why->has_all_remedies = why->has_all_remedies && !a.is_over;
    plan->is_stopped = plan->is_stopped || (a.is_over && pl_stop_is_wanted(stop));
    return status;
}
