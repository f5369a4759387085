/* Which constraints conflict, and changes of the request with which a split would fit.
 *
 * Each answer comes from trials: a copy of the options, changed as a caller would change them, and
 * a search for any split. Leaving out a constraint never rules out a split, and neither does a
 * larger limit, another IPU, or fewer or more units allowed in a stage: so what is left out can be
 * found one by one, and numbers by bisection.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "pipeline/pipeline.h"
#include "solve/infeasibility.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/options.h"

#include <stdlib.h>

/* The number of IPUs and of constraints that are tried. */
enum { MAX_IPUS = 16, MAX_CONSTRAINTS = 64 };

#define NO_LIMIT (POPLINER_PEAK_FORBIDDEN - 1)

/* ---- trials ---- */

typedef struct trials {
    const pl_problem *problem; /* of the request */
    const pl_stop *stop;
    popliner_infeasibility *why;
    size_t capacity;   /* of its remedies */
    bool of_conflicts; /* whatever memory a split needs; each trial may do all that is usual */
    uint64_t work;     /* of all trials */
    bool is_over;      /* no time is left, or nothing may be done any more */
    popliner_error *error;
} trials;

/* Changed options and a search with them. Zero-initialise; free with end_trial. */
typedef struct trial {
    pl_owned_options own;
    const popliner_costs *costs; /* NULL: those of the request */
    pl_problem problem;
    pl_search search; /* its problem is NULL until it is prepared */
    pl_split split;   /* the last answer */
} trial;

static popliner_status begin_trial(trials *a, trial *t) {
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

/* The next search prepares the options anew, which is needed unless only limits have changed. */
static void end_search(trial *t) {
    pl_search_free(&t->search);
    pl_problem_free(&t->problem);
    pl_split_clear(&t->split);
    t->search = (pl_search){.problem = NULL};
}

static void end_trial(trial *t) {
    end_search(t);
    pl_owned_options_free(&t->own);
}

/* Searches for any split with the current options. */
static popliner_status search(trials *a, trial *t, bool *fits) {
    enum { WORK_OF_CUT = 64, PART_OF_TRIAL = 8 };
    popliner_status status = POPLINER_OK;
    *fits = false;
    if (a->is_over)
        return status;
    if (t->search.problem == NULL) {
        t->search = (pl_search){.problem = &t->problem, .stop = a->stop};
        status = pl_problem_create(&t->problem, t->costs == NULL ? a->problem->costs : t->costs,
                                   &t->own.options, a->error);
    }
    if (status != POPLINER_OK)
        return status;
    const uint64_t before = t->search.shared.work;
    const pl_filter filter = a->of_conflicts ? pl_filter_without_memory() : pl_filter_of_limits();
    pl_split_clear(&t->split);
    t->search.most_work = a->of_conflicts ? 0 : before + PL_WORK_FOR_REASONS / PART_OF_TRIAL;
    status = pl_search_find(&t->search, &filter, PL_GOAL_ANY, &t->split, a->error);
    a->work += t->search.shared.work - before + WORK_OF_CUT * t->problem.num_units;
    a->is_over = t->search.is_stopped || (!a->of_conflicts && a->work >= PL_WORK_FOR_REASONS);
    *fits = t->split.num_stages > 0;
    return status;
}

/* ---- numbers ---- */

/* A number of the request. */
typedef struct number {
    enum { PLAIN_LIMIT, IPU_LIMIT, RISE_OF_LIMITS, NUM_IPUS, MORE_UNITS, FEWER_UNITS } of;
    size_t ipu;   /* of an IPU_LIMIT */
    size_t asked; /* of MORE_UNITS and FEWER_UNITS, which are how far a number is from it */
} number;

static uint64_t raised(uint64_t limit_bytes, uint64_t bytes) {
    return limit_bytes < NO_LIMIT - bytes ? limit_bytes + bytes : NO_LIMIT;
}

/* Sets a number in the options of a trial. The larger it is, the more fits. */
static void set_number(const trials *a, trial *t, const number *n, uint64_t value) {
    const popliner_solver_options *asked = a->problem->options;
    popliner_solver_options *own = &t->own.options;
    popliner_ipu_value *limits = (popliner_ipu_value *)own->ipu_limits;
    size_t i = 0;
    switch (n->of) {
    case PLAIN_LIMIT:
        own->mem_per_tile = value;
        return;
    case IPU_LIMIT:
        while (i < asked->num_ipu_limits && asked->ipu_limits[i].ipu != n->ipu)
            ++i;
        own->num_ipu_limits = i < asked->num_ipu_limits ? asked->num_ipu_limits : i + 1;
        limits[i] = (popliner_ipu_value){n->ipu, value};
        return;
    case RISE_OF_LIMITS:
        own->mem_per_tile = raised(asked->mem_per_tile, value);
        for (; i < asked->num_ipu_limits; ++i)
            limits[i].value = raised(asked->ipu_limits[i].value, value);
        return;
    case NUM_IPUS:
        own->num_mapped_stages = 0;
        own->num_ipus = (size_t)value;
        break;
    case MORE_UNITS:
        own->max_units = n->asked + (size_t)value;
        break;
    case FEWER_UNITS:
        own->min_units = n->asked - (size_t)value;
        break;
    }
    end_search(t);
}

/* Lowers *high to what the last answer needs. */
static popliner_status lower(trials *a, const trial *t, const number *n, uint64_t low,
                             uint64_t *high) {
    pl_objective_values values = {0};
    if (n->of > NUM_IPUS)
        return POPLINER_OK;
    popliner_status status = pl_split_evaluate(&t->problem, &t->split, &values, NULL, a->error);
    const uint64_t needed = n->of == NUM_IPUS ? t->split.num_stages : values.peak_bytes;
    *high = pl_smaller(*high, pl_larger(low, needed));
    return status;
}

/* Finds the smallest number from *low to *high with which a split fits, if one does. What both are
 * then is the same, unless the trials are over. */
static popliner_status find_least(trials *a, trial *t, const number *n, uint64_t *low,
                                  uint64_t *high, bool *fits) {
    uint64_t tried = *high;
    *fits = false;
    do {
        bool is_enough;
        set_number(a, t, n, tried);
        popliner_status status = search(a, t, &is_enough);
        *fits = *fits || is_enough;
        if (is_enough)
            *high = tried;
        else if (!a->is_over)
            *low = tried + 1;
        if (status == POPLINER_OK && is_enough)
            status = lower(a, t, n, *low, high);
        if (status != POPLINER_OK)
            return status;
        tried = *low + (*high - *low) / 2;
    } while (*fits && *low < *high && !a->is_over);
    return POPLINER_OK;
}

/* ---- remedies ---- */

/* Solves with the remedy alone, checks the answer, and adds the remedy, unless the request would be
 * refused. */
static popliner_status add_remedy(trials *a, trial *t, const popliner_remedy *remedy) {
    popliner_infeasibility *why = a->why;
    popliner_plan plan = {0};
    bool fits = false;
    end_search(t);
    popliner_status status = search(a, t, &fits);
    if (status != POPLINER_OK || a->is_over)
        return status;
    if (!fits)
        return pl_fail(a->error, POPLINER_ERROR_INTERNAL,
                       "a remedy was found, but nothing fits with it");
    if (pl_problem_check(&t->problem, &(popliner_error){0}) != POPLINER_OK)
        return POPLINER_OK;
    pl_filter filter = pl_filter_of_limits();
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

/* Returns the fewest IPUs of a pipeline with at least num_ipus of them that has all IPUs and links
 * that the options give numbers; SIZE_MAX if there is none. Limits may also be of other IPUs. */
static size_t ipus_with_numbers(const popliner_solver_options *o, size_t num_ipus) {
    for (size_t i = 0; i < o->num_ipu_reserves; ++i)
        num_ipus = pl_more(num_ipus, o->ipu_reserves[i].ipu + 1);
    for (size_t i = 0; i < o->num_ipu_speeds; ++i)
        num_ipus = pl_more(num_ipus, o->ipu_speeds[i].ipu + 1);
    for (size_t i = 0; i < o->num_ipu_links; ++i) {
        const popliner_ipu_link *link = &o->ipu_links[i];
        const size_t last = pl_more(link->first_ipu, link->second_ipu);
        if (last != pl_fewer(link->first_ipu, link->second_ipu) + 1)
            return SIZE_MAX;
        num_ipus = pl_more(num_ipus, last + 1);
    }
    return num_ipus;
}

/* Tries to change a number, to one from low to high. */
static popliner_status try_number(trials *a, const number *n, uint64_t low, uint64_t high,
                                  popliner_remedy remedy) {
    trial t = {0};
    bool fits = false;
    popliner_status status = low <= high ? begin_trial(a, &t) : POPLINER_OK;
    if (status == POPLINER_OK && low <= high)
        status = find_least(a, &t, n, &low, &high, &fits);
    if (n->of == NUM_IPUS && fits) {
        high = ipus_with_numbers(a->problem->options, (size_t)high);
        fits = high < SIZE_MAX; /* bytes may be more than a size_t of WebAssembly */
    }
    if (n->of == IPU_LIMIT || n->of == RISE_OF_LIMITS)
        remedy.bytes = high;
    else
        remedy.number = n->of == MORE_UNITS    ? n->asked + (size_t)high
                        : n->of == FEWER_UNITS ? n->asked - (size_t)high
                                               : (size_t)high;
    if (status == POPLINER_OK && fits && !a->is_over) {
        set_number(a, &t, n, high);
        status = add_remedy(a, &t, &remedy);
    }
    end_trial(&t);
    return status;
}

/* Where IPUs differ: tries a larger limit for each, and for all. */
static popliner_status try_limits(trials *a) {
    const pl_problem *p = a->problem;
    const pl_limits limits = pl_filter_of_limits().limits;
    const size_t count = p->is_mapped ? p->options->num_mapped_stages : p->max_stages;
    size_t num_tried = 0;
    popliner_status status = POPLINER_OK;
    /* with conflicting constraints, no limit helps */
    if (p->options->num_ipu_limits == 0 || a->why->obstacle == POPLINER_OBSTACLE_CONSTRAINTS)
        return POPLINER_OK;
    for (size_t stage = 0; status == POPLINER_OK && stage < count; ++stage) {
        const number n = {.of = IPU_LIMIT, .ipu = pl_problem_ipu(p, stage)};
        const uint64_t own = pl_limits_peak(p, &limits, n.ipu);
        if ((p->is_mapped && p->first_on_ipu[stage] != stage) || own >= NO_LIMIT)
            continue;
        if (num_tried++ == MAX_IPUS) {
            a->why->has_all_remedies = false;
            break;
        }
        status = try_number(a, &n, own + 1, NO_LIMIT,
                            (popliner_remedy){.kind = POPLINER_REMEDY_IPU_LIMIT, .ipu = n.ipu});
    }
    const number all = {.of = RISE_OF_LIMITS};
    return status == POPLINER_OK
               ? try_number(a, &all, 1, NO_LIMIT,
                            (popliner_remedy){.kind = POPLINER_REMEDY_EVERY_LIMIT})
               : status;
}

/* Finds the fewest stages that suffice if each has its own IPU. */
static popliner_status try_without_map(trials *a) {
    const pl_problem *p = a->problem;
    const popliner_costs *costs = p->costs;
    const size_t known = costs->max_stages_to_end;
    const number n = {.of = NUM_IPUS};
    if (!p->is_mapped || (costs->has_pipeline && pl_copies_take_turns(&costs->pipeline.copies)))
        return POPLINER_OK;
    return try_number(a, &n, 1, known > 1 ? pl_fewer(known, p->num_units) : p->num_units,
                      (popliner_remedy){.kind = POPLINER_REMEDY_WITHOUT_MAP});
}

/* ---- constraints ---- */

/* The constraints of the request, and which of them are left out. */
typedef struct constraints {
    pl_constraints all;
    uint8_t *is_out; /* [all.count] */
} constraints;

static popliner_status list_constraints(const trials *a, constraints *c) {
    popliner_status status =
        pl_constraints_list(a->problem->options, a->problem->num_units, &c->all, a->error);
    c->is_out = pl_new_array(c->all.count, sizeof *c->is_out);
    return status == POPLINER_OK && c->is_out == NULL ? pl_fail_memory(a->error, "the constraints")
                                                      : status;
}

static void free_constraints(constraints *c) {
    free(c->all.items);
    free(c->is_out);
}

/* Moves the constraints that are left out, or the others, into a list of the answer. */
static size_t take_list(constraints *c, bool are_out, popliner_constraint **list) {
    size_t count = 0;
    for (size_t i = 0; i < c->all.count; ++i)
        if ((c->is_out[i] != 0) == are_out)
            c->all.items[count++] = c->all.items[i];
    *list = count > 0 ? c->all.items : NULL;
    if (count > 0)
        c->all.items = NULL;
    return count;
}

/* Begins a trial without the marked constraints. Without the device map, stages may be anywhere:
 * pairs and placements are then also left out. */
static popliner_status leave_out(trials *a, const constraints *c, trial *t) {
    const bool is_anywhere = a->problem->options->num_mapped_stages > 0 && c->is_out[0] != 0;
    popliner_status status = begin_trial(a, t);
    for (size_t i = 0; status == POPLINER_OK && i < c->all.count; ++i) {
        const popliner_constraint *own = &c->all.items[i];
        if (c->is_out[i] == 0 && !(is_anywhere && pl_constraint_of(own->kind)->is_of_ipu))
            continue;
        if (pl_constraint_may_go(own)) {
            pl_constraint_leave_out(&t->own, own);
        } else {
            t->own.options.num_mapped_stages = 0;
            t->own.options.num_ipus = a->problem->num_units;
        }
    }
    return status;
}

/* Tries without the marked constraints. */
static popliner_status fits_without(trials *a, const constraints *c, bool *fits) {
    trial t = {0};
    popliner_status status = leave_out(a, c, &t);
    if (status == POPLINER_OK)
        status = search(a, &t, fits);
    end_trial(&t);
    return status;
}

/* Takes a constraint back, or leaves it out, unless that changes whether a split fits. */
static popliner_status turn(trials *a, constraints *c, size_t i, bool has_to_fit) {
    bool fits = false;
    c->is_out[i] = !c->is_out[i];
    popliner_status status = fits_without(a, c, &fits);
    if (status == POPLINER_OK && fits != has_to_fit)
        c->is_out[i] = !c->is_out[i];
    return status;
}

/* Tries to change the only constraint that is marked: to leave it out, or another number. */
static popliner_status try_constraint(trials *a, const constraints *c,
                                      const popliner_constraint *own) {
    const popliner_remedy remedy = {.kind = POPLINER_REMEDY_CONSTRAINT, .constraint = *own};
    const bool is_min = own->kind == POPLINER_CONSTRAINT_MIN_UNITS;
    const number n = {.of = is_min ? FEWER_UNITS : MORE_UNITS, .asked = own->number};
    trial t = {0};
    bool fits = false;
    if (pl_constraint_of(own->kind)->least > 0)
        return try_number(a, &n, 1, is_min ? n.asked : a->problem->num_units - n.asked, remedy);
    popliner_status status = leave_out(a, c, &t);
    if (status == POPLINER_OK)
        status = search(a, &t, &fits);
    if (status == POPLINER_OK && fits && !a->is_over)
        status = add_remedy(a, &t, &remedy);
    end_trial(&t);
    return status;
}

/* Marks those that may go, or none; returns how many. */
static size_t mark(constraints *c, bool are_out) {
    size_t count = 0;
    for (size_t i = 0; i < c->all.count; ++i) {
        const bool may_go = pl_constraint_may_go(&c->all.items[i]);
        c->is_out[i] = may_go && are_out;
        count += may_go;
    }
    return count;
}

/* Tries to leave out each constraint alone; if none suffices, several together: takes back one
 * after another as long as a split fits, so those that remain left out are needed. */
static popliner_status try_constraints(trials *a) {
    constraints c = {{0}, NULL};
    popliner_infeasibility *why = a->why;
    const size_t num_before = why->num_remedies;
    size_t num_tried = 0;
    bool fits = false;
    popliner_status status = list_constraints(a, &c);
    const size_t count = status == POPLINER_OK ? mark(&c, true) : 0;
    if (count > 0)
        status = fits_without(a, &c, &fits);
    if (status == POPLINER_OK)
        mark(&c, false);
    for (size_t i = 0; status == POPLINER_OK && fits && i < c.all.count; ++i) {
        if (!pl_constraint_may_go(&c.all.items[i]) || num_tried++ >= MAX_CONSTRAINTS)
            continue;
        c.is_out[i] = 1;
        status = try_constraint(a, &c, &c.all.items[i]);
        c.is_out[i] = 0;
    }
    why->has_all_remedies = why->has_all_remedies && (!fits || count <= MAX_CONSTRAINTS);
    if (status == POPLINER_OK && fits && count > 1 && count <= MAX_CONSTRAINTS &&
        why->num_remedies == num_before) {
        mark(&c, true);
        for (size_t i = 0; status == POPLINER_OK && !a->is_over && i < c.all.count; ++i)
            if (c.is_out[i] != 0)
                status = turn(a, &c, i, true);
        if (status == POPLINER_OK && !a->is_over)
            why->num_left_out = take_list(&c, true, &why->left_out);
    }
    free_constraints(&c);
    return status;
}

popliner_status pl_remedies_find(const pl_problem *problem, const pl_stop *stop,
                                 popliner_plan *plan, popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    trials a = {.problem = problem, .stop = stop, .why = why, .error = error};
    why->has_all_remedies = true;
    popliner_status status = try_limits(&a);
    if (status == POPLINER_OK && !a.is_over)
        status = try_constraints(&a);
    if (status == POPLINER_OK && !a.is_over)
        status = try_without_map(&a);
    why->has_all_remedies = why->has_all_remedies && !a.is_over;
    plan->is_stopped = plan->is_stopped || (a.is_over && pl_stop_is_wanted(stop));
    return status;
}

/* ---- what is enough ---- */

popliner_status pl_enough_find(const pl_problem *problem, const pl_stop *stop, popliner_plan *plan,
                               popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    trials a = {.problem = problem, .stop = stop, .why = why, .error = error};
    const bool is_cut_short = problem->depends_on_end && problem->num_places < problem->num_units;
    uint64_t low = problem->options->num_ipus + 1;
    uint64_t high = is_cut_short ? problem->num_places : problem->num_units;
    trial t = {0};
    bool fits = false;
    popliner_status status = begin_trial(&a, &t);
    if (status == POPLINER_OK && !problem->is_mapped && low <= high)
        status = find_least(&a, &t, &(number){.of = NUM_IPUS}, &low, &high, &fits);
    if (status == POPLINER_OK && fits && !a.is_over) {
        set_number(&a, &t, &(number){.of = NUM_IPUS}, high); /* prepares it anew */
        status = search(&a, &t, &fits);
        if (fits && pl_problem_check(&t.problem, &(popliner_error){0}) == POPLINER_OK)
            why->enough_stages = (size_t)high;
    }
    why->is_longer_unknown = !problem->is_mapped && is_cut_short && why->enough_stages == 0;
    end_trial(&t);
    if (status != POPLINER_OK || plan->num_stages == 0 || problem->options->num_ipu_limits == 0)
        return status;
    /* the smallest mem_per_tile, as far as time allows */
    low = why->enough_bytes_bound;
    high = NO_LIMIT;
    t = (trial){0};
    a.work = 0;
    a.is_over = false;
    status = begin_trial(&a, &t);
    if (status == POPLINER_OK)
        status = find_least(&a, &t, &(number){.of = PLAIN_LIMIT}, &low, &high, &fits);
    why->enough_bytes = fits ? high : 0;
    why->enough_bytes_bound = fits ? low : 0;
    end_trial(&t);
    return status;
}

/* ---- conflicts ---- */

/* Checks whether the remaining constraints would allow a split if the costs forbade nothing. */
static popliner_status find_needs_costs(trials *a, const constraints *c, bool *needs_costs) {
    popliner_costs *costs = NULL;
    trial t = {0};
    popliner_status status = popliner_costs_create(a->problem->num_units, 1, &costs, a->error);
    if (status == POPLINER_OK)
        status = leave_out(a, c, &t);
    t.costs = costs;
    t.own.options.ipu_weight = NULL; /* too heavy stages are also forbidden */
    if (status == POPLINER_OK)
        status = search(a, &t, needs_costs);
    end_trial(&t);
    popliner_costs_free(costs);
    return status;
}

popliner_status pl_contradiction_find(const pl_problem *problem, const pl_stop *stop,
                                      popliner_plan *plan, popliner_error *error) {
    popliner_infeasibility *why = &plan->infeasibility;
    trials a = {.problem = problem, .stop = stop, .why = why, .of_conflicts = true, .error = error};
    constraints c = {{0}, NULL};
    popliner_status status = list_constraints(&a, &c);
    /* the number of IPUs is left out first: a cut or a place explains more */
    for (size_t i = 0; status == POPLINER_OK && !a.is_over && i < c.all.count; ++i)
        status = turn(&a, &c, i, false);
    if (status == POPLINER_OK)
        status = find_needs_costs(&a, &c, &why->needs_costs);
    plan->is_stopped = plan->is_stopped || a.is_over;
    /* if it was stopped, the set may not be minimal, so none is reported */
    why->obstacle = plan->is_stopped ? POPLINER_OBSTACLE_UNKNOWN : POPLINER_OBSTACLE_CONSTRAINTS;
    if (status == POPLINER_OK && !plan->is_stopped)
        why->num_constraints = take_list(&c, false, &why->constraints);
    free_constraints(&c);
    return status;
}
