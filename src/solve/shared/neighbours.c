/* The best split near a known one, and the best within a spread.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"

#include <stdlib.h>

/* ---- the best split within a spread ---- */

typedef struct spread_sweep {
    const pl_shared_search *asked;
    pl_search_result *result;
    bool *gave_up;
} spread_sweep;

/* A pl_windows_function. */
static popliner_status sweep_window(void *user, const pl_limits *limits, pl_split *split,
                                    bool *is_over, popliner_error *error) {
    const spread_sweep *s = user;
    popliner_status status = pl_device_sweep(s->asked, limits, split, s->result, s->gave_up, error);
    *is_over = s->result->is_stopped || *s->gave_up;
    return status;
}

popliner_status pl_spread_sweep(const pl_shared_search *asked, const pl_filter *filter,
                                pl_split *split, pl_search_result *result, bool *gave_up,
                                popliner_error *error) {
    spread_sweep s = {asked, result, gave_up};
    bool is_over = false;
    popliner_status status = pl_windows_find(
        &(pl_windows_question){asked->problem, filter, asked->goal, sweep_window, &s}, split,
        &is_over, error);
    if (pl_filter_only_limits(filter) == NULL)
        result->bound_bytes = pl_split_cut_bytes(asked->problem, split);
    return status;
}

/* ---- the best split near a known one ---- */

enum {
    FARTHEST = 12,
    MOST_TRIES = 300000, /* for one sweep */
    /* How much better a split must be: 1/parts of the value, with ever more parts. */
    FEWEST_PARTS = 200,
    MOST_PARTS = 100000,
    MORE_PARTS = 8,
};

typedef struct search {
    const pl_shared_search *asked;
    const pl_filter *filter;
    popliner_objective objective;
    pl_stop stop;
    pl_cut_range *ranges; /* [stages + 1] */
    pl_split *split;
    uint64_t value;
    uint64_t random;
    popliner_error *error;
} search;

static popliner_status evaluate(search *s) {
    pl_objective_values values;
    popliner_status status =
        pl_split_evaluate(s->asked->problem, s->split, &values, NULL, s->error);
    if (status == POPLINER_OK)
        s->value = pl_objective_value(&values, s->objective, s->filter->spread_is_of_cycles);
    return status;
}

/* Returns the place of the cut before a stage. */
static size_t cut_at(const search *s, size_t stage) {
    return stage < s->split->num_stages ? s->split->first_units[stage]
                                        : s->asked->problem->num_units;
}

/* Lets the cuts around the stages of an IPU move by `distance`; for SIZE_MAX all cuts. */
static void free_cuts(search *s, size_t first_stage, size_t distance) {
    const size_t *first_on_ipu = s->asked->problem->first_on_ipu;
    size_t num_stages = s->split->num_stages;
    for (size_t cut = 0; cut <= num_stages; ++cut) {
        size_t at = cut_at(s, cut);
        bool is_free = cut > 0 && cut < num_stages &&
                       (first_stage == SIZE_MAX || first_on_ipu[cut] == first_stage ||
                        first_on_ipu[cut - 1] == first_stage);
        size_t by = is_free ? distance : 0;
        s->ranges[cut] = (pl_cut_range){at > by ? at - by : 0, at + by};
    }
}

/* Lets each cut move by a random distance. */
static void free_some(search *s) {
    static const size_t distances[] = {0, 0, 1, 1, 2, 3, 5, 9};
    size_t num_stages = s->split->num_stages;
    for (size_t cut = 1; cut < num_stages; ++cut) {
        size_t at = cut_at(s, cut);
        size_t by = distances[pl_random_below(&s->random, sizeof distances / sizeof *distances)];
        s->ranges[cut] = (pl_cut_range){at > by ? at - by : 0, at + by};
    }
    s->ranges[0] = (pl_cut_range){0, 0};
    s->ranges[num_stages] = (pl_cut_range){cut_at(s, num_stages), cut_at(s, num_stages)};
}

/* Searches within the ranges for a split that is better by `less`. */
static popliner_status look(search *s, uint64_t less, bool *is_better, bool *gave_up) {
    pl_shared_search asked = *s->asked;
    pl_filter filter = pl_filter_limited(s->filter, s->objective, s->value - less);
    pl_split found = {0};
    pl_search_result result = {0};
    asked.goal = PL_GOAL_ANY;
    asked.stop = &s->stop;
    asked.ranges = s->ranges;
    asked.room = NULL; /* it takes longer than it saves */
    asked.max_tries = MOST_TRIES;
    popliner_status status = pl_spread_sweep(&asked, &filter, &found, &result, gave_up, s->error);
    *is_better = status == POPLINER_OK && found.num_stages > 0;
    if (*is_better) {
        pl_split_move(s->split, &found);
        status = evaluate(s);
    }
    pl_split_clear(&found);
    return status;
}

/* Finds the best split within the ranges, up to 1/MOST_PARTS. *is_better: better than before. */
static popliner_status settle(search *s, bool *is_better, bool *gave_up) {
    popliner_status status = POPLINER_OK;
    *is_better = *gave_up = false;
    for (uint64_t parts = FEWEST_PARTS; status == POPLINER_OK && parts <= MOST_PARTS;) {
        uint64_t less = s->value / parts > 0 ? s->value / parts : 1;
        bool is_found = false;
        if (s->value == 0 || pl_stop_is_wanted(&s->stop))
            break;
        status = look(s, less, &is_found, gave_up);
        *is_better = *is_better || is_found;
        if (!is_found && less == 1)
            break;
        if (!is_found)
            parts *= MORE_PARTS;
    }
    return status;
}

static popliner_status improve(search *s, bool goes_on) {
    const pl_problem *p = s->asked->problem;
    bool gave_up = false;
    popliner_status status = evaluate(s);
    size_t distance = 1;
    while (status == POPLINER_OK && distance <= FARTHEST && !gave_up) {
        bool is_any = false;
        bool is_better = false;
        free_cuts(s, SIZE_MAX, distance);
        status = settle(s, &is_any, &gave_up);
        for (size_t stage = 0; status == POPLINER_OK && !is_any && stage < s->split->num_stages;
             ++stage) {
            bool is_hard = false;
            if (p->first_on_ipu[stage] != stage)
                continue;
            free_cuts(s, stage, 2 * distance);
            status = settle(s, &is_better, &is_hard);
            is_any = is_any || is_better;
        }
        if (pl_stop_is_wanted(&s->stop))
            break;
        distance += !is_any;
    }
    while (status == POPLINER_OK && goes_on && !pl_stop_is_wanted(&s->stop)) {
        bool is_better = false;
        free_some(s);
        status = settle(s, &is_better, &gave_up);
    }
    return status;
}

popliner_status pl_neighbours_improve(const pl_shared_search *asked, const pl_filter *filter,
                                      popliner_objective objective, double seconds, bool goes_on,
                                      pl_split *split, popliner_error *error) {
    double deadline_seconds = pl_clock_seconds() + seconds;
    search s = {.asked = asked,
                .filter = filter,
                .objective = objective,
                .stop = *asked->stop,
                .ranges = pl_new_array(split->num_stages + 1, sizeof *s.ranges),
                .split = split,
                .random = split->num_stages,
                .error = error};
    if (s.stop.deadline_seconds > deadline_seconds)
        s.stop.deadline_seconds = deadline_seconds;
    popliner_status status = s.ranges == NULL        ? pl_fail_memory(error, "the places for cuts")
                             : split->num_stages > 0 ? improve(&s, goes_on)
                                                     : POPLINER_OK;
    free(s.ranges);
    return status;
}
