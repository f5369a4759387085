/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/choosing.h"

#include <stdlib.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/numbers.h"
#include "pipeline/pipeline.h"
#include "solve/ipus.h"
#include "solve/options.h"
#include "solve/shared/shared.h"
#include "solve/variant_choices.h"

struct pl_chooser {
    const pl_choices *of;
    pl_choice_bounds *bounds;
    pl_frontier frontier;
    pl_shared *of_ways; /* [ways]: the measured stages */
    size_t num_places;
    bool follows_split;
    pl_wish wish; /* of splits that are evaluated */
    /* [stages of the device map]: scratch */
    popliner_interval *stages;
    size_t *numbers;
    uint64_t *cycles;
    pl_arrays arrays; /* own these */
    popliner_status failed;
    popliner_error error;
};

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
    if (of == NULL)
        return POPLINER_OK;
    popliner_status status = pl_variants_check_options(problem->options, error);
    pl_chooser *c = status == POPLINER_OK ? calloc(1, sizeof *c) : NULL;
    if (status == POPLINER_OK && c == NULL)
        status = fail_memory(error);
    if (status != POPLINER_OK)
        return status;
    problem->chooser = c;
    c->of = of;
    c->wish.limits = pl_filter_without_memory(problem).limits;
    c->num_places = of->variants != NULL ? of->variants->max_stages : 1;
    c->follows_split = of->variants != NULL && pl_pipeline_follows_split(&of->variants->pipeline);
    for (size_t i = 0; i < of->ways.count; ++i) {
        const size_t own = of->ways.costs[i]->max_stages_to_end;
        c->num_places = own > c->num_places ? own : c->num_places;
        c->follows_split = c->follows_split || of->ways.costs[i]->follows_split;
    }
    c->of_ways = pl_arrays_new(&c->arrays, of->ways.count, sizeof *c->of_ways);
    const size_t num_mapped = problem->options->num_mapped_stages;
    c->stages = pl_arrays_new(&c->arrays, num_mapped, sizeof *c->stages);
    c->numbers = pl_arrays_new(&c->arrays, num_mapped, sizeof *c->numbers);
    c->cycles = pl_arrays_new(&c->arrays, num_mapped + 1, sizeof *c->cycles);
    if (c->arrays.failed)
        return fail_memory(error);
    /* moments are of the device map: check_copies */
    return pl_choice_bounds_create(of, problem->num_units, problem->max_stages, problem->is_shared,
                                   &c->bounds, error);
}

void pl_chooser_free(pl_chooser *chooser) {
    if (chooser == NULL)
        return;
    for (size_t i = 0; chooser->of_ways != NULL && i < chooser->of->ways.count; ++i)
        pl_shared_free(&chooser->of_ways[i]);
    pl_choice_bounds_free(chooser->bounds);
    pl_frontier_free(&chooser->frontier);
    pl_arrays_free(&chooser->arrays);
    free(chooser);
}

void pl_chooser_limit(const pl_problem *problem, const pl_limits *limits, bool by_cycles) {
    if (problem->chooser != NULL)
        problem->chooser->wish = (pl_wish){*limits, by_cycles};
}

size_t pl_chooser_place(const pl_chooser *chooser, size_t num_stages, size_t stage) {
    return pl_choices_place(chooser->of, chooser->follows_split, num_stages, stage);
}

size_t pl_chooser_num_places(const pl_chooser *chooser) {
    return chooser->num_places;
}

bool pl_chooser_follows_split(const pl_chooser *chooser) {
    return chooser->follows_split;
}

/* ---- bounds ---- */

/* Sets *limits to those of an interval as the stage; false if its cuts take too long. */
static bool limits_of(const pl_stage_rule *rule, size_t first, size_t end,
                      pl_variant_limits *limits) {
    *limits = (pl_variant_limits){rule->max_cycles, rule->max_peak_bytes};
    if (rule->link_before == NULL)
        return true;
    const uint64_t cuts = rule->link_before[first] + rule->link_after[end];
    if (cuts > rule->max_busy_cycles)
        return false;
    if (rule->max_busy_cycles < UINT64_MAX)
        limits->max_cycles = pl_speed_most(rule->speed, rule->max_busy_cycles - cuts);
    return true;
}

uint64_t pl_chooser_least_peak(const pl_problem *problem, const popliner_interval *stage) {
    static const pl_variant_limits any = {UINT64_MAX, POPLINER_PEAK_FORBIDDEN - 1};
    return pl_choice_bounds_least(problem->chooser->bounds, stage, &any);
}

uint64_t pl_chooser_part(const pl_problem *problem, const pl_limits *limits,
                         const popliner_interval *stage, size_t num_on_ipu) {
    const pl_choices *of = problem->chooser->of;
    const size_t num_stages = problem->options->num_mapped_stages;
    const size_t number = num_stages - stage->stages_to_end;
    const pl_stage_rule rule = pl_stage_rule_of(problem, limits, number, stage->stages_to_end);
    const popliner_interval own = {stage->first_unit, stage->last_unit, rule.to_end};
    uint64_t shared = 0;
    pl_variant_limits most;
    if (!limits_of(&rule, own.first_unit, own.last_unit + 1, &most))
        return POPLINER_PEAK_FORBIDDEN;
    most.max_bytes = POPLINER_PEAK_FORBIDDEN - 1;
    const uint64_t bytes = pl_choice_bounds_least(problem->chooser->bounds, &own, &most);
    if (bytes == POPLINER_PEAK_FORBIDDEN || num_on_ipu == 1)
        return bytes;
    if (of->variants == NULL)
        shared = bytes;
    else if (of->variants->shared_bytes != NULL)
        shared = of->variants->shared_bytes(of->variants->user, &own, 1);
    return bytes - shared + shared / num_on_ipu;
}

uint64_t pl_chooser_least_cycles(const pl_problem *problem, size_t first_unit, size_t last_unit) {
    const popliner_interval stage = {first_unit, last_unit, 1};
    return pl_choice_bounds_cycles(problem->chooser->bounds, &stage);
}

bool pl_chooser_is_over(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const popliner_interval stage = {first_unit, end_unit - 1, rule->to_end};
    const pl_variant_limits limits = {rule->max_cycles, rule->max_peak_bytes};
    return pl_choice_bounds_is_over(rule->problem->chooser->bounds, &stage, &limits);
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
    const popliner_interval stage = {first_unit, end_unit - 1, rule->to_end};
    pl_variant_limits limits;
    /* an IPU that may have no stage allows no bytes, and wants some */
    return rule->min_peak_bytes <= rule->max_peak_bytes &&
           limits_of(rule, first_unit, end_unit, &limits) &&
           pl_choice_bounds_allow(rule->problem->chooser->bounds, &stage, &limits);
}

/* ---- choices ---- */

/* Stages of an IPU that choose together. */
typedef struct group {
    const popliner_interval *stages; /* [count], with places of costs */
    const size_t *numbers;           /* [count]: ascending */
    size_t count;
    size_t num_stages; /* of the split */
} group;

static uint64_t busy_cycles(const pl_problem *problem, const group *g, size_t i, uint64_t cycles) {
    const popliner_interval *own = &g->stages[i];
    return pl_problem_busy_cycles(problem, g->numbers[i], own->first_unit, own->last_unit, cycles);
}

/* Finds the cycles of the stages in a way, and returns their sum. */
static uint64_t way_cycles(const pl_problem *problem, const group *g, size_t way,
                           uint64_t *cycles) {
    const popliner_costs *costs = problem->chooser->of->ways.costs[way];
    uint64_t sum = 0;
    for (size_t i = 0; i < g->count; ++i) {
        const popliner_interval *stage = &g->stages[i];
        cycles[i] = busy_cycles(problem, g, i,
                                popliner_costs_cycles(costs, stage->first_unit, stage->last_unit));
        sum = pl_add_or_never(sum, cycles[i]);
    }
    return sum;
}

/* Measures the peak of the stages in a way. */
static popliner_status measure_way(const pl_problem *problem, const group *g, size_t way,
                                   uint64_t *peak_bytes, popliner_error *error) {
    const popliner_costs *costs = problem->chooser->of->ways.costs[way];
    const popliner_interval *first = g->stages;
    pl_problem of_way = *problem;
    pl_load load;
    if (!problem->is_shared) {
        *peak_bytes =
            popliner_costs_peak(costs, first->first_unit, first->last_unit, first->stages_to_end);
        return POPLINER_OK;
    }
    of_way.costs = costs;
    of_way.chooser = NULL;
    of_way.depends_on_end = costs->max_stages_to_end > 1;
    popliner_status status = pl_shared_measure(&problem->chooser->of_ways[way], &of_way, NULL,
                                               g->stages, g->count, &load, error);
    *peak_bytes = load.peak_bytes;
    return status;
}

/* All stages of an IPU go one way: of equal ones the first. */
static popliner_status choose_way(const pl_problem *problem, const group *g,
                                  const pl_variant_limits *limits, bool by_cycles,
                                  pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                  popliner_error *error) {
    const pl_ways *ways = &problem->chooser->of->ways;
    popliner_status status = POPLINER_OK;
    size_t way = 0;
    *best = (pl_variant_choice){0};
    for (size_t i = 0; status == POPLINER_OK && i < ways->count; ++i) {
        pl_variant_choice own = {.exists = true, .cycles = way_cycles(problem, g, i, cycles)};
        if (own.cycles > limits->max_cycles)
            continue;
        status = measure_way(problem, g, i, &own.peak_bytes, error);
        if (status != POPLINER_OK || own.peak_bytes > limits->max_bytes ||
            (best->exists && !pl_variant_choice_is_better(&own, best, by_cycles)))
            continue;
        *best = own;
        way = i;
    }
    if (status != POPLINER_OK || !best->exists || texts == NULL)
        return status;
    way_cycles(problem, g, way, cycles);
    for (size_t i = 0; i < g->count; ++i)
        pl_text_add(&texts[i], ways->names[way]);
    return POPLINER_OK;
}

/* Chooses variants. */
static popliner_status choose_variants(const pl_problem *problem, const group *g,
                                       const pl_variant_limits *limits, bool by_cycles,
                                       pl_variant_choice *best, uint64_t *cycles, pl_text *texts,
                                       popliner_error *error) {
    const uint64_t speed = pl_speed_of(problem->options, pl_problem_ipu(problem, g->numbers[0]));
    pl_variant_question q = {.of = problem->chooser->of,
                             .stages = g->stages,
                             .count = g->count,
                             .has_moments = problem->is_shared,
                             .speed = speed,
                             .limits = *limits,
                             .by_cycles = by_cycles};
    uint64_t links = 0;
    *best = (pl_variant_choice){0};
    for (size_t i = 0; i < g->count; ++i)
        links += busy_cycles(problem, g, i, 0);
    if (links > limits->max_cycles)
        return POPLINER_OK;
    if (limits->max_cycles < UINT64_MAX)
        q.limits.max_cycles -= links;
    popliner_status status =
        pl_frontier_choose(&problem->chooser->frontier, &q, best, cycles, texts, error);
    best->cycles += best->exists ? links : 0;
    for (size_t i = 0; status == POPLINER_OK && best->exists && texts != NULL && i < g->count; ++i)
        cycles[i] += busy_cycles(problem, g, i, 0);
    return status;
}

/* Chooses for the stages of an IPU. cycles[count] become those of each stage if `texts` is not
 * NULL. */
static popliner_status choose(const pl_problem *problem, const pl_wish *wish, const group *g,
                              pl_variant_choice *choice, uint64_t *cycles, pl_text *texts,
                              popliner_error *error) {
    const pl_stage_rule rule =
        pl_stage_rule_of(problem, &wish->limits, g->numbers[0], g->num_stages - g->numbers[0]);
    pl_variant_limits limits = {wish->limits.max_cycles, rule.max_peak_bytes};
    popliner_status (*of_all)(const pl_problem *, const group *, const pl_variant_limits *, bool,
                              pl_variant_choice *, uint64_t *, pl_text *, popliner_error *) =
        problem->chooser->of->variants != NULL ? choose_variants : choose_way;
    popliner_status status = POPLINER_OK;
    *choice = (pl_variant_choice){0};
    if (problem->is_shared && !pl_options_allow_weight(problem->options, g->stages, g->count))
        return POPLINER_OK;
    if (!problem->is_shared || wish->by_cycles)
        status = of_all(problem, g, &limits, wish->by_cycles, choice, cycles, texts, error);
    if (status != POPLINER_OK || !problem->is_shared || choice->exists)
        return status;
    limits.max_bytes = POPLINER_PEAK_FORBIDDEN - 1; /* what does not fit is compared by its bytes */
    return of_all(problem, g, &limits, false, choice, cycles, NULL, error);
}

popliner_status pl_chooser_measure(const pl_problem *problem, const pl_wish *wish,
                                   const popliner_interval *stages, const size_t *numbers,
                                   size_t num_stages, size_t count, pl_load *load,
                                   popliner_error *error) {
    const pl_chooser *c = problem->chooser;
    const group g = {stages, numbers, count, num_stages};
    pl_variant_choice choice;
    popliner_status status =
        choose(problem, wish != NULL ? wish : &c->wish, &g, &choice, c->cycles, NULL, error);
    *load = pl_problem_load(problem, numbers[0],
                            choice.exists ? choice.peak_bytes : POPLINER_PEAK_FORBIDDEN,
                            choice.exists ? choice.cycles : UINT64_MAX);
    return status;
}

popliner_status pl_chooser_measure_map(const pl_problem *problem, const pl_wish *wish,
                                       const popliner_interval *stages, size_t count, pl_load *load,
                                       popliner_error *error) {
    const pl_chooser *c = problem->chooser;
    const size_t num_stages = problem->options->num_mapped_stages;
    for (size_t i = 0; i < count; ++i) {
        c->numbers[i] = num_stages - stages[i].stages_to_end;
        c->stages[i] = stages[i];
        c->stages[i].stages_to_end = pl_chooser_place(c, num_stages, c->numbers[i]);
    }
    return pl_chooser_measure(problem, wish, c->stages, c->numbers, num_stages, count, load, error);
}

void pl_chooser_weigh(const pl_problem *problem, const pl_wish *wish, size_t number,
                      size_t num_stages, size_t first_unit, size_t last_unit, pl_load *load) {
    pl_chooser *c = problem->chooser;
    const popliner_interval stage = {first_unit, last_unit,
                                     pl_chooser_place(c, num_stages, number)};
    *load = (pl_load){POPLINER_PEAK_FORBIDDEN, UINT64_MAX, UINT64_MAX};
    if (c->failed == POPLINER_OK)
        c->failed =
            pl_chooser_measure(problem, wish, &stage, &number, num_stages, 1, load, &c->error);
}

popliner_status pl_chooser_failure(const pl_problem *problem, popliner_error *error) {
    const pl_chooser *c = problem->chooser;
    if (c != NULL && c->failed != POPLINER_OK)
        return pl_fail(error, c->failed, "%s", c->error.message);
    return c == NULL ? POPLINER_OK : pl_choice_bounds_failure(c->bounds, error);
}

/* ---- names ---- */

/* Names the choices of the IPU of a stage, which is its first; `load` becomes that of the IPU. */
static popliner_status name_ipu(const pl_problem *problem, popliner_plan *plan, size_t first,
                                pl_text *texts, pl_load *load, popliner_error *error) {
    const size_t count = plan->num_stages;
    pl_wish wish = {problem->chooser->wish.limits, true};
    pl_arrays arrays = {0};
    popliner_interval *stages = pl_arrays_new(&arrays, count, sizeof *stages);
    size_t *numbers = pl_arrays_new(&arrays, count, sizeof *numbers);
    uint64_t *cycles = pl_arrays_new(&arrays, count, sizeof *cycles);
    pl_text *own_texts = pl_arrays_new(&arrays, count, sizeof *own_texts);
    popliner_status status = arrays.failed ? fail_memory(error) : POPLINER_OK;
    pl_variant_choice choice = {0};
    size_t num_own = 0;
    if (plan->status == POPLINER_PLAN_INFEASIBLE) {
        wish.limits = pl_filter_without_memory(problem).limits;
        wish.limits.plain_limit_bytes = plan->stages[first].peak_bytes;
    }
    for (size_t i = first; status == POPLINER_OK && i < count; ++i) {
        const popliner_plan_stage *own = &plan->stages[i];
        if (i > first && (!problem->is_shared || own->ipu != plan->stages[first].ipu))
            continue;
        stages[num_own] = (popliner_interval){own->first_unit, own->last_unit,
                                              pl_chooser_place(problem->chooser, count, i)};
        numbers[num_own++] = i;
    }
    const group g = {stages, numbers, num_own, count};
    if (status == POPLINER_OK)
        status = choose(problem, &wish, &g, &choice, cycles, own_texts, error);
    if (status == POPLINER_OK && !choice.exists)
        status =
            pl_fail(error, POPLINER_ERROR_INTERNAL,
                    "the IPU of stage %zu has no variant within the limits of the plan", first);
    for (size_t i = 0; own_texts != NULL && i < num_own; ++i) {
        texts[numbers[i]] = own_texts[i];
        plan->stages[numbers[i]].peak_bytes = choice.peak_bytes;
        plan->stages[numbers[i]].cycles = cycles[i];
    }
    *load = pl_problem_load(problem, first, choice.peak_bytes, choice.cycles);
    pl_arrays_free(&arrays);
    return status;
}

popliner_status pl_chooser_name(const pl_problem *problem, popliner_plan *plan,
                                popliner_error *error) {
    pl_objective_values values = PL_OBJECTIVE_VALUES_INIT;
    pl_text *texts = pl_new_array(plan->num_stages, sizeof *texts);
    plan->choices = pl_new_array(plan->num_stages, sizeof *plan->choices);
    popliner_status status =
        plan->choices == NULL || texts == NULL ? fail_memory(error) : POPLINER_OK;
    for (size_t i = 0; status == POPLINER_OK && i < plan->num_stages; ++i) {
        pl_load load;
        size_t first = problem->is_shared ? 0 : i;
        while (plan->stages[first].ipu != plan->stages[i].ipu)
            ++first;
        if (first < i)
            continue;
        status = name_ipu(problem, plan, i, texts, &load, error);
        pl_objective_values_add(&values, load);
    }
    for (size_t i = 0; plan->choices != NULL && texts != NULL && i < plan->num_stages; ++i)
        plan->choices[i] = texts[i].data;
    free(texts);
    plan->peak_bytes = values.peak_bytes;
    plan->cycles = values.cycles;
    plan->spread = plan->num_stages == 0 ? 0 : values.peak_bytes - values.min_peak_bytes;
    values.cut_bytes = plan->cut_bytes;
    for (size_t i = 0; i < plan->num_values; ++i)
        plan->values[i].value = pl_objective_value(&values, plan->values[i].objective, false);
    return status;
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
    popliner_costs first;
    *plan = NULL;
    popliner_status status = check_ways(&choices.ways, error);
    if (status != POPLINER_OK)
        return status;
    first = *costs[0];
    first.choices = &choices;
    return popliner_solve(&first, options, plan, error);
}
