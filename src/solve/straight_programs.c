/* The best split by integer programs alone, if no stages share an IPU.
 *
 * Why the answers are exact although GLPK uses floating point: a program has only
 * intervals that the limits admit; sums are measured in integers; and an answer outside the limits
 * (by less than the tolerance of a row) is forbidden. A program that requires less than the
 * found value must have no answer; only of sums of whole numbers GLPK's optimum counts.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/integer_program.h"

#include "base/failure.h"
#include "solve/glpk_session.h"
#include "solve/search.h"

#include <inttypes.h>

/* The number of answers that are forbidden one by one. */
enum { MAX_EXCLUDED_SPLITS = 100 };

/* Where GLPK's work is limited, a program that leaves fewer iterations is not solved. */
enum { FEWEST_ITERATIONS = 150 };

/* The question of one or several programs, which differ in their limits and fixed stages. */
typedef struct question {
    const pl_problem *problem;
    pl_goal goal;
    const pl_stop *stop;
    popliner_error *error;
} question;

/* GLPK's answer to one of them; without a split, the outcome tells why. */
typedef struct reply {
    pl_mip_outcome outcome;
    bool is_goal_whole; /* see pl_integer_program */
    pl_split split;
} reply;

/* ---- one program ---- */

/* Solves a program until its answer is within the limits. */
static popliner_status solve_program(const question *q, const pl_limits *limits,
                                     const pl_split *fixed, reply *r) {
    /* that there is no split is then GLPK's word, not that of what was left out */
    const bool keeps_all = q->goal == PL_GOAL_ANY;
    pl_integer_program s = {
        .problem = q->problem, .limits = *limits, .fixed = fixed, .keeps_all = keeps_all};
    if (q->stop->glpk_work != NULL)
        s.most_entries = 1 + *q->stop->glpk_work / FEWEST_ITERATIONS;
    popliner_status status = pl_integer_program_build(&s, q->goal, q->error);
    r->outcome = s.is_too_large ? PL_MIP_UNSOLVED : PL_MIP_IMPOSSIBLE;
    r->is_goal_whole = s.is_goal_whole;
    for (size_t i = 0; status == POPLINER_OK && s.num_columns > 0; ++i) {
        status = pl_integer_program_solve(&s, q->stop, &r->outcome, &r->split, q->error);
        if (status != POPLINER_OK || r->split.num_stages == 0 ||
            pl_split_cut_bytes(q->problem, &r->split) <= limits->max_cut_bytes)
            break;
        pl_integer_program_exclude(&s);
        pl_split_clear(&r->split);
        if (r->outcome == PL_MIP_FEASIBLE || i == MAX_EXCLUDED_SPLITS) {
            r->outcome = PL_MIP_UNSOLVED;
            break;
        }
    }
    pl_integer_program_clear(&s);
    return status;
}

static bool is_stopped(const reply *r) {
    return r->outcome == PL_MIP_UNSOLVED || r->outcome == PL_MIP_FEASIBLE;
}

/* ---- one after another ---- */

/* Finds the split with the earliest cuts, one cut after another. */
static popliner_status find_earliest(const question *q, const pl_limits *limits, pl_split *split,
                                     bool *is_over) {
    pl_split fixed = {0};
    bool is_done = false;
    popliner_status status =
        pl_split_append(&fixed, 0) ? POPLINER_OK : pl_fail_memory(q->error, "the stages");
    while (status == POPLINER_OK && !is_done) {
        reply r = {0};
        const size_t num_fixed = fixed.num_stages;
        status = solve_program(q, limits, &fixed, &r);
        *is_over = status == POPLINER_OK && is_stopped(&r);
        is_done = *is_over || r.split.num_stages <= num_fixed;
        if (status == POPLINER_OK && !*is_over && r.split.num_stages == 0 && num_fixed > 1)
            status = pl_fail(q->error, POPLINER_ERROR_INTERNAL,
                             "GLPK finds no split where there is one");
        else if (status == POPLINER_OK && !is_done &&
                 !pl_split_append(&fixed, r.split.first_units[num_fixed]))
            status = pl_fail_memory(q->error, "the stages");
        if (is_done)
            pl_split_move(split, &r.split);
        pl_split_clear(&r.split);
    }
    pl_split_clear(&fixed);
    return status;
}

/* Finds the best split for another goal. Of cut bytes whose coefficients are not whole, a program
 * has to have none with less. */
static popliner_status find_best(const question *q, const pl_limits *limits, pl_split *best,
                                 bool *is_over) {
    pl_limits own = *limits;
    popliner_status status = POPLINER_OK;
    for (bool is_done = false; status == POPLINER_OK && !is_done;) {
        reply r = {0};
        status = solve_program(q, &own, NULL, &r);
        const uint64_t cut_bytes = pl_split_cut_bytes(q->problem, &r.split);
        *is_over =
            r.split.num_stages == 0
                ? r.outcome == PL_MIP_UNSOLVED
                : q->goal != PL_GOAL_ANY && q->goal != PL_GOAL_SMALLEST_SPREAD && is_stopped(&r);
        /* capped sums are all equal */
        is_done = *is_over || r.split.num_stages == 0 || q->goal != PL_GOAL_FEWEST_CUT_BYTES ||
                  r.is_goal_whole || cut_bytes == 0 || cut_bytes >= PL_MAX_CUT_BYTES;
        own.max_cut_bytes = cut_bytes - 1;
        if (r.split.num_stages > 0)
            pl_split_move(best, &r.split);
        pl_split_clear(&r.split);
    }
    return status;
}

popliner_status pl_straight_find(const pl_problem *problem, const pl_limits *limits, pl_goal goal,
                                 const pl_stop *stop, pl_split *split, bool *stopped,
                                 popliner_error *error) {
    const question q = {problem, goal, stop, error};
    popliner_status status = POPLINER_OK;
    *stopped = false;
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    status = goal == PL_GOAL_EARLIEST_CUTS ? find_earliest(&q, limits, split, stopped)
                                           : find_best(&q, limits, split, stopped);
    if (status != POPLINER_OK || *stopped)
        pl_split_clear(split);
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

/* Solves by programs alone. The split of the dynamic program, in `search`, is a claim. */
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
                        .filter = pl_filter_of_limits(),
                        .uses_programs = true,
                        .is_claim = true};
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
