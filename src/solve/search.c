/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/search.h"

#include "base/failure.h"
#include "base/numbers.h"
#include "solve/choosing.h"
#include "solve/integer_program.h"
#include "solve/shared/shared.h"
#include "solve/step_solve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* The most work of a request where stages share IPUs (see pl_shared.work): less than ten seconds of
 * a core. With a time limit it may do as much more as that is longer than SECONDS_OF_WORK, and ends
 * by the limit. */
#define MOST_WORK ((uint64_t)700000000)
#define SECONDS_OF_WORK 8.0

void pl_search_free(pl_search *search) {
    pl_shared_free(&search->shared);
    pl_split_clear(&search->split);
}

/* ---- where stages share IPUs ---- */

/* Returns what may still be done, if so much is reserved. */
static uint64_t work_left(pl_search *search, uint64_t reserved) {
    if (search->most_work == 0) {
        const double times = search->problem->options->time_limit_seconds / SECONDS_OF_WORK;
        search->most_work =
            times > 1.0 ? (uint64_t)(fmin(times, 1e6) * (double)MOST_WORK) : MOST_WORK;
    }
    const uint64_t most = search->most_work - pl_smaller(search->most_work, reserved);
    return most - pl_smaller(most, search->shared.work);
}

/* Returns the parameters of a search that may do so much. */
static pl_shared_search ask_shared(pl_search *search, uint64_t work) {
    return (pl_shared_search){.problem = search->problem,
                              .stop = search->stop,
                              .most_work = search->shared.work + work,
                              .shared = &search->shared};
}

/* Finds any split: by moving cuts, else by a sweep, which may give up. */
static popliner_status find_shared(pl_search *search, const pl_filter *filter, pl_split *split,
                                   bool *is_stopped, popliner_error *error) {
    enum { PART_TO_CLIMB = 64, PART_TO_SWEEP = 4 };
    const uint64_t left = work_left(search, 0);
    pl_shared_search asked = ask_shared(search, left / PART_TO_CLIMB);
    size_t num_objectives;
    const pl_first_answer_wish wish = {
        .objective = pl_objectives_of(search->problem->options, &num_objectives)[0]};
    pl_sweep_end how = PL_SWEEP_DONE;
    PL_TRY(pl_first_answer(&asked, filter, &wish, split, error));
    asked = ask_shared(search, left / PART_TO_SWEEP);
    if (split->num_stages == 0)
        PL_TRY(pl_device_sweep(&asked, filter, split, &how, error));
    *is_stopped = how != PL_SWEEP_DONE;
    return POPLINER_OK;
}

/* A pl_windows_function. */
static popliner_status find_within(void *user, const pl_limits *limits, pl_goal goal,
                                   pl_split *split, bool *is_over, popliner_error *error) {
    pl_search *search = user;
    if (search->oracle == NULL)
        return (search->uses_programs ? pl_straight_find : pl_dynamic_program)(
            search->problem, limits, goal, search->stop, split, is_over, error);
    popliner_status status = search->oracle(search, limits, goal, split, error);
    *is_over = search->is_stopped;
    return status;
}

popliner_status pl_search_find(pl_search *search, const pl_filter *filter, pl_goal goal,
                               pl_split *split, popliner_error *error) {
    const pl_problem *p = search->problem;
    const pl_windows_question question = {p, filter, goal, find_within, search};
    bool is_stopped = false;
    if (pl_stop_is_wanted(search->stop)) {
        search->is_stopped = true;
        return POPLINER_OK;
    }
    PL_TRY(p->is_shared ? find_shared(search, filter, split, &is_stopped, error)
                        : pl_windows_find(&question, split, &is_stopped, error));
    search->proof = p->is_shared            ? POPLINER_PROOF_SEARCH
                    : search->uses_programs ? POPLINER_PROOF_INTEGER_PROGRAM
                                            : POPLINER_PROOF_DYNAMIC_PROGRAM;
    search->is_stopped = search->is_stopped || is_stopped;
    return pl_chooser_failure(p, error);
}

/* Computes the values of the best known split, which an oracle found last. */
static popliner_status evaluate(pl_search *search, popliner_error *error) {
    pl_chooser_limit(search->problem, &search->filter.limits, search->by_cycles);
    if (search->oracle == NULL)
        return pl_split_evaluate(search->problem, &search->split, &search->values, NULL, error);
    search->values = search->found;
    return POPLINER_OK;
}

/* Makes the split that was found last the best known one. */
static popliner_status keep(pl_search *search, pl_split *split, popliner_error *error) {
    pl_split_move(&search->split, split);
    return evaluate(search, error);
}

uint64_t pl_search_value(const pl_search *search, popliner_objective objective) {
    return pl_objective_value(&search->values, objective, search->filter.spread_is_of_cycles);
}

/* Reports the bound and the best known split. */
static void tell_gap(pl_search *search, popliner_objective objective, uint64_t bound) {
    const uint64_t value = pl_search_value(search, objective);
    char task[48];
    snprintf(task, sizeof task, "Solving for %s", pl_objective_name(objective));
    pl_progress(search->problem->options->listener, task, pl_smaller(bound, value), value);
}

/* Improves the best known split by moving cuts. */
static popliner_status climb(pl_search *search, popliner_objective objective, const pl_split *hint,
                             size_t num_kicks, uint64_t work, popliner_error *error) {
    const pl_shared_search asked = ask_shared(search, work);
    const pl_first_answer_wish wish = {
        .objective = objective, .hint = hint, .num_kicks = num_kicks};
    PL_TRY(pl_first_answer(&asked, &search->filter, &wish, &search->split, error));
    return evaluate(search, error);
}

/* Finds a first bound, and improves the best known split. */
static popliner_status improve_shared(pl_search *search, popliner_objective objective,
                                      uint64_t work, uint64_t *bound, popliner_error *error) {
    enum { NUM_KICKS = 20 };
    const pl_shared_search asked = ask_shared(search, work);
    uint64_t found;
    pl_split hint = {0};
    popliner_status status =
        pl_shared_bound_find(&asked, &search->filter, objective, pl_search_value(search, objective),
                             &found, &hint, error);
    *bound = pl_larger(found, *bound);
    if (status == POPLINER_OK && *bound < pl_search_value(search, objective))
        status = climb(search, objective, &hint, NUM_KICKS, work, error);
    if (status == POPLINER_OK)
        tell_gap(search, objective, *bound);
    pl_split_clear(&hint);
    return status;
}

/* Narrows the range between *bound and the best known value by sweeps that do at most so much each,
 * and `most` together. If a sweep gives up, tries a smaller limit, which needs less. */
static popliner_status narrow(pl_search *search, popliner_objective objective, uint64_t of_sweep,
                              uint64_t most, uint64_t *bound, popliner_error *error) {
    enum { PARTS_OF_BOUND = 1000 }; /* no sweep in a narrower range */
    const uint64_t end = search->shared.work + most;
    uint64_t unanswered = UINT64_MAX;
    popliner_status status = POPLINER_OK;
    pl_split split = {0};
    while (status == POPLINER_OK && !search->is_stopped && search->shared.work < end) {
        uint64_t value = pl_search_value(search, objective);
        uint64_t top = unanswered < value ? unanswered : value;
        if (*bound >= top || (unanswered != UINT64_MAX && top - *bound <= *bound / PARTS_OF_BOUND))
            break;
        uint64_t middle = *bound + (top - *bound) / 2;
        pl_filter filter = pl_filter_limited(&search->filter, objective, middle);
        const uint64_t left = end - search->shared.work;
        const pl_shared_search asked = ask_shared(search, of_sweep < left ? of_sweep : left);
        pl_sweep_end how;
        status = pl_device_sweep(&asked, &filter, &split, &how, error);
        if (how == PL_SWEEP_GAVE_UP)
            unanswered = middle;
        else if (how == PL_SWEEP_STOPPED)
            search->is_stopped = true;
        else if (status == POPLINER_OK && split.num_stages > 0)
            status = keep(search, &split, error);
        else
            *bound = middle + 1;
        tell_gap(search, objective, *bound);
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises an objective where stages share IPUs: a bound and moves, then sweeps that may do ever
 * more; where they give up the problem is hard, and moves get their share. Shares are parts of what
 * is left then, so that what one spares the next ones have. A spread that no sweep has decided is
 * all up to moves. */
static popliner_status minimise_shared(pl_search *search, popliner_objective objective,
                                       bool is_last, uint64_t *bound, popliner_error *error) {
    static const struct {
        uint64_t sweep;
        uint64_t sweeps;
        uint64_t moves;
    } parts[] = {{128, 8, 32}, {16, 4, 16}, {4, 2, 3}};
    enum { PART_TO_IMPROVE = 8, PART_OF_SPREAD = 2 };
    const bool is_spread = pl_objective_of(objective)->kind == PL_OBJECTIVE_SPREAD;
    const uint64_t work = work_left(search, 0);
    const uint64_t reserved = is_last ? 0 : work / 2; /* for the next objectives */
    popliner_status status =
        improve_shared(search, objective, (work - reserved) / PART_TO_IMPROVE, bound, error);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (status != POPLINER_OK || search->is_stopped ||
            *bound >= pl_search_value(search, objective))
            break;
        uint64_t left = work_left(search, reserved);
        status =
            narrow(search, objective, left / parts[i].sweep, left / parts[i].sweeps, bound, error);
        left = work_left(search, reserved);
        if (status == POPLINER_OK && *bound < pl_search_value(search, objective))
            status = climb(search, objective, NULL, SIZE_MAX,
                           left / (is_spread ? PART_OF_SPREAD : parts[i].moves), error);
    }
    search->proof = POPLINER_PROOF_SEARCH;
    search->is_unproven = search->is_unproven || *bound < pl_search_value(search, objective);
    return status;
}

/* ---- where each stage has an IPU ---- */

/* Finds the least limit with a split. The smaller a limit is, the fewer intervals are within it, so
 * small parts of the range are tried first; of a claim, all below it. */
static popliner_status minimise_largest(pl_search *search, popliner_objective objective,
                                        uint64_t *bound, popliner_error *error) {
    pl_split split = {0};
    popliner_status status = POPLINER_OK;
    uint64_t part = search->is_claim ? 1 : 64;
    while (status == POPLINER_OK && !search->is_stopped &&
           *bound < pl_search_value(search, objective)) {
        const uint64_t below = pl_search_value(search, objective) - 1;
        uint64_t middle = *bound + (below - *bound) / part;
        pl_filter filter = pl_filter_limited(&search->filter, objective, middle);
        status = pl_search_find(search, &filter, PL_GOAL_ANY, &split, error);
        if (status != POPLINER_OK || search->is_stopped)
            break;
        if (split.num_stages == 0) {
            *bound = middle + 1;
            part = part > 2 ? part / 2 : search->is_least ? 1 : 2;
        } else {
            status = keep(search, &split, error);
            if (status == POPLINER_OK && search->is_least)
                *bound = pl_search_value(search, objective);
            part = part > 1 ? part : 64;
        }
        tell_gap(search, objective, *bound);
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises cut bytes, IPUs or the spread, which are goals of the oracles. A limit of a sum makes
 * an integer program harder. */
static popliner_status minimise_at_once(pl_search *search, popliner_objective objective,
                                        uint64_t *bound, popliner_error *error) {
    const pl_objective *o = pl_objective_of(objective);
    const uint64_t value = pl_search_value(search, objective);
    const bool is_whole = search->uses_programs && o->kind == PL_OBJECTIVE_SUM;
    const pl_filter less = pl_filter_limited(&search->filter, objective, value - 1);
    pl_split split = {0};
    if (value == 0)
        return POPLINER_OK;
    popliner_status status =
        pl_search_find(search, is_whole ? &search->filter : &less, o->goal, &split, error);
    if (status == POPLINER_OK && split.num_stages > 0)
        status = keep(search, &split, error);
    else if (status == POPLINER_OK && is_whole && !search->is_stopped)
        status = pl_fail(error, POPLINER_ERROR_INTERNAL, "GLPK finds no split where there is one");
    if (!search->is_stopped)
        *bound = pl_search_value(search, objective);
    pl_split_clear(&split);
    return status;
}

/* Returns the largest value that the slack allows. The slack is a part of the value; for HEADROOM
 * of what is free, not of what is minimised. */
static uint64_t with_slack(const pl_search *search, popliner_objective objective,
                           double slack_percent) {
    const uint64_t value = pl_search_value(search, objective);
    const uint64_t largest = search->problem->largest_limit_bytes;
    const uint64_t of = objective != POPLINER_OBJECTIVE_HEADROOM ? value
                        : value < largest                        ? largest - value
                                                                 : 0;
    const long double slack = (long double)of * (long double)slack_percent / 100.0L;
    return slack >= (long double)(UINT64_MAX - value) ? UINT64_MAX : value + (uint64_t)slack;
}

/* Decides between equally good splits: the earliest cuts; where stages share IPUs, which have no
 * such search, the even loads that a few moves find. */
static popliner_status break_ties(pl_search *search, popliner_error *error) {
    enum { WORK_FOR_TIES = 4000000 };
    pl_split split = {0};
    if (search->problem->is_shared) {
        PL_TRY(climb(search, POPLINER_OBJECTIVE_MEMORY, NULL, 0, WORK_FOR_TIES, error));
        return search->problem->chooser == NULL ? pl_step_break_ties(search, error) : POPLINER_OK;
    }
    if (search->oracle != NULL)
        return POPLINER_OK;
    popliner_status status =
        pl_search_find(search, &search->filter, PL_GOAL_EARLIEST_CUTS, &split, error);
    if (status == POPLINER_OK && split.num_stages > 0)
        status = keep(search, &split, error);
    pl_split_clear(&split);
    return status;
}

/* Minimises one objective within the filter. */
static popliner_status minimise(pl_search *search, popliner_objective objective, bool is_last,
                                uint64_t *bound, popliner_error *error) {
    const pl_objective *o = pl_objective_of(objective);
    search->by_cycles = pl_objective_is_of_cycles(objective, false);
    if (search->problem->chooser != NULL)
        PL_TRY(evaluate(search, error));
    if (search->is_stopped)
        return POPLINER_OK;
    if (o->is_mapped && search->problem->is_mapped) { /* all splits have so many */
        *bound = pl_search_value(search, objective);
        if (search->proof == POPLINER_PROOF_NONE)
            search->proof =
                search->problem->is_shared ? POPLINER_PROOF_SEARCH : POPLINER_PROOF_DYNAMIC_PROGRAM;
        return POPLINER_OK;
    }
    if (search->problem->is_shared)
        return minimise_shared(search, objective, is_last, bound, error);
    return o->kind == PL_OBJECTIVE_LARGEST ? minimise_largest(search, objective, bound, error)
                                           : minimise_at_once(search, objective, bound, error);
}

popliner_status pl_search_optimise(pl_search *search, const popliner_objective *objectives,
                                   size_t num_objectives, popliner_plan *plan,
                                   popliner_error *error) {
    popliner_status status = evaluate(search, error);
    for (size_t i = 0; status == POPLINER_OK && i < num_objectives; ++i) {
        popliner_objective objective = objectives[i];
        uint64_t bound = search->known_bounds[objective];
        if (objective == POPLINER_OBJECTIVE_HEADROOM)
            bound = pl_larger(bound, pl_problem_largest_lack(search->problem));
        status = minimise(search, objective, i + 1 == num_objectives, &bound, error);
        bool is_known = !search->is_stopped && !search->is_unproven;
        plan->values[plan->num_values++] = (popliner_plan_value){
            objective, 0, bound, is_known ? search->proof : POPLINER_PROOF_NONE};
        /* the last objective has no slack */
        double slack_percent =
            i + 1 < num_objectives ? search->problem->options->slack_percent : 0.0;
        search->filter = pl_filter_limited(&search->filter, objective,
                                           with_slack(search, objective, slack_percent));
    }
    search->is_proven = !search->is_stopped && !search->is_unproven;
    search->by_cycles = true;
    if (status == POPLINER_OK && !search->is_stopped)
        status = break_ties(search, error);
    if (status == POPLINER_OK && search->problem->chooser != NULL)
        status = evaluate(search, error);
    for (size_t i = 0; i < plan->num_values; ++i)
        plan->values[i].value = pl_search_value(search, plan->values[i].objective);
    return status;
}
