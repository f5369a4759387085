/* The best split by integer programs alone, if no stages share an IPU.
 *
 * Why the answers are exact although GLPK uses floating point: a program has only
 * intervals that the filter admits; its answer is measured in integers; and an answer outside the
 * filter (by less than the tolerance of a row) is forbidden. A program that requires less than the
 * found value must have no answer; only of sums of whole numbers GLPK's optimum counts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/choosing.h"
#include "solve/integer_program.h"
#include "solve/stage_rule.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
#include "solve/glpk_session.h"
#include "solve/search.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The number of answers that are forbidden one by one. */
enum { MAX_EXCLUDED_SPLITS = 100 };

/* Where GLPK's work is limited, a program that leaves fewer iterations is not solved. */
enum { FEWEST_ITERATIONS = 150 };

/* One program and its last answer. */
typedef struct run {
    const pl_straight_programs *asked;
    pl_integer_program s;
    pl_goal goal;       /* what it minimises; ANY: the largest value */
    pl_measure measure; /* for ANY */
    uint64_t bound;     /* of that: the zero of its rows may be a spread's by then, of bytes */
    size_t num_excluded;
    pl_mip_outcome outcome;
    pl_split split;
    pl_objective_values values;
    popliner_error *error;
} run;

static void clear_program(run *r) {
    pl_split_clear(&r->split);
    pl_integer_program_clear(&r->s);
}

/* ---- one program ---- */

/* Returns a lower bound of all values. */
static uint64_t smallest_value(const pl_integer_program *s, pl_measure measure) {
    uint64_t smallest = UINT64_MAX;
    for (size_t a = 0; a < s->num_columns; ++a) {
        uint64_t value = pl_integer_program_value(s, measure, &s->columns[a]);
        smallest = value < smallest ? value : smallest;
    }
    return smallest;
}

static popliner_status add_values(run *r) {
    pl_integer_program *s = &r->s;
    popliner_status status = POPLINER_OK;
    if (r->goal == PL_GOAL_ANY) {
        status = pl_integer_program_bound(s, r->measure, &r->bound, r->error);
        s->value_offset = r->bound;
        pl_integer_program_add_largest(s, r->measure, 1.0);
    }
    const bool is_spread = r->goal == PL_GOAL_SMALLEST_SPREAD;
    if (status != POPLINER_OK || (!is_spread && s->filter.max_spread == UINT64_MAX))
        return status;
    s->value_offset = smallest_value(s, pl_measure_of_spread(s->filter.spread_is_of_cycles));
    s->value_unit = 0.0;
    pl_integer_program_add_spread(s, is_spread ? 1.0 : 0.0);
    return POPLINER_OK;
}

static popliner_status build_program(run *r, const pl_straight_programs *asked,
                                     const pl_filter *filter, const pl_split *fixed) {
    popliner_status status = POPLINER_OK;
    r->asked = asked;
    /* that there is no split is then GLPK's word, not that of what was left out */
    r->s = (pl_integer_program){.problem = asked->problem,
                                .filter = *filter,
                                .fixed = fixed,
                                .keeps_all = r->goal == PL_GOAL_FEWEST_STAGES};
    if (asked->problem->max_stages < asked->problem->min_stages)
        return POPLINER_OK;
    if (asked->stop->glpk_work != NULL)
        r->s.most_entries = 1 + *asked->stop->glpk_work / FEWEST_ITERATIONS;
    if (status == POPLINER_OK)
        status = pl_integer_program_build(&r->s, r->goal, r->error);
    if (status == POPLINER_OK && r->s.num_columns > 0)
        status = add_values(r);
    return status;
}

/* Solves the program until its answer is within the filter. If the split is empty, the outcome
 * tells why. */
static popliner_status solve_program(run *r) {
    r->outcome = r->s.is_too_large ? PL_MIP_UNSOLVED : PL_MIP_IMPOSSIBLE;
    pl_split_clear(&r->split);
    while (r->s.num_columns > 0) {
        pl_split_clear(&r->split);
        popliner_status status =
            pl_integer_program_solve(&r->s, r->asked->stop, &r->outcome, &r->split, r->error);
        if (status != POPLINER_OK || r->split.num_stages == 0)
            return status;
        pl_chooser_limit(r->asked->problem, &r->s.filter.limits,
                         r->goal == PL_GOAL_ANY && r->measure == PL_MEASURE_CYCLES);
        status = pl_split_evaluate(r->asked->problem, &r->split, &r->values, NULL, r->error);
        if (status != POPLINER_OK || pl_filter_admits(&r->s.filter, &r->values))
            return status;
        pl_integer_program_exclude(&r->s);
        pl_split_clear(&r->split);
        if (r->outcome == PL_MIP_FEASIBLE)
            return status;
        if (++r->num_excluded > MAX_EXCLUDED_SPLITS) {
            r->outcome = PL_MIP_UNSOLVED;
            break;
        }
    }
    return POPLINER_OK;
}

static bool is_stopped(const run *r) {
    return r->outcome == PL_MIP_UNSOLVED || r->outcome == PL_MIP_FEASIBLE;
}

popliner_status pl_straight_find(const pl_straight_programs *asked, pl_split *split, bool *stopped,
                                 popliner_error *error) {
    run r = {.goal = PL_GOAL_FEWEST_STAGES, .error = error};
    popliner_status status = build_program(&r, asked, asked->filter, NULL);
    if (status == POPLINER_OK)
        status = solve_program(&r);
    *stopped = is_stopped(&r);
    if (status == POPLINER_OK && r.split.num_stages > 0) {
        pl_split_move(split, &r.split);
        *stopped = false; /* any split was wanted */
    }
    clear_program(&r);
    return status;
}

/* ---- a first bound, to exclude larger values ---- */

/* Fills stages one after another, each with as many units as the limits allow. False if they do not
 * reach the end of the chain. */
static bool fill_stages(const pl_problem *p, const pl_limits *limits) {
    size_t n = p->num_units;
    size_t unit = 0;
    for (size_t stage = 0; stage < p->max_stages && unit < n; ++stage) {
        const pl_stage_rule rule =
            pl_stage_rule_of(p, limits, stage, p->depends_on_end ? p->max_stages - stage : 1);
        size_t end =
            p->is_mapped ? n + 1 + stage - p->max_stages : n; /* leaves units to the rest */
        while (end > unit && !pl_stage_rule_allows(&rule, unit, end))
            --end;
        if (end <= unit)
            return false;
        unit = end;
    }
    return unit == n;
}

/* Lowers *most, by bisection, to the smallest limit with which stages can be filled. That is valid
 * only if limits by stage are the only ones. */
static void fill_within(const pl_straight_programs *asked, popliner_objective objective,
                        uint64_t *most) {
    uint64_t bound = 0;
    const pl_problem *p = asked->problem;
    const pl_filter *f = asked->filter;
    if (pl_objective_of(objective)->kind != PL_OBJECTIVE_LARGEST ||
        f->limits.max_cut_bytes < PL_MAX_CUT_BYTES || f->max_spread != UINT64_MAX ||
        f->limits.max_ipus < p->max_stages || (p->depends_on_end && !p->is_mapped))
        return;
    while (bound < *most) {
        uint64_t middle = bound + (*most - bound) / 2;
        pl_filter within = pl_filter_limited(f, objective, middle);
        if (fill_stages(p, &within.limits))
            *most = middle;
        else
            bound = middle + 1;
    }
}

/* ---- objectives ---- */

static popliner_status fail_without_split(popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_INTERNAL, "GLPK finds no split where there is one");
}

popliner_status pl_straight_minimise(const pl_straight_programs *asked,
                                     popliner_objective objective, pl_split *split,
                                     pl_straight_answer *answer, popliner_error *error) {
    const pl_objective *o = pl_objective_of(objective);
    const bool is_sum = o->kind == PL_OBJECTIVE_SUM;
    bool is_first = true;
    bool is_done = false;
    pl_objective_values values = {0};
    *answer = (pl_straight_answer){0};
    popliner_status status = pl_split_evaluate(asked->problem, split, &values, NULL, error);
    uint64_t most = pl_objective_value(&values, objective, asked->filter->spread_is_of_cycles);
    if (status == POPLINER_OK)
        fill_within(asked, objective, &most);
    while (status == POPLINER_OK && !is_done) {
        run r = {
            .goal = o->goal, .measure = pl_objective_measure(objective, false), .error = error};
        /* a limit of a sum makes its first program harder */
        const pl_filter filter =
            is_first && is_sum ? *asked->filter : pl_filter_limited(asked->filter, objective, most);
        status = build_program(&r, asked, &filter, NULL);
        if (is_first)
            answer->bound = r.bound;
        if (status == POPLINER_OK)
            status = solve_program(&r);
        answer->is_stopped = status == POPLINER_OK && is_stopped(&r);
        is_done = answer->is_stopped;
        if (status == POPLINER_OK && r.split.num_stages > 0) {
            const uint64_t value =
                pl_objective_value(&r.values, objective, filter.spread_is_of_cycles);
            pl_split_move(split, &r.split);
            assert(value >= answer->bound);
            /* whole coefficients are exact, and capped sums all equal */
            if (!is_done && is_sum && (r.s.is_goal_whole || value >= PL_MAX_CUT_BYTES))
                answer->bound = value;
            is_done = is_done || value == answer->bound; /* as is 0, which no value is below */
            most = value - 1;
        } else if (status == POPLINER_OK && !answer->is_stopped) {
            status = is_first ? fail_without_split(error) : POPLINER_OK;
            answer->bound = most + 1;
            is_done = true;
        }
        is_first = false;
        clear_program(&r);
    }
    return status;
}

popliner_status pl_straight_find_earliest(const pl_straight_programs *asked, pl_split *split,
                                          bool *stopped, popliner_error *error) {
    pl_split fixed = {0};
    bool is_done = false;
    popliner_status status = POPLINER_OK;
    *stopped = false;
    if (!pl_split_append(&fixed, 0))
        return pl_fail_memory(error, "the stages");
    while (status == POPLINER_OK && !is_done) {
        run r = {.goal = PL_GOAL_EARLIEST_CUTS, .error = error};
        status = build_program(&r, asked, asked->filter, &fixed);
        if (status == POPLINER_OK)
            status = solve_program(&r);
        *stopped = status == POPLINER_OK && is_stopped(&r);
        is_done = *stopped || r.split.num_stages == fixed.num_stages;
        if (status == POPLINER_OK && !*stopped && r.split.num_stages == 0)
            status = fail_without_split(error);
        else if (status == POPLINER_OK && !is_done &&
                 !pl_split_append(&fixed, r.split.first_units[fixed.num_stages]))
            status = pl_fail_memory(error, "the stages");
        if (status == POPLINER_OK && is_done && !*stopped)
            pl_split_move(split, &r.split);
        clear_program(&r);
    }
    pl_split_clear(&fixed);
    return status;
}

/* ---- who chooses ---- */

/* Beyond this many places times intervals nothing is collected. */
#define MOST_INTERVALS ((uint64_t)1 << 20)

/* Iterations times entries, of all programs of an answer: about half a second of a core. */
#define MOST_WORK ((uint64_t)6000000)

/* True if the intervals of the programs are few enough for GLPK. */
static bool are_few(const pl_problem *p, const pl_limits *limits) {
    pl_places places = {0};
    const bool is_laid = pl_integer_program_lay(p, limits, &places, NULL) == POPLINER_OK;
    const uint64_t most = places.count == 0 ? 0 : MOST_INTERVALS / places.count;
    pl_places_free(&places);
    /* without places there are fewer units than stages */
    return is_laid && most > 0 && (uint64_t)p->num_units * p->num_units / 2 <= most;
}

/* True if GLPK is wanted for what the dynamic program has proven, and may be able to. */
static bool is_wanted(const pl_solving *solving) {
    const pl_problem *p = &solving->problem;
    return p->options->method == POPLINER_METHOD_AUTO && !p->options->without_second_proof &&
           p->chooser == NULL && solving->search.proof == POPLINER_PROOF_DYNAMIC_PROGRAM &&
           !solving->search.is_stopped && pl_glpk_exists() &&
           are_few(p, &solving->search.filter.limits);
}

static popliner_status fail_different(const char *what, uint64_t by_glpk, uint64_t by_dp,
                                      popliner_error *error) {
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the integer programs disagree with the dynamic program: %s is %" PRIu64
                   " and not %" PRIu64 "; the dynamic program alone answers without them",
                   what, by_glpk, by_dp);
}

/* Compares the best values that both found. */
static popliner_status compare_values(const popliner_plan *by_glpk, const popliner_plan *by_dp,
                                      popliner_error *error) {
    for (size_t i = 0; i < by_dp->num_values; ++i)
        if (by_glpk->values[i].bound != by_dp->values[i].bound)
            return fail_different(pl_objective_name(by_dp->values[i].objective),
                                  by_glpk->values[i].bound, by_dp->values[i].bound, error);
    return POPLINER_OK;
}

/* Makes GLPK's split that of the solving, with its values. */
static popliner_status take_split(pl_solving *solving, pl_search *by_glpk, popliner_plan *plan,
                                  popliner_error *error) {
    pl_search *search = &solving->search;
    pl_split_move(&search->split, &by_glpk->split);
    popliner_status status =
        pl_split_evaluate(&solving->problem, &search->split, &search->values, NULL, error);
    for (size_t i = 0; i < plan->num_values; ++i) {
        plan->values[i].value = pl_search_value(search, plan->values[i].objective);
        plan->values[i].proof = POPLINER_PROOF_BOTH_PROGRAMS;
    }
    return status;
}

/* Solves by programs alone. What the dynamic program has found, in `search`, is the cut-off:
 * programs have no stages that are worse. */
static popliner_status solve_by_programs(const pl_solving *solving, pl_search *search,
                                         popliner_plan *own, popliner_error *error) {
    if (search->split.num_stages > 0)
        return pl_search_optimise(search, solving->objectives, solving->num_objectives, own, error);
    popliner_status status =
        pl_search_find(search, &search->filter, PL_GOAL_ANY, &search->split, error);
    if (status == POPLINER_OK && search->split.num_stages > 0)
        status = fail_different("the number of stages", search->split.num_stages, 0, error);
    return status;
}

popliner_status pl_choose_by_programs(pl_solving *solving, popliner_plan *plan, bool *is_chosen,
                                      popliner_error *error) {
    const popliner_listener *listener = solving->problem.options->listener;
    uint64_t work = MOST_WORK;
    pl_stop stop = solving->stop;
    pl_search search = {.problem = &solving->problem,
                        .stop = &stop,
                        .filter = pl_filter_of_limits(&solving->problem),
                        .uses_programs = true};
    popliner_plan own = {0};
    *is_chosen = false;
    if (!is_wanted(solving))
        return POPLINER_OK;
    stop.glpk_work = &work;
    search.filter.spread_is_of_cycles = solving->search.filter.spread_is_of_cycles;
    popliner_status status = pl_split_copy(&search.split, &solving->search.split, error);
    if (status == POPLINER_OK)
        status = solve_by_programs(solving, &search, &own, error);
    /* a program that is not solved has said nothing */
    *is_chosen = status == POPLINER_OK && !search.is_stopped && work < MOST_WORK;
    if (*is_chosen)
        status = compare_values(&own, plan, error);
    if (status == POPLINER_OK && *is_chosen && search.split.num_stages > 0)
        status = take_split(solving, &search, plan, error);
    if (status == POPLINER_OK && !*is_chosen)
        pl_tell(listener, POPLINER_LEVEL_DEBUG,
                "The dynamic program chooses the split: the integer program is too large for GLPK");
    pl_search_free(&search);
    return status;
}
