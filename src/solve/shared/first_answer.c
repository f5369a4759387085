/* A good split before anything is proven.
 *
 * Moves: one cut, or several consecutive cuts, by the same few units. Moving several cuts passes
 * units between stages that are not neighbours, while the stages between keep their sizes.
 *
 * Moves minimise a sum of high powers over all IPUs instead of the largest IPU alone, which most
 * moves do not change. So nearly as large IPUs also shrink, and can take units later. The best
 * split by the objective is stored.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/places.h"
#include "solve/shared/shared.h"

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "costs/costs.h"

#include <math.h>
#include <string.h>

/* The largest distance of a move, in units; what a move that is not allowed counts as; how many
 * moves there are between two looks at the time. */
enum { FARTHEST_MOVE = 4, WORK_OF_MOVE = 2, MOVES_PER_LOOK = 64 };

/* The value of a split; smaller is better for each member. */
typedef struct score {
    double excess;  /* outside the filter; 0 if it is within */
    uint64_t value; /* of the objective */
    double rough;   /* what moves minimise */
    double uneven;  /* decides between equal values */
} score;

typedef struct climb {
    const pl_shared_search *asked;
    const pl_filter *filter;
    const pl_problem *problem;
    popliner_objective objective;
    uint64_t random;
    size_t num_units;
    size_t num_stages;
    double unit_of_load;         /* the load that counts as 1 */
    pl_ways_through ways;        /* the intervals that may be each stage */
    size_t *cuts;                /* [stages + 1]: the first unit of each stage, and the end */
    pl_load *loads;              /* [stages], by first stage of the IPU */
    pl_load *kept_loads;         /* [stages]: before a move */
    bool *is_touched;            /* [stages] */
    popliner_interval *together; /* [stages] */
    double *before;              /* [units + 1]: sums of the weights of units */
    score now;
    size_t *best_cuts; /* [stages + 1] */
    score best;
    bool has_best;
    size_t num_moves;
    bool is_stopped;
    pl_arrays arrays; /* own all of these */
    popliner_error *error;
} climb;

/* Counts a move. */
static bool must_end(climb *c) {
    if (c->num_moves++ % MOVES_PER_LOOK == 0)
        c->is_stopped = pl_stop_is_wanted(c->asked->stop);
    c->asked->shared->work += WORK_OF_MOVE;
    return c->is_stopped || c->asked->shared->work >= c->asked->most_work;
}

/* True if the objective is one of cycles. */
static bool of_cycles(const climb *c) {
    return pl_objective_is_of_cycles(c->objective, false);
}

static bool is_ok(const climb *c, size_t stage) {
    return pl_stage_ends_have(&c->ways.ends[stage], c->cuts[stage], c->cuts[stage + 1]);
}

/* ---- the score of a split ---- */

static popliner_status measure(climb *c, size_t first_stage) {
    const pl_wish wish = {c->filter->limits, of_cycles(c)};
    size_t count = 0;
    for (size_t stage = first_stage; stage < c->num_stages; ++stage) {
        if (c->problem->first_on_ipu[stage] != first_stage)
            continue;
        popliner_interval it = {c->cuts[stage], c->cuts[stage + 1] - 1, c->num_stages - stage};
        c->together[count++] = it;
    }
    return pl_shared_measure(c->asked->shared, c->problem, &wish, c->together, count,
                             &c->loads[first_stage], c->error);
}

/* Returns by how much `value` exceeds `max`, relative to it. */
static double excess_of(uint64_t value, uint64_t max) {
    return value <= max ? 0.0 : (double)(value - max) / ((double)max + 1.0);
}

/* The sixteenth power. */
static double high_power(double x) {
    for (int i = 0; i < 4; ++i)
        x *= x;
    return x;
}

static pl_objective_values values_of(const climb *c) {
    pl_objective_values v = PL_OBJECTIVE_VALUES_INIT;
    for (size_t stage = 0; stage < c->num_stages; ++stage) {
        if (stage > 0)
            v.cut_bytes = pl_add_cut_bytes(v.cut_bytes,
                                           popliner_costs_cut(c->problem->costs, c->cuts[stage]));
        if (c->problem->first_on_ipu[stage] == stage)
            pl_objective_values_add(&v, c->loads[stage]);
    }
    return v;
}

static double excess_of_split(const climb *c, const pl_objective_values *v) {
    const pl_filter *f = c->filter;
    const pl_limits *l = &f->limits;
    double excess = (double)pl_problem_broken_pairs(c->problem, c->cuts, c->num_stages);
    for (size_t stage = 0; stage < c->num_stages; ++stage)
        if (c->problem->first_on_ipu[stage] == stage)
            excess += excess_of(c->loads[stage].peak_bytes,
                                pl_limits_peak(c->problem, l, pl_problem_ipu(c->problem, stage))) +
                      excess_of(c->loads[stage].cycles, l->max_cycles);
    excess += excess_of(l->min_peak_bytes, v->min_peak_bytes) +
              excess_of(l->min_cycles, v->min_cycles) + excess_of(v->cut_bytes, l->max_cut_bytes) +
              excess_of(pl_objective_values_spread(v, f->spread_is_of_cycles), f->max_spread);
    /* for limits that are not counted above */
    return excess > 0.0 || pl_filter_admits(f, v) ? excess : 1.0;
}

/* Returns the sum of high powers of cycles, or of bytes. */
static double rough_of_loads(const climb *c, bool is_of_cycles) {
    double sum = 0.0;
    for (size_t stage = 0; stage < c->num_stages; ++stage)
        if (c->problem->first_on_ipu[stage] == stage)
            sum += high_power(
                (double)(is_of_cycles ? c->loads[stage].cycles : c->loads[stage].peak_bytes) /
                c->unit_of_load);
    return sum;
}

static score score_of(const climb *c) {
    pl_objective_values v = values_of(c);
    score s = {.excess = excess_of_split(c, &v),
               .value = pl_objective_value(&v, c->objective, c->filter->spread_is_of_cycles)};
    s.uneven = rough_of_loads(c, of_cycles(c));
    s.rough =
        pl_objective_of(c->objective)->kind == PL_OBJECTIVE_LARGEST ? s.uneven : (double)s.value;
    return s;
}

static bool is_smaller(const score *a, const score *b) {
    if (a->excess != b->excess)
        return a->excess < b->excess;
    return a->rough != b->rough ? a->rough < b->rough : a->uneven < b->uneven;
}

/* Stores the split if it is the best. */
static void remember(climb *c) {
    const score *a = &c->now;
    const score *b = &c->best;
    if (c->has_best &&
        (a->excess > b->excess ||
         (a->excess == b->excess &&
          (a->value > b->value || (a->value == b->value && a->uneven >= b->uneven)))))
        return;
    c->has_best = true;
    c->best = c->now;
    memcpy(c->best_cuts, c->cuts, (c->num_stages + 1) * sizeof *c->cuts);
}

/* ---- moves ---- */

/* Scores the current cuts. */
static popliner_status begin_climb(climb *c) {
    uint64_t largest = 1;
    for (size_t stage = 0; stage < c->num_stages; ++stage) {
        if (c->problem->first_on_ipu[stage] != stage)
            continue;
        popliner_status status = measure(c, stage);
        if (status != POPLINER_OK)
            return status;
        uint64_t own = of_cycles(c) ? c->loads[stage].cycles : c->loads[stage].peak_bytes;
        largest = own > largest ? own : largest;
    }
    if (c->unit_of_load == 0.0)
        c->unit_of_load = (double)largest;
    c->now = score_of(c);
    remember(c);
    return POPLINER_OK;
}

/* Moves the cuts before the stages first ... last. */
static void shift(climb *c, size_t first, size_t last, ptrdiff_t by) {
    for (size_t stage = first; stage <= last; ++stage)
        c->cuts[stage] = (size_t)((ptrdiff_t)c->cuts[stage] + by);
}

/* Moves cuts if the result is allowed and better; else restores them. */
static popliner_status try_shift(climb *c, size_t first, size_t last, ptrdiff_t by,
                                 bool *is_better) {
    size_t num_stages = c->num_stages;
    popliner_status status = POPLINER_OK;
    *is_better = false;
    /* only the stages at both ends change size */
    if ((by < 0 && (ptrdiff_t)(c->cuts[first] - c->cuts[first - 1]) <= -by) ||
        (by > 0 && (ptrdiff_t)(c->cuts[last + 1] - c->cuts[last]) <= by))
        return POPLINER_OK;
    shift(c, first, last, by);
    bool is_allowed = true;
    for (size_t stage = first - 1; is_allowed && stage <= last; ++stage)
        is_allowed = is_ok(c, stage);
    if (!is_allowed) {
        shift(c, first, last, -by);
        return POPLINER_OK;
    }
    memset(c->is_touched, 0, num_stages * sizeof *c->is_touched);
    memcpy(c->kept_loads, c->loads, num_stages * sizeof *c->loads);
    for (size_t stage = first - 1; stage <= last; ++stage)
        c->is_touched[c->problem->first_on_ipu[stage]] = true;
    for (size_t stage = 0; status == POPLINER_OK && stage < num_stages; ++stage)
        if (c->is_touched[stage])
            status = measure(c, stage);
    if (status != POPLINER_OK)
        return status;
    score moved = score_of(c);
    *is_better = is_smaller(&moved, &c->now);
    if (*is_better) {
        c->now = moved;
        remember(c);
    } else {
        shift(c, first, last, -by);
        memcpy(c->loads, c->kept_loads, num_stages * sizeof *c->loads);
    }
    return POPLINER_OK;
}

/* Moves cuts as long as that improves the score. */
static popliner_status improve(climb *c) {
    size_t num_moves_left = 1;
    while (num_moves_left > 0) {
        num_moves_left = 0;
        for (size_t length = 0; length + 1 < c->num_stages; ++length)
            for (size_t first = 1; first + length < c->num_stages; ++first)
                for (ptrdiff_t by = -FARTHEST_MOVE; by <= FARTHEST_MOVE; ++by) {
                    bool is_better = false;
                    if (by == 0)
                        continue;
                    if (must_end(c))
                        return POPLINER_OK;
                    popliner_status status = try_shift(c, first, first + length, by, &is_better);
                    if (status != POPLINER_OK)
                        return status;
                    num_moves_left += is_better;
                }
    }
    return POPLINER_OK;
}

/* Moves a few cuts of the best split to random places. */
static popliner_status kick(climb *c) {
    enum { MOST_CUTS = 4 };
    memcpy(c->cuts, c->best_cuts, (c->num_stages + 1) * sizeof *c->cuts);
    size_t num_cuts = 1 + (size_t)pl_random_below(&c->random, MOST_CUTS);
    for (size_t i = 0; c->num_stages > 1 && i < num_cuts; ++i) {
        size_t stage = 1 + (size_t)pl_random_below(&c->random, c->num_stages - 1);
        size_t kept = c->cuts[stage];
        size_t room = c->cuts[stage + 1] - c->cuts[stage - 1] - 1;
        c->cuts[stage] = c->cuts[stage - 1] + 1 + (size_t)pl_random_below(&c->random, room);
        if (!is_ok(c, stage - 1) || !is_ok(c, stage))
            c->cuts[stage] = kept;
    }
    return begin_climb(c);
}

/* ---- starting points ---- */

/* Cuts close to equal parts of the weights. False if there is no such split. */
static bool cut_evenly(climb *c) {
    size_t n = c->num_units;
    c->cuts[0] = 0;
    for (size_t stage = 0; stage < c->num_stages; ++stage) {
        double wanted = c->before[n] * (double)(stage + 1) / (double)c->num_stages;
        size_t first = c->cuts[stage];
        size_t best = 0;
        double least = 0.0;
        for (size_t end = first + 1; end <= n; ++end) {
            double distance = fabs(c->before[end] - wanted);
            if (!pl_stage_ends_have(&c->ways.ends[stage], first, end) ||
                (best > 0 && distance >= least))
                continue;
            best = end;
            least = distance;
        }
        if (best == 0)
            return false;
        c->cuts[stage + 1] = best;
    }
    return c->cuts[c->num_stages] == n;
}

/* True if all stages are allowed. */
static bool are_ok(const climb *c) {
    bool is_fine = true;
    for (size_t stage = 0; is_fine && stage < c->num_stages; ++stage)
        is_fine = is_ok(c, stage);
    return is_fine;
}

static popliner_status begin_with_split(climb *c, const pl_split *split) {
    if (split->num_stages != c->num_stages)
        return POPLINER_OK;
    memcpy(c->cuts, split->first_units, c->num_stages * sizeof *c->cuts);
    c->cuts[c->num_stages] = c->num_units;
    if (!are_ok(c))
        return POPLINER_OK;
    popliner_status status = begin_climb(c);
    return status == POPLINER_OK ? improve(c) : status;
}

/* Sums the weights before each unit: 1 for each unit, or its need. */
static void weigh(climb *c, bool by_needs) {
    const popliner_costs *costs = c->problem->costs;
    const size_t last_place = pl_costs_place(costs, c->num_stages, c->num_stages - 1);
    for (size_t unit = 0; unit < c->num_units; ++unit) {
        const uint64_t peak_bytes = popliner_costs_peak(costs, unit, unit, last_place);
        double weight = 1.0;
        if (by_needs && of_cycles(c))
            weight = (double)popliner_costs_cycles(costs, unit, unit);
        else if (by_needs && peak_bytes != POPLINER_PEAK_FORBIDDEN)
            weight = (double)peak_bytes;
        c->before[unit + 1] = c->before[unit] + weight;
    }
}

static popliner_status begin_evenly(climb *c, bool by_needs) {
    weigh(c, by_needs);
    if (!cut_evenly(c))
        return POPLINER_OK;
    popliner_status status = begin_climb(c);
    return status == POPLINER_OK ? improve(c) : status;
}

/* ---- all starting points ---- */

static popliner_status prepare_climb(climb *c) {
    size_t n = c->num_units;
    c->ways = (pl_ways_through){
        .problem = c->problem, .limits = &c->filter->limits, .stop = c->asked->stop};
    c->cuts = pl_arrays_new(&c->arrays, c->num_stages + 1, sizeof *c->cuts);
    c->best_cuts = pl_arrays_new(&c->arrays, c->num_stages + 1, sizeof *c->best_cuts);
    c->loads = pl_arrays_new(&c->arrays, c->num_stages, sizeof *c->loads);
    c->kept_loads = pl_arrays_new(&c->arrays, c->num_stages, sizeof *c->kept_loads);
    c->is_touched = pl_arrays_new(&c->arrays, c->num_stages, sizeof *c->is_touched);
    c->together = pl_arrays_new(&c->arrays, c->num_stages, sizeof *c->together);
    c->before = pl_arrays_new(&c->arrays, n + 1, sizeof *c->before);
    if (c->arrays.failed)
        return pl_fail_memory(c->error, "the first answer");
    return pl_ways_find(&c->ways, c->error);
}

static popliner_status climb_from(climb *c, const pl_first_answer_wish *wish,
                                  const pl_split *split) {
    popliner_status status = prepare_climb(c);
    if (c->ways.is_stopped)
        return status;
    if (status == POPLINER_OK)
        status = begin_with_split(c, split);
    if (status == POPLINER_OK)
        status = begin_evenly(c, false);
    if (status == POPLINER_OK)
        status = begin_evenly(c, true);
    if (status == POPLINER_OK && wish->hint != NULL)
        status = begin_with_split(c, wish->hint);
    for (size_t i = 0; status == POPLINER_OK && c->has_best && i < wish->num_kicks; ++i) {
        if (must_end(c))
            break;
        status = kick(c);
        if (status == POPLINER_OK)
            status = improve(c);
    }
    return status;
}

popliner_status pl_first_answer(const pl_shared_search *asked, const pl_filter *filter,
                                const pl_first_answer_wish *wish, pl_split *split,
                                popliner_error *error) {
    const pl_problem *p = asked->problem;
    climb c = {.asked = asked,
               .filter = filter,
               .problem = p,
               .objective = wish->objective,
               .random = asked->shared->work, /* so that no call repeats another's kicks */
               .num_units = p->num_units,
               .num_stages = p->options->num_mapped_stages,
               .error = error};
    pl_split found = {0};
    if (p->max_stages < p->min_stages)
        return POPLINER_OK;
    popliner_status status = climb_from(&c, wish, split);
    if (status != POPLINER_OK || !c.has_best || c.best.excess > 0.0)
        goto done;
    for (size_t stage = 0; stage < c.num_stages; ++stage)
        if (!pl_split_append(&found, c.best_cuts[stage])) {
            status = pl_fail_memory(error, "the first answer");
            goto done;
        }
    pl_split_move(split, &found);
done:
    pl_split_clear(&found);
    pl_ways_free(&c.ways);
    pl_arrays_free(&c.arrays);
    return status;
}
