/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/search.h"

#include "base/failure.h"
#include "costs/costs.h"
#include "solve/integer_program.h"
#include "solve/shared/shared.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Time limits, in seconds, of the search for better splits before any proof, and of the bounds. */
#define SECONDS_TO_BEGIN 0.5
#define SECONDS_TO_IMPROVE 0.5
#define SECONDS_TO_BOUND 0.3
#define SECONDS_FOR_HARD 0.5
#define SECONDS_BETWEEN_GAPS 1.0

/* The share of the time limit for finding the earliest of equally good cuts, where stages share
 * IPUs. */
#define SHARE_FOR_EARLIEST 0.25

void pl_search_free(pl_search *search) {
    pl_shared_free(&search->shared);
    pl_split_clear(&search->split);
}

/* Returns the parameters of a search where stages share IPUs. */
static pl_shared_search ask_shared(pl_search *search, pl_goal goal) {
    return (pl_shared_search){.problem = search->problem,
                              .goal = goal,
                              .stop = search->stop,
                              .listener = search->problem->options->listener,
                              .shared = &search->shared};
}

/* True if a sweep can serve the goal. */
static bool can_sweep(const pl_search *search, pl_goal goal) {
    return !search->shared.is_wide && pl_device_sweep_can(search->problem, goal);
}

/* Finds a split where stages share IPUs. A search that gives up ends as if it was stopped. */
static popliner_status find_shared(pl_search *search, const pl_filter *filter, pl_goal goal,
                                   pl_split *split, pl_search_result *result,
                                   popliner_error *error) {
    const pl_shared_search asked = ask_shared(search, goal);
    bool gave_up = true;
    popliner_status status = POPLINER_OK;
    if (can_sweep(search, goal))
        status = pl_spread_sweep(&asked, filter, split, result, &gave_up, error);
    search->shared.is_wide = gave_up;
    result->is_stopped = result->is_stopped || gave_up;
    return status;
}

popliner_status pl_search_find(pl_search *search, const pl_filter *filter, pl_goal goal,
                               pl_split *split, uint64_t *bound, popliner_error *error) {
    const pl_problem *p = search->problem;
    bool is_stopped = false;
    popliner_status status;
    uint64_t found_bound = 0;
    if (bound != NULL)
        *bound = 0;
    if (pl_stop_is_wanted(search->stop)) {
        search->is_stopped = true;
        return POPLINER_OK;
    }
    if (p->is_shared) {
        pl_search_result result = {0};
        status = find_shared(search, filter, goal, split, &result, error);
        is_stopped = result.is_stopped;
        search->proof = result.proof;
        found_bound = split->num_stages > 0 ? result.bound_bytes : 0;
    } else if (search->uses_programs) {
        const pl_straight_programs asked = {p, filter, search->stop, p->options->listener};
        status = goal == PL_GOAL_EARLIEST_CUTS
                     ? pl_straight_find_earliest(&asked, split, &is_stopped, error)
                     : pl_straight_find(&asked, split, &is_stopped, error);
        search->proof = POPLINER_PROOF_INTEGER_PROGRAM;
    } else {
        status = pl_dynamic_program(p, filter, goal, search->stop, split, &is_stopped, error);
        search->proof = POPLINER_PROOF_DYNAMIC_PROGRAM;
    }
    search->is_stopped = search->is_stopped || is_stopped;
    if (bound != NULL)
        *bound = found_bound;
    return status;
}

/* Makes a split the best known one. */
static popliner_status keep(pl_search *search, pl_split *split, popliner_error *error) {
    pl_split_move(&search->split, split);
    return pl_split_evaluate(search->problem, &search->split, &search->values, NULL, error);
}

uint64_t pl_search_value(const pl_search *search, popliner_objective objective) {
    return pl_objective_value(&search->values, objective, search->filter.spread_is_of_cycles);
}

popliner_status pl_search_any(pl_search *search, popliner_objective objective,
                              popliner_error *error) {
    popliner_status status = POPLINER_OK;
    if (search->problem->is_shared && !pl_stop_is_wanted(search->stop)) {
        const pl_shared_search asked = ask_shared(search, PL_GOAL_ANY);
        const pl_first_answer_wish wish = {.objective = objective, .seconds = SECONDS_TO_BEGIN};
        status = pl_first_answer(&asked, &search->filter, &wish, &search->split, error);
    }
    if (status != POPLINER_OK || search->split.num_stages > 0)
        return status;
    return pl_search_find(search, &search->filter, PL_GOAL_ANY, &search->split, NULL, error);
}

/* Reports the bound and the best known split, and logs now and then how far apart they are. */
static void tell_gap(pl_search *search, popliner_objective objective, uint64_t bound) {
    const popliner_listener *listener = search->problem->options->listener;
    uint64_t value = pl_search_value(search, objective);
    double now = pl_clock_seconds();
    char task[48];
    snprintf(task, sizeof task, "Solving for %s", pl_objective_name(objective));
    pl_progress(listener, task, bound < value ? bound : value, value);
    if (!search->problem->is_shared ||
        (now < search->next_told_seconds && bound < value && bound > 0))
        return;
    search->next_told_seconds = now + SECONDS_BETWEEN_GAPS;
    if (bound >= value)
        pl_tell(listener, POPLINER_LEVEL_INFO,
                "Objective %s: no split is better than the known one",
                pl_objective_name(objective));
    else if (bound > 0)
        pl_tell(listener, POPLINER_LEVEL_INFO,
                "Objective %s: the known split is at most %.2f %% above the best",
                pl_objective_name(objective), 100.0 * (double)(value - bound) / (double)bound);
    else
        pl_tell(listener, POPLINER_LEVEL_INFO, "Objective %s: there is a split, but no bound yet",
                pl_objective_name(objective));
}

/* Where stages share IPUs: improves the best known split without proof, and finds a first bound. */
static popliner_status improve_shared(pl_search *search, popliner_objective objective,
                                      uint64_t *bound, popliner_error *error) {
    const pl_shared_search asked = ask_shared(search, PL_GOAL_ANY);
    pl_shared_bound found = {0};
    popliner_status status =
        pl_shared_bound_find(&asked, &search->filter, objective, pl_search_value(search, objective),
                             SECONDS_TO_BOUND, &found, error);
    pl_first_answer_wish wish = {.objective = objective,
                                 .hint = &found.hint,
                                 .seconds = SECONDS_TO_IMPROVE,
                                 .num_kicks = 20};
    if (status == POPLINER_OK && found.bound < pl_search_value(search, objective) &&
        *bound < pl_search_value(search, objective))
        status = pl_first_answer(&asked, &search->filter, &wish, &search->split, error);
    if (status == POPLINER_OK)
        status = pl_split_evaluate(search->problem, &search->split, &search->values, NULL, error);
    *bound = found.bound > *bound ? found.bound : *bound;
    search->proof = POPLINER_PROOF_SEARCH;
    if (status == POPLINER_OK)
        tell_gap(search, objective, *bound);
    pl_shared_bound_clear(&found);
    return status;
}

/* Narrows the range between *bound and the best known value by sweeps of at most max_tries tries.
 * If a sweep gives up, tries a smaller limit, which needs fewer tries. *is_done: the range is
 * empty. */
static popliner_status narrow(pl_search *search, popliner_objective objective, size_t max_tries,
                              uint64_t *bound, bool *is_done, popliner_error *error) {
    enum { PARTS_OF_BOUND = 1000 }; /* no sweep in a narrower range */
    uint64_t unanswered = UINT64_MAX;
    popliner_status status = POPLINER_OK;
    pl_split split = {0};
    while (status == POPLINER_OK && !search->is_stopped) {
        uint64_t value = pl_search_value(search, objective);
        uint64_t top = unanswered < value ? unanswered : value;
        if (*bound >= top || (unanswered != UINT64_MAX && top - *bound <= *bound / PARTS_OF_BOUND))
            break;
        uint64_t middle = *bound + (top - *bound) / 2;
        pl_filter filter = pl_filter_limited(&search->filter, objective, middle);
        pl_shared_search asked = ask_shared(search, PL_GOAL_ANY);
        pl_search_result result = {0};
        bool gave_up = false;
        asked.max_tries = max_tries;
        status = pl_spread_sweep(&asked, &filter, &split, &result, &gave_up, error);
        search->is_stopped = search->is_stopped || result.is_stopped;
        if (status != POPLINER_OK || result.is_stopped)
            break;
        if (gave_up)
            unanswered = middle;
        else if (split.num_stages > 0)
            status = keep(search, &split, error);
        else
            *bound = middle + 1;
        tell_gap(search, objective, *bound);
    }
    *is_done = *bound >= pl_search_value(search, objective);
    pl_split_clear(&split);
    return status;
}

/* Sweeps with ever more tries. Where they give up the problem is hard, and finding better splits
 * gets more time. */
static popliner_status narrow_by_sweeps(pl_search *search, popliner_objective objective,
                                        uint64_t *bound, popliner_error *error) {
    static const size_t max_tries[] = {10000000, 100000000, 0};
    popliner_status status = POPLINER_OK;
    bool is_done = false;
    if (!can_sweep(search, PL_GOAL_ANY))
        return POPLINER_OK;
    for (size_t i = 0; i < sizeof max_tries / sizeof *max_tries; ++i) {
        status = narrow(search, objective, max_tries[i], bound, &is_done, error);
        if (status != POPLINER_OK || is_done || search->is_stopped)
            return status;
        const pl_shared_search asked = ask_shared(search, PL_GOAL_ANY);
        const pl_first_answer_wish wish = {
            .objective = objective, .seconds = SECONDS_FOR_HARD, .num_kicks = SIZE_MAX};
        status = pl_first_answer(&asked, &search->filter, &wish, &search->split, error);
        if (status == POPLINER_OK)
            status =
                pl_split_evaluate(search->problem, &search->split, &search->values, NULL, error);
        if (status != POPLINER_OK)
            return status;
    }
    search->shared.is_wide = true;
    return POPLINER_OK;
}

/* Raises the bound to the least limit with which stages may cover the chain, as far as their lengths
 * tell. */
static popliner_status bound_by_lengths(const pl_search *search, popliner_objective objective,
                                        uint64_t *bound, popliner_error *error) {
    uint64_t most = pl_search_value(search, objective);
    popliner_status status = POPLINER_OK;
    while (status == POPLINER_OK && *bound < most) {
        const uint64_t middle = *bound + (most - *bound) / 2;
        const pl_filter filter = pl_filter_limited(&search->filter, objective, middle);
        bool may_have;
        status = pl_dynamic_program_may_have(search->problem, &filter.limits, &may_have, error);
        if (may_have)
            most = middle;
        else
            *bound = middle + 1;
    }
    return status;
}

/* Finds the least limit with a split. Where the best limit is nearly reached few intervals are left,
 * so the least that may suffice is tried first, then small parts of the range above it. */
static popliner_status minimise_largest(pl_search *search, popliner_objective objective,
                                        uint64_t *bound, popliner_error *error) {
    pl_split split = {0};
    const bool is_shared = search->problem->is_shared;
    popliner_status status = is_shared ? narrow_by_sweeps(search, objective, bound, error)
                                       : bound_by_lengths(search, objective, bound, error);
    uint64_t part = is_shared ? 2 : UINT64_MAX;
    while (status == POPLINER_OK && !search->is_stopped &&
           *bound < pl_search_value(search, objective)) {
        uint64_t middle = *bound + (pl_search_value(search, objective) - *bound) / part;
        pl_filter filter = pl_filter_limited(&search->filter, objective, middle);
        uint64_t next_peak = 0;
        status = pl_search_find(search, &filter, PL_GOAL_ANY, &split, &next_peak, error);
        if (status != POPLINER_OK || search->is_stopped)
            break;
        if (split.num_stages > 0) {
            status = keep(search, &split, error);
            if (status != POPLINER_OK)
                break;
            tell_gap(search, objective, *bound);
            continue;
        }
        *bound = middle + 1;
        part = part > 64 ? 64 : part > 2 ? part / 2 : 2;
        if (objective == POPLINER_OBJECTIVE_MEMORY && next_peak > *bound)
            *bound = next_peak < pl_search_value(search, objective)
                         ? next_peak
                         : pl_search_value(search, objective);
        tell_gap(search, objective, *bound);
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises the spread where stages share IPUs: by sweeps; if these give up, by searching for a
 * smaller spread until there is none. */
static popliner_status minimise_shared_spread(pl_search *search, uint64_t *bound,
                                              popliner_error *error) {
    pl_split split = {0};
    popliner_status status = narrow_by_sweeps(search, POPLINER_OBJECTIVE_BALANCE, bound, error);
    while (status == POPLINER_OK && !search->is_stopped &&
           *bound < pl_search_value(search, POPLINER_OBJECTIVE_BALANCE) &&
           pl_search_value(search, POPLINER_OBJECTIVE_BALANCE) > 0) {
        pl_filter filter = search->filter;
        filter.max_spread = pl_search_value(search, POPLINER_OBJECTIVE_BALANCE) - 1;
        status = pl_search_find(search, &filter, PL_GOAL_ANY, &split, NULL, error);
        if (status != POPLINER_OK || split.num_stages == 0)
            break;
        status = keep(search, &split, error);
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises the spread where each stage has an IPU: searches for a smaller spread in one block of
 * smallest values after another. */
static popliner_status minimise_spread(pl_search *search, popliner_error *error) {
    bool of_cycles = search->filter.spread_is_of_cycles;
    pl_windows windows = PL_WINDOWS_INIT;
    pl_split split = {0};
    popliner_status status = POPLINER_OK;
    uint64_t spread;
    while (status == POPLINER_OK && !windows.is_over &&
           (spread = pl_search_value(search, POPLINER_OBJECTIVE_BALANCE)) > 0) {
        pl_filter filter = search->filter;
        pl_objective_values values = {0};
        filter.limits = pl_windows_limits(&windows, spread - 1, &search->filter);
        status = pl_search_find(search, &filter, PL_GOAL_ANY, &split, NULL, error);
        if (status == POPLINER_OK && split.num_stages > 0)
            status = pl_split_evaluate(search->problem, &split, &values, NULL, error);
        if (status != POPLINER_OK || search->is_stopped)
            break;
        if (split.num_stages == 0)
            pl_windows_skip(&windows, spread - 1);
        else if (pl_objective_values_spread(&values, of_cycles) < spread)
            status = keep(search, &split, error);
        else
            pl_windows_narrow(&windows, spread - 1, of_cycles ? values.cycles : values.peak_bytes);
        pl_split_clear(&split);
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises cut bytes or IPUs, which are goals of the searches. */
static popliner_status minimise_sum(pl_search *search, popliner_objective objective,
                                    uint64_t *bound, popliner_error *error) {
    pl_split split = {0};
    uint64_t known = 0;
    bool is_found = false;
    popliner_status status = POPLINER_OK;
    /* a device map fixes the number of IPUs */
    pl_filter filter = search->filter;
    const pl_objective *o = pl_objective_of(objective);
    bool is_shared_traffic = search->problem->is_shared && o->goal == PL_GOAL_FEWEST_CUT_BYTES;
    if (is_shared_traffic) {
        if (*bound >= search->values.cut_bytes)
            return POPLINER_OK;
        /* look only for splits that are better than the best known one */
        filter.limits.max_cut_bytes = search->values.cut_bytes - 1;
    }
    if (!o->is_mapped || !search->problem->is_mapped)
        status = pl_search_find(search, &filter, o->goal, &split, &known, error);
    else if (search->proof == POPLINER_PROOF_NONE)
        search->proof = POPLINER_PROOF_SEARCH; /* the map has so many */
    is_found = split.num_stages > 0;
    if (status == POPLINER_OK && is_found)
        status = keep(search, &split, error);
    if (!search->is_stopped)
        *bound = pl_search_value(search, objective);
    if (is_shared_traffic && is_found && known < *bound) {
        *bound = known;
        search->is_unproven = true;
    }
    pl_split_clear(&split);
    return status;
}

/* Minimises by an integer program, for the method ILP. */
static popliner_status minimise_by_program(pl_search *search, popliner_objective objective,
                                           uint64_t *bound, popliner_error *error) {
    const pl_problem *p = search->problem;
    const pl_straight_programs asked = {p, &search->filter, search->stop, p->options->listener};
    pl_straight_answer answer;
    popliner_status status =
        pl_straight_minimise(&asked, objective, &search->split, &answer, error);
    if (status == POPLINER_OK)
        status = pl_split_evaluate(p, &search->split, &search->values, NULL, error);
    search->proof = POPLINER_PROOF_INTEGER_PROGRAM;
    search->is_stopped = search->is_stopped || answer.is_stopped;
    search->is_unproven = search->is_unproven || answer.is_unproven;
    *bound = answer.bound > *bound ? answer.bound : *bound;
    return status;
}

uint64_t pl_slack_limit(uint64_t value, uint64_t of, double slack_percent) {
    long double slack = (long double)of * (long double)slack_percent / 100.0L;
    return slack >= (long double)(UINT64_MAX - value) ? UINT64_MAX : value + (uint64_t)slack;
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
    return pl_slack_limit(value, of, slack_percent);
}

/* Finds the earliest cuts among the best splits. */
static popliner_status find_earliest(pl_search *search, popliner_error *error) {
    const pl_problem *p = search->problem;
    const pl_stop *stop = search->stop;
    pl_stop sooner = *stop;
    pl_split split = {0};
    double seconds = p->options->time_limit_seconds * SHARE_FOR_EARLIEST;
    if (p->is_shared && seconds > 0.0 && pl_clock_seconds() + seconds < sooner.deadline_seconds)
        sooner.deadline_seconds = pl_clock_seconds() + seconds;
    search->stop = &sooner;
    popliner_status status = POPLINER_OK;
    if (p->is_shared) {
        const pl_shared_search asked = ask_shared(search, PL_GOAL_EARLIEST_CUTS);
        status = pl_shared_earliest(&asked, &search->filter, &split, error);
    }
    if (status == POPLINER_OK && split.num_stages == 0)
        status =
            pl_search_find(search, &search->filter, PL_GOAL_EARLIEST_CUTS, &split, NULL, error);
    search->stop = stop;
    if (status == POPLINER_OK && split.num_stages > 0)
        status = keep(search, &split, error);
    pl_split_clear(&split);
    return status;
}

/* Minimises one objective within the filter. */
static popliner_status minimise(pl_search *search, popliner_objective objective, uint64_t *bound,
                                popliner_error *error) {
    const pl_objective *o = pl_objective_of(objective);
    bool is_shared = search->problem->is_shared;
    popliner_status status = POPLINER_OK;
    if (is_shared && !o->is_mapped)
        status = improve_shared(search, objective, bound, error);
    if (status != POPLINER_OK || search->is_stopped)
        return status;
    if (search->uses_programs)
        return minimise_by_program(search, objective, bound, error);
    switch (o->kind) {
    case PL_OBJECTIVE_LARGEST:
        return minimise_largest(search, objective, bound, error);
    case PL_OBJECTIVE_SPREAD:
        return is_shared ? minimise_shared_spread(search, bound, error)
                         : minimise_spread(search, error);
    case PL_OBJECTIVE_SUM:
        break;
    }
    return minimise_sum(search, objective, bound, error);
}

popliner_status pl_search_optimise(pl_search *search, const popliner_objective *objectives,
                                   size_t num_objectives, popliner_plan *plan,
                                   popliner_error *error) {
    popliner_status status =
        pl_split_evaluate(search->problem, &search->split, &search->values, NULL, error);
    for (size_t i = 0; status == POPLINER_OK && i < num_objectives; ++i) {
        popliner_objective objective = objectives[i];
        uint64_t bound = i == 0 ? search->known_bound : 0;
        if (objective == POPLINER_OBJECTIVE_HEADROOM)
            bound = pl_problem_largest_lack(search->problem);
        status = minimise(search, objective, &bound, error);
        if (pl_objective_of(objective)->kind == PL_OBJECTIVE_SPREAD && !search->is_stopped)
            bound = pl_search_value(search, objective);
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
    if (status == POPLINER_OK && !search->is_stopped && !search->any_cuts)
        status = find_earliest(search, error);
    for (size_t i = 0; i < plan->num_values; ++i)
        plan->values[i].value = pl_search_value(search, plan->values[i].objective);
    return status;
}
