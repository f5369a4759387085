/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/choosing.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/variant_choices.h"

struct pl_chooser {
    const pl_choices *of;
    pl_variant_search *variants; /* NULL: ways */
    pl_cost_order *orders;       /* [ways] */
    pl_wish wish;                /* of splits that are evaluated */
    /* [stages of the device map, or 1]: scratch of an IPU */
    popliner_interval *stages;
    popliner_interval *placed; /* the same with their places in the costs */
    uint64_t *links;           /* what their cuts take */
    uint64_t *cycles;
    pl_text *texts;
    pl_arrays arrays; /* own the arrays */
    popliner_status failed;
    popliner_error error;
};

static const pl_choice_wish smallest_peak = {UINT64_MAX, POPLINER_PEAK_FORBIDDEN - 1, false};

static popliner_status fail_memory(popliner_error *error) {
    return pl_fail_memory(error, "the variants of the stages");
}

/* ---- the chooser ---- */

popliner_status pl_variants_check_options(const popliner_solver_options *options,
                                          popliner_error *error) {
    if (options->method == POPLINER_METHOD_GREEDY)
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not with the greedy method; use another one");
    if (pl_objectives_include(options, POPLINER_OBJECTIVE_BALANCE))
        return pl_fail(error, POPLINER_ERROR_USAGE,
                       "recompute auto: not for the objective balance; leave it out");
    return POPLINER_OK;
}

popliner_status pl_chooser_create(pl_problem *problem, popliner_error *error) {
    const pl_choices *of = problem->costs->choices;
    const pl_variants *v = of != NULL ? of->variants : NULL;
    const size_t num_mapped = problem->options->num_mapped_stages;
    if (of == NULL)
        return POPLINER_OK;
    PL_TRY(pl_variants_check_options(problem->options, error));
    pl_chooser *c = problem->chooser = calloc(1, sizeof *c);
    if (c == NULL)
        return fail_memory(error);
    c->of = of;
    c->wish.limits = pl_filter_without_memory().limits;
    c->orders = pl_arrays_new(&c->arrays, of->ways.count, sizeof *c->orders);
    c->stages = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->stages);
    c->placed = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->placed);
    c->links = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->links);
    c->cycles = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->cycles);
    c->texts = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->texts);
    if (c->arrays.failed)
        return fail_memory(error);
    for (size_t i = 0; i < of->ways.count; ++i) {
        const popliner_costs *costs = of->ways.costs[i];
        problem->num_places = pl_more(problem->num_places, costs->max_stages_to_end);
        problem->follows_split = problem->follows_split || costs->follows_split;
        PL_TRY(pl_costs_find_order(costs, problem->max_stages, &c->orders[i], error));
    }
    if (v == NULL)
        return POPLINER_OK;
    problem->num_places = v->max_stages;
    problem->follows_split = pl_pipeline_follows_split(&v->pipeline);
    /* moments are of the device map: check_copies */
    return pl_variant_search_create(of, problem->num_units, problem->is_shared, &c->variants,
                                    error);
}

void pl_chooser_free(pl_chooser *chooser) {
    if (chooser == NULL)
        return;
    for (size_t i = 0; !chooser->arrays.failed && i < chooser->of->ways.count; ++i)
        pl_cost_order_clear(&chooser->orders[i]);
    pl_variant_search_free(chooser->variants);
    pl_arrays_free(&chooser->arrays);
    free(chooser);
}

void pl_chooser_limit(const pl_problem *problem, const pl_limits *limits, bool by_cycles) {
    if (problem->chooser != NULL)
        problem->chooser->wish = (pl_wish){*limits, by_cycles};
}

uint64_t pl_chooser_work(const pl_problem *problem) {
    const pl_chooser *c = problem->chooser;
    return c->variants != NULL ? pl_variant_search_work(c->variants) : 0;
}

popliner_status pl_chooser_failure(const pl_problem *problem, popliner_error *error) {
    const pl_chooser *c = problem->chooser;
    return c == NULL || c->failed == POPLINER_OK
               ? POPLINER_OK
               : pl_fail(error, c->failed, "%s", c->error.message);
}

/* ---- bounds ---- */

/* Makes a choice the best one if it is within the limits, and better. */
static bool take(pl_variant_choice *best, const pl_variant_choice *own,
                 const pl_choice_wish *wish) {
    if (own->cycles > wish->max_cycles || own->peak_bytes > wish->max_bytes ||
        own->peak_bytes == POPLINER_PEAK_FORBIDDEN ||
        (best->exists && !pl_variant_choice_is_better(own, best, wish->by_cycles)))
        return false;
    *best = *own;
    return true;
}

/* Chooses of the ways of a stage, at a place of the costs. */
static pl_variant_choice best_way(const pl_ways *ways, const popliner_interval *placed,
                                  const pl_choice_wish *wish) {
    pl_variant_choice best = {false, POPLINER_PEAK_FORBIDDEN, UINT64_MAX};
    for (size_t i = 0; i < ways->count; ++i) {
        const pl_variant_choice own = {
            true,
            popliner_costs_peak(ways->costs[i], placed->first_unit, placed->last_unit,
                                placed->stages_to_end),
            popliner_costs_cycles(ways->costs[i], placed->first_unit, placed->last_unit)};
        take(&best, &own, wish);
    }
    return best;
}

static uint64_t least_peak(const pl_chooser *c, const popliner_interval *placed,
                           const pl_choice_wish *wish) {
    return c->variants != NULL ? pl_variant_search_least(c->variants, placed, wish)
                               : best_way(&c->of->ways, placed, wish).peak_bytes;
}

/* Sets *wish to the limits of an interval as the stage; false if its cuts take too long. */
static bool limits_of(const pl_stage_rule *rule, size_t first, size_t end, pl_choice_wish *wish) {
    *wish = (pl_choice_wish){rule->max_cycles, rule->max_peak_bytes, false};
    if (rule->link_before == NULL)
        return true;
    const uint64_t cuts = rule->link_before[first] + rule->link_after[end];
    if (cuts > rule->max_busy_cycles)
        return false;
    if (rule->max_busy_cycles < UINT64_MAX)
        wish->max_cycles = pl_speed_most(rule->speed, rule->max_busy_cycles - cuts);
    return true;
}

uint64_t pl_chooser_least_peak(const pl_problem *problem, const popliner_interval *placed) {
    return least_peak(problem->chooser, placed, &smallest_peak);
}

uint64_t pl_chooser_part(const pl_problem *problem, const pl_limits *limits,
                         const popliner_interval *stage, size_t num_on_ipu) {
    const pl_choices *of = problem->chooser->of;
    const size_t num_stages = problem->options->num_mapped_stages;
    const size_t number = num_stages - stage->stages_to_end;
    const pl_stage_rule rule = pl_stage_rule_of(problem, limits, number, stage->stages_to_end);
    const popliner_interval placed = {stage->first_unit, stage->last_unit, rule.to_end};
    uint64_t shared = 0;
    pl_choice_wish wish;
    if (!limits_of(&rule, placed.first_unit, placed.last_unit + 1, &wish))
        return POPLINER_PEAK_FORBIDDEN;
    wish.max_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    const uint64_t bytes = least_peak(problem->chooser, &placed, &wish);
    if (bytes == POPLINER_PEAK_FORBIDDEN || num_on_ipu == 1)
        return bytes;
    if (of->variants == NULL)
        shared = bytes;
    else if (of->variants->shared_bytes != NULL)
        shared = of->variants->shared_bytes(of->variants->user, &placed, 1);
    return bytes - shared + shared / num_on_ipu;
}

uint64_t pl_chooser_least_cycles(const pl_problem *problem, size_t first_unit, size_t last_unit) {
    const pl_chooser *c = problem->chooser;
    const popliner_interval placed = {first_unit, last_unit, 1};
    pl_choice_wish wish = smallest_peak;
    wish.by_cycles = true;
    return c->variants != NULL ? pl_variant_search_cycles(c->variants, &placed)
                               : best_way(&c->of->ways, &placed, &wish).cycles;
}

bool pl_chooser_is_over(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const pl_chooser *c = rule->problem->chooser;
    const popliner_interval placed = {first_unit, end_unit - 1, rule->to_end};
    const pl_choice_wish wish = {rule->max_cycles, rule->max_peak_bytes, false};
    if (c->variants != NULL)
        return pl_variant_search_is_over(c->variants, &placed, &wish);
    bool is_over = true;
    for (size_t i = 0; is_over && i < c->of->ways.count; ++i)
        is_over = pl_cost_order_is_over(&c->orders[i], c->of->ways.costs[i], &placed,
                                        wish.max_cycles, wish.max_bytes);
    return is_over;
}

bool pl_chooser_never_shrinks(const pl_problem *problem, uint64_t max_cycles) {
    const pl_choices *of = problem->chooser->of;
    const pl_variants *v = of->variants;
    const bool limits_cycles = max_cycles < UINT64_MAX;
    /* a stage that recomputes all its units may begin with smaller inputs */
    bool is_so = !(limits_cycles && problem->links.cycles != NULL) && (v == NULL || !v->has_full);
    for (size_t unit = 1; is_so && limits_cycles && v != NULL && unit < v->num_units; ++unit)
        is_so = v->cut_cycles[unit] == 0;
    for (size_t i = 0; is_so && i < of->ways.count; ++i)
        is_so = pl_costs_shared_peak_never_shrinks(of->ways.costs[i]) &&
                (!limits_cycles || pl_costs_cycles_never_shrink(of->ways.costs[i]));
    return is_so;
}

bool pl_chooser_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    pl_chooser *c = rule->problem->chooser;
    const popliner_interval placed = {first_unit, end_unit - 1, rule->to_end};
    pl_choice_wish wish;
    bool is_allowed = false;
    /* an IPU that may have no stage allows no bytes, and wants some */
    if (rule->min_peak_bytes > rule->max_peak_bytes ||
        !limits_of(rule, first_unit, end_unit, &wish))
        return false;
    if (c->variants == NULL)
        return best_way(&c->of->ways, &placed, &wish).exists;
    if (c->failed == POPLINER_OK)
        c->failed = pl_variant_search_allow(c->variants, &placed, &wish, &is_allowed, &c->error);
    return is_allowed;
}

/* ---- choices ---- */

static uint64_t way_cycles(const pl_variant_question *q, const popliner_costs *way, size_t i) {
    return pl_speed_cycles(
        q->speed, popliner_costs_cycles(way, q->stages[i].first_unit, q->stages[i].last_unit));
}

/* All stages of an IPU go one way: of equal ones the first. As pl_variant_search_choose, but the
 * stages are also given without their places in the costs. */
static popliner_status choose_way(const pl_problem *problem, const popliner_interval *stages,
                                  const pl_variant_question *q, pl_variant_choice *best,
                                  uint64_t *cycles, pl_text *texts, popliner_error *error) {
    const pl_ways *ways = &problem->chooser->of->ways;
    pl_problem of_way = *problem;
    size_t chosen = 0;
    of_way.chooser = NULL;
    for (size_t way = 0; way < ways->count; ++way) {
        pl_variant_choice own = {.exists = true};
        of_way.costs = ways->costs[way];
        for (size_t i = 0; i < q->count; ++i)
            own.cycles = pl_add_or_never(own.cycles, way_cycles(q, of_way.costs, i));
        if (own.cycles > q->wish.max_cycles)
            continue;
        PL_TRY(
            problem->is_shared
                ? pl_problem_shared_peak(&of_way, stages, q->count, problem->min_stages,
                                         &own.peak_bytes, error)
                : pl_costs_shared_peak(of_way.costs, q->stages, q->count, &own.peak_bytes, error));
        if (take(best, &own, &q->wish))
            chosen = way;
    }
    for (size_t i = 0; best->exists && texts != NULL && i < q->count; ++i) {
        cycles[i] = way_cycles(q, ways->costs[chosen], i);
        pl_text_add(&texts[i], ways->names[chosen]);
    }
    return POPLINER_OK;
}

static popliner_status find(const pl_problem *problem, const popliner_interval *stages,
                            const pl_variant_question *q, pl_variant_choice *choice, pl_text *texts,
                            popliner_error *error) {
    pl_chooser *c = problem->chooser;
    return c->variants != NULL
               ? pl_variant_search_choose(c->variants, q, choice, c->cycles, texts, error)
               : choose_way(problem, stages, q, choice, c->cycles, texts, error);
}

/* Chooses for the stages of an IPU. c->cycles become those of each stage if `texts` is not NULL. */
static popliner_status choose(const pl_problem *problem, const pl_wish *wish,
                              const popliner_interval *stages, size_t count, size_t num_stages,
                              pl_variant_choice *choice, pl_text *texts, popliner_error *error) {
    pl_chooser *c = problem->chooser;
    const size_t to_end = stages[0].stages_to_end;
    const pl_stage_rule rule =
        pl_stage_rule_of(problem, &wish->limits, num_stages - to_end, to_end);
    pl_variant_question q = {c->placed,
                             count,
                             rule.speed,
                             {wish->limits.max_cycles, rule.max_peak_bytes, wish->by_cycles}};
    uint64_t links = 0;
    *choice = (pl_variant_choice){0};
    for (size_t i = 0; i < count; ++i) {
        const size_t number = num_stages - stages[i].stages_to_end;
        c->placed[i] = stages[i];
        c->placed[i].stages_to_end = pl_problem_place(problem, num_stages, number);
        c->links[i] =
            pl_problem_busy_cycles(problem, number, stages[i].first_unit, stages[i].last_unit, 0);
        links += c->links[i];
    }
    if (links > q.wish.max_cycles ||
        (problem->is_shared && !pl_options_allow_weight(problem->options, stages, count)))
        return POPLINER_OK;
    if (q.wish.max_cycles < UINT64_MAX)
        q.wish.max_cycles -= links;
    if (problem->is_shared && !wish->by_cycles) /* what does not fit is compared by its bytes */
        q.wish.max_bytes = smallest_peak.max_bytes;
    PL_TRY(find(problem, stages, &q, choice, texts, error));
    if (problem->is_shared && q.wish.by_cycles && !choice->exists) {
        q.wish = (pl_choice_wish){q.wish.max_cycles, smallest_peak.max_bytes, false};
        PL_TRY(find(problem, stages, &q, choice, texts, error));
    }
    for (size_t i = 0; choice->exists && texts != NULL && i < count; ++i)
        c->cycles[i] += c->links[i];
    choice->cycles = pl_add_or_never(choice->cycles, links);
    return POPLINER_OK;
}

popliner_status pl_chooser_measure(const pl_problem *problem, const pl_wish *wish,
                                   const popliner_interval *stages, size_t count, size_t num_stages,
                                   pl_load *load, popliner_error *error) {
    const pl_chooser *c = problem->chooser;
    pl_variant_choice choice;
    PL_TRY(choose(problem, wish != NULL ? wish : &c->wish, stages, count, num_stages, &choice, NULL,
                  error));
    *load = pl_problem_load(problem, num_stages - stages[0].stages_to_end,
                            choice.exists ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN,
                            choice.exists ? choice.cycles : UINT64_MAX);
    return POPLINER_OK;
}

void pl_chooser_weigh(const pl_problem *problem, const pl_wish *wish,
                      const popliner_interval *stage, size_t num_stages, pl_load *load) {
    pl_chooser *c = problem->chooser;
    *load = (pl_load){POPLINER_PEAK_FORBIDDEN, UINT64_MAX, UINT64_MAX};
    if (c->failed == POPLINER_OK)
        c->failed = pl_chooser_measure(problem, wish, stage, 1, num_stages, load, &c->error);
}

/* ---- names ---- */

/* Names the choices of the IPU of a stage, which is its first, and adds its load to the values. */
static popliner_status name_ipu(const pl_problem *problem, popliner_plan *plan, size_t first,
                                pl_objective_values *values, popliner_error *error) {
    pl_chooser *c = problem->chooser;
    pl_wish wish = {c->wish.limits, true};
    pl_variant_choice choice;
    size_t num_own = 0;
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        wish.limits = pl_filter_without_memory().limits;
        wish.limits.max_peak_bytes = plan->stages[first].peak_bytes;
    }
    for (size_t i = first; i < plan->num_stages; ++i) {
        const popliner_plan_stage *own = &plan->stages[i];
        if (i > first && (!problem->is_shared || own->ipu != plan->stages[first].ipu))
            continue;
        c->texts[num_own] = (pl_text){0};
        c->stages[num_own++] =
            (popliner_interval){own->first_unit, own->last_unit, plan->num_stages - i};
    }
    popliner_status status =
        choose(problem, &wish, c->stages, num_own, plan->num_stages, &choice, c->texts, error);
    if (status == POPLINER_OK && !choice.exists)
        status =
            pl_fail(error, POPLINER_ERROR_INTERNAL,
                    "the IPU of stage %zu has no variant within the limits of the plan", first);
    for (size_t i = 0; i < num_own; ++i) {
        const size_t number = plan->num_stages - c->stages[i].stages_to_end;
        plan->choices[number] = c->texts[i].data;
        plan->stages[number].peak_bytes = choice.peak_bytes;
        plan->stages[number].cycles = c->cycles[i];
    }
    pl_objective_values_add(values,
                            pl_problem_load(problem, first, choice.peak_bytes, choice.cycles));
    return status;
}

popliner_status pl_chooser_name(const pl_problem *problem, popliner_plan *plan,
                                popliner_error *error) {
    pl_objective_values values = PL_OBJECTIVE_VALUES_INIT;
    plan->choices = pl_new_array(plan->num_stages, sizeof *plan->choices);
    if (plan->choices == NULL)
        return fail_memory(error);
    for (size_t i = 0; i < plan->num_stages; ++i) {
        size_t first = problem->is_shared ? 0 : i;
        while (plan->stages[first].ipu != plan->stages[i].ipu)
            ++first;
        if (first == i)
            PL_TRY(name_ipu(problem, plan, i, &values, error));
    }
    plan->peak_bytes = values.peak_bytes;
    plan->cycles = values.cycles;
    plan->spread = plan->num_stages == 0 ? 0 : values.peak_bytes - values.min_peak_bytes;
    values.cut_bytes = plan->cut_bytes;
    for (size_t i = 0; i < plan->num_values; ++i)
        plan->values[i].value = pl_objective_value(&values, plan->values[i].objective, false);
    return POPLINER_OK;
}

/* ---- ways ---- */

/* Errors: USAGE if the tables do not match, or if there are none. */
static popliner_status check_ways(const pl_ways *ways, popliner_error *error) {
    if (ways->count == 0)
        return pl_fail(error, POPLINER_ERROR_USAGE, "ways: none are given; give at least one");
    const popliner_costs *first = ways->costs[0];
    for (size_t i = 1; i < ways->count; ++i)
        if (popliner_costs_num_units(ways->costs[i]) != popliner_costs_num_units(first) ||
            popliner_costs_has_cycles(ways->costs[i]) != popliner_costs_has_cycles(first))
            return pl_fail(error, POPLINER_ERROR_USAGE,
                           "ways %s and %s: their costs have different numbers of units, or only "
                           "one has cycles",
                           ways->names[0], ways->names[i]);
    for (size_t i = 0; i < ways->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (ways->costs[i]->follows_split != ways->costs[k]->follows_split &&
                ways->costs[i]->max_stages_to_end > 1 && ways->costs[k]->max_stages_to_end > 1)
                return pl_fail(error, POPLINER_ERROR_USAGE,
                               "ways %s and %s: the costs are of pipelines with different copies",
                               ways->names[k], ways->names[i]);
    return POPLINER_OK;
}

popliner_status popliner_variants_solve_costs(const popliner_costs *const *costs,
                                              const char *const *names, size_t num_ways,
                                              const popliner_solver_options *options,
                                              popliner_plan **plan, popliner_error *error) {
    const pl_choices choices = {.ways = {costs, names, num_ways}};
    *plan = NULL;
    PL_TRY(check_ways(&choices.ways, error));
    popliner_costs first = *costs[0];
    first.choices = &choices;
    return popliner_solve(&first, options, plan, error);
}
