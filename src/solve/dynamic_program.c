/* The best split if no stages share an IPU.
 *
 * Rows: element i of a row is the cost of the units i ... n - 1 as the stages that follow: cut
 * bytes, or, where these do not matter, the number of stages.
 *
 * Most places of a pipeline are alike: no limit or placement differs between them. Their rows are
 * for at most t stages, or, if intervals depend on the number of stages that follow, for exactly t.
 * The first places may be special: each has its own row. These rows are filled from the last
 * special place to the first, and continue in the rows of the other places.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/plan.h"

#include "base/failure.h"
#include "base/growth.h"
#include "costs/costs.h"
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
    bool counts;     /* rows count stages; then one row serves all places that are alike */
    uint64_t *plain; /* [num_plain][width] by number of stages */
    size_t capacity;
    size_t num_plain;
    bool is_settled;   /* further stages do not change rows */
    uint64_t *special; /* [num_special][width] by stage */
    /* [width]: the cost of continuing at a unit: the cut, and the row after it */
    uint64_t *after;
    size_t *queue; /* [width] */
    bool is_alike; /* every stage may have the same ends */
    pl_stage_ends ends;
    pl_stage_ends widest; /* of all places, if ends have marks */
    /* [max_stages + 1] by stages to the end: where a stage can begin; NULL if not computed */
    pl_begin_range *ranges;
    bool is_stopped;
} program;

static void free_program(program *p) {
    free(p->plain);
    free(p->special);
    free(p->after);
    free(p->queue);
    pl_stage_ends_free(&p->ends);
    pl_stage_ends_free(&p->widest);
    free(p->ranges);
}

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the tables of the dynamic program");
}

/* Returns a rule that allows what any place allows with to_end stages to the end. */
static pl_stage_rule widest_rule(const program *p, size_t to_end) {
    const pl_problem *problem = p->problem;
    pl_stage_rule widest = pl_stage_rule_of(problem, &p->limits, 0, to_end);
    for (size_t stage = 1; stage <= p->num_special && stage < p->max_stages; ++stage) {
        pl_stage_rule other = pl_stage_rule_of(problem, &p->limits, stage, 1);
        if (other.max_peak_bytes > widest.max_peak_bytes)
            widest.max_peak_bytes = other.max_peak_bytes;
        if (other.max_cycles > widest.max_cycles)
            widest.max_cycles = other.max_cycles;
        if (other.min_cycles < widest.min_cycles)
            widest.min_cycles = other.min_cycles;
    }
    widest.min_peak_bytes = 0;  /* other places may need more */
    widest.min_busy_cycles = 0; /* other places have other links */
    widest.max_busy_cycles = UINT64_MAX;
    widest.is_anywhere = true;
    return widest;
}

/* Finds, by the widest rule, which is ordered, how far the stages can reach from the end and from
 * the front. */
static popliner_status find_ranges(program *p, pl_stage_rule rule, popliner_error *error) {
    size_t n = p->width - 1;
    size_t most = p->max_stages;
    size_t known = p->problem->costs->max_stages_to_end;
    p->ranges = pl_new_array(most + 1, sizeof *p->ranges);
    if (p->ranges == NULL)
        return fail_memory(error);
    p->ranges[0] = (pl_begin_range){n, n};
    for (size_t to_end = 1; to_end <= most; ++to_end) {
        rule.to_end = to_end < known ? to_end : known;
        p->ranges[to_end].first = pl_stage_rule_first_begin(&rule, p->ranges[to_end - 1].first);
    }
    p->ranges[most].last = 0;
    for (size_t to_end = most; to_end > 1; --to_end) {
        size_t begin = p->ranges[to_end].last;
        rule.to_end = to_end < known ? to_end : known;
        p->ranges[to_end - 1].last = begin < n ? pl_stage_rule_last_end(&rule, begin) : n;
    }
    return POPLINER_OK;
}

/* Finds the ends that some place allows, once for all rows, unless each place has windows, which
 * are narrower. Ranges ignore limits that may be met by longer intervals only. */
static popliner_status find_widest(program *p, popliner_error *error) {
    const pl_stage_rule widest = widest_rule(p, 1);
    const pl_stage_rule outer = pl_stage_rule_outer(&widest);
    bool is_ordered = pl_stage_rule_is_ordered(&widest);
    bool has_windows = pl_stage_rule_is_ordered(&outer);
    popliner_status status = POPLINER_OK;
    if ((p->is_exact || p->is_alike) && has_windows)
        status = find_ranges(p, outer, error);
    /* if half of the stages might be enough, rows soon change no more, which ranges would hide */
    if (status == POPLINER_OK && !p->is_exact && p->ranges != NULL &&
        p->ranges[p->max_stages / 2].first == 0) {
        free(p->ranges);
        p->ranges = NULL;
    }
    if (status != POPLINER_OK || is_ordered || p->is_alike ||
        !p->problem->order.peaks_grow_to_front || has_windows)
        return status;
    return pl_stage_ends_find(&p->widest, &widest, (pl_begin_range){0, p->width - 1}, NULL, error);
}

static popliner_status prepare(program *p, popliner_error *error) {
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
    p->after = pl_new_array(p->width, sizeof *p->after);
    p->queue = pl_new_array(p->width, sizeof *p->queue);
    p->special = pl_new_array(p->num_special * p->width, sizeof *p->special);
    if (p->after == NULL || p->queue == NULL || p->special == NULL)
        return fail_memory(error);
    p->is_alike = !problem->depends_on_ipu && !problem->depends_on_end && !problem->is_shared;
    if (p->max_stages == 0 || (p->num_special == 0 && p->counts))
        return POPLINER_OK;
    return find_widest(p, error);
}

/* Returns the units that the stage with to_end stages to the end can begin with. */
static pl_begin_range range_of(const program *p, size_t to_end) {
    return p->ranges != NULL ? p->ranges[to_end] : (pl_begin_range){0, p->width - 1};
}

/* Finds the intervals that stage `stage` may be with to_end stages to the end. */
static popliner_status find_ends(program *p, size_t stage, size_t to_end, popliner_error *error) {
    if (p->is_alike && p->ends.from != NULL)
        return POPLINER_OK;
    const pl_problem *problem = p->problem;
    pl_stage_rule rule = pl_stage_rule_of(problem, &p->limits, stage, to_end);
    return pl_stage_ends_find(&p->ends, &rule,
                              p->is_alike ? (pl_begin_range){0, p->width - 1} : range_of(p, to_end),
                              p->widest.from != NULL ? &p->widest : NULL, error);
}

/* ---- one row ---- */

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

/* Ends in the window of the current unit, the largest first, without those that a smaller end makes
 * useless: the first is the cheapest. */
typedef struct end_queue {
    size_t begin;
    size_t end;
    size_t entered; /* the smallest end that was added */
} end_queue;

/* Returns the cost of the cheapest end in the window of a unit; call it from the last unit to the
 * first. */
static uint64_t cheapest_in_window(program *p, end_queue *q, size_t unit, size_t first_end) {
    const uint8_t *may_cut = p->problem->may_cut;
    while (q->entered > p->ends.from[unit] && q->entered > first_end) {
        size_t end = --q->entered;
        if (may_cut[end] == 0 || p->after[end] == NO_SPLIT)
            continue;
        while (q->end > q->begin && p->after[p->queue[q->end - 1]] >= p->after[end])
            --q->end;
        p->queue[q->end++] = end;
    }
    while (q->begin < q->end && p->queue[q->begin] >= p->ends.to[unit])
        ++q->begin;
    return q->begin < q->end && may_cut[unit] != 0 ? p->after[p->queue[q->begin]] : NO_SPLIT;
}

/* Returns the cost of the cheapest end that is marked, and in the range of the next stage or the
 * end of the chain. */
static uint64_t cheapest_marked(const program *p, size_t unit, pl_begin_range next) {
    const size_t from = p->ends.from[unit];
    const uint8_t *ok = p->ends.ok + p->ends.row[unit];
    const size_t begin = from > next.first ? from : next.first;
    const size_t end = p->ends.to[unit] <= next.last ? p->ends.to[unit] : next.last + 1;
    uint64_t best = NO_SPLIT;
    for (size_t i = begin; i < end; ++i) {
        uint64_t candidate = p->after[i] | -(uint64_t)(ok[i - from] == 0);
        best = candidate < best ? candidate : best;
    }
    const size_t n = p->width - 1;
    const bool ends_chain = !p->is_exact && p->ends.to[unit] > n && from <= n && ok[n - from] != 0;
    return ends_chain && p->after[n] < best ? p->after[n] : best;
}

/* Fills a row from its stage's ends and from the row of the stages after it, which may be itself.
 * False if the row has no split. */
static bool fill_row(program *p, size_t to_end, const uint64_t *next, uint64_t *row) {
    size_t n = p->width - 1;
    pl_begin_range range = range_of(p, to_end);
    const pl_begin_range reached = range_of(p, to_end - 1);
    const pl_begin_range after = {reached.first, p->is_exact ? reached.last : n};
    end_queue queue = {0, 0, after.last + 1};
    for (size_t i = after.first; row != next && i <= after.last; ++i)
        p->after[i] = step(p, i, next[i]);
    for (size_t i = 0; p->ranges != NULL && i < n; ++i)
        row[i] = NO_SPLIT;
    row[n] = p->is_exact ? NO_SPLIT : 0;
    bool is_possible = !p->is_exact; /* the stage before may be the last one */
    if (row == next)
        p->after[n] = step(p, n, next[n]);
    for (size_t i = range.last < n ? range.last + 1 : n; i-- > range.first;) {
        row[i] = p->ends.is_ordered ? cheapest_in_window(p, &queue, i, after.first)
                                    : cheapest_marked(p, i, reached);
        if (row == next)
            p->after[i] = step(p, i, row[i]);
        is_possible = is_possible || row[i] != NO_SPLIT;
    }
    return is_possible;
}

/* ---- all rows ---- */

static uint64_t *plain_row(const program *p, size_t num_stages) {
    size_t row = num_stages < p->num_plain ? num_stages : p->num_plain - 1;
    return p->plain + row * p->width;
}

/* Returns the row of the stages from `stage` on, of num_stages. */
static const uint64_t *rest_of(const program *p, size_t num_stages, size_t stage) {
    if (stage < p->num_special && stage < num_stages)
        return p->special + stage * p->width;
    return plain_row(p, num_stages - stage);
}

static popliner_status add_plain_row(program *p, popliner_error *error) {
    if (!pl_grow(&p->plain, &p->capacity, (p->num_plain + 1) * p->width, sizeof *p->plain))
        return fail_memory(error);
    ++p->num_plain;
    return POPLINER_OK;
}

/* Makes the first row: no stage, or, where stages are counted, any number. */
static popliner_status begin_rows(program *p, popliner_error *error) {
    popliner_status status = add_plain_row(p, error);
    if (status == POPLINER_OK && !p->is_exact)
        status = find_ends(p, p->num_special, 1, error);
    if (status != POPLINER_OK)
        return status;
    for (size_t i = 0; i < p->width; ++i)
        p->plain[i] = i + 1 < p->width ? NO_SPLIT : 0;
    p->is_settled = p->counts;
    if (p->counts)
        fill_row(p, 1, p->plain, p->plain);
    return POPLINER_OK;
}

/* True if the goal needs only a number of stages, and the row shows that it suffices. */
static bool is_enough(const program *p, const uint64_t *row) {
    bool is_any = p->goal == PL_GOAL_ANY || p->goal == PL_GOAL_FEWEST_STAGES;
    return is_any && row[0] != NO_SPLIT && row[0] <= p->limits.max_cut_bytes;
}

/* Adds rows for up to num_stages stages, as long as they change. */
static popliner_status fill_plain(program *p, size_t num_stages, popliner_error *error) {
    while (p->num_plain <= num_stages && !p->is_settled) {
        popliner_status status = add_plain_row(p, error);
        size_t to_end = p->num_plain - 1;
        if (status == POPLINER_OK && p->is_exact)
            status = find_ends(p, p->num_special, to_end, error);
        p->is_stopped = p->is_stopped || pl_stop_is_wanted(p->stop);
        if (status != POPLINER_OK || p->is_stopped)
            return status;
        uint64_t *row = p->plain + to_end * p->width;
        fill_row(p, to_end, row - p->width, row);
        if (p->is_exact)
            continue;
        p->is_settled =
            p->ranges == NULL && memcmp(row - p->width, row, p->width * sizeof *row) == 0;
        p->num_plain -= p->is_settled;
        if (p->num_special == 0 && is_enough(p, row))
            break;
    }
    return POPLINER_OK;
}

/* Fills the rows of the special places for num_stages stages; those of the other places must be
 * filled. */
static popliner_status fill_special(program *p, size_t num_stages, popliner_error *error) {
    size_t stage = p->num_special < num_stages ? p->num_special : num_stages;
    bool is_possible = true;
    while (stage-- > 0 && is_possible) {
        popliner_status status = find_ends(p, stage, num_stages - stage, error);
        p->is_stopped = p->is_stopped || pl_stop_is_wanted(p->stop);
        if (status != POPLINER_OK || p->is_stopped)
            return status;
        uint64_t *row = p->special + stage * p->width;
        is_possible = fill_row(p, num_stages - stage, rest_of(p, num_stages, stage + 1), row);
    }
    if (!is_possible)
        p->special[0] = NO_SPLIT;
    return POPLINER_OK;
}

/* ---- splits ---- */

/* Follows the rows from unit 0 through num_stages stages (at most, unless rows are exact), each
 * time to the first cut that stays within the budget. Ends as soon as the chain may end: a shorter
 * list of cuts precedes all that continue it. The cost so far is part of the comparison, because
 * sums that were capped at PL_MAX_CUT_BYTES are equal although their rests differ. */
static popliner_status walk(const program *p, size_t num_stages, uint64_t budget, pl_split *split,
                            popliner_error *error) {
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
static popliner_status take(program *p, size_t num_stages, pl_split *best, popliner_error *error) {
    uint64_t least = rest_of(p, num_stages, 0)[0];
    uint64_t budget = p->counts ? num_stages : p->limits.max_cut_bytes;
    if (least == NO_SPLIT || least > budget)
        return POPLINER_OK;
    if (p->goal == PL_GOAL_FEWEST_CUT_BYTES || (p->counts && p->goal == PL_GOAL_FEWEST_STAGES))
        budget = least;
    pl_split split = {0};
    popliner_status status = walk(p, num_stages, budget, &split, error);
    if (status == POPLINER_OK && pl_split_is_better(p->problem, p->goal, &split, best))
        pl_split_move(best, &split);
    pl_split_clear(&split);
    return status;
}

/* Finds the smallest number of stages that is within the budget of cut bytes, by bisection. */
static popliner_status find_fewest(program *p, size_t *num_stages, popliner_error *error) {
    size_t least = 1;
    while (least < *num_stages && !p->is_stopped) {
        size_t middle = least + (*num_stages - least) / 2;
        popliner_status status = fill_special(p, middle, error);
        if (status != POPLINER_OK || p->is_stopped)
            return status;
        if (is_enough(p, rest_of(p, middle, 0)))
            *num_stages = middle;
        else
            least = middle + 1;
    }
    return POPLINER_OK;
}

/* Solves for at most max_stages stages, with one set of rows. */
static popliner_status solve_up_to(program *p, pl_split *best, popliner_error *error) {
    size_t num_stages = p->max_stages;
    popliner_status status = fill_plain(p, p->max_stages - p->num_special, error);
    if (status != POPLINER_OK || p->is_stopped)
        return status;
    if (p->num_special == 0 && !p->counts && is_enough(p, plain_row(p, num_stages)))
        num_stages = p->num_plain - 1;
    if (p->num_special > 0 && !p->counts && p->goal == PL_GOAL_FEWEST_STAGES)
        status = find_fewest(p, &num_stages, error);
    if (status == POPLINER_OK && !p->is_stopped)
        status = fill_special(p, num_stages, error);
    if (status != POPLINER_OK || p->is_stopped)
        return status;
    return take(p, num_stages, best, error);
}

/* Solves for exactly m stages, for one m after another. */
static popliner_status solve_each(program *p, pl_split *best, popliner_error *error) {
    for (size_t m = p->problem->min_stages; m <= p->max_stages; ++m) {
        if (range_of(p, m).first > 0)
            continue;
        size_t num_special = p->num_special < m ? p->num_special : m;
        popliner_status status = fill_plain(p, m - num_special, error);
        if (status == POPLINER_OK && !p->is_stopped)
            status = fill_special(p, m, error);
        if (status != POPLINER_OK || p->is_stopped)
            return status;
        status = take(p, m, best, error);
        /* more stages are no better; but a split from another window does not prove that */
        if (status != POPLINER_OK || is_enough(p, rest_of(p, m, 0)))
            return status;
    }
    return POPLINER_OK;
}

/* Solves within limits, with new rows. A pl_windows_function. */
static popliner_status solve_within(void *user, const pl_limits *limits, pl_split *best,
                                    bool *is_over, popliner_error *error) {
    const program *asked = user;
    program p = {
        .problem = asked->problem, .limits = *limits, .stop = asked->stop, .goal = asked->goal};
    *is_over = pl_stop_is_wanted(asked->stop);
    if (*is_over)
        return POPLINER_OK;
    popliner_status status = prepare(&p, error);
    if (status == POPLINER_OK && p.max_stages > 0) {
        status = begin_rows(&p, error);
        if (status == POPLINER_OK)
            status = p.is_exact ? solve_each(&p, best, error) : solve_up_to(&p, best, error);
    }
    *is_over = p.is_stopped;
    free_program(&p);
    return status;
}

popliner_status pl_dynamic_program(const pl_problem *problem, const pl_filter *filter, pl_goal goal,
                                   const pl_stop *stop, pl_split *split, bool *is_stopped,
                                   popliner_error *error) {
    program asked = {.problem = problem, .stop = stop, .goal = goal};
    *is_stopped = false;
    return problem->max_stages < problem->min_stages
               ? POPLINER_OK
               : pl_windows_find(
                     &(pl_windows_question){problem, filter, goal, solve_within, &asked}, split,
                     is_stopped, error);
}
