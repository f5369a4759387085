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

struct pl_chooser {
    const pl_choices *of;
    pl_choice_bounds *bounds;
    pl_ipu_choices ipus;
    size_t num_places;
    bool follows_split;
    pl_wish wish; /* of splits that are evaluated */
    /* [stages of the device map]: scratch */
    popliner_interval *stages;
    size_t *numbers;
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
    c->ipus.of = of;
    c->wish.limits = pl_filter_without_memory(problem).limits;
    c->num_places = of->variants != NULL ? of->variants->max_stages : 1;
    c->follows_split = of->variants != NULL && pl_pipeline_follows_split(&of->variants->pipeline);
    for (size_t i = 0; i < of->ways.count; ++i) {
        const size_t own = of->ways.costs[i]->max_stages_to_end;
        c->num_places = own > c->num_places ? own : c->num_places;
        c->follows_split = c->follows_split || of->ways.costs[i]->follows_split;
    }
    c->stages = pl_arrays_new(&c->arrays, problem->options->num_mapped_stages, sizeof *c->stages);
    c->numbers = pl_arrays_new(&c->arrays, problem->options->num_mapped_stages, sizeof *c->numbers);
    if (c->arrays.failed)
        return fail_memory(error);
    /* moments are of the device map: check_copies */
    return pl_choice_bounds_create(of, problem->num_units, problem->max_stages, problem->is_shared,
                                   &c->bounds, error);
}

void pl_chooser_free(pl_chooser *chooser) {
    if (chooser == NULL)
        return;
    pl_choice_bounds_free(chooser->bounds);
    pl_ipu_choices_free(&chooser->ipus);
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

uint64_t pl_chooser_least_peak(const pl_problem *problem, const popliner_interval *stage,
                               uint64_t max_cycles) {
    const pl_variant_limits limits = {max_cycles, POPLINER_PEAK_FORBIDDEN - 1};
    return pl_choice_bounds_least(problem->chooser->bounds, stage, &limits);
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
    const uint64_t bytes = pl_chooser_least_peak(problem, &own, most.max_cycles);
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

/* ---- choices ---- */

/* Chooses for a stage of a rule within its limits; the cycles are those at speed 1. */
static popliner_status choose_by_rule(const pl_stage_rule *rule, bool by_cycles,
                                      const popliner_interval *stage, pl_variant_choice *choice,
                                      pl_text *text, popliner_error *error) {
    const pl_choices *of = rule->problem->chooser->of;
    pl_variant_limits own;
    *choice = (pl_variant_choice){0};
    if (!limits_of(rule, stage->first_unit, stage->last_unit + 1, &own))
        return POPLINER_OK;
    if (!by_cycles || rule->speed == POPLINER_SPEED_ONE)
        return pl_choices_choose(of, stage, &own, by_cycles, choice, text, error);
    /* more cycles may take as long, for the speed rounds them */
    popliner_status status = pl_choices_choose(of, stage, &own, true, choice, NULL, error);
    if (status != POPLINER_OK || !choice->exists)
        return status;
    own.max_cycles = pl_speed_most(rule->speed, pl_speed_cycles(rule->speed, choice->cycles));
    return pl_choices_choose(of, stage, &own, false, choice, text, error);
}

bool pl_chooser_allows(const pl_stage_rule *rule, size_t first_unit, size_t end_unit) {
    const pl_chooser *c = rule->problem->chooser;
    const popliner_interval stage = {first_unit, end_unit - 1, rule->to_end};
    pl_variant_limits limits;
    if (!limits_of(rule, first_unit, end_unit, &limits))
        return false;
    const uint64_t bytes = pl_choice_bounds_least(c->bounds, &stage, &limits);
    return bytes >= rule->min_peak_bytes && bytes <= rule->max_peak_bytes;
}

/* Chooses for the stages of an IPU. `texts` is NULL, or has room for `count`, as has `cycles`. */
static popliner_status choose_together(const pl_problem *problem, const pl_wish *wish,
                                       const popliner_interval *stages, const size_t *numbers,
                                       size_t count, pl_variant_choice *choice, uint64_t *cycles,
                                       pl_text *texts, popliner_error *error) {
    pl_ipu_choices *ipus = &problem->chooser->ipus;
    const size_t ipu = pl_problem_ipu(problem, numbers[0]);
    pl_ipu_question q = {
        stages, numbers, count, wish->limits.max_cycles, POPLINER_PEAK_FORBIDDEN - 1, false};
    popliner_status status = POPLINER_OK;
    ipus->problem = problem;
    *choice = (pl_variant_choice){0};
    if (!pl_options_allow_weight(problem->options, stages, count))
        return POPLINER_OK;
    if (wish->by_cycles) {
        q.by_cycles = true;
        q.max_bytes = pl_limits_peak(problem, &wish->limits, ipu);
        status = pl_ipu_choose(ipus, &q, choice, cycles, texts, error);
        q.max_bytes = POPLINER_PEAK_FORBIDDEN - 1;
        q.by_cycles = false;
    }
    /* what does not fit is compared by its bytes */
    return status != POPLINER_OK || choice->exists
               ? status
               : pl_ipu_choose(ipus, &q, choice, NULL, NULL, error);
}

/* Chooses for a stage alone on its IPU; the cycles are those on it. */
static popliner_status choose_alone(const pl_problem *problem, const pl_wish *wish,
                                    const popliner_interval *stage, size_t number,
                                    size_t num_stages, pl_variant_choice *choice, pl_text *text,
                                    popliner_error *error) {
    const pl_stage_rule rule =
        pl_stage_rule_of(problem, &wish->limits, number, num_stages - number);
    popliner_status status = choose_by_rule(&rule, wish->by_cycles, stage, choice, text, error);
    choice->cycles = pl_problem_busy_cycles(problem, number, stage->first_unit, stage->last_unit,
                                            choice->cycles);
    return status;
}

popliner_status pl_chooser_measure(const pl_problem *problem, const pl_wish *wish,
                                   const popliner_interval *stages, const size_t *numbers,
                                   size_t num_stages, size_t count, pl_load *load,
                                   popliner_error *error) {
    wish = wish != NULL ? wish : &problem->chooser->wish;
    pl_variant_choice choice;
    popliner_status status;
    if (problem->is_shared) {
        status = choose_together(problem, wish, stages, numbers, count, &choice, NULL, NULL, error);
    } else {
        status =
            choose_alone(problem, wish, &stages[0], numbers[0], num_stages, &choice, NULL, error);
    }
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
    if (c == NULL || c->failed == POPLINER_OK)
        return POPLINER_OK;
    return pl_fail(error, c->failed, "%s", c->error.message);
}

popliner_status pl_chooser_confirm(const pl_problem *problem, const pl_limits *limits,
                                   pl_split *split, popliner_error *error) {
    pl_chooser *c = problem->chooser;
    bool is_confirmed = true;
    popliner_status status = pl_choice_bounds_have_failed(c->bounds)
                                 ? fail_memory(error)
                                 : pl_chooser_failure(problem, error);
    if (limits->max_cycles == UINT64_MAX) /* rules are exact */
        return status;
    for (size_t i = 0; status == POPLINER_OK && i < split->num_stages; ++i) {
        const popliner_interval stage = pl_split_interval(problem, split, i);
        const pl_stage_rule rule = pl_stage_rule_of(problem, limits, i, split->num_stages - i);
        pl_variant_limits own;
        uint64_t bytes = 0;
        if (!limits_of(&rule, stage.first_unit, stage.last_unit + 1, &own))
            continue;
        status = pl_choice_bounds_refine(c->bounds, &stage, own.max_cycles, &bytes, error);
        is_confirmed = is_confirmed && bytes <= own.max_bytes;
    }
    if (!is_confirmed)
        pl_split_clear(split);
    return status;
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
    if (status == POPLINER_OK && problem->is_shared)
        status = choose_together(problem, &wish, stages, numbers, num_own, &choice, cycles,
                                 own_texts, error);
    else if (status == POPLINER_OK)
        status =
            choose_alone(problem, &wish, &stages[0], first, count, &choice, &own_texts[0], error);
    if (status == POPLINER_OK && !choice.exists)
        status =
            pl_fail(error, POPLINER_ERROR_INTERNAL,
                    "the IPU of stage %zu has no variant within the limits of the plan", first);
    if (status == POPLINER_OK && !problem->is_shared)
        cycles[0] = choice.cycles;
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
