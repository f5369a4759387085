/* The best split if no stages share an IPU.
 *
 * A row has, for each unit, the cost of the units from there on as the stages that follow: cut
 * bytes, or, where these do not matter, the number of stages. It is the minimum over the ends of
 * the next stage, of the cut there and the cost in the row of the stages after it.
 *
 * The first places of a pipeline may be special: with limits, speeds, links or placements of their
 * own. All others are alike, and share the rows of so many stages that are left. Where intervals
 * depend on the number of stages after them, a row is of exactly that many, else of at most so
 * many.
 *
 * Stages that are as long as they may be tell how far stages reach. With k of at most M stages
 * left, the next one begins at most at the unit F(k) that M - k stages reach from the front, and at
 * least at the unit B(k) from which k stages reach the end. Near the optimum these units are few,
 * and rows have no others.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"
#include "solve/choosing.h"
#include "solve/stage_rule.h"

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
    size_t num_special;
    bool is_exact;   /* a row is for exactly its number of stages, not at most */
    bool counts;     /* rows count stages: then one serves all places that are alike */
    uint64_t *plain; /* [num_plain][width] by number of stages */
    size_t capacity;
    size_t num_plain;
    uint64_t *special; /* [num_special][width] by stage */
    uint64_t *after;   /* [width] the cost of continuing at a unit: the cut, and the row after it */
    size_t *front;     /* [max_stages + 1]: F(k) */
    size_t *back;      /* [max_stages + 1]: B(k) */
    uint8_t *begins;   /* [width]: units that the stages of a row may begin with */
    pl_stage_ends ends;
    size_t ends_stage; /* of which these are */
    size_t ends_left;
    bool is_stopped;
} program;

static void free_program(program *p) {
    free(p->plain);
    free(p->special);
    free(p->after);
    free(p->front);
    free(p->back);
    free(p->begins);
    pl_stage_ends_free(&p->ends);
}

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the tables of the dynamic program");
}

/* ---- which units the stages of a row may begin with ---- */

/* Returns a rule that allows all that the rule of any stage with so many to the end allows. */
static pl_stage_rule laxest_rule(const program *p, size_t left) {
    pl_stage_rule laxest = pl_stage_rule_of(p->problem, &p->limits, 0, left);
    for (size_t stage = 1; stage <= p->num_special && stage + left <= p->max_stages; ++stage) {
        const pl_stage_rule own = pl_stage_rule_of(p->problem, &p->limits, stage, left);
        laxest.max_peak_bytes = pl_larger(own.max_peak_bytes, laxest.max_peak_bytes);
        laxest.max_cycles = pl_larger(own.max_cycles, laxest.max_cycles);
    }
    /* then the place in the costs is not known */
    if (p->problem->follows_split)
        laxest.max_peak_bytes = UINT64_MAX;
    return laxest;
}

/* Finds how far stages reach: F and B. */
static popliner_status find_reach(program *p, popliner_error *error) {
    const size_t n = p->width - 1;
    p->front = pl_new_array(p->max_stages + 1, sizeof *p->front);
    p->back = pl_new_array(p->max_stages + 1, sizeof *p->back);
    if (p->front == NULL || p->back == NULL)
        return fail_memory(error);
    p->back[0] = n;
    pl_stage_rule rule = laxest_rule(p, 1);
    for (size_t left = 1; left <= p->max_stages; ++left) {
        if (p->problem->depends_on_end && left > 1)
            rule = laxest_rule(p, left);
        p->back[left] = pl_stage_rule_first(&rule, p->back[left - 1]);
    }
    for (size_t left = p->max_stages; left > 0; --left) {
        if (p->problem->depends_on_end && left < p->max_stages)
            rule = laxest_rule(p, left);
        p->front[left - 1] = pl_stage_rule_last(&rule, p->front[left]);
    }
    return POPLINER_OK;
}

/* Marks the units that stages with least ... most stages to the end may begin with. */
static void mark_begins(program *p, size_t least, size_t most) {
    memset(p->begins, 0, p->width * sizeof *p->begins);
    for (size_t left = least; left <= most; ++left)
        for (size_t unit = p->back[left]; unit <= p->front[left]; ++unit)
            p->begins[unit] = 1;
}

static popliner_status prepare_program(program *p, popliner_error *error) {
    const pl_problem *problem = p->problem;
    p->width = problem->num_units + 1;
    p->max_stages = problem->max_stages;
    if (!problem->is_mapped && p->limits.max_ipus < p->max_stages)
        p->max_stages = (size_t)p->limits.max_ipus;
    p->num_special = pl_problem_num_special(problem, &p->limits);
    if (p->num_special > p->max_stages)
        p->num_special = p->max_stages;
    p->is_exact = problem->depends_on_end || problem->is_mapped;
    p->counts = !p->is_exact && p->goal != PL_GOAL_FEWEST_CUT_BYTES &&
                p->limits.max_cut_bytes >= PL_MAX_CUT_BYTES;
    p->ends_stage = SIZE_MAX;
    p->after = pl_new_array(p->width, sizeof *p->after);
    p->special = pl_new_array(p->num_special * p->width, sizeof *p->special);
    p->begins = pl_new_array(p->width, sizeof *p->begins);
    return p->after == NULL || p->special == NULL || p->begins == NULL ? fail_memory(error)
                                                                       : find_reach(p, error);
}

/* ---- rows ---- */

/* Returns the cost of continuing at a unit, with the cost of the rest. */
static uint64_t step(const program *p, size_t unit, uint64_t rest) {
    if (rest == NO_SPLIT)
        return NO_SPLIT;
    if (p->counts)
        return rest + 1;
    return unit + 1 == p->width
               ? rest
               : pl_add_cut_bytes(popliner_costs_cut(p->problem->costs, unit), rest);
}

/* Finds the intervals that stage `stage` may be with `left` stages to the end. */
static popliner_status find_ends(program *p, size_t stage, size_t left, popliner_error *error) {
    if (!p->problem->depends_on_end)
        left = 1;
    p->is_stopped = p->is_stopped || pl_stop_is_wanted(p->stop);
    if (p->is_stopped || (stage == p->ends_stage && left == p->ends_left))
        return POPLINER_OK;
    p->ends_stage = stage;
    p->ends_left = left;
    const pl_stage_rule rule = pl_stage_rule_of(p->problem, &p->limits, stage, left);
    const bool is_special = stage < p->num_special;
    /* where the end does not matter, the marks serve all lengths of the pipeline */
    const size_t most =
        p->problem->depends_on_end ? left : p->max_stages - (is_special ? stage : 0);
    mark_begins(p, p->problem->depends_on_end || is_special ? most : 1, most);
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

/* Fills a row by the ends of its stage and the row of the stages after it, which may be itself. */
static void fill_row(program *p, const uint64_t *next, uint64_t *row) {
    const size_t n = p->width - 1;
    row[n] = p->is_exact ? NO_SPLIT : 0;
    for (size_t i = row == next ? n : 0; i <= n; ++i)
        p->after[i] = step(p, i, next[i]);
    for (size_t i = n; i-- > 0;) {
        row[i] = cheapest_end(p, i);
        if (row == next)
            p->after[i] = step(p, i, row[i]);
    }
}

/* Returns the row of the stages from `stage` on, of num_stages. */
static const uint64_t *rest_of(const program *p, size_t num_stages, size_t stage) {
    if (stage < p->num_special && stage < num_stages)
        return p->special + stage * p->width;
    const size_t left = num_stages - stage;
    return p->plain + (left < p->num_plain ? left : p->num_plain - 1) * p->width;
}

/* Fills the rows of places that are alike, for up to num_stages stages, as long as they change. */
static popliner_status fill_plain(program *p, size_t num_stages, popliner_error *error) {
    while (p->num_plain <= num_stages) {
        if (!pl_grow(&p->plain, &p->capacity, (p->num_plain + 1) * p->width, sizeof *p->plain))
            return fail_memory(error);
        uint64_t *row = p->plain + p->num_plain * p->width;
        const bool is_first = p->num_plain == 0; /* of no stage, or of any number */
        popliner_status status = is_first && !p->counts
                                     ? POPLINER_OK
                                     : find_ends(p, p->num_special, p->num_plain, error);
        if (status != POPLINER_OK || p->is_stopped)
            return status;
        for (size_t i = 0; is_first && i < p->width; ++i)
            row[i] = i + 1 < p->width ? NO_SPLIT : 0;
        if (!is_first || p->counts)
            fill_row(p, is_first ? row : row - p->width, row);
        const bool is_settled =
            p->counts ||
            (!is_first && !p->is_exact && memcmp(row - p->width, row, p->width * sizeof *row) == 0);
        if (is_settled && !is_first)
            return POPLINER_OK;
        ++p->num_plain;
        if (is_settled)
            return POPLINER_OK;
    }
    return POPLINER_OK;
}

/* Fills all rows of a pipeline of num_stages stages. */
static popliner_status fill(program *p, size_t num_stages, popliner_error *error) {
    size_t stage = p->num_special < num_stages ? p->num_special : num_stages;
    popliner_status status =
        p->counts && p->num_plain > 0 ? POPLINER_OK : fill_plain(p, num_stages - stage, error);
    while (stage-- > 0 && status == POPLINER_OK && !p->is_stopped) {
        status = find_ends(p, stage, num_stages - stage, error);
        if (status == POPLINER_OK && !p->is_stopped)
            fill_row(p, rest_of(p, num_stages, stage + 1), p->special + stage * p->width);
    }
    return status;
}

/* ---- splits ---- */

/* Follows the rows from unit 0 through num_stages stages (at most, unless rows are exact), each
 * time to the first cut that stays within the budget. Ends as soon as the chain may end: a shorter
 * list of cuts precedes all that continue it. The cost so far is part of the comparison, because
 * sums that were capped at PL_MAX_CUT_BYTES are equal although their rests differ. */
static popliner_status follow_rows(const program *p, size_t num_stages, uint64_t budget,
                                   pl_split *split, popliner_error *error) {
    size_t n = p->width - 1;
    uint64_t used = 0;
    size_t unit = 0;
    for (size_t stage = 0; stage < num_stages; ++stage) {
        size_t left = num_stages - stage;
        pl_stage_rule rule = pl_stage_rule_of(p->problem, &p->limits, stage, left);
        if (!pl_split_append(split, unit))
            return pl_fail_memory(error, "the stages");
        if ((left == 1 || !p->is_exact) && used + p->counts <= budget &&
            pl_stage_rule_allows(&rule, unit, n))
            return POPLINER_OK;
        const uint64_t *rest = rest_of(p, num_stages, stage + 1);
        size_t cut = unit + 1;
        uint64_t with_cut = 0;
        for (; cut < n; ++cut) {
            if (rest[cut] == NO_SPLIT || !pl_stage_rule_allows(&rule, unit, cut))
                continue;
            with_cut = p->counts
                           ? used + 1
                           : pl_add_cut_bytes(used, popliner_costs_cut(p->problem->costs, cut));
            if (pl_add_cut_bytes(with_cut, rest[cut]) <= budget)
                break;
        }
        if (cut == n)
            break;
        used = with_cut;
        unit = cut;
    }
    return pl_fail(error, POPLINER_ERROR_INTERNAL,
                   "the tables of the dynamic program are inconsistent at unit %zu", unit);
}

/* Follows the row of num_stages stages if it is within the budget; keeps the split if it is
 * better. */
static popliner_status take_row(program *p, size_t num_stages, pl_split *best,
                                popliner_error *error) {
    uint64_t least = rest_of(p, num_stages, 0)[0];
    uint64_t budget = p->counts ? num_stages : p->limits.max_cut_bytes;
    if (least == NO_SPLIT || least > budget)
        return POPLINER_OK;
    if (p->goal == PL_GOAL_FEWEST_CUT_BYTES || (p->counts && p->goal == PL_GOAL_FEWEST_STAGES))
        budget = least;
    pl_split split = {0};
    popliner_status status = follow_rows(p, num_stages, budget, &split, error);
    if (status == POPLINER_OK && pl_split_is_better(p->problem, p->goal, &split, best))
        pl_split_move(best, &split);
    pl_split_clear(&split);
    return status;
}

/* True if the goal needs only a number of stages, and this one is enough. */
static bool is_enough(const program *p, size_t num_stages) {
    const uint64_t least = rest_of(p, num_stages, 0)[0];
    return (p->goal == PL_GOAL_ANY || p->goal == PL_GOAL_FEWEST_STAGES) && least != NO_SPLIT &&
           least <= (p->counts ? num_stages : p->limits.max_cut_bytes);
}

/* Solves within limits: for one number of stages after another, where rows are exact or the fewest
 * are requested, else for all at once. */
static popliner_status solve_at_most(const program *asked, const pl_limits *limits, pl_split *best,
                                     bool *is_over, popliner_error *error) {
    program p = {
        .problem = asked->problem, .limits = *limits, .stop = asked->stop, .goal = asked->goal};
    popliner_status status = prepare_program(&p, error);
    const bool is_one = !p.is_exact &&
                        (p.counts || p.num_special > 0 || p.goal == PL_GOAL_EARLIEST_CUTS ||
                         p.goal == PL_GOAL_FEWEST_CUT_BYTES) &&
                        (p.counts || p.goal != PL_GOAL_FEWEST_STAGES);
    bool is_done = false;
    for (size_t m = is_one ? p.max_stages : p.problem->min_stages;
         status == POPLINER_OK && !is_done && !p.is_stopped && m > 0 && m <= p.max_stages; ++m) {
        status = fill(&p, m, error);
        if (status == POPLINER_OK && !p.is_stopped)
            status = take_row(&p, m, best, error);
        /* more stages are no better; but a split from another window does not prove that */
        is_done = status == POPLINER_OK && !p.is_stopped && is_enough(&p, m);
    }
    *is_over = p.is_stopped;
    free_program(&p);
    return status;
}

/* Solves within limits. For any split it first tries as few stages as their lengths allow, which
 * leaves few intervals. A pl_windows_function. */
static popliner_status solve_within(void *user, const pl_limits *limits, pl_split *best,
                                    bool *is_over, popliner_error *error) {
    const program *asked = user;
    program p = {.problem = asked->problem, .limits = *limits};
    popliner_status status = POPLINER_OK;
    if (asked->goal == PL_GOAL_ANY && !asked->problem->is_mapped) {
        status = prepare_program(&p, error);
        size_t fewest = asked->problem->min_stages;
        while (status == POPLINER_OK && fewest <= p.max_stages && p.back[fewest] > 0)
            ++fewest;
        p.limits.max_ipus = fewest;
        if (status == POPLINER_OK && fewest < p.max_stages)
            status = solve_at_most(asked, &p.limits, best, is_over, error);
        free_program(&p);
    }
    return status == POPLINER_OK && !*is_over && best->num_stages == 0
               ? solve_at_most(asked, limits, best, is_over, error)
               : status;
}

popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error) {
    /* any split of a block of values will do */
    program asked = {.problem = problem,
                     .stop = stop,
                     .goal = goal == PL_GOAL_SMALLEST_SPREAD ? PL_GOAL_ANY : goal};
    const pl_windows_question question = {problem, filter, goal, solve_within, &asked};
    bool is_found = true;
    popliner_status status = POPLINER_OK;
    *is_stopped = false;
    if (problem->max_stages < problem->min_stages)
        return POPLINER_OK;
    do {
        status = pl_windows_find(&question, split, is_stopped, error);
        is_found = split->num_stages > 0;
        if (status == POPLINER_OK && problem->chooser != NULL)
            status = pl_chooser_confirm(problem, &filter->limits, split, error);
    } while (status == POPLINER_OK && is_found && split->num_stages == 0);
    return status;
}
