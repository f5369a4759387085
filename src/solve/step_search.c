/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/step_search.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "solve/ipus.h"
#include "solve/plan.h"
#include "solve/stage_rule.h"

/* Larger tables of bounds would take too much memory; the units of work of a stage. */
enum { MAX_BOUNDS = 1 << 22, WORK_OF_STAGE = 8 };

/* The first stages of a split; or, in a table, lower bounds for the remaining ones. */
typedef struct part {
    /* the cycles before the first pass and after the last pass of the next stage */
    uint64_t before;
    uint64_t reach; /* the largest first bound of a stage; of remaining ones without `before` */
    uint64_t sum;   /* of the second bound: forward and backward passes of the stages */
    uint64_t most;  /* the rest of it, for the stage with most */
    uint64_t peak_bytes;
    uint64_t cycles; /* of the slowest stage */
    uint64_t cut_bytes;
    uint64_t after; /* what follows the step */
} part;

typedef struct search {
    const pl_step_question *q;
    pl_problem problem;
    pl_filter filter;
    size_t num_units;
    size_t num_stages;
    size_t num_ipus;
    size_t num_chunks;
    uint64_t num_micro;
    uint64_t most_cycles;   /* of a step that counts */
    uint64_t num_turns;     /* of micro-batches that wait for each other */
    pl_step_bound of_units; /* of the passes, by the units alone */
    pl_stage_ends *ends;    /* [num_stages] */
    part *rest; /* [num_stages + 1][units + 1]; `reach` is UINT64_MAX if none is allowed */

    pl_split split; /* the current one */
    pl_split best_split;
    pl_step_answer *answer;
    pl_objective_values best;
    uint64_t *work;
    popliner_interval *together; /* [num_chunks] scratch */
    bool is_over;
    size_t num_kept; /* best splits so far */
    pl_step_choices choices;
    uint64_t best_bytes;    /* the most that a stage of the best split may choose */
    pl_arrays arrays;       /* own ends, rest and together */
    popliner_status failed; /* of a choice; then is_over */
    popliner_error *error;
} search;

/* ---- bounds ---- */

/* Returns the cycles of stage k with the units first ... end - 1, which are within the limits. */
static uint64_t cycles_of(search *s, size_t k, size_t first, size_t end) {
    if (s->choices.of == NULL)
        return pl_problem_cycles(&s->problem, k, first, end - 1);
    const popliner_interval units = {first, end - 1, 1};
    const uint64_t most =
        pl_limits_peak(&s->problem, &s->filter.limits, pl_problem_ipu(&s->problem, k));
    pl_variant_choice choice = {0};
    if (s->failed == POPLINER_OK)
        s->failed = pl_step_usual(&s->choices, k, &units, most, &choice, s->error);
    s->is_over = s->is_over || s->failed != POPLINER_OK;
    return pl_problem_busy_cycles(&s->problem, k, first, end - 1, choice.cycles);
}

/* Returns stage k with the units first ... end - 1, as it is without the others. */
static part weigh(search *s, size_t k, size_t first, size_t end) {
    const popliner_costs *costs = s->problem.costs;
    const popliner_pipeline *pipeline = s->q->pipeline;
    const uint64_t *before = pl_links_before(&s->problem.links, k);
    const uint64_t *after = pl_links_before(&s->problem.links, k + 1);
    const popliner_plan_stage stage = {
        .first_unit = first,
        .last_unit = end - 1,
        .ipu = pl_problem_ipu(&s->problem, k),
        .cycles = cycles_of(s, k, first, end),
    };
    const uint64_t link_cycles = before == NULL ? 0 : before[first] + after[end];
    const pl_step_parts p =
        pl_step_passes(&stage, link_cycles, s->q->options, pipeline, s->q->costs);
    const popliner_interval interval = {first, end - 1, pl_costs_place(costs, s->num_stages, k)};
    part own = {
        .reach = pl_multiply_or_never(s->num_micro, stage.cycles),
        .peak_bytes = popliner_costs_peak(costs, first, end - 1, interval.stages_to_end),
        .cycles = stage.cycles,
        .cut_bytes = end < s->num_units ? popliner_costs_cut(costs, end) : 0,
        .after = s->q->after == NULL ? 0 : s->q->after(s->q->user, &interval, 1),
    };
    own.before = p.forward + (p.weights > 0 ? 0 : p.backward);
    if (s->num_chunks > 1) { /* the first bound alone, by the IPU */
        own.before = k < s->num_ipus ? own.before : 0;
        return own;
    }
    own.sum = p.forward + p.backward;
    own.most = pl_step_rest(pipeline, p, k, s->num_stages);
    return own;
}

/* Returns a lower bound of a step with the first stages, and the best remaining ones. */
static uint64_t bound_of(const search *s, const part *begun, const part *rest) {
    if (rest->reach == UINT64_MAX)
        return UINT64_MAX;
    const uint64_t sum = pl_add_or_never(begun->sum, rest->sum);
    uint64_t bound = pl_larger(begun->reach, pl_add_or_never(begun->before, rest->reach));
    bound = pl_larger(bound, pl_add_or_never(sum, pl_larger(begun->most, rest->most)));
    bound = pl_larger(bound, pl_multiply_or_never(s->num_turns, sum));
    return pl_add_or_never(bound, pl_larger(begun->after, s->q->least_after));
}

static part *rest_of(const search *s, size_t k, size_t unit) {
    return &s->rest[k * (s->num_units + 1) + unit];
}

/* Returns the most cycles at speed 1 that a stage may have, without its links. */
static uint64_t most_busy(const search *s, size_t k) {
    return s->choices.least == NULL
               ? UINT64_MAX
               : pl_speed_most(pl_speed_of(s->q->options, pl_problem_ipu(&s->problem, k)),
                               s->most_cycles / s->num_micro);
}

static bool may_end(const search *s, size_t k, size_t first, size_t end) {
    return pl_stage_ends_have(&s->ends[k], first, end) &&
           pl_step_may_take(&s->choices, first, end, most_busy(s, k)) &&
           rest_of(s, k + 1, end)->reach < UINT64_MAX;
}

static void fill_row(search *s, size_t k, size_t first) {
    part *row = rest_of(s, k, first);
    *row = (part){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                  UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
    for (size_t end = s->ends[k].from[first]; end < s->ends[k].to[first]; ++end) {
        if (!may_end(s, k, first, end))
            continue;
        const part own = weigh(s, k, first, end);
        const part *next = rest_of(s, k + 1, end);
        if (own.reach > s->most_cycles)
            continue;
        const uint64_t before = s->num_chunks > 1 ? 0 : own.before;
        row->reach =
            pl_smaller(row->reach, pl_larger(own.reach, pl_add_or_never(before, next->reach)));
        row->sum = pl_smaller(row->sum, pl_add_or_never(own.sum, next->sum));
        row->most = pl_smaller(row->most, pl_larger(own.most, next->most));
        row->peak_bytes = pl_smaller(row->peak_bytes, pl_larger(own.peak_bytes, next->peak_bytes));
        row->cycles = pl_smaller(row->cycles, pl_larger(own.cycles, next->cycles));
        row->cut_bytes =
            pl_smaller(row->cut_bytes, pl_add_cut_bytes(own.cut_bytes, next->cut_bytes));
        *s->work -= pl_smaller(*s->work, WORK_OF_STAGE);
    }
}

/* Finds the ends of all stages, and the bounds of what remains after them. */
static popliner_status find_bounds(search *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    s->ends = pl_arrays_new(&s->arrays, s->num_stages, sizeof *s->ends);
    s->rest = pl_arrays_new(&s->arrays, (s->num_stages + 1) * (s->num_units + 1), sizeof *s->rest);
    if (s->arrays.failed)
        return pl_fail_memory(error, "the bounds of a step");
    for (size_t u = 0; u < s->num_units; ++u)
        rest_of(s, s->num_stages, u)->reach = UINT64_MAX;
    for (size_t k = s->num_stages; k-- > 0 && !s->is_over;) {
        const pl_stage_rule rule = pl_stage_rule_of(
            &s->problem, &s->filter.limits, k, pl_costs_place(s->problem.costs, s->num_stages, k));
        status = pl_stage_ends_find(&s->ends[k], &rule, NULL, error);
        if (status != POPLINER_OK)
            return status;
        rest_of(s, k, s->num_units)->reach = UINT64_MAX;
        for (size_t first = 0; first < s->num_units; ++first)
            fill_row(s, k, first);
        s->is_over = *s->work == 0 || pl_stop_is_wanted(s->q->stop);
    }
    return POPLINER_OK;
}

/* ---- splits ---- */

/* Compares the objectives of splits, or lower bounds of them, with the best split's. */
static int compare_with_best(const search *s, const pl_objective_values *values) {
    const popliner_solver_options *o = s->q->options;
    const bool is_of_cycles = pl_spread_is_of_cycles(o);
    for (size_t i = 0; i < o->num_objectives; ++i) {
        const uint64_t own = pl_objective_value(values, o->objectives[i], is_of_cycles);
        const uint64_t other = pl_objective_value(&s->best, o->objectives[i], is_of_cycles);
        if (own != other)
            return own < other ? -1 : 1;
    }
    return 0;
}

/* Returns what follows the step of the current split. */
static uint64_t find_after(const search *s) {
    uint64_t after = s->q->least_after;
    for (size_t ipu = 0; s->q->after != NULL && ipu < s->num_ipus; ++ipu) {
        size_t count = 0;
        for (size_t k = ipu; k < s->num_stages; k += s->num_ipus)
            s->together[count++] = pl_split_interval(&s->problem, &s->split, k);
        after = pl_larger(after, s->q->after(s->q->user, s->together, count));
    }
    return after;
}

static popliner_status append(pl_split *split, size_t first_unit, popliner_error *error) {
    return pl_split_append(split, first_unit) ? POPLINER_OK
                                              : pl_fail_memory(error, "the stages of the plan");
}

/* Makes the plan of a split, and its values. *fits tells whether it is within the limits. */
static popliner_status fill(search *s, const pl_split *split, uint64_t most_bytes,
                            popliner_plan *plan, pl_objective_values *values, bool *fits,
                            popliner_error *error) {
    popliner_status status =
        pl_plan_fill(&s->problem, split, pl_spread_is_of_cycles(s->q->options), plan, error);
    *fits = true;
    for (size_t k = 0; status == POPLINER_OK && k < s->num_stages; ++k)
        *fits = *fits && plan->stages[k].peak_bytes <=
                             pl_limits_peak(&s->problem, &s->filter.limits, plan->stages[k].ipu);
    if (status != POPLINER_OK || !*fits)
        return status;
    return s->choices.of != NULL ? pl_step_choose_all(&s->choices, &s->filter.limits, most_bytes,
                                                      plan, values, fits, error)
                                 : pl_split_evaluate(&s->problem, split, values, NULL, error);
}

/* A simulated split. */
typedef struct tried {
    bool counts;
    uint64_t cycles; /* of the step and what follows */
    uint64_t most_bytes;
    popliner_pipeline_step step;
    pl_objective_values values;
} tried;

/* Simulates the current split. */
static popliner_status simulate(search *s, uint64_t most_bytes, tried *t, popliner_error *error) {
    popliner_plan plan = {0};
    *t = (tried){.most_bytes = most_bytes};
    *s->work -= pl_smaller(*s->work, 32 + pl_multiply_or_never(2 * s->num_stages, s->num_micro));
    popliner_status status = fill(s, &s->split, most_bytes, &plan, &t->values, &t->counts, error);
    if (status == POPLINER_OK && t->counts)
        status = pl_step_find(&plan, s->q->options, s->q->pipeline, s->q->costs, &t->step, error);
    pl_plan_clear(&plan);
    t->cycles = status == POPLINER_OK && t->counts ? pl_add_or_never(t->step.cycles, find_after(s))
                                                   : UINT64_MAX;
    t->counts = t->counts && t->cycles <= s->q->max_cycles &&
                (s->q->within == NULL || pl_filter_admits(s->q->within, &t->values));
    return status;
}

/* Finds the least memory within which the stages of the current split may choose so that it counts,
 * as it does in *t, if that is less than the best split has. */
static popliner_status shrink(search *s, tried *t, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    uint64_t least = 0;
    for (size_t k = 0; k < s->num_stages; ++k) {
        const popliner_interval i = pl_split_interval(&s->problem, &s->split, k);
        least = pl_larger(least, popliner_costs_peak(s->problem.costs, i.first_unit, i.last_unit,
                                                     i.stages_to_end));
    }
    const bool has_best = s->best_split.num_stages > 0;
    if (has_best && least >= s->best.peak_bytes) {
        t->counts = false;
        return POPLINER_OK;
    }
    if (has_best && t->values.peak_bytes >= s->best.peak_bytes)
        status = simulate(s, s->best.peak_bytes - 1, t, error);
    while (status == POPLINER_OK && t->counts && least < t->values.peak_bytes) {
        const uint64_t middle = least + (t->values.peak_bytes - least) / 2;
        tried own;
        status = simulate(s, middle, &own, error);
        if (own.counts)
            *t = own;
        else
            least = middle + 1;
    }
    return status;
}

/* Simulates the current split, and keeps it if it is better. */
static popliner_status try_split(search *s, popliner_error *error) {
    pl_step_answer *a = s->answer;
    const bool is_within = s->q->within != NULL;
    const bool chooses = s->choices.of != NULL;
    tried t;
    if (pl_problem_broken_pairs(&s->problem, s->split.first_units, s->num_stages) > 0)
        return POPLINER_OK;
    popliner_status status = simulate(s, UINT64_MAX, &t, error);
    if (status == POPLINER_OK && t.counts && is_within && chooses &&
        s->q->options->objectives[0] == POPLINER_OBJECTIVE_MEMORY)
        status = shrink(s, &t, error);
    if (status != POPLINER_OK || !t.counts || (!is_within && t.cycles > a->cycles))
        return status;
    if ((is_within || t.cycles == a->cycles) && s->best_split.num_stages > 0 &&
        ((!is_within && chooses) || compare_with_best(s, &t.values) >= 0))
        return POPLINER_OK;
    ++s->num_kept;
    a->cycles = t.cycles;
    a->step = t.step;
    s->best = t.values;
    s->best_bytes = t.most_bytes;
    return pl_split_copy(&s->best_split, &s->split, error);
}

/* Returns the first stages with one more. */
static part extend(search *s, const part *begun, size_t first, size_t end) {
    const size_t k = s->split.num_stages - 1;
    const part own = weigh(s, k, first, end);
    uint64_t reach = pl_add_or_never(begun->before, own.reach);
    if (s->num_chunks > 1) {
        uint64_t all = pl_problem_cycles(&s->problem, k, first, end - 1);
        for (size_t other = k % s->num_ipus; other < k; other += s->num_ipus)
            all += pl_problem_cycles(&s->problem, other, s->split.first_units[other],
                                     s->split.first_units[other + 1] - 1);
        reach = pl_multiply_or_never(s->num_micro, all);
    }
    return (part){pl_add_or_never(begun->before, own.before),
                  pl_larger(begun->reach, reach),
                  pl_add_or_never(begun->sum, own.sum),
                  pl_larger(begun->most, own.most),
                  pl_larger(begun->peak_bytes, own.peak_bytes),
                  pl_larger(begun->cycles, own.cycles),
                  pl_add_cut_bytes(begun->cut_bytes, own.cut_bytes),
                  pl_larger(begun->after, own.after)};
}

/* True if the best split has the least value of the objective. */
static bool is_best(const search *s) {
    return s->q->within != NULL && s->best_split.num_stages > 0 &&
           pl_objective_value(&s->best, s->q->options->objectives[0], false) <= s->q->least_value;
}

/* True if no split with these first stages can be better than the best one. */
static bool is_hopeless(const search *s, const part *begun, const part *rest) {
    const uint64_t bound = bound_of(s, begun, rest);
    const pl_filter *within = s->q->within;
    if (bound > s->q->max_cycles || bound == UINT64_MAX ||
        (within == NULL && bound > s->answer->cycles))
        return true;
    const pl_objective_values least = {
        .peak_bytes = pl_larger(begun->peak_bytes, rest->peak_bytes),
        .cycles = pl_larger(begun->cycles, rest->cycles),
        .cut_bytes = pl_add_cut_bytes(begun->cut_bytes, rest->cut_bytes),
        .num_ipus = s->num_ipus,
    };
    if (within != NULL && !pl_filter_admits(within, &least))
        return true;
    return s->best_split.num_stages > 0 && (within != NULL || bound == s->answer->cycles) &&
           ((within == NULL && s->choices.of != NULL) || compare_with_best(s, &least) >= 0);
}

/* Tries all splits that continue the current one, whose last stage begins with `first`. */
static popliner_status descend(search *s, const part *begun, popliner_error *error) {
    const size_t k = s->split.num_stages - 1;
    const size_t first = s->split.first_units[k];
    popliner_status status = POPLINER_OK;
    s->is_over = s->is_over || *s->work == 0 || pl_stop_is_wanted(s->q->stop);
    for (size_t end = s->ends[k].from[first];
         status == POPLINER_OK && !s->is_over && !is_best(s) && end < s->ends[k].to[first]; ++end) {
        if (!may_end(s, k, first, end))
            continue;
        *s->work -= pl_smaller(*s->work, WORK_OF_STAGE);
        const part next = extend(s, begun, first, end);
        if (is_hopeless(s, &next, rest_of(s, k + 1, end)))
            continue;
        if (k + 1 == s->num_stages) {
            status = try_split(s, error);
            continue;
        }
        status = append(&s->split, end, error);
        if (status != POPLINER_OK)
            return status;
        status = descend(s, &next, error);
        --s->split.num_stages;
    }
    return status;
}

/* ---- first answers ---- */

/* Tries the split whose every stage has the smallest bound. */
static popliner_status dive(search *s, popliner_error *error) {
    part begun = {0};
    popliner_status status = POPLINER_OK;
    s->split.num_stages = 1;
    for (size_t k = 0; k < s->num_stages; ++k) {
        const size_t first = s->split.first_units[k];
        uint64_t least = UINT64_MAX;
        size_t best_end = 0;
        part best = {0};
        for (size_t end = s->ends[k].from[first]; end < s->ends[k].to[first]; ++end) {
            if (!may_end(s, k, first, end))
                continue;
            const part next = extend(s, &begun, first, end);
            const uint64_t bound = bound_of(s, &next, rest_of(s, k + 1, end));
            if (bound < least) {
                least = bound;
                best_end = end;
                best = next;
            }
        }
        if (least == UINT64_MAX)
            return POPLINER_OK;
        begun = best;
        if (k + 1 < s->num_stages)
            status = append(&s->split, best_end, error);
        if (status != POPLINER_OK)
            return status;
    }
    return try_split(s, error);
}

/* Moves cuts of the best split by one unit while that makes it better. */
static popliner_status climb(search *s, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    bool goes_on = s->best_split.num_stages > 0;
    while (status == POPLINER_OK && goes_on && *s->work > 0) {
        const uint64_t cycles = s->answer->cycles;
        const size_t num_kept = s->num_kept;
        for (size_t i = 2; status == POPLINER_OK && *s->work > 0 && i < 2 * s->num_stages; ++i) {
            status = pl_split_copy(&s->split, &s->best_split, error);
            if (status != POPLINER_OK)
                return status;
            size_t *units = s->split.first_units;
            const size_t k = i / 2;
            units[k] += i % 2 == 0 ? 1 : SIZE_MAX;
            const size_t end = k + 1 < s->num_stages ? units[k + 1] : s->num_units;
            if (units[k] > units[k - 1] && units[k] < end &&
                may_end(s, k - 1, units[k - 1], units[k]) && may_end(s, k, units[k], end))
                status = try_split(s, error);
        }
        goes_on = s->q->within != NULL ? s->num_kept > num_kept : s->answer->cycles < cycles;
    }
    return status;
}

static popliner_status begin_with(search *s, const popliner_plan *plan, popliner_error *error) {
    popliner_status status = POPLINER_OK;
    s->split.num_stages = 0;
    if (plan == NULL || plan->num_stages != s->num_stages)
        return POPLINER_OK;
    for (size_t k = 0; status == POPLINER_OK && k < s->num_stages; ++k)
        status = append(&s->split, plan->stages[k].first_unit, error);
    return status == POPLINER_OK ? try_split(s, error) : status;
}

/* ---- the answer ---- */

/* Makes the plan of the best split. */
static popliner_status make_plan(search *s, popliner_error *error) {
    pl_step_answer *a = s->answer;
    const popliner_solver_options *o = s->q->options;
    const bool is_of_cycles = pl_spread_is_of_cycles(o);
    if (s->best_split.num_stages == 0)
        return POPLINER_OK;
    popliner_status status = pl_plan_create_empty(!a->is_proven, &a->plan, error);
    popliner_plan *plan = a->plan;
    pl_objective_values values;
    bool fits;
    if (status == POPLINER_OK)
        status = fill(s, &s->best_split, s->best_bytes, plan, &values, &fits, error);
    if (status == POPLINER_OK && s->choices.of != NULL)
        status = pl_step_name_choices(&s->choices, plan, error);
    if (status != POPLINER_OK)
        return status;
    plan->status = a->is_proven ? POPLINER_PLAN_OPTIMAL : POPLINER_PLAN_FEASIBLE;
    plan->proof = a->is_proven ? POPLINER_PROOF_SEARCH : POPLINER_PROOF_NONE;
    plan->num_units = s->num_units;
    plan->infeasibility.obstacle = POPLINER_OBSTACLE_NONE;
    plan->num_values = o->num_objectives;
    for (size_t i = 0; i < o->num_objectives; ++i) {
        const uint64_t value = pl_objective_value(&s->best, o->objectives[i], is_of_cycles);
        plan->values[i] = (popliner_plan_value){
            o->objectives[i], value, .bound = a->is_proven ? value : 0, .proof = plan->proof};
    }
    return POPLINER_OK;
}

static popliner_status run(search *s, popliner_error *error) {
    pl_step_answer *a = s->answer;
    const part none = {0};
    if (s->problem.max_stages < s->problem.min_stages) {
        a->is_proven = true;
        return POPLINER_OK;
    }
    popliner_status status = POPLINER_OK;
    if (s->num_chunks == 1)
        status =
            pl_step_bound_create(&s->of_units, &s->problem, s->q->pipeline, s->num_stages, error);
    if (status == POPLINER_OK && s->choices.least != NULL && s->q->options->num_ipu_speeds == 0)
        status = pl_step_bound_choices(&s->of_units, s->q->costs, s->choices.least, error);
    if (status != POPLINER_OK)
        return status;
    if (s->q->max_cycles < s->q->least_after ||
        !pl_step_bound_allows(&s->of_units, s->q->max_cycles - s->q->least_after)) {
        a->is_proven = true;
        return POPLINER_OK;
    }
    for (size_t i = 0; status == POPLINER_OK && i < s->q->num_starts; ++i)
        status = begin_with(s, s->q->starts[i], error);
    const uint64_t most =
        s->q->within != NULL ? s->q->max_cycles : pl_smaller(a->cycles, s->q->max_cycles);
    a->bound_cycles = 0;
    a->is_proven = is_best(s);
    if (status != POPLINER_OK || a->is_proven ||
        (s->num_stages + 1) * (s->num_units + 1) > MAX_BOUNDS)
        return status;
    s->most_cycles = most;
    if (most < UINT64_MAX)
        s->filter.limits.max_cycles = pl_smaller(s->filter.limits.max_cycles, most / s->num_micro);
    status = find_bounds(s, error);
    if (status != POPLINER_OK || s->is_over)
        return status;
    s->split.num_stages = 0;
    status = append(&s->split, 0, error);
    if (status == POPLINER_OK)
        status = dive(s, error);
    if (status == POPLINER_OK)
        status = climb(s, error);
    a->bound_cycles = bound_of(s, &none, rest_of(s, 0, 0));
    s->split.num_stages = 1;
    if (status == POPLINER_OK && !is_hopeless(s, &none, rest_of(s, 0, 0)))
        status = descend(s, &none, error);
    a->is_proven = !s->is_over;
    return status;
}

/* Sets the bound of what was not ruled out. */
static void set_bound(const search *s) {
    pl_step_answer *a = s->answer;
    if (a->is_proven) {
        a->bound_cycles = a->cycles;
        return;
    }
    const uint64_t after = s->q->least_after;
    const uint64_t least = pl_add_or_never(
        pl_step_bound_least(&s->of_units, a->cycles - pl_smaller(a->cycles, after)), after);
    a->bound_cycles = pl_smaller(pl_larger(a->bound_cycles, least), a->cycles);
}

/* Takes what the search needs of its question and of the problem. */
static popliner_status begin(search *s, popliner_error *error) {
    const popliner_pipeline *pipeline = s->q->pipeline;
    s->filter = s->q->within != NULL ? *s->q->within : pl_filter_of_limits(&s->problem);
    s->num_units = s->problem.num_units;
    s->num_stages = s->q->options->num_mapped_stages;
    s->num_ipus = s->problem.num_ipus;
    s->num_chunks = s->num_stages / s->num_ipus;
    s->num_micro = pipeline->copies.num_micro_batches;
    s->num_turns = pl_step_turns(pipeline, s->num_ipus, s->num_chunks);
    s->choices.problem = &s->problem;
    s->choices.work = s->work;
    s->together = pl_arrays_new(&s->arrays, s->num_chunks, sizeof *s->together);
    return s->together == NULL ? pl_fail_memory(error, "the stages") : POPLINER_OK;
}

popliner_status pl_step_search(const pl_step_question *question, uint64_t *work,
                               pl_step_answer *answer, popliner_error *error) {
    search s = {.q = question, .answer = answer, .work = work, .error = error};
    const popliner_solver_options *o = question->options;
    *answer = (pl_step_answer){.cycles = UINT64_MAX, .bound_cycles = UINT64_MAX};
    popliner_status status = pl_step_choices_create(&s.choices, question->costs, o,
                                                    o->num_mapped_stages, question->stop, error);
    const bool can_choose = s.choices.of == NULL || s.choices.table != NULL;
    if (status == POPLINER_OK && can_choose)
        status = pl_problem_create(
            &s.problem, s.choices.of == NULL ? question->costs : s.choices.table, o, NULL, error);
    if (status == POPLINER_OK && can_choose)
        status = begin(&s, error);
    if (status == POPLINER_OK && can_choose)
        status = run(&s, error);
    if (status == POPLINER_OK)
        status = s.failed;
    if (!can_choose)
        answer->bound_cycles = 0;
    else if (status == POPLINER_OK && question->within == NULL)
        set_bound(&s);
    if (status == POPLINER_OK && can_choose)
        status = make_plan(&s, error);
    for (size_t k = 0; s.ends != NULL && k < s.num_stages; ++k)
        pl_stage_ends_free(&s.ends[k]);
    pl_arrays_free(&s.arrays);
    pl_split_clear(&s.split);
    pl_split_clear(&s.best_split);
    pl_step_bound_free(&s.of_units);
    pl_problem_free(&s.problem);
    pl_step_choices_free(&s.choices);
    return status;
}
