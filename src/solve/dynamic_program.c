/* The best split if no stages share an IPU.
 *
 * A row has, for each unit, the cost of the units from there on as the stages from a place on: cut
 * bytes, or, where these do not matter, the number of stages. It is the minimum over the ends of
 * the stage at this place, of the cut there and the cost in the row of the next place (see
 * solve/places.h). Where rows count stages, all places that are alike have one row.
 *
 * Stages that are as long as they may be tell how far stages reach. A stage at a place begins at
 * most at the unit F that the stages before it reach from the front, and at least at the unit B
 * from which those from there on reach the end. Near the optimum these units are few, and rows have
 * no others.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/places.h"

#include <stdlib.h>
#include <string.h>

/* The rest of the chain has no split; larger than any sum of cut bytes. */
#define NO_SPLIT UINT64_MAX

typedef struct program {
    const pl_problem *problem;
    pl_limits limits;
    const pl_stop *stop;
    pl_goal goal;
    size_t width; /* units + 1 */
    size_t max_stages;
    pl_places places;
    size_t first;    /* the place of the first stage */
    bool counts;     /* rows count stages */
    uint64_t *rows;  /* [rows][width]: see row_of */
    uint64_t *after; /* [width] the cost of continuing at a unit: the cut, and the row after it */
    size_t *front;   /* [places + 1]: F */
    size_t *back;    /* [places + 1]: B */
    uint8_t *begins; /* [width]: units that the stages of a row may begin with */
    pl_stage_ends ends;
    size_t ends_place; /* of which these are */
    pl_arrays arrays;  /* own all but the ends */
    bool is_stopped;
} program;

static void free_program(program *p) {
    pl_places_free(&p->places);
    pl_stage_ends_free(&p->ends);
    pl_arrays_free(&p->arrays);
}

/* Returns the row of a place. Special places have that of their stage: pipelines of another length
 * were read before. */
static uint64_t *row_of(const program *p, size_t place) {
    const pl_place *at = &p->places.items[place];
    const bool is_special = at->stage < p->places.num_special;
    const size_t row = is_special || p->counts ? at->stage
                       : p->places.is_exact    ? at->stage + at->to_end - 1
                                               : place;
    return p->rows + row * p->width;
}

/* True if the same intervals may be a stage at both places. */
static bool are_alike(const program *p, size_t place, size_t other) {
    const pl_place *a = &p->places.items[place];
    const pl_place *b = &p->places.items[other];
    return a->stage == b->stage && (!p->problem->depends_on_end || a->to_end == b->to_end);
}

/* Returns the rule of a place. */
static pl_stage_rule rule_of(const program *p, size_t place) {
    const pl_place *at = &p->places.items[place];
    return pl_stage_rule_of(p->problem, &p->limits, at->stage, at->to_end);
}

/* Finds how far stages reach: F and B. */
static void find_reach(program *p) {
    const size_t count = p->places.count;
    pl_stage_rule rule = {0};
    p->back[count] = p->width - 1;
    for (size_t place = count; place-- > 0;) {
        if (place + 1 == count || !are_alike(p, place, place + 1))
            rule = rule_of(p, place);
        p->back[place] = pl_stage_rule_first(&rule, p->back[p->places.items[place].next]);
    }
    memset(p->front, 0, (count + 1) * sizeof *p->front);
    for (size_t place = p->first; place < count; ++place) {
        size_t *next = &p->front[p->places.items[place].next];
        if (place == p->first || !are_alike(p, place, place - 1))
            rule = rule_of(p, place);
        *next = pl_more(*next, pl_stage_rule_last(&rule, p->front[place]));
    }
}

static popliner_status prepare_program(program *p, popliner_error *error) {
    const pl_problem *problem = p->problem;
    p->width = problem->num_units + 1;
    p->max_stages = problem->max_stages;
    if (!problem->is_mapped && p->limits.max_ipus < p->max_stages)
        p->max_stages = (size_t)p->limits.max_ipus;
    PL_TRY(pl_places_lay(&p->places, problem, &p->limits, p->max_stages, error));
    p->counts = !p->places.is_exact && p->goal != PL_GOAL_FEWEST_CUT_BYTES &&
                p->limits.max_cut_bytes >= PL_MAX_CUT_BYTES;
    p->rows = pl_arrays_new(&p->arrays, p->max_stages * p->width, sizeof *p->rows);
    p->after = pl_arrays_new(&p->arrays, p->width, sizeof *p->after);
    p->begins = pl_arrays_new(&p->arrays, p->width, sizeof *p->begins);
    p->front = pl_arrays_new(&p->arrays, p->places.count + 1, sizeof *p->front);
    p->back = pl_arrays_new(&p->arrays, p->places.count + 1, sizeof *p->back);
    return p->arrays.failed ? pl_fail_memory(error, "the tables of the dynamic program")
                            : POPLINER_OK;
}

/* ---- rows ---- */

/* Returns the cost of a cut before a unit, with the cost of the rest. */
static uint64_t step(const program *p, size_t unit, uint64_t rest) {
    if (rest == NO_SPLIT)
        return NO_SPLIT;
    return p->counts ? rest + 1
                     : pl_add_cut_bytes(popliner_costs_cut(p->problem->costs, unit), rest);
}

/* Finds the intervals that may be a stage at a place. The marks serve all places that are alike. */
static popliner_status find_ends(program *p, size_t place, popliner_error *error) {
    p->is_stopped = p->is_stopped || pl_stop_is_wanted(p->stop);
    if (p->is_stopped || (p->ends_place < SIZE_MAX && are_alike(p, place, p->ends_place)))
        return POPLINER_OK;
    const pl_stage_rule rule = rule_of(p, place);
    memset(p->begins, 0, p->width * sizeof *p->begins);
    for (size_t other = place + 1; other-- > p->first && are_alike(p, place, other);)
        for (size_t unit = p->back[other]; unit <= p->front[other]; ++unit)
            p->begins[unit] = 1;
    p->ends_place = place;
    return pl_stage_ends_find(&p->ends, &rule, p->begins, error);
}

/* Returns the cost of the cheapest end of a stage that begins with the unit. */
static uint64_t cheapest_end(const program *p, size_t unit) {
    const size_t from = p->ends.from[unit];
    const uint8_t *ok = p->ends.ok + p->ends.row[unit];
    const uint64_t *after = p->after + from;
    uint64_t best = NO_SPLIT;
    for (size_t d = 0; from + d < p->ends.to[unit]; ++d) {
        const uint64_t candidate = after[d] | -(uint64_t)(ok[d] == 0);
        best = candidate < best ? candidate : best;
    }
    return best;
}

/* Fills the row of a place. */
static popliner_status fill_row(program *p, size_t place, popliner_error *error) {
    const size_t n = p->width - 1;
    const pl_place *at = &p->places.items[place];
    const bool loops = p->counts && at->stage == p->places.num_special;
    const uint64_t *next = at->next < p->places.count ? row_of(p, at->next) : NULL;
    uint64_t *row = row_of(p, place);
    if (loops && next != NULL) /* it has the row of the next place */
        return POPLINER_OK;
    PL_TRY(find_ends(p, place, error));
    if (p->is_stopped)
        return POPLINER_OK;
    p->after[n] = at->ends ? p->counts : NO_SPLIT;
    for (size_t i = 0; i < n; ++i)
        p->after[i] = next == NULL ? NO_SPLIT : step(p, i, next[i]);
    for (size_t i = n; i-- > 0;) {
        row[i] = cheapest_end(p, i);
        if (loops)
            p->after[i] = step(p, i, row[i]);
    }
    return POPLINER_OK;
}

/* ---- splits ---- */

/* Follows the rows from unit 0 and a place on, each time to the first cut that stays within the
 * budget. Ends as soon as the chain may end: a shorter list of cuts precedes all that continue it.
 * The cost so far is part of the comparison, because sums that were capped at PL_MAX_CUT_BYTES are
 * equal although their rests differ. */
static popliner_status follow_rows(const program *p, size_t place, uint64_t budget, pl_split *split,
                                   popliner_error *error) {
    size_t n = p->width - 1;
    uint64_t used = 0;
    size_t unit = 0;
    for (; place < p->places.count; place = p->places.items[place].next) {
        const pl_place *at = &p->places.items[place];
        const pl_stage_rule rule = rule_of(p, place);
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the stages");
        if (at->ends && used + p->counts <= budget && pl_stage_rule_allows(&rule, unit, n))
            return POPLINER_OK;
        const uint64_t *rest = at->next < p->places.count ? row_of(p, at->next) : NULL;
        size_t cut = unit + 1;
        uint64_t with_cut = 0;
        for (; rest != NULL && cut < n; ++cut) {
            if (rest[cut] == NO_SPLIT || !pl_stage_rule_allows(&rule, unit, cut))
                continue;
            with_cut = p->counts
                           ? used + 1
                           : pl_add_cut_bytes(used, popliner_costs_cut(p->problem->costs, cut));
            if (pl_add_cut_bytes(with_cut, rest[cut]) <= budget)
                break;
        }
        if (rest == NULL || cut == n)
            break;
        used = with_cut;
        unit = cut;
    }
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the tables of the dynamic program are inconsistent at unit %zu", unit);
}

/* Follows the row of a place with which a chain begins, if it is within the budget; keeps the split
 * if it is better. *is_done: no other place has a better one for the goal. */
static popliner_status take_row(program *p, size_t place, pl_split *best, bool *is_done,
                                popliner_error *error) {
    const uint64_t least = row_of(p, place)[0];
    uint64_t budget = p->counts ? p->max_stages - p->first : p->limits.max_cut_bytes;
    if (least == NO_SPLIT || least > budget)
        return POPLINER_OK;
    if (p->goal == PL_GOAL_FEWEST_CUT_BYTES || (p->counts && p->goal == PL_GOAL_FEWEST_STAGES))
        budget = least;
    pl_split split = {0};
    popliner_status status = follow_rows(p, place, budget, &split, error);
    if (status == POPLINER_OK && pl_split_is_better(p->problem, p->goal, &split, best))
        pl_split_move(best, &split);
    pl_split_clear(&split);
    /* longer pipelines follow */
    *is_done = p->goal == PL_GOAL_ANY || p->goal == PL_GOAL_FEWEST_STAGES;
    return status;
}

/* Goes through the rows from the last place on, until one has what is wanted. */
static popliner_status go_through(program *p, pl_split *best, popliner_error *error) {
    bool is_done = false;
    find_reach(p);
    p->ends_place = SIZE_MAX;
    for (size_t place = p->places.count; !p->is_stopped && !is_done && place-- > p->first;) {
        PL_TRY(fill_row(p, place, error));
        if (!p->is_stopped && (p->places.items[place].begins || place == p->first))
            PL_TRY(take_row(p, place, best, &is_done, error));
    }
    return POPLINER_OK;
}

/* Solves within limits. For any split of places that are alike it first tries as few stages as
 * their lengths allow, which leaves few intervals. */
static popliner_status solve_at_most(const program *asked, const pl_limits *limits, pl_split *best,
                                     bool *is_over, popliner_error *error) {
    program p = {
        .problem = asked->problem, .limits = *limits, .stop = asked->stop, .goal = asked->goal};
    popliner_status status = prepare_program(&p, error);
    if (status == POPLINER_OK && p.goal == PL_GOAL_ANY && p.places.num_special == 0 &&
        !p.problem->is_mapped && p.places.count > 0) {
        find_reach(&p);
        for (p.first = p.places.count - 1; p.first > 0 && p.back[p.first] > 0;)
            --p.first;
    }
    if (status == POPLINER_OK && p.first > 0)
        status = go_through(&p, best, error);
    p.first = 0;
    if (status == POPLINER_OK && best->num_stages == 0)
        status = go_through(&p, best, error);
    *is_over = p.is_stopped;
    free_program(&p);
    return status;
}

/* Solves for one number of stages after another, where the fewest are requested and rows do not
 * tell them. */
popliner_status pl_dynamic_program(const pl_problem *problem, const pl_limits *limits, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error) {
    const program asked = {.problem = problem,
                           .stop = stop,
                           .goal = goal == PL_GOAL_SMALLEST_SPREAD ? PL_GOAL_ANY : goal};
    pl_limits own = *limits;
    const bool are_told =
        problem->depends_on_end || problem->is_mapped || limits->max_cut_bytes >= PL_MAX_CUT_BYTES;
    popliner_status status = POPLINER_OK;
    *is_stopped = false;
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    if (goal != PL_GOAL_FEWEST_STAGES || are_told)
        status = solve_at_most(&asked, limits, split, is_stopped, error);
    else
        for (own.max_ipus = 1;
             status == POPLINER_OK && !*is_stopped && split->num_stages == 0 &&
             own.max_ipus <= limits->max_ipus && own.max_ipus <= problem->max_stages;
             ++own.max_ipus)
            status = solve_at_most(&asked, &own, split, is_stopped, error);
    if (status != POPLINER_OK || *is_stopped)
        pl_split_clear(split);
    return status == POPLINER_OK ? pl_chooser_failure(problem, error) : status;
}
